/*
 * vector_x86_wide.c: what AVX2 has no instruction for: numbers of 64 bits, and those without a sign.
 *
 * Consumes virtual registers of `bits` bits; appends instructions with the outcome of the one that AVX-512
 * has, to the bit. Halves of 32 bits become floats where they are put in the place of the low bits of a
 * power of two, which is then taken away again.
 */
#include "vector_x86_operation.h"

enum { GREATER_OR_EQUAL = 29, ORDERED = 7 /* predicates of vcmpps */ };

static int both(struct machine *machine, enum x86_form form, int bits, int a, int b)
{
    return machine_rvm(machine, form, bits, a, b);
}

static int wide_constant(struct machine *machine, uint64_t bits)
{
    return machine_constant(machine, VECTOR_I64, bits);
}

static int narrow_constant(struct machine *machine, uint32_t bits)
{
    return machine_constant(machine, VECTOR_I32, bits);
}

static int shifted(struct machine *machine, enum x86_form form, int bits, int a, int count)
{
    return machine_shift(machine, form, X86_NO_FORM, bits, a, count);
}

/* b where the highest bit of a lane of the mask is set, else a. */
static int chosen(struct machine *machine, int bits, int a, int b, int mask)
{
    int result = machine_new_vector(machine, bits);
    machine_add(machine,
                (struct x86_instruction){
                    .form = X86_VBLENDVPD, .bits = bits, .reg = result, .vvvv = a, .rm = b, .fourth = mask});
    return result;
}

/* ---- integers ------------------------------------------------------------------------------------ */

/* The products of a's halves with the other ones of b go into the high half. */
int machine_wide_product(struct machine *machine, int bits, int a, int b)
{
    enum { OTHER_HALF = 0xb1 };
    int turned = machine_rvmi(machine, X86_VSHUFPS, bits, b, b, OTHER_HALF);
    int products = both(machine, X86_VPMULLD, bits, a, turned);
    int sum = both(machine, X86_VPADDD, bits, products, shifted(machine, X86_VPSRLQ_BY, bits, products, 32));
    return both(machine, X86_VPADDQ, bits, both(machine, X86_VPMULUDQ, bits, a, b),
                shifted(machine, X86_VPSLLQ_BY, bits, sum, 32));
}

int machine_wide_extreme(struct machine *machine, bool least, bool is_signed, int bits, int a, int b)
{
    int x = a, y = b;
    if (!is_signed) {
        int sign = wide_constant(machine, (uint64_t)1 << 63);
        x = both(machine, X86_VXORPS, bits, a, sign);
        y = both(machine, X86_VXORPS, bits, b, sign);
    }
    int greater = both(machine, X86_VPCMPGTQ, bits, x, y);
    return least ? chosen(machine, bits, a, b, greater) : chosen(machine, bits, b, a, greater);
}

int machine_wide_magnitude(struct machine *machine, int bits, int a)
{
    return chosen(machine, bits, a, both(machine, X86_VPSUBQ, bits, wide_constant(machine, 0), a), a);
}

/* Of negative numbers it is the complement that zeros come into. */
int machine_wide_shift_right(struct machine *machine, int bits, int a, int count)
{
    int sign = both(machine, X86_VPCMPGTQ, bits, wide_constant(machine, 0), a);
    int result = both(machine, X86_VPSRLVQ, bits, both(machine, X86_VXORPS, bits, a, sign), count);
    return both(machine, X86_VXORPS, bits, result, sign);
}

/* ---- integers to floats --------------------------------------------------------------------------- */

/* 2^84 + (high half) * 2^32 less 2^84 + 2^52, then 2^52 + (low half): only the sum is rounded. A high half
 * with a sign is 2^31 more than it is in its place. */
int machine_wide_to_double(struct machine *machine, bool is_signed, int bits, int a)
{
    enum { HIGH_HALVES = 0xaa };
    int high = shifted(machine, X86_VPSRLQ_BY, bits, a, 32);
    high = both(machine, X86_VXORPD, bits, high,
                machine_float(machine, VECTOR_F64, 0x1p84 + (is_signed ? 0x1p63 : 0)));
    int low =
        machine_rvmi(machine, X86_VBLENDPS, bits, a, machine_float(machine, VECTOR_F64, 0x1p52), HIGH_HALVES);
    int offset = machine_float(machine, VECTOR_F64, 0x1p84 + (is_signed ? 0x1p63 : 0) + 0x1p52);
    return both(machine, X86_VADDPD, bits, both(machine, X86_VSUBPD, bits, high, offset), low);
}

/* Of what has more bits than a double those that are lost become one that says whether there were some: so
 * the double has them all, and is rounded once. */
int machine_wide_to_single(struct machine *machine, bool is_signed, int bits, int a)
{
    enum { DOUBLE = 53, LOST = (1 << (64 - DOUBLE)) - 1 };
    int lost = wide_constant(machine, LOST);
    int some = both(machine, X86_VPADDQ, bits, both(machine, X86_VANDPD, bits, a, lost), lost);
    int shorter = both(machine, X86_VORPD, bits, a, some);
    shorter = both(machine, X86_VANDNPD, bits, lost, shorter);
    /* the bits above, with a sign all equal to it: the highest one of `large` is set where they are not */
    int above = shifted(machine, is_signed ? X86_VPSRAD_BY : X86_VPSRLD_BY, bits, a, DOUBLE - 32);
    int large = both(machine, X86_VPSUBD, bits, wide_constant(machine, 0), above);
    if (is_signed)
        large = both(machine, X86_VORPS, bits, large,
                     both(machine, X86_VPADDD, bits, above, wide_constant(machine, (uint64_t)1 << 32 | 1)));
    int exact = machine_wide_to_double(machine, is_signed, bits, chosen(machine, bits, a, shorter, large));
    return machine_rm(machine, X86_VCVTPD2PS, bits, exact);
}

/* The same with halves of 16 bits. */
int machine_natural_to_single(struct machine *machine, int bits, int a)
{
    int low = both(machine, X86_VANDPS, bits, a, narrow_constant(machine, 0xffff));
    low = both(machine, X86_VORPS, bits, low, machine_float(machine, VECTOR_F32, 0x1p23));
    int high = both(machine, X86_VORPS, bits, shifted(machine, X86_VPSRLD_BY, bits, a, 16),
                    machine_float(machine, VECTOR_F32, 0x1p39));
    high = both(machine, X86_VSUBPS, bits, high, machine_float(machine, VECTOR_F32, 0x1p39 + 0x1p23));
    return both(machine, X86_VADDPS, bits, high, low);
}

int machine_natural_to_double(struct machine *machine, int bits, int a)
{
    int power = machine_float(machine, VECTOR_F64, 0x1p52);
    int number = both(machine, X86_VORPD, bits, machine_rm(machine, X86_VPMOVZXDQ, bits, a), power);
    return both(machine, X86_VSUBPD, bits, number, power);
}

/* ---- floats to integers ---------------------------------------------------------------------------- */

/* 0 for nan. */
static int number_or_zero(struct machine *machine, bool wide, int bits, int a)
{
    int ordered = machine_rvmi(machine, wide ? X86_VCMPPD : X86_VCMPPS, bits, a, a, ORDERED);
    return both(machine, X86_VANDPS, bits, a, ordered);
}

/* The instruction gives the least integer for what does not fit, which is the greatest one's complement. */
int machine_single_to_signed(struct machine *machine, int bits, int a)
{
    int cut = machine_rm(machine, X86_VCVTTPS2DQ, bits, number_or_zero(machine, false, bits, a));
    int large = machine_rvmi(machine, X86_VCMPPS, bits, a, machine_float(machine, VECTOR_F32, 0x1p31),
                             GREATER_OR_EQUAL);
    return both(machine, X86_VXORPS, bits, cut, large);
}

int machine_double_to_signed(struct machine *machine, int bits, int a)
{
    a = both(machine, X86_VMINPD, bits, number_or_zero(machine, true, bits, a),
             machine_float(machine, VECTOR_F64, INT32_MAX));
    return machine_rm(machine, X86_VCVTTPD2DQ, bits, a);
}

/* From 2^31 on as signed numbers that are 2^31 less; from 2^32 on all bits. vmaxps gives 0 for nan. */
int machine_single_to_natural(struct machine *machine, int bits, int a)
{
    int power = machine_float(machine, VECTOR_F32, 0x1p31);
    a = both(machine, X86_VMAXPS, bits, a, machine_constant(machine, VECTOR_F32, 0));
    int large = machine_rvmi(machine, X86_VCMPPS, bits, a, power, GREATER_OR_EQUAL);
    int cut = both(machine, X86_VSUBPS, bits, a, both(machine, X86_VANDPS, bits, large, power));
    cut = machine_rm(machine, X86_VCVTTPS2DQ, bits, cut);
    cut = both(machine, X86_VXORPS, bits, cut, shifted(machine, X86_VPSLLD_BY, bits, large, 31));
    int over = machine_rvmi(machine, X86_VCMPPS, bits, a, machine_float(machine, VECTOR_F32, 0x1p32),
                            GREATER_OR_EQUAL);
    return both(machine, X86_VORPS, bits, cut, over);
}

enum { DOWN = 9, CUT = 11 /* roundings without an exception */ };

/* The low bits of a sum with a power of two are those of the number; of more than fit there both halves are
 * added to one. */
int machine_whole_to_wide(struct machine *machine, bool is_short, int bits, int a)
{
    enum { HIGH_HALVES = 0xaa };
    int power = machine_float(machine, VECTOR_F64, 0x1.8p52);
    if (is_short)
        return both(machine, X86_VPSUBQ, bits, both(machine, X86_VADDPD, bits, a, power), power);
    int high = both(machine, X86_VMULPD, bits, a, machine_float(machine, VECTOR_F64, 0x1p-32));
    high = machine_rmi(machine, X86_VROUNDPD, bits, high, DOWN);
    int low =
        machine_fused(machine, X86_VFNMADD231PD, bits, high, machine_float(machine, VECTOR_F64, 0x1p32), a);
    low = both(machine, X86_VADDPD, bits, low, power);
    high = both(machine, X86_VADDPD, bits, high, power);
    return machine_rvmi(machine, X86_VBLENDPS, bits, low, shifted(machine, X86_VPSLLQ_BY, bits, high, 32),
                        HIGH_HALVES);
}

int machine_double_to_wide(struct machine *machine, bool is_signed, int bits, int a)
{
    int limit = machine_float(machine, VECTOR_F64, is_signed ? 0x1p63 : 0x1p64);
    int large = machine_rvmi(machine, X86_VCMPPD, bits, a, limit, GREATER_OR_EQUAL);
    if (is_signed)
        a = number_or_zero(machine, true, bits, a);
    a = both(machine, X86_VMAXPD, bits, a, machine_float(machine, VECTOR_F64, is_signed ? -0x1p63 : 0));
    a = machine_whole_to_wide(machine, false, bits, machine_rmi(machine, X86_VROUNDPD, bits, a, CUT));
    return chosen(machine, bits, a, wide_constant(machine, is_signed ? INT64_MAX : UINT64_MAX), large);
}

/* In the low halves of 64 bits. */
int machine_double_to_natural(struct machine *machine, int bits, int a)
{
    a = both(machine, X86_VMAXPD, bits, a, machine_float(machine, VECTOR_F64, 0));
    a = both(machine, X86_VMINPD, bits, a, machine_float(machine, VECTOR_F64, UINT32_MAX));
    a = machine_rmi(machine, X86_VROUNDPD, bits, a, CUT);
    return both(machine, X86_VADDPD, bits, a, machine_float(machine, VECTOR_F64, 0x1p52));
}

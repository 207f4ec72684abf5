/*
 * vector_x86_divide.c: quotients by what is the same in all iterations, without a division in the loop: first
 * those of floats, then those of integers by a constant.
 *
 * Consumes a dividend in a virtual register, and which value is the divisor; appends four or five
 * instructions. Of the divisor d they need r = 1 / d rounded once:
 *
 *   q = x * r,  rest = d * q - x (exact, by fma),  x / d = q - rest * r
 *
 * The correction is Markstein's (Handbook of Floating-Point Arithmetic, 4.7): the sum is the rounded
 * quotient, but where that lies within some 2^-24 of a unit from the middle of two numbers. Of zeros and
 * where it is exact the rest is +0, and less its product with an r above 0 leaves q as it is, the sign of a
 * zero included. Where q is infinite the rest is no number or infinite too; a number in its place leaves q as
 * it is. Divisors are taken whose exponent is moderate, so that nothing overflows on the way; where dividend
 * or quotient are below the normal numbers it is within a unit of them. No part of strict results, but for
 * powers of two, whose quotients are exact products.
 *
 * A divisor that is known only at run time is looked at before the loop, and only where the loop is long: the
 * main loop then stands twice (vector_x86.c).
 */
#include "vector_x86.h"

#include <math.h>
#include <stdlib.h>

enum { MODERATE = 64 /* the exponent of a divisor, at most */ };

struct width {
    enum x86_form multiply, divide, add_product, subtract_product, product_less;
    int exponent_bit, exponent_mask,
        bias; /* the mask with the sign: what is below 0 is no divisor of these */
};

static const struct width widths[2] = {
    {X86_VMULPS, X86_VDIVPS, X86_VFMADD231PS, X86_VFNMADD231PS, X86_VFMSUB231PS, 23, 0x1ff, 127},
    {X86_VMULPD, X86_VDIVPD, X86_VFMADD231PD, X86_VFNMADD231PD, X86_VFMSUB231PD, 52, 0xfff, 1023}};

/* ---- quotients ------------------------------------------------------------------------------- */

static bool is_whole_number(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && value->operation == OP_CAST && dtype_is_integer(value->from);
}

/* The rest, and a number too large for one in the place of what is none: where q is infinite, it stays so. */
static int bounded(struct machine *machine, enum vector_type type, int rest)
{
    enum { LESSER_WITH_SIGN_OF_FIRST = 2 };
    bool wide = type == VECTOR_F64;
    int bits = machine_bits(machine, type);
    int large = machine_float(machine, type, wide ? 0x1p1000 : 0x1p110);
    if (machine_is_avx512(machine))
        return machine_rvmi(machine, wide ? X86_VRANGEPD : X86_VRANGEPS, bits, rest, large,
                            LESSER_WITH_SIGN_OF_FIRST);
    rest = machine_rvm(machine, wide ? X86_VMINPD : X86_VMINPS, bits, rest, large); /* nan: the second */
    return machine_rvm(machine, wide ? X86_VMAXPD : X86_VMAXPS, bits, rest,
                       machine_float(machine, type, wide ? -0x1p1000 : -0x1p110));
}

/* x over d, of which r is the reciprocal. `is_whole`: x is an integer, so that no rest is other than a
 * number. A rest of 0 is +0 either way: its product must be -0, which leaves q of zeros as it is. */
static int corrected(struct machine *machine, enum vector_type type, bool is_whole, bool is_negative, int x,
                     int d, int r)
{
    const struct width *width = &widths[type == VECTOR_F64];
    int bits = machine_bits(machine, type), quotient = machine_rvm(machine, width->multiply, bits, x, r);
    int rest = machine_fused(machine, is_negative ? width->subtract_product : width->product_less, bits, d,
                             quotient, x);
    if (!is_whole)
        rest = bounded(machine, type, rest);
    return machine_fused(machine, is_negative ? width->add_product : width->subtract_product, bits, rest, r,
                         quotient);
}

/* The numbers of a byte over a constant, where that is 1 / d in two parts: x * r + x * (what r is too small
 * by), of which only the sum is rounded, and as the quotient is, which is tried for all of them. -1: it is
 * not. */
static int of_byte(struct machine *machine, bool is_signed, int x, float divisor)
{
    float inverse = 1 / divisor, rest = (float)(1 / (double)divisor - (double)inverse);
    for (int k = is_signed ? -128 : 0; k < (is_signed ? 128 : 256); k++)
        if (fmaf((float)k, inverse, (float)k * rest) != (float)k / divisor)
            return -1;
    int bits = machine_bits(machine, VECTOR_F32);
    int small = machine_rvm(machine, X86_VMULPS, bits, x, machine_float(machine, VECTOR_F32, (double)rest));
    machine_into(machine, X86_VFMADD231PS, bits, small, x,
                 machine_float(machine, VECTOR_F32, (double)inverse), 0);
    return small;
}

/* By a constant of a moderate size. -1: it is not, or the quotient would not be strict. */
static int by_constant(struct machine *machine, const struct vector_value *value, int x, double divisor)
{
    enum vector_type type = value->type;
    const struct vector_value *dividend = &machine->loop->values.items[value->operands[0]];
    bool is_whole = is_whole_number(dividend);
    double inverse = type == VECTOR_F64 ? 1 / divisor : (double)(1 / (float)divisor);
    int exponent;
    double mantissa = fabs(frexp(divisor, &exponent)); /* of 0, infinity and nan: itself */
    if (!(mantissa >= 0.5 && mantissa < 1) || abs(exponent) > MODERATE)
        return -1;
    if (mantissa == 0.5)
        return machine_rvm(machine, widths[type == VECTOR_F64].multiply, machine_bits(machine, type), x,
                           machine_float(machine, type, inverse));
    if (is_whole && type == VECTOR_F32 && divisor > 0 && dtype_table[dividend->from].size == 1) {
        int quotient = of_byte(machine, dtype_is_signed(dividend->from), x, (float)divisor);
        if (quotient >= 0)
            return quotient;
    }
    if (machine->options->strict)
        return -1;
    return corrected(machine, type, is_whole, divisor < 0, x, machine_float(machine, type, divisor),
                     machine_float(machine, type, inverse));
}

int machine_quotient(struct machine *machine, const struct vector_value *value, const int *operands)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_value *divisor = &loop->values.items[value->operands[1]];
    int x = operands[0], d = operands[1];
    if (divisor->kind == VECTOR_CONSTANT && !loop->is_serial)
        return by_constant(machine, value, x, vector_number(divisor->type, divisor->bits));
    if (divisor->kind != VECTOR_SCALAR || !machine->is_long)
        return -1;
    return corrected(machine, value->type, is_whole_number(&loop->values.items[value->operands[0]]), false, x,
                     d, machine_keep(machine, KEPT_RECIPROCAL, value->type, d, 0));
}

/* ---- quotients of integers ---------------------------------------------------------------------- */

/* Numbers of 16 bits as floats, which hold them exactly: half a unit more keeps what is a whole number far
 * enough above it for the error of the product. */
static int floor_quotient_of_small(struct machine *machine, akg_dtype dtype, int a, uint32_t divisor)
{
    enum { DOWN = 9 };
    int bits = machine_bits(machine, VECTOR_I32);
    int real = machine_rm(machine, X86_VCVTDQ2PS, bits, a);
    real = machine_rvm(machine, X86_VADDPS, bits, real, machine_float(machine, VECTOR_F32, 0.5));
    real =
        machine_rvm(machine, X86_VMULPS, bits, real, machine_float(machine, VECTOR_F32, 1 / (double)divisor));
    if (dtype_is_signed(dtype))
        real = machine_rmi(machine, machine_is_avx512(machine) ? X86_VRNDSCALEPS : X86_VROUNDPS, bits, real,
                           DOWN);
    return machine_rm(machine, X86_VCVTTPS2DQ, bits, real);
}

/* The high halves of the products of numbers without a sign with one of 32 bits. */
static int high_product(struct machine *machine, int bits, int a, uint32_t factor)
{
    int factors = machine_constant(machine, VECTOR_I32, factor);
    int even = machine_rvm(machine, X86_VPMULUDQ, bits, a, factors);
    int odd = machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, a, 32);
    odd = machine_rvm(machine, X86_VPMULUDQ, bits, odd, factors);
    even = machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, even, 32);
    if (!machine_is_avx512(machine)) {
        enum { ODD_ONES = 0xaa };
        return machine_rvmi(machine, X86_VBLENDPS, bits, even, odd, ODD_ONES);
    }
    odd = machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, odd, 32);
    odd = machine_shift(machine, X86_VPSLLQ_BY, X86_VPSLLQ_BY_WIDE, bits, odd, 32);
    return machine_rvm(machine, X86_VORPS, bits, even, odd);
}

static int shift_right(struct machine *machine, int bits, int a, int count)
{
    return count ? machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, a, count) : a;
}

/* The factor is 2^shift / d rounded up: by less than 1, which the product with a dividend of 31 bits makes no
 * unit of where 2^(shift - 31) is d or more (Granlund and Montgomery, Division by Invariant Integers using
 * Multiplication, section 4). Of 32 bits it takes one more than a lane has: the highest is added apart. Below
 * 0, a // d is ~(~a // d). */
int machine_floor_quotient(struct machine *machine, akg_dtype dtype, int a, uint32_t divisor)
{
    enum { WORD = 32 };
    int bits = machine_bits(machine, VECTOR_I32), up = WORD - __builtin_clz(divisor - 1);
    bool is_signed = dtype == AKG_INT32;
    if (dtype_table[dtype].size <= 2)
        return floor_quotient_of_small(machine, dtype, a, divisor);
    if (is_signed) {
        uint64_t factor = (((uint64_t)1 << (WORD - 1 + up)) + divisor - 1) / divisor;
        int sign = machine_shift(machine, X86_VPSRAD_BY, X86_VPSRAD_BY_WIDE, bits, a, WORD - 1);
        int size = machine_rvm(machine, X86_VXORPS, bits, a, sign);
        int high = high_product(machine, bits, size, (uint32_t)factor);
        return machine_rvm(machine, X86_VXORPS, bits, shift_right(machine, bits, high, up - 1), sign);
    }
    /* 2^(32 + up) / d - 2^32, rounded up */
    uint64_t factor = ((((uint64_t)1 << up) - divisor) << WORD) / divisor + 1;
    int high = high_product(machine, bits, a, (uint32_t)factor);
    int rest = shift_right(machine, bits, machine_rvm(machine, X86_VPSUBD, bits, a, high), 1);
    return shift_right(machine, bits, machine_rvm(machine, X86_VPADDD, bits, rest, high), up - 1);
}

/* ---- the long loop ------------------------------------------------------------------------------ */

bool machine_has_quotients(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->values.count && !machine->options->strict; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind == VECTOR_OPERATION && value->operation == OP_TRUEDIV &&
            loop->values.items[value->operands[1]].kind == VECTOR_SCALAR)
            return true;
    }
    return false;
}

void machine_test_divisors(struct machine *machine, int otherwise)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind != VECTOR_OPERATION || value->operation != OP_TRUEDIV ||
            loop->values.items[value->operands[1]].kind != VECTOR_SCALAR)
            continue;
        const struct width *width = &widths[value->type == VECTOR_F64];
        machine_emit(machine,
                     (struct x86_instruction){
                         .form = X86_MOV,
                         .reg = X86_RAX,
                         .has_memory = true,
                         .memory = machine_slot(machine, loop->values.items[value->operands[1]].slot)});
        machine_emit(machine, (struct x86_instruction){
                                  .form = X86_SHR_BY, .rm = X86_RAX, .immediate = width->exponent_bit});
        machine_emit_by(machine, X86_AND_BY, X86_RAX, width->exponent_mask);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, width->bias - MODERATE);
        machine_emit_jump(machine, X86_JL, otherwise);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, width->bias + MODERATE);
        machine_emit_jump(machine, X86_JGE, otherwise);
    }
}

void machine_setup_reciprocals(struct machine *machine, machine_section *section)
{
    machine->section = section;
    for (int k = 0; k < machine->kept.count; k++) {
        const struct machine_kept *kept = &machine->kept.items[k];
        if (kept->kind != KEPT_RECIPROCAL)
            continue;
        bool wide = kept->type == VECTOR_F64;
        int bits = machine_bits(machine, kept->type), one = machine_new_vector(machine, bits);
        machine_spread_constant(machine, one, kept->type, wide ? (uint64_t)0x3ff << 52 : 0x3f800000);
        machine_into(machine, widths[wide].divide, bits, kept->virtual_register, one, kept->number, 0);
    }
}

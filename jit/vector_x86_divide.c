/*
 * vector_x86_divide.c: quotients by what is the same in all iterations, without a division in the loop: first
 * those of floats, then those of integers by a constant.
 *
 * Consumes a dividend in a virtual register, and which value is the divisor; appends two instructions. Of the
 * divisor d they need r = 1 / d rounded towards 0, and what is left of it, s = 1 / d - r rounded:
 *
 *   x / d = x * r + x * s, of which only x * s and the sum are rounded
 *
 * It is the rounded quotient, but where that lies within some 2^-22 of a unit from the middle of two numbers.
 * r and s have the same sign, so zeros, infinities and what overflows come out as they should. Divisors are
 * taken whose exponent is moderate, so that neither is below the normal numbers; where the quotient is small
 * enough for x * s to be, it is within a unit. No part of strict results, but for powers of two, whose
 * quotients are exact products.
 *
 * A divisor that is known only at run time is looked at before the loop, and only where the loop is long: the
 * main loop then stands twice (vector_x86.c); so do the few vectors of a row of a band that has little else
 * to do (vector_x86_short.c).
 */
#include "vector_x86_operation.h"

#include <math.h>
#include <stdlib.h>

enum { MODERATE = 64 /* the exponent of a divisor, at most */ };

struct width {
    enum x86_form add, multiply, divide, add_product, subtract_product, subtract_integer;
    int exponent_bit, exponent_mask, bias;
};

static const struct width widths[2] = {
    {X86_VADDPS, X86_VMULPS, X86_VDIVPS, X86_VFMADD231PS, X86_VFNMADD231PS, X86_VPSUBD, 23, 0xff, 127},
    {X86_VADDPD, X86_VMULPD, X86_VDIVPD, X86_VFMADD231PD, X86_VFNMADD231PD, X86_VPSUBQ, 52, 0x7ff, 1023}};

/* ---- quotients ------------------------------------------------------------------------------- */

static bool is_whole_number(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && value->operation == OP_CAST && dtype_is_integer(value->from);
}

/* x * r + x * rest. */
static int product_of_parts(struct machine *machine, enum vector_type type, int x, int r, int rest)
{
    const struct width *width = &widths[type == VECTOR_F64];
    int bits = machine_bits(machine, type), result = machine_rvm(machine, width->multiply, bits, x, rest);
    machine_into(machine, width->add_product, bits, result, x, r, 0);
    return result;
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
    return product_of_parts(machine, VECTOR_F32, x, machine_float(machine, VECTOR_F32, (double)inverse),
                            machine_float(machine, VECTOR_F32, (double)rest));
}

/* By a constant that is no power of two. */
static int by_parts(struct machine *machine, enum vector_type type, int x, double divisor)
{
    bool wide = type == VECTOR_F64;
    double r = wide ? 1 / divisor : (double)(1 / (float)divisor);
    if (fma(-divisor, r, 1) < 0) /* it was rounded up */
        r = wide ? nextafter(r, 0) : (double)nextafterf((float)r, 0);
    return product_of_parts(machine, type, x, machine_float(machine, type, r),
                            machine_float(machine, type, fma(-divisor, r, 1) * r));
}

/* By a constant of a moderate size. -1: it is not, or the quotient would not be strict. */
static int by_constant(struct machine *machine, const struct vector_value *value, int x, double divisor)
{
    enum vector_type type = value->type;
    const struct vector_value *dividend = &machine->loop->values.items[value->operands[0]];
    double inverse = type == VECTOR_F64 ? 1 / divisor : (double)(1 / (float)divisor);
    int exponent;
    double mantissa = fabs(frexp(divisor, &exponent)); /* of 0, infinity and nan: itself */
    if (!(mantissa >= 0.5 && mantissa < 1) || abs(exponent) > MODERATE)
        return -1;
    if (mantissa == 0.5)
        return machine_rvm(machine, widths[type == VECTOR_F64].multiply, machine_bits(machine, type), x,
                           machine_float(machine, type, inverse));
    if (is_whole_number(dividend) && type == VECTOR_F32 && divisor > 0 &&
        dtype_table[dividend->from].size == 1) {
        int quotient = of_byte(machine, dtype_is_signed(dividend->from), x, (float)divisor);
        if (quotient >= 0)
            return quotient;
    }
    return machine->options->strict ? -1 : by_parts(machine, type, x, divisor);
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
    return product_of_parts(machine, value->type, x,
                            machine_keep(machine, KEPT_RECIPROCAL, value->type, d, 0),
                            machine_keep(machine, KEPT_RECIPROCAL, value->type, d, 1));
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
    enum { ODD_ONES = 0xaa, ALL_ODD_ONES = 0xaaaa };
    int factors = machine_constant(machine, VECTOR_I32, factor);
    int even = machine_rvm(machine, X86_VPMULUDQ, bits, a, factors);
    if (machine->lanes == 1)
        return machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, even, 32);
    int odd = machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, a, 32);
    odd = machine_rvm(machine, X86_VPMULUDQ, bits, odd, factors);
    even = machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, even, 32);
    if (!machine_is_avx512(machine))
        return machine_rvmi(machine, X86_VBLENDPS, bits, even, odd, ODD_ONES);
    int result = machine_new_vector(machine, bits);
    machine_into(machine, X86_VBLENDMPS, bits, result, even, odd,
                 machine_keep(machine, KEPT_MASK, VECTOR_MASK, 0, ALL_ODD_ONES));
    return result;
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
    for (int less = 1; less <= up; less++) { /* a factor of 32 bits that is too large by as little? */
        uint64_t power = (uint64_t)1 << (WORD + up - less), factor = power / divisor + 1;
        if (factor <= UINT32_MAX && factor * divisor - power <= (uint64_t)1 << (up - less))
            return shift_right(machine, bits, high_product(machine, bits, a, (uint32_t)factor), up - less);
    }
    /* 2^(32 + up) / d - 2^32, rounded up */
    uint64_t factor = ((((uint64_t)1 << up) - divisor) << WORD) / divisor + 1;
    int high = high_product(machine, bits, a, (uint32_t)factor);
    int rest = shift_right(machine, bits, machine_rvm(machine, X86_VPSUBD, bits, a, high), 1);
    return shift_right(machine, bits, machine_rvm(machine, X86_VPADDD, bits, rest, high), up - 1);
}

/* ---- the long loop ------------------------------------------------------------------------------ */

/* Not of rows that are one loop and that threads share: where their pieces end hangs on how many threads
 * there are, and with that what would be left for divisions. */
bool machine_has_quotients(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    if (loop->nest && loop->nest->is_flat && loop->is_parted)
        return false;
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
                         .form = value->type == VECTOR_F64 ? X86_MOV : X86_MOV_DWORD, /* as it was stored */
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

static int spread(struct machine *machine, enum vector_type type, double number)
{
    int result = machine_new_vector(machine, machine_bits(machine, type));
    union dtype_value bits = {.i = 0};
    if (type == VECTOR_F64)
        bits.d = number;
    else
        bits.f = (float)number;
    machine_spread_constant(machine, result, type, (uint64_t)bits.i);
    return result;
}

/* 1 - d * r, exactly. */
static int left_of_one(struct machine *machine, enum vector_type type, int one, int d, int r)
{
    int bits = machine_bits(machine, type), rest = machine_copy(machine, bits, one);
    machine_into(machine, widths[type == VECTOR_F64].subtract_product, bits, rest, d, r, 0);
    return rest;
}

/* Both parts of a reciprocal. Where the quotient was rounded away from 0, which is where something below 0 is
 * left, it is one unit less. Where it is exact the rest is almost nothing instead, with its sign, whose
 * product with infinity is a number. */
static void setup_parts(struct machine *machine, const struct machine_kept *kept)
{
    enum vector_type type = kept->type;
    bool wide = type == VECTOR_F64;
    const struct width *width = &widths[wide];
    int bits = machine_bits(machine, type), one = spread(machine, type, 1), d = kept->number;
    int r = machine_rvm(machine, width->divide, bits, one, d), left = left_of_one(machine, type, one, d, r);
    int is_over = wide ? machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, left, 63)
                       : machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, left, 31);
    machine_into(machine, width->subtract_integer, bits, kept->virtual_register, r, is_over, 0);
    left = left_of_one(machine, type, one, d, kept->virtual_register);
    left = machine_rvm(machine, width->add, bits, left, spread(machine, type, wide ? 0x1p-90 : 0x1p-60));
    machine_into(machine, width->multiply, bits, machine_keep(machine, KEPT_RECIPROCAL, type, d, 1), left,
                 kept->virtual_register, 0);
}

void machine_setup_reciprocals(struct machine *machine, machine_section *section)
{
    machine->section = section;
    for (int k = 0; k < machine->kept.count; k++) {
        struct machine_kept kept = machine->kept.items[k];
        if (kept.kind == KEPT_RECIPROCAL && kept.bits == 0)
            setup_parts(machine, &kept);
    }
}

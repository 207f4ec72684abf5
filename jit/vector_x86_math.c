/*
 * vector_x86_math.c: functions of floats in line, where a call would cost more than the function.
 *
 * Consumes virtual registers; appends some 15 to 60 instructions with no branch, but for the rare arguments
 * of sine, cosine and tangent (vector_x86_rare.c). Arguments are reduced and polynomials evaluated in fused
 * steps that are the same for AVX2 and AVX-512, so the bits are, too. Not so of logarithms, 1 / sqrt(x), and
 * erf of float32: AVX-512 takes exponents out of floats, has an estimate of the root, and picks one of 16
 * floats for each lane, by which polynomials have few steps. Each function is within 2 units in the last
 * place of the true value (a test sweeps them), handles infinities, nan and subnormals, and is no part of
 * strict results.
 *
 * Polynomials are found by Remez's exchange for the least relative error, or for what weight a comment gives;
 * each of the first coefficients is rounded before the others are found.
 */
#include "vector_x86_math.h"
#include "vector_x86_operation.h"

/* ---- arithmetic -------------------------------------------------------------------------- */

static int pair(const struct real *real, enum x86_form narrow, enum x86_form wide, int a, int b)
{
    return machine_rvm(real->machine, real->wide ? wide : narrow, real->bits, a, b);
}

int real_number(const struct real *real, double number)
{
    return machine_float(real->machine, real->type, number);
}

int real_pattern(const struct real *real, uint32_t narrow, uint64_t wide)
{
    return machine_constant(real->machine, real->wide ? VECTOR_I64 : VECTOR_I32, real->wide ? wide : narrow);
}

int real_add(const struct real *real, int a, int b)
{
    return pair(real, X86_VADDPS, X86_VADDPD, a, b);
}

int real_subtract(const struct real *real, int a, int b)
{
    return pair(real, X86_VSUBPS, X86_VSUBPD, a, b);
}

int real_multiply(const struct real *real, int a, int b)
{
    return pair(real, X86_VMULPS, X86_VMULPD, a, b);
}

int real_divide(const struct real *real, int a, int b)
{
    return pair(real, X86_VDIVPS, X86_VDIVPD, a, b);
}

int real_root(const struct real *real, int a)
{
    return machine_rm(real->machine, real->wide ? X86_VSQRTPD : X86_VSQRTPS, real->bits, a);
}

int real_least(const struct real *real, int a, int b)
{
    return pair(real, X86_VMINPS, X86_VMINPD, a, b);
}

int real_most(const struct real *real, int a, int b)
{
    return pair(real, X86_VMAXPS, X86_VMAXPD, a, b);
}

int real_plus_product(const struct real *real, int c, int a, int b)
{
    enum x86_form form = real->wide ? X86_VFMADD231PD : X86_VFMADD231PS;
    return machine_fused(real->machine, form, real->bits, a, b, c);
}

int real_minus_product(const struct real *real, int c, int a, int b)
{
    enum x86_form form = real->wide ? X86_VFNMADD231PD : X86_VFNMADD231PS;
    return machine_fused(real->machine, form, real->bits, a, b, c);
}

int real_step(const struct real *real, int a, int b, double c)
{
    int result = machine_copy(real->machine, real->bits, a);
    machine_into(real->machine, real->wide ? X86_VFMADD213PD : X86_VFMADD213PS, real->bits, result, b,
                 real_number(real, c), 0);
    return result;
}

int real_rest(const struct real *real, int a, int b, int c)
{
    int rest = machine_copy(real->machine, real->bits, a);
    machine_into(real->machine, real->wide ? X86_VFMSUB213PD : X86_VFMSUB213PS, real->bits, rest, b, c, 0);
    return rest;
}

int real_polynomial(const struct real *real, int x, struct coefficients coefficients)
{
    int result = real_number(real, coefficients.items[0]);
    for (int k = 1; k < coefficients.count; k++)
        result = real_step(real, result, x, coefficients.items[k]);
    return result;
}

/* ---- bits --------------------------------------------------------------------------------- */

int real_shift_left(const struct real *real, int a, int count)
{
    return real->wide ? machine_shift(real->machine, X86_VPSLLQ_BY, X86_VPSLLQ_BY_WIDE, real->bits, a, count)
                      : machine_shift(real->machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, real->bits, a, count);
}

int real_shift_right(const struct real *real, int a, int count)
{
    return real->wide ? machine_shift(real->machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, real->bits, a, count)
                      : machine_shift(real->machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, real->bits, a, count);
}

int real_integer_add(const struct real *real, int a, int b)
{
    return pair(real, X86_VPADDD, X86_VPADDQ, a, b);
}

int real_integer_subtract(const struct real *real, int a, int b)
{
    return pair(real, X86_VPSUBD, X86_VPSUBQ, a, b);
}

int real_and(const struct real *real, int a, int b)
{
    return pair(real, X86_VANDPS, X86_VANDPD, a, b);
}

int real_xor(const struct real *real, int a, int b)
{
    return pair(real, X86_VXORPS, X86_VXORPD, a, b);
}

static int sign(const struct real *real)
{
    return real_pattern(real, (uint32_t)1 << 31, (uint64_t)1 << 63);
}

int real_magnitude(const struct real *real, int a)
{
    return real_and(real, a, real_pattern(real, INT32_MAX, INT64_MAX));
}

/* a, x and the bits of the sign, by a table of what each three bits make. */
static int by_table(const struct real *real, int a, int x, int table)
{
    int result = machine_copy(real->machine, real->bits, a);
    machine_add(real->machine, (struct x86_instruction){.form = real->wide ? X86_VPTERNLOGQ : X86_VPTERNLOGD,
                                                        .bits = real->bits,
                                                        .reg = result,
                                                        .vvvv = x,
                                                        .rm = sign(real),
                                                        .immediate = table});
    return result;
}

int real_with_sign(const struct real *real, int a, int x)
{
    enum { FIRST_OR_BOTH_OTHERS = 0xf8 };
    if (machine_is_avx512(real->machine))
        return by_table(real, a, x, FIRST_OR_BOTH_OTHERS);
    return pair(real, X86_VORPS, X86_VORPD, a, real_and(real, x, sign(real)));
}

int real_turned(const struct real *real, int a, int x)
{
    enum { FIRST_UNLIKE_BOTH_OTHERS = 0x78 };
    if (machine_is_avx512(real->machine))
        return by_table(real, a, x, FIRST_UNLIKE_BOTH_OTHERS);
    return real_xor(real, a, real_and(real, x, sign(real)));
}

/* ---- masks ---------------------------------------------------------------------------------- */

int real_compare(const struct real *real, enum operation operation, int a, int b)
{
    return machine_compare(real->machine, operation, real->wide ? AKG_FLOAT64 : AKG_FLOAT32, a, b);
}

int real_select(const struct real *real, int condition, int a, int b)
{
    return machine_select(real->machine, real->type, condition, a, b);
}

int real_pick(const struct real *real, const float table[16], int places)
{
    return machine_rvm(real->machine, X86_VPERMPS_WIDE, 512, places, machine_table(real->machine, table));
}

/* `mode`: which way, and no exception. */
static int rounded(const struct real *real, int a, int mode)
{
    bool is_avx512 = machine_is_avx512(real->machine);
    enum x86_form narrow = is_avx512 ? X86_VRNDSCALEPS : X86_VROUNDPS,
                  wide = is_avx512 ? X86_VRNDSCALEPD : X86_VROUNDPD;
    return machine_rmi(real->machine, real->wide ? wide : narrow, real->bits, a, mode);
}

int real_floor(const struct real *real, int a)
{
    return rounded(real, a, 9);
}

int real_floor_at(const struct real *real, int a, int digits)
{
    return rounded(real, a, digits << 4 | 9);
}

int real_nearest(const struct real *real, int a)
{
    return rounded(real, a, 8);
}

/* The second operand is given where they do not compare. */
int real_clamped(const struct real *real, int x, double low, double high)
{
    return real_least(real, real_number(real, high), real_most(real, real_number(real, low), x));
}

/* ---- 1 / sqrt(x) ------------------------------------------------------------------------------ */

/* An estimate to 14 bits and a step of Newton, within 1.5 units: y + y / 2 * (1 - x * y * y). Of 0 and of
 * infinity the last factor is nan and the estimate right: a number in its place leaves both. No other factor
 * is as large. A root and a quotient take four times as long. y is halved by taking 1 from its exponent, cut
 * off at 0, as products are what the loops that ask for this have enough of (batch_norm takes 0.97 of the
 * time). */
int machine_reciprocal_root(struct machine *machine, int x)
{
    struct real real = {.machine = machine, .type = VECTOR_F32, .bits = machine_bits(machine, VECTOR_F32)};
    int y = machine_rm(machine, X86_VRSQRT14PS, real.bits, x);
    int half =
        machine_rvm(machine, X86_VPSUBUSW, real.bits, y, machine_constant(machine, VECTOR_F32, 0x00800000));
    int rest = real_multiply(&real, x, y);
    machine_into(machine, X86_VFNMADD213PS, real.bits, rest, y, real_number(&real, 1), 0);
    return real_plus_product(&real, y, half, real_least(&real, rest, real_number(&real, 0x1p-12)));
}

/* ---- sqrt(x) -------------------------------------------------------------------------------------- */

/* The same estimate y: x * y, and a step of Newton for that and y / 2, within 0.9 units, and exact where the
 * root is a float. Lanes of 0 and of infinity keep x (`of_size`: its magnitude, which -infinity has as well).
 * The instruction for roots takes twice as long; to put to the result what its square lacks of x takes half
 * as long again. */
int machine_estimated_root(struct machine *machine, int x, bool of_size)
{
    enum { ZERO = 0x02 | 0x04, INFINITE = 0x08, LOWEST = 0x10 };
    struct real real = {.machine = machine, .type = VECTOR_F32, .bits = machine_bits(machine, VECTOR_F32)};
    int ends = machine_rmi(machine, X86_VFPCLASSPS, real.bits, x, ZERO | INFINITE | (of_size ? LOWEST : 0));
    int y = machine_rm(machine, X86_VRSQRT14PS, real.bits, x);
    int rest =
        machine_rvm(machine, X86_VPSUBUSW, real.bits, y, machine_constant(machine, VECTOR_F32, 0x00800000));
    int root = real_multiply(&real, x, y);
    machine_into(machine, X86_VFNMADD213PS, real.bits, rest, root, real_number(&real, 0.5), 0);
    machine_into(machine, X86_VFMADD231PS, real.bits, root, root, rest, 0);
    if (of_size)
        machine_into(machine, X86_VANDPS, real.bits, root, x,
                     machine_constant(machine, VECTOR_F32, INT32_MAX), ends);
    else
        machine_put(machine, VECTOR_F32, root, x, ends);
    return root;
}

/* ---- all ------------------------------------------------------------------------------------------ */

int machine_inline(struct machine *machine, const struct vector_value *value, const int *operands)
{
    enum operation operation = value->operation;
    enum vector_type type = value->type;
    bool wide = type == VECTOR_F64;
    struct real real = {
        machine, type, wide, machine_bits(machine, type), wide ? 52 : 23, wide ? 0x1.8p52 : 0x1.8p23};
    int x = operands[0];
    switch (operation) {
    case OP_EXP:
        return real_exponential(&real, x);
    case OP_EXP2:
        return value->bits ? real_exponential2_single(&real, x) : real_exponential2(&real, x, operands[1]);
    case OP_EXPM1:
        return real_exponential_less_one(&real, x);
    case OP_SINH:
    case OP_COSH:
        return real_hyperbolic(&real, operation, x);
    case OP_TANH:
        return real_tangent(&real, x);
    case OP_ERF:
        return real_error_function(&real, x);
    case OP_ERFC:
        return real_error_complement(&real, x);
    case OP_LOG1P:
        return real_logarithm_of_sum(&real, x);
    case OP_SIN:
    case OP_COS:
    case OP_TAN:
        return real_circular(&real, operation, x);
    case OP_ASIN:
    case OP_ACOS:
    case OP_ATAN:
        return real_arc(&real, operation, x);
    case OP_ATAN2:
        return real_arc_of_two(&real, x, operands[1]);
    case OP_POW:
        return real_cube_root(&real, x);
    case OP_FLOORDIV:
    case OP_MOD:
        return real_modulo(&real, operation, x, operands[1]);
    default:
        return value->bits ? real_logarithm2_single(&real, x) : real_logarithm(&real, operation, x);
    }
}

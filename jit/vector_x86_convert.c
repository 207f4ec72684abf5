/*
 * vector_x86_convert.c: casts between dtypes in lanes.
 *
 * Consumes and produces virtual registers, as dtype_cast does in base/dtype.c: integers wrap, floats become
 * integers cut and saturated with nan giving 0, what becomes a half is rounded once.
 */
#include "vector_x86_operation.h"

/* ---- halves, narrow integers ------------------------------------------------------------- */

static int round_to_half(struct machine *machine, int a)
{
    int bits = machine_bits(machine, VECTOR_F32),
        narrow = machine_new_vector(machine, bits / 2 < 128 ? 128 : bits / 2);
    machine_add(machine,
                (struct x86_instruction){.form = X86_VCVTPS2PH, .bits = bits, .reg = a, .rm = narrow});
    return machine_rm(machine, X86_VCVTPH2PS, bits, narrow);
}

/* `sum`, and where a is nan, that one, quiet. */
static int unless_nan(struct machine *machine, int bits, int sum, int a)
{
    enum { QUIET_OF_SECOND = 0x22 }; /* for quiet nan and signalling nan, and 0 for others: the first stays */
    if (machine_is_avx512(machine)) {
        int result = machine_copy(machine, bits, sum);
        machine_add(machine,
                    (struct x86_instruction){.form = X86_VFIXUPIMMPS,
                                             .bits = bits,
                                             .reg = result,
                                             .vvvv = a,
                                             .rm = machine_constant(machine, VECTOR_I32, QUIET_OF_SECOND)});
        return result;
    }
    int quiet = machine_rvm(machine, X86_VORPS, bits, a, machine_constant(machine, VECTOR_I32, 0x400000));
    return machine_select(machine, VECTOR_F32, machine_compare(machine, OP_EQ, AKG_FLOAT32, a, a), sum,
                          quiet);
}

/* To nearest even: half of a unit less a bit is added, and one more where the last bit kept is odd. */
static int round_to_bfloat(struct machine *machine, int a)
{
    int bits = machine_bits(machine, VECTOR_F32);
    int odd = machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, a, 16);
    odd = machine_rvm(machine, X86_VANDPS, bits, odd, machine_constant(machine, VECTOR_I32, 1));
    int sum = machine_rvm(machine, X86_VPADDD, bits, a, machine_constant(machine, VECTOR_I32, 0x7fff));
    sum = machine_rvm(machine, X86_VPADDD, bits, sum, odd);
    sum = unless_nan(machine, bits, sum, a);
    return machine_rvm(machine, X86_VANDPS, bits, sum, machine_constant(machine, VECTOR_I32, 0xffff0000));
}

/* ---- what is to be a half, rounded to odd before --------------------------------------------- */

/*
 * A number that has too many digits for a float on its way to a half keeps those that fit, and the last of
 * them becomes 1 where any that goes was: then it lies on the same side of what is halfway between two halves
 * as before, and the half is rounded as if it were made of the number itself. (Rounding to odd: S. Boldo and
 * G. Melquiond, Emulation of FMA and correctly rounded sums, IEEE Transactions on Computers 57, 2008.)
 */
static int round_to_odd(struct machine *machine, enum vector_type type, int a, uint64_t low)
{
    bool wide = vector_type_is_wide(type);
    enum vector_type integer = wide ? VECTOR_I64 : VECTOR_I32;
    int bits = machine_bits(machine, integer), mask = machine_constant(machine, integer, low);
    int sticky = machine_rvm(machine, X86_VANDPS, bits, a, mask);
    sticky = machine_rvm(machine, wide ? X86_VPADDQ : X86_VPADDD, bits, sticky, mask);
    sticky = machine_rvm(machine, X86_VORPS, bits, sticky, a);
    return machine_rvm(machine, X86_VANDPS, bits, sticky,
                       machine_constant(machine, integer, wide ? ~low : (uint32_t)~low));
}

/* Below the least normal number of a bfloat16 doubles are rounded to whole units of that, as the sum with a
 * number is that has such a unit. */
static int round_tiny(struct machine *machine, int a, int otherwise)
{
    int bits = machine_bits(machine, VECTOR_F64);
    int magnet = machine_float(machine, VECTOR_F64, 0x1.8p-81);
    int sign = machine_rvm(machine, X86_VANDPS, bits, a, machine_constant(machine, VECTOR_F64, 1ull << 63));
    int size = machine_rvm(machine, X86_VXORPS, bits, a, sign);
    int whole = machine_rvm(machine, X86_VADDPD, bits, size, magnet);
    whole = machine_rvm(machine, X86_VSUBPD, bits, whole, magnet);
    whole = machine_rvm(machine, X86_VORPS, bits, whole, sign);
    int is_tiny =
        machine_compare(machine, OP_LT, AKG_FLOAT64, size, machine_float(machine, VECTOR_F64, 0x1p-126));
    return machine_select(machine, VECTOR_F64, is_tiny, whole, otherwise);
}

static int double_to_half(struct machine *machine, akg_dtype to, int a)
{
    enum { LOW = 0x1fffffff /* the digits that a float has not */ };
    int odd = round_to_odd(machine, VECTOR_F64, a, LOW);
    if (to == AKG_BFLOAT16)
        odd = round_tiny(machine, a, odd);
    return machine_normal(machine, to,
                          machine_rm(machine, X86_VCVTPD2PS, machine_bits(machine, VECTOR_F64), odd));
}

/* The integer with digits that a float, or with 64 bits a double, holds; it stays as it is where it has few.
 */
static int integer_to_odd(struct machine *machine, akg_dtype from, int a)
{
    enum vector_type type = vector_type_of(from);
    bool wide = type == VECTOR_I64;
    uint64_t few = wide ? (uint64_t)1 << 40 : 1u << 20;
    int bits = machine_bits(machine, type), shifted = a;
    int odd = round_to_odd(machine, type, a, wide ? 0xfff : 0xff);
    if (dtype_is_signed(from)) {
        shifted = machine_rvm(machine, wide ? X86_VPADDQ : X86_VPADDD, bits, a,
                              machine_constant(machine, type, few));
        few *= 2;
    }
    int is_small = machine_compare(machine, OP_LT, wide ? AKG_UINT64 : AKG_UINT32, shifted,
                                   machine_constant(machine, type, few));
    return machine_select(machine, type, is_small, a, odd);
}

int machine_normal(struct machine *machine, akg_dtype dtype, int a)
{
    int bits = machine_bits(machine, VECTOR_I32), size = dtype_table[dtype].size;
    if (dtype == AKG_FLOAT16)
        return round_to_half(machine, a);
    if (dtype == AKG_BFLOAT16)
        return round_to_bfloat(machine, a);
    if (!dtype_is_integer(dtype) || size >= 4)
        return a;
    if (!dtype_is_signed(dtype))
        return machine_rvm(machine, X86_VANDPS, bits, a,
                           machine_constant(machine, VECTOR_I32, size == 1 ? 0xff : 0xffff));
    a = machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits, a, 32 - 8 * size);
    return machine_shift(machine, X86_VPSRAD_BY, X86_VPSRAD_BY_WIDE, bits, a, 32 - 8 * size);
}

int machine_half_of_bits(struct machine *machine, akg_dtype dtype, int a)
{
    int bits = machine_bits(machine, VECTOR_I32);
    if (dtype == AKG_BFLOAT16)
        return machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits, a, 16);
    int narrow = machine_new_vector(machine, bits / 2 < 128 ? 128 : bits / 2);
    machine_add(machine, (struct x86_instruction){.form = X86_VPMOVDW, .bits = bits, .reg = a, .rm = narrow});
    return machine_rm(machine, X86_VCVTPH2PS, bits, narrow);
}

/* ---- truth ----------------------------------------------------------------------------------- */

static int from_bool(struct machine *machine, akg_dtype to, int mask)
{
    enum vector_type type = vector_type_of(to);
    int one = dtype_is_float(to) ? machine_float(machine, type, 1) : machine_constant(machine, type, 1);
    return machine_select(machine, type, mask, one, machine_constant(machine, type, 0));
}

/* ---- between integers ------------------------------------------------------------------------ */

/* The low halves of four 64-bit lanes. */
static int narrow_avx2(struct machine *machine, int a)
{
    int high = machine_new_vector(machine, 128);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_VEXTRACTF128, .bits = 256, .reg = a, .rm = high, .immediate = 1});
    return machine_rvmi(machine, X86_VSHUFPS, 128, a, high, 0x88);
}

static int between_integers(struct machine *machine, akg_dtype to, akg_dtype from, int a)
{
    bool wide_to = vector_type_of(to) == VECTOR_I64, wide_from = vector_type_of(from) == VECTOR_I64;
    int wide = machine_bits(machine, VECTOR_I64);
    if (wide_to && wide_from)
        return a;
    if (wide_to)
        return machine_rm(machine, dtype_is_signed(from) ? X86_VPMOVSXDQ : X86_VPMOVZXDQ, wide, a);
    if (wide_from && machine_is_avx512(machine)) {
        int low = machine_new_vector(machine, wide / 2 < 128 ? 128 : wide / 2);
        machine_add(machine,
                    (struct x86_instruction){.form = X86_VPMOVQD, .bits = wide, .reg = a, .rm = low});
        a = low;
    } else if (wide_from && machine->lanes > 1) {
        a = narrow_avx2(machine, a);
    }
    return machine_normal(machine, to, a);
}

/* ---- integers to floats ---------------------------------------------------------------------- */

static int to_single(struct machine *machine, akg_dtype from, int a)
{
    bool wide = vector_type_of(from) == VECTOR_I64, natural = from == AKG_UINT32 || from == AKG_UINT64;
    int bits = machine_bits(machine, wide ? VECTOR_I64 : VECTOR_I32);
    if (wide && !machine_is_avx512(machine))
        return machine_wide_to_single(machine, !natural, bits, a);
    if (natural && !machine_is_avx512(machine))
        return machine_natural_to_single(machine, bits, a);
    return machine_rm(machine,
                      wide      ? natural ? X86_VCVTUQQ2PS : X86_VCVTQQ2PS
                      : natural ? X86_VCVTUDQ2PS
                                : X86_VCVTDQ2PS,
                      bits, a);
}

static int to_double(struct machine *machine, akg_dtype from, int a)
{
    bool wide = vector_type_of(from) == VECTOR_I64, natural = from == AKG_UINT32 || from == AKG_UINT64;
    int bits = machine_bits(machine, VECTOR_F64);
    if (wide && !machine_is_avx512(machine))
        return machine_wide_to_double(machine, !natural, bits, a);
    if (natural && !machine_is_avx512(machine))
        return machine_natural_to_double(machine, bits, a);
    return machine_rm(machine,
                      wide      ? natural ? X86_VCVTUQQ2PD : X86_VCVTQQ2PD
                      : natural ? X86_VCVTUDQ2PD
                                : X86_VCVTDQ2PD,
                      bits, a);
}

static int from_integer(struct machine *machine, akg_dtype to, akg_dtype from, int a)
{
    if (to == AKG_FLOAT64)
        return to_double(machine, from, a);
    if (to == AKG_FLOAT32)
        return to_single(machine, from, a);
    /* A float holds these exactly, so that the half is rounded once; those that it does not are too large for
     * a float16. */
    if (to == AKG_FLOAT16 || dtype_table[from].size <= 2)
        return machine_normal(machine, to, to_single(machine, from, a));
    a = integer_to_odd(machine, from, a);
    return dtype_table[from].size == 4 ? machine_normal(machine, to, to_single(machine, from, a))
                                       : double_to_half(machine, to, to_double(machine, from, a));
}

/* ---- floats to integers ------------------------------------------------------------------------ */

/* As doubles where the integers have 64 bits. */
static int to_signed_avx2(struct machine *machine, bool wide, bool wide_from, int a)
{
    int bits = machine_bits(machine, wide || wide_from ? VECTOR_I64 : VECTOR_I32);
    if (wide && !wide_from)
        a = machine_rm(machine, X86_VCVTPS2PD, bits, a);
    return wide        ? machine_double_to_wide(machine, true, bits, a)
           : wide_from ? machine_double_to_signed(machine, bits, a)
                       : machine_single_to_signed(machine, bits, a);
}

static int to_unsigned_avx2(struct machine *machine, bool wide, bool wide_from, int a)
{
    int bits = machine_bits(machine, wide || wide_from ? VECTOR_I64 : VECTOR_I32);
    if (wide && !wide_from)
        a = machine_rm(machine, X86_VCVTPS2PD, bits, a);
    if (wide)
        return machine_double_to_wide(machine, false, bits, a);
    if (!wide_from)
        return machine_single_to_natural(machine, bits, a);
    a = machine_double_to_natural(machine, bits, a);
    return machine->lanes > 1 ? narrow_avx2(machine, a) : a;
}

/* The instructions give the least integer for whatever does not fit, nan too. */
static int to_signed(struct machine *machine, enum vector_type to, akg_dtype from, int a)
{
    enum vector_type type = vector_type_of(from);
    bool wide = to == VECTOR_I64, wide_from = type == VECTOR_F64;
    int bits = machine_bits(machine, wide || wide_from ? VECTOR_I64 : VECTOR_I32);
    if (!machine_is_avx512(machine))
        return to_signed_avx2(machine, wide, wide_from, a);
    int cut = machine_rm(machine,
                         wide        ? wide_from ? X86_VCVTTPD2QQ : X86_VCVTTPS2QQ
                         : wide_from ? X86_VCVTTPD2DQ
                                     : X86_VCVTTPS2DQ,
                         bits, a);
    int limit = machine_float(machine, type, wide ? 0x1p63 : 0x1p31);
    int large = machine_compare(machine, OP_GE, from, a, limit);
    cut =
        machine_select(machine, to, large, machine_constant(machine, to, wide ? INT64_MAX : INT32_MAX), cut);
    int number = machine_compare(machine, OP_EQ, from, a, a);
    return machine_select(machine, to, number, cut, machine_constant(machine, to, 0));
}

/* They give the largest integer for what does not fit; vmaxps gives 0 for nan and what is below. */
static int to_unsigned(struct machine *machine, enum vector_type to, akg_dtype from, int a)
{
    enum vector_type type = vector_type_of(from);
    bool wide = to == VECTOR_I64, wide_from = type == VECTOR_F64;
    if (!machine_is_avx512(machine))
        return to_unsigned_avx2(machine, wide, wide_from, a);
    int real_bits = machine_bits(machine, type);
    int bits = machine_bits(machine, wide || wide_from ? VECTOR_I64 : VECTOR_I32);
    a = machine_rvm(machine, wide_from ? X86_VMAXPD : X86_VMAXPS, real_bits, a,
                    machine_constant(machine, type, 0));
    return machine_rm(machine,
                      wide        ? wide_from ? X86_VCVTTPD2UQQ : X86_VCVTTPS2UQQ
                      : wide_from ? X86_VCVTTPD2UDQ
                                  : X86_VCVTTPS2UDQ,
                      bits, a);
}

int machine_cast_whole(struct machine *machine, const struct vector_value *value, int a)
{
    bool wide = value->type == VECTOR_I64, wide_from = value->from == AKG_FLOAT64;
    int bits = machine_bits(machine, wide || wide_from ? VECTOR_I64 : VECTOR_I32);
    if (!wide_from)
        return machine_rm(machine, X86_VCVTTPS2DQ, bits, a);
    if (value->dtype == AKG_INT32)
        return machine_rm(machine, X86_VCVTTPD2DQ, bits, a);
    a = machine_whole_to_wide(machine, value->bits <= 51, bits, a);
    return wide || machine->lanes == 1 ? a : narrow_avx2(machine, a);
}

static int converted(struct machine *machine, enum x86_form form, int a, int numbers)
{
    int bits = machine_bits(machine, VECTOR_I32), result = machine_new_vector(machine, bits);
    machine_add(
        machine,
        (struct x86_instruction){
            .form = form, .bits = bits, .reg = result, .rm = a, .mask = numbers, .zeroing = numbers != 0});
    return result;
}

/* What is above the most is cut, and nan made 0, with AVX-512 by the conversion. */
static int single_to_most(struct machine *machine, enum x86_form convert, int a, int32_t most)
{
    enum { ORDERED = 7 };
    int bits = machine_bits(machine, VECTOR_I32), numbers = 0;
    if (machine_is_avx512(machine))
        numbers = machine_compare_floats(machine, VECTOR_F32, a, a, ORDERED);
    else
        a = machine_rvm(machine, X86_VANDPS, bits, a, machine_rvmi(machine, X86_VCMPPS, bits, a, a, ORDERED));
    a = machine_rvm(machine, X86_VMINPS, bits, a, machine_float(machine, VECTOR_F32, most));
    return converted(machine, convert, a, numbers);
}

/* vmaxps gives 0 for nan and what is below. */
static int positive(struct machine *machine, int a)
{
    return machine_rvm(machine, X86_VMAXPS, machine_bits(machine, VECTOR_I32), a,
                       machine_float(machine, VECTOR_F32, 0));
}

/* The numbers of a narrow dtype are floats too: what is above them is cut before. Where none is negative, so
 * is what is below; else it becomes the least integer. */
static int single_to_narrow(struct machine *machine, enum x86_form convert, int a, int32_t least,
                            int32_t most)
{
    int bits = machine_bits(machine, VECTOR_I32);
    if (least == 0)
        return converted(machine, convert,
                         machine_rvm(machine, X86_VMINPS, bits, positive(machine, a),
                                     machine_float(machine, VECTOR_F32, most)),
                         0);
    return machine_rvm(machine, X86_VPMAXSD, bits, single_to_most(machine, convert, a, most),
                       machine_constant(machine, VECTOR_I32, (uint32_t)least));
}

/* The least and the greatest number of a dtype of 8 or 16 bits. */
static int32_t most_of(akg_dtype dtype)
{
    return (int32_t)(1u << (dtype_table[dtype].size * 8 - dtype_is_signed(dtype))) - 1;
}

static int32_t least_of(akg_dtype dtype)
{
    return dtype_is_signed(dtype) ? -most_of(dtype) - 1 : 0;
}

int machine_cast_rounded(struct machine *machine, akg_dtype to, int a)
{
    return single_to_narrow(machine, X86_VCVTPS2DQ, a, least_of(to), most_of(to));
}

/* To numbers without a sign the largest one stands for what is too large. */
int machine_cast_to_cut(struct machine *machine, const struct vector_value *value, int a)
{
    bool rounds = value->rounds;
    if (dtype_is_signed(value->dtype))
        return single_to_most(machine, rounds ? X86_VCVTPS2DQ : X86_VCVTTPS2DQ, a, most_of(value->dtype));
    return converted(machine, rounds ? X86_VCVTPS2UDQ : X86_VCVTTPS2UDQ, positive(machine, a), 0);
}

static int from_real(struct machine *machine, akg_dtype to, akg_dtype from, int a)
{
    enum vector_type type = vector_type_of(to);
    int size = dtype_table[to].size, bits = machine_bits(machine, VECTOR_I32);
    if (to == AKG_UINT32 || to == AKG_UINT64)
        return to_unsigned(machine, type, from, a);
    if (size >= 4)
        return to_signed(machine, type, from, a);
    int32_t most = most_of(to), least = least_of(to);
    if (vector_type_of(from) == VECTOR_F32)
        return single_to_narrow(machine, X86_VCVTTPS2DQ, a, least, most);
    int value = to_signed(machine, type, from, a);
    value =
        machine_rvm(machine, X86_VPMINSD, bits, value, machine_constant(machine, VECTOR_I32, (uint32_t)most));
    return machine_rvm(machine, X86_VPMAXSD, bits, value,
                       machine_constant(machine, VECTOR_I32, (uint32_t)least));
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int between_reals(struct machine *machine, akg_dtype to, akg_dtype from, int a)
{
    int wide = machine_bits(machine, VECTOR_F64);
    if (to == AKG_FLOAT64)
        return machine_rm(machine, X86_VCVTPS2PD, wide, a);
    if (from == AKG_FLOAT64)
        return to == AKG_FLOAT32 ? machine_rm(machine, X86_VCVTPD2PS, wide, a)
                                 : double_to_half(machine, to, a);
    return machine_normal(machine, to, a);
}

int machine_cast(struct machine *machine, akg_dtype to, akg_dtype from, int a)
{
    if (to == from)
        return a;
    if (from == AKG_BOOL)
        return from_bool(machine, to, a);
    if (to == AKG_BOOL)
        return machine_compare(machine, OP_NE, from, a, machine_constant(machine, vector_type_of(from), 0));
    if (dtype_is_float(from))
        return dtype_is_float(to) ? between_reals(machine, to, from, a) : from_real(machine, to, from, a);
    return dtype_is_float(to) ? from_integer(machine, to, from, a) : between_integers(machine, to, from, a);
}

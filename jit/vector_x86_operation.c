/*
 * vector_x86_operation.c: the operations of the IR on vectors.
 *
 * Consumes values whose operands are in virtual registers; appends instructions that compute in each lane
 * what jit/scalar.c computes. Refuses what the target has no short way for.
 */
#include "scalar_library.h"
#include "vector_x86_operation.h"

/* ---- forms by type --------------------------------------------------------------------- */

struct forms {
    enum x86_form f32, f64, i32, i64;
};

static enum x86_form form_of(const struct forms *forms, enum vector_type type)
{
    switch (type) {
    case VECTOR_F32:
        return forms->f32;
    case VECTOR_F64:
        return forms->f64;
    case VECTOR_I32:
        return forms->i32;
    case VECTOR_I64:
        return forms->i64;
    default:
        return X86_NO_FORM;
    }
}

static int pair(struct machine *machine, struct forms forms, enum vector_type type, int bits, int a, int b)
{
    enum x86_form form = form_of(&forms, type);
    if (form == X86_VPMULLQ && !machine_is_avx512(machine))
        return machine_wide_product(machine, bits, a, b);
    if (form == X86_NO_FORM || (x86_rows[form].prefix == X86_EVEX && !machine_is_avx512(machine)))
        return machine_refuse(machine);
    return machine_rvm(machine, form, bits, a, b);
}

static const struct forms add_forms = {X86_VADDPS, X86_VADDPD, X86_VPADDD, X86_VPADDQ};
static const struct forms subtract_forms = {X86_VSUBPS, X86_VSUBPD, X86_VPSUBD, X86_VPSUBQ};
static const struct forms multiply_forms = {X86_VMULPS, X86_VMULPD, X86_VPMULLD, X86_VPMULLQ};
static const struct forms divide_forms = {X86_VDIVPS, X86_VDIVPD, X86_NO_FORM, X86_NO_FORM};
static const struct forms and_forms = {X86_VANDPS, X86_VANDPD, X86_VANDPS, X86_VANDPD};
static const struct forms or_forms = {X86_VORPS, X86_VORPD, X86_VORPS, X86_VORPD};
static const struct forms xor_forms = {X86_VXORPS, X86_VXORPD, X86_VXORPS, X86_VXORPD};

/* ---- what accumulates ---------------------------------------------------------------------- */

int machine_combine(struct machine *machine, enum operation operation, akg_dtype dtype, int bits, int a,
                    int b)
{
    enum vector_type type = vector_type_of(dtype);
    switch (operation) {
    case OP_MUL:
        return pair(machine, multiply_forms, type, bits, a, b);
    case OP_MIN:
    case OP_MAX:
        return machine_extreme(machine, operation, dtype, bits, a, b);
    case OP_BITAND:
        return pair(machine, and_forms, type, bits, a, b);
    case OP_BITOR:
        return pair(machine, or_forms, type, bits, a, b);
    case OP_BITXOR:
        return pair(machine, xor_forms, type, bits, a, b);
    default:
        return pair(machine, add_forms, type, bits, a, b);
    }
}

void machine_put(struct machine *machine, enum vector_type type, int accumulator, int value, int mask)
{
    int bits = machine_bits(machine, type);
    bool wide = vector_type_is_wide(type);
    if (machine_is_avx512(machine) || !mask)
        machine_add(machine, (struct x86_instruction){.form = wide ? X86_VMOVAPD : X86_VMOVAPS,
                                                      .bits = bits,
                                                      .reg = accumulator,
                                                      .rm = value,
                                                      .mask = mask});
    else
        machine_add(machine, (struct x86_instruction){.form = wide ? X86_VBLENDVPD : X86_VBLENDVPS,
                                                      .bits = bits,
                                                      .reg = accumulator,
                                                      .vvvv = accumulator,
                                                      .rm = value,
                                                      .fourth = machine_mask_for(machine, type, mask)});
}

/* Into the accumulator, where the mask (0: there is none) allows. */
/* What is the same for all columns is loaded once, for whichever lane asks for it. */
static bool lies_in_columns(const struct vector_loop *loop, const struct vector_value *load)
{
    return loop->streams.items[load->stream].strides[VECTOR_COLUMNS].kind != VECTOR_STAYS;
}

/* With AVX2: the operand that is 0 where the mask is not, as what is loaded under it, if a sum that begins
 * with 0 may have the products of all lanes then; -1. (-0 would become 0.) */
static int zero_operand(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    bool begins_with_zero = false;
    if (value->operation != OP_FMA || value->mask < 0 || machine->options->strict || !loop->nest ||
        loop->nest->is_along)
        return -1;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *set = &loop->values.items[k];
        if (set->kind != VECTOR_SET || set->slot != value->slot)
            continue;
        const struct vector_value *first =
            set->operands[0] < 0 ? NULL : &loop->values.items[set->operands[0]];
        if (!first || first->kind != VECTOR_CONSTANT || first->bits)
            return -1;
        begins_with_zero = true;
    }
    for (int k = 0; begins_with_zero && k < 2; k++) {
        const struct vector_value *operand = &loop->values.items[value->operands[k]];
        if (operand->kind == VECTOR_LOAD && operand->mask == value->mask && lies_in_columns(loop, operand))
            return k;
    }
    return -1;
}

void machine_accumulate(struct machine *machine, const struct vector_value *value, int accumulator,
                        const int *operands, int mask)
{
    enum vector_type type = value->type;
    int bits = machine_bits(machine, type);
    bool wide = vector_type_is_wide(type), direct = machine_is_avx512(machine) || !mask;
    bool is_fused = value->operation == OP_FMA || value->operation == OP_NEG;
    enum x86_form fused = value->operation == OP_NEG ? wide ? X86_VFNMADD231PD : X86_VFNMADD231PS
                          : wide                     ? X86_VFMADD231PD
                                                     : X86_VFMADD231PS;
    if (is_fused && direct) {
        machine_into(machine, fused, bits, accumulator, operands[0], operands[1], mask);
        return;
    }
    if (value->operation == OP_ADD && direct) {
        machine_into(machine, form_of(&add_forms, type), bits, accumulator, accumulator, operands[0], mask);
        return;
    }
    int zero = zero_operand(machine, value);
    if (zero >= 0) {
        int other =
            machine_rvm(machine, X86_VANDPS, bits, operands[1 - zero], machine_mask_for(machine, type, mask));
        machine_into(machine, fused, bits, accumulator, operands[zero], other, 0);
        return;
    }
    const struct vector_accumulator *row = &machine->loop->accumulators.items[value->slot];
    int sum = is_fused ? machine_fused(machine, fused, bits, operands[0], operands[1], accumulator)
              : row->is_quiet
                  ? machine_quiet_extreme(machine, row, bits, accumulator, operands[0])
                  : machine_combine(machine, value->operation, value->dtype, bits, accumulator, operands[0]);
    machine_put(machine, type, accumulator, sum, mask);
}

/* ---- signs, magnitudes -------------------------------------------------------------------- */

static uint64_t sign_bit(enum vector_type type)
{
    return vector_type_is_wide(type) ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
}

static int negate(struct machine *machine, akg_dtype dtype, int a)
{
    enum vector_type type = vector_type_of(dtype);
    int bits = machine_bits(machine, type);
    if (dtype_is_float(dtype))
        return machine_rvm(machine, X86_VXORPS, bits, a, machine_constant(machine, type, sign_bit(type)));
    return machine_normal(machine, dtype,
                          pair(machine, subtract_forms, type, bits, machine_constant(machine, type, 0), a));
}

static int magnitude(struct machine *machine, akg_dtype dtype, int a)
{
    enum vector_type type = vector_type_of(dtype);
    int bits = machine_bits(machine, type);
    if (dtype_is_float(dtype)) {
        uint64_t rest = type == VECTOR_F64 ? ~sign_bit(type) : ~sign_bit(type) & UINT32_MAX;
        return machine_rvm(machine, X86_VANDPS, bits, a, machine_constant(machine, type, rest));
    }
    if (!dtype_is_signed(dtype))
        return a;
    if (type == VECTOR_I64 && !machine_is_avx512(machine))
        return machine_wide_magnitude(machine, bits, a);
    return machine_normal(machine, dtype,
                          machine_rm(machine, type == VECTOR_I64 ? X86_VPABSQ : X86_VPABSD, bits, a));
}

/* -0 and -infinity without their sign. */
static int magnitude_of_ends(struct machine *machine, akg_dtype dtype, int a)
{
    enum { ENDS = 0x04 | 0x10 };
    enum vector_type type = vector_type_of(dtype);
    bool wide = type == VECTOR_F64;
    int bits = machine_bits(machine, type);
    if (machine_is_avx512(machine)) {
        int result = machine_copy(machine, bits, a);
        int ends = machine_rmi(machine, wide ? X86_VFPCLASSPD : X86_VFPCLASSPS, bits, a, ENDS);
        machine_into(machine, wide ? X86_VANDPD : X86_VANDPS, bits, result, a,
                     machine_constant(machine, type, wide ? INT64_MAX : INT32_MAX), ends);
        return result;
    }
    int infinity = machine_float(machine, type, __builtin_inf());
    int is_lowest = machine_compare(machine, OP_EQ, dtype, a, machine_float(machine, type, -__builtin_inf()));
    return pair(machine, add_forms, type, bits, machine_select(machine, type, is_lowest, infinity, a),
                machine_constant(machine, type, 0));
}

/* -1, 0 or 1; nan stays. */
static int sign_of(struct machine *machine, akg_dtype dtype, int a)
{
    enum vector_type type = vector_type_of(dtype);
    int zero = machine_constant(machine, type, 0), one, minus_one, result;
    if (dtype_is_float(dtype)) {
        one = machine_float(machine, type, 1);
        minus_one = machine_float(machine, type, -1);
        int ordered = machine_compare(machine, OP_EQ, dtype, a, a);
        result = machine_select(machine, type, ordered, zero, a);
    } else {
        one = machine_constant(machine, type, 1);
        minus_one = machine_constant(machine, type, type == VECTOR_I64 ? UINT64_MAX : UINT32_MAX);
        result = zero;
    }
    result = machine_select(machine, type, machine_compare(machine, OP_GT, dtype, a, zero), one, result);
    if (dtype_is_float(dtype) || dtype_is_signed(dtype))
        result =
            machine_select(machine, type, machine_compare(machine, OP_LT, dtype, a, zero), minus_one, result);
    return result;
}

/* ---- rounding, classes --------------------------------------------------------------------- */

static int rounded(struct machine *machine, enum vector_type type, int a, int mode)
{
    bool wide = type == VECTOR_F64;
    enum x86_form form = machine_is_avx512(machine) ? wide ? X86_VRNDSCALEPD : X86_VRNDSCALEPS
                         : wide                     ? X86_VROUNDPD
                                                    : X86_VROUNDPS;
    enum { NO_EXCEPTION = 8 };
    return machine_rmi(machine, form, machine_bits(machine, type), a, mode | NO_EXCEPTION);
}

static int classify(struct machine *machine, enum operation operation, akg_dtype dtype, int a)
{
    enum vector_type type = vector_type_of(dtype);
    enum { UNORDERED = 3, INFINITE = 0x18 };
    if (operation == OP_ISNAN)
        return machine_compare_floats(machine, type, a, a, UNORDERED);
    if (operation == OP_ISINF && machine_is_avx512(machine))
        return machine_rmi(machine, vector_type_is_wide(type) ? X86_VFPCLASSPD : X86_VFPCLASSPS,
                           machine_bits(machine, type), a, INFINITE);
    int infinity = machine_float(machine, type, __builtin_inf());
    return machine_compare(machine, operation == OP_ISINF ? OP_EQ : OP_LT, dtype,
                           magnitude(machine, dtype, a), infinity);
}

/* ---- shifts and bits ------------------------------------------------------------------------- */

/* Whether what is in 32-bit lanes is a number of the dtype as well, for some of its bits were taken. */
static bool is_within(const struct machine *machine, int number, akg_dtype dtype)
{
    const struct vector_value *values = machine->loop->values.items, *value = &values[number];
    uint64_t largest = ((uint64_t)1 << (8 * dtype_table[dtype].size - dtype_is_signed(dtype))) - 1;
    if (value->kind != VECTOR_OPERATION || value->operation != OP_BITAND || value->type != VECTOR_I32)
        return false;
    for (int k = 0; k < 2; k++)
        if (values[value->operands[k]].kind == VECTOR_CONSTANT && values[value->operands[k]].bits <= largest)
            return true;
    return false;
}

static int cast(struct machine *machine, const struct vector_value *value, int a)
{
    if (dtype_is_integer(value->dtype) && dtype_table[value->dtype].size < 4 &&
        is_within(machine, value->operands[0], value->dtype))
        return a;
    if (value->rounds)
        return machine_cast_rounded(machine, value->dtype, a);
    if (dtype_is_half(value->dtype) && value->bits)
        return machine_half_of_bits(machine, value->dtype, a);
    if (dtype_is_float(value->from) && value->bits && !machine_is_avx512(machine))
        return machine_cast_whole(machine, value, a);
    return machine_cast(machine, value->dtype, value->from, a);
}

/* By as many bits in all lanes, of 32. */
static int shift_by(struct machine *machine, enum operation operation, akg_dtype dtype, int a, int count)
{
    int bits = machine_bits(machine, VECTOR_I32);
    if (count == 0)
        return a;
    if (operation == OP_SHL)
        return machine_normal(machine, dtype,
                              machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, bits, a, count));
    if (dtype_is_signed(dtype))
        return machine_shift(machine, X86_VPSRAD_BY, X86_VPSRAD_BY_WIDE, bits, a, count);
    return machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, a, count);
}

/* Likewise of 64; -1: there is no such instruction. */
static int wide_shift_by(struct machine *machine, enum operation operation, akg_dtype dtype, int a, int count)
{
    int bits = machine_bits(machine, VECTOR_I64);
    if (count == 0)
        return a;
    if (operation == OP_SHL)
        return machine_shift(machine, X86_VPSLLQ_BY, X86_VPSLLQ_BY_WIDE, bits, a, count);
    if (!dtype_is_signed(dtype))
        return machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, a, count);
    return machine_is_avx512(machine)
               ? machine_shift(machine, X86_VPSRAQ_BY_WIDE, X86_VPSRAQ_BY_WIDE, bits, a, count)
               : -1;
}

static int shift(struct machine *machine, const struct vector_value *value, int a, int b)
{
    const struct vector_value *by = &machine->loop->values.items[value->operands[1]];
    enum operation operation = value->operation;
    akg_dtype dtype = value->dtype;
    enum vector_type type = vector_type_of(dtype);
    int bits = machine_bits(machine, type), width = dtype_table[dtype].size * 8;
    if (by->kind == VECTOR_CONSTANT && type == VECTOR_I32)
        return shift_by(machine, operation, dtype, a, (int)by->bits & (width - 1));
    int known = by->kind == VECTOR_CONSTANT && type == VECTOR_I64
                    ? wide_shift_by(machine, operation, dtype, a, (int)by->bits & (width - 1))
                    : -1;
    if (known >= 0)
        return known;
    int count =
        machine_rvm(machine, X86_VANDPS, bits, b, machine_constant(machine, type, (uint64_t)width - 1));
    bool arithmetic = operation == OP_SHR && dtype_is_signed(dtype);
    if (arithmetic && type == VECTOR_I64 && !machine_is_avx512(machine))
        return machine_wide_shift_right(machine, bits, a, count);
    struct forms left = {X86_NO_FORM, X86_NO_FORM, X86_VPSLLVD, X86_VPSLLVQ};
    struct forms right = {X86_NO_FORM, X86_NO_FORM, X86_VPSRLVD, X86_VPSRLVQ};
    struct forms right_signed = {X86_NO_FORM, X86_NO_FORM, X86_VPSRAVD, X86_VPSRAVQ};
    int result = pair(machine,
                      arithmetic            ? right_signed
                      : operation == OP_SHR ? right
                                            : left,
                      type, bits, a, count);
    return operation == OP_SHR ? result : machine_normal(machine, dtype, result);
}

static int bitwise(struct machine *machine, enum operation operation, akg_dtype dtype, int a, int b)
{
    enum vector_type type = vector_type_of(dtype);
    if (type == VECTOR_MASK)
        return operation == OP_BITAND  ? machine_and(machine, a, b)
               : operation == OP_BITOR ? machine_or(machine, a, b)
                                       : machine_xor(machine, a, b);
    return machine_combine(machine, operation, dtype, machine_bits(machine, type), a, b);
}

static int complement(struct machine *machine, akg_dtype dtype, int a)
{
    enum vector_type type = vector_type_of(dtype);
    if (type == VECTOR_MASK)
        return machine_not(machine, a);
    int ones = machine_constant(machine, type, type == VECTOR_I64 ? UINT64_MAX : UINT32_MAX);
    return machine_normal(machine, dtype,
                          machine_rvm(machine, X86_VXORPS, machine_bits(machine, type), a, ones));
}

/* ---- calls ------------------------------------------------------------------------------------ */

static const void *number_function(enum operation operation, bool wide)
{
    /* the members share their place */
    if (wide)
        return (const void *)(uintptr_t)scalar_functions64[operation].f1;
    return (const void *)(uintptr_t)scalar_functions32[operation].f1;
}

static int function_call(struct machine *machine, enum operation operation, enum vector_type type,
                         const int *operands)
{
    bool wide = type == VECTOR_F64;
    int bits = machine_bits(machine, type);
    struct machine_call call = {
        .count = operation_table[operation].arity, .lanes = machine->lanes, .wide = wide};
    call.function = machine->options->strict || machine->lanes == 1
                        ? NULL
                        : vector_function(operation, wide, bits == 512 ? 512 : 256);
    call.kind = call.function ? MACHINE_CALL : MACHINE_LANES;
    if (!call.function)
        call.function = number_function(operation, wide);
    call.arguments = arena_array(machine->arena, int, call.count);
    for (int k = 0; k < call.count; k++)
        call.arguments[k] = operands[k];
    call.result = machine_new_vector(machine, bits);
    machine_add_call(machine, call);
    return call.result;
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* A float computed in float, as the half that the IR has there. */
static int to_half(struct machine *machine, akg_dtype dtype, int a)
{
    return dtype_is_half(dtype) ? machine_normal(machine, dtype, a) : a;
}

static int arithmetic(struct machine *machine, const struct vector_value *value, const struct forms *forms,
                      const int *operands)
{
    int result =
        pair(machine, *forms, value->type, machine_bits(machine, value->type), operands[0], operands[1]);
    return machine_normal(machine, value->dtype, result);
}

/* Whether 32 bits hold it, with its sign, in each lane of 64. */
static bool is_short(const struct machine *machine, int number)
{
    const struct vector_value *value = &machine->loop->values.items[number];
    if (value->kind == VECTOR_CONSTANT)
        return (int64_t)value->bits == (int32_t)value->bits;
    return value->kind == VECTOR_OPERATION && value->operation == OP_CAST && dtype_is_integer(value->from) &&
           dtype_table[value->from].size <= 4 && value->from != AKG_UINT32;
}

/* Likewise, without one. */
static bool is_short_natural(const struct machine *machine, int number)
{
    const struct vector_value *value = &machine->loop->values.items[number];
    if (value->kind == VECTOR_CONSTANT)
        return value->bits <= UINT32_MAX;
    return value->kind == VECTOR_OPERATION && value->operation == OP_CAST && dtype_is_integer(value->from) &&
           !dtype_is_signed(value->from) && dtype_table[value->from].size <= 4;
}

/* Which power of two the operand is, above 0, in all lanes of integers; 0: none. */
static int power_of(const struct machine *machine, const struct vector_value *value, int operand)
{
    const struct vector_value *factor = &machine->loop->values.items[value->operands[operand]];
    uint64_t bits = value->type == VECTOR_I64 ? factor->bits : (uint32_t)factor->bits;
    bool is_power = factor->kind == VECTOR_CONSTANT && bits && !(bits & (bits - 1));
    return is_power && dtype_is_integer(value->dtype) ? __builtin_ctzll(bits) : 0;
}

/* Of 64-bit lanes, low halves are multiplied by one instruction, others by several. */
static int product(struct machine *machine, const struct vector_value *value, const int *operands)
{
    for (int k = 0; k < 2; k++) {
        int count = power_of(machine, value, k);
        if (count)
            return value->type == VECTOR_I64
                       ? wide_shift_by(machine, OP_SHL, value->dtype, operands[1 - k], count)
                       : shift_by(machine, OP_SHL, value->dtype, operands[1 - k], count);
    }
    int a = value->operands[0], b = value->operands[1], bits = machine_bits(machine, value->type);
    if (value->type == VECTOR_I64 && is_short(machine, a) && is_short(machine, b))
        return machine_rvm(machine, X86_VPMULDQ, bits, operands[0], operands[1]);
    if (value->type == VECTOR_I64 && is_short_natural(machine, a) && is_short_natural(machine, b))
        return machine_rvm(machine, X86_VPMULUDQ, bits, operands[0], operands[1]);
    return arithmetic(machine, value, &multiply_forms, operands);
}

static int square_root(struct machine *machine, const struct vector_value *value, int a)
{
    bool wide = value->type == VECTOR_F64;
    int bits = machine_bits(machine, value->type);
    if (value->operation == OP_RSQRT && !wide && machine_is_avx512(machine) && !machine->options->strict)
        return to_half(machine, value->dtype, machine_reciprocal_root(machine, a));
    if (value->operation == OP_SQRT && !wide && !machine->loop->is_serial && machine_is_avx512(machine) &&
        !machine->options->strict)
        return to_half(machine, value->dtype, machine_estimated_root(machine, a, value->bits));
    if (value->bits)
        a = magnitude_of_ends(machine, value->type == VECTOR_F64 ? AKG_FLOAT64 : AKG_FLOAT32, a);
    int root = machine_rm(machine, wide ? X86_VSQRTPD : X86_VSQRTPS, bits, a);
    if (value->operation == OP_RSQRT)
        root = pair(machine, divide_forms, value->type, bits, machine_float(machine, value->type, 1), root);
    return to_half(machine, value->dtype, root);
}

static int quotient(struct machine *machine, const struct vector_value *value, const int *operands)
{
    int result = machine_quotient(machine, value, operands);
    return result < 0 ? arithmetic(machine, value, &divide_forms, operands)
                      : machine_normal(machine, value->dtype, result);
}

static int fused(struct machine *machine, const struct vector_value *value, const int *operands)
{
    bool wide = value->type == VECTOR_F64;
    enum x86_form form = value->operation == OP_SUB   ? wide ? X86_VFMSUB231PD : X86_VFMSUB231PS
                         : value->operation == OP_NEG ? wide ? X86_VFNMADD231PD : X86_VFNMADD231PS
                         : wide                       ? X86_VFMADD231PD
                                                      : X86_VFMADD231PS;
    return to_half(machine, value->dtype,
                   machine_fused(machine, form, machine_bits(machine, value->type), operands[0], operands[1],
                                 operands[2]));
}

static int real_operation(struct machine *machine, const struct vector_value *value, const int *operands)
{
    switch (value->operation) {
    case OP_TRUEDIV:
        return quotient(machine, value, operands);
    case OP_SQRT:
    case OP_RSQRT:
        return square_root(machine, value, operands[0]);
    case OP_FMA:
        return fused(machine, value, operands);
    case OP_ROUND:
        return rounded(machine, value->type, operands[0], 0);
    case OP_FLOOR:
        return rounded(machine, value->type, operands[0], 1);
    case OP_CEIL:
        return rounded(machine, value->type, operands[0], 2);
    case OP_TRUNC:
        return rounded(machine, value->type, operands[0], 3);
    case OP_ISNAN:
    case OP_ISINF:
    case OP_ISFINITE:
        return classify(machine, value->operation, value->from, operands[0]);
    default:
        if (!machine->options->strict &&
            (vector_is_inline(value->operation, value->dtype) || vector_is_cube_root(value)))
            return to_half(machine, value->dtype, machine_inline(machine, value, operands));
        return to_half(machine, value->dtype,
                       function_call(machine, value->operation, value->type, operands));
    }
}

int machine_operation(struct machine *machine, const struct vector_value *value, const int *operands)
{
    akg_dtype dtype = value->dtype, from = value->from;
    int a = operands[0], b = operands[1], chosen;
    if (value->kind == VECTOR_FUSED)
        return fused(machine, value, operands);
    switch (value->operation) {
    case OP_ADD:
        return arithmetic(machine, value, &add_forms, operands);
    case OP_SUB:
        return arithmetic(machine, value, &subtract_forms, operands);
    case OP_MUL:
        return product(machine, value, operands);
    case OP_FLOORDIV:
        if (dtype_is_float(dtype))
            return real_operation(machine, value, operands);
        return machine_floor_quotient(machine, dtype, a,
                                      (uint32_t)machine->loop->values.items[value->operands[1]].bits);
    case OP_NEG:
        return negate(machine, dtype, a);
    case OP_ABS:
        return value->bits ? magnitude_of_ends(machine, dtype, a) : magnitude(machine, dtype, a);
    case OP_SIGN:
        return sign_of(machine, dtype, a);
    case OP_MIN:
    case OP_MAX:
        return machine_extreme_value(machine, value, operands);
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
        return machine_compare(machine, value->operation, from, a, b);
    case OP_AND:
        return machine_and(machine, a, b);
    case OP_OR:
        return machine_or(machine, a, b);
    case OP_NOT:
        return machine_not(machine, a);
    case OP_SELECT:
        chosen = machine_chosen_extreme(machine, value, operands);
        return chosen ? chosen : machine_select(machine, value->type, a, b, operands[2]);
    case OP_CAST:
        return cast(machine, value, a);
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
        return bitwise(machine, value->operation, dtype, a, b);
    case OP_BITNOT:
        return complement(machine, dtype, a);
    case OP_SHL:
    case OP_SHR:
        return shift(machine, value, a, b);
    case OP_POPCOUNT: /* of 32 or 64 bits */
        return machine_rm(machine, value->type == VECTOR_I64 ? X86_VPOPCNTQ : X86_VPOPCNTD,
                          machine_bits(machine, value->type), a);
    default:
        return real_operation(machine, value, operands);
    }
}

/*
 * vector_x86_slim.c: lanes of 8 and 16 bits.
 *
 * Consumes a vector loop and what vector_slim.c knows of it; appends a body of as many lanes as fill a
 * vector, and places it before the other loops, which are left with what is less than one. Where iterations
 * may be done twice, that is had in a vector that begins earlier instead, and with AVX-512 in a masked one.
 * What a lane holds above the bits of a narrower dtype is what the dtype is extended by, as in lanes of 32
 * bits. Masks of AVX2 are lanes of ones or zeros. What is accumulated goes into the partial results of 32 or
 * 64 bits behind it.
 */
#include "vector_x86_slim.h"
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

static bool is_byte(const struct slim_body *body)
{
    return body->slim->size == 1;
}

/* ---- constants, forms ------------------------------------------------------------------------------ */

enum vector_type slim_vector_type(const struct machine *machine)
{
    return machine->loop->wide ? VECTOR_I64 : VECTOR_I32;
}

int slim_repeated(const struct slim_body *body, uint32_t bits)
{
    enum vector_type type = slim_vector_type(body->machine);
    return machine_constant(body->machine, type, type == VECTOR_I64 ? (uint64_t)bits << 32 | bits : bits);
}

/* The low bits of the number as often as 32 bits hold them. */
static uint32_t lanes_of(const struct slim_body *body, int64_t number)
{
    return is_byte(body) ? (uint32_t)(number & 0xff) * 0x01010101u
                         : (uint32_t)(number & 0xffff) * 0x00010001u;
}

int slim_number(const struct slim_body *body, int64_t number)
{
    return slim_repeated(body, lanes_of(body, number));
}

/* A number of 16 bits in both bytes' places, whatever the lanes are. */
static int word_constant(const struct slim_body *body, uint32_t number)
{
    return slim_repeated(body, number * 0x00010001u);
}

int slim_apply(const struct slim_body *body, enum x86_form form, int a, int b)
{
    return machine_rvm(body->machine, form, body->bits, a, b);
}

/* The form for bytes, or that for words. */
static int apply_sized(const struct slim_body *body, enum x86_form bytes, enum x86_form words, int a, int b)
{
    return slim_apply(body, is_byte(body) ? bytes : words, a, b);
}

int slim_shift_words(const struct slim_body *body, enum x86_form form, int a, int count)
{
    enum x86_form wide = form == X86_VPSLLW_BY   ? X86_VPSLLW_BY_WIDE
                         : form == X86_VPSRLW_BY ? X86_VPSRLW_BY_WIDE
                                                 : X86_VPSRAW_BY_WIDE;
    return count ? machine_shift(body->machine, form, wide, body->bits, a, count) : a;
}

static int operand(const struct slim_body *body, const struct vector_value *value, int number)
{
    return body->registers[value->operands[number]];
}

static const struct slim_range *range_of(const struct slim_body *body, const struct vector_value *value,
                                         int number)
{
    return &body->slim->ranges[value->operands[number]];
}

static bool fits(const struct slim_body *body, const struct vector_value *value, int number, bool is_signed)
{
    return slim_fits(range_of(body, value, number), body->slim->size, is_signed);
}

/* Whether the lanes of the operands are taken as numbers with a sign. */
static bool are_signed(const struct slim_body *body, const struct vector_value *value, int count)
{
    for (int k = 0; k < count; k++)
        if (!fits(body, value, k, true))
            return false;
    return true;
}

/* ---- shifts, products, quotients ----------------------------------------------------------------------- */

static int shift_left(const struct slim_body *body, int a, int count)
{
    int result = slim_shift_words(body, X86_VPSLLW_BY, a, count);
    return is_byte(body) && count
               ? slim_apply(body, X86_VANDPS, result, slim_number(body, (int64_t)(0xffu << count)))
               : result;
}

/* Of bytes with a sign: that bit is moved along, and what it comes to is extended by taking it away again. */
static int shift_right(const struct slim_body *body, int a, int count, bool is_signed)
{
    if (!is_byte(body))
        return slim_shift_words(body, is_signed ? X86_VPSRAW_BY : X86_VPSRLW_BY, a, count);
    if (is_signed && count > 7)
        count = 7;
    if (count == 0)
        return a;
    int result = slim_apply(body, X86_VANDPS, slim_shift_words(body, X86_VPSRLW_BY, a, count),
                            slim_number(body, 0xff >> count));
    if (!is_signed)
        return result;
    int sign = slim_number(body, 0x80 >> count);
    return slim_apply(body, X86_VPSUBB, slim_apply(body, X86_VXORPS, result, sign), sign);
}

/* Of bytes: those in the low halves of words, and those in the high ones. */
static int product(const struct slim_body *body, int a, int b)
{
    int words = slim_apply(body, X86_VPMULLW, a, b);
    if (!is_byte(body))
        return words;
    int high = slim_apply(body, X86_VANDPS, b, word_constant(body, 0xff00));
    high = slim_apply(body, X86_VPMULLW, slim_shift_words(body, X86_VPSRLW_BY, a, 8), high);
    return slim_apply(body, X86_VORPS, slim_apply(body, X86_VANDPS, words, word_constant(body, 0xff)), high);
}

/* Words without a sign, none above `largest`: the high half of a product with 2^shift / divisor rounded up,
 * where 16 bits hold that and what it is too large by adds up to no unit; with one bit more where they do
 * not (Granlund and Montgomery, Division by Invariant Integers using Multiplication, section 4). */
static int quotient_of_words(const struct slim_body *body, int a, int64_t largest, int64_t divisor)
{
    enum { WORD = 16, MOST = 15 };
    int64_t factor = 0;
    int shift = WORD;
    for (; shift <= WORD + MOST; shift++) {
        factor = ((((int64_t)1) << shift) + divisor - 1) / divisor;
        if (factor >> WORD || (factor * divisor - ((int64_t)1 << shift)) * largest < (int64_t)1 << shift)
            break;
    }
    if (!(factor >> WORD) && shift <= WORD + MOST)
        return slim_shift_words(body, X86_VPSRLW_BY,
                                slim_apply(body, X86_VPMULHUW, a, word_constant(body, (uint32_t)factor)),
                                shift - WORD);
    shift = WORD + 64 - __builtin_clzll((uint64_t)divisor - 1);
    factor = ((((int64_t)1) << shift) + divisor - 1) / divisor;
    int high = slim_apply(body, X86_VPMULHUW, a, word_constant(body, (uint32_t)(factor & 0xffff)));
    int rest = slim_shift_words(body, X86_VPSRLW_BY, slim_apply(body, X86_VPSUBW, a, high), 1);
    return slim_shift_words(body, X86_VPSRLW_BY, slim_apply(body, X86_VPADDW, rest, high), shift - WORD - 1);
}

/* Below 0 by what is left of 0: a // d is ~(~a // d). */
static int quotient(const struct slim_body *body, const struct vector_value *value)
{
    const struct slim_range *a = range_of(body, value, 0);
    int64_t divisor = range_of(body, value, 1)->low;
    if (a->low >= 0)
        return quotient_of_words(body, operand(body, value, 0), a->high, divisor);
    int sign = slim_shift_words(body, X86_VPSRAW_BY, operand(body, value, 0), 15);
    int size = slim_apply(body, X86_VXORPS, operand(body, value, 0), sign);
    int64_t largest = a->high > -1 - a->low ? a->high : -1 - a->low;
    return slim_apply(body, X86_VXORPS, quotient_of_words(body, size, largest, divisor), sign);
}

/* ---- comparisons, least and greatest ------------------------------------------------------------------ */

static enum x86_form extreme_form(const struct slim_body *body, bool least, bool is_signed)
{
    static const enum x86_form forms[2][2][2] = {
        {{X86_VPMAXUW, X86_VPMAXUB}, {X86_VPMAXSW, X86_VPMAXSB}},
        {{X86_VPMINUW, X86_VPMINUB}, {X86_VPMINSW, X86_VPMINSB}},
    };
    return forms[least][is_signed][is_byte(body)];
}

static int extreme(const struct slim_body *body, bool least, bool is_signed, int a, int b)
{
    return slim_apply(body, extreme_form(body, least, is_signed), a, b);
}

static int equal(const struct slim_body *body, int a, int b)
{
    return apply_sized(body, X86_VPCMPEQB, X86_VPCMPEQW, a, b);
}

/* Without a sign there is a comparison with the greatest of both alone: a >= b. */
static int compare_natural(const struct slim_body *body, enum operation operation, int a, int b)
{
    bool least = operation == OP_LE || operation == OP_GT;
    int result = equal(body, extreme(body, least, false, a, b), a);
    return operation == OP_LT || operation == OP_GT ? machine_not(body->machine, result) : result;
}

/* a > c as a >= c + 1, a < c as a <= c - 1; false where there is no such number. */
static bool compare_with_next(const struct slim_body *body, const struct vector_value *value, int *result)
{
    const struct slim_range *limit = range_of(body, value, 1);
    int64_t next = value->operation == OP_GT ? limit->low + 1 : limit->low - 1;
    struct slim_range range = {next, next, false};
    if ((value->operation != OP_GT && value->operation != OP_LT) || limit->low != limit->high ||
        !slim_fits(&range, body->slim->size, false))
        return false;
    *result = compare_natural(body, value->operation == OP_GT ? OP_GE : OP_LE, operand(body, value, 0),
                              slim_number(body, next));
    return true;
}

static int compare_avx512(const struct slim_body *body, enum operation operation, bool is_signed, int a,
                          int b)
{
    static const unsigned char orders[OPERATION_COUNT] = {
        [OP_LT] = 1, [OP_LE] = 2, [OP_GT] = 6, [OP_GE] = 5, [OP_EQ] = 0, [OP_NE] = 4};
    enum x86_form form = is_byte(body) ? is_signed ? X86_VPCMPB : X86_VPCMPUB
                         : is_signed   ? X86_VPCMPW
                                       : X86_VPCMPUW;
    return machine_rvmi(body->machine, form, body->bits, a, b, orders[operation]);
}

static int compare(const struct slim_body *body, const struct vector_value *value)
{
    enum operation operation = value->operation;
    int a = operand(body, value, 0), b = operand(body, value, 1), result;
    if (value->from == AKG_BOOL)
        return machine_compare(body->machine, operation, AKG_BOOL, a, b);
    if (machine_is_avx512(body->machine))
        return compare_avx512(body, operation, are_signed(body, value, 2), a, b);
    if (operation == OP_EQ || operation == OP_NE) {
        result = equal(body, a, b);
        return operation == OP_EQ ? result : machine_not(body->machine, result);
    }
    if (!are_signed(body, value, 2))
        return compare_with_next(body, value, &result) ? result : compare_natural(body, operation, a, b);
    bool swapped = operation == OP_LT || operation == OP_GE;
    result = apply_sized(body, X86_VPCMPGTB, X86_VPCMPGTW, swapped ? b : a, swapped ? a : b);
    return operation == OP_LE || operation == OP_GE ? machine_not(body->machine, result) : result;
}

int slim_blend(const struct slim_body *body, int bits, int condition, int a, int b)
{
    struct machine *machine = body->machine;
    int result = machine_new_vector(machine, bits);
    if (machine_is_avx512(machine))
        machine_into(machine, is_byte(body) ? X86_VPBLENDMB : X86_VPBLENDMW, bits, result, b, a, condition);
    else
        machine_add(
            machine,
            (struct x86_instruction){
                .form = X86_VPBLENDVB, .bits = bits, .reg = result, .vvvv = b, .rm = a, .fourth = condition});
    return result;
}

int slim_where(const struct slim_body *body, int condition, int a)
{
    if (!machine_is_avx512(body->machine))
        return slim_apply(body, X86_VANDPS, a, condition);
    int result = machine_new_vector(body->machine, body->bits);
    machine_add(body->machine,
                (struct x86_instruction){.form = is_byte(body) ? X86_VMOVDQU8_LOAD : X86_VMOVDQU16_LOAD,
                                         .bits = body->bits,
                                         .reg = result,
                                         .rm = a,
                                         .mask = condition,
                                         .zeroing = true});
    return result;
}

/* ---- operations ---------------------------------------------------------------------------------------- */

/* Without a sign both differences, of which one is cut to 0. */
static int distance(const struct slim_body *body, int a, int b)
{
    return slim_apply(body, X86_VORPS, apply_sized(body, X86_VPSUBUSB, X86_VPSUBUSW, a, b),
                      apply_sized(body, X86_VPSUBUSB, X86_VPSUBUSW, b, a));
}

static int form_of(const struct slim_body *body, const struct slim_form *form)
{
    const struct vector_value *inner = &body->machine->loop->values.items[form->inner];
    int a = operand(body, inner, 0),
        b = form->negates ? slim_number(body, -range_of(body, inner, 1)->low) : operand(body, inner, 1);
    switch (form->idiom) {
    case SLIM_ADD:
        return form->is_signed ? apply_sized(body, X86_VPADDSB, X86_VPADDSW, a, b)
                               : apply_sized(body, X86_VPADDUSB, X86_VPADDUSW, a, b);
    case SLIM_SUBTRACT:
        return form->is_signed ? apply_sized(body, X86_VPSUBSB, X86_VPSUBSW, a, b)
                               : apply_sized(body, X86_VPSUBUSB, X86_VPSUBUSW, a, b);
    case SLIM_AVERAGE:
        return apply_sized(body, X86_VPAVGB, X86_VPAVGW, a, b);
    default:
        return distance(body, a, b);
    }
}

/* What a narrower dtype leaves of it. */
static int normal(const struct slim_body *body, akg_dtype dtype, int a)
{
    if (dtype_table[dtype].size >= body->slim->size)
        return a;
    if (!dtype_is_signed(dtype))
        return slim_apply(body, X86_VANDPS, a, slim_number(body, 0xff));
    return slim_shift_words(body, X86_VPSRAW_BY, slim_shift_words(body, X86_VPSLLW_BY, a, 8), 8);
}

int slim_truth(const struct slim_body *body, int a)
{
    int zero = slim_number(body, 0);
    return machine_is_avx512(body->machine) ? compare_avx512(body, OP_NE, false, a, zero)
                                            : machine_not(body->machine, equal(body, a, zero));
}

static int cast(const struct slim_body *body, const struct vector_value *value)
{
    int a = operand(body, value, 0);
    if (value->from == value->dtype)
        return a;
    if (value->from == AKG_BOOL)
        return slim_where(body, a, slim_number(body, 1));
    return value->dtype == AKG_BOOL ? slim_truth(body, a) : a;
}

static int sign_of(const struct slim_body *body, const struct vector_value *value)
{
    int a = operand(body, value, 0), one = slim_number(body, 1);
    if (!fits(body, value, 0, true))
        return extreme(body, true, false, a, one);
    return extreme(body, true, true, extreme(body, false, true, a, slim_number(body, -1)), one);
}

static int magnitude(const struct slim_body *body, const struct vector_value *value)
{
    if (range_of(body, value, 0)->low >= 0)
        return operand(body, value, 0);
    return machine_rm(body->machine, is_byte(body) ? X86_VPABSB : X86_VPABSW, body->bits,
                      operand(body, value, 0));
}

static int bits_of_masks(struct machine *machine, enum operation operation, int a, int b)
{
    return operation == OP_BITAND   ? machine_and(machine, a, b)
           : operation == OP_BITOR  ? machine_or(machine, a, b)
           : operation == OP_BITXOR ? machine_xor(machine, a, b)
                                    : machine_not(machine, a);
}

static int bits_of(const struct slim_body *body, const struct vector_value *value)
{
    int a = operand(body, value, 0), b = value->operands[1] >= 0 ? operand(body, value, 1) : 0;
    if (value->type == VECTOR_MASK)
        return bits_of_masks(body->machine, value->operation, a, b);
    return value->operation == OP_BITAND   ? slim_apply(body, X86_VANDPS, a, b)
           : value->operation == OP_BITOR  ? slim_apply(body, X86_VORPS, a, b)
           : value->operation == OP_BITXOR ? slim_apply(body, X86_VXORPS, a, b)
                                           : slim_apply(body, X86_VXORPS, a, slim_number(body, -1));
}

/* Whether the ranges say that the first one is the least or the greatest. */
static bool is_first(const struct slim_body *body, const struct vector_value *value)
{
    const struct slim_range *a = range_of(body, value, 0), *b = range_of(body, value, 1);
    return value->operation == OP_MIN ? a->high <= b->low : a->low >= b->high;
}

static int select_one(const struct slim_body *body, const struct vector_value *value)
{
    int condition = operand(body, value, 0), a = operand(body, value, 1), b = operand(body, value, 2);
    return value->type == VECTOR_MASK ? machine_select(body->machine, VECTOR_MASK, condition, a, b)
                                      : slim_blend(body, body->bits, condition, a, b);
}

static int operation(const struct slim_body *body, const struct vector_value *value)
{
    struct machine *machine = body->machine;
    int a = operand(body, value, 0), b = value->operands[1] >= 0 ? operand(body, value, 1) : 0;
    switch (value->operation) {
    case OP_AND:
        return machine_and(machine, a, b);
    case OP_OR:
        return machine_or(machine, a, b);
    case OP_NOT:
        return machine_not(machine, a);
    case OP_ADD:
        return apply_sized(body, X86_VPADDB, X86_VPADDW, a, b);
    case OP_SUB:
        return apply_sized(body, X86_VPSUBB, X86_VPSUBW, a, b);
    case OP_NEG:
        return apply_sized(body, X86_VPSUBB, X86_VPSUBW, slim_number(body, 0), a);
    case OP_MUL:
        return product(body, a, b);
    case OP_FLOORDIV:
        return quotient(body, value);
    case OP_SHL:
        return shift_left(body, a, slim_shift(machine->loop, value));
    case OP_SHR:
        return shift_right(body, a, slim_shift(machine->loop, value), fits(body, value, 0, true));
    case OP_MIN:
    case OP_MAX:
        return is_first(body, value)
                   ? a
                   : extreme(body, value->operation == OP_MIN, are_signed(body, value, 2), a, b);
    case OP_ABS:
        return magnitude(body, value);
    case OP_SIGN:
        return sign_of(body, value);
    case OP_SELECT:
        return select_one(body, value);
    case OP_CAST:
        return cast(body, value);
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
    case OP_BITNOT:
        return bits_of(body, value);
    default:
        return compare(body, value);
    }
}

/* ---- accumulation ---------------------------------------------------------------------------------- */

/* What leaves numbers of the dtype as they are. */
static int64_t identity_of(const struct vector_accumulator *row)
{
    int64_t half = (int64_t)1 << (8 * dtype_table[row->dtype].size - 1);
    bool is_signed = dtype_is_signed(row->dtype);
    switch (row->operation) {
    case OP_MIN:
        return is_signed ? half - 1 : 2 * half - 1;
    case OP_MAX:
        return is_signed ? -half : 0;
    default:
        return row->operation == OP_BITAND ? -1 : 0;
    }
}

static int partial_of(const struct slim_body *body, int number, int step)
{
    const struct vector_accumulator *row = &body->machine->loop->accumulators.items[number];
    return machine_keep(body->machine, KEPT_SLIM_PARTIAL, slim_vector_type(body->machine), 2 * number + step,
                        lanes_of(body, identity_of(row)));
}

static int combine(const struct slim_body *body, const struct vector_value *value, int bits, int a, int b)
{
    enum operation operation = value->operation;
    enum x86_form form = operation == OP_BITAND ? X86_VANDPS
                         : operation == OP_BITOR
                             ? X86_VORPS
                             : extreme_form(body, operation == OP_MIN, dtype_is_signed(value->dtype));
    return machine_rvm(body->machine, form, bits, a, b);
}

/* Lanes that a condition or the end of the loop leave out: 0, none of them. */
static int left_in(const struct slim_body *body, const struct vector_value *value)
{
    int mask = value->mask >= 0 ? body->registers[value->mask] : 0;
    return !body->tail ? mask : mask ? machine_and(body->machine, body->tail, mask) : body->tail;
}

static void accumulate_extreme(const struct slim_body *body, const struct vector_value *value)
{
    int partial = partial_of(body, value->slot, body->step), mask = left_in(body, value);
    int result = combine(body, value, body->bits, partial, operand(body, value, 0));
    if (mask)
        result = slim_blend(body, body->bits, mask, result, partial);
    machine_put(body->machine, slim_vector_type(body->machine), partial, result, 0);
}

/* What the lanes have come to goes into a partial result of 32 bits a lane: as many as that has are left. */
static void hand_on(const struct slim_body *body, const struct vector_value *value, int steps)
{
    struct machine *machine = body->machine;
    bool is_signed = dtype_is_signed(value->dtype);
    enum x86_form widen = is_byte(body) ? is_signed ? X86_VPMOVSXBD : X86_VPMOVZXBD
                          : is_signed   ? X86_VPMOVSXWD
                                        : X86_VPMOVZXWD;
    int result = partial_of(body, value->slot, 0), bits = machine_bits(machine, VECTOR_I32);
    for (int k = 1; k < steps; k++)
        result = combine(body, value, body->bits, result, partial_of(body, value->slot, k));
    for (int left = body->bits; left > machine->lanes * 8 * body->slim->size; left /= 2)
        result = combine(body, value, left > 128 ? left / 2 : 128, result,
                         machine_upper_half(machine, result, left, false));
    result = machine_rm(machine, widen, bits, result);
    int partial = machine_keep(machine, KEPT_PARTIAL, value->type, value->slot, 0);
    machine_put(machine, value->type, partial,
                machine_combine(machine, value->operation, value->dtype, bits, partial, result), 0);
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

/* To the partial result, which is half a vector where the loop has others of 64 bits. */
static void add_up(const struct slim_body *body, const struct vector_value *value, int partial, int a)
{
    struct machine *machine = body->machine;
    int bits = machine_bits(machine, value->type);
    enum x86_form form = value->type == VECTOR_I64 ? X86_VPADDQ : X86_VPADDD;
    if (bits < body->bits)
        a = machine_rvm(machine, form, bits, a, machine_upper_half(machine, a, body->bits, false));
    machine_put(machine, value->type, partial, machine_rvm(machine, form, bits, partial, a), 0);
}

/* Neighbours have been added up: numbers of 32 bits with a sign into lanes of 32 or 64 bits. */
static void add_dwords(const struct slim_body *body, const struct vector_value *value, int partial, int a)
{
    struct machine *machine = body->machine;
    if (value->type == VECTOR_I64) {
        int high = machine_upper_half(machine, a, body->bits, false);
        a = slim_apply(body, X86_VPADDQ, machine_rm(machine, X86_VPMOVSXDQ, body->bits, a),
                       machine_rm(machine, X86_VPMOVSXDQ, body->bits, high));
    }
    add_up(body, value, partial, a);
}

/* Of bytes eight at a time, which fill 64 bits as they are; else two, without a sign by halves of 32 bits. */
static int sum_of_neighbours(const struct slim_body *body, int a, bool is_signed)
{
    if (is_byte(body) && !is_signed)
        return slim_apply(body, X86_VPSADBW, a, slim_number(body, 0));
    if (is_byte(body))
        a = slim_apply(body, X86_VPMADDUBSW, slim_number(body, 1), a);
    if (is_signed)
        return slim_apply(body, X86_VPMADDWD, a, word_constant(body, 1));
    int high = machine_shift(body->machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, body->bits, a, 16);
    return slim_apply(body, X86_VPADDD, slim_apply(body, X86_VANDPS, a, slim_repeated(body, 0xffff)), high);
}

/* Into the partial result of the loop behind it, whose lanes are wider: which of them is the same to a sum.
 */
static void accumulate_sum(const struct slim_body *body, const struct vector_value *value)
{
    struct machine *machine = body->machine;
    int mask = left_in(body, value), a = operand(body, value, 0);
    bool is_signed = !fits(body, value, 0, false);
    int step = machine->steps > 1 ? body->step : 0,
        partial = machine_keep(machine, KEPT_PARTIAL, value->type, value->slot, (uint64_t)step);
    if (mask)
        a = slim_where(body, mask, a);
    a = sum_of_neighbours(body, a, is_signed);
    if (is_byte(body) && !is_signed)
        add_up(body, value, partial, a);
    else
        add_dwords(body, value, partial, a);
}

/* ---- the body ------------------------------------------------------------------------------------------ */

static int build_value(const struct slim_body *body, int number)
{
    const struct vector_value *value = &body->machine->loop->values.items[number];
    switch (value->kind) {
    case VECTOR_CONSTANT:
        return value->type == VECTOR_MASK ? machine_constant(body->machine, VECTOR_MASK, value->bits)
                                          : slim_number(body, slim_constant(value));
    case VECTOR_SCALAR:
        if (value->type == VECTOR_MASK)
            return machine_keep(body->machine, KEPT_SCALAR, VECTOR_MASK, value->slot, 0);
        return machine_keep(body->machine, KEPT_SLIM_SCALAR, slim_vector_type(body->machine), value->slot,
                            (uint64_t)body->slim->size);
    case VECTOR_LOAD:
        return slim_load(body, value);
    case VECTOR_GATHER:
        return normal(body, value->dtype, machine_lookup(body->machine, value, operand(body, value, 0)));
    case VECTOR_STORE:
        slim_store(body, value, operand(body, value, 0));
        return 0;
    case VECTOR_ACCUMULATE:
        (value->operation == OP_ADD ? accumulate_sum : accumulate_extreme)(body, value);
        return 0;
    default: {
        const struct slim_form *form = &body->slim->forms[number];
        if (form->idiom == SLIM_INNER)
            return 0;
        if (form->idiom != SLIM_PLAIN)
            return form_of(body, form);
        int result = operation(body, value);
        bool is_cut = value->type != VECTOR_MASK && body->slim->ranges[number].wraps;
        return is_cut ? normal(body, value->dtype, result) : result;
    }
    }
}

/* The lanes below the count. */
static int tail_mask(struct machine *machine)
{
    int result = machine_new_mask(machine);
    machine_add(machine,
                (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = -1});
    machine_add(machine,
                (struct x86_instruction){
                    .form = X86_BZHI, .bits = 128, .reg = X86_RAX, .rm = X86_RAX, .vvvv = machine->count});
    machine_add(machine,
                (struct x86_instruction){.form = X86_KMOVQ_TO, .bits = 128, .reg = result, .rm = X86_RAX});
    return result;
}

/* `step`: of the vectors of a round, which one it is. */
static void build_vector(struct machine *machine, const struct vector_slim *slim, machine_section *section,
                         int step, bool is_tail)
{
    const struct vector_loop *loop = machine->loop;
    int *registers = arena_array(machine->arena, int, loop->values.count), lanes = machine->lanes;
    struct slim_body body = {machine, slim, registers, step, machine_vector_bits(machine), 0};
    machine->section = section;
    machine->ahead = step * body.bits / 8 / slim->size;
    body.tail = is_tail ? tail_mask(machine) : 0;
    for (int k = 0; k < loop->values.count; k++) {
        machine->line = loop->values.items[k].line;
        registers[k] = build_value(&body, k);
    }
    machine->line = 0;
    machine->lanes = body.bits / 8 / slim->size;
    machine_advance(machine);
    machine->lanes = lanes;
}

static void build_result(struct machine *machine, const struct vector_slim *slim,
                         struct machine_slim *sections)
{
    struct slim_body body = {machine, slim, NULL, 0, machine_vector_bits(machine), 0};
    machine->section = &sections->result;
    for (int k = 0; k < machine->loop->values.count; k++) {
        const struct vector_value *value = &machine->loop->values.items[k];
        if (value->kind == VECTOR_ACCUMULATE && value->operation != OP_ADD)
            hand_on(&body, value, sections->steps);
    }
}

/* Whether lanes that are left can be had under a mask. */
static bool can_have_tail(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->streams.count; k++)
        if (loop->streams.items[k].step_kind != VECTOR_UNIT)
            return false;
    return machine_is_avx512(machine);
}

bool machine_build_slim(struct machine *machine, struct machine_slim *sections)
{
    enum { SHORT = 12 /* values: what fetches instructions is busy with the loop itself otherwise */ };
    struct vector_slim slim;
    if (!vector_is_slim(machine->arena, machine->loop, machine->options, &slim))
        return false;
    sections->lanes = machine_vector_bits(machine) / 8 / slim.size;
    sections->steps = machine->loop->values.count <= SHORT ? 2 : 1;
    sections->has_tail = can_have_tail(machine);
    for (int k = 0; k < sections->steps; k++)
        build_vector(machine, &slim, &sections->round[k], k, false);
    build_vector(machine, &slim, &sections->one, 0, false);
    build_vector(machine, &slim, &sections->last, 0, sections->has_tail);
    build_result(machine, &slim, sections);
    machine->slim_lanes = sections->lanes;
    return !machine->refused;
}

/* ---- the loops ----------------------------------------------------------------------------------------- */

/* Whole rounds of so many iterations as long as there are some. */
static void place_rounds(struct machine *machine, machine_section *sections, int count, int lanes)
{
    int head = machine->labels++, done = machine->labels++, round = count * lanes;
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_jump(machine, X86_JL, done);
    machine_emit_label(machine, head);
    for (int k = 0; k < count; k++)
        machine_allocate(machine, &sections[k]);
    machine_emit_by(machine, X86_ADD_BY, machine->index, round);
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_jump(machine, X86_JGE, head);
    machine_emit_label(machine, done);
    machine_emit_by(machine, X86_ADD_BY, machine->count, round);
}

/* What is left behind a vector, in one that ends with it, or under a mask. */
static void place_last(struct machine *machine, struct machine_slim *sections)
{
    int few = machine->labels++;
    machine_emit_by(machine, X86_CMP_BY, machine->count, 0);
    machine_emit_jump(machine, X86_JE, few);
    if (!sections->has_tail) {
        machine_emit_by(machine, X86_CMP_BY, machine->index, sections->lanes);
        machine_emit_jump(machine, X86_JL, few);
        machine_place_back(machine, sections->lanes);
    }
    machine_allocate(machine, &sections->last);
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = machine->count});
    machine_emit_label(machine, few);
}

static bool has_sums(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_ACCUMULATE && loop->values.items[k].operation == OP_ADD)
            return true;
    return false;
}

void machine_place_slim(struct machine *machine, struct machine_slim *sections, bool may_repeat)
{
    if (sections->steps > 1)
        place_rounds(machine, sections->round, sections->steps, sections->lanes);
    place_rounds(machine, &sections->one, 1, sections->lanes);
    if (sections->has_tail || (may_repeat && !has_sums(machine->loop)))
        place_last(machine, sections);
    machine_allocate(machine, &sections->result);
}

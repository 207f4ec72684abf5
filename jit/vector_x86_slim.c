/*
 * vector_x86_slim.c: lanes of 8 and 16 bits, in vectors of 256 bits (with AVX-512, too: vector_x86.c).
 *
 * Consumes a vector loop and what vector_slim.c knows of it; appends a body of as many lanes as fill a
 * vector, and places it before the other loops, which are left with what is less than one. Where iterations
 * may be done twice, that is had in a vector that begins earlier instead. What a lane holds above the bits
 * of a narrower dtype is what the dtype is extended by, as in lanes of 32 bits. Masks are lanes of ones or
 * zeros. What is accumulated goes into the partial results of 32 bits behind it.
 */
#include "vector_x86_slim.h"

enum { BITS = 256 };

struct slim_body {
    struct machine *machine;
    const struct vector_slim *slim;
    const int *registers; /* of the values so far */
    int step;             /* of a round, which vector it is */
};

static bool is_byte(const struct slim_body *body)
{
    return body->slim->size == 1;
}

/* ---- constants, forms ------------------------------------------------------------------------------ */

/* The low bits of the number as often as 32 bits hold them. */
static uint32_t lanes_of(const struct slim_body *body, int64_t number)
{
    return is_byte(body) ? (uint32_t)(number & 0xff) * 0x01010101u
                         : (uint32_t)(number & 0xffff) * 0x00010001u;
}

static int constant(const struct slim_body *body, int64_t number)
{
    return machine_constant(body->machine, VECTOR_I32, lanes_of(body, number));
}

/* A number of 16 bits in both bytes' places, whatever the lanes are. */
static int word_constant(const struct slim_body *body, uint32_t number)
{
    return machine_constant(body->machine, VECTOR_I32, number * 0x00010001u);
}

static int apply(const struct slim_body *body, enum x86_form form, int a, int b)
{
    return machine_rvm(body->machine, form, BITS, a, b);
}

/* The form for bytes, or that for words. */
static int apply_sized(const struct slim_body *body, enum x86_form bytes, enum x86_form words, int a, int b)
{
    return apply(body, is_byte(body) ? bytes : words, a, b);
}

static int shift_words(const struct slim_body *body, enum x86_form form, int a, int count)
{
    return count ? machine_shift(body->machine, form, form, BITS, a, count) : a;
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
    int result = shift_words(body, X86_VPSLLW_BY, a, count);
    return is_byte(body) && count ? apply(body, X86_VANDPS, result, constant(body, (int64_t)(0xffu << count)))
                                  : result;
}

/* Of bytes with a sign: that bit is moved along, and what it comes to is extended by taking it away again. */
static int shift_right(const struct slim_body *body, int a, int count, bool is_signed)
{
    if (!is_byte(body))
        return shift_words(body, is_signed ? X86_VPSRAW_BY : X86_VPSRLW_BY, a, count);
    if (is_signed && count > 7)
        count = 7;
    if (count == 0)
        return a;
    int result =
        apply(body, X86_VANDPS, shift_words(body, X86_VPSRLW_BY, a, count), constant(body, 0xff >> count));
    if (!is_signed)
        return result;
    int sign = constant(body, 0x80 >> count);
    return apply(body, X86_VPSUBB, apply(body, X86_VXORPS, result, sign), sign);
}

/* Of bytes: those in the low halves of words, and those in the high ones. */
static int product(const struct slim_body *body, int a, int b)
{
    int words = apply(body, X86_VPMULLW, a, b);
    if (!is_byte(body))
        return words;
    int high = apply(body, X86_VANDPS, b, word_constant(body, 0xff00));
    high = apply(body, X86_VPMULLW, shift_words(body, X86_VPSRLW_BY, a, 8), high);
    return apply(body, X86_VORPS, apply(body, X86_VANDPS, words, word_constant(body, 0xff)), high);
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
        return shift_words(body, X86_VPSRLW_BY,
                           apply(body, X86_VPMULHUW, a, word_constant(body, (uint32_t)factor)), shift - WORD);
    shift = WORD + 64 - __builtin_clzll((uint64_t)divisor - 1);
    factor = ((((int64_t)1) << shift) + divisor - 1) / divisor;
    int high = apply(body, X86_VPMULHUW, a, word_constant(body, (uint32_t)(factor & 0xffff)));
    int rest = shift_words(body, X86_VPSRLW_BY, apply(body, X86_VPSUBW, a, high), 1);
    return shift_words(body, X86_VPSRLW_BY, apply(body, X86_VPADDW, rest, high), shift - WORD - 1);
}

/* Below 0 by what is left of 0: a // d is ~(~a // d). */
static int quotient(const struct slim_body *body, const struct vector_value *value)
{
    const struct slim_range *a = range_of(body, value, 0);
    int64_t divisor = range_of(body, value, 1)->low;
    if (a->low >= 0)
        return quotient_of_words(body, operand(body, value, 0), a->high, divisor);
    int sign = shift_words(body, X86_VPSRAW_BY, operand(body, value, 0), 15);
    int size = apply(body, X86_VXORPS, operand(body, value, 0), sign);
    int64_t largest = a->high > -1 - a->low ? a->high : -1 - a->low;
    return apply(body, X86_VXORPS, quotient_of_words(body, size, largest, divisor), sign);
}

/* ---- comparisons, least and greatest --------------------------------------------------------------------
 */

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
    return apply(body, extreme_form(body, least, is_signed), a, b);
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
                              constant(body, next));
    return true;
}

static int compare(const struct slim_body *body, const struct vector_value *value)
{
    enum operation operation = value->operation;
    int a = operand(body, value, 0), b = operand(body, value, 1), result;
    if (value->from == AKG_BOOL)
        return machine_compare(body->machine, operation, AKG_BOOL, a, b);
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

static int blend(const struct slim_body *body, int bits, int condition, int a, int b)
{
    int result = machine_new_vector(body->machine, bits);
    machine_add(
        body->machine,
        (struct x86_instruction){
            .form = X86_VPBLENDVB, .bits = bits, .reg = result, .vvvv = b, .rm = a, .fourth = condition});
    return result;
}

/* ---- operations ---------------------------------------------------------------------------------------- */

/* What a narrower dtype leaves of it. */
static int normal(const struct slim_body *body, akg_dtype dtype, int a)
{
    if (dtype_table[dtype].size >= body->slim->size)
        return a;
    if (!dtype_is_signed(dtype))
        return apply(body, X86_VANDPS, a, constant(body, 0xff));
    return shift_words(body, X86_VPSRAW_BY, shift_words(body, X86_VPSLLW_BY, a, 8), 8);
}

static int from_memory_truth(const struct slim_body *body, int a)
{
    return machine_not(body->machine, equal(body, a, constant(body, 0)));
}

static int cast(const struct slim_body *body, const struct vector_value *value)
{
    int a = operand(body, value, 0);
    if (value->from == value->dtype)
        return a;
    if (value->from == AKG_BOOL)
        return apply(body, X86_VANDPS, a, constant(body, 1));
    return value->dtype == AKG_BOOL ? from_memory_truth(body, a) : a;
}

static int sign_of(const struct slim_body *body, const struct vector_value *value)
{
    int a = operand(body, value, 0), one = constant(body, 1);
    if (!fits(body, value, 0, true))
        return extreme(body, true, false, a, one);
    return extreme(body, true, true, extreme(body, false, true, a, constant(body, -1)), one);
}

static int magnitude(const struct slim_body *body, const struct vector_value *value)
{
    if (range_of(body, value, 0)->low >= 0)
        return operand(body, value, 0);
    return machine_rm(body->machine, is_byte(body) ? X86_VPABSB : X86_VPABSW, BITS, operand(body, value, 0));
}

static int bits_of(const struct slim_body *body, const struct vector_value *value)
{
    int a = operand(body, value, 0);
    switch (value->operation) {
    case OP_BITAND:
        return apply(body, X86_VANDPS, a, operand(body, value, 1));
    case OP_BITOR:
        return apply(body, X86_VORPS, a, operand(body, value, 1));
    case OP_BITXOR:
        return apply(body, X86_VXORPS, a, operand(body, value, 1));
    default: /* OP_BITNOT; of truth values too */
        return apply(body, X86_VXORPS, a, constant(body, -1));
    }
}

static int select_one(const struct slim_body *body, const struct vector_value *value)
{
    int condition = operand(body, value, 0), a = operand(body, value, 1), b = operand(body, value, 2);
    return value->type == VECTOR_MASK ? machine_select(body->machine, VECTOR_MASK, condition, a, b)
                                      : blend(body, BITS, condition, a, b);
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
        return apply_sized(body, X86_VPSUBB, X86_VPSUBW, constant(body, 0), a);
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
        return extreme(body, value->operation == OP_MIN, are_signed(body, value, 2), a, b);
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

/* ---- memory -------------------------------------------------------------------------------------------- */

static struct x86_instruction at(const struct slim_body *body, const struct vector_value *value,
                                 enum x86_form form, int bits, int reg)
{
    return (struct x86_instruction){.form = form,
                                    .bits = bits,
                                    .reg = reg,
                                    .has_memory = true,
                                    .memory = machine_unit_memory(body->machine, value)};
}

static int load_whole(const struct slim_body *body, struct x86_memory memory, int bytes)
{
    int result = machine_new_vector(body->machine, BITS);
    memory.displacement += bytes;
    machine_add(
        body->machine,
        (struct x86_instruction){
            .form = X86_VMOVUPS_LOAD, .bits = BITS, .reg = result, .has_memory = true, .memory = memory});
    return result;
}

/* One element of each two: the low or the high half of a word or of 32 bits, and what is left of two vectors
 * in one. */
static int half_of(const struct slim_body *body, const struct vector_value *value, struct x86_memory memory,
                   bool is_second)
{
    enum { BY_LANES = 0xd8 /* packing goes by halves */ };
    struct machine *machine = body->machine;
    bool bytes = dtype_table[value->dtype].size == 1;
    int low_half = machine_constant(machine, VECTOR_I32, bytes ? 0x00ff00ff : 0x0000ffff), halves[2];
    for (int k = 0; k < 2; k++) {
        int all = load_whole(body, memory, k * BITS / 8);
        halves[k] = !is_second ? apply(body, X86_VANDPS, all, low_half)
                    : bytes    ? shift_words(body, X86_VPSRLW_BY, all, 8)
                               : machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY, BITS, all, 16);
    }
    int both = apply(body, bytes ? X86_VPACKUSWB : X86_VPACKUSDW, halves[0], halves[1]);
    return machine_rmi(machine, X86_VPERMPD_BY, BITS, both, BY_LANES);
}

/* Bytes that become words where they are. */
static int byte_of_word(const struct slim_body *body, const struct vector_value *value,
                        struct x86_memory memory, bool is_second)
{
    int all = load_whole(body, memory, 0);
    bool is_signed = dtype_is_signed(value->dtype);
    if (!is_signed)
        return is_second ? shift_words(body, X86_VPSRLW_BY, all, 8)
                         : apply(body, X86_VANDPS, all, constant(body, 0xff));
    return shift_words(body, X86_VPSRAW_BY, is_second ? all : shift_words(body, X86_VPSLLW_BY, all, 8), 8);
}

static int load_of_pair(const struct slim_body *body, const struct vector_value *value)
{
    struct vector_value first = *value;
    first.offset = slim_pair(body->machine->loop, value);
    struct x86_memory memory = machine_step_memory(body->machine, &first);
    bool is_second = value->offset != first.offset,
         widens = dtype_table[value->dtype].size < body->slim->size;
    int result = (widens ? byte_of_word : half_of)(body, value, memory, is_second);
    return value->dtype == AKG_BOOL ? from_memory_truth(body, result) : result;
}

static int load(const struct slim_body *body, const struct vector_value *value)
{
    struct machine *machine = body->machine;
    if (machine->loop->streams.items[value->stream].step_kind != VECTOR_UNIT)
        return load_of_pair(body, value);
    int result = machine_new_vector(machine, BITS);
    enum x86_form form = dtype_table[value->dtype].size == body->slim->size ? X86_VMOVUPS_LOAD
                         : dtype_is_signed(value->dtype)                    ? X86_VPMOVSXBW
                                                                            : X86_VPMOVZXBW;
    machine_add(machine, at(body, value, form, BITS, result));
    return value->dtype == AKG_BOOL ? from_memory_truth(body, result) : result;
}

/* Words as bytes. */
static int packed(const struct slim_body *body, enum x86_form form, int a)
{
    int high = machine_upper_half(body->machine, a, BITS, false);
    return machine_rvm(body->machine, form, 128, a, high);
}

/* What a mask leaves out is stored as it is there: it was loaded (vector_slim.c). */
static void store(const struct slim_body *body, const struct vector_value *value)
{
    struct machine *machine = body->machine;
    bool packs = dtype_table[value->dtype].size < body->slim->size;
    int a = operand(body, value, 0), mask = value->mask >= 0 ? body->registers[value->mask] : 0;
    int bits = packs ? BITS / 2 : BITS;
    if (value->dtype == AKG_BOOL)
        a = apply(body, X86_VANDPS, a, constant(body, 1));
    if (packs)
        a = packed(body, dtype_is_signed(value->dtype) ? X86_VPACKSSWB : X86_VPACKUSWB, a);
    if (mask) {
        int before = machine_new_vector(machine, bits);
        machine_add(machine, at(body, value, X86_VMOVUPS_LOAD, bits, before));
        a = blend(body, bits, packs ? packed(body, X86_VPACKSSWB, mask) : mask, a, before);
    }
    machine_add(machine, at(body, value, X86_VMOVUPS_STORE, bits, a));
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
    return machine_keep(body->machine, KEPT_SLIM_PARTIAL, VECTOR_I32, number,
                        lanes_of(body, identity_of(row)) | (uint64_t)step << 32);
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

static void accumulate(const struct slim_body *body, const struct vector_value *value)
{
    int partial = partial_of(body, value->slot, body->step);
    int result = combine(body, value, BITS, partial, operand(body, value, 0));
    machine_put(body->machine, VECTOR_I32, partial, result, 0);
}

/* What the lanes have come to goes into a partial result of 32 bits a lane: eight of them are left. */
static void hand_on(const struct slim_body *body, const struct vector_value *value, int steps)
{
    struct machine *machine = body->machine;
    bool is_signed = dtype_is_signed(value->dtype);
    enum x86_form widen = is_byte(body) ? is_signed ? X86_VPMOVSXBD : X86_VPMOVZXBD
                          : is_signed   ? X86_VPMOVSXWD
                                        : X86_VPMOVZXWD;
    int result = partial_of(body, value->slot, 0);
    for (int k = 1; k < steps; k++)
        result = combine(body, value, BITS, result, partial_of(body, value->slot, k));
    result = combine(body, value, 128, result, machine_upper_half(machine, result, BITS, false));
    if (is_byte(body))
        result = combine(body, value, 128, result, machine_upper_half(machine, result, 128, false));
    result = machine_rm(machine, widen, BITS, result);
    int partial = machine_keep(machine, KEPT_PARTIAL, value->type, value->slot, 0);
    machine_put(machine, value->type, partial,
                machine_combine(machine, value->operation, value->dtype, BITS, partial, result), 0);
}

/* ---- the body ------------------------------------------------------------------------------------------ */

static int build_value(const struct slim_body *body, int number)
{
    const struct vector_value *value = &body->machine->loop->values.items[number];
    switch (value->kind) {
    case VECTOR_CONSTANT:
        return value->type == VECTOR_MASK ? machine_constant(body->machine, VECTOR_MASK, value->bits)
                                          : constant(body, slim_constant(value));
    case VECTOR_SCALAR:
        if (value->type == VECTOR_MASK)
            return machine_keep(body->machine, KEPT_SCALAR, VECTOR_MASK, value->slot, 0);
        return machine_keep(body->machine, KEPT_SLIM_SCALAR, VECTOR_I32, value->slot,
                            (uint64_t)body->slim->size);
    case VECTOR_LOAD:
        return load(body, value);
    case VECTOR_STORE:
        store(body, value);
        return 0;
    case VECTOR_ACCUMULATE:
        accumulate(body, value);
        return 0;
    default: {
        int result = operation(body, value);
        bool is_cut = value->type != VECTOR_MASK && body->slim->ranges[number].wraps;
        return is_cut ? normal(body, value->dtype, result) : result;
    }
    }
}

/* `step`: of the vectors of a round, which one it is. */
static void build_vector(struct machine *machine, const struct vector_slim *slim, machine_section *section,
                         int step)
{
    const struct vector_loop *loop = machine->loop;
    int *registers = arena_array(machine->arena, int, loop->values.count), lanes = machine->lanes;
    struct slim_body body = {machine, slim, registers, step};
    machine->section = section;
    machine->ahead = step * BITS / 8 / slim->size;
    for (int k = 0; k < loop->values.count; k++) {
        machine->line = loop->values.items[k].line;
        registers[k] = build_value(&body, k);
    }
    machine->line = 0;
    machine->lanes = BITS / 8 / slim->size;
    machine_advance(machine);
    machine->lanes = lanes;
}

static void build_result(struct machine *machine, const struct vector_slim *slim,
                         struct machine_slim *sections)
{
    struct slim_body body = {machine, slim, NULL, 0};
    machine->section = &sections->result;
    for (int k = 0; k < machine->loop->values.count; k++)
        if (machine->loop->values.items[k].kind == VECTOR_ACCUMULATE)
            hand_on(&body, &machine->loop->values.items[k], sections->steps);
}

bool machine_build_slim(struct machine *machine, struct machine_slim *sections)
{
    enum { SHORT = 12 /* values: what fetches instructions is busy with the loop itself otherwise */ };
    struct vector_slim slim;
    if (machine_is_avx512(machine) || !vector_is_slim(machine->arena, machine->loop, &slim))
        return false;
    sections->lanes = BITS / 8 / slim.size;
    sections->steps = machine->loop->values.count <= SHORT ? 2 : 1;
    for (int k = 0; k < sections->steps; k++)
        build_vector(machine, &slim, &sections->round[k], k);
    build_vector(machine, &slim, &sections->one, 0);
    build_vector(machine, &slim, &sections->last, 0);
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

/* What is left behind a vector, in one that ends with it. */
static void place_last(struct machine *machine, struct machine_slim *sections)
{
    int few = machine->labels++;
    machine_emit_by(machine, X86_CMP_BY, machine->count, 0);
    machine_emit_jump(machine, X86_JE, few);
    machine_emit_by(machine, X86_CMP_BY, machine->index, sections->lanes);
    machine_emit_jump(machine, X86_JL, few);
    machine_place_back(machine, sections->lanes);
    machine_allocate(machine, &sections->last);
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = machine->count});
    machine_emit_label(machine, few);
}

void machine_place_slim(struct machine *machine, struct machine_slim *sections, bool may_repeat)
{
    if (sections->steps > 1)
        place_rounds(machine, sections->round, sections->steps, sections->lanes);
    place_rounds(machine, &sections->one, 1, sections->lanes);
    if (may_repeat)
        place_last(machine, sections);
    machine_allocate(machine, &sections->result);
}

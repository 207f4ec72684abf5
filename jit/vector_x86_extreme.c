/*
 * vector_x86_extreme.c: the lesser and the greater of values, the least and the greatest of a loop.
 *
 * Consumes virtual registers; appends instructions. In the language nan is the result where there is any, and
 * -0 is less than 0; no instruction does that, so nan is looked for beside.
 *
 * But what is kept by a comparison (`if x > top: top = x`) is the instruction's, nan and zeros included.
 *
 * What is the extreme of several values is so at its end alone: with AVX-512 vrangeps leaves nan out, and
 * comparisons of two values each, the next where the last found none, say whether there was any. With AVX2
 * the greatest of several has the sign that all of them have, or none: vmaxps may give the wrong zero.
 *
 * What a loop accumulates does not wait for that either: a result that knows of nan waits nine cycles for the
 * one before it (Zen 5, AVX-512). There, what is nan goes into a vector beside the partial result. With AVX2
 * elements of 32 bits are compared as integers: the greatest with a sign is the greatest float unless all are
 * negative; then that is the least without a sign. Nan lies beyond infinity in either order. The greatest of
 * magnitudes, which have no sign, is that of integers in any case.
 */
#include "vector_x86_operation.h"

enum { ORDERED = 7, UNORDERED = 3 };

/* ---- of two values -------------------------------------------------------------------------------- */

/* With AVX-512, into `target` where the mask allows: the other one where one is nan. */
static void put_ranged(struct machine *machine, enum operation operation, enum vector_type type, int bits,
                       int target, int a, int b, int mask)
{
    enum { LEAST_WITH_SIGN = 4, GREATEST_WITH_SIGN = 5 };
    machine_add(machine, (struct x86_instruction){.form = type == VECTOR_F64 ? X86_VRANGEPD : X86_VRANGEPS,
                                                  .bits = bits,
                                                  .reg = target,
                                                  .vvvv = a,
                                                  .rm = b,
                                                  .mask = mask,
                                                  .immediate = operation == OP_MIN ? LEAST_WITH_SIGN
                                                                                   : GREATEST_WITH_SIGN});
}

static int ranged(struct machine *machine, enum operation operation, enum vector_type type, int bits, int a,
                  int b)
{
    int result = machine_new_vector(machine, bits);
    put_ranged(machine, operation, type, bits, result, a, b, 0);
    return result;
}

/* For the greatest the signs of both orders must be and-ed, which spoils nan. */
static int greatest_avx2(struct machine *machine, bool wide, int bits, int a, int b)
{
    enum x86_form form = wide ? X86_VMAXPD : X86_VMAXPS;
    int first = machine_rvm(machine, form, bits, a, b), second = machine_rvm(machine, form, bits, b, a);
    int nan = machine_rvmi(machine, wide ? X86_VCMPPD : X86_VCMPPS, bits, a, b, UNORDERED);
    return machine_rvm(machine, X86_VORPS, bits, machine_rvm(machine, X86_VANDPS, bits, first, second), nan);
}

/* nan where either is, and -0 is less than 0. vminps gives its second operand where they do not compare, so
 * that both orders or-ed have the nan and the sign. */
static int extreme_of_floats(struct machine *machine, enum operation operation, enum vector_type type,
                             int bits, int a, int b)
{
    bool wide = type == VECTOR_F64;
    if (a == b)
        return a;
    if (operation == OP_MIN) {
        enum x86_form form = wide ? X86_VMINPD : X86_VMINPS;
        int first = machine_rvm(machine, form, bits, a, b);
        return machine_rvm(machine, X86_VORPS, bits, first, machine_rvm(machine, form, bits, b, a));
    }
    if (!machine_is_avx512(machine))
        return greatest_avx2(machine, wide, bits, a, b);
    int result = ranged(machine, operation, type, bits, a, b);
    int nan = machine_rvmi(machine, wide ? X86_VCMPPD_MASK : X86_VCMPPS_MASK, bits, a, b, UNORDERED);
    /* one of them is nan, or both */
    machine_into(machine, wide ? X86_VORPD : X86_VORPS, bits, result, a, b, nan);
    return result;
}

/* Whether the value is a constant that such an instruction compares with as it should: vmaxps and vminps give
 * their second operand, which the other value is to be, where one is nan or both are zeros. */
static bool is_plain_bound(const struct machine *machine, enum operation operation, enum vector_type type,
                           int value)
{
    const struct vector_value *bound = &machine->loop->values.items[value];
    if (bound->kind != VECTOR_CONSTANT || (type != VECTOR_F32 && type != VECTOR_F64))
        return false;
    uint64_t sign = type == VECTOR_F64 ? (uint64_t)1 << 63 : (uint64_t)1 << 31;
    uint64_t infinity = type == VECTOR_F64 ? (uint64_t)0x7ff << 52 : (uint64_t)0xff << 23;
    if ((bound->bits & ~sign) > infinity) /* nan */
        return false;
    return operation == OP_MAX || bound->bits != sign;
}

enum { NOBODY = -1, SEVERAL = -2 };

/* By value, the only one that uses it. */
static const int *find_users(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    if (machine->users)
        return machine->users;
    machine->users = arena_array(machine->arena, int, loop->values.count);
    for (int k = 0; k < loop->values.count; k++)
        machine->users[k] = NOBODY;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        const int used[] = {value->operands[0], value->operands[1], value->operands[2], value->mask};
        for (int j = 0; j < 4; j++)
            if (used[j] >= 0)
                machine->users[used[j]] = machine->users[used[j]] == NOBODY ? k : SEVERAL;
    }
    return machine->users;
}

/* Whether it is only added up: -0 makes a difference then where all else that is added is -0, too. */
static bool is_only_added(struct machine *machine, const struct vector_value *value)
{
    const struct vector_value *values = machine->loop->values.items;
    int user = find_users(machine)[value - values];
    return !machine->options->strict && user >= 0 && values[user].kind == VECTOR_ACCUMULATE &&
           values[user].operation == OP_ADD &&
           machine->loop->accumulators.items[values[user].slot].role == VECTOR_REDUCED;
}

/* max(x, 0) with -0 becoming 0, in one instruction that asks what kind of number x is. */
static int positive_or_zero(struct machine *machine, bool wide, int bits, int x)
{
    /* From the last digit on, of nan, quiet and not: it; 0: 0; 1: it; -infinity: 0; infinity: it; what is
     * less than 0: 0; what is more: it. */
    enum { ZERO_UNLESS_ABOVE = 0x18181822 };
    int result = machine_copy(machine, bits, x);
    int table = machine_constant(machine, wide ? VECTOR_I64 : VECTOR_I32, ZERO_UNLESS_ABOVE);
    machine_into(machine, wide ? X86_VFIXUPIMMPD : X86_VFIXUPIMMPS, bits, result, result, table, 0);
    return result;
}

/* max(x, 0), as of relu, and other bounds that are known: one instruction, or two where -0 has to become 0.
 */
static int extreme_with_bound(struct machine *machine, const struct vector_value *value, const int *operands,
                              int bound)
{
    bool wide = value->type == VECTOR_F64, least = value->operation == OP_MIN;
    int bits = machine_bits(machine, value->type), limit = operands[bound];
    enum x86_form form = wide ? least ? X86_VMINPD : X86_VMAXPD : least ? X86_VMINPS : X86_VMAXPS;
    bool is_zero = !least && machine->loop->values.items[value->operands[bound]].bits == 0;
    if (is_zero && machine_is_avx512(machine) && !is_only_added(machine, value))
        return positive_or_zero(machine, wide, bits, operands[1 - bound]);
    int result = machine_rvm(machine, form, bits, limit, operands[1 - bound]);
    if (!is_zero || is_only_added(machine, value))
        return result;
    return machine_rvm(machine, wide ? X86_VADDPD : X86_VADDPS, bits, result, limit);
}

/* Of a serial loop, `late` being the operand that is waited for: vmaxps and vminps give their second one
 * where either is nan or both are zeros. So it is nan where the late one is, and a mask that is there before
 * it keeps the other one, where that is nan. A result that knows of both takes half as long again. */
static int extreme_of_late(struct machine *machine, const struct vector_value *value, int early, int late)
{
    bool wide = value->type == VECTOR_F64, least = value->operation == OP_MIN;
    int bits = machine_bits(machine, value->type);
    int ordered =
        machine_rvmi(machine, wide ? X86_VCMPPD_MASK : X86_VCMPPS_MASK, bits, early, early, ORDERED);
    int result = machine_copy(machine, bits, early);
    machine_into(machine,
                 wide    ? least ? X86_VMINPD : X86_VMAXPD
                 : least ? X86_VMINPS
                         : X86_VMAXPS,
                 bits, result, early, late, ordered);
    return result;
}

static int extreme_of_integers(struct machine *machine, enum operation operation, akg_dtype dtype, int bits,
                               int a, int b)
{
    bool least = operation == OP_MIN, is_signed = dtype_is_signed(dtype);
    bool wide = vector_type_of(dtype) == VECTOR_I64;
    if (wide && !machine_is_avx512(machine))
        return machine_wide_extreme(machine, least, is_signed, bits, a, b);
    enum x86_form form = wide        ? least       ? is_signed ? X86_VPMINSQ : X86_VPMINUQ
                                       : is_signed ? X86_VPMAXSQ
                                                   : X86_VPMAXUQ
                         : least     ? is_signed ? X86_VPMINSD : X86_VPMINUD
                         : is_signed ? X86_VPMAXSD
                                     : X86_VPMAXUD;
    return machine_rvm(machine, form, bits, a, b);
}

int machine_extreme(struct machine *machine, enum operation operation, akg_dtype dtype, int bits, int a,
                    int b)
{
    if (dtype_is_float(dtype))
        return extreme_of_floats(machine, operation, vector_type_of(dtype), bits, a, b);
    return extreme_of_integers(machine, operation, dtype, bits, a, b);
}

/* ---- of several values -------------------------------------------------------------------------- */

static bool has_plain_bound(const struct machine *machine, const struct vector_value *value)
{
    return is_plain_bound(machine, value->operation, value->type, value->operands[0]) ||
           is_plain_bound(machine, value->operation, value->type, value->operands[1]);
}

/* Whether nan may be looked for when all values are known. */
static bool is_in_chain(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    return (machine_is_avx512(machine) || value->operation == OP_MAX) &&
           (!loop->nest || vector_is_rows(loop->nest)) && !loop->choices.count && !loop->calls &&
           !loop->is_serial && value->kind == VECTOR_OPERATION &&
           (value->type == VECTOR_F32 || value->type == VECTOR_F64) && !has_plain_bound(machine, value);
}

/* Whether it is but a value of what another one is the extreme of. */
static bool is_inner(struct machine *machine, const struct vector_value *value)
{
    const struct vector_value *values = machine->loop->values.items;
    int user = find_users(machine)[value - values];
    return user >= 0 && values[user].operation == value->operation && values[user].dtype == value->dtype &&
           is_in_chain(machine, &values[user]);
}

static void add_leaves(struct machine *machine, struct machine_chain *chain, int a)
{
    for (int k = 0; k < machine->chains.count; k++)
        if (machine->chains.items[k].section == machine->section && machine->chains.items[k].result == a) {
            const struct machine_chain *inner = &machine->chains.items[k];
            for (int j = 0; j < inner->leaves.count; j++)
                list_push(machine->arena, &chain->leaves, inner->leaves.items[j]);
            return;
        }
    list_push(machine->arena, &chain->leaves, a);
}

/* The leaf of that number; the one before where there is none. */
static int leaf_of(const struct machine_chain *chain, int number)
{
    return chain->leaves.items[number < chain->leaves.count ? number : number - 1];
}

/* With AVX2: of the greatest of the leaves as vmaxps has it. */
static int with_sign_and_nan(struct machine *machine, enum vector_type type,
                             const struct machine_chain *chain, int greatest)
{
    bool wide = type == VECTOR_F64;
    int bits = machine_bits(machine, type), all = leaf_of(chain, 0), nan = 0;
    for (int k = 1; k < chain->leaves.count; k++)
        all = machine_rvm(machine, X86_VANDPS, bits, all, leaf_of(chain, k));
    for (int k = 0; k < chain->leaves.count; k += 2) {
        int next = machine_rvmi(machine, wide ? X86_VCMPPD : X86_VCMPPS, bits, leaf_of(chain, k),
                                leaf_of(chain, k + 1), UNORDERED);
        nan = nan ? machine_rvm(machine, X86_VORPS, bits, nan, next) : next;
    }
    int rest = machine_constant(machine, type, wide ? INT64_MAX : INT32_MAX);
    int sign = machine_rvm(machine, X86_VORPS, bits, all, rest);
    return machine_rvm(machine, X86_VORPS, bits, machine_rvm(machine, X86_VANDPS, bits, greatest, sign), nan);
}

/* `result`, but nan where one of the leaves is. */
static int with_nan(struct machine *machine, enum vector_type type, const struct machine_chain *chain,
                    int result)
{
    bool wide = type == VECTOR_F64;
    int bits = machine_bits(machine, type), mask = 0;
    for (int k = 0; k < chain->leaves.count; k += 2) {
        int a = leaf_of(chain, k), b = leaf_of(chain, k + 1), next = machine_new_mask(machine);
        machine_add(machine, (struct x86_instruction){.form = wide ? X86_VCMPPD_MASK : X86_VCMPPS_MASK,
                                                      .bits = bits,
                                                      .reg = next,
                                                      .vvvv = a,
                                                      .rm = b,
                                                      .mask = mask,
                                                      .immediate = ORDERED});
        mask = next;
    }
    return machine_select(machine, type, mask, result, machine_float(machine, type, __builtin_nan("")));
}

static int extreme_in_chain(struct machine *machine, const struct vector_value *value, const int *operands)
{
    struct machine_chain chain = {.section = machine->section};
    add_leaves(machine, &chain, operands[0]);
    if (operands[1] != operands[0])
        add_leaves(machine, &chain, operands[1]);
    if (!is_inner(machine, value) && chain.leaves.count == 2)
        return extreme_of_floats(machine, value->operation, value->type, machine_bits(machine, value->type),
                                 operands[0], operands[1]);
    int bits = machine_bits(machine, value->type);
    bool is_ranged = machine_is_avx512(machine);
    chain.result = operands[0] == operands[1] ? operands[0]
                   : is_ranged
                       ? ranged(machine, value->operation, value->type, bits, operands[0], operands[1])
                       : machine_rvm(machine, value->type == VECTOR_F64 ? X86_VMAXPD : X86_VMAXPS, bits,
                                     operands[0], operands[1]);
    if (!is_inner(machine, value))
        return (is_ranged ? with_nan : with_sign_and_nan)(machine, value->type, &chain, chain.result);
    list_push(machine->arena, &machine->chains, chain);
    return chain.result;
}

int machine_extreme_value(struct machine *machine, const struct vector_value *value, const int *operands)
{
    for (int bound = 0; bound < 2; bound++)
        if (is_plain_bound(machine, value->operation, value->type, value->operands[bound]))
            return extreme_with_bound(machine, value, operands, bound);
    if (value->bits && machine_is_avx512(machine))
        return extreme_of_late(machine, value, operands[value->bits == 1], operands[value->bits - 1]);
    if (is_in_chain(machine, value))
        return extreme_in_chain(machine, value, operands);
    return machine_extreme(machine, value->operation, value->dtype, machine_bits(machine, value->type),
                           operands[0], operands[1]);
}

/* `a if a > b else b` and its like are what one instruction does with floats, nan and zeros included: where
 * neither is above the other, it gives its second operand. 0: it is another choice. */
int machine_chosen_extreme(struct machine *machine, const struct vector_value *value, const int *operands)
{
    const struct vector_value *values = machine->loop->values.items, *test = &values[value->operands[0]];
    bool wide = value->type == VECTOR_F64, is_less = test->operation == OP_LT;
    if (test->kind != VECTOR_OPERATION || (test->operation != OP_GT && !is_less) ||
        test->from != value->dtype || !dtype_is_float(value->dtype))
        return 0;
    int above = test->operands[is_less], below = test->operands[!is_less];
    if (value->operands[1] == above && value->operands[2] == below)
        return machine_rvm(machine, wide ? X86_VMAXPD : X86_VMAXPS, machine_bits(machine, value->type),
                           operands[1], operands[2]);
    if (value->operands[1] == below && value->operands[2] == above)
        return machine_rvm(machine, wide ? X86_VMINPD : X86_VMINPS, machine_bits(machine, value->type),
                           operands[1], operands[2]);
    return 0;
}

/* ---- what a loop accumulates ------------------------------------------------------------------------ */

/* Whether nothing asks for the accumulator but what combines values with it. */
static bool is_only_combined(const struct vector_loop *loop, int number)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool is_other = value->kind == VECTOR_TOTAL || value->kind == VECTOR_SET ||
                        value->kind == VECTOR_SCAN || value->kind == VECTOR_BEFORE;
        if (is_other && value->slot == number)
            return false;
    }
    return true;
}

/* With AVX2 there are three vectors for each partial result, and registers for three of these. */
static bool has_room(const struct machine *machine, enum vector_type type)
{
    if (machine_is_avx512(machine))
        return type == VECTOR_F32 || type == VECTOR_F64;
    return type == VECTOR_F32 && machine->loop->accumulators.count <= 2;
}

bool machine_has_nan_apart(const struct machine *machine, int number)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_accumulator *row = &loop->accumulators.items[number];
    return machine->lanes > 1 && !loop->calls && !loop->is_serial && !row->is_quiet &&
           (!loop->nest || vector_is_rows(loop->nest)) && row->role == VECTOR_REDUCED &&
           (row->operation == OP_MAX || row->operation == OP_MIN) && has_room(machine, row->type) &&
           is_only_combined(loop, number);
}

/* Whether the greatest of magnitudes alone is accumulated: these are in the order of integers, with nan
 * beyond all. */
static bool is_natural(const struct machine *machine, int number)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_accumulator *row = &loop->accumulators.items[number];
    bool is_wide = vector_type_is_wide(row->type);
    if (row->operation != OP_MAX || (is_wide && !machine_is_avx512(machine)) ||
        !machine_has_nan_apart(machine, number) || machine_begins_with_start(machine, number))
        return false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind != VECTOR_ACCUMULATE || value->slot != number)
            continue;
        const struct vector_value *operand = &loop->values.items[value->operands[0]];
        if (operand->kind != VECTOR_OPERATION || operand->operation != OP_ABS)
            return false;
    }
    return true;
}

bool machine_begins_with_start(const struct machine *machine, int number)
{
    return machine->is_short && machine->loop->accumulators.count == 1 &&
           machine_has_nan_apart(machine, number);
}

/* The instruction gives its second operand where they do not compare, or are both zero. */
int machine_quiet_extreme(struct machine *machine, const struct vector_accumulator *row, int bits, int best,
                          int other)
{
    bool wide = vector_type_is_wide(row->type);
    enum x86_form form = row->operation == OP_MAX ? wide ? X86_VMAXPD : X86_VMAXPS
                         : wide                   ? X86_VMINPD
                                                  : X86_VMINPS;
    return machine_rvm(machine, form, bits, other, best);
}

static int partial_of(struct machine *machine, int number, int step)
{
    return machine_keep(machine, KEPT_PARTIAL, machine->loop->accumulators.items[number].type, number,
                        (uint64_t)step);
}

/* What the loop accumulates there, or -1. */
static int operand_of(const struct vector_loop *loop, int number)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_ACCUMULATE && loop->values.items[k].slot == number)
            return k;
    return -1;
}

/* Whether one statement alone accumulates there. */
static bool is_single(const struct vector_loop *loop, int number)
{
    int count = 0;
    for (int k = 0; k < loop->values.count; k++)
        count += loop->values.items[k].kind == VECTOR_ACCUMULATE && loop->values.items[k].slot == number;
    return count == 1;
}

/* The first accumulator of the same values: the least and the greatest of one loop share what finds nan. */
static int first_of_same(const struct machine *machine, int number)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_value *values = loop->values.items, *own = &values[operand_of(loop, number)];
    for (int k = 0; k < number && is_single(loop, number); k++) {
        if (!is_single(loop, k))
            continue;
        int other = machine_has_nan_apart(machine, k) && !is_natural(machine, k) ? operand_of(loop, k) : -1;
        if (other >= 0 && values[other].operands[0] == own->operands[0] && values[other].mask == own->mask)
            return k;
    }
    return number;
}

/* A vector beside it, which begins with `start` in each lane. Straight code of few vectors has one for all.
 */
static int beside(struct machine *machine, enum vector_type type, int number, int step, uint64_t start)
{
    step = machine->is_short && machine_is_avx512(machine) ? 0 : step;
    return machine_keep(machine, KEPT_BESIDE, type, number * MACHINE_PARTIALS + step, start);
}

/* ---- AVX-512 ------------------------------------------------------------------------------------ */

/* Whether the vector may be the partial result: it is the first of that, all its lanes are there, and another
 * partial result has what was there before all. */
static bool is_first(const struct machine *machine, int number, int step, int mask)
{
    return machine_begins_with_start(machine, number) && is_single(machine->loop, number) && !mask &&
           machine->short_count > 1 && machine->short_at == step && step < machine->steps &&
           machine->steps > 1;
}

static void begin_with(struct machine *machine, int bits, int partial, int operand)
{
    for (int k = 0; k < machine->kept.count; k++)
        machine->kept.items[k].is_set |= machine->kept.items[k].virtual_register == partial;
    machine_into(machine, X86_VMOVAPS, bits, partial, 0, operand, 0);
}

static void accumulate_beside(struct machine *machine, int number, int step, int operand, int mask)
{
    enum { NAN_ALONE = 0x22 }; /* of both kinds of nan: it; of all else: what was there */
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), partial = partial_of(machine, number, step);
    if (is_first(machine, number, step, mask))
        begin_with(machine, bits, partial, operand);
    else
        put_ranged(machine, row->operation, row->type, bits, partial, partial, operand, mask);
    if (first_of_same(machine, number) != number)
        return;
    int table = machine_constant(machine, wide ? VECTOR_I64 : VECTOR_I32, NAN_ALONE);
    machine_into(machine, wide ? X86_VFIXUPIMMPD : X86_VFIXUPIMMPS, bits,
                 beside(machine, row->type, number, step, 0), operand, table, mask);
}

/* All bits of one lane, if there is nan in any; else none. Two extremes of the same values share it. */
static int any_nan(struct machine *machine, const struct vector_accumulator *row, int number)
{
    if (machine->nan.section == machine->section && machine->nan.accumulator == number)
        return machine->nan.result;
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), result = machine_new_vector(machine, 128);
    int nan = beside(machine, row->type, number, 0, 0);
    for (int k = 1; k < machine->steps && !machine->is_short; k++)
        nan = machine_rvm(machine, wide ? X86_VORPD : X86_VORPS, bits, nan,
                          beside(machine, row->type, number, k, 0));
    int mask = machine_compare_floats(machine, row->type, nan, nan, UNORDERED);
    machine_add(machine,
                (struct x86_instruction){.form = X86_KMOVW_FROM, .bits = 128, .reg = X86_RAX, .rm = mask});
    machine_add(machine, (struct x86_instruction){.form = X86_NEG, .rm = X86_RAX});
    machine_add(machine, (struct x86_instruction){.form = X86_SAR_BY, .rm = X86_RAX, .immediate = 63});
    machine_add(machine,
                (struct x86_instruction){
                    .form = wide ? X86_VMOVQ_TO : X86_VMOVD_TO, .bits = 128, .reg = result, .rm = X86_RAX});
    machine->nan.section = machine->section;
    machine->nan.accumulator = number;
    machine->nan.result = result;
    return result;
}

static int without_nan(struct machine *machine, const struct vector_accumulator *row, int bits, int a, int b)
{
    return ranged(machine, row->operation, row->type, bits, a, b);
}

static int result_beside(struct machine *machine, int number)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    int nan = any_nan(machine, row, first_of_same(machine, number));
    return machine_rvm(machine, vector_type_is_wide(row->type) ? X86_VORPD : X86_VORPS, 128,
                       machine_reduce(machine, number, without_nan), nan);
}

/* ---- AVX2 --------------------------------------------------------------------------------------- */

/* As integers. Of these, LEAST is the partial result and begins as that; what GREATEST begins with is
 * negative, and no nan for either. */
enum order { LEAST, GREATEST_SIGNED, GREATEST, ORDERS };

static const enum x86_form forms[ORDERS] = {X86_VPMINUD, X86_VPMAXSD, X86_VPMAXUD};

/* In whatever order values come, the result is the same: vectors of several steps may share one. */
static int partial_count(const struct machine *machine)
{
    int most = machine->loop->accumulators.count == 1 ? 3 : 1;
    return machine->steps < most ? machine->steps : most;
}

static int ordered(struct machine *machine, int number, int step, enum order order)
{
    const uint64_t lowest = 0x80000000;
    step %= partial_count(machine);
    return order == LEAST ? partial_of(machine, number, step)
                          : beside(machine, VECTOR_I32, number, step, order == GREATEST_SIGNED ? lowest : 0);
}

static void accumulate_ordered(struct machine *machine, int number, int step, int operand, int mask)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    int bits = machine_bits(machine, row->type);
    if (mask)
        operand = machine_select(
            machine, row->type, mask, operand,
            machine_constant(machine, row->type, machine_identity(row->operation, AKG_FLOAT32)));
    for (enum order order = 0; order < ORDERS; order++) {
        int partial = ordered(machine, number, step, order);
        machine_into(machine, forms[order], bits, partial, partial, operand, 0);
    }
}

/* `negative` where the sign of `number` is set. */
static int by_sign(struct machine *machine, int number, int negative, int other)
{
    int result = machine_new_vector(machine, 128);
    machine_add(machine, (struct x86_instruction){.form = X86_VBLENDVPS,
                                                  .bits = 128,
                                                  .reg = result,
                                                  .vvvv = other,
                                                  .rm = negative,
                                                  .fourth = number});
    return result;
}

/* The float of three integers, or all bits. */
static int float_of(struct machine *machine, enum operation operation, const int *of)
{
    const uint64_t infinity = 0x7f800000, sign = 0x80000000;
    int plus = machine_constant(machine, VECTOR_I32, infinity);
    int beyond = machine_constant(machine, VECTOR_I32, infinity + sign + 1);
    int result = operation == OP_MAX ? by_sign(machine, of[GREATEST_SIGNED], of[LEAST], of[GREATEST_SIGNED])
                                     : by_sign(machine, of[GREATEST], of[GREATEST], of[LEAST]);
    int nan = machine_rvm(machine, X86_VPCMPGTD, 128, of[GREATEST_SIGNED], plus);
    int other = machine_rvm(machine, X86_VPMAXUD, 128, of[GREATEST], beyond);
    other = machine_rvm(machine, X86_VPCMPEQD, 128, other, of[GREATEST]);
    return machine_rvm(machine, X86_VORPS, 128, result, machine_rvm(machine, X86_VORPS, 128, nan, other));
}

static int result_ordered(struct machine *machine, int number)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    int bits = machine_bits(machine, row->type), of[ORDERS];
    for (enum order order = 0; order < ORDERS; order++) {
        int sum = ordered(machine, number, 0, order);
        for (int k = 1; k < partial_count(machine); k++)
            sum = machine_rvm(machine, forms[order], bits, sum, ordered(machine, number, k, order));
        for (int left = bits; left > 32; left /= 2)
            sum = machine_rvm(machine, forms[order], left > 128 ? left / 2 : 128, sum,
                              machine_upper_half(machine, sum, left, false));
        of[order] = sum;
    }
    return float_of(machine, row->operation, of);
}

/* ---- magnitudes --------------------------------------------------------------------------------- */

static int greatest_natural(struct machine *machine, const struct vector_accumulator *row, int bits, int a,
                            int b)
{
    return machine_rvm(machine, vector_type_is_wide(row->type) ? X86_VPMAXSQ : X86_VPMAXSD, bits, a, b);
}

static void accumulate_natural(struct machine *machine, int number, int step, int operand, int mask)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    int partial = partial_of(machine, number, step);
    if (mask && !machine_is_avx512(machine)) {
        uint64_t identity = machine_identity(row->operation, AKG_FLOAT32);
        operand =
            machine_select(machine, row->type, mask, operand, machine_constant(machine, row->type, identity));
        mask = 0;
    }
    machine_into(machine, vector_type_is_wide(row->type) ? X86_VPMAXSQ : X86_VPMAXSD,
                 machine_bits(machine, row->type), partial, partial, operand, mask);
}

/* ---- either --------------------------------------------------------------------------------------- */

void machine_accumulate_extreme(struct machine *machine, const struct vector_value *value, int step,
                                int operand, int mask)
{
    if (is_natural(machine, value->slot))
        accumulate_natural(machine, value->slot, step, operand, mask);
    else if (machine_is_avx512(machine))
        accumulate_beside(machine, value->slot, step, operand, mask);
    else
        accumulate_ordered(machine, value->slot, step, operand, mask);
}

int machine_result_of_extreme(struct machine *machine, int number)
{
    if (is_natural(machine, number))
        return machine_reduce(machine, number, greatest_natural);
    return machine_is_avx512(machine) ? result_beside(machine, number) : result_ordered(machine, number);
}

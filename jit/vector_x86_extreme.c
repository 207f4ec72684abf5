/*
 * vector_x86_extreme.c: the greatest or the least element of a loop, nan kept apart.
 *
 * Consumes the values that an accumulator takes; appends instructions that do not wait for one another. One
 * partial result that knows of nan waits nine cycles for the one before it (Zen 5, AVX-512).
 *
 * With AVX-512 the partial result leaves nan out, as vrangeps does, and what is nan goes into a vector beside
 * it. With AVX2 elements of 32 bits are compared as integers: the greatest with a sign is the greatest float
 * unless all are negative; then that is the least without a sign. Nan lies beyond infinity in either order.
 */
#include "vector_x86.h"

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
    return machine->lanes > 1 && !loop->calls && !loop->is_serial && !loop->nest &&
           row->role == VECTOR_REDUCED && (row->operation == OP_MAX || row->operation == OP_MIN) &&
           has_room(machine, row->type) && is_only_combined(loop, number);
}

static int partial_of(struct machine *machine, int number, int step)
{
    return machine_keep(machine, KEPT_PARTIAL, machine->loop->accumulators.items[number].type, number,
                        (uint64_t)step);
}

/* A vector beside it, which begins with `start` in each lane. */
static int beside(struct machine *machine, enum vector_type type, int number, int step, uint64_t start)
{
    return machine_keep(machine, KEPT_BESIDE, type, number * MACHINE_PARTIALS + step, start);
}

/* ---- AVX-512 ------------------------------------------------------------------------------------ */

/* Of a and b, into `target` where the mask allows; the other one where one is nan, and -0 is less than 0. */
static void put_extreme(struct machine *machine, const struct vector_accumulator *row, int bits, int target,
                        int a, int b, int mask)
{
    enum { LEAST_WITH_SIGN = 4, GREATEST_WITH_SIGN = 5 };
    machine_add(machine, (struct x86_instruction){
                             .form = vector_type_is_wide(row->type) ? X86_VRANGEPD : X86_VRANGEPS,
                             .bits = bits,
                             .reg = target,
                             .vvvv = a,
                             .rm = b,
                             .mask = mask,
                             .immediate = row->operation == OP_MIN ? LEAST_WITH_SIGN : GREATEST_WITH_SIGN});
}

static void accumulate_beside(struct machine *machine, int number, int step, int operand, int mask)
{
    enum { NAN_ALONE = 0x22 }; /* of both kinds of nan: it; of all else: what was there */
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), partial = partial_of(machine, number, step);
    int table = machine_constant(machine, wide ? VECTOR_I64 : VECTOR_I32, NAN_ALONE);
    put_extreme(machine, row, bits, partial, partial, operand, mask);
    machine_into(machine, wide ? X86_VFIXUPIMMPD : X86_VFIXUPIMMPS, bits,
                 beside(machine, row->type, number, step, 0), operand, table, mask);
}

/* All bits of one lane, if there is nan in any; else none. */
static int any_nan(struct machine *machine, const struct vector_accumulator *row, int number)
{
    enum { UNORDERED = 3 };
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), result = machine_new_vector(machine, 128);
    int nan = beside(machine, row->type, number, 0, 0);
    for (int k = 1; k < machine->steps; k++)
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
    return result;
}

static int result_beside(struct machine *machine, int number)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), partials[MACHINE_PARTIALS],
        nan = any_nan(machine, row, number);
    for (int k = 0; k < machine->steps; k++)
        partials[k] = partial_of(machine, number, k);
    for (int count = machine->steps / 2; count >= 1; count /= 2)
        for (int k = 0; k < count; k++) {
            int result = machine_new_vector(machine, bits);
            put_extreme(machine, row, bits, result, partials[k], partials[k + count], 0);
            partials[k] = result;
        }
    int sum = partials[0];
    for (int left = bits; left > (wide ? 64 : 32); left /= 2) {
        int half = left > 128 ? left / 2 : 128, result = machine_new_vector(machine, half);
        put_extreme(machine, row, half, result, sum, machine_upper_half(machine, sum, left, wide), 0);
        sum = result;
    }
    return machine_rvm(machine, wide ? X86_VORPD : X86_VORPS, 128, sum, nan);
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

/* ---- either --------------------------------------------------------------------------------------- */

void machine_accumulate_extreme(struct machine *machine, const struct vector_value *value, int step,
                                int operand, int mask)
{
    if (machine_is_avx512(machine))
        accumulate_beside(machine, value->slot, step, operand, mask);
    else
        accumulate_ordered(machine, value->slot, step, operand, mask);
}

int machine_result_of_extreme(struct machine *machine, int number)
{
    return machine_is_avx512(machine) ? result_beside(machine, number) : result_ordered(machine, number);
}

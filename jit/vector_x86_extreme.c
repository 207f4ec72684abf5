/*
 * vector_x86_extreme.c: the greatest or the least element of a loop, nan kept apart.
 *
 * Consumes the values that an accumulator takes; with AVX-512 appends two instructions for each, of which neither
 * waits for the other: the partial result leaves nan out, as vrangeps does, and what is nan goes into a vector
 * beside it. Behind the loop one is put onto the other. One result that knows of both waits nine cycles for the
 * one before it (Zen 5), these two: the greatest elements of rows of 24 x 256 took 265 ns and take 100.
 */
#include "vector_x86.h"

/* Whether nothing asks for the accumulator but what combines values with it. */
static bool is_only_combined(const struct vector_loop *loop, int number)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool is_other = value->kind == VECTOR_TOTAL || value->kind == VECTOR_SET || value->kind == VECTOR_SCAN ||
                        value->kind == VECTOR_BEFORE;
        if (is_other && value->slot == number)
            return false;
    }
    return true;
}

bool machine_has_nan_apart(const struct machine *machine, int number)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_accumulator *row = &loop->accumulators.items[number];
    return machine_is_avx512(machine) && machine->lanes > 1 && !loop->calls && !loop->is_serial && !loop->nest &&
           row->role == VECTOR_REDUCED && (row->operation == OP_MAX || row->operation == OP_MIN) &&
           (row->type == VECTOR_F32 || row->type == VECTOR_F64) && is_only_combined(loop, number);
}

/* Of a and b, into `target` where the mask allows; the other one where one is nan, and -0 is less than 0. */
static void put_extreme(struct machine *machine, const struct vector_accumulator *row, int bits, int target, int a,
                        int b, int mask)
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

void machine_accumulate_extreme(struct machine *machine, const struct vector_value *value, int step, int operand,
                                int mask)
{
    enum { NAN_ALONE = 0x22 }; /* of both kinds of nan: it; of all else: what was there */
    const struct vector_accumulator *row = &machine->loop->accumulators.items[value->slot];
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type);
    int partial = machine_keep(machine, KEPT_PARTIAL, row->type, value->slot, (uint64_t)step);
    int nan = machine_keep(machine, KEPT_NAN, row->type, value->slot, (uint64_t)step);
    int table = machine_constant(machine, wide ? VECTOR_I64 : VECTOR_I32, NAN_ALONE);
    put_extreme(machine, row, bits, partial, partial, operand, mask);
    machine_into(machine, wide ? X86_VFIXUPIMMPD : X86_VFIXUPIMMPS, bits, nan, operand, table, mask);
}

/* All bits of one lane, if there is nan in any; else none. */
static int any_nan(struct machine *machine, const struct vector_accumulator *row, int number)
{
    enum { UNORDERED = 3 };
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), result = machine_new_vector(machine, 128);
    int nan = machine_keep(machine, KEPT_NAN, row->type, number, 0);
    for (int k = 1; k < machine->steps; k++)
        nan = machine_rvm(machine, wide ? X86_VORPD : X86_VORPS, bits, nan,
                          machine_keep(machine, KEPT_NAN, row->type, number, (uint64_t)k));
    int mask = machine_compare_floats(machine, row->type, nan, nan, UNORDERED);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_KMOVW_FROM, .bits = 128, .reg = X86_RAX, .rm = mask});
    machine_add(machine, (struct x86_instruction){.form = X86_NEG, .rm = X86_RAX});
    machine_add(machine, (struct x86_instruction){.form = X86_SAR_BY, .rm = X86_RAX, .immediate = 63});
    machine_add(machine,
                (struct x86_instruction){
                    .form = wide ? X86_VMOVQ_TO : X86_VMOVD_TO, .bits = 128, .reg = result, .rm = X86_RAX});
    return result;
}

int machine_result_of_extreme(struct machine *machine, int number)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), partials[MACHINE_PARTIALS], nan = any_nan(machine, row, number);
    for (int k = 0; k < machine->steps; k++)
        partials[k] = machine_keep(machine, KEPT_PARTIAL, row->type, number, (uint64_t)k);
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

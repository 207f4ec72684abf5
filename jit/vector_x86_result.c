/*
 * vector_x86_result.c: behind a vector loop, its partial results as one, with what was there before.
 *
 * Consumes the registers of an accumulator's partial results, one for each vector of a round; appends
 * instructions that combine them, then the lanes of what that gives, half with half, and hand the result to
 * its slot.
 */
#include "vector_x86_operation.h"

/* Whether results are the same however they are grouped, as those of integers and extremes are: then there
 * may be as many partial results as keep the processor busy. */
static bool has_any_grouping(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->accumulators.count; k++) {
        const struct vector_accumulator *row = &loop->accumulators.items[k];
        if (row->role != VECTOR_REDUCED ||
            (dtype_is_float(row->dtype) &&
             (row->is_quiet || (row->operation != OP_MIN && row->operation != OP_MAX))))
            return false;
    }
    return true;
}

/* More than four vectors at once gain nothing where no partial results ask for them (AVX2, whose vectors are
 * short: that is a third of the code of exp or gelu).
 * Two vectors of each of two extremes take 1.3 cycles a vector, for each waits for the one before, and four
 * take one (Zen 5). AVX2 has no registers for so many. */
int machine_steps(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    enum { FEW_VALUES = 10, FEW = 2, INTERLEAVED = 4 };
    int partials = vector_partials(loop), steps = partials / machine->lanes;
    if (machine->in_halves) /* the same partial results, in as many vectors: one at least */
        return loop->accumulators.count ? 2 * partials / machine->lanes : steps ? steps : 1;
    if (!loop->accumulators.count && steps > INTERLEAVED)
        return INTERLEAVED;
    return steps == FEW && machine_is_avx512(machine) && loop->accumulators.count == FEW &&
                   loop->values.count <= FEW_VALUES && has_any_grouping(loop)
               ? 2 * steps
               : steps;
}

int machine_upper_half(struct machine *machine, int a, int left, bool wide)
{
    if (left >= 256) {
        int high = machine_new_vector(machine, left / 2);
        enum x86_form form = left == 512                  ? X86_VEXTRACTF64X4
                             : machine_is_avx512(machine) ? X86_VEXTRACTF32X4
                                                          : X86_VEXTRACTF128;
        machine_add(machine, (struct x86_instruction){
                                 .form = form, .bits = left, .reg = a, .rm = high, .immediate = 1});
        return high;
    }
    if (wide)
        return machine_rvmi(machine, X86_VSHUFPD, 128, a, a, 1);
    return machine_rvmi(machine, X86_VSHUFPS, 128, a, a, left == 128 ? 0x4e : 0xb1);
}

int machine_reduce(struct machine *machine, int number, machine_combiner *combine)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    bool wide = vector_type_is_wide(row->type);
    int bits = machine_bits(machine, row->type), partials[MACHINE_PARTIALS];
    for (int k = 0; k < machine->steps; k++)
        partials[k] = machine_keep(machine, KEPT_PARTIAL, row->type, number, (uint64_t)k);
    for (int count = machine->steps / 2; count >= 1; count /= 2)
        for (int k = 0; k < count; k++)
            partials[k] = combine(machine, row, bits, partials[k], partials[k + count]);
    int sum = partials[0];
    for (int left = bits; left > (wide ? 64 : 32); left /= 2)
        sum = combine(machine, row, left > 128 ? left / 2 : 128, sum,
                      machine_upper_half(machine, sum, left, wide));
    return sum;
}

static int combined(struct machine *machine, const struct vector_accumulator *row, int bits, int a, int b)
{
    return row->is_quiet ? machine_quiet_extreme(machine, row, bits, a, b)
                         : machine_combine(machine, row->operation, row->dtype, bits, a, b);
}

void machine_build_result(struct machine *machine, int number)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[number];
    bool wide = vector_type_is_wide(row->type);
    int sum = machine_has_nan_apart(machine, number) ? machine_result_of_extreme(machine, number)
                                                     : machine_reduce(machine, number, combined);
    struct x86_instruction move = {.form = wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD,
                                   .bits = 128,
                                   .has_memory = true,
                                   .memory = machine_slot(machine, row->slot)};
    if (!machine_begins_with_start(machine, number)) {
        move.reg = machine_new_vector(machine, 128);
        machine_add(machine, move);
        sum = combined(machine, row, 128, move.reg, sum);
    }
    move.form = wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE;
    move.reg = dtype_table[row->dtype].size < 4 ? machine_normal(machine, row->dtype, sum) : sum;
    machine_add(machine, move);
}

/*
 * vector_x86_lookup.c: elements of a table of bytes whose index is a byte (vector_gather.c), where the
 * processor picks any bytes out of two vectors (AVX-512 VBMI).
 *
 * Consumes bytes in lanes of 8 bits or more; appends instructions that take them as places in the 256
 * elements of the table, which four registers hold all the time: in those two that the low seven bits pick
 * out of, the highest bit chooses.
 */
#include "vector_x86_slim.h"
#include "vector_x86_memory.h"

enum { BITS = 512, VECTORS = 4, LESS = 1 /* a predicate of vpcmpb */ };

static int picked(struct machine *machine, const struct vector_value *value, int half, int index)
{
    int tables[2];
    for (int k = 0; k < 2; k++)
        tables[k] = machine_keep(machine, KEPT_LOOKUP, slim_vector_type(machine), value->stream,
                                 (uint64_t)(2 * half + k));
    int result = machine_copy(machine, BITS, tables[0]);
    machine_into(machine, X86_VPERMT2B, BITS, result, index, tables[1], 0);
    return result;
}

int machine_lookup(struct machine *machine, const struct vector_value *value, int index)
{
    int low = picked(machine, value, 0, index), high = picked(machine, value, 1, index);
    int zero = machine_constant(machine, slim_vector_type(machine), 0);
    int is_high = machine_rvmi(machine, X86_VPCMPB, BITS, index, zero, LESS);
    int result = machine_new_vector(machine, BITS);
    machine_into(machine, X86_VPBLENDMB, BITS, result, low, high, is_high);
    return result;
}

void machine_setup_lookup(struct machine *machine, const struct machine_kept *kept)
{
    enum { VECTOR_BYTES = BITS / 8 };
    int slot = machine->loop->streams.items[kept->number].slot;
    machine_add(machine, (struct x86_instruction){.form = X86_MOV,
                                                  .reg = X86_RAX,
                                                  .has_memory = true,
                                                  .memory = machine_slot(machine, slot)});
    machine_add(machine,
                (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                         .bits = BITS,
                                         .reg = kept->virtual_register,
                                         .has_memory = true,
                                         .memory = {X86_RAX, X86_NONE, 1, VECTOR_BYTES * (int)kept->bits}});
}

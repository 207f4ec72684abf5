/*
 * vector_x86_gather.c: elements that are loaded from where the lanes say (vector_gather.c), and the tests of
 * indices.
 *
 * Consumes indices in lanes, as elements behind the address of a stream; appends a gather, for which there
 * is no target but AVX-512. Lanes that the mask leaves out are neither tested nor read.
 */
#include "vector_x86.h"

/* A copy, for the gather clears it. */
static int lanes_to_load(struct machine *machine, int mask)
{
    return machine_rm(machine, X86_KMOVW, 128, mask ? mask : machine_constant(machine, VECTOR_MASK, 1));
}

int machine_gather(struct machine *machine, const struct vector_value *value, int index, int mask)
{
    bool far = vector_type_is_wide(machine->loop->values.items[value->operands[0]].type);
    bool wide = vector_type_is_wide(value->type);
    enum x86_form form = far    ? wide ? X86_VGATHERQPD : X86_VGATHERQPS
                         : wide ? X86_VGATHERDPD
                                : X86_VGATHERDPS;
    if (!machine_is_avx512(machine) || machine->lanes == 1)
        return machine_refuse(machine);
    int result =
        machine_copy(machine, machine_bits(machine, value->type), machine_constant(machine, value->type, 0));
    int lanes = lanes_to_load(machine, mask), base = machine_base(machine, value->stream);
    machine_add(machine,
                (struct x86_instruction){.form = form,
                                         .bits = machine_bits(machine, far || wide ? VECTOR_I64 : VECTOR_I32),
                                         .reg = result,
                                         .mask = lanes,
                                         .has_memory = true,
                                         .memory = {base, index, dtype_table[value->dtype].size, 0}});
    return result;
}

void machine_test(struct machine *machine, const struct vector_value *value, const int *operands, int mask)
{
    enum { NOT_LESS = 5 };
    enum vector_type type = value->type;
    bool wide = vector_type_is_wide(type);
    if (!machine_is_avx512(machine)) {
        machine_refuse(machine);
        return;
    }
    int outside = machine_rvmi(machine, wide ? X86_VPCMPUQ : X86_VPCMPUD, machine_bits(machine, type),
                               operands[0], operands[1], NOT_LESS);
    if (mask)
        outside = machine_and(machine, outside, mask);
    machine_add(machine,
                (struct x86_instruction){.form = X86_KORTESTW, .bits = 128, .reg = outside, .rm = outside});
    if (!machine->loop->nest || vector_is_rows(machine->loop->nest)) /* nests know what is left */
        machine_add(machine,
                    (struct x86_instruction){.form = X86_LEA,
                                             .reg = X86_RAX,
                                             .has_memory = true,
                                             .memory = {machine->index, X86_NONE, 1, machine->ahead}});
    machine_add(machine, (struct x86_instruction){.form = X86_JNE, .label = machine_stop(machine)});
}

/*
 * vector_x86_copy.c: the code of loops around short rows that are copied.
 *
 * Consumes a nest of vector_copy.c; appends a call of copy_nest, which finds its arguments in the slots.
 */
#include "copy_nest.h"
#include "vector_x86_loop.h"

_Static_assert((int)COPY_LEVELS >= (int)VECTOR_LEVELS, "each nest is copied");

static void emit_number(struct machine *machine, int reg, int64_t number)
{
    machine_emit(machine,
                 (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = reg, .immediate = number});
}

bool vector_x86_copy(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing)
{
    struct machine *machine = arena_new(arena, struct machine);
    *machine = (struct machine){.arena = arena, .loop = loop, .options = options, .lanes = 1, .calls = true};
    machine_choose_slots(machine);
    emit_number(machine, X86_RSI, loop->nest->depth);
    emit_number(machine, X86_RDX, dtype_table[loop->streams.items[0].dtype].size);
    emit_number(machine, X86_RAX, (int64_t)(intptr_t)copy_nest);
    machine_emit(machine, (struct x86_instruction){.form = X86_CALL, .rm = X86_RAX});
    machine_assemble(machine, listing);
    return !machine->refused;
}

/*
 * vector_x86_far.c: loops over more than the caches near the processor hold, with what they will need fetched
 * ahead.
 *
 * Consumes a vector loop that stores; says whether its main loop is worth standing twice, appends to a
 * section of the second one what fetches ahead, and places that loop. A processor foresees loads, but not
 * beyond the page, and it foresees stores badly: each line is read before it is written, and stores wait for
 * that in their order. Near caches want none of this: there it is only more instructions.
 */
#include "vector_x86.h"

enum {
    LINE = 64,     /* bytes of the cache */
    AHEAD = 512,   /* bytes from what is computed to what is fetched */
    FAR = 2 << 20, /* bytes that a loop goes over, at least */
    LONGEST = 60   /* instructions; longer bodies compute, and memory does not wait for them */
};

/* One of elements that lie one behind the other, to which stores go whose place is known early. */
static bool is_target(const struct vector_stream *stream)
{
    return stream->step_kind == VECTOR_UNIT && stream->is_stored && !stream->is_gathered;
}

/* What one of several streams of a buffer loads another one has mostly loaded before: to fetch it is in vain.
 */
static bool is_alone(const struct vector_loop *loop, int number)
{
    for (int k = 0; k < loop->streams.count; k++)
        if (k != number &&
            loop->streams.items[k].access->buffer == loop->streams.items[number].access->buffer)
            return false;
    return true;
}

bool machine_has_far(const struct machine *machine, const machine_section *body)
{
    const struct vector_loop *loop = machine->loop;
    if (body->count > LONGEST || loop->calls || loop->picks.count || machine_has_quotients(machine))
        return false;
    for (int k = 0; k < loop->streams.count; k++)
        if (is_target(&loop->streams.items[k]))
            return true;
    return false;
}

void machine_fetch_ahead(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        int size = dtype_table[stream->dtype].size, at = machine->ahead * size;
        bool is_source = stream->step_kind == VECTOR_UNIT && !stream->is_gathered && is_alone(loop, k);
        if (!is_target(stream) && !is_source)
            continue;
        for (int line = (at + LINE - 1) / LINE * LINE; line < at + machine->lanes * size; line += LINE)
            machine_add(machine, (struct x86_instruction){
                                     .form = stream->is_stored ? X86_PREFETCH_WRITE : X86_PREFETCH,
                                     .has_memory = true,
                                     .memory = {machine_base(machine, k), machine->index, size,
                                                stream->high * size + line + AHEAD}});
    }
}

/* Iterations from which on a loop is one of these. */
static int least_count(const struct vector_loop *loop)
{
    int bytes = 0;
    for (int k = 0; k < loop->streams.count; k++)
        if (is_alone(loop, k) || is_target(&loop->streams.items[k]))
            bytes += dtype_table[loop->streams.items[k].dtype].size;
    return FAR / bytes;
}

void machine_place_rounds(struct machine *machine, machine_section *sections, int done)
{
    int round = machine->lanes * machine->steps, head = machine->labels++;
    machine_emit_label(machine, head);
    for (int k = 0; k < machine->steps; k++)
        machine_allocate(machine, &sections[k]);
    machine_emit_by(machine, X86_ADD_BY, machine->index, round);
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_by(machine, X86_CMP_BY, machine->count, round);
    machine_emit_jump(machine, X86_JGE, head);
    machine_emit_label(machine, done);
}

void machine_place_far(struct machine *machine, machine_section *sections)
{
    const struct vector_loop *loop = machine->loop;
    int done = machine->labels++, least = least_count(loop);
    if (loop->nest) { /* of the rows that are left, all together */
        machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes * machine->steps);
        machine_emit_jump(machine, X86_JL, done);
        machine_emit(machine,
                     (struct x86_instruction){.form = X86_MOV, .reg = X86_RAX, .rm = machine->count});
        machine_emit(machine, (struct x86_instruction){.form = X86_IMUL,
                                                       .reg = X86_RAX,
                                                       .has_memory = true,
                                                       .memory = machine_slot(machine, loop->nest->state)});
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, least);
    } else {
        machine_emit_by(machine, X86_CMP_BY, machine->count, least);
    }
    machine_emit_jump(machine, X86_JL, done);
    machine_place_rounds(machine, sections, done);
}

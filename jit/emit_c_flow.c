/*
 * emit_c_flow.c: calls of loops with branches that are machine code of our own (flow.h).
 *
 * Consumes a loop of the plan; produces C that fills the slots, calls, stops the kernel where the loop says
 * so, and takes back the variables that it assigned.
 */
#include "emit_c_private.h"
#include "flow.h"
#include "vector_plan.h"

static const char *member_of(akg_dtype dtype)
{
    return dtype == AKG_FLOAT64 ? "d" : dtype_is_float(dtype) ? "f" : "i"; /* halves are floats in C */
}

static const char *slot(struct emitter *emitter, const char *slots, int number, const char *member)
{
    return arena_format(&emitter->arena, "%s[%d].%s", slots, number, member);
}

static const char *argument_text(struct emitter *emitter, const struct flow_argument *argument,
                                 const char *low, const char *high)
{
    const char *buffer = argument->buffer ? emitter->buffers[argument->buffer->index] : NULL;
    switch (argument->kind) {
    case FLOW_LOW:
        return low;
    case FLOW_HIGH:
        return high;
    case FLOW_DATA:
        return buffer;
    case FLOW_STRIDE:
        return arena_format(&emitter->arena, "%s_stride%d_", buffer, argument->axis);
    case FLOW_EXTENT:
        return emit_extent(emitter, argument->buffer, argument->axis).text;
    default:
        return emitter->symbols[argument->symbol->slot].name;
    }
}

static void emit_stop(struct emitter *emitter, const struct flow *flow, const char *slots)
{
    struct arena *arena = &emitter->arena;
    emit_line(emitter, "if (%s[%d].i) {", slots, FLOW_SITE);
    for (int k = 0; k < flow->loops && emitter->loop_count + k < JIT_TRAP_LOOPS; k++)
        emit_line(emitter, "    %sloops[%d] = %s[%d].i;", emitter->dialect->trap_members,
                  emitter->loop_count + k, slots, FLOW_LOOPS + k);
    emit_trap(emitter, arena_format(arena, "%s(%s, (int)%s[%d].i, (int)%s[%d].i, %s[%d].i, %s[%d].i)",
                                    emit_snippet(EMIT_TRAP_INDEX), emitter->dialect->trap, slots, FLOW_SITE,
                                    slots, FLOW_AXIS, slots, FLOW_INDEX, slots, FLOW_BEYOND));
}

bool emit_flow_loop(struct emitter *emitter, const struct ir_stmt *stmt, const char *low, const char *high)
{
    const struct vector_plan *plan = emitter->options->plan;
    int number = vector_plan_find_flow(plan, stmt);
    const struct flow *flow = number < 0 ? NULL : plan->loops.items[number]->flow;
    if (!flow)
        return false;
    int first = flow_first_argument(flow);
    const char *slots = arena_format(&emitter->arena, "slots%d_", ++emitter->temporaries);
    emit_statement_line(emitter, stmt, "{");
    emitter->indent++;
    emit_line(emitter, "union akg_slot %s[%d];", slots, first + flow->arguments.count);
    for (int k = 0; k < first && flow->stops; k++)
        emit_line(emitter, "%s = 0;", slot(emitter, slots, k, "i"));
    for (int k = 0; k < flow->arguments.count; k++) {
        const struct flow_argument *argument = &flow->arguments.items[k];
        const char *member = argument->kind == FLOW_DATA ? "p"
                             : argument->symbol          ? member_of(argument->symbol->dtype)
                                                         : "i";
        emit_line(emitter, "%s = %s;", slot(emitter, slots, first + k, member),
                  argument_text(emitter, argument, low, high));
    }
    emit_line(emitter, "akg_vector_%d(%s);", number, slots);
    if (flow->stops)
        emit_stop(emitter, flow, slots);
    for (int k = 0; k < flow->arguments.count; k++) {
        const struct ir_symbol *symbol = flow->arguments.items[k].symbol;
        if (!flow->arguments.items[k].comes_back)
            continue;
        emitter->symbols[symbol->slot].assignments++;
        emit_line(emitter, "%s = (%s)%s;", emitter->symbols[symbol->slot].name, emit_type(symbol->dtype),
                  slot(emitter, slots, first + k, member_of(symbol->dtype)));
    }
    emitter->indent--;
    emit_line(emitter, "}");
    return true;
}

/* All of the loop is asked about, in parts of it too: sums are in the same order for any number of threads.
 */
static void emit_test(struct emitter *emitter, const struct flow_test *test, const char *name,
                      const char *low, const char *high)
{
    const char *begins = emit_operand(emitter, emit_index(emitter, test->begins), EMIT_MULTIPLY),
               *ends = emit_operand(emitter, emit_index(emitter, test->ends), EMIT_ADD);
    if (test->adjoin)
        emit_line(emitter, "%s = %s && %s - %s < %d * (%s - %s);", name, name, ends, begins, test->few, high,
                  low);
    else
        emit_line(emitter, "%s = %s && %s - %s < %d;", name, name, ends, begins, test->few);
}

const char *emit_flow_test(struct emitter *emitter, const struct ir_stmt *stmt)
{
    const struct vector_plan *plan = emitter->options->plan;
    int number = vector_plan_find_flow(plan, stmt);
    const struct flow *flow = number < 0 ? NULL : plan->loops.items[number]->flow;
    if (!flow || !flow->tests.count)
        return NULL;
    const char *name = arena_format(&emitter->arena, "few%d_", ++emitter->temporaries);
    bool in_iterations = flow->tests.items[0].in_iterations; /* it is the only one then */
    const char *low = NULL, *high = NULL;
    if (in_iterations) {
        low = emit_operand(emitter, emit_index(emitter, stmt->low), EMIT_MULTIPLY);
        high = emit_operand(emitter, emit_index(emitter, stmt->high), EMIT_SHIFT);
    }
    emit_line(emitter, "int %s = %s;", name,
              in_iterations ? arena_format(&emitter->arena, "%s < %s", low, high) : "1");
    if (in_iterations)
        emit_line(emitter, "if (%s) {", name);
    emitter->indent += in_iterations;
    for (int k = 0; k < flow->tests.count; k++)
        emit_test(emitter, &flow->tests.items[k], name, low, high);
    emitter->indent -= in_iterations;
    if (in_iterations)
        emit_line(emitter, "}");
    return name;
}

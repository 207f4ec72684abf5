/*
 * dependence_print.c: dependences as text, a line each.
 *
 *   flow y[i] -> y[(i - 1)] (1)          kind, source, sink, the vector: distances where they are constant,
 *                                        else directions: < <= = >= > != *
 *   anti y[0] -> y[0] (<) reduction      both only accumulate
 *   anti y[p[i]] -> y[i] (<) perhaps     not exact
 *   scalar s in i: reduction +           or private, or carried
 *   loop i: serial: flow y[i] -> ...     the verdict, and the reason where it is not parallel
 */
#include "dependence.h"

#include "../base/text.h"

#include <inttypes.h>

static void print_access(struct text *out, const struct dependence_access *access)
{
    struct ir_expr load = {
        .kind = IR_LOAD, .dtype = access->access->buffer->dtype, .access = *access->access};

    ir_print_expr(out, access->load ? access->load : &load);
    if (access->span.line)
        text_format(out, " @%d:%d", access->span.line, access->span.column);
}

static void print_dependence(struct text *out, const struct dependences *dependences,
                             const struct dependence *item)
{
    static const char *const kinds[] = {"flow", "anti", "output"};
    static const char *const directions[] = {"none", "<", "=", "<=", ">", "!=", ">=", "*"};

    text_format(out, "%s ", kinds[item->kind]);
    print_access(out, &dependences->accesses.items[item->source]);
    text_string(out, " -> ");
    print_access(out, &dependences->accesses.items[item->sink]);
    for (int k = 0; k < item->depth; k++) {
        text_string(out, k ? ", " : " (");
        if (item->has_distance[k])
            text_format(out, "%" PRId64, item->distance[k]);
        else
            text_string(out, directions[item->directions[k]]);
    }
    text_format(out, ")%s%s", item->reduction ? " reduction" : "", item->exact ? "" : " perhaps");
}

static void print_loop_name(struct text *out, const struct dependence_loop *loop)
{
    text_string(out, loop->stmt->kind == IR_FOR ? loop->stmt->symbol->name : "while");
}

static void print_loop(struct text *out, const struct dependences *dependences,
                       const struct dependence_loop *loop)
{
    static const char *const verdicts[] = {"parallel", "accumulates", "serial", "undecided"};

    text_string(out, "loop ");
    print_loop_name(out, loop);
    text_format(out, ": %s", verdicts[loop->verdict]);
    if (loop->dependence >= 0) {
        text_string(out, ": ");
        print_dependence(out, dependences, &dependences->items.items[loop->dependence]);
    }
    if (loop->scalar >= 0)
        text_format(out, ": scalar %s", dependences->scalars.items[loop->scalar].symbol->name);
    if (loop->leaves)
        text_string(out, ": may leave");
    if (loop->incomplete)
        text_string(out, ": incomplete");
    text_char(out, '\n');
}

void dependence_print(struct text *out, const struct dependences *dependences)
{
    for (int k = 0; k < dependences->items.count; k++) {
        print_dependence(out, dependences, &dependences->items.items[k]);
        text_char(out, '\n');
    }
    for (int k = 0; k < dependences->scalars.count; k++) {
        const struct dependence_scalar *scalar = &dependences->scalars.items[k];
        text_format(out, "scalar %s in ", scalar->symbol->name);
        print_loop_name(out, &dependences->loops.items[scalar->loop]);
        if (scalar->use == DEPENDENCE_REDUCTION)
            text_format(out, ": reduction %s\n", operation_table[scalar->reduction].text);
        else
            text_string(out, scalar->use == DEPENDENCE_PRIVATE ? ": private\n"
                             : scalar->use == DEPENDENCE_FINAL ? ": final\n"
                                                               : ": carried\n");
    }
    for (int k = 0; k < dependences->loops.count; k++)
        print_loop(out, dependences, &dependences->loops.items[k]);
}

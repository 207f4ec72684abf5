/*
 * hints.c: warnings of hints that are wrong.
 *
 * Consumes a kernel whose bounds are analysed. Whether the iterations of a parallel or vectorize loop
 * depend on each other is dependence.c's finding. A break is a warning, and a scalar that is carried. So is
 * an element, with two iterations that were seen to clash (hints_witness.c) or, where trying shows none, when
 * the dependence is exact, of one distance, and the call cannot stop before; else nothing is said. A `reduce`
 * hint allows scalars to be accumulated.
 */
#include "analysis.h"
#include "dependence.h"
#include "hints_witness.h"

#include <string.h>

static bool is_hinted(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_FOR && (stmt->hint & (IR_HINT_PARALLEL | IR_HINT_VECTORIZE));
}

static const char *label_of(const struct ir_symbol *symbol)
{
    return symbol->label ? symbol->label : symbol->name;
}

static const char *element_name(struct ir_kernel *kernel, const struct witness_use *use)
{
    const char *name = use->buffer->name;

    for (int k = 0; k < use->buffer->rank; k++)
        name = arena_format(kernel->arena, "%s%s%lld", name, k ? ", " : "[", (long long)use->index[k]);
    return arena_format(kernel->arena, "%s%s", name, use->buffer->rank ? "]" : "");
}

static const char *use_text(struct ir_kernel *kernel, const struct witness_use *use)
{
    return arena_format(kernel->arena, "%s at %d:%d", use->store ? "writes" : "reads", use->span.line,
                        use->span.column);
}

/* All that is known when no two iterations were found by trying: they lie too far apart. */
static void note_distance(const struct dependences *dependences, const struct dependence *item,
                          struct diagnostic_entry *entry)
{
    const struct dependence_access *source = &dependences->accesses.items[item->source],
                                   *sink = &dependences->accesses.items[item->sink];
    long long distance = item->distance[item->level];

    diagnostic_note(entry, "note: one element of '%s' is used at %d:%d and, %lld iteration%s apart, at %d:%d",
                    source->access->buffer->name, source->span.line, source->span.column, distance,
                    distance == 1 ? "" : "s", sink->span.line, sink->span.column);
}

static struct diagnostic_entry *warn(const struct ir_stmt *stmt, akg_diagnostics *diagnostics)
{
    return diagnostic_add(diagnostics, MSG_HINT_CONFLICT, stmt->span,
                          stmt->hint & IR_HINT_PARALLEL ? "parallel" : "vectorize");
}

/* The first scalar that carries a value from one iteration to another; `reduce` allows accumulation. */
static const struct dependence_scalar *find_scalar(const struct dependences *dependences, int loop)
{
    unsigned hint = dependences->loops.items[loop].stmt->hint;

    for (int k = 0; k < dependences->scalars.count; k++)
        if (dependences->scalars.items[k].loop == loop && !(hint & IR_HINT_REDUCE) &&
            dependences->scalars.items[k].use != DEPENDENCE_PRIVATE)
            return &dependences->scalars.items[k];
    return NULL;
}

static void report_scalar(struct ir_kernel *kernel, const struct ir_stmt *stmt,
                          const struct dependence_scalar *scalar, akg_diagnostics *diagnostics)
{
    const char *variable = label_of(stmt->symbol), *name = label_of(scalar->symbol);
    int line = scalar->span.line, column = scalar->span.column;
    struct witness_use uses[2];

    if (witness_find(kernel, stmt, scalar->symbol, NULL, uses, NULL))
        diagnostic_note(
            warn(stmt, diagnostics),
            "note: iterations %s = %lld and %s = %lld both use the scalar '%s' (assigned at %d:%d)", variable,
            (long long)uses[0].iteration, variable, (long long)uses[1].iteration, name, line, column);
    else
        diagnostic_note(warn(stmt, diagnostics),
                        "note: every two iterations of '%s' both use the scalar '%s' (assigned at %d:%d)",
                        variable, name, line, column);
}

static void report_uses(struct ir_kernel *kernel, const struct ir_stmt *stmt,
                        const struct witness_use uses[2], akg_diagnostics *diagnostics)
{
    const char *variable = label_of(stmt->symbol);
    const char *first = use_text(kernel, &uses[0]), *second = use_text(kernel, &uses[1]);
    bool same = strcmp(first, second) == 0;

    diagnostic_note(warn(stmt, diagnostics), "note: iterations %s = %lld and %s = %lld both use %s (%s%s%s)",
                    variable, (long long)uses[0].iteration, variable, (long long)uses[1].iteration,
                    element_name(kernel, &uses[0]), first, same ? "" : ", ", same ? "" : second);
}

/* Of the loop whose body this is; of IR_FOR only: a while has no hints. */
static const struct ir_stmt *find_break(const struct ir_stmt *block)
{
    const struct ir_stmt *found = NULL;

    for (const struct ir_stmt *stmt = block; stmt && !found; stmt = stmt->next) {
        if (stmt->kind == IR_BREAK)
            found = stmt;
        else if (stmt->kind == IR_IF)
            found = find_break(stmt->body);
        if (!found && stmt->kind == IR_IF)
            found = find_break(stmt->otherwise);
    }
    return found;
}

/* The second value of the loop's variable where it is known; false where there is none. */
static bool find_second(const struct ir_stmt *stmt, int64_t *second)
{
    bool known = stmt->low->kind == IR_INTEGER && stmt->high->kind == IR_INTEGER;

    if (stmt->low->kind == IR_INTEGER && __builtin_add_overflow(stmt->low->integer, stmt->step, second))
        return false;
    return !known || (stmt->step > 0 ? *second < stmt->high->integer : *second > stmt->high->integer);
}

static void report_break(const struct ir_stmt *stmt, const struct ir_stmt *leaves,
                         akg_diagnostics *diagnostics)
{
    const char *variable = label_of(stmt->symbol);
    int line = leaves->span.line, column = leaves->span.column;
    int64_t second = 0;

    if (!find_second(stmt, &second))
        return; /* of one iteration at most */
    struct diagnostic_entry *entry = warn(stmt, diagnostics);
    if (stmt->low->kind == IR_INTEGER)
        diagnostic_note(entry, "note: iteration %s = %lld decides at %d:%d whether %s = %lld runs", variable,
                        (long long)stmt->low->integer, line, column, variable, (long long)second);
    else
        diagnostic_note(entry, "note: each iteration of '%s' decides at %d:%d whether the next one runs",
                        variable, line, column);
}

static bool access_may_stop(const struct ir_access *access)
{
    for (int k = 0; k < access->buffer->rank; k++)
        if (access->checks[k] == IR_CHECK_ELEMENT)
            return true;
    return false;
}

static bool expr_goes_on(struct ir_expr *expr, void *unused)
{
    (void)unused;
    if (expr->kind == IR_LOAD)
        return !access_may_stop(&expr->access);
    return expr->kind != IR_OPERATION || !expr->checked;
}

/* Whether the call may fail on the way: then what is exact need not come to pass. */
static bool may_stop(struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_ASSERT || (stmt->kind == IR_STORE && access_may_stop(&stmt->access)) ||
            !ir_stmt_expressions(stmt, expr_goes_on, NULL) || may_stop(stmt->body) ||
            may_stop(stmt->otherwise))
            return true;
    return false;
}

/* Whether some call runs into it, and how far apart. */
static bool is_certain(const struct dependences *dependences, const struct dependence *item)
{
    return item->exact && item->has_distance[item->level] && !may_stop(dependences->kernel->body);
}

static void test_loop(const struct dependences *dependences, int number, akg_diagnostics *diagnostics)
{
    const struct dependence_loop *loop = &dependences->loops.items[number];
    const struct dependence_scalar *scalar = find_scalar(dependences, number);
    int reason = loop->dependence >= 0 ? loop->dependence : loop->reduction;
    const struct dependence *item = reason >= 0 ? &dependences->items.items[reason] : NULL;
    struct witness_call worth = {item ? item->dims : NULL, item ? item->attributes : NULL};
    struct witness_use uses[2];

    if (loop->leaves)
        report_break(loop->stmt, find_break(loop->stmt->body), diagnostics);
    else if (scalar)
        report_scalar(dependences->kernel, loop->stmt, scalar, diagnostics);
    else if (!item && !loop->incomplete)
        return;
    else if (witness_find(dependences->kernel, loop->stmt, NULL, item && item->dims ? &worth : NULL, uses,
                          NULL))
        report_uses(dependences->kernel, loop->stmt, uses, diagnostics);
    else if (item && is_certain(dependences, item))
        note_distance(dependences, item, warn(loop->stmt, diagnostics));
}

static bool has_hint(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (is_hinted(stmt) || has_hint(stmt->body) || has_hint(stmt->otherwise))
            return true;
    return false;
}

void analysis_hints(struct ir_kernel *kernel, akg_diagnostics *diagnostics)
{
    if (!has_hint(kernel->body))
        return;
    const struct dependences *dependences = dependence_analyse(kernel, NULL);
    for (int k = 0; k < dependences->loops.count; k++)
        if (is_hinted(dependences->loops.items[k].stmt))
            test_loop(dependences, k, diagnostics);
}

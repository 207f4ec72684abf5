/*
 * pass_collect.c: what loops scatter through a short window is collected for each element:
 *
 *     for i in 0, H: for p in 0, 3: y[2 * i + p] = y[2 * i + p] + x[i] * w[p]
 *
 * becomes one loop for each remainder of the place,
 *
 *     for a in 0, H + 1: { var s = y[2 * a];
 *                          for b in 0, 2: if 0 <= a + b - 1 < H: s = s + x[a + b - 1] * w[2 - 2 * b];
 *                          y[2 * a] = s }
 *     for a in 0, H: { var s = y[2 * a + 1]; s = s + x[a] * w[1]; y[2 * a + 1] = s }
 *
 * so that a transposed convolution is as many convolutions as its step has phases; a step of 1 has one phase.
 * Consumes nests with nothing but names of sums and elements between the loops, and one store in the
 * innermost one, into an element that its value may load. Each index is moved by one loop, or by a *pair*: a
 * longer loop with a step, and a window of few iterations. Of those an element has one window for each of the
 * longer loop's: the outer loop of the two gives the order of what is done for it, among the loops that do
 * not move it, and that order stays. The store may stand under conditions that hang on the place alone, which
 * become bounds where they can. Nothing may stop. An element is loaded and stored only where all loops have
 * iterations: then it is one that the nest stored to. Of windows whose length a call knows (`range(K)`) it
 * decides; the branch is `deferred`.
 */
#include "pass_collect.h"

enum { MOST_STEP = 4, STATEMENTS = 10, COPIES = 9, DEEPEST = 100, BITS = 60 };

struct collector {
    struct pass *pass;
    struct pass_ranges around;
    bool changed;
};

/* ---- the shape -------------------------------------------------------------------------------------- */

static bool is_plain_loop(const struct ir_stmt *stmt)
{
    return stmt && stmt->kind == IR_FOR && stmt->step == 1 && !stmt->hint;
}

/* What takes no longer for each iteration of the loops inside. */
static bool is_cheap(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_OPERATION || expr->operation == OP_ADD || expr->operation == OP_SUB ||
           expr->operation == OP_MUL || expr->operation == OP_NEG || expr->operation == OP_CAST;
}

/* The loops, with names of sums, and of elements and what little is made of them, between them at most. Gives
 * what the innermost one holds. */
static struct ir_stmt *find_loops(struct ir_stmt *loop, struct scatter *scatter)
{
    for (struct ir_stmt *inside = loop; is_plain_loop(inside) && scatter->depth < COLLECT_NEST;) {
        scatter->loops[scatter->depth++] = inside;
        inside = inside->body;
        while (inside && inside->kind == IR_LET && ir_expr_walk(inside->value, is_cheap, NULL)) {
            scatter->statements++;
            inside = inside->next;
        }
        if (inside && inside->next)
            break;
    }
    return scatter->depth > 1 ? scatter->loops[scatter->depth - 1]->body : NULL;
}

/* The nest: loops, and in the innermost one scalars, conditions and the store. */
static bool find_shape(struct ir_stmt *loop, struct scatter *scatter)
{
    struct ir_stmt *stmt = find_loops(loop, scatter);

    while (stmt && ++scatter->statements <= STATEMENTS) {
        if (stmt->kind == IR_STORE && !stmt->next) {
            scatter->store = stmt;
            return true;
        }
        if (stmt->kind == IR_LET) {
            stmt = stmt->next;
            continue;
        }
        if (stmt->kind != IR_IF || stmt->next || stmt->otherwise ||
            scatter->condition_count == COLLECT_CONDITIONS)
            return false;
        scatter->conditions[scatter->condition_count++] = stmt->value;
        stmt = stmt->body;
    }
    return false;
}

static int number_of(const struct scatter *scatter, const struct ir_symbol *symbol)
{
    for (int k = 0; k < scatter->depth; k++)
        if (scatter->loops[k]->symbol == symbol)
            return k;
    return -1;
}

static bool begins_near(const struct ir_stmt *loop)
{
    return loop->low->kind == IR_INTEGER && loop->low->integer >= -COLLECT_FACTOR &&
           loop->low->integer <= COLLECT_FACTOR;
}

/* Iterations of a loop of few, whose bounds are known; 0: it is another. */
static int64_t count_few(const struct ir_stmt *loop)
{
    if (!begins_near(loop) || loop->high->kind != IR_INTEGER || loop->high->integer > COLLECT_FACTOR)
        return 0;
    int64_t count = loop->high->integer - loop->low->integer;
    return count > 0 && count <= COLLECT_WINDOW ? count : 0;
}

/* Whether the call knows how many iterations there are. */
static bool may_be_few(const struct ir_stmt *loop)
{
    struct pass_affine end;

    if (!begins_near(loop) || loop->high->kind == IR_INTEGER || !pass_affine_of(loop->high, &end))
        return false;
    for (int k = 0; k < end.count; k++)
        if (end.terms[k].symbol->kind != IR_SYMBOL_DIM || end.terms[k].coefficient > COLLECT_FACTOR ||
            end.terms[k].coefficient < -COLLECT_FACTOR)
            return false;
    return end.constant <= COLLECT_FACTOR && end.constant >= -COLLECT_FACTOR;
}

static bool add_pair(struct scatter *scatter, int axis, int longer, int window, int64_t step)
{
    int64_t count = count_few(scatter->loops[window]);

    if (scatter->pair_count == COLLECT_PAIRS || step < 1 || step > MOST_STEP ||
        (!count && !may_be_few(scatter->loops[window])) || !begins_near(scatter->loops[longer]) ||
        scatter->parts[longer] != STAYS || scatter->parts[window] != STAYS)
        return false;
    scatter->parts[longer] = LONG;
    scatter->parts[window] = WINDOWED;
    scatter->pairs[scatter->pair_count++] =
        (struct pair){.axis = axis, .longer = longer, .window = window, .step = step, .count = count};
    return true;
}

/* Of two loops without a step: the one that is known to be short, the shorter one of two such, or the inner
 * one. */
static int which_is_window(const struct scatter *scatter, const int loops[2])
{
    int64_t first = count_few(scatter->loops[loops[0]]), second = count_few(scatter->loops[loops[1]]);

    if (first != second)
        return !first || (second && second < first);
    return (loops[1] > loops[0]) != scatter->is_turned;
}

/* What loops of the nest move the index: none, one, or a pair. */
static bool add_index(struct scatter *scatter, int axis)
{
    const struct ir_expr *index = scatter->store->access.indices[axis];
    struct pass_affine sum;
    int loops[2], count = 0;
    int64_t factors[2];

    if (!pass_affine_of(index, &sum))
        return false;
    for (int k = 0; k < sum.count; k++) {
        int loop = number_of(scatter, sum.terms[k].symbol);
        if (!collect_is_plain(sum.terms[k].symbol) || (loop >= 0 && count == 2))
            return false;
        if (loop < 0)
            continue;
        loops[count] = loop;
        factors[count++] = sum.terms[k].coefficient;
    }
    if (count == 2) {
        int window = factors[0] == factors[1] ? which_is_window(scatter, loops) : factors[1] == 1;
        return factors[window] == 1 &&
               add_pair(scatter, axis, loops[!window], loops[window], factors[!window]);
    }
    if (count == 1 && (scatter->parts[loops[0]] == LONG || scatter->parts[loops[0]] == WINDOWED))
        return false;
    if (count == 1)
        scatter->parts[loops[0]] = MOVES;
    return true;
}

/* ---- what may be done ------------------------------------------------------------------------------- */

/* Whether the sum is the same for all that goes to one place. */
static bool is_of_place(const struct scatter *scatter, const struct ir_expr *expr)
{
    struct pass_affine sum;

    if (expr->dtype != AKG_INT64 || !pass_affine_of(expr, &sum))
        return false;
    for (int k = 0; k < sum.count; k++) {
        int loop = number_of(scatter, sum.terms[k].symbol);
        if (!collect_is_plain(sum.terms[k].symbol) || (loop >= 0 && scatter->parts[loop] == STAYS))
            return false;
    }
    for (int k = 0; k < scatter->pair_count; k++) {
        const struct pair *pair = &scatter->pairs[k];
        int64_t by_window = pass_affine_coefficient(&sum, scatter->loops[pair->window]->symbol);
        int64_t by_longer = pass_affine_coefficient(&sum, scatter->loops[pair->longer]->symbol), wanted;
        if (__builtin_mul_overflow(pair->step, by_window, &wanted) || by_longer != wanted)
            return false;
    }
    return true;
}

static bool is_condition_of_place(const struct scatter *scatter, const struct ir_expr *expr)
{
    if (expr->kind != IR_OPERATION)
        return expr->kind == IR_INTEGER;
    if (operation_table[expr->operation].rule == RULE_COMPARE)
        return is_of_place(scatter, expr->operands[0]) && is_of_place(scatter, expr->operands[1]);
    for (int k = 0; k < expr->count; k++)
        if (operation_table[expr->operation].rule != RULE_LOGICAL ||
            !is_condition_of_place(scatter, expr->operands[k]))
            return false;
    return true;
}

static bool is_other_or_same(struct ir_expr *expr, void *store)
{
    const struct ir_access *access = store;

    return expr->kind != IR_LOAD || expr->access.buffer != access->buffer ||
           ir_access_equal(&expr->access, access);
}

/* What is named between the loops is the same after each store. */
static bool are_names_fixed(const struct scatter *scatter)
{
    for (int k = 0; k + 1 < scatter->depth; k++)
        for (struct ir_stmt *stmt = scatter->loops[k]->body; stmt && stmt->kind == IR_LET; stmt = stmt->next)
            if (ir_expr_loads_from(stmt->value, scatter->store->access.buffer))
                return false;
    return true;
}

/* Whether elements are changed again and again, by loops that stay or by windows that overlap and whose
 * elements lie apart as they are stored now. */
static bool pays(const struct scatter *scatter)
{
    struct ir_buffer *buffer = scatter->store->access.buffer;
    bool pays = false;

    for (int k = 0; k < scatter->depth; k++)
        pays |= scatter->parts[k] == STAYS;
    for (int k = 0; k < scatter->pair_count; k++) {
        const struct pair *pair = &scatter->pairs[k];
        pays |= pair->axis == buffer->rank - 1 && (!pair->count || pair->count > pair->step);
    }
    return pays && ir_block_loads_from(scatter->loops[0]->body, buffer);
}

/* Names between the loops go into the innermost one, where bounds have no use for them. */
static bool is_no_name(struct ir_expr *expr, void *context)
{
    const struct scatter *scatter = context;

    for (int k = 0; expr->kind == IR_SYMBOL && k < scatter->depth; k++)
        for (const struct ir_stmt *stmt = scatter->loops[k]->body; stmt && stmt->kind == IR_LET;
             stmt = stmt->next)
            if (stmt->symbol == expr->symbol)
                return false;
    return true;
}

static bool may_collect(struct collector *collector, struct scatter *scatter)
{
    struct ir_access *access = &scatter->store->access;
    int copies = 1;

    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (!add_index(scatter, axis))
            return false;
    for (int k = 0; k < scatter->pair_count; k++)
        copies *= (int)scatter->pairs[k].step;
    if (!scatter->pair_count || copies > COPIES || !pays(scatter) || pass_stmt_may_stop(scatter->loops[0]) ||
        pass_jumps(scatter->loops[scatter->depth - 1]->body) ||
        !pass_bounds_are_fixed(scatter->loops, scatter->depth) ||
        !ir_block_expressions(scatter->loops[0]->body, is_other_or_same, access) || !are_names_fixed(scatter))
        return false;
    for (int k = 0; k < scatter->condition_count; k++)
        if (!is_condition_of_place(scatter, scatter->conditions[k]))
            return false;
    for (int k = 0; k < scatter->depth; k++)
        if (!ir_expr_walk(scatter->loops[k]->low, is_no_name, scatter) ||
            !ir_expr_walk(scatter->loops[k]->high, is_no_name, scatter) ||
            (scatter->parts[k] == LONG && pass_bits_of(&collector->around, scatter->loops[k]->high) > BITS))
            return false;
    return true;
}

/* ---- the walk --------------------------------------------------------------------------------------- */

/* What the nest of the scatter has become, with what follows it. */
static struct ir_stmt *collected(struct scatter *scatter)
{
    struct ir_stmt *next = scatter->loops[0]->next;
    scatter->loops[0]->next = NULL;
    struct ir_stmt *result = collect_nests(scatter), *last = result;
    while (last->next)
        last = last->next;
    last->next = next;
    return result;
}

/* Where a call finds that the inner loop is not the window, the outer one may be. */
static void try_turned(struct collector *collector, const struct scatter *scatter, struct ir_stmt *choice)
{
    struct scatter turned = {.pass = collector->pass, .is_turned = true};
    bool may_be_turned = false;
    for (int k = 0; k < scatter->pair_count; k++)
        may_be_turned |= scatter->pairs[k].step == 1 && !scatter->pairs[k].count;
    if (may_be_turned && choice->deferred && find_shape(choice->otherwise, &turned) &&
        may_collect(collector, &turned))
        choice->otherwise = collected(&turned);
}

static void visit_block(struct collector *collector, struct ir_stmt **place, int depth)
{
    for (; *place && depth < DEEPEST; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        struct scatter scatter = {.pass = collector->pass};
        if (stmt->kind == IR_FOR && find_shape(stmt, &scatter) && may_collect(collector, &scatter)) {
            struct ir_stmt *next = stmt->next;
            *place = collected(&scatter);
            try_turned(collector, &scatter, *place);
            collector->changed = true;
            while ((*place)->next != next)
                place = &(*place)->next;
            continue;
        }
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&collector->around, stmt);
        visit_block(collector, &stmt->body, depth + 1);
        collector->around.count -= is_known;
        visit_block(collector, &stmt->otherwise, depth + 1);
    }
}

bool pass_collect(struct pass *pass)
{
    struct collector collector = {.pass = pass};

    visit_block(&collector, &pass->kernel->body, 0);
    if (collector.changed)
        pass_simplify_block(pass, &pass->kernel->body);
    return collector.changed;
}

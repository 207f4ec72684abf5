/*
 * pass_fuse_legal.c: which statements depend on each other, and whether loops can be made one.
 *
 * After two loops have become one, iteration i of the second comes before iteration i + 1 of the first. That
 * is right as long as no element that one of them stores is used by the other in an iteration further on.
 * Where an index is a multiple of the loop variable plus the same thing in both, the distance is known and
 * that is all there is to ask. Else the loops are joined and the dependence analysis is asked.
 */
#include "pass_fuse.h"

#include <stdlib.h>

enum { ACCESSES = 192, SCALARS = 64, BUFFERS = 24 }; /* of one loop: more is left alone */

/* ---- what a statement does ----------------------------------------------------------------------------- */

struct collector {
    struct pass *pass;
    struct fuse_facts *facts;
    const struct ir_stmt *top;
    LIST(struct ir_symbol *) seen; /* their notes are set */
};

static char inside, outside; /* notes: declared inside; not, and in the list */

static void note_scalar(struct collector *collector, struct ir_symbol *symbol, bool assigned)
{
    struct fuse_facts *facts = collector->facts;

    if (symbol->note == &inside || (symbol->kind != IR_SYMBOL_LET && symbol->kind != IR_SYMBOL_VARIABLE))
        return;
    if (symbol->note == &outside && !assigned)
        return;
    if (!symbol->note)
        list_push(collector->pass->arena, &collector->seen, symbol);
    symbol->note = &outside;
    list_push(collector->pass->arena, &facts->scalars, ((struct fuse_scalar){symbol, assigned}));
}

static bool note_expr(struct ir_expr *expr, void *context)
{
    struct collector *collector = context;

    if (expr->kind == IR_SYMBOL)
        note_scalar(collector, expr->symbol, false);
    else if (expr->kind == IR_LOAD)
        list_push(collector->pass->arena, &collector->facts->accesses,
                  ((struct fuse_access){&expr->access, false}));
    return true;
}

static bool note_stmt(struct ir_stmt *stmt, void *context)
{
    struct collector *collector = context;

    ir_stmt_expressions(stmt, note_expr, collector);
    if (stmt->kind == IR_STORE || stmt->kind == IR_ALLOCATE)
        list_push(collector->pass->arena, &collector->facts->accesses,
                  ((struct fuse_access){&stmt->access, true}));
    if (stmt->kind == IR_ASSIGN || (stmt == collector->top && stmt->kind != IR_FOR && stmt->symbol)) {
        note_scalar(collector, stmt->symbol, true);
    } else if (stmt->symbol) {
        stmt->symbol->note = &inside;
        list_push(collector->pass->arena, &collector->seen, stmt->symbol);
    }
    return true;
}

/* ---- what a nest uses again ------------------------------------------------------------------------------
 */

struct mentions {
    const struct ir_symbol *variable;
    const struct ir_symbol *others[2]; /* declared inside */
    int count;
    bool of_variable;
};

static bool note_mention(struct ir_expr *expr, void *context)
{
    struct mentions *mentions = context;
    const struct ir_symbol *symbol = expr->symbol;

    if (expr->kind != IR_SYMBOL)
        return true;
    if (symbol == mentions->variable)
        mentions->of_variable = true;
    else if (symbol->kind == IR_SYMBOL_LOOP && symbol->note == &inside && mentions->count < 2 &&
             !(mentions->count == 1 && mentions->others[0] == symbol))
        mentions->others[mentions->count++] = symbol;
    return true;
}

static bool uses_again(const struct fuse_facts *facts, const struct ir_stmt *loop)
{
    for (int k = 0; k < facts->accesses.count; k++) {
        const struct ir_access *access = facts->accesses.items[k].access;
        struct mentions mentions = {.variable = loop->symbol};
        for (int axis = 0; access->indices && axis < access->buffer->rank; axis++)
            ir_expr_walk(access->indices[axis], note_mention, &mentions);
        if (!mentions.of_variable && mentions.count == 2)
            return true;
    }
    return false;
}

/* ---- how a nest goes through memory ----------------------------------------------------------------------
 */

static bool is_unit_of_inner(const struct ir_access *access, const struct ir_symbol *variable)
{
    struct pass_affine last;

    if (!pass_affine_of(access->indices[access->buffer->rank - 1], &last))
        return false;
    for (int k = 0; k < last.count; k++)
        if (last.terms[k].symbol != variable && last.terms[k].symbol->kind == IR_SYMBOL_LOOP &&
            last.terms[k].symbol->note == &inside && pass_is_unit(access, last.terms[k].symbol))
            return true;
    return false;
}

static void note_directions(struct fuse_facts *facts, const struct ir_stmt *loop)
{
    for (int k = 0; k < facts->accesses.count; k++) {
        const struct ir_access *access = facts->accesses.items[k].access;
        struct mentions mentions = {.variable = loop->symbol};
        for (int axis = 0; access->indices && axis < access->buffer->rank; axis++)
            ir_expr_walk(access->indices[axis], note_mention, &mentions);
        if (!mentions.of_variable || !mentions.count)
            continue;
        facts->has_rows |= is_unit_of_inner(access, loop->symbol);
        facts->has_columns |= pass_is_unit(access, loop->symbol);
    }
}

struct fuse_facts *fuse_facts_of(struct pass *pass, struct ir_stmt *stmt)
{
    struct fuse_facts *facts = arena_new(pass->arena, struct fuse_facts);
    struct collector collector = {.pass = pass, .facts = facts, .top = stmt};
    struct ir_stmt *next = stmt->next;

    stmt->next = NULL;
    ir_block_walk(stmt, note_stmt, &collector);
    stmt->next = next;
    facts->may_stop = pass_stmt_may_stop(stmt);
    if (stmt->kind == IR_FOR) {
        facts->jumps = pass_jumps(stmt->body);
        facts->reuses = uses_again(facts, stmt);
        note_directions(facts, stmt);
    }
    for (int k = 0; k < collector.seen.count; k++)
        collector.seen.items[k]->note = NULL;
    return facts;
}

void fuse_facts_add(struct pass *pass, struct fuse_facts *facts, const struct fuse_facts *more)
{
    for (int k = 0; k < more->accesses.count; k++)
        list_push(pass->arena, &facts->accesses, more->accesses.items[k]);
    for (int k = 0; k < more->scalars.count; k++)
        list_push(pass->arena, &facts->scalars, more->scalars.items[k]);
    facts->may_stop |= more->may_stop;
    facts->reuses |= more->reuses;
    facts->has_rows |= more->has_rows;
    facts->has_columns |= more->has_columns;
}

/* ---- independence
 * ------------------------------------------------------------------------------------------ */

static bool scalars_conflict(const struct fuse_facts *a, const struct fuse_facts *b)
{
    if (a->scalars.count > SCALARS || b->scalars.count > SCALARS)
        return true;
    for (int k = 0; k < a->scalars.count; k++)
        for (int n = 0; n < b->scalars.count; n++)
            if (a->scalars.items[k].symbol == b->scalars.items[n].symbol &&
                (a->scalars.items[k].assigned || b->scalars.items[n].assigned))
                return true;
    return false;
}

static bool is_large(const struct fuse_facts *a, const struct fuse_facts *b)
{
    return a->accesses.count > ACCESSES || b->accesses.count > ACCESSES;
}

bool fuse_independent(const struct fuse_facts *a, const struct fuse_facts *b)
{
    if ((a->may_stop && b->may_stop) || is_large(a, b) || scalars_conflict(a, b))
        return false;
    for (int k = 0; k < a->accesses.count; k++)
        for (int n = 0; n < b->accesses.count; n++)
            if (a->accesses.items[k].access->buffer == b->accesses.items[n].access->buffer &&
                (a->accesses.items[k].store || b->accesses.items[n].store))
                return false;
    return true;
}

/* ---- two loops
 * ------------------------------------------------------------------------------------------------ */

bool fuse_same_range(const struct ir_stmt *first, const struct ir_stmt *second)
{
    return first->step == second->step && first->hint == second->hint &&
           ir_expr_equal(first->low, second->low) && ir_expr_equal(first->high, second->high) &&
           ir_expr_loads_only_inputs(second->low) && ir_expr_loads_only_inputs(second->high);
}

static bool changes_while_it_runs(const struct pass_affine *affine)
{
    for (int k = 0; k < affine->count; k++)
        if (affine->terms[k].symbol->kind == IR_SYMBOL_VARIABLE)
            return true;
    return false;
}

/* As the variable of the first loop in the second's index. */
static void adopt(struct pass_affine *affine, const struct ir_symbol *own, const struct ir_symbol *other)
{
    for (int k = 0; k < affine->count; k++)
        if (affine->terms[k].symbol == own)
            affine->terms[k].symbol = other;
}

/* One axis of an access in each of the loops: YES when no element is used by the first in a later iteration
 * than by the second, NO when some may well be, ASK when it is not known. *fixed: it is ever the same, in all
 * iterations of both. */
static enum fuse_verdict compare_axis(const struct ir_stmt *first, const struct ir_expr *a,
                                      const struct ir_stmt *second, const struct ir_expr *b, bool *fixed)
{
    enum { LARGE = 1 << 20 };
    struct pass_affine x, y, difference;
    int64_t factor, distance;

    *fixed = false;
    if (!pass_affine_of(a, &x) || !pass_affine_of(b, &y))
        return FUSE_ASK;
    adopt(&y, second->symbol, first->symbol);
    factor = pass_affine_coefficient(&x, first->symbol);
    difference = y;
    if (changes_while_it_runs(&x) || !pass_affine_add(&difference, -1, &x) || difference.count ||
        factor > LARGE || factor < -LARGE || difference.constant > LARGE || difference.constant < -LARGE)
        return FUSE_ASK;
    if (factor == 0) {
        *fixed = difference.constant == 0;
        return difference.constant ? FUSE_YES : FUSE_ASK;
    }
    if (difference.constant % factor)
        return FUSE_YES;
    distance = difference.constant / factor; /* iteration of the first minus that of the second */
    return (first->step > 0 ? distance <= 0 : distance >= 0) ? FUSE_YES : FUSE_NO;
}

static enum fuse_verdict compare_accesses(const struct ir_stmt *first, const struct ir_access *a,
                                          const struct ir_stmt *second, const struct ir_access *b)
{
    enum fuse_verdict verdict = FUSE_ASK;
    bool fixed = true, all_fixed = true;

    if (!a->indices || !b->indices)
        return a->buffer->rank ? FUSE_ASK : FUSE_NO;
    for (int k = 0; k < a->buffer->rank; k++) {
        enum fuse_verdict axis = compare_axis(first, a->indices[k], second, b->indices[k], &fixed);
        if (axis == FUSE_YES)
            return FUSE_YES;
        if (axis == FUSE_NO)
            verdict = FUSE_NO;
        all_fixed &= fixed;
    }
    return all_fixed ? FUSE_NO : verdict; /* one element, that all iterations use */
}

static int count_buffers(struct fuse_facts const *const *facts)
{
    const struct ir_buffer *buffers[BUFFERS];
    int count = 0;

    for (int side = 0; side < 2; side++)
        for (int k = 0; k < facts[side]->accesses.count; k++) {
            const struct ir_buffer *buffer = facts[side]->accesses.items[k].access->buffer;
            int at = 0;
            while (at < count && buffers[at] != buffer)
                at++;
            if (at == BUFFERS)
                return at + 1;
            if (at == count)
                buffers[count++] = buffer;
        }
    return count;
}

enum fuse_verdict fuse_is_legal(const struct ir_stmt *first, const struct fuse_facts *first_facts,
                                const struct ir_stmt *second, const struct fuse_facts *second_facts)
{
    const struct fuse_facts *both[] = {first_facts, second_facts};
    enum fuse_verdict verdict = FUSE_YES;
    bool share = false;

    if (first_facts->jumps || second_facts->jumps || (first_facts->may_stop && second_facts->may_stop) ||
        first_facts->accesses.count + second_facts->accesses.count > ACCESSES ||
        scalars_conflict(first_facts, second_facts) || count_buffers(both) > BUFFERS)
        return FUSE_NO;
    for (int k = 0; k < first_facts->accesses.count; k++)
        for (int n = 0; n < second_facts->accesses.count; n++) {
            const struct fuse_access *a = &first_facts->accesses.items[k];
            const struct fuse_access *b = &second_facts->accesses.items[n];
            if (a->access->buffer != b->access->buffer)
                continue;
            share = true;
            if (!a->store && !b->store)
                continue;
            enum fuse_verdict one = compare_accesses(first, a->access, second, b->access);
            if (one == FUSE_NO)
                return FUSE_NO;
            if (one == FUSE_ASK)
                verdict = FUSE_ASK;
        }
    return share ? verdict : FUSE_NO;
}

/* ---- asking the dependence analysis
 * ------------------------------------------------------------------------------ */

static bool mark_part(struct ir_stmt *stmt, void *mark)
{
    stmt->note = mark;
    return true;
}

/* The analysis takes scalars from outside the loop for constants. */
static bool assigns_indices(const struct fuse_facts *facts)
{
    for (int k = 0; k < facts->scalars.count; k++)
        if (facts->scalars.items[k].assigned && dtype_is_integer(facts->scalars.items[k].symbol->dtype))
            return true;
    return false;
}

bool fuse_is_legal_exactly(struct pass *pass, struct ir_stmt *loop, const struct fuse_facts *first,
                           struct ir_stmt *part, const struct fuse_facts *second)
{
    const struct dependences *dependences;
    bool legal = true;

    if (assigns_indices(first) || assigns_indices(second))
        return false;
    dependences = pass_dependences(pass, loop);
    if (!dependences || dependence_loop_is_parallel(dependences, loop)->incomplete)
        return false;
    ir_block_walk(part, mark_part, &inside);
    for (int k = 0; k < dependences->items.count; k++) {
        const struct dependence *dependence = &dependences->items.items[k];
        const struct ir_stmt *source = dependences->accesses.items[dependence->source].stmt;
        const struct ir_stmt *sink = dependences->accesses.items[dependence->sink].stmt;
        if (source->note && !sink->note && dependence->depth > 0 &&
            (dependence->directions[0] & DEPENDENCE_LESS))
            legal = false;
    }
    ir_block_walk(part, mark_part, NULL);
    return legal;
}

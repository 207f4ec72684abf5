/*
 * context_invariant.c: what holds of scalars in all iterations of a loop, by guess and check.
 *
 * Consumes the scalars that a loop assigns (context_scalar.c). Its body is walked in trials, before the walk
 * that visitors see. One finds sums that grow by the same in every iteration. Others find ranges: each scalar
 * is taken to stay within one at every place of the loop, at first at its value before; what the body assigns
 * is proved to lie there, or makes the range wider, or unbounded; and the first ranges that need not be
 * changed hold, by induction over the assignments. What no loop inside assigns may leave its range within an
 * iteration, as long as it is back when that ends. The work is bounded: at worst nothing is known.
 */
#include "context_private.h"

#include <stdlib.h>

enum {
    ROUNDS = 6,   /* trials for ranges of one loop */
    DEPTH = 2,    /* of trials in each other */
    WORK = 20000, /* statements walked in trials */
    REPLACED = 8, /* atoms, on the way to a bound */
    FACTS = 40,   /* looked at for a bound of an atom */
    NESTED = 3    /* choices in each other, of which bounds are looked for */
};

/* A walk over a body, to see what is assigned. */
struct context_trial {
    struct context_updates *updates;
    int first_atom; /* what has a smaller number is the same in all iterations */
    int loops;      /* around the body, the one that is tried among them */
};

/* ---- scalars worth it ---------------------------------------------------- */

/* The statement whose expressions are walked. */
struct telling {
    struct context *context;
    const struct ir_stmt *stmt;
};

static bool visit_index(struct ir_expr *expr, void *telling_pointer)
{
    struct context *context = ((struct telling *)telling_pointer)->context;

    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE &&
        dtype_is_integer(expr->symbol->dtype))
        list_push(context->arena, &context->telling, expr->symbol);
    return true;
}

/* Below loads, there are indices. */
static bool visit_value(struct ir_expr *expr, void *telling)
{
    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            ir_expr_walk(expr->access.indices[k], visit_index, telling);
    return true;
}

/* What an assignment takes over from other scalars. */
static bool visit_assigned(struct ir_expr *expr, void *telling_pointer)
{
    struct telling *telling = telling_pointer;

    if (expr->kind == IR_SYMBOL)
        return expr->symbol == telling->stmt->symbol || visit_index(expr, telling);
    return visit_value(expr, telling);
}

static bool visit_statement(struct ir_stmt *stmt, void *telling_pointer)
{
    struct telling *telling = telling_pointer;

    telling->stmt = stmt;
    if (stmt->kind == IR_STORE) {
        for (int k = 0; k < stmt->access.buffer->rank; k++)
            ir_expr_walk(stmt->access.indices[k], visit_index, telling);
        ir_expr_walk(stmt->value, visit_value, telling);
    } else if (stmt->kind == IR_ASSIGN) {
        bool integer = dtype_is_integer(stmt->symbol->dtype);
        ir_expr_walk(stmt->value, integer ? visit_assigned : visit_value, telling);
    } else {
        ir_stmt_expressions(stmt, visit_index, telling);
    }
    return true;
}

static int compare_symbols(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (struct ir_symbol *const *)a, y = (uintptr_t) * (struct ir_symbol *const *)b;

    return (x > y) - (x < y);
}

void context_find_telling(struct context *context)
{
    struct telling telling = {.context = context};

    ir_block_walk(context->kernel->body, visit_statement, &telling);
    if (context->telling.count)
        qsort(context->telling.items, (size_t)context->telling.count, sizeof *context->telling.items,
              compare_symbols);
}

bool context_is_telling(const struct context *context, struct ir_symbol *symbol)
{
    return context->telling.count && bsearch(&symbol, context->telling.items, (size_t)context->telling.count,
                                             sizeof *context->telling.items, compare_symbols);
}

/* ---- a bound that is the same in all iterations --------------------------- */

bool context_join(struct context *context, enum context_side side, const struct linear *a,
                  const struct linear *b, struct linear *out)
{
    bool most = side == CONTEXT_MOST;

    if (prover_less(&context->prover, a, 0, b)) {
        *out = most ? *b : *a;
        return true;
    }
    if (prover_less(&context->prover, b, 0, a)) {
        *out = most ? *a : *b;
        return true;
    }
    return linear_combine(&context->space, most ? LINEAR_MAX : LINEAR_MIN, out, a, b);
}

/* The newest atom of the form that may change in the loop; -1: there is none. */
static int changing_atom(const struct context *context, const struct linear *form, int first_atom)
{
    int newest = -1;

    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &context->space.monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++)
            if (monomial->atoms[a] >= first_atom && monomial->atoms[a] > newest &&
                !linear_atom_at(&context->space, monomial->atoms[a])->parameter)
                newest = monomial->atoms[a];
    }
    return newest;
}

/* From the newest fact that compares it with what does not change. */
static bool bound_by_fact(struct context *context, int atom, enum context_side side, int first_atom,
                          struct linear *out)
{
    const struct prover *prover = &context->prover;
    struct linear self;

    linear_of_atom(&context->space, atom, &self);
    for (int k = prover->facts.count - 1, left = FACTS; k >= 0 && left > 0; k--, left--)
        if (linear_add(out, &prover->facts.items[k].form, side == CONTEXT_MOST ? 1 : -1, &self) &&
            changing_atom(context, out, first_atom) < 0)
            return side == CONTEXT_MOST || linear_scale(out, out, -1);
    return false;
}

static bool find_bound(struct context *context, const struct linear *form, enum context_side side,
                       int first_atom, int depth, struct linear *out);

/* The same of one side of a choice, by its condition. */
static bool bound_by_condition(struct context *context, const struct linear_atom *choice, int child,
                               enum context_side side, int first_atom, struct linear *out)
{
    int first = child == 0 ? 2 + choice->when[0] : 2;

    for (int k = 0; choice->kind == LINEAR_SELECT && k < choice->when[child == 0]; k++)
        if (linear_add(out, &choice->children[child], side == CONTEXT_MOST ? 1 : -1,
                       &choice->children[first + k]) &&
            changing_atom(context, out, first_atom) < 0)
            return true;
    return false;
}

static bool bound_choice(struct context *context, const struct linear_atom *choice, enum context_side side,
                         int first_atom, int depth, struct linear *out)
{
    struct linear ends[2];

    for (int child = 0; child < 2; child++)
        if (!bound_by_condition(context, choice, child, side, first_atom, &ends[child]) &&
            !find_bound(context, &choice->children[child], side, first_atom, depth + 1, &ends[child]))
            return false;
    return context_join(context, side, &ends[0], &ends[1], out);
}

static bool bound_atom(struct context *context, int number, enum context_side side, int first_atom, int depth,
                       struct linear *out)
{
    struct linear_atom atom = *linear_atom_at(&context->space, number);
    struct linear dividend;
    int64_t end = side == CONTEXT_MOST ? atom.high : atom.low;

    if (atom.kind == LINEAR_LOOP) {
        *out = atom.children[side];
        return true;
    }
    if (bound_by_fact(context, number, side, first_atom, out))
        return true;
    if (atom.kind == LINEAR_MIN || atom.kind == LINEAR_MAX || atom.kind == LINEAR_SELECT)
        return bound_choice(context, &atom, side, first_atom, depth, out);
    if (atom.kind == LINEAR_QUOTIENT && !atom.children[1].count && atom.children[1].constant > 0)
        return find_bound(context, &atom.children[0], side, first_atom, depth + 1, &dividend) &&
               linear_combine(&context->space, LINEAR_QUOTIENT, out, &dividend, &atom.children[1]);
    if (atom.kind == LINEAR_REMAINDER && side == CONTEXT_MOST && atom.children[1].count)
        return linear_shift(out, &atom.children[1], -1);
    linear_constant(out, end);
    return end != LINEAR_NO_LOW && end != LINEAR_NO_HIGH;
}

/* A guess: nothing relies on it before it was checked. */
static bool find_bound(struct context *context, const struct linear *form, enum context_side side,
                       int first_atom, int depth, struct linear *out)
{
    struct linear coefficient, rest, by;

    *out = *form;
    for (int step = 0; step < REPLACED && depth < NESTED; step++) {
        int atom = changing_atom(context, out, first_atom);
        if (atom < 0)
            return true;
        if (!linear_split(&context->space, out, atom, &coefficient, &rest) || coefficient.count)
            return false;
        enum context_side end = coefficient.constant > 0 ? side : (enum context_side) !side;
        if (!bound_atom(context, atom, end, first_atom, depth, &by) ||
            !linear_add(out, &rest, coefficient.constant, &by))
            return false;
    }
    return false;
}

/* ---- in a trial ------------------------------------------------------------ */

/* Whether the value lies on the right side of the bound. */
static bool stays(struct context *context, struct context_guess *guess, enum context_side side,
                  const struct linear *value)
{
    bool most = side == CONTEXT_MOST;
    bool proved = prover_less(&context->prover, most ? value : &guess->bound[side], 0,
                              most ? &guess->bound[side] : value);

    guess->assumed |= proved && context->prover.assumed;
    return proved;
}

/* Makes `seen` true where the value lies beyond the bound, and `wider` so wide that it does not. */
static void check_side(struct context *context, struct context_guess *guess, enum context_side side,
                       const struct linear *value, bool *seen)
{
    bool fits = linear_fits(&context->space, value), first = !*seen;
    struct linear wider;

    if (!guess->bounded[side] || (fits && stays(context, guess, side, value)))
        return;
    *seen = true;
    guess->widens[side] = (first || guess->widens[side]) && fits &&
                          find_bound(context, value, side, context->trial->first_atom, 0, &wider) &&
                          (first || context_join(context, side, &guess->wider[side], &wider, &wider));
    if (guess->widens[side])
        guess->wider[side] = wider;
}

void context_trial_assign(struct context *context, const struct ir_symbol *symbol, const struct linear *value)
{
    struct context_updates *updates = context->trial->updates;

    for (int k = 0; k < updates->items.count; k++) {
        const struct context_update *update = &updates->items.items[k];
        struct context_guess *guess = update->guess;
        for (int side = 0; update->symbol == symbol && guess && guess->ranges && side < 2; side++) {
            check_side(context, guess, side, value, &guess->leaves[side]);
            guess->fails[side] |= guess->leaves[side] && update->nested;
        }
    }
}

void context_trial_end(struct context *context)
{
    struct context_updates *updates = context->trial->updates;

    if (context->loops.count != context->trial->loops)
        return;
    for (int k = 0; k < updates->items.count; k++) {
        const struct context_update *update = &updates->items.items[k];
        struct context_guess *guess = update->guess;
        for (int side = 0; guess && guess->ranges && !update->nested && side < 2; side++)
            if (guess->leaves[side]) /* else it is what began the iteration, or was seen */
                check_side(context, guess, side, update->symbol->note, &guess->fails[side]);
    }
}

/* Scalars that the body declares are unknown again. */
static void forget(struct context *context, int bound)
{
    int kept = bound;

    for (int k = bound; k < context->bound.count; k++) {
        struct ir_symbol *symbol = context->bound.items[k];
        if (symbol->kind == IR_SYMBOL_VARIABLE)
            symbol->note = NULL;
        else
            context->bound.items[kept++] = symbol;
    }
    context->bound.count = kept;
}

/* Which of the sums grew by what does not change, where all of the body is executed in each iteration. */
static void find_steady(struct context *context, struct context_updates *updates)
{
    const struct context_loop *loop = &context->loops.items[context->loops.count - 1];

    for (int k = 0; k < updates->items.count && !loop->skipped; k++) {
        struct context_update *update = &updates->items.items[k];
        struct context_guess *guess = update->guess;
        if (guess && update->sums)
            guess->steady = linear_add(&guess->step, update->symbol->note, -1, &guess->head) &&
                            changing_atom(context, &guess->step, loop->first_atom) < 0;
    }
}

/* Without a trial nothing is assumed of the scalars, and sums are looked at. What got a name is forgotten,
 * for in loops inside it would be older than these, as if it were the same in all their iterations. */
static void try_body(struct context *context, struct context_updates *updates, struct context_trial *trial)
{
    struct context_loop saved = context->loops.items[context->loops.count - 1];
    struct context_trial *outer = context->trial;
    int facts = context->prover.facts.count, bound = context->bound.count, named = context->named.count;

    context->trial = trial;
    context->trials++;
    context_updates_enter(context, updates);
    for (int k = 0; k < updates->items.count; k++)
        if (updates->items.items[k].guess)
            updates->items.items[k].guess->head =
                *(const struct linear *)updates->items.items[k].symbol->note;
    context_walk_silently(context, saved.stmt);
    if (trial)
        context_trial_end(context);
    else
        find_steady(context, updates);
    for (int k = 0; k < updates->items.count; k++)
        context_bind(context, updates->items.items[k].symbol, &updates->items.items[k].before);
    forget(context, bound);
    context->named.count = named;
    context->loops.items[context->loops.count - 1] = saved;
    context->prover.facts.count = facts;
    context->trials--;
    context->trial = outer;
}

/* ---- ranges ------------------------------------------------------------------ */

/* 0, or where one of the scalars began, if the scalar itself began on the right side of it. */
static bool find_threshold(struct context *context, const struct context_updates *updates,
                           const struct context_update *update, enum context_side side, struct linear *out)
{
    for (int k = -1; k < updates->items.count; k++) {
        const struct linear *before = &update->before;
        if (k >= 0)
            *out = updates->items.items[k].before;
        else
            linear_constant(out, 0);
        if (linear_equal(out, before) || (k < 0 && side == CONTEXT_MOST))
            continue;
        if (prover_less(&context->prover, side == CONTEXT_MOST ? before : out, 0,
                        side == CONTEXT_MOST ? out : before))
            return true;
    }
    return false;
}

/* A range in which what was assigned may stay: the first time as wide as that needs, the second time one
 * that the program names. */
static void widen(struct context *context, const struct context_updates *updates,
                  const struct context_update *update, enum context_side side)
{
    struct context_guess *guess = update->guess;

    if (guess->failures[side]++ == 0 && guess->widens[side] &&
        context_join(context, side, &update->before, &guess->wider[side], &guess->bound[side])) {
        guess->assumed |= context->prover.assumed;
        return;
    }
    guess->failures[side]++;
    guess->bounded[side] =
        guess->failures[side] <= 3 && find_threshold(context, updates, update, side, &guess->bound[side]);
    guess->assumed |= context->prover.assumed;
}

/* Whether some range was left. */
static bool widen_all(struct context *context, const struct context_updates *updates)
{
    bool changed = false;

    for (int k = 0; k < updates->items.count; k++) {
        struct context_guess *guess = updates->items.items[k].guess;
        for (int side = 0; guess && guess->ranges && side < 2; side++) {
            if (guess->fails[side])
                widen(context, updates, &updates->items.items[k], side);
            changed |= guess->fails[side] || (guess->leaves[side] && guess->throughout);
            guess->throughout &= !guess->leaves[side] || guess->fails[side];
            guess->leaves[side] = guess->fails[side] = guess->widens[side] = false;
        }
        if (guess)
            guess->small = guess->bounded[0] && guess->bounded[1] &&
                           linear_is_small(&context->space, &updates->items.items[k].before) &&
                           linear_is_small(&context->space, &guess->bound[0]) &&
                           linear_is_small(&context->space, &guess->bound[1]);
    }
    return changed;
}

static void begin_ranges(struct context *context, struct context_updates *updates)
{
    for (int k = 0; k < updates->items.count; k++) {
        struct context_update *update = &updates->items.items[k];
        struct context_guess *guess = update->guess;
        if (!guess || !guess->ranges)
            continue;
        guess->bounded[0] = guess->bounded[1] = guess->throughout = true;
        guess->bound[0] = guess->bound[1] = update->before;
        list_push(context->arena, &context->ranges, update);
    }
    widen_all(context, updates);
}

static void find_ranges(struct context *context, struct context_updates *updates, struct context_trial *trial)
{
    bool changed = true, assumed = false;

    begin_ranges(context, updates);
    for (int round = 0; changed && round < ROUNDS; round++) {
        try_body(context, updates, trial);
        changed = widen_all(context, updates);
    }
    for (int k = 0; k < updates->items.count; k++)
        assumed |= updates->items.items[k].guess && updates->items.items[k].guess->assumed;
    for (int k = 0; k < updates->items.count; k++) {
        struct context_guess *guess = updates->items.items[k].guess;
        if (!guess || !guess->ranges)
            continue;
        guess->assumed = assumed;
        if (changed)
            guess->small = guess->bounded[0] = guess->bounded[1] = false;
    }
}

/* ---- a loop --------------------------------------------------------------- */

static bool has_range(const struct context *context, const struct ir_symbol *symbol)
{
    for (int k = 0; k < context->ranges.count; k++)
        if (context->ranges.items[k]->symbol == symbol && context->ranges.items[k]->guess->bounded[0] &&
            context->ranges.items[k]->guess->bounded[1])
            return true;
    return false;
}

/* How often a loop counts bounds what only counts. */
static bool is_counted(const struct context_update *update)
{
    return update->additive && (!update->nested || update->least == 0 || update->most == 0);
}

/* Which scalars are looked at, for what. Whether some are for what they grow by. */
static bool begin_guesses(struct context *context, struct context_updates *updates)
{
    const struct context_loop *loop = &context->loops.items[context->loops.count - 1];
    bool sums = false;

    for (int k = 0; k < updates->items.count; k++) {
        struct context_update *update = &updates->items.items[k];
        bool sum = update->sums && loop->atom >= 0 && !(update->additive && !update->nested);
        bool range = !is_counted(update) && !context->trials && !has_range(context, update->symbol);
        if (!(sum || range) || !context_is_telling(context, update->symbol))
            continue;
        update->guess = arena_new(context->arena, struct context_guess);
        update->guess->ranges = range;
        sums |= sum;
    }
    return sums;
}

void context_updates_guess(struct context *context, struct context_updates *updates)
{
    struct context_trial trial = {updates, context->loops.items[context->loops.count - 1].first_atom,
                                  context->loops.count};
    bool sealed = context->space.sealed, ranges = false;

    updates->ranges = context->ranges.count;
    if (!updates->items.count || context->trials >= DEPTH || context->tried > WORK)
        return;
    context->space.sealed = true;
    if (begin_guesses(context, updates))
        try_body(context, updates, NULL);
    for (int k = 0; k < updates->items.count; k++) {
        struct context_guess *guess = updates->items.items[k].guess;
        if (guess)
            guess->ranges &= !guess->steady;
        ranges |= guess && guess->ranges;
    }
    if (ranges)
        find_ranges(context, updates, &trial);
    context->space.sealed = sealed;
}

/*
 * context_scalar.c: the values of scalars that are assigned more than once.
 *
 * A scalar stands for a linear form that changes at each assignment. At the head of a loop it becomes a
 * new atom; when the loop only adds constants to it, the atom is bounded by the number of iterations, or is a
 * linear function of it (so that a running index is as good as a loop variable, and a filling index never
 * passes it).
 */
#include "context_private.h"

/* Larger constants could wrap a counter within a feasible number of iterations. */
static const int64_t largest_addition = INT64_C(1) << 20;

static struct context_update *find_update(struct context_updates *updates, const struct ir_symbol *symbol)
{
    for (int k = 0; k < updates->items.count; k++)
        if (updates->items.items[k].symbol == symbol)
            return &updates->items.items[k];
    return NULL;
}

/* symbol = symbol + constant, in int64 */
static bool is_addition(const struct ir_stmt *stmt, int64_t *constant)
{
    const struct ir_expr *value = stmt->value;

    if (value->kind != IR_OPERATION || value->dtype != AKG_INT64 ||
        (value->operation != OP_ADD && value->operation != OP_SUB))
        return false;
    const struct ir_expr *a = value->operands[0], *b = value->operands[1];
    if (value->operation == OP_ADD && a->kind == IR_INTEGER) {
        const struct ir_expr *first = a;
        a = b;
        b = first;
    }
    if (a->kind != IR_SYMBOL || a->symbol != stmt->symbol || b->kind != IR_INTEGER ||
        b->integer > largest_addition || b->integer < -largest_addition)
        return false;
    *constant = value->operation == OP_ADD ? b->integer : -b->integer;
    return true;
}

/* symbol = symbol + anything, in int64 */
static bool is_sum(const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;

    if (value->kind != IR_OPERATION || value->dtype != AKG_INT64 ||
        (value->operation != OP_ADD && value->operation != OP_SUB))
        return false;
    for (int k = 0; k < (value->operation == OP_ADD ? 2 : 1); k++)
        if (value->operands[k]->kind == IR_SYMBOL && value->operands[k]->symbol == stmt->symbol)
            return true;
    return false;
}

static void note_assignment(struct context *context, struct ir_stmt *stmt, struct context_updates *updates,
                            bool nested, bool conditional)
{
    struct context_update *update = find_update(updates, stmt->symbol);
    int64_t constant = 0;

    if (!stmt->symbol->note) /* declared inside */
        return;
    if (!update) {
        struct context_update fresh = {.symbol = stmt->symbol,
                                       .before = *(const struct linear *)stmt->symbol->note,
                                       .additive = true,
                                       .sums = true};
        list_push(context->arena, &updates->items, fresh);
        update = &updates->items.items[updates->items.count - 1];
    }
    update->additive &= is_addition(stmt, &constant);
    update->sums &= is_sum(stmt);
    *(constant < 0 ? &update->least : &update->most) += constant;
    update->nested |= nested;
    update->conditional |= conditional;
}

static bool find_in(struct context *context, struct ir_stmt *block, struct context_updates *updates,
                    bool nested, bool conditional)
{
    bool jumps = false;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        bool loop = stmt->kind == IR_FOR || stmt->kind == IR_WHILE;
        if (stmt->kind == IR_ASSIGN && dtype_is_integer(stmt->symbol->dtype))
            note_assignment(context, stmt, updates, nested, conditional || jumps);
        jumps |= stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE;
        if (stmt->body)
            jumps |= find_in(context, stmt->body, updates, nested || loop, true) && !loop;
        if (stmt->otherwise)
            jumps |= find_in(context, stmt->otherwise, updates, nested, true);
    }
    return jumps;
}

void context_updates_find(struct context *context, struct ir_stmt *block, struct context_updates *updates)
{
    if (context->assigns)
        find_in(context, block, updates, false, false);
}

/* Adds the fact a + factor * count <= b, or its reverse. */
static void bound_by_count(struct context *context, const struct linear *before, int64_t factor,
                           const struct linear *count, const struct linear *value, bool above)
{
    struct linear form;

    if (linear_add(&form, before, factor, count) && linear_add(&form, &form, -1, value) &&
        (above || linear_scale(&form, &form, -1)))
        prover_add(&context->prover, &form, false);
}

/* From here on the symbol stands for a value of which facts are to be added; `small`: as in linear_atom. */
static void value_between(struct context *context, struct ir_symbol *symbol, bool small)
{
    struct linear value;

    context_opaque(context, symbol->dtype, &value);
    linear_atom_at(&context->space, context->space.atoms.count - 1)->small = small;
    context_bind(context, symbol, &value);
}

/* What follows for a scalar that only counts, from how often it can have done so. */
static void bound_counter(struct context *context, const struct context_update *update,
                          const struct linear *count)
{
    const struct linear *value = update->symbol->note;
    struct linear zero;

    linear_constant(&zero, 0);
    if (update->most == 0 || count)
        bound_by_count(context, &update->before, update->most, count ? count : &zero, value, true);
    if (update->least == 0 || count)
        bound_by_count(context, &update->before, update->least, count ? count : &zero, value, false);
    if (count && update->least == 0)
        bound_by_count(context, &update->before, 0, &zero, value, false);
    if (count && update->most == 0)
        bound_by_count(context, &update->before, 0, &zero, value, true);
}

/* The scalar after so many iterations, in each of which the same was added. */
static bool has_sum(struct context *context, const struct context_update *update, const struct linear *count,
                    struct linear *out)
{
    if (update->additive && !update->nested && !update->conditional)
        return linear_add(out, &update->before, update->least + update->most, count);
    return update->guess && update->guess->steady &&
           linear_multiply(&context->space, out, &update->guess->step, count) &&
           linear_add(out, &update->before, 1, out);
}

/* The scalar after `count` (or an unknown number of) iterations. */
static void advance(struct context *context, struct context_update *update, const struct linear *count)
{
    struct linear value;

    if (count && has_sum(context, update, count, &value)) {
        context_bind(context, update->symbol, &value);
        return;
    }
    bool counts = update->additive && context_is_telling(context, update->symbol) &&
                  linear_is_small(&context->space, &update->before);
    value_between(context, update->symbol, counts || (update->guess && update->guess->small));
    if (counts)
        bound_counter(context, update, update->nested ? NULL : count);
    context_updates_assume(context, update->symbol, false);
}

static void assume_bounds(struct context *context, const struct context_guess *guess,
                          const struct linear *value)
{
    struct linear form;

    if (guess->bounded[CONTEXT_LEAST] && linear_add(&form, value, -1, &guess->bound[CONTEXT_LEAST]))
        prover_add(&context->prover, &form, guess->assumed);
    if (guess->bounded[CONTEXT_MOST] && linear_add(&form, &guess->bound[CONTEXT_MOST], -1, value))
        prover_add(&context->prover, &form, guess->assumed);
}

void context_updates_assume(struct context *context, struct ir_symbol *symbol, bool within)
{
    for (int k = 0; k < context->ranges.count; k++) {
        const struct context_guess *guess = context->ranges.items[k]->guess;
        if (context->ranges.items[k]->symbol == symbol && (guess->throughout || !within))
            assume_bounds(context, guess, symbol->note);
    }
}

/* Behind the loop, which may not have been entered. */
static void assume_left(struct context *context, struct context_update *update)
{
    struct context_guess *guess = update->guess;

    for (int side = 0; side < 2; side++) {
        guess->bounded[side] = guess->bounded[side] && context_join(context, side, &guess->bound[side],
                                                                    &update->before, &guess->bound[side]);
        guess->assumed |= guess->bounded[side] && context->prover.assumed;
    }
    assume_bounds(context, guess, update->symbol->note);
}

void context_updates_enter(struct context *context, struct context_updates *updates)
{
    const struct context_loop loop = context->loops.items[context->loops.count - 1];
    struct linear count;
    bool counted = loop.atom >= 0;

    if (counted) {
        linear_of_atom(&context->space, loop.atom, &count);
        counted = loop.stmt->step > 0 ? linear_add(&count, &count, -1, &loop.first)
                                      : loop.stmt->step == -1 && linear_scale(&count, &count, -1) &&
                                            linear_add(&count, &count, 1, &loop.last);
    }
    for (int k = 0; k < updates->items.count; k++)
        advance(context, &updates->items.items[k], counted ? &count : NULL);
}

void context_updates_leave(struct context *context, struct context_updates *updates,
                           const struct context_loop *loop)
{
    struct linear count;
    bool counted = updates->items.count && loop->atom >= 0 && !loop->leaves &&
                   linear_add(&count, &loop->last, -1, &loop->first) && linear_shift(&count, &count, 1) &&
                   prover_prove(&context->prover, &count);

    context->ranges.count = updates->ranges;
    for (int k = 0; k < updates->items.count; k++) {
        advance(context, &updates->items.items[k], counted ? &count : NULL);
        if (updates->items.items[k].guess)
            assume_left(context, &updates->items.items[k]);
    }
}

void context_updates_when(struct context *context, struct context_updates *updates, bool truth)
{
    const struct context_condition *condition = &context->conditions.items[context->conditions.count - 1];

    if (!updates->items.count)
        return;
    if (!updates->when)
        updates->when = arena_new(context->arena, struct context_when);
    int count = condition->fact_count < CONTEXT_WHEN ? condition->fact_count : CONTEXT_WHEN;
    for (int k = 0; k < count; k++)
        updates->when->facts[truth][k] = context->prover.facts.items[condition->first_fact + k].form;
    updates->when->count[truth] = count;
}

void context_updates_swap(struct context *context, struct context_updates *updates)
{
    for (int k = 0; k < updates->items.count; k++) {
        struct context_update *update = &updates->items.items[k];
        update->then = *(const struct linear *)update->symbol->note;
        context_bind(context, update->symbol, &update->before);
    }
}

void context_updates_rewind(struct context *context, const struct context_updates *updates)
{
    for (int k = 0; k < updates->items.count; k++)
        context_bind(context, updates->items.items[k].symbol, &updates->items.items[k].before);
}

/* The scalar's value after both sides. */
static void join(struct context *context, const struct context_update *update, const struct linear *otherwise,
                 const struct context_when *when)
{
    const struct linear *then = &update->then;
    struct linear value, difference, zero;
    bool fit = linear_fits(&context->space, then) && linear_fits(&context->space, otherwise);
    bool near = fit && linear_add(&difference, then, -1, otherwise) && !difference.count;
    bool tells = when->count[0] || when->count[1];

    linear_constant(&zero, 0);
    if (fit && (tells || !near) && context_choose(context, then, otherwise, when, &value))
        context_bind(context, update->symbol, &value);
    else
        value_between(context, update->symbol,
                      near && linear_is_small(&context->space, then) &&
                          linear_is_small(&context->space, otherwise));
    context_updates_assume(context, update->symbol, true);
    if (!near)
        return;
    value = *(const struct linear *)update->symbol->note;
    bound_by_count(context, difference.constant > 0 ? then : otherwise, 0, &zero, &value, true);
    bound_by_count(context, difference.constant > 0 ? otherwise : then, 0, &zero, &value, false);
}

void context_updates_join(struct context *context, struct context_updates *updates, bool then_leaves,
                          bool otherwise_leaves)
{
    for (int k = 0; k < updates->items.count; k++) {
        struct context_update *update = &updates->items.items[k];
        struct linear otherwise = *(const struct linear *)update->symbol->note;

        if (otherwise_leaves || linear_equal(&otherwise, &update->then))
            context_bind(context, update->symbol, &update->then);
        else if (!then_leaves)
            join(context, update, &otherwise, updates->when);
    }
}

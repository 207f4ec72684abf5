/*
 * bounds_extreme.c: the largest value of an index in a whole call, as an expression over dims and attributes,
 * and when it is taken.
 *
 * Consumes what bounds_domain.c says of the calls in which an index is outside: a conjunction of guards (the
 * access is executed at all) and of goals (it is outside). Simplifies both by what is known of every call,
 * and writes them as expressions.
 */
#include "bounds.h"

#include <string.h>

/* ---- guards that say nothing --------------------------------------------- */

/* Without the guard the form could only be <= 0 anyway: K <= K_1 needs no K > 0. */
static bool is_idle(struct context *context, const struct bounds_extreme *extreme, int guard)
{
    struct prover *prover = &context->prover;
    struct linear form;
    int facts = prover->facts.count;
    bool idle;

    if (!linear_scale(&form, &extreme->guards[guard], -1) || !linear_shift(&form, &form, -1))
        return false;
    prover->first_fact = facts;
    prover_add(prover, &form, false);
    idle = linear_scale(&form, &extreme->form, -1) && prover_prove(prover, &form) && !prover->assumed;
    prover->first_fact = 0;
    prover->facts.count = facts;
    return idle;
}

/* The other guards say it too. */
static bool is_implied(struct context *context, const struct bounds_extreme *extreme, int guard)
{
    struct prover *prover = &context->prover;
    int facts = prover->facts.count;

    if (extreme->guard_count < 2)
        return false;
    prover->first_fact = facts;
    for (int k = 0; k < extreme->guard_count; k++)
        if (k != guard)
            prover_add(prover, &extreme->guards[k], false);
    bool implied = prover_prove(prover, &extreme->guards[guard]) && !prover->assumed;
    prover->first_fact = 0;
    prover->facts.count = facts;
    return implied;
}

/* What is already known of the call rules it out. */
static bool is_harmless(struct context *context, const struct bounds_extreme *extreme)
{
    struct prover *prover = &context->prover;
    struct linear form;
    int facts = prover->facts.count;
    bool harmless;

    prover->first_fact = facts; /* the facts of this place may not hold at the start of the call */
    for (int k = 0; k < extreme->guard_count; k++)
        prover_add(prover, &extreme->guards[k], false);
    harmless = linear_scale(&form, &extreme->form, -1) && prover_prove(prover, &form);
    prover->first_fact = 0;
    prover->facts.count = facts;
    return harmless;
}

/* A division by an attribute may be what a guard protects. */
static void drop_idle_guards(struct context *context, struct bounds_extreme *extreme)
{
    if (linear_divides(&context->space, &extreme->form))
        return;
    for (int k = 0; k < extreme->guard_count; k++)
        if (linear_divides(&context->space, &extreme->guards[k]))
            return;
    for (int k = extreme->guard_count - 1; k >= 0; k--)
        if (is_implied(context, extreme, k) || is_idle(context, extreme, k)) {
            extreme->guard_count--;
            for (int later = k; later < extreme->guard_count; later++)
                extreme->guards[later] = extreme->guards[later + 1];
        }
}

/* A min or max that is always the same one of its operands. */
static bool replace_choice(void *context_pointer, int atom, struct linear *out)
{
    struct context *context = context_pointer;
    struct linear_atom choice = *linear_atom_at(&context->space, atom);

    if (choice.kind != LINEAR_MIN && choice.kind != LINEAR_MAX)
        return false;
    for (int side = 0; side < 2; side++) {
        const struct linear *taken = &choice.children[side], *other = &choice.children[1 - side];
        bool least = choice.kind == LINEAR_MIN;
        if (prover_less(&context->prover, least ? taken : other, 0, least ? other : taken) &&
            !context->prover.assumed) {
            *out = *taken;
            return true;
        }
    }
    return false;
}

static void simplify(struct context *context, struct bounds_extreme *extreme)
{
    struct prover *prover = &context->prover;
    struct linear form;
    int facts = prover->facts.count;

    prover->first_fact = facts;
    for (int k = 0; k < extreme->guard_count; k++)
        prover_add(prover, &extreme->guards[k], false);
    if (linear_map(&context->space, &extreme->form, replace_choice, context, &form))
        extreme->form = form;
    prover->first_fact = 0;
    prover->facts.count = facts;
}

/* ---- from domains to extremes --------------------------------------------- */

/* The index is outside when all goals are met, so the least of them counts. It is taken of what is compared
 * with the extent, or with 0. */
static bool merge_goal(struct context *context, const struct bounds_request *request,
                       struct bounds_extreme *extreme, const struct linear *goal, bool first)
{
    struct linear form, so_far, zero;
    const struct linear *origin = request->upper ? request->extent : &zero;

    linear_constant(&zero, 0);
    if (!linear_shift(&form, goal, 1))
        return false;
    if (!first && (!linear_add(&form, &form, 1, origin) || !linear_add(&so_far, &extreme->form, 1, origin) ||
                   !linear_combine(&context->space, LINEAR_MIN, &form, &so_far, &form) ||
                   !linear_add(&form, &form, -1, origin)))
        return false;
    extreme->form = form;
    return true;
}

static bool find_extreme(struct context *context, const struct bounds_request *request,
                         const struct bounds_domain *domain, struct bounds_extreme *extreme)
{
    struct linear negated;
    bool first = true;

    for (int k = 0; k < domain->count; k++) {
        const struct bounds_constraint *constraint = &domain->items[k];
        if (!linear_is_parameter(&context->space, &constraint->form))
            return false;
        if (constraint->goal) {
            if (!merge_goal(context, request, extreme, &constraint->form, first))
                return false;
            first = false;
        } else if (extreme->guard_count == BOUNDS_GUARDS) {
            return false;
        } else {
            extreme->guards[extreme->guard_count++] = constraint->form;
        }
    }
    if (first) { /* the goal holds whatever the call */
        linear_constant(&extreme->form, domain->has_held ? domain->held : 0);
        if (!linear_shift(&extreme->form, &extreme->form, 1))
            return false;
    } else if (domain->has_held) {
        extreme->is_capped = true;
        if (__builtin_add_overflow(domain->held, 1, &extreme->cap))
            return false;
    }
    return linear_scale(&negated, &extreme->form, -1);
}

bool bounds_find_extremes(struct context *context, const struct bounds_request *request,
                          struct bounds_extreme *extremes, int *count)
{
    struct bounds_projection all;
    struct linear goal;

    *count = 0;
    if (!linear_shift(&goal, &request->form, -1) || !bounds_project(context, &goal, &all))
        return false;
    for (int k = 0; k < all.count; k++) {
        struct bounds_extreme extreme = {.upper = request->upper,
                                         .condition_count = all.condition_count,
                                         .guards_are_all = !all.condition_count,
                                         .assumes = all.domains[k].assumes};
        if (all.domains[k].empty)
            continue;
        memcpy(extreme.conditions, all.conditions, sizeof extreme.conditions);
        if (!find_extreme(context, request, &all.domains[k], &extreme))
            return false;
        if (is_harmless(context, &extreme))
            continue;
        simplify(context, &extreme);
        drop_idle_guards(context, &extreme);
        extremes[(*count)++] = extreme;
    }
    return true;
}

/* ---- as expressions ------------------------------------------------------ */

/* smaller <= larger where larger - smaller = form, with every term on the side where it is positive */
static struct ir_expr *express_order(struct context *context, const struct linear *form)
{
    struct linear larger, smaller;
    struct ir_kernel *kernel = context->kernel;

    if (!linear_sides(form, &larger, &smaller))
        return ir_operation(kernel, OP_LE, ir_integer(kernel, AKG_INT64, 0),
                            linear_expr(kernel, &context->space, form), NULL);
    return ir_operation(kernel, OP_LE, linear_expr(kernel, &context->space, &smaller),
                        linear_expr(kernel, &context->space, &larger), NULL);
}

/* N >= 1 reads best as 0 < N */
static struct ir_expr *express_guard(struct context *context, const struct linear *guard)
{
    struct linear larger, smaller, shifted;
    struct ir_kernel *kernel = context->kernel;

    if (guard->constant >= 0 || !linear_shift(&shifted, guard, 1) ||
        !linear_sides(&shifted, &larger, &smaller))
        return express_order(context, guard);
    return ir_operation(kernel, OP_LT, linear_expr(kernel, &context->space, &smaller),
                        linear_expr(kernel, &context->space, &larger), NULL);
}

static struct ir_expr *both(struct ir_kernel *kernel, struct ir_expr *a, struct ir_expr *b)
{
    return a ? ir_operation(kernel, OP_AND, a, b, NULL) : b;
}

/* The index that is taken when the extreme is `form`. */
static struct ir_expr *express_taken(struct context *context, const struct bounds_extreme *extreme,
                                     const struct linear *form, const struct linear *extent)
{
    struct linear index;

    if (extreme->upper ? !linear_add(&index, form, 1, extent) || !linear_shift(&index, &index, -1)
                       : !linear_scale(&index, form, -1))
        index = *form;
    return linear_expr(context->kernel, &context->space, &index);
}

static struct ir_expr *express_index(struct context *context, const struct bounds_extreme *extreme,
                                     const struct linear *extent)
{
    struct ir_expr *index = express_taken(context, extreme, &extreme->form, extent);
    struct linear cap;

    if (!extreme->is_capped)
        return index;
    linear_constant(&cap, extreme->cap);
    return ir_operation(context->kernel, extreme->upper ? OP_MIN : OP_MAX, index,
                        express_taken(context, extreme, &cap, extent), NULL);
}

void bounds_express(struct context *context, const struct bounds_extreme *extreme,
                    struct ir_precondition *precondition)
{
    struct linear extent, demanded;

    for (int k = 0; k < extreme->condition_count; k++)
        precondition->guard = both(context->kernel, precondition->guard,
                                   context_parameter_expr(context, extreme->conditions[k]));
    for (int k = extreme->guard_count - 1; k >= 0;
         k--) /* outermost first: it may protect a division further in */
        precondition->guard =
            both(context->kernel, precondition->guard, express_guard(context, &extreme->guards[k]));
    linear_scale(&demanded, &extreme->form, -1);
    precondition->condition = express_order(context, &demanded);
    context_form(context, precondition->extent, &extent);
    precondition->index = express_index(context, extreme, &extent);
}

/*
 * bounds_domain.c: for which dims and attributes an index leaves its tensor, by projection.
 *
 * The iterations in which an access is executed, and in which its index is outside, are the integer points of
 * a set of constraints: the ranges of the loops, the conditions around, and the goal "outside by this side".
 * The loops are left one by one, innermost first: a constraint that grows with the loop's atom and one that
 * falls have a common point exactly when the one holds at the bound that the other sets. That is exact over
 * the integers as long as one of the two is a bound: c * atom + rest >= 0 with a constant c, rest free of the
 * atom. Where neither is, or it is not known whether a constraint grows, nothing is said.
 */
#include "bounds.h"

/* ---- directions ---------------------------------------------------------- */

enum direction { CONSTANT = 0, RISING = 1, FALLING = 2, UNKNOWN = 3 }; /* bits */

static enum direction turned(enum direction direction, int sign)
{
    if (direction == CONSTANT || direction == UNKNOWN || sign > 0)
        return direction;
    if (sign == 0)
        return UNKNOWN;
    return direction == RISING ? FALLING : RISING;
}

static enum direction form_direction(struct context *context, const struct linear *form, int atom);

static enum direction atom_direction(struct context *context, int number, int wanted)
{
    struct linear_atom atom = *linear_atom_at(&context->space, number);
    enum direction direction = CONSTANT;

    if (atom.kind == LINEAR_MIN || atom.kind == LINEAR_MAX)
        return form_direction(context, &atom.children[0], wanted) |
               form_direction(context, &atom.children[1], wanted);
    if (atom.kind == LINEAR_QUOTIENT && !linear_mentions(&context->space, &atom.children[1], wanted))
        return turned(form_direction(context, &atom.children[0], wanted),
                      prover_sign(&context->prover, &atom.children[1]));
    for (int c = 0; atom.kind != LINEAR_LOOP && c < atom.child_count; c++)
        if (linear_mentions(&context->space, &atom.children[c], wanted))
            direction = UNKNOWN;
    return direction;
}

/* The part of the form in which the atom is hidden inside other atoms. */
static enum direction hidden_direction(struct context *context, const struct linear *form, int atom)
{
    enum direction direction = CONSTANT;

    for (int k = 0; k < form->count; k++) {
        struct linear_term term = form->terms[k];
        struct linear_monomial monomial = context->space.monomials.items[term.monomial];
        for (int a = 0; a < monomial.degree; a++) {
            struct linear others = {1, 0, {term}};
            if (monomial.atoms[a] == atom)
                continue;
            enum direction inner = atom_direction(context, monomial.atoms[a], atom);
            if (inner == CONSTANT)
                continue;
            others.terms[0].monomial =
                linear_monomial_without(&context->space, term.monomial, monomial.atoms[a]);
            if (others.terms[0].monomial < 0)
                linear_constant(&others, term.coefficient);
            if (linear_mentions(&context->space, &others, atom))
                return UNKNOWN;
            direction |= turned(inner, prover_sign(&context->prover, &others));
        }
    }
    return direction;
}

/* Splits into coefficient * atom + rest where the atom may still hide in the rest; false when it is not
 * linear. */
static bool split_visible(struct context *context, const struct linear *form, int atom,
                          struct linear *coefficient)
{
    linear_constant(coefficient, 0);
    for (int k = 0; k < form->count; k++) {
        struct linear term = {1, 0, {form->terms[k]}};
        int monomial = linear_monomial_without(&context->space, form->terms[k].monomial, atom);
        if (monomial == -1)
            continue;
        if (monomial == -2)
            linear_constant(&term, form->terms[k].coefficient);
        else
            term.terms[0].monomial = monomial;
        if (!linear_add(coefficient, coefficient, 1, &term))
            return false;
    }
    return !linear_mentions(&context->space, coefficient, atom);
}

static enum direction form_direction(struct context *context, const struct linear *form, int atom)
{
    struct linear coefficient;
    enum direction direction = hidden_direction(context, form, atom);

    if (direction == UNKNOWN || !split_visible(context, form, atom, &coefficient))
        return UNKNOWN;
    if (coefficient.count || coefficient.constant)
        direction |= turned(RISING, prover_sign(&context->prover, &coefficient));
    return direction;
}

/* ---- replacing ----------------------------------------------------------- */

static bool substitute(struct context *context, struct linear *form, int atom, const struct linear *by)
{
    return linear_substitute(&context->space, form, atom, by, form);
}

/* ---- constraints --------------------------------------------------------- */

/* 2 * w >= 1 says that w >= 1. */
static void tighten(struct linear *form)
{
    int64_t common = 0;

    for (int k = 0; k < form->count && common != 1; k++) {
        int64_t rest = form->terms[k].coefficient;
        if (rest == INT64_MIN)
            return;
        for (rest = rest < 0 ? -rest : rest; rest;) {
            int64_t next = common % rest;
            common = rest;
            rest = next;
        }
    }
    for (int k = 0; k < form->count && common > 1; k++)
        form->terms[k].coefficient /= common;
    if (common > 1)
        form->constant = form->constant / common - (form->constant % common < 0);
}

static bool keep(struct bounds_domain *domain, const struct bounds_constraint *constraint)
{
    struct bounds_constraint added = *constraint;
    struct linear difference;

    if (!added.form.count) {
        domain->empty |= added.form.constant < 0;
        if (added.goal && (!domain->has_held || added.form.constant < domain->held))
            domain->held = added.form.constant;
        domain->has_held |= added.goal;
        return true;
    }
    if (!added.goal) /* a goal is an index, to be shown */
        tighten(&added.form);
    for (int k = 0; k < domain->count; k++) {
        struct bounds_constraint *old = &domain->items[k];
        if (old->goal != added.goal || old->form.count != added.form.count ||
            !linear_add(&difference, &added.form, -1, &old->form) || difference.count)
            continue;
        if (difference.constant < 0)
            *old = added;
        return true;
    }
    if (domain->count == BOUNDS_CONSTRAINTS)
        return false;
    domain->items[domain->count++] = added;
    return true;
}

/* The first term with a min that is added, or a max that is taken off; the other way round where `either`. */
static int find_choice(const struct context *context, const struct linear *form, bool either)
{
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &context->space.monomials.items[form->terms[k].monomial];
        const struct linear_atom *atom = linear_atom_at(&context->space, monomial->atoms[0]);
        if (monomial->degree == 1 && !atom->parameter &&
            atom->kind == ((form->terms[k].coefficient > 0) != either ? LINEAR_MIN : LINEAR_MAX))
            return k;
    }
    return -1;
}

/* The form with one of the operands in the place of a term that is a min or max. */
static bool choose(const struct context *context, const struct linear *form, int term, int side,
                   struct linear *out)
{
    struct linear alone = {1, 0, {form->terms[term]}};
    int number = context->space.monomials.items[alone.terms[0].monomial].atoms[0];

    return linear_add(out, form, -1, &alone) &&
           linear_add(out, out, alone.terms[0].coefficient,
                      &linear_atom_at(&context->space, number)->children[side]);
}

/* A sum with a min is not negative when it is so with both its operands; the same of what a max is taken
 * from. */
static bool keep_split(struct context *context, struct bounds_domain *domain,
                       const struct bounds_constraint *constraint, int depth)
{
    int term = depth < LINEAR_NESTING ? find_choice(context, &constraint->form, false) : -1;

    if (term < 0)
        return keep(domain, constraint);
    for (int side = 0; side < 2; side++) {
        struct bounds_constraint part = *constraint;
        if (!choose(context, &constraint->form, term, side, &part.form) ||
            !keep_split(context, domain, &part, depth + 1))
            return false;
    }
    return true;
}

/* What a min is taken from is not negative when it is so with one of its operands: which is the other one
 * where that cannot be. min(max(k, 0), N - 1) is negative only by N - 1. */
static void take_possible(struct context *context, struct linear *goal)
{
    for (int depth = 0; depth < LINEAR_NESTING; depth++) {
        struct linear sides[2], below;
        int term = find_choice(context, goal, true), possible = -1;
        if (term < 0 || !choose(context, goal, term, 0, &sides[0]) ||
            !choose(context, goal, term, 1, &sides[1]))
            return;
        for (int side = 0; side < 2 && possible < 0; side++)
            if (linear_scale(&below, &sides[side], -1) && linear_shift(&below, &below, -1) &&
                prover_prove(&context->prover, &below) && !context->prover.assumed)
                possible = !side;
        if (possible < 0)
            return;
        *goal = sides[possible];
    }
}

/* What holds whenever the loop is reached is left out: what is around it is kept. */
static bool keep_derived(struct context *context, const struct context_loop *loop,
                         struct bounds_domain *domain, const struct bounds_constraint *constraint)
{
    int facts = context->prover.facts.count;

    if (constraint->goal) /* i + 2 - max(0, i - 2) >= M is met with both operands */
        return keep_split(context, domain, constraint, 0);
    context->prover.facts.count = loop->facts;
    bool holds = prover_prove(&context->prover, &constraint->form) && !context->prover.assumed;
    context->prover.facts.count = facts;
    return holds || keep_split(context, domain, constraint, 0);
}

/* ---- leaving a loop ------------------------------------------------------ */

/* A constraint that mentions the loop's atom. */
struct side {
    const struct bounds_constraint *constraint;
    enum direction direction;
    int64_t coefficient; /* of the atom; 0: not a bound */
    struct linear rest;
};

static void classify(struct context *context, const struct bounds_constraint *constraint, int atom,
                     struct side *side)
{
    struct linear coefficient;

    *side = (struct side){.constraint = constraint};
    if (linear_split(&context->space, &constraint->form, atom, &coefficient, &side->rest) &&
        !coefficient.count && coefficient.constant != INT64_MIN) {
        side->coefficient = coefficient.constant;
        side->direction = coefficient.constant > 0 ? RISING : FALLING;
    } else {
        side->direction = form_direction(context, &constraint->form, atom);
    }
}

/* The last value that a falling side allows, or the first of a rising one. */
static bool side_bound(struct context *context, const struct side *side, struct linear *bound)
{
    struct linear divisor;
    bool rising = side->coefficient > 0;

    linear_constant(&divisor, rising ? side->coefficient : -side->coefficient);
    if (!side->coefficient || (divisor.constant != 1 && !linear_fits(&context->space, &side->rest)) ||
        !linear_combine(&context->space, LINEAR_QUOTIENT, bound, &side->rest, &divisor))
        return false;
    return !rising || linear_scale(bound, bound, -1);
}

/* Whether the second is the better one to set the bound: goals never do, and a unit coefficient needs no
 * division. */
static bool bounds_better(const struct side *a, const struct side *b)
{
    if (!b->coefficient || b->constraint->goal)
        return false;
    return !a->coefficient || a->constraint->goal || (a->coefficient != -1 && b->coefficient == 1);
}

static bool combine(struct context *context, const struct context_loop *loop, const struct side *rising,
                    const struct side *falling, struct bounds_domain *out)
{
    struct bounds_constraint derived = {.goal = rising->constraint->goal || falling->constraint->goal};
    bool down = loop->stmt->step < 0;
    struct linear bound;

    if (rising->constraint->goal && falling->constraint->goal)
        return false;
    if (rising->constraint->own && falling->constraint->own) {
        if (!linear_add(&derived.form, down ? &loop->low : &loop->high, -1,
                        down ? &loop->high : &loop->low) ||
            !linear_shift(&derived.form, &derived.form, -1))
            return false;
        return keep_derived(context, loop, out, &derived);
    }
    const struct side *by = bounds_better(falling, rising) ? rising : falling,
                      *in = by == falling ? rising : falling;
    if (by->constraint->goal || !side_bound(context, by, &bound))
        return false;
    derived.form = in->constraint->form;
    return substitute(context, &derived.form, loop->atom, &bound) &&
           keep_derived(context, loop, out, &derived);
}

/* One goal that implies another is enough. */
static void drop_weaker_goals(struct context *context, struct bounds_domain *domain, int from)
{
    for (int k = domain->count - 1; k >= from; k--) {
        bool weaker = false;
        for (int other = 0; other < domain->count && domain->items[k].goal && !weaker; other++)
            weaker = other != k && domain->items[other].goal &&
                     prover_less(&context->prover, &domain->items[other].form, 0, &domain->items[k].form);
        if (!weaker)
            continue;
        domain->assumes |= context->prover.assumed;
        domain->items[k] = domain->items[--domain->count];
    }
}

static bool eliminate(struct context *context, const struct context_loop *loop, struct bounds_domain *domain,
                      enum direction unknown)
{
    struct side sides[BOUNDS_CONSTRAINTS];
    struct bounds_domain out = *domain;
    int count = 0;

    out.count = 0;
    for (int k = 0; k < domain->count; k++) {
        const struct bounds_constraint *constraint = &domain->items[k];
        if (!linear_mentions(&context->space, &constraint->form, loop->atom)) {
            out.items[out.count++] = *constraint;
            continue;
        }
        struct side *side = &sides[count++];
        classify(context, constraint, loop->atom, side);
        if (side->direction == UNKNOWN && constraint->goal)
            side->direction = unknown;
        if (side->direction == UNKNOWN)
            return false;
    }
    int goals = 0, kept = out.count;
    for (int r = 0; r < count; r++)
        for (int f = 0; f < count; f++) {
            if (sides[r].direction == FALLING || sides[f].direction != FALLING)
                continue;
            goals += sides[r].constraint->goal || sides[f].constraint->goal;
            if (!combine(context, loop, &sides[r], &sides[f], &out))
                return false;
        }
    if (goals > 1)
        drop_weaker_goals(context, &out, kept);
    *domain = out;
    return true;
}

/* A goal whose coefficient of the atom, over dims and attributes, has an unknown sign is met somewhere
 * exactly when it is met at one of the ends. */
static bool needs_both_ends(struct context *context, const struct bounds_domain *domain, int atom)
{
    struct linear coefficient;
    struct side side;
    int goals = 0;
    bool unknown = false, able = false;

    for (int k = 0; k < domain->count; k++) {
        const struct linear *form = &domain->items[k].form;
        if (!domain->items[k].goal || !linear_mentions(&context->space, form, atom))
            continue;
        goals++;
        classify(context, &domain->items[k], atom, &side);
        unknown |= side.direction == UNKNOWN;
        able = hidden_direction(context, form, atom) == CONSTANT &&
               split_visible(context, form, atom, &coefficient) &&
               linear_is_parameter(&context->space, &coefficient);
    }
    return unknown && able && goals == 1;
}

static bool leave_range(struct context *context, const struct context_loop *loop,
                        struct bounds_projection *all)
{
    int count = all->count;

    for (int k = 0; k < count; k++) {
        struct bounds_domain *domain = &all->domains[k];
        enum direction first = UNKNOWN;
        if (needs_both_ends(context, domain, loop->atom)) {
            if (all->count == BOUNDS_EXTREMES)
                return false;
            first = RISING;
            all->domains[all->count] = *domain;
            if (!eliminate(context, loop, &all->domains[all->count++], FALLING))
                return false;
        }
        if (!eliminate(context, loop, domain, first))
            return false;
    }
    return true;
}

/* ---- the places around an access ----------------------------------------- */

static bool keep_everywhere(struct bounds_projection *all, const struct bounds_constraint *constraint)
{
    for (int k = 0; k < all->count; k++)
        if (!keep(&all->domains[k], constraint))
            return false;
    return true;
}

static bool enter_range(struct context *context, const struct context_loop *loop,
                        struct bounds_projection *all)
{
    struct bounds_constraint first = {.own = true}, last = {.own = true};
    struct linear index;

    linear_of_atom(&context->space, loop->atom, &index);
    return linear_add(&first.form, &index, -1, &loop->first) &&
           linear_add(&last.form, &loop->last, -1, &index) && keep_everywhere(all, &first) &&
           keep_everywhere(all, &last);
}

/* Conditions from `from` on, innermost first. */
static bool enter_conditions(struct context *context, int from, int to, struct bounds_projection *all)
{
    for (int k = to - 1; k >= from; k--) {
        const struct context_condition *condition = &context->conditions.items[k];
        if (condition->exact) {
            for (int f = 0; f < condition->fact_count; f++) {
                struct bounds_constraint constraint = {
                    .form = context->prover.facts.items[condition->first_fact + f].form};
                if (!keep_everywhere(all, &constraint))
                    return false;
            }
            continue;
        }
        struct ir_expr *expr = context_parameter_expr(context, condition->expr);
        if (!expr || all->condition_count == BOUNDS_GUARDS)
            return false;
        if (!condition->truth)
            expr = ir_operation(context->kernel, OP_NOT, expr, NULL, NULL);
        all->conditions[all->condition_count++] = expr;
    }
    return true;
}

/* Whether all that is said is so in the first iteration, too, behind which the loop may be left. */
static bool is_of_first(struct context *context, const struct context_loop *loop,
                        const struct bounds_projection *all)
{
    if (loop->skipped)
        return false;
    for (int k = 0; k < all->count; k++)
        for (int at = 0; at < all->domains[k].count; at++)
            if (linear_mentions(&context->space, &all->domains[k].items[at].form, loop->atom))
                return false;
    return true;
}

bool bounds_project(struct context *context, const struct linear *goal, struct bounds_projection *all)
{
    struct bounds_constraint constraint = {.form = *goal, .goal = true};
    int conditions = context->conditions.count;

    take_possible(context, &constraint.form);
    all->count = 1;
    all->condition_count = 0;
    all->domains[0].empty = all->domains[0].has_held = all->domains[0].assumes = false;
    all->domains[0].count = 0;
    if (!keep_everywhere(all, &constraint))
        return false;
    for (int k = context->loops.count - 1; k >= 0; k--) {
        struct context_loop loop = context->loops.items[k];
        if (loop.atom < 0 || loop.unclear || !enter_conditions(context, loop.conditions, conditions, all) ||
            (loop.leaves && !is_of_first(context, &loop, all)) || !enter_range(context, &loop, all) ||
            !leave_range(context, &loop, all))
            return false;
        conditions = loop.conditions;
    }
    return enter_conditions(context, 0, conditions, all);
}

/*
 * bounds_extreme.c: the largest value of an index in a whole call, as an expression over dims and attributes.
 *
 * The loops around the access are left one by one, innermost first: a form that grows with the loop's atom is
 * largest at its last value, one that falls at its first. Both are values the loop really takes, provided it
 * runs at all; so the result is exact as long as each loop runs whenever those around it do, which is proved,
 * or (for bounds that do not depend on other loops) becomes a guard.
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

/* ---- leaving loops ------------------------------------------------------- */

struct replacement {
    int atom;
    const struct linear *by;
};

static bool replace_atom(void *context, int atom, struct linear *out)
{
    const struct replacement *replacement = context;

    if (atom != replacement->atom)
        return false;
    *out = *replacement->by;
    return true;
}

static bool substitute(struct context *context, struct linear *form, int atom, const struct linear *by)
{
    struct replacement replacement = {atom, by};
    return linear_map(&context->space, form, replace_atom, &replacement, form);
}

struct search {
    struct linear forms[BOUNDS_EXTREMES];
    int count;
    struct bounds_extreme common; /* guards so far */
};

/* Moves each form to the end of the loop where it is largest. A coefficient over dims and attributes whose
 * sign is not known makes two forms of one: a linear function is largest at one of the ends. */
static bool leave_range(struct context *context, const struct context_loop *loop, struct search *search)
{
    int count = search->count;

    for (int k = 0; k < count; k++) {
        struct linear *form = &search->forms[k];
        struct linear coefficient;
        if (!linear_mentions(&context->space, form, loop->atom))
            continue;
        enum direction direction = form_direction(context, form, loop->atom);
        if (direction == UNKNOWN) {
            if (search->count == BOUNDS_EXTREMES || hidden_direction(context, form, loop->atom) != CONSTANT ||
                !split_visible(context, form, loop->atom, &coefficient) ||
                !linear_is_parameter(&context->space, &coefficient))
                return false;
            search->forms[search->count] = *form;
            if (!substitute(context, &search->forms[search->count++], loop->atom, &loop->first))
                return false;
            direction = RISING;
        }
        if (!substitute(context, form, loop->atom, direction == RISING ? &loop->last : &loop->first))
            return false;
    }
    return true;
}

static bool add_guard(struct search *search, const struct linear *guard)
{
    struct bounds_extreme *common = &search->common;

    for (int k = 0; k < common->guard_count; k++)
        if (linear_equal(&common->guards[k], guard))
            return true;
    if (common->guard_count == BOUNDS_GUARDS)
        return false;
    common->guards[common->guard_count++] = *guard;
    return true;
}

/* The loop runs whenever those around it do, or a guard says so. */
static bool ensure_runs(struct context *context, const struct context_loop *loop, struct search *search)
{
    struct linear trips;
    int facts = context->prover.facts.count;
    bool down = loop->stmt->step < 0;

    if (!linear_add(&trips, down ? &loop->low : &loop->high, -1, down ? &loop->high : &loop->low) ||
        !linear_shift(&trips, &trips, -1))
        return false;
    context->prover.facts.count = loop->facts;
    bool proved = prover_prove(&context->prover, &trips) && !context->prover.assumed;
    context->prover.facts.count = facts;
    return proved || (linear_is_parameter(&context->space, &trips) && add_guard(search, &trips));
}

/* Conditions from `from` on, innermost first. */
static bool leave_conditions(struct context *context, int from, int to, struct search *search)
{
    struct bounds_extreme *common = &search->common;

    for (int k = to - 1; k >= from; k--) {
        const struct context_condition *condition = &context->conditions.items[k];
        struct ir_expr *expr = context_parameter_expr(context, condition->expr);
        struct context_facts facts;

        if (!expr || common->condition_count == BOUNDS_GUARDS)
            return false;
        if (!condition->truth)
            expr = ir_operation(context->kernel, OP_NOT, expr, NULL, NULL);
        context_condition_facts(context, condition->expr, condition->truth, &facts);
        bool in_guards = facts.exact;
        for (int f = 0; f < facts.count && in_guards; f++)
            in_guards =
                linear_is_parameter(&context->space, &facts.items[f]) && add_guard(search, &facts.items[f]);
        if (!in_guards) {
            common->conditions[common->condition_count++] = expr;
            common->guards_are_all = false;
        }
    }
    return true;
}

static bool leave_all(struct context *context, struct search *search)
{
    int conditions = context->conditions.count;

    for (int k = context->loops.count - 1; k >= 0; k--) {
        struct context_loop loop = context->loops.items[k];
        if (loop.atom < 0 || loop.leaves || loop.skipped ||
            !leave_conditions(context, loop.conditions, conditions, search) ||
            !leave_range(context, &loop, search) || !ensure_runs(context, &loop, search))
            return false;
        conditions = loop.conditions;
    }
    return leave_conditions(context, 0, conditions, search);
}

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

bool bounds_has_division(const struct context *context, const struct linear *form)
{
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &context->space.monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++) {
            const struct linear_atom *atom = linear_atom_at(&context->space, monomial->atoms[a]);
            if ((atom->kind == LINEAR_QUOTIENT || atom->kind == LINEAR_REMAINDER) && atom->children[1].count)
                return true;
            for (int c = 0; c < atom->child_count; c++)
                if (bounds_has_division(context, &atom->children[c]))
                    return true;
        }
    }
    return false;
}

static void drop_idle_guards(struct context *context, struct bounds_extreme *extreme)
{
    /* a division by an attribute may be what a guard protects */
    if (bounds_has_division(context, &extreme->form))
        return;
    for (int k = 0; k < extreme->guard_count; k++)
        if (bounds_has_division(context, &extreme->guards[k]))
            return;
    for (int k = extreme->guard_count - 1; k >= 0; k--)
        if (is_idle(context, extreme, k)) {
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

bool bounds_find_extremes(struct context *context, const struct bounds_request *request,
                          struct bounds_extreme *extremes, int *count)
{
    struct search search = {.forms = {request->form}, .count = 1, .common = {.guards_are_all = true}};
    struct linear negated;

    *count = 0;
    if (!leave_all(context, &search))
        return false;
    search.common.upper = request->upper;
    for (int k = 0; k < search.count; k++) {
        struct bounds_extreme extreme = search.common;
        extreme.form = search.forms[k];
        if (!linear_is_parameter(&context->space, &extreme.form) ||
            !linear_scale(&negated, &extreme.form, -1))
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

void bounds_express(struct context *context, const struct bounds_extreme *extreme,
                    struct ir_precondition *precondition)
{
    struct linear index, extent, demanded;

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
    if (!extreme->upper)
        index = demanded;
    else if (!linear_add(&index, &extreme->form, 1, &extent) || !linear_shift(&index, &index, -1))
        index = extreme->form;
    precondition->index = linear_expr(context->kernel, &context->space, &index);
}

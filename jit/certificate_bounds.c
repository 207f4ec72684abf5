/*
 * certificate_bounds.c: why each index is inside, or what it depends on.
 *
 * Walks an analysed kernel once more (context.h). A proof is told as an expression over dims and attributes
 * between the index and 0, or the extent; it comes from the ends of the loops' ranges or from a condition,
 * and the prover has the last word on it. Where there is none it is told as the facts that suffice. The work
 * is bounded: past it a verdict stands without its reason.
 */
#include "certificate.h"

#include "context.h"

#include <string.h>

enum { PROOFS = 20000, FACTS = 40, ENDS = 12, UNITS = 32, DATA = 4 };

/* A precondition's share of the prover's facts and rules. */
struct unit {
    int first_fact, fact_count, first_rule, rule_count;
};

struct bounds_walk {
    struct certificate *certificate;
    bool reasons;
    int proofs; /* left */
    int unit_count;
    struct unit units[UNITS];
};

static bool prove(struct context *context, const struct linear *form)
{
    struct bounds_walk *walk = context->client;

    return walk->proofs-- > 0 && prover_prove(&context->prover, form);
}

/* ---- a bound that lies between --------------------------------------------- */

/* The number of a term that is no parameter, the innermost loop's first; -1: there is none. */
static int moving_term(const struct linear_space *space, const struct linear *form)
{
    int found = -1, newest = -1;

    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++)
            if (!linear_atom_at(space, monomial->atoms[a])->parameter && monomial->atoms[a] > newest) {
                newest = monomial->atoms[a];
                found = k;
            }
    }
    return found;
}

/* What the atom is at most, or at least, in terms that are closer to the call's. */
static bool atom_end(struct context *context, int number, bool most, struct linear *out)
{
    const struct linear_atom *atom = linear_atom_at(&context->space, number);

    switch (atom->kind) {
    case LINEAR_LOOP:
        *out = atom->children[most];
        return true;
    case LINEAR_MIN:
    case LINEAR_MAX:
        if ((atom->kind == LINEAR_MIN) == most)
            *out = atom->children[!linear_is_parameter(&context->space, &atom->children[0])];
        else
            *out = atom->children[linear_is_parameter(&context->space, &atom->children[0])];
        return true;
    case LINEAR_REMAINDER:
        linear_constant(out, 0);
        return !most || linear_shift(out, &atom->children[1], -1);
    default:
        linear_constant(out, most ? atom->high : atom->low);
        return out->constant != (most ? LINEAR_NO_HIGH : LINEAR_NO_LOW);
    }
}

static bool bound_by_ranges(struct context *context, const struct linear *index, bool most,
                            struct linear *bound);

/* The same of a quotient: that of what its dividend is at most, or at least. */
static bool quotient_end(struct context *context, int number, bool most, struct linear *out)
{
    struct linear dividend = linear_atom_at(&context->space, number)->children[0],
                  divisor = linear_atom_at(&context->space, number)->children[1];

    return !divisor.count && divisor.constant > 0 && bound_by_ranges(context, &dividend, most, &dividend) &&
           linear_combine(&context->space, LINEAR_QUOTIENT, out, &dividend, &divisor);
}

/* The factor of the monomial that is no parameter. */
static int moving_atom(const struct linear_space *space, int monomial)
{
    const struct linear_monomial *factors = &space->monomials.items[monomial];

    for (int a = 0; a < factors->degree; a++)
        if (!linear_atom_at(space, factors->atoms[a])->parameter)
            return factors->atoms[a];
    return factors->atoms[0];
}

/* Takes the ends of the ranges, innermost first, until only dims and attributes are left. */
static bool bound_by_ranges(struct context *context, const struct linear *index, bool most,
                            struct linear *bound)
{
    struct linear by;

    *bound = *index;
    for (int step = 0; step < ENDS; step++) {
        int term = moving_term(&context->space, bound);
        if (term < 0)
            return true;
        int atom = moving_atom(&context->space, bound->terms[term].monomial);
        bool upwards = (bound->terms[term].coefficient > 0) == most;
        bool quotient = linear_atom_at(&context->space, atom)->kind == LINEAR_QUOTIENT;
        if (!(quotient ? quotient_end : atom_end)(context, atom, upwards, &by) ||
            !linear_substitute(&context->space, bound, atom, &by, bound))
            return false;
    }
    return false;
}

/* The bound does lie between the index and 0, or the extent. */
static bool lies_between(struct context *context, const struct linear *index, const struct linear *extent,
                         bool most, const struct linear *bound)
{
    struct linear inside, outside;

    if (!linear_is_parameter(&context->space, bound))
        return false;
    if (!most)
        return linear_add(&inside, index, -1, bound) && prove(context, bound) && prove(context, &inside);
    return linear_add(&inside, bound, -1, index) && linear_add(&outside, extent, -1, bound) &&
           linear_shift(&outside, &outside, -1) && prove(context, &outside) && prove(context, &inside);
}

/* From a fact that compares the index, and nothing else, with a parameter. */
static bool bound_by_fact(struct context *context, const struct linear *index, const struct linear *extent,
                          bool most, struct linear *bound)
{
    struct prover *prover = &context->prover;

    for (int k = prover->facts.count - 1, left = FACTS; k >= prover->first_fact && left > 0; k--, left--) {
        const struct linear *fact = &prover->facts.items[k].form;
        if (linear_add(bound, index, most ? 1 : -1, fact) && linear_is_parameter(&context->space, bound) &&
            lies_between(context, index, extent, most, bound))
            return true;
    }
    return false;
}

/* ---- facts that suffice ------------------------------------------------------ */

/* a <= b where b - a = fact, or a < b where that reads better */
static struct ir_expr *fact_expr(struct context *context, const struct linear *fact)
{
    struct ir_kernel *kernel = context->kernel;
    struct linear larger, smaller, shifted = *fact;
    enum operation operation = OP_LE;

    if (!linear_has_expr(&context->space, fact))
        return NULL;
    if (fact->constant < 0 && linear_shift(&shifted, fact, 1))
        operation = OP_LT;
    if (!linear_sides(&shifted, &larger, &smaller))
        return NULL;
    return ir_operation(kernel, operation, linear_expr(kernel, &context->space, &smaller),
                        linear_expr(kernel, &context->space, &larger), NULL);
}

static void blank(struct prover *prover, int fact)
{
    linear_constant(&prover->facts.items[fact].form, 0);
    prover->generation++;
}

/* Takes facts out one by one, those that are not needed for good; then puts all back. */
static void facts_that_suffice(struct context *context, const struct linear *goal,
                               struct certificate_side *side)
{
    struct prover *prover = &context->prover;
    int first = prover->first_fact, count = prover->facts.count;
    struct prover_fact *saved;

    if (!prove(context, goal))
        return;
    if (first < context->base_facts) /* preconditions are told apart from them */
        first = context->base_facts;
    if (count - first > FACTS)
        return;
    saved = arena_array(context->arena, struct prover_fact, count - first);
    if (count > first)
        memcpy(saved, prover->facts.items + first, sizeof *saved * (size_t)(count - first));
    for (int k = first; k < count; k++) {
        blank(prover, k);
        if (!prove(context, goal)) {
            prover->facts.items[k] = saved[k - first];
            prover->generation++;
        }
    }
    for (int k = first; k < count; k++) {
        const struct linear *fact = &prover->facts.items[k].form;
        struct ir_expr *expr = fact->count ? fact_expr(context, fact) : NULL;
        if (expr)
            list_push(context->kernel->arena, &side->facts, expr);
        prover->facts.items[k] = saved[k - first];
    }
    prover->generation++;
}

/* ---- preconditions -------------------------------------------------------------- */

/* Which facts and rules come from which precondition. */
static void begin(struct context *context)
{
    struct bounds_walk *walk = context->client;
    int fact = 0, rule = 0;

    for (int k = 0; k < context->assumed.count && k < UNITS; k++) {
        const struct context_assumed *assumed = &context->assumed.items[k];
        walk->units[walk->unit_count++] = (struct unit){fact, assumed->facts, rule, assumed->rules};
        fact += assumed->facts;
        rule += assumed->rules;
    }
}

/* Swaps what the precondition says with what is in `forms`. */
static void swap_unit(struct prover *prover, const struct unit *unit, struct linear *forms)
{
    int at = 0;

    for (int k = 0; k < unit->fact_count; k++, at++) {
        struct linear form = prover->facts.items[unit->first_fact + k].form;
        prover->facts.items[unit->first_fact + k].form = forms[at];
        forms[at] = form;
    }
    for (int k = 0; k < unit->rule_count; k++, at++) {
        struct linear form = prover->rules.items[unit->first_rule + k].form;
        prover->rules.items[unit->first_rule + k].form = forms[at];
        forms[at] = form;
    }
    prover->generation++;
}

/* Those that speak of this axis, where the prover cannot repeat how they were found (bounds_extreme.c); all,
 * where none does: then others imply what was demanded of it. */
static void demanded_of(const struct ir_kernel *kernel, struct certificate_index *row,
                        const struct ir_access *access, int axis)
{
    for (int any = 0; any < 2 && !row->preconditions.count; any++)
        for (int k = 0; k < kernel->preconditions.count; k++) {
            const struct ir_precondition *precondition = &kernel->preconditions.items[k];
            if (any || (precondition->kind == IR_PRECONDITION_BOUNDS &&
                        precondition->buffer == access->buffer && precondition->axis == axis))
                list_push(kernel->arena, &row->preconditions, k);
        }
}

/* The preconditions without which one of the goals is not proved. They are taken out one by one, and those
 * that are not needed stay out. */
static void find_preconditions(struct context *context, const struct linear goals[2],
                               const struct ir_access *access, int axis, struct certificate_index *row)
{
    struct bounds_walk *walk = context->client;
    struct prover *prover = &context->prover;
    struct linear *forms[UNITS];

    if (!prove(context, &goals[0]) || !prove(context, &goals[1])) {
        demanded_of(context->kernel, row, access, axis);
        return;
    }
    for (int k = 0; k < walk->unit_count; k++) {
        const struct unit *unit = &walk->units[k];
        int size = unit->fact_count + unit->rule_count;
        forms[k] = arena_array(context->arena, struct linear, size); /* zeros: 0 >= 0 */
        swap_unit(prover, unit, forms[k]);
        if (prove(context, &goals[0]) && prove(context, &goals[1]))
            continue;
        swap_unit(prover, unit, forms[k]);
        forms[k] = NULL;
        list_push(context->kernel->arena, &row->preconditions, k);
    }
    for (int k = 0; k < walk->unit_count; k++)
        if (forms[k])
            swap_unit(prover, &walk->units[k], forms[k]);
}

/* ---- reasons ----------------------------------------------------------------------- */

static void explain_side(struct context *context, const struct linear *index, const struct linear *extent,
                         bool most, const struct linear *goal, struct certificate_side *side)
{
    struct linear bound;

    if ((bound_by_ranges(context, index, most, &bound) &&
         lies_between(context, index, extent, most, &bound)) ||
        bound_by_fact(context, index, extent, most, &bound))
        side->bound = linear_expr(context->kernel, &context->space, &bound);
    else
        facts_that_suffice(context, goal, side);
}

static void explain(struct context *context, const struct ir_access *access, int axis,
                    struct certificate_index *row)
{
    struct prover *prover = &context->prover;
    struct linear index, extent, goals[2];

    context_form(context, row->index, &index);
    context_form(context, row->extent, &extent);
    goals[0] = index;
    if (!linear_add(&goals[1], &extent, -1, &index) || !linear_shift(&goals[1], &goals[1], -1))
        return;
    if (row->check == IR_CHECK_PROVED) /* preconditions had no part in it */
        prover->first_fact = context->base_facts;
    else
        find_preconditions(context, goals, access, axis, row);
    explain_side(context, &index, &extent, false, &goals[0], &row->low);
    explain_side(context, &index, &extent, true, &goals[1], &row->high);
    prover->first_fact = 0;
}

/* ---- what an index depends on --------------------------------------------------------- */

struct sources {
    struct ir_kernel *kernel;
    int visited;
    struct ir_expr *items[DATA];
    int count;
};

static void add_source(struct sources *sources, struct ir_expr *expr)
{
    for (int k = 0; k < sources->count; k++)
        if (ir_expr_equal(sources->items[k], expr))
            return;
    if (sources->count < DATA)
        sources->items[sources->count++] = expr;
}

static bool visit_source(struct ir_expr *expr, void *context)
{
    struct sources *sources = context;

    if (++sources->visited > 400)
        return false;
    if (expr->kind == IR_LOAD || (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE))
        add_source(sources, expr);
    else if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return ir_expr_walk(expr->symbol->value, visit_source, sources);
    return true;
}

static void find_sources(struct context *context, struct certificate_index *row)
{
    struct sources index = {.kernel = context->kernel}, control = index;

    ir_expr_walk(row->index, visit_source, &index);
    for (int k = 0; k < context->conditions.count; k++)
        ir_expr_walk(context->conditions.items[k].expr, visit_source, &control);
    for (int k = 0; k < context->loops.count; k++) {
        const struct ir_stmt *stmt = context->loops.items[k].stmt;
        if (stmt->kind == IR_WHILE)
            ir_expr_walk(stmt->value, visit_source, &control);
        else if (ir_expr_walk(stmt->low, visit_source, &control))
            ir_expr_walk(stmt->high, visit_source, &control);
    }
    for (int k = 0; k < index.count; k++)
        list_push(context->kernel->arena, &row->data, index.items[k]);
    for (int k = 0; k < control.count; k++)
        list_push(context->kernel->arena, &row->control, control.items[k]);
}

/* ---- the walk ------------------------------------------------------------------------- */

static void visit_access(struct context *context, struct ir_access *access, struct ir_expr *load)
{
    struct bounds_walk *walk = context->client;
    struct arena *arena = context->kernel->arena;
    struct certificate_access row = {.access = access,
                                     .load = load,
                                     .stmt = context->stmt,
                                     .depth = context->loops.count,
                                     .span = load && load->span.line ? load->span : context->stmt->span};

    row.indices = arena_array(arena, struct certificate_index, access->buffer->rank);
    for (int k = 0; k < access->buffer->rank; k++) {
        struct certificate_index *index = &row.indices[k];
        index->index = access->indices[k];
        index->extent = access->buffer->shape[k];
        index->check = access->checks[k];
        if (index->check == IR_CHECK_ELEMENT)
            find_sources(context, index);
        else if (walk->reasons)
            explain(context, access, k, index);
    }
    list_push(arena, &walk->certificate->accesses, row);
}

void certificate_find_bounds(struct certificate *certificate, bool reasons)
{
    static const struct context_visitor visitor = {.begin = begin, .access = visit_access};
    struct bounds_walk walk = {.certificate = certificate, .reasons = reasons, .proofs = PROOFS};

    context_run(certificate->kernel, &visitor, &walk);
}

/*
 * dependence_system.c: the integer system of two accesses that use one element.
 *
 * The first access keeps its names; in the second one everything that changes in the loops is renamed. Facts
 * of both places, equal indices and what atoms are made of become rows. What has no linear form (products of
 * variables, values out of memory) is a variable of its own: that can only add solutions, and these do not
 * count as exact unless the one found fits it too.
 */
#include "dependence_private.h"

#include <string.h>

/* ---- the second iteration ------------------------------------------------ */

static bool rename_atom(void *builder_pointer, int number, struct linear *out);

/* The same of a loop, or of a choice: which may be made of what never changes, and yet be another one each
 * time, for its conditions need not say all. -1 where that cannot be represented. */
static int rename_made(struct dependence_builder *builder, const struct linear_atom *atom)
{
    enum { CHILDREN = 16 };
    struct linear_space *space = &builder->context->space;
    struct linear children[CHILDREN];

    if (atom->kind == LINEAR_OPAQUE || atom->child_count > CHILDREN)
        return -1;
    for (int c = 0; c < atom->child_count; c++)
        if (!linear_map(space, &atom->children[c], rename_atom, builder, &children[c]))
            return -1;
    if (atom->kind == LINEAR_LOOP)
        return linear_new_loop(space, &children[0], &children[1]);
    return linear_new_select(space, children, atom->child_count, atom->when);
}

static bool rename_atom(void *builder_pointer, int number, struct linear *out)
{
    struct dependence_builder *builder = builder_pointer;
    struct linear_space *space = &builder->context->space;
    struct linear_atom atom = *linear_atom_at(space, number);

    if (number >= builder->name_count || number < builder->first_atom || atom.parameter ||
        (atom.kind != LINEAR_LOOP && atom.kind != LINEAR_OPAQUE && atom.kind != LINEAR_SELECT))
        return false;
    if (!builder->names[number]) {
        int name = rename_made(builder, &atom);
        if (name < 0)
            name = linear_new_opaque(space, atom.low, atom.high);
        builder->names[number] = name + 1;
    }
    linear_of_atom(space, builder->names[number] - 1, out);
    return true;
}

bool dependence_map_form(struct dependence_builder *builder, const struct dependence_place *place,
                         const struct linear *form, struct linear *out)
{
    builder->first_atom = place->scopes[0].first_atom;
    return linear_map(&builder->context->space, form, rename_atom, builder, out);
}

/* Made once for all pairs that the place is second in. */
static void map_place(struct dependence_builder *builder, struct dependence_place *place)
{
    struct arena *arena = builder->context->arena;

    if (place->mapped)
        return;
    place->mapped = arena_array(arena, struct linear, place->count + 1);
    place->kept = arena_array(arena, bool, place->count + 1);
    for (int k = 0; k < place->count; k++) {
        place->kept[k] = dependence_map_form(builder, place, &place->facts[k], &place->mapped[k]);
        place->whole &= place->kept[k];
    }
}

/* ---- the system ---------------------------------------------------------- */

struct dependence_mark dependence_mark_set(const struct dependence_pair *pair)
{
    return (struct dependence_mark){pair->system.count, pair->now};
}

void dependence_mark_return(struct dependence_pair *pair, const struct dependence_mark *mark)
{
    pair->system.count = mark->rows;
    pair->now = mark->extent;
}

static void note_atom(struct dependence_pair *pair, int atom)
{
    for (int k = 0; k < pair->now.atoms; k++)
        if (pair->atoms[k] == atom)
            return;
    if (pair->now.atoms < DEPENDENCE_ATOMS)
        pair->atoms[pair->now.atoms++] = atom;
    else
        pair->now.whole = false;
}

static int find_column(const struct dependence_pair *pair, int monomial)
{
    for (int k = 0; k < pair->now.columns; k++)
        if (pair->monomials[k] == monomial)
            return k;
    return -1;
}

static int column_of(struct dependence_pair *pair, int monomial)
{
    struct linear_space *space = &pair->builder->context->space;
    const struct linear_monomial factors = space->monomials.items[monomial];
    int column = find_column(pair, monomial);

    if (column >= 0 || pair->now.columns == INTEGER_VARIABLES)
        return column;
    column = pair->now.columns++;
    pair->monomials[column] = monomial;
    for (int k = 0; k < pair->system.count; k++)
        pair->system.rows[k].c[column] = 0;
    for (int a = 0; a < factors.degree; a++) {
        note_atom(pair, factors.atoms[a]);
        if (factors.degree > 1 && column_of(pair, linear_atom_at(space, factors.atoms[a])->monomial) < 0)
            pair->now.whole = false;
    }
    pair->now.loose |= factors.degree > 1;
    return column;
}

/* form >= 0, or form == 0. What does not fit is left out. */
void dependence_add_row(struct dependence_pair *pair, const struct linear *form, bool equality)
{
    struct integer_row row = {.equality = equality, .constant = form->constant};

    for (int k = 0; k < form->count; k++) {
        int column = column_of(pair, form->terms[k].monomial);
        if (column < 0) {
            pair->now.whole = false;
            return;
        }
        integer_row_set(&row, column, form->terms[k].coefficient);
    }
    if (pair->system.count == INTEGER_ROWS) {
        pair->now.whole = false;
        return;
    }
    pair->forms[pair->system.count] = *form;
    pair->system.rows[pair->system.count++] = row;
}

/* a + offset <= b */
void dependence_add_less(struct dependence_pair *pair, const struct linear *a, int64_t offset,
                         const struct linear *b)
{
    struct linear form;

    if (linear_add(&form, b, -1, a) && linear_shift(&form, &form, -offset))
        dependence_add_row(pair, &form, false);
    else
        pair->now.whole = false;
}

static void add_equal(struct dependence_pair *pair, const struct linear *a, const struct linear *b)
{
    struct linear form;

    if (linear_add(&form, a, -1, b))
        dependence_add_row(pair, &form, true);
    else
        pair->now.whole = false;
}

static void define_division(struct dependence_pair *pair, const struct linear *self,
                            const struct linear_atom *atom)
{
    struct linear_space *space = &pair->builder->context->space;
    const struct linear *dividend = &atom->children[0], *divisor = &atom->children[1];
    struct linear quotient = *self, rest, zero;
    bool constant = !divisor->count;

    linear_constant(&zero, 0);
    if ((!constant && !linear_is_natural(space, divisor)) ||
        (atom->kind == LINEAR_REMAINDER &&
         !linear_combine(space, LINEAR_QUOTIENT, &quotient, dividend, divisor)) ||
        !linear_multiply(space, &rest, &quotient, divisor) || !linear_add(&rest, dividend, -1, &rest)) {
        pair->now.whole = false;
        return;
    }
    if (atom->kind == LINEAR_REMAINDER)
        add_equal(pair, self, &rest);
    if (constant && divisor->constant < 0) {
        dependence_add_less(pair, divisor, 1, &rest);
        dependence_add_less(pair, &rest, 0, &zero);
    } else {
        dependence_add_less(pair, &zero, 0, &rest);
        dependence_add_less(pair, &rest, 1, divisor);
    }
}

static void define_atom(struct dependence_pair *pair, int number)
{
    struct linear_space *space = &pair->builder->context->space;
    struct linear_atom atom = *linear_atom_at(space, number);
    struct linear self, bound;

    linear_of_atom(space, number, &self);
    if (atom.low != LINEAR_NO_LOW) {
        linear_constant(&bound, atom.low);
        dependence_add_less(pair, &bound, 0, &self);
    }
    if (atom.high != LINEAR_NO_HIGH) {
        linear_constant(&bound, atom.high);
        dependence_add_less(pair, &self, 0, &bound);
    }
    switch (atom.kind) {
    case LINEAR_DIM:
    case LINEAR_ATTRIBUTE:
    case LINEAR_LOOP:
        return;
    case LINEAR_QUOTIENT:
    case LINEAR_REMAINDER:
        define_division(pair, &self, &atom);
        return;
    case LINEAR_MIN:
    case LINEAR_MAX:
        for (int c = 0; c < 2; c++)
            dependence_add_less(pair, atom.kind == LINEAR_MIN ? &self : &atom.children[c], 0,
                                atom.kind == LINEAR_MIN ? &atom.children[c] : &self);
        break;
    case LINEAR_OPAQUE:
    case LINEAR_LOAD:
        pair->now.whole = false;
        return;
    case LINEAR_SELECT:
        pair->now.whole = false; /* its conditions may say less than they did in the program */
        break;
    }
    if (pair->now.choices < DEPENDENCE_CHOICES)
        pair->choices[pair->now.choices++] = number;
    else
        pair->now.whole = false;
}

void dependence_define_atoms(struct dependence_pair *pair)
{
    while (pair->now.atoms_done < pair->now.atoms)
        define_atom(pair, pair->atoms[pair->now.atoms_done++]);
}

/* ---- setting up ---------------------------------------------------------- */

/* Loops that must be in the same iteration for the atom to be the same. */
static int atom_depth(const struct dependence_pair *pair, int number)
{
    const struct linear_space *space = &pair->builder->context->space;
    const struct linear_atom *atom = linear_atom_at(space, number);
    const struct dependence_place *place = pair->a->place;
    int depth = 0;

    if (atom->parameter)
        return 0;
    if (atom->kind == LINEAR_LOOP || atom->kind == LINEAR_OPAQUE || atom->kind == LINEAR_SELECT) {
        while (depth < place->depth && place->scopes[depth].first_atom <= number)
            depth++;
        return depth;
    }
    for (int c = 0; c < atom->child_count; c++) {
        const struct linear *child = &atom->children[c];
        for (int k = 0; k < child->count; k++) {
            const struct linear_monomial *factors = &space->monomials.items[child->terms[k].monomial];
            for (int f = 0; f < factors->degree; f++) {
                int below = atom_depth(pair, factors->atoms[f]);
                depth = below > depth ? below : depth;
            }
        }
    }
    return depth;
}

/* What of the first access is the same in the second when the outer loops are in the same iteration. */
static void find_shared(struct dependence_pair *pair)
{
    struct linear_space *space = &pair->builder->context->space;
    struct linear image;

    pair->shared_count = 0;
    for (int k = 0; k < pair->now.columns; k++) {
        struct linear alone = {1, 0, {{pair->monomials[k], 1}}};
        struct linear_monomial factors = space->monomials.items[pair->monomials[k]];
        struct dependence_shared *shared = &pair->shared[pair->shared_count];
        shared->depth = 0;
        for (int f = 0; f < factors.degree; f++) {
            int depth = atom_depth(pair, factors.atoms[f]);
            shared->depth = depth > shared->depth ? depth : shared->depth;
        }
        if (shared->depth && shared->depth <= pair->depth &&
            dependence_map_form(pair->builder, pair->a->place, &alone, &image) &&
            linear_add(&shared->difference, &alone, -1, &image) && shared->difference.count)
            pair->shared_count++;
    }
}

/* Of two accesses on different sides of one condition: the loops in one iteration of which that excludes them
 * both. */
static int find_exclusive(const struct dependence_pair *pair)
{
    const struct dependence_place *a = pair->a->place, *b = pair->b->place;
    int depth = 0, k = 0;

    while (k < a->condition_count && k < b->condition_count &&
           a->conditions[k].expr == b->conditions[k].expr && a->conditions[k].truth == b->conditions[k].truth)
        k++;
    if (k >= a->condition_count || k >= b->condition_count || a->conditions[k].expr != b->conditions[k].expr)
        return INT32_MAX;
    while (depth < a->depth && a->scopes[depth].conditions <= k)
        depth++;
    return depth;
}

/* Facts of both places for the prover; facts.count before it comes back. */
static int push_facts(struct dependence_pair *pair)
{
    struct prover *prover = &pair->builder->context->prover;
    const struct dependence_place *a = pair->a->place, *b = pair->b->place;
    int before = prover->facts.count;

    for (int k = 0; k < a->count; k++)
        prover_add(prover, &a->facts[k], false);
    for (int k = 0; k < b->count; k++)
        if (b->kept[k])
            prover_add(prover, &b->mapped[k], false);
    return before;
}

bool dependence_is_hopeless(const struct dependence_builder *builder)
{
    enum { TRIES = 6, FOR_EACH = 4, ALL = 64 /* of one kernel: 0.06 to 0.3 ms each */ };
    return builder->tries > ALL || builder->tries - builder->proved > TRIES + FOR_EACH * builder->proved;
}

void dependence_note_answer(struct dependence_builder *builder, bool proved)
{
    builder->tries++;
    builder->proved += proved;
}

/* -limit < form < limit */
static bool is_smaller(struct dependence_pair *pair, const struct linear *form, const struct linear *limit)
{
    struct prover *prover = &pair->builder->context->prover;
    struct linear negative;
    bool smaller;

    if (dependence_is_hopeless(pair->builder))
        return false;
    int facts = push_facts(pair);
    smaller = linear_scale(&negative, form, -1) && prover_less(prover, form, 1, limit) &&
              prover_less(prover, &negative, 1, limit);
    prover->facts.count = facts;
    dependence_note_answer(pair->builder, smaller);
    return smaller;
}

static int64_t coefficient_of(const struct linear *form, int monomial)
{
    for (int k = 0; k < form->count; k++)
        if (form->terms[k].monomial == monomial)
            return form->terms[k].coefficient;
    return 0;
}

/* multiple * limit + rest with the limit shifted by such a constant that the rest no longer speaks of the
 * first term of the multiple: i * W - 2 * i + j is i * (W - 2) + j. */
static bool shift_limit(struct linear *limit, const struct linear *multiple, struct linear *rest)
{
    if (!multiple->count)
        return false;
    int64_t whole = coefficient_of(rest, multiple->terms[0].monomial), part = multiple->terms[0].coefficient;
    if (whole < -INT32_MAX || whole > INT32_MAX || whole == 0 || whole % part != 0)
        return false;
    return linear_shift(limit, limit, whole / part) && linear_add(rest, rest, -(whole / part), multiple);
}

/* form == 0. As digits of a number: a multiple of M plus what is smaller than M is 0 only when both are. */
static void add_digits(struct dependence_pair *pair, const struct linear *form, int depth)
{
    struct linear_space *space = &pair->builder->context->space;
    struct linear multiple, rest, limit;

    for (int k = 0; k < form->count && depth < LINEAR_DEGREE; k++) {
        const struct linear_monomial factors = space->monomials.items[form->terms[k].monomial];
        for (int f = 0; factors.degree > 1 && f < factors.degree; f++) {
            if (!linear_atom_at(space, factors.atoms[f])->parameter ||
                !linear_split(space, form, factors.atoms[f], &multiple, &rest))
                continue;
            linear_of_atom(space, factors.atoms[f], &limit);
            if (!is_smaller(pair, &rest, &limit) &&
                !(shift_limit(&limit, &multiple, &rest) && is_smaller(pair, &rest, &limit)))
                continue;
            add_digits(pair, &multiple, depth + 1);
            add_digits(pair, &rest, depth + 1);
            return;
        }
    }
    dependence_add_row(pair, form, true);
}

/* form == 0, where it has remainders of one divisor that is no constant: the sum of what they are of is a
 * multiple of the divisor, and is 0 where it is smaller. */
static void add_remainders(struct dependence_pair *pair, const struct linear *form)
{
    struct linear_space *space = &pair->builder->context->space;
    struct linear rest = *form, multiple, divisor = {.count = 0}, alone, quotient;

    linear_constant(&multiple, 0);
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *factors = &space->monomials.items[form->terms[k].monomial];
        const struct linear_atom *atom = linear_atom_at(space, factors->atoms[0]);
        if (factors->degree != 1 || atom->kind != LINEAR_REMAINDER || !atom->children[1].count)
            continue;
        struct linear dividend = atom->children[0], by = atom->children[1];
        int64_t coefficient = form->terms[k].coefficient;
        if (divisor.count && !linear_equal(&divisor, &by))
            return;
        divisor = by;
        linear_of_atom(space, factors->atoms[0], &alone);
        if (coefficient == INT64_MIN || !linear_add(&rest, &rest, -coefficient, &alone) ||
            !linear_add(&rest, &rest, coefficient, &dividend) ||
            !linear_combine(space, LINEAR_QUOTIENT, &quotient, &dividend, &by) ||
            !linear_add(&multiple, &multiple, coefficient, &quotient))
            return;
    }
    if (!divisor.count || !is_smaller(pair, &rest, &divisor))
        return;
    dependence_add_row(pair, &multiple, true);
    dependence_add_row(pair, &rest, true);
}

static void add_places(struct dependence_pair *pair)
{
    struct dependence_place *a = pair->a->place, *b = pair->b->place;

    for (int k = 0; k < a->count; k++)
        dependence_add_row(pair, &a->facts[k], false);
    find_shared(pair);
    for (int k = 0; k < b->count; k++)
        if (b->kept[k] && (k >= a->count || !linear_equal(&b->mapped[k], &a->facts[k])))
            dependence_add_row(pair, &b->mapped[k], false);
}

static void add_indices(struct dependence_pair *pair)
{
    struct dependence_use *a = pair->a, *b = pair->b;
    const struct ir_access *access = pair->builder->result->accesses.items[a->number].access;
    int rank = access->buffer->rank;
    struct linear zero, form;

    linear_constant(&zero, 0);
    if (!b->mapped) {
        b->mapped = arena_array(pair->builder->context->arena, struct linear, rank);
        b->unmapped = arena_array(pair->builder->context->arena, bool, rank);
        for (int k = 0; k < rank; k++)
            b->unmapped[k] = !dependence_map_form(pair->builder, b->place, &b->indices[k], &b->mapped[k]);
    }
    for (int k = 0; k < rank; k++) {
        if (access->checks[k] != IR_CHECK_PROVED) { /* else the facts say so */
            dependence_add_less(pair, &zero, 0, &a->indices[k]);
            dependence_add_less(pair, &a->indices[k], 1, &a->extents[k]);
        }
        if (!b->unmapped[k] && linear_add(&form, &a->indices[k], -1, &b->mapped[k])) {
            add_digits(pair, &form, 0);
            add_remainders(pair, &form);
        } else {
            pair->now.whole = false;
        }
    }
}

void dependence_system_begin(struct dependence_pair *pair, struct dependence_use *a, struct dependence_use *b)
{
    pair->a = a;
    pair->b = b;
    pair->system.count = pair->box_count = 0;
    map_place(pair->builder, b->place);
    pair->now =
        (struct dependence_extent){.whole = a->place->whole && b->place->whole && !pair->builder->partial};
    pair->exclusive = find_exclusive(pair);
    pair->allocated = a->allocated < b->allocated ? a->allocated : b->allocated;
    add_indices(pair);
    add_places(pair);
    dependence_define_atoms(pair);
}

/* ---- answers ------------------------------------------------------------- */

/* The atom's value in the solution found; parameters that it does not speak of are 0. */
static bool atom_value(const struct dependence_pair *pair, int number, __int128 *out)
{
    const struct linear_atom *atom = linear_atom_at(&pair->builder->context->space, number);
    int column = find_column(pair, atom->monomial);
    __int128 a, b;

    if (column >= 0) {
        *out = pair->builder->solver.values[column];
        return true;
    }
    *out = 0;
    if (atom->kind == LINEAR_DIM || atom->kind == LINEAR_ATTRIBUTE)
        return true;
    if (atom->child_count != 2 || atom->kind == LINEAR_LOOP ||
        !dependence_form_value(pair, &atom->children[0], &a) ||
        !dependence_form_value(pair, &atom->children[1], &b))
        return false;
    if (atom->kind == LINEAR_MIN || atom->kind == LINEAR_MAX) {
        *out = (a < b) == (atom->kind == LINEAR_MIN) ? a : b;
        return true;
    }
    if (b == 0 || (atom->kind != LINEAR_QUOTIENT && atom->kind != LINEAR_REMAINDER))
        return false;
    __int128 quotient = a / b - (a % b != 0 && (a < 0) != (b < 0));
    *out = atom->kind == LINEAR_QUOTIENT ? quotient : a - quotient * b;
    return true;
}

static bool monomial_value(const struct dependence_pair *pair, int monomial, __int128 *out)
{
    const struct linear_monomial *factors = &pair->builder->context->space.monomials.items[monomial];
    __int128 factor;

    *out = 1;
    for (int k = 0; k < factors->degree; k++) {
        if (!atom_value(pair, factors->atoms[k], &factor) || factor > INT32_MAX || factor < -INT32_MAX ||
            *out > INT64_MAX || *out < -INT64_MAX)
            return false;
        *out *= factor;
    }
    return true;
}

bool dependence_form_value(const struct dependence_pair *pair, const struct linear *form, __int128 *out)
{
    __int128 term;

    *out = form->constant;
    for (int k = 0; k < form->count; k++) {
        if (!monomial_value(pair, form->terms[k].monomial, &term) || term > INT64_MAX || term < -INT64_MAX)
            return false;
        *out += term * form->terms[k].coefficient;
    }
    return true;
}

/* The first guarded precondition that the solution found breaks, or -1; -2 when that cannot be said. */
static int broken_rule(const struct dependence_pair *pair)
{
    const struct prover *prover = &pair->builder->context->prover;

    for (int k = 0; k < prover->rules.count; k++) {
        const struct prover_rule *rule = &prover->rules.items[k];
        bool demanded = true;
        __int128 value;
        for (int g = 0; g < rule->guard_count && demanded; g++) {
            if (!dependence_form_value(pair, &rule->guards[g], &value))
                return -2;
            demanded = value >= 0;
        }
        if (demanded && !dependence_form_value(pair, &rule->form, &value))
            return -2;
        if (demanded && value < 0)
            return k;
    }
    return -1;
}

static bool products_fit(const struct dependence_pair *pair)
{
    const struct context *context = pair->builder->context;
    __int128 value;

    for (int k = 0; pair->now.loose && k < pair->now.columns; k++)
        if (context->space.monomials.items[pair->monomials[k]].degree > 1 &&
            (!monomial_value(pair, pair->monomials[k], &value) || value != pair->builder->solver.values[k]))
            return false;
    return true;
}

/* Gives each product the value that its factors have in the solution, if that leaves it one. */
static bool fit_products(struct dependence_pair *pair)
{
    const struct linear_space *space = &pair->builder->context->space;
    int64_t *values = pair->builder->solver.values, fitted[INTEGER_VARIABLES];
    __int128 value;

    memcpy(fitted, values, sizeof fitted);
    for (int k = 0; k < pair->now.columns; k++) {
        if (space->monomials.items[pair->monomials[k]].degree <= 1)
            continue;
        if (!monomial_value(pair, pair->monomials[k], &value) || value > INT32_MAX || value < -INT32_MAX)
            return false;
        fitted[k] = (int64_t)value;
    }
    if (!integer_is_solution(&pair->system, fitted))
        return false;
    memcpy(values, fitted, sizeof fitted);
    return true;
}

/* Whether the choice may give what is on that side where the atoms that it is made of have the values of the
 * solution found; *out: what that is. */
static bool side_holds(const struct dependence_pair *pair, const struct linear_atom *atom, int side,
                       __int128 *out)
{
    __int128 other;

    if (!dependence_form_value(pair, &atom->children[side], out))
        return false;
    if (atom->kind != LINEAR_SELECT)
        return dependence_form_value(pair, &atom->children[!side], &other) &&
               (atom->kind == LINEAR_MIN ? *out <= other : *out >= other);
    const struct linear *conditions = &atom->children[side == 0 ? 2 + atom->when[0] : 2];
    for (int k = 0; k < atom->when[side == 0]; k++)
        if (!dependence_form_value(pair, &conditions[k], &other) || other < 0)
            return false;
    return true;
}

/* Whether the choice has, in the solution found, a value that it gives. */
static bool choice_fits(const struct dependence_pair *pair, int number)
{
    const struct linear_atom *atom = linear_atom_at(&pair->builder->context->space, number);
    __int128 is, gives;

    if (!atom_value(pair, number, &is))
        return false;
    for (int side = 0; side < 2; side++)
        if (side_holds(pair, atom, side, &gives) && is == gives)
            return true;
    return false;
}

/* The choice that should be taken case by case, of those whose bits are not set: one that the solution found
 * does not fit; -1: there is none. */
static int next_choice(const struct dependence_pair *pair, unsigned taken, bool solved)
{
    int next = -1;

    for (int k = pair->now.choices - 1; k >= 0; k--)
        if (!(taken >> k & 1) && !choice_fits(pair, pair->choices[k]))
            next = k;
    for (int k = 0; k < pair->now.choices && next < 0 && !solved; k++)
        if (!(taken >> k & 1))
            next = k;
    return next;
}

/* Gives each choice such a value, those that others are made of first, if that leaves it a solution. */
static void fit_choices(struct dependence_pair *pair)
{
    const struct linear_space *space = &pair->builder->context->space;
    int64_t *values = pair->builder->solver.values, before[INTEGER_VARIABLES];
    __int128 value;

    memcpy(before, values, sizeof before);
    for (int k = pair->now.choices - 1; k >= 0; k--) {
        const struct linear_atom *atom = linear_atom_at(space, pair->choices[k]);
        int column = find_column(pair, atom->monomial);
        if (column >= 0 && (side_holds(pair, atom, 0, &value) || side_holds(pair, atom, 1, &value)) &&
            value <= INT32_MAX && value >= -INT32_MAX)
            values[column] = (int64_t)value;
    }
    if (!integer_is_solution(&pair->system, values))
        memcpy(values, before, sizeof before);
}

/* As good as it gets. */
static bool is_settled(const struct dependence_pair *pair, enum dependence_possibility possibility)
{
    return possibility == (pair->now.whole ? DEPENDENCE_SURELY : DEPENDENCE_FITTING);
}

static enum dependence_possibility solve_plainly(struct dependence_pair *pair, int depth);

/* A solution breaks `guards => form`: either the form holds, or one of the guards does not. */
static enum dependence_possibility solve_with_rule(struct dependence_pair *pair, int number, int depth)
{
    const struct prover_rule rule = pair->builder->context->prover.rules.items[number];
    enum dependence_possibility best = DEPENDENCE_NEVER;

    for (int k = -1; k < rule.guard_count && !is_settled(pair, best); k++) {
        struct dependence_mark mark = dependence_mark_set(pair);
        struct linear form = rule.form;
        if (k >= 0 && (!linear_scale(&form, &rule.guards[k], -1) || !linear_shift(&form, &form, -1)))
            return DEPENDENCE_PERHAPS;
        dependence_add_row(pair, &form, false);
        dependence_define_atoms(pair);
        enum dependence_possibility here = solve_plainly(pair, depth + 1);
        best = here > best ? here : best;
        dependence_mark_return(pair, &mark);
    }
    return best;
}

static enum dependence_possibility solve_plainly(struct dependence_pair *pair, int depth)
{
    int broken;

    pair->system.variables = pair->now.columns;
    switch (integer_solve(&pair->builder->solver, &pair->system)) {
    case INTEGER_NONE:
        return DEPENDENCE_NEVER;
    case INTEGER_SOME:
        if (next_choice(pair, 0, true) >= 0)
            fit_choices(pair);
        broken = broken_rule(pair);
        if (broken >= 0)
            return depth < DEPENDENCE_RULES ? solve_with_rule(pair, broken, depth) : DEPENDENCE_PERHAPS;
        if (broken == -2 || !(products_fit(pair) || fit_products(pair)))
            return DEPENDENCE_LOOSELY;
        return pair->now.whole ? DEPENDENCE_SURELY : DEPENDENCE_FITTING;
    case INTEGER_UNKNOWN:
        break;
    }
    return DEPENDENCE_PERHAPS;
}

/* `taken`: the choices, as bits, of which a side is taken. */
static enum dependence_possibility solve_cases(struct dependence_pair *pair, unsigned taken)
{
    enum dependence_possibility best = solve_plainly(pair, 0);
    int choice = best == DEPENDENCE_NEVER ? -1 : next_choice(pair, taken, best >= DEPENDENCE_LOOSELY);

    if (choice < 0)
        return best;
    best = DEPENDENCE_NEVER;
    for (int side = 0; side < 2 && !is_settled(pair, best); side++) {
        struct linear_space *space = &pair->builder->context->space;
        const struct linear_atom atom = *linear_atom_at(space, pair->choices[choice]);
        struct dependence_mark mark = dependence_mark_set(pair);
        int first = side == 0 ? 2 + atom.when[0] : 2;
        struct linear self;
        linear_of_atom(space, pair->choices[choice], &self);
        add_equal(pair, &self, &atom.children[side]);
        for (int k = 0; atom.kind == LINEAR_SELECT && k < atom.when[side == 0]; k++)
            dependence_add_row(pair, &atom.children[first + k], false);
        dependence_define_atoms(pair);
        enum dependence_possibility here = solve_cases(pair, taken | 1u << choice);
        best = here > best ? here : best;
        dependence_mark_return(pair, &mark);
    }
    return best;
}

enum dependence_possibility dependence_solve(struct dependence_pair *pair)
{
    if (pair->builder->solver.work > DEPENDENCE_WORK)
        return DEPENDENCE_PERHAPS;
    return solve_cases(pair, 0);
}

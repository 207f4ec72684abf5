/*
 * regions.c: see regions.h.
 *
 * A store writes a point when some iteration of its loops is executed and has the point as its index. Which
 * iteration that may be is guessed from the indices, as a form over the point: i = p for y[i], i = (p - 1) //
 * 2 for y[2 * i + 1], the first one for a loop that no index speaks of. The guess needs no care: that it is
 * within the loops, meets the conditions and has the point as its index is part of the region.
 */
#include "regions.h"

#include <string.h>

enum { LOOPS = 8, REGIONS = 24, QUESTIONS = 2000, QUESTIONS_EACH = 100 };

void regions_init(struct regions *regions, struct context *context)
{
    *regions = (struct regions){.context = context, .questions = QUESTIONS};
    for (int axis = 0; axis < REGIONS_RANK; axis++)
        regions->points[axis] = linear_new_opaque(&context->space, LINEAR_NO_LOW, LINEAR_NO_HIGH);
}

void regions_settle(struct regions *regions)
{
    for (int k = 0; k < regions->items.count; k++)
        regions->items.items[k].done = true;
}

void regions_forget(struct regions *regions, const struct ir_buffer *buffer)
{
    for (int k = 0; k < regions->items.count; k++)
        if (regions->items.items[k].buffer == buffer)
            regions->items.items[k].buffer = NULL;
}

/* ---- which iteration ------------------------------------------------------- */

struct guess {
    struct regions *regions;
    const struct context_loop *loops;
    int count;
    bool known[LOOPS];
    struct linear values[LOOPS]; /* over the point and loops that may not be known */
};

static bool replace_loop(void *guess_pointer, int atom, struct linear *out)
{
    const struct guess *guess = guess_pointer;

    for (int k = 0; k < guess->count; k++)
        if (guess->known[k] && guess->loops[k].atom == atom) {
            *out = guess->values[k];
            return true;
        }
    return false;
}

/* Each round may bring in loops further out. */
static bool substitute(struct guess *guess, const struct linear *form, struct linear *out)
{
    *out = *form;
    for (int round = 0; round < guess->count; round++)
        if (!linear_map(&guess->regions->context->space, out, replace_loop, guess, out))
            return false;
    return true;
}

/* The only loop that is not known and that the form speaks of; -1: none, -2: several. */
static int unknown_loop(const struct guess *guess, const struct linear *form)
{
    int found = -1;

    for (int k = 0; k < guess->count; k++) {
        if (guess->known[k] || !linear_mentions(&guess->regions->context->space, form, guess->loops[k].atom))
            continue;
        if (found >= 0)
            return -2;
        found = k;
    }
    return found;
}

/* Solves point == index for the loop. */
static bool solve_axis(struct guess *guess, int point, const struct linear *index, int loop)
{
    struct linear_space *space = &guess->regions->context->space;
    struct linear coefficient, rest, value, divisor;

    if (!linear_split(space, index, guess->loops[loop].atom, &coefficient, &rest) || coefficient.count ||
        coefficient.constant < -INT32_MAX)
        return false;
    int sign = coefficient.constant < 0 ? -1 : 1;
    linear_constant(&divisor, sign * coefficient.constant);
    linear_of_atom(space, point, &value);
    if (!linear_add(&value, &value, -1, &rest) || !linear_scale(&value, &value, sign))
        return false;
    if (divisor.constant != 1 && !linear_combine(space, LINEAR_QUOTIENT, &value, &value, &divisor))
        return false;
    guess->values[loop] = value;
    guess->known[loop] = true;
    return true;
}

static bool solve_some_axis(struct guess *guess, const struct linear *indices, int rank)
{
    struct linear index;

    for (int axis = 0; axis < rank; axis++) {
        int loop = substitute(guess, &indices[axis], &index) ? unknown_loop(guess, &index) : -1;
        if (loop >= 0 && solve_axis(guess, guess->regions->points[axis], &index, loop))
            return true;
    }
    return false;
}

/* What no index tells is the first iteration, of the innermost loop first. */
static void guess_iteration(struct guess *guess, const struct linear *indices, int rank)
{
    for (int left = guess->count; left > 0; left--) {
        int loop = guess->count - 1;
        if (solve_some_axis(guess, indices, rank))
            continue;
        while (guess->known[loop])
            loop--;
        guess->values[loop] = guess->loops[loop].first;
        guess->known[loop] = true;
    }
}

/* ---- making a region --------------------------------------------------------- */

static bool is_point(const struct regions *regions, int atom)
{
    return atom >= regions->points[0] && atom <= regions->points[REGIONS_RANK - 1];
}

/* Made of points and of what is the same all through the call. */
static bool is_of_points(const struct regions *regions, const struct linear *form)
{
    const struct linear_space *space = &regions->context->space;

    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++) {
            const struct linear_atom *atom = linear_atom_at(space, monomial->atoms[a]);
            if (atom->parameter || is_point(regions, monomial->atoms[a]))
                continue;
            if (atom->kind != LINEAR_QUOTIENT && atom->kind != LINEAR_REMAINDER && atom->kind != LINEAR_MIN &&
                atom->kind != LINEAR_MAX)
                return false;
            for (int c = 0; c < atom->child_count; c++)
                if (!is_of_points(regions, &atom->children[c]))
                    return false;
        }
    }
    return true;
}

/* left - right >= 0 is demanded of the region; false when it cannot be said. */
static bool demand(struct guess *guess, struct region *region, const struct linear *left,
                   const struct linear *right)
{
    struct linear form;

    if (!linear_add(&form, left, -1, right) || !substitute(guess, &form, &form) ||
        !is_of_points(guess->regions, &form) || linear_divides(&guess->regions->context->space, &form))
        return false;
    if (!form.count && form.constant >= 0)
        return true;
    if (region->count == REGIONS_FORMS)
        return false;
    region->forms[region->count++] = form;
    return true;
}

static bool demand_all(struct guess *guess, struct region *region, const struct linear *indices)
{
    const struct context *context = guess->regions->context;
    struct linear form, zero;

    linear_constant(&zero, 0);
    for (int axis = 0; axis < region->buffer->rank; axis++) {
        linear_of_atom(&context->space, guess->regions->points[axis], &form);
        if (!demand(guess, region, &form, &indices[axis]) || !demand(guess, region, &indices[axis], &form))
            return false;
    }
    for (int k = 0; k < guess->count; k++) {
        linear_of_atom(&context->space, guess->loops[k].atom, &form);
        if (!demand(guess, region, &form, &guess->loops[k].first) ||
            !demand(guess, region, &guess->loops[k].last, &form))
            return false;
    }
    for (int k = 0; k < context->conditions.count; k++) {
        const struct context_condition *condition = &context->conditions.items[k];
        for (int f = 0; f < condition->fact_count; f++)
            if (!demand(guess, region, &context->prover.facts.items[condition->first_fact + f].form, &zero))
                return false;
    }
    return true;
}

/* Whether loops and conditions say when the store at hand is executed. */
static bool is_clear(const struct context *context)
{
    for (int k = 0; k < context->loops.count; k++)
        if (context->loops.items[k].atom < 0 || context->loops.items[k].leaves ||
            context->loops.items[k].unclear)
            return false;
    for (int k = 0; k < context->conditions.count; k++)
        if (!context->conditions.items[k].exact)
            return false;
    return context->loops.count <= LOOPS;
}

void regions_add(struct regions *regions, struct ir_buffer *buffer, const struct linear *indices)
{
    struct context *context = regions->context;
    struct linear forms[REGIONS_FORMS];
    struct region region = {.buffer = buffer, .done = !context->loops.count, .forms = forms};
    struct guess guess = {.regions = regions, .loops = context->loops.items, .count = context->loops.count};

    if (buffer->rank > REGIONS_RANK || regions->items.count == REGIONS || !is_clear(context))
        return;
    guess_iteration(&guess, indices, buffer->rank);
    if (!demand_all(&guess, &region, indices))
        return;
    region.forms = arena_array(context->arena, struct linear, region.count);
    memcpy(region.forms, forms, sizeof *forms * (size_t)region.count);
    list_push(context->arena, &regions->items, region);
}

/* ---- the question ------------------------------------------------------------ */

struct search {
    struct regions *regions;
    const struct ir_buffer *buffer;
    int questions; /* left */
};

static bool ask(struct search *search, const struct linear *form)
{
    return search->questions-- > 0 && prover_prove(&search->regions->context->prover, form);
}

/* Every point for which the facts hold lies in one of the regions from `first` on. Where a region may not
 * hold it, for want of one of its inequalities, it is to be held by those that follow. */
static bool covers(struct search *search, int first)
{
    struct prover *prover = &search->regions->context->prover;
    int facts = prover->facts.count, number = first;
    struct linear negated;

    while (number < search->regions->items.count &&
           (search->regions->items.items[number].buffer != search->buffer ||
            !search->regions->items.items[number].done))
        number++;
    if (number == search->regions->items.count)
        return false; /* that the facts contradict each other would have been found where the last was added
                       */
    const struct region region = search->regions->items.items[number];
    bool held = true;
    for (int k = 0; k < region.count && held; k++) {
        if (ask(search, &region.forms[k]))
            continue;
        int without = prover->facts.count;
        held = search->questions > 0 && linear_scale(&negated, &region.forms[k], -1) &&
               linear_shift(&negated, &negated, -1);
        if (held) {
            prover_add(prover, &negated, false);
            held = covers(search, number + 1);
        }
        prover->facts.count = without;
        prover_add(prover, &region.forms[k], false);
    }
    prover->facts.count = facts;
    return held;
}

bool regions_cover(struct regions *regions, const struct ir_buffer *buffer, const struct linear *bounds)
{
    struct context *context = regions->context;
    struct search search = {regions, buffer, QUESTIONS_EACH};
    int facts = context->prover.facts.count, rank = buffer->rank;
    struct linear point, form;
    bool held = rank <= REGIONS_RANK && regions->questions > 0;

    for (int axis = 0; axis < rank && held; axis++) {
        linear_of_atom(&context->space, regions->points[axis], &point);
        for (int high = 0; high < 2 && held; high++) {
            const struct linear *bound = &bounds[high ? rank + axis : axis];
            held = high ? linear_add(&form, bound, -1, &point) : linear_add(&form, &point, -1, bound);
            if (held)
                prover_add(&context->prover, &form, false);
        }
    }
    held = held && covers(&search, 0);
    context->prover.facts.count = facts;
    regions->questions -= QUESTIONS_EACH - search.questions;
    return held;
}

/*
 * linear_fits.c: whether a form is a number that int64 holds.
 *
 * Facts are about integers, machines compute modulo 2^64. The two agree as long as no sum that is compared or
 * divided leaves int64. Extents are taken to stay below 2^40, and products of extents alone to fit (a tensor
 * has no more elements than that); an attribute can be anything, so a limit is chosen under which the sum
 * fits, and becomes a precondition.
 */
#include "linear.h"

static const double extent_magnitude = 0x1p40;
static const double largest_magnitude = 0x1p62;
/* What counts is taken to stay below the first, and may begin at the second: at a small form plus a constant,
 * too. The largest magnitude leaves as much room again. */
static const double small_magnitude = 0x1p61, begin_magnitude = 0x1p61 + 0x1p57;
static const int64_t attribute_limits[] = {INT64_C(1) << 60, INT64_C(1) << 50, INT64_C(1) << 40,
                                           INT64_C(1) << 30, INT64_C(1) << 20, INT64_C(1) << 10};
enum { LIMIT_COUNT = sizeof attribute_limits / sizeof *attribute_limits };

static double form_magnitude(struct linear_space *space, const struct linear *form, int64_t limit, bool note);

static double atom_magnitude(struct linear_space *space, int number, int64_t limit, bool note)
{
    struct linear_atom *atom = linear_atom_at(space, number);
    double magnitude = 0;

    if (atom->low != LINEAR_NO_LOW && atom->high != LINEAR_NO_HIGH) {
        double low = (double)atom->low, high = (double)atom->high;
        return -low > high ? -low : high;
    }
    switch (atom->kind) {
    case LINEAR_DIM:
        return extent_magnitude;
    case LINEAR_ATTRIBUTE:
        if (space->sealed)
            return 0x1p63;
        if (note && (!atom->limit || limit < atom->limit))
            atom->limit = limit;
        return (double)limit;
    case LINEAR_QUOTIENT:
        return form_magnitude(space, &atom->children[0], limit, note);
    case LINEAR_REMAINDER:
        return form_magnitude(space, &atom->children[1], limit, note);
    case LINEAR_LOOP:
    case LINEAR_MIN:
    case LINEAR_MAX:
    case LINEAR_SELECT:
        for (int c = 0; c < 2; c++) {
            double child = form_magnitude(space, &atom->children[c], limit, note);
            magnitude = child > magnitude ? child : magnitude;
        }
        return magnitude;
    case LINEAR_OPAQUE:
    case LINEAR_LOAD:
        break;
    }
    return atom->small ? small_magnitude : 0x1p63;
}

static double form_magnitude(struct linear_space *space, const struct linear *form, int64_t limit, bool note)
{
    double sum = form->constant < 0 ? -(double)form->constant : (double)form->constant;

    for (int k = 0; k < form->count; k++) {
        struct linear_monomial monomial = space->monomials.items[form->terms[k].monomial];
        double coefficient = (double)form->terms[k].coefficient, product = 1;
        bool extents = true;
        for (int a = 0; a < monomial.degree; a++) {
            extents &= linear_atom_at(space, monomial.atoms[a])->kind == LINEAR_DIM;
            product *= atom_magnitude(space, monomial.atoms[a], limit, note);
        }
        if (extents && product > extent_magnitude)
            product = extent_magnitude;
        sum += (coefficient < 0 ? -coefficient : coefficient) * product;
    }
    return sum;
}

/* Under some limits of attributes, which are noted. */
static bool is_below(struct linear_space *space, const struct linear *form, double magnitude)
{
    for (int k = 0; k < LIMIT_COUNT; k++) {
        if (form_magnitude(space, form, attribute_limits[k], false) <= magnitude) {
            form_magnitude(space, form, attribute_limits[k], true);
            return true;
        }
    }
    return false;
}

bool linear_fits(struct linear_space *space, const struct linear *form)
{
    return !form->count ||
           (form->count == 1 && !form->constant && form->terms[0].coefficient == 1 &&
            space->monomials.items[form->terms[0].monomial].degree == 1) ||
           is_below(space, form, largest_magnitude);
}

bool linear_is_small(struct linear_space *space, const struct linear *form)
{
    return is_below(space, form, begin_magnitude);
}

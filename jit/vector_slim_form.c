/*
 * vector_slim_form.c: what several operations on lanes of 8 and 16 bits come to.
 *
 * Consumes the values of a vector loop and their ranges; finds sums and differences that a minimum or a
 * maximum cuts to what the lane holds, magnitudes of differences and rounded averages, for which there are
 * instructions whose operands alone must fit: `min(int32(a[i]) + int32(b[i]), 255)` takes lanes of 8 bits.
 */
#include "vector_slim.h"

struct finder {
    const struct vector_loop *loop;
    struct vector_slim *slim;
    const int *uses;
};

static const struct vector_value *value_at(const struct finder *finder, int number)
{
    return &finder->loop->values.items[number];
}

static bool is_number(const struct finder *finder, int number, int64_t wanted)
{
    return number >= 0 && value_at(finder, number)->kind == VECTOR_CONSTANT &&
           finder->slim->ranges[number].low == wanted;
}

static bool is_operation(const struct finder *finder, int number, enum operation operation)
{
    return value_at(finder, number)->kind == VECTOR_OPERATION &&
           value_at(finder, number)->operation == operation;
}

/* It is part of nothing else, and what it comes to is there. */
static bool is_inner(const struct finder *finder, int number, enum operation operation)
{
    return is_operation(finder, number, operation) && finder->uses[number] == 1 &&
           !finder->slim->ranges[number].wraps;
}

static bool fit(const struct finder *finder, int number, bool is_signed)
{
    const struct vector_value *value = value_at(finder, number);
    for (int k = 0; k < 2; k++)
        if (!slim_fits(&finder->slim->ranges[value->operands[k]], finder->slim->size, is_signed))
            return false;
    return true;
}

static bool note(const struct finder *finder, int number, struct slim_form form)
{
    finder->slim->forms[number] = form;
    finder->slim->forms[form.inner].idiom = SLIM_INNER;
    return true;
}

/* `number` is what cuts the sum or difference `inner`. */
static bool note_cut(const struct finder *finder, int number, int inner, bool is_signed)
{
    bool adds = is_inner(finder, inner, OP_ADD);
    if ((!adds && !is_inner(finder, inner, OP_SUB)) || !fit(finder, inner, is_signed))
        return false;
    return note(finder, number, (struct slim_form){adds ? SLIM_ADD : SLIM_SUBTRACT, inner, is_signed, false});
}

/* a + c below 0 is nothing, of a negative c: a - (-c). */
static bool note_negated(const struct finder *finder, int number, int inner)
{
    if (!is_inner(finder, inner, OP_ADD))
        return false;
    int a = value_at(finder, inner)->operands[0], c = value_at(finder, inner)->operands[1];
    int64_t low = finder->slim->ranges[c].low;
    if (value_at(finder, c)->kind != VECTOR_CONSTANT || low == INT64_MIN)
        return false;
    struct slim_range size = {-low, -low, false};
    if (!slim_fits(&size, finder->slim->size, false) ||
        !slim_fits(&finder->slim->ranges[a], finder->slim->size, false))
        return false;
    return note(finder, number, (struct slim_form){SLIM_SUBTRACT, inner, false, true});
}

/* The other operand of a minimum or maximum with a constant; -1: it is none with that one. */
static int cut_by(const struct finder *finder, int number, enum operation operation, int64_t limit)
{
    const struct vector_value *value = value_at(finder, number);
    if (!is_operation(finder, number, operation))
        return -1;
    return is_number(finder, value->operands[1], limit)   ? value->operands[0]
           : is_number(finder, value->operands[0], limit) ? value->operands[1]
                                                          : -1;
}

/* A maximum that changes nothing is passed by. */
static int behind_floor(const struct finder *finder, int number)
{
    int inner = cut_by(finder, number, OP_MAX, 0);
    return inner >= 0 && finder->uses[number] == 1 && finder->slim->ranges[inner].low >= 0 ? inner : number;
}

static bool cuts_without_sign(const struct finder *finder, int number)
{
    int64_t most = ((int64_t)1 << 8 * finder->slim->size) - 1;
    int sum = cut_by(finder, number, OP_MIN, most), difference = cut_by(finder, number, OP_MAX, 0);
    if (sum >= 0) {
        int inner = behind_floor(finder, sum);
        if (!is_inner(finder, inner, OP_ADD) || !note_cut(finder, number, inner, false))
            return false;
        if (inner != sum)
            finder->slim->forms[sum].idiom = SLIM_INNER;
        return true;
    }
    return difference >= 0 &&
           ((is_inner(finder, difference, OP_SUB) && note_cut(finder, number, difference, false)) ||
            note_negated(finder, number, difference));
}

static bool cuts_with_sign(const struct finder *finder, int number)
{
    int64_t most = ((int64_t)1 << (8 * finder->slim->size - 1)) - 1;
    for (int k = 0; k < 2; k++) {
        int outer = cut_by(finder, number, k ? OP_MAX : OP_MIN, k ? -most - 1 : most);
        int inner = outer < 0 || finder->uses[outer] != 1
                        ? -1
                        : cut_by(finder, outer, k ? OP_MIN : OP_MAX, k ? most : -most - 1);
        if (inner < 0 || !note_cut(finder, number, inner, true))
            continue;
        finder->slim->forms[outer].idiom = SLIM_INNER;
        return true;
    }
    return false;
}

static bool is_average(const struct finder *finder, int number)
{
    const struct vector_value *value = value_at(finder, number);
    if (!is_operation(finder, number, OP_SHR) || !is_number(finder, value->operands[1], 1) ||
        !is_inner(finder, value->operands[0], OP_ADD))
        return false;
    const struct vector_value *sum = value_at(finder, value->operands[0]);
    int both = sum->operands[0];
    if (!is_number(finder, sum->operands[1], 1) || !is_inner(finder, both, OP_ADD) ||
        !fit(finder, both, false))
        return false;
    finder->slim->forms[value->operands[0]].idiom = SLIM_INNER;
    return note(finder, number, (struct slim_form){SLIM_AVERAGE, both, false, false});
}

static bool is_distance(const struct finder *finder, int number)
{
    int inner = value_at(finder, number)->operands[0];
    return is_operation(finder, number, OP_ABS) && is_inner(finder, inner, OP_SUB) &&
           fit(finder, inner, false) &&
           note(finder, number, (struct slim_form){SLIM_DISTANCE, inner, false, false});
}

void slim_find_forms(struct vector_slim *slim, const struct vector_loop *loop, int *uses)
{
    struct finder finder = {loop, slim, uses};
    for (int k = 0; k < loop->values.count; k++)
        slim->forms[k] = (struct slim_form){SLIM_PLAIN, -1, false, false};
    for (int k = loop->values.count - 1; k >= 0; k--) {
        if (value_at(&finder, k)->kind != VECTOR_OPERATION || slim->forms[k].idiom == SLIM_INNER)
            continue;
        if (!cuts_without_sign(&finder, k) && !cuts_with_sign(&finder, k) && !is_average(&finder, k))
            is_distance(&finder, k);
    }
}

/* ---- from one number to another ----------------------------------------------------------------------- */

/* c - w, of a constant that w is not above; -1: it is no such. */
static int64_t complement(const struct finder *finder, int number, int w)
{
    const struct slim_range *range = &finder->slim->ranges[w];
    if (!is_operation(finder, number, OP_SUB) || value_at(finder, number)->operands[1] != w)
        return -1;
    int c = value_at(finder, number)->operands[0];
    int64_t whole = finder->slim->ranges[c].low;
    bool is_weight = value_at(finder, c)->kind == VECTOR_CONSTANT && range->low >= 0 && range->high <= whole;
    return is_weight ? whole : -1;
}

bool slim_blend_range(const struct vector_loop *loop, const struct vector_slim *slim,
                      const struct vector_value *sum, struct slim_range *range)
{
    enum { LARGEST = 1 << 15 };
    struct finder finder = {loop, (struct vector_slim *)slim, NULL};
    for (int k = 0; k < 16; k++) { /* any order of the operands of all three */
        int first = sum->operands[k & 1], second = sum->operands[1 - (k & 1)];
        if (!is_operation(&finder, first, OP_MUL) || !is_operation(&finder, second, OP_MUL))
            return false;
        const int *x = value_at(&finder, first)->operands, *y = value_at(&finder, second)->operands;
        int w = x[k >> 1 & 1], a = x[1 - (k >> 1 & 1)], rest = y[k >> 2 & 1], b = y[1 - (k >> 2 & 1)];
        int64_t whole = complement(&finder, rest, w);
        const struct slim_range *from = &slim->ranges[a], *to = &slim->ranges[b];
        if (whole < 0 || whole > LARGEST || from->low < 0 || to->low < 0 || from->high > LARGEST ||
            to->high > LARGEST || slim->ranges[first].wraps || slim->ranges[second].wraps)
            continue;
        range->low = whole * (from->low < to->low ? from->low : to->low);
        range->high = whole * (from->high > to->high ? from->high : to->high);
        range->wraps = false;
        return true;
    }
    return false;
}

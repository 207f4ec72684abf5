/*
 * overlap.c: whether strided views share memory.
 *
 * Two views meet where two sums, each of strides times indices, are equal: one linear equation in bounded
 * integers. Brought to positive coefficients it reads
 *
 *     c0 * x0 + c1 * x1 + ... = target     0 <= xk <= most_k     c0 > c1 > ...
 *
 * and is searched from the largest coefficient on, each variable within what the others can make up for. For
 * views of arrays every stride exceeds what the smaller ones reach, so that hardly anything is left to try.
 * Assumes tensors whose extents were checked when they were made: no sum here overflows 64 bits.
 */
#include "overlap.h"

enum { MOST_TERMS = 2 * AKG_MAX_RANK + 1, MOST_STEPS = 10000 };

struct equation {
    int count;
    uint64_t coefficients[MOST_TERMS], most[MOST_TERMS]; /* by falling coefficient, each once */
    uint64_t reach[MOST_TERMS + 1];                      /* the largest sum of the terms from k on */
    int steps;                                           /* left until the search gives up */
};

static void equation_add(struct equation *equation, uint64_t coefficient, uint64_t most)
{
    int at = 0;

    if (most == 0 || coefficient == 0)
        return;
    while (at < equation->count && equation->coefficients[at] > coefficient)
        at++;
    if (at < equation->count && equation->coefficients[at] == coefficient) {
        equation->most[at] += most;
        return;
    }
    for (int k = equation->count++; k > at; k--) {
        equation->coefficients[k] = equation->coefficients[k - 1];
        equation->most[k] = equation->most[k - 1];
    }
    equation->coefficients[at] = coefficient;
    equation->most[at] = most;
}

/* A solution of the terms from k on; true as well when the search gives up. */
static bool equation_search(struct equation *equation, int k, uint64_t target)
{
    uint64_t coefficient, value, least = 0;

    if (target > equation->reach[k])
        return false;
    if (target == 0 || equation->steps-- <= 0)
        return true;
    coefficient = equation->coefficients[k];
    value = target / coefficient;
    if (value > equation->most[k])
        value = equation->most[k];
    if (target > equation->reach[k + 1])
        least = (target - equation->reach[k + 1] + coefficient - 1) / coefficient;
    for (uint64_t tries = value + 1; tries > least; tries--)
        if (equation_search(equation, k + 1, target - (tries - 1) * coefficient))
            return true;
    return false;
}

static bool equation_solve(struct equation *equation, uint64_t target)
{
    equation->steps = MOST_STEPS;
    equation->reach[equation->count] = 0;
    for (int k = equation->count - 1; k >= 0; k--)
        equation->reach[k] = equation->reach[k + 1] + equation->coefficients[k] * equation->most[k];
    return equation_search(equation, 0, target);
}

void overlap_find_ends(const akg_tensor *tensor, uintptr_t *first, uintptr_t *last)
{
    int64_t lowest, highest, size = dtype_table[tensor->dtype].size;

    if (tensor->contiguous) { /* most are, and every call asks */
        *first = (uintptr_t)tensor->data;
        *last = *first + (uintptr_t)(tensor->element_count * size - 1);
        return;
    }
    tensor_extent(tensor->dtype, tensor->rank, tensor_shape(tensor), tensor_strides(tensor), &lowest,
                  &highest);
    *first = (uintptr_t)tensor->data + (uintptr_t)(lowest * size);
    *last = (uintptr_t)tensor->data + (uintptr_t)((highest + 1) * size - 1);
}

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

static void add_axes(struct equation *equation, const akg_tensor *tensor)
{
    uint64_t size = (uint64_t)dtype_table[tensor->dtype].size;

    for (int axis = 0; axis < tensor->rank; axis++)
        if (tensor_shape(tensor)[axis] > 1)
            equation_add(equation, magnitude(tensor_strides(tensor)[axis]) * size,
                         (uint64_t)tensor_shape(tensor)[axis] - 1);
}

/* a upwards from its first byte meets b downwards from its last. */
static bool meets(const akg_tensor *a, const akg_tensor *b, uint64_t distance)
{
    struct equation equation;

    equation.count = 0;
    add_axes(&equation, a);
    add_axes(&equation, b);
    equation_add(&equation, 1, (uint64_t)(dtype_table[a->dtype].size + dtype_table[b->dtype].size) - 2);
    return equation_solve(&equation, distance);
}

bool overlap_between(const akg_tensor *a, const akg_tensor *b)
{
    uintptr_t first_a, last_a, first_b, last_b;

    if (a->element_count == 0 || b->element_count == 0)
        return false;
    overlap_find_ends(a, &first_a, &last_a);
    overlap_find_ends(b, &first_b, &last_b);
    if (first_a > last_b || first_b > last_a)
        return false;
    return (a->contiguous && b->contiguous) || meets(a, b, last_b - first_a);
}

/* Two indices that meet differ first on some axis, there by 1 or more. */
static bool meets_from(const akg_tensor *tensor, int axis)
{
    struct equation equation;
    const int64_t *shape = tensor_shape(tensor), *strides = tensor_strides(tensor);
    uint64_t own = magnitude(strides[axis]), target = 0;

    if (shape[axis] < 2)
        return false;
    equation.count = 0;
    equation_add(&equation, own, (uint64_t)shape[axis] - 2);
    for (int k = axis + 1; k < tensor->rank; k++) {
        if (shape[k] < 2)
            continue;
        equation_add(&equation, magnitude(strides[k]), 2 * ((uint64_t)shape[k] - 1));
        target += magnitude(strides[k]) * ((uint64_t)shape[k] - 1);
    }
    return target >= own && equation_solve(&equation, target - own);
}

bool overlap_within(const akg_tensor *tensor)
{
    if (tensor->contiguous || tensor->element_count < 2)
        return false;
    for (int axis = 0; axis < tensor->rank; axis++)
        if (meets_from(tensor, axis))
            return true;
    return false;
}

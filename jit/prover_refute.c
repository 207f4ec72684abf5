/*
 * prover_refute.c: whether a system of inequalities over the integers is contradictory.
 *
 * First by chains of combinations that begin with the goal, then by eliminating column after column. Numbers
 * that overflow and rows for which there is no room are left out, which can only lose a contradiction.
 */
#include "prover_private.h"

#include <string.h>

enum {
    WORK_ROWS = 160,  /* of an elimination */
    WORK_SLOTS = 512, /* of its hash table */
    CHAIN_DEPTH = 10,
    CHAIN_STEPS = 160,  /* combinations tried before elimination takes over */
    ROUNDING_WORTH = 24 /* rows */
};

uint64_t prover_row_key(const struct row *row, int columns)
{
    uint64_t key = 0, weight = 1;

    for (int k = 0; k < columns; k++) {
        weight *= 0x9e3779b97f4a7c15u;
        key += weight * (uint64_t)row->c[k];
    }
    return key;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Divides by the common factor of the coefficients; over the integers the constant rounds down. */
static void tighten(struct row *row, int columns)
{
    int64_t common = 0;

    for (int k = 0; k < columns && common != 1; k++)
        if (row->c[k])
            common = row->c[k] == INT64_MIN ? 1 : gcd(row->c[k], common);
    if (common <= 1)
        return;
    for (int k = 0; k < columns; k++)
        row->c[k] /= common;
    row->constant = row->constant / common - (row->constant % common < 0);
    row->key = prover_row_key(row, columns);
}

static bool is_empty(const struct row *row, int columns)
{
    for (int k = 0; k < columns; k++)
        if (row->c[k])
            return false;
    return true;
}

/* The positive combination of two rows in which `column` is gone; of no columns beyond these. */
static bool combine(struct row *out, const struct row *a, const struct row *b, int column, int columns)
{
    int64_t p = a->c[column], q = b->c[column], common, left, right;

    if (p == INT64_MIN || q == INT64_MIN)
        return false;
    common = gcd(p, q);
    p = (p < 0 ? -p : p) / common;
    q = (q < 0 ? -q : q) / common;
    out->goal = false;
    for (int k = 0; k < columns; k++)
        if (__builtin_mul_overflow(a->c[k], q, &left) || __builtin_mul_overflow(b->c[k], p, &right) ||
            __builtin_add_overflow(left, right, &out->c[k]))
            return false;
    if (__builtin_mul_overflow(a->constant, q, &left) || __builtin_mul_overflow(b->constant, p, &right) ||
        __builtin_add_overflow(left, right, &out->constant))
        return false;
    out->assumed = a->assumed || b->assumed;
    out->key = a->key * (uint64_t)q + b->key * (uint64_t)p;
    tighten(out, columns);
    return true;
}

static void count_signs(struct signs *signs, const struct row *rows, int count, int columns)
{
    *signs = (struct signs){{0}, {0}, {0}, {0}};
    for (int r = 0; r < count; r++)
        for (int k = 0; k < columns; k++) {
            signs->positive[k] += rows[r].c[k] > 0;
            signs->negative[k] += rows[r].c[k] < 0;
            signs->above[k] += rows[r].c[k] > 1;
            signs->below[k] += rows[r].c[k] < -1;
        }
}

/* The column of `row` that the fewest rows can cancel; `count` says how many. */
static int narrowest_column(const struct system *system, const struct row *row, int *count)
{
    int best = -1;

    *count = ROWS + 1;
    for (int k = system->columns - 1; k >= 0; k--) {
        if (!row->c[k])
            continue;
        int opposite = row->c[k] > 0 ? system->signs.negative[k] : system->signs.positive[k];
        if (opposite < *count) {
            *count = opposite;
            best = k;
        }
    }
    return best;
}

/* Follows combinations of `row` with the rows of the system to a contradiction. */
static bool chain(struct system *system, const struct row *row, int depth)
{
    struct row next;
    int count, column;

    if (is_empty(row, system->columns)) {
        if (row->constant < 0)
            system->assumed |= row->assumed;
        return row->constant < 0;
    }
    column = narrowest_column(system, row, &count);
    if (!count)
        return false;
    if (depth == CHAIN_DEPTH) {
        system->gave_up = true;
        return false;
    }
    for (int r = 0; r < system->row_count; r++) {
        const struct row *other = &system->rows[r];
        if (!other->c[column] || (other->c[column] > 0) == (row->c[column] > 0))
            continue;
        if (system->steps++ >= CHAIN_STEPS) {
            system->gave_up = true;
            return false;
        }
        if (combine(&next, row, other, column, system->columns) && chain(system, &next, depth + 1))
            return true;
    }
    return false;
}

struct elimination {
    int columns, count;
    struct row rows[WORK_ROWS];
    unsigned char slots[WORK_SLOTS]; /* hash table over their keys: row + 1 */
};

static void elimination_begin(struct elimination *work, int columns)
{
    work->columns = columns;
    work->count = 0;
    memset(work->slots, 0, sizeof work->slots);
}

/* Adds a combination; true when it is a contradiction. */
static bool eliminate_keep(struct elimination *work, const struct row *row)
{
    size_t size = sizeof *row->c * (size_t)work->columns;

    if (is_empty(row, work->columns))
        return row->constant < 0;
    unsigned slot = (unsigned)(row->key >> 40) % WORK_SLOTS;
    for (; work->slots[slot]; slot = (slot + 1) % WORK_SLOTS) {
        struct row *other = &work->rows[work->slots[slot] - 1];
        if (other->key == row->key && memcmp(other->c, row->c, size) == 0) {
            if (row->constant < other->constant)
                memcpy(other, row, offsetof(struct row, c));
            return false;
        }
    }
    if (work->count < WORK_ROWS) {
        memcpy(&work->rows[work->count++], row, offsetof(struct row, c) + size);
        work->slots[slot] = (unsigned char)work->count;
    }
    return false;
}

/* The column whose elimination makes the fewest rows, or -1 when none is left. One that is bounded by
 * multiples of itself from both sides counts as `worth` rows more: with it goes what can be concluded from
 * rounding. */
static int cheapest_column(const struct elimination *work, int worth)
{
    int best = -1, least = INT32_MAX;
    struct signs signs;

    count_signs(&signs, work->rows, work->count, work->columns);
    for (int k = 0; k < work->columns; k++) {
        int positive = signs.positive[k], negative = signs.negative[k];
        int made = positive * negative - positive - negative;
        if (signs.above[k] && signs.below[k])
            made += worth;
        if (positive + negative && made < least) {
            least = made;
            best = k;
        }
    }
    return best;
}

static bool eliminate_column(struct elimination *work, struct elimination *next, int column, bool *assumed)
{
    struct row row;

    elimination_begin(next, work->columns);
    for (int a = 0; a < work->count; a++) {
        if (!work->rows[a].c[column])
            eliminate_keep(next, &work->rows[a]);
        for (int b = 0; work->rows[a].c[column] > 0 && b < work->count; b++) {
            if (work->rows[b].c[column] >= 0 ||
                !combine(&row, &work->rows[a], &work->rows[b], column, work->columns))
                continue;
            if (eliminate_keep(next, &row)) {
                *assumed |= row.assumed;
                return true;
            }
        }
    }
    return false;
}

static bool eliminate(struct system *system, int worth)
{
    struct elimination halves[2], *work = &halves[0], *next = &halves[1];

    elimination_begin(work, system->columns);
    for (int r = 0; r < system->row_count; r++)
        if (eliminate_keep(work, &system->rows[r]))
            return true;
    for (int column; (column = cheapest_column(work, worth)) >= 0;) {
        struct elimination *done = work;
        if (eliminate_column(work, next, column, &system->assumed))
            return true;
        work = next;
        next = done;
    }
    return false;
}

bool prover_refute(struct system *system, bool rounds)
{
    system->steps = 0;
    system->gave_up = false;
    count_signs(&system->signs, system->rows, system->row_count, system->columns);
    for (int k = 0; k < system->row_count; k++)
        if (system->rows[k].goal && chain(system, &system->rows[k], 0))
            return true;
    return (system->gave_up && eliminate(system, 0)) || (rounds && eliminate(system, ROUNDING_WORTH));
}

/*
 * prover_refute.c: whether a system of inequalities over the integers is contradictory.
 *
 * First by chains of combinations that begin with the goal, then by eliminating column after column. Rows
 * that nothing can cancel take part in neither. Numbers that overflow and rows for which there is no room are
 * left out, which can only lose a contradiction.
 */
#include "../base/number.h"
#include "prover_private.h"

#include <string.h>

enum {
    WORK_ROWS = 160,  /* of an elimination */
    WORK_SLOTS = 512, /* of its hash table */
    CHAIN_DEPTH = 10,
    CHAIN_STEPS = 160,  /* combinations tried before elimination takes over */
    ROUNDING_WORTH = 24 /* rows */
};

/* Rows in which the coefficient of a column is positive, and negative; and in which it is beyond 1 and -1. */
struct signs {
    int positive[COLUMNS], negative[COLUMNS], above[COLUMNS], below[COLUMNS];
};

/* For each column k that `row` has, the next one of `rest`, which begins as row->used. */
#define EACH_COLUMN(k, rest) for (int k; rest && (k = __builtin_ctz(rest), true); rest &= rest - 1)

/* ---- rows -------------------------------------------------------------------- */

void prover_row_finish(struct row *row, int columns)
{
    uint64_t weight = 1;

    row->key = 0;
    row->used = 0;
    for (int k = 0; k < columns; k++) {
        weight *= 0x9e3779b97f4a7c15u;
        row->key += weight * (uint64_t)row->c[k];
        row->used |= (uint32_t)(row->c[k] != 0) << k;
    }
}

/* Divides by the common factor of the coefficients; over the integers the constant rounds down. */
static void tighten(struct row *row, int columns)
{
    uint32_t rest = row->used;
    int64_t common = 0;

    for (; rest && common != 1; rest &= rest - 1) {
        int64_t c = row->c[__builtin_ctz(rest)];
        common = c == INT64_MIN ? 1 : number_common_divisor(c, common);
    }
    if (common <= 1)
        return;
    rest = row->used;
    EACH_COLUMN(k, rest)
        row->c[k] /= common;
    row->constant = row->constant / common - (row->constant % common < 0);
    prover_row_finish(row, columns);
}

/* out = p * a + q * b in all columns; false where that overflows. */
static bool add_multiples(struct row *out, const struct row *a, int64_t p, const struct row *b, int64_t q)
{
    uint32_t rest = a->used | b->used;
    int64_t left, right;

    out->used = 0;
    memset(out->c, 0, sizeof out->c);
    EACH_COLUMN(k, rest) {
        if (__builtin_mul_overflow(a->c[k], p, &left) || __builtin_mul_overflow(b->c[k], q, &right) ||
            __builtin_add_overflow(left, right, &out->c[k]))
            return false;
        out->used |= (uint32_t)(out->c[k] != 0) << k;
    }
    return !__builtin_mul_overflow(a->constant, p, &left) &&
           !__builtin_mul_overflow(b->constant, q, &right) &&
           !__builtin_add_overflow(left, right, &out->constant);
}

/* The positive combination of two rows in which `column` is gone; of no columns beyond these. */
static bool combine(struct row *out, const struct row *a, const struct row *b, int column, int columns)
{
    int64_t p = a->c[column], q = b->c[column], common;

    if (p == INT64_MIN || q == INT64_MIN)
        return false;
    common = number_common_divisor(p, q);
    p = (p < 0 ? -p : p) / common;
    q = (q < 0 ? -q : q) / common;
    if (!add_multiples(out, a, q, b, p))
        return false;
    out->goal = false;
    out->assumed = a->assumed || b->assumed;
    out->key = a->key * (uint64_t)q + b->key * (uint64_t)p;
    tighten(out, columns);
    return true;
}

/* Counts the row in, or out again when `by` is -1. */
static void count_row(struct signs *signs, const struct row *row, int by)
{
    uint32_t rest = row->used;

    EACH_COLUMN(k, rest) {
        *(row->c[k] > 0 ? &signs->positive[k] : &signs->negative[k]) += by;
        signs->above[k] += row->c[k] > 1 ? by : 0;
        signs->below[k] += row->c[k] < -1 ? by : 0;
    }
}

/* The columns that have one sign only: nothing cancels them. */
static uint32_t one_sided(const struct signs *signs, int columns)
{
    uint32_t mask = 0;

    for (int k = 0; k < columns; k++)
        mask |= (uint32_t)(!signs->positive[k] != !signs->negative[k]) << k;
    return mask;
}

/* ---- chains ------------------------------------------------------------------ */

/* The rows of a system that a contradiction could be made of. */
struct search {
    struct system *system;
    const struct row *rows[ROWS];
    int count, columns;
    struct signs signs;
    int steps;
    bool gave_up;
};

static void search_begin(struct search *search, struct system *system)
{
    uint32_t lost;

    *search = (struct search){.system = system, .columns = system->columns};
    for (int r = 0; r < system->row_count; r++) {
        search->rows[search->count++] = &system->rows[r];
        count_row(&search->signs, &system->rows[r], 1);
    }
    while ((lost = one_sided(&search->signs, search->columns))) {
        int kept = 0;
        for (int r = 0; r < search->count; r++) {
            if (search->rows[r]->used & lost)
                count_row(&search->signs, search->rows[r], -1);
            else
                search->rows[kept++] = search->rows[r];
        }
        search->count = kept;
    }
}

/* The column of `row` that the fewest rows can cancel; `count` says how many. */
static int narrowest_column(const struct search *search, const struct row *row, int *count)
{
    uint32_t rest = row->used;
    int best = -1;

    *count = ROWS + 1;
    EACH_COLUMN(k, rest) {
        int opposite = row->c[k] > 0 ? search->signs.negative[k] : search->signs.positive[k];
        if (opposite <= *count) { /* of equals the last: what was added for the sake of others */
            *count = opposite;
            best = k;
        }
    }
    return best;
}

/* Follows combinations of `row` with the rows of the search to a contradiction. */
static bool chain(struct search *search, const struct row *row, int depth)
{
    struct row next;
    int count, column;

    if (!row->used) {
        if (row->constant < 0)
            search->system->assumed |= row->assumed;
        return row->constant < 0;
    }
    column = narrowest_column(search, row, &count);
    if (!count)
        return false;
    if (depth == CHAIN_DEPTH) {
        search->gave_up = true;
        return false;
    }
    for (int r = 0; r < search->count; r++) {
        const struct row *other = search->rows[r];
        if (!other->c[column] || (other->c[column] > 0) == (row->c[column] > 0))
            continue;
        if (search->steps++ >= CHAIN_STEPS) {
            search->gave_up = true;
            return false;
        }
        if (combine(&next, row, other, column, search->columns) && chain(search, &next, depth + 1))
            return true;
    }
    return false;
}

/* ---- elimination ------------------------------------------------------------- */

struct elimination {
    int columns, count;
    struct row rows[WORK_ROWS];
    unsigned char slots[WORK_SLOTS]; /* hash table over their keys, while they are kept: row + 1 */
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
    if (!row->used)
        return row->constant < 0;
    unsigned slot = (unsigned)(row->key >> 40) % WORK_SLOTS;
    for (; work->slots[slot]; slot = (slot + 1) % WORK_SLOTS) {
        struct row *other = &work->rows[work->slots[slot] - 1];
        if (other->key == row->key && memcmp(other->c, row->c, sizeof row->c) == 0) {
            if (row->constant < other->constant)
                memcpy(other, row, offsetof(struct row, c));
            return false;
        }
    }
    if (work->count < WORK_ROWS) {
        work->rows[work->count++] = *row;
        work->slots[slot] = (unsigned char)work->count;
    }
    return false;
}

/* Without the rows that nothing can cancel any more. */
static void eliminate_lost(struct elimination *work, struct signs *signs)
{
    uint32_t lost;

    *signs = (struct signs){{0}, {0}, {0}, {0}};
    for (int r = 0; r < work->count; r++)
        count_row(signs, &work->rows[r], 1);
    while ((lost = one_sided(signs, work->columns))) {
        int kept = 0;
        for (int r = 0; r < work->count; r++) {
            if (work->rows[r].used & lost) {
                count_row(signs, &work->rows[r], -1);
                continue;
            }
            if (kept != r)
                work->rows[kept] = work->rows[r];
            kept++;
        }
        work->count = kept;
    }
}

/* The column whose elimination makes the fewest rows, or -1 when none is left. One that is bounded by
 * multiples of itself from both sides counts as `worth` rows more: with it goes what can be concluded from
 * rounding. */
static int cheapest_column(const struct elimination *work, const struct signs *signs, int worth)
{
    int best = -1, least = INT32_MAX;

    for (int k = 0; k < work->columns; k++) {
        int positive = signs->positive[k], negative = signs->negative[k];
        int made = positive * negative - positive - negative;
        if (signs->above[k] && signs->below[k])
            made += worth;
        if (positive && made < least) {
            least = made;
            best = k;
        }
    }
    return best;
}

/* Keeps the combination of the two; true when it is a contradiction. */
static bool keep_combination(struct elimination *next, const struct row *a, const struct row *b, int column,
                             bool *assumed)
{
    struct row row;

    if (!combine(&row, a, b, column, next->columns) || !eliminate_keep(next, &row))
        return false;
    *assumed |= row.assumed;
    return true;
}

static bool eliminate_column(struct elimination *work, struct elimination *next, int column, bool *assumed)
{
    elimination_begin(next, work->columns);
    for (int a = 0; a < work->count; a++) {
        if (!work->rows[a].c[column])
            eliminate_keep(next, &work->rows[a]);
        for (int b = 0; work->rows[a].c[column] > 0 && b < work->count; b++)
            if (work->rows[b].c[column] < 0 &&
                keep_combination(next, &work->rows[a], &work->rows[b], column, assumed))
                return true;
    }
    return false;
}

static bool eliminate(struct search *search, int worth)
{
    struct elimination halves[2], *work = &halves[0], *next = &halves[1];
    struct signs signs;

    elimination_begin(work, search->columns);
    for (int r = 0; r < search->count; r++)
        if (eliminate_keep(work, search->rows[r]))
            return true;
    for (;;) {
        struct elimination *done = work;
        eliminate_lost(work, &signs);
        int column = cheapest_column(work, &signs, worth);
        if (column < 0)
            return false;
        if (eliminate_column(work, next, column, &search->system->assumed))
            return true;
        work = next;
        next = done;
    }
}

bool prover_refute(struct system *system, bool rounds)
{
    struct search search;

    search_begin(&search, system);
    for (int r = 0; r < search.count; r++)
        if (search.rows[r]->goal && chain(&search, search.rows[r], 0))
            return true;
    return (search.gave_up && eliminate(&search, 0)) || (rounds && eliminate(&search, ROUNDING_WORTH));
}

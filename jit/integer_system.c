/*
 * integer_system.c: see integer_system.h.
 *
 * A part is a run of rows at the top of the pool. Each step rewrites its part, or builds another above
 * it, and goes on with one variable less; on the way back the variable gets its value. Coefficients are kept
 * below LARGEST, so that no sum over a row leaves 128 bits.
 */
#include "integer_system.h"
#include "../base/number.h"

#include <string.h>

enum { POOL = 1500, POOL_SLOTS = 2048, STEPS = 20000, SPLINTERS = 64 };

#define LARGEST (INT64_C(1) << 56)
#define MODERATE (INT64_C(1) << 40) /* in a system as it is given */

typedef __int128 wide;

/* For each variable k of `rest`, the next one of which goes: a row's used. */
#define EACH_VARIABLE(k, rest) for (int k; rest && (k = __builtin_ctzll(rest), true); rest &= rest - 1)

struct part {
    struct integer_row *rows;
    int count;
};

void integer_solver_init(struct integer_solver *solver, struct arena *arena)
{
    *solver = (struct integer_solver){.pool = arena_take(arena, POOL * sizeof *solver->pool),
                                      .keys = arena_take(arena, POOL * sizeof *solver->keys)};
    solver->weights[0] = 0x9e3779b97f4a7c15u;
    for (int k = 1; k < INTEGER_VARIABLES; k++)
        solver->weights[k] = solver->weights[k - 1] * solver->weights[0];
}

/* ---- rows ---------------------------------------------------------------- */

static struct integer_row *row_new(struct integer_solver *solver)
{
    if (solver->used == POOL || solver->steps <= 0)
        return NULL;
    solver->steps--;
    solver->work++;
    return &solver->pool[solver->used++];
}

static size_t row_size(const struct integer_solver *solver)
{
    return offsetof(struct integer_row, c) + sizeof(int64_t) * (size_t)solver->variables;
}

/* A copy, settled as the row is: the rows of a part that are settled all come from one. */
static bool row_push(struct integer_solver *solver, struct part *part, const struct integer_row *row)
{
    struct integer_row *copy = row_new(solver);

    if (!copy)
        return false;
    memcpy(copy, row, row_size(solver));
    part->count++;
    return true;
}

static struct part part_begin(const struct integer_solver *solver)
{
    return (struct part){&solver->pool[solver->used], 0};
}

/* The keys of its rows, while they are compared (row_key). */
static uint64_t *part_keys(const struct integer_solver *solver, const struct part *part)
{
    return &solver->keys[part->rows - solver->pool];
}

static void part_drop(struct integer_solver *solver, struct part *part, int row)
{
    part->count--;
    solver->used--;
    if (row != part->count) {
        memcpy(&part->rows[row], &part->rows[part->count], row_size(solver));
        part_keys(solver, part)[row] = part_keys(solver, part)[part->count];
    }
}

/* out = p * a + q * b, where out may be a; false when it grows too large. */
static bool row_combine(const struct integer_solver *solver, struct integer_row *out,
                        const struct integer_row *a, int64_t p, const struct integer_row *b, int64_t q)
{
    wide value = (wide)a->constant * p + (wide)b->constant * q;
    uint64_t rest = a->used | b->used;

    if (out != a) {
        memset(out->c, 0, sizeof *out->c * (size_t)solver->variables);
        out->used = 0;
    }
    out->constant = (int64_t)value;
    if (value > LARGEST || value < -LARGEST)
        return false;
    EACH_VARIABLE(k, rest) {
        value = (wide)a->c[k] * p + (wide)b->c[k] * q;
        if (value > LARGEST || value < -LARGEST)
            return false;
        integer_row_set(out, k, (int64_t)value);
    }
    out->settled = false;
    return true;
}

static wide row_value(const struct integer_solver *solver, const struct integer_row *row, int except)
{
    uint64_t rest = row->used;
    wide sum = row->constant;

    EACH_VARIABLE(k, rest)
        if (k != except)
            sum += (wide)row->c[k] * solver->values[k];
    return sum;
}

static bool set_value(struct integer_solver *solver, int variable, wide value)
{
    if (value > LARGEST || value < -LARGEST)
        return false;
    solver->values[variable] = (int64_t)value;
    return true;
}

/* ---- tidying ------------------------------------------------------------- */

enum fate { ROW_STAYS, ROW_HOLDS, ROW_NEVER };

/* Divides by the common factor; over the integers the constant of an inequality rounds down. */
static enum fate row_tighten(struct integer_row *row)
{
    uint64_t rest = row->used;
    int64_t common = 0;

    for (; rest && common != 1; rest &= rest - 1)
        common = number_common_divisor(row->c[__builtin_ctzll(rest)], common);
    if (!common) {
        bool holds = row->equality ? row->constant == 0 : row->constant >= 0;
        return holds ? ROW_HOLDS : ROW_NEVER;
    }
    if (common == 1)
        return ROW_STAYS;
    if (row->equality && row->constant % common)
        return ROW_NEVER;
    rest = row->used;
    EACH_VARIABLE(k, rest)
        row->c[k] /= common;
    row->constant = number_floor_divide(row->constant, common);
    return ROW_STAYS;
}

/* The same for equal and for opposite coefficients, and hardly ever for others. */
static uint64_t row_key(const struct integer_solver *solver, const struct integer_row *row)
{
    uint64_t key = 0, rest = row->used;

    EACH_VARIABLE(k, rest)
        key += solver->weights[k] * (uint64_t)row->c[k];
    return key < -key ? key : -key;
}

/* 1: equal coefficients, -1: opposite ones, 0: neither */
static int row_relation(const struct integer_row *a, const struct integer_row *b)
{
    uint64_t rest = a->used;
    int relation = 0;

    if (a->used != b->used)
        return 0;
    EACH_VARIABLE(k, rest) {
        int here = a->c[k] == b->c[k] ? 1 : a->c[k] == -b->c[k] ? -1 : 0;
        if (!here || (relation && here != relation))
            return 0;
        relation = here;
    }
    return relation;
}

/* Two rows over the same sum. ROW_HOLDS: the second adds nothing any more. */
static enum fate row_merge(struct integer_row *a, struct integer_row *b, int relation)
{
    if (a->equality && b->equality)
        return a->constant == relation * b->constant ? ROW_HOLDS : ROW_NEVER;
    if (a->equality || b->equality) {
        /* of the equality c*x = -constant */
        const struct integer_row *fixed = a->equality ? a : b, *bound = a->equality ? b : a;
        if (bound->constant - relation * fixed->constant < 0)
            return ROW_NEVER;
        if (b->equality)
            *a = *b;
        return ROW_HOLDS;
    }
    if (relation > 0) {
        if (b->constant < a->constant)
            a->constant = b->constant;
        return ROW_HOLDS;
    }
    if (a->constant + b->constant > 0)
        return ROW_STAYS;
    a->equality = true;
    return a->constant + b->constant < 0 ? ROW_NEVER : ROW_HOLDS;
}

/* A hash table of rows by their keys: positions + 1. Rows with equal keys stand behind one another. */
struct row_slots {
    unsigned mask;
    unsigned short slots[2 * POOL_SLOTS];
};

static void slots_begin(struct row_slots *table, int count)
{
    unsigned size = 16;

    while (size < 2 * (unsigned)count)
        size *= 2;
    table->mask = size - 1;
    memset(table->slots, 0, size * sizeof *table->slots);
}

/* Rows are merged into those before them that say the same sum. False when two cannot hold. */
static bool part_merge(struct integer_solver *solver, struct part *part)
{
    const uint64_t *keys = part_keys(solver, part);
    struct row_slots table;

    slots_begin(&table, part->count);
    for (int b = 0; b < part->count; b++) {
        enum fate fate = ROW_STAYS;
        unsigned slot = (unsigned)(keys[b] >> 40) & table.mask;
        for (; table.slots[slot] && fate == ROW_STAYS; slot = (slot + 1) & table.mask) {
            int a = table.slots[slot] - 1;
            if (keys[a] != keys[b] || (part->rows[a].settled && part->rows[b].settled))
                continue;
            int relation = row_relation(&part->rows[a], &part->rows[b]);
            fate = relation ? row_merge(&part->rows[a], &part->rows[b], relation) : ROW_STAYS;
            if (fate == ROW_HOLDS)
                part->rows[a].merged = true; /* what it was compared with before is looked at the next time */
        }
        if (fate == ROW_NEVER)
            return false;
        if (fate == ROW_HOLDS)
            part_drop(solver, part, b--);
        else
            table.slots[slot] = (unsigned short)(b + 1);
    }
    return true;
}

/* False when some row, or two, cannot hold. */
static bool part_tidy(struct integer_solver *solver, struct part *part)
{
    uint64_t *keys = part_keys(solver, part);

    for (int k = 0; k < part->count; k++) {
        struct integer_row *row = &part->rows[k];
        enum fate fate = row->settled ? ROW_STAYS : row_tighten(row);
        if (fate == ROW_NEVER)
            return false;
        if (fate == ROW_HOLDS)
            part_drop(solver, part, k--);
        else
            keys[k] = row->key = row->settled ? row->key : row_key(solver, row);
    }
    solver->work += (long)part->count * part->count / 16;
    if (!part_merge(solver, part))
        return false;
    for (int k = 0; k < part->count; k++) {
        part->rows[k].settled = !part->rows[k].merged;
        part->rows[k].merged = false;
    }
    return true;
}

/* ---- equalities ---------------------------------------------------------- */

static enum integer_answer solve_part(struct integer_solver *solver, struct part part);

static int smallest_coefficient(const struct integer_row *row)
{
    uint64_t rest = row->used;
    int64_t least = INT64_MAX;
    int best = -1;

    EACH_VARIABLE(k, rest) {
        int64_t here = row->c[k] < 0 ? -row->c[k] : row->c[k];
        if (here < least) {
            least = here;
            best = k;
        }
    }
    return best;
}

/* The variable has coefficient 1 or -1 in the equality: it is replaced by what it equals. */
static enum integer_answer substitute(struct integer_solver *solver, struct part part, int number,
                                      int variable)
{
    struct integer_row equality = part.rows[number];
    int64_t sign = equality.c[variable];

    part_drop(solver, &part, number);
    for (int k = 0; k < part.count; k++) {
        struct integer_row *row = &part.rows[k];
        if (row->c[variable] && !row_combine(solver, row, row, 1, &equality, -sign * row->c[variable]))
            return INTEGER_UNKNOWN;
    }
    enum integer_answer answer = solve_part(solver, part);
    if (answer == INTEGER_SOME &&
        !set_value(solver, variable, -sign * row_value(solver, &equality, variable)))
        return INTEGER_UNKNOWN;
    return answer;
}

/* The smallest coefficient is not 1: variable = fresh - sum of quotient * other makes all others smaller. */
static enum integer_answer reduce(struct integer_solver *solver, struct part part, int number, int variable)
{
    int64_t quotients[INTEGER_VARIABLES] = {0}, divisor = part.rows[number].c[variable];

    for (int j = 0; j < solver->variables; j++)
        if (j != variable)
            quotients[j] = number_floor_divide(part.rows[number].c[j], divisor);
    for (int k = 0; k < part.count; k++) {
        struct integer_row *row = &part.rows[k];
        row->settled &= row->c[variable] == 0;
        for (int j = 0; row->c[variable] && j < solver->variables; j++) {
            wide changed = row->c[j] - (wide)quotients[j] * row->c[variable];
            if (changed > LARGEST || changed < -LARGEST)
                return INTEGER_UNKNOWN;
            integer_row_set(row, j, (int64_t)changed);
        }
    }
    if (--solver->steps <= 0)
        return INTEGER_UNKNOWN;
    enum integer_answer answer = solve_part(solver, part);
    if (answer == INTEGER_SOME) {
        wide value = solver->values[variable];
        for (int j = 0; j < solver->variables; j++)
            value -= (wide)quotients[j] * solver->values[j];
        if (!set_value(solver, variable, value))
            return INTEGER_UNKNOWN;
    }
    return answer;
}

/* ---- inequalities -------------------------------------------------------- */

struct occurrence {
    int lower, upper;           /* rows that bound the variable from below, from above */
    int wide_lower, wide_upper; /* of them, those in which it has another coefficient than 1 */
};

static void count_rows(const struct integer_solver *solver, const struct part *part,
                       struct occurrence *occurrences)
{
    memset(occurrences, 0, sizeof *occurrences * (size_t)solver->variables);
    for (int k = 0; k < part->count; k++) {
        uint64_t rest = part->rows[k].used;
        EACH_VARIABLE(variable, rest) {
            int64_t c = part->rows[k].c[variable];
            struct occurrence *o = &occurrences[variable];
            o->lower += c > 0;
            o->upper += c < 0;
            o->wide_lower += c > 1;
            o->wide_upper += c < -1;
        }
    }
}

/* The largest coefficient of the variable among the rows that bound it from above. */
static int64_t largest_upper(const struct part *part, int variable)
{
    int64_t largest = 0;

    for (int k = 0; k < part->count; k++)
        largest = -part->rows[k].c[variable] > largest ? -part->rows[k].c[variable] : largest;
    return largest;
}

/* The variable to project out: one whose projection is exact and makes few rows; -1 when none is left. */
static int choose_variable(const struct integer_solver *solver, const struct part *part, bool *exact)
{
    struct occurrence occurrences[INTEGER_VARIABLES];
    long least = 0;
    int best = -1;

    *exact = false;
    count_rows(solver, part, occurrences);
    for (int k = 0; k < solver->variables; k++) {
        struct occurrence o = occurrences[k];
        if (!o.lower && !o.upper)
            continue;
        bool here = !o.lower || !o.upper || !o.wide_lower || !o.wide_upper;
        long made = (long)o.lower * o.upper - o.lower - o.upper;
        if (best < 0 || (here && !*exact) || (here == *exact && made < least)) {
            best = k;
            least = made;
            *exact = here;
        }
    }
    return best;
}

/* Rows with the variable come first; gives their number. */
static int bring_forward(struct integer_solver *solver, struct part *part, int variable)
{
    int front = 0;
    struct integer_row swap;
    size_t size = row_size(solver);

    for (int k = 0; k < part->count; k++) {
        if (!part->rows[k].c[variable])
            continue;
        if (k != front) {
            memcpy(&swap, &part->rows[front], size);
            memcpy(&part->rows[front], &part->rows[k], size);
            memcpy(&part->rows[k], &swap, size);
        }
        front++;
    }
    return front;
}

/* The value nearest to 0 that the rows allow once the other variables have theirs. */
static bool choose_value(struct integer_solver *solver, const struct integer_row *rows, int count,
                         int variable)
{
    wide low = 0, high = 0;
    bool has_low = false, has_high = false;

    for (int k = 0; k < count; k++) {
        wide rest = row_value(solver, &rows[k], variable);
        wide c = rows[k].c[variable] < 0 ? -(wide)rows[k].c[variable] : rows[k].c[variable];
        wide quotient = rest / c - (rest % c < 0); /* floor */
        if (rows[k].c[variable] > 0) {
            low = has_low && low > -quotient ? low : -quotient; /* ceil(-rest / c) */
            has_low = true;
        } else {
            high = has_high && high < quotient ? high : quotient;
            has_high = true;
        }
    }
    if (has_low && has_high && low > high)
        return false;
    return set_value(solver, variable, has_low && low > 0 ? low : has_high && high < 0 ? high : 0);
}

/* Adds every lower bound against every upper one; in the dark shadow there is room for an integer between
 * them. */
static bool add_shadow(struct integer_solver *solver, struct part *into, const struct integer_row *rows,
                       int count, int variable, bool dark)
{
    for (int a = 0; a < count; a++) {
        for (int b = 0; rows[a].c[variable] > 0 && b < count; b++) {
            int64_t lower = rows[a].c[variable], upper = -rows[b].c[variable], common;
            if (upper <= 0)
                continue;
            struct integer_row *row = row_new(solver);
            if (!row)
                return false;
            into->count++;
            common = dark ? 1 : number_common_divisor(lower, upper);
            row->equality = row->merged = false;
            if (!row_combine(solver, row, &rows[a], upper / common, &rows[b], lower / common))
                return false;
            if (dark && (row->constant -= (lower - 1) * (upper - 1)) < -LARGEST)
                return false;
        }
    }
    return true;
}

static bool push_rows(struct integer_solver *solver, struct part *part, const struct integer_row *rows,
                      int count)
{
    for (int k = 0; k < count; k++)
        if (!row_push(solver, part, &rows[k]))
            return false;
    return true;
}

/* The projection over the rationals, or its part above which there surely is an integer. `fits`: the solution
 * found extends to the variable. */
static enum integer_answer try_shadow(struct integer_solver *solver, const struct part *part, int front,
                                      int variable, bool dark, bool *fits)
{
    struct part shadow = part_begin(solver);
    int mark = solver->used;
    enum integer_answer answer = INTEGER_UNKNOWN;

    *fits = false;
    if (push_rows(solver, &shadow, part->rows + front, part->count - front) &&
        add_shadow(solver, &shadow, part->rows, front, variable, dark))
        answer = solve_part(solver, shadow);
    solver->used = mark;
    if (answer == INTEGER_SOME)
        *fits = choose_value(solver, part->rows, front, variable);
    return answer;
}

/* A solution outside the dark shadow lies close above some lower bound: each distance is tried. */
static enum integer_answer try_splinters(struct integer_solver *solver, const struct part *part, int front,
                                         int variable)
{
    int64_t upper = largest_upper(part, variable);
    enum integer_answer all = INTEGER_NONE;

    for (int k = 0; k < front; k++) {
        int64_t lower = part->rows[k].c[variable];
        if (lower <= 0)
            continue;
        int64_t last = number_floor_divide(upper * lower - upper - lower, upper);
        if (last >= SPLINTERS)
            return INTEGER_UNKNOWN;
        for (int64_t distance = 0; distance <= last; distance++) {
            struct part splinter = part_begin(solver);
            int mark = solver->used;
            enum integer_answer answer = INTEGER_UNKNOWN;
            if (push_rows(solver, &splinter, part->rows, part->count)) {
                splinter.rows[k].equality = true;
                splinter.rows[k].settled = false;
                splinter.rows[k].constant -= distance;
                answer = solve_part(solver, splinter);
            }
            solver->used = mark;
            if (answer == INTEGER_SOME)
                return answer;
            if (answer == INTEGER_UNKNOWN)
                all = INTEGER_UNKNOWN;
            if (solver->steps <= 0)
                return INTEGER_UNKNOWN;
        }
    }
    return all;
}

static enum integer_answer project_inexactly(struct integer_solver *solver, struct part part, int front,
                                             int variable)
{
    bool fits;
    enum integer_answer answer = try_shadow(solver, &part, front, variable, false, &fits);

    if (answer == INTEGER_NONE || fits)
        return answer;
    for (int k = 0; k < front; k++)
        if (part.rows[k].c[variable] > INT16_MAX || part.rows[k].c[variable] < -INT16_MAX)
            return INTEGER_UNKNOWN;
    enum integer_answer dark = try_shadow(solver, &part, front, variable, true, &fits);
    if (fits)
        return INTEGER_SOME;
    answer = try_splinters(solver, &part, front, variable);
    return answer == INTEGER_NONE && dark != INTEGER_NONE ? INTEGER_UNKNOWN : answer;
}

static enum integer_answer project(struct integer_solver *solver, struct part part, int variable, bool exact)
{
    int front = bring_forward(solver, &part, variable);
    struct part rest = {part.rows + front, part.count - front};

    if (!exact)
        return project_inexactly(solver, part, front, variable);
    if (!add_shadow(solver, &rest, part.rows, front, variable, false))
        return INTEGER_UNKNOWN;
    enum integer_answer answer = solve_part(solver, rest);
    if (answer == INTEGER_SOME && !choose_value(solver, part.rows, front, variable))
        return INTEGER_UNKNOWN; /* its value is too large */
    return answer;
}

/* ---- solving ------------------------------------------------------------- */

static int find_equality(const struct part *part, int *variable)
{
    int best = -1;
    int64_t least = INT64_MAX;

    for (int k = 0; k < part->count && least > 1; k++) {
        if (!part->rows[k].equality)
            continue;
        int here = smallest_coefficient(&part->rows[k]);
        int64_t c = part->rows[k].c[here] < 0 ? -part->rows[k].c[here] : part->rows[k].c[here];
        if (c < least) {
            least = c;
            best = k;
            *variable = here;
        }
    }
    return best;
}

/* The part is at the top of the pool; it is used up. */
static enum integer_answer solve_part(struct integer_solver *solver, struct part part)
{
    int variable = 0;
    bool exact;

    if (!part_tidy(solver, &part))
        return INTEGER_NONE;
    int equality = find_equality(&part, &variable);
    if (equality >= 0) {
        int64_t c = part.rows[equality].c[variable];
        return c == 1 || c == -1 ? substitute(solver, part, equality, variable)
                                 : reduce(solver, part, equality, variable);
    }
    variable = choose_variable(solver, &part, &exact);
    if (variable >= 0)
        return project(solver, part, variable, exact);
    memset(solver->values, 0, sizeof solver->values);
    return INTEGER_SOME;
}

static bool is_large(const struct integer_row *row)
{
    bool large = row->constant > MODERATE || row->constant < -MODERATE;
    uint64_t rest = row->used;

    EACH_VARIABLE(k, rest)
        large |= row->c[k] > MODERATE || row->c[k] < -MODERATE;
    return large;
}

/* Rows with large numbers (limits of what fits, mostly) wait until there is a solution to test them with. */
static bool large_rows_hold(const struct integer_solver *solver, const struct integer_system *system)
{
    for (int k = 0; k < system->count; k++) {
        const struct integer_row *row = &system->rows[k];
        if (!is_large(row))
            continue;
        wide sum = row_value(solver, row, -1);
        if (row->equality ? sum != 0 : sum < 0)
            return false;
    }
    return true;
}

bool integer_is_solution(const struct integer_system *system, const int64_t *values)
{
    for (int k = system->count - 1; k >= 0; k--) { /* the last ones are new */
        const struct integer_row *row = &system->rows[k];
        uint64_t rest = row->used;
        wide sum = row->constant;
        EACH_VARIABLE(j, rest)
            sum += (wide)row->c[j] * values[j];
        if (row->equality ? sum != 0 : sum < 0)
            return false;
    }
    return true;
}

/* Systems that are solved one after another differ in few rows: what solved one often solves the next. */
static bool try_recent(struct integer_solver *solver, const struct integer_system *system)
{
    for (int k = 1; k <= INTEGER_RECENT; k++) {
        const int64_t *values = solver->recent[(solver->next - k) & (INTEGER_RECENT - 1)];
        if (!integer_is_solution(system, values))
            continue;
        memcpy(solver->values, values, sizeof solver->values);
        return true;
    }
    return false;
}

static void keep_recent(struct integer_solver *solver)
{
    memcpy(solver->recent[solver->next], solver->values, sizeof solver->values);
    solver->next = (solver->next + 1) & (INTEGER_RECENT - 1);
}

enum integer_answer integer_solve(struct integer_solver *solver, const struct integer_system *system)
{
    struct part part;

    solver->variables = system->variables;
    solver->used = 0;
    solver->steps = STEPS;
    solver->work++;
    if (try_recent(solver, system))
        return INTEGER_SOME;
    part = part_begin(solver);
    for (int k = 0; k < system->count; k++) {
        if (is_large(&system->rows[k]))
            continue;
        if (!row_push(solver, &part, &system->rows[k]))
            return INTEGER_UNKNOWN;
        part.rows[part.count - 1].settled = part.rows[part.count - 1].merged = false;
    }
    enum integer_answer answer = solve_part(solver, part);
    if (answer != INTEGER_SOME)
        return answer;
    keep_recent(solver);
    return large_rows_hold(solver, system) ? INTEGER_SOME : INTEGER_UNKNOWN;
}

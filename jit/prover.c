/*
 * prover.c: the refutation engine behind prover.h.
 *
 * One goal is one `system`: dense rows (constant + coefficients >= 0) over the monomials that matter to the
 * goal. Everything that overflows or does not fit is left out, which can only lose a proof.
 */
#include "prover.h"

#include <string.h>

enum {
    COLUMNS = 30,
    ROWS = 72,          /* of a system as it is set up */
    WORK_ROWS = 160,    /* of an elimination */
    WORK_SLOTS = 512,   /* of its hash table */
    ATOMS = 40,         /* looked at for one goal */
    NEWEST_FACTS = 160, /* looked at for one goal */
    OLDEST_FACTS = 32,
    NEWEST_RULES = 48,
    CHAIN_DEPTH = 10,
    CHAIN_STEPS = 160, /* combinations tried before elimination takes over */
    LEVELS = 2         /* a goal that helps another goal gets less help */
};

struct row {
    int64_t constant;
    uint64_t key; /* row_key of the coefficients, once it is in a system */
    bool goal;    /* the negated goal, or a multiple of it */
    bool assumed;
    int64_t c[COLUMNS];
};

/* Rows in which the coefficient of a column is positive, and negative. */
struct signs {
    int positive[COLUMNS], negative[COLUMNS];
};

struct system {
    struct prover *prover;
    int level;
    int columns, monomials[COLUMNS];
    int atom_count, atoms[ATOMS], atoms_done;
    int row_count;
    struct row rows[ROWS];
    uint64_t keys[ROWS]; /* of the rows, side by side */
    struct signs signs;  /* of the rows, while they are refuted */
    int steps;
    bool gave_up;
    bool assumed; /* something that was needed to set it up used a precondition */
};

void prover_init(struct prover *prover, struct linear_space *space)
{
    *prover = (struct prover){.space = space, .generation = 1};
}

void prover_add(struct prover *prover, const struct linear *form, bool assumed)
{
    if (!form->count && form->constant >= 0)
        return;
    prover->generation++;
    list_push(prover->space->arena, &prover->facts, ((struct prover_fact){*form, assumed}));
}

void prover_add_rule(struct prover *prover, const struct linear *guards, int count, const struct linear *form)
{
    struct prover_rule rule = {arena_array(prover->space->arena, struct linear, count), count, *form};

    if (count)
        memcpy(rule.guards, guards, sizeof *guards * (size_t)count);
    prover->generation++;
    list_push(prover->space->arena, &prover->rules, rule);
}

void prover_change_rule(struct prover *prover, int rule, const struct linear *form)
{
    prover->generation++;
    prover->rules.items[rule].form = *form;
}

static bool prove(struct prover *prover, const struct linear *goal, int level);

/* ---- setting a system up ------------------------------------------------- */

static void note_atom(struct system *system, int atom)
{
    for (int k = 0; k < system->atom_count; k++)
        if (system->atoms[k] == atom)
            return;
    if (system->atom_count < ATOMS)
        system->atoms[system->atom_count++] = atom;
}

static bool has_atom(const struct system *system, int atom)
{
    for (int k = 0; k < system->atom_count; k++)
        if (system->atoms[k] == atom)
            return true;
    return false;
}

static int find_column(const struct system *system, int monomial)
{
    for (int k = 0; k < system->columns; k++)
        if (system->monomials[k] == monomial)
            return k;
    return -1;
}

/* The column of a monomial, made when it is new; -1 when there is no room. */
static int column_of(struct system *system, int monomial)
{
    int column = find_column(system, monomial);

    if (column >= 0 || system->columns == COLUMNS)
        return column;
    const struct linear_monomial *factors = &system->prover->space->monomials.items[monomial];
    for (int a = 0; a < factors->degree; a++)
        note_atom(system, factors->atoms[a]);
    system->monomials[system->columns] = monomial;
    return system->columns++;
}

/* Rows are compared with all others, and are long: those whose keys differ differ. The key of a sum is the
 * sum of the keys. */
static uint64_t row_key(const struct row *row, int columns)
{
    uint64_t key = 0, weight = 1;

    for (int k = 0; k < columns; k++) {
        weight *= 0x9e3779b97f4a7c15u;
        key += weight * (uint64_t)row->c[k];
    }
    return key;
}

/* False when it says nothing new. Rows that differ in the constant only become the tightest of them. */
static bool keep_row(struct system *system, struct row *row)
{
    row->key = row_key(row, system->columns);
    for (int k = 0; k < system->row_count; k++) {
        struct row *old = &system->rows[k];
        if (system->keys[k] != row->key || memcmp(old->c, row->c, sizeof row->c) != 0)
            continue;
        if (row->constant >= old->constant)
            return false;
        bool goal = old->goal || row->goal;
        *old = *row;
        old->goal = goal;
        return true;
    }
    if (system->row_count == ROWS)
        return false;
    system->keys[system->row_count] = row->key;
    system->rows[system->row_count++] = *row;
    return true;
}

static bool add_row(struct system *system, const struct linear *form, bool assumed)
{
    struct row row = {.constant = form->constant, .assumed = assumed};

    for (int k = 0; k < form->count; k++) {
        int column = column_of(system, form->terms[k].monomial);
        if (column < 0)
            return false;
        row.c[column] = form->terms[k].coefficient;
    }
    return keep_row(system, &row);
}

/* a + offset <= b as a row */
static void add_less(struct system *system, const struct linear *a, int64_t offset, const struct linear *b)
{
    struct linear form;

    if (linear_add(&form, b, -1, a) && linear_shift(&form, &form, -offset))
        add_row(system, &form, false);
}

/* 1: >= 1, -1: <= -1, 0: unknown. A divisor is not 0 where the quotient has been computed, for it would have
 * stopped there. */
static int divisor_sign(struct system *system, const struct linear *divisor)
{
    struct linear form;

    if (!divisor->count)
        return divisor->constant > 0 ? 1 : -1;
    if (linear_is_natural(system->prover->space, divisor))
        return 1;
    if (system->level + 1 >= LEVELS)
        return 0;
    int sign = 0;
    if (prove(system->prover, divisor, system->level + 1))
        sign = 1;
    else if (linear_scale(&form, divisor, -1) && prove(system->prover, &form, system->level + 1))
        sign = -1;
    system->assumed |= sign && system->prover->assumed;
    return sign;
}

/* dividend = quotient * divisor + remainder, and where the remainder lies */
static void define_division(struct system *system, const struct linear *quotient,
                            const struct linear *remainder, const struct linear *dividend,
                            const struct linear *divisor)
{
    struct linear_space *space = system->prover->space;
    struct linear product, difference, zero;
    int sign = divisor_sign(system, divisor);

    linear_constant(&zero, 0);
    if (!linear_multiply(space, &product, quotient, divisor) ||
        !linear_add(&difference, dividend, -1, &product))
        return;
    if (remainder) {
        add_less(system, &difference, 0, remainder);
        add_less(system, remainder, 0, &difference);
    }
    if (sign > 0) {
        add_less(system, &zero, 0, &difference);
        add_less(system, &difference, 1, divisor);
    } else if (sign < 0) {
        add_less(system, divisor, 1, &difference);
        add_less(system, &difference, 0, &zero);
    }
}

static void define_atom(struct system *system, int number)
{
    struct linear_space *space = system->prover->space;
    struct linear_atom atom = *linear_atom_at(space, number);
    struct linear self, quotient, bound;

    linear_of_atom(space, number, &self);
    if (atom.low != LINEAR_NO_LOW) {
        linear_constant(&bound, atom.low);
        add_less(system, &bound, 0, &self);
    }
    if (atom.high != LINEAR_NO_HIGH) {
        linear_constant(&bound, atom.high);
        add_less(system, &self, 0, &bound);
    }
    switch (atom.kind) {
    case LINEAR_QUOTIENT:
        define_division(system, &self, NULL, &atom.children[0], &atom.children[1]);
        break;
    case LINEAR_REMAINDER:
        if (linear_combine(space, LINEAR_QUOTIENT, &quotient, &atom.children[0], &atom.children[1]))
            define_division(system, &quotient, &self, &atom.children[0], &atom.children[1]);
        break;
    case LINEAR_MIN:
        add_less(system, &self, 0, &atom.children[0]);
        add_less(system, &self, 0, &atom.children[1]);
        break;
    case LINEAR_MAX:
        add_less(system, &atom.children[0], 0, &self);
        add_less(system, &atom.children[1], 0, &self);
        break;
    default:
        break;
    }
}

static void define_atoms(struct system *system)
{
    while (system->atoms_done < system->atom_count)
        define_atom(system, system->atoms[system->atoms_done++]);
}

/* A fact matters when it speaks of a monomial that is in, or of an atom when `widely`. */
static bool matters(const struct system *system, const struct linear *form, bool widely)
{
    const struct linear_space *space = system->prover->space;

    if (!form->count)
        return form->constant < 0;
    for (int k = 0; k < form->count; k++) {
        if (find_column(system, form->terms[k].monomial) >= 0)
            return true;
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; widely && a < monomial->degree; a++)
            if (has_atom(system, monomial->atoms[a]))
                return true;
    }
    return false;
}

static void add_facts(struct system *system, bool widely)
{
    const struct prover *prover = system->prover;
    bool taken[NEWEST_FACTS + OLDEST_FACTS] = {false};
    int first = prover->first_fact, count = prover->facts.count;
    int newest = count - first < NEWEST_FACTS ? count - first : NEWEST_FACTS;
    int oldest = count - first - newest < OLDEST_FACTS ? count - first - newest : OLDEST_FACTS;

    for (bool changed = true; changed && system->row_count < ROWS;) {
        changed = false;
        for (int k = 0; k < newest + oldest; k++) {
            const struct prover_fact *fact =
                &prover->facts.items[k < newest ? count - 1 - k : first + newest + oldest - 1 - k];
            if (taken[k] || !matters(system, &fact->form, widely))
                continue;
            taken[k] = changed = true;
            add_row(system, &fact->form, fact->assumed);
        }
        define_atoms(system);
    }
}

static bool guards_hold(struct system *system, const struct prover_rule *rule)
{
    for (int k = 0; k < rule->guard_count; k++)
        if (!prove(system->prover, &rule->guards[k], system->level + 1))
            return false;
    return true;
}

static bool add_rules(struct system *system)
{
    struct prover *prover = system->prover;
    int count = prover->rules.count;
    bool added = false;

    for (int k = count - 1; k >= 0 && k >= count - NEWEST_RULES; k--)
        if (matters(system, &prover->rules.items[k].form, true) &&
            guards_hold(system, &prover->rules.items[k]))
            added |= add_row(system, &prover->rules.items[k].form, true);
    define_atoms(system);
    return added;
}

/* ---- products ------------------------------------------------------------ */

static bool multiply_row(struct system *system, int number, int by)
{
    struct row *from = &system->rows[number], row = {.goal = from->goal, .assumed = from->assumed};
    int columns = system->columns;

    for (int k = 0; k <= columns; k++) {
        int64_t coefficient = k < columns ? from->c[k] : from->constant;
        if (!coefficient)
            continue;
        int monomial =
            k < columns ? linear_monomial_product(system->prover->space, system->monomials[k], by) : by;
        int column = monomial < 0 ? -1 : column_of(system, monomial);
        if (column < 0)
            return false;
        row.c[column] = coefficient;
    }
    return keep_row(system, &row);
}

static bool monomial_is_natural(struct system *system, int monomial)
{
    struct linear_space *space = system->prover->space;
    struct linear_monomial factors = space->monomials.items[monomial];
    struct linear form;

    for (int a = 0; a < factors.degree; a++) {
        if (linear_atom_at(space, factors.atoms[a])->low >= 0)
            continue;
        linear_of_atom(space, factors.atoms[a], &form);
        if (system->level + 1 >= LEVELS || !prove(system->prover, &form, system->level + 1))
            return false;
    }
    return true;
}

/* For a monomial a*b and rows about a alone: these rows times b, when b is not negative. */
static bool add_products(struct system *system)
{
    struct linear_space *space = system->prover->space;
    int columns = system->columns, before = system->row_count;
    bool added = false;

    for (int k = 0; k < columns; k++) {
        struct linear_monomial factors = space->monomials.items[system->monomials[k]];
        for (int a = 0; factors.degree > 1 && a < factors.degree; a++) {
            int by = linear_monomial_without(space, system->monomials[k], factors.atoms[a]);
            int alone = find_column(system, linear_atom_at(space, factors.atoms[a])->monomial);
            if ((a && factors.atoms[a] == factors.atoms[a - 1]) || alone < 0 ||
                !monomial_is_natural(system, by))
                continue;
            for (int r = 0; r < before; r++)
                if (system->rows[r].c[alone])
                    added |= multiply_row(system, r, by);
        }
    }
    define_atoms(system);
    return added;
}

/* ---- refuting ------------------------------------------------------------ */

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
    row->key = row_key(row, columns);
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
    *signs = (struct signs){{0}, {0}};
    for (int r = 0; r < count; r++)
        for (int k = 0; k < columns; k++) {
            signs->positive[k] += rows[r].c[k] > 0;
            signs->negative[k] += rows[r].c[k] < 0;
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

/* The column whose elimination makes the fewest rows, or -1 when none is left. */
static int cheapest_column(const struct elimination *work)
{
    int best = -1, least = INT32_MAX;
    struct signs signs;

    count_signs(&signs, work->rows, work->count, work->columns);
    for (int k = 0; k < work->columns; k++) {
        int positive = signs.positive[k], negative = signs.negative[k];
        int made = positive * negative - positive - negative;
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

static bool eliminate(struct system *system)
{
    struct elimination halves[2], *work = &halves[0], *next = &halves[1];

    elimination_begin(work, system->columns);
    for (int r = 0; r < system->row_count; r++)
        if (eliminate_keep(work, &system->rows[r]))
            return true;
    for (int column; (column = cheapest_column(work)) >= 0;) {
        struct elimination *done = work;
        if (eliminate_column(work, next, column, &system->assumed))
            return true;
        work = next;
        next = done;
    }
    return false;
}

static bool refute(struct system *system)
{
    system->steps = 0;
    system->gave_up = false;
    count_signs(&system->signs, system->rows, system->row_count, system->columns);
    for (int k = 0; k < system->row_count; k++)
        if (system->rows[k].goal && chain(system, &system->rows[k], 0))
            return true;
    return system->gave_up && eliminate(system);
}

/* ---- cases --------------------------------------------------------------- */

/* The next atom after `from` that has cases, as an index into system->atoms; -1 when there is none. */
static int find_choice(const struct system *system, int from)
{
    for (int k = from; k < system->atom_count; k++) {
        enum linear_atom_kind kind = linear_atom_at(system->prover->space, system->atoms[k])->kind;
        if (kind == LINEAR_MIN || kind == LINEAR_MAX || kind == LINEAR_SELECT)
            return k;
    }
    return -1;
}

static bool refute_cases(struct system *system, int from, int depth);

static bool refute_case(struct system *system, int choice, int side, int depth)
{
    struct system copy = *system;
    struct linear_atom atom = *linear_atom_at(system->prover->space, system->atoms[choice]);
    struct linear self, zero;

    linear_constant(&zero, 0);
    linear_of_atom(system->prover->space, system->atoms[choice], &self);
    add_less(&copy, &self, 0, &atom.children[side]);
    add_less(&copy, &atom.children[side], 0, &self);
    if (atom.kind == LINEAR_SELECT) {
        int first = side == 0 ? 2 + atom.when[0] : 2;
        for (int k = 0; k < atom.when[side == 0]; k++)
            add_row(&copy, &atom.children[first + k], false);
    }
    define_atoms(&copy);
    add_facts(&copy, false);
    if (!refute(&copy) && !refute_cases(&copy, choice + 1, depth + 1))
        return false;
    system->assumed |= copy.assumed;
    return true;
}

/* A min is one of its operands: the goal holds if it holds in both cases. */
static bool refute_cases(struct system *system, int from, int depth)
{
    int choice = depth < 3 ? find_choice(system, from) : -1;

    return choice >= 0 && refute_case(system, choice, 0, depth) && refute_case(system, choice, 1, depth);
}

/* ---- goals --------------------------------------------------------------- */

static bool has_products(const struct system *system)
{
    for (int k = 0; k < system->columns; k++)
        if (system->prover->space->monomials.items[system->monomials[k]].degree > 1)
            return true;
    return false;
}

static bool attempt(struct system *system)
{
    if (refute(system))
        return true;
    if (!system->prover->space->has_products)
        return false;
    add_facts(system, true);
    if (!has_products(system))
        return false;
    bool more = add_products(system);
    if (refute(system))
        return true;
    return more && add_products(system) && refute(system);
}

static bool solve(struct system *system, const struct linear *negated)
{
    if (!add_row(system, negated, false))
        return false;
    system->rows[0].goal = true;
    define_atoms(system);
    add_facts(system, false);
    if (attempt(system))
        return true;
    if (system->level)
        return false;
    if (system->prover->rules.count && add_rules(system)) {
        add_facts(system, false);
        if (attempt(system))
            return true;
    }
    return refute_cases(system, 0, 0);
}

static bool prove(struct prover *prover, const struct linear *goal, int level)
{
    struct system system;
    struct linear negated;

    prover->assumed = false;
    if (linear_is_natural(prover->space, goal))
        return true;
    if (!linear_scale(&negated, goal, -1) || !linear_shift(&negated, &negated, -1))
        return false;
    system.prover = prover;
    system.level = level;
    system.columns = system.atom_count = system.atoms_done = system.row_count = 0;
    system.assumed = false;
    bool proved = solve(&system, &negated);
    prover->assumed = proved && system.assumed;
    return proved;
}

static struct prover_answer *answer_slot(struct prover *prover, const struct linear *form)
{
    uint64_t hash = (uint64_t)form->constant;

    for (int k = 0; k < form->count; k++)
        hash = (hash * 31 + (uint64_t)form->terms[k].monomial) * 31 + (uint64_t)form->terms[k].coefficient;
    return &prover->answers[(hash ^ hash >> 7) % PROVER_ANSWERS];
}

bool prover_prove(struct prover *prover, const struct linear *form)
{
    struct prover_answer *answer = answer_slot(prover, form);

    if (answer->generation == prover->generation && answer->facts == prover->facts.count &&
        answer->first_fact == prover->first_fact && linear_equal(&answer->form, form)) {
        prover->assumed = answer->assumed;
        return answer->proved;
    }
    bool proved = prove(prover, form, 0);
    *answer = (struct prover_answer){
        prover->generation, prover->facts.count, prover->first_fact, proved, prover->assumed, *form};
    return proved;
}

bool prover_less(struct prover *prover, const struct linear *a, int64_t offset, const struct linear *b)
{
    struct linear form;

    return linear_add(&form, b, -1, a) && linear_shift(&form, &form, -offset) && prover_prove(prover, &form);
}

int prover_sign(struct prover *prover, const struct linear *form)
{
    struct linear negative;

    if (prover_prove(prover, form))
        return 1;
    return linear_scale(&negative, form, -1) && prover_prove(prover, &negative) ? -1 : 0;
}

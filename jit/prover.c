/*
 * prover.c: from a goal to a system of inequalities that must be contradictory (prover_refute.c), for
 * prover.h.
 *
 * One goal is one `system`: dense rows (constant + coefficients >= 0) over the monomials that matter to the
 * goal. Everything that overflows or does not fit is left out, which can only lose a proof.
 */
#include "prover_private.h"

#include <string.h>

enum {
    NEWEST_FACTS = 160, /* looked at for one goal */
    OLDEST_FACTS = 32,
    NEWEST_RULES = 48,
    LEVELS = 2 /* a goal that helps another goal gets less help */
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

/* For the sake of the system's goal. */
static bool prove_besides(struct system *system, const struct linear *goal)
{
    bool proved = prove(system->prover, goal, system->level + 1);

    system->assumed |= proved && system->prover->assumed;
    return proved;
}

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

/* False when it says nothing new. Rows that differ in the constant only become the tightest of them. */
static bool keep_row(struct system *system, struct row *row)
{
    prover_row_finish(row, system->columns);
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
    if (prove_besides(system, divisor))
        return 1;
    return linear_scale(&form, divisor, -1) && prove_besides(system, &form) ? -1 : 0;
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

/* By a constant. */
static bool is_division(const struct system *system, int number)
{
    const struct linear_atom *atom = linear_atom_at(system->prover->space, number);

    return (atom->kind == LINEAR_QUOTIENT || atom->kind == LINEAR_REMAINDER) && !atom->children[1].count;
}

/* i % 2 == 1 says something of i. */
static bool divides_known(const struct system *system, const struct linear *form)
{
    const struct linear_space *space = system->prover->space;

    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++)
            if (is_division(system, monomial->atoms[a]) &&
                matters(system, &linear_atom_at(space, monomial->atoms[a])->children[0], true))
                return true;
    }
    return false;
}

/* Takes those that divide what is in. */
static bool add_divisions(struct system *system)
{
    const struct prover *prover = system->prover;
    int least = prover->facts.count - NEWEST_FACTS > prover->first_fact ? prover->facts.count - NEWEST_FACTS
                                                                        : prover->first_fact;
    bool added = false;

    for (int k = prover->facts.count - 1; k >= least; k--)
        if (divides_known(system, &prover->facts.items[k].form))
            added |= add_row(system, &prover->facts.items[k].form, prover->facts.items[k].assumed);
    define_atoms(system);
    return added;
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
        if (!prove_besides(system, &rule->guards[k]))
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
        if (system->level + 1 >= LEVELS || !prove_besides(system, &form))
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

/* Whether rounding decides: a chain rounds what comes of the goal, but not what it is combined with. */
static bool has_divisions(const struct system *system)
{
    for (int k = 0; k < system->atom_count; k++)
        if (is_division(system, system->atoms[k]))
            return true;
    return false;
}

static bool refute(struct system *system)
{
    return prover_refute(system, has_divisions(system));
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
    if (add_divisions(system) && attempt(system))
        return true;
    if (system->prover->rules.count && add_rules(system)) {
        add_facts(system, false);
        if (attempt(system))
            return true;
    }
    return refute_cases(system, 0, 0);
}

/* Whether a fact alone says it. */
static bool is_fact(const struct prover *prover, const struct linear *form)
{
    for (int k = prover->facts.count - 1; k >= prover->first_fact; k--) {
        const struct prover_fact *fact = &prover->facts.items[k];
        if (fact->form.constant <= form->constant && linear_is_equal_but_for_constant(&fact->form, form))
            return true;
    }
    return false;
}

bool prover_is_evident(const struct prover *prover, const struct linear *form)
{
    return linear_is_natural(prover->space, form) || is_fact(prover, form);
}

static bool prove_anew(struct prover *prover, const struct linear *goal, int level)
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

static struct prover_answer *answer_slot(struct prover *prover, const struct linear *form, int level)
{
    uint64_t hash = (uint64_t)form->constant + (uint64_t)level;

    for (int k = 0; k < form->count; k++)
        hash = (hash * 31 + (uint64_t)form->terms[k].monomial) * 31 + (uint64_t)form->terms[k].coefficient;
    return &prover->answers[(hash ^ hash >> 7) % PROVER_ANSWERS];
}

static bool prove(struct prover *prover, const struct linear *goal, int level)
{
    struct prover_answer *answer = answer_slot(prover, goal, level);

    if (answer->generation == prover->generation && answer->facts == prover->facts.count &&
        answer->first_fact == prover->first_fact && answer->level == level &&
        linear_equal(&answer->form, goal)) {
        prover->assumed = answer->assumed;
        return answer->proved;
    }
    bool proved = prove_anew(prover, goal, level);
    *answer = (struct prover_answer){
        prover->generation, prover->facts.count, prover->first_fact, level, proved, prover->assumed, *goal};
    return proved;
}

bool prover_prove(struct prover *prover, const struct linear *form)
{
    bool proved = prove(prover, form, 0);

    prover->relied |= proved && prover->assumed;
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

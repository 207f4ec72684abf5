/*
 * linear.c: arithmetic on linear forms. See linear.h; nothing here knows of statements.
 */
#include "linear.h"
#include "../base/number.h"

#include <string.h>

/* ---- the space ----------------------------------------------------------- */

static unsigned mix(unsigned hash, uint64_t value)
{
    uint64_t product = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return (unsigned)(product >> 32) ^ (unsigned)product;
}

static unsigned hash_form(unsigned hash, const struct linear *form)
{
    hash = mix(hash, (uint64_t)form->constant);
    for (int k = 0; k < form->count; k++)
        hash = mix(mix(hash, (uint64_t)form->terms[k].monomial), (uint64_t)form->terms[k].coefficient);
    return hash;
}

static unsigned hash_monomial(const struct linear_monomial *monomial)
{
    unsigned hash = (unsigned)monomial->degree;

    for (int k = 0; k < monomial->degree; k++)
        hash = mix(hash, (uint64_t)monomial->atoms[k]);
    return hash;
}

void linear_space_init(struct linear_space *space, struct arena *arena)
{
    *space = (struct linear_space){.arena = arena};
}

/* Makes room for one more; `rehash` gives the hash of a number that is in. */
static void table_reserve(struct linear_space *space, struct linear_table *table,
                          unsigned (*rehash)(const struct linear_space *, int))
{
    if (table->used * 2 < table->capacity)
        return;

    struct linear_table larger = {.capacity = table->capacity ? table->capacity * 2 : 64,
                                  .used = table->used};
    larger.slots = arena_array(space->arena, int, larger.capacity);
    for (int k = 0; k < table->capacity; k++) {
        if (!table->slots[k])
            continue;
        unsigned slot = rehash(space, table->slots[k] - 1);
        while (larger.slots[slot % (unsigned)larger.capacity])
            slot++;
        larger.slots[slot % (unsigned)larger.capacity] = table->slots[k];
    }
    *table = larger;
}

static unsigned rehash_monomial(const struct linear_space *space, int number)
{
    return hash_monomial(&space->monomials.items[number]);
}

static unsigned rehash_atom(const struct linear_space *space, int number)
{
    return space->atoms.items[number].hash;
}

static int intern_monomial(struct linear_space *space, const struct linear_monomial *monomial)
{
    struct linear_table *table = &space->monomial_table;
    unsigned slot = hash_monomial(monomial);

    table_reserve(space, table, rehash_monomial);
    for (;; slot++) {
        int number = table->slots[slot % (unsigned)table->capacity] - 1;
        if (number < 0)
            break;
        const struct linear_monomial *other = &space->monomials.items[number];
        if (other->degree == monomial->degree &&
            memcmp(other->atoms, monomial->atoms, sizeof(int) * (size_t)monomial->degree) == 0)
            return number;
    }
    space->has_products |= monomial->degree > 1;
    list_push(space->arena, &space->monomials, *monomial);
    table->slots[slot % (unsigned)table->capacity] = space->monomials.count;
    table->used++;
    return space->monomials.count - 1;
}

int linear_monomial_product(struct linear_space *space, int a, int b)
{
    struct linear_monomial x = space->monomials.items[a], y = space->monomials.items[b], product;
    int i = 0, j = 0;

    product.degree = x.degree + y.degree;
    if (product.degree > LINEAR_DEGREE)
        return -1;
    for (int k = 0; k < product.degree; k++)
        product.atoms[k] =
            j >= y.degree || (i < x.degree && x.atoms[i] <= y.atoms[j]) ? x.atoms[i++] : y.atoms[j++];
    return intern_monomial(space, &product);
}

int linear_monomial_without(struct linear_space *space, int monomial, int atom)
{
    struct linear_monomial from = space->monomials.items[monomial], rest = {0};
    bool found = false;

    for (int k = 0; k < from.degree; k++) {
        if (from.atoms[k] == atom && !found)
            found = true;
        else
            rest.atoms[rest.degree++] = from.atoms[k];
    }
    if (!found)
        return -1;
    return rest.degree ? intern_monomial(space, &rest) : -2;
}

/* ---- atoms --------------------------------------------------------------- */

/* Fills in what follows from the children. */
static void atom_derive(struct linear_space *space, struct linear_atom *atom, int number)
{
    atom->newest = number;
    atom->nesting = 0;
    for (int c = 0; c < atom->child_count; c++) {
        const struct linear *child = &atom->children[c];
        for (int k = 0; k < child->count; k++) {
            const struct linear_monomial *monomial = &space->monomials.items[child->terms[k].monomial];
            for (int a = 0; a < monomial->degree; a++) {
                const struct linear_atom *below = linear_atom_at(space, monomial->atoms[a]);
                if (below->nesting >= atom->nesting)
                    atom->nesting = below->nesting + 1;
            }
        }
    }
    if (atom->kind == LINEAR_LOOP) /* loops are not rebuilt when what they run over is replaced */
        atom->nesting = 0;
}

static int atom_push(struct linear_space *space, struct linear_atom atom, const struct linear *children,
                     int count)
{
    int number = space->atoms.count;
    struct linear_monomial self = {1, {number}};

    atom.child_count = count;
    atom.children = arena_array(space->arena, struct linear, count);
    if (count)
        memcpy(atom.children, children, sizeof *children * (size_t)count);
    atom_derive(space, &atom, number);
    list_push(space->arena, &space->atoms, atom);
    int monomial = intern_monomial(space, &self);
    space->atoms.items[number].monomial = monomial;
    return number;
}

int linear_new_symbol(struct linear_space *space, enum linear_atom_kind kind, struct ir_symbol *symbol)
{
    struct linear_atom atom = {.kind = kind,
                               .parameter = true,
                               .symbol = symbol,
                               .low = kind == LINEAR_DIM ? 0 : LINEAR_NO_LOW,
                               .high = LINEAR_NO_HIGH};
    if (symbol->known.bits) {
        atom.high = ((int64_t)1 << symbol->known.bits) - 1;
        atom.low = -atom.high;
    }
    if (symbol->known.sign)
        atom.low = symbol->known.sign == IR_POSITIVE;
    return atom_push(space, atom, NULL, 0);
}

int linear_new_loop(struct linear_space *space, const struct linear *first, const struct linear *last)
{
    struct linear children[2] = {*first, *last};
    struct linear_atom atom = {.kind = LINEAR_LOOP,
                               .low = first->count ? LINEAR_NO_LOW : first->constant,
                               .high = last->count ? LINEAR_NO_HIGH : last->constant};

    if (linear_is_natural(space, first) && atom.low < 0)
        atom.low = 0;
    return atom_push(space, atom, children, 2);
}

int linear_new_opaque(struct linear_space *space, int64_t low, int64_t high)
{
    return atom_push(space, (struct linear_atom){.kind = LINEAR_OPAQUE, .low = low, .high = high}, NULL, 0);
}

int linear_new_select(struct linear_space *space, const struct linear *children, int count, const int when[2])
{
    struct linear_atom atom = {
        .kind = LINEAR_SELECT, .when = {when[0], when[1]}, .low = LINEAR_NO_LOW, .high = LINEAR_NO_HIGH};
    int number = atom_push(space, atom, children, count);

    return linear_atom_at(space, number)->nesting > LINEAR_NESTING ? -1 : number;
}

/* An atom that is found again when the same is asked for; -1 when it nests too deeply. */
static int atom_intern(struct linear_space *space, struct linear_atom atom, const struct linear *children,
                       int count)
{
    struct linear_table *table = &space->atom_table;
    unsigned slot = mix((unsigned)atom.kind, (uint64_t)(uintptr_t)atom.buffer);

    for (int c = 0; c < count; c++)
        slot = hash_form(slot, &children[c]);
    atom.hash = slot;
    table_reserve(space, table, rehash_atom);
    for (;; slot++) {
        int number = table->slots[slot % (unsigned)table->capacity] - 1;
        if (number < 0)
            break;
        const struct linear_atom *other = linear_atom_at(space, number);
        bool same = other->kind == atom.kind && other->buffer == atom.buffer && other->child_count == count;
        for (int c = 0; same && c < count; c++)
            same = linear_equal(&other->children[c], &children[c]);
        if (same)
            return other->nesting > LINEAR_NESTING ? -1 : number;
    }
    int number = atom_push(space, atom, children, count);
    table->slots[slot % (unsigned)table->capacity] = number + 1;
    table->used++;
    return linear_atom_at(space, number)->nesting > LINEAR_NESTING ? -1 : number;
}

int linear_load(struct linear_space *space, struct ir_buffer *buffer, const struct linear *indices,
                int64_t low, int64_t high)
{
    struct linear_atom atom = {.kind = LINEAR_LOAD, .buffer = buffer, .low = low, .high = high};
    return atom_intern(space, atom, indices, buffer->rank);
}

/* ---- forms --------------------------------------------------------------- */

void linear_constant(struct linear *out, int64_t value)
{
    out->count = 0;
    out->constant = value;
}

void linear_of_atom(const struct linear_space *space, int atom, struct linear *out)
{
    out->count = 1;
    out->constant = 0;
    out->terms[0] = (struct linear_term){linear_atom_at(space, atom)->monomial, 1};
}

bool linear_add(struct linear *out, const struct linear *a, int64_t factor, const struct linear *b)
{
    struct linear sum; /* of which few terms mean anything: they alone are written and copied */
    int i = 0, j = 0;

    sum.count = 0;
    if (__builtin_mul_overflow(b->constant, factor, &sum.constant) ||
        __builtin_add_overflow(sum.constant, a->constant, &sum.constant))
        return false;
    while (i < a->count || (factor && j < b->count)) {
        struct linear_term term = {-1, 0};
        bool from_b =
            factor && j < b->count && (i >= a->count || b->terms[j].monomial <= a->terms[i].monomial);

        if (from_b) {
            term.monomial = b->terms[j].monomial;
            if (__builtin_mul_overflow(b->terms[j++].coefficient, factor, &term.coefficient))
                return false;
        }
        if (i < a->count && (!from_b || a->terms[i].monomial == term.monomial)) {
            term.monomial = a->terms[i].monomial;
            if (__builtin_add_overflow(term.coefficient, a->terms[i++].coefficient, &term.coefficient))
                return false;
        }
        if (!term.coefficient)
            continue;
        if (sum.count == LINEAR_TERMS)
            return false;
        sum.terms[sum.count++] = term;
    }
    out->count = sum.count;
    out->constant = sum.constant;
    memcpy(out->terms, sum.terms, (size_t)sum.count * sizeof *sum.terms);
    return true;
}

bool linear_scale(struct linear *out, const struct linear *a, int64_t factor)
{
    struct linear zero;

    linear_constant(&zero, 0);
    return linear_add(out, &zero, factor, a);
}

bool linear_shift(struct linear *out, const struct linear *a, int64_t constant)
{
    if (out != a)
        *out = *a;
    return !__builtin_add_overflow(out->constant, constant, &out->constant);
}

bool linear_multiply(struct linear_space *space, struct linear *out, const struct linear *a,
                     const struct linear *b)
{
    struct linear sum, row;

    if (!a->count || !b->count)
        return a->count ? linear_scale(out, a, b->constant) : linear_scale(out, b, a->constant);
    if (!linear_scale(&sum, b, a->constant))
        return false;
    for (int i = 0; i < a->count; i++) {
        struct linear_term by = a->terms[i];
        struct linear alone = {1, 0, {by}};
        if (!linear_scale(&row, &alone, b->constant) || !linear_add(&sum, &sum, 1, &row))
            return false;
        for (int j = 0; j < b->count; j++) {
            alone.terms[0].monomial = linear_monomial_product(space, by.monomial, b->terms[j].monomial);
            if (alone.terms[0].monomial < 0 ||
                __builtin_mul_overflow(by.coefficient, b->terms[j].coefficient,
                                       &alone.terms[0].coefficient) ||
                !linear_add(&sum, &sum, 1, &alone))
                return false;
        }
    }
    *out = sum;
    return true;
}

bool linear_is_equal_but_for_constant(const struct linear *a, const struct linear *b)
{
    if (a->count != b->count)
        return false;
    for (int k = 0; k < a->count; k++)
        if (a->terms[k].monomial != b->terms[k].monomial ||
            a->terms[k].coefficient != b->terms[k].coefficient)
            return false;
    return true;
}

bool linear_equal(const struct linear *a, const struct linear *b)
{
    return a->constant == b->constant && linear_is_equal_but_for_constant(a, b);
}

/* dividend = divisor * whole + rest, as far as that can be seen term by term. */
static bool take_multiples(struct linear_space *space, const struct linear *dividend,
                           const struct linear *divisor, struct linear *whole, struct linear *rest)
{
    struct linear_term by = divisor->count ? divisor->terms[0] : (struct linear_term){-1, divisor->constant};
    struct linear product;

    linear_constant(whole, 0);
    if (divisor->count > 1 || (divisor->count == 1 && divisor->constant) || by.coefficient == INT64_MIN)
        return *rest = *dividend, true;
    for (int k = 0; k < dividend->count; k++) {
        struct linear_term term = dividend->terms[k];
        struct linear part = {1, 0, {term}};
        if (by.coefficient == -1 || term.coefficient % by.coefficient)
            continue;
        part.terms[0].coefficient /= by.coefficient;
        if (divisor->count) {
            const struct linear_monomial *factors = &space->monomials.items[by.monomial];
            if (factors->degree != 1)
                continue;
            int monomial = linear_monomial_without(space, term.monomial, factors->atoms[0]);
            if (monomial == -1)
                continue;
            if (monomial == -2)
                linear_constant(&part, part.terms[0].coefficient);
            else
                part.terms[0].monomial = monomial;
        }
        if (!linear_add(whole, whole, 1, &part))
            return false;
    }
    if (!divisor->count && by.coefficient != -1 &&
        !linear_shift(whole, whole, number_floor_divide(dividend->constant, by.coefficient)))
        return false;
    return linear_multiply(space, &product, whole, divisor) && linear_add(rest, dividend, -1, &product);
}

static bool all_parameters(const struct linear_space *space, const struct linear *a, const struct linear *b)
{
    return linear_is_parameter(space, a) && linear_is_parameter(space, b);
}

static bool divide(struct linear_space *space, enum linear_atom_kind kind, struct linear *out,
                   const struct linear *dividend, const struct linear *divisor)
{
    struct linear whole, parts[2];
    struct linear_atom atom = {.kind = kind, .low = LINEAR_NO_LOW, .high = LINEAR_NO_HIGH};

    if (!divisor->count && divisor->constant == 0)
        return false;
    if (!divisor->count && divisor->constant == -1) {
        linear_constant(out, 0);
        return kind == LINEAR_REMAINDER || linear_scale(out, dividend, -1);
    }
    if (!take_multiples(space, dividend, divisor, &whole, &parts[0]))
        return false;
    parts[1] = *divisor;
    bool exact = !parts[0].count && parts[0].constant == 0;
    if (!divisor->count && divisor->constant > 0 && !parts[0].count)
        exact = true; /* the rest is below the divisor */
    if (exact) {
        *out = kind == LINEAR_QUOTIENT ? whole : parts[0];
        return true;
    }
    atom.parameter = all_parameters(space, &parts[0], &parts[1]);
    if (kind == LINEAR_REMAINDER && !divisor->count) {
        atom.low = divisor->constant > 0 ? 0 : divisor->constant + 1;
        atom.high = divisor->constant > 0 ? divisor->constant - 1 : 0;
    } else if (kind == LINEAR_REMAINDER && linear_is_natural(space, divisor)) {
        atom.low = 0;
    } else if (linear_is_natural(space, &parts[0]) && linear_is_natural(space, divisor)) {
        atom.low = 0;
    }
    int number = atom_intern(space, atom, parts, 2);
    if (number < 0)
        return false;
    linear_of_atom(space, number, out);
    return kind == LINEAR_REMAINDER || linear_add(out, out, 1, &whole);
}

bool linear_combine(struct linear_space *space, enum linear_atom_kind kind, struct linear *out,
                    const struct linear *a, const struct linear *b)
{
    struct linear difference, children[2] = {*a, *b};
    struct linear_atom atom = {.kind = kind, .low = LINEAR_NO_LOW, .high = LINEAR_NO_HIGH};

    if (kind == LINEAR_QUOTIENT || kind == LINEAR_REMAINDER)
        return divide(space, kind, out, a, b);
    if (!linear_add(&difference, a, -1, b))
        return false;
    if (!difference.count) {
        *out = (difference.constant <= 0) == (kind == LINEAR_MIN) ? *a : *b;
        return true;
    }
    bool natural_a = linear_is_natural(space, a), natural_b = linear_is_natural(space, b);
    if (kind == LINEAR_MAX ? natural_a || natural_b : natural_a && natural_b)
        atom.low = 0;
    atom.parameter = all_parameters(space, a, b);
    int number = atom_intern(space, atom, children, 2);
    if (number < 0)
        return false;
    linear_of_atom(space, number, out);
    return true;
}

/* ---- questions ----------------------------------------------------------- */

bool linear_is_parameter(const struct linear_space *space, const struct linear *form)
{
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++)
            if (!linear_atom_at(space, monomial->atoms[a])->parameter)
                return false;
    }
    return true;
}

static bool atom_mentions(const struct linear_space *space, int atom, int wanted)
{
    const struct linear_atom *here = linear_atom_at(space, atom);

    if (atom == wanted)
        return true;
    if (atom < wanted || here->kind == LINEAR_LOOP)
        return false;
    for (int c = 0; c < here->child_count; c++)
        if (linear_mentions(space, &here->children[c], wanted))
            return true;
    return false;
}

bool linear_mentions(const struct linear_space *space, const struct linear *form, int atom)
{
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++)
            if (atom_mentions(space, monomial->atoms[a], atom))
                return true;
    }
    return false;
}

bool linear_divides(const struct linear_space *space, const struct linear *form)
{
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++) {
            const struct linear_atom *atom = linear_atom_at(space, monomial->atoms[a]);
            if ((atom->kind == LINEAR_QUOTIENT || atom->kind == LINEAR_REMAINDER) && atom->children[1].count)
                return true;
            for (int c = 0; atom->kind != LINEAR_LOOP && c < atom->child_count; c++)
                if (linear_divides(space, &atom->children[c]))
                    return true;
        }
    }
    return false;
}

bool linear_split(struct linear_space *space, const struct linear *form, int atom, struct linear *coefficient,
                  struct linear *rest)
{
    linear_constant(coefficient, 0);
    linear_constant(rest, form->constant);
    for (int k = 0; k < form->count; k++) {
        struct linear term = {1, 0, {form->terms[k]}};
        int monomial = linear_monomial_without(space, form->terms[k].monomial, atom);
        struct linear *into = monomial == -1 ? rest : coefficient;

        if (monomial == -2)
            linear_constant(&term, form->terms[k].coefficient);
        else if (monomial >= 0)
            term.terms[0].monomial = monomial;
        if (!linear_add(into, into, 1, &term))
            return false;
    }
    return !linear_mentions(space, coefficient, atom) && !linear_mentions(space, rest, atom);
}

bool linear_is_natural(const struct linear_space *space, const struct linear *form)
{
    if (form->constant < 0)
        return false;
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        if (form->terms[k].coefficient < 0)
            return false;
        for (int a = 0; a < monomial->degree; a++)
            if (linear_atom_at(space, monomial->atoms[a])->low < 0)
                return false;
    }
    return true;
}

/* ---- replacing ----------------------------------------------------------- */

static bool map_atom(struct linear_space *space, int number, linear_replace replace, void *context,
                     struct linear *out)
{
    struct linear_atom atom = *linear_atom_at(space, number); /* a copy, for the list may move */
    enum { CHILDREN = 16 };
    struct linear children[CHILDREN];
    bool changed = false;

    if (replace(context, number, out))
        return true;
    linear_of_atom(space, number, out);
    if (atom.kind == LINEAR_LOOP || !atom.child_count)
        return true;
    if (atom.child_count > CHILDREN)
        return false;
    for (int c = 0; c < atom.child_count; c++) {
        if (!linear_map(space, &atom.children[c], replace, context, &children[c]))
            return false;
        changed |= !linear_equal(&children[c], &atom.children[c]);
    }
    if (!changed)
        return true;
    if (atom.kind == LINEAR_LOAD)
        number = linear_load(space, atom.buffer, children, atom.low, atom.high);
    else if (atom.kind == LINEAR_SELECT)
        number = linear_new_select(space, children, atom.child_count, atom.when);
    else
        return linear_combine(space, atom.kind, out, &children[0], &children[1]);
    if (number < 0)
        return false;
    linear_of_atom(space, number, out);
    return true;
}

bool linear_map(struct linear_space *space, const struct linear *form, linear_replace replace, void *context,
                struct linear *out)
{
    struct linear sum;

    linear_constant(&sum, form->constant);
    for (int k = 0; k < form->count; k++) {
        struct linear_monomial monomial = space->monomials.items[form->terms[k].monomial];
        struct linear product, factor;

        linear_constant(&product, form->terms[k].coefficient);
        for (int a = 0; a < monomial.degree; a++)
            if (!map_atom(space, monomial.atoms[a], replace, context, &factor) ||
                !linear_multiply(space, &product, &product, &factor))
                return false;
        if (!linear_add(&sum, &sum, 1, &product))
            return false;
    }
    *out = sum;
    return true;
}

struct replacement {
    int atom;
    const struct linear *by;
};

static bool replace_atom(void *context, int atom, struct linear *out)
{
    const struct replacement *replacement = context;

    if (atom != replacement->atom)
        return false;
    *out = *replacement->by;
    return true;
}

bool linear_substitute(struct linear_space *space, const struct linear *form, int atom,
                       const struct linear *by, struct linear *out)
{
    struct replacement replacement = {atom, by};
    return linear_map(space, form, replace_atom, &replacement, out);
}

/* ---- back to expressions ------------------------------------------------- */

bool linear_has_expr(const struct linear_space *space, const struct linear *form)
{
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++) {
            const struct linear_atom *atom = linear_atom_at(space, monomial->atoms[a]);
            if (atom->symbol)
                continue;
            if (atom->kind == LINEAR_LOOP || atom->kind == LINEAR_OPAQUE || atom->kind == LINEAR_SELECT)
                return false;
            for (int c = 0; c < atom->child_count; c++)
                if (!linear_has_expr(space, &atom->children[c]))
                    return false;
        }
    }
    return true;
}

static struct ir_expr *as_index(struct ir_kernel *kernel, struct ir_expr *value)
{
    return value->dtype == AKG_INT64 ? value : ir_cast(kernel, AKG_INT64, value);
}

static struct ir_expr *load_expr(struct ir_kernel *kernel, const struct linear_space *space,
                                 const struct linear_atom *atom)
{
    struct ir_expr **indices = arena_array(kernel->arena, struct ir_expr *, atom->child_count);

    for (int k = 0; k < atom->child_count; k++)
        indices[k] = linear_expr(kernel, space, &atom->children[k]);
    return ir_load(kernel, atom->buffer, indices);
}

static struct ir_expr *atom_expr(struct ir_kernel *kernel, const struct linear_space *space, int number)
{
    const struct linear_atom *atom = linear_atom_at(space, number);

    if (atom->symbol)
        return as_index(kernel, ir_symbol_use(kernel, atom->symbol));
    if (atom->kind == LINEAR_LOAD)
        return as_index(kernel, load_expr(kernel, space, atom));

    struct ir_expr *a = linear_expr(kernel, space, &atom->children[0]);
    struct ir_expr *b = linear_expr(kernel, space, &atom->children[1]);
    switch (atom->kind) {
    case LINEAR_QUOTIENT:
        return ir_operation(kernel, OP_FLOORDIV, a, b, NULL);
    case LINEAR_REMAINDER:
        return ir_operation(kernel, OP_MOD, a, b, NULL);
    case LINEAR_MIN:
        return ir_operation(kernel, OP_MIN, a, b, NULL);
    default:
        return ir_operation(kernel, OP_MAX, a, b, NULL);
    }
}

static struct ir_expr *term_expr(struct ir_kernel *kernel, const struct linear_space *space, int monomial,
                                 int64_t coefficient)
{
    const struct linear_monomial *factors = &space->monomials.items[monomial];
    struct ir_expr *product = atom_expr(kernel, space, factors->atoms[0]);

    for (int a = 1; a < factors->degree; a++)
        product = ir_operation(kernel, OP_MUL, product, atom_expr(kernel, space, factors->atoms[a]), NULL);
    if (coefficient == 1)
        return product;
    return ir_operation(kernel, OP_MUL, ir_integer(kernel, AKG_INT64, coefficient), product, NULL);
}

struct ir_expr *linear_expr(struct ir_kernel *kernel, const struct linear_space *space,
                            const struct linear *form)
{
    struct ir_expr *sum = NULL;

    for (int pass = 0; pass < 2;
         pass++) { /* what is added first, so that N - 1 does not come out as -1 + N */
        for (int k = 0; k < form->count; k++) {
            int64_t coefficient = form->terms[k].coefficient;
            bool subtract = coefficient < 0 && coefficient != INT64_MIN;
            if (subtract != (pass == 1))
                continue;
            struct ir_expr *term = term_expr(kernel, space, form->terms[k].monomial,
                                             subtract && sum ? -coefficient : coefficient);
            sum = sum ? ir_operation(kernel, subtract ? OP_SUB : OP_ADD, sum, term, NULL) : term;
        }
        if (pass == 0 && form->constant > 0) {
            struct ir_expr *constant = ir_integer(kernel, AKG_INT64, form->constant);
            sum = sum ? ir_operation(kernel, OP_ADD, sum, constant, NULL) : constant;
        }
    }
    if (!sum)
        return ir_integer(kernel, AKG_INT64, form->constant);
    if (form->constant < 0 && form->constant != INT64_MIN)
        sum = ir_operation(kernel, OP_SUB, sum, ir_integer(kernel, AKG_INT64, -form->constant), NULL);
    return sum;
}

bool linear_sides(const struct linear *form, struct linear *positive, struct linear *negative)
{
    if (form->constant == INT64_MIN)
        return false;
    linear_constant(positive, form->constant > 0 ? form->constant : 0);
    linear_constant(negative, form->constant < 0 ? -form->constant : 0);
    for (int k = 0; k < form->count; k++) {
        struct linear_term term = form->terms[k];
        struct linear *side = term.coefficient > 0 ? positive : negative;
        if (term.coefficient == INT64_MIN)
            return false;
        term.coefficient = term.coefficient > 0 ? term.coefficient : -term.coefficient;
        side->terms[side->count++] = term;
    }
    return true;
}

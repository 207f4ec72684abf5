/*
 * linear.h: integer expressions as sums of monomials, the form in which indices, bounds and
 * conditions are compared.
 *
 * An atom is what the form does not look into: a dim, an attribute, a loop variable, a quotient, a value out
 * of memory. A monomial is a product of up to LINEAR_DEGREE atoms (so that i*M counts as one thing), and a
 * linear form is a constant plus int64 coefficients times monomials. Atoms with equal meaning are the same
 * atom. Arithmetic is that of the integers: an operation whose result does not fit (in int64, in
 * LINEAR_TERMS) says so instead.
 *
 * Atoms and monomials live in a space, which lives in an arena; forms are plain values.
 */
#ifndef JIT_LINEAR_H
#define JIT_LINEAR_H

#include "../ir/ir.h"

enum { LINEAR_TERMS = 12, LINEAR_DEGREE = 4, LINEAR_NESTING = 4 };

/* Bounds of an atom that is not known to have any. */
#define LINEAR_NO_LOW INT64_MIN
#define LINEAR_NO_HIGH INT64_MAX

struct linear_term {
    int monomial;
    int64_t coefficient; /* not 0 */
};

struct linear {
    int count;
    int64_t constant;
    struct linear_term terms[LINEAR_TERMS]; /* by increasing monomial */
};

enum linear_atom_kind {
    LINEAR_DIM,
    LINEAR_ATTRIBUTE,
    LINEAR_LOOP,      /* a loop variable, or the number of the iteration; children: what it runs from, and to
                         (inclusive) */
    LINEAR_OPAQUE,    /* a value of which nothing but the range is known, and whether it is `small` */
    LINEAR_LOAD,      /* an element of a buffer that does not change; children: the indices */
    LINEAR_QUOTIENT,  /* children: dividend, divisor; floors */
    LINEAR_REMAINDER, /* children: dividend, divisor; of the divisor's sign */
    LINEAR_MIN,
    LINEAR_MAX,
    LINEAR_SELECT /* children: value when true, value when false, then the forms of `when` */
};

struct linear_atom {
    enum linear_atom_kind kind;
    bool parameter; /* made of dims, attributes, constants and what stands around all that is analysed */
    struct ir_symbol *symbol; /* DIM, ATTRIBUTE; LOOP, OPAQUE: a scalar that has this value, or NULL */
    struct ir_buffer *buffer; /* LOAD */
    struct linear *children;
    int child_count;
    int when[2];       /* SELECT: number of children that are >= 0 when the condition is false, true */
    int64_t low, high; /* its range */
    bool small;        /* OPAQUE: began as a small form (linear_is_small) and only counted since */
    int64_t limit;     /* ATTRIBUTE: its magnitude was taken to be no larger; 0: nothing was assumed */
    int monomial;      /* the one that is this atom */
    int newest;        /* the largest number of an atom below it, itself included */
    int nesting;
    unsigned hash;
};

struct linear_monomial {
    int degree;
    int atoms[LINEAR_DEGREE]; /* increasing */
};

/* Where equal things are found again; slots hold number + 1. */
struct linear_table {
    int *slots;
    int capacity, used;
};

struct linear_space {
    struct arena *arena;
    LIST(struct linear_atom) atoms;
    LIST(struct linear_monomial) monomials;
    struct linear_table atom_table, monomial_table;
    bool has_products; /* some monomial has a degree above one */
    bool sealed;       /* nothing may be assumed of attributes: they can be anything */
};

void linear_space_init(struct linear_space *space, struct arena *arena);

static inline struct linear_atom *linear_atom_at(const struct linear_space *space, int atom)
{
    return &space->atoms.items[atom];
}

/* ---- atoms (numbers; they stay valid, addresses do not) ------------------ */

int linear_new_symbol(struct linear_space *space, enum linear_atom_kind kind, struct ir_symbol *symbol);
/* A loop variable that runs from `first` to `last`. */
int linear_new_loop(struct linear_space *space, const struct linear *first, const struct linear *last);
int linear_new_opaque(struct linear_space *space, int64_t low, int64_t high);
int linear_new_select(struct linear_space *space, const struct linear *children, int count,
                      const int when[2]);
/* The element of a buffer that nobody writes; -1 when that nests too deeply. */
int linear_load(struct linear_space *space, struct ir_buffer *buffer, const struct linear *indices,
                int64_t low, int64_t high);

/* ---- forms --------------------------------------------------------------- */

void linear_constant(struct linear *out, int64_t value);
void linear_of_atom(const struct linear_space *space, int atom, struct linear *out);

/* Each is false when the result cannot be represented; `out` may be one of the operands. */
bool linear_add(struct linear *out, const struct linear *a, int64_t factor,
                const struct linear *b); /* a + factor * b */
bool linear_scale(struct linear *out, const struct linear *a, int64_t factor);
bool linear_shift(struct linear *out, const struct linear *a, int64_t constant);
bool linear_multiply(struct linear_space *space, struct linear *out, const struct linear *a,
                     const struct linear *b);
/* QUOTIENT and REMAINDER of a divisor that is not constantly 0; MIN, MAX. */
bool linear_combine(struct linear_space *space, enum linear_atom_kind kind, struct linear *out,
                    const struct linear *a, const struct linear *b);

/* The product of two monomials, or -1. */
int linear_monomial_product(struct linear_space *space, int a, int b);
/* The monomial with one factor `atom` less: -1 when it has none, -2 when nothing is left. */
int linear_monomial_without(struct linear_space *space, int monomial, int atom);

bool linear_equal(const struct linear *a, const struct linear *b);
bool linear_is_equal_but_for_constant(const struct linear *a, const struct linear *b);
bool linear_is_parameter(const struct linear_space *space, const struct linear *form);
/* Whether `atom` occurs, be it inside other atoms. */
bool linear_mentions(const struct linear_space *space, const struct linear *form, int atom);
/* Whether it has a quotient or remainder of a divisor that is no constant: it has a value only where that is
 * not 0. */
bool linear_divides(const struct linear_space *space, const struct linear *form);
/* form = coefficient * atom + rest, `atom` in neither of the two; false when it is not so. */
bool linear_split(struct linear_space *space, const struct linear *form, int atom, struct linear *coefficient,
                  struct linear *rest);
/* True when every atom's range alone shows form >= 0. */
bool linear_is_natural(const struct linear_space *space, const struct linear *form);

/* Replaces atoms: `replace` gives a form for the atom and true, or false to keep it (then what it is made of
 * is looked at). False when the result cannot be represented. */
typedef bool (*linear_replace)(void *context, int atom, struct linear *out);
bool linear_map(struct linear_space *space, const struct linear *form, linear_replace replace, void *context,
                struct linear *out);
/* With another form in the place of one atom. */
bool linear_substitute(struct linear_space *space, const struct linear *form, int atom,
                       const struct linear *by, struct linear *out);

/* Whether linear_expr can write the form: always where it is a parameter. */
bool linear_has_expr(const struct linear_space *space, const struct linear *form);
struct ir_expr *linear_expr(struct ir_kernel *kernel, const struct linear_space *space,
                            const struct linear *form);
/* positive - negative = form, both without negative coefficients. */
bool linear_sides(const struct linear *form, struct linear *positive, struct linear *negative);

/* Whether a machine that computes the form in int64 gets the same value: the ranges of its atoms bound the
 * sum. Notes in `limit` of attributes what had to be assumed of them. A form that is one atom, or a constant,
 * always fits. */
bool linear_fits(struct linear_space *space, const struct linear *form);
/* Whether constants can be added to the value, once in each iteration of some loop, for as long as a call may
 * last without that it leaves int64. */
bool linear_is_small(struct linear_space *space, const struct linear *form);

#endif

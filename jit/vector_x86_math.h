/*
 * vector_x86_math.h: what the files of functions in line share: arithmetic on lanes of float32 or float64.
 *
 * Each function takes virtual registers and gives that of its result; those of its operands keep their
 * values.
 */
#ifndef JIT_VECTOR_X86_MATH_H
#define JIT_VECTOR_X86_MATH_H

#include "vector_x86.h"

/* The lanes that are computed with. `digits`: of the mantissa that are stored. */
struct real {
    struct machine *machine;
    enum vector_type type;
    bool wide;
    int bits, digits;
    double rounder; /* added and taken away again, it rounds to a whole number, which its low bits are */
};

struct coefficients {
    const double *items; /* of the highest power first */
    int count;
};

/* The coefficients of a polynomial for each type of lanes. */
#define COEFFICIENTS(...)                                                                                    \
    (struct coefficients)                                                                                    \
    {                                                                                                        \
        (const double[]){__VA_ARGS__}, (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double))         \
    }

/* ---- vector_x86_math.c ---- */

int real_number(const struct real *real, double number);
/* Bits in each lane, by type. */
int real_pattern(const struct real *real, uint32_t narrow, uint64_t wide);
int real_add(const struct real *real, int a, int b);
int real_subtract(const struct real *real, int a, int b);
int real_multiply(const struct real *real, int a, int b);
int real_divide(const struct real *real, int a, int b);
int real_root(const struct real *real, int a);
/* Of two that do not compare, b. */
int real_least(const struct real *real, int a, int b);
int real_most(const struct real *real, int a, int b);
/* c + a * b and c - a * b, rounded once. */
int real_plus_product(const struct real *real, int c, int a, int b);
int real_minus_product(const struct real *real, int c, int a, int b);
/* a * b + c. */
int real_step(const struct real *real, int a, int b, double c);
/* a * b - c, which is what a product c was rounded by. */
int real_rest(const struct real *real, int a, int b, int c);
/* The polynomial at x. */
int real_polynomial(const struct real *real, int x, struct coefficients coefficients);
int real_shift_left(const struct real *real, int a, int count);
int real_shift_right(const struct real *real, int a, int count);
int real_integer_add(const struct real *real, int a, int b);
int real_integer_subtract(const struct real *real, int a, int b);
int real_and(const struct real *real, int a, int b);
int real_xor(const struct real *real, int a, int b);
int real_magnitude(const struct real *real, int a);
/* With the sign of x; a has none, or that one. */
int real_with_sign(const struct real *real, int a, int x);
/* The sign turned where x has one. */
int real_turned(const struct real *real, int a, int x);
/* Whether a lane compares so, by the table of scalar operations. */
int real_compare(const struct real *real, enum operation operation, int a, int b);
int real_select(const struct real *real, int condition, int a, int b);
/* Which of 16 floats (float32, AVX-512) each lane has, by the low four bits of `places`. */
int real_pick(const struct real *real, const float table[16], int places);

/* x between bounds; nan stays. */
int real_clamped(const struct real *real, int x, double low, double high);

int real_floor(const struct real *real, int a);
/* To so many digits behind the point, at most 15; with AVX2, none. */
int real_floor_at(const struct real *real, int a, int digits);
int real_nearest(const struct real *real, int a);

/* ---- vector_x86_modulo.c ---- */

/* MOD or FLOORDIV. */
int real_modulo(const struct real *real, enum operation operation, int a, int b);

/* ---- vector_x86_exponential.c ---- */

int real_exponential(const struct real *real, int x);
/* 2^(x + rest), the rest small against 1; 0: there is none. */
int real_exponential2(const struct real *real, int x, int rest);
/* Of float64, but for float32: to 33 bits, and where float32 has 0 or infinity it may be what becomes that.
 */
int real_exponential2_single(const struct real *real, int x);
int real_exponential_less_one(const struct real *real, int x);
int real_hyperbolic(const struct real *real, enum operation operation, int x);
int real_tangent(const struct real *real, int x);
/* e^x where x is between -87 and 0, or nan, and what the result is taken from is above it. */
int real_near_exponential(const struct real *real, int x);
/* factor * e^(-square - rest), the square up to 800, the rest what it was rounded by. */
int real_bell(const struct real *real, int square, int rest, int factor);

/* ---- vector_x86_logarithm.c ---- */

/* LOG, LOG2 or LOG10. */
int real_logarithm(const struct real *real, enum operation operation, int x);
/* log2 of float64 that was a float32, to 41 bits. */
int real_logarithm2_single(const struct real *real, int x);
int real_logarithm_of_sum(const struct real *real, int x);

/* ---- vector_x86_root.c ---- */

/* x ^ (1 / 3), where that is rounded to the dtype. */
int real_cube_root(const struct real *real, int x);

/* ---- vector_x86_error.c ---- */

int real_error_function(const struct real *real, int x);
int real_error_complement(const struct real *real, int x);

/* ---- vector_x86_circle.c ---- */

/* SIN, COS or TAN. */
int real_circular(const struct real *real, enum operation operation, int x);
/* ASIN, ACOS or ATAN. */
int real_arc(const struct real *real, enum operation operation, int x);
int real_arc_of_two(const struct real *real, int y, int x);

#endif

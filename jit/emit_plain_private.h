/*
 * emit_plain_private.h: what the files of the emitter of plain C share and nobody else includes.
 */
#ifndef JIT_EMIT_PLAIN_PRIVATE_H
#define JIT_EMIT_PLAIN_PRIVATE_H

#include "../base/text.h"
#include "emit_plain.h"

/* Functions that the text defines for itself when it calls them. */
#define PLAIN_HELPER_TABLE(X)                                                                                \
    X(FLOOR_DIV, "static inline long floor_div(long a, long b)\n{\n"                                         \
                 "    return a / b - (a % b != 0 && (a < 0) != (b < 0));\n}\n")                              \
    X(FLOOR_MOD, "static inline long floor_mod(long a, long b)\n{\n"                                         \
                 "    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);\n}\n")                      \
    X(CEIL_DIV, "static inline long ceil_div(long a, long b)\n{\n"                                           \
                "    return a / b + (a % b != 0 && (a < 0) == (b < 0));\n}\n")                               \
    X(POWER, "static inline long power(long base, long exponent)\n{\n    long result = 1;\n"                 \
             "    while (exponent-- > 0)\n        result *= base;\n    return result;\n}\n")                 \
    X(FROM_BFLOAT16, "static inline float from_bfloat16(uint16_t bits)\n{\n"                                 \
                     "    uint32_t wide = (uint32_t)bits << 16;\n    float value;\n"                         \
                     "    memcpy(&value, &wide, sizeof value);\n    return value;\n}\n")                     \
    X(TO_BFLOAT16, "static inline uint16_t to_bfloat16(float value)\n{\n    uint32_t bits;\n"                \
                   "    memcpy(&bits, &value, sizeof bits);\n"                                               \
                   "    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);\n}\n")

enum plain_helper {
#define X(id, text) PLAIN_##id,
    PLAIN_HELPER_TABLE(X)
#undef X
        PLAIN_HELPER_COUNT
};

struct plain {
    const struct ir_kernel *kernel;
    struct text *out;
    struct text function; /* its body, while that is made: not a variable of what makes it, for that may be
                             leapt over */
    struct arena arena;
    const char **symbols; /* by slot: the name in C */
    bool *nonnegative;    /* by slot */
    bool *used;           /* by slot: stands in the text */
    const char **buffers; /* by index */
    bool *used_buffers;
    bool (*repeated)[AKG_MAX_RANK]; /* by index, of each axis: all along it is one element, which is there
                                       once */
    bool helpers[PLAIN_HELPER_COUNT];
    int indent;
};

/* How tightly text binds, loosest first. */
enum plain_precedence {
    PLAIN_CHOICE,
    PLAIN_OR,
    PLAIN_AND,
    PLAIN_BITS, /* & | ^, always in parentheses when nested */
    PLAIN_EQUAL,
    PLAIN_LESS,
    PLAIN_SHIFT,
    PLAIN_SUM,
    PLAIN_PRODUCT,
    PLAIN_UNARY,
    PLAIN_PRIMARY
};

/* The text of an expression, in parentheses where it binds less tightly than that. In the arena. */
const char *plain_expr(struct plain *plain, const struct ir_expr *expr, enum plain_precedence least);
/* "x[i * N + j]" */
const char *plain_access(struct plain *plain, const struct ir_access *access);
/* The text of a value of that dtype as it is stored. */
const char *plain_stored(struct plain *plain, akg_dtype dtype, const struct ir_expr *value);
/* The C type of an element in memory, and of a local variable. */
const char *plain_element_type(akg_dtype dtype);
const char *plain_type(akg_dtype dtype);
/* The extents of a buffer, multiplied. */
const char *plain_element_count(struct plain *plain, const struct ir_buffer *buffer);
/* Whether an integer is known not to be negative. */
bool plain_is_nonnegative(const struct plain *plain, const struct ir_expr *expr);

#endif

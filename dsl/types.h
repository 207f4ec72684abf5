/*
 * types.h: dtypes that are not known yet.
 *
 * A type is a dtype, or a variable: of a parameter when no call is given, or of a
 * scalar declared with an untyped number (acc = 0.0) that takes the dtype of what it meets.
 * A variable stands for a set of dtypes that shrinks as the program is read
 * (unification); what remains at the end decides. Types are kept in the dtype
 * fields of the IR while a kernel is elaborated: values from TYPE_FIRST_VARIABLE on are
 * variables, and elaborate_finish.c replaces them all.
 */
#ifndef DSL_TYPES_H
#define DSL_TYPES_H

#include "../ir/ir.h"

#define TYPE_FIRST_VARIABLE 64

/* Sets of dtypes, one bit each. */
#define TYPES_BOOL (1u << AKG_BOOL)
#define TYPES_SIGNED (1u << AKG_INT8 | 1u << AKG_INT16 | 1u << AKG_INT32 | 1u << AKG_INT64)
#define TYPES_UNSIGNED (1u << AKG_UINT8 | 1u << AKG_UINT16 | 1u << AKG_UINT32 | 1u << AKG_UINT64)
#define TYPES_INTEGER (TYPES_SIGNED | TYPES_UNSIGNED)
#define TYPES_FLOAT (1u << AKG_FLOAT16 | 1u << AKG_BFLOAT16 | 1u << AKG_FLOAT32 | 1u << AKG_FLOAT64)
#define TYPES_NUMBER (TYPES_INTEGER | TYPES_FLOAT)
#define TYPES_ANY (TYPES_BOOL | TYPES_NUMBER)

struct type_variable {
    int parent; /* -1: a root */
    int size;   /* of a root: the variables below it and itself */
    unsigned allowed;
    bool generic;  /* the dtype of a parameter, left open */
    bool as_index; /* used as an index: int64 when nothing else decides */
};

struct types {
    struct arena *arena;
    LIST(struct type_variable) variables;
};

akg_dtype type_fresh(struct types *types, unsigned allowed, bool generic);
/* The type's representative: a dtype where it is decided, else its root variable. */
akg_dtype type_find(const struct types *types, akg_dtype type);
static inline bool type_is_variable(akg_dtype type)
{
    return (int)type >= TYPE_FIRST_VARIABLE;
}
/* The set of dtypes it can still be. */
unsigned type_allowed(const struct types *types, akg_dtype type);
/* Makes two types one. False, with nothing changed, when no dtype is in both. */
bool type_unify(struct types *types, akg_dtype a, akg_dtype b);
/* Shrinks a type to a set. False, with nothing changed, when nothing would remain. */
bool type_restrict(struct types *types, akg_dtype type, unsigned allowed);
void type_mark_index(struct types *types, akg_dtype type);
/* The dtype it is in the end. */
akg_dtype type_decide(const struct types *types, akg_dtype type);
/* For messages: "float32", "a float", "an integer", "a number". */
const char *type_text(const struct types *types, akg_dtype type);

#endif

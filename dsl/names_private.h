/*
 * names_private.h: what names.c, names_scope.c, names_use.c and names_refuse.c share.
 */
#ifndef DSL_NAMES_PRIVATE_H
#define DSL_NAMES_PRIVATE_H

#include "names.h"

/* ---- names_scope.c ---- */

struct names_entry {
    const char *name;
    struct ast_binding *current; /* what it means here, or NULL */
    struct ast_binding *ended;   /* the last meaning whose block is over */
    struct span assigned;        /* first assignment anywhere in the function; line 0: none */
    bool refused;                /* said once that it means nothing: once is enough */
    struct names_entry *next;
};

struct names_scope {
    struct names_scope *outer;
    struct ast_binding *first; /* declared here, newest first */
    int depth;
};

struct names {
    struct arena *arena;
    akg_diagnostics *diagnostics;
    struct ast_module *module;
    struct ast_function *function;
    struct names_scope *scope;
    struct names *outer; /* the names of the file; NULL in it */
    struct names_entry **buckets;
    int bucket_count, entry_count;
    int loops;                      /* loops around the statement */
    int executed;                   /* run-time loops and conditions around it */
    const struct ast_expr *written; /* the name that the statement writes to or returns */
    const struct ast_expr *stored;  /* the name whose elements it writes */
    int parts, levels;              /* of the constants in the value of a constant */
    bool annotates;                 /* what is resolved stands in the shape of a parameter */
    const struct ast_expr *called;  /* the name that is called */
    const struct ast_expr *updated; /* the name that the statement reads and assigns: n += 1 */
};

/* The row of a name, which is made where there is none. */
struct names_entry *names_entry(struct names *names, const char *name);
/* A new meaning in the present scope; in a function it gets a slot. */
struct ast_binding *names_declare(struct names *names, enum ast_binding_kind kind, const char *name,
                                  struct span span);
/* The scope lives as long as the caller says: names_leave ends the one entered last. */
void names_enter(struct names *names, struct names_scope *scope);
void names_leave(struct names *names);

/* ---- names_refuse.c ---- */

/* Names that may have been meant. */
struct names_candidates {
    LIST(const char *) names;
};
/* Says under the message which name of the program or the language was probably meant, or what is written
 * instead of one of another language; false: nobody knows. `called`: a function is looked for. */
bool names_propose(struct arena *arena, struct diagnostic_entry *message, const char *name,
                   struct names_candidates *candidates, bool called);
/* Refuses np.exp and the like; says what is written instead. */
void names_refuse_module(akg_diagnostics *diagnostics, const struct ast_expr *member,
                         const struct ast_expr *call);
/* A name whose last meaning ended with its block. */
void names_refuse_ended(akg_diagnostics *diagnostics, const struct ast_expr *expr,
                        const struct ast_binding *ended);
/* A default that is not of the kind, or out of the range, that the parameter's annotation says: true. */
bool names_refuse_default(struct arena *arena, akg_diagnostics *diagnostics,
                          const struct ast_parameter *parameter);
void names_refuse_format(akg_diagnostics *diagnostics, const struct ast_expr *string);
/* Refuses COUNT += 1 where COUNT is a constant of the file. */
void names_refuse_update(akg_diagnostics *diagnostics, struct span span, const struct ast_binding *constant);
/* Refuses an annotation that is neither a dtype nor the type of an attribute. */
void names_refuse_annotation(struct arena *arena, akg_diagnostics *diagnostics, const struct ast_expr *base);
/* Refuses a shape with too many axes, or with slices other than `:`; false where it is none of these. */
bool names_refuse_shape(akg_diagnostics *diagnostics, const struct ast_expr *annotation);
/* True for what a constant of the file can be made of. */
bool names_is_constant(const struct ast_expr *expr);

/* ---- names_use.c ---- */

/* What a parameter is used as: that decides whether it is a tensor or a scalar. */
enum names_use {
    NAMES_TENSOR,
    NAMES_OPERAND, /* a scalar; in a graph function perhaps a tensor */
    NAMES_NUMBER
};

void names_parameter_use(const struct ast_expr *expr, enum names_use use);
/* What stands in an argument of a builtin that is no operation, in a shape say, is a number as well. */
void names_argument_use(const struct ast_expr *expr);

#endif

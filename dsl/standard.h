/*
 * standard.h: the standard library, the .akg files of stdlib/, embedded as text.
 *
 * Functions whose names begin with an underscore, and bprops, serve the library itself; all others can be
 * called by name from every program that does not define that name itself.
 */
#ifndef DSL_STANDARD_H
#define DSL_STANDARD_H

#include "ast.h"

struct standard_file {
    const char *name; /* "stdlib/softmax.akg" */
    const char *text;
    size_t length;
};

/* A function, in the order of the files. */
struct standard_operator {
    const char *name;
    const struct standard_file *file;
    bool is_public;
};

/* The file that defines the function of that name, or NULL. */
const struct standard_file *standard_find(const char *name);
/* Whether programs may call it. */
bool standard_is_public(const char *name);
/* Number `index` of all; false past the end. */
bool standard_at(size_t index, struct standard_operator *row);
/* The function that computes a scalar operation on tensors: "add" for +; NULL where there is none. */
const char *standard_operation_name(enum operation operation);

/*
 * The function of that name, its file read into `program` if it is not yet there: parsed, names bound and
 * structure checked. NULL when there is none. Messages about the library's own text go nowhere: the tests see
 * to it that there are none.
 */
struct ast_function *standard_load(struct arena *arena, struct ast_module *program, const char *name);

#endif

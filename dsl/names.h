/*
 * names.h: inside the stage that binds names (names.c) and checks structure (structure.c).
 */
#ifndef DSL_NAMES_H
#define DSL_NAMES_H

#include "ast.h"
#include "builtins.h"

/* Returns, recursion, decorators, outputs: what holds of a whole function once its names are bound. */
void structure_check(struct arena *arena, struct ast_module *module, akg_diagnostics *diagnostics);

/* Ranks and names of the dims of a function's parameters, from its text (signature.c). Kept in
 * function->signature. */
struct signature {
    int *ranks;       /* per parameter, -1 where any will do */
    int *least_ranks; /* per parameter: at least so many axes are asked for */
    int *linked;      /* per parameter of any rank: the one whose rank plus linked_by is its own, or -1 */
    int *linked_by;
    const char *(*labels)[AKG_MAX_RANK]; /* per parameter and axis: what the program calls it, or NULL */
};
const struct signature *signature_infer(struct arena *arena, struct ast_function *function);

#endif

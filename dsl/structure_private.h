/*
 * structure_private.h: what the files of structure.c share.
 */
#ifndef DSL_STRUCTURE_PRIVATE_H
#define DSL_STRUCTURE_PRIVATE_H

#include "names.h"

bool structure_is_call_of(const struct ast_expr *expr, int builtin);
/* The function of this file, or of the library, that the expression calls; NULL: it is no such call. */
struct ast_function *structure_callee(const struct ast_expr *expr);
/* An operation, written with an operator or called by name: of tensors it is a function of the library. */
bool structure_is_operation(const struct ast_expr *expr);
/* An attribute, by its default or its annotation; or also by what it is used as. */
bool structure_has_value(const struct ast_parameter *parameter);
bool structure_is_attribute(const struct ast_parameter *parameter);
bool structure_gives_tensor(const struct ast_expr *expr, int depth);
/* The tuple that an expression gives, as far as the text tells; NULL: it is none. */
const struct ast_expr *structure_tuple(const struct ast_expr *expr, int depth);
/* Of a tensor that is a parameter: what else a parameter with an index can be, tuples and attributes, a graph
 * function has too. */
bool structure_is_element(const struct ast_function *function, const struct ast_expr *expr);
/* Whether it is a number, for sure: an element of a tensor that the function takes or makes, a loop's
 * variable, or what is computed of such, here or by a helper. `left`: how many expressions may be looked at.
 */
bool structure_is_scalar(const struct ast_function *function, const struct ast_expr *expr, int *left);
/* structure_refuse.c: a function that returns nothing; and one that does so behind this statement. */
void structure_refuse_no_return(struct arena *arena, akg_diagnostics *diagnostics,
                                const struct ast_function *function);
void structure_refuse_open_end(akg_diagnostics *diagnostics, const struct ast_function *function,
                               const struct ast_stmt *last);

#endif

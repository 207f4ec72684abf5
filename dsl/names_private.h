/*
 * names_private.h: what names.c asks of names_refuse.c.
 */
#ifndef DSL_NAMES_PRIVATE_H
#define DSL_NAMES_PRIVATE_H

#include "names.h"

/* Refuses np.exp and the like; says what is written instead. */
void names_refuse_module(akg_diagnostics *diagnostics, const struct ast_expr *member);
/* Refuses an annotation that is neither a dtype nor the type of an attribute. */
void names_refuse_annotation(struct arena *arena, akg_diagnostics *diagnostics, const struct ast_expr *base);
/* True for what a constant of the file can be made of. */
bool names_is_constant(const struct ast_expr *expr);

#endif

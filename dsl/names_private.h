/*
 * names_private.h: what names.c asks of names_refuse.c.
 */
#ifndef DSL_NAMES_PRIVATE_H
#define DSL_NAMES_PRIVATE_H

#include "names.h"

/* Names that may have been meant. */
struct names_candidates {
    LIST(const char *) names;
};
/* Says under the message which name of the program or the language was probably meant, or what is written
 * instead of one of another language; false: nobody knows. `called`: a function is looked for. */
bool names_propose(struct arena *arena, struct diagnostic_entry *message, const char *name,
                   struct names_candidates *candidates, bool called);
/* Refuses np.exp and the like; says what is written instead. */
void names_refuse_module(akg_diagnostics *diagnostics, const struct ast_expr *member);
void names_refuse_format(akg_diagnostics *diagnostics, const struct ast_expr *string);
/* Refuses COUNT += 1 where COUNT is a constant of the file. */
void names_refuse_update(akg_diagnostics *diagnostics, struct span span, const struct ast_binding *constant);
/* Refuses an annotation that is neither a dtype nor the type of an attribute. */
void names_refuse_annotation(struct arena *arena, akg_diagnostics *diagnostics, const struct ast_expr *base);
/* True for what a constant of the file can be made of. */
bool names_is_constant(const struct ast_expr *expr);

#endif

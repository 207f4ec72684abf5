/*
 * parse.h: text to syntax tree: scanner, layout, grammar, names, in this order.
 */
#ifndef DSL_PARSE_H
#define DSL_PARSE_H

#include "ast.h"
#include "token.h"

/* Scans and lays out: the tokens as the grammar sees them. */
void parse_tokens(struct arena *arena, const struct dsl_source *source, struct token_list *tokens,
                  akg_diagnostics *diagnostics);

/* The tree of a source, or NULL when it is refused as a whole (too long). Errors are in
 * diagnostics; what could be read is in the tree all the same. Names are not yet resolved. */
struct ast_module *parse_module(struct arena *arena, const struct dsl_source *source,
                                akg_diagnostics *diagnostics);

/* Binds every name to its declaration and checks what can be checked without knowing
 * a call: names.c. Functions with errors are marked `broken`. */
void names_resolve(struct arena *arena, struct ast_module *module, akg_diagnostics *diagnostics);

#endif

/*
 * build.h: what the grammar's actions call to make the tree (ast_build.c).
 */
#ifndef DSL_BUILD_H
#define DSL_BUILD_H

#include "ast.h"
#include "token.h"

/* What 0..n is told, wherever it is found. */
#define BUILD_INTERVAL_HELP "to count, write range(first, end); a slice is first:end"

struct build_exprs {
    LIST(struct ast_expr *) list;
    LIST(enum ast_comparison) comparisons;
};

/* Literals that stand side by side: one string. */
struct build_string {
    struct span span;
    bool is_format;
    LIST(char) bytes;
};

struct build_stmts {
    struct ast_stmt *first, *last;
};

struct build_parameters {
    LIST(struct ast_parameter) list;
};

struct parser {
    struct arena *arena;
    akg_diagnostics *diagnostics;
    const struct dsl_source *source;
    const struct token_list *tokens;
    int position; /* of the next token */
    struct ast_module *module;
    struct ast_function *last_function;
    struct ast_stmt *last_statement;
    int broken_blocks; /* blocks around the statement whose first line could not be read */
};

int parser_run(struct parser *p);

int build_next_token(struct parser *p, struct token *token, struct span *span);
void build_syntax_error(struct parser *p, struct span span, const char *found, const char *const *expected,
                        int count);
/* The names on a line: what a broken statement would have declared. */
void build_damage(struct parser *p, int line);
void build_finish(struct parser *p);

struct build_exprs *build_exprs_add(struct parser *p, struct build_exprs *exprs, struct ast_expr *expr);
struct build_exprs *build_comparison_add(struct parser *p, struct build_exprs *exprs,
                                         enum ast_comparison comparison, struct ast_expr *expr);
struct build_exprs *build_exprs_join(struct parser *p, struct build_exprs *first, struct build_exprs *second);
struct build_stmts build_stmts_add(struct build_stmts stmts, struct ast_stmt *stmt);
struct build_parameters *build_parameter(struct parser *p, const struct token *name,
                                         struct ast_expr *annotation, struct ast_expr *initial,
                                         bool variadic);
struct build_parameters *build_parameters_join(struct parser *p, struct build_parameters *first,
                                               struct build_parameters *second);

struct ast_expr *build_name(struct parser *p, const struct token *token);
struct ast_expr *build_integer(struct parser *p, const struct token *token);
struct ast_expr *build_real(struct parser *p, const struct token *token);
struct build_string *build_string_add(struct parser *p, struct build_string *string,
                                      const struct token *token);
struct ast_expr *build_string(struct parser *p, struct build_string *string);
struct ast_expr *build_unary(struct parser *p, struct span span, enum operation operation,
                             struct ast_expr *a);
struct ast_expr *build_binary(struct parser *p, struct span span, enum operation operation,
                              struct ast_expr *a, struct ast_expr *b);
struct ast_expr *build_pair(struct parser *p, struct span span, enum ast_expr_kind kind, struct ast_expr *a,
                            struct ast_expr *b);
struct ast_expr *build_compare(struct parser *p, struct span span, struct ast_expr *first,
                               struct build_exprs *rest);
struct ast_expr *build_conditional(struct parser *p, struct span span, struct ast_expr *a,
                                   struct ast_expr *condition, struct ast_expr *b);
struct ast_expr *build_call(struct parser *p, struct span span, struct ast_expr *function,
                            struct build_exprs *arguments);
struct ast_expr *build_keyword(struct parser *p, struct span span, const struct token *name,
                               struct ast_expr *value);
struct ast_expr *build_starred(struct parser *p, struct span span, struct ast_expr *value);
struct ast_expr *build_subscript(struct parser *p, struct span span, struct ast_expr *value,
                                 struct build_exprs *indices);
struct ast_expr *build_slice(struct parser *p, struct span span, struct ast_expr *low, struct ast_expr *high,
                             struct ast_expr *step);
struct ast_expr *build_attribute(struct parser *p, struct span span, struct ast_expr *value,
                                 const struct token *name);
struct ast_expr *build_tuple(struct parser *p, struct span span, struct build_exprs *items);
struct ast_expr *build_list(struct parser *p, struct span span, struct build_exprs *items);
struct ast_expr *build_dict(struct parser *p, struct span span, struct build_exprs *items);
struct ast_expr *build_parenthesised(struct span span, struct ast_expr *expr);

struct ast_stmt *build_expression(struct parser *p, struct span span, struct ast_expr *value);
struct ast_stmt *build_assign(struct parser *p, struct span span, struct ast_expr *target,
                              struct ast_expr *annotation, struct ast_expr *value);
struct ast_stmt *build_augmented(struct parser *p, struct span span, struct ast_expr *target,
                                 enum operation operation, struct ast_expr *value);
struct ast_stmt *build_assert(struct parser *p, struct span span, struct ast_expr *condition,
                              struct ast_expr *message);
struct ast_stmt *build_return(struct parser *p, struct span span, struct ast_expr *value);
struct ast_stmt *build_if(struct parser *p, struct span span, struct ast_expr *condition,
                          struct ast_stmt *body, struct ast_stmt *otherwise);
struct ast_stmt *build_for(struct parser *p, struct span span, struct ast_expr *target,
                           struct ast_expr *value, struct ast_stmt *body);
struct ast_stmt *build_while(struct parser *p, struct span span, struct ast_expr *condition,
                             struct ast_stmt *body);
struct ast_stmt *build_with(struct parser *p, struct span span, struct ast_expr *value,
                            struct ast_stmt *body);

void build_function(struct parser *p, struct build_exprs *decorators, const struct token *name,
                    struct build_parameters *parameters, struct ast_stmt *body);
void build_top_statement(struct parser *p, struct ast_stmt *stmt);
void build_refuse_top(struct parser *p, struct ast_stmt *stmt);
struct ast_stmt *build_refuse_nested(struct parser *p);

#endif

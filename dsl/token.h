/*
 * token.h: source text to tokens, in two steps. The flex scanner (lexer.l) cuts the text into words;
 * layout.c then drops line ends inside brackets, turns indentation into
 * INDENT and DEDENT, and refuses what the grammar should never see (unclosed
 * brackets, broken indentation, nesting beyond DSL_MAX_NESTING).
 */
#ifndef DSL_TOKEN_H
#define DSL_TOKEN_H

#include "../base/diagnostic.h"

/* Bounds that keep every later recursion within a small stack. */
#define DSL_MAX_NESTING 200
#define DSL_MAX_BRANCHES 1000 /* of an if with its elifs: each is an else in an else */
#define DSL_MAX_SOURCE (64 << 20)

struct token {
    short kind;       /* a token number of parser.h */
    bool open;        /* STRING without an end: what is put behind it becomes part of it */
    int length;       /* of text */
    const char *text; /* in the source, not ended by a NUL */
    struct span span;
};

struct token_list {
    struct token *items;
    int count, capacity;
};

struct dsl_source {
    const char *name, *text;
    size_t length;
};

/* Appends the words of the source (lexer.l), and its comments where `comments` is not NULL. Errors go to
 * diagnostics; scanning goes on behind them. */
void lexer_scan(struct arena *arena, const struct dsl_source *source, struct token_list *tokens,
                struct token_list *comments, akg_diagnostics *diagnostics);
/* words -> tokens for the grammar, ended by END. */
void layout_apply(struct arena *arena, const struct token_list *words, struct token_list *tokens,
                  akg_diagnostics *diagnostics);
/* "NAME", "'for'", "number" ...: the name of a token kind, for messages and the tokens stage. */
const char *token_kind_name(int kind);
void token_print_list(struct text *out, const struct token_list *tokens);

#endif

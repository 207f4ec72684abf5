/*
 * parse.c: runs the first stages of the front end in order.
 */
#include "parse.h"

#include <string.h>

#include "build.h"

void parse_tokens(struct arena *arena, const struct dsl_source *source, struct token_list *tokens,
                  akg_diagnostics *diagnostics)
{
    struct token_list words = {0};

    lexer_scan(arena, source, &words, NULL, diagnostics);
    layout_apply(arena, &words, tokens, diagnostics);
}

/* The place of a NUL byte: what holds one is no text, and nothing else is said of it. */
static bool parse_find_nul(const struct dsl_source *source, struct span *span)
{
    const char *nul = source->length ? memchr(source->text, 0, source->length) : NULL;

    *span = (struct span){1, 1, 1, 2};
    for (const char *at = source->text; nul && at < nul; at++) {
        span->column++;
        if (*at == '\n' || (*at == '\r' && at[1] != '\n')) {
            span->line++;
            span->column = 1;
        }
    }
    span->end_line = span->line;
    span->end_column = span->column + 1;
    return nul != NULL;
}

struct ast_module *parse_module(struct arena *arena, const struct dsl_source *source,
                                akg_diagnostics *diagnostics)
{
    struct parser parser = {.arena = arena, .diagnostics = diagnostics, .source = source};
    struct token_list tokens = {0};
    struct span nul;

    if (source->length > DSL_MAX_SOURCE) {
        diagnostic_add(diagnostics, MSG_TOO_LONG, (struct span){0},
                       arena_format(arena, "%d", DSL_MAX_SOURCE));
        return NULL;
    }
    if (parse_find_nul(source, &nul)) {
        diagnostic_add(diagnostics, MSG_NUL_BYTE, nul);
        return NULL;
    }
    parse_tokens(arena, source, &tokens, diagnostics);
    parser.tokens = &tokens;
    parser.module = arena_new(arena, struct ast_module);
    parser_run(&parser);
    return parser.module;
}

/*
 * parse.c: runs the first stages of the front end in order.
 */
#include "parse.h"

#include "build.h"

void parse_tokens(struct arena *arena, const struct dsl_source *source, struct token_list *tokens,
                  akg_diagnostics *diagnostics)
{
    struct token_list words = {0};

    lexer_scan(arena, source, &words, NULL, diagnostics);
    layout_apply(arena, &words, tokens, diagnostics);
}

struct ast_module *parse_module(struct arena *arena, const struct dsl_source *source,
                                akg_diagnostics *diagnostics)
{
    struct parser parser = {.arena = arena, .diagnostics = diagnostics, .source = source};
    struct token_list tokens = {0};

    if (source->length > DSL_MAX_SOURCE) {
        diagnostic_add(diagnostics, MSG_TOO_LONG, (struct span){0}, arena_format(arena, "%d", DSL_MAX_SOURCE));
        return NULL;
    }
    parse_tokens(arena, source, &tokens, diagnostics);
    parser.tokens = &tokens;
    parser.module = arena_new(arena, struct ast_module);
    parser_run(&parser);
    return parser.module;
}

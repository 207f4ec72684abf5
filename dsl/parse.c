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

/* Room for the words of a text, at least nearly: a list that grows by copying itself would take three times
 * as much. A word begins wherever a letter or digit follows none, and at every other sign. */
static void parse_reserve(struct arena *arena, const struct dsl_source *source, struct token_list *words)
{
    size_t count = 16;
    bool inside = false;

    for (size_t i = 0; i < source->length; i++) {
        unsigned char byte = (unsigned char)source->text[i];
        bool word = byte == '_' || byte >= 128 || (byte >= '0' && byte <= '9') ||
                    ((byte | 32) >= 'a' && (byte | 32) <= 'z');
        count += byte != ' ' && !(word && inside);
        inside = word;
    }
    list_reserve(arena, words, (int)count);
}

/* False where memory ran out. */
static bool parse_in(struct parser *p, struct arena *words_arena, struct arena *tokens_arena, jmp_buf *here)
{
    struct token_list words = {0}, tokens = {0};

    if (setjmp(*here))
        return false;
    parse_reserve(words_arena, p->source, &words);
    lexer_scan(words_arena, p->source, &words, NULL, p->diagnostics);
    layout_apply(tokens_arena, &words, &tokens, p->diagnostics);
    arena_free(words_arena);
    p->tokens = &tokens;
    parser_run(p);
    return true;
}

/* Words and tokens are larger than the text by far, and die as soon as they are used: each in an arena of its
 * own. */
static void parse_text(struct parser *p)
{
    struct arena words_arena, tokens_arena;
    jmp_buf here, *escape = p->arena->escape, *list_escape = diagnostics_set_escape(p->diagnostics, &here);
    bool good;

    arena_init(&words_arena, &here);
    arena_init(&tokens_arena, &here);
    p->arena->escape = &here;
    good = parse_in(p, &words_arena, &tokens_arena, &here);
    arena_free(&words_arena);
    arena_free(&tokens_arena);
    p->arena->escape = escape;
    diagnostics_set_escape(p->diagnostics, list_escape);
    if (!good)
        longjmp(*escape, 1);
}

struct ast_module *parse_module(struct arena *arena, const struct dsl_source *source,
                                akg_diagnostics *diagnostics)
{
    struct parser parser = {.arena = arena, .diagnostics = diagnostics, .source = source};
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
    parser.module = arena_new(arena, struct ast_module);
    parse_text(&parser);
    return parser.module;
}

/*
 * target_parse.c: text to tree, and the tree as text.
 */
#include "../../dsl/parse.h"
#include "targets.h"

#include "../../base/text.h"

static void parse_all(struct arena *arena, const struct dsl_source *source, struct text *out,
                      akg_diagnostics *diagnostics)
{
    struct token_list tokens = {0};
    struct ast_module *module;

    parse_tokens(arena, source, &tokens, diagnostics);
    token_print_list(out, &tokens);
    module = parse_module(arena, source, diagnostics);
    if (module)
        ast_print(out, module);
}

int target_parse(const uint8_t *data, size_t size)
{
    struct dsl_source source = {"fuzz.akg", (const char *)data, size};
    akg_diagnostics *diagnostics = diagnostics_create("fuzz.akg", (const char *)data, size);
    struct arena arena;
    struct text out;
    jmp_buf escape;
    char *shown = NULL;

    text_init(&out);
    arena_init(&arena, &escape);
    if (diagnostics && !setjmp(escape)) {
        diagnostics_set_escape(diagnostics, &escape);
        parse_all(&arena, &source, &out, diagnostics);
        diagnostics_set_escape(diagnostics, NULL);
        if (akg_diagnostics_render(diagnostics, AKG_FORMAT_JSON, &shown) == AKG_OK)
            akg_free(shown);
    }
    arena_free(&arena);
    text_free(&out);
    akg_diagnostics_free(diagnostics);
    return 0;
}

/*
 * target_rewrite.c: the two things that rewrite programs. Repairs come to an end; the canonical form is that
 * of itself, and has the tree that the text has.
 */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/fix.h"

static void rewrite_complain(const char *what, const char *a, const char *b)
{
    fprintf(stderr, "%s\n%s\n----\n%s\n", what, a, b);
    abort();
}

/* ---- repairs ------------------------------------------------------------------------------------- */

static size_t rewrite_fix(const struct options *options, struct program *program)
{
    struct problem problem = {0};
    struct fixes fixes = {0};

    fix_program(options, program, &fixes, &problem);
    free(fixes.log);
    problem_free(&problem);
    return fixes.count;
}

static void rewrite_repairs(const uint8_t *data, size_t size)
{
    struct options options = {.backend = JIT_BACKEND_INTERPRETER};
    struct program program = {.source = {.name = "fuzz.akg"}, .is_standard_input = true};
    struct problem problem = {0};
    char *text = malloc(size + 1);

    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = 0;
    program_set_text(&program, text, size);
    rewrite_fix(&options, &program);
    if (rewrite_fix(&options, &program))
        rewrite_complain("repairs do not come to an end", program.text, "");
    program_close(&program, &problem);
    problem_free(&problem);
}

/* ---- the canonical form --------------------------------------------------------------------------- */

static char *rewrite_emit(const char *text, size_t length, akg_stage stage)
{
    jit_source source = {"fuzz.akg", text, length};
    char *out = NULL;

    return jit_emit(&source, stage, NULL, NULL, 0, &out, NULL) == AKG_OK ? out : NULL;
}

/* The tree without its places, which stand behind "  @" to the end of the line. */
static void rewrite_drop_places(char *tree)
{
    char *to = tree;

    for (char *from = tree; *from; from++) {
        if (strncmp(from, "  @", 3) == 0)
            from += strcspn(from, "\n");
        if (!*from)
            break;
        *to++ = *from;
    }
    *to = 0;
}

static void rewrite_canonical(const char *text, size_t length)
{
    char *once = rewrite_emit(text, length, AKG_STAGE_CANONICAL), *twice, *before, *after;

    if (!once)
        return;
    twice = rewrite_emit(once, strlen(once), AKG_STAGE_CANONICAL);
    if (!twice || strcmp(once, twice) != 0)
        rewrite_complain("the canonical form is not that of itself", once, twice ? twice : "refused");
    before = rewrite_emit(text, length, AKG_STAGE_AST);
    after = rewrite_emit(once, strlen(once), AKG_STAGE_AST);
    if (before && after) {
        rewrite_drop_places(before);
        rewrite_drop_places(after);
        if (strcmp(before, after) != 0)
            rewrite_complain("the canonical form has another tree", before, after);
    } else if (before) {
        rewrite_complain("the canonical form is refused", once, "");
    }
    akg_free(once);
    akg_free(twice);
    akg_free(before);
    akg_free(after);
}

int target_rewrite(const uint8_t *data, size_t size)
{
    rewrite_repairs(data, size);
    rewrite_canonical((const char *)data, size);
    return 0;
}

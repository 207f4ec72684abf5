/*
 * target_ir.c: IR text, and what the back end makes of a kernel that no front end has made.
 */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/text.h"
#include "../../jit/analysis.h"
#include "../../jit/emit_c.h"
#include "../../jit/sites.h"

/* Aborts with the two texts. */
static void ir_complain(const char *what, const struct text *a, const struct text *b)
{
    fprintf(stderr, "%s\n%s\n----\n%s\n", what, a->data ? a->data : "", b->data ? b->data : "");
    abort();
}

/* What is printed reads back, and prints the same. */
static void ir_again(struct arena *arena, const struct ir_kernel *kernel, struct text *first,
                     struct text *second, akg_diagnostics *diagnostics)
{
    struct ir_kernel *again;

    ir_print(first, kernel);
    if (first->failed)
        return;
    again = ir_read(arena, first->data, first->length, diagnostics);
    if (!again)
        ir_complain("the printed kernel does not read back", first, second);
    ir_print(second, again);
    if (!second->failed && strcmp(first->data, second->data) != 0)
        ir_complain("the kernel prints otherwise when it is read back", first, second);
}

static void ir_back_end(struct ir_kernel *kernel, struct text *c, struct text *complaint,
                        akg_diagnostics *diagnostics)
{
    struct emit_c_options options = {.entry = "entry"};
    struct jit_sites sites = {0};

    analysis_bounds(kernel);
    analysis_initialisation(kernel, diagnostics);
    analysis_hints(kernel, diagnostics);
    if (!ir_verify(kernel, complaint))
        ir_complain("the analyses broke the kernel", complaint, c);
    sites_number(kernel, &sites);
    emit_c(c, kernel, &options, complaint);
}

int target_ir(const uint8_t *data, size_t size)
{
    akg_diagnostics *diagnostics = diagnostics_create("fuzz.ir", (const char *)data, size);
    struct text texts[4];
    struct arena arena;
    jmp_buf escape;

    for (int i = 0; i < 4; i++)
        text_init(&texts[i]);
    arena_init(&arena, &escape);
    if (diagnostics && !setjmp(escape)) {
        struct ir_kernel *kernel;
        diagnostics_set_escape(diagnostics, &escape);
        kernel = ir_read(&arena, (const char *)data, size, diagnostics);
        if (!kernel && akg_diagnostics_error_count(diagnostics) == 0)
            ir_complain("refused without a message", &texts[0], &texts[1]);
        if (kernel)
            ir_again(&arena, kernel, &texts[0], &texts[1], diagnostics);
        if (kernel && ir_verify(kernel, &texts[2]))
            ir_back_end(kernel, &texts[3], &texts[2], diagnostics);
        diagnostics_set_escape(diagnostics, NULL);
    }
    arena_free(&arena);
    for (int i = 0; i < 4; i++)
        text_free(&texts[i]);
    akg_diagnostics_free(diagnostics);
    return 0;
}

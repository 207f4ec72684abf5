/*
 * outcome.h: what calls of random programs give, a result or a message, for tests that compare the compiler's
 * with the interpreter's.
 */
#ifndef TESTS_UNIT_OUTCOME_H
#define TESTS_UNIT_OUTCOME_H

#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

/* What a call gives: a tensor, or a text. */
struct outcome {
    akg_tensor *output;
    char *text;
};

static inline struct outcome outcome_of(const akg_module *module, const akg_argument *arguments, size_t count)
{
    struct outcome outcome = {NULL, NULL};
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_kernel_call(akg_module_kernel_at(module, 0), arguments, count, NULL,
                                        &outcome.output, &diagnostics);
    if (status != AKG_OK)
        CHECK(akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &outcome.text) == AKG_OK);
    akg_diagnostics_free(diagnostics);
    return outcome;
}

static inline bool outcome_is_same(const struct outcome *a, const struct outcome *b)
{
    if (a->output && b->output)
        return api_same_numbers(a->output, b->output);
    return a->text && b->text && strcmp(a->text, b->text) == 0;
}

static inline void outcome_drop(struct outcome *outcome)
{
    akg_tensor_release(outcome->output);
    akg_free(outcome->text);
}

static inline akg_module *outcome_module(const char *program, const jit_options *options)
{
    jit_source source = {.name = "random.akg", .text = program, .length = strlen(program)};
    akg_module *module = NULL;
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;
    if (!CHECK(jit_compile(&source, options, &module, &diagnostics) == AKG_OK) &&
        akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &text) == AKG_OK)
        fprintf(stderr, "%s%s", text, program);
    akg_free(text);
    akg_diagnostics_free(diagnostics);
    return module;
}

#endif

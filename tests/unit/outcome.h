/*
 * outcome.h: what calls of random programs give, a result or a message, for tests that compare the compiler's
 * with the interpreter's.
 */
#ifndef TESTS_UNIT_OUTCOME_H
#define TESTS_UNIT_OUTCOME_H

#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

/* Numbers at random, the same in each run. */
static inline int outcome_below(int limit)
{
    static uint64_t state = 4711;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

#define OUTCOME_ANY(list) (list)[outcome_below((int)API_COUNT(list))]

/* A tensor of small whole numbers, of which sums are exact. */
static inline akg_tensor *outcome_filled(int rank, const int64_t *shape)
{
    akg_tensor *tensor = NULL;
    if (!CHECK(rank <= 2 && akg_tensor_create(AKG_FLOAT32, rank, shape, &tensor) == AKG_OK))
        return NULL;
    int64_t columns = rank > 1 ? shape[1] : 1, count = akg_tensor_element_count(tensor);
    for (int64_t k = 0; k < count; k++) {
        int64_t at[] = {rank > 1 ? k / columns : k, k % columns};
        akg_tensor_set(tensor, at, outcome_below(9) - 4);
    }
    return tensor;
}

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

/* A program for the interpreter, and compiled for each vector target that this processor has; `strict`: as
 * jit_options has it, for numbers that arithmetic rounds. */
struct outcome_program {
    const char *text;
    akg_module *slow, *fast[X86_TARGET_AVX512 + 1];
    int count;
};

static inline struct outcome_program outcome_compile(const char *text, bool strict)
{
    struct outcome_program program = {.text = text};
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    program.slow = outcome_module(text, &options);
    for (int target = X86_TARGET_NONE; program.slow && target <= (int)x86_cpu_target(); target++) {
        jit_options vectors = {
            .target = x86_target_name((enum x86_target)target), .strict = strict, .cache = "off"};
        program.fast[program.count++] = outcome_module(text, &vectors);
    }
    return program;
}

static inline void outcome_release(struct outcome_program *program)
{
    akg_module_release(program->slow);
    for (int k = 0; k < program->count; k++)
        akg_module_release(program->fast[k]);
}

/* Whether the call gave a result; `about`: what is printed where one of the targets gives another outcome. */
static inline bool outcome_check(const struct outcome_program *program, const akg_argument *arguments,
                                 size_t count, const char *about)
{
    struct outcome expected = outcome_of(program->slow, arguments, count);
    bool finished = expected.output != NULL;
    for (int k = 0; k < program->count && program->fast[k]; k++) {
        struct outcome outcome = outcome_of(program->fast[k], arguments, count);
        if (!CHECK(outcome_is_same(&outcome, &expected)))
            fprintf(stderr, "%s\n%s%s%s", about, program->text, expected.text ? expected.text : "a result\n",
                    outcome.text ? outcome.text : "another result\n");
        outcome_drop(&outcome);
    }
    outcome_drop(&expected);
    return finished;
}

/* Runs so many programs, each of which `check` gives the number of calls with a result of; others stop, as
 * they should. For main to return. */
static inline int outcome_run(size_t programs, int (*check)(void))
{
    int finished = 0;
    for (size_t k = 0; k < programs; k++)
        if (check_takes(k))
            finished += check();
    CHECK(finished > 10);
    printf("%d calls with a result\n", finished);
    return check_done();
}

#endif

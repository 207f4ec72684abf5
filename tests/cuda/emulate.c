/*
 * emulate.c: see emulate.h.
 */
#include "emulate.h"

#include "../../jit/passes.h"
#include "../../jit/scalar.h"
#include "../../jit/sites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 512 };

struct ir_kernel *emulate_read(struct arena *arena, jmp_buf *escape, const char *text, bool optimise,
                               struct jit_sites *sites)
{
    akg_diagnostics *diagnostics = diagnostics_create("kernel.ir", text, strlen(text));
    struct passes_options options = {.verify = true, .for_threads = true};
    struct text complaint;

    memset(sites, 0, sizeof *sites);
    arena_init(arena, escape);
    struct ir_kernel *kernel = ir_read(arena, text, strlen(text), diagnostics);
    akg_diagnostics_free(diagnostics);
    text_init(&complaint);
    if (kernel && optimise && !passes_run(kernel, &options, &complaint))
        kernel = NULL;
    text_free(&complaint);
    if (kernel)
        sites_number(kernel, sites);
    return kernel;
}

bool emulate_load(struct emulation *emulation, struct ir_kernel *kernel, const struct cuda_options *options,
                  char *reason)
{
    akg_diagnostics *diagnostics = diagnostics_create("kernel", NULL, 0);
    *emulation = (struct emulation){.kernel = kernel};
    akg_status status = cuda_program_make(&emulation->program, kernel, options, diagnostics);
    akg_diagnostics_free(diagnostics);
    if (status != AKG_OK) {
        snprintf(reason, EMULATE_REASON, "%s", akg_status_text(status));
        return false;
    }
    emulation->module = shim_load(emulation->program.text.data, reason, EMULATE_REASON);
    if (!emulation->module)
        cuda_program_free(&emulation->program);
    return emulation->module != NULL;
}

void emulate_free(struct emulation *emulation)
{
    shim_unload(emulation->module);
    cuda_program_free(&emulation->program);
}

/* Memory of the device. */
struct device_side {
    void *buffers[WORDS], *temporaries[WORDS];
    struct cuda_trap *trap;
    uint64_t words[WORDS];
};

static bool evaluate(const struct ir_expr *expr, const struct jit_frame *frame, int64_t otherwise,
                     int64_t *value)
{
    union dtype_value result = {.i = otherwise};
    if (expr && !scalar_evaluate(expr, frame->dims, frame->scalars, &result))
        return false;
    *value = result.i;
    return true;
}

static bool take_memory(struct emulation *emulation, const struct jit_frame *frame,
                        const struct emulate_buffer *buffers, struct device_side *side)
{
    const struct ir_kernel *kernel = emulation->kernel;
    for (int k = 0; k < kernel->buffers.count; k++) {
        if (kernel->buffers.items[k]->role == IR_TEMPORARY)
            continue;
        side->buffers[k] = shim_allocate(buffers[k].bytes);
        if (!side->buffers[k])
            return false;
        if (buffers[k].bytes)
            memcpy(side->buffers[k], buffers[k].memory, buffers[k].bytes);
    }
    for (int k = 0; k < emulation->program.temporaries.count; k++) {
        const struct cuda_temporary *row = &emulation->program.temporaries.items[k];
        int64_t count;
        if (!evaluate(row->elements, frame, 1, &count) || count < 0)
            return false;
        side->temporaries[k] = shim_allocate((size_t)(count * row->element_bytes));
        if (!side->temporaries[k])
            return false;
    }
    side->trap = shim_allocate(sizeof *side->trap);
    if (side->trap)
        memset(side->trap, 0, sizeof *side->trap);
    return side->trap != NULL;
}

static void fill_words(const struct emulation *emulation, const struct jit_frame *frame,
                       const struct emulate_buffer *buffers, struct device_side *side)
{
    for (int k = 0; k < emulation->program.words.count; k++) {
        const struct cuda_word *word = &emulation->program.words.items[k];
        switch (word->kind) {
        case CUDA_WORD_DATA:
            side->words[k] = (uint64_t)(uintptr_t)side->buffers[word->index] + buffers[word->index].first;
            break;
        case CUDA_WORD_TEMPORARY:
            side->words[k] = (uint64_t)(uintptr_t)side->temporaries[word->index];
            break;
        case CUDA_WORD_DIM:
            side->words[k] = (uint64_t)frame->dims[word->index];
            break;
        case CUDA_WORD_STRIDE:
            side->words[k] = (uint64_t)frame->strides[word->index][word->axis];
            break;
        case CUDA_WORD_SCALAR:
            memcpy(&side->words[k], &frame->scalars[word->index], sizeof side->words[k]);
            break;
        case CUDA_WORD_ROUND:
            break;
        case CUDA_WORD_TRAP:
            side->words[k] = (uint64_t)(uintptr_t)side->trap;
            break;
        }
    }
}

/* A grid of as many blocks as the work asks for, but few: more than one show what there is to see. */
static bool launch_some(struct emulation *emulation, const struct jit_frame *frame, struct device_side *side,
                        int first, int end, char *reason)
{
    enum { MOST = 3 };
    for (int k = first; k < end; k++) {
        const struct cuda_launch *row = &emulation->program.launches.items[k];
        void *parameters[] = {side->words};
        int64_t work, wide, blocks = row->most_blocks;
        int number = shim_find(emulation->module, row->entry);
        if (!evaluate(row->work, frame, INT64_MAX, &work)) {
            snprintf(reason, EMULATE_REASON, "the work of %s has no value", row->entry);
            return false;
        }
        if (row->work && work <= 0)
            continue;
        if (row->behind && evaluate(row[-row->behind].work, frame, 0, &wide) && wide > 0)
            continue; /* devices of every architecture are emulated */
        if (row->work && (work - 1) / row->per_block + 1 < blocks)
            blocks = (work - 1) / row->per_block + 1;
        blocks = blocks > MOST ? MOST : blocks;
        if (!shim_launch(emulation->module, number, (unsigned)blocks, (unsigned)row->threads, parameters,
                         reason, EMULATE_REASON))
            return false;
    }
    return true;
}

static bool launch_all(struct emulation *emulation, const struct jit_frame *frame, struct device_side *side,
                       char *reason)
{
    const struct cuda_program *program = &emulation->program;
    bool good = true;
    for (int k = 0, end; k < program->launches.count && good; k = end) {
        int number = program->launches.items[k].round;
        end = k + 1;
        while (number >= 0 && end < program->launches.count && program->launches.items[end].round == number)
            end++;
        if (number < 0) {
            good = launch_some(emulation, frame, side, k, end, reason);
            continue;
        }
        const struct cuda_round *round = &program->rounds.items[number];
        int64_t value, high;
        good = evaluate(round->low, frame, 0, &value) && evaluate(round->high, frame, 0, &high);
        for (; good && (round->step > 0 ? value < high : value > high); value += round->step) {
            side->words[round->word] = (uint64_t)value;
            good = launch_some(emulation, frame, side, k, end, reason);
        }
    }
    return good;
}

static bool give_back(struct emulation *emulation, const struct emulate_buffer *buffers,
                      struct device_side *side, char *reason)
{
    const struct ir_kernel *kernel = emulation->kernel;
    bool good = shim_release(side->trap);
    for (int k = 0; k < kernel->buffers.count; k++) {
        if (side->buffers[k] && kernel->buffers.items[k]->role != IR_INPUT && buffers[k].bytes)
            memcpy(buffers[k].memory, side->buffers[k], buffers[k].bytes);
        good &= shim_release(side->buffers[k]);
    }
    for (int k = 0; k < emulation->program.temporaries.count; k++)
        good &= shim_release(side->temporaries[k]);
    if (!good && !*reason)
        snprintf(reason, EMULATE_REASON, "something was written next to a tensor");
    return good;
}

bool emulate_run(struct emulation *emulation, const struct jit_frame *frame,
                 const struct emulate_buffer *buffers, int *status, char *reason)
{
    struct device_side *side = calloc(1, sizeof *side);
    *reason = 0;
    if (!side || emulation->program.words.count > WORDS || emulation->kernel->buffers.count > WORDS)
        return false;
    bool good = take_memory(emulation, frame, buffers, side);
    if (good) {
        fill_words(emulation, frame, buffers, side);
        good = launch_all(emulation, frame, side, reason);
        *frame->trap = side->trap->trap;
        *status = side->trap->trap.site != 0;
    } else {
        snprintf(reason, EMULATE_REASON, "out of memory");
    }
    good &= give_back(emulation, buffers, side, reason);
    free(side);
    return good;
}

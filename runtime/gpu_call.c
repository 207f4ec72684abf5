/*
 * gpu_call.c: running an instance on a device: its memory, its launches.
 *
 * Consumes the program that jit/cuda.h describes and the frame of a call. Nothing here waits for the device,
 * but for the trap of a program that something may stop.
 */
#include "gpu_private.h"

#include "../jit/module.h"
#include "../jit/scalar.h"

#include <stdio.h>
#include <string.h>

/* ---- memory of a run
 * ------------------------------------------------------------------------------------------ */

static akg_status no_memory(struct gpu_running *run)
{
    *run->failure = (struct gpu_failure){.status = AKG_ERROR_MEMORY, .message = MSG_MEMORY};
    return AKG_ERROR_MEMORY;
}

akg_status gpu_running_begin(struct gpu_running *run)
{
    size_t temporaries = (size_t)run->program->temporaries.count + 1;
    size_t words = (size_t)run->program->words.count;
    size_t launches = (size_t)run->program->launches.count;
    char *spill;

    run->spill = NULL;
    if (temporaries <= GPU_INLINE_BLOCKS && words <= GPU_INLINE_WORDS && launches <= GPU_INLINE_LAUNCHES) {
        run->blocks = run->inline_blocks;
        run->temporaries = run->inline_temporaries;
        run->words = run->inline_words;
        run->grids = run->inline_grids;
        memset(run->blocks, 0, temporaries * sizeof *run->blocks);
        return AKG_OK;
    }
    spill = run->spill = memory_zeroed(2 * temporaries + words + launches, 8);
    if (!spill)
        return no_memory(run);
    run->blocks = (struct gpu_block **)(void *)spill;
    run->temporaries = (void **)(void *)(spill + temporaries * 8);
    run->words = (uint64_t *)(void *)(spill + temporaries * 16);
    run->grids = (unsigned *)(void *)(spill + temporaries * 16 + words * 8);
    return AKG_OK;
}

void gpu_running_end(struct gpu_running *run)
{
    for (int k = 0; k <= run->program->temporaries.count; k++)
        if (run->blocks[k])
            gpu_free(run->blocks[k]);
    memory_free(run->spill);
}

static int64_t evaluate(const struct gpu_running *run, const struct ir_expr *expr)
{
    union dtype_value value;

    return scalar_evaluate(expr, run->frame->dims, run->frame->scalars, &value) ? value.i : INT64_MAX;
}

akg_status gpu_running_temporaries(struct gpu_running *run)
{
    const struct cuda_program *program = run->program;
    akg_status status = AKG_OK;

    for (int k = 0; k < program->temporaries.count && status == AKG_OK; k++) {
        const struct cuda_temporary *row = &program->temporaries.items[k];
        int64_t count = row->elements ? evaluate(run, row->elements) : 1, bytes;
        if (__builtin_mul_overflow(count, row->element_bytes, &bytes))
            bytes = INT64_MAX; /* which the device has not */
        status = gpu_allocate(run->device, bytes > 0 ? (size_t)bytes : 1, &run->blocks[k],
                              &run->temporaries[k], run->failure);
    }
    return status;
}

static akg_status take_trap(struct gpu_running *run)
{
    int last = run->program->temporaries.count;
    akg_status status = gpu_allocate(run->device, sizeof(struct cuda_trap), &run->blocks[last],
                                     &run->temporaries[last], run->failure);

    return status == AKG_OK
               ? gpu_fill(run->device, run->temporaries[last], 0, 1, sizeof(struct cuda_trap), run->failure)
               : status;
}

void gpu_running_words(struct gpu_running *run)
{
    const struct cuda_program *program = run->program;
    const struct jit_frame *frame = run->frame;

    for (int k = 0; k < program->words.count; k++) {
        const struct cuda_word *word = &program->words.items[k];
        uint64_t *to = &run->words[k];
        switch (word->kind) {
        case CUDA_WORD_DATA:
            *to = (uint64_t)(uintptr_t)frame->data[word->index];
            break;
        case CUDA_WORD_TEMPORARY:
            *to = (uint64_t)(uintptr_t)run->temporaries[word->index];
            break;
        case CUDA_WORD_DIM:
            *to = (uint64_t)frame->dims[word->index];
            break;
        case CUDA_WORD_STRIDE:
            *to = (uint64_t)frame->strides[word->index][word->axis];
            break;
        case CUDA_WORD_SCALAR:
            *to = (uint64_t)frame->scalars[word->index].i;
            break;
        case CUDA_WORD_ROUND: /* before each of its launches */
            *to = 0;
            break;
        case CUDA_WORD_TRAP:
            *to = (uint64_t)(uintptr_t)run->temporaries[program->temporaries.count];
            break;
        }
    }
}

static bool has_rounds(const struct gpu_running *run, const struct cuda_round *round)
{
    int64_t low = evaluate(run, round->low), high = evaluate(run, round->high);

    return round->step > 0 ? low < high : low > high;
}

static unsigned blocks_of(const struct gpu_running *run, const struct cuda_launch *launch)
{
    int64_t most = launch->most_blocks, work, blocks;

    if (launch->architecture && launch->architecture != run->device->major * 10 + run->device->minor)
        return 0;
    if (launch->round >= 0 && !has_rounds(run, &run->program->rounds.items[launch->round]))
        return 0;
    if (!launch->work)
        return (unsigned)most;
    work = evaluate(run, launch->work);
    if (work <= 0)
        return 0;
    blocks = work / launch->per_block + (work % launch->per_block != 0);
    if (launch->again && blocks / launch->again >= CUDA_AGAIN_BLOCKS)
        blocks = (blocks - 1) / launch->again + 1;
    return (unsigned)(blocks < most ? blocks : most);
}

bool gpu_running_grids(struct gpu_running *run, const struct gpu_code *code)
{
    bool all = true;

    for (int k = 0; k < run->program->launches.count; k++) {
        const struct cuda_launch *launch = &run->program->launches.items[k];
        bool is_replaced = launch->behind && run->grids[k - launch->behind];
        run->grids[k] = is_replaced ? 0 : blocks_of(run, launch);
        all &= !run->grids[k] || gpu_code_function(code, k);
    }
    return all;
}

/* ---- launching
 * ------------------------------------------------------------------------------------------------- */

/* Close behind the launch before, where the device can and the code is for it: its blocks begin while the
 * last ones of that are at work, and wait for them (AKG_BEGIN in emit_cuda_prelude.c). */
static CUresult launch_one(struct gpu_running *run, const struct gpu_code *code, int number,
                           void **parameters)
{
    const struct cuda_launch *launch = &run->program->launches.items[number];
    CUfunction function = gpu_code_function(code, number);
    struct gpu_device *device = run->device;
    const struct gpu_driver *driver = device->driver;
    CUlaunchAttribute close = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                               .value = {.programmaticStreamSerializationAllowed = 1}};
    const CUlaunchConfig config = {.gridDimX = run->grids[number],
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = (unsigned)launch->threads,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = (unsigned)launch->shared,
                                   .hStream = device->stream,
                                   .attrs = &close,
                                   .numAttrs = 1};

    if (device->major >= 9 && driver->cuLaunchKernelEx &&
        !atomic_load_explicit(&((struct gpu_code *)code)->is_older, memory_order_relaxed))
        return driver->cuLaunchKernelEx(&config, function, parameters, NULL);
    return driver->cuLaunchKernel(function, config.gridDimX, 1, 1, config.blockDimX, 1, 1,
                                  config.sharedMemBytes, device->stream, parameters, NULL);
}

static CUresult launch_some(struct gpu_running *run, const struct gpu_code *code, int first, int end)
{
    void *parameters[] = {run->words};
    CUresult result = CUDA_SUCCESS;

    for (int k = first; k < end && result == CUDA_SUCCESS; k++)
        if (run->grids[k])
            result = launch_one(run, code, k, parameters);
    return result;
}

/* Again and again. */
static CUresult launch_round(struct gpu_running *run, const struct gpu_code *code, int first, int end)
{
    const struct cuda_round *round = &run->program->rounds.items[run->program->launches.items[first].round];
    int64_t value = evaluate(run, round->low), high = evaluate(run, round->high);
    CUresult result = CUDA_SUCCESS;

    while ((round->step > 0 ? value < high : value > high) && result == CUDA_SUCCESS) {
        run->words[round->word] = (uint64_t)value;
        result = launch_some(run, code, first, end);
        if (__builtin_add_overflow(value, round->step, &value))
            break;
    }
    return result;
}

static akg_status launch_all(struct gpu_running *run, const struct gpu_code *code, const char *name)
{
    struct gpu_device *device = run->device;
    const struct cuda_program *program = run->program;
    char what[96];
    CUresult result = CUDA_SUCCESS;

    if (!gpu_enter(device, run->failure))
        return run->failure->status;
    for (int k = 0, end; k < program->launches.count && result == CUDA_SUCCESS; k = end) {
        int round = program->launches.items[k].round;
        for (end = k + 1;
             round >= 0 && end < program->launches.count && program->launches.items[end].round == round;)
            end++;
        result = round < 0 ? launch_some(run, code, k, end) : launch_round(run, code, k, end);
    }
    akg_status status = AKG_OK;
    if (result != CUDA_SUCCESS) {
        snprintf(what, sizeof what, "launch '%.60s'", name);
        status = gpu_check(device, result, what, run->failure);
    }
    gpu_leave(device);
    return status;
}

/* Waits; what stopped the kernel, if anything. */
static akg_status read_trap(struct gpu_running *run, int *stopped)
{
    struct cuda_trap trap;
    akg_status status = gpu_download(run->device, &trap, run->temporaries[run->program->temporaries.count],
                                     sizeof trap, run->failure);

    if (status == AKG_OK && trap.trap.site) {
        *run->frame->trap = trap.trap;
        *stopped = 1;
    }
    return status;
}

akg_status gpu_run(struct gpu_code *code, const struct jit_instance *instance, const struct jit_frame *frame,
                   int *stopped, bool *lacks, struct gpu_failure *failure)
{
    struct gpu_running run; /* large: what is in it is set when it is needed */
    akg_status status;

    *stopped = 0;
    run.device = code->device;
    run.program = instance->program;
    run.frame = frame;
    run.failure = failure;
    status = gpu_running_begin(&run);
    if (status != AKG_OK)
        return status;
    *lacks = !gpu_running_grids(&run, code);
    if (*lacks) {
        gpu_running_end(&run);
        return AKG_OK;
    }
    status = gpu_running_temporaries(&run);
    if (status == AKG_OK && run.program->traps)
        status = take_trap(&run);
    if (status == AKG_OK) {
        gpu_running_words(&run);
        status = launch_all(&run, code, instance->kernel->name);
    }
    if (status == AKG_OK && run.program->traps)
        status = read_trap(&run, stopped);
    gpu_running_end(&run);
    return status;
}

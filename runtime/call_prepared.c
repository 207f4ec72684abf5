/*
 * call_prepared.c: calls that are made again and again: what is checked before a kernel starts is checked
 * once.
 *
 * Consumes a started call (call.c); keeps its run.
 */
#include "call_run.h"

#include <stddef.h>

#include "../jit/pipeline.h"

struct call_prepared {
    struct call_run run;
    struct broadcast broadcast;
    struct call_messages messages;
    ptrdiff_t *offsets; /* per buffer: where a view lies behind its base */
};

/* Views begin where they began, behind a base whose elements may lie elsewhere now. */
static void prepared_follow(struct call_prepared *prepared, bool learn)
{
    for (int i = 0; i < prepared->run.instance->kernel->buffers.count; i++) {
        akg_tensor *tensor = prepared->run.tensors[i];
        char *base = tensor && tensor->base ? tensor->base->data : NULL;
        if (base && learn)
            prepared->offsets[i] = (char *)tensor->data - base;
        else if (base && tensor->data != base + prepared->offsets[i])
            tensor->data = base + prepared->offsets[i];
    }
}

static akg_status prepared_fill(struct call_prepared *prepared, const struct call *call, akg_tensor **outputs)
{
    struct call_run *run = &prepared->run;
    akg_status status = AKG_ERROR_CALL;

    prepared->messages = call->messages;
    run->kernel = call->binding.kernel;
    run->messages = &prepared->messages;
    run->repeats = 1;
    if (!call_run_prepare(run))
        return AKG_ERROR_MEMORY;
    run->instance = call->instance;
    run->device = call->device;
    call_run_take_arguments(run, &call->binding);
    if (call_run_check_results(run) && call_run_check_shapes(run) && call_run_check_preconditions(run))
        status = call_run_make_buffers(run, true, outputs);
    prepared->offsets = memory_zeroed((size_t)run->instance->kernel->buffers.count + 1, sizeof(ptrdiff_t));
    if (!prepared->offsets)
        status = AKG_ERROR_MEMORY;
    if (status == AKG_OK)
        prepared_follow(prepared, true);
    return status;
}

akg_status call_prepare(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_tensor **outputs,
                        struct call_prepared **made, akg_diagnostics **diagnostics)
{
    struct call_prepared *prepared = memory_zeroed(1, sizeof *prepared);
    struct call call;
    akg_status status;

    *made = NULL;
    if (diagnostics)
        *diagnostics = NULL;
    if (!prepared)
        return AKG_ERROR_MEMORY;
    status = call_start(&call, kernel, arguments, count, NULL, true);
    if (status == AKG_OK) {
        prepared->run.instance = call.instance;
        status = prepared_fill(prepared, &call, outputs);
        call.messages = prepared->messages;
    }
    prepared->broadcast = call.broadcast;
    prepared->messages.list = NULL;
    call_end(&call.binding);
    if (status == AKG_OK)
        *made = prepared;
    else
        call_prepared_free(prepared);
    return call_finish(&call.messages, status, diagnostics);
}

akg_status call_prepared_run(struct call_prepared *prepared, struct gpu_graph *graph,
                             akg_diagnostics **diagnostics)
{
    struct call_messages messages;
    akg_status status;

    prepared_follow(prepared, false);
    prepared->run.graph = graph;
    status = call_run_execute(&prepared->run);
    messages = prepared->messages;
    prepared->messages.list = NULL;
    return call_finish(&messages, status, diagnostics);
}

void call_prepared_free(struct call_prepared *prepared)
{
    if (!prepared)
        return;
    if (prepared->run.tensors)
        call_run_release(&prepared->run);
    broadcast_end(&prepared->broadcast);
    memory_free(prepared->offsets);
    memory_free(prepared);
}

const struct jit_instance *call_prepared_instance(const struct call_prepared *prepared)
{
    return prepared->run.instance;
}

akg_tensor *call_prepared_tensor(const struct call_prepared *prepared, int buffer)
{
    return prepared->run.tensors[buffer];
}

union jit_scalar call_prepared_scalar(const struct call_prepared *prepared, int attribute)
{
    return prepared->run.scalars[attribute];
}

/* Escapes when memory runs out. */
static struct ir_kernel *elaborate_bound(struct call_binding *binding, struct arena *arena,
                                         akg_diagnostics *list)
{
    const struct akg_kernel *kernel = binding->kernel;
    struct dsl_argument *described =
        arena_array(arena, struct dsl_argument, kernel->function->parameter_count + 1);
    struct elaborate_result result = {0};

    call_describe(binding, arena, described);
    pipeline_specialise(arena, kernel->module->tree, kernel->function, described, false, &result, list);
    return result.retry ? NULL : result.kernel;
}

struct ir_kernel *call_elaborate(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                                 struct arena *arena)
{
    struct call call;
    struct ir_kernel *volatile made = NULL;
    akg_status status = call_start(&call, kernel, arguments, count, NULL, false);
    akg_diagnostics *list = call_list(&call.messages);
    jmp_buf escape, *before = arena->escape;

    if (status == AKG_OK && list && !setjmp(escape)) {
        arena->escape = &escape;
        diagnostics_set_escape(list, &escape);
        made = elaborate_bound(&call.binding, arena, list);
    }
    arena->escape = before;
    diagnostics_set_escape(list, NULL);
    akg_diagnostics_free(list);
    broadcast_end(&call.broadcast);
    call_end(&call.binding);
    return made;
}

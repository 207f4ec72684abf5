/*
 * instance.c: the in-memory kernel cache: finding, making and publishing specialisations.
 *
 * Readers walk a list that is only ever prepended to, without a lock; makers of one kernel wait for each
 * other, so that a signature is compiled once.
 */
#include <string.h>
#include <time.h>

#include "pass.h"
#include "pipeline.h"

const struct jit_instance *jit_find_instance(struct akg_kernel *kernel, uint64_t hash, const void *key,
                                             size_t key_length)
{
    const struct jit_instance *instance = atomic_load_explicit(&kernel->instances, memory_order_acquire);

    for (; instance; instance = instance->next)
        if (instance->hash == hash && instance->key_length == key_length &&
            memcmp(instance->key, key, key_length) == 0)
            return instance;
    return NULL;
}

static int64_t instance_clock(void)
{
    struct timespec moment;

    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (int64_t)moment.tv_sec * 1000000000 + moment.tv_nsec;
}

/* Notes what a stage took; from where the next one counts. */
static int64_t instance_time(struct jit_instance *instance, enum jit_stage stage, int64_t since)
{
    int64_t now = instance_clock();

    instance->times[stage] = now - since;
    return now;
}

void jit_free_instance(struct jit_instance *instance)
{
    struct jit_device_code *code = atomic_load(&instance->device_code), *next;
    struct jit_kept *kept = atomic_load(&instance->kept);

    for (; code; code = next) {
        next = code->next;
        code->release(code);
    }
    if (kept)
        kept->release(kept);
    if (instance->program)
        cuda_program_free(instance->program);
    memory_free(instance->program);
    optimised_free(instance->optimised);
    deferred_free(&instance->deferred);
    backend_tcc_free(&instance->code);
    arena_free(&instance->arena);
    memory_free(instance);
}

struct instance_making {
    struct akg_kernel *kernel;
    const struct jit_request *request;
    struct jit_instance *instance;
    akg_diagnostics *diagnostics;
    bool retry;
};

akg_status jit_make_program(struct jit_instance *instance, akg_diagnostics *diagnostics)
{
    struct cuda_options options = {
        .trust_indices = instance->trust_indices, .deterministic = instance->strict, .tf32 = instance->tf32};
    struct cuda_program *program = memory_zeroed(1, sizeof *program);
    akg_status status = AKG_ERROR_MEMORY;

    if (program)
        status = cuda_program_make(program, instance->kernel, &options, diagnostics);
    if (status == AKG_OK)
        instance->program = program;
    else
        memory_free(program);
    return status;
}

/* What every call asks of the buffers. */
static void instance_list_buffers(struct jit_instance *instance)
{
    for (int i = 0; i < instance->kernel->buffers.count; i++) {
        enum ir_role role = instance->kernel->buffers.items[i]->role;
        instance->has_temporaries |= role == IR_TEMPORARY;
        if (role == IR_OUTPUT || role == IR_TEMPORARY)
            list_push(&instance->arena, &instance->made, i);
        if (role == IR_OUTPUT || role == IR_INOUT)
            list_push(&instance->arena, &instance->written, i);
    }
}

static bool count_statement(struct ir_stmt *stmt, void *count)
{
    (void)stmt;
    ++*(int *)count;
    return true;
}

/* The kernel once more, for C compilers: its loops as they are written, which these move and cut in their own
 * way. What may stop it is numbered behind what may stop the other. NULL where nobody asks. */
static struct ir_kernel *instance_in_c(struct instance_making *making, const enum pass_id *order, int count)
{
    struct akg_kernel *kernel = making->kernel;
    struct elaborate_result result = {0};
    const struct passes_options passes = {.order = order, .order_count = count};
    if (kernel->module->optimiser.tier == JIT_TIER_INSTANT)
        return NULL;
    int mark = diagnostics_mark(making->diagnostics);
    pipeline_specialise(&making->instance->arena, kernel->module->tree, kernel->function,
                        making->request->arguments, false, &result, making->diagnostics);
    if (result.kernel && !pipeline_optimise(result.kernel, &passes, making->diagnostics))
        result.kernel = NULL;
    diagnostics_rewind(making->diagnostics, mark); /* all that has been said */
    if (result.kernel)
        sites_number(result.kernel, &making->instance->sites);
    return result.kernel;
}

static struct ir_kernel *instance_as_written(struct instance_making *making)
{
    static const enum pass_id order[] = {PASS_few,     PASS_restride, PASS_simplify,
                                         PASS_enclose, PASS_scalars,  PASS_reductions};
    return instance_in_c(making, order, sizeof order / sizeof *order);
}

/* Likewise, with indices tested before the loops. NULL also where that is the same. */
static struct ir_kernel *instance_vouched(struct instance_making *making, const struct ir_kernel *written)
{
    static const enum pass_id order[] = {PASS_few,     PASS_restride, PASS_simplify,  PASS_enclose,
                                         PASS_scalars, PASS_choose,   PASS_vouch_all, PASS_reductions};
    if (!written || making->request->trust_indices || !pass_block_may_stop(written->body))
        return NULL;
    struct ir_kernel *kernel = instance_in_c(making, order, sizeof order / sizeof *order);
    int before = 0, after = 0;
    ir_block_walk(written->body, count_statement, &before);
    if (kernel)
        ir_block_walk(kernel->body, count_statement, &after);
    return after > before ? kernel : NULL;
}

/* From now on calls are told apart by the numbers that turned out to shape the code. */
static void instance_demand(struct akg_kernel *kernel, const struct elaborate_result *result)
{
    for (int i = 0; i < kernel->function->parameter_count; i++)
        if (result->needs_constant[i])
            atomic_store(&kernel->needs_constant[i], true);
    int none = 0;
    if (result->needs_ones)
        atomic_compare_exchange_strong(&kernel->few, &none, ELABORATE_FEW_ONE);
}

/* What the instance is for, by which it is found again. */
static void instance_keep_request(struct jit_instance *instance, const struct jit_request *request,
                                  const struct akg_module *module)
{
    instance->key = (const unsigned char *)arena_copy(&instance->arena, request->key, request->key_length);
    instance->key_length = request->key_length;
    instance->hash = request->hash;
    instance->backend = request->backend;
    instance->trust_indices = request->trust_indices;
    instance->strict = module->vectors.strict;
    instance->tf32 = module->tf32;
    instance->cache = &module->cache;
}

/* The stages for one signature; escapes when memory runs out. */
static akg_status instance_build(struct instance_making *making)
{
    struct akg_kernel *kernel = making->kernel;
    struct jit_instance *instance = making->instance;
    struct elaborate_result result = {0};
    int64_t since = instance_clock();
    int mark = diagnostics_mark(making->diagnostics);

    pipeline_specialise(&instance->arena, kernel->module->tree, kernel->function, making->request->arguments,
                        false, &result, making->diagnostics);
    if (result.retry) {
        instance_demand(kernel, &result);
        diagnostics_rewind(making->diagnostics, mark); /* what is wrong there is found again */
        making->retry = true;
        return AKG_OK;
    }
    if (!result.kernel)
        return diagnostics_tell_of_bug(making->diagnostics) ? AKG_ERROR_INTERNAL : AKG_ERROR_CALL;
    instance->kernel = result.kernel;
    since = instance_time(instance, JIT_STAGE_SPECIALISE, since);
    const struct passes_options passes = {.trust_indices = making->request->trust_indices,
                                          .for_threads = making->request->backend == JIT_BACKEND_CUDA,
                                          .target = kernel->module->vectors.target,
                                          .reorders = !kernel->module->vectors.strict};
    if (making->request->backend != JIT_BACKEND_INTERPRETER &&
        !pipeline_optimise(instance->kernel, &passes, making->diagnostics))
        return AKG_ERROR_INTERNAL;
    sites_number(instance->kernel, &instance->sites);
    instance->extents =
        exact_extents(instance->kernel, making->request->arguments, kernel->function->parameter_count);
    instance->lives = lives_find(&instance->arena, instance->kernel);
    since = instance_time(instance, JIT_STAGE_OPTIMISE, since);
    instance_keep_request(instance, making->request, kernel->module);
    instance_list_buffers(instance);
    if (instance->backend == JIT_BACKEND_INTERPRETER)
        return AKG_OK;
    struct ir_kernel *written = instance_as_written(making);
    const struct optimised_input optimised = {.kernel = instance->kernel,
                                              .written = written,
                                              .vouched = instance_vouched(making, written),
                                              .sites = &instance->sites,
                                              .apart = !instance->lives};
    struct vector_options vectors = kernel->module->vectors;
    vectors.trust_indices = making->request->trust_indices;
    struct pipeline_first first;
    if (instance->backend == JIT_BACKEND_TCC &&
        !pipeline_prepare(instance->kernel, kernel->module->any_shape ? NULL : instance->extents, &passes,
                          &vectors, instance->cache, &instance->sites, &instance->deferred, &first,
                          making->diagnostics))
        return AKG_ERROR_INTERNAL;
    diagnostics_set_escape(making->diagnostics, NULL);
    if (instance->backend == JIT_BACKEND_CUDA)
        return jit_make_program(instance, making->diagnostics);
    akg_status status = pipeline_generate(first.kernel, &vectors, instance->cache, &first.form,
                                          &instance->code, making->diagnostics);
    instance_time(instance, JIT_STAGE_GENERATE, since);
    if (status == AKG_OK)
        instance->optimised = optimised_make(&kernel->module->optimiser, &optimised, &instance->deferred,
                                             &vectors, instance->code.entry);
    return status;
}

static akg_status instance_guarded(struct instance_making *making)
{
    jmp_buf escape;
    akg_status status;

    if (setjmp(escape)) {
        making->instance->arena.escape = NULL;
        diagnostics_set_escape(making->diagnostics, NULL);
        return AKG_ERROR_MEMORY;
    }
    making->instance->arena.escape = &escape;
    diagnostics_set_escape(making->diagnostics, &escape);
    status = instance_build(making);
    making->instance->arena.escape = NULL;
    diagnostics_set_escape(making->diagnostics, NULL);
    return status;
}

/* Calls with ever other combinations of small extents are not to make ever more instances: from some on they
 * are told apart by extents of one element alone. Routes to those that are there stay right. */
static void instance_limit(struct akg_kernel *kernel)
{
    enum { MOST = 32 };
    const struct jit_instance *instance = atomic_load_explicit(&kernel->instances, memory_order_relaxed);
    int count = 0;

    for (; instance && count < MOST; instance = instance->next)
        count++;
    if (count == MOST && atomic_load(&kernel->few) == ELABORATE_FEW_MOST)
        atomic_store(&kernel->few, ELABORATE_FEW_ONE);
}

akg_status jit_make_instance(struct akg_kernel *kernel, const struct jit_request *request,
                             const struct jit_instance **instance, akg_diagnostics *diagnostics)
{
    struct instance_making making = {.kernel = kernel, .request = request, .diagnostics = diagnostics};
    akg_status status;

    *instance = NULL;
    pthread_mutex_lock(&kernel->lock);
    *instance = jit_find_instance(kernel, request->hash, request->key, request->key_length);
    if (*instance) {
        pthread_mutex_unlock(&kernel->lock);
        return AKG_OK;
    }
    making.instance = memory_zeroed(1, sizeof *making.instance);
    if (!making.instance) {
        pthread_mutex_unlock(&kernel->lock);
        return AKG_ERROR_MEMORY;
    }
    arena_init(&making.instance->arena, NULL);
    status = instance_guarded(&making);
    if (status == AKG_OK && !making.retry) {
        making.instance->next = atomic_load_explicit(&kernel->instances, memory_order_relaxed);
        atomic_store_explicit(&kernel->instances, making.instance, memory_order_release);
        instance_limit(kernel);
        *instance = making.instance;
    } else {
        jit_free_instance(making.instance);
    }
    pthread_mutex_unlock(&kernel->lock);
    return status;
}

/*
 * gpu_code.c: the code of an instance on a device: compiled by NVRTC, kept on disk, loaded once.
 *
 * Consumes the program that jit/cuda.h describes. A program serves every shape, so that a call launches some
 * of it: of a product of matrices one or two of five launches, which between them take NVRTC half a second.
 * What a call launches and what is not there yet is compiled as one unit, which is one entry of the cache and
 * one module.
 */
#include "gpu_private.h"

#include "../jit/cache_key.h"
#include "../jit/module.h"
#include "../jit/nvrtc.h"

#include <stdio.h>
#include <string.h>

enum { SHARED_UNASKED = 48 << 10 }; /* bytes of shared memory that a launch may have unasked */

static void code_release(struct jit_device_code *head)
{
    struct gpu_code *code = (struct gpu_code *)head;
    struct gpu_failure failure = {0};
    bool is_there = code->modules && gpu_enter(code->device, &failure);

    if (is_there)
        code->device->driver->cuStreamSynchronize(code->device->stream); /* it may be running */
    while (code->modules) {
        struct gpu_module *module = code->modules;
        code->modules = module->next;
        if (is_there)
            code->device->driver->cuModuleUnload(module->module);
        memory_free(module);
    }
    if (is_there)
        gpu_leave(code->device);
    memory_free(code);
}

/* The functions of a module that has just those launches. */
static CUresult find_functions(struct gpu_code *code, const struct cuda_program *program, CUmodule module,
                               const bool *wanted)
{
    const struct gpu_driver *driver = code->device->driver;
    CUresult result = CUDA_SUCCESS;

    for (int k = 0; k < program->launches.count && result == CUDA_SUCCESS; k++) {
        const struct cuda_launch *launch = &program->launches.items[k];
        CUfunction function;
        if (!wanted[k])
            continue;
        result = driver->cuModuleGetFunction(&function, module, launch->entry);
        if (result == CUDA_SUCCESS && launch->shared > SHARED_UNASKED)
            result = driver->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                launch->shared);
        if (result == CUDA_SUCCESS)
            atomic_store_explicit(&code->functions[k], function, memory_order_release);
    }
    return result;
}

/* What a compiler makes for a device that is newer than it begins as any PTX does: with a comment, or its
 * version. */
static bool is_ptx(const char *image)
{
    return strncmp(image, "//", 2) == 0 || strncmp(image, ".version", 8) == 0;
}

/* The functions that were found before one could not be are as good as others: the module stays. */
static akg_status load(struct gpu_code *code, const struct jit_instance *instance, const bool *wanted,
                       const char *image, struct gpu_failure *failure)
{
    struct gpu_module *module = memory_zeroed(1, sizeof *module);
    char what[96];
    akg_status status;

    if (!module)
        return AKG_ERROR_MEMORY;
    if (!gpu_enter(code->device, failure)) {
        memory_free(module);
        return failure->status;
    }
    snprintf(what, sizeof what, "load the code of '%.60s'", instance->kernel->name);
    if (is_ptx(image))
        atomic_store_explicit(&code->is_older, true, memory_order_relaxed);
    CUresult result = code->device->driver->cuModuleLoadDataEx(&module->module, image, 0, NULL, NULL);
    if (result == CUDA_SUCCESS) {
        module->next = code->modules;
        code->modules = module;
        result = find_functions(code, instance->program, module->module, wanted);
    } else {
        memory_free(module);
    }
    status = gpu_check(code->device, result, what, failure);
    gpu_leave(code->device);
    return status;
}

/* ---- machine code -------------------------------------------------------------------------------------- */

/* In the key, beside the part of the program: which compiler makes it, and for what. */
static void make_key(struct text *key, const struct gpu_device *device, const struct jit_instance *instance,
                     const char *part)
{
    const struct vector_options options = {.strict = instance->strict,
                                           .trust_indices = instance->trust_indices};
    struct text compiler;

    text_init(&compiler);
    text_format(&compiler, "NVRTC for compute capability %d.%d: ", device->major, device->minor);
    nvrtc_identity(&compiler);
    text_init(key);
    cache_key_begin(key, "cuda", instance->kernel, &options, compiler.failed ? "" : compiler.data);
    cache_key_program(key, part);
    key->failed |= compiler.failed;
    text_free(&compiler);
}

static akg_status compile(const struct gpu_device *device, const struct jit_instance *instance,
                          const char *part, struct text *image, akg_diagnostics *list)
{
    const struct nvrtc_request request = {.name = instance->kernel->name,
                                          .text = part,
                                          .major = device->major,
                                          .minor = device->minor,
                                          .strict = instance->strict};
    struct nvrtc_code code;
    akg_status status = nvrtc_compile(&request, &code, list);

    if (status == AKG_OK)
        *image = code.image;
    return status;
}

/* What is kept under the key, or nothing. */
static bool find_kept(const struct disk_cache *cache, const struct text *key, struct text *image)
{
    struct disk_entry entry;

    if (key->failed || !disk_cache_find(cache, key, &entry))
        return false;
    text_append(image, (const char *)entry.payload, entry.payload_size);
    disk_entry_free(&entry);
    return true;
}

/* The same once the compiler is opened, as it must be to compile anything: it may be another one than the
 * first that was there, one that can be opened. */
static bool find_kept_of_opened(const struct gpu_device *device, const struct jit_instance *instance,
                                const char *part, struct text *key, struct text *image)
{
    struct text again;
    bool found;

    nvrtc_version();
    make_key(&again, device, instance, part);
    found = !key->failed && !again.failed && strcmp(key->data, again.data) != 0 &&
            find_kept(instance->cache, &again, image);
    text_free(key);
    *key = again;
    return found;
}

static void keep(const struct disk_cache *cache, const struct text *key, const struct text *image)
{
    if (cache->directory && !key->failed)
        disk_cache_publish(cache, key, image->data, image->length);
}

/* From the cache on disk, or by NVRTC, and then into the cache, under *key. */
static akg_status find_image(const struct gpu_device *device, const struct jit_instance *instance,
                             const char *part, struct text *key, struct text *image, bool *is_kept,
                             akg_diagnostics *list)
{
    const struct disk_cache *cache = instance->cache;
    akg_status status;

    text_init(key);
    text_init(image);
    *is_kept = false;
    if (cache->directory) {
        make_key(key, device, instance, part);
        *is_kept = find_kept(cache, key, image) || find_kept_of_opened(device, instance, part, key, image);
    }
    if (*is_kept)
        return image->failed ? AKG_ERROR_MEMORY : AKG_OK;
    status = compile(device, instance, part, image, list);
    if (status == AKG_OK)
        keep(cache, key, image);
    return status;
}

/* The lock of the device is held: a launch is compiled once. */
static akg_status make_part(struct gpu_code *code, const struct jit_instance *instance, const bool *wanted,
                            const char *part, akg_diagnostics *list)
{
    struct gpu_failure failure = {0};
    struct text key, image;
    bool is_kept;
    akg_status status = find_image(code->device, instance, part, &key, &image, &is_kept, list);

    if (status == AKG_OK)
        status = load(code, instance, wanted, image.data, &failure);
    text_free(&image);
    if (status != AKG_OK && is_kept && status != AKG_ERROR_MEMORY) {
        /* the driver does not take what was kept: made anew, and kept in its place, for the next process */
        failure.status = AKG_OK;
        status = compile(code->device, instance, part, &image, list);
        if (status == AKG_OK) {
            status = load(code, instance, wanted, image.data, &failure);
            if (status == AKG_OK)
                keep(instance->cache, &key, &image);
            text_free(&image);
        }
    }
    text_free(&key);
    return failure.status != AKG_OK ? gpu_failure_add(&failure, list, (struct span){0}) : status;
}

/* What the run lacks, all of it in one unit. */
static akg_status make(struct gpu_code *code, const struct jit_instance *instance,
                       const struct gpu_running *run, akg_diagnostics *list)
{
    const struct cuda_program *program = instance->program;
    bool *wanted = memory_zeroed((size_t)program->launches.count + 1, sizeof *wanted);
    struct text part;
    akg_status status = AKG_ERROR_MEMORY;

    if (!wanted)
        return AKG_ERROR_MEMORY;
    for (int k = 0; k < program->launches.count; k++)
        wanted[k] = run->grids[k] && !gpu_code_function(code, k);
    text_init(&part);
    cuda_program_part(program, wanted, &part);
    if (!part.failed)
        status = make_part(code, instance, wanted, part.data, list);
    text_free(&part);
    memory_free(wanted);
    return status;
}

/* ---- code -------------------------------------------------------------------------------------------------
 */

struct gpu_code *gpu_find_code(struct gpu_device *device, const struct jit_instance *instance)
{
    struct jit_device_code *head = atomic_load_explicit(&instance->device_code, memory_order_acquire);

    while (head && ((struct gpu_code *)head)->device != device)
        head = head->next;
    return (struct gpu_code *)head;
}

/* Others may add theirs for another device at the same time. */
static void publish(const struct jit_instance *instance, struct jit_device_code *head)
{
    _Atomic(struct jit_device_code *) *list = &((struct jit_instance *)instance)->device_code;

    head->next = atomic_load(list);
    while (!atomic_compare_exchange_weak(list, &head->next, head))
        ;
}

/* Without any functions yet, but there for others to find. The lock of the device is held. */
static struct gpu_code *begin_code(struct gpu_device *device, const struct jit_instance *instance)
{
    size_t functions = (size_t)instance->program->launches.count * sizeof(CUfunction);
    struct gpu_code *code = memory_zeroed(1, sizeof *code + functions);

    if (code) {
        code->head.release = code_release;
        code->device = device;
        publish(instance, &code->head);
    }
    return code;
}

akg_status gpu_make_code(struct gpu_device *device, const struct jit_instance *instance,
                         const struct jit_frame *frame, struct gpu_code **code, akg_diagnostics *diagnostics)
{
    struct gpu_failure failure = {0};
    struct gpu_running run;
    akg_status status;

    run.device = device;
    run.program = instance->program;
    run.frame = frame;
    run.failure = &failure;
    status = gpu_running_begin(&run);
    if (status != AKG_OK)
        return status;
    pthread_mutex_lock(&device->code_lock);
    *code = gpu_find_code(device, instance);
    if (!*code)
        *code = begin_code(device, instance);
    if (!*code)
        status = AKG_ERROR_MEMORY;
    else if (!gpu_running_grids(&run, *code))
        status = make(*code, instance, &run, diagnostics);
    pthread_mutex_unlock(&device->code_lock);
    gpu_running_end(&run);
    return status;
}

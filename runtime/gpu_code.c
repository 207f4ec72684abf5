/*
 * gpu_code.c: the code of an instance on a device: compiled by NVRTC, kept on disk, loaded once.
 *
 * Consumes the program that jit/cuda.h describes.
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

    if (code->module && gpu_enter(code->device, &failure)) {
        code->device->driver->cuStreamSynchronize(code->device->stream); /* it may be running */
        code->device->driver->cuModuleUnload(code->module);
        gpu_leave(code->device);
    }
    memory_free(code);
}

static akg_status load(struct gpu_code *code, const struct jit_instance *instance, const char *image,
                       struct gpu_failure *failure)
{
    const struct gpu_driver *driver = code->device->driver;
    char what[96];
    akg_status status;

    if (!gpu_enter(code->device, failure))
        return failure->status;
    snprintf(what, sizeof what, "load the code of '%.60s'", instance->kernel->name);
    CUresult result = driver->cuModuleLoadDataEx(&code->module, image, 0, NULL, NULL);
    for (int k = 0; k < instance->program->launches.count && result == CUDA_SUCCESS; k++) {
        const struct cuda_launch *launch = &instance->program->launches.items[k];
        result = driver->cuModuleGetFunction(&code->functions[k], code->module, launch->entry);
        if (result == CUDA_SUCCESS && launch->shared > SHARED_UNASKED)
            result = driver->cuFuncSetAttribute(
                code->functions[k], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, launch->shared);
    }
    status = gpu_check(code->device, result, what, failure);
    gpu_leave(code->device);
    return status;
}

/* ---- machine code -------------------------------------------------------------------------------------- */

/* In the key, beside the program: which compiler makes it, and for what. */
static void make_key(struct text *key, const struct gpu_device *device, const struct jit_instance *instance)
{
    const struct vector_options options = {.strict = instance->strict,
                                           .trust_indices = instance->trust_indices};
    struct text compiler;

    text_init(&compiler);
    text_format(&compiler, "NVRTC for compute capability %d.%d: ", device->major, device->minor);
    nvrtc_identity(&compiler);
    text_init(key);
    cache_key_begin(key, "cuda", instance->kernel, &options, compiler.failed ? "" : compiler.data);
    cache_key_program(key, instance->program->text.data);
    key->failed |= compiler.failed;
    text_free(&compiler);
}

static akg_status compile(const struct gpu_device *device, const struct jit_instance *instance,
                          struct text *image, akg_diagnostics *list)
{
    const struct nvrtc_request request = {.name = instance->kernel->name,
                                          .text = instance->program->text.data,
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
                                struct text *key, struct text *image)
{
    struct text again;
    bool found;

    nvrtc_version();
    make_key(&again, device, instance);
    found = !key->failed && !again.failed && strcmp(key->data, again.data) != 0 &&
            find_kept(instance->cache, &again, image);
    text_free(key);
    *key = again;
    return found;
}

/* From the cache on disk, or by NVRTC, and then into the cache. */
static akg_status find_image(const struct gpu_device *device, const struct jit_instance *instance,
                             struct text *image, bool *is_kept, akg_diagnostics *list)
{
    const struct disk_cache *cache = instance->cache;
    struct text key;
    akg_status status;

    text_init(image);
    *is_kept = false;
    if (!cache->directory)
        return compile(device, instance, image, list);
    make_key(&key, device, instance);
    *is_kept = find_kept(cache, &key, image) || find_kept_of_opened(device, instance, &key, image);
    if (*is_kept) {
        status = image->failed ? AKG_ERROR_MEMORY : AKG_OK;
    } else {
        status = compile(device, instance, image, list);
        if (status == AKG_OK && !key.failed)
            disk_cache_publish(cache, &key, image->data, image->length);
    }
    text_free(&key);
    return status;
}

/* The lock of the device is held: a program is compiled once. */
static akg_status make(struct gpu_device *device, const struct jit_instance *instance, struct gpu_code **made,
                       akg_diagnostics *list)
{
    size_t functions = (size_t)instance->program->launches.count * sizeof *(*made)->functions;
    struct gpu_code *code = memory_zeroed(1, sizeof *code + functions);
    struct gpu_failure failure = {0};
    struct text image;
    bool is_kept;
    akg_status status;

    if (!code)
        return AKG_ERROR_MEMORY;
    code->head.release = code_release;
    code->device = device;
    status = find_image(device, instance, &image, &is_kept, list);
    if (status == AKG_OK)
        status = load(code, instance, image.data, &failure);
    text_free(&image);
    if (status != AKG_OK && is_kept && status != AKG_ERROR_MEMORY) {
        /* the driver does not take what was kept: made anew */
        failure.status = AKG_OK;
        status = compile(device, instance, &image, list);
        if (status == AKG_OK) {
            status = load(code, instance, image.data, &failure);
            text_free(&image);
        }
    }
    if (status == AKG_OK)
        *made = code;
    else
        code_release(&code->head);
    return failure.status != AKG_OK ? gpu_failure_add(&failure, list, (struct span){0}) : status;
}

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

akg_status gpu_make_code(struct gpu_device *device, const struct jit_instance *instance,
                         struct gpu_code **code, akg_diagnostics *diagnostics)
{
    akg_status status = AKG_OK;

    pthread_mutex_lock(&device->code_lock);
    *code = gpu_find_code(device, instance);
    if (!*code && (status = make(device, instance, code, diagnostics)) == AKG_OK)
        publish(instance, &(*code)->head);
    pthread_mutex_unlock(&device->code_lock);
    return status;
}

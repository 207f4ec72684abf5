/*
 * registry.c: registries: committing registrations, looking up, loading what the standard library has.
 *
 * Consumes batches of registrations. A batch is compared with what is there and published under the lock of
 * the registry, so it appears as a whole or not at all; nothing is allocated between the first thing
 * published and the last.
 */
#include "operator.h"

#include <stdio.h>
#include <string.h>

#include "../dsl/standard.h"
#include "failure.h"
#include "graph.h"
#include "library.h"
#include "operator_gradient.h"
#include "operator_info.h"
#include "operator_native.h"

/* ---- life ------------------------------------------------------------------------------- */

akg_status akg_registry_create(akg_registry **registry)
{
    akg_registry *made;

    if (!registry)
        return AKG_ERROR_USAGE;
    *registry = NULL;
    made = memory_zeroed(1, sizeof *made);
    if (made)
        made->plans = graph_cache_create();
    if (!made || !made->plans) {
        memory_free(made);
        return AKG_ERROR_MEMORY;
    }
    atomic_init(&made->references, 1);
    atomic_init(&made->scratch, NULL);
    pthread_mutex_init(&made->lock, NULL);
    made->registrations_end = &made->registrations;
    made->origin = "the program";
    *registry = made;
    return AKG_OK;
}

akg_registry *registry_stage(akg_registry *parent, const char *origin)
{
    akg_registry *staged;

    if (akg_registry_create(&staged) != AKG_OK)
        return NULL;
    staged->parent = parent;
    staged->origin = origin;
    return staged;
}

akg_registry *akg_registry_retain(akg_registry *registry)
{
    if (registry)
        atomic_fetch_add_explicit(&registry->references, 1, memory_order_relaxed);
    return registry;
}

static void registration_free(struct registration *registration)
{
    if (registration->kind == REGISTER_OPERATOR && registration->callee.kind)
        registration->callee.kind->release(&registration->callee);
    arena_free(&registration->arena);
    memory_free(registration);
}

static void registrations_free(struct registration *registration)
{
    while (registration) {
        struct registration *next = registration->next;
        registration_free(registration);
        registration = next;
    }
}

void akg_registry_release(akg_registry *registry)
{
    if (!registry || atomic_fetch_sub_explicit(&registry->references, 1, memory_order_acq_rel) != 1)
        return;
    registrations_free(registry->registrations);
    memory_free(registry->operators);
    memory_free(atomic_load(&registry->scratch));
    graph_cache_free(registry->plans);
    library_close(registry->handles); /* last: functions of the operators lie there */
    pthread_mutex_destroy(&registry->lock);
    memory_free(registry);
}

void registry_keep(akg_registry *registry, struct registry_handle *handle)
{
    pthread_mutex_lock(&registry->lock);
    library_link(handle, registry->handles);
    registry->handles = handle;
    pthread_mutex_unlock(&registry->lock);
}

/* ---- scratch ------------------------------------------------------------------------------ */

/* A block for kernels to work in; the one that was last given back waits in the registry. */
struct registry_scratch {
    size_t size;
    _Alignas(64) unsigned char bytes[];
};

void *registry_take_scratch(akg_registry *registry, size_t size)
{
    struct registry_scratch *scratch = atomic_exchange(&registry->scratch, NULL);

    if (scratch && scratch->size >= size)
        return scratch->bytes;
    memory_free(scratch);
    if (size > PTRDIFF_MAX - sizeof *scratch)
        return NULL;
    scratch = memory_aligned(sizeof *scratch + size);
    if (!scratch)
        return NULL;
    scratch->size = size;
    return scratch->bytes;
}

void registry_give_scratch(akg_registry *registry, void *bytes)
{
    if (bytes)
        memory_free(atomic_exchange(
            &registry->scratch,
            (struct registry_scratch *)(void *)((char *)bytes - offsetof(struct registry_scratch, bytes))));
}

/* ---- batches ------------------------------------------------------------------------------ */

void registration_begin(struct registration_batch *batch)
{
    batch->first = NULL;
    batch->last = &batch->first;
    batch->list = NULL;
}

struct registration *registration_new(struct registration_batch *batch, enum registration_kind kind)
{
    struct registration *registration = memory_zeroed(1, sizeof *registration);

    if (!registration)
        return NULL;
    arena_init(&registration->arena, NULL);
    registration->kind = kind;
    if (kind == REGISTER_OPERATOR)
        registration->target = &registration->callee;
    *batch->last = registration;
    batch->last = &registration->next;
    return registration;
}

akg_diagnostics *registration_list(struct registration_batch *batch)
{
    if (!batch->list)
        batch->list = diagnostics_create("", NULL, 0);
    return batch->list;
}

akg_status registration_fill(struct registration_batch *batch, struct registration *registration,
                             akg_status (*fill)(struct registration_batch *batch,
                                                struct registration *registration, const void *source),
                             const void *source)
{
    jmp_buf escape;
    akg_status status;

    if (setjmp(escape)) {
        registration->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    registration->arena.escape = &escape;
    status = fill(batch, registration, source);
    registration->arena.escape = NULL;
    return status;
}

/* ---- committing ---------------------------------------------------------------------------- */

static akg_operator *registry_scan(const akg_registry *registry, const char *name, bool is_standard)
{
    for (size_t i = 0; i < registry->operator_count; i++) {
        akg_operator *callee = registry->operators[i];
        if (callee->is_standard == is_standard && strcmp(callee->name, name) == 0)
            return callee;
    }
    return NULL;
}

/* Looks, while a library is being loaded, at what is there already. */
static akg_operator *registry_scan_up(akg_registry *registry, const char *name, bool is_standard)
{
    akg_operator *callee = registry_scan(registry, name, is_standard);

    if (callee || !registry->parent)
        return callee;
    pthread_mutex_lock(&registry->parent->lock);
    callee = registry_scan(registry->parent, name, is_standard);
    pthread_mutex_unlock(&registry->parent->lock);
    return callee;
}

static bool commit_refuse_operator(const akg_operator *first, const akg_operator *second,
                                   akg_diagnostics *list)
{
    struct diagnostic_entry *entry = diagnostic_add(list, MSG_OPERATOR_TWICE, (struct span){0}, second->name);

    diagnostic_note(entry, "note: the first comes from %s, the second from %s", first->origin,
                    second->origin);
    return false;
}

/* Whether nothing in the way of the registration is there, or among those of its batch before it. */
static bool commit_is_free(akg_registry *registry, const struct registration *batch,
                           const struct registration *registration, akg_diagnostics *list)
{
    const akg_operator *target = registration->target, *other;

    if (registration->kind == REGISTER_OPERATOR) {
        other = registry_scan_up(registry, target->name, target->is_standard);
        if (other)
            return commit_refuse_operator(other, target, list);
    }
    for (; batch != registration; batch = batch->next) {
        if (batch->kind == REGISTER_OPERATOR && registration->kind == REGISTER_OPERATOR &&
            strcmp(batch->callee.name, target->name) == 0)
            return commit_refuse_operator(&batch->callee, target, list);
        if (batch->target != target || batch->kind != registration->kind)
            continue;
        if (registration->kind == REGISTER_KERNEL &&
            !native_kernels_differ(target, batch->gain.kernel, registration->gain.kernel, list))
            return false;
        if (registration->kind == REGISTER_INFO &&
            !info_targets_differ(target, batch->gain.info, registration->gain.info, list))
            return false;
        if (registration->kind == REGISTER_GRADIENT)
            return gradient_refuse_second(target, list);
    }
    switch (registration->kind) {
    case REGISTER_OPERATOR:
        break;
    case REGISTER_KERNEL:
        return native_kernel_is_free(target, registration->gain.kernel, list);
    case REGISTER_INFO:
        return info_is_free(target, registration->gain.info, list);
    case REGISTER_GRADIENT:
        return !akg_operator_has_gradient(target) || gradient_refuse_second(target, list);
    }
    return true;
}

static void commit_publish(akg_registry *registry, struct registration *registration)
{
    akg_operator *target = registration->target;

    switch (registration->kind) {
    case REGISTER_OPERATOR:
        target->registry = registry;
        registry->operators[registry->operator_count++] = target;
        break;
    case REGISTER_KERNEL:
        native_append_kernel(target, registration->gain.kernel);
        break;
    case REGISTER_INFO:
        info_append(target, registration->gain.info);
        break;
    case REGISTER_GRADIENT:
        atomic_store(&target->gradient, registration->gain.gradient);
        break;
    }
}

static bool registry_reserve(akg_registry *registry, size_t more)
{
    size_t needed = registry->operator_count + more, capacity = registry->operator_capacity;
    akg_operator **operators;

    if (needed <= capacity)
        return true;
    capacity = needed > 2 * capacity ? needed : 2 * capacity;
    operators = memory_resize(registry->operators, capacity * sizeof(akg_operator *));
    if (!operators)
        return false;
    registry->operators = operators;
    registry->operator_capacity = capacity;
    return true;
}

/* Where a registration stands in a commit. */
enum commit_turn {
    COMMIT_NOW,
    COMMIT_LATER, /* a library is being loaded, and others use the operator already */
    COMMIT_DONE   /* a library was loaded, and the operator is its own */
};

static enum commit_turn commit_turn(const akg_registry *registry, const akg_registry *staged,
                                    const struct registration *registration)
{
    const akg_registry *home = registration->target->registry;

    if (registration->kind == REGISTER_OPERATOR)
        return COMMIT_NOW;
    if (home && home == registry->parent)
        return COMMIT_LATER;
    return home && home == staged ? COMMIT_DONE : COMMIT_NOW;
}

/* With the lock held. Nothing changes unless all of it can be done. */
static akg_status registry_commit(akg_registry *registry, struct registration *batch,
                                  const akg_registry *staged, akg_diagnostics *list)
{
    struct registration *last = NULL, *next;
    size_t operators = 0;

    for (struct registration *at = batch; at; last = at, at = at->next) {
        operators += at->kind == REGISTER_OPERATOR;
        if (commit_turn(registry, staged, at) != COMMIT_DONE && !commit_is_free(registry, batch, at, list))
            return AKG_ERROR_USAGE;
    }
    if (!registry_reserve(registry, operators))
        return AKG_ERROR_MEMORY;
    for (struct registration *at = batch; at; at = next) {
        next = at->next;
        if (commit_turn(registry, staged, at) == COMMIT_NOW)
            commit_publish(registry, at);
    }
    if (last) {
        *registry->registrations_end = batch;
        registry->registrations_end = &last->next;
    }
    return AKG_OK;
}

akg_status registration_end(struct registration_batch *batch, akg_registry *registry, akg_status status,
                            akg_diagnostics **diagnostics)
{
    akg_diagnostics *list = registration_list(batch);

    if (!list)
        status = AKG_ERROR_MEMORY;
    if (status == AKG_OK) {
        pthread_mutex_lock(&registry->lock);
        status = registry_commit(registry, batch->first, NULL, list);
        pthread_mutex_unlock(&registry->lock);
    }
    if (status != AKG_OK)
        registrations_free(batch->first);
    return operator_finish(list, status, diagnostics);
}

akg_status registration_add_to(akg_registry *registry, const char *name, enum registration_kind kind,
                               akg_status (*fill)(struct registration_batch *batch,
                                                  struct registration *registration, const void *source),
                               const void *source, akg_diagnostics **diagnostics)
{
    struct registration_batch batch;
    struct registration *registration;
    akg_operator *target;
    akg_status status = akg_registry_find(registry, name, &target, diagnostics);

    if (status != AKG_OK)
        return status;
    registration_begin(&batch);
    registration = registration_new(&batch, kind);
    status = AKG_ERROR_MEMORY;
    if (registration) {
        registration->target = target;
        status = registration_fill(&batch, registration, fill, source);
    }
    return registration_end(&batch, registry, status, diagnostics);
}

akg_status registry_merge(akg_registry *staged, akg_diagnostics *list)
{
    akg_registry *parent = staged->parent;
    akg_status status;

    pthread_mutex_lock(&staged->lock);
    pthread_mutex_lock(&parent->lock);
    status = registry_commit(parent, staged->registrations, staged, list);
    if (status == AKG_OK) {
        staged->registrations = NULL;
        staged->registrations_end = &staged->registrations;
        staged->operator_count = 0;
    }
    staged->parent = NULL;
    pthread_mutex_unlock(&parent->lock);
    pthread_mutex_unlock(&staged->lock);
    return status;
}

akg_status akg_registry_add_module(akg_registry *registry, akg_module *module, akg_diagnostics **diagnostics)
{
    struct registration_batch batch;

    if (diagnostics)
        *diagnostics = NULL;
    if (!registry || !module)
        return AKG_ERROR_USAGE;
    registration_begin(&batch);
    return registration_end(&batch, registry, operator_of_module(&batch, module, false), diagnostics);
}

/* ---- looking up ------------------------------------------------------------------------------ */

static akg_operator *registry_look(akg_registry *registry, const char *name, bool is_standard)
{
    akg_operator *callee;

    pthread_mutex_lock(&registry->lock);
    callee = registry_scan_up(registry, name, is_standard);
    pthread_mutex_unlock(&registry->lock);
    return callee;
}

/* Compiles a file of the standard library. Another thread may have done so meanwhile: then its operators
 * stay. */
static akg_status registry_load(akg_registry *registry, const struct standard_file *file,
                                akg_diagnostics **diagnostics)
{
    jit_source source = {.name = file->name, .text = file->text, .length = file->length};
    struct registration_batch batch;
    akg_module *module;
    akg_status status = jit_compile(&source, NULL, &module, diagnostics);

    if (status != AKG_OK)
        return status;
    if (diagnostics) {
        akg_diagnostics_free(*diagnostics); /* warnings about text that is not the user's */
        *diagnostics = NULL;
    }
    registration_begin(&batch);
    status = registration_end(&batch, registry, operator_of_module(&batch, module, true), NULL);
    akg_module_release(module);
    return status == AKG_ERROR_USAGE ? AKG_OK : status;
}

/* The operator of the standard library, its file compiled if need be; NULL when there is none. */
static akg_status registry_find_standard(akg_registry *registry, const char *name, akg_operator **found,
                                         akg_diagnostics **diagnostics)
{
    const struct standard_file *file;
    akg_status status;

    *found = registry_look(registry, name, true);
    file = *found ? NULL : standard_find(name);
    if (!file)
        return AKG_OK;
    if (registry->parent)
        registry = registry->parent;
    status = registry_load(registry, file, diagnostics);
    if (status == AKG_OK)
        *found = registry_look(registry, name, true);
    return status;
}

akg_status akg_registry_add_standard(akg_registry *registry, akg_diagnostics **diagnostics)
{
    struct standard_operator row;
    akg_operator *found;
    akg_status status = AKG_OK;

    if (diagnostics)
        *diagnostics = NULL;
    if (!registry)
        return AKG_ERROR_USAGE;
    for (size_t i = 0; status == AKG_OK && standard_at(i, &row); i++)
        status = registry_find_standard(registry, row.name, &found, diagnostics);
    return status;
}

static akg_status registry_refuse_name(akg_registry *registry, const char *name,
                                       akg_diagnostics **diagnostics)
{
    enum { MOST = 512 };
    const char *names[MOST], *nearest;
    struct standard_operator row;
    char note[160];
    int count = 0;

    for (size_t i = 0; count < MOST && standard_at(i, &row); i++)
        names[count++] = row.name;
    pthread_mutex_lock(&registry->lock);
    for (size_t i = 0; i < registry->operator_count && count < MOST; i++)
        names[count++] = registry->operators[i]->name;
    pthread_mutex_unlock(&registry->lock);
    nearest = spelling_nearest(name, names, count);
    if (nearest)
        snprintf(note, sizeof note, "help: did you mean '%s'?", nearest);
    return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_OPERATOR_UNKNOWN, name, NULL, NULL,
                          nearest ? note : NULL);
}

akg_status akg_registry_find(akg_registry *registry, const char *name, akg_operator **found,
                             akg_diagnostics **diagnostics)
{
    static const char prefix[] = "std:";
    bool only_standard;
    akg_status status = AKG_OK;

    if (diagnostics)
        *diagnostics = NULL;
    if (!found)
        return AKG_ERROR_USAGE;
    *found = NULL;
    if (!registry || !name)
        return AKG_ERROR_USAGE;
    only_standard = strncmp(name, prefix, strlen(prefix)) == 0;
    if (!only_standard)
        *found = registry_look(registry, name, false);
    if (!*found)
        status = registry_find_standard(registry, only_standard ? name + strlen(prefix) : name, found,
                                        diagnostics);
    return *found || status != AKG_OK ? status : registry_refuse_name(registry, name, diagnostics);
}

size_t akg_registry_operator_count(akg_registry *registry)
{
    size_t count;

    if (!registry)
        return 0;
    pthread_mutex_lock(&registry->lock);
    count = registry->operator_count;
    pthread_mutex_unlock(&registry->lock);
    return count;
}

akg_operator *akg_registry_operator_at(akg_registry *registry, size_t index)
{
    akg_operator *callee;

    if (!registry)
        return NULL;
    pthread_mutex_lock(&registry->lock);
    callee = index < registry->operator_count ? registry->operators[index] : NULL;
    pthread_mutex_unlock(&registry->lock);
    return callee;
}

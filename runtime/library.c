/*
 * library.c: akg_load_library: shared objects with operators.
 *
 * What a library registers waits in a registry of its own and goes to the user's at once, or not at all. A
 * library that registered anything stays open until the registry goes, for its functions are called until
 * then.
 */
#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "failure.h"
#include "operator.h"

struct registry_handle {
    struct registry_handle *next;
    void *object;
    char path[]; /* the origin of its operators */
};

typedef akg_status (*library_function)(akg_registry *registry, akg_diagnostics **diagnostics);

void library_link(struct registry_handle *handle, struct registry_handle *next)
{
    handle->next = next;
}

void library_close(struct registry_handle *handle)
{
    while (handle) {
        struct registry_handle *next = handle->next;
        if (handle->object)
            dlclose(handle->object);
        memory_free(handle);
        handle = next;
    }
}

/* dlopen looks along the system's path for a name without a slash: the file that is meant lies right here. */
static akg_status library_open(const char *path, void **object, akg_diagnostics **diagnostics)
{
    size_t length = strlen(path) + 3;
    const char *name = path, *reason;
    char *local = NULL;

    if (!strchr(path, '/')) {
        name = local = memory_allocate(length);
        if (!local)
            return AKG_ERROR_MEMORY;
        snprintf(local, length, "./%s", path);
    }
    *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    memory_free(local);
    if (*object)
        return AKG_OK;
    reason = dlerror();
    return failure_report(diagnostics, AKG_ERROR_IO, MSG_LIBRARY_OPEN, path,
                          reason ? reason : "no reason is told", NULL, NULL);
}

/* The function that registers, or NULL with a message when the object is no library of this interface. */
static akg_status library_enter(void *object, const char *path, library_function *enter,
                                akg_diagnostics **diagnostics)
{
    const unsigned *abi = dlsym(object, "akg_library_abi");
    char theirs[24], ours[24];

    *(void **)enter = dlsym(object, "akg_library_register");
    if (!abi || !*enter)
        return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_LIBRARY_SYMBOL, path,
                              abi ? "akg_library_register" : "akg_library_abi", NULL,
                              "help: AKG_LIBRARY in akg.h defines the one, the library's author the other");
    if (*abi == AKG_ABI)
        return AKG_OK;
    snprintf(theirs, sizeof theirs, "%u", *abi);
    snprintf(ours, sizeof ours, "%d", AKG_ABI);
    return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_LIBRARY_ABI, path, theirs, ours,
                          "help: compile the library again, with the akg.h of this version");
}

/* The function has failed: what it told, if anything, and whose it was. */
static akg_status library_failed(const char *path, akg_status status, akg_diagnostics *told,
                                 akg_diagnostics **diagnostics)
{
    const akg_diagnostic *first = akg_diagnostics_at(told, 0);
    akg_diagnostics *list = diagnostics_create("", NULL, 0);
    struct diagnostic_entry *entry =
        diagnostic_add(list, MSG_LIBRARY_FAILED, (struct span){0}, path, akg_status_text(status));

    if (first)
        diagnostic_note(entry, "note: %s", first->message);
    for (size_t i = 0; first && i < first->note_count; i++)
        diagnostic_note(entry, "%s", first->notes[i]);
    diagnostic_note(entry, "note: nothing of it was registered");
    akg_diagnostics_free(told);
    return operator_finish(list, status, diagnostics);
}

/* With the library open: registers into a registry apart, then merges that. */
static akg_status library_register(akg_registry *registry, struct registry_handle *handle,
                                   akg_diagnostics **diagnostics)
{
    library_function enter;
    akg_diagnostics *told = NULL;
    akg_registry *staged;
    akg_status status = library_enter(handle->object, handle->path, &enter, diagnostics);

    if (status != AKG_OK)
        return status;
    staged = registry_stage(registry, handle->path);
    if (!staged)
        return AKG_ERROR_MEMORY;
    status = enter(staged, &told);
    if (status == AKG_OK) {
        akg_diagnostics_free(told); /* warnings, if it compiles programs */
        told = diagnostics_create("", NULL, 0);
        status = told ? registry_merge(staged, told) : AKG_ERROR_MEMORY;
        if (status == AKG_ERROR_MEMORY && told)
            diagnostic_add(told, MSG_MEMORY, (struct span){0});
    }
    if (status != AKG_OK)
        status = library_failed(handle->path, status, told, diagnostics);
    else
        akg_diagnostics_free(told);
    akg_registry_release(staged);
    return status;
}

akg_status akg_load_library(akg_registry *registry, const char *path, akg_diagnostics **diagnostics)
{
    struct registry_handle *handle;
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    if (!registry || !path)
        return AKG_ERROR_USAGE;
    handle = memory_zeroed(1, sizeof *handle + strlen(path) + 1);
    if (!handle)
        return AKG_ERROR_MEMORY;
    strcpy(handle->path, path);
    status = library_open(path, &handle->object, diagnostics);
    if (status == AKG_OK)
        status = library_register(registry, handle, diagnostics);
    if (status == AKG_OK)
        registry_keep(registry, handle);
    else
        library_close(handle);
    return status;
}

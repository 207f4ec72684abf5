/*
 * stub_module.c: modules of the stub of libcuda: emitted CUDA, compiled as C and run by fibres (shim.h).
 */
#include "stub_private.h"

#include "shim.h"

#include <stdio.h>
#include <stdlib.h>

enum { FUNCTIONS_MOST = 4096 };

struct stub_function {
    struct stub_module *module;
    int number;
};

struct stub_module {
    struct shim_module *shim;
    struct stub_function functions[FUNCTIONS_MOST]; /* those asked for */
    int count;
    struct stub_module *next;
};

/* Those that are loaded: of a device that is lost none can be unloaded. */
static struct stub_module *modules;

struct stub_module *stub_module_load(const char *text)
{
    struct stub_module *module = calloc(1, sizeof *module);
    char reason[2048] = "";

    if (module && (module->shim = shim_load(text, reason, sizeof reason))) {
        module->next = modules;
        modules = module;
        return module;
    }
    fprintf(stderr, "the stub of libcuda cannot load a module: %s\n", reason);
    free(module);
    return NULL;
}

void stub_module_unload(struct stub_module *module)
{
    struct stub_module **at = &modules;

    while (*at != module)
        at = &(*at)->next;
    *at = module->next;
    shim_unload(module->shim);
    free(module);
}

struct stub_function *stub_module_function(struct stub_module *module, const char *name)
{
    int number = shim_find(module->shim, name);

    if (number < 0 || module->count == FUNCTIONS_MOST)
        return NULL;
    module->functions[module->count] = (struct stub_function){module, number};
    return &module->functions[module->count++];
}

bool stub_function_run(struct stub_function *function, unsigned blocks, unsigned threads, void **parameters)
{
    char reason[1024] = "";

    if (shim_launch(function->module->shim, function->number, blocks, threads, parameters, reason,
                    sizeof reason))
        return true;
    fprintf(stderr, "the stub of libcuda: a kernel failed: %s\n", reason);
    return false;
}

size_t stub_function_parameter(const struct stub_function *function)
{
    return shim_frame_size(function->module->shim);
}

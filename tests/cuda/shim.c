/*
 * shim.c: see shim.h. Compiling the text as C; memory. Threads are in shim_threads.c.
 */
#include "shim_private.h"

#include "../../jit/backend_tcc.h"
#include "../../jit/scalar_library.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LAUNCHES = 4096 };

struct shim_module {
    struct backend_code code;
    char **entries;
    int count;
};

/* ---- the text ------------------------------------------------------------------------ */

/* CUDA's words for C. */
static const char words[] =
    "#define __device__\n"
    "#define __restrict__\n"
    "#define __shared__ static\n"
    "#define __align__(bytes) __attribute__((aligned(bytes)))\n"
    "struct akg_shim_index {\n"
    "    unsigned int x, y, z;\n"
    "};\n"
    "static struct akg_shim_index *akg_shim_indices;\n"
    "#define threadIdx akg_shim_indices[0]\n"
    "#define blockIdx akg_shim_indices[1]\n"
    "#define blockDim akg_shim_indices[2]\n"
    "#define gridDim akg_shim_indices[3]\n"
    "#define AKG_LAUNCH(name, ...) static void name(const struct akg_frame *akg_words)\n"
    "#define AKG_FRAME akg_words\n"
    "void akg_shim_barrier(int line);\n"
    "#define __syncthreads() akg_shim_barrier(__LINE__)\n"
    "#define __threadfence()\n";

/* What stands behind the launches: a function that calls one of them. */
static void write_entry(struct text *out, const struct shim_module *module)
{
    text_string(out, "struct akg_shim_call {\n"
                     "    int number;\n"
                     "    void **parameters;\n"
                     "    struct akg_shim_index *indices;\n"
                     "};\n"
                     "int akg_shim_entry(const struct akg_shim_call *call)\n"
                     "{\n"
                     "    if (call->number < 0)\n"
                     "        return (int)sizeof(struct akg_frame);\n"
                     "    akg_shim_indices = call->indices;\n"
                     "    switch (call->number) {\n");
    for (int k = 0; k < module->count; k++)
        text_format(out,
                    "    case %d:\n"
                    "        %s(call->parameters[0]);\n"
                    "        break;\n",
                    k, module->entries[k]);
    text_string(out, "    }\n"
                     "    return 0;\n"
                     "}\n");
}

static bool defines(const char *text, const char *name)
{
    char pattern[80];
    snprintf(pattern, sizeof pattern, " %s(", name);
    const char *at = text;
    while ((at = strstr(at, pattern))) {
        const char *line = at;
        while (line > text && line[-1] != '\n')
            line--;
        if (strncmp(line, "__device__ static", 17) == 0)
            return true;
        at++;
    }
    return false;
}

/* The #endif of the #ifdef that the text begins with. */
static const char *end_of(const char *text)
{
    int depth = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        depth += strncmp(line, "#if", 3) == 0;
        depth -= strncmp(line, "#endif", 6) == 0;
        if (depth == 0)
            return line;
    }
    return text + strlen(text);
}

/* What the text leaves to the device is the library's: what it defines for __CUDACC__ only, and C's
 * functions. */
static void write_prototypes(struct text *out, const char *text)
{
    for (const struct scalar_library_row *row = scalar_library; row->name; row++) {
        const char *device = strstr(text, "#ifdef __CUDACC__\n__device__");
        bool only_device = false;
        for (; device && !only_device; device = strstr(device + 1, "#ifdef __CUDACC__\n__device__")) {
            const char *end = end_of(device);
            char *part = strndup(device, (size_t)(end - device));
            only_device = part && defines(part, row->name);
            free(part);
        }
        if (only_device || !defines(text, row->name))
            text_format(out, "%s\n", row->prototype);
    }
    for (const struct shim_symbol *row = shim_symbols; row->name; row++)
        text_format(out, "%s\n", row->prototype);
    for (const struct shim_symbol *row = shim_moves; row->name; row++)
        text_format(out, "%s\n", row->prototype);
}

static int add_symbols(struct backend_symbol *symbols, int count, const struct shim_symbol *row)
{
    for (; row->name && count < SHIM_SYMBOLS; row++)
        symbols[count++] = (struct backend_symbol){row->name, row->address};
    return count;
}

static bool find_entries(struct shim_module *module, const char *text)
{
    static const char mark[] = "\nAKG_LAUNCH(";
    module->entries = calloc(LAUNCHES, sizeof *module->entries);
    for (const char *at = text; module->entries && (at = strstr(at, mark)) && module->count < LAUNCHES;) {
        at += strlen(mark);
        module->entries[module->count++] = strndup(at, strcspn(at, ","));
    }
    return module->entries != NULL;
}

static bool compile(struct shim_module *module, const char *source, char *reason, size_t size)
{
    struct backend_symbol symbols[SHIM_SYMBOLS + 1] = {{NULL, NULL}};
    akg_diagnostics *diagnostics = diagnostics_create("shim", NULL, 0);
    char *message = NULL;
    add_symbols(symbols, add_symbols(symbols, 0, shim_symbols), shim_moves);
    bool good = diagnostics &&
                backend_tcc_compile(source, "akg_shim_entry", symbols, &module->code, diagnostics) == AKG_OK;
    /* shared memory is static in C, and lies with the code, which the library seals */
    if (good &&
        mprotect(module->code.pages.memory, module->code.pages.size, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        good = false;
    if (!good) {
        akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &message);
        snprintf(reason, size, "%s", message ? message : "out of memory");
        akg_free(message);
    }
    akg_diagnostics_free(diagnostics);
    return good;
}

struct shim_module *shim_load(const char *text, char *reason, size_t size)
{
    struct shim_module *module = calloc(1, sizeof *module);
    struct text source;
    text_init(&source);
    bool good = module && find_entries(module, text);
    if (good) {
        text_string(&source, words);
        write_prototypes(&source, text);
        text_string(&source, "#line 1\n");
        text_string(&source, text);
        write_entry(&source, module);
        good = !source.failed && compile(module, source.data, reason, size);
    }
    text_free(&source);
    if (good)
        return module;
    shim_unload(module);
    return NULL;
}

void shim_unload(struct shim_module *module)
{
    if (!module)
        return;
    backend_tcc_free(&module->code);
    for (int k = 0; k < module->count; k++)
        free(module->entries[k]);
    free(module->entries);
    free(module);
}

int shim_find(const struct shim_module *module, const char *entry)
{
    for (int k = 0; k < module->count; k++)
        if (strcmp(module->entries[k], entry) == 0)
            return k;
    return -1;
}

size_t shim_frame_size(const struct shim_module *module)
{
    struct shim_call call = {.number = -1};
    return (size_t)module->code.entry((const struct jit_frame *)(const void *)&call);
}

bool shim_launch(struct shim_module *module, int number, unsigned grid, unsigned block, void **parameters,
                 char *reason, size_t size)
{
    struct shim_call call = {.number = number,
                             .parameters = parameters,
                             .shared = module->code.pages.memory,
                             .shared_bytes = module->code.pages.size};
    return shim_run(module->code.entry, &call, grid, block, reason, size);
}

/* ---- memory ---------------------------------------------------------------------------- */

enum { PATTERN = 0xa5 };

/* Stands at the start of the page before the data's. */
struct shim_block {
    size_t bytes, pages; /* of the data, and of the pages that hold it */
    unsigned char *data;
};

void *shim_allocate(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t held = bytes < 16 ? 16 : bytes, pages = (held + page - 1) / page * page;
    char *memory = mmap(NULL, pages + 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    unsigned char *first = (unsigned char *)memory + 2 * page;
    struct shim_block *block = (struct shim_block *)memory;
    *block = (struct shim_block){bytes, pages, first + (pages - held) / 16 * 16};
    memset(first, PATTERN, pages);
    mprotect(memory + page, page, PROT_NONE);
    mprotect(first + pages, page, PROT_NONE);
    return block->data;
}

bool shim_release(void *memory)
{
    if (!memory)
        return true;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *data = memory, *at = data - (size_t)data % page;
    struct shim_block *block = (struct shim_block *)(at - 2 * page);
    bool good = true;
    /* the data begins in the first of its pages */
    if (block->data != data)
        return false;
    for (unsigned char *byte = at; byte < data; byte++)
        good &= *byte == PATTERN;
    for (unsigned char *byte = data + block->bytes; byte < at + block->pages; byte++)
        good &= *byte == PATTERN;
    munmap(block, block->pages + 3 * page);
    return good;
}

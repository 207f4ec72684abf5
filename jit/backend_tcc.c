/*
 * backend_tcc.c: runs libtcc on emitted C and keeps the machine code it makes.
 *
 * Consumes C text that declares all it uses; nothing of the process can be named in it but the functions of
 * scalar_library.c and what libtcc calls on its own. Produces pages that were written first and are then
 * read-execute. libtcc runs inside a session (backend_tcc_host.h), where it can neither exit nor print nor
 * leak.
 *
 * One compile runs at a time, under a lock: libtcc keeps its state in variables of the process. `broken`,
 * which the lock guards, is set when an assertion of libtcc failed: then they are in no known state, and
 * nothing is compiled any more.
 */
#include "backend_tcc.h"
#include "backend_tcc_host.h"
#include "scalar_library.h"
#include "../base/memory.h"

#include <libtcc.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool broken;

/* What one compile is about; not on the stack of the function that calls setjmp. */
struct job {
    const char *source, *entry;
    const struct backend_symbol *symbols;
    const bool *calls; /* or NULL */
    struct backend_code *code;
    struct code_image *image; /* or NULL */
    uint64_t marker;
    struct backend_symbol *all; /* in the order of their markers */
    struct code_place *places;
    int symbol_count, place_count, most_symbols;
    struct tcc_host_session session;
    size_t length; /* of messages, which is fixed: what follows may escape and must leave nothing behind */
    char messages[2000];
};

static void keep_message(void *opaque, const char *message)
{
    struct job *job = opaque;
    size_t room = sizeof job->messages - job->length;
    int written = snprintf(job->messages + job->length, room, "%s%s", job->length ? "; " : "", message);
    job->length += written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
}

/* ---- symbols ------------------------------------------------------------------------------- */

/*
 * What the source may call is given to libtcc not as an address but as a marker. libtcc calls through a table
 * of addresses at the end of the code, so the finished code shows which address belongs where, and can be
 * kept and moved. A marker is no address that the processor takes, and differs from compile to compile, so
 * that no number of a program can pass for one.
 */
enum { MARKER_BITS = 12 };

static uint64_t new_marker(const struct job *job)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t mixed = ((uint64_t)now.tv_nsec ^ (uintptr_t)job) * 0x9e3779b97f4a7c15u;
    return 0x5eed000000000000u | mixed >> 28 << MARKER_BITS;
}

static bool add_symbol(struct job *job, TCCState *state, const char *name, const void *address)
{
    if (job->symbol_count == job->most_symbols)
        return false;
    job->all[job->symbol_count] = (struct backend_symbol){name, address};
    uint64_t marker = job->marker + (uint64_t)job->symbol_count++;
    return tcc_add_symbol(state, name, (const void *)(uintptr_t)marker) >= 0;
}

/* libtcc's code for structs calls these, and our own for buffers that are cleared. */
static const struct backend_symbol memory_symbols[] = {{"memset", (const void *)memset},
                                                       {"memmove", (const void *)memmove},
                                                       {"memcpy", (const void *)memcpy},
                                                       {0}};

static bool add_symbols(struct job *job, TCCState *state)
{
    for (int row = 0; scalar_library[row].name; row++)
        if ((!job->calls || job->calls[row]) &&
            !add_symbol(job, state, scalar_library[row].name, scalar_library[row].address))
            return false;
    for (const struct backend_symbol *symbol = job->symbols; symbol && symbol->name; symbol++)
        if (!add_symbol(job, state, symbol->name, symbol->address))
            return false;
    for (const struct backend_symbol *symbol = memory_symbols; symbol->name; symbol++)
        if (!add_symbol(job, state, symbol->name, symbol->address))
            return false;
    return true;
}

/* The places of the markers in the code. False when it holds an address of its own, and so cannot be moved.
 */
static bool find_places(struct job *job)
{
    const unsigned char *code = job->code->pages.memory;
    size_t size = job->code->pages.size;
    bool movable = true;
    for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, code + at, sizeof word);
        movable &= word - (uintptr_t)code >= size;
        if (word - job->marker < (uint64_t)job->symbol_count && job->place_count < job->symbol_count)
            job->places[job->place_count++] =
                (struct code_place){(uint32_t)at, job->all[word - job->marker].name};
    }
    return movable;
}

/* Puts the addresses into their places, and keeps an image of the code without them. */
static void settle(struct job *job, size_t size, size_t entry)
{
    unsigned char *code = job->code->pages.memory;
    bool movable = find_places(job);
    if (job->image && movable)
        code_image_make(job->image, code, size, entry, job->places, job->place_count);
    for (int k = 0; k < job->place_count; k++) {
        uint64_t marker;
        memcpy(&marker, code + job->places[k].offset, sizeof marker);
        memcpy(code + job->places[k].offset, &job->all[marker - job->marker].address, sizeof(void *));
    }
}

/* ---- compiling ------------------------------------------------------------------------------ */

static TCCState *prepare(struct job *job)
{
    TCCState *state = tcc_new();
    if (!state)
        return NULL;
    tcc_set_error_func(state, job, keep_message);
    tcc_set_options(state, "-nostdlib -nostdinc -Wall -Werror");
    if (tcc_set_output_type(state, TCC_OUTPUT_MEMORY) < 0)
        return NULL;
    return add_symbols(job, state) ? state : NULL;
}

/* No tcc_delete: the session frees the state with all it holds, on every way out. */
static akg_status compile(struct job *job)
{
    struct backend_code *code = job->code;
    TCCState *state = prepare(job);
    if (!state || tcc_compile_string(state, job->source) < 0)
        return AKG_ERROR_INTERNAL;
    int size = tcc_relocate(state, NULL);
    if (size <= 0)
        return AKG_ERROR_INTERNAL;
    if (!code_pages_map(&code->pages, (size_t)size))
        return AKG_ERROR_MEMORY;
    if (tcc_relocate(state, code->pages.memory) < 0)
        return AKG_ERROR_INTERNAL;
    void *entry = tcc_get_symbol(state, job->entry);
    if (!entry)
        return AKG_ERROR_INTERNAL;
    settle(job, (size_t)size, (size_t)((char *)entry - (char *)code->pages.memory));
    memcpy(&code->entry, &entry, sizeof entry);
    return code_pages_seal(&code->pages) ? AKG_OK : AKG_ERROR_MEMORY;
}

/* A session around the compile. Numbers are read in the "C" locale whatever this thread's is. */
static akg_status compile_in_session(struct job *job)
{
    enum { ENOUGH = 3 * 1024 * 1024 }; /* of which libtcc touches a tenth for a small kernel */
    if (broken) {
        keep_message(job, "an assertion of libtcc failed in an earlier compile");
        return AKG_ERROR_INTERNAL;
    }
    locale_t plain = newlocale(LC_ALL_MASK, "C", NULL);
    if (!plain)
        return AKG_ERROR_MEMORY;
    locale_t before = uselocale(plain);
    volatile akg_status status = AKG_ERROR_MEMORY;
    if (tcc_host_begin(&job->session, ENOUGH + strlen(job->source))) {
        int left = setjmp(job->session.escape);
        status = left ? AKG_ERROR_INTERNAL : compile(job);
        broken = left == tcc_host_broke;
        if (job->session.out_of_memory)
            status = AKG_ERROR_MEMORY;
    }
    tcc_host_end();
    uselocale(before);
    freelocale(plain);
    return status;
}

/* Room for all symbols, and for a place for each. */
static bool make_room(struct job *job)
{
    int count = (int)(sizeof memory_symbols / sizeof *memory_symbols) + scalar_library_count();
    for (const struct backend_symbol *symbol = job->symbols; symbol && symbol->name; symbol++)
        count++;
    job->most_symbols = count < 1 << MARKER_BITS ? count : 1 << MARKER_BITS;
    job->all = memory_zeroed((size_t)count, sizeof *job->all);
    job->places = memory_zeroed((size_t)count, sizeof *job->places);
    return job->all && job->places;
}

akg_status backend_tcc_compile_image(const char *source, const char *entry,
                                     const struct backend_symbol *symbols, const bool *calls,
                                     struct backend_code *code, struct code_image *image,
                                     akg_diagnostics *diagnostics)
{
    struct job job = {
        .source = source, .entry = entry, .symbols = symbols, .calls = calls, .code = code, .image = image};
    akg_status status = AKG_ERROR_MEMORY;

    *code = (struct backend_code){.entry = NULL};
    if (image)
        *image = (struct code_image){.bytes = NULL};
    job.marker = new_marker(&job);
    if (make_room(&job)) {
        pthread_mutex_lock(&lock);
        status = compile_in_session(&job);
        pthread_mutex_unlock(&lock);
    }
    memory_free(job.all);
    memory_free(job.places);
    if (status != AKG_OK)
        backend_tcc_free(code);
    if (status == AKG_ERROR_INTERNAL)
        diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0, 0, 0, 0},
                       job.length ? job.messages : "libtcc failed without a message");
    return status;
}

akg_status backend_tcc_compile(const char *source, const char *entry, const struct backend_symbol *symbols,
                               struct backend_code *code, akg_diagnostics *diagnostics)
{
    return backend_tcc_compile_image(source, entry, symbols, NULL, code, NULL, diagnostics);
}

static const void *find_symbol(const void *context, const char *name)
{
    const struct backend_symbol *symbols = context;
    for (const struct backend_symbol *symbol = symbols; symbol && symbol->name; symbol++)
        if (strcmp(symbol->name, name) == 0)
            return symbol->address;
    for (const struct backend_symbol *symbol = memory_symbols; symbol->name; symbol++)
        if (strcmp(symbol->name, name) == 0)
            return symbol->address;
    for (const struct scalar_library_row *row = scalar_library; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row->address;
    return NULL;
}

bool backend_tcc_load(const void *bytes, size_t size, const struct backend_symbol *symbols,
                      struct backend_code *code)
{
    *code = (struct backend_code){.entry = NULL};
    return code_image_load(bytes, size, find_symbol, symbols, &code->pages, &code->entry);
}

void backend_tcc_free(struct backend_code *code)
{
    code_pages_free(&code->pages);
    code_pages_free(&code->vectors);
    code->entry = NULL;
}

/*
 * backend_tcc.c: runs libtcc on emitted C and keeps the machine code it makes.
 *
 * Consumes C text that declares all it uses; nothing of the process can be named in it but the functions of
 * scalar_library.c and what libtcc calls on its own. Produces pages that were written first and are then
 * read-execute. libtcc runs inside a session (backend_tcc_host.h), where it can neither exit nor print nor
 * leak.
 *
 * The lock is the library's only one of its own: libtcc keeps its state in variables of the process.
 * `broken`, which it guards, is set when an assertion of libtcc failed: then they are in no known state, and
 * nothing is compiled any more.
 */
#include "backend_tcc.h"
#include "backend_tcc_host.h"
#include "scalar_library.h"

#include <libtcc.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool broken;

/* What one compile is about; not on the stack of the function that calls setjmp. */
struct job {
    const char *source, *entry;
    const struct backend_symbol *symbols;
    struct backend_code *code;
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

static TCCState *prepare(struct job *job)
{
    TCCState *state = tcc_new();
    if (!state)
        return NULL;
    tcc_set_error_func(state, job, keep_message);
    tcc_set_options(state, "-nostdlib -nostdinc -Wall -Werror");
    if (tcc_set_output_type(state, TCC_OUTPUT_MEMORY) < 0)
        return NULL;
    for (const struct scalar_library_row *row = scalar_library; row->name; row++)
        if (tcc_add_symbol(state, row->name, row->address) < 0)
            return NULL;
    for (const struct backend_symbol *symbol = job->symbols; symbol && symbol->name; symbol++)
        if (tcc_add_symbol(state, symbol->name, symbol->address) < 0)
            return NULL;
    /* called by libtcc's code for structs and by our own for buffers that are cleared */
    if (tcc_add_symbol(state, "memset", (void *)memset) < 0 ||
        tcc_add_symbol(state, "memmove", (void *)memmove) < 0 ||
        tcc_add_symbol(state, "memcpy", (void *)memcpy) < 0)
        return NULL;
    return state;
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

akg_status backend_tcc_compile(const char *source, const char *entry, const struct backend_symbol *symbols,
                               struct backend_code *code, akg_diagnostics *diagnostics)
{
    struct job job = {.source = source, .entry = entry, .symbols = symbols, .code = code};

    *code = (struct backend_code){.entry = NULL};
    pthread_mutex_lock(&lock);
    akg_status status = compile_in_session(&job);
    pthread_mutex_unlock(&lock);
    if (status != AKG_OK)
        backend_tcc_free(code);
    if (status == AKG_ERROR_INTERNAL)
        diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0, 0, 0, 0},
                       job.length ? job.messages : "libtcc failed without a message");
    return status;
}

void backend_tcc_free(struct backend_code *code)
{
    code_pages_free(&code->pages);
    code_pages_free(&code->vectors);
    code->entry = NULL;
}

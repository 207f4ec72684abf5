/*
 * backend_tcc_host.c: what libtcc is linked to instead of the C library's functions.
 *
 * Consumes calls from libtcc's object, whose symbols the build renamed (libtcc_symbols.txt). Memory comes
 * from the chunks of the session, so that leaving libtcc in the middle leaks nothing; what it frees is reused
 * only when it was the last piece. exit and assert leave by longjmp to the session. Nothing is printed. Pages
 * stay writable and not executable; the backend makes them executable when they are complete. Locking is the
 * backend's, so libtcc's semaphore does nothing (an abandoned compile cannot leave it locked).
 *
 * The one variable, the current session, is guarded by the backend's lock.
 */
#include "backend_tcc_host.h"
#include "../base/memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

struct tcc_host_chunk {
    struct tcc_host_chunk *below;
    alignas(max_align_t) char data[];
};

/* Before every piece. */
struct piece {
    alignas(max_align_t) size_t size;
};

static struct tcc_host_session *current;

static bool add_chunk(struct tcc_host_session *session, size_t size)
{
    struct tcc_host_chunk *chunk = memory_allocate(sizeof *chunk + size);
    if (!chunk)
        return false;
    chunk->below = session->chunks;
    session->chunks = chunk;
    session->next = chunk->data;
    session->end = chunk->data + size;
    return true;
}

bool tcc_host_begin(struct tcc_host_session *session, size_t size)
{
    session->chunks = NULL;
    session->next = session->end = NULL;
    session->out_of_memory = false;
    current = session;
    return add_chunk(session, size);
}

void tcc_host_end(void)
{
    for (struct tcc_host_chunk *chunk = current->chunks; chunk;) {
        struct tcc_host_chunk *below = chunk->below;
        memory_free(chunk);
        chunk = below;
    }
    current = NULL;
}

/* ---- memory ------------------------------------------------------------------ */

void *akg_tcc_malloc(size_t size);
void *akg_tcc_calloc(size_t count, size_t size);
void *akg_tcc_realloc(void *old, size_t size);
void akg_tcc_free(void *memory);

static struct piece *piece_of(void *memory)
{
    return (struct piece *)memory - 1;
}

static bool is_last(void *memory)
{
    return (char *)memory + piece_of(memory)->size == current->next;
}

void *akg_tcc_malloc(size_t size)
{
    enum { CHUNK = 1024 * 1024 };
    if (size > PTRDIFF_MAX / 2)
        return NULL;
    size = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    size_t whole = size + sizeof(struct piece);
    if (whole > (size_t)(current->end - current->next) &&
        !add_chunk(current, whole > CHUNK ? whole : CHUNK)) {
        current->out_of_memory = true;
        return NULL;
    }
    struct piece *piece = (struct piece *)current->next;
    current->next += whole;
    piece->size = size;
    return piece + 1;
}

void *akg_tcc_calloc(size_t count, size_t size)
{
    if (size && count > PTRDIFF_MAX / size)
        return NULL;
    void *memory = akg_tcc_malloc(count * size);
    if (memory)
        memset(memory, 0, count * size);
    return memory;
}

void *akg_tcc_realloc(void *old, size_t size)
{
    if (!old)
        return akg_tcc_malloc(size);
    size_t before = piece_of(old)->size;
    if (size <= before)
        return old;
    if (is_last(old) && size <= (size_t)(current->end - (char *)old)) {
        current->next = old;
        current->next -= sizeof(struct piece);
        return akg_tcc_malloc(size);
    }
    void *moved = akg_tcc_malloc(size);
    if (moved) {
        memcpy(moved, old, before);
        akg_tcc_free(old);
    }
    return moved;
}

void akg_tcc_free(void *memory)
{
    if (memory && is_last(memory))
        current->next = (char *)piece_of(memory);
}

/* ---- leaving ------------------------------------------------------------------- */

_Noreturn void akg_tcc_exit(int status);
_Noreturn void akg_tcc_assert_fail(const char *assertion, const char *file, unsigned line,
                                   const char *function);

/* libtcc calls exit outside of a compile only (in one, it unwinds by itself): its variables are in order. */
_Noreturn void akg_tcc_exit(int status)
{
    (void)status;
    longjmp(current->escape, tcc_host_gave_up);
}

_Noreturn void akg_tcc_assert_fail(const char *assertion, const char *file, unsigned line,
                                   const char *function)
{
    (void)assertion, (void)file, (void)line, (void)function;
    longjmp(current->escape, tcc_host_broke);
}

/* ---- what succeeds without doing anything ----------------------------------------- */

int akg_tcc_mprotect(void *address, size_t size, int protection);
int akg_tcc_sem_init(void *semaphore, int shared, unsigned value);
int akg_tcc_sem_wait(void *semaphore);
int akg_tcc_sem_post(void *semaphore);
int akg_tcc_fprintf(void *file, ...);
int akg_tcc_printf(int flag, ...);
int akg_tcc_puts(const char *string);
int akg_tcc_putchar(int character);
int akg_tcc_fputs(const char *string, void *file);
int akg_tcc_fputc(int character, void *file);
size_t akg_tcc_fwrite(const void *data, size_t size, size_t count, void *file);
int akg_tcc_fflush(void *file);

int akg_tcc_mprotect(void *address, size_t size, int protection)
{
    (void)address, (void)size, (void)protection;
    return 0;
}

int akg_tcc_sem_init(void *semaphore, int shared, unsigned value)
{
    (void)semaphore, (void)shared, (void)value;
    return 0;
}

int akg_tcc_sem_wait(void *semaphore)
{
    (void)semaphore;
    return 0;
}

int akg_tcc_sem_post(void *semaphore)
{
    (void)semaphore;
    return 0;
}

int akg_tcc_fprintf(void *file, ...)
{
    (void)file;
    return 0;
}

int akg_tcc_printf(int flag, ...)
{
    (void)flag;
    return 0;
}

int akg_tcc_puts(const char *string)
{
    (void)string;
    return 0;
}

int akg_tcc_putchar(int character)
{
    return character;
}

int akg_tcc_fputs(const char *string, void *file)
{
    (void)string, (void)file;
    return 0;
}

int akg_tcc_fputc(int character, void *file)
{
    (void)file;
    return character;
}

size_t akg_tcc_fwrite(const void *data, size_t size, size_t count, void *file)
{
    (void)data, (void)size, (void)file;
    return count;
}

int akg_tcc_fflush(void *file)
{
    (void)file;
    return 0;
}

/* ---- what takes time and is of no use -------------------------------------------------- */

size_t akg_tcc_strlen(const char *string);

/* Before each text libtcc puts one of its own, of some 3 KB, with macros for lists of arguments and
 * declarations of memcpy and its like, which it copies by its length; to read it takes as long as to read the
 * glue of a kernel. Emitted C has neither, nor does it begin with what that text begins with. Where another
 * libtcc has another one, it is read. */
size_t akg_tcc_strlen(const char *string)
{
    static const char beginning[] = "typedef struct{\nunsigned gp_offset";
    size_t length = strlen(string);
    return length > sizeof beginning && memcmp(string, beginning, sizeof beginning - 1) == 0 ? 0 : length;
}

/* References to data that libtcc's code, compiled for executables, could not make into a shared library. None
 * is used: files are never written to, and programs never run. */
#define HIDDEN __attribute__((visibility("hidden")))
extern void *const akg_tcc_stdin HIDDEN, *const akg_tcc_stdout HIDDEN, *const akg_tcc_stderr HIDDEN;
extern char **const akg_tcc_environ HIDDEN;
void *const akg_tcc_stdin = NULL, *const akg_tcc_stdout = NULL, *const akg_tcc_stderr = NULL;
char **const akg_tcc_environ = NULL;

/*
 * backend_tcc_host.h: the process as libtcc sees it.
 *
 * libtcc is written for a program: it calls exit when it gives up, prints, makes pages writable and
 * executable, and takes memory that nobody gets back then. The build renames those symbols in
 * libtcc's object (libtcc_symbols.txt lists them, for `objcopy --redefine-syms`) to the functions of
 * backend_tcc_host.c, which let it do so only inside a session.
 */
#ifndef JIT_BACKEND_TCC_HOST_H
#define JIT_BACKEND_TCC_HOST_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

struct tcc_host_chunk;

/* One use of libtcc, from tcc_new to tcc_delete. Everything it allocates lives here and is freed as one. */
struct tcc_host_session {
    struct tcc_host_chunk *chunks;
    char *next, *end;
    bool out_of_memory; /* an allocation failed */
    jmp_buf escape;     /* where to go instead of exit: tcc_host_gave_up, or tcc_host_broke when libtcc's own
                           variables are in no known state */
};

enum { tcc_host_gave_up = 1, tcc_host_broke = 2 };

/* One session at a time in the process: callers hold a lock. `size`: bytes that are had at once, so that
 * libtcc does not fail early (it cannot cope with that). False when they are not there. */
bool tcc_host_begin(struct tcc_host_session *session, size_t size);
void tcc_host_end(void);

#endif

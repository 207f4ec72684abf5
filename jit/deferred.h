/*
 * deferred.h: branches of a kernel, and kernels, whose code is made when it is first reached.
 *
 * Passes make some branches for large extents only (ir_stmt.deferred). They are most of the machine code of a
 * product of matrices, and of the time to make it, and many a program never comes there. So they become
 * kernels of their own, with the buffers, dims and sites of the kernel that they are part of; its code calls
 * them through the frame. So does code for some extents alone (exact.h) the kernel for all.
 */
#ifndef JIT_DEFERRED_H
#define JIT_DEFERRED_H

#include "backend_tcc.h"
#include "disk_cache.h"
#include "vector.h"

#include <pthread.h>
#include <stdatomic.h>

struct deferred_branch {
    struct ir_kernel kernel; /* its body: the branch's */
    bool is_whole; /* the kernel itself: it leaves branches out, too, which are among these; and where it
                      cannot become code, the interpreter does the same */
    struct backend_code code;
    _Atomic(jit_entry) entry; /* NULL: there is no code yet */
};

/* Of one kernel. */
struct deferred {
    int count;
    struct deferred_branch *branches; /* by their numbers; in the kernel's arena */
    struct vector_options vectors;
    const struct disk_cache *cache;
    pthread_mutex_t lock; /* held while code is made */
    bool failed;          /* it cannot be made, which memory has nothing to do with: nothing more is tried */
    atomic_llong time;    /* spent on it, in nanoseconds */
};

/* The number of the statement among the kernel's branches that may be kernels of their own: deferred, at the
 * top of the body, where they need nothing that is declared outside; -1: it is none of them. */
int deferred_number(const struct ir_kernel *kernel, const struct ir_stmt *stmt);

/* Finds the branches of a kernel with sites and slots; what is in its arena may escape. The cache may be
 * NULL, and lives as long. With code for some extents alone (exact.h, else NULL) its branches follow, and
 * then the kernel itself: *first is the number of the former's first one. */
void deferred_init(struct deferred *deferred, struct ir_kernel *kernel, struct ir_kernel *exact, int *first,
                   const struct vector_options *vectors, const struct disk_cache *cache);
/* Also of one that is all zero. */
void deferred_free(struct deferred *deferred);

/* Runs a branch: jit_frame.reach. Any thread may call it; the first one makes the code. */
int deferred_reach(const struct jit_frame *frame, int number);

#endif

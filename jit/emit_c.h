/*
 * emit_c.h: a verified, site-numbered kernel as one self-contained C translation unit (no #include).
 */
#ifndef JIT_EMIT_C_H
#define JIT_EMIT_C_H

#include "../ir/ir.h"

struct vector_plan;

struct emit_c_options {
    const char *entry;  /* name of the function to define: int entry(const struct akg_frame *) */
    bool trust_indices; /* leave per-element index checks out */
    bool compact;       /* for a compiler: no indentation, no comments with lines of the source */
    bool defers;        /* deferred branches (deferred.h) are reached through the frame */
    int first_branch;   /* the number of the first of them there */
    const struct exact_shape *shape; /* the kernel is for these extents alone (exact.h); NULL: for all */
    bool hosted;   /* for a C compiler of the system, as a shared object: see emit_c_hosted.c */
    bool apart;    /* hosted: C is told that no two buffers share memory (lives.h) */
    bool reorders; /* hosted: and that sums and products of loops may be in any order */
    const struct vector_plan *plan; /* loops to be called as functions; NULL: all is C */
    bool *
        calls; /* set where the text calls that row of scalar_library, as many as it has; NULL: nobody asks */
};

/* Hosted text defines void EMIT_C_BIND(const void *const *table), to be called first with the addresses of
 * all functions of the library, in the order of scalar_library, and then of the vector loops of the plan. */
#define EMIT_C_BIND "akg_bind"

/* Appends the text. False, with an explanation in `complaint`, for a kernel nested too deeply for libtcc.
 * When memory runs out, `out` is marked failed, as texts are. Writes nothing into the kernel, which needs its
 * sites and slots (sites_number). */
bool emit_c(struct text *out, const struct ir_kernel *kernel, const struct emit_c_options *options,
            struct text *complaint);

/* Whether C, or text emitted here, has a meaning for that name; and whether it can be an identifier at all.
 */
bool emit_c_is_reserved(const char *name);
bool emit_c_is_word(const char *name);

#endif

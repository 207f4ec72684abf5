/*
 * pipeline.h: the stages in order, from text to machine code. Reading pipeline.c is reading the architecture.
 */
#ifndef JIT_PIPELINE_H
#define JIT_PIPELINE_H

#include "exact.h"
#include "module.h"
#include "passes.h"

/* text -> tree with its names bound. NULL when the source is refused as a whole. */
struct ast_module *pipeline_read(struct arena *arena, const struct dsl_source *source,
                                 akg_diagnostics *diagnostics);

/* The value of an operation on constants, or NULL where it has none. */
struct ir_expr *pipeline_evaluate(struct ir_kernel *kernel, const struct ir_expr *expr);

/* function + arguments -> analysed kernel, in result->kernel (NULL: errors, or result->retry). */
void pipeline_specialise(struct arena *arena, const struct ast_module *tree,
                         const struct ast_function *function, const struct dsl_argument *arguments,
                         bool general, struct elaborate_result *result, akg_diagnostics *diagnostics);

/* analysed kernel -> the same, better for generating code, in place. `wanted` may be NULL. False: it is
 * broken, which is told. */
bool pipeline_optimise(struct ir_kernel *kernel, const struct passes_options *wanted,
                       akg_diagnostics *diagnostics);

/* What the code of a kernel is for, and what it leaves out. */
struct pipeline_form {
    bool defers; /* its deferred branches (deferred.h), which calls then find through their frames */
    int first;   /* the number of the first of them there */
    const struct exact_shape *shape; /* it is for these extents alone; NULL: for all */
};

/* What a kernel's first code is made of. */
struct pipeline_first {
    struct ir_kernel *kernel; /* the kernel, or one for some extents alone (exact.h) */
    struct pipeline_form form;
    struct exact_shape shape;
};

/* optimised kernel with its sites -> what its first code is made of, and what that leaves out. `extents`: of
 * the first call (exact_extents); NULL: the code is for all. Sites come behind those that there are. False as
 * above; what is in the kernel's arena may escape. */
bool pipeline_prepare(struct ir_kernel *kernel, const int64_t *extents, const struct passes_options *wanted,
                      const struct vector_options *vectors, const struct disk_cache *cache,
                      struct jit_sites *sites, struct deferred *deferred, struct pipeline_first *first,
                      akg_diagnostics *diagnostics);

/* analysed kernel -> machine code, kept in the cache on disk or taken from there (NULL: neither). It holds
 * memory while messages are added: `diagnostics` must have no escape. */
akg_status pipeline_generate(struct ir_kernel *kernel, const struct vector_options *vectors,
                             const struct disk_cache *cache, const struct pipeline_form *form,
                             struct backend_code *code, akg_diagnostics *diagnostics);
/* The key under which that keeps it; *key is for text_free, whatever the status. */
akg_status pipeline_key(struct ir_kernel *kernel, const struct vector_options *vectors,
                        const struct pipeline_form *form, struct text *key, akg_diagnostics *diagnostics);

#endif

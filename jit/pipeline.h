/*
 * pipeline.h: the stages in order, from text to machine code. Reading pipeline.c is reading the architecture.
 */
#ifndef JIT_PIPELINE_H
#define JIT_PIPELINE_H

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

/* analysed kernel -> machine code, kept in the cache on disk or taken from there (NULL: neither). It holds
 * memory while messages are added: `diagnostics` must have no escape. `defers`: but for its deferred branches
 * (deferred.h), which calls then find through their frames. */
akg_status pipeline_generate(struct ir_kernel *kernel, const struct vector_options *vectors,
                             const struct disk_cache *cache, bool defers, struct backend_code *code,
                             akg_diagnostics *diagnostics);
/* The key under which that, with deferred branches, keeps it; *key is for text_free, whatever the status. */
akg_status pipeline_key(struct ir_kernel *kernel, const struct vector_options *vectors, struct text *key,
                        akg_diagnostics *diagnostics);

#endif

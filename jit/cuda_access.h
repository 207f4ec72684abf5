/*
 * cuda_access.h: what the body of a chain of loops does in every iteration, for those who move elements of
 * several iterations together.
 *
 * Consumes the body of a chain (cuda_plan.h). Loads and stores are spoken of that each iteration does,
 * whatever the data, so that they can be done before the body, or behind it.
 */
#ifndef JIT_CUDA_ACCESS_H
#define JIT_CUDA_ACCESS_H

#include "../ir/ir.h"

/* No loops, no temporaries, nothing that leaves it. */
bool cuda_body_is_flat(const struct ir_stmt *body);
/* And nothing that may stop. */
bool cuda_body_is_plain(const struct ir_stmt *body);
/* Whether the value hangs on nothing that the body declares, assigns or loads. */
bool cuda_is_known_before(const struct ir_stmt *body, const struct ir_expr *expr);
/* The same, but that it may load what the body does not store. */
bool cuda_can_be_known_before(const struct ir_stmt *body, const struct ir_expr *expr);
/* Whether the indices of an access hang on nothing that the body declares, assigns or loads. */
bool cuda_place_is_known_before(const struct ir_stmt *body, const struct ir_access *access);
/* Visits the loads that are always done, in statements of the body itself. */
void cuda_visit_loads(const struct ir_stmt *body, void (*visit)(const struct ir_expr *load, void *context),
                      void *context);

struct cuda_uses {
    int loads, stores;
};
/* How often a tensor stands in the body. */
struct cuda_uses cuda_uses_of(const struct ir_stmt *body, const struct ir_buffer *buffer);

#endif

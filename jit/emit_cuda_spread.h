/*
 * emit_cuda_spread.h: what the two ways through a phase of a spread nest share.
 *
 * A thread has one outer iteration (emit_cuda_spread.c), or a piece of several neighbours
 * (emit_cuda_columns.c).
 */
#ifndef JIT_EMIT_CUDA_SPREAD_H
#define JIT_EMIT_CUDA_SPREAD_H

#include "cuda_quads.h"
#include "cuda_spread.h"
#include "emit_cuda_private.h"

struct spread {
    const struct cuda_spread *found;
    const struct cuda_spread_phase *phase;
    int number; /* of the phase */
    struct cuda_sums sums;
};

/* The part of a sum of the split at hand, and a scalar that phases hand on, of the outer iteration
 * `number_`. */
const char *emit_cuda_spread_part(struct cuda_emitter *cuda, int sum, const char *split, akg_dtype dtype);
const char *emit_cuda_spread_live(struct cuda_emitter *cuda, const struct spread *spread, int number);
/* Whether the statement that declares the symbol stands in the block before another one. */
bool emit_cuda_spread_declares(const struct ir_stmt *first, const struct ir_stmt *end,
                               const struct ir_symbol *symbol);

/* ---- emit_cuda_columns.c ----------------------------------------------------------------- */

/* The phase's nest as if its loops stood the other way round: the innermost one is the fastest outer one. */
struct columns {
    struct ir_stmt innermost; /* a copy of that one, around the phase's body */
    struct cuda_chain chain;
    struct cuda_quads pieces;
};

/* Whether threads may take pieces; and when tensors lie well for that, as a text. `columns` stays where it
 * is. */
bool emit_cuda_columns_of(struct cuda_emitter *cuda, const struct spread *spread, struct columns *columns);
const char *emit_cuda_columns_well(struct cuda_emitter *cuda, const struct columns *columns,
                                   const struct cuda_loop_texts *outer);
/* What a thread does of split `split_`, with the piece `lane_`. */
void emit_cuda_columns(struct cuda_emitter *cuda, const struct spread *spread, const struct columns *columns,
                       const struct cuda_loop_texts *outer);

#endif

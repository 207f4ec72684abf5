/*
 * emit_cuda_quads.h: what the loops over pieces (emit_cuda_quads.c) ask of what is done with one of them
 * (emit_cuda_quads_piece.c).
 */
#ifndef JIT_EMIT_CUDA_QUADS_H
#define JIT_EMIT_CUDA_QUADS_H

#include "cuda_quads.h"
#include "emit_cuda_private.h"

struct quads {
    struct cuda_emitter *cuda;
    struct cuda_quads found;
    const char *turn; /* behind the names of what was loaded, where a thread has several pieces; "" */
};

/* That all tensors lie well, as a text behind what was said before. */
const char *emit_quads_conditions(struct quads *quads, const char *all);
/* The value of the loop's variable in the first piece, were it not cut. */
int64_t emit_quads_first(const struct quads *quads);
/* That the piece which begins there has all its iterations. */
const char *emit_quads_whole(struct quads *quads, const char *first, const char *trips);
/* How many elements of a window a piece needs. */
int emit_quads_window_length(const struct cuda_window *window, int length);

/* The loads of the piece which begins at `first`, or `only` those of what is kept, where they begin. */
void emit_quads_take(struct quads *quads, const char *first, bool only);
/* Its iterations, with what was loaded, and its stores. */
void emit_quads_do(struct quads *quads, const char *first);
/* The iterations of a piece that is cut, one by one. */
void emit_quads_cut(struct quads *quads, const struct cuda_loop_texts *texts, const char *first);
/* Whether pieces that are cut can be loaded whole for all that: they lie in rows of whole pieces, and nothing
 * is stored. */
bool emit_quads_can_load_cut(const struct quads *quads);
/* The iterations that there are of a piece that was loaded. */
void emit_quads_loaded_cut(struct quads *quads, const char *first, const char *trips);
/* Closes so many blocks. */
void emit_quads_close(struct quads *quads, int count);

#endif

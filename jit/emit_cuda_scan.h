/*
 * emit_cuda_scan.h: what the files that emit scans (cuda_scan.h) share and nobody else includes.
 */
#ifndef JIT_EMIT_CUDA_SCAN_H
#define JIT_EMIT_CUDA_SCAN_H

#include "cuda_scan.h"
#include "emit_cuda_private.h"

enum {
    CUDA_SCAN_GROUP = 256, /* tiles; a thread of each waits for one */
    CUDA_SCAN_TURNS = 4,   /* pieces of four that a thread has of a tile */
    CUDA_SCAN_TILE = CUDA_THREADS * CUDA_SCAN_TURNS * CUDA_QUAD /* iterations that a block takes at a time */
};

struct scan {
    struct cuda_emitter *cuda;
    const struct cuda_chain *chain;
    struct cuda_scan found;
    struct cuda_loop_texts texts[CUDA_CHAIN];
    const char *number, *end; /* of the iteration, and of the first that is not the block's */
    const char *turn; /* behind the name of what a thread's own iterations do, where these are several; "" */
    bool by_pieces;   /* tensors may lie so that pieces can be moved */
    struct cuda_quads pieces;
};

/* Declares the bounds of the loop, and whether tensors lie well. */
void emit_scan_begin(struct scan *scan, struct cuda_emitter *cuda, const struct cuda_chain *chain);
/* "s_own_" */
const char *emit_scan_name(const struct scan *scan, int number, const char *part);
/* "k_base_" */
const char *emit_scan_loop_name(const struct scan *scan, const char *part);
const struct ir_symbol *emit_scan_symbol(const struct scan *scan, int number);
/* The type of what iterations do to the scalar, the ending of the names of functions for it, and what does
 * nothing. */
const char *emit_scan_type(const struct scan *scan, int number);
const char *emit_scan_ending(const struct scan *scan, int number);
const char *emit_scan_neutral(const struct scan *scan, int number);
/* The assignments of the block, with the LETs that they need and the conditions around them. */
void emit_scan_changes(const struct scan *scan, const struct ir_stmt *block);
/* The scalars as they are get names; and become what was before, and a part of what iterations do. */
void emit_scan_from(const struct scan *scan);
void emit_scan_combination(const struct scan *scan, int number, const char *part);
/* Declares "s_own_" and "s_before_", which do nothing; what the threads' own come to is "s_all_". */
void emit_scan_declare(const struct scan *scan);
void emit_scan_exchange(const struct scan *scan);
/* Iterations from one to before the end by the block, of which each thread has one at a time: what all do,
 * which goes into "s_part_"; and then the iterations. */
void emit_scan_declare_part(const struct scan *scan);
void emit_scan_part(const struct scan *scan, const char *begin);
void emit_scan_stretch(const struct scan *scan, const char *begin);
/* By whether tensors lie well. */
void emit_scan_choose(const struct scan *scan);
void emit_scan_otherwise(const struct scan *scan);
void emit_scan_close(const struct scan *scan);

/* ---- emit_cuda_scan_pieces.c ---------------------------------------------------------------- */

/* How much earlier than the first iteration the first piece begins; the number of tiles as a text. */
int emit_scan_early(const struct scan *scan);
const char *emit_scan_tiles(const struct scan *scan);
/* A tile, by its number as a text: loads it, and says what its iterations do, "s_part_" and for each piece
 * "s_before_"; then goes through the iterations, from the scalars as they are. */
void emit_scan_declare_pieces(const struct scan *scan);
void emit_scan_load(struct scan *scan, const char *tile);
void emit_scan_pieces(struct scan *scan, const char *tile);

#endif

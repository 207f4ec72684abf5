/*
 * emit_cuda_pairs.h: arithmetic of halves two at a time, in pieces of a loop (emit_cuda_pairs.c).
 */
#ifndef JIT_EMIT_CUDA_PAIRS_H
#define JIT_EMIT_CUDA_PAIRS_H

#include "emit_cuda_private.h"

enum { CUDA_PAIRS = 64 /* words with two halves, at most */ };

struct cuda_pair {
    const struct ir_expr *expr;
    const char *name;
};

struct cuda_pairs {
    struct cuda_emitter *cuda;
    const struct ir_stmt *body;
    const struct ir_symbol *variable;             /* of the loop */
    const struct ir_expr *roots[CUDA_PAIR_ROOTS]; /* what statements find in words */
    const struct ir_stmt *lets[CUDA_PAIR_ROOTS];  /* LETs that are such */
    struct cuda_pair items[CUDA_PAIRS];           /* that are declared */
    int root_count, let_count, count, nodes;
};

/* Where the text has the word first, which is no part of a longer one; NULL: nowhere. */
const char *emit_cuda_word(const char *text, const char *word);
/* What can be computed for two iterations in one word; false: nothing. Loads are substituted by then. */
bool emit_cuda_pairs_find(struct cuda_emitter *cuda, const struct ir_stmt *body,
                          const struct ir_symbol *variable, struct cuda_pairs *pairs);
/* Declares the words, of the iterations `two_` and the next, and substitutes what is found in them by the
 * half number `half_`. */
void emit_cuda_pairs(struct cuda_pairs *pairs);

#endif

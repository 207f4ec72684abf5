/*
 * cuda_row.h: elements that the threads of a block keep in registers from one loop to the next.
 *
 * Consumes statements that a team goes through (cuda_plan.h). Loops that the team shares, and that have the
 * same iterations, give each thread the same ones: what an iteration of one of them loads or stores, and that
 * of a later one loads, the thread has already. Whether it is the same element goes by the indices, and
 * whether it has the same value by all stores in between.
 */
#ifndef JIT_CUDA_ROW_H
#define JIT_CUDA_ROW_H

#include "cuda_plan.h"

enum {
    CUDA_ROW_LOOPS = 8,
    CUDA_ROW_KEPT = 4,  /* elements of an iteration */
    CUDA_ROW_PIECE = 4, /* iterations that a thread may take at a time */
    /* Of 32 bits, what a thread keeps: there are to be four blocks on a processor. The threads of a squad
     * keep twice as much, so that a row of 1024 is kept whole, and so do those of long rows. */
    CUDA_ROW_WORDS = 16,
    CUDA_ROW_CLASSES = 10 /* of rows, at most */
};

struct cuda_kept {
    const struct ir_access *access; /* in the loop that begins with it */
    int first;                      /* the number of that loop */
    bool stored;                    /* which stores it; else it loads it */
    int place;                      /* the number of what it takes the place of, in the end; its own */
};

struct cuda_row {
    struct cuda_chain chains[CUDA_ROW_LOOPS]; /* in the order of the text */
    int loop_count;
    struct cuda_kept kept[CUDA_ROW_KEPT];
    int kept_count;
    int most_words;
    bool packs; /* two elements of 16 bits share a word */
    int pieces; /* of CUDA_ROW_PIECE iterations, whose elements a thread keeps; it keeps nothing of further
                   ones */
};

/* Rows of some length, as a step of its own: who keeps them, and how much. */
struct cuda_row_class {
    bool is_squad;       /* threads of a warp; else all of a block */
    int threads;         /* of a block */
    int words;           /* that a thread keeps */
    bool packs;          /* two elements of 16 bits in one */
    int64_t least, most; /* iterations; INT64_MAX: any number */
};

/* The loops from `first` on, in the statements before `end`, of which a thread keeps so many words; false
 * where nothing is to be kept. */
bool cuda_row_of(const struct cuda_plan *plan, const struct ir_stmt *first, const struct ir_stmt *end,
                 int most_words, bool packs, struct cuda_row *row);
/* Whether it shares its words. */
bool cuda_row_packs(const struct cuda_row *row, int kept);
/* By length, for the rows among the statements; their number, 0: there are none. Where the statements are no
 * matter of a single warp, there are none for squads, and none with more threads than usual. */
int cuda_row_classes(const struct cuda_plan *plan, const struct ir_stmt *block, bool has_squads,
                     struct cuda_row_class classes[CUDA_ROW_CLASSES]);

/* Whether what a thread keeps is more than its words: some of it could take the place of other, but does not.
 */
bool cuda_row_is_crowded(const struct cuda_row *row);
/* The number of the loop, or -1. */
int cuda_row_loop(const struct cuda_row *row, const struct ir_stmt *loop);
/* The number of what is kept that an access in the body of a loop is, or -1. */
int cuda_row_find(const struct cuda_row *row, int loop, const struct ir_access *access);
/* A load of it in the body of the loop that may take what is kept instead; NULL: there is none. */
const struct ir_expr *cuda_row_load(const struct cuda_row *row, int loop, int kept);
/* Whether what the loop stores to that place need not go to memory: a later loop of the row stores it again,
 * and nothing loads it from memory before. */
bool cuda_row_stores_again(const struct cuda_row *row, int loop, int kept);

#endif

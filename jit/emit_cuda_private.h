/*
 * emit_cuda_private.h: what the files of the CUDA emitter share and nobody else includes.
 */
#ifndef JIT_EMIT_CUDA_PRIVATE_H
#define JIT_EMIT_CUDA_PRIVATE_H

#include "cuda_best.h"
#include "cuda_cross.h"
#include "cuda_quads.h"
#include "cuda_row.h"
#include "cuda_tile.h"
#include "emit_c_private.h"

/* What the threads of a block did to a buffer since they last met. */
enum cuda_touch {
    CUDA_READ_ALL = 1,  /* several threads read it */
    CUDA_READ_ONE = 2,  /* thread 0 did */
    CUDA_WRITE_ALL = 4, /* each its own elements */
    CUDA_WRITE_ONE = 8
};

enum {
    CUDA_SUBSTITUTES = CUDA_QUAD_LOADS,
    CUDA_PAIR_ROOTS = 16, /* expressions of halves that are computed two at a time (emit_cuda_pairs.h) */
    CUDA_TURNS = 4,       /* iterations that a thread has under way */
    CUDA_UNROLLED = 8     /* loads of a long row that a thread has under way */
};
_Static_assert((int)CUDA_SUBSTITUTES >= (int)CUDA_TERMS, "the terms of a tile are such");

/* What stands in the text for an expression. */
struct cuda_substitute {
    const struct ir_expr *expr;
    struct emit_value value;
};

/* The threads that go through statements together: a block, or a squad of a few neighbours in a warp. */
struct cuda_together {
    const char *thread, *threads; /* the number of one, and how many they are */
    const char *all;              /* the same, for a block as a constant */
    const char *barrier;
    bool is_squad;
};

struct seek;

struct cuda_emitter {
    struct emitter emitter; /* first: the dialect's functions are handed it */
    struct cuda_program *program;
    struct cuda_plan plan;
    const struct cuda_step *step; /* at hand */
    struct cuda_together together;
    int *places;        /* by buffer, then of scratch: where the words hold its address; -1: nowhere */
    int *stride_places; /* by buffer: where its strides begin */
    int *kept;          /* by slot: place among the scalars that launches hand on; -1: none */
    int *last_uses;     /* by slot: the last step that mentions the scalar */
    int kept_count;
    bool *is_ahead;         /* by buffer: a temporary that is declared before its ALLOCATE */
    unsigned char *touched; /* by buffer, and then the scalars that thread 0 hands to the others */
    int shared_scalars;     /* places that the function at hand needs for those */
    bool stops;             /* something in the kernel may stop it */
    struct cuda_substitute substitutes[CUDA_SUBSTITUTES + CUDA_ROW_KEPT + 2 * CUDA_PAIR_ROOTS + 3];
    int substitute_count;
    int in_quads;  /* iterations of its chain that a thread of the function at hand takes at a time; 0: one */
    bool looks_up; /* with in_quads: it loads besides what no piece has */
    int resident;  /* blocks that are to have registers on a processor at once; 0: no matter */
    int in_turns;  /* or so many that it has under way; 0 */
    int in_rows;   /* threads of it keep elements from one loop to the next: so many blocks are to have
                      registers for that; 0: they do not */
    bool backwards; /* a loop that goes by pieces is to begin with the last ones */
    int unrolled;   /* iterations of a loop that are to be under way at once; 0: as the compiler likes */
    const struct cuda_sums *summed;  /* that the threads at hand have parts of, the innermost; NULL: none */
    const struct ir_buffer *counted; /* of which each block has a copy, which it accumulates into; or NULL */
    struct seek *seek;               /* what the loop at hand looks for; NULL: nothing */
    const struct ir_stmt *settled;   /* the loop whose last assignments are emitted */
    /* Elements that are kept by the loops at hand. */
    const struct cuda_row *row; /* NULL: none are */
    const char *row_name;       /* what their names begin with */
    int row_loop;               /* the loop that is emitted */
    bool row_by_pieces;         /* all of the loops may go by pieces of four iterations */
    const char *row_place;      /* among what is kept, of the iteration at hand; NULL: it keeps nothing */
};

static inline struct cuda_emitter *cuda_of(struct emitter *emitter)
{
    return (struct cuda_emitter *)emitter;
}

/* ---- emit_cuda_launch.c ----------------------------------------------------- */

/* The number of the loop that the host goes through around the step; -1: there is none. */
int emit_cuda_round_of(const struct cuda_emitter *cuda, const struct cuda_step *step);
/* The words of the program, with the temporaries that some of them point to. */
void emit_cuda_add_words(struct cuda_emitter *cuda);
/* The launch of the step at hand, whose function has that name. */
void emit_cuda_add_launch(struct cuda_emitter *cuda, const char *entry);

/* ---- emit_cuda_chain.c ------------------------------------------------------ */

/* The loops of a chain as one, whose first iteration and step are texts; the body is emitted by `body`. */
void emit_cuda_chain(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *first,
                     const char *step, void (*body)(struct cuda_emitter *cuda, const struct ir_stmt *block));
/* The same where the body is for single threads, which may take several iterations at a time. */
void emit_cuda_each(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *first,
                    const char *step);
/* For whoever takes the iterations otherwise: names for the bounds and the trips of each loop, declared in
 * lines; the number of all iterations; and the variables of the loops from the number of one. */
struct cuda_loop_texts {
    struct emit_value low;
    const char *trips;
};
void emit_cuda_trips(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     struct cuda_loop_texts *texts);
const char *emit_cuda_product(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                              const struct cuda_loop_texts *texts);
void emit_cuda_apart(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     const struct cuda_loop_texts *texts, const char *number);

/* One iteration, by its number: the variables, the LETs between the loops, and the body. */
void emit_cuda_iteration(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                         const struct cuda_loop_texts *texts, const char *number,
                         void (*body)(struct cuda_emitter *cuda, const struct ir_stmt *block));
/* As emit_cuda_each, from iteration `done` on, or from the piece of four with `pieces`; both are texts. */
void emit_cuda_each_from(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                         const struct cuda_loop_texts *texts, const char *done, const char *pieces,
                         const char *first, const char *step);

/* Before a loop: that several of its iterations are to be under way at once, where that is asked for; each
 * loads so many times as much as usual. */
void emit_cuda_unroll(struct cuda_emitter *cuda, int times);
/* How many of a loop that threads share, with such a body: nothing else hides how far memory is. */
int emit_cuda_under_way(const struct cuda_emitter *cuda, const struct ir_stmt *body);
/* The number of its iterations as a text, with the lines before that it needs. */
const char *emit_cuda_total(struct cuda_emitter *cuda, const struct cuda_chain *chain);

/* ---- emit_cuda_combine.c ---------------------------------------------------- */

/* Of parts of a sum of that dtype: those of halves are float32, unless the order is to be the loop's. */
akg_dtype emit_cuda_part_dtype(const struct cuda_emitter *cuda, akg_dtype dtype);
/* Around a loop that a block shares: the scalars are what a thread has of them, and then what all have. */
void emit_cuda_begin_sums(struct cuda_emitter *cuda, struct cuda_sums *sums);
void emit_cuda_end_sums(struct cuda_emitter *cuda, struct cuda_sums *sums);
/* What combining with changes nothing. */
const char *emit_cuda_neutral(struct cuda_emitter *cuda, enum operation operation, akg_dtype dtype);
/* The type of values that are combined, and the ending of the names of functions that do it: "add_float32".
 */
const char *emit_cuda_combined_type(enum operation operation, akg_dtype dtype);
const char *emit_cuda_combiner(struct cuda_emitter *cuda, enum operation operation, akg_dtype dtype);
/* The same for scalars that are scaled and added to (cuda_scan.h), "scaled_float64"; what they are made of.
 */
const char *emit_cuda_scaler(akg_dtype dtype);
const char *emit_cuda_scaled_type(akg_dtype dtype);
/* Around a chain that the grid shares, by threads or by teams: the blocks leave their parts. */
void emit_cuda_begin_parts(struct cuda_emitter *cuda, struct cuda_sums *sums);
void emit_cuda_end_parts(struct cuda_emitter *cuda, const struct cuda_sums *sums, bool teams);
/* One block combines the parts. */
void emit_cuda_collect(struct cuda_emitter *cuda, const struct cuda_chain *chain);
/* A store that accumulates into an element that others may do at the same time. */
void emit_cuda_atomic(struct cuda_emitter *cuda, const struct ir_stmt *stmt);
/* The word for it in the names of functions. */
const char *emit_cuda_combining_name(enum operation operation);
/* The functions for that whose names were noted; what they call is noted. */
const char *emit_cuda_combining(struct cuda_emitter *cuda);

/* ---- emit_cuda_best.c ------------------------------------------------------- */

/* A loop as cuda_best.h says, by the threads of a block or a squad. */
void emit_cuda_best(struct cuda_emitter *cuda, const struct cuda_chain *chain);
/* A statement of such a loop that its threads do otherwise; false: it is none. */
bool emit_cuda_best_statement(struct cuda_emitter *cuda, const struct ir_stmt *stmt);
/* The same in phases of a nest (emit_cuda_spread.c): blocks leave candidates at the two places that are told,
 * which are combined, and settled where the scalars of the iteration stand. */
void emit_cuda_best_lanes(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *value,
                          const char *number);
void emit_cuda_best_gather(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *value,
                           const char *number);
void emit_cuda_best_settle(struct cuda_emitter *cuda, const struct cuda_chain *chain);
/* The same by the grid, whose blocks leave their parts; and one block combines these. */
void emit_cuda_best_parts(struct cuda_emitter *cuda, const struct cuda_chain *chain, const char *first,
                          const char *step);
void emit_cuda_best_collect(struct cuda_emitter *cuda, const struct cuda_chain *chain);

/* ---- emit_cuda_count.c ------------------------------------------------------ */

/* Whether blocks accumulate into copies of their own, in calls that have few elements; around the loop. */
bool emit_cuda_counts(const struct cuda_emitter *cuda);
void emit_cuda_begin_counts(struct cuda_emitter *cuda);
void emit_cuda_end_counts(struct cuda_emitter *cuda);

/* ---- emit_cuda_scan.c ------------------------------------------------------- */

/* A loop as cuda_scan.h says, by all threads of a block. */
void emit_cuda_scan(struct cuda_emitter *cuda, const struct cuda_chain *chain);
/* The same by all blocks of a grid: the launch in front, and the one that does it. */
void emit_cuda_scan_parts(struct cuda_emitter *cuda, const struct cuda_chain *chain);
void emit_cuda_scan_stretches(struct cuda_emitter *cuda, const struct cuda_chain *chain);
/* How many iterations there are to share out; and how many words (union akg_scalar) the blocks tell each
 * other in: int64 over dims and attributes. */
const struct ir_expr *emit_cuda_scan_work(struct cuda_emitter *cuda, const struct cuda_chain *chain);
const struct ir_expr *emit_cuda_scan_words(struct cuda_emitter *cuda, const struct cuda_chain *chain);

/* ---- emit_cuda_team.c ------------------------------------------------------- */

/* Statements that all threads of a block go through together. */
void emit_cuda_team(struct cuda_emitter *cuda, const struct ir_stmt *first, int count);
void emit_cuda_team_block(struct cuda_emitter *cuda, const struct ir_stmt *block);
/* A barrier, where threads touched what others may have written since the last. */
void emit_cuda_barrier(struct cuda_emitter *cuda);
/* Declares the temporary that a block or a thread has for itself. */
void emit_cuda_temporary(struct cuda_emitter *cuda, const struct ir_buffer *buffer);

/* ---- emit_cuda_clear.c ------------------------------------------------------ */

/* The elements of a buffer to zero, by threads that start and step so. */
void emit_cuda_clear(struct cuda_emitter *cuda, const struct ir_buffer *buffer, const char *first,
                     const char *step);

/* ---- emit_cuda_frame.c ------------------------------------------------------ */

/* The elements of a frame (cuda_frame.h) to zero, by threads that start and step so. */
void emit_cuda_frame(struct cuda_emitter *cuda, const struct ir_buffer *buffer,
                     const struct cuda_frame *frame, const char *first, const char *step);

/* ---- emit_cuda_quads.c ------------------------------------------------------ */

/* As much of the chain as can be done four iterations at a time. The number of iterations done, as a text;
 * NULL: there is nothing that would be done for four at once. */
const char *emit_cuda_quads(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                            const struct cuda_loop_texts *texts, const char *first, const char *step);

/* The conditions, as a text behind `before`, for doing all of the chain so, but for what is left of four;
 * NULL: it cannot be done. */
const char *emit_cuda_quads_well(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                                 const char *before);
/* Four iterations. Where a thread keeps elements: all but the loads of what is kept, or `only` these. */
void emit_cuda_piece(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     const struct cuda_loop_texts *texts, const char *number, bool only);

/* ---- emit_cuda_quads_piece.c ------------------------------------------------------ */

/* The function that moves so many elements at once, behind akg_take_ or akg_leave_ (emit_cuda_moves.def), and
 * the type that it has them of: of floats of 32 and 64 bits their own, else of integers. */
struct cuda_move {
    const char *name, *type;
};
struct cuda_move emit_cuda_move(akg_dtype dtype, int length);

/* For whoever goes through pieces otherwise, of which a thread has several: what is loaded has `turn`, a
 * text, behind its name. Whether the loop has such; when tensors lie well for them; the loop's variable at
 * the first. */
bool emit_cuda_pieces_of(struct cuda_emitter *cuda, const struct cuda_chain *chain, struct cuda_quads *found);
const char *emit_cuda_pieces_well(struct cuda_emitter *cuda, const struct cuda_quads *found);
int64_t emit_cuda_pieces_first(const struct cuda_quads *found);
/* Declares what is loaded; and loads the piece that begins at `first`, which is whole, or may be cut. */
void emit_cuda_pieces_declare(struct cuda_emitter *cuda, const struct cuda_quads *found, int turns);
void emit_cuda_pieces_take(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *turn);
void emit_cuda_pieces_load(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *trips, const char *turn);
/* The iterations of one that is whole. */
void emit_cuda_pieces_done(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *turn);
/* Something for each iteration of it; and the iterations. */
void emit_cuda_pieces_each(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *trips, const char *turn,
                           void (*body)(struct cuda_emitter *cuda, void *context), void *context);
void emit_cuda_pieces_body(struct cuda_emitter *cuda, const struct cuda_quads *found, const char *first,
                           const char *trips, const char *turn);

/* ---- emit_cuda_turns.c ------------------------------------------------------ */

/* The chain by single threads, each with several iterations under way; false: it is not made so. */
bool emit_cuda_turns(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     const struct cuda_loop_texts *texts, const char *first, const char *step);

/* ---- emit_cuda_row.c -------------------------------------------------------- */

/* Before a statement of a block that ends before `end`: declares what threads keep from there on. */
void emit_cuda_begin_row(struct cuda_emitter *cuda, const struct ir_stmt *stmt, const struct ir_stmt *end);
/* Behind it: whether there is more to come. */
void emit_cuda_end_row(struct cuda_emitter *cuda, const struct ir_stmt *stmt);
/* The loop that starts with the chain, if it is one of those at hand. */
bool emit_cuda_row(struct cuda_emitter *cuda, const struct cuda_chain *chain);
/* Whether the iteration that is emitted keeps what an access is; a text that keeps a value, if so, and has
 * that value; and where a piece of four of what is kept begins, which are two to a word (`packed`) or one. */
bool emit_cuda_row_has(struct cuda_emitter *cuda, const struct ir_access *access);
const char *emit_cuda_row_keep(struct cuda_emitter *cuda, const struct ir_access *access, const char *value);
const char *emit_cuda_row_piece(struct cuda_emitter *cuda, const struct ir_access *access, bool *packed);
/* Whether the loop that is emitted begins with the load of it. */
bool emit_cuda_row_begins(struct cuda_emitter *cuda, const struct ir_access *access);
/* The store of something that is kept, in a loop that keeps it. */
bool emit_cuda_row_store(struct cuda_emitter *cuda, const struct ir_stmt *stmt);
/* Whether what is stored there is kept, and need not go to memory. */
bool emit_cuda_row_only_keeps(struct cuda_emitter *cuda, const struct ir_access *access);

/* ---- emit_cuda_tile.c ------------------------------------------------------- */

/* A nest by tiles, for a step that is one of its ways. */
void emit_cuda_tiles(struct cuda_emitter *cuda, const struct cuda_step *step);
/* Behind tiles of parts of the depths. */
void emit_cuda_join(struct cuda_emitter *cuda, const struct cuda_step *step);

/* ---- emit_cuda_cross.c ------------------------------------------------------ */

/* A nest by squares. */
void emit_cuda_cross(struct cuda_emitter *cuda, const struct cuda_step *step);

/* ---- emit_cuda_squad.c ------------------------------------------------------ */

/* Whether all squads of the step are whole warps; else they are smaller where rows are short. */
bool emit_cuda_squad_is_warp(const struct cuda_step *step);
/* The iterations of the chain by squads, of as many threads as the loop inside is worth. */
void emit_cuda_squads(struct cuda_emitter *cuda,
                      void (*body)(struct cuda_emitter *cuda, const struct ir_stmt *block));

/* ---- emit_cuda_spread.c ----------------------------------------------------- */

/* A phase of a nest whose inner loops several blocks share, and what follows it. */
void emit_cuda_spread(struct cuda_emitter *cuda);
void emit_cuda_gather(struct cuda_emitter *cuda);

/* ---- emit_cuda_prelude.c ---------------------------------------------------- */

/* Macros, structs, and those functions of the library whose names were noted. */
void emit_cuda_prelude(struct cuda_emitter *cuda, struct text *out);

#endif

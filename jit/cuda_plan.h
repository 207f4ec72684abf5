/*
 * cuda_plan.h: how the statements of a kernel are spread over launches, and their loops over blocks and
 * threads.
 *
 * Consumes an optimised kernel and its dependence analysis, which is the one truth about what may run in any
 * order. Produces steps: each is a launch. A step is executed by teams: a team is a block whose threads go
 * through the same statements together; where a loop may run in any order they take its iterations in turn,
 * and what is no loop they all compute alike, one of them storing it. Around a team may stand a chain of
 * loops whose iterations the teams of the grid take in turn; where nothing inside such a chain is worth a
 * team, its iterations are handed to single threads.
 */
#ifndef JIT_CUDA_PLAN_H
#define JIT_CUDA_PLAN_H

#include "cuda.h"
#include "dependence.h"

enum {
    CUDA_THREADS = 256,         /* of a block, but for those of long rows */
    CUDA_CHAIN = 6,             /* loops that may be run as one */
    CUDA_LOCAL_BYTES = 1024,    /* of a temporary that a thread holds for itself */
    CUDA_SCRATCH_BLOCKS = 256,  /* of a launch whose blocks have temporaries of their own */
    CUDA_UNKNOWN_BLOCKS = 1024, /* of a launch whose work only the device knows */
    CUDA_SUM_BLOCKS = 1024,     /* of a launch whose blocks leave parts of sums, or share a scan */
    CUDA_SUM_ITEMS = 16,        /* that a thread of it has at least */
    CUDA_SUMS = 16,             /* scalars that one chain accumulates into */
    CUDA_WARP = 32,
    CUDA_SQUAD_EACH = 8,   /* iterations of a short row that a thread has, at most, of four bytes */
    CUDA_SQUAD_LONG = 1024 /* of a row that is short enough for threads of a warp */
};

/* Loops that are run as one over all their iterations: each holds the next, and before it LETs at most, and
 * the bounds of none hang on another. */
struct cuda_chain {
    const struct ir_stmt *loops[CUDA_CHAIN]; /* outermost first */
    int count;                               /* 0: no chain */
    int fastest;                             /* the loop whose iterations neighbouring threads take */
};

struct cuda_tiling;
struct cuda_crossing;
struct cuda_spread;
struct cuda_frame;

enum cuda_step_kind {
    CUDA_STEP_CLEAR,   /* zero `cleared`, or its `frame` */
    CUDA_STEP_TEAM,    /* one block goes through `count` statements from `first` on */
    CUDA_STEP_TEAMS,   /* the body of the chain, by a block for each iteration */
    CUDA_STEP_SQUADS,  /* the same, by a few threads of a warp for each iteration */
    CUDA_STEP_THREADS, /* the body of the chain, by a thread for each iteration */
    CUDA_STEP_PARTS,   /* of a scan (cuda_scan.h), clears what blocks tell each other in */
    CUDA_STEP_SCAN,   /* the scan: each block takes the next tile, learns what those before it leave, and goes
                         through it */
    CUDA_STEP_TILES,  /* the same in tiles: one of several steps, of which a call takes one */
    CUDA_STEP_JOIN,   /* what follows tiles that left parts of their sums */
    CUDA_STEP_CROSS,  /* the same in squares: likewise */
    CUDA_STEP_SPREAD, /* a phase of the same by blocks that share the loops inside (cuda_spread.h) */
    CUDA_STEP_GATHER  /* what follows the phase */
};

/* Of a chain that accumulates into scalars each block leaves what it has; the step behind it, which is a
 * team's, begins with combining that. */

struct cuda_step {
    enum cuda_step_kind kind;
    const struct ir_stmt *first; /* at the top of the kernel */
    int count;
    struct cuda_chain chain;
    const struct ir_buffer *cleared;
    const struct cuda_frame *frame; /* CLEAR: what is zeroed of it. NULL: all */
    bool sums;                      /* TEAMS, THREADS: the chain accumulates into scalars */
    bool best;                      /* with `sums`: it looks for the best of its iterations */
    bool adds;    /* likewise into elements, which several iterations may do to the same one */
    int collects; /* TEAM: the number of the step whose sums it combines first; -1: none */
    const struct cuda_tiling *tiling;     /* TILES; and TEAMS or THREADS, for when there are to be none */
    int parts;                            /* TILES: how large they are */
    bool wide;                            /* TILES: for tensor cores that work for four warps at once */
    bool splits;                          /* TILES: of parts of the depths, whose sums a JOIN combines */
    const struct cuda_crossing *crossing; /* CROSS; and THREADS, for when there are to be no squares */
    const struct cuda_spread *spread;     /* SPREAD, GATHER; and TEAMS or THREADS, for when it does not pay */
    int phase;                            /* SPREAD, GATHER */
    const struct ir_stmt *round;          /* at the top, around what the step runs: the host goes through it
                                             (cuda_round.h). NULL: there is none */
    bool instead;                         /* TEAM: of such a loop, for calls in which that does not pay */
    const struct ir_stmt *inner; /* TEAMS: a loop that they share, for calls in which it is long; SQUADS, for
                                    those in which it is shorter; and THREADS, for those in which it is short.
                                    NULL: no matter */
    bool squads;                 /* there are SQUADS among them */
    int64_t least, most;         /* with `inner`: for calls where that has so many iterations; most 0: any */
    int words;                   /* of 32 bits, of such rows, that a thread keeps (cuda_row.h); 0: as usual */
    bool packs;                  /* with `words`: two elements of 16 bits share one */
    int threads;                 /* of a block; 0: as usual */
};

/* Where a temporary lives. */
enum cuda_life {
    CUDA_LIFE_CALL,  /* one for the whole call */
    CUDA_LIFE_BLOCK, /* one for each block of the launch that uses it */
    CUDA_LIFE_THREAD /* in the thread that uses it */
};

/* A LET or VARIABLE at the top, or right in a loop that the host goes through. */
struct cuda_top {
    const struct ir_stmt *stmt;
    const struct ir_stmt *round; /* NULL: at the top */
};

struct cuda_plan {
    struct arena *arena;
    struct ir_kernel *kernel;
    const struct cuda_options *options;
    const struct dependences *dependences;
    int *uses;             /* by slot: reads of a scalar in the whole kernel */
    enum cuda_life *lives; /* by buffer */
    LIST(struct cuda_step) steps;
    LIST(const struct ir_stmt *) rounds; /* loops that the host goes through */
    const struct ir_stmt *round;         /* while the plan is made: the one whose body is planned; or NULL */
    LIST(struct cuda_top) tops;          /* in the order of the text */
};

/* What lies in `arena` escapes when memory runs out. Expressions are made in the kernel's arena. */
void cuda_plan_make(struct cuda_plan *plan, struct arena *arena, struct ir_kernel *kernel,
                    const struct cuda_options *options);

static inline int cuda_step_threads(const struct cuda_step *step)
{
    return step->threads ? step->threads : CUDA_THREADS;
}

/* What may be done with a loop that the team meets. */
enum cuda_share {
    CUDA_SHARE_NONE, /* its iterations run in order */
    CUDA_SHARE_ANY,  /* in any order */
    CUDA_SHARE_SUMS, /* in any order, when what each thread accumulates is combined at the end */
    CUDA_SHARE_BEST, /* in any order, as cuda_best.h says */
    CUDA_SHARE_SCAN, /* side by side by a team, as cuda_scan.h says */
    CUDA_SHARE_ADDS  /* in any order, when accumulating into an element is atomic */
};
enum cuda_share cuda_share_of(const struct cuda_plan *plan, const struct ir_stmt *loop);
/* Whether partial results can be combined. */
bool cuda_combines(enum operation operation);
/* All reads of the symbol are in the loop. */
bool cuda_lives_inside(const struct cuda_plan *plan, const struct ir_stmt *loop,
                       const struct ir_symbol *symbol);
/* The loop and what can be run together with it as one. */
void cuda_chain_of(const struct cuda_plan *plan, const struct ir_stmt *loop, enum cuda_share share,
                   struct cuda_chain *chain);
/* Whether a team shares the statement, which is a loop then. */
bool cuda_team_shares(const struct cuda_plan *plan, const struct ir_stmt *stmt);
/* Whether there is a loop in the block, at whatever depth, that a team would share. */
bool cuda_has_shared(const struct cuda_plan *plan, const struct ir_stmt *block);
/* Whether something in the block needs memory that a thread has not. */
bool cuda_needs_scratch(const struct ir_stmt *block);
/* The loop of the chain that most accesses run along: the innermost one, unless more goes by one along
 * another.
 */
int cuda_fastest_of(const struct cuda_chain *chain);
/* Whether a team is to have an iteration of the step's chain, and which loop inside decides that in a call.
 */
bool cuda_wants_team(const struct cuda_plan *plan, struct cuda_step *step);
/* A loop of few iterations, whatever the call. */
bool cuda_is_short(const struct ir_stmt *loop);
/* Whether the accesses in a loop inside the chain run along that loop, and not along the chain. */
bool cuda_runs_inside(const struct cuda_plan *plan, const struct cuda_chain *chain,
                      const struct ir_stmt *loop);
/* Whether the block, or one inside it, mentions a symbol, or stores into a buffer. */
bool cuda_block_reads(const struct ir_stmt *block, const struct ir_symbol *symbol);
/* An expression that hangs on dims and attributes only: the host can compute it. */
bool cuda_is_of_call(const struct ir_expr *expr);
/* A copy of the expression with the values of LETs in place of them. */
struct ir_expr *cuda_resolved(struct ir_kernel *kernel, const struct ir_expr *expr);
/* int64 over dims and attributes, in the kernel's arena: the iterations of the chain. NULL where the bounds
 * hang on more. */
const struct ir_expr *cuda_chain_work(struct ir_kernel *kernel, const struct cuda_chain *chain);
/* The same, where the step is one of two ways of which a call takes one; 0 for the other. */
const struct ir_expr *cuda_inner_work(const struct cuda_plan *plan, const struct ir_expr *work,
                                      const struct cuda_step *step);
/* Iterations of the inner loop that a thread of a squad has, at most: as many bytes of the narrowest tensor
 * of which it loads a row as CUDA_SQUAD_EACH of four bytes come to; where it keeps them, CUDA_SQUAD_EACH, or
 * twice as many of two in a word. */
int cuda_squad_each(const struct cuda_step *step);
/* Threads of a squad: what akg_lane_count gives for so many iterations a thread. */
const struct ir_expr *cuda_squad_lanes(struct ir_kernel *kernel, const struct cuda_step *step);
/* A LET whose value hangs on dims, attributes, the variable of a loop that the host goes through, and such
 * LETs only: each launch can compute it. */
bool cuda_is_settled(const struct ir_stmt *stmt);
/* A VARIABLE that begins with such a value. */
bool cuda_begins_settled(const struct ir_stmt *stmt);

/* The scalars that the chain accumulates into. */
struct cuda_sums {
    const struct dependence_scalar *items[CUDA_SUMS];
    int count;
    const struct cuda_sums *around; /* while they are emitted: those that threads have parts of besides */
};
void cuda_sums_of(const struct cuda_plan *plan, const struct cuda_chain *chain, struct cuda_sums *sums);

/* What a store that must be atomic accumulates: x = x + value. */
struct cuda_add {
    enum operation operation;
    struct ir_expr *value;
    bool negative; /* x = x - value */
};
/* Whether it has that form, and a dtype for which the device can do it. */
bool cuda_add_of(const struct ir_stmt *store, struct cuda_add *add);
/* Whether iterations of the chain may accumulate into the same element by this store. */
bool cuda_is_atomic(const struct cuda_plan *plan, const struct cuda_chain *chain,
                    const struct ir_stmt *store);

static inline const struct ir_stmt *cuda_chain_body(const struct cuda_chain *chain)
{
    return chain->loops[chain->count - 1]->body;
}

#endif

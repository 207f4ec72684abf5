/*
 * cuda_spread.h: nests whose inner loops several blocks share.
 *
 * Consumes a nest whose outer loops run in any order, around loops that a team would share (cuda_plan.h):
 * sums of columns, statistics of channels, a softmax down the columns. Where such a nest has few iterations
 * outside and long loops inside, neither a thread nor a block for each iteration keeps a device busy.
 * Produces the nest in phases, each a launch or two: blocks take parts of one inner loop, for some of the
 * outer iterations each, and leave what they accumulate; the launch behind combines the parts in their order
 * and goes through what stands between this loop and the next. What scalars hand on from phase to phase goes
 * through memory. Which loop neighbouring threads run along, the outer or the inner, each phase has for
 * itself.
 */
#ifndef JIT_CUDA_SPREAD_H
#define JIT_CUDA_SPREAD_H

#include "cuda_plan.h"

enum {
    CUDA_SPREAD_LOOPS = 6,
    CUDA_SPREAD_LIVES = 16, /* scalars that phases hand on */
    CUDA_SPREAD_LANES =
        32, /* outer iterations that a block has side by side, where accesses run along them */
    CUDA_SPREAD_GATHERED = 8, /* that a block has at least, where it combines parts of sums */
    CUDA_SPREAD_BLOCKS = 640, /* that are to run at once, as far as there are terms for them */
    CUDA_SPREAD_RESIDENT = 5, /* of them on a processor: registers are to be for so many */
    CUDA_SPREAD_UNROLLED = 8, /* terms that a thread loads at once */
    CUDA_SPREAD_FINER = 4,    /* times as many parts as there are blocks, at most, so that none is idle */
    CUDA_SPREAD_TERMS = 8     /* that a thread has at least */
};

struct cuda_spread_phase {
    const struct ir_stmt *loop;
    struct cuda_chain chain; /* that begins with it */
    bool sums;               /* it accumulates */
    bool best;               /* it looks for the best of its iterations (cuda_best.h) */
    bool across;             /* neighbouring threads have neighbouring iterations of the outer loops */
};

struct cuda_spread {
    struct cuda_chain outer;
    struct cuda_spread_phase phases[CUDA_SPREAD_LOOPS];
    int count;
    const struct ir_symbol *lives[CUDA_SPREAD_LIVES];
    int live_count;
    int most_sums; /* of a phase; a candidate for the best counts as two */
};

/* False where the step's nest cannot be run so. */
bool cuda_spread_of(const struct cuda_plan *plan, const struct cuda_chain *outer, struct cuda_spread *spread);
/* Whether there is a launch behind that of the phase: it combines, or goes through statements, or both. */
bool cuda_spread_joins(const struct cuda_spread *spread, int phase);
/* The first statement behind the loop of a phase, and the one before which that launch ends. */
const struct ir_stmt *cuda_spread_behind(const struct cuda_spread *spread, int phase);
const struct ir_stmt *cuda_spread_end(const struct cuda_spread *spread, int phase);
/* Blocks of a phase that a processor is to have registers for: what stores keeps more at hand. */
static inline int cuda_spread_resident(const struct cuda_spread *spread, int phase)
{
    return spread->phases[phase].sums ? CUDA_SPREAD_RESIDENT : CUDA_SPREAD_RESIDENT - 1;
}
/* Whether what stands from one statement up to another reads or assigns the symbol. */
bool cuda_spread_uses(const struct ir_stmt *first, const struct ir_stmt *end, const struct ir_symbol *symbol);

/* Over dims and attributes: blocks for a phase, or iterations of the step behind it (joins); 0 in calls in
 * which it does not pay. `otherwise` is the work of the step that is taken then, and what that step has left
 * is cuda_spread_rest. */
const struct ir_expr *cuda_spread_work(const struct cuda_plan *plan, const struct cuda_spread *spread,
                                       int phase, bool joins, const struct ir_expr *otherwise);
const struct ir_expr *cuda_spread_rest(const struct cuda_plan *plan, const struct cuda_spread *spread,
                                       const struct ir_expr *work);
/* Scalars (union akg_scalar) that the phases leave, at most, in a call in which it pays; else 0. */
const struct ir_expr *cuda_spread_words(const struct cuda_plan *plan, const struct cuda_spread *spread);

#endif

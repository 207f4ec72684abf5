/*
 * cuda_votes.c: who takes an iteration: a thread, a squad or a team (cuda_plan.h).
 *
 * Goes by which loops the accesses run along, and, in a call, by how long these are.
 */
#include "cuda_plan.h"
#include "pass.h"

/* ---- what runs along what ------------------------------------------------------------- */

/* Accesses whose last index goes by one along a symbol, and others hold it not; of a loop inside only those
 * that its iterations do not all have the same of. */
struct along {
    const struct ir_symbol *symbol;
    const struct ir_stmt *inside; /* NULL: no matter */
    int count;
};

struct moved {
    const struct ir_access *access;
    bool found;
};

static bool is_moved_by_loop(struct ir_stmt *stmt, void *context)
{
    struct moved *moved = context;
    moved->found |= stmt->kind == IR_FOR && pass_access_mentions(moved->access, stmt->symbol);
    return true;
}

static bool is_of_scalars(struct ir_expr *expr, void *context)
{
    bool *found = context;
    *found |= expr->kind == IR_SYMBOL &&
              (expr->symbol->kind == IR_SYMBOL_LET || expr->symbol->kind == IR_SYMBOL_VARIABLE);
    return true;
}

/* What scalars are in the indices may hang on the loop too. */
static bool is_moved(const struct ir_access *access, const struct ir_stmt *loop)
{
    struct moved moved = {access, pass_access_mentions(access, loop->symbol)};
    for (int axis = 0; axis < access->buffer->rank; axis++)
        ir_expr_walk(access->indices[axis], is_of_scalars, &moved.found);
    ir_block_walk(loop->body, is_moved_by_loop, &moved);
    return moved.found;
}

static bool runs_along(const struct ir_access *access, const struct ir_symbol *symbol)
{
    struct pass_affine affine;
    int rank = access->buffer->rank;
    if (!rank || !pass_affine_of(access->indices[rank - 1], &affine))
        return false;
    int64_t step = pass_affine_coefficient(&affine, symbol);
    if (step != 1 && step != -1)
        return false;
    for (int axis = 0; axis < rank - 1; axis++)
        if (pass_mentions(access->indices[axis], symbol))
            return false;
    return true;
}

static bool count_along(struct ir_expr *expr, void *context)
{
    struct along *along = context;
    along->count += expr->kind == IR_LOAD && runs_along(&expr->access, along->symbol) &&
                    (!along->inside || is_moved(&expr->access, along->inside));
    return true;
}

static bool count_stores_along(struct ir_stmt *stmt, void *context)
{
    struct along *along = context;
    along->count += stmt->kind == IR_STORE && runs_along(&stmt->access, along->symbol) &&
                    (!along->inside || is_moved(&stmt->access, along->inside));
    return true;
}

static int accesses_along(const struct ir_stmt *block, const struct ir_symbol *symbol,
                          const struct ir_stmt *inside)
{
    struct along along = {.symbol = symbol, .inside = inside};
    ir_block_expressions((struct ir_stmt *)block, count_along, &along);
    ir_block_walk((struct ir_stmt *)block, count_stores_along, &along);
    return along.count;
}

/* The innermost one, unless more goes by one along another. */
int cuda_fastest_of(const struct cuda_chain *chain)
{
    int best = chain->count - 1,
        most = accesses_along(cuda_chain_body(chain), chain->loops[best]->symbol, NULL);
    for (int k = chain->count - 2; k >= 0; k--) {
        int count = accesses_along(cuda_chain_body(chain), chain->loops[k]->symbol, NULL);
        if (count > most) {
            best = k;
            most = count;
        }
    }
    return best;
}

/* ---- a thread or a team for an iteration ---------------------------------------------- */

enum {
    CUDA_LONG = 64, /* iterations of a loop inside: fewer, and no block goes through them */
    CUDA_MANY = 512 /* of the loops outside: fewer, and a block has each; four times as many where those are
                       longer than 256 */
};

struct votes {
    const struct cuda_plan *plan;
    const struct ir_symbol *fastest;
    int thread, team;            /* accesses in loops inside, along the chain and along those loops */
    const struct ir_stmt *first; /* of the loops that a team would share */
};

bool cuda_is_short(const struct ir_stmt *loop)
{
    const struct ir_expr *low = loop->low, *high = loop->high;
    int64_t distance;
    return low->kind == IR_INTEGER && high->kind == IR_INTEGER &&
           !__builtin_sub_overflow(high->integer, low->integer, &distance) && distance < CUDA_WARP;
}

static bool vote(struct ir_stmt *stmt, void *context)
{
    struct votes *votes = context;
    if (stmt->kind != IR_FOR || cuda_is_short(stmt) || !cuda_team_shares(votes->plan, stmt))
        return true;
    votes->team += accesses_along(stmt->body, stmt->symbol, NULL);
    votes->thread += accesses_along(stmt->body, votes->fastest, stmt);
    if (!votes->first)
        votes->first = stmt;
    return true;
}

bool cuda_runs_inside(const struct cuda_plan *plan, const struct cuda_chain *chain,
                      const struct ir_stmt *loop)
{
    struct votes votes = {.plan = plan, .fastest = chain->loops[chain->fastest]->symbol};
    vote((struct ir_stmt *)loop, &votes);
    ir_block_walk(loop->body, vote, &votes);
    return votes.team > 0 && votes.thread == 0;
}

/* A team, where loops inside run along the elements and the chain does not. */
bool cuda_wants_team(const struct cuda_plan *plan, struct cuda_step *step)
{
    const struct ir_stmt *body = cuda_chain_body(&step->chain);
    struct votes votes = {.plan = plan, .fastest = step->chain.loops[step->chain.fastest]->symbol};
    if (cuda_needs_scratch(body))
        return true;
    if (!cuda_has_shared(plan, body))
        return false;
    ir_block_walk((struct ir_stmt *)body, vote, &votes);
    step->inner = votes.first;
    return votes.team > 0 && votes.thread == 0;
}

static struct ir_expr *inner_length(struct ir_kernel *kernel, const struct cuda_step *step)
{
    struct cuda_chain inner = {.loops = {step->inner}, .count = 1};
    return (struct ir_expr *)cuda_chain_work(kernel, &inner);
}

static struct ir_expr *at_least(struct ir_kernel *kernel, const struct cuda_step *step, int64_t length)
{
    return ir_operation(kernel, OP_GE, inner_length(kernel, step), ir_integer(kernel, AKG_INT64, length),
                        NULL);
}

struct narrowest {
    const struct ir_symbol *symbol;
    int size; /* of an element, in bytes */
};

static bool note_size(struct ir_expr *expr, void *context)
{
    struct narrowest *narrowest = context;
    if (expr->kind == IR_LOAD && runs_along(&expr->access, narrowest->symbol)) {
        int size = dtype_table[expr->access.buffer->dtype].size;
        narrowest->size = size < narrowest->size ? size : narrowest->size;
    }
    return true;
}

int cuda_squad_each(const struct cuda_step *step)
{
    struct narrowest narrowest = {step->inner->symbol, 4};
    if (!step->words)
        ir_block_expressions(step->inner->body, note_size, &narrowest);
    if (step->packs)
        return 2 * CUDA_SQUAD_EACH;
    return CUDA_SQUAD_EACH * 4 / narrowest.size;
}

const struct ir_expr *cuda_squad_lanes(struct ir_kernel *kernel, const struct cuda_step *step)
{
    struct ir_expr *lanes = ir_integer(kernel, AKG_INT64, 1);
    for (int count = 2; count <= CUDA_WARP; count *= 2) {
        struct ir_expr *more =
            ir_operation(kernel, OP_GE, inner_length(kernel, step),
                         ir_integer(kernel, AKG_INT64, count / 2 * cuda_squad_each(step) + 1), NULL);
        lanes = ir_operation(kernel, OP_SELECT, more, ir_integer(kernel, AKG_INT64, count), lanes);
    }
    return lanes;
}

/* By the length of the loop inside: threads, squads, teams. Few rows are for teams, if they are not short.
 * The host asks for the length first, since most launches of a kernel are for others, and of long rows for
 * nothing else. */
const struct ir_expr *cuda_inner_work(const struct cuda_plan *plan, const struct ir_expr *work,
                                      const struct cuda_step *step)
{
    struct ir_kernel *kernel = plan->kernel;
    struct ir_expr *some = (struct ir_expr *)work, *none = ir_integer(kernel, AKG_INT64, 0);
    int64_t few = step->squads && !plan->options->deterministic ? CUDA_SQUAD_EACH : CUDA_LONG;
    struct ir_expr *is_long =
        ir_operation(kernel, OP_GE, inner_length(kernel, step), ir_integer(kernel, AKG_INT64, few), NULL);
    if (step->kind == CUDA_STEP_THREADS)
        return ir_operation(kernel, OP_SELECT, is_long, none, some);
    if (step->squads && step->least <= CUDA_SQUAD_LONG) {
        struct ir_expr *is_short = ir_operation(kernel, OP_LT, inner_length(kernel, step),
                                                ir_integer(kernel, AKG_INT64, CUDA_LONG), NULL);
        struct ir_expr *is_many = ir_operation(
            kernel, OP_GE, some,
            ir_operation(kernel, OP_SELECT, at_least(kernel, step, CUDA_SQUAD_LONG / 4 + 1),
                         ir_integer(kernel, AKG_INT64, plan->options->spread ? 1 : CUDA_MANY * 4),
                         ir_integer(kernel, AKG_INT64, plan->options->spread ? 1 : CUDA_MANY)),
            NULL);
        struct ir_expr *fits = ir_operation(kernel, OP_LE, inner_length(kernel, step),
                                            ir_integer(kernel, AKG_INT64, CUDA_SQUAD_LONG), NULL);
        struct ir_expr *suits =
            ir_operation(kernel, OP_AND, fits, ir_operation(kernel, OP_OR, is_short, is_many, NULL), NULL);
        some = step->kind == CUDA_STEP_SQUADS ? ir_operation(kernel, OP_SELECT, suits, some, none)
                                              : ir_operation(kernel, OP_SELECT, suits, none, some);
    }
    if (step->least)
        some = ir_operation(kernel, OP_SELECT, at_least(kernel, step, step->least), some, none);
    if (step->most && step->most < INT64_MAX)
        some = ir_operation(kernel, OP_SELECT, at_least(kernel, step, step->most + 1), none, some);
    return step->least >= few ? some : ir_operation(kernel, OP_SELECT, is_long, some, none);
}

/*
 * vector_plan_share.c: what of a kernel may run in any order, and which loops threads may share.
 *
 * Consumes loops of an optimised kernel; analyses a copy of each that is asked about, once, and asks split.c.
 * Which loops are shared is found first: outer loops are looked at with the inner ones.
 */
#include "split.h"
#include "vector_plan_private.h"

/* ---- what may run in any order ------------------------------------------------------------- */

/* Whether the analysis says what of the loop, or all that can be said. Of a large nest not everything is
 * decided: a loop of it alone may be. */
static bool tells(const struct dependences *dependences, const struct ir_stmt *loop)
{
    const struct dependence_loop *row = dependence_loop_is_parallel(dependences, loop);

    return row && (row->verdict != DEPENDENCE_UNDECIDED || dependences->loops.items[0].stmt == loop);
}

/* Loops that passes made of a product of matrices are many and hard, and are known to be independent: so
 * never more is looked at than is asked about. */
const struct dependences *plan_dependences_of(struct planning *planning, const struct ir_stmt *loop)
{
    struct arena *arena = &planning->plan->arena;

    for (int k = planning->known.count - 1; k >= 0; k--)
        if (tells(planning->known.items[k], loop))
            return planning->known.items[k];
    struct ir_kernel *kernel = arena_new(arena, struct ir_kernel);
    struct ir_stmt *copy = arena_new(arena, struct ir_stmt);
    *kernel = *planning->kernel;
    kernel->arena = arena;
    kernel->body = copy;
    *copy = *loop;
    copy->next = NULL;
    const struct dependences *dependences = dependence_judge(kernel, NULL);
    for (int k = 0; k < dependences->loops.count; k++)
        if (dependences->loops.items[k].stmt == copy)
            dependences->loops.items[k].stmt = (struct ir_stmt *)loop;
    for (int k = 0; k < dependences->accesses.count; k++)
        if (dependences->accesses.items[k].stmt == copy)
            dependences->accesses.items[k].stmt = (struct ir_stmt *)loop;
    list_push(arena, &planning->known, dependences);
    return dependences;
}

bool plan_is_parallel(struct planning *planning, const struct ir_stmt *stmt)
{
    if (stmt->independent || stmt->in_turn)
        return stmt->independent;
    const struct dependence_loop *loop =
        dependence_loop_is_parallel(plan_dependences_of(planning, stmt), stmt);
    return loop && loop->verdict == DEPENDENCE_PARALLEL && !loop->leaves && !loop->incomplete;
}

/* ---- what is shared --------------------------------------------------------------------------- */

static bool is_unmarked(struct ir_stmt *stmt, void *unused)
{
    (void)unused;
    return !stmt->independent;
}

/* Whether it goes over a product in tiles and is not known to be independent, as those inside are: it
 * accumulates what these add, and to ask the analysis, of loops as hard as they come, takes milliseconds. */
static bool accumulates_tiles(const struct ir_stmt *loop)
{
    return loop->step != 1 && !loop->independent && !ir_block_walk(loop->body, is_unmarked, NULL);
}

/* How many accesses of each buffer there are. */
struct accesses {
    int64_t stores, loads;
};

static bool count_store(struct ir_stmt *stmt, void *accesses)
{
    if (stmt->kind == IR_STORE)
        ((struct accesses *)accesses)[stmt->access.buffer->index].stores++;
    return true;
}

static bool count_load(struct ir_expr *expr, void *accesses)
{
    if (expr->kind == IR_LOAD)
        ((struct accesses *)accesses)[expr->access.buffer->index].loads++;
    return true;
}

/* Whether to find out whether the loop may be shared takes no more time than is left: passes may have made
 * many copies of what is in it, and each store is held against all other accesses of the buffer, again for
 * each loop inside of one that may not be shared. What is not asked is not shared. */
static bool is_affordable(struct planning *planning, const struct ir_stmt *loop)
{
    const int64_t most = 1 << 12;
    int64_t pairs = 0;
    struct accesses *accesses =
        arena_array(&planning->plan->arena, struct accesses, planning->kernel->buffers.count);
    ir_block_walk(loop->body, count_store, accesses);
    ir_block_expressions(loop->body, count_load, accesses);
    for (int k = 0; k < planning->kernel->buffers.count; k++)
        pairs += accesses[k].stores * (accesses[k].stores + accesses[k].loads);
    if (planning->asked + pairs > most)
        return false;
    planning->asked += pairs;
    return true;
}

static bool may_be_shared(struct planning *planning, const struct ir_stmt *loop)
{
    if (loop->independent && loop->step != 1 && split_has_own(loop))
        return split_end_of_strips(loop) != NULL;
    if (accumulates_tiles(loop))
        return false;
    if (split_is_closed(loop))
        return loop->independent || (!loop->in_turn && is_affordable(planning, loop) &&
                                     split_is_possible(plan_dependences_of(planning, loop), loop));
    return loop->reductions.count && is_affordable(planning, loop) &&
           split_only_accumulates(plan_dependences_of(planning, loop), loop, planning->options->strict);
}

/* Loops around loops that may not be split may hold some that may; so may those over panels, of which there
 * may be but one. */
static void find_shares(struct planning *planning, const struct ir_stmt *first, int depth)
{
    enum { MOST = 100, DEEPEST = 200 };
    struct vector_plan *plan = planning->plan;
    if (depth > DEEPEST)
        return;
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && plan->shared.count < MOST && may_be_shared(planning, stmt)) {
            list_push(&plan->arena, &plan->shared, stmt);
            if ((stmt->independent && split_grain(stmt) == 1) || split_has_own(stmt))
                find_shares(planning, stmt->body, depth + 1);
            continue;
        }
        if (!plan_leaves_out(planning, stmt))
            find_shares(planning, stmt->body, depth + 1);
        find_shares(planning, stmt->otherwise, depth + 1);
    }
}

void plan_shares(struct planning *planning)
{
    find_shares(planning, planning->kernel->body, 0);
}

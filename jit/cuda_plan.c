/*
 * cuda_plan.c: see cuda_plan.h.
 */
#include "cuda_plan.h"
#include "cuda_best.h"
#include "cuda_cross.h"
#include "cuda_frame.h"
#include "cuda_round.h"
#include "cuda_row.h"
#include "cuda_scan.h"
#include "cuda_spread.h"
#include "cuda_tile.h"
#include "pass.h"

#include <string.h>

/* ---- what stands where ---------------------------------------------------------- */

static bool count_read(struct ir_expr *expr, void *context)
{
    int *uses = context;
    if (expr->kind == IR_SYMBOL)
        uses[expr->symbol->slot]++;
    return true;
}

/* Reads in the statement itself and in what it holds, but not in those after it. */
static void count_reads(const struct ir_stmt *stmt, int *uses)
{
    ir_stmt_expressions((struct ir_stmt *)stmt, count_read, uses);
    ir_block_expressions(stmt->body, count_read, uses);
    ir_block_expressions(stmt->otherwise, count_read, uses);
}

struct search {
    const struct ir_symbol *symbol;
    int found;
};

static bool count_symbol(struct ir_expr *expr, void *context)
{
    struct search *search = context;
    search->found += expr->kind == IR_SYMBOL && expr->symbol == search->symbol;
    return true;
}

bool cuda_block_reads(const struct ir_stmt *block, const struct ir_symbol *symbol)
{
    struct search search = {.symbol = symbol};
    ir_block_expressions((struct ir_stmt *)block, count_symbol, &search);
    return search.found > 0;
}

bool cuda_lives_inside(const struct cuda_plan *plan, const struct ir_stmt *loop,
                       const struct ir_symbol *symbol)
{
    struct search search = {.symbol = symbol};
    ir_stmt_expressions((struct ir_stmt *)loop, count_symbol, &search);
    ir_block_expressions(loop->body, count_symbol, &search);
    return search.found == plan->uses[symbol->slot];
}

/* Loads of inputs only, and nothing that may stop: the same value whenever it is computed. */
static bool is_fixed(struct ir_expr *expr)
{
    return !pass_expr_may_stop(expr) && ir_expr_loads_only_inputs(expr);
}

static bool is_settled_value(struct ir_expr *expr);

static bool is_settled_use(struct ir_expr *expr, void *context)
{
    const struct ir_symbol *symbol = expr->kind == IR_SYMBOL ? expr->symbol : NULL;
    (void)context;
    if (!symbol || symbol->kind == IR_SYMBOL_DIM || symbol->kind == IR_SYMBOL_ATTRIBUTE ||
        symbol->kind == IR_SYMBOL_LOOP)
        return true;
    return symbol->kind == IR_SYMBOL_LET && symbol->value && is_settled_value(symbol->value);
}

static bool is_settled_value(struct ir_expr *expr)
{
    return is_fixed(expr) && ir_expr_walk(expr, is_settled_use, NULL);
}

bool cuda_is_settled(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_LET && is_settled_value(stmt->value);
}

bool cuda_begins_settled(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_VARIABLE && is_settled_value(stmt->value);
}

/* ---- loops that may be shared ------------------------------------------------------ */

/* A temporary small enough, and of a size known now, for each thread to have one. */
static bool fits_thread(const struct ir_buffer *buffer)
{
    int64_t bytes = dtype_table[buffer->dtype].size;
    for (int axis = 0; axis < buffer->rank; axis++) {
        const struct ir_expr *extent = buffer->shape[axis];
        if (extent->kind != IR_INTEGER || extent->integer < 0 || extent->integer > CUDA_LOCAL_BYTES)
            return false;
        bytes *= extent->integer;
        if (bytes > CUDA_LOCAL_BYTES)
            return false;
    }
    return true;
}

static bool needs_no_scratch(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_ALLOCATE || stmt->access.buffer->unused || fits_thread(stmt->access.buffer);
}

bool cuda_needs_scratch(const struct ir_stmt *block)
{
    return !ir_block_walk((struct ir_stmt *)block, needs_no_scratch, NULL);
}

static const struct dependence_loop *row_of(const struct cuda_plan *plan, const struct ir_stmt *loop)
{
    return loop->kind == IR_FOR ? dependence_loop_is_parallel(plan->dependences, loop) : NULL;
}

/* Private scalars are not needed after the loop, and none is accumulated, or what is can be combined. */
static bool scalars_allow(const struct cuda_plan *plan, const struct dependence_loop *row, bool sums)
{
    const struct dependences *all = plan->dependences;
    for (int k = 0; k < all->scalars.count; k++) {
        const struct dependence_scalar *scalar = &all->scalars.items[k];
        if (&all->loops.items[scalar->loop] != row)
            continue;
        if (scalar->use == DEPENDENCE_PRIVATE && !cuda_lives_inside(plan, row->stmt, scalar->symbol))
            return false;
        if (scalar->use == DEPENDENCE_REDUCTION && !sums)
            return false;
        if (scalar->use != DEPENDENCE_PRIVATE && scalar->use != DEPENDENCE_REDUCTION)
            return false;
    }
    return true;
}

/* ---- accumulating into elements ---------------------------------------------------------- */

bool cuda_add_of(const struct ir_stmt *store, struct cuda_add *add)
{
    const struct ir_expr *value = store->value;
    int size = dtype_table[store->access.buffer->dtype].size;
    if (store->kind != IR_STORE || value->kind != IR_OPERATION || value->count != 2 ||
        (size != 4 && size != 8))
        return false;
    add->negative = value->operation == OP_SUB;
    add->operation = add->negative ? OP_ADD : value->operation;
    for (int k = 0; k < (add->negative ? 1 : 2); k++) {
        const struct ir_expr *target = value->operands[k];
        if (target->kind != IR_LOAD || target->access.buffer != store->access.buffer)
            continue;
        bool same = true;
        for (int axis = 0; axis < store->access.buffer->rank; axis++)
            same &= ir_expr_equal(target->access.indices[axis], store->access.indices[axis]);
        add->value = value->operands[1 - k];
        if (same)
            return true;
    }
    return false;
}

/* The loop that carries a dependence, or NULL. */
static const struct dependence_loop *carrier(const struct dependences *all, const struct dependence *item)
{
    if (item->level == item->depth)
        return NULL;
    int loop = all->accesses.items[item->source].loop;
    while (all->loops.items[loop].depth > item->level)
        loop = all->loops.items[loop].parent;
    return &all->loops.items[loop];
}

/* Whether the order of the additions shows. */
static bool is_exact(const struct ir_stmt *store, enum operation operation)
{
    return !dtype_is_float(store->access.buffer->dtype) || operation == OP_MIN || operation == OP_MAX;
}

/* Everything that the loop's iterations accumulate into the same elements can be done atomically. */
static bool adds_allow(const struct cuda_plan *plan, const struct dependence_loop *row)
{
    const struct dependences *all = plan->dependences;
    for (int k = 0; k < all->items.count; k++) {
        const struct dependence *item = &all->items.items[k];
        struct cuda_add add;
        if (!item->reduction || carrier(all, item) != row)
            continue;
        for (int side = 0; side < 2; side++) {
            const struct dependence_access *access = &all->accesses.items[side ? item->sink : item->source];
            if (!cuda_add_of(access->stmt, &add) ||
                (plan->options->deterministic && !is_exact(access->stmt, add.operation)))
                return false;
        }
    }
    return true;
}

bool cuda_is_atomic(const struct cuda_plan *plan, const struct cuda_chain *chain, const struct ir_stmt *store)
{
    const struct dependences *all = plan->dependences;
    for (int k = 0; k < all->items.count; k++) {
        const struct dependence *item = &all->items.items[k];
        const struct dependence_loop *row = item->reduction ? carrier(all, item) : NULL;
        if (!row || (all->accesses.items[item->source].stmt != store &&
                     all->accesses.items[item->sink].stmt != store))
            continue;
        for (int loop = 0; loop < chain->count; loop++)
            if (chain->loops[loop] == row->stmt)
                return true;
    }
    return false;
}

/* ---- the verdict on a loop ------------------------------------------------------------------ */

bool cuda_combines(enum operation operation)
{
    switch (operation) {
    case OP_ADD:
    case OP_MUL:
    case OP_MIN:
    case OP_MAX:
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
        return true;
    default:
        return false;
    }
}

static int count_sums(const struct cuda_plan *plan, const struct dependence_loop *row)
{
    const struct dependences *all = plan->dependences;
    int count = 0;
    for (int k = 0; k < all->scalars.count; k++) {
        const struct dependence_scalar *scalar = &all->scalars.items[k];
        if (&all->loops.items[scalar->loop] != row || scalar->use != DEPENDENCE_REDUCTION)
            continue;
        count = cuda_combines(scalar->reduction) ? count + 1 : CUDA_SUMS + 1;
    }
    return count;
}

enum cuda_share cuda_share_of(const struct cuda_plan *plan, const struct ir_stmt *loop)
{
    const struct dependence_loop *row = row_of(plan, loop);
    if (!row || cuda_needs_scratch(loop->body))
        return CUDA_SHARE_NONE;
    if (row->verdict == DEPENDENCE_PARALLEL && scalars_allow(plan, row, false))
        return CUDA_SHARE_ANY;
    if (row->verdict != DEPENDENCE_ACCUMULATES && cuda_best_of(loop, &(struct cuda_best){.counter_count = 0}))
        return CUDA_SHARE_BEST;
    if (row->verdict != DEPENDENCE_ACCUMULATES)
        return cuda_scan_of(plan, loop, &(struct cuda_scan){.count = 0}) ? CUDA_SHARE_SCAN : CUDA_SHARE_NONE;
    if (row->reduction < 0)
        return scalars_allow(plan, row, true) && count_sums(plan, row) <= CUDA_SUMS ? CUDA_SHARE_SUMS
                                                                                    : CUDA_SHARE_NONE;
    return scalars_allow(plan, row, false) && adds_allow(plan, row) ? CUDA_SHARE_ADDS : CUDA_SHARE_NONE;
}

void cuda_sums_of(const struct cuda_plan *plan, const struct cuda_chain *chain, struct cuda_sums *sums)
{
    const struct dependences *all = plan->dependences;
    sums->count = 0;
    for (int k = 0; k < all->scalars.count; k++) {
        const struct dependence_scalar *scalar = &all->scalars.items[k];
        if (all->loops.items[scalar->loop].stmt == chain->loops[0] && scalar->use == DEPENDENCE_REDUCTION)
            sums->items[sums->count++] = scalar;
    }
}

/* A team leaves atomic additions to the grid. */
bool cuda_team_shares(const struct cuda_plan *plan, const struct ir_stmt *stmt)
{
    enum cuda_share share = stmt->kind == IR_FOR ? cuda_share_of(plan, stmt) : CUDA_SHARE_NONE;
    return share == CUDA_SHARE_ANY || share == CUDA_SHARE_SUMS || share == CUDA_SHARE_BEST ||
           share == CUDA_SHARE_SCAN;
}

static bool is_unshared(struct ir_stmt *stmt, void *context)
{
    return !cuda_team_shares(context, stmt);
}

bool cuda_has_shared(const struct cuda_plan *plan, const struct ir_stmt *block)
{
    return !ir_block_walk((struct ir_stmt *)block, is_unshared, (void *)plan);
}

/* ---- chains ------------------------------------------------------------------------- */

/* The one loop in a body that holds nothing else but LETs before it. */
static const struct ir_stmt *only_loop(const struct ir_stmt *body)
{
    while (body && body->kind == IR_LET)
        body = body->next;
    return body && body->kind == IR_FOR && !body->next ? body : NULL;
}

static bool mentions(const struct ir_stmt *loop, const struct ir_symbol *symbol)
{
    return pass_mentions(loop->low, symbol) || pass_mentions(loop->high, symbol);
}

/* The bounds hang on no variable of the chain and on no LET in it. */
static bool has_own_bounds(const struct cuda_chain *chain, const struct ir_stmt *loop)
{
    for (int k = 0; k < chain->count; k++) {
        if (mentions(loop, chain->loops[k]->symbol))
            return false;
        for (const struct ir_stmt *stmt = chain->loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next)
            if (mentions(loop, stmt->symbol))
                return false;
    }
    return is_fixed(loop->low) && is_fixed(loop->high);
}

/* LETs between the loops are computed once for each iteration of the inner one. */
static bool lets_are_fixed(const struct ir_stmt *body)
{
    for (; body->kind == IR_LET; body = body->next)
        if (!is_fixed(body->value))
            return false;
    return true;
}

void cuda_chain_of(const struct cuda_plan *plan, const struct ir_stmt *loop, enum cuda_share share,
                   struct cuda_chain *chain)
{
    *chain = (struct cuda_chain){.loops = {loop}, .count = 1};
    while (chain->count < CUDA_CHAIN) {
        const struct ir_stmt *inner = only_loop(loop->body);
        enum cuda_share also = inner ? cuda_share_of(plan, inner) : CUDA_SHARE_NONE;
        bool fits = also == share || (share == CUDA_SHARE_ADDS && also == CUDA_SHARE_ANY);
        if (!fits || !lets_are_fixed(loop->body) || !has_own_bounds(chain, inner))
            break;
        chain->loops[chain->count++] = loop = inner;
    }
    chain->fastest = share == CUDA_SHARE_BEST ? chain->count - 1 : cuda_fastest_of(chain);
}

/* ---- steps ----------------------------------------------------------------------------- */

/* So few iterations, whatever the call, that a block does them as fast as a grid. */
static bool is_small(const struct cuda_chain *chain)
{
    enum { SMALL = 4096 };
    int64_t iterations = 1, distance;
    for (int k = 0; k < chain->count; k++) {
        const struct ir_expr *low = chain->loops[k]->low, *high = chain->loops[k]->high;
        if (low->kind != IR_INTEGER || high->kind != IR_INTEGER ||
            __builtin_sub_overflow(high->integer, low->integer, &distance) || distance > SMALL)
            return false;
        iterations *= distance > 0 ? distance : 0;
        if (iterations > SMALL)
            return false;
    }
    return true;
}

static bool is_parallel(const struct cuda_plan *plan, const struct ir_stmt *loop)
{
    const struct dependence_loop *row = row_of(plan, loop);
    return row && row->verdict == DEPENDENCE_PARALLEL && scalars_allow(plan, row, false);
}

/* Loops in any order around what needs memory for each iteration, which a block has then. */
static void parallel_chain(const struct cuda_plan *plan, const struct ir_stmt *loop, struct cuda_chain *chain)
{
    *chain = (struct cuda_chain){.loops = {loop}, .count = 1};
    while (chain->count < CUDA_CHAIN) {
        const struct ir_stmt *inner = only_loop(loop->body);
        if (!inner || !is_parallel(plan, inner) || !lets_are_fixed(loop->body) ||
            !has_own_bounds(chain, inner) || !cuda_needs_scratch(inner->body))
            break;
        chain->loops[chain->count++] = loop = inner;
    }
    chain->fastest = chain->count - 1;
}

/* The loops at the top of a nest that the grid may share; false when there are none. */
static bool grid_chain(struct cuda_plan *plan, const struct ir_stmt *loop, struct cuda_step *step)
{
    const struct dependence_loop *row = row_of(plan, loop);
    enum cuda_share share = cuda_share_of(plan, loop);
    if (!row || !is_fixed(loop->low) || !is_fixed(loop->high))
        return false;
    *step = (struct cuda_step){.first = loop, .count = 1, .collects = -1};
    if (share != CUDA_SHARE_NONE && share != CUDA_SHARE_SCAN) {
        cuda_chain_of(plan, loop, share, &step->chain);
        step->best = share == CUDA_SHARE_BEST;
        step->sums = share == CUDA_SHARE_SUMS || step->best;
        step->adds = share == CUDA_SHARE_ADDS;
        return !step->sums || !is_small(&step->chain);
    }
    if (!is_parallel(plan, loop))
        return false;
    parallel_chain(plan, loop, &step->chain);
    return true;
}

static void add_step(struct cuda_plan *plan, struct cuda_step step)
{
    step.round = plan->round;
    list_push(plan->arena, &plan->steps, step);
}

/* Temporaries are the block's while a team goes through the statements, the thread's where a loop is shared.
 */
static void place_temporaries(struct cuda_plan *plan, const struct ir_stmt *block, enum cuda_life life)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        bool shares = cuda_team_shares(plan, stmt);
        if (stmt->kind == IR_ALLOCATE)
            plan->lives[stmt->access.buffer->index] = life;
        place_temporaries(plan, stmt->body, shares ? CUDA_LIFE_THREAD : life);
        place_temporaries(plan, stmt->otherwise, life);
    }
}

/* Steps for tiles of each size, of which a call takes one, or the step as it is. */
static void take_tiles(struct cuda_plan *plan, struct cuda_step *step)
{
    struct cuda_tiling tiling, *kept;
    if (step->sums || step->adds || !cuda_tiling_of(plan, &step->chain, &tiling))
        return;
    kept = arena_new(plan->arena, struct cuda_tiling);
    *kept = tiling;
    step->tiling = kept;
    if (tiling.splits) {
        struct cuda_step part = *step, join = *step;
        part.kind = CUDA_STEP_TILES;
        part.parts = 1;
        part.splits = true;
        join.kind = CUDA_STEP_JOIN;
        add_step(plan, part);
        add_step(plan, join);
    }
    if (tiling.cores) {
        struct cuda_step wide = *step;
        wide.kind = CUDA_STEP_TILES;
        wide.wide = true;
        add_step(plan, wide);
    }
    for (int parts = tiling.most_parts; parts > 0; parts--) {
        struct cuda_step tiles = *step;
        tiles.kind = CUDA_STEP_TILES;
        tiles.parts = parts;
        add_step(plan, tiles);
    }
}

static struct cuda_crossing *keep_crossing(struct cuda_plan *plan, const struct cuda_crossing *crossing)
{
    struct cuda_crossing *kept = arena_new(plan->arena, struct cuda_crossing);
    *kept = *crossing;
    return kept;
}

/* Steps for squares, besides the step as it is. */
static void take_cross(struct cuda_plan *plan, struct cuda_step *step)
{
    struct cuda_crossing crossing;
    if (step->tiling || step->sums || step->adds || !cuda_crossing_of(&step->chain, &crossing))
        return;
    struct cuda_step cross = *step;
    cross.kind = CUDA_STEP_CROSS;
    for (crossing.edge = cuda_crossing_edge(&crossing); crossing.edge >= CUDA_CROSS_EDGE;
         crossing.edge /= 2) {
        cross.crossing = keep_crossing(plan, &crossing);
        crossing.larger = cross.crossing;
        add_step(plan, cross);
    }
    step->crossing = cross.crossing;
}

/* Steps for the phases of a nest that several blocks share, for calls that have few iterations outside. */
static void take_spread(struct cuda_plan *plan, struct cuda_step *step)
{
    struct cuda_spread spread, *kept;
    if (step->sums || step->adds || !cuda_spread_of(plan, &step->chain, &spread))
        return;
    kept = arena_new(plan->arena, struct cuda_spread);
    *kept = spread;
    step->spread = kept;
    struct cuda_step phase = *step;
    for (phase.phase = 0; phase.phase < kept->count; phase.phase++) {
        phase.kind = CUDA_STEP_SPREAD;
        add_step(plan, phase);
        phase.kind = CUDA_STEP_GATHER;
        if (cuda_spread_joins(kept, phase.phase))
            add_step(plan, phase);
    }
}

/* Whether it may be either way, and a call knows which one is better: of what may stop it does not, for the
 * program may never come there. */
static bool is_for_calls(struct cuda_plan *plan, const struct cuda_step *step)
{
    struct cuda_chain inner = {.loops = {step->inner}, .count = 1};
    const struct ir_stmt *body = cuda_chain_body(&step->chain);
    return step->inner && !step->sums && !pass_expr_may_stop(step->inner->low) &&
           !pass_expr_may_stop(step->inner->high) && cuda_chain_work(plan->kernel, &step->chain) &&
           cuda_chain_work(plan->kernel, &inner) && !ir_block_allocates(body);
}

static bool is_no_scan(struct ir_stmt *stmt, void *context)
{
    return stmt->kind != IR_FOR || cuda_share_of(context, stmt) != CUDA_SHARE_SCAN;
}

/* Rows that threads keep in registers: a step for each class of lengths; false where there are none. */
static bool add_rows(struct cuda_plan *plan, struct cuda_step step)
{
    struct cuda_row_class classes[CUDA_ROW_CLASSES];
    int count = cuda_row_classes(plan, cuda_chain_body(&step.chain), step.squads, classes);
    for (int k = 0; k < count; k++) {
        step.kind = classes[k].is_squad ? CUDA_STEP_SQUADS : CUDA_STEP_TEAMS;
        step.threads = classes[k].threads;
        step.words = classes[k].words;
        step.packs = classes[k].packs;
        step.least = classes[k].least;
        step.most = classes[k].most;
        add_step(plan, step);
    }
    return count > 0;
}

static void take_nest(struct cuda_plan *plan, struct cuda_step step)
{
    step.kind = !step.adds && cuda_wants_team(plan, &step) ? CUDA_STEP_TEAMS : CUDA_STEP_THREADS;
    take_tiles(plan, &step);
    take_spread(plan, &step);
    if (step.kind == CUDA_STEP_THREADS) {
        step.inner = NULL;
        take_cross(plan, &step);
        add_step(plan, step);
    } else if (is_for_calls(plan, &step)) {
        struct cuda_step other = step;
        other.squads = step.squads =
            ir_block_walk((struct ir_stmt *)cuda_chain_body(&step.chain), is_no_scan, plan);
        other.kind = CUDA_STEP_THREADS;
        add_step(plan, other);
        if (!add_rows(plan, step)) {
            other.kind = CUDA_STEP_SQUADS;
            if (other.squads)
                add_step(plan, other);
            add_step(plan, step);
        }
    } else {
        step.inner = NULL;
        add_step(plan, step);
    }
    place_temporaries(plan, cuda_chain_body(&step.chain),
                      step.kind == CUDA_STEP_TEAMS ? CUDA_LIFE_BLOCK : CUDA_LIFE_THREAD);
}

/* A loop at the top whose iterations the grid can share though they hang on each other. */
static bool grid_scans(struct cuda_plan *plan, const struct ir_stmt *loop, struct cuda_step *step)
{
    struct cuda_chain chain = {.loops = {loop}, .count = 1};
    if (loop->kind != IR_FOR || cuda_share_of(plan, loop) != CUDA_SHARE_SCAN || is_small(&chain) ||
        !is_fixed(loop->low) || !is_fixed(loop->high) || !cuda_chain_work(plan->kernel, &chain))
        return false;
    *step = (struct cuda_step){
        .kind = CUDA_STEP_PARTS, .first = loop, .count = 1, .chain = chain, .collects = -1};
    return true;
}

static void take_scan(struct cuda_plan *plan, struct cuda_step step)
{
    add_step(plan, step);
    step.kind = CUDA_STEP_SCAN;
    add_step(plan, step);
}

static void clear_buffer(struct cuda_plan *plan, const struct ir_buffer *buffer)
{
    const struct cuda_frame *frame = buffer->role == IR_OUTPUT ? cuda_frame_of(plan->kernel, buffer) : NULL;
    if (!frame || !cuda_frame_is_empty(frame, buffer))
        add_step(plan, (struct cuda_step){
                           .kind = CUDA_STEP_CLEAR, .cleared = buffer, .frame = frame, .collects = -1});
}

/* Whether every step up to the one that assigns the variable can begin it itself. That one must run in each
 * call. */
static bool begins_anywhere(struct cuda_plan *plan, const struct ir_stmt *variable)
{
    struct cuda_step step;
    if (plan->round || !cuda_begins_settled(variable))
        return false;
    for (const struct ir_stmt *stmt = variable->next; stmt; stmt = stmt->next)
        if (stmt->kind == IR_FOR && ir_block_assigns(stmt->body, variable->symbol) &&
            !(grid_chain(plan, stmt, &step) && step.sums) &&
            !(grid_scans(plan, stmt, &step) && cuda_lives_inside(plan, stmt, variable->symbol)))
            return false;
    return true;
}

/* Statements that one block is to go through; settled LETs alone are none, nor are variables at the top that
 * begin so, unless sums are to be combined. */
static void take_team(struct cuda_plan *plan, const struct ir_stmt *first, int count)
{
    int last = plan->steps.count - 1;
    bool any = last >= 0 && plan->steps.items[last].sums;
    int collects = any ? last : -1;
    const struct ir_stmt *stmt = first;
    for (int k = 0; k < count; k++, stmt = stmt->next) {
        any |= !cuda_is_settled(stmt) && stmt->kind != IR_ALLOCATE && !begins_anywhere(plan, stmt);
        if (cuda_team_shares(plan, stmt))
            place_temporaries(plan, stmt->body, CUDA_LIFE_THREAD);
        else if (stmt->kind != IR_ALLOCATE)
            place_temporaries(plan, stmt->body, CUDA_LIFE_CALL);
    }
    if (any)
        add_step(plan, (struct cuda_step){
                           .kind = CUDA_STEP_TEAM, .first = first, .count = count, .collects = collects});
}

static void plan_steps(struct cuda_plan *plan, const struct ir_stmt *body);

/* Whether the grid could share anything that stands in the block. */
static bool has_grid(struct cuda_plan *plan, const struct ir_stmt *block)
{
    struct cuda_step step;
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_FOR && (grid_chain(plan, stmt, &step) || grid_scans(plan, stmt, &step)))
            return true;
    return false;
}

/* The loop by one block, and the launches of its body: a call takes the one or the other. */
static void take_round(struct cuda_plan *plan, const struct ir_stmt *loop)
{
    list_push(plan->arena, &plan->rounds, loop);
    add_step(plan, (struct cuda_step){
                       .kind = CUDA_STEP_TEAM, .first = loop, .count = 1, .collects = -1, .instead = true});
    plan->round = loop;
    plan_steps(plan, loop->body);
    plan->round = NULL;
}

static void plan_steps(struct cuda_plan *plan, const struct ir_stmt *body)
{
    const struct ir_stmt *first = body;
    struct cuda_step nest;
    int count = 0;

    for (const struct ir_stmt *stmt = body; stmt; stmt = stmt->next) {
        bool clears = stmt->kind == IR_ALLOCATE && stmt->access.buffer->clear && !stmt->access.buffer->unused;
        bool shares = stmt->kind == IR_FOR && grid_chain(plan, stmt, &nest);
        bool scans = !shares && grid_scans(plan, stmt, &nest);
        bool round =
            !plan->round && !shares && !scans && cuda_round_allows(plan, stmt) && has_grid(plan, stmt->body);
        if (!clears && !shares && !scans && !round) {
            count++;
            continue;
        }
        take_team(plan, first, count);
        if (clears)
            clear_buffer(plan, stmt->access.buffer);
        else if (scans)
            take_scan(plan, nest);
        else if (round)
            take_round(plan, stmt);
        else
            take_nest(plan, nest);
        first = stmt->next;
        count = 0;
    }
    take_team(plan, first, count);
}

static bool is_round(const struct cuda_plan *plan, const struct ir_stmt *loop)
{
    for (int k = 0; k < plan->rounds.count; k++)
        if (plan->rounds.items[k] == loop)
            return true;
    return false;
}

static void note_tops(struct cuda_plan *plan, const struct ir_stmt *block, const struct ir_stmt *round)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE)
            list_push(plan->arena, &plan->tops, ((struct cuda_top){stmt, round}));
        if (is_round(plan, stmt))
            note_tops(plan, stmt->body, stmt);
    }
}

void cuda_plan_make(struct cuda_plan *plan, struct arena *arena, struct ir_kernel *kernel,
                    const struct cuda_options *options)
{
    *plan = (struct cuda_plan){.arena = arena, .kernel = kernel, .options = options};
    plan->dependences = dependence_judge(kernel, NULL);
    plan->uses = arena_array(arena, int, kernel->slot_count);
    plan->lives = arena_array(arena, enum cuda_life, kernel->buffers.count);
    for (const struct ir_stmt *stmt = kernel->body; stmt; stmt = stmt->next)
        count_reads(stmt, plan->uses);
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        if (buffer->role == IR_OUTPUT && buffer->clear)
            clear_buffer(plan, buffer);
    }
    plan_steps(plan, kernel->body);
    note_tops(plan, kernel->body, NULL);
}

/*
 * cuda_spread.c: see cuda_spread.h.
 */
#include "cuda_spread.h"

#include "cuda_access.h"
#include "pass.h"

enum {
    LONG_ACROSS = 64,      /* an inner loop for several blocks, where accesses run along the outer ones */
    LONG_INSIDE = 16384,   /* and where they run along it */
    MANY_ACROSS = 1 << 18, /* outer iterations: so many keep a device busy, each with a thread */
    MANY_INSIDE = 512      /* or with a block */
};

/* ---- what is in the nest -------------------------------------------------------------------- */

struct symbols {
    const struct ir_stmt *body;
    bool good;
};

static bool is_declaration(const struct ir_stmt *stmt, const struct ir_symbol *symbol)
{
    return (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE) && stmt->symbol == symbol;
}

/* What it assigns it declares. */
static bool is_own(struct ir_stmt *stmt, void *context)
{
    struct symbols *symbols = context;
    if (stmt->kind == IR_ALLOCATE || stmt->kind == IR_ASSERT || stmt->kind == IR_WHILE)
        symbols->good = false;
    if (stmt->kind == IR_ASSIGN)
        symbols->good &= ir_block_declares(symbols->body, stmt->symbol);
    return true;
}

bool cuda_spread_uses(const struct ir_stmt *first, const struct ir_stmt *end, const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = first; stmt != end; stmt = stmt->next) {
        struct ir_stmt alone = *stmt;
        alone.next = NULL;
        if (cuda_block_reads(&alone, symbol) || ir_stmt_assigns(stmt, symbol))
            return true;
    }
    return false;
}

const struct ir_stmt *cuda_spread_behind(const struct cuda_spread *spread, int phase)
{
    return spread->phases[phase].loop->next;
}

const struct ir_stmt *cuda_spread_end(const struct cuda_spread *spread, int phase)
{
    return phase + 1 < spread->count ? spread->phases[phase + 1].loop : NULL;
}

bool cuda_spread_joins(const struct cuda_spread *spread, int phase)
{
    return spread->phases[phase].sums || spread->phases[phase].best ||
           cuda_spread_behind(spread, phase) != cuda_spread_end(spread, phase);
}

/* ---- phases ------------------------------------------------------------------------------------ */

static bool sums_allow(const struct cuda_plan *plan, struct cuda_spread *spread,
                       const struct cuda_spread_phase *phase, const struct ir_stmt *body)
{
    struct cuda_sums sums;
    cuda_sums_of(plan, &phase->chain, &sums);
    for (int k = 0; k < sums.count; k++) {
        enum operation operation = sums.items[k]->reduction;
        bool is_exact =
            !dtype_is_float(sums.items[k]->symbol->dtype) || operation == OP_MIN || operation == OP_MAX;
        bool declared = false;
        for (const struct ir_stmt *stmt = body; stmt != phase->loop; stmt = stmt->next)
            declared |= is_declaration(stmt, sums.items[k]->symbol);
        if (!declared || (plan->options->deterministic && !is_exact))
            return false;
    }
    spread->most_sums = sums.count > spread->most_sums ? sums.count : spread->most_sums;
    return true;
}

static bool take_phase(const struct cuda_plan *plan, struct cuda_spread *spread, const struct ir_stmt *loop,
                       enum cuda_share share, const struct ir_stmt *body)
{
    if (spread->count == CUDA_SPREAD_LOOPS)
        return false;
    struct cuda_spread_phase *phase = &spread->phases[spread->count];
    phase->loop = loop;
    phase->sums = share == CUDA_SHARE_SUMS;
    phase->best = share == CUDA_SHARE_BEST;
    if (phase->best && spread->most_sums < 2)
        spread->most_sums = 2;
    cuda_chain_of(plan, loop, share, &phase->chain);
    phase->across = !cuda_runs_inside(plan, &spread->outer, loop);
    for (int k = 0; k < phase->chain.count; k++)
        if (!cuda_is_known_before(body, phase->chain.loops[k]->low) ||
            !cuda_is_known_before(body, phase->chain.loops[k]->high))
            return false;
    if (!cuda_chain_work(plan->kernel, &phase->chain) ||
        (phase->sums && !sums_allow(plan, spread, phase, body)))
        return false;
    spread->count++;
    return true;
}

static bool find_phases(const struct cuda_plan *plan, struct cuda_spread *spread, const struct ir_stmt *body)
{
    for (const struct ir_stmt *stmt = body; stmt; stmt = stmt->next) {
        enum cuda_share share =
            stmt->kind == IR_FOR && !cuda_is_short(stmt) ? cuda_share_of(plan, stmt) : CUDA_SHARE_NONE;
        if (share == CUDA_SHARE_SCAN || share == CUDA_SHARE_ADDS)
            return false;
        if (share != CUDA_SHARE_NONE && !take_phase(plan, spread, stmt, share, body))
            return false;
        if (share == CUDA_SHARE_NONE && stmt->kind == IR_FOR && !cuda_is_short(stmt))
            return false;
    }
    return spread->count > 0;
}

/* ---- what stands before the first loop, which is gone through twice ------------------------------ */

struct loads {
    const struct ir_stmt *loop;
    bool meets;
};

static bool meets_stores(struct ir_expr *expr, void *context)
{
    struct loads *loads = context;
    loads->meets |= expr->kind == IR_LOAD && cuda_uses_of(loads->loop->body, expr->access.buffer).stores > 0;
    return true;
}

static bool may_begin_twice(const struct cuda_spread *spread, const struct ir_stmt *body)
{
    struct loads loads = {.loop = spread->phases[0].loop};
    for (const struct ir_stmt *stmt = body; stmt != loads.loop; stmt = stmt->next) {
        struct ir_stmt alone = *stmt;
        alone.next = NULL;
        if (ir_block_stores(&alone))
            return false;
        ir_block_expressions(&alone, meets_stores, &loads);
    }
    return !loads.meets;
}

/* ---- scalars ------------------------------------------------------------------------------------- */

/* Those that are declared between the loops, and used by a loop that is not the next, or behind such a one.
 */
static bool find_lives(struct cuda_spread *spread, const struct ir_stmt *body)
{
    int part = 0; /* loops before the statement */
    for (const struct ir_stmt *stmt = body; stmt; stmt = stmt->next) {
        if (part < spread->count && stmt == spread->phases[part].loop)
            part++;
        int from = part ? part : 1;
        if ((stmt->kind != IR_LET && stmt->kind != IR_VARIABLE) || from >= spread->count ||
            !cuda_spread_uses(spread->phases[from].loop, NULL, stmt->symbol))
            continue;
        if (spread->live_count == CUDA_SPREAD_LIVES)
            return false;
        spread->lives[spread->live_count++] = stmt->symbol;
    }
    return true;
}

bool cuda_spread_of(const struct cuda_plan *plan, const struct cuda_chain *outer, struct cuda_spread *spread)
{
    const struct ir_stmt *body = cuda_chain_body(outer);
    struct symbols symbols = {body, true};
    *spread = (struct cuda_spread){.outer = *outer};
    ir_block_walk((struct ir_stmt *)body, is_own, &symbols);
    if (!symbols.good || pass_jumps((struct ir_stmt *)body) || pass_block_may_stop((struct ir_stmt *)body) ||
        !cuda_chain_work(plan->kernel, outer) || !find_phases(plan, spread, body) ||
        !may_begin_twice(spread, body) || !find_lives(spread, body))
        return false;
    return true;
}

/* ---- which way to go ----------------------------------------------------------------------------- */

static struct ir_expr *number(const struct cuda_plan *plan, int64_t value)
{
    return ir_integer(plan->kernel, AKG_INT64, value);
}

static struct ir_expr *apply(const struct cuda_plan *plan, enum operation operation, struct ir_expr *a,
                             struct ir_expr *b)
{
    return ir_operation(plan->kernel, operation, a, b, NULL);
}

static struct ir_expr *trips(const struct cuda_plan *plan, const struct cuda_chain *chain)
{
    return (struct ir_expr *)cuda_chain_work(plan->kernel, chain);
}

static struct ir_expr *pays(const struct cuda_plan *plan, const struct cuda_spread *spread)
{
    const struct cuda_spread_phase *first = &spread->phases[0];
    int64_t many = first->across ? MANY_ACROSS : MANY_INSIDE;
    int64_t is_long = plan->options->spread ? plan->options->spread
                      : first->across       ? LONG_ACROSS
                                            : LONG_INSIDE;
    return apply(plan, OP_AND, apply(plan, OP_LT, trips(plan, &spread->outer), number(plan, many)),
                 apply(plan, OP_GE, trips(plan, &first->chain), number(plan, is_long)));
}

/* Blocks: for each group of outer iterations as many as the terms of the loop are enough for. */
static struct ir_expr *blocks(const struct cuda_plan *plan, const struct cuda_spread *spread, int at)
{
    const struct cuda_spread_phase *phase = &spread->phases[at];
    int64_t least = plan->options->spread ? 1 : CUDA_SPREAD_TERMS;
    struct ir_expr *groups = trips(plan, &spread->outer), *deep = number(plan, CUDA_THREADS * least);
    if (phase->across) {
        struct ir_expr *is_wide = apply(plan, OP_GT, groups, number(plan, CUDA_SPREAD_LANES / 2));
        deep = ir_operation(plan->kernel, OP_SELECT, is_wide,
                            number(plan, CUDA_THREADS / CUDA_SPREAD_LANES * least),
                            number(plan, CUDA_THREADS / 8 * least));
        groups = apply(plan, OP_CEIL_DIV, groups, number(plan, CUDA_SPREAD_LANES));
    }
    struct ir_expr *enough = apply(plan, OP_FLOORDIV, trips(plan, &phase->chain), deep);
    struct ir_expr *splits = apply(plan, OP_MAX, enough, number(plan, 1));
    splits = apply(plan, OP_MIN, splits, number(plan, CUDA_SPREAD_BLOCKS));
    return apply(plan, OP_MIN, apply(plan, OP_MUL, groups, splits), number(plan, CUDA_SPREAD_BLOCKS));
}

const struct ir_expr *cuda_spread_work(const struct cuda_plan *plan, const struct cuda_spread *spread,
                                       int phase, bool joins, const struct ir_expr *otherwise)
{
    struct ir_expr *taken = apply(plan, OP_AND, pays(plan, spread),
                                  apply(plan, OP_GT, (struct ir_expr *)otherwise, number(plan, 0)));
    return ir_operation(plan->kernel, OP_SELECT, taken,
                        joins ? trips(plan, &spread->outer) : blocks(plan, spread, phase), number(plan, 0));
}

const struct ir_expr *cuda_spread_rest(const struct cuda_plan *plan, const struct cuda_spread *spread,
                                       const struct ir_expr *work)
{
    return ir_operation(plan->kernel, OP_SELECT, pays(plan, spread), number(plan, 0), (struct ir_expr *)work);
}

/* The number of parts, the scalars, and behind them all parts of sums, of which threads may have eight side
 * by side. */
const struct ir_expr *cuda_spread_words(const struct cuda_plan *plan, const struct cuda_spread *spread)
{
    enum { EACH = 8 };
    bool across = false;
    for (int k = 0; k < spread->count; k++)
        across |= spread->phases[k].across;
    int64_t most_parts = CUDA_SPREAD_BLOCKS * (across ? CUDA_SPREAD_LANES * EACH : 1);
    struct ir_expr *outer = trips(plan, &spread->outer);
    struct ir_expr *parts = apply(plan, OP_MUL, apply(plan, OP_ADD, outer, number(plan, most_parts)),
                                  number(plan, CUDA_SPREAD_FINER * spread->most_sums));
    struct ir_expr *words =
        apply(plan, OP_ADD, parts, apply(plan, OP_MUL, outer, number(plan, spread->live_count)));
    return ir_operation(plan->kernel, OP_SELECT, pays(plan, spread),
                        apply(plan, OP_ADD, words, number(plan, 1)), number(plan, 0));
}

/*
 * cuda_tile.c: see cuda_tile.h. All questions are asked of expressions in which the LETs of the nest stand as
 * their values.
 */
#include "cuda_tile.h"

#include "cuda_access.h"
#include "pass.h"

const struct cuda_tiles cuda_usual_tiles = {
    .few = 16, .shallow = 8, .many = 96, .wide = 48, .alone = 48, .deep = 1024};

enum { SHARED_BYTES = 48 * 1024 }; /* that a block may have without being asked for specially */

struct finder {
    const struct cuda_plan *plan;
    const struct cuda_chain *chain;
    struct cuda_tiling *tiling;
    const struct ir_stmt *assign, *guard; /* guard: the IF around the assignment, or NULL */
    unsigned rows, columns;               /* bits of the loops of the chain */
    bool fails;
};

/* What an expression hangs on, besides the loops of the chain. */
enum {
    DEPTH_BIT = 1 << CUDA_CHAIN,
    SUM_BIT = DEPTH_BIT << 1,
    LOAD_BIT = DEPTH_BIT << 2,
    STORED_BIT = DEPTH_BIT << 3,  /* a load of what the nest stores */
    VARIABLE_BIT = DEPTH_BIT << 4 /* another variable than the sum */
};

/* ---- the statements ------------------------------------------------------------------ */

/* Whether it reads a scalar that is computed inside the chain, which nothing computes again before a launch.
 */
static bool reads_inside(const struct finder *finder, struct ir_expr *expr)
{
    const struct cuda_chain *chain = finder->chain;
    for (int k = 0; k < chain->count; k++)
        for (const struct ir_stmt *stmt = chain->loops[k]->body; stmt; stmt = stmt->next)
            if (stmt->kind == IR_LET && pass_mentions(expr, stmt->symbol))
                return true;
    return false;
}

/* The bounds hang on the call alone. */
static bool has_settled_bounds(const struct finder *finder, const struct ir_stmt *loop)
{
    return cuda_is_of_call(loop->low) && cuda_is_of_call(loop->high) && !reads_inside(finder, loop->low) &&
           !reads_inside(finder, loop->high);
}

/* From the outermost loop that accumulates to the assignment: LETs, loops, and one condition at the bottom.
 */
static bool find_depths(struct finder *finder, const struct ir_stmt *loop)
{
    struct cuda_chain *depths = &finder->tiling->axes[CUDA_DEPTHS];
    const struct ir_stmt *stmt = loop;
    while (stmt && !stmt->next) {
        if (stmt->kind == IR_FOR && !finder->guard && depths->count < CUDA_CHAIN &&
            has_settled_bounds(finder, stmt))
            depths->loops[depths->count++] = stmt;
        else if (stmt->kind == IR_IF && !stmt->otherwise && !finder->guard)
            finder->guard = stmt;
        else
            break;
        stmt = stmt->body;
        while (stmt && stmt->kind == IR_LET)
            stmt = stmt->next;
    }
    depths->fastest = depths->count - 1;
    finder->assign = stmt;
    return depths->count > 0 && stmt && stmt->kind == IR_ASSIGN && !stmt->next;
}

static bool find_statements(struct finder *finder)
{
    const struct ir_stmt *stmt = cuda_chain_body(finder->chain), *sum = NULL;
    struct cuda_tiling *tiling = finder->tiling;
    while (stmt && (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE))
        stmt = stmt->next;
    if (!stmt || stmt->kind != IR_FOR)
        return false;
    tiling->depths = stmt;
    if (!cuda_body_is_flat(stmt->next) ||
        pass_block_may_stop((struct ir_stmt *)cuda_chain_body(finder->chain)))
        return false;
    struct ir_stmt alone = *stmt;
    alone.next = NULL;
    if (!find_depths(finder, &alone))
        return false;
    tiling->axes[CUDA_DEPTHS].loops[0] = stmt;
    for (sum = cuda_chain_body(finder->chain); sum != stmt; sum = sum->next)
        if (sum->kind == IR_VARIABLE && sum->symbol == finder->assign->symbol)
            break;
    tiling->declared = sum;
    for (const struct ir_stmt *after = sum; sum != stmt && after->next != stmt; after = after->next)
        if (pass_mentions(after->next->value, sum->symbol))
            return false;
    return sum != stmt;
}

/* ---- LETs as their values ------------------------------------------------------------ */

/* Of a walk: whether no more than `left` nodes, an int, come up, names written out. */
static bool is_within(struct ir_expr *expr, void *left)
{
    return --*(int *)left >= 0 &&
           (expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_LET || !expr->symbol->value ||
            ir_expr_walk(expr->symbol->value, is_within, left));
}

/* Names that are made of each other stand for more than memory holds. */
static bool can_be_resolved(const struct cuda_chain *chain)
{
    enum { NODES = 20000 };
    int left = NODES;
    return ir_block_expressions(chain->loops[0]->body, is_within, &left);
}

/* Notes the value with each LET of a block, of those before it. */
static void note_values(struct ir_kernel *kernel, const struct ir_stmt *block, const struct ir_stmt *end)
{
    for (const struct ir_stmt *stmt = block; stmt && stmt != end; stmt = stmt->next)
        if (stmt->kind == IR_LET)
            stmt->symbol->note = ir_expr_substitute(kernel, stmt->value);
}

static bool forget_value(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->kind == IR_LET)
        stmt->symbol->note = NULL;
    return true;
}

/* The assignment's value, and its condition. */
static void resolve(struct finder *finder, struct ir_expr **condition)
{
    struct ir_kernel *kernel = finder->plan->kernel;
    const struct cuda_chain *chain = finder->chain, *depths = &finder->tiling->axes[CUDA_DEPTHS];
    for (int k = 0; k < chain->count; k++)
        note_values(kernel, chain->loops[k]->body, k + 1 < chain->count ? NULL : finder->tiling->depths);
    finder->tiling->before = ir_expr_substitute(kernel, finder->tiling->declared->value);
    for (int k = 0; k < depths->count; k++)
        note_values(kernel, depths->loops[k]->body, NULL);
    *condition = finder->guard ? ir_expr_substitute(kernel, finder->guard->value) : NULL;
    if (finder->guard)
        note_values(kernel, finder->guard->body, NULL);
    finder->tiling->combined = ir_expr_substitute(kernel, finder->assign->value);
    ir_block_walk(chain->loops[0]->body, forget_value, NULL);
}

/* ---- what expressions hang on -------------------------------------------------------- */

struct mask {
    const struct finder *finder;
    unsigned bits;
};

static bool note_mention(struct ir_expr *expr, void *context)
{
    struct mask *mask = context;
    const struct finder *finder = mask->finder;
    const struct cuda_chain *depths = &finder->tiling->axes[CUDA_DEPTHS];
    if (expr->kind == IR_LOAD) {
        mask->bits |= LOAD_BIT;
        if (ir_block_stores_to(finder->chain->loops[0]->body, expr->access.buffer))
            mask->bits |= STORED_BIT;
    }
    if (expr->kind != IR_SYMBOL)
        return true;
    if (expr->symbol == finder->assign->symbol)
        mask->bits |= SUM_BIT;
    else if (expr->symbol->kind == IR_SYMBOL_VARIABLE)
        mask->bits |= VARIABLE_BIT;
    for (int k = 0; k < finder->chain->count; k++)
        if (expr->symbol == finder->chain->loops[k]->symbol)
            mask->bits |= 1u << k;
    for (int k = 0; k < depths->count; k++)
        if (expr->symbol == depths->loops[k]->symbol)
            mask->bits |= DEPTH_BIT;
    return true;
}

static unsigned mask_of(const struct finder *finder, const struct ir_expr *expr)
{
    struct mask mask = {.finder = finder};
    ir_expr_walk((struct ir_expr *)expr, note_mention, &mask);
    return mask.bits;
}

/* ---- rows and columns ---------------------------------------------------------------- */

struct masks {
    const struct finder *finder;
    unsigned items[2 * CUDA_TERMS], common;
    int count;
    bool many;
};

static bool note_load(struct ir_expr *expr, void *context)
{
    struct masks *masks = context;
    if (expr->kind != IR_LOAD)
        return true;
    unsigned bits = mask_of(masks->finder, expr) & (DEPTH_BIT - 1);
    if (masks->count == 2 * CUDA_TERMS) {
        masks->many = true;
        return false;
    }
    masks->common &= bits;
    masks->items[masks->count++] = bits;
    return true;
}

/* Loops that one load hangs on go together; there must be two such groups. */
static void find_sides(struct finder *finder)
{
    unsigned all = (1u << finder->chain->count) - 1, found[2] = {0, 0}, last = 1u << finder->chain->fastest;
    struct masks masks = {.finder = finder, .common = all};
    ir_expr_walk((struct ir_expr *)finder->tiling->combined, note_load, &masks);
    for (int side = 0; side < 2; side++) {
        unsigned grown = 0;
        for (int k = 0; k < masks.count && !found[side]; k++)
            found[side] = masks.items[k] & ~masks.common & ~found[0];
        while (grown != found[side]) {
            grown = found[side];
            for (int k = 0; k < masks.count; k++)
                if (masks.items[k] & grown)
                    found[side] |= masks.items[k] & ~masks.common;
        }
    }
    for (int k = 0; k < masks.count; k++)
        finder->fails |= (masks.items[k] & ~masks.common & ~found[0] & ~found[1]) != 0;
    finder->fails |= masks.many || !found[0] || !found[1] || (found[0] & found[1]);
    if (!((found[0] | found[1]) & last))
        for (last = 1u << (finder->chain->count - 1); last && !((found[0] | found[1]) & last);)
            last >>= 1;
    finder->columns = found[0] & last ? found[0] : found[1];
    finder->rows = found[0] & last ? found[1] : found[0];
}

/* The chain's fastest loop stays the fastest one of its axis. */
static void spread_chain(struct finder *finder)
{
    const struct cuda_chain *chain = finder->chain;
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < chain->count; k++) {
            unsigned bit = 1u << k;
            struct cuda_chain *axis = &finder->tiling->axes[finder->rows & bit      ? CUDA_ROWS
                                                            : finder->columns & bit ? CUDA_COLUMNS
                                                                                    : CUDA_BATCHES];
            if ((k == chain->fastest) == (pass == 1))
                axis->loops[axis->count++] = chain->loops[k];
            axis->fastest = axis->count - 1;
        }
}

/* ---- terms --------------------------------------------------------------------------- */

static const struct ir_symbol *fastest_symbol(const struct cuda_tiling *tiling, enum cuda_axis axis)
{
    const struct cuda_chain *chain = &tiling->axes[axis];
    return chain->loops[chain->fastest]->symbol;
}

/* Of the loads in an expression: whether one runs along the symbol; how often the symbol stands there. */
struct running {
    const struct ir_symbol *symbol;
    const struct ir_expr *load;
    int uses;
};

static bool note_running(struct ir_expr *expr, void *context)
{
    struct running *running = context;
    struct pass_affine affine;
    running->uses += expr->kind == IR_SYMBOL && expr->symbol == running->symbol;
    int last = expr->kind == IR_LOAD ? expr->access.buffer->rank - 1 : -1;
    if (last >= 0 && pass_affine_of(expr->access.indices[last], &affine) &&
        pass_affine_coefficient(&affine, running->symbol) == 1)
        running->load = expr;
    return true;
}

/* Four neighbours at once: the index is the loop's variable alone, which counts from 0 by one, and nothing
 * else in the term hangs on it; and the load is always done. */
static bool brings_quads(const struct cuda_tiling *tiling, const struct cuda_term *term,
                         const struct running *running)
{
    const struct cuda_chain *chain = &tiling->axes[term->runs];
    const struct ir_stmt *loop = chain->loops[chain->fastest];
    if (!running->load || running->uses != 1 || ir_expr_chooses(term->value))
        return false;
    const struct ir_access *access = &running->load->access;
    const struct ir_expr *index = access->indices[access->buffer->rank - 1];
    akg_dtype dtype = access->buffer->dtype;
    return index->kind == IR_SYMBOL && loop->step == 1 && loop->low->kind == IR_INTEGER &&
           loop->low->integer == 0 && access->buffer->contiguous && dtype_is_float(dtype);
}

static void add_term(struct finder *finder, struct ir_expr *value, enum cuda_axis side)
{
    struct cuda_tiling *tiling = finder->tiling;
    for (int k = 0; k < tiling->count; k++)
        if (ir_expr_equal(tiling->terms[k].value, value))
            return;
    if (tiling->count == CUDA_TERMS) {
        finder->fails = true;
        return;
    }
    tiling->terms[tiling->count++] = (struct cuda_term){.value = value, .side = side};
}

/* The largest parts that hang on one side only; what hangs on both must be computed of such parts. */
static void find_terms(struct finder *finder, struct ir_expr *expr)
{
    unsigned mask = mask_of(finder, expr);
    bool rows = mask & finder->rows, columns = mask & finder->columns;
    if (mask & (STORED_BIT | VARIABLE_BIT))
        finder->fails = true;
    if (finder->fails || (expr->kind == IR_SYMBOL && (mask & SUM_BIT)))
        return;
    if (!(mask & SUM_BIT) && !(rows && columns)) {
        if (rows || columns || (mask & (DEPTH_BIT | LOAD_BIT)))
            add_term(finder, expr, columns ? CUDA_COLUMNS : CUDA_ROWS);
        return;
    }
    bool lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
    if (expr->kind != IR_OPERATION || lazy) {
        finder->fails = true;
        return;
    }
    for (int k = 0; k < expr->count; k++)
        find_terms(finder, expr->operands[k]);
}

static void find_directions(struct cuda_tiling *tiling)
{
    for (int k = 0; k < tiling->count; k++) {
        struct cuda_term *term = &tiling->terms[k];
        struct running along = {.symbol = fastest_symbol(tiling, CUDA_DEPTHS)},
                       across = {.symbol = fastest_symbol(tiling, term->side)};
        ir_expr_walk((struct ir_expr *)term->value, note_running, &along);
        ir_expr_walk((struct ir_expr *)term->value, note_running, &across);
        term->runs = along.load && !across.load ? CUDA_DEPTHS : term->side;
        const struct running *running = term->runs == CUDA_DEPTHS ? &along : &across;
        if (brings_quads(tiling, term, running))
            term->quads = running->load;
    }
}

/* ---- conditions ---------------------------------------------------------------------- */

/* sum + left * right, of floats. */
static bool is_sum(const struct finder *finder)
{
    const struct ir_expr *sum = finder->tiling->combined;
    if (sum->kind != IR_OPERATION || sum->operation != OP_ADD)
        return false;
    for (int k = 0; k < 2; k++) {
        const struct ir_expr *one = sum->operands[k], *other = sum->operands[1 - k];
        if (one->kind == IR_SYMBOL && one->symbol == finder->assign->symbol)
            return !(mask_of(finder, other) & SUM_BIT);
    }
    return false;
}

static bool is_product(const struct finder *finder)
{
    const struct ir_expr *sum = finder->tiling->combined;
    if (sum->kind != IR_OPERATION || sum->operation != OP_ADD || !dtype_is_float(sum->dtype))
        return false;
    const struct ir_expr *first = sum->operands[0], *second = sum->operands[1];
    bool is_first = first->kind == IR_SYMBOL && first->symbol == finder->assign->symbol;
    const struct ir_expr *product = is_first ? second : first;
    return (is_first || (second->kind == IR_SYMBOL && second->symbol == finder->assign->symbol)) &&
           product->kind == IR_OPERATION && product->operation == OP_MUL &&
           !(mask_of(finder, product) & SUM_BIT);
}

static struct ir_expr *zero(struct ir_kernel *kernel, const struct ir_expr *like)
{
    return dtype_is_float(like->dtype) ? ir_real(kernel, like->dtype, 0) : ir_integer(kernel, like->dtype, 0);
}

/* The index is the variable of a loop over just the extent: inside without the condition, too. */
static bool covers_axis(const struct finder *finder, const struct ir_access *access, int axis)
{
    const struct ir_expr *index = access->indices[axis];
    for (int group = 0; group < CUDA_AXES && index->kind == IR_SYMBOL; group++)
        for (int k = 0; k < finder->tiling->axes[group].count; k++) {
            const struct ir_stmt *loop = finder->tiling->axes[group].loops[k];
            if (loop->symbol == index->symbol)
                return loop->step == 1 && loop->low->kind == IR_INTEGER && loop->low->integer == 0 &&
                       ir_expr_equal(loop->high, access->buffer->shape[axis]);
        }
    return false;
}

/* With each load only where its indices are inside: it may have been known from the condition alone. */
static struct ir_expr *with_safe_loads(const struct finder *finder, const struct ir_expr *expr)
{
    struct ir_kernel *kernel = finder->plan->kernel;
    struct ir_expr *safe = ir_expr_substitute(kernel, expr), *inside = NULL;
    if (expr->kind == IR_OPERATION)
        for (int k = 0; k < expr->count; k++)
            safe->operands[k] = with_safe_loads(finder, expr->operands[k]);
    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++) {
        if (covers_axis(finder, &expr->access, axis))
            continue;
        struct ir_expr *index = expr->access.indices[axis], *extent = expr->access.buffer->shape[axis];
        struct ir_expr *low = ir_operation(kernel, OP_LE, ir_integer(kernel, AKG_INT64, 0),
                                           ir_expr_substitute(kernel, index), NULL);
        struct ir_expr *high = ir_operation(kernel, OP_LT, ir_expr_substitute(kernel, index),
                                            ir_expr_substitute(kernel, extent), NULL);
        struct ir_expr *both = ir_operation(kernel, OP_AND, low, high, NULL);
        inside = inside ? ir_operation(kernel, OP_AND, inside, both, NULL) : both;
    }
    return inside ? ir_operation(kernel, OP_SELECT, inside, safe, zero(kernel, safe)) : safe;
}

/* A condition of floats' products becomes a factor of zero, which is the same as long as the other factor is
 * finite. Where it hangs on the depths alone, it is asked of both. */
static void apply_condition(struct finder *finder, struct ir_expr *condition)
{
    struct ir_kernel *kernel = finder->plan->kernel;
    struct cuda_tiling *tiling = finder->tiling;
    unsigned mask = mask_of(finder, condition);
    struct ir_expr *sum = (struct ir_expr *)tiling->combined;
    if (finder->plan->options->deterministic || !is_product(finder) ||
        ((mask & finder->rows) && (mask & finder->columns)) || (mask & (SUM_BIT | VARIABLE_BIT | LOAD_BIT))) {
        finder->fails = true;
        return;
    }
    struct ir_expr *product = sum->operands[mask_of(finder, sum->operands[0]) & SUM_BIT ? 1 : 0];
    for (int k = 0; k < 2; k++) {
        struct ir_expr *factor = product->operands[k];
        unsigned other = mask_of(finder, factor) & finder->columns ? finder->rows : finder->columns;
        product->operands[k] = mask & other
                                   ? with_safe_loads(finder, factor)
                                   : ir_operation(kernel, OP_SELECT, ir_expr_substitute(kernel, condition),
                                                  ir_expr_substitute(kernel, factor), zero(kernel, factor));
    }
}

/* ---- dtypes -------------------------------------------------------------------------- */

static bool is_rounded_once(const struct ir_expr *expr)
{
    switch (expr->operation) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_MIN:
    case OP_MAX:
    case OP_NEG:
        return true;
    default:
        return false;
    }
}

/* What combines halves does so in float32. */
static struct ir_expr *widened(struct finder *finder, const struct ir_expr *expr)
{
    for (int k = 0; k < finder->tiling->count; k++)
        if (ir_expr_equal(finder->tiling->terms[k].value, expr))
            return (struct ir_expr *)expr;
    if (expr->kind != IR_OPERATION)
        return (struct ir_expr *)expr;
    struct ir_expr *wide = arena_new(finder->plan->kernel->arena, struct ir_expr);
    *wide = *expr;
    wide->dtype = AKG_FLOAT32;
    wide->operands = arena_array(finder->plan->kernel->arena, struct ir_expr *, expr->count);
    finder->fails |= !is_rounded_once(expr);
    for (int k = 0; k < expr->count; k++)
        wide->operands[k] = widened(finder, expr->operands[k]);
    return wide;
}

static int element_size(akg_dtype dtype)
{
    return dtype_is_half(dtype) ? 4 : dtype_table[dtype].size;
}

/* Plain tiles are read along a row, and writes meet fewer banks twice. Tensor cores are handed four depths of
 * eight rows or columns at a time, from banks of their own. */
int cuda_tiling_pad(const struct cuda_tiling *tiling)
{
    return tiling->tf32 ? 8 : 4;
}

static int shared_bytes(const struct cuda_tiling *tiling, int parts)
{
    int wide = CUDA_TILE_UNIT * parts, bytes = CUDA_TILE_DEPTH * wide * element_size(tiling->dtype);
    for (int k = 0; k < tiling->count; k++)
        bytes += 2 * CUDA_TILE_DEPTH * (wide + cuda_tiling_pad(tiling)) *
                 element_size(tiling->terms[k].value->dtype);
    return bytes;
}

static void find_dtype(struct finder *finder)
{
    struct cuda_tiling *tiling = finder->tiling;
    tiling->dtype = tiling->declared->symbol->dtype;
    if (dtype_is_half(tiling->dtype)) {
        finder->fails |= finder->plan->options->deterministic;
        tiling->combined = widened(finder, tiling->combined);
        tiling->dtype = AKG_FLOAT32;
    }
    for (int parts = 1; parts <= CUDA_TILE_PARTS; parts++)
        if (shared_bytes(tiling, parts) <= SHARED_BYTES &&
            (parts == 1 || (tiling->count == 2 && element_size(tiling->dtype) == 4)))
            tiling->most_parts = parts;
    finder->fails |= tiling->most_parts == 0;
}

/* ---- tensor cores ------------------------------------------------------------------------- */

/* The same value without the cast to float32 around it; NULL: it is none of a half. */
static struct ir_expr *as_half(struct ir_kernel *kernel, struct ir_expr *expr)
{
    if (dtype_is_half(expr->dtype))
        return expr;
    if (expr->kind != IR_OPERATION || expr->dtype != AKG_FLOAT32)
        return NULL;
    if (expr->operation == OP_CAST)
        return dtype_is_half(expr->operands[0]->dtype) ? expr->operands[0] : NULL;
    if (expr->operation != OP_SELECT || expr->operands[2]->kind != IR_REAL || expr->operands[2]->real != 0)
        return NULL;
    struct ir_expr *value = as_half(kernel, expr->operands[1]);
    return value ? ir_operation(kernel, OP_SELECT, expr->operands[0], value, zero(kernel, value)) : NULL;
}

/* Products of two terms, one of the rows and one of the columns, where the order of a sum is free. */
static bool multiplies_terms(const struct finder *finder)
{
    const struct cuda_tiling *tiling = finder->tiling;
    const struct cuda_term *terms = tiling->terms;
    if (tiling->count != 2 || terms[0].side == terms[1].side || !is_product(finder) ||
        finder->plan->options->deterministic)
        return false;
    const struct ir_expr *sum = tiling->combined;
    const struct ir_expr *product = sum->operands[sum->operands[0]->kind == IR_SYMBOL ? 1 : 0];
    bool same = true;
    for (int k = 0; k < 2; k++)
        same &= ir_expr_equal(product->operands[0], terms[k].value) ||
                ir_expr_equal(product->operands[1], terms[k].value);
    return same;
}

/* Of two halves of one dtype; or of float32, where their factors may be rounded. */
static void find_cores(struct finder *finder)
{
    struct cuda_tiling *tiling = finder->tiling;
    struct cuda_term *terms = tiling->terms;
    akg_dtype dtype = tiling->declared->symbol->dtype;
    if (!(dtype == AKG_FLOAT32 || dtype_is_half(dtype)) || !multiplies_terms(finder))
        return;
    for (int k = 0; k < 2; k++)
        terms[k].half = as_half(finder->plan->kernel, (struct ir_expr *)terms[k].value);
    tiling->cores = terms[0].half && terms[1].half && terms[0].half->dtype == terms[1].half->dtype;
    tiling->tf32 = !tiling->cores && finder->plan->options->tf32 && dtype == AKG_FLOAT32 &&
                   terms[0].value->dtype == AKG_FLOAT32 && terms[1].value->dtype == AKG_FLOAT32;
}

/* ---- all ----------------------------------------------------------------------------- */

bool cuda_tiling_of(const struct cuda_plan *plan, const struct cuda_chain *chain, struct cuda_tiling *tiling)
{
    struct finder finder = {.plan = plan, .chain = chain, .tiling = tiling};
    struct ir_expr *condition;
    bool sides[CUDA_AXES] = {false};
    *tiling = (struct cuda_tiling){.count = 0};
    for (int k = 0; k < chain->count; k++)
        if (!has_settled_bounds(&finder, chain->loops[k]))
            return false;
    if (chain->count < 2 || !find_statements(&finder) || !can_be_resolved(chain))
        return false;
    resolve(&finder, &condition);
    find_sides(&finder);
    if (finder.fails || (mask_of(&finder, tiling->before) & (SUM_BIT | VARIABLE_BIT)))
        return false;
    spread_chain(&finder);
    if (condition)
        apply_condition(&finder, condition);
    if (!finder.fails)
        find_terms(&finder, (struct ir_expr *)tiling->combined);
    for (int k = 0; k < tiling->count; k++)
        sides[tiling->terms[k].side] = true;
    if (finder.fails || !sides[CUDA_ROWS] || !sides[CUDA_COLUMNS])
        return false;
    find_directions(tiling);
    tiling->splits = !plan->options->deterministic && is_sum(&finder);
    find_cores(&finder);
    find_dtype(&finder);
    return !finder.fails;
}

/* ---- which way to go ----------------------------------------------------------------- */

static struct ir_expr *number(const struct cuda_plan *plan, int64_t value)
{
    return ir_integer(plan->kernel, AKG_INT64, value);
}

static struct ir_expr *apply(const struct cuda_plan *plan, enum operation operation, struct ir_expr *a,
                             struct ir_expr *b)
{
    return ir_operation(plan->kernel, operation, a, b, NULL);
}

static struct ir_expr *trips(const struct cuda_plan *plan, const struct cuda_tiling *tiling,
                             enum cuda_axis axis)
{
    const struct cuda_chain *chain = &tiling->axes[axis];
    return chain->count ? (struct ir_expr *)cuda_chain_work(plan->kernel, chain) : number(plan, 1);
}

static struct ir_expr *tiles_of(const struct cuda_plan *plan, const struct cuda_tiling *tiling, int rows,
                                int columns)
{
    struct ir_expr *down = apply(plan, OP_CEIL_DIV, trips(plan, tiling, CUDA_ROWS), number(plan, rows));
    struct ir_expr *across =
        apply(plan, OP_CEIL_DIV, trips(plan, tiling, CUDA_COLUMNS), number(plan, columns));
    return apply(plan, OP_MUL, trips(plan, tiling, CUDA_BATCHES), apply(plan, OP_MUL, down, across));
}

static struct ir_expr *tiles(const struct cuda_plan *plan, const struct cuda_tiling *tiling, int parts)
{
    return tiles_of(plan, tiling, CUDA_TILE_UNIT * parts, CUDA_TILE_UNIT * parts);
}

/* Whether tiles pay; what counts rows, columns and depths are ints. */
static struct ir_expr *is_worth_it(const struct cuda_plan *plan, const struct cuda_tiling *tiling)
{
    const struct cuda_tiles *sizes = plan->options->tiles ? plan->options->tiles : &cuda_usual_tiles;
    struct ir_expr *all = NULL;
    for (enum cuda_axis axis = CUDA_ROWS; axis <= CUDA_DEPTHS; axis++) {
        int64_t least = axis == CUDA_DEPTHS ? sizes->shallow : sizes->few;
        struct ir_expr *enough = apply(plan, OP_GE, trips(plan, tiling, axis), number(plan, least));
        struct ir_expr *fits = apply(plan, OP_LT, trips(plan, tiling, axis), number(plan, INT32_MAX / 4));
        struct ir_expr *both = apply(plan, OP_AND, enough, fits);
        all = all ? apply(plan, OP_AND, all, both) : both;
    }
    return all;
}

/* Whether blocks share the depths of tiles. */
static struct ir_expr *is_split(const struct cuda_plan *plan, const struct cuda_tiling *tiling)
{
    const struct cuda_tiles *sizes = plan->options->tiles ? plan->options->tiles : &cuda_usual_tiles;
    struct ir_expr *few = apply(plan, OP_LE, tiles(plan, tiling, 1), number(plan, sizes->alone));
    struct ir_expr *deep = apply(plan, OP_GE, trips(plan, tiling, CUDA_DEPTHS), number(plan, sizes->deep));
    return apply(plan, OP_AND, is_worth_it(plan, tiling), apply(plan, OP_AND, few, deep));
}

static struct ir_expr *iterations(const struct cuda_plan *plan, const struct cuda_tiling *tiling)
{
    return apply(plan, OP_MUL, trips(plan, tiling, CUDA_BATCHES),
                 apply(plan, OP_MUL, trips(plan, tiling, CUDA_ROWS), trips(plan, tiling, CUDA_COLUMNS)));
}

const struct ir_expr *cuda_split_work(const struct cuda_plan *plan, const struct cuda_tiling *tiling,
                                      bool sums)
{
    struct ir_expr *parts = apply(plan, OP_MUL, tiles(plan, tiling, 1), number(plan, CUDA_SPLITS));
    return ir_operation(plan->kernel, OP_SELECT, is_split(plan, tiling),
                        sums ? iterations(plan, tiling) : parts, number(plan, 0));
}

const struct ir_expr *cuda_wide_work(const struct cuda_plan *plan, const struct cuda_tiling *tiling)
{
    const struct cuda_tiles *sizes = plan->options->tiles ? plan->options->tiles : &cuda_usual_tiles;
    struct ir_expr *all = tiles_of(plan, tiling, CUDA_WIDE_ROWS, CUDA_WIDE_COLUMNS), *pays;
    pays = apply(plan, OP_AND, is_worth_it(plan, tiling),
                 ir_operation(plan->kernel, OP_NOT, is_split(plan, tiling), NULL, NULL));
    pays = apply(plan, OP_AND, pays, apply(plan, OP_GE, all, number(plan, sizes->wide)));
    /* half of a tile's rows, or columns, would be for nothing */
    pays = apply(plan, OP_AND, pays,
                 apply(plan, OP_GT, trips(plan, tiling, CUDA_ROWS), number(plan, CUDA_WIDE_ROWS / 2)));
    pays = apply(plan, OP_AND, pays,
                 apply(plan, OP_GT, trips(plan, tiling, CUDA_COLUMNS), number(plan, CUDA_WIDE_COLUMNS / 2)));
    return ir_operation(plan->kernel, OP_SELECT, pays, all, number(plan, 0));
}

const struct ir_expr *cuda_tiling_work(const struct cuda_plan *plan, const struct cuda_tiling *tiling,
                                       int parts)
{
    const struct cuda_tiles *sizes = plan->options->tiles ? plan->options->tiles : &cuda_usual_tiles;
    struct ir_expr *pays = is_worth_it(plan, tiling), *none = number(plan, 0);
    if (parts == 0)
        return ir_operation(plan->kernel, OP_SELECT, pays, none, iterations(plan, tiling));
    if (tiling->splits)
        pays =
            apply(plan, OP_AND, pays, ir_operation(plan->kernel, OP_NOT, is_split(plan, tiling), NULL, NULL));
    /* large tiles, where there are enough of them for all processors */
    struct ir_expr *limit = number(plan, sizes->many);
    if (parts == 1 && tiling->most_parts > 1)
        pays = apply(plan, OP_AND, pays, apply(plan, OP_LT, tiles(plan, tiling, CUDA_TILE_PARTS), limit));
    if (parts > 1)
        pays = apply(plan, OP_AND, pays, apply(plan, OP_GE, tiles(plan, tiling, parts), limit));
    return ir_operation(plan->kernel, OP_SELECT, pays, tiles(plan, tiling, parts), none);
}

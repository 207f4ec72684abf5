/*
 * pass_unroll.c: loops of a few iterations, a window of pooling say, are written out where the loop around
 * them becomes a vector loop by that: `for j: for r in 0, 1: y[j] = max(y[j], x[2 * j + r])`.
 *
 * Consumes a loop whose iterations are independent, only accumulate or choose, and in which all loops are of
 * fewer iterations than machine code for them would pay, known from constants and the loops around; nothing
 * in them stops or leaves. Writes them out in a copy, with the loop variables as constants, makes scalars of
 * what small temporaries it has, and asks vector_build.c: the copy takes the place of the body only where it
 * becomes vectors. Loops along which no element lies beside the next one, that store none, or that
 * store what they hand on, may have twice as many iterations. Rows of more elements than a few, which are
 * copied, stay loops. What is a nest for vector_nest.c, which works on accumulators in registers, stays one.
 */
#include "pass.h"
#include "vector.h"
#include "vector_slim.h"

enum { DEEPEST = 12, LONGEST = 32, LONGEST_ACROSS = 16 };

struct unroller {
    struct pass *pass;
    bool changed;
};

static const struct vector_options usual_options = {.target = X86_TARGET_AVX512};

/* ---- what can be written out ------------------------------------------------------------------ */

/* Of what is written out; loops have their values as notes while they are counted. */
struct size {
    int64_t longest; /* iterations of a loop */
    int statements;
    bool has_loop;
};

static bool is_known(const struct ir_expr *expr, int64_t *value)
{
    int64_t a, b;

    if (expr->dtype != AKG_INT64)
        return false;
    switch (expr->kind) {
    case IR_INTEGER:
        *value = expr->integer;
        return true;
    case IR_SYMBOL:
        if (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
            return is_known(expr->symbol->value, value);
        if (expr->symbol->note)
            *value = *(const int64_t *)expr->symbol->note;
        return expr->symbol->note;
    case IR_OPERATION:
        return expr->count == 2 && is_known(expr->operands[0], &a) && is_known(expr->operands[1], &b) &&
               ir_compute_integer(expr->operation, a, b, value);
    default:
        return false;
    }
}

/* Iterations of a loop whose bounds are known; -1: they are not, or there are too many. */
static int64_t iterations(const struct ir_stmt *loop, int64_t longest, int64_t *low)
{
    int64_t high, distance;

    if (!is_known(loop->low, low) || !is_known(loop->high, &high) ||
        __builtin_sub_overflow(high, *low, &distance) || distance == INT64_MIN)
        return -1;
    if (distance == 0 || (distance > 0) != (loop->step > 0))
        return 0;
    int64_t count = (distance - (loop->step > 0 ? 1 : -1)) / loop->step + 1;
    return count <= longest ? count : -1;
}

enum { STATEMENTS = 400 /* of a loop with all that is written out */ };

static bool count_block(struct size *size, const struct ir_stmt *block, int depth)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        int64_t count = 1, value = 0;
        bool good = true;
        if (depth > DEEPEST || ++size->statements > STATEMENTS || stmt->kind == IR_WHILE ||
            stmt->kind == IR_ASSERT || stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE)
            return false;
        if (stmt->kind == IR_FOR) {
            count = iterations(stmt, size->longest, &value);
            stmt->symbol->note = &value;
            size->has_loop = true;
        }
        for (int64_t k = 0; k < count && good; k++, value = (int64_t)((uint64_t)value + (uint64_t)stmt->step))
            good = count_block(size, stmt->body, depth + 1) && count_block(size, stmt->otherwise, depth + 1);
        if (stmt->kind == IR_FOR)
            stmt->symbol->note = NULL;
        if (!good || count < 0)
            return false;
    }
    return true;
}

static bool stays_in_row(const struct ir_access *access, const struct ir_symbol *variable)
{
    int last = access->buffer->rank - 1;

    return last < 0 || !pass_mentions(access->indices[last], variable);
}

static bool load_stays_in_row(struct ir_expr *expr, void *variable)
{
    return expr->kind != IR_LOAD || stays_in_row(&expr->access, variable);
}

static bool stmt_stays_in_row(struct ir_stmt *stmt, void *variable)
{
    return (stmt->kind != IR_STORE || stays_in_row(&stmt->access, variable)) &&
           ir_stmt_expressions(stmt, load_stays_in_row, variable);
}

/* Whether no loop inside goes from element to the next one: as code of its own it would be worth little. */
static bool goes_across(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR || ir_block_walk(stmt->body, stmt_stays_in_row, stmt->symbol);
}

struct inside {
    bool hands_on, stores;
};

static bool see_inside(struct ir_stmt *stmt, void *context)
{
    struct inside *inside = context;

    inside->stores |= stmt->kind == IR_STORE;
    inside->hands_on |= stmt->kind == IR_ASSIGN && stmt->symbol->note != inside;
    if (stmt->kind == IR_VARIABLE)
        stmt->symbol->note = inside;
    return true;
}

static bool forget(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->kind == IR_VARIABLE)
        stmt->symbol->note = NULL;
    return true;
}

/* Whether each loop inside stores what it hands on from one iteration to the next: it has no lanes then. */
static bool is_in_turn(struct ir_stmt *stmt, void *context)
{
    struct inside inside = {false, false};
    (void)context;
    if (stmt->kind != IR_FOR)
        return true;
    ir_block_walk(stmt->body, see_inside, &inside);
    ir_block_walk(stmt->body, forget, NULL);
    return inside.hands_on && inside.stores;
}

static bool has_window(const struct ir_stmt *loop, int most_statements)
{
    enum { LONGEST_WINDOW = 9 };
    struct size size = {.longest = LONGEST_WINDOW};

    return !ir_block_allocates(loop->body) && count_block(&size, loop->body, 0) && size.has_loop &&
           size.statements <= most_statements;
}

/* Whether the loop, for AVX2, has a window inside that is so small that its coefficients stay in registers.
 * With 16 of these the tiles of a nest are too small to be worth what is around them, unless its rows share
 * more than coefficients. */
static bool is_window(const struct pass *pass, const struct ir_stmt *loop)
{
    enum { MOST_STATEMENTS = 20 };

    return pass->target == X86_TARGET_AVX2 && has_window(loop, MOST_STATEMENTS);
}

static bool only_loads(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR || !ir_block_stores(stmt->body);
}

/* Iterations that only load, up to which they are written out. (Ice Lake, 1,000 rows: sums of 13 2.6 us
 * and 1.9, of 16 1.8 and 2.2; products with a vector of 9 2.0 us and 1.7, of 12 2.1 and 2.0, of 14 2.0
 * and 2.9.) */
static int64_t longest_along(const struct ir_stmt *loop)
{
    enum { OF_ONE = 15, OF_SEVERAL = 12 };

    return ir_block_count_loads(loop->body) > 1 ? OF_SEVERAL : OF_ONE;
}

/* A loop over a temporary that may become scalars is worth nothing by itself. What a few iterations only load
 * comes four elements at a time, which takes less than putting lanes together does for each of many rows. */
static bool can_be_written_out(const struct pass *pass, const struct ir_stmt *loop)
{
    enum { MOST_STATEMENTS = 64, FEW = 64 };
    int64_t low;
    bool all_stays = !ir_block_allocates(loop->body);
    bool only_across =
        ir_block_walk(loop->body, goes_across, NULL) || ir_block_walk(loop->body, is_in_turn, NULL);
    struct size size = {.longest = only_across ? LONGEST_ACROSS : VECTOR_SHORTEST - 1};
    struct size longer = {.longest = longest_along(loop)};

    if (!all_stays)
        size.longest = LONGEST;
    if ((count_block(&size, loop->body, 0) && size.has_loop) || is_window(pass, loop))
        return true;
    return iterations(loop, FEW, &low) < 0 && ir_block_walk(loop->body, only_loads, NULL) &&
           count_block(&longer, loop->body, 0) && longer.has_loop && longer.statements <= MOST_STATEMENTS;
}

/* Whether a loop that would be gone may stop: messages tell its variable. */
static bool loops_may_stop(struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_FOR ? pass_stmt_may_stop(stmt)
                                 : loops_may_stop(stmt->body) || loops_may_stop(stmt->otherwise))
            return true;
    return false;
}

/* Whether it is one row of elements with the loop inside, which is better than a few of these at a time. */
static bool is_row(const struct pass *pass, const struct ir_stmt *loop)
{
    struct vector_nest nest;

    return vector_rows_shape(loop, &nest) && vector_loops_merge(pass->arena, loop, NULL);
}

static bool is_candidate(const struct pass *pass, struct ir_stmt *loop)
{
    int64_t low;

    return loop->kind == IR_FOR && !is_row(pass, loop) &&
           !vector_copy_suits(pass->arena, loop, &usual_options) &&
           iterations(loop, VECTOR_SHORTEST - 1, &low) < 0 && can_be_written_out(pass, loop) &&
           !pass_jumps_anywhere(loop->body) && !loops_may_stop(loop->body);
}

static const struct dependence_loop *parallel(const struct dependences *dependences,
                                              const struct ir_stmt *loop)
{
    const struct dependence_loop *row = dependence_loop_is_parallel(dependences, loop);
    bool any_order = row && row->verdict == DEPENDENCE_PARALLEL && !row->leaves && !row->incomplete;

    return any_order ? row : NULL;
}

/* Whether something that is loaded for each column is the same for all rows. */
static bool rows_share(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_LOAD && loop->values.items[k].by_column &&
            !loop->values.items[k].by_row)
            return true;
    return false;
}

static bool is_nest(struct pass *pass, const struct dependences *dependences, const struct ir_stmt *rows)
{
    struct vector_nest nest;

    if (!vector_nest_shape(rows, VECTOR_ROWS, &nest) || !parallel(dependences, rows) ||
        !parallel(dependences, nest.loops[VECTOR_COLUMNS]))
        return false;
    const struct vector_loop *loop = vector_nest_build(pass->arena, &nest, &usual_options);
    return loop && (rows_share(loop) || !is_window(pass, nest.loops[VECTOR_COLUMNS]));
}

/* How far apart what is loaded for neighbouring columns lies at most. */
struct apart {
    const struct ir_symbol *column;
    int64_t farthest;
    int size; /* bytes of an element of that */
};

static bool find_farthest(struct ir_expr *expr, void *context)
{
    struct apart *apart = context;
    struct pass_affine affine;
    int last = expr->kind == IR_LOAD ? expr->access.buffer->rank - 1 : -1;

    if (last < 0 || !pass_affine_of(expr->access.indices[last], &affine))
        return true;
    int64_t distance = pass_affine_coefficient(&affine, apart->column);
    if (distance > apart->farthest)
        *apart = (struct apart){apart->column, distance, dtype_table[expr->access.buffer->dtype].size};
    return true;
}

/* Whether windows that lie apart are better gone along, each by vectors of its own (vector_along.c), than put
 * together of elements of as many windows as a vector has lanes: unless the latter are whole vectors that are
 * turned (vector_x86_groups.c), or windows have but a few elements. (Zen 4, sums: 16 times 6 by 6 windows of
 * 5 by 5 elements 11.8 us, and 1.3 along them; 16 by 16 windows of 4 by 4 3.9, and 4.5; 2,000 windows of
 * 5 1.05 and 1.4.) */
static bool goes_along(struct pass *pass, const struct dependences *dependences, struct ir_stmt *columns)
{
    enum { NEAR = 2, GROUP = 4, FEW = 5 };
    const struct vector_options options = {.target = pass->target == X86_TARGET_AVX2 ? X86_TARGET_AVX2
                                                                                     : X86_TARGET_AVX512};
    struct apart apart = {.column = columns->symbol};
    struct vector_nest nest;

    if (!pass->reorders || !vector_nest_shape(columns, VECTOR_COLUMNS, &nest) ||
        !parallel(dependences, columns))
        return false;
    const struct ir_stmt *inner = nest.loops[nest.depth - 1];
    int extent = vector_known_extent(inner);
    ir_block_expressions(inner->body, find_farthest, &apart);
    nest.is_along = nest.is_alone = true;
    if (apart.farthest <= NEAR || (apart.farthest <= GROUP && apart.farthest == extent && apart.size == 4) ||
        (nest.depth == VECTOR_DEPTHS + 1 && extent <= FEW))
        return false;
    return vector_may_go_along(&nest, &options) != VECTOR_NEVER_ALONG &&
           vector_nest_build(pass->arena, &nest, &options);
}

/* ---- writing out ------------------------------------------------------------------------------ */

/* Indices with constants in them become the sums that they are, names of constants these. */
static struct ir_expr *fold(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct ir_expr *operands[3] = {NULL, NULL, NULL}, *simpler;

    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = fold(pass, expr->access.indices[k], context);
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value &&
        expr->symbol->value->kind == IR_INTEGER)
        return ir_integer(pass->kernel, expr->dtype, expr->symbol->value->integer);
    if (expr->kind != IR_OPERATION)
        return expr;
    for (int k = 0; k < expr->count; k++)
        operands[k] = expr->operands[k] = fold(pass, expr->operands[k], context);
    simpler = ir_fold(pass->kernel, expr->operation, operands);
    if (simpler)
        if (!simpler->span.line) /* an operand has its own, for what it tests */
            simpler->span = expr->span;
    return simpler ? simpler : expr;
}

/* The body once for every value of the loop variable, in the place of the loop; then what
 * followed it. */
static bool put_copies(struct pass *pass, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, **end = place;
    int64_t value, count = iterations(loop, LONGEST, &value);

    for (int64_t k = 0; k < count; k++, value = (int64_t)((uint64_t)value + (uint64_t)loop->step)) {
        loop->symbol->note = ir_integer(pass->kernel, AKG_INT64, value);
        *end = pass_copy_block(pass, loop->body);
        while (*end)
            end = &(*end)->next;
    }
    loop->symbol->note = NULL;
    *end = loop->next;
    return count >= 0;
}

/* Outer loops first, since the bounds of inner ones may hang on their variables. */
static bool write_out(struct pass *pass, struct ir_stmt **block)
{
    struct ir_stmt **place = block;

    while (*place) {
        struct ir_stmt *stmt = *place;
        pass_rewrite(pass, stmt, fold, NULL);
        if (stmt->kind == IR_FOR) {
            if (!put_copies(pass, place))
                return false;
        } else {
            if (!write_out(pass, &stmt->body) || !write_out(pass, &stmt->otherwise))
                return false;
            place = &stmt->next;
        }
    }
    return true;
}

static bool is_no_allocation(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_ALLOCATE;
}

bool pass_allocates(struct ir_stmt *loop)
{
    return !ir_block_walk(loop->body, is_no_allocation, NULL);
}

static bool is_no_allocating_loop(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR || !pass_allocates(stmt);
}

bool pass_write_out(struct pass *pass, struct ir_stmt **block, int longest, int most)
{
    struct size size = {.longest = longest};

    return ir_block_walk(*block, is_no_allocating_loop, NULL) && count_block(&size, *block, 0) &&
           size.has_loop && size.statements <= most && write_out(pass, block);
}

bool pass_write_out_loop(struct pass *pass, struct ir_stmt **place)
{
    struct ir_stmt *next = (*place)->next;

    if (!put_copies(pass, place))
        return false;
    for (struct ir_stmt *stmt = *place; stmt != next; stmt = stmt->next)
        pass_rewrite(pass, stmt, fold, NULL);
    return true;
}

static bool keep_temporary(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->kind == IR_ALLOCATE)
        stmt->access.buffer->unused = false;
    return true;
}

/* Only what the iteration itself has declared is assigned. */
static bool assigns_its_own(struct ir_stmt *stmt, void *context)
{
    const struct ir_stmt *loop = context;
    return stmt->kind != IR_ASSIGN || ir_block_declares(loop->body, stmt->symbol);
}

static bool loop_assigns_its_own(struct ir_stmt *stmt, void *loop)
{
    return stmt->kind != IR_FOR || ir_block_walk(stmt->body, assigns_its_own, loop);
}

/* Parallel, or it accumulates into elements, which ones may hang on what it computes, or into scalars, or
 * chooses, behind the loops inside. A sum in a scalar is otherwise one of the loops of a nest as it stands,
 * or of them all together. */
static bool may_be_vectors(struct ir_stmt *loop, const struct dependence_loop *row)
{
    if (!row || row->leaves || row->incomplete)
        return false;
    if ((row->verdict != DEPENDENCE_ACCUMULATES || row->reduction >= 0) && !vector_may_choose(row))
        return row->verdict == DEPENDENCE_PARALLEL || row->verdict == DEPENDENCE_ACCUMULATES;
    return ir_block_walk(loop->body, loop_assigns_its_own, loop);
}

/* Whether the loop, as it is now, is a vector loop; `row` is what was known of it before. */
static bool is_vector_loop(struct pass *pass, struct ir_stmt *loop, const struct dependences *dependences,
                           const struct dependence_loop *row)
{
    if (row->verdict != DEPENDENCE_PARALLEL) { /* the statements that accumulate are others now */
        dependences = pass_dependences(pass, loop);
        row = dependences ? dependence_loop_is_parallel(dependences, loop) : NULL;
    }
    return may_be_vectors(loop, row) && vector_build(pass->arena, loop, row, dependences, &usual_options);
}

/* Whether the loop holds nothing but a nest whose rows are side by side in vectors, which takes less than all
 * its iterations in lanes of the loop. */
static bool is_around_folded(struct pass *pass, const struct dependences *dependences,
                             const struct ir_stmt *loop)
{
    const struct ir_stmt *rows = loop->body;
    struct vector_nest nest;

    if (pass->target != X86_TARGET_AVX512 || rows->kind != IR_FOR || rows->next)
        return false;
    return is_nest(pass, dependences, rows) && vector_nest_shape(rows, VECTOR_ROWS, &nest) &&
           vector_nest_build(pass->arena, &nest, &usual_options) && nest.fold;
}

/* `around` is the loop that makes a nest of it, or NULL. */
static bool unroll(struct pass *pass, struct ir_stmt *loop, struct ir_stmt *around)
{
    const struct dependences *dependences = pass_dependences(pass, around ? around : loop);
    const struct dependence_loop *row = dependences ? dependence_loop_is_parallel(dependences, loop) : NULL;
    struct ir_stmt *body = loop->body;

    if (!may_be_vectors(loop, row) || is_nest(pass, dependences, loop) ||
        (around && is_nest(pass, dependences, around)) || is_around_folded(pass, dependences, loop) ||
        goes_along(pass, dependences, loop))
        return false;
    loop->body = pass_copy_block(pass, body);
    if (write_out(pass, &loop->body)) {
        pass_scalars_of_block(pass, &loop->body);
        if (is_vector_loop(pass, loop, dependences, row))
            return true;
    }
    loop->body = body;
    ir_block_walk(body, keep_temporary, NULL);
    return false;
}

/* ---- windows over small integers ------------------------------------------------------------- */

static bool is_slim(struct pass *pass, struct ir_stmt *loop, const struct dependences *dependences,
                    const struct dependence_loop *row)
{
    const struct vector_options options = {.target = pass->target, .is_apart = true};
    const struct vector_loop *vectors = vector_build(pass->arena, loop, row, dependences, &options);
    struct vector_slim slim;

    return vectors && vector_is_slim(pass->arena, vectors, &options, &slim);
}

bool pass_unroll_window(struct pass *pass, struct ir_stmt *loop)
{
    enum { MOST_STATEMENTS = 60 };
    struct ir_stmt *body = loop->body;
    int64_t low;

    if (is_row(pass, loop) || iterations(loop, VECTOR_SHORTEST - 1, &low) >= 0 ||
        !has_window(loop, MOST_STATEMENTS) || pass_jumps_anywhere(body) || loops_may_stop(body))
        return false;
    const struct dependences *dependences = pass_dependences(pass, loop);
    const struct dependence_loop *row = dependences ? parallel(dependences, loop) : NULL;
    if (!row)
        return false;
    loop->body = pass_copy_block(pass, body);
    if (write_out(pass, &loop->body)) {
        pass_scalars_of_block(pass, &loop->body);
        pass_simplify_block(pass, &loop->body); /* weights that hang on the windows' variables are known */
        if (is_slim(pass, loop, dependences, row))
            return true;
    }
    loop->body = body;
    ir_block_walk(body, keep_temporary, NULL);
    return false;
}

/* ---- the walk --------------------------------------------------------------------------------- */

/* Loops inside first: what is a vector loop then is written out nowhere. */
static void unroll_block(struct unroller *unroller, struct ir_stmt *block, struct ir_stmt *around, int depth)
{
    enum { FARTHEST = 200 };
    struct vector_nest nest;

    if (depth > FARTHEST)
        return;
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        unroll_block(unroller, stmt->body, stmt, depth + 1);
        unroll_block(unroller, stmt->otherwise, stmt, depth + 1);
        if (is_candidate(unroller->pass, stmt)) {
            bool in_nest = around && around->kind == IR_FOR && vector_nest_shape(around, VECTOR_ROWS, &nest);
            unroller->changed |= unroll(unroller->pass, stmt, in_nest ? around : NULL);
        }
    }
}

bool pass_unroll_block(struct pass *pass, struct ir_stmt *block)
{
    struct unroller unroller = {.pass = pass};

    unroll_block(&unroller, block, NULL, 0);
    return unroller.changed;
}

bool pass_unroll(struct pass *pass)
{
    bool changed = pass_unroll_block(pass, pass->kernel->body);

    if (changed)
        pass_simplify(pass); /* conditions on the loops' variables are known now */
    return changed;
}

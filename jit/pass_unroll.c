/*
 * pass_unroll.c: loops of a few iterations, a window of pooling say, are written out where the loop around
 * them becomes a vector loop by that: `for j: for r in 0, 1: y[j] = max(y[j], x[2 * j + r])`.
 *
 * Consumes a loop whose iterations are independent and in which all loops are of fewer iterations than
 * machine code for them would pay, known as constants; nothing in them stops or leaves. Writes them out in a
 * copy, with the loop variables as constants, and asks vector_build.c: the copy takes the place of the body
 * only where it becomes vectors. What is a nest for vector_nest.c, which works on accumulators in registers,
 * stays one.
 */
#include "pass.h"
#include "vector.h"

enum { DEEPEST = 12, MOST_STATEMENTS = 120 };

struct unroller {
    struct pass *pass;
    bool changed;
};

static const struct vector_options usual_options = {.target = X86_TARGET_AVX512};

/* ---- what can be written out ------------------------------------------------------------------ */

/* Iterations of a loop whose bounds are constants; -1: they are not, or there are too many. */
static int64_t iterations(const struct ir_stmt *loop)
{
    int64_t distance;

    if (loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER ||
        __builtin_sub_overflow(loop->high->integer, loop->low->integer, &distance))
        return -1;
    if (distance == 0 || (distance > 0) != (loop->step > 0))
        return 0;
    int64_t count = (distance - (loop->step > 0 ? 1 : -1)) / loop->step + 1;
    return count < VECTOR_SHORTEST ? count : -1;
}

/* Statements of the block when its loops are written out; more than there may be: something may not. */
static int64_t written_out(const struct ir_stmt *block, int depth, bool *has_loop)
{
    int64_t sum = 0, count = 1;

    for (const struct ir_stmt *stmt = block; stmt && sum <= MOST_STATEMENTS; stmt = stmt->next) {
        if (depth > DEEPEST || stmt->kind == IR_WHILE || stmt->kind == IR_ALLOCATE || stmt->kind == IR_ASSERT)
            return MOST_STATEMENTS + 1;
        if (stmt->kind == IR_FOR && (count = iterations(stmt)) < 0)
            return MOST_STATEMENTS + 1;
        *has_loop |= stmt->kind == IR_FOR;
        int64_t inside =
            written_out(stmt->body, depth + 1, has_loop) + written_out(stmt->otherwise, depth + 1, has_loop);
        sum += stmt->kind == IR_FOR ? count * inside : 1 + inside;
    }
    return sum;
}

static bool jumps(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_BREAK && stmt->kind != IR_CONTINUE;
}

static bool is_candidate(struct ir_stmt *loop)
{
    bool has_loop = false;

    return loop->kind == IR_FOR && iterations(loop) < 0 &&
           written_out(loop->body, 0, &has_loop) <= MOST_STATEMENTS && has_loop &&
           ir_block_walk(loop->body, jumps, NULL) && !pass_block_may_stop(loop->body);
}

static const struct dependence_loop *parallel(const struct dependences *dependences,
                                              const struct ir_stmt *loop)
{
    const struct dependence_loop *row = dependence_loop_is_parallel(dependences, loop);
    bool any_order = row && row->verdict == DEPENDENCE_PARALLEL && !row->leaves && !row->incomplete;

    return any_order ? row : NULL;
}

static bool is_nest(struct pass *pass, const struct dependences *dependences, const struct ir_stmt *rows)
{
    struct vector_nest nest;

    return vector_nest_shape(rows, VECTOR_ROWS, &nest) && parallel(dependences, rows) &&
           parallel(dependences, nest.loops[VECTOR_COLUMNS]) &&
           vector_nest_build(pass->arena, &nest, &usual_options);
}

/* ---- writing out ------------------------------------------------------------------------------ */

/* The body once for every value of the loop variable. */
static struct ir_stmt *copies(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_stmt *first = NULL, **end = &first;
    int64_t count = iterations(loop), value = loop->low->integer;

    for (int64_t k = 0; k < count; k++, value += loop->step) {
        loop->symbol->note = ir_integer(pass->kernel, AKG_INT64, value);
        *end = pass_copy_block(pass, loop->body);
        while (*end)
            end = &(*end)->next;
    }
    loop->symbol->note = NULL;
    return first;
}

static void write_out(struct pass *pass, struct ir_stmt **place)
{
    while (*place) {
        struct ir_stmt *stmt = *place, *next = stmt->next;
        write_out(pass, &stmt->body);
        write_out(pass, &stmt->otherwise);
        if (stmt->kind == IR_FOR) {
            *place = copies(pass, stmt);
            while (*place)
                place = &(*place)->next;
            *place = next;
        } else {
            place = &stmt->next;
        }
    }
}

/* Indices with constants in them become the sums that they are. */
static struct ir_expr *fold(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct ir_expr *operands[3] = {NULL, NULL, NULL}, *simpler;

    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = fold(pass, expr->access.indices[k], context);
    if (expr->kind != IR_OPERATION)
        return expr;
    for (int k = 0; k < expr->count; k++)
        operands[k] = expr->operands[k] = fold(pass, expr->operands[k], context);
    simpler = ir_fold(pass->kernel, expr->operation, operands);
    if (simpler)
        simpler->span = expr->span;
    return simpler ? simpler : expr;
}

static bool fold_stmt(struct ir_stmt *stmt, void *pass)
{
    pass_rewrite(pass, stmt, fold, NULL);
    return true;
}

/* `around` is the loop that makes a nest of it, or NULL. */
static bool unroll(struct pass *pass, struct ir_stmt *loop, struct ir_stmt *around)
{
    const struct dependences *dependences = pass_dependences(pass, around ? around : loop);
    const struct dependence_loop *verdict = dependences ? parallel(dependences, loop) : NULL;
    struct ir_stmt *body = loop->body;

    if (!verdict || is_nest(pass, dependences, loop) || (around && is_nest(pass, dependences, around)))
        return false;
    loop->body = pass_copy_block(pass, body);
    write_out(pass, &loop->body);
    ir_block_walk(loop->body, fold_stmt, pass);
    if (vector_build(pass->arena, loop, verdict, dependences, &usual_options))
        return true;
    loop->body = body;
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
        if (is_candidate(stmt)) {
            bool in_nest = around && around->kind == IR_FOR && vector_nest_shape(around, VECTOR_ROWS, &nest);
            unroller->changed |= unroll(unroller->pass, stmt, in_nest ? around : NULL);
        }
    }
}

bool pass_unroll(struct pass *pass)
{
    struct unroller unroller = {.pass = pass};

    unroll_block(&unroller, pass->kernel->body, NULL, 0);
    if (unroller.changed)
        pass_simplify(pass); /* conditions on the loops' variables are known now */
    return unroller.changed;
}

/*
 * vector_reach.c: indices that C looks at in the first and in the last iteration, before the vector code
 * runs.
 *
 * Consumes indices that go on by one from iteration to iteration, or stay the same and are used under a
 * condition: what is to be tested is inside in all of them where it is at both ends, `x[start[i] + j]` say.
 * What is computed in 32 bits or fewer, and therefore may wrap, goes on by one all the way where the last
 * index is as far from the first as there are iterations: then both and all between them are numbers of that
 * many bits. An index that is ahead of the one that is stored at, by what is the same in all iterations
 * (`dp[w - weight]`, w downwards), stays so. Produces vector_reach; where what C finds is something else, the
 * loop stays C in this call.
 */
#include "vector_build.h"

#include <string.h>

/* ---- indices in fewer bits ------------------------------------------------------------------------- */

static const struct vector_slope nonlinear = {false, false, 0};

static bool is_narrow(akg_dtype dtype)
{
    return dtype_is_integer(dtype) && dtype_table[dtype].size < 8;
}

/* How the integer goes on, as long as it does not wrap. */
static struct vector_slope slope_of_narrow(const struct vector_builder *builder, const struct ir_expr *expr)
{
    struct vector_slope a, b;
    if (vector_is_invariant(builder, expr))
        return (struct vector_slope){true, true, 0};
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return slope_of_narrow(builder, expr->symbol->value);
    if (expr->kind != IR_OPERATION)
        return nonlinear;
    if (expr->operation == OP_CAST && expr->operands[0]->dtype == AKG_INT64)
        return vector_slope_of(builder, expr->operands[0]);
    if (expr->operation != OP_ADD && expr->operation != OP_SUB)
        return nonlinear;
    a = slope_of_narrow(builder, expr->operands[0]);
    b = slope_of_narrow(builder, expr->operands[1]);
    if (!a.linear || !b.linear || !a.constant || !b.constant)
        return nonlinear;
    if (expr->operation == OP_ADD ? __builtin_add_overflow(a.value, b.value, &a.value)
                                  : __builtin_sub_overflow(a.value, b.value, &a.value))
        return nonlinear;
    return a;
}

/* `start + int32(j)` of `int64(start + int32(j))`; NULL: it is no such index. */
static const struct ir_expr *narrow_part(const struct ir_expr *index)
{
    while (index->kind == IR_SYMBOL && index->symbol->kind == IR_SYMBOL_LET && index->symbol->value)
        index = index->symbol->value;
    if (index->kind == IR_OPERATION && index->operation == OP_CAST && is_narrow(index->operands[0]->dtype))
        return index->operands[0];
    return NULL;
}

static bool is_by_one(struct vector_slope slope)
{
    return slope.linear && slope.constant && (slope.value == 1 || slope.value == -1);
}

/* Whether the loop is one of which C can look at both ends. */
static bool has_ends(const struct vector_builder *builder)
{
    return !builder->nest && !builder->is_once && (builder->stmt->step == 1 || builder->stmt->step == -1);
}

struct vector_slope vector_index_slope(const struct vector_builder *builder, const struct ir_expr *index)
{
    struct vector_slope slope = vector_slope_of(builder, index);
    const struct ir_expr *narrow = slope.linear ? NULL : narrow_part(index);
    if (!narrow || !has_ends(builder))
        return slope;
    slope = slope_of_narrow(builder, narrow);
    return is_by_one(slope) ? slope : nonlinear;
}

/* ---- looking at both ends -------------------------------------------------------------------------- */

/* Whether C may compute it before the loop, in which it is computed in any case: nothing is tested in it. */
static bool goes_on(const struct vector_builder *builder, const struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind != IR_SYMBOL_LET || !expr->symbol->value ||
               goes_on(builder, expr->symbol->value);
    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++)
        if ((expr->access.checks[axis] == IR_CHECK_ELEMENT && !builder->options->trust_indices) ||
            !goes_on(builder, expr->access.indices[axis]))
            return false;
    if (expr->kind != IR_OPERATION)
        return true;
    for (int k = 0; k < expr->count; k++)
        if (!goes_on(builder, expr->operands[k]))
            return false;
    return vector_is_harmless_node(expr);
}

bool vector_is_reach(const struct vector_builder *builder, const struct ir_access *access, int axis)
{
    const struct ir_expr *index = access->indices[axis];
    bool tested = access->checks[axis] == IR_CHECK_ELEMENT && !builder->options->trust_indices;
    bool linear = vector_is_linear(builder, index);
    if (!has_ends(builder) || (!tested && linear))
        return false;
    if (tested && builder->mask >= 0 && !vector_is_harmless((struct ir_expr *)index))
        return false; /* the condition may be what keeps it inside */
    struct vector_slope slope = vector_index_slope(builder, index);
    bool stays = tested && builder->mask >= 0 && slope.linear && slope.constant && slope.value == 0;
    return (is_by_one(slope) || stays) && goes_on(builder, index);
}

static void add_reach(struct vector_builder *builder, const struct ir_access *access, int axis)
{
    struct vector_loop *loop = builder->loop;
    const struct ir_expr *index = access->indices[axis];
    struct vector_reach reach = {access, axis, access->checks[axis] == IR_CHECK_ELEMENT, 0, NULL};
    for (int k = 0; k < loop->reaches.count; k++) {
        const struct vector_reach *other = &loop->reaches.items[k];
        if (other->axis == axis && !other->stored && other->access->buffer == access->buffer &&
            other->is_tested >= reach.is_tested && ir_expr_equal(other->access->indices[axis], index))
            return;
    }
    if (!vector_is_linear(builder, index))
        reach.grows = (int)(vector_index_slope(builder, index).value * builder->stmt->step);
    list_push(builder->arena, &loop->reaches, reach);
}

const struct ir_access *vector_without_reaches(struct vector_builder *builder, const struct ir_access *access)
{
    struct ir_access *result = NULL;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        if (!vector_is_reach(builder, access, axis))
            continue;
        if (!result) {
            result = arena_new(builder->arena, struct ir_access);
            *result = *access;
            result->checks = arena_array(builder->arena, enum ir_check, access->buffer->rank);
            memcpy(result->checks, access->checks, sizeof *access->checks * (size_t)access->buffer->rank);
        }
        result->checks[axis] = IR_CHECK_PROVED;
        add_reach(builder, access, axis);
    }
    return result ? result : access;
}

/* ---- ahead of what is stored ------------------------------------------------------------------------- */

/* Which way a sum with what is the same in all iterations lies from the other operand, so to say: `w -
 * weight` before it. A program that means the other way has a negative number there. */
static int side_of(const struct vector_builder *builder, const struct ir_expr *index)
{
    const struct ir_expr *narrow = narrow_part(index), *sum = narrow ? narrow : index;
    if (sum->kind != IR_OPERATION || (sum->operation != OP_ADD && sum->operation != OP_SUB))
        return 0;
    bool moves = !vector_is_invariant(builder, sum->operands[0]);
    if (moves == !vector_is_invariant(builder, sum->operands[1]))
        return 0;
    return sum->operation == OP_ADD ? 1 : moves ? -1 : 0;
}

static bool is_no_choice(struct ir_expr *expr, void *unused)
{
    (void)unused;
    return !ir_is_choosing(expr);
}

static bool is_no_branch(struct ir_stmt *stmt, void *unused)
{
    (void)unused;
    return stmt->kind != IR_IF && ir_stmt_expressions(stmt, is_no_choice, NULL);
}

/* Whether the index may be evaluated before the loop: what it loads is there whatever conditions say, or
 * there are none. */
static bool is_there_before(const struct vector_builder *builder, struct ir_expr *index)
{
    return vector_is_harmless(index) || ir_block_walk(builder->stmt->body, is_no_branch, NULL);
}

bool vector_may_be_ahead(const struct vector_builder *builder, const struct ir_access *load,
                         const struct ir_access *store)
{
    int last = load->buffer->rank - 1;
    if (!has_ends(builder) || load->buffer != store->buffer || last < 0)
        return false;
    for (int axis = 0; axis < last; axis++)
        if (!ir_expr_equal(load->indices[axis], store->indices[axis]))
            return false;
    const struct ir_expr *from = load->indices[last], *to = store->indices[last];
    struct vector_slope a = vector_index_slope(builder, from), b = vector_index_slope(builder, to);
    int64_t side = (side_of(builder, from) - side_of(builder, to)) * builder->stmt->step;
    return is_by_one(a) && is_by_one(b) && a.value == 1 && b.value == 1 && side > 0 &&
           goes_on(builder, from) && goes_on(builder, to) && is_there_before(builder, load->indices[last]) &&
           is_there_before(builder, store->indices[last]);
}

void vector_demand_ahead(struct vector_builder *builder, const struct ir_access *load,
                         const struct ir_access *store)
{
    struct vector_reach reach = {load, load->buffer->rank - 1, false, 0, store};
    list_push(builder->arena, &builder->loop->reaches, reach);
}

/*
 * vector_along.c: nests whose lanes are iterations of the innermost loop, not columns.
 *
 *     for o: for q: { var s = 0; for n, for i, for j: s = s + x[n, i, j + q] * y[n, o, i, j]; w[o, q] = s }
 *
 * has few columns, of which vectors would be all but empty, and goes along what it loads with its innermost
 * loop, of many iterations: each sum of a tile has a vector of partial results, element j of the innermost
 * loop in lane j modulo their number, which are added up behind all loops. So do windows that lie apart,
 *
 *     for i: for j: { var s = 0; for p, for q: s = s + x[i, 4 * j + q] ...; y[i, j] = s }
 *
 * of which nothing else can be lanes, however many there are (is_alone).
 *
 * Consumes nests (vector_nest.c); says which of them may have such lanes. Before they are built by their
 * form and what is known of extents: all that is loaded in the innermost loop lies side by side along it, or
 * every other element does, or it is the same for all of its iterations. Behind that by their values: all
 * they do in that loop is to add up, or to find the least or greatest, perhaps under conditions. Not for code
 * that is strict.
 */
#include "pass.h"
#include "vector.h"

/* ---- by its form ---------------------------------------------------------------------------------- */

struct loads {
    const struct ir_symbol *depth;
    bool moves;
};

static bool lies_along(struct ir_expr *expr, void *context)
{
    enum { FARTHEST = 2 /* elements from one iteration to the next */ };
    struct loads *loads = context;
    struct pass_affine affine;
    if (expr->kind != IR_LOAD)
        return true;
    int last = expr->access.buffer->rank - 1;
    for (int axis = 0; axis < last; axis++)
        if (pass_mentions(expr->access.indices[axis], loads->depth))
            return false;
    if (last < 0 || !pass_mentions(expr->access.indices[last], loads->depth))
        return true;
    if (!pass_affine_of(expr->access.indices[last], &affine))
        return false;
    int64_t step = pass_affine_coefficient(&affine, loads->depth);
    loads->moves = true;
    return step >= 0 && step <= FARTHEST;
}

static bool adds_up(const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        bool is_condition = stmt->kind == IR_IF && !stmt->otherwise && adds_up(stmt->body);
        if (!is_condition && stmt->kind != IR_LET &&
            (stmt->kind != IR_ASSIGN || stmt->symbol->dtype == AKG_BOOL))
            return false;
    }
    return true;
}

enum { FEW = 4 /* columns that vectors are as good as empty with */ };

bool vector_may_lie_apart_along(const struct vector_nest *nest)
{
    int count = vector_foreseen_extent(nest->loops[VECTOR_COLUMNS]);
    return count && count <= FEW;
}

static int fewest_depths(const struct vector_nest *nest)
{
    return nest->is_alone ? VECTOR_ALONE_DEPTHS : VECTOR_ALONG_DEPTHS;
}

enum vector_along vector_may_go_along(const struct vector_nest *nest, const struct vector_options *options)
{
    if (options->strict || options->target == X86_TARGET_NONE || nest->is_while)
        return VECTOR_NEVER_ALONG;
    const struct ir_stmt *inner = nest->loops[nest->depth - 1], *columns = nest->loops[VECTOR_COLUMNS];
    int column_count = vector_foreseen_extent(columns), depth_count = vector_foreseen_extent(inner);
    struct loads loads = {.depth = inner->symbol};
    if (inner->step != 1 || (column_count > VECTOR_ALONG_COLUMNS && !nest->is_alone) ||
        (depth_count && depth_count < fewest_depths(nest)) || !adds_up(inner->body) ||
        !ir_block_expressions(inner->body, lies_along, &loads) || !loads.moves)
        return VECTOR_NEVER_ALONG;
    bool is_known = column_count && (column_count <= FEW || depth_count);
    return is_known ? VECTOR_ALWAYS_ALONG : VECTOR_SOMETIMES_ALONG;
}

/* ---- by its values -------------------------------------------------------------------------------- */

/* What partial results are combined with, of the one place where they are accumulated; false: it is not to be
 * had so, or there are more. */
static bool find_operation(struct vector_loop *loop, int accumulator)
{
    enum operation *operation = &loop->accumulators.items[accumulator].operation;
    int count = 0;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind != VECTOR_ACCUMULATE || value->slot != accumulator)
            continue;
        bool is_product = value->operation == OP_FMA || value->operation == OP_NEG;
        *operation = is_product ? OP_ADD : value->operation;
        count++;
    }
    return count == 1 && (*operation == OP_ADD || *operation == OP_MIN || *operation == OP_MAX);
}

static bool is_load_along(const struct vector_nest *nest, const struct vector_loop *loop,
                          const struct vector_value *value)
{
    const struct vector_stream *stream = &loop->streams.items[value->stream];
    const struct vector_stride *depths = &stream->strides[nest->depth - 1];
    int size = dtype_table[value->dtype].size;
    return depths->kind == VECTOR_STAYS ||
           (depths->kind == VECTOR_STRIDE &&
            (depths->bytes == size || (depths->bytes == 2 * size && size >= 4)));
}

/* In the innermost loop lanes are its iterations, before and behind it columns. */
static bool suits(const struct vector_nest *nest, const struct vector_loop *loop,
                  const struct vector_value *value)
{
    bool inside = value->section == 1;
    switch (value->kind) {
    case VECTOR_CONSTANT:
    case VECTOR_SCALAR:
    case VECTOR_OPERATION:
    case VECTOR_FUSED:
        return true;
    case VECTOR_LOAD:
        return inside ? is_load_along(nest, loop, value) : loop->streams.items[value->stream].step <= 2;
    case VECTOR_ACCUMULATE:
        return inside;
    case VECTOR_STORE:
    case VECTOR_TOTAL:
        return value->section == 2;
    case VECTOR_SET:
        return value->section == 0;
    default:
        return false;
    }
}

/* Whether it pays, as far as that is known: few columns have vectors that are as good as empty. */
static bool may_pay(const struct vector_nest *nest)
{
    int columns = vector_foreseen_extent(nest->loops[VECTOR_COLUMNS]),
        depths = vector_foreseen_extent(nest->loops[nest->depth - 1]);
    int more = nest->lanes - 1;
    return !columns || !depths || nest->first == VECTOR_COLUMNS || nest->is_alone ||
           VECTOR_ALONG_TIMES * columns * ((depths + more) / nest->lanes) <=
               (VECTOR_ALONG_TIMES - 1) * depths * ((columns + more) / nest->lanes);
}

/* Of one vector; with AVX-512, whose masks are as cheap for any, of no more lanes than there are iterations.
 */
static int find_lanes(const struct vector_nest *nest, bool wide, enum x86_target target)
{
    enum { LEAST = 4 };
    int lanes = vector_group(wide) / (target == X86_TARGET_AVX2 ? 2 : 1);
    int depths = vector_foreseen_extent(nest->loops[nest->depth - 1]);
    while (target != X86_TARGET_AVX2 && depths && lanes / 2 >= depths && lanes / 2 >= LEAST)
        lanes /= 2;
    return lanes;
}

bool vector_goes_along(struct vector_nest *nest, struct vector_loop *loop,
                       const struct vector_options *options)
{
    nest->lanes = find_lanes(nest, loop->wide, options->target);
    if (!may_pay(nest))
        return false;
    for (int k = 0; k < loop->values.count; k++)
        if (!suits(nest, loop, &loop->values.items[k]))
            return false;
    for (int k = 0; k < loop->accumulators.count; k++)
        if (!find_operation(loop, k))
            return false;
    return loop->accumulators.count > 0;
}

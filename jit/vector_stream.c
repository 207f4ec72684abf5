/*
 * vector_stream.c: the accesses of a loop as streams.
 *
 * Consumes loads and stores whose indices are linear in the loop variable; produces streams: an address, the
 * distance to the element of the next iteration, and the accesses that go along at a fixed distance (of a
 * stencil, say).
 */
#include "pass.h"
#include "vector_build.h"

#include <stdlib.h>
#include <string.h>

/* ---- indices that are linear in the loop variable ---------------------------------------------- */

static const struct vector_slope nonlinear = {false, false, 0};

static struct vector_slope slope_of(const struct vector_builder *builder, const struct ir_expr *expr,
                                    const struct ir_symbol *axis);

static bool is_nest_variable(const struct vector_builder *builder, const struct ir_expr *expr)
{
    for (int level = builder->nest ? builder->nest->first : 0; builder->nest && level < builder->nest->depth;
         level++)
        if (builder->nest->loops[level]->symbol == expr->symbol)
            return true;
    for (const struct ir_stmt *loop = builder->nest ? builder->nest->inside : NULL;
         loop && loop != builder->nest->loops[VECTOR_COLUMNS]; loop = loop->body)
        if (loop->symbol == expr->symbol)
            return true;
    return false;
}

static struct vector_slope slope_of_product(const struct vector_builder *builder, const struct ir_expr *expr,
                                            struct vector_slope a, struct vector_slope b)
{
    const struct ir_expr *factor = expr->operands[1];
    struct vector_slope slope = a;
    int64_t product;
    if (a.constant && !a.value && b.constant && !b.value)
        return a; /* of another loop's variable, say */
    if (!a.constant || a.value) {
        if (!b.constant || b.value)
            return nonlinear;
    } else {
        slope = b;
        factor = expr->operands[0];
    }
    if (!vector_is_invariant(builder, factor))
        return nonlinear;
    if (slope.constant && slope.value == 0)
        return slope;
    slope.constant = slope.constant && factor->kind == IR_INTEGER &&
                     !__builtin_mul_overflow(slope.value, factor->integer, &product);
    if (slope.constant)
        slope.value = product;
    return slope;
}

static struct vector_slope slope_of_operation(const struct vector_builder *builder,
                                              const struct ir_expr *expr, const struct ir_symbol *axis)
{
    struct vector_slope a = nonlinear, b = {true, true, 0};
    if (expr->operation == OP_ADD || expr->operation == OP_SUB || expr->operation == OP_NEG ||
        expr->operation == OP_MUL)
        a = slope_of(builder, expr->operands[0], axis);
    if (a.linear && expr->count > 1)
        b = slope_of(builder, expr->operands[1], axis);
    if (!a.linear || !b.linear)
        return nonlinear;
    switch (expr->operation) {
    case OP_ADD:
        a.constant = a.constant && b.constant && !__builtin_add_overflow(a.value, b.value, &a.value);
        return a;
    case OP_SUB:
        a.constant = a.constant && b.constant && !__builtin_sub_overflow(a.value, b.value, &a.value);
        return a;
    case OP_NEG:
        a.constant = a.constant && !__builtin_sub_overflow(0, a.value, &a.value);
        return a;
    case OP_MUL:
        return slope_of_product(builder, expr, a, b);
    default:
        return nonlinear;
    }
}

/* What the variable of a loop inside begins with, in a branch too; NULL: it is another symbol. */
static const struct ir_expr *first_of_loop(const struct ir_stmt *first, const struct ir_symbol *symbol)
{
    const struct ir_expr *low = NULL;
    for (const struct ir_stmt *stmt = first; stmt && !low; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && stmt->symbol == symbol)
            return stmt->low;
        if (stmt->kind == IR_FOR || vector_is_condition(stmt))
            low = first_of_loop(stmt->body, symbol);
        if (!low && vector_is_condition(stmt))
            low = first_of_loop(stmt->otherwise, symbol);
    }
    return low;
}

static const struct ir_expr *first_of_inner(const struct vector_builder *builder,
                                            const struct ir_symbol *symbol)
{
    return builder->nest ? NULL : first_of_loop(builder->stmt->body, symbol);
}

/* What the expression grows by from one value of a loop's variable to the next. */
static struct vector_slope slope_of(const struct vector_builder *builder, const struct ir_expr *expr,
                                    const struct ir_symbol *axis)
{
    if (expr->dtype != AKG_INT64)
        return vector_is_invariant(builder, expr) ? (struct vector_slope){true, true, 0} : nonlinear;
    if (expr->kind == IR_SYMBOL && expr->symbol == axis)
        return (struct vector_slope){true, true, 1};
    if (vector_is_invariant(builder, expr) || (expr->kind == IR_SYMBOL && is_nest_variable(builder, expr)))
        return (struct vector_slope){true, true, 0};
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return slope_of(builder, expr->symbol->value, axis);
    const struct ir_expr *first = expr->kind == IR_SYMBOL ? first_of_inner(builder, expr->symbol) : NULL;
    if (first)
        return slope_of(builder, first, axis);
    return expr->kind == IR_OPERATION ? slope_of_operation(builder, expr, axis) : nonlinear;
}

struct vector_slope vector_slope_of(const struct vector_builder *builder, const struct ir_expr *expr)
{
    return slope_of(builder, expr, builder->stmt->symbol);
}

bool vector_is_linear(const struct vector_builder *builder, const struct ir_expr *index)
{
    return slope_of(builder, index, builder->stmt->symbol).linear;
}

bool vector_is_moving(const struct vector_builder *builder, const struct ir_access *access)
{
    if (builder->nest)
        return true;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct vector_slope slope = slope_of(builder, access->indices[axis], builder->stmt->symbol);
        if (!slope.linear || !slope.constant || slope.value)
            return true;
    }
    return false;
}

bool vector_stores_into(const struct vector_builder *builder, const struct ir_buffer *buffer)
{
    struct vector_memo *memo = builder->memo;
    if (!memo)
        return ir_block_stores_to(builder->stmt->body, buffer);
    for (int k = 0; k < VECTOR_ANSWERS; k++)
        if (memo->answers[k].stmt == builder->stmt && memo->answers[k].buffer == buffer)
            return memo->answers[k].stores;
    int at = memo->answered++ % VECTOR_ANSWERS;
    memo->answers[at].stmt = builder->stmt;
    memo->answers[at].buffer = buffer;
    memo->answers[at].stores = ir_block_stores_to(builder->stmt->body, buffer);
    return memo->answers[at].stores;
}

/* ---- accesses that go along together ------------------------------------------------------------ */

/* The expression without the constant that is added to it; NULL: it is that constant. */
static const struct ir_expr *without_constant(const struct ir_expr *expr, int64_t *constant)
{
    *constant = 0;
    if (expr->kind == IR_INTEGER) {
        *constant = expr->integer;
        return NULL;
    }
    if (expr->kind == IR_OPERATION && (expr->operation == OP_ADD || expr->operation == OP_SUB) &&
        expr->operands[1]->kind == IR_INTEGER && expr->operands[1]->integer < 1000 &&
        expr->operands[1]->integer > -1000) {
        *constant = expr->operation == OP_ADD ? expr->operands[1]->integer : -expr->operands[1]->integer;
        return expr->operands[0];
    }
    return expr;
}

/* C tests the indices of a stream's own access: one that is to be tested goes along only where that is the
 * same test. */
static bool tests_differ(const struct vector_builder *builder, const struct ir_access *first,
                         const struct ir_access *access)
{
    bool tested = false, same = true;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        tested |= access->checks[axis] == IR_CHECK_ELEMENT;
        same &= access->checks[axis] != IR_CHECK_ELEMENT ||
                (first->checks[axis] == IR_CHECK_ELEMENT &&
                 ir_expr_equal(first->indices[axis], access->indices[axis]));
    }
    return tested && !same && !builder->options->trust_indices;
}

/* Elements from one index of the axis to the next, where they are a constant; else 0. */
static int64_t constant_pitch(const struct ir_buffer *buffer, int axis)
{
    int64_t pitch = 1;
    if (!buffer->contiguous && axis < buffer->rank - 1)
        return 0;
    for (int k = axis + 1; k < buffer->rank; k++)
        if (buffer->shape[k]->kind != IR_INTEGER ||
            __builtin_mul_overflow(pitch, buffer->shape[k]->integer, &pitch))
            return 0;
    return pitch;
}

/* How far the index of the axis lies behind another one; false where that is not known. */
static bool find_distance(const struct ir_expr *from, const struct ir_expr *to, int64_t *distance)
{
    int64_t a, b;
    const struct ir_expr *left = without_constant(from, &a), *right = without_constant(to, &b);
    return !left == !right && (!left || ir_expr_equal(left, right)) &&
           !__builtin_sub_overflow(b, a, distance);
}

/* Whether the indices of the access are those of the stream's but for constants: then it lies so many
 * elements away, where elements along the last axis are neighbours. (Of a UNIT they are, or C finds out that
 * they are not.) Indices of other axes are numbers then, and the stream has a step: those of a matrix for
 * each iteration are put together. */
static bool goes_along(const struct vector_builder *builder, const struct vector_stream *stream,
                       const struct ir_access *access, int *offset)
{
    enum { FARTHEST = 32 };
    const struct ir_access *first = stream->access;
    int last = access->buffer->rank - 1;
    int64_t distance = 0, part, farthest = FARTHEST;
    if (stream->is_gathered || first->buffer != access->buffer || tests_differ(builder, first, access))
        return false;
    for (int axis = 0; axis <= last; axis++) {
        if (axis < last && ir_expr_equal(first->indices[axis], access->indices[axis]))
            continue;
        bool by_step = stream->step_kind == VECTOR_CONSTANT_STEP && access->buffer->contiguous &&
                       access->indices[axis]->kind == IR_INTEGER;
        if (by_step && axis < last) /* within what a step passes over: groups are of that */
            farthest = (stream->step < 0 ? -stream->step : stream->step) - 1;
        int64_t pitch = axis == last ? 1 : by_step ? constant_pitch(access->buffer, axis) : 0;
        if (!pitch || !find_distance(first->indices[axis], access->indices[axis], &part) ||
            __builtin_mul_overflow(part, pitch, &part) || __builtin_add_overflow(distance, part, &distance))
            return false;
    }
    if ((distance && stream->step_kind != VECTOR_UNIT && !access->buffer->contiguous) ||
        distance < -farthest || distance > farthest)
        return false;
    *offset = (int)distance;
    return true;
}

/* What an index that grows by `slope` moves the element by, where that is little and known; else 0. */
static int64_t short_step(const struct ir_buffer *buffer, int axis, struct vector_slope slope)
{
    enum { FARTHEST = 8 /* elements; of larger ones nothing is gained by knowing them */ };
    int64_t pitch = constant_pitch(buffer, axis), elements;
    bool is_short = slope.constant && !__builtin_mul_overflow(slope.value, pitch, &elements) &&
                    elements <= FARTHEST && elements >= -FARTHEST;
    return is_short ? elements : 0;
}

/* The step of a new stream; false where the access is none. */
static bool find_step(struct vector_builder *builder, const struct ir_access *access,
                      struct vector_stream *stream)
{
    const struct ir_buffer *buffer = access->buffer;
    bool run_time = false;
    int64_t last = 0;
    for (int axis = 0; axis < buffer->rank; axis++) {
        struct vector_slope slope = vector_index_slope(builder, access->indices[axis]);
        if (!slope.linear)
            return false;
        int64_t known =
            axis == buffer->rank - 1 && slope.constant ? slope.value : short_step(buffer, axis, slope);
        if (!known)
            run_time |= !slope.constant || slope.value;
        else if (__builtin_add_overflow(last, known, &last))
            return false;
    }
    if (builder->is_once) { /* the band moves it; what goes along lies at its side */
        stream->step_kind = buffer->contiguous ? VECTOR_UNIT : VECTOR_CONSTANT_STEP;
        return true;
    }
    if (__builtin_mul_overflow(last, builder->stmt->step, &stream->step) ||
        stream->step > VECTOR_LARGEST_STEP || stream->step < -VECTOR_LARGEST_STEP)
        return false;
    if (run_time || (!buffer->contiguous && stream->step != 1))
        stream->step_kind = VECTOR_RUN_TIME_STEP;
    else
        stream->step_kind = stream->step == 1 ? VECTOR_UNIT : VECTOR_CONSTANT_STEP;
    stream->assumed = stream->step_kind == VECTOR_UNIT && !buffer->contiguous;
    return true;
}

/* ---- the accesses of a nest ---------------------------------------------------------------------- */

bool vector_stride(const struct vector_builder *builder, const struct ir_access *access, int level,
                   struct vector_stride *stride)
{
    const struct ir_buffer *buffer = access->buffer;
    int64_t elements = 0, size = dtype_table[buffer->dtype].size, part;
    bool run_time = false, moves = false;
    for (int axis = 0; axis < buffer->rank; axis++) {
        struct vector_slope slope =
            slope_of(builder, access->indices[axis], builder->nest->loops[level]->symbol);
        int64_t pitch = constant_pitch(buffer, axis);
        if (!slope.linear)
            return false;
        if (slope.constant && slope.value == 0)
            continue;
        moves = true;
        run_time |= !slope.constant || !pitch || __builtin_mul_overflow(slope.value, pitch, &part) ||
                    __builtin_mul_overflow(part, builder->nest->loops[level]->step, &part) ||
                    __builtin_add_overflow(elements, part, &elements);
    }
    if (elements > INT32_MAX / 64 / size || elements < -INT32_MAX / 64 / size)
        run_time = true;
    *stride = (struct vector_stride){!moves     ? VECTOR_STAYS
                                     : run_time ? VECTOR_RUN_TIME_STRIDE
                                                : VECTOR_STRIDE,
                                     run_time ? 0 : elements * size, 0};
    return true;
}

/* Whether elements of a nest that lie a few apart can be loaded and stored: those of tensors that it stores
 * to. */
static bool may_lie_apart(const struct vector_builder *builder, const struct ir_buffer *buffer, int64_t bytes)
{
    enum { FARTHEST = 4 };
    int size = dtype_table[buffer->dtype].size;
    return size >= 4 && bytes > 2 * size && bytes <= FARTHEST * size && bytes % size == 0 &&
           builder->options->target == X86_TARGET_AVX512 && vector_stores_into(builder, buffer);
}

/* Whether the loop goes from row to row of a tensor whose extents were symbols to the passes. */
static bool goes_by_open_rows(const struct vector_builder *builder, const struct ir_access *access,
                              const struct ir_stmt *loop)
{
    for (int axis = 0; axis < access->buffer->open; axis++) {
        struct vector_slope slope = slope_of(builder, access->indices[axis], loop->symbol);
        if (!slope.constant || slope.value)
            return true;
    }
    return false;
}

/* Along the columns an element lies behind the other, or behind the next one, or it is the same one, or a few
 * apart; anywhere where rows are to be folded, or lanes are no columns. A nest that accumulates has the form
 * that it has where only a call tells the distance of rows: in what order terms are added up hangs on it. */
static bool find_strides(const struct vector_builder *builder, const struct ir_access *access,
                         struct vector_stream *stream)
{
    const struct vector_stride *columns = &stream->strides[VECTOR_COLUMNS];
    int size = dtype_table[access->buffer->dtype].size;
    for (int level = builder->nest->first; level < builder->nest->depth; level++)
        if (!vector_stride(builder, access, level, &stream->strides[level]))
            return false;
    bool every_other =
        (size >= 4 && columns->bytes == 2 * size) || may_lie_apart(builder, access->buffer, columns->bytes);
    bool is_inside = builder->nest->is_along && builder->section == 1;
    bool is_told = columns->kind == VECTOR_RUN_TIME_STRIDE ||
                   (builder->nest->depth > VECTOR_DEPTHS && !builder->nest->fold &&
                    goes_by_open_rows(builder, access, builder->nest->loops[VECTOR_COLUMNS]));
    bool is_anywhere = builder->nest->fold || is_inside;
    if (is_told && is_inside && vector_may_lie_apart_along(builder->nest)) {
        stream->step_kind = VECTOR_UNIT;
        stream->assumed = !access->buffer->contiguous;
        return true;
    }
    if (columns->kind != VECTOR_STAYS &&
        (is_told || (columns->bytes != size && !every_other && !is_anywhere)))
        return false;
    stream->step_kind = VECTOR_UNIT;
    stream->step = columns->kind == VECTOR_STRIDE ? columns->bytes / size : 0;
    stream->assumed = !access->buffer->contiguous;
    return true;
}

static void add_stride_arguments(struct vector_builder *builder, int number, struct vector_stream *stream)
{
    for (int level = 0; level < builder->nest->depth; level++)
        if (stream->strides[level].kind == VECTOR_RUN_TIME_STRIDE)
            stream->strides[level].slot =
                vector_argument_new(builder, (struct vector_argument){VECTOR_ARGUMENT_STRIDE, number, -1,
                                                                      NULL, level, NULL, NULL});
}

/* ---- streams ------------------------------------------------------------------------------------- */

/* What is tested in each iteration stays C. So does what is tested once behind an index that is looked at at
 * both ends: where both are outside, the first axis is the one to be told of. */
static bool is_tested(const struct vector_builder *builder, const struct ir_access *access)
{
    bool behind_reach = false;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        if (access->checks[axis] != IR_CHECK_ELEMENT || builder->options->trust_indices)
            continue;
        if (vector_is_reach(builder, access, axis))
            behind_reach = true;
        else if (behind_reach || !vector_may_test_first(builder) ||
                 !vector_is_invariant(builder, access->indices[axis]))
            return true;
    }
    return false;
}

/* The number of the access's stream; refuses where there is none. */
static int stream_of(struct vector_builder *builder, const struct ir_access *access, int *offset)
{
    struct vector_loop *loop = builder->loop;
    struct vector_stream stream = {.dtype = access->buffer->dtype};
    *offset = 0;
    if (access->buffer->rank == 0 || is_tested(builder, access))
        return vector_refuse(builder);
    stream.access = access = vector_without_reaches(builder, access);
    if (!(builder->nest ? find_strides(builder, access, &stream) : find_step(builder, access, &stream)))
        return vector_refuse(builder);
    for (int k = 0; k < loop->streams.count; k++)
        if (goes_along(builder, &loop->streams.items[k], access, offset))
            return k;
    if (loop->streams.count >= VECTOR_STREAMS)
        return vector_refuse(builder);
    int number = loop->streams.count;
    stream.slot = vector_argument_new(
        builder, (struct vector_argument){VECTOR_ARGUMENT_ADDRESS, number, -1, NULL, 0, NULL, NULL});
    if (builder->nest)
        add_stride_arguments(builder, number, &stream);
    else if (stream.step_kind == VECTOR_RUN_TIME_STEP)
        vector_argument_new(builder,
                            (struct vector_argument){VECTOR_ARGUMENT_STEP, number, -1, NULL, 0, NULL, NULL});
    *offset = 0;
    list_push(builder->arena, &loop->streams, stream);
    return number;
}

static struct vector_stream *note_use(struct vector_builder *builder, int number, int offset)
{
    struct vector_stream *stream = &builder->loop->streams.items[number];
    stream->low = offset < stream->low ? offset : stream->low;
    stream->high = offset > stream->high ? offset : stream->high;
    stream->is_masked |= builder->mask >= 0;
    return stream;
}

/* Whether the elements of all iterations lie in a row, and none of them is to be tested. */
static bool is_stream(const struct vector_builder *builder, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (!vector_index_slope(builder, access->indices[axis]).linear)
            return false;
    return builder->nest || !is_tested(builder, access);
}

/* Stores into the buffer so far, scattered ones, too. */
static int epoch_of(const struct vector_builder *builder, const struct ir_buffer *buffer)
{
    const struct vector_loop *loop = builder->loop;
    int count = 0;
    if (!builder->nest && !vector_stores_into(builder, buffer))
        return 0;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        count += (value->kind == VECTOR_STORE || value->kind == VECTOR_SCATTER) &&
                 loop->streams.items[value->stream].access->buffer == buffer;
    }
    return count;
}

/* Whether a loop's variable, or that and a number, stays on the axis whatever the conditions are. */
static bool goes_over(const struct vector_builder *builder, const struct ir_expr *index,
                      const struct ir_expr *extent)
{
    const struct ir_stmt *lanes = vector_lanes(builder);
    struct pass_affine place, end, length;
    if (index->kind == IR_INTEGER)
        return extent->kind == IR_INTEGER && index->integer >= 0 && index->integer < extent->integer;
    if (!pass_affine_of(index, &place) || place.count != 1 || place.terms[0].coefficient != 1 ||
        place.terms[0].symbol->kind != IR_SYMBOL_LOOP)
        return false;
    const struct ir_symbol *variable = place.terms[0].symbol;
    const struct ir_stmt *loop = lanes->symbol == variable ? lanes : vector_loop_around(builder, variable);
    if (!loop)
        return builder->options->is_apart;
    return loop->step == 1 && loop->low->kind == IR_INTEGER && loop->low->integer >= 0 &&
           loop->low->integer >= -place.constant && pass_affine_of(loop->high, &end) &&
           pass_affine_of(extent, &length) && pass_affine_add(&end, 1, &place) &&
           pass_affine_add(&end, -1, &length) && end.count == 1 && end.terms[0].symbol == variable &&
           end.constant <= 0;
}

/* Whether the element is there in each iteration: to load it takes less than a mask, of which vectors of 64
 * elements have few, and processors fetch ahead of plain loads alone (Zen 4: sums of 64 MB under a condition
 * take 0.8 of what they took with masks and lines asked for). */
static bool is_there(const struct vector_builder *builder, const struct ir_access *access)
{
    const struct ir_buffer *buffer = access->buffer;
    bool is_there = !builder->is_serial && !builder->is_once;
    for (int axis = 0; is_there && axis < buffer->rank; axis++)
        is_there = goes_over(builder, access->indices[axis], buffer->shape[axis]);
    return is_there;
}

int vector_load(struct vector_builder *builder, const struct ir_expr *load)
{
    struct vector_value value = vector_blank(VECTOR_LOAD, load->dtype);
    value.epoch = epoch_of(builder, load->access.buffer);
    if (!is_stream(builder, &load->access))
        return vector_gather(builder, &load->access, value.epoch);
    value.stream = stream_of(builder, &load->access, &value.offset);
    if (builder->refused)
        return 0;
    int same =
        vector_memo_value(builder, &value); /* what is loaded anyway need not be again under a condition */
    if (same >= 0)
        return same;
    int mask = builder->mask;
    if (is_there(builder, &load->access))
        builder->mask = -1;
    value.mask = builder->mask;
    note_use(builder, value.stream, value.offset)->is_loaded = true;
    builder->mask = mask;
    return vector_add(builder, value);
}

void vector_store(struct vector_builder *builder, const struct ir_access *access, const struct ir_expr *expr)
{
    struct vector_value value = vector_blank(VECTOR_STORE, access->buffer->dtype);
    value.stream = stream_of(builder, access, &value.offset);
    value.operands[0] = vector_expression(builder, expr);
    if (builder->refused)
        return;
    value.mask = builder->mask;
    note_use(builder, value.stream, value.offset)->is_stored = true;
    if (!vector_join_store(builder, value))
        vector_add(builder, value);
    builder->stores++;
}

/* ---- elements side by side ----------------------------------------------------------------------- */

const struct vector_value *vector_other_store(const struct vector_loop *loop,
                                              const struct vector_value *value)
{
    const struct vector_stream *stream = &loop->streams.items[value->stream];
    const struct vector_value *other = NULL;
    int wanted = value->offset + ((value->offset - stream->low) & 1 ? -1 : 1);
    if (stream->step_kind == VECTOR_RUN_TIME_STEP || stream->step != 2)
        return NULL;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *candidate = &loop->values.items[k];
        if (candidate->kind != VECTOR_STORE || candidate->stream != value->stream || candidate == value)
            continue;
        if (candidate->offset == value->offset || (candidate->offset == wanted && other))
            return NULL;
        if (candidate->offset == wanted)
            other = candidate;
    }
    return other && other->mask == value->mask ? other : NULL;
}

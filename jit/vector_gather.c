/*
 * vector_gather.c: elements that are loaded from where the lanes say: `t[x[i]]`, `x[min(max(i - 1, 0), n)]`.
 *
 * Consumes a load that is no stream, for some of its indices are no linear functions of the loop variable or
 * are to be tested; produces VECTOR_GATHER: these indices are computed for all lanes at once, and together
 * they are how many elements the lane's lies behind that of the stream, whose indices are the others and 0.
 * With AVX-512, integers of 8 and 16 bits come out of the words that hold them, or out of registers, where a
 * table of 256 bytes is looked up by a byte; halves and truth values stay
 * C there, and all of these in nests. Of up to 16 elements of 32 bits, which is known, the register that
 * holds them all is permuted.
 *
 * Indices that are to be tested are tested for all lanes (VECTOR_TEST) before anything in the loop has an
 * effect. If one of them is outside, the code ends there, and the C loop does the rest and stops where the
 * program does. In nests around a while lanes load so too, each where it is, as in a binary search. One lane
 * does where nothing is tested.
 */
#include "vector_build.h"

static bool is_tested(const struct vector_builder *builder, const struct ir_access *access, int axis)
{
    return access->checks[axis] == IR_CHECK_ELEMENT && !builder->options->trust_indices;
}

/* Whether the lanes need not know of the index: it is in the address. */
static bool is_in_address(const struct vector_builder *builder, const struct ir_access *access, int axis)
{
    struct ir_expr *index = access->indices[axis];
    if (builder->is_once) /* the band moves it, and C computes it before that */
        return vector_is_linear(builder, index) && vector_is_harmless(index);
    return !is_tested(builder, access, axis) && vector_is_invariant(builder, index);
}

/* ---- the stream ------------------------------------------------------------------------------------ */

const struct ir_access *vector_origin(struct vector_builder *builder, const struct ir_access *access,
                                      const bool *in_address)
{
    struct ir_access *origin = arena_new(builder->arena, struct ir_access);
    int rank = access->buffer->rank;
    *origin = *access;
    origin->indices = arena_array(builder->arena, struct ir_expr *, rank);
    origin->checks = arena_array(builder->arena, enum ir_check, rank);
    for (int axis = 0; axis < rank; axis++) {
        origin->indices[axis] = access->indices[axis];
        origin->checks[axis] = IR_CHECK_PROVED;
        if (in_address[axis])
            continue;
        origin->indices[axis] = arena_new(builder->arena, struct ir_expr);
        *origin->indices[axis] = (struct ir_expr){.kind = IR_INTEGER, .dtype = AKG_INT64};
    }
    return origin;
}

static bool same_access(const struct ir_access *a, const struct ir_access *b)
{
    for (int axis = 0; a->buffer == b->buffer && axis < a->buffer->rank; axis++)
        if (!ir_expr_equal(a->indices[axis], b->indices[axis]))
            return false;
    return a->buffer == b->buffer;
}

static int stream_of(struct vector_builder *builder, const struct ir_access *access, const bool *in_address,
                     bool is_table)
{
    struct vector_loop *loop = builder->loop;
    struct vector_stream stream = {.access = vector_origin(builder, access, in_address),
                                   .dtype = access->buffer->dtype,
                                   .is_loaded = true,
                                   .is_gathered = true,
                                   .is_table = is_table};
    int number = loop->streams.count;
    for (int k = 0; k < number; k++)
        if (loop->streams.items[k].is_gathered && loop->streams.items[k].is_table == is_table &&
            same_access(loop->streams.items[k].access, stream.access))
            return k;
    if (number >= VECTOR_STREAMS)
        return vector_refuse(builder);
    stream.slot = vector_argument_new(
        builder, (struct vector_argument){VECTOR_ARGUMENT_ADDRESS, number, -1, NULL, 0, NULL, NULL});
    list_push(builder->arena, &loop->streams, stream);
    return number;
}

/* ---- indices ---------------------------------------------------------------------------------------- */

/* The slot with what is known of an axis of the stream's buffer. (Other parts of a band have said what theirs
 * are for.) */
static int argument_of(struct vector_builder *builder, enum vector_argument_kind kind, int stream, int axis)
{
    struct vector_loop *loop = builder->loop;
    const struct ir_buffer *buffer = loop->streams.items[stream].access->buffer;
    for (int k = 0; k < loop->arguments.count; k++) {
        const struct vector_argument *argument = &loop->arguments.items[k];
        if (argument->kind != kind || argument->level != axis)
            continue;
        const struct ir_access *access =
            argument->access ? argument->access : loop->streams.items[argument->stream].access;
        if (access->buffer == buffer)
            return k;
    }
    return vector_argument_new(builder, (struct vector_argument){kind, stream, -1, NULL, axis, NULL, NULL});
}

static bool is_wide(const struct vector_builder *builder, int value)
{
    return vector_type_is_wide(builder->loop->values.items[value].type);
}

/* Of a nest around a while, in which nothing is stored before all lanes are through: C begins anew with the
 * columns that were at work. */
static bool may_begin_anew(const struct vector_builder *builder)
{
    return builder->nest && builder->nest->is_while && builder->section <= 1 && builder->stores == 0;
}

bool vector_has_effects(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (vector_has_effect(loop->values.items[k].kind) && loop->values.items[k].kind != VECTOR_TEST &&
            !loop->values.items[k].waits)
            return true;
    return false;
}

/* For all lanes, or for those that are tested now. */
static bool is_tested_already(const struct vector_builder *builder, int number, int limit)
{
    for (int k = builder->first; k < builder->loop->values.count; k++) {
        const struct vector_value *value = &builder->loop->values.items[k];
        if (value->kind == VECTOR_TEST && value->operands[0] == number && value->operands[1] == limit &&
            (value->mask < 0 || value->mask == builder->mask))
            return true;
    }
    return false;
}

void vector_test(struct vector_builder *builder, int number, int limit)
{
    bool in_time = builder->nest ? may_begin_anew(builder) : !vector_has_effects(builder->loop);
    if (!builder->refused && is_tested_already(builder, number, limit))
        return;
    if (builder->refused || builder->is_serial || !in_time) {
        vector_refuse(builder);
        return;
    }
    struct vector_value test = vector_blank(VECTOR_TEST, builder->loop->values.items[number].dtype);
    test.operands[0] = number;
    test.operands[1] = limit;
    test.mask = builder->mask;
    vector_add(builder, test);
    builder->loop->stops = true;
}

static void test_index(struct vector_builder *builder, int stream, int axis, int index)
{
    bool wide = is_wide(builder, index);
    struct vector_value extent = vector_blank(VECTOR_SCALAR, wide ? AKG_INT64 : AKG_INT32);
    extent.slot =
        argument_of(builder, wide ? VECTOR_ARGUMENT_EXTENT : VECTOR_ARGUMENT_EXTENT_32, stream, axis);
    vector_test(builder, index, vector_add(builder, extent));
}

/* Whether lanes of 32 bits hold how far each element is from the first, which C finds out. */
static bool is_small(struct vector_builder *builder, const struct ir_buffer *buffer)
{
    const struct ir_expr *all = buffer->shape[0];
    for (int axis = 1; axis < buffer->rank; axis++)
        all = vector_expr(builder, OP_MUL, AKG_INT64, all, buffer->shape[axis], NULL);
    return buffer->contiguous && vector_must_be_small(builder, all);
}

/* The index times the elements from one to the next: how far it is from the first. */
static int distance_of(struct vector_builder *builder, int stream, int axis, int index)
{
    const struct ir_buffer *buffer = builder->loop->streams.items[stream].access->buffer;
    if (buffer->contiguous && axis == buffer->rank - 1)
        return index;
    if (!is_wide(builder, index) && is_small(builder, buffer)) {
        struct vector_value spacing = vector_blank(VECTOR_SCALAR, AKG_INT32);
        spacing.slot = argument_of(builder, VECTOR_ARGUMENT_SPACING, stream, axis);
        return vector_operation(builder, OP_MUL, AKG_INT32, AKG_INT32, index, vector_add(builder, spacing),
                                -1);
    }
    if (!is_wide(builder, index))
        index = vector_operation(builder, OP_CAST, AKG_INT64, AKG_INT32, index, -1, -1);
    struct vector_value pitch = vector_blank(VECTOR_SCALAR, AKG_INT64);
    pitch.slot = argument_of(builder, VECTOR_ARGUMENT_SPACING, stream, axis);
    return vector_operation(builder, OP_MUL, AKG_INT64, AKG_INT64, index, vector_add(builder, pitch), -1);
}

static int sum_of(struct vector_builder *builder, int a, int b)
{
    if (a < 0)
        return b;
    int operands[2] = {a, b};
    if (!is_wide(builder, a) && !is_wide(builder, b)) /* of a small tensor */
        return vector_operation(builder, OP_ADD, AKG_INT32, AKG_INT32, a, b, -1);
    for (int k = 0; k < 2; k++)
        if (!is_wide(builder, operands[k]))
            operands[k] = vector_operation(builder, OP_CAST, AKG_INT64, AKG_INT32, operands[k], -1, -1);
    return vector_operation(builder, OP_ADD, AKG_INT64, AKG_INT64, operands[0], operands[1], -1);
}

/* ---- elements of fewer than 32 bits ------------------------------------------------------------------ */

/* The stream's first element lies so many bytes behind its address, which is a multiple of 4. `dtype`: of the
 * lanes. */
static int alignment_of(struct vector_builder *builder, int stream, akg_dtype dtype)
{
    struct vector_value value = vector_blank(VECTOR_SCALAR, dtype);
    for (int k = 0; k < builder->loop->arguments.count; k++) {
        const struct vector_argument *argument = &builder->loop->arguments.items[k];
        if (argument->kind == VECTOR_ARGUMENT_ALIGNMENT && argument->stream == stream)
            value.slot = k;
    }
    if (value.slot < 0)
        value.slot = vector_argument_new(
            builder, (struct vector_argument){VECTOR_ARGUMENT_ALIGNMENT, stream, -1, NULL, 0, NULL, NULL});
    return vector_add(builder, value);
}

static int with_number(struct vector_builder *builder, enum operation operation, akg_dtype dtype, int a,
                       int64_t number)
{
    return vector_operation(builder, operation, dtype, dtype, a,
                            vector_constant(builder, dtype, (union dtype_value){.i = number}), -1);
}

/* A place in words, and by how many bits what they hold is shifted. */
struct word {
    int number, shift;
};

/* Out of numbers of 64 bits. */
static struct word find_word(struct vector_builder *builder, int stream, int distance, int size)
{
    int bytes = vector_operation(builder, OP_ADD, AKG_INT64, AKG_INT64,
                                 with_number(builder, OP_MUL, AKG_INT64, distance, size),
                                 alignment_of(builder, stream, AKG_INT64), -1);
    int low = vector_operation(builder, OP_CAST, AKG_UINT32, AKG_INT64, bytes, -1, -1);
    int part = with_number(builder, OP_BITAND, AKG_UINT32, low, 3);
    return (struct word){with_number(builder, OP_SHR, AKG_INT64, bytes, 2),
                         with_number(builder, OP_SHL, AKG_UINT32, part, 3)};
}

/* Out of numbers of 32 bits, which hold that of the word, but not that of the byte: the elements of a word
 * apart, what the first element lies behind its word goes to these. */
static struct word find_word_of_short(struct vector_builder *builder, int stream, int distance, int size)
{
    int in_word = size == 1 ? 4 : 2, bits = size == 1 ? 2 : 1;
    int part = with_number(builder, OP_BITAND, AKG_INT32, distance, in_word - 1);
    if (size > 1)
        part = with_number(builder, OP_MUL, AKG_INT32, part, size);
    part = vector_operation(builder, OP_ADD, AKG_INT32, AKG_INT32, part,
                            alignment_of(builder, stream, AKG_INT32), -1);
    int number = vector_operation(builder, OP_ADD, AKG_INT32, AKG_INT32,
                                  with_number(builder, OP_SHR, AKG_INT32, distance, bits),
                                  with_number(builder, OP_SHR, AKG_INT32, part, 2), -1);
    int shift =
        with_number(builder, OP_SHL, AKG_INT32, with_number(builder, OP_BITAND, AKG_INT32, part, 3), 3);
    return (struct word){number, vector_operation(builder, OP_CAST, AKG_UINT32, AKG_INT32, shift, -1, -1)};
}

/* The element out of the aligned word that holds it: what that holds besides, perhaps behind the buffer, is
 * in the same page. */
static int gather_from_words(struct vector_builder *builder, struct vector_value value, int distance)
{
    akg_dtype dtype = value.dtype;
    int size = dtype_table[dtype].size;
    struct word word = is_wide(builder, distance) ? find_word(builder, value.stream, distance, size)
                                                  : find_word_of_short(builder, value.stream, distance, size);
    value.type = VECTOR_I32;
    value.dtype = value.from = AKG_UINT32;
    value.operands[0] = word.number;
    int element =
        vector_operation(builder, OP_SHR, AKG_UINT32, AKG_UINT32, vector_add(builder, value), word.shift, -1);
    if (!dtype_is_half(dtype))
        return vector_operation(builder, OP_CAST, dtype, AKG_UINT32, element, -1, -1);
    struct vector_value half = vector_blank(VECTOR_OPERATION, dtype);
    half.operation = OP_CAST;
    half.from = AKG_UINT32;
    half.operands[0] = element;
    half.bits = 16;
    return builder->refused ? -1 : vector_add(builder, half);
}

/* ---- tables of bytes ----------------------------------------------------------------------------------- */

enum { BYTES = 256 };

/* The index as a number of uint8, whose casts leave it as it is; -1: it is none. */
static int byte_of(const struct vector_builder *builder, int index)
{
    const struct vector_value *value = &builder->loop->values.items[index];
    while (value->kind == VECTOR_OPERATION && value->operation == OP_CAST && value->dtype != AKG_UINT8 &&
           dtype_is_integer(value->dtype) && dtype_is_integer(value->from)) {
        bool is_less =
            value->from != AKG_UINT8 && dtype_table[value->dtype].size < dtype_table[value->from].size;
        if (is_less || value->dtype == AKG_INT8)
            return -1;
        index = value->operands[0];
        value = &builder->loop->values.items[index];
    }
    return value->dtype == AKG_UINT8 ? index : -1;
}

/* Whether the element is one of 256 bytes that lie one behind the other and stay as they are. */
static bool is_table(const struct vector_builder *builder, const struct ir_access *access)
{
    const struct ir_buffer *buffer = access->buffer;
    return builder->options->target == X86_TARGET_AVX512 && builder->options->permutes &&
           buffer->role == IR_INPUT && buffer->contiguous && buffer->rank == 1 &&
           dtype_is_integer(buffer->dtype) && dtype_table[buffer->dtype].size == 1 &&
           buffer->shape[0]->kind == IR_INTEGER && buffer->shape[0]->integer >= BYTES &&
           !builder->is_serial && !is_tested(builder, access, 0);
}

/* The index of an element of such a table; -1: it is another one. */
static int index_of_table(const struct vector_builder *builder, const struct ir_access *access, int index)
{
    return builder->refused || !is_table(builder, access) || index < 0 ? -1 : byte_of(builder, index);
}

/* ---- short rows ---------------------------------------------------------------------------------------- */

/* How many elements there are in the row that all lanes pick out of, by the last index alone, if a register
 * holds it: of float32 and integers of 32 bits; else 0. */
static uint64_t row_of(const struct vector_builder *builder, const struct ir_access *access,
                       const bool *in_address)
{
    const struct ir_buffer *buffer = access->buffer;
    int last = buffer->rank - 1;
    for (int axis = 0; axis <= last; axis++)
        if (in_address[axis] != (axis < last))
            return 0;
    const struct ir_expr *extent = buffer->shape[last];
    bool is_short = extent->kind == IR_INTEGER && extent->integer > 0 && extent->integer <= VECTOR_ROW;
    return is_short && buffer->contiguous && dtype_table[buffer->dtype].size == 4 && !builder->is_serial
               ? (uint64_t)extent->integer
               : 0;
}

/* ---- all -------------------------------------------------------------------------------------------- */

void vector_lane_indices(struct vector_builder *builder, const struct ir_access *access, bool *in_address,
                         int *indices)
{
    for (int axis = 0; axis < access->buffer->rank && !builder->refused; axis++) {
        in_address[axis] = is_in_address(builder, access, axis);
        indices[axis] = -1;
        if (!in_address[axis] && access->buffer->rank > 1 && is_small(builder, access->buffer))
            indices[axis] = vector_small(builder, access->indices[axis]);
        if (!in_address[axis] && indices[axis] < 0)
            indices[axis] = vector_short_index(builder, access->indices[axis]);
    }
}

int vector_distance(struct vector_builder *builder, const struct ir_access *access, int stream,
                    const int *indices)
{
    int rank = access->buffer->rank, distance = -1;
    for (int axis = 0; axis < rank && !builder->refused; axis++)
        if (indices[axis] >= 0 && is_tested(builder, access, axis))
            test_index(builder, stream, axis, indices[axis]);
    for (int axis = 0; axis < rank && !builder->refused; axis++)
        if (indices[axis] >= 0)
            distance = sum_of(builder, distance, distance_of(builder, stream, axis, indices[axis]));
    return distance;
}

int vector_gather(struct vector_builder *builder, const struct ir_access *access, int epoch)
{
    struct vector_value value = vector_blank(VECTOR_GATHER, access->buffer->dtype);
    int rank = access->buffer->rank, indices[AKG_MAX_RANK];
    bool in_address[AKG_MAX_RANK], is_small = dtype_table[value.dtype].size < 4;
    bool in_words = is_small && builder->options->target == X86_TARGET_AVX512;
    if ((builder->nest && !builder->nest->is_while) || !rank || (is_small && builder->nest) ||
        (in_words && value.dtype == AKG_BOOL))
        return vector_refuse(builder);
    if (builder->is_serial && (builder->mask >= 0 || in_words))
        return vector_refuse(builder);
    vector_lane_indices(builder, access, in_address, indices);
    int byte = index_of_table(builder, access, indices[0]);
    value.stream = builder->refused ? 0 : stream_of(builder, access, in_address, byte >= 0);
    value.epoch = epoch;
    if (byte >= 0 && !builder->refused) {
        value.operands[0] = byte;
        value.bits = BYTES;
        return vector_add(builder, value);
    }
    int distance = vector_distance(builder, access, value.stream, indices);
    if (builder->refused || distance < 0)
        return vector_refuse(builder);
    value.operands[0] = distance;
    value.mask = builder->mask;
    value.bits = row_of(builder, access, in_address);
    return in_words ? gather_from_words(builder, value, distance) : vector_add(builder, value);
}

/*
 * vector_join.c: stores into the same element under different conditions become one.
 *
 * Consumes the values of a loop as they are built; produces, of the stores of both branches of an `if`, or of
 * one store and another under a condition behind it, a store of what the condition chooses. It takes place in
 * every iteration that the first two had between them, so that a store without a mask needs none. Only where
 * nothing else touches the tensor in between; what is stored earlier becomes a constant that nothing uses.
 *
 * A store under a condition into what the iteration has loaded stores that again where the condition does not
 * hold. Nobody else stores there meanwhile: then the iterations would hang on each other. That is for AVX2,
 * whose masked stores take as long as ten others, and for loops of one lane, where the next iteration may
 * wait for what was stored: processors hand that on from stores without masks alone.
 *
 * An element that both branches load is loaded once, under neither of their conditions, which it then does
 * not wait for: `if s < 0: s = x[i]`, `else: s += x[i]`.
 */
#include "pass.h"
#include "vector_build.h"

static const struct ir_buffer *buffer_of(const struct vector_builder *builder,
                                         const struct vector_value *value)
{
    return value->stream < 0 ? NULL : builder->loop->streams.items[value->stream].access->buffer;
}

static const struct ir_access *access_of(const struct vector_builder *builder,
                                         const struct vector_value *value)
{
    return builder->loop->streams.items[value->stream].access;
}

/* Whether the two are in different rows of one buffer, in the same iteration: a stream's elements differ in
 * the last index alone. */
static bool is_in_other_row(const struct vector_builder *builder, const struct vector_value *a,
                            const struct vector_value *b)
{
    const struct ir_access *first = access_of(builder, a), *second = access_of(builder, b);
    for (int axis = 0; axis + 1 < first->buffer->rank; axis++) {
        struct pass_affine distance, other;
        if (pass_affine_of(first->indices[axis], &distance) &&
            pass_affine_of(second->indices[axis], &other) && pass_affine_add(&distance, -1, &other) &&
            !distance.count && distance.constant)
            return true;
    }
    return false;
}

/* Whether the value may have to do with the element that is stored. With one lane what touches another
 * element has not; with several, that element may be another lane's. */
static bool may_touch(const struct vector_builder *builder, const struct vector_value *value,
                      const struct vector_value *store)
{
    return buffer_of(builder, value) == buffer_of(builder, store) &&
           !(builder->is_serial && value->kind != VECTOR_GATHER && value->kind != VECTOR_SCATTER &&
             is_in_other_row(builder, value, store));
}

/* The last value that may have to do with what is stored, from `first` on and before `end`; -1: there is
 * none.
 */
static int last_use(const struct vector_builder *builder, const struct vector_value *store, int first,
                    int end)
{
    for (int k = end - 1; k >= first; k--)
        if (may_touch(builder, &builder->loop->values.items[k], store))
            return k;
    return -1;
}

static bool is_same_element(const struct vector_value *a, const struct vector_value *b)
{
    return a->kind == VECTOR_STORE && b->kind == VECTOR_STORE && a->stream == b->stream &&
           a->offset == b->offset;
}

static void add_choice(struct vector_builder *builder, struct vector_value store, int condition, int then,
                       int otherwise, int mask)
{
    int line = builder->line;
    builder->line = store.line;
    store.operands[0] =
        vector_operation(builder, OP_SELECT, store.dtype, store.dtype, condition, then, otherwise);
    store.mask = mask;
    vector_add(builder, store);
    builder->line = line;
}

void vector_join_branches(struct vector_builder *builder, int condition, int first, int middle,
                          const int masks[2])
{
    const struct vector_loop *loop = builder->loop;
    int end = loop->values.count;
    for (int k = middle; k < end && !builder->refused; k++) {
        struct vector_value store = loop->values.items[k];
        int before = store.kind == VECTOR_STORE ? last_use(builder, &store, first, k) : -1;
        if (before < 0 || before >= middle || last_use(builder, &store, k, end) != k ||
            !is_same_element(&loop->values.items[before], &store) ||
            loop->values.items[before].mask != masks[0] || store.mask != masks[1])
            continue;
        int then = loop->values.items[before].operands[0];
        vector_forget(builder, before);
        vector_forget(builder, k);
        add_choice(builder, store, condition, then, store.operands[0], builder->mask);
    }
}

bool vector_join_store(struct vector_builder *builder, struct vector_value store)
{
    const struct vector_loop *loop = builder->loop;
    int before = last_use(builder, &store, builder->first, loop->values.count);
    if (store.mask < 0 || before < 0 || loop->values.items[before].mask >= 0 ||
        !is_same_element(&loop->values.items[before], &store))
        return false;
    int otherwise = loop->values.items[before].operands[0];
    vector_forget(builder, before);
    add_choice(builder, store, store.mask, store.operands[0], otherwise, -1);
    return true;
}

/* ---- what is there already ----------------------------------------------------------------------------- */

static bool is_other_element(const struct vector_value *value, const struct vector_value *store)
{
    return value->kind == VECTOR_STORE && value->stream == store->stream && value->offset != store->offset;
}

/* The value that an earlier load without a mask brought of the element, where it is still there; -1: none. */
static int value_there(const struct vector_builder *builder, int number)
{
    const struct vector_value *items = builder->loop->values.items, *store = &items[number];
    for (int k = number - 1; k >= builder->first; k--) {
        if (buffer_of(builder, &items[k]) != buffer_of(builder, store))
            continue;
        if (items[k].kind == VECTOR_LOAD && items[k].mask < 0 && items[k].stream == store->stream &&
            items[k].offset == store->offset && items[k].dtype == store->dtype)
            return k;
        if (items[k].kind != VECTOR_LOAD && items[k].kind != VECTOR_GATHER &&
            !is_other_element(&items[k], store))
            return -1;
    }
    return -1;
}

/* Halves that are loaded and stored again may be other ones: conversions quiet a signalling NaN. */
static bool comes_back(akg_dtype dtype)
{
    return dtype != AKG_BOOL && (!dtype_is_float(dtype) || dtype_table[dtype].size >= 4);
}

void vector_join_loads(struct vector_builder *builder, int first)
{
    const struct vector_loop *loop = builder->loop;
    bool wanted = builder->is_serial || builder->options->target == X86_TARGET_AVX2;
    for (int k = first, end = loop->values.count; wanted && !builder->nest && k < end; k++) {
        struct vector_value store = loop->values.items[k];
        bool is_last = store.kind == VECTOR_STORE && store.mask >= 0 && comes_back(store.dtype);
        for (int later = k + 1; is_last && later < loop->values.count; later++)
            is_last = buffer_of(builder, &loop->values.items[later]) != buffer_of(builder, &store) ||
                      is_other_element(&loop->values.items[later], &store);
        int there = is_last ? value_there(builder, k) : -1;
        if (there < 0)
            continue;
        vector_forget(builder, k);
        add_choice(builder, store, store.mask, store.operands[0], there, -1);
    }
}

/* ---- what both branches load --------------------------------------------------------------------------- */

static void replace(struct vector_builder *builder, int first, int number, int by)
{
    struct vector_loop *loop = builder->loop;
    for (int k = first; k < loop->values.count; k++) {
        struct vector_value *value = &loop->values.items[k];
        for (int operand = 0; operand < 3; operand++)
            if (value->operands[operand] == number)
                value->operands[operand] = by;
        if (value->mask == number)
            value->mask = by;
    }
    for (int k = 0; k < builder->scalars.count; k++)
        if (builder->scalars.items[k].value == number)
            builder->scalars.items[k].value = by;
}

/* Where indices are tested, each lane loads behind its own test. */
void vector_share_loads(struct vector_builder *builder, int first, int middle, const int masks[2])
{
    const struct vector_loop *loop = builder->loop;
    for (int k = first; k < middle && !loop->stops; k++) {
        struct vector_value *load = &loop->values.items[k];
        bool shared = false;
        for (int j = middle; j < loop->values.count && load->kind == VECTOR_LOAD && load->mask == masks[0];
             j++) {
            const struct vector_value *other = &loop->values.items[j];
            if (other->kind != VECTOR_LOAD || other->mask != masks[1] || other->stream != load->stream ||
                other->offset != load->offset || other->dtype != load->dtype || other->epoch != load->epoch)
                continue;
            replace(builder, j + 1, j, k);
            shared = true;
        }
        if (shared)
            load->mask = builder->mask;
    }
}

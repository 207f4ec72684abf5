/*
 * vector_join.c: stores into the same element under different conditions become one.
 *
 * Consumes the values of a loop as they are built; produces, of the stores of both branches of an `if`, or of
 * one store and another under a condition behind it, a store of what the condition chooses. It takes place in
 * every iteration that the first two had between them, so that a store without a mask needs none. Only where
 * nothing else touches the tensor in between; what is stored earlier becomes a constant that nothing uses.
 */
#include "vector_build.h"

static const struct ir_buffer *buffer_of(const struct vector_builder *builder,
                                         const struct vector_value *value)
{
    return value->stream < 0 ? NULL : builder->loop->streams.items[value->stream].access->buffer;
}

/* The last value that has to do with the buffer, from `first` on and before `end`; -1: there is none. */
static int last_use(const struct vector_builder *builder, const struct ir_buffer *buffer, int first, int end)
{
    for (int k = end - 1; k >= first; k--)
        if (buffer_of(builder, &builder->loop->values.items[k]) == buffer)
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
    for (int k = middle; k < end && !builder->is_serial && !builder->refused; k++) {
        struct vector_value store = loop->values.items[k];
        const struct ir_buffer *buffer = buffer_of(builder, &store);
        int before = store.kind == VECTOR_STORE ? last_use(builder, buffer, first, k) : -1;
        if (before < 0 || before >= middle || last_use(builder, buffer, k, end) != k ||
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
    int before = last_use(builder, buffer_of(builder, &store), builder->first, loop->values.count);
    if (builder->is_serial || store.mask < 0 || before < 0 || loop->values.items[before].mask >= 0 ||
        !is_same_element(&loop->values.items[before], &store))
        return false;
    int otherwise = loop->values.items[before].operands[0];
    vector_forget(builder, before);
    add_choice(builder, store, store.mask, store.operands[0], otherwise, -1);
    return true;
}

/*
 * vector_fuse.c: products that are added to something are not rounded.
 *
 * Consumes the values of a loop; those sums of floats that have a product for an operand, which nothing else
 * uses, become one operation with it. Assumes that results need not be the interpreter's to the bit
 * (vector_options.strict).
 */
#include "vector_build.h"

static bool is_product(const struct vector_loop *loop, const int *uses, int number, akg_dtype dtype)
{
    if (number < 0)
        return false;
    const struct vector_value *value = &loop->values.items[number];
    return value->kind == VECTOR_OPERATION && value->operation == OP_MUL && value->dtype == dtype &&
           uses[number] == 1;
}

static void take_product(struct vector_loop *loop, struct vector_value *value, int product, int rest)
{
    const struct vector_value *factors = &loop->values.items[product];
    value->operands[0] = factors->operands[0];
    value->operands[1] = factors->operands[1];
    value->operands[2] = rest;
}

/* acc + -(a * b), as acc -= a * b comes to; `a`: what is accumulated. */
static bool is_negated_product(const struct vector_loop *loop, const int *uses, int a, akg_dtype dtype)
{
    const struct vector_value *value = &loop->values.items[a];
    return uses[a] == 1 && value->kind == VECTOR_OPERATION && value->operation == OP_NEG &&
           is_product(loop, uses, value->operands[0], dtype);
}

/* How many operations each value waits for behind what the iteration before hands on; 0: for none. */
static int *find_waits(struct vector_builder *builder)
{
    const struct vector_loop *loop = builder->loop;
    int *waits = arena_array(builder->arena, int, loop->values.count);
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        waits[k] = value->kind == VECTOR_TOTAL;
        for (int operand = 0; operand < 3; operand++) {
            int before = value->operands[operand] >= 0 ? waits[value->operands[operand]] : 0;
            if (before > 0 && before >= waits[k])
                waits[k] = before + 1;
        }
    }
    return waits;
}

/* A product that is used once, to be added to something, is not rounded; of two, the one that is known last:
 * the other one is there by then (`v = a * x[i] + b * v`). It stays where it is, unused. */
void vector_fuse(struct vector_builder *builder)
{
    struct vector_loop *loop = builder->loop;
    int *waits = find_waits(builder);
    int *uses = arena_array(builder->arena, int, loop->values.count);
    for (int k = 0; k < loop->values.count; k++)
        for (int operand = 0; operand < 3; operand++)
            if (loop->values.items[k].operands[operand] >= 0)
                uses[loop->values.items[k].operands[operand]]++;
    for (int k = 0; k < loop->values.count; k++) {
        struct vector_value *value = &loop->values.items[k];
        int a = value->operands[0], b = value->operands[1];
        bool sum = value->operation == OP_ADD || value->operation == OP_SUB;
        if (!dtype_is_float(value->dtype) || !sum)
            continue;
        if (value->kind == VECTOR_ACCUMULATE && is_product(loop, uses, a, value->dtype)) {
            take_product(loop, value, a, -1);
            value->operation = OP_FMA;
        } else if (value->kind == VECTOR_ACCUMULATE && is_negated_product(loop, uses, a, value->dtype)) {
            take_product(loop, value, loop->values.items[a].operands[0], -1);
            value->operation = OP_NEG;
        } else if (value->kind != VECTOR_OPERATION) {
            continue;
        } else if (is_product(loop, uses, a, value->dtype) &&
                   !(is_product(loop, uses, b, value->dtype) && waits[b] > waits[a])) {
            value->kind = VECTOR_FUSED;
            take_product(loop, value, a, b);
        } else if (is_product(loop, uses, b, value->dtype)) {
            value->kind = VECTOR_FUSED;
            value->operation = value->operation == OP_SUB ? OP_NEG : OP_ADD;
            take_product(loop, value, b, a);
        }
    }
}

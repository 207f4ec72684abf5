/*
 * vector_trim.c: what a cast of floats to integers of 8 and 16 bits does by itself.
 *
 * Consumes the operand of such a cast, which cuts to the numbers of the dtype and makes 0 of nan; produces
 * the cast, without the minimum and the maximum that the program takes before it, where they cut off no more,
 * and with the rounding in it: `uint8(min(max(round(x[i]), 0), 255))`.
 */
#include "vector_build.h"

/* Without a limit that is none of the dtype's numbers, or its last; -1: there is none. */
static int without_limit(const struct vector_loop *loop, akg_dtype dtype, const struct vector_value *value)
{
    int width = 8 * dtype_table[dtype].size - dtype_is_signed(dtype);
    double most = (double)((1u << width) - 1), least = dtype_is_signed(dtype) ? -most - 1 : 0;
    if (value->kind != VECTOR_OPERATION || (value->operation != OP_MIN && value->operation != OP_MAX))
        return -1;
    for (int k = 0; k < 2; k++) {
        const struct vector_value *limit = &loop->values.items[value->operands[k]];
        if (limit->kind == VECTOR_CONSTANT &&
            (value->operation == OP_MIN ? vector_number(limit->type, limit->bits) >= most
                                        : vector_number(limit->type, limit->bits) <= least))
            return value->operands[1 - k];
    }
    return -1;
}

int vector_cast(struct vector_builder *builder, akg_dtype dtype, akg_dtype from, int operand)
{
    const struct vector_loop *loop = builder->loop;
    bool is_narrow = dtype_is_integer(dtype) && dtype_table[dtype].size <= 2, rounds = false;
    bool is_real = from == AKG_FLOAT32 || from == AKG_FLOAT64;
    if (is_narrow && is_real && operand >= 0 && !builder->refused) {
        for (int next; (next = without_limit(loop, dtype, &loop->values.items[operand])) >= 0;)
            operand = next;
        const struct vector_value *value = &loop->values.items[operand];
        rounds = from == AKG_FLOAT32 && value->kind == VECTOR_OPERATION && value->operation == OP_ROUND;
        operand = rounds ? value->operands[0] : operand;
    }
    struct vector_value cast = vector_blank(VECTOR_OPERATION, dtype);
    cast.operation = OP_CAST;
    cast.from = from;
    cast.operands[0] = operand;
    cast.rounds = rounds;
    return vector_add(builder, cast);
}

/*
 * pass_range.c: how large an int64 of the kernel may be, for passes that take sums apart, which is right as
 * long as these do not wrap.
 *
 * Consumes expressions of dims, attributes that are small, loop variables and constants. Extents are taken to
 * stay below 2^40 (linear_fits.c); a loop that goes upwards from a small number, to wherever, is at no larger
 * one than it has iterations, of which none has 2^50.
 */
#include "../base/number.h"
#include "pass.h"

enum { UNKNOWN = 64, MOST = 62, EXTENT = 40, ITERATIONS = 50, DEEPEST = 24 };

static int bits_of_number(int64_t value)
{
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;

    return magnitude ? 64 - __builtin_clzll(magnitude) : 0;
}

static int bits_of(const struct pass_ranges *ranges, const struct ir_expr *expr, int depth);

static int bits_of_symbol(const struct pass_ranges *ranges, const struct ir_symbol *symbol, int depth)
{
    if (symbol->kind == IR_SYMBOL_DIM)
        return EXTENT;
    if (symbol->kind == IR_SYMBOL_ATTRIBUTE && symbol->known.bits)
        return symbol->known.bits;
    if (symbol->kind == IR_SYMBOL_LET && symbol->value)
        return bits_of(ranges, symbol->value, depth + 1);
    for (int k = ranges->count - 1; k >= 0; k--)
        if (ranges->loops[k].symbol == symbol)
            return ranges->loops[k].bits;
    return UNKNOWN;
}

static int bits_of_operation(const struct ir_expr *expr, int a, int b)
{
    switch (expr->operation) {
    case OP_NEG:
        return a;
    case OP_ADD:
    case OP_SUB:
        return number_larger(a, b) + 1;
    case OP_MUL:
        return a + b;
    case OP_MIN:
    case OP_MAX:
        return number_larger(a, b);
    case OP_FLOORDIV:
    case OP_MOD:
        return ir_is_positive(expr->operands[1]) ? number_larger(a, b) : UNKNOWN;
    default:
        return UNKNOWN;
    }
}

static int bits_of(const struct pass_ranges *ranges, const struct ir_expr *expr, int depth)
{
    if (expr->dtype != AKG_INT64 || depth > DEEPEST)
        return UNKNOWN;
    if (expr->kind == IR_INTEGER)
        return bits_of_number(expr->integer);
    if (expr->kind == IR_SYMBOL)
        return bits_of_symbol(ranges, expr->symbol, depth);
    if (expr->kind != IR_OPERATION || expr->count < 1 || expr->count > 2)
        return UNKNOWN;
    int a = bits_of(ranges, expr->operands[0], depth + 1);
    int b = expr->count > 1 ? bits_of(ranges, expr->operands[1], depth + 1) : 0;
    return a > MOST || b > MOST ? UNKNOWN : bits_of_operation(expr, a, b);
}

int pass_bits_of(const struct pass_ranges *ranges, const struct ir_expr *expr)
{
    return bits_of(ranges, expr, 0);
}

bool pass_ranges_know(struct pass_ranges *ranges, const struct ir_stmt *loop)
{
    if (ranges->count == PASS_RANGES)
        return false;
    int low = pass_bits_of(ranges, loop->low), high = pass_bits_of(ranges, loop->high);
    int step = bits_of_number(loop->step), bits = number_larger(low, high);
    if (number_larger(low, ITERATIONS + step) + 1 < bits)
        bits = number_larger(low, ITERATIONS + step) + 1;
    ranges->loops[ranges->count].symbol = loop->symbol;
    ranges->loops[ranges->count++].bits = bits;
    return true;
}

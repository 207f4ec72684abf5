/*
 * elaborate_exact.c: integers of a dtype against untyped ones that it may not hold.
 *
 * Attributes, extents and loop variables are known to be int64 and no more. Where one is compared with an
 * element of a smaller dtype the two are compared as the numbers they are, and min and max take the nearest
 * number that the dtype has: converted first, as for arithmetic, 300 would be 44 for uint8.
 */
#include "elaborate_private.h"

bool elaborate_may_not_fit(const struct value *value, akg_dtype type)
{
    bool untyped = value->kind == VALUE_INT && !value->is_large;

    if (!untyped || type_is_variable(type) || !dtype_is_integer(type) || type == AKG_INT64)
        return false;
    if (value->expr->kind != IR_INTEGER)
        return true;
    /* a number of the program is held to the dtype by value_coerce */
    return value->is_given && (dtype_wrap(type, value->expr->integer) != value->expr->integer ||
                               (type == AKG_UINT64 && value->expr->integer < 0));
}

/* No dtype holds both: what is negative is below all of uint64. */
static struct ir_expr *exact_compare_unsigned(struct elaborator *e, enum operation operation,
                                              struct ir_expr *element, struct ir_expr *number,
                                              struct span span)
{
    bool needs_sign = operation == OP_LT || operation == OP_LE || operation == OP_EQ;
    struct ir_expr *zero = ir_integer(e->kernel, AKG_INT64, 0);
    struct ir_expr *sign =
        expr_node(e, needs_sign ? OP_GE : OP_LT, AKG_BOOL, expr_copy(e, number), zero, NULL, span);
    struct ir_expr *as_unsigned = expr_node(e, OP_CAST, AKG_UINT64, expr_copy(e, number), NULL, NULL, span);
    struct ir_expr *compared = expr_node(e, operation, AKG_BOOL, element, as_unsigned, NULL, span);

    return expr_node(e, needs_sign ? OP_AND : OP_OR, AKG_BOOL, sign, compared, NULL, span);
}

struct value elaborate_compare_exact(struct elaborator *e, enum operation operation, const struct value *v,
                                     akg_dtype type, struct span span)
{
    int number = v[0].kind == VALUE_INT ? 0 : 1;
    struct ir_expr *operands[2];

    if (type == AKG_UINT64)
        return value_of(VALUE_SCALAR,
                        exact_compare_unsigned(e, number ? operation : ir_comparison_mirrored(operation),
                                               v[1 - number].expr, v[number].expr, span));
    operands[number] = expr_copy(e, v[number].expr);
    operands[1 - number] = expr_node(e, OP_CAST, AKG_INT64, v[1 - number].expr, NULL, NULL, span);
    return value_of(VALUE_SCALAR, expr_node(e, operation, AKG_BOOL, operands[0], operands[1], NULL, span));
}

void elaborate_take_nearest(struct elaborator *e, struct value *value, akg_dtype type)
{
    bool is_signed = dtype_is_signed(type);
    int bits = (int)dtype_table[type].size * 8 - is_signed;
    int64_t most = bits < 63 ? ((int64_t)1 << bits) - 1 : INT64_MAX;

    value->expr = ir_operation(e->kernel, OP_MAX, expr_copy(e, value->expr),
                               ir_integer(e->kernel, AKG_INT64, is_signed ? -most - 1 : 0), NULL);
    if (most < INT64_MAX)
        value->expr =
            ir_operation(e->kernel, OP_MIN, value->expr, ir_integer(e->kernel, AKG_INT64, most), NULL);
}

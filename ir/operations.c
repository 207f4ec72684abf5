/*
 * operations.c: the table of scalar operations, from operations.def, and which
 * dtypes each rule takes and gives.
 */
#include "ir_private.h"

const struct operation_row operation_table[OPERATION_COUNT] = {
#define NAME_none(function) ""
#define NAME_f1(function) #function
#define NAME_f2(function) #function
#define NAME_f3(function) #function
#define NAME_c1(function) #function
#define X(id, text, arity, rule, shape, c32, c64)                                                            \
    [OP_##id] = {text, arity, RULE_##rule, NAME_##shape(c32), NAME_##shape(c64)},
#include "operations.def"
#undef X
};

const struct ir_reduction_row ir_reduction_table[IR_REDUCTION_COUNT] = {
#define X(id, text, operation) {text, operation},
    IR_REDUCTION_TABLE(X)
#undef X
};

akg_dtype ir_result_dtype(enum operation operation, const akg_dtype *operands)
{
    switch (operation_table[operation].rule) {
    case RULE_COMPARE:
    case RULE_LOGICAL:
    case RULE_CLASSIFY:
        return AKG_BOOL;
    case RULE_CHOICE:
        return operands[1];
    default:
        return operands[0];
    }
}

static bool rule_takes(enum operation operation, akg_dtype dtype)
{
    switch (operation_table[operation].rule) {
    case RULE_NUMERIC:
        return dtype != AKG_BOOL;
    case RULE_FLOATING:
    case RULE_CLASSIFY:
        return dtype_is_float(dtype);
    case RULE_INTEGRAL:
        return dtype_is_integer(dtype);
    case RULE_BITWISE:
        return dtype_is_integer(dtype) || dtype == AKG_BOOL;
    case RULE_COMPARE:
        return dtype != AKG_BOOL || operation == OP_EQ || operation == OP_NE;
    case RULE_LOGICAL:
        return dtype == AKG_BOOL;
    case RULE_CHOICE:
    case RULE_CONVERT:
        return true;
    }
    return false;
}

bool ir_operands_fit(enum operation operation, const akg_dtype *operands)
{
    const struct operation_row *row = &operation_table[operation];
    int first = row->rule == RULE_CHOICE;

    if (first && operands[0] != AKG_BOOL)
        return false;
    for (int k = first; k < row->arity; k++)
        if (operands[k] != operands[first] || !rule_takes(operation, operands[k]))
            return false;
    return true;
}

bool ir_operation_is_infix(enum operation operation)
{
    const struct operation_row *row = &operation_table[operation];

    return row->arity == 2 && !ir_word_is_plain(row->text);
}

bool ir_can_divide_by_zero(enum operation operation, akg_dtype dtype)
{
    switch (operation) {
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return dtype_is_integer(dtype);
    case OP_POW:
        return dtype_is_signed(dtype);
    default:
        return false;
    }
}

enum operation ir_comparison_mirrored(enum operation comparison)
{
    switch (comparison) {
    case OP_LT:
        return OP_GT;
    case OP_LE:
        return OP_GE;
    case OP_GT:
        return OP_LT;
    case OP_GE:
        return OP_LE;
    default:
        return comparison;
    }
}

enum operation ir_comparison_negated(enum operation comparison)
{
    switch (comparison) {
    case OP_LT:
        return OP_GE;
    case OP_LE:
        return OP_GT;
    case OP_GT:
        return OP_LE;
    case OP_GE:
        return OP_LT;
    default:
        return comparison == OP_EQ ? OP_NE : OP_EQ;
    }
}

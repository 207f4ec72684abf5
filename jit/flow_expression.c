/*
 * flow_expression.c: expressions of a loop with branches as items; see flow.h.
 *
 * Consumes an expression; appends what computes it, in the order of evaluation of the program, and produces
 * the value. Truths become jumps where that is asked for. What is pure and the same in all iterations of
 * loops around it is computed before these. Choices between what costs next to nothing are made without a
 * jump.
 */
#include "../base/number.h"
#include "flow_private.h"
#include "scalar.h"
#include "scalar_library.h"

#include <string.h>

/* ---- numbers ------------------------------------------------------------------------------------ */

int flow_constant(struct flow_builder *builder, int64_t number)
{
    struct flow_item item = flow_item(FLOW_CONSTANT);
    flow_section *section = builder->section;
    int depth = builder->depth;
    bool is_long = number < INT32_MIN || number > INT32_MAX; /* what no instruction holds is made once */
    item.immediate = number;
    if (is_long) {
        builder->section = builder->entry;
        builder->depth = 0;
    }
    int value = flow_add_known(builder, item);
    builder->code->values.items[value].is_extended = true;
    builder->section = section;
    builder->depth = depth;
    return value;
}

int flow_number(struct flow_builder *builder, bool wide, uint64_t bits)
{
    struct flow_item item = flow_item(FLOW_NUMBER);
    flow_section *section = builder->section;
    int depth = builder->depth;
    item.wide = wide;
    item.immediate = (int64_t)bits;
    builder->section = builder->entry;
    builder->depth = 0;
    int value = flow_add_known(builder, item);
    builder->section = section;
    builder->depth = depth;
    return value;
}

int flow_shifted(struct flow_builder *builder, enum x86_form form, int a, int by)
{
    struct flow_item item = flow_item(FLOW_SHIFT_BY);
    if (by == 0)
        return a;
    item.form = form;
    item.operands[0] = a;
    item.immediate = by;
    return flow_add_known(builder, item);
}

/* By a shift, or by what addresses are computed with, where one of these gives it. */
static int multiplied(struct flow_builder *builder, int a, int64_t by)
{
    if (by == 1)
        return a;
    if (by > 0 && (by & (by - 1)) == 0)
        return flow_shifted(builder, X86_SHL_BY, a, __builtin_ctzll((uint64_t)by));
    if (by == 3 || by == 5 || by == 9) {
        struct flow_item item = flow_item(FLOW_ADDRESS);
        item.memory = (struct x86_memory){a, a, (int)by - 1, 0};
        return flow_add_known(builder, item);
    }
    return flow_alu(builder, X86_IMUL, a, flow_constant(builder, by), 0);
}

int flow_alu(struct flow_builder *builder, enum x86_form form, int a, int b, int64_t immediate)
{
    struct flow_item item = flow_item(FLOW_ALU);
    if (b < 0 && form == X86_IMUL)
        return multiplied(builder, a, immediate);
    if (b < 0 && (immediate < INT32_MIN || immediate > INT32_MAX))
        b = flow_constant(builder, immediate);
    if (b < 0 && immediate == 0 && (form == X86_ADD || form == X86_SUB))
        return a;
    item.form = form;
    item.operands[0] = a;
    item.operands[1] = b;
    item.by_immediate = b < 0;
    item.immediate = b < 0 ? immediate : 0;
    return flow_add_known(builder, item);
}

int flow_extended(struct flow_builder *builder, akg_dtype dtype, int value)
{
    struct flow_item item = flow_item(FLOW_EXTEND);
    if ((dtype != AKG_INT32 && dtype != AKG_UINT32) || builder->code->values.items[value].is_extended)
        return value;
    item.form = dtype == AKG_INT32 ? X86_MOVSXD : X86_MOV_DWORD;
    item.operands[0] = value;
    int extended = flow_add_known(builder, item);
    builder->code->values.items[extended].is_extended = true;
    return extended;
}

/* ---- what hangs on which loops --------------------------------------------------------------------- */

bool flow_is_inline(const struct ir_expr *expr)
{
    akg_dtype from = expr->operands[0]->dtype;
    bool real = dtype_is_float(from);
    switch (expr->operation) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
    case OP_ABS:
        return true;
    case OP_TRUEDIV:
    case OP_SQRT:
        return true;
    case OP_MIN:
    case OP_MAX:
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
    case OP_BITNOT:
    case OP_SHL:
    case OP_SHR:
        return !real;
    case OP_CAST:
        return from != AKG_UINT64 || !dtype_is_half(expr->dtype);
    default:
        return false;
    }
}

static bool is_division(const struct ir_expr *expr)
{
    return (expr->operation == OP_FLOORDIV || expr->operation == OP_MOD) && dtype_is_integer(expr->dtype);
}

int flow_depth_of(struct flow_builder *builder, const struct ir_expr *expr, bool *pure)
{
    int depth = 0;
    *pure = *pure && builder->nesting <= FLOW_DEEPEST_NESTING;
    if (expr->kind == IR_SYMBOL) {
        flow_symbol(builder, expr->symbol, &depth);
        return depth;
    }
    if (expr->kind == IR_LOAD && *pure && flow_is_steady(builder, &expr->access))
        return builder->depth - 1;
    if (expr->kind == IR_LOAD)
        *pure = false;
    if (expr->kind != IR_OPERATION)
        return depth;
    *pure = *pure && !expr->checked && (flow_is_inline(expr) || is_division(expr));
    builder->nesting++;
    for (int k = 0; k < expr->count && *pure; k++) {
        int inner = flow_depth_of(builder, expr->operands[k], pure);
        depth = inner > depth ? inner : depth;
    }
    builder->nesting--;
    return depth;
}

static int early(struct flow_builder *builder, const struct ir_expr *expr)
{
    bool is_early = builder->is_early;
    builder->is_early = true;
    int value = flow_expression(builder, expr);
    builder->is_early = is_early;
    return value;
}

/* Divisions take their time, and those that are guarded are not found again by their instructions. */
static int divided_once(struct flow_builder *builder, const struct ir_expr *expr)
{
    for (int k = 0; k < builder->divisions.count; k++) {
        const struct flow_division *division = &builder->divisions.items[k];
        if (division->section == builder->section && ir_expr_equal(division->expr, expr))
            return division->value;
    }
    struct flow_division division = {expr, builder->section, early(builder, expr)};
    list_push(builder->arena, &builder->divisions, division);
    return division.value;
}

/* Where it may be computed before the loops that it does not hang on. */
static int hoisted(struct flow_builder *builder, const struct ir_expr *expr, int depth)
{
    flow_section *section = builder->section;
    int outer = builder->depth;
    builder->section = builder->loops[depth].before;
    builder->depth = depth;
    int value = is_division(expr) ? divided_once(builder, expr) : early(builder, expr);
    builder->section = section;
    builder->depth = outer;
    return value;
}

/* Whether it costs so little that it is computed whether it is needed or not. */
static bool is_cheap(const struct ir_expr *expr, int *budget)
{
    if (--*budget < 0 || expr->kind == IR_LOAD)
        return false;
    if (expr->kind != IR_OPERATION)
        return true;
    if (expr->checked || !flow_is_inline(expr) || expr->operation == OP_TRUEDIV || expr->operation == OP_SQRT)
        return false;
    for (int k = 0; k < expr->count; k++)
        if (!is_cheap(expr->operands[k], budget))
            return false;
    return true;
}

static bool is_comparison(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && operation_table[expr->operation].rule == RULE_COMPARE;
}

/* A truth likewise. */
static bool is_cheap_truth(const struct ir_expr *expr)
{
    int budget = 6;
    if (is_comparison(expr))
        return is_cheap(expr->operands[0], &budget) && is_cheap(expr->operands[1], &budget);
    return expr->kind == IR_SYMBOL;
}

/* ---- comparisons ------------------------------------------------------------------------------------ */

static enum flow_condition condition_of(enum operation operation, bool is_signed)
{
    switch (operation) {
    case OP_LT:
        return is_signed ? FLOW_LESS : FLOW_BELOW;
    case OP_LE:
        return is_signed ? FLOW_NOT_GREATER : FLOW_NOT_ABOVE;
    case OP_GT:
        return is_signed ? FLOW_GREATER : FLOW_ABOVE;
    case OP_GE:
        return is_signed ? FLOW_NOT_LESS : FLOW_NOT_BELOW;
    case OP_EQ:
        return FLOW_EQUAL;
    default:
        return FLOW_NOT_EQUAL;
    }
}

static bool is_short(const struct ir_expr *expr)
{
    return expr->kind == IR_INTEGER && expr->integer >= INT32_MIN && expr->integer <= INT32_MAX;
}

bool flow_asks_bits(const struct ir_expr *expr)
{
    const struct ir_expr *bits = expr->operands[0], *zero = expr->operands[1];
    return (expr->operation == OP_EQ || expr->operation == OP_NE) && zero->kind == IR_INTEGER &&
           zero->integer == 0 && bits->kind == IR_OPERATION && bits->operation == OP_BITAND &&
           bits->dtype != AKG_BOOL && is_short(bits->operands[1]);
}

/* The comparison of integers, as an item of that kind. */
static struct flow_item compared(struct flow_builder *builder, const struct ir_expr *expr,
                                 enum flow_kind kind)
{
    struct flow_item item = flow_item(kind);
    akg_dtype dtype = expr->operands[0]->dtype;
    if (flow_asks_bits(expr)) {
        item.operands[0] = flow_expression(builder, expr->operands[0]->operands[0]);
        item.by_immediate = item.of_bits = true;
        item.immediate = expr->operands[0]->operands[1]->integer;
        item.condition = condition_of(expr->operation, false);
        item.narrow = !flow_is_64(dtype);
        return item;
    }
    item.operands[0] = flow_expression(builder, expr->operands[0]);
    item.by_immediate = is_short(expr->operands[1]);
    if (item.by_immediate)
        item.immediate = expr->operands[1]->integer;
    else
        item.operands[1] = flow_expression(builder, expr->operands[1]);
    item.condition = condition_of(expr->operation, dtype_is_signed(dtype));
    item.narrow = !flow_is_64(dtype);
    return item;
}

/* A truth that is in a register. */
static struct flow_item tested(int value, enum flow_kind kind)
{
    struct flow_item item = flow_item(kind);
    item.operands[0] = value;
    item.by_immediate = item.narrow = true;
    item.condition = FLOW_NOT_EQUAL;
    return item;
}

static struct flow_item any_test(struct flow_builder *builder, const struct ir_expr *expr,
                                 enum flow_kind kind)
{
    if (is_comparison(expr) && !dtype_is_float(expr->operands[0]->dtype))
        return compared(builder, expr, kind);
    bool is_byte = expr->kind == IR_LOAD && expr->access.buffer->dtype == AKG_BOOL;
    return tested(is_byte ? flow_load_bits(builder, &expr->access) : flow_expression(builder, expr), kind);
}

/* The numbers that vcmpps has for comparisons. */
enum { EQUAL = 0, LESS = 1, NOT_GREATER = 2, UNORDERED = 3, NOT_EQUAL = 4 };

/* All ones where a comparison of floats holds. */
static int float_mask(struct flow_builder *builder, const struct ir_expr *expr)
{
    bool wide = expr->operands[0]->dtype == AKG_FLOAT64;
    int a = flow_expression(builder, expr->operands[0]), b = flow_expression(builder, expr->operands[1]);
    bool turned = expr->operation == OP_GT || expr->operation == OP_GE;
    int number = expr->operation == OP_EQ                               ? EQUAL
                 : expr->operation == OP_LT || expr->operation == OP_GT ? LESS
                 : expr->operation == OP_NE                             ? NOT_EQUAL
                                                                        : NOT_GREATER;
    return flow_float(builder, wide, wide ? X86_VCMPPD : X86_VCMPPS, turned ? b : a, turned ? a : b, number);
}

static int truth_of_mask(struct flow_builder *builder, int mask)
{
    struct flow_item item = flow_item(FLOW_TO_GENERAL);
    item.form = X86_VMOVD_FROM;
    item.operands[0] = mask;
    return flow_alu(builder, X86_AND, flow_add(builder, item), FLOW_NONE, 1);
}

/* The comparison of floats, as an item of that kind. */
static struct flow_item float_compared(struct flow_builder *builder, const struct ir_expr *expr,
                                       enum flow_kind kind)
{
    struct flow_item item = flow_item(kind);
    enum operation operation = expr->operation;
    int a = flow_expression(builder, expr->operands[0]), b = flow_expression(builder, expr->operands[1]);
    bool less = operation == OP_LT || operation == OP_LE;
    item.wide = expr->operands[0]->dtype == AKG_FLOAT64;
    item.operands[0] = less ? b : a; /* what is unordered is below, so that greater is what can be asked */
    item.operands[1] = less ? a : b;
    item.condition = operation == OP_LT || operation == OP_GT   ? FLOW_ABOVE
                     : operation == OP_LE || operation == OP_GE ? FLOW_NOT_BELOW
                     : operation == OP_EQ                       ? FLOW_EQUAL
                                                                : FLOW_NOT_EQUAL;
    return item;
}

static void float_branch(struct flow_builder *builder, const struct ir_expr *expr, bool sense, int label)
{
    struct flow_item item = float_compared(builder, expr, FLOW_FLOAT_JUMP);
    if (!sense)
        item.condition ^= 1;
    item.label = label;
    flow_add(builder, item);
}

/* ---- truths -------------------------------------------------------------------------------------------- */

static int branch(struct flow_builder *builder, const struct ir_expr *expr, bool sense, int label)
{
    bool operation = expr->kind == IR_OPERATION;
    if (operation && expr->operation == OP_NOT)
        return flow_branch(builder, expr->operands[0], !sense, label);
    if (operation && (expr->operation == OP_AND || expr->operation == OP_OR)) {
        bool decides = expr->operation == OP_OR; /* a side that is so decides it */
        int skip = flow_new_label(builder);
        int from = flow_branch(builder, expr->operands[0], decides, sense == decides ? label : skip);
        flow_branch(builder, expr->operands[1], sense, label);
        flow_place(builder, skip, from);
        return from;
    }
    if (expr->kind == IR_INTEGER) {
        if ((expr->integer != 0) == sense)
            flow_jump(builder, label);
    } else if (is_comparison(expr) && dtype_is_float(expr->operands[0]->dtype)) {
        float_branch(builder, expr, sense, label);
    } else {
        struct flow_item item = any_test(builder, expr, FLOW_COMPARE_JUMP);
        item.label = label;
        if (!sense)
            item.condition ^= 1;
        flow_add(builder, item);
    }
    return flow_here(builder);
}

int flow_branch(struct flow_builder *builder, const struct ir_expr *expr, bool sense, int label)
{
    if (++builder->nesting > FLOW_DEEPEST_NESTING)
        flow_refuse(builder);
    int from = builder->refused ? 0 : branch(builder, expr, sense, label);
    builder->nesting--;
    return from;
}

static void set(struct flow_builder *builder, int to, int64_t number)
{
    struct flow_item item = flow_item(FLOW_CONSTANT);
    item.result = to;
    item.immediate = number;
    item.by_immediate = true; /* nobody takes it for a constant that stays */
    flow_add(builder, item);
}

/* AND and OR: the second side is looked at only where it counts, unless it costs nothing. */
static int joined(struct flow_builder *builder, const struct ir_expr *expr)
{
    if (is_cheap_truth(expr->operands[1])) {
        int a = flow_expression(builder, expr->operands[0]);
        return flow_alu(builder, expr->operation == OP_AND ? X86_AND : X86_OR, a,
                        flow_expression(builder, expr->operands[1]), 0);
    }
    int result = flow_new_value(builder, false), end = flow_new_label(builder);
    set(builder, result, 0);
    int from = flow_branch(builder, expr, false, end);
    set(builder, result, 1);
    flow_place(builder, end, from);
    return result;
}

static int truth(struct flow_builder *builder, const struct ir_expr *expr)
{
    if (expr->operation == OP_AND || expr->operation == OP_OR)
        return joined(builder, expr);
    if (expr->operation == OP_NOT)
        return flow_alu(builder, X86_XOR, flow_expression(builder, expr->operands[0]), FLOW_NONE, 1);
    if (dtype_is_float(expr->operands[0]->dtype))
        return truth_of_mask(builder, float_mask(builder, expr));
    return flow_add(builder, compared(builder, expr, FLOW_COMPARE_SET));
}

/* ---- choices ------------------------------------------------------------------------------------------- */

int flow_float(struct flow_builder *builder, bool wide, enum x86_form form, int a, int b, int immediate)
{
    struct flow_item item = flow_item(FLOW_FLOAT);
    item.form = form;
    item.wide = wide;
    item.operands[0] = a;
    item.operands[1] = b;
    item.immediate = immediate;
    return flow_add_known(builder, item);
}

/* By the form for the width. */
static int float_pair(struct flow_builder *builder, enum x86_form form32, enum x86_form form64, bool wide,
                      int a, int b)
{
    return flow_float(builder, wide, wide ? form64 : form32, a, b, 0);
}

/* `x if x > y else y` is what the processor means by the greatest, NaN and zeros included; FLOW_NONE: it is
 * no such choice. */
static int chosen_extreme(struct flow_builder *builder, const struct ir_expr *expr)
{
    const struct ir_expr *test = expr->operands[0], *yes = expr->operands[1], *no = expr->operands[2];
    bool less = test->operation == OP_LT, wide = expr->dtype == AKG_FLOAT64;
    if (!less && test->operation != OP_GT)
        return FLOW_NONE;
    bool same = ir_expr_equal(test->operands[0], yes) && ir_expr_equal(test->operands[1], no),
         turned = ir_expr_equal(test->operands[1], yes) && ir_expr_equal(test->operands[0], no);
    if (!same && !turned)
        return FLOW_NONE;
    int a = flow_expression(builder, yes), b = flow_expression(builder, no);
    return less == same ? float_pair(builder, X86_VMINSS, X86_VMINSD, wide, a, b)
                        : float_pair(builder, X86_VMAXSS, X86_VMAXSD, wide, a, b);
}

/* Flags tell such a one, of NaN too, by one condition. */
static bool is_order_of_floats(const struct ir_expr *condition)
{
    return is_comparison(condition) && dtype_is_float(condition->operands[0]->dtype) &&
           condition->operation != OP_EQ && condition->operation != OP_NE;
}

/* One of two values, both computed. */
static int picked(struct flow_builder *builder, const struct ir_expr *expr)
{
    const struct ir_expr *condition = expr->operands[0];
    if (!dtype_is_float(expr->dtype)) {
        struct flow_item item = is_order_of_floats(condition)
                                    ? float_compared(builder, condition, FLOW_FLOAT_CHOOSE)
                                    : any_test(builder, condition, FLOW_COMPARE_CHOOSE);
        item.operands[2] = flow_expression(builder, expr->operands[1]);
        item.operands[3] = flow_expression(builder, expr->operands[2]);
        return flow_add_known(builder, item);
    }
    int extreme = chosen_extreme(builder, expr);
    if (extreme >= 0)
        return extreme;
    struct flow_item item = flow_item(FLOW_BLEND);
    item.wide = expr->dtype == AKG_FLOAT64;
    item.operands[2] = float_mask(builder, condition);
    item.operands[1] = flow_expression(builder, expr->operands[1]);
    item.operands[0] = flow_expression(builder, expr->operands[2]);
    return flow_add(builder, item);
}

static int selection(struct flow_builder *builder, const struct ir_expr *expr)
{
    const struct ir_expr *condition = expr->operands[0];
    int budget = 8;
    bool cheap = is_cheap(expr->operands[1], &budget) && is_cheap(expr->operands[2], &budget);
    bool masks = is_comparison(condition) && dtype_is_float(condition->operands[0]->dtype) &&
                 (condition->operands[0]->dtype == AKG_FLOAT64) == (expr->dtype == AKG_FLOAT64);
    if (cheap && (masks || !dtype_is_float(expr->dtype)))
        return picked(builder, expr);
    int result = flow_new_value(builder, dtype_is_float(expr->dtype)), otherwise = flow_new_label(builder),
        end = flow_new_label(builder);
    int from = flow_branch(builder, condition, false, otherwise);
    flow_move(builder, result, flow_expression(builder, expr->operands[1]));
    flow_jump(builder, end);
    flow_place(builder, otherwise, from);
    flow_move(builder, result, flow_expression(builder, expr->operands[2]));
    flow_place(builder, end, from);
    return result;
}

/* ---- floats
 * ------------------------------------------------------------------------------------------------ */

/* Whether the bound is a known number, and, of the least of two, not -0; *is_zero: it is 0 and not -0. */
static bool is_known_bound(const struct ir_expr *expr, bool least, bool *is_zero)
{
    if (expr->kind != IR_REAL || isnan(expr->real))
        return false;
    *is_zero = scalar_constant(expr).i == 0;
    return expr->real != 0 || (*is_zero || !least);
}

/* The second operand is given where the two do not compare or are both zero. */
static int limited(struct flow_builder *builder, bool least, bool wide, int bound, int x, bool is_zero)
{
    int result =
        float_pair(builder, least ? X86_VMINSS : X86_VMAXSS, least ? X86_VMINSD : X86_VMAXSD, wide, bound, x);
    return is_zero && !least ? float_pair(builder, X86_VADDSS, X86_VADDSD, wide, result, bound) : result;
}

/* NaN where a side is one, and -0 less than 0: both orders are asked, for of zeros, and where there is a NaN,
 * the second is given. */
static int extreme(struct flow_builder *builder, bool least, bool wide, int a, int b)
{
    enum x86_form form32 = least ? X86_VMINSS : X86_VMAXSS, form64 = least ? X86_VMINSD : X86_VMAXSD;
    int first = float_pair(builder, form32, form64, wide, a, b),
        second = float_pair(builder, form32, form64, wide, b, a);
    if (least)
        return float_pair(builder, X86_VORPS, X86_VORPD, wide, first, second);
    int both = float_pair(builder, X86_VANDPS, X86_VANDPD, wide, first, second),
        unordered = flow_float(builder, wide, wide ? X86_VCMPPD : X86_VCMPPS, a, b, UNORDERED);
    return float_pair(builder, X86_VORPS, X86_VORPD, wide, both, unordered);
}

static int rounded(struct flow_builder *builder, enum operation operation, bool wide, int a)
{
    enum { NO_EXCEPTION = 8 };
    struct flow_item item = flow_item(FLOW_FLOAT_ONE);
    item.form = wide ? X86_VROUNDPD : X86_VROUNDPS;
    item.wide = wide;
    item.operands[0] = a;
    item.immediate = NO_EXCEPTION + (operation == OP_FLOOR   ? 1
                                     : operation == OP_CEIL  ? 2
                                     : operation == OP_TRUNC ? 3
                                                             : 0);
    return flow_add(builder, item);
}

static int unordered(struct flow_builder *builder, bool wide, int a)
{
    return truth_of_mask(builder, flow_float(builder, wide, wide ? X86_VCMPPD : X86_VCMPPS, a, a, UNORDERED));
}

static int fused(struct flow_builder *builder, bool wide, const int *operands)
{
    struct flow_item item = flow_item(FLOW_FUSED);
    item.form = flow_fused_form(false, wide);
    item.wide = wide;
    memcpy(item.operands, operands, 3 * sizeof *operands);
    return flow_add(builder, item);
}

/* Powers that are products or a quotient by what akg_pow is; fourth ones where results may differ a little;
 * FLOW_NONE: it is another one. */
static int power(struct flow_builder *builder, const struct ir_expr *expr, int a)
{
    const struct ir_expr *by = expr->operands[1];
    bool wide = expr->dtype == AKG_FLOAT64;
    double exponent = by->kind == IR_REAL ? by->real : 0;
    if (exponent == -1)
        return float_pair(builder, X86_VDIVSS, X86_VDIVSD, wide,
                          flow_number(builder, wide, wide ? 0x3ff0000000000000 : 0x3f800000), a);
    if (exponent != 2 && exponent != 3 && (exponent != 4 || builder->options->strict))
        return FLOW_NONE;
    int square = float_pair(builder, X86_VMULSS, X86_VMULSD, wide, a, a);
    return exponent == 2
               ? square
               : float_pair(builder, X86_VMULSS, X86_VMULSD, wide, square, exponent == 3 ? a : square);
}

/* Operations whose result a half holds if it holds the operands. */
static bool stays_half(enum operation operation)
{
    return operation == OP_NEG || operation == OP_ABS || operation == OP_MIN || operation == OP_MAX ||
           operation == OP_SIGN || operation == OP_FLOOR || operation == OP_CEIL || operation == OP_TRUNC ||
           operation == OP_ROUND;
}

uint64_t flow_inverse_bits(const struct ir_expr *divisor)
{
    bool wide = divisor->dtype == AKG_FLOAT64;
    if (divisor->kind != IR_REAL || (!wide && divisor->dtype != AKG_FLOAT32))
        return 0;
    union dtype_value number = scalar_constant(divisor);
    return number_inverse_bits(wide ? (uint64_t)number.i : (uint32_t)number.i, wide);
}

/* One by a power of two is the product that it is to the bit. */
static int quotient(struct flow_builder *builder, const struct ir_expr *expr, bool wide, int a, int b)
{
    uint64_t inverse = flow_inverse_bits(expr->operands[1]);
    return inverse ? float_pair(builder, X86_VMULSS, X86_VMULSD, wide, a, flow_number(builder, wide, inverse))
                   : float_pair(builder, X86_VDIVSS, X86_VDIVSD, wide, a, b);
}

static int float_value(struct flow_builder *builder, const struct ir_expr *expr)
{
    enum operation operation = expr->operation;
    bool wide = expr->operands[0]->dtype == AKG_FLOAT64;
    uint64_t sign = wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31,
             one = wide ? 0x3ff0000000000000 : 0x3f800000;
    int operands[3] = {FLOW_NONE, FLOW_NONE, FLOW_NONE};
    for (int k = 0; k < expr->count; k++)
        operands[k] = flow_expression(builder, expr->operands[k]);
    int a = operands[0], b = operands[1];
    switch (operation) {
    case OP_ADD:
        return float_pair(builder, X86_VADDSS, X86_VADDSD, wide, a, b);
    case OP_SUB:
        return float_pair(builder, X86_VSUBSS, X86_VSUBSD, wide, a, b);
    case OP_MUL:
        return float_pair(builder, X86_VMULSS, X86_VMULSD, wide, a, b);
    case OP_TRUEDIV:
        return quotient(builder, expr, wide, a, b);
    case OP_NEG:
        return float_pair(builder, X86_VXORPS, X86_VXORPD, wide, a, flow_number(builder, wide, sign));
    case OP_ABS:
        return float_pair(builder, X86_VANDPS, X86_VANDPD, wide, a, flow_number(builder, wide, sign - 1));
    case OP_SQRT:
        return float_pair(builder, X86_VSQRTSS, X86_VSQRTSD, wide, a, a);
    case OP_RSQRT:
        return float_pair(builder, X86_VDIVSS, X86_VDIVSD, wide, flow_number(builder, wide, one),
                          float_pair(builder, X86_VSQRTSS, X86_VSQRTSD, wide, a, a));
    case OP_MIN:
    case OP_MAX: {
        bool least = operation == OP_MIN, is_zero;
        if (is_known_bound(expr->operands[1], least, &is_zero))
            return limited(builder, least, wide, b, a, is_zero);
        if (is_known_bound(expr->operands[0], least, &is_zero))
            return limited(builder, least, wide, a, b, is_zero);
        return extreme(builder, least, wide, a, b);
    }
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC:
    case OP_ROUND:
        return rounded(builder, operation, wide, a);
    case OP_FMA:
        return fused(builder, wide, operands);
    case OP_ISNAN:
        return unordered(builder, wide, a);
    default: {
        const struct operation_row *row = &operation_table[operation];
        int product = operation == OP_POW ? power(builder, expr, a) : FLOW_NONE;
        if (product >= 0)
            return product;
        return flow_call(builder, wide ? row->c64 : row->c32, dtype_is_float(expr->dtype), operands,
                         expr->count);
    }
    }
}

/* ---- all
 * ------------------------------------------------------------------------------------------------------ */

static int float_operation(struct flow_builder *builder, const struct ir_expr *expr)
{
    int value = float_value(builder, expr);
    if (!dtype_is_half(expr->dtype) || stays_half(expr->operation) || builder->refused)
        return value;
    return flow_rounded_half(builder, expr->dtype, value);
}

/* Whether 64 bits without a sign are a number with one: the highest is shifted or masked out. */
static bool is_below_sign(const struct ir_expr *expr)
{
    if (expr->dtype != AKG_UINT64 || expr->kind != IR_OPERATION ||
        (expr->operation != OP_SHR && expr->operation != OP_BITAND))
        return false;
    for (int k = expr->operation == OP_SHR; k < 2; k++)
        if (expr->operands[k]->kind == IR_INTEGER &&
            expr->operands[k]->integer >= (expr->operation == OP_SHR))
            return true;
    return false;
}

static int operation_of(struct flow_builder *builder, const struct ir_expr *expr)
{
    enum operation_rule rule = operation_table[expr->operation].rule;
    akg_dtype from = expr->operands[0]->dtype;
    if (expr->operation == OP_SELECT)
        return selection(builder, expr);
    if (rule == RULE_COMPARE || rule == RULE_LOGICAL)
        return truth(builder, expr);
    if (expr->operation == OP_CAST)
        return flow_cast(builder, expr->dtype, is_below_sign(expr->operands[0]) ? AKG_INT64 : from,
                         flow_expression(builder, expr->operands[0]));
    return dtype_is_float(from) ? float_operation(builder, expr) : flow_integer(builder, expr);
}

static int value_of(struct flow_builder *builder, const struct ir_expr *expr)
{
    bool pure = true;
    int depth;
    switch (expr->kind) {
    case IR_INTEGER:
        return flow_constant(builder, expr->integer);
    case IR_REAL: {
        union dtype_value number = scalar_constant(expr);
        return flow_number(builder, expr->dtype == AKG_FLOAT64,
                           expr->dtype == AKG_FLOAT64 ? (uint64_t)number.i : (uint32_t)number.i);
    }
    case IR_SYMBOL:
        return flow_symbol(builder, expr->symbol, &depth);
    case IR_LOAD:
        if (flow_is_steady(builder, &expr->access))
            return hoisted(builder, expr, builder->depth - 1);
        return flow_load(builder, &expr->access);
    default:
        depth = flow_depth_of(builder, expr, &pure);
        return pure && depth < builder->depth ? hoisted(builder, expr, depth) : operation_of(builder, expr);
    }
}

int flow_expression(struct flow_builder *builder, const struct ir_expr *expr)
{
    if (++builder->nesting > FLOW_DEEPEST_NESTING)
        flow_refuse(builder);
    int value = builder->refused ? 0 : value_of(builder, expr);
    builder->nesting--;
    return value;
}

/* Whether the last item made the value, and nothing else can know of it. */
static bool is_fresh(const struct flow_builder *builder, int value, int known, int first)
{
    const flow_section *section = builder->section;
    const struct flow_item *last = section->count ? &section->items[section->count - 1] : NULL;
    return last && section->count > first && last->result == value && value >= known &&
           last->rest == FLOW_NONE && last->kind != FLOW_MOVE;
}

void flow_assign(struct flow_builder *builder, int variable, const struct ir_expr *expr)
{
    int known = builder->code->values.count, first = builder->section->count;
    int value = flow_expression(builder, expr);
    if (builder->refused)
        return;
    if (is_fresh(builder, value, known, first))
        builder->section->items[builder->section->count - 1].result = variable;
    else
        flow_move(builder, variable, value);
}

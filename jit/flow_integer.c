/*
 * flow_integer.c: arithmetic of integers in loops with branches; see flow.h.
 *
 * Consumes an operation on integers or bools; appends what computes it as the interpreter does: everything
 * wraps, quotients are rounded down, shifts go by their count modulo the width. A divisor is tested for zero
 * where that is asked for. Of 32 bits only the lower half of a register counts, so that sums and products are
 * those of 64 bits.
 */
#include "flow_private.h"

bool flow_is_64(akg_dtype dtype)
{
    return dtype == AKG_INT64 || dtype == AKG_UINT64;
}

static int add(struct flow_builder *builder, int a, int b)
{
    return flow_alu(builder, X86_ADD, a, b, 0);
}

static int unary(struct flow_builder *builder, enum x86_form form, int a)
{
    struct flow_item item = flow_item(FLOW_UNARY);
    item.form = form;
    item.operands[0] = a;
    return flow_add_known(builder, item);
}

/* `yes` where a `condition` immediate, else `no`. */
static int choose(struct flow_builder *builder, int a, enum flow_condition condition, int64_t immediate,
                  bool narrow, int yes, int no)
{
    struct flow_item item = flow_item(FLOW_COMPARE_CHOOSE);
    item.operands[0] = a;
    item.by_immediate = true;
    item.immediate = immediate;
    item.condition = condition;
    item.narrow = narrow;
    item.operands[2] = yes;
    item.operands[3] = no;
    return flow_add_known(builder, item);
}

static int is_so(struct flow_builder *builder, int a, enum flow_condition condition, bool narrow)
{
    struct flow_item item = flow_item(FLOW_COMPARE_SET);
    item.operands[0] = a;
    item.by_immediate = true;
    item.condition = condition;
    item.narrow = narrow;
    return flow_add(builder, item);
}

static int extreme(struct flow_builder *builder, bool least, akg_dtype dtype, int a, int b)
{
    struct flow_item item = flow_item(FLOW_COMPARE_CHOOSE);
    bool is_signed = dtype_is_signed(dtype);
    item.operands[0] = item.operands[2] = a;
    item.operands[1] = item.operands[3] = b;
    item.condition = least ? is_signed ? FLOW_LESS : FLOW_BELOW : is_signed ? FLOW_GREATER : FLOW_ABOVE;
    item.narrow = !flow_is_64(dtype);
    return flow_add_known(builder, item);
}

/* ---- shifts -------------------------------------------------------------------------------------- */

static int shift(struct flow_builder *builder, const struct ir_expr *expr, int a)
{
    akg_dtype dtype = expr->dtype;
    bool left = expr->operation == OP_SHL, is_signed = dtype_is_signed(dtype),
         half = dtype_table[dtype].size == 4;
    int mask = dtype_table[dtype].size * 8 - 1;
    if (expr->operands[1]->kind == IR_INTEGER) {
        int by = (int)(expr->operands[1]->integer & mask);
        if (left)
            return flow_wrapped(builder, dtype, flow_shifted(builder, X86_SHL_BY, a, by));
        return flow_shifted(builder, is_signed ? X86_SAR_BY : X86_SHR_BY, flow_extended(builder, dtype, a),
                            by);
    }
    int by = flow_expression(builder, expr->operands[1]);
    if (dtype_table[dtype].size < 4)
        by = flow_alu(builder, X86_AND, by, FLOW_NONE, mask);
    struct flow_item item = flow_item(FLOW_SHIFT);
    item.form = left        ? half ? X86_SHLX_DWORD : X86_SHLX
                : is_signed ? half ? X86_SARX_DWORD : X86_SARX
                : half      ? X86_SHRX_DWORD
                            : X86_SHRX;
    item.operands[0] = a;
    item.operands[1] = by;
    int value = flow_add_known(builder, item);
    return left ? flow_wrapped(builder, dtype, value) : value;
}

/* v << 13 | v >> 19: by how much it is turned to the right; 0: it is nothing of the kind. */
static int turned_by(const struct ir_expr *expr)
{
    const struct ir_expr *left = expr->operands[0], *right = expr->operands[1];
    int bits = dtype_table[expr->dtype].size * 8;
    if (dtype_is_signed(expr->dtype) || bits < 32 || left->kind != IR_OPERATION ||
        right->kind != IR_OPERATION)
        return 0;
    if (left->operation == OP_SHR) {
        left = expr->operands[1];
        right = expr->operands[0];
    }
    if (left->operation != OP_SHL || right->operation != OP_SHR || left->operands[1]->kind != IR_INTEGER ||
        right->operands[1]->kind != IR_INTEGER || !ir_expr_equal(left->operands[0], right->operands[0]))
        return 0;
    int64_t by = right->operands[1]->integer;
    return by > 0 && by < bits && left->operands[1]->integer == bits - by ? (int)by : 0;
}

static int turned(struct flow_builder *builder, const struct ir_expr *expr, int by)
{
    struct flow_item item = flow_item(FLOW_EXTEND);
    item.form = flow_is_64(expr->dtype) ? X86_RORX : X86_RORX_DWORD;
    item.operands[0] = flow_expression(builder, expr->operands[0]->operands[0]);
    item.immediate = by;
    return flow_add_known(builder, item);
}

/* ---- division --------------------------------------------------------------------------------------- */

/* Loop variables that begin there and go up, extents, and sums and products of such. */
static bool is_nonnegative(const struct flow_builder *builder, const struct ir_expr *expr)
{
    if (!dtype_is_signed(expr->dtype))
        return true;
    if (expr->kind == IR_INTEGER)
        return expr->integer >= 0;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_DIM)
        return true;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_ATTRIBUTE &&
        expr->symbol->known.sign != IR_ANY_SIGN)
        return true;
    for (int k = 0; expr->kind == IR_SYMBOL && k < builder->depth; k++) {
        const struct ir_stmt *loop = builder->loops[k].stmt;
        if (loop->kind == IR_FOR && loop->symbol == expr->symbol)
            return loop->step > 0 && is_nonnegative(builder, loop->low);
    }
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return is_nonnegative(builder, expr->symbol->value);
    if (expr->kind != IR_OPERATION)
        return false;
    if (expr->operation == OP_MOD)
        return is_nonnegative(builder, expr->operands[1]);
    return (expr->operation == OP_FLOORDIV || expr->operation == OP_MIN) &&
           is_nonnegative(builder, expr->operands[0]) && is_nonnegative(builder, expr->operands[1]);
}

static void stop_if_zero(struct flow_builder *builder, const struct ir_expr *expr, int divisor)
{
    struct flow_item item = flow_item(FLOW_STOP_IF);
    item.operands[0] = divisor;
    item.by_immediate = true;
    item.condition = FLOW_EQUAL;
    item.narrow = !flow_is_64(expr->dtype);
    item.site = expr->site;
    item.around = builder->around;
    builder->flow->stops = true;
    flow_add_known(builder, item);
}

/* Towards 0; what is left in *rest. */
static int quotient(struct flow_builder *builder, bool is_signed, int a, int b, int *rest)
{
    struct flow_item item = flow_item(FLOW_DIVIDE);
    item.is_signed = is_signed;
    item.operands[0] = a;
    item.operands[1] = b;
    const struct flow_item *known = flow_known(builder, &item);
    *rest = known ? known->rest : flow_new_value(builder, false);
    item.rest = *rest;
    return known ? known->result : flow_add(builder, item);
}

/* Rounded down: what is left has the sign of the divisor. */
static int rounded_down(struct flow_builder *builder, bool modulo, bool positive, int a, int b)
{
    int rest, result = quotient(builder, true, a, b, &rest), none = flow_constant(builder, 0);
    int more; /* what is missing to a rest of that sign */
    if (positive) {
        more = choose(builder, rest, FLOW_LESS, 0, false, b, none);
    } else {
        int differs = flow_alu(builder, X86_XOR, rest, b, 0);
        more = choose(builder, rest, FLOW_EQUAL, 0, false, none,
                      choose(builder, differs, FLOW_LESS, 0, false, b, none));
    }
    if (modulo)
        return add(builder, rest, more);
    return flow_alu(builder, X86_SUB, result, is_so(builder, more, FLOW_NOT_EQUAL, false), 0);
}

/* A quotient or what is left, of any number but 0; `is_natural`: of numbers that are not negative. */
static int by_number(struct flow_builder *builder, const struct ir_expr *expr, bool is_natural, int a, int b)
{
    bool modulo = expr->operation == OP_MOD;
    int rest;
    if (!is_natural)
        return rounded_down(builder, modulo, false, a, b);
    int result = quotient(builder, expr->dtype != AKG_UINT64, a, b, &rest);
    return modulo ? rest : result;
}

/* The processor stops at the least number divided by -1, which is to wrap, and at 0, by which loops divide
 * that have no iterations, or a branch that is not taken: what is computed before these goes on with any
 * number then. */
static int guarded(struct flow_builder *builder, const struct ir_expr *expr, bool is_natural, int a, int b)
{
    struct flow_item item = flow_item(FLOW_COMPARE_JUMP);
    bool is_signed = dtype_is_signed(expr->dtype);
    int result = flow_new_value(builder, false), other = flow_new_label(builder),
        end = flow_new_label(builder), from = flow_here(builder);
    item.operands[0] = builder->is_early && is_signed ? flow_alu(builder, X86_ADD, b, FLOW_NONE, 1) : b;
    item.by_immediate = true;
    item.immediate = !builder->is_early ? -1 : is_signed; /* -1 or 0 and one more are 1 and less */
    item.condition = builder->is_early ? FLOW_NOT_ABOVE : FLOW_EQUAL;
    item.label = other;
    flow_add(builder, item);
    flow_move(builder, result, by_number(builder, expr, is_natural, a, b));
    flow_jump(builder, end);
    flow_place(builder, other, from);
    flow_move(builder, result,
              expr->operation == OP_MOD ? flow_constant(builder, 0) : unary(builder, X86_NEG, a));
    flow_place(builder, end, from);
    return result;
}

static int multiplied_high(struct flow_builder *builder, int a, uint64_t factor)
{
    struct flow_item item = flow_item(FLOW_MULTIPLY_HIGH);
    item.operands[0] = a;
    item.operands[1] = flow_constant(builder, (int64_t)factor);
    return flow_add_known(builder, item);
}

/* By a constant of less than 2^32, without a division: for u below 2^63, u // c is the upper part of u * m,
 * where m is the least number above 2^(64 + s) / c, and s = ceil(log2 c) - 1: it is too large by at most
 * c <= 2^(s + 1) parts of 2^(64 + s), and u times that stays below one part (Granlund and Montgomery,
 * "Division by Invariant Integers using Multiplication", 1994). Of what is less than 0 the complement is
 * divided, and the quotient complemented, which rounds down. */
static int by_constant(struct flow_builder *builder, bool modulo, bool nonnegative, int a, int64_t by)
{
    int s = 63 - __builtin_clzll((uint64_t)by), sign = FLOW_NONE, u = a; /* no power of two */
    uint64_t m = (uint64_t)((((unsigned __int128)1 << (64 + s)) / (uint64_t)by) + 1);
    if (!nonnegative) {
        sign = flow_shifted(builder, X86_SAR_BY, a, 63);
        u = flow_alu(builder, X86_XOR, a, sign, 0);
    }
    int result = flow_shifted(builder, X86_SHR_BY, multiplied_high(builder, u, m), s);
    if (!nonnegative)
        result = flow_alu(builder, X86_XOR, result, sign, 0);
    if (!modulo)
        return result;
    return flow_alu(builder, X86_SUB, a, flow_alu(builder, X86_IMUL, result, FLOW_NONE, by), 0);
}

/* All 64 bits by a constant that is no power of two, likewise: m is too large by no more than 2^s parts, or
 * else it is the one of 65 bits of which 2^(64 + s + 1) are parts, whose highest bit is added apart (figure
 * 4.1 there). */
static int natural_by_constant(struct flow_builder *builder, bool modulo, int a, uint64_t by)
{
    int s = 63 - __builtin_clzll(by), result;
    unsigned __int128 power = (unsigned __int128)1 << (64 + s);
    uint64_t m = (uint64_t)(power / by) + 1;
    if ((unsigned __int128)m * by - power <= (uint64_t)1 << s) {
        result = flow_shifted(builder, X86_SHR_BY, multiplied_high(builder, a, m), s);
    } else {
        int high = multiplied_high(builder, a, (uint64_t)(2 * power / by + 1));
        int rest = flow_shifted(builder, X86_SHR_BY, flow_alu(builder, X86_SUB, a, high, 0), 1);
        result = flow_shifted(builder, X86_SHR_BY, add(builder, rest, high), s);
    }
    if (!modulo)
        return result;
    return flow_alu(builder, X86_SUB, a,
                    flow_alu(builder, X86_IMUL, result, flow_constant(builder, (int64_t)by), 0), 0);
}

static int divided(struct flow_builder *builder, const struct ir_expr *expr, int a, int b)
{
    akg_dtype dtype = expr->dtype;
    const struct ir_expr *divisor = expr->operands[1];
    bool modulo = expr->operation == OP_MOD, is_signed = dtype_is_signed(dtype);
    int64_t by = divisor->kind == IR_INTEGER ? divisor->integer : 0;
    if (by > 0 && (by & (by - 1)) == 0 && modulo)
        return flow_alu(builder, X86_AND, a, FLOW_NONE, by - 1);
    a = flow_extended(builder, dtype, a);
    if (by > 0 && (by & (by - 1)) == 0)
        return flow_shifted(builder, is_signed ? X86_SAR_BY : X86_SHR_BY, a, __builtin_ctzll((uint64_t)by));
    bool nonnegative = !is_signed || is_nonnegative(builder, expr->operands[0]);
    if (by > 1 && by <= UINT32_MAX && dtype != AKG_UINT64)
        return by_constant(builder, modulo, nonnegative, a, by);
    if (by > 1 && dtype == AKG_UINT64)
        return natural_by_constant(builder, modulo, a, (uint64_t)by);
    b = flow_extended(builder, dtype, b);
    bool is_natural = !is_signed || (nonnegative && is_nonnegative(builder, divisor)),
         is_guarded =
             (dtype == AKG_INT64 && !is_natural && (by == 0 || by == -1)) || (builder->is_early && !by);
    if (is_guarded)
        return flow_wrapped(builder, dtype, guarded(builder, expr, is_natural, a, b));
    if (is_natural)
        return by_number(builder, expr, true, a, b);
    return flow_wrapped(builder, dtype, rounded_down(builder, modulo, by > 0, a, b));
}

/* A function of the library on 64 bits. */
static int by_library(struct flow_builder *builder, const struct ir_expr *expr, int a, int b)
{
    bool is_signed = dtype_is_signed(expr->dtype);
    int operands[] = {flow_extended(builder, expr->dtype, a), flow_extended(builder, expr->dtype, b)};
    const char *function = expr->operation == OP_POW ? is_signed ? "akg_pow_int64" : "akg_pow_uint64"
                           : is_signed               ? "akg_ceildiv_int64"
                                                     : "akg_ceildiv_uint64";
    return flow_wrapped(builder, expr->dtype, flow_call(builder, function, false, operands, 2));
}

/* Processors with AVX2 count bits. */
static int popcount(struct flow_builder *builder, const struct ir_expr *expr, int a)
{
    struct flow_item item = flow_item(FLOW_EXTEND);
    item.form = X86_POPCNT;
    item.operands[0] = flow_extended(builder, expr->dtype, a);
    if (dtype_is_signed(expr->dtype) && !flow_is_64(expr->dtype)) {
        int unused = 64 - dtype_table[expr->dtype].size * 8;
        int shifted = flow_shifted(builder, X86_SHL_BY, item.operands[0], unused);
        item.operands[0] = flow_shifted(builder, X86_SHR_BY, shifted, unused);
    }
    return flow_add_known(builder, item);
}

/* ---- all ----------------------------------------------------------------------------------------------- */

static int magnitude(struct flow_builder *builder, const struct ir_expr *expr, int a)
{
    akg_dtype dtype = expr->dtype;
    bool narrow = !flow_is_64(dtype), is_signed = dtype_is_signed(dtype);
    if (expr->operation == OP_ABS) {
        if (!is_signed)
            return a;
        int opposite = unary(builder, X86_NEG, a);
        return flow_wrapped(builder, dtype, choose(builder, a, FLOW_LESS, 0, narrow, opposite, a));
    }
    if (!is_signed)
        return is_so(builder, a, FLOW_NOT_EQUAL, narrow);
    return flow_alu(builder, X86_SUB, is_so(builder, a, FLOW_GREATER, narrow),
                    is_so(builder, a, FLOW_LESS, narrow), 0);
}

static int complement(struct flow_builder *builder, akg_dtype dtype, int a)
{
    if (dtype == AKG_BOOL)
        return flow_alu(builder, X86_XOR, a, FLOW_NONE, 1);
    return flow_wrapped(builder, dtype, unary(builder, X86_NOT, a));
}

/* With a second operand that may stand in the instruction. */
static int plain(struct flow_builder *builder, const struct ir_expr *expr, enum x86_form form, int a)
{
    const struct ir_expr *second = expr->operands[1];
    bool is_short = second->kind == IR_INTEGER && second->integer > INT32_MIN && second->integer <= INT32_MAX;
    int value;
    if (is_short && form == X86_SUB)
        value = flow_alu(builder, X86_ADD, a, FLOW_NONE, -second->integer);
    else if (is_short)
        value = flow_alu(builder, form, a, FLOW_NONE, second->integer);
    else
        value = flow_alu(builder, form, a, flow_expression(builder, second), 0);
    return form == X86_ADD || form == X86_SUB || form == X86_IMUL ? flow_wrapped(builder, expr->dtype, value)
                                                                  : value;
}

int flow_integer(struct flow_builder *builder, const struct ir_expr *expr)
{
    bool joins = expr->operation == OP_BITOR || expr->operation == OP_BITXOR || expr->operation == OP_ADD;
    int by = joins ? turned_by(expr) : 0;
    if (by)
        return turned(builder, expr, by);
    int a = flow_expression(builder, expr->operands[0]);
    if (builder->refused)
        return a;
    switch (expr->operation) {
    case OP_ADD:
        return plain(builder, expr, X86_ADD, a);
    case OP_SUB:
        return plain(builder, expr, X86_SUB, a);
    case OP_MUL:
        return plain(builder, expr, X86_IMUL, a);
    case OP_BITAND:
        return plain(builder, expr, X86_AND, a);
    case OP_BITOR:
        return plain(builder, expr, X86_OR, a);
    case OP_BITXOR:
        return plain(builder, expr, X86_XOR, a);
    case OP_SHL:
    case OP_SHR:
        return shift(builder, expr, a);
    case OP_NEG:
        return flow_wrapped(builder, expr->dtype, unary(builder, X86_NEG, a));
    case OP_BITNOT:
        return complement(builder, expr->dtype, a);
    case OP_ABS:
    case OP_SIGN:
        return magnitude(builder, expr, a);
    case OP_POPCOUNT:
        return popcount(builder, expr, a);
    default:
        break;
    }
    int b = flow_expression(builder, expr->operands[1]);
    if (expr->operation == OP_MIN || expr->operation == OP_MAX)
        return extreme(builder, expr->operation == OP_MIN, expr->dtype, a, b);
    if (expr->checked && expr->operation == OP_POW)
        return flow_refuse(builder);
    if (expr->checked)
        stop_if_zero(builder, expr, b);
    if (expr->operation == OP_FLOORDIV || expr->operation == OP_MOD)
        return divided(builder, expr, a, b);
    return by_library(builder, expr, a, b);
}

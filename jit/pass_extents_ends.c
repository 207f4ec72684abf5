/*
 * pass_extents_ends.c: between which values an index is, as the call says: of sums, products, quotients,
 * remainders, minima and maxima of loop variables, extents and attributes. Each is taken by itself, so `i -
 * i` is between `low - high` and `high - low`.
 *
 * Assumes that no extent has 2^40 (linear_fits.c). Nothing that is computed for an end wraps where the
 * conditions hold, and neither does what the nest computes for the index, all of whose parts lie between ends
 * of theirs.
 */
#include "pass_extents.h"

enum {
    NODES = 100, /* of an index, scalars written out */
    EXTENT = 40, /* bits; */
    FACTOR = 30, /* of attributes, and of factors whose product could have more than MOST */
    MOST = 60
};

/* ---- building ------------------------------------------------------------------------------------ */

struct ir_expr *extents_number(struct asker *asker, akg_dtype dtype, int64_t value)
{
    return ir_integer(asker->pass->kernel, dtype, value);
}

static struct ir_expr *combine(struct asker *asker, enum operation operation, const struct ir_expr *a,
                               const struct ir_expr *b)
{
    struct pass *pass = asker->pass;
    return ir_operation(pass->kernel, operation, pass_copy(pass, a), pass_copy(pass, b), NULL);
}

/* Whether the comparison says the same in each call: of sums that a number lies between, T - 1 < T. */
static bool is_settled(enum operation comparison, const struct ir_expr *a, const struct ir_expr *b,
                       bool *holds)
{
    struct pass_affine left, right;
    if (!pass_affine_of(a, &left) || !pass_affine_of(b, &right) || !pass_affine_add(&left, -1, &right) ||
        left.count)
        return false;
    int64_t distance = left.constant;
    *holds = comparison == OP_LT   ? distance < 0
             : comparison == OP_LE ? distance <= 0
             : comparison == OP_GT ? distance > 0
                                   : distance >= 0;
    return comparison >= OP_LT && comparison <= OP_GE;
}

bool extents_ask(struct asker *asker, enum operation comparison, const struct ir_expr *a,
                 const struct ir_expr *b)
{
    bool holds;
    if (is_settled(comparison, a, b, &holds))
        return holds;
    struct ir_expr *condition = combine(asker, comparison, a, b);
    if (condition->kind == IR_INTEGER)
        return condition->integer;
    for (int k = 0; k < asker->count; k++)
        if (ir_expr_equal(asker->conditions[k], condition))
            return true;
    if (asker->count == EXTENTS_CONDITIONS)
        return false;
    asker->conditions[asker->count++] = condition;
    return true;
}

struct ir_expr *extents_all(struct asker *asker)
{
    struct ir_expr *all = NULL;
    for (int k = 0; k < asker->count; k++)
        all = all ? combine(asker, OP_AND, all, asker->conditions[k]) : asker->conditions[k];
    return all;
}

/* ---- divisors -------------------------------------------------------------------------------------- */

static struct ir_expr *of_call(struct asker *asker, const struct ir_expr *expr, int depth);

/* Under the conditions that it is above 0, which it says itself then. */
static struct ir_expr *divisor_of_call(struct asker *asker, const struct ir_expr *expr, int depth)
{
    struct ir_expr *divisor = of_call(asker, expr, depth);
    if (!divisor || ir_is_positive(divisor))
        return divisor;
    if (!extents_ask(asker, OP_GT, divisor, extents_number(asker, divisor->dtype, 0)))
        return NULL;
    return ir_operation(asker->pass->kernel, OP_MAX, divisor, extents_number(asker, divisor->dtype, 1), NULL);
}

/* A copy of what dims, attributes and constants say, all divisors in it above 0; NULL: more is in it. */
static struct ir_expr *of_call(struct asker *asker, const struct ir_expr *expr, int depth)
{
    enum { DEEPEST = 16 };
    struct ir_expr *operands[3] = {NULL, NULL, NULL};
    if (depth > DEEPEST || ++asker->nodes > NODES)
        return NULL;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return of_call(asker, expr->symbol->value, depth + 1);
    if (expr->kind == IR_INTEGER || (expr->kind == IR_SYMBOL && (expr->symbol->kind == IR_SYMBOL_DIM ||
                                                                 expr->symbol->kind == IR_SYMBOL_ATTRIBUTE)))
        return pass_copy(asker->pass, expr);
    if (expr->kind != IR_OPERATION || expr->operation == OP_SELECT || expr->operation == OP_POW ||
        expr->count > 2 || !dtype_is_integer(expr->dtype) || !dtype_is_integer(expr->operands[0]->dtype))
        return NULL;
    if (expr->operation == OP_CAST) { /* int32(N): the number that it is there, whether it wrapped or not */
        operands[0] = of_call(asker, expr->operands[0], depth + 1);
        return operands[0] ? ir_cast(asker->pass->kernel, expr->dtype, operands[0]) : NULL;
    }
    bool divides = ir_can_divide_by_zero(expr->operation, expr->operands[0]->dtype);
    for (int k = expr->count - 1; k >= 0; k--) {
        operands[k] = (k && divides ? divisor_of_call : of_call)(asker, expr->operands[k], depth + 1);
        if (!operands[k])
            return NULL;
    }
    return ir_operation(asker->pass->kernel, expr->operation, operands[0], operands[1], NULL);
}

struct ir_expr *extents_divisor(struct asker *asker, const struct ir_expr *divisor)
{
    asker->nodes = 0;
    return dtype_is_integer(divisor->dtype) ? divisor_of_call(asker, divisor, 0) : NULL;
}

/* ---- ends -------------------------------------------------------------------------------------------- */

static bool ends_of(struct asker *asker, const struct ir_expr *expr, struct ends *out);

/* Asks for both to have no more than FACTOR bits, in magnitude. */
static bool limit(struct asker *asker, struct ends *ends)
{
    const struct ir_expr *most = extents_number(asker, AKG_INT64, 1LL << FACTOR),
                         *least = extents_number(asker, AKG_INT64, -(1LL << FACTOR));
    if (ends->bits <= FACTOR)
        return true;
    ends->bits = FACTOR;
    return extents_ask(asker, OP_LT, ends->greatest, most) && extents_ask(asker, OP_GT, ends->least, least);
}

static bool ends_of_number(const struct ir_expr *expr, struct ends *out)
{
    int64_t magnitude = expr->integer < 0 ? -(expr->integer + 1) : expr->integer;
    out->least = out->greatest = expr;
    out->bits = magnitude ? 65 - __builtin_clzll((uint64_t)magnitude) : 1;
    return out->bits <= FACTOR;
}

static bool ends_of_loop(struct asker *asker, const struct ir_stmt *loop, struct ends *out)
{
    struct ends low, high;
    if (loop->step != 1 || !ends_of(asker, loop->low, &low) || !ends_of(asker, loop->high, &high))
        return false;
    out->least = low.least;
    out->greatest = combine(asker, OP_SUB, high.greatest, extents_number(asker, AKG_INT64, 1));
    out->bits = (low.bits > high.bits ? low.bits : high.bits) + 1;
    return true;
}

static bool ends_of_symbol(struct asker *asker, const struct ir_expr *expr, struct ends *out)
{
    const struct ir_symbol *symbol = expr->symbol;
    out->least = out->greatest = expr;
    switch (symbol->kind) {
    case IR_SYMBOL_DIM:
        out->bits = EXTENT;
        return true;
    case IR_SYMBOL_ATTRIBUTE:
        out->bits = symbol->known.bits ? symbol->known.bits : 64;
        return limit(asker, out);
    case IR_SYMBOL_LET:
        return symbol->value && ends_of(asker, symbol->value, out);
    default:
        for (int k = 0; k < asker->depth; k++) /* its bounds cannot name the loop's own variable */
            if (asker->loops[k]->symbol == symbol)
                return ends_of_loop(asker, asker->loops[k], out);
        return false;
    }
}

static bool is_number(const struct ir_expr *expr)
{
    return expr->kind == IR_INTEGER;
}

/* By a number of either sign; else both factors are 0 at least. */
static bool ends_of_product(struct asker *asker, struct ends *a, struct ends *b, struct ends *out)
{
    const struct ir_expr *zero = extents_number(asker, AKG_INT64, 0);
    if (a->bits + b->bits > MOST && (!limit(asker, a) || !limit(asker, b)))
        return false;
    out->bits = a->bits + b->bits;
    if (is_number(a->least) && a->least == a->greatest) {
        struct ends *swap = a;
        a = b;
        b = swap;
    }
    bool is_scaled = is_number(b->least) && b->least == b->greatest;
    bool turns = is_scaled && b->least->integer < 0;
    if (!is_scaled &&
        (!extents_ask(asker, OP_GE, a->least, zero) || !extents_ask(asker, OP_GE, b->least, zero)))
        return false;
    out->least = combine(asker, OP_MUL, turns ? a->greatest : a->least, b->least);
    out->greatest = combine(asker, OP_MUL, turns ? a->least : a->greatest, b->greatest);
    return true;
}

static const struct ir_expr *quotient(struct asker *asker, const struct ir_expr *a,
                                      const struct ir_expr *divisor)
{
    return is_number(a) && a->integer == 0 ? a : combine(asker, OP_FLOORDIV, a, divisor);
}

static bool ends_of_quotient(struct asker *asker, const struct ir_expr *expr, struct ends *out)
{
    struct ends divided;
    const struct ir_expr *divisor = divisor_of_call(asker, expr->operands[1], 0);
    if (!divisor || !ends_of(asker, expr->operands[0], &divided))
        return false;
    if (expr->operation == OP_MOD) {
        out->least = extents_number(asker, AKG_INT64, 0);
        out->greatest = combine(asker, OP_SUB, divisor, extents_number(asker, AKG_INT64, 1));
        out->bits = 64;
        return limit(asker, out);
    }
    out->least = quotient(asker, divided.least, divisor);
    out->greatest = quotient(asker, divided.greatest, divisor);
    out->bits = divided.bits;
    return true;
}

/* Of a remainder of another dtype that became an int64 as it is: x[at[i] % N], of integers of 32 bits. */
static bool ends_of_widened(struct asker *asker, const struct ir_expr *expr, struct ends *out)
{
    enum { WIDEST = 4 };
    struct ir_kernel *kernel = asker->pass->kernel;
    const struct ir_expr *of = expr->operands[0];
    while (of->kind == IR_SYMBOL && of->symbol->kind == IR_SYMBOL_LET && of->symbol->value)
        of = of->symbol->value;
    if (of->kind != IR_OPERATION || of->operation != OP_MOD || !dtype_is_integer(of->dtype) ||
        dtype_table[of->dtype].size > WIDEST)
        return false;
    struct ir_expr *divisor = divisor_of_call(asker, of->operands[1], 0);
    if (!divisor)
        return false;
    out->least = extents_number(asker, AKG_INT64, 0);
    out->greatest =
        combine(asker, OP_SUB, ir_cast(kernel, AKG_INT64, divisor), extents_number(asker, AKG_INT64, 1));
    out->bits = 8 * WIDEST;
    return true;
}

/* One of two values. */
static bool ends_of_choice(struct asker *asker, const struct ir_expr *expr, struct ends *out)
{
    struct ends a, b;
    if (!ends_of(asker, expr->operands[1], &a) || !ends_of(asker, expr->operands[2], &b))
        return false;
    out->least = combine(asker, OP_MIN, a.least, b.least);
    out->greatest = combine(asker, OP_MAX, a.greatest, b.greatest);
    out->bits = a.bits > b.bits ? a.bits : b.bits;
    return true;
}

static bool ends_of_operation(struct asker *asker, const struct ir_expr *expr, struct ends *out)
{
    struct ends a, b;
    enum operation operation = expr->operation;
    if (operation == OP_CAST)
        return ends_of_widened(asker, expr, out);
    if (operation == OP_SELECT)
        return ends_of_choice(asker, expr, out);
    if (operation == OP_FLOORDIV || operation == OP_MOD)
        return ends_of_quotient(asker, expr, out);
    if ((operation != OP_ADD && operation != OP_SUB && operation != OP_MUL && operation != OP_MIN &&
         operation != OP_MAX) ||
        !ends_of(asker, expr->operands[0], &a) || !ends_of(asker, expr->operands[1], &b))
        return false;
    if (operation == OP_MUL)
        return ends_of_product(asker, &a, &b, out);
    bool turns = operation == OP_SUB, adds = turns || operation == OP_ADD;
    out->least = combine(asker, operation, a.least, turns ? b.greatest : b.least);
    out->greatest = combine(asker, operation, a.greatest, turns ? b.least : b.greatest);
    out->bits = (a.bits > b.bits ? a.bits : b.bits) + adds;
    return out->bits <= MOST + 2;
}

static bool ends_of(struct asker *asker, const struct ir_expr *expr, struct ends *out)
{
    if (expr->dtype != AKG_INT64 || ++asker->nodes > NODES)
        return false;
    switch (expr->kind) {
    case IR_INTEGER:
        return ends_of_number(expr, out);
    case IR_SYMBOL:
        return ends_of_symbol(asker, expr, out);
    case IR_OPERATION:
        return ends_of_operation(asker, expr, out);
    default:
        return false;
    }
}

/* What cancels out in a sum has no ends. */
static bool ends_of_sum(struct asker *asker, const struct pass_affine *sum, struct ends *out)
{
    struct ends term;
    if (!ends_of_number(extents_number(asker, AKG_INT64, sum->constant), out))
        return false;
    for (int k = 0; k < sum->count; k++) {
        struct ends factor, product;
        /* affine forms do not change what they name */
        struct ir_expr *use = ir_symbol_use(asker->pass->kernel, (struct ir_symbol *)sum->terms[k].symbol);
        if (!ends_of(asker, use, &term) ||
            !ends_of_number(extents_number(asker, AKG_INT64, sum->terms[k].coefficient), &factor) ||
            !ends_of_product(asker, &term, &factor, &product))
            return false;
        out->least = combine(asker, OP_ADD, out->least, product.least);
        out->greatest = combine(asker, OP_ADD, out->greatest, product.greatest);
        out->bits = (out->bits > product.bits ? out->bits : product.bits) + 1;
    }
    return out->bits <= MOST + 2;
}

/* ---- under conditions -------------------------------------------------------------------------------- */

static void add_guard(struct asker *asker, const struct ir_expr *condition, bool truth)
{
    enum operation operation = condition->operation;
    if (operation < OP_LT || operation > OP_GE || condition->operands[0]->dtype != AKG_INT64 ||
        asker->guard_count == EXTENTS_GUARDS)
        return;
    asker->guards[asker->guard_count++] = (struct guard){truth ? operation : ir_comparison_negated(operation),
                                                         condition->operands[0], condition->operands[1]};
}

void extents_know(struct asker *asker, const struct ir_expr *condition, bool truth)
{
    if (condition->kind != IR_OPERATION)
        return;
    if (condition->operation == OP_NOT)
        extents_know(asker, condition->operands[0], !truth);
    else if (condition->operation == (truth ? OP_AND : OP_OR))
        for (int k = 0; k < 2; k++)
            extents_know(asker, condition->operands[k], truth);
    else
        add_guard(asker, condition, truth);
}

/* By how much the side of a guard is more than the sum; false: nobody knows. A variable may have another
 * value by now. */
static bool is_beside(const struct ir_expr *side, const struct pass_affine *sum, int64_t *more)
{
    struct pass_affine difference;
    for (int k = 0; k < sum->count; k++)
        if (sum->terms[k].symbol->kind == IR_SYMBOL_VARIABLE)
            return false;
    if (!pass_affine_of(side, &difference) || !pass_affine_add(&difference, -1, sum) || difference.count)
        return false;
    *more = difference.constant;
    return true;
}

/* What a guard says of the sum: an end, which takes the place of the one that is known (NULL: none is). */
static void put_guard(struct asker *asker, const struct guard *guard, const struct pass_affine *sum,
                      struct ends *ends)
{
    enum { FAR = 1 << 20 };
    struct ends other;
    int64_t more;
    for (int side = 0; side < 2; side++) {
        const struct ir_expr *self = side ? guard->b : guard->a, *by = side ? guard->a : guard->b;
        bool is_less = (guard->comparison == OP_LT || guard->comparison == OP_LE) != (side == 1);
        bool is_strict = guard->comparison == OP_LT || guard->comparison == OP_GT;
        const struct ir_expr **end = is_less ? &ends->greatest : &ends->least;
        if (*end || !is_beside(self, sum, &more) || more > FAR || more < -FAR || !ends_of(asker, by, &other))
            continue;
        int64_t less = more + (is_strict ? is_less ? 1 : -1 : 0);
        *end = combine(asker, OP_SUB, is_less ? other.greatest : other.least,
                       extents_number(asker, AKG_INT64, less));
        ends->bits = other.bits + 1 > ends->bits ? other.bits + 1 : ends->bits;
    }
}

/* Both from guards, or one; what they do not say from the values that the sum may have. */
static bool ends_under_guards(struct asker *asker, const struct pass_affine *sum, struct ends *out)
{
    struct ends known = {.bits = 0}, any;
    int conditions = asker->count;
    for (int k = asker->guard_count - 1; k >= 0; k--)
        put_guard(asker, &asker->guards[k], sum, &known);
    bool is_whole = known.least && known.greatest;
    if (!is_whole && !ends_of_sum(asker, sum, &any)) {
        asker->count = conditions;
        return false;
    }
    *out = is_whole ? known : any;
    if (!is_whole && known.least)
        out->least = known.least;
    if (!is_whole && known.greatest)
        out->greatest = known.greatest;
    out->bits = known.bits > out->bits ? known.bits : out->bits;
    return out->bits <= MOST + 2;
}

bool extents_ends_of(struct asker *asker, const struct ir_expr *expr, struct ends *out)
{
    struct pass_affine sum;
    asker->nodes = 0;
    return pass_affine_of(expr, &sum) ? ends_under_guards(asker, &sum, out) : ends_of(asker, expr, out);
}

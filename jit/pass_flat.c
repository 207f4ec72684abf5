/*
 * pass_flat.c: a loop whose variable is taken apart into quotients and remainders by what the call says
 * becomes the loops over these:
 *
 *     for t = 0 to H * W { i = t // W; j = t % W; y[i, j] = x[j, i] + b[t] }
 *
 *     for q = 0 to H { for r = 0 to W { y[q, r] = x[r, q] + b[q * W + r] } }
 *
 * and so do these again, for `t // (H * W)`, `t // W % H`. What is left of a range that is no multiple of the
 * row stands behind them. Iterations keep their order. Consumes nests in which nothing may stop, for messages
 * tell the variable. Rows of a few elements would be worse than the quotients of vectors, so the nest as it
 * was is kept for them, and for extents whose products might wrap.
 *
 * Small constants are those of pass_digits.
 */
#include "pass.h"

enum {
    FACTORS = 6,     /* of a product */
    CONDITIONS = 24, /* of a nest */
    DIVISORS = 8,    /* of one variable */
    STATEMENTS = 60, /* of a nest, and of what becomes of it */
    NESTS = 4,       /* of a kernel */
    SMALL = 8,       /* constants up to this, if there is no other, are left to pass_digits */
    ROW = 4,         /* elements of an innermost loop at least that stay with one quotient; */
    PLACES = 2,      /* if there are remainders, which cost more, this many */
    DEEPEST = 64
};

/* ---- products ---------------------------------------------------------------------------------------- */

/* number * items[0] * ... */
struct product {
    int64_t number;
    int count;
    const struct ir_expr *items[FACTORS];
};

static bool multiply(struct product *product, const struct ir_expr *expr)
{
    if (expr->kind == IR_OPERATION && expr->operation == OP_MAX && expr->operands[1]->kind == IR_INTEGER &&
        expr->operands[1]->integer == 1)
        return multiply(product, expr->operands[0]); /* it is asked whether it is above 0 */
    if (expr->kind == IR_OPERATION && expr->operation == OP_MUL)
        return multiply(product, expr->operands[0]) && multiply(product, expr->operands[1]);
    if (expr->kind == IR_INTEGER)
        return expr->integer > 0 && expr->integer < 1 << 20 &&
               !__builtin_mul_overflow(product->number, expr->integer, &product->number);
    if (product->count == FACTORS)
        return false;
    product->items[product->count++] = expr;
    return true;
}

static bool product_of(const struct ir_expr *expr, struct product *out)
{
    *out = (struct product){.number = 1};
    return multiply(out, expr);
}

/* product = divisor * rest */
static bool divide(const struct product *product, const struct product *divisor, struct product *rest)
{
    *rest = *product;
    if (product->number % divisor->number != 0)
        return false;
    rest->number /= divisor->number;
    for (int k = 0; k < divisor->count; k++) {
        int at = 0;
        while (at < rest->count && !ir_expr_equal(rest->items[at], divisor->items[k]))
            at++;
        if (at == rest->count)
            return false;
        rest->items[at] = rest->items[--rest->count];
    }
    return true;
}

static bool is_one(const struct product *product)
{
    return product->number == 1 && product->count == 0;
}

/* ---- the nest ------------------------------------------------------------------------------------------ */

struct flat {
    struct pass *pass;
    struct ir_expr *conditions[CONDITIONS];
    int count, statements;
    bool exact;   /* ranges are asked to be multiples of rows; */
    bool is_left; /* some that are not known to be so are there */
    bool changed, refused;
    /* the loop that is being taken apart */
    const struct ir_symbol *variable;
    struct product row;               /* of so many */
    const struct ir_symbol *rest;     /* the variable of the loop over a row; NULL: there is but one row */
    const struct ir_symbol *quotient; /* the row's number */
};

static struct ir_expr *expression_of(struct flat *flat, const struct product *product)
{
    struct ir_expr *result = NULL;
    for (int k = 0; k < product->count; k++) {
        struct ir_expr *item = pass_copy(flat->pass, product->items[k]);
        result = result ? pass_combine(flat->pass, OP_MUL, result, item) : item;
    }
    if (!result)
        return pass_number(flat->pass, product->number);
    return pass_combine(flat->pass, OP_MUL, result, pass_number(flat->pass, product->number));
}

static void ask(struct flat *flat, enum operation comparison, struct ir_expr *a, int64_t b)
{
    struct ir_expr *condition = pass_combine(flat->pass, comparison, a, pass_number(flat->pass, b));
    if (condition->kind == IR_INTEGER) {
        flat->refused |= !condition->integer;
        return;
    }
    for (int k = 0; k < flat->count; k++)
        if (ir_expr_equal(flat->conditions[k], condition))
            return;
    flat->refused |= flat->count == CONDITIONS;
    if (flat->count < CONDITIONS)
        flat->conditions[flat->count++] = condition;
}

/* Its factors are above 0, and so small that it does not wrap. */
static void ask_of_product(struct flat *flat, const struct product *product)
{
    enum { BITS = 60 };
    int count = product->count + (product->number > 1);
    for (int k = 0; k < product->count; k++) {
        ask(flat, OP_GT, pass_copy(flat->pass, product->items[k]), 0);
        if (count > 1)
            ask(flat, OP_LT, pass_copy(flat->pass, product->items[k]), 1LL << BITS / count);
    }
    flat->refused |= count > 3 || (count > 1 && product->number >= 1LL << BITS / count);
}

/* ---- which divisors --------------------------------------------------------------------------- */

struct divisors {
    const struct ir_symbol *variable;
    struct product items[DIVISORS];
    bool has_quotient[DIVISORS], has_remainder[DIVISORS];
    int count;
    bool refused;
};

static const struct ir_expr *value_of(const struct ir_expr *expr)
{
    for (int k = 0;
         k < DEEPEST && expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value;
         k++)
        expr = expr->symbol->value;
    return expr;
}

static bool divides(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && !expr->checked && expr->dtype == AKG_INT64 &&
           (expr->operation == OP_FLOORDIV || expr->operation == OP_MOD);
}

static bool is_product_of_call(struct ir_expr *expr)
{
    struct product product;
    return pass_is_of_call(expr) && product_of(expr, &product);
}

static bool note_divisor(struct ir_expr *expr, void *context)
{
    struct divisors *divisors = context;
    struct product product, rest;
    int at = 0;
    if (!divides(expr))
        return true;
    const struct ir_expr *divided = value_of(expr->operands[0]);
    if (divided->kind != IR_SYMBOL || divided->symbol != divisors->variable ||
        !is_product_of_call(expr->operands[1]) || !product_of(expr->operands[1], &product))
        return true;
    while (at < divisors->count && !(divide(&product, &divisors->items[at], &rest) && is_one(&rest)))
        at++;
    if (at == DIVISORS) {
        divisors->refused = true;
        return false;
    }
    if (at == divisors->count) {
        divisors->items[divisors->count++] = product;
        divisors->has_quotient[at] = divisors->has_remainder[at] = false;
    }
    divisors->has_quotient[at] |= expr->operation == OP_FLOORDIV;
    divisors->has_remainder[at] |= expr->operation == OP_MOD;
    return true;
}

/* The divisor that all others are multiples of; -1: there is none. */
static int least_divisor(const struct divisors *divisors)
{
    struct product rest;
    for (int k = 0; k < divisors->count; k++) {
        int other = 0;
        while (other < divisors->count && divide(&divisors->items[other], &divisors->items[k], &rest))
            other++;
        if (other == divisors->count)
            return k;
    }
    return -1;
}

/* ---- what becomes of quotients ----------------------------------------------------------------- */

/* row * quotient + rest */
static struct ir_expr *compose(struct flat *flat, struct ir_expr *quotient)
{
    return pass_combine(flat->pass, OP_ADD,
                        pass_combine(flat->pass, OP_MUL, quotient, expression_of(flat, &flat->row)),
                        pass_use(flat->pass, flat->rest));
}

static bool is_rest(const struct flat *flat, const struct ir_expr *expr)
{
    return expr->kind == IR_SYMBOL && expr->symbol == flat->rest;
}

/* What compose was given last, or a quotient or remainder of it; a sum of others that looks the same may
 * wrap. */
static bool is_own_quotient(const struct flat *flat, const struct ir_expr *expr)
{
    while (expr->kind == IR_OPERATION && (expr->operation == OP_FLOORDIV || expr->operation == OP_MOD))
        expr = expr->operands[0];
    return expr->kind == IR_SYMBOL && expr->symbol == flat->quotient;
}

/* `quotient` of what compose made; NULL: it is something else. */
static struct ir_expr *quotient_in(struct flat *flat, const struct ir_expr *expr)
{
    expr = value_of(expr);
    if (is_rest(flat, expr))
        return pass_number(flat->pass, 0);
    if (expr->kind != IR_OPERATION || expr->operation != OP_ADD || !is_rest(flat, expr->operands[1]))
        return NULL;
    const struct ir_expr *rows = expr->operands[0];
    struct ir_expr *row = expression_of(flat, &flat->row);
    if (rows->kind != IR_OPERATION || rows->operation != OP_MUL || !ir_expr_equal(rows->operands[1], row) ||
        !is_own_quotient(flat, rows->operands[0]))
        return NULL;
    return pass_copy(flat->pass, rows->operands[0]);
}

/* Of a divisor that the call says, which is above 0. */
static struct ir_expr *divide_by(struct flat *flat, enum operation operation, struct ir_expr *a,
                                 const struct product *divisor)
{
    struct ir_expr *by = expression_of(flat, divisor);
    if (is_one(divisor))
        return operation == OP_FLOORDIV ? a : pass_number(flat->pass, 0);
    if (by->kind != IR_INTEGER)
        by = pass_combine(flat->pass, OP_MAX, by, pass_number(flat->pass, 1));
    return pass_combine(flat->pass, operation, a, by);
}

static struct ir_expr *take_apart(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct flat *flat = context;
    struct product divisor, more;
    (void)pass;
    if (!divides(expr) || !is_product_of_call(expr->operands[1]) ||
        !product_of(expr->operands[1], &divisor) || !divide(&divisor, &flat->row, &more))
        return expr;
    if (!flat->rest) { /* there is but one row, of all iterations */
        const struct ir_expr *divided = value_of(expr->operands[0]);
        if (divided->kind != IR_SYMBOL || divided->symbol != flat->variable)
            return expr;
        ask_of_product(flat, &divisor);
        return expr->operation == OP_MOD ? pass_use(flat->pass, flat->variable) : pass_number(flat->pass, 0);
    }
    struct ir_expr *quotient = quotient_in(flat, expr->operands[0]);
    if (!quotient)
        return expr;
    ask_of_product(flat, &divisor);
    if (expr->operation == OP_FLOORDIV)
        return divide_by(flat, OP_FLOORDIV, quotient, &more);
    if (is_one(&more))
        return pass_use(flat->pass, flat->rest);
    return compose(flat, divide_by(flat, OP_MOD, quotient, &more));
}

static bool rewrite_stmt(struct ir_stmt *stmt, void *context)
{
    struct flat *flat = context;
    pass_rewrite_operations(flat->pass, stmt, take_apart, flat);
    flat->statements++;
    return true;
}

/* ---- loops ------------------------------------------------------------------------------------- */

/* A loop over the elements of the row that `quotient` says, `count` of them. */
static struct ir_stmt *loop_over_row(struct flat *flat, struct ir_stmt *old, struct ir_expr *quotient,
                                     struct ir_expr *count)
{
    struct ir_stmt *loop = pass_count_to(flat->pass, old, count);
    flat->rest = loop->symbol;
    flat->quotient = quotient->symbol;
    old->symbol->note = compose(flat, quotient);
    loop->body = pass_copy_block(flat->pass, old->body);
    old->symbol->note = NULL;
    ir_block_walk(loop->body, rewrite_stmt, flat);
    return loop;
}

static struct ir_expr *not_negative(struct flat *flat, struct ir_expr *expr)
{
    return ir_is_dim(expr) || expr->kind == IR_INTEGER
               ? expr
               : pass_combine(flat->pass, OP_MAX, expr, pass_number(flat->pass, 0));
}

static struct ir_stmt *loop_over_rows(struct flat *flat, struct ir_stmt *old, struct ir_expr *count)
{
    struct ir_stmt *loop = pass_count_to(flat->pass, old, count);
    loop->body =
        loop_over_row(flat, old, pass_use(flat->pass, loop->symbol), expression_of(flat, &flat->row));
    return loop;
}

/* The loops over rows, over one row, and over what is left: that stands behind them, so a loop that stands in
 * others has a version without. */
static struct ir_stmt *by_rows(struct flat *flat, struct ir_stmt *old, int depth)
{
    struct pass *pass = flat->pass;
    struct product all, rows;
    if (product_of(old->high, &all) && divide(&all, &flat->row, &rows)) {
        ask_of_product(flat, &all);
        return loop_over_rows(flat, old, expression_of(flat, &rows));
    }
    struct ir_expr *count =
        divide_by(flat, OP_FLOORDIV, not_negative(flat, pass_copy(pass, old->high)), &flat->row);
    if (depth > 0) {
        flat->is_left = true;
        if (flat->exact) {
            ask(flat, OP_EQ, divide_by(flat, OP_MOD, pass_copy(pass, old->high), &flat->row), 0);
            return loop_over_rows(flat, old, count);
        }
    }
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, "rows", count, old->span);
    let->next = loop_over_rows(flat, old, pass_use(pass, let->symbol));
    struct ir_expr *left = pass_combine(
        pass, OP_SUB, pass_copy(pass, old->high),
        pass_combine(pass, OP_MUL, pass_use(pass, let->symbol), expression_of(flat, &flat->row)));
    let->next->next = loop_over_row(flat, old, pass_use(pass, let->symbol), left);
    return let;
}

static bool is_taken_apart(const struct ir_stmt *loop)
{
    return loop->kind == IR_FOR && !loop->hint && loop->step == 1 && loop->low->kind == IR_INTEGER &&
           loop->low->integer == 0 && pass_is_of_call(loop->high);
}

/* What stands in the place of the loop; itself: nothing has changed. */
static struct ir_stmt *change_loop(struct flat *flat, struct ir_stmt *loop, int depth)
{
    struct divisors divisors = {.variable = loop->symbol};
    struct product all, rest;
    bool is_innermost = !pass_has_for(loop->body);
    if (!is_taken_apart(loop))
        return loop;
    ir_block_expressions(loop->body, note_divisor, &divisors);
    int least = divisors.refused ? -1 : least_divisor(&divisors);
    if (least < 0)
        return loop;
    const struct product *row = &divisors.items[least];
    bool has_both = divisors.has_quotient[least] && divisors.has_remainder[least];
    bool small = divisors.count == 1 && row->count == 0 && row->number <= SMALL;
    bool is_row = product_of(loop->high, &all) && divide(&all, row, &rest) && is_one(&rest);
    if (!is_row && (small || (!is_innermost && !has_both)))
        return loop;
    flat->row = *row;
    flat->variable = loop->symbol;
    flat->rest = NULL;
    flat->changed = true;
    ask_of_product(flat, row);
    if (is_row) {
        ir_block_walk(loop->body, rewrite_stmt, flat);
        return loop;
    }
    if (is_innermost)
        ask(flat, OP_GE, expression_of(flat, row),
            divisors.has_remainder[least] || divisors.count > 1 ? PLACES : ROW);
    return by_rows(flat, loop, depth);
}

static void change_block(struct flat *flat, struct ir_stmt **block, int depth)
{
    flat->refused |= depth > DEEPEST;
    for (struct ir_stmt **place = block; *place && !flat->refused; place = &(*place)->next) {
        struct ir_stmt *next = (*place)->next;
        change_block(flat, &(*place)->body, depth + 1);
        change_block(flat, &(*place)->otherwise, depth + 1);
        while ((*place)->kind == IR_FOR && !flat->refused) {
            struct ir_stmt *made = change_loop(flat, *place, depth);
            flat->refused |= flat->statements > 4 * STATEMENTS;
            if (made == *place)
                break;
            *place = made;
            while ((*place)->kind != IR_FOR)
                place = &(*place)->next;
            change_block(flat, &(*place)->body, depth + 1); /* a row, and rows, may be rows of others again */
        }
        while ((*place)->next && (*place)->next != next)
            place = &(*place)->next;
        (*place)->next = next;
    }
}

/* ---- the walk ---------------------------------------------------------------------------------- */

static bool has_divisor(struct ir_expr *expr, void *context)
{
    (void)context;
    return !divides(expr) || !is_product_of_call(expr->operands[1]);
}

/* What the nest becomes, a copy; NULL: nothing, or too much. */
static struct ir_stmt *taken_apart(struct flat *flat, struct ir_stmt *nest)
{
    struct ir_stmt *next = nest->next;
    nest->next = NULL;
    struct ir_stmt *made = pass_copy_block(flat->pass, nest);
    nest->next = next;
    change_block(flat, &made, 0);
    return flat->refused || !flat->changed ? NULL : made;
}

/* `made` where its conditions hold, and else `otherwise`. */
static struct ir_stmt *choose(struct flat *flat, struct ir_stmt *made, struct ir_stmt *otherwise)
{
    if (!flat->count)
        return made;
    struct ir_stmt *choice = ir_stmt_new(flat->pass->kernel, IR_IF, otherwise->span);
    choice->value = flat->conditions[0];
    for (int k = 1; k < flat->count; k++)
        choice->value = pass_combine(flat->pass, OP_AND, choice->value, flat->conditions[k]);
    choice->body = made;
    choice->otherwise = otherwise;
    return choice;
}

static bool make_versions(struct pass *pass, struct ir_stmt **place)
{
    struct ir_stmt *nest = *place, *next = nest->next;
    struct flat exact = {.pass = pass, .exact = true}, any = {.pass = pass};
    int room = STATEMENTS - 1; /* the nest itself is one */
    if (nest->kind != IR_FOR || !ir_block_walk(nest->body, pass_can_be_copied, &room) ||
        ir_block_expressions(nest->body, has_divisor, NULL) || pass_block_may_stop(nest->body))
        return false;
    struct ir_stmt *made = taken_apart(&exact, nest);
    struct ir_stmt *left = made && exact.is_left ? taken_apart(&any, nest) : NULL;
    if (!made || (exact.is_left && !left))
        return false;
    nest->next = NULL;
    struct ir_stmt *last = choose(&exact, made, left ? choose(&any, left, nest) : nest);
    *place = last;
    while (last->next)
        last = last->next;
    last->next = next;
    return true;
}

static bool visit_block(struct pass *pass, struct ir_stmt **block, int *made, int depth)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        struct ir_stmt *next = (*place)->next;
        if (*made < NESTS && make_versions(pass, place)) {
            changed = true;
            ++*made;
            while ((*place)->next != next)
                place = &(*place)->next;
            continue;
        }
        changed |= visit_block(pass, &(*place)->body, made, depth + 1);
        changed |= visit_block(pass, &(*place)->otherwise, made, depth + 1);
    }
    return changed;
}

bool pass_flat(struct pass *pass)
{
    int made = 0;
    return visit_block(pass, &pass->kernel->body, &made, 0);
}

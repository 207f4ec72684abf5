/*
 * pass_digits.c: loops whose variable is divided by a small constant are counted in its multiples:
 *
 *     for j = 0 to 2 * N: y[j] = x[j // 2] * w[j % 2]
 *     for d = 0 to N step 2: y[d] = x[d] * c[d // 2]
 *
 * become
 *
 *     for k = 0 to N: { y[2 * k] = x[k] * w[0]; y[2 * k + 1] = x[k] * w[1] }
 *     for k = 0 to (N + 1) // 2: y[2 * k] = x[2 * k] * c[k]
 *
 * and what is left of a range that is no multiple runs as it did. Consumes loops in which nothing may stop,
 * for messages tell the variable, in the order of the program and keeps it, but for loops around loops that
 * sum up: of these each remainder gets a loop of its own, where iterations are independent. Quotients of sums
 * whose terms are multiples but for a constant are sums then. Loops in which values and conditions alone
 * divide stay: lanes do that.
 */
#include "../base/number.h"
#include "pass.h"

enum { MOST = 8 /* of a divisor */, STATEMENTS = 60 /* of all copies */, FACTOR = 1 << 20 };

/* ---- quotients of sums ----------------------------------------------------------------------- */

static bool divides_by(const struct ir_expr *expr, int64_t most)
{
    return expr->kind == IR_OPERATION && expr->dtype == AKG_INT64 &&
           (expr->operation == OP_FLOORDIV || expr->operation == OP_MOD) &&
           expr->operands[1]->kind == IR_INTEGER && expr->operands[1]->integer >= 2 &&
           expr->operands[1]->integer <= most;
}

static bool is_division(const struct ir_expr *expr)
{
    return divides_by(expr, MOST);
}

static bool is_plain_sum(const struct pass_affine *affine);

/* A loop's variable or an extent, or the name of a quotient of a plain sum. */
static bool is_plain_symbol(const struct ir_symbol *symbol)
{
    const struct ir_expr *value = symbol->kind == IR_SYMBOL_LET ? symbol->value : NULL;
    struct pass_affine dividend;

    return symbol->kind == IR_SYMBOL_LOOP || symbol->kind == IR_SYMBOL_DIM ||
           (value && value->kind == IR_OPERATION && value->operation == OP_FLOORDIV &&
            value->operands[1]->kind == IR_INTEGER && value->operands[1]->integer > 0 &&
            pass_affine_of(value->operands[0], &dividend) && is_plain_sum(&dividend));
}

/* A sum that no extent makes leave 64 bits. */
static bool is_plain_sum(const struct pass_affine *affine)
{
    for (int k = 0; k < affine->count; k++)
        if (!is_plain_symbol(affine->terms[k].symbol) || affine->terms[k].coefficient > FACTOR ||
            affine->terms[k].coefficient < -FACTOR)
            return false;
    return affine->constant <= FACTOR && affine->constant >= -FACTOR;
}

/* The terms whose coefficients are multiples of the divisor, divided by it; or the others, as they are, with
 * what is left of the constant. */
static struct ir_expr *part_of(struct pass *pass, const struct pass_affine *affine, int64_t divisor,
                               bool multiples)
{
    int64_t quotient = number_floor_divide(affine->constant, divisor);
    struct ir_expr *sum = pass_number(pass, multiples ? quotient : affine->constant - quotient * divisor);
    for (int k = 0; k < affine->count; k++) {
        int64_t coefficient = affine->terms[k].coefficient;
        if ((coefficient % divisor == 0) != multiples)
            continue;
        /* affine forms do not change what they name */
        struct ir_expr *term = ir_symbol_use(pass->kernel, (struct ir_symbol *)affine->terms[k].symbol);
        term = pass_combine(pass, OP_MUL, term,
                            pass_number(pass, multiples ? coefficient / divisor : coefficient));
        sum = pass_combine(pass, OP_ADD, term, sum);
    }
    return sum;
}

struct ir_expr *pass_quotient(struct pass *pass, struct ir_expr *expr)
{
    struct pass_affine affine;
    int multiples = 0;
    if (!divides_by(expr, FACTOR))
        return expr;
    int64_t divisor = expr->operands[1]->integer;
    if (!pass_affine_of(expr->operands[0], &affine) || !is_plain_sum(&affine))
        return expr;
    for (int k = 0; k < affine.count; k++)
        multiples += affine.terms[k].coefficient % divisor == 0;
    if (!multiples && affine.count)
        return expr;
    bool is_quotient = expr->operation == OP_FLOORDIV;
    struct ir_expr *rest = part_of(pass, &affine, divisor, false);
    if (multiples < affine.count)
        rest = pass_combine(pass, expr->operation, rest, pass_number(pass, divisor));
    else if (is_quotient)
        rest = pass_number(pass, 0);
    return is_quotient ? pass_combine(pass, OP_ADD, part_of(pass, &affine, divisor, true), rest) : rest;
}

static struct ir_expr *take_apart(struct pass *pass, struct ir_expr *expr, void *context)
{
    (void)context;
    return is_division(expr) ? pass_quotient(pass, expr) : expr;
}

static bool rewrite_stmt(struct ir_stmt *stmt, void *context)
{
    pass_rewrite_operations(context, stmt, take_apart, NULL);
    return true;
}

/* The block with another value for the loop's variable. */
static struct ir_stmt *copy_with(struct pass *pass, const struct ir_stmt *loop, struct ir_expr *value)
{
    loop->symbol->note = value;
    struct ir_stmt *copy = pass_copy_block(pass, loop->body);
    loop->symbol->note = NULL;
    ir_block_walk(copy, rewrite_stmt, pass);
    return copy;
}

/* ---- which loops ------------------------------------------------------------------------------- */

struct search {
    const struct ir_symbol *variable;
    int64_t step, divisor; /* found; 0: none */
};

static bool find_divisor(struct ir_expr *expr, void *context)
{
    struct search *search = context;
    struct pass_affine affine;
    if (!is_division(expr) || !pass_affine_of(expr->operands[0], &affine) || !is_plain_sum(&affine))
        return true;
    int64_t coefficient = pass_affine_coefficient(&affine, search->variable),
            divisor = expr->operands[1]->integer;
    bool by_step = search->step > 1 && (coefficient * search->step) % divisor == 0;
    bool by_one = search->step == 1 && coefficient == 1;
    if (coefficient && (by_step || by_one) && search->divisor < divisor)
        search->divisor = divisor;
    return true;
}

/* ---- what indices are made of ---- */

/* Of an index, or of a scalar that it names. */
static bool divides_nothing(struct ir_expr *expr, void *search)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return ir_expr_walk(expr->symbol->value, divides_nothing, search);
    struct search *found = search;
    found->divisor = 0;
    return find_divisor(expr, search) && !found->divisor;
}

static bool has_plain_indices(const struct ir_access *access, struct search *search)
{
    for (int k = 0; k < access->buffer->rank; k++)
        if (!ir_expr_walk(access->indices[k], divides_nothing, search))
            return false;
    return true;
}

static bool loads_plainly(struct ir_expr *expr, void *search)
{
    return expr->kind != IR_LOAD || has_plain_indices(&expr->access, search);
}

static bool stores_plainly(struct ir_stmt *stmt, void *search)
{
    return stmt->kind != IR_STORE || has_plain_indices(&stmt->access, search);
}

/* Whether only values and conditions divide the variable, which lanes do for all remainders at once: copies
 * of the body would go through what lies side by side in steps. */
static bool is_for_lanes(const struct ir_stmt *loop)
{
    struct search search = {.variable = loop->symbol, .step = loop->step};

    return loop->step == 1 && ir_block_expressions(loop->body, loads_plainly, &search) &&
           ir_block_walk(loop->body, stores_plainly, &search);
}

/* Whether what would be taken apart does not wrap: loops around may begin anywhere. */
static bool does_not_wrap(struct ir_expr *expr, void *ranges)
{
    enum { BITS = 62 };
    struct pass_affine affine;
    return !is_division(expr) || !pass_affine_of(expr->operands[0], &affine) || !is_plain_sum(&affine) ||
           pass_bits_of(ranges, expr->operands[0]) <= BITS;
}

static bool nothing_wraps(struct pass_ranges *ranges, struct ir_stmt *block, int depth)
{
    enum { DEEPEST = 100 };
    bool wraps = depth > DEEPEST;
    for (struct ir_stmt *stmt = block; stmt && !wraps; stmt = stmt->next) {
        wraps = !ir_stmt_expressions(stmt, does_not_wrap, ranges);
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(ranges, stmt);
        wraps = wraps || !nothing_wraps(ranges, stmt->body, depth + 1);
        ranges->count -= is_known;
        wraps = wraps || !nothing_wraps(ranges, stmt->otherwise, depth + 1);
    }
    return !wraps;
}

static bool can_be_copied(struct ir_stmt *stmt, void *context)
{
    int *count = context;
    return stmt->kind != IR_ALLOCATE && stmt->kind != IR_WHILE && stmt->kind != IR_ASSERT &&
           ++*count <= STATEMENTS;
}

static bool holds_no_store(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR || !ir_block_stores(stmt->body);
}

/* ---- steps ---------------------------------------------------------------------------------------- */

static bool is_never_negative(const struct pass_affine *affine)
{
    for (int k = 0; k < affine->count; k++)
        if (affine->terms[k].symbol->kind != IR_SYMBOL_DIM || affine->terms[k].coefficient < 0)
            return false;
    return affine->constant >= 0;
}

/* How many multiples of the divisor there are below the extent; `all`: nothing is left behind them. */
static struct ir_expr *multiples_below(struct pass *pass, const struct ir_expr *extent, int64_t divisor,
                                       bool *all)
{
    struct pass_affine affine;
    bool is_sum = pass_affine_of(extent, &affine) && is_plain_sum(&affine);
    *all = is_sum && affine.constant % divisor == 0;
    for (int k = 0; *all && k < affine.count; k++)
        *all = affine.terms[k].coefficient % divisor == 0;
    if (*all)
        return part_of(pass, &affine, divisor, true);
    struct ir_expr *count = pass_copy(pass, extent);
    if (!is_sum || !is_never_negative(&affine))
        count = pass_combine(pass, OP_MAX, count, pass_number(pass, 0));
    return pass_combine(pass, OP_FLOORDIV, count, pass_number(pass, divisor));
}

static struct ir_expr *element(struct pass *pass, const struct ir_stmt *loop, int64_t factor, int64_t more)
{
    struct ir_expr *product =
        pass_combine(pass, OP_MUL, ir_symbol_use(pass->kernel, loop->symbol), pass_number(pass, factor));
    return pass_combine(pass, OP_ADD, product, pass_number(pass, more));
}

static struct ir_stmt *count_steps(struct pass *pass, struct ir_stmt *old)
{
    int64_t low = old->low->integer;
    struct ir_expr *count =
        pass_combine(pass, OP_ADD, pass_copy(pass, old->high), pass_number(pass, old->step - 1 - low));
    struct ir_stmt *loop =
        pass_count_to(pass, old, pass_combine(pass, OP_FLOORDIV, count, pass_number(pass, old->step)));
    loop->body = copy_with(pass, old, element(pass, loop, old->step, low));
    return loop;
}

/* ---- remainders -------------------------------------------------------------------------------------- */

static struct ir_stmt **end_of(struct ir_stmt **place)
{
    while (*place)
        place = &(*place)->next;
    return place;
}

static struct ir_stmt *by_multiples(struct pass *pass, struct ir_stmt *old, int64_t divisor, bool apart)
{
    bool all;
    struct ir_expr *count = multiples_below(pass, old->high, divisor, &all);
    struct ir_stmt *first = NULL, **place = &first;
    struct ir_stmt *let = NULL;
    if (!all) {
        let = pass_declare(pass, IR_SYMBOL_LET, "multiples", count, old->span);
        count = ir_symbol_use(pass->kernel, let->symbol);
        *place = let;
        place = &let->next;
    }
    for (int64_t rest = 0; rest < divisor; rest++) {
        struct ir_stmt *loop = *place;
        if (!loop)
            *place = loop = pass_count_to(pass, old, pass_copy(pass, count));
        *end_of(&loop->body) = copy_with(pass, old, element(pass, loop, divisor, rest));
        if (apart)
            place = &loop->next;
    }
    if (!all) {
        old->low =
            pass_combine(pass, OP_MUL, ir_symbol_use(pass->kernel, let->symbol), pass_number(pass, divisor));
        old->next = NULL;
        *end_of(&first) = old;
    }
    return first;
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static bool part(struct pass *pass, struct pass_ranges *ranges, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, *next = loop->next, *first;
    int statements = 0;
    if (loop->kind != IR_FOR || loop->hint || loop->step < 1 || loop->low->kind != IR_INTEGER ||
        loop->low->integer < 0 || loop->low->integer > FACTOR || !pass_is_pure(loop->high) ||
        pass_jumps(loop->body) || pass_block_may_stop(loop->body) || /* messages name the variable */
        !ir_block_walk(loop->body, can_be_copied, &statements))
        return false;
    struct search search = {.variable = loop->symbol, .step = loop->step};
    ir_block_expressions(loop->body, find_divisor, &search);
    if (!search.divisor)
        return false;
    bool is_known = pass_ranges_know(ranges, loop), wraps = !nothing_wraps(ranges, loop->body, 0);
    ranges->count -= is_known;
    if (wraps)
        return false;
    if (loop->step > 1) {
        first = count_steps(pass, loop);
    } else {
        bool is_innermost = !pass_has_for(loop->body);
        if ((is_innermost && is_for_lanes(loop)) || loop->low->integer != 0 ||
            search.divisor * statements > STATEMENTS ||
            (!is_innermost &&
             (!ir_block_walk(loop->body, holds_no_store, NULL) || !pass_is_parallel(pass, loop))))
            return false;
        first = by_multiples(pass, loop, search.divisor, !is_innermost);
    }
    *place = first;
    *end_of(place) = next;
    return true;
}

/* Loops around others only where these are sums: what they hold is not seen to twice. */
static bool visit_block(struct pass *pass, struct pass_ranges *ranges, struct ir_stmt **block, int depth)
{
    enum { DEEPEST = 100 };
    bool changed = false;
    for (struct ir_stmt **place = block; *place && depth < DEEPEST;) {
        struct ir_stmt *stmt = *place, *next = stmt->next;
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(ranges, stmt);
        changed |= visit_block(pass, ranges, &stmt->body, depth + 1);
        ranges->count -= is_known;
        changed |= visit_block(pass, ranges, &stmt->otherwise, depth + 1);
        changed |= part(pass, ranges, place);
        while (*place != next)
            place = &(*place)->next;
    }
    return changed;
}

bool pass_digits(struct pass *pass)
{
    struct pass_ranges ranges = {.count = 0};
    return visit_block(pass, &ranges, &pass->kernel->body, 0);
}

/*
 * pass_ample.c: nests that were cut at borders stand twice, where that tells more of the borders: for extents
 * no smaller than these, and as they are.
 *
 *     for j in 0, min(1, W): for s in max(0, 1 - j), min(3, W - j + 1): m = max(m, x[j + s - 1])
 *     if W < 2: ... else: m = max(m, x[0]); m = max(m, x[1])
 *
 * Consumes what partition and tighten left: bounds that are the least or the greatest of numbers and extents.
 * In a copy of the nest, each is what it is for large extents; loops of one iteration and the windows inside
 * of them are written out. Where windows go in steps of 2, the last loop is one from n // 2 to (n + 1) // 2,
 * which has an iteration if n is odd. So the first and the last column of an image are a few straight lines,
 * which its rows have in one piece of machine code with the columns between. Where no such lines come of it,
 * the nest stays as it was. What it was is for small extents only, and its code is made when one comes.
 */
#include "pass_partition.h"
#include "vector.h"

#include <string.h>

enum {
    LARGEST_LEAST = 16, /* extents that are called small */
    LARGEST = 160,      /* statements of a nest */
    WINDOW = 40,        /* and of a window that is written out */
    DEEPEST = 100
};

struct ample {
    struct pass *pass;
    struct ir_stmt *names; /* of quotients of extents: LETs before the nest */
    int64_t *least;        /* of each dim, by its number, where the copy is right; 0: any */
    int straight;          /* loops that are straight lines now, with windows or beside other loops */
};

/* ---- bounds --------------------------------------------------------------------------------------- */

static bool is_small_number(int64_t number)
{
    return number >= -LARGEST_LEAST && number <= LARGEST_LEAST;
}

/* The quotient that a name stands for: of an extent and a number, by a number. */
struct quotient {
    struct pass_affine dividend;
    int64_t divisor;
};

static bool is_quotient(const struct ir_expr *value, struct quotient *quotient)
{
    if (!value || value->kind != IR_OPERATION || value->operation != OP_FLOORDIV ||
        value->dtype != AKG_INT64 || value->operands[1]->kind != IR_INTEGER)
        return false;
    quotient->divisor = value->operands[1]->integer;
    return quotient->divisor > 0 && quotient->divisor <= LARGEST_LEAST &&
           pass_affine_of(value->operands[0], &quotient->dividend) && quotient->dividend.count == 1 &&
           quotient->dividend.terms[0].symbol->kind == IR_SYMBOL_DIM &&
           quotient->dividend.terms[0].coefficient > 0 && is_small_number(quotient->dividend.constant);
}

static bool quotient_of(const struct ir_symbol *symbol, struct quotient *quotient)
{
    return symbol->kind == IR_SYMBOL_LET && is_quotient(symbol->value, quotient);
}

/* The same for all that are equal. */
static struct ir_expr *name_quotient(struct ample *ample, const struct ir_expr *expr)
{
    struct ir_stmt **name = &ample->names;

    while (*name && !ir_expr_equal((*name)->value, expr))
        name = &(*name)->next;
    if (!*name)
        *name = pass_declare(ample->pass, IR_SYMBOL_LET, "part", pass_copy(ample->pass, expr), expr->span);
    return ir_symbol_use(ample->pass->kernel, (*name)->symbol);
}

/* Whether the sum, of one extent, is at least 0 where that is no small one, which it then is. */
static bool grows_above(struct ample *ample, const struct pass_affine *sum)
{
    int64_t factor = sum->terms[0].coefficient, *least = &ample->least[sum->terms[0].symbol->index];

    if (factor < 0 || !is_small_number(factor) || !is_small_number(sum->constant))
        return false;
    int64_t needed = (factor - 1 - sum->constant) / factor;
    *least = needed > *least ? needed : *least;
    return true;
}

/* Likewise for an extent, or a quotient of one. */
static bool is_above(struct ample *ample, const struct pass_affine *difference)
{
    const struct ir_symbol *symbol = difference->terms[0].symbol;
    int64_t factor = difference->terms[0].coefficient;
    struct quotient quotient;

    if (symbol->kind == IR_SYMBOL_DIM)
        return grows_above(ample, difference);
    if (factor != 1 || !is_small_number(difference->constant) || !quotient_of(symbol, &quotient))
        return false;
    quotient.dividend.constant += difference->constant * quotient.divisor;
    return grows_above(ample, &quotient.dividend);
}

/* Whether the difference is at least 0, or at most 0, for large extents, of which there is one. */
static bool is_positive(struct ample *ample, const struct pass_affine *difference, bool *answer)
{
    struct pass_affine opposite = {.constant = 0};

    *answer = difference->count ? difference->terms[0].coefficient > 0 : difference->constant >= 0;
    if (difference->count != 1)
        return difference->count == 0;
    return *answer ? is_above(ample, difference)
                   : pass_affine_add(&opposite, -1, difference) && is_above(ample, &opposite);
}

static bool is_extreme(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && expr->dtype == AKG_INT64 &&
           (expr->operation == OP_MIN || expr->operation == OP_MAX);
}

static bool is_of_extents(struct ir_expr *expr, void *unused)
{
    if (expr->kind != IR_SYMBOL)
        return expr->kind == IR_INTEGER || expr->kind == IR_OPERATION;
    if (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return ir_expr_walk(expr->symbol->value, is_of_extents, unused);
    return expr->symbol->kind == IR_SYMBOL_DIM;
}

/* A name of such a bound, or of a sum with one. */
static bool is_named_bound(const struct ir_expr *expr)
{
    return expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value &&
           expr->dtype == AKG_INT64 && ir_expr_walk(expr->symbol->value, is_of_extents, NULL);
}

/* Sums as such, and the least and the greatest of two that large extents tell apart. */
static struct ir_expr *settled(struct ample *ample, const struct ir_expr *expr)
{
    struct ir_expr *operands[3] = {NULL, NULL, NULL};
    struct pass_affine a, b;
    struct quotient quotient;
    bool is_second;

    if (is_quotient(expr, &quotient))
        return name_quotient(ample, expr);
    if (is_named_bound(expr)) {
        operands[0] = settled(ample, expr->symbol->value);
        return pass_affine_of(operands[0], &a) ? operands[0] : pass_copy(ample->pass, expr);
    }
    if (expr->dtype != AKG_INT64 || expr->kind != IR_OPERATION)
        return pass_copy(ample->pass, expr);
    if (!is_extreme(expr) && expr->operation != OP_ADD && expr->operation != OP_SUB &&
        expr->operation != OP_MUL)
        return pass_copy(ample->pass, expr);
    for (int k = 0; k < expr->count; k++)
        operands[k] = settled(ample, expr->operands[k]);
    if (is_extreme(expr) && pass_affine_of(operands[0], &a) && pass_affine_of(operands[1], &b) &&
        pass_affine_add(&b, -1, &a) && is_positive(ample, &b, &is_second))
        return operands[is_second == (expr->operation == OP_MAX)];
    struct ir_expr *result =
        ir_operation(ample->pass->kernel, expr->operation, operands[0], operands[1], operands[2]);
    struct place place = {.divisor = 1};
    result->span = expr->span;
    return pass_affine_of(result, &place.at) ? partition_expr(ample->pass, &place) : result;
}

static struct ir_expr *settle(struct pass *pass, struct ir_expr *expr, void *ample)
{
    (void)pass;
    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = settled(ample, expr->access.indices[k]);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = settle(pass, expr->operands[k], ample);
    return expr;
}

/* ---- loops ---------------------------------------------------------------------------------------- */

static bool is_one_iteration(const struct ir_stmt *loop)
{
    struct pass_affine low, distance;

    return loop->step == 1 && pass_affine_of(loop->low, &low) && pass_affine_of(loop->high, &distance) &&
           pass_affine_add(&distance, -1, &low) && distance.count == 0 && distance.constant == 1;
}

/* Whether it goes from n // 2 to (n + 1) // 2, which has an iteration where n is odd; the extent in n, and
 * what it is then, by the quotient. */
static struct ir_symbol *odd_extent(struct pass *pass, const struct ir_stmt *loop, struct ir_expr **value)
{
    struct quotient low, high;
    struct place odd = {.divisor = 1};

    if (loop->step != 1 || loop->low->kind != IR_SYMBOL || loop->high->kind != IR_SYMBOL ||
        !quotient_of(loop->low->symbol, &low) || !quotient_of(loop->high->symbol, &high) ||
        low.divisor != 2 || high.divisor != 2 || low.dividend.terms[0].coefficient != 1 ||
        !pass_affine_add(&high.dividend, -1, &low.dividend) || high.dividend.count != 0 ||
        high.dividend.constant != 1 || !pass_affine_of(loop->low, &odd.at))
        return NULL;
    for (int k = 0; k < odd.at.count; k++)
        odd.at.terms[k].coefficient *= 2;
    odd.at.constant = 1 - low.dividend.constant;
    *value = partition_expr(pass, &odd);
    return (struct ir_symbol *)low.dividend.terms[0].symbol;
}

static void settle_block(struct ample *ample, struct ir_stmt **place, int depth);

/* The body of a loop of one iteration, with windows written out. */
static struct ir_stmt *body_of(struct ample *ample, const struct ir_stmt *loop, int depth)
{
    struct ir_stmt *body;

    loop->symbol->note = loop->low;
    body = pass_copy_block(ample->pass, loop->body);
    loop->symbol->note = NULL;
    settle_block(ample, &body, depth + 1);
    bool has_window = pass_write_out(ample->pass, &body, VECTOR_SHORTEST - 1, WINDOW);
    ample->straight += has_window || (depth > 0 && !pass_has_for(body));
    return body;
}

/* The body in the place of the loop. Gives the place behind. */
static struct ir_stmt **put_body(struct ample *ample, struct ir_stmt **place, int depth)
{
    struct ir_stmt *loop = *place;

    *place = body_of(ample, loop, depth);
    while (*place)
        place = &(*place)->next;
    *place = loop->next;
    return place;
}

/* If there is an iteration. */
static void put_choice(struct ample *ample, struct ir_stmt **place, struct ir_symbol *extent,
                       struct ir_expr *value, int depth)
{
    struct ir_kernel *kernel = ample->pass->kernel;
    struct ir_stmt *loop = *place, *choice = ir_stmt_new(kernel, IR_IF, loop->span);
    struct ir_expr *ends[] = {pass_copy(ample->pass, loop->low), pass_copy(ample->pass, loop->high)};

    extent->note = value;
    choice->body = body_of(ample, loop, depth);
    extent->note = NULL;
    pass_set_value(choice, ir_operation(kernel, OP_LT, ends[0], ends[1], NULL));
    choice->next = loop->next;
    *place = choice;
}

/* A loop whose bounds are settled. Gives the place behind. */
static struct ir_stmt **settle_loop(struct ample *ample, struct ir_stmt **place, int depth)
{
    struct ir_stmt *loop = *place;
    struct ir_expr *value;
    struct ir_symbol *extent = odd_extent(ample->pass, loop, &value);

    if (is_one_iteration(loop))
        return put_body(ample, place, depth);
    if (extent && !extent->note)
        put_choice(ample, place, extent, value, depth);
    else
        settle_block(ample, &loop->body, depth + 1);
    return &(*place)->next;
}

static void settle_block(struct ample *ample, struct ir_stmt **place, int depth)
{
    while (*place && depth < DEEPEST) {
        struct ir_stmt *stmt = *place;
        pass_rewrite(ample->pass, stmt, settle, ample);
        if (stmt->kind == IR_FOR) {
            stmt->low = settled(ample, stmt->low);
            stmt->high = settled(ample, stmt->high);
            place = settle_loop(ample, place, depth);
            continue;
        }
        settle_block(ample, &stmt->body, depth + 1);
        settle_block(ample, &stmt->otherwise, depth + 1);
        place = &stmt->next;
    }
}

/* ---- the nest --------------------------------------------------------------------------------------- */

static bool may_stand_twice(struct ir_stmt *stmt, void *count)
{
    return stmt->kind != IR_ALLOCATE && stmt->kind != IR_WHILE && stmt->kind != IR_BREAK &&
           stmt->kind != IR_CONTINUE && ++*(int *)count <= LARGEST;
}

static bool is_no_extreme(struct ir_expr *expr, void *unused)
{
    (void)unused;
    return !is_extreme(expr) && !(is_named_bound(expr) && is_extreme(expr->symbol->value));
}

static bool has_no_extreme(struct ir_stmt *stmt, void *unused)
{
    (void)unused;
    return stmt->kind != IR_FOR ||
           (ir_expr_walk(stmt->low, is_no_extreme, NULL) && ir_expr_walk(stmt->high, is_no_extreme, NULL));
}

static bool is_candidate(struct ir_stmt *loop)
{
    int count = 0;

    return ir_block_walk(loop->body, may_stand_twice, &count) &&
           !ir_block_walk(loop->body, has_no_extreme, NULL) && !pass_block_may_stop(loop->body);
}

/* Whether some extent is small. */
static struct ir_expr *is_small(const struct ample *ample)
{
    struct ir_kernel *kernel = ample->pass->kernel;
    struct ir_expr *any = NULL;

    for (int k = 0; k < kernel->dims.count; k++) {
        if (ample->least[k] <= 0)
            continue;
        struct ir_expr *dim = ir_symbol_use(kernel, kernel->dims.items[k]);
        struct ir_expr *is_less =
            ir_operation(kernel, OP_LT, dim, ir_integer(kernel, AKG_INT64, ample->least[k]), NULL);
        any = any ? ir_operation(kernel, OP_OR, any, is_less, NULL) : is_less;
    }
    return any;
}

/* The loop alone. False: it stays as it is. */
static bool make_ample(struct ample *ample, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, *next = loop->next, *copy, *choice;
    struct ir_expr *small;

    memset(ample->least, 0, sizeof *ample->least * (size_t)ample->pass->kernel->dims.count);
    ample->straight = 0;
    ample->names = NULL;
    loop->next = NULL;
    copy = pass_copy_block(ample->pass, loop);
    settle_block(ample, &copy, 0);
    small = is_small(ample);
    loop->next = next;
    if (!ample->straight)
        return false;
    struct ir_stmt **end = &ample->names;
    while (*end)
        end = &(*end)->next;
    *end = copy;
    if (small) {
        choice = ir_stmt_new(ample->pass->kernel, IR_IF, loop->span);
        pass_set_value(choice, small);
        choice->body = loop;
        choice->otherwise = copy;
        choice->deferred = true;
        loop->next = NULL;
        *end = choice;
    }
    *place = ample->names;
    while (*end)
        end = &(*end)->next;
    *end = next;
    return true;
}

bool pass_ample(struct pass *pass)
{
    struct ample ample = {.pass = pass};
    bool changed = false;

    ample.least = arena_array(pass->arena, int64_t, pass->kernel->dims.count);
    for (struct ir_stmt **place = &pass->kernel->body; *place;) {
        const struct ir_stmt *next = (*place)->next;
        if ((*place)->kind == IR_FOR && is_candidate(*place))
            changed |= make_ample(&ample, place);
        while (*place != next)
            place = &(*place)->next;
    }
    if (changed) {
        pass_simplify(pass);
        pass_hoist(pass);
    }
    return changed;
}

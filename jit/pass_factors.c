/*
 * pass_factors.c: the factors of what is added up, where code may round sums as it likes (`reorders`).
 *
 *     for n: s = s + x[n, i] * x[n, j] / N      becomes      for n: s = s + x[n, i] * (1 / N) * x[n, j]
 *
 * A quotient by what stays the same in the innermost loop is a product with its reciprocal, which is off by
 * one more unit. What hangs on the row of a sum, on the column and on neither is sorted into one factor of
 * rows and one of columns: nests of vectors and packed copies (pass_tile.c) have each of them but once. In
 * what is multiplied up, `s = s * 1.01 * 1.01`, numbers become one. Products of integers wrap, so that any
 * order of theirs is as good as another.
 *
 * Consumes sums in a scalar or in place, of float32, float64 and integers. Nothing that may stop moves.
 */
#include "pass.h"

#include <math.h>

enum { AROUND = 24, FACTORS = 8, QUESTIONS = 200 };

/* What a symbol hangs on. */
struct place {
    uint32_t loops; /* one bit for each loop around, the outermost first */
    int depth;      /* loops around the declaration */
    bool varies;    /* it is assigned to, or has to do with elements that may be written */
};

struct factors {
    struct pass *pass;
    struct ir_stmt *loops[AROUND];
    int depth;
    int questions; /* of what a loop writes, which may still be asked */
    bool changed;
};

/* ---- what an expression hangs on ------------------------------------------------------------------- */

static bool note_symbol(struct ir_expr *expr, void *context)
{
    struct place *place = context;
    if (expr->kind == IR_SYMBOL && expr->symbol->note) {
        const struct place *other = expr->symbol->note;
        place->loops |= other->loops;
        place->varies |= other->varies;
    } else if (expr->kind == IR_LOAD) {
        place->varies |= expr->access.buffer->role != IR_INPUT;
    }
    return true;
}

static struct place place_of(struct ir_expr *expr)
{
    struct place place = {0};
    ir_expr_walk(expr, note_symbol, &place);
    return place;
}

static void declare(struct factors *factors, struct ir_symbol *symbol, struct place place)
{
    struct place *note = arena_new(factors->pass->arena, struct place);
    *note = place;
    note->depth = factors->depth;
    symbol->note = note;
}

struct written {
    struct factors *factors;
    struct ir_stmt *loop;
};

static bool is_not_written(struct ir_expr *expr, void *context)
{
    const struct written *written = context;
    const struct place *place = expr->kind == IR_SYMBOL ? expr->symbol->note : NULL;
    bool asks = (place && place->varies) || (expr->kind == IR_LOAD && expr->access.buffer->role != IR_INPUT);
    if (!asks)
        return true;
    if (written->factors->questions-- <= 0)
        return false;
    if (expr->kind == IR_LOAD)
        return !ir_block_stores_to(written->loop->body, expr->access.buffer);
    return place->depth < written->factors->depth && !ir_block_assigns(written->loop->body, expr->symbol);
}

/* Whether it is the same in all iterations of the innermost loop. */
static bool stays(struct factors *factors, struct ir_expr *expr)
{
    struct written written = {factors, factors->loops[factors->depth - 1]};
    struct place place = place_of(expr);
    return !(place.loops >> (factors->depth - 1) & 1) &&
           (!place.varies || ir_expr_walk(expr, is_not_written, &written));
}

/* ---- quotients ---------------------------------------------------------------------------------------- */

static struct ir_expr *product(struct factors *factors, struct ir_expr *a, struct ir_expr *b)
{
    struct ir_expr *result = ir_operation(factors->pass->kernel, OP_MUL, a, b, NULL);
    result->span = a->span;
    return result;
}

/* NULL: of a number whose reciprocal is none that all of its digits are left of. */
static struct ir_expr *reciprocal(struct factors *factors, struct ir_expr *divisor)
{
    struct ir_kernel *kernel = factors->pass->kernel;
    akg_dtype dtype = divisor->dtype;
    struct ir_expr *one = ir_real(kernel, dtype, 1), *result;
    if (divisor->kind == IR_REAL) {
        double known = dtype == AKG_FLOAT32 ? (double)(1 / (float)divisor->real) : 1 / divisor->real;
        if (dtype == AKG_FLOAT32 ? !isnormal((float)known) : !isnormal(known))
            return NULL;
        result = ir_real(kernel, dtype, known);
    } else {
        result = ir_operation(kernel, OP_TRUEDIV, one, divisor, NULL);
    }
    result->span = divisor->span;
    return result;
}

/* What is added, with products for quotients; `sum`, where it stands among it, as it is. */
static struct ir_expr *without_quotients(struct factors *factors, struct ir_expr *expr,
                                         const struct ir_expr *sum)
{
    if (expr == sum || expr->kind != IR_OPERATION)
        return expr;
    bool divides = expr->operation == OP_TRUEDIV;
    int first = expr->operation == OP_SELECT, last = divides ? 0 : expr->count - 1;
    if (!divides && expr->operation != OP_ADD && expr->operation != OP_SUB && expr->operation != OP_MUL &&
        expr->operation != OP_NEG && expr->operation != OP_SELECT)
        return expr;
    for (int k = first; k <= last; k++)
        expr->operands[k] = without_quotients(factors, expr->operands[k], sum);
    if (!divides || expr->checked || stays(factors, expr->operands[0]) || !stays(factors, expr->operands[1]))
        return expr;
    struct ir_expr *factor = reciprocal(factors, expr->operands[1]);
    factors->changed |= factor != NULL;
    return factor ? product(factors, expr->operands[0], factor) : expr;
}

/* ---- rows and columns --------------------------------------------------------------------------------- */

enum side { OF_ROW, OF_COLUMN, SIDES };

struct sorting {
    uint32_t loops[SIDES]; /* the bits of the two loops around the sum */
    struct ir_expr *factors[FACTORS];
    enum side sides[FACTORS];
    bool is_below[FACTORS]; /* it is a divisor */
    int count, of_side[SIDES];
    bool is_negative, fails;
};

static void add_factor(struct sorting *sorting, struct ir_expr *expr, bool is_below)
{
    uint32_t loops = place_of(expr).loops;
    bool row = loops & sorting->loops[OF_ROW], column = loops & sorting->loops[OF_COLUMN];
    sorting->fails |= (row && column) || sorting->count == FACTORS || pass_expr_may_stop(expr);
    if (sorting->fails)
        return;
    sorting->of_side[OF_ROW] += row;
    sorting->of_side[OF_COLUMN] += column;
    sorting->sides[sorting->count] = column ? OF_COLUMN : OF_ROW;
    sorting->is_below[sorting->count] = is_below;
    sorting->factors[sorting->count++] = expr;
}

/* A divisor is one factor: of two there would be two quotients. */
static void find_factors(struct sorting *sorting, struct ir_expr *expr)
{
    bool is_operation = expr->kind == IR_OPERATION && !expr->checked;
    if (is_operation && expr->operation == OP_NEG) {
        sorting->is_negative = !sorting->is_negative;
        find_factors(sorting, expr->operands[0]);
    } else if (is_operation && expr->operation == OP_MUL) {
        find_factors(sorting, expr->operands[0]);
        find_factors(sorting, expr->operands[1]);
    } else if (is_operation && expr->operation == OP_TRUEDIV) {
        find_factors(sorting, expr->operands[0]);
        add_factor(sorting, expr->operands[1], true);
    } else {
        add_factor(sorting, expr, false);
    }
}

/* The product of those of one side. */
static struct ir_expr *of_side(struct factors *factors, const struct sorting *sorting, enum side side)
{
    struct ir_kernel *kernel = factors->pass->kernel;
    struct ir_expr *result = NULL;
    for (int below = 0; below < 2; below++)
        for (int k = 0; k < sorting->count; k++) {
            struct ir_expr *factor = sorting->factors[k];
            if (sorting->sides[k] != side || sorting->is_below[k] != below)
                continue;
            if (!result && below)
                result = ir_real(kernel, factor->dtype, 1);
            result =
                !result ? factor : ir_operation(kernel, below ? OP_TRUEDIV : OP_MUL, result, factor, NULL);
            result->span = factor->span;
        }
    return result;
}

/* Whether it is one product of what hangs on rows by what hangs on columns, either way round. */
static bool is_sorted(const struct sorting *sorting, const struct ir_expr *term)
{
    uint32_t both = sorting->loops[OF_ROW] | sorting->loops[OF_COLUMN];
    if (term->kind != IR_OPERATION || term->operation != OP_MUL)
        return false;
    uint32_t a = place_of(term->operands[0]).loops & both, b = place_of(term->operands[1]).loops & both;
    return a && b && a != both && b != both;
}

static struct ir_expr *sorted_term(struct factors *factors, struct sorting *sorting, struct ir_expr *term)
{
    struct ir_kernel *kernel = factors->pass->kernel;
    if (is_sorted(sorting, term))
        return term;
    find_factors(sorting, term);
    if (sorting->fails || !sorting->of_side[OF_ROW] || !sorting->of_side[OF_COLUMN])
        return term;
    struct ir_expr *result =
        product(factors, of_side(factors, sorting, OF_ROW), of_side(factors, sorting, OF_COLUMN));
    factors->changed = true;
    return sorting->is_negative ? ir_operation(kernel, OP_NEG, result, NULL, NULL) : result;
}

/* Each term by itself. */
static struct ir_expr *sort_terms(struct factors *factors, struct ir_expr *expr, const struct ir_expr *sum,
                                  int depth)
{
    bool adds = expr->kind == IR_OPERATION && (expr->operation == OP_ADD || expr->operation == OP_SUB);
    struct sorting sorting = {.loops = {(uint32_t)1 << (depth - 2), (uint32_t)1 << (depth - 1)}};
    if (expr == sum)
        return expr;
    if (!adds)
        return sorted_term(factors, &sorting, expr);
    for (int k = 0; k < 2; k++)
        expr->operands[k] = sort_terms(factors, expr->operands[k], sum, depth);
    return expr;
}

/* ---- sums ------------------------------------------------------------------------------------------------
 */

static bool is_sum_of(const struct ir_stmt *stmt, const struct ir_expr *expr)
{
    return stmt->kind == IR_ASSIGN ? expr->kind == IR_SYMBOL && expr->symbol == stmt->symbol
                                   : expr->kind == IR_LOAD && expr->access.buffer == stmt->access.buffer &&
                                         ir_access_equal(&expr->access, &stmt->access);
}

/* Where what was there before stands in what is added up; NULL: nowhere, or the value is no sum. */
static struct ir_expr *find_sum(const struct ir_stmt *stmt, struct ir_expr *expr)
{
    if (is_sum_of(stmt, expr))
        return expr;
    if (expr->kind != IR_OPERATION || (expr->operation != OP_ADD && expr->operation != OP_SUB))
        return NULL;
    struct ir_expr *found = find_sum(stmt, expr->operands[0]);
    return found || expr->operation == OP_SUB ? found : find_sum(stmt, expr->operands[1]);
}

struct uses {
    const struct ir_stmt *stmt;
    int count;
};

static bool count_use(struct ir_expr *expr, void *context)
{
    struct uses *uses = context;
    uses->count += uses->stmt->kind == IR_ASSIGN
                       ? expr->kind == IR_SYMBOL && expr->symbol == uses->stmt->symbol
                       : expr->kind == IR_LOAD && expr->access.buffer == uses->stmt->access.buffer;
    return true;
}

/* Whether one of the loops around leaves the element where it is, or data says where it is. */
static bool adds_up(const struct factors *factors, const struct ir_stmt *store)
{
    uint32_t moving = 0;
    for (int axis = 0; axis < store->access.buffer->rank; axis++) {
        moving |= place_of(store->access.indices[axis]).loops;
        if (ir_expr_loads(store->access.indices[axis]))
            return true;
    }
    return moving != ((uint32_t)1 << factors->depth) - 1;
}

/* ---- what is multiplied up -------------------------------------------------------------------------------
 */

struct powers {
    struct ir_expr *others; /* all but the numbers, in their order */
    double number;
    int count; /* of numbers */
    bool is_large;
};

static void find_powers(struct factors *factors, struct ir_expr *expr, struct powers *powers)
{
    if (expr->kind == IR_OPERATION && expr->operation == OP_MUL) {
        find_powers(factors, expr->operands[0], powers);
        find_powers(factors, expr->operands[1], powers);
    } else if (expr->kind == IR_REAL) {
        powers->is_large |= !(fabs(expr->real) >= 0x1p-8 && fabs(expr->real) <= 0x1p8);
        powers->number *= expr->real;
        powers->count++;
    } else {
        powers->others = powers->others ? product(factors, powers->others, expr) : expr;
    }
}

/* `s = s * 1.01 * 1.01` becomes `s = s * 1.0201`, so that each iteration waits for one product. Numbers
 * alone: the product of others may be infinite where what is handed on is 0. */
static void visit_product(struct factors *factors, struct ir_stmt *stmt)
{
    enum { MOST = 8 };
    struct uses uses = {.stmt = stmt};
    struct powers powers = {.number = 1};
    akg_dtype dtype = stmt->value->dtype;
    if (stmt->value->kind != IR_OPERATION || stmt->value->operation != OP_MUL)
        return;
    ir_expr_walk(stmt->value, count_use, &uses);
    find_powers(factors, stmt->value, &powers);
    if (!uses.count || powers.count < 2 || powers.count > MOST || powers.is_large)
        return;
    double number = dtype == AKG_FLOAT32 ? (double)(float)powers.number : powers.number;
    pass_set_value(stmt, product(factors, powers.others, ir_real(factors->pass->kernel, dtype, number)));
    factors->changed = true;
}

static void visit_sum(struct factors *factors, struct ir_stmt *stmt)
{
    struct ir_expr *sum = find_sum(stmt, stmt->value);
    struct uses uses = {.stmt = stmt};
    akg_dtype dtype = stmt->value->dtype;
    bool is_float = (dtype == AKG_FLOAT32 || dtype == AKG_FLOAT64) && factors->pass->reorders;
    const struct place *place = stmt->kind == IR_ASSIGN ? stmt->symbol->note : NULL;
    if (is_float && place && place->depth < factors->depth)
        visit_product(factors, stmt);
    if (!sum || stmt->value == sum || (!is_float && !dtype_is_integer(dtype)))
        return;
    ir_expr_walk(stmt->value, count_use, &uses);
    if (uses.count != 1 || (place ? place->depth >= factors->depth : !adds_up(factors, stmt)))
        return;
    if (is_float)
        pass_set_value(stmt, without_quotients(factors, stmt->value, sum));
    if (place && place->depth >= 2)
        pass_set_value(stmt, sort_terms(factors, stmt->value, sum, place->depth));
}

static void visit_block(struct factors *factors, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        bool is_loop = stmt->kind == IR_FOR || stmt->kind == IR_WHILE;
        if (stmt->kind == IR_LET)
            declare(factors, stmt->symbol, place_of(stmt->value));
        else if (stmt->kind == IR_VARIABLE)
            declare(factors, stmt->symbol,
                    (struct place){.loops = ((uint32_t)1 << factors->depth) - 1, .varies = true});
        else if ((stmt->kind == IR_ASSIGN || stmt->kind == IR_STORE) && factors->depth)
            visit_sum(factors, stmt);
        if (is_loop && factors->depth == AROUND)
            continue;
        if (is_loop)
            factors->loops[factors->depth++] = stmt;
        if (stmt->kind == IR_FOR)
            declare(factors, stmt->symbol, (struct place){.loops = (uint32_t)1 << (factors->depth - 1)});
        visit_block(factors, stmt->body);
        factors->depth -= is_loop;
        visit_block(factors, stmt->otherwise);
    }
}

bool pass_factors(struct pass *pass)
{
    struct factors factors = {.pass = pass, .questions = QUESTIONS};

    visit_block(&factors, pass->kernel->body);
    ir_block_note_declared(pass->kernel->body, NULL);
    return factors.changed;
}

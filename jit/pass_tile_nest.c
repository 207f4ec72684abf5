/*
 * pass_tile_nest.c: what pass_tile is about: a nest, its terms, and the sum that it may be split at.
 *
 * Consumes statements; changes nothing. Bounds are over dims and attributes, or those of blocks that another
 * pass has made; nothing in the nest may stop.
 */
#include "pass_tile.h"

/* ---- terms --------------------------------------------------------------------------------------- */

struct mentions {
    const struct tile_nest *nest;
    bool rows, columns, depths, loads, other;
};

static bool note_mention(struct ir_expr *expr, void *context)
{
    struct mentions *mentions = context;
    const struct tile_nest *nest = mentions->nest;

    if (expr->kind == IR_SYMBOL) {
        bool rows = expr->symbol == nest->rows->symbol, columns = expr->symbol == nest->columns->symbol,
             depths = expr->symbol == nest->depths->symbol;
        mentions->rows |= rows;
        mentions->columns |= columns;
        mentions->depths |= depths;
        mentions->other |=
            !rows && !columns && !depths &&
            (expr->symbol->kind == IR_SYMBOL_VARIABLE || ir_block_declares(nest->rows->body, expr->symbol));
    } else if (expr->kind == IR_LOAD) {
        mentions->loads = true;
        mentions->other |= ir_block_stores_to(nest->rows->body, expr->access.buffer);
    }
    return true;
}

/* The last index of all that it loads grows by one with the variable. */
static bool lies_along(struct ir_expr *expr, void *variable)
{
    struct pass_affine affine;

    if (expr->kind != IR_LOAD)
        return true;
    int last = expr->access.buffer->rank - 1;
    return last < 0 || !pass_access_mentions(&expr->access, variable) ||
           (pass_affine_of(expr->access.indices[last], &affine) &&
            pass_affine_coefficient(&affine, variable) == 1);
}

static void add_term(struct tile_nest *nest, struct ir_expr *expr, bool by_row)
{
    struct ir_symbol *variable = by_row ? nest->rows->symbol : nest->columns->symbol;

    for (int k = 0; k < nest->count; k++)
        if (ir_expr_equal(nest->terms[k].value, expr))
            return;
    if (nest->count == TILE_TERMS) {
        nest->fails = true;
        return;
    }
    bool lies = ir_expr_walk(expr, lies_along, variable);
    nest->terms[nest->count++] = (struct tile_term){.value = expr,
                                                    .by_row = by_row,
                                                    .is_transposed = by_row && lies,
                                                    .is_across = by_row && lies && !nest->pass->tiles->turns,
                                                    .needs_copy = !by_row && !lies};
}

/* The largest parts that hang on k and on one of i and j, in what is always evaluated. */
static void find_terms(struct tile_nest *nest, struct ir_expr *expr)
{
    struct mentions mentions = {.nest = nest};

    ir_expr_walk(expr, note_mention, &mentions);
    if (mentions.loads && mentions.depths && !mentions.other && mentions.rows != mentions.columns) {
        add_term(nest, expr, mentions.rows);
        return;
    }
    if (expr->kind != IR_OPERATION)
        return;
    bool lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
    for (int k = 0; k < (lazy ? 1 : expr->count); k++)
        find_terms(nest, expr->operands[k]);
}

static void find_all_terms(struct tile_nest *nest)
{
    bool rows = false, columns = false;

    for (struct ir_stmt *stmt = nest->depths->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN)
            find_terms(nest, stmt->value);
    for (int k = 0; k < nest->count; k++) {
        rows |= nest->terms[k].by_row;
        columns |= !nest->terms[k].by_row;
    }
    nest->fails |= !rows || !columns;
}

/* As many columns in a panel as fit into its rows, for each of the terms. */
static void find_width(struct tile_nest *nest)
{
    const struct pass_tiles *tiles = nest->pass->tiles;

    nest->width = tiles->columns;
    for (int k = 0; k < nest->count; k++) {
        int64_t fitting = tiles->panel / dtype_table[nest->terms[k].value->dtype].size;
        if (tiles->panel && !nest->terms[k].by_row && fitting < nest->width)
            nest->width = fitting;
    }
}

/* ---- the nest ------------------------------------------------------------------------------------- */

static bool is_outer(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind == IR_INTEGER || expr->kind == IR_OPERATION ||
           (expr->kind == IR_SYMBOL &&
            (expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE));
}

static bool has_fixed_bounds(struct ir_stmt *loop)
{
    return loop->step == 1 && !loop->hint && pass_is_pure(loop->low) && pass_is_pure(loop->high) &&
           ir_expr_walk(loop->low, is_outer, NULL) && ir_expr_walk(loop->high, is_outer, NULL);
}

static const struct ir_expr *let_value(const struct ir_expr *expr)
{
    return expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET ? expr->symbol->value : NULL;
}

/* A copy of what the expression is at most, over extents and attributes; NULL: that is not known. */
static struct ir_expr *at_most(const struct tile_nest *nest, const struct ir_expr *expr, int depth)
{
    enum { DEEPEST = 8 };
    struct ir_expr *least;

    if (ir_expr_walk((struct ir_expr *)expr, is_outer, NULL))
        return pass_copy(nest->pass, expr);
    if (let_value(expr))
        return depth < DEEPEST ? at_most(nest, let_value(expr), depth + 1) : NULL;
    if (expr->kind != IR_OPERATION || expr->operation != OP_MIN)
        return NULL;
    least = at_most(nest, expr->operands[0], depth + 1);
    return least ? least : at_most(nest, expr->operands[1], depth + 1);
}

struct ir_expr *tile_block_size(const struct tile_nest *nest, const struct ir_stmt *loop)
{
    const struct ir_expr *end = let_value(loop->high);
    if (!let_value(loop->low) || !end || end->kind != IR_OPERATION || end->operation != OP_MIN ||
        loop->step != 1 || loop->hint)
        return NULL;
    for (int k = 0; k < 2; k++) {
        const struct ir_expr *sum = end->operands[k];
        if (sum->kind != IR_OPERATION || sum->operation != OP_ADD)
            continue;
        for (int first = 0; first < 2; first++)
            if (ir_expr_equal(sum->operands[first], loop->low))
                return at_most(nest, sum->operands[1 - first], 0);
    }
    return NULL;
}

static bool is_simple(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE ||
           stmt->kind == IR_ASSIGN || stmt->kind == IR_STORE || stmt->kind == IR_IF;
}

struct ir_stmt *tile_only_loop(struct ir_stmt *block)
{
    struct ir_stmt *found = NULL;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && found)
            return NULL;
        if (stmt->kind == IR_FOR)
            found = stmt;
        else if (!is_simple(stmt, NULL) || tile_only_loop(stmt->body) || tile_only_loop(stmt->otherwise))
            return NULL;
    }
    return found;
}

static bool find_loops(struct pass *pass, struct ir_stmt *stmt, struct tile_nest *nest)
{
    *nest = (struct tile_nest){.pass = pass, .rows = stmt};
    nest->columns = tile_only_loop(stmt->body);
    nest->depths = nest->columns ? tile_only_loop(nest->columns->body) : NULL;
    if (!nest->depths || tile_only_loop(nest->depths->body) || nest->columns->next)
        return false;
    return (has_fixed_bounds(nest->rows) || tile_block_size(nest, nest->rows)) &&
           has_fixed_bounds(nest->columns) && has_fixed_bounds(nest->depths) &&
           ir_block_walk(nest->rows->body, is_simple, NULL) && !pass_block_may_stop(nest->rows->body);
}

struct stores {
    struct ir_stmt *found;
    int count;
};

static bool count_store(struct ir_stmt *stmt, void *context)
{
    struct stores *stores = context;

    if (stmt->kind == IR_STORE) {
        stores->found = stmt;
        stores->count++;
    }
    return true;
}

struct loads {
    const struct ir_buffer *buffer;
    int count;
};

static bool count_load(struct ir_expr *expr, void *context)
{
    struct loads *loads = context;
    loads->count += expr->kind == IR_LOAD && expr->access.buffer == loads->buffer;
    return true;
}

/* Whether something besides the first value of the sum needs what was there before the store. */
static bool needs_what_was(const struct tile_nest *nest, const struct ir_stmt *sum,
                           const struct ir_buffer *buffer)
{
    struct loads all = {buffer, 0}, first = {buffer, 0};
    ir_block_expressions(nest->rows->body, count_load, &all);
    ir_expr_walk(sum->value, count_load, &first);
    return all.count > first.count;
}

/* Whether a statement between the declaration and the loop has to do with the sum: it would see what a
 * stretch has left there. */
static bool is_used_before(const struct ir_stmt *sum, const struct ir_stmt *depths)
{
    bool is_used = false;

    for (struct ir_stmt *stmt = sum->next; stmt != depths; stmt = stmt->next) {
        struct ir_stmt alone = *stmt;
        alone.next = NULL;
        is_used |= pass_block_mentions(&alone, sum->symbol) || ir_stmt_assigns(stmt, sum->symbol);
    }
    return is_used;
}

/* Whether k may be split: there is one sum, and one store, which stands behind the loop and can hold it. */
static void find_sum(struct tile_nest *nest)
{
    struct stores stores = {.count = 0};
    struct mentions mentions = {.nest = nest};
    struct ir_stmt *sum = NULL, *last = nest->depths;
    int sums = 0;

    for (struct ir_stmt *stmt = nest->columns->body; stmt != nest->depths; stmt = stmt->next)
        if (stmt->kind == IR_VARIABLE) {
            sum = stmt;
            sums++;
        }
    while (last->next)
        last = last->next;
    ir_block_walk(nest->rows->body, count_store, &stores);
    if (sums != 1 || stores.count != 1 || stores.found != last || last == nest->depths ||
        sum->symbol->dtype != last->access.buffer->dtype || dtype_is_half(sum->symbol->dtype) ||
        needs_what_was(nest, sum, last->access.buffer) || is_used_before(sum, nest->depths))
        return;
    for (int k = 0; k < last->access.buffer->rank; k++)
        ir_expr_walk(last->access.indices[k], note_mention, &mentions);
    if (mentions.other) /* it can only be named where it is stored */
        return;
    nest->sum = sum;
    nest->store = last;
}

static bool is_parallel(const struct dependences *dependences, const struct ir_stmt *stmt)
{
    const struct dependence_loop *loop = dependence_loop_is_parallel(dependences, stmt);
    return loop->verdict == DEPENDENCE_PARALLEL && !loop->leaves && !loop->incomplete;
}

bool tile_find_nest(struct pass *pass, struct ir_stmt *stmt, struct tile_nest *nest)
{
    if (!find_loops(pass, stmt, nest))
        return false;
    find_all_terms(nest);
    find_width(nest);
    find_sum(nest);
    return !nest->fails;
}

/* ---- sums down columns -------------------------------------------------------------------------------- */

struct summed {
    struct tile_nest *nest;
    const struct pass_around *around;
};

/* What hangs on the column and on k becomes a term. */
static bool note_summed(struct ir_expr *expr, void *context)
{
    struct summed *summed = context;
    struct tile_nest *nest = summed->nest;

    if (expr->kind != IR_LOAD || !pass_access_mentions(&expr->access, nest->columns->symbol) ||
        !pass_access_mentions(&expr->access, nest->depths->symbol))
        return true;
    add_term(nest, expr, false);
    nest->fails |= nest->terms[nest->count - 1].needs_copy;
    for (const struct pass_around *around = summed->around; around; around = around->outer)
        nest->fails |= !pass_access_mentions(&expr->access, around->loop->symbol);
    return true;
}

bool tile_find_columns(struct pass *pass, struct ir_stmt *stmt, const struct pass_around *around,
                       struct tile_nest *nest)
{
    struct summed summed = {nest, around};

    *nest = (struct tile_nest){.pass = pass, .rows = stmt, .columns = stmt};
    nest->depths = tile_only_loop(stmt->body);
    if (!nest->depths || tile_only_loop(nest->depths->body) || !has_fixed_bounds(stmt) ||
        !has_fixed_bounds(nest->depths) || !ir_block_walk(stmt->body, is_simple, NULL) ||
        pass_block_may_stop(stmt->body))
        return false;
    ir_block_expressions(nest->depths->body, note_summed, &summed);
    find_sum(nest);
    return nest->sum && nest->count && !nest->fails;
}

bool tile_is_parallel(const struct tile_nest *nest)
{
    if (!pass_assigns_own(nest->rows) || !pass_assigns_own(nest->columns))
        return false;
    const struct dependences *dependences = pass_dependences(nest->pass, nest->rows);
    return dependences && is_parallel(dependences, nest->rows) && is_parallel(dependences, nest->columns);
}

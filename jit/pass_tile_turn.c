/*
 * pass_tile_turn.c: small products whose columns do not lie side by side.
 *
 * Consumes a nest that pass_tile.c knows, whose loops go from one number to another; gives it a copy of what
 * hangs on the columns, turned, so that the columns of the copy do. There is but one block, so neither panels
 * nor stretches are made: what is left is a nest again, which a loop around it may hold several of. What is
 * the same in all iterations of that loop is turned before it.
 */
#include "pass_tile.h"
#include "vector.h"

/* How far the variable is from where its loop begins. */
static struct ir_expr *place(const struct tile_nest *nest, const struct ir_stmt *loop,
                             struct ir_symbol *symbol)
{
    return ir_operation(nest->pass->kernel, OP_SUB, pass_use(nest->pass, symbol),
                        pass_number(nest->pass, loop->low->integer), NULL);
}

static struct ir_expr *load_copy(const struct tile_nest *nest, const struct tile_term *term,
                                 struct ir_symbol *depth, struct ir_symbol *column)
{
    struct ir_expr *indices[] = {place(nest, nest->depths, depth), place(nest, nest->columns, column)};
    struct ir_expr *load = ir_load(nest->pass->kernel, term->copy, indices);
    load->access.checks[0] = load->access.checks[1] = IR_CHECK_PROVED;
    load->span = term->value->span;
    return load;
}

/* ---- where it is turned -------------------------------------------------------------------------- */

static bool stays_same(struct ir_expr *expr, void *context)
{
    const struct ir_stmt *loop = context;
    if (expr->kind == IR_LOAD)
        return !ir_block_stores_to(loop->body, expr->access.buffer);
    if (expr->kind != IR_SYMBOL)
        return true;
    /* what is declared is declared inside, for all that is known here */
    return expr->symbol != loop->symbol && expr->symbol->kind != IR_SYMBOL_LET &&
           expr->symbol->kind != IR_SYMBOL_VARIABLE;
}

/* Whether the term is the same in all iterations of the loop that the nest is right inside of, and may be
 * looked at before: nothing there keeps the program from coming to it. */
static bool can_go_before(const struct tile_nest *nest, const struct tile_term *term,
                          const struct pass_around *around)
{
    const struct ir_stmt *stmt = around ? around->loop->body : NULL;
    while (stmt && stmt != nest->rows)
        stmt = stmt->next;
    return stmt && around->loop->step == 1 && !pass_jumps(around->loop->body) &&
           !pass_block_may_stop(around->loop->body) &&
           ir_expr_walk((struct ir_expr *)term->value, stays_same, (void *)around->loop);
}

static bool all_can_go_before(const struct tile_nest *nest, const struct pass_around *around)
{
    for (int k = 0; k < nest->count; k++)
        if (nest->terms[k].needs_copy && !can_go_before(nest, &nest->terms[k], around))
            return false;
    return true;
}

/* ---- the change ------------------------------------------------------------------------------------ */

static struct ir_stmt *loop_like(const struct tile_nest *nest, const struct ir_stmt *loop,
                                 struct ir_symbol *symbol, struct ir_stmt *body)
{
    struct ir_stmt *made = ir_stmt_new(nest->pass->kernel, IR_FOR, loop->span);
    made->symbol = symbol;
    symbol->span = loop->span;
    made->low = pass_number(nest->pass, loop->low->integer);
    made->high = pass_number(nest->pass, loop->high->integer);
    made->step = 1;
    made->body = body;
    made->independent = true;
    return made;
}

static struct ir_symbol *variable_like(const struct tile_nest *nest, const struct ir_stmt *loop)
{
    return ir_symbol_new(nest->pass->kernel, IR_SYMBOL_LOOP, loop->symbol->name, AKG_INT64);
}

static struct ir_stmt *fill(const struct tile_nest *nest, const struct tile_term *term)
{
    struct ir_symbol *column = variable_like(nest, nest->columns), *depth = variable_like(nest, nest->depths);
    struct ir_stmt *store = ir_stmt_new(nest->pass->kernel, IR_STORE, term->value->span);
    nest->columns->symbol->note = pass_use(nest->pass, column);
    nest->depths->symbol->note = pass_use(nest->pass, depth);
    store->value = pass_copy(nest->pass, term->value);
    nest->columns->symbol->note = nest->depths->symbol->note = NULL;
    store->access = load_copy(nest, term, depth, column)->access;
    return loop_like(nest, nest->depths, depth, loop_like(nest, nest->columns, column, store));
}

static struct ir_expr *replaced(const struct tile_nest *nest, struct ir_expr *expr)
{
    for (int k = 0; k < nest->count; k++)
        if (nest->terms[k].copy && ir_expr_equal(expr, nest->terms[k].value))
            return load_copy(nest, &nest->terms[k], nest->depths->symbol, nest->columns->symbol);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = replaced(nest, expr->operands[k]);
    return expr;
}

/* Where the loop around has an iteration; else what is loaded may not be there. */
static struct ir_stmt *where_it_runs(const struct tile_nest *nest, const struct ir_stmt *loop,
                                     struct ir_stmt *body)
{
    struct ir_stmt *choice = ir_stmt_new(nest->pass->kernel, IR_IF, loop->span);
    choice->value = ir_operation(nest->pass->kernel, OP_LT, pass_copy(nest->pass, loop->low),
                                 pass_copy(nest->pass, loop->high), NULL);
    choice->body = body;
    return choice->value->kind == IR_INTEGER && choice->value->integer ? body : choice;
}

/* The memory of the copy and what fills it. */
static struct ir_stmt *make_copy(struct tile_nest *nest, struct tile_term *term, const struct ir_stmt *around)
{
    struct ir_stmt *allocate = ir_stmt_new(nest->pass->kernel, IR_ALLOCATE, nest->rows->span);
    term->copy = ir_buffer_new(nest->pass->kernel, "turned", IR_TEMPORARY, term->value->dtype, 2);
    term->copy->span = term->value->span;
    term->copy->shape[0] = pass_number(nest->pass, vector_known_extent(nest->depths));
    term->copy->shape[1] = pass_number(nest->pass, vector_known_extent(nest->columns));
    allocate->access.buffer = term->copy;
    allocate->next = fill(nest, term);
    if (around)
        allocate->next = where_it_runs(nest, around, allocate->next);
    return allocate;
}

bool tile_turn(struct tile_nest *nest, const struct pass_around *around, bool pays)
{
    bool goes_before = all_can_go_before(nest, around), any = false;
    for (int k = 0; k < nest->count; k++)
        any |= nest->terms[k].needs_copy;
    if (!any || !(goes_before || pays) || !vector_known_extent(nest->rows) ||
        !vector_known_extent(nest->columns) || !vector_known_extent(nest->depths))
        return false;
    struct ir_stmt *before = NULL, **end = &before;
    for (int k = 0; k < nest->count; k++) {
        if (!nest->terms[k].needs_copy)
            continue;
        *end = make_copy(nest, &nest->terms[k], goes_before ? around->loop : NULL);
        while (*end)
            end = &(*end)->next;
    }
    for (struct ir_stmt *stmt = nest->depths->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN)
            pass_set_value(stmt, replaced(nest, stmt->value));
    if (!goes_before) {
        tile_put_before(nest->pass, nest->rows, before);
        return true;
    }
    *end = *around->before;
    *around->before = before;
    return true;
}

struct ir_stmt *tile_put_before(struct pass *pass, struct ir_stmt *stmt, struct ir_stmt *before)
{
    struct ir_stmt *moved = ir_stmt_new(pass->kernel, stmt->kind, stmt->span), *last = before;
    *moved = *stmt;
    while (last->next)
        last = last->next;
    last->next = moved;
    *stmt = *before;
    return moved;
}

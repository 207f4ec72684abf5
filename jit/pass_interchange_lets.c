/*
 * pass_interchange_lets.c: values that an iteration computes before its inner loop get out of the way of pass
 * `interchange`. They are computed first, in rows, for all iterations of the loop that becomes the innermost
 * one:
 *
 *     for j:                                     for j: row[j] = f(at[j])
 *         let w = f(at[j])                 ->    for c:
 *         for c: y[c, j] = g(w, c)                   for j:
 *                                                        let w = row[j]
 *                                                        y[c, j] = g(w, c)
 *
 * so that weights of samples, which are the same for all channels, are computed in vectors, once. What is
 * loaded only is loaded again instead; so is what stands between other loops of the nest computed again, if
 * that is not much. Where iterations turn out to be few, all stays as it was.
 *
 * Consumes a nest whose loops may change places; the interchange itself is left to pass_interchange.c.
 */
#include "pass_interchange.h"

#include "vector.h"

enum {
    FEWEST = 16, /* iterations for which a row pays: a vector */
    MOST = 12,   /* rows */
    AGAIN = 2    /* operations that may be computed again, for each in the inner loop */
};

/* ---- whether ------------------------------------------------------------------------------------- */

static bool loads_what_stays(struct ir_expr *expr, void *body)
{
    return expr->kind != IR_LOAD || !ir_block_stores_to(body, expr->access.buffer);
}

static bool count_operation(struct ir_expr *expr, void *operations)
{
    if (expr->kind == IR_OPERATION)
        *(int *)operations += vector_is_call(expr->operation) ? CALLED : 1;
    return true;
}

static bool bounds_mention(const struct nest *nest, int outermost, const struct ir_symbol *symbol)
{
    for (int k = outermost + 1; k < nest->depth; k++)
        if (pass_mentions(nest->loops[k]->low, symbol) || pass_mentions(nest->loops[k]->high, symbol))
            return true;
    return false;
}

static struct ir_expr *length_of(struct pass *pass, const struct ir_stmt *loop)
{
    return ir_operation(pass->kernel, OP_SUB, pass_copy(pass, loop->high), pass_copy(pass, loop->low), NULL);
}

/* Whether there can be a row for the loop: a call knows how long. */
static bool may_have_row(const struct ir_stmt *loop)
{
    return loop->step == 1 && pass_is_of_call(loop->low) && pass_is_of_call(loop->high) &&
           (loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER ||
            loop->high->integer - FEWEST >= loop->low->integer);
}

bool pass_lets_may_move(const struct nest *nest, int outermost)
{
    struct ir_stmt *body = nest->loops[nest->depth - 1]->body;
    bool row = may_have_row(nest->loops[outermost]);
    int again = 0, inside = 1, rows = 0;

    for (int k = outermost; k < nest->depth - 1; k++)
        for (struct ir_stmt *let = nest->lets[k]; let && let->kind == IR_LET; let = let->next) {
            if (pass_stmt_may_stop(let) || bounds_mention(nest, k, let->symbol) ||
                !ir_stmt_expressions(let, loads_what_stays, body))
                return false;
            if (k > outermost || !row)
                ir_stmt_expressions(let, count_operation, &again);
            else
                rows++;
        }
    ir_block_expressions(body, count_operation, &inside);
    return rows <= MOST && again <= AGAIN * inside;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

struct rows {
    struct pass *pass;
    struct nest *nest;
    int at;                 /* the loop that they are for */
    struct ir_stmt *loop;   /* likewise */
    struct ir_stmt *let;    /* what is looked for */
    struct ir_stmt *before; /* the rows are allocated; */
    struct ir_stmt **end;
    struct ir_stmt *stores; /* filled; */
    struct ir_stmt **stores_end;
    struct ir_stmt *own; /* and used, or computed again */
    struct ir_stmt **own_end;
};

/* Whether anything from the next loop on has a use of the value. */
static bool is_used(const struct rows *rows, const struct ir_stmt *let)
{
    return pass_block_mentions(rows->nest->loops[rows->at + 1], let->symbol);
}

/* Whether it is a load that needs none of the others. */
static bool is_load(const struct rows *rows, struct ir_stmt *let)
{
    if (let->value->kind != IR_LOAD)
        return false;
    for (struct ir_stmt *other = rows->nest->lets[rows->at]; other != let; other = other->next)
        if (pass_mentions(let->value, other->symbol))
            return false;
    return true;
}

static struct ir_access place_in_row(const struct rows *rows, struct ir_buffer *row)
{
    struct ir_kernel *kernel = rows->pass->kernel;
    struct ir_expr *index = ir_operation(kernel, OP_SUB, ir_symbol_use(kernel, rows->loop->symbol),
                                         pass_copy(rows->pass, rows->loop->low), NULL);
    struct ir_expr *load = ir_load(kernel, row, &index);

    load->access.checks[0] = IR_CHECK_PROVED;
    return load->access;
}

static void add_row(struct rows *rows, struct ir_stmt *let, struct ir_buffer *row)
{
    struct ir_kernel *kernel = rows->pass->kernel;
    struct ir_stmt *allocate = ir_stmt_new(kernel, IR_ALLOCATE, let->span);
    struct ir_stmt *store = ir_stmt_new(kernel, IR_STORE, let->span);

    row->span = let->span;
    row->shape[0] = ir_operation(kernel, OP_MAX, ir_integer(kernel, AKG_INT64, 0),
                                 length_of(rows->pass, rows->loop), NULL);
    allocate->access.buffer = row;
    *rows->end = allocate;
    rows->end = &allocate->next;
    store->access = place_in_row(rows, row);
    pass_set_value(store, ir_symbol_use(kernel, let->symbol));
    *rows->stores_end = store;
    rows->stores_end = &store->next;
}

/* In the nest, the value comes from a row, or is loaded once more. */
static void replace_let(struct rows *rows, struct ir_stmt *let)
{
    struct pass *pass = rows->pass;
    struct ir_expr *value;
    struct ir_stmt *own;

    if (is_load(rows, let)) {
        value = pass_copy(pass, let->value);
    } else {
        struct ir_buffer *row =
            ir_buffer_new(pass->kernel, let->symbol->name, IR_TEMPORARY, let->symbol->dtype, 1);
        struct ir_access place;
        add_row(rows, let, row);
        place = place_in_row(rows, row);
        value = pass_load(pass, &place, let->span);
    }
    own = pass_declare(pass, IR_SYMBOL_LET, let->symbol->name, value, let->span);
    pass_rename(rows->nest->loops[rows->at + 1], let->symbol, own->symbol);
    *rows->own_end = own;
    rows->own_end = &own->next;
}

/* The nest, in place of the loop, behind what fills the rows; or, where iterations are few, as it was. */
static void put_behind(struct rows *rows, struct ir_stmt *few)
{
    struct pass *pass = rows->pass;
    struct ir_stmt *place = rows->loop, *moved = arena_new(pass->kernel->arena, struct ir_stmt), *choice;
    struct ir_expr *condition;

    *moved = *place;
    *rows->end = moved;
    rows->nest->loops[rows->at] = moved;
    if (!few) {
        *place = *rows->before;
        return;
    }
    choice = ir_stmt_new(pass->kernel, IR_IF, place->span);
    condition = ir_operation(pass->kernel, OP_LT, length_of(pass, place),
                             ir_integer(pass->kernel, AKG_INT64, FEWEST), NULL);
    pass_set_value(choice, condition);
    choice->body = rows->nest->few = few;
    choice->otherwise = rows->before;
    choice->deferred = true;
    choice->next = moved->next;
    moved->next = NULL;
    *place = *choice;
}

static void make_rows(struct pass *pass, struct nest *nest, int at)
{
    struct ir_stmt *loop = nest->loops[at], *next = loop->next, *first = nest->lets[at], *few = NULL, *last;
    struct rows rows = {.pass = pass, .nest = nest, .at = at, .loop = loop};

    rows.end = &rows.before;
    rows.stores_end = &rows.stores;
    rows.own_end = &rows.own;
    if (loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER) {
        loop->next = NULL;
        few = pass_copy_block(pass, loop);
        loop->next = next;
    }
    for (last = first; last->next->kind == IR_LET; last = last->next)
        if (is_used(&rows, last))
            replace_let(&rows, last);
    if (is_used(&rows, last))
        replace_let(&rows, last);
    *rows.own_end = nest->loops[at + 1];
    loop->body = rows.own;
    nest->lets[at] = rows.own->kind == IR_LET ? rows.own : NULL;
    if (!rows.before)
        return;
    last->next = rows.stores;
    *rows.end = pass_new_loop(pass, loop, first);
    rows.end = &(*rows.end)->next;
    put_behind(&rows, few);
}

void pass_move_lets(struct pass *pass, struct nest *nest, int outermost)
{
    struct ir_stmt *innermost = nest->loops[nest->depth - 1];

    if (nest->lets[outermost] && may_have_row(nest->loops[outermost]))
        make_rows(pass, nest, outermost);
    for (int k = nest->depth - 2; k >= outermost; k--) {
        struct ir_stmt *last = nest->lets[k];
        if (!last)
            continue;
        while (last->next->kind == IR_LET)
            last = last->next;
        last->next = innermost->body;
        innermost->body = nest->lets[k];
        nest->loops[k]->body = nest->loops[k + 1];
    }
}

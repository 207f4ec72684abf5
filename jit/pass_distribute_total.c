/*
 * pass_distribute_total.c: what a loop over rows adds up of them all is added up behind it, for
 * pass_distribute.c, whose loops have to be independent:
 *
 *     for i { ...; loss = loss + (log(s) - x[i, i]) }
 *
 * becomes, in the same order,
 *
 *     for i { ...; term[i] = log(s) - x[i, i] }
 *     for i { loss = loss + term[i] }
 *
 * Consumes statements right in the body that combine a scalar from outside, which the body has no other use
 * of, with something; takes the change back where the loop is not parted after all.
 */
#include "pass_distribute.h"

struct uses {
    const struct ir_symbol *symbol;
    int loads, changes;
    bool declared;
};

static bool count_load(struct ir_expr *expr, void *context)
{
    struct uses *uses = context;
    uses->loads += expr->kind == IR_SYMBOL && expr->symbol == uses->symbol;
    return true;
}

static bool count_change(struct ir_stmt *stmt, void *context)
{
    struct uses *uses = context;
    uses->changes += stmt->kind == IR_ASSIGN && stmt->symbol == uses->symbol;
    uses->declared |= stmt->kind == IR_VARIABLE && stmt->symbol == uses->symbol;
    return true;
}

/* Which operand is combined with the scalar; -1: it is no such statement. */
static int term_of(const struct rows *rows, const struct ir_stmt *stmt)
{
    struct uses uses = {.symbol = stmt->symbol};
    const struct ir_expr *value = stmt->value;

    if (stmt->kind != IR_ASSIGN || value->kind != IR_OPERATION || value->count != 2 || value->checked ||
        (value->operation != OP_ADD && value->operation != OP_SUB && value->operation != OP_MAX &&
         value->operation != OP_MIN))
        return -1;
    int side = value->operands[0]->kind == IR_SYMBOL && value->operands[0]->symbol == stmt->symbol ? 1 : 0;
    if (value->operands[1 - side]->kind != IR_SYMBOL || value->operands[1 - side]->symbol != stmt->symbol ||
        value->operands[side]->dtype == AKG_BOOL)
        return -1;
    ir_block_expressions(rows->loop->body, count_load, &uses);
    ir_block_walk(rows->loop->body, count_change, &uses);
    return uses.loads == 1 && uses.changes == 1 && !uses.declared ? side : -1;
}

static struct ir_access element_of(const struct rows *rows, struct ir_buffer *terms)
{
    struct ir_expr *index = ir_symbol_use(rows->pass->kernel, rows->loop->symbol);
    struct ir_expr *load = ir_load(rows->pass->kernel, terms, &index);
    load->access.checks[0] = IR_CHECK_PROVED;
    return load->access;
}

/* The statement stores what it would combine; gives the loop that combines it. */
static struct ir_stmt *detach(const struct rows *rows, struct ir_stmt *stmt, int side,
                              struct ir_buffer *terms)
{
    struct ir_kernel *kernel = rows->pass->kernel;
    struct ir_stmt *store = ir_stmt_new(kernel, IR_STORE, stmt->span),
                   *combine = ir_stmt_new(kernel, IR_ASSIGN, stmt->span);
    struct ir_access place = element_of(rows, terms);
    struct ir_expr *term = pass_load(rows->pass, &place, stmt->span),
                   *total = ir_symbol_use(kernel, stmt->symbol);

    combine->symbol = stmt->symbol;
    pass_set_value(combine, side ? ir_operation(kernel, stmt->value->operation, total, term, NULL)
                                 : ir_operation(kernel, stmt->value->operation, term, total, NULL));
    combine->value->span = stmt->value->span;
    store->access = place;
    pass_set_value(store, stmt->value->operands[side]);
    store->next = stmt->next;
    *stmt = *store;
    return pass_new_loop(rows->pass, rows->loop, combine);
}

bool distribute_detach_totals(const struct rows *rows, struct distribute_totals *totals)
{
    struct ir_stmt **allocated = &totals->allocations, **end = &totals->loops;

    *totals = (struct distribute_totals){.buffers = rows->pass->kernel->buffers.count};
    for (struct ir_stmt *stmt = rows->loop->body; stmt && totals->count < DISTRIBUTE_TOTALS;
         stmt = stmt->next) {
        int side = term_of(rows, stmt);
        if (side < 0)
            continue;
        struct ir_buffer *terms = ir_buffer_new(rows->pass->kernel, stmt->symbol->name, IR_TEMPORARY,
                                                stmt->value->operands[side]->dtype, 1);
        terms->span = stmt->span;
        terms->shape[0] =
            ir_operation(rows->pass->kernel, OP_MAX, ir_integer(rows->pass->kernel, AKG_INT64, 0),
                         pass_copy(rows->pass, rows->loop->high), NULL);
        totals->places[totals->count] = stmt;
        totals->saved[totals->count++] = *stmt;
        *allocated = ir_stmt_new(rows->pass->kernel, IR_ALLOCATE, stmt->span);
        (*allocated)->access.buffer = terms;
        allocated = &(*allocated)->next;
        *end = detach(rows, stmt, side, terms);
        end = &(*end)->next;
    }
    return totals->count > 0;
}

void distribute_attach_totals(const struct rows *rows, const struct distribute_totals *totals)
{
    for (int k = 0; k < totals->count; k++) {
        struct ir_stmt *next = totals->places[k]->next;
        *totals->places[k] = totals->saved[k];
        totals->places[k]->next = next;
    }
    rows->pass->kernel->buffers.count = totals->buffers;
}

void distribute_add_totals(struct distribute_totals *totals, struct ir_stmt **place,
                           const struct ir_stmt *next)
{
    struct ir_stmt **end = place, **last = &totals->allocations;

    while (*end != next)
        end = &(*end)->next;
    *end = totals->loops;
    while (*end)
        end = &(*end)->next;
    *end = (struct ir_stmt *)next;
    while (*last)
        last = &(*last)->next;
    *last = *place;
    *place = totals->allocations;
}

/*
 * pass_blocks.c: notes with loops over blocks of rows that they are independent, for threads to share.
 *
 * Consumes loops as pass_distribute makes them, of which each iteration goes through some rows:
 * `for block = 0 to ...: first = block * size, last = min(..., first + size)`. Where a block begins is a
 * product of two unknowns, so that indices compared one by one tell nothing. But of each tensor that the loop
 * stores into, all accesses in it may be to rows of the block: one axis has the variable of a loop from first
 * to last as its index, everywhere. Blocks have no row in common, whatever the size. The note is for what
 * comes right behind; other passes drop it.
 */
#include "pass.h"
#include "split.h"

enum { MOST_ROWS = 16, MOST_STORED = 16 };

/* for block = 0 to ...: first = block * size, last = min(..., first + size); rows go from first to last. */
struct blocks {
    const struct ir_stmt *loop;
    const struct ir_symbol *first, *last;
    LIST(const struct ir_symbol *) rows; /* variables of such loops */
    struct {
        const struct ir_buffer *buffer;
        bool own;      /* allocated inside: nothing is asked of its indices */
        unsigned axes; /* bits of those that a row has been the index of in all accesses */
    } stored[MOST_STORED];
    int count;
    struct arena *arena;
};

/* ---- its shape -------------------------------------------------------------------------------------- */

/* What the operation joins the symbol with; NULL: it is another one. */
static struct ir_expr *other_operand(const struct ir_expr *expr, enum operation operation,
                                     const struct ir_symbol *symbol)
{
    if (expr->kind != IR_OPERATION || expr->operation != operation)
        return NULL;
    for (int k = 0; k < 2; k++)
        if (ir_is_use_of(expr->operands[k], symbol))
            return expr->operands[1 - k];
    return NULL;
}

static const struct ir_symbol *
find_let(const struct ir_stmt *block, bool (*is_it)(const struct ir_expr *value, const struct blocks *blocks),
         const struct blocks *blocks)
{
    for (const struct ir_stmt *stmt = block; stmt && stmt->kind == IR_LET; stmt = stmt->next)
        if (is_it(stmt->value, blocks))
            return stmt->symbol;
    return NULL;
}

static bool declares(const struct ir_stmt *block, const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = block; stmt && stmt->kind == IR_LET; stmt = stmt->next)
        if (stmt->symbol == symbol)
            return true;
    return false;
}

/* The size is a symbol from outside or a number. */
static bool is_first(const struct ir_expr *value, const struct blocks *blocks)
{
    const struct ir_expr *size = other_operand(value, OP_MUL, blocks->loop->symbol);

    if (!size || size->kind == IR_INTEGER)
        return size != NULL;
    return size->kind == IR_SYMBOL && size->symbol != blocks->loop->symbol &&
           !declares(blocks->loop->body, size->symbol);
}

static bool is_last(const struct ir_expr *value, const struct blocks *blocks)
{
    const struct ir_expr *size = other_operand(blocks->first->value, OP_MUL, blocks->loop->symbol);

    for (int k = 0; value->kind == IR_OPERATION && value->operation == OP_MIN && k < 2; k++) {
        const struct ir_expr *other = other_operand(value->operands[k], OP_ADD, blocks->first);
        if (other && ir_expr_equal(other, size))
            return true;
    }
    return false;
}

/* ---- what it stores ------------------------------------------------------------------------------- */

static bool note_stored(struct ir_stmt *stmt, void *context)
{
    struct blocks *blocks = context;

    if (stmt->kind == IR_FOR && ir_is_use_of(stmt->low, blocks->first) &&
        ir_is_use_of(stmt->high, blocks->last) && stmt->step > 0)
        list_push(blocks->arena, &blocks->rows, stmt->symbol);
    if (stmt->kind != IR_STORE && stmt->kind != IR_ALLOCATE)
        return true;
    int k = 0;
    while (k < blocks->count && blocks->stored[k].buffer != stmt->access.buffer)
        k++;
    if (k == MOST_STORED)
        return false;
    if (k == blocks->count) {
        blocks->stored[blocks->count].buffer = stmt->access.buffer;
        blocks->stored[blocks->count++].axes = ~0u;
    }
    blocks->stored[k].own |= stmt->kind == IR_ALLOCATE;
    return true;
}

static bool narrow(struct blocks *blocks, const struct ir_access *access)
{
    for (int k = 0; k < blocks->count; k++) {
        unsigned axes = 0;
        if (blocks->stored[k].buffer != access->buffer)
            continue;
        for (int axis = 0; axis < access->buffer->rank; axis++)
            for (int row = 0; row < blocks->rows.count; row++)
                axes |= ir_is_use_of(access->indices[axis], blocks->rows.items[row]) ? 1u << axis : 0;
        blocks->stored[k].axes &= axes;
        return blocks->stored[k].own || blocks->stored[k].axes;
    }
    return true;
}

static bool narrow_by_load(struct ir_expr *expr, void *blocks)
{
    return expr->kind != IR_LOAD || narrow(blocks, &expr->access);
}

static bool narrow_by_store(struct ir_stmt *stmt, void *blocks)
{
    return stmt->kind != IR_STORE || narrow(blocks, &stmt->access);
}

/* Whether each element that the loop stores is one of rows of the block, wherever it is used. */
static bool is_over_blocks(struct pass *pass, struct ir_stmt *loop)
{
    struct blocks blocks = {.loop = loop, .arena = pass->arena};

    if (loop->kind != IR_FOR || loop->step != 1 || loop->low->kind != IR_INTEGER || loop->low->integer != 0 ||
        !(blocks.first = find_let(loop->body, is_first, &blocks)) ||
        !(blocks.last = find_let(loop->body, is_last, &blocks)))
        return false;
    return split_is_closed(loop) && !pass_jumps(loop->body) &&
           ir_block_walk(loop->body, note_stored, &blocks) &&
           ir_block_walk(loop->body, narrow_by_store, &blocks) &&
           ir_block_expressions(loop->body, narrow_by_load, &blocks);
}

struct noting {
    struct pass *pass;
    bool changed;
};

static bool note_blocks(struct ir_stmt *stmt, void *context)
{
    struct noting *noting = context;

    if (!stmt->independent && is_over_blocks(noting->pass, stmt))
        noting->changed = stmt->independent = true;
    return true;
}

bool pass_blocks(struct pass *pass)
{
    struct noting noting = {.pass = pass};

    ir_block_walk(pass->kernel->body, note_blocks, &noting);
    return noting.changed;
}

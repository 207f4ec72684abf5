/*
 * pass_distribute_down.c: what goes down the columns of something, in a loop over columns.
 *
 * Consumes a loop over columns; says which loops in its body, or loops inside one another, go from line to
 * line of what lies side by side along the columns, and whether all do. Changes nothing.
 */
#include "pass_distribute.h"

struct going {
    const struct ir_symbol *columns, *lines[AKG_MAX_RANK];
    int count, down, others;
};

static bool mentions_lines(const struct going *going, const struct ir_access *access)
{
    for (int k = 0; k < going->count; k++)
        if (pass_access_mentions(access, going->lines[k]))
            return true;
    return false;
}

static void note_access(struct going *going, const struct ir_access *access)
{
    if (!mentions_lines(going, access))
        return;
    bool is_down = pass_is_unit(access, going->columns);
    going->down += is_down;
    going->others += !is_down && pass_access_mentions(access, going->columns);
}

static bool note_load(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        note_access(context, &expr->access);
    return true;
}

static bool note_store(struct ir_stmt *stmt, void *context)
{
    if (stmt->kind == IR_STORE)
        note_access(context, &stmt->access);
    return true;
}

static bool is_simple(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN ||
           stmt->kind == IR_IF || stmt->kind == IR_STORE;
}

enum down { NOT_DOWN, DOWN_FEW, DOWN_MANY };

/* The loop, or one around another that is all it holds. */
static enum down goes_down(const struct rows *columns, struct ir_stmt *stmt)
{
    enum { FEW_LINES = 16 /* loops of fewer iterations may be written out */ };
    struct going going = {.columns = columns->loop->symbol};
    bool are_few = true;
    for (; stmt && stmt->kind == IR_FOR && going.count < AKG_MAX_RANK; stmt = stmt->body) {
        if (stmt->step != 1 || stmt->hint || !pass_is_same_in_all(columns->loop, stmt->low) ||
            !pass_is_same_in_all(columns->loop, stmt->high) || (going.count && stmt->next))
            return NOT_DOWN;
        are_few &= stmt->high->kind == IR_INTEGER && stmt->high->integer < FEW_LINES;
        going.lines[going.count++] = stmt->symbol;
    }
    if (!ir_block_walk(stmt, is_simple, NULL))
        return NOT_DOWN;
    ir_block_expressions(stmt, note_load, &going);
    ir_block_walk(stmt, note_store, &going);
    return !going.down || going.others ? NOT_DOWN : are_few ? DOWN_FEW : DOWN_MANY;
}

/* How many loops the body has, if it has none but such; 0: it has others. *many: there is one of many
 * iterations. */
static int count_loops_down(const struct rows *columns, bool *many)
{
    int loops = 0;
    *many = false;
    for (struct ir_stmt *stmt = columns->loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind != IR_FOR && !is_simple(stmt, NULL))
            return 0;
        if (stmt->kind != IR_FOR)
            continue;
        enum down down = goes_down(columns, stmt);
        if (down == NOT_DOWN)
            return 0;
        *many |= down == DOWN_MANY;
        loops++;
    }
    return loops;
}

static bool may_be_parted(const struct rows *columns)
{
    return !pass_jumps(columns->loop->body) && !pass_block_may_stop(columns->loop->body);
}

bool distribute_goes_down_often(const struct rows *columns)
{
    bool many;
    return count_loops_down(columns, &many) > 1 && many && may_be_parted(columns);
}

bool distribute_goes_down_once(const struct rows *columns)
{
    bool many;
    return count_loops_down(columns, &many) == 1 && many && may_be_parted(columns);
}

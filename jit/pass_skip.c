/*
 * pass_skip.c: a condition that rows ask of data, around innermost loops over their elements, becomes a part
 * of the bounds of these:
 *
 *     for i: if m[i] > 0 { for j = 0 to N { ... } }   becomes
 *     for i: for j = 0 to select(m[i] > 0, N, 0) { ... }
 *
 * A loop around loops, one after the other, is one piece of machine code (vector_band.c), in which a loop of
 * no iteration is skipped together with what is computed for it; around a condition it is C that calls each
 * loop. Few elements are done one by one in the time that a piece takes to find out how many there are, so
 * the loop over the rows stands twice, for fewer than FEW of them as it was.
 *
 * Consumes any kernel. Bounds, and what is declared under the condition, are computed in any case then, so
 * they load nothing and stop nothing; what is stored or assigned keeps the condition, which is asked again,
 * so that nothing may be stored into what it loads, nor assigned to what it mentions. Loops whose elements
 * lie side by side from row to row stay: rows become lanes there, and the condition a mask. So do loops that
 * may stop, of which no such piece is made.
 */
#include "pass.h"

enum { FEW = 9 };

struct skipper {
    struct pass *pass;
    const struct ir_stmt *rows; /* the loop that the condition stands in */
};

static bool is_no_load(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD;
}

static bool has_load(struct ir_expr *expr)
{
    return !ir_expr_walk(expr, is_no_load, NULL);
}

/* ---- what may change ------------------------------------------------------------------------------- */

/* Whether rows would be lanes: the element lies beside that of the next row. */
static bool is_beside(const struct skipper *skipper, const struct ir_access *access)
{
    return access->buffer->rank > 0 && pass_is_unit(access, skipper->rows->symbol);
}

struct search {
    const struct skipper *skipper;
    const struct ir_symbol *column;
    bool goes_along, lies_across; /* an access by columns; by rows, of columns */
};

static void look_at(struct search *search, const struct ir_access *access)
{
    if (!pass_access_mentions(access, search->column))
        return;
    search->goes_along |= pass_is_unit(access, search->column);
    search->lies_across |= is_beside(search->skipper, access);
}

static bool look_at_load(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        look_at(context, &expr->access);
    return true;
}

/* An innermost loop over elements that lie side by side. */
static bool is_row(const struct skipper *skipper, const struct ir_stmt *loop)
{
    struct search search = {.skipper = skipper, .column = loop->symbol};
    if (pass_has_loop(loop->body) || pass_block_may_stop(loop->body) || !pass_is_pure(loop->low) ||
        !pass_is_pure(loop->high))
        return false;
    for (const struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind != IR_STORE && stmt->kind != IR_ASSIGN && stmt->kind != IR_LET &&
            stmt->kind != IR_VARIABLE)
            return false;
        ir_expr_walk(stmt->value, look_at_load, &search);
        if (stmt->kind == IR_STORE)
            look_at(&search, &stmt->access);
    }
    return search.goes_along && !search.lies_across;
}

static bool is_other(struct ir_expr *expr, void *context)
{
    const struct ir_stmt *stmt = context;
    if (stmt->kind == IR_STORE)
        return expr->kind != IR_LOAD || expr->access.buffer != stmt->access.buffer;
    return expr->kind != IR_SYMBOL || expr->symbol != stmt->symbol;
}

/* Whether the condition is what it was behind the statement. */
static bool leaves_condition(struct ir_stmt *stmt, void *condition)
{
    return (stmt->kind != IR_STORE && stmt->kind != IR_ASSIGN) || ir_expr_walk(condition, is_other, stmt);
}

static bool is_skipped(const struct skipper *skipper, struct ir_stmt *condition)
{
    bool any = false;
    if (condition->kind != IR_IF || condition->otherwise || !has_load(condition->value) ||
        pass_expr_may_stop(condition->value) ||
        !ir_block_walk(condition->body, leaves_condition, condition->value))
        return false;
    for (struct ir_stmt *stmt = condition->body; stmt; stmt = stmt->next) {
        bool declares = (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE) && pass_is_pure(stmt->value);
        bool changes = (stmt->kind == IR_STORE || stmt->kind == IR_ASSIGN) && !pass_stmt_may_stop(stmt);
        if (stmt->kind == IR_FOR ? !is_row(skipper, stmt) : !declares && !changes)
            return false;
        any |= stmt->kind == IR_FOR;
    }
    return any;
}

/* ---- the change -------------------------------------------------------------------------------------- */

/* What the condition holds, each for itself; `place` is then where what follows it stands. */
static void take_apart(struct skipper *skipper, struct ir_stmt **place)
{
    struct ir_kernel *kernel = skipper->pass->kernel;
    struct ir_stmt *condition = *place, *next;
    for (struct ir_stmt *stmt = condition->body; stmt; stmt = next) {
        next = stmt->next;
        *place = stmt;
        if (stmt->kind == IR_FOR) {
            stmt->high = ir_operation(kernel, OP_SELECT, pass_copy(skipper->pass, condition->value),
                                      stmt->high, pass_copy(skipper->pass, stmt->low));
        } else if (stmt->kind == IR_STORE || stmt->kind == IR_ASSIGN) {
            *place = ir_stmt_new(kernel, IR_IF, stmt->span);
            pass_set_value(*place, pass_copy(skipper->pass, condition->value));
            (*place)->body = stmt;
            stmt->next = NULL;
        }
        place = &(*place)->next;
    }
    *place = condition->next;
}

/* ---- few elements ------------------------------------------------------------------------------------- */

static bool is_plain(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_FOR || stmt->kind == IR_IF || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE ||
           stmt->kind == IR_ASSIGN || stmt->kind == IR_STORE;
}

/* How many elements the first loop under a condition of the loop has; NULL: that changes, or there is none.
 */
static struct ir_expr *elements_of(struct pass *pass, const struct ir_stmt *rows)
{
    const struct skipper skipper = {pass, rows};
    struct ir_stmt *condition = rows->body;
    while (condition && !is_skipped(&skipper, condition))
        condition = condition->next;
    const struct ir_stmt *loop = condition ? condition->body : NULL;
    while (loop && loop->kind != IR_FOR)
        loop = loop->next;
    if (!loop || loop->step != 1 || !pass_is_of_call(loop->low) || !pass_is_of_call(loop->high))
        return NULL;
    return ir_operation(pass->kernel, OP_SUB, pass_copy(pass, loop->high), pass_copy(pass, loop->low), NULL);
}

static void skip(struct pass *pass, struct ir_stmt *rows)
{
    struct skipper skipper = {pass, rows};
    for (struct ir_stmt **place = &rows->body; *place; place = &(*place)->next)
        if (is_skipped(&skipper, *place))
            take_apart(&skipper, place);
}

/* The loop, or the choice between two of it, in its place. */
static void skip_where_many(struct pass *pass, struct ir_stmt **place, struct ir_expr *elements)
{
    struct ir_stmt *rows = *place, *next = rows->next;
    struct ir_expr *few = ir_integer(pass->kernel, AKG_INT64, FEW);
    rows->next = NULL;
    struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, rows->span);
    pass_set_value(choice, ir_operation(pass->kernel, OP_GE, elements, few, NULL));
    choice->otherwise = pass_copy_block(pass, rows);
    choice->body = rows;
    choice->next = next;
    *place = choice;
    skip(pass, rows);
}

static bool skip_block(struct pass *pass, struct ir_stmt **block)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *rows = *place;
        changed |= skip_block(pass, &rows->body);
        changed |= skip_block(pass, &rows->otherwise);
        struct ir_expr *elements = rows->kind == IR_FOR ? elements_of(pass, rows) : NULL;
        struct pass_affine count;
        if (!elements || !ir_block_walk(rows->body, is_plain, NULL))
            continue;
        bool is_known = pass_affine_of(elements, &count) && count.count == 0;
        if (is_known && count.constant < FEW)
            continue;
        if (is_known)
            skip(pass, rows);
        else
            skip_where_many(pass, place, elements);
        changed = true;
    }
    return changed;
}

bool pass_skip(struct pass *pass)
{
    return skip_block(pass, &pass->kernel->body);
}

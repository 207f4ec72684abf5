/*
 * pass_repeat.c: a loop that may be left becomes a while, where that makes lanes of the loop around it, each
 * of which goes on by itself: how long the points of a Mandelbrot set stay near, say.
 *
 *     for i: ..., for k = 0 to 50 { if a > 4 { break }, rest }   becomes
 *     for i: ..., var n = 0, while n < 50 and not (a > 4) { rest, n = n + 1 }
 *
 * Consumes loops whose iterations are independent, with one loop inside that has a break of its own. A break
 * that is not the first thing the body does clears a flag, and what would follow it asks for that. All is
 * done on a copy, which takes the place of the body only where the loop around becomes a nest of vectors by
 * that. Between constants the iterations are counted in 32 bits, which makes more lanes.
 *
 * A short search is left as it is: no iteration waits for the one before, so that a processor that guesses
 * well how branches go takes one element after the other as fast as lanes, of which the last one decides. So
 * is one that goes along a row of elements for each lane, and does little with them.
 */
#include "pass.h"
#include "vector.h"

struct repeater {
    struct pass *pass;
    bool changed;
};

/* A loop that is rewritten. */
struct loop {
    struct pass *pass;
    struct ir_stmt *stmt;
    struct ir_symbol *flag; /* int32, 0 when the loop is to be left */
};

static const struct vector_options usual_options = {.target = X86_TARGET_AVX512};

/* Of the loop whose body the block is. */
static bool has_break(const struct ir_stmt *block)
{
    return pass_jumps_by(block, IR_BREAK);
}

/* ---- the flag ------------------------------------------------------------------------------------ */

static struct ir_expr *number(const struct loop *loop, int64_t value)
{
    return ir_integer(loop->pass->kernel, AKG_INT32, value);
}

static struct ir_expr *goes_on(struct loop *loop)
{
    return ir_operation(loop->pass->kernel, OP_NE, ir_symbol_use(loop->pass->kernel, loop->flag),
                        number(loop, 0), NULL);
}

/* Breaks clear the flag; what stands behind an IF with one runs only where it is still set. */
static void clear_flag(struct loop *loop, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_BREAK) {
            stmt->kind = IR_ASSIGN;
            stmt->symbol = loop->flag;
            pass_set_value(stmt, number(loop, 0));
            stmt->next = NULL; /* nothing behind it runs */
            return;
        }
        if (stmt->kind != IR_IF || (!has_break(stmt->body) && !has_break(stmt->otherwise)))
            continue;
        clear_flag(loop, stmt->body);
        clear_flag(loop, stmt->otherwise);
        if (stmt->next) {
            struct ir_stmt *rest = ir_stmt_new(loop->pass->kernel, IR_IF, stmt->next->span);
            pass_set_value(rest, goes_on(loop));
            rest->body = stmt->next;
            stmt->next = rest;
            clear_flag(loop, rest->body);
        }
        return;
    }
}

/* A scalar in front of the loop; `place` goes on behind it. */
static struct ir_symbol *declare(struct loop *loop, enum ir_symbol_kind kind, const char *name,
                                 struct ir_expr *value, struct ir_stmt ***place)
{
    struct ir_stmt *declared = pass_declare(loop->pass, kind, name, value, loop->stmt->span);

    **place = declared;
    *place = &declared->next;
    return declared->symbol;
}

/* ---- the condition ------------------------------------------------------------------------------- */

/* `if c { break }` and nothing else. */
static bool only_breaks(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_IF && !stmt->otherwise && stmt->body && stmt->body->kind == IR_BREAK;
}

/* The iterations of a FOR between constants; -1: they are not known, or too many. */
static int64_t constant_trip(const struct ir_stmt *stmt)
{
    int64_t distance;

    if (stmt->low->kind != IR_INTEGER || stmt->high->kind != IR_INTEGER ||
        __builtin_sub_overflow(stmt->high->integer, stmt->low->integer, &distance) ||
        stmt->step == INT64_MIN || distance > INT32_MAX || distance < -INT32_MAX)
        return -1;
    if (distance == 0 || (distance > 0) != (stmt->step > 0))
        return 0;
    return (distance - (stmt->step > 0 ? 1 : -1)) / stmt->step + 1;
}

static struct ir_expr *both(struct loop *loop, struct ir_expr *a, struct ir_expr *b)
{
    return a ? ir_operation(loop->pass->kernel, OP_AND, a, b, NULL) : b;
}

/* Conditions of breaks at the beginning of the body, which the condition of the while takes over; they may
 * use what is named in front of them. */
static struct ir_expr *take_breaks(struct loop *loop, struct ir_expr *condition)
{
    struct ir_stmt **place = &loop->stmt->body;

    while (*place && ((*place)->kind == IR_LET || only_breaks(*place))) {
        struct ir_stmt *stmt = *place;
        struct ir_expr *value = pass_copy(loop->pass, stmt->value);
        if (stmt->kind == IR_LET) {
            stmt->symbol->note = value;
            place = &stmt->next;
        } else {
            condition = both(loop, condition, ir_operation(loop->pass->kernel, OP_NOT, value, NULL, NULL));
            *place = stmt->next;
        }
    }
    for (struct ir_stmt *stmt = loop->stmt->body; stmt && stmt->kind == IR_LET; stmt = stmt->next)
        stmt->symbol->note = NULL;
    return condition;
}

/* The variable of a FOR that is one now: declared in front of it, used in the place of the loop's, counted at
 * the end of the body. The end of the loop is what it was in the beginning. Gives what the variable must be.
 */
static struct ir_expr *count_iterations(struct loop *loop, struct ir_stmt ***place)
{
    struct ir_kernel *kernel = loop->pass->kernel;
    struct ir_stmt *stmt = loop->stmt, **tail = &stmt->body;
    int64_t trip = constant_trip(stmt), step = trip < 0 ? stmt->step : 1;
    struct ir_expr *first = trip < 0 ? stmt->low : number(loop, 0), *value, *next,
                   *end = trip < 0 ? stmt->high : number(loop, trip);

    if (end->kind != IR_INTEGER)
        end = ir_symbol_use(kernel, declare(loop, IR_SYMBOL_LET, "end", end, place));
    struct ir_symbol *counter = declare(loop, IR_SYMBOL_VARIABLE, stmt->symbol->name, first, place);
    value = ir_symbol_use(kernel, counter);
    if (trip >= 0) {
        value = ir_operation(kernel, OP_MUL, ir_cast(kernel, AKG_INT64, value),
                             ir_integer(kernel, AKG_INT64, stmt->step), NULL);
        value = ir_operation(kernel, OP_ADD, stmt->low, value, NULL);
    }
    stmt->symbol->note = value;
    stmt->body = pass_copy_block(loop->pass, stmt->body);
    stmt->symbol->note = NULL;

    struct ir_stmt *count = ir_stmt_new(kernel, IR_ASSIGN, stmt->span);
    count->symbol = counter;
    next = ir_operation(kernel, OP_ADD, ir_symbol_use(kernel, counter),
                        ir_integer(kernel, counter->dtype, step), NULL);
    pass_set_value(count, next);
    while (*tail)
        tail = &(*tail)->next;
    *tail = count;
    return ir_operation(kernel, step > 0 ? OP_LT : OP_GT, ir_symbol_use(kernel, counter), end, NULL);
}

/* ---- loops --------------------------------------------------------------------------------------- */

/* Messages tell the variable of a FOR. One that counts by more than one could go beyond int64. */
static bool can_repeat(const struct ir_stmt *stmt)
{
    bool counts = stmt->kind == IR_FOR && !pass_block_may_stop(stmt->body) &&
                  (stmt->step == 1 || stmt->step == -1 || constant_trip(stmt) >= 0);

    return (counts || stmt->kind == IR_WHILE) && !stmt->hint && has_break(stmt->body) &&
           !pass_jumps_by(stmt->body, IR_CONTINUE);
}

/* The loop at the place is a while behind what is declared for it. */
static void repeat(struct pass *pass, struct ir_stmt **place)
{
    struct loop loop = {.pass = pass, .stmt = *place};
    struct ir_stmt *stmt = *place;
    struct ir_expr *condition = stmt->value;

    if (stmt->kind == IR_FOR)
        condition = count_iterations(&loop, &place);
    condition = take_breaks(&loop, condition);
    if (has_break(stmt->body)) {
        loop.flag = declare(&loop, IR_SYMBOL_VARIABLE, "go", number(&loop, 1), &place);
        clear_flag(&loop, stmt->body);
        condition = both(&loop, condition, goes_on(&loop));
    }
    *place = stmt;
    stmt->kind = IR_WHILE;
    stmt->symbol = NULL;
    stmt->low = stmt->high = NULL;
    stmt->step = 0;
    pass_set_value(stmt, condition);
}

/* The place of the only loop in the block, where it can be such a while; NULL: there is none. */
static struct ir_stmt **find_loop(struct ir_stmt **block)
{
    struct ir_stmt **found = NULL;

    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        bool is_loop = (*place)->kind == IR_FOR || (*place)->kind == IR_WHILE;
        if (is_loop && (found || !can_repeat(*place)))
            return NULL;
        if (is_loop)
            found = place;
    }
    return found;
}

bool pass_repeat_inside(struct pass *pass, struct ir_stmt *columns)
{
    struct ir_stmt *body = columns->body;
    struct vector_nest nest;

    if (!find_loop(&columns->body))
        return false;
    columns->body = pass_copy_block(pass, body);
    repeat(pass, find_loop(&columns->body));
    if (vector_nest_shape(columns, VECTOR_COLUMNS, &nest) && nest.is_while &&
        vector_nest_build(pass->arena, &nest, &usual_options))
        return true;
    columns->body = body;
    return false;
}

/* ---- searches ------------------------------------------------------------------------------------ */

enum {
    FEW_OPERATIONS = 4
}; /* of an iteration, which lanes would share; measured with counts and first hits */

/* What an iteration does, and whether one waits for the one before. */
struct work {
    struct ir_stmt *loop;
    int operations; /* but for those of indices */
    bool waits;
};

static bool count_operation(struct ir_expr *expr, void *context)
{
    struct work *work = context;

    if (expr->kind == IR_OPERATION && expr->operands[0]->dtype != AKG_INT64)
        work->operations++;
    return true;
}

static bool is_left_alone(struct ir_expr *expr, void *context)
{
    const struct work *work = context;

    return expr->kind != IR_SYMBOL || !ir_block_assigns(work->loop->body, expr->symbol);
}

/* A count waits for itself, too, but not long. */
static bool is_count(const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;

    return value->kind == IR_OPERATION && value->operation == OP_ADD && !dtype_is_float(value->dtype) &&
           value->operands[0]->kind == IR_SYMBOL && value->operands[0]->symbol == stmt->symbol &&
           value->operands[1]->kind == IR_INTEGER;
}

static bool note_assignment(struct ir_stmt *stmt, void *context)
{
    struct work *work = context;

    if (stmt->kind == IR_ASSIGN && !is_count(stmt) && !ir_expr_walk(stmt->value, is_left_alone, work))
        work->waits = true;
    return !work->waits;
}

static bool is_short_search(struct ir_stmt *loop)
{
    struct work work = {.loop = loop};

    ir_block_walk(loop->body, note_assignment, &work);
    ir_block_expressions(loop->body, count_operation, &work);
    return loop->kind == IR_FOR && !work.waits && work.operations <= FEW_OPERATIONS;
}

struct scan {
    const struct ir_symbol *place, *row; /* variables of the loop and of the one around */
    bool found;
};

static bool note_scan(struct ir_expr *expr, void *context)
{
    struct scan *scan = context;
    int last = expr->kind == IR_LOAD ? expr->access.buffer->rank - 1 : -1;
    int64_t step, apart;

    if (last >= 1 && pass_step_of(expr->access.indices[last], scan->place, &step) &&
        (step == 1 || step == -1) && pass_step_of(expr->access.indices[last], scan->row, &apart) &&
        apart == 0)
        for (int axis = 0; axis < last; axis++)
            scan->found |= pass_mentions(expr->access.indices[axis], scan->row);
    return true;
}

/* Whether little is done with each element of a row, as they lie side by side: lanes, of a row each, would
 * gather them, and wait for the one that goes farthest. (Ice Lake: where the running sum of 30 rows of 64
 * passes a number 3.6 us, and 1.0 one by one.) */
static bool is_row_scan(const struct ir_stmt *columns, struct ir_stmt *loop)
{
    struct work work = {.loop = loop};
    struct scan scan = {.place = loop->symbol, .row = columns->symbol};

    if (loop->kind != IR_FOR)
        return false;
    ir_block_expressions(loop->body, count_operation, &work);
    ir_block_expressions(loop->body, note_scan, &scan);
    return scan.found && work.operations <= FEW_OPERATIONS;
}

static bool try_columns(struct pass *pass, struct ir_stmt *columns)
{
    struct ir_stmt *body = columns->body, **loop = find_loop(&columns->body);

    if (!loop || is_short_search(*loop) || is_row_scan(columns, *loop) || !pass_repeat_inside(pass, columns))
        return false;
    if (pass_is_parallel(pass, columns))
        return true;
    columns->body = body;
    return false;
}

static bool visit(struct ir_stmt *stmt, void *context)
{
    struct repeater *repeater = context;

    if (stmt->kind == IR_FOR && try_columns(repeater->pass, stmt))
        repeater->changed = true;
    return true;
}

bool pass_repeat(struct pass *pass)
{
    struct repeater repeater = {.pass = pass};

    ir_block_walk(pass->kernel->body, visit, &repeater);
    return repeater.changed;
}

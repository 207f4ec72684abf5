/*
 * counted.c: see counted.h.
 *
 *     i = 0; while i < n and c: { ...; i = i + 1 }   ->   for j = 0 to n: { if not c: break; ... j ... }
 *
 * Consumes an elaborated kernel; changes whiles of which one condition compares an int64, or an int32, that
 * each iteration ends by counting with what stays the same. The variable that is counted is one of the loop's
 * own then. Where the program goes on with it, it gets before the loop the value that it has behind one that
 * nothing else ends, and, where something does, that of the iteration. Nothing here may wrap, or evaluate
 * what the while would not.
 */
#include "counted.h"

#include "pass.h"

enum { DEEPEST = 100, CONDITIONS = 8, SPARE = 2 /* bits */ };

struct counted {
    struct pass *pass;
    struct ir_kernel *kernel;
    struct ir_stmt *loop;  /* the while */
    struct ir_stmt **step; /* where its last statement stands, variable = variable + a constant */
    struct ir_symbol *variable;
    int64_t by;
    struct ir_expr *conditions[CONDITIONS]; /* all that must hold */
    int count, limit;                       /* which of them compares the variable */
    struct ir_expr *end;                    /* of the range, when it is settled */
};

/* ---- the variable --------------------------------------------------------------------------------- */

static bool is_counting(const struct ir_stmt *stmt, int64_t *by)
{
    const struct ir_expr *value = stmt->value;
    akg_dtype dtype = stmt->kind == IR_ASSIGN ? stmt->symbol->dtype : AKG_BOOL;
    if ((dtype != AKG_INT64 && dtype != AKG_INT32) || value->kind != IR_OPERATION ||
        (value->operation != OP_ADD && value->operation != OP_SUB))
        return false;
    bool first = value->operands[0]->kind == IR_SYMBOL && value->operands[0]->symbol == stmt->symbol;
    const struct ir_expr *other = value->operands[first], *self = value->operands[!first];
    enum { LARGEST = 1 << 20 };
    if (other->kind != IR_INTEGER || other->integer > LARGEST || other->integer < -LARGEST ||
        !other->integer || self->kind != IR_SYMBOL || self->symbol != stmt->symbol ||
        (!first && value->operation == OP_SUB))
        return false;
    *by = value->operation == OP_SUB ? -other->integer : other->integer;
    return true;
}

/* Whether the body ends by counting, and changes the variable nowhere else. */
static bool find_step(struct counted *counted)
{
    struct ir_stmt **place = &counted->loop->body;
    if (!*place)
        return false;
    while ((*place)->next)
        place = &(*place)->next;
    counted->step = place;
    if (!is_counting(*place, &counted->by))
        return false;
    counted->variable = (*place)->symbol;
    struct ir_stmt *last = *place;
    *place = NULL;
    bool alone = !ir_block_assigns(counted->loop->body, counted->variable);
    *place = last;
    return alone;
}

/* ---- conditions ------------------------------------------------------------------------------------ */

static bool find_conditions(struct counted *counted, struct ir_expr *expr)
{
    if (expr->kind == IR_OPERATION && expr->operation == OP_AND)
        return find_conditions(counted, expr->operands[0]) && find_conditions(counted, expr->operands[1]);
    if (counted->count == CONDITIONS)
        return false;
    counted->conditions[counted->count++] = expr;
    return true;
}

static bool stays(struct ir_expr *expr, void *context)
{
    const struct counted *counted = context;
    if (expr->kind == IR_LOAD)
        return expr->access.buffer->role == IR_INPUT;
    return expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_VARIABLE ||
           (expr->symbol != counted->variable && !ir_block_assigns(counted->loop->body, expr->symbol));
}

/* Whether it has the value wherever it is evaluated, and can be one more or less. */
static bool has_room(const struct ir_expr *expr)
{
    struct pass_ranges none = {.count = 0};
    return pass_bits_of(&none, expr) <= dtype_table[expr->dtype].size * 8 - 1 - SPARE;
}

/* The condition as variable < end, or variable > end where it is counted down. */
static bool settle_end(struct counted *counted, const struct ir_expr *condition)
{
    if (condition->kind != IR_OPERATION || condition->operation < OP_LT || condition->operation > OP_GE)
        return false;
    bool turned =
        condition->operands[1]->kind == IR_SYMBOL && condition->operands[1]->symbol == counted->variable;
    const struct ir_expr *self = condition->operands[turned];
    struct ir_expr *end = condition->operands[!turned];
    bool is_less = (condition->operation == OP_LT || condition->operation == OP_LE) != turned;
    bool is_equal = condition->operation == OP_LE || condition->operation == OP_GE;
    if (self->kind != IR_SYMBOL || self->symbol != counted->variable || is_less != (counted->by > 0) ||
        (counted->limit > 0 && pass_expr_may_stop(end)) || !ir_expr_walk(end, stays, counted) ||
        ((is_equal || counted->by < -1 || counted->by > 1) && !has_room(end)))
        return false;
    counted->end = is_equal ? ir_operation(counted->kernel, counted->by > 0 ? OP_ADD : OP_SUB, end,
                                           ir_integer(counted->kernel, end->dtype, 1), NULL)
                            : end;
    return true;
}

/* The first condition that does it; those before it are evaluated behind it then, so that it must not stop.
 */
static bool find_limit(struct counted *counted)
{
    for (int k = 0; k < counted->count; k++) {
        counted->limit = k;
        if (settle_end(counted, counted->conditions[k]))
            return true;
        if (pass_expr_may_stop(counted->conditions[k]))
            return false;
    }
    return false;
}

/* ---- what the program goes on with ------------------------------------------------------------------ */

struct use {
    const struct ir_symbol *symbol;
    bool found;
};

static bool note_use(struct ir_expr *expr, void *context)
{
    struct use *use = context;
    use->found |= expr->kind == IR_SYMBOL && expr->symbol == use->symbol;
    return true;
}

/* Whether the block, from the statement on, may read the variable as it is here; `own`: it is declared in
 * this block, behind which nothing knows of it. */
static bool is_used_behind(struct ir_stmt *stmt, const struct ir_symbol *variable, bool own)
{
    for (; stmt; stmt = stmt->next) {
        struct use use = {variable, false};
        struct ir_stmt *next = stmt->next;
        stmt->next = NULL;
        ir_block_expressions(stmt, note_use, &use);
        stmt->next = next;
        if (use.found)
            return true;
        if (stmt->kind == IR_ASSIGN && stmt->symbol == variable)
            return false;
    }
    return !own;
}

static bool declares(const struct ir_stmt *block, const struct ir_symbol *variable)
{
    for (; block; block = block->next)
        if (block->kind == IR_VARIABLE && block->symbol == variable)
            return true;
    return false;
}

/* ---- the change -------------------------------------------------------------------------------------- */

/* What the variable was set to last, right before the loop in its block, if that is still so; else itself. */
static struct ir_expr *begin_of(const struct counted *counted, const struct ir_stmt *block)
{
    struct ir_expr *begin = NULL;
    for (const struct ir_stmt *stmt = block; stmt != counted->loop; stmt = stmt->next) {
        if ((stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN) && stmt->symbol == counted->variable)
            begin = pass_is_pure_of_loads(stmt->value) && ir_expr_is_stable(stmt->value) ? stmt->value : NULL;
        else if (ir_stmt_assigns(stmt, counted->variable))
            begin = NULL;
    }
    return begin ? pass_copy(counted->pass, begin) : ir_symbol_use(counted->kernel, counted->variable);
}

static struct ir_stmt *break_unless(const struct counted *counted, struct ir_expr *condition)
{
    struct ir_stmt *choice = ir_stmt_new(counted->kernel, IR_IF, counted->loop->span);
    choice->value = ir_operation(counted->kernel, OP_NOT, condition, NULL, NULL);
    choice->body = ir_stmt_new(counted->kernel, IR_BREAK, counted->loop->span);
    return choice;
}

static struct ir_stmt *assign(const struct counted *counted, struct ir_expr *value)
{
    struct ir_stmt *stmt = ir_stmt_new(counted->kernel, IR_ASSIGN, counted->loop->span);
    stmt->symbol = counted->variable;
    stmt->value = value;
    return stmt;
}

static struct ir_expr *end_of(const struct counted *counted)
{
    return pass_copy(counted->pass, counted->end);
}

static struct ir_expr *variable_of(const struct counted *counted)
{
    return ir_symbol_use(counted->kernel, counted->variable);
}

/* The first place that is no longer in the range; how far that is means nothing where there is none in it. */
static struct ir_expr *last_value(const struct counted *counted)
{
    struct ir_kernel *kernel = counted->kernel;
    akg_dtype dtype = counted->variable->dtype;
    bool is_up = counted->by > 0;
    int64_t by = is_up ? counted->by : -counted->by;
    if (by == 1)
        return ir_operation(kernel, is_up ? OP_MAX : OP_MIN, variable_of(counted), end_of(counted), NULL);
    struct ir_expr *runs =
        ir_operation(kernel, is_up ? OP_LT : OP_GT, variable_of(counted), end_of(counted), NULL);
    struct ir_expr *way = is_up ? ir_operation(kernel, OP_SUB, end_of(counted), variable_of(counted), NULL)
                                : ir_operation(kernel, OP_SUB, variable_of(counted), end_of(counted), NULL);
    struct ir_expr *steps = ir_operation(
        kernel, OP_FLOORDIV, ir_operation(kernel, OP_ADD, way, ir_integer(kernel, dtype, by - 1), NULL),
        ir_integer(kernel, dtype, by), NULL);
    struct ir_expr *all = ir_operation(kernel, OP_MUL, steps, ir_integer(kernel, dtype, counted->by), NULL);
    return ir_operation(kernel, OP_SELECT, runs,
                        ir_operation(kernel, OP_ADD, variable_of(counted), all, NULL), variable_of(counted));
}

/* As the variable of the loop counts, in int64. */
static struct ir_expr *in_places(const struct counted *counted, struct ir_expr *value)
{
    return value->dtype == AKG_INT64 ? value : ir_cast(counted->kernel, AKG_INT64, value);
}

/* Of the loop whose body the block is: breaks set the variable before. */
static void assign_at_breaks(const struct counted *counted, struct ir_stmt **block, struct ir_expr *value)
{
    for (; *block; block = &(*block)->next) {
        struct ir_stmt *stmt = *block;
        if (stmt->kind == IR_IF) {
            assign_at_breaks(counted, &stmt->body, value);
            assign_at_breaks(counted, &stmt->otherwise, value);
        } else if (stmt->kind == IR_BREAK) {
            *block = assign(counted, pass_copy(counted->pass, value));
            (*block)->next = stmt;
            block = &(*block)->next;
        }
    }
}

/* Where the loop begins, as it is before it: the variable gets another value there. */
static struct ir_stmt *hold_begin(const struct counted *counted, struct ir_expr **begin)
{
    if (ir_expr_is_stable(*begin))
        return NULL;
    struct ir_stmt *held = pass_declare(counted->pass, IR_SYMBOL_LET, "begin", *begin, counted->loop->span);
    *begin = ir_symbol_use(counted->kernel, held->symbol);
    return held;
}

/* The variable gets its last value where the loop stands; gives the loop, which stands behind that. */
static struct ir_stmt *set_before(const struct counted *counted, struct ir_expr **begin)
{
    struct ir_stmt *loop = counted->loop, *held = hold_begin(counted, begin);
    struct ir_stmt *last = assign(counted, last_value(counted)), *first = held ? held : last;
    struct ir_stmt *moved = ir_stmt_new(counted->kernel, IR_FOR, loop->span);
    *moved = *loop;
    *loop = *first;
    if (held)
        loop->next = last;
    (held ? last : loop)->next = moved;
    return moved;
}

/* Takes the while's place; the block is the one that it stands in. */
static void count(struct counted *counted, const struct ir_stmt *block, bool is_used)
{
    struct ir_stmt *loop = counted->loop;
    struct ir_symbol *variable = counted->variable;
    struct ir_symbol *number = ir_symbol_new(counted->kernel, IR_SYMBOL_LOOP, variable->name, AKG_INT64);
    struct ir_expr *place = ir_symbol_use(counted->kernel, number), *begin = begin_of(counted, block);
    number->label = variable->label ? variable->label : variable->name;
    number->span = loop->span;
    *counted->step = NULL;
    for (int k = counted->count - 1; k >= 0; k--) {
        if (k == counted->limit)
            continue;
        struct ir_stmt *choice = break_unless(counted, counted->conditions[k]);
        choice->next = loop->body;
        loop->body = choice;
    }
    variable->note = variable->dtype == AKG_INT64 ? place : ir_cast(counted->kernel, variable->dtype, place);
    pass_substitute(counted->pass, loop->body);
    if (is_used)
        assign_at_breaks(counted, &loop->body, variable->note);
    variable->note = NULL;
    begin = in_places(counted, begin);
    if (is_used)
        loop = set_before(counted, &begin);
    loop->symbol = number;
    loop->low = begin;
    loop->high = in_places(counted, counted->end);
    loop->step = counted->by;
    loop->value = NULL;
    loop->kind = IR_FOR;
}

/* ---- what iterations hand on -------------------------------------------------------------------------- */

static bool is_update(const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;
    bool is_sum = value->kind == IR_OPERATION && value->count == 2 &&
                  (value->operation == OP_ADD || value->operation == OP_MIN || value->operation == OP_MAX);
    return is_sum && (value->operands[0]->kind == IR_SYMBOL || value->operands[1]->kind == IR_SYMBOL) &&
           pass_mentions(value->operands[0], stmt->symbol) != pass_mentions(value->operands[1], stmt->symbol);
}

struct scalar {
    const struct ir_symbol *symbol;
    int reads, updates, others;
    bool is_own;
};

static bool note_read(struct ir_expr *expr, void *context)
{
    struct scalar *scalar = context;
    scalar->reads += expr->kind == IR_SYMBOL && expr->symbol == scalar->symbol;
    return true;
}

static bool note_assignment(struct ir_stmt *stmt, void *context)
{
    struct scalar *scalar = context;
    if (stmt->symbol != scalar->symbol)
        return true;
    scalar->is_own |= stmt->kind == IR_VARIABLE;
    scalar->updates += stmt->kind == IR_ASSIGN && is_update(stmt);
    scalar->others += stmt->kind == IR_ASSIGN && !is_update(stmt);
    return true;
}

/* Of an assignment: whether it is to one of the loop's own, to what is counted, or only sums up. */
static bool is_no_recurrence(struct ir_stmt *stmt, void *context)
{
    const struct counted *counted = context;
    struct scalar scalar = {.symbol = stmt->symbol};
    if (stmt->kind != IR_ASSIGN || stmt->symbol == counted->variable)
        return true;
    ir_block_walk(counted->loop->body, note_assignment, &scalar);
    ir_block_expressions(counted->loop->body, note_read, &scalar);
    ir_expr_walk(counted->loop->value, note_read, &scalar);
    return scalar.is_own || (!scalar.others && scalar.reads == scalar.updates);
}

/* Loops that search from and to where the call says may be vectors then. Others that a condition ends are
 * better off as whiles, if the program goes on with what they count: lanes can do several of these at a time
 * (pass_repeat.c), and one alone need not set it where it leaves. */
static bool searches(struct counted *counted, const struct ir_stmt *block)
{
    return pass_is_of_call(begin_of(counted, block)) && pass_is_of_call(counted->end) &&
           ir_block_walk(counted->loop->body, is_no_recurrence, counted);
}

static void try_while(struct pass *pass, struct ir_stmt *block, struct ir_stmt *loop)
{
    struct counted counted = {.pass = pass, .kernel = pass->kernel, .loop = loop};
    if (!find_step(&counted) || !find_conditions(&counted, loop->value) || !find_limit(&counted) ||
        pass_jumps_by(loop->body, IR_CONTINUE))
        return;
    bool is_used = is_used_behind(loop->next, counted.variable, declares(block, counted.variable));
    bool is_ended = counted.count > 1 || pass_jumps_by(loop->body, IR_BREAK);
    if ((!is_used && counted.variable->dtype == AKG_INT64) || !is_ended || searches(&counted, block))
        count(&counted, block, is_used);
}

static void visit_block(struct pass *pass, struct ir_stmt *block, int depth)
{
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        visit_block(pass, stmt->body, depth + 1);
        visit_block(pass, stmt->otherwise, depth + 1);
        if (stmt->kind == IR_WHILE)
            try_while(pass, block, stmt);
    }
}

void counted_loops(struct ir_kernel *kernel)
{
    struct pass pass = {.kernel = kernel, .arena = kernel->arena};
    visit_block(&pass, kernel->body, 0);
}

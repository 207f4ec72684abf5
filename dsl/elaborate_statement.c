/*
 * elaborate_statement.c: blocks, conditions and loops.
 */
#include <string.h>

#include "elaborate_private.h"

struct ir_stmt *elaborate_emit(struct elaborator *e, enum ir_stmt_kind kind, struct span span)
{
    struct ir_stmt *stmt = ir_stmt_new(e->kernel, kind, span);
    *e->tail = stmt;
    e->tail = &stmt->next;
    return stmt;
}

struct ir_stmt **elaborate_redirect(struct elaborator *e, struct ir_stmt **first)
{
    struct ir_stmt **before = e->tail;
    e->tail = first;
    return before;
}

struct slot *elaborate_slot(struct elaborator *e, struct ast_binding *binding)
{
    return &e->frame->slots[binding->slot];
}

/* ---- conditions ---------------------------------------------------------------------- */

static bool elaborate_ends_in_return(const struct ast_stmt *first)
{
    const struct ast_stmt *last = first;
    while (last && last->next)
        last = last->next;
    return last &&
           (last->kind == AST_RETURN || (last->kind == AST_IF && elaborate_ends_in_return(last->body) &&
                                         elaborate_ends_in_return(last->otherwise)));
}

/* Names that both sides assign are declared before the if; which type they have shows later. */
static void elaborate_predeclare(struct elaborator *e, const struct ast_stmt *stmt, bool declared)
{
    for (int i = 0; i < stmt->hoisted_count; i++) {
        struct ast_binding *binding = stmt->hoisted[i];
        struct slot *slot;
        if (binding->joined)
            continue; /* an if around this one did it */
        slot = elaborate_slot(e, binding);
        slot->predeclared = declared;
        if (declared) {
            slot->value = (struct value){.kind = VALUE_UNSET};
            slot->variable =
                elaborate_variable(e, binding->name, type_fresh(&e->types, TYPES_ANY, false), binding->span);
        }
    }
}

static void elaborate_branch(struct elaborator *e, const struct ast_stmt *block, const struct ast_stmt *rest,
                             struct ir_stmt **first)
{
    struct ir_stmt **before = elaborate_redirect(e, first);

    e->conditions++;
    e->frame->conditions++;
    elaborate_block(e, block);
    elaborate_block(e, rest);
    e->conditions--;
    e->frame->conditions--;
    e->tail = before;
}

/* A branch that makes tensors, calls functions or returns is chosen when compiling where that can be: the two
 * sides may then differ in shapes and dtypes. Others stay run-time branches, so that an attribute that
 * changes with every call does not compile anew. */
static bool elaborate_is_structural(const struct ast_stmt *first)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next)
        if (stmt->kind == AST_RETURN ||
            (stmt->kind == AST_ASSIGN && stmt->value->kind != AST_NAME &&
             (stmt->value->kind == AST_CALL || stmt->value->kind == AST_TUPLE ||
              stmt->value->kind == AST_ATTRIBUTE)) ||
            elaborate_is_structural(stmt->body) || elaborate_is_structural(stmt->otherwise))
            return true;
    return false;
}

bool elaborate_decide_branches(struct elaborator *e)
{
    e->decides = true;
    for (const struct branch *branch = e->frame->branch; branch; branch = branch->outer)
        if (expr_is_invariant(branch->condition))
            expr_demand_constants(e, branch->condition);
    e->decides = false;
    return e->result->retry;
}

/* True when what follows the if in its block was taken into it. */
static bool elaborate_if(struct elaborator *e, const struct ast_stmt *stmt)
{
    struct value value = elaborate_expr(e, stmt->value);
    struct ir_expr *condition;
    struct ir_stmt *branch;
    struct branch here = {.outer = e->frame->branch};
    bool takes_rest = elaborate_ends_in_return(stmt->body) && stmt->next;

    if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
        value = elaborate_load(e, value.buffer, NULL, stmt->value->span);
    if (value.kind == VALUE_NONE)
        value = value_bool(e, false);
    condition = value_condition(e, value, stmt->value->span);
    if (!condition) {
        elaborate_block(e, stmt->body);
        elaborate_block(e, stmt->otherwise);
        return false;
    }
    if (e->frame->graph)
        condition = expr_decide(e, condition, 1);
    else if (condition->kind != IR_INTEGER && !e->general && expr_is_invariant(condition) &&
             (condition->kind == IR_SYMBOL || elaborate_is_structural(stmt->body) ||
              elaborate_is_structural(stmt->otherwise)))
        expr_demand_constants(e, condition);
    if (e->result->retry)
        return true; /* elaborated again with the attribute known */
    if (condition->kind == IR_INTEGER) {
        elaborate_block(e, condition->integer ? stmt->body : stmt->otherwise);
        return false;
    }
    elaborate_predeclare(e, stmt, true);
    branch = elaborate_emit(e, IR_IF, stmt->span);
    branch->value = here.condition = condition;
    e->frame->branch = &here;
    elaborate_branch(e, stmt->body, NULL, &branch->body);
    elaborate_branch(e, stmt->otherwise, takes_rest ? stmt->next : NULL, &branch->otherwise);
    e->frame->branch = here.outer;
    elaborate_predeclare(e, stmt, false);
    return takes_rest;
}

/* ---- loops ------------------------------------------------------------------------------ */

static void elaborate_bind_loop(struct elaborator *e, const struct ast_expr *target, struct value value)
{
    if (target->kind == AST_NAME) {
        struct slot *slot = elaborate_slot(e, ast_binding_of(target));
        slot->variable = NULL;
        slot->value = value;
        return;
    }
    if (value.kind != VALUE_TUPLE || value.count != target->count) {
        if (value.kind != VALUE_ERROR &&
            !elaborate_refuse_rank(e, &value, target->count, false, target->span))
            elaborate_error(
                e, MSG_UNPACK_COUNT, target->span,
                elaborate_counted(e, value.kind == VALUE_TUPLE ? value.count : 1, "value is", "values are"),
                elaborate_number(e, target->count));
        value = value_error();
    }
    for (int i = 0; i < target->count; i++)
        elaborate_bind_loop(e, target->items[i], value.kind == VALUE_TUPLE ? value.items[i] : value_error());
}

static void elaborate_body(struct elaborator *e, const struct ast_stmt *body)
{
    e->loops++;
    e->frame->loops++;
    elaborate_block(e, body);
    e->loops--;
    e->frame->loops--;
}

static struct ir_stmt *elaborate_loop(struct elaborator *e, const char *name, struct ir_expr *low,
                                      struct ir_expr *high, int64_t step, unsigned hint, struct span span)
{
    struct ir_stmt *loop = elaborate_emit(e, IR_FOR, span);

    loop->symbol = ir_symbol_new(e->kernel, IR_SYMBOL_LOOP, name, AKG_INT64);
    loop->symbol->span = span;
    loop->symbol->label = name;
    loop->low = low;
    loop->high = high;
    loop->step = step;
    loop->hint = hint;
    return loop;
}

/* The 1 to 3 arguments of a range; false after a message. */
static bool elaborate_range(struct elaborator *e, const struct ast_expr *call, struct ir_expr **low,
                            struct ir_expr **high, int64_t *step)
{
    struct ir_expr *bounds[2] = {NULL, NULL};
    struct value value;

    *step = 1;
    if (call->count < 1 || call->count > 3) {
        elaborate_error(e, MSG_ARGUMENT_COUNT, call->span, arena_format(e->arena, "'%s'", call->a->text),
                        "1 to 3 arguments",
                        arena_format(e->arena, "%d %s", call->count, call->count == 1 ? "is" : "are"));
        return false;
    }
    for (int i = 0; i < call->count; i++)
        if (call->items[i]->kind == AST_KEYWORD) {
            diagnostic_note(elaborate_error(e, MSG_ARGUMENT_NAME, call->items[i]->span,
                                            arena_format(e->arena, "'%s'", call->a->text),
                                            call->items[i]->text),
                            "help: what it takes is given by place, without names: range(first, end, step)");
            return false;
        }
    for (int i = 0; i < call->count && i < 2; i++) {
        value = elaborate_expr(e, call->items[i]);
        if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
            value = elaborate_load(e, value.buffer, NULL, call->items[i]->span);
        bounds[i] = value_index(e, value, call->items[i]->span);
        if (!bounds[i])
            return false;
    }
    *low = call->count == 1 ? ir_integer(e->kernel, AKG_INT64, 0) : bounds[0];
    *high = call->count == 1 ? bounds[0] : bounds[1];
    if (call->count < 3)
        return true;
    value = elaborate_expr(e, call->items[2]);
    if (value.kind == VALUE_INT && value.expr->kind != IR_INTEGER && expr_demand_constants(e, value.expr))
        return false;
    if (!value_constant(&value, step) || *step == INT64_MIN) { /* of which there is no opposite */
        if (value.kind == VALUE_FLOAT)
            value_index(e, value, call->items[2]->span); /* says that it is no integer */
        else if (value.kind != VALUE_ERROR)
            diagnostic_note(elaborate_error(e, MSG_NOT_CONSTANT, call->items[2]->span, "the step of a range"),
                            "help: write a number or an attribute, or count in a while loop");
        return false;
    }
    if (*step == 0)
        diagnostic_note(elaborate_error(e, MSG_STEP_ZERO, call->items[2]->span),
                        "help: write 1 to count up, -1 to count down");
    return *step != 0;
}

/* low, low + step, ... below high, the other way round: from the last of them down to low. */
static void elaborate_reverse(struct elaborator *e, struct ir_expr **low, struct ir_expr **high,
                              int64_t *step)
{
    int64_t side = *step > 0 ? 1 : -1;
    struct ir_expr *last =
        ir_operation(e->kernel, OP_SUB, *high, ir_integer(e->kernel, AKG_INT64, side), NULL);

    if (*step != side) {
        struct ir_expr *by = ir_integer(e->kernel, AKG_INT64, *step);
        struct ir_expr *steps =
            ir_operation(e->kernel, OP_FLOORDIV,
                         ir_operation(e->kernel, OP_SUB, last, expr_copy(e, *low), NULL), by, NULL);
        last = ir_operation(
            e->kernel, OP_ADD, expr_copy(e, *low),
            ir_operation(e->kernel, OP_MUL, steps, ir_integer(e->kernel, AKG_INT64, *step), NULL), NULL);
    }
    *high = ir_operation(e->kernel, OP_SUB, *low, ir_integer(e->kernel, AKG_INT64, side), NULL);
    *low = last;
    *step = -*step;
}

/* Bounds are evaluated once: what the loop changes of one has a name before it, at *place, where it stands.
 */
static struct ir_expr *elaborate_fixed(struct elaborator *e, struct ir_stmt ***place, struct ir_expr *bound)
{
    struct ir_stmt *loop = **place, *let;
    struct ir_symbol *symbol;

    if (!ir_block_changes(loop->body, bound))
        return bound;
    symbol = ir_symbol_new(e->kernel, IR_SYMBOL_LET, "bound", AKG_INT64);
    symbol->value = bound;
    let = ir_stmt_new(e->kernel, IR_LET, loop->span);
    let->symbol = symbol;
    let->value = bound;
    let->next = loop;
    **place = let;
    *place = &let->next;
    return ir_symbol_use(e->kernel, symbol);
}

/* `over` is the call of range (or of a hint with its arguments). `reversed` runs it from the last to the
 * first. */
static void elaborate_for_range(struct elaborator *e, const struct ast_stmt *stmt,
                                const struct ast_expr *over, unsigned hint, bool reversed)
{
    const char *name = stmt->target->kind == AST_NAME ? stmt->target->text : "i";
    struct ir_expr *low, *high;
    struct ir_stmt **place, **after, *loop;
    int64_t step;
    bool never;

    if (stmt->target->kind != AST_NAME) {
        elaborate_error(e, MSG_LOOP_TARGET, stmt->target->span);
        return;
    }
    if (!elaborate_range(e, over, &low, &high, &step)) {
        elaborate_bind_loop(e, stmt->target, value_error());
        if (!e->result->retry)
            elaborate_body(e, stmt->body);
        return;
    }
    if (reversed)
        elaborate_reverse(e, &low, &high, &step);
    place = e->tail;
    loop = elaborate_loop(e, name, low, high, step, hint, stmt->span);
    after = elaborate_redirect(e, &loop->body);
    elaborate_bind_loop(e, stmt->target, value_of(VALUE_INT, ir_symbol_use(e->kernel, loop->symbol)));
    elaborate_body(e, stmt->body);
    e->tail = after;
    /* what never runs is checked, and asks nothing of a call */
    never = low->kind == IR_INTEGER && high->kind == IR_INTEGER &&
            (step > 0 ? low->integer >= high->integer : low->integer <= high->integer);
    if (never)
        loop->body = NULL;
    loop->low = elaborate_fixed(e, &place, loop->low);
    loop->high = elaborate_fixed(e, &place, loop->high);
}

/* for arg in grid(shape): one loop per axis; arg is the tuple of their variables. */
static void elaborate_for_grid(struct elaborator *e, const struct ast_stmt *stmt)
{
    const struct ast_expr *call = stmt->value;
    struct value shape = {.kind = VALUE_ERROR}, tuple = {.kind = VALUE_TUPLE};
    struct ir_stmt **after = NULL, **place = e->tail, **loops;

    if (call->count == 1)
        shape = elaborate_expr(e, call->items[0]);
    else
        diagnostic_note(elaborate_error(e, MSG_ARGUMENT_COUNT, call->span, "'grid'", "1 argument, a tuple",
                                        arena_format(e->arena, "%d are", call->count)),
                        "help: write grid((m, n)) or grid(x.shape)");
    if (shape.kind == VALUE_INT || shape.kind == VALUE_SCALAR) {
        struct value *items = arena_array(e->arena, struct value, 1);
        items[0] = shape;
        shape = (struct value){.kind = VALUE_TUPLE, .items = items, .count = 1};
    }
    if (shape.kind != VALUE_TUPLE) {
        if (shape.kind != VALUE_ERROR) {
            struct diagnostic_entry *message = elaborate_error(e, MSG_LOOP_ITERABLE, call->items[0]->span);
            diagnostic_note(message, "help: grid takes a shape: grid(x.shape) or grid((m, n))");
        }
        elaborate_bind_loop(e, stmt->target, value_error());
        elaborate_body(e, stmt->body);
        return;
    }
    tuple.count = shape.count;
    tuple.buffer = shape.buffer;
    tuple.items = arena_array(e->arena, struct value, shape.count + 1);
    loops = arena_array(e->arena, struct ir_stmt *, shape.count + 1);
    for (int i = 0; i < shape.count; i++) {
        struct ir_expr *high = value_index(e, shape.items[i], call->items[0]->span);
        const char *name = stmt->target->kind == AST_NAME
                               ? arena_format(e->arena, "%s_%d", stmt->target->text, i)
                           : stmt->target->kind == AST_TUPLE && i < stmt->target->count &&
                                   stmt->target->items[i]->kind == AST_NAME
                               ? stmt->target->items[i]->text
                               : "i";
        struct ir_stmt **before;
        if (!high)
            high = ir_integer(e->kernel, AKG_INT64, 0);
        loops[i] = elaborate_loop(e, name, ir_integer(e->kernel, AKG_INT64, 0), high, 1, 0, stmt->span);
        tuple.items[i] = value_of(VALUE_INT, ir_symbol_use(e->kernel, loops[i]->symbol));
        before = elaborate_redirect(e, &loops[i]->body);
        if (i == 0)
            after = before;
    }
    elaborate_bind_loop(e, stmt->target, tuple);
    elaborate_body(e, stmt->body);
    if (after)
        e->tail = after;
    while (shape.count && *place != loops[0]) /* what the shape needed as statements */
        place = &(*place)->next;
    for (int i = 0; i < shape.count; i++)
        loops[i]->high = elaborate_fixed(e, &place, loops[i]->high);
}

static void elaborate_unrolled(struct elaborator *e, const struct ast_stmt *stmt, struct value value)
{
    if (++e->unrolled > ELABORATE_MAX_UNROLLED) {
        if (e->unrolled == ELABORATE_MAX_UNROLLED + 1)
            elaborate_refuse_copies(e, stmt->span);
        return;
    }
    elaborate_bind_loop(e, stmt->target, value);
    elaborate_block(e, stmt->body);
}

/* The break or continue that leaves the loop whose body this is, or NULL. */
static const struct ast_stmt *elaborate_find_break(const struct ast_stmt *first)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        const struct ast_stmt *found = NULL;
        if (stmt->kind == AST_BREAK || stmt->kind == AST_CONTINUE)
            return stmt;
        if (stmt->kind != AST_FOR && stmt->kind != AST_WHILE)
            found = elaborate_find_break(stmt->body);
        if (stmt->kind != AST_FOR && stmt->kind != AST_WHILE && !found)
            found = elaborate_find_break(stmt->otherwise);
        if (found)
            return found;
    }
    return NULL;
}

static bool elaborate_refuse_break(struct elaborator *e, const struct ast_stmt *stmt)
{
    const struct ast_stmt *found = elaborate_find_break(stmt->body);
    struct diagnostic_entry *message;

    if (!found)
        return false;
    message =
        elaborate_error(e, MSG_BREAK_UNROLLED, found->span, found->kind == AST_BREAK ? "break" : "continue");
    diagnostic_note(message, "note: the loop on line %d is unrolled when the kernel is compiled",
                    stmt->span.line);
    diagnostic_note(message, "help: write range, or put the rest of the body under an if");
    return true;
}

/* The second number of a range, as far as it is known. */
static int64_t elaborate_second(const struct ir_expr *low, int64_t step)
{
    int64_t second = 1;

    if (low->kind == IR_INTEGER && __builtin_add_overflow(low->integer, step, &second))
        second = low->integer;
    return second;
}

/* One copy of the body for each number; `over` has the bounds. In a graph function all of them are known. */
static void elaborate_for_const_range(struct elaborator *e, const struct ast_stmt *stmt,
                                      const struct ast_expr *over, bool reversed)
{
    struct ir_expr *low, *high;
    int64_t step;

    if (!elaborate_range(e, over, &low, &high, &step) || elaborate_refuse_break(e, stmt))
        return;
    if (e->frame->graph)
        low = expr_decide(e, low, 0);
    if (low && e->frame->graph)
        high = expr_decide(e, high, elaborate_second(low, step));
    if (e->result->retry)
        return;
    if (reversed)
        elaborate_reverse(e, &low, &high, &step);
    if (low->kind != IR_INTEGER || high->kind != IR_INTEGER) {
        struct diagnostic_entry *message;
        if (expr_demand_constants(e, low) || expr_demand_constants(e, high))
            return;
        message = elaborate_error(e, MSG_NOT_CONSTANT, over->span, "the bounds of const_range");
        diagnostic_note(message, "help: write range: the loop then runs instead of being unrolled");
        return;
    }
    for (int64_t i = low->integer; step > 0 ? i < high->integer : i > high->integer;) {
        elaborate_unrolled(e, stmt, value_int(e, i));
        if (e->unrolled > ELABORATE_MAX_UNROLLED || e->result->retry || __builtin_add_overflow(i, step, &i))
            return;
    }
}

static void elaborate_for_tuple(struct elaborator *e, const struct ast_stmt *stmt, struct value tuple,
                                bool number)
{
    if (elaborate_refuse_break(e, stmt))
        return;
    for (int i = 0; i < tuple.count; i++) {
        struct value item = value_copy(e, tuple.items[i]);
        if (number) {
            struct value *pair = arena_array(e->arena, struct value, 2);
            pair[0] = value_int(e, i);
            pair[1] = item;
            item = (struct value){.kind = VALUE_TUPLE, .items = pair, .count = 2};
        }
        elaborate_unrolled(e, stmt, item);
    }
}

static void elaborate_refuse_loop(struct elaborator *e, struct span span, const struct ast_expr *over,
                                  struct value value)
{
    struct diagnostic_entry *message = elaborate_error(e, MSG_LOOP_ITERABLE, span);

    if (value.kind == VALUE_TENSOR)
        diagnostic_note(message, "help: loop over the indices: for i in range(%s.shape[0]):",
                        over->kind == AST_NAME ? over->text : "x");
    else {
        diagnostic_note(message, "help: for i in range(%s):", elaborate_source(e, over));
        if (value_is_number(&value))
            diagnostic_fix_around(message, "range(", ")");
    }
}

static void elaborate_for(struct elaborator *e, const struct ast_stmt *stmt)
{
    const struct ast_expr *over = stmt->value;
    int builtin = over->kind == AST_CALL && over->a->kind == AST_NAME && !ast_binding_of(over->a)
                      ? over->a->builtin
                      : BUILTIN_NONE;
    struct value value;

    switch (builtin) {
    case BUILTIN_RANGE:
        if (e->frame->graph)
            elaborate_for_const_range(e, stmt, over, false);
        else
            elaborate_for_range(e, stmt, over, 0, false);
        return;
    case BUILTIN_SERIAL:
        elaborate_for_range(e, stmt, over, IR_HINT_SERIAL, false);
        return;
    case BUILTIN_VECTORIZE:
        elaborate_for_range(e, stmt, over, IR_HINT_VECTORIZE, false);
        return;
    case BUILTIN_PARALLEL:
        elaborate_for_range(e, stmt, over, IR_HINT_PARALLEL, false);
        return;
    case BUILTIN_REDUCE:
        elaborate_for_range(e, stmt, over, IR_HINT_REDUCE, false);
        return;
    case BUILTIN_UNROLL:
        elaborate_for_range(e, stmt, over, IR_HINT_UNROLL, false);
        return;
    case BUILTIN_REVERSED:
        if (over->count == 1 && over->items[0]->kind == AST_CALL && over->items[0]->a->kind == AST_NAME &&
            over->items[0]->a->builtin == BUILTIN_RANGE) {
            if (e->frame->graph)
                elaborate_for_const_range(e, stmt, over->items[0], true);
            else
                elaborate_for_range(e, stmt, over->items[0], 0, true);
            return;
        }
        break;
    case BUILTIN_GRID:
        elaborate_for_grid(e, stmt);
        return;
    case BUILTIN_CONST_RANGE:
        elaborate_for_const_range(e, stmt, over, false);
        return;
    default:
        break;
    }
    over = builtin == BUILTIN_ENUMERATE && over->count == 1 ? over->items[0] : over;
    value = elaborate_expr(e, over);
    if (value.kind == VALUE_TUPLE)
        elaborate_for_tuple(e, stmt, value, builtin == BUILTIN_ENUMERATE);
    else if (value.kind != VALUE_ERROR)
        elaborate_refuse_loop(e, stmt->value->span, over, value);
}

static void elaborate_while(struct elaborator *e, const struct ast_stmt *stmt)
{
    struct ir_stmt *loop = elaborate_emit(e, IR_WHILE, stmt->span), **after, *first = NULL;
    struct ir_expr *condition;
    struct value value;

    after = elaborate_redirect(e, &first);
    e->loops++;
    e->frame->loops++;
    value = elaborate_expr(e, stmt->value);
    if (value.kind == VALUE_TENSOR && value.buffer->rank == 0)
        value = elaborate_load(e, value.buffer, NULL, stmt->value->span);
    condition = value_condition(e, value, stmt->value->span);
    if (condition && first) {
        /* the condition needs statements: while True: statements; if not condition: break */
        struct ir_stmt *test = elaborate_emit(e, IR_IF, stmt->span);
        test->value = expr_node(e, OP_NOT, AKG_BOOL, condition, NULL, NULL, stmt->value->span);
        test->body = ir_stmt_new(e->kernel, IR_BREAK, stmt->span);
        condition = ir_integer(e->kernel, AKG_BOOL, 1);
    }
    loop->value = condition ? condition : ir_integer(e->kernel, AKG_BOOL, 0);
    elaborate_block(e, stmt->body);
    e->loops--;
    e->frame->loops--;
    loop->body = first;
    e->tail = after;
}

/* ---- the rest -------------------------------------------------------------------------- */

void elaborate_require(struct elaborator *e, const struct ir_precondition *precondition)
{
    enum { NEAR = 32 }; /* a search through all of a thousand would take too long */
    int count = e->kernel->preconditions.count;

    for (int i = count > NEAR ? count - NEAR : 0; i < count; i++) {
        const struct ir_precondition *other = &e->kernel->preconditions.items[i];
        if (other->kind == precondition->kind && !other->guard && !precondition->guard &&
            ir_expr_equal(other->condition, precondition->condition))
            return;
    }
    list_push(e->arena, &e->kernel->preconditions, *precondition);
}

static void elaborate_assert(struct elaborator *e, const struct ast_stmt *stmt)
{
    struct value value = elaborate_expr(e, stmt->value), text = {.kind = VALUE_NONE};
    struct ir_expr *condition;
    const char *message;
    struct ir_stmt *check;

    if (value.kind == VALUE_TUPLE && !stmt->message) { /* always true in Python, and never meant */
        diagnostic_note(elaborate_error(e, MSG_CONDITION_TYPE, stmt->value->span, "a tuple"),
                        "help: write it without the parentheses: assert condition, \"message\"");
        return;
    }
    condition = value_condition(e, value, stmt->value->span);
    if (stmt->message)
        text = elaborate_expr(e, stmt->message);
    message = text.kind == VALUE_STRING
                  ? text.string
                  : arena_format(e->arena, "%s does not hold", elaborate_source(e, stmt->value));
    if (stmt->message && text.kind != VALUE_STRING && text.kind != VALUE_ERROR)
        diagnostic_note(elaborate_error(e, MSG_VALUE_UNUSABLE, stmt->message->span, value_text(e, &text)),
                        "help: the message of an assert is a string");
    if (!condition)
        return;
    if (condition->kind == IR_INTEGER && (condition->integer || e->general))
        return;
    if (condition->kind == IR_INTEGER && e->loops == 0 && e->conditions == 0) {
        elaborate_error(e, MSG_ASSERT_FALSE, stmt->span, message), e->frame->done = true;
        return;
    }
    if (e->loops == 0 && e->conditions == 0 && expr_is_invariant(condition)) {
        struct ir_precondition precondition = {
            .kind = IR_PRECONDITION_ASSERT, .condition = condition, .message = message, .span = stmt->span};
        elaborate_require(e, &precondition);
        return;
    }
    check = elaborate_emit(e, IR_ASSERT, stmt->span);
    check->value = condition;
    check->message = message;
}

static void elaborate_expression_statement(struct elaborator *e, const struct ast_stmt *stmt)
{
    struct diagnostic_entry *message;
    struct ast_binding *binding;

    if (stmt->value->kind == AST_STRING)
        return;
    binding = stmt->value->kind == AST_CALL && stmt->value->a->kind == AST_NAME
                  ? ast_binding_of(stmt->value->a)
                  : NULL;
    if (binding && binding->kind == AST_BINDING_FUNCTION) {
        elaborate_call(e, stmt->value);
        return;
    }
    if (elaborate_expr(e, stmt->value).kind == VALUE_ERROR)
        return;
    message = elaborate_error(e, MSG_NO_EFFECT, stmt->span);
    if (stmt->value->kind == AST_COMPARE && stmt->value->comparisons[0] == AST_EQ)
        diagnostic_note(message, "help: to assign, write =");
    else
        diagnostic_note(message, "help: assign the value to a name or an element: y[i] = ...");
}

static void elaborate_with(struct elaborator *e, const struct ast_stmt *stmt)
{
    const struct ast_expr *call = stmt->value;
    int builtin = call->kind == AST_CALL && call->a->kind == AST_NAME && !ast_binding_of(call->a)
                      ? call->a->builtin
                      : 0;

    bool unknown =
        call->kind == AST_CALL && call->a->kind == AST_NAME && !call->a->binding && !call->a->builtin;

    if (builtin != BUILTIN_ATTR && builtin != BUILTIN_BLOCK_REALIZE && !unknown) {
        struct diagnostic_entry *message = elaborate_error(e, MSG_VALUE_UNUSABLE, call->span, "this");
        diagnostic_note(message, "help: 'with' takes attr(\"key\", value) or block_realize(t)");
    }
    elaborate_block(e, stmt->body);
}

static void elaborate_statements(struct elaborator *e, const struct ast_stmt *first)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (e->result->retry || e->frame->done)
            return;
        switch (stmt->kind) {
        case AST_EXPRESSION:
            elaborate_expression_statement(e, stmt);
            break;
        case AST_ASSIGN:
            elaborate_assign(e, stmt);
            break;
        case AST_AUGMENTED:
            elaborate_augmented(e, stmt);
            break;
        case AST_FOR:
            elaborate_for(e, stmt);
            break;
        case AST_WHILE:
            elaborate_while(e, stmt);
            break;
        case AST_IF:
            if (elaborate_if(e, stmt))
                return;
            break;
        case AST_WITH:
            elaborate_with(e, stmt);
            break;
        case AST_ASSERT:
            elaborate_assert(e, stmt);
            break;
        case AST_RETURN:
            elaborate_return(e, stmt);
            return;
        case AST_BREAK:
            elaborate_emit(e, IR_BREAK, stmt->span);
            return;
        case AST_CONTINUE:
            elaborate_emit(e, IR_CONTINUE, stmt->span);
            return;
        case AST_PASS:
        case AST_IMPORT:
            break;
        }
    }
}

void elaborate_block(struct elaborator *e, const struct ast_stmt *first)
{
    if (!first || !elaborate_may_nest(e, true, first->span))
        return;
    e->nesting++;
    e->blocks++;
    elaborate_statements(e, first);
    e->blocks--;
    e->nesting--;
}

/*
 * cost.c: how many floating-point operations one call of a kernel does, by walking its loops.
 *
 * A loop whose body costs the same in every iteration is walked once and multiplied; only where bounds or
 * conditions inside hang on its variable (a triangle, a border) are its iterations walked one by one. So the
 * count is exact without running anything, for all that hangs on dims and attributes. What hangs on the data
 * of tensors cannot be known: a condition counts its dearer side, a while loop and a loop of unknown bounds
 * one iteration, a loop with a break all of them, and the cost is marked as not exact.
 */
#include "cost_private.h"
#include "../base/number.h"

#include "scalar.h"

int64_t cost_add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t cost_multiply(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* ---- values ------------------------------------------------------------------- */

static bool symbol_value(struct cost_counter *counter, const struct ir_symbol *symbol,
                         union dtype_value *value)
{
    const struct cost_symbol *entry = &counter->symbols[symbol->slot];
    if (symbol->kind == IR_SYMBOL_DIM)
        value->i = counter->dims[symbol->index];
    else if (symbol->kind == IR_SYMBOL_ATTRIBUTE)
        *value = scalar_argument(symbol->dtype, counter->scalars[symbol->index]);
    else if (entry->known)
        *value = entry->value;
    else
        return false;
    return true;
}

/* AND, OR, SELECT: known where the side that decides is. */
static bool lazy_value(struct cost_counter *counter, const struct ir_expr *expr, union dtype_value *value)
{
    union dtype_value first;
    bool known = cost_value(counter, expr->operands[0], &first);
    if (expr->operation == OP_SELECT)
        return known && cost_value(counter, expr->operands[first.i ? 1 : 2], value);
    bool decides = expr->operation == OP_OR;
    if (known && (first.i != 0) == decides) {
        *value = first;
        return true;
    }
    if (!cost_value(counter, expr->operands[1], value))
        return false;
    return known || (value->i != 0) == decides;
}

bool cost_value(struct cost_counter *counter, const struct ir_expr *expr, union dtype_value *value)
{
    union dtype_value operands[3];
    switch (expr->kind) {
    case IR_INTEGER:
    case IR_REAL:
        *value = scalar_constant(expr);
        return true;
    case IR_SYMBOL:
        return symbol_value(counter, expr->symbol, value);
    case IR_LOAD:
        return false;
    default:
        break;
    }
    if (expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT)
        return lazy_value(counter, expr, value);
    for (int k = 0; k < expr->count; k++)
        if (!cost_value(counter, expr->operands[k], &operands[k]))
            return false;
    return scalar_apply(expr->operation, expr->dtype, expr->operands[0]->dtype, operands, value);
}

bool cost_integer(struct cost_counter *counter, const struct ir_expr *expr, int64_t *value)
{
    union dtype_value result;
    if (!cost_value(counter, expr, &result))
        return false;
    *value = result.i;
    return true;
}

bool cost_trips(struct cost_counter *counter, const struct ir_stmt *loop, int64_t *low, int64_t *trips)
{
    int64_t high, span;
    if (!cost_integer(counter, loop->low, low) || !cost_integer(counter, loop->high, &high))
        return false;
    uint64_t step = loop->step > 0 ? (uint64_t)loop->step : 0 - (uint64_t)loop->step;
    bool fits = loop->step > 0 ? !__builtin_sub_overflow(high, *low, &span)
                               : !__builtin_sub_overflow(*low, high, &span);
    *trips = !fits || span <= 0 ? 0 : (int64_t)(((uint64_t)span - 1) / step + 1);
    return fits;
}

void cost_set(struct cost_counter *counter, const struct ir_symbol *symbol, int64_t value)
{
    counter->symbols[symbol->slot].known = true;
    counter->symbols[symbol->slot].value.i = value;
}

void cost_declare(struct cost_counter *counter, const struct ir_stmt *stmt)
{
    struct cost_symbol *entry = &counter->symbols[stmt->symbol->slot];
    entry->known = stmt->kind == IR_LET && cost_value(counter, stmt->value, &entry->value);
}

/* ---- does a body's cost hang on the loop's variable? ------------------------------- */

static bool is_not_marked(struct ir_expr *expr, void *context)
{
    const struct cost_counter *counter = context;
    return expr->kind != IR_SYMBOL || !counter->symbols[expr->symbol->slot].marked;
}

bool cost_names_marked(struct cost_counter *counter, const struct ir_expr *expr)
{
    return !ir_expr_walk((struct ir_expr *)expr, is_not_marked, counter);
}

/* A choice inside an expression that hangs on a marked symbol. */
static bool is_no_marked_choice(struct ir_expr *expr, void *context)
{
    bool chooses = expr->kind == IR_OPERATION &&
                   (expr->operation == OP_SELECT || expr->operation == OP_AND || expr->operation == OP_OR);
    return !chooses || !cost_names_marked(context, expr->operands[0]);
}

static bool mark_and_look(struct ir_stmt *stmt, void *context)
{
    struct cost_counter *counter = context;
    if (stmt->kind == IR_LET && cost_names_marked(counter, stmt->value))
        counter->symbols[stmt->symbol->slot].marked = true;
    if (stmt->kind == IR_FOR &&
        (cost_names_marked(counter, stmt->low) || cost_names_marked(counter, stmt->high)))
        return false;
    if (stmt->kind == IR_IF && cost_names_marked(counter, stmt->value))
        return false;
    return ir_stmt_expressions(stmt, is_no_marked_choice, counter);
}

static bool loop_varies(struct cost_counter *counter, const struct ir_stmt *loop)
{
    int slot = loop->symbol->slot;
    if (counter->varies[slot] < 0) {
        counter->symbols[slot].marked = true;
        counter->varies[slot] = !ir_block_walk(loop->body, mark_and_look, counter);
        for (int k = 0; k < counter->kernel->slot_count; k++)
            counter->symbols[k].marked = false;
    }
    return counter->varies[slot] > 0;
}

/* ---- expressions ---------------------------------------------------------------------- */

/* What an operation on floats counts; comparisons, choices, signs and conversions count nothing. */
static int operation_flops(const struct ir_expr *expr)
{
    enum operation_rule rule = operation_table[expr->operation].rule;
    if (!dtype_is_float(expr->dtype) || (rule != RULE_NUMERIC && rule != RULE_FLOATING))
        return 0;
    switch (expr->operation) {
    case OP_NEG:
    case OP_ABS:
    case OP_SIGN:
        return 0;
    case OP_FMA:
        return 2;
    default:
        return 1;
    }
}

static int64_t expr_flops(struct cost_counter *counter, const struct ir_expr *expr)
{
    int64_t total = 0, condition;
    if (expr->kind == IR_LOAD) {
        for (int k = 0; k < expr->access.buffer->rank; k++)
            total = cost_add(total, expr_flops(counter, expr->access.indices[k]));
        return total;
    }
    if (expr->kind != IR_OPERATION)
        return 0;
    if (expr->operation == OP_SELECT) {
        total = expr_flops(counter, expr->operands[0]);
        if (cost_integer(counter, expr->operands[0], &condition))
            return cost_add(total, expr_flops(counter, expr->operands[condition ? 1 : 2]));
        int64_t yes = expr_flops(counter, expr->operands[1]), no = expr_flops(counter, expr->operands[2]);
        counter->cost->exact &= yes == no;
        return cost_add(total, number_larger(yes, no));
    }
    for (int k = 0; k < expr->count; k++)
        total = cost_add(total, expr_flops(counter, expr->operands[k]));
    return cost_add(total, operation_flops(expr));
}

/* ---- statements ------------------------------------------------------------------------- */

static int64_t block_flops(struct cost_counter *counter, const struct ir_stmt *block);

static int64_t loop_flops(struct cost_counter *counter, const struct ir_stmt *loop)
{
    int64_t low, trips, total = cost_add(expr_flops(counter, loop->low), expr_flops(counter, loop->high));
    if (!cost_trips(counter, loop, &low, &trips)) {
        counter->cost->exact = false;
        counter->symbols[loop->symbol->slot].known = false;
        return cost_add(total, block_flops(counter, loop->body));
    }
    if (trips == 0)
        return total;
    if (!loop_varies(counter, loop)) {
        cost_set(counter, loop->symbol, low);
        return cost_add(total, cost_multiply(trips, block_flops(counter, loop->body)));
    }
    if (trips > COST_MOST_WORK - counter->work) { /* the iteration in the middle stands for all */
        counter->cost->exact = false;
        cost_set(counter, loop->symbol, low + (trips - 1) / 2 * loop->step);
        return cost_add(total, cost_multiply(trips, block_flops(counter, loop->body)));
    }
    counter->work += trips;
    for (int64_t k = 0; k < trips; k++) {
        cost_set(counter, loop->symbol, low + k * loop->step);
        total = cost_add(total, block_flops(counter, loop->body));
    }
    return total;
}

/* A chain of else-ifs, one after the other. */
static int64_t if_flops(struct cost_counter *counter, const struct ir_stmt *stmt)
{
    int64_t conditions = 0, most = -1, condition;
    bool differ = false;
    for (;;) {
        conditions = cost_add(conditions, expr_flops(counter, stmt->value));
        bool known = cost_integer(counter, stmt->value, &condition);
        if (!known || condition) {
            int64_t body = cost_add(conditions, block_flops(counter, stmt->body));
            differ |= most >= 0 && body != most;
            most = number_larger(most, body);
        }
        if (known && condition)
            break;
        const struct ir_stmt *rest = stmt->otherwise;
        if (!rest || rest->kind != IR_IF || rest->next) {
            int64_t body = cost_add(conditions, block_flops(counter, rest));
            differ |= most >= 0 && body != most;
            most = number_larger(most, body);
            break;
        }
        stmt = rest;
    }
    counter->cost->exact &= !differ;
    return most;
}

static int64_t stmt_flops(struct cost_counter *counter, const struct ir_stmt *stmt)
{
    int64_t total = 0;
    switch (stmt->kind) {
    case IR_FOR:
        return loop_flops(counter, stmt);
    case IR_IF:
        return if_flops(counter, stmt);
    case IR_WHILE:
        counter->cost->exact = false;
        return cost_add(expr_flops(counter, stmt->value), block_flops(counter, stmt->body));
    case IR_BREAK:
    case IR_CONTINUE:
        counter->cost->exact = false;
        return 0;
    case IR_STORE:
        for (int k = 0; k < stmt->access.buffer->rank; k++)
            total = cost_add(total, expr_flops(counter, stmt->access.indices[k]));
        return cost_add(total, expr_flops(counter, stmt->value));
    case IR_LET:
    case IR_VARIABLE:
    case IR_ASSIGN:
        total = expr_flops(counter, stmt->value);
        cost_declare(counter, stmt);
        return total;
    case IR_ALLOCATE:
        return 0;
    case IR_ASSERT:
        return expr_flops(counter, stmt->value);
    }
    return 0;
}

static int64_t block_flops(struct cost_counter *counter, const struct ir_stmt *block)
{
    int64_t total = 0;
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        total = cost_add(total, stmt_flops(counter, stmt));
    return total;
}

bool cost_count(const struct ir_kernel *kernel, const int64_t *dims, const union jit_scalar *scalars,
                struct cost *cost)
{
    struct cost_counter counter = {.kernel = kernel, .dims = dims, .scalars = scalars, .cost = cost};
    jmp_buf escape;

    *cost = (struct cost){.exact = true};
    arena_init(&counter.arena, &escape);
    if (setjmp(escape)) {
        arena_free(&counter.arena);
        return false;
    }
    counter.symbols = arena_array(&counter.arena, struct cost_symbol, kernel->slot_count + 1);
    counter.varies = arena_array(&counter.arena, signed char, kernel->slot_count + 1);
    for (int k = 0; k < kernel->slot_count; k++)
        counter.varies[k] = -1;
    cost->flops = block_flops(&counter, kernel->body);
    counter.work = 0;
    cost_footprint(&counter);
    arena_free(&counter.arena);
    return true;
}

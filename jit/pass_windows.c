/*
 * pass_windows.c: a loop over a few places around another loop's is counted from 0 on:
 *
 *     for u = i - 1 to i + 2: ... x[u] ...      ->      for k = 0 to 3: ... x[(i - 1) + k] ...
 *
 * so that passes that ask for few iterations see them, and that its bounds hang on nothing. Where the window
 * ends at borders, conditions say so, which is what other programs have in the first place:
 *
 *     for u = max(i - 1, 0) to min(i + 2, N)    ->      for k = 0 to 3: if (i - 1) + k >= 0 and (i - 1) + k <
 * N
 *
 * Consumes loops of step 1 whose ends, or some of what their ends are the greatest or the least of, lie a
 * constant apart.
 */
#include "pass.h"

enum { MOST = 16 /* iterations */, BOUNDS = 4 /* of one end */, DEEPEST = 100 };

/* What an end is the greatest or the least of. */
struct ends {
    struct ir_expr *items[BOUNDS];
    int count;
};

struct window {
    struct ends lows, highs;
    int low, high; /* those that lie `count` apart */
    int64_t count;
};

static bool may_be_copied(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_ALLOCATE && stmt->kind != IR_WHILE && stmt->kind != IR_ASSERT &&
           stmt->kind != IR_BREAK && stmt->kind != IR_CONTINUE;
}

/* False: there are more. */
static bool find_ends(struct ir_expr *end, enum operation operation, struct ends *ends)
{
    struct ir_expr *value = end;
    if (end->kind == IR_SYMBOL && end->symbol->kind == IR_SYMBOL_LET && end->symbol->value)
        value = end->symbol->value;
    if (value->kind == IR_OPERATION && value->operation == operation)
        return find_ends(value->operands[0], operation, ends) &&
               find_ends(value->operands[1], operation, ends);
    if (ends->count == BOUNDS)
        return false;
    ends->items[ends->count++] = end;
    return true;
}

/* A sum of others might wrap. */
static bool is_place(const struct ir_expr *expr, struct pass_affine *place)
{
    if (!pass_affine_of(expr, place))
        return false;
    for (int k = 0; k < place->count; k++)
        if (place->terms[k].symbol->kind != IR_SYMBOL_LOOP && place->terms[k].symbol->kind != IR_SYMBOL_DIM)
            return false;
    return true;
}

/* Iterations from one to the other, if few; -1. */
static int64_t few_between(const struct ir_expr *low, const struct ir_expr *high)
{
    struct pass_affine from, span;
    if (!is_place(low, &from) || !is_place(high, &span) || !pass_affine_add(&span, -1, &from) || span.count ||
        span.constant < 1 || span.constant > MOST)
        return -1;
    return span.constant;
}

static bool are_places(const struct ends *ends)
{
    struct pass_affine place;
    for (int k = 0; k < ends->count; k++)
        if (!is_place(ends->items[k], &place))
            return false;
    return true;
}

static bool find_window(const struct ir_stmt *loop, struct window *window)
{
    *window = (struct window){.count = -1};
    if (loop->kind != IR_FOR || loop->step != 1 || loop->hint ||
        !find_ends(loop->low, OP_MAX, &window->lows) || !find_ends(loop->high, OP_MIN, &window->highs) ||
        !are_places(&window->lows) || !are_places(&window->highs))
        return false;
    for (int k = 0; k < window->lows.count * window->highs.count && window->count < 0; k++) {
        window->low = k % window->lows.count;
        window->high = k / window->lows.count;
        window->count = few_between(window->lows.items[window->low], window->highs.items[window->high]);
    }
    return window->count > 0 && !(loop->low->kind == IR_INTEGER && window->highs.count == 1);
}

/* The place is not left of the ends, or not right of them; `but`: the one that the window has anyway. */
static struct ir_expr *ask(struct pass *pass, const struct ends *ends, int but, enum operation operation,
                           const struct ir_expr *place, struct ir_expr *condition)
{
    for (int k = 0; k < ends->count; k++) {
        if (k == but)
            continue;
        struct ir_expr *inside = ir_operation(pass->kernel, operation, pass_copy(pass, place),
                                              pass_copy(pass, ends->items[k]), NULL);
        condition = condition ? ir_operation(pass->kernel, OP_AND, condition, inside, NULL) : inside;
    }
    return condition;
}

/* Messages name the variable: nothing in the loop may stop. */
static bool may_count(const struct ir_stmt *loop, struct window *window)
{
    return find_window(loop, window) && !pass_block_may_stop(loop->body) &&
           ir_block_walk(loop->body, may_be_copied, NULL);
}

static bool is_counted(const struct ir_stmt *loop)
{
    return loop->step == 1 && loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER &&
           few_between(loop->low, loop->high) > 0;
}

/* The block under one more condition, which goes into windows inside of it, so that all conditions are in one
 * place: before those that may load what it guards. */
static struct ir_stmt *guarded(struct pass *pass, struct ir_stmt *block, struct ir_expr *condition)
{
    struct ir_kernel *kernel = pass->kernel;
    struct ir_stmt *last = block;
    struct window window;
    while (last && last->kind == IR_LET && last->next && pass_is_pure(last->value))
        last = last->next;
    if (last && !last->next && last->kind == IR_FOR && (is_counted(last) || may_count(last, &window))) {
        last->body = guarded(pass, last->body, condition);
        return block;
    }
    if (block && !block->next && block->kind == IR_IF && !block->otherwise) {
        pass_set_value(block, ir_operation(kernel, OP_AND, condition, block->value, NULL));
        return block;
    }
    struct ir_stmt *choice = ir_stmt_new(kernel, IR_IF, condition->span);
    choice->body = block;
    pass_set_value(choice, condition);
    return choice;
}

static bool count_from_zero(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_kernel *kernel = pass->kernel;
    struct window window;
    if (!may_count(loop, &window))
        return false;
    struct ir_symbol *number = ir_symbol_new(kernel, IR_SYMBOL_LOOP, loop->symbol->name, AKG_INT64);
    number->label = loop->symbol->label;
    number->span = loop->symbol->span;
    struct ir_expr *place = ir_operation(kernel, OP_ADD, pass_copy(pass, window.lows.items[window.low]),
                                         ir_symbol_use(kernel, number), NULL);
    struct ir_expr *condition = ask(pass, &window.lows, window.low, OP_GE, place, NULL);
    condition = ask(pass, &window.highs, window.high, OP_LT, place, condition);
    loop->symbol->note = place;
    struct ir_stmt *body = pass_copy_block(pass, loop->body);
    loop->symbol->note = NULL;
    loop->symbol = number;
    loop->low = ir_integer(kernel, AKG_INT64, 0);
    loop->high = ir_integer(kernel, AKG_INT64, window.count);
    loop->body = condition ? guarded(pass, body, condition) : body;
    return true;
}

/* Loops inside last: the bounds of these are sums of what is known then. */
static bool visit_block(struct pass *pass, struct ir_stmt *block, int depth)
{
    bool changed = false;
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        changed |= count_from_zero(pass, stmt);
        changed |= visit_block(pass, stmt->body, depth + 1);
        changed |= visit_block(pass, stmt->otherwise, depth + 1);
    }
    return changed;
}

bool pass_windows(struct pass *pass)
{
    return visit_block(pass, pass->kernel->body, 0);
}

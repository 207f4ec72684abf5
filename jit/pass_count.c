/*
 * pass_count.c: what grows by the same in each iteration of a loop becomes a sum with the loop's variable:
 *
 *     at = 0                                       at = 0
 *     for i: for j: { y[at] = x[i, j]; at += 1 }   for i: for j: y[at + i * N + j] = x[i, j]
 *                                                  at = at + M * N
 *
 * so that the iterations need no order. Consumes integer variables of 64 bits that are assigned nowhere in
 * the loop but in its own block, each time to themselves and something that is the same all through the loop.
 * Loops inside come first. What follows the loop gets the sum of all that was added. Sums are modulo 2^64, as
 * the variable's are.
 */
#include "pass.h"

enum { DEEPEST = 100, MOST_LOOPS = 32 };

struct counter {
    struct pass *pass;
    struct ir_stmt *loops[MOST_LOOPS]; /* around what is looked at */
    int depth;
    bool changed;
};

/* ---- arithmetic ------------------------------------------------------------------------------------ */

/* Whether it is an axis of a tensor of the call, of which there are no negative ones. */
static bool is_extent(const struct ir_kernel *kernel, const struct ir_expr *expr)
{
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        for (int axis = 0; buffer->role != IR_TEMPORARY && axis < buffer->rank; axis++)
            if (ir_expr_equal(buffer->shape[axis], expr))
                return true;
    }
    return false;
}

static bool is_small(const struct ir_expr *expr)
{
    return expr->kind == IR_INTEGER && expr->integer >= -INT32_MAX && expr->integer <= INT32_MAX;
}

/* Whether it is not negative, and far from wrapping: a dim, or the variable of a loop that begins at a small
 * number, and goes on by one. */
static bool is_natural(const struct counter *counter, const struct ir_expr *expr)
{
    if (expr->kind != IR_SYMBOL)
        return false;
    for (int k = 0; k < counter->depth; k++)
        if (counter->loops[k]->symbol == expr->symbol) {
            const struct ir_expr *low = counter->loops[k]->low;
            return counter->loops[k]->step == 1 && is_small(low) && low->integer >= 0;
        }
    return expr->symbol->kind == IR_SYMBOL_DIM;
}

/* Whether the bound is such a one, a small number, or one and such a number together. */
static bool is_plain(const struct counter *counter, const struct ir_expr *bound)
{
    if (bound->kind == IR_OPERATION && (bound->operation == OP_ADD || bound->operation == OP_SUB) &&
        is_small(bound->operands[1]))
        bound = bound->operands[0];
    return is_small(bound) || is_natural(counter, bound);
}

/* Whether the count of iterations, as it is computed, is never negative where the loop has none. */
static bool tells(const struct counter *counter, const struct ir_stmt *loop, const struct ir_expr *count)
{
    if (loop->step > 0 && loop->low->kind == IR_INTEGER && loop->low->integer == 0 &&
        is_extent(counter->pass->kernel, loop->high))
        return true;
    if (!is_plain(counter, loop->low) || !is_plain(counter, loop->high))
        return false;
    if (count->kind == IR_OPERATION && count->operation == OP_ADD && is_small(count->operands[1]) &&
        count->operands[1]->integer >= 0)
        count = count->operands[0];
    return is_natural(counter, count) || (is_small(count) && count->integer >= 0);
}

/* How many iterations lie before the one at hand, or, where `at` is the end, in all. */
static struct ir_expr *count_to(struct counter *counter, const struct ir_stmt *loop, struct ir_expr *at)
{
    struct ir_expr *low = pass_copy(counter->pass, loop->low);
    return loop->step > 0 ? pass_apply(counter->pass, OP_SUB, at, low)
                          : pass_apply(counter->pass, OP_SUB, low, at);
}

static struct ir_expr *count_all(struct counter *counter, const struct ir_stmt *loop)
{
    struct pass *pass = counter->pass;
    struct ir_expr *count = count_to(counter, loop, pass_copy(pass, loop->high));
    if (tells(counter, loop, count))
        return count;
    struct ir_expr *runs = pass_apply(counter->pass, loop->step > 0 ? OP_LT : OP_GT,
                                      pass_copy(pass, loop->low), pass_copy(pass, loop->high));
    struct ir_expr *operands[] = {runs, count, pass_number(pass, 0)},
                   *known = ir_fold(pass->kernel, OP_SELECT, operands);
    return known ? known : ir_operation(pass->kernel, OP_SELECT, runs, count, operands[2]);
}

/* ---- what grows ------------------------------------------------------------------------------------ */

/* What the assignment adds to its variable; NULL: it does something else. */
static struct ir_expr *added(struct counter *counter, const struct ir_stmt *loop, const struct ir_stmt *stmt)
{
    struct ir_expr *value = stmt->value;
    if (value->kind != IR_OPERATION || (value->operation != OP_ADD && value->operation != OP_SUB))
        return NULL;
    for (int k = 0; k < 2; k++) {
        struct ir_expr *self = value->operands[k], *other = value->operands[1 - k];
        if (self->kind != IR_SYMBOL || self->symbol != stmt->symbol ||
            (k == 1 && value->operation == OP_SUB) || !pass_is_same_in_all(loop, other))
            continue;
        other = pass_copy(counter->pass, other);
        return value->operation == OP_ADD
                   ? other
                   : pass_apply(counter->pass, OP_SUB, pass_number(counter->pass, 0), other);
    }
    return NULL;
}

struct search {
    const struct ir_symbol *symbol;
    int assignments;
    bool declared;
};

static bool note_changes(struct ir_stmt *stmt, void *context)
{
    struct search *search = context;
    search->assignments += stmt->kind == IR_ASSIGN && stmt->symbol == search->symbol;
    search->declared |= stmt->kind == IR_VARIABLE && stmt->symbol == search->symbol;
    return true;
}

/* What each iteration adds to the variable; NULL: nobody can tell. */
static struct ir_expr *growth_of(struct counter *counter, const struct ir_stmt *loop,
                                 const struct ir_symbol *symbol)
{
    struct search search = {.symbol = symbol};
    struct ir_expr *sum = pass_number(counter->pass, 0);

    ir_block_walk(loop->body, note_changes, &search);
    for (const struct ir_stmt *stmt = loop->body; stmt && sum; stmt = stmt->next) {
        if (stmt->kind != IR_ASSIGN || stmt->symbol != symbol)
            continue;
        struct ir_expr *more = added(counter, loop, stmt);
        sum = more ? pass_apply(counter->pass, OP_ADD, sum, more) : NULL;
        search.assignments--;
    }
    return search.declared || search.assignments ? NULL : sum;
}

/* ---- the change ------------------------------------------------------------------------------------ */

/* The statement alone, with what is in it. */
static void replace_uses(struct counter *counter, struct ir_stmt *stmt, struct ir_symbol *symbol,
                         struct ir_expr *value)
{
    struct ir_stmt *next = stmt->next;
    stmt->next = NULL;
    symbol->note = value;
    pass_substitute(counter->pass, stmt);
    symbol->note = NULL;
    stmt->next = next;
}

/* Takes the assignments out of the loop, and puts what they gave where it is read. */
static void put_sums(struct counter *counter, struct ir_stmt *loop, struct ir_symbol *symbol,
                     struct ir_expr *value)
{
    struct ir_stmt **place = &loop->body;

    while (*place) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_ASSIGN && stmt->symbol == symbol) {
            value = pass_apply(counter->pass, OP_ADD, value, added(counter, loop, stmt));
            *place = stmt->next;
        } else {
            replace_uses(counter, stmt, symbol, value);
            place = &stmt->next;
        }
    }
}

static void count(struct counter *counter, struct ir_stmt *loop, struct ir_symbol *symbol,
                  struct ir_expr *growth)
{
    struct ir_kernel *kernel = counter->pass->kernel;
    struct ir_stmt *total = ir_stmt_new(kernel, IR_ASSIGN, loop->span);
    struct ir_expr *iterations = count_to(counter, loop, ir_symbol_use(kernel, loop->symbol));
    struct ir_expr *before = pass_apply(counter->pass, OP_MUL, iterations, pass_copy(counter->pass, growth));

    put_sums(counter, loop, symbol, pass_apply(counter->pass, OP_ADD, ir_symbol_use(kernel, symbol), before));
    total->symbol = symbol;
    pass_set_value(total, pass_apply(counter->pass, OP_ADD, ir_symbol_use(kernel, symbol),
                                     pass_apply(counter->pass, OP_MUL, count_all(counter, loop), growth)));
    total->next = loop->next;
    loop->next = total;
    counter->changed = true;
}

static bool suits(const struct ir_stmt *loop)
{
    return loop->kind == IR_FOR && (loop->step == 1 || loop->step == -1) && !pass_jumps(loop->body) &&
           pass_is_same_in_all(loop, loop->low) && pass_is_same_in_all(loop, loop->high);
}

/* Each variable is looked at once: all of the loop is gone through for it. */
static void count_in_loop(struct counter *counter, struct ir_stmt *loop)
{
    enum { MOST = 32 };
    const struct ir_symbol *seen[MOST];
    struct ir_stmt *stmt = loop->body;
    int count_seen = 0;

    while (stmt && count_seen < MOST) {
        bool may_grow = stmt->kind == IR_ASSIGN && stmt->symbol->dtype == AKG_INT64;
        for (int k = 0; k < count_seen; k++)
            may_grow = may_grow && seen[k] != stmt->symbol;
        struct ir_expr *growth = may_grow ? growth_of(counter, loop, stmt->symbol) : NULL;
        if (growth)
            count(counter, loop, stmt->symbol, growth);
        if (may_grow)
            seen[count_seen++] = stmt->symbol;
        stmt = growth ? loop->body : stmt->next;
    }
}

static void count_in_block(struct counter *counter, struct ir_stmt *first, int nesting)
{
    for (struct ir_stmt *stmt = first; stmt && nesting < DEEPEST; stmt = stmt->next) {
        bool is_loop = stmt->kind == IR_FOR;
        if (is_loop && counter->depth == MOST_LOOPS)
            continue;
        if (is_loop)
            counter->loops[counter->depth++] = stmt;
        count_in_block(counter, stmt->body, nesting + 1);
        count_in_block(counter, stmt->otherwise, nesting + 1);
        counter->depth -= is_loop;
        if (suits(stmt))
            count_in_loop(counter, stmt);
    }
}

bool pass_count(struct pass *pass)
{
    struct counter counter = {.pass = pass};

    count_in_block(&counter, pass->kernel->body, 0);
    if (counter.changed)
        pass_sweep(&pass->kernel->body);
    return counter.changed;
}

/*
 * pass_tighten.c: loops of a few iterations begin and end where conditions in them ask for it:
 *
 *     for r in 0, 3: for s in 0, 3: if i + r >= 1 and s < W - j: ...
 *     for r in max(0, 1 - i), 3: for s in 0, min(3, W - j): ...
 *
 * Consumes what partition left: windows at the borders of images. Loops one in the other with nothing but
 * scalars between them, and in the innermost an if; of its condition each comparison that has a variable of
 * these becomes a bound of the innermost loop that it has one of. The comparison may hang on all other loops
 * around but the nearest with many iterations: that one may become vectors, whose lanes have masks but no
 * bounds of their own. So borders are a few lines of code instead of one test for each place of the window
 * written out.
 */
#include "pass_partition.h"

enum { WINDOWS = 4, DEEPEST = 100 };

/* Loops one in the other, outermost first, and what the innermost holds. */
struct windows {
    struct ir_stmt *loops[WINDOWS];
    struct ir_stmt **choice; /* where the if stands */
    int count;
};

/* ---- the shape ------------------------------------------------------------------------------------ */

/* The last statement of a block in which only pure scalars stand before it; NULL: there is no such one. */
static struct ir_stmt **only_statement(struct ir_stmt **block)
{
    while (*block && (*block)->kind == IR_LET && (*block)->next && pass_is_pure((*block)->value))
        block = &(*block)->next;
    return *block && !(*block)->next ? block : NULL;
}

static bool find_windows(const struct partition *partition, struct ir_stmt *loop, struct windows *windows)
{
    struct ir_stmt **inside = NULL;

    windows->count = 0;
    while (windows->count < WINDOWS && loop->step == 1 && partition_has_few_iterations(partition, loop)) {
        windows->loops[windows->count++] = loop;
        inside = only_statement(&loop->body);
        if (!inside || (*inside)->kind != IR_FOR)
            break;
        loop = *inside;
    }
    windows->choice = inside;
    return inside && (*inside)->kind == IR_IF && !(*inside)->otherwise;
}

/* ---- conditions ------------------------------------------------------------------------------------- */

/* The nearest loop around that may have many iterations; NULL. */
static const struct ir_symbol *lanes_of(const struct partition *partition)
{
    int k = partition->count;

    while (k > 0 && partition_has_few_iterations(partition, partition->loops[k - 1]))
        k--;
    return k > 0 ? partition->loops[k - 1]->symbol : NULL;
}

/* Whether the place has the same value all through the loop: it is made of dims and of loops around it. */
static bool is_steady(const struct windows *windows, int level, const struct place *place)
{
    for (int k = 0; k < place->at.count; k++) {
        const struct ir_symbol *symbol = place->at.terms[k].symbol;
        if (symbol->kind != IR_SYMBOL_DIM && symbol->kind != IR_SYMBOL_LOOP && !symbol->known.bits)
            return false;
        for (int inner = level; inner < windows->count; inner++)
            if (windows->loops[inner]->symbol == symbol)
                return false;
    }
    return !place->is_far;
}

/* Where the loop is to begin, or to end, because of the comparison. False: it says nothing of it alone. */
static bool bound_of(struct partition *partition, const struct windows *windows, int level,
                     const struct ir_expr *expr, struct question *question)
{
    const struct cutter cutter = {.partition = partition, .variable = windows->loops[level]->symbol};
    const struct ir_symbol *lanes = lanes_of(partition);

    return expr->kind == IR_OPERATION && expr->operation != OP_MIN && expr->operation != OP_MAX &&
           partition_ask(&cutter, expr, question) && question->kind == QUESTION_SIDE &&
           is_steady(windows, level, &question->from) &&
           (!lanes || pass_affine_coefficient(&question->from.at, lanes) == 0);
}

static void put_bound(struct pass *pass, struct ir_stmt *loop, const struct question *question)
{
    struct ir_expr **end = question->is_not ? &loop->high : &loop->low;

    *end = ir_operation(pass->kernel, question->is_not ? OP_MIN : OP_MAX, *end,
                        partition_expr(pass, &question->from), NULL);
}

/* Gives what is left of the condition; NULL: nothing. What stands behind a load may be there for its sake. */
static struct ir_expr *take_bounds(struct partition *partition, const struct windows *windows,
                                   struct ir_expr *expr, bool *is_first)
{
    struct ir_kernel *kernel = partition->pass->kernel;
    struct question question;

    if (expr->kind == IR_OPERATION && expr->operation == OP_AND) {
        struct ir_expr *a = take_bounds(partition, windows, expr->operands[0], is_first);
        struct ir_expr *b = take_bounds(partition, windows, expr->operands[1], is_first);
        return !a ? b : !b ? a : ir_operation(kernel, OP_AND, a, b, NULL);
    }
    *is_first = *is_first && pass_is_pure(expr);
    for (int level = windows->count - 1; level >= 0 && *is_first; level--)
        if (bound_of(partition, windows, level, expr, &question)) {
            put_bound(partition->pass, windows->loops[level], &question);
            partition->changed = true;
            return NULL;
        }
    return expr;
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static void tighten_windows(struct partition *partition, struct windows *windows)
{
    struct ir_stmt *choice = *windows->choice;
    bool is_first = true;
    struct ir_expr *left = take_bounds(partition, windows, choice->value, &is_first);

    if (left)
        pass_set_value(choice, left);
    else
        *windows->choice = choice->body;
}

static void tighten_block(struct partition *partition, struct ir_stmt *block, int depth)
{
    struct windows windows;

    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && find_windows(partition, stmt, &windows))
            tighten_windows(partition, &windows);
        bool is_known = stmt->kind == IR_FOR && partition->count < PARTITION_LOOPS;
        if (is_known)
            partition_know(partition, stmt);
        tighten_block(partition, stmt->body, depth + 1);
        partition->count -= is_known;
        tighten_block(partition, stmt->otherwise, depth + 1);
    }
}

bool pass_tighten(struct pass *pass)
{
    struct partition partition = {.pass = pass};

    partition.least = arena_array(pass->arena, int64_t, pass->kernel->dims.count);
    tighten_block(&partition, pass->kernel->body, 0);
    if (partition.changed) {
        pass_simplify(pass);
        pass_hoist(pass);
    }
    return partition.changed;
}

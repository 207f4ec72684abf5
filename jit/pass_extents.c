/*
 * pass_extents.c: loops that test indices of which the extents tell whether all are inside run without tests
 * where they do.
 *
 *     for j: if i != j: s = s + m[j]     (m[j] is tested: no extent says that there is such a j)
 *
 *     if x.shape[0] <= m.shape[0] { the loop, without tests } else { the loop as it was }
 *
 * Consumes outermost loops in which nothing may stop but for such indices: sums of loop variables whose
 * bounds are extents, and of these. All values that an index may have are asked for, whatever conditions it
 * stands under; that they are inside is enough, not needed. Runs first, so that other passes find a loop that
 * cannot stop.
 */
#include "pass.h"

enum {
    STATEMENTS = 40,  /* of what there will be twice; */
    LOOPS = 16,       /* around an access */
    CONDITIONS = 16,  /* of all indices */
    NESTS = 8,        /* of a kernel */
    FACTOR = 1 << 14, /* of an extent in an index: sums of these are far from 2^63 */
    DEEPEST = 100
};

struct asker {
    struct pass *pass;
    const struct ir_stmt *loops[LOOPS]; /* around what is looked at, outermost first */
    int depth;
    struct ir_expr *conditions[CONDITIONS];
    int count, statements;
    bool refused;
};

static struct ir_expr *operation(struct asker *asker, enum operation operation, struct ir_expr *a,
                                 struct ir_expr *b)
{
    return ir_operation(asker->pass->kernel, operation, a, b, NULL);
}

static struct ir_expr *number(struct asker *asker, int64_t value)
{
    return ir_integer(asker->pass->kernel, AKG_INT64, value);
}

/* ---- what an index may be --------------------------------------------------------------------- */

static bool is_of_extents(struct ir_expr *expr, void *context)
{
    (void)context;
    switch (expr->kind) {
    case IR_INTEGER:
        return expr->integer <= FACTOR && expr->integer >= -FACTOR;
    case IR_SYMBOL:
        return expr->symbol->kind == IR_SYMBOL_DIM;
    case IR_OPERATION:
        return !expr->checked && (expr->operation == OP_ADD || expr->operation == OP_SUB ||
                                  expr->operation == OP_MIN || expr->operation == OP_MAX ||
                                  (expr->operation == OP_FLOORDIV && expr->operands[1]->kind == IR_INTEGER));
    default:
        return false;
    }
}

/* The loop around whose variable the symbol is, if its bounds are extents; NULL. */
static const struct ir_stmt *loop_of_extents(const struct asker *asker, const struct ir_symbol *symbol)
{
    for (int k = 0; k < asker->depth; k++) {
        const struct ir_stmt *loop = asker->loops[k];
        if (loop->symbol == symbol)
            return loop->step == 1 && ir_expr_walk(loop->low, is_of_extents, NULL) &&
                           ir_expr_walk(loop->high, is_of_extents, NULL)
                       ? loop
                       : NULL;
    }
    return NULL;
}

/* What the sum is at most, or at least; NULL: that is not known before the loop. */
static struct ir_expr *end_of_sum(struct asker *asker, const struct pass_affine *sum, bool greatest)
{
    struct ir_expr *end = number(asker, sum->constant);
    for (int k = 0; k < sum->count; k++) {
        int64_t factor = sum->terms[k].coefficient;
        const struct ir_symbol *symbol = sum->terms[k].symbol;
        const struct ir_stmt *loop = loop_of_extents(asker, symbol);
        bool high = greatest == (factor > 0);
        if ((!loop && symbol->kind != IR_SYMBOL_DIM) || factor > FACTOR || factor < -FACTOR)
            return NULL;
        /* affine forms do not change what they name */
        struct ir_expr *value = loop ? pass_copy(asker->pass, high ? loop->high : loop->low)
                                     : ir_symbol_use(asker->pass->kernel, (struct ir_symbol *)symbol);
        if (loop && high)
            value = operation(asker, OP_SUB, value, number(asker, 1));
        end = operation(asker, OP_ADD, end, operation(asker, OP_MUL, value, number(asker, factor)));
    }
    return end;
}

/* ---- all indices -------------------------------------------------------------------------------- */

static void ask(struct asker *asker, struct ir_expr *condition)
{
    for (int k = 0; k < asker->count; k++)
        if (ir_expr_equal(asker->conditions[k], condition))
            return;
    if (asker->count == CONDITIONS)
        asker->refused = true;
    else
        asker->conditions[asker->count++] = condition;
}

static void ask_of_index(struct asker *asker, const struct ir_expr *index, const struct ir_expr *extent)
{
    struct pass_affine sum;
    struct ir_expr *least = NULL, *greatest = NULL;
    if (pass_affine_of(index, &sum) && sum.constant <= FACTOR && sum.constant >= -FACTOR) {
        least = end_of_sum(asker, &sum, false);
        greatest = end_of_sum(asker, &sum, true);
    }
    if (!least || !greatest) {
        asker->refused = true;
        return;
    }
    ask(asker, operation(asker, OP_GE, least, number(asker, 0)));
    ask(asker, operation(asker, OP_LT, greatest, pass_copy(asker->pass, extent)));
}

static void ask_of_access(struct asker *asker, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT)
            ask_of_index(asker, access->indices[axis], access->buffer->shape[axis]);
}

static bool ask_of_load(struct ir_expr *expr, void *context)
{
    struct asker *asker = context;
    if (expr->kind == IR_LOAD)
        ask_of_access(asker, &expr->access);
    asker->refused |= expr->kind == IR_OPERATION && expr->checked;
    return !asker->refused;
}

static bool is_copied(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_FOR || stmt->kind == IR_IF || stmt->kind == IR_STORE || stmt->kind == IR_LET ||
           stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN;
}

static void ask_of_block(struct asker *asker, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt && !asker->refused; stmt = stmt->next) {
        if (!is_copied(stmt) || ++asker->statements > STATEMENTS || asker->depth == LOOPS) {
            asker->refused = true;
            return;
        }
        ir_stmt_expressions(stmt, ask_of_load, asker);
        if (stmt->kind == IR_STORE)
            ask_of_access(asker, &stmt->access);
        asker->loops[asker->depth] = stmt;
        asker->depth += stmt->kind == IR_FOR;
        ask_of_block(asker, stmt->body);
        ask_of_block(asker, stmt->otherwise);
        asker->depth -= stmt->kind == IR_FOR;
    }
}

/* ---- the change ----------------------------------------------------------------------------------- */

/* Vectors that test are as good in loops around none. */
static bool make_versions(struct pass *pass, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, *next = loop->next;
    struct asker asker = {.pass = pass};
    if (loop->kind != IR_FOR || !pass_has_loop(loop->body) || !pass_block_may_stop(loop->body))
        return false;
    loop->next = NULL;
    ask_of_block(&asker, loop);
    if (asker.refused || !asker.count) {
        loop->next = next;
        return false;
    }
    struct ir_expr *all = asker.conditions[0];
    for (int k = 1; k < asker.count; k++)
        all = operation(&asker, OP_AND, all, asker.conditions[k]);
    if (all->kind == IR_INTEGER &&
        !all->integer) { /* conditions around the indices may still hold them inside */
        loop->next = next;
        return false;
    }
    struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, loop->span);
    choice->value = all;
    choice->body = pass_copy_block(pass, loop);
    pass_trust(choice->body);
    choice->otherwise = loop;
    choice->next = next;
    *place = choice;
    return true;
}

static bool visit_block(struct pass *pass, struct ir_stmt **block, int *made, int depth)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        if (*made < NESTS && make_versions(pass, place)) {
            changed = true;
            ++*made;
            continue;
        }
        changed |= visit_block(pass, &(*place)->body, made, depth + 1);
        changed |= visit_block(pass, &(*place)->otherwise, made, depth + 1);
    }
    return changed;
}

bool pass_extents(struct pass *pass)
{
    int made = 0;
    return visit_block(pass, &pass->kernel->body, &made, 0);
}

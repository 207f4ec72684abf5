/*
 * pass_extents.c: loops that test indices and divisors of which extents and attributes tell whether all are
 * as they should be run without tests where they are.
 *
 *     for j: if i != j: s = s + m[j]     (m[j] is tested: no extent says that there is such a j)
 *
 *     if x.shape[0] <= m.shape[0] { the loop, without tests } else { the loop as it was }
 *
 *     for h { for j { y[h, j] = k[h // group, j] } }
 *
 *     if 0 < group and (H - 1) // max(group, 1) < K { the loops, h // max(group, 1) without tests } else ...
 *
 * Consumes outermost loops in which nothing may stop but for such indices (pass_extents_ends.c says which
 * these are), and for divisors that the call says. All values that an index may have are asked for, as far as
 * no condition that it stands under compares it; that they are inside is enough, not needed. Where divisors
 * are tested, too, other indices stay as they are. Runs first, so that other passes find a loop that cannot
 * stop. A divisor that is known to be above 0 is written as the maximum of 1 and itself, so that whoever
 * moves the quotient sees that.
 */
#include "pass_extents.h"

enum {
    STATEMENTS = 40, /* of what there will be twice; */
    NESTS = 8,       /* of a kernel */
    DEEPEST = 100
};

/* ---- the nest without tests ------------------------------------------------------------------------ */

/* Whether the call says that the index is inside, where the conditions hold, of which there may be more now.
 */
static bool ask_of_index(struct asker *asker, const struct ir_expr *index, const struct ir_expr *extent)
{
    struct ends ends;
    int before = asker->count;
    if (extents_ends_of(asker, index, &ends) &&
        extents_ask(asker, OP_GE, ends.least, extents_number(asker, AKG_INT64, 0)) &&
        extents_ask(asker, OP_LT, ends.greatest, extent))
        return true;
    asker->count = before;
    asker->stops = true; /* conditions around it may keep it inside */
    return false;
}

bool extents_trust_access(struct asker *asker, struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        if (!ask_of_index(asker, access->indices[axis], access->buffer->shape[axis]))
            return false;
        access->checks[axis] = IR_CHECK_PROVED;
    }
    return true;
}

static void trust_access(struct asker *asker, struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT &&
            ask_of_index(asker, access->indices[axis], access->buffer->shape[axis]))
            access->checks[axis] = IR_CHECK_PROVED;
}

/* A divisor above 0 says so from here on. */
static void trust_divisor(struct asker *asker, struct ir_expr *expr)
{
    struct ir_expr *divisor = expr->operation == OP_POW ? NULL : extents_divisor(asker, expr->operands[1]);
    asker->refused |= !divisor;
    asker->divides = true;
    expr->checked = false;
    if (divisor)
        expr->operands[1] = divisor;
}

static bool trust_node(struct ir_expr *expr, void *context)
{
    struct asker *asker = context;
    if (expr->kind == IR_LOAD)
        trust_access(asker, &expr->access);
    if (expr->kind == IR_OPERATION && expr->checked)
        trust_divisor(asker, expr);
    return !asker->refused;
}

static void trust_block(struct asker *asker, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt && !asker->refused; stmt = stmt->next) {
        if (asker->depth == EXTENTS_LOOPS) {
            asker->refused = true;
            return;
        }
        ir_stmt_expressions(stmt, trust_node, asker);
        if (stmt->kind == IR_STORE)
            trust_access(asker, &stmt->access);
        asker->loops[asker->depth] = stmt;
        asker->depth += stmt->kind == IR_FOR;
        int guards = asker->guard_count;
        if (stmt->kind == IR_IF)
            extents_know(asker, stmt->value, true);
        trust_block(asker, stmt->body);
        asker->guard_count = guards;
        if (stmt->kind == IR_IF)
            extents_know(asker, stmt->value, false);
        trust_block(asker, stmt->otherwise);
        asker->guard_count = guards;
        asker->depth -= stmt->kind == IR_FOR;
    }
}

/* ---- the change ----------------------------------------------------------------------------------- */

/* Quotients by what the call says are there. */
static bool is_no_quotient(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_OPERATION || (expr->operation != OP_FLOORDIV && expr->operation != OP_MOD) ||
           !pass_is_of_call(expr->operands[1]);
}

static bool is_flat(struct ir_stmt *loop)
{
    return !ir_block_expressions(loop->body, is_no_quotient, NULL);
}

/* Vectors that test indices are as good in loops around none, but for those that pass_flat takes apart. */
static bool make_versions(struct pass *pass, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, *next = loop->next;
    struct asker asker = {.pass = pass};
    int room = STATEMENTS - 1; /* the loop itself is one */
    if (loop->kind != IR_FOR || !pass_block_may_stop(loop->body) ||
        !ir_block_walk(loop->body, pass_can_be_copied, &room))
        return false;
    loop->next = NULL;
    struct ir_stmt *trusted = pass_copy_block(pass, loop);
    loop->next = next;
    trust_block(&asker, trusted);
    struct ir_expr *all = asker.refused ? NULL : extents_all(&asker);
    bool is_worth = pass_has_for(loop->body) || is_flat(loop);
    if (!all || (!asker.divides && (asker.stops || !is_worth)))
        return false;
    struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, loop->span);
    choice->value = all;
    choice->body = trusted;
    choice->otherwise = loop;
    loop->next = NULL;
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

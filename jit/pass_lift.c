/*
 * pass_lift.c: a condition on nothing but dims, attributes and constants, which is all that a loop holds,
 * goes outside of it, with what stands in its other branch in a loop of its own:
 *
 *     for i: for j: if 0 < K: c[i, j] = ...   becomes   if 0 < K: for i: for j: c[i, j] = ...
 *
 * Such conditions are written, and passes that keep an element in a scalar make them: the element is loaded
 * where the loop has an iteration. Inside of a nest they would keep it from being one. So is one around a
 * loop that stands beside other statements, which there are twice then, for what is left is rows that are one
 * piece of code: the place of the greatest element, `if 1 < C: top = x[i, 0]; for c in range(1, C): ...`. It
 * runs behind fusion, for which a loop under a condition is no neighbour.
 */
#include "pass.h"

enum { MOST = 24 /* statements that there are twice then */ };

/* Without another branch nothing is left of the loop where the condition does not hold: then its bounds may
 * not stop the kernel. */
static bool holds_choice(const struct ir_stmt *stmt)
{
    if (stmt->kind != IR_FOR || !stmt->body || stmt->body->kind != IR_IF || stmt->body->next)
        return false;
    bool stays = stmt->body->otherwise ? !stmt->hint
                                       : !pass_expr_may_stop(stmt->low) && !pass_expr_may_stop(stmt->high);
    return stays && pass_is_of_call(stmt->body->value);
}

/* Gives the condition, in whose branches the loop is now. */
static struct ir_stmt *lift(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_stmt *choice = loop->body;

    choice->next = loop->next;
    if (choice->otherwise)
        choice->otherwise = pass_new_loop(pass, loop, choice->otherwise);
    loop->next = NULL;
    loop->body = choice->body;
    choice->body = loop;
    return choice;
}

static bool count(struct ir_stmt *stmt, void *left)
{
    (void)stmt;
    return --*(int *)left >= 0;
}

/* The only condition of the call around a loop, in a loop of a few statements; NULL. */
static struct ir_stmt *choice_among(const struct ir_stmt *loop)
{
    struct ir_stmt *found = NULL;
    int left = MOST;

    if (loop->kind != IR_FOR || loop->hint || !ir_block_walk(loop->body, count, &left))
        return NULL;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind != IR_IF || !pass_is_of_call(stmt->value) || !pass_has_for(stmt->body))
            continue;
        if (found)
            return NULL;
        found = stmt;
    }
    return found;
}

/* What stands in one of its branches in the place of the choice. */
static void take(struct ir_stmt *loop, const struct ir_stmt *choice, struct ir_stmt *branch)
{
    struct ir_stmt **place = &loop->body;

    while (*place != choice)
        place = &(*place)->next;
    *place = branch;
    while (*place)
        place = &(*place)->next;
    *place = choice->next;
}

static struct ir_stmt *lift_among(struct pass *pass, struct ir_stmt *loop, const struct ir_stmt *choice)
{
    struct ir_stmt *outside = ir_stmt_new(pass->kernel, IR_IF, choice->span), *next = loop->next;

    loop->next = NULL;
    struct ir_stmt *other = pass_copy_block(pass, loop), *same = other->body;
    for (const struct ir_stmt *stmt = loop->body; stmt != choice; stmt = stmt->next)
        same = same->next;
    take(other, same, same->otherwise);
    take(loop, choice, choice->body);
    outside->value = choice->value;
    outside->body = loop;
    outside->otherwise = other;
    outside->next = next;
    return outside;
}

/* Innermost loops first, so that a condition goes all the way; what it leaves behind may be another one. */
static bool lift_block(struct pass *pass, struct ir_stmt **block)
{
    bool changed = false;

    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        changed |= lift_block(pass, &(*place)->body);
        changed |= lift_block(pass, &(*place)->otherwise);
        if (holds_choice(*place)) {
            *place = lift(pass, *place);
            lift_block(pass, &(*place)->body);
            lift_block(pass, &(*place)->otherwise);
            changed = true;
        }
        const struct ir_stmt *choice = choice_among(*place);
        if (choice) {
            *place = lift_among(pass, *place, choice);
            changed = true;
        }
    }
    return changed;
}

bool pass_lift(struct pass *pass)
{
    return lift_block(pass, &pass->kernel->body);
}

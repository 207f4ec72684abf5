/*
 * pass_lift.c: a condition on nothing but dims, attributes and constants, which is all that a loop holds,
 * goes outside of it, with what stands in its other branch in a loop of its own:
 *
 *     for i: for j: if 0 < K: c[i, j] = ...   becomes   if 0 < K: for i: for j: c[i, j] = ...
 *
 * Such conditions are written, and passes that keep an element in a scalar make them: the element is loaded
 * where the loop has an iteration. Inside of a nest they would keep it from being one. It runs behind fusion,
 * for which a loop under a condition is no neighbour.
 */
#include "pass.h"

static bool holds_choice(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_FOR && stmt->body && stmt->body->kind == IR_IF && !stmt->body->next &&
           !(stmt->hint && stmt->body->otherwise) && pass_is_of_call(stmt->body->value);
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
    }
    return changed;
}

bool pass_lift(struct pass *pass)
{
    return lift_block(pass, &pass->kernel->body);
}

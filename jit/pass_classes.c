/*
 * pass_classes.c: a loop that goes through the remainders which a congruence may ask for is written out:
 *
 *     for colour in 0, 2: for i: for j: if (i + j) % 2 == colour: u[i, j] = ...
 *
 * becomes one nest for each colour, in that order, each with a congruence whose remainder is a constant, so
 * that pass `phases` goes through the iterations alone that fulfil it.
 *
 * Consumes loops of a few iterations, known by number, in which nothing may stop, for messages tell their
 * variables, and from which nothing jumps.
 */
#include "pass.h"

enum {
    MOST = 4, /* iterations */
    STATEMENTS = 40,
    WRITTEN = 400, /* statements of a kernel that are written out, with those that were so before */
    DEEPEST = 100
};

struct asker {
    const struct ir_symbol *variable;
    bool asks;
};

/* `... % 2 == variable` */
static bool look_at(struct ir_expr *expr, void *context)
{
    struct asker *asker = context;

    for (int side = 0; expr->kind == IR_OPERATION && expr->operation == OP_EQ && side < 2; side++) {
        const struct ir_expr *remainder = expr->operands[side], *rest = expr->operands[1 - side];
        asker->asks |= rest->kind == IR_SYMBOL && rest->symbol == asker->variable &&
                       remainder->kind == IR_OPERATION && remainder->operation == OP_MOD &&
                       remainder->operands[1]->kind == IR_INTEGER;
    }
    return !asker->asks;
}

/* `left`: statements that may still be written out. */
static bool is_candidate(const struct ir_stmt *loop, int *left)
{
    struct asker asker = {.variable = loop->symbol};
    int room = STATEMENTS;
    bool is = loop->kind == IR_FOR && !loop->hint && loop->step == 1 && loop->low->kind == IR_INTEGER &&
              loop->high->kind == IR_INTEGER && loop->low->integer >= 0 &&
              loop->high->integer <= loop->low->integer + MOST && loop->high->integer > loop->low->integer &&
              !ir_block_expressions(loop->body, look_at, &asker) && !pass_block_may_stop(loop->body) &&
              ir_block_walk(loop->body, pass_can_be_copied, &room);

    if (!is || (STATEMENTS - room) * (loop->high->integer - loop->low->integer) > *left)
        return false;
    *left -= (STATEMENTS - room) * (int)(loop->high->integer - loop->low->integer);
    return true;
}

/* The body for each iteration, one behind the other. */
static struct ir_stmt *write_out(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_stmt *first = NULL, **end = &first;

    for (int64_t k = loop->low->integer; k < loop->high->integer; k++) {
        loop->symbol->note = ir_integer(pass->kernel, AKG_INT64, k);
        *end = pass_copy_block(pass, loop->body);
        loop->symbol->note = NULL;
        while (*end)
            end = &(*end)->next;
    }
    *end = loop->next;
    return first;
}

static bool visit_block(struct pass *pass, struct ir_stmt **place, int depth, int *left)
{
    bool changed = false;

    while (*place && depth < DEEPEST) {
        struct ir_stmt *stmt = *place;
        if (is_candidate(stmt, left)) {
            *place = write_out(pass, stmt);
            changed = true;
            continue;
        }
        changed |= visit_block(pass, &stmt->body, depth + 1, left);
        changed |= visit_block(pass, &stmt->otherwise, depth + 1, left);
        place = &stmt->next;
    }
    return changed;
}

bool pass_classes(struct pass *pass)
{
    int left = WRITTEN;

    if (!visit_block(pass, &pass->kernel->body, 0, &left))
        return false;
    pass_simplify_block(pass, &pass->kernel->body);
    return true;
}

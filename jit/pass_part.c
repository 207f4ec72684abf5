/*
 * pass_part.c: a loop whose iterations keep their order becomes several, where its statements have nothing to
 * do with one another:
 *
 *     for i { n[label[i]] += 1; for d { c[label[i], d] += x[i, d] } }
 *
 * is a histogram and rows that are picked, which back ends know each by itself. Consumes loops around others
 * in which nothing stops, whose statements store to buffers that no other statement of the loop accesses, and
 * hand on no scalars but those that are computed anew in each iteration. Loops whose iterations may run in
 * any order stay: they are bands.
 */
#include "pass.h"

enum { MOST = 4 /* statements of the loop */, LARGEST = 60 /* with those inside */, DEEPEST = 100 };

struct parts {
    struct ir_stmt *items[MOST]; /* stores and loops */
    int count, loops;
};

/* ---- what accesses what ------------------------------------------------------------------------------- */

/* Whether a statement of the body but this one accesses what it stores to. */
static bool is_shared(struct ir_stmt *body, const struct ir_stmt *part, struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        for (struct ir_stmt *other = body; stmt->kind == IR_STORE && other; other = other->next)
            if (other != part && ir_stmt_accesses(other, stmt->access.buffer))
                return true;
        if (is_shared(body, part, stmt->body) || is_shared(body, part, stmt->otherwise))
            return true;
    }
    return false;
}

static bool stores_alone(struct ir_stmt *body, const struct ir_stmt *part)
{
    struct ir_stmt alone = *part;
    alone.next = NULL;
    return !is_shared(body, part, &alone);
}

/* ---- loops ------------------------------------------------------------------------------------------------
 */

static bool is_few(struct ir_stmt *stmt, void *count)
{
    (void)stmt;
    return ++*(int *)count <= LARGEST;
}

/* Whether it may be copied; what it assigns is the body's own. */
static bool is_plain(struct ir_stmt *stmt, void *body)
{
    if (stmt->kind == IR_ASSIGN)
        return ir_block_declares(body, stmt->symbol);
    return stmt->kind == IR_FOR || stmt->kind == IR_STORE || stmt->kind == IR_LET || stmt->kind == IR_IF ||
           stmt->kind == IR_VARIABLE;
}

static bool find_parts(const struct ir_stmt *loop, struct parts *parts)
{
    int count = 0;
    *parts = (struct parts){.count = 0};
    if (loop->kind != IR_FOR || loop->hint || loop->independent ||
        !ir_block_walk(loop->body, is_few, &count) || !ir_block_walk(loop->body, is_plain, loop->body) ||
        pass_block_may_stop(loop->body) || !pass_is_pure(loop->low) || !pass_is_pure(loop->high))
        return false;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_LET)
            continue;
        if ((stmt->kind != IR_STORE && stmt->kind != IR_FOR) || parts->count == MOST)
            return false;
        parts->loops += stmt->kind == IR_FOR;
        parts->items[parts->count++] = stmt;
    }
    if (parts->count < 2 || parts->loops == 0)
        return false;
    for (int k = 0; k < parts->count; k++)
        if (!stores_alone(loop->body, parts->items[k]))
            return false;
    return true;
}

static bool keeps_order(struct pass *pass, struct ir_stmt *loop)
{
    const struct dependences *dependences = pass_dependences(pass, loop);
    const struct dependence_loop *row = dependences ? dependence_loop_is_parallel(dependences, loop) : NULL;
    return row && row->verdict != DEPENDENCE_PARALLEL;
}

/* The loop around one of its statements, and the scalars. */
static struct ir_stmt *loop_of(struct pass *pass, const struct ir_stmt *loop, const struct ir_stmt *part)
{
    struct ir_stmt *first = NULL, **end = &first;
    for (const struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind != IR_LET && stmt != part)
            continue;
        struct ir_stmt *one = arena_new(pass->arena, struct ir_stmt);
        *one = *stmt;
        one->next = NULL;
        *end = one;
        end = &one->next;
        if (stmt == part)
            break;
    }
    return pass_new_loop(pass, loop, pass_copy_block(pass, first));
}

/* Gives the place behind. */
static struct ir_stmt **part_loop(struct pass *pass, struct ir_stmt **place, const struct parts *parts)
{
    const struct ir_stmt *loop = *place;
    for (int k = 0; k < parts->count; k++) {
        *place = loop_of(pass, loop, parts->items[k]);
        place = &(*place)->next;
    }
    *place = loop->next;
    return place;
}

static bool part_block(struct pass *pass, struct ir_stmt **place, int depth)
{
    bool changed = false;
    struct parts parts;
    while (*place && depth < DEEPEST) {
        struct ir_stmt *stmt = *place;
        if (find_parts(stmt, &parts) && keeps_order(pass, stmt)) {
            place = part_loop(pass, place, &parts);
            changed = true;
            continue;
        }
        changed |= part_block(pass, &stmt->body, depth + 1);
        changed |= part_block(pass, &stmt->otherwise, depth + 1);
        place = &stmt->next;
    }
    return changed;
}

bool pass_part(struct pass *pass)
{
    return part_block(pass, &pass->kernel->body, 0);
}

/*
 * pass_join.c: what both sides of a condition store into the same elements is stored behind it:
 *
 *     if j > i: s[i, j] = low             s[i, j] = low if j > i else total * scale
 *     else: s[i, j] = total * scale
 *
 * so that sums before it, and what follows it, lie in loops without conditions. Consumes any kernel; sides
 * hold nothing but such stores, in the same order, and names of what can be computed anywhere, which then
 * stand before the condition. Of the two values only the one that is asked for is computed, as before.
 */
#include "pass.h"

enum { DEEPEST = 100, MOST_STORES = 4 };

struct side {
    struct ir_stmt *stores[MOST_STORES];
    int count;
};

/* The stores of a side; false: there is something else in it, or too many, or one may be loaded by another.
 */
static bool find_stores(struct ir_stmt *block, struct side *side)
{
    side->count = 0;
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_LET ? !pass_is_pure(stmt->value)
                                 : stmt->kind != IR_STORE || side->count == MOST_STORES)
            return false;
        for (int k = 0; k < side->count; k++) {
            const struct ir_buffer *before = side->stores[k]->access.buffer;
            if (ir_expr_loads_from(stmt->value, before))
                return false;
            for (int axis = 0; stmt->kind == IR_STORE && axis < stmt->access.buffer->rank; axis++)
                if (ir_expr_loads_from(stmt->access.indices[axis], before))
                    return false;
        }
        if (stmt->kind == IR_STORE)
            side->stores[side->count++] = stmt;
    }
    return side->count > 0;
}

static bool has_no_note(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL || !expr->symbol->note;
}

/* Whether the indices name something that the side declares. */
static bool names_own(struct ir_stmt *block, const struct ir_access *access)
{
    bool names = false;
    ir_block_note_declared(block, block);
    for (int axis = 0; axis < access->buffer->rank; axis++)
        names = names || !ir_expr_walk(access->indices[axis], has_no_note, NULL);
    ir_block_note_declared(block, NULL);
    return names;
}

/* Whether the expression loads from a tensor that the side stores to. */
static bool loads_stored(struct ir_expr *expr, const struct side *side)
{
    for (int k = 0; k < side->count; k++)
        if (ir_expr_loads_from(expr, side->stores[k]->access.buffer))
            return true;
    return false;
}

static bool suits(struct ir_stmt *stmt, struct side *yes, struct side *no)
{
    if (!find_stores(stmt->body, yes) || !find_stores(stmt->otherwise, no) || yes->count != no->count)
        return false;
    for (int k = 0; k < yes->count; k++)
        if (!ir_access_equal(&yes->stores[k]->access, &no->stores[k]->access) ||
            pass_access_may_stop(&yes->stores[k]->access) || pass_access_may_stop(&no->stores[k]->access) ||
            names_own(stmt->body, &yes->stores[k]->access))
            return false;
    /* each of several asks again */
    return yes->count == 1 || !(loads_stored(stmt->value, yes) || pass_expr_may_stop(stmt->value));
}

/* Puts the names of the side before the condition, and returns what takes its place. */
static struct ir_stmt **put_names(struct ir_stmt **place, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block, *next; stmt; stmt = next) {
        next = stmt->next;
        if (stmt->kind != IR_LET)
            continue;
        stmt->next = *place;
        *place = stmt;
        place = &stmt->next;
    }
    return place;
}

static struct ir_stmt **join(struct pass *pass, struct ir_stmt **place, const struct side *yes,
                             const struct side *no)
{
    struct ir_stmt *stmt = *place, *next = stmt->next;
    *place = next;
    place = put_names(place, stmt->body);
    place = put_names(place, stmt->otherwise);
    for (int k = 0; k < yes->count; k++) {
        struct ir_stmt *store = yes->stores[k];
        struct ir_expr *condition = k ? pass_copy(pass, stmt->value) : stmt->value;
        struct ir_expr *value =
            ir_operation(pass->kernel, OP_SELECT, condition, store->value, no->stores[k]->value);
        value->span = store->value->span;
        pass_set_value(store, value);
        store->next = next;
        *place = store;
        place = &store->next;
    }
    return place;
}

static bool join_in(struct pass *pass, struct ir_stmt **block, int depth)
{
    bool changed = false;
    struct side yes, no;

    for (struct ir_stmt **place = block; *place && depth < DEEPEST;) {
        struct ir_stmt *stmt = *place;
        changed |= join_in(pass, &stmt->body, depth + 1);
        changed |= join_in(pass, &stmt->otherwise, depth + 1);
        if (stmt->kind == IR_IF && suits(stmt, &yes, &no)) {
            place = join(pass, place, &yes, &no);
            changed = true;
        } else {
            place = &stmt->next;
        }
    }
    return changed;
}

bool pass_join(struct pass *pass)
{
    return join_in(pass, &pass->kernel->body, 0);
}

/*
 * pass_pointed.c: what a loop compares with the element at the best index so far is kept in a scalar:
 *
 *     best = 0
 *     for j: if abs(x[i, j]) > abs(x[i, best]): best = j
 *
 * becomes
 *
 *     best = 0
 *     if the range is not empty:
 *         top = abs(x[i, best])
 *         for j: if abs(x[i, j]) > top: top = abs(x[i, j]); best = j
 *
 * which back ends know as a choice. Consumes loops whose first statements are such comparisons, in which
 * nothing may stop but for want of knowing that the best index is inside; the index begins below the range's
 * end, so that it is. They do not write the tensor. An index that is kept in fewer than 64 bits, or cast to
 * fewer on the way to the tensor, must have room for all of the range: else the loop stays, and one of the
 * two runs.
 */
#include "pass_pointed.h"
#include "../base/number.h"

enum { DEEPEST = 100 };

/* `if there > kept: ...; index = place`, or with the sides or the order exchanged. */
struct pointed {
    struct ir_expr **kept, *there; /* the sides of the condition */
    struct ir_stmt *assignment;
    int64_t room; /* the greatest number that all casts of indices leave as it is */
    bool shifts;  /* indices are more than the place: only those of the range are known to be inside */
};

struct pointer {
    struct pass *pass;
    const struct ir_stmt *around[DEEPEST]; /* loops */
    int count;
};

/* What a cast of integers to integers is of. */
static struct ir_expr *without_casts(struct ir_expr *expr)
{
    while (expr->kind == IR_OPERATION && expr->operation == OP_CAST && dtype_is_integer(expr->dtype) &&
           dtype_is_integer(expr->operands[0]->dtype))
        expr = expr->operands[0];
    return expr;
}

/* The greatest number of the dtype. */
static int64_t most_of(akg_dtype dtype)
{
    int bits = 8 * (int)dtype_table[dtype].size - dtype_is_signed(dtype);
    return bits >= 63 ? INT64_MAX : ((int64_t)1 << bits) - 1;
}

/* The greatest number that goes through all casts of the expression as it is. */
static int64_t room_in(const struct ir_expr *expr)
{
    int64_t most = INT64_MAX;
    for (; expr->kind == IR_OPERATION && expr->operation == OP_CAST; expr = expr->operands[0])
        most = number_smaller(most, most_of(expr->dtype));
    return most;
}

/* ---- whether it is one --------------------------------------------------------------------- */

struct changes {
    const struct ir_symbol *symbol;
    const struct ir_stmt *expected; /* NULL: none is */
    bool others;
};

static bool note_change(struct ir_stmt *stmt, void *context)
{
    struct changes *changes = context;
    changes->others |= stmt->symbol == changes->symbol && stmt != changes->expected;
    return true;
}

/* The loop gives the symbol no value but by the statement. */
static bool only_changes(struct ir_stmt *loop, const struct ir_symbol *symbol, const struct ir_stmt *by)
{
    struct changes changes = {symbol, by, loop->symbol == symbol};
    ir_block_walk(loop->body, note_change, &changes);
    return !changes.others;
}

struct mirror {
    struct ir_stmt *loop;
    const struct ir_symbol *index; /* found in the place of the loop's variable; NULL: not yet */
    int64_t room;                  /* as of pointed */
    bool shifts;
};

static bool same_index(struct mirror *mirror, struct ir_expr *there, struct ir_expr *kept)
{
    const struct ir_expr *cast_there = there, *cast_kept = kept;
    there = without_casts(there);
    kept = without_casts(kept);
    if (there->kind != IR_SYMBOL || there->symbol != mirror->loop->symbol || kept->kind != IR_SYMBOL)
        return false;
    if (mirror->index && mirror->index != kept->symbol)
        return false;
    mirror->index = kept->symbol;
    mirror->room = number_smaller(mirror->room, number_smaller(room_in(cast_there), room_in(cast_kept)));
    return mirror->index != mirror->loop->symbol;
}

/* The same computation, with one integer in the place of the loop's variable, and nothing else in it that the
 * loop changes. */
static bool mirrors(struct mirror *mirror, struct ir_expr *there, struct ir_expr *kept)
{
    if (same_index(mirror, there, kept))
        return true;
    if (there->kind != kept->kind || there->dtype != kept->dtype)
        return false;
    switch (there->kind) {
    case IR_SYMBOL:
        return there->symbol == kept->symbol && only_changes(mirror->loop, there->symbol, NULL);
    case IR_LOAD:
        if (there->access.buffer != kept->access.buffer ||
            ir_block_stores_to(mirror->loop->body, there->access.buffer))
            return false;
        for (int axis = 0; axis < there->access.buffer->rank; axis++) {
            struct ir_expr *index = there->access.indices[axis];
            mirror->shifts |=
                without_casts(index)->kind != IR_SYMBOL && pass_mentions(index, mirror->loop->symbol);
            if (!mirrors(mirror, index, kept->access.indices[axis]))
                return false;
        }
        return true;
    case IR_OPERATION:
        if (there->operation != kept->operation || there->checked)
            return false;
        for (int k = 0; k < there->count; k++)
            if (!mirrors(mirror, there->operands[k], kept->operands[k]))
                return false;
        return true;
    default:
        return ir_expr_equal(there, kept);
    }
}

static struct ir_stmt *assignment_of(struct ir_stmt *block, const struct ir_symbol *index)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_ASSIGN && stmt->symbol == index)
            return stmt;
    return NULL;
}

static bool find(struct ir_stmt *loop, struct ir_stmt *stmt, struct pointed *pointed)
{
    const struct ir_expr *condition = stmt->value;
    if (stmt->kind != IR_IF || stmt->otherwise || condition->kind != IR_OPERATION ||
        condition->operation < OP_LT || condition->operation > OP_GE)
        return false;
    for (int side = 0; side < 2; side++) {
        struct mirror mirror = {.loop = loop, .room = INT64_MAX};
        struct ir_expr *kept = condition->operands[side], *there = condition->operands[1 - side];
        if (!mirrors(&mirror, there, kept) || !mirror.index || mirror.index->kind != IR_SYMBOL_VARIABLE ||
            !dtype_is_integer(mirror.index->dtype) || pass_expr_may_stop(there))
            continue;
        struct ir_stmt *assignment = assignment_of(stmt->body, mirror.index);
        if (!assignment || !only_changes(loop, mirror.index, assignment))
            continue;
        struct ir_expr *place = without_casts(assignment->value);
        if (place->kind != IR_SYMBOL || place->symbol != loop->symbol)
            continue;
        int64_t room = number_smaller(most_of(mirror.index->dtype), room_in(assignment->value));
        *pointed = (struct pointed){&condition->operands[side], there, assignment,
                                    number_smaller(mirror.room, room), mirror.shifts};
        return true;
    }
    return false;
}

/* ---- what the index begins with ------------------------------------------------------------------ */

static bool is_never_negative(const struct pointer *pointer, const struct pass_affine *affine)
{
    for (int k = 0; k < affine->count; k++) {
        const struct ir_stmt *found = NULL;
        for (int loop = 0; loop < pointer->count; loop++)
            if (pointer->around[loop]->symbol == affine->terms[k].symbol)
                found = pointer->around[loop];
        if (!found || found->step < 1 || found->low->kind != IR_INTEGER || found->low->integer < 0 ||
            affine->terms[k].coefficient < 0)
            return false;
    }
    return affine->constant >= 0;
}

/* The last statement of the block before the loop that gives the index a value; NULL: it is not told. */
static const struct ir_stmt *last_change(struct ir_stmt *block, const struct ir_stmt *loop,
                                         const struct ir_symbol *index)
{
    const struct ir_stmt *last = NULL;
    for (struct ir_stmt *stmt = block; stmt != loop; stmt = stmt->next) {
        struct changes changes = {.symbol = index};
        ir_block_walk(stmt->body, note_change, &changes);
        ir_block_walk(stmt->otherwise, note_change, &changes);
        if (changes.others)
            last = NULL;
        else if (stmt->symbol == index && (stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN))
            last = stmt;
    }
    return last;
}

/* Whether the last statement of the block before the loop that gives the index a value gives it one between 0
 * and the range's first, or just this, which casts leave as it is if there is room. */
static bool begins_inside(const struct pointer *pointer, struct ir_stmt *block, const struct ir_stmt *loop,
                          struct pointed *pointed)
{
    const struct ir_stmt *last = last_change(block, loop, pointed->assignment->symbol);
    struct pass_affine value, low;
    if (!last)
        return false;
    const struct ir_expr *first = without_casts(last->value);
    pointed->room = number_smaller(pointed->room, room_in(last->value));
    if (first->kind == IR_INTEGER)
        value = (struct pass_affine){.constant = first->integer};
    else if (!pass_affine_of(first, &value))
        return false;
    return is_never_negative(pointer, &value) && pass_affine_of(loop->low, &low) &&
           pass_affine_add(&low, -1, &value) && low.count == 0 && low.constant >= 0 &&
           (!pointed->shifts || low.constant == 0);
}

static bool stays(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind == IR_INTEGER || expr->kind == IR_OPERATION ||
           (expr->kind == IR_SYMBOL && expr->symbol->kind != IR_SYMBOL_VARIABLE);
}

struct ir_expr *pointed_begin(struct pass *pass, struct ir_stmt *block, const struct ir_stmt *loop,
                              struct ir_symbol *index, struct ir_expr *expr)
{
    const struct ir_stmt *last = last_change(block, loop, index);
    if (!last || !pass_is_pure(last->value) || !ir_expr_walk(last->value, stays, NULL))
        return expr;
    index->note = last->value;
    struct ir_expr *begun = ir_expr_substitute(pass->kernel, expr);
    index->note = NULL;
    return begun;
}

/* ---- the change ---------------------------------------------------------------------------------- */

static bool is_whole(const struct ir_stmt *loop)
{
    return loop->kind == IR_FOR && loop->step == 1 && !loop->hint && pass_is_pure(loop->low) &&
           pass_is_pure(loop->high) && !pass_jumps(loop->body);
}

static bool mark_proved(struct ir_expr *expr, void *context)
{
    (void)context;
    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++)
        expr->access.checks[axis] = IR_CHECK_PROVED;
    return true;
}

/* Declares the scalar before the loop, and gives it a value with the index. */
static struct ir_stmt *keep(struct pass *pass, struct ir_stmt *block, const struct ir_stmt *loop,
                            struct pointed *pointed)
{
    struct ir_expr *kept = pointed_begin(pass, block, loop, pointed->assignment->symbol, *pointed->kept);
    ir_expr_walk(kept, mark_proved, NULL);
    struct ir_stmt *top = pass_declare(pass, IR_SYMBOL_VARIABLE, "top", kept, kept->span);
    struct ir_stmt *follow = ir_stmt_new(pass->kernel, IR_ASSIGN, pointed->assignment->span);
    *pointed->kept = ir_symbol_use(pass->kernel, top->symbol);
    follow->symbol = top->symbol;
    follow->value = pass_copy(pass, pointed->there);
    follow->next = pointed->assignment->next;
    pointed->assignment->next = follow;
    return top;
}

static struct ir_expr *compare(struct pass *pass, enum operation operation, struct ir_expr *a,
                               struct ir_expr *b)
{
    return ir_operation(pass->kernel, operation, pass_copy(pass, a), pass_copy(pass, b), NULL);
}

/* Whether there is an iteration, and room for the number of each. */
static struct ir_expr *guard_of(struct pass *pass, const struct ir_stmt *loop, int64_t room)
{
    struct ir_expr *guard = compare(pass, OP_LT, loop->low, loop->high);
    if (room == INT64_MAX)
        return guard;
    struct ir_expr *fits = compare(pass, OP_LE, loop->high, ir_integer(pass->kernel, AKG_INT64, room));
    return ir_operation(pass->kernel, OP_AND, guard, fits, NULL);
}

static bool change(const struct pointer *pointer, struct ir_stmt *block, struct ir_stmt **place)
{
    enum { MOST = 4 };
    struct pass *pass = pointer->pass;
    struct ir_stmt *loop = *place, *next = loop->next, *first = loop, **end = &first;
    struct pointed found[MOST];
    int count = 0;
    int64_t room = INT64_MAX;
    for (struct ir_stmt *stmt = loop->body; stmt && count < MOST; stmt = stmt->next) {
        if (!find(loop, stmt, &found[count]) || !begins_inside(pointer, block, loop, &found[count]))
            break;
        room = number_smaller(room, found[count++].room);
    }
    if (!count)
        return false;
    struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, loop->span);
    loop->next = NULL;
    choice->value = guard_of(pass, loop, room);
    choice->otherwise = room < INT64_MAX ? pass_copy_block(pass, loop) : NULL;
    for (int k = 0; k < count; k++) {
        *end = keep(pass, block, loop, &found[k]);
        end = &(*end)->next;
    }
    *end = loop;
    choice->body = first;
    choice->next = next;
    *place = choice;
    return true;
}

static bool visit_block(struct pointer *pointer, struct ir_stmt **block)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place && pointer->count < DEEPEST; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        if (is_whole(stmt) && change(pointer, *block, place)) {
            changed = true;
            continue;
        }
        if (stmt->kind == IR_FOR && pointed_window(pointer->pass, *block, place)) {
            changed = true;
            place = &(*place)->next; /* the loop is behind the scalar */
            continue;
        }
        pointer->around[pointer->count] = stmt;
        pointer->count += stmt->kind == IR_FOR;
        changed |= visit_block(pointer, &stmt->body);
        changed |= visit_block(pointer, &stmt->otherwise);
        pointer->count -= stmt->kind == IR_FOR;
    }
    return changed;
}

bool pass_pointed(struct pass *pass)
{
    struct pointer *pointer = arena_new(pass->arena, struct pointer);
    pointer->pass = pass;
    return visit_block(pointer, &pass->kernel->body);
}

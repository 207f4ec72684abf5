/*
 * pass_carry.c: an element that an iteration stores and the next one loads is handed on in a scalar. So
 * `for k: y[k] = y[k - 1] + x[k]` accumulates in a register, and can be seen to be a prefix sum.
 *
 * Each iteration must store the element, whatever its conditions say; all stores of the loop into the tensor
 * are to that element, to the one before, or to some that stay apart from it. Loads of the one before become
 * the scalar where they stand ahead of the store, and others stay. What the first iteration would load is
 * loaded before the loop, under a test that there is a first iteration and that the element is inside: the
 * loop may load it under conditions that the first iteration does not meet, as in `if k > 0`.
 */
#include "pass.h"

struct carrier {
    struct pass *pass;
    struct ir_stmt *loop;
    struct ir_access *stored;             /* by every iteration */
    LIST(const struct ir_access *) loads; /* of what the iteration before has stored */
    LIST(struct ir_symbol *) changing;    /* declared or assigned in the loop at hand: their notes are set */
    struct ir_symbol *scalar;
    bool refused;       /* of the walk: something else may be stored where the element lies */
    bool may_be_stored; /* by what stands before */
    bool inside;        /* a loop of the body */
    bool changed;
};

/* ---- which element it is ------------------------------------------------------------------------ */

enum place { PLACE_HERE, PLACE_BEFORE, PLACE_APART, PLACE_UNKNOWN };

static bool is_steady(const struct pass_affine *affine, const struct ir_symbol *variable)
{
    for (int k = 0; k < affine->count; k++)
        if (affine->terms[k].symbol != variable && affine->terms[k].symbol->note)
            return false;
    return true;
}

/* Where the access goes, seen from what the same iteration stores. */
static enum place place_of(const struct carrier *carrier, const struct ir_access *access)
{
    const struct ir_stmt *loop = carrier->loop;
    bool same = true, before = true, moves = false;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct pass_affine here, stored;
        int64_t step = 0, along = 0;
        bool known = pass_affine_of(access->indices[axis], &here) &&
                     pass_affine_of(carrier->stored->indices[axis], &stored) &&
                     is_steady(&here, loop->symbol) && is_steady(&stored, loop->symbol) &&
                     pass_affine_add(&here, -1, &stored) && here.count == 0;
        if (known)
            along = pass_affine_coefficient(&stored, loop->symbol);
        if (known && along == 0 && here.constant != 0)
            return PLACE_APART;
        known &= !__builtin_mul_overflow(along, loop->step, &step);
        same &= known && here.constant == 0;
        before &= known && (uint64_t)here.constant + (uint64_t)step == 0;
        moves |= along != 0;
    }
    return !moves ? PLACE_UNKNOWN : same ? PLACE_HERE : before ? PLACE_BEFORE : PLACE_UNKNOWN;
}

/* ---- whether it can be handed on ------------------------------------------------------------------ */

static bool look_at_load(struct ir_expr *expr, void *context)
{
    struct carrier *carrier = context;
    if (expr->kind == IR_LOAD && expr->access.buffer == carrier->stored->buffer && !carrier->may_be_stored &&
        !carrier->inside && !pass_access_may_stop(&expr->access) &&
        place_of(carrier, &expr->access) == PLACE_BEFORE)
        list_push(carrier->pass->arena, &carrier->loads, &expr->access);
    return true;
}

static bool look_at_block(struct carrier *carrier, struct ir_stmt *block);

/* Whether it stores the element in any case. */
static bool look_at(struct carrier *carrier, struct ir_stmt *stmt)
{
    bool stores = false, around = carrier->inside, before = carrier->may_be_stored;
    ir_stmt_expressions(stmt, look_at_load, carrier);
    if (stmt->access.buffer == carrier->stored->buffer) {
        enum place place = stmt->kind == IR_STORE ? place_of(carrier, &stmt->access) : PLACE_UNKNOWN;
        bool is_late = place == PLACE_BEFORE && !carrier->inside; /* that element's turn is over */
        stores = place == PLACE_HERE && !carrier->inside;
        carrier->refused |= !stores && !is_late && place != PLACE_APART;
        /* the value would be computed before the element is looked at */
        carrier->refused |= stores && pass_access_may_stop(&stmt->access) && pass_expr_may_stop(stmt->value);
        carrier->may_be_stored |= stores || is_late;
    }
    carrier->inside |= stmt->kind == IR_FOR || stmt->kind == IR_WHILE;
    bool first = look_at_block(carrier, stmt->body);
    bool one = carrier->may_be_stored;
    carrier->may_be_stored = before || stores;
    bool second = look_at_block(carrier, stmt->otherwise);
    carrier->may_be_stored |= one;
    carrier->inside = around;
    return stores || (stmt->kind == IR_IF && first && second);
}

static bool look_at_block(struct carrier *carrier, struct ir_stmt *block)
{
    bool stores = false;
    for (struct ir_stmt *stmt = block; stmt && !carrier->refused; stmt = stmt->next)
        stores |= look_at(carrier, stmt);
    return stores;
}

static bool is_invariant(struct ir_expr *expr, void *variable)
{
    return expr->kind != IR_SYMBOL || !expr->symbol->note || expr->symbol == variable;
}

static bool is_fixed(struct ir_expr *expr, const struct ir_symbol *variable)
{
    return pass_is_pure(expr) && ir_expr_walk(expr, is_invariant, (void *)variable);
}

/* What the first iteration loads, and whether there is one, can be told before the loop. */
static bool can_be_told(const struct carrier *carrier)
{
    const struct ir_stmt *loop = carrier->loop;
    if (!is_fixed(loop->low, NULL) || !is_fixed(loop->high, NULL))
        return false;
    for (int axis = 0; axis < carrier->stored->buffer->rank; axis++)
        if (!is_fixed(carrier->loads.items[0]->indices[axis], loop->symbol))
            return false;
    return true;
}

static bool may_carry(struct carrier *carrier)
{
    carrier->loads.count = 0;
    carrier->refused = carrier->may_be_stored = carrier->inside = false;
    return look_at_block(carrier, carrier->loop->body) && !carrier->refused && carrier->loads.count &&
           can_be_told(carrier);
}

/* ---- the change ------------------------------------------------------------------------------------ */

static struct ir_symbol *scalar_of(const struct ir_access *access, void *context)
{
    const struct carrier *carrier = context;
    for (int k = 0; k < carrier->loads.count; k++)
        if (carrier->loads.items[k] == access)
            return carrier->scalar;
    return NULL;
}

static bool replace_loads(struct ir_stmt *stmt, void *context)
{
    struct carrier *carrier = context;
    struct pass_replacement replacement = {carrier->stored->buffer, scalar_of, carrier};
    pass_replace_loads(carrier->pass, stmt, &replacement);
    return true;
}

/* The store keeps its node, behind a new one. */
static void assign_before_stores(struct carrier *carrier, struct ir_stmt **block)
{
    struct ir_kernel *kernel = carrier->pass->kernel;
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_STORE && stmt->access.buffer == carrier->stored->buffer &&
            place_of(carrier, &stmt->access) == PLACE_HERE) {
            struct ir_stmt *assignment = ir_stmt_new(kernel, IR_ASSIGN, stmt->span);
            assignment->symbol = carrier->scalar;
            assignment->value = stmt->value;
            stmt->value = ir_symbol_use(kernel, carrier->scalar);
            assignment->next = stmt;
            *place = assignment;
            place = &assignment->next;
        }
        assign_before_stores(carrier, &stmt->body);
        assign_before_stores(carrier, &stmt->otherwise);
    }
}

/* select(there is an iteration and the element is inside, the element, 0); the note of the loop's variable is
 * where it starts. */
static struct ir_expr *first_value(const struct carrier *carrier)
{
    struct pass *pass = carrier->pass;
    struct ir_kernel *kernel = pass->kernel;
    const struct ir_stmt *loop = carrier->loop;
    const struct ir_buffer *buffer = carrier->stored->buffer;
    struct ir_expr *element = pass_load(pass, carrier->loads.items[0], loop->span);
    struct ir_expr *zero = dtype_is_float(buffer->dtype) ? ir_real(kernel, buffer->dtype, 0)
                                                         : ir_integer(kernel, buffer->dtype, 0);
    struct ir_expr *there = ir_operation(kernel, loop->step > 0 ? OP_LT : OP_GT, pass_copy(pass, loop->low),
                                         pass_copy(pass, loop->high), NULL);
    for (int axis = 0; axis < buffer->rank; axis++) {
        struct ir_expr *least = ir_operation(kernel, OP_GE, pass_copy(pass, element->access.indices[axis]),
                                             ir_integer(kernel, AKG_INT64, 0), NULL);
        struct ir_expr *most = ir_operation(kernel, OP_LT, pass_copy(pass, element->access.indices[axis]),
                                            pass_copy(pass, buffer->shape[axis]), NULL);
        there = ir_operation(kernel, OP_AND, there, ir_operation(kernel, OP_AND, least, most, NULL), NULL);
    }
    return ir_operation(kernel, OP_SELECT, there, element, zero);
}

static struct ir_stmt *carry(struct carrier *carrier)
{
    struct ir_stmt *loop = carrier->loop, *variable;
    void *note = loop->symbol->note;
    loop->symbol->note = loop->low;
    struct ir_expr *value = first_value(carrier);
    loop->symbol->note = note;
    variable =
        pass_declare(carrier->pass, IR_SYMBOL_VARIABLE, carrier->stored->buffer->name, value, loop->span);
    carrier->scalar = variable->symbol;
    ir_block_walk(loop->body, replace_loads, carrier);
    assign_before_stores(carrier, &loop->body);
    variable->next = loop;
    carrier->changed = true;
    return variable;
}

/* ---- the walk ---------------------------------------------------------------------------------------- */

static bool note_changing(struct ir_stmt *stmt, void *context)
{
    struct carrier *carrier = context;
    if (stmt->symbol && !stmt->symbol->note) {
        stmt->symbol->note = carrier;
        list_push(carrier->pass->arena, &carrier->changing, stmt->symbol);
    }
    return true;
}

enum { MOST_STORES = 8 }; /* of a loop that are looked at: for each one all of it is */

struct stored {
    struct arena *arena;
    LIST(struct ir_access *) items; /* the elements that are stored */
};

static bool note_stored(struct ir_stmt *stmt, void *context)
{
    struct stored *stored = context;
    for (int k = 0; stmt->kind == IR_STORE && k < stored->items.count; k++)
        if (ir_access_equal(stored->items.items[k], &stmt->access))
            return true;
    if (stmt->kind == IR_STORE)
        list_push(stored->arena, &stored->items, &stmt->access);
    return stored->items.count < MOST_STORES;
}

/* Gives what stands in the place of the loop. */
static struct ir_stmt *carry_all(struct carrier *carrier, struct ir_stmt *loop)
{
    struct stored stored = {.arena = carrier->pass->arena};
    struct ir_stmt *first = loop;
    if (pass_jumps(loop->body))
        return loop;
    carrier->loop = loop;
    note_changing(loop, carrier);
    ir_block_walk(loop->body, note_changing, carrier);
    ir_block_walk(loop->body, note_stored, &stored);
    for (int k = 0; k < stored.items.count; k++) {
        carrier->stored = stored.items.items[k];
        if (!may_carry(carrier))
            continue;
        struct ir_stmt *variable = carry(carrier);
        variable->next = first;
        first = variable;
    }
    for (int k = 0; k < carrier->changing.count; k++)
        carrier->changing.items[k]->note = NULL;
    carrier->changing.count = 0;
    return first;
}

static void carry_in_block(struct carrier *carrier, struct ir_stmt **block)
{
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        carry_in_block(carrier, &stmt->body);
        carry_in_block(carrier, &stmt->otherwise);
        if (stmt->kind != IR_FOR)
            continue;
        *place = carry_all(carrier, stmt);
        while (*place != stmt)
            place = &(*place)->next;
    }
}

bool pass_carry(struct pass *pass)
{
    struct carrier carrier = {.pass = pass};
    carry_in_block(&carrier, &pass->kernel->body);
    return carrier.changed;
}

/*
 * pass_lanes_along.c: rows along which a loop goes that waits for itself, each row by itself, become columns
 * for as long as it takes: then the rows are lanes.
 *
 *     for i: d = 1, for t: (d = d / (1 + r[i]), y[i, t] = x[i, t] * d)          becomes
 *     for blocks of i:
 *         for t: for i: a[t, i] = x[i, t]
 *         for i: d = 1, for t: (d = d / (1 + r[i]), b[t, i] = a[t, i] * d)
 *         for i: for t: y[i, t] = b[t, i]
 *
 * Consumes what pass_lanes.c takes for a candidate, with a loop inside that cannot be vectors along its rows;
 * produces the temporaries, and the loops around it. What is brought is accessed in each iteration of the
 * loop inside, whatever its conditions are, so it is there. A tensor that is stored along the loop is loaded
 * in the nest at the same place alone, and earlier in the iteration.
 */
#include "pass_lanes.h"

static bool is_named_outside(struct ir_expr *expr, void *context)
{
    struct lanes *lanes = context;
    return (expr->kind == IR_SYMBOL && expr->symbol == lanes->loop->symbol) ||
           lanes_is_from_outside(expr, lanes);
}

bool lanes_is_along(const struct lanes *lanes, const struct ir_access *access)
{
    int last = access->buffer->rank - 1;

    for (int axis = 0; axis <= last; axis++) {
        struct pass_affine affine;
        if (!pass_affine_of(access->indices[axis], &affine) ||
            !ir_expr_walk(access->indices[axis], is_named_outside, (void *)lanes))
            return false;
        int64_t inner = pass_affine_coefficient(&affine, lanes->loop->symbol),
                outer = pass_affine_coefficient(&affine, lanes->made->symbol);
        if (inner != (axis == last) || (outer && axis == last))
            return false;
    }
    return last > 0 && lanes_lie_apart(lanes, access);
}

/* Whether lanes go on with what the ones before came to, by more than a sum: of 64 rows of 500 a running
 * maximum takes 16 us by that, and 8 when rows are lanes; a running sum takes 8 either way. */
static bool scans_slowly(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_SCAN && loop->values.items[k].operation != OP_ADD &&
            !vector_scan_stays(loop, &loop->values.items[k]))
            return true;
    return false;
}

bool lanes_wait(struct lanes *lanes)
{
    static const struct vector_options usual_options = {.target = X86_TARGET_AVX512};
    struct ir_stmt *loop = lanes->loop;

    if (loop->kind != IR_FOR || (loop->step != 1 && loop->step != -1) || !pass_is_of_call(loop->low) ||
        !pass_is_of_call(loop->high))
        return false;
    const struct dependences *dependences = pass_dependences(lanes->pass, lanes->columns);
    const struct dependence_loop *verdict =
        dependences ? dependence_loop_is_parallel(dependences, loop) : NULL;
    if (!verdict || verdict->scalar < 0 || verdict->leaves || verdict->verdict == DEPENDENCE_PARALLEL)
        return false; /* where it may be left, rows are not accessed to their end */
    const struct vector_loop *vectors =
        vector_build(lanes->pass->arena, loop, verdict, dependences, &usual_options);
    return !vectors || scans_slowly(vectors);
}

static struct ir_expr *add(struct lanes *lanes, struct ir_expr *expr, int64_t number)
{
    struct ir_kernel *kernel = lanes->pass->kernel;

    return ir_operation(kernel, OP_ADD, expr, ir_integer(kernel, AKG_INT64, number), NULL);
}

struct ir_expr *lanes_least(struct lanes *lanes)
{
    struct ir_stmt *loop = lanes->loop;
    return loop->step > 0 ? pass_copy(lanes->pass, loop->low)
                          : add(lanes, pass_copy(lanes->pass, loop->high), 1);
}

/* One behind the greatest. */
static struct ir_expr *end_of_row(struct lanes *lanes)
{
    struct ir_stmt *loop = lanes->loop;
    return loop->step > 0 ? pass_copy(lanes->pass, loop->high)
                          : add(lanes, pass_copy(lanes->pass, loop->low), 1);
}

struct ir_expr *lanes_length(struct lanes *lanes)
{
    struct ir_kernel *kernel = lanes->pass->kernel;
    struct ir_expr *distance = ir_operation(kernel, OP_SUB, end_of_row(lanes), lanes_least(lanes), NULL);
    return ir_operation(kernel, OP_MAX, distance, ir_integer(kernel, AKG_INT64, 0), NULL);
}

/* ---- what is moved --------------------------------------------------------------------------------- */

/* How far `access` is behind `from` along the loop, in the same row of the same tensor. */
static bool distance_along(const struct ir_access *from, const struct ir_access *access, int64_t *distance)
{
    struct pass_affine one, other;

    for (int axis = 0; axis < access->buffer->rank; axis++) {
        if (from->buffer != access->buffer || !pass_affine_of(access->indices[axis], &one) ||
            !pass_affine_of(from->indices[axis], &other) || !pass_affine_add(&one, -1, &other) || one.count ||
            (one.constant && axis < access->buffer->rank - 1))
            return false;
        *distance = one.constant;
    }
    return true;
}

static struct lanes_moved *find_along(struct lanes *lanes, const struct ir_access *access, bool is_stored,
                                      int64_t *distance)
{
    for (int k = 0; k < lanes->count; k++)
        if (lanes->moved[k].is_along && lanes->moved[k].is_stored == is_stored &&
            distance_along(&lanes->moved[k].access, access, distance))
            return &lanes->moved[k];
    return NULL;
}

/* Elements a few apart are the same ones in other iterations: they are brought once. */
static void add_load(struct lanes *lanes, const struct ir_access *access)
{
    enum { FAR = 16 };
    int64_t distance;

    if (!lanes_is_along(lanes, access))
        return;
    struct lanes_moved *moved = find_along(lanes, access, false, &distance);
    if (!moved) {
        lanes_add(lanes, &(struct lanes_moved){.access = *access, .is_along = true});
    } else if (distance < -FAR || distance > moved->span + FAR) {
        lanes->too_many = true;
    } else if (distance < 0) {
        moved->access = *access;
        moved->span -= distance;
    } else if (distance > moved->span) {
        moved->span = distance;
    }
}

static bool is_equal(const struct ir_expr *a, const struct ir_expr *b)
{
    struct pass_affine one, other;
    return pass_affine_of(a, &one) && pass_affine_of(b, &other) && pass_affine_add(&one, -1, &other) &&
           !one.count && !one.constant;
}

/* Whether the element is inside in each iteration, as one behind it is, or as bounds say. */
static bool is_there(struct lanes *lanes, const struct ir_access *access, bool is_behind)
{
    int last = access->buffer->rank - 1;
    const struct ir_expr *least = lanes_least(lanes);
    struct pass_affine index;

    if (least->kind != IR_INTEGER || !pass_affine_of(access->indices[last], &index) || index.count != 1 ||
        index.constant > 0 || index.constant + least->integer < 0)
        return false;
    for (int axis = 0; axis < last && !is_behind; axis++)
        if (!lanes_is_inside(lanes, access->indices[axis], access->buffer->shape[axis]))
            return false;
    return is_behind || is_equal(end_of_row(lanes), access->buffer->shape[last]);
}

/* What is loaded under conditions may be brought, too, where it is there whatever they are. */
static bool note_other_load(struct ir_expr *expr, void *context)
{
    struct lanes *lanes = context;
    int64_t distance = 0;

    if (expr->kind != IR_LOAD || !lanes_is_along(lanes, &expr->access))
        return true;
    const struct lanes_moved *moved = find_along(lanes, &expr->access, false, &distance);
    if ((!moved || distance < 0) && is_there(lanes, &expr->access, moved != NULL))
        add_load(lanes, &expr->access);
    return true;
}

static bool place_load(struct ir_expr *expr, void *context)
{
    struct lanes *lanes = context;
    int64_t distance;

    if (expr->kind != IR_LOAD || !lanes_is_along(lanes, &expr->access))
        return true;
    const struct lanes_moved *moved = find_along(lanes, &expr->access, false, &distance);
    if (moved && distance >= 0 && distance <= moved->span)
        expr->access = lanes_beside(lanes, moved, distance);
    else
        lanes->too_many = true;
    return true;
}

/* Whether nothing behind the store in its iteration loads from the tensor. */
static bool is_last(struct ir_stmt *store)
{
    return !ir_block_loads_from(store->next, store->access.buffer);
}

/* What is loaded of a tensor that is stored along the loop is what is stored. */
static bool are_loads_of_same(const struct lanes *lanes, const struct ir_access *access)
{
    for (int k = 0; k < lanes->count; k++) {
        const struct lanes_moved *moved = &lanes->moved[k];
        int64_t distance = -1;
        if (moved->access.buffer == access->buffer &&
            !(moved->is_along && !moved->span && distance_along(&moved->access, access, &distance) &&
              distance == 0))
            return false;
    }
    return true;
}

static void move_stores(struct lanes *lanes)
{
    for (struct ir_stmt *stmt = lanes->loop->body; stmt && !lanes->too_many; stmt = stmt->next) {
        if (stmt->kind != IR_STORE || !lanes_is_along(lanes, &stmt->access))
            continue;
        if (!are_loads_of_same(lanes, &stmt->access) || !is_last(stmt)) {
            lanes->too_many = true;
            return;
        }
        const struct lanes_moved *moved = lanes_add(
            lanes, &(struct lanes_moved){.access = stmt->access, .is_stored = true, .is_along = true});
        if (moved)
            stmt->access = lanes_beside(lanes, moved, 0);
    }
}

void lanes_move_along(struct lanes *lanes)
{
    struct ir_stmt *loop = lanes->loop, *next = loop->next;

    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->value)
            lanes_note_loads(lanes, stmt->value, add_load);
        for (int axis = 0; stmt->kind == IR_STORE && axis < stmt->access.buffer->rank; axis++)
            lanes_note_loads(lanes, stmt->access.indices[axis], add_load);
    }
    loop->next = NULL;
    ir_block_expressions(loop, note_other_load, lanes);
    for (int k = 0; k < lanes->count; k++)
        if (lanes->moved[k].is_along)
            lanes->moved[k].buffer->shape[0] = add(lanes, lanes_length(lanes), lanes->moved[k].span);
    move_stores(lanes);
    if (!lanes->too_many)
        ir_block_expressions(loop, place_load, lanes);
    loop->next = next;
}

/* ---- the loops around ---------------------------------------------------------------------------------- */

/* As far as the loop goes, and where it does, the elements behind that. What is stored lies along the loop
 * inside: code that turns tensors is for such. */
static struct ir_stmt *bring_row(struct lanes *lanes, const struct lanes_moved *moved)
{
    struct pass *pass = lanes->pass;
    struct ir_stmt *first = moved->is_stored ? lanes->loop : lanes->made;
    struct ir_stmt *inner = pass_new_loop(pass, first, lanes_bring(lanes, moved));
    struct ir_stmt *outer = pass_new_loop(pass, moved->is_stored ? lanes->made : lanes->loop, inner);
    struct ir_stmt *along = moved->is_stored ? inner : outer;
    along->low = lanes_least(lanes);
    along->high = add(lanes, end_of_row(lanes), moved->span);
    along->step = 1;
    outer->independent = inner->independent = true;
    if (!moved->span)
        return outer;
    struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, lanes->columns->span);
    pass_set_value(choice, ir_operation(pass->kernel, OP_LT, lanes_least(lanes), end_of_row(lanes), NULL));
    choice->body = outer;
    return choice;
}

struct ir_stmt *lanes_bring_along(struct lanes *lanes, bool is_stored)
{
    struct ir_stmt *body = NULL, **end = &body;

    for (int k = 0; k < lanes->count; k++)
        if (lanes->moved[k].is_along && lanes->moved[k].is_stored == is_stored) {
            *end = bring_row(lanes, &lanes->moved[k]);
            end = &(*end)->next;
        }
    return body;
}

void lanes_turn_upwards(struct lanes *lanes)
{
    struct pass *pass = lanes->pass;
    struct ir_stmt *loop = lanes->loop;

    if (loop->step > 0)
        return;
    struct ir_expr *length = lanes_length(lanes);
    struct ir_symbol *count =
        ir_symbol_new(pass->kernel, IR_SYMBOL_LOOP, loop->symbol->name, loop->symbol->dtype);
    loop->symbol->note = ir_operation(pass->kernel, OP_SUB, pass_copy(pass, loop->low),
                                      ir_symbol_use(pass->kernel, count), NULL);
    loop->body = pass_copy_block(pass, loop->body);
    loop->symbol->note = NULL;
    count->span = loop->symbol->span;
    count->label = loop->symbol->label;
    loop->symbol = count;
    loop->low = ir_integer(pass->kernel, AKG_INT64, 0);
    loop->high = length;
    loop->step = 1;
}

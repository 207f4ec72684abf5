/*
 * pass_turn.c: tensors that nests use again and again, whose elements do not lie side by side along the
 * columns, are turned before:
 *
 *     for l: for c: { var s = 0; for k: s = s + x[l + k, c] * w[c, k]; y[l, c] = s }
 *
 * becomes, where there are enough rows for what the copy takes, which is decided at run time (else the nest
 * stays as it was),
 *
 *     for k: for c: turned[k, c] = w[c, k]
 *     for l: for c: { var s = 0; for k: s = s + x[l + k, c] * turned[k, c]; y[l, c] = s }
 *
 * so that the columns become lanes of vectors; else each element would be fetched by itself, for each row
 * anew. The copy has all elements of the tensor with its axes in another order, and loads keep their indices:
 * so all that is loaded is there, whatever conditions and bounds stand around the load, and the copy can be
 * made wherever nothing that uses it stores to the tensor.
 *
 * Likewise sums of what lies along the columns that are stored across, `y[c, k] = s`, are stored into a
 * copy, which begins as the tensor was, and turned behind.
 *
 * Consumes the outermost loops that hold nothing but loops, conditions, scalars and stores, and in them loops
 * over columns, along which all that is stored lies and what is loaded does or is across: the column is an
 * index of its own, but not the last one. Products of matrices are left to pass_tile.c. Comes before the
 * passes that arrange, cut and write out loops, which see the copy as if it were the program's.
 */
#include "pass.h"
#include "vector.h"

enum {
    MOST = 4,             /* copies for one statement, and loops over columns in it */
    MOST_STATEMENTS = 48, /* in what then stands twice */
    DEEPEST = 16
};

struct turned {
    struct ir_buffer *from, *copy;
    int axis;       /* the one that becomes the last */
    bool is_stored; /* the copy is stored to, and then the tensor */
};

struct turning {
    struct pass *pass;
    const struct ir_stmt *around; /* what is to use the copies */
    const struct ir_stmt
        *loops[DEEPEST]; /* around what is looked at, outermost first; with a note: columns */
    int depth;
    bool for_stores; /* that is what is looked for */
    struct turned copies[MOST];
    int count;
    bool is_too_much;
    struct ir_expr *pays; /* NULL: nothing was found */
};

/* ---- how elements lie ------------------------------------------------------------------------------ */

/* The axis whose index is the column, perhaps with something added, where no other one has to do with it; -1:
 * there is none. */
static int axis_of(const struct ir_access *access, const struct ir_symbol *column)
{
    struct pass_affine affine;
    int found = -1;
    for (int k = 0; k < access->buffer->rank; k++) {
        if (!pass_mentions(access->indices[k], column))
            continue;
        if (found >= 0 || !pass_affine_of(access->indices[k], &affine) ||
            pass_affine_coefficient(&affine, column) != 1)
            return -1;
        found = k;
    }
    return found;
}

static bool is_along(const struct ir_access *access, const struct ir_symbol *column)
{
    return access->buffer->rank > 0 && axis_of(access, column) == access->buffer->rank - 1;
}

/* Whether a copy can be in its place, and is wanted. */
static bool is_across(const struct turning *turning, struct ir_access *access, const struct ir_symbol *column)
{
    int axis = axis_of(access, column);
    return axis >= 0 && axis < access->buffer->rank - 1 && !pass_access_may_stop(access) &&
           !ir_block_stores_to(turning->around->body, access->buffer);
}

static const struct turned *find_copy(const struct turning *turning, const struct ir_buffer *buffer, int axis)
{
    for (int k = 0; k < turning->count; k++)
        if (turning->copies[k].from == buffer && turning->copies[k].axis == axis)
            return &turning->copies[k];
    return NULL;
}

static const struct turned *find_stored(const struct turning *turning, const struct ir_buffer *buffer)
{
    for (int k = 0; k < turning->count; k++)
        if (turning->copies[k].from == buffer && turning->copies[k].is_stored)
            return &turning->copies[k];
    return NULL;
}

/* ---- loops over columns ---------------------------------------------------------------------------- */

struct view {
    const struct turning *turning;
    const struct ir_stmt *columns;
    const struct ir_access *access; /* that is being looked at */
    int along, others; /* loads that move with the loops inside: with the columns, too, and not with them */
    int across, once;  /* of elements that several iterations use, and one alone */
    int stores;
    bool fails;
};

static bool is_elsewhere(struct ir_expr *expr, void *access)
{
    return expr->kind != IR_LOAD || &expr->access != access;
}

static bool does_move(struct ir_stmt *stmt, void *context)
{
    const struct view *view = context;
    return stmt->kind != IR_FOR || pass_access_mentions(view->access, stmt->symbol) ||
           ir_block_expressions(stmt->body, is_elsewhere, (void *)view->access);
}

static bool does_not_move(struct ir_stmt *stmt, void *context)
{
    const struct view *view = context;
    return stmt->kind != IR_FOR || !pass_access_mentions(view->access, stmt->symbol);
}

/* Whether iterations of a loop around the load share the element, other than those of the columns. */
static bool is_used_again(const struct view *view)
{
    for (int k = 0; k < view->turning->depth && view->turning->loops[k] != view->columns; k++)
        if (!pass_access_mentions(view->access, view->turning->loops[k]->symbol))
            return true;
    return !ir_block_walk(view->columns->body, does_move, (void *)view);
}

static bool view_load(struct ir_expr *expr, void *context)
{
    struct view *view = context;
    const struct ir_symbol *column = view->columns->symbol;
    if (expr->kind != IR_LOAD)
        return true;
    view->access = &expr->access;
    bool moves = !ir_block_walk(view->columns->body, does_not_move, view);
    if (!pass_access_mentions(&expr->access, column))
        view->others += moves;
    else if (is_along(&expr->access, column))
        view->along += moves;
    else if (is_across(view->turning, &expr->access, column))
        *(is_used_again(view) ? &view->across : &view->once) += 1;
    else
        view->fails = true;
    return !view->fails;
}

static bool holds_no_loop(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR || !pass_has_loop(stmt->body);
}

/* What will be the last axis, of a tensor that is stored to. */
static int last_axis(const struct turning *turning, const struct ir_access *access)
{
    const struct turned *turned = find_stored(turning, access->buffer);
    return turned ? turned->axis : access->buffer->rank - 1;
}

static bool view_store(struct ir_stmt *stmt, void *context)
{
    struct view *view = context;
    if (stmt->kind == IR_STORE) {
        view->stores++;
        view->fails |=
            axis_of(&stmt->access, view->columns->symbol) != last_axis(view->turning, &stmt->access);
    }
    return !view->fails;
}

static struct view view_of(const struct turning *turning, const struct ir_stmt *columns)
{
    struct view view = {.turning = turning, .columns = columns};
    view.fails = columns->step != 1;
    if (ir_block_walk(columns->body, view_store, &view))
        ir_block_expressions(columns->body, view_load, &view);
    return view;
}

/* Whether the columns are lanes where copies are turned, and only there. */
static bool wants_copies(const struct turning *turning, const struct ir_stmt *columns)
{
    struct view view = view_of(turning, columns);
    bool is_product = view.others && !view.along && ir_block_walk(columns->body, holds_no_loop, NULL);
    return !view.fails && view.stores && !is_product && view.across && !view.once &&
           pass_is_parallel(turning->pass, (struct ir_stmt *)columns);
}

/* ---- what there is without copies -------------------------------------------------------------------- */

static bool is_innermost(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_FOR && !pass_has_loop(stmt->body);
}

static bool stays_or_lies_along(struct ir_expr *expr, void *symbol)
{
    return expr->kind != IR_LOAD || !pass_access_mentions(&expr->access, symbol) ||
           is_along(&expr->access, symbol);
}

static bool is_no_other_loop(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return !is_innermost(stmt) || ir_block_expressions(stmt->body, stays_or_lies_along, stmt->symbol);
}

static bool is_no_long_loop(struct ir_stmt *stmt, void *context)
{
    enum { SHORT = 16 };
    (void)context;
    return !is_innermost(stmt) || (vector_known_extent(stmt) && vector_known_extent(stmt) <= SHORT);
}

/* Whether lanes may as well be what the innermost loops go over. */
static bool are_dots(const struct ir_stmt *columns)
{
    return pass_has_loop(columns->body) && ir_block_walk(columns->body, is_no_other_loop, NULL);
}

/* How often each element must be used that a copy of it pays. Zen 5, 2026-11-27: a sum of 256 products along
 * what lies side by side takes as long with eight rows as with the copy. Where loops are written out,
 * neighbours are loaded together, which four rows of four weights make up for, and where there are none,
 * sixteen. Else elements are fetched one by one, which takes longer than to turn them (1.4 us, and 0.15, for
 * one row of four weights of 256 columns). */
static int times_used(const struct turning *turning, const struct ir_stmt *columns)
{
    if (!pass_has_loop(columns->body))
        return 16;
    if (are_dots(columns))
        return 8;
    return view_of(turning, columns).along && ir_block_walk(columns->body, is_no_long_loop, NULL) ? 4 : 1;
}

/* ---- stores across ----------------------------------------------------------------------------------- */

struct sums {
    const struct ir_stmt *columns;
    const struct ir_access *store;
    const struct ir_stmt *depths; /* a loop that the store is behind, with which a load moves */
    int loops;                    /* such loops */
    int along, others;            /* loads that move with one, along the columns, and not with them */
    bool fails;
};

static bool is_like_store(const struct sums *sums, struct ir_access *access)
{
    return access->buffer == sums->store->buffer && !pass_access_may_stop(access) &&
           axis_of(access, sums->columns->symbol) == axis_of(sums->store, sums->columns->symbol);
}

struct summed {
    struct sums *sums;
    const struct ir_access *load;
};

static bool is_not_summed(struct ir_stmt *stmt, void *context)
{
    const struct summed *summed = context;
    if (stmt->kind != IR_FOR || !pass_access_mentions(summed->load, stmt->symbol) ||
        pass_access_mentions(summed->sums->store, stmt->symbol))
        return true;
    summed->sums->depths = stmt;
    return false;
}

static bool sums_load(struct ir_expr *expr, void *context)
{
    struct sums *sums = context;
    struct summed summed = {sums, &expr->access};
    if (expr->kind != IR_LOAD)
        return true;
    if (!pass_access_mentions(&expr->access, sums->columns->symbol))
        sums->others += !ir_block_walk(sums->columns->body, is_not_summed, &summed);
    else if (is_along(&expr->access, sums->columns->symbol))
        sums->along += !ir_block_walk(sums->columns->body, is_not_summed, &summed);
    else
        sums->fails |= !is_like_store(sums, &expr->access);
    return !sums->fails;
}

static bool count_depths(struct ir_stmt *stmt, void *context)
{
    struct sums *sums = context;
    sums->loops += stmt->kind == IR_FOR && !pass_access_mentions(sums->store, stmt->symbol);
    return true;
}

static bool sums_store(struct ir_stmt *stmt, void *sums)
{
    return stmt->kind != IR_STORE || is_like_store(sums, &stmt->access);
}

/* Not so for a loop along which all lies as it is. */
static bool has_no_columns(struct ir_stmt *stmt, void *context)
{
    const struct sums *sums = context;
    return stmt->kind != IR_FOR || !is_along(sums->store, stmt->symbol) ||
           !ir_block_expressions(sums->columns->body, stays_or_lies_along, stmt->symbol);
}

static bool load_goes_on(struct ir_expr *expr, void *buffer)
{
    return expr->kind != IR_LOAD || expr->access.buffer != buffer || !pass_access_may_stop(&expr->access);
}

static bool store_goes_on(struct ir_stmt *stmt, void *buffer)
{
    return stmt->kind != IR_STORE || stmt->access.buffer != buffer || !pass_access_may_stop(&stmt->access);
}

/* The loop of sums of what lies along the columns that are stored across; NULL: they are not. Not into what
 * the caller has: elements that the program leaves alone would be stored as they were. */
static const struct ir_stmt *depths_of_store(const struct turning *turning, const struct ir_stmt *columns,
                                             const struct ir_access *store)
{
    struct sums sums = {.columns = columns, .store = store};
    struct ir_stmt *around = (struct ir_stmt *)turning->around;
    int axis = axis_of(store, columns->symbol);
    if (axis < 0 || axis == store->buffer->rank - 1 || columns->step != 1 ||
        store->buffer->role == IR_INOUT || !ir_block_walk(columns->body, sums_store, &sums) ||
        !ir_block_expressions(columns->body, sums_load, &sums) ||
        !ir_block_walk(around, has_no_columns, &sums) ||
        !ir_block_walk(around, store_goes_on, store->buffer) ||
        !ir_block_expressions(around, load_goes_on, store->buffer))
        return NULL;
    ir_block_walk(columns->body, count_depths, &sums);
    bool is_product = sums.others && sums.loops == 1;
    return sums.along && !is_product && pass_is_parallel(turning->pass, (struct ir_stmt *)columns)
               ? sums.depths
               : NULL;
}

/* ---- whether it pays --------------------------------------------------------------------------------- */

static struct ir_expr *apply(const struct turning *turning, enum operation operation, struct ir_expr *a,
                             struct ir_expr *b)
{
    return ir_operation(turning->pass->kernel, operation, a, b, NULL);
}

static struct ir_expr *number(const struct turning *turning, int64_t value)
{
    return ir_integer(turning->pass->kernel, AKG_INT64, value);
}

static struct ir_expr *extent(const struct turning *turning, const struct ir_stmt *loop)
{
    return apply(turning, OP_SUB, pass_copy(turning->pass, loop->high), pass_copy(turning->pass, loop->low));
}

static bool is_counted(const struct ir_stmt *loop)
{
    return loop->step == 1 && pass_is_of_call(loop->low) && pass_is_of_call(loop->high);
}

/* How often the loops around come to what they hold, as far as that is known. */
static struct ir_expr *iterations(const struct turning *turning)
{
    struct ir_expr *product = number(turning, 1);
    for (int k = 0; k < turning->depth; k++) {
        const struct ir_stmt *loop = turning->loops[k];
        if (is_counted(loop))
            product = apply(turning, OP_MUL, product, extent(turning, loop));
    }
    return product;
}

static struct ir_expr *elements(const struct turning *turning, const struct ir_buffer *buffer)
{
    struct ir_expr *product = number(turning, 1);
    for (int k = 0; k < buffer->rank; k++)
        product = apply(turning, OP_MUL, product, pass_copy(turning->pass, buffer->shape[k]));
    return product;
}

/* ---- what is turned ---------------------------------------------------------------------------------- */

/* Whether a copy for these columns pays, of which each element is to be used so many times. With fewer
 * columns than lanes it does not; how many there are must be known before the nest for that. */
static struct ir_expr *pays(const struct turning *turning, const struct ir_stmt *columns,
                            const struct ir_buffer *buffer, int times)
{
    enum { FEW = 8 };
    struct ir_expr *least = apply(turning, OP_MUL, elements(turning, buffer), number(turning, times));
    struct ir_expr *is_used = apply(turning, OP_GE, iterations(turning), least);
    if (!is_counted(columns))
        return is_used;
    return apply(turning, OP_AND, is_used,
                 apply(turning, OP_GE, extent(turning, columns), number(turning, FEW)));
}

static void add_copy(struct turning *turning, struct turned turned, struct ir_expr *pays)
{
    if (turning->count == MOST) {
        turning->is_too_much = true;
        return;
    }
    turning->copies[turning->count++] = turned;
    if (!turning->pays)
        turning->pays = pays;
    else if (!ir_expr_equal(turning->pays, pays))
        turning->pays = apply(turning, OP_AND, turning->pays, pays);
}

static bool look_at_load(struct ir_expr *expr, void *context)
{
    struct turning *turning = context;
    for (int k = 0; expr->kind == IR_LOAD && k < turning->depth; k++) {
        const struct ir_stmt *loop = turning->loops[k];
        if (loop->note && is_across(turning, &expr->access, loop->symbol) &&
            !find_copy(turning, expr->access.buffer, axis_of(&expr->access, loop->symbol)))
            add_copy(
                turning,
                (struct turned){.from = expr->access.buffer, .axis = axis_of(&expr->access, loop->symbol)},
                pays(turning, loop, expr->access.buffer, times_used(turning, loop)));
    }
    return true;
}

/* Each element is turned twice, for which sums of eight make up, and of who knows how many. */
static void look_at_store(struct turning *turning, struct ir_stmt *stmt)
{
    enum { TIMES = 8 };
    for (int k = 0; stmt->kind == IR_STORE && k < turning->depth; k++) {
        const struct ir_stmt *loop = turning->loops[k];
        struct ir_buffer *buffer = stmt->access.buffer;
        const struct ir_stmt *depths =
            find_stored(turning, buffer) ? NULL : depths_of_store(turning, loop, &stmt->access);
        if (!depths || turning->depth == DEEPEST)
            continue;
        turning->loops[turning->depth++] = depths;
        struct turned turned = {
            .from = buffer, .axis = axis_of(&stmt->access, loop->symbol), .is_stored = true};
        add_copy(turning, turned, pays(turning, loop, buffer, is_counted(depths) ? TIMES : 1));
        turning->depth--;
    }
}

static void look_at(struct turning *turning, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (turning->for_stores)
            look_at_store(turning, stmt);
        else
            ir_stmt_expressions(stmt, look_at_load, turning);
        if (stmt->kind != IR_FOR) {
            look_at(turning, stmt->body);
            look_at(turning, stmt->otherwise);
            continue;
        }
        if (turning->depth == DEEPEST) {
            turning->is_too_much = true;
            return;
        }
        stmt->note = !turning->for_stores && wants_copies(turning, stmt) ? turning : NULL;
        turning->loops[turning->depth++] = stmt;
        look_at(turning, stmt->body);
        turning->depth--;
    }
}

/* ---- the change -------------------------------------------------------------------------------------- */

struct uses {
    struct turning *turning;
    const struct ir_stmt *columns; /* NULL: what is stored to is used elsewhere, too */
};

/* What there is for each axis of the tensor, in the order of the copy's axes. */
static void put_last(const struct turned *turned, struct ir_expr *const *from, struct ir_expr **to)
{
    for (int k = 0; k < turned->from->rank; k++)
        if (k != turned->axis)
            *to++ = from[k];
    *to = from[turned->axis];
}

static struct ir_expr *load_copy(const struct turning *turning, const struct turned *turned,
                                 struct ir_expr *const *from, struct span span)
{
    struct ir_expr *indices[AKG_MAX_RANK], *load;
    put_last(turned, from, indices);
    load = ir_load(turning->pass->kernel, turned->copy, indices);
    for (int k = 0; k < turned->from->rank; k++)
        load->access.checks[k] = IR_CHECK_PROVED;
    load->span = span;
    return load;
}

/* NULL: the access is to the tensor. */
static const struct turned *copy_of(const struct uses *uses, struct ir_access *access)
{
    const struct turned *stored = find_stored(uses->turning, access->buffer);
    if (stored)
        return stored;
    if (!uses->columns || !is_across(uses->turning, access, uses->columns->symbol))
        return NULL;
    return find_copy(uses->turning, access->buffer, axis_of(access, uses->columns->symbol));
}

static struct ir_expr *use_copies(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct uses *uses = context;
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = use_copies(pass, expr->operands[k], context);
    if (expr->kind != IR_LOAD)
        return expr;
    for (int k = 0; k < expr->access.buffer->rank; k++)
        expr->access.indices[k] = use_copies(pass, expr->access.indices[k], context);
    const struct turned *turned = copy_of(uses, &expr->access);
    return turned ? load_copy(uses->turning, turned, expr->access.indices, expr->span) : expr;
}

static bool use_copies_in(struct ir_stmt *stmt, void *context)
{
    const struct uses *uses = context;
    pass_rewrite(uses->turning->pass, stmt, use_copies, context);
    const struct turned *turned = stmt->kind == IR_STORE ? copy_of(uses, &stmt->access) : NULL;
    if (turned)
        stmt->access = load_copy(uses->turning, turned, stmt->access.indices, stmt->span)->access;
    return true;
}

static bool use_copies_below(struct ir_stmt *stmt, void *context)
{
    struct uses uses = {context, stmt};
    if (stmt->note)
        ir_block_walk(stmt->body, use_copies_in, &uses);
    stmt->note = NULL;
    return true;
}

static struct ir_stmt *loop_over(const struct turning *turning, struct ir_expr *index, struct ir_expr *extent,
                                 struct ir_stmt *body)
{
    struct ir_stmt *loop = ir_stmt_new(turning->pass->kernel, IR_FOR, turning->around->span);
    loop->symbol = index->symbol;
    loop->low = number(turning, 0);
    loop->high = pass_copy(turning->pass, extent);
    loop->step = 1;
    loop->body = body;
    return loop;
}

/* Loops that fill the copy from the tensor, or the tensor from it: those over what lies side by side in what
 * is filled inside. */
static struct ir_stmt *move_elements(const struct turning *turning, const struct turned *turned, bool back)
{
    struct ir_kernel *kernel = turning->pass->kernel;
    struct ir_expr *at[AKG_MAX_RANK] = {NULL}, *indices[AKG_MAX_RANK], *extents[AKG_MAX_RANK];
    int rank = turned->from->rank;
    for (int k = 0; k < rank; k++)
        at[k] = ir_symbol_use(kernel, ir_symbol_new(kernel, IR_SYMBOL_LOOP, "at", AKG_INT64));
    struct ir_expr *of_copy = load_copy(turning, turned, at, turning->around->span);
    for (int k = 0; k < rank; k++)
        indices[k] = pass_copy(turning->pass, at[k]);
    struct ir_expr *of_tensor = ir_load(kernel, turned->from, indices);
    for (int k = 0; k < rank; k++)
        of_tensor->access.checks[k] = IR_CHECK_PROVED;
    struct ir_stmt *fill = ir_stmt_new(kernel, IR_STORE, turning->around->span);
    fill->access = back ? of_tensor->access : of_copy->access;
    fill->value = back ? of_copy : of_tensor;
    for (int k = 0; k < rank; k++)
        extents[k] = turned->from->shape[k];
    if (!back)
        put_last(turned, turned->from->shape, extents);
    struct ir_expr **filled = fill->access.indices;
    for (int k = rank - 1; k >= 0; k--)
        fill = loop_over(turning, filled[k], extents[k], fill);
    return fill;
}

/* The memory of the copy, which is none where it is not made, and what fills it. */
static struct ir_stmt *make_copy(const struct turning *turning, struct turned *turned)
{
    struct pass *pass = turning->pass;
    const struct ir_buffer *from = turned->from;
    struct ir_buffer *copy = ir_buffer_new(pass->kernel, "turned", IR_TEMPORARY, from->dtype, from->rank);
    copy->span = turning->around->span;
    put_last(turned, from->shape, copy->shape);
    for (int k = 0; k < from->rank; k++)
        copy->shape[k] = pass_copy(pass, copy->shape[k]);
    copy->shape[0] = ir_operation(pass->kernel, OP_SELECT, pass_copy(pass, turning->pays), copy->shape[0],
                                  number(turning, 0));
    turned->copy = copy;
    struct ir_stmt *allocate = ir_stmt_new(pass->kernel, IR_ALLOCATE, copy->span);
    allocate->access.buffer = copy;
    allocate->next = move_elements(turning, turned, false);
    return allocate;
}

/* `if it pays: the copies and what uses them, else: what was there` */
static struct ir_stmt *choose(const struct turning *turning, struct ir_stmt *turned, struct ir_stmt *plain)
{
    struct ir_stmt *choice = ir_stmt_new(turning->pass->kernel, IR_IF, plain->span);
    choice->value = turning->pays;
    choice->body = turned;
    choice->otherwise = plain;
    choice->deferred = true;
    return choice;
}

/* In the place of the statement. */
static void turn(struct turning *turning, struct ir_stmt *stmt)
{
    struct pass *pass = turning->pass;
    struct ir_stmt *next = stmt->next, *moved = ir_stmt_new(pass->kernel, stmt->kind, stmt->span);
    struct ir_stmt *first = NULL, **end = &first;
    stmt->next = NULL;
    *moved = *stmt;
    turning->around = moved;
    struct ir_stmt *plain = turning->pays->kind == IR_INTEGER ? NULL : pass_copy_block(pass, moved);
    for (int k = 0; k < turning->count; k++) {
        *end = make_copy(turning, &turning->copies[k]);
        end = &(*end)->next->next;
    }
    *end = moved;
    ir_block_walk(moved, use_copies_below, turning);
    ir_block_walk(moved, use_copies_in, &(struct uses){turning, NULL});
    end = &moved->next;
    for (int k = 0; k < turning->count; k++) {
        if (!turning->copies[k].is_stored)
            continue;
        *end = move_elements(turning, &turning->copies[k], true);
        end = &(*end)->next;
    }
    if (plain)
        first = choose(turning, first, plain);
    *(plain ? &first->next : end) = next;
    *stmt = *first;
}

/* ---- the walk ---------------------------------------------------------------------------------------- */

static bool is_simple(struct ir_stmt *stmt, void *statements)
{
    return ++*(int *)statements <= MOST_STATEMENTS &&
           (stmt->kind == IR_FOR || stmt->kind == IR_IF || stmt->kind == IR_LET ||
            stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN || stmt->kind == IR_STORE);
}

static bool forget(struct ir_stmt *stmt, void *context)
{
    (void)context;
    stmt->note = NULL;
    return true;
}

static bool is_false(const struct ir_expr *condition)
{
    return condition->kind == IR_INTEGER && !condition->integer;
}

static bool try_loop(struct pass *pass, struct ir_stmt *loop)
{
    struct turning turning = {.pass = pass, .around = loop};
    struct ir_stmt *next = loop->next;
    int statements = 0;
    loop->next = NULL;
    bool changes = ir_block_walk(loop, is_simple, &statements);
    if (changes) {
        turning.for_stores = true;
        look_at(&turning, loop);
        turning.for_stores = false;
        look_at(&turning, loop);
        changes = turning.pays && !turning.is_too_much && !is_false(turning.pays);
    }
    if (!changes)
        ir_block_walk(loop, forget, NULL);
    loop->next = next;
    if (changes)
        turn(&turning, loop);
    return changes;
}

/* Loops of which nothing comes are looked into: what they hold may not be simple everywhere. */
static bool turn_block(struct pass *pass, struct ir_stmt *block, int depth)
{
    bool changed = false;
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && try_loop(pass, stmt)) {
            changed = true;
            continue;
        }
        changed |= turn_block(pass, stmt->body, depth + 1);
        changed |= turn_block(pass, stmt->otherwise, depth + 1);
    }
    return changed;
}

bool pass_turn(struct pass *pass)
{
    return turn_block(pass, pass->kernel->body, 0);
}

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
 * copy, which begins as the tensor was, and turned behind. So are those of a window of a few elements that
 * lies along what is stored, of what is turned for it: the gradient of weights w[o, c, p, q] with many o or
 * c.
 *
 * Consumes the outermost loops that hold nothing but loops, conditions, scalars and stores, and in them loops
 * over columns, along which all that is stored lies and what is loaded does or is across: the column is an
 * index of its own, but not the last one. Products of matrices are left to pass_tile.c. Comes before the
 * passes that arrange, cut and write out loops, which see the copy as if it were the program's.
 */
#include "pass_turn.h"
#include "vector.h"

/* ---- how elements lie ------------------------------------------------------------------------------ */

/* The axis whose index is the column, perhaps with something added, where no other one has to do with it; -1:
 * there is none. */
int turn_axis_of(const struct ir_access *access, const struct ir_symbol *column)
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
    return access->buffer->rank > 0 && turn_axis_of(access, column) == access->buffer->rank - 1;
}

/* Whether a copy can be in its place, and is wanted. */
bool turn_is_across(const struct turning *turning, struct ir_access *access, const struct ir_symbol *column)
{
    int axis = turn_axis_of(access, column);
    return axis >= 0 && axis < access->buffer->rank - 1 && !pass_access_may_stop(access) &&
           !ir_block_stores_to(turning->around->body, access->buffer);
}

const struct turned *turn_find_copy(const struct turning *turning, const struct ir_buffer *buffer, int axis)
{
    for (int k = 0; k < turning->count; k++)
        if (turning->copies[k].from == buffer && turning->copies[k].axis == axis)
            return &turning->copies[k];
    return NULL;
}

const struct turned *turn_find_stored(const struct turning *turning, const struct ir_buffer *buffer)
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

/* Of the copy of what is stored. */
static bool is_along_copy(const struct view *view, const struct ir_access *access)
{
    const struct turned *turned = turn_find_stored(view->turning, access->buffer);
    return turned && turn_axis_of(access, view->columns->symbol) == turned->axis;
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
    else if (is_along(&expr->access, column) || is_along_copy(view, &expr->access))
        view->along += moves;
    else if (turn_is_across(view->turning, &expr->access, column))
        *(is_used_again(view) ? &view->across : &view->once) += 1;
    else
        view->fails = true;
    return !view->fails;
}

static bool holds_no_loop(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_FOR || !pass_has_for(stmt->body);
}

/* What will be the last axis, of a tensor that is stored to. */
static int last_axis(const struct turning *turning, const struct ir_access *access)
{
    const struct turned *turned = turn_find_stored(turning, access->buffer);
    return turned ? turned->axis : access->buffer->rank - 1;
}

static bool view_store(struct ir_stmt *stmt, void *context)
{
    struct view *view = context;
    if (stmt->kind == IR_STORE) {
        view->stores++;
        view->fails |=
            turn_axis_of(&stmt->access, view->columns->symbol) != last_axis(view->turning, &stmt->access);
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
    return stmt->kind == IR_FOR && !pass_has_for(stmt->body);
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
    return pass_has_for(columns->body) && ir_block_walk(columns->body, is_no_other_loop, NULL);
}

/* How often each element must be used that a copy of it pays. Zen 5, 2026-11-27: a sum of 256 products along
 * what lies side by side takes as long with eight rows as with the copy. Where loops are written out,
 * neighbours are loaded together, which four rows of four weights make up for, and where there are none,
 * sixteen. Else elements are fetched one by one, which takes longer than to turn them (1.4 us, and 0.15, for
 * one row of four weights of 256 columns). */
static int times_used(const struct turning *turning, const struct ir_stmt *columns)
{
    if (!pass_has_for(columns->body))
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
           turn_axis_of(access, sums->columns->symbol) == turn_axis_of(sums->store, sums->columns->symbol);
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
    int axis = turn_axis_of(store, columns->symbol);
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

/* ---- windows of stores ------------------------------------------------------------------------------- */

/* Sums of a window, a loop along which all lies as it is, for each of many columns, along which nothing does:
 * if the window is small, its elements are few lanes. */
struct window {
    struct sums sums;
    struct turning *turning;
    const struct ir_stmt *loop; /* over the window */
    const struct ir_stmt
        *rows;  /* a loop that has an index of its own, in what is stored and what is loaded */
    int across; /* loads that can be turned */
    const struct ir_stmt *tried;
};

static bool window_load(struct ir_expr *expr, void *context)
{
    struct window *window = context;
    struct sums *sums = &window->sums;
    struct summed summed = {sums, &expr->access};
    if (expr->kind != IR_LOAD)
        return true;
    if (!pass_access_mentions(&expr->access, sums->columns->symbol))
        sums->others += !ir_block_walk(sums->columns->body, is_not_summed, &summed);
    else if (turn_is_across(window->turning, &expr->access, sums->columns->symbol))
        window->across += !ir_block_walk(sums->columns->body, is_not_summed, &summed);
    else
        sums->fails |= !is_like_store(sums, &expr->access);
    return !sums->fails;
}

static bool is_index(const struct ir_access *access, const struct ir_symbol *symbol)
{
    for (int k = 0; k < access->buffer->rank; k++)
        if (access->indices[k]->kind == IR_SYMBOL && access->indices[k]->symbol == symbol)
            return true;
    return false;
}

static bool has_no_index(struct ir_expr *expr, void *context)
{
    const struct window *window = context;
    return expr->kind != IR_LOAD || expr->access.buffer == window->sums.store->buffer ||
           !is_index(&expr->access, window->tried->symbol);
}

/* False where there are conditions, under which elements are masked one by one. */
static bool find_window(struct ir_stmt *stmt, void *context)
{
    enum { SMALL = 8 };
    struct window *window = context;
    window->tried = stmt;
    int known = vector_known_extent(stmt);
    if (stmt->kind == IR_FOR && known && known <= SMALL && !has_no_columns(stmt, &window->sums))
        window->loop = stmt;
    else if (stmt->kind == IR_FOR && stmt != window->sums.columns &&
             is_index(window->sums.store, stmt->symbol) &&
             !ir_block_expressions(window->sums.columns->body, has_no_index, window))
        window->rows = stmt;
    return stmt->kind != IR_IF;
}

/* Whether sums over several loops are those of such a window; finds it, and a loop of the sums. */
static bool find_window_of_store(const struct turning *turning, struct window *window)
{
    struct sums *sums = &window->sums;
    const struct ir_access *store = sums->store;
    struct ir_stmt *around = (struct ir_stmt *)turning->around;
    int axis = turn_axis_of(store, sums->columns->symbol);
    if (axis < 0 || axis == store->buffer->rank - 1 || sums->columns->step != 1 ||
        store->buffer->role == IR_INOUT || !ir_block_walk(sums->columns->body, sums_store, sums) ||
        !ir_block_expressions(sums->columns->body, window_load, window) || !window->across || !sums->others ||
        !ir_block_walk(around, store_goes_on, store->buffer) ||
        !ir_block_expressions(around, load_goes_on, store->buffer))
        return false;
    ir_block_walk(sums->columns->body, count_depths, sums);
    return ir_block_walk(around, find_window, window) && sums->loops > 1 && window->loop && window->rows &&
           pass_is_parallel(turning->pass, (struct ir_stmt *)sums->columns);
}

/* ---- whether it pays --------------------------------------------------------------------------------- */

static struct ir_expr *extent(const struct turning *turning, const struct ir_stmt *loop)
{
    return pass_apply(turning->pass, OP_SUB, pass_copy(turning->pass, loop->high),
                      pass_copy(turning->pass, loop->low));
}

static bool is_counted(const struct ir_stmt *loop)
{
    return loop->step == 1 && pass_is_of_call(loop->low) && pass_is_of_call(loop->high);
}

/* How often the loops around come to what they hold, as far as that is known. */
static struct ir_expr *iterations(const struct turning *turning)
{
    struct ir_expr *product = pass_number(turning->pass, 1);
    for (int k = 0; k < turning->depth; k++) {
        const struct ir_stmt *loop = turning->loops[k];
        if (is_counted(loop))
            product = pass_apply(turning->pass, OP_MUL, product, extent(turning, loop));
    }
    return product;
}

static struct ir_expr *elements(const struct turning *turning, const struct ir_buffer *buffer)
{
    struct ir_expr *product = pass_number(turning->pass, 1);
    for (int k = 0; k < buffer->rank; k++)
        product = pass_apply(turning->pass, OP_MUL, product, pass_copy(turning->pass, buffer->shape[k]));
    return product;
}

/* ---- what is turned ---------------------------------------------------------------------------------- */

/* Whether a copy for these columns pays, of which each element is to be used so many times. With fewer
 * columns than lanes it does not; how many there are must be known before the nest for that. */
static struct ir_expr *pays(const struct turning *turning, const struct ir_stmt *columns,
                            const struct ir_buffer *buffer, int times)
{
    enum { FEW = 8 };
    struct ir_expr *least =
        pass_apply(turning->pass, OP_MUL, elements(turning, buffer), pass_number(turning->pass, times));
    struct ir_expr *is_used = pass_apply(turning->pass, OP_GE, iterations(turning), least);
    if (!is_counted(columns))
        return is_used;
    return pass_apply(
        turning->pass, OP_AND, is_used,
        pass_apply(turning->pass, OP_GE, extent(turning, columns), pass_number(turning->pass, FEW)));
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
        turning->pays = pass_apply(turning->pass, OP_AND, turning->pays, pays);
}

static bool look_at_load(struct ir_expr *expr, void *context)
{
    struct turning *turning = context;
    for (int k = 0; expr->kind == IR_LOAD && k < turning->depth; k++) {
        const struct ir_stmt *loop = turning->loops[k];
        if (loop->note && turn_is_across(turning, &expr->access, loop->symbol) &&
            !turn_find_copy(turning, expr->access.buffer, turn_axis_of(&expr->access, loop->symbol)))
            add_copy(turning,
                     (struct turned){.from = expr->access.buffer,
                                     .axis = turn_axis_of(&expr->access, loop->symbol)},
                     pays(turning, loop, expr->access.buffer, times_used(turning, loop)));
    }
    return true;
}

/* What is summed over, behind the loops around. */
static bool add_depths(struct ir_stmt *stmt, void *context)
{
    struct window *window = context;
    struct turning *turning = window->turning;
    if (stmt->kind == IR_FOR && !pass_access_mentions(window->sums.store, stmt->symbol) &&
        turning->depth < DEEPEST)
        turning->loops[turning->depth++] = stmt;
    return true;
}

/* False on a diagonal, where an index is that of an axis before, too. */
static bool has_own_index(const struct ir_access *store, int axis)
{
    for (int k = 0; k < axis; k++)
        if (store->indices[k]->kind == IR_SYMBOL && store->indices[k]->symbol == store->indices[axis]->symbol)
            return false;
    return true;
}

/* Whether the loops around the store, so many, go over all of the tensor, and load nothing of it. Any other
 * loop there might have no iteration. */
static bool stores_all(const struct turning *turning, const struct ir_access *store, int loops)
{
    struct ir_stmt *around = (struct ir_stmt *)turning->around;
    int covered = 0;
    for (int axis = 0; axis < store->buffer->rank; axis++)
        for (int k = 0; k < loops; k++) {
            const struct ir_stmt *loop = turning->loops[k];
            covered += store->indices[axis]->kind == IR_SYMBOL && has_own_index(store, axis) &&
                       store->indices[axis]->symbol == loop->symbol && is_counted(loop) &&
                       loop->low->kind == IR_INTEGER && !loop->low->integer &&
                       ir_expr_equal(loop->high, store->buffer->shape[axis]);
        }
    return covered == store->buffer->rank && covered == loops && !ir_block_loads_from(around, store->buffer);
}

/* Sixteen columns are a vector. With as many as fill half of one lanes along the sums are as good, and with
 * few rows, too. */
static void look_at_window(struct turning *turning, const struct ir_stmt *columns,
                           const struct ir_access *store)
{
    enum { TIMES = 8, MANY = 16, ROWS = 8 };
    struct window window = {.sums = {.columns = columns, .store = store}, .turning = turning};
    if (!is_counted(columns) || !find_window_of_store(turning, &window) || !is_counted(window.rows))
        return;
    int around = turning->depth;
    ir_block_walk(columns->body, add_depths, &window);
    struct ir_expr *are_many = pass_apply(
        turning->pass, OP_AND,
        pass_apply(turning->pass, OP_GE, extent(turning, columns), pass_number(turning->pass, MANY)),
        pass_apply(turning->pass, OP_GE, extent(turning, window.rows), pass_number(turning->pass, ROWS)));
    struct turned turned = {.from = store->buffer,
                            .axis = turn_axis_of(store, columns->symbol),
                            .is_stored = true,
                            .is_whole = stores_all(turning, store, around)};
    add_copy(turning, turned,
             pass_apply(turning->pass, OP_AND, are_many, pays(turning, columns, store->buffer, TIMES)));
    turning->depth = around;
    turning->needs_loads = true;
}

/* Each element is turned twice, for which sums of eight make up, and of who knows how many. */
static void look_at_store(struct turning *turning, struct ir_stmt *stmt)
{
    enum { TIMES = 8 };
    for (int k = 0; stmt->kind == IR_STORE && k < turning->depth; k++) {
        const struct ir_stmt *loop = turning->loops[k];
        struct ir_buffer *buffer = stmt->access.buffer;
        const struct ir_stmt *depths =
            turn_find_stored(turning, buffer) ? NULL : depths_of_store(turning, loop, &stmt->access);
        if (!depths && !turn_find_stored(turning, buffer))
            look_at_window(turning, loop, &stmt->access);
        if (!depths || turning->depth == DEEPEST)
            continue;
        turning->loops[turning->depth++] = depths;
        struct turned turned = {
            .from = buffer, .axis = turn_axis_of(&stmt->access, loop->symbol), .is_stored = true};
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
        bool has_loads = false;
        for (int k = 0; k < turning.count; k++)
            has_loads |= !turning.copies[k].is_stored;
        changes = turning.pays && !turning.is_too_much && !is_false(turning.pays) &&
                  (has_loads || !turning.needs_loads);
    }
    if (!changes)
        ir_block_walk(loop, forget, NULL);
    loop->next = next;
    if (changes)
        turn_loop(&turning, loop);
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

/*
 * pass_tabulate.c: what a nest computes of its loop variables alone, whether a window leaves the image say,
 * goes into tables: `if 0 <= j + r < W` inside loops over f, c, j and r becomes `if table[j, r] != 0`.
 *
 * A nest (vector_nest.c) knows its loop variables as places of elements, not as values (but for that of an
 * only depth). Consumes nests whose two outer loops are parallel, and in their bodies the largest expressions
 * over loop variables, dims and attributes that load nothing and are no index; conditions that are joined by
 * `and` or `or` are taken apart where they hang on different variables. A table has an axis for each
 * variable, is filled at the beginning of the kernel, and leaves out at least one of the loops around the
 * expression, whose iterations share it. All of it is done on a copy, which takes the place of the nest only
 * where it becomes vectors by that.
 *
 * In other loops inside of loops only functions go into tables, such as the cosine of a window's place in
 * `y[i, j] = x[i + j] * (0.5 - 0.5 * cos(j * step))`, which each row would compute again; there also those of
 * the elements of inputs that such a loop goes over, `rsqrt(variance[j] + 1e-5)`, quotients, and elements
 * that lie apart along it, `bias[j, 2]` of `bias: T[N, 4]`.
 */
#include "pass.h"
#include "vector.h"

enum { AXES = 3, LOOPS = 16, DEEPEST = 40, VISITS = 1000 /* of expressions, with what scalars stand for */ };

struct tabulator {
    struct pass *pass;
    const struct ir_stmt *loops[LOOPS]; /* around what is looked at, outermost first */
    int count, nest;                    /* of which those from `nest` on belong to the nest */
    const struct ir_stmt *columns; /* of the nest: what it loads lies one behind the other along these, */
    bool is_along;                 /* which are its innermost loop (vector_along.c) */
    bool only_functions;
    struct ir_stmt *tables; /* statements that fill the tables of the nest */
    struct ir_stmt **end;
};

/* The loops whose variables an expression has, columns last, and for each the variable of a loop that fills
 * its table. */
struct axes {
    const struct ir_stmt *loops[AXES];
    struct ir_symbol *fillers[AXES];
    int count, visited;
    bool is_of_nest;
};

static const struct vector_options usual_options = {.target = X86_TARGET_AVX512};

/* ---- what an expression hangs on ---------------------------------------------------------------- */

static int axis_of(const struct axes *axes, const struct ir_symbol *symbol)
{
    for (int k = 0; k < axes->count; k++)
        if (axes->loops[k]->symbol == symbol)
            return k;
    return -1;
}

static struct ir_expr *end_in_call(const struct tabulator *tabulator, const struct ir_expr *expr,
                                   bool is_upper, int depth);

/* Of a loop's variable that loops around the table's have. */
static struct ir_expr *end_of_symbol(const struct tabulator *tabulator, const struct ir_symbol *symbol,
                                     bool is_upper, int depth)
{
    struct ir_kernel *kernel = tabulator->pass->kernel;

    if (symbol->kind == IR_SYMBOL_DIM)
        return ir_symbol_use(kernel, (struct ir_symbol *)symbol);
    if (symbol->kind == IR_SYMBOL_LET && symbol->value)
        return end_in_call(tabulator, symbol->value, is_upper, depth + 1);
    for (int k = 0; k < tabulator->count; k++) {
        const struct ir_stmt *loop = tabulator->loops[k];
        if (loop->symbol != symbol || loop->step != 1)
            continue;
        struct ir_expr *end = end_in_call(tabulator, is_upper ? loop->high : loop->low, is_upper, depth + 1);
        return end && is_upper ? ir_operation(kernel, OP_SUB, end, ir_integer(kernel, AKG_INT64, 1), NULL)
                               : end;
    }
    return NULL;
}

/* What the sum of dims and variables is at most, or at least, in the whole call; NULL: nobody knows. */
static struct ir_expr *end_in_call(const struct tabulator *tabulator, const struct ir_expr *expr,
                                   bool is_upper, int depth)
{
    enum { FACTOR = 1 << 20, DEPTH = 12 };
    struct ir_kernel *kernel = tabulator->pass->kernel;
    enum operation operation = expr->operation;

    if (depth > DEPTH || expr->dtype != AKG_INT64)
        return NULL;
    if (expr->kind == IR_INTEGER)
        return expr->integer <= FACTOR && expr->integer >= -FACTOR ? pass_copy(tabulator->pass, expr) : NULL;
    if (expr->kind == IR_SYMBOL)
        return end_of_symbol(tabulator, expr->symbol, is_upper, depth);
    if (expr->kind != IR_OPERATION || expr->count != 2)
        return NULL;
    bool scales = operation == OP_MUL || operation == OP_FLOORDIV;
    const struct ir_expr *by = expr->operands[1];
    if ((!scales && operation != OP_ADD && operation != OP_SUB && operation != OP_MIN &&
         operation != OP_MAX) ||
        (scales && (by->kind != IR_INTEGER || (operation == OP_FLOORDIV && by->integer < 1))))
        return NULL;
    bool turns = operation == OP_MUL && by->integer < 0;
    struct ir_expr *a = end_in_call(tabulator, expr->operands[0], is_upper != turns, depth + 1);
    struct ir_expr *b = end_in_call(tabulator, by, is_upper != (operation == OP_SUB), depth + 1);
    return a && b ? ir_operation(kernel, operation, a, b, NULL) : NULL;
}

/* Where the table ends along the loop: with it, or, where that hangs on loops around, where it ends at the
 * latest. (What is loaded might not be there.) NULL: nobody knows before all loops. */
static struct ir_expr *end_of_axis(const struct tabulator *tabulator, const struct ir_stmt *loop)
{
    if (pass_is_of_call(loop->high))
        return pass_copy(tabulator->pass, loop->high);
    return tabulator->only_functions ? NULL : end_in_call(tabulator, loop->high, true, 0);
}

static bool add_axis(const struct tabulator *tabulator, const struct ir_symbol *symbol, struct axes *axes)
{
    int level = 0;

    if (axis_of(axes, symbol) >= 0)
        return true;
    while (level < tabulator->count && tabulator->loops[level]->symbol != symbol)
        level++;
    if (level == tabulator->count || axes->count == AXES)
        return false;
    const struct ir_stmt *loop = tabulator->loops[level];
    if (loop->step != 1 || !pass_is_of_call(loop->low) || !end_of_axis(tabulator, loop))
        return false;
    axes->is_of_nest |= level >= tabulator->nest;
    axes->loops[axes->count++] = loop;
    for (int k = axes->count - 1; k > 0 && axes->loops[k - 1] == tabulator->columns; k--) {
        axes->loops[k] = tabulator->columns;
        axes->loops[k - 1] = loop;
    }
    return true;
}

static bool is_inside(const struct ir_expr *index, const struct ir_expr *extent)
{
    return index->kind == IR_INTEGER && extent->kind == IR_INTEGER && index->integer >= 0 &&
           index->integer < extent->integer;
}

/* Whether it is the element of an input that the loops themselves are over, at a known place along other
 * axes, so that it is there whatever stands around it. */
static bool is_element(const struct tabulator *tabulator, const struct ir_access *access, struct axes *axes)
{
    if (!tabulator->only_functions || access->buffer->role != IR_INPUT || access->buffer->rank > AXES)
        return false;
    for (int k = 0; k < access->buffer->rank; k++) {
        const struct ir_expr *index = access->indices[k];
        if (is_inside(index, access->buffer->shape[k]))
            continue;
        if (index->kind != IR_SYMBOL || index->symbol->kind != IR_SYMBOL_LOOP ||
            !add_axis(tabulator, index->symbol, axes))
            return false;
        const struct ir_stmt *loop = axes->loops[axis_of(axes, index->symbol)];
        if (loop->low->kind != IR_INTEGER || loop->low->integer < 0 ||
            !ir_expr_equal(loop->high, access->buffer->shape[k]))
            return false;
    }
    return access->buffer->rank > 0;
}

/* Whether the elements that the one loop goes over lie apart: vectors would be gathered in each iteration of
 * the loops around. */
static bool lies_apart(const struct ir_expr *expr, const struct ir_symbol *variable)
{
    enum { SORTED = 4 }; /* those that lie no further apart are sorted out of vectors */
    const struct ir_access *access = &expr->access;
    int64_t distance = 1;
    int axis;

    if (expr->kind != IR_LOAD || !access->buffer->contiguous)
        return false;
    for (axis = access->buffer->rank - 1; axis >= 0 && access->indices[axis]->kind == IR_INTEGER; axis--)
        if (access->buffer->shape[axis]->kind != IR_INTEGER ||
            __builtin_mul_overflow(distance, access->buffer->shape[axis]->integer, &distance))
            return false;
    return axis >= 0 && distance > SORTED && access->indices[axis]->kind == IR_SYMBOL &&
           access->indices[axis]->symbol == variable;
}

/* False: it hangs on something else, or on too many loops. */
static bool find_axes(const struct tabulator *tabulator, struct ir_expr *expr, struct axes *axes, int depth)
{
    if (depth > DEEPEST || ++axes->visited > VISITS)
        return false;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LOOP)
        return add_axis(tabulator, expr->symbol, axes);
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return expr->symbol->value && pass_is_pure_of_loads(expr->symbol->value) &&
               find_axes(tabulator, expr->symbol->value, axes, depth + 1);
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->kind != IR_SYMBOL_VARIABLE;
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        if (!find_axes(tabulator, expr->operands[k], axes, depth + 1))
            return false;
    return expr->kind != IR_LOAD || is_element(tabulator, &expr->access, axes);
}

static bool has_lanes(akg_dtype dtype)
{
    return dtype == AKG_BOOL || dtype_table[dtype].size >= 4;
}

/* What a table could hold: it differs within the nest. */
static bool is_tabular(const struct tabulator *tabulator, struct ir_expr *expr, struct axes *axes)
{
    *axes = (struct axes){.count = 0};
    return expr->kind != IR_INTEGER && expr->kind != IR_REAL && has_lanes(expr->dtype) &&
           pass_is_pure_of_loads(expr) && find_axes(tabulator, expr, axes, 0) && axes->is_of_nest;
}

static bool is_no_function(struct ir_expr *expr, void *unused)
{
    (void)unused;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return ir_expr_walk(expr->symbol->value, is_no_function, NULL);
    return expr->kind != IR_OPERATION || (expr->operation < OP_EXP && expr->operation != OP_POW);
}

static bool is_no_load(struct ir_expr *expr, void *unused)
{
    (void)unused;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return ir_expr_walk(expr->symbol->value, is_no_load, NULL);
    return expr->kind != IR_LOAD;
}

/* What is computed of elements pays where it takes several times as long as to load it. */
static bool is_cheap(struct ir_expr *expr, void *unused)
{
    (void)unused;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return ir_expr_walk(expr->symbol->value, is_cheap, NULL);
    return expr->kind != IR_OPERATION || !dtype_is_float(expr->dtype) ||
           (expr->operation != OP_TRUEDIV && expr->operation != OP_POW &&
            (expr->operation < OP_SQRT || expr->operation > OP_SIGMOID));
}

/* Of elements only along one loop: more of them are as dear to bring as what is computed with them. */
static bool is_function(struct ir_expr *expr, const struct axes *axes)
{
    if (ir_expr_walk(expr, is_no_load, NULL))
        return !ir_expr_walk(expr, is_no_function, NULL);
    return axes->count == 1 &&
           (lies_apart(expr, axes->loops[0]->symbol) || !ir_expr_walk(expr, is_cheap, NULL));
}

/* Whether the index moves with the table's axis and with no other one. */
static bool goes_along_one(const struct ir_expr *index, const struct axes *axes, int axis)
{
    struct pass_affine sum;

    if (!pass_affine_of(index, &sum))
        return false;
    for (int k = 0; k < axes->count; k++)
        if ((pass_affine_coefficient(&sum, axes->loops[k]->symbol) != 0) != (k == axis))
            return false;
    return true;
}

/* Each axis has an index of its own: of `x[i + j]` there are not as many elements as i and j together have.
 */
static bool goes_along(const struct ir_access *access, const struct axes *axes)
{
    for (int axis = 0; axis < axes->count; axis++) {
        int k = 0;
        while (k < access->buffer->rank && !goes_along_one(access->indices[k], axes, axis))
            k++;
        if (k == access->buffer->rank)
            return false;
    }
    return true;
}

static bool is_no_load_along(struct ir_expr *expr, void *axes)
{
    return expr->kind != IR_LOAD || !goes_along(&expr->access, axes);
}

static bool is_no_store_along(struct ir_stmt *stmt, void *axes)
{
    return stmt->kind != IR_STORE || !goes_along(&stmt->access, axes);
}

/* Whether some tensor has an element for each of the table, which then is no larger: memory for a table that
 * is only computed with may not be there. */
static bool has_room(const struct tabulator *tabulator, const struct axes *axes)
{
    struct ir_stmt *body = tabulator->columns->body;
    return !ir_block_expressions(body, is_no_load_along, (void *)axes) ||
           !ir_block_walk(body, is_no_store_along, (void *)axes);
}

/* A table is worth it where some loop repeats it. */
static bool is_repeated(const struct tabulator *tabulator, struct ir_expr *expr, const struct axes *axes)
{
    if (axes->count == tabulator->count)
        return false;
    return !tabulator->only_functions || (is_function(expr, axes) && has_room(tabulator, axes));
}

static bool are_same(const struct axes *a, const struct axes *b)
{
    for (int k = 0; k < a->count; k++)
        if (axis_of(b, a->loops[k]->symbol) < 0)
            return false;
    return a->count == b->count;
}

/* Both sides of an `and` or `or` are better apart: smaller tables, or none. */
static bool comes_apart(const struct tabulator *tabulator, struct ir_expr *expr)
{
    struct axes sides[2] = {{.count = 0}, {.count = 0}};

    if (expr->kind != IR_OPERATION || (expr->operation != OP_AND && expr->operation != OP_OR))
        return false;
    for (int k = 0; k < 2; k++)
        find_axes(tabulator, expr->operands[k], &sides[k], 0);
    return !are_same(&sides[0], &sides[1]);
}

/* ---- tables ------------------------------------------------------------------------------------- */

/* A copy over the variables of the loops that fill the table. */
static struct ir_expr *filled(struct tabulator *tabulator, const struct axes *axes,
                              const struct ir_expr *expr)
{
    struct ir_kernel *kernel = tabulator->pass->kernel;

    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return filled(tabulator, axes, expr->symbol->value);
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LOOP) {
        struct ir_expr *use = ir_symbol_use(kernel, axes->fillers[axis_of(axes, expr->symbol)]);
        use->span = expr->span;
        return use;
    }
    struct ir_expr *copy = pass_copy(tabulator->pass, expr);
    for (int k = 0; copy->kind == IR_OPERATION && k < copy->count; k++)
        copy->operands[k] = filled(tabulator, axes, expr->operands[k]);
    for (int k = 0; copy->kind == IR_LOAD && k < copy->access.buffer->rank; k++)
        copy->access.indices[k] = filled(tabulator, axes, expr->access.indices[k]);
    return copy;
}

/* Conditions are numbers in a table. */
static struct ir_expr *as_number(struct ir_kernel *kernel, struct ir_expr *value)
{
    return value->dtype != AKG_BOOL ? value
                                    : ir_operation(kernel, OP_SELECT, value, ir_integer(kernel, AKG_INT32, 1),
                                                   ir_integer(kernel, AKG_INT32, 0));
}

static struct ir_expr *distance(struct ir_kernel *kernel, struct ir_expr *from, struct ir_expr *to)
{
    return ir_operation(kernel, OP_SUB, to, from, NULL);
}

static struct ir_buffer *new_table(struct tabulator *tabulator, const struct axes *axes, akg_dtype dtype,
                                   struct span span)
{
    struct pass *pass = tabulator->pass;
    struct ir_kernel *kernel = pass->kernel;
    struct ir_buffer *buffer = ir_buffer_new(kernel, "table", IR_TEMPORARY, dtype, axes->count);
    struct ir_stmt *allocate = ir_stmt_new(kernel, IR_ALLOCATE, span);

    buffer->span = span;
    for (int k = 0; k < axes->count; k++) {
        struct ir_expr *extent =
            distance(kernel, pass_copy(pass, axes->loops[k]->low), end_of_axis(tabulator, axes->loops[k]));
        bool is_extent = (extent->kind == IR_SYMBOL && extent->symbol->kind == IR_SYMBOL_DIM) ||
                         (extent->kind == IR_INTEGER && extent->integer >= 0);
        buffer->shape[k] =
            is_extent ? extent : ir_operation(kernel, OP_MAX, ir_integer(kernel, AKG_INT64, 0), extent, NULL);
    }
    allocate->access.buffer = buffer;
    *tabulator->end = allocate;
    tabulator->end = &allocate->next;
    return buffer;
}

/* Loops around the statement that fill the whole table. */
static struct ir_stmt *loops_around(struct tabulator *tabulator, const struct axes *axes,
                                    struct ir_stmt *inside)
{
    for (int k = axes->count - 1; k >= 0; k--) {
        struct ir_stmt *loop = ir_stmt_new(tabulator->pass->kernel, IR_FOR, inside->span);
        loop->symbol = axes->fillers[k];
        loop->low = pass_copy(tabulator->pass, axes->loops[k]->low);
        loop->high = end_of_axis(tabulator, axes->loops[k]);
        loop->step = 1;
        loop->body = inside;
        inside = loop;
    }
    return inside;
}

static struct ir_access element(struct tabulator *tabulator, const struct axes *axes,
                                struct ir_buffer *buffer, bool is_filled)
{
    struct ir_kernel *kernel = tabulator->pass->kernel;
    struct ir_expr *indices[AXES];

    for (int k = 0; k < axes->count; k++) {
        struct ir_symbol *symbol = is_filled ? axes->fillers[k] : axes->loops[k]->symbol;
        indices[k] =
            distance(kernel, pass_copy(tabulator->pass, axes->loops[k]->low), ir_symbol_use(kernel, symbol));
    }
    struct ir_expr *load = ir_load(kernel, buffer, indices);
    for (int k = 0; k < axes->count; k++)
        load->access.checks[k] = IR_CHECK_PROVED;
    return load->access;
}

/* What stands in the place of the expression. */
static struct ir_expr *tabulate(struct tabulator *tabulator, struct axes *axes, struct ir_expr *expr)
{
    struct pass *pass = tabulator->pass;
    struct ir_kernel *kernel = pass->kernel;
    akg_dtype dtype = expr->dtype == AKG_BOOL ? AKG_INT32 : expr->dtype;

    for (int k = 0; k < axes->count; k++)
        axes->fillers[k] = ir_symbol_new(kernel, IR_SYMBOL_LOOP, axes->loops[k]->symbol->name, AKG_INT64);
    struct ir_buffer *buffer = new_table(tabulator, axes, dtype, expr->span);
    struct ir_stmt *store = ir_stmt_new(kernel, IR_STORE, expr->span);
    store->access = element(tabulator, axes, buffer, true);
    pass_set_value(store, as_number(kernel, filled(tabulator, axes, expr)));
    *tabulator->end = loops_around(tabulator, axes, store);
    tabulator->end = &(*tabulator->end)->next;

    struct ir_access access = element(tabulator, axes, buffer, false);
    struct ir_expr *load = pass_load(pass, &access, expr->span);
    if (expr->dtype == AKG_BOOL)
        load = ir_operation(kernel, OP_NE, load, ir_integer(kernel, AKG_INT32, 0), NULL);
    load->span = expr->span;
    return load;
}

/* ---- the body of a nest ------------------------------------------------------------------------- */

static struct ir_expr *rewrite(struct tabulator *tabulator, struct ir_expr *expr)
{
    struct axes axes;

    if (!comes_apart(tabulator, expr) && is_tabular(tabulator, expr, &axes)) {
        if (is_repeated(tabulator, expr, &axes))
            return tabulate(tabulator, &axes, expr);
        if (!tabulator->only_functions)
            return expr;
    }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = rewrite(tabulator, expr->operands[k]);
    return expr;
}

/* What an index may be made of stays: a table's elements are none. */
static bool rewrite_value(struct ir_stmt *stmt, void *context)
{
    if (stmt->value && (stmt->kind != IR_LET || stmt->symbol->dtype != AKG_INT64))
        pass_set_value(stmt, rewrite(context, stmt->value));
    return true;
}

struct search {
    struct tabulator *tabulator;
    bool found;
    bool asked[LOOPS]; /* whether what is found hangs on the loop */
};

static void find_candidates(struct search *search, struct ir_expr *expr)
{
    const struct tabulator *tabulator = search->tabulator;
    struct axes axes;

    if (!comes_apart(tabulator, expr) && is_tabular(tabulator, expr, &axes)) {
        bool is_found = is_repeated(tabulator, expr, &axes);
        search->found |= is_found;
        for (int level = 0; level < tabulator->count; level++)
            search->asked[level] |= axis_of(&axes, tabulator->loops[level]->symbol) >= 0;
        if (is_found || !tabulator->only_functions)
            return;
    }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        find_candidates(search, expr->operands[k]);
}

static bool look_at(struct ir_stmt *stmt, void *context)
{
    struct search *search = context;

    if (stmt->kind == IR_ALLOCATE || stmt->kind == IR_ASSERT || stmt->kind == IR_WHILE ||
        stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE)
        return false;
    if (stmt->value && (stmt->kind != IR_LET || stmt->symbol->dtype != AKG_INT64))
        find_candidates(search, stmt->value);
    return true;
}

/* ---- scalars that only went into what is now in tables ------------------------------------------- */

/* `context`: what is used is marked with; NULL takes the marks away. */
static bool mark_used(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        expr->symbol->note = context;
    return true;
}

static bool remove_unused(struct ir_stmt *stmt, void *context)
{
    bool *removed = context;

    if (stmt->kind != IR_LET)
        return true;
    if (!stmt->symbol->note && pass_is_pure(stmt->value)) {
        pass_remove(stmt);
        *removed = true;
    }
    return true;
}

static void drop_unused(struct ir_stmt **body)
{
    for (bool removed = true; removed;) {
        removed = false;
        ir_block_expressions(*body, mark_used, &removed);
        ir_block_walk(*body, remove_unused, &removed);
        ir_block_expressions(*body, mark_used, NULL);
        pass_sweep(body);
    }
}

/* ---- nests -------------------------------------------------------------------------------------- */

static bool is_parallel(const struct dependences *dependences, const struct ir_stmt *loop)
{
    const struct dependence_loop *row = dependence_loop_is_parallel(dependences, loop);

    return row && row->verdict == DEPENDENCE_PARALLEL && !row->leaves && !row->incomplete;
}

static bool becomes_vectors(struct pass *pass, struct ir_stmt *loop, int first, bool is_along)
{
    const struct dependences *dependences;
    struct vector_nest nest;

    if (!vector_nest_shape(loop, first, &nest))
        return false;
    nest.is_along = is_along;
    if (!vector_nest_build(pass->arena, &nest, &usual_options))
        return false;
    dependences = pass_dependences(pass, loop);
    for (int level = first; dependences && level <= VECTOR_COLUMNS; level++)
        if (!is_parallel(dependences, nest.loops[level]))
            return false;
    return dependences;
}

/* The loops of the nest behind those around it. */
static void enter(struct tabulator *tabulator, const struct vector_nest *nest)
{
    tabulator->nest = tabulator->count;
    tabulator->columns = nest->loops[tabulator->is_along ? nest->depth - 1 : VECTOR_COLUMNS];
    for (int level = nest->first; level < nest->depth && tabulator->count < LOOPS; level++)
        tabulator->loops[tabulator->count++] = nest->loops[level];
}

static void put_first(struct tabulator *tabulator)
{
    *tabulator->end = tabulator->pass->kernel->body;
    tabulator->pass->kernel->body = tabulator->tables;
}

static bool keeps_no_extreme(struct ir_stmt *stmt, void *context)
{
    bool is_kept = stmt->kind == IR_ASSIGN && !pass_mentions(stmt->value, stmt->symbol);

    (void)context;
    return stmt->kind != IR_ASSIGN ||
           (!is_kept && (stmt->value->kind != IR_OPERATION ||
                         (stmt->value->operation != OP_MAX && stmt->value->operation != OP_MIN)));
}

/* Whether it goes from each element to the next, if at all. */
static bool goes_by_one(struct ir_expr *expr, void *nest)
{
    struct pass_affine affine;

    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++)
        for (int level = VECTOR_ROWS; level <= VECTOR_COLUMNS; level++) {
            const struct ir_stmt *loop = ((const struct vector_nest *)nest)->loops[level];
            if (loop && pass_affine_of(expr->access.indices[axis], &affine) &&
                pass_affine_coefficient(&affine, loop->symbol) > 1)
                return false;
        }
    return true;
}

/* A nest down to its innermost loop. Where the greatest or the least is kept, masks cost more than the cuts
 * that spare them, where a loop can be cut (half of the time of a window of 3 by 3). */
static bool find_nest(const struct ir_stmt *loop, int first, struct vector_nest *nest)
{
    *nest = (struct vector_nest){.depth = 0};
    if (!vector_nest_shape(loop, first, nest) || nest->is_while)
        return false;
    struct ir_stmt *innermost = nest->loops[nest->depth - 1]->body;
    return !pass_has_loop(innermost) && ir_block_walk(innermost, keeps_no_extreme, NULL);
}

/* Loads with steps under masks take each element by itself, which only a product pays for whose masks are the
 * same along one of the loops that accumulate; others are cut. */
static bool is_worth(const struct search *search, const struct vector_nest *nest)
{
    int level = search->tabulator->nest + VECTOR_DEPTHS - nest->first;

    while (level < search->tabulator->count && search->asked[level])
        level++;
    return level < search->tabulator->count ||
           ir_block_expressions(nest->loops[nest->depth - 1]->body, goes_by_one, (void *)nest);
}

static bool try_nest_so(struct tabulator *tabulator, struct ir_stmt *loop, int first)
{
    struct pass *pass = tabulator->pass;
    struct search search = {.tabulator = tabulator};
    struct ir_stmt *body = loop->body;
    int around = tabulator->count, buffers = pass->kernel->buffers.count;
    struct vector_nest nest;

    if (!find_nest(loop, first, &nest) ||
        (tabulator->is_along && vector_may_go_along(&nest, &usual_options) != VECTOR_ALWAYS_ALONG))
        return false;
    enter(tabulator, &nest);
    bool found = ir_block_walk(body, look_at, &search) && search.found && is_worth(&search, &nest);
    tabulator->count = around;
    if (!found)
        return false;
    loop->body = pass_copy_block(pass, body);
    tabulator->tables = NULL;
    tabulator->end = &tabulator->tables;
    find_nest(loop, first, &nest);
    enter(tabulator, &nest);
    ir_block_walk(loop->body, rewrite_value, tabulator);
    tabulator->count = around;
    drop_unused(&loop->body);
    if (becomes_vectors(pass, loop, first, tabulator->is_along)) {
        put_first(tabulator);
        return true;
    }
    loop->body = body;
    pass->kernel->buffers.count = buffers;
    return false;
}

/* With lanes along its innermost loop, or along its columns. */
static bool try_nest(struct tabulator *tabulator, struct ir_stmt *loop, int first)
{
    tabulator->is_along = tabulator->pass->reorders;
    bool changed = tabulator->is_along && try_nest_so(tabulator, loop, first);
    tabulator->is_along = false;
    return changed || try_nest_so(tabulator, loop, first);
}

/* ---- other loops ---------------------------------------------------------------------------------- */

static bool is_short(const struct ir_stmt *loop)
{
    enum { SHORT = 16 };

    return loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER &&
           loop->high->integer - SHORT <= loop->low->integer;
}

/* An innermost loop inside of others. */
static bool try_functions(struct tabulator *tabulator, struct ir_stmt *loop)
{
    struct search search = {.tabulator = tabulator};

    if (!tabulator->count || loop->step != 1 || is_short(loop) || pass_has_loop(loop->body))
        return false;
    tabulator->nest = tabulator->count;
    tabulator->columns = loop;
    tabulator->loops[tabulator->count++] = loop;
    tabulator->only_functions = true;
    bool found = ir_block_walk(loop->body, look_at, &search) && search.found;
    if (found) {
        tabulator->tables = NULL;
        tabulator->end = &tabulator->tables;
        ir_block_walk(loop->body, rewrite_value, tabulator);
        drop_unused(&loop->body);
        put_first(tabulator);
    }
    tabulator->only_functions = false;
    tabulator->count--;
    return found;
}

/* ---- the walk ------------------------------------------------------------------------------------- */

static bool tabulate_block(struct tabulator *tabulator, struct ir_stmt *block, int depth)
{
    bool changed = false;

    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        bool is_loop = stmt->kind == IR_FOR && tabulator->count < LOOPS;
        if (is_loop &&
            (try_nest(tabulator, stmt, VECTOR_ROWS) || try_nest(tabulator, stmt, VECTOR_COLUMNS))) {
            changed = true;
            continue;
        }
        changed |= is_loop && try_functions(tabulator, stmt);
        if (is_loop)
            tabulator->loops[tabulator->count++] = stmt;
        changed |= tabulate_block(tabulator, stmt->body, depth + 1);
        tabulator->count -= is_loop;
        changed |= tabulate_block(tabulator, stmt->otherwise, depth + 1);
    }
    return changed;
}

bool pass_tabulate(struct pass *pass)
{
    struct tabulator tabulator = {.pass = pass};

    return tabulate_block(&tabulator, pass->kernel->body, 0);
}

/*
 * pass_tabulate_axes.c: which loops an expression hangs on, and whether a table over these is worth it.
 *
 * Consumes expressions inside the loops of a tabulator; produces the axes of a table.
 */
#include "pass_tabulate.h"

int tabulate_axis_of(const struct axes *axes, const struct ir_symbol *symbol)
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
struct ir_expr *tabulate_end_of_axis(const struct tabulator *tabulator, const struct ir_stmt *loop)
{
    if (pass_is_of_call(loop->high))
        return pass_copy(tabulator->pass, loop->high);
    return tabulator->only_functions ? NULL : end_in_call(tabulator, loop->high, true, 0);
}

/* Attributes may say anything where the loop is not run, and a table is filled all the same. */
static bool is_small(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_ATTRIBUTE ||
           expr->symbol->known.bits == IR_SMALL_BITS;
}

static bool add_axis(const struct tabulator *tabulator, const struct ir_symbol *symbol, struct axes *axes)
{
    int level = 0;

    if (tabulate_axis_of(axes, symbol) >= 0)
        return true;
    while (level < tabulator->count && tabulator->loops[level]->symbol != symbol)
        level++;
    if (level == tabulator->count || axes->count == AXES)
        return false;
    const struct ir_stmt *loop = tabulator->loops[level];
    if (loop->step != 1 || !pass_is_of_call(loop->low) || !tabulate_end_of_axis(tabulator, loop) ||
        !ir_expr_walk(loop->low, is_small, NULL) || !ir_expr_walk(loop->high, is_small, NULL))
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
        const struct ir_stmt *loop = axes->loops[tabulate_axis_of(axes, index->symbol)];
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
bool tabulate_is_tabular(const struct tabulator *tabulator, struct ir_expr *expr, struct axes *axes)
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

/* Nor is one what a LET stands for. */
static bool is_no_load_named(struct ir_expr *expr, void *unused)
{
    (void)unused;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return ir_expr_walk(expr->symbol->value, is_no_load_named, NULL);
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

/* Whether no more floats are computed than are left to come. */
static bool is_within(struct ir_expr *expr, void *left)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return ir_expr_walk(expr->symbol->value, is_within, left);
    *(int *)left -= expr->kind == IR_OPERATION && dtype_is_float(expr->dtype);
    return *(int *)left >= 0;
}

/* Whether it takes several times as long to compute as to load: the place of a sample, scaled and cut. */
static bool is_long(struct ir_expr *expr)
{
    int left = 6;
    return !ir_expr_walk(expr, is_within, &left);
}

/* Of elements only along one loop: more of them are as dear to bring as what is computed with them. */
static bool is_function(struct ir_expr *expr, const struct axes *axes)
{
    if (ir_expr_walk(expr, is_no_load_named, NULL))
        return is_long(expr) || !ir_expr_walk(expr, is_no_function, NULL);
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

bool tabulate_has_known_length(const struct ir_stmt *loop, int64_t most)
{
    return loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER &&
           loop->high->integer - most <= loop->low->integer;
}

/* Whether it grows with one loop alone, or as much as tensors do. */
bool tabulate_is_moderate(const struct tabulator *tabulator, const struct axes *axes)
{
    enum { WINDOW = 64 };
    int count = 0;

    for (int k = 0; k < axes->count; k++)
        count += !tabulate_has_known_length(axes->loops[k], WINDOW);
    return count <= 1 || has_room(tabulator, axes);
}

/* A table is worth it where some loop repeats it. */
bool tabulate_is_repeated(const struct tabulator *tabulator, struct ir_expr *expr, const struct axes *axes)
{
    if (axes->count == tabulator->count)
        return false;
    return !tabulator->only_functions || (is_function(expr, axes) && has_room(tabulator, axes));
}

static bool are_same(const struct axes *a, const struct axes *b)
{
    for (int k = 0; k < a->count; k++)
        if (tabulate_axis_of(b, a->loops[k]->symbol) < 0)
            return false;
    return a->count == b->count;
}

/* Both sides of an `and` or `or` are better apart: smaller tables, or none. */
bool tabulate_comes_apart(const struct tabulator *tabulator, struct ir_expr *expr)
{
    struct axes sides[2] = {{.count = 0}, {.count = 0}};

    if (expr->kind != IR_OPERATION || (expr->operation != OP_AND && expr->operation != OP_OR))
        return false;
    for (int k = 0; k < 2; k++)
        find_axes(tabulator, expr->operands[k], &sides[k], 0);
    return !are_same(&sides[0], &sides[1]);
}

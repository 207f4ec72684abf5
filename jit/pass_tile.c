/*
 * pass_tile.c: large products are computed block by block, from copies of what is used again and again in the
 * order of its use:
 *
 *     for i: for j: { var s = ...; for k: s = s + A(i, k) * B(k, j); ... }
 *
 * becomes, where the extents are large enough, which is decided at run time (else the nest stays as it was),
 *
 *     for each stretch of k:
 *         for each panel of columns j:   copy B(k, j)
 *         for each block of rows i:      copy A(i, k)
 *             for each panel: the nest, over the block, the panel and the stretch, from the copies
 *
 * A and B are any values that hang on k and on only one of i and j. Between two stretches the element that
 * the nest stores holds what was accumulated, so that each element still sees its terms in their order; what
 * is done with the sum is done behind the last stretch. Where the nest stores more than that, or something of
 * another dtype, all of k is one stretch. The loops over panels and blocks stay parallel loops; the copy of a
 * block is allocated inside its iteration.
 *
 * Consumes nests of two parallel loops with bounds over dims and attributes, and one loop inside; nothing in
 * it may stop. Of a copy only the outermost extent depends on the decision: where nothing is copied it takes
 * no memory.
 */
#include "pass.h"

/* With 16 registers a tile is two vectors wide. A panel of just that many columns lies in the first cache, of
 * which every line is used; wider ones leave lines between those of a tile, which fall into the same sets. A
 * block of rows takes a quarter of the second cache, which may be half of what processors with 32 registers
 * have. */
const struct pass_tiles *pass_usual_tiles(enum x86_target target)
{
    static const struct pass_tiles wide = {.rows = 112,
                                           .columns = 64,
                                           .depths = 512,
                                           .large = 480000,
                                           .few = 48,
                                           .block = 256},
                                   narrow = {.rows = 72,
                                             .columns = 16,
                                             .panel = 64,
                                             .depths = 512,
                                             .large = 480000,
                                             .few = 48,
                                             .block = 256,
                                             .turns = true};
    return target == X86_TARGET_AVX2 ? &narrow : &wide;
}

enum {
    TERMS = 4,
    LINE = 16 /* elements: copied rows that are an odd number of lines apart lie well in caches */
};

/* What is copied. */
struct term {
    const struct ir_expr *value;
    bool by_row;        /* hangs on the rows, else on the columns */
    bool is_transposed; /* of rows: those of one k lie side by side */
    bool is_across;     /* and so they do in the copy */
    bool needs_copy;    /* of columns: they do not lie side by side */
    struct ir_buffer *copy;
};

struct nest {
    struct pass *pass;
    struct ir_stmt *rows, *columns, *depths;
    struct term terms[TERMS];
    int count;
    bool fails;
    int64_t width;                        /* columns of a panel */
    struct ir_symbol *panel, *left, *top; /* of the panel; its first column; the first row of the block */
    struct ir_stmt *sum, *store;          /* where k is split: what is accumulated, and stored in between */
    struct ir_symbol *near, *far;         /* the ends of the stretch; NULL: it is all of k */
};

/* ---- expressions --------------------------------------------------------------------------------- */

static struct ir_expr *number(const struct nest *nest, int64_t value)
{
    return ir_integer(nest->pass->kernel, AKG_INT64, value);
}

static struct ir_expr *apply(const struct nest *nest, enum operation operation, struct ir_expr *a,
                             struct ir_expr *b)
{
    struct ir_expr *expr = ir_operation(nest->pass->kernel, operation, a, b, NULL);
    if (expr->kind == IR_OPERATION && expr->operation == operation)
        expr->checked = false; /* divisors are constants other than 0 */
    return expr;
}

static struct ir_expr *use(const struct nest *nest, struct ir_symbol *symbol)
{
    return ir_symbol_use(nest->pass->kernel, symbol);
}

static struct ir_expr *copy(const struct nest *nest, const struct ir_expr *expr)
{
    return pass_copy(nest->pass, expr);
}

static struct ir_expr *extent(const struct nest *nest, const struct ir_stmt *loop)
{
    return apply(nest, OP_SUB, copy(nest, loop->high), copy(nest, loop->low));
}

/* Of a loop with the bounds of a block, `first` and min(..., first + size): what the size is at most, over
 * extents and attributes. NULL: it is no such loop. */
static struct ir_expr *block_size(const struct nest *nest, const struct ir_stmt *loop);

static struct ir_expr *row_extent(const struct nest *nest)
{
    struct ir_expr *size = block_size(nest, nest->rows);
    return size ? size : extent(nest, nest->rows);
}

static struct ir_expr *round_up(const struct nest *nest, struct ir_expr *count, int64_t unit)
{
    return apply(nest, OP_FLOORDIV, apply(nest, OP_ADD, count, number(nest, unit - 1)), number(nest, unit));
}

static struct ir_expr *near_end(const struct nest *nest)
{
    return nest->near ? use(nest, nest->near) : copy(nest, nest->depths->low);
}

static struct ir_expr *far_end(const struct nest *nest)
{
    return nest->far ? use(nest, nest->far) : copy(nest, nest->depths->high);
}

/* Elements from one copied row to the next: the stretch, as an odd number of lines. */
static struct ir_expr *row_pitch(const struct nest *nest)
{
    if (nest->sum)
        return number(nest, ((nest->pass->tiles->depths + LINE - 1) / LINE | 1) * LINE);
    struct ir_expr *lines = round_up(nest, extent(nest, nest->depths), LINE);
    lines = apply(nest, OP_BITOR, apply(nest, OP_MAX, lines, number(nest, 0)), number(nest, 1));
    return apply(nest, OP_MUL, lines, number(nest, LINE));
}

/* Whether the extent is at least the part of what is few for operands that lie well. */
static struct ir_expr *is_part(const struct nest *nest, struct ir_expr *extent, int64_t part)
{
    return apply(nest, OP_GE, extent, number(nest, (nest->pass->tiles->few + part - 1) / part));
}

/* Whether there are enough rows and columns. Where columns do not lie side by side, the other way to compute
 * sums is a vector along each, which takes as long again to be added up: that pays later. */
static struct ir_expr *are_enough(const struct nest *nest, bool transposes)
{
    struct ir_expr *rows = row_extent(nest), *columns = extent(nest, nest->columns);

    if (!transposes)
        return apply(nest, OP_AND, is_part(nest, rows, 1), is_part(nest, columns, 1));
    struct ir_expr *many = apply(nest, OP_AND, is_part(nest, rows, 12), is_part(nest, columns, 4));
    struct ir_expr *some =
        apply(nest, OP_AND, is_part(nest, copy(nest, rows), 6), is_part(nest, copy(nest, columns), 24));
    struct ir_expr *most = apply(nest, OP_MUL, copy(nest, columns), number(nest, nest->pass->tiles->few / 2));
    some = apply(nest, OP_AND, some, apply(nest, OP_LE, extent(nest, nest->depths), most));
    return apply(nest, OP_OR, many, some);
}

/* Whether copies pay. */
static struct ir_expr *condition(const struct nest *nest)
{
    const struct pass_tiles *tiles = nest->pass->tiles;
    bool transposes = false, jumps = false;
    int size = 1;
    for (int k = 0; k < nest->count; k++) {
        int here = dtype_table[nest->terms[k].value->dtype].size;
        size = here > size ? here : size;
        transposes |= nest->terms[k].needs_copy;
        jumps |= nest->terms[k].is_transposed; /* each k has a line of its own */
    }
    /* some, or the loop over blocks would have no iteration for a sum of no terms */
    int64_t large = tiles->large < size ? 1 : tiles->large / size;
    struct ir_expr *enough = are_enough(nest, transposes);
    if (transposes)
        return apply(nest, OP_AND, enough, apply(nest, OP_GT, extent(nest, nest->depths), number(nest, 0)));
    struct ir_expr *widest = apply(nest, OP_MAX, row_extent(nest), extent(nest, nest->columns));
    struct ir_expr *elements = apply(nest, OP_MUL, widest, extent(nest, nest->depths));
    return apply(nest, OP_AND, enough,
                 apply(nest, OP_GE, elements, number(nest, jumps ? (large + 3) / 4 : large)));
}

/* ---- terms --------------------------------------------------------------------------------------- */

struct mentions {
    const struct nest *nest;
    bool rows, columns, depths, loads, other;
};

static bool is_declared_inside(struct ir_stmt *stmt, void *symbol)
{
    bool declares = stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_FOR;
    return !(declares && stmt->symbol == symbol);
}

static bool stores_elsewhere(struct ir_stmt *stmt, void *buffer)
{
    return !(stmt->kind == IR_STORE && stmt->access.buffer == buffer);
}

static bool note_mention(struct ir_expr *expr, void *context)
{
    struct mentions *mentions = context;
    const struct nest *nest = mentions->nest;

    if (expr->kind == IR_SYMBOL) {
        bool rows = expr->symbol == nest->rows->symbol, columns = expr->symbol == nest->columns->symbol,
             depths = expr->symbol == nest->depths->symbol;
        mentions->rows |= rows;
        mentions->columns |= columns;
        mentions->depths |= depths;
        mentions->other |= !rows && !columns && !depths &&
                           (expr->symbol->kind == IR_SYMBOL_VARIABLE ||
                            !ir_block_walk(nest->rows->body, is_declared_inside, expr->symbol));
    } else if (expr->kind == IR_LOAD) {
        mentions->loads = true;
        mentions->other |= !ir_block_walk(nest->rows->body, stores_elsewhere, expr->access.buffer);
    }
    return true;
}

/* The last index of all that it loads grows by one with the variable. */
static bool lies_along(struct ir_expr *expr, void *variable)
{
    struct pass_affine affine;

    if (expr->kind != IR_LOAD)
        return true;
    int last = expr->access.buffer->rank - 1;
    return last < 0 || !pass_access_mentions(&expr->access, variable) ||
           (pass_affine_of(expr->access.indices[last], &affine) &&
            pass_affine_coefficient(&affine, variable) == 1);
}

static void add_term(struct nest *nest, struct ir_expr *expr, bool by_row)
{
    struct ir_symbol *variable = by_row ? nest->rows->symbol : nest->columns->symbol;

    for (int k = 0; k < nest->count; k++)
        if (ir_expr_equal(nest->terms[k].value, expr))
            return;
    if (nest->count == TERMS) {
        nest->fails = true;
        return;
    }
    bool lies = ir_expr_walk(expr, lies_along, variable);
    nest->terms[nest->count++] = (struct term){.value = expr,
                                               .by_row = by_row,
                                               .is_transposed = by_row && lies,
                                               .is_across = by_row && lies && !nest->pass->tiles->turns,
                                               .needs_copy = !by_row && !lies};
}

/* The largest parts that hang on k and on one of i and j, in what is always evaluated. */
static void find_terms(struct nest *nest, struct ir_expr *expr)
{
    struct mentions mentions = {.nest = nest};

    ir_expr_walk(expr, note_mention, &mentions);
    if (mentions.loads && mentions.depths && !mentions.other && mentions.rows != mentions.columns) {
        add_term(nest, expr, mentions.rows);
        return;
    }
    if (expr->kind != IR_OPERATION)
        return;
    bool lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
    for (int k = 0; k < (lazy ? 1 : expr->count); k++)
        find_terms(nest, expr->operands[k]);
}

static void find_all_terms(struct nest *nest)
{
    bool rows = false, columns = false;

    for (struct ir_stmt *stmt = nest->depths->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN)
            find_terms(nest, stmt->value);
    for (int k = 0; k < nest->count; k++) {
        rows |= nest->terms[k].by_row;
        columns |= !nest->terms[k].by_row;
    }
    nest->fails |= !rows || !columns;
}

/* As many columns in a panel as fit into its rows, for each of the terms. */
static void find_width(struct nest *nest)
{
    const struct pass_tiles *tiles = nest->pass->tiles;

    nest->width = tiles->columns;
    for (int k = 0; k < nest->count; k++) {
        int64_t fitting = tiles->panel / dtype_table[nest->terms[k].value->dtype].size;
        if (tiles->panel && !nest->terms[k].by_row && fitting < nest->width)
            nest->width = fitting;
    }
}

/* ---- the nest ------------------------------------------------------------------------------------- */

static bool is_outer(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind == IR_INTEGER || expr->kind == IR_OPERATION ||
           (expr->kind == IR_SYMBOL &&
            (expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE));
}

static bool has_fixed_bounds(struct ir_stmt *loop)
{
    return loop->step == 1 && !loop->hint && pass_is_pure(loop->low) && pass_is_pure(loop->high) &&
           ir_expr_walk(loop->low, is_outer, NULL) && ir_expr_walk(loop->high, is_outer, NULL);
}

static const struct ir_expr *let_value(const struct ir_expr *expr)
{
    return expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET ? expr->symbol->value : NULL;
}

/* A copy of what the expression is at most, over extents and attributes; NULL: that is not known. */
static struct ir_expr *at_most(const struct nest *nest, const struct ir_expr *expr, int depth)
{
    enum { DEEPEST = 8 };
    struct ir_expr *least;

    if (ir_expr_walk((struct ir_expr *)expr, is_outer, NULL))
        return copy(nest, expr);
    if (let_value(expr))
        return depth < DEEPEST ? at_most(nest, let_value(expr), depth + 1) : NULL;
    if (expr->kind != IR_OPERATION || expr->operation != OP_MIN)
        return NULL;
    least = at_most(nest, expr->operands[0], depth + 1);
    return least ? least : at_most(nest, expr->operands[1], depth + 1);
}

static struct ir_expr *block_size(const struct nest *nest, const struct ir_stmt *loop)
{
    const struct ir_expr *end = let_value(loop->high);
    if (!let_value(loop->low) || !end || end->kind != IR_OPERATION || end->operation != OP_MIN ||
        loop->step != 1 || loop->hint)
        return NULL;
    for (int k = 0; k < 2; k++) {
        const struct ir_expr *sum = end->operands[k];
        if (sum->kind != IR_OPERATION || sum->operation != OP_ADD)
            continue;
        for (int first = 0; first < 2; first++)
            if (ir_expr_equal(sum->operands[first], loop->low))
                return at_most(nest, sum->operands[1 - first], 0);
    }
    return NULL;
}

static bool is_simple(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE ||
           stmt->kind == IR_ASSIGN || stmt->kind == IR_STORE || stmt->kind == IR_IF;
}

/* A loop of the block that is the only one there. */
static struct ir_stmt *only_loop(struct ir_stmt *block)
{
    struct ir_stmt *found = NULL;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && found)
            return NULL;
        if (stmt->kind == IR_FOR)
            found = stmt;
        else if (!is_simple(stmt, NULL) || only_loop(stmt->body) || only_loop(stmt->otherwise))
            return NULL;
    }
    return found;
}

static bool find_nest(struct pass *pass, struct ir_stmt *stmt, struct nest *nest)
{
    *nest = (struct nest){.pass = pass, .rows = stmt};
    nest->columns = only_loop(stmt->body);
    nest->depths = nest->columns ? only_loop(nest->columns->body) : NULL;
    if (!nest->depths || only_loop(nest->depths->body) || nest->columns->next)
        return false;
    return (has_fixed_bounds(nest->rows) || block_size(nest, nest->rows)) &&
           has_fixed_bounds(nest->columns) && has_fixed_bounds(nest->depths) &&
           ir_block_walk(nest->rows->body, is_simple, NULL) && !pass_block_may_stop(nest->rows->body);
}

struct stores {
    struct ir_stmt *found;
    int count;
};

static bool count_store(struct ir_stmt *stmt, void *context)
{
    struct stores *stores = context;

    if (stmt->kind == IR_STORE) {
        stores->found = stmt;
        stores->count++;
    }
    return true;
}

struct loads {
    const struct ir_buffer *buffer;
    int count;
};

static bool count_load(struct ir_expr *expr, void *context)
{
    struct loads *loads = context;
    loads->count += expr->kind == IR_LOAD && expr->access.buffer == loads->buffer;
    return true;
}

/* Whether something besides the first value of the sum needs what was there before the store. */
static bool needs_what_was(const struct nest *nest, const struct ir_stmt *sum, const struct ir_buffer *buffer)
{
    struct loads all = {buffer, 0}, first = {buffer, 0};
    ir_block_expressions(nest->rows->body, count_load, &all);
    ir_expr_walk(sum->value, count_load, &first);
    return all.count > first.count;
}

/* Whether k may be split: there is one sum, and one store, which stands behind the loop and can hold it. */
static void find_sum(struct nest *nest)
{
    struct stores stores = {.count = 0};
    struct mentions mentions = {.nest = nest};
    struct ir_stmt *sum = NULL, *last = nest->depths;
    int sums = 0;

    for (struct ir_stmt *stmt = nest->columns->body; stmt != nest->depths; stmt = stmt->next)
        if (stmt->kind == IR_VARIABLE) {
            sum = stmt;
            sums++;
        }
    while (last->next)
        last = last->next;
    ir_block_walk(nest->rows->body, count_store, &stores);
    if (sums != 1 || stores.count != 1 || stores.found != last || last == nest->depths ||
        sum->symbol->dtype != last->access.buffer->dtype || dtype_is_half(sum->symbol->dtype) ||
        needs_what_was(nest, sum, last->access.buffer))
        return;
    for (int k = 0; k < last->access.buffer->rank; k++)
        ir_expr_walk(last->access.indices[k], note_mention, &mentions);
    if (mentions.other) /* it can only be named where it is stored */
        return;
    nest->sum = sum;
    nest->store = last;
}

static bool is_parallel(const struct dependences *dependences, const struct ir_stmt *stmt)
{
    const struct dependence_loop *loop = dependence_loop_is_parallel(dependences, stmt);
    return loop->verdict == DEPENDENCE_PARALLEL && !loop->leaves && !loop->incomplete;
}

/* ---- copies ---------------------------------------------------------------------------------------- */

/* A new loop around the body. */
static struct ir_stmt *loop_over(const struct nest *nest, struct ir_symbol *symbol, struct ir_expr *low,
                                 struct ir_expr *high, int64_t step, struct ir_stmt *body)
{
    struct ir_stmt *loop = ir_stmt_new(nest->pass->kernel, IR_FOR, nest->rows->span);

    loop->symbol = symbol;
    symbol->span = loop->span;
    loop->low = low;
    loop->high = high;
    loop->step = step;
    loop->body = body;
    loop->independent = true;
    return loop;
}

static struct ir_symbol *loop_symbol(const struct nest *nest, const char *name)
{
    return ir_symbol_new(nest->pass->kernel, IR_SYMBOL_LOOP, name, AKG_INT64);
}

static struct ir_stmt *append(struct ir_stmt *first, struct ir_stmt *second)
{
    struct ir_stmt *last = first;

    while (last->next)
        last = last->next;
    last->next = second;
    return first;
}

/* Panels of columns, or rows; then k; and the rest. */
static void make_buffer(struct nest *nest, struct term *term, struct ir_expr *decided)
{
    const struct pass_tiles *tiles = nest->pass->tiles;
    struct ir_kernel *kernel = nest->pass->kernel;
    struct ir_expr *depth = nest->sum ? number(nest, tiles->depths)
                                      : apply(nest, OP_MAX, extent(nest, nest->depths), number(nest, 0));
    struct ir_expr *first;
    struct ir_buffer *buffer =
        ir_buffer_new(kernel, "packed", IR_TEMPORARY, term->value->dtype, term->by_row ? 2 : 3);

    term->copy = buffer;
    buffer->span = term->value->span;
    if (!term->by_row) {
        first = round_up(nest, extent(nest, nest->columns), nest->width);
        buffer->shape[1] = depth;
        buffer->shape[2] = number(nest, nest->width);
    } else {
        first = term->is_across ? depth : number(nest, tiles->rows);
        buffer->shape[1] = term->is_across ? number(nest, tiles->rows) : row_pitch(nest);
    }
    buffer->shape[0] = ir_operation(kernel, OP_SELECT, copy(nest, decided), first, number(nest, 0));
}

/* The place of the term for these rows or columns, and this k. */
static struct ir_expr *load_copy(const struct nest *nest, const struct term *term, struct ir_expr *at,
                                 struct ir_expr *depth)
{
    struct ir_expr *indices[3], *load;
    struct ir_symbol *first = term->by_row ? nest->top : nest->left;

    depth = apply(nest, OP_SUB, depth, near_end(nest));
    at = apply(nest, OP_SUB, at, use(nest, first));
    indices[0] = !term->by_row ? use(nest, nest->panel) : term->is_across ? depth : at;
    indices[1] = !term->by_row || !term->is_across ? depth : at;
    indices[2] = at;
    load = ir_load(nest->pass->kernel, term->copy, indices);
    for (int k = 0; k < term->copy->rank; k++)
        load->access.checks[k] = IR_CHECK_PROVED;
    load->span = term->value->span;
    return load;
}

/* The loops that fill the copy, from first to end: the ones of unit strides inside. */
static struct ir_stmt *fill_copy(const struct nest *nest, const struct term *term, struct ir_symbol *first,
                                 struct ir_expr *end)
{
    struct ir_stmt *outer = term->by_row ? nest->rows : nest->columns;
    struct ir_symbol *at = loop_symbol(nest, outer->symbol->name);
    struct ir_symbol *depth = loop_symbol(nest, nest->depths->symbol->name);
    struct ir_stmt *store = ir_stmt_new(nest->pass->kernel, IR_STORE, term->value->span), *loop;

    outer->symbol->note = use(nest, at);
    nest->depths->symbol->note = use(nest, depth);
    store->value = copy(nest, term->value);
    outer->symbol->note = nest->depths->symbol->note = NULL;
    store->access = load_copy(nest, term, use(nest, at), use(nest, depth))->access;
    if (term->by_row && !term->is_across) {
        loop = loop_over(nest, depth, near_end(nest), far_end(nest), 1, store);
        return loop_over(nest, at, use(nest, first), end, 1, loop);
    }
    loop = loop_over(nest, at, use(nest, first), end, 1, store);
    return loop_over(nest, depth, near_end(nest), far_end(nest), 1, loop);
}

/* Allocates and fills the copies of rows, or allocates or fills those of columns; `rest` follows. */
static struct ir_stmt *allocate_copies(const struct nest *nest, bool by_row, struct ir_stmt *rest)
{
    for (int k = nest->count - 1; k >= 0; k--) {
        if (nest->terms[k].by_row != by_row)
            continue;
        struct ir_stmt *allocate = ir_stmt_new(nest->pass->kernel, IR_ALLOCATE, nest->rows->span);
        allocate->access.buffer = nest->terms[k].copy;
        allocate->next = rest;
        rest = allocate;
    }
    return rest;
}

static struct ir_stmt *fill_copies(const struct nest *nest, bool by_row, struct ir_symbol *first,
                                   struct ir_symbol *end, struct ir_stmt *rest)
{
    for (int k = nest->count - 1; k >= 0; k--)
        if (nest->terms[k].by_row == by_row)
            rest = append(fill_copy(nest, &nest->terms[k], first, use(nest, end)), rest);
    return rest;
}

/* ---- the change ------------------------------------------------------------------------------------ */

static struct ir_expr *replace_terms(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct nest *nest = context;

    for (int k = 0; k < nest->count; k++)
        if (ir_expr_equal(expr, nest->terms[k].value)) {
            const struct ir_stmt *loop = nest->terms[k].by_row ? nest->rows : nest->columns;
            return load_copy(nest, &nest->terms[k], use(nest, loop->symbol), use(nest, nest->depths->symbol));
        }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = replace_terms(pass, expr->operands[k], context);
    return expr;
}

/* for panel: { left, right; body }. `nest->panel` and `nest->left` are those of the body made next. */
static struct ir_stmt *begin_panels(struct nest *nest, struct ir_symbol **right)
{
    struct span span = nest->columns->span;

    nest->panel = loop_symbol(nest, "panel");
    struct ir_expr *left = apply(nest, OP_ADD, copy(nest, nest->columns->low),
                                 apply(nest, OP_MUL, use(nest, nest->panel), number(nest, nest->width)));
    struct ir_stmt *first = pass_declare(nest->pass, IR_SYMBOL_LET, "left", left, span);
    nest->left = first->symbol;
    struct ir_expr *end = apply(nest, OP_MIN, copy(nest, nest->columns->high),
                                apply(nest, OP_ADD, use(nest, nest->left), number(nest, nest->width)));
    first->next = pass_declare(nest->pass, IR_SYMBOL_LET, "right", end, span);
    *right = first->next->symbol;
    return loop_over(nest, nest->panel, number(nest, 0),
                     round_up(nest, extent(nest, nest->columns), nest->width), 1, first);
}

/* The nest for one stretch: the sum begins where the stretch before left it, and what follows the sum is done
 * behind the last one only. */
static struct ir_stmt *split(struct nest *nest, struct ir_stmt *inner)
{
    struct pass *pass = nest->pass;
    struct ir_expr *is_first = apply(nest, OP_EQ, use(nest, nest->near), copy(nest, nest->depths->low));
    struct ir_expr *whole = nest->depths->high, *value = nest->store->value;
    struct ir_stmt *choice, *partial, *columns, *depths;

    nest->depths->low = use(nest, nest->near);
    nest->depths->high = use(nest, nest->far);
    pass_set_value(nest->sum, ir_operation(pass->kernel, OP_SELECT, is_first, nest->sum->value,
                                           pass_load(pass, &nest->store->access, nest->store->span)));
    if (nest->depths->next == nest->store && value->kind == IR_SYMBOL && value->symbol == nest->sum->symbol)
        return inner;
    partial = pass_copy_block(pass, inner);
    columns = only_loop(partial->body);
    depths = only_loop(columns->body);
    depths->next = ir_stmt_new(pass->kernel, IR_STORE, nest->store->span);
    for (struct ir_stmt *stmt = columns->body; stmt != depths; stmt = stmt->next)
        if (stmt->kind == IR_VARIABLE)
            depths->next->value = use(nest, stmt->symbol);
    nest->rows->symbol->note = use(nest, partial->symbol);
    nest->columns->symbol->note = use(nest, columns->symbol);
    depths->next->access = pass_load(pass, &nest->store->access, nest->store->span)->access;
    nest->rows->symbol->note = nest->columns->symbol->note = NULL;
    choice = ir_stmt_new(pass->kernel, IR_IF, inner->span);
    choice->value = apply(nest, OP_EQ, use(nest, nest->far), whole);
    choice->body = inner;
    choice->otherwise = partial;
    return choice;
}

/* for near: { far; body }, where k is split. */
static struct ir_stmt *make_stretches(struct nest *nest)
{
    const struct pass_tiles *tiles = nest->pass->tiles;
    struct ir_symbol *near = loop_symbol(nest, "near");
    struct ir_expr *end = apply(nest, OP_MIN, copy(nest, nest->depths->high),
                                apply(nest, OP_ADD, use(nest, near), number(nest, tiles->depths)));
    struct ir_stmt *far = pass_declare(nest->pass, IR_SYMBOL_LET, "far", end, nest->depths->span);

    nest->near = near;
    nest->far = far->symbol;
    struct ir_stmt *loop = loop_over(nest, near, copy(nest, nest->depths->low),
                                     copy(nest, nest->depths->high), tiles->depths, far);
    loop->independent = false;
    return loop;
}

/* for top: { bottom; copies; for panel: the nest }, which takes the nodes of the nest. */
static struct ir_stmt *make_blocks(struct nest *nest)
{
    const struct pass_tiles *tiles = nest->pass->tiles;
    struct ir_symbol *right;
    struct ir_stmt *panels, *blocks, *bottom, *inner;

    nest->top = loop_symbol(nest, "top");
    bottom = pass_declare(nest->pass, IR_SYMBOL_LET, "bottom",
                          apply(nest, OP_MIN, copy(nest, nest->rows->high),
                                apply(nest, OP_ADD, use(nest, nest->top), number(nest, tiles->rows))),
                          nest->rows->span);
    blocks = loop_over(nest, nest->top, copy(nest, nest->rows->low), copy(nest, nest->rows->high),
                       tiles->rows, bottom);
    panels = begin_panels(nest, &right);
    bottom->next = allocate_copies(nest, true, fill_copies(nest, true, nest->top, bottom->symbol, panels));
    for (struct ir_stmt *stmt = nest->depths->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN)
            pass_set_value(stmt, replace_terms(nest->pass, stmt->value, nest));
    inner = ir_stmt_new(nest->pass->kernel, IR_FOR, nest->rows->span);
    *inner = *nest->rows;
    inner->next = NULL;
    inner->low = use(nest, nest->top);
    inner->high = use(nest, bottom->symbol);
    nest->columns->low = use(nest, nest->left);
    nest->columns->high = use(nest, right);
    append(panels->body, nest->sum ? split(nest, inner) : inner);
    return blocks;
}

static void tile(struct nest *nest)
{
    struct ir_kernel *kernel = nest->pass->kernel;
    struct ir_stmt *stmt = nest->rows, *next = stmt->next, *choice, *stretches, *panels, *plain;
    struct ir_expr *decided = condition(nest);
    struct ir_symbol *right;

    stmt->next = NULL;
    stmt->independent = nest->columns->independent = true;
    plain = pass_copy_block(nest->pass, stmt);
    for (int k = 0; k < nest->count; k++)
        make_buffer(nest, &nest->terms[k], decided);
    stretches = nest->sum ? make_stretches(nest) : NULL;
    panels = begin_panels(nest, &right);
    append(panels->body, fill_copies(nest, false, nest->left, right, NULL));
    panels->next = make_blocks(nest);
    if (stretches)
        append(stretches->body, panels);
    choice = ir_stmt_new(kernel, IR_IF, stmt->span);
    choice->value = decided;
    choice->deferred = true;
    choice->body = allocate_copies(nest, false, stretches ? stretches : panels);
    choice->otherwise = plain;
    choice->next = next;
    *stmt = *choice; /* in the place of the nest, whose nodes are inside now */
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static bool try_nest(struct pass *pass, struct ir_stmt *stmt)
{
    struct nest nest;
    const struct dependences *dependences;

    if (!find_nest(pass, stmt, &nest))
        return false;
    find_all_terms(&nest);
    if (nest.fails)
        return false;
    find_width(&nest);
    find_sum(&nest);
    dependences = pass_dependences(pass, stmt);
    if (!dependences || !is_parallel(dependences, nest.rows) || !is_parallel(dependences, nest.columns))
        return false;
    tile(&nest);
    return true;
}

static bool tile_block(struct pass *pass, struct ir_stmt *block)
{
    bool changed = false;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && try_nest(pass, stmt)) {
            changed = true;
            continue;
        }
        bool is_alone = stmt->body && stmt->body->kind == IR_FOR && !stmt->body->next;
        changed |= tile_block(pass, stmt->body);
        if (stmt->kind == IR_FOR && is_alone && stmt->body->kind == IR_IF) {
            pass_hoist_choice(pass, stmt);
            continue;
        }
        for (struct ir_stmt *side = stmt; side->kind == IR_IF && side->otherwise; side = side->otherwise) {
            if (side->otherwise->kind != IR_IF || side->otherwise->next) {
                changed |= tile_block(pass, side->otherwise);
                break;
            }
            changed |= tile_block(pass, side->otherwise->body);
        }
    }
    return changed;
}

bool pass_tile(struct pass *pass)
{
    return pass->tiles && tile_block(pass, pass->kernel->body);
}

/*
 * pass_tabulate.c: what a nest computes of its loop variables alone, whether a window leaves the image say,
 * goes into tables: `if 0 <= j + r < W` inside loops over f, c, j and r becomes `if table[j, r] < 0`.
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
 * `y[i, j] = x[i + j] * (0.5 - 0.5 * cos(j * step))`, which each row would compute again, and what takes
 * several operations on floats, as the place of a sample that is scaled and cut; there also functions of the
 * elements of inputs that such a loop goes over, `rsqrt(variance[j] + 1e-5)`, quotients, and elements that
 * lie apart along it, `bias[j, 2]` of `bias: T[N, 4]`; and quotients, or floats cut to integers, that are
 * indices or parts of them, `x[r, j * W // 230]`. Nests that access nothing but bytes and such are left to be
 * cut (pass pixels).
 *
 * Tables that grow with several loops, and more than tensors do, have at most 256 MiB: a call that wants more
 * takes the nest as it was, where what stands around it may stand there twice; else it has them all the same.
 */
#include "pass_tabulate.h"
#include "vector.h"

static const struct vector_options usual_options = {.target = X86_TARGET_AVX512};

/* ---- tables ------------------------------------------------------------------------------------- */

/* A copy over the variables of the loops that fill the table. */
static struct ir_expr *filled(struct tabulator *tabulator, const struct axes *axes,
                              const struct ir_expr *expr)
{
    struct ir_kernel *kernel = tabulator->pass->kernel;

    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return filled(tabulator, axes, expr->symbol->value);
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LOOP) {
        struct ir_expr *use = ir_symbol_use(kernel, axes->fillers[tabulate_axis_of(axes, expr->symbol)]);
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

/* Conditions are numbers in a table, with all bits or none: less than 0 takes one instruction. */
static struct ir_expr *as_number(struct ir_kernel *kernel, struct ir_expr *value)
{
    return value->dtype != AKG_BOOL
               ? value
               : ir_operation(kernel, OP_SELECT, value, ir_integer(kernel, AKG_INT32, -1),
                              ir_integer(kernel, AKG_INT32, 0));
}

static struct ir_expr *distance(struct ir_kernel *kernel, struct ir_expr *from, struct ir_expr *to)
{
    return ir_operation(kernel, OP_SUB, to, from, NULL);
}

static void note_larger(struct tabulator *tabulator, const struct ir_expr *count)
{
    struct ir_kernel *kernel = tabulator->pass->kernel;
    struct ir_expr *is_larger = ir_operation(kernel, OP_GT, pass_copy(tabulator->pass, count),
                                             ir_integer(kernel, AKG_INT64, MOST), NULL);

    tabulator->large =
        tabulator->large ? ir_operation(kernel, OP_OR, tabulator->large, is_larger, NULL) : is_larger;
}

/* Each extent is compared before a product with it, which might wrap. */
static void note_large(struct tabulator *tabulator, const struct axes *axes, const struct ir_buffer *table)
{
    struct ir_kernel *kernel = tabulator->pass->kernel;
    struct ir_expr *count = NULL;

    if (tabulator->only_functions || tabulate_is_moderate(tabulator, axes))
        return;
    for (int k = 0; k < axes->count; k++) {
        struct ir_expr *extent = pass_copy(tabulator->pass, table->shape[k]);
        note_larger(tabulator, extent);
        count = count ? ir_operation(kernel, OP_MUL, count, extent, NULL) : extent;
        if (k)
            note_larger(tabulator, count);
    }
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
        struct ir_expr *extent = distance(kernel, pass_copy(pass, axes->loops[k]->low),
                                          tabulate_end_of_axis(tabulator, axes->loops[k]));
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
        loop->high = tabulate_end_of_axis(tabulator, axes->loops[k]);
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
    tabulator->first_table = tabulator->first_table ? tabulator->first_table : buffer;
    note_large(tabulator, axes, buffer);
    struct ir_stmt *store = ir_stmt_new(kernel, IR_STORE, expr->span);
    store->access = element(tabulator, axes, buffer, true);
    pass_set_value(store, as_number(kernel, filled(tabulator, axes, expr)));
    *tabulator->end = loops_around(tabulator, axes, store);
    tabulator->end = &(*tabulator->end)->next;

    struct ir_access access = element(tabulator, axes, buffer, false);
    struct ir_expr *load = pass_load(pass, &access, expr->span);
    if (expr->dtype == AKG_BOOL)
        load = ir_operation(kernel, OP_LT, load, ir_integer(kernel, AKG_INT32, 0), NULL);
    load->span = expr->span;
    return load;
}

/* ---- conditions ----------------------------------------------------------------------------------- */

/* The element of a table that the condition asks for; NULL: it is another one. */
static struct ir_expr *asked_of_table(const struct tabulator *tabulator, const struct ir_expr *condition)
{
    const struct ir_buffer *first = tabulator->first_table;
    bool asks = condition->kind == IR_OPERATION && condition->operation == OP_LT && first &&
                condition->operands[1]->kind == IR_INTEGER && condition->operands[1]->integer == 0;
    struct ir_expr *element =
        asks && condition->operands[0]->dtype == AKG_INT32 ? condition->operands[0] : NULL;

    while (element && element->kind == IR_OPERATION && element->operation == OP_BITAND)
        element = element->operands[0];
    return element && element->kind == IR_LOAD && element->access.buffer->index >= first->index
               ? condition->operands[0]
               : NULL;
}

/* Elements of tables can be loaded whatever the other one is: both conditions are one. */
static struct ir_expr *joined(const struct tabulator *tabulator, struct ir_expr *expr)
{
    struct ir_kernel *kernel = tabulator->pass->kernel;
    struct ir_expr *a, *b;

    if (expr->kind != IR_OPERATION || expr->operation != OP_AND ||
        !(a = asked_of_table(tabulator, expr->operands[0])) ||
        !(b = asked_of_table(tabulator, expr->operands[1])))
        return expr;
    a = ir_operation(kernel, OP_BITAND, a, b, NULL);
    a->span = expr->span;
    struct ir_expr *both = ir_operation(kernel, OP_LT, a, ir_integer(kernel, AKG_INT32, 0), NULL);
    both->span = expr->span;
    return both;
}

/* ---- the body of a nest ------------------------------------------------------------------------- */

static struct ir_expr *rewrite(struct tabulator *tabulator, struct ir_expr *expr)
{
    struct axes axes;

    if (!tabulate_comes_apart(tabulator, expr) && tabulate_is_tabular(tabulator, expr, &axes)) {
        if (tabulate_is_repeated(tabulator, expr, &axes))
            return tabulate(tabulator, &axes, expr);
        if (!tabulator->only_functions)
            return expr;
    }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = rewrite(tabulator, expr->operands[k]);
    return joined(tabulator, expr);
}

/* Nor a float cut to an integer; or one that is the same in all the nest. */
static bool is_no_quotient(struct ir_expr *expr, void *tabulator)
{
    struct axes axes;

    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return ir_expr_walk(expr->symbol->value, is_no_quotient, tabulator);
    bool cuts = expr->kind == IR_OPERATION && expr->operation == OP_CAST && dtype_is_integer(expr->dtype) &&
                dtype_is_float(expr->operands[0]->dtype);
    return expr->kind != IR_OPERATION || (expr->operation != OP_FLOORDIV && !cuts) ||
           !tabulate_is_tabular(tabulator, expr, &axes);
}

/* Whether it is an index, or a part of one, that no loop can go along, and that the innermost loop alone
 * changes: `j * W // 230`. (Of remainders pass partition makes stretches.) */
static bool is_place(const struct tabulator *tabulator, struct ir_expr *expr, struct axes *axes)
{
    return tabulator->only_functions && expr->kind == IR_OPERATION && expr->dtype == AKG_INT64 &&
           !ir_expr_walk(expr, is_no_quotient, (void *)tabulator) &&
           tabulate_is_tabular(tabulator, expr, axes) && axes->count == 1 &&
           tabulate_is_moderate(tabulator, axes);
}

static struct ir_expr *rewrite_index(struct tabulator *tabulator, struct ir_expr *expr)
{
    struct axes axes;

    if (is_place(tabulator, expr, &axes))
        return tabulate(tabulator, &axes, expr);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = rewrite_index(tabulator, expr->operands[k]);
    return expr;
}

static bool rewrite_load(struct ir_expr *expr, void *tabulator)
{
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        expr->access.indices[k] = rewrite_index(tabulator, expr->access.indices[k]);
    return true;
}

/* What an index may be made of stays, but for quotients: a table's elements are none that loops go along. */
static bool rewrite_value(struct ir_stmt *stmt, void *context)
{
    if (stmt->value)
        ir_expr_walk(stmt->value, rewrite_load, context);
    if (stmt->kind == IR_LET && stmt->symbol->dtype == AKG_INT64)
        pass_set_value(stmt, rewrite_index(context, stmt->value));
    else if (stmt->value)
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

    if (!tabulate_comes_apart(tabulator, expr) && tabulate_is_tabular(tabulator, expr, &axes)) {
        bool is_found = tabulate_is_repeated(tabulator, expr, &axes);
        search->found |= is_found;
        for (int level = 0; level < tabulator->count; level++)
            search->asked[level] |= tabulate_axis_of(&axes, tabulator->loops[level]->symbol) >= 0;
        if (is_found || !tabulator->only_functions)
            return;
    }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        find_candidates(search, expr->operands[k]);
}

/* An index. */
static void find_places(struct search *search, struct ir_expr *expr)
{
    struct axes axes;

    search->found |= is_place(search->tabulator, expr, &axes);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count && !search->found; k++)
        find_places(search, expr->operands[k]);
}

static bool find_in_load(struct ir_expr *expr, void *search)
{
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        find_places(search, expr->access.indices[k]);
    return true;
}

static bool look_at(struct ir_stmt *stmt, void *context)
{
    struct search *search = context;

    if (stmt->kind == IR_ALLOCATE || stmt->kind == IR_ASSERT || stmt->kind == IR_WHILE ||
        stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE)
        return false;
    if (stmt->value)
        ir_expr_walk(stmt->value, find_in_load, search);
    if (stmt->kind == IR_LET && stmt->symbol->dtype == AKG_INT64)
        find_places(search, stmt->value);
    else if (stmt->value)
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

static void leave_out(struct tabulator *tabulator, struct ir_buffer *table)
{
    struct ir_kernel *kernel = tabulator->pass->kernel;

    table->shape[0] = ir_operation(kernel, OP_SELECT, pass_copy(tabulator->pass, tabulator->large),
                                   ir_integer(kernel, AKG_INT64, 0), table->shape[0]);
}

/* Whether all that stands around may stand there twice. */
static bool can_be_twice(const struct tabulator *tabulator)
{
    enum { STATEMENTS = 60 };
    struct ir_stmt alone = *tabulator->top;
    int left = STATEMENTS;

    alone.next = NULL;
    return (alone.kind == IR_FOR || alone.kind == IR_IF) && ir_block_walk(&alone, pass_can_be_copied, &left);
}

/* The kernel's own statement becomes a choice: what it was, with `body` in the place of that of the loop, for
 * larger tables, else what it is. */
static void part_by_size(struct tabulator *tabulator, struct ir_stmt *loop, struct ir_stmt *body)
{
    struct pass *pass = tabulator->pass;
    struct ir_stmt *top = tabulator->top, *rest = top->next, *changed = loop->body;
    struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, top->span);

    tabulator->small = ir_stmt_new(pass->kernel, top->kind, top->span);
    top->next = NULL;
    loop->body = body;
    choice->body = pass_copy_block(pass, top);
    loop->body = changed;
    *tabulator->small = *top;
    choice->otherwise = tabulator->small;
    choice->next = rest;
    *top = *choice;
}

/* Before all, or before the statement that uses them, where these are no larger than they may be. */
static void put_tables(struct tabulator *tabulator, struct ir_stmt *loop, struct ir_stmt *body)
{
    struct ir_stmt *top = tabulator->top;

    if (!tabulator->large || (!tabulator->small && !can_be_twice(tabulator))) {
        put_first(tabulator);
        return;
    }
    if (!tabulator->small)
        part_by_size(tabulator, loop, body);
    for (struct ir_stmt *stmt = tabulator->tables; stmt; stmt = stmt->next)
        if (stmt->kind == IR_ALLOCATE) /* in front of the call: none of the large ones */
            leave_out(tabulator, stmt->access.buffer);
    top->value = top->value ? ir_operation(tabulator->pass->kernel, OP_OR, top->value, tabulator->large, NULL)
                            : tabulator->large;
    *tabulator->end = top->otherwise;
    top->otherwise = tabulator->tables;
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
    return !pass_has_for(innermost) && ir_block_walk(innermost, keeps_no_extreme, NULL);
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

    if (!find_nest(loop, first, &nest) || pass_is_of_pixels(body) || /* which are cut, for slim lanes */
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
    tabulator->large = NULL;
    find_nest(loop, first, &nest);
    enter(tabulator, &nest);
    ir_block_walk(loop->body, rewrite_value, tabulator);
    tabulator->count = around;
    drop_unused(&loop->body);
    if (becomes_vectors(pass, loop, first, tabulator->is_along)) {
        put_tables(tabulator, loop, body);
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

    return tabulate_has_known_length(loop, SHORT);
}

/* An innermost loop inside of others. */
static bool try_functions(struct tabulator *tabulator, struct ir_stmt *loop)
{
    struct search search = {.tabulator = tabulator};

    if (!tabulator->count || loop->step != 1 || is_short(loop) || pass_has_for(loop->body))
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
        if (depth == 0) {
            tabulator->top = stmt;
            tabulator->small = NULL;
        }
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

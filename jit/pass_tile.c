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
 * another dtype, all of k is one stretch. Few rows that use a large factor have no copies: for each stretch,
 * which is shorter, the nest as it was. The loops over panels and blocks stay parallel loops; the copy of a
 * block is allocated inside its iteration.
 *
 * Sums down the columns of what is huge,
 *
 *     for j: { var s = ...; for k: s = s + A(k, j); ... }
 *
 * become, likewise,
 *
 *     for each wide panel of columns:
 *         for each stretch of a few k:   the nest, over the panel and the stretch
 *
 * so that memory is read in a few streams of whole lines, of which the processor fetches ahead, rather than
 * in pieces of a line each as wide as a tile. Zen 4, 2026-11-25, one thread, 4096 x 4096 of float32: 4.9
 * ms, 3.2 in stretches of eight (of four as long, of sixteen 3.6); of 4 MiB as long, of 16 MiB 0.75 as long.
 *
 * Consumes nests of one or two parallel loops with bounds over dims and attributes, and one loop inside;
 * nothing in it may stop. Of a copy only the outermost extent depends on the decision: where nothing is
 * copied it takes no memory.
 */
#include "pass_tile.h"
#include "vector.h"

/* With 16 registers a tile is two vectors wide. A panel of just that many columns lies in the first cache, of
 * which every line is used; wider ones leave lines between those of a tile, which fall into the same sets. A
 * block of rows takes a quarter of the second cache, which may be half of what processors with 32 registers
 * have. */
const struct pass_tiles *pass_usual_tiles(enum x86_target target)
{
    enum { HUGE_BYTES = 4 << 20, LINES = 8, RUN = 2048 };
    static const struct pass_tiles wide = {.rows = 56,
                                           .columns = 64,
                                           .depths = 1024,
                                           .large = 480000,
                                           .apart = 300000,
                                           .few = 48,
                                           .huge = HUGE_BYTES,
                                           .lines = LINES,
                                           .run = RUN,
                                           .block = 256},
                                   narrow = {.rows = 72,
                                             .columns = 16,
                                             .panel = 64,
                                             .depths = 512,
                                             .large = 480000,
                                             .apart = 120000,
                                             .few = 48,
                                             .stretch = 256,
                                             .huge = HUGE_BYTES,
                                             .lines = LINES,
                                             .run = RUN,
                                             .block = 256,
                                             .turns = true};
    return target == X86_TARGET_AVX2 ? &narrow : &wide;
}

enum { LINE = 16 }; /* elements: copied rows that are an odd number of lines apart lie well in caches */

/* ---- expressions --------------------------------------------------------------------------------- */

static struct ir_expr *extent(const struct tile_nest *nest, const struct ir_stmt *loop)
{
    return pass_apply(nest->pass, OP_SUB, pass_copy(nest->pass, loop->high),
                      pass_copy(nest->pass, loop->low));
}

static struct ir_expr *row_extent(const struct tile_nest *nest)
{
    struct ir_expr *size = tile_block_size(nest, nest->rows);
    return size ? size : extent(nest, nest->rows);
}

static struct ir_expr *round_up(const struct tile_nest *nest, struct ir_expr *count, int64_t unit)
{
    return pass_apply(nest->pass, OP_FLOORDIV,
                      pass_apply(nest->pass, OP_ADD, count, pass_number(nest->pass, unit - 1)),
                      pass_number(nest->pass, unit));
}

static struct ir_expr *near_end(const struct tile_nest *nest)
{
    return nest->near ? pass_use(nest->pass, nest->near) : pass_copy(nest->pass, nest->depths->low);
}

static struct ir_expr *far_end(const struct tile_nest *nest)
{
    return nest->far ? pass_use(nest->pass, nest->far) : pass_copy(nest->pass, nest->depths->high);
}

/* Elements from one copied row to the next: the stretch, as an odd number of lines. */
static struct ir_expr *row_pitch(const struct tile_nest *nest)
{
    if (nest->sum)
        return pass_number(nest->pass, ((nest->pass->tiles->depths + LINE - 1) / LINE | 1) * LINE);
    struct ir_expr *lines = round_up(nest, extent(nest, nest->depths), LINE);
    lines =
        pass_apply(nest->pass, OP_BITOR, pass_apply(nest->pass, OP_MAX, lines, pass_number(nest->pass, 0)),
                   pass_number(nest->pass, 1));
    return pass_apply(nest->pass, OP_MUL, lines, pass_number(nest->pass, LINE));
}

/* Whether the extent is at least the part of what is few for operands that lie well. */
static struct ir_expr *is_part(const struct tile_nest *nest, struct ir_expr *extent, int64_t part)
{
    return pass_apply(nest->pass, OP_GE, extent,
                      pass_number(nest->pass, (nest->pass->tiles->few + part - 1) / part));
}

/* Whether the nest, left as it is, has its lanes along the loop that accumulates. */
static bool goes_along(const struct tile_nest *nest)
{
    const struct vector_options options = {.target = nest->pass->target};
    struct vector_nest shape;
    return nest->pass->reorders && vector_nest_shape(nest->rows, VECTOR_ROWS, &shape) &&
           vector_may_lie_apart_along(&shape) && vector_may_go_along(&shape, &options) == VECTOR_ALWAYS_ALONG;
}

/* Whether there are enough rows and columns. Where columns do not lie side by side, the other way to compute
 * sums is a vector along each, which takes as long again to be added up: that pays later, but for a few
 * columns, whose vectors are added up together, sooner (Zen 5: 100 rows of 64, three columns, 1.2 us, and 0.3
 * so). */
static struct ir_expr *are_enough(const struct tile_nest *nest, bool transposes)
{
    struct ir_expr *rows = row_extent(nest), *columns = extent(nest, nest->columns);

    if (!transposes)
        return pass_apply(nest->pass, OP_AND, is_part(nest, rows, 1), is_part(nest, columns, 1));
    struct ir_expr *many = pass_apply(nest->pass, OP_AND, is_part(nest, rows, 12), is_part(nest, columns, 4));
    struct ir_expr *some = pass_apply(nest->pass, OP_AND, is_part(nest, pass_copy(nest->pass, rows), 6),
                                      is_part(nest, pass_copy(nest->pass, columns), 24));
    struct ir_expr *most = pass_apply(nest->pass, OP_MUL, pass_copy(nest->pass, columns),
                                      pass_number(nest->pass, nest->pass->tiles->few / 2));
    if (goes_along(nest))
        most = pass_number(nest->pass, VECTOR_ALONG_DEPTHS - 1);
    some =
        pass_apply(nest->pass, OP_AND, some, pass_apply(nest->pass, OP_LE, extent(nest, nest->depths), most));
    return pass_apply(nest->pass, OP_OR, many, some);
}

static int widest_term(const struct tile_nest *nest)
{
    int size = 1;
    for (int k = 0; k < nest->count; k++) {
        int here = dtype_table[nest->terms[k].value->dtype].size;
        size = here > size ? here : size;
    }
    return size;
}

/* How many elements of the widest factor so many bytes are. */
static int64_t count_of(const struct tile_nest *nest, int64_t bytes)
{
    int size = widest_term(nest);
    return bytes < size ? 1 : bytes / size;
}

static int64_t large_count(const struct tile_nest *nest)
{
    return count_of(nest, nest->pass->tiles->large);
}

static bool needs_copies(const struct tile_nest *nest)
{
    bool needs = false;
    for (int k = 0; k < nest->count; k++)
        needs |= nest->terms[k].needs_copy;
    return needs;
}

/* Whether the rows of a term lie side by side: each k has a line of its own. */
static bool has_jumps(const struct tile_nest *nest)
{
    bool jumps = false;
    for (int k = 0; k < nest->count; k++)
        jumps |= nest->terms[k].is_transposed;
    return jumps;
}

/* The loop over blocks would have no iteration for a sum of no terms; and products of extents say nothing
 * where these are negative. */
static struct ir_expr *is_some(const struct tile_nest *nest, const struct ir_stmt *loop)
{
    return pass_apply(nest->pass, OP_GT, extent(nest, loop), pass_number(nest->pass, 0));
}

/* Whether what all rows use has so many elements. */
static struct ir_expr *shares(const struct tile_nest *nest, int64_t least)
{
    struct ir_expr *elements =
        pass_apply(nest->pass, OP_MUL, extent(nest, nest->columns), extent(nest, nest->depths));
    struct ir_expr *some =
        pass_apply(nest->pass, OP_AND, is_some(nest, nest->columns), is_some(nest, nest->depths));
    return pass_apply(nest->pass, OP_AND, some,
                      pass_apply(nest->pass, OP_GE, elements, pass_number(nest->pass, least)));
}

/* Whether copies pay. */
static struct ir_expr *condition(const struct tile_nest *nest)
{
    bool transposes = needs_copies(nest);
    int64_t large = large_count(nest);
    struct ir_expr *enough =
        pass_apply(nest->pass, OP_AND, are_enough(nest, transposes), is_some(nest, nest->depths));
    if (transposes)
        return enough;
    struct ir_expr *widest = pass_apply(nest->pass, OP_MAX, row_extent(nest), extent(nest, nest->columns));
    struct ir_expr *elements = pass_apply(nest->pass, OP_MUL, widest, extent(nest, nest->depths));
    return pass_apply(
        nest->pass, OP_AND, enough,
        pass_apply(
            nest->pass, OP_GE, elements,
            pass_number(nest->pass, has_jumps(nest) ? count_of(nest, nest->pass->tiles->apart) : large)));
}

/* Whether half the usual rows are enough for copies: what they all use is several times as large. Asked where
 * the nest is not stretched. */
static struct ir_expr *pays_early(const struct tile_nest *nest)
{
    enum { TIMES = 8 };
    struct ir_expr *some = pass_apply(
        nest->pass, OP_AND, is_part(nest, row_extent(nest), 2),
        pass_apply(nest->pass, OP_LT, row_extent(nest), pass_number(nest->pass, nest->pass->tiles->few)));
    return pass_apply(nest->pass, OP_AND, some, shares(nest, TIMES * large_count(nest)));
}

/* Whether rows are few, and what they all use is so large that it does not stay in the second cache. Copies
 * of it pay with fewer rows where its own lie a multiple of some KiB apart, for what a tile uses of many of
 * them falls into the same sets of the caches; but for what is huge they do not. Nor where rows are copied
 * anyway. */
static struct ir_expr *is_stretched(const struct tile_nest *nest)
{
    enum { APART = 2048, TIMES = 3, HUGE_TIMES = 64 };
    int64_t few = nest->pass->tiles->few, large = large_count(nest),
            most = has_jumps(nest) ? few : TIMES * few;
    struct ir_expr *unit = pass_number(nest->pass, APART / widest_term(nest));
    struct ir_expr *past = pass_apply(nest->pass, OP_MOD, extent(nest, nest->columns), unit);
    struct ir_expr *apart =
        pass_apply(nest->pass, OP_OR, pass_apply(nest->pass, OP_NE, past, pass_number(nest->pass, 0)),
                   shares(nest, HUGE_TIMES * large));
    struct ir_expr *some =
        pass_apply(nest->pass, OP_AND,
                   pass_apply(nest->pass, OP_LT, row_extent(nest), pass_number(nest->pass, most)), apart);
    struct ir_expr *enough =
        pass_apply(nest->pass, OP_OR,
                   pass_apply(nest->pass, OP_LT, row_extent(nest), pass_number(nest->pass, few / 2)), some);
    return pass_apply(nest->pass, OP_AND, enough, shares(nest, large));
}

/* ---- copies ---------------------------------------------------------------------------------------- */

/* A new loop around the body. */
static struct ir_stmt *loop_over(const struct tile_nest *nest, struct ir_symbol *symbol, struct ir_expr *low,
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

static struct ir_symbol *loop_symbol(const struct tile_nest *nest, const char *name)
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

/* Panels of columns, or rows; then k, no more of them than there are, for panels lie one behind the other in
 * the caches; and the rest. */
static void make_buffer(struct tile_nest *nest, struct tile_term *term, struct ir_expr *decided)
{
    const struct pass_tiles *tiles = nest->pass->tiles;
    struct ir_kernel *kernel = nest->pass->kernel;
    struct ir_expr *depth =
                       pass_apply(nest->pass, OP_MAX, extent(nest, nest->depths), pass_number(nest->pass, 0)),
                   *first;
    struct ir_buffer *buffer =
        ir_buffer_new(kernel, "packed", IR_TEMPORARY, term->value->dtype, term->by_row ? 2 : 3);

    if (nest->sum)
        depth = pass_apply(nest->pass, OP_MIN, depth, pass_number(nest->pass, tiles->depths));
    term->copy = buffer;
    buffer->span = term->value->span;
    if (!term->by_row) {
        first = round_up(nest, extent(nest, nest->columns), nest->width);
        buffer->shape[1] = depth;
        buffer->shape[2] = pass_number(nest->pass, nest->width);
    } else {
        first = term->is_across ? depth : pass_number(nest->pass, tiles->rows);
        buffer->shape[1] = term->is_across ? pass_number(nest->pass, tiles->rows) : row_pitch(nest);
    }
    buffer->shape[0] =
        ir_operation(kernel, OP_SELECT, pass_copy(nest->pass, decided), first, pass_number(nest->pass, 0));
}

/* The place of the term for these rows or columns, and this k. */
static struct ir_expr *load_copy(const struct tile_nest *nest, const struct tile_term *term,
                                 struct ir_expr *at, struct ir_expr *depth)
{
    struct ir_expr *indices[3], *load;
    struct ir_symbol *first = term->by_row ? nest->top : nest->left;

    depth = pass_apply(nest->pass, OP_SUB, depth, near_end(nest));
    at = pass_apply(nest->pass, OP_SUB, at, pass_use(nest->pass, first));
    indices[0] = !term->by_row ? pass_use(nest->pass, nest->panel) : term->is_across ? depth : at;
    indices[1] = !term->by_row || !term->is_across ? depth : at;
    indices[2] = at;
    load = ir_load(nest->pass->kernel, term->copy, indices);
    for (int k = 0; k < term->copy->rank; k++)
        load->access.checks[k] = IR_CHECK_PROVED;
    load->span = term->value->span;
    return load;
}

/* The loops that fill the copy, from first to end: the ones of unit strides inside. */
static struct ir_stmt *fill_copy(const struct tile_nest *nest, const struct tile_term *term,
                                 struct ir_symbol *first, struct ir_expr *end)
{
    struct ir_stmt *outer = term->by_row ? nest->rows : nest->columns;
    struct ir_symbol *at = loop_symbol(nest, outer->symbol->name);
    struct ir_symbol *depth = loop_symbol(nest, nest->depths->symbol->name);
    struct ir_stmt *store = ir_stmt_new(nest->pass->kernel, IR_STORE, term->value->span), *loop;

    outer->symbol->note = pass_use(nest->pass, at);
    nest->depths->symbol->note = pass_use(nest->pass, depth);
    store->value = pass_copy(nest->pass, term->value);
    outer->symbol->note = nest->depths->symbol->note = NULL;
    store->access = load_copy(nest, term, pass_use(nest->pass, at), pass_use(nest->pass, depth))->access;
    if (term->by_row && !term->is_across) {
        loop = loop_over(nest, depth, near_end(nest), far_end(nest), 1, store);
        return loop_over(nest, at, pass_use(nest->pass, first), end, 1, loop);
    }
    loop = loop_over(nest, at, pass_use(nest->pass, first), end, 1, store);
    return loop_over(nest, depth, near_end(nest), far_end(nest), 1, loop);
}

/* Allocates and fills the copies of rows, or allocates or fills those of columns; `rest` follows. */
static struct ir_stmt *allocate_copies(const struct tile_nest *nest, bool by_row, struct ir_stmt *rest)
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

static struct ir_stmt *fill_copies(const struct tile_nest *nest, bool by_row, struct ir_symbol *first,
                                   struct ir_symbol *end, struct ir_stmt *rest)
{
    for (int k = nest->count - 1; k >= 0; k--)
        if (nest->terms[k].by_row == by_row)
            rest = append(fill_copy(nest, &nest->terms[k], first, pass_use(nest->pass, end)), rest);
    return rest;
}

/* ---- the change ------------------------------------------------------------------------------------ */

static struct ir_expr *replace_terms(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct tile_nest *nest = context;

    for (int k = 0; k < nest->count; k++)
        if (ir_expr_equal(expr, nest->terms[k].value)) {
            const struct ir_stmt *loop = nest->terms[k].by_row ? nest->rows : nest->columns;
            return load_copy(nest, &nest->terms[k], pass_use(nest->pass, loop->symbol),
                             pass_use(nest->pass, nest->depths->symbol));
        }
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = replace_terms(pass, expr->operands[k], context);
    return expr;
}

/* for panel: { left, right; body }. `nest->panel` and `nest->left` are those of the body made next. */
static struct ir_stmt *begin_panels(struct tile_nest *nest, struct ir_symbol **right)
{
    struct span span = nest->columns->span;

    nest->panel = loop_symbol(nest, "panel");
    struct ir_expr *left = pass_apply(nest->pass, OP_ADD, pass_copy(nest->pass, nest->columns->low),
                                      pass_apply(nest->pass, OP_MUL, pass_use(nest->pass, nest->panel),
                                                 pass_number(nest->pass, nest->width)));
    struct ir_stmt *first = pass_declare(nest->pass, IR_SYMBOL_LET, "left", left, span);
    nest->left = first->symbol;
    struct ir_expr *end = pass_apply(nest->pass, OP_MIN, pass_copy(nest->pass, nest->columns->high),
                                     pass_apply(nest->pass, OP_ADD, pass_use(nest->pass, nest->left),
                                                pass_number(nest->pass, nest->width)));
    first->next = pass_declare(nest->pass, IR_SYMBOL_LET, "right", end, span);
    *right = first->next->symbol;
    return loop_over(nest, nest->panel, pass_number(nest->pass, 0),
                     round_up(nest, extent(nest, nest->columns), nest->width), 1, first);
}

/* The nest for one stretch: the sum begins where the stretch before left it, and what follows the sum is done
 * behind the last one only. */
static struct ir_stmt *split(struct tile_nest *nest, struct ir_stmt *inner)
{
    struct pass *pass = nest->pass;
    struct ir_expr *is_first =
        pass_apply(nest->pass, OP_EQ, pass_use(pass, nest->near), pass_copy(pass, nest->depths->low));
    struct ir_expr *whole = nest->depths->high, *value = nest->store->value;
    struct ir_stmt *choice, *partial, *columns, *depths;

    nest->depths->low = pass_use(pass, nest->near);
    nest->depths->high = pass_use(pass, nest->far);
    pass_set_value(nest->sum, ir_operation(pass->kernel, OP_SELECT, is_first, nest->sum->value,
                                           pass_load(pass, &nest->store->access, nest->store->span)));
    if (nest->depths->next == nest->store && value->kind == IR_SYMBOL && value->symbol == nest->sum->symbol)
        return inner;
    partial = pass_copy_block(pass, inner);
    columns = nest->rows == nest->columns ? partial : tile_only_loop(partial->body);
    depths = tile_only_loop(columns->body);
    depths->next = ir_stmt_new(pass->kernel, IR_STORE, nest->store->span);
    for (struct ir_stmt *stmt = columns->body; stmt != depths; stmt = stmt->next)
        if (stmt->kind == IR_VARIABLE)
            depths->next->value = pass_use(pass, stmt->symbol);
    nest->rows->symbol->note = pass_use(pass, partial->symbol);
    nest->columns->symbol->note = pass_use(pass, columns->symbol);
    depths->next->access = pass_load(pass, &nest->store->access, nest->store->span)->access;
    nest->rows->symbol->note = nest->columns->symbol->note = NULL;
    choice = ir_stmt_new(pass->kernel, IR_IF, inner->span);
    choice->value = pass_apply(nest->pass, OP_EQ, pass_use(pass, nest->far), whole);
    choice->body = inner;
    choice->otherwise = partial;
    return choice;
}

/* for near: { far; body }, where k is split. */
static struct ir_stmt *make_stretches(struct tile_nest *nest, int64_t depths)
{
    struct ir_symbol *near = loop_symbol(nest, "near");
    struct ir_expr *end = pass_apply(
        nest->pass, OP_MIN, pass_copy(nest->pass, nest->depths->high),
        pass_apply(nest->pass, OP_ADD, pass_use(nest->pass, near), pass_number(nest->pass, depths)));
    struct ir_stmt *far = pass_declare(nest->pass, IR_SYMBOL_LET, "far", end, nest->depths->span);

    nest->near = near;
    nest->far = far->symbol;
    struct ir_stmt *loop = loop_over(nest, near, pass_copy(nest->pass, nest->depths->low),
                                     pass_copy(nest->pass, nest->depths->high), depths, far);
    loop->independent = false;
    return loop;
}

/* for top: { bottom; copies; for panel: the nest }, which takes the nodes of the nest. */
static struct ir_stmt *make_blocks(struct tile_nest *nest)
{
    const struct pass_tiles *tiles = nest->pass->tiles;
    struct ir_symbol *right;
    struct ir_stmt *panels, *blocks, *bottom, *inner;

    nest->top = loop_symbol(nest, "top");
    bottom = pass_declare(nest->pass, IR_SYMBOL_LET, "bottom",
                          pass_apply(nest->pass, OP_MIN, pass_copy(nest->pass, nest->rows->high),
                                     pass_apply(nest->pass, OP_ADD, pass_use(nest->pass, nest->top),
                                                pass_number(nest->pass, tiles->rows))),
                          nest->rows->span);
    blocks = loop_over(nest, nest->top, pass_copy(nest->pass, nest->rows->low),
                       pass_copy(nest->pass, nest->rows->high), tiles->rows, bottom);
    panels = begin_panels(nest, &right);
    bottom->next = allocate_copies(nest, true, fill_copies(nest, true, nest->top, bottom->symbol, panels));
    for (struct ir_stmt *stmt = nest->depths->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN)
            pass_set_value(stmt, replace_terms(nest->pass, stmt->value, nest));
    inner = ir_stmt_new(nest->pass->kernel, IR_FOR, nest->rows->span);
    *inner = *nest->rows;
    inner->next = NULL;
    inner->low = pass_use(nest->pass, nest->top);
    inner->high = pass_use(nest->pass, bottom->symbol);
    nest->columns->low = pass_use(nest->pass, nest->left);
    nest->columns->high = pass_use(nest->pass, right);
    append(panels->body, nest->sum ? split(nest, inner) : inner);
    return blocks;
}

/* `if condition body else otherwise` */
static struct ir_stmt *choose(const struct tile_nest *nest, struct ir_expr *condition, struct ir_stmt *body,
                              struct ir_stmt *otherwise)
{
    struct ir_stmt *choice = ir_stmt_new(nest->pass->kernel, IR_IF, nest->rows->span);
    choice->value = condition;
    choice->body = body;
    choice->otherwise = otherwise;
    return choice;
}

/* A copy of the nest, in which all that was found is found again, stretch by stretch. */
static struct ir_stmt *stretch(struct pass *pass, struct ir_stmt *stmt)
{
    struct tile_nest nest;

    if (!tile_find_nest(pass, stmt, &nest))
        return stmt;
    struct ir_stmt *stretches = make_stretches(&nest, pass->tiles->stretch);
    append(stretches->body, split(&nest, stmt));
    return stretches;
}

static bool is_false(const struct ir_expr *condition)
{
    return condition->kind == IR_INTEGER && !condition->integer;
}

static bool may_be_stretched(const struct tile_nest *nest)
{
    return nest->sum && nest->pass->tiles->stretch && !needs_copies(nest);
}

/* Whether extents that are known say so. */
static bool never_pays(const struct tile_nest *nest)
{
    return is_false(condition(nest)) &&
           (!may_be_stretched(nest) || (is_false(is_stretched(nest)) && is_false(pays_early(nest))));
}

static void tile(struct tile_nest *nest)
{
    struct pass *pass = nest->pass;
    struct ir_stmt *stmt = nest->rows, *next = stmt->next, *choice, *stretches, *panels, *plain;
    struct ir_stmt *stretched = NULL;
    struct ir_expr *pays = condition(nest), *copies = pays, *is_long = NULL;
    struct ir_symbol *right;

    stmt->next = NULL;
    plain = pass_copy_block(pass, stmt);
    if (may_be_stretched(nest)) {
        stretched = stretch(pass, pass_copy_block(pass, stmt));
        is_long = is_stretched(nest);
        pays = pass_apply(nest->pass, OP_OR, pays, pays_early(nest));
        struct ir_expr *is_short = ir_operation(pass->kernel, OP_NOT, pass_copy(pass, is_long), NULL, NULL);
        copies = pass_apply(nest->pass, OP_AND, pass_copy(pass, pays), is_short);
    }
    for (int k = 0; k < nest->count; k++)
        make_buffer(nest, &nest->terms[k], copies);
    stretches = nest->sum ? make_stretches(nest, pass->tiles->depths) : NULL;
    panels = begin_panels(nest, &right);
    append(panels->body, fill_copies(nest, false, nest->left, right, NULL));
    panels->next = make_blocks(nest);
    if (stretches)
        append(stretches->body, panels);
    choice = choose(nest, pays, allocate_copies(nest, false, stretches ? stretches : panels), plain);
    if (stretched) {
        choice->body = choose(nest, is_long, stretched, choice->body);
        choice->value = pass_apply(nest->pass, OP_OR, pays, pass_copy(pass, is_long));
    }
    choice->deferred = true;
    choice->next = next;
    *stmt = *choice; /* in the place of the nest, whose nodes are inside now */
}

/* ---- sums down columns ------------------------------------------------------------------------------- */

/* Whether what is summed is so large that it is waited for, and its lines are longer than what the nest takes
 * of each at a time. */
static struct ir_expr *is_huge(const struct tile_nest *nest)
{
    enum { TIMES = 4 };
    const struct pass_tiles *tiles = nest->pass->tiles;
    struct ir_expr *lines = pass_apply(nest->pass, OP_GE, extent(nest, nest->depths),
                                       pass_number(nest->pass, TIMES * tiles->lines));
    struct ir_expr *wide = pass_apply(nest->pass, OP_GE, extent(nest, nest->columns),
                                      pass_number(nest->pass, tiles->run / TIMES));
    return pass_apply(nest->pass, OP_AND, pass_apply(nest->pass, OP_AND, lines, wide),
                      shares(nest, count_of(nest, tiles->huge)));
}

static void sum_by_lines(struct tile_nest *nest)
{
    struct pass *pass = nest->pass;
    struct ir_stmt *stmt = nest->columns, *next = stmt->next, *panels, *stretches, *choice, *plain, *inner;
    struct ir_expr *pays = is_huge(nest);
    struct ir_symbol *right;

    stmt->next = NULL;
    stmt->independent = true;
    plain = pass_copy_block(pass, stmt);
    nest->width = pass->tiles->run;
    panels = begin_panels(nest, &right);
    stretches = make_stretches(nest, pass->tiles->lines);
    inner = ir_stmt_new(pass->kernel, IR_FOR, stmt->span);
    *inner = *stmt;
    inner->low = pass_use(pass, nest->left);
    inner->high = pass_use(pass, right);
    nest->rows = nest->columns = inner;
    append(stretches->body, split(nest, inner));
    append(panels->body, stretches);
    choice = choose(nest, pays, panels, plain);
    choice->deferred = true;
    choice->next = next;
    *stmt = *choice;
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static bool try_nest(struct pass *pass, struct ir_stmt *stmt, const struct pass_around *around)
{
    struct tile_nest nest;

    if (!tile_find_nest(pass, stmt, &nest) || !tile_is_parallel(&nest))
        return false;
    stmt->independent = nest.columns->independent = true;
    if (!never_pays(&nest))
        pass_note_order(pass, around, true);
    struct ir_expr *pays = condition(&nest);
    if (tile_turn(&nest, around, pays->kind == IR_INTEGER && pays->integer))
        return true;
    if (!never_pays(&nest))
        tile(&nest);
    return true;
}

static bool try_columns(struct pass *pass, struct ir_stmt *stmt, const struct pass_around *around)
{
    struct tile_nest nest;

    if (!pass->tiles->huge || !tile_find_columns(pass, stmt, around, &nest) || !tile_is_parallel(&nest))
        return false;
    sum_by_lines(&nest);
    return true;
}

static bool tile_block(struct pass *pass, struct ir_stmt *block, const struct pass_around *around)
{
    bool changed = false;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && (try_nest(pass, stmt, around) || try_columns(pass, stmt, around))) {
            changed = true;
            continue;
        }
        bool is_alone = stmt->body && stmt->body->kind == IR_FOR && !stmt->body->next;
        struct ir_stmt *before = NULL;
        struct pass_around here = {around, stmt, &before};
        changed |= tile_block(pass, stmt->body, stmt->kind == IR_FOR ? &here : around);
        stmt = before ? tile_put_before(pass, stmt, before) : stmt;
        if (stmt->kind == IR_FOR && is_alone && stmt->body->kind == IR_IF) {
            pass_hoist_choice(pass, stmt);
            continue;
        }
        for (struct ir_stmt *side = stmt; side->kind == IR_IF && side->otherwise; side = side->otherwise) {
            if (side->otherwise->kind != IR_IF || side->otherwise->next) {
                changed |= tile_block(pass, side->otherwise, around);
                break;
            }
            changed |= tile_block(pass, side->otherwise->body, around);
        }
    }
    return changed;
}

bool pass_tile(struct pass *pass)
{
    return pass->tiles && tile_block(pass, pass->kernel->body, NULL);
}

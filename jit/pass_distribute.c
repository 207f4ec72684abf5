/*
 * pass_distribute.c: a loop over rows, each of which is multiplied by what all rows share, becomes several
 * loops over rows, so that products of a vector become products of matrices.
 *
 *     for i { for j { acc = the sum of q[i, d] * k[j, d]; s[i, j] = acc; top = max(top, acc) }; ... top ... }
 *
 * becomes
 *
 *     for i { for j { acc = the sum of q[i, d] * k[j, d]; s[i, j] = acc } }
 *     for i { for j { top = max(top, s[i, j]) }; ... top ... }
 *
 * So do loops over columns that are gone down several times (pass_distribute_down.c),
 *
 *     for j { for i { sum += x[i, j] }; for i { y[i, j] = x[i, j] - sum } }
 *
 * with one inner loop in each, also where j begins behind a loop around; and what hands nothing on from line
 * to line goes line by line then.
 *
 * What all columns are added up to, beside one loop that goes down each, is added up behind
 * (pass_distribute_total.c).
 *
 * Consumes loops whose iterations are independent, in which nothing may stop: each of their pieces may run
 * for all rows before the next one does. Scalars that one piece hands to another get an element for each row.
 * What all rows are added up to is added up behind the loop. What a product's loop accumulates besides is
 * accumulated in a loop behind it, out of what was stored. The order of everything that is accumulated stays.
 */
#include "pass_distribute.h"

/* With fewer rows than FEW a product of matrices is slower than products of vectors. */
enum { STATEMENTS = 200, PIECES = 8, DEEPEST = 100, FEW = 4 };

/* ---- the loop over rows ----------------------------------------------------------------------------------
 */

static bool is_small(struct ir_stmt *stmt, void *count)
{
    (void)stmt;
    return ++*(int *)count <= STATEMENTS;
}

/* Whether it is never negative: made of the variables of loops around that begin there. */
static bool is_natural(const struct ir_expr *expr, const struct ir_stmt *const *around, int count)
{
    if (expr->kind == IR_INTEGER)
        return expr->integer >= 0;
    if (expr->kind == IR_OPERATION && expr->operation == OP_ADD)
        return is_natural(expr->operands[0], around, count) && is_natural(expr->operands[1], around, count);
    for (int k = count - 1; k >= 0 && expr->kind == IR_SYMBOL; k--)
        if (around[k]->symbol == expr->symbol)
            return around[k]->step > 0 && is_natural(around[k]->low, around, k);
    return false;
}

/* Whether it ends where a call says, and begins with no negative number. */
static bool is_over_columns(const struct ir_stmt *loop, const struct ir_stmt *const *around, int depth)
{
    int count = 0;
    return loop->kind == IR_FOR && loop->step == 1 && !loop->hint && is_natural(loop->low, around, depth) &&
           distribute_is_of_call(loop->high) &&
           !(loop->high->kind == IR_INTEGER && loop->high->integer < FEW) &&
           ir_block_walk(loop->body, is_small, &count);
}

/* From row 0 on, or at least from one of those behind it on that is known. */
static bool is_over_rows(const struct ir_stmt *loop)
{
    return loop->kind == IR_FOR && loop->low->kind == IR_INTEGER && is_over_columns(loop, NULL, 0);
}

static bool is_candidate(const struct rows *rows)
{
    const struct ir_stmt *loop = rows->loop;
    int products = 0, others = 0;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        bool found = distribute_is_product(rows, stmt);
        products += found;
        others += !found && stmt->kind != IR_VARIABLE && stmt->kind != IR_LET && stmt->kind != IR_ALLOCATE;
        others += found && distribute_has_rest(rows, stmt);
    }
    return products && products + others > 1 && !pass_jumps(loop->body) && !pass_block_may_stop(loop->body);
}

static bool may_be_parted(struct rows *rows)
{
    if (!distribute_find_own(rows) || !is_candidate(rows))
        return false;
    distribute_allocate_own(rows);
    return is_candidate(rows) && pass_is_parallel(rows->pass, rows->loop);
}

/* Whether there are products in the loop, and its iterations can be parted. */
static bool find_rows(struct rows *rows)
{
    if (!is_over_rows(rows->loop) || rows->loop->low->integer)
        return false;
    distribute_make_places(rows);
    if (may_be_parted(rows))
        return true;
    distribute_take_places(rows);
    return false;
}

/* Whether the statement, which a declaration passes, leaves what it begins with as it is. */
static bool leaves(struct ir_stmt *stmt, void *declaration)
{
    struct ir_expr *value = ((struct ir_stmt *)declaration)->value;
    if (stmt->kind == IR_STORE || stmt->kind == IR_ALLOCATE)
        return value->kind != IR_LOAD || stmt->access.buffer != value->access.buffer;
    return stmt->kind != IR_ASSIGN || !pass_mentions(value, stmt->symbol);
}

static bool may_pass(struct ir_stmt *stmt, struct ir_stmt *declaration)
{
    return leaves(stmt, declaration) && ir_block_walk(stmt->body, leaves, declaration) &&
           ir_block_walk(stmt->otherwise, leaves, declaration);
}

/* A constant, or an element whose place is plain. */
static bool is_plain_start(struct ir_stmt *stmt)
{
    if (stmt->kind != IR_VARIABLE || stmt->value->kind != IR_LOAD)
        return stmt->kind == IR_VARIABLE && (stmt->value->kind == IR_INTEGER || stmt->value->kind == IR_REAL);
    const struct ir_access *access = &stmt->value->access;
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (!pass_is_pure(access->indices[axis]))
            return false;
    return true;
}

/* Variables that begin with a constant, or with an element that stays until then, are declared right before
 * what has to do with them. One that passes nothing but other variables stays, or two of them would pass each
 * other for ever. */
static void sink_variables(struct ir_stmt **block)
{
    for (struct ir_stmt **place = block; *place;) {
        struct ir_stmt *stmt = *place, **to = &stmt->next;
        bool sinks = is_plain_start(stmt), passes = false;
        while (sinks && *to && may_pass(*to, stmt) && !distribute_has_to_do(*to, stmt->symbol)) {
            passes |= (*to)->kind != IR_VARIABLE;
            to = &(*to)->next;
        }
        if (!passes || !*to) {
            place = &stmt->next;
            continue;
        }
        *place = stmt->next;
        stmt->next = *to;
        *to = stmt;
    }
}

/* ---- pieces ----------------------------------------------------------------------------------------------
 */

struct pieces {
    struct ir_stmt *items[PIECES]; /* blocks */
    int count;
};

/* The body as pieces: products, and what is between. False where these are too many: then it is as it was. */
static bool find_pieces(const struct rows *rows, struct pieces *pieces)
{
    bool open = false;
    struct ir_stmt *starts[PIECES];
    pieces->count = 0;
    for (struct ir_stmt *stmt = rows->loop->body; stmt; stmt = stmt->next) {
        bool alone = distribute_is_product(rows, stmt);
        if (!alone && open)
            continue;
        if (pieces->count == PIECES)
            return false;
        starts[pieces->count++] = stmt;
        open = !alone;
    }
    for (int k = 0; k < pieces->count; k++)
        pieces->items[k] = starts[k];
    return pieces->count > 1;
}

/* The body as pieces of one loop each, with the variables declared before it. */
static bool find_pieces_down(const struct rows *columns, struct pieces *pieces)
{
    struct ir_stmt *start = columns->loop->body, *loop = NULL;
    pieces->count = 0;
    for (struct ir_stmt *stmt = start; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && loop) {
            if (pieces->count == PIECES - 1)
                return false;
            pieces->items[pieces->count++] = start;
            for (start = loop->next; start->kind != IR_FOR && start->kind != IR_VARIABLE;)
                start = start->next;
        }
        loop = stmt->kind == IR_FOR ? stmt : loop;
    }
    pieces->items[pieces->count++] = start;
    return pieces->count > 1;
}

/* Whether no piece assigns what another one declares: each ends where the next begins. */
static bool may_part(const struct pieces *pieces)
{
    for (int k = 0; k + 1 < pieces->count; k++)
        for (struct ir_stmt *stmt = pieces->items[k]; stmt != pieces->items[k + 1]; stmt = stmt->next)
            if ((stmt->kind == IR_VARIABLE || stmt->kind == IR_LET) &&
                (distribute_mentions(pieces->items[k + 1], stmt->symbol).assigned ||
                 dtype_is_half(stmt->symbol->dtype)))
                return false;
    return true;
}

static void cut(struct pieces *pieces)
{
    for (int k = 0; k + 1 < pieces->count; k++) {
        struct ir_stmt *last = pieces->items[k];
        while (last->next != pieces->items[k + 1])
            last = last->next;
        last->next = NULL;
    }
}

static struct ir_stmt **end_of(struct ir_stmt **block)
{
    while (*block)
        block = &(*block)->next;
    return block;
}

static struct ir_stmt *store_row(const struct rows *rows, struct ir_buffer *buffer, struct ir_symbol *symbol)
{
    struct ir_kernel *kernel = rows->pass->kernel;
    struct ir_stmt *store = ir_stmt_new(kernel, IR_STORE, rows->loop->span);
    store->access.buffer = buffer;
    store->access.indices = arena_array(kernel->arena, struct ir_expr *, 1);
    store->access.checks = arena_array(kernel->arena, enum ir_check, 1);
    store->access.indices[0] = distribute_kept_row(rows);
    store->access.checks[0] = IR_CHECK_PROVED;
    store->value = ir_symbol_use(kernel, symbol);
    return store;
}

/* An element for each row; `before`: where it is allocated. */
static struct ir_buffer *make_kept(const struct rows *rows, const struct ir_symbol *symbol,
                                   struct ir_stmt **before)
{
    struct ir_buffer *buffer =
        ir_buffer_new(rows->pass->kernel, symbol->name, IR_TEMPORARY, symbol->dtype, 1);
    struct ir_stmt *allocate = distribute_allocate(rows, buffer);
    buffer->span = rows->loop->span;
    buffer->shape[0] = pass_copy(rows->pass, rows->kept);
    allocate->next = *before;
    *before = allocate;
    return buffer;
}

/* Scalars that the piece declares and later ones use. */
static struct ir_stmt **keep_scalars(const struct rows *rows, struct pieces *pieces, int number,
                                     struct ir_stmt **before)
{
    struct ir_stmt **end = end_of(&pieces->items[number]);
    for (struct ir_stmt *stmt = pieces->items[number]; stmt; stmt = stmt->next) {
        struct ir_buffer *kept = NULL;
        if (stmt->kind != IR_VARIABLE && stmt->kind != IR_LET)
            continue;
        for (int later = number + 1; later < pieces->count; later++) {
            if (!distribute_mentions(pieces->items[later], stmt->symbol).used)
                continue;
            if (!kept) {
                kept = make_kept(rows, stmt->symbol, before);
                before = &(*before)->next;
                *end = store_row(rows, kept, stmt->symbol);
                end = &(*end)->next;
            }
            struct ir_expr *row = distribute_kept_row(rows);
            struct ir_expr *load = ir_load(rows->pass->kernel, kept, &row);
            load->access.checks[0] = IR_CHECK_PROVED;
            struct ir_stmt *let =
                pass_declare(rows->pass, IR_SYMBOL_LET, stmt->symbol->name, load, stmt->span);
            pass_rename(pieces->items[later], stmt->symbol, let->symbol);
            let->next = pieces->items[later];
            pieces->items[later] = let;
        }
    }
    return before;
}

/* Which rows something is kept for: all. And what says at run time whether they are enough. */
static void choose(struct rows *rows)
{
    struct ir_kernel *kernel = rows->pass->kernel;
    struct ir_expr *extent = pass_copy(rows->pass, rows->loop->high);
    rows->kept = extent->kind == IR_SYMBOL && extent->symbol->kind == IR_SYMBOL_DIM
                     ? extent
                     : ir_operation(kernel, OP_MAX, ir_integer(kernel, AKG_INT64, 0), extent, NULL);
    if (extent->kind != IR_INTEGER)
        rows->many = ir_operation(kernel, OP_GE, pass_copy(rows->pass, extent),
                                  ir_integer(kernel, AKG_INT64, FEW), NULL);
}

/* One loop for each piece. */
static struct ir_stmt *part(struct rows *rows, struct pieces *pieces)
{
    struct ir_stmt *first = NULL, **end = &first;
    cut(pieces);
    for (int k = 0; k + 1 < pieces->count; k++)
        end = keep_scalars(rows, pieces, k, end);
    for (int k = 0; k < pieces->count; k++, end = &(*end)->next)
        *end = pass_new_loop(rows->pass, rows->loop, pieces->items[k]);
    return first;
}

/* Where the rows are few, what was before them. */
static struct ir_stmt *choice_of(const struct rows *rows, struct ir_stmt *many, struct ir_stmt *few)
{
    struct ir_stmt *choice;
    if (!few)
        return many;
    choice = ir_stmt_new(rows->pass->kernel, IR_IF, rows->loop->span);
    choice->value = rows->many;
    choice->deferred = true;
    choice->body = many;
    choice->otherwise = few;
    return choice;
}

/* Whether it only names an element, which the loop over columns leaves as it is. */
static bool names_an_element(const struct ir_stmt *columns, const struct ir_stmt *stmt)
{
    return stmt->kind == IR_LET && stmt->value->kind == IR_LOAD &&
           !ir_block_stores_to(columns->body, stmt->value->access.buffer);
}

/* Where a loop over columns only goes down them, and hands nothing on from line to line, line by line. */
static void go_by_lines(struct ir_stmt *columns)
{
    struct ir_stmt **last = &columns->body, *lets = columns->body, *lines;
    while (names_an_element(columns, *last))
        last = &(*last)->next;
    lines = *last;
    if (lines->kind != IR_FOR || lines->next)
        return;
    *last = lines->body;
    lines->body = lets == lines ? *last : lets;
    columns->body = lines;
    pass_exchange_loops(columns, lines);
    go_by_lines(lines);
}

/* Columns that are gone down several times, once for each loop: then each is a nest over all columns, whose
 * innermost loop is the one over what lies side by side. */
static bool distribute_down(struct rows *columns, struct ir_stmt **place)
{
    struct pieces pieces;
    struct ir_stmt *next = columns->loop->next, *few = NULL;
    if (!is_over_columns(columns->loop, columns->around, columns->depth) ||
        !distribute_goes_down_often(columns) || !pass_is_parallel(columns->pass, columns->loop))
        return false;
    sink_variables(&columns->loop->body);
    if (!find_pieces_down(columns, &pieces) || !may_part(&pieces))
        return false;
    choose(columns);
    columns->loop->next = NULL;
    if (columns->many) {
        few = pass_copy_block(columns->pass, columns->loop);
        find_pieces_down(columns, &pieces);
    }
    struct ir_stmt *many = part(columns, &pieces);
    for (struct ir_stmt *stmt = many; stmt; stmt = stmt->next)
        if (stmt->kind == IR_FOR)
            go_by_lines(stmt);
    *place = choice_of(columns, many, few);
    *end_of(place) = next;
    return true;
}

static bool distribute_rows(struct rows *rows, struct ir_stmt **place)
{
    struct pieces pieces;
    struct ir_stmt *next = rows->loop->next, *few = NULL, *many;
    if (!find_rows(rows))
        return false;
    choose(rows);
    rows->loop->next = NULL;
    if (rows->many)
        few = pass_copy_block(rows->pass, rows->loop);
    bool changed = distribute_part_products(rows);
    sink_variables(&rows->loop->body);
    if (!find_pieces(rows, &pieces) || !may_part(&pieces)) {
        rows->loop->next = next;
        return changed;
    }
    if (rows->own.count) {
        distribute_begin_block(rows);
        find_pieces(rows, &pieces);
    }
    many = part(rows, &pieces);
    if (rows->blocks)
        many = distribute_end_block(rows, many);
    *place = choice_of(rows, many, few);
    *end_of(place) = next;
    return true;
}

static bool holds_loops(const struct ir_stmt *loop)
{
    for (const struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_FOR && pass_has_for(stmt->body))
            return true;
    return false;
}

/* `place`: where the loop stands, and after it what is done in its place. */
static bool distribute(struct rows *rows, struct ir_stmt **place)
{
    struct distribute_totals totals;
    struct ir_stmt *next = rows->loop->next;
    bool detached = is_over_rows(rows->loop) && holds_loops(rows->loop) &&
                    !pass_block_may_stop(rows->loop->body) && distribute_detach_totals(rows, &totals);
    bool changed = distribute_rows(rows, place);
    if (detached && changed)
        distribute_add_totals(&totals, place, next);
    else if (detached)
        distribute_attach_totals(rows, &totals);
    return changed;
}

/* What all columns are added up to, beside a loop that goes down each of them: without it that is a nest over
 * all columns. */
static bool detach_totals_down(struct rows *columns, struct ir_stmt **place)
{
    struct distribute_totals totals;
    struct ir_stmt *next = columns->loop->next;
    if (!is_over_rows(columns->loop) || columns->loop->low->integer || !distribute_goes_down_once(columns) ||
        !distribute_detach_totals(columns, &totals))
        return false;
    if (!pass_is_parallel(columns->pass, columns->loop)) {
        distribute_attach_totals(columns, &totals);
        return false;
    }
    distribute_add_totals(&totals, place, next);
    return true;
}

/* The loops around a block. */
struct distributor {
    struct pass *pass;
    const struct ir_stmt *around[DEEPEST + 1];
    int count;
};

static bool visit_block(struct distributor *distributor, struct ir_stmt **block, int depth)
{
    bool changed = false;
    if (depth > DEEPEST)
        return false;
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place, *next = stmt->next;
        struct rows rows = {.pass = distributor->pass,
                            .loop = stmt,
                            .around = distributor->around,
                            .depth = distributor->count},
                    columns = rows;
        if (distribute(&rows, place) || distribute_down(&columns, place) ||
            detach_totals_down(&columns, place)) {
            changed = true;
            while ((*place)->next != next)
                place = &(*place)->next;
            continue;
        }
        bool is_alone = stmt->kind == IR_FOR && stmt->body && !stmt->body->next;
        distributor->around[distributor->count] = stmt;
        distributor->count += stmt->kind == IR_FOR;
        changed |= visit_block(distributor, &stmt->body, depth + 1);
        distributor->count -= stmt->kind == IR_FOR;
        if (stmt->kind == IR_IF && stmt->otherwise)
            changed |= visit_block(distributor, &stmt->otherwise, depth + 1);
        if (is_alone && stmt->body->kind == IR_IF && stmt->body->deferred && !stmt->body->next &&
            pass_is_of_call(stmt->body->value)) /* which that of windows (pass_collect.c) may not be */
            pass_hoist_choice(distributor->pass, stmt);
    }
    return changed;
}

bool pass_distribute(struct pass *pass)
{
    struct distributor *distributor = arena_new(pass->arena, struct distributor);
    distributor->pass = pass;
    bool changed = visit_block(distributor, &pass->kernel->body, 0);
    pass_sweep(&pass->kernel->body);
    return changed;
}

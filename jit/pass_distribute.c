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
 * Consumes loops whose iterations are independent, in which nothing may stop: each of their pieces may run
 * for all rows before the next one does. Scalars that one piece hands to another get an element for each row.
 * What a product's loop accumulates besides is accumulated in a loop behind it, out of what was stored.
 * The order of everything that is accumulated stays.
 */
#include "pass.h"

enum { STATEMENTS = 200, PIECES = 8, DEEPEST = 100 };

struct rows {
    struct pass *pass;
    struct ir_stmt *loop;
};

/* ---- what is shared by all rows ---------------------------------------------------------------------- */

static bool is_of_call(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind == IR_INTEGER ||
           (expr->kind == IR_SYMBOL &&
            (expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE)) ||
           (expr->kind == IR_OPERATION && !expr->checked &&
            (expr->operation == OP_ADD || expr->operation == OP_SUB || expr->operation == OP_MUL ||
             expr->operation == OP_MAX || expr->operation == OP_MIN));
}

/* Of extents and attributes: known when memory is made. */
static bool bounds_are_of_call(const struct ir_stmt *loop)
{
    return ir_expr_walk(loop->low, is_of_call, NULL) && ir_expr_walk(loop->high, is_of_call, NULL);
}

struct factors {
    const struct ir_symbol *row, *column;
    bool shared, own;
};

static bool note_factor(struct ir_expr *expr, void *context)
{
    struct factors *factors = context;
    if (expr->kind == IR_LOAD) {
        bool by_row = pass_access_mentions(&expr->access, factors->row);
        factors->shared |= !by_row && pass_access_mentions(&expr->access, factors->column);
        factors->own |= by_row;
    }
    return true;
}

static bool is_plain(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_FOR
               ? bounds_are_of_call(stmt) && stmt->step == 1 && !stmt->hint
               : stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN;
}

/* The only loop of the block; NULL: there are none, or several, or other blocks. */
static struct ir_stmt *only_loop(struct ir_stmt *block)
{
    struct ir_stmt *found = NULL;
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_IF || (stmt->kind == IR_FOR && found))
            return NULL;
        found = stmt->kind == IR_FOR ? stmt : found;
    }
    return found;
}

/* ---- who has to do with a scalar ------------------------------------------------------------------------
 */

struct mention {
    const struct ir_symbol *symbol;
    bool used, assigned;
};

static bool note_use(struct ir_expr *expr, void *context)
{
    struct mention *mention = context;
    mention->used |= expr->kind == IR_SYMBOL && expr->symbol == mention->symbol;
    return true;
}

static bool note_assignment(struct ir_stmt *stmt, void *context)
{
    struct mention *mention = context;
    mention->assigned |= stmt->kind == IR_ASSIGN && stmt->symbol == mention->symbol;
    return true;
}

/* In the statements from the first on, up to the end of their block. */
static struct mention mention_in(struct ir_stmt *first, const struct ir_symbol *symbol)
{
    struct mention mention = {symbol, false, false};
    ir_block_expressions(first, note_use, &mention);
    ir_block_walk(first, note_assignment, &mention);
    return mention;
}

static bool has_to_do(struct ir_stmt *stmt, const struct ir_symbol *symbol)
{
    struct ir_stmt *next = stmt->next;
    stmt->next = NULL;
    struct mention mention = mention_in(stmt, symbol);
    stmt->next = next;
    return mention.used || mention.assigned;
}

/* ---- a product, and what its loop accumulates besides -------------------------------------------------- */

static bool is_declaration_of(struct ir_stmt *stmt, void *symbol)
{
    return (stmt->kind != IR_LET && stmt->kind != IR_VARIABLE) || stmt->symbol != symbol;
}

static bool declares(const struct ir_stmt *block, const struct ir_symbol *symbol)
{
    return !ir_block_walk((struct ir_stmt *)block, is_declaration_of, (void *)symbol);
}

struct stores {
    const struct ir_buffer *buffer;
    int count;
};

static bool count_store(struct ir_stmt *stmt, void *context)
{
    struct stores *stores = context;
    stores->count += stmt->kind == IR_STORE && stmt->access.buffer == stores->buffer;
    return true;
}

/* The one place where the LET's value is stored, in an element of each iteration's own; NULL: there is none.
 */
static const struct ir_stmt *store_of(const struct ir_stmt *columns, const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next) {
        bool alone = false, plain = true;
        if (stmt->kind != IR_STORE || stmt->value->kind != IR_SYMBOL || stmt->value->symbol != symbol)
            continue;
        struct stores stores = {stmt->access.buffer, 0};
        ir_block_walk(columns->body, count_store, &stores);
        for (int axis = 0; axis < stmt->access.buffer->rank; axis++) {
            const struct ir_expr *index = stmt->access.indices[axis];
            alone |= index->kind == IR_SYMBOL && index->symbol == columns->symbol;
            plain &= index->kind == IR_INTEGER ||
                     (index->kind == IR_SYMBOL && index->symbol->kind != IR_SYMBOL_VARIABLE &&
                      index->symbol->kind != IR_SYMBOL_LET);
        }
        return alone && plain && stores.count == 1 && !dtype_is_half(symbol->dtype) ? stmt : NULL;
    }
    return NULL;
}

/* Of what is accumulated besides: it uses nothing of the loop's but its variable and what is stored. */
static bool is_had_later(struct ir_expr *expr, void *columns_pointer)
{
    const struct ir_stmt *columns = columns_pointer;
    if (expr->kind != IR_SYMBOL)
        return expr->kind != IR_LOAD;
    return !declares(columns->body, expr->symbol) ||
           (expr->symbol->kind == IR_SYMBOL_LET && store_of(columns, expr->symbol));
}

static bool is_besides(const struct ir_stmt *columns, const struct ir_stmt *stmt)
{
    return stmt->kind == IR_ASSIGN && !declares(columns->body, stmt->symbol);
}

/* Whether the loop uses what it accumulates besides for something else. */
static bool is_used(const struct ir_stmt *columns, const struct ir_symbol *besides)
{
    for (struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next)
        if (!is_besides(columns, stmt) && has_to_do(stmt, besides))
            return true;
    return false;
}

static bool has_no_other(struct ir_stmt *stmt, void *columns)
{
    return stmt->kind != IR_ASSIGN || !is_besides(columns, stmt);
}

static bool is_product(const struct rows *rows, struct ir_stmt *columns)
{
    struct factors factors = {rows->loop->symbol, columns->symbol, false, false};
    if (columns->kind != IR_FOR || columns->step != 1 || columns->hint || !bounds_are_of_call(columns))
        return false;
    struct ir_stmt *depths = only_loop(columns->body);
    if (!depths || !is_plain(depths, NULL) || !ir_block_walk(depths->body, is_plain, NULL) ||
        !ir_block_walk(depths->body, has_no_other, columns))
        return false;
    bool behind = false;
    for (struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next) {
        behind |= stmt == depths;
        if (is_besides(columns, stmt) &&
            (!behind || is_used(columns, stmt->symbol) || !ir_expr_walk(stmt->value, is_had_later, columns)))
            return false;
    }
    ir_block_expressions(depths->body, note_factor, &factors);
    return factors.shared && factors.own;
}

struct reload {
    struct rows *rows;
    struct ir_stmt *columns, **end;
};

/* Declares what is loaded in the place of a LET of the product's loop. */
static bool add_reload(struct ir_expr *expr, void *context)
{
    struct reload *reload = context;
    struct pass *pass = reload->rows->pass;
    if (expr->kind != IR_SYMBOL || !declares(reload->columns->body, expr->symbol))
        return true;
    const struct ir_stmt *store = store_of(reload->columns, expr->symbol);
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, expr->symbol->name,
                                       pass_load(pass, &store->access, store->span), store->span);
    expr->symbol = let->symbol;
    *reload->end = let;
    reload->end = &let->next;
    return true;
}

static struct ir_stmt *new_loop(struct pass *pass, const struct ir_stmt *like, struct ir_stmt *body)
{
    struct ir_stmt *loop = ir_stmt_new(pass->kernel, IR_FOR, like->span);
    loop->symbol = ir_symbol_new(pass->kernel, IR_SYMBOL_LOOP, like->symbol->name, like->symbol->dtype);
    loop->symbol->span = like->symbol->span;
    loop->symbol->label = like->symbol->label;
    loop->low = pass_copy(pass, like->low);
    loop->high = pass_copy(pass, like->high);
    loop->step = like->step;
    loop->body = body;
    pass_rename(body, like->symbol, loop->symbol);
    return loop;
}

/* What the product's loop accumulates besides goes into a loop of its own behind it. */
static bool part_product(struct rows *rows, struct ir_stmt *columns)
{
    struct ir_stmt *body = NULL;
    struct reload reload = {rows, columns, &body};
    for (struct ir_stmt **place = &columns->body; *place;) {
        struct ir_stmt *stmt = *place;
        if (!is_besides(columns, stmt)) {
            place = &stmt->next;
            continue;
        }
        *place = stmt->next;
        stmt->next = NULL;
        ir_stmt_expressions(stmt, add_reload, &reload);
        *reload.end = stmt;
        reload.end = &stmt->next;
    }
    if (!body)
        return false;
    struct ir_stmt *behind = new_loop(rows->pass, columns, body);
    behind->next = columns->next;
    columns->next = behind;
    return true;
}

/* ---- the loop over rows ----------------------------------------------------------------------------------
 */

static bool holds_no_memory(struct ir_stmt *stmt, void *count)
{
    return stmt->kind != IR_ALLOCATE && ++*(int *)count <= STATEMENTS;
}

static bool is_candidate(const struct rows *rows)
{
    const struct ir_stmt *loop = rows->loop;
    int products = 0, others = 0, count = 0;
    if (loop->kind != IR_FOR || loop->step != 1 || loop->hint || loop->low->kind != IR_INTEGER ||
        loop->low->integer != 0 || !bounds_are_of_call(loop) ||
        !ir_block_walk(loop->body, holds_no_memory, &count))
        return false;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        bool found = is_product(rows, stmt);
        products += found;
        others += !found && stmt->kind != IR_VARIABLE && stmt->kind != IR_LET;
        for (struct ir_stmt *inner = found ? stmt->body : NULL; inner; inner = inner->next)
            others += is_besides(stmt, inner);
    }
    return products && products + others > 1 && !pass_jumps(loop->body) && !pass_block_may_stop(loop->body);
}

static bool is_independent(const struct rows *rows)
{
    const struct dependences *dependences = pass_dependences(rows->pass, rows->loop);
    const struct dependence_loop *loop =
        dependences ? dependence_loop_is_parallel(dependences, rows->loop) : NULL;
    return loop && loop->verdict == DEPENDENCE_PARALLEL && !loop->leaves && !loop->incomplete;
}

/* Variables that begin with a constant are declared right before what has to do with them. */
static void sink_variables(struct ir_stmt **block)
{
    for (struct ir_stmt **place = block; *place;) {
        struct ir_stmt *stmt = *place, **to = &stmt->next;
        bool sinks =
            stmt->kind == IR_VARIABLE && (stmt->value->kind == IR_INTEGER || stmt->value->kind == IR_REAL);
        while (sinks && *to && ((*to)->kind == IR_VARIABLE || !has_to_do(*to, stmt->symbol)))
            to = &(*to)->next;
        if (!sinks || to == &stmt->next || !*to) {
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
        bool alone = is_product(rows, stmt);
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

/* Whether no piece assigns what another one declares: each ends where the next begins. */
static bool may_part(const struct pieces *pieces)
{
    for (int k = 0; k + 1 < pieces->count; k++)
        for (struct ir_stmt *stmt = pieces->items[k]; stmt != pieces->items[k + 1]; stmt = stmt->next)
            if ((stmt->kind == IR_VARIABLE || stmt->kind == IR_LET) &&
                (mention_in(pieces->items[k + 1], stmt->symbol).assigned ||
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
    store->access.indices[0] = ir_symbol_use(kernel, rows->loop->symbol);
    store->access.checks[0] = IR_CHECK_PROVED;
    store->value = ir_symbol_use(kernel, symbol);
    return store;
}

/* An element for each row; `before`: where it is allocated. */
static struct ir_buffer *make_kept(const struct rows *rows, const struct ir_symbol *symbol,
                                   struct ir_stmt **before)
{
    struct ir_kernel *kernel = rows->pass->kernel;
    struct ir_buffer *buffer = ir_buffer_new(kernel, symbol->name, IR_TEMPORARY, symbol->dtype, 1);
    struct ir_stmt *allocate = ir_stmt_new(kernel, IR_ALLOCATE, rows->loop->span);
    struct ir_expr *extent = pass_copy(rows->pass, rows->loop->high);
    buffer->span = rows->loop->span;
    buffer->shape[0] = extent->kind == IR_SYMBOL && extent->symbol->kind == IR_SYMBOL_DIM
                           ? extent
                           : ir_operation(kernel, OP_MAX, ir_integer(kernel, AKG_INT64, 0), extent, NULL);
    allocate->access.buffer = buffer;
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
            if (!mention_in(pieces->items[later], stmt->symbol).used)
                continue;
            if (!kept) {
                kept = make_kept(rows, stmt->symbol, before);
                before = &(*before)->next;
                *end = store_row(rows, kept, stmt->symbol);
                end = &(*end)->next;
            }
            struct ir_expr *row = ir_symbol_use(rows->pass->kernel, rows->loop->symbol);
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

/* `place`: where the loop stands. */
static bool distribute(struct rows *rows, struct ir_stmt **place)
{
    struct pieces pieces;
    bool changed = false;
    if (!is_candidate(rows) || !is_independent(rows))
        return false;
    for (struct ir_stmt *stmt = rows->loop->body; stmt; stmt = stmt->next)
        changed |= is_product(rows, stmt) && part_product(rows, stmt);
    sink_variables(&rows->loop->body);
    if (!find_pieces(rows, &pieces) || !may_part(&pieces))
        return changed;
    cut(&pieces);
    for (int k = 0; k + 1 < pieces.count; k++)
        place = keep_scalars(rows, &pieces, k, place);
    rows->loop->body = pieces.items[0];
    for (int k = pieces.count - 1; k > 0; k--) {
        struct ir_stmt *loop = new_loop(rows->pass, rows->loop, pieces.items[k]);
        loop->next = rows->loop->next;
        rows->loop->next = loop;
    }
    return true;
}

static bool visit_block(struct pass *pass, struct ir_stmt **block, int depth)
{
    bool changed = false;
    if (depth > DEEPEST)
        return false;
    for (struct ir_stmt **place = block, *next; *place; place = &next->next) {
        struct rows rows = {pass, *place};
        next = *place;
        if (distribute(&rows, place))
            changed = true;
        else
            changed |=
                visit_block(pass, &next->body, depth + 1) |
                (next->kind != IR_IF || !next->otherwise ? false
                                                         : visit_block(pass, &next->otherwise, depth + 1));
    }
    return changed;
}

bool pass_distribute(struct pass *pass)
{
    return visit_block(pass, &pass->kernel->body, 0);
}

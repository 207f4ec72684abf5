/*
 * pass_distribute_product.c: what a row is multiplied by what all rows share is, for pass_distribute.c.
 *
 *     for j { acc = ...; for d { acc = acc + q[i, d] * k[j, d] }; s[i, j] = acc; top = max(top, acc) }
 *     for j { for d { y[i, d] = y[i, d] + s[i, j] * v[j, d] } }
 *
 * In the first form, what is accumulated besides goes into a loop of its own, which has its values from what
 * was stored; and so does what is made of the numbers of rows and columns (a mask), which nests of vectors
 * know in indices alone. A sum that is compared and stored nowhere gets a temporary of the row's own first,
 * out of which that loop has it. The second form, in any order of its loops, becomes the first.
 */
#include "pass_distribute.h"

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

bool distribute_is_of_call(struct ir_expr *expr)
{
    return ir_expr_walk(expr, is_of_call, NULL);
}

bool distribute_bounds_are_of_call(const struct ir_stmt *loop)
{
    return distribute_is_of_call(loop->low) && distribute_is_of_call(loop->high);
}

struct factors {
    const struct rows *rows;
    const struct ir_symbol *column;
    const struct ir_buffer *sum; /* that is accumulated in place, and no factor; NULL: none */
    bool shared, own;
};

static bool note_factor(struct ir_expr *expr, void *context)
{
    struct factors *factors = context;
    if (expr->kind == IR_LOAD && expr->access.buffer != factors->sum) {
        bool by_row = distribute_is_own(factors->rows, expr->access.buffer) ||
                      pass_access_mentions(&expr->access, factors->rows->loop->symbol);
        factors->shared |= !by_row && pass_access_mentions(&expr->access, factors->column);
        factors->own |= by_row;
    }
    return true;
}

static bool is_plain(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_FOR
               ? distribute_bounds_are_of_call(stmt) && stmt->step == 1 && !stmt->hint
               : stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN;
}

/* What is added may hang on a condition. */
static bool is_summed(struct ir_stmt *stmt, void *context)
{
    return stmt->kind == IR_IF || is_plain(stmt, context);
}

static bool is_straight(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind == IR_IF || stmt->kind == IR_ASSIGN || stmt->kind == IR_STORE;
}

/* The only loop of the block; NULL: there are none, or several, or conditions around more than a value. */
static struct ir_stmt *only_loop(struct ir_stmt *block)
{
    struct ir_stmt *found = NULL;
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if ((stmt->kind == IR_IF && (!ir_block_walk(stmt->body, is_straight, NULL) ||
                                     !ir_block_walk(stmt->otherwise, is_straight, NULL))) ||
            (stmt->kind == IR_FOR && found))
            return NULL;
        found = stmt->kind == IR_FOR ? stmt : found;
    }
    return found;
}

/* ---- who has to do with a scalar ------------------------------------------------------------------------
 */

static bool note_use(struct ir_expr *expr, void *context)
{
    struct distribute_mention *mention = context;
    mention->used |= expr->kind == IR_SYMBOL && expr->symbol == mention->symbol;
    return true;
}

static bool note_assignment(struct ir_stmt *stmt, void *context)
{
    struct distribute_mention *mention = context;
    mention->assigned |= stmt->kind == IR_ASSIGN && stmt->symbol == mention->symbol;
    return true;
}

struct distribute_mention distribute_mentions(struct ir_stmt *first, const struct ir_symbol *symbol)
{
    struct distribute_mention mention = {symbol, false, false};
    ir_block_expressions(first, note_use, &mention);
    ir_block_walk(first, note_assignment, &mention);
    return mention;
}

bool distribute_has_to_do(struct ir_stmt *stmt, const struct ir_symbol *symbol)
{
    struct ir_stmt *next = stmt->next;
    stmt->next = NULL;
    struct distribute_mention mention = distribute_mentions(stmt, symbol);
    stmt->next = next;
    return mention.used || mention.assigned;
}

/* ---- a product, and what its loop accumulates besides -------------------------------------------------- */

/* Loops of what is asked have variables of their own. */
static bool declares_scalar(const struct ir_stmt *block, const struct ir_symbol *symbol)
{
    return symbol->kind != IR_SYMBOL_LOOP && ir_block_declares(block, symbol);
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

/* An element of each iteration's own, which is named by what is the same in all the loop. */
static bool is_element(const struct ir_stmt *columns, const struct ir_access *access)
{
    bool alone = false;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        const struct ir_expr *index = access->indices[axis];
        alone |= index->kind == IR_SYMBOL && index->symbol == columns->symbol;
        if (index->kind != IR_INTEGER &&
            (index->kind != IR_SYMBOL || index->symbol->kind == IR_SYMBOL_VARIABLE ||
             index->symbol->kind == IR_SYMBOL_LET))
            return false;
    }
    return alone;
}

/* The one place where the scalar's value is stored, in an element of each iteration's own, as it is from
 * there on; NULL: there is none. */
static const struct ir_stmt *store_of(const struct ir_stmt *columns, const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next) {
        if (stmt->kind != IR_STORE || stmt->value->kind != IR_SYMBOL || stmt->value->symbol != symbol)
            continue;
        struct stores stores = {stmt->access.buffer, 0};
        ir_block_walk(columns->body, count_store, &stores);
        return is_element(columns, &stmt->access) && stores.count == 1 && !dtype_is_half(symbol->dtype) &&
                       !distribute_mentions(stmt->next, symbol).assigned
                   ? stmt
                   : NULL;
    }
    return NULL;
}

/* ---- what is accumulated besides -------------------------------------------------------------------- */

/* A statement of the product's loop that is to stand behind it. */
struct later {
    const struct ir_stmt *columns, *stmt;
};

static bool stands_before(const struct ir_stmt *stmt, const struct ir_stmt *other)
{
    while (stmt && stmt != other)
        stmt = stmt->next;
    return stmt != NULL;
}

/* Whether the element, when the loop has ended, is what it is at the statement: only the iteration itself
 * stores it, before. */
static bool is_settled(const struct later *later, const struct ir_access *access)
{
    bool before = true;
    for (struct ir_stmt *stmt = later->columns->body; stmt; stmt = stmt->next) {
        struct stores stores = {access->buffer, 0};
        struct ir_stmt *next = stmt->next;
        stmt->next = NULL;
        ir_block_walk(stmt, count_store, &stores);
        stmt->next = next;
        before &= stmt != later->stmt;
        if (stores.count && !before)
            return false;
    }
    return true;
}

struct same_stores {
    const struct ir_access *access;
    bool fails; /* one of them is to another element */
};

static bool compare_store(struct ir_stmt *stmt, void *context)
{
    struct same_stores *same = context;
    same->fails |= stmt->kind == IR_STORE && stmt->access.buffer == same->access->buffer &&
                   pass_compare(&stmt->access, same->access) != PASS_SAME;
    return true;
}

/* Whether the load gives the same behind the loop. */
static bool is_loaded_later(const struct later *later, const struct ir_access *access)
{
    struct stores stores = {access->buffer, 0};
    struct same_stores same = {access, false};
    ir_block_walk(later->columns->body, count_store, &stores);
    if (!stores.count)
        return true;
    ir_block_walk(later->columns->body, compare_store, &same);
    return !same.fails && is_element(later->columns, access) && is_settled(later, access);
}

/* It uses nothing of the loop's but its variable and what is stored. */
static bool is_had_later(struct ir_expr *expr, void *context)
{
    const struct later *later = context;
    if (expr->kind == IR_LOAD)
        return is_loaded_later(later, &expr->access);
    if (expr->kind != IR_SYMBOL || !declares_scalar(later->columns->body, expr->symbol))
        return true;
    const struct ir_stmt *store = store_of(later->columns, expr->symbol);
    return store && (expr->symbol->kind == IR_SYMBOL_LET || stands_before(store, later->stmt));
}

static bool is_besides(const struct ir_stmt *columns, const struct ir_stmt *stmt)
{
    return stmt->kind == IR_ASSIGN && !ir_block_declares(columns->body, stmt->symbol);
}

/* Whether the loop uses what it accumulates besides for something else. */
static bool is_used(const struct ir_stmt *columns, const struct ir_symbol *besides)
{
    for (struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next)
        if (!is_besides(columns, stmt) && distribute_has_to_do(stmt, besides))
            return true;
    return false;
}

static bool has_no_other(struct ir_stmt *stmt, void *columns)
{
    return stmt->kind != IR_ASSIGN || !is_besides(columns, stmt);
}

/* ---- what is made of numbers of rows and columns ------------------------------------------------------ */

/* Where the body of a product's loop is cut in two. */
struct cut {
    struct ir_stmt *tail;        /* from where on; NULL: it stays in one piece */
    struct ir_symbol *sum;       /* what the tail uses of the head; NULL: nothing */
    const struct ir_stmt *store; /* where the tail stores it, or what it makes of it; */
    bool is_stored;              /* or where the head does */
};

struct numbers {
    const struct ir_symbol *row, *column;
    bool found;
};

static bool uses_numbers(const struct numbers *numbers, const struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL)
        return expr->symbol == numbers->row || expr->symbol == numbers->column ||
               (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value &&
                uses_numbers(numbers, expr->symbol->value));
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        if (uses_numbers(numbers, expr->operands[k]))
            return true;
    return false;
}

static bool note_numbers(struct ir_stmt *stmt, void *context)
{
    struct numbers *numbers = context;
    numbers->found |= stmt->value && uses_numbers(numbers, stmt->value);
    return true;
}

static bool has_numbers(const struct rows *rows, const struct ir_stmt *columns, struct ir_stmt *stmt)
{
    struct numbers numbers = {rows->loop->symbol, columns->symbol, false};
    struct ir_stmt *next = stmt->next;
    stmt->next = NULL;
    ir_block_walk(stmt, note_numbers, &numbers);
    stmt->next = next;
    return numbers.found;
}

struct same_accesses {
    const struct ir_access *access;
    bool fails;
    int loads;
};

static bool compare_load(struct ir_expr *expr, void *context)
{
    struct same_accesses *same = context;
    if (expr->kind == IR_LOAD && expr->access.buffer == same->access->buffer) {
        same->loads++;
        same->fails |= pass_compare(&expr->access, same->access) != PASS_SAME;
    }
    return true;
}

/* Whether each iteration has elements of its own wherever the loop stores. */
static bool keeps_to_elements(struct ir_stmt *stmt, void *context)
{
    const struct ir_stmt *columns = context;
    struct same_accesses loads = {.access = &stmt->access};
    struct same_stores stores = {&stmt->access, false};
    if (stmt->kind != IR_STORE)
        return true;
    ir_block_expressions(columns->body, compare_load, &loads);
    ir_block_walk(columns->body, compare_store, &stores);
    return is_element(columns, &stmt->access) && !loads.fails && !stores.fails;
}

static bool loads_before(struct ir_stmt *first, const struct ir_stmt *store)
{
    struct same_accesses same = {.access = &store->access};
    for (struct ir_stmt *stmt = first; stmt; stmt = stmt == store ? NULL : stmt->next) {
        struct ir_stmt *next = stmt->next;
        stmt->next = NULL;
        ir_block_expressions(stmt, compare_load, &same);
        stmt->next = next;
    }
    return same.loads > 0;
}

/* The store of the tail in whose place the sum can be kept; or that of the head. */
static void find_place_of_sum(struct ir_stmt *columns, struct cut *cut)
{
    const struct ir_stmt *store = store_of(columns, cut->sum);
    if (store && !stands_before(cut->tail, store)) {
        cut->store = store;
        cut->is_stored = true;
        return;
    }
    for (const struct ir_stmt *stmt = cut->tail; stmt && !cut->store; stmt = stmt->next)
        if (stmt->kind == IR_STORE && stmt->access.buffer->dtype == cut->sum->dtype &&
            !dtype_is_half(cut->sum->dtype) && !loads_before(columns->body, stmt))
            cut->store = stmt;
}

struct outer {
    const struct ir_stmt *columns, *end; /* of what is looked at */
    bool found;
};

static bool note_outer(struct ir_stmt *stmt, void *context)
{
    struct outer *outer = context;
    outer->found |= is_besides(outer->columns, stmt);
    return !outer->found;
}

/* Whether the statement, or one inside it, assigns what the loop goes on with. */
static bool assigns_outer(const struct ir_stmt *columns, struct ir_stmt *stmt)
{
    struct outer outer = {.columns = columns};
    struct ir_stmt *next = stmt->next;
    stmt->next = NULL;
    ir_block_walk(stmt, note_outer, &outer);
    stmt->next = next;
    return outer.found;
}

static bool note_use_before(struct ir_stmt *stmt, void *context)
{
    struct outer *outer = context;
    for (struct ir_stmt *head = outer->columns->body; head != outer->end && !outer->found; head = head->next)
        outer->found = is_besides(outer->columns, stmt) && distribute_has_to_do(head, stmt->symbol);
    return !outer->found;
}

/* Whether what the tail accumulates is used before it. */
static bool head_uses(struct ir_stmt *columns, const struct cut *cut)
{
    struct outer outer = {columns, cut->tail, false};
    ir_block_walk(cut->tail, note_use_before, &outer);
    return outer.found;
}

/* Whether the body can be cut where the tail begins: the head hands one scalar on, if any, by way of a store.
 */
static bool can_cut(struct ir_stmt *columns, struct cut *cut)
{
    cut->sum = NULL;
    cut->store = NULL;
    cut->is_stored = false;
    for (struct ir_stmt *stmt = columns->body; stmt != cut->tail; stmt = stmt->next) {
        if (stmt->kind != IR_LET && stmt->kind != IR_VARIABLE)
            continue;
        struct distribute_mention mention = distribute_mentions(cut->tail, stmt->symbol);
        if ((mention.used || mention.assigned) && cut->sum)
            return false;
        if (mention.used || mention.assigned)
            cut->sum = stmt->symbol;
    }
    if (cut->sum)
        find_place_of_sum(columns, cut);
    return (!cut->sum || cut->store) && !head_uses(columns, cut);
}

/* The first of the scalars that stand in front of the statement, without anything between. */
static struct ir_stmt *scalars_before(struct ir_stmt *from, const struct ir_stmt *stmt)
{
    struct ir_stmt *first = from;
    for (; from && from != stmt; from = from->next)
        if (from->kind != IR_LET)
            first = from->next;
    return first;
}

/* False: the body would have to be cut, and cannot be. What is made of the sum before the cut may be made
 * behind it: distance = sqrt(sum), which is compared. */
static bool find_cut(const struct rows *rows, struct ir_stmt *columns, const struct ir_stmt *depths,
                     struct cut *cut)
{
    bool needed = false;
    *cut = (struct cut){.tail = NULL};
    for (struct ir_stmt *stmt = depths->next; stmt; stmt = stmt->next) {
        bool here =
            has_numbers(rows, columns, stmt) || (!is_besides(columns, stmt) && assigns_outer(columns, stmt));
        needed |= here;
        if (!cut->tail && (here || is_besides(columns, stmt)))
            cut->tail = stmt;
    }
    if (!needed) {
        cut->tail = NULL;
        return true;
    }
    bool is_cut = can_cut(columns, cut);
    struct ir_stmt *tail = scalars_before(depths->next, cut->tail);
    if (!is_cut && tail != cut->tail) {
        cut->tail = tail;
        is_cut = can_cut(columns, cut);
    }
    return is_cut && ir_block_walk(columns->body, keeps_to_elements, columns);
}

struct substitution {
    struct ir_symbol *from, *to;
};

static bool rename_assignment(struct ir_stmt *stmt, void *context)
{
    const struct substitution *substitution = context;
    if (stmt->kind == IR_ASSIGN && stmt->symbol == substitution->from)
        stmt->symbol = substitution->to;
    return true;
}

static void cut_body(struct rows *rows, struct ir_stmt *columns, struct cut *cut)
{
    struct pass *pass = rows->pass;
    struct ir_stmt **end = &columns->body, *tail = cut->tail;
    while (*end != cut->tail)
        end = &(*end)->next;
    *end = NULL;
    if (cut->sum) {
        if (!cut->is_stored) {
            *end = ir_stmt_new(pass->kernel, IR_STORE, cut->store->span);
            (*end)->access = pass_load(pass, &cut->store->access, cut->store->span)->access;
            (*end)->value = ir_symbol_use(pass->kernel, cut->sum);
        }
        struct ir_expr *load = pass_load(pass, &cut->store->access, cut->store->span);
        struct ir_stmt *kept = pass_declare(pass, IR_SYMBOL_VARIABLE, cut->sum->name, load, cut->store->span);
        struct substitution substitution = {cut->sum, kept->symbol};
        pass_rename(tail, cut->sum, kept->symbol);
        ir_block_walk(tail, rename_assignment, &substitution);
        kept->next = tail;
        tail = kept;
    }
    struct ir_stmt *behind = pass_new_loop(pass, columns, tail);
    behind->next = columns->next;
    columns->next = behind;
}

static bool is_sum_of_scalars(const struct rows *rows, struct ir_stmt *columns, struct cut *cut)
{
    struct factors factors = {.rows = rows, .column = columns->symbol};
    struct ir_stmt *depths = only_loop(columns->body);
    if (!depths || !is_plain(depths, NULL) || !ir_block_walk(depths->body, is_summed, NULL) ||
        !find_cut(rows, columns, depths, cut))
        return false;
    bool behind = false;
    for (struct ir_stmt *stmt = columns->body; stmt != cut->tail; stmt = stmt->next) {
        struct later later = {columns, stmt};
        behind |= stmt == depths;
        if (!is_besides(columns, stmt)) {
            if (!ir_block_walk(stmt->body, has_no_other, columns) ||
                !ir_block_walk(stmt->otherwise, has_no_other, columns))
                return false;
        } else if (!behind || (!cut->tail && (is_used(columns, stmt->symbol) ||
                                              !ir_expr_walk(stmt->value, is_had_later, &later)))) {
            return false;
        }
    }
    ir_block_expressions(depths->body, note_factor, &factors);
    return factors.shared && factors.own;
}

/* ---- sums in place -------------------------------------------------------------------------------- */

enum { NEST = 4 };

/* Loops with nothing between them around one store. */
struct sum_in_place {
    struct ir_stmt *loops[NEST], *store;
    int depth, columns; /* which of the loops moves the element */
};

struct uses {
    const struct ir_access *element;
    int count;
    bool others;
};

static bool note_use_of_element(struct ir_expr *expr, void *context)
{
    struct uses *uses = context;
    if (expr->kind == IR_LOAD && expr->access.buffer == uses->element->buffer) {
        uses->count++;
        uses->others |= pass_compare(&expr->access, uses->element) != PASS_SAME;
    }
    return true;
}

static bool is_sum_in_place(const struct rows *rows, struct ir_stmt *stmt, struct sum_in_place *sum)
{
    *sum = (struct sum_in_place){.columns = -1};
    for (; stmt && stmt->kind == IR_FOR; stmt = stmt->body) {
        if (sum->depth == NEST || !is_plain(stmt, NULL) || (sum->depth && stmt->next))
            return false;
        sum->loops[sum->depth++] = stmt;
    }
    if (!stmt || stmt->kind != IR_STORE || stmt->next || sum->depth < 2)
        return false;
    sum->store = stmt;
    for (int k = 0; k < sum->depth; k++) {
        if (!pass_access_mentions(&stmt->access, sum->loops[k]->symbol))
            continue;
        if (sum->columns >= 0)
            return false;
        sum->columns = k;
    }
    if (sum->columns < 0 || !is_element(sum->loops[sum->columns], &stmt->access))
        return false;
    struct factors factors = {
        .rows = rows, .column = sum->loops[sum->columns]->symbol, .sum = stmt->access.buffer};
    struct uses uses = {.element = &stmt->access};
    ir_expr_walk(stmt->value, note_factor, &factors);
    ir_expr_walk(stmt->value, note_use_of_element, &uses);
    return uses.count && !uses.others && factors.shared && factors.own;
}

/* The loop that moves the element becomes the outermost one, and the element a scalar inside it. */
static void make_scalar(struct rows *rows, struct sum_in_place *sum)
{
    for (int k = sum->columns; k > 0; k--)
        pass_exchange_loops(sum->loops[k - 1], sum->loops[k]);
    rows->around[rows->depth] = rows->loop;
    pass_promote_nest(rows->pass, rows->around, rows->depth + 1, sum->loops[0]);
}

bool distribute_is_product(const struct rows *rows, struct ir_stmt *columns)
{
    struct sum_in_place sum;
    struct cut cut;
    return columns->kind == IR_FOR && is_plain(columns, NULL) &&
           (is_sum_of_scalars(rows, columns, &cut) || is_sum_in_place(rows, columns, &sum));
}

bool distribute_has_rest(const struct rows *rows, struct ir_stmt *columns)
{
    struct cut cut;
    if (!is_sum_of_scalars(rows, columns, &cut))
        return false;
    for (struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next)
        if (is_besides(columns, stmt))
            return true;
    return cut.tail != NULL;
}

/* ---- places for sums that have none ------------------------------------------------------------------ */

/* The scalar that the loop sums up for what it accumulates besides, and stores nowhere; NULL: there is none.
 */
static struct ir_symbol *sum_without_place(const struct ir_stmt *columns)
{
    struct ir_stmt *depths = only_loop(columns->body);
    struct ir_symbol *sum = NULL;
    bool asked = false;
    if (columns->kind != IR_FOR || !is_plain((struct ir_stmt *)columns, NULL) || !depths ||
        columns->low->kind != IR_INTEGER || columns->low->integer < 0 || ir_block_stores(columns->body))
        return NULL;
    for (struct ir_stmt *stmt = depths->next; stmt; stmt = stmt->next)
        asked |= assigns_outer(columns, stmt);
    for (struct ir_stmt *stmt = columns->body; asked && stmt != depths; stmt = stmt->next) {
        if (stmt->kind != IR_VARIABLE || !distribute_mentions(depths->next, stmt->symbol).used)
            continue;
        if (sum || dtype_is_half(stmt->symbol->dtype))
            return NULL;
        sum = stmt->symbol;
    }
    return sum;
}

static struct ir_buffer *make_place(const struct rows *rows, struct ir_stmt *columns, struct ir_symbol *sum)
{
    struct pass *pass = rows->pass;
    struct ir_buffer *buffer = ir_buffer_new(pass->kernel, sum->name, IR_TEMPORARY, sum->dtype, 1);
    struct ir_expr *extent = pass_copy(pass, columns->high),
                   *index = ir_symbol_use(pass->kernel, columns->symbol);
    struct ir_stmt *depths = only_loop(columns->body),
                   *store = ir_stmt_new(pass->kernel, IR_STORE, columns->span);
    buffer->span = columns->span;
    buffer->shape[0] =
        extent->kind == IR_SYMBOL && extent->symbol->kind == IR_SYMBOL_DIM
            ? extent
            : ir_operation(pass->kernel, OP_MAX, ir_integer(pass->kernel, AKG_INT64, 0), extent, NULL);
    store->access = ir_load(pass->kernel, buffer, &index)->access;
    store->access.checks[0] = IR_CHECK_PROVED;
    store->value = ir_symbol_use(pass->kernel, sum);
    store->next = depths->next;
    depths->next = store;
    return buffer;
}

void distribute_make_places(struct rows *rows)
{
    for (struct ir_stmt *stmt = rows->loop->body; stmt; stmt = stmt->next) {
        struct ir_symbol *sum = sum_without_place(stmt);
        if (!sum || rows->places.count == DISTRIBUTE_OWN)
            continue;
        struct ir_buffer *buffer = make_place(rows, stmt, sum);
        struct ir_stmt *allocate = distribute_allocate(rows, buffer);
        allocate->next = rows->loop->body;
        rows->loop->body = allocate;
        rows->places.items[rows->places.count++] = buffer;
    }
}

static bool remove_place(struct ir_stmt *stmt, void *buffer)
{
    if ((stmt->kind == IR_STORE || stmt->kind == IR_ALLOCATE) && stmt->access.buffer == buffer)
        pass_remove(stmt);
    return true;
}

void distribute_take_places(struct rows *rows)
{
    for (int k = 0; k < rows->places.count; k++) {
        ir_block_walk(rows->loop->body, remove_place, rows->places.items[k]);
        rows->places.items[k]->unused = true;
    }
    if (rows->places.count)
        pass_sweep(&rows->loop->body);
}

/* ---- the change ----------------------------------------------------------------------------------- */

struct reload {
    struct rows *rows;
    struct ir_stmt *columns, **end;
};

/* Declares what is loaded in the place of a LET of the product's loop. */
static bool add_reload(struct ir_expr *expr, void *context)
{
    struct reload *reload = context;
    struct pass *pass = reload->rows->pass;
    if (expr->kind != IR_SYMBOL || !declares_scalar(reload->columns->body, expr->symbol))
        return true;
    const struct ir_stmt *store = store_of(reload->columns, expr->symbol);
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, expr->symbol->name,
                                       pass_load(pass, &store->access, store->span), store->span);
    expr->symbol = let->symbol;
    *reload->end = let;
    reload->end = &let->next;
    return true;
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
    struct ir_stmt *behind = pass_new_loop(rows->pass, columns, body);
    behind->next = columns->next;
    columns->next = behind;
    return true;
}

bool distribute_part_products(struct rows *rows)
{
    bool changed = false;
    for (struct ir_stmt *stmt = rows->loop->body, *next; stmt; stmt = next) {
        struct sum_in_place sum;
        struct cut cut;
        next = stmt->next;
        if (stmt->kind != IR_FOR || !is_plain(stmt, NULL))
            continue;
        if (is_sum_in_place(rows, stmt, &sum)) {
            make_scalar(rows, &sum);
            changed = true;
        } else if (is_sum_of_scalars(rows, stmt, &cut) && cut.tail) {
            cut_body(rows, stmt, &cut);
            changed = true;
        } else if (is_sum_of_scalars(rows, stmt, &cut)) {
            changed |= part_product(rows, stmt);
        }
    }
    return changed;
}

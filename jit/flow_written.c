/*
 * flow_written.c: a loop as it is better for code of one lane.
 *
 * Consumes a FOR or WHILE for flow.c and produces a copy in which
 * - loops of a few iterations are written out, and what hangs on their variables alone is known;
 * - innermost loops that add floats up, or take the greatest, do four iterations in one;
 * - what is added up one behind the other is brought together in pairs first, so that an operation waits for
 *   few others: s = s + a * b; s = s + c * d becomes s = s + fma(c, d, a * b),
 * - a row that a loop over its elements finds by a loaded number has a name before the loop.
 *
 * As sums in lanes are, these are within a unit of the sum of magnitudes for each operation. Strict code
 * keeps the order. Nothing may stop in loops that are written out: messages tell the variables. The copy
 * lives as long as the plan.
 */
#include "flow_plan.h"
#include "flow_private.h"
#include "pass.h"
#include "vector_build.h"

enum {
    FEW = 5, /* iterations that are written out */
    STATEMENTS = 48 /* of a loop that is written out, then */,
    ALL = 400, /* of the whole */
    LOADS = 6, /* of an iteration that is done four times */
    TIMES = 4,
    DEEPEST = 50,
    MOST_SUMS = 8,
    MOST_TERMS = 64
};

struct writer {
    struct pass pass;
    struct ir_kernel kernel; /* with the arena of the plan */
    const struct vector_options *options;
    int statements;
    bool changed;
};

static struct ir_expr *number(struct writer *writer, int64_t value)
{
    return ir_integer(&writer->kernel, AKG_INT64, value);
}

/* ---- loops of a few iterations --------------------------------------------------------------------------
 */

static bool count_statement(struct ir_stmt *stmt, void *count)
{
    (void)stmt;
    ++*(int *)count;
    return true;
}

static int count_block(struct ir_stmt *block)
{
    int count = 0;
    ir_block_walk(block, count_statement, &count);
    return count;
}

/* Iterations, where there are a few; else 0. */
static int few_iterations(const struct ir_stmt *loop)
{
    int64_t low = loop->low->integer, high = loop->high->integer;
    if (loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER || loop->step != 1 || low >= high ||
        low < -FEW || low > INT32_MAX || high - low > FEW)
        return 0;
    return (int)(high - low);
}

static bool may_be_written(struct writer *writer, struct ir_stmt *loop)
{
    int count = few_iterations(loop), statements = count ? count_block(loop->body) : 0;
    if (!count || pass_jumps(loop->body) || count * statements > STATEMENTS ||
        writer->statements + count * statements > ALL || pass_block_may_stop(loop->body))
        return false;
    writer->statements += count * statements;
    return true;
}

static void write_few(struct writer *writer, struct ir_stmt **block, int depth)
{
    for (struct ir_stmt **place = block; *place && depth < DEEPEST;) {
        struct ir_stmt *stmt = *place;
        write_few(writer, &stmt->body, depth + 1);
        write_few(writer, &stmt->otherwise, depth + 1);
        bool writes = stmt->kind == IR_FOR && may_be_written(writer, stmt);
        if (writes && pass_write_out_loop(&writer->pass, place))
            writer->changed = true;
        else
            place = &stmt->next;
    }
}

/* ---- what accumulates -----------------------------------------------------------------------------------
 */

static bool brings_together(enum operation operation)
{
    return operation == OP_ADD || operation == OP_SUB || operation == OP_MIN || operation == OP_MAX;
}

/* What the statement brings to its own variable; NULL: it is of another kind, or may stop, and tests have
 * their order. */
static struct ir_expr *term_of(const struct ir_stmt *stmt)
{
    struct ir_expr *value = stmt->value;
    if (stmt->kind != IR_ASSIGN || value->kind != IR_OPERATION || value->count != 2 ||
        !brings_together(value->operation) ||
        (stmt->symbol->dtype != AKG_FLOAT32 && stmt->symbol->dtype != AKG_FLOAT64) ||
        pass_expr_may_stop(stmt->value))
        return NULL;
    for (int k = 0; k < (value->operation == OP_SUB ? 1 : 2); k++)
        if (value->operands[k]->kind == IR_SYMBOL && value->operands[k]->symbol == stmt->symbol)
            return pass_mentions(value->operands[1 - k], stmt->symbol) ? NULL : value->operands[1 - k];
    return NULL;
}

struct sum {
    struct ir_stmt *last; /* that brings something to it so far */
    struct ir_expr *terms[MOST_TERMS];
    struct ir_stmt *stmts[MOST_TERMS];
    int count;
};

struct sums {
    struct writer *writer;
    struct sum items[MOST_SUMS];
    int count;
};

/* Of two terms: a product becomes part of a fused one. */
static struct ir_expr *pair(struct writer *writer, enum operation operation, struct ir_expr *a,
                            struct ir_expr *b)
{
    if (operation == OP_SUB)
        operation = OP_ADD;
    if (operation == OP_ADD && b->kind == IR_OPERATION && b->operation == OP_MUL)
        return ir_operation(&writer->kernel, OP_FMA, b->operands[0], b->operands[1], a);
    return ir_operation(&writer->kernel, operation, a, b, NULL);
}

static struct ir_expr *tree(struct writer *writer, enum operation operation, struct ir_expr *const *terms,
                            int count)
{
    if (count == 1)
        return terms[0];
    return pair(writer, operation, tree(writer, operation, terms, (count + 1) / 2),
                tree(writer, operation, terms + (count + 1) / 2, count / 2));
}

static void finish(struct writer *writer, struct sum *sum)
{
    if (sum->count < 2)
        return;
    struct ir_expr *old = sum->last->value;
    struct ir_expr *all = tree(writer, old->operation, sum->terms, sum->count);
    struct ir_expr *self = ir_symbol_use(&writer->kernel, sum->last->symbol);
    pass_set_value(sum->last, ir_operation(&writer->kernel, old->operation, self, all, NULL));
    for (int k = 0; k < sum->count - 1; k++)
        pass_remove(sum->stmts[k]);
    writer->changed = true;
}

static void finish_all(struct sums *sums)
{
    for (int k = 0; k < sums->count; k++)
        finish(sums->writer, &sums->items[k]);
    sums->count = 0;
}

static bool is_settled(struct ir_expr *expr, void *context)
{
    const struct sums *sums = context;
    for (int k = 0; expr->kind == IR_SYMBOL && k < sums->count; k++)
        if (sums->items[k].last->symbol == expr->symbol)
            return false;
    return true;
}

/* Whether a term that waits asks for the variable. */
static bool is_asked_for(struct sums *sums, const struct ir_symbol *symbol)
{
    for (int k = 0; k < sums->count; k++)
        for (int t = 0; t < sums->items[k].count; t++)
            if (pass_mentions(sums->items[k].terms[t], symbol))
                return true;
    return false;
}

static struct sum *sum_of(struct sums *sums, const struct ir_stmt *stmt)
{
    for (int k = 0; k < sums->count; k++)
        if (sums->items[k].last->symbol == stmt->symbol)
            return sums->items[k].last->value->operation == stmt->value->operation &&
                           sums->items[k].count < MOST_TERMS
                       ? &sums->items[k]
                       : NULL;
    if (sums->count == MOST_SUMS)
        return NULL;
    sums->items[sums->count].count = 0;
    return &sums->items[sums->count++];
}

static void add_term(struct sums *sums, struct ir_stmt *stmt, struct ir_expr *term)
{
    struct sum *sum = sum_of(sums, stmt);
    if (!sum) {
        finish_all(sums);
        sum = sum_of(sums, stmt);
    }
    sum->stmts[sum->count] = sum->last = stmt;
    sum->terms[sum->count++] = term;
}

/* A statement that may change what terms before it ask for ends all sums so far. */
static void bring_together(struct writer *writer, struct ir_stmt **block, int depth)
{
    struct sums *sums = arena_new(writer->kernel.arena, struct sums);
    sums->writer = writer;
    for (struct ir_stmt *stmt = *block; stmt && depth < DEEPEST; stmt = stmt->next) {
        struct ir_expr *term = term_of(stmt);
        bool is_name = stmt->kind == IR_LET && ir_expr_walk(stmt->value, is_settled, sums);
        if (term && (!ir_expr_walk(term, is_settled, sums) || is_asked_for(sums, stmt->symbol)))
            finish_all(sums);
        if (term)
            add_term(sums, stmt, term);
        else if (!is_name)
            finish_all(sums);
        if (stmt->body)
            bring_together(writer, &stmt->body, depth + 1);
        if (stmt->otherwise)
            bring_together(writer, &stmt->otherwise, depth + 1);
    }
    finish_all(sums);
}

/* ---- four iterations in one -----------------------------------------------------------------------------
 */

/* Names, and a sum or several, with nothing that stops. */
static bool only_sums(struct writer *writer, struct ir_stmt *loop)
{
    int sums = 0;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        bool is_sum = term_of(stmt);
        if (stmt->kind != IR_LET && !is_sum)
            return false;
        sums += is_sum;
    }
    return sums && ir_block_count_loads(loop->body) <= LOADS && !pass_block_may_stop(loop->body) &&
           writer->statements + TIMES * count_block(loop->body) <= ALL;
}

/* for k = low to high: ...   becomes
 *     let end = low + (high - low) // 4 * 4 if low < high else low
 *     for k = low to end step 4: four times ...
 *     for k = end to high: ... */
static void write_four(struct writer *writer, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, *next = loop->next, **last;
    struct pass *pass = &writer->pass;
    struct ir_expr *low = loop->low, *high = loop->high;
    struct ir_expr *span = pass_apply(&writer->pass, OP_SUB, pass_copy(pass, high), pass_copy(pass, low));
    struct ir_expr *whole = pass_apply(
        &writer->pass, OP_SHL, pass_apply(&writer->pass, OP_SHR, span, number(writer, 2)), number(writer, 2));
    struct ir_expr *far = pass_apply(&writer->pass, OP_ADD, pass_copy(pass, low), whole);
    struct ir_expr *runs = pass_apply(&writer->pass, OP_LT, pass_copy(pass, low), pass_copy(pass, high));
    struct ir_expr *end = ir_operation(&writer->kernel, OP_SELECT, runs, far, pass_copy(pass, low));
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, "end", end, loop->span);
    struct ir_stmt *fours = pass_new_loop(pass, loop, NULL);

    fours->high = ir_symbol_use(&writer->kernel, let->symbol);
    fours->step = TIMES;
    last = &fours->body;
    for (int k = 0; k < TIMES; k++) {
        loop->symbol->note = pass_apply(&writer->pass, OP_ADD, ir_symbol_use(&writer->kernel, fours->symbol),
                                        number(writer, k));
        *last = pass_copy_block(pass, loop->body);
        while (*last)
            last = &(*last)->next;
    }
    loop->symbol->note = NULL;
    loop->low = ir_symbol_use(&writer->kernel, let->symbol);
    *place = let;
    let->next = fours;
    fours->next = loop;
    loop->next = next;
    writer->statements += TIMES * count_block(loop->body);
    writer->changed = true;
}

static bool is_long(const struct ir_stmt *loop)
{
    return loop->step == 1 && (loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER ||
                               loop->high->integer - TIMES >= loop->low->integer);
}

static void write_fours(struct writer *writer, struct ir_stmt **block, int depth)
{
    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        write_fours(writer, &stmt->body, depth + 1);
        write_fours(writer, &stmt->otherwise, depth + 1);
        if (stmt->kind != IR_FOR || !is_long(stmt) || !only_sums(writer, stmt) ||
            flow_packs(stmt, writer->options))
            continue;
        write_four(writer, place);
        while (*place != stmt)
            place = &(*place)->next;
    }
}

/* ---- rows ------------------------------------------------------------------------------------------------
 */

enum { MOST_ROWS = 8 };

/* Loaded indices that are the same in all iterations of a loop over neighbours. */
struct rows {
    struct writer *writer;
    struct ir_stmt *loop, *names[MOST_ROWS]; /* LETs */
    int count;
};

static bool is_load_that_stays(struct ir_expr *expr, void *loop)
{
    struct ir_stmt *around = loop;
    return expr->kind != IR_LOAD || !ir_block_stores_to(around->body, expr->access.buffer);
}

static bool is_row(const struct rows *rows, struct ir_expr *index)
{
    return ir_expr_loads(index) && pass_is_same_in_all(rows->loop, index) &&
           ir_expr_walk(index, is_load_that_stays, rows->loop) && !pass_expr_may_stop(index);
}

static struct ir_expr *named_row(struct rows *rows, struct ir_expr *index)
{
    int number = 0;
    while (number < rows->count && !ir_expr_equal(rows->names[number]->value, index))
        number++;
    if (number == MOST_ROWS)
        return index;
    if (number == rows->count)
        rows->names[rows->count++] =
            pass_declare(&rows->writer->pass, IR_SYMBOL_LET, "row", index, rows->loop->span);
    return ir_symbol_use(&rows->writer->kernel, rows->names[number]->symbol);
}

static void name_rows_of(struct rows *rows, struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (is_row(rows, access->indices[axis]))
            access->indices[axis] = named_row(rows, access->indices[axis]);
}

static bool name_rows_of_load(struct ir_expr *expr, void *rows)
{
    if (expr->kind == IR_LOAD)
        name_rows_of(rows, &expr->access);
    return true;
}

static bool name_rows_of_store(struct ir_stmt *stmt, void *rows)
{
    if (stmt->kind == IR_STORE)
        name_rows_of(rows, &stmt->access);
    return true;
}

/* for k: ... U[r[z], k] ...   becomes   let row = r[z]; for k: ... U[row, k] ... */
static void name_rows(struct writer *writer, struct ir_stmt **block, int depth)
{
    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        struct rows rows = {.writer = writer, .loop = *place};
        name_rows(writer, &rows.loop->body, depth + 1);
        name_rows(writer, &rows.loop->otherwise, depth + 1);
        if (!flow_packs(rows.loop, writer->options))
            continue;
        ir_block_expressions(rows.loop->body, name_rows_of_load, &rows);
        ir_block_walk(rows.loop->body, name_rows_of_store, &rows);
        for (int k = 0; k < rows.count; k++, place = &(*place)->next) {
            rows.names[k]->next = *place;
            *place = rows.names[k];
            writer->changed = true;
        }
    }
}

/* ---- all -------------------------------------------------------------------------------------------------
 */

static bool note_symbol(struct ir_expr *expr, void *note)
{
    if (expr->kind == IR_SYMBOL)
        expr->symbol->note = note;
    return true;
}

static bool is_noted(struct ir_expr *expr, void *note)
{
    bool is_of_call = expr->kind != IR_SYMBOL || expr->symbol->kind == IR_SYMBOL_DIM ||
                      expr->symbol->kind == IR_SYMBOL_ATTRIBUTE;
    return is_of_call || expr->symbol->note == note;
}

/* Whether the copy names nothing from around it that the loop does not: names that stand for others have been
 * looked through, perhaps, and what is around hands in what the loop names. */
static bool names_the_same(const struct ir_stmt *stmt, struct ir_stmt *copy)
{
    struct ir_stmt alone = *stmt;
    alone.next = NULL;
    ir_block_expressions(&alone, note_symbol, &alone);
    ir_block_note_declared(copy, &alone);
    bool same = ir_block_expressions(copy, is_noted, &alone);
    ir_block_expressions(&alone, note_symbol, NULL);
    ir_block_note_declared(copy, NULL);
    return same;
}

static bool is_no_assert(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_ASSERT;
}

const struct ir_stmt *flow_written(struct arena *arena, const struct ir_kernel *kernel,
                                   const struct ir_stmt *stmt, const struct vector_options *options,
                                   bool in_fours)
{
    if (!ir_block_walk(stmt->body, is_no_assert, NULL) || count_block(stmt->body) > ALL)
        return stmt;
    struct writer *writer = arena_new(arena, struct writer);
    writer->options = options;
    writer->kernel = ir_kernel_beside(kernel, arena);
    writer->pass = (struct pass){.kernel = &writer->kernel, .arena = arena, .target = options->target};
    struct ir_stmt *copy = arena_new(arena, struct ir_stmt);
    *copy = *stmt;
    copy->next = NULL;
    copy->body = pass_copy_block(&writer->pass, stmt->body);
    write_few(writer, &copy->body, 0);
    if (writer->changed)
        pass_simplify_block(&writer->pass, &copy->body);
    if (!options->strict) {
        if (in_fours)
            write_fours(writer, &copy->body, 0);
        bring_together(writer, &copy->body, 0);
        name_rows(writer, &copy->body, 0);
        pass_sweep(&copy->body);
    }
    return writer->changed && names_the_same(stmt, copy) ? copy : stmt;
}

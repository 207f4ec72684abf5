/*
 * emit_c_work.c: see emit_c_work.h.
 *
 * Consumes a FOR and what it declares; produces text. Operations are those of work.h. Inner loops are counted
 * with their extents as the call has them. Where these hang on variables of loops around, these are taken to
 * be halfway; where they hang on what tensors hold, the loop is taken to be short.
 */
#include "emit_c_work.h"
#include "vector_plan.h"
#include "work.h"

#include <string.h>

enum { MOST_MIDDLES = 8, LONGEST = 200 /* characters of an extent */, DEEPEST = 40 };

struct work {
    struct emitter *emitter;
    const bool *inside;
    struct {
        const struct ir_symbol *variable;
        const char *middle;
    } middles[MOST_MIDDLES]; /* of loops around, and the loop itself */
    int count;
};

double emit_work_alone(const struct ir_stmt *loop)
{
    double count = 0;

    for (const struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->body || stmt->otherwise)
            return 0;
        count += work_of_statement(stmt);
    }
    return count > 0 ? count : 0.25;
}

/* ---- extents ------------------------------------------------------------------------------------------ */

static bool is_known(struct ir_expr *expr, void *context)
{
    const struct work *work = context;

    if (expr->kind == IR_OPERATION)
        return expr->operation == OP_ADD || expr->operation == OP_SUB || expr->operation == OP_MUL ||
               expr->operation == OP_MIN || expr->operation == OP_MAX;
    return expr->kind == IR_INTEGER ||
           (expr->kind == IR_SYMBOL &&
            (expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE ||
             !work->inside[expr->symbol->slot]));
}

static const char *about(struct work *work, const struct ir_expr *expr, int depth);

static const char *about_symbol(struct work *work, const struct ir_symbol *symbol, int depth)
{
    for (int k = 0; k < work->count; k++)
        if (work->middles[k].variable == symbol)
            return work->middles[k].middle;
    return symbol->kind == IR_SYMBOL_LET && symbol->value ? about(work, symbol->value, depth) : NULL;
}

static const char *about_operation(struct work *work, const struct ir_expr *expr, int depth)
{
    struct arena *arena = &work->emitter->arena;
    if (operation_table[expr->operation].arity != 2)
        return NULL;
    const char *a = about(work, expr->operands[0], depth), *b = about(work, expr->operands[1], depth);
    if (!a || !b || strlen(a) + strlen(b) > LONGEST)
        return NULL;
    switch (expr->operation) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
        return arena_format(arena, "(%s %s %s)", a, operation_table[expr->operation].text, b);
    case OP_FLOORDIV:
    case OP_CEIL_DIV:
        return expr->operands[1]->kind == IR_INTEGER && expr->operands[1]->integer != 0
                   ? arena_format(arena, "(%s / %s)", a, b)
                   : NULL;
    case OP_MIN:
    case OP_MAX:
        return arena_format(arena, "(%s %s %s ? %s : %s)", a, expr->operation == OP_MIN ? "<" : ">", b, a, b);
    default:
        return NULL;
    }
}

/* The value as a double, with variables of loops inside halfway; NULL: nobody knows. */
static const char *about(struct work *work, const struct ir_expr *expr, int depth)
{
    struct emitter *emitter = work->emitter;

    if (depth > DEEPEST)
        return NULL;
    if (ir_expr_walk((struct ir_expr *)expr, is_known, work))
        return arena_format(&emitter->arena, "(double)(%s)", emit_index(emitter, expr).text);
    if (expr->kind == IR_SYMBOL)
        return about_symbol(work, expr->symbol, depth + 1);
    return expr->kind == IR_OPERATION ? about_operation(work, expr, depth + 1) : NULL;
}

/* The iterations of a loop over a tile, from `low` to min(end, low + size), as text; NULL: it is none. */
static const char *size_of_tile(struct work *work, const struct ir_stmt *loop)
{
    struct emitter *emitter = work->emitter;
    const struct ir_expr *high = loop->high;

    if (high->kind == IR_SYMBOL && high->symbol->kind == IR_SYMBOL_LET && high->symbol->value)
        high = high->symbol->value;
    if (high->kind != IR_OPERATION || high->operation != OP_MIN)
        return NULL;
    for (int k = 0; k < 2; k++) {
        struct ir_expr *sum = high->operands[k], *end = high->operands[1 - k];
        if (sum->kind != IR_OPERATION || sum->operation != OP_ADD || sum->operands[1]->kind != IR_INTEGER ||
            !ir_expr_equal(sum->operands[0], loop->low) || !ir_expr_walk(end, is_known, work))
            continue;
        const char *text = emit_operand(emitter, emit_index(emitter, end), EMIT_UNARY);
        long long size = sum->operands[1]->integer;
        return arena_format(&emitter->arena, "(double)(%s < %lld ? %s : %lld)", text, size, text, size);
    }
    return NULL;
}

static const char *iterations_of(struct work *work, const struct ir_stmt *loop, const char *low,
                                 const char *high)
{
    enum { SHORT_LOOP = 16 };
    struct arena *arena = &work->emitter->arena;
    const char *tile = size_of_tile(work, loop);

    if (tile)
        return tile;
    if (!low || !high)
        return arena_format(arena, "%d.0", SHORT_LOOP);
    if (loop->step == 1 && loop->low->kind == IR_INTEGER && loop->low->integer == 0)
        return high;
    return loop->step == 1 ? arena_format(arena, "(%s - %s)", high, low)
                           : arena_format(arena, "(%s - %s) / %lld.0", high, low, (long long)loop->step);
}

/* ---- blocks ------------------------------------------------------------------------------------------- */

static const char *work_of_block(struct work *work, const struct ir_stmt *block, int depth);

/* An iteration. What stays in blocks of registers takes a fraction of what those take that go through memory:
 * in the time of 120,000 operations of a map in the second cache, a product does 640,000. */
static const char *work_of_iteration(struct work *work, const struct ir_stmt *loop, int depth)
{
    enum { DENSITY = 5 };
    const struct vector_plan *plan = work->emitter->options->plan;
    int number = vector_plan_find(plan, loop);
    const struct vector_nest *nest = number < 0 ? NULL : plan->loops.items[number]->nest;
    const char *text = work_of_block(work, loop->body, depth + 1);

    return nest && !vector_is_rows(nest) ? arena_format(&work->emitter->arena, "(%s / %d)", text, DENSITY)
                                         : text;
}

/* All iterations. */
static const char *work_of_loop(struct work *work, const struct ir_stmt *loop, int depth)
{
    struct arena *arena = &work->emitter->arena;
    const char *low = loop->kind == IR_FOR ? about(work, loop->low, 0) : NULL,
               *high = loop->kind == IR_FOR ? about(work, loop->high, 0) : NULL,
               *iterations = loop->kind == IR_FOR ? iterations_of(work, loop, low, high) : "16.0";
    int count = work->count;

    if (low && high && count < MOST_MIDDLES && strlen(low) + strlen(high) < LONGEST) {
        work->middles[count].variable = loop->symbol;
        work->middles[work->count++].middle = arena_format(arena, "((%s + %s) / 2)", low, high);
    }
    const char *text = work_of_iteration(work, loop, depth);
    work->count = count;
    return arena_format(arena, "%s * %s", iterations, text);
}

/* What is outside of loops, with all branches; what loops in it do goes behind `inside`. */
static double work_outside(struct work *work, const struct ir_stmt *block, int depth, const char **inside)
{
    struct arena *arena = &work->emitter->arena;
    double count = 0.25;

    for (const struct ir_stmt *stmt = block; stmt && depth < EMIT_DEEPEST_BLOCK; stmt = stmt->next) {
        count += work_of_statement(stmt);
        if (stmt->kind == IR_FOR || stmt->kind == IR_WHILE) {
            *inside = arena_format(arena, "%s + %s", *inside, work_of_loop(work, stmt, depth));
            continue;
        }
        if (stmt->body)
            count += work_outside(work, stmt->body, depth + 1, inside);
        if (stmt->otherwise)
            count += work_outside(work, stmt->otherwise, depth + 1, inside);
    }
    return count;
}

static const char *work_of_block(struct work *work, const struct ir_stmt *block, int depth)
{
    const char *inside = "";
    double count = work_outside(work, block, depth, &inside);

    return arena_format(&work->emitter->arena, "(%.2f%s)", count, inside);
}

const char *emit_work(struct emitter *emitter, const struct ir_stmt *loop, const bool *inside,
                      struct emit_value low, struct emit_value high)
{
    struct work work = {.emitter = emitter, .inside = inside, .count = 1};

    work.middles[0].variable = loop->symbol;
    work.middles[0].middle =
        arena_format(&emitter->arena, "(((double)(%s) + (double)(%s)) / 2)", low.text, high.text);
    return work_of_iteration(&work, loop, 0);
}

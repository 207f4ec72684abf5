/*
 * pass_arrange.c: of the parallel loops around loops that accumulate, two become the innermost ones: the one
 * that moves along the rows of what is stored, and outside it the one that uses most of what is loaded again.
 *
 *     for b: for o: for y: for x { var s = 0; for c, p, q: s = s + in[b, c, y + p, x + q] * w[o, c, p, q];
 * ... }
 *
 * becomes for b: for y: for o: for x. (Of several, one that is no window.) Back ends keep a
 * rectangle of the two in registers. Stores may go to every other element of a row. The loops must be
 * parallel with bounds of their own, and nothing may stop.
 */
#include "pass.h"

enum { NEST = DEPENDENCE_LOOPS };

struct nest {
    struct ir_stmt *loops[NEST];
    int depth;
    struct ir_stmt *depths; /* the loop that accumulates */
};

/* Loops with nothing between them, and in the innermost one a single loop among other statements. */
static bool find_nest(struct ir_stmt *stmt, struct nest *nest)
{
    struct ir_stmt *loop = stmt;

    *nest = (struct nest){.depth = 0};
    for (;; loop = loop->body) {
        if (loop->hint || loop->step != 1 || nest->depth == NEST)
            return false;
        nest->loops[nest->depth++] = loop;
        if (!loop->body || loop->body->kind != IR_FOR || loop->body->next)
            break;
    }
    for (struct ir_stmt *inner = loop->body; inner; inner = inner->next) {
        if (inner->kind == IR_FOR && nest->depths)
            return false;
        if (inner->kind == IR_FOR)
            nest->depths = inner;
    }
    return nest->depths && nest->depth > 1;
}

/* ---- the choice ----------------------------------------------------------------------------------- */

struct sliding {
    const struct ir_stmt *loop, *inner;
};

struct uses {
    const struct ir_symbol *columns, *rows;
    int stores, units,
        again; /* stores; those that the columns move so; loads along the columns that every row has */
};

static bool count_load(struct ir_expr *expr, void *context)
{
    struct uses *uses = context;

    uses->again += expr->kind == IR_LOAD && pass_access_mentions(&expr->access, uses->columns) &&
                   !pass_access_mentions(&expr->access, uses->rows);
    return true;
}

/* Whether the variable goes along a row, over each element or, as nests may, over every other one. */
static bool goes_along(const struct ir_access *access, const struct ir_symbol *variable)
{
    enum { WHOLE = 4 /* bytes */ };
    int last = access->buffer->rank - 1;
    struct pass_affine affine;

    if (pass_is_unit(access, variable))
        return true;
    for (int axis = 0; axis < last; axis++)
        if (pass_mentions(access->indices[axis], variable))
            return false;
    return last >= 0 && dtype_table[access->buffer->dtype].size >= WHOLE &&
           pass_affine_of(access->indices[last], &affine) && pass_affine_coefficient(&affine, variable) == 2;
}

static bool count_store(struct ir_stmt *stmt, void *context)
{
    struct uses *uses = context;

    uses->stores += stmt->kind == IR_STORE;
    uses->units += stmt->kind == IR_STORE && goes_along(&stmt->access, uses->columns);
    return true;
}

static int find_columns(const struct nest *nest)
{
    for (int k = nest->depth - 1; k >= 0; k--) {
        struct uses uses = {.columns = nest->loops[k]->symbol};
        ir_block_walk(nest->loops[nest->depth - 1]->body, count_store, &uses);
        if (uses.stores && uses.units == uses.stores)
            return k;
    }
    return -1;
}

/* Whether it has an index together with a loop inside, as windows do, which are short. */
static bool slides(struct ir_expr *expr, void *context)
{
    const struct sliding *sliding = context;
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        if (pass_mentions(expr->access.indices[k], sliding->loop->symbol) &&
            pass_mentions(expr->access.indices[k], sliding->inner->symbol))
            return false;
    return true;
}

static bool is_window(const struct nest *nest, const struct ir_stmt *loop)
{
    struct sliding sliding = {loop, nest->depths};
    while (sliding.inner && sliding.inner->kind == IR_FOR) {
        if (!ir_block_expressions(nest->depths, slides, &sliding))
            return true;
        sliding.inner = sliding.inner->body;
    }
    return false;
}

static int find_rows(const struct nest *nest, int columns)
{
    int best = -1, most = 0;

    for (int k = nest->depth - 1; k >= 0; k--) {
        struct uses uses = {.columns = nest->loops[columns]->symbol, .rows = nest->loops[k]->symbol};
        if (k == columns)
            continue;
        ir_block_expressions(nest->depths, count_load, &uses);
        bool is_longer = best >= 0 && uses.again == most && is_window(nest, nest->loops[best]) &&
                         !is_window(nest, nest->loops[k]);
        if (uses.again > most || is_longer) {
            most = uses.again;
            best = k;
        }
    }
    return best;
}

/* ---- the change ------------------------------------------------------------------------------------ */

static bool all_are_parallel(struct pass *pass, const struct nest *nest)
{
    const struct dependences *dependences = pass_dependences(pass, nest->loops[0]);

    for (int k = 0; dependences && k < nest->depth; k++) {
        const struct dependence_loop *loop = dependence_loop_is_parallel(dependences, nest->loops[k]);
        if (loop->verdict != DEPENDENCE_PARALLEL || loop->leaves || loop->incomplete)
            return false;
    }
    return dependences != NULL;
}

static void bring_inside(struct nest *nest, int from, int to)
{
    for (int k = from; k < to; k++)
        pass_exchange_loops(nest->loops[k], nest->loops[k + 1]);
}

static bool arrange(struct pass *pass, struct nest *nest)
{
    int last = nest->depth - 1, columns = find_columns(nest),
        rows = columns < 0 ? -1 : find_rows(nest, columns);
    struct ir_stmt *block = nest->loops[last]->body;

    if (rows < 0 || (columns == last && rows == last - 1) ||
        !pass_bounds_are_fixed(nest->loops, nest->depth) || pass_jumps(block) || pass_block_may_stop(block) ||
        !all_are_parallel(pass, nest))
        return false;
    bring_inside(nest, columns, last);
    bring_inside(nest, rows > columns ? rows - 1 : rows, last - 1);
    return true;
}

struct arranger {
    struct pass *pass;
    const struct ir_stmt *inside; /* loops of the nest that was looked at last */
    bool changed;
};

static bool visit(struct ir_stmt *stmt, void *context)
{
    struct arranger *arranger = context;
    struct nest nest;

    if (stmt->kind != IR_FOR)
        return true;
    if (stmt == arranger->inside) {
        arranger->inside = stmt->body;
        return true;
    }
    arranger->inside = NULL;
    if (!find_nest(stmt, &nest))
        return true;
    arranger->inside = stmt->body;
    arranger->changed |= arrange(arranger->pass, &nest);
    return true;
}

bool pass_arrange(struct pass *pass)
{
    struct arranger arranger = {.pass = pass};

    ir_block_walk(pass->kernel->body, visit, &arranger);
    return arranger.changed;
}

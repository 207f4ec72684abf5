/*
 * flow_plan.c: see flow_plan.h.
 *
 * Consumes loops of which some are vector code already; produces the code of the whole with branches, and the
 * tests that say when it is the faster one. Only time hangs on these: both codes do the same, but for the
 * order of sums, and which products are rounded, where results are not strict.
 */
#include "flow_plan.h"
#include "flow_private.h"
#include "pass.h"
#include "vector_build.h"

/* Elements of a row, below which rows that the data ends are gone through one by one: of rows that find
 * others by them, of those that have functions computed or whose elements hang on each other, and of all
 * other ones, for each sum that they have; measured with sparse matrices and segments on Zen 5. Iterations of
 * loops of the call likewise, and of nests, where their columns are as few as those of loops, or as their
 * rows where there are windows in them (Zen 4: two channels of a convolution in space 202 us, 18 by vectors).
 * Rows of windows that are another one each time, which are called one by one (Ice Lake: adaptive pooling, 49
 * times 64 windows of 8 x 8 97 us and 67, of 12 x 12 76 and 96).
 * Of loops whose code may end early there may be more: often they end at once, and C does the rest. Rows for
 * which C calls, each for itself: a product with a transposed sparse matrix, 2 elements in each row, 19 us
 * and, by branches, 5.3; 9 10 and 4.7, 20 6.8 and 5.3, 40 3.7 and 5.7 (Ice Lake, 5,000 elements). Likewise
 * those that add to elements found by numbers: histograms of gradients in 10 and 28 columns 5.2 us and 2.5,
 * 428 and 338. Elements whose distance the call tells: stages of an FFT of 16 937 ns and 854, of 32 667 and
 * 840. */
enum {
    FEW_GATHERED = 48,
    FEW_CALLED = 24,
    FEW_LONG = 2,
    FEW_OF_ROW = 6,
    FEW_OF_LOOP = 9,
    FEW_OF_NEST = 4,
    FEW_OF_BAND = 7,
    FEW_OF_WINDOW = 12,
    FEW_APART = 24,
    FEW_LEAVING = 64,
    FEW_OF_TRIANGLE = 20,
    FEW_OF_CALLED = 36, /* rows of a triangle that look for nothing; and what is packed in the midst of the
                           other code (flow_packed.c), but would be called else, */
    FEW_OF_PART = 20    /* or would be one of several parts of a band */
};

/* ---- rows that the data ends ------------------------------------------------------------------- */

static struct vector_loop *plan_loop(struct vector_plan *plan, const struct ir_kernel *kernel,
                                     const struct ir_stmt *stmt, const struct vector_options *options,
                                     bool in_fours)
{
    const struct ir_stmt *written = flow_written(&plan->arena, kernel, stmt, options, in_fours);
    struct vector_loop *loop = flow_build(&plan->arena, written, options);
    if (!loop && written != stmt) /* too large, perhaps */
        loop = flow_build(&plan->arena, stmt, options);
    if (loop)
        loop->stmt = stmt;
    return loop;
}

struct vector_loop *flow_plan_loop(struct vector_plan *plan, const struct ir_kernel *kernel,
                                   const struct ir_stmt *stmt, const struct vector_options *options)
{
    return plan_loop(plan, kernel, stmt, options, true);
}

enum { NAMES = 100 /* looked into for a bound */ };

/* What a bound hangs on; scalars stand for their values, as far as these are looked into. */
struct hanging {
    const struct ir_symbol *symbol;
    int left;
    bool on_symbol, on_loads;
};

static bool note_hanging(struct ir_expr *expr, void *context)
{
    struct hanging *hanging = context;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return --hanging->left >= 0 && ir_expr_walk(expr->symbol->value, note_hanging, context);
    hanging->on_symbol |= expr->kind == IR_SYMBOL && expr->symbol == hanging->symbol;
    hanging->on_loads |= expr->kind == IR_LOAD;
    return true;
}

static bool is_loaded(struct ir_expr *bound)
{
    struct hanging hanging = {.left = NAMES};
    return ir_expr_walk(bound, note_hanging, &hanging) && hanging.on_loads;
}

/* Loops that vectors may be made of. */
static bool holds_loops(const struct ir_stmt *stmt)
{
    return pass_has_for(stmt->body) || pass_has_for(stmt->otherwise);
}

/* The only loop of the block, perhaps under a condition (`if degree > 0: for e in range(...)`), whose rows
 * then are taken for all that there are; NULL: there are none, or several. */
static const struct ir_stmt *only_loop(const struct ir_stmt *block)
{
    const struct ir_stmt *inner = NULL;
    for (const struct ir_stmt *next = block; next; next = next->next) {
        bool is_around = next->kind == IR_IF && !next->otherwise && pass_has_for(next->body);
        if (next->kind != IR_FOR && !is_around && holds_loops(next))
            return NULL;
        if (next->kind != IR_FOR && !is_around)
            continue;
        if (inner)
            return NULL;
        inner = is_around ? only_loop(next->body) : next;
        if (!inner)
            return NULL;
    }
    return inner;
}

/* The loop inside, where it is the only one, and its bounds come out of tensors, other ones in each iteration
 * of the one around; NULL: there is none. */
static const struct ir_stmt *find_ragged(const struct ir_stmt *stmt)
{
    const struct ir_stmt *inner = only_loop(stmt->body);
    struct hanging hanging = {.symbol = stmt->symbol, .left = NAMES};
    if (!inner || ir_block_has_loop(inner->body) || inner->step != 1 || stmt->step != 1 ||
        !ir_expr_walk(inner->low, note_hanging, &hanging) ||
        !ir_expr_walk(inner->high, note_hanging, &hanging))
        return NULL;
    return hanging.on_symbol && hanging.on_loads ? inner : NULL;
}

struct fixing {
    struct ir_stmt *nest;
    bool moves;
};

static bool stays(struct ir_expr *expr, void *context)
{
    struct fixing *fixing = context;
    fixing->moves |= expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE;
    fixing->moves |= expr->kind == IR_LOAD && ir_block_stores_to(fixing->nest->body, expr->access.buffer);
    return !fixing->moves;
}

/* Names of the block, and of blocks under conditions in it, stand for what they are then, or for themselves
 * again. */
static void name_values(struct ir_kernel *kernel, const struct ir_stmt *block, bool then)
{
    for (const struct ir_stmt *stmt = block; stmt && stmt->kind != IR_FOR; stmt = stmt->next) {
        if (stmt->kind == IR_LET)
            stmt->symbol->note = then ? ir_expr_substitute(kernel, stmt->value) : NULL;
        if (stmt->kind == IR_IF && pass_has_for(stmt->body))
            name_values(kernel, stmt->body, then);
    }
}

/* The bound of the loop inside in an iteration of the one around; NULL: it hangs on what changes, or may stop
 * the kernel. */
static const struct ir_expr *bound_at(struct ir_kernel *kernel, const struct ir_stmt *stmt,
                                      const struct ir_expr *bound, struct ir_expr *iteration,
                                      const struct vector_options *options)
{
    struct fixing fixing = {.nest = (struct ir_stmt *)stmt};
    stmt->symbol->note = iteration;
    name_values(kernel, stmt->body, true);
    struct ir_expr *fixed = ir_expr_substitute(kernel, bound);
    name_values(kernel, stmt->body, false);
    stmt->symbol->note = NULL;
    return ir_expr_walk(fixed, stays, &fixing) && !vector_may_stop(fixed, options) ? fixed : NULL;
}

static const struct vector_loop *part_of(const struct vector_loop *loop, const struct ir_stmt *inner)
{
    for (int k = 0; loop->band && k < loop->band->parts.count; k++)
        if (loop->band->parts.items[k].loop->stmt == inner && !loop->band->parts.items[k].loop->is_once)
            return loop->band->parts.items[k].loop;
    return NULL;
}

static int few_of_row(const struct vector_loop *loop, const struct ir_stmt *inner)
{
    const struct vector_loop *row = part_of(loop, inner);
    int sums = 0;
    bool is_long = row && row->is_serial;
    for (int k = 0; row && k < row->values.count; k++) {
        const struct vector_value *value = &row->values.items[k];
        if (value->kind == VECTOR_GATHER)
            return FEW_GATHERED;
        is_long |= value->kind == VECTOR_OPERATION && dtype_is_float(value->from) &&
                   vector_is_call(value->operation);
        sums += value->kind == VECTOR_ACCUMULATE && value->operation != OP_MAX && value->operation != OP_MIN;
    }
    return !row ? FEW_GATHERED : is_long ? FEW_LONG : FEW_OF_ROW * (sums > 1 ? sums : 1);
}

struct vector_loop *flow_plan_ragged(struct vector_plan *plan, const struct ir_kernel *kernel,
                                     const struct ir_stmt *stmt, const struct vector_options *options)
{
    const struct ir_stmt *inner = stmt->kind == IR_FOR ? find_ragged(stmt) : NULL;
    int number = vector_plan_find(plan, stmt);
    const struct vector_nest *nest = number < 0 ? NULL : plan->loops.items[number]->nest;
    int row = inner && number < 0 ? vector_plan_find(plan, inner) : -1;
    bool has_lanes = nest && !vector_is_rows(nest); /* of this loop: however short rows are, these are not */
    if (!inner || (number < 0 && row < 0) || has_lanes || !pass_is_of_call(stmt->low) ||
        !pass_is_of_call(stmt->high))
        return NULL;
    struct ir_kernel copy = ir_kernel_beside(kernel, &plan->arena);
    struct ir_expr *last = ir_operation(&copy, OP_SUB, stmt->high, ir_integer(&copy, AKG_INT64, 1), NULL);
    bool adjoin = is_loaded(inner->low) && is_loaded(inner->high);
    struct flow_test test = {.begins = bound_at(&copy, stmt, inner->low, adjoin ? stmt->low : last, options),
                             .ends = bound_at(&copy, stmt, inner->high, last, options),
                             .few = number < 0 ? FEW_CALLED : few_of_row(plan->loops.items[number], inner),
                             .in_iterations = true,
                             .adjoin = adjoin};
    struct vector_loop *loop =
        test.begins && test.ends ? plan_loop(plan, kernel, stmt, options, false) : NULL;
    if (loop)
        list_push(&plan->arena, &loop->flow->tests, test);
    return loop;
}

/* ---- short loops of the call --------------------------------------------------------------------- */

/* A power that is a product or two in either code. */
static bool is_small_power(const struct ir_expr *expr)
{
    if (expr->operation != OP_POW || expr->operands[1]->kind != IR_REAL)
        return false;
    return expr->operands[1]->real == 2 || expr->operands[1]->real == 3;
}

static bool is_no_call(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_OPERATION || !dtype_is_float(expr->operands[0]->dtype) ||
           !vector_is_call(expr->operation) || is_small_power(expr);
}

struct tests {
    struct vector_plan *plan;
    struct flow *flow;
    const struct ir_stmt *stmt; /* in question */
    bool is_band;               /* as a whole */
    bool is_told;               /* how long each loop of the band is, by the call */
    int deepest;                /* loops in it */
    const struct vector_options *options;
    struct ir_kernel *kernel; /* with an arena for what is made here */
    LIST(const struct ir_stmt *)
    loops; /* so far: those around the one at hand are among them, from the statement
              in question on */
};

/* Whether lanes go along the innermost loop of a nest, however few rows and columns there are. */
static bool has_lanes_along(const struct vector_plan *plan, int number)
{
    const struct vector_nest *nest = number < 0 ? NULL : plan->loops.items[number]->nest;
    return nest && nest->is_along;
}

/* Its iterations are always fewer than so many; false: that cannot be told before. */
static bool ask_few(struct tests *tests, const struct ir_stmt *loop, int few)
{
    struct flow_test test = {.few = few};
    bool is_told = flow_span(tests->kernel, tests->loops.items, tests->loops.count, loop, &test);
    list_push(&tests->plan->arena, &tests->flow->tests, test);
    return is_told;
}

/* Whether it looks for something, as the greatest. */
static bool looks(const struct ir_stmt *stmt)
{
    bool found = false;
    for (int k = 0; k < stmt->reductions.count; k++)
        found |= ir_reduction_table[stmt->reductions.items[k].kind].operation != OP_ADD;
    return found;
}

/* Whether one of the loops in it does. */
static bool holds_looking(const struct vector_band *band)
{
    bool found = false;
    for (int k = 0; k < band->parts.count; k++)
        found |= !band->parts.items[k].loop->is_once && looks(band->parts.items[k].loop->stmt);
    return found;
}

/* Loops that end where those around them are are half as long on average, and have little to gain. (Ice Lake:
 * Cholesky of 64 times 3 x 3 5.6 us, and by branches 1.0; of 9 x 9 26 and 9, of 20 times 32 x 32 141 and 77;
 * the inverse of a triangle of 32 13.3 and 4.5; LU with pivots of 24 2.7 and 3.8.) */
static int few_of(const struct vector_loop *loop, const struct ir_stmt *stmt)
{
    bool is_told = pass_is_of_call(stmt->low) && pass_is_of_call(stmt->high);
    if (loop && loop->nest)
        return is_told ? FEW_OF_NEST : FEW_OF_WINDOW;
    if (loop && (loop->leaves || loop->counters.count))
        return FEW_LEAVING;
    if (is_told)
        return FEW_OF_LOOP;
    const struct vector_band *band = loop ? loop->band : NULL;
    return (band ? holds_looking(band) : looks(stmt)) ? FEW_OF_TRIANGLE : FEW_OF_CALLED;
}

/* Of a loop over neighbours (Ice Lake: the nearest of 2,000 in 16 dimensions 3.1 ms, and by branches 1.3;
 * attention over pages of 64 24 us and 42). */
static int few_of_packed(const struct tests *tests, const struct vector_loop *loop,
                         const struct ir_stmt *stmt)
{
    const struct ir_stmt *around =
        tests->loops.count > 1 ? tests->loops.items[tests->loops.count - 2] : tests->stmt;
    bool is_alone = around->body == stmt && !stmt->next;
    if (loop && !loop->nest && !loop->band)
        return FEW_OF_CALLED;
    return loop || is_alone ? few_of(loop, stmt) : FEW_OF_PART;
}

/* But for those that are a shift, or a mask. */
static bool is_no_division(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind != IR_OPERATION || (expr->operation != OP_FLOORDIV && expr->operation != OP_MOD))
        return true;
    const struct ir_expr *by = expr->operands[1];
    return by->kind == IR_INTEGER && by->integer > 0 && (by->integer & (by->integer - 1)) == 0;
}

static bool is_no_if(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_IF;
}

/* Whether lanes are stored one by one, or loaded so, and vectors have little to gain: branches that data
 * takes cost more. */
static bool scatters(const struct vector_loop *loop)
{
    bool is_light = ir_block_walk(loop->stmt->body, is_no_if, NULL) &&
                    ir_block_expressions(loop->stmt->body, is_no_division, NULL);
    for (int k = 0; is_light && k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_SCATTER)
            return true;
    return false;
}

/* Whether the loop goes from row to row of a tensor whose extents were symbols to the passes. */
static bool goes_by_open_rows(const struct vector_stream *stream, const struct ir_stmt *loop)
{
    const struct ir_access *access = stream->access;
    for (int axis = 0; axis < access->buffer->open; axis++)
        if (pass_mentions(access->indices[axis], loop->symbol))
            return true;
    return false;
}

static bool goes_apart(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->streams.count; k++)
        if (loop->streams.items[k].step_kind == VECTOR_RUN_TIME_STEP ||
            goes_by_open_rows(&loop->streams.items[k], loop->stmt))
            return true;
    return false;
}

/* Loops around it in the block, and itself; 0: it is not in there. */
static int depth_in(const struct ir_stmt *block, const struct ir_stmt *loop)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        int inside = stmt == loop ? 1 : depth_in(stmt->body, loop);
        if (inside)
            return stmt == loop ? 1 : inside + (stmt->kind == IR_FOR);
        int beside = depth_in(stmt->otherwise, loop);
        if (beside)
            return beside;
    }
    return 0;
}

/* A loop that others are not inside of, of the call, whose elements lie beside each other, or do not. */
static int few_of_innermost(const struct tests *tests, const struct vector_loop *loop,
                            const struct ir_stmt *stmt)
{
    bool is_one = loop && !loop->nest && !loop->band;
    if (depth_in(tests->stmt->body, stmt) < tests->deepest || (is_one && scatters(loop)))
        return FEW_OF_CALLED; /* others run more often */
    return is_one && goes_apart(loop) ? FEW_APART : FEW_OF_LOOP;
}

/* All loops of a band go on without a call: they are to be shorter still, and some not as long as others. */
static bool add_test_of_band(struct tests *tests, const struct ir_stmt *stmt)
{
    if (stmt->kind != IR_FOR)
        return true;
    list_push(&tests->plan->arena, &tests->loops, stmt);
    tests->is_told &= pass_is_of_call(stmt->low) && pass_is_of_call(stmt->high);
    return ir_block_expressions(stmt->body, is_no_call, NULL) && ask_few(tests, stmt, FEW_OF_BAND);
}

/* A test for each loop of the plan, and for the columns of a nest of few rows; false: it cannot be told
 * before how long one is, or vectors of functions are called in it. */
static bool add_test(struct ir_stmt *stmt, void *context)
{
    struct tests *tests = context;
    int number = stmt->kind == IR_FOR ? vector_plan_find(tests->plan, stmt) : -1;
    if (tests->is_band)
        return add_test_of_band(tests, stmt);
    if (stmt->kind == IR_FOR && (has_lanes_along(tests->plan, number) ||
                                 has_lanes_along(tests->plan, vector_plan_find_beside(tests->plan, stmt))))
        return false;
    if (stmt->kind == IR_FOR)
        list_push(&tests->plan->arena, &tests->loops, stmt);
    if (stmt->kind != IR_FOR || (number < 0 && ir_block_has_loop(stmt->body)))
        return true;
    if (!ir_block_expressions(stmt->body, is_no_call, NULL))
        return false;
    const struct vector_loop *loop = number < 0 ? NULL : tests->plan->loops.items[number];
    const struct vector_nest *nest = loop ? loop->nest : NULL;
    int few = flow_packs(stmt, tests->options) ? few_of_packed(tests, loop, stmt) : few_of(loop, stmt);
    if (few == FEW_OF_LOOP && !ir_block_has_loop(stmt->body))
        few = few_of_innermost(tests, loop, stmt);
    bool is_told = ask_few(tests, stmt, few);
    const struct ir_stmt *columns = nest ? nest->loops[VECTOR_COLUMNS] : stmt;
    if (columns != stmt && pass_is_of_call(columns->low) && pass_is_of_call(columns->high))
        ask_few(tests, columns, nest->depth > VECTOR_DEPTHS + 1 ? FEW_OF_NEST : FEW_OF_LOOP);
    return is_told;
}

/* What is known of the test; false: that a call tells. */
static bool is_known(const struct flow_test *test, bool *holds)
{
    int64_t iterations;
    if (test->in_iterations || !test->begins || !test->ends || test->begins->kind != IR_INTEGER ||
        test->ends->kind != IR_INTEGER ||
        __builtin_sub_overflow(test->ends->integer, test->begins->integer, &iterations))
        return false;
    *holds = iterations < test->few;
    return true;
}

/* Those that a call tells are left; false: one never holds. */
static bool drop_known(struct flow *flow)
{
    int left = 0;
    for (int k = 0; k < flow->tests.count; k++) {
        bool holds = true;
        if (!is_known(&flow->tests.items[k], &holds))
            flow->tests.items[left++] = flow->tests.items[k];
        else if (!holds)
            return false;
    }
    flow->tests.count = left;
    return true;
}

struct vector_loop *flow_plan_short(struct vector_plan *plan, const struct ir_kernel *kernel,
                                    const struct ir_stmt *stmt, const struct vector_options *options)
{
    enum { MOST_TESTS = 8, DEEPEST = 100 };
    struct flow flow = {.loops = 0};
    struct ir_kernel copy = ir_kernel_beside(kernel, &plan->arena);
    struct tests tests = {.plan = plan,
                          .flow = &flow,
                          .stmt = stmt,
                          .is_band = vector_plan_find(plan, stmt) >= 0,
                          .is_told = true,
                          .deepest = ir_block_depth(stmt->body, DEEPEST),
                          .options = options,
                          .kernel = &copy};
    if (stmt->kind == IR_FOR)
        list_push(&plan->arena, &tests.loops, stmt);
    if (!ir_block_walk(stmt->body, add_test, &tests) || !flow.tests.count || flow.tests.count > MOST_TESTS ||
        (tests.is_band && tests.is_told) || !drop_known(&flow))
        return NULL;
    struct vector_loop *loop = flow_plan_loop(plan, kernel, stmt, options);
    for (int k = 0; loop && k < flow.tests.count; k++)
        list_push(&plan->arena, &loop->flow->tests, flow.tests.items[k]);
    return loop;
}

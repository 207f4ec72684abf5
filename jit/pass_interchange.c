/*
 * pass_interchange.c: in a nest of loops with nothing between them, the loop whose variable steps through
 * memory one element at a time becomes the innermost one: sums of columns go along the rows. Functions such
 * as cos whose argument would change with that loop, and does not with another one, speak against it, unless
 * they go into tables (pass tabulate); and so does it if the loop is known to be short, unless it can be
 * written out in vectors of the loop around. That is best where the short loop goes over the elements between
 * two of the loop around (`y[2 * j + v]`): together they are whole vectors.
 *
 * Values that an iteration computes before its inner loop are no obstacle (pass_interchange_lets.c).
 *
 * Only where no dependence is turned round (reductions are dependences like others: each element is still
 * accumulated in its order), where no bound hangs on a variable of the nest, where nothing may stop, and
 * where the program gives no hints. A loop that is passed over may have to run backwards for that: in
 *
 *     for j { for v { y[j + v] += x[j] * w[v] } }
 *
 * an element takes what the lesser j give it first, and these have the greater v.
 */
#include "pass_interchange.h"

#include "vector.h"

enum {
    SHAPES = 8,
    FEW = 4,      /* elements that far apart lie in one another's vectors */
    STRIDED = 8,  /* the cost of a load whose elements lie further apart; 1: side by side */
    SCATTERED = 9 /* of such a store: twice what it takes to gather them, but less than several loads */
};

/* The loop and those that are the whole body of one another; `past_lets`: but for LETs before them. */
static void find_nest(struct ir_stmt *stmt, bool past_lets, struct nest *nest)
{
    struct ir_stmt *loop = stmt;

    nest->depth = 0;
    nest->few = NULL;
    while (loop) {
        struct ir_stmt *first = loop;
        while (past_lets && nest->depth && loop->kind == IR_LET && loop->next)
            loop = loop->next;
        if (loop->kind != IR_FOR || nest->depth == NEST || loop->hint || (loop != stmt && loop->next))
            return;
        if (loop != first)
            nest->lets[nest->depth - 1] = first;
        nest->loops[nest->depth] = loop;
        nest->lets[nest->depth++] = NULL;
        loop = loop->body;
    }
}

/* ---- costs -------------------------------------------------------------------------------------------- */

/* Elements a few apart are that many vectors, which are then sorted. */
static int cost_of_step(int64_t step, int apart)
{
    if (step == 1 || step == -1)
        return 1;
    return step >= -FEW && step <= FEW ? 1 + (int)(step < 0 ? -step : step) : apart;
}

/* Whether it is an element of an input for each iteration of one loop, at a known place along other axes, and
 * far from the next one: they go into a row, which others repeat (pass tabulate). */
static bool is_column(const struct ir_access *access, const struct ir_symbol *variable)
{
    int64_t distance = 1;
    int others = 0;

    for (int axis = 0; axis < access->buffer->rank; axis++) {
        const struct ir_expr *index = access->indices[axis], *extent = access->buffer->shape[axis];
        bool known = index->kind == IR_INTEGER && extent->kind == IR_INTEGER &&
                     index->integer < extent->integer; /* there, also where no iteration asks for it */
        others += !known;
        if (!known && (index->kind != IR_SYMBOL || index->symbol != variable))
            return false;
        if (known && others && __builtin_mul_overflow(distance, extent->integer, &distance))
            return false;
    }
    return others == 1 && distance > FEW && access->buffer->role == IR_INPUT;
}

static int cost_of(const struct ir_access *access, const struct ir_symbol *variable, int apart)
{
    int last = access->buffer->rank - 1;

    if (is_column(access, variable))
        return 1;

    for (int axis = 0; axis <= last; axis++) {
        int64_t step;
        if (!pass_step_of(access->indices[axis], variable, &step))
            return apart;
        if (step != 0)
            return axis == last ? cost_of_step(step, apart) : apart;
    }
    return 0;
}

static void add_cost(struct nest *nest, const struct ir_access *access, int apart)
{
    for (int k = 0; k < nest->depth; k++)
        nest->cost[k] += cost_of(access, nest->loops[k]->symbol, apart);
    nest->apart += apart;
}

static bool is_of_loops(struct ir_expr *expr, void *unused)
{
    (void)unused;
    return expr->kind != IR_SYMBOL ||
           (expr->symbol->kind != IR_SYMBOL_VARIABLE && expr->symbol->kind != IR_SYMBOL_LET);
}

/* Whether it goes into a table (pass tabulate): it hangs on some loops of the nest, not all, and nothing
 * else.
 */
static bool is_tabular(const struct nest *nest, struct ir_expr *call)
{
    int loops = 0;
    for (int k = 0; k < nest->depth; k++)
        loops += pass_mentions(call, nest->loops[k]->symbol);
    return loops < nest->depth && pass_is_pure(call) && ir_expr_walk(call, is_of_loops, NULL);
}

/* What does not change with the innermost loop is computed before it. */
static void add_call(struct nest *nest, struct ir_expr *call)
{
    if (is_tabular(nest, call))
        return;
    for (int k = 0; k < nest->depth; k++)
        if (pass_mentions(call, nest->loops[k]->symbol))
            nest->cost[k] += CALLED;
}

/* Whether the element lies a few beside the other one. */
static bool is_near(const struct ir_access *a, const struct ir_access *b)
{
    int last = a->buffer->rank - 1;
    struct pass_affine x, y;
    for (int k = 0; k < last; k++)
        if (!ir_expr_equal(a->indices[k], b->indices[k]))
            return false;
    return last >= 0 && pass_affine_of(a->indices[last], &x) && pass_affine_of(b->indices[last], &y) &&
           pass_affine_add(&x, -1, &y) && !x.count && x.constant > -FEW && x.constant < FEW;
}

/* Elements a few apart are loaded together, also where the next iteration's lie elsewhere. */
static void add_load(struct nest *nest, const struct ir_access *access)
{
    int k = 0;
    while (k < nest->count && (nest->loads[k]->buffer != access->buffer || !is_near(nest->loads[k], access)))
        k++;
    add_cost(nest, access, k < nest->count ? 1 : STRIDED);
    if (k == nest->count && k < LOADS)
        nest->loads[nest->count++] = access;
}

static bool add_expression(struct ir_expr *expr, void *nest)
{
    if (expr->kind == IR_LOAD)
        add_load(nest, &expr->access);
    else if (expr->kind == IR_OPERATION && dtype_is_float(expr->dtype) && vector_is_call(expr->operation))
        add_call(nest, expr);
    return true;
}

/* What is loaded between the loops is loaded inside then; what is computed there is not computed again. */
static void add_lets(struct nest *nest)
{
    for (int k = 0; k < nest->depth - 1; k++)
        for (struct ir_stmt *let = nest->lets[k]; let && let->kind == IR_LET; let = let->next)
            if (let->value->kind == IR_LOAD)
                add_load(nest, &let->value->access);
}

static bool add_stmt(struct ir_stmt *stmt, void *nest)
{
    if (stmt->kind == IR_STORE)
        add_cost(nest, &stmt->access, SCATTERED);
    return ir_stmt_expressions(stmt, add_expression, nest);
}

/* ---- legality -------------------------------------------------------------------------------------------
 */

static bool is_fixed(struct ir_expr *bound, struct nest *nest)
{
    if (!pass_is_pure(bound))
        return false;
    for (int k = 0; k < nest->depth; k++)
        if (pass_mentions(bound, nest->loops[k]->symbol))
            return false;
    return true;
}

/* Assigns nothing that lives longer than an iteration; holds nothing that the order of loops could change. */
static bool is_plain(struct ir_stmt *stmt, void *body)
{
    if (stmt->kind == IR_VARIABLE)
        stmt->symbol->note = body;
    if (stmt->kind == IR_ASSIGN)
        return stmt->symbol->note == body;
    return stmt->kind != IR_ALLOCATE;
}

static bool forget_note(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->kind == IR_VARIABLE)
        stmt->symbol->note = NULL;
    return true;
}

static bool may_move(struct nest *nest)
{
    struct ir_stmt *innermost = nest->loops[nest->depth - 1];
    bool plain;

    for (int k = 0; k < nest->depth; k++)
        if (!is_fixed(nest->loops[k]->low, nest) || !is_fixed(nest->loops[k]->high, nest))
            return false;
    if (pass_jumps(innermost->body) || pass_block_may_stop(innermost->body))
        return false;
    plain = ir_block_walk(innermost->body, is_plain, innermost);
    ir_block_walk(innermost->body, forget_note, NULL);
    return plain;
}

/* ---- short loops ----------------------------------------------------------------------------------------
 */

static bool is_short(const struct ir_stmt *loop)
{
    int64_t distance;

    return loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER && loop->step == 1 &&
           !__builtin_sub_overflow(loop->high->integer, loop->low->integer, &distance) &&
           distance < VECTOR_SHORTEST;
}

/* Whether another loop than a short one would be the better one, were these as dear as can be. */
static bool may_matter(const struct nest *nest)
{
    int least = nest->apart;

    for (int k = 0; k < nest->depth; k++)
        if (!is_short(nest->loops[k]) && nest->cost[k] < least)
            least = nest->cost[k];
    for (int k = 0; k < nest->depth; k++)
        if (is_short(nest->loops[k]) && nest->cost[k] <= least && least < nest->apart)
            return true;
    return false;
}

/* The innermost loop that is not known to be short; -1: there is none. */
static int longer_loop(const struct nest *nest)
{
    int k = nest->depth - 1;

    while (k >= 0 && is_short(nest->loops[k]))
        k--;
    return k;
}

static int64_t step_of(const struct ir_access *access, const struct ir_symbol *variable)
{
    struct pass_affine affine;
    return pass_affine_of(access->indices[access->buffer->rank - 1], &affine)
               ? pass_affine_coefficient(&affine, variable)
               : 0;
}

struct filling {
    const struct ir_stmt *longer, *shorter;
    bool fills;
};

/* Elements from one iteration of the loop to the next, along the last axis, or the one before it where the
 * last one has a known extent; 0: it goes along others, or not at all. */
static int64_t distance_of(const struct ir_access *access, const struct ir_symbol *variable)
{
    int last = access->buffer->rank - 1;
    int64_t step = step_of(access, variable), rows;
    if (step || last < 1 || access->buffer->shape[last]->kind != IR_INTEGER ||
        !pass_step_of(access->indices[last - 1], variable, &rows) || rows != 1)
        return step;
    return access->buffer->shape[last]->integer;
}

static void look_between(struct filling *filling, const struct ir_access *access)
{
    const struct ir_stmt *shorter = filling->shorter;
    int64_t count = shorter->high->integer - shorter->low->integer;
    filling->fills |= access->buffer->rank > 0 && count > 1 && count <= FEW &&
                      distance_of(access, filling->longer->symbol) == count &&
                      step_of(access, shorter->symbol) == 1;
}

static bool look_between_loads(struct ir_expr *expr, void *filling)
{
    if (expr->kind == IR_LOAD)
        look_between(filling, &expr->access);
    return true;
}

static bool look_between_stores(struct ir_stmt *stmt, void *filling)
{
    if (stmt->kind == IR_STORE)
        look_between(filling, &stmt->access);
    return ir_stmt_expressions(stmt, look_between_loads, filling);
}

/* The short loop, the innermost one if there are several, that goes over what the longer one leaves out
 * between two of its elements; -1: there is none. */
static int find_filling(const struct nest *nest, int longer)
{
    for (int k = nest->depth - 1; k >= 0; k--) {
        struct filling filling = {.longer = nest->loops[longer], .shorter = nest->loops[k]};
        if (k == longer || !is_short(nest->loops[k]))
            continue;
        ir_block_walk(nest->loops[nest->depth - 1]->body, look_between_stores, &filling);
        if (filling.fills)
            return k;
    }
    return -1;
}

/* Whether the innermost loop, a short one, copies elements side by side: back ends copy short rows as they
 * are (vector_copy.c). */
static bool copies_rows(const struct nest *nest)
{
    const struct ir_stmt *innermost = nest->loops[nest->depth - 1], *store = innermost->body;
    return store && store->kind == IR_STORE && !store->next && store->value->kind == IR_LOAD &&
           store->access.buffer != store->value->access.buffer &&
           cost_of(&store->access, innermost->symbol, STRIDED) == 1 &&
           cost_of(&store->value->access, innermost->symbol, STRIDED) == 1;
}

/* Short loops are written out in the iterations of the loop around, which become vectors; where these hang on
 * each other, each access is one of its own. */
static void add_short_loops(struct pass *pass, struct nest *nest)
{
    int longer = longer_loop(nest), cost = nest->apart, innermost = nest->depth - 1;
    int filling = longer < 0 ? -1 : find_filling(nest, longer);
    const struct dependences *dependences;

    if (longer < 0 || (longer == innermost && filling < 0) || copies_rows(nest) || !may_move(nest))
        return;
    if (filling < 0 && !may_matter(nest))
        return;
    dependences = pass_dependences(pass, nest->loops[0]);
    if (!dependences)
        return;
    if (dependence_loop_is_parallel(dependences, nest->loops[longer])->verdict == DEPENDENCE_PARALLEL)
        cost = nest->cost[longer];
    for (int k = 0; k < nest->depth; k++)
        if (is_short(nest->loops[k]) && nest->cost[k] < cost)
            nest->cost[k] = cost;
    if (filling >= 0 && cost < nest->apart)
        nest->cost[filling] = filling == innermost ? cost : cost - 1;
}

/* ---- accesses -------------------------------------------------------------------------------------------
 */

/* Of one access: the loops whose variable alone makes an index of it, and those it does not mention, as
 * bits. */
struct shape {
    const struct ir_access *access;
    unsigned alone, absent;
};

static bool is_other_loop(struct ir_stmt *stmt, void *variable)
{
    return stmt->kind != IR_FOR || stmt->symbol != variable;
}

/* Whether the sum is the same all through an iteration of the nest: nothing in it changes within its body. */
static bool is_of_iteration(const struct nest *nest, const struct pass_affine *affine)
{
    struct ir_stmt *body = nest->loops[nest->depth - 1]->body;
    for (int k = 0; k < affine->count; k++)
        if (affine->terms[k].symbol->kind == IR_SYMBOL_LET ||
            affine->terms[k].symbol->kind == IR_SYMBOL_VARIABLE ||
            !ir_block_walk(body, is_other_loop, (void *)affine->terms[k].symbol))
            return false;
    return true;
}

static bool find_shape(const struct nest *nest, const struct ir_access *access, struct shape *shape)
{
    *shape = (struct shape){access, 0, (1u << nest->depth) - 1};
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct pass_affine affine;
        unsigned mentioned = 0;
        if (!pass_affine_of(access->indices[axis], &affine) || !is_of_iteration(nest, &affine))
            return false;
        for (int k = 0; k < nest->depth; k++)
            mentioned |= (unsigned)(pass_affine_coefficient(&affine, nest->loops[k]->symbol) != 0) << k;
        shape->absent &= ~mentioned;
        if (mentioned && !(mentioned & (mentioned - 1)))
            shape->alone |= mentioned;
    }
    return true;
}

/* The accesses of the body to tensors that it stores to. */
struct shapes {
    struct nest *nest;
    struct shape items[SHAPES]; /* one for each tensor */
    int count;
    bool unclear;
};

static bool shape_store(struct ir_stmt *stmt, void *context)
{
    struct shapes *shapes = context;

    if (stmt->kind != IR_STORE)
        return true;
    for (int k = 0; k < shapes->count; k++)
        if (shapes->items[k].access->buffer == stmt->access.buffer) {
            shapes->unclear |= pass_compare(shapes->items[k].access, &stmt->access) != PASS_SAME;
            return true;
        }
    if (shapes->count == SHAPES || !find_shape(shapes->nest, &stmt->access, &shapes->items[shapes->count++]))
        shapes->unclear = true;
    return !shapes->unclear;
}

static bool compare_load(struct ir_expr *expr, void *context)
{
    struct shapes *shapes = context;

    for (int k = 0; expr->kind == IR_LOAD && k < shapes->count; k++)
        if (shapes->items[k].access->buffer == expr->access.buffer &&
            pass_compare(shapes->items[k].access, &expr->access) != PASS_SAME)
            shapes->unclear = true;
    return !shapes->unclear;
}

enum verdict { ILLEGAL, LEGAL, UNCLEAR };

/*
 * When each tensor that is stored to has one element in each iteration, and each loop of the nest either
 * moves it or does not touch it, then it is the loops that do not touch it that must keep their order.
 */
static enum verdict judge_shapes(struct nest *nest, int moved)
{
    struct shapes shapes = {.nest = nest};
    struct ir_stmt *body = nest->loops[nest->depth - 1]->body;
    unsigned all = (1u << nest->depth) - 1, inner = all & ~((2u << moved) - 1);

    ir_block_walk(body, shape_store, &shapes);
    if (!shapes.unclear)
        ir_block_expressions(body, compare_load, &shapes);
    for (int k = 0; k < shapes.count && !shapes.unclear; k++) {
        const struct shape *shape = &shapes.items[k];
        if ((shape->alone | shape->absent) != all)
            return UNCLEAR;
        if ((shape->absent & 1u << moved) && (shape->absent & inner))
            return ILLEGAL;
    }
    return shapes.unclear ? UNCLEAR : LEGAL;
}

/* Which way a dependence goes along a loop that, among those whose bits are set, runs backwards. */
static unsigned direction_of(const struct dependence *dependence, int loop, unsigned backwards)
{
    unsigned directions = dependence->directions[loop], turned = directions & DEPENDENCE_EQUAL;

    if (!(backwards >> loop & 1))
        return directions;
    turned |= directions & DEPENDENCE_LESS ? DEPENDENCE_GREATER : 0;
    return turned | (directions & DEPENDENCE_GREATER ? DEPENDENCE_LESS : 0);
}

/* Whether a dependence still goes forward when loop `moved` is inside all others of the nest; *against: the
 * loop that it goes against, where not, -1: none. */
static bool stays_forward(const struct dependence *dependence, int depth, int moved, unsigned backwards,
                          int *against)
{
    *against = -1;
    for (int k = 0; k <= depth; k++) {
        int loop = k == depth ? moved : k;
        if (k == moved)
            continue;
        if (loop >= dependence->depth)
            return false;
        unsigned directions = direction_of(dependence, loop, backwards);
        if (directions & DEPENDENCE_GREATER) {
            *against = loop;
            return false;
        }
        if (!(directions & DEPENDENCE_EQUAL))
            return true;
    }
    return true;
}

static bool may_turn(const struct nest *nest, int loop, int moved, unsigned backwards)
{
    return loop > moved && !(backwards >> loop & 1) && nest->loops[loop]->step == 1;
}

/* *backwards: the loops that must run backwards then. */
static bool is_legal(struct pass *pass, struct nest *nest, int moved, unsigned *backwards)
{
    enum verdict verdict = judge_shapes(nest, moved);
    const struct dependences *dependences;
    int against;

    *backwards = 0;
    if (verdict != UNCLEAR)
        return verdict == LEGAL;
    dependences = pass_directions(pass, nest->loops[0]);
    if (!dependences || dependence_loop_is_parallel(dependences, nest->loops[0])->incomplete)
        return false;
    for (int k = 0; k < dependences->items.count; k++) {
        if (stays_forward(&dependences->items.items[k], nest->depth, moved, *backwards, &against))
            continue;
        if (against < 0 || !may_turn(nest, against, moved, *backwards))
            return false;
        *backwards |= 1u << against;
        k = -1; /* all once more, for those that went forward by this loop */
    }
    return true;
}

/* ---- the change -------------------------------------------------------------------------------------------
 */

/* From the last iteration to the first. */
static void turn_round(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_expr *one = ir_integer(pass->kernel, AKG_INT64, 1), *low = loop->low;

    loop->low = ir_operation(pass->kernel, OP_SUB, loop->high, one, NULL);
    loop->high = ir_operation(pass->kernel, OP_SUB, low, pass_copy(pass, one), NULL);
    loop->step = -1;
}

struct handing {
    const struct nest *nest;
    const struct ir_symbol *moved, *row; /* row: of a loop inside the nest */
};

static bool hands_nothing_on(struct ir_stmt *stmt, void *context)
{
    const struct handing *handing = context;
    return stmt->kind != IR_STORE || !pass_access_mentions(&stmt->access, handing->row) ||
           pass_access_mentions(&stmt->access, handing->moved) ||
           !ir_block_loads_from(handing->nest->loops[handing->nest->depth - 1]->body, stmt->access.buffer);
}

/* Whether loops inside the nest store rows that the loop, once it is the innermost one of the nest, would
 * load again in its next iteration: just behind the stores, for which it would wait. */
static bool hands_rows_on(const struct nest *nest, int moved)
{
    struct handing handing = {.nest = nest, .moved = nest->loops[moved]->symbol};
    for (struct ir_stmt *stmt = nest->loops[nest->depth - 1]->body; stmt; stmt = stmt->next) {
        handing.row = stmt->symbol;
        if (stmt->kind == IR_FOR && !ir_block_walk(stmt->body, hands_nothing_on, &handing))
            return true;
    }
    return false;
}

static bool interchange_nest(struct pass *pass, struct nest *nest)
{
    unsigned backwards;
    int best = nest->depth - 1;

    nest->apart = nest->count = 0;
    for (int k = 0; k < nest->depth; k++)
        nest->cost[k] = 0;
    ir_block_walk(nest->loops[nest->depth - 1]->body, add_stmt, nest);
    add_lets(nest);
    add_short_loops(pass, nest);
    for (int k = nest->depth - 1; k >= 0; k--)
        if (nest->cost[k] < nest->cost[best])
            best = k;
    if (best == nest->depth - 1 || !may_move(nest) || !pass_lets_may_move(nest, best) ||
        hands_rows_on(nest, best) || !is_legal(pass, nest, best, &backwards))
        return false;
    pass_move_lets(pass, nest, best);
    for (int k = 0; k < nest->depth; k++)
        if (backwards >> k & 1)
            turn_round(pass, nest->loops[k]);
    for (int k = best; k < nest->depth - 1; k++)
        pass_exchange_loops(nest->loops[k], nest->loops[k + 1]);
    return true;
}

struct interchanger {
    struct pass *pass;
    const struct ir_stmt *innermost; /* up to here it has been looked at; NULL: nothing further inside has */
    bool changed;
};

static bool visit(struct ir_stmt *stmt, void *context)
{
    struct interchanger *interchanger = context;
    struct nest nest;
    int depth;

    if (stmt->kind != IR_FOR)
        return true;
    if (interchanger->innermost) {
        if (stmt == interchanger->innermost)
            interchanger->innermost = NULL;
        return true;
    }
    find_nest(stmt, false, &nest);
    interchanger->innermost = nest.depth > 1 ? nest.loops[nest.depth - 1] : NULL;
    if (nest.depth > 1 && interchange_nest(interchanger->pass, &nest)) {
        interchanger->changed = true;
        return true;
    }
    depth = nest.depth;
    find_nest(stmt, true, &nest);
    if (nest.depth > depth && !is_short(nest.loops[nest.depth - 1]) &&
        interchange_nest(interchanger->pass, &nest)) {
        struct ir_stmt *few = nest.few; /* comes next, and is to stay */
        if (few)
            find_nest(few, true, &nest);
        interchanger->innermost = few ? nest.loops[nest.depth - 1] : NULL;
        interchanger->changed = true;
    }
    return true;
}

bool pass_interchange(struct pass *pass)
{
    struct interchanger interchanger = {.pass = pass};

    ir_block_walk(pass->kernel->body, visit, &interchanger);
    return interchanger.changed;
}

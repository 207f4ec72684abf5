/*
 * vector_plan.c: see vector_plan.h.
 *
 * Consumes an optimised kernel and the dependences of the loops in question; asks vector_plan_share.c which
 * outer loops threads may share, vector_nest.c, vector_build.c and vector_serial.c for nests and innermost
 * loops as values, vector_rows.c and vector_band.c for loops around these, vector_merge.c which of them are
 * one, vector_leave.c and vector_pack.c for loops in which there is more than that, and vector_x86.c for what
 * these give. Of what they refuse, and beside some of them, flow.c and flow_plan.c make code with branches;
 * what is left stays C.
 */
#include "flow_plan.h"
#include "pass.h"
#include "split.h"
#include "vector_plan_private.h"
#include "work.h"

#include <string.h>

/* ---- loops and nests -------------------------------------------------------------------------- */

/* A slot for what long loops ask. */
static void ask_elements(struct planning *planning, struct vector_loop *loop)
{
    bool goes_past = planning->options->stream_bytes;
    int stream = goes_past ? vector_far_target(loop) : -1, *slot = &loop->elements;
    bool is_turned = false;
    if (stream < 0) {
        stream = vector_turned_target(loop);
        is_turned = stream >= 0;
    }
    if (stream < 0 && goes_past && !loop->elements) {
        stream = vector_nearby_target(loop);
        slot = &loop->nearby;
    }
    if (stream < 0 || *slot)
        return;
    if (!is_turned && vector_stays_near(loop, loop->streams.items[stream].access->buffer, planning->options))
        return;
    *slot = loop->arguments.count;
    list_push(
        &planning->plan->arena, &loop->arguments,
        ((struct vector_argument){.kind = VECTOR_ARGUMENT_ELEMENTS, .stream = stream, .accumulator = -1}));
}

static bool is_another(struct ir_stmt *stmt, void *loop)
{
    return stmt != loop;
}

/* Whether threads may share a loop around it. */
static bool is_inside_split(const struct vector_plan *plan, const struct ir_stmt *loop)
{
    for (int k = 0; k < plan->shared.count; k++)
        if (vector_plan_is_split(plan, plan->shared.items[k]) &&
            !ir_block_walk(plan->shared.items[k]->body, is_another, (void *)loop))
            return true;
    return false;
}

/* As machine code; false where that cannot be. */
static bool add_loop(struct planning *planning, struct vector_loop *loop)
{
    struct arena *arena = &planning->plan->arena;
    struct vector_listing listing;
    if (loop && !loop->flow && !loop->copies)
        ask_elements(planning, loop);
    if (loop)
        loop->is_parted = vector_plan_is_split(planning->plan, loop->stmt);
    if (loop && loop->nest)
        loop->has_some_rows = is_inside_split(planning->plan, loop->stmt);
    if (!loop || !vector_x86(arena, loop, planning->options, &listing))
        return false;
    const char *name = arena_format(arena, "akg_vector_%d", planning->plan->loops.count);
    list_push(arena, &planning->plan->loops, loop);
    list_push(arena, &planning->plan->names, name);
    list_push(arena, &planning->listings, listing);
    return true;
}

static const struct dependence_loop independent = {
    .verdict = DEPENDENCE_PARALLEL, .dependence = -1, .reduction = -1, .scalar = -1};

static bool assigns_floats(const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next)
        if ((stmt->kind != IR_ASSIGN && stmt->kind != IR_LET) || !dtype_is_float(stmt->symbol->dtype))
            return false;
    return true;
}

/* What is done under conditions, one iteration after the other, is better done by code that jumps (flow.h)
 * than in vain. But of two floats one of which a scalar becomes, both are computed before it is known which
 * way to jump, and that is mostly anybody's guess. */
static bool has_branches(const struct ir_stmt *first)
{
    bool branches = false, chooses = false;
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind != IR_IF)
            continue;
        branches = true;
        if (!assigns_floats(stmt->body) || !assigns_floats(stmt->otherwise))
            return true;
        chooses |= stmt->otherwise != NULL;
    }
    return branches && !chooses;
}

/* Inside of others a loop whose code may end early is for calls in which it is long: a short one is better
 * off as code with branches, with the loop around it (flow_plan.c). */
static bool may_be_long(const struct planning *planning, const struct ir_stmt *stmt)
{
    return !planning->is_inside || (pass_is_of_call(stmt->low) && pass_is_of_call(stmt->high));
}

/* A loop that a condition ends, as far as to that. */
static struct vector_loop *build_leaving(struct planning *planning, const struct ir_stmt *stmt)
{
    struct arena *arena = &planning->plan->arena;
    const struct ir_stmt *staying =
        may_be_long(planning, stmt) ? vector_without_leaving(arena, planning->kernel, stmt) : NULL;
    if (!staying)
        return NULL;
    const struct dependences *dependences = plan_dependences_of(planning, staying);
    struct vector_loop *loop = vector_build_leaving(
        arena, staying, dependence_loop_is_parallel(dependences, staying), dependences, planning->options);
    if (loop)
        loop->stmt = stmt;
    return loop;
}

/* A loop that puts elements behind each other; likewise. */
static struct vector_loop *build_packing(struct planning *planning, const struct ir_stmt *stmt)
{
    struct arena *arena = &planning->plan->arena;
    struct vector_packs packs;
    if (planning->options->target != X86_TARGET_AVX512 || !may_be_long(planning, stmt))
        return NULL;
    const struct ir_stmt *rest = vector_without_packs(arena, stmt, &packs);
    if (!rest)
        return NULL;
    const struct dependences *dependences = plan_dependences_of(planning, rest);
    return vector_build_packing(arena, stmt, &packs, dependence_loop_is_parallel(dependences, rest),
                                dependences, planning->options);
}

static const struct ir_buffer *buffer_of(const struct vector_loop *loop, const struct vector_value *value)
{
    return loop->streams.items[value->stream].access->buffer;
}

/* Whether a byte or two that it stores may be loaded by the next iterations. */
static bool hands_on_narrow(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *store = &loop->values.items[k];
        if (store->kind != VECTOR_STORE || dtype_table[store->dtype].size >= 4)
            continue;
        for (int j = 0; j < loop->values.count; j++)
            if (loop->values.items[j].kind == VECTOR_LOAD &&
                buffer_of(loop, &loop->values.items[j]) == buffer_of(loop, store))
                return true;
    }
    return false;
}

/* Whether its one lane is better off with jumps, in general registers: without floats of 32 bits or 64, and
 * with products, which take 3 cycles there and 10 in a vector, or what a lane stores under a mask and is slow
 * to load again. (Ice Lake, 10,000 elements: s = s * 31 + x[i] 32 us and 12; a[i] += a[i - 8] of int8 80
 * and 5.5; but sums so far of 4,000 int64 1.4 and 1.9.) */
static bool suits_jumps(const struct vector_loop *loop)
{
    bool multiplies = false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->dtype == AKG_FLOAT32 || value->dtype == AKG_FLOAT64)
            return false;
        multiplies |=
            value->kind == VECTOR_OPERATION && value->operation == OP_MUL && !dtype_is_float(value->dtype);
    }
    return multiplies || hands_on_narrow(loop);
}

/* An innermost loop as values. `serially`: the vector code could not be had. */
static struct vector_loop *build_loop(struct planning *planning, const struct ir_stmt *stmt, bool serially)
{
    const struct dependences *dependences = stmt->independent ? NULL : plan_dependences_of(planning, stmt);
    const struct dependence_loop *verdict =
        stmt->independent ? &independent : dependence_loop_is_parallel(dependences, stmt);
    struct arena *arena = &planning->plan->arena;
    if (verdict && verdict->leaves)
        return serially ? NULL : build_leaving(planning, stmt);
    struct vector_loop *loop =
        serially ? NULL : vector_build(arena, stmt, verdict, dependences, planning->options);
    /* with AVX-512 it would be scattered: a column of 200 scaled 126 ns, and one by one 74 (Zen 4) */
    if (loop && planning->options->target == X86_TARGET_AVX512 && vector_goes_down_columns(loop)) {
        struct vector_loop *one = vector_serial_build(arena, stmt, planning->options);
        return one ? one : loop;
    }
    if (!loop && !serially && has_branches(stmt->body))
        loop = build_packing(planning, stmt);
    if (loop || has_branches(stmt->body))
        return loop;
    loop = vector_serial_build(arena, stmt, planning->options);
    return loop && suits_jumps(loop) ? NULL : loop;
}

static void plan_loop(struct planning *planning, const struct ir_stmt *stmt)
{
    if (!add_loop(planning, build_loop(planning, stmt, false)))
        add_loop(planning, build_loop(planning, stmt, true));
}

/* Whether each stream lies as the code takes it to lie, whatever the tensors of a call. */
static bool is_for_all_strides(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->streams.count; k++)
        if (loop->streams.items[k].assumed || loop->streams.items[k].step_kind == VECTOR_RUN_TIME_STEP)
            return false;
    return true;
}

static struct vector_loop *build_rows(struct planning *planning, struct vector_nest *nest)
{
    const struct ir_stmt *rows = nest->loops[VECTOR_ROWS], *columns = nest->loops[VECTOR_COLUMNS];
    const struct dependences *dependences = columns->independent ? NULL : plan_dependences_of(planning, rows);
    const struct dependence_loop *verdict =
        columns->independent ? &independent : dependence_loop_is_parallel(dependences, columns);
    return vector_rows_build(&planning->plan->arena, nest, plan_is_parallel(planning, rows), verdict,
                             dependences, planning->options);
}

/* Likewise for a loop around a vector loop. */
static bool plan_rows(struct planning *planning, const struct ir_stmt *stmt)
{
    struct vector_nest *nest = arena_new(&planning->plan->arena, struct vector_nest);
    if (!vector_rows_shape(stmt, nest))
        return false;
    struct vector_loop *loop = build_rows(planning, nest);
    return add_loop(planning, loop) && is_for_all_strides(loop);
}

/* The nest whose outermost loop, of the level `first`, it is; NULL: there is none. */
static struct vector_loop *build_nest(struct planning *planning, const struct ir_stmt *stmt, int first)
{
    struct vector_nest *nest = arena_new(&planning->plan->arena, struct vector_nest);
    if (!vector_nest_shape(stmt, first, nest))
        return NULL;
    for (int level = first; level <= VECTOR_COLUMNS; level++)
        if (!plan_is_parallel(planning, nest->loops[level]))
            return NULL;
    return vector_nest_build(&planning->plan->arena, nest, planning->options);
}

/* Whether the loop is, with others inside, what vectors run along the columns of. */
static bool is_nest(struct planning *planning, const struct ir_stmt *stmt)
{
    return build_nest(planning, stmt, VECTOR_ROWS) || build_nest(planning, stmt, VECTOR_COLUMNS);
}

/* Likewise, with lanes along its innermost loop. */
static struct vector_loop *build_along(struct planning *planning, struct vector_nest *nest)
{
    for (int level = nest->first; level <= VECTOR_COLUMNS; level++)
        if (!plan_is_parallel(planning, nest->loops[level]))
            return NULL;
    nest->is_along = true;
    return vector_nest_build(&planning->plan->arena, nest, planning->options);
}

/* NULL, too, where that does not pay always. */
static struct vector_loop *build_always_along(struct planning *planning, const struct ir_stmt *stmt,
                                              int first)
{
    struct vector_nest *nest = arena_new(&planning->plan->arena, struct vector_nest);
    return vector_nest_shape(stmt, first, nest) &&
                   vector_may_go_along(nest, planning->options) == VECTOR_ALWAYS_ALONG
               ? build_along(planning, nest)
               : NULL;
}

/* NULL, too, where it pays always, or never: which hangs on whether there is another nest. */
static struct vector_loop *build_sometimes_along(struct planning *planning, const struct ir_stmt *stmt,
                                                 int first)
{
    struct vector_nest *nest = arena_new(&planning->plan->arena, struct vector_nest);
    bool is_told = first != VECTOR_COLUMNS || (pass_is_of_call(stmt->low) && pass_is_of_call(stmt->high));
    if (!vector_nest_shape(stmt, first, nest))
        return NULL;
    enum vector_along beside = vector_may_go_along(nest, planning->options);
    nest->is_alone = true;
    if (beside == VECTOR_ALWAYS_ALONG || vector_may_go_along(nest, planning->options) == VECTOR_NEVER_ALONG)
        return NULL;
    nest->is_alone = !is_nest(planning, stmt);
    return nest->is_alone || (beside == VECTOR_SOMETIMES_ALONG && is_told) ? build_along(planning, nest)
                                                                           : NULL;
}

/* A loop inside of one that may be a band; NULL: it is no part of such. */
static struct vector_loop *build_part(struct planning *planning, const struct ir_stmt *inner, bool serially)
{
    if (!ir_block_has_loop(inner->body))
        return build_loop(planning, inner, serially);
    struct vector_loop *nest = build_nest(planning, inner, VECTOR_ROWS);
    return nest && vector_nest_is_small(nest) ? nest : NULL;
}

typedef LIST(struct vector_loop *) part_list;

/* The loops of the block, and of conditions in it, in their order; false: one is no part of a band. */
static bool build_parts(struct planning *planning, const struct ir_stmt *first, bool serially,
                        part_list *parts)
{
    for (const struct ir_stmt *inner = first; inner; inner = inner->next) {
        if (vector_is_condition(inner) && (!build_parts(planning, inner->body, serially, parts) ||
                                           !build_parts(planning, inner->otherwise, serially, parts)))
            return false;
        struct vector_loop *loop = inner->kind == IR_FOR ? build_part(planning, inner, serially) : NULL;
        if (loop)
            list_push(&planning->plan->arena, parts, loop);
        else if (inner->kind == IR_FOR)
            return false;
    }
    return true;
}

/* The loops inside are parts of a band, or there is none. */
static struct vector_loop *build_band(struct planning *planning, const struct ir_stmt *stmt, bool serially)
{
    part_list parts = {.count = 0};
    return build_parts(planning, stmt->body, serially, &parts) && parts.count
               ? vector_band_build(&planning->plan->arena, stmt, parts.items, planning->options)
               : NULL;
}

/* Whether a loop inside is a vector loop if C finds, each time, that it looks ahead: which a band cannot ask.
 */
static bool has_vectors_alone(struct planning *planning, const struct ir_stmt *first)
{
    for (const struct ir_stmt *inner = first; inner; inner = inner->next) {
        const struct vector_loop *loop = inner->kind == IR_FOR ? build_part(planning, inner, false) : NULL;
        if (loop && !loop->is_serial && !loop->stops && loop->reaches.count)
            return true;
        if (vector_is_condition(inner) &&
            (has_vectors_alone(planning, inner->body) || has_vectors_alone(planning, inner->otherwise)))
            return true;
    }
    return false;
}

/* Whether nothing else is needed of the loop. */
static bool plan_band(struct planning *planning, const struct ir_stmt *stmt)
{
    for (int serially = 0; serially < 2 && !(serially && has_vectors_alone(planning, stmt->body));
         serially++) {
        struct vector_loop *band = build_band(planning, stmt, serially);
        if (add_loop(planning, band))
            return is_for_all_strides(band);
    }
    return false;
}

/* Loops around a band that hold nothing else, as part of it, for all strides. Rows that C would call for
 * again and again are one, too. (Zen 4: three tensors, 512 times four rows of 32 elements 4.9 us, and as a
 * band 3.6; of 16 elements 5.3 and 2.8; 8 times 64 rows of 64 elements 3.1 and 2.9.) */
static bool plan_repeated(struct planning *planning, const struct ir_stmt *stmt)
{
    const struct ir_stmt *loops[AKG_MAX_RANK], *inner = stmt;
    int count = 0;
    while (count < AKG_MAX_RANK && inner->body && inner->body->kind == IR_FOR && !inner->body->next &&
           ir_block_has_loop(inner->body->body)) {
        loops[count++] = inner;
        inner = inner->body;
        if (vector_plan_splits(planning->plan, inner))
            return false;
    }
    if (!count || is_nest(planning, inner))
        return false;
    for (int serially = 0; serially < 2; serially++) {
        struct vector_loop *band = build_band(planning, inner, serially);
        int left = band && is_for_all_strides(band) ? count : 0;
        while (left && vector_band_repeat(&planning->plan->arena, loops[left - 1], band, planning->options))
            left--;
        if (band && band->stmt == stmt && add_loop(planning, band))
            return true;
    }
    return false;
}

/* Whether all of what the loop is is done by the machine code, but for loops of no iteration. */
static bool plan_nest(struct planning *planning, const struct ir_stmt *stmt)
{
    for (int first = VECTOR_ROWS; first <= VECTOR_COLUMNS; first++) {
        struct vector_loop *loop = build_always_along(planning, stmt, first);
        if (add_loop(planning, loop))
            return is_for_all_strides(loop);
        loop = build_nest(planning, stmt, first);
        if (add_loop(planning, loop))
            return is_for_all_strides(loop);
    }
    return false;
}

/* A nest with lanes along its innermost loop, which stands beside other code: for calls that have few
 * columns, where these can be lanes, too. Where threads share these, how many all of them have must be known
 * to each. */
static void plan_along(struct planning *planning, const struct ir_stmt *stmt)
{
    for (int first = VECTOR_ROWS; first <= VECTOR_COLUMNS; first++) {
        struct vector_loop *loop = build_sometimes_along(planning, stmt, first);
        if (loop)
            loop->is_beside = true;
        if (add_loop(planning, loop))
            return;
    }
}

/* Likewise for a loop around a nest, where both are one nest for all strides. */
static bool plan_merged(struct planning *planning, const struct ir_stmt *stmt)
{
    const struct ir_stmt *inner = stmt->body;
    if (!inner || inner->kind != IR_FOR || inner->next)
        return false;
    for (int first = VECTOR_ROWS; first <= VECTOR_COLUMNS; first++) {
        struct vector_nest shape;
        if (!vector_nest_shape(inner, first, &shape) || !vector_nest_merges(&shape, stmt) ||
            !plan_is_parallel(planning, stmt))
            continue;
        struct vector_loop *loop = build_nest(planning, inner, first);
        if (!loop || loop->stops || loop->nest->index >= 0 || !is_for_all_strides(loop))
            continue;
        struct vector_nest *nest = arena_new(&planning->plan->arena, struct vector_nest);
        *nest = *loop->nest;
        nest->merged = stmt;
        loop->nest = nest;
        loop->stmt = stmt;
        if (add_loop(planning, loop))
            return true;
    }
    return false;
}

/* Loops that are all there is in one another, the innermost one last. */
struct chain {
    const struct ir_stmt *loops[AKG_MAX_RANK];
    int count;
};

static bool find_chain(const struct ir_stmt *stmt, struct chain *chain)
{
    for (chain->count = 0; stmt; stmt = stmt->body) {
        if (stmt->kind != IR_FOR || stmt->next || chain->count == AKG_MAX_RANK)
            return false;
        chain->loops[chain->count++] = stmt;
        if (!ir_block_has_loop(stmt->body))
            return chain->count > 2;
    }
    return false;
}

static bool is_apart(struct ir_expr *expr, void *context)
{
    const struct chain *chain = context;
    for (int k = 0; expr->kind == IR_SYMBOL && k < chain->count; k++)
        if (chain->loops[k]->symbol == expr->symbol)
            return false;
    return true;
}

/* Whether the loops inside go on as often for each iteration of those around, and what says how often may be
 * computed where there is none. */
static bool bounds_stay(struct chain *chain)
{
    for (int k = 1; k < chain->count; k++) {
        struct ir_expr *bounds[] = {chain->loops[k]->low, chain->loops[k]->high};
        for (int j = 0; j < 2; j++)
            if (!vector_is_harmless(bounds[j]) || !ir_expr_walk(bounds[j], is_apart, chain))
                return false;
    }
    return true;
}

/* The first of the loops that merge with one another down to `last`. */
static int first_merged(struct planning *planning, const struct chain *chain, int last, vector_equals *equals)
{
    int known = equals->count;
    for (; last > 0 && vector_loops_merge(&planning->plan->arena, chain->loops[last - 1], equals); last--)
        known = equals->count;
    equals->count = known; /* without those of a loop that does not merge */
    return last;
}

/* Rows and columns of which some are loops around loops that are one, from element to element: as many as may
 * be are columns. The loop is the outermost of the rows. */
static bool find_merged_rows(struct planning *planning, const struct ir_stmt *stmt, struct vector_nest *nest)
{
    struct chain chain;
    if (!find_chain(stmt, &chain) || !bounds_stay(&chain))
        return false;
    int last = chain.count - 1, inside = first_merged(planning, &chain, last, &nest->equals);
    int rows = inside > 0 ? inside - 1 : last - 1;
    inside = inside > 0 ? inside : last;
    if (first_merged(planning, &chain, rows, &nest->equals) > 0 || (rows == 0 && inside == last))
        return false;
    for (int k = 0; k < chain.count; k++)
        if (!plan_is_parallel(planning, chain.loops[k]))
            return false;
    nest->loops[VECTOR_ROWS] = chain.loops[rows];
    nest->loops[VECTOR_COLUMNS] = chain.loops[last];
    nest->depth = VECTOR_DEPTHS;
    nest->merged = rows > 0 ? stmt : NULL;
    nest->inside = inside < last ? chain.loops[inside] : NULL;
    return chain.loops[rows]->step == 1 && chain.loops[last]->step == 1;
}

/* Such loops; whether nothing else is needed of them. */
static bool plan_merged_rows(struct planning *planning, const struct ir_stmt *stmt)
{
    struct vector_nest *nest = arena_new(&planning->plan->arena, struct vector_nest);
    if (!find_merged_rows(planning, stmt, nest))
        return false;
    struct vector_loop *loop = build_rows(planning, nest);
    if (!loop)
        return false;
    loop->stmt = stmt;
    return add_loop(planning, loop) && is_for_all_strides(loop) && !nest->equals.count;
}

/* Short rows that are copied; whether all of what the loop is is done by that. */
static bool plan_copy(struct planning *planning, const struct ir_stmt *stmt)
{
    struct vector_loop *copy = vector_copy_build(&planning->plan->arena, stmt, planning->options);
    return add_loop(planning, copy) && !copy->most && is_for_all_strides(copy);
}

static void plan_block(struct planning *planning, const struct ir_stmt *first, int depth)
{
    enum { DEEPEST = 200, MOST = 1000 }; /* of a kernel: they are found by going through all of them */
    if (depth > DEEPEST)
        return;
    for (const struct ir_stmt *stmt = first; stmt && planning->plan->loops.count < MOST; stmt = stmt->next) {
        planning->is_inside = depth > 0;
        if (stmt->kind == IR_FOR && !ir_block_has_loop(stmt->body)) {
            plan_loop(planning, stmt);
            continue;
        }
        if (stmt->kind == IR_FOR)
            plan_along(planning, stmt);
        if (stmt->kind == IR_FOR &&
            (plan_copy(planning, stmt) || plan_merged(planning, stmt) || plan_nest(planning, stmt)))
            continue;
        if (stmt->kind == IR_FOR && vector_plan_find(planning->plan, stmt) < 0 &&
            plan_merged_rows(planning, stmt))
            continue;
        if (stmt->kind == IR_FOR && vector_plan_find(planning->plan, stmt) < 0 &&
            (plan_rows(planning, stmt) || (vector_plan_find(planning->plan, stmt) < 0 &&
                                           (plan_band(planning, stmt) || plan_repeated(planning, stmt)))))
            continue;
        if (!plan_leaves_out(planning, stmt))
            plan_block(planning, stmt->body, depth + 1);
        plan_block(planning, stmt->otherwise, depth + 1);
    }
}

static bool is_untouched(struct ir_stmt *stmt, void *context)
{
    const struct planning *planning = context;
    return !plan_leaves_out(planning, stmt) &&
           (stmt->kind != IR_FOR || (vector_plan_find(planning->plan, stmt) < 0 &&
                                     vector_plan_find_beside(planning->plan, stmt) < 0));
}

/* Whether other code is not needed of what is copied. */
static bool is_copied(const struct planning *planning, const struct ir_stmt *stmt)
{
    int number = vector_plan_find_beside(planning->plan, stmt);
    const struct vector_loop *copy = number < 0 ? NULL : planning->plan->loops.items[number];
    return copy && copy->copies && !copy->most && is_for_all_strides(copy);
}

/* Whether a loop of the block is machine code already, or a branch in it is left out. */
static bool is_touched(struct planning *planning, const struct ir_stmt *first)
{
    return !ir_block_walk((struct ir_stmt *)first, is_untouched, planning);
}

/* What is left of loops, as large as may be. */
static void plan_flows(struct planning *planning, const struct ir_stmt *first, int depth, bool in_short)
{
    enum { DEEPEST = 200, MOST = 1000 };
    struct vector_plan *plan = planning->plan;
    if (depth > DEEPEST)
        return;
    for (const struct ir_stmt *stmt = first; stmt && plan->loops.count < MOST; stmt = stmt->next) {
        bool loops = stmt->kind == IR_FOR || stmt->kind == IR_WHILE, has_short = in_short;
        if (is_copied(planning, stmt))
            continue;
        int number = loops ? vector_plan_find(plan, stmt) : -1;
        if (number >= 0) {
            if (!add_loop(planning, flow_plan_ragged(plan, planning->kernel, stmt, planning->options)) &&
                plan->loops.items[number]->band && !in_short)
                add_loop(planning, flow_plan_short(plan, planning->kernel, stmt, planning->options));
            continue;
        }
        bool touched = loops && is_touched(planning, stmt->body);
        if (loops && !touched &&
            add_loop(planning, flow_plan_loop(plan, planning->kernel, stmt, planning->options)))
            continue;
        if (touched && !in_short)
            has_short =
                add_loop(planning, flow_plan_ragged(plan, planning->kernel, stmt, planning->options)) ||
                add_loop(planning, flow_plan_short(plan, planning->kernel, stmt, planning->options));
        if (!plan_leaves_out(planning, stmt))
            plan_flows(planning, stmt->body, depth + 1, has_short);
        plan_flows(planning, stmt->otherwise, depth + 1, has_short);
    }
}

/* All that is machine code. */
static void plan_all(struct planning *planning)
{
    if (planning->options->target == X86_TARGET_NONE)
        return;
    plan_block(planning, planning->kernel->body, 0);
    plan_flows(planning, planning->kernel->body, 0, false);
}

/* All loops into pages, each function from an address that suits it. */
static bool place_code(struct planning *planning)
{
    struct vector_plan *plan = planning->plan;
    struct x86_code code;
    int *starts = arena_array(&plan->arena, int, plan->loops.count);
    if (!plan->loops.count)
        return true;
    x86_code_init(&code, &plan->arena);
    for (int k = 0; k < plan->loops.count; k++) {
        while (code.bytes.count % 64)
            list_push(&plan->arena, &code.bytes, 0xcc);
        starts[k] = code.bytes.count;
        plan->loops.items[k]->size = vector_x86_encode(&code, &planning->listings.items[k]);
    }
    x86_finish(&code);
    if (!code_pages_map(&plan->pages, (size_t)code.bytes.count))
        return false;
    memcpy(plan->pages.memory, code.bytes.items, (size_t)code.bytes.count);
    for (int k = 0; k < plan->loops.count; k++)
        plan->loops.items[k]->code = (const char *)plan->pages.memory + starts[k];
    return code_pages_seal(&plan->pages);
}

/* Runs `step` with the plan's arena escaping here. */
static bool guarded(struct planning *planning, bool (*step)(struct planning *planning))
{
    jmp_buf escape;
    volatile bool good = false;
    memset(planning->plan, 0, sizeof *planning->plan);
    arena_init(&planning->plan->arena, &escape);
    if (setjmp(escape) == 0)
        good = step(planning);
    planning->plan->arena.escape = NULL;
    if (!good)
        vector_plan_free(planning->plan);
    return good;
}

static bool make(struct planning *planning)
{
    plan_shares(planning);
    plan_all(planning);
    return place_code(planning);
}

bool vector_plan_make(struct vector_plan *plan, const struct ir_kernel *kernel,
                      const struct vector_options *options, bool defers)
{
    struct planning planning = {.plan = plan, .kernel = kernel, .options = options, .defers = defers};
    return guarded(&planning, make);
}

void vector_plan_free(struct vector_plan *plan)
{
    code_pages_free(&plan->pages);
    arena_free(&plan->arena);
}

bool vector_plan_splits(const struct vector_plan *plan, const struct ir_stmt *stmt)
{
    for (int k = 0; plan && k < plan->shared.count; k++)
        if (plan->shared.items[k] == stmt)
            return true;
    return false;
}

/* No more iterations than stay together, however long each is. */
static bool is_one_piece(const struct ir_stmt *loop)
{
    return !loop->reductions.count && split_grain(loop) == SPLIT_GRAIN_VECTORS &&
           vector_extent_below(loop, SPLIT_GRAIN_VECTORS + 1);
}

bool vector_plan_is_split(const struct vector_plan *plan, const struct ir_stmt *stmt)
{
    return vector_plan_splits(plan, stmt) && work_at_most(stmt) >= SPLIT_LEAST_WORK && !is_one_piece(stmt);
}

int vector_plan_find(const struct vector_plan *plan, const struct ir_stmt *stmt)
{
    for (int k = 0; plan && k < plan->loops.count; k++)
        if (plan->loops.items[k]->stmt == stmt && !plan->loops.items[k]->is_beside)
            return k;
    return -1;
}

int vector_plan_find_beside(const struct vector_plan *plan, const struct ir_stmt *stmt)
{
    for (int k = 0; plan && k < plan->loops.count; k++)
        if (plan->loops.items[k]->stmt == stmt && plan->loops.items[k]->is_beside)
            return k;
    return -1;
}

int vector_plan_find_flow(const struct vector_plan *plan, const struct ir_stmt *stmt)
{
    for (int k = 0; plan && k < plan->loops.count; k++)
        if (plan->loops.items[k]->stmt == stmt && plan->loops.items[k]->flow)
            return k;
    return -1;
}

/* ---- text ----------------------------------------------------------------------------------- */

static bool plan_only(struct planning *planning)
{
    plan_shares(planning);
    plan_all(planning);
    return true;
}

bool vector_plan_print(struct text *out, const struct ir_kernel *kernel, const struct vector_options *options)
{
    struct vector_plan plan;
    struct planning planning = {.plan = &plan, .kernel = kernel, .options = options};
    if (!guarded(&planning, plan_only))
        return false;
    text_format(out, "# %s, target %s: %d vector loop%s\n", kernel->name, x86_target_name(options->target),
                plan.loops.count, plan.loops.count == 1 ? "" : "s");
    for (int k = 0; k < plan.loops.count; k++)
        vector_plan_print_loop(out, k, plan.loops.items[k], &planning.listings.items[k]);
    vector_plan_free(&plan);
    return true;
}

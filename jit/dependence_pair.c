/*
 * dependence_pair.c: the dependences between two accesses.
 *
 * The directions of the common loops are tried one by one, outermost first, on the system of
 * dependence_system.c, but for those that an index rules out which is the same on both sides and says in
 * which iteration a loop is; what is possible becomes boxes, and boxes with their distances become
 * dependences. Where products are involved, and the solution found does not fit them, the prover, which knows
 * about them, may still refute a direction.
 */
#include "dependence_private.h"

#include <string.h>

enum { RECORDS = 50000 /* dependences of one kernel */, CALLS = 64 /* kept of them */, USUAL = 3 };

/* ---- what is plain ---------------------------------------------------------- */

/* Whether the value is the same wherever the loops outside of `level` are in the same iteration. */
static bool is_settled(const struct dependence_place *place, const struct linear_monomial *monomial,
                       int level)
{
    for (int k = 0; k < monomial->degree; k++) {
        int atom = monomial->atoms[k], depth = 0;
        while (depth < level && place->scopes[depth].atom != atom)
            depth++;
        if (atom >= place->scopes[0].first_atom && depth == level)
            return false;
    }
    return true;
}

/* Whether the form says in which iteration the loop of the level is, once those outside of it are settled. */
static bool tells_iteration(const struct linear_space *space, const struct dependence_place *place,
                            const struct linear *form, int level)
{
    int atom = place->scopes[level].atom;
    bool found = false;

    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        if (monomial->degree == 1 && monomial->atoms[0] == atom)
            found = true;
        else if (!is_settled(place, monomial, level))
            return false;
    }
    return found;
}

/* By how much an index grows from one iteration of a loop to the next, modulo 2^64, where nothing else in it
 * changes while the loop runs. */
struct growth {
    struct ir_stmt *loop;
    int64_t step;
    int left; /* nodes that are looked at */
};

/* What it brings to the growth, `factor` times; false: nobody can tell. */
static bool add_growth(struct growth *growth, const struct ir_expr *expr, int64_t factor)
{
    struct ir_symbol *symbol = expr->symbol;
    if (--growth->left < 0)
        return false;
    if (expr->kind == IR_SYMBOL && symbol == growth->loop->symbol) {
        growth->step = (int64_t)((uint64_t)growth->step + (uint64_t)factor);
        return true;
    }
    if (expr->kind == IR_SYMBOL) {
        bool is_inside = ir_block_declares(growth->loop->body, symbol);
        if (is_inside)
            return symbol->kind == IR_SYMBOL_LET && symbol->value &&
                   add_growth(growth, symbol->value, factor);
        return symbol->kind != IR_SYMBOL_VARIABLE || !ir_block_assigns(growth->loop->body, symbol);
    }
    if (expr->kind != IR_OPERATION || expr->count != 2)
        return expr->kind == IR_INTEGER;
    const struct ir_expr *a = expr->operands[0], *b = expr->operands[1];
    if (expr->operation == OP_ADD || expr->operation == OP_SUB)
        return add_growth(growth, a, factor) &&
               add_growth(growth, b, expr->operation == OP_ADD ? factor : (int64_t)(0 - (uint64_t)factor));
    if (expr->operation != OP_MUL || (a->kind != IR_INTEGER && b->kind != IR_INTEGER))
        return false;
    int64_t by = a->kind == IR_INTEGER ? a->integer : b->integer;
    return add_growth(growth, a->kind == IR_INTEGER ? b : a, (int64_t)((uint64_t)factor * (uint64_t)by));
}

/* Whether the index is another one in each iteration of the loop, though nobody knows how large it is and its
 * sums may wrap: it goes on by less than 2^16, and no loop has 2^48 iterations. */
static bool moves_on(const struct ir_expr *index, struct ir_stmt *loop)
{
    enum { NODES = 30, FAR = 1 << 16 };
    struct growth growth = {.loop = loop, .left = NODES};
    return loop->kind == IR_FOR && loop->step > -FAR && loop->step < FAR && index->dtype == AKG_INT64 &&
           add_growth(&growth, index, 1) && growth.step > -FAR && growth.step < FAR && growth.step != 0 &&
           growth.step * loop->step > -FAR && growth.step * loop->step < FAR;
}

/* Whether two accesses with the loops outside of `level` in the same iteration reach the same element only
 * where that of the level is, too: an index of both, which is the same expression, says so. */
static bool is_pinned(const struct dependence_builder *builder, const struct dependence_use *a,
                      const struct dependence_use *b, int level)
{
    const struct linear_space *space = &builder->context->space;
    const struct ir_access *of_a = builder->result->accesses.items[a->number].access,
                           *of_b = builder->result->accesses.items[b->number].access;
    struct ir_stmt *loop = builder->result->loops.items[a->place->scopes[level].loop].stmt;

    for (int axis = 0; axis < of_a->buffer->rank; axis++) {
        bool same = linear_equal(&a->indices[axis], &b->indices[axis]);
        if (same && tells_iteration(space, a->place, &a->indices[axis], level))
            return true;
        if (same && ir_expr_equal(of_a->indices[axis], of_b->indices[axis]) &&
            moves_on(of_a->indices[axis], loop))
            return true;
    }
    return false;
}

/* Whether the access reaches an element in one iteration of the loops alone. */
static bool is_alone(const struct dependence_builder *builder, const struct dependence_use *use, int depth)
{
    for (int level = 0; level < depth; level++)
        if (!is_pinned(builder, use, use, level))
            return false;
    return true;
}

/* Whether an index of both is a number, and not the same one. */
static bool are_apart(const struct dependence_builder *builder, const struct dependence_use *a,
                      const struct dependence_use *b)
{
    int rank = builder->result->accesses.items[a->number].access->buffer->rank;

    for (int axis = 0; axis < rank; axis++)
        if (!a->indices[axis].count && !b->indices[axis].count &&
            a->indices[axis].constant != b->indices[axis].constant)
            return true;
    return false;
}

/* ---- directions ---------------------------------------------------------- */

/* Iterations from the first access to the second; false in a while loop. */
static bool time_between(struct dependence_pair *pair, int level, struct linear *out)
{
    const struct dependence_scope *scope = &pair->a->place->scopes[level];
    struct linear here, there;

    if (scope->atom < 0)
        return false;
    linear_of_atom(&pair->builder->context->space, scope->atom, &here);
    return dependence_map_form(pair->builder, pair->a->place, &here, &there) &&
           (scope->down ? linear_add(out, &here, -1, &there) : linear_add(out, &there, -1, &here));
}

/* least <= time (or, when `above` is false, time <= least) */
static void add_time(struct dependence_pair *pair, const struct linear *time, int64_t least, bool above)
{
    struct linear bound;

    linear_constant(&bound, least);
    if (above)
        dependence_add_less(pair, &bound, 0, time);
    else
        dependence_add_less(pair, time, 0, &bound);
}

static void add_directions(struct dependence_pair *pair, int level, unsigned directions)
{
    struct linear time;

    if (!time_between(pair, level, &time))
        return;
    if (!(directions & DEPENDENCE_GREATER))
        add_time(pair, &time, directions & DEPENDENCE_EQUAL ? 0 : 1, true);
    if (!(directions & DEPENDENCE_LESS))
        add_time(pair, &time, directions & DEPENDENCE_EQUAL ? 0 : -1, false);
}

/* The outer `depth` loops are in the same iteration. */
static void add_shared(struct dependence_pair *pair, int depth)
{
    for (int k = 0; k < pair->shared_count; k++)
        if (pair->shared[k].depth == depth)
            dependence_add_row(pair, &pair->shared[k].difference, true);
}

/* With products: what the prover makes of the last direction. */
static bool prover_refutes(struct dependence_pair *pair, int level, enum dependence_direction direction)
{
    struct prover *prover = &pair->builder->context->prover;
    struct linear time, negative;
    int facts = prover->facts.count;
    bool refuted = false;

    if (direction == DEPENDENCE_EQUAL || dependence_is_hopeless(pair->builder) ||
        !time_between(pair, level, &time) || !linear_scale(&negative, &time, -1))
        return false;
    for (int k = 0; k < pair->system.count; k++) {
        struct linear form = pair->forms[k];
        prover_add(prover, &form, false);
        if (pair->system.rows[k].equality && linear_scale(&form, &form, -1))
            prover_add(prover, &form, false);
    }
    refuted = prover_prove(prover, direction == DEPENDENCE_LESS ? &negative : &time);
    prover->facts.count = facts;
    dependence_note_answer(pair->builder, refuted);
    return refuted;
}

static void box_push(struct dependence_pair *pair, const unsigned char *directions, bool exact)
{
    struct dependence_box *box = &pair->boxes[pair->box_count++];

    memcpy(box->directions, directions, sizeof box->directions);
    box->exact = exact;
}

/* Whether it makes a difference that what the loop of the level carries, or one outside of it, is refuted:
 * where verdicts are wanted, the first reason for one is as good as all. */
static bool is_worth_refuting(const struct dependence_pair *pair, int level)
{
    int carrying = 0;

    while (carrying < level && pair->vector[carrying] == DEPENDENCE_EQUAL)
        carrying++;
    return !pair->builder->judges || !pair->builder->carries[pair->a->place->scopes[carrying].loop];
}

static void explore(struct dependence_pair *pair, int level, bool equal,
                    enum dependence_possibility possibility);

/* `is_only`: no other one is looked at, so that it need not be solved where one further in will be. */
static void explore_direction(struct dependence_pair *pair, int level, bool equal,
                              enum dependence_direction direction, bool is_only)
{
    struct dependence_mark mark = dependence_mark_set(pair);
    bool still_equal = equal && direction == DEPENDENCE_EQUAL;
    enum dependence_possibility possibility = DEPENDENCE_PERHAPS;

    add_directions(pair, level, direction);
    if (still_equal)
        add_shared(pair, level + 1);
    dependence_define_atoms(pair);
    bool is_asked = !is_only || level + 1 == pair->depth;
    if (is_asked)
        possibility = dependence_solve(pair);
    bool is_doubtful = is_asked && pair->now.loose && possibility < DEPENDENCE_FITTING;
    if (possibility != DEPENDENCE_NEVER &&
        !(is_doubtful && is_worth_refuting(pair, level) && prover_refutes(pair, level, direction))) {
        pair->vector[level] = (unsigned char)direction;
        explore(pair, level + 1, still_equal, possibility);
    }
    dependence_mark_return(pair, &mark);
}

/* The directions of a level that are worth looking at. Of one access and itself, those in which the second is
 * later. */
static unsigned directions_of(const struct dependence_pair *pair, int level, bool equal)
{
    const struct dependence_builder *builder = pair->builder;
    unsigned directions = DEPENDENCE_ANY;

    if (level < pair->allocated ||
        (equal && (builder->result->loops.items[pair->a->place->scopes[level].loop].stmt->independent ||
                   is_pinned(builder, pair->a, pair->b, level))))
        directions = DEPENDENCE_EQUAL;
    if (equal && pair->a == pair->b)
        directions &= ~(unsigned)DEPENDENCE_GREATER;
    if (equal && (level + 1 >= pair->exclusive || (pair->a == pair->b && level + 1 == pair->depth)))
        directions &= ~(unsigned)DEPENDENCE_EQUAL;
    return directions;
}

/* Every vector of directions that is possible; where verdicts are wanted, behind the loop that carries it,
 * any. */
static void explore(struct dependence_pair *pair, int level, bool equal,
                    enum dependence_possibility possibility)
{
    static const enum dependence_direction order[] = {DEPENDENCE_LESS, DEPENDENCE_EQUAL, DEPENDENCE_GREATER};
    if (pair->builder->judges && !equal && possibility >= DEPENDENCE_FITTING)
        for (; level < pair->depth; level++)
            pair->vector[level] = DEPENDENCE_ANY;
    if (level == pair->depth) {
        box_push(pair, pair->vector, possibility == DEPENDENCE_SURELY);
        return;
    }
    unsigned directions = directions_of(pair, level, equal);
    for (int k = 0; k < 3; k++)
        if (directions & order[k])
            explore_direction(pair, level, equal, order[k], directions == order[k]);
}

/* ---- boxes --------------------------------------------------------------- */

static int box_level(const struct dependence_pair *pair, const struct dependence_box *box)
{
    int level = 0;

    while (level < pair->depth && box->directions[level] == DEPENDENCE_EQUAL)
        level++;
    return level;
}

/* Puts b into a when that is a box again and both are carried by the same loop. */
static bool box_merge(const struct dependence_pair *pair, struct dependence_box *a,
                      const struct dependence_box *b)
{
    int different = -1;

    if (a->exact != b->exact)
        return false;
    for (int k = 0; k < pair->depth; k++) {
        if (a->directions[k] == b->directions[k])
            continue;
        if (different >= 0)
            return false;
        different = k;
    }
    if (different < 0)
        return true;
    if (different <= box_level(pair, a) || different <= box_level(pair, b))
        return false;
    a->directions[different] |= b->directions[different];
    return true;
}

static void merge_boxes(struct dependence_pair *pair)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int a = 0; a < pair->box_count; a++) {
            for (int b = a + 1; b < pair->box_count; b++) {
                if (!box_merge(pair, &pair->boxes[a], &pair->boxes[b]))
                    continue;
                pair->box_count--;
                memmove(&pair->boxes[b], &pair->boxes[b + 1],
                        sizeof *pair->boxes * (size_t)(pair->box_count - b));
                b--;
                changed = true;
            }
        }
    }
}

/* All vectors, without looking. */
static void assume_all(struct dependence_pair *pair)
{
    unsigned char directions[DEPENDENCE_LOOPS];

    pair->box_count = 0;
    for (int level = pair->allocated; level <= pair->depth; level++) {
        for (int k = 0; k < DEPENDENCE_LOOPS; k++)
            directions[k] = k < level ? DEPENDENCE_EQUAL : DEPENDENCE_ANY;
        if (level == pair->depth) {
            if (pair->a != pair->b)
                box_push(pair, directions, false);
            return;
        }
        directions[level] = DEPENDENCE_LESS;
        box_push(pair, directions, false);
        directions[level] = DEPENDENCE_GREATER;
        if (pair->a != pair->b)
            box_push(pair, directions, false);
    }
}

/* ---- dependences --------------------------------------------------------- */

/* The one distance that the box has in the loop, when it has only one. */
static bool find_distance(struct dependence_pair *pair, int level, int64_t candidate)
{
    struct dependence_mark mark = dependence_mark_set(pair);
    struct linear time;
    bool only = time_between(pair, level, &time);

    for (int above = 0; above < 2 && only; above++) {
        add_time(pair, &time, above ? candidate + 1 : candidate - 1, above);
        dependence_define_atoms(pair);
        only = dependence_solve(pair) == DEPENDENCE_NEVER;
        dependence_mark_return(pair, &mark);
    }
    return only;
}

/* Of the solution found last: what it does not speak of is as usual. */
static void keep_call(struct dependence_pair *pair, struct dependence *dependence)
{
    const struct ir_kernel *kernel = pair->builder->result->kernel;
    const struct linear_space *space = &pair->builder->context->space;
    int64_t *dims = arena_array(kernel->arena, int64_t, kernel->dims.count + 1);
    int64_t *attributes = arena_array(kernel->arena, int64_t, kernel->attributes.count + 1);
    __int128 value;

    for (int k = 0; k < kernel->dims.count; k++)
        dims[k] = USUAL;
    for (int k = 0; k < kernel->attributes.count; k++)
        attributes[k] = !ir_known_holds(kernel->attributes.items[k]->known, 0);
    for (int k = 0; k < pair->now.columns; k++) {
        struct linear form = {1, 0, {{pair->monomials[k], 1}}};
        const struct linear_monomial *monomial = &space->monomials.items[pair->monomials[k]];
        const struct linear_atom *atom = linear_atom_at(space, monomial->atoms[0]);
        if (monomial->degree != 1 || (atom->kind != LINEAR_DIM && atom->kind != LINEAR_ATTRIBUTE) ||
            !dependence_form_value(pair, &form, &value) || value > INT32_MAX || value < -INT32_MAX)
            continue;
        (atom->kind == LINEAR_DIM ? dims : attributes)[atom->symbol->index] = (int64_t)value;
    }
    dependence->dims = dims;
    dependence->attributes = attributes;
}

/* Distances from the first access to the second. */
static void find_distances(struct dependence_pair *pair, const struct dependence_box *box,
                           struct dependence *dependence)
{
    int64_t candidates[DEPENDENCE_LOOPS];
    bool has_candidate[DEPENDENCE_LOOPS] = {false};
    struct dependence_mark mark = dependence_mark_set(pair);
    struct linear time;
    __int128 value;

    for (int k = 0; k < dependence->level; k++)
        add_shared(pair, k + 1);
    for (int k = 0; k < pair->depth; k++) {
        dependence->has_distance[k] = box->directions[k] == DEPENDENCE_EQUAL;
        if (box->directions[k] != (DEPENDENCE_LESS | DEPENDENCE_GREATER))
            add_directions(pair, k, box->directions[k]);
    }
    dependence_define_atoms(pair);
    pair->system.variables = pair->now.columns;
    bool solved = pair->builder->solver.work <= DEPENDENCE_WORK &&
                  integer_solve(&pair->builder->solver, &pair->system) == INTEGER_SOME;
    if (solved && dependence->level < pair->depth && pair->builder->result->items.count < CALLS)
        keep_call(pair, dependence);
    for (int k = 0; solved && k < pair->depth; k++) {
        has_candidate[k] = !dependence->has_distance[k] && time_between(pair, k, &time) &&
                           dependence_form_value(pair, &time, &value) && value < INT32_MAX &&
                           value > -INT32_MAX;
        candidates[k] = has_candidate[k] ? (int64_t)value : 0;
    }
    for (int k = 0; k < pair->depth; k++) {
        if (!has_candidate[k] || !find_distance(pair, k, candidates[k]))
            continue;
        dependence->has_distance[k] = true;
        dependence->distance[k] = candidates[k];
    }
    dependence_mark_return(pair, &mark);
}

static unsigned char reversed(unsigned directions)
{
    return (unsigned char)((directions & DEPENDENCE_EQUAL) |
                           (directions & DEPENDENCE_LESS ? DEPENDENCE_GREATER : 0) |
                           (directions & DEPENDENCE_GREATER ? DEPENDENCE_LESS : 0));
}

static enum dependence_kind kind_of(const struct dependence_access *source,
                                    const struct dependence_access *sink)
{
    if (source->load)
        return DEPENDENCE_ANTI;
    return sink->load ? DEPENDENCE_FLOW : DEPENDENCE_OUTPUT;
}

static void box_report(struct dependence_pair *pair, const struct dependence_box *box)
{
    struct dependences *result = pair->builder->result;
    struct dependence dependence = {
        .source = pair->a->number, .sink = pair->b->number, .depth = pair->depth, .exact = box->exact};

    dependence.level = box_level(pair, box);
    memcpy(dependence.directions, box->directions, sizeof dependence.directions);
    if (!pair->builder->judges)
        find_distances(pair, box, &dependence);
    if (dependence.level < pair->depth && box->directions[dependence.level] == DEPENDENCE_GREATER) {
        dependence.source = pair->b->number;
        dependence.sink = pair->a->number;
        for (int k = 0; k < pair->depth; k++) {
            dependence.directions[k] = reversed(box->directions[k]);
            dependence.distance[k] = -dependence.distance[k];
        }
    }
    const struct dependence_access *source = &result->accesses.items[dependence.source],
                                   *sink = &result->accesses.items[dependence.sink];
    dependence.kind = kind_of(source, sink);
    dependence.reduction = source->reduction != OPERATION_COUNT && source->reduction == sink->reduction;
    list_push(result->kernel->arena, &result->items, dependence);
    if (dependence.level < dependence.depth && !dependence.reduction)
        pair->builder->carries[pair->a->place->scopes[dependence.level].loop] = true;
}

static int common_loops(const struct dependence_place *a, const struct dependence_place *b)
{
    int depth = 0;

    while (depth < DEPENDENCE_LOOPS && depth < a->depth && depth < b->depth &&
           a->scopes[depth].loop == b->scopes[depth].loop)
        depth++;
    return depth;
}

bool dependence_test_pair(struct dependence_builder *builder, struct dependence_use *a,
                          struct dependence_use *b)
{
    struct dependence_pair *pair = builder->pair;
    int depth = common_loops(a->place, b->place);

    if (!depth || (a == b ? is_alone(builder, a, depth) : are_apart(builder, a, b)))
        return true;
    if (builder->result->items.count >= RECORDS)
        return false;
    if (!pair) {
        builder->pair = pair = arena_take(builder->context->arena, sizeof *pair); /* large: not cleared */
        pair->builder = builder;
        integer_solver_init(&builder->solver, builder->context->arena);
    }
    pair->depth = depth;
    dependence_system_begin(pair, a, b);
    if (pair->exclusive == 0 || pair->allocated > depth)
        return true;
    if (builder->solver.work > DEPENDENCE_WORK)
        assume_all(pair);
    else
        explore(pair, 0, true, DEPENDENCE_PERHAPS);
    merge_boxes(pair);
    for (int k = 0; k < pair->box_count; k++)
        box_report(pair, &pair->boxes[k]);
    return true;
}

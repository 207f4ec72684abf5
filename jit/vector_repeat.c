/*
 * vector_repeat.c: loops around a band that hold nothing else.
 *
 *     for b { for i { parts of the band } }
 *
 * Consumes a band and the loop around it; produces the band with that loop: how the slots begin in each of
 * its iterations. A batch of a few rows each would take longer for the calls than for the rows. The order is
 * that of the program, so nothing is asked of the loop but that bounds and scalars are the same in all of its
 * iterations, and indices go on by as much in each.
 */
#include "vector_build.h"

struct repeater {
    struct vector_builder outer; /* for questions about expressions: of the loop around */
    struct vector_loop *band;
    struct vector_repeat repeat;
};

static bool stays(const struct repeater *repeater, const struct ir_expr *expr)
{
    struct vector_slope slope = vector_slope_of(&repeater->outer, expr);
    return slope.linear && slope.constant && slope.value == 0;
}

/* Whether the same is added to each index in each iteration; `moves`: of any it is more than 0. */
static bool goes_along(const struct repeater *repeater, const struct ir_access *access, bool *moves)
{
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct vector_slope slope = vector_slope_of(&repeater->outer, access->indices[axis]);
        if (!slope.linear || !slope.constant)
            return false;
        *moves |= slope.value != 0;
    }
    return true;
}

/* Whether what the slot holds is known in each iteration; `moves`: it is not the same. */
static bool is_known(const struct repeater *repeater, const struct vector_argument *argument, bool *moves)
{
    bool steps = false;
    switch (argument->kind) {
    case VECTOR_ARGUMENT_COUNT:
        return stays(repeater, argument->loop->low) && stays(repeater, argument->loop->high);
    case VECTOR_ARGUMENT_FIRST:
        return stays(repeater, argument->loop->low);
    case VECTOR_ARGUMENT_VALUE:
        return vector_is_invariant(&repeater->outer, argument->value) &&
               vector_is_harmless((struct ir_expr *)argument->value);
    case VECTOR_ARGUMENT_ADDRESS:
        return goes_along(repeater, argument->access, moves);
    case VECTOR_ARGUMENT_STEP:
    case VECTOR_ARGUMENT_STRIDE:
        return goes_along(repeater, argument->access, &steps);
    case VECTOR_ARGUMENT_ALIGNMENT:
        return false;
    default:
        return true;
    }
}

static bool is_moved_by(const struct vector_moving *moving, int count, int slot)
{
    for (int k = 0; k < count; k++)
        if (moving[k].delta >= 0 && (moving[k].origin >= 0 ? moving[k].origin : moving[k].slot) == slot)
            return true;
    return false;
}

/* Whether the loops inside leave something else in the slot than it began with. */
static bool is_moved_inside(const struct vector_loop *band, int slot)
{
    bool moved = slot == band->count || is_moved_by(band->band->moving.items, band->band->moving.count, slot);
    for (int k = 0; k < band->band->repeats.count && !moved; k++) {
        const struct vector_repeat *repeat = &band->band->repeats.items[k];
        moved = slot == repeat->count || is_moved_by(repeat->moving.items, repeat->moving.count, slot);
    }
    return moved;
}

static int add_argument(struct repeater *repeater, struct vector_argument argument)
{
    list_push(repeater->outer.arena, &repeater->band->arguments, argument);
    return repeater->band->arguments.count - 1;
}

/* How the slot begins in each iteration. */
static void place_slot(struct repeater *repeater, int slot, bool moves)
{
    struct vector_argument argument = repeater->band->arguments.items[slot];
    struct vector_moving moving = {slot, -1, -1};
    bool is_moved = is_moved_inside(repeater->band, slot);
    if (is_moved)
        moving.origin = add_argument(repeater, argument);
    if (moves) {
        argument.kind = VECTOR_ARGUMENT_DELTA;
        argument.level = is_moved ? moving.origin : slot;
        argument.loop = repeater->repeat.stmt;
        moving.delta = add_argument(repeater, argument);
    }
    if (is_moved || moves)
        list_push(repeater->outer.arena, &repeater->repeat.moving, moving);
}

bool vector_band_repeat(struct arena *arena, const struct ir_stmt *stmt, struct vector_loop *band,
                        const struct vector_options *options)
{
    struct repeater repeater = {
        .outer = {.arena = arena, .stmt = stmt, .options = options}, .band = band, .repeat = {.stmt = stmt}};
    int count = band->arguments.count;
    repeater.outer.mask = -1;
    if (vector_step_is_large(stmt))
        return false;
    for (int slot = 0; slot < count; slot++) {
        bool moves = false;
        const struct vector_argument *argument = &band->arguments.items[slot];
        bool is_own = argument->kind == VECTOR_ARGUMENT_DELTA || argument->kind == VECTOR_ARGUMENT_STATE;
        if (!is_known(&repeater, argument, &moves))
            return false;
        if (!is_own)
            place_slot(&repeater, slot, moves);
    }
    repeater.repeat.count =
        add_argument(&repeater, (struct vector_argument){.kind = VECTOR_ARGUMENT_COUNT, .loop = stmt});
    struct vector_band *repeated = arena_new(arena, struct vector_band);
    *repeated = *band->band;
    list_push(arena, &repeated->repeats, repeater.repeat);
    band->band = repeated;
    band->stmt = stmt;
    return true;
}

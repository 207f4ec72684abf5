/*
 * boxes.c: see boxes.h.
 */
#include "boxes.h"

#include <string.h>

enum { RANK = 8, MERGES = 3 };

void boxes_init(struct boxes *boxes, struct context *context)
{
    *boxes = (struct boxes){.context = context};
    boxes->newest = arena_array(context->arena, int, context->kernel->buffers.count);
    for (int k = 0; k < context->kernel->buffers.count; k++)
        boxes->newest[k] = -1;
}

/* ---- the stack ----------------------------------------------------------- */

static void push(struct boxes *boxes, struct ir_buffer *buffer, const struct linear *bounds)
{
    struct arena *arena = boxes->context->arena;
    int number = boxes->stack.count, size = 2 * buffer->rank;
    const struct context *context = boxes->context;

    if (number == boxes->made) {
        list_push(arena, &boxes->stack, ((struct box){0}));
        boxes->made++;
    } else {
        boxes->stack.count++;
    }
    struct box *box = &boxes->stack.items[number];
    if (box->capacity < size) { /* what a popped box had is used again */
        box->bounds = arena_array(arena, struct linear, size);
        box->capacity = size;
    }
    if (size)
        memcpy(box->bounds, bounds, sizeof *bounds * (size_t)size);
    box->buffer = buffer;
    box->below = boxes->newest[buffer->index];
    box->conditional = context->loops.count && context->loops.items[context->loops.count - 1].skipped;
    boxes->newest[buffer->index] = number;
}

void boxes_pop(struct boxes *boxes, int scope)
{
    while (boxes->stack.count > scope) {
        const struct box *box = &boxes->stack.items[--boxes->stack.count];
        if (boxes->newest[box->buffer->index] == boxes->stack.count)
            boxes->newest[box->buffer->index] = box->below;
    }
}

void boxes_forget(struct boxes *boxes, struct ir_buffer *buffer)
{
    boxes->newest[buffer->index] = -1;
    for (int k = 0; k < boxes->stack.count; k++) /* rare: an allocation */
        if (boxes->stack.items[k].buffer == buffer)
            boxes->stack.items[k].conditional = true;
}

/* ---- merging ------------------------------------------------------------- */

/* a + offset <= b, cheaply where the difference is constant */
static bool at_most(struct boxes *boxes, const struct linear *a, int64_t offset, const struct linear *b)
{
    struct linear form;

    if (!linear_add(&form, b, -1, a) || !linear_shift(&form, &form, -offset))
        return false;
    return form.count ? prover_prove(&boxes->context->prover, &form) : form.constant >= 0;
}

/* The axes on which the boxes differ, the first `most` of them into `axes`; more than `most`: most + 1. */
static int differing_axes(const struct linear *a, const struct linear *b, int rank, int most, int *axes)
{
    int count = 0;

    for (int k = 0; k < rank && count <= most; k++) {
        if (linear_equal(&a[k], &b[k]) && linear_equal(&a[rank + k], &b[rank + k]))
            continue;
        if (count < most)
            axes[count] = k;
        count++;
    }
    return count;
}

/* Where the boxes touch on one axis, what they have in common on the others, `common`, goes from the low of
 * the first to the high of the second. */
static bool merge_onto(struct boxes *boxes, const struct linear *first, const struct linear *second, int axis,
                       int rank, bool plainly, const struct linear *common, struct linear *merged)
{
    struct linear gap; /* >= 0 where the second starts no later than just after the first */

    if (!linear_add(&gap, &first[rank + axis], -1, &second[axis]) || !linear_shift(&gap, &gap, 1) ||
        plainly != !gap.count)
        return false;
    if (plainly ? gap.constant < 0 : !prover_prove(&boxes->context->prover, &gap))
        return false;
    if (merged != common)
        memcpy(merged, common, sizeof *merged * (size_t)(2 * rank));
    merged[axis] = first[axis];
    merged[rank + axis] = second[rank + axis];
    return true;
}

/* Either may come first. An order in which they plainly meet is better than one that is only provable, which
 * may be the one that yields an empty box. */
static bool merge(struct boxes *boxes, const struct linear *a, const struct linear *b, int axis, int rank,
                  const struct linear *common, struct linear *merged)
{
    return merge_onto(boxes, a, b, axis, rank, true, common, merged) ||
           merge_onto(boxes, b, a, axis, rank, true, common, merged) ||
           merge_onto(boxes, a, b, axis, rank, false, common, merged) ||
           merge_onto(boxes, b, a, axis, rank, false, common, merged);
}

/* The one box holds the other one, as far as constants tell. */
static bool plainly_holds(const struct linear *outer, const struct linear *inner, int rank)
{
    struct linear low, high;

    for (int axis = 0; axis < rank; axis++)
        if (!linear_add(&low, &inner[axis], -1, &outer[axis]) ||
            !linear_add(&high, &outer[rank + axis], -1, &inner[rank + axis]) || low.count || high.count ||
            low.constant < 0 || high.constant < 0)
            return false;
    return true;
}

/* The one range holds the other on this axis. */
static bool holds_on(struct boxes *boxes, const struct linear *outer, const struct linear *inner, int axis,
                     int rank)
{
    return at_most(boxes, &outer[axis], 0, &inner[axis]) &&
           at_most(boxes, &inner[rank + axis], 0, &outer[rank + axis]);
}

/* Of two boxes that differ on one axis, their union, where they touch; of two that differ on two, what of
 * their union is a box, where on one of the axes the range of the one holds that of the other. */
static bool unite_boxes(struct boxes *boxes, const struct linear *old, const struct linear *current,
                        const int *axes, int count, int rank, struct linear *merged, bool *holds_old)
{
    *holds_old = false; /* not current */
    if (count == 1)
        return merge(boxes, old, current, axes[0], rank, current, merged);
    for (int k = 0; k < 2; k++) {
        int along = axes[k], across = axes[1 - k];
        const struct linear *common = holds_on(boxes, old, current, across, rank)   ? current
                                      : holds_on(boxes, current, old, across, rank) ? old
                                                                                    : NULL;
        *holds_old = common == old;
        if (common && merge(boxes, old, current, along, rank, common, merged))
            return true;
    }
    return false;
}

static bool has_newest(const struct boxes *boxes, const struct ir_buffer *buffer, int number, int scope)
{
    return number >= scope && number == boxes->stack.count - 1 && boxes->newest[buffer->index] == number;
}

void boxes_push(struct boxes *boxes, struct ir_buffer *buffer, const struct linear *bounds, int scope)
{
    struct linear current[2 * RANK], merged[2 * RANK];
    int rank = buffer->rank, merges = 0, looked_at = 0;

    if (rank > RANK || boxes->stack.count - scope >= BOXES_PER_SCOPE)
        return;
    if (rank) /* those of a scalar may be NULL */
        memcpy(current, bounds, sizeof *bounds * (size_t)(2 * rank));
    for (int k = boxes->newest[buffer->index]; k >= 0 && looked_at < BOXES_LOOKED_AT; looked_at++) {
        const struct linear *old = boxes->stack.items[k].bounds;
        int axes[2], below = boxes->stack.items[k].below;
        int differing = differing_axes(old, current, rank, 2, axes);
        if (!differing)
            return;
        bool holds_old;
        if (differing <= 2 && merges < MERGES &&
            unite_boxes(boxes, old, current, axes, differing, rank, merged, &holds_old)) {
            merges++;
            if (plainly_holds(old, current, rank))
                return;
            if (holds_old) {
                push(boxes, buffer, merged);
                k = below;
                continue;
            }
            if (has_newest(boxes, buffer, k, scope) && plainly_holds(merged, old, rank))
                boxes_pop(boxes, k);
            if (!plainly_holds(merged, current, rank))
                push(boxes, buffer, current);
            memcpy(current, merged, sizeof *merged * (size_t)(2 * rank));
        }
        k = below;
    }
    push(boxes, buffer, current);
}

/* ---- questions ----------------------------------------------------------- */

bool boxes_hold(struct boxes *boxes, const struct linear *outer, const struct linear *inner, int rank)
{
    for (int k = 0; k < rank; k++)
        if ((!linear_equal(&outer[k], &inner[k]) && !at_most(boxes, &outer[k], 0, &inner[k])) ||
            (!linear_equal(&outer[rank + k], &inner[rank + k]) &&
             !at_most(boxes, &inner[rank + k], 0, &outer[rank + k])))
            return false;
    return true;
}

bool boxes_cover(struct boxes *boxes, struct ir_buffer *buffer, const struct linear *bounds)
{
    int looked_at = 0;

    for (int k = boxes->newest[buffer->index]; k >= 0; k = boxes->stack.items[k].below)
        if (!differing_axes(boxes->stack.items[k].bounds, bounds, buffer->rank, 0, NULL))
            return true;
        else if (++looked_at == 2 * BOXES_LOOKED_AT)
            break;
    looked_at = 0;
    for (int k = boxes->newest[buffer->index]; k >= 0 && looked_at < BOXES_LOOKED_AT;
         k = boxes->stack.items[k].below, looked_at++)
        if (boxes_hold(boxes, boxes->stack.items[k].bounds, bounds, buffer->rank))
            return true;
    return false;
}

/* ---- loops --------------------------------------------------------------- */

static bool at_value(struct boxes *boxes, const struct linear *form, int atom, const struct linear *value,
                     struct linear *out)
{
    return linear_substitute(&boxes->context->space, form, atom, value, out);
}

/* Nothing that changes within the loop is left in the form. */
static bool is_outside(const struct linear_space *space, const struct linear *form, int first_atom, int keep)
{
    for (int k = 0; k < form->count; k++) {
        const struct linear_monomial *monomial = &space->monomials.items[form->terms[k].monomial];
        for (int a = 0; a < monomial->degree; a++) {
            const struct linear_atom *atom = linear_atom_at(space, monomial->atoms[a]);
            if (monomial->atoms[a] < first_atom || monomial->atoms[a] == keep || atom->parameter)
                continue;
            if (atom->kind == LINEAR_LOOP || atom->kind == LINEAR_OPAQUE || atom->kind == LINEAR_SELECT)
                return false;
            for (int c = 0; c < atom->child_count; c++)
                if (!is_outside(space, &atom->children[c], first_atom, keep))
                    return false;
        }
    }
    return true;
}

static bool box_is_outside(const struct linear_space *space, const struct linear *bounds, int rank,
                           int first_atom, int keep)
{
    for (int k = 0; k < 2 * rank; k++)
        if (!is_outside(space, &bounds[k], first_atom, keep))
            return false;
    return true;
}

/* The range is empty whenever the loop is: then the union of nothing is the box. Facts are those outside the
 * loop. */
static bool empty_together(struct boxes *boxes, const struct linear *from, const struct linear *to,
                           const struct linear *low, const struct linear *high)
{
    struct prover *prover = &boxes->context->prover;
    struct linear form;
    int facts = prover->facts.count;

    if (!linear_add(&form, to, -1, from))
        return false;
    if (prover_prove(prover, &form)) /* it is not empty */
        return true;
    if (!linear_scale(&form, &form, -1) || !linear_shift(&form, &form, -1))
        return false;
    prover_add(prover, &form, false);
    bool empty = at_most(boxes, high, 1, low);
    prover->facts.count = facts;
    return empty;
}

/* What the form gains from one iteration to the next: 1: never less, -1: never more and at times less, 0: not
 * known. */
static int slope(struct boxes *boxes, const struct linear *here, const struct linear *next)
{
    struct linear form;

    if (!linear_add(&form, next, -1, here))
        return 0;
    return form.count ? prover_sign(&boxes->context->prover, &form) : form.constant < 0 ? -1 : 1;
}

/* The iterations whose low and high bound all of them. */
struct ends {
    bool low_at_last, high_at_last;
};

/* The ranges of consecutive iterations hang together, low(i + 1) <= high(i) + 1 or low(i) <= high(i + 1) + 1:
 * then they are one range from the low of an end to the high of the other. Often both hold, and of the two
 * ranges one is the larger. A range that only grows, or shrinks, is that of an end alone. */
static bool chains(struct boxes *boxes, const struct linear *low, const struct linear *high,
                   const struct context_loop *loop, const struct linear *to, struct ends *ends)
{
    struct context *context = boxes->context;
    struct linear index, next, low_next, high_next, form;
    int facts = context->prover.facts.count;

    linear_of_atom(&context->space, loop->atom, &index);
    if (!linear_shift(&next, &index, 1) || !at_value(boxes, low, loop->atom, &next, &low_next) ||
        !at_value(boxes, high, loop->atom, &next, &high_next))
        return false;
    if (linear_add(&form, to, -1, &next))
        prover_add(&context->prover, &form, false);
    int lows = slope(boxes, low, &low_next), highs = slope(boxes, high, &high_next);
    bool falling = lows < 0 && highs < 0, chained = lows * highs < 0;
    if (chained)
        *ends = (struct ends){.low_at_last = (lows < 0), .high_at_last = (highs > 0)};
    for (int k = 0; k < 2 && !chained; k++, falling = !falling) {
        chained = falling ? at_most(boxes, low, -1, &high_next) : at_most(boxes, &low_next, -1, high);
        *ends = (struct ends){falling, !falling};
    }
    context->prover.facts.count = facts;
    return chained;
}

/* The axis whose bounds depend on the loop; -1: none, -2: several. */
static int moving_axis(struct boxes *boxes, const struct box *box, int atom)
{
    int axis = -1, rank = box->buffer->rank;

    for (int k = 0; k < rank; k++) {
        if (!linear_mentions(&boxes->context->space, &box->bounds[k], atom) &&
            !linear_mentions(&boxes->context->space, &box->bounds[rank + k], atom))
            continue;
        if (axis >= 0)
            return -2;
        axis = k;
    }
    return axis;
}

static bool span_axis(struct boxes *boxes, const struct context_loop *loop, const struct linear *from,
                      const struct linear *to, struct linear *low, struct linear *high)
{
    struct linear least, most;
    struct ends ends;

    return chains(boxes, low, high, loop, &loop->last, &ends) &&
           at_value(boxes, low, loop->atom, ends.low_at_last ? to : from, &least) &&
           at_value(boxes, high, loop->atom, ends.high_at_last ? to : from, &most) &&
           (*low = least, *high = most, true);
}

static bool unite(struct boxes *boxes, const struct box *box, const struct context_loop *loop,
                  const struct linear *from, const struct linear *to, struct linear *bounds)
{
    struct context *context = boxes->context;
    int rank = box->buffer->rank, axis = moving_axis(boxes, box, loop->atom);
    bool within = !linear_equal(from, &loop->first) || !linear_equal(to, &loop->last);
    int keep = within ? loop->atom : -1; /* iterations before this one: the result may speak of this one */
    struct linear trips;
    bool known;

    if (axis == -2)
        return false;
    for (int k = 0; k < 2 * rank; k++) /* of a scalar there are none to point to */
        bounds[k] = box->bounds[k];
    context->prover.facts.count =
        loop->inner_facts; /* the others may not hold in iterations that ended early */
    if (axis >= 0 && !span_axis(boxes, loop, from, to, &bounds[axis], &bounds[rank + axis]))
        return false;
    context->prover.facts.count = within ? loop->inner_facts : loop->facts;
    known = box_is_outside(&context->space, bounds, rank, loop->first_atom, keep);
    if (known && axis >= 0 && !linear_divides(&context->space, &box->bounds[axis]) &&
        !linear_divides(&context->space, &box->bounds[rank + axis])) /* these have a value only if it runs */
        known = empty_together(boxes, from, to, &bounds[axis], &bounds[rank + axis]);
    else if (known)
        known = linear_add(&trips, to, -1, from) && prover_prove(&context->prover, &trips);
    return known;
}

/* While fewer facts hold, each question may put one of its own where another one stands: that comes back. */
bool boxes_union(struct boxes *boxes, const struct box *box, const struct context_loop *loop,
                 const struct linear *from, const struct linear *to, struct linear *bounds)
{
    struct prover *prover = &boxes->context->prover;
    int facts = prover->facts.count, places[2] = {loop->facts, loop->inner_facts};
    struct prover_fact kept[2];

    for (int k = 0; k < 2; k++)
        if (places[k] < facts)
            kept[k] = prover->facts.items[places[k]];
    bool known = unite(boxes, box, loop, from, to, bounds);
    for (int k = 0; k < 2; k++)
        if (places[k] < facts)
            prover->facts.items[places[k]] = kept[k];
    prover->facts.count = facts;
    prover->generation++;
    return known;
}

struct box *boxes_take(struct boxes *boxes, int scope, int *count)
{
    struct box *taken;

    *count = boxes->stack.count - scope;
    taken = arena_array(boxes->context->arena, struct box, *count);
    for (int k = 0; k < *count; k++) {
        taken[k] = boxes->stack.items[scope + k];
        boxes->stack.items[scope + k].bounds = NULL; /* now of the copy */
        boxes->stack.items[scope + k].capacity = 0;
    }
    boxes_pop(boxes, scope);
    return taken;
}

void boxes_leave_loop(struct boxes *boxes, const struct context_loop *loop, const struct box *iteration,
                      int count, int outer_scope)
{
    struct context *context = boxes->context;
    struct linear bounds[2 * RANK];
    int facts = context->prover.facts.count;

    if (loop->atom < 0 || loop->leaves)
        return;
    context->loops.count--; /* the new boxes belong outside, where only the outer facts hold */
    for (int k = 0; k < count; k++) {
        if (iteration[k].conditional ||
            !boxes_union(boxes, &iteration[k], loop, &loop->first, &loop->last, bounds))
            continue;
        context->prover.facts.count = loop->facts;
        boxes_push(boxes, iteration[k].buffer, bounds, outer_scope);
        context->prover.facts.count = facts;
    }
    context->loops.count++;
}

void boxes_join(struct boxes *boxes, const struct box *a, int a_count, const struct box *b, int b_count,
                int outer_scope)
{
    for (int m = 0; m < a_count; m++) {
        for (int o = 0; o < b_count; o++) {
            int rank = a[m].buffer->rank;
            if (a[m].buffer != b[o].buffer || a[m].conditional || b[o].conditional)
                continue;
            if (boxes_hold(boxes, b[o].bounds, a[m].bounds, rank))
                boxes_push(boxes, a[m].buffer, a[m].bounds, outer_scope);
            else if (boxes_hold(boxes, a[m].bounds, b[o].bounds, rank))
                boxes_push(boxes, a[m].buffer, b[o].bounds, outer_scope);
            else
                continue;
            break;
        }
    }
}

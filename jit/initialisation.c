/*
 * initialisation.c: which outputs and temporaries need not be cleared.
 *
 * Consumes a kernel whose bounds are analysed. A buffer needs no clearing when every load of it lies in a box
 * of elements that are written by then (boxes.h), and, for an output, when the boxes at the end hold all of
 * it. Where no box says so, regions (regions.h) are asked, which know of whole nests of loops only. A load
 * that is not in a box when it is met waits for the ends of the loops around it: what their earlier
 * iterations have written may hold it (y[i] = y[i - 1] + x[i]).
 *
 * A warning is given only for a load that surely comes before any store in the order of execution.
 */
#include "analysis.h"
#include "boxes.h"
#include "regions.h"

#include <string.h>

enum { WAITING = 64, WAITING_FACTS = 96, RANK = 8, BOXES_TOLD = 4 };

struct buffer_state {
    bool tracked; /* output or temporary */
    bool clear;   /* some load was not covered */
    bool stored;  /* a store has been passed since the life of the buffer began */
    bool loaded;
    int depth; /* number of loops around its allocation */
};

/* A load that no box holds yet. */
struct waiting_load {
    struct ir_expr *load;
    struct ir_buffer *buffer;
    struct linear *bounds;
    struct prover_fact *facts; /* those above `base` when it was met */
    int base, fact_count;
};

struct early_read {
    struct ir_buffer *buffer;
    struct ir_stmt *stmt;
    struct span span;
    bool certain; /* else a store that follows in the same loop may come first */
    bool dropped;
};

/* A loop's body or a side of a branch: how much there was when it began. */
struct scope {
    int boxes, waiting;
};

/* What one side of a branch has written. */
struct side {
    struct box *boxes;
    int count;
};

struct initialisation {
    struct boxes boxes;
    struct regions regions;
    struct buffer_state *states; /* by buffer->index */
    LIST(struct scope) scopes;
    LIST(struct waiting_load) waiting;
    LIST(struct side) sides;       /* first sides of the branches around */
    LIST(struct early_read) early; /* in the kernel's arena */
    int uncertain;                 /* of them, at most */
    struct analysis_gaps *gaps;    /* to be filled; or NULL */
};

static struct buffer_state *state_of(struct context *context, const struct ir_buffer *buffer)
{
    struct initialisation *self = context->client;
    return &self->states[buffer->index];
}

/* Nothing more is to be found out about the buffer. */
static bool is_settled(struct context *context, const struct ir_buffer *buffer)
{
    const struct initialisation *self = context->client;
    return self->states[buffer->index].clear && !self->gaps;
}

/* The load may see what was never written. */
static void give_up(struct context *context, struct ir_expr *load)
{
    struct initialisation *self = context->client;

    state_of(context, load->access.buffer)->clear = true;
    if (self->gaps)
        list_push(context->kernel->arena, &self->gaps->loads, load);
}

/* All elements of the box have been written. */
static bool is_written(struct initialisation *self, struct ir_buffer *buffer, const struct linear *bounds)
{
    return boxes_cover(&self->boxes, buffer, bounds) || regions_cover(&self->regions, buffer, bounds);
}

static int scope_of(const struct initialisation *self)
{
    return self->scopes.count ? self->scopes.items[self->scopes.count - 1].boxes : 0;
}

/* ---- early reads --------------------------------------------------------- */

/* Whether the load is executed in the first iteration of loop `depth` (if that loop runs, and the load ever
 * is). */
static bool runs_first(struct context *context, int depth)
{
    int conditions = context->loops.items[depth].conditions;

    for (int k = conditions; k < context->conditions.count; k++)
        if (!context_parameter_expr(context, context->conditions.items[k].expr))
            return false;
    for (int k = depth; k < context->loops.count; k++) {
        const struct context_loop *loop = &context->loops.items[k];
        if (loop->skipped)
            return false;
        if (k == depth)
            continue;
        if (loop->atom < 0)
            return false;
        if (!linear_is_parameter(&context->space, &loop->low) ||
            !linear_is_parameter(&context->space, &loop->high))
            return false;
    }
    return true;
}

static void note_early_read(struct context *context, struct ir_expr *load)
{
    struct initialisation *self = context->client;
    struct ir_buffer *buffer = load->access.buffer;
    const struct buffer_state *state = state_of(context, buffer);
    struct early_read early = {.buffer = buffer, .stmt = context->stmt, .span = load->span};

    if (state->stored)
        return;
    for (int k = self->early.count - 1; k >= 0 && k >= self->early.count - 16; k--)
        if (self->early.items[k].buffer == buffer && self->early.items[k].stmt == context->stmt)
            return;
    early.certain = context->loops.count <= state->depth || runs_first(context, state->depth);
    if (!early.span.line)
        early.span = context->stmt->span;
    self->uncertain += !early.certain;
    list_push(context->kernel->arena, &self->early, early);
}

/* A store comes: what is not certain to have been read before it is forgotten, as long as they share a loop.
 */
static void drop_early_reads(struct context *context, const struct ir_buffer *buffer)
{
    struct initialisation *self = context->client;

    for (int k = 0; self->uncertain && k < self->early.count; k++)
        if (self->early.items[k].buffer == buffer && !self->early.items[k].certain)
            self->early.items[k].dropped = true;
}

/* The outermost loop of a buffer's life ends: no store can come before these reads any more. */
static void settle_early_reads(struct context *context, int depth)
{
    struct initialisation *self = context->client;

    for (int k = 0; self->uncertain && k < self->early.count; k++)
        if (state_of(context, self->early.items[k].buffer)->depth == depth)
            self->early.items[k].certain = true;
    if (depth == 0)
        self->uncertain = 0;
}

/* ---- loads --------------------------------------------------------------- */

static void keep_waiting(struct context *context, struct ir_expr *load, const struct linear *bounds)
{
    struct initialisation *self = context->client;
    struct ir_buffer *buffer = load->access.buffer;
    const struct buffer_state *state = state_of(context, buffer);
    int base, count;

    if (context->loops.count <= state->depth || self->waiting.count >= WAITING) {
        give_up(context, load);
        return;
    }
    base = context->loops.items[state->depth].facts;
    count = context->prover.facts.count - base;
    if (count > WAITING_FACTS) {
        give_up(context, load);
        return;
    }
    struct waiting_load waiting = {.load = load, .buffer = buffer, .base = base, .fact_count = count};
    waiting.bounds = arena_array(context->arena, struct linear, 2 * buffer->rank);
    memcpy(waiting.bounds, bounds, sizeof *bounds * (size_t)(2 * buffer->rank));
    waiting.facts = arena_array(context->arena, struct prover_fact, count);
    if (count)
        memcpy(waiting.facts, context->prover.facts.items + base, sizeof *waiting.facts * (size_t)count);
    list_push(context->arena, &self->waiting, waiting);
}

static void visit_load(struct context *context, struct ir_expr *load, const struct linear *bounds)
{
    struct initialisation *self = context->client;
    struct ir_buffer *buffer = load->access.buffer;

    note_early_read(context, load);
    if (!is_settled(context, buffer) && !is_written(self, buffer, bounds))
        keep_waiting(context, load, bounds);
}

static void visit_access(struct context *context, struct ir_access *access, struct ir_expr *load)
{
    struct initialisation *self = context->client;
    struct buffer_state *state = state_of(context, access->buffer);
    struct linear bounds[2 * RANK];
    int rank = access->buffer->rank;

    state->loaded |= load != NULL;
    if (!state->tracked)
        return;
    if (rank > RANK && load) {
        give_up(context, load);
    } else if (rank > RANK) {
        state->clear = true;
    } else {
        for (int k = 0; k < rank; k++) {
            context_form(context, access->indices[k], &bounds[k]);
            bounds[rank + k] = bounds[k];
        }
        if (load)
            visit_load(context, load, bounds);
    }
    if (load)
        return;
    drop_early_reads(context, access->buffer);
    state->stored = true;
    if (rank > RANK || is_settled(context, access->buffer))
        return;
    boxes_push(&self->boxes, access->buffer, bounds, scope_of(self));
    if (state->depth == 0)
        regions_add(&self->regions, access->buffer, bounds);
}

/* ---- loops --------------------------------------------------------------- */

/* What the iterations before this one have written, on top of what was written before the loop. */
static void push_earlier(struct context *context, const struct context_loop *loop, const struct box *ended,
                         int count, int scope)
{
    struct initialisation *self = context->client;
    struct linear bounds[2 * RANK], index, from = loop->first, to = loop->last;

    linear_of_atom(&context->space, loop->atom, &index);
    if (loop->stmt->step == -1 ? !linear_shift(&from, &index, 1) : !linear_shift(&to, &index, -1))
        return;
    for (int k = 0; k < count; k++)
        if (!ended[k].conditional && boxes_union(&self->boxes, &ended[k], loop, &from, &to, bounds))
            boxes_push(&self->boxes, ended[k].buffer, bounds, scope);
}

/* Tries the loads of this loop's body (those from `first` on) once more; `ended` is what an iteration has
 * written. */
static void retry_waiting(struct context *context, const struct context_loop *loop, int first, int depth,
                          const struct side *ended)
{
    struct initialisation *self = context->client;
    struct prover *prover = &context->prover;
    int scope = self->boxes.stack.count, kept = first;

    if (loop->atom >= 0)
        push_earlier(context, loop, ended->boxes, ended->count, scope);
    for (int k = first; k < self->waiting.count; k++) {
        struct waiting_load waiting = self->waiting.items[k];
        const struct buffer_state *state = state_of(context, waiting.buffer);
        prover->facts.count = loop->facts;
        for (int f = loop->facts - waiting.base; f < waiting.fact_count; f++)
            prover_add(prover, &waiting.facts[f].form, waiting.facts[f].assumed);
        if (is_settled(context, waiting.buffer) || boxes_cover(&self->boxes, waiting.buffer, waiting.bounds))
            continue;
        if (depth <= state->depth)
            give_up(context, waiting.load);
        else
            self->waiting.items[kept++] = waiting;
    }
    self->waiting.count = kept;
    prover->facts.count = loop->inner_facts; /* these are as they were: each list repeats them */
    boxes_pop(&self->boxes, scope);
}

static void begin_scope(struct context *context)
{
    struct initialisation *self = context->client;
    struct scope scope = {self->boxes.stack.count, self->waiting.count};

    list_push(context->arena, &self->scopes, scope);
}

static struct side end_scope(struct context *context)
{
    struct initialisation *self = context->client;
    struct side side;

    side.boxes = boxes_take(&self->boxes, scope_of(self), &side.count);
    self->scopes.count--;
    return side;
}

static void visit_loop(struct context *context, struct ir_stmt *stmt, enum context_event event)
{
    struct initialisation *self = context->client;
    int depth = context->loops.count - 1;
    (void)stmt;

    if (event == CONTEXT_BEGIN) {
        begin_scope(context);
        return;
    }
    struct context_loop loop = context->loops.items[depth];
    int first = self->scopes.items[self->scopes.count - 1].waiting;
    struct side iteration = end_scope(context);
    context->prover.facts.count = loop.inner_facts;
    if (self->waiting.count > first)
        retry_waiting(context, &loop, first, depth, &iteration);
    boxes_leave_loop(&self->boxes, &loop, iteration.boxes, iteration.count, scope_of(self));
    if (depth == 0)
        regions_settle(&self->regions);
    settle_early_reads(context, depth);
}

/* ---- branches, allocations ----------------------------------------------- */

static void keep_all(struct context *context, const struct side *side)
{
    struct initialisation *self = context->client;

    for (int k = 0; k < side->count; k++)
        if (!side->boxes[k].conditional)
            boxes_push(&self->boxes, side->boxes[k].buffer, side->boxes[k].bounds, scope_of(self));
}

static void visit_branch(struct context *context, struct ir_stmt *stmt, enum context_event event)
{
    struct initialisation *self = context->client;
    struct side then, otherwise;

    if (event == CONTEXT_THEN) {
        begin_scope(context);
        return;
    }
    if (event == CONTEXT_ELSE) {
        then = end_scope(context);
        list_push(context->arena, &self->sides, then);
        begin_scope(context);
        return;
    }
    otherwise = end_scope(context);
    then = self->sides.items[--self->sides.count];
    if (context_always_jumps(stmt->body))
        keep_all(context, &otherwise);
    else if (context_always_jumps(stmt->otherwise))
        keep_all(context, &then);
    else
        boxes_join(&self->boxes, then.boxes, then.count, otherwise.boxes, otherwise.count, scope_of(self));
}

static void visit_allocate(struct context *context, struct ir_stmt *stmt)
{
    struct initialisation *self = context->client;
    struct buffer_state *state = state_of(context, stmt->access.buffer);

    boxes_forget(&self->boxes, stmt->access.buffer);
    regions_forget(&self->regions, stmt->access.buffer);
    state->depth = context->loops.count;
    state->stored = false;
}

/* ---- the end ------------------------------------------------------------- */

static bool is_complete(struct context *context, struct ir_buffer *buffer)
{
    struct initialisation *self = context->client;
    struct linear bounds[2 * RANK];

    if (buffer->rank > RANK)
        return false;
    for (int k = 0; k < buffer->rank; k++) {
        linear_constant(&bounds[k], 0);
        context_form(context, buffer->shape[k], &bounds[buffer->rank + k]);
        if (!linear_shift(&bounds[buffer->rank + k], &bounds[buffer->rank + k], -1))
            return false;
    }
    return is_written(self, buffer, bounds);
}

/* The number of the next older box of the buffer, from `at` on, that can be said in terms of the call; -1. */
static int tellable_box(struct context *context, const struct ir_buffer *buffer, int at)
{
    const struct initialisation *self = context->client;

    for (; at >= 0; at = self->boxes.stack.items[at].below) {
        const struct box *box = &self->boxes.stack.items[at];
        int k = 0;
        while (k < 2 * buffer->rank && linear_is_parameter(&context->space, &box->bounds[k]))
            k++;
        if (k == 2 * buffer->rank)
            break;
    }
    return at;
}

/* Keeps the boxes of the output that are not within others. */
static void keep_boxes(struct context *context, struct ir_buffer *buffer, struct analysis_gap *gap)
{
    struct initialisation *self = context->client;
    struct ir_kernel *kernel = context->kernel;
    int boxes[2 * BOXES_TOLD], count = 0, rank = buffer->rank;

    for (int at = self->boxes.newest[buffer->index];
         (at = tellable_box(context, buffer, at)) >= 0 && count < 2 * BOXES_TOLD;
         at = self->boxes.stack.items[at].below)
        boxes[count++] = at;
    for (int k = 0; k < count && gap->written.count < BOXES_TOLD; k++) {
        const struct linear *bounds = self->boxes.stack.items[boxes[k]].bounds;
        bool within = false;
        for (int o = 0; o < count && !within; o++) {
            const struct linear *other = self->boxes.stack.items[boxes[o]].bounds;
            within = o != k && boxes_hold(&self->boxes, other, bounds, rank) &&
                     (o < k || !boxes_hold(&self->boxes, bounds, other, rank)); /* of two that are one, one */
        }
        if (within)
            continue;
        struct analysis_box told = {arena_array(kernel->arena, struct ir_expr *, rank),
                                    arena_array(kernel->arena, struct ir_expr *, rank)};
        for (int axis = 0; axis < rank; axis++) {
            told.low[axis] = linear_expr(kernel, &context->space, &bounds[axis]);
            told.high[axis] = linear_expr(kernel, &context->space, &bounds[rank + axis]);
        }
        list_push(kernel->arena, &gap->written, told);
    }
}

static void tell_gaps(struct context *context)
{
    struct initialisation *self = context->client;

    for (int k = 0; k < context->kernel->buffers.count; k++) {
        struct ir_buffer *buffer = context->kernel->buffers.items[k];
        if (buffer->role != IR_OUTPUT)
            continue;
        self->gaps->buffers[k].complete = is_complete(context, buffer);
        if (!self->gaps->buffers[k].complete)
            keep_boxes(context, buffer, &self->gaps->buffers[k]);
    }
}

static void finish(struct context *context)
{
    struct initialisation *self = context->client;

    if (self->gaps) {
        tell_gaps(context);
        return;
    }
    for (int k = 0; k < context->kernel->buffers.count; k++) {
        struct ir_buffer *buffer = context->kernel->buffers.items[k];
        struct buffer_state *state = &self->states[k];
        if (state->tracked)
            buffer->clear = state->clear || (buffer->role == IR_OUTPUT && !is_complete(context, buffer));
    }
}

/* ---- warnings ------------------------------------------------------------ */

/* An input of the same rank that the kernel never reads is probably what was meant. */
static const struct ir_buffer *meant_instead(const struct ir_kernel *kernel,
                                             const struct buffer_state *states,
                                             const struct ir_buffer *buffer)
{
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *other = kernel->buffers.items[k];
        if (other->role == IR_INPUT && other->rank == buffer->rank && !states[k].loaded)
            return other;
    }
    return NULL;
}

static void report(const struct ir_kernel *kernel, const struct initialisation *self,
                   akg_diagnostics *diagnostics)
{
    for (int k = 0; k < self->early.count; k++) {
        const struct early_read *early = &self->early.items[k];
        const struct ir_buffer *meant = meant_instead(kernel, self->states, early->buffer);
        if (early->dropped)
            continue;
        struct diagnostic_entry *entry =
            diagnostic_add(diagnostics, MSG_READ_BEFORE_WRITE, early->span, early->buffer->name);
        if (meant)
            diagnostic_note(entry, "help: did you mean '%s'?", meant->name);
        diagnostic_note(entry, "note: an element that was never written is zero");
    }
}

static void begin(struct context *context)
{
    struct initialisation *self = context->client;
    struct ir_kernel *kernel = context->kernel;

    boxes_init(&self->boxes, context);
    regions_init(&self->regions, context);
    self->states = arena_array(kernel->arena, struct buffer_state, kernel->buffers.count);
    for (int k = 0; k < kernel->buffers.count; k++) {
        enum ir_role role = kernel->buffers.items[k]->role;
        self->states[k].tracked = role == IR_OUTPUT || role == IR_TEMPORARY;
    }
}

static void walk(struct ir_kernel *kernel, struct initialisation *self)
{
    static const struct context_visitor visitor = {.begin = begin,
                                                   .access = visit_access,
                                                   .loop = visit_loop,
                                                   .branch = visit_branch,
                                                   .allocate = visit_allocate,
                                                   .finish = finish};

    context_run(kernel, &visitor, self);
}

void analysis_initialisation(struct ir_kernel *kernel, akg_diagnostics *diagnostics)
{
    struct initialisation self = {.uncertain = 0};

    walk(kernel, &self);
    report(kernel, &self, diagnostics);
}

struct analysis_gaps *analysis_initialisation_gaps(struct ir_kernel *kernel)
{
    struct initialisation self = {.gaps = arena_new(kernel->arena, struct analysis_gaps)};

    self.gaps->buffers = arena_array(kernel->arena, struct analysis_gap, kernel->buffers.count);
    walk(kernel, &self);
    return self.gaps;
}

/*
 * pass_frame.c: of an output of which all but a narrow frame is written anyway, only the frame is cleared.
 *
 *     output y: T[H, W] clear
 *     for i = 1 to H - 1 { for j = 1 to W - 1 { y[i, j] = ... } }
 *
 * loses `clear`, and gets loops of its own that store 0 in the first and last row, and in the first and last
 * column of the others; where the frame does not fit, in all of it. Consumes what the analysis of
 * initialisation says is written (analysis.h): a box whose distances from the edges are constants. No load
 * may see an element that nothing has written.
 */
#include "analysis.h"
#include "pass.h"

enum { RANK = 4, WIDEST = 16 /* on one side */ };

/* How far the box is from both ends of each axis. */
struct frame {
    struct pass *pass;
    struct ir_buffer *buffer;
    int64_t low[RANK], high[RANK];
    struct span span;
};

/* ---- the box ----------------------------------------------------------------------------------- */

/* a - b where that is a constant from 0 to the widest frame; else -1. */
static int64_t distance(const struct ir_expr *a, const struct ir_expr *b, int64_t more)
{
    struct pass_affine difference, subtracted;
    if (!pass_affine_of(a, &difference) || !pass_affine_of(b, &subtracted) ||
        !pass_affine_add(&difference, -1, &subtracted) || difference.count || difference.constant < more ||
        difference.constant > more + WIDEST)
        return -1;
    return difference.constant - more;
}

static bool measure(struct frame *frame, const struct analysis_box *box)
{
    struct ir_expr *zero = ir_integer(frame->pass->kernel, AKG_INT64, 0);
    for (int axis = 0; axis < frame->buffer->rank; axis++) {
        frame->low[axis] = distance(box->low[axis], zero, 0);
        frame->high[axis] = distance(frame->buffer->shape[axis], box->high[axis], 1);
        if (frame->low[axis] < 0 || frame->high[axis] < 0)
            return false;
    }
    return true;
}

/* ---- the loops ------------------------------------------------------------------------------------ */

static struct ir_stmt *loop_over(struct frame *frame, int axis, struct ir_expr *low, struct ir_expr *high,
                                 struct ir_expr **indices)
{
    static const char *const names[RANK] = {"f0", "f1", "f2", "f3"};
    struct ir_kernel *kernel = frame->pass->kernel;
    struct ir_stmt *loop = ir_stmt_new(kernel, IR_FOR, frame->span);
    loop->symbol = ir_symbol_new(kernel, IR_SYMBOL_LOOP, names[axis], AKG_INT64);
    loop->low = low;
    loop->high = high;
    loop->step = 1;
    indices[axis] = ir_symbol_use(kernel, loop->symbol);
    return loop;
}

static struct ir_expr *extent(struct frame *frame, int axis)
{
    return pass_copy(frame->pass, frame->buffer->shape[axis]);
}

/* The first element behind the box. */
static struct ir_expr *end_of_box(struct frame *frame, int axis)
{
    return ir_operation(frame->pass->kernel, OP_SUB, extent(frame, axis),
                        pass_number(frame->pass, frame->high[axis]), NULL);
}

static struct ir_stmt *clear_element(struct frame *frame, struct ir_expr *const *indices)
{
    struct ir_kernel *kernel = frame->pass->kernel;
    struct ir_buffer *buffer = frame->buffer;
    struct ir_stmt *store = ir_stmt_new(kernel, IR_STORE, frame->span);
    store->access.buffer = buffer;
    store->access.indices = arena_array(kernel->arena, struct ir_expr *, buffer->rank);
    store->access.checks = arena_array(kernel->arena, enum ir_check, buffer->rank);
    for (int axis = 0; axis < buffer->rank; axis++) {
        store->access.indices[axis] = pass_copy(frame->pass, indices[axis]);
        store->access.checks[axis] = IR_CHECK_PROVED;
    }
    pass_set_value(store, dtype_is_float(buffer->dtype) ? ir_real(kernel, buffer->dtype, 0)
                                                        : ir_integer(kernel, buffer->dtype, 0));
    return store;
}

/* All elements with the indices of the axes before this one. */
static struct ir_stmt *clear_all(struct frame *frame, int axis, struct ir_expr **indices)
{
    if (axis == frame->buffer->rank)
        return clear_element(frame, indices);
    struct ir_stmt *loop = loop_over(frame, axis, pass_number(frame->pass, 0), extent(frame, axis), indices);
    loop->body = clear_all(frame, axis + 1, indices);
    return loop;
}

/* `count` elements of the axis from `low` on, with all of the axes behind it. */
static struct ir_stmt **clear_part(struct frame *frame, int axis, struct ir_expr *low, int64_t count,
                                   struct ir_expr **indices, struct ir_stmt **end)
{
    struct ir_kernel *kernel = frame->pass->kernel;
    if (axis + 1 < frame->buffer->rank && count > 1) {
        struct ir_expr *high = ir_operation(kernel, OP_ADD, low, pass_number(frame->pass, count), NULL);
        *end = loop_over(frame, axis, pass_copy(frame->pass, low), high, indices);
        (*end)->body = clear_all(frame, axis + 1, indices);
        return &(*end)->next;
    }
    for (int64_t k = 0; k < count; k++) {
        indices[axis] =
            ir_operation(kernel, OP_ADD, pass_copy(frame->pass, low), pass_number(frame->pass, k), NULL);
        *end = clear_all(frame, axis + 1, indices);
        end = &(*end)->next;
    }
    return end;
}

static bool has_frame(const struct frame *frame, int axis)
{
    for (; axis < frame->buffer->rank; axis++)
        if (frame->low[axis] || frame->high[axis])
            return true;
    return false;
}

/* What lies in the frame and has, on the axes before this one, the indices of the box. */
static void clear_frame(struct frame *frame, int axis, struct ir_expr **indices, struct ir_stmt **end)
{
    end = clear_part(frame, axis, pass_number(frame->pass, 0), frame->low[axis], indices, end);
    end = clear_part(frame, axis, end_of_box(frame, axis), frame->high[axis], indices, end);
    if (!has_frame(frame, axis + 1))
        return;
    *end =
        loop_over(frame, axis, pass_number(frame->pass, frame->low[axis]), end_of_box(frame, axis), indices);
    clear_frame(frame, axis + 1, indices, &(*end)->body);
}

/* Whether there is room for the whole frame. */
static struct ir_expr *has_room(struct frame *frame)
{
    struct ir_kernel *kernel = frame->pass->kernel;
    struct ir_expr *all = NULL;
    for (int axis = 0; axis < frame->buffer->rank; axis++) {
        int64_t width = frame->low[axis] + frame->high[axis];
        struct ir_expr *fits =
            ir_operation(kernel, OP_GE, extent(frame, axis), pass_number(frame->pass, width), NULL);
        if (width > 0)
            all = all ? ir_operation(kernel, OP_AND, all, fits, NULL) : fits;
    }
    return all;
}

/* ---- all --------------------------------------------------------------------------------------------- */

static bool is_loaded_early(const struct analysis_gaps *gaps, const struct ir_buffer *buffer)
{
    for (int k = 0; k < gaps->loads.count; k++)
        if (gaps->loads.items[k]->access.buffer == buffer)
            return true;
    return false;
}

static bool frame_output(struct pass *pass, struct ir_buffer *buffer, const struct analysis_gaps *gaps)
{
    const struct analysis_gap *gap = &gaps->buffers[buffer->index];
    struct frame frame = {.pass = pass, .buffer = buffer};
    struct ir_expr *indices[RANK];
    struct ir_stmt *choice;
    int box = 0;
    while (box < gap->written.count && !measure(&frame, &gap->written.items[box]))
        box++;
    if (box == gap->written.count || is_loaded_early(gaps, buffer) || !has_frame(&frame, 0))
        return false;
    choice = ir_stmt_new(pass->kernel, IR_IF, frame.span);
    pass_set_value(choice, has_room(&frame));
    clear_frame(&frame, 0, indices, &choice->body);
    choice->otherwise = clear_all(&frame, 0, indices);
    choice->next = pass->kernel->body;
    pass->kernel->body = choice;
    buffer->clear = false;
    return true;
}

static bool is_candidate(const struct ir_buffer *buffer)
{
    return buffer->role == IR_OUTPUT && buffer->clear && buffer->rank > 0 && buffer->rank <= RANK;
}

bool pass_frame(struct pass *pass)
{
    struct ir_kernel *kernel = pass->kernel;
    const struct analysis_gaps *gaps = NULL;
    bool changed = false;
    for (int k = 0; k < kernel->buffers.count; k++) {
        struct ir_buffer *buffer = kernel->buffers.items[k];
        if (!is_candidate(buffer))
            continue;
        gaps = gaps ? gaps : analysis_initialisation_gaps(kernel);
        changed |= frame_output(pass, buffer, gaps);
    }
    return changed;
}

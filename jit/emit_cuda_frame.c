/*
 * emit_cuda_frame.c: zeroing what lies outside of the box of an output that is written anyway.
 *
 * Consumes a frame (cuda_frame.h). Its regions become loops that the grid strides over, one behind the other
 * in one launch: together they have as many iterations as the launch has threads, or few more.
 */
#include "cuda_frame.h"
#include "emit_cuda_private.h"

/* What the text calls the parts of the axes. */
struct axis_texts {
    const char *extent, *low, *inside;
};

static const char *hoisted(struct cuda_emitter *cuda, const struct ir_expr *expr)
{
    struct emit_value value = emit_index(&cuda->emitter, expr);
    return value.simple ? value.text : emit_hoist(&cuda->emitter, AKG_INT64, value).text;
}

/* How many indices of an axis there are in the region that is outside on axis `outer`. */
static const char *count_text(struct cuda_emitter *cuda, const struct axis_texts *axes, int outer, int axis)
{
    if (axis < outer)
        return axes[axis].inside;
    return axis > outer
               ? axes[axis].extent
               : arena_format(&cuda->emitter.arena, "(%s - %s)", axes[axis].extent, axes[axis].inside);
}

/* The element of a number, by its indices from the last one on. */
static void emit_element(struct cuda_emitter *cuda, const struct ir_buffer *buffer,
                         const struct axis_texts *axes, int outer)
{
    struct emitter *emitter = &cuda->emitter;
    const char *name = emitter->buffers[buffer->index], *offset = "";
    emit_line(emitter, "long long rest_ = z_;");
    for (int axis = buffer->rank - 1; axis >= 0; axis--) {
        const char *count = count_text(cuda, axes, outer, axis), *digit = "rest_";
        if (axis > 0) {
            emit_line(emitter, "const long long next%d_ = akg_quotient(rest_, %s);", axis, count);
            emit_line(emitter, "const long long digit%d_ = rest_ - next%d_ * %s;", axis, axis, count);
            emit_line(emitter, "rest_ = next%d_;", axis);
            digit = arena_format(&emitter->arena, "digit%d_", axis);
        }
        if (axis < outer)
            emit_line(emitter, "const long long z%d_ = %s + %s;", axis, axes[axis].low, digit);
        else if (axis > outer)
            emit_line(emitter, "const long long z%d_ = %s;", axis, digit);
        else
            emit_line(emitter, "const long long z%d_ = %s < %s ? %s : %s + %s;", axis, digit, axes[axis].low,
                      digit, digit, axes[axis].inside);
    }
    for (int axis = 0; axis < buffer->rank; axis++) {
        if (!buffer->contiguous)
            offset = arena_format(&emitter->arena, "%s%sz%d_ * %s_stride%d_", offset, axis ? " + " : "", axis,
                                  name, axis);
        else if (axis == 0)
            offset = "z0_";
        else
            offset = arena_format(&emitter->arena, "(%s) * %s + z%d_", offset, axes[axis].extent, axis);
    }
    emit_line(emitter, "%s[%s] = 0;", name, offset);
}

void emit_cuda_frame(struct cuda_emitter *cuda, const struct ir_buffer *buffer,
                     const struct cuda_frame *frame, const char *first, const char *step)
{
    struct emitter *emitter = &cuda->emitter;
    struct axis_texts axes[AKG_MAX_RANK];
    for (int axis = 0; axis < buffer->rank; axis++) {
        axes[axis].extent = emit_operand(emitter, emit_extent(emitter, buffer, axis), EMIT_UNARY);
        axes[axis].low = hoisted(cuda, frame->low[axis]);
        axes[axis].inside = hoisted(cuda, frame->inside[axis]);
    }
    for (int outer = 0; outer < buffer->rank; outer++) {
        const char *count = "";
        if (!frame->open[outer])
            continue;
        for (int axis = 0; axis < buffer->rank; axis++)
            count = arena_format(&emitter->arena, "%s%s%s", count, axis ? " * " : "",
                                 count_text(cuda, axes, outer, axis));
        emit_line(emitter, "for (long long z_ = %s; z_ < %s; z_ += %s) {", first, count, step);
        emitter->indent++;
        emit_element(cuda, buffer, axes, outer);
        emitter->indent--;
        emit_line(emitter, "}");
    }
}

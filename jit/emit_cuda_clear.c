/*
 * emit_cuda_clear.c: elements to zero.
 *
 * Consumes a tensor or temporary that is to be cleared, and what is known to be stored later (cuda_fill.h).
 * Produces loops over all elements, or over those around the box that is stored: for each axis the elements
 * that are outside on that axis, and inside on those before it.
 */
#include "cuda_fill.h"
#include "emit_cuda_private.h"

void emit_cuda_clear(struct cuda_emitter *cuda, const struct ir_buffer *buffer, const char *first,
                     const char *step)
{
    struct emitter *emitter = &cuda->emitter;
    const char *name = emitter->buffers[buffer->index], *offset = "";
    emit_line(emitter, "for (long long z_ = %s; z_ < %s; z_ += %s) {", first,
              emit_element_count(emitter, buffer), step);
    emitter->indent++;
    if (!buffer->contiguous)
        emit_line(emitter, "long long rest_ = z_;");
    for (int axis = buffer->rank - 1; axis >= 0 && !buffer->contiguous; axis--) {
        const char *extent = emit_operand(emitter, emit_extent(emitter, buffer, axis), EMIT_UNARY);
        emit_line(emitter, "const long long z%d_ = rest_ %% %s;", axis, extent);
        emit_line(emitter, "rest_ = rest_ / %s;", extent);
        offset = arena_format(&emitter->arena, "%s%sz%d_ * %s_stride%d_", offset, *offset ? " + " : "", axis,
                              name, axis);
    }
    emit_line(emitter, "%s[%s] = 0;", name, buffer->contiguous ? "z_" : *offset ? offset : "0");
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- around a box --------------------------------------------------------------------------- */

static const char *extent_text(struct emitter *emitter, const struct ir_buffer *buffer, int axis)
{
    return emit_operand(emitter, emit_extent(emitter, buffer, axis), EMIT_UNARY);
}

/* The box: low0_, and inside0_, which are all 0 where it has no elements. */
static void emit_box(struct cuda_emitter *cuda, const struct cuda_fill *fill)
{
    struct emitter *emitter = &cuda->emitter;
    struct ir_kernel *kernel = cuda->plan.kernel;
    const char *any = "";
    for (int axis = 0; axis < fill->rank; axis++) {
        emit_line(emitter, "const long long low%d_ = %s;", axis,
                  emit_shallow(emitter, cuda_fill_low(kernel, fill, axis)).text);
        emit_line(emitter, "const long long length%d_ = %s;", axis,
                  emit_shallow(emitter, cuda_fill_length(kernel, fill, axis)).text);
        any = arena_format(&emitter->arena, "%s%slength%d_ > 0", any, axis ? " && " : "", axis);
    }
    emit_line(emitter, "const int any_ = %s;", any);
    for (int axis = 0; axis < fill->rank; axis++)
        emit_line(emitter, "const long long inside%d_ = any_ ? length%d_ : 0;", axis, axis);
}

/* How many places an axis has among those that are outside on axis `outside`. */
static const char *places_text(struct emitter *emitter, const struct ir_buffer *buffer, int axis, int outside)
{
    const char *extent = extent_text(emitter, buffer, axis);
    return axis < outside    ? arena_format(&emitter->arena, "inside%d_", axis)
           : axis == outside ? arena_format(&emitter->arena, "(%s - inside%d_)", extent, axis)
                             : extent;
}

static void emit_side(struct cuda_emitter *cuda, const struct ir_buffer *buffer, int outside,
                      const char *first, const char *step)
{
    struct emitter *emitter = &cuda->emitter;
    struct arena *arena = &emitter->arena;
    const char *name = emitter->buffers[buffer->index], *all = "", *offset = "0";
    for (int axis = 0; axis < buffer->rank; axis++)
        all = arena_format(arena, "%s%s%s", all, axis ? " * " : "",
                           places_text(emitter, buffer, axis, outside));
    emit_line(emitter, "for (long long z_ = %s; z_ < %s; z_ += %s) {", first, all, step);
    emitter->indent++;
    emit_line(emitter, "long long rest_ = z_;");
    for (int axis = buffer->rank - 1; axis >= 0; axis--) {
        emit_line(emitter, "long long z%d_ = rest_;", axis);
        if (axis > 0) {
            const char *places = places_text(emitter, buffer, axis, outside);
            emit_line(emitter, "rest_ = akg_quotient(rest_, %s);", places);
            emit_line(emitter, "z%d_ -= rest_ * %s;", axis, places);
        }
        if (axis < outside)
            emit_line(emitter, "z%d_ += low%d_;", axis, axis);
        if (axis == outside)
            emit_line(emitter, "z%d_ += z%d_ < low%d_ || !any_ ? 0 : inside%d_;", axis, axis, axis, axis);
    }
    for (int axis = 0; axis < buffer->rank; axis++)
        offset =
            buffer->contiguous && axis == 0 ? "z0_"
            : buffer->contiguous
                ? arena_format(arena, "(%s) * %s + z%d_", offset, extent_text(emitter, buffer, axis), axis)
                : arena_format(arena, "%s + z%d_ * %s_stride%d_", offset, axis, name, axis);
    emit_line(emitter, "%s[%s] = 0;", name, offset);
    emitter->indent--;
    emit_line(emitter, "}");
}

void emit_cuda_clear_around(struct cuda_emitter *cuda, const struct ir_buffer *buffer,
                            const struct cuda_fill *fill, const char *first, const char *step)
{
    emit_box(cuda, fill);
    for (int axis = 0; axis < buffer->rank; axis++)
        emit_side(cuda, buffer, axis, first, step);
}

/*
 * emit_cuda_clear.c: elements to zero.
 *
 * Consumes a tensor or temporary that is to be cleared. Produces a loop over all elements.
 */
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

/*
 * gradcheck_complex.c: the derivative by one element, by the complex step.
 *
 * Runs in the place of a kernel's machine code (call_runner): gives every buffer of floats imaginary parts, a
 * step in that of the element, and keeps them until they have been asked for.
 */
#include "gradcheck.h"

#include "../jit/interpreter_complex.h"
#include "../jit/scalar.h"

#define STEP 0x1p-664 /* about 1e-200; its square is nothing */

/* How many elements the buffer reaches over, gaps included; 0 where it has no float. */
static int64_t complex_reach(const struct ir_buffer *buffer, const struct jit_frame *frame)
{
    int64_t reach = 1;

    if (!frame->data[buffer->index] || !dtype_is_float(buffer->dtype))
        return 0;
    for (int k = 0; k < buffer->rank; k++) {
        union dtype_value extent;
        if (!scalar_evaluate(buffer->shape[k], frame->dims, frame->scalars, &extent) || extent.i <= 0)
            return 0;
        reach += (extent.i - 1) * frame->strides[buffer->index][k];
    }
    return reach;
}

void gradcheck_complex_end(struct gradcheck_complex *step)
{
    for (int i = 0; step->imaginary && i < step->count; i++)
        memory_free(step->imaginary[i]);
    memory_free(step->imaginary);
    memory_free(step->counts);
    memory_free(step->data);
    step->imaginary = NULL;
    step->counts = NULL;
    step->data = NULL;
}

static bool complex_begin(struct gradcheck_complex *step, const struct ir_kernel *kernel,
                          const struct jit_frame *frame)
{
    size_t count = (size_t)kernel->buffers.count;

    gradcheck_complex_end(step);
    step->count = kernel->buffers.count;
    step->imaginary = memory_zeroed(count + 1, sizeof *step->imaginary);
    step->counts = memory_zeroed(count + 1, sizeof *step->counts);
    step->data = memory_zeroed(count + 1, sizeof *step->data);
    if (!step->imaginary || !step->counts || !step->data)
        return false;
    for (int i = 0; i < step->count; i++) {
        step->data[i] = frame->data[i];
        step->counts[i] = complex_reach(kernel->buffers.items[i], frame);
        if (step->counts[i] == 0)
            continue;
        step->imaginary[i] = memory_zeroed((size_t)step->counts[i], sizeof(double));
        if (!step->imaginary[i])
            return false;
        if (frame->data[i] == step->changed && step->place < step->counts[i])
            step->imaginary[i][step->place] = STEP;
    }
    return true;
}

int gradcheck_complex_run(void *context, const struct ir_kernel *kernel, const struct jit_frame *frame)
{
    struct gradcheck_complex *step = context;
    int stopped = 1;

    frame->trap->site = 0;
    if (complex_begin(step, kernel, frame)) {
        struct interpreter_complex parts = {
            .imaginary = step->imaginary, .counts = step->counts, .steps = step->steps};
        stopped = interpreter_run_complex(kernel, frame, &parts);
        step->steps = parts.steps;
        step->refused = parts.refused;
    }
    return stopped;
}

double gradcheck_complex_derivative(const struct gradcheck_complex *step, const void *data, int64_t place)
{
    for (int i = 0; i < step->count; i++)
        if (step->data[i] == data && place < step->counts[i])
            return step->imaginary[i][place] / STEP;
    return 0;
}

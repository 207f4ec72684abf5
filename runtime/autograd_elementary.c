/*
 * autograd_elementary.c: the few operations that gradients need whatever the operators are: sums of two, sums
 * over what was broadcast, casts, constants. Loops in C, in C order: the same bits on every run; for tensors
 * on a device kernels there (device_kernels.c).
 *
 * Sums over axes are accumulated in float64 and rounded once. Where the tape records, the operations are
 * recorded like any other; each one's gradient is its output's, which the pass sums and casts to what is
 * needed.
 */
#include "autograd.h"

#include "../base/memory.h"
#include "broadcast.h"
#include "device_kernels.h"
#include "gpu.h"
#include "recording.h"

#include <string.h>

/* ---- recording -------------------------------------------------------------------------------------- */

static akg_status same_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                akg_diagnostics **diagnostics)
{
    (void)diagnostics;
    for (int i = 0; i < step->node->edge_count; i++)
        if (step->needed[i])
            input_gradients[i] = akg_tensor_retain(step->output_gradients[0]);
    return AKG_OK;
}

static const struct autograd_operation same_operation = {same_backward, NULL};

static akg_status widen_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                 akg_diagnostics **diagnostics)
{
    (void)diagnostics;
    return autograd_expand(step->tape, step->output_gradients[0],
                           &step->node->edges[0].node->outputs[step->node->edges[0].output],
                           &input_gradients[0]);
}

static const struct autograd_operation widen_operation = {widen_backward, NULL};

/* Releases the result when it cannot be recorded. */
static akg_status record_result(akg_tape *tape, const struct autograd_operation *operation, const char *name,
                                akg_tensor *const *inputs, size_t input_count, akg_tensor **result)
{
    if (!autograd_is_needed(tape, inputs, input_count))
        return AKG_OK;
    struct autograd_record record = {.operation = operation,
                                     .name = name,
                                     .inputs = inputs,
                                     .input_count = input_count,
                                     .outputs = result,
                                     .output_count = 1,
                                     .backward_on_tape = true};
    akg_status status = autograd_record(tape, &record);
    if (status != AKG_OK) {
        akg_tensor_release(*result);
        *result = NULL;
    }
    return status;
}

/* ---- sums of two ----------------------------------------------------------------------------------------
 */

#define ADD_ROW(type)                                                                                        \
    do {                                                                                                     \
        type *sum = to;                                                                                      \
        const type *left = a, *right = b;                                                                    \
        for (int64_t i = 0; i < count; i++)                                                                  \
            sum[i] = left[i] + right[i];                                                                     \
    } while (0)

/* Contiguous elements; `to` may be `a`. */
static void add_row(akg_dtype dtype, void *to, const void *a, const void *b, int64_t count)
{
    int size = dtype_table[dtype].size;

    if (dtype == AKG_FLOAT32) {
        ADD_ROW(float);
    } else if (dtype == AKG_FLOAT64) {
        ADD_ROW(double);
    } else { /* halves */
        for (int64_t i = 0; i < count * size; i += size) {
            float left = dtype_load(dtype, (const char *)a + i).f;
            float right = dtype_load(dtype, (const char *)b + i).f;
            dtype_store(dtype, (char *)to + i,
                        dtype_cast(dtype, AKG_FLOAT32, (union dtype_value){.f = left + right}));
        }
    }
}

void autograd_add_into(akg_tensor *a, const akg_tensor *b)
{
    add_row(a->dtype, a->data, a->data, b->data, a->element_count);
    tensor_mark_written(a);
}

/* The tensor itself, or a copy that lies in C order. */
static akg_status contiguous_of(akg_tensor *tensor, akg_tensor **contiguous)
{
    if (!tensor->contiguous)
        return akg_tensor_copy(tensor, contiguous);
    *contiguous = akg_tensor_retain(tensor);
    return AKG_OK;
}

static akg_status add_values(akg_tensor *a, akg_tensor *b, akg_tensor **sum)
{
    akg_tensor *left = NULL, *right = NULL;
    akg_status status = contiguous_of(a, &left);

    if (status == AKG_OK)
        status = contiguous_of(b, &right);
    if (status == AKG_OK)
        status = tensor_allocate(a->dtype, a->rank, tensor_shape(a), false, sum);
    if (status == AKG_OK)
        add_row(a->dtype, (*sum)->data, left->data, right->data, a->element_count);
    akg_tensor_release(left);
    akg_tensor_release(right);
    return status;
}

/* In a recording: the operator of the standard library, which gives the same bits. */
static akg_status add_recorded(akg_tape *tape, akg_tensor *a, akg_tensor *b, akg_tensor **sum)
{
    const akg_argument arguments[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = a},
                                      {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = b}};
    akg_operator *add;
    akg_status status = akg_registry_find(tape->registry, "std:add", &add, NULL);

    *sum = NULL;
    return status == AKG_OK ? recording_call(tape->graph, akg_operator_kernel(add), arguments, 2, sum, NULL)
                            : status;
}

akg_status autograd_add(akg_tape *tape, akg_tensor *a, akg_tensor *b, akg_tensor **sum,
                        akg_diagnostics **diagnostics)
{
    akg_tensor *inputs[] = {a, b};
    akg_status status = tape && tape->graph      ? add_recorded(tape, a, b, sum)
                        : a->device || b->device ? device_add(a, b, sum, diagnostics)
                                                 : add_values(a, b, sum);

    return status == AKG_OK ? record_result(tape, &same_operation, "sum of gradients", inputs, 2, sum)
                            : status;
}

/* ---- sums over axes -------------------------------------------------------------------------------------
 */

bool autograd_can_sum_to(int from_rank, const int64_t *from, int rank, const int64_t *shape)
{
    int extra = from_rank - rank;

    for (int axis = 0; axis < rank; axis++)
        if (extra < 0 || (shape[axis] != 1 && shape[axis] != from[extra + axis]))
            return false;
    return extra >= 0;
}

#define SUM_ROW(type)                                                                                        \
    do {                                                                                                     \
        for (int64_t i = 0; i < length; i++, from += stride)                                                 \
            to[i * step] += (double)*(const type *)(const void *)from;                                       \
    } while (0)

/* Adds a row to accumulators that are `step` (0 or 1) apart. */
static void sum_row(akg_dtype dtype, double *to, int64_t step, const char *from, ptrdiff_t stride,
                    int64_t length)
{
    if (dtype == AKG_FLOAT32)
        SUM_ROW(float);
    else if (dtype == AKG_FLOAT64)
        SUM_ROW(double);
    else
        for (int64_t i = 0; i < length; i++, from += stride)
            to[i * step] += dtype_to_double(dtype, dtype_load(dtype, from));
}

/* Walks `source` row by row in C order; strides[axis] is how far the accumulators move with that axis. */
static void sum_into(double *sums, const akg_tensor *source, const int64_t *strides)
{
    int64_t index[AKG_MAX_RANK] = {0};
    int size = dtype_table[source->dtype].size, last = source->rank - 1, axis;
    const char *row = source->data;
    double *to = sums;

    do {
        sum_row(source->dtype, to, strides[last], row, tensor_strides(source)[last] * size,
                source->dims[last]);
        for (axis = last - 1; axis >= 0; axis--) {
            row += tensor_strides(source)[axis] * size;
            to += strides[axis];
            if (++index[axis] < source->dims[axis])
                break;
            row -= tensor_strides(source)[axis] * size * source->dims[axis];
            to -= strides[axis] * source->dims[axis];
            index[axis] = 0;
        }
    } while (axis >= 0);
}

akg_status autograd_sum_into(const akg_tensor *source, akg_tensor *sum)
{
    int64_t strides[AKG_MAX_RANK] = {0}, stride = 1;
    int extra = source->rank - sum->rank, size = dtype_table[sum->dtype].size;
    double *sums;

    if (source->rank == sum->rank && source->element_count == sum->element_count) {
        tensor_cast_into(source, sum);
        return AKG_OK;
    }
    for (int axis = sum->rank - 1; axis >= 0; axis--) {
        strides[extra + axis] = sum->dims[axis] == 1 ? 0 : stride;
        stride *= sum->dims[axis];
    }
    sums = memory_zeroed((size_t)sum->element_count + 1, sizeof *sums);
    if (!sums)
        return AKG_ERROR_MEMORY;
    if (source->element_count > 0)
        sum_into(sums, source, strides);
    for (int64_t i = 0; i < sum->element_count; i++)
        dtype_store(sum->dtype, (char *)sum->data + i * size, dtype_from_double(sum->dtype, sums[i]));
    memory_free(sums);
    return AKG_OK;
}

static akg_status sum_values(const akg_tensor *source, const struct autograd_output *form, akg_tensor **sum)
{
    akg_status status = tensor_allocate(form->dtype, form->rank, form->dims, false, sum);

    if (status == AKG_OK)
        status = autograd_sum_into(source, *sum);
    if (status != AKG_OK) {
        akg_tensor_release(*sum);
        *sum = NULL;
    }
    return status;
}

akg_status autograd_sum_to(akg_tape *tape, akg_tensor *source, const struct autograd_output *form,
                           akg_tensor **sum, akg_diagnostics **diagnostics)
{
    akg_status status;

    if (tape && tape->graph)
        status = recording_sum(tape->graph, source, form->recorded, form->dtype, form->rank, form->dims, sum);
    else if (source->device)
        status = device_sum_to(source, form->dtype, form->rank, form->dims, sum, diagnostics);
    else
        status = sum_values(source, form, sum);

    return status == AKG_OK ? record_result(tape, &widen_operation, "sum over axes", &source, 1, sum)
                            : status;
}

/* ---- casts, views, constants -------------------------------------------------------------------------- */

akg_status autograd_cast(akg_tape *tape, akg_tensor *source, akg_dtype dtype, akg_tensor **cast,
                         akg_diagnostics **diagnostics)
{
    akg_status status;

    if (tape && tape->graph)
        status = recording_sum(tape->graph, source, RECORDED_LIKE_SOURCE, dtype, source->rank,
                               tensor_shape(source), cast);
    else
        status = source->device ? device_convert(source, dtype, cast, diagnostics)
                                : akg_tensor_cast(source, dtype, cast);

    return status == AKG_OK ? record_result(tape, &same_operation, "cast", &source, 1, cast) : status;
}

akg_status autograd_expand(akg_tape *tape, akg_tensor *source, const struct autograd_output *form,
                           akg_tensor **expanded)
{
    akg_status status = tape && tape->graph ? recording_expand(tape->graph, source, form->recorded,
                                                               form->rank, form->dims, expanded)
                                            : broadcast_view(source, form->rank, form->dims, expanded);

    return status == AKG_OK ? record_result(tape, &same_operation, "broadcast", &source, 1, expanded)
                            : status;
}

akg_status autograd_filled(akg_tape *tape, const struct autograd_output *form, double value,
                           akg_tensor **tensor, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};

    if (tape && tape->graph)
        return recording_fill(tape->graph, form->recorded, form->dtype, form->rank, form->dims, value,
                              tensor);
    akg_status status =
        tensor_allocate_on(form->device, form->dtype, form->rank, form->dims, value == 0, tensor, &failure);

    if (status == AKG_OK && value != 0)
        akg_tensor_fill(*tensor, value);
    return failure.status != AKG_OK ? gpu_failure_report(&failure, diagnostics) : status;
}

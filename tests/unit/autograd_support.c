/*
 * autograd_support.c: see autograd_support.h.
 */
#include "autograd_support.h"

#include "../../base/memory.h"

#include <math.h>
#include <string.h>

_Thread_local int net_backward_count;

/* ---- shapes ---------------------------------------------------------------------------------------- */

static int broadcast(const akg_tensor *a, const akg_tensor *b, int64_t *shape)
{
    int rank = a->rank > b->rank ? a->rank : b->rank;

    for (int axis = 0; axis < rank; axis++) {
        int64_t left = axis < rank - a->rank ? 1 : a->dims[axis - (rank - a->rank)];
        int64_t right = axis < rank - b->rank ? 1 : b->dims[axis - (rank - b->rank)];
        shape[axis] = left == 1 ? right : left;
    }
    return rank;
}

/* The element of an operand that is broadcast to `rank` axes. */
static double element(const akg_tensor *tensor, int rank, const int64_t *index)
{
    int64_t own[AKG_MAX_RANK] = {0};

    for (int axis = 0; axis < tensor->rank; axis++)
        own[axis] = tensor->dims[axis] == 1 ? 0 : index[rank - tensor->rank + axis];
    return akg_tensor_get(tensor, own);
}

static bool next(int rank, const int64_t *shape, int64_t *index)
{
    for (int axis = rank - 1; axis >= 0; axis--) {
        if (++index[axis] < shape[axis])
            return true;
        index[axis] = 0;
    }
    return false;
}

/* ---- multiply -------------------------------------------------------------------------------------- */

static akg_status multiply_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                    akg_diagnostics **diagnostics)
{
    net_backward_count++;
    for (int i = 0; i < 2; i++) {
        akg_tensor *other;
        akg_status status;
        if (!step->needed[i])
            continue;
        status = autograd_saved(step, (size_t)(1 - i), &other, diagnostics);
        if (status == AKG_OK)
            status =
                net_multiply(step->tape, step->output_gradients[0], other, &input_gradients[i], diagnostics);
        akg_tensor_release(other);
        if (status != AKG_OK)
            return status;
    }
    return AKG_OK;
}

static const struct autograd_operation multiply_operation = {multiply_backward, NULL};

akg_status net_multiply(akg_tape *tape, akg_tensor *a, akg_tensor *b, akg_tensor **product,
                        akg_diagnostics **diagnostics)
{
    akg_tensor *inputs[] = {a, b};
    /* only what a gradient that is needed reads */
    akg_tensor *saved[] = {b->node ? a : NULL, a->node ? b : NULL};
    int64_t shape[AKG_MAX_RANK], index[AKG_MAX_RANK] = {0};
    int rank = broadcast(a, b, shape);
    akg_status status = akg_tensor_create(a->dtype, rank, shape, product);

    (void)diagnostics;
    if (status != AKG_OK)
        return status;
    if ((*product)->element_count > 0)
        do {
            akg_tensor_set(*product, index, element(a, rank, index) * element(b, rank, index));
        } while (next(rank, shape, index));
    if (!autograd_is_needed(tape, inputs, 2))
        return AKG_OK;
    struct autograd_record record = {.operation = &multiply_operation,
                                     .name = "multiply",
                                     .inputs = inputs,
                                     .input_count = 2,
                                     .outputs = product,
                                     .output_count = 1,
                                     .saved = saved,
                                     .saved_count = 2,
                                     .backward_on_tape = true};
    status = autograd_record(tape, &record);
    if (status != AKG_OK) {
        akg_tensor_release(*product);
        *product = NULL;
    }
    return status;
}

akg_tensor *net_product(akg_tape *tape, akg_tensor *a, akg_tensor *b)
{
    akg_tensor *product = NULL;
    net_multiply(tape, a, b, &product, NULL);
    return product;
}

/* ---- exp, with its output saved ------------------------------------------------------------------------ */

static akg_status exp_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                               akg_diagnostics **diagnostics)
{
    akg_tensor *y;
    akg_status status = autograd_saved(step, 0, &y, diagnostics);

    net_backward_count++;
    if (status == AKG_OK)
        status = net_multiply(step->tape, step->output_gradients[0], y, &input_gradients[0], diagnostics);
    akg_tensor_release(y);
    return status;
}

static const struct autograd_operation exp_operation = {exp_backward, NULL};

akg_status net_exp(akg_tape *tape, akg_tensor *x, akg_tensor **y, akg_diagnostics **diagnostics)
{
    int64_t index[AKG_MAX_RANK] = {0};
    akg_status status = akg_tensor_create(x->dtype, x->rank, x->dims, y);

    (void)diagnostics;
    if (status != AKG_OK)
        return status;
    do {
        akg_tensor_set(*y, index, exp(akg_tensor_get(x, index)));
    } while (next(x->rank, x->dims, index));
    struct autograd_record record = {.operation = &exp_operation,
                                     .name = "exp",
                                     .inputs = &x,
                                     .input_count = 1,
                                     .outputs = y,
                                     .output_count = 1,
                                     .saved = y,
                                     .saved_count = 1,
                                     .backward_on_tape = true};
    status = autograd_record(tape, &record);
    if (status != AKG_OK) {
        akg_tensor_release(*y);
        *y = NULL;
    }
    return status;
}

/* ---- scale, in place; its state is on the heap -------------------------------------------------------- */

static akg_status scale_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                 akg_diagnostics **diagnostics)
{
    const double *factor = step->state;
    akg_tensor *other;
    akg_status status = autograd_filled(step->tape, &(struct autograd_output){.dtype = AKG_FLOAT64}, *factor,
                                        &other, diagnostics);

    net_backward_count++;
    if (status == AKG_OK)
        status = net_multiply(step->tape, step->output_gradients[0], other, &input_gradients[0], diagnostics);
    akg_tensor_release(other);
    return status;
}

static const struct autograd_operation scale_operation = {scale_backward, memory_free};

akg_status net_scale(akg_tape *tape, akg_tensor *x, double factor, akg_diagnostics **diagnostics)
{
    int64_t index[AKG_MAX_RANK] = {0};
    akg_status status = autograd_check_write(tape, x, "scale", diagnostics);
    double *state;

    if (status != AKG_OK)
        return status;
    state = memory_allocate(sizeof *state);
    if (!state)
        return AKG_ERROR_MEMORY;
    *state = factor;
    struct autograd_record record = {.operation = &scale_operation,
                                     .name = "scale",
                                     .state = state,
                                     .inputs = &x,
                                     .input_count = 1,
                                     .outputs = &x,
                                     .output_count = 1,
                                     .backward_on_tape = true};
    status = autograd_record(tape, &record);
    if (status != AKG_OK) {
        memory_free(state);
        return status;
    }
    do {
        akg_tensor_set(x, index, akg_tensor_get(x, index) * factor);
    } while (next(x->rank, x->dims, index));
    return AKG_OK;
}

/* ---- split ------------------------------------------------------------------------------------------------
 */

static akg_status split_backward(const struct autograd_step *step, akg_tensor **input_gradients,
                                 akg_diagnostics **diagnostics)
{
    akg_tensor *const *from = step->output_gradients;
    const akg_tensor *some = from[0] ? from[0] : from[1];
    akg_status status = akg_tensor_create(some->dtype, some->rank, some->dims, &input_gradients[0]);

    (void)diagnostics;
    net_backward_count++;
    if (status != AKG_OK)
        return status;
    for (int64_t i = 0; i < some->element_count; i++)
        akg_tensor_set(input_gradients[0], &i,
                       (from[0] ? akg_tensor_get(from[0], &i) : 0) +
                           2 * (from[1] ? akg_tensor_get(from[1], &i) : 0));
    return AKG_OK;
}

static const struct autograd_operation split_operation = {split_backward, NULL};

akg_status net_split(akg_tape *tape, akg_tensor *x, bool materialise, akg_tensor **outputs,
                     akg_diagnostics **diagnostics)
{
    akg_status status = akg_tensor_copy(x, &outputs[0]);

    (void)diagnostics;
    if (status == AKG_OK)
        status = akg_tensor_create(x->dtype, x->rank, x->dims, &outputs[1]);
    for (int64_t i = 0; status == AKG_OK && i < x->element_count; i++)
        akg_tensor_set(outputs[1], &i, 2 * akg_tensor_get(x, &i));
    struct autograd_record record = {.operation = &split_operation,
                                     .name = "split",
                                     .inputs = &x,
                                     .input_count = 1,
                                     .outputs = outputs,
                                     .output_count = 2,
                                     .materialise = materialise};
    return status == AKG_OK ? autograd_record(tape, &record) : status;
}

/* ---- tensors ----------------------------------------------------------------------------------------------
 */

akg_tensor *net_scalar(akg_dtype dtype, double value, bool requires_grad)
{
    akg_tensor *tensor = api_range(dtype, 0, NULL, value, 0);
    akg_tensor_set_requires_grad(tensor, requires_grad, NULL);
    return tensor;
}

akg_tensor *net_vector(akg_dtype dtype, int64_t length, double first, double step, bool requires_grad)
{
    akg_tensor *tensor = api_vector(dtype, length, first, step);
    akg_tensor_set_requires_grad(tensor, requires_grad, NULL);
    return tensor;
}

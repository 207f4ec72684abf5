/*
 * oracle_run.c: see oracle_run.h. Does by itself what runtime/call.c does, so that the two can be compared.
 */
#include "oracle_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../jit/interpreter.h"
#include "../../jit/scalar.h"

/* The argument of parameter `index`, given by place; NULL: its default holds. */
static const akg_argument *oracle_argument(const struct oracle_run *run, int index)
{
    return index < run->arguments.count ? &run->arguments.items[index] : NULL;
}

static union jit_scalar oracle_scalar(const struct ir_symbol *symbol, const struct dsl_argument *initial,
                                      const akg_argument *argument)
{
    double real = 0;
    int64_t integer = 0;

    if (!argument) {
        integer = initial->integer;
        real = initial->kind == DSL_FLOAT ? initial->real : (double)integer;
    } else if (argument->kind == AKG_ARGUMENT_FLOAT) {
        real = argument->as.real;
    } else {
        integer = argument->kind == AKG_ARGUMENT_BOOL ? argument->as.boolean : argument->as.integer;
        real = (double)integer;
    }
    return symbol->dtype == AKG_FLOAT64 ? (union jit_scalar){.d = real} : (union jit_scalar){.i = integer};
}

static bool oracle_take_arguments(struct oracle_run *run, const struct akg_kernel *owner)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    const struct ast_function *function = owner->function;
    int row = 0;

    for (int i = 0; i < function->parameter_count; i++) {
        const akg_argument *argument = oracle_argument(run, i);
        const struct ir_parameter *parameter;
        if (argument && argument->kind == AKG_ARGUMENT_TENSORS) {
            for (size_t k = 0; k < argument->as.tensors.count; k++, row++)
                if (row < kernel->parameters.count)
                    run->tensors[kernel->parameters.items[row].buffer->index] = argument->as.tensors.items[k];
            continue;
        }
        if (!argument && function->parameters[i].variadic)
            continue;
        if (row == kernel->parameters.count)
            return false;
        parameter = &kernel->parameters.items[row++];
        if (parameter->buffer && (!argument || argument->kind != AKG_ARGUMENT_TENSOR))
            return false;
        if (parameter->buffer)
            run->tensors[parameter->buffer->index] = argument->as.tensor;
        else if (parameter->attribute)
            run->scalars[parameter->attribute->index] =
                oracle_scalar(parameter->attribute, &owner->general[i], argument);
    }
    for (int i = 0; i < kernel->dims.count; i++) {
        const struct ir_symbol *dim = kernel->dims.items[i];
        run->dims[i] = akg_tensor_shape(run->tensors[dim->buffer->index])[dim->axis];
    }
    return true;
}

static bool oracle_make_buffer(struct oracle_run *run, const struct ir_buffer *buffer, unsigned char pattern)
{
    int64_t shape[AKG_MAX_RANK];
    akg_tensor *tensor;

    for (int axis = 0; axis < buffer->rank; axis++) {
        union dtype_value value;
        if (!scalar_evaluate(buffer->shape[axis], run->dims, run->scalars, &value) || value.i < 0)
            return false;
        shape[axis] = value.i;
    }
    if (akg_tensor_create(buffer->dtype, buffer->rank, shape, &tensor) != AKG_OK)
        return false;
    run->tensors[buffer->index] = tensor;
    run->owned[buffer->index] = true;
    if (buffer->dtype == AKG_BOOL)
        pattern &= 1;
    memset(akg_tensor_data(tensor), pattern,
           (size_t)akg_tensor_element_count(tensor) * akg_dtype_size(buffer->dtype));
    return true;
}

bool oracle_run_prepare(struct oracle_run *run, const struct jit_instance *instance,
                        const struct akg_kernel *kernel, const struct inputs *arguments,
                        unsigned char pattern)
{
    size_t buffers = (size_t)instance->kernel->buffers.count + 1;

    *run = (struct oracle_run){.instance = instance};
    run->tensors = calloc(buffers, sizeof *run->tensors);
    run->owned = calloc(buffers, sizeof *run->owned);
    run->data = calloc(buffers, sizeof *run->data);
    run->strides = calloc(buffers, sizeof *run->strides);
    run->dims = calloc((size_t)instance->kernel->dims.count + 1, sizeof *run->dims);
    run->scalars = calloc((size_t)instance->kernel->attributes.count + 1, sizeof *run->scalars);
    if (!run->tensors || !run->owned || !run->data || !run->strides || !run->dims || !run->scalars ||
        !inputs_copy(arguments, &run->arguments) || !oracle_take_arguments(run, kernel))
        return false;
    for (int i = 0; i < instance->kernel->buffers.count; i++)
        if (!run->tensors[i] && !oracle_make_buffer(run, instance->kernel->buffers.items[i], pattern))
            return false;
    return true;
}

void oracle_run_free(struct oracle_run *run)
{
    for (int i = 0; run->owned && i < run->instance->kernel->buffers.count; i++)
        if (run->owned[i])
            akg_tensor_release(run->tensors[i]);
    inputs_free(&run->arguments);
    free(run->tensors);
    free(run->owned);
    free(run->data);
    free(run->strides);
    free(run->dims);
    free(run->scalars);
}

const struct ir_precondition *oracle_run_refusal(const struct oracle_run *run, bool *shapes)
{
    const struct ir_kernel *kernel = run->instance->kernel;
    union dtype_value value;

    *shapes = true;
    for (int i = 0; i < kernel->buffers.count; i++) {
        const struct ir_buffer *buffer = kernel->buffers.items[i];
        for (int axis = 0; axis < buffer->rank && !run->owned[i]; axis++)
            if (!scalar_evaluate(buffer->shape[axis], run->dims, run->scalars, &value) ||
                value.i != akg_tensor_shape(run->tensors[i])[axis])
                *shapes = false;
    }
    for (int i = 0; i < kernel->preconditions.count; i++) {
        const struct ir_precondition *row = &kernel->preconditions.items[i];
        if (row->guard && scalar_evaluate(row->guard, run->dims, run->scalars, &value) && !value.i)
            continue;
        if (!scalar_evaluate(row->condition, run->dims, run->scalars, &value) || !value.i)
            return row;
    }
    return NULL;
}

bool oracle_run_must_stop(const struct oracle_run *run, const struct ir_precondition *refusal)
{
    union dtype_value value;

    return refusal->kind == IR_PRECONDITION_BOUNDS &&
           scalar_evaluate(refusal->condition, run->dims, run->scalars, &value) &&
           scalar_evaluate(refusal->index, run->dims, run->scalars, &value);
}

/* What pieces before left in temporaries of their own is nothing to the next one. */
static void spoil(const struct jit_frame *frame, const struct jit_own *own)
{
    for (; own && own->buffer >= 0; own++)
        memset(frame->data[own->buffer], 0x5a, (size_t)own->bytes);
}

/* Loops that threads may share, in pieces of two iterations: the code is strict, so that no piece is too
 * small. */
static int oracle_split(const struct jit_frame *frame, jit_part *part, int64_t low, int64_t high,
                        int64_t step, int grain, double work, const union jit_scalar *kept,
                        const struct jit_own *own)
{
    uint64_t piece = 2 * (uint64_t)step, from = (uint64_t)low; /* they may be far apart */
    uint64_t left = low < high ? ((uint64_t)high - from - 1) / (uint64_t)step + 1 : 0;

    (void)grain, (void)work;
    for (; left > 2; left -= 2, from += piece) {
        spoil(frame, own);
        if (part(frame, (int64_t)from, (int64_t)(from + piece), kept))
            return 1;
    }
    spoil(frame, own);
    return part(frame, (int64_t)from, high, kept);
}

static bool has_odd_rows(const struct oracle_run *run)
{
    return run->instance->kernel->dims.count > 0 && run->dims[0] % 2;
}

struct jit_frame oracle_run_frame(struct oracle_run *run)
{
    for (int i = 0; i < run->instance->kernel->buffers.count; i++) {
        run->data[i] = akg_tensor_data(run->tensors[i]);
        run->strides[i] = akg_tensor_strides(run->tensors[i]);
    }
    return (struct jit_frame){.data = run->data,
                              .dims = run->dims,
                              .strides = run->strides,
                              .scalars = run->scalars,
                              .trap = &run->trap,
                              .split = oracle_split,
                              .reach = run->instance->deferred.count ? deferred_reach : NULL,
                              .deferred = (struct deferred *)&run->instance->deferred,
                              .threads = has_odd_rows(run) ? 1000 : 1}; /* both ways to share strips */
}

void oracle_run_execute(struct oracle_run *run)
{
    struct jit_frame frame = oracle_run_frame(run);

    run->stopped = run->instance->code.entry ? run->instance->code.entry(&frame) != 0
                                             : interpreter_run(run->instance->kernel, &frame) != 0;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool oracle_is_nan(const void *element, akg_dtype dtype)
{
    uint16_t half;
    float single;
    double full;

    switch (dtype) {
    case AKG_FLOAT16:
        memcpy(&half, element, sizeof half);
        return (half & 0x7fff) > 0x7c00;
    case AKG_BFLOAT16:
        memcpy(&half, element, sizeof half);
        return (half & 0x7fff) > 0x7f80;
    case AKG_FLOAT32:
        memcpy(&single, element, sizeof single);
        return isnan(single);
    case AKG_FLOAT64:
        memcpy(&full, element, sizeof full);
        return isnan(full);
    default:
        return false;
    }
}

bool oracle_same_elements(const akg_tensor *a, const akg_tensor *b)
{
    int64_t index[AKG_MAX_RANK] = {0};
    akg_dtype dtype = akg_tensor_dtype(a);
    int64_t size = (int64_t)akg_dtype_size(dtype);
    int rank = akg_tensor_rank(a);

    if (dtype != akg_tensor_dtype(b) || rank != akg_tensor_rank(b) ||
        memcmp(akg_tensor_shape(a), akg_tensor_shape(b), (size_t)rank * sizeof *index) != 0)
        return false;
    for (int64_t left = akg_tensor_element_count(a); left > 0; left--) {
        const char *x = akg_tensor_data(a), *y = akg_tensor_data(b);
        for (int axis = 0; axis < rank; axis++) {
            x += index[axis] * akg_tensor_strides(a)[axis] * size;
            y += index[axis] * akg_tensor_strides(b)[axis] * size;
        }
        if (memcmp(x, y, (size_t)size) != 0 && !(oracle_is_nan(x, dtype) && oracle_is_nan(y, dtype)))
            return false;
        for (int axis = rank - 1; axis >= 0 && ++index[axis] == akg_tensor_shape(a)[axis]; axis--)
            index[axis] = 0;
    }
    return true;
}

bool oracle_run_same_memory(const struct oracle_run *a, const struct oracle_run *b, bool partial)
{
    for (int i = 0; i < a->instance->kernel->buffers.count; i++) {
        enum ir_role role = a->instance->kernel->buffers.items[i]->role;
        if (role == IR_TEMPORARY || (partial && role == IR_OUTPUT))
            continue;
        if (!oracle_same_elements(a->tensors[i], b->tensors[i]))
            return false;
    }
    return true;
}

/* NULL: out of memory, or a number that there is not. */
static const struct jit_site *oracle_site(const struct oracle_run *run)
{
    int count = run->instance->sites.rows.count;
    return run->trap.site >= 1 && run->trap.site <= count
               ? &run->instance->sites.rows.items[run->trap.site - 1]
               : NULL;
}

/* What messages tell of a site. Numbers are no matter: passes take sites away. */
static bool oracle_same_site(const struct jit_site *a, const struct jit_site *b)
{
    if (a->kind != b->kind || memcmp(&a->span, &b->span, sizeof a->span) != 0 ||
        a->loop_count != b->loop_count || (a->buffer && strcmp(a->buffer->name, b->buffer->name) != 0))
        return false;
    for (int k = 0; k < a->loop_count; k++) {
        const char *left = a->loops[k]->label ? a->loops[k]->label : a->loops[k]->name;
        const char *right = b->loops[k]->label ? b->loops[k]->label : b->loops[k]->name;
        if (strcmp(left, right) != 0)
            return false;
    }
    return true;
}

bool oracle_run_same_trap(const struct oracle_run *a, const struct oracle_run *b)
{
    const struct jit_site *site = oracle_site(a), *other = oracle_site(b);

    if (a->stopped != b->stopped || !a->stopped)
        return a->stopped == b->stopped;
    if (!site || !other)
        return a->trap.site == b->trap.site;
    if (!oracle_same_site(site, other))
        return false;
    if (site->kind == JIT_SITE_INDEX &&
        (a->trap.axis != b->trap.axis || a->trap.index != b->trap.index || a->trap.extent != b->trap.extent))
        return false;
    return memcmp(a->trap.loops, b->trap.loops, (size_t)site->loop_count * sizeof *a->trap.loops) == 0;
}

/*
 * recording.c: puts calls down: their arguments by number, and tensors that stand for what they give.
 */
#include "recording.h"

#include <string.h>
#include <sys/mman.h>

/* ---- recordings ------------------------------------------------------------------------------- */

struct recording *recording_new(void)
{
    struct recording *recording = memory_zeroed(1, sizeof *recording);

    if (!recording)
        return NULL;
    atomic_init(&recording->references, 1);
    arena_init(&recording->arena, NULL);
    recording->place = (struct recorded_source){-1, -1, -1};
    recording->open = true;
    return recording;
}

struct recording *recording_retain(struct recording *recording)
{
    atomic_fetch_add_explicit(&recording->references, 1, memory_order_relaxed);
    return recording;
}

void recording_release(struct recording *recording)
{
    if (!recording || atomic_fetch_sub_explicit(&recording->references, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < recording->values.count; i++)
        akg_tensor_release(recording->values.items[i].captured);
    for (int i = 0; i < recording->steps.count; i++)
        graph_plan_release(recording->steps.items[i].plan);
    for (int i = 0; i < recording->modules.count; i++)
        akg_module_release(recording->modules.items[i]);
    arena_free(&recording->arena);
    memory_free(recording);
}

void recording_break(struct recording *recording, const char *why)
{
    if (recording->open && !recording->broken)
        recording->broken = why;
}

int recording_last(const struct recording *recording)
{
    return recording->steps.count - 1;
}

/* Runs what may escape. */
static akg_status recording_guard(struct recording *recording,
                                  akg_status (*act)(struct recording *recording, void *context),
                                  void *context)
{
    jmp_buf escape;
    akg_status status;

    if (setjmp(escape)) {
        recording->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    recording->arena.escape = &escape;
    status = act(recording, context);
    recording->arena.escape = NULL;
    return status;
}

/* ---- values ------------------------------------------------------------------------------------- */

static int value_new(struct recording *recording, struct recorded_value value)
{
    int64_t *shape = arena_array(&recording->arena, int64_t, value.rank + 1);

    memcpy(shape, value.shape, sizeof *shape * (size_t)value.rank);
    value.shape = shape;
    list_push(&recording->arena, &recording->values, value);
    return recording->values.count - 1;
}

static bool is_same_memory(const akg_tensor *a, const akg_tensor *b)
{
    return a == b || (a->data == b->data && a->dtype == b->dtype && a->rank == b->rank &&
                      memcmp(a->dims, b->dims, 2 * (size_t)a->rank * sizeof *a->dims) == 0);
}

int recording_value(struct recording *recording, akg_tensor *tensor)
{
    struct recorded_value value = {tensor->dtype, tensor->rank, tensor_shape(tensor), -1, NULL};
    int number;

    if (tensor->recording && (tensor->recording != recording || tensor->recorded < 0)) {
        recording_break(recording, tensor->recording != recording
                                       ? "a tensor of another recording was used"
                                       : "a view was made of a tensor; operators such as slice and "
                                         "transpose can be recorded");
        return -1;
    }
    if (tensor->recording)
        return tensor->recorded;
    for (int i = 0; i < recording->values.count; i++)
        if (recording->values.items[i].captured &&
            is_same_memory(recording->values.items[i].captured, tensor))
            return i;
    number = value_new(recording, value);
    recording->values.items[number].captured = akg_tensor_retain(tensor);
    return number;
}

struct find_request {
    akg_tensor *tensor;
    int number;
};

static akg_status find_number(struct recording *recording, void *context)
{
    struct find_request *request = context;

    request->number = recording_value(recording, request->tensor);
    return AKG_OK;
}

int recording_find(struct recording *recording, akg_tensor *tensor)
{
    struct find_request request = {tensor, -1};

    return recording_guard(recording, find_number, &request) == AKG_OK ? request.number : -1;
}

/* ---- tensors that stand for values ----------------------------------------------------------------- */

struct unbacked {
    void *data;
    size_t bytes;
};

static void unbacked_free(void *owner)
{
    struct unbacked *unbacked = owner;

    munmap(unbacked->data, unbacked->bytes);
    memory_free(unbacked);
}

/* Zeros that take memory only where they are looked at: nobody does, and extents that stand for symbols make
 * tensors that no machine holds. */
static akg_status unbacked_allocate(struct recorded_value value, size_t bytes, akg_tensor **tensor)
{
    struct unbacked *unbacked = memory_allocate(sizeof *unbacked);

    if (!unbacked)
        return AKG_ERROR_MEMORY;
    *unbacked = (struct unbacked){.bytes = bytes};
    unbacked->data =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (unbacked->data == MAP_FAILED) {
        memory_free(unbacked);
        return AKG_ERROR_MEMORY;
    }
    akg_status status = akg_tensor_from_memory(unbacked->data, value.dtype, value.rank, value.shape, NULL,
                                               unbacked_free, unbacked, tensor);
    if (status != AKG_OK)
        unbacked_free(unbacked);
    return status;
}

static akg_status zeros_allocate(struct recorded_value value, akg_tensor **tensor)
{
    enum { SMALL = 1 << 16 };
    int64_t count;

    *tensor = NULL;
    if (!tensor_size_is_valid(value.dtype, value.rank, value.shape, &count))
        return AKG_ERROR_USAGE;
    size_t bytes = (size_t)count * (size_t)dtype_table[value.dtype].size;
    return bytes > SMALL ? unbacked_allocate(value, bytes, tensor)
                         : tensor_allocate(value.dtype, value.rank, value.shape, true, tensor);
}

/* A tensor of zeros for a new value. */
static akg_status value_stand_in(struct recording *recording, struct recorded_value value,
                                 akg_tensor **tensor, int *number)
{
    akg_status status;

    *number = value_new(recording, value);
    status = zeros_allocate(value, tensor);
    if (status != AKG_OK)
        return status;
    (*tensor)->recording = recording_retain(recording);
    (*tensor)->recorded = *number;
    (*tensor)->nowhere = true;
    return AKG_OK;
}

struct input_request {
    struct recorded_value value;
    akg_tensor **tensor;
};

static akg_status input_make(struct recording *recording, void *context)
{
    struct input_request *request = context;
    int number;

    return value_stand_in(recording, request->value, request->tensor, &number);
}

akg_status recording_input(struct recording *recording, int input, akg_dtype dtype, int rank,
                           const int64_t *shape, akg_tensor **tensor)
{
    struct input_request request = {{dtype, rank, shape, input, NULL}, tensor};

    return recording_guard(recording, input_make, &request);
}

/* ---- calls ---------------------------------------------------------------------------------------- */

static void argument_copy_tensors(struct recording *recording, struct recorded_argument *to,
                                  akg_tensor *const *tensors, size_t count)
{
    to->values = arena_array(&recording->arena, int, (int)count + 1);
    for (size_t i = 0; i < count; i++)
        to->values[i] = tensors[i] ? recording_value(recording, tensors[i]) : -1;
}

static void argument_copy(struct recording *recording, struct recorded_argument *to,
                          const akg_argument *argument, const char *name)
{
    struct arena *arena = &recording->arena;

    to->argument = *argument;
    to->argument.name = name;
    switch (argument->kind) {
    case AKG_ARGUMENT_TENSOR:
        argument_copy_tensors(recording, to, &argument->as.tensor, 1);
        to->argument.as.tensor = NULL;
        break;
    case AKG_ARGUMENT_TENSORS:
        argument_copy_tensors(recording, to, argument->as.tensors.items, argument->as.tensors.count);
        to->argument.as.tensors.items = NULL;
        break;
    case AKG_ARGUMENT_STRING:
        to->argument.as.string = arena_copy(arena, argument->as.string, strlen(argument->as.string));
        break;
    case AKG_ARGUMENT_INTS: {
        int64_t *items = arena_array(arena, int64_t, (int)argument->as.ints.count + 1);
        for (size_t i = 0; i < argument->as.ints.count; i++)
            items[i] = argument->as.ints.items[i];
        to->argument.as.ints.items = items;
        break;
    }
    default:
        break;
    }
}

/* One entry per parameter that was given. */
static void step_take_arguments(struct recording *recording, struct recorded_step *step,
                                const struct call_binding *binding, const akg_argument *first)
{
    const struct ast_function *function = step->kernel->function;

    step->arguments = arena_array(&recording->arena, struct recorded_argument, function->parameter_count + 1);
    for (int i = 0; i < function->parameter_count; i++) {
        struct recorded_argument *argument = &step->arguments[step->argument_count];
        if (!binding->arguments[i] || binding->arguments[i]->kind == AKG_ARGUMENT_NONE)
            continue;
        argument_copy(recording, argument, binding->arguments[i], function->parameters[i].name);
        argument->source = recording->place;
        argument->source.parameter = i;
        if (recording->sources)
            argument->source = recording->sources[binding->arguments[i] - first];
        step->argument_count++;
    }
    list_push(&recording->arena, &recording->modules, NULL);
    recording->modules.items[recording->modules.count - 1] = akg_module_retain(step->kernel->module);
}

struct call_request {
    akg_kernel *kernel;
    const akg_argument *arguments;
    size_t count;
    enum recorded_kind kind;
    akg_tensor **inferred; /* CALL: descriptions; stand-ins are put in their places */
    size_t output_count;
    const struct call_binding *binding;
};

/* Whether the tensor is an argument: what is described anew is none. */
static bool call_is_handed(const struct call_request *request, const akg_tensor *tensor)
{
    for (size_t i = 0; i < request->count; i++) {
        const akg_argument *argument = &request->arguments[i];
        if (argument->kind == AKG_ARGUMENT_TENSOR && argument->as.tensor == tensor)
            return true;
        for (size_t k = 0; argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            if (argument->as.tensors.items[k] == tensor)
                return true;
    }
    return false;
}

static akg_status call_outputs(struct recording *recording, struct recorded_step *step,
                               const struct call_request *request)
{
    step->output_count = (int)request->output_count;
    step->outputs = arena_array(&recording->arena, int, step->output_count + 1);
    for (int i = 0; i < step->output_count; i++) {
        akg_tensor *described = request->inferred[i], *made = NULL;
        struct recorded_value value = {.input = -1};
        akg_status status;
        step->outputs[i] = -1;
        if (!described)
            continue;
        if (call_is_handed(request, described)) {
            step->outputs[i] = recording_value(recording, described);
            tensor_mark_written(described);
            continue;
        }
        value.dtype = described->dtype;
        value.rank = described->rank;
        value.shape = tensor_shape(described);
        status = value_stand_in(recording, value, &made, &step->outputs[i]);
        if (status != AKG_OK)
            return status;
        akg_tensor_release(described);
        request->inferred[i] = made;
    }
    return AKG_OK;
}

static akg_status call_put_down(struct recording *recording, void *context)
{
    const struct call_request *request = context;
    struct recorded_step step = {.kind = request->kind, .kernel = request->kernel, .place = recording->place};
    akg_status status;

    step_take_arguments(recording, &step, request->binding, request->arguments);
    status = call_outputs(recording, &step, request);
    if (status == AKG_OK)
        list_push(&recording->arena, &recording->steps, step);
    return status;
}

static akg_status call_bound(struct recording *recording, struct call_request *request)
{
    struct call_binding binding;
    akg_status status = AKG_ERROR_MEMORY;

    request->binding = &binding;
    if (call_begin(&binding, request->kernel) &&
        call_bind(&binding, request->arguments, request->count, NULL))
        status = recording_guard(recording, call_put_down, request);
    call_end(&binding);
    return status;
}

akg_status recording_call(struct recording *recording, akg_kernel *kernel, const akg_argument *arguments,
                          size_t count, akg_tensor **outputs, akg_diagnostics **diagnostics)
{
    size_t output_count = akg_kernel_output_count(kernel);
    akg_tensor **inferred = memory_zeroed(output_count + 1, sizeof *inferred);
    struct call_request request = {kernel, arguments, count, RECORDED_CALL, inferred, output_count, NULL};
    akg_status status =
        inferred ? call_infer(kernel, arguments, count, inferred, diagnostics) : AKG_ERROR_MEMORY;

    for (size_t i = 0; i < output_count && status == AKG_OK; i++)
        if (outputs[i] && outputs[i] != inferred[i])
            recording_break(recording, "a call was to write into a tensor that was handed to it");
    if (status == AKG_OK)
        status = call_bound(recording, &request);
    for (size_t i = 0; inferred && i < output_count; i++) {
        if (status == AKG_OK && !outputs[i])
            outputs[i] = inferred[i];
        else
            akg_tensor_release(inferred[i]);
    }
    memory_free(inferred);
    return status;
}

/* ---- plans ------------------------------------------------------------------------------------------ */

struct recorded_source recording_enter(struct recording *recording, struct graph_plan *plan,
                                       const akg_argument *arguments, size_t count, akg_status *status)
{
    struct recorded_source before = recording->place;
    struct call_request request = {plan->kernel, arguments, count, RECORDED_PLAN, NULL, 0, NULL};

    *status = call_bound(recording, &request);
    if (*status == AKG_OK)
        recording->steps.items[recording_last(recording)].plan = graph_plan_retain(plan);
    recording->sources = NULL;
    recording->place = (struct recorded_source){recording_last(recording), 0, -1};
    return before;
}

void recording_leave(struct recording *recording, struct recorded_source before)
{
    recording->place = before;
}

/* ---- operations of gradients -------------------------------------------------------------------------- */

struct elementary_request {
    struct recorded_step step;
    akg_tensor *source;
    struct recorded_value value;
    akg_tensor **made;
};

static akg_status elementary_put_down(struct recording *recording, void *context)
{
    struct elementary_request *request = context;
    struct recorded_step step = request->step;
    akg_status status;

    step.source = request->source ? recording_value(recording, request->source) : -1;
    step.like = step.like == RECORDED_LIKE_SOURCE ? step.source : step.like;
    step.output_count = 1;
    step.outputs = arena_array(&recording->arena, int, 1);
    status = value_stand_in(recording, request->value, request->made, &step.outputs[0]);
    if (status == AKG_OK)
        list_push(&recording->arena, &recording->steps, step);
    return status;
}

static akg_status elementary(struct recording *recording, struct elementary_request *request)
{
    akg_status status;

    *request->made = NULL;
    status = recording_guard(recording, elementary_put_down, request);
    if (status != AKG_OK) {
        akg_tensor_release(*request->made);
        *request->made = NULL;
    }
    return status;
}

akg_status recording_sum(struct recording *recording, akg_tensor *source, int like, akg_dtype dtype, int rank,
                         const int64_t *shape, akg_tensor **sum)
{
    struct elementary_request request = {
        {.kind = RECORDED_SUM, .like = like, .dtype = dtype}, source, {dtype, rank, shape, -1, NULL}, sum};

    return elementary(recording, &request);
}

akg_status recording_expand(struct recording *recording, akg_tensor *source, int like, int rank,
                            const int64_t *shape, akg_tensor **expanded)
{
    struct elementary_request request = {{.kind = RECORDED_EXPAND, .like = like, .dtype = source->dtype},
                                         source,
                                         {source->dtype, rank, shape, -1, NULL},
                                         expanded};

    return elementary(recording, &request);
}

akg_status recording_fill(struct recording *recording, int like, akg_dtype dtype, int rank,
                          const int64_t *shape, double value, akg_tensor **tensor)
{
    struct elementary_request request = {{.kind = RECORDED_FILL, .like = like, .dtype = dtype, .fill = value},
                                         NULL,
                                         {dtype, rank, shape, -1, NULL},
                                         tensor};

    return elementary(recording, &request);
}

/* ---- host functions ----------------------------------------------------------------------------------- */

struct host_request {
    const akg_host_operator *host;
    bool backward;
    akg_tensor *const *tensors;
    size_t count;
    const struct recorded_form *forms;
    akg_tensor **outputs;
    size_t output_count;
};

static akg_status host_outputs(struct recording *recording, struct recorded_step *step,
                               const struct host_request *request)
{
    akg_status status = AKG_OK;

    step->output_count = (int)request->output_count;
    step->outputs = arena_array(&recording->arena, int, step->output_count + 1);
    step->likes = arena_array(&recording->arena, int, step->output_count + 1);
    for (int i = 0; i < step->output_count && status == AKG_OK; i++) {
        const struct recorded_form *form = &request->forms[i];
        struct recorded_value value = {form->form.dtype, form->form.rank, form->form.shape, -1, NULL};
        step->outputs[i] = -1;
        step->likes[i] = form->like;
        if (form->wanted)
            status = value_stand_in(recording, value, &request->outputs[i], &step->outputs[i]);
    }
    return status;
}

static akg_status host_put_down(struct recording *recording, void *context)
{
    const struct host_request *request = context;
    struct recorded_step step = {.kind = RECORDED_HOST,
                                 .host = request->host,
                                 .backward = request->backward,
                                 .place = {-1, -1, -1},
                                 .source = -1,
                                 .like = -1,
                                 .argument_count = 1};
    akg_status status;

    step.arguments = arena_array(&recording->arena, struct recorded_argument, 1);
    step.arguments[0].argument =
        (akg_argument){.name = "tensors", .kind = AKG_ARGUMENT_TENSORS, .as.tensors = {NULL, request->count}};
    step.arguments[0].source = step.place;
    argument_copy_tensors(recording, &step.arguments[0], request->tensors, request->count);
    status = host_outputs(recording, &step, request);
    if (status == AKG_OK)
        list_push(&recording->arena, &recording->steps, step);
    return status;
}

akg_status recording_host(struct recording *recording, const akg_host_operator *host, bool backward,
                          akg_tensor *const *tensors, size_t count, const struct recorded_form *forms,
                          akg_tensor **outputs, size_t output_count)
{
    struct host_request request = {host, backward, tensors, count, forms, outputs, output_count};
    akg_status status = recording_guard(recording, host_put_down, &request);

    for (size_t i = 0; i < output_count && status != AKG_OK; i++) {
        akg_tensor_release(outputs[i]);
        outputs[i] = NULL;
    }
    return status;
}

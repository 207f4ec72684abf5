/*
 * gradient_form.c: see gradient_form.h.
 *
 * Consumes bound arguments. What a tape remembers is a table with one place for each hash of kernel and
 * sizes: a form that meets another one there takes its place. A tape is used by one thread at a time, so the
 * table needs no lock; forms are shared by nodes, which any thread may free.
 */
#include "gradient_form.h"

#include <string.h>

#include "kernel_gradient.h"

enum { FORM_PLACES = 128 };

struct gradient_forms {
    struct gradient_form *places[FORM_PLACES];
};

/* ---- life ------------------------------------------------------------------------------------------- */

struct gradient_form *gradient_form_retain(struct gradient_form *form)
{
    atomic_fetch_add_explicit(&form->references, 1, memory_order_relaxed);
    return form;
}

void gradient_form_release(void *context)
{
    struct gradient_form *form = context;
    struct form_backward *backward;

    if (!form || atomic_fetch_sub_explicit(&form->references, 1, memory_order_acq_rel) != 1)
        return;
    backward = atomic_load_explicit(&form->backward, memory_order_relaxed);
    if (backward)
        graph_plan_release(backward->plan);
    memory_free(backward);
    for (size_t i = 0; form->described && i < form->input_count + form->output_count; i++)
        akg_tensor_release(form->described[i]);
    akg_module_release(form->module);
    arena_free(&form->arena);
    memory_free(form);
}

void gradient_forms_free(struct gradient_forms *forms)
{
    for (int i = 0; forms && i < FORM_PLACES; i++)
        gradient_form_release(forms->places[i]);
    memory_free(forms);
}

/* ---- finding ------------------------------------------------------------------------------------------ */

static bool form_takes_tensor(const struct form_tensor *row, akg_tensor *tensor, akg_tensor **inputs)
{
    if (tensor->dtype != row->dtype || tensor->rank != row->rank || tensor->device != row->device ||
        tensor->recording || !tensor_same_shape(row->rank, tensor->dims, row->shape))
        return false;
    inputs[row->input] = tensor;
    return true;
}

static bool form_same_constant(const akg_argument *a, const akg_argument *b)
{
    switch (a->kind) {
    case AKG_ARGUMENT_NONE:
        return true;
    case AKG_ARGUMENT_BOOL:
        return a->as.boolean == b->as.boolean;
    case AKG_ARGUMENT_INT:
    case AKG_ARGUMENT_FLOAT: /* by its bits: all that it decides hangs on them */
        return a->as.integer == b->as.integer;
    case AKG_ARGUMENT_STRING:
        return strcmp(a->as.string, b->as.string) == 0;
    case AKG_ARGUMENT_INTS:
        return a->as.ints.count == b->as.ints.count &&
               (!a->as.ints.count ||
                memcmp(a->as.ints.items, b->as.ints.items, a->as.ints.count * sizeof(int64_t)) == 0);
    default:
        return false;
    }
}

/* Whether a call is of that form; puts its tensors where they belong. */
static bool form_takes(const struct gradient_form *form, const akg_argument *arguments, size_t count,
                       akg_tensor **inputs)
{
    const struct form_tensor *row = form->tensors.items;

    if (count != form->argument_count)
        return false;
    for (size_t i = 0; i < form->input_count; i++)
        inputs[i] = NULL;
    for (size_t i = 0; i < count; i++) {
        const akg_argument *given = &arguments[i], *own = &form->arguments[i];
        if (given->kind != own->kind || !given->name != !own->name ||
            (given->name && strcmp(given->name, own->name) != 0))
            return false;
        if (given->kind == AKG_ARGUMENT_TENSOR) {
            if (!form_takes_tensor(row++, given->as.tensor, inputs))
                return false;
        } else if (given->kind == AKG_ARGUMENT_TENSORS) {
            if (given->as.tensors.count != own->as.tensors.count)
                return false;
            for (size_t k = 0; k < given->as.tensors.count; k++)
                if (!form_takes_tensor(row++, given->as.tensors.items[k], inputs))
                    return false;
        } else if (!form_same_constant(given, own)) {
            return false;
        }
    }
    return true;
}

static size_t form_place(const struct akg_kernel *kernel, const akg_argument *arguments, size_t count)
{
    uint64_t hash = (uint64_t)(uintptr_t)kernel;

    for (size_t i = 0; i < count; i++)
        if (arguments[i].kind == AKG_ARGUMENT_TENSOR)
            hash = (hash ^ (uint64_t)arguments[i].as.tensor->element_count) * 0x9E3779B97F4A7C15u;
    hash *= 0x9E3779B97F4A7C15u;
    return (hash >> 32) % FORM_PLACES;
}

struct gradient_form *gradient_form_find(akg_tape *tape, const struct akg_kernel *kernel,
                                         const akg_argument *arguments, size_t count, akg_tensor **inputs)
{
    struct gradient_form *form =
        tape->forms ? tape->forms->places[form_place(kernel, arguments, count)] : NULL;

    return form && form->kernel == kernel && form_takes(form, arguments, count, inputs) ? form : NULL;
}

void gradient_form_keep(akg_tape *tape, struct gradient_form *form)
{
    struct gradient_form **place;

    if (!form->can_serve)
        return;
    if (!tape->forms)
        tape->forms = memory_zeroed(1, sizeof *tape->forms);
    if (!tape->forms)
        return; /* nothing is remembered, which costs time only */
    place = &tape->forms->places[form->place];
    gradient_form_release(*place);
    *place = gradient_form_retain(form);
}

/* ---- making ------------------------------------------------------------------------------------------- */

static bool form_is_operand(const struct akg_kernel *kernel, int index)
{
    enum dsl_argument_kind kind = kernel->general[index].kind;
    return kind == DSL_TENSOR || kind == DSL_TENSORS;
}

/* A copy that outlives the call. */
static akg_argument form_copy_argument(struct arena *arena, const akg_argument *given)
{
    akg_argument argument = *given;

    if (given->kind == AKG_ARGUMENT_STRING)
        argument.as.string = arena_copy(arena, given->as.string, strlen(given->as.string));
    if (given->kind == AKG_ARGUMENT_INTS) {
        int64_t *items = arena_array(arena, int64_t, (int)given->as.ints.count + 1);
        for (size_t i = 0; i < given->as.ints.count; i++)
            items[i] = given->as.ints.items[i];
        argument.as.ints.items = items;
    }
    return argument;
}

/* An attribute, its default where it was not given. */
static akg_argument form_attribute(struct arena *arena, const struct ast_parameter *parameter,
                                   const akg_argument *given)
{
    akg_argument argument = {.kind = AKG_ARGUMENT_NONE};
    struct dsl_argument initial = {.kind = DSL_NONE};

    if (given) {
        argument = form_copy_argument(arena, given);
        argument.name = NULL;
        return argument;
    }
    if (!parameter->initial || !elaborate_constant(arena, parameter->initial, &initial))
        return argument;
    switch (initial.kind) {
    case DSL_INT:
        return (akg_argument){.kind = AKG_ARGUMENT_INT, .as.integer = initial.integer};
    case DSL_BOOL:
        return (akg_argument){.kind = AKG_ARGUMENT_BOOL, .as.boolean = initial.integer != 0};
    case DSL_FLOAT:
        return (akg_argument){.kind = AKG_ARGUMENT_FLOAT, .as.real = initial.real};
    case DSL_STRING:
        return (akg_argument){.kind = AKG_ARGUMENT_STRING, .as.string = initial.string};
    case DSL_INTS:
        return (akg_argument){.kind = AKG_ARGUMENT_INTS,
                              .as.ints = {.items = initial.ints, .count = (size_t)initial.count}};
    default:
        return argument;
    }
}

static size_t form_tensor_count(const akg_argument *argument)
{
    return argument && argument->kind == AKG_ARGUMENT_TENSORS ? argument->as.tensors.count : 1;
}

/* Fills parameters and inputs from the bound arguments. */
static void form_take_parameters(struct gradient_form *form, const struct call_binding *binding,
                                 akg_tensor ***inputs)
{
    const struct ast_function *function = form->kernel->function;
    size_t total = 1;

    form->parameters = arena_array(&form->arena, struct form_parameter, function->parameter_count + 1);
    for (int i = 0; i < function->parameter_count; i++)
        total += form_tensor_count(binding->arguments[i]);
    *inputs = arena_array(&form->arena, akg_tensor *, (int)total);
    for (int i = 0; i < function->parameter_count; i++) {
        struct form_parameter *bound = &form->parameters[i];
        const akg_argument *argument = binding->arguments[i];
        bool tensors = argument && argument->kind == AKG_ARGUMENT_TENSORS;
        bound->is_operand = form_is_operand(form->kernel, i);
        bound->first = form->input_count;
        if (!bound->is_operand || (argument && !tensors && argument->kind != AKG_ARGUMENT_TENSOR))
            bound->argument = form_attribute(&form->arena, &function->parameters[i], argument);
        form->can_serve &= bound->is_operand || bound->argument.kind != AKG_ARGUMENT_TENSOR;
        if (!bound->is_operand)
            continue;
        bound->count =
            form->kernel->general[i].kind == DSL_TENSORS && !argument ? 0 : form_tensor_count(argument);
        for (size_t k = 0; k < bound->count; k++)
            (*inputs)[form->input_count++] = tensors ? argument->as.tensors.items[k]
                                             : argument && argument->kind == AKG_ARGUMENT_TENSOR
                                                 ? argument->as.tensor
                                                 : NULL;
    }
}

static void form_add_tensor(struct gradient_form *form, const akg_tensor *tensor, size_t input)
{
    int64_t *shape = arena_array(&form->arena, int64_t, tensor->rank + 1);
    struct form_tensor row = {tensor->dtype, tensor->rank, tensor->device, shape, input};

    memcpy(shape, tensor_shape(tensor), (size_t)tensor->rank * sizeof *shape);
    list_push(&form->arena, &form->tensors, row);
    form->can_serve &= !tensor->recording;
}

/* The arguments as they were given: what other calls are compared with. */
static void form_take_arguments(struct gradient_form *form, const struct call_binding *binding,
                                const akg_argument *arguments, size_t count)
{
    akg_argument *own = arena_array(&form->arena, akg_argument, (int)count + 1);

    form->arguments = own;
    form->argument_count = count;
    for (size_t i = 0; i < count; i++) {
        int parameter = 0;
        while (binding->arguments[parameter] != &arguments[i])
            parameter++;
        own[i] = form_copy_argument(&form->arena, &arguments[i]);
        if (own[i].name)
            own[i].name = form->kernel->function->parameters[parameter].name;
        size_t first = form->parameters[parameter].first;
        if (own[i].kind == AKG_ARGUMENT_TENSOR)
            form_add_tensor(form, arguments[i].as.tensor, first);
        for (size_t k = 0; own[i].kind == AKG_ARGUMENT_TENSORS && k < own[i].as.tensors.count; k++)
            form_add_tensor(form, arguments[i].as.tensors.items[k], first + k);
    }
}

/* Inputs that the kernel writes in place. */
static void form_find_written(struct gradient_form *form, akg_tensor *const *inputs)
{
    const struct ir_kernel *general = form->kernel->general_kernel;

    for (int i = 0; general && i < general->results.count; i++) {
        const struct ir_buffer *buffer = general->results.items[i].buffer;
        int parameter = buffer->role == IR_INOUT ? jit_parameter_index(form->kernel, buffer->name) : -1;
        const struct form_parameter *bound = parameter >= 0 ? &form->parameters[parameter] : NULL;
        if (bound && bound->is_operand && bound->count == 1 && inputs[bound->first])
            list_push(&form->arena, &form->written, bound->first);
    }
}

/* Whether the text of the bprop uses its parameter number `index`. */
static bool form_bprop_uses(const struct akg_kernel *bprop, int index)
{
    return bprop && index < bprop->function->parameter_count &&
           bprop->function->parameters[index].binding->uses > 0;
}

/* The bprop takes inputs, then outputs. */
static void form_find_used(struct gradient_form *form)
{
    int parameter = 0;

    form->used = arena_array(&form->arena, bool, (int)(form->input_count + form->output_count) + 1);
    form->passed_by = arena_array(&form->arena, bool, (int)form->output_count + 1);
    form->described =
        arena_array(&form->arena, akg_tensor *, (int)(form->input_count + form->output_count) + 1);
    for (int i = 0; i < form->kernel->function->parameter_count; i++) {
        const struct form_parameter *bound = &form->parameters[i];
        bool used = bound->is_operand && form_bprop_uses(form->bprop, parameter);
        parameter += bound->is_operand;
        for (size_t k = bound->first; k < bound->first + bound->count; k++)
            form->used[k] = used;
    }
    for (size_t i = 0; i < form->output_count; i++)
        form->used[form->input_count + i] = form_bprop_uses(form->bprop, parameter);
}

struct form_making {
    struct gradient_form *form;
    const struct call_binding *binding;
    const akg_argument *arguments;
    size_t count;
    akg_tensor ***inputs;
};

static bool form_fill(struct form_making *making)
{
    struct gradient_form *form = making->form;
    jmp_buf escape;

    if (setjmp(escape)) {
        form->arena.escape = NULL;
        return false;
    }
    form->arena.escape = &escape;
    form_take_parameters(form, making->binding, making->inputs);
    form_take_arguments(form, making->binding, making->arguments, making->count);
    form_find_written(form, *making->inputs);
    form_find_used(form);
    form->arena.escape = NULL;
    return true;
}

struct gradient_form *gradient_form_make(const struct call_binding *binding, akg_registry *registry,
                                         const akg_argument *arguments, size_t count, akg_tensor ***inputs)
{
    struct akg_kernel *kernel = binding->kernel;
    struct gradient_form *form = memory_zeroed(1, sizeof *form);
    struct form_making making = {form, binding, arguments, count, inputs};

    if (!form)
        return NULL;
    atomic_init(&form->references, 1);
    arena_init(&form->arena, NULL);
    form->kernel = kernel;
    form->bprop = kernel_gradient_bprop(kernel);
    form->module = akg_module_retain(kernel->module);
    form->registry = registry;
    form->output_count = akg_kernel_output_count(kernel);
    form->recorded = -1;
    form->can_serve = true;
    form->place = form_place(kernel, arguments, count);
    if (!form_fill(&making)) {
        gradient_form_release(form);
        return NULL;
    }
    form->can_serve &= form->input_count + form->output_count <= FORM_MOST_TENSORS;
    return form;
}

static bool form_describe(const akg_tensor *tensor, akg_tensor **described)
{
    if (!tensor)
        return true;
    if (call_describe_only(tensor->dtype, tensor->rank, tensor_shape(tensor), tensor->device, described) !=
        AKG_OK)
        return false;
    tensor_stand_for(*described, tensor);
    return true;
}

/* Whether the bprop says None for the input. */
static bool form_has_none(const struct gradient_form *form, size_t input)
{
    const struct ast_expr *result = form->bprop->function->result;
    int operand = 0;

    for (int i = 0; i < form->kernel->function->parameter_count; i++) {
        const struct form_parameter *bound = &form->parameters[i];
        if (bound->is_operand && input >= bound->first && input < bound->first + bound->count)
            return result->kind == AST_TUPLE && operand < result->count &&
                   result->items[operand]->kind == AST_NONE;
        operand += bound->is_operand;
    }
    return false;
}

/* What is written in place and has no gradient (a running mean) has no part in one afterwards either. */
static void form_find_passed_by(struct gradient_form *form, akg_tensor *const *inputs,
                                akg_tensor *const *outputs)
{
    for (int k = 0; k < form->written.count && form->bprop; k++)
        for (size_t i = 0; i < form->output_count; i++)
            if (outputs[i] && outputs[i] == inputs[form->written.items[k]])
                form->passed_by[i] = form_has_none(form, form->written.items[k]);
}

/* An output that the call left out (an optional input that it would have returned) still has its place among
 * those that the bprop gets: zeros without axes stand there, and for its gradient. */
static bool form_stand_in(struct gradient_form *form, akg_tensor *const *outputs)
{
    const int64_t no_axes = 0;
    struct autograd_output zeros = {.dims = &no_axes};
    size_t some = 0;

    while (some < form->output_count && !outputs[some])
        some++;
    if (some == form->output_count)
        return true; /* no gradient will come */
    zeros.dtype = outputs[some]->dtype;
    zeros.device = outputs[some]->device;
    for (size_t i = 0; i < form->output_count; i++) {
        akg_tensor **described = &form->described[form->input_count + i];
        if (!outputs[i] && autograd_filled(NULL, &zeros, 0, described, NULL) != AKG_OK)
            return false;
        form->used[form->input_count + i] &= outputs[i] != NULL;
    }
    return true;
}

bool gradient_form_complete(struct gradient_form *form, akg_tensor *const *inputs, akg_tensor *const *outputs)
{
    for (size_t i = 0; i < form->input_count + form->output_count; i++) {
        const akg_tensor *tensor = i < form->input_count ? inputs[i] : outputs[i - form->input_count];
        if (!form->used[i] && !form_describe(tensor, &form->described[i]))
            return false;
    }
    form_find_passed_by(form, inputs, outputs);
    return form_stand_in(form, outputs);
}

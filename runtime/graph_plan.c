/*
 * graph_plan.c: what a graph function calls, found out without running it.
 *
 * dsl/elaborate_graph.c walks the function and asks here what each call gives; the answer comes from the
 * called kernel itself (call_infer), on tensors without elements.
 */
#include <stdio.h>
#include <string.h>

#include "../dsl/standard.h"
#include "../jit/pipeline.h"
#include "graph.h"

struct planning {
    struct graph_plan *plan;
    akg_status status;
    akg_diagnostics *failed; /* what a call that could not be planned said */
    struct span failed_span;
    const struct ast_function *failed_callee;
};

/* ---- kernels of functions ------------------------------------------------------------------ */

/* The compiled file of the standard library that holds the function. */
static akg_module *plan_library(akg_registry *registry, const struct standard_file *file)
{
    struct standard_operator row;
    akg_operator *found = NULL;
    char name[128];

    for (size_t i = 0; registry && !found && standard_at(i, &row); i++) {
        if (row.file != file || !row.is_public)
            continue;
        snprintf(name, sizeof name, "std:%s", row.name);
        if (akg_registry_find(registry, name, &found, NULL) != AKG_OK)
            return NULL;
    }
    return found ? found->module : NULL;
}

static struct akg_kernel *plan_kernel(struct graph_plan *plan, const struct ast_function *function)
{
    struct akg_module *own = plan->kernel->module;

    if (function->module->file)
        return akg_module_kernel(plan_library(plan->registry, function->module->file), function->name);
    for (int i = 0; i < own->kernel_count; i++)
        if (own->kernels[i].function == function)
            return &own->kernels[i];
    return NULL;
}

/* ---- operands as arguments of a call ---------------------------------------------------------- */

static akg_argument plan_number(const struct ir_expr *number)
{
    akg_argument argument = {.kind = AKG_ARGUMENT_INT};

    if (number->kind == IR_REAL) {
        argument.kind = AKG_ARGUMENT_FLOAT;
        argument.as.real = number->real;
    } else if (number->dtype == AKG_BOOL) {
        argument.kind = AKG_ARGUMENT_BOOL;
        argument.as.boolean = number->integer != 0;
    } else {
        argument.as.integer = number->integer;
    }
    return argument;
}

void graph_argument(struct arena *arena, const struct elaborate_operand *operand, akg_tensor *const *tensors,
                    akg_argument *argument)
{
    akg_tensor **items;

    *argument = (akg_argument){.kind = AKG_ARGUMENT_NONE};
    switch (operand->kind) {
    case DSL_NONE:
        break;
    case DSL_TENSOR:
        argument->kind = AKG_ARGUMENT_TENSOR;
        argument->as.tensor = tensors[operand->tensor];
        break;
    case DSL_INT:
    case DSL_FLOAT:
    case DSL_BOOL:
        *argument = plan_number(operand->number);
        break;
    case DSL_STRING:
        argument->kind = AKG_ARGUMENT_STRING;
        argument->as.string = operand->string;
        break;
    case DSL_INTS:
        argument->kind = AKG_ARGUMENT_INTS;
        argument->as.ints.items = operand->ints;
        argument->as.ints.count = (size_t)operand->count;
        break;
    case DSL_TENSORS:
        items = arena_array(arena, akg_tensor *, operand->count + 1);
        for (int i = 0; i < operand->count; i++)
            items[i] = tensors[operand->items[i].tensor];
        argument->kind = AKG_ARGUMENT_TENSORS;
        argument->as.tensors.items = items;
        argument->as.tensors.count = (size_t)operand->count;
        break;
    }
}

/* ---- calls ---------------------------------------------------------------------------------------- */

static bool plan_stop(struct planning *planning, akg_status status)
{
    planning->status = status;
    return false;
}

/* Whether one of the outputs is a tensor that was handed in. */
static bool plan_is_in_place(const struct graph_plan *plan, const struct graph_call *call)
{
    for (int i = 0; i < call->result_count; i++)
        for (int k = 0; k < call->first_result; k++)
            if (plan->described.items[call->first_result + i] == plan->described.items[k])
                return true;
    return false;
}

static void plan_describe_results(struct graph_plan *plan, const struct graph_call *call,
                                  const struct elaborate_tensor **results)
{
    struct elaborate_tensor *tensors =
        arena_array(&plan->arena, struct elaborate_tensor, call->result_count + 1);

    for (int i = 0; i < call->result_count; i++) {
        const akg_tensor *tensor = plan->described.items[call->first_result + i];
        tensors[i] = (struct elaborate_tensor){tensor->dtype, tensor->rank, tensor_shape(tensor)};
    }
    *results = tensors;
}

/* The item that elaborate_hand_over takes result number `index` for: it goes by the text. */
static int plan_item_of(const struct ast_expr *result, int index)
{
    if (result->kind != AST_TUPLE)
        return index;
    for (int i = 0; i < result->count; i++)
        if (result->items[i]->kind != AST_NONE && index-- == 0)
            return i;
    return -1;
}

/* Takes the last results away that this call does not give. False with a message where it gives others than
 * the text tells, for those would be taken for each other. */
static bool plan_trim_results(struct planning *planning, struct graph_call *call)
{
    struct graph_plan *plan = planning->plan;
    const struct ast_expr *result = call->kernel->function->result;
    struct call_messages messages = {&call->kernel->module->source, NULL};
    akg_tensor **outputs = plan->described.items + call->first_result;
    int room = call->result_count, given = 0;
    bool placed = true;

    while (call->result_count > 0 && !outputs[call->result_count - 1])
        call->result_count--;
    plan->described.count = call->first_result + call->result_count;
    for (int i = 0; i < call->result_count; i++) {
        given += outputs[i] != NULL;
        placed &= outputs[i] && jit_output_item(call->kernel, (size_t)i) == plan_item_of(result, i);
    }
    if (result->kind != AST_TUPLE && room > 1 && call->result_count == 1)
        placed = false; /* a tuple of one, and not the tensor */
    if (placed)
        return true;
    call_refuse_results(call_list(&messages), call->kernel, given);
    planning->failed = messages.list;
    return plan_stop(planning, messages.list ? AKG_ERROR_CALL : AKG_ERROR_MEMORY);
}

static bool plan_call(void *owner, const struct ast_function *callee,
                      const struct elaborate_operand *operands, struct span span,
                      const struct elaborate_tensor **results, int *count)
{
    struct planning *planning = owner;
    struct graph_plan *plan = planning->plan;
    struct graph_call call = {.operands = operands, .span = span, .kernel = plan_kernel(plan, callee)};
    akg_argument *arguments = arena_array(&plan->arena, akg_argument, callee->parameter_count + 1);
    akg_tensor **outputs;
    akg_status status;

    if (!call.kernel)
        return plan_stop(planning, AKG_ERROR_MEMORY);
    call.result_count = (int)akg_kernel_output_count(call.kernel);
    call.first_result = plan->described.count;
    outputs = arena_array(&plan->arena, akg_tensor *, call.result_count + 1);
    for (int i = 0; i < call.result_count; i++) /* there is room for them before they are made */
        list_push(&plan->arena, &plan->described, NULL);
    for (int i = 0; i < callee->parameter_count; i++)
        graph_argument(&plan->arena, &operands[i], plan->described.items, &arguments[i]);
    planning->failed_span = span;
    planning->failed_callee = callee;
    status = call_infer(call.kernel, arguments, (size_t)callee->parameter_count, outputs, &planning->failed);
    for (int i = 0; i < call.result_count; i++)
        plan->described.items[call.first_result + i] = outputs[i];
    if (status != AKG_OK)
        return plan_stop(planning, status);
    if (!plan_trim_results(planning, &call))
        return false;
    call.in_place = plan_is_in_place(plan, &call);
    list_push(&plan->arena, &plan->calls, call);
    plan_describe_results(plan, &call, results);
    *count = call.result_count;
    return true;
}

/* ---- arguments -------------------------------------------------------------------------------------- */

static void plan_tensor_argument(struct graph_plan *plan, akg_tensor *tensor, struct dsl_argument *described)
{
    *described = (struct dsl_argument){.kind = DSL_TENSOR,
                                       .dtype = tensor->dtype,
                                       .rank = tensor->rank,
                                       .contiguous = tensor->contiguous,
                                       .few_known = true,
                                       .shape = tensor_shape(tensor)};
    list_push(&plan->arena, &plan->described, NULL);
    if (call_describe_only(tensor->dtype, tensor->rank, tensor_shape(tensor), tensor->device,
                           &plan->described.items[plan->described.count - 1]) != AKG_OK)
        longjmp(*plan->arena.escape, 1);
    plan->described.items[plan->described.count - 1]->nowhere = tensor->nowhere;
}

/* Describes the arguments with everything known, and numbers their tensors in the order of elaboration. */
static void plan_arguments(struct graph_plan *plan, struct call_binding *binding,
                           struct dsl_argument *described)
{
    call_describe(binding, &plan->arena, described);
    for (int i = 0; i < plan->kernel->function->parameter_count; i++) {
        const akg_argument *argument = binding->arguments[i];
        struct dsl_argument *items;
        described[i].is_constant = true;
        if (argument && argument->kind == AKG_ARGUMENT_TENSOR)
            plan_tensor_argument(plan, argument->as.tensor, &described[i]);
        if (!argument || argument->kind != AKG_ARGUMENT_TENSORS)
            continue;
        items = arena_array(&plan->arena, struct dsl_argument, described[i].count + 1);
        for (int k = 0; k < described[i].count; k++)
            plan_tensor_argument(plan, argument->as.tensors.items[k], &items[k]);
        described[i].items = items;
    }
    plan->argument_count = plan->described.count;
}

/* A kernel that is no graph function: one call of itself. */
static bool plan_single(struct planning *planning, const struct dsl_argument *described)
{
    struct graph_plan *plan = planning->plan;
    const struct ast_function *function = plan->kernel->function;
    struct elaborate_operand *operands =
        arena_array(&plan->arena, struct elaborate_operand, function->parameter_count + 1);
    const struct elaborate_tensor *results;
    struct ir_kernel *numbers = ir_kernel_new(&plan->arena, function->name);
    int next = 0, count;

    for (int i = 0; i < function->parameter_count; i++) {
        const struct dsl_argument *argument = &described[i];
        struct elaborate_operand *operand = &operands[i], *items;
        *operand = (struct elaborate_operand){.kind = argument->kind,
                                              .string = argument->string,
                                              .ints = argument->ints,
                                              .count = argument->count};
        if (argument->kind == DSL_TENSOR)
            operand->tensor = next++;
        if (argument->kind == DSL_INT || argument->kind == DSL_BOOL)
            operand->number =
                ir_integer(numbers, argument->kind == DSL_INT ? AKG_INT64 : AKG_BOOL, argument->integer);
        if (argument->kind == DSL_FLOAT)
            operand->number = ir_real(numbers, AKG_FLOAT64, argument->real);
        if (argument->kind != DSL_TENSORS)
            continue;
        operand->items = items = arena_array(&plan->arena, struct elaborate_operand, argument->count + 1);
        for (int k = 0; k < argument->count; k++)
            items[k] = (struct elaborate_operand){.kind = DSL_TENSOR, .tensor = next++};
    }
    return plan_call(planning, function, operands, function->span, &results, &count);
}

/* What a kernel returns, as the text of its return statement has it. */
static void plan_single_result(struct graph_plan *plan)
{
    const struct graph_call *call = &plan->calls.items[0];
    const struct ast_expr *result = plan->kernel->function->result;
    int count = result->kind == AST_TUPLE ? result->count : call->result_count, next = 0;
    struct elaborate_operand *items = arena_array(&plan->arena, struct elaborate_operand, count + 1);

    for (int i = 0; i < count; i++) {
        bool none = result->kind == AST_TUPLE && result->items[i]->kind == AST_NONE;
        if (!none && next < call->result_count)
            items[i] = (struct elaborate_operand){.kind = DSL_TENSOR, .tensor = call->first_result + next++};
    }
    plan->result = (struct elaborate_operand){.kind = DSL_TENSORS, .items = items, .count = count};
}

static bool plan_function(struct planning *planning, struct call_binding *binding, akg_diagnostics *list)
{
    struct graph_plan *plan = planning->plan;
    const struct ast_function *function = plan->kernel->function;
    const struct elaborate_calls calls = {planning, plan_call, pipeline_evaluate};
    struct dsl_argument *described =
        arena_array(&plan->arena, struct dsl_argument, function->parameter_count + 1);

    plan_arguments(plan, binding, described);
    if (function->is_pure)
        return elaborate_graph(&plan->arena, plan->kernel->module->tree, function, described, &calls,
                               &plan->result, list);
    if (!plan_single(planning, described))
        return false;
    plan_single_result(plan);
    return true;
}

/* ---- the result --------------------------------------------------------------------------------------- */

static void plan_flatten(const struct elaborate_operand *operand, int *items, size_t *count)
{
    if (operand->kind == DSL_TENSORS) {
        for (int i = 0; i < operand->count; i++)
            plan_flatten(&operand->items[i], items, count);
        return;
    }
    if (items)
        items[*count] = operand->kind == DSL_TENSOR ? operand->tensor : -1;
    ++*count;
}

static void plan_find_items(struct graph_plan *plan)
{
    plan_flatten(&plan->result, NULL, &plan->item_count);
    plan->items = arena_array(&plan->arena, int, (int)plan->item_count + 1);
    plan->item_count = 0;
    plan_flatten(&plan->result, plan->items, &plan->item_count);
}

/* The kernel's output that each item is. A tuple within the result is one item there: of a bprop's, the
 * gradients of a variadic input. */
static void plan_find_outputs(struct graph_plan *plan)
{
    size_t item = 0;
    int output = -1, tensors = 0;

    plan->outputs = arena_array(&plan->arena, int, (int)plan->item_count + 1);
    plan->has_room = true;
    for (int i = 0; i < plan->result.count; i++) {
        size_t end = item;
        plan_flatten(&plan->result.items[i], NULL, &end);
        for (; item < end; item++) {
            plan->outputs[item] = -1;
            if (plan->items[item] < 0)
                continue;
            tensors++;
            if (plan->has_room)
                plan->outputs[item] = output = call_next_output(plan->kernel, output, i);
            plan->has_room &= output >= 0;
        }
    }
    if (tensors != 1 || akg_kernel_output_count(plan->kernel) != 1)
        return;
    plan->has_room = true; /* the one output is the one result, whatever its place */
    for (item = 0; item < plan->item_count; item++)
        plan->outputs[item] = plan->items[item] < 0 ? -1 : 0;
}

/* ---- what is needed --------------------------------------------------------------------------- */

struct graph_marking {
    bool *calls, *tensors;
    int *last_use;
};

static void marking_add(struct graph_marking *marking, const struct elaborate_operand *operand, int call)
{
    if (operand->kind == DSL_TENSOR) {
        marking->tensors[operand->tensor] = true;
        if (call > marking->last_use[operand->tensor])
            marking->last_use[operand->tensor] = call;
    }
    for (int i = 0; operand->kind == DSL_TENSORS && i < operand->count; i++)
        marking_add(marking, &operand->items[i], call);
}

/* A call that writes in place is always needed. */
struct graph_need graph_find_need(const struct graph_plan *plan, struct arena *arena, const bool *wanted)
{
    struct graph_marking marking = {.calls = arena_array(arena, bool, plan->calls.count + 1),
                                    .tensors = arena_array(arena, bool, plan->described.count + 1),
                                    .last_use = arena_array(arena, int, plan->described.count + 1)};

    for (int i = 0; i < plan->described.count; i++)
        marking.last_use[i] = -1;
    for (size_t i = 0; i < plan->item_count; i++)
        if (plan->items[i] >= 0 && (!wanted || wanted[i])) {
            marking.tensors[plan->items[i]] = true;
            marking.last_use[plan->items[i]] = plan->calls.count;
        }
    for (int i = plan->calls.count - 1; i >= 0; i--) {
        const struct graph_call *call = &plan->calls.items[i];
        marking.calls[i] = call->in_place;
        for (int k = 0; k < call->result_count; k++)
            marking.calls[i] |= marking.tensors[call->first_result + k];
        for (int k = 0; marking.calls[i] && k < call->kernel->function->parameter_count; k++)
            marking_add(&marking, &call->operands[k], i);
    }
    return (struct graph_need){marking.calls, marking.last_use};
}

/* ---- the whole ------------------------------------------------------------------------------------ */

/* Everything that may run out of memory; false then. */
static bool plan_guarded(struct planning *planning, struct call_binding *binding, akg_diagnostics *list)
{
    jmp_buf escape;
    bool good;

    if (setjmp(escape)) {
        planning->plan->arena.escape = NULL;
        diagnostics_set_escape(list, NULL);
        planning->status = AKG_ERROR_MEMORY;
        return false;
    }
    planning->plan->arena.escape = &escape;
    diagnostics_set_escape(list, &escape);
    good = plan_function(planning, binding, list);
    if (good) {
        plan_find_items(planning->plan);
        plan_find_outputs(planning->plan);
        planning->plan->need = graph_find_need(planning->plan, &planning->plan->arena, NULL);
    }
    if (!good && planning->status == AKG_OK)
        planning->status = AKG_ERROR_CALL; /* told in the list */
    if (planning->failed)
        diagnostics_adopt(list, planning->failed, planning->failed_span,
                          planning->failed_callee->module->file ? planning->failed_callee->name : NULL);
    planning->plan->arena.escape = NULL;
    diagnostics_set_escape(list, NULL);
    return good;
}

akg_status graph_plan_make(akg_registry *registry, struct akg_kernel *kernel, const akg_argument *arguments,
                           size_t count, struct graph_plan **made, akg_diagnostics **diagnostics)
{
    struct graph_plan *plan = memory_zeroed(1, sizeof *plan);
    struct planning planning = {.plan = plan};
    struct call_messages messages = {&kernel->module->source, NULL};
    struct call_binding binding;
    akg_diagnostics *list = call_list(&messages);
    bool begun = call_begin(&binding, kernel);

    *made = NULL;
    if (plan) {
        atomic_init(&plan->references, 1);
        arena_init(&plan->arena, NULL);
        plan->kernel = kernel;
        plan->registry = registry;
    }
    if (!plan || !begun || !list)
        planning.status = AKG_ERROR_MEMORY;
    else if (!call_bind(&binding, arguments, count, list))
        planning.status = AKG_ERROR_CALL;
    else
        plan_guarded(&planning, &binding, list);
    call_end(&binding);
    akg_diagnostics_free(planning.failed);
    if (planning.status == AKG_OK)
        *made = plan;
    else
        graph_plan_release(plan);
    return operator_finish(list, planning.status, diagnostics);
}

struct graph_plan *graph_plan_retain(struct graph_plan *plan)
{
    atomic_fetch_add_explicit(&plan->references, 1, memory_order_relaxed);
    return plan;
}

void graph_plan_release(struct graph_plan *plan)
{
    if (!plan || atomic_fetch_sub_explicit(&plan->references, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < plan->described.count; i++)
        akg_tensor_release(plan->described.items[i]);
    arena_free(&plan->arena);
    memory_free(plan);
}

/* ---- two plans of one function ------------------------------------------------------------------- */

static bool operand_is_alike(const struct elaborate_operand *a, const struct elaborate_operand *b)
{
    bool alike = a->kind == b->kind && (a->kind != DSL_TENSOR || a->tensor == b->tensor) &&
                 (a->kind != DSL_TENSORS || a->count == b->count);

    for (int i = 0; alike && a->kind == DSL_TENSORS && i < a->count; i++)
        alike = operand_is_alike(&a->items[i], &b->items[i]);
    return alike;
}

static bool call_is_alike(const struct graph_call *a, const struct graph_call *b)
{
    bool alike = a->kernel == b->kernel && a->result_count == b->result_count;

    for (int i = 0; alike && i < a->kernel->function->parameter_count; i++)
        alike = operand_is_alike(&a->operands[i], &b->operands[i]);
    return alike;
}

bool graph_plan_is_alike(const struct graph_plan *a, const struct graph_plan *b)
{
    bool alike = a->calls.count == b->calls.count && operand_is_alike(&a->result, &b->result);

    for (int i = 0; alike && i < a->calls.count; i++)
        alike = call_is_alike(&a->calls.items[i], &b->calls.items[i]);
    return alike;
}

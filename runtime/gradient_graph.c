/*
 * gradient_graph.c: gradients as graphs of operators: built when a call is recorded, run when its gradients
 * are asked for.
 *
 * Calls of the graph are numbered as they are completed, so each comes after those it reads. Only calls that
 * lead to a gradient that is needed are built; of those, only the ones that the pass needs are run. Nothing
 * here escapes: memory that cannot be had, and whatever else goes wrong while the user's functions run, is
 * kept and told at the end.
 */
#include "operator_gradient.h"

#include <stdio.h>
#include <string.h>

#include "call.h"
#include "failure.h"
#include "operator_native.h"

enum value_kind { VALUE_TENSOR, VALUE_OUTPUT_GRADIENT, VALUE_RESULT };

struct akg_gradient_value {
    enum value_kind kind;
    size_t index; /* of the call's tensors, of its outputs, or of the node's results */
    akg_gradient_node *node;
};

/* An input of a node: the value of one tensor, or one of several under the same name. */
struct node_input {
    struct node_input *next;
    const char *name;
    const akg_gradient_value *value;
};

struct node_argument {
    struct node_argument *next;
    akg_argument argument;
};

enum node_state { NODE_DEFINED, NODE_BUILDING, NODE_BUILT };

struct akg_gradient_node {
    akg_gradient_node *next;   /* the one defined before */
    akg_gradient_node *before; /* the one completed before */
    akg_gradient *gradient;
    const char *name;
    void (*build)(akg_gradient *gradient, akg_gradient_node *node);
    enum node_state state;
    akg_operator *callee;
    struct node_input *inputs, **inputs_end;
    struct node_argument *arguments; /* attributes, and counts of outputs */
    size_t argument_count, input_count, result_count;
    size_t number; /* in the order of completion */
};

struct gradient_graph {
    akg_gradient_node **nodes; /* in the order of completion */
    size_t node_count;
    const akg_gradient_value **bound; /* per input tensor, or NULL */
};

/* A graph that is being built. */
struct akg_gradient {
    struct gradient_call *call;
    const struct operator_gradient *source;
    akg_gradient_node *definitions, *completed; /* newest first */
    struct gradient_graph *graph;
    bool *is_bound;
    const char *wrong; /* the first thing that is wrong */
    bool out_of_memory;
};

/* ---- memory, and what is wrong --------------------------------------------------------------------- */

/* Zero-filled, in the arena of the call; NULL when there is none. */
static void *gradient_allocate(akg_gradient *gradient, size_t size)
{
    struct arena *arena = &gradient->call->arena;
    jmp_buf escape;
    void *memory;

    if (setjmp(escape)) {
        arena->escape = NULL;
        gradient->out_of_memory = true;
        return NULL;
    }
    arena->escape = &escape;
    memory = arena_allocate(arena, size);
    arena->escape = NULL;
    return memory;
}

static const char *gradient_copy(akg_gradient *gradient, const char *text)
{
    char *copy = gradient_allocate(gradient, strlen(text) + 1);

    return copy ? strcpy(copy, text) : NULL;
}

/* Keeps the first thing that is wrong; gives NULL. */
static void *gradient_wrong(akg_gradient *gradient, const char *format, const char *name)
{
    char text[300];

    if (gradient->wrong)
        return NULL;
    snprintf(text, sizeof text, format, name ? name : "");
    gradient->wrong = gradient_copy(gradient, text);
    return NULL;
}

/* ---- values of the call ---------------------------------------------------------------------------------
 */

static const akg_gradient_value *gradient_value(akg_gradient *gradient, enum value_kind kind, size_t index,
                                                akg_gradient_node *node)
{
    akg_gradient_value *value = gradient_allocate(gradient, sizeof *value);

    if (value)
        *value = (akg_gradient_value){kind, index, node};
    return value;
}

/* The number of a tensor among `operands`, or SIZE_MAX. */
static size_t operand_tensor(const struct gradient_operand *operands, size_t count, const char *name,
                             size_t index)
{
    for (size_t i = 0; name && i < count; i++)
        if (strcmp(operands[i].name, name) == 0)
            return index < operands[i].count ? operands[i].first + index : SIZE_MAX;
    return SIZE_MAX;
}

static size_t gradient_input_tensor(const akg_gradient *gradient, const char *name, size_t index)
{
    return operand_tensor(gradient->call->inputs, gradient->call->input_operands, name, index);
}

static size_t gradient_output_tensor(const akg_gradient *gradient, const char *name, size_t index)
{
    return operand_tensor(gradient->call->outputs, gradient->call->output_operands, name, index);
}

const akg_gradient_value *akg_gradient_input(akg_gradient *gradient, const char *name, size_t index)
{
    size_t tensor = gradient ? gradient_input_tensor(gradient, name, index) : SIZE_MAX;

    if (!gradient)
        return NULL;
    if (tensor == SIZE_MAX)
        return gradient_wrong(gradient, "the call has no such input '%s'", name);
    return gradient_value(gradient, VALUE_TENSOR, tensor, NULL);
}

const akg_gradient_value *akg_gradient_output(akg_gradient *gradient, const char *name, size_t index)
{
    size_t tensor = gradient ? gradient_output_tensor(gradient, name, index) : SIZE_MAX;

    if (!gradient)
        return NULL;
    if (tensor == SIZE_MAX)
        return gradient_wrong(gradient, "the call has no such output '%s'", name);
    return gradient_value(gradient, VALUE_TENSOR, gradient->call->input_count + tensor, NULL);
}

const akg_gradient_value *akg_gradient_output_gradient(akg_gradient *gradient, const char *name, size_t index)
{
    size_t tensor = gradient ? gradient_output_tensor(gradient, name, index) : SIZE_MAX;

    if (!gradient)
        return NULL;
    if (tensor == SIZE_MAX)
        return gradient_wrong(gradient, "the call has no such output '%s'", name);
    return gradient_value(gradient, VALUE_OUTPUT_GRADIENT, tensor, NULL);
}

const akg_argument *akg_gradient_attribute(akg_gradient *gradient, const char *name)
{
    for (size_t i = 0; gradient && name && i < gradient->call->attribute_count; i++)
        if (strcmp(gradient->call->attributes[i].name, name) == 0)
            return &gradient->call->attributes[i];
    return NULL;
}

bool akg_gradient_describe(akg_gradient *gradient, const char *name, size_t index,
                           akg_description *description)
{
    const akg_tensor *tensor;
    size_t number;

    if (!gradient || !name || !description)
        return false;
    number = gradient_input_tensor(gradient, name, index);
    if (number == SIZE_MAX && (number = gradient_output_tensor(gradient, name, index)) != SIZE_MAX)
        number += gradient->call->input_count;
    tensor = number == SIZE_MAX ? NULL : gradient->call->tensors[number];
    if (!tensor)
        return false;
    description->dtype = tensor->dtype;
    description->rank = tensor->rank;
    memcpy(description->shape, tensor_shape(tensor), (size_t)tensor->rank * sizeof *description->shape);
    return true;
}

void *akg_gradient_data(akg_gradient *gradient)
{
    return gradient ? gradient->source->data : NULL;
}

/* ---- calls of the graph -----------------------------------------------------------------------------------
 */

static akg_gradient_node *gradient_find(const akg_gradient *gradient, const char *name)
{
    akg_gradient_node *node = gradient->definitions;

    while (node && strcmp(node->name, name) != 0)
        node = node->next;
    return node;
}

void akg_gradient_define(akg_gradient *gradient, const char *name,
                         void (*build)(akg_gradient *gradient, akg_gradient_node *node))
{
    akg_gradient_node *node;

    if (!gradient)
        return;
    if (!name || !build || gradient_find(gradient, name)) {
        gradient_wrong(gradient, "'%s' is defined twice, or as nothing", name);
        return;
    }
    node = gradient_allocate(gradient, sizeof *node);
    if (!node)
        return;
    node->gradient = gradient;
    node->name = gradient_copy(gradient, name);
    node->build = build;
    node->inputs_end = &node->inputs;
    node->next = gradient->definitions;
    if (node->name)
        gradient->definitions = node;
}

void akg_gradient_node_operator(akg_gradient_node *node, const char *name)
{
    if (!node)
        return;
    if (!name ||
        akg_registry_find(node->gradient->call->callee->registry, name, &node->callee, NULL) != AKG_OK)
        gradient_wrong(node->gradient, "there is no operator '%s'", name);
}

void akg_gradient_node_input(akg_gradient_node *node, const char *name, const akg_gradient_value *value)
{
    struct node_input *input;

    if (!node)
        return;
    if (!name || !value) {
        gradient_wrong(node->gradient, "input '%s' of a call gets no value", name);
        return;
    }
    input = gradient_allocate(node->gradient, sizeof *input);
    if (!input)
        return;
    input->name = gradient_copy(node->gradient, name);
    input->value = value;
    *node->inputs_end = input;
    node->inputs_end = &input->next;
    node->input_count++;
}

void akg_gradient_node_attribute(akg_gradient_node *node, const akg_argument *value)
{
    struct node_argument *argument;
    struct arena *arena;
    jmp_buf escape;

    if (!node || !value)
        return;
    if (!value->name || value->kind == AKG_ARGUMENT_TENSOR || value->kind == AKG_ARGUMENT_TENSORS ||
        !call_arguments_are_there(value, 1)) {
        gradient_wrong(node->gradient, "attribute '%s' of a call gets no value, or a tensor", value->name);
        return;
    }
    argument = gradient_allocate(node->gradient, sizeof *argument);
    arena = &node->gradient->call->arena;
    if (!argument)
        return;
    if (setjmp(escape)) {
        arena->escape = NULL;
        node->gradient->out_of_memory = true;
        return;
    }
    arena->escape = &escape;
    argument->argument = attribute_copy(arena, value);
    arena->escape = NULL;
    argument->next = node->arguments;
    node->arguments = argument;
    node->argument_count++;
}

void akg_gradient_node_output(akg_gradient_node *node, const char *name, size_t count)
{
    akg_argument value = {.name = name, .kind = AKG_ARGUMENT_INT, .as.integer = (int64_t)count};

    if (node && (!name || count > CALL_MAX_ITEMS))
        gradient_wrong(node->gradient, "output '%s' of a call has no name, or too many tensors", name);
    else
        akg_gradient_node_attribute(node, &value);
}

/* How many tensors an output of the node's operator holds: what was said of it, where a call takes that. */
static size_t node_output_count(const akg_gradient_node *node, size_t output)
{
    const char *name = akg_operator_output_name(node->callee, output);

    for (const struct node_argument *at = node->arguments; node->callee->native && at; at = at->next)
        if (strcmp(at->argument.name, name) == 0 && native_is_count(&at->argument))
            return (size_t)at->argument.as.integer;
    return native_output_least(node->callee, output);
}

/* The number of a tensor among all results, or SIZE_MAX. */
static size_t node_result(const akg_gradient_node *node, const char *name, size_t index)
{
    size_t first = 0;

    for (size_t i = 0; i < akg_operator_output_count(node->callee); i++) {
        size_t count = node_output_count(node, i);
        if (strcmp(akg_operator_output_name(node->callee, i), name) == 0)
            return index < count ? first + index : SIZE_MAX;
        first += count;
    }
    return SIZE_MAX;
}

/* Has the user's function describe the node. */
static bool node_build(akg_gradient_node *node)
{
    akg_gradient *gradient = node->gradient;

    if (node->state == NODE_BUILT)
        return true;
    if (node->state == NODE_BUILDING)
        return gradient_wrong(gradient, "'%s' needs its own result", node->name);
    node->state = NODE_BUILDING;
    node->build(gradient, node);
    if (gradient->wrong || gradient->out_of_memory)
        return false;
    if (!node->callee)
        return gradient_wrong(gradient, "'%s' names no operator", node->name);
    for (size_t i = 0; i < akg_operator_output_count(node->callee); i++)
        node->result_count += node_output_count(node, i);
    node->state = NODE_BUILT;
    node->number = gradient->graph->node_count++;
    node->before = gradient->completed;
    gradient->completed = node;
    return true;
}

const akg_gradient_value *akg_gradient_get(akg_gradient *gradient, const char *name, const char *output,
                                           size_t index)
{
    akg_gradient_node *node;
    size_t result;

    if (!gradient || gradient->wrong || gradient->out_of_memory)
        return NULL;
    node = name ? gradient_find(gradient, name) : NULL;
    if (!node)
        return gradient_wrong(gradient, "'%s' is not defined", name);
    if (!node_build(node))
        return NULL;
    result = output ? node_result(node, output, index) : SIZE_MAX;
    if (result == SIZE_MAX)
        return gradient_wrong(gradient, "there is no such output '%s'", output);
    return gradient_value(gradient, VALUE_RESULT, result, node);
}

void akg_gradient_bind(akg_gradient *gradient, const char *input, size_t index,
                       const akg_gradient_value *(*value)(akg_gradient *gradient, const char *input,
                                                          size_t index))
{
    size_t tensor;

    if (!gradient || gradient->wrong || gradient->out_of_memory)
        return;
    tensor = gradient_input_tensor(gradient, input, index);
    if (tensor == SIZE_MAX || !value || gradient->is_bound[tensor]) {
        gradient_wrong(gradient, "'%s' is no input of the call, or bound twice", input);
        return;
    }
    gradient->is_bound[tensor] = true;
    if (gradient->call->tensors[tensor]->node) /* it is needed */
        gradient->graph->bound[tensor] = value(gradient, input, index);
}

/* ---- building ---------------------------------------------------- */

/* Marks the nodes that lead to `value`, which are numbered before it. */
static void graph_mark(const struct gradient_graph *graph, bool *marked)
{
    for (size_t i = graph->node_count; i-- > 0;)
        for (const struct node_input *input = marked[i] ? graph->nodes[i]->inputs : NULL; input;
             input = input->next)
            if (input->value->kind == VALUE_RESULT)
                marked[input->value->node->number] = true;
}

static void graph_mark_needed(const struct gradient_call *call, const bool *needed, bool *marked)
{
    const struct gradient_graph *graph = call->graph;

    for (size_t i = 0; i < call->input_count; i++)
        if (graph->bound[i] && (!needed || needed[i]) && graph->bound[i]->kind == VALUE_RESULT)
            marked[graph->bound[i]->node->number] = true;
    graph_mark(graph, marked);
}

/* Which tensors of the call the graph reads. */
static akg_status graph_find_reads(const struct gradient_call *call, bool *reads)
{
    const struct gradient_graph *graph = call->graph;
    bool *marked = memory_zeroed(graph->node_count, sizeof(bool));

    if (!marked)
        return AKG_ERROR_MEMORY;
    graph_mark_needed(call, NULL, marked);
    for (size_t i = 0; i < call->input_count; i++)
        if (graph->bound[i] && graph->bound[i]->kind == VALUE_TENSOR)
            reads[graph->bound[i]->index] = true;
    for (size_t i = 0; i < graph->node_count; i++)
        for (const struct node_input *input = marked[i] ? graph->nodes[i]->inputs : NULL; input;
             input = input->next)
            if (input->value->kind == VALUE_TENSOR)
                reads[input->value->index] = true;
    memory_free(marked);
    return AKG_OK;
}

static akg_status graph_number(akg_gradient *gradient)
{
    struct gradient_graph *graph = gradient->graph;

    graph->nodes = gradient_allocate(gradient, (graph->node_count + 1) * sizeof *graph->nodes);
    if (!graph->nodes)
        return AKG_ERROR_MEMORY;
    for (akg_gradient_node *node = gradient->completed; node; node = node->before)
        graph->nodes[node->number] = node;
    return AKG_OK;
}

akg_status gradient_graph_build(struct gradient_call *call, const struct operator_gradient *source,
                                bool *reads, akg_diagnostics **diagnostics)
{
    akg_gradient gradient = {.call = call, .source = source};

    call->graph = gradient.graph = gradient_allocate(&gradient, sizeof *call->graph);
    gradient.is_bound = gradient_allocate(&gradient, call->input_count + 1);
    if (!call->graph || !gradient.is_bound)
        return AKG_ERROR_MEMORY;
    call->graph->bound = gradient_allocate(&gradient, (call->input_count + 1) * sizeof *call->graph->bound);
    if (!call->graph->bound)
        return AKG_ERROR_MEMORY;
    source->build(&gradient);
    if (gradient.out_of_memory || graph_number(&gradient) != AKG_OK)
        return AKG_ERROR_MEMORY;
    if (gradient.wrong)
        return failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRADIENT_GRAPH, call->callee->name,
                              gradient.wrong, NULL, NULL);
    return graph_find_reads(call, reads);
}

/* ---- running ----------------------------------------------------- */

struct graph_run {
    const struct gradient_call *call;
    const struct autograd_step *step;
    akg_diagnostics **diagnostics;
    akg_tensor **tensors;  /* those of the call, as they are asked for */
    akg_tensor ***results; /* per node */
    bool *marked;
};

/* Borrowed. */
static akg_status run_value(struct graph_run *run, const akg_gradient_value *value, akg_tensor **tensor)
{
    akg_status status = AKG_OK;

    if (value->kind == VALUE_OUTPUT_GRADIENT) {
        *tensor = run->step->output_gradients[value->index];
    } else if (value->kind == VALUE_RESULT) {
        *tensor = run->results[value->node->number][value->index];
    } else {
        size_t slot = run->call->slots[value->index];
        if (!run->tensors[value->index] && slot != SIZE_MAX)
            status = autograd_saved(run->step, slot, &run->tensors[value->index], run->diagnostics);
        *tensor = run->tensors[value->index];
    }
    return status;
}

/* Whether several tensors, or a list of one, go to the input of that name. */
static bool node_takes_list(const akg_gradient_node *node, const char *name)
{
    akg_parameter parameter;

    for (size_t i = 0; akg_operator_parameter(node->callee, i, &parameter); i++)
        if (strcmp(parameter.name, name) == 0)
            return parameter.kind == AKG_PARAMETER_VARIADIC;
    return false;
}

/* The tensors of one input: all that were added under its name. */
static akg_status run_input(struct graph_run *run, const akg_gradient_node *node,
                            const struct node_input *first, akg_tensor **room, akg_argument *argument)
{
    size_t count = 0;
    akg_status status = AKG_OK;

    for (const struct node_input *at = first; at && status == AKG_OK; at = at->next)
        if (strcmp(at->name, first->name) == 0)
            status = run_value(run, at->value, &room[count++]);
    *argument = (akg_argument){.name = first->name, .kind = AKG_ARGUMENT_TENSORS};
    argument->as.tensors.items = room;
    argument->as.tensors.count = count;
    if (count == 1 && !node_takes_list(node, first->name)) {
        argument->kind = room[0] ? AKG_ARGUMENT_TENSOR : AKG_ARGUMENT_NONE;
        argument->as.tensor = room[0];
    }
    return status;
}

static bool input_is_first(const akg_gradient_node *node, const struct node_input *input)
{
    const struct node_input *at = node->inputs;

    while (at != input && strcmp(at->name, input->name) != 0)
        at = at->next;
    return at == input;
}

static akg_status run_call(struct graph_run *run, const akg_gradient_node *node, akg_argument *arguments,
                           akg_tensor **room, akg_tensor **results)
{
    size_t count = 0;
    akg_status status = AKG_OK;

    for (const struct node_input *input = node->inputs; input && status == AKG_OK; input = input->next) {
        if (!input_is_first(node, input))
            continue;
        status = run_input(run, node, input, room, &arguments[count]);
        if (arguments[count].kind == AKG_ARGUMENT_TENSORS)
            room += arguments[count].as.tensors.count;
        count++;
    }
    for (const struct node_argument *at = node->arguments; at; at = at->next)
        arguments[count++] = at->argument;
    if (status == AKG_OK)
        status = akg_call(run->step->tape, node->callee, arguments, count, results, run->diagnostics);
    return status;
}

static akg_status run_node(struct graph_run *run, const akg_gradient_node *node)
{
    akg_argument *arguments = memory_zeroed(node->input_count + node->argument_count, sizeof *arguments);
    akg_tensor **room = memory_zeroed(node->input_count, sizeof(akg_tensor *));
    akg_tensor **results = memory_zeroed(node->result_count, sizeof(akg_tensor *));
    akg_status status = AKG_ERROR_MEMORY;

    run->results[node->number] = results;
    if (arguments && room && results)
        status = run_call(run, node, arguments, room, results);
    memory_free(arguments);
    memory_free(room);
    return status;
}

static akg_status run_all(struct graph_run *run, akg_tensor **input_gradients)
{
    const struct gradient_graph *graph = run->call->graph;
    akg_status status = AKG_OK;
    akg_tensor *gradient = NULL;

    graph_mark_needed(run->call, run->step->needed, run->marked);
    for (size_t i = 0; status == AKG_OK && i < graph->node_count; i++)
        if (run->marked[i])
            status = run_node(run, graph->nodes[i]);
    for (size_t i = 0; status == AKG_OK && i < run->call->input_count; i++) {
        if (!graph->bound[i] || !run->step->needed[i])
            continue;
        status = run_value(run, graph->bound[i], &gradient);
        if (status == AKG_OK)
            input_gradients[i] = akg_tensor_retain(gradient);
    }
    return status;
}

akg_status gradient_graph_run(const struct gradient_call *call, const struct autograd_step *step,
                              akg_tensor **input_gradients, akg_diagnostics **diagnostics)
{
    const struct gradient_graph *graph = call->graph;
    size_t tensors = call->input_count + call->output_count;
    struct graph_run run = {.call = call, .step = step, .diagnostics = diagnostics};
    akg_status status = AKG_ERROR_MEMORY;

    run.tensors = memory_zeroed(tensors, sizeof(akg_tensor *));
    run.results = memory_zeroed(graph->node_count, sizeof(akg_tensor **));
    run.marked = memory_zeroed(graph->node_count, sizeof(bool));
    if (run.tensors && run.results && run.marked)
        status = run_all(&run, input_gradients);
    for (size_t i = 0; run.results && i < graph->node_count; i++) {
        for (size_t k = 0; run.results[i] && k < graph->nodes[i]->result_count; k++)
            akg_tensor_release(run.results[i][k]);
        memory_free(run.results[i]);
    }
    for (size_t i = 0; run.tensors && i < tensors; i++)
        akg_tensor_release(run.tensors[i]);
    memory_free(run.tensors);
    memory_free(run.results);
    memory_free(run.marked);
    return status;
}

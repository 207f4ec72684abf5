/*
 * recorded_host.c: host functions as steps of a recorded graph.
 *
 * Consumes a step and the tensors of its values; asks the host operator what its outputs are for new extents,
 * and runs its forward or backward function, whose results are copied to where the graph keeps them.
 */
#include <string.h>

#include "failure.h"
#include "recorded.h"

static const struct recorded_argument *tensors_of(const struct recorded_step *step)
{
    return &step->arguments[0];
}

static void describe(const akg_tensor *tensor, akg_description *form)
{
    form->dtype = tensor->dtype;
    form->rank = tensor->rank;
    memcpy(form->shape, tensor->dims, sizeof *form->shape * (size_t)tensor->rank);
}

/* ---- new extents --------------------------------------------------------------------------------- */

static akg_status infer_forward(struct bound_graph *bound, const struct recorded_step *step,
                                akg_description *outputs)
{
    const struct recorded_argument *tensors = tensors_of(step);
    akg_description *inputs = arena_array(&bound->arena, akg_description, (int)step->host->input_count + 1);

    for (size_t i = 0; i < step->host->input_count; i++)
        describe(bound->values[tensors->values[i]].tensor, &inputs[i]);
    return step->output_count ? step->host->infer(step->host->user, inputs, outputs) : AKG_OK;
}

static void infer_backward(struct bound_graph *bound, const struct recorded_step *step,
                           akg_description *outputs)
{
    for (int i = 0; i < step->output_count; i++) {
        const struct recorded_value *value;
        if (step->outputs[i] < 0)
            continue;
        value = &bound->graph->recording->values.items[step->outputs[i]];
        if (step->likes[i] >= 0) {
            describe(bound->values[step->likes[i]].tensor, &outputs[i]);
            continue;
        }
        outputs[i].dtype = value->dtype;
        outputs[i].rank = value->rank;
        memcpy(outputs[i].shape, value->shape, sizeof *value->shape * (size_t)value->rank);
    }
}

akg_status bound_infer_host(struct bound_graph *bound, const struct recorded_step *step,
                            akg_diagnostics **diagnostics)
{
    akg_description *outputs = arena_array(&bound->arena, akg_description, step->output_count + 1);
    akg_status status = AKG_OK;

    if (bound->device)
        return failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_NO_STEP, step->host->name,
                              "a host function takes tensors of the host, and the inputs lie on a device",
                              NULL, NULL);
    if (step->backward)
        infer_backward(bound, step, outputs);
    else
        status = infer_forward(bound, step, outputs);
    for (int i = 0; i < step->output_count && status == AKG_OK; i++) {
        if (step->outputs[i] < 0)
            continue;
        status = call_describe_only(outputs[i].dtype, outputs[i].rank, outputs[i].shape, NULL,
                                    &bound->values[step->outputs[i]].tensor);
        if (status == AKG_ERROR_USAGE)
            status = failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_NO_STEP, step->host->name,
                                    "infer describes no tensor", NULL, NULL);
    }
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------------- */

/* A result, in the place where the graph keeps it. */
static akg_status store(const struct recorded_step *step, const akg_tensor *made, akg_tensor *place,
                        akg_diagnostics **diagnostics)
{
    char found[TENSOR_FORM_TEXT], needed[TENSOR_FORM_TEXT];
    size_t size = (size_t)place->element_count * (size_t)dtype_table[place->dtype].size;

    if (!made && step->backward) {
        memset(place->data, 0, size);
        return AKG_OK;
    }
    if (made && made->dtype == place->dtype && made->rank == place->rank && !made->device &&
        memcmp(made->dims, place->dims, sizeof *made->dims * (size_t)made->rank) == 0) {
        if (made->contiguous && size)
            memcpy(place->data, made->data, size);
        else
            tensor_cast_into(made, place);
        return AKG_OK;
    }
    strcpy(found, "no tensor");
    if (made)
        tensor_print_form(found, made->dtype, made->rank, made->dims);
    tensor_print_form(needed, place->dtype, place->rank, place->dims);
    return failure_report(diagnostics, AKG_ERROR_CALL, MSG_GRAPH_HOST, step->host->name, found, needed,
                          "note: that is what its function `infer` said, or the form of an input");
}

static akg_status run_functions(const struct recorded_step *step, akg_tensor *const *tensors,
                                akg_tensor **results, akg_diagnostics **diagnostics)
{
    const akg_host_operator *host = step->host;

    return step->backward ? host->backward(host->user, tensors, tensors_of(step)->argument.as.tensors.count,
                                           results, diagnostics)
                          : host->forward(host->user, tensors, results, diagnostics);
}

akg_status bound_run_host(struct bound_graph *bound, const struct recorded_step *step,
                          akg_diagnostics **diagnostics)
{
    const struct recorded_argument *arguments = tensors_of(step);
    size_t count = arguments->argument.as.tensors.count, outputs = (size_t)step->output_count;
    akg_tensor **tensors = memory_zeroed(count + outputs + 1, sizeof *tensors), **results;
    akg_status status;

    if (!tensors)
        return AKG_ERROR_MEMORY;
    results = tensors + count;
    for (size_t i = 0; i < count; i++) {
        struct bound_value *value = arguments->values[i] < 0 ? NULL : &bound->values[arguments->values[i]];
        tensors[i] = value ? value->tensor : NULL;
        if (value && value->place == BOUND_VIEW) /* of something outside, perhaps */
            value->tensor->data = value->tensor->base->data;
    }
    status = run_functions(step, tensors, results, diagnostics);
    for (size_t i = 0; i < outputs; i++) {
        if (status == AKG_OK && step->outputs[i] >= 0)
            status = store(step, results[i], bound->values[step->outputs[i]].tensor, diagnostics);
        akg_tensor_release(results[i]);
    }
    memory_free(tensors);
    return status;
}

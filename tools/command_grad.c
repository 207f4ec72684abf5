/*
 * command_grad.c: `akgrun grad FILE [KERNEL] NAME=VALUE...`: calls a function on a tape and prints the
 * gradients of its outputs with respect to its inputs: that of input `x` is called `dx`.
 *
 * Gradients of outputs that --dout does not give are ones.
 */
#include "akgrun.h"

#include "callee.h"
#include "output.h"
#include "report.h"
#include "value.h"
#include "wrt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A tensor that goes in, and its gradient. */
struct wanted {
    char *name; /* "dx"; of the second of several tensors of one parameter "dxs_1" */
    akg_tensor *tensor, *gradient;
};

/* Starts zeroed. */
struct grad {
    const struct options *options;
    struct program program;
    struct callee callee;
    struct arguments arguments;
    akg_tape *tape;
    struct wanted *wanted;
    size_t wanted_count;
    akg_tensor **outputs, **output_gradients;
    size_t output_count;
    struct output_files files;
};

/* ---- with respect to what ----------------------------------------------------------------------- */

static bool want(struct grad *grad, char *name, akg_tensor *tensor, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_status status;
    grad->wanted[grad->wanted_count++] = (struct wanted){.name = name, .tensor = tensor};
    if (!name)
        return problem_memory(problem);
    status = akg_tensor_set_requires_grad(tensor, true, &diagnostics);
    return status == AKG_OK || problem_library(problem, status, diagnostics);
}

/* The tensors of --wrt; without it all that gradients can flow to. */
static bool choose_inputs(struct grad *grad, struct problem *problem)
{
    const char *listed = grad->options->wrt;
    size_t capacity = 1;
    for (size_t i = 0; i < grad->arguments.count; i++)
        capacity += grad->arguments.items[i].kind == AKG_ARGUMENT_TENSORS
                        ? grad->arguments.items[i].as.tensors.count
                        : 1;
    grad->wanted = calloc(capacity, sizeof *grad->wanted);
    if (!grad->wanted)
        return problem_memory(problem);
    if (!wrt_check(grad->options->wrt, &grad->arguments, problem))
        return false;
    for (size_t i = 0; i < grad->arguments.count; i++) {
        const akg_argument *argument = &grad->arguments.items[i];
        if (listed && !wrt_is_listed(listed, argument->name))
            continue;
        if (argument->kind == AKG_ARGUMENT_TENSOR && (listed || wrt_is_float(argument->as.tensor)) &&
            !want(grad, string_format("d%s", argument->name), argument->as.tensor, problem))
            return false;
        for (size_t k = 0; argument->kind == AKG_ARGUMENT_TENSORS && k < argument->as.tensors.count; k++)
            if ((listed || wrt_is_float(argument->as.tensors.items[k])) &&
                !want(grad, string_format("d%s_%zu", argument->name, k), argument->as.tensors.items[k],
                      problem))
                return false;
    }
    if (grad->wanted_count)
        return true;
    problem_set(problem, AKG_ERROR_USAGE, "there is nothing to differentiate by");
    return problem_help(problem, "gradients are of tensors of float dtypes");
}

/* ---- gradients of outputs ------------------------------------------------------------------------- */

static bool unknown_output(const struct grad *grad, const char *word, struct problem *problem)
{
    struct name_list list = {0};
    for (size_t i = 0; i < grad->output_count; i++)
        name_list_add(&list, callee_output_name(&grad->callee, i));
    problem_set(problem, AKG_ERROR_USAGE, "--dout: there is no output '%.*s'", (int)strcspn(word, "="), word);
    return problem_help(problem, "write --dout NAME=VALUE; the outputs: %s", list.text);
}

static bool has_form_of(const akg_tensor *tensor, const akg_tensor *output)
{
    int rank = akg_tensor_rank(tensor);
    return akg_tensor_dtype(tensor) == akg_tensor_dtype(output) && rank == akg_tensor_rank(output) &&
           (rank == 0 ||
            memcmp(akg_tensor_shape(tensor), akg_tensor_shape(output), sizeof(int64_t) * (size_t)rank) == 0);
}

/* "float32[2, 3]" */
static void print_form(char *text, size_t size, const akg_tensor *tensor)
{
    size_t length = (size_t)snprintf(text, size, "%s[", akg_dtype_name(akg_tensor_dtype(tensor)));
    for (int i = 0; i < akg_tensor_rank(tensor) && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, i ? ", %lld" : "%lld",
                                   (long long)akg_tensor_shape(tensor)[i]);
    if (length < size)
        snprintf(text + length, size - length, "]");
}

/* A gradient of an output must be just like it. */
static bool check_output_gradient(const struct grad *grad, size_t output, struct problem *problem)
{
    char found[320], needed[320];
    if (has_form_of(grad->output_gradients[output], grad->outputs[output]))
        return true;
    print_form(found, sizeof found, grad->output_gradients[output]);
    print_form(needed, sizeof needed, grad->outputs[output]);
    return problem_set(problem, AKG_ERROR_CALL, "--dout: '%.60s' is %s, and its gradient cannot be %s",
                       callee_output_name(&grad->callee, output), needed, found);
}

/* One --dout, read with the dtype of its output. */
static bool read_output_gradient(struct grad *grad, const char *word, struct problem *problem)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < grad->output_count; i++) {
        const char *name = callee_output_name(&grad->callee, i);
        struct value value = {0};
        akg_parameter parameter = {.name = name, .kind = AKG_PARAMETER_TENSOR, .rank = -1};
        if (!grad->outputs[i] || strlen(name) != length || strncmp(name, word, length) != 0 ||
            word[length] != '=')
            continue;
        parameter.dtype = akg_tensor_dtype(grad->outputs[i]);
        if (!value_parse(word + length + 1, &parameter, value_stream(grad->options->seed, 1000 + i, 0),
                         &value, problem))
            return false;
        if (grad->output_gradients[i]) {
            value_free(&value);
            return problem_set(problem, AKG_ERROR_USAGE, "--dout: '%.60s' is given twice", name);
        }
        grad->output_gradients[i] = akg_tensor_retain(value.tensor);
        value_free(&value);
        return check_output_gradient(grad, i, problem) &&
               arguments_move_tensor(&grad->output_gradients[i], grad->options->device, problem);
    }
    return unknown_output(grad, word, problem);
}

/* Indices and truth values have no gradients. */
static bool has_float_output(const struct grad *grad, struct problem *problem)
{
    for (size_t i = 0; i < grad->output_count; i++)
        if (grad->outputs[i] && wrt_is_float(grad->outputs[i]))
            return true;
    problem_set(problem, AKG_ERROR_USAGE, "'%.100s' returns no tensor of floats, so there are no gradients",
                callee_name(&grad->callee));
    return problem_help(problem, "gradients are of tensors of float dtypes");
}

/* ---- computing -------------------------------------------------------------------------------------- */

static bool call(struct grad *grad, struct problem *problem)
{
    if (!callee_register(&grad->callee, &grad->program, problem))
        return false;
    akg_status status = akg_tape_create(grad->callee.registry, &grad->tape);
    if (status != AKG_OK)
        return problem_library(problem, status, NULL);
    if (!choose_inputs(grad, problem) ||
        !callee_call(&grad->callee, grad->tape, grad->arguments.items, grad->arguments.count, &grad->outputs,
                     &grad->output_count, problem))
        return false;
    grad->output_gradients = calloc(grad->output_count + 1, sizeof *grad->output_gradients);
    if (!grad->output_gradients)
        return problem_memory(problem);
    return has_float_output(grad, problem);
}

/* Zeros where no output depends on an input. */
static bool fill_missing(struct wanted *wanted, struct problem *problem)
{
    akg_status status = AKG_OK;
    if (!wanted->gradient)
        status = akg_tensor_create(akg_tensor_dtype(wanted->tensor), akg_tensor_rank(wanted->tensor),
                                   akg_tensor_shape(wanted->tensor), &wanted->gradient);
    return status == AKG_OK || problem_library(problem, status, NULL);
}

/* Differentiates by `inputs` into `gradients`, both as long as grad->wanted. */
static bool differentiate_into(struct grad *grad, akg_tensor **roots, akg_tensor **inputs,
                               akg_tensor **gradients, struct problem *problem)
{
    akg_tensor **root_gradients = roots + grad->output_count;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = AKG_OK;
    size_t root_count = 0;
    for (size_t i = 0; i < grad->output_count; i++)
        if (grad->outputs[i] && akg_tensor_requires_grad(grad->outputs[i])) {
            roots[root_count] = grad->outputs[i];
            root_gradients[root_count++] = grad->output_gradients[i];
        }
    for (size_t i = 0; i < grad->wanted_count; i++)
        inputs[i] = grad->wanted[i].tensor;
    if (root_count)
        status = akg_gradients(grad->tape, roots, root_gradients, root_count, inputs, grad->wanted_count,
                               NULL, gradients, &diagnostics);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    for (size_t i = 0; i < grad->wanted_count; i++)
        grad->wanted[i].gradient = gradients[i];
    for (size_t i = 0; i < grad->wanted_count; i++)
        if (!fill_missing(&grad->wanted[i], problem) ||
            !arguments_fetch(&grad->wanted[i].gradient, 1, problem))
            return false;
    return arguments_fetch(grad->outputs, grad->output_count, problem);
}

static bool differentiate(struct grad *grad, struct problem *problem)
{
    akg_tensor **roots = calloc(2 * grad->output_count + 1, sizeof(akg_tensor *));
    akg_tensor **inputs = calloc(2 * grad->wanted_count + 1, sizeof(akg_tensor *));
    bool good = roots && inputs;
    if (!good)
        problem_memory(problem);
    for (size_t i = 0; good && i < grad->options->dout_count; i++)
        good = read_output_gradient(grad, grad->options->douts[i], problem);
    good =
        good && differentiate_into(grad, roots, inputs, inputs ? inputs + grad->wanted_count : NULL, problem);
    free(roots);
    free(inputs);
    return good;
}

/* ---- printing ---------------------------------------------------------------------------------------- */

static void print_json(const struct grad *grad)
{
    const akg_diagnostics *lists[] = {grad->program.warnings};
    printf("{\"kernel\": ");
    report_json_string(stdout, callee_name(&grad->callee));
    if (grad->options->value) {
        printf(", \"outputs\": [");
        for (size_t i = 0; i < grad->output_count; i++) {
            printf("%s", i ? ", " : "");
            report_tensor_json(callee_output_name(&grad->callee, i), grad->outputs[i]);
        }
        printf("]");
    }
    printf(", \"gradients\": [");
    for (size_t i = 0; i < grad->wanted_count; i++) {
        printf("%s", i ? ", " : "");
        report_tensor_json(grad->wanted[i].name, grad->wanted[i].gradient);
    }
    printf("], ");
    report_json_diagnostics(lists, 1);
    printf("}\n");
}

static bool print(const struct grad *grad, struct problem *problem)
{
    if (grad->options->json) {
        print_json(grad);
        return report_flush(problem);
    }
    for (size_t i = 0; grad->options->value && i < grad->output_count; i++)
        if (!report_tensor(callee_output_name(&grad->callee, i), grad->outputs[i], problem))
            return false;
    for (size_t i = 0; i < grad->wanted_count; i++)
        if (!report_tensor(grad->wanted[i].name, grad->wanted[i].gradient, problem))
            return false;
    return report_flush(problem);
}

static bool deliver(struct grad *grad, struct problem *problem)
{
    const char **names = calloc(grad->wanted_count + 1, sizeof *names);
    akg_tensor **tensors = calloc(grad->wanted_count + 1, sizeof *tensors);
    bool good = (names && tensors) || problem_memory(problem);
    for (size_t i = 0; good && i < grad->wanted_count; i++) {
        names[i] = grad->wanted[i].name;
        tensors[i] = grad->wanted[i].gradient;
    }
    good = good &&
           (!grad->options->out ||
            output_prepare(grad->options->out, names, tensors, grad->wanted_count, &grad->files, problem)) &&
           print(grad, problem) && output_commit(&grad->files, problem);
    free(names);
    free(tensors);
    return good;
}

/* ---- the subcommand ----------------------------------------------------------------------------------- */

static void release(struct grad *grad)
{
    for (size_t i = 0; i < grad->output_count; i++) {
        if (grad->outputs)
            akg_tensor_release(grad->outputs[i]);
        if (grad->output_gradients)
            akg_tensor_release(grad->output_gradients[i]);
    }
    for (size_t i = 0; i < grad->wanted_count; i++) {
        akg_tensor_release(grad->wanted[i].gradient);
        free(grad->wanted[i].name);
    }
    free(grad->outputs);
    free(grad->output_gradients);
    free(grad->wanted);
    akg_tape_release(grad->tape);
    callee_close(&grad->callee);
}

bool command_grad(const struct options *options, struct problem *problem)
{
    struct grad grad = {.options = options};
    bool good = program_open(options, &grad.program, problem) &&
                callee_open(options, &grad.program, &grad.callee, problem);
    if (good)
        report_warnings(options, grad.program.warnings);
    good = good && callee_bind(&grad.callee, &grad.program, options->seed, &grad.arguments, problem) &&
           arguments_move(&grad.arguments, options->device, problem) && call(&grad, problem) &&
           differentiate(&grad, problem) && deliver(&grad, problem);
    output_discard(&grad.files);
    release(&grad);
    arguments_free(&grad.arguments);
    program_close(&grad.program, problem);
    return good;
}

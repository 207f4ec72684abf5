/*
 * report.c: what `akgrun check` says of a kernel: its signature with symbolic dims, what a call must satisfy
 * and, if asked for, the certificate (certificate.h).
 *
 * Signature and preconditions are read off the kernels that jit_compile made. These are shared by threads and
 * not written to: for the certificate, the kernel is elaborated and analysed anew.
 */
#include <stdio.h>
#include <string.h>

#include "../dsl/builtins.h"
#include "../dsl/types.h"
#include "pipeline.h"
#include "report_open.h"
#include "report_private.h"

/* float32, or T, T1, ... for a dtype that stayed open. */
static void report_dtype(struct report *report, const struct ir_buffer *buffer)
{
    akg_dtype class = report->kernel->general_result.type_class[buffer->index];
    int at = 0;

    if (class == AKG_DTYPE_COUNT) {
        text_string(&report->out, dtype_table[buffer->dtype].name);
        return;
    }
    while (at < report->class_count && report->classes[at] != class)
        at++;
    if (at == report->class_count)
        report->classes[report->class_count++] = class;
    text_char(&report->out, 'T');
    if (at)
        text_format(&report->out, "%d", at);
}

static const struct ir_buffer *report_same_shape(const struct report *report, const struct ir_buffer *buffer)
{
    for (int i = 0; i < report->ir->buffers.count; i++) {
        const struct ir_buffer *other = report->ir->buffers.items[i];
        bool same = other != buffer && ir_buffer_is_input(other) && other->rank == buffer->rank;
        for (int k = 0; same && k < buffer->rank; k++)
            same = ir_expr_equal(other->shape[k], buffer->shape[k]);
        if (same)
            return other;
    }
    return NULL;
}

struct report_mention {
    const char *name;
    bool found;
};

static bool report_mention_visit(struct ir_expr *expr, void *context)
{
    struct report_mention *mention = context;
    mention->found |= expr->kind == IR_SYMBOL && strcmp(expr->symbol->name, mention->name) == 0;
    return !mention->found;
}

/* Whether a dim of the tensor appears in a precondition: then its shape must be shown. */
static bool report_is_mentioned(const struct report *report, const struct ir_buffer *buffer)
{
    const struct ir_kernel *demands = report->kernel->default_kernel;

    for (int i = 0; i < demands->preconditions.count; i++)
        for (int k = 0; k < buffer->rank; k++) {
            struct report_mention mention = {.name = NULL};
            if (buffer->shape[k]->kind != IR_SYMBOL)
                continue;
            mention.name = buffer->shape[k]->symbol->name;
            ir_expr_walk(demands->preconditions.items[i].condition, report_mention_visit, &mention);
            if (mention.found)
                return true;
        }
    return false;
}

static bool report_rank_is_free(const struct report *report, const struct ir_buffer *buffer)
{
    const struct ir_buffer *source = buffer;

    if (!report->kernel->rank_free)
        return false;
    if (buffer->role == IR_OUTPUT)
        source = report_same_shape(report, buffer);
    if (!source || report_is_mentioned(report, buffer))
        return false;
    for (int i = 0; i < report->kernel->function->parameter_count; i++)
        if (strcmp(report->kernel->function->parameters[i].name, source->name) == 0)
            return report->kernel->general[i].kind == DSL_TENSOR && report->kernel->general[i].rank < 0;
    return false;
}

static void report_tensor(struct report *report, const struct ir_buffer *buffer)
{
    report_dtype(report, buffer);
    if (report_rank_is_free(report, buffer)) {
        text_string(&report->out, "[...]");
        return;
    }
    text_char(&report->out, '[');
    for (int k = 0; k < buffer->rank; k++) {
        if (k)
            text_string(&report->out, ", ");
        report_put_expr(report, buffer->shape[k], 0);
    }
    text_char(&report->out, ']');
}

/* The tensor of a parameter; of a variadic one or a tuple xs number `index`, which is called xs_0, xs_1 ...;
 * NULL for an attribute. */
static const struct ir_buffer *report_parameter_buffer(const struct report *report,
                                                       const struct ast_parameter *parameter, int index)
{
    size_t length = strlen(parameter->name);
    char suffix[16] = "";

    if (parameter->variadic || parameter->tuple)
        snprintf(suffix, sizeof suffix, "_%d", index);

    for (int i = 0; i < report->ir->parameters.count; i++) {
        const struct ir_parameter *row = &report->ir->parameters.items[i];
        if (strncmp(row->name, parameter->name, length) == 0 && strcmp(row->name + length, suffix) == 0)
            return row->buffer;
    }
    return NULL;
}

static void report_default(struct text *out, const struct ast_expr *initial)
{
    if (!initial)
        return;
    text_string(out, " = ");
    ast_print_expr(out, initial);
}

/* The dtype that an annotation gives an attribute; AKG_DTYPE_COUNT: none, or the parameter is no number. */
static akg_dtype report_attribute_dtype(const struct ast_parameter *parameter,
                                        const struct dsl_argument *argument)
{
    int builtin = elaborate_attribute_builtin(parameter);

    if (!builtin_is_dtype(builtin) || (argument->kind != DSL_INT && argument->kind != DSL_FLOAT))
        return AKG_DTYPE_COUNT;
    return (akg_dtype)(builtin - BUILTIN_DTYPE);
}

/* What kind of value a parameter takes: of an attribute with a dtype, that of the dtype, not that of its
 * default. */
static const char *report_kind(const struct ast_parameter *parameter, const struct dsl_argument *argument)
{
    static const char *const names[] = {"None", "tensor", "int", "float", "bool", "str", "tuple", "tensors"};
    akg_dtype dtype = report_attribute_dtype(parameter, argument);

    if (argument->kind == DSL_INT && elaborate_attribute_builtin(parameter) == BUILTIN_FLOAT)
        return names[DSL_FLOAT];
    if (dtype == AKG_DTYPE_COUNT)
        return names[argument->kind];
    return names[dtype_is_float(dtype) ? DSL_FLOAT : dtype == AKG_BOOL ? DSL_BOOL : DSL_INT];
}

static const char *report_attribute_type(const struct ast_parameter *parameter,
                                         const struct dsl_argument *argument)
{
    akg_dtype dtype = report_attribute_dtype(parameter, argument);

    return dtype == AKG_DTYPE_COUNT ? report_kind(parameter, argument) : dtype_table[dtype].name;
}

static void report_tuple(struct report *report, const struct ast_parameter *parameter)
{
    for (int i = 0; i < parameter->tuple; i++) {
        const struct ir_buffer *buffer = report_parameter_buffer(report, parameter, i);
        text_string(&report->out, i ? ", " : "(");
        if (buffer)
            report_tensor(report, buffer);
    }
    text_char(&report->out, ')');
}

static void report_parameter(struct report *report, int index)
{
    const struct ast_parameter *parameter = &report->kernel->function->parameters[index];
    const struct dsl_argument *general = &report->kernel->general[index];
    const struct ir_buffer *buffer = report_parameter_buffer(report, parameter, 0);

    text_format(&report->out, "%s%s: ", parameter->variadic ? "*" : "", parameter->name);
    if (parameter->tuple)
        report_tuple(report, parameter);
    else if (buffer)
        report_tensor(report, buffer);
    else
        text_string(&report->out, report_attribute_type(parameter, general));
    report_default(&report->out, parameter->initial);
}

/* "T is float32 or float64", where an annotation leaves only some dtypes. */
static void report_dtypes(struct report *report)
{
    for (int i = 0; i < report->class_count; i++) {
        unsigned allowed = 0;
        int listed = 0;
        for (int k = 0; k < report->ir->buffers.count; k++)
            if (report->kernel->general_result.type_class[k] == report->classes[i])
                allowed = report->kernel->general_result.allowed[k];
        if (allowed == TYPES_ANY || allowed == TYPES_NUMBER || allowed == TYPES_FLOAT ||
            allowed == TYPES_INTEGER || allowed == (TYPES_INTEGER | TYPES_BOOL))
            continue;
        text_string(&report->out, "      where T");
        if (i)
            text_format(&report->out, "%d", i);
        for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
            if (allowed & 1u << dtype)
                text_format(&report->out, "%s%s", listed++ ? " or " : " is ", dtype_table[dtype].name);
    }
}

static void report_text(struct report *report)
{
    const struct ir_kernel *ir = report->ir, *demands = report->kernel->default_kernel;
    int listed = 0;

    text_format(&report->out, "%s(", report->kernel->function->name);
    for (int i = 0; i < report->kernel->function->parameter_count; i++) {
        if (i)
            text_string(&report->out, ", ");
        report_parameter(report, i);
    }
    text_string(&report->out, ") -> ");
    for (int i = 0; i < ir->results.count; i++) {
        if (i)
            text_string(&report->out, ", ");
        text_format(&report->out, "%s: ", ir->results.items[i].name);
        report_tensor(report, ir->results.items[i].buffer);
    }
    report_dtypes(report);
    for (int i = 0; i < demands->preconditions.count; i++) {
        text_string(&report->out, listed++ ? ", " : "      requires ");
        report_put_demand(report, &demands->preconditions.items[i]);
    }
    text_char(&report->out, '\n');
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void report_json_tensor(struct report *report, const struct ir_buffer *buffer)
{
    struct text saved = report_json_begin(report);
    report_tensor(report, buffer);
    report_json_end(report, saved);
}

static void report_json(struct report *report)
{
    const struct ir_kernel *ir = report->ir, *demands = report->kernel->default_kernel;
    struct text *out = &report->out;

    text_string(out, "{\"kernel\": ");
    text_json(out, report->kernel->function->name);
    text_string(out, ", \"parameters\": [");
    for (int i = 0; i < report->kernel->function->parameter_count; i++) {
        const struct ast_parameter *parameter = &report->kernel->function->parameters[i];
        const struct dsl_argument *general = &report->kernel->general[i];
        const struct ir_buffer *buffer = report_parameter_buffer(report, parameter, 0);
        akg_dtype dtype = report_attribute_dtype(parameter, general);
        text_string(out, i ? ", {\"name\": " : "{\"name\": ");
        text_json(out, parameter->name);
        text_format(out, ", \"kind\": \"%s\"",
                    parameter->variadic || parameter->tuple ? "tensors" : report_kind(parameter, general));
        text_format(out, ", \"optional\": %s", parameter->initial ? "true" : "false");
        if (buffer) {
            text_string(out, ", \"type\": ");
            report_json_tensor(report, buffer);
        } else if (dtype != AKG_DTYPE_COUNT) {
            text_format(out, ", \"type\": \"%s\"", dtype_table[dtype].name);
        }
        text_char(out, '}');
    }
    text_string(out, "], \"outputs\": [");
    for (int i = 0; i < ir->results.count; i++) {
        text_string(out, i ? ", {\"name\": " : "{\"name\": ");
        text_json(out, ir->results.items[i].name);
        text_string(out, ", \"type\": ");
        report_json_tensor(report, ir->results.items[i].buffer);
        text_format(out, ", \"in_place\": %s}",
                    ir->results.items[i].buffer->role == IR_INOUT ? "true" : "false");
    }
    text_string(out, "], \"requires\": [");
    for (int i = 0; i < demands->preconditions.count; i++) {
        text_string(out, i ? ", " : "");
        struct text saved = report_json_begin(report);
        report_put_demand(report, &demands->preconditions.items[i]);
        report_json_end(report, saved);
    }
    text_format(out, "], \"graph\": %s", report->kernel->function->is_graph ? "true" : "false");
    if (report->certificate) {
        text_string(out, ", \"certificate\": ");
        report_put_json(report);
    }
    text_string(out, "}\n");
}

/* ---- the certificate ------------------------------------------------------------------- */

struct report_request {
    struct akg_kernel *kernel;
    akg_format format;
    akg_detail detail;
    struct arena arena; /* of the kernel that is made for the certificate */
    akg_diagnostics *diagnostics;
    char **text;
};

/* The kernel whose preconditions are reported, once more; escapes when memory runs out. */
static struct certificate *report_certificate(struct report_request *request)
{
    const struct akg_kernel *kernel = request->kernel;
    struct elaborate_result result = {0};
    struct jit_sites sites = {.rows = {0}};

    pipeline_specialise(&request->arena, kernel->module->tree, kernel->function, kernel->default_arguments,
                        true, &result, request->diagnostics);
    if (!result.kernel)
        return NULL;
    sites_number(result.kernel, &sites);
    return certificate_make(result.kernel,
                            request->detail == AKG_DETAIL_PROOF || request->format == AKG_FORMAT_JSON);
}

static akg_status report_print(struct report_request *request, struct certificate *certificate)
{
    struct akg_kernel *kernel = request->kernel;
    struct report report = {.kernel = kernel, .ir = kernel->general_kernel, .certificate = certificate};

    report.shown_capacity = report.ir->dims.count + kernel->default_kernel->dims.count;
    report.classes = memory_zeroed((size_t)report.ir->buffers.count, sizeof *report.classes);
    report.shown = memory_zeroed((size_t)report.shown_capacity, sizeof *report.shown);
    text_init(&report.out);
    if (!report.classes || !report.shown)
        report.out.failed = true;
    else if (request->format == AKG_FORMAT_JSON)
        report_json(&report);
    else
        report_text(&report);
    if (!report.out.failed && certificate && request->format != AKG_FORMAT_JSON)
        (request->detail == AKG_DETAIL_PROOF ? report_put_proof : report_put_summary)(&report);
    *request->text = text_take(&report.out);
    memory_free(report.classes);
    memory_free(report.shown);
    return *request->text ? AKG_OK : AKG_ERROR_MEMORY;
}

/* With the arena and the diagnostics at hand. */
static akg_status report_guarded(struct report_request *request)
{
    struct certificate *certificate;
    jmp_buf escape;

    if (setjmp(escape))
        return AKG_ERROR_MEMORY;
    request->arena.escape = &escape;
    diagnostics_set_escape(request->diagnostics, &escape);
    certificate = report_certificate(request);
    if (!certificate)
        return AKG_ERROR_INTERNAL;
    return report_print(request, certificate);
}

akg_status akg_kernel_report_detail(akg_kernel *kernel, akg_format format, akg_detail detail, char **text)
{
    struct report_request request = {.kernel = kernel, .format = format, .detail = detail, .text = text};
    akg_status status = AKG_ERROR_MEMORY;

    if (!text)
        return AKG_ERROR_USAGE;
    *text = NULL;
    if (kernel && (kernel->rank_open || kernel->general_result.is_open))
        return report_open(kernel, format, text);
    if (!kernel || !kernel->general_kernel ||
        (format != AKG_FORMAT_TEXT && format != AKG_FORMAT_COLOR && format != AKG_FORMAT_JSON) ||
        (detail != AKG_DETAIL_SIGNATURE && detail != AKG_DETAIL_SUMMARY && detail != AKG_DETAIL_PROOF))
        return AKG_ERROR_USAGE;
    if (detail == AKG_DETAIL_SIGNATURE)
        return report_print(&request, NULL);
    request.diagnostics = diagnostics_create("", NULL, 0);
    arena_init(&request.arena, NULL);
    if (request.diagnostics) {
        status = report_guarded(&request);
        diagnostics_set_escape(request.diagnostics, NULL);
    }
    akg_diagnostics_free(request.diagnostics);
    arena_free(&request.arena);
    return status;
}

akg_status akg_kernel_report(akg_kernel *kernel, akg_format format, char **text)
{
    return akg_kernel_report_detail(kernel, format, AKG_DETAIL_SIGNATURE, text);
}

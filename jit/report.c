/*
 * report.c: what `akgrun check` says of a kernel: its signature with symbolic dims, and
 * what a call must satisfy. Reads the general kernel; computes nothing of its own.
 */
#include <stdio.h>
#include <string.h>

#include "../dsl/types.h"
#include "module.h"
#include "report_open.h"

struct report {
    const struct akg_kernel *kernel;
    const struct ir_kernel *ir;
    struct text out;
    akg_dtype *classes; /* type variables in order of appearance; room for one per buffer */
    int class_count;
    const char **shown; /* dims, in the order in which they were shown */
    int shown_count, shown_capacity;
};

/* Length of the name of a dim without the suffix that tells it from others of the same name (K_1, for K was
 * taken). */
static size_t report_base_length(const struct report *report, const char *name)
{
    const char *mark = strrchr(name, '_');
    size_t length = mark ? (size_t)(mark - name) : 0;

    if (length == 0 || strspn(mark + 1, "0123456789") != strlen(mark + 1))
        return strlen(name);
    for (int i = 0; i < report->ir->dims.count; i++) {
        const char *other = report->ir->dims.items[i]->name;
        if (strlen(other) == length && strncmp(other, name, length) == 0)
            return length;
    }
    return strlen(name);
}

/* Dims that the program calls alike are told apart by primes, in the order in which they are shown: K, K'. */
static void report_dim(struct report *report, const char *name)
{
    size_t length = report_base_length(report, name);
    int primes = 0, i;

    for (i = 0; i < report->shown_count && strcmp(report->shown[i], name) != 0; i++) {
        const char *other = report->shown[i];
        primes += report_base_length(report, other) == length && strncmp(other, name, length) == 0;
    }
    if (i == report->shown_count && i < report->shown_capacity)
        report->shown[report->shown_count++] = name;
    text_append(&report->out, name, length);
    text_repeat(&report->out, '\'', primes);
}

/* How tightly an operation binds, as in Python; 0 where it is written as a call. */
static int report_precedence(enum operation operation)
{
    switch (operation) {
    case OP_OR:
        return 1;
    case OP_AND:
        return 2;
    case OP_NOT:
        return 3;
    case OP_LT:
    case OP_LE:
    case OP_GT:
    case OP_GE:
    case OP_EQ:
    case OP_NE:
        return 4;
    case OP_BITOR:
        return 5;
    case OP_BITXOR:
        return 6;
    case OP_BITAND:
        return 7;
    case OP_SHL:
    case OP_SHR:
        return 8;
    case OP_ADD:
    case OP_SUB:
        return 9;
    case OP_MUL:
    case OP_TRUEDIV:
    case OP_FLOORDIV:
    case OP_MOD:
        return 10;
    case OP_NEG:
        return 11;
    case OP_POW:
        return 12;
    default:
        return 0;
    }
}

static void report_expr(struct report *report, const struct ir_expr *expr, int outer);

static void report_operation(struct report *report, const struct ir_expr *expr, int outer)
{
    struct text *out = &report->out;
    int precedence = report_precedence(expr->operation);

    if (precedence == 0) {
        text_format(out, "%s(", operation_table[expr->operation].text);
        for (int i = 0; i < expr->count; i++) {
            if (i)
                text_string(out, ", ");
            report_expr(report, expr->operands[i], 0);
        }
        text_char(out, ')');
        return;
    }
    if (precedence < outer)
        text_char(out, '(');
    if (expr->count == 1) {
        text_string(out, expr->operation == OP_NOT ? "not " : "-");
        report_expr(report, expr->operands[0], precedence);
    } else {
        report_expr(report, expr->operands[0], precedence + (precedence == 4));
        text_format(out, " %s ", operation_table[expr->operation].text);
        report_expr(report, expr->operands[1], precedence + 1);
    }
    if (precedence < outer)
        text_char(out, ')');
}

/* As the program would write it; `outer` is how tightly what is around it binds. */
static void report_expr(struct report *report, const struct ir_expr *expr, int outer)
{
    switch (expr->kind) {
    case IR_INTEGER:
        text_format(&report->out, "%lld", (long long)expr->integer);
        return;
    case IR_REAL:
        text_double(&report->out, expr->real);
        return;
    case IR_SYMBOL:
        if (expr->symbol->kind == IR_SYMBOL_DIM)
            report_dim(report, expr->symbol->name);
        else
            text_string(&report->out, expr->symbol->name);
        return;
    case IR_LOAD:
        text_string(&report->out, expr->access.buffer->name);
        return;
    case IR_OPERATION:
        if (expr->operation == OP_CAST)
            report_expr(report, expr->operands[0], outer);
        else
            report_operation(report, expr, outer);
        return;
    }
}

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
        bool same = other != buffer && (other->role == IR_INPUT || other->role == IR_INOUT) &&
                    other->rank == buffer->rank;
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
        report_expr(report, buffer->shape[k], 0);
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

static const char *report_attribute_type(const struct dsl_argument *argument)
{
    static const char *const names[] = {"None", "tensor", "int", "float", "bool", "str", "tuple", "tensors"};
    return names[argument->kind];
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
        text_string(&report->out, report_attribute_type(general));
    report_default(&report->out, parameter->initial);
}

static void report_condition(struct report *report, const struct ir_precondition *precondition)
{
    report_expr(report, precondition->condition, 0);
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
        report_condition(report, &demands->preconditions.items[i]);
    }
    text_char(&report->out, '\n');
}

/* ---- JSON ---------------------------------------------------------------------------- */

static void report_json_string(struct report *report, void (*print)(struct report *, const void *),
                               const void *what)
{
    struct text saved = report->out;

    text_init(&report->out);
    print(report, what);
    if (report->out.failed)
        saved.failed = true;
    text_json(&saved, report->out.data ? report->out.data : "");
    text_free(&report->out);
    report->out = saved;
}

static void report_print_tensor(struct report *report, const void *buffer)
{
    report_tensor(report, buffer);
}

static void report_print_condition(struct report *report, const void *precondition)
{
    report_condition(report, precondition);
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
        const struct ir_buffer *buffer = report_parameter_buffer(report, parameter, 0);
        text_string(out, i ? ", {\"name\": " : "{\"name\": ");
        text_json(out, parameter->name);
        text_format(out, ", \"kind\": \"%s\"",
                    parameter->variadic || parameter->tuple
                        ? "tensors"
                        : report_attribute_type(&report->kernel->general[i]));
        text_format(out, ", \"optional\": %s", parameter->initial ? "true" : "false");
        if (buffer) {
            text_string(out, ", \"type\": ");
            report_json_string(report, report_print_tensor, buffer);
        }
        text_char(out, '}');
    }
    text_string(out, "], \"outputs\": [");
    for (int i = 0; i < ir->results.count; i++) {
        text_string(out, i ? ", {\"name\": " : "{\"name\": ");
        text_json(out, ir->results.items[i].name);
        text_string(out, ", \"type\": ");
        report_json_string(report, report_print_tensor, ir->results.items[i].buffer);
        text_format(out, ", \"in_place\": %s}",
                    ir->results.items[i].buffer->role == IR_INOUT ? "true" : "false");
    }
    text_string(out, "], \"requires\": [");
    for (int i = 0; i < demands->preconditions.count; i++) {
        text_string(out, i ? ", " : "");
        report_json_string(report, report_print_condition, &demands->preconditions.items[i]);
    }
    text_format(out, "], \"graph\": %s}\n", report->kernel->function->is_graph ? "true" : "false");
}

akg_status akg_kernel_report(akg_kernel *kernel, akg_format format, char **text)
{
    struct report report = {.kernel = kernel};

    if (!text)
        return AKG_ERROR_USAGE;
    *text = NULL;
    if (kernel && kernel->rank_open)
        return report_open(kernel, format, text);
    if (!kernel || !kernel->general_kernel ||
        (format != AKG_FORMAT_TEXT && format != AKG_FORMAT_COLOR && format != AKG_FORMAT_JSON))
        return AKG_ERROR_USAGE;
    report.ir = kernel->general_kernel;
    report.shown_capacity = report.ir->dims.count + kernel->default_kernel->dims.count;
    report.classes = memory_zeroed((size_t)report.ir->buffers.count, sizeof *report.classes);
    report.shown = memory_zeroed((size_t)report.shown_capacity, sizeof *report.shown);
    text_init(&report.out);
    if (!report.classes || !report.shown)
        report.out.failed = true;
    else if (format == AKG_FORMAT_JSON)
        report_json(&report);
    else
        report_text(&report);
    *text = text_take(&report.out);
    memory_free(report.classes);
    memory_free(report.shown);
    return *text ? AKG_OK : AKG_ERROR_MEMORY;
}

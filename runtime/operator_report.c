/*
 * operator_report.c: akg_operator_report: an operator as text, for people: its signature, then its kernels.
 *
 * Kernels of modules have a report of their own (akg_kernel_report).
 */
#include "operator_native.h"

#include "../base/text.h"

/* "in", "in[2]", "in[2 or more]", each with "= None" where it may be left out. */
static void report_operand(struct text *text, const akg_operand *operand)
{
    text_string(text, operand->name);
    if (operand->at_least)
        text_format(text, "[%zu or more]", operand->count);
    else if (operand->count > 1)
        text_format(text, "[%zu]", operand->count);
    if (operand->optional)
        text_string(text, " = None");
}

static void report_operands(struct text *text, const akg_operand *operands, int count)
{
    for (int i = 0; i < count; i++) {
        if (i)
            text_string(text, ", ");
        report_operand(text, &operands[i]);
    }
}

static void report_attribute(struct text *text, const akg_attribute *attribute)
{
    text_format(text, "%s: %s", attribute->name, attribute_kind_text(attribute->kind));
    if (!attribute->initial)
        return;
    text_string(text, " = ");
    attribute_print(text, attribute->initial);
}

static void report_signature(struct text *text, const akg_operator *callee)
{
    const struct native *native = callee->native;

    text_format(text, "%s(", callee->name);
    report_operands(text, native->inputs, native->input_count);
    for (int i = 0; i < native->attribute_count; i++) {
        if (i || native->input_count)
            text_string(text, ", ");
        report_attribute(text, &native->attributes[i]);
    }
    text_string(text, ") -> ");
    report_operands(text, native->outputs, native->output_count);
    text_char(text, '\n');
}

static void report_kernels(struct text *text, const akg_operator *callee)
{
    const struct native_kernel *kernel = atomic_load(&callee->native->kernels);

    for (; kernel; kernel = atomic_load(&kernel->next)) {
        text_format(text, "    kernel %s: %s", kernel->about.name,
                    kernel->about.condition ? kernel->about.condition : "always");
        if (kernel->about.priority)
            text_format(text, ", priority %d", kernel->about.priority);
        text_char(text, '\n');
    }
}

akg_status akg_operator_report(const akg_operator *callee, char **text)
{
    struct text out;

    if (!text)
        return AKG_ERROR_USAGE;
    *text = NULL;
    if (!callee)
        return AKG_ERROR_USAGE;
    if (callee->kernel)
        return akg_kernel_report(callee->kernel, AKG_FORMAT_TEXT, text);
    text_init(&out);
    report_signature(&out, callee);
    report_kernels(&out, callee);
    *text = text_take(&out);
    text_free(&out);
    return *text ? AKG_OK : AKG_ERROR_MEMORY;
}

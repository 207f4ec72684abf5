/*
 * report_open.c: the report on a graph function of which only a call tells the ranks: names are all there is
 * to say.
 */
#include "report_open.h"

#include "../base/text.h"

static void open_signature(struct text *out, const akg_kernel *kernel)
{
    akg_parameter parameter;

    text_format(out, "%s(", akg_kernel_name(kernel));
    for (size_t i = 0; akg_kernel_parameter(kernel, i, &parameter); i++)
        text_format(out, "%s%s%s%s", i ? ", " : "", parameter.kind == AKG_PARAMETER_VARIADIC ? "*" : "",
                    parameter.name, parameter.kind == AKG_PARAMETER_ATTRIBUTE ? "" : ": T[...]");
    text_string(out, ") -> ");
    for (size_t i = 0; i < akg_kernel_output_count(kernel); i++)
        text_format(out, "%s%s: T[...]", i ? ", " : "", akg_kernel_output_name(kernel, i));
}

akg_status report_open(const akg_kernel *kernel, akg_format format, char **text)
{
    struct text out;

    text_init(&out);
    if (format == AKG_FORMAT_JSON)
        text_format(&out, "{\"kernel\": \"%s\", \"signature\": \"", akg_kernel_name(kernel));
    open_signature(&out, kernel);
    if (format == AKG_FORMAT_JSON)
        text_string(&out, "\", \"parameters\": [], \"outputs\": [], \"requires\": [], \"graph\": true}\n");
    *text = text_take(&out);
    return *text ? AKG_OK : AKG_ERROR_MEMORY;
}

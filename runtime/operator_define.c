/*
 * operator_define.c: descriptions of operators written in C: checked, copied, registered.
 */
#include "operator_native.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "call.h"

enum { LONGEST_NAME = 100, LONGEST_CONDITION = 4000 };

/* What is being described. */
struct define {
    struct registration_batch *batch;
    struct arena *arena;
    const char *name;
    struct native *native;
};

static bool define_refuse(struct define *define, const char *format, const char *first, const char *second)
{
    const char *why = arena_format(define->arena, format, first, second);

    diagnostic_add(registration_list(define->batch), MSG_OPERATOR_DEFINITION, (struct span){0}, define->name,
                   why);
    return false;
}

static const char *define_copy(struct define *define, const char *text)
{
    return text ? arena_copy(define->arena, text, strlen(text)) : NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool name_is_valid(const char *name)
{
    size_t length = name ? strlen(name) : 0;

    if (!length || length > LONGEST_NAME || isdigit((unsigned char)*name))
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

/* Whether the name is one, and no other of the operator's. `what` it names: "input". */
static bool define_name(struct define *define, const char *what, const char *name)
{
    if (!name_is_valid(name))
        return define_refuse(define, "the name of an %s must be letters, digits and '_', not '%s'", what,
                             name ? name : "");
    if (native_input_index(define->native, name) >= 0 || native_output_index(define->native, name) >= 0 ||
        native_attribute_index(define->native, name) >= 0)
        return define_refuse(define, "two of its inputs, outputs and attributes are called '%s'%s", name, "");
    return true;
}

/* ---- inputs, outputs, attributes ------------------------------------------------------------------ */

static bool define_operands(struct define *define, const char *what, const akg_operand *from, size_t count,
                            const akg_operand **to, int *to_count)
{
    akg_operand *operands = arena_array(define->arena, akg_operand, count + 1);

    *to = operands;
    for (size_t i = 0; i < count; i++) {
        if (!define_name(define, what, from[i].name))
            return false;
        if (from[i].count > CALL_MAX_ITEMS)
            return define_refuse(define, "the %s '%s' holds too many tensors", what, from[i].name);
        operands[i] = from[i];
        operands[i].name = define_copy(define, from[i].name);
        operands[i].count = from[i].count ? from[i].count : 1;
        *to_count = (int)i + 1;
    }
    return true;
}

static bool define_default(struct define *define, akg_attribute *attribute)
{
    akg_argument converted, *copy;
    enum attribute_fit fit;

    if (!attribute->initial)
        return true;
    if (!call_arguments_are_there(attribute->initial, 1))
        return define_refuse(define, "the default of '%s' points nowhere%s", attribute->name, "");
    fit = attribute_convert(define->arena, attribute->kind, attribute->initial, &converted);
    if (fit != ATTRIBUTE_FITS) {
        attribute_refuse(registration_list(define->batch), attribute, attribute->initial, fit);
        return define_refuse(define, "the default of '%s' does not fit%s", attribute->name, "");
    }
    converted.name = attribute->name;
    copy = arena_new(define->arena, akg_argument);
    *copy = attribute_copy(define->arena, &converted);
    attribute->initial = copy;
    return true;
}

static bool define_attributes(struct define *define, const akg_attribute *from, size_t count)
{
    akg_attribute *attributes = arena_array(define->arena, akg_attribute, count + 1);

    define->native->attributes = attributes;
    for (size_t i = 0; i < count; i++) {
        if (!define_name(define, "attribute", from[i].name))
            return false;
        if (!attribute_kind_is_valid(from[i].kind))
            return define_refuse(define, "the attribute '%s' is of a kind that does not exist%s",
                                 from[i].name, "");
        attributes[i] = from[i];
        attributes[i].name = define_copy(define, from[i].name);
        if (!define_default(define, &attributes[i]))
            return false;
        define->native->attribute_count = (int)i + 1;
    }
    return true;
}

/* How outputs become known without a function. */
static bool define_like(struct define *define, const akg_operator_definition *from)
{
    struct native *native = define->native;

    if (native->infer || native->output_count == 0)
        return true;
    native->like = from->like ? native_input_index(native, from->like) : 0;
    if (native->like < 0)
        return define_refuse(define, "its outputs are to be like '%s', which is no input%s", from->like, "");
    if (native->input_count == 0)
        return define_refuse(define, "without inputs it needs a function 'infer'%s%s", "", "");
    if (native->inputs[native->like].optional)
        return define_refuse(define, "its outputs are to be like '%s', which may be left out%s",
                             native->inputs[native->like].name, "");
    return true;
}

/* ---- kernels ----------------------------------------------------------------------------------------- */

static struct native_kernel *define_kernel(struct define *define, const akg_kernel_definition *from)
{
    struct native_kernel *kernel = arena_new(define->arena, struct native_kernel);
    const char *wrong = NULL;

    if (!name_is_valid(from->name)) {
        define_refuse(define, "the name of a %s must be letters, digits and '_', not '%s'", "kernel",
                      from->name ? from->name : "");
        return NULL;
    }
    if (!from->compute) {
        define_refuse(define, "kernel '%s' has no function 'compute'%s", from->name, "");
        return NULL;
    }
    kernel->about = *from;
    kernel->about.name = define_copy(define, from->name);
    kernel->about.condition = define_copy(define, from->condition);
    if (from->condition && strlen(from->condition) > LONGEST_CONDITION)
        wrong = "it is too long";
    else if (from->condition)
        kernel->match = match_parse(define->arena, define->native, kernel->about.condition, &wrong);
    if (!wrong)
        return kernel;
    struct diagnostic_entry *entry =
        diagnostic_add(registration_list(define->batch), MSG_KERNEL_CONDITION, (struct span){0},
                       kernel->about.name, define->name, wrong);
    diagnostic_note(entry, "note: the condition is: %s", kernel->about.condition);
    return NULL;
}

static bool define_refuse_kernel(const akg_operator *callee, const struct native_kernel *kernel,
                                 akg_diagnostics *list)
{
    diagnostic_add(list, MSG_KERNEL_TWICE, (struct span){0}, callee->name, kernel->about.name);
    return false;
}

bool native_kernels_differ(const akg_operator *callee, const struct native_kernel *first,
                           const struct native_kernel *second, akg_diagnostics *list)
{
    return strcmp(first->about.name, second->about.name) != 0 || define_refuse_kernel(callee, second, list);
}

bool native_kernel_is_free(const akg_operator *callee, const struct native_kernel *kernel,
                           akg_diagnostics *list)
{
    const struct native_kernel *at = atomic_load(&callee->native->kernels);

    for (; at; at = atomic_load(&at->next))
        if (!native_kernels_differ(callee, at, kernel, list))
            return false;
    return true;
}

void native_append_kernel(akg_operator *callee, struct native_kernel *kernel)
{
    _Atomic(struct native_kernel *) *end = &callee->native->kernels;

    while (atomic_load(end))
        end = &atomic_load(end)->next;
    atomic_store(end, kernel);
}

static bool define_kernels(struct define *define, akg_operator *callee, const akg_operator_definition *from)
{
    for (size_t i = 0; i < from->kernel_count; i++) {
        struct native_kernel *kernel = define_kernel(define, &from->kernels[i]);
        if (!kernel || !native_kernel_is_free(callee, kernel, registration_list(define->batch)))
            return false;
        native_append_kernel(callee, kernel);
    }
    return true;
}

/* ---- registering ----------------------------------------------------------------------------------------
 */

static bool define_all(struct define *define, akg_operator *callee, const akg_operator_definition *from)
{
    struct native *native = define->native;

    return define_operands(define, "input", from->inputs, from->input_count, &native->inputs,
                           &native->input_count) &&
           define_attributes(define, from->attributes, from->attribute_count) &&
           define_operands(define, "output", from->outputs, from->output_count, &native->outputs,
                           &native->output_count) &&
           define_like(define, from) && define_kernels(define, callee, from);
}

static akg_status define_fill(struct registration_batch *batch, struct registration *registration,
                              const void *source)
{
    const akg_operator_definition *from = source;
    akg_operator *callee = &registration->callee;
    struct define define = {.batch = batch, .arena = &registration->arena};

    define.name = define_copy(&define, from->name);
    define.native = callee->native = arena_new(define.arena, struct native);
    callee->kind = &native_kind;
    callee->name = define.name;
    callee->documentation = from->documentation ? define_copy(&define, from->documentation) : "";
    define.native->check = from->check;
    define.native->infer = from->infer;
    define.native->data = from->data;
    if (!name_is_valid(from->name)) {
        define_refuse(&define, "its name must be letters, digits and '_', at most 100%s%s", "", "");
        return AKG_ERROR_USAGE;
    }
    return define_all(&define, callee, from) ? AKG_OK : AKG_ERROR_USAGE;
}

static bool definition_is_there(const akg_operator_definition *definition)
{
    return definition && definition->name && (definition->inputs || !definition->input_count) &&
           (definition->outputs || !definition->output_count) &&
           (definition->attributes || !definition->attribute_count) &&
           (definition->kernels || !definition->kernel_count) && definition->input_count <= CALL_MAX_ITEMS &&
           definition->output_count <= CALL_MAX_ITEMS && definition->attribute_count <= CALL_MAX_ITEMS;
}

akg_status akg_registry_add_operator(akg_registry *registry, const akg_operator_definition *definition,
                                     akg_diagnostics **diagnostics)
{
    struct registration_batch batch;
    struct registration *registration;
    akg_status status = AKG_ERROR_MEMORY;

    if (diagnostics)
        *diagnostics = NULL;
    if (!registry || !definition_is_there(definition))
        return AKG_ERROR_USAGE;
    registration_begin(&batch);
    registration = registration_new(&batch, REGISTER_OPERATOR);
    if (registration) {
        registration->callee.origin = registry->origin;
        status = registration_fill(&batch, registration, define_fill, definition);
    }
    return registration_end(&batch, registry, status, diagnostics);
}

static akg_status kernel_fill(struct registration_batch *batch, struct registration *registration,
                              const void *source)
{
    akg_operator *target = registration->target;
    struct define define = {.batch = batch, .arena = &registration->arena, .name = target->name};

    define.native = target->native;
    if (!target->native) {
        define_refuse(&define, "it is a kernel of %s; only operators written in C take more kernels%s",
                      target->origin, "");
        return AKG_ERROR_USAGE;
    }
    registration->gain.kernel = define_kernel(&define, source);
    return registration->gain.kernel ? AKG_OK : AKG_ERROR_USAGE;
}

akg_status akg_registry_add_kernel(akg_registry *registry, const char *name,
                                   const akg_kernel_definition *kernel, akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!registry || !name || !kernel)
        return AKG_ERROR_USAGE;
    return registration_add_to(registry, name, REGISTER_KERNEL, kernel_fill, kernel, diagnostics);
}

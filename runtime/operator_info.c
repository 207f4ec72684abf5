/*
 * operator_info.c: operator information: checking that it is all there and speaks of its operator, and
 * holding calls against it.
 *
 * What is registered is checked once and copied. What is given with a call stays the caller's: that it is all
 * there was found when it was given, whether it speaks of the operator is asked at each call.
 */
#include "operator_info.h"

#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "call.h"
#include "data_format.h"
#include "tensor.h"

/* ---- does it speak of the operator? --------------------------------------------------------- */

static bool info_refuse(const akg_operator *callee, const akg_operator_info *info, akg_diagnostics *list,
                        const char *why)
{
    diagnostic_add(list, MSG_INFO_MISMATCH, (struct span){0}, info->target, callee->name, why);
    return false;
}

/* One list of names (of "inputs") against those of the operator. */
static bool info_names_match(const akg_operator *callee, const akg_operator_info *info, const char *what,
                             const char *const *given, size_t given_count, const char *const *names,
                             size_t count, akg_diagnostics *list)
{
    char why[240];

    if (given_count != count) {
        snprintf(why, sizeof why, "it has %zu %s, the operator has %zu", given_count, what, count);
        return info_refuse(callee, info, list, why);
    }
    for (size_t i = 0; i < count; i++) {
        if (given[i] && strcmp(given[i], names[i]) == 0)
            continue;
        snprintf(why, sizeof why, "number %zu of its %s is '%.60s', that of the operator is '%.60s'", i + 1,
                 what, given[i] ? given[i] : "", names[i]);
        return info_refuse(callee, info, list, why);
    }
    return true;
}

/* The names of the operator's inputs or of its attributes. */
static size_t info_collect(const akg_operator *callee, bool attributes, const char **names)
{
    akg_parameter parameter;
    size_t count = 0;

    for (size_t i = 0; akg_operator_parameter(callee, i, &parameter); i++)
        if ((parameter.kind == AKG_PARAMETER_ATTRIBUTE) == attributes)
            names[count++] = parameter.name;
    return count;
}

static bool info_operands_match(const akg_operator *callee, const akg_operator_info *info, const char **names,
                                akg_diagnostics *list)
{
    size_t count = info_collect(callee, false, names);

    if (!info_names_match(callee, info, "inputs", info->inputs, info->input_count, names, count, list))
        return false;
    count = info_collect(callee, true, names);
    if (!info_names_match(callee, info, "attributes", info->attributes, info->attribute_count, names, count,
                          list))
        return false;
    count = akg_operator_output_count(callee);
    for (size_t i = 0; i < count; i++)
        names[i] = akg_operator_output_name(callee, i);
    return info_names_match(callee, info, "outputs", info->outputs, info->output_count, names, count, list);
}

static bool info_combinations_are_valid(const akg_operator *callee, const akg_operator_info *info,
                                        akg_diagnostics *list)
{
    size_t row = info->input_count + info->output_count;
    char why[120];

    if (info->combination_count == 0)
        return info_refuse(callee, info, list, "it has no combination of dtypes");
    for (size_t i = 0; i < info->combination_count * row; i++) {
        const akg_dtype_format *item = &info->combinations[i];
        if ((unsigned)item->dtype > AKG_DTYPE_COUNT)
            return info_refuse(callee, info, list, "one of its dtypes does not exist");
        if (format_is_known(item->format))
            continue;
        snprintf(why, sizeof why, "'%.60s' is no format", item->format);
        return info_refuse(callee, info, list, why);
    }
    return true;
}

bool operator_info_is_there(const akg_operator_info *info)
{
    return info->target && (info->inputs || !info->input_count) && (info->outputs || !info->output_count) &&
           (info->attributes || !info->attribute_count) && (info->combinations || !info->combination_count) &&
           info->input_count <= CALL_MAX_ITEMS && info->output_count <= CALL_MAX_ITEMS &&
           info->attribute_count <= CALL_MAX_ITEMS && info->combination_count <= CALL_MAX_ITEMS;
}

/* Whether the information is right for the operator; messages, or an *out_of_memory. */
static bool info_is_valid(const akg_operator *callee, const akg_operator_info *info, akg_diagnostics *list,
                          bool *out_of_memory)
{
    size_t most = akg_operator_parameter_count(callee) + akg_operator_output_count(callee);
    const char **names = memory_zeroed(most, sizeof(const char *));
    bool valid;

    *out_of_memory = !names;
    if (!names)
        return false;
    if (device_of_target(info->target) == DEVICE_KIND_COUNT)
        valid = info_refuse(callee, info, list, "there are the targets CPU, GPU and Ascend");
    else
        valid =
            info_operands_match(callee, info, names, list) && info_combinations_are_valid(callee, info, list);
    memory_free(names);
    return valid;
}

/* ---- registering ------------------------------------------------------------------------------- */

static const char **info_copy_names(struct arena *arena, const char *const *names, size_t count)
{
    const char **copy = arena_array(arena, const char *, count + 1);

    for (size_t i = 0; i < count; i++)
        copy[i] = arena_copy(arena, names[i], strlen(names[i]));
    return copy;
}

static akg_status info_fill(struct registration_batch *batch, struct registration *registration,
                            const void *source)
{
    const akg_operator_info *from = source;
    struct arena *arena = &registration->arena;
    size_t count = (from->input_count + from->output_count) * from->combination_count;
    akg_dtype_format *items;
    struct operator_info *info;
    bool out_of_memory;

    if (!info_is_valid(registration->target, from, registration_list(batch), &out_of_memory))
        return out_of_memory ? AKG_ERROR_MEMORY : AKG_ERROR_USAGE;
    info = arena_new(arena, struct operator_info);
    items = arena_array(arena, akg_dtype_format, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *format = from->combinations[i].format;
        items[i] = from->combinations[i];
        items[i].format = format ? arena_copy(arena, format, strlen(format)) : NULL;
    }
    info->device = device_of_target(from->target);
    info->about = *from;
    info->about.target = device_target(info->device);
    info->about.inputs = info_copy_names(arena, from->inputs, from->input_count);
    info->about.outputs = info_copy_names(arena, from->outputs, from->output_count);
    info->about.attributes = info_copy_names(arena, from->attributes, from->attribute_count);
    info->about.combinations = items;
    registration->gain.info = info;
    return AKG_OK;
}

akg_status akg_registry_add_info(akg_registry *registry, const char *name, const akg_operator_info *info,
                                 akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!registry || !name || !info || !operator_info_is_there(info))
        return AKG_ERROR_USAGE;
    return registration_add_to(registry, name, REGISTER_INFO, info_fill, info, diagnostics);
}

bool info_targets_differ(const akg_operator *callee, const struct operator_info *first,
                         const struct operator_info *second, akg_diagnostics *list)
{
    struct diagnostic_entry *entry;

    if (first->device != second->device)
        return true;
    entry = diagnostic_add(list, MSG_INFO_TWICE, (struct span){0}, callee->name, second->about.target);
    diagnostic_note(entry,
                    "note: the first has %zu combinations of dtypes; an operation can be given another",
                    first->about.combination_count);
    return false;
}

bool info_is_free(const akg_operator *callee, const struct operator_info *info, akg_diagnostics *list)
{
    const struct operator_info *at = atomic_load(&callee->infos);

    for (; at; at = atomic_load(&at->next))
        if (!info_targets_differ(callee, at, info, list))
            return false;
    return true;
}

void info_append(akg_operator *callee, struct operator_info *info)
{
    atomic_store(&info->next, atomic_load(&callee->infos));
    atomic_store(&callee->infos, info);
}

/* ---- holding a call against it ----------------------------------------------------------------------- */

bool info_is_silent(const struct info_call *call)
{
    return !call->given && !atomic_load(&call->callee->infos);
}

/* What stands in the way of a combination: "x is float64, not float32"; false when nothing does. */
static bool info_obstacle(const struct info_call *call, const akg_operator_info *info,
                          const akg_dtype_format *combination, char *why, size_t size)
{
    for (size_t k = 0; k < info->input_count + info->output_count; k++) {
        const char *name = k < info->input_count ? info->inputs[k] : info->outputs[k - info->input_count];
        const akg_tensor *tensor;
        akg_description is;
        int64_t strides[AKG_MAX_RANK];
        for (size_t index = 0; call->describe(call->context, (int)k, index, &is, &tensor); index++) {
            if (combination[k].dtype != AKG_DTYPE_COUNT && is.dtype != combination[k].dtype) {
                snprintf(why, size, "'%.60s' is %s, not %s", name, akg_dtype_name(is.dtype),
                         akg_dtype_name(combination[k].dtype));
                return true;
            }
            description_strides(&is, tensor, strides);
            if (!format_fits(combination[k].format, is.rank, is.shape, strides)) {
                snprintf(why, size, "'%.60s' is %s, not %s", name, format_name(is.rank, is.shape, strides),
                         combination[k].format);
                return true;
            }
        }
    }
    return false;
}

/* "x float32 default, y float32 default" */
static void info_print_combination(struct text *text, const akg_operator_info *info,
                                   const akg_dtype_format *combination)
{
    for (size_t k = 0; k < info->input_count + info->output_count; k++)
        text_format(text, "%s%s %s %s", k ? ", " : "",
                    k < info->input_count ? info->inputs[k] : info->outputs[k - info->input_count],
                    combination[k].dtype == AKG_DTYPE_COUNT ? "any dtype"
                                                            : akg_dtype_name(combination[k].dtype),
                    combination[k].format ? combination[k].format : "default");
}

static void info_explain(const struct info_call *call, const akg_operator_info *info,
                         struct diagnostic_entry *entry)
{
    size_t row = info->input_count + info->output_count;

    for (size_t i = 0; i < info->combination_count; i++) {
        char why[200] = "";
        struct text text;
        info_obstacle(call, info, info->combinations + i * row, why, sizeof why);
        text_init(&text);
        info_print_combination(&text, info, info->combinations + i * row);
        diagnostic_note(entry, "note: (%s) does not fit: %s", text.data ? text.data : "", why);
        text_free(&text);
    }
}

/* The information for the call's device: that given with the call, else that registered, else NULL. */
static const akg_operator_info *info_of(const struct info_call *call)
{
    const struct operator_info *at = atomic_load(&call->callee->infos);

    if (call->given && device_of_target(call->given->target) == call->device)
        return call->given;
    while (at && at->device != call->device)
        at = atomic_load(&at->next);
    return at ? &at->about : NULL;
}

static akg_status info_refuse_target(const struct info_call *call, akg_diagnostics *list)
{
    const struct operator_info *at = atomic_load(&call->callee->infos);
    struct diagnostic_entry *entry = diagnostic_add(list, MSG_INFO_NO_MATCH, (struct span){0},
                                                    call->callee->name, device_target(call->device));

    for (; at; at = atomic_load(&at->next))
        diagnostic_note(entry, "note: it has information for %s", at->about.target);
    if (call->given)
        diagnostic_note(entry, "note: the information given with the call is for %s", call->given->target);
    return AKG_ERROR_CALL;
}

akg_status info_check(const struct info_call *call, akg_diagnostics *list)
{
    const akg_operator_info *info;
    bool out_of_memory;
    char why[200];

    if (call->given && !info_is_valid(call->callee, call->given, list, &out_of_memory))
        return out_of_memory ? AKG_ERROR_MEMORY : AKG_ERROR_USAGE;
    info = info_of(call);
    if (!info)
        return info_refuse_target(call, list);
    for (size_t i = 0; i < info->combination_count; i++)
        if (!info_obstacle(call, info, info->combinations + i * (info->input_count + info->output_count), why,
                           sizeof why))
            return AKG_OK;
    info_explain(call, info,
                 diagnostic_add(list, MSG_INFO_NO_MATCH, (struct span){0}, call->callee->name, info->target));
    return AKG_ERROR_CALL;
}

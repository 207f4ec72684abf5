/*
 * attribute.c: values of attributes of operators written in C: which arguments they take, how they hold them.
 */
#include "operator_native.h"

#include <string.h>

#include "../base/text.h"
#include "call.h"

/*  kind                   in messages           argument that holds it */
#define ATTRIBUTE_TABLE(X)                                                                                   \
    X(AKG_ATTRIBUTE_INT32, "an int32", AKG_ARGUMENT_INT)                                                     \
    X(AKG_ATTRIBUTE_INT64, "an int64", AKG_ARGUMENT_INT)                                                     \
    X(AKG_ATTRIBUTE_BOOL, "a bool", AKG_ARGUMENT_BOOL)                                                       \
    X(AKG_ATTRIBUTE_FLOAT, "a float", AKG_ARGUMENT_FLOAT)                                                    \
    X(AKG_ATTRIBUTE_DOUBLE, "a double", AKG_ARGUMENT_FLOAT)                                                  \
    X(AKG_ATTRIBUTE_STRING, "a string", AKG_ARGUMENT_STRING)                                                 \
    X(AKG_ATTRIBUTE_DTYPE, "a dtype", AKG_ARGUMENT_DTYPE)                                                    \
    X(AKG_ATTRIBUTE_SHAPE, "a shape", AKG_ARGUMENT_INTS)                                                     \
    X(AKG_ATTRIBUTE_INT32S, "a list of int32", AKG_ARGUMENT_INTS)                                            \
    X(AKG_ATTRIBUTE_INT64S, "a list of int64", AKG_ARGUMENT_INTS)                                            \
    X(AKG_ATTRIBUTE_FLOATS, "a list of floats", AKG_ARGUMENT_FLOATS)

static const struct {
    const char *text;
    akg_argument_kind holds;
} attribute_table[] = {
#define X(kind, text, holds) [kind] = {text, holds},
    ATTRIBUTE_TABLE(X)
#undef X
};

bool attribute_kind_is_valid(akg_attribute_kind kind)
{
    return (unsigned)kind < sizeof attribute_table / sizeof *attribute_table;
}

static bool attribute_holds_integer(akg_attribute_kind kind, int64_t value)
{
    if (kind == AKG_ATTRIBUTE_SHAPE)
        return value >= 0;
    return (kind != AKG_ATTRIBUTE_INT32 && kind != AKG_ATTRIBUTE_INT32S) || value == (int32_t)value;
}

/* Numbers without a fraction are numbers too: [1, 2] is a list of floats, 3 is a double. */
static bool attribute_to_reals(struct arena *arena, const akg_argument *from, akg_argument *to)
{
    double *reals;

    if (to->kind == AKG_ARGUMENT_FLOAT && from->kind == AKG_ARGUMENT_INT) {
        to->as.real = (double)from->as.integer;
        return true;
    }
    if (to->kind != AKG_ARGUMENT_FLOATS || from->kind != AKG_ARGUMENT_INTS)
        return false;
    reals = arena_array(arena, double, from->as.ints.count + 1);
    for (size_t i = 0; i < from->as.ints.count; i++)
        reals[i] = (double)from->as.ints.items[i];
    to->as.floats.items = reals;
    to->as.floats.count = from->as.ints.count;
    return true;
}

enum attribute_fit attribute_convert(struct arena *arena, akg_attribute_kind kind, const akg_argument *from,
                                     akg_argument *to)
{
    *to = (akg_argument){.name = from->name, .kind = attribute_table[kind].holds};
    if (kind == AKG_ATTRIBUTE_DTYPE && from->kind == AKG_ARGUMENT_STRING) {
        to->as.dtype = akg_dtype_from_name(from->as.string);
        return to->as.dtype == AKG_DTYPE_COUNT ? ATTRIBUTE_OUT_OF_RANGE : ATTRIBUTE_FITS;
    }
    if (from->kind == to->kind)
        to->as = from->as;
    else if (!attribute_to_reals(arena, from, to))
        return ATTRIBUTE_OTHER_KIND;
    if (kind == AKG_ATTRIBUTE_FLOAT)
        to->as.real = (double)(float)to->as.real;
    if (to->kind == AKG_ARGUMENT_INT && !attribute_holds_integer(kind, to->as.integer))
        return ATTRIBUTE_OUT_OF_RANGE;
    for (size_t i = 0; to->kind == AKG_ARGUMENT_INTS && i < to->as.ints.count; i++)
        if (!attribute_holds_integer(kind, to->as.ints.items[i]))
            return ATTRIBUTE_OUT_OF_RANGE;
    return ATTRIBUTE_FITS;
}

const char *attribute_kind_text(akg_attribute_kind kind)
{
    return strchr(attribute_table[kind].text, ' ') + 1; /* without its article */
}

static void print_item(struct text *text, const akg_argument *value, size_t index)
{
    if (value->kind == AKG_ARGUMENT_INTS)
        text_format(text, "%lld", (long long)value->as.ints.items[index]);
    else
        text_double(text, value->as.floats.items[index]);
}

static void print_list(struct text *text, const akg_argument *value)
{
    size_t count = value->kind == AKG_ARGUMENT_INTS ? value->as.ints.count : value->as.floats.count;

    text_char(text, '(');
    for (size_t i = 0; i < count; i++) {
        text_string(text, i ? ", " : "");
        print_item(text, value, i);
    }
    text_string(text, count == 1 ? ",)" : ")");
}

void attribute_print(struct text *text, const akg_argument *value)
{
    switch (value->kind) {
    case AKG_ARGUMENT_STRING:
        text_format(text, "'%s'", value->as.string);
        break;
    case AKG_ARGUMENT_INT:
        text_format(text, "%lld", (long long)value->as.integer);
        break;
    case AKG_ARGUMENT_FLOAT:
        text_double(text, value->as.real);
        break;
    case AKG_ARGUMENT_BOOL:
        text_string(text, value->as.boolean ? "True" : "False");
        break;
    case AKG_ARGUMENT_DTYPE:
        text_string(text, akg_dtype_name(value->as.dtype));
        break;
    case AKG_ARGUMENT_INTS:
    case AKG_ARGUMENT_FLOATS:
        print_list(text, value);
        break;
    default:
        text_string(text, "None");
    }
}

void attribute_refuse(akg_diagnostics *list, const akg_attribute *attribute, const akg_argument *value,
                      enum attribute_fit fit)
{
    const char *takes = attribute_table[attribute->kind].text;
    struct text text;

    if (fit == ATTRIBUTE_OTHER_KIND) {
        diagnostic_add(list, MSG_CALL_KIND, (struct span){0}, attribute->name, takes,
                       call_kind_text(value->kind));
        return;
    }
    text_init(&text);
    attribute_print(&text, value);
    diagnostic_add(list, MSG_ATTRIBUTE_RANGE, (struct span){0}, attribute->name, takes,
                   text.data ? text.data : "?");
    text_free(&text);
}

akg_argument attribute_copy(struct arena *arena, const akg_argument *value)
{
    akg_argument copy = *value;

    if (value->name)
        copy.name = arena_copy(arena, value->name, strlen(value->name));
    if (value->kind == AKG_ARGUMENT_STRING)
        copy.as.string = arena_copy(arena, value->as.string, strlen(value->as.string));
    if (value->kind == AKG_ARGUMENT_INTS && value->as.ints.count) {
        int64_t *items = arena_array(arena, int64_t, value->as.ints.count);
        memcpy(items, value->as.ints.items, value->as.ints.count * sizeof *items);
        copy.as.ints.items = items;
    }
    if (value->kind == AKG_ARGUMENT_FLOATS && value->as.floats.count) {
        double *items = arena_array(arena, double, value->as.floats.count);
        memcpy(items, value->as.floats.items, value->as.floats.count * sizeof *items);
        copy.as.floats.items = items;
    }
    return copy;
}

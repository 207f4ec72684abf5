/*
 * recorded_form.c: what the inputs of a recorded graph are, from text such as "float32[N, 4]".
 */
#include <ctype.h>
#include <string.h>

#include "failure.h"
#include "recorded.h"

static const char *skip_space(const char *at)
{
    while (*at == ' ')
        at++;
    return at;
}

static size_t word_length(const char *at)
{
    size_t length = 0;

    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

static akg_status form_refuse(const char *text, const char *why, akg_diagnostics **diagnostics)
{
    return failure_report(diagnostics, AKG_ERROR_USAGE, MSG_GRAPH_FORM, text, why, NULL,
                          "help: write a dtype and an extent or name for each axis: float32[N, 4]");
}

static int form_symbol(struct arena *arena, graph_symbols *symbols, const char *name, size_t length)
{
    for (int i = 0; i < symbols->count; i++)
        if (strlen(symbols->items[i]) == length && memcmp(symbols->items[i], name, length) == 0)
            return i;
    list_push(arena, symbols, arena_copy(arena, name, length));
    return symbols->count - 1;
}

/* One extent; NULL, or what is wrong with it. */
static const char *form_extent(struct arena *arena, graph_symbols *symbols, struct graph_form *form,
                               const char *at, size_t length)
{
    struct graph_extent extent = {-1, 0};

    if (length == 0)
        return "an extent is missing";
    if (form->rank == AKG_MAX_RANK)
        return "it has more than 16 axes";
    if (!isdigit((unsigned char)*at)) {
        extent.symbol = form_symbol(arena, symbols, at, length);
    } else {
        for (size_t i = 0; i < length; i++) {
            if (!isdigit((unsigned char)at[i]))
                return "a name begins with a letter";
            extent.extent = extent.extent * 10 + (at[i] - '0');
            if (extent.extent > TENSOR_MAX_EXTENT)
                return "an extent is too large";
        }
    }
    form->extents[form->rank++] = extent;
    return NULL;
}

akg_status graph_form_read(struct arena *arena, const char *text, graph_symbols *symbols,
                           struct graph_form *form, akg_diagnostics **diagnostics)
{
    const char *at = skip_space(text), *wrong = NULL;
    size_t length = word_length(at);

    *form = (struct graph_form){.text = arena_copy(arena, text, strlen(text))};
    form->dtype = akg_dtype_from_name(arena_copy(arena, at, length));
    if (form->dtype == AKG_DTYPE_COUNT)
        return form_refuse(text, "it does not begin with a dtype", diagnostics);
    at = skip_space(at + length);
    if (*at != '[')
        return form_refuse(text, "'[' is missing", diagnostics);
    at = skip_space(at + 1);
    while (!wrong && *at != ']') {
        length = word_length(at);
        wrong = form_extent(arena, symbols, form, at, length);
        at = skip_space(at + length);
        if (!wrong && *at != ',' && *at != ']')
            wrong = "',' or ']' is missing";
        if (!wrong && *at == ',')
            at = skip_space(at + 1);
    }
    if (!wrong && *skip_space(at + 1))
        wrong = "there is something behind ']'";
    return wrong ? form_refuse(text, wrong, diagnostics) : AKG_OK;
}

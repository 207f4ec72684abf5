/*
 * inputs.c: tensors with values that find faults: small integers that serve as indices, fractions,
 * extremes.
 */
#include "inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double inputs_value(struct random *random, akg_dtype dtype)
{
    static const double odd[] = {INFINITY, -INFINITY, NAN,  -0.0, 1e300, -1e38, 65504,
                                 1e-40,    3e9,       -3e9, 127,  -128,  255};
    int kind = random_below(random, 100);

    if (dtype == AKG_BOOL)
        return random_below(random, 2);
    if (kind < 8)
        return odd[random_below(random, (int)(sizeof odd / sizeof *odd))];
    if (kind < 60 || dtype < AKG_FLOAT16)
        return random_below(random, 9) - (random_chance(random, 30) ? 4 : 0);
    return (random_below(random, 2001) - 1000) / 128.0;
}

static void inputs_fill(akg_tensor *tensor, struct random *random)
{
    int64_t index[AKG_MAX_RANK] = {0};
    const int64_t *shape = akg_tensor_shape(tensor);
    int rank = akg_tensor_rank(tensor);

    for (int64_t left = akg_tensor_element_count(tensor); left > 0; left--) {
        akg_tensor_set(tensor, index, inputs_value(random, akg_tensor_dtype(tensor)));
        for (int axis = rank - 1; axis >= 0 && ++index[axis] == shape[axis]; axis--)
            index[axis] = 0;
    }
}

/* Strides that are not those of a contiguous tensor: axes in reverse order, the first one backwards, gaps
 * between elements. */
static akg_tensor *inputs_view(akg_dtype dtype, int rank, const int64_t *shape)
{
    int64_t strides[AKG_MAX_RANK], elements = 2, offset = 0, all;
    akg_tensor *base = NULL, *view = NULL;

    for (int axis = 0; axis < rank; axis++) {
        strides[axis] = elements;
        elements *= shape[axis] + 1;
    }
    if (rank > 0 && shape[0] > 0) {
        offset = strides[0] * (shape[0] - 1);
        strides[0] = -strides[0];
    }
    all = elements + 2;
    if (akg_tensor_create(dtype, 1, &all, &base) == AKG_OK)
        akg_tensor_view(base, rank, shape, strides, offset, &view);
    akg_tensor_release(base);
    return view;
}

static akg_tensor *inputs_tensor(akg_dtype dtype, int rank, const int64_t *shape, bool view,
                                 struct random *random)
{
    akg_tensor *tensor = NULL;

    if (view)
        tensor = inputs_view(dtype, rank, shape);
    else
        akg_tensor_create(dtype, rank, shape, &tensor);
    if (tensor)
        inputs_fill(tensor, random);
    return tensor;
}

static bool inputs_read_tensor(akg_argument *argument, const char *word, struct random *random)
{
    int64_t shape[AKG_MAX_RANK];
    const char *at = strchr(word, '[');
    char name[16];
    int rank = 0;

    if (!at || at - word >= (long)sizeof name)
        return false;
    memcpy(name, word, (size_t)(at - word));
    name[at - word] = 0;
    while (*at != ']') {
        char *end;
        if (rank == AKG_MAX_RANK || (*at != '[' && *at != ','))
            return false;
        if (at[1] == ']')
            break;
        shape[rank++] = strtol(at + 1, &end, 10);
        at = end;
    }
    argument->kind = AKG_ARGUMENT_TENSOR;
    if (akg_dtype_from_name(name) == AKG_DTYPE_COUNT)
        return false;
    argument->as.tensor =
        inputs_tensor(akg_dtype_from_name(name), rank, shape, strchr(at, '~') != NULL, random);
    return argument->as.tensor != NULL;
}

bool inputs_read(struct inputs *arguments, const char *text, uint64_t seed)
{
    struct random random = random_seeded(seed, 2);

    *arguments = (struct inputs){.count = 0};
    for (;;) {
        akg_argument *argument = &arguments->items[arguments->count];
        size_t length;
        char word[128];

        while (*text == ' ')
            text++;
        length = strcspn(text, " \r\n");
        if (length == 0)
            return true;
        if (length >= sizeof word || arguments->count == INPUTS_MOST)
            break;
        memcpy(word, text, length);
        word[length] = 0;
        text += length;
        if (strncmp(word, "int=", 4) == 0)
            *argument = (akg_argument){.kind = AKG_ARGUMENT_INT, .as.integer = atoll(word + 4)};
        else if (strncmp(word, "real=", 5) == 0)
            *argument = (akg_argument){.kind = AKG_ARGUMENT_FLOAT, .as.real = atof(word + 5)};
        else if (strncmp(word, "bool=", 5) == 0)
            *argument = (akg_argument){.kind = AKG_ARGUMENT_BOOL, .as.boolean = word[5] == '1'};
        else if (strcmp(word, "none") == 0)
            *argument = (akg_argument){.kind = AKG_ARGUMENT_NONE};
        else if (!inputs_read_tensor(argument, word, &random))
            break;
        arguments->count++;
    }
    inputs_free(arguments);
    return false;
}

bool inputs_guess(struct inputs *arguments, const akg_kernel *kernel, uint64_t seed)
{
    static const int64_t shape[AKG_MAX_RANK] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
    struct random random = random_seeded(seed, 3);
    akg_parameter parameter;

    *arguments = (struct inputs){.count = 0};
    for (size_t i = 0; akg_kernel_parameter(kernel, i, &parameter); i++) {
        akg_argument *argument = &arguments->items[arguments->count];
        akg_dtype dtype = parameter.dtype == AKG_DTYPE_COUNT ? AKG_FLOAT32 : parameter.dtype;
        int rank = parameter.rank < 0 ? 2 : parameter.rank;

        if (parameter.kind == AKG_PARAMETER_VARIADIC ||
            (parameter.optional && parameter.kind != AKG_PARAMETER_TENSOR))
            break; /* the defaults hold from here on */
        if (arguments->count == INPUTS_MOST || rank > 6) {
            inputs_free(arguments);
            return false;
        }
        if (parameter.kind == AKG_PARAMETER_ATTRIBUTE) {
            *argument = (akg_argument){.kind = AKG_ARGUMENT_INT, .as.integer = 2};
        } else {
            argument->kind = AKG_ARGUMENT_TENSOR;
            argument->as.tensor = inputs_tensor(dtype, rank, shape, false, &random);
            if (!argument->as.tensor) {
                inputs_free(arguments);
                return false;
            }
        }
        arguments->count++;
    }
    return true;
}

/* A copy that has the strides of the original. */
static akg_tensor *inputs_copy_tensor(akg_tensor *from)
{
    int64_t index[AKG_MAX_RANK] = {0};
    const int64_t *shape = akg_tensor_shape(from);
    int rank = akg_tensor_rank(from);
    size_t size = akg_dtype_size(akg_tensor_dtype(from));
    akg_tensor *to = NULL;

    if (akg_tensor_is_contiguous(from)) {
        akg_tensor_copy(from, &to);
        return to;
    }
    to = inputs_view(akg_tensor_dtype(from), rank, shape);
    for (int64_t left = to ? akg_tensor_element_count(from) : 0; left > 0; left--) {
        int64_t source = 0, target = 0;
        for (int axis = 0; axis < rank; axis++) {
            source += index[axis] * akg_tensor_strides(from)[axis];
            target += index[axis] * akg_tensor_strides(to)[axis];
        }
        memcpy((char *)akg_tensor_data(to) + target * (int64_t)size,
               (char *)akg_tensor_data(from) + source * (int64_t)size, size);
        for (int axis = rank - 1; axis >= 0 && ++index[axis] == shape[axis]; axis--)
            index[axis] = 0;
    }
    return to;
}

bool inputs_copy(const struct inputs *from, struct inputs *to)
{
    *to = *from;
    for (int i = 0; i < from->count; i++)
        if (from->items[i].kind == AKG_ARGUMENT_TENSOR) {
            to->items[i].as.tensor = inputs_copy_tensor(from->items[i].as.tensor);
            if (!to->items[i].as.tensor) {
                to->count = i;
                inputs_free(to);
                return false;
            }
        }
    return true;
}

void inputs_free(struct inputs *arguments)
{
    for (int i = 0; i < arguments->count; i++)
        if (arguments->items[i].kind == AKG_ARGUMENT_TENSOR)
            akg_tensor_release(arguments->items[i].as.tensor);
    arguments->count = 0;
}

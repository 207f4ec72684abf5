/*
 * inputs.c: tensors with values that find faults: small integers that serve as indices, fractions,
 * extremes.
 */
#include "inputs.h"

#include <math.h>
#include <stdio.h>
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

/* DTYPE[...]+DTYPE[...]: what a variadic parameter gets. */
static bool inputs_read_tensors(struct inputs *arguments, akg_argument *argument, char *word,
                                struct random *random)
{
    int first = arguments->tensor_count;

    *argument = (akg_argument){.kind = AKG_ARGUMENT_TENSORS, .as.tensors.items = &arguments->tensors[first]};
    for (char *one = strtok(word, "+"); one; one = strtok(NULL, "+")) {
        akg_argument item;
        if (arguments->tensor_count == INPUTS_MOST || !inputs_read_tensor(&item, one, random))
            return false;
        arguments->tensors[arguments->tensor_count++] = item.as.tensor;
        argument->as.tensors.count++;
    }
    return true;
}

static bool inputs_read_word(struct inputs *arguments, akg_argument *argument, char *word,
                             struct random *random)
{
    long twin;
    char *end;

    if (strncmp(word, "tensors=", 8) == 0)
        return inputs_read_tensors(arguments, argument, word + 8, random);
    if (word[0] == '@') {
        twin = strtol(word + 1, &end, 10);
        if (twin < 0 || twin >= arguments->count || arguments->items[twin].kind != AKG_ARGUMENT_TENSOR)
            return false;
        *argument = arguments->items[twin];
        akg_tensor_retain(argument->as.tensor);
        return true;
    }
    if (strncmp(word, "int=", 4) == 0) {
        *argument = (akg_argument){.kind = AKG_ARGUMENT_INT, .as.integer = atoll(word + 4)};
    } else if (strncmp(word, "real=", 5) == 0) {
        *argument = (akg_argument){.kind = AKG_ARGUMENT_FLOAT, .as.real = atof(word + 5)};
    } else if (strncmp(word, "bool=", 5) == 0) {
        *argument = (akg_argument){.kind = AKG_ARGUMENT_BOOL, .as.boolean = word[5] == '1'};
    } else if (strncmp(word, "text=", 5) == 0) {
        snprintf(arguments->text, sizeof arguments->text, "%.15s", word + 5);
        *argument = (akg_argument){.kind = AKG_ARGUMENT_STRING, .as.string = arguments->text};
    } else if (strncmp(word, "ints=", 5) == 0) {
        arguments->integers[0] = strtoll(word + 5, &end, 10);
        arguments->integers[1] = *end == ',' ? strtoll(end + 1, NULL, 10) : 0;
        *argument = (akg_argument){.kind = AKG_ARGUMENT_INTS, .as.ints = {arguments->integers, 2}};
    } else if (strcmp(word, "none") == 0) {
        *argument = (akg_argument){.kind = AKG_ARGUMENT_NONE};
    } else {
        return inputs_read_tensor(argument, word, random);
    }
    return true;
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
        if (!inputs_read_word(arguments, argument, word, &random))
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

static bool inputs_copy_item(const struct inputs *from, struct inputs *to, int number)
{
    akg_argument *item = &to->items[number];

    if (item->kind == AKG_ARGUMENT_TENSOR) {
        item->as.tensor = NULL;
        for (int twin = 0; twin < number; twin++)
            if (from->items[twin].kind == AKG_ARGUMENT_TENSOR &&
                from->items[twin].as.tensor == from->items[number].as.tensor)
                akg_tensor_retain(item->as.tensor = to->items[twin].as.tensor);
        if (!item->as.tensor)
            item->as.tensor = inputs_copy_tensor(from->items[number].as.tensor);
        return item->as.tensor != NULL;
    }
    if (item->kind == AKG_ARGUMENT_TENSORS) /* they lie in the same place of the copy */
        item->as.tensors.items = &to->tensors[from->items[number].as.tensors.items - from->tensors];
    else if (item->kind == AKG_ARGUMENT_STRING)
        item->as.string = to->text;
    else if (item->kind == AKG_ARGUMENT_INTS)
        item->as.ints.items = to->integers;
    return true;
}

bool inputs_copy(const struct inputs *from, struct inputs *to)
{
    bool good = true;

    *to = *from;
    to->count = to->tensor_count = 0;
    for (; to->tensor_count < from->tensor_count && good; to->tensor_count += good) {
        to->tensors[to->tensor_count] = inputs_copy_tensor(from->tensors[to->tensor_count]);
        good = to->tensors[to->tensor_count] != NULL;
    }
    for (; to->count < from->count && good; to->count += good)
        good = inputs_copy_item(from, to, to->count);
    if (!good)
        inputs_free(to);
    return good;
}

void inputs_free(struct inputs *arguments)
{
    for (int i = 0; i < arguments->count; i++)
        if (arguments->items[i].kind == AKG_ARGUMENT_TENSOR)
            akg_tensor_release(arguments->items[i].as.tensor);
    for (int i = 0; i < arguments->tensor_count; i++)
        akg_tensor_release(arguments->tensors[i]);
    arguments->count = arguments->tensor_count = 0;
}

/*
 * recorded_support.c: see recorded_support.h.
 */
#include "recorded_support.h"

#include <stdio.h>

akg_tensor *calls_make(struct calls *calls, const char *name, const akg_argument *arguments, size_t count)
{
    akg_operator *found;
    akg_tensor *made[3] = {NULL};

    for (size_t i = 0; i < count; i++)
        if (arguments[i].kind == AKG_ARGUMENT_TENSOR && !arguments[i].as.tensor)
            return NULL;
    if (calls->status == AKG_OK)
        calls->status = akg_registry_find(akg_tape_registry(calls->tape), name, &found, calls->diagnostics);
    if (calls->status == AKG_OK)
        calls->status = akg_call(calls->tape, found, arguments, count, made, calls->diagnostics);
    for (int i = 0; i < 3; i++)
        if (made[i])
            calls->kept[calls->kept_count++] = made[i];
    return made[0];
}

akg_tensor *calls_one(struct calls *calls, const char *name, akg_tensor *a)
{
    return calls_make(calls, name, (akg_argument[]){api_tensor(NULL, a)}, 1);
}

akg_tensor *calls_two(struct calls *calls, const char *name, akg_tensor *a, akg_tensor *b)
{
    return calls_make(calls, name, (akg_argument[]){api_tensor(NULL, a), api_tensor(NULL, b)}, 2);
}

akg_status calls_end(struct calls *calls, akg_tensor *result, akg_tensor **output)
{
    if (calls->status == AKG_OK)
        *output = akg_tensor_retain(result);
    for (int i = 0; i < calls->kept_count; i++)
        akg_tensor_release(calls->kept[i]);
    return calls->status;
}

akg_tensor *tensor_of_normal(akg_dtype dtype, int rank, const int64_t *shape, uint64_t seed)
{
    akg_tensor *tensor;

    if (akg_tensor_create(dtype, rank, shape, &tensor) == AKG_OK)
        akg_tensor_fill_normal(tensor, seed);
    return tensor;
}

void tensors_release(akg_tensor **tensors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        akg_tensor_release(tensors[i]);
        tensors[i] = NULL;
    }
}

void complain(const char *what, akg_diagnostics *diagnostics)
{
    char *text = NULL;

    akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &text);
    fprintf(stderr, "    %s: %s\n", what, text ? text : "no message");
    akg_free(text);
    akg_diagnostics_free(diagnostics);
}

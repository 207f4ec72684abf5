/*
 * wrt.c: --wrt x,y, for the subcommands that differentiate.
 */
#include "wrt.h"

#include <stdio.h>
#include <string.h>

bool wrt_is_float(const akg_tensor *tensor)
{
    akg_dtype dtype = akg_tensor_dtype(tensor);
    return dtype == AKG_FLOAT16 || dtype == AKG_BFLOAT16 || dtype == AKG_FLOAT32 || dtype == AKG_FLOAT64;
}

bool wrt_is_listed(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == length && strncmp(list, name, length) == 0)
            return true;
    return false;
}

static bool has_tensors(const akg_argument *argument)
{
    return argument->kind == AKG_ARGUMENT_TENSOR || argument->kind == AKG_ARGUMENT_TENSORS;
}

static bool unknown_input(const struct arguments *arguments, const char *name, struct problem *problem)
{
    struct nearest nearest = {.word = name};
    struct name_list list = {0};
    for (size_t i = 0; i < arguments->count; i++)
        if (has_tensors(&arguments->items[i])) {
            nearest_consider(&nearest, arguments->items[i].name);
            name_list_add(&list, arguments->items[i].name);
        }
    problem_set(problem, AKG_ERROR_USAGE, "--wrt: '%.100s' is no tensor of the call", name);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "its tensors: %s", list.length ? list.text : "none");
}

bool wrt_check(const char *list, const struct arguments *arguments, struct problem *problem)
{
    char name[100];
    for (const char *at = list; at && *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        bool found = false;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        for (size_t i = 0; i < arguments->count; i++)
            found |= has_tensors(&arguments->items[i]) && strcmp(arguments->items[i].name, name) == 0;
        if (!found)
            return unknown_input(arguments, name, problem);
        at += length;
    }
    return true;
}

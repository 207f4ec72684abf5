/*
 * trial.c: see trial.h. Tests run where memory is not short: what cannot be had ends the program.
 */
#include "trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 32

static void *trial_memory(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory)
        abort();
    return memory;
}

/* ---- arrays ------------------------------------------------------------------------------- */

static int64_t array_count(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int k = 0; k < rank; k++)
        count *= shape[k];
    return count;
}

void array_index(const struct array *array, int64_t place, int64_t *index)
{
    for (int k = array->rank - 1; k >= 0; k--) {
        index[k] = place % array->shape[k];
        place /= array->shape[k];
    }
}

int64_t array_place(const struct array *array, const int64_t *index)
{
    int64_t place = 0;
    for (int k = 0; k < array->rank; k++)
        place = place * array->shape[k] + index[k];
    return place;
}

double array_broadcast(const struct array *array, int rank, const int64_t *index)
{
    int64_t own[AKG_MAX_RANK];

    for (int k = 0; k < array->rank; k++)
        own[k] = array->shape[k] == 1 ? 0 : index[k + rank - array->rank];
    return array->data[array_place(array, own)];
}

static void array_of_tensor(struct array *array, const char *name, akg_tensor *tensor)
{
    int64_t index[AKG_MAX_RANK];

    array->name = name;
    array->tensor = tensor;
    array->dtype = akg_tensor_dtype(tensor);
    array->rank = akg_tensor_rank(tensor);
    memcpy(array->shape, akg_tensor_shape(tensor), sizeof(int64_t) * (size_t)array->rank);
    array->count = array_count(array->rank, array->shape);
    array->data = trial_memory((size_t)array->count, sizeof(double));
    for (int64_t i = 0; i < array->count; i++) {
        array_index(array, i, index);
        array->data[i] = akg_tensor_get(tensor, index);
    }
}

/* ---- reading a case ------------------------------------------------------------------------- */

/* Whether the words give that parameter's tensor a dtype of its own, or mark it with '!'. */
static bool trial_word_has(char *const *words, const bool *marked, int count, const char *name, bool mark)
{
    size_t length = strlen(name);

    for (int i = 0; i < count; i++)
        if (strncmp(words[i], name, length) == 0 && words[i][length] == '=')
            return mark ? marked[i] : strchr(words[i], ':') != NULL;
    return false;
}

static bool trial_take_tensor(struct trial *trial, const char *name, akg_tensor **tensor, bool cast,
                              bool marked)
{
    struct array *array = &trial->inputs[trial->input_count++];
    akg_tensor *other;

    if (cast) {
        if (akg_tensor_cast(*tensor, trial->dtype, &other) != AKG_OK)
            return false;
        akg_tensor_release(*tensor);
        *tensor = other;
    }
    array_of_tensor(array, name, *tensor);
    array->differentiable = cast && !marked;
    return true;
}

/* The tensors of the arguments, converted; struct value owns them. */
static bool trial_take_tensors(struct trial *trial, char *const *words, const bool *marked, int count)
{
    bool taken = true;

    for (size_t i = 0; i < trial->arguments.count; i++) {
        akg_argument *argument = &trial->arguments.items[i];
        bool cast = argument->name && !trial_word_has(words, marked, count, argument->name, false);
        bool mark = argument->name && trial_word_has(words, marked, count, argument->name, true);
        for (size_t k = 0; k < trial->arguments.value_count; k++) {
            struct value *value = &trial->arguments.values[k];
            bool plain = argument->kind == AKG_ARGUMENT_TENSOR && value->tensor == argument->as.tensor;
            if (plain) {
                taken &= trial_take_tensor(trial, argument->name, &value->tensor, cast, mark);
                argument->as.tensor = value->tensor;
                break;
            }
            for (size_t t = 0; argument->kind == AKG_ARGUMENT_TENSORS && t < argument->as.tensors.count; t++)
                if (value->tensor && argument->as.tensors.items[t] == value->tensor) {
                    taken &= trial_take_tensor(trial, argument->name, &value->tensor, cast, mark);
                    trial->arguments.variadic[t] = value->tensor;
                    break;
                }
        }
    }
    return taken;
}

bool trial_read(struct trial *trial, akg_kernel *kernel, const char *text, akg_dtype dtype)
{
    char copy[1024], *words[WORDS], *word;
    bool marked[WORDS] = {false}, read;
    struct problem problem = {0};
    int count = 0;

    memset(trial, 0, sizeof *trial);
    trial->dtype = dtype;
    snprintf(copy, sizeof copy, "%s", text);
    for (word = strtok(copy, " "); word && count < WORDS; word = strtok(NULL, " ")) {
        char *mark = strstr(word, "=!");
        marked[count] = mark != NULL;
        if (mark)
            memmove(mark + 1, mark + 2, strlen(mark + 2) + 1);
        words[count++] = word;
    }
    read = arguments_bind(kernel, words, count, 1, &trial->arguments, &problem) &&
           trial_take_tensors(trial, words, marked, count);
    if (!read)
        fprintf(stderr, "%s %s: %s\n", akg_kernel_name(kernel), text, problem.text);
    problem_free(&problem);
    return read;
}

void trial_drop(struct trial *trial)
{
    for (int i = 0; i < trial->input_count; i++)
        free(trial->inputs[i].data);
    for (int i = 0; i < trial->result_count; i++)
        free(trial->results[i].data);
    arguments_free(&trial->arguments);
}

/* ---- for references --------------------------------------------------------------------------- */

const struct array *trial_item(const struct trial *trial, const char *name, int index)
{
    for (int i = 0; i < trial->input_count; i++)
        if (strcmp(trial->inputs[i].name, name) == 0 && index-- == 0)
            return &trial->inputs[i];
    return NULL;
}

const struct array *trial_input(const struct trial *trial, const char *name)
{
    return trial_item(trial, name, 0);
}

static const akg_argument *trial_argument(const struct trial *trial, const char *name)
{
    for (size_t i = 0; i < trial->arguments.count; i++) {
        const akg_argument *argument = &trial->arguments.items[i];
        if (argument->name && strcmp(argument->name, name) == 0)
            return argument;
    }
    return NULL;
}

int64_t trial_int(const struct trial *trial, const char *name, int64_t otherwise)
{
    const akg_argument *argument = trial_argument(trial, name);
    return !argument                             ? otherwise
           : argument->kind == AKG_ARGUMENT_BOOL ? argument->as.boolean
                                                 : argument->as.integer;
}

double trial_real(const struct trial *trial, const char *name, double otherwise)
{
    const akg_argument *argument = trial_argument(trial, name);
    return !argument                            ? otherwise
           : argument->kind == AKG_ARGUMENT_INT ? (double)argument->as.integer
                                                : argument->as.real;
}

const char *trial_string(const struct trial *trial, const char *name, const char *otherwise)
{
    const akg_argument *argument = trial_argument(trial, name);
    return argument ? argument->as.string : otherwise;
}

int trial_ints(const struct trial *trial, const char *name, int64_t items[AKG_MAX_RANK])
{
    const akg_argument *argument = trial_argument(trial, name);

    if (!argument)
        return -1;
    for (size_t i = 0; i < argument->as.ints.count; i++)
        items[i] = argument->as.ints.items[i];
    return (int)argument->as.ints.count;
}

struct array *trial_result(struct trial *trial, int rank, const int64_t *shape)
{
    struct array *array = &trial->results[trial->result_count++];

    array->dtype = trial->dtype;
    array->rank = rank;
    if (rank)
        memcpy(array->shape, shape, sizeof(int64_t) * (size_t)rank);
    array->count = array_count(rank, shape);
    array->data = trial_memory((size_t)array->count, sizeof(double));
    return array;
}

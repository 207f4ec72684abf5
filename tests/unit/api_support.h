/*
 * api_support.h: what the tests of the public interface share: programs, arguments, comparisons. Nothing here
 * counts checks; what fails returns NULL or false and says why on standard error.
 */
#ifndef TESTS_UNIT_API_SUPPORT_H
#define TESTS_UNIT_API_SUPPORT_H

#include "../../include/akg.h"

/* The module of that text, or NULL; here and below by turns with code for one shape and for any. */
akg_module *api_compile(const char *text);
akg_module *api_module(const char *text, const jit_options *options);
/* How many loops of its kernel k become vector code here; -1: it is wrong. */
int api_vector_loops(const char *text);

/* The outputs of the program's first kernel, called with the inputs and then `last`, if that is not NULL. */
bool api_run(const char *program, const jit_options *options, akg_tensor *const *inputs, int count,
             const akg_argument *last, akg_tensor **outputs);

/* A new tensor with first, first + step, ... */
akg_tensor *api_range(akg_dtype dtype, int rank, const int64_t *shape, double first, double step);
/* The same with one axis. */
akg_tensor *api_vector(akg_dtype dtype, int64_t length, double first, double step);
/* Element number `index` in C order. */
double api_element(const akg_tensor *tensor, int64_t index);
/* The same dtype, shape and bits. */
bool api_same(const akg_tensor *a, const akg_tensor *b);

/* Whether the program, called as by api_run, gives just that with vectors of each width: by one thread,
 * strict and not, and by three; says where it does not. Leaves three threads. */
bool api_same_everywhere(const char *program, akg_tensor *const *inputs, int count, const akg_argument *last,
                         const akg_tensor *expected);

/* The same shape and numbers, zeros with the same sign; nan has many patterns. */
bool api_same_numbers(const akg_tensor *a, const akg_tensor *b);

/* The name of the first error ("call-shape"), or "". */
const char *api_error(const akg_diagnostics *diagnostics);
/* Whether message or note of the first error has that piece. */
bool api_says(const akg_diagnostics *diagnostics, const char *piece);

/* Whether the text is one JSON value and white space. */
bool api_is_json(const char *text);

static inline akg_argument api_tensor(const char *name, akg_tensor *tensor)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_TENSOR, .as.tensor = tensor};
}
static inline akg_argument api_int(const char *name, int64_t integer)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_INT, .as.integer = integer};
}
static inline akg_argument api_real(const char *name, double real)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_FLOAT, .as.real = real};
}
static inline akg_argument api_bool(const char *name, bool boolean)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_BOOL, .as.boolean = boolean};
}
static inline akg_argument api_string(const char *name, const char *string)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_STRING, .as.string = string};
}
static inline akg_argument api_ints(const char *name, const int64_t *items, size_t count)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_INTS, .as.ints = {items, count}};
}
static inline akg_argument api_tensors(const char *name, akg_tensor *const *items, size_t count)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_TENSORS, .as.tensors = {items, count}};
}
static inline akg_argument api_none(const char *name)
{
    return (akg_argument){.name = name, .kind = AKG_ARGUMENT_NONE};
}

#define API_COUNT(array) (sizeof(array) / sizeof *(array))

/* Memory between pages that may not be touched, at the end of its own or at their beginning; munmap `pages`,
 * of that size. NULL: there is none. */
void *api_guarded(size_t bytes, bool at_end, char **pages, size_t *size);

#endif

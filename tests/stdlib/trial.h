/*
 * trial.h: one call of an operator of the standard library, read from a row of operators.def, and what a
 * reference needs of it: the arguments as arrays of double, and a place for the results it expects.
 *
 * A row's case is what akgrun takes behind the kernel's name: "x=randn(3,5) axis=-1". Tensors without a dtype
 * of their own have the dtype that is tried; a '!' in front of a value means that no gradient is asked for.
 */
#ifndef TESTS_STDLIB_TRIAL_H
#define TESTS_STDLIB_TRIAL_H

#include "../../tools/arguments.h"

#define TRIAL_MAX 16 /* parameters, tensors, results */

/* Elements in row-major order. */
struct array {
    const char *name; /* the parameter's */
    akg_dtype dtype;
    int rank;
    int64_t shape[AKG_MAX_RANK];
    int64_t count;
    double *data;
    bool differentiable; /* of the dtype that is tried, and not marked with '!' */
    akg_tensor *tensor;  /* NULL for a result */
};

struct trial {
    akg_dtype dtype; /* that is tried */
    struct arguments arguments;
    struct array inputs[TRIAL_MAX]; /* the tensors, in the order of the parameters */
    int input_count;
    struct array results[TRIAL_MAX]; /* what the reference expects */
    int result_count;
};

/* False, with a message on standard error, when the case cannot be read. */
bool trial_read(struct trial *trial, akg_kernel *kernel, const char *text, akg_dtype dtype);
void trial_drop(struct trial *trial);

/* A tensor parameter by name; NULL where it was left out. Of a variadic one, number `index`. */
const struct array *trial_input(const struct trial *trial, const char *name);
const struct array *trial_item(const struct trial *trial, const char *name, int index);

/* Attributes by name; `otherwise` where the case does not give them. */
int64_t trial_int(const struct trial *trial, const char *name, int64_t otherwise);
double trial_real(const struct trial *trial, const char *name, double otherwise);
const char *trial_string(const struct trial *trial, const char *name, const char *otherwise);
/* The items of a tuple; their number, -1 where the case does not give it. */
int trial_ints(const struct trial *trial, const char *name, int64_t items[AKG_MAX_RANK]);

/* The next result, of zeros; its dtype is the one that is tried, unless the reference changes it. */
struct array *trial_result(struct trial *trial, int rank, const int64_t *shape);
static inline struct array *trial_result_like(struct trial *trial, const struct array *like)
{
    return trial_result(trial, like->rank, like->shape);
}

/* The place in row-major order of the element with this index. */
int64_t array_place(const struct array *array, const int64_t *index);
/* The index at a place. */
void array_index(const struct array *array, int64_t place, int64_t *index);
/* The element of an operand that is broadcast, for an index of `rank` axes. */
double array_broadcast(const struct array *array, int rank, const int64_t *index);

#endif

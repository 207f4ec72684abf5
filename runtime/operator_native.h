/*
 * operator_native.h: operators written in C: their description, and one call of one.
 */
#ifndef RUNTIME_OPERATOR_NATIVE_H
#define RUNTIME_OPERATOR_NATIVE_H

#include "device.h"
#include "operator.h"
#include "operator_match.h"

struct native_kernel {
    _Atomic(struct native_kernel *) next;
    akg_kernel_definition about;
    const struct match *match; /* NULL: always */
};

/* akg_operator_definition, copied and checked. */
struct native {
    const akg_operand *inputs, *outputs; /* each with a count */
    int input_count, output_count;
    const akg_attribute *attributes;
    int attribute_count;
    akg_status (*check)(akg_invocation *invocation);
    akg_status (*infer)(akg_invocation *invocation); /* NULL: as input `like` */
    int like;
    void *data;
    _Atomic(struct native_kernel *) kernels; /* in order of registration */
};

extern const struct operator_kind native_kind;

/* ---- describing (operator_define.c) ------------------------------------------------------- */

/* For commits: whether the name of a kernel is free in its operator; and puts it there. */
bool native_kernels_differ(const akg_operator *callee, const struct native_kernel *first,
                           const struct native_kernel *second, akg_diagnostics *list);
bool native_kernel_is_free(const akg_operator *callee, const struct native_kernel *kernel,
                           akg_diagnostics *list);
void native_append_kernel(akg_operator *callee, struct native_kernel *kernel);

/* ---- one call ------------------------------------------------------------------------------- */

/* Which of the invocation's tensors an input or output is. */
struct operand_use {
    size_t first, count;
    bool is_bound;
};

struct gpu_device;

struct akg_invocation {
    akg_operator *callee;
    const struct native *native;
    struct arena arena;
    struct device device;
    struct gpu_device *gpu;        /* the same, opened; NULL: the CPU */
    const akg_operator_info *info; /* given with the call, or NULL */
    struct operand_use *inputs, *outputs;
    akg_argument *attributes; /* values, defaults included */
    bool *attribute_is_bound;
    akg_tensor **input_tensors, **output_tensors;
    size_t input_tensor_count, output_tensor_count;
    akg_description *descriptions; /* of the outputs */
    bool *is_described;
    void *scratch;
    akg_diagnostics *list; /* NULL until there is something to tell */
    bool refused;          /* akg_invocation_refuse has told why */
};

/* Puts arguments to inputs, attributes and counts of outputs (operator_bind.c). The status is AKG_ERROR_CALL
 * with a message, or AKG_ERROR_MEMORY. */
akg_status invocation_bind(akg_invocation *invocation, const akg_argument *arguments, size_t count);

/* Whether an argument can say how many tensors an output holds. Whatever makes room for outputs before the
 * call is bound goes by this, and takes others for not given: the call refuses them. */
bool native_is_count(const akg_argument *argument);

/* The messages of the call, or NULL when memory ran out. */
akg_diagnostics *invocation_list(akg_invocation *invocation);

/* The index of an input, output or attribute of that name, or -1. */
int native_input_index(const struct native *native, const char *name);
int native_output_index(const struct native *native, const char *name);
int native_attribute_index(const struct native *native, const char *name);

/* Tensor number `index` of an operand, inputs and outputs numbered in one row; false when it was left out. */
bool invocation_describe(const akg_invocation *invocation, int operand, size_t index,
                         akg_description *description, const akg_tensor **tensor);

/* How many tensors an output holds when nothing is said of it. */
size_t native_output_least(const akg_operator *callee, size_t index);
/* Whether it is one tensor, not a number of them. */
bool native_output_is_one(const akg_operator *callee, size_t index);

/* The one kernel to run, or NULL with messages (operator_select.c). */
const struct native_kernel *native_select(akg_invocation *invocation);

/* ---- attributes (attribute.c) ----------------------------------------------------------------- */

enum attribute_fit { ATTRIBUTE_FITS, ATTRIBUTE_OTHER_KIND, ATTRIBUTE_OUT_OF_RANGE };

bool attribute_kind_is_valid(akg_attribute_kind kind);
/* The value as an attribute of that kind holds it. Lists and strings stay where they are, unless converted.
 */
enum attribute_fit attribute_convert(struct arena *arena, akg_attribute_kind kind, const akg_argument *from,
                                     akg_argument *to);
/* What is wrong with it, as a message. */
void attribute_refuse(akg_diagnostics *list, const akg_attribute *attribute, const akg_argument *value,
                      enum attribute_fit fit);
/* The kind as a word or two ("int32", "list of floats"), and a value as the language writes it. */
const char *attribute_kind_text(akg_attribute_kind kind);
struct text;
void attribute_print(struct text *text, const akg_argument *value);
/* A copy, what it points to included; tensors are not copied. */
akg_argument attribute_copy(struct arena *arena, const akg_argument *value);

#endif

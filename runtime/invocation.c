/*
 * invocation.c: what the functions of an operator written in C see of a call.
 */
#include "operator_native.h"

#include <string.h>

#include "tensor.h"

#define X_INDEX(what, items, count)                                                                          \
    int native_##what##_index(const struct native *native, const char *name)                                 \
    {                                                                                                        \
        for (int i = 0; i < native->count; i++)                                                              \
            if (strcmp(native->items[i].name, name) == 0)                                                    \
                return i;                                                                                    \
        return -1;                                                                                           \
    }
X_INDEX(input, inputs, input_count)
X_INDEX(output, outputs, output_count)
X_INDEX(attribute, attributes, attribute_count)
#undef X_INDEX

/* ---- tensors ----------------------------------------------------------------------------- */

/* The use of the operand of that name, or NULL; *operand is its number, outputs behind inputs. */
static const struct operand_use *invocation_use(const akg_invocation *invocation, const char *name,
                                                int *operand)
{
    int index;

    if (!invocation || !name)
        return NULL;
    index = native_input_index(invocation->native, name);
    *operand = index;
    if (index >= 0)
        return &invocation->inputs[index];
    index = native_output_index(invocation->native, name);
    *operand = invocation->native->input_count + index;
    return index >= 0 ? &invocation->outputs[index] : NULL;
}

size_t akg_invocation_count(const akg_invocation *invocation, const char *name)
{
    int operand;
    const struct operand_use *use = invocation_use(invocation, name, &operand);

    return use ? use->count : 0;
}

akg_tensor *akg_invocation_input(const akg_invocation *invocation, const char *name, size_t index)
{
    int operand;
    const struct operand_use *use = invocation_use(invocation, name, &operand);

    return use && operand < invocation->native->input_count && index < use->count
               ? invocation->input_tensors[use->first + index]
               : NULL;
}

akg_tensor *akg_invocation_output(const akg_invocation *invocation, const char *name, size_t index)
{
    int operand;
    const struct operand_use *use = invocation_use(invocation, name, &operand);

    return use && operand >= invocation->native->input_count && index < use->count
               ? invocation->output_tensors[use->first + index]
               : NULL;
}

bool invocation_describe(const akg_invocation *invocation, int operand, size_t index,
                         akg_description *description, const akg_tensor **tensor)
{
    int inputs = invocation->native->input_count;
    const struct operand_use *use =
        operand < inputs ? &invocation->inputs[operand] : &invocation->outputs[operand - inputs];
    const akg_tensor *input;

    *tensor = NULL;
    if (index >= use->count)
        return false;
    if (operand >= inputs) {
        *description = invocation->descriptions[use->first + index];
        return invocation->is_described[use->first + index];
    }
    *tensor = input = invocation->input_tensors[use->first + index];
    description->dtype = input->dtype;
    description->rank = input->rank;
    memcpy(description->shape, tensor_shape(input), (size_t)input->rank * sizeof *description->shape);
    return true;
}

bool akg_invocation_describe(const akg_invocation *invocation, const char *name, size_t index,
                             akg_description *description)
{
    const akg_tensor *tensor;
    int operand;

    return invocation_use(invocation, name, &operand) && description &&
           invocation_describe(invocation, operand, index, description, &tensor);
}

akg_status akg_invocation_set_output(akg_invocation *invocation, const char *name, size_t index,
                                     const akg_description *description)
{
    int operand;
    const struct operand_use *use = invocation_use(invocation, name, &operand);
    int64_t elements;

    if (!use || operand < invocation->native->input_count || index >= use->count || !description ||
        !tensor_size_is_valid(description->dtype, description->rank, description->shape, &elements))
        return AKG_ERROR_USAGE;
    invocation->descriptions[use->first + index] = *description;
    invocation->is_described[use->first + index] = true;
    return AKG_OK;
}

/* ---- attributes --------------------------------------------------------------------------- */

static const akg_argument *invocation_attribute(const akg_invocation *invocation, const char *name,
                                                akg_argument_kind kind)
{
    int index = invocation && name ? native_attribute_index(invocation->native, name) : -1;

    return index >= 0 && invocation->attributes[index].kind == kind ? &invocation->attributes[index] : NULL;
}

int64_t akg_invocation_integer(const akg_invocation *invocation, const char *name)
{
    const akg_argument *value = invocation_attribute(invocation, name, AKG_ARGUMENT_INT);
    const akg_argument *boolean = invocation_attribute(invocation, name, AKG_ARGUMENT_BOOL);

    return value ? value->as.integer : boolean && boolean->as.boolean;
}

double akg_invocation_real(const akg_invocation *invocation, const char *name)
{
    const akg_argument *value = invocation_attribute(invocation, name, AKG_ARGUMENT_FLOAT);

    return value ? value->as.real : 0;
}

const char *akg_invocation_string(const akg_invocation *invocation, const char *name)
{
    const akg_argument *value = invocation_attribute(invocation, name, AKG_ARGUMENT_STRING);

    return value ? value->as.string : NULL;
}

akg_dtype akg_invocation_dtype(const akg_invocation *invocation, const char *name)
{
    const akg_argument *value = invocation_attribute(invocation, name, AKG_ARGUMENT_DTYPE);

    return value ? value->as.dtype : AKG_DTYPE_COUNT;
}

const int64_t *akg_invocation_integers(const akg_invocation *invocation, const char *name, size_t *count)
{
    const akg_argument *value = invocation_attribute(invocation, name, AKG_ARGUMENT_INTS);

    if (count)
        *count = value ? value->as.ints.count : 0;
    return value ? value->as.ints.items : NULL;
}

const double *akg_invocation_reals(const akg_invocation *invocation, const char *name, size_t *count)
{
    const akg_argument *value = invocation_attribute(invocation, name, AKG_ARGUMENT_FLOATS);

    if (count)
        *count = value ? value->as.floats.count : 0;
    return value ? value->as.floats.items : NULL;
}

akg_diagnostics *invocation_list(akg_invocation *invocation)
{
    if (!invocation->list)
        invocation->list = diagnostics_create("", NULL, 0);
    return invocation->list;
}

/* ---- the rest ------------------------------------------------------------------------------- */

void *akg_invocation_scratch(const akg_invocation *invocation)
{
    return invocation ? invocation->scratch : NULL;
}

void *akg_invocation_data(const akg_invocation *invocation)
{
    return invocation ? invocation->native->data : NULL;
}

akg_status akg_invocation_refuse(akg_invocation *invocation, const char *reason)
{
    if (!invocation)
        return AKG_ERROR_USAGE;
    if (!invocation->refused)
        diagnostic_add(invocation_list(invocation), MSG_OPERATOR_REFUSED, (struct span){0},
                       invocation->callee->name, reason ? reason : "no reason is given");
    invocation->refused = true;
    return AKG_ERROR_CALL;
}

/* example: host_function */
#include <akg.h>
#include <stdio.h>

/* A function of the host, and of its result: y = x * x * x. */
static akg_status cube(void *user, akg_tensor *const *inputs, akg_tensor **outputs,
                       akg_diagnostics **diagnostics)
{
    akg_status status = akg_tensor_copy(inputs[0], &outputs[0]); /* contiguous */

    (void)user, (void)diagnostics;
    if (status != AKG_OK)
        return status;
    float *y = akg_tensor_data(outputs[0]);
    for (int64_t i = 0; i < akg_tensor_element_count(outputs[0]); i++)
        y[i] = y[i] * y[i] * y[i];
    return AKG_OK;
}

/* dx = dy * 3 * x * x. It does not read y, so that is in the skip list: the arguments are x and dy. */
static akg_status cube_backward(void *user, akg_tensor *const *arguments, size_t count,
                                akg_tensor **input_gradients, akg_diagnostics **diagnostics)
{
    akg_tensor *x = NULL;
    akg_status status = akg_tensor_copy(arguments[0], &x);

    (void)user, (void)count, (void)diagnostics;
    if (status == AKG_OK)
        status = akg_tensor_copy(arguments[1], &input_gradients[0]);
    if (status == AKG_OK) {
        const float *from = akg_tensor_data(x);
        float *dx = akg_tensor_data(input_gradients[0]);
        for (int64_t i = 0; i < akg_tensor_element_count(x); i++)
            dx[i] *= 3 * from[i] * from[i];
    }
    akg_tensor_release(x);
    return status;
}

static const size_t skip[] = {1}; /* inputs come first: 0 is x, 1 is y */

static const akg_host_operator cube_operator = {.name = "cube",
                                                .input_count = 1,
                                                .output_count = 1,
                                                .forward = cube,
                                                .backward = cube_backward,
                                                .skip = skip,
                                                .skip_count = 1};

static void print(const char *name, const akg_tensor *tensor)
{
    char *text;

    if (akg_tensor_format(tensor, &text) != AKG_OK)
        return;
    printf("%s = %s\n", name, text);
    akg_free(text);
}

int main(void)
{
    float elements[] = {1, 2, 3};
    const int64_t length = 3;
    akg_tape *tape = NULL;
    akg_tensor *x = NULL, *y = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_tape_create(NULL, &tape);

    if (status == AKG_OK)
        status = akg_tensor_from_memory(elements, AKG_FLOAT32, 1, &length, NULL, NULL, NULL, &x);
    if (status == AKG_OK)
        status = akg_tensor_set_requires_grad(x, true, &diagnostics);
    if (status == AKG_OK)
        status = akg_host_operator_call(tape, &cube_operator, &x, &y, &diagnostics);
    if (status == AKG_OK)
        status = akg_backward(tape, &y, NULL, 1, false, &diagnostics);
    if (status == AKG_OK) {
        print("y", y);
        print("x.grad", akg_tensor_grad(x));
    } else {
        fprintf(stderr, "host_function: %s\n", akg_status_text(status));
    }

    akg_diagnostics_free(diagnostics);
    akg_tensor_release(x);
    akg_tensor_release(y);
    akg_tape_release(tape);
    return status != AKG_OK;
}

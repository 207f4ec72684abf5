/*
 * use.c: loads the library that its argument names, and calls myrelu on float and on double.
 */
#include <akg.h>
#include <stdio.h>

/* Prints what the library has to say, and frees it. */
static int report(akg_status status, akg_diagnostics *diagnostics)
{
    char *text = NULL;

    if (akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &text) == AKG_OK)
        fputs(text, stderr);
    akg_free(text);
    akg_diagnostics_free(diagnostics);
    if (status != AKG_OK)
        fprintf(stderr, "use: %s\n", akg_status_text(status));
    return status != AKG_OK;
}

static int print(const char *name, const akg_tensor *tensor)
{
    char *text = NULL;

    if (akg_tensor_format(tensor, &text) != AKG_OK)
        return 1;
    printf("%s %s = %s\n", name, akg_dtype_name(akg_tensor_dtype(tensor)), text);
    akg_free(text);
    return 0;
}

/* myrelu of [-2, -1, 0, 1, 2], and its gradient. */
static int use(akg_registry *registry, akg_tape *tape, akg_dtype dtype)
{
    const int64_t shape[] = {5};
    akg_tensor *x = NULL, *y = NULL;
    akg_operation *operation = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_tensor_create(dtype, 1, shape, &x);

    akg_tensor_fill_range(x, -2, 1);
    if (status == AKG_OK)
        status = akg_tensor_set_requires_grad(x, true, &diagnostics);
    if (status == AKG_OK)
        status = akg_operation_create(registry, "myrelu", &operation, &diagnostics);
    if (status == AKG_OK)
        status = akg_operation_input(operation, "in", &x, 1);
    if (status == AKG_OK)
        status = akg_operation_output(operation, "out", 1);
    if (status == AKG_OK)
        status = akg_operation_run(operation, tape, &diagnostics);
    if (status == AKG_OK)
        status = akg_operation_sole_output(operation, &y, &diagnostics);
    if (status == AKG_OK)
        status = akg_backward(tape, &y, NULL, 1, false, &diagnostics);
    int failed = report(status, diagnostics) || print("y", y) || print("dx", akg_tensor_grad(x));
    akg_operation_release(operation);
    akg_tensor_release(x);
    return failed;
}

int main(int argument_count, char **arguments)
{
    akg_registry *registry = NULL;
    akg_tape *tape = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = akg_registry_create(&registry);

    if (status == AKG_OK)
        status = akg_load_library(registry, argument_count > 1 ? arguments[1] : "myrelu.so", &diagnostics);
    if (status == AKG_OK)
        status = akg_tape_create(registry, &tape);
    int failed =
        report(status, diagnostics) || use(registry, tape, AKG_FLOAT32) || use(registry, tape, AKG_FLOAT64);
    akg_tape_release(tape);
    akg_registry_release(registry);
    return failed;
}

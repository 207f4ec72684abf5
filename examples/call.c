/* example: call */
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
        fprintf(stderr, "call: %s\n", akg_status_text(status));
    return status != AKG_OK;
}

int main(void)
{
    float a_data[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const int64_t a_shape[] = {2, 3}, b_shape[] = {3, 4};
    jit_source source = {.name = "examples/matmul.akg"}; /* or .text and .length */
    akg_module *module = NULL;
    akg_tensor *a = NULL, *b = NULL, *c = NULL; /* c stays NULL: the call makes it */
    akg_diagnostics *diagnostics = NULL;
    akg_status status;
    char *text = NULL;

    status = jit_compile(&source, NULL, &module, &diagnostics);
    if (report(status, diagnostics))
        return 1;

    /* a lies over our own memory, b is a new tensor: 0, 1, 2, ... */
    status = akg_tensor_from_memory(a_data, AKG_FLOAT32, 2, a_shape, NULL, NULL, NULL, &a);
    if (status == AKG_OK)
        status = akg_tensor_create(AKG_FLOAT32, 2, b_shape, &b);
    if (status == AKG_OK) {
        akg_tensor_fill_range(b, 0, 1);
        akg_argument arguments[] = {
            {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = a},
            {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = b},
        };
        akg_kernel *matmul = akg_module_kernel(module, "matmul"); /* the module's: not released */
        /* The first call of a signature (here two contiguous float32 matrices) makes machine code. */
        status = akg_kernel_call(matmul, arguments, 2, NULL, &c, &diagnostics);
        report(status, diagnostics);
    }
    if (status == AKG_OK && (status = akg_tensor_format(c, &text)) == AKG_OK)
        printf("c = %s\n", text);

    akg_free(text);
    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(c);
    akg_module_release(module);
    return status != AKG_OK;
}

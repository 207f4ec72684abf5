/*
 * call.c: a program that uses the library as any other would: compiles a kernel, calls it, prints the result.
 */
#include <akg.h>
#include <stdio.h>

static const char source[] = "def twice(x):\n"
                             "    y = output_tensor(x.shape, x.dtype)\n"
                             "    for i in range(x.shape[0]):\n"
                             "        y[i] = x[i] + x[i]\n"
                             "    return y\n";

int main(void)
{
    jit_source text = {"twice.akg", source, sizeof source - 1};
    akg_module *module = NULL;
    if (jit_compile(&text, NULL, &module, NULL) != AKG_OK)
        return 1;
    const int64_t shape[] = {3};
    akg_argument argument = {NULL, AKG_ARGUMENT_TENSOR, {NULL}};
    akg_tensor *output = NULL;
    char *printed = NULL;
    akg_status status = akg_tensor_create(AKG_FLOAT32, 1, shape, &argument.as.tensor);
    if (status == AKG_OK) {
        akg_tensor_fill_range(argument.as.tensor, 1, 1);
        status = akg_kernel_call(akg_module_kernel(module, "twice"), &argument, 1, NULL, &output, NULL);
    }
    if (status == AKG_OK)
        status = akg_tensor_format(output, &printed);
    if (status == AKG_OK)
        puts(printed);
    akg_free(printed);
    akg_tensor_release(output);
    akg_tensor_release(argument.as.tensor);
    akg_module_release(module);
    return status != AKG_OK;
}

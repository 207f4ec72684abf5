/*
 * load.c: loads the libraries of its arguments, one after the other, and prints what came of each: the
 * operators there are, what "own" gives, or the message.
 */
#include <akg.h>
#include <stdio.h>

static akg_status one(akg_invocation *invocation)
{
    akg_tensor_fill(akg_invocation_output(invocation, "out", 0), 1);
    return AKG_OK;
}

static void print(akg_registry *registry)
{
    const int64_t shape[] = {1};
    akg_tensor *x = NULL, *y = NULL;
    akg_operator *own = NULL;
    char *text = NULL;

    akg_tensor_create(AKG_FLOAT32, 1, shape, &x);
    akg_registry_find(registry, "own", &own, NULL);
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x};
    akg_call(NULL, own, &argument, 1, &y, NULL);
    akg_tensor_format(y, &text);
    for (size_t i = 0; i < akg_registry_operator_count(registry); i++)
        printf("%s ", akg_operator_name(akg_registry_operator_at(registry, i)));
    printf("own gives %s\n", text);
    akg_free(text);
    akg_tensor_release(x);
    akg_tensor_release(y);
}

int main(int argument_count, char **arguments)
{
    static const akg_operand in[] = {{.name = "in"}}, out[] = {{.name = "out"}};
    static const akg_kernel_definition kernel = {.name = "any", .compute = one};
    static const akg_operator_definition own = {.name = "own",
                                                .inputs = in,
                                                .input_count = 1,
                                                .outputs = out,
                                                .output_count = 1,
                                                .kernels = &kernel,
                                                .kernel_count = 1};
    akg_registry *registry = NULL;

    if (akg_registry_create(&registry) != AKG_OK || akg_registry_add_operator(registry, &own, NULL) != AKG_OK)
        return 1;
    for (int i = 1; i < argument_count; i++) {
        akg_diagnostics *diagnostics = NULL;
        akg_status status = akg_load_library(registry, arguments[i], &diagnostics);
        const akg_diagnostic *first = akg_diagnostics_at(diagnostics, 0);
        if (status != AKG_OK)
            printf("%d %s: %s\n", (int)status, first ? first->name : "", first ? first->message : "");
        for (size_t k = 0; first && k < first->note_count; k++)
            printf("  %s\n", first->notes[k]);
        akg_diagnostics_free(diagnostics);
        print(registry);
    }
    akg_registry_release(registry);
    return 0;
}

/*
 * operators.c: a library of operators that is right or wrong in the way that a macro says.
 */
#include <akg.h>

#ifdef OTHER_ABI
AKG_API const unsigned akg_library_abi = AKG_ABI + 1;
#elif !defined(NO_ABI)
AKG_LIBRARY
#endif

static akg_status compute(akg_invocation *invocation)
{
    for (size_t i = 0; i < akg_invocation_count(invocation, "out"); i++)
        akg_tensor_fill(akg_invocation_output(invocation, "out", i), 42);
    return AKG_OK;
}

static const akg_operand in[] = {{.name = "in"}}, out[] = {{.name = "out"}},
                         some[] = {{.name = "out", .at_least = true}};
static const akg_kernel_definition kernel = {.name = "any", .compute = compute};
static const akg_kernel_definition more = {.name = "more", .priority = 1, .compute = compute};

static akg_status add(akg_registry *registry, const char *name, const akg_operand *outputs,
                      akg_diagnostics **diagnostics)
{
    akg_operator_definition definition = {.name = name,
                                          .inputs = in,
                                          .input_count = 1,
                                          .outputs = outputs,
                                          .output_count = 1,
                                          .kernels = &kernel,
                                          .kernel_count = 1};

    return akg_registry_add_operator(registry, &definition, diagnostics);
}

#ifdef NO_REGISTER
#define akg_library_register another_name
akg_status another_name(akg_registry *registry, akg_diagnostics **diagnostics);
#endif

akg_status akg_library_register(akg_registry *registry, akg_diagnostics **diagnostics)
{
    akg_operator *found;
    akg_status status = add(registry, "first", out, diagnostics);

    if (status == AKG_OK)
        status = add(registry, "second", out, diagnostics);
    if (status == AKG_OK)
        status = add(registry, "many", some, diagnostics);
    /* what was just registered can be looked up, and so can what the program has */
    if (status == AKG_OK)
        status = akg_registry_find(registry, "second", &found, diagnostics);
    if (status == AKG_OK)
        status = akg_registry_add_kernel(registry, "second", &more, diagnostics);
#ifndef ALONE
    if (status == AKG_OK)
        status = akg_registry_add_kernel(registry, "own", &more, diagnostics);
#endif
#ifdef FAILS
    if (status == AKG_OK)
        status = add(registry, "first", out, diagnostics);
#endif
    return status;
}

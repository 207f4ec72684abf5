/*
 * operator_select.c: which kernel of an operator written in C runs a call.
 */
#include "operator_native.h"

#include <stdio.h>

static const struct native_kernel *kernel_next(const struct native_kernel *kernel)
{
    return atomic_load_explicit(&((struct native_kernel *)kernel)->next, memory_order_acquire);
}

static const struct native_kernel *kernel_first(const akg_invocation *invocation)
{
    return atomic_load_explicit(&((struct native *)invocation->native)->kernels, memory_order_acquire);
}

/* Whether it can be handed tensors of that device at all. */
static bool kernel_is_for(const struct native_kernel *kernel, const akg_invocation *invocation)
{
    return invocation->device.kind == DEVICE_CPU || match_names_device(kernel->match);
}

static void select_explain(akg_invocation *invocation)
{
    struct diagnostic_entry *entry = diagnostic_add(invocation_list(invocation), MSG_NO_KERNEL,
                                                    (struct span){0}, invocation->callee->name);
    const struct native_kernel *kernel = kernel_first(invocation);

    if (!kernel)
        diagnostic_note(entry, "note: it has no kernels at all");
    for (; kernel; kernel = kernel_next(kernel)) {
        struct text why;
        text_init(&why);
        if (kernel_is_for(kernel, invocation))
            match_explain(kernel->match, invocation, &why);
        else
            text_format(&why, "it is written for the CPU, since its condition names no device");
        diagnostic_note(entry, "note: kernel '%s' (%s) does not fit: %s", kernel->about.name,
                        kernel->about.condition ? kernel->about.condition : "always",
                        why.data ? why.data : "");
        text_free(&why);
    }
}

static void select_tie(akg_invocation *invocation, const struct native_kernel *first,
                       const struct native_kernel *second)
{
    char priority[24];
    struct diagnostic_entry *entry;

    snprintf(priority, sizeof priority, "%d", first->about.priority);
    entry = diagnostic_add(invocation_list(invocation), MSG_KERNEL_TIE, (struct span){0}, first->about.name,
                           second->about.name, invocation->callee->name, priority);
    diagnostic_note(entry, "note: '%s' runs where %s", first->about.name,
                    first->about.condition ? first->about.condition : "anything holds");
    diagnostic_note(entry, "note: '%s' runs where %s", second->about.name,
                    second->about.condition ? second->about.condition : "anything holds");
    diagnostic_note(entry, "help: give one of them a higher priority, or a narrower condition");
}

const struct native_kernel *native_select(akg_invocation *invocation)
{
    const struct native_kernel *best = NULL, *tied = NULL, *kernel = kernel_first(invocation);

    for (; kernel; kernel = kernel_next(kernel)) {
        if ((best && kernel->about.priority < best->about.priority) || !kernel_is_for(kernel, invocation) ||
            !match_holds(kernel->match, invocation))
            continue;
        tied = best && kernel->about.priority == best->about.priority ? best : NULL;
        best = kernel;
    }
    if (!best)
        select_explain(invocation);
    else if (tied)
        select_tie(invocation, tied, best);
    return tied ? NULL : best;
}

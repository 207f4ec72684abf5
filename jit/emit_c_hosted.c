/*
 * emit_c_hosted.c: what stands above a kernel that the system's C compiler translates into a shared object.
 *
 * Produces the functions of scalar_library.h in three forms: what is an instruction or two stays a call of
 * libm, which the compiler knows; most of ours are defined in the text, so that they can be put in line;
 * all others are called through pointers that the object gets from EMIT_C_BIND, for the library's names
 * cannot be seen from outside. So every function computes the same bits as in the library.
 *
 * Where buffers lie apart, the statements of a function stand in another one that has them as parameters:
 * what `restrict` says of a parameter is what compilers make the most of.
 */
#include "emit_c_private.h"
#include "scalar_library.h"
#include "vector_plan.h"

#include <string.h>

/* Exact, and known to every compiler. */
static bool is_known(const char *name)
{
    static const char *const known[] = {"sqrt",  "fabs",  "floor",  "ceil",  "trunc",  "rint",  "fma",
                                        "sqrtf", "fabsf", "floorf", "ceilf", "truncf", "rintf", "fmaf"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(name, known[k]) == 0)
            return true;
    return false;
}

static bool is_in_text(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = scalar_library_text; (at = strstr(at, name)) != NULL; at += length)
        if (at[-1] == ' ' && at[length] == '(' && strncmp(name, "akg_", 4) == 0)
            return true;
    return false;
}

/* "float expf(float a);" as a pointer that stands for the function. */
static void declare_pointer(struct text *out, const struct scalar_library_row *row)
{
    const char *name = strstr(row->prototype, row->name);
    text_format(out, "static %.*s(*akg_bound_%s)%s\n#define %s akg_bound_%s\n", (int)(name - row->prototype),
                row->prototype, row->name, name + strlen(row->name), row->name, row->name);
}

static void declare_functions(struct text *out, const struct vector_plan *plan)
{
    for (const struct scalar_library_row *row = scalar_library; row->name; row++)
        if (is_known(row->name))
            text_format(out, "%s\n", row->prototype);
        else if (!is_in_text(row->name))
            declare_pointer(out, row);
    text_string(out, scalar_library_text);
    for (int k = 0; plan && k < plan->loops.count; k++)
        text_format(out, "static void (*akg_bound_%s)(union akg_slot *slots);\n#define %s akg_bound_%s\n",
                    vector_loop_name(plan, k), vector_loop_name(plan, k), vector_loop_name(plan, k));
}

static void bind(struct text *out, const char *name, int place)
{
    text_format(out, "    __builtin_memcpy(&akg_bound_%s, &table[%d], sizeof(void *));\n", name, place);
}

void emit_hosted_buffer(struct emitter *emitter, struct emit_function *function, int number)
{
    const struct ir_buffer *buffer = emitter->kernel->buffers.items[number];
    function->parameters = arena_format(&emitter->arena, "%s,\n    %s%s *restrict %s", function->parameters,
                                        buffer->role == IR_INPUT ? "const " : "",
                                        dtype_table[buffer->dtype].c_storage, emitter->buffers[number]);
    function->arguments = arena_format(&emitter->arena, "%s, frame->data[%d]", function->arguments, number);
}

void emit_hosted_library(struct text *out, const struct vector_plan *plan)
{
    int place = 0;
    declare_functions(out, plan);
    text_string(out, "void " EMIT_C_BIND "(const void *const *table)\n{\n");
    for (const struct scalar_library_row *row = scalar_library; row->name; row++, place++)
        if (!is_known(row->name) && !is_in_text(row->name))
            bind(out, row->name, place);
    for (int k = 0; plan && k < plan->loops.count; k++)
        bind(out, vector_loop_name(plan, k), place++);
    text_string(out, "}\n\n");
}

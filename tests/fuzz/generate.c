/*
 * generate.c: a random program: constants, functions to call, the kernel, and calls of it.
 */
#include "generate_private.h"

#include <string.h>

enum { GENERATE_CALLS = 3 };

static void generate_outputs(struct generator *g, int count)
{
    for (int i = 0; i < count; i++) {
        struct generate_tensor *tensor = &g->tensors[g->tensor_count];
        *tensor = (struct generate_tensor){
            .dtype = generate_dtype(g), .rank = 1 + generate_below(g, GENERATE_RANK), .writable = true};
        if (generate_chance(g, 8))
            tensor->rank = 0;
        snprintf(tensor->name, sizeof tensor->name, "y%d", i % 10);
        text_format(g->out, "    %s = output_tensor((", tensor->name);
        for (int axis = 0; axis < tensor->rank; axis++) {
            tensor->axes[axis] = generate_below(g, GENERATE_EXTENTS);
            text_format(g->out, "%s%s", g->extents[tensor->axes[axis]].text,
                        tensor->rank == 1 || axis + 1 < tensor->rank ? ", " : "");
        }
        text_string(g->out, "), ");
        generate_dtype_text(g, tensor->dtype);
        text_string(g->out, ")\n");
        g->tensor_count++;
    }
}

static void generate_return(struct generator *g, int outputs, int indent)
{
    bool first = true;

    generate_line(g, indent);
    text_string(g->out, "return ");
    for (int i = 0; i < g->parameter_count; i++) {
        if (g->parameters[i].kind != GENERATE_TENSOR || !g->parameters[i].tensor.writable)
            continue;
        text_format(g->out, "%s%s", first ? "" : ", ", g->parameters[i].name);
        first = false;
    }
    for (int i = 0; i < outputs; i++, first = false)
        text_format(g->out, "%sy%d", first ? "" : ", ", i);
    text_char(g->out, '\n');
}

/* A function that writes nothing computes with whole tensors, where scalars of rank 0 are some too. */
static bool generate_writes(const char *body)
{
    return strstr(body, "] = ") || strstr(body, "allocate(") || strstr(body, "for ") ||
           strstr(body, "while ");
}

static void generate_kernel(struct generator *g)
{
    int outputs = generate_below(g, 3);

    text_string(g->out, "def k(");
    generate_parameters(g, outputs);
    text_string(g->out, "):\n");
    if (generate_chance(g, 10))
        text_string(g->out, "    \"\"\"Made at random.\"\"\"\n");
    generate_prologue(g);
    generate_outputs(g, outputs);
    if (generate_chance(g, 6)) {
        text_string(g->out, "    if ");
        generate_condition(g, 2);
        text_string(g->out, ":\n");
        generate_return(g, outputs, 2);
    }
    size_t start = g->out->length;
    generate_block(g, 1, 2 + generate_below(g, 4));
    if (!outputs && !generate_writes(g->out->data + start))
        text_string(g->out, "    own = allocate((1,), float32)\n");
    generate_return(g, outputs, 1);
}

void generate_program(struct text *out, uint64_t seed)
{
    static const int wildness[] = {0, 0, 2, 10};
    struct generator generator = {.random = random_seeded(seed, 1), .out = out}, *g = &generator;
    int helpers = generate_below(g, GENERATE_HELPERS + 1), callees = generate_below(g, GENERATE_CALLEES + 1);

    g->wild = PICK(g, wildness);
    g->budget = 4 + generate_below(g, 14);
    text_format(out, "# seed %llu\n", (unsigned long long)seed);
    generate_constants(g);
    for (int i = 0; i < helpers; i++)
        generate_helper(g);
    for (int i = 0; i < callees; i++)
        generate_callee(g);
    generate_kernel(g);
    generate_drop_helpers(g);
    for (int i = 0; i < GENERATE_CALLS; i++)
        generate_call_line(g);
}

/*
 * generate_function.c: what stands before the kernel: constants, functions of scalars, kernels that it calls.
 */
#include <string.h>

#include "generate_private.h"

void generate_constants(struct generator *g)
{
    struct generate_variable *variable;

    if (generate_chance(g, 20)) {
        variable = generate_declare(g, "C", GENERATE_INTEGER, AKG_DTYPE_COUNT, -1);
        text_format(g->out, "%s = %d\n", variable->name, generate_below(g, 4));
    }
    if (generate_chance(g, 10)) {
        variable = generate_declare(g, "C", GENERATE_REAL, AKG_DTYPE_COUNT, -1);
        text_format(g->out, "%s = %s\n", variable->name,
                    generate_chance(g, 30) ? "float(\"inf\")" : "1.5 / 2");
    }
    if (g->variable_count)
        text_string(g->out, "\n\n");
}

/* Functions of scalars: `return` one expression, with a local or a branch perhaps, or several returns. */
void generate_helper(struct generator *g)
{
    static const char *const plain[] = {"%s + %s", "%s * %s", "min(%s, %s)", "%s - %s", "max(%s, %s) + 1"};
    static const char *const floating[] = {"tanh(%s) * %s", "%s / (1.0 + %s)", "exp(-abs(%s)) + %s"};
    struct generate_helper *helper = &g->helpers[g->helper_count++];
    const char *last;

    helper->start = g->out->length;
    helper->count = 1 + generate_below(g, 3);
    helper->floating = generate_chance(g, 30);
    snprintf(helper->name, sizeof helper->name, "h%d", g->helper_count);
    last = helper->count > 1 ? "b" : "a";
    text_format(g->out, "def %s(a%s%s):\n", helper->name, helper->count > 1 ? ", b" : "",
                helper->count > 2 ? ", c" : "");
    if (generate_chance(g, 50)) {
        text_string(g->out, "    z = ");
        text_format(g->out, PICK(g, plain), "a", last);
        text_string(g->out, "\n");
        if (generate_chance(g, 40))
            text_format(g->out, "    if z > %s:\n        z = z - %s\n", last, helper->count > 2 ? "c" : "a");
        last = "z";
    }
    if (generate_chance(g, 25))
        text_format(g->out, "    if a > %s:\n        return %s\n", generate_chance(g, 50) ? last : "1",
                    generate_chance(g, 50) ? last : "a");
    text_string(g->out, "    return ");
    if (helper->floating)
        text_format(g->out, PICK(g, floating), "a", last);
    else
        text_format(g->out, PICK(g, plain), "a", last);
    text_string(g->out, "\n\n\n");
    helper->end = g->out->length;
}

void generate_drop_helpers(struct generator *g)
{
    struct text *out = g->out;

    for (int i = g->helper_count - 1; i >= 0 && !out->failed; i--) {
        const struct generate_helper *helper = &g->helpers[i];
        if (helper->used)
            continue;
        memmove(out->data + helper->start, out->data + helper->end, out->length - helper->end + 1);
        out->length -= helper->end - helper->start;
    }
}

/* Kernels of one tensor of any dtype and rank (ROWS: not 0). */
void generate_callee(struct generator *g)
{
    static const char *const texts[] = {
        [GENERATE_FRESH] = "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for at in grid(x.shape):\n"
                           "        y[at] = x[at]\n"
                           "    return y\n",
        [GENERATE_TWO] = "    y = output_tensor(x.shape, x.dtype)\n"
                         "    z = output_tensor((), x.dtype)\n"
                         "    for at in grid(x.shape):\n"
                         "        y[at] = x[at] if likely(x[at] == x[at]) else z\n"
                         "        z[()] = x[at]\n"
                         "    return y, z\n",
        [GENERATE_ROWS] = "    s = output_tensor(x.shape[:-1], x.dtype)\n"
                          "    for at in grid(x.shape[:-1]):\n"
                          "        for i in range(x.shape[-1]):\n"
                          "            if x[at, i] == x[at, i]:\n"
                          "                s[at] = x[at + (i,)]\n"
                          "    return s\n",
        [GENERATE_IN_PLACE] = "    for at in grid(x.shape):\n"
                              "        x[at] = x[at] if x[at] == x[at] else cast(1, x.dtype)\n"
                              "    return x\n"};
    enum generate_callee kind = (enum generate_callee)generate_below(g, GENERATE_CALLEE_KINDS);

    text_format(g->out, "def e%d(x):\n%s\n\n", g->callee_count, texts[kind]);
    g->callees[g->callee_count++] = kind;
}

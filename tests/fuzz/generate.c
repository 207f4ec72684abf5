/*
 * generate.c: a random program: helper functions, the kernel with its parameters, and calls of it.
 */
#include "generate_private.h"

enum { GENERATE_PARAMETERS = 6, GENERATE_CALLS = 3 };

/* What a parameter is, for the calls. */
struct generate_parameter {
    const struct generate_tensor *tensor; /* or an attribute: */
    akg_dtype dtype;                      /* INT64, FLOAT64 or BOOL */
    bool optional;                        /* a tensor that may be None */
};

/* ---- helpers -------------------------------------------------------------------------------- */

/* Functions of scalars: `return` one expression, with a local or a branch perhaps. */
static void generate_helper(struct generator *g)
{
    static const char *const plain[] = {"%s + %s", "%s * %s", "min(%s, %s)", "%s - %s", "max(%s, %s) + 1"};
    static const char *const floating[] = {"tanh(%s) * %s", "%s / (1.0 + %s)", "exp(-abs(%s)) + %s"};
    struct generate_helper *helper = &g->helpers[g->helper_count++];
    const char *last;

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
    text_string(g->out, "    return ");
    if (helper->floating)
        text_format(g->out, PICK(g, floating), "a", last);
    else
        text_format(g->out, PICK(g, plain), "a", last);
    text_string(g->out, "\n\n\n");
}

/* ---- signature ------------------------------------------------------------------------------ */

static void generate_extents(struct generator *g)
{
    for (int i = 0; i < GENERATE_EXTENTS; i++)
        g->extents[i] = (struct generate_extent){.constant = -1};
    g->extents[GENERATE_EXTENTS - 1].constant = 1 + generate_below(g, 5);
    snprintf(g->extents[GENERATE_EXTENTS - 1].text, sizeof g->extents[0].text, "%d",
             g->extents[GENERATE_EXTENTS - 1].constant);
}

static void generate_annotation(struct generator *g, const struct generate_tensor *tensor)
{
    text_format(g->out, ": %s[", akg_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank; i++) {
        const struct generate_extent *extent = &g->extents[tensor->axes[i]];
        text_string(g->out, i ? ", " : "");
        if (extent->constant >= 0)
            text_format(g->out, "%d", extent->constant);
        else
            text_format(g->out, "N%d", tensor->axes[i]);
    }
    text_char(g->out, ']');
}

/* A tensor parameter; the first ones tell every extent. */
static void generate_tensor_parameter(struct generator *g, int number, bool annotated)
{
    struct generate_tensor *tensor = &g->tensors[g->tensor_count++];

    *tensor =
        (struct generate_tensor){.dtype = generate_dtype(g), .rank = 1 + generate_below(g, GENERATE_RANK)};
    snprintf(tensor->name, sizeof tensor->name, "%c", 'p' + number);
    for (int i = 0; i < tensor->rank; i++) {
        tensor->axes[i] = generate_below(g, GENERATE_EXTENTS);
        for (int k = 0; k < GENERATE_EXTENTS - 1; k++)
            if (number == 0 && i < GENERATE_EXTENTS - 1)
                tensor->axes[i] = i;
    }
    if (!annotated && generate_chance(g, 80))
        for (int i = 0; i < tensor->rank; i++)
            if (tensor->axes[i] == GENERATE_EXTENTS - 1)
                tensor->axes[i] = 0;
    text_format(g->out, "%s", tensor->name);
    if (annotated)
        generate_annotation(g, tensor);
}

/* How the kernel names each extent: an annotation's name, a local, or the shape itself. Extents that no
 * parameter has become constants. */
static void generate_extent_names(struct generator *g, int parameters, const bool *annotated)
{
    for (int k = 0; k < GENERATE_EXTENTS - 1; k++) {
        struct generate_extent *extent = &g->extents[k];
        for (int i = 0; i < parameters && !extent->known; i++)
            for (int axis = 0; axis < g->tensors[i].rank && !extent->known; axis++) {
                if (g->tensors[i].axes[axis] != k)
                    continue;
                extent->known = true;
                if (annotated[i] && generate_chance(g, 60)) {
                    snprintf(extent->text, sizeof extent->text, "N%d", k);
                } else if (generate_chance(g, 60)) {
                    snprintf(extent->text, sizeof extent->text, "n%d", k);
                    text_format(g->out, "    n%d = %s.shape[%d]\n", k, g->tensors[i].name, axis);
                } else {
                    snprintf(extent->text, sizeof extent->text, "%c.shape[%d]", g->tensors[i].name[0], axis);
                }
            }
        if (!extent->known) {
            extent->constant = 1 + generate_below(g, 4);
            snprintf(extent->text, sizeof extent->text, "%d", extent->constant);
        }
    }
}

static void generate_attribute(struct generator *g, struct generate_parameter *parameter)
{
    static const akg_dtype dtypes[] = {AKG_INT64, AKG_FLOAT64, AKG_BOOL};
    enum generate_kind kind;
    struct generate_variable *variable;

    parameter->dtype = PICK(g, dtypes);
    kind = parameter->dtype == AKG_INT64     ? GENERATE_INTEGER
           : parameter->dtype == AKG_FLOAT64 ? GENERATE_REAL
                                             : GENERATE_SCALAR;
    variable = generate_declare(g, "q", kind, parameter->dtype, -1);
    variable->fixed = true;
    text_format(g->out, ", %s=%s", variable->name,
                kind == GENERATE_INTEGER ? "2"
                : kind == GENERATE_REAL  ? "0.5"
                                         : "True");
}

/* ---- calls --------------------------------------------------------------------------------------- */

static void generate_call_line(struct generator *g, const struct generate_parameter *parameters, int count)
{
    int extents[GENERATE_EXTENTS];

    for (int i = 0; i < GENERATE_EXTENTS; i++)
        extents[i] = g->extents[i].constant >= 0 ? g->extents[i].constant
                     : generate_chance(g, 90)    ? 1 + generate_below(g, 5)
                                                 : 0;
    text_format(g->out, "#@ k %d", generate_below(g, 1000000));
    for (int i = 0; i < count; i++) {
        const struct generate_tensor *tensor = parameters[i].tensor;
        if (!tensor && parameters[i].dtype == AKG_INT64) {
            text_format(g->out, " int=%d", generate_below(g, 7) - 1);
        } else if (!tensor && parameters[i].dtype == AKG_FLOAT64) {
            text_format(g->out, " real=%d.%d", generate_below(g, 4), generate_below(g, 100));
        } else if (!tensor) {
            text_format(g->out, " bool=%d", generate_below(g, 2));
        } else {
            text_format(g->out, " %s[", akg_dtype_name(tensor->dtype));
            for (int axis = 0; axis < tensor->rank; axis++) {
                int extent = extents[tensor->axes[axis]];
                if (generate_chance(g, 4))
                    extent += generate_below(g, 4) - 1;
                text_format(g->out, "%s%d", axis ? "," : "", extent < 0 ? 0 : extent);
            }
            text_string(g->out, generate_chance(g, 15) ? "]~" : "]");
        }
    }
    text_char(g->out, '\n');
}

/* ---- the kernel ------------------------------------------------------------------------------------ */

static void generate_outputs(struct generator *g, int count)
{
    for (int i = 0; i < count; i++) {
        struct generate_tensor *tensor = &g->tensors[g->tensor_count++];
        *tensor = (struct generate_tensor){
            .dtype = generate_dtype(g), .rank = 1 + generate_below(g, GENERATE_RANK), .writable = true};
        snprintf(tensor->name, sizeof tensor->name, "y%d", i % 10);
        text_format(g->out, "    %s = output_tensor((", tensor->name);
        for (int axis = 0; axis < tensor->rank; axis++) {
            tensor->axes[axis] = generate_below(g, GENERATE_EXTENTS);
            text_format(g->out, "%s%s", g->extents[tensor->axes[axis]].text,
                        tensor->rank == 1 || axis + 1 < tensor->rank ? ", " : "");
        }
        text_format(g->out, generate_chance(g, 50) ? "), \"%s\")\n" : "), %s)\n",
                    akg_dtype_name(tensor->dtype));
    }
}

static void generate_kernel(struct generator *g, struct generate_parameter *parameters, int *count)
{
    int tensors = 1 + generate_below(g, 3), attributes = generate_below(g, 3), outputs = generate_below(g, 3);
    bool annotated[GENERATE_PARAMETERS], written[GENERATE_PARAMETERS] = {false};
    bool all = generate_chance(g, 30);

    text_string(g->out, "def k(");
    for (int i = 0; i < tensors; i++) {
        text_string(g->out, i ? ", " : "");
        annotated[i] = all || generate_chance(g, 30);
        generate_tensor_parameter(g, i, annotated[i]);
        parameters[i].tensor = &g->tensors[i];
        written[i] = generate_chance(g, 25) || (outputs == 0 && i == 0);
        g->tensors[i].writable = written[i];
    }
    for (int i = 0; i < attributes; i++)
        generate_attribute(g, &parameters[tensors + i]);
    *count = tensors + attributes;
    text_string(g->out, "):\n");
    if (generate_chance(g, 10))
        text_string(g->out, "    \"\"\"Made at random.\"\"\"\n");
    generate_extent_names(g, tensors, annotated);
    generate_outputs(g, outputs);
    for (int i = 0; i < tensors; i++) /* so that the rank shows, also when nothing else uses it */
        if (!annotated[i]) {
            static const char *const zeros[] = {"", "0", "0, 0", "0, 0, 0"};
            text_format(g->out, "    if False:\n        u%d = %s[%s]\n", i, g->tensors[i].name,
                        zeros[g->tensors[i].rank]);
        }
    generate_block(g, 1, 2 + generate_below(g, 4));
    text_string(g->out, "    return ");
    for (int i = 0, first = 1; i < tensors + outputs; i++) {
        bool output = i >= tensors;
        if (!output && !written[i])
            continue;
        if (output)
            text_format(g->out, "%sy%d", first ? "" : ", ", i - tensors);
        else
            text_format(g->out, "%s%s", first ? "" : ", ", g->tensors[i].name);
        first = 0;
    }
    text_char(g->out, '\n');
}

void generate_program(struct text *out, uint64_t seed)
{
    static const int wildness[] = {0, 0, 2, 10};
    struct generator generator = {.random = random_seeded(seed, 1), .out = out}, *g = &generator;
    struct generate_parameter parameters[GENERATE_PARAMETERS] = {{0}};
    int count = 0, helpers = generate_below(g, GENERATE_HELPERS + 1);

    g->wild = PICK(g, wildness);
    g->budget = 4 + generate_below(g, 14);
    text_format(out, "# seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < helpers; i++)
        generate_helper(g);
    generate_extents(g);
    generate_kernel(g, parameters, &count);
    for (int i = 0; i < GENERATE_CALLS; i++)
        generate_call_line(g, parameters, count);
}

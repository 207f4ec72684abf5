/*
 * generate_signature.c: the parameters of the kernel, what its body must say of them, and calls.
 *
 * The tensors that every call has tell the extents; the others share them.
 */
#include "generate_private.h"

/* ---- parameters ------------------------------------------------------------------------------ */

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
    text_string(g->out, tensor->rank ? "]" : "()]");
}

static struct generate_parameter *generate_parameter(struct generator *g, enum generate_parameter_kind kind)
{
    struct generate_parameter *parameter = &g->parameters[g->parameter_count++];

    *parameter = (struct generate_parameter){.kind = kind, .dtype = AKG_DTYPE_COUNT};
    snprintf(parameter->name, sizeof parameter->name, "%c", 'o' + g->parameter_count);
    text_format(g->out, "%s%s%s", g->parameter_count > 1 ? ", " : "", kind == GENERATE_VARIADIC ? "*" : "",
                parameter->name);
    return parameter;
}

static void generate_shape(struct generator *g, struct generate_parameter *parameter, int rank)
{
    struct generate_tensor *tensor = &parameter->tensor;

    *tensor = (struct generate_tensor){.dtype = generate_dtype(g), .rank = rank};
    snprintf(tensor->name, sizeof tensor->name, "%s", parameter->name);
    for (int i = 0; i < rank; i++)
        tensor->axes[i] = generate_below(g, GENERATE_EXTENTS);
}

/* A tensor that every call has. The axes of the first one are different extents; `least` is 1 where it is
 * annotated. */
static void generate_tensor_parameter(struct generator *g, bool first, bool annotated, bool written)
{
    struct generate_parameter *parameter = generate_parameter(g, GENERATE_TENSOR);
    struct generate_tensor *tensor = &parameter->tensor;

    generate_shape(g, parameter, !first && generate_chance(g, 10) ? 0 : 1 + generate_below(g, GENERATE_RANK));
    for (int i = 0; first && i < tensor->rank && i < GENERATE_EXTENTS - 1; i++)
        tensor->axes[i] = i;
    if (!annotated && generate_chance(g, 80))
        for (int i = 0; i < tensor->rank; i++)
            if (tensor->axes[i] == GENERATE_EXTENTS - 1)
                tensor->axes[i] = 0;
    tensor->writable = written;
    parameter->least = annotated;
    if (annotated)
        generate_annotation(g, tensor);
    g->tensors[g->tensor_count++] = *tensor;
}

static void generate_attribute(struct generator *g)
{
    static const akg_dtype dtypes[] = {AKG_INT64, AKG_FLOAT64, AKG_BOOL};
    static const enum generate_kind kinds[] = {GENERATE_INTEGER, GENERATE_REAL, GENERATE_SCALAR};
    static const char *const initials[] = {"=2", "=0.5", "=True"};
    struct generate_parameter *parameter = generate_parameter(g, GENERATE_NUMBER);
    struct generate_variable *variable;
    int choice = generate_below(g, 3);

    parameter->dtype = dtypes[choice];
    variable = generate_declare(g, "", kinds[choice], dtypes[choice], -1);
    snprintf(variable->name, sizeof variable->name, "%s", parameter->name);
    variable->fixed = true;
    text_string(g->out, initials[choice]);
}

/* A tuple of ints: its items are integers of the call. */
static void generate_pair(struct generator *g)
{
    struct generate_parameter *parameter = generate_parameter(g, GENERATE_PAIR);

    for (int i = 0; i < 2; i++) {
        struct generate_variable *variable = generate_declare(g, "", GENERATE_INTEGER, AKG_DTYPE_COUNT, -1);
        snprintf(variable->name, sizeof variable->name, "%.4s[%d]", parameter->name, i);
    }
    text_string(g->out, "=(1, 2)");
}

void generate_parameters(struct generator *g, int outputs)
{
    int tensors = 1 + generate_below(g, 3), attributes = generate_below(g, 3);
    bool all = generate_chance(g, 30);

    generate_extents(g);
    for (int i = 0; i < tensors; i++)
        generate_tensor_parameter(g, i == 0, all || generate_chance(g, 30),
                                  generate_chance(g, 25) || (outputs == 0 && i == 0));
    while (generate_chance(g, 15) && g->parameter_count < GENERATE_PARAMETERS / 2) {
        struct generate_parameter *parameter = generate_parameter(g, GENERATE_OPTIONAL);
        generate_shape(g, parameter, generate_below(g, GENERATE_RANK));
        generate_annotation(g, &parameter->tensor);
        text_string(g->out, " = None");
    }
    for (int i = 0; i < attributes; i++)
        generate_attribute(g);
    if (generate_chance(g, 10)) {
        generate_parameter(g, GENERATE_MODE);
        text_string(g->out, "=\"two\"");
    }
    if (generate_chance(g, 10))
        generate_pair(g);
    if (generate_chance(g, 12)) {
        struct generate_parameter *parameter = generate_parameter(g, GENERATE_VARIADIC);
        parameter->least = generate_below(g, 2);
        generate_shape(g, parameter, 1 + generate_below(g, 2));
        if (generate_chance(g, 40))
            generate_annotation(g, &parameter->tensor);
    }
}

/* ---- what the body begins with ------------------------------------------------------------------- */

/* How the kernel names an extent that a parameter has: an annotation's name, a local, or the shape itself. */
static void generate_extent_name(struct generator *g, int number, const struct generate_parameter *parameter,
                                 int axis)
{
    struct generate_extent *extent = &g->extents[number];

    extent->known = true;
    if (parameter->least && generate_chance(g, 60)) {
        snprintf(extent->text, sizeof extent->text, "N%d", number);
    } else if (generate_chance(g, 60)) {
        snprintf(extent->text, sizeof extent->text, "n%d", number);
        if (parameter->tensor.rank == 2 && generate_chance(g, 20))
            text_format(g->out, axis ? "    _, n%d = %s.shape\n" : "    n%d, _ = %s.shape\n", number,
                        parameter->name);
        else
            text_format(g->out, "    n%d = %s.shape[%d]\n", number, parameter->name, axis);
    } else if (axis == 0 && generate_chance(g, 20)) {
        snprintf(extent->text, sizeof extent->text, "len(%s)", parameter->name);
    } else {
        snprintf(extent->text, sizeof extent->text, "%s.shape[%d]", parameter->name, axis);
    }
}

/* Extents that no tensor of every call has become constants. */
static void generate_extent_names(struct generator *g)
{
    for (int k = 0; k < GENERATE_EXTENTS - 1; k++) {
        struct generate_extent *extent = &g->extents[k];
        for (int i = 0; i < g->parameter_count; i++)
            for (int axis = 0; axis < g->parameters[i].tensor.rank && !extent->known; axis++)
                if (g->parameters[i].kind == GENERATE_TENSOR && g->parameters[i].tensor.axes[axis] == k)
                    generate_extent_name(g, k, &g->parameters[i], axis);
        if (!extent->known) {
            extent->constant = 1 + generate_below(g, 4);
            snprintf(extent->text, sizeof extent->text, "%d", extent->constant);
        }
    }
}

/* So that the rank shows, also when nothing else uses it. */
static void generate_ranks(struct generator *g)
{
    static const char *const zeros[] = {"()", "0", "0, 0", "0, 0, 0"};

    for (int i = 0; i < g->parameter_count; i++) {
        const struct generate_parameter *parameter = &g->parameters[i];
        if (parameter->kind == GENERATE_TENSOR && !parameter->least)
            text_format(g->out, "    if False:\n        u%d = %s[%s]\n", i, parameter->name,
                        zeros[parameter->tensor.rank]);
    }
}

void generate_prologue(struct generator *g)
{
    generate_extent_names(g);
    generate_ranks(g);
}

void generate_dtype_text(struct generator *g, akg_dtype dtype)
{
    const struct generate_tensor *tensor = generate_tensor(g, dtype, false);

    if (tensor && generate_chance(g, 30))
        text_format(g->out, "%s.dtype", tensor->name);
    else
        text_format(g->out, generate_chance(g, 50) ? "\"%s\"" : "%s", akg_dtype_name(dtype));
}

/* ---- calls --------------------------------------------------------------------------------------- */

static void generate_tensor_argument(struct generator *g, const struct generate_tensor *tensor,
                                     const int *extents)
{
    text_format(g->out, "%s[", akg_dtype_name(tensor->dtype));
    for (int axis = 0; axis < tensor->rank; axis++) {
        int extent = extents[tensor->axes[axis]];
        if (generate_chance(g, 4))
            extent += generate_below(g, 4) - 1;
        text_format(g->out, "%s%d", axis ? "," : "", extent < 0 ? 0 : extent);
    }
    text_string(g->out, generate_chance(g, 15) ? "]~" : "]");
}

static void generate_number_argument(struct generator *g, akg_dtype dtype)
{
    if (dtype == AKG_INT64 && generate_chance(g, 4)) /* loops up to it have no iteration; differences wrap */
        text_format(g->out, "int=%lld", (long long)INT64_MIN + generate_below(g, 40));
    else if (dtype == AKG_INT64)
        text_format(g->out, "int=%d", generate_below(g, 7) - 1);
    else if (dtype == AKG_FLOAT64)
        text_format(g->out, "real=%d.%d", generate_below(g, 4), generate_below(g, 100));
    else
        text_format(g->out, "bool=%d", generate_below(g, 2));
}

static void generate_tensors_argument(struct generator *g, const struct generate_parameter *parameter,
                                      const int *extents)
{
    int count = parameter->least + generate_below(g, 3);

    text_string(g->out, "tensors=");
    for (int i = 0; i < count; i++) {
        text_string(g->out, i ? "+" : "");
        generate_tensor_argument(g, &parameter->tensor, extents);
    }
}

/* The number of an earlier tensor of the same type, or -1. */
static int generate_twin(const struct generator *g, int number)
{
    const struct generate_tensor *tensor = &g->parameters[number].tensor;

    for (int i = 0; i < number; i++) {
        const struct generate_tensor *other = &g->parameters[i].tensor;
        bool same = g->parameters[i].kind == GENERATE_TENSOR && other->dtype == tensor->dtype &&
                    other->rank == tensor->rank;
        for (int axis = 0; axis < tensor->rank && same; axis++)
            same = other->axes[axis] == tensor->axes[axis];
        if (same)
            return i;
    }
    return -1;
}

static void generate_argument(struct generator *g, int number, const int *extents)
{
    static const char *const modes[] = {"one", "two", "three"};
    const struct generate_parameter *parameter = &g->parameters[number];

    switch (parameter->kind) {
    case GENERATE_NUMBER:
        generate_number_argument(g, parameter->dtype);
        return;
    case GENERATE_MODE:
        text_format(g->out, "text=%s", PICK(g, modes));
        return;
    case GENERATE_PAIR:
        text_format(g->out, "ints=%d,%d", generate_below(g, 4), generate_below(g, 3));
        return;
    case GENERATE_VARIADIC:
        generate_tensors_argument(g, parameter, extents);
        return;
    case GENERATE_OPTIONAL:
        if (generate_chance(g, 40)) {
            text_string(g->out, "none");
            return;
        }
        break;
    case GENERATE_TENSOR:
        if (generate_twin(g, number) >= 0 && generate_chance(g, 20)) {
            text_format(g->out, "@%d", generate_twin(g, number));
            return;
        }
        break;
    }
    generate_tensor_argument(g, &parameter->tensor, extents);
}

void generate_call_line(struct generator *g)
{
    int extents[GENERATE_EXTENTS];

    for (int i = 0; i < GENERATE_EXTENTS; i++)
        extents[i] = g->extents[i].constant >= 0 ? g->extents[i].constant
                     : generate_chance(g, 90)    ? 1 + generate_below(g, 5)
                                                 : 0;
    text_format(g->out, "#@ k %d", generate_below(g, 1000000));
    for (int i = 0; i < g->parameter_count; i++) {
        text_char(g->out, ' ');
        generate_argument(g, i, extents);
    }
    text_char(g->out, '\n');
}

/*
 * generate_whole.c: statements about tensors, tuples and parameters as a whole.
 */
#include <string.h>

#include "generate_private.h"

/* ---- temporaries and slices --------------------------------------------------------------------- */

void generate_allocation(struct generator *g, int indent)
{
    struct generate_tensor *tensor = &g->tensors[g->tensor_count];

    generate_line(g, indent);
    if (g->tensor_count == GENERATE_TENSORS) {
        text_string(g->out, "pass\n");
        return;
    }
    *tensor = (struct generate_tensor){
        .dtype = generate_dtype(g), .rank = 1 + generate_below(g, 2), .writable = true};
    if (generate_chance(g, 6))
        tensor->rank = 0;
    snprintf(tensor->name, sizeof tensor->name, "t%d", g->names++ % 1000000);
    text_format(g->out, "%s = allocate((", tensor->name);
    for (int i = 0; i < tensor->rank; i++) {
        tensor->axes[i] = generate_below(g, GENERATE_EXTENTS);
        text_format(g->out, "%s,%s", g->extents[tensor->axes[i]].text, i + 1 < tensor->rank ? " " : "");
    }
    text_string(g->out, "), ");
    generate_dtype_text(g, tensor->dtype);
    text_string(g->out, ")\n");
    g->tensor_count++;
}

static void generate_slice_access(struct generator *g, const struct generate_tensor *tensor,
                                  const char *slice)
{
    text_format(g->out, "%s[", tensor->name);
    for (int i = 0; i + 1 < tensor->rank; i++) {
        generate_index(g, tensor->axes[i], 1);
        text_string(g->out, ", ");
    }
    text_format(g->out, "%s]", slice);
}

/* The last axis of one tensor from the last axis of another, or of itself. */
bool generate_slice(struct generator *g, int indent)
{
    const struct generate_tensor *to = generate_tensor(g, AKG_DTYPE_COUNT, true), *from;
    char slice[64];
    const char *size;

    if (!to || to->rank == 0)
        return false;
    from = generate_tensor(g, to->dtype, false);
    if (from->rank == 0 || from->axes[from->rank - 1] != to->axes[to->rank - 1])
        from = to;
    size = g->extents[to->axes[to->rank - 1]].text;
    switch (generate_below(g, 8)) {
    case 0:
        snprintf(slice, sizeof slice, ":");
        break;
    case 1:
        snprintf(slice, sizeof slice, "0:%s", size);
        break;
    case 2:
        snprintf(slice, sizeof slice, "1:%s", size);
        break;
    case 3:
        snprintf(slice, sizeof slice, "0:%s:2", size);
        break;
    case 4:
        snprintf(slice, sizeof slice, ":-1");
        break;
    case 5:
        snprintf(slice, sizeof slice, "::%d", 1 + generate_below(g, 3));
        break;
    case 6:
        snprintf(slice, sizeof slice, "-2:");
        break;
    default:
        snprintf(slice, sizeof slice, "%s - 1:%s", size, size);
    }
    generate_line(g, indent);
    generate_slice_access(g, to, slice);
    if (generate_chance(g, 25))
        text_format(g->out, " %s ", generate_update(g, to->dtype));
    else
        text_string(g->out, " = ");
    generate_slice_access(g, from, slice);
    if (to->dtype != AKG_BOOL && generate_chance(g, 40)) {
        text_string(g->out, " + ");
        generate_operand(g, to->dtype, 3);
    }
    text_char(g->out, '\n');
    return true;
}

/* ---- kernels that are called ---------------------------------------------------------------------- */

static struct generate_tensor *generate_result(struct generator *g, const struct generate_tensor *like,
                                               int rank)
{
    struct generate_tensor *tensor = &g->tensors[g->tensor_count++];

    *tensor = *like;
    tensor->rank = rank;
    tensor->writable = true;
    snprintf(tensor->name, sizeof tensor->name, "t%d", g->names++ % 1000000);
    return tensor;
}

/* What they give are temporaries, of which the caller may do what it likes. */
bool generate_kernel_call(struct generator *g, int indent)
{
    int number = g->callee_count ? generate_below(g, g->callee_count) : 0;
    enum generate_callee kind = g->callees[number];
    const struct generate_tensor *from = generate_tensor(g, AKG_DTYPE_COUNT, kind == GENERATE_IN_PLACE);
    struct generate_tensor like, *first, *second;

    if (!g->callee_count || !from || g->tensor_count + 2 > GENERATE_TENSORS ||
        (kind == GENERATE_ROWS && from->rank == 0))
        return false;
    like = *from;
    generate_line(g, indent);
    if (kind == GENERATE_IN_PLACE) {
        text_format(g->out, "e%d(%s)\n", number, like.name);
        return true;
    }
    first = generate_result(g, &like, kind == GENERATE_ROWS ? like.rank - 1 : like.rank);
    text_string(g->out, first->name);
    if (kind == GENERATE_TWO) {
        second = generate_result(g, &like, 0);
        text_format(g->out, ", %s", second->name);
    }
    text_format(g->out, " = e%d(%s)\n", number, like.name);
    return true;
}

/* ---- tuples ----------------------------------------------------------------------------------------- */

/* A tuple of integers, by place or taken apart: each item is what it was made of. */
bool generate_tuple(struct generator *g, int indent)
{
    struct generate_variable *items[3], made[3];
    char name[12];
    int count = 1 + generate_below(g, 3);

    for (int i = 0; i < count; i++) {
        items[i] = generate_untyped(g, -1);
        if (!items[i] || g->variable_count + count >= GENERATE_VARIABLES)
            return false;
        made[i] = *items[i];
    }
    snprintf(name, sizeof name, "a%d", g->names++ % 1000);
    generate_line(g, indent);
    text_format(g->out, "%s = (", name);
    for (int i = 0; i < count; i++)
        text_format(g->out, "%s,%s", made[i].name, i + 1 < count ? " " : "");
    text_format(g->out, ")%s\n", generate_chance(g, 30) ? " + (0, 1)" : "");
    for (int i = 0; i < count; i++) {
        struct generate_variable *variable =
            generate_declare(g, "", made[i].kind, made[i].dtype, made[i].extent);
        snprintf(variable->name, sizeof variable->name, "%.5s[%d]", name, i);
    }
    return true;
}

/* ---- parameters that a call may do without ------------------------------------------------------------ */

static struct generate_parameter *generate_find(struct generator *g, enum generate_parameter_kind kind)
{
    struct generate_parameter *found = NULL;
    int count = 0;

    for (int i = 0; i < g->parameter_count; i++)
        if (g->parameters[i].kind == kind && generate_below(g, ++count) == 0)
            found = &g->parameters[i];
    return found;
}

/* A block in which that tensor can be read. */
static void generate_block_with(struct generator *g, int indent, const struct generate_tensor *tensor)
{
    int tensors = g->tensor_count;

    if (g->tensor_count < GENERATE_TENSORS)
        g->tensors[g->tensor_count++] = *tensor;
    generate_block(g, indent + 1, 1 + generate_below(g, 2));
    g->tensor_count = tensors;
}

bool generate_optional(struct generator *g, int indent)
{
    const struct generate_parameter *parameter = generate_find(g, GENERATE_OPTIONAL);
    bool both = generate_chance(g, 30);

    if (!parameter)
        return false;
    generate_line(g, indent);
    text_format(g->out, "if %s is not None:\n", parameter->name);
    generate_block_with(g, indent, &parameter->tensor);
    if (both) {
        generate_line(g, indent);
        text_string(g->out, "else:\n");
        generate_block(g, indent + 1, 1);
    }
    return true;
}

/* A loop over the tensors, which is unrolled; or the first of them. */
bool generate_variadic(struct generator *g, int indent)
{
    const struct generate_parameter *parameter = generate_find(g, GENERATE_VARIADIC);
    struct generate_variable *variable = NULL;
    struct generate_tensor tensor;
    int variables = g->variable_count;
    bool leavable = g->leavable;

    if (!parameter)
        return false;
    tensor = parameter->tensor;
    generate_line(g, indent);
    switch (generate_below(g, 3)) {
    case 0:
        text_format(g->out, "if len(%s) > %d:\n", parameter->name, parameter->least);
        snprintf(tensor.name, sizeof tensor.name, "%.4s[%d]", parameter->name, parameter->least);
        break;
    case 1:
        variable = generate_declare(g, "c", GENERATE_INTEGER, AKG_DTYPE_COUNT, -1);
        snprintf(tensor.name, sizeof tensor.name, "x%d", g->names++ % 1000);
        text_format(g->out, "for %s, %s in enumerate(%s):\n", variable->name, tensor.name, parameter->name);
        g->leavable = false;
        break;
    default:
        snprintf(tensor.name, sizeof tensor.name, "x%d", g->names++ % 1000);
        text_format(g->out, "for %s in %s:\n", tensor.name, parameter->name);
        g->leavable = false;
    }
    generate_block_with(g, indent, &tensor);
    g->variable_count = variables;
    g->leavable = leavable;
    return true;
}

/* What is decided when the kernel is compiled: strings, dtypes, ranks. */
bool generate_mode(struct generator *g, int indent)
{
    const struct generate_parameter *parameter = generate_find(g, GENERATE_MODE);
    const struct generate_tensor *tensor = generate_tensor(g, AKG_DTYPE_COUNT, false);

    generate_line(g, indent);
    if (parameter && generate_chance(g, 80))
        text_format(g->out, "if %s %s:\n", parameter->name,
                    generate_chance(g, 50) ? "== \"one\"" : "in (\"one\", \"three\")");
    else if (generate_chance(g, 50))
        text_format(g->out, "if %s.dtype == %s:\n", tensor->name, akg_dtype_name(generate_dtype(g)));
    else
        text_format(g->out, "if %s.ndim == %d:\n", tensor->name, generate_below(g, GENERATE_RANK + 1));
    generate_block(g, indent + 1, 1 + generate_below(g, 2));
    return true;
}

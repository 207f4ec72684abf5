/*
 * generate_statement.c: random blocks: stores, scalars, branches, loops, asserts.
 */
#include "generate_private.h"

/* Names declared in a block go with it. */
struct generate_scope {
    int variables, tensors, grids, loops;
    bool leavable;
};

static struct generate_scope generate_enter(struct generator *g)
{
    return (struct generate_scope){g->variable_count, g->tensor_count, g->grid_count, g->loops, g->leavable};
}

static void generate_leave(struct generator *g, struct generate_scope scope)
{
    g->variable_count = scope.variables;
    g->tensor_count = scope.tensors;
    g->grid_count = scope.grids;
    g->loops = scope.loops;
    g->leavable = scope.leavable;
}

void generate_line(struct generator *g, int indent)
{
    text_repeat(g->out, ' ', 4 * indent);
}

const char *generate_update(struct generator *g, akg_dtype dtype)
{
    static const char *const floating[] = {"+=", "-=", "*=", "+=", "/=", "//=", "**="};
    static const char *const integral[] = {"+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>="};
    static const char *const logical[] = {"&=", "|=", "^="};

    return dtype == AKG_BOOL       ? PICK(g, logical)
           : dtype_is_float(dtype) ? PICK(g, floating)
                                   : PICK(g, integral);
}

static void generate_store(struct generator *g, int indent)
{
    const struct generate_tensor *tensor = generate_tensor(g, AKG_DTYPE_COUNT, true);

    generate_line(g, indent);
    generate_access(g, tensor, 0);
    if (generate_chance(g, 30)) {
        text_format(g->out, " %s ", generate_update(g, tensor->dtype));
        generate_expression(g, tensor->dtype, 1);
    } else {
        text_string(g->out, " = ");
        generate_operand(g, tensor->dtype, 0);
    }
    text_string(g->out, generate_chance(g, 4) ? "; pass\n" : "\n");
}

static void generate_declaration(struct generator *g, int indent)
{
    akg_dtype dtype = generate_dtype(g);
    size_t place;
    char name[12];

    generate_line(g, indent);
    if (g->variable_count == GENERATE_VARIABLES) {
        text_string(g->out, "pass\n");
        return;
    }
    if (dtype != AKG_BOOL &&
        generate_chance(g, 30)) { /* an untyped number that takes the dtype of what it meets */
        struct generate_variable *variable = generate_declare(g, "v", GENERATE_SCALAR, dtype, -1);
        snprintf(name, sizeof name, "%s", variable->name);
        g->variable_count--;
        text_format(g->out, "%s = %s\n", name, dtype_is_float(dtype) ? "0.0" : "1");
        generate_line(g, indent);
        text_format(g->out, "%s += ", name);
        generate_expression(g, dtype, 1);
        place = (size_t)g->variable_count++;
        g->variables[place] =
            (struct generate_variable){.kind = GENERATE_SCALAR, .dtype = dtype, .extent = -1};
        snprintf(g->variables[place].name, sizeof name, "%s", name);
        text_char(g->out, '\n');
        return;
    }
    snprintf(name, sizeof name, "v%d", g->names % 1000000);
    text_format(g->out, generate_chance(g, 20) ? "%s: %s = " : "%s = ", name, akg_dtype_name(dtype));
    generate_expression(g, dtype, 0);
    generate_declare(g, "v", GENERATE_SCALAR, dtype, -1);
    text_char(g->out, '\n');
}

static bool generate_assignment(struct generator *g, int indent)
{
    struct generate_variable *variable = generate_scalar(g, AKG_DTYPE_COUNT, true), *other;

    if (!variable)
        return false;
    generate_line(g, indent);
    other = generate_scalar(g, variable->dtype, true);
    if (other != variable && generate_chance(g, 15)) {
        text_format(g->out, "%s, %s = %s, %s\n", variable->name, other->name, other->name, variable->name);
        return true;
    }
    text_format(g->out, "%s %s ", variable->name,
                generate_chance(g, 50) ? "=" : generate_update(g, variable->dtype));
    generate_expression(g, variable->dtype, 1);
    text_char(g->out, '\n');
    return true;
}

static void generate_if(struct generator *g, int indent)
{
    int branches = generate_chance(g, 20) ? 2 : 1;

    for (int i = 0; i < branches; i++) {
        generate_line(g, indent);
        text_string(g->out, i ? "elif " : "if ");
        generate_condition(g, 1);
        text_string(g->out, ":\n");
        generate_block(g, indent + 1, 1 + generate_below(g, 2));
    }
    if (generate_chance(g, 40)) {
        generate_line(g, indent);
        text_string(g->out, "else:\n");
        generate_block(g, indent + 1, 1 + generate_below(g, 2));
    }
}

static void generate_with(struct generator *g, int indent)
{
    generate_line(g, indent);
    text_string(g->out, "with attr(\"pragma\", 1):\n");
    generate_block(g, indent + 1, 1 + generate_below(g, 2));
}

/* ---- loops --------------------------------------------------------------------------------- */

static void generate_loop_body(struct generator *g, int indent, bool leavable)
{
    g->loops++;
    g->leavable = leavable;
    generate_block(g, indent + 1, 1 + generate_below(g, 3));
}

/* range(...) that stays within an extent, or (extent -1) somewhere. */
static void generate_range(struct generator *g, int extent, const char **hint)
{
    static const char *const hints[] = {"range",  "range",     "range",    "range",  "range",
                                        "serial", "vectorize", "parallel", "reduce", "unroll"};
    const char *size = g->extents[extent].text;
    struct generate_variable *outer = generate_untyped(g, extent);
    bool triangular = outer && outer->kind == GENERATE_LOOP && outer->extent == extent;

    *hint = PICK(g, hints);
    switch (generate_below(g, triangular ? 11 : 8)) {
    case 0:
        text_format(g->out, "range(%s - 1, -1, -1)", size);
        break;
    case 1:
        text_format(g->out, "range(%d, %s)", generate_below(g, 3), size);
        break;
    case 2:
        text_format(g->out, "range(0, %s, %d)", size, 2 + generate_below(g, 2));
        break;
    case 4:
        text_format(g->out, "reversed(range(%d, %s))", generate_below(g, 2), size);
        break;
    case 3:
        text_format(g->out, "range(%s - 1, %d, -%d)", size, generate_below(g, 2) - 1,
                    1 + generate_below(g, 2));
        break;
    case 8:
        text_format(g->out, "range(%s + %d, %s)", outer->name, generate_below(g, 2), size);
        break;
    case 9:
        text_format(g->out, "range(%s%s)", outer->name, generate_chance(g, 50) ? " + 1" : "");
        break;
    case 10:
        text_format(g->out, "range(%s, -1, -1)", outer->name);
        break;
    default:
        text_format(g->out, "%s(%s)", *hint, size);
    }
}

/* for p in grid(SHAPE): whose items are loop variables. */
static bool generate_grid(struct generator *g, int indent)
{
    const struct generate_tensor *tensor = generate_tensor(g, AKG_DTYPE_COUNT, false);
    struct generate_grid *grid = &g->grids[g->grid_count];

    if (g->grid_count == GENERATE_GRIDS)
        return false;
    g->grid_count++;
    *grid = (struct generate_grid){.rank = tensor->rank};
    snprintf(grid->name, sizeof grid->name, "g%d", g->names++ % 1000);
    text_format(g->out, "for %s in grid(%s.shape):\n", grid->name, tensor->name);
    for (int axis = 0; axis < grid->rank; axis++) {
        struct generate_variable *item =
            generate_declare(g, "", GENERATE_LOOP, AKG_DTYPE_COUNT, tensor->axes[axis]);
        grid->axes[axis] = tensor->axes[axis];
        snprintf(item->name, sizeof item->name, "%.5s[%c]", grid->name, '0' + axis);
    }
    g->loops += grid->rank - 1;
    generate_loop_body(g, indent, false);
    return true;
}

static void generate_for(struct generator *g, int indent)
{
    struct generate_scope scope = generate_enter(g);
    int extent = generate_below(g, GENERATE_EXTENTS);
    int second = generate_below(g, GENERATE_EXTENTS);
    const char *hint;

    generate_line(g, indent);
    if (generate_chance(g, 12) && generate_grid(g, indent)) {
        generate_leave(g, scope);
        return;
    }
    if (generate_chance(g, 12)) {
        struct generate_variable *a = generate_declare(g, "i", GENERATE_LOOP, AKG_DTYPE_COUNT, extent);
        struct generate_variable *b = generate_declare(g, "j", GENERATE_LOOP, AKG_DTYPE_COUNT, second);
        text_format(g->out, "for %s, %s in grid((%s, %s)):\n", a->name, b->name, g->extents[extent].text,
                    g->extents[second].text);
        g->loops++;
        generate_loop_body(g, indent, false);
    } else if (generate_chance(g, 8)) {
        struct generate_variable *variable = generate_declare(g, "c", GENERATE_INTEGER, AKG_DTYPE_COUNT, -1);
        text_format(g->out, "for %s in const_range(%d):\n", variable->name, 1 + generate_below(g, 3));
        generate_loop_body(g, indent, false);
    } else {
        text_format(g->out, "for i%d in ", g->names % 1000000);
        generate_range(g, extent, &hint);
        generate_declare(g, "i", GENERATE_LOOP, AKG_DTYPE_COUNT, extent);
        text_string(g->out, ":\n");
        generate_loop_body(g, indent, true);
    }
    generate_leave(g, scope);
}

/* Ends after a few rounds: the first thing it does is to count. */
static void generate_while(struct generator *g, int indent)
{
    struct generate_scope scope = generate_enter(g);
    struct generate_variable *counter = generate_declare(g, "w", GENERATE_SCALAR, AKG_INT32, -1);
    char name[12];

    counter->fixed = true;
    snprintf(name, sizeof name, "%s", counter->name);
    generate_line(g, indent);
    text_format(g->out, "%s = int32(%d)\n", name, generate_below(g, 2));
    generate_line(g, indent);
    text_format(g->out, "while %s < %d", name, 1 + generate_below(g, 4));
    if (generate_chance(g, 30)) {
        text_string(g->out, " and ");
        generate_expression(g, AKG_BOOL, 2);
    }
    text_string(g->out, ":\n");
    generate_line(g, indent + 1);
    text_format(g->out, "%s += 1\n", name);
    generate_loop_body(g, indent, true);
    generate_leave(g, scope);
    if (g->variable_count < GENERATE_VARIABLES) { /* the counter was declared outside of the loop */
        counter = &g->variables[g->variable_count++];
        *counter = (struct generate_variable){
            .kind = GENERATE_SCALAR, .dtype = AKG_INT32, .extent = -1, .fixed = true};
        snprintf(counter->name, sizeof counter->name, "%s", name);
    }
}

/* ---- the rest ------------------------------------------------------------------------------------ */

/* About an extent, known when the call is checked, or about data (false for NaN). Never about constants
 * alone. */
static void generate_assertion(struct generator *g, int indent)
{
    const struct generate_tensor *tensor = generate_tensor(g, AKG_DTYPE_COUNT, false);
    const struct generate_extent *extent = &g->extents[generate_below(g, GENERATE_EXTENTS)];

    generate_line(g, indent);
    if (extent->constant < 0 && generate_chance(g, 60)) {
        text_format(g->out, "assert %s %s %d, \"the extent\"\n", extent->text,
                    generate_chance(g, 80) ? ">=" : "!=", generate_below(g, 2));
        return;
    }
    text_string(g->out, "assert ");
    generate_access(g, tensor, 2);
    text_string(g->out, generate_chance(g, 70) ? " == " : " != ");
    generate_access(g, tensor, 2);
    text_string(g->out, ", \"the data\"\n");
}

/* What a parameter has that is no tensor of every call. */
static bool generate_parameter_block(struct generator *g, int indent)
{
    switch (generate_below(g, 3)) {
    case 0:
        return generate_optional(g, indent);
    case 1:
        return generate_variadic(g, indent);
    default:
        return generate_mode(g, indent);
    }
}

static void generate_statement(struct generator *g, int indent)
{
    bool small = indent > 4 || g->budget <= 0;
    int choice = generate_below(g, 100);

    g->budget--;
    if (choice < (indent == 1 ? 40 : 18) && !small)
        generate_for(g, indent);
    else if (choice < 27 && indent < 6)
        generate_if(g, indent);
    else if (choice < 28 && !small)
        generate_with(g, indent);
    else if (choice < 32 && !small)
        generate_while(g, indent);
    else if (choice < 44)
        generate_declaration(g, indent);
    else if (choice < 54 && generate_assignment(g, indent))
        return;
    else if (choice < 58)
        generate_allocation(g, indent);
    else if (choice < 63 && generate_slice(g, indent))
        return;
    else if (choice < 64)
        generate_assertion(g, indent);
    else if (choice < 67 && generate_kernel_call(g, indent))
        return;
    else if (choice < 69 && generate_tuple(g, indent))
        return;
    else if (choice < 75 && indent < 6 && generate_parameter_block(g, indent))
        return;
    else
        generate_store(g, indent);
}

void generate_block(struct generator *g, int indent, int count)
{
    struct generate_scope scope = generate_enter(g);

    for (int i = 0; i < count; i++)
        generate_statement(g, indent);
    if (g->leavable && g->loops > 0 && indent > 2 && generate_chance(g, 12)) {
        generate_line(g, indent);
        if (generate_chance(g, 70)) {
            text_string(g->out, "if ");
            generate_condition(g, 2);
            text_string(g->out, ":\n");
            generate_line(g, indent + 1);
        }
        text_string(g->out, generate_chance(g, 50) ? "break\n" : "continue\n");
    }
    generate_leave(g, scope);
}

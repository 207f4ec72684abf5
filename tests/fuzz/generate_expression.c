/*
 * generate_expression.c: random expressions of a wanted dtype, indices, conditions.
 */
#include <string.h>

#include "generate_private.h"

akg_dtype generate_dtype(struct generator *g)
{
    static const akg_dtype usual[] = {AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64};

    return generate_chance(g, 55) ? PICK(g, usual) : (akg_dtype)generate_below(g, AKG_DTYPE_COUNT);
}

struct generate_variable *generate_declare(struct generator *g, const char *prefix, enum generate_kind kind,
                                           akg_dtype dtype, int extent)
{
    struct generate_variable *variable;

    if (g->variable_count == GENERATE_VARIABLES)
        g->variable_count--;
    variable = &g->variables[g->variable_count++];
    *variable = (struct generate_variable){.kind = kind, .dtype = dtype, .extent = extent};
    snprintf(variable->name, sizeof variable->name, "%.3s%d", prefix, g->names++ % 1000000);
    return variable;
}

static struct generate_variable *generate_pick_variable(struct generator *g, enum generate_kind kind,
                                                        akg_dtype dtype, int extent, bool assignable)
{
    struct generate_variable *found = NULL;
    int count = 0;

    for (int i = 0; i < g->variable_count; i++) {
        struct generate_variable *variable = &g->variables[i];
        if (variable->kind == kind && (dtype == AKG_DTYPE_COUNT || variable->dtype == dtype) &&
            (extent < 0 || variable->extent == extent) && !(assignable && variable->fixed) &&
            generate_below(g, ++count) == 0)
            found = variable;
    }
    return found;
}

struct generate_variable *generate_scalar(struct generator *g, akg_dtype dtype, bool assignable)
{
    return generate_pick_variable(g, GENERATE_SCALAR, dtype, -1, assignable);
}

struct generate_variable *generate_untyped(struct generator *g, int extent)
{
    struct generate_variable *found = NULL;

    if (extent >= 0)
        found = generate_pick_variable(g, GENERATE_LOOP, AKG_DTYPE_COUNT, extent, false);
    if (!found)
        found = generate_pick_variable(g, generate_chance(g, 75) ? GENERATE_LOOP : GENERATE_INTEGER,
                                       AKG_DTYPE_COUNT, -1, false);
    return found;
}

struct generate_tensor *generate_tensor(struct generator *g, akg_dtype dtype, bool writable)
{
    struct generate_tensor *found = NULL;
    int count = 0;

    for (int i = 0; i < g->tensor_count; i++)
        if ((dtype == AKG_DTYPE_COUNT || g->tensors[i].dtype == dtype) &&
            (!writable || g->tensors[i].writable) && generate_below(g, ++count) == 0)
            found = &g->tensors[i];
    return found;
}

void generate_literal(struct generator *g, akg_dtype dtype)
{
    static const char *const reals[] = {"0.0",  "1.0", "0.5",   "2.0",  "1e-3", "0.1",
                                        "3.25", "1e4", "100.0", "-1.5", "7.0e1"};
    static const char *const wholes[] = {"0", "1", "2", "3", "5", "7", "0x1f", "100", "1_0"};

    if (dtype == AKG_BOOL)
        text_string(g->out, generate_chance(g, 50) ? "True" : "False");
    else if (dtype_is_float(dtype) && generate_chance(g, 75))
        text_string(g->out, PICK(g, reals));
    else if (dtype_is_signed(dtype) && generate_chance(g, 15))
        text_format(g->out, "-%d", generate_below(g, 9));
    else
        text_string(g->out, PICK(g, wholes));
}

static void generate_number_access(struct generator *g, const struct generate_tensor *tensor, int depth);

/* ---- indices ------------------------------------------------------------------------------- */

/* Any integer at all. */
static void generate_integer(struct generator *g, int depth)
{
    struct generate_variable *variable = generate_untyped(g, -1);
    akg_dtype dtype = generate_chance(g, 70) ? AKG_INT32 : AKG_INT64;

    if (generate_chance(g, 40) && generate_tensor(g, dtype, false))
        generate_number_access(g, generate_tensor(g, dtype, false), depth + 2);
    else if (generate_chance(g, 30) && generate_scalar(g, dtype, false))
        text_string(g->out, generate_scalar(g, dtype, false)->name);
    else if (variable)
        text_string(g->out, variable->name);
    else
        text_format(g->out, "%d", generate_below(g, 4));
}

/* One that may be outside of the axis. */
static void generate_wild_index(struct generator *g, int extent, int depth)
{
    struct generate_variable *variable = generate_untyped(g, extent);
    const char *name = variable ? variable->name : "0";
    const char *size = g->extents[extent].text;

    if (g->extents[extent].constant >= 0) { /* surely outside would be an error: it hangs on data */
        text_format(g->out, "%s + ", generate_chance(g, 50) ? "0" : "1");
        generate_access(g, generate_tensor(g, AKG_INT32, false), depth + 2);
        return;
    }
    switch (generate_below(g, 9)) {
    case 0:
        text_format(g->out, "%s + %d", name, 1 + generate_below(g, 3));
        break;
    case 1:
        text_format(g->out, "%s - %d", name, 1 + generate_below(g, 2));
        break;
    case 2:
        text_format(g->out, "%d * %s", 2 + generate_below(g, 2), name);
        break;
    case 3:
        text_format(g->out, "%d", generate_below(g, 3));
        break;
    case 4:
        text_format(g->out, "%s - %s", size, name);
        break;
    case 5:
        text_format(g->out, "%s * %s - 1", name, name);
        break;
    case 6:
        text_format(g->out, "%s + ", name);
        generate_integer(g, depth + 1);
        break;
    case 7:
        text_format(g->out, "(%s + %d) // 2", name, generate_below(g, 4));
        break;
    default:
        generate_integer(g, depth);
    }
}

void generate_index(struct generator *g, int extent, int depth)
{
    struct generate_variable *variable = generate_untyped(g, extent);
    const char *size = g->extents[extent].text;
    bool fits = variable && variable->kind == GENERATE_LOOP && variable->extent == extent;

    if (generate_chance(g, g->wild) &&
        (g->extents[extent].constant < 0 || generate_tensor(g, AKG_INT32, false))) {
        generate_wild_index(g, extent, depth);
    } else if (fits && generate_chance(g, 72)) {
        text_string(g->out, variable->name);
    } else if (fits && generate_chance(g, 75)) {
        int by = 1 + generate_below(g, 3);
        switch (generate_below(g, 6)) {
        case 0:
            text_format(g->out, "%s - 1 - %s", size, variable->name);
            break;
        case 1:
            text_format(g->out, "min(%s + %d, %s - 1)", variable->name, by, size);
            break;
        case 2:
            text_format(g->out, "max(%s - %d, 0)", variable->name, by);
            break;
        case 3:
            text_format(g->out, "%s // %d", variable->name, by);
            break;
        case 4:
            text_format(g->out, "%s - %s %% %d", variable->name, variable->name, by);
            break;
        default:
            text_format(g->out, "(%s + %d) %% %s", variable->name, by, size);
        }
    } else if (generate_chance(g, 30)) {
        text_string(g->out, "abs(");
        generate_integer(g, depth);
        text_format(g->out, ") %% %s", size);
    } else {
        text_char(g->out, '(');
        generate_integer(g, depth);
        text_format(g->out, ") %% %s", size);
    }
}

/* The grid whose variable is all indices of the tensor, or NULL. */
static const struct generate_grid *generate_matching_grid(struct generator *g,
                                                          const struct generate_tensor *tensor)
{
    for (int i = g->grid_count - 1; i >= 0; i--) {
        bool same = g->grids[i].rank == tensor->rank;
        for (int axis = 0; axis < tensor->rank && same; axis++)
            same = g->grids[i].axes[axis] == tensor->axes[axis];
        if (same)
            return &g->grids[i];
    }
    return NULL;
}

/* All indices by a grid's variable. */
static bool generate_grid_indices(struct generator *g, const struct generate_tensor *tensor)
{
    const struct generate_grid *grid = generate_matching_grid(g, tensor);

    if (!grid || generate_chance(g, 25))
        return false;
    if (grid->rank > 0 && generate_chance(g, 10))
        text_format(g->out, "%s[%s[:-1] + (%s[-1],)]", tensor->name, grid->name, grid->name);
    else
        text_format(g->out, generate_chance(g, 10) ? "%s[*%s]" : "%s[%s]", tensor->name, grid->name);
    return true;
}

/* For places where only a number can stand: `v = s` would make v another name of the tensor. */
static void generate_number_access(struct generator *g, const struct generate_tensor *tensor, int depth)
{
    if (tensor->rank == 0 && generate_chance(g, 50))
        text_string(g->out, tensor->name);
    else
        generate_access(g, tensor, depth);
}

void generate_access(struct generator *g, const struct generate_tensor *tensor, int depth)
{
    if (generate_grid_indices(g, tensor))
        return;
    text_format(g->out, "%s[", tensor->name);
    for (int i = 0; i < tensor->rank; i++) {
        text_string(g->out, i ? ", " : "");
        if (depth > 5)
            text_format(g->out, "0");
        else
            generate_index(g, tensor->axes[i], depth + 1);
    }
    text_string(g->out, tensor->rank ? "]" : "()]");
}

/* ---- conditions ------------------------------------------------------------------------------ */

static const char *generate_comparison(struct generator *g)
{
    static const char *const signs[] = {"<", "<=", ">", ">=", "==", "!="};

    return PICK(g, signs);
}

static akg_dtype generate_number(struct generator *g)
{
    akg_dtype dtype = generate_dtype(g);

    return dtype == AKG_BOOL ? AKG_FLOAT32 : dtype;
}

/* About loop variables and extents alone: what analyses understand. */
static void generate_static_condition(struct generator *g)
{
    struct generate_variable *variable = generate_untyped(g, -1);
    const char *size = g->extents[generate_below(g, GENERATE_EXTENTS)].text;

    if (!variable) {
        text_format(g->out, "%s %s %d", size, generate_comparison(g), generate_below(g, 4));
        return;
    }
    switch (generate_below(g, 7)) {
    case 5:
        text_format(g->out, "%s %s (0, %d, %s)", variable->name, generate_chance(g, 70) ? "in" : "not in",
                    1 + generate_below(g, 4), size);
        break;
    case 6:
        text_format(g->out, "likely(%s %s %s)", variable->name, generate_comparison(g), size);
        break;
    case 0:
        text_format(g->out, "0 <= %s - %d < %s", variable->name, generate_below(g, 3), size);
        break;
    case 1:
        text_format(g->out, "%s + %d < %s", variable->name, generate_below(g, 3), size);
        break;
    case 2:
        text_format(g->out, "%s %% %d %s %d", variable->name, 2 + generate_below(g, 3),
                    generate_comparison(g), generate_below(g, 3));
        break;
    case 3:
        text_format(g->out, "%s %s %s", variable->name, generate_comparison(g), size);
        break;
    default:
        text_format(g->out, "%s %s %d", variable->name, generate_comparison(g), generate_below(g, 5));
    }
}

void generate_condition(struct generator *g, int depth)
{
    if (generate_chance(g, 40))
        generate_static_condition(g);
    else
        generate_expression(g, AKG_BOOL, depth);
}

static void generate_bool(struct generator *g, int depth)
{
    static const char *const joins[] = {"and", "or", "and", "or", "&", "|", "^", "==", "!="};
    akg_dtype dtype;

    switch (generate_below(g, depth > 3 ? 2 : 7)) {
    case 0:
        text_char(g->out, '(');
        generate_static_condition(g);
        text_char(g->out, ')');
        break;
    case 1:
    case 2:
        dtype = generate_number(g);
        text_char(g->out, '(');
        generate_expression(g, dtype, depth + 1);
        text_format(g->out, " %s ", generate_comparison(g));
        generate_operand(g, dtype, depth + 1);
        if (generate_chance(g, 10)) {
            text_format(g->out, " %s ", generate_comparison(g));
            generate_operand(g, dtype, depth + 2);
        }
        text_char(g->out, ')');
        break;
    case 3:
        text_string(g->out, "(not ");
        generate_expression(g, AKG_BOOL, depth + 1);
        text_char(g->out, ')');
        break;
    case 4:
        dtype = generate_chance(g, 70) ? AKG_FLOAT32 : AKG_FLOAT64;
        text_string(g->out, generate_chance(g, 50)   ? "isnan("
                            : generate_chance(g, 50) ? "isinf("
                                                     : "isfinite(");
        generate_expression(g, dtype, depth + 1);
        text_char(g->out, ')');
        break;
    default:
        text_char(g->out, '(');
        generate_expression(g, AKG_BOOL, depth + 1);
        text_format(g->out, " %s ", PICK(g, joins));
        generate_expression(g, AKG_BOOL, depth + 1);
        text_char(g->out, ')');
    }
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static void generate_cast(struct generator *g, akg_dtype dtype, int depth)
{
    struct generate_variable *variable = generate_untyped(g, -1);
    bool named = generate_chance(g, 15);

    text_format(g->out, "%s(", named ? "cast" : akg_dtype_name(dtype));
    if (variable && generate_chance(g, 30))
        text_string(g->out, variable->name);
    else if (depth > 3 && !generate_tensor(g, AKG_DTYPE_COUNT, false))
        generate_literal(g, dtype);
    else
        generate_expression(
            g, depth > 3 ? generate_tensor(g, AKG_DTYPE_COUNT, false)->dtype : generate_dtype(g), depth + 1);
    if (named) {
        text_string(g->out, ", ");
        generate_dtype_text(g, dtype);
    }
    text_char(g->out, ')');
}

/* What has nothing below it. Always typed. */
static void generate_leaf(struct generator *g, akg_dtype dtype, int depth)
{
    struct generate_variable *scalar = generate_scalar(g, dtype, false);
    struct generate_tensor *tensor = generate_tensor(g, dtype, false);

    if (scalar && generate_chance(g, tensor ? 40 : 80)) {
        text_string(g->out, scalar->name);
    } else if (tensor && depth < 6) {
        generate_access(g, tensor, depth);
    } else if (dtype == AKG_BOOL) {
        text_string(g->out, "(");
        generate_static_condition(g);
        text_string(g->out, ")");
    } else {
        text_format(g->out, "%s(", akg_dtype_name(dtype));
        if (depth < 5 && generate_tensor(g, AKG_DTYPE_COUNT, false))
            generate_number_access(g, generate_tensor(g, AKG_DTYPE_COUNT, false), depth + 1);
        else
            generate_literal(g, dtype);
        text_char(g->out, ')');
    }
}

void generate_operand(struct generator *g, akg_dtype dtype, int depth)
{
    struct generate_variable *variable = generate_untyped(g, -1);

    if (generate_chance(g, 20)) {
        generate_literal(g, dtype);
    } else if (dtype != AKG_BOOL && variable && generate_chance(g, 20)) {
        text_string(g->out, variable->name);
    } else if (dtype_is_float(dtype) && generate_chance(g, 10) &&
               generate_pick_variable(g, GENERATE_REAL, AKG_DTYPE_COUNT, -1, false)) {
        text_string(g->out, generate_pick_variable(g, GENERATE_REAL, AKG_DTYPE_COUNT, -1, false)->name);
    } else {
        generate_expression(g, dtype, depth);
    }
}

/* One side typed, the other perhaps not. */
static void generate_pair(struct generator *g, akg_dtype dtype, const char *before, const char *between,
                          const char *after, int depth)
{
    bool first = generate_chance(g, 70);

    text_string(g->out, before);
    (first ? generate_expression : generate_operand)(g, dtype, depth + 1);
    text_string(g->out, between);
    (first ? generate_operand : generate_expression)(g, dtype, depth + 1);
    text_string(g->out, after);
}

static void generate_call(struct generator *g, const char *name, akg_dtype dtype, int count, int depth)
{
    text_format(g->out, "%s(", name);
    for (int i = 0; i < count; i++) {
        text_string(g->out, i ? ", " : "");
        generate_expression(g, dtype, depth + 1);
    }
    text_char(g->out, ')');
}

static bool generate_helper_call(struct generator *g, akg_dtype dtype, int depth)
{
    struct generate_helper *helper;

    if (g->helper_count == 0)
        return false;
    helper = &g->helpers[generate_below(g, g->helper_count)];
    if (helper->floating && !dtype_is_float(dtype))
        return false;
    helper->used = true;
    generate_call(g, helper->name, dtype, helper->count, depth);
    return true;
}

static void generate_choice(struct generator *g, akg_dtype dtype, int depth)
{
    text_char(g->out, '(');
    generate_expression(g, dtype, depth + 1);
    text_string(g->out, " if ");
    generate_condition(g, depth + 1);
    text_string(g->out, " else ");
    generate_expression(g, dtype, depth + 1);
    text_char(g->out, ')');
}

static void generate_integral(struct generator *g, akg_dtype dtype, int depth)
{
    static const char *const infix[] = {" + ", " - ", " * ", " & ", " | ", " ^ ", " << ", " >> "};
    static const char *const division[] = {" // ", " % "};
    static const char *const calls[] = {"abs", "sign", "popcount", "-", "~", "+"};

    switch (generate_below(g, 8)) {
    case 0:
        text_char(g->out, '(');
        generate_expression(g, dtype, depth + 1);
        text_string(g->out, PICK(g, division));
        if (generate_chance(g, 85))
            text_format(g->out, "%d)", 1 + generate_below(g, 6));
        else if (generate_chance(g, 60))
            generate_pair(g, dtype, "max(1, ", " % 5 + ", "))", depth);
        else
            generate_pair(g, dtype, "(", " + ", "))", depth);
        break;
    case 1:
        generate_call(g, PICK(g, calls), dtype, 1, depth);
        break;
    case 2:
        text_char(g->out, '(');
        generate_expression(g, dtype, depth + 1);
        text_format(g->out, " ** %d)", generate_below(g, 4));
        break;
    case 3:
        text_string(g->out, "ceil_div(");
        generate_expression(g, dtype, depth + 1);
        text_format(g->out, ", %d)", 1 + generate_below(g, 5));
        break;
    case 4:
        generate_pair(g, dtype, generate_chance(g, 50) ? "min(" : "max(", ", ", ")", depth);
        break;
    default:
        generate_pair(g, dtype, "(", PICK(g, infix), ")", depth);
    }
}

static void generate_floating(struct generator *g, akg_dtype dtype, int depth)
{
    static const char *const infix[] = {" + ", " - ", " * ",  " + ", " - ",
                                        " * ", " / ", " // ", " % ", " ** "};
    static const char *const calls[] = {"abs",   "sign",  "-",       "sqrt",  "rsqrt", "exp",   "log",
                                        "tanh",  "sin",   "cos",     "floor", "ceil",  "trunc", "round",
                                        "log1p", "expm1", "sigmoid", "erf",   "exp2",  "log2",  "atan",
                                        "tan",   "asin",  "acos",    "sinh",  "cosh",  "log10", "erfc"};

    switch (generate_below(g, 8)) {
    case 0:
    case 1:
        generate_call(g, PICK(g, calls), dtype, 1, depth);
        break;
    case 2:
        generate_pair(g, dtype, generate_chance(g, 50) ? "min(" : "max(", ", ",
                      generate_chance(g, 15) ? ", 2)" : ")", depth);
        break;
    case 3:
        if (generate_chance(g, 50))
            generate_call(g, "fma", dtype, 3, depth);
        else
            generate_call(g,
                          generate_chance(g, 50)   ? "atan2"
                          : generate_chance(g, 50) ? "pow"
                                                   : "power",
                          dtype, 2, depth);
        break;
    default:
        generate_pair(g, dtype, "(", PICK(g, infix), ")", depth);
    }
}

void generate_expression(struct generator *g, akg_dtype dtype, int depth)
{
    if (generate_chance(g, 25 + 20 * depth) || depth > 4)
        generate_leaf(g, dtype, depth);
    else if (dtype == AKG_BOOL)
        generate_bool(g, depth);
    else if (generate_chance(g, 8))
        generate_choice(g, dtype, depth);
    else if (generate_chance(g, 8))
        generate_cast(g, dtype, depth);
    else if (generate_chance(g, 10) && generate_helper_call(g, dtype, depth))
        return;
    else if (dtype_is_float(dtype))
        generate_floating(g, dtype, depth);
    else
        generate_integral(g, dtype, depth);
}

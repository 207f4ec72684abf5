/*
 * context_form.c: from expressions of the IR to linear forms and facts. See context.h.
 */
#include "context_private.h"

#include <string.h>

enum { FORM_DEPTH = 64, VISITS = 256 };

/* ---- ranges -------------------------------------------------------------- */

static void dtype_range(akg_dtype dtype, int64_t *low, int64_t *high)
{
    int bits = dtype_table[dtype].size * 8;

    *low = LINEAR_NO_LOW;
    *high = LINEAR_NO_HIGH;
    if (dtype == AKG_BOOL) {
        *low = 0;
        *high = 1;
    } else if (dtype_is_integer(dtype) && bits < 64) {
        bool is_signed = dtype_is_signed(dtype);
        *low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
        *high = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
    }
}

/* Dtypes whose values are those of int64: forms are made for these. */
static bool is_plain(akg_dtype dtype)
{
    return dtype == AKG_BOOL || (dtype_is_integer(dtype) && dtype != AKG_UINT64);
}

void context_opaque(struct context *context, akg_dtype dtype, struct linear *out)
{
    int64_t low, high;

    dtype_range(dtype, &low, &high);
    linear_of_atom(&context->space, linear_new_opaque(&context->space, low, high), out);
}

/* ---- symbols ------------------------------------------------------------- */

/* A value that had no name, until now. */
static void name_atom(struct context *context, struct ir_symbol *symbol, const struct linear *value)
{
    if (value->count != 1 || value->constant != 0 || value->terms[0].coefficient != 1)
        return;
    const struct linear_monomial *monomial = &context->space.monomials.items[value->terms[0].monomial];
    struct linear_atom *atom = linear_atom_at(&context->space, monomial->atoms[0]);
    if (monomial->degree == 1 && !atom->symbol && (atom->kind == LINEAR_LOOP || atom->kind == LINEAR_OPAQUE))
        atom->symbol = symbol;
}

void context_bind(struct context *context, struct ir_symbol *symbol, const struct linear *value)
{
    struct linear *binding = symbol->note;

    name_atom(context, symbol, value);

    if (!binding) {
        binding = arena_new(context->arena, struct linear);
        list_push(context->arena, &context->bound, symbol);
        symbol->note = binding; /* once it is known who has one: context_run takes them all away */
    }
    *binding = *value;
}

/* Of a loop or a LET around all that is analysed, which has one value there. */
static void outer_form(struct context *context, struct ir_symbol *symbol, struct linear *out)
{
    int64_t low, high;

    dtype_range(symbol->dtype, &low, &high);
    int number = linear_new_opaque(&context->space, low, high);
    linear_atom_at(&context->space, number)->parameter = true;
    linear_of_atom(&context->space, number, out);
}

static void form_of(struct context *context, const struct ir_expr *expr, struct linear *out, int depth);

/* Whether it has one value in all that is analysed, wherever it is computed there. */
static bool is_outer(struct ir_expr *expr, void *unused)
{
    (void)unused;
    if (expr->kind != IR_SYMBOL)
        return expr->kind != IR_LOAD;
    return expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE ||
           expr->symbol->kind == IR_SYMBOL_LET;
}

/* A LET around all that is analysed, of what a call comes with: known as that, not by its name alone. */
static bool outer_value(struct context *context, const struct ir_symbol *symbol, struct linear *out)
{
    enum { MOST_NAMES = 8 }; /* made of each other */

    if (symbol->kind != IR_SYMBOL_LET || symbol->dtype != AKG_INT64 || !symbol->value ||
        context->names == MOST_NAMES || !ir_expr_walk(symbol->value, is_outer, NULL))
        return false;
    context->names++;
    form_of(context, symbol->value, out, 0);
    context->names--;
    return linear_fits(&context->space, out);
}

/* What is declared inside has its form from there, if it is an integer. */
static void symbol_form(struct context *context, struct ir_symbol *symbol, struct linear *out)
{
    if (!symbol->note) {
        bool is_dim = symbol->kind == IR_SYMBOL_DIM;
        if ((is_dim || symbol->kind == IR_SYMBOL_ATTRIBUTE) && symbol->dtype == AKG_INT64)
            linear_of_atom(&context->space,
                           linear_new_symbol(&context->space, is_dim ? LINEAR_DIM : LINEAR_ATTRIBUTE, symbol),
                           out);
        else if (outer_value(context, symbol, out))
            ; /* that is it */
        else if ((symbol->kind == IR_SYMBOL_LOOP || symbol->kind == IR_SYMBOL_LET) &&
                 dtype_is_integer(symbol->dtype))
            outer_form(context, symbol, out);
        else
            context_opaque(context, symbol->dtype, out);
        context_bind(context, symbol, out);
    }
    *out = *(const struct linear *)symbol->note;
}

/* ---- expressions --------------------------------------------------------- */

/* A form that is the value itself. */
static void value_of(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    form_of(context, expr, out, depth);
    if (!linear_fits(&context->space, out))
        context_opaque(context, expr->dtype, out);
}

static bool load_form(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    enum { RANK = 8 };
    struct linear indices[RANK];
    const struct ir_access *access = &expr->access;
    int64_t low, high;

    if (access->buffer->role != IR_INPUT ||
        access->buffer->rank > RANK) /* what is written shares no memory with it */
        return false;
    for (int k = 0; k < access->buffer->rank; k++)
        form_of(context, access->indices[k], &indices[k], depth + 1);
    dtype_range(expr->dtype, &low, &high);
    int atom = linear_load(&context->space, access->buffer, indices, low, high);
    if (atom < 0)
        return false;
    linear_of_atom(&context->space, atom, out);
    return true;
}

/* What the expression is `operation` of besides a constant from low to high; NULL: it is none such. */
static const struct ir_expr *limited_by(const struct ir_expr *expr, enum operation operation, int64_t low,
                                        int64_t high)
{
    for (int k = 0; k < 2 && expr->kind == IR_OPERATION && expr->operation == operation; k++)
        if (expr->operands[k]->kind == IR_INTEGER && expr->operands[k]->integer >= low &&
            expr->operands[k]->integer <= high)
            return expr->operands[1 - k];
    return NULL;
}

/* Whether it is cut off at both ends before it is converted, as extents are that meet an int32. */
static bool is_clamped(const struct ir_expr *expr, int64_t low, int64_t high)
{
    const struct ir_expr *least = limited_by(expr, OP_MAX, low, high),
                         *most = limited_by(expr, OP_MIN, low, high);

    return (most && limited_by(most, OP_MAX, low, high)) || (least && limited_by(least, OP_MIN, low, high));
}

static bool cast_form(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    const struct ir_expr *value = expr->operands[0];
    int64_t low, high, from_low, from_high;
    struct linear whole;

    if (!is_plain(value->dtype) || expr->dtype == AKG_BOOL)
        return false;
    dtype_range(value->dtype, &from_low, &from_high);
    dtype_range(expr->dtype, &low, &high);
    if ((from_low >= low && from_high <= high) || is_clamped(value, low, high)) {
        form_of(context, value, out, depth + 1);
        return true;
    }
    /* What is cut off only makes a natural number smaller: idx[i] < int32(N) bounds idx[i] by N. */
    value_of(context, value, &whole, depth + 1);
    context_opaque(context, expr->dtype, out);
    if (linear_is_natural(&context->space, &whole) && linear_add(&whole, &whole, -1, out))
        prover_add(&context->prover, &whole, false);
    return true;
}

/* Whether `form` follows from one of the facts. */
static bool says(const struct context_when *when, bool truth, const struct linear *form)
{
    struct linear rest;

    for (int k = 0; k < when->count[truth]; k++)
        if (linear_add(&rest, form, -1, &when->facts[truth][k]) && !rest.count && rest.constant >= 0)
            return true;
    return false;
}

/* `0 if j < 0 else j`: the larger of the two where the condition compares them, or the smaller. */
static bool choose_by_order(struct context *context, const struct linear *then,
                            const struct linear *otherwise, const struct context_when *when,
                            struct linear *out)
{
    struct linear above, below; /* how far `then` lies above the other one, and below it */

    if (!linear_add(&above, then, -1, otherwise) || !linear_scale(&below, &above, -1))
        return false;
    if (says(when, true, &above) && says(when, false, &below))
        return linear_combine(&context->space, LINEAR_MAX, out, then, otherwise);
    return says(when, true, &below) && says(when, false, &above) &&
           linear_combine(&context->space, LINEAR_MIN, out, then, otherwise);
}

bool context_choose(struct context *context, const struct linear *then, const struct linear *otherwise,
                    const struct context_when *when, struct linear *out)
{
    struct linear children[2 + 2 * CONTEXT_WHEN] = {*then, *otherwise};
    int count = 2;

    if (choose_by_order(context, then, otherwise, when, out))
        return true;
    for (int truth = 0; truth < 2; truth++)
        for (int k = 0; k < when->count[truth]; k++)
            children[count++] = when->facts[truth][k];
    int atom = linear_new_select(&context->space, children, count, when->count);
    if (atom < 0)
        return false;
    linear_of_atom(&context->space, atom, out);
    return true;
}

static bool select_form(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    struct linear then, otherwise;
    struct context_facts facts;
    struct context_when when;

    value_of(context, expr->operands[1], &then, depth + 1);
    value_of(context, expr->operands[2], &otherwise, depth + 1);
    for (int truth = 0; truth < 2; truth++) {
        context_condition_facts(context, expr->operands[0], truth, &facts);
        when.count[truth] = facts.count < CONTEXT_WHEN ? facts.count : CONTEXT_WHEN;
        memcpy(when.facts[truth], facts.items, sizeof *facts.items * (size_t)when.count[truth]);
    }
    return context_choose(context, &then, &otherwise, &when, out);
}

static bool division_form(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    struct linear dividend, divisor;

    value_of(context, expr->operands[0], &dividend, depth + 1);
    value_of(context, expr->operands[1], &divisor, depth + 1);
    if (expr->dtype != AKG_INT64 && (divisor.count || divisor.constant <= 0))
        return false; /* the least value / -1 does not fit its dtype */
    if (expr->operation != OP_CEIL_DIV)
        return linear_combine(&context->space, expr->operation == OP_MOD ? LINEAR_REMAINDER : LINEAR_QUOTIENT,
                              out, &dividend, &divisor);
    return linear_scale(&dividend, &dividend, -1) &&
           linear_combine(&context->space, LINEAR_QUOTIENT, out, &dividend, &divisor) &&
           linear_scale(out, out, -1);
}

/* Shifts and masks by constants are multiplications and divisions by powers of two. */
static bool bits_form(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    const struct ir_expr *by = expr->operands[1];
    struct linear value, power;

    if (by->kind != IR_INTEGER || by->integer < 0)
        return false;
    if (expr->operation == OP_BITAND) {
        if (by->integer == INT64_MAX || (by->integer & (by->integer + 1)))
            return false;
        value_of(context, expr->operands[0], &value, depth + 1);
        linear_constant(&power, by->integer + 1);
        return linear_combine(&context->space, LINEAR_REMAINDER, out, &value, &power);
    }
    if (by->integer > 62)
        return false;
    linear_constant(&power, INT64_C(1) << by->integer);
    if (expr->operation == OP_SHR) {
        if (by->integer >= dtype_table[expr->dtype].size * 8)
            return false;
        value_of(context, expr->operands[0], &value, depth + 1);
        return linear_combine(&context->space, LINEAR_QUOTIENT, out, &value, &power);
    }
    form_of(context, expr->operands[0], &value, depth + 1);
    return expr->dtype == AKG_INT64 && linear_scale(out, &value, power.constant);
}

/* Operations that commute with wrapping modulo 2^64. */
static bool ring_form(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    struct linear a, b;

    if (expr->dtype != AKG_INT64)
        return false;
    form_of(context, expr->operands[0], &a, depth + 1);
    if (expr->operation == OP_NEG)
        return linear_scale(out, &a, -1);
    form_of(context, expr->operands[1], &b, depth + 1);
    if (expr->operation == OP_MUL)
        return linear_multiply(&context->space, out, &a, &b);
    return linear_add(out, &a, expr->operation == OP_ADD ? 1 : -1, &b);
}

/* Whether b is never larger, whatever its atoms are. */
static bool is_above(struct context *context, const struct linear *a, const struct linear *b)
{
    struct linear above;

    return linear_add(&above, a, -1, b) && linear_is_natural(&context->space, &above);
}

static bool choice_form(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    struct linear a, b;

    value_of(context, expr->operands[0], &a, depth + 1);
    if (expr->operation == OP_ABS) {
        if (expr->dtype != AKG_INT64 || !linear_scale(&b, &a, -1) || !linear_fits(&context->space, &b) ||
            !linear_fits(&context->space, &a))
            return false;
        return linear_combine(&context->space, LINEAR_MAX, out, &a, &b);
    }
    value_of(context, expr->operands[1], &b, depth + 1);
    if (is_above(context, &a, &b) || is_above(context, &b, &a)) {
        *out = is_above(context, &a, &b) == (expr->operation == OP_MAX) ? a : b;
        return true;
    }
    return linear_combine(&context->space, expr->operation == OP_MIN ? LINEAR_MIN : LINEAR_MAX, out, &a, &b);
}

static bool operation_form(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    if (!is_plain(expr->dtype) || expr->dtype == AKG_BOOL)
        return false;
    switch (expr->operation) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_NEG:
        return ring_form(context, expr, out, depth);
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return division_form(context, expr, out, depth);
    case OP_MIN:
    case OP_MAX:
    case OP_ABS:
        return choice_form(context, expr, out, depth);
    case OP_SELECT:
        return select_form(context, expr, out, depth);
    case OP_BITAND:
    case OP_SHL:
    case OP_SHR:
        return bits_form(context, expr, out, depth);
    case OP_CAST:
        return cast_form(context, expr, out, depth);
    default:
        return false;
    }
}

/* Arithmetic of narrow integers, which may wrap: the same atom wherever it stands, so that `0 <= k + 1 < M`
 * says of `x[k + 1]` where it is. Of many expressions those that are met first. */
static void named_opaque(struct context *context, const struct ir_expr *expr, struct linear *out)
{
    enum { MOST_NAMED = 64 };
    bool is_narrow = expr->kind == IR_OPERATION && is_plain(expr->dtype) && expr->dtype != AKG_BOOL &&
                     expr->dtype != AKG_INT64;

    for (int k = 0; is_narrow && k < context->named.count; k++)
        if (ir_expr_equal(context->named.items[k].expr, expr)) {
            *out = context->named.items[k].form;
            return;
        }
    context_opaque(context, expr->dtype, out);
    if (is_narrow && context->named.count < MOST_NAMED && ir_expr_is_stable(expr))
        list_push(context->arena, &context->named, ((struct context_named){expr, *out}));
}

static void form_of(struct context *context, const struct ir_expr *expr, struct linear *out, int depth)
{
    bool done = false;

    if (is_plain(expr->dtype) && depth < FORM_DEPTH) {
        if (expr->kind == IR_INTEGER) {
            linear_constant(out, expr->integer);
            done = true;
        } else if (expr->kind == IR_SYMBOL) {
            symbol_form(context, expr->symbol, out);
            done = true;
        } else if (expr->kind == IR_LOAD) {
            done = load_form(context, expr, out, depth);
        } else if (expr->kind == IR_OPERATION) {
            done = operation_form(context, expr, out, depth);
        }
    }
    if (!done)
        named_opaque(context, expr, out);
}

void context_form(struct context *context, const struct ir_expr *expr, struct linear *out)
{
    form_of(context, expr, out, 0);
}

void context_value(struct context *context, const struct ir_expr *expr, struct linear *out)
{
    value_of(context, expr, out, 0);
}

/* ---- conditions ---------------------------------------------------------- */

/* a + offset <= b */
static void fact_less(struct context_facts *facts, const struct linear *a, int64_t offset,
                      const struct linear *b)
{
    if (facts->count == CONTEXT_FACTS || !linear_add(&facts->items[facts->count], b, -1, a) ||
        !linear_shift(&facts->items[facts->count], &facts->items[facts->count], -offset))
        facts->exact = false;
    else
        facts->count++;
}

/* a != b is a fact when it is known on which side a lies: together with that, all of it. */
static void facts_unequal(struct context *context, const struct linear *a, const struct linear *b,
                          struct context_facts *facts)
{
    struct linear above;
    bool above_first = linear_add(&above, a, -1, b) && prover_is_evident(&context->prover, &above);

    for (int turn = 0; turn < 2; turn++) {
        const struct linear *less = (turn == 0) == above_first ? b : a, *more = less == a ? b : a;
        if (prover_less(&context->prover, less, 0, more)) {
            fact_less(facts, less, 1, more);
            return;
        }
    }
    facts->exact = false;
}

static void comparison_facts(struct context *context, const struct ir_expr *expr, bool truth,
                             struct context_facts *facts)
{
    enum operation comparison = truth ? expr->operation : ir_comparison_negated(expr->operation);
    struct linear a, b;

    if (!is_plain(expr->operands[0]->dtype)) {
        facts->exact = false;
        return;
    }
    context_value(context, expr->operands[0], &a);
    context_value(context, expr->operands[1], &b);
    switch (comparison) {
    case OP_LT:
        fact_less(facts, &a, 1, &b);
        break;
    case OP_LE:
        fact_less(facts, &a, 0, &b);
        break;
    case OP_GT:
        fact_less(facts, &b, 1, &a);
        break;
    case OP_GE:
        fact_less(facts, &b, 0, &a);
        break;
    case OP_EQ:
        fact_less(facts, &a, 0, &b);
        fact_less(facts, &b, 0, &a);
        break;
    default:
        facts_unequal(context, &a, &b, facts);
        break;
    }
}

static void collect_facts(struct context *context, const struct ir_expr *expr, bool truth,
                          struct context_facts *facts, int depth)
{
    if (depth > FORM_DEPTH || ++facts->visited > VISITS) {
        facts->exact = false;
    } else if (expr->kind == IR_INTEGER) {
        if ((expr->integer != 0) == truth)
            return;
        if (facts->count < CONTEXT_FACTS)
            linear_constant(&facts->items[facts->count++], -1);
        else
            facts->exact = false;
    } else if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value &&
               ir_expr_is_stable(expr->symbol->value)) {
        collect_facts(context, expr->symbol->value, truth, facts, depth + 1);
    } else if (expr->kind != IR_OPERATION) {
        facts->exact = false;
    } else if (expr->operation == OP_NOT) {
        collect_facts(context, expr->operands[0], !truth, facts, depth + 1);
    } else if (expr->operation == (truth ? OP_AND : OP_OR) ||
               (expr->operation == (truth ? OP_BITAND : OP_BITOR) && expr->dtype == AKG_BOOL)) {
        collect_facts(context, expr->operands[0], truth, facts, depth + 1);
        collect_facts(context, expr->operands[1], truth, facts, depth + 1);
    } else if (operation_table[expr->operation].rule == RULE_COMPARE) {
        comparison_facts(context, expr, truth, facts);
    } else {
        facts->exact = false;
    }
}

void context_condition_facts(struct context *context, const struct ir_expr *expr, bool truth,
                             struct context_facts *facts)
{
    facts->count = facts->visited = 0;
    facts->exact = true;
    collect_facts(context, expr, truth, facts, 0);
}

/* Whether what is known says that the expression is `truth`. */
static bool is_settled(struct context *context, const struct ir_expr *expr, bool truth)
{
    struct context_facts facts;

    context_condition_facts(context, expr, truth, &facts);
    bool settled = facts.exact;
    for (int k = 0; k < facts.count && settled; k++)
        settled = prover_prove(&context->prover, &facts.items[k]);
    return settled;
}

static void collect_remaining(struct context *context, const struct ir_expr *expr, bool truth,
                              struct context_facts *facts, int depth)
{
    if (expr->kind != IR_OPERATION || depth > FORM_DEPTH)
        return;
    if (expr->operation == OP_NOT) {
        collect_remaining(context, expr->operands[0], !truth, facts, depth + 1);
    } else if (expr->operation == (truth ? OP_OR : OP_AND)) {
        for (int side = 0; side < 2; side++)
            if (is_settled(context, expr->operands[side], !truth))
                collect_remaining(context, expr->operands[1 - side], truth, facts, depth + 1);
    } else {
        collect_facts(context, expr, truth, facts, depth);
    }
}

void context_remaining_facts(struct context *context, struct ir_expr *expr, bool truth,
                             struct context_facts *facts)
{
    facts->count = facts->visited = 0;
    facts->exact = true;
    if (ir_expr_is_stable(expr))
        collect_remaining(context, expr, truth, facts, 0);
}

/* ---- parameters ---------------------------------------------------------- */

static struct ir_expr *parameter_copy(struct context *context, const struct ir_expr *expr, int depth,
                                      int *visited)
{
    struct ir_expr *operands[3] = {NULL};

    if (depth > FORM_DEPTH || ++*visited > VISITS)
        return NULL;
    switch (expr->kind) {
    case IR_INTEGER:
        return ir_integer(context->kernel, expr->dtype, expr->integer);
    case IR_REAL:
        return ir_real(context->kernel, expr->dtype, expr->real);
    case IR_SYMBOL:
        if (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
            return parameter_copy(context, expr->symbol->value, depth + 1, visited);
        if (expr->symbol->kind != IR_SYMBOL_DIM && expr->symbol->kind != IR_SYMBOL_ATTRIBUTE)
            return NULL;
        return ir_symbol_use(context->kernel, expr->symbol);
    case IR_LOAD:
        return NULL;
    case IR_OPERATION:
        break;
    }
    for (int k = 0; k < expr->count; k++) {
        operands[k] = expr->checked ? NULL : parameter_copy(context, expr->operands[k], depth + 1, visited);
        if (!operands[k])
            return NULL;
    }
    if (expr->operation == OP_CAST)
        return ir_cast(context->kernel, expr->dtype, operands[0]);
    struct ir_expr *copy =
        ir_operation(context->kernel, expr->operation, operands[0], operands[1], operands[2]);
    if (copy->kind == IR_OPERATION && copy->operation == expr->operation)
        copy->checked = false;
    return copy;
}

struct ir_expr *context_parameter_expr(struct context *context, const struct ir_expr *expr)
{
    int visited = 0;

    return parameter_copy(context, expr, 0, &visited);
}

/*
 * bounds.c: which indices stay inside their tensors.
 *
 * Consumes a verified kernel. Each index is proved from the facts around its access; or, when it is executed
 * in every iteration of its loops and the largest value it takes is an expression over dims and attributes,
 * that expression becomes a precondition (bounds_extreme.c); or it is left to be tested per element.
 * Preconditions are facts for all other accesses: those left over are tried again in a second walk. Divisors
 * are proved on the way.
 */
#include "bounds.h"

#include "analysis.h"

struct bounds_row {
    struct linear form; /* demanded: >= 0 */
    struct ir_access *access;
    int axis;
    bool dropped;
    int rule; /* its number among the prover's rules; -1: none */
    struct bounds_extreme extreme;
    struct span span;
};

/* An index that was decided, for others like it in the same scope. */
struct bounds_settled {
    unsigned place;
    bool known;
    enum ir_check check;
    struct linear index, extent;
};

enum { SETTLED = 16, RECENT_ROWS = 24, ROWS_COMPARED = 48 };

struct bounds {
    struct bounds_settled settled[SETTLED];
    int next_settled;
    LIST(struct bounds_row) rows;
    bool second;  /* only proofs, no new preconditions */
    int unproved; /* accesses left to be tested per element */
};

/* ---- preconditions ------------------------------------------------------- */

static bool same_guards(const struct bounds_extreme *a, const struct bounds_extreme *b)
{
    if (a->guard_count != b->guard_count || a->condition_count != b->condition_count)
        return false;
    for (int k = 0; k < a->guard_count; k++)
        if (!linear_equal(&a->guards[k], &b->guards[k]))
            return false;
    for (int k = 0; k < a->condition_count; k++)
        if (!ir_expr_equal(a->conditions[k], b->conditions[k]))
            return false;
    return true;
}

static void row_fill(struct context *context, struct bounds_row *row, const struct bounds_request *request,
                     const struct bounds_extreme *extreme)
{
    row->access = request->access;
    row->axis = request->axis;
    row->span = request->span;
    row->extreme = *extreme;
    linear_scale(&row->form, &extreme->form, -1); /* was checked to be possible */
    if (row->rule >= 0)
        prover_change_rule(&context->prover, row->rule, &row->form);
}

/* Demands the extreme to be <= 0: in a row of its own, or by sharpening one that differs in the constant and
 * need not hold by itself for this one. */
static void demand(struct context *context, const struct bounds_request *request,
                   const struct bounds_extreme *extreme)
{
    struct bounds *bounds = context->client;
    struct bounds_row row = {.rule = -1};

    for (int k = bounds->rows.count - 1; k >= 0 && k >= bounds->rows.count - RECENT_ROWS; k--) {
        struct bounds_row *old = &bounds->rows.items[k];
        struct linear difference;
        if (old->access->buffer != request->access->buffer || old->axis != request->axis ||
            !same_guards(&old->extreme, extreme) ||
            !linear_add(&difference, &extreme->form, -1, &old->extreme.form) || difference.count)
            continue;
        if (difference.constant > 0 && extreme->assumes)
            break;
        if (difference.constant > 0)
            row_fill(context, old, request, extreme);
        return;
    }
    row_fill(context, &row, request, extreme);
    if (extreme->guards_are_all) {
        row.rule = context->prover.rules.count;
        prover_add_rule(&context->prover, extreme->guards, extreme->guard_count, &row.form);
    }
    list_push(context->arena, &bounds->rows, row);
}

/* ---- accesses ------------------------------------------------------------ */

/* Proves the side, or finds what to demand for it; where no call leaves it that way, nothing is. */
static bool settle_side(struct context *context, const struct bounds_request *request,
                        struct bounds_extreme *extremes, int *count, bool *assumed)
{
    const struct bounds *bounds = context->client;
    struct prover *prover = &context->prover;
    struct linear inside;

    *count = 0;
    if (linear_scale(&inside, &request->form, -1) && prover_prove(prover, &inside)) {
        *assumed |= prover->assumed;
        return true;
    }
    if (bounds->second)
        return false;
    prover->relied = false;
    if (!bounds_find_extremes(context, request, extremes, count))
        return false;
    *assumed |= *count || prover->relied;
    return true;
}

static enum ir_check settle_index(struct context *context, struct bounds_request *request,
                                  const struct linear *index, const struct linear *extent)
{
    struct bounds_extreme above[BOUNDS_EXTREMES], below[BOUNDS_EXTREMES];
    int above_count, below_count;
    bool assumed = false;

    request->extent = extent;
    request->upper = true; /* index - extent + 1 <= 0 */
    if (!linear_add(&request->form, index, -1, extent) || !linear_shift(&request->form, &request->form, 1) ||
        !settle_side(context, request, above, &above_count, &assumed))
        return IR_CHECK_ELEMENT;
    request->upper = false; /* -index <= 0 */
    if (!linear_scale(&request->form, index, -1) ||
        !settle_side(context, request, below, &below_count, &assumed))
        return IR_CHECK_ELEMENT;
    for (int k = 0; k < above_count; k++)
        demand(context, request, &above[k]);
    for (int k = 0; k < below_count; k++)
        demand(context, request, &below[k]);
    return assumed ? IR_CHECK_PRECONDITION : IR_CHECK_PROVED;
}

static enum ir_check settle_once(struct context *context, struct bounds_request *request,
                                 const struct linear *index, const struct linear *extent)
{
    struct bounds *bounds = context->client;

    for (int k = 0; k < SETTLED; k++) {
        const struct bounds_settled *settled = &bounds->settled[k];
        if (settled->known && settled->place == context->place && linear_equal(&settled->index, index) &&
            linear_equal(&settled->extent, extent))
            return settled->check;
    }
    enum ir_check check = settle_index(context, request, index, extent);
    bounds->settled[bounds->next_settled++ % SETTLED] =
        (struct bounds_settled){context->place, true, check, *index, *extent};
    return check;
}

static void visit_access(struct context *context, struct ir_access *access, struct ir_expr *load)
{
    struct bounds *bounds = context->client;

    for (int k = 0; k < access->buffer->rank; k++) {
        struct bounds_request request = {
            .access = access, .axis = k, .span = load ? load->span : context->stmt->span};
        struct linear index, extent;
        if (bounds->second && access->checks[k] != IR_CHECK_ELEMENT)
            continue;
        context_form(context, access->indices[k], &index);
        context_form(context, access->buffer->shape[k], &extent);
        access->checks[k] = settle_once(context, &request, &index, &extent);
        bounds->unproved += access->checks[k] == IR_CHECK_ELEMENT;
    }
}

/* ---- divisions ----------------------------------------------------------- */

static bool is_never_zero(struct context *context, const struct ir_expr *expr)
{
    struct linear form, shifted;

    if (!dtype_is_integer(expr->dtype) || expr->dtype == AKG_UINT64)
        return false;
    if (expr->kind == IR_INTEGER) /* also where the facts contradict each other, and prove anything */
        return expr->integer != 0;
    context_value(context, expr, &form);
    return (linear_shift(&shifted, &form, -1) && prover_prove(&context->prover, &shifted)) ||
           (linear_scale(&shifted, &form, -1) && linear_shift(&shifted, &shifted, -1) &&
            prover_prove(&context->prover, &shifted));
}

static void visit_division(struct context *context, struct ir_expr *operation)
{
    struct linear exponent;

    if (operation->operation != OP_POW) {
        operation->checked = !is_never_zero(context, operation->operands[1]);
        return;
    }
    if (!ir_can_divide_by_zero(OP_POW, operation->dtype))
        return;
    context_value(context, operation->operands[1], &exponent); /* only 0 ** negative stops */
    operation->checked =
        !prover_prove(&context->prover, &exponent) && !is_never_zero(context, operation->operands[0]);
}

/* ---- the end of a walk --------------------------------------------------- */

/* Whether a row behind it holds only with those before it. */
static bool is_assumed(const struct bounds *bounds, int number)
{
    for (int k = number + 1; k < bounds->rows.count; k++)
        if (bounds->rows.items[k].extreme.assumes)
            return true;
    return false;
}

/* A row that the others imply is left out: what it forbids is put to them, so that it may be what makes their
 * guards hold. Rows are taken out one by one, so two that imply each other keep one. */
static void drop_implied(struct context *context)
{
    struct bounds *bounds = context->client;
    struct prover *prover = &context->prover;

    for (int k = 0; k < bounds->rows.count && bounds->rows.count <= ROWS_COMPARED; k++) {
        struct bounds_row *row = &bounds->rows.items[k];
        struct linear always, forbidden;
        int facts = prover->facts.count;

        if (row->rule < 0 || linear_divides(&context->space, &row->extreme.form))
            continue; /* a division by zero is found where it is tested */
        if (is_assumed(bounds, k))
            continue;
        linear_constant(&always, 0);
        struct linear form = prover->rules.items[row->rule].form;
        prover_change_rule(prover, row->rule, &always);
        for (int g = 0; g < row->extreme.guard_count; g++)
            prover_add(prover, &row->extreme.guards[g], false);
        if (linear_scale(&forbidden, &form, -1) && linear_shift(&forbidden, &forbidden, -1))
            prover_add(prover, &forbidden, false);
        row->dropped = prover_prove(prover, &form);
        if (!row->dropped)
            prover_change_rule(prover, row->rule, &form);
        prover->facts.count = facts;
    }
}

static bool fixed_visit(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind == IR_SYMBOL
               ? expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE
               : expr->kind != IR_LOAD;
}

static void append(struct context *context, const struct bounds_row *row)
{
    struct ir_kernel *kernel = context->kernel;
    struct ir_expr *shape = row->access->buffer->shape[row->axis];
    struct ir_precondition precondition = {
        .kind = IR_PRECONDITION_BOUNDS,
        .buffer = row->access->buffer,
        .axis = row->axis,
        .is_fixed = ir_expr_walk(row->access->indices[row->axis], fixed_visit, NULL),
        .extent = context_parameter_expr(context, shape),
        .span = row->span};

    if (!precondition.extent) /* a shape that divides: shared with the buffer */
        precondition.extent = shape;
    bounds_express(context, &row->extreme, &precondition);
    list_push(kernel->arena, &kernel->preconditions, precondition);
}

/* What linear_fits had to assume of attributes. */
static void append_limits(struct context *context)
{
    struct ir_kernel *kernel = context->kernel;

    for (int k = 0; k < context->space.atoms.count; k++) {
        struct linear_atom atom = context->space.atoms.items[k];
        if (!atom.limit)
            continue;
        struct ir_expr *magnitude =
            ir_operation(kernel, OP_ABS, ir_symbol_use(kernel, atom.symbol), NULL, NULL);
        struct ir_precondition precondition = {
            .kind = IR_PRECONDITION_ASSERT,
            .condition =
                ir_operation(kernel, OP_LE, magnitude, ir_integer(kernel, AKG_INT64, atom.limit), NULL),
            .message = arena_format(
                kernel->arena,
                "attribute '%s' is too large: what is proved of indices and divisors holds up to %lld",
                atom.symbol->label ? atom.symbol->label : atom.symbol->name, (long long)atom.limit),
            .span = atom.symbol->span};
        list_push(kernel->arena, &kernel->preconditions, precondition);
    }
}

static void finish(struct context *context)
{
    struct bounds *bounds = context->client;

    if (bounds->second)
        return;
    drop_implied(context);
    append_limits(context);
    for (int k = 0; k < bounds->rows.count; k++)
        if (!bounds->rows.items[k].dropped)
            append(context, &bounds->rows.items[k]);
}

void analysis_bounds(struct ir_kernel *kernel)
{
    static const struct context_visitor visitor = {
        .access = visit_access, .division = visit_division, .finish = finish};
    struct bounds bounds = {.second = false};

    context_run(kernel, &visitor, &bounds);
    if (bounds.unproved && kernel->preconditions.count) {
        bounds = (struct bounds){.second = true};
        context_run(kernel, &visitor, &bounds);
    }
}

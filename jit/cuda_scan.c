/*
 * cuda_scan.c: see cuda_scan.h.
 */
#include "cuda_scan.h"

#include "cuda_access.h"
#include "pass.h"

/* ---- values that hang on no other iteration ---------------------------------------------- */

struct value {
    const struct ir_stmt *body, *end; /* what stands before it in the body: up to `end` */
    const struct ir_expr *load;       /* at hand */
    const struct ir_symbol *symbol;   /* at hand */
};

static bool is_not_declared(struct ir_stmt *stmt, void *context)
{
    const struct value *value = context;
    return stmt->kind != IR_LET || stmt->symbol != value->symbol;
}

static bool is_not_assigned(struct ir_stmt *stmt, void *context)
{
    const struct value *value = context;
    return (stmt->kind != IR_ASSIGN && stmt->kind != IR_VARIABLE) || stmt->symbol != value->symbol;
}

static bool is_not_stored_before(struct ir_stmt *stmt, void *context)
{
    struct value *value = context;
    bool stores = stmt->kind == IR_STORE && stmt->access.buffer == value->load->access.buffer;
    if (stmt == value->end)
        value->end = NULL;
    return !stores || !value->end;
}

static bool all_of(const struct value *value, bool (*is)(struct ir_stmt *stmt, void *context))
{
    struct value copy = *value;
    return ir_block_walk((struct ir_stmt *)value->body, is, &copy);
}

/* No scalar that the body assigns, and no element that it stores before. */
static bool is_own(struct ir_expr *expr, void *context)
{
    struct value value = *(struct value *)context;
    value.load = expr;
    value.symbol = expr->symbol;
    if (expr->kind == IR_LOAD)
        return all_of(&value, is_not_stored_before);
    if (expr->kind != IR_SYMBOL)
        return true;
    if (expr->symbol->kind == IR_SYMBOL_LET && !all_of(&value, is_not_declared))
        return ir_expr_walk(expr->symbol->value, is_own, context);
    return expr->symbol->kind != IR_SYMBOL_VARIABLE || all_of(&value, is_not_assigned);
}

static bool value_is_own(const struct ir_stmt *body, const struct ir_stmt *end, const struct ir_expr *expr)
{
    struct value value = {.body = body, .end = end};
    return !expr || ir_expr_walk((struct ir_expr *)expr, is_own, &value);
}

/* ---- what an assignment does ------------------------------------------------------------------- */

/* symbol = symbol operation value */
static bool combination_of(const struct ir_stmt *stmt, enum operation *operation, struct cuda_change *change)
{
    const struct ir_expr *value = stmt->value;
    if (value->kind != IR_OPERATION || value->count != 2 || value->dtype != stmt->symbol->dtype)
        return false;
    bool negative = value->operation == OP_SUB;
    int side = ir_is_use_of(value->operands[0], stmt->symbol) ? 0 : 1;
    if (!ir_is_use_of(value->operands[side], stmt->symbol) || (negative && side == 1))
        return false;
    *operation = negative ? OP_ADD : value->operation;
    *change = (struct cuda_change){.value = value->operands[1 - side], .negative = negative};
    return cuda_combines(*operation) && !pass_mentions((struct ir_expr *)change->value, stmt->symbol);
}

/* factor * symbol + term; of the two NULL: 0 */
struct linear {
    struct ir_expr *factor, *term;
};

static struct ir_expr *either(struct ir_kernel *kernel, enum operation operation, struct ir_expr *a,
                              struct ir_expr *b)
{
    if (!a && b && operation == OP_SUB)
        return ir_operation(kernel, OP_NEG, b, NULL, NULL);
    return a && b ? ir_operation(kernel, operation, a, b, NULL) : a ? a : b;
}

static struct ir_expr *number(struct ir_kernel *kernel, akg_dtype dtype, int value)
{
    return dtype_is_float(dtype) ? ir_real(kernel, dtype, value) : ir_integer(kernel, dtype, value);
}

static bool is_one(const struct ir_expr *expr)
{
    return (expr->kind == IR_REAL && expr->real == 1) || (expr->kind == IR_INTEGER && expr->integer == 1);
}

static bool linear_of(struct ir_kernel *kernel, struct ir_expr *expr, const struct ir_symbol *symbol,
                      struct linear *linear);

/* Both parts by the operation with what the symbol is not in. */
static struct linear scaled(struct ir_kernel *kernel, enum operation operation, struct linear a,
                            struct ir_expr *by)
{
    if (operation == OP_MUL && a.factor && is_one(a.factor) && !a.term)
        return (struct linear){.factor = by};
    return (struct linear){a.factor ? ir_operation(kernel, operation, a.factor, by, NULL) : NULL,
                           a.term ? ir_operation(kernel, operation, a.term, by, NULL) : NULL};
}

static bool linear_choice(struct ir_kernel *kernel, const struct ir_expr *expr,
                          const struct ir_symbol *symbol, struct linear *linear)
{
    struct linear a, b;
    struct ir_expr *zero = number(kernel, expr->dtype, 0);
    if (pass_mentions(expr->operands[0], symbol) || !linear_of(kernel, expr->operands[1], symbol, &a) ||
        !linear_of(kernel, expr->operands[2], symbol, &b))
        return false;
    linear->factor = ir_operation(kernel, OP_SELECT, expr->operands[0], a.factor ? a.factor : zero,
                                  b.factor ? b.factor : zero);
    linear->term =
        ir_operation(kernel, OP_SELECT, expr->operands[0], a.term ? a.term : zero, b.term ? b.term : zero);
    return true;
}

static bool linear_operation(struct ir_kernel *kernel, const struct ir_expr *expr,
                             const struct ir_symbol *symbol, struct linear *linear)
{
    enum operation operation = expr->operation;
    struct linear a, b;
    if (operation == OP_SELECT)
        return linear_choice(kernel, expr, symbol, linear);
    if ((operation != OP_ADD && operation != OP_SUB && operation != OP_MUL && operation != OP_NEG &&
         operation != OP_TRUEDIV) ||
        !linear_of(kernel, expr->operands[0], symbol, &a) ||
        (expr->count == 2 && !linear_of(kernel, expr->operands[1], symbol, &b)))
        return false;
    /* of the symbol and itself, or of something over it */
    if ((operation == OP_MUL && a.factor && b.factor) || (operation == OP_TRUEDIV && b.factor))
        return false;
    switch (operation) {
    case OP_NEG:
        *linear =
            (struct linear){either(kernel, OP_SUB, NULL, a.factor), either(kernel, OP_SUB, NULL, a.term)};
        return true;
    case OP_MUL:
        *linear = a.factor ? scaled(kernel, operation, a, b.term) : scaled(kernel, operation, b, a.term);
        return true;
    case OP_TRUEDIV:
        *linear = scaled(kernel, operation, a, b.term);
        return true;
    default:
        *linear = (struct linear){either(kernel, operation, a.factor, b.factor),
                                  either(kernel, operation, a.term, b.term)};
        return true;
    }
}

static bool linear_of(struct ir_kernel *kernel, struct ir_expr *expr, const struct ir_symbol *symbol,
                      struct linear *linear)
{
    *linear = (struct linear){.term = expr};
    if (expr->dtype != symbol->dtype)
        return !pass_mentions(expr, symbol);
    if (ir_is_use_of(expr, symbol))
        *linear = (struct linear){.factor = number(kernel, symbol->dtype, 1)};
    else if (pass_mentions(expr, symbol))
        return expr->kind == IR_OPERATION && linear_operation(kernel, expr, symbol, linear);
    return true;
}

const struct cuda_scanned *cuda_scan_change(const struct cuda_plan *plan, const struct cuda_scan *scan,
                                            const struct ir_stmt *stmt, struct cuda_change *change)
{
    for (int k = 0; k < scan->count && stmt->kind == IR_ASSIGN; k++) {
        const struct cuda_scanned *item = &scan->items[k];
        enum operation operation;
        struct linear linear;
        if (item->symbol != stmt->symbol)
            continue;
        if (!item->scales) {
            combination_of(stmt, &operation, change);
            return item;
        }
        linear_of(plan->kernel, stmt->value, stmt->symbol, &linear);
        *change = (struct cuda_change){.factor = linear.factor, .term = linear.term};
        return item;
    }
    return NULL;
}

/* ---- which scalars a loop scans ---------------------------------------------------------------------- */

struct finding {
    const struct cuda_plan *plan;
    const struct ir_stmt *loop;
    struct cuda_scanned item;
    bool combines, scales; /* all assignments so far do */
};

static bool find_assignment(struct finding *finding, const struct ir_stmt *stmt)
{
    const struct ir_stmt *body = finding->loop->body;
    enum operation operation = OPERATION_COUNT;
    struct cuda_change change = {.value = NULL};
    struct linear linear = {.factor = NULL};
    finding->combines &= combination_of(stmt, &operation, &change) &&
                         value_is_own(body, stmt, change.value) &&
                         (finding->item.assignments == 0 || operation == finding->item.operation);
    finding->scales &= linear_of(finding->plan->kernel, stmt->value, stmt->symbol, &linear) &&
                       value_is_own(body, stmt, linear.factor) && value_is_own(body, stmt, linear.term);
    finding->item.operation = operation;
    finding->item.assignments++;
    return finding->combines || finding->scales;
}

/* What assignments do must be the iteration's own, and so must the conditions around them. */
static bool find_in_block(struct finding *finding, const struct ir_stmt *block)
{
    const struct ir_symbol *symbol = finding->item.symbol;
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        bool inside = ir_block_assigns(stmt->body, symbol) || ir_block_assigns(stmt->otherwise, symbol);
        if (inside && !value_is_own(finding->loop->body, stmt, stmt->value))
            return false;
        if (stmt->kind == IR_ASSIGN && stmt->symbol == symbol && !find_assignment(finding, stmt))
            return false;
        if (inside && (!find_in_block(finding, stmt->body) || !find_in_block(finding, stmt->otherwise)))
            return false;
    }
    return true;
}

static bool add_scalar(const struct cuda_plan *plan, const struct dependence_scalar *scalar,
                       const struct ir_stmt *loop, struct cuda_scan *scan)
{
    akg_dtype dtype = scalar->symbol->dtype;
    struct finding finding = {.plan = plan,
                              .loop = loop,
                              .item = {.symbol = scalar->symbol, .operation = OPERATION_COUNT},
                              .combines = true,
                              .scales = dtype != AKG_BOOL};
    if (scalar->use == DEPENDENCE_PRIVATE)
        return cuda_lives_inside(plan, loop, scalar->symbol);
    if (scalar->use == DEPENDENCE_FINAL || scan->count == CUDA_SCANS ||
        !find_in_block(&finding, loop->body) || finding.item.assignments == 0)
        return false;
    finding.item.scales = !finding.combines;
    scan->items[scan->count++] = finding.item;
    return true;
}

bool cuda_scan_of(const struct cuda_plan *plan, const struct ir_stmt *loop, struct cuda_scan *scan)
{
    const struct dependences *all = plan->dependences;
    const struct dependence_loop *row = loop->kind == IR_FOR ? dependence_loop_is_parallel(all, loop) : NULL;
    bool carried = false;
    *scan = (struct cuda_scan){.loop = loop};
    if (!row || row->leaves || row->incomplete || row->dependence >= 0 || row->reduction >= 0 ||
        !cuda_body_is_plain(loop->body))
        return false;
    for (int k = 0; k < all->scalars.count; k++) {
        const struct dependence_scalar *scalar = &all->scalars.items[k];
        if (&all->loops.items[scalar->loop] != row)
            continue;
        carried |= scalar->use == DEPENDENCE_CARRIED;
        if (!add_scalar(plan, scalar, loop, scan))
            return false;
    }
    return carried;
}

/* ---- what that needs ------------------------------------------------------------------------------------
 */

bool cuda_scan_changes(const struct cuda_scan *scan, const struct ir_stmt *block)
{
    for (int k = 0; k < scan->count; k++)
        if (ir_block_assigns(block, scan->items[k].symbol))
            return true;
    return false;
}

static bool is_not_let(struct ir_expr *expr, void *let)
{
    if (expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_LET)
        return true;
    return expr->symbol != let && ir_expr_walk(expr->symbol->value, is_not_let, let);
}

static bool block_needs(const struct cuda_plan *plan, const struct cuda_scan *scan,
                        const struct ir_stmt *block, const struct ir_symbol *let)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        struct cuda_change change;
        bool inside = cuda_scan_changes(scan, stmt->body) || cuda_scan_changes(scan, stmt->otherwise);
        if ((inside || cuda_scan_change(plan, scan, stmt, &change)) &&
            !ir_expr_walk(stmt->value, is_not_let, (void *)let))
            return true;
        if (inside &&
            (block_needs(plan, scan, stmt->body, let) || block_needs(plan, scan, stmt->otherwise, let)))
            return true;
    }
    return false;
}

bool cuda_scan_needs(const struct cuda_plan *plan, const struct cuda_scan *scan, const struct ir_symbol *let)
{
    return block_needs(plan, scan, scan->loop->body, let);
}

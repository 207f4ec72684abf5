/*
 * pass_vouch_phase.c: in which phase an index is tested: behind all that tests what it is made of.
 *
 * Consumes expressions of the nest. Refuses the nest where one hangs on what the nest changes, or may stop by
 * something else than an index. Finds, too, which indices need but two tests in a loop: they are linear in
 * its variable, and do not wrap; and which conditions of the nest tests need not be under.
 */
#include "pass_vouch.h"

enum { NODES = 400 /* of the expressions looked at, those of scalars each time they are used */ };

struct change {
    const struct ir_buffer *buffer;
    const struct ir_symbol *symbol;
    bool found;
};

static bool note_change(struct ir_stmt *stmt, void *context)
{
    struct change *change = context;
    change->found |= stmt->kind == IR_STORE && stmt->access.buffer == change->buffer;
    change->found |= (stmt->kind == IR_ASSIGN || stmt->kind == IR_VARIABLE) && stmt->symbol == change->symbol;
    return !change->found;
}

static bool changes(const struct voucher *voucher, const struct ir_buffer *buffer,
                    const struct ir_symbol *symbol)
{
    struct change change = {buffer, symbol, false};
    struct ir_stmt *nest = voucher->nest;
    ir_block_walk(nest->body, note_change, &change);
    return change.found;
}

/* Its note is its value then. */
static bool is_declared_inside(const struct ir_symbol *symbol)
{
    return symbol->kind == IR_SYMBOL_LET && symbol->note;
}

struct steadiness {
    const struct voucher *voucher;
    int left; /* nodes to be looked at */
};

static bool is_steady(struct ir_expr *expr, void *context)
{
    struct steadiness *steadiness = context;
    if (--steadiness->left < 0)
        return false;
    if (expr->kind == IR_SYMBOL && is_declared_inside(expr->symbol))
        return ir_expr_walk(expr->symbol->value, is_steady, steadiness);
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE)
        return !changes(steadiness->voucher, NULL, expr->symbol);
    return expr->kind != IR_LOAD || !changes(steadiness->voucher, expr->access.buffer, NULL);
}

struct ir_expr *vouch_steady_part(struct voucher *voucher, struct ir_expr *truth)
{
    struct steadiness steadiness = {voucher, NODES};
    if (truth->kind != IR_OPERATION || truth->operation != OP_AND)
        return ir_expr_walk(truth, is_steady, &steadiness) ? truth : NULL;
    struct ir_expr *first = vouch_steady_part(voucher, truth->operands[0]),
                   *second = vouch_steady_part(voucher, truth->operands[1]);
    if (first == truth->operands[0] && second == truth->operands[1])
        return truth;
    return first && second ? pass_combine(voucher->pass, OP_AND, first, second) : first ? first : second;
}

/* As below, of an expression of the dtype, int32 or int64; int32 ones wrap soon. */
static bool find_slope_in(struct ir_expr *expr, akg_dtype dtype, const struct ir_symbol *symbol,
                          long long *slope)
{
    const struct ir_expr *value = dtype == AKG_INT32 && vouch_is_cast(expr) ? expr->operands[0] : expr;
    long long other = 0, limit = dtype == AKG_INT64 ? VOUCH_SPAN : 1;
    *slope = value->kind == IR_SYMBOL && value->symbol == symbol;
    if (*slope || !pass_mentions(expr, symbol))
        return true;
    if (expr->kind != IR_OPERATION || expr->dtype != dtype || expr->count != 2 ||
        !find_slope_in(expr->operands[0], dtype, symbol, slope))
        return false;
    if (expr->operation == OP_MUL && expr->operands[1]->kind == IR_INTEGER) {
        long long factor = expr->operands[1]->integer;
        if (factor > limit || factor < -limit)
            return false;
        *slope *= factor;
    } else if (expr->operation == OP_ADD || expr->operation == OP_SUB) {
        if (!find_slope_in(expr->operands[1], dtype, symbol, &other))
            return false;
        *slope += expr->operation == OP_ADD ? other : -other;
    } else {
        return false;
    }
    return *slope <= limit && *slope >= -limit;
}

/* By what it grows with each value of the symbol; false: not by the same, or by so much that it may come back
 * from outside within VOUCH_SPAN values: integers wrap. */
static bool find_slope(struct ir_expr *expr, const struct ir_symbol *symbol, long long *slope)
{
    if (vouch_is_cast(expr) && expr->operands[0]->dtype == AKG_INT32)
        return find_slope_in(expr->operands[0], AKG_INT32, symbol, slope);
    return find_slope_in(expr, AKG_INT64, symbol, slope);
}

bool vouch_is_linear(struct ir_expr *expr, const struct ir_symbol *symbol)
{
    long long slope;
    return find_slope(expr, symbol, &slope);
}

/* Whether one test before the loop and one for its last iteration will do. */
static bool tests_ends(struct voucher *voucher, const struct ir_access *access)
{
    bool measures = false;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        long long slope;
        if (access->checks[axis] != IR_CHECK_ELEMENT)
            continue;
        if (!find_slope(vouch_copy(voucher, access->indices[axis]), voucher->range, &slope))
            return false;
        measures |= slope != 0;
    }
    voucher->is_measured |= measures;
    return true;
}

int vouch_phase_of_access(struct voucher *voucher, const struct ir_access *access, int context)
{
    int phase = 0;
    bool tested = false;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        phase = vouch_later(phase, vouch_phase_of(voucher, access->indices[axis], context));
        tested |= access->checks[axis] == IR_CHECK_ELEMENT;
    }
    if (!tested || voucher->refused)
        return phase;
    return vouch_later(phase,
                       voucher->range && tests_ends(voucher, access) ? voucher->range_context : context) +
           1;
}

/* Of what is looked at only where the first operand says so, the tests stand under that, as test_expression
 * has it. */
static int phase_of_operands(struct voucher *voucher, const struct ir_expr *expr, int context)
{
    const struct ir_symbol *range = voucher->range;
    int phase = 0;
    for (int k = 0; k < expr->count; k++) {
        phase = vouch_later(phase, vouch_phase_of(voucher, expr->operands[k], context));
        if (k == 0 && ir_is_choosing(expr)) {
            context = vouch_later(context, phase);
            voucher->range = NULL;
        }
    }
    voucher->range = range;
    return phase;
}

int vouch_phase_of(struct voucher *voucher, const struct ir_expr *expr, int context)
{
    int phase = 0;
    if (++voucher->nodes > NODES)
        voucher->refused = true;
    if (voucher->refused)
        return 0;
    if (expr->kind == IR_SYMBOL && is_declared_inside(expr->symbol))
        return vouch_phase_of(voucher, expr->symbol->value, context);
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE)
        voucher->refused |= changes(voucher, NULL, expr->symbol);
    if (expr->kind == IR_OPERATION) {
        voucher->refused |= expr->checked;
        phase = phase_of_operands(voucher, expr, context);
    }
    if (expr->kind != IR_LOAD)
        return phase;
    voucher->refused |= changes(voucher, expr->access.buffer, NULL);
    return vouch_phase_of_access(voucher, &expr->access, context);
}

/* ---- conditions ------------------------------------------------------------------------------------ */

bool vouch_is_of_data(struct ir_expr *truth)
{
    bool joins = truth->kind == IR_OPERATION && operation_table[truth->operation].rule == RULE_LOGICAL,
         all = joins;
    for (int k = 0; joins && k < truth->count; k++)
        all = all && vouch_is_of_data(truth->operands[k]);
    return joins ? all : ir_expr_loads(truth);
}

/* An element that is a given one, or is none, which loops tell: not one that stands for none, as -1 does. */
static bool asks_for_one(const struct ir_expr *truth)
{
    return truth->kind == IR_OPERATION && (truth->operation == OP_EQ || truth->operation == OP_NE) &&
           truth->operands[0]->kind != IR_INTEGER && truth->operands[1]->kind != IR_INTEGER;
}

struct search {
    struct voucher *voucher;
    const struct ir_stmt *block;
    struct ir_expr *truth, *load;
    bool found;
};

static bool look_for_load(struct ir_expr *expr, void *context)
{
    struct search *search = context;
    search->found |= expr->kind == IR_LOAD && ir_expr_equal(expr, search->load);
    return !search->found;
}

/* What the truth has loaded may be loaded, whatever it says; a scalar of the block stands for what does not.
 */
static bool is_open(struct ir_expr *expr, void *context)
{
    struct search *search = context;
    if (expr->kind == IR_SYMBOL)
        return !ir_block_declares(search->block, expr->symbol);
    if (expr->kind != IR_LOAD)
        return true;
    search->load = expr;
    search->found = false;
    ir_expr_walk(search->truth, look_for_load, search);
    return search->found && asks_for_one(search->truth);
}

static bool is_open_access(const struct ir_access *access, struct search *search)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT &&
            !ir_expr_walk(vouch_copy(search->voucher, access->indices[axis]), is_open, search))
            return false;
    return true;
}

static bool tests_openly(struct ir_expr *expr, void *context)
{
    return !ir_is_choosing(expr) && (expr->kind != IR_LOAD || is_open_access(&expr->access, context));
}

bool vouch_is_of_anyone(struct voucher *voucher, struct ir_stmt *block, struct ir_expr *truth)
{
    struct search search = {.voucher = voucher, .block = block, .truth = truth};
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_FOR || stmt->kind == IR_WHILE || stmt->kind == IR_IF ||
            !ir_stmt_expressions(stmt, tests_openly, &search) ||
            (stmt->kind == IR_STORE && !is_open_access(&stmt->access, &search)))
            return false;
    return true;
}

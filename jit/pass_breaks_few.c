/*
 * pass_breaks_few.c: a short loop that a condition breaks out of which goes on to hold passes over the rest:
 *
 *     for k = 0 to 3: { if i + k * d >= L: break; ... }  ->  for k = 0 to 3: if i + k * d < L: ...
 *
 * so that what stands around it may become lanes. Consumes loops inside of loops that begin with such
 * choices, and with some that go on with the next iteration, where pass_breaks.c found no end of the loop to
 * put in their place: the factor of the variable is none of 1, or the call says it, or what it is compared
 * with is loaded, or there are two conditions. Where the call says how many iterations there are, the nest
 * gets a version for few of them.
 */
#include "pass_breaks.h"

enum {
    FEW = 64,        /* iterations */
    LOOPS = 4,       /* of a nest; */
    CHOICES = 4,     /* of a loop */
    STATEMENTS = 40, /* of what there will be twice; */
    NESTS = 4,       /* of a kernel */
    BITS = 60,
    PARTS = 60, /* of expressions that are looked at */
    DEEPEST = 100
};

/* ---- conditions that go on to hold ------------------------------------------------------------------- */

enum direction { UNKNOWN, STEADY, RISING, FALLING };

static enum direction turned(enum direction direction)
{
    return direction == RISING ? FALLING : direction == FALLING ? RISING : direction;
}

static enum direction joined(enum direction a, enum direction b)
{
    if (a == UNKNOWN || b == UNKNOWN || a == STEADY || b == STEADY)
        return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a == STEADY ? b : a;
    return a == b ? a : UNKNOWN;
}

static bool is_natural(const struct ir_expr *expr)
{
    if (expr->kind == IR_INTEGER)
        return expr->integer >= 0;
    return expr->kind == IR_SYMBOL &&
           (expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->known.sign != IR_ANY_SIGN);
}

struct look {
    const struct ir_symbol *variable;
    int left;
};

static enum direction direction_of(struct look *look, const struct ir_expr *expr);

static enum direction direction_of_symbol(struct look *look, const struct ir_symbol *symbol)
{
    if (symbol == look->variable)
        return RISING;
    if (symbol->kind == IR_SYMBOL_LET && symbol->value)
        return direction_of(look, symbol->value);
    return symbol->kind == IR_SYMBOL_VARIABLE ? UNKNOWN : STEADY;
}

static enum direction direction_of_operation(struct look *look, const struct ir_expr *expr)
{
    enum direction sides[3] = {STEADY, STEADY, STEADY};
    bool steady = !expr->checked;
    for (int k = 0; k < expr->count; k++) {
        sides[k] = direction_of(look, expr->operands[k]);
        steady &= sides[k] == STEADY;
    }
    if (steady)
        return STEADY;
    switch (expr->operation) {
    case OP_ADD:
        return joined(sides[0], sides[1]);
    case OP_SUB:
        return joined(sides[0], turned(sides[1]));
    case OP_NEG:
        return turned(sides[0]);
    case OP_MUL:
        for (int k = 0; k < 2; k++)
            if (sides[k] == STEADY && is_natural(expr->operands[k]))
                return sides[1 - k];
        return UNKNOWN;
    default:
        return UNKNOWN;
    }
}

static enum direction direction_of(struct look *look, const struct ir_expr *expr)
{
    if (--look->left < 0)
        return UNKNOWN;
    if (expr->kind == IR_SYMBOL)
        return direction_of_symbol(look, expr->symbol);
    if (expr->kind == IR_OPERATION)
        return direction_of_operation(look, expr);
    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++)
        if (expr->access.buffer->role != IR_INPUT || expr->access.checks[axis] == IR_CHECK_ELEMENT ||
            direction_of(look, expr->access.indices[axis]) != STEADY)
            return UNKNOWN;
    return expr->kind == IR_LOAD && expr->access.buffer->role != IR_INPUT ? UNKNOWN : STEADY;
}

/* Sums with the variable must not wrap. */
static enum direction direction_of_side(const struct pass_ranges *around, const struct ir_stmt *loop,
                                        const struct ir_expr *expr)
{
    struct look look = {loop->symbol, PARTS};
    enum direction direction = direction_of(&look, expr);
    return direction == STEADY || (expr->dtype == AKG_INT64 && pass_bits_of(around, expr) <= BITS) ? direction
                                                                                                   : UNKNOWN;
}

/* Whether it holds in all iterations behind one in which it does. */
static bool is_lasting(const struct pass_ranges *around, const struct ir_stmt *loop,
                       const struct ir_expr *condition)
{
    if (condition->kind != IR_OPERATION)
        return false;
    enum operation operation = condition->operation;
    if (operation == OP_AND || operation == OP_OR)
        return is_lasting(around, loop, condition->operands[0]) &&
               is_lasting(around, loop, condition->operands[1]);
    if (operation < OP_LT || operation > OP_GE)
        return false;
    enum direction a = direction_of_side(around, loop, condition->operands[0]);
    enum direction b = direction_of_side(around, loop, condition->operands[1]);
    bool is_greater = operation == OP_GT || operation == OP_GE;
    enum direction difference = joined(a, turned(b));
    return difference == STEADY || difference == (is_greater ? RISING : FALLING);
}

/* ---- choices ------------------------------------------------------------------------------------------- */

/* One that a loop begins with, as it was. */
struct choice {
    struct ir_stmt *stmt, *body, *next;
    struct ir_expr *value;
};

struct few {
    struct pass *pass;
    struct pass_ranges around;
    struct choice choices[LOOPS * CHOICES];
    int choice_count;
    struct ir_expr *all; /* what the call has to say; NULL: nothing yet */
    bool changed;
};

static bool may_lead(const struct ir_stmt *stmt, enum ir_stmt_kind kind)
{
    return stmt->kind == IR_IF && !stmt->otherwise && stmt->body && stmt->body->kind == kind;
}

/* How many choices the loop begins with that all can be turned, with a break among them; 0. Sets `last` to
 * the last of them. */
static int count_choices(const struct few *few, struct ir_stmt *loop, struct ir_stmt **last)
{
    int count = 0, breaks = 0;
    *last = NULL;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_LET && !pass_expr_may_stop(stmt->value))
            continue;
        bool goes_on = may_lead(stmt, IR_CONTINUE) && !pass_expr_may_stop(stmt->value);
        bool breaks_out = may_lead(stmt, IR_BREAK) && is_lasting(&few->around, loop, stmt->value);
        if (!goes_on && !breaks_out)
            break;
        breaks += breaks_out;
        count++;
        *last = stmt;
    }
    return breaks && count <= CHOICES && *last && !pass_jumps((*last)->next) ? count : 0;
}

/* if c: break, or continue; rest -> if not c: rest */
static void turn(struct few *few, struct ir_stmt *stmt, struct choice *choice)
{
    *choice = (struct choice){stmt, stmt->body, stmt->next, stmt->value};
    pass_set_value(stmt, breaks_negated(few->pass, stmt->value));
    stmt->body = stmt->next;
    stmt->next = NULL;
}

static void turn_back(struct few *few)
{
    while (few->choice_count > 0) {
        const struct choice *choice = &few->choices[--few->choice_count];
        choice->stmt->body = choice->body;
        choice->stmt->next = choice->next;
        pass_set_value(choice->stmt, choice->value);
    }
}

static void turn_choices(struct few *few, struct ir_stmt *loop, const struct ir_stmt *last, bool keeps)
{
    for (struct ir_stmt *stmt = loop->body, *next; stmt; stmt = next) {
        struct choice choice;
        next = stmt == last ? NULL : stmt->next;
        if (stmt->kind != IR_IF)
            continue;
        turn(few, stmt, &choice);
        if (keeps)
            few->choices[few->choice_count++] = choice;
    }
}

/* ---- nests ----------------------------------------------------------------------------------------------
 */

static void try_loop(struct few *few, struct ir_stmt *loop)
{
    struct ir_kernel *kernel = few->pass->kernel;
    struct ir_stmt *last;
    if (loop->step != 1 || loop->hint || loop->low->kind != IR_INTEGER || !pass_is_of_call(loop->high))
        return;
    int count = count_choices(few, loop, &last);
    if (!count || few->choice_count + count > LOOPS * CHOICES)
        return;
    struct ir_expr *end = ir_operation(kernel, OP_ADD, pass_copy(few->pass, loop->low),
                                       ir_integer(kernel, AKG_INT64, FEW), NULL);
    struct ir_expr *is_few = ir_operation(kernel, OP_LE, pass_copy(few->pass, loop->high), end, NULL);
    bool is_known = is_few->kind == IR_INTEGER;
    if (is_known && !is_few->integer)
        return;
    turn_choices(few, loop, last, !is_known);
    few->changed |= is_known;
    if (!is_known)
        few->all = few->all ? ir_operation(kernel, OP_AND, few->all, is_few, NULL) : is_few;
}

/* Loops inside others. */
static void visit_block(struct few *few, struct ir_stmt *block, int depth)
{
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&few->around, stmt);
        visit_block(few, stmt->body, depth + 1);
        visit_block(few, stmt->otherwise, depth + 1);
        if (is_known)
            try_loop(few, stmt);
        few->around.count -= is_known;
    }
}

/* Two versions of the nest, where the call says how many iterations there are. */
static bool choose_few(struct pass *pass, struct ir_stmt **place)
{
    struct ir_stmt *nest = *place, *next = nest->next, *few_body = NULL;
    struct few few = {.pass = pass};
    int left = STATEMENTS;
    if (nest->kind != IR_FOR || !pass_ranges_know(&few.around, nest))
        return false;
    visit_block(&few, nest->body, 0);
    nest->next = NULL;
    if (few.all && ir_block_walk(nest, pass_can_be_copied, &left))
        few_body = pass_copy_block(pass, nest);
    turn_back(&few);
    if (few_body) {
        struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, nest->span);
        pass_set_value(choice, few.all);
        choice->body = few_body;
        choice->otherwise = nest;
        *place = choice;
    }
    (*place)->next = next;
    return few_body || few.changed;
}

bool breaks_of_few(struct pass *pass, struct ir_stmt **block, int *made, int depth)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        if (*made < NESTS && choose_few(pass, place)) {
            changed = true;
            ++*made;
            continue;
        }
        if ((*place)->kind == IR_FOR)
            continue;
        changed |= breaks_of_few(pass, &(*place)->body, made, depth + 1);
        changed |= breaks_of_few(pass, &(*place)->otherwise, made, depth + 1);
    }
    return changed;
}

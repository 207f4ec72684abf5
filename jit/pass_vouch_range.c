/*
 * pass_vouch_range.c: tests of what rows hold that are parts of one range (row[i] to row[i + 1]).
 *
 *     largest = 0; for k in 0 to greatest + 1 { largest = max(largest, uint32(col[k])) }
 *
 * instead of a loop over the rows with one over each of them inside: an earlier phase of pass_vouch.c has
 * found the least and the greatest k of all rows, and how many there are together. What is tested under
 * conditions, as in a loop inside that may have no iteration, is taken apart from the rest.
 */
#include "pass_vouch.h"

void vouch_count_range(struct voucher *voucher, const struct ir_stmt *stmt, const struct ir_stmt *loop,
                       struct block *out)
{
    for (int k = 0; k < voucher->bounds.count; k++) {
        struct bound *bound = &voucher->bounds.items[k];
        if (!bound->least || bound->index->kind != IR_SYMBOL || bound->index->symbol != stmt->symbol ||
            vouch_is_of_call(loop))
            continue;
        if (!bound->total)
            bound->total = vouch_declare(voucher, "total", ir_integer(voucher->pass->kernel, AKG_INT64, 0));
        struct ir_expr *distance = pass_combine(voucher->pass, OP_SUB, pass_copy(voucher->pass, loop->high),
                                                pass_copy(voucher->pass, loop->low));
        vouch_extreme(voucher, out, bound->total, OP_ADD, distance);
    }
}

static const struct bound *range_of(const struct voucher *voucher, const struct ir_symbol *symbol)
{
    for (int k = 0; k < voucher->ranges.count; k++)
        if (voucher->ranges.items[k].index->symbol == symbol)
            return &voucher->ranges.items[k];
    return NULL;
}

/* What is loaded is so at the variable itself: all of the range is inside then, and not only the rows. */
static bool is_of_loop(struct ir_expr *expr, void *symbol)
{
    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++) {
        struct ir_expr *index = expr->access.indices[axis];
        if (index->kind != IR_SYMBOL && pass_mentions(index, symbol))
            return false;
    }
    return expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_LOOP || expr->symbol == symbol;
}

static bool is_flat(const struct ir_stmt *block, struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind != IR_ASSIGN || !ir_expr_walk(stmt->value->operands[1], is_of_loop, symbol))
            return false;
    return true;
}

/* If the range is not many times as long as the rows are together. That other elements are tested as well can
 * only lead to the nest as it was. */
bool vouch_append_flat(struct voucher *voucher, const struct ir_stmt *stmt, struct ir_stmt *loop)
{
    enum { TIMES = 4, ANYWAY = 1000 };
    struct ir_kernel *kernel = voucher->pass->kernel;
    const struct bound *range = range_of(voucher, stmt->symbol);
    struct ir_stmt *choice = range && vouch_is_choice_of_call(loop->body) ? loop->body : NULL;
    if (!range || loop->step != 1 || !is_flat(choice ? choice->body : loop->body, loop->symbol))
        return false;
    if (choice)
        loop->body = choice->body;
    struct ir_expr *most =
        pass_combine(voucher->pass, OP_ADD,
                     pass_combine(voucher->pass, OP_MUL, pass_use(voucher->pass, range->total),
                                  ir_integer(kernel, AKG_INT64, TIMES)),
                     ir_integer(kernel, AKG_INT64, ANYWAY));
    struct ir_expr *dense =
        pass_combine(voucher->pass, OP_LT, pass_use(voucher->pass, range->greatest), most);
    loop->low = ir_integer(kernel, AKG_INT64, 0); /* which is the least or less, where all are inside */
    loop->high = pass_combine(voucher->pass, OP_ADD, pass_use(voucher->pass, range->greatest),
                              ir_integer(kernel, AKG_INT64, 1));
    struct ir_expr *condition = pass_copy(voucher->pass, dense);
    if (choice)
        condition = pass_combine(voucher->pass, OP_AND, choice->value, condition);
    struct ir_stmt *guarded = vouch_if(voucher, condition, loop, NULL, loop->span);
    guarded->next = voucher->flat;
    voucher->flat = guarded;
    voucher->dense = voucher->dense ? pass_combine(voucher->pass, OP_AND, voucher->dense, dense) : dense;
    return true;
}

static bool is_choice(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_IF && !stmt->otherwise && pass_is_of_call(stmt->value);
}

/* Whether it stands in the block before `end`, or anywhere where that is NULL. */
static bool is_repeated(const struct ir_stmt *assign, const struct ir_stmt *block, const struct ir_stmt *end)
{
    for (const struct ir_stmt *stmt = block; stmt != end; stmt = stmt->next)
        if (assign->kind == IR_ASSIGN && stmt->kind == IR_ASSIGN && stmt->symbol == assign->symbol &&
            ir_expr_equal(stmt->value, assign->value))
            return true;
    return false;
}

/* Whether it stands under the same condition before. */
static bool is_chosen_before(const struct ir_stmt *assign, const struct ir_stmt *block,
                             const struct ir_stmt *choice)
{
    for (const struct ir_stmt *stmt = block; stmt != choice; stmt = stmt->next)
        if (is_choice(stmt) && ir_expr_equal(stmt->value, choice->value) &&
            is_repeated(assign, stmt->body, NULL))
            return true;
    return false;
}

void vouch_drop_repeated(struct ir_stmt *loop)
{
    for (struct ir_stmt **place = &loop->body; *place;) {
        struct ir_stmt *choice = *place;
        for (struct ir_stmt **inner = &choice->body; is_choice(choice) && *inner;)
            if (is_repeated(*inner, loop->body, NULL) || is_chosen_before(*inner, loop->body, choice))
                *inner = (*inner)->next;
            else
                inner = &(*inner)->next;
        if ((is_choice(choice) && !choice->body) || is_repeated(choice, loop->body, choice))
            *place = choice->next;
        else
            place = &choice->next;
    }
}

static bool is_pure(struct ir_expr *expr, void *context)
{
    (void)context;
    return pass_is_pure(expr);
}

bool vouch_may_ask_anyway(const struct ir_stmt *loop, struct ir_stmt *fixed)
{
    bool is_range = !pass_is_pure(loop->low) || !pass_is_pure(loop->high);
    return is_range && ir_block_expressions(fixed, is_pure, NULL);
}

struct ir_stmt *vouch_take_choice(struct ir_stmt *loop)
{
    for (struct ir_stmt **place = &loop->body; *place; place = &(*place)->next)
        if (is_choice(*place)) {
            struct ir_stmt *choice = *place;
            *place = choice->next;
            choice->next = NULL;
            return choice;
        }
    return NULL;
}

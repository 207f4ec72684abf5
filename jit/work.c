/*
 * work.c: see work.h.
 */
#include "work.h"

#include <math.h>

enum { DEEPEST = 40 };

/* ---- operations ------------------------------------------------------------------------------------ */

/* Indices out of tensors: elements are gathered. */
static bool is_gathered(const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (ir_expr_loads(access->indices[axis]))
            return true;
    return false;
}

static int weight_of(const struct ir_expr *expr)
{
    enum { GATHER = 4, DIVISION = 4, REMAINDER = 8, FUNCTION = 8, POWER = 60 };

    if (expr->kind == IR_LOAD)
        return is_gathered(&expr->access) ? GATHER : 1;
    if (expr->kind != IR_OPERATION)
        return 0;
    switch (expr->operation) {
    case OP_POW: /* by a number: products, most likely */
        return expr->operands[1]->kind == IR_OPERATION || expr->operands[1]->kind == IR_LOAD ? POWER : 2;
    case OP_TRUEDIV:
    case OP_SQRT:
    case OP_RSQRT:
        return DIVISION;
    case OP_FLOORDIV:
    case OP_MOD:
    case OP_CEIL_DIV:
        return REMAINDER;
    default:
        return expr->operation >= OP_EXP && expr->operation <= OP_SIGMOID ? FUNCTION : 1;
    }
}

/* Of a lane, with that of what it is computed from: a comparison gives one byte. */
static int size_of(const struct ir_expr *expr)
{
    int size = dtype_table[expr->dtype].size;

    for (int k = 0; expr->kind == IR_OPERATION && k < operation_table[expr->operation].arity; k++)
        if (dtype_table[expr->operands[k]->dtype].size > size)
            size = dtype_table[expr->operands[k]->dtype].size;
    return size;
}

/* Times the bytes of a lane. Indices cost nothing unless elements are gathered: they go on from lane to lane.
 */
static int operations_in(const struct ir_expr *expr, int depth)
{
    int count = weight_of(expr) * size_of(expr);

    if (depth > DEEPEST)
        return count;
    for (int k = 0; expr->kind == IR_OPERATION && k < operation_table[expr->operation].arity; k++)
        count += operations_in(expr->operands[k], depth + 1);
    if (expr->kind == IR_LOAD && is_gathered(&expr->access))
        for (int axis = 0; axis < expr->access.buffer->rank; axis++)
            count += operations_in(expr->access.indices[axis], depth + 1);
    return count;
}

double work_of_statement(const struct ir_stmt *stmt)
{
    int bytes = stmt->kind == IR_STORE ? dtype_table[stmt->access.buffer->dtype].size : 0;

    if (stmt->kind == IR_STORE || stmt->kind == IR_ASSIGN || stmt->kind == IR_VARIABLE ||
        stmt->kind == IR_IF || stmt->kind == IR_WHILE || stmt->kind == IR_LET)
        bytes += operations_in(stmt->value, 0);
    for (int axis = 0; stmt->kind == IR_STORE && axis < stmt->access.buffer->rank; axis++)
        if (ir_expr_loads(stmt->access.indices[axis]))
            bytes += operations_in(stmt->access.indices[axis], 0);
    return bytes / 4.0;
}

/* ---- loops ----------------------------------------------------------------------------------------------
 */

/* HUGE_VAL: not known. */
static double iterations_of(const struct ir_stmt *loop)
{
    if (loop->kind != IR_FOR || loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER)
        return HUGE_VAL;
    double distance = (double)loop->high->integer - (double)loop->low->integer;
    return fmax(0, distance / (double)loop->step);
}

static double work_of_block(const struct ir_stmt *block, int depth)
{
    double work = 0.25;

    for (const struct ir_stmt *stmt = block; stmt && work < HUGE_VAL; stmt = stmt->next) {
        bool is_loop = stmt->kind == IR_FOR || stmt->kind == IR_WHILE;
        double times = is_loop ? iterations_of(stmt) : 1;
        work += work_of_statement(stmt);
        if (depth > DEEPEST || times == HUGE_VAL)
            return HUGE_VAL;
        if (stmt->body)
            work += times * work_of_block(stmt->body, depth + 1);
        if (stmt->otherwise)
            work += work_of_block(stmt->otherwise, depth + 1);
    }
    return work;
}

double work_at_most(const struct ir_stmt *loop)
{
    double times = iterations_of(loop);

    return times == HUGE_VAL ? HUGE_VAL : times * work_of_block(loop->body, 0);
}

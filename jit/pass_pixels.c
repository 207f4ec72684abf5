/*
 * pass_pixels.c: windows over integers of 8 and 16 bits are written out where lanes of so many are enough.
 *
 * Consumes parallel loops around small windows that access nothing but such integers: an edge filter of an
 * image, a morphological one. As a nest (vector_nest.c) they have lanes of 32 bits; written out, what the
 * window is weighed with is known, and with it the range of what it comes to. Comes before pass tabulate,
 * which would put weights into tables. pass_unroll.c does the writing out.
 */
#include "pass.h"

static bool is_small(akg_dtype dtype)
{
    return dtype == AKG_BOOL || (dtype_is_integer(dtype) && dtype_table[dtype].size <= 2);
}

static bool loads_small(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD || is_small(expr->access.buffer->dtype);
}

static bool accesses_small(struct ir_stmt *stmt, void *context)
{
    return (stmt->kind != IR_STORE || is_small(stmt->access.buffer->dtype)) &&
           ir_stmt_expressions(stmt, loads_small, context);
}

bool pass_is_of_pixels(struct ir_stmt *block)
{
    return ir_block_walk(block, accesses_small, NULL);
}

static bool write_out_block(struct pass *pass, struct ir_stmt *block, int depth)
{
    enum { FARTHEST = 200 };
    bool changed = false;

    for (struct ir_stmt *stmt = block; stmt && depth < FARTHEST; stmt = stmt->next) {
        bool inside = write_out_block(pass, stmt->body, depth + 1);
        inside |= write_out_block(pass, stmt->otherwise, depth + 1);
        if (!inside && stmt->kind == IR_FOR && pass_is_of_pixels(stmt->body))
            inside = pass_unroll_window(pass, stmt);
        changed |= inside;
    }
    return changed;
}

bool pass_pixels(struct pass *pass)
{
    if (pass->target == X86_TARGET_NONE || !write_out_block(pass, pass->kernel->body, 0))
        return false;
    pass_simplify(pass); /* conditions on the windows' variables are known now */
    return true;
}

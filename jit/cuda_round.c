/*
 * cuda_round.c: see cuda_round.h.
 */
#include "cuda_round.h"

#include "pass.h"

/* So many innermost iterations in one of the loop take a block longer than launches do. */
enum { ROUND_LARGE = 4096 };

bool cuda_round_allows(const struct cuda_plan *plan, const struct ir_stmt *loop)
{
    const struct dependence_loop *row =
        loop->kind == IR_FOR ? dependence_loop_is_parallel(plan->dependences, loop) : NULL;
    return row && !row->leaves && cuda_is_of_call(loop->low) && cuda_is_of_call(loop->high) &&
           !pass_expr_may_stop(loop->low) && !pass_expr_may_stop(loop->high) && !pass_jumps(loop->body) &&
           !pass_block_may_stop(loop->body) && !ir_block_takes_memory(loop->body);
}

/* ---- how much there is to do -------------------------------------------------------------- */

static struct ir_expr *constant(struct ir_kernel *kernel, int64_t value)
{
    return ir_integer(kernel, AKG_INT64, value);
}

/* Iterations of a loop inside, where the variable of the loop around is its note; 1 where that hangs on more.
 */
static struct ir_expr *iterations_of(struct ir_kernel *kernel, const struct ir_stmt *loop)
{
    struct ir_expr *low = cuda_resolved(kernel, loop->step > 0 ? loop->low : loop->high);
    struct ir_expr *high = cuda_resolved(kernel, loop->step > 0 ? loop->high : loop->low);
    struct ir_expr *span =
        ir_operation(kernel, OP_SUB, ir_expr_substitute(kernel, high), ir_expr_substitute(kernel, low), NULL);
    int64_t step = loop->step > 0 ? loop->step : loop->step == INT64_MIN ? INT64_MAX : -loop->step;
    if (!cuda_is_of_call(span))
        return constant(kernel, 1);
    if (step != 1)
        span = ir_operation(kernel, OP_FLOORDIV, span, constant(kernel, step), NULL);
    return ir_operation(kernel, OP_MAX, span, constant(kernel, 0), NULL);
}

/* The largest of what stands in the block: none of it counts for what is no loop. */
static struct ir_expr *work_of(struct ir_kernel *kernel, const struct ir_stmt *block)
{
    struct ir_expr *most = constant(kernel, 1);
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        struct ir_expr *work = NULL;
        if (stmt->kind == IR_FOR)
            work =
                ir_operation(kernel, OP_MUL, iterations_of(kernel, stmt), work_of(kernel, stmt->body), NULL);
        else if (stmt->kind == IR_IF)
            work = ir_operation(kernel, OP_MAX, work_of(kernel, stmt->body), work_of(kernel, stmt->otherwise),
                                NULL);
        if (work)
            most = ir_operation(kernel, OP_MAX, most, work, NULL);
    }
    return most;
}

static struct ir_expr *work_at(struct ir_kernel *kernel, const struct ir_stmt *loop, struct ir_expr *value)
{
    loop->symbol->note = value;
    struct ir_expr *work = work_of(kernel, loop->body);
    loop->symbol->note = NULL;
    return work;
}

/* By the first iteration or the last one: of an elimination one of them has the most, the other nothing. */
const struct ir_expr *cuda_round_pays(const struct cuda_plan *plan, const struct ir_stmt *loop)
{
    struct ir_kernel *kernel = plan->kernel;
    int64_t large = plan->options->large ? plan->options->large : ROUND_LARGE;
    struct ir_expr *low = cuda_resolved(kernel, loop->low), *high = cuda_resolved(kernel, loop->high);
    struct ir_expr *most =
        ir_operation(kernel, OP_MAX, work_at(kernel, loop, low), work_at(kernel, loop, high), NULL);
    return ir_operation(kernel, OP_GE, most, constant(kernel, large), NULL);
}

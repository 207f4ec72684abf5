/*
 * cuda_fill.c: see cuda_fill.h.
 */
#include "cuda_fill.h"

#include "cuda_access.h"
#include "pass.h"

static struct cuda_uses uses_in(const struct ir_stmt *stmt, const struct ir_buffer *buffer)
{
    struct ir_stmt alone = *stmt;
    alone.next = NULL;
    return cuda_uses_of(&alone, buffer);
}

/* The loops of a nest whose iterations are known before, each with LETs at most before the next; the body of
 * the innermost one. */
static const struct ir_stmt *find_loops(const struct ir_stmt *loop, const struct ir_stmt **loops, int *count)
{
    for (*count = 0; loop && loop->kind == IR_FOR && *count < CUDA_CHAIN;) {
        if (loop->step != 1 || !cuda_is_of_call(loop->low) || !cuda_is_of_call(loop->high) ||
            pass_jumps(loop->body))
            return NULL;
        loops[(*count)++] = loop;
        const struct ir_stmt *inner = loop->body;
        while (inner && inner->kind == IR_LET)
            inner = inner->next;
        if (!inner || inner->kind != IR_FOR || inner->next)
            return loop->body;
        loop = inner;
    }
    return NULL;
}

/* Each index is the variable of a loop of its own, plus a number. */
static bool is_box(const struct ir_access *access, const struct ir_stmt **loops, int count,
                   struct cuda_fill *fill)
{
    unsigned taken = 0;
    fill->rank = access->buffer->rank;
    for (int axis = 0; axis < fill->rank; axis++) {
        struct pass_affine affine;
        if (fill->rank > CUDA_CHAIN || !pass_affine_of(access->indices[axis], &affine) || affine.count != 1)
            return false;
        int loop = 0;
        while (loop < count &&
               (pass_affine_coefficient(&affine, loops[loop]->symbol) != 1 || (taken >> loop & 1)))
            loop++;
        if (loop == count)
            return false;
        taken |= 1u << loop;
        fill->loops[axis] = loops[loop];
        fill->offsets[axis] = affine.constant;
    }
    return true;
}

bool cuda_fill_of(const struct ir_stmt *first, const struct ir_buffer *buffer, struct cuda_fill *fill)
{
    const struct ir_stmt *loops[CUDA_CHAIN];
    int count;
    while (first && uses_in(first, buffer).loads + uses_in(first, buffer).stores == 0)
        first = first->next;
    const struct ir_stmt *body = first ? find_loops(first, loops, &count) : NULL;
    if (!body || uses_in(first, buffer).loads > 0 || count != buffer->rank)
        return false; /* a loop that moves no axis may have no iterations */
    for (const struct ir_stmt *stmt = body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_STORE && stmt->access.buffer == buffer &&
            is_box(&stmt->access, loops, count, fill))
            return true;
    return false;
}

const struct ir_expr *cuda_fill_low(struct ir_kernel *kernel, const struct cuda_fill *fill, int axis)
{
    return ir_operation(kernel, OP_ADD, cuda_resolved(kernel, fill->loops[axis]->low),
                        ir_integer(kernel, AKG_INT64, fill->offsets[axis]), NULL);
}

const struct ir_expr *cuda_fill_length(struct ir_kernel *kernel, const struct cuda_fill *fill, int axis)
{
    struct cuda_chain one = {.loops = {fill->loops[axis]}, .count = 1};
    return cuda_chain_work(kernel, &one);
}

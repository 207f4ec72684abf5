/*
 * sites.c: numbers the places of a kernel that may stop it, and the scalars of its body.
 *
 * Consumes an analysed kernel that is not shared yet; writes access.site, expr.site, stmt.site, symbol.slot
 * and kernel.slot_count, so that a run needs to write nothing into the kernel and threads may share it.
 */
#include "sites.h"

struct numbering {
    struct ir_kernel *kernel;
    struct jit_sites *sites;
    const struct ir_symbol *loops[JIT_TRAP_LOOPS];
    int depth; /* loops around; the deeper ones are not kept */
};

static int add_site(struct numbering *numbering, struct jit_site site)
{
    site.loop_count = numbering->depth < JIT_TRAP_LOOPS ? numbering->depth : JIT_TRAP_LOOPS;
    for (int k = 0; k < site.loop_count; k++)
        site.loops[k] = numbering->loops[k];
    list_push(numbering->kernel->arena, &numbering->sites->rows, site);
    return numbering->sites->rows.count;
}

/* The axes whose index is a uint64: as the int64 that is compared, large ones are negative. */
static unsigned wide_axes(const struct ir_access *access)
{
    unsigned axes = 0;

    for (int k = 0; k < access->buffer->rank; k++) {
        const struct ir_expr *index = access->indices[k];
        if (index->kind == IR_OPERATION && index->operation == OP_CAST &&
            index->operands[0]->dtype == AKG_UINT64)
            axes |= 1u << k;
    }
    return axes;
}

static void number_access(struct numbering *numbering, struct ir_access *access, struct span span)
{
    access->site = 0;
    if (access->buffer->rank > 0)
        access->site = add_site(numbering, (struct jit_site){.kind = JIT_SITE_INDEX,
                                                             .span = span,
                                                             .buffer = access->buffer,
                                                             .wide = wide_axes(access)});
}

static bool divides_integers(const struct ir_expr *expr)
{
    if (!dtype_is_integer(expr->dtype))
        return false;
    return expr->operation == OP_FLOORDIV || expr->operation == OP_MOD || expr->operation == OP_CEIL_DIV ||
           expr->operation == OP_POW;
}

static bool number_expr(struct ir_expr *expr, void *context)
{
    struct numbering *numbering = context;
    if (expr->kind == IR_LOAD)
        number_access(numbering, &expr->access, expr->span);
    if (expr->kind == IR_OPERATION)
        expr->site = divides_integers(expr)
                         ? add_site(numbering, (struct jit_site){JIT_SITE_DIVISION, .span = expr->span})
                         : 0;
    return true;
}

static void number_stmt(struct numbering *numbering, struct ir_stmt *stmt)
{
    if (stmt->kind == IR_STORE)
        number_access(numbering, &stmt->access, stmt->span);
    ir_stmt_expressions(stmt, number_expr, numbering);
    if (stmt->kind == IR_ASSERT)
        stmt->site = add_site(
            numbering,
            (struct jit_site){.kind = JIT_SITE_ASSERT, .span = stmt->span, .message = stmt->message});
    if (stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE)
        stmt->symbol->slot = numbering->kernel->slot_count++;
}

static void number_block(struct numbering *numbering, struct ir_stmt *stmt);

/* The statement and what it holds; a chain of else-ifs without recursion, however long. */
static void number_tree(struct numbering *numbering, struct ir_stmt *stmt)
{
    number_stmt(numbering, stmt);
    if (stmt->kind == IR_FOR && numbering->depth < JIT_TRAP_LOOPS)
        numbering->loops[numbering->depth] = stmt->symbol;
    numbering->depth += stmt->kind == IR_FOR;
    number_block(numbering, stmt->body);
    numbering->depth -= stmt->kind == IR_FOR;
    struct ir_stmt *otherwise = stmt->otherwise;
    for (; otherwise && otherwise->kind == IR_IF && !otherwise->next; otherwise = otherwise->otherwise) {
        number_stmt(numbering, otherwise);
        number_block(numbering, otherwise->body);
    }
    number_block(numbering, otherwise);
}

static void number_block(struct numbering *numbering, struct ir_stmt *stmt)
{
    for (; stmt; stmt = stmt->next)
        number_tree(numbering, stmt);
}

void sites_number(struct ir_kernel *kernel, struct jit_sites *sites)
{
    struct numbering numbering = {.kernel = kernel, .sites = sites};

    kernel->slot_count = 0;
    for (int k = 0; k < kernel->dims.count; k++)
        kernel->dims.items[k]->slot = kernel->slot_count++;
    for (int k = 0; k < kernel->attributes.count; k++)
        kernel->attributes.items[k]->slot = kernel->slot_count++;
    number_block(&numbering, kernel->body);
}

/*
 * cuda_quads.c: see cuda_quads.h.
 */
#include "cuda_quads.h"

#include "cuda_access.h"
#include "pass.h"

struct finding {
    const struct cuda_plan *plan;
    struct cuda_quads *quads;
    bool in_row;
};

/* ---- what runs along the loop ---------------------------------------------------------------- */

/* The same for all iterations, but for the last index, and known before the body. */
static bool place_is_fixed(const struct cuda_quads *quads, const struct ir_access *access)
{
    int last = access->buffer->rank - 1;
    for (int axis = 0; axis <= last; axis++)
        if ((axis < last && pass_mentions(access->indices[axis], quads->loop->symbol)) ||
            !cuda_can_be_known_before(quads->body, access->indices[axis]))
            return false;
    return true;
}

/* The last index without the loop's variable, if that is in it once: what the call knows, and a number. */
static bool offset_of(const struct cuda_quads *quads, const struct ir_access *access,
                      struct pass_affine *offset)
{
    enum { FARTHEST = 1 << 20 };
    struct pass_affine variable = {.count = 1, .terms = {{quads->loop->symbol, 1}}};
    if (!pass_affine_of(access->indices[access->buffer->rank - 1], offset) ||
        pass_affine_coefficient(offset, quads->loop->symbol) != 1 || !pass_affine_add(offset, -1, &variable))
        return false;
    for (int k = 0; k < offset->count; k++)
        if (offset->terms[k].symbol->kind != IR_SYMBOL_DIM &&
            offset->terms[k].symbol->kind != IR_SYMBOL_ATTRIBUTE)
            return false;
    return offset->constant >= -FARTHEST && offset->constant <= FARTHEST;
}

static bool runs_along(const struct finding *finding, const struct ir_access *access,
                       struct pass_affine *offset)
{
    const struct ir_buffer *buffer = access->buffer;
    int last = buffer->rank - 1;
    return last >= 0 && buffer->contiguous && finding->plan->lives[buffer->index] != CUDA_LIFE_THREAD &&
           access->checks[last] != IR_CHECK_ELEMENT && place_is_fixed(finding->quads, access) &&
           offset_of(finding->quads, access, offset) &&
           (!finding->in_row || (offset->count == 0 && offset->constant == 0));
}

static int64_t modulo(const struct cuda_quads *quads, int64_t value)
{
    return (value % quads->length + quads->length) % quads->length;
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* In every iteration, the only one into its tensor; and nothing loads that behind it. The first one says
 * where pieces begin. */
static void note_store(struct finding *finding, const struct ir_stmt *stmt)
{
    struct cuda_quads *quads = finding->quads;
    struct pass_affine offset;
    if (stmt->kind != IR_STORE || quads->store_count == CUDA_QUAD_STORES ||
        !runs_along(finding, &stmt->access, &offset) ||
        (quads->store_count && modulo(quads, offset.constant) != quads->align))
        return;
    struct cuda_uses uses = cuda_uses_of(quads->body, stmt->access.buffer);
    if (uses.stores != 1 || (uses.loads != 0 && stmt->next))
        return;
    quads->align = modulo(quads, offset.constant);
    quads->stores[quads->store_count++] = stmt;
}

static bool is_stored_otherwise(const struct cuda_quads *quads, const struct ir_buffer *buffer)
{
    if (cuda_uses_of(quads->body, buffer).stores == 0)
        return false;
    for (int k = 0; k < quads->store_count; k++)
        if (quads->stores[k]->access.buffer == buffer)
            return false;
    return true;
}

/* ---- loads ----------------------------------------------------------------------------------- */

/* Whether the accesses differ by a number in the last index, and nothing else. */
static bool same_row(const struct cuda_quads *quads, const struct ir_access *a, const struct ir_access *b)
{
    struct pass_affine difference, subtracted;
    if (a->buffer != b->buffer)
        return false;
    for (int axis = 0; axis < a->buffer->rank - 1; axis++)
        if (!ir_expr_equal(a->indices[axis], b->indices[axis]) || a->checks[axis] != b->checks[axis])
            return false;
    return offset_of(quads, a, &difference) && offset_of(quads, b, &subtracted) &&
           pass_affine_add(&difference, -1, &subtracted) && difference.count == 0;
}

/* The window that the load goes into, or a new one; -1: there is no room. */
static int window_for(struct cuda_quads *quads, const struct ir_access *access, int64_t shift)
{
    for (int k = 0; k < quads->window_count; k++) {
        struct cuda_window *window = &quads->windows[k];
        int64_t low = window->low < shift ? window->low : shift;
        int64_t high = window->high > shift ? window->high : shift;
        if (!same_row(quads, window->access, access) || high - low > CUDA_QUAD_WIDEST)
            continue;
        window->low = low;
        window->high = high;
        return k;
    }
    if (quads->window_count == CUDA_QUAD_WINDOWS)
        return -1;
    quads->windows[quads->window_count] = (struct cuda_window){access, shift, shift, shift};
    return quads->window_count++;
}

static void note_load(const struct ir_expr *load, void *context)
{
    struct finding *finding = context;
    struct cuda_quads *quads = finding->quads;
    struct pass_affine offset;
    for (int k = 0; k < quads->load_count; k++)
        if (ir_expr_equal(quads->loads[k].load, load))
            return;
    if (quads->load_count == CUDA_QUAD_LOADS || !runs_along(finding, &load->access, &offset) ||
        is_stored_otherwise(quads, load->access.buffer))
        return;
    if (!quads->load_count && !quads->store_count)
        quads->align = modulo(quads, offset.constant);
    int window = window_for(quads, &load->access, offset.constant);
    if (window >= 0)
        quads->loads[quads->load_count++] = (struct cuda_quad_load){load, window, offset.constant};
}

/* ---- what may stop ---------------------------------------------------------------------------- */

static bool is_noted(const struct cuda_quads *quads, const struct ir_expr *load)
{
    for (int k = 0; k < quads->load_count; k++)
        if (ir_expr_equal(quads->loads[k].load, load))
            return true;
    return false;
}

/* Whether anything in it may stop but places of the loads that are noted. */
static bool stops_elsewhere(const struct cuda_quads *quads, struct ir_expr *expr)
{
    if (expr->kind == IR_LOAD) {
        if (is_noted(quads, expr))
            return false;
        return pass_access_may_stop(&expr->access);
    }
    if (expr->kind != IR_OPERATION)
        return pass_expr_may_stop(expr);
    if (expr->checked)
        return true;
    for (int k = 0; k < expr->count; k++)
        if (stops_elsewhere(quads, expr->operands[k]))
            return true;
    return false;
}

/* The places that may stop are computed before all else, in their order: so nothing else is to stop. */
static bool stops_allow(const struct finding *finding, const struct cuda_step *step)
{
    struct cuda_quads *quads = finding->quads;
    quads->stops = pass_block_may_stop((struct ir_stmt *)quads->body);
    if (!quads->stops)
        return true;
    if (finding->in_row || step->kind != CUDA_STEP_THREADS || step->sums)
        return false;
    for (const struct ir_stmt *stmt = quads->body; stmt; stmt = stmt->next)
        if ((stmt->kind != IR_LET && stmt->kind != IR_STORE) ||
            (stmt->kind == IR_STORE && pass_access_may_stop((struct ir_access *)&stmt->access)) ||
            stops_elsewhere(quads, stmt->value))
            return false;
    return true;
}

/* ---- whether the nest goes through tensors as they lie ------------------------------------------------ */

/* Its indices are the variables of the loops, which go from 0 to its extents. */
static bool is_in_order(const struct cuda_quads *quads, const struct ir_access *access)
{
    const struct cuda_chain *chain = quads->chain;
    if (access->buffer->rank != chain->count)
        return false;
    for (int k = 0; k < chain->count; k++) {
        const struct ir_stmt *loop = chain->loops[k];
        const struct ir_expr *index = access->indices[k];
        if (index->kind != IR_SYMBOL || index->symbol != loop->symbol || loop->step != 1 ||
            loop->low->kind != IR_INTEGER || loop->low->integer != 0 ||
            !ir_expr_equal(loop->high, access->buffer->shape[k]))
            return false;
    }
    return true;
}

/* Whether a variable of the loops stands anywhere but in places of loads that are noted. */
static bool uses_variables(const struct cuda_quads *quads, struct ir_expr *expr)
{
    if (expr->kind == IR_LOAD && is_noted(quads, expr))
        return false;
    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            if (uses_variables(quads, expr->access.indices[k]))
                return true;
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        if (uses_variables(quads, expr->operands[k]))
            return true;
    for (int k = 0; expr->kind == IR_SYMBOL && k < quads->chain->count; k++)
        if (pass_mentions(expr, quads->chain->loops[k]->symbol))
            return true;
    return false;
}

static bool statements_use_variables(const struct cuda_quads *quads, const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        bool noted = false;
        for (int k = 0; k < quads->store_count; k++)
            noted |= quads->stores[k] == stmt;
        for (int k = 0; stmt->kind == IR_STORE && !noted && k < stmt->access.buffer->rank; k++)
            if (uses_variables(quads, stmt->access.indices[k]))
                return true;
        if ((stmt->value && uses_variables(quads, stmt->value)) ||
            statements_use_variables(quads, stmt->body) || statements_use_variables(quads, stmt->otherwise))
            return true;
    }
    return false;
}

static bool is_flat(const struct cuda_quads *quads)
{
    for (int k = 0; k < quads->window_count; k++)
        if (!is_in_order(quads, quads->windows[k].access) || quads->windows[k].low || quads->windows[k].high)
            return false;
    for (int k = 0; k < quads->store_count; k++)
        if (!is_in_order(quads, &quads->stores[k]->access))
            return false;
    for (int k = 0; k < quads->chain->count - 1; k++)
        if (quads->chain->loops[k]->body->kind == IR_LET)
            return false;
    return !quads->stops && !statements_use_variables(quads, quads->body);
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* Whether rows of a tensor are as long as the loop, so that their pieces are whole. */
static bool rows_are_whole(const struct cuda_quads *quads)
{
    if (quads->low != 0 || quads->align != 0)
        return false;
    for (int k = 0; k < quads->window_count + quads->store_count; k++) {
        const struct ir_buffer *buffer = k < quads->window_count
                                             ? quads->windows[k].access->buffer
                                             : quads->stores[k - quads->window_count]->access.buffer;
        if (ir_expr_equal(buffer->shape[buffer->rank - 1], quads->loop->high))
            return true;
    }
    return quads->chain->count == 1;
}

static bool loads_short(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD || dtype_table[expr->access.buffer->dtype].size <= 2;
}

static bool stores_short(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_STORE || dtype_table[stmt->access.buffer->dtype].size <= 2;
}

static bool all_are_short(const struct ir_stmt *body)
{
    return ir_block_expressions((struct ir_stmt *)body, loads_short, NULL) &&
           ir_block_walk((struct ir_stmt *)body, stores_short, NULL);
}

bool cuda_quads_of(const struct cuda_plan *plan, const struct cuda_step *step, const struct cuda_chain *chain,
                   enum cuda_pieces pieces, struct cuda_quads *quads)
{
    enum { LATEST = 1 << 20 };
    const struct ir_stmt *loop = chain->loops[chain->count - 1];
    const bool in_row = pieces == CUDA_PIECES_IN_ROW;
    struct finding finding = {plan, quads, in_row};
    struct cuda_sums sums;
    *quads = (struct cuda_quads){.chain = chain, .loop = loop, .body = loop->body};
    cuda_sums_of(plan, chain, &sums);
    if (sums.count && plan->options->deterministic)
        return false; /* the order of a sum would hang on where tensors lie */
    if (chain->fastest != chain->count - 1 || loop->step != 1 || loop->low->kind != IR_INTEGER ||
        loop->low->integer < 0 || loop->low->integer > LATEST || step->adds || !cuda_body_is_flat(loop->body))
        return false;
    quads->low = loop->low->integer;
    quads->length = pieces <= CUDA_PIECES_OF_LOOPS && all_are_short(quads->body) ? CUDA_EIGHT : CUDA_QUAD;
    for (const struct ir_stmt *stmt = quads->body; stmt; stmt = stmt->next)
        note_store(&finding, stmt);
    cuda_visit_loads(quads->body, note_load, &finding);
    if (!(quads->window_count + quads->store_count) || !stops_allow(&finding, step) || (in_row && quads->low))
        return false;
    quads->flat = pieces != CUDA_PIECES_OF_LOOPS && !in_row && is_flat(quads);
    quads->cut = !in_row && !quads->flat && !rows_are_whole(quads);
    return true;
}

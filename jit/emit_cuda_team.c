/*
 * emit_cuda_team.c: statements that the threads of a block go through together.
 *
 * Consumes statements that no loop over threads holds. Produces text in which every thread computes the
 * scalars, thread 0 stores what is no loop, and loops that may run in any order are shared out, with what
 * they accumulate combined in a fixed order. Barriers stand where threads would meet what others wrote, or
 * write what others may still read: `touched` says what was done to each buffer since the last one.
 */
#include "emit_cuda_private.h"
#include "pass.h"

#include <string.h>

/* ---- barriers ------------------------------------------------------------------------ */

/* One more buffer than there are: the scalars that thread 0 hands to the others. */
static int buffer_count(const struct cuda_emitter *cuda)
{
    return cuda->plan.kernel->buffers.count + 1;
}

void emit_cuda_barrier(struct cuda_emitter *cuda)
{
    emit_line(&cuda->emitter, "%s", cuda->together.barrier);
    memset(cuda->touched, 0, (size_t)buffer_count(cuda));
}

static bool conflicts(unsigned before, unsigned now)
{
    unsigned writes = CUDA_WRITE_ALL | CUDA_WRITE_ONE;
    return ((now & CUDA_READ_ALL) && (before & writes)) ||
           ((now & CUDA_READ_ONE) && (before & CUDA_WRITE_ALL)) || ((now & CUDA_WRITE_ALL) && before) ||
           ((now & CUDA_WRITE_ONE) && (before & (CUDA_READ_ALL | CUDA_WRITE_ALL)));
}

/* What a statement does to the buffers. */
struct touches {
    struct cuda_emitter *cuda;
    unsigned char *buffers;
    unsigned read, write;
};

static bool note_load(struct ir_expr *expr, void *context)
{
    struct touches *touches = context;
    if (expr->kind == IR_LOAD && expr->access.buffer->role != IR_INPUT)
        touches->buffers[expr->access.buffer->index] |= touches->read;
    return true;
}

static bool note_store(struct ir_stmt *stmt, void *context)
{
    struct touches *touches = context;
    const struct ir_buffer *buffer = stmt->access.buffer;
    if (stmt->kind == IR_STORE || (stmt->kind == IR_ALLOCATE && buffer->clear))
        touches->buffers[buffer->index] |= touches->write;
    return true;
}

/* The thread's own are no matter of the others. */
static void forget_own(struct touches *touches)
{
    for (int k = 0; k < touches->cuda->plan.kernel->buffers.count; k++)
        if (touches->cuda->plan.lives[k] == CUDA_LIFE_THREAD)
            touches->buffers[k] = 0;
}

static struct touches touches_new(struct cuda_emitter *cuda, bool all)
{
    struct touches touches = {.cuda = cuda,
                              .read = all ? CUDA_READ_ALL : CUDA_READ_ONE,
                              .write = all ? CUDA_WRITE_ALL : CUDA_WRITE_ONE};
    touches.buffers = arena_array(&cuda->emitter.arena, unsigned char, buffer_count(cuda));
    return touches;
}

/* A barrier before what is to come, where that needs one. */
static void meet(struct cuda_emitter *cuda, struct touches *touches)
{
    bool conflict = false;
    forget_own(touches);
    for (int k = 0; k < buffer_count(cuda); k++)
        conflict |= conflicts(cuda->touched[k], touches->buffers[k]);
    if (conflict)
        emit_cuda_barrier(cuda);
    for (int k = 0; k < buffer_count(cuda); k++)
        cuda->touched[k] |= touches->buffers[k];
}

/* For expressions that all threads evaluate. */
static void meet_to_read(struct cuda_emitter *cuda, struct ir_expr *first, struct ir_expr *second)
{
    struct touches touches = touches_new(cuda, true);
    ir_expr_walk(first, note_load, &touches);
    if (second)
        ir_expr_walk(second, note_load, &touches);
    meet(cuda, &touches);
}

/* For a statement with all it holds. */
static void touches_of(struct touches *touches, const struct ir_stmt *stmt)
{
    struct ir_stmt *writable = (struct ir_stmt *)stmt;
    ir_stmt_expressions(writable, note_load, touches);
    note_store(writable, touches);
    ir_block_expressions(stmt->body, note_load, touches);
    ir_block_expressions(stmt->otherwise, note_load, touches);
    ir_block_walk(stmt->body, note_store, touches);
    ir_block_walk(stmt->otherwise, note_store, touches);
}

/* ---- scalars ---------------------------------------------------------------------------- */

static bool has_stores(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_STORE || ir_block_stores(stmt->body) || ir_block_stores(stmt->otherwise);
}

struct assigned {
    struct arena *arena;
    LIST(const struct ir_symbol *) symbols; /* assigned in a statement, and not declared there */
    LIST(const struct ir_symbol *) declared;
};

static bool note_assigned(struct ir_stmt *stmt, void *context)
{
    struct assigned *assigned = context;
    if (stmt->kind == IR_VARIABLE)
        list_push(assigned->arena, &assigned->declared, stmt->symbol);
    if (stmt->kind != IR_ASSIGN)
        return true;
    for (int k = 0; k < assigned->declared.count; k++)
        if (assigned->declared.items[k] == stmt->symbol)
            return true;
    for (int k = 0; k < assigned->symbols.count; k++)
        if (assigned->symbols.items[k] == stmt->symbol)
            return true;
    list_push(assigned->arena, &assigned->symbols, stmt->symbol);
    return true;
}

/* Variables from outside that a statement assigns. */
static struct assigned assigned_in(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct assigned assigned = {.arena = &cuda->emitter.arena};
    note_assigned((struct ir_stmt *)stmt, &assigned);
    ir_block_walk(stmt->body, note_assigned, &assigned);
    ir_block_walk(stmt->otherwise, note_assigned, &assigned);
    return assigned;
}

/* A break or continue of a loop that is not in the statement. */
static bool jumps_out(const struct ir_stmt *stmt)
{
    if (stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE)
        return true;
    return stmt->kind == IR_IF && (pass_jumps(stmt->body) || pass_jumps(stmt->otherwise));
}

/* ---- thread 0 alone ------------------------------------------------------------------------ */

/* Whether thread 0 may do it while the others go on: no loop to share, and nothing that they all must know.
 */
static bool is_solo(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    switch (stmt->kind) {
    case IR_STORE:
        return true;
    case IR_IF:
        return has_stores(stmt) && !jumps_out(stmt) && assigned_in(cuda, stmt).symbols.count == 0 &&
               !cuda_has_shared(&cuda->plan, stmt->body) && !cuda_has_shared(&cuda->plan, stmt->otherwise);
    case IR_FOR:
    case IR_WHILE:
        return has_stores(stmt) && !cuda_team_shares(&cuda->plan, stmt) &&
               !cuda_has_shared(&cuda->plan, stmt->body);
    default:
        return false;
    }
}

static const char *member_of(akg_dtype dtype)
{
    return dtype_is_float(dtype) ? "d" : "i";
}

/* Thread 0 hands on what it assigned. */
static void hand_on(struct cuda_emitter *cuda, const struct assigned *assigned, bool give)
{
    struct emitter *emitter = &cuda->emitter;
    for (int k = 0; k < assigned->symbols.count; k++) {
        const struct ir_symbol *symbol = assigned->symbols.items[k];
        const char *name = emitter->symbols[symbol->slot].name, *member = member_of(symbol->dtype);
        const char *own = cuda->together.is_squad ? "[akg_squad]" : "";
        if (give)
            emit_line(emitter, "akg_handed[%d]%s.%s = %s;", k, own, member, name);
        else
            emit_line(emitter, "%s = (%s)akg_handed[%d]%s.%s;", name, emit_type(symbol->dtype), k, own,
                      member);
        emitter->symbols[symbol->slot].assignments += !give;
    }
    if (assigned->symbols.count > cuda->shared_scalars)
        cuda->shared_scalars = assigned->symbols.count;
}

/* As many of the statements as thread 0 can do in one go; where the last one assigns what all must know, no
 * more. The first statement behind them. */
static const struct ir_stmt *emit_solo(struct cuda_emitter *cuda, const struct ir_stmt *first,
                                       const struct ir_stmt *end)
{
    struct emitter *emitter = &cuda->emitter;
    struct touches touches = touches_new(cuda, false);
    struct assigned assigned = {.arena = NULL};
    const struct ir_stmt *stmt = first;
    for (; stmt != end && is_solo(cuda, stmt) && assigned.symbols.count == 0; stmt = stmt->next) {
        touches_of(&touches, stmt);
        assigned = assigned_in(cuda, stmt);
    }
    int handed = buffer_count(cuda) - 1;
    if (assigned.symbols.count)
        touches.buffers[handed] |= CUDA_WRITE_ONE;
    meet(cuda, &touches);
    emit_line(emitter, "if (%s == 0) {", cuda->together.thread);
    emitter->indent++;
    for (const struct ir_stmt *one = first; one != stmt; one = one->next)
        emit_statement(emitter, one);
    hand_on(cuda, &assigned, true);
    emitter->indent--;
    emit_line(emitter, "}");
    if (assigned.symbols.count) {
        emit_cuda_barrier(cuda);
        hand_on(cuda, &assigned, false);
        cuda->touched[handed] = CUDA_READ_ALL;
    }
    return stmt;
}

/* ---- loops that are shared ------------------------------------------------------------------- */

static void emit_shared(struct cuda_emitter *cuda, const struct ir_stmt *loop, enum cuda_share share)
{
    struct emitter *emitter = &cuda->emitter;
    struct touches touches = touches_new(cuda, true);
    struct cuda_chain chain;
    struct cuda_sums sums;

    cuda_chain_of(&cuda->plan, loop, share, &chain);
    for (int k = 0; k < chain.count; k++)
        meet_to_read(cuda, chain.loops[k]->low, chain.loops[k]->high);
    touches_of(&touches, loop);
    meet(cuda, &touches);
    emit_line(emitter, "{");
    emitter->indent++;
    if (share == CUDA_SHARE_SCAN || share == CUDA_SHARE_BEST) {
        if (share == CUDA_SHARE_BEST)
            emit_cuda_best(cuda, &chain);
        else
            emit_cuda_scan(cuda, &chain);
        emitter->indent--;
        emit_line(emitter, "}");
        return;
    }
    cuda_sums_of(&cuda->plan, &chain, &sums);
    emit_cuda_begin_sums(cuda, &sums);
    cuda->unrolled = emit_cuda_under_way(cuda, cuda_chain_body(&chain));
    if (!emit_cuda_row(cuda, &chain))
        emit_cuda_each(cuda, &chain, cuda->together.thread, cuda->together.threads);
    cuda->unrolled = 0;
    emit_cuda_end_sums(cuda, &sums);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- loops that are not --------------------------------------------------------------------------- */

/* What the iterations of a loop that the team goes through do to each other's elements. */
static bool body_writes_touched(struct cuda_emitter *cuda, const struct ir_stmt *loop)
{
    struct touches touches = touches_new(cuda, true);
    touches_of(&touches, loop);
    forget_own(&touches);
    for (int k = 0; k < buffer_count(cuda) - 1; k++)
        if ((touches.buffers[k] & CUDA_WRITE_ALL) && cuda->touched[k])
            return true;
    return cuda->touched[buffer_count(cuda) - 1] != 0;
}

static unsigned char *copy_touched(struct cuda_emitter *cuda)
{
    return (unsigned char *)arena_copy(&cuda->emitter.arena, (const char *)cuda->touched,
                                       (size_t)buffer_count(cuda));
}

static void join_touched(struct cuda_emitter *cuda, const unsigned char *other)
{
    for (int k = 0; k < buffer_count(cuda); k++)
        cuda->touched[k] |= other[k];
}

/* The body, and a barrier where its end would meet its beginning. */
static void emit_loop_body(struct cuda_emitter *cuda, const struct ir_stmt *loop)
{
    struct emitter *emitter = &cuda->emitter;
    emitter->indent++;
    emit_cuda_team_block(cuda, loop->body);
    if (body_writes_touched(cuda, loop))
        emit_cuda_barrier(cuda);
    emitter->indent--;
    emit_line(emitter, "}");
}

static void emit_team_for(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct emitter *emitter = &cuda->emitter;
    struct emit_value low, high;
    meet_to_read(cuda, stmt->low, stmt->high);
    emit_bounds(emitter, stmt, &low, &high);
    if (body_writes_touched(cuda, stmt))
        emit_cuda_barrier(cuda);
    unsigned char *before = copy_touched(cuda);
    emit_for_line(emitter, stmt, low, high);
    emit_enter_loop(emitter, stmt);
    emit_loop_body(cuda, stmt);
    emit_leave_loop(emitter);
    join_touched(cuda, before);
}

static void emit_team_while(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct emitter *emitter = &cuda->emitter;
    if (body_writes_touched(cuda, stmt))
        emit_cuda_barrier(cuda);
    unsigned char *before = copy_touched(cuda);
    emit_statement_line(emitter, stmt, "for (;;) {");
    emitter->indent++;
    meet_to_read(cuda, stmt->value, NULL);
    struct emit_value condition = emit_shallow(emitter, stmt->value);
    emit_line(emitter, "if (!%s)", emit_operand(emitter, condition, EMIT_UNARY));
    emit_line(emitter, "    break;");
    emitter->indent--;
    emit_loop_body(cuda, stmt);
    join_touched(cuda, before);
    /* behind the last barrier of the body all threads have read the condition once more */
    struct touches last = touches_new(cuda, true);
    ir_expr_walk(stmt->value, note_load, &last);
    forget_own(&last);
    join_touched(cuda, last.buffers);
}

/* ---- the rest ------------------------------------------------------------------------------------------ */

static void emit_team_if(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct emitter *emitter = &cuda->emitter;
    meet_to_read(cuda, stmt->value, NULL);
    struct emit_value condition = emit_shallow(emitter, stmt->value);
    unsigned char *before = copy_touched(cuda);
    emit_statement_line(emitter, stmt, arena_format(&emitter->arena, "if (%s) {", condition.text));
    emitter->indent++;
    emit_cuda_team_block(cuda, stmt->body);
    emitter->indent--;
    unsigned char *after = copy_touched(cuda);
    memcpy(cuda->touched, before, (size_t)buffer_count(cuda));
    if (stmt->otherwise) {
        emit_line(emitter, "} else {");
        emitter->indent++;
        emit_cuda_team_block(cuda, stmt->otherwise);
        emitter->indent--;
    }
    emit_line(emitter, "}");
    join_touched(cuda, after);
}

static bool has_touched(const struct cuda_emitter *cuda)
{
    for (int k = 0; k < buffer_count(cuda); k++)
        if (cuda->touched[k])
            return true;
    return false;
}

/* Break and continue pass the barrier at the end of the body. */
static void emit_jump(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    if (has_touched(cuda))
        emit_cuda_barrier(cuda);
    emit_statement(&cuda->emitter, stmt);
}

static void emit_team_allocate(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct touches touches = touches_new(cuda, true);
    if (stmt->access.buffer->unused)
        return;
    emit_cuda_temporary(cuda, stmt->access.buffer);
    if (!stmt->access.buffer->clear)
        return;
    touches_of(&touches, stmt);
    meet(cuda, &touches);
    emit_cuda_clear(cuda, stmt->access.buffer, cuda->together.thread, cuda->together.threads);
}

static void emit_all_alike(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct touches touches = touches_new(cuda, true);
    touches_of(&touches, stmt);
    meet(cuda, &touches);
    emit_statement(&cuda->emitter, stmt);
}

static void emit_team_statement(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    bool inside = cuda_has_shared(&cuda->plan, stmt->body) || cuda_has_shared(&cuda->plan, stmt->otherwise);
    if (cuda_team_shares(&cuda->plan, stmt))
        emit_shared(cuda, stmt, cuda_share_of(&cuda->plan, stmt));
    else if (stmt->kind == IR_FOR && inside)
        emit_team_for(cuda, stmt);
    else if (stmt->kind == IR_WHILE && inside)
        emit_team_while(cuda, stmt);
    else if (stmt->kind == IR_IF && (inside || has_stores(stmt) || jumps_out(stmt)))
        emit_team_if(cuda, stmt);
    else if (stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE)
        emit_jump(cuda, stmt);
    else if (stmt->kind == IR_ALLOCATE)
        emit_team_allocate(cuda, stmt);
    else
        emit_all_alike(cuda, stmt);
}

static void emit_range(struct cuda_emitter *cuda, const struct ir_stmt *first, const struct ir_stmt *end)
{
    const struct cuda_row *outer = cuda->row;
    if (cuda->emitter.indent > EMIT_DEEPEST_BLOCK)
        emit_too_deep(&cuda->emitter);
    cuda->row = NULL;
    for (const struct ir_stmt *stmt = first; stmt != end;) {
        if (is_solo(cuda, stmt)) {
            stmt = emit_solo(cuda, stmt, end);
        } else {
            emit_cuda_begin_row(cuda, stmt, end);
            emit_team_statement(cuda, stmt);
            emit_cuda_end_row(cuda, stmt);
            stmt = stmt->next;
        }
    }
    cuda->row = outer;
}

void emit_cuda_team_block(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    emit_range(cuda, block, NULL);
}

void emit_cuda_team(struct cuda_emitter *cuda, const struct ir_stmt *first, int count)
{
    const struct ir_stmt *end = first;
    for (int k = 0; k < count; k++)
        end = end->next;
    emit_range(cuda, first, end);
}

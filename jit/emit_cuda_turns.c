/*
 * emit_cuda_turns.c: a chain of loops whose threads have several iterations under way, one behind the other.
 *
 * Consumes a chain (cuda_plan.h) whose body holds no loop. A thread takes some iterations at a time, as far
 * apart as it would take them one by one: first it computes the variables of all, then it loads for all of
 * them what each loads in any case, and then it goes through them. So the divisions and tests of one
 * iteration do not stand between the loads of another. Loads whose places are tested come last, and only
 * where nothing else may stop the kernel: the stop that is told is that of the first iteration still.
 */
#include "cuda_access.h"
#include "emit_cuda_private.h"
#include "pass.h"

enum { LOADS = 8 };

struct turns {
    struct cuda_emitter *cuda;
    const struct cuda_chain *chain;
    const struct cuda_loop_texts *texts;
    const struct ir_stmt *body;
    const char *number, *step;          /* of the first of the iterations; how far they are apart */
    const struct ir_expr *loads[LOADS]; /* those that another's place needs come before it */
    int count;
    int together;      /* iterations */
    const char *guard; /* whether there is one of them; NULL: there are all */
};

/* ---- what is loaded in any case -------------------------------------------------------------------- */

static bool is_noted(const struct turns *turns, const struct ir_expr *load)
{
    for (int k = 0; k < turns->count; k++)
        if (ir_expr_equal(turns->loads[k], load))
            return true;
    return false;
}

static void note_all(struct turns *turns, struct ir_expr *expr)
{
    if (expr->kind == IR_LOAD)
        for (int axis = 0; axis < expr->access.buffer->rank; axis++)
            note_all(turns, expr->access.indices[axis]);
    if (expr->kind == IR_OPERATION) {
        bool lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
        for (int k = 0; k < (lazy ? 1 : expr->count); k++)
            note_all(turns, expr->operands[k]);
    }
    if (expr->kind == IR_LOAD && turns->count < LOADS && cuda_can_be_known_before(turns->body, expr) &&
        turns->cuda->plan.lives[expr->access.buffer->index] != CUDA_LIFE_THREAD && !is_noted(turns, expr))
        turns->loads[turns->count++] = expr;
}

static void find_loads(struct turns *turns)
{
    for (const struct ir_stmt *stmt = turns->body; stmt; stmt = stmt->next) {
        for (int axis = 0; stmt->kind == IR_STORE && axis < stmt->access.buffer->rank; axis++)
            note_all(turns, stmt->access.indices[axis]);
        if (stmt->value)
            note_all(turns, stmt->value);
    }
}

/* ---- what may stop ---------------------------------------------------------------------------------- */

static bool may_stop(const struct ir_expr *load)
{
    return pass_access_may_stop((struct ir_access *)&load->access);
}

/* Whether anything in it may stop but places of the loads that are noted. */
static bool stops_elsewhere(const struct turns *turns, struct ir_expr *expr)
{
    if (expr->kind == IR_LOAD)
        return !is_noted(turns, expr) && may_stop(expr);
    if (expr->kind != IR_OPERATION)
        return false;
    for (int k = 0; k < expr->count; k++)
        if (stops_elsewhere(turns, expr->operands[k]))
            return true;
    return expr->checked;
}

static bool only_places_stop(const struct turns *turns)
{
    for (const struct ir_stmt *stmt = turns->body; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_IF && pass_stmt_may_stop((struct ir_stmt *)stmt))
            return false;
        for (int axis = 0; stmt->kind == IR_STORE && axis < stmt->access.buffer->rank; axis++)
            if (stmt->access.checks[axis] == IR_CHECK_ELEMENT ||
                stops_elsewhere(turns, stmt->access.indices[axis]))
                return false;
        if (stmt->value && stops_elsewhere(turns, stmt->value))
            return false;
    }
    return true;
}

/* Leaves those out that may stop, or nothing. */
static void choose_loads(struct turns *turns)
{
    int count = 0;
    if (!turns->cuda->program->traps || only_places_stop(turns))
        return;
    for (int k = 0; k < turns->count; k++)
        if (!may_stop(turns->loads[k]))
            turns->loads[count++] = turns->loads[k];
    turns->count = count;
}

/* ---- the text ------------------------------------------------------------------------------------------ */

static const char *variable_of(const struct turns *turns, int loop)
{
    return turns->cuda->emitter.symbols[turns->chain->loops[loop]->symbol->slot].name;
}

static void begin_turns(const struct turns *turns)
{
    struct emitter *emitter = &turns->cuda->emitter;
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int turn_ = 0; turn_ < %d; turn_++) {", turns->together);
    emitter->indent++;
}

static void end_blocks(const struct turns *turns, int count)
{
    for (int k = 0; k < count; k++) {
        turns->cuda->emitter.indent--;
        emit_line(&turns->cuda->emitter, "}");
    }
}

/* The variables of all iterations, which may take divisions. */
static void emit_variables(const struct turns *turns)
{
    struct emitter *emitter = &turns->cuda->emitter;
    for (int k = 0; k < turns->chain->count; k++)
        emit_line(emitter, "long long %s_turn_[%d];", variable_of(turns, k), turns->together);
    begin_turns(turns);
    emit_line(emitter, "const long long number_ = %s + turn_ * (%s);", turns->number, turns->step);
    emit_cuda_apart(turns->cuda, turns->chain, turns->texts, "number_");
    for (int k = 0; k < turns->chain->count; k++)
        emit_line(emitter, "%s_turn_[turn_] = %s;", variable_of(turns, k), variable_of(turns, k));
    end_blocks(turns, 1);
}

/* An iteration at a time, with the LETs between the loops. */
static void begin_iteration(const struct turns *turns)
{
    struct emitter *emitter = &turns->cuda->emitter;
    begin_turns(turns);
    if (turns->guard) {
        emit_line(emitter, "if (%s) {", turns->guard);
        emitter->indent++;
    }
    for (int k = 0; k < turns->chain->count; k++) {
        const struct ir_stmt *loop = turns->chain->loops[k];
        emit_line(emitter, "const long long %s = %s_turn_[turn_];", variable_of(turns, k),
                  variable_of(turns, k));
        emit_line(emitter, "%c%d", EMIT_PENDING, loop->symbol->slot);
    }
    for (int k = 0; k < turns->chain->count; k++) {
        emit_enter_loop(emitter, turns->chain->loops[k]);
        if (k < turns->chain->count - 1)
            for (const struct ir_stmt *stmt = turns->chain->loops[k]->body; stmt->kind == IR_LET;
                 stmt = stmt->next)
                emit_statement(emitter, stmt);
    }
}

static void end_iteration(const struct turns *turns)
{
    for (int k = 0; k < turns->chain->count; k++)
        emit_leave_loop(&turns->cuda->emitter);
    end_blocks(turns, turns->guard ? 2 : 1);
}

static const char *ahead_name(const struct turns *turns, int load)
{
    return arena_format(&turns->cuda->emitter.arena, "ahead%d_", load);
}

/* Those that may stop the kernel, or the others. */
static void emit_loads(const struct turns *turns, bool stopping)
{
    struct cuda_emitter *cuda = turns->cuda;
    struct emitter *emitter = &cuda->emitter;
    bool any = false;
    for (int k = 0; k < turns->count; k++)
        any |= may_stop(turns->loads[k]) == stopping;
    if (!any)
        return;
    begin_iteration(turns);
    for (int k = 0; k < turns->count; k++) {
        const struct ir_expr *load = turns->loads[k];
        if (may_stop(load) != stopping)
            continue;
        const char *place = emit_access(emitter, &load->access).text;
        const char *name = arena_format(&emitter->arena, "%s[turn_]", ahead_name(turns, k));
        emit_line(emitter, load->access.buffer->role == IR_INPUT ? "%s = akg_read(%s);" : "%s = %s;", name,
                  place);
        cuda->substitutes[cuda->substitute_count++] =
            (struct cuda_substitute){load, emit_loaded(emitter, load->dtype, emit_name(name))};
    }
    end_iteration(turns);
}

static void emit_together(const struct turns *turns)
{
    struct cuda_emitter *cuda = turns->cuda;
    int substitutes = cuda->substitute_count;
    for (int k = 0; k < turns->count; k++)
        emit_line(&cuda->emitter, "%s %s[%d];", dtype_table[turns->loads[k]->access.buffer->dtype].c_storage,
                  ahead_name(turns, k), turns->together);
    emit_variables(turns);
    emit_loads(turns, false);
    emit_loads(turns, true);
    begin_iteration(turns);
    emit_block(&cuda->emitter, turns->body);
    end_iteration(turns);
    cuda->substitute_count = substitutes;
}

static void emit_plain_body(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    emit_block(&cuda->emitter, block);
}

bool emit_cuda_turns(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                     const struct cuda_loop_texts *texts, const char *first, const char *step)
{
    struct emitter *emitter = &cuda->emitter;
    struct arena *arena = &emitter->arena;
    struct turns turns = {
        .cuda = cuda, .chain = chain, .texts = texts, .body = cuda_chain_body(chain), .step = step};
    if (cuda->row || cuda->substitute_count || !cuda_body_is_flat(turns.body))
        return false;
    find_loads(&turns);
    choose_loads(&turns);
    if (!turns.count)
        return false;
    /* What several blocks share is long enough for more, and one element is little to have under way. */
    turns.together = cuda->step->spread && turns.count == 1 ? 2 * CUDA_TURNS : CUDA_TURNS;
    const char *name = variable_of(&turns, 0), *total = emit_cuda_product(cuda, chain, texts);
    const char *at = arena_format(arena, "%s_at_", name);
    turns.number = arena_format(arena, "%s_from_", name);
    cuda->in_turns = turns.together;
    emit_line(emitter, "#pragma unroll 1");
    emit_statement_line(emitter, chain->loops[0],
                        arena_format(arena, "for (long long %s = %s; %s < %s; %s += %d * (%s)) {",
                                     turns.number, first, turns.number, total, turns.number, turns.together,
                                     step));
    emitter->indent++;
    emit_line(emitter, "if (%s + %d * (%s) < %s) {", turns.number, turns.together - 1, step, total);
    emitter->indent++;
    emit_together(&turns);
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    if (turns.together > CUDA_TURNS) {
        turns.guard = arena_format(arena, "%s + turn_ * (%s) < %s", turns.number, step, total);
        emit_together(&turns);
    } else {
        emit_line(emitter, "#pragma unroll 1");
        emit_line(emitter, "for (long long %s = %s; %s < %s; %s += %s) {", at, turns.number, at, total, at,
                  step);
        emitter->indent++;
        emit_cuda_iteration(cuda, chain, texts, at, emit_plain_body);
        end_blocks(&turns, 1);
    }
    end_blocks(&turns, 2);
    return true;
}

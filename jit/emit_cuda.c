/*
 * emit_cuda.c: a kernel as a CUDA program (cuda.h).
 *
 * Consumes an optimised kernel whose sites and slots are numbered; plans it (cuda_plan.h) and writes one
 * function for each step. Statements and expressions are those of the C emitter, in a dialect of its own;
 * what is spread over blocks and threads is in emit_cuda_chain.c and emit_cuda_team.c, what stands above the
 * functions in emit_cuda_prelude.c.
 */
#include "cuda_frame.h"
#include "cuda_round.h"
#include "cuda_spread.h"
#include "emit_cuda_private.h"
#include "emit_cuda_scan.h"

#include <string.h>

enum { CUDA_MOST_BLOCKS = 1 << 20 };

/* ---- the dialect ------------------------------------------------------------------------ */

static const char *storage_of(const struct ir_buffer *buffer)
{
    return dtype_table[buffer->dtype].c_storage;
}

/* Temporaries that a block or a thread has for itself are declared where their life begins. */
static void cuda_buffer(struct emitter *emitter, int number)
{
    struct cuda_emitter *cuda = cuda_of(emitter);
    const struct ir_buffer *buffer = emitter->kernel->buffers.items[number];
    bool input = buffer->role == IR_INPUT;
    if (cuda->plan.lives[number] != CUDA_LIFE_CALL)
        return;
    emit_line(emitter, "%s%s *%s%s = (%s%s *)frame->data[%d];", input ? "const " : "", storage_of(buffer),
              input ? "__restrict__ " : "", emitter->buffers[number], input ? "const " : "",
              storage_of(buffer), cuda->places[number]);
}

static const char *cuda_stride(struct emitter *emitter, int buffer, int axis)
{
    return arena_format(&emitter->arena, "frame->strides[%d]",
                        cuda_of(emitter)->stride_places[buffer] + axis);
}

void emit_cuda_temporary(struct cuda_emitter *cuda, const struct ir_buffer *buffer)
{
    struct emitter *emitter = &cuda->emitter;
    const char *name = emitter->buffers[buffer->index], *count = emit_element_count(emitter, buffer);
    enum cuda_life life = cuda->plan.lives[buffer->index];
    if (life == CUDA_LIFE_BLOCK)
        emit_line(emitter, "%s *%s = (%s *)frame->data[%d] + blockIdx.x * (%s);", storage_of(buffer), name,
                  storage_of(buffer), cuda->places[buffer->index], count);
    if (life == CUDA_LIFE_THREAD)
        emit_line(emitter, "%s %s[%s];", storage_of(buffer), name, count);
}

/* What a thread on its own does otherwise than in C. */
static bool cuda_statement(struct emitter *emitter, const struct ir_stmt *stmt)
{
    struct cuda_emitter *cuda = cuda_of(emitter);
    if (emit_cuda_best_statement(cuda, stmt))
        return true;
    if (stmt->kind == IR_STORE && cuda->step->adds && cuda_is_atomic(&cuda->plan, &cuda->step->chain, stmt)) {
        emit_cuda_atomic(cuda, stmt);
        return true;
    }
    if (stmt->kind == IR_STORE)
        return emit_cuda_row_store(cuda, stmt);
    if (stmt->kind != IR_ALLOCATE)
        return false;
    if (!stmt->access.buffer->unused) {
        emit_cuda_temporary(cuda, stmt->access.buffer);
        if (stmt->access.buffer->clear)
            emit_cuda_clear(cuda, stmt->access.buffer, "0", "1");
    }
    return true;
}

/* What no launch stores may be loaded before stores that stand in front of it. */
static void emit_input(struct emitter *emitter, const struct ir_expr *load, struct emit_value *value)
{
    if (++emitter->depth > EMIT_DEEPEST_EXPRESSION)
        emit_too_deep(emitter);
    struct emit_value place = emit_access(emitter, &load->access);
    const char *text = arena_format(&emitter->arena, "akg_read(%s)", place.text);
    *value = emit_loaded(emitter, load->dtype, emit_made(place.depth, text, EMIT_PRIMARY));
    emitter->depth--;
}

static bool cuda_expression(struct emitter *emitter, const struct ir_expr *expr, struct emit_value *value)
{
    struct cuda_emitter *cuda = cuda_of(emitter);
    for (int k = 0; k < cuda->substitute_count; k++)
        if (cuda->substitutes[k].expr == expr || ir_expr_equal(cuda->substitutes[k].expr, expr)) {
            *value = cuda->substitutes[k].value;
            return true;
        }
    if (expr->kind == IR_LOAD && expr->access.buffer->role == IR_INPUT) {
        emit_input(emitter, expr, value);
        return true;
    }
    return false;
}

static const struct emit_dialect cuda_dialect = {.function = "__device__ ",
                                                 .trap = "&stop_",
                                                 .trap_members = "stop_.",
                                                 .trap_begin = "struct akg_trap stop_ = {0};",
                                                 .trap_call = "",
                                                 .trap_call_end =
                                                     "; akg_stop(frame->trap, &stop_, akg_number); return;",
                                                 .trap_down = "down",
                                                 .statement = cuda_statement,
                                                 .expression = cuda_expression,
                                                 .buffer = cuda_buffer,
                                                 .stride = cuda_stride};

/* ---- scalars that steps hand on --------------------------------------------------------------- */

/* What a step mentions, by slot. */
struct mentioned {
    unsigned char *slots;
};

static bool mention_read(struct ir_expr *expr, void *context)
{
    struct mentioned *mentioned = context;
    if (expr->kind == IR_SYMBOL)
        mentioned->slots[expr->symbol->slot] = 1;
    return true;
}

static bool mention_assigned(struct ir_stmt *stmt, void *context)
{
    struct mentioned *mentioned = context;
    if (stmt->kind == IR_ASSIGN)
        mentioned->slots[stmt->symbol->slot] = 1;
    return true;
}

static void mention(struct mentioned *mentioned, const struct ir_stmt *stmt)
{
    struct ir_stmt *writable = (struct ir_stmt *)stmt;
    ir_stmt_expressions(writable, mention_read, mentioned);
    mention_assigned(writable, mentioned);
    ir_block_expressions(stmt->body, mention_read, mentioned);
    ir_block_expressions(stmt->otherwise, mention_read, mentioned);
    ir_block_walk(stmt->body, mention_assigned, mentioned);
    ir_block_walk(stmt->otherwise, mention_assigned, mentioned);
}

/* What combining the sums of a chain needs. */
static void mention_sums(struct cuda_emitter *cuda, struct mentioned *mentioned,
                         const struct cuda_chain *chain)
{
    struct cuda_sums sums;
    cuda_sums_of(&cuda->plan, chain, &sums);
    for (int k = 0; k < sums.count; k++)
        mentioned->slots[sums.items[k]->symbol->slot] = 1;
    for (int k = 0; k < chain->count; k++) {
        ir_expr_walk(chain->loops[k]->low, mention_read, mentioned);
        ir_expr_walk(chain->loops[k]->high, mention_read, mentioned);
    }
}

static struct mentioned mentioned_in(struct cuda_emitter *cuda, const struct cuda_step *step)
{
    struct mentioned mentioned = {
        arena_array(&cuda->emitter.arena, unsigned char, cuda->plan.kernel->slot_count)};
    const struct ir_stmt *stmt = step->first;
    for (int k = 0; k < step->count; k++, stmt = stmt->next)
        mention(&mentioned, stmt);
    if (step->collects >= 0 && cuda->plan.steps.items[step->collects].best)
        mention(&mentioned, cuda->plan.steps.items[step->collects].first);
    else if (step->collects >= 0)
        mention_sums(cuda, &mentioned, &cuda->plan.steps.items[step->collects].chain);
    return mentioned;
}

static bool is_within(const struct cuda_step *step, const struct ir_stmt *stmt)
{
    const struct ir_stmt *at = step->first;
    for (int k = 0; k < step->count; k++, at = at->next)
        if (at == stmt)
            return true;
    return false;
}

/* Whether the step declares it itself. */
static bool holds(const struct cuda_step *step, const struct cuda_top *top)
{
    return is_within(step, top->stmt) || (top->round && is_within(step, top->round));
}

/* Gives each scalar at the top that another step than its own mentions a place. */
static void find_kept(struct cuda_emitter *cuda)
{
    struct cuda_plan *plan = &cuda->plan;
    for (int k = 0; k < plan->kernel->slot_count; k++)
        cuda->kept[k] = -1;
    for (int k = 0; k < plan->steps.count; k++) {
        const struct cuda_step *step = &plan->steps.items[k];
        struct mentioned mentioned = mentioned_in(cuda, step);
        for (int slot = 0; slot < plan->kernel->slot_count; slot++)
            if (mentioned.slots[slot])
                cuda->last_uses[slot] = k;
        for (int t = 0; t < plan->tops.count; t++) {
            const struct ir_stmt *stmt = plan->tops.items[t].stmt;
            if (mentioned.slots[stmt->symbol->slot] && cuda->kept[stmt->symbol->slot] < 0 &&
                !cuda_is_settled(stmt) && !holds(step, &plan->tops.items[t]))
                cuda->kept[stmt->symbol->slot] = cuda->kept_count++;
        }
    }
}

static const char *kept_text(struct cuda_emitter *cuda, const struct ir_symbol *symbol)
{
    return arena_format(&cuda->emitter.arena, "akg_kept[%d].%s", cuda->kept[symbol->slot],
                        dtype_is_float(symbol->dtype) ? "d" : "i");
}

static bool assigns_not(struct ir_stmt *stmt, void *symbol)
{
    return stmt->kind != IR_ASSIGN || stmt->symbol != symbol;
}

/* Whether the step leaves another value of the variable. */
static bool changes(struct cuda_emitter *cuda, const struct cuda_step *step, const struct ir_symbol *symbol)
{
    const struct ir_stmt *stmt = step->first;
    struct cuda_sums sums = {.count = 0};
    if (step->kind != CUDA_STEP_TEAM && step->kind != CUDA_STEP_SCAN)
        return false;
    if (step->collects >= 0)
        cuda_sums_of(&cuda->plan, &cuda->plan.steps.items[step->collects].chain, &sums);
    for (int k = 0; k < sums.count; k++)
        if (sums.items[k]->symbol == symbol)
            return true;
    for (int k = 0; k < step->count; k++, stmt = stmt->next)
        if (!assigns_not((struct ir_stmt *)stmt, (void *)symbol) ||
            !ir_block_walk(stmt->body, assigns_not, (void *)symbol) ||
            !ir_block_walk(stmt->otherwise, assigns_not, (void *)symbol))
            return true;
    return false;
}

/* A variable that no step holds, and none before this one has changed. */
static bool is_fresh(struct cuda_emitter *cuda, const struct cuda_top *top)
{
    const struct cuda_plan *plan = &cuda->plan;
    if (top->round || !cuda_begins_settled(top->stmt))
        return false;
    for (int k = 0; k < plan->steps.count; k++) {
        const struct cuda_step *step = &plan->steps.items[k];
        if (is_within(step, top->stmt) || (step < cuda->step && changes(cuda, step, top->stmt->symbol)))
            return false;
    }
    return true;
}

/* Scalars from outside the step, in the order of the text: those of other steps, and those that every step
 * computes for itself. */
static void begin_scalars(struct cuda_emitter *cuda, struct mentioned *mentioned)
{
    struct emitter *emitter = &cuda->emitter;
    const struct cuda_plan *plan = &cuda->plan;
    for (int k = plan->tops.count - 1; k >= 0; k--) {
        const struct ir_stmt *stmt = plan->tops.items[k].stmt;
        if ((cuda_is_settled(stmt) || is_fresh(cuda, &plan->tops.items[k])) &&
            !holds(cuda->step, &plan->tops.items[k]) && mentioned->slots[stmt->symbol->slot])
            mention(mentioned, stmt);
    }
    for (int k = 0; k < plan->tops.count; k++) {
        const struct ir_stmt *stmt = plan->tops.items[k].stmt;
        if (holds(cuda->step, &plan->tops.items[k]) || !mentioned->slots[stmt->symbol->slot])
            continue;
        if (cuda_is_settled(stmt) || is_fresh(cuda, &plan->tops.items[k])) {
            emit_statement(emitter, stmt);
            continue;
        }
        const struct ir_symbol *symbol = stmt->symbol;
        struct emit_symbol *entry = &emitter->symbols[symbol->slot];
        entry->bits = dtype_is_float(symbol->dtype) ? 0 : emit_dtype_bits(symbol->dtype);
        entry->nonnegative = !dtype_is_float(symbol->dtype) && !dtype_is_signed(symbol->dtype);
        emit_line(emitter, "%s %s = (%s)%s;", emit_type(symbol->dtype), entry->name, emit_type(symbol->dtype),
                  kept_text(cuda, symbol));
        emit_line(emitter, "%c%d", EMIT_PENDING, symbol->slot);
    }
}

/* A step of one block, or the block with the last tile of a scan, leaves the scalars that it declared or
 * assigned to the steps behind it that need them. */
static void end_scalars(struct cuda_emitter *cuda, const struct mentioned *mentioned)
{
    struct emitter *emitter = &cuda->emitter;
    bool any = false;
    for (int k = 0; k < cuda->plan.tops.count; k++) {
        const struct cuda_top *top = &cuda->plan.tops.items[k];
        const struct ir_stmt *stmt = top->stmt;
        bool needed = cuda->step->round || /* in the next round */
                      cuda->last_uses[stmt->symbol->slot] > (int)(cuda->step - cuda->plan.steps.items);
        if (cuda->kept[stmt->symbol->slot] < 0 || !needed || (top->round && !cuda->step->round) ||
            !(is_within(cuda->step, stmt) ||
              (stmt->kind == IR_VARIABLE && mentioned->slots[stmt->symbol->slot])))
            continue;
        if (!any) {
            emit_line(emitter, "__syncthreads();");
            emit_line(emitter, cuda->step->kind == CUDA_STEP_TEAM ? "if (threadIdx.x == 0) {"
                                                                  : "if (threadIdx.x == 0 && last_tile_) {");
        }
        any = true;
        emit_line(emitter, "    %s = %s;", kept_text(cuda, stmt->symbol),
                  emitter->symbols[stmt->symbol->slot].name);
    }
    if (any)
        emit_line(emitter, "}");
}

/* ---- steps ---------------------------------------------------------------------------------------- */

/* The body for one iteration. What the iterations do to tensors does not meet; what the block has for itself
 * does.
 */
static void emit_team_body(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    int buffers = cuda->plan.kernel->buffers.count;
    emit_cuda_team_block(cuda, block);
    bool meets = cuda->touched[buffers] != 0;
    for (int k = 0; k < buffers; k++)
        meets |= cuda->touched[k] && cuda->plan.lives[k] == CUDA_LIFE_BLOCK;
    if (meets)
        emit_cuda_barrier(cuda);
}

static void emit_step_body(struct cuda_emitter *cuda)
{
    const char *number = "(long long)blockIdx.x * blockDim.x + threadIdx.x",
               *threads = "(long long)gridDim.x * blockDim.x";
    const struct cuda_step *step = cuda->step;
    struct cuda_sums sums = {.count = 0};
    if (step->best) {
        emit_cuda_best_parts(cuda, &step->chain, number, threads);
        return;
    }
    if (step->sums) {
        cuda_sums_of(&cuda->plan, &step->chain, &sums);
        emit_cuda_begin_parts(cuda, &sums);
    }
    switch (step->kind) {
    case CUDA_STEP_CLEAR:
        if (step->frame)
            emit_cuda_frame(cuda, step->cleared, step->frame, number, threads);
        else
            emit_cuda_clear(cuda, step->cleared, number, threads);
        break;
    case CUDA_STEP_TEAM:
        if (step->collects >= 0 && cuda->plan.steps.items[step->collects].best)
            emit_cuda_best_collect(cuda, &cuda->plan.steps.items[step->collects].chain);
        else if (step->collects >= 0)
            emit_cuda_collect(cuda, &cuda->plan.steps.items[step->collects].chain);
        emit_cuda_team(cuda, step->first, step->count);
        break;
    case CUDA_STEP_TEAMS:
        emit_cuda_chain(cuda, &step->chain, "blockIdx.x", "gridDim.x", emit_team_body);
        break;
    case CUDA_STEP_SQUADS:
        emit_cuda_squads(cuda, emit_team_body);
        break;
    case CUDA_STEP_THREADS:
        if (emit_cuda_counts(cuda))
            emit_cuda_begin_counts(cuda);
        emit_cuda_each(cuda, &step->chain, number, threads);
        if (emit_cuda_counts(cuda))
            emit_cuda_end_counts(cuda);
        break;
    case CUDA_STEP_PARTS:
        emit_cuda_scan_parts(cuda, &step->chain);
        break;
    case CUDA_STEP_SCAN:
        emit_cuda_scan_stretches(cuda, &step->chain);
        break;
    case CUDA_STEP_TILES:
        emit_cuda_tiles(cuda, step);
        break;
    case CUDA_STEP_JOIN:
        emit_cuda_join(cuda, step);
        break;
    case CUDA_STEP_CROSS:
        emit_cuda_cross(cuda, step);
        break;
    case CUDA_STEP_SPREAD:
        emit_cuda_spread(cuda);
        break;
    case CUDA_STEP_GATHER:
        emit_cuda_gather(cuda);
        break;
    }
    if (step->sums)
        emit_cuda_end_parts(cuda, &sums, step->kind == CUDA_STEP_TEAMS);
}

static int round_of(const struct cuda_emitter *cuda, const struct cuda_step *step)
{
    int number = cuda->plan.rounds.count - 1;
    while (number >= 0 && cuda->plan.rounds.items[number] != step->round)
        number--;
    return number;
}

/* The variable of the loop that the host goes through. */
static void begin_round(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    const struct ir_stmt *loop = cuda->step->round;
    struct emit_symbol *entry = &emitter->symbols[loop->symbol->slot];
    entry->bits = 63;
    entry->nonnegative = loop->step > 0 && loop->low->kind == IR_INTEGER && loop->low->integer >= 0;
    emit_line(emitter, "const long long %s = frame->rounds[%d];", entry->name, round_of(cuda, cuda->step));
    emit_line(emitter, "%c%d", EMIT_PENDING, loop->symbol->slot);
    emit_enter_loop(emitter, loop);
}

static const char *step_text(struct cuda_emitter *cuda)
{
    struct mentioned mentioned = mentioned_in(cuda, cuda->step);
    emit_capture_begin(&cuda->emitter);
    if (cuda->step->round)
        begin_round(cuda);
    begin_scalars(cuda, &mentioned);
    emit_step_body(cuda);
    if (cuda->step->round)
        emit_leave_loop(&cuda->emitter);
    if (cuda->step->kind == CUDA_STEP_TEAM || cuda->step->kind == CUDA_STEP_SCAN)
        end_scalars(cuda, &mentioned);
    return emit_capture_end(&cuda->emitter);
}

/* A function starts with nothing noted of the one before. */
static void begin_function(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    emitter->words = (struct emit_words){.items = NULL};
    emitter->line = 0;
    for (int k = 0; k < cuda->plan.kernel->slot_count; k++)
        emitter->symbols[k].assignments = 0;
    memset(cuda->touched, 0, (size_t)cuda->plan.kernel->buffers.count + 1);
    cuda->shared_scalars = 0;
    cuda->resident = cuda->in_quads = cuda->in_rows = 0;
    cuda->in_turns = false;
    cuda->together = cuda_block;
}

static void emit_step(struct cuda_emitter *cuda, const char *entry, struct text *out)
{
    int number = (int)(cuda->step - cuda->plan.steps.items);
    struct emitter *emitter = &cuda->emitter;
    begin_function(cuda);
    struct emit_function inside = emit_function(emitter, step_text(cuda));
    /* registers for two blocks at least, or more, where each thread has many */
    int resident = cuda->step->wide                      ? 1
                   : cuda->step->kind == CUDA_STEP_TILES ? 2
                   : cuda->in_rows                       ? cuda->in_rows
                   : cuda->step->kind == CUDA_STEP_SPREAD
                       ? cuda_spread_resident(cuda->step->spread, cuda->step->phase)
                       : cuda->resident;
    text_format(out, "\nAKG_LAUNCH(%s, %d%s)\n{\n", entry, CUDA_THREADS,
                resident > 1 ? arena_format(&emitter->arena, ", %d", resident) : "");
    text_string(out, "    const struct akg_frame *const frame = AKG_FRAME;\n");
    if (cuda->kept_count && emit_count_word(emitter, "akg_kept"))
        text_format(out, "    union akg_scalar *const akg_kept = (union akg_scalar *)frame->data[%d];\n",
                    cuda->places[cuda->plan.kernel->buffers.count]);
    if (emit_count_word(emitter, "akg_parts"))
        text_format(out, "    union akg_scalar *const akg_parts = (union akg_scalar *)frame->data[%d];\n",
                    cuda->places[cuda->plan.kernel->buffers.count + 1]);
    if (emit_count_word(emitter, "akg_scan"))
        text_format(
            out,
            "    volatile union akg_scalar *const akg_scan = (volatile union akg_scalar *)frame->data[%d];\n",
            cuda->places[cuda->plan.kernel->buffers.count + 4]);
    if (emit_count_word(emitter, "akg_split"))
        text_format(out, "    %s *const akg_split = (%s *)frame->data[%d];\n",
                    emit_type(cuda->step->tiling->dtype), emit_type(cuda->step->tiling->dtype),
                    cuda->places[cuda->plan.kernel->buffers.count + 2]);
    if (emit_count_word(emitter, "akg_spread"))
        text_format(out, "    union akg_scalar *const akg_spread = (union akg_scalar *)frame->data[%d];\n",
                    cuda->places[cuda->plan.kernel->buffers.count + 3]);
    if (emit_count_word(emitter, "akg_number"))
        text_format(out, "    const int akg_number = %d;\n", number + 1);
    if (cuda->shared_scalars)
        text_format(out, "    __shared__ union akg_scalar akg_handed[%d]%s;\n", cuda->shared_scalars,
                    cuda->step->kind == CUDA_STEP_SQUADS ? arena_format(&emitter->arena, "[%d]", CUDA_THREADS)
                                                         : "");
    text_string(out, inside.locals ? inside.locals : "");
    if (cuda->program->traps && cuda->step != cuda->plan.steps.items)
        text_format(out, "    if (frame->trap->launch != 0 && frame->trap->launch < %d)\n        return;\n",
                    number + 1);
    text_format(out, "\n%s}\n", inside.body ? inside.body : "");
}

/* ---- launches --------------------------------------------------------------------------------------- */

static bool uses_scratch(struct ir_stmt *stmt, void *context)
{
    struct cuda_plan *plan = context;
    return stmt->kind != IR_ALLOCATE || plan->lives[stmt->access.buffer->index] != CUDA_LIFE_BLOCK;
}

/* The number of elements of a buffer as an expression. */
static const struct ir_expr *elements_of(struct ir_kernel *kernel, const struct ir_buffer *buffer)
{
    struct ir_expr *count = ir_integer(kernel, AKG_INT64, 1);
    for (int axis = 0; axis < buffer->rank; axis++)
        count = ir_operation(kernel, OP_MUL, count, buffer->shape[axis], NULL);
    return count;
}

/* One number or the other, by whether the host is to go through the loop. */
static const struct ir_expr *choice(const struct cuda_emitter *cuda, const struct ir_stmt *loop,
                                    int64_t by_host, int64_t by_block)
{
    struct ir_kernel *kernel = cuda->plan.kernel;
    return ir_operation(kernel, OP_SELECT, (struct ir_expr *)cuda_round_pays(&cuda->plan, loop),
                        ir_integer(kernel, AKG_INT64, by_host), ir_integer(kernel, AKG_INT64, by_block));
}

/* One tile needs no words. */
static const struct ir_expr *scan_work(struct cuda_emitter *cuda, const struct cuda_step *step,
                                       int64_t per_block)
{
    struct ir_kernel *kernel = cuda->plan.kernel;
    struct ir_expr *work = (struct ir_expr *)emit_cuda_scan_work(cuda, &step->chain);
    if (step->kind == CUDA_STEP_SCAN)
        return work;
    struct ir_expr *is_large =
        ir_operation(kernel, OP_GT, work, ir_integer(kernel, AKG_INT64, per_block), NULL);
    return ir_operation(kernel, OP_SELECT, is_large,
                        (struct ir_expr *)emit_cuda_scan_words(cuda, &step->chain),
                        ir_integer(kernel, AKG_INT64, 0));
}

/* Iterations of a nest by threads or by teams, in calls that take no other way. */
static const struct ir_expr *nest_work(struct cuda_emitter *cuda, const struct cuda_step *step)
{
    struct ir_kernel *kernel = cuda->plan.kernel;
    return step->tiling     ? cuda_tiling_work(&cuda->plan, step->tiling, 0)
           : step->crossing ? cuda_crossing_work(kernel, &step->chain, step->crossing, false)
                            : cuda_chain_work(kernel, &step->chain);
}

static void add_launch(struct cuda_emitter *cuda, const char *entry)
{
    const struct cuda_step *step = cuda->step;
    struct cuda_launch launch = {.entry = entry,
                                 .round = round_of(cuda, step),
                                 .threads = CUDA_THREADS,
                                 .per_block = CUDA_THREADS,
                                 .most_blocks = CUDA_MOST_BLOCKS};
    if (step->first)
        launch.span = step->first->span;
    switch (step->kind) {
    case CUDA_STEP_CLEAR:
        launch.work = step->frame ? cuda_frame_work(cuda->plan.kernel, step->frame, step->cleared)
                                  : elements_of(cuda->plan.kernel, step->cleared);
        launch.span = step->cleared->span;
        break;
    case CUDA_STEP_TEAM:
        launch.most_blocks = launch.per_block = 1;
        if (step->instead)
            launch.work = choice(cuda, step->first, 0, 1);
        break;
    case CUDA_STEP_SQUADS:
    case CUDA_STEP_TEAMS:
        launch.per_block = step->kind == CUDA_STEP_TEAMS ? 1 : CUDA_THREADS;
        if (!ir_block_walk((struct ir_stmt *)cuda_chain_body(&step->chain), uses_scratch, &cuda->plan))
            launch.most_blocks = CUDA_SCRATCH_BLOCKS;
        /* fallthrough */
    case CUDA_STEP_THREADS:
        launch.work = nest_work(cuda, step);
        if (step->inner)
            launch.work = cuda_inner_work(&cuda->plan, launch.work, step);
        if (step->kind == CUDA_STEP_SQUADS)
            launch.work = ir_operation(cuda->plan.kernel, OP_MUL, (struct ir_expr *)launch.work,
                                       (struct ir_expr *)cuda_squad_lanes(cuda->plan.kernel, step), NULL);
        if (step->spread)
            launch.work = cuda_spread_rest(&cuda->plan, step->spread, launch.work);
        break;
    case CUDA_STEP_SPREAD:
        launch.per_block = 1;
        launch.work = cuda_spread_work(&cuda->plan, step->spread, step->phase, false, nest_work(cuda, step));
        break;
    case CUDA_STEP_GATHER:
        launch.per_block = CUDA_SPREAD_LANES;
        launch.work = cuda_spread_work(&cuda->plan, step->spread, step->phase, true, nest_work(cuda, step));
        break;
    case CUDA_STEP_PARTS:
    case CUDA_STEP_SCAN:
        launch.per_block = CUDA_SCAN_TILE;
        launch.most_blocks = CUDA_SUM_BLOCKS;
        launch.work = scan_work(cuda, step, launch.per_block);
        break;
    case CUDA_STEP_TILES:
        launch.per_block = 1;
        launch.work = step->splits ? cuda_split_work(&cuda->plan, step->tiling, false)
                      : step->wide ? cuda_wide_work(&cuda->plan, step->tiling)
                                   : cuda_tiling_work(&cuda->plan, step->tiling, step->parts);
        if (step->wide) {
            launch.architecture = CUDA_WIDE_ARCHITECTURE;
            launch.shared = CUDA_WIDE_BYTES;
        } else if (step->tiling->cores && !step->splits) {
            launch.behind = step->tiling->most_parts - step->parts + 1;
        }
        break;
    case CUDA_STEP_JOIN:
        launch.work = cuda_split_work(&cuda->plan, step->tiling, true);
        break;
    case CUDA_STEP_CROSS:
        launch.per_block = 1;
        launch.work = cuda_crossing_work(cuda->plan.kernel, &step->chain, step->crossing, true);
        break;
    }
    int items = cuda->in_quads ? cuda->in_quads : cuda->in_turns ? CUDA_TURNS : 1;
    if (step->kind == CUDA_STEP_THREADS)
        launch.per_block *= items;
    if (emit_cuda_counts(cuda)) {
        launch.per_block *= CUDA_SUM_ITEMS;
        launch.most_blocks = 2 * CUDA_SUM_BLOCKS; /* more than run at once: the last ones fill up */
    }
    if (step->sums) {
        launch.per_block *= step->kind == CUDA_STEP_TEAMS ? 1 : CUDA_SUM_ITEMS / items;
        launch.most_blocks = launch.most_blocks < CUDA_SUM_BLOCKS ? launch.most_blocks : CUDA_SUM_BLOCKS;
    }
    if (!launch.work && launch.most_blocks > CUDA_UNKNOWN_BLOCKS)
        launch.most_blocks = CUDA_UNKNOWN_BLOCKS;
    list_push(&cuda->program->arena, &cuda->program->launches, launch);
}

/* ---- words ----------------------------------------------------------------------------------------------
 */

static void add_word(struct cuda_emitter *cuda, enum cuda_word_kind kind, int index, int axis)
{
    list_push(&cuda->program->arena, &cuda->program->words, ((struct cuda_word){kind, index, axis}));
}

static int add_temporary(struct cuda_emitter *cuda, struct cuda_temporary temporary)
{
    list_push(&cuda->program->arena, &cuda->program->temporaries, temporary);
    return cuda->program->temporaries.count - 1;
}

static void add_buffer(struct cuda_emitter *cuda, const struct ir_buffer *buffer)
{
    struct ir_kernel *kernel = cuda->plan.kernel;
    enum cuda_life life = cuda->plan.lives[buffer->index];
    cuda->places[buffer->index] = -1;
    if (buffer->unused || life == CUDA_LIFE_THREAD)
        return;
    cuda->places[buffer->index] = cuda->program->words.count;
    if (buffer->role != IR_TEMPORARY) {
        add_word(cuda, CUDA_WORD_DATA, buffer->index, 0);
        return;
    }
    struct cuda_temporary temporary = {.buffer = buffer,
                                       .elements = elements_of(kernel, buffer),
                                       .element_bytes = dtype_table[buffer->dtype].size};
    if (life == CUDA_LIFE_BLOCK)
        temporary.element_bytes *= CUDA_SCRATCH_BLOCKS;
    add_word(cuda, CUDA_WORD_TEMPORARY, add_temporary(cuda, temporary), 0);
}

/* Scalars of the parts that a step leaves. */
static int words_of_parts(struct cuda_emitter *cuda, const struct cuda_step *step)
{
    struct cuda_sums sums;
    if (!step->sums)
        return 0;
    cuda_sums_of(&cuda->plan, &step->chain, &sums);
    return 1 + CUDA_SUM_BLOCKS * (step->best ? 2 : sums.count);
}

/* Of the step with most of them. */
static int most_parts(struct cuda_emitter *cuda)
{
    int most = 0;
    for (int k = 0; k < cuda->plan.steps.count; k++) {
        int words = words_of_parts(cuda, &cuda->plan.steps.items[k]);
        most = words > most ? words : most;
    }
    return most;
}

/* Sums of which parts are left, of the step with most of them; NULL: there is none. */
static const struct ir_expr *most_split(struct cuda_emitter *cuda)
{
    struct ir_expr *most = NULL;
    for (int k = 0; k < cuda->plan.steps.count; k++) {
        if (cuda->plan.steps.items[k].kind != CUDA_STEP_JOIN)
            continue;
        struct ir_expr *one =
            (struct ir_expr *)cuda_split_work(&cuda->plan, cuda->plan.steps.items[k].tiling, true);
        most = most ? ir_operation(cuda->plan.kernel, OP_MAX, most, one, NULL) : one;
    }
    return most;
}

/* Scalars of the phases of nests, of the one with most of them; NULL: there is none. */
static const struct ir_expr *most_spread(struct cuda_emitter *cuda)
{
    struct ir_expr *most = NULL;
    for (int k = 0; k < cuda->plan.steps.count; k++) {
        const struct cuda_step *step = &cuda->plan.steps.items[k];
        if (step->kind != CUDA_STEP_SPREAD || step->phase)
            continue;
        struct ir_expr *one = (struct ir_expr *)cuda_spread_words(&cuda->plan, step->spread);
        most = most ? ir_operation(cuda->plan.kernel, OP_MAX, most, one, NULL) : one;
    }
    return most;
}

/* Words in which the blocks of a scan tell each other what they have, of the scan with most of them; NULL:
 * there is none. */
static const struct ir_expr *most_scanned(struct cuda_emitter *cuda)
{
    struct ir_expr *most = NULL;
    for (int k = 0; k < cuda->plan.steps.count; k++) {
        cuda->step = &cuda->plan.steps.items[k];
        if (cuda->step->kind != CUDA_STEP_SCAN)
            continue;
        struct ir_expr *one = (struct ir_expr *)emit_cuda_scan_words(cuda, &cuda->step->chain);
        most = most ? ir_operation(cuda->plan.kernel, OP_MAX, most, one, NULL) : one;
    }
    return most;
}

/* A call in which the host is not to go through the loop has no values for its variable. */
static void add_round(struct cuda_emitter *cuda, const struct ir_stmt *loop, int number)
{
    struct ir_kernel *kernel = cuda->plan.kernel;
    struct ir_expr *low = cuda_resolved(kernel, loop->low), *high = cuda_resolved(kernel, loop->high);
    struct cuda_round round = {.low = low, .step = loop->step, .word = cuda->program->words.count};
    round.high =
        ir_operation(kernel, OP_SELECT, (struct ir_expr *)cuda_round_pays(&cuda->plan, loop), high, low);
    list_push(&cuda->program->arena, &cuda->program->rounds, round);
    add_word(cuda, CUDA_WORD_ROUND, number, 0);
}

static void add_words(struct cuda_emitter *cuda)
{
    const struct ir_kernel *kernel = cuda->plan.kernel;
    for (int k = 0; k < kernel->buffers.count; k++)
        add_buffer(cuda, kernel->buffers.items[k]);
    if (cuda->kept_count) {
        cuda->places[kernel->buffers.count] = cuda->program->words.count;
        struct cuda_temporary kept = {.element_bytes = (int64_t)sizeof(union jit_scalar) * cuda->kept_count};
        add_word(cuda, CUDA_WORD_TEMPORARY, add_temporary(cuda, kept), 0);
    }
    int parts = most_parts(cuda);
    if (parts) {
        cuda->places[kernel->buffers.count + 1] = cuda->program->words.count;
        struct cuda_temporary temporary = {.element_bytes = (int64_t)sizeof(union jit_scalar) * parts};
        add_word(cuda, CUDA_WORD_TEMPORARY, add_temporary(cuda, temporary), 0);
    }
    const struct ir_expr *most = most_split(cuda);
    if (most) {
        cuda->places[kernel->buffers.count + 2] = cuda->program->words.count;
        struct cuda_temporary temporary = {.elements = most, .element_bytes = CUDA_SPLITS * 8};
        add_word(cuda, CUDA_WORD_TEMPORARY, add_temporary(cuda, temporary), 0);
    }
    const struct ir_expr *words = most_spread(cuda);
    if (words) {
        cuda->places[kernel->buffers.count + 3] = cuda->program->words.count;
        struct cuda_temporary temporary = {.elements = words, .element_bytes = sizeof(union jit_scalar)};
        add_word(cuda, CUDA_WORD_TEMPORARY, add_temporary(cuda, temporary), 0);
    }
    const struct ir_expr *scanned = most_scanned(cuda);
    if (scanned) {
        cuda->places[kernel->buffers.count + 4] = cuda->program->words.count;
        struct cuda_temporary temporary = {.elements = scanned, .element_bytes = sizeof(union jit_scalar)};
        add_word(cuda, CUDA_WORD_TEMPORARY, add_temporary(cuda, temporary), 0);
    }
    for (int k = 0; k < kernel->dims.count; k++)
        add_word(cuda, CUDA_WORD_DIM, k, 0);
    int strides = 0;
    for (int k = 0; k < kernel->buffers.count; k++) {
        cuda->stride_places[k] = strides;
        for (int axis = 0; axis < kernel->buffers.items[k]->rank && !kernel->buffers.items[k]->contiguous;
             axis++) {
            add_word(cuda, CUDA_WORD_STRIDE, k, axis);
            strides++;
        }
    }
    for (int k = 0; k < kernel->attributes.count; k++)
        add_word(cuda, CUDA_WORD_SCALAR, k, 0);
    for (int k = 0; k < cuda->plan.rounds.count; k++)
        add_round(cuda, cuda->plan.rounds.items[k], k);
    if (cuda->program->traps)
        add_word(cuda, CUDA_WORD_TRAP, 0, 0);
}

/* ---- all
 * --------------------------------------------------------------------------------------------------- */

static bool never_stops(struct ir_expr *expr, void *context)
{
    const struct cuda_options *options = context;
    if (expr->kind == IR_OPERATION)
        return !expr->checked;
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        if (expr->access.checks[k] == IR_CHECK_ELEMENT && !options->trust_indices)
            return false;
    return true;
}

static bool statement_never_stops(struct ir_stmt *stmt, void *context)
{
    const struct cuda_options *options = context;
    if (stmt->kind == IR_ASSERT)
        return false;
    for (int k = 0; stmt->kind == IR_STORE && k < stmt->access.buffer->rank; k++)
        if (stmt->access.checks[k] == IR_CHECK_ELEMENT && !options->trust_indices)
            return false;
    return true;
}

static void emit_program(struct emitter *emitter, struct text *out)
{
    struct cuda_emitter *cuda = cuda_of(emitter);
    struct ir_kernel *kernel = cuda->plan.kernel;
    const struct cuda_options *options = cuda->plan.options;
    int buffers = kernel->buffers.count + 5; /* and scratch: scalars that are handed on, parts of sums */

    cuda_plan_make(&cuda->plan, &emitter->arena, kernel, options);
    cuda->program->traps = !ir_block_walk(kernel->body, statement_never_stops, (void *)options) ||
                           !ir_block_expressions(kernel->body, never_stops, (void *)options);
    cuda->places = arena_array(&emitter->arena, int, buffers);
    cuda->stride_places = arena_array(&emitter->arena, int, buffers);
    cuda->touched = arena_array(&emitter->arena, unsigned char, buffers);
    cuda->kept = arena_array(&emitter->arena, int, kernel->slot_count);
    cuda->last_uses = arena_array(&emitter->arena, int, kernel->slot_count);
    find_kept(cuda);
    add_words(cuda);
    emit_capture_begin(emitter);
    emitter->indent = 0;
    struct text *functions = emitter->out;
    for (int k = 0; k < cuda->plan.steps.count; k++) {
        const char *entry = arena_format(&cuda->program->arena, "akg_launch_%d", k);
        size_t begin = functions->length;
        cuda->step = &cuda->plan.steps.items[k];
        emit_step(cuda, entry, functions);
        add_launch(cuda, entry);
        cuda->program->launches.items[k].begin = begin;
        cuda->program->launches.items[k].end = functions->length;
    }
    const char *text = emit_capture_end(emitter);
    emitter->words = (struct emit_words){.items = NULL};
    emit_note_words(emitter, text);
    emit_cuda_prelude(cuda, out);
    for (int k = 0; k < cuda->program->launches.count; k++) {
        cuda->program->launches.items[k].begin += out->length;
        cuda->program->launches.items[k].end += out->length;
    }
    text_string(out, text ? text : "");
}

/* Emits with the arenas of the kernel and of the program escaping here; false when memory ran out. */
static bool emit_guarded(struct cuda_emitter *cuda, struct text *complaint, bool *nested)
{
    struct cuda_program *program = cuda->program;
    struct ir_kernel *kernel = cuda->plan.kernel;
    jmp_buf *outer = kernel->arena->escape;
    kernel->arena->escape = program->arena.escape = &cuda->emitter.escape;
    *nested = !emit_run(&cuda->emitter, &program->text, emit_program, complaint);
    kernel->arena->escape = outer;
    program->arena.escape = NULL;
    return !program->text.failed && !complaint->failed;
}

akg_status cuda_program_make(struct cuda_program *program, struct ir_kernel *kernel,
                             const struct cuda_options *options, akg_diagnostics *diagnostics)
{
    struct emit_c_options c_options = {.entry = "akg_launch", .trust_indices = options->trust_indices};
    struct cuda_emitter cuda = {
        .emitter = {.dialect = &cuda_dialect, .kernel = kernel, .options = &c_options},
        .program = program,
        .plan = {.kernel = kernel, .options = options}};
    struct text complaint;
    bool nested;
    akg_status status = AKG_OK;

    *program = (struct cuda_program){.traps = false};
    arena_init(&program->arena, NULL);
    text_init(&program->text);
    text_init(&complaint);
    if (!emit_guarded(&cuda, &complaint, &nested)) {
        status = AKG_ERROR_MEMORY;
    } else if (nested) {
        diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0}, complaint.data);
        status = AKG_ERROR_INTERNAL;
    }
    text_free(&complaint);
    if (status != AKG_OK)
        cuda_program_free(program);
    return status;
}

void cuda_program_part(const struct cuda_program *program, const bool *wanted, struct text *part)
{
    const struct cuda_launch *launches = program->launches.items;
    int count = program->launches.count;

    text_append(part, program->text.data, count ? launches[0].begin : program->text.length);
    for (int k = 0; k < count; k++)
        if (wanted[k])
            text_append(part, program->text.data + launches[k].begin, launches[k].end - launches[k].begin);
}

void cuda_program_free(struct cuda_program *program)
{
    text_free(&program->text);
    arena_free(&program->arena);
}

/*
 * emit_cuda.c: a kernel as a CUDA program (cuda.h).
 *
 * Consumes an optimised kernel whose sites and slots are numbered; plans it (cuda_plan.h) and writes one
 * function for each step. Statements and expressions are those of the C emitter, in a dialect of its own;
 * what is spread over blocks and threads is in emit_cuda_chain.c and emit_cuda_team.c, what stands above the
 * functions in emit_cuda_prelude.c.
 */
#include "cuda_spread.h"
#include "emit_cuda_private.h"

#include <math.h>
#include <string.h>

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
    bool is_there = cuda->is_ahead[buffer->index];
    cuda->is_ahead[buffer->index] = false;
    if (is_there)
        return;
    if (life == CUDA_LIFE_BLOCK)
        emit_line(emitter, "%s *%s = (%s *)frame->data[%d] + blockIdx.x * (%s);", storage_of(buffer), name,
                  storage_of(buffer), cuda->places[buffer->index], count);
    if (life == CUDA_LIFE_THREAD)
        emit_line(emitter, "%s %s[%s];", storage_of(buffer), name, count);
}

/* Parts of sums of halves are float32: the sum is rounded once, where they are combined. */
static bool is_part(const struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    if (!cuda->summed || cuda->plan.options->deterministic || stmt->kind != IR_ASSIGN)
        return false;
    for (const struct cuda_sums *sums = cuda->summed; sums; sums = sums->around)
        for (int k = 0; k < sums->count; k++)
            if (sums->items[k]->symbol == stmt->symbol)
                return true;
    return false;
}

/* What a thread on its own does otherwise than in C. */
static bool cuda_statement(struct emitter *emitter, const struct ir_stmt *stmt)
{
    struct cuda_emitter *cuda = cuda_of(emitter);
    emitter->unrounded = is_part(cuda, stmt) ? stmt->value : NULL;
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
    for (int k = cuda->substitute_count - 1; k >= 0; k--)
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

static bool is_power_of_two(const struct ir_expr *expr)
{
    int exponent;
    return expr->kind == IR_REAL && fabs(frexp(expr->real, &exponent)) == 0.5;
}

/* Quotients and roots of float32 that threads of a warp need not part for, and functions that halves have no
 * more digits of. By a power of two it is a product anyway. */
static const char *cuda_function_of(const struct emitter *emitter, const struct ir_expr *expr)
{
    const struct cuda_emitter *cuda = (const struct cuda_emitter *)emitter;
    bool is_short = dtype_is_half(expr->dtype);
    if (cuda->plan.options->deterministic || expr->operands[0]->dtype == AKG_FLOAT64)
        return NULL;
    switch (expr->operation) {
    case OP_TRUEDIV:
        return is_power_of_two(expr->operands[1]) ? NULL : is_short ? "akg_short_over" : "akg_overf";
    case OP_SQRT:
        return "akg_rootf";
    case OP_EXP:
        return is_short ? "akg_short_exp" : NULL;
    case OP_ERF:
        return is_short ? "akg_short_erf" : NULL;
    case OP_TANH:
        return is_short ? "akg_short_tanh" : NULL;
    case OP_SIGMOID:
        return is_short ? "akg_short_sigmoid" : NULL;
    default:
        return NULL;
    }
}

static const struct emit_dialect cuda_dialect = {.function = "__device__ ",
                                                 .trap = "&stop_",
                                                 .trap_members = "stop_.",
                                                 .trap_begin = "struct akg_trap stop_ = {0};",
                                                 .trap_call = "",
                                                 .trap_call_end =
                                                     "; akg_stop(frame->trap, &stop_, akg_number); return;",
                                                 .trap_down = "down",
                                                 .trap_nests = "nests",
                                                 .statement = cuda_statement,
                                                 .expression = cuda_expression,
                                                 .buffer = cuda_buffer,
                                                 .stride = cuda_stride,
                                                 .function_of = cuda_function_of,
                                                 .bfloat_rounded = "akg_rounded_bfloat",
                                                 .bfloat_bits = "akg_bfloat_bits"};

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
        if (ir_stmt_assigns(stmt, symbol))
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

/* The variable of the loop that the host goes through. */
static void begin_round(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    const struct ir_stmt *loop = cuda->step->round;
    struct emit_symbol *entry = &emitter->symbols[loop->symbol->slot];
    entry->bits = 63;
    entry->nonnegative = loop->step > 0 && loop->low->kind == IR_INTEGER && loop->low->integer >= 0;
    emit_line(emitter, "const long long %s = frame->rounds[%d];", entry->name,
              emit_cuda_round_of(cuda, cuda->step));
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

/* More threads than usual leave a loop behind what they keep few iterations, which the compiler has under way
 * at once if it knows their number. */
static struct cuda_together block_of(struct cuda_emitter *cuda)
{
    int threads = cuda_step_threads(cuda->step);
    const char *all = arena_format(&cuda->emitter.arena, "%d", threads);
    return (struct cuda_together){.thread = "threadIdx.x",
                                  .threads = threads == CUDA_THREADS ? "blockDim.x" : all,
                                  .all = all,
                                  .barrier = "__syncthreads();"};
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
    cuda->in_turns = 0;
    cuda->looks_up = false;
    cuda->summed = NULL;
    cuda->together = block_of(cuda);
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
    text_format(out, "\nAKG_LAUNCH(%s, %d%s)\n{\n", entry, cuda_step_threads(cuda->step),
                resident > 1
                    ? arena_format(&emitter->arena, resident > 4 ? ", akg_blocks(%d)" : ", %d", resident)
                    : "");
    text_string(out, "    AKG_BEGIN;\n    const struct akg_frame *const frame = AKG_FRAME;\n");
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
    cuda->is_ahead = arena_array(&emitter->arena, bool, buffers);
    cuda->kept = arena_array(&emitter->arena, int, kernel->slot_count);
    cuda->last_uses = arena_array(&emitter->arena, int, kernel->slot_count);
    find_kept(cuda);
    emit_cuda_add_words(cuda);
    emit_capture_begin(emitter);
    emitter->indent = 0;
    struct text *functions = emitter->out;
    for (int k = 0; k < cuda->plan.steps.count; k++) {
        const char *entry = arena_format(&cuda->program->arena, "akg_launch_%d", k);
        size_t begin = functions->length;
        cuda->step = &cuda->plan.steps.items[k];
        emit_step(cuda, entry, functions);
        emit_cuda_add_launch(cuda, entry);
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

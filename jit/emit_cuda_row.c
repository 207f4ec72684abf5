/*
 * emit_cuda_row.c: loops of a block whose threads keep elements in registers from one to the next.
 *
 * Consumes the loops that cuda_row.h found. Each becomes one of a constant number of iterations, which the
 * compiler unrolls, so that what is kept has registers: of pieces of four where tensors lie well for that, of
 * single iterations else; which of the two is the same for all of them. Behind it stands the loop as it is,
 * for the iterations of long rows beyond those, where there are such. Elements of 16 bits may lie two in a
 * word.
 */
#include "emit_cuda_private.h"

#include <string.h>

_Static_assert((int)CUDA_ROW_PIECE == (int)CUDA_QUAD, "a piece is moved at once");

/* ---- what is kept ------------------------------------------------------------------------ */

static const char *kept_name(struct cuda_emitter *cuda, int number)
{
    return arena_format(&cuda->emitter.arena, "%s_kept%d_", cuda->row_name, cuda->row->kept[number].place);
}

/* What is kept for the iteration at hand. */
static const char *kept_text(struct cuda_emitter *cuda, int number)
{
    const char *storage = dtype_table[cuda->row->kept[number].access->buffer->dtype].c_storage;
    if (cuda_row_packs(cuda->row, number))
        return arena_format(&cuda->emitter.arena, "(%s)akg_kept_half(%s, %s)", storage,
                            kept_name(cuda, number), cuda->row_place);
    return arena_format(&cuda->emitter.arena, "%s[%s]", kept_name(cuda, number), cuda->row_place);
}

/* Keeping a value, which is that of the text. */
static const char *keep_text(struct cuda_emitter *cuda, int number, const char *value)
{
    const char *storage = dtype_table[cuda->row->kept[number].access->buffer->dtype].c_storage;
    if (cuda_row_packs(cuda->row, number))
        return arena_format(&cuda->emitter.arena, "(%s)akg_keep_half(%s, %s, %s)", storage,
                            kept_name(cuda, number), cuda->row_place, value);
    return arena_format(&cuda->emitter.arena, "%s[%s] = %s", kept_name(cuda, number), cuda->row_place, value);
}

/* The number of what an access is, where the iteration that is emitted has it; or -1. */
static int number_at_hand(struct cuda_emitter *cuda, const struct ir_access *access)
{
    int number = cuda->row_place ? cuda_row_find(cuda->row, cuda->row_loop, access) : -1;
    return number >= 0 && cuda->row->kept[number].first <= cuda->row_loop ? number : -1;
}

bool emit_cuda_row_has(struct cuda_emitter *cuda, const struct ir_access *access)
{
    return number_at_hand(cuda, access) >= 0;
}

const char *emit_cuda_row_keep(struct cuda_emitter *cuda, const struct ir_access *access, const char *value)
{
    int number = number_at_hand(cuda, access);
    return number >= 0 ? keep_text(cuda, number, value) : value;
}

const char *emit_cuda_row_piece(struct cuda_emitter *cuda, const struct ir_access *access, bool *packed)
{
    int number = number_at_hand(cuda, access);
    *packed = cuda_row_packs(cuda->row, number);
    return arena_format(&cuda->emitter.arena, *packed ? "&%s[(%s) / 2]" : "&%s[%s]", kept_name(cuda, number),
                        cuda->row_place);
}

bool emit_cuda_row_only_keeps(struct cuda_emitter *cuda, const struct ir_access *access)
{
    int number = number_at_hand(cuda, access);
    return number >= 0 && cuda_row_stores_again(cuda->row, cuda->row_loop, number);
}

bool emit_cuda_row_begins(struct cuda_emitter *cuda, const struct ir_access *access)
{
    int number = number_at_hand(cuda, access);
    return number >= 0 && cuda->row->kept[number].first == cuda->row_loop && !cuda->row->kept[number].stored;
}

bool emit_cuda_row_store(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    struct emitter *emitter = &cuda->emitter;
    if (!emit_cuda_row_has(cuda, &stmt->access))
        return false;
    const char *target = "";
    if (!emit_cuda_row_only_keeps(cuda, &stmt->access))
        target = arena_format(&emitter->arena, "%s = ", emit_access(emitter, &stmt->access).text);
    struct emit_value value = emit_shallow(emitter, stmt->value);
    const char *stored = emit_stored(emitter, stmt->access.buffer->dtype, value);
    emit_statement_line(
        emitter, stmt,
        arena_format(&emitter->arena, "%s%s;", target, emit_cuda_row_keep(cuda, &stmt->access, stored)));
    return true;
}

/* Before the first loop: the registers, and whether all loops can go by pieces. */
static void declare_row(struct cuda_emitter *cuda)
{
    struct emitter *emitter = &cuda->emitter;
    const struct cuda_row *row = cuda->row;
    const struct cuda_chain *chain = &row->chains[0];
    struct cuda_loop_texts texts[CUDA_CHAIN];
    /* whether pieces can be loaded and stored is asked of temporaries, too, that later loops of the row have
     */
    const struct ir_stmt *last = row->chains[row->loop_count - 1].loops[0];
    for (const struct ir_stmt *stmt = chain->loops[0]; stmt != last; stmt = stmt->next)
        if (stmt->kind == IR_ALLOCATE && !stmt->access.buffer->unused) {
            emit_cuda_temporary(cuda, stmt->access.buffer);
            cuda->is_ahead[stmt->access.buffer->index] = true;
        }
    const char *well =
        arena_format(&emitter->arena, "%s_trips_ %% %d == 0",
                     emitter->symbols[chain->loops[chain->fastest]->symbol->slot].name, CUDA_QUAD);
    for (cuda->row_loop = 0; cuda->row_loop < row->loop_count && well; cuda->row_loop++)
        well = emit_cuda_quads_well(cuda, &row->chains[cuda->row_loop], well);
    cuda->row_by_pieces = well != NULL;
    if (well) {
        emit_cuda_trips(cuda, chain, texts);
        emit_line(emitter, "const int %s_pieces_ = %s;", cuda->row_name, well);
    }
    for (int k = 0; k < row->kept_count; k++)
        if (row->kept[k].place == k && cuda_row_packs(row, k))
            emit_line(emitter, "unsigned int %s[%d];", kept_name(cuda, k), row->pieces * CUDA_QUAD / 2);
        else if (row->kept[k].place == k)
            emit_line(emitter, "%s %s[%d];", dtype_table[row->kept[k].access->buffer->dtype].c_storage,
                      kept_name(cuda, k), row->pieces * CUDA_QUAD);
}

/* How many are to have registers on a processor at once: squads have masks besides, for which those that keep
 * few words have room, and blocks with more threads than usual half of a processor's registers, or all. */
static int blocks_for(const struct cuda_row *row, const struct cuda_step *step, int words)
{
    bool stores = false, is_narrow = words <= 8;
    if (cuda_step_threads(step) > CUDA_THREADS)
        return 4 * CUDA_THREADS / cuda_step_threads(step);
    for (int k = 0; k < row->kept_count; k++) {
        stores |= row->kept[k].stored;
        is_narrow &= dtype_table[row->kept[k].access->buffer->dtype].size <= 4;
    }
    int blocks = words <= 8 ? 6 : words <= 16 ? 5 : 3;
    blocks -= step->kind == CUDA_STEP_SQUADS && !is_narrow;
    return cuda_row_is_crowded(row) ? (blocks + 1) / 2 : blocks - (stores && blocks > 3);
}

void emit_cuda_begin_row(struct cuda_emitter *cuda, const struct ir_stmt *stmt, const struct ir_stmt *end)
{
    struct cuda_row *row = cuda->row ? NULL : arena_new(&cuda->emitter.arena, struct cuda_row);
    int words = cuda->step->words ? cuda->step->words : CUDA_ROW_WORDS;
    if (!row || !cuda_row_of(&cuda->plan, stmt, end, words, cuda->step->packs, row))
        return;
    cuda->row = row;
    int blocks = blocks_for(row, cuda->step, words);
    cuda->in_rows = cuda->in_rows && cuda->in_rows < blocks ? cuda->in_rows : blocks;
    cuda->row_name = cuda->emitter.symbols[stmt->symbol->slot].name;
    declare_row(cuda);
}

void emit_cuda_end_row(struct cuda_emitter *cuda, const struct ir_stmt *stmt)
{
    if (cuda->row && cuda_row_loop(cuda->row, stmt) == cuda->row->loop_count - 1)
        cuda->row = NULL;
}

/* ---- the loops ------------------------------------------------------------------------------- */

/* The loop that a thread is unrolled into, around what `number` names: a piece or an iteration. Without a
 * sign it is no wider than a register, and places are constants away from one another. */
static void begin_slots(struct cuda_emitter *cuda, int count, const char *number, const char *total)
{
    struct emitter *emitter = &cuda->emitter;
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int slot_ = 0; slot_ < %d; slot_++) {", count);
    emitter->indent++;
    emit_line(emitter, "const unsigned int number_ = slot_ * %s + %s;", cuda->together.all,
              cuda->together.thread);
    emit_line(emitter, "if (number_ < %s) {", total);
    emitter->indent++;
    emit_line(emitter, "const long long %s = number_;", number);
}

static void end_slots(struct cuda_emitter *cuda)
{
    for (int k = 0; k < 2; k++) {
        cuda->emitter.indent--;
        emit_line(&cuda->emitter, "}");
    }
}

static void emit_begin_of_one(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    struct emitter *emitter = &cuda->emitter;
    (void)block;
    for (int k = 0; k < cuda->row->kept_count; k++)
        if (cuda->row->kept[k].first == cuda->row_loop && !cuda->row->kept[k].stored)
            emit_line(emitter, "%s;",
                      keep_text(cuda, k, emit_access(emitter, cuda->row->kept[k].access).text));
}

static void emit_body_of_one(struct cuda_emitter *cuda, const struct ir_stmt *block)
{
    emit_block(&cuda->emitter, block);
}

/* Loads take what is kept, at the place among it of the iteration that is emitted. */
static void substitute(struct cuda_emitter *cuda)
{
    for (int k = 0; k < cuda->row->kept_count; k++) {
        const struct ir_expr *load = cuda_row_load(cuda->row, cuda->row_loop, k);
        struct emit_value kept = emit_name(kept_text(cuda, k));
        if (load)
            cuda->substitutes[cuda->substitute_count++] =
                (struct cuda_substitute){load, emit_loaded(&cuda->emitter, load->dtype, kept)};
    }
}

static void emit_pieces(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                        const struct cuda_loop_texts *texts, const char *slots, bool begin)
{
    struct arena *arena = &cuda->emitter.arena;
    const char *number = arena_format(arena, "%s_piece_", cuda->row_name);
    begin_slots(cuda, cuda->row->pieces, number, arena_format(arena, "%s / %d", slots, CUDA_QUAD));
    cuda->row_place = arena_format(arena, begin ? "slot_ * %d" : "slot_ * %d + one_", CUDA_QUAD);
    if (!begin)
        substitute(cuda);
    emit_cuda_piece(cuda, chain, texts, number, begin);
    cuda->substitute_count = 0;
    cuda->row_place = NULL;
    end_slots(cuda);
}

static void emit_ones(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                      const struct cuda_loop_texts *texts, const char *slots, bool begin)
{
    const char *number = arena_format(&cuda->emitter.arena, "%s_at_", cuda->row_name);
    begin_slots(cuda, cuda->row->pieces * CUDA_QUAD, number, slots);
    cuda->row_place = "slot_";
    if (!begin)
        substitute(cuda);
    emit_cuda_iteration(cuda, chain, texts, number, begin ? emit_begin_of_one : emit_body_of_one);
    cuda->substitute_count = 0;
    cuda->row_place = NULL;
    end_slots(cuda);
}

static bool begins_with_loads(const struct cuda_emitter *cuda)
{
    for (int k = 0; k < cuda->row->kept_count; k++)
        if (cuda->row->kept[k].first == cuda->row_loop && !cuda->row->kept[k].stored)
            return true;
    return false;
}

/* Whether threads keep all of the loop, since the step has no longer ones. */
static bool is_kept_whole(const struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    const struct cuda_step *step = cuda->step;
    const struct ir_stmt *loop = chain->loops[0], *inner = step->inner;
    int64_t each = cuda->row->pieces * CUDA_QUAD, most = step->most;
    if (!most || chain->count != 1 || !ir_expr_equal(loop->low, inner->low) ||
        !ir_expr_equal(loop->high, inner->high) || loop->step != inner->step)
        return false;
    if (step->kind == CUDA_STEP_SQUADS && !emit_cuda_squad_is_warp(step))
        return each >= cuda_squad_each(step);
    return each * (step->kind == CUDA_STEP_SQUADS ? CUDA_WARP : cuda_step_threads(step)) >= most;
}

/* How many of the iterations have room, or fewer. */
static const char *declare_slots(struct cuda_emitter *cuda, const struct cuda_chain *chain,
                                 const struct cuda_loop_texts *texts)
{
    struct emitter *emitter = &cuda->emitter;
    const char *total = emit_cuda_product(cuda, chain, texts);
    const char *slots =
        arena_format(&emitter->arena, "%s_slots_", emitter->symbols[chain->loops[0]->symbol->slot].name);
    int most = cuda_step_threads(cuda->step) * cuda->row->pieces * CUDA_QUAD;
    emit_line(emitter, "const unsigned int %s = (unsigned int)(%s < %d ? %s : %d);", slots, total, most,
              total, most);
    return slots;
}

bool emit_cuda_row(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct cuda_loop_texts texts[CUDA_CHAIN];
    cuda->row_loop = cuda->row ? cuda_row_loop(cuda->row, chain->loops[0]) : -1;
    if (cuda->row_loop < 0)
        return false;
    emit_cuda_trips(cuda, chain, texts);
    const char *slots = declare_slots(cuda, chain, texts);
    bool begin = begins_with_loads(cuda);
    if (cuda->row_by_pieces) {
        emit_line(emitter, "if (%s_pieces_) {", cuda->row_name);
        emitter->indent++;
        if (begin)
            emit_pieces(cuda, chain, texts, slots, true);
        emit_pieces(cuda, chain, texts, slots, false);
        emitter->indent--;
        emit_line(emitter, "} else {");
        emitter->indent++;
    }
    if (begin)
        emit_ones(cuda, chain, texts, slots, true);
    emit_ones(cuda, chain, texts, slots, false);
    if (cuda->row_by_pieces) {
        emitter->indent--;
        emit_line(emitter, "}");
    }
    if (is_kept_whole(cuda, chain))
        return true;
    int pieces = cuda->row->pieces;
    const char *all = cuda->together.all;
    cuda->unrolled = emit_cuda_under_way(cuda, cuda_chain_body(chain));
    /* what the loop before ended with is still near */
    cuda->backwards = cuda->row_loop % 2 && cuda_step_threads(cuda->step) > CUDA_THREADS;
    emit_cuda_each_from(cuda, chain, texts, arena_format(&emitter->arena, "%s * %d", all, pieces * CUDA_QUAD),
                        arena_format(&emitter->arena, "%s * %d", all, pieces), cuda->together.thread,
                        cuda->together.threads);
    cuda->backwards = false;
    cuda->unrolled = 0;
    return true;
}

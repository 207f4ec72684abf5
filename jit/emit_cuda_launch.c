/*
 * emit_cuda_launch.c: what the host knows of the steps: their launches, and the words that it hands to them.
 *
 * Consumes the plan (cuda_plan.h); produces the launches, words and temporaries of a program (cuda.h).
 */
#include "cuda_frame.h"
#include "cuda_round.h"
#include "cuda_spread.h"
#include "emit_cuda_private.h"
#include "emit_cuda_scan.h"

enum { CUDA_MOST_BLOCKS = 1 << 20 };

int emit_cuda_round_of(const struct cuda_emitter *cuda, const struct cuda_step *step)
{
    int number = cuda->plan.rounds.count - 1;
    while (number >= 0 && cuda->plan.rounds.items[number] != step->round)
        number--;
    return number;
}

/* ---- launches --------------------------------------------------------------------------------------- */

static bool uses_no_scratch(struct ir_stmt *stmt, void *context)
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
           : step->crossing ? cuda_crossing_work(&cuda->plan, &step->chain, step->crossing, false)
                            : cuda_chain_work(kernel, &step->chain);
}

/* Of a nest by threads, by squads of them or by teams. */
static void describe_nest(struct cuda_emitter *cuda, const struct cuda_step *step, struct cuda_launch *launch)
{
    bool alone = step->kind == CUDA_STEP_THREADS;
    launch->per_block = step->kind == CUDA_STEP_TEAMS ? 1 : CUDA_THREADS;
    if (!alone &&
        !ir_block_walk((struct ir_stmt *)cuda_chain_body(&step->chain), uses_no_scratch, &cuda->plan))
        launch->most_blocks = CUDA_SCRATCH_BLOCKS;
    launch->work = nest_work(cuda, step);
    if (step->spread)
        launch->work = cuda_spread_rest(&cuda->plan, step->spread, launch->work);
    if (step->inner)
        launch->work = cuda_inner_work(&cuda->plan, launch->work, step);
    if (step->kind == CUDA_STEP_SQUADS)
        launch->work = ir_operation(cuda->plan.kernel, OP_MUL, (struct ir_expr *)launch->work,
                                    (struct ir_expr *)cuda_squad_lanes(cuda->plan.kernel, step), NULL);
}

static void describe_tiles(struct cuda_emitter *cuda, const struct cuda_step *step,
                           struct cuda_launch *launch)
{
    launch->per_block = 1;
    launch->work = step->splits ? cuda_split_work(&cuda->plan, step->tiling, false)
                   : step->wide ? cuda_wide_work(&cuda->plan, step->tiling)
                                : cuda_tiling_work(&cuda->plan, step->tiling, step->parts);
    if (step->wide) {
        launch->architecture = CUDA_WIDE_ARCHITECTURE;
        launch->shared = CUDA_WIDE_BYTES;
    } else if (step->tiling->cores && !step->splits) {
        launch->behind = step->tiling->most_parts - step->parts + 1;
    }
}

/* The work of the step, and how much of it a block does. */
static void describe(struct cuda_emitter *cuda, const struct cuda_step *step, struct cuda_launch *launch)
{
    switch (step->kind) {
    case CUDA_STEP_CLEAR:
        launch->work = step->frame ? cuda_frame_work(cuda->plan.kernel, step->frame, step->cleared)
                                   : elements_of(cuda->plan.kernel, step->cleared);
        launch->span = step->cleared->span;
        break;
    case CUDA_STEP_TEAM:
        launch->most_blocks = launch->per_block = 1;
        if (step->instead)
            launch->work = choice(cuda, step->first, 0, 1);
        break;
    case CUDA_STEP_SQUADS:
    case CUDA_STEP_TEAMS:
    case CUDA_STEP_THREADS:
        describe_nest(cuda, step, launch);
        break;
    case CUDA_STEP_SPREAD:
        launch->per_block = 1;
        launch->work = cuda_spread_work(&cuda->plan, step->spread, step->phase, false, nest_work(cuda, step));
        break;
    case CUDA_STEP_GATHER:
        launch->per_block = CUDA_SPREAD_GATHERED;
        launch->most_blocks = CUDA_SPREAD_BLOCKS;
        launch->work = cuda_spread_work(&cuda->plan, step->spread, step->phase, true, nest_work(cuda, step));
        break;
    case CUDA_STEP_PARTS:
    case CUDA_STEP_SCAN:
        launch->per_block = CUDA_SCAN_TILE;
        launch->most_blocks = CUDA_SUM_BLOCKS;
        launch->work = scan_work(cuda, step, launch->per_block);
        break;
    case CUDA_STEP_TILES:
        describe_tiles(cuda, step, launch);
        break;
    case CUDA_STEP_JOIN:
        launch->work = cuda_split_work(&cuda->plan, step->tiling, true);
        break;
    case CUDA_STEP_CROSS:
        launch->per_block = 1;
        launch->work = cuda_crossing_work(&cuda->plan, &step->chain, step->crossing, true);
        break;
    }
}

/* To begin a thread takes as long as a piece of a simple loop; where some of what it loads is near, longer.
 */
enum { AGAIN = 2, LOOKS_UP_AGAIN = 4 };

/* A thread may do several iterations at once; where blocks leave parts of sums, there are only so many
 * blocks. */
static void share(struct cuda_emitter *cuda, const struct cuda_step *step, struct cuda_launch *launch)
{
    int items = cuda->in_quads ? cuda->in_quads : cuda->in_turns ? cuda->in_turns : 1;
    if (step->kind == CUDA_STEP_THREADS)
        launch->per_block *= items;
    if (step->kind == CUDA_STEP_THREADS && cuda->in_quads && !step->sums)
        launch->again = cuda->looks_up ? LOOKS_UP_AGAIN : AGAIN;
    if (emit_cuda_counts(cuda)) {
        launch->per_block *= CUDA_SUM_ITEMS;
        launch->most_blocks = 2 * CUDA_SUM_BLOCKS; /* more than run at once: the last ones fill up */
    }
    if (step->sums) {
        launch->per_block *= step->kind == CUDA_STEP_TEAMS ? 1 : CUDA_SUM_ITEMS / items;
        launch->most_blocks = launch->most_blocks < CUDA_SUM_BLOCKS ? launch->most_blocks : CUDA_SUM_BLOCKS;
    }
    if (!launch->work && launch->most_blocks > CUDA_UNKNOWN_BLOCKS)
        launch->most_blocks = CUDA_UNKNOWN_BLOCKS;
}

void emit_cuda_add_launch(struct cuda_emitter *cuda, const char *entry)
{
    const struct cuda_step *step = cuda->step;
    struct cuda_launch launch = {.entry = entry,
                                 .round = emit_cuda_round_of(cuda, step),
                                 .threads = cuda_step_threads(step),
                                 .per_block = CUDA_THREADS,
                                 .most_blocks = CUDA_MOST_BLOCKS};
    if (step->first)
        launch.span = step->first->span;
    describe(cuda, step, &launch);
    share(cuda, step, &launch);
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

/* A temporary that is no buffer's: the `number`-th place behind those of the buffers is its. */
static void add_beside(struct cuda_emitter *cuda, int number, struct cuda_temporary temporary)
{
    cuda->places[cuda->plan.kernel->buffers.count + number] = cuda->program->words.count;
    add_word(cuda, CUDA_WORD_TEMPORARY, add_temporary(cuda, temporary), 0);
}

/* What steps leave for others. */
static void add_kept(struct cuda_emitter *cuda)
{
    const int64_t scalar = (int64_t)sizeof(union jit_scalar);
    if (cuda->kept_count)
        add_beside(cuda, 0, (struct cuda_temporary){.element_bytes = scalar * cuda->kept_count});
    int parts = most_parts(cuda);
    if (parts)
        add_beside(cuda, 1, (struct cuda_temporary){.element_bytes = scalar * parts});
    const struct ir_expr *split = most_split(cuda);
    if (split)
        add_beside(cuda, 2, (struct cuda_temporary){.elements = split, .element_bytes = CUDA_SPLITS * 8});
    const struct ir_expr *spread = most_spread(cuda);
    if (spread)
        add_beside(cuda, 3, (struct cuda_temporary){.elements = spread, .element_bytes = scalar});
    const struct ir_expr *scanned = most_scanned(cuda);
    if (scanned)
        add_beside(cuda, 4, (struct cuda_temporary){.elements = scanned, .element_bytes = scalar});
}

static void add_strides(struct cuda_emitter *cuda)
{
    const struct ir_kernel *kernel = cuda->plan.kernel;
    int strides = 0;
    for (int k = 0; k < kernel->buffers.count; k++) {
        cuda->stride_places[k] = strides;
        for (int axis = 0; axis < kernel->buffers.items[k]->rank && !kernel->buffers.items[k]->contiguous;
             axis++) {
            add_word(cuda, CUDA_WORD_STRIDE, k, axis);
            strides++;
        }
    }
}

void emit_cuda_add_words(struct cuda_emitter *cuda)
{
    const struct ir_kernel *kernel = cuda->plan.kernel;
    for (int k = 0; k < kernel->buffers.count; k++)
        add_buffer(cuda, kernel->buffers.items[k]);
    add_kept(cuda);
    for (int k = 0; k < kernel->dims.count; k++)
        add_word(cuda, CUDA_WORD_DIM, k, 0);
    add_strides(cuda);
    for (int k = 0; k < kernel->attributes.count; k++)
        add_word(cuda, CUDA_WORD_SCALAR, k, 0);
    for (int k = 0; k < cuda->plan.rounds.count; k++)
        add_round(cuda, cuda->plan.rounds.items[k], k);
    if (cuda->program->traps)
        add_word(cuda, CUDA_WORD_TRAP, 0, 0);
}

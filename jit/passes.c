/*
 * passes.c: the order of the passes, and running, verifying and printing them; what they have made and
 * dropped again loses its size.
 */
#include "pass.h"

#include "../base/text.h"

#include <string.h>
#include <time.h>

/* Dependence analyses are the dearest thing here, so there are only so many of them. */
enum { PASSES_ANALYSES = 12 };

enum { PASS_FOR_ALL, PASS_FOR_CPU };

struct pass_row {
    const char *name, *about;
    bool is_for_cpu;
    bool (*run)(struct pass *pass);
};

static const struct pass_row pass_table[PASS_COUNT] = {
#define X(name, suits, about) {#name, about, PASS_FOR_##suits == PASS_FOR_CPU, pass_##name},
#include "passes.def"
#undef X
};

/* Before fusion so that loops look alike and only what is meant stands between them, after it for what it
 * brought together. What notes things for back ends comes last. */
static const enum pass_id usual_order[] = {
    PASS_few,       PASS_restride, PASS_breaks,      PASS_count,      PASS_values,     PASS_branches,
    PASS_join,      PASS_narrow,   PASS_extents,     PASS_multiples,  PASS_flat,       PASS_windows,
    PASS_sink,      PASS_ahead,    PASS_simplify,    PASS_exchange,   PASS_components, PASS_enclose,
    PASS_scalars,   PASS_classes,  PASS_phases,      PASS_collect,    PASS_digits,     PASS_indices,
    PASS_pointed,   PASS_contract, PASS_interchange, PASS_promote,    PASS_forward,    PASS_overwrite,
    PASS_dead,      PASS_fuse,     PASS_forward,     PASS_overwrite,  PASS_carry,      PASS_forward,
    PASS_simplify,  PASS_once,     PASS_factors,     PASS_extremes,   PASS_recall,     PASS_lift,
    PASS_frame,     PASS_detach,   PASS_aside,       PASS_distribute, PASS_turn,       PASS_arrange,
    PASS_pixels,    PASS_tabulate, PASS_partition,   PASS_pixels,     PASS_tighten,    PASS_ample,
    PASS_common,    PASS_hoist,    PASS_dead,        PASS_unroll,     PASS_values,     PASS_indices,
    PASS_partition, PASS_unswitch, PASS_vouch,       PASS_detach,     PASS_part,       PASS_echo,
    PASS_repeat,    PASS_lanes,    PASS_own,         PASS_blocks,     PASS_tile,       PASS_reductions};

/* Behind PASS_unswitch, where loops have been cut: in their pieces it is known what conditions stood in the
 * way of, such as that the element before has just been stored. */
static const enum pass_id order_of_pieces[] = {PASS_forward, PASS_overwrite, PASS_carry, PASS_forward};

const char *passes_name(int pass)
{
    return pass >= 0 && pass < PASS_COUNT ? pass_table[pass].name : NULL;
}

struct passes {
    struct ir_kernel *kernel;
    const struct passes_options *options;
    struct text *complaint;
    struct text before; /* the kernel as it was, when changes are printed */
    int analyses;
    bool annotated; /* loops have notes for back ends, which the next change could make wrong */
    bool were_cut;  /* loops, at borders and by conditions */
    enum pass_id last;
};

static bool link_values(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->kind == IR_LET)
        stmt->symbol->value = stmt->value;
    return true;
}

static bool forget_notes(struct ir_stmt *stmt, void *context)
{
    (void)context;
    stmt->reductions.count = 0;
    stmt->independent = stmt->in_turn = false;
    return true;
}

/* One pass, with memory that ends with it, also when the kernel's arena escapes. */
static void run_pass(struct passes *passes, enum pass_id id)
{
    struct ir_kernel *kernel = passes->kernel;
    struct arena *arena = kernel->arena, scratch;
    jmp_buf escape, *outer = arena->escape;
    struct pass pass = {.kernel = kernel,
                        .arena = &scratch,
                        .analyses = passes->analyses,
                        .tiles = passes->options->tiles,
                        .target = passes->options->target,
                        .reorders = passes->options->reorders};

    arena_init(&scratch, &escape);
    if (setjmp(escape)) {
        arena_free(&scratch);
        kernel->arena = arena;
        arena->escape = outer;
        text_free(&passes->before);
        longjmp(*outer, 1);
    }
    arena->escape = &escape;
    if (passes->annotated && id != PASS_reductions && !(id == PASS_tile && passes->last == PASS_blocks))
        ir_block_walk(kernel->body, forget_notes, NULL);
    if (pass_table[id].run(&pass)) {
        passes_limit_names(kernel);
        passes->were_cut |= id == PASS_partition || id == PASS_ample || id == PASS_unswitch;
    }
    passes->annotated = id == PASS_reductions || id == PASS_tile || id == PASS_blocks;
    passes->last = id;
    passes->analyses = pass.analyses;
    arena->escape = outer;
    arena_free(&scratch);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void print_change(struct passes *passes, enum pass_id id, double microseconds)
{
    const struct passes_options *options = passes->options;
    struct text after;

    text_init(&after);
    ir_print(&after, passes->kernel);
    if (after.failed || passes->before.failed) {
        options->dump->failed = true;
    } else if (strcmp(after.data, passes->before.data) != 0 &&
               (!options->dump_only || strcmp(options->dump_only, pass_table[id].name) == 0)) {
        text_format(options->dump, "-- %s (%.1f us): %s\n", pass_table[id].name, microseconds,
                    pass_table[id].about);
        text_append(options->dump, after.data, after.length);
    }
    text_free(&passes->before);
    passes->before = after;
}

static bool verify(struct passes *passes, enum pass_id id)
{
    struct text why;
    bool good;

    text_init(&why);
    good = ir_verify(passes->kernel, &why);
    if (!good && why.data)
        text_format(passes->complaint, "after %s of '%s': %s", pass_table[id].name, passes->kernel->name,
                    why.data);
    passes->complaint->failed |= why.failed;
    text_free(&why);
    return good;
}

static bool run_one(struct passes *passes, enum pass_id id)
{
    double start = passes->options->dump ? now() : 0;

    run_pass(passes, id);
    if (passes->options->dump)
        print_change(passes, id, now() - start);
    return !passes->options->verify || verify(passes, id);
}

static bool is_left_out(const struct passes_options *options, enum pass_id id)
{
    return (options->for_threads && pass_table[id].is_for_cpu) ||
           (options->trust_indices && (id == PASS_vouch || id == PASS_extents));
}

static bool run_all(struct passes *passes, const enum pass_id *order, int count)
{
    bool good = true;
    for (int k = 0; k < count && good; k++) {
        if (passes->options->order || !is_left_out(passes->options, order[k]))
            good = run_one(passes, order[k]);
        if (good && !passes->options->order && order[k] == PASS_unswitch && passes->were_cut)
            good = run_all(passes, order_of_pieces, sizeof order_of_pieces / sizeof *order_of_pieces);
    }
    return good;
}

/* ---- what passes have made and dropped again ---------------------------------------------------------- */

static bool is_other_load(struct ir_expr *expr, void *buffer)
{
    return expr->kind != IR_LOAD || expr->access.buffer != buffer;
}

static bool is_without(struct ir_stmt *stmt, void *buffer)
{
    bool has_access = stmt->kind == IR_STORE || stmt->kind == IR_ALLOCATE;
    return !(has_access && stmt->access.buffer == buffer) && ir_stmt_expressions(stmt, is_other_load, buffer);
}

/* Temporaries from that number on, which passes have made: where nothing of one is left, a call is not asked
 * for its size, which it may not be able to tell (`range(m)` around a loop that does not run). */
static void forget_sizes(struct ir_kernel *kernel, int first)
{
    for (int k = first; k < kernel->buffers.count; k++) {
        struct ir_buffer *buffer = kernel->buffers.items[k];
        if (!buffer->unused || !ir_block_walk(kernel->body, is_without, buffer))
            continue;
        for (int axis = 0; axis < buffer->rank; axis++)
            buffer->shape[axis] = ir_integer(kernel, AKG_INT64, 0);
    }
}

bool passes_run(struct ir_kernel *kernel, const struct passes_options *options, struct text *complaint)
{
    const enum pass_id *order = options->order ? options->order : usual_order;
    int count = options->order ? options->order_count : (int)(sizeof usual_order / sizeof *usual_order),
        own = kernel->buffers.count;
    struct passes passes = {
        .kernel = kernel, .options = options, .complaint = complaint, .analyses = PASSES_ANALYSES};

    text_init(&passes.before);
    if (options->dump)
        ir_print(&passes.before, kernel);
    ir_block_walk(kernel->body, link_values, NULL);
    passes_limit_names(kernel);
    bool good = run_all(&passes, order, count);
    forget_sizes(kernel, own);
    text_free(&passes.before);
    return good;
}

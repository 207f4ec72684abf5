/*
 * deferred.c: see deferred.h.
 */
#include "deferred.h"

#include "interpreter.h"
#include "pipeline.h"

#include <time.h>

/* ---- which branches -------------------------------------------------------------------------------- */

static bool knows_symbol(const struct ir_symbol *symbol)
{
    return symbol->kind == IR_SYMBOL_DIM || symbol->kind == IR_SYMBOL_ATTRIBUTE || symbol->note;
}

static bool knows(struct ir_expr *expr, void *unused)
{
    (void)unused;
    return expr->kind != IR_SYMBOL || knows_symbol(expr->symbol);
}

static bool assigns_inside(struct ir_stmt *stmt, void *unused)
{
    (void)unused;
    return stmt->kind != IR_ASSIGN || knows_symbol(stmt->symbol);
}

/* Outputs are cleared where a kernel begins, which a branch is not. */
static bool clears_outputs(const struct ir_kernel *kernel)
{
    for (int k = 0; k < kernel->buffers.count; k++)
        if (kernel->buffers.items[k]->role == IR_OUTPUT && kernel->buffers.items[k]->clear)
            return true;
    return false;
}

static bool is_closed(const struct ir_stmt *stmt)
{
    if (stmt->kind != IR_IF || !stmt->deferred)
        return false;
    ir_block_note_declared(stmt->body, stmt->body);
    bool closed =
        ir_block_expressions(stmt->body, knows, NULL) && ir_block_walk(stmt->body, assigns_inside, NULL);
    ir_block_note_declared(stmt->body, NULL);
    return closed;
}

int deferred_number(const struct ir_kernel *kernel, const struct ir_stmt *stmt)
{
    int number = 0;

    if (!stmt->deferred || clears_outputs(kernel) || !is_closed(stmt))
        return -1;
    for (const struct ir_stmt *other = kernel->body; other; other = other->next) {
        if (other == stmt)
            return number;
        number += is_closed(other);
    }
    return -1;
}

static int count_branches(const struct ir_kernel *kernel)
{
    int count = 0;

    for (const struct ir_stmt *stmt = kernel->body; stmt; stmt = stmt->next)
        count += deferred_number(kernel, stmt) >= 0;
    return count;
}

static void add_branch(struct deferred *deferred, const struct ir_kernel *kernel, struct ir_stmt *body,
                       bool is_whole)
{
    struct deferred_branch *branch = &deferred->branches[deferred->count++];

    branch->kernel = *kernel;
    branch->kernel.body = body;
    branch->is_whole = is_whole;
    atomic_init(&branch->entry, NULL);
}

static void add_branches(struct deferred *deferred, const struct ir_kernel *kernel)
{
    for (const struct ir_stmt *stmt = kernel->body; stmt; stmt = stmt->next)
        if (deferred_number(kernel, stmt) >= 0)
            add_branch(deferred, kernel, stmt->body, false);
}

void deferred_init(struct deferred *deferred, struct ir_kernel *kernel, struct ir_kernel *exact, int *first,
                   const struct vector_options *vectors, const struct disk_cache *cache)
{
    int count = count_branches(kernel) + (exact ? count_branches(exact) + 1 : 0);

    if (!count)
        return;
    deferred->branches = arena_array(kernel->arena, struct deferred_branch, count);
    deferred->vectors = *vectors;
    deferred->cache = cache;
    add_branches(deferred, kernel);
    if (exact) {
        *first = deferred->count;
        add_branches(deferred, exact);
        add_branch(deferred, kernel, kernel->body, true);
    }
    atomic_init(&deferred->time, 0);
    pthread_mutex_init(&deferred->lock, NULL);
}

void deferred_free(struct deferred *deferred)
{
    for (int k = 0; k < deferred->count; k++)
        backend_tcc_free(&deferred->branches[k].code);
    if (deferred->count)
        pthread_mutex_destroy(&deferred->lock);
    deferred->count = 0;
}

/* ---- their code ------------------------------------------------------------------------------------ */

static long long now(void)
{
    struct timespec moment;

    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (long long)moment.tv_sec * 1000000000 + moment.tv_nsec;
}

static jit_entry branch_make(struct deferred *deferred, struct deferred_branch *branch)
{
    akg_diagnostics *diagnostics = diagnostics_create("", "", 0);
    long long start = now();
    akg_status status = AKG_ERROR_MEMORY;

    if (diagnostics)
        status = pipeline_generate(&branch->kernel, &deferred->vectors, deferred->cache,
                                   &(struct pipeline_form){.defers = branch->is_whole}, &branch->code,
                                   diagnostics);
    if (status == AKG_OK)
        atomic_store_explicit(&branch->entry, branch->code.entry, memory_order_release);
    else
        deferred->failed = status != AKG_ERROR_MEMORY;
    akg_diagnostics_free(diagnostics);
    atomic_fetch_add(&deferred->time, now() - start);
    return branch->code.entry;
}

int deferred_reach(const struct jit_frame *frame, int number)
{
    struct deferred *deferred = frame->deferred;
    struct deferred_branch *branch = &deferred->branches[number];
    jit_entry entry = atomic_load_explicit(&branch->entry, memory_order_acquire);
    bool failed = false;

    if (!entry) {
        pthread_mutex_lock(&deferred->lock);
        entry = branch->code.entry;
        if (!entry && !deferred->failed)
            entry = branch_make(deferred, branch);
        failed = deferred->failed;
        pthread_mutex_unlock(&deferred->lock);
    }
    if (entry)
        return entry(frame);
    if (failed && branch->is_whole)
        return interpreter_run(&branch->kernel, frame);
    frame->trap->site = 0; /* no memory, where nothing else does the same */
    return -1;
}

/*
 * pass_dead.c: scalars and temporaries that nothing reads go, with what writes them, unless that may stop the
 * kernel. A temporary without a use is marked `unused`.
 *
 * Reads are counted per scalar and temporary; what is written only to be added to itself counts as not read.
 * A statement that goes takes its own reads with it, so that chains of dead ones go in one sweep.
 */
#include "pass.h"

/* A scalar or temporary. */
struct object {
    int reads;
    bool listed;
    bool declared; /* in the kernel */
    /* ASSIGN, STORE, and LET, VARIABLE, ALLOCATE, of which copies of a body have one each */
    LIST(struct ir_stmt *) writers;
    struct ir_buffer *buffer;
    struct object *next; /* whose writers are still to be removed */
};

struct reaper {
    struct pass *pass;
    struct ir_stmt *stmt; /* whose reads are counted */
    int change;           /* 1: added, -1: taken back */
    struct object *idle;  /* not read, and not handled yet */
    LIST(void **) notes;
    bool changed;
};

static struct object *object_of(struct reaper *reaper, void **note)
{
    if (!*note) {
        *note = arena_new(reaper->pass->arena, struct object);
        list_push(reaper->pass->arena, &reaper->notes, note);
    }
    return *note;
}

static bool is_scalar(const struct ir_symbol *symbol)
{
    return symbol->kind == IR_SYMBOL_LET || symbol->kind == IR_SYMBOL_VARIABLE;
}

static struct object *object_of_symbol(struct reaper *reaper, struct ir_symbol *symbol)
{
    return is_scalar(symbol) ? object_of(reaper, &symbol->note) : NULL;
}

static struct object *object_of_buffer(struct reaper *reaper, struct ir_buffer *buffer)
{
    if (buffer->role != IR_TEMPORARY)
        return NULL;
    struct object *object = object_of(reaper, &buffer->note);
    object->buffer = buffer;
    return object;
}

/* What the statement writes, or NULL. */
static struct object *written_by(struct reaper *reaper, struct ir_stmt *stmt)
{
    if (stmt->kind == IR_STORE || stmt->kind == IR_ALLOCATE)
        return object_of_buffer(reaper, stmt->access.buffer);
    if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN)
        return object_of_symbol(reaper, stmt->symbol);
    return NULL;
}

static void list_idle(struct reaper *reaper, struct object *object)
{
    if (object->reads || object->listed)
        return;
    object->listed = true;
    object->next = reaper->idle;
    reaper->idle = object;
}

static bool count_read(struct ir_expr *expr, void *context)
{
    struct reaper *reaper = context;
    struct object *object = NULL;

    if (expr->kind == IR_SYMBOL)
        object = object_of_symbol(reaper, expr->symbol);
    else if (expr->kind == IR_LOAD)
        object = object_of_buffer(reaper, expr->access.buffer);
    if (!object || object == written_by(reaper, reaper->stmt))
        return true;
    object->reads += reaper->change;
    if (reaper->change < 0)
        list_idle(reaper, object);
    return true;
}

static bool note_stmt(struct ir_stmt *stmt, void *context)
{
    struct reaper *reaper = context;
    struct object *object = written_by(reaper, stmt);

    if (object) {
        list_push(reaper->pass->arena, &object->writers, stmt);
        object->declared |= stmt->kind != IR_STORE && stmt->kind != IR_ASSIGN;
    }
    reaper->stmt = stmt;
    reaper->change = 1;
    ir_stmt_expressions(stmt, count_read, reaper);
    return true;
}

static void take_out(struct reaper *reaper, struct ir_stmt *stmt)
{
    pass_remove(stmt);
    reaper->changed = true;
    reaper->stmt = stmt;
    reaper->change = -1;
    ir_stmt_expressions(stmt, count_read, reaper);
}

/* All or none: what stays because it may stop may read what the others write. */
static void take_out_all(struct reaper *reaper, struct object *object)
{
    if (!object->declared)
        return;
    for (int k = 0; k < object->writers.count; k++)
        if (pass_stmt_may_stop(object->writers.items[k]))
            return;
    for (int k = 0; k < object->writers.count; k++)
        take_out(reaper, object->writers.items[k]);
    if (object->buffer)
        object->buffer->unused = true;
}

bool pass_dead(struct pass *pass)
{
    struct reaper reaper = {.pass = pass};

    ir_block_walk(pass->kernel->body, note_stmt, &reaper);
    for (int k = 0; k < reaper.notes.count; k++)
        list_idle(&reaper, *reaper.notes.items[k]);
    while (reaper.idle) {
        struct object *object = reaper.idle;
        reaper.idle = object->next;
        take_out_all(&reaper, object);
    }
    for (int k = 0; k < reaper.notes.count; k++)
        *reaper.notes.items[k] = NULL;
    pass_sweep(&pass->kernel->body);
    return reaper.changed;
}

/*
 * pass_distribute_own.c: temporaries that each row has for itself, for pass_distribute.c.
 *
 *     for i { allocate s[S]; ... s[j] ... }
 *
 * becomes, so that what is in the loop can be done for many rows at a time,
 *
 *     for block { first, last; allocate s[size, S]; for i = first to last { ... s[i - first, j] ... } }
 *
 * with blocks of as many rows as have room in a cache, so that memory does not grow with their number. A
 * temporary that is allocated further outside, and used as if each iteration had one, is moved inside first:
 * where each iteration writes what it reads, and nothing else uses it.
 */
#include "pass_distribute.h"

#include "analysis.h"

/* Bytes of the temporaries of a block, which leave room for other things in a second cache; rows of a block:
 * with fewer, what all rows share would be packed too often. */
enum { ROOM = 512 * 1024, LEAST = 16 };

/* ---- finding them --------------------------------------------------------------------------------- */

bool distribute_is_own(const struct rows *rows, const struct ir_buffer *buffer)
{
    for (int k = 0; k < rows->own.count; k++)
        if (rows->own.items[k] == buffer)
            return true;
    return false;
}

static bool add_own(struct rows *rows, struct ir_buffer *buffer)
{
    if (rows->own.count == DISTRIBUTE_OWN || buffer->rank == AKG_MAX_RANK)
        return false;
    rows->own.items[rows->own.count++] = buffer;
    return true;
}

struct accesses {
    const struct ir_buffer *buffer;
    const struct ir_symbol *row;
    int count;
    bool by_row; /* an index may hang on the row */
};

static void note_access(struct accesses *accesses, const struct ir_access *access)
{
    if (access->buffer != accesses->buffer)
        return;
    accesses->count++;
    for (int k = 0; k < access->buffer->rank; k++) {
        const struct ir_expr *index = access->indices[k];
        bool is_plain =
            index->kind == IR_INTEGER || (index->kind == IR_SYMBOL && index->symbol->kind == IR_SYMBOL_LOOP &&
                                          index->symbol != accesses->row);
        accesses->by_row |= !is_plain;
    }
}

static bool note_load(struct ir_expr *expr, void *accesses)
{
    if (expr->kind == IR_LOAD)
        note_access(accesses, &expr->access);
    return true;
}

static bool note_store(struct ir_stmt *stmt, void *accesses)
{
    if (stmt->kind == IR_STORE)
        note_access(accesses, &stmt->access);
    return true;
}

static struct accesses accesses_in(const struct rows *rows, struct ir_stmt *block,
                                   const struct ir_buffer *buffer)
{
    struct accesses accesses = {.buffer = buffer, .row = rows->loop->symbol};
    ir_block_walk(block, note_store, &accesses);
    ir_block_expressions(block, note_load, &accesses);
    return accesses;
}

/* A temporary from outside that the loop uses alone, the same elements in each iteration. */
static bool add_shared(struct ir_stmt *stmt, void *context)
{
    struct rows *rows = context;
    struct ir_buffer *buffer = stmt->access.buffer;
    if (stmt->kind != IR_STORE || buffer->role != IR_TEMPORARY || buffer->clear ||
        distribute_is_own(rows, buffer))
        return true;
    struct accesses inside = accesses_in(rows, rows->loop->body, buffer);
    if (!inside.by_row && inside.count == accesses_in(rows, rows->pass->kernel->body, buffer).count)
        add_own(rows, buffer);
    return true;
}

static bool count_allocation(struct ir_stmt *stmt, void *count)
{
    *(int *)count += stmt->kind == IR_ALLOCATE;
    return true;
}

bool distribute_find_own(struct rows *rows)
{
    int allocated = 0;
    for (struct ir_stmt *stmt = rows->loop->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_ALLOCATE && !add_own(rows, stmt->access.buffer))
            return false;
    ir_block_walk(rows->loop->body, count_allocation, &allocated);
    if (allocated != rows->own.count)
        return false;
    ir_block_walk(rows->loop->body, add_shared, rows);
    return true;
}

/* ---- allocating them in the loop -------------------------------------------------------------------- */

struct allocation {
    const struct ir_buffer *buffer;
    struct ir_stmt *found;
};

static bool find_allocation(struct ir_stmt *stmt, void *context)
{
    struct allocation *allocation = context;
    if (stmt->kind == IR_ALLOCATE && stmt->access.buffer == allocation->buffer && !pass_is_removed(stmt))
        allocation->found = stmt;
    return !allocation->found;
}

static struct ir_stmt *allocation_in(struct ir_stmt *block, const struct ir_buffer *buffer)
{
    struct allocation allocation = {buffer, NULL};
    ir_block_walk(block, find_allocation, &allocation);
    return allocation.found;
}

/* The loads of the loop that may come before a store of what they load, as if it were the whole kernel. */
static const struct analysis_gaps *find_gaps(const struct rows *rows)
{
    struct ir_kernel *kernel = rows->pass->kernel;
    struct ir_stmt *body = kernel->body, *next = rows->loop->next;
    struct arena *arena = kernel->arena;
    kernel->body = rows->loop;
    kernel->arena = rows->pass->arena; /* where the answer goes */
    rows->loop->next = NULL;
    const struct analysis_gaps *gaps = analysis_initialisation_gaps(kernel);
    rows->loop->next = next;
    kernel->arena = arena;
    kernel->body = body;
    return gaps;
}

static bool has_gap(const struct analysis_gaps *gaps, const struct ir_buffer *buffer)
{
    for (int k = 0; k < gaps->loads.count; k++)
        if (gaps->loads.items[k]->access.buffer == buffer)
            return true;
    return false;
}

void distribute_allocate_own(struct rows *rows)
{
    struct ir_stmt *body = rows->loop->body, *outside[DISTRIBUTE_OWN], *added[DISTRIBUTE_OWN];
    int count = 0, kept = rows->own.count;
    for (int k = 0; k < rows->own.count; k++) {
        if (allocation_in(body, rows->own.items[k]))
            continue;
        outside[count] = allocation_in(rows->pass->kernel->body, rows->own.items[k]);
        added[count] = distribute_allocate(rows, rows->own.items[k]);
        added[count]->next = rows->loop->body;
        rows->loop->body = added[count++];
    }
    const struct analysis_gaps *gaps = count ? find_gaps(rows) : NULL;
    rows->own.count = kept - count; /* those from outside were found last */
    rows->loop->body = body;
    for (int k = 0; k < count; k++) {
        struct ir_buffer *buffer = added[k]->access.buffer;
        if (has_gap(gaps, buffer))
            continue;
        rows->own.items[rows->own.count++] = buffer;
        pass_remove(outside[k]);
        added[k]->next = rows->loop->body;
        rows->loop->body = added[k];
    }
}

/* ---- building --------------------------------------------------------------------------------------- */

struct ir_expr *distribute_kept_row(const struct rows *rows)
{
    struct ir_expr *row = pass_use(rows->pass, rows->loop->symbol);
    return rows->first ? pass_apply(rows->pass, OP_SUB, row, pass_use(rows->pass, rows->first)) : row;
}

struct ir_stmt *distribute_allocate(const struct rows *rows, struct ir_buffer *buffer)
{
    struct ir_stmt *allocate = ir_stmt_new(rows->pass->kernel, IR_ALLOCATE, rows->loop->span);
    allocate->access.buffer = buffer;
    return allocate;
}

/* ---- blocks ----------------------------------------------------------------------------------------- */

/* Rows of a block, at most: as many as have room. */
static struct ir_expr *most_rows(const struct rows *rows)
{
    const struct pass_tiles *tiles = rows->pass->tiles;
    int64_t block = tiles && tiles->block ? tiles->block : pass_usual_tiles(rows->pass->target)->block;
    struct ir_expr *bytes = pass_number(rows->pass, 0);
    for (int k = 0; k < rows->own.count; k++) {
        const struct ir_buffer *buffer = rows->own.items[k];
        struct ir_expr *row = pass_number(rows->pass, dtype_table[buffer->dtype].size);
        for (int axis = 0; axis < buffer->rank; axis++)
            row = pass_apply(rows->pass, OP_MUL, row, pass_copy(rows->pass, buffer->shape[axis]));
        bytes = pass_apply(rows->pass, OP_ADD, bytes, row);
    }
    struct ir_expr *room = pass_apply(rows->pass, OP_FLOORDIV, pass_number(rows->pass, ROOM),
                                      pass_apply(rows->pass, OP_MAX, bytes, pass_number(rows->pass, 1)));
    struct ir_expr *most =
        pass_apply(rows->pass, OP_MIN, pass_apply(rows->pass, OP_MAX, room, pass_number(rows->pass, LEAST)),
                   pass_number(rows->pass, block));
    return pass_apply(rows->pass, OP_MIN, pass_copy(rows->pass, rows->kept), most);
}

static struct ir_stmt *declare(const struct rows *rows, const char *name, struct ir_expr *value)
{
    return pass_declare(rows->pass, IR_SYMBOL_LET, name, value, rows->loop->span);
}

/* LETs of what a block needs, and the loop over blocks: as few as have room, and of the same size, but for
 * the last one. Gives the end of a block. */
static struct ir_symbol *make_blocks(struct rows *rows)
{
    struct ir_stmt *most = declare(rows, "most", most_rows(rows));
    struct ir_expr *count = pass_apply(
        rows->pass, OP_CEIL_DIV, pass_copy(rows->pass, rows->loop->high),
        pass_apply(rows->pass, OP_MAX, pass_use(rows->pass, most->symbol), pass_number(rows->pass, 1)));
    struct ir_stmt *blocks = declare(rows, "blocks", count);
    struct ir_expr *even = pass_apply(
        rows->pass, OP_CEIL_DIV, pass_copy(rows->pass, rows->loop->high),
        pass_apply(rows->pass, OP_MAX, pass_use(rows->pass, blocks->symbol), pass_number(rows->pass, 1)));
    struct ir_stmt *size = declare(rows, "size",
                                   pass_apply(rows->pass, OP_MIN, pass_use(rows->pass, most->symbol),
                                              even)); /* says that it is no more */
    struct ir_stmt *loop = ir_stmt_new(rows->pass->kernel, IR_FOR, rows->loop->span);
    loop->symbol = ir_symbol_new(rows->pass->kernel, IR_SYMBOL_LOOP, "block", AKG_INT64);
    loop->symbol->span = loop->span;
    loop->low = pass_number(rows->pass, 0);
    loop->high = pass_use(rows->pass, blocks->symbol);
    loop->step = 1;
    struct ir_stmt *first = declare(rows, "first",
                                    pass_apply(rows->pass, OP_MUL, pass_use(rows->pass, loop->symbol),
                                               pass_use(rows->pass, size->symbol)));
    struct ir_expr *end = pass_apply(rows->pass, OP_ADD, pass_use(rows->pass, first->symbol),
                                     pass_use(rows->pass, size->symbol));
    struct ir_stmt *last =
        declare(rows, "last", pass_apply(rows->pass, OP_MIN, pass_copy(rows->pass, rows->loop->high), end));
    most->next = blocks;
    blocks->next = size;
    size->next = loop;
    loop->body = first;
    first->next = last;
    rows->outside = most;
    rows->blocks = loop;
    rows->first = first->symbol;
    return last->symbol;
}

struct expansion {
    const struct rows *rows;
    struct ir_buffer *from, *to;
};

static void expand_access(const struct expansion *expansion, struct ir_access *access)
{
    struct arena *arena = expansion->rows->pass->kernel->arena;
    struct ir_access old = *access;
    if (old.buffer != expansion->from)
        return;
    access->buffer = expansion->to;
    access->indices = arena_array(arena, struct ir_expr *, access->buffer->rank);
    access->checks = arena_array(arena, enum ir_check, access->buffer->rank);
    access->indices[0] = distribute_kept_row(expansion->rows);
    access->checks[0] = IR_CHECK_PROVED;
    for (int k = 0; k < old.buffer->rank; k++) {
        access->indices[k + 1] = old.indices[k];
        access->checks[k + 1] = old.checks[k];
    }
}

static bool expand_load(struct ir_expr *expr, void *expansion)
{
    if (expr->kind == IR_LOAD)
        expand_access(expansion, &expr->access);
    return true;
}

static bool expand_store(struct ir_stmt *stmt, void *expansion)
{
    if (stmt->kind == IR_STORE)
        expand_access(expansion, &stmt->access);
    return true;
}

static struct ir_buffer *expand(struct rows *rows, struct ir_buffer *buffer)
{
    struct ir_buffer *wide =
        ir_buffer_new(rows->pass->kernel, buffer->name, IR_TEMPORARY, buffer->dtype, buffer->rank + 1);
    struct expansion expansion = {rows, buffer, wide};
    wide->span = buffer->span;
    wide->clear = buffer->clear;
    wide->shape[0] = pass_copy(rows->pass, rows->kept);
    for (int axis = 0; axis < buffer->rank; axis++)
        wide->shape[axis + 1] = pass_copy(rows->pass, buffer->shape[axis]);
    ir_block_walk(rows->loop->body, expand_store, &expansion);
    ir_block_expressions(rows->loop->body, expand_load, &expansion);
    return wide;
}

static void drop_allocations(struct rows *rows)
{
    for (struct ir_stmt **place = &rows->loop->body; *place;)
        if ((*place)->kind == IR_ALLOCATE)
            *place = (*place)->next;
        else
            place = &(*place)->next;
}

void distribute_begin_block(struct rows *rows)
{
    struct ir_symbol *last = make_blocks(rows);
    rows->kept = most_rows(rows);
    for (int k = 0; k < rows->own.count; k++) {
        struct ir_buffer *buffer = rows->own.items[k];
        rows->own.items[k] = expand(rows, buffer);
        buffer->unused = !rows->many;
    }
    drop_allocations(rows);
    rows->loop->low = pass_use(rows->pass, rows->first);
    rows->loop->high = pass_use(rows->pass, last);
}

struct ir_stmt *distribute_end_block(struct rows *rows, struct ir_stmt *inside)
{
    struct ir_stmt **end = &rows->blocks->body->next->next;
    for (int k = 0; k < rows->own.count; k++, end = &(*end)->next)
        *end = distribute_allocate(rows, rows->own.items[k]);
    *end = inside;
    return rows->outside;
}

/*
 * pass_scalars.c: a small temporary becomes scalars, one for each element, where constants are all that it is
 * indexed by: `t[0] = x[i]; t[1] = x[i + 1]; y[i] = max(t[0], t[1])`.
 *
 * Consumes temporaries allocated inside a loop, which live in one iteration of it. An element is declared by
 * its first store where that stands in the block of the temporary, so that nothing can come before it; the
 * others are zero from the start, as elements are. pass_unroll.c, which makes constants of the variables of
 * short loops, calls this for what it has written out.
 */
#include "pass.h"

enum { MOST_ELEMENTS = 64, DEEPEST = 200 };

struct element {
    struct ir_stmt *first; /* its first use, if that is a store in the block of the temporary */
    struct ir_symbol *symbol;
    int uses, stores;
};

struct temporary {
    struct pass *pass;
    struct ir_buffer *buffer;
    struct ir_stmt *allocate;
    const struct ir_stmt *top; /* of the block of the temporary: this, or something in it, is looked at */
    struct element elements[MOST_ELEMENTS];
    int count;
};

/* ---- what is accessed --------------------------------------------------------------------------- */

int pass_few_elements(const struct ir_buffer *buffer)
{
    int64_t count = 1;

    for (int axis = 0; axis < buffer->rank; axis++) {
        const struct ir_expr *extent = buffer->shape[axis];
        if (extent->kind != IR_INTEGER || extent->integer < 0 || extent->integer > MOST_ELEMENTS)
            return 0;
        count *= extent->integer;
        if (count > MOST_ELEMENTS)
            return 0;
    }
    return (int)count;
}

static struct element *element_of(struct temporary *temporary, const struct ir_access *access)
{
    int64_t number = 0;

    for (int axis = 0; axis < access->buffer->rank; axis++) {
        const struct ir_expr *index = access->indices[axis];
        int64_t extent = access->buffer->shape[axis]->integer;
        if (index->kind != IR_INTEGER || index->integer < 0 || index->integer >= extent)
            return NULL;
        number = number * extent + index->integer;
    }
    return &temporary->elements[number];
}

static bool note_load(struct ir_expr *expr, void *context)
{
    struct temporary *temporary = context;
    struct element *element;

    if (expr->kind != IR_LOAD || expr->access.buffer != temporary->buffer)
        return true;
    element = element_of(temporary, &expr->access);
    if (element)
        element->uses++;
    return element != NULL;
}

/* False where the element is not known. */
static bool note_stmt(struct ir_stmt *stmt, void *context)
{
    struct temporary *temporary = context;
    struct element *element;

    if (!ir_stmt_expressions(stmt, note_load, temporary))
        return false;
    if (stmt->access.buffer != temporary->buffer)
        return true;
    element = stmt->kind == IR_STORE ? element_of(temporary, &stmt->access) : NULL;
    if (!element)
        return false;
    if (!element->uses++ && stmt == temporary->top)
        element->first = stmt;
    element->stores++;
    return true;
}

/* All statements as long as the temporary lives: to the end of its block, or to where it begins anew, in the
 * next copy of a loop's body. */
static bool walk_life(struct temporary *temporary, bool (*visit)(struct ir_stmt *stmt, void *context))
{
    for (struct ir_stmt *top = temporary->allocate->next; top; top = top->next) {
        if (top->kind == IR_ALLOCATE && top->access.buffer == temporary->buffer)
            break;
        temporary->top = top;
        if (!visit(top, temporary) || !ir_block_walk(top->body, visit, temporary) ||
            !ir_block_walk(top->otherwise, visit, temporary))
            return false;
    }
    return true;
}

/* ---- in its place -------------------------------------------------------------------------------- */

static struct ir_symbol *symbol_of(const struct ir_access *access, void *context)
{
    return element_of(context, access)->symbol;
}

static bool replace_stmt(struct ir_stmt *stmt, void *context)
{
    struct temporary *temporary = context;
    struct pass_replacement replacement = {temporary->buffer, symbol_of, temporary};
    struct element *element;

    pass_replace_loads(temporary->pass, stmt, &replacement);
    if (stmt->kind != IR_STORE || stmt->access.buffer != temporary->buffer)
        return true;
    element = element_of(temporary, &stmt->access);
    stmt->kind = stmt != element->first ? IR_ASSIGN : element->stores == 1 ? IR_LET : IR_VARIABLE;
    stmt->symbol = element->symbol;
    stmt->access = (struct ir_access){0};
    pass_set_value(stmt, stmt->value);
    return true;
}

static struct ir_expr *zero(struct pass *pass, akg_dtype dtype)
{
    return dtype_is_float(dtype) ? ir_real(pass->kernel, dtype, 0.0) : ir_integer(pass->kernel, dtype, 0);
}

static void declare_elements(struct temporary *temporary)
{
    struct pass *pass = temporary->pass;
    const struct ir_buffer *buffer = temporary->buffer;
    struct ir_stmt **end = &temporary->allocate->next;

    for (int k = 0; k < temporary->count; k++) {
        struct element *element = &temporary->elements[k];
        bool is_first = element->first, is_let = element->stores == is_first;
        enum ir_symbol_kind kind = is_let ? IR_SYMBOL_LET : IR_SYMBOL_VARIABLE;
        if (is_first) {
            element->symbol = ir_symbol_new(pass->kernel, kind, buffer->name, buffer->dtype);
            element->symbol->span = element->first->span;
        } else if (element->uses) {
            struct ir_stmt *declaration =
                pass_declare(pass, kind, buffer->name, zero(pass, buffer->dtype), temporary->allocate->span);
            element->symbol = declaration->symbol;
            declaration->next = *end;
            *end = declaration;
            end = &declaration->next;
        }
    }
}

static bool replace_temporary(struct pass *pass, struct ir_stmt *allocate)
{
    int count = pass_few_elements(allocate->access.buffer);
    struct temporary *temporary;

    if (!count)
        return false;
    temporary = arena_new(pass->arena, struct temporary);
    temporary->pass = pass;
    temporary->allocate = allocate;
    temporary->buffer = allocate->access.buffer;
    temporary->count = count;
    if (!walk_life(temporary, note_stmt))
        return false;
    declare_elements(temporary);
    walk_life(temporary, replace_stmt);
    temporary->buffer->unused = true;
    pass_remove(allocate);
    return true;
}

/* ---- the walk ------------------------------------------------------------------------------------ */

static bool replace_in_block(struct pass *pass, struct ir_stmt *block, bool in_loop, int depth)
{
    bool changed = false;

    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        bool loops = in_loop || stmt->kind == IR_FOR || stmt->kind == IR_WHILE;
        changed |= in_loop && stmt->kind == IR_ALLOCATE && replace_temporary(pass, stmt);
        changed |= replace_in_block(pass, stmt->body, loops, depth + 1);
        changed |= replace_in_block(pass, stmt->otherwise, loops, depth + 1);
    }
    return changed;
}

bool pass_scalars_of_block(struct pass *pass, struct ir_stmt **block)
{
    bool changed = replace_in_block(pass, *block, true, 0);

    if (changed)
        pass_sweep(block);
    return changed;
}

static bool has_small_temporary(const struct ir_kernel *kernel)
{
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        if (buffer->role == IR_TEMPORARY && !buffer->unused && pass_few_elements(buffer))
            return true;
    }
    return false;
}

bool pass_scalars(struct pass *pass)
{
    bool changed = has_small_temporary(pass->kernel) && replace_in_block(pass, pass->kernel->body, false, 0);

    if (changed)
        pass_sweep(&pass->kernel->body);
    return changed;
}

/*
 * pass_promote.c: an element that a loop loads and stores again and again is kept in a scalar: loaded before
 * the loop, stored behind it. So `for k: y[i] += x[i, k]` accumulates in a register.
 *
 * It must be the same element in every iteration, and whatever else the loop accesses of the tensor must lie
 * apart from it, by the ranges of the loops: in `for k in range(i + 1, n): b[i] += b[k]` it does. The load
 * before is of an element that is surely there: one that the block has just stored or accesses behind the
 * loop in any case, one whose index the loops around keep inside, or else, under a test that there is an
 * iteration at all, one that each iteration accesses first thing. Outermost loops are tried first.
 */
#include "pass.h"

enum {
    STORED = 16,
    AROUND = 32,
    ELEMENTS = 24,   /* of one tensor, of one loop; more are left alone */
    ACCESSES = 128,  /* of one loop to one tensor, when they are not all to one element */
    FACTOR = 1 << 12 /* of a variable in an index: then no sum that a loop can reach leaves 64 bits */
};

/* The accesses of one loop to one buffer. */
struct use {
    struct ir_buffer *buffer;
    LIST(const struct ir_access *) accesses;
    const struct ir_access *elements[ELEMENTS]; /* that are stored */
    int count;
    bool excluded;
};

struct promoter {
    struct pass *pass;
    const struct ir_stmt *around[AROUND]; /* FORs, outermost first; the deeper ones are not kept */
    int depth;
    struct use **uses; /* by index of the buffer, of the loop at hand */
    LIST(struct use *) used;
    /* Declared or assigned in the loop at hand: their notes are set, those of variables of loops to the FOR.
     */
    LIST(struct ir_symbol *) changing;
    struct ir_symbol *scalar; /* takes the place of accesses to the element */
    const struct ir_access *element;
    bool changed;
};

/* What the block has stored so far and can still be named by the same index. */
struct block_stores {
    const struct ir_access *items[STORED];
    int count;
};

/* ---- what a loop accesses -------------------------------------------------------------------------- */

static struct use *note_use(struct promoter *promoter, struct ir_buffer *buffer)
{
    struct use **place = &promoter->uses[buffer->index];

    if (!*place) {
        *place = arena_new(promoter->pass->arena, struct use);
        (*place)->buffer = buffer;
        list_push(promoter->pass->arena, &promoter->used, *place);
    }
    return *place;
}

static void note_element(struct use *use, const struct ir_access *access)
{
    for (int k = 0; k < use->count; k++)
        if (pass_compare(use->elements[k], access) == PASS_SAME)
            return;
    if (use->count < ELEMENTS)
        use->elements[use->count++] = access;
}

static void note_access(struct promoter *promoter, struct ir_access *access, bool store)
{
    struct use *use = note_use(promoter, access->buffer);

    list_push(promoter->pass->arena, &use->accesses, access);
    if (store)
        note_element(use, access);
}

static bool note_load(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        note_access(context, &expr->access, false);
    return true;
}

static bool note_stmt(struct ir_stmt *stmt, void *context)
{
    struct promoter *promoter = context;

    if (stmt->kind == IR_STORE)
        note_access(promoter, &stmt->access, true);
    ir_stmt_expressions(stmt, note_load, promoter);
    if (stmt->kind == IR_ALLOCATE) /* what lives in the loop only is not there before it */
        note_use(promoter, stmt->access.buffer)->excluded = true;
    if (stmt->symbol && !stmt->symbol->note) {
        stmt->symbol->note = stmt;
        list_push(promoter->pass->arena, &promoter->changing, stmt->symbol);
    }
    return true;
}

static bool is_invariant(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL || !expr->symbol->note;
}

/* ---- whether it is the only one --------------------------------------------------------------------- */

static const struct ir_stmt *loop_around(const struct promoter *promoter, const struct ir_symbol *symbol)
{
    for (int k = 0; k < promoter->depth && k < AROUND; k++)
        if (promoter->around[k]->symbol == symbol)
            return promoter->around[k];
    return NULL;
}

/* The FOR at hand or around whose variable the symbol is, or NULL. */
static const struct ir_stmt *loop_of(const struct promoter *promoter, const struct ir_symbol *symbol)
{
    const struct ir_stmt *stmt = symbol->note;

    if (stmt)
        return stmt->kind == IR_FOR ? stmt : NULL;
    return loop_around(promoter, symbol);
}

/* Adds `factor` times what the variable is at least, where the factor is positive, and at most, where not. */
static bool add_least(struct pass_affine *sum, int64_t factor, const struct ir_stmt *loop)
{
    bool first = (factor > 0) == (loop->step > 0);
    struct pass_affine end;

    if (factor > FACTOR || factor < -FACTOR || loop->step > FACTOR || loop->step < -FACTOR ||
        !pass_affine_of(first ? loop->low : loop->high, &end))
        return false;
    for (int k = 0; k < end.count; k++)
        if (end.terms[k].symbol->kind == IR_SYMBOL_VARIABLE || end.terms[k].symbol->kind == IR_SYMBOL_LET)
            return false; /* it may be another one since the loop began */
    if (!first && __builtin_sub_overflow(end.constant, loop->step > 0 ? 1 : -1, &end.constant))
        return false;
    return pass_affine_add(sum, factor, &end);
}

/* How far inside the loop is: those at hand are farther than any around them. */
static int depth_of(const struct promoter *promoter, const struct ir_stmt *loop)
{
    for (int k = 0; k < promoter->depth && k < AROUND; k++)
        if (promoter->around[k] == loop)
            return k;
    return AROUND;
}

/* The term that the innermost loop moves, for its bounds may hang on the others; -1: none does. */
static int innermost_term(const struct promoter *promoter, const struct pass_affine *sum)
{
    int innermost = -1, deepest = -1;
    for (int k = 0; k < sum->count; k++) {
        const struct ir_stmt *loop = loop_of(promoter, sum->terms[k].symbol);
        int depth = loop ? depth_of(promoter, loop) : -1;
        if (depth > deepest) {
            deepest = depth;
            innermost = k;
        }
    }
    return innermost;
}

/* Whether the sum is above zero wherever the loops at hand and around take it. */
static bool is_positive(const struct promoter *promoter, struct pass_affine sum)
{
    for (int round = 0; round < AROUND; round++) {
        int at = innermost_term(promoter, &sum);
        if (at < 0)
            break;
        const struct ir_stmt *loop = loop_of(promoter, sum.terms[at].symbol);
        int64_t factor = sum.terms[at].coefficient;
        sum.terms[at] = sum.terms[--sum.count];
        if (!add_least(&sum, factor, loop))
            return false;
    }
    return sum.count == 0 && sum.constant > 0 && sum.constant < INT32_MAX;
}

/* Whether the access never goes to the element, which stays the same through the loop. */
static bool is_apart(const struct promoter *promoter, const struct ir_access *element,
                     const struct ir_access *access)
{
    for (int axis = 0; axis < element->buffer->rank; axis++) {
        struct pass_affine here, there, ahead, behind = {.count = 0};
        if (!pass_affine_of(element->indices[axis], &here) || !pass_affine_of(access->indices[axis], &there))
            continue;
        ahead = there;
        if (pass_affine_add(&ahead, -1, &here) && pass_affine_add(&behind, -1, &ahead) &&
            (is_positive(promoter, ahead) || is_positive(promoter, behind)))
            return true;
    }
    return false;
}

/* Whether all accesses of the loop go to the element, or never. */
static bool is_alone(const struct promoter *promoter, const struct use *use, const struct ir_access *element)
{
    int others = 0;

    for (int k = 0; k < use->accesses.count; k++) {
        const struct ir_access *access = use->accesses.items[k];
        if (pass_compare(element, access) != PASS_SAME &&
            (others++ == ACCESSES || !is_apart(promoter, element, access)))
            return false;
    }
    return true;
}

/* ---- whether the element is there ---------------------------------------------------------------------- */

static bool was_stored(const struct block_stores *stores, const struct ir_access *access)
{
    for (int k = 0; k < stores->count; k++)
        if (stores->items[k]->buffer == access->buffer && pass_compare(stores->items[k], access) == PASS_SAME)
            return true;
    return false;
}

/* Never negative, in any iteration: what blocks begin with, say. Extents and their sums are far from 2^63. */
static bool is_natural(const struct promoter *promoter, const struct ir_expr *expr)
{
    if (expr->kind == IR_INTEGER)
        return expr->integer >= 0;
    if (expr->kind == IR_SYMBOL) {
        const struct ir_stmt *loop = loop_around(promoter, expr->symbol);
        return expr->symbol->kind == IR_SYMBOL_DIM ||
               (loop && loop->step > 0 && is_natural(promoter, loop->low));
    }
    if (expr->kind != IR_OPERATION || expr->count != 2)
        return false;
    if (expr->operation == OP_MAX)
        return is_natural(promoter, expr->operands[0]) || is_natural(promoter, expr->operands[1]);
    bool factor = expr->operands[1]->kind == IR_INTEGER && expr->operands[1]->integer < FACTOR;
    return (expr->operation == OP_ADD || expr->operation == OP_MIN ||
            (expr->operation == OP_MUL && factor)) &&
           is_natural(promoter, expr->operands[0]) && is_natural(promoter, expr->operands[1]);
}

static bool is_at_most(const struct ir_expr *expr, const struct ir_expr *extent)
{
    if (expr->kind == IR_OPERATION && expr->operation == OP_MIN)
        return is_at_most(expr->operands[0], extent) || is_at_most(expr->operands[1], extent);
    return ir_expr_equal(expr, extent);
}

/* The variable of a loop around that runs over this very extent or a block of it, or a constant below a
 * constant one. */
static bool index_is_inside(const struct promoter *promoter, const struct ir_expr *index,
                            const struct ir_expr *extent)
{
    const struct ir_stmt *loop = index->kind == IR_SYMBOL ? loop_around(promoter, index->symbol) : NULL;

    if (index->kind == IR_INTEGER)
        return extent->kind == IR_INTEGER && index->integer >= 0 && index->integer < extent->integer;
    return loop && loop->step > 0 && is_natural(promoter, loop->low) && is_at_most(loop->high, extent);
}

static bool is_inside(const struct promoter *promoter, const struct ir_access *access)
{
    for (int k = 0; k < access->buffer->rank; k++)
        if (!index_is_inside(promoter, access->indices[k], access->buffer->shape[k]))
            return false;
    return true;
}

static bool is_of(const struct ir_access *access, const struct ir_access *element)
{
    return access->buffer == element->buffer && pass_compare(element, access) == PASS_SAME;
}

/* Whether evaluating the expression loads the element in any case. */
static bool surely_loads(const struct ir_expr *expr, const struct ir_access *element)
{
    bool lazy;

    if (expr->kind == IR_LOAD)
        return is_of(&expr->access, element);
    if (expr->kind != IR_OPERATION)
        return false;
    lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
    for (int k = 0; k < (lazy ? 1 : expr->count); k++)
        if (surely_loads(expr->operands[k], element))
            return true;
    return false;
}

/* Whether each iteration accesses the element before anything can stop or leave it. */
static bool surely_accesses(struct ir_stmt *body, const struct ir_access *element)
{
    for (struct ir_stmt *stmt = body; stmt; stmt = stmt->next) {
        bool is_simple = !stmt->body && !stmt->otherwise;
        if (pass_stmt_may_stop(stmt) || stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE)
            return false;
        if (is_simple && ((stmt->kind == IR_STORE && is_of(&stmt->access, element)) ||
                          (stmt->value && surely_loads(stmt->value, element))))
            return true;
        if (stmt->kind == IR_IF && (pass_jumps(stmt->body) || pass_jumps(stmt->otherwise)))
            return false;
    }
    return false;
}

/* ---- the change
 * -------------------------------------------------------------------------------------------- */

static struct ir_symbol *scalar_of(const struct ir_access *access, void *context)
{
    const struct promoter *promoter = context;

    return is_of(access, promoter->element) ? promoter->scalar : NULL;
}

static bool replace_accesses(struct ir_stmt *stmt, void *context)
{
    struct promoter *promoter = context;
    struct pass_replacement replacement = {promoter->element->buffer, scalar_of, promoter};

    if (stmt->kind == IR_STORE && is_of(&stmt->access, promoter->element)) {
        stmt->kind = IR_ASSIGN;
        stmt->symbol = promoter->scalar;
        stmt->access = (struct ir_access){0};
    }
    pass_replace_loads(promoter->pass, stmt, &replacement);
    return true;
}

/* What is alone in the loop, a loop itself. */
static struct ir_stmt *only_loop(const struct ir_stmt *loop)
{
    return loop->body && loop->body->kind == IR_FOR && !loop->body->next ? loop->body : NULL;
}

/* A test that the loop, and those it but holds, have iterations. */
static struct ir_stmt *make_guard(struct pass *pass, const struct ir_stmt *loop)
{
    struct ir_stmt *guard = ir_stmt_new(pass->kernel, IR_IF, loop->span);

    for (; loop && loop->kind == IR_FOR; loop = only_loop(loop)) {
        struct ir_expr *test = ir_operation(pass->kernel, loop->step > 0 ? OP_LT : OP_GT,
                                            pass_copy(pass, loop->low), pass_copy(pass, loop->high), NULL);
        guard->value = guard->value ? ir_operation(pass->kernel, OP_AND, guard->value, test, NULL) : test;
    }
    return guard;
}

/* var x = buffer[...]; the loop; buffer[...] = x. In the place of the loop, which stays the same node. */
static void promote(struct promoter *promoter, const struct ir_access *element, struct ir_stmt **place,
                    bool guarded)
{
    struct pass *pass = promoter->pass;
    struct ir_stmt *loop = *place, *next = loop->next, *var, *store, *guard;
    struct ir_expr *load = pass_load(pass, element, loop->span);

    var = pass_declare(pass, IR_SYMBOL_VARIABLE, element->buffer->name, load, loop->span);
    store = ir_stmt_new(pass->kernel, IR_STORE, loop->span);
    store->access = pass_load(pass, element, loop->span)->access;
    store->value = ir_symbol_use(pass->kernel, var->symbol);
    promoter->scalar = var->symbol;
    var->symbol->note = var; /* the loop changes it: no element is the same whose index it is in now */
    list_push(pass->arena, &promoter->changing, var->symbol);
    promoter->element = &load->access; /* the one at hand may be that of a store, which goes */
    loop->next = NULL;
    ir_block_walk(loop, replace_accesses, promoter);
    var->next = loop;
    loop->next = store;
    if (guarded) {
        guard = make_guard(pass, loop);
        guard->body = var;
        *place = guard;
        guard->next = next;
    } else {
        *place = var;
        store->next = next;
    }
    promoter->changed = true;
}

/* Whether a test before the loop can ask for its bounds: copies go by notes, so what the loop changes is no
 * part of them. */
static bool may_guard(struct ir_stmt *loop)
{
    bool may = loop->kind == IR_FOR;

    for (; may && loop; loop = only_loop(loop))
        may = pass_is_pure(loop->low) && pass_is_pure(loop->high) &&
              ir_expr_walk(loop->low, is_invariant, NULL) && ir_expr_walk(loop->high, is_invariant, NULL);
    return may;
}

static bool stays_the_same(const struct ir_access *element)
{
    for (int axis = 0; axis < element->buffer->rank; axis++)
        if (!pass_is_pure(element->indices[axis]) ||
            !ir_expr_walk(element->indices[axis], is_invariant, NULL))
            return false;
    return true;
}

/* The accesses to the element, which become a scalar, are none of the tensor any more. */
static void forget_accesses(struct use *use, const struct ir_access *element)
{
    int kept = 0;

    for (int k = 0; k < use->accesses.count; k++)
        if (pass_compare(element, use->accesses.items[k]) != PASS_SAME)
            use->accesses.items[kept++] = use->accesses.items[k];
    use->accesses.count = kept;
}

/* Blocks of a fixed size, say: the end lies so many ahead. */
static bool is_never_empty(const struct promoter *promoter, const struct ir_stmt *loop)
{
    bool never = true;

    for (; never && loop; loop = only_loop(loop)) {
        struct pass_affine low, span;
        never = loop->step > 0 && pass_affine_of(loop->low, &low) && pass_affine_of(loop->high, &span) &&
                pass_affine_add(&span, -1, &low) && is_positive(promoter, span);
    }
    return never;
}

static struct ir_stmt *innermost_body(const struct ir_stmt *loop)
{
    while (only_loop(loop))
        loop = only_loop(loop);
    return loop->body;
}

/* Whether what follows the loop, which cannot stop, accesses the element in any case: then it is there before
 * the loop as well. */
static bool is_accessed_behind(struct ir_stmt *loop, const struct ir_access *element)
{
    struct ir_stmt *next = loop->next;
    bool stops;

    for (int axis = 0; axis < element->buffer->rank; axis++)
        if (ir_expr_has_variable(element->indices[axis]))
            return false;
    loop->next = NULL;
    stops = loop->kind != IR_FOR || pass_block_may_stop(loop) || pass_jumps(loop->body);
    loop->next = next;
    return !stops && surely_accesses(next, element);
}

static void try_element(struct promoter *promoter, struct use *use, const struct ir_access *element,
                        struct ir_stmt **place, const struct block_stores *stores)
{
    /* a half that comes from outside need not be what it becomes when it is stored again: it may be a NaN */
    bool is_ours = use->buffer->role == IR_OUTPUT || use->buffer->role == IR_TEMPORARY;
    bool changes = dtype_is_half(use->buffer->dtype) && !is_ours, stands;

    if (!stays_the_same(element) || !is_alone(promoter, use, element))
        return;
    stands = was_stored(stores, element) ||
             (!changes && (is_inside(promoter, element) || is_accessed_behind(*place, element)));
    if (!stands && !(may_guard(*place) && surely_accesses(innermost_body(*place), element)))
        return;
    forget_accesses(use, element);
    promote(promoter, element, place, !stands && !is_never_empty(promoter, *place));
}

/* ---- the walk
 * ---------------------------------------------------------------------------------------------- */

static void promote_block(struct promoter *promoter, struct ir_stmt **block);

static void forget_uses(struct promoter *promoter)
{
    for (int k = 0; k < promoter->used.count; k++)
        promoter->uses[promoter->used.items[k]->buffer->index] = NULL;
    for (int k = 0; k < promoter->changing.count; k++)
        promoter->changing.items[k]->note = NULL;
    promoter->used.count = promoter->changing.count = 0;
}

/* The place where the loop itself stands now. */
static struct ir_stmt **find_loop(struct ir_stmt **place, const struct ir_stmt *loop)
{
    while (*place != loop)
        place = (*place)->kind == IR_IF ? &(*place)->body : &(*place)->next;
    return place;
}

/* Gives the last statement of what stands in the place of the loop. */
static struct ir_stmt *promote_loop(struct promoter *promoter, struct ir_stmt **place,
                                    const struct block_stores *stores)
{
    struct ir_stmt *loop = *place, *next = loop->next, *last;

    loop->next = NULL;
    ir_block_walk(loop, note_stmt, promoter);
    loop->next = next;
    for (int k = 0; k < promoter->used.count; k++) {
        struct use *use = promoter->used.items[k];
        for (int n = 0; n < use->count && !use->excluded; n++)
            try_element(promoter, use, use->elements[n], find_loop(place, loop), stores);
    }
    forget_uses(promoter);
    if (promoter->depth < AROUND)
        promoter->around[promoter->depth] = loop;
    promoter->depth += loop->kind == IR_FOR;
    promote_block(promoter, &loop->body);
    promoter->depth -= loop->kind == IR_FOR;
    for (last = *place; last->next != next; last = last->next)
        continue;
    return last;
}

static bool forget_assigned(struct ir_stmt *stmt, void *context)
{
    struct block_stores *stores = context;

    for (int k = stores->count - 1; k >= 0; k--)
        if ((stmt->kind == IR_ASSIGN && pass_access_mentions(stores->items[k], stmt->symbol)) ||
            (stmt->kind == IR_ALLOCATE && stores->items[k]->buffer == stmt->access.buffer))
            stores->items[k] = stores->items[--stores->count];
    return true;
}

static void note_stores(struct block_stores *stores, struct ir_stmt *stmt)
{
    struct ir_stmt *next = stmt->next;

    stmt->next = NULL;
    ir_block_walk(stmt, forget_assigned, stores);
    stmt->next = next;
    if (stmt->kind == IR_STORE && stores->count < STORED)
        stores->items[stores->count++] = &stmt->access;
}

static void promote_if(struct promoter *promoter, struct ir_stmt *stmt)
{
    promote_block(promoter, &stmt->body);
    while (stmt->otherwise && stmt->otherwise->kind == IR_IF && !stmt->otherwise->next) {
        stmt = stmt->otherwise;
        promote_block(promoter, &stmt->body);
    }
    promote_block(promoter, &stmt->otherwise);
}

static void promote_block(struct promoter *promoter, struct ir_stmt **block)
{
    struct block_stores stores = {.count = 0};

    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_FOR || stmt->kind == IR_WHILE) {
            note_stores(&stores, stmt);
            struct ir_stmt *last = promote_loop(promoter, place, &stores);
            while (*place != last)
                place = &(*place)->next;
            continue;
        }
        if (stmt->kind == IR_IF)
            promote_if(promoter, stmt);
        note_stores(&stores, stmt);
    }
}

bool pass_promote_nest(struct pass *pass, const struct ir_stmt *const *around, int count,
                       struct ir_stmt *nest)
{
    struct promoter promoter = {.pass = pass};

    promoter.uses = arena_array(pass->arena, struct use *, pass->kernel->buffers.count);
    for (int k = 0; k < count && k < AROUND - 1; k++)
        promoter.around[promoter.depth++] = around[k];
    promoter.around[promoter.depth++] = nest;
    promote_block(&promoter, &nest->body);
    return promoter.changed;
}

bool pass_promote(struct pass *pass)
{
    struct promoter promoter = {.pass = pass};

    promoter.uses = arena_array(pass->arena, struct use *, pass->kernel->buffers.count);
    promote_block(&promoter, &pass->kernel->body);
    return promoter.changed;
}

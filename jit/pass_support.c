/*
 * pass_support.c: questions about statements and indices, and small changes, that several passes need.
 */
#include "pass.h"

#include <string.h>

/* ---- what may stop ----------------------------------------------------------------------------- */

static bool goes_on(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_OPERATION)
        return !expr->checked;
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        if (expr->access.checks[k] == IR_CHECK_ELEMENT)
            return false;
    return true;
}

bool pass_expr_may_stop(struct ir_expr *expr)
{
    return !ir_expr_walk(expr, goes_on, NULL);
}

bool pass_access_may_stop(struct ir_access *access)
{
    for (int k = 0; k < access->buffer->rank; k++)
        if (access->checks[k] == IR_CHECK_ELEMENT || pass_expr_may_stop(access->indices[k]))
            return true;
    return false;
}

static bool stmt_goes_on(struct ir_stmt *stmt, void *context)
{
    if (stmt->kind == IR_ASSERT || stmt->kind == IR_WHILE)
        return false;
    if (stmt->kind == IR_STORE && pass_access_may_stop(&stmt->access))
        return false;
    return ir_stmt_expressions(stmt, goes_on, context);
}

bool pass_block_may_stop(struct ir_stmt *block)
{
    return !ir_block_walk(block, stmt_goes_on, NULL);
}

bool pass_stmt_may_stop(struct ir_stmt *stmt)
{
    return !stmt_goes_on(stmt, NULL) || pass_block_may_stop(stmt->body) ||
           pass_block_may_stop(stmt->otherwise);
}

bool pass_has_for(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_FOR || pass_has_for(stmt->body) || pass_has_for(stmt->otherwise))
            return true;
    return false;
}

static void trust(struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT)
            access->checks[axis] = IR_CHECK_PROVED;
}

static bool trust_load(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_LOAD)
        trust(&expr->access);
    return true;
}

static bool trust_store(struct ir_stmt *stmt, void *context)
{
    (void)context;
    if (stmt->kind == IR_STORE)
        trust(&stmt->access);
    return true;
}

void pass_trust_expression(struct ir_expr *expr)
{
    ir_expr_walk(expr, trust_load, NULL);
}

void pass_trust(struct ir_stmt *block)
{
    ir_block_expressions(block, trust_load, NULL);
    ir_block_walk(block, trust_store, NULL);
}

bool pass_jumps_by(const struct ir_stmt *block, enum ir_stmt_kind kind)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == kind)
            return true;
        for (const struct ir_stmt *side = stmt; side && side->kind == IR_IF; side = side->otherwise) {
            if (pass_jumps_by(side->body, kind))
                return true;
            if (side->otherwise && (side->otherwise->kind != IR_IF || side->otherwise->next)) {
                if (pass_jumps_by(side->otherwise, kind))
                    return true;
                break;
            }
        }
    }
    return false;
}

bool pass_jumps(const struct ir_stmt *block)
{
    return pass_jumps_by(block, IR_BREAK) || pass_jumps_by(block, IR_CONTINUE);
}

static bool is_no_jump(struct ir_stmt *stmt, void *unused)
{
    (void)unused;
    return stmt->kind != IR_BREAK && stmt->kind != IR_CONTINUE;
}

bool pass_jumps_anywhere(struct ir_stmt *block)
{
    return !ir_block_walk(block, is_no_jump, NULL);
}

/* `may_load`: not NULL. */
static bool is_pure(struct ir_expr *expr, void *may_load)
{
    if (expr->kind != IR_OPERATION)
        return expr->kind != IR_LOAD || may_load;
    /* what is not checked may have been proved for its place alone */
    return !expr->checked && (!ir_can_divide_by_zero(expr->operation, expr->operands[0]->dtype) ||
                              ir_is_positive(expr->operands[1]));
}

bool pass_is_pure(struct ir_expr *expr)
{
    return ir_expr_walk(expr, is_pure, NULL);
}

bool pass_is_pure_of_loads(struct ir_expr *expr)
{
    return ir_expr_walk(expr, is_pure, expr);
}

static bool is_of_call(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL || expr->symbol->kind == IR_SYMBOL_DIM ||
           expr->symbol->kind == IR_SYMBOL_ATTRIBUTE;
}

bool pass_is_of_call(struct ir_expr *expr)
{
    return pass_is_pure(expr) && ir_expr_walk(expr, is_of_call, NULL);
}

static bool is_from_outside(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_SYMBOL || (!expr->symbol->note && expr->symbol->kind != IR_SYMBOL_VARIABLE);
}

bool pass_is_same_in_all(const struct ir_stmt *loop, struct ir_expr *expr)
{
    bool same = pass_is_pure(expr) && !pass_mentions(expr, loop->symbol);

    ir_block_note_declared(loop->body, loop->body);
    same = same && ir_expr_walk(expr, is_from_outside, NULL);
    ir_block_note_declared(loop->body, NULL);
    return same;
}

static bool is_other(struct ir_expr *expr, void *symbol)
{
    return expr->kind != IR_SYMBOL || expr->symbol != symbol;
}

bool pass_mentions(struct ir_expr *expr, const struct ir_symbol *symbol)
{
    return !ir_expr_walk(expr, is_other, (void *)symbol);
}

bool pass_block_mentions(struct ir_stmt *block, const struct ir_symbol *symbol)
{
    return !ir_block_expressions(block, is_other, (void *)symbol);
}

bool pass_access_mentions(const struct ir_access *access, const struct ir_symbol *symbol)
{
    for (int k = 0; k < access->buffer->rank; k++)
        if (pass_mentions(access->indices[k], symbol))
            return true;
    return false;
}

/* ---- what depends -------------------------------------------------------------------------------- */

enum { AROUND = 32 };

/* Finds the loops around a statement; false: it is not in the block, or too deep in it. */
static bool find_around(const struct ir_stmt *block, const struct ir_stmt *stmt, const struct ir_stmt **loops,
                        int *count)
{
    for (; block; block = block->next) {
        bool is_loop = block->kind == IR_FOR;
        if (block == stmt)
            return true;
        if (is_loop && *count == AROUND)
            continue;
        if (is_loop)
            loops[*count] = block;
        *count += is_loop;
        if (find_around(block->body, stmt, loops, count) || find_around(block->otherwise, stmt, loops, count))
            return true;
        *count -= is_loop;
    }
    return false;
}

typedef const struct dependences *analysis(struct ir_kernel *kernel, const struct dependence_around *around);

static const struct dependences *dependences_of(struct pass *pass, struct ir_stmt *loop, analysis *analyse)
{
    const struct ir_stmt *loops[AROUND];
    struct dependence_around around = {loops, 0};
    struct ir_kernel *kernel = pass->kernel;
    struct arena *arena = kernel->arena;
    struct ir_stmt *body = kernel->body, *next = loop->next;
    const struct dependences *dependences;

    if (pass->analyses == 0)
        return NULL;
    pass->analyses--;
    find_around(body, loop, loops, &around.count);
    kernel->body = loop;
    loop->next = NULL;
    kernel->arena = pass->arena; /* where the answer goes */
    dependences = analyse(kernel, &around);
    kernel->arena = arena;
    kernel->body = body;
    loop->next = next;
    return dependences;
}

const struct dependences *pass_dependences(struct pass *pass, struct ir_stmt *loop)
{
    return dependences_of(pass, loop, dependence_judge);
}

const struct dependences *pass_directions(struct pass *pass, struct ir_stmt *loop)
{
    return dependences_of(pass, loop, dependence_analyse);
}

static bool assigns_what_it_declares(struct ir_stmt *stmt, void *body)
{
    return stmt->kind != IR_ASSIGN || ir_block_declares(body, stmt->symbol);
}

bool pass_assigns_own(struct ir_stmt *loop)
{
    return ir_block_walk(loop->body, assigns_what_it_declares, loop->body);
}

bool pass_is_parallel(struct pass *pass, struct ir_stmt *loop)
{
    if (!pass_assigns_own(loop))
        return false;
    const struct dependences *dependences = pass_dependences(pass, loop);
    const struct dependence_loop *row = dependences ? dependence_loop_is_parallel(dependences, loop) : NULL;

    return row && row->verdict == DEPENDENCE_PARALLEL && !row->leaves && !row->incomplete;
}

void pass_note_order(struct pass *pass, const struct pass_around *around, bool is_last)
{
    const struct pass_around *outermost = around;
    while (outermost && outermost->outer)
        outermost = outermost->outer;
    if (!outermost || outermost->loop->independent || outermost->loop->in_turn)
        return;
    const struct dependences *dependences = pass_dependences(pass, outermost->loop);
    for (; dependences && around; around = around->outer) {
        struct ir_stmt *loop = around->loop;
        const struct dependence_loop *row = dependence_loop_is_parallel(dependences, loop);
        bool is_known = row && !row->incomplete;
        loop->independent |= is_known && row->verdict == DEPENDENCE_PARALLEL && !row->accumulates &&
                             !row->leaves && pass_assigns_own(loop);
        loop->in_turn |= !loop->independent && (is_last || (is_known && row->verdict != DEPENDENCE_PARALLEL &&
                                                            row->verdict != DEPENDENCE_ACCUMULATES));
    }
}

bool pass_bounds_are_fixed(struct ir_stmt *const *loops, int count)
{
    for (int k = 0; k < count; k++) {
        if (!pass_is_pure(loops[k]->low) || !pass_is_pure(loops[k]->high))
            return false;
        for (int other = 0; other < k; other++)
            if (pass_mentions(loops[k]->low, loops[other]->symbol) ||
                pass_mentions(loops[k]->high, loops[other]->symbol))
                return false;
    }
    return true;
}

/* ---- building ------------------------------------------------------------------------------------ */

void pass_set_value(struct ir_stmt *stmt, struct ir_expr *value)
{
    stmt->value = value;
    if (stmt->kind == IR_LET)
        stmt->symbol->value = value;
}

struct ir_expr *pass_copy(struct pass *pass, const struct ir_expr *expr)
{
    return ir_expr_substitute(pass->kernel, expr); /* no note is set: a plain copy */
}

struct ir_expr *pass_apply(struct pass *pass, enum operation operation, struct ir_expr *a, struct ir_expr *b)
{
    struct ir_expr *expr = ir_operation(pass->kernel, operation, a, b, NULL);

    if (expr->kind == IR_OPERATION && expr->operands[0] == a && expr->operands[expr->count - 1] == b)
        expr->checked = false; /* what it was folded to may have been asked for as it is */
    return expr;
}

struct ir_expr *pass_load(struct pass *pass, const struct ir_access *access, struct span span)
{
    struct ir_expr *indices[AKG_MAX_RANK], *load;

    for (int k = 0; k < access->buffer->rank; k++)
        indices[k] = pass_copy(pass, access->indices[k]);
    load = ir_load(pass->kernel, access->buffer, indices);
    for (int k = 0; k < access->buffer->rank; k++)
        load->access.checks[k] = IR_CHECK_PROVED;
    load->span = span;
    return load;
}

struct ir_stmt *pass_declare(struct pass *pass, enum ir_symbol_kind kind, const char *name,
                             struct ir_expr *value, struct span span)
{
    struct ir_stmt *stmt = ir_stmt_new(pass->kernel, kind == IR_SYMBOL_LET ? IR_LET : IR_VARIABLE, span);

    stmt->symbol = ir_symbol_new(pass->kernel, kind, name, value->dtype);
    stmt->symbol->span = span;
    pass_set_value(stmt, value);
    return stmt;
}

struct renaming {
    struct ir_symbol *from, *to;
};

static bool rename_symbol(struct ir_expr *expr, void *context)
{
    const struct renaming *renaming = context;
    if (expr->kind == IR_SYMBOL && expr->symbol == renaming->from)
        expr->symbol = renaming->to;
    return true;
}

void pass_rename(struct ir_stmt *block, struct ir_symbol *from, struct ir_symbol *to)
{
    struct renaming renaming = {from, to};
    ir_block_expressions(block, rename_symbol, &renaming);
}

void pass_rewrite(struct pass *pass, struct ir_stmt *stmt, pass_rewriter *rewrite, void *context)
{
    if (stmt->low)
        stmt->low = rewrite(pass, stmt->low, context);
    if (stmt->high)
        stmt->high = rewrite(pass, stmt->high, context);
    for (int k = 0; stmt->kind == IR_STORE && k < stmt->access.buffer->rank; k++)
        stmt->access.indices[k] = rewrite(pass, stmt->access.indices[k], context);
    if (stmt->value)
        pass_set_value(stmt, rewrite(pass, stmt->value, context));
}

static struct ir_expr *substitute(struct pass *pass, struct ir_expr *expr, void *context)
{
    (void)context;
    return ir_expr_substitute(pass->kernel, expr);
}

static bool substitute_in(struct ir_stmt *stmt, void *pass)
{
    pass_rewrite(pass, stmt, substitute, NULL);
    return true;
}

void pass_substitute(struct pass *pass, struct ir_stmt *block)
{
    ir_block_walk(block, substitute_in, pass);
}

struct operation_rewriter {
    pass_rewriter *rewrite;
    void *context;
};

static struct ir_expr *rewrite_inside(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct operation_rewriter *rewriter = context;

    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++)
        expr->access.indices[axis] = rewrite_inside(pass, expr->access.indices[axis], context);
    if (expr->kind != IR_OPERATION)
        return expr;
    for (int k = 0; k < expr->count; k++)
        expr->operands[k] = rewrite_inside(pass, expr->operands[k], context);
    struct ir_expr *result = rewriter->rewrite(pass, expr, rewriter->context);
    if (result != expr)
        result->span = expr->span;
    return result;
}

void pass_rewrite_operations(struct pass *pass, struct ir_stmt *stmt, pass_rewriter *rewrite, void *context)
{
    struct operation_rewriter rewriter = {rewrite, context};

    pass_rewrite(pass, stmt, rewrite_inside, &rewriter);
}

static struct ir_expr *replace_loads(struct pass *pass, struct ir_expr *expr, void *context)
{
    const struct pass_replacement *replacement = context;
    struct ir_symbol *symbol = NULL;

    if (expr->kind == IR_LOAD && expr->access.buffer == replacement->buffer)
        symbol = replacement->symbol_of(&expr->access, replacement->context);
    if (expr->kind == IR_OPERATION) {
        for (int k = 0; k < expr->count; k++)
            expr->operands[k] = replace_loads(pass, expr->operands[k], context);
    } else if (symbol) {
        struct ir_expr *use = ir_symbol_use(pass->kernel, symbol);
        use->span = expr->span;
        return use;
    } else if (expr->kind == IR_LOAD) {
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = replace_loads(pass, expr->access.indices[k], context);
    }
    return expr;
}

void pass_replace_loads(struct pass *pass, struct ir_stmt *stmt, struct pass_replacement *replacement)
{
    pass_rewrite(pass, stmt, replace_loads, replacement);
}

/* What makes a loop the loop it is changes places; the nodes stay. */
void pass_exchange_loops(struct ir_stmt *a, struct ir_stmt *b)
{
    struct ir_stmt header = *a;

    a->symbol = b->symbol;
    a->low = b->low;
    a->high = b->high;
    a->step = b->step;
    a->span = b->span;
    b->symbol = header.symbol;
    b->low = header.low;
    b->high = header.high;
    b->step = header.step;
    b->span = header.span;
}

/* ---- new loops ------------------------------------------------------------------------------------- */

/* What messages call it, and its copies. */
static const char *called(const struct ir_symbol *symbol)
{
    return symbol->label ? symbol->label : symbol->name;
}

struct ir_stmt *pass_new_loop(struct pass *pass, const struct ir_stmt *like, struct ir_stmt *body)
{
    struct ir_stmt *loop = ir_stmt_new(pass->kernel, IR_FOR, like->span);
    loop->symbol = ir_symbol_new(pass->kernel, IR_SYMBOL_LOOP, like->symbol->name, like->symbol->dtype);
    loop->symbol->span = like->symbol->span;
    loop->symbol->label = called(like->symbol);
    loop->low = pass_copy(pass, like->low);
    loop->high = pass_copy(pass, like->high);
    loop->step = like->step;
    loop->body = body;
    pass_rename(body, like->symbol, loop->symbol);
    return loop;
}

struct ir_stmt *pass_count_to(struct pass *pass, const struct ir_stmt *like, struct ir_expr *high)
{
    struct ir_stmt *loop = ir_stmt_new(pass->kernel, IR_FOR, like->span);
    loop->symbol = ir_symbol_new(pass->kernel, IR_SYMBOL_LOOP, like->symbol->name, AKG_INT64);
    loop->symbol->span = like->symbol->span;
    loop->symbol->label = called(like->symbol);
    loop->low = ir_integer(pass->kernel, AKG_INT64, 0);
    loop->high = high;
    loop->step = 1;
    return loop;
}

bool pass_can_be_copied(struct ir_stmt *stmt, void *left)
{
    return stmt->kind != IR_ALLOCATE && stmt->kind != IR_WHILE && stmt->kind != IR_ASSERT &&
           stmt->kind != IR_BREAK && stmt->kind != IR_CONTINUE && --*(int *)left >= 0;
}

void pass_hoist_choice(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_stmt *choice = loop->body, *next = loop->next, *large;

    loop->next = NULL;
    loop->body = choice->otherwise;
    choice->otherwise = pass_copy_block(pass, loop);
    loop->body = choice->body;
    large = ir_stmt_new(pass->kernel, IR_FOR, loop->span);
    *large = *loop;
    choice->body = large;
    choice->next = next;
    *loop = *choice;
}

/* ---- taking out ---------------------------------------------------------------------------------- */

static char removed; /* its address is the mark */

void pass_remove(struct ir_stmt *stmt)
{
    stmt->note = &removed;
}

bool pass_is_removed(const struct ir_stmt *stmt)
{
    return stmt->note == &removed;
}

static bool is_empty(struct ir_stmt *stmt)
{
    if (stmt->body || stmt->otherwise)
        return false;
    if (stmt->kind == IR_FOR)
        return !pass_expr_may_stop(stmt->low) && !pass_expr_may_stop(stmt->high);
    return stmt->kind == IR_IF && !pass_expr_may_stop(stmt->value);
}

/* The sides of a chain of else-ifs, the last ones first, so that what becomes empty goes. */
static void sweep_chain(struct ir_stmt *stmt)
{
    struct ir_stmt *last = stmt, *before = NULL;

    for (;;) {
        struct ir_stmt *next = last->otherwise;
        pass_sweep(&last->body);
        if (!next || next->kind != IR_IF || next->next || pass_is_removed(next))
            break;
        last->otherwise = before; /* the way back */
        before = last;
        last = next;
    }
    pass_sweep(&last->otherwise);
    while (last != stmt) {
        struct ir_stmt *above = before;
        before = above->otherwise;
        above->otherwise = is_empty(last) ? NULL : last;
        last = above;
    }
}

void pass_sweep(struct ir_stmt **block)
{
    for (struct ir_stmt **place = block; *place;) {
        struct ir_stmt *stmt = *place;
        if (!pass_is_removed(stmt) && stmt->kind == IR_IF)
            sweep_chain(stmt);
        else if (!pass_is_removed(stmt) && stmt->body)
            pass_sweep(&stmt->body);
        if (pass_is_removed(stmt) || is_empty(stmt))
            *place = stmt->next;
        else
            place = &stmt->next;
    }
}

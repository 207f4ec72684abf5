/*
 * context.c: the walk over statements. See context.h.
 */
#include "context_private.h"

/* ---- facts --------------------------------------------------------------- */

/* Whether the facts say as much as the condition. */
static bool assume(struct context *context, const struct ir_expr *expr, bool truth)
{
    struct context_facts facts;

    context_condition_facts(context, expr, truth, &facts);
    for (int k = 0; k < facts.count; k++)
        prover_add(&context->prover, &facts.items[k], false);
    return facts.exact;
}

/* Where `if i == 0 and j == 0` was not so, j is not 0 where i is: what the newest condition settles of those
 * around. */
static void assume_remaining(struct context *context)
{
    enum { NEWEST = 4 };
    struct context_facts facts;
    int last = context->conditions.count - 2;

    for (int k = last; k >= 0 && k > last - NEWEST; k--) {
        const struct context_condition *condition = &context->conditions.items[k];
        if (condition->exact)
            continue;
        context_remaining_facts(context, condition->expr, condition->truth, &facts);
        for (int fact = 0; fact < facts.count; fact++)
            prover_add(&context->prover, &facts.items[fact], false);
    }
}

/* Enters the condition; facts.count before it comes back. */
static int condition_push(struct context *context, struct ir_expr *expr, bool truth)
{
    int before = context->prover.facts.count;

    context->place++;
    bool exact = assume(context, expr, truth);
    struct context_condition condition = {expr, truth, before, context->prover.facts.count - before, exact};
    list_push(context->arena, &context->conditions, condition);
    assume_remaining(context);
    return before;
}

static void condition_pop(struct context *context, int facts)
{
    context->place++;
    context->conditions.count--;
    context->prover.facts.count = facts;
}

/* Of the innermost loop. */
static bool is_unclear(const struct context *context)
{
    return context->loops.count && context->loops.items[context->loops.count - 1].unclear;
}

static void set_unclear(struct context *context, bool unclear)
{
    if (context->loops.count)
        context->loops.items[context->loops.count - 1].unclear = unclear;
}

static void assume_precondition(struct context *context, const struct ir_precondition *precondition)
{
    struct context_facts facts, guards = {.count = 0, .exact = true};

    if (precondition->guard)
        context_condition_facts(context, precondition->guard, true, &guards);
    if (!guards.exact)
        return;
    context_condition_facts(context, precondition->condition, true, &facts);
    for (int k = 0; k < facts.count; k++) {
        if (guards.count)
            prover_add_rule(&context->prover, guards.items, guards.count, &facts.items[k]);
        else
            prover_add(&context->prover, &facts.items[k], true);
    }
}

/* ---- expressions --------------------------------------------------------- */

static void visit_expr(struct context *context, struct ir_expr *expr);

static void visit_guarded(struct context *context, struct ir_expr *expr, struct ir_expr *condition,
                          bool truth)
{
    if (expr->kind == IR_INTEGER || expr->kind == IR_REAL ||
        (expr->kind == IR_SYMBOL && expr->symbol->kind != IR_SYMBOL_VARIABLE))
        return;
    int facts = condition_push(context, condition, truth);
    visit_expr(context, expr);
    condition_pop(context, facts);
}

static void visit_indices(struct context *context, const struct ir_access *access)
{
    for (int k = 0; k < access->buffer->rank; k++)
        visit_expr(context, access->indices[k]);
}

static void visit_load(struct context *context, struct ir_expr *load)
{
    visit_indices(context, &load->access);
    if (context->visitor->access)
        context->visitor->access(context, &load->access, load);
}

static void visit_operation(struct context *context, struct ir_expr *expr)
{
    struct ir_expr **operands = expr->operands;

    visit_expr(context, operands[0]);
    if (expr->operation == OP_AND || expr->operation == OP_OR) {
        visit_guarded(context, operands[1], operands[0], expr->operation == OP_AND);
    } else if (expr->operation == OP_SELECT) {
        visit_guarded(context, operands[1], operands[0], true);
        visit_guarded(context, operands[2], operands[0], false);
    } else {
        for (int k = 1; k < expr->count; k++)
            visit_expr(context, operands[k]);
    }
    if (expr->checked && context->visitor->division)
        context->visitor->division(context, expr);
}

static void visit_expr(struct context *context, struct ir_expr *expr)
{
    if (context->trials)
        return;
    if (expr->kind == IR_LOAD)
        visit_load(context, expr);
    else if (expr->kind == IR_OPERATION)
        visit_operation(context, expr);
    else if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE && context->visitor->scalar)
        context->visitor->scalar(context, expr->symbol, expr->span, false);
}

/* ---- loops --------------------------------------------------------------- */

static void walk_block(struct context *context, struct ir_stmt *block);

static bool has_break(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_BREAK)
            return true;
        if (stmt->kind == IR_IF && (has_break(stmt->body) || has_break(stmt->otherwise)))
            return true;
    }
    return false;
}

/* first <= atom <= last */
static void assume_range(struct context *context, const struct context_loop *loop)
{
    struct linear index, form;

    linear_of_atom(&context->space, loop->atom, &index);
    if (linear_add(&form, &index, -1, &loop->first))
        prover_add(&context->prover, &form, false);
    if (linear_add(&form, &loop->last, -1, &index))
        prover_add(&context->prover, &form, false);
}

/* distance // step, or an atom that is no larger in magnitude when that has no form */
static void last_iteration(struct context *context, const struct linear *distance, int64_t step,
                           struct linear *last)
{
    struct linear divisor;

    linear_constant(&divisor, step);
    if (!linear_fits(&context->space, distance) ||
        !linear_combine(&context->space, LINEAR_QUOTIENT, last, distance, &divisor))
        context_opaque(context, AKG_INT64, last);
}

/* The loop's atom: the variable itself for steps of 1 and -1, else the number of the iteration. */
static void enter_range(struct context *context, struct context_loop *loop)
{
    struct ir_stmt *stmt = loop->stmt;
    struct linear value, distance, zero;
    bool down = stmt->step < 0;
    bool unit = stmt->step == 1 || stmt->step == -1;

    linear_constant(&zero, 0);
    if (unit && linear_shift(&loop->first, down ? &loop->high : &loop->low, down) &&
        linear_shift(&loop->last, down ? &loop->low : &loop->high, down ? 0 : -1)) {
        loop->atom = linear_new_loop(&context->space, &loop->first, &loop->last);
        linear_of_atom(&context->space, loop->atom, &value);
        context_bind(context, stmt->symbol, &value);
        assume_range(context, loop);
        return;
    }
    bool known = stmt->step != INT64_MIN && linear_add(&distance, &loop->high, -1, &loop->low) &&
                 (!down || linear_scale(&distance, &distance, -1)) && linear_shift(&distance, &distance, -1);
    if (!known)
        context_opaque(context, AKG_INT64, &distance);
    loop->first = zero;
    last_iteration(context, &distance, known && down ? -stmt->step : known ? stmt->step : 1, &loop->last);
    loop->atom = linear_new_loop(&context->space, &zero, &loop->last);
    linear_of_atom(&context->space, loop->atom, &value);
    assume_range(context, loop);
    if (!known || !linear_add(&value, &loop->low, stmt->step, &value))
        context_opaque(context, AKG_INT64, &value);
    context_bind(context, stmt->symbol, &value);
}

/* Whether the bound is the same throughout: made of extents, attributes and names. */
static bool is_steady(struct ir_expr *expr, void *unused)
{
    (void)unused;
    return expr->kind == IR_INTEGER || (expr->kind == IR_OPERATION && !expr->checked) ||
           (expr->kind == IR_SYMBOL && expr->symbol->kind != IR_SYMBOL_VARIABLE);
}

void context_stand_inside(struct context *context, const struct ir_stmt *loop)
{
    struct context_loop around = {.stmt = (struct ir_stmt *)loop, .atom = -1};

    if (loop->kind != IR_FOR || loop->step < 1 || !ir_expr_walk(loop->low, is_steady, NULL) ||
        !ir_expr_walk(loop->high, is_steady, NULL))
        return;
    context_value(context, loop->low, &around.low);
    context_value(context, loop->high, &around.high);
    enter_range(context, &around);
    linear_atom_at(&context->space, around.atom)->parameter = true;
}

void context_walk_silently(struct context *context, struct ir_stmt *loop)
{
    static const struct context_visitor nobody = {0};
    const struct context_visitor *visitor = context->visitor;
    struct ir_stmt *stmt = context->stmt;

    context->visitor = &nobody;
    if (loop->kind == IR_WHILE)
        assume(context, loop->value, true);
    walk_block(context, loop->body);
    context->visitor = visitor;
    context->stmt = stmt;
}

static void run_body(struct context *context, struct ir_stmt *stmt, struct context_updates *updates)
{
    context_updates_enter(context, updates);
    context->loops.items[context->loops.count - 1].inner_facts = context->prover.facts.count;
    if (context->visitor->loop)
        context->visitor->loop(context, stmt, CONTEXT_BEGIN);
    if (stmt->kind == IR_WHILE) { /* what it reads is read in every iteration */
        visit_expr(context, stmt->value);
        assume(context, stmt->value, true);
    }
    walk_block(context, stmt->body);
    context->stmt = stmt;
    if (context->visitor->loop)
        context->visitor->loop(context, stmt, CONTEXT_END);
}

static void walk_loop(struct context *context, struct ir_stmt *stmt)
{
    struct context_updates updates = {0};
    struct context_loop loop = {.stmt = stmt,
                                .atom = -1,
                                .facts = context->prover.facts.count,
                                .conditions = context->conditions.count,
                                .leaves = has_break(stmt->body)};

    if (stmt->kind == IR_FOR) {
        visit_expr(context, stmt->low);
        visit_expr(context, stmt->high);
        context_value(context, stmt->low, &loop.low);
        context_value(context, stmt->high, &loop.high);
    }
    loop.first_atom =
        context->space.atoms.count; /* what the bounds are made of is the same in all iterations */
    context_updates_find(context, stmt->body, &updates);
    if (stmt->kind == IR_FOR)
        enter_range(context, &loop);
    list_push(context->arena, &context->loops, loop);
    context->place++;
    context_updates_guess(context, &updates);
    run_body(context, stmt, &updates);
    loop = context->loops.items[--context->loops.count];
    context->place++;
    context->prover.facts.count = loop.facts;
    context_updates_leave(context, &updates, &loop);
    if (stmt->kind == IR_WHILE && !loop.leaves)
        assume(context, stmt->value, false);
}

/* ---- branches ------------------------------------------------------------ */

bool context_always_jumps(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE ||
            (stmt->kind == IR_IF && stmt->otherwise && context_always_jumps(stmt->body) &&
             context_always_jumps(stmt->otherwise)))
            return true;
    return false;
}

static void branch_event(struct context *context, struct ir_stmt *stmt, enum context_event event)
{
    context->stmt = stmt;
    if (context->visitor->branch)
        context->visitor->branch(context, stmt, event);
}

/* What follows in the block is executed on one side only: the condition, which is still there or is put back,
 * stays until the end of the block. */
static void keep_condition(struct context *context)
{
    const struct context_condition *condition = &context->conditions.items[context->conditions.count - 1];

    context->place++;
    context->prover.facts.count = condition->first_fact + condition->fact_count;
}

static void walk_if(struct context *context, struct ir_stmt *stmt)
{
    struct context_updates updates = {0};
    bool then_leaves = context_always_jumps(stmt->body),
         otherwise_leaves = context_always_jumps(stmt->otherwise);
    bool unclear = is_unclear(context), then_unclear, otherwise_unclear;

    visit_expr(context, stmt->value);
    context_updates_find(context, stmt->body, &updates);
    context_updates_find(context, stmt->otherwise, &updates);
    int facts = condition_push(context, stmt->value, true);
    context_updates_when(context, &updates, true);
    branch_event(context, stmt, CONTEXT_THEN);
    walk_block(context, stmt->body);
    then_unclear = is_unclear(context);
    condition_pop(context, facts);
    context_updates_swap(context, &updates);
    condition_push(context, stmt->value, false);
    context_updates_when(context, &updates, false);
    set_unclear(context, unclear);
    branch_event(context, stmt, CONTEXT_ELSE);
    walk_block(context, stmt->otherwise);
    otherwise_unclear = is_unclear(context);
    if (then_leaves && !otherwise_leaves) {
        keep_condition(context);
        set_unclear(context, otherwise_unclear);
    } else {
        condition_pop(context, facts);
        set_unclear(context, then_unclear || (otherwise_unclear && !otherwise_leaves));
    }
    if (otherwise_leaves && !then_leaves) {
        context_updates_rewind(context, &updates);
        condition_push(context, stmt->value, true);
    }
    branch_event(context, stmt, CONTEXT_JOIN);
    context_updates_join(context, &updates, then_leaves, otherwise_leaves);
}

/* ---- statements ---------------------------------------------------------- */

static void define_scalar(struct context *context, struct ir_stmt *stmt)
{
    struct linear value;

    visit_expr(context, stmt->value);
    if (context->visitor->scalar && stmt->kind != IR_LET)
        context->visitor->scalar(context, stmt->symbol, stmt->span, stmt->kind == IR_ASSIGN);
    if (!dtype_is_integer(stmt->symbol->dtype))
        return;
    context_form(context, stmt->value, &value);
    if (context->trial && stmt->kind == IR_ASSIGN)
        context_trial_assign(context, stmt->symbol, &value);
    context_bind(context, stmt->symbol, &value);
}

static void walk_stmt(struct context *context, struct ir_stmt *stmt)
{
    context->stmt = stmt;
    context->tried += context->trials > 0;
    switch (stmt->kind) {
    case IR_FOR:
    case IR_WHILE:
        walk_loop(context, stmt);
        break;
    case IR_IF:
        walk_if(context, stmt);
        break;
    case IR_STORE:
        visit_indices(context, &stmt->access);
        visit_expr(context, stmt->value);
        if (context->visitor->access)
            context->visitor->access(context, &stmt->access, NULL);
        break;
    case IR_LET:
    case IR_VARIABLE:
    case IR_ASSIGN:
        define_scalar(context, stmt);
        break;
    case IR_ALLOCATE:
        if (context->visitor->allocate)
            context->visitor->allocate(context, stmt);
        break;
    case IR_ASSERT:
        visit_expr(context, stmt->value);
        assume(context, stmt->value, true);
        break;
    case IR_BREAK:
    case IR_CONTINUE:
        if (context->trial)
            context_trial_end(context);
        context->place++;
        if (context->loops.count)
            context->loops.items[context->loops.count - 1].skipped = true;
        set_unclear(context, true);
        break;
    }
}

static void walk_block(struct context *context, struct ir_stmt *block)
{
    int conditions = context->conditions.count;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        walk_stmt(context, stmt);
    if (context->conditions.count >
        conditions) { /* they do not hold after the block, which may have been left */
        context->conditions.count = conditions;
        set_unclear(context, true);
    }
}

/* ---- the walk ------------------------------------------------------------ */

static bool assigns_integers(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if ((stmt->kind == IR_ASSIGN && dtype_is_integer(stmt->symbol->dtype)) ||
            assigns_integers(stmt->body) || assigns_integers(stmt->otherwise))
            return true;
    return false;
}

static void walk_kernel(struct context *context)
{
    struct ir_kernel *kernel = context->kernel;

    linear_space_init(&context->space, context->arena);
    prover_init(&context->prover, &context->space);
    context->assigns = assigns_integers(kernel->body);
    if (context->assigns)
        context_find_telling(context);
    for (int k = 0; k < kernel->preconditions.count; k++) {
        int facts = context->prover.facts.count, rules = context->prover.rules.count;
        assume_precondition(context, &kernel->preconditions.items[k]);
        list_push(context->arena, &context->assumed,
                  ((struct context_assumed){context->prover.facts.count - facts,
                                            context->prover.rules.count - rules}));
    }
    if (context->visitor->begin)
        context->visitor->begin(context);
    context->base_facts = context->prover.facts.count;
    walk_block(context, kernel->body);
    context->prover.facts.count = context->base_facts; /* an assert holds only after itself */
    if (context->visitor->finish)
        context->visitor->finish(context);
}

/* Also where memory ran out: the symbols may be those of a kernel that is analysed again. */
static void take_notes_away(const struct context *context)
{
    for (int k = 0; k < context->bound.count; k++)
        context->bound.items[k]->note = NULL;
}

void context_run(struct ir_kernel *kernel, const struct context_visitor *visitor, void *client)
{
    jmp_buf escape, *outer = kernel->arena->escape;
    struct arena scratch;
    struct context context = {.kernel = kernel, .arena = &scratch, .visitor = visitor, .client = client};

    arena_init(&scratch, &escape);
    if (setjmp(escape)) {
        take_notes_away(&context);
        arena_free(&scratch);
        kernel->arena->escape = outer;
        longjmp(*outer, 1);
    }
    kernel->arena->escape = &escape;
    walk_kernel(&context);
    take_notes_away(&context);
    kernel->arena->escape = outer;
    arena_free(&scratch);
}

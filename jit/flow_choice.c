/*
 * flow_choice.c: branches that become choices.
 *
 * Consumes an IF whose sides do little: they assign integers that cost next to nothing, and may end with a
 * store each, of the same tensor. Produces one straight line of items. Where elements decide, a branch is
 * guessed wrong half the time, at the cost of twenty such items. What a condition waits for is looked at:
 * where it is a load or a float that the loop makes of what it assigns, a guess would go ahead and the branch
 * stays. So it does where one side takes a variable from iteration to iteration in a longer chain than the
 * other: a choice waits for the longer one each time, a guess only where it is taken.
 *
 * First the sides are gone through, and what they compute is listed, in steps, each with a name of its own;
 * nothing is built before it is sure that all of it can be.
 */
#include "flow_private.h"

#include "pass.h"

#include <stdlib.h>

enum {
    MOST_STEPS = 24,
    MOST_NAMES = 6 /* assigned in an IF */,
    MOST_COST = 16,
    MOST_LETS = 100,
    MOST_LOADS = 8,
    MOST_LONGER =
        3 /* cycles of a chain; a wrong guess costs about 20, every other one of which may be wrong */,
    DEEPEST = 4
};

/* What variables are at a place, and what has been stored there. */
struct state {
    struct {
        const struct ir_symbol *variable;
        struct ir_expr *value;
    } items[MOST_NAMES];
    int count;
    const struct ir_access *store; /* NULL: nothing */
    struct ir_expr *stored;
};

struct step {
    struct ir_symbol *name;
    struct ir_expr *value;
    int chain;                       /* chain_of the value */
    const struct ir_symbol *last_of; /* the variable that this is in the end; NULL: none */
};

struct choice {
    struct flow_builder *builder;
    struct step steps[MOST_STEPS];
    int count, cost;
    const struct ir_access *loads[MOST_LOADS]; /* that are done in any case */
    int sure;
    int nesting;  /* of statements in each other */
    int store_at; /* steps before the store */
    bool refused;
};

/* ---- expressions ------------------------------------------------------------------------------------ */

static void refuse(struct choice *choice)
{
    choice->refused = true;
}

static struct ir_expr *use_of(struct choice *choice, const struct ir_symbol *symbol)
{
    struct ir_expr *expr = arena_new(choice->builder->arena, struct ir_expr);
    expr->kind = IR_SYMBOL;
    expr->dtype = symbol->dtype;
    expr->symbol = (struct ir_symbol *)symbol;
    return expr;
}

enum { NO_CHAIN = -1 };

static int cycles_of(const struct ir_expr *expr)
{
    if (expr->kind == IR_LOAD)
        return 5;
    switch (expr->operation) {
    case OP_MUL:
        return 3;
    case OP_FLOORDIV:
    case OP_MOD:
        return 6;
    default:
        return 1;
    }
}

/* How many cycles a value comes behind what the innermost loop's last iteration made of its variables. */
static int chain_of(const struct choice *choice, const struct ir_expr *expr)
{
    const struct flow_builder *builder = choice->builder;
    int longest = NO_CHAIN;
    for (int k = choice->count; expr->kind == IR_SYMBOL && k-- > 0;)
        if (choice->steps[k].name == expr->symbol)
            return choice->steps[k].chain;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_VARIABLE)
        return ir_block_assigns(builder->loops[builder->depth - 1].stmt->body, expr->symbol) ? 0 : NO_CHAIN;
    struct ir_expr *const *from = expr->kind == IR_LOAD ? expr->access.indices : expr->operands;
    int count = expr->kind == IR_LOAD        ? expr->access.buffer->rank
                : expr->kind == IR_OPERATION ? expr->count
                                             : 0;
    for (int k = 0; k < count; k++) {
        int chain = chain_of(choice, from[k]);
        longest = chain > longest ? chain : longest;
    }
    return longest == NO_CHAIN ? NO_CHAIN : longest + cycles_of(expr);
}

static struct ir_expr *step(struct choice *choice, struct ir_symbol *name, struct ir_expr *value)
{
    if (choice->count == MOST_STEPS)
        refuse(choice);
    if (choice->refused) /* then operands may be missing */
        return value;
    if (!name) {
        name = arena_new(choice->builder->arena, struct ir_symbol);
        name->kind = IR_SYMBOL_LET;
        name->dtype = value->dtype;
    }
    choice->steps[choice->count++] =
        (struct step){.name = name, .value = value, .chain = chain_of(choice, value)};
    return use_of(choice, name);
}

/* What costs nothing needs no name. */
static struct ir_expr *named(struct choice *choice, struct ir_expr *value)
{
    bool is_free = value->kind == IR_SYMBOL || value->kind == IR_INTEGER || value->kind == IR_REAL;
    return is_free ? value : step(choice, NULL, value);
}

static struct ir_expr *value_of(struct choice *choice, const struct state *state,
                                const struct ir_symbol *symbol)
{
    for (int k = 0; k < state->count; k++)
        if (state->items[k].variable == symbol)
            return state->items[k].value;
    return use_of(choice, symbol);
}

static struct ir_expr *copied(struct choice *choice, const struct state *state, const struct ir_expr *expr);

static struct ir_expr **copied_all(struct choice *choice, const struct state *state,
                                   struct ir_expr *const *items, int count)
{
    struct ir_expr **copies = arena_array(choice->builder->arena, struct ir_expr *, count + 1);
    for (int k = 0; k < count && !choice->refused; k++)
        copies[k] = copied(choice, state, items[k]);
    return copies;
}

static bool is_tested(const struct choice *choice, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT && !choice->builder->options->trust_indices)
            return true;
    return false;
}

static const struct ir_stmt *loop_of(const struct choice *choice, const struct ir_symbol *symbol)
{
    for (int k = 0; k < choice->builder->depth; k++)
        if (choice->builder->loops[k].stmt->symbol == symbol)
            return choice->builder->loops[k].stmt;
    return NULL;
}

/* Whether the index is on the axis by the bounds of a loop alone, or by numbers. */
static bool is_on_axis(const struct choice *choice, const struct ir_expr *index, const struct ir_expr *extent)
{
    struct pass_affine place, low, high, length;
    if (!pass_affine_of(index, &place) || !pass_affine_of(extent, &length))
        return false;
    if (!place.count)
        return !length.count && place.constant >= 0 && place.constant < length.constant;
    const struct ir_stmt *loop = loop_of(choice, place.terms[0].symbol);
    enum { FAR = 1 << 20 };
    return place.count == 1 && place.terms[0].coefficient == 1 && place.constant > -FAR &&
           place.constant < FAR && loop && loop->kind == IR_FOR && loop->step > 0 &&
           pass_affine_of(loop->low, &low) && !low.count && low.constant >= -place.constant &&
           pass_affine_of(loop->high, &high) && pass_affine_add(&high, -1, &length) && !high.count &&
           high.constant <= -place.constant;
}

static bool is_as_before(struct ir_expr *expr, void *context)
{
    const struct state *state = context;
    for (int k = 0; expr->kind == IR_SYMBOL && k < state->count; k++)
        if (state->items[k].variable == expr->symbol)
            return false;
    return true;
}

/* Whether an element is there whatever the conditions are, which may be why its index is not tested: the
 * bounds of loops say so, or it is loaded anyway, before what its index is made of is assigned. */
static bool is_there(const struct choice *choice, const struct state *state, const struct ir_access *access)
{
    bool inside = true, same = true;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        inside = inside && is_on_axis(choice, access->indices[axis], access->buffer->shape[axis]);
        same = same && ir_expr_walk(access->indices[axis], is_as_before, (void *)state);
    }
    for (int k = 0; same && k < choice->sure; k++)
        if (ir_access_equal(choice->loads[k], access))
            return true;
    return inside;
}

/* What an expression loads whatever comes of it. */
static void note_loads(struct choice *choice, struct ir_expr *expr)
{
    bool is_lazy = expr->kind == IR_OPERATION &&
                   (expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT);
    if (expr->kind == IR_LOAD && choice->sure < MOST_LOADS)
        choice->loads[choice->sure++] = &expr->access;
    for (int k = 0; expr->kind == IR_OPERATION && k < (is_lazy ? 1 : expr->count); k++)
        note_loads(choice, expr->operands[k]);
}

static bool may_compute(const struct ir_expr *expr)
{
    enum operation_rule rule = operation_table[expr->operation].rule;
    return !expr->checked && expr->operation != OP_TRUEDIV && expr->operation != OP_SQRT &&
           (rule == RULE_COMPARE || rule == RULE_LOGICAL || flow_is_inline(expr));
}

/* The expression with variables as they are there; refuses what may stop the kernel, or costs much. AND and
 * OR are of bits: to look at both sides is cheaper than to decide. */
static struct ir_expr *copied(struct choice *choice, const struct state *state, const struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL)
        return value_of(choice, state, expr->symbol);
    struct ir_expr *copy = arena_new(choice->builder->arena, struct ir_expr);
    *copy = *expr;
    if (expr->kind != IR_LOAD && expr->kind != IR_OPERATION)
        return copy;
    if (++choice->cost > MOST_COST) {
        refuse(choice);
        return copy;
    }
    if (expr->kind == IR_LOAD) {
        const struct ir_buffer *buffer = expr->access.buffer;
        if (is_tested(choice, &expr->access) || !is_there(choice, state, &expr->access) ||
            (state->store && state->store->buffer == buffer))
            refuse(choice);
        copy->access.indices = copied_all(choice, state, expr->access.indices, buffer->rank);
    } else {
        if (!may_compute(expr))
            refuse(choice);
        copy->operation = expr->operation == OP_AND  ? OP_BITAND
                          : expr->operation == OP_OR ? OP_BITOR
                                                     : expr->operation;
        copy->operands = copied_all(choice, state, expr->operands, expr->count);
    }
    return copy;
}

static bool is_same(const struct ir_expr *a, const struct ir_expr *b)
{
    return a == b || ir_expr_equal(a, b);
}

static struct ir_expr *selection(struct choice *choice, struct ir_expr *condition, struct ir_expr *yes,
                                 struct ir_expr *no)
{
    if (is_same(yes, no) || choice->refused)
        return yes;
    int chain = chain_of(choice, yes), other = chain_of(choice, no);
    if (dtype_is_float(yes->dtype) ||
        (chain != NO_CHAIN && other != NO_CHAIN && abs(chain - other) > MOST_LONGER))
        refuse(choice);
    struct ir_expr *expr = arena_new(choice->builder->arena, struct ir_expr);
    expr->kind = IR_OPERATION;
    expr->operation = OP_SELECT;
    expr->dtype = yes->dtype;
    expr->count = 3;
    expr->operands = arena_array(choice->builder->arena, struct ir_expr *, 3);
    expr->operands[0] = condition;
    expr->operands[1] = yes;
    expr->operands[2] = no;
    return step(choice, NULL, expr);
}

/* ---- what conditions wait for ------------------------------------------------------------------------- */

struct waiting {
    const struct ir_stmt *loop;
    int left; /* names that are looked into */
    bool hangs, on_floats;
};

static bool note_waiting(struct ir_expr *expr, void *context)
{
    struct waiting *waiting = context;
    waiting->on_floats |= dtype_is_float(expr->dtype);
    if (expr->kind != IR_SYMBOL)
        return true;
    if (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return --waiting->left >= 0 && ir_expr_walk(expr->symbol->value, note_waiting, context);
    waiting->hangs |=
        expr->symbol->kind == IR_SYMBOL_VARIABLE && ir_block_assigns(waiting->loop->body, expr->symbol);
    return true;
}

static bool hangs(struct waiting *waiting, struct ir_expr *expr)
{
    waiting->hangs = false;
    return !ir_expr_walk(expr, note_waiting, waiting) || waiting->hangs;
}

static bool loads_wait(struct ir_expr *expr, void *context)
{
    struct waiting *waiting = context;
    bool waits = false;
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return --waiting->left >= 0 && ir_expr_walk(expr->symbol->value, loads_wait, context);
    for (int axis = 0; expr->kind == IR_LOAD && axis < expr->access.buffer->rank; axis++)
        waits = waits || hangs(waiting, expr->access.indices[axis]);
    return !waits;
}

/* ---- what conditions are made of ---------------------------------------------------------------------- */

enum { MOST_SOURCES = 32 };

/* Variables that a condition is made of, in this iteration and in those before. */
struct sources {
    const struct ir_symbol *items[MOST_SOURCES];
    int count, left;
    const struct ir_stmt *choice; /* the IF that would be one */
    bool unknown;
};

static bool is_source(const struct sources *sources, const struct ir_symbol *symbol)
{
    for (int k = 0; k < sources->count; k++)
        if (sources->items[k] == symbol)
            return true;
    return false;
}

static bool note_source(struct ir_expr *expr, void *context)
{
    struct sources *sources = context;
    if (expr->kind == IR_LOAD && ir_block_stores_to(sources->choice->body, expr->access.buffer))
        sources->unknown = true;
    if (expr->kind == IR_LOAD && ir_block_stores_to(sources->choice->otherwise, expr->access.buffer))
        sources->unknown = true;
    if (expr->kind != IR_SYMBOL)
        return true;
    if (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value && --sources->left >= 0)
        return ir_expr_walk(expr->symbol->value, note_source, context);
    if (expr->symbol->kind != IR_SYMBOL_VARIABLE || is_source(sources, expr->symbol))
        return true;
    if (sources->count == MOST_SOURCES || sources->left < 0)
        sources->unknown = true;
    else
        sources->items[sources->count++] = expr->symbol;
    return true;
}

static bool assigns_source(struct ir_stmt *stmt, void *context)
{
    return stmt->kind != IR_ASSIGN || !is_source(context, stmt->symbol);
}

/* Whatever the block makes them of, and what decides about it. */
static void note_sources(struct sources *sources, struct ir_stmt *first)
{
    for (struct ir_stmt *stmt = first; stmt && !sources->unknown; stmt = stmt->next) {
        bool feeds = !ir_block_walk(stmt->body, assigns_source, sources) ||
                     !ir_block_walk(stmt->otherwise, assigns_source, sources);
        if (stmt->value && (stmt->kind == IR_ASSIGN ? is_source(sources, stmt->symbol) : feeds))
            ir_expr_walk(stmt->value, note_source, sources);
        sources->unknown |= feeds && stmt->kind != IR_IF;
        note_sources(sources, stmt->body);
        note_sources(sources, stmt->otherwise);
    }
}

/* Whether what the IF assigns or stores comes to decide about it in a later iteration: else nobody waits for
 * the choice but the next one of the same variable, whatever the condition waits for. */
static bool comes_back(const struct choice *choice, const struct ir_stmt *stmt)
{
    struct ir_stmt *body = choice->builder->loops[choice->builder->depth - 1].stmt->body;
    struct sources sources = {.choice = stmt, .left = MOST_LETS};
    int before = -1;
    ir_expr_walk(stmt->value, note_source, &sources);
    while (before < sources.count && !sources.unknown) {
        before = sources.count;
        note_sources(&sources, body);
    }
    return sources.unknown || !ir_block_walk(stmt->body, assigns_source, &sources) ||
           !ir_block_walk(stmt->otherwise, assigns_source, &sources);
}

/* Whether a choice by the condition is ready about as soon as a guess would be, or as it is needed. */
static bool is_ready(const struct choice *choice, const struct ir_stmt *stmt)
{
    const struct flow_builder *builder = choice->builder;
    struct waiting waiting = {.loop = builder->loops[builder->depth - 1].stmt, .left = MOST_LETS};
    struct ir_expr *condition = stmt->value;
    if (!hangs(&waiting, condition) || !comes_back(choice, stmt))
        return true;
    return !waiting.on_floats && ir_expr_walk(condition, loads_wait, &waiting);
}

/* Whether the IF keeps the greatest or the least so far, and several others with it: `if v > top { top = v;
 * row = i; column = j }`. That comes seldom and is guessed right, while a choice moves all of them each time.
 */
static bool keeps_with_others(const struct ir_stmt *stmt)
{
    enum { SEVERAL = 3 };
    const struct ir_expr *condition = stmt->value;
    int count = 0;
    bool keeps = false;
    if (condition->kind != IR_OPERATION || operation_table[condition->operation].rule != RULE_COMPARE ||
        condition->operation == OP_EQ || condition->operation == OP_NE || stmt->otherwise)
        return false;
    for (const struct ir_stmt *inside = stmt->body; inside; inside = inside->next, count++) {
        if (inside->kind != IR_ASSIGN)
            return false;
        for (int k = 0; k < 2; k++)
            keeps |= ir_is_use_of(condition->operands[k], inside->symbol) &&
                     ir_expr_equal(condition->operands[1 - k], inside->value);
    }
    return keeps && count >= SEVERAL;
}

/* ---- statements --------------------------------------------------------------------------------------- */

static void take_block(struct choice *choice, struct state *state, const struct ir_stmt *first);

static void assign(struct choice *choice, struct state *state, const struct ir_symbol *variable,
                   struct ir_expr *value)
{
    int k = 0;
    while (k < state->count && state->items[k].variable != variable)
        k++;
    if (k == MOST_NAMES || dtype_is_float(variable->dtype)) {
        refuse(choice);
        return;
    }
    state->items[k].variable = variable;
    state->items[k].value = value;
    state->count += k == state->count;
}

static bool has(const struct state *state, const struct ir_symbol *variable)
{
    for (int k = 0; k < state->count; k++)
        if (state->items[k].variable == variable)
            return true;
    return false;
}

/* How many values differ behind the two sides. */
static int count_differences(struct choice *choice, const struct state *yes, const struct state *no)
{
    int count = 0;
    for (int k = 0; k < yes->count; k++)
        count += !is_same(yes->items[k].value, value_of(choice, no, yes->items[k].variable));
    for (int k = 0; k < no->count; k++)
        count += !has(yes, no->items[k].variable);
    return count;
}

static void merge_stores(struct choice *choice, struct state *state, struct ir_expr *condition,
                         const struct state *yes, const struct state *no)
{
    if (!yes->store && !no->store)
        return;
    if (!yes->store || !no->store || yes->store->buffer != no->store->buffer || state->store) {
        refuse(choice);
        return;
    }
    struct ir_access *access = arena_new(choice->builder->arena, struct ir_access);
    int rank = yes->store->buffer->rank;
    *access = *yes->store;
    access->indices = arena_array(choice->builder->arena, struct ir_expr *, rank + 1);
    for (int axis = 0; axis < rank; axis++)
        access->indices[axis] =
            selection(choice, condition, yes->store->indices[axis], no->store->indices[axis]);
    state->store = access;
    state->stored = selection(choice, condition, yes->stored, no->stored);
    choice->store_at = choice->count;
}

/* An operation of two operands with names, or with that one as the first. */
static struct ir_expr *with_named(struct choice *choice, const struct ir_expr *expr, struct ir_expr *first)
{
    struct ir_expr *copy = arena_new(choice->builder->arena, struct ir_expr);
    *copy = *expr;
    copy->operands = arena_array(choice->builder->arena, struct ir_expr *, 2);
    for (int k = 0; k < 2; k++)
        copy->operands[k] = k == 0 && first ? first : named(choice, expr->operands[k]);
    return copy;
}

/* A condition for several choices: each compares again, what has been loaded and computed. */
static struct ir_expr *asked_again(struct choice *choice, struct ir_expr *condition)
{
    if (condition->kind != IR_OPERATION || operation_table[condition->operation].rule != RULE_COMPARE)
        return step(choice, NULL, condition);
    if (flow_asks_bits(condition))
        return with_named(choice, condition, with_named(choice, condition->operands[0], NULL));
    return with_named(choice, condition, NULL);
}

static void merge(struct choice *choice, struct state *state, struct ir_expr *condition,
                  const struct state *yes, const struct state *no)
{
    if (yes->store || count_differences(choice, yes, no) > 1)
        condition = asked_again(choice, condition);
    merge_stores(choice, state, condition, yes, no);
    for (int side = 0; side < 2 && !choice->refused; side++) {
        const struct state *from = side ? no : yes;
        for (int k = 0; k < from->count && !choice->refused; k++) {
            const struct ir_symbol *variable = from->items[k].variable;
            if (!side || !has(yes, variable))
                assign(choice, state, variable,
                       selection(choice, condition, value_of(choice, yes, variable),
                                 value_of(choice, no, variable)));
        }
    }
}

static void take_if(struct choice *choice, struct state *state, const struct ir_stmt *stmt)
{
    struct state yes = *state, no = *state;
    /* the outermost one is asked for in any case, and may stop the kernel */
    bool is_outer = choice->nesting == 0;
    if (is_outer)
        note_loads(choice, stmt->value);
    bool is_asked =
        stmt->value->kind == IR_LOAD ||
        (stmt->value->kind == IR_OPERATION && operation_table[stmt->value->operation].rule == RULE_COMPARE);
    if (!is_ready(choice, stmt) || keeps_with_others(stmt)) {
        refuse(choice);
        return;
    }
    struct ir_expr *condition = is_outer && is_asked ? stmt->value : copied(choice, state, stmt->value);
    take_block(choice, &yes, stmt->body);
    take_block(choice, &no, stmt->otherwise);
    if (!choice->refused)
        merge(choice, state, condition, &yes, &no);
}

static void take_store(struct choice *choice, struct state *state, const struct ir_stmt *stmt)
{
    if (state->store || is_tested(choice, &stmt->access)) {
        refuse(choice);
        return;
    }
    struct ir_access *access = arena_new(choice->builder->arena, struct ir_access);
    *access = stmt->access;
    access->indices = copied_all(choice, state, stmt->access.indices, stmt->access.buffer->rank);
    state->stored = copied(choice, state, stmt->value);
    state->store = access;
}

static void take_block(struct choice *choice, struct state *state, const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt && !choice->refused; stmt = stmt->next)
        switch (stmt->kind) {
        case IR_ASSIGN:
            assign(choice, state, stmt->symbol, named(choice, copied(choice, state, stmt->value)));
            break;
        case IR_LET:
            step(choice, stmt->symbol, copied(choice, state, stmt->value));
            break;
        case IR_STORE:
            take_store(choice, state, stmt);
            break;
        case IR_IF:
            if (++choice->nesting > DEEPEST)
                refuse(choice);
            else
                take_if(choice, state, stmt);
            choice->nesting--;
            break;
        default:
            refuse(choice);
        }
}

/* ---- all ------------------------------------------------------------------------------------------------
 */

struct mention {
    const struct ir_symbol *symbol;
};

static bool mentions_not(struct ir_expr *expr, void *context)
{
    const struct mention *mention = context;
    return expr->kind != IR_SYMBOL || expr->symbol != mention->symbol;
}

/* Whether something behind the step reads what the variable was. */
static bool is_read_behind(const struct choice *choice, const struct state *state, int step,
                           const struct ir_symbol *variable)
{
    struct mention mention = {variable};
    bool read = false;
    for (int k = step + 1; k < choice->count; k++)
        read = read || !ir_expr_walk(choice->steps[k].value, mentions_not, &mention);
    if (!state->store || choice->store_at <= step)
        return read;
    for (int axis = 0; axis < state->store->buffer->rank; axis++)
        read = read || !ir_expr_walk(state->store->indices[axis], mentions_not, &mention);
    return read || !ir_expr_walk(state->stored, mentions_not, &mention);
}

/* Steps that are the last of a variable, and may be computed where it stands. */
static void find_last(struct choice *choice, struct state *state)
{
    for (int k = 0; k < state->count; k++) {
        struct ir_expr *value = state->items[k].value;
        for (int at = 0; at < choice->count; at++) {
            struct step *step = &choice->steps[at];
            if (value->kind == IR_SYMBOL && value->symbol == step->name && !step->last_of &&
                !is_read_behind(choice, state, at, state->items[k].variable)) {
                step->last_of = state->items[k].variable;
                state->items[k].value = NULL; /* it is there by then */
                break;
            }
        }
    }
}

static void build_step(struct flow_builder *builder, const struct step *step)
{
    int depth, value;
    if (step->last_of) {
        flow_assign_symbol(builder, step->last_of, step->value);
        value = flow_symbol(builder, step->last_of, &depth);
    } else {
        value = flow_kept(builder, flow_expression(builder, step->value));
    }
    flow_declare(builder, step->name, value, builder->depth);
}

static void build(struct choice *choice, const struct state *state)
{
    struct flow_builder *builder = choice->builder;
    for (int k = 0; k <= choice->count && !builder->refused; k++) {
        if (state->store && choice->store_at == k) {
            struct x86_memory memory = flow_element(builder, state->store);
            flow_store(builder, state->store, memory, flow_expression(builder, state->stored));
        }
        if (k < choice->count)
            build_step(builder, &choice->steps[k]);
    }
    for (int k = 0; k < state->count; k++)
        if (state->items[k].value)
            flow_assign_symbol(builder, state->items[k].variable, state->items[k].value);
}

bool flow_choose(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    struct choice choice = {.builder = builder};
    struct state state = {.count = 0};
    if (!builder->depth)
        return false;
    take_if(&choice, &state, stmt);
    /* several that change places */
    for (int k = 0; k < state.count && !choice.refused; k++)
        if (state.items[k].value->kind == IR_SYMBOL &&
            state.items[k].value->symbol->kind == IR_SYMBOL_VARIABLE)
            state.items[k].value = step(&choice, NULL, state.items[k].value);
    if (choice.refused || (!state.count && !state.store))
        return false;
    find_last(&choice, &state);
    build(&choice, &state);
    return true;
}

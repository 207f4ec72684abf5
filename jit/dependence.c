/*
 * dependence.c: collecting accesses and scalars, and the verdict on each loop. See dependence.h; pairs of
 * accesses are compared in dependence_pair.c.
 */
#include "dependence_private.h"

#include <string.h>

enum {
    ACCESSES = 4000, /* of one kernel; loops that hold more are incomplete */
    PAIRS = 40000,   /* compared in one kernel */
    FACTS = 72,      /* kept of one place, the innermost ones */
    SCOPES = 64      /* loops around an access that is looked at */
};

/* ---- reductions ---------------------------------------------------------- */

/* What a statement accumulates into: x of x = x + y. */
struct target {
    const struct ir_stmt *stmt;
    int mentions;
};

static bool is_target(const struct ir_stmt *stmt, const struct ir_expr *expr)
{
    if (stmt->kind == IR_ASSIGN)
        return expr->kind == IR_SYMBOL && expr->symbol == stmt->symbol;
    if (expr->kind != IR_LOAD || expr->access.buffer != stmt->access.buffer)
        return false;
    for (int k = 0; k < expr->access.buffer->rank; k++)
        if (!ir_expr_equal(expr->access.indices[k], stmt->access.indices[k]))
            return false;
    return true;
}

static bool count_mention(struct ir_expr *expr, void *target_pointer)
{
    struct target *target = target_pointer;

    target->mentions += is_target(target->stmt, expr);
    return true;
}

/* The target among the terms of a sum, or factors of a product, ...; NULL when it is none of them. */
static const struct ir_expr *find_operand(const struct ir_stmt *stmt, const struct ir_expr *expr,
                                          enum operation operation)
{
    const struct ir_expr *found;

    while (expr->kind == IR_OPERATION &&
           (expr->operation == operation || (operation == OP_ADD && expr->operation == OP_SUB))) {
        /* chains lean to the left; what is subtracted is no accumulation */
        const struct ir_expr *right = expr->operands[1];
        if (expr->operation == operation && is_target(stmt, right))
            return right;
        expr = expr->operands[0];
    }
    found = is_target(stmt, expr) ? expr : NULL;
    return found;
}

static enum operation reduction_operation(const struct ir_stmt *stmt, const struct ir_expr **operand)
{
    const struct ir_expr *value = stmt->value;

    *operand = NULL;
    if (value->kind != IR_OPERATION)
        return OPERATION_COUNT;
    switch (value->operation) {
    case OP_FMA:
        *operand = is_target(stmt, value->operands[2]) ? value->operands[2] : NULL;
        return OP_ADD;
    case OP_ADD:
    case OP_SUB:
        *operand = find_operand(stmt, value, OP_ADD);
        return OP_ADD;
    case OP_MUL:
    case OP_MIN:
    case OP_MAX:
    case OP_BITAND:
    case OP_BITOR:
    case OP_BITXOR:
        *operand = find_operand(stmt, value, value->operation);
        return value->operation;
    default:
        return OPERATION_COUNT;
    }
}

/* OPERATION_COUNT when the statement is no reduction. `operand`: the use of the target in it. */
static enum operation reduction_of(struct dependence_builder *builder, struct ir_stmt *stmt,
                                   const struct ir_expr **operand)
{
    if (builder->reduction_stmt != stmt) {
        struct target target = {stmt, 0};
        builder->reduction_stmt = stmt;
        builder->reduction = OPERATION_COUNT;
        if (stmt->kind == IR_STORE || stmt->kind == IR_ASSIGN)
            builder->reduction = reduction_operation(stmt, &builder->reduction_operand);
        if (builder->reduction != OPERATION_COUNT && builder->reduction_operand)
            ir_stmt_expressions(stmt, count_mention, &target);
        if (target.mentions != 1)
            builder->reduction = OPERATION_COUNT;
    }
    *operand = builder->reduction_operand;
    return builder->reduction;
}

/* ---- places -------------------------------------------------------------- */

static bool scopes_are_plain(const struct context *context)
{
    for (int k = 0; k < context->loops.count; k++) {
        const struct context_loop *loop = &context->loops.items[k];
        if (loop->atom < 0 || loop->leaves || loop->skipped)
            return false;
    }
    return true;
}

static bool conditions_are_plain(const struct context *context)
{
    for (int k = 0; k < context->conditions.count; k++)
        if (!context->conditions.items[k].exact)
            return false;
    return true;
}

static void copy_scopes(struct dependence_builder *builder, struct dependence_place *place)
{
    const struct context *context = builder->context;
    struct dependence_scope *scopes;

    place->depth = builder->active.count < SCOPES ? builder->active.count : SCOPES;
    scopes = arena_array(context->arena, struct dependence_scope, place->depth);
    for (int k = 0; k < place->depth; k++) {
        const struct context_loop *loop = &context->loops.items[k];
        scopes[k] = (struct dependence_scope){.loop = builder->active.items[k],
                                              .atom = loop->atom,
                                              .first_atom = loop->first_atom,
                                              .conditions = loop->conditions,
                                              .down = loop->stmt->kind == IR_FOR && loop->stmt->step == -1};
    }
    place->scopes = scopes;
}

static struct dependence_place *place_new(struct dependence_builder *builder)
{
    struct context *context = builder->context;
    struct dependence_place *place = arena_new(context->arena, struct dependence_place);
    int all = context->prover.facts.count;

    place->place = context->place;
    place->all = all;
    place->whole = scopes_are_plain(context) && conditions_are_plain(context) && all <= FACTS;
    place->count = all < FACTS ? all : FACTS;
    place->facts = arena_array(context->arena, struct linear, place->count);
    for (int k = 0; k < place->count; k++)
        place->facts[k] = context->prover.facts.items[all - place->count + k].form;
    place->condition_count = context->conditions.count;
    place->conditions = arena_array(context->arena, struct context_condition, place->condition_count);
    if (place->condition_count)
        memcpy(place->conditions, context->conditions.items,
               sizeof *place->conditions * (size_t)place->condition_count);
    copy_scopes(builder, place);
    return place;
}

static struct dependence_place *place_here(struct dependence_builder *builder)
{
    const struct context *context = builder->context;

    if (!builder->place || builder->place->place != context->place ||
        builder->place->all != context->prover.facts.count)
        builder->place = place_new(builder);
    return builder->place;
}

/* ---- accesses ------------------------------------------------------------ */

static void mark_incomplete(struct dependence_builder *builder)
{
    for (int k = 0; k < builder->active.count; k++)
        builder->result->loops.items[builder->active.items[k]].incomplete = true;
}

static struct span span_of(const struct context *context, struct span span)
{
    return span.line ? span : context->stmt->span;
}

static void visit_access(struct context *context, struct ir_access *access, struct ir_expr *load)
{
    struct dependence_builder *builder = context->client;
    struct dependences *result = builder->result;
    int rank = access->buffer->rank;

    if (!builder->active.count || access->buffer->role == IR_INPUT)
        return;
    if (result->accesses.count >= ACCESSES) {
        mark_incomplete(builder);
        return;
    }
    struct dependence_use use = {.number = result->accesses.count,
                                 .allocated = builder->allocated[access->buffer->index],
                                 .place = place_here(builder)};
    use.indices = arena_array(context->arena, struct linear, rank);
    use.extents = arena_array(context->arena, struct linear, rank);
    for (int k = 0; k < rank; k++) {
        /* a form that is proved to lie inside is the value */
        if (access->checks[k] == IR_CHECK_ELEMENT)
            context_value(context, access->indices[k], &use.indices[k]);
        else
            context_form(context, access->indices[k], &use.indices[k]);
        context_form(context, access->buffer->shape[k], &use.extents[k]);
    }
    list_push(context->arena, &builder->uses, use);

    const struct ir_expr *operand;
    enum operation reduction = reduction_of(builder, context->stmt, &operand);
    bool accumulates =
        context->stmt->kind == IR_STORE && (load ? load == operand : access == &context->stmt->access);
    struct dependence_access row = {.access = access,
                                    .load = load,
                                    .stmt = context->stmt,
                                    .span = span_of(context, load ? load->span : context->stmt->span),
                                    .loop = builder->active.items[builder->active.count - 1],
                                    .reduction = accumulates ? reduction : OPERATION_COUNT};
    list_push(context->kernel->arena, &result->accesses, row);
}

static void visit_allocate(struct context *context, struct ir_stmt *stmt)
{
    struct dependence_builder *builder = context->client;
    builder->allocated[stmt->access.buffer->index] = context->loops.count;
}

/* ---- scalars ------------------------------------------------------------- */

static unsigned entry_hash(const struct ir_symbol *symbol, int loop)
{
    uint64_t product = ((uint64_t)(uintptr_t)symbol ^ (uint64_t)(unsigned)loop << 40) * 0x9e3779b97f4a7c15u;
    return (unsigned)(product >> 32);
}

static void entry_insert(struct dependence_builder *builder, int number)
{
    const struct dependence_scalar_entry *entry = &builder->entries.items[number];
    unsigned slot = entry_hash(entry->symbol, entry->loop), mask = (unsigned)builder->slot_count - 1;

    while (builder->slots[slot & mask])
        slot++;
    builder->slots[slot & mask] = number + 1;
}

/* The entry of a scalar in a loop; `fresh` when it had none. */
static struct dependence_scalar_entry *entry_of(struct dependence_builder *builder, struct ir_symbol *symbol,
                                                int loop, bool *fresh)
{
    struct arena *arena = builder->context->arena;

    *fresh = false;
    if (builder->entries.count * 2 >= builder->slot_count) {
        builder->slot_count = builder->slot_count ? builder->slot_count * 2 : 64;
        builder->slots = arena_array(arena, int, builder->slot_count);
        for (int k = 0; k < builder->entries.count; k++)
            entry_insert(builder, k);
    }
    unsigned slot = entry_hash(symbol, loop), mask = (unsigned)builder->slot_count - 1;
    for (; builder->slots[slot & mask]; slot++) {
        struct dependence_scalar_entry *entry = &builder->entries.items[builder->slots[slot & mask] - 1];
        if (entry->symbol == symbol && entry->loop == loop)
            return entry;
    }
    *fresh = true;
    struct dependence_scalar_entry entry = {.symbol = symbol, .loop = loop};
    list_push(arena, &builder->entries, entry);
    builder->slots[slot & mask] = builder->entries.count;
    return &builder->entries.items[builder->entries.count - 1];
}

/* The loop at which the way back of a use to the values that it may see ends: it, or what is declared or set
 * first in it, gives the value. -1: there is none. */
static int loop_of_value(struct dependence_builder *builder, struct ir_symbol *symbol)
{
    for (int k = builder->active.count - 1; k >= 0; k--) {
        bool fresh;
        struct dependence_scalar_entry *entry = entry_of(builder, symbol, builder->active.items[k], &fresh);
        if (entry->local || entry->set_first)
            return builder->active.items[k];
        entry->seen = true;
    }
    return -1;
}

static bool is_active(const struct dependence_builder *builder, int loop)
{
    for (int k = builder->active.count - 1; k >= 0; k--)
        if (builder->active.items[k] == loop)
            return true;
    return false;
}

/* A use: loops inside that one that have ended may have left the value. Each entry is marked, and taken out
 * of the chain, once. */
static void mark_kept(struct dependence_builder *builder, struct ir_symbol *symbol)
{
    int from = loop_of_value(builder, symbol);
    bool fresh;
    int *link = &entry_of(builder, symbol, NO_LOOP, &fresh)->before;

    while (*link > 0) {
        struct dependence_scalar_entry *entry = &builder->entries.items[*link - 1];
        if (entry->loop <= from)
            return;
        if (is_active(builder, entry->loop)) {
            link = &entry->before;
            continue;
        }
        entry->kept = true;
        *link = entry->before;
    }
}

/* A new entry of a loop is put before the others of its scalar. */
static void chain_entry(struct dependence_builder *builder, struct ir_symbol *symbol, int loop)
{
    bool fresh;
    entry_of(builder, symbol, NO_LOOP, &fresh); /* now it is there, and the list stays where it is */
    struct dependence_scalar_entry *head = entry_of(builder, symbol, NO_LOOP, &fresh);
    struct dependence_scalar_entry *entry = entry_of(builder, symbol, loop, &fresh);

    entry->before = head->before;
    head->before = (int)(entry - builder->entries.items) + 1;
}

static void visit_scalar(struct context *context, struct ir_symbol *symbol, struct span span, bool assigned)
{
    struct dependence_builder *builder = context->client;
    bool declared = context->stmt->kind == IR_VARIABLE && context->stmt->symbol == symbol;
    const struct ir_expr *operand;
    enum operation reduction = OPERATION_COUNT;

    if (context->stmt->kind == IR_ASSIGN && context->stmt->symbol == symbol)
        reduction = reduction_of(builder, context->stmt, &operand);
    for (int k = 0; k < builder->active.count; k++) {
        const struct context_loop *loop = &context->loops.items[k];
        bool fresh, innermost = k == builder->active.count - 1;
        struct dependence_scalar_entry *entry = entry_of(builder, symbol, builder->active.items[k], &fresh);
        if (!fresh && entry->local)
            continue;
        if (fresh) {
            chain_entry(builder, symbol, builder->active.items[k]);
            bool again;
            entry = entry_of(builder, symbol, builder->active.items[k], &again);
            entry->local = declared;
            entry->set_first =
                assigned && innermost && !loop->skipped && context->conditions.count == loop->conditions;
            entry->reduction = reduction;
            entry->accumulates = reduction != OPERATION_COUNT;
        }
        entry->accumulates &= entry->reduction == reduction;
        if (assigned && !entry->assigned) {
            entry->assigned = true;
            entry->span = span_of(context, span);
        }
    }
    if (!assigned)
        mark_kept(builder, symbol);
}

/* Of a scalar that each iteration of the loop sets before it uses it: whether somebody uses what the last one
 * left, behind the loop or on the next round of one around it. */
static bool is_final(struct dependence_builder *builder, const struct dependence_scalar_entry *entry)
{
    const struct dependences *result = builder->result;
    bool final = entry->kept;

    for (int loop = result->loops.items[entry->loop].parent; loop >= 0 && !final;
         loop = result->loops.items[loop].parent) {
        bool fresh;
        const struct dependence_scalar_entry *around = entry_of(builder, entry->symbol, loop, &fresh);
        if (around->local || around->set_first)
            break;
        final = around->seen;
    }
    return final;
}

static void report_scalars(struct dependence_builder *builder)
{
    struct dependences *result = builder->result;

    for (int k = 0; k < builder->entries.count; k++) {
        const struct dependence_scalar_entry *entry = &builder->entries.items[k];
        if (entry->local || !entry->assigned)
            continue;
        struct dependence_scalar scalar = {
            .symbol = entry->symbol,
            .loop = entry->loop,
            .use = entry->set_first     ? is_final(builder, entry) ? DEPENDENCE_FINAL : DEPENDENCE_PRIVATE
                   : entry->accumulates ? DEPENDENCE_REDUCTION
                                        : DEPENDENCE_CARRIED,
            .reduction = entry->reduction,
            .span = entry->span};
        struct dependence_loop *loop = &result->loops.items[entry->loop];
        if ((scalar.use == DEPENDENCE_CARRIED || scalar.use == DEPENDENCE_FINAL) && loop->scalar < 0)
            loop->scalar = result->scalars.count;
        if (scalar.use == DEPENDENCE_REDUCTION)
            loop->accumulates = true;
        list_push(result->kernel->arena, &result->scalars, scalar);
    }
}

/* ---- loops --------------------------------------------------------------- */

static void visit_loop(struct context *context, struct ir_stmt *stmt, enum context_event event)
{
    struct dependence_builder *builder = context->client;
    struct dependences *result = builder->result;

    if (event == CONTEXT_END) {
        builder->active.count--;
        return;
    }
    struct dependence_loop loop = {
        .stmt = stmt,
        .parent = builder->active.count ? builder->active.items[builder->active.count - 1] : -1,
        .depth = builder->active.count,
        .dependence = -1,
        .reduction = -1,
        .scalar = -1,
        .leaves = stmt->kind == IR_WHILE || context->loops.items[context->loops.count - 1].leaves,
        .incomplete = builder->active.count >= DEPENDENCE_LOOPS};
    list_push(context->arena, &builder->active, result->loops.count);
    list_push(context->kernel->arena, &result->loops, loop);
}

/* The loop that is `depth` loops inside, around (or at) the innermost one given. */
static struct dependence_loop *loop_at(struct dependences *result, int loop, int depth)
{
    while (result->loops.items[loop].depth > depth)
        loop = result->loops.items[loop].parent;
    return &result->loops.items[loop];
}

static void judge_loops(struct dependences *result)
{
    for (int k = 0; k < result->items.count; k++) {
        const struct dependence *item = &result->items.items[k];
        if (item->level == item->depth)
            continue;
        struct dependence_loop *loop =
            loop_at(result, result->accesses.items[item->source].loop, item->level);
        int *reason = item->reduction ? &loop->reduction : &loop->dependence;
        if (*reason < 0 || (item->exact && !result->items.items[*reason].exact))
            *reason = k;
        loop->accumulates |= item->reduction;
    }
    for (int k = 0; k < result->loops.count; k++) {
        struct dependence_loop *loop = &result->loops.items[k];
        bool proved = loop->dependence >= 0 && result->items.items[loop->dependence].exact;
        if (proved || loop->scalar >= 0 || loop->leaves)
            loop->verdict = DEPENDENCE_SERIAL;
        else if (loop->dependence >= 0 || loop->incomplete)
            loop->verdict = DEPENDENCE_UNDECIDED;
        else
            loop->verdict = loop->accumulates ? DEPENDENCE_ACCUMULATES : DEPENDENCE_PARALLEL;
    }
}

/* ---- pairs --------------------------------------------------------------- */

/* Loops that hold the access have not been compared in full. */
static void give_up(struct dependences *result, int access)
{
    for (int loop = result->accesses.items[access].loop; loop >= 0 && !result->loops.items[loop].incomplete;
         loop = result->loops.items[loop].parent)
        result->loops.items[loop].incomplete = true;
}

static void test_pairs(struct dependence_builder *builder)
{
    struct dependences *result = builder->result;
    int count = builder->uses.count, pairs = 0;
    int *earlier = arena_array(builder->context->arena, int, count),
        *last = arena_array(builder->context->arena, int, result->kernel->buffers.count);

    for (int b = 0; b < count; b++) {
        const struct dependence_access *sink = &result->accesses.items[b];
        earlier[b] = last[sink->access->buffer->index] - 1;
        last[sink->access->buffer->index] = b + 1;
        for (int a = b; a >= 0; a = earlier[a]) {
            if (result->accesses.items[a].load && sink->load)
                continue;
            if (++pairs > PAIRS ||
                !dependence_test_pair(builder, &builder->uses.items[a], &builder->uses.items[b])) {
                give_up(result, a);
                give_up(result, b);
                break;
            }
        }
    }
}

/* ---- the analysis -------------------------------------------------------- */

static bool has_assert(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_ASSERT || has_assert(stmt->body) || has_assert(stmt->otherwise))
            return true;
    return false;
}

/* Whether calls may be refused for reasons that are no facts. */
static bool refuses_silently(struct context *context)
{
    const struct ir_kernel *kernel = context->kernel;
    struct context_facts facts;

    for (int k = 0; k < kernel->preconditions.count; k++) {
        const struct ir_precondition *precondition = &kernel->preconditions.items[k];
        for (int part = 0; part < 2; part++) {
            const struct ir_expr *expr = part ? precondition->guard : precondition->condition;
            if (!expr)
                continue;
            context_condition_facts(context, expr, true, &facts);
            if (!facts.exact)
                return true;
        }
    }
    return has_assert(kernel->body);
}

static void begin(struct context *context)
{
    struct dependence_builder *builder = context->client;

    builder->context = context;
    builder->allocated = arena_array(context->arena, int, context->kernel->buffers.count);
    builder->partial = refuses_silently(context);
    for (int k = 0; builder->around && k < builder->around->count; k++)
        context_stand_inside(context, builder->around->loops[k]);
}

static void finish(struct context *context)
{
    struct dependence_builder *builder = context->client;

    builder->name_count = context->space.atoms.count;
    builder->names = arena_array(context->arena, int, builder->name_count);
    builder->carries = arena_array(context->arena, bool, builder->result->loops.count);
    test_pairs(builder);
    report_scalars(builder);
    judge_loops(builder->result);
}

static const struct dependences *analyse(struct ir_kernel *kernel, const struct dependence_around *around,
                                         bool judges)
{
    static const struct context_visitor visitor = {.begin = begin,
                                                   .access = visit_access,
                                                   .loop = visit_loop,
                                                   .scalar = visit_scalar,
                                                   .allocate = visit_allocate,
                                                   .finish = finish};
    struct dependence_builder builder = {
        .result = arena_new(kernel->arena, struct dependences), .around = around, .judges = judges};

    builder.result->kernel = kernel;
    context_run(kernel, &visitor, &builder);
    return builder.result;
}

const struct dependences *dependence_analyse(struct ir_kernel *kernel, const struct dependence_around *around)
{
    return analyse(kernel, around, false);
}

const struct dependences *dependence_judge(struct ir_kernel *kernel, const struct dependence_around *around)
{
    return analyse(kernel, around, true);
}

const struct dependence_loop *dependence_loop_is_parallel(const struct dependences *dependences,
                                                          const struct ir_stmt *loop)
{
    for (int k = 0; k < dependences->loops.count; k++)
        if (dependences->loops.items[k].stmt == loop)
            return &dependences->loops.items[k];
    return NULL;
}

/*
 * hints_witness.c: see hints_witness.h. A bounded evaluator: integers and booleans that follow from the
 * shapes are computed, everything else is unknown, and what hangs on an unknown condition is not executed.
 */
#include "hints_witness.h"

#include "scalar.h"

#include <string.h>

enum { STEPS = 3000, STEPS_WORTH = 8000, USES = 256, USES_WORTH = 1024 };

struct value {
    bool known;
    union dtype_value value;
};

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_STOP };

struct search {
    struct ir_kernel *kernel;
    const struct ir_stmt *loop;
    const struct ir_symbol *scalar; /* looked for instead of elements; or NULL */
    LIST(struct ir_symbol *) bound;
    int steps; /* left */
    bool inside, found;
    int64_t iteration;
    int use_count, most_uses;
    struct witness_use *uses;
    struct witness_use *result;
};

/* ---- values -------------------------------------------------------------- */

static void set(struct search *search, struct ir_symbol *symbol, struct value value)
{
    if (!symbol->note) {
        symbol->note = arena_new(search->kernel->arena, struct value);
        list_push(search->kernel->arena, &search->bound, symbol);
    }
    *(struct value *)symbol->note = value;
}

static struct value known_integer(int64_t integer)
{
    return (struct value){true, {.i = integer}};
}

static struct value evaluate(const struct ir_expr *expr)
{
    struct value operands[3] = {{false, {0}}}, result = {false, {0}};
    union dtype_value values[3];

    if (dtype_is_float(expr->dtype) || expr->kind == IR_LOAD || expr->kind == IR_REAL)
        return result;
    if (expr->kind == IR_INTEGER)
        return known_integer(expr->integer);
    if (expr->kind == IR_SYMBOL)
        return expr->symbol->note ? *(const struct value *)expr->symbol->note : result;
    for (int k = 0; k < expr->count; k++) {
        operands[k] = evaluate(expr->operands[k]);
        values[k] = operands[k].value;
    }
    if (expr->operation == OP_SELECT && operands[0].known)
        return operands[operands[0].value.i ? 1 : 2];
    if ((expr->operation == OP_AND || expr->operation == OP_OR) && operands[0].known &&
        (operands[0].value.i != 0) == (expr->operation == OP_OR))
        return operands[0];
    for (int k = 0; k < expr->count; k++)
        if (!operands[k].known)
            return result;
    result.known = scalar_apply(expr->operation, expr->dtype, expr->operands[expr->count - 1]->dtype, values,
                                &result.value);
    return result;
}

/* ---- uses ---------------------------------------------------------------- */

static bool same_element(const struct witness_use *a, const struct witness_use *b)
{
    return a->buffer == b->buffer && a->iteration != b->iteration && (a->store || b->store) &&
           (!a->buffer || memcmp(a->index, b->index, sizeof *a->index * (size_t)a->buffer->rank) == 0);
}

static void note_use(struct search *search, const struct witness_use *here)
{
    for (int k = 0; k < search->use_count; k++) {
        if (same_element(&search->uses[k], here)) {
            search->result[0] = search->uses[k];
            search->result[1] = *here;
            search->found = true;
            return;
        }
    }
    if (search->use_count < search->most_uses)
        search->uses[search->use_count++] = *here;
}

static void use_scalar(struct search *search, const struct ir_symbol *symbol, bool store, struct span span)
{
    struct witness_use here = {.iteration = search->iteration, .store = store, .span = span};

    if (search->inside && symbol == search->scalar && !search->found)
        note_use(search, &here);
}

/* False for an access outside its tensor: such an execution proves nothing. */
static bool use(struct search *search, const struct ir_access *access, bool store, struct span span)
{
    struct witness_use here = {
        .buffer = access->buffer, .iteration = search->iteration, .store = store, .span = span};

    if (access->buffer->rank > WITNESS_RANK)
        return true;
    for (int k = 0; k < access->buffer->rank; k++) {
        struct value index = evaluate(access->indices[k]), extent = evaluate(access->buffer->shape[k]);
        if (!index.known)
            return true;
        here.index[k] = index.value.i;
        if (index.value.i < 0 || (extent.known && index.value.i >= extent.value.i))
            return false;
    }
    if (!search->scalar && search->inside)
        note_use(search, &here);
    return true;
}

/* A division by zero: its operands are known, it has no value. */
static bool divides_by_zero(const struct ir_expr *expr)
{
    if (!ir_can_divide_by_zero(expr->operation, expr->dtype))
        return false;
    for (int k = 0; k < expr->count; k++)
        if (!evaluate(expr->operands[k]).known)
            return false;
    return !evaluate(expr).known;
}

/* Likewise for a division by zero. */
static bool use_loads(struct search *search, const struct ir_expr *expr, struct span span)
{
    if (expr->kind == IR_LOAD) {
        for (int k = 0; k < expr->access.buffer->rank; k++)
            if (!use_loads(search, expr->access.indices[k], span))
                return false;
        return use(search, &expr->access, false, expr->span.line ? expr->span : span);
    }
    if (expr->kind == IR_SYMBOL)
        use_scalar(search, expr->symbol, false, span);
    if (expr->kind != IR_OPERATION)
        return true;
    if (!use_loads(search, expr->operands[0], span))
        return false;
    if (expr->operation == OP_SELECT || expr->operation == OP_AND || expr->operation == OP_OR) {
        struct value condition = evaluate(expr->operands[0]);
        if (!condition.known)
            return true;
        if (expr->operation == OP_SELECT)
            return use_loads(search, expr->operands[condition.value.i ? 1 : 2], span);
        return (condition.value.i != 0) == (expr->operation == OP_OR) ||
               use_loads(search, expr->operands[1], span);
    }
    for (int k = 1; k < expr->count; k++)
        if (!use_loads(search, expr->operands[k], span))
            return false;
    return !divides_by_zero(expr);
}

/* ---- statements ---------------------------------------------------------- */

static enum flow run_block(struct search *search, struct ir_stmt *block);

static bool jumps(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE ||
            (stmt->kind == IR_IF && (jumps(stmt->body) || jumps(stmt->otherwise))))
            return true;
    return false;
}

/* What a block that may or may not be executed assigns is unknown afterwards. */
static void forget(struct search *search, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_ASSIGN) {
            set(search, stmt->symbol, (struct value){false, {0}});
            use_scalar(search, stmt->symbol, true, stmt->span);
        }
        forget(search, stmt->body);
        forget(search, stmt->otherwise);
    }
}

static enum flow run_if(struct search *search, struct ir_stmt *stmt)
{
    struct value condition = evaluate(stmt->value);

    if (condition.known)
        return run_block(search, condition.value.i ? stmt->body : stmt->otherwise);
    forget(search, stmt->body);
    forget(search, stmt->otherwise);
    return jumps(stmt->body) || jumps(stmt->otherwise) ? FLOW_STOP : FLOW_NEXT;
}

static enum flow run_for(struct search *search, struct ir_stmt *stmt)
{
    struct value low = evaluate(stmt->low), high = evaluate(stmt->high);
    bool target = stmt == search->loop;
    enum flow flow = FLOW_NEXT;

    if (!low.known || !high.known) {
        forget(search, stmt->body);
        return FLOW_NEXT;
    }
    if (target)
        search->use_count = 0;
    for (int64_t i = low.value.i; stmt->step > 0 ? i < high.value.i : i > high.value.i;) {
        set(search, stmt->symbol, known_integer(i));
        if (target) {
            search->inside = true;
            search->iteration = i;
        }
        flow = run_block(search, stmt->body);
        if (flow == FLOW_BREAK || flow == FLOW_STOP || __builtin_add_overflow(i, stmt->step, &i))
            break;
    }
    if (target)
        search->inside = false;
    return flow == FLOW_STOP ? FLOW_STOP : FLOW_NEXT;
}

static enum flow run_while(struct search *search, struct ir_stmt *stmt)
{
    for (;;) {
        struct value condition = evaluate(stmt->value);
        if (!condition.known) {
            forget(search, stmt->body);
            return jumps(stmt->body) ? FLOW_STOP : FLOW_NEXT;
        }
        if (!condition.value.i)
            return FLOW_NEXT;
        enum flow flow = run_block(search, stmt->body);
        if (flow == FLOW_BREAK || flow == FLOW_STOP)
            return flow == FLOW_STOP ? FLOW_STOP : FLOW_NEXT;
    }
}

/* A temporary that is made in the loop is another one in each iteration. */
static void forget_uses(struct search *search, const struct ir_buffer *buffer)
{
    for (int k = 0; k < search->use_count; k++)
        if (search->uses[k].buffer == buffer)
            search->uses[k--] = search->uses[--search->use_count];
}

static enum flow run_stmt(struct search *search, struct ir_stmt *stmt)
{
    if (search->steps-- <= 0)
        return FLOW_STOP;
    if (stmt->value && !use_loads(search, stmt->value, stmt->span))
        return FLOW_STOP;
    switch (stmt->kind) {
    case IR_FOR:
        return use_loads(search, stmt->low, stmt->span) && use_loads(search, stmt->high, stmt->span)
                   ? run_for(search, stmt)
                   : FLOW_STOP;
    case IR_WHILE:
        return run_while(search, stmt);
    case IR_IF:
        return run_if(search, stmt);
    case IR_STORE:
        for (int k = 0; k < stmt->access.buffer->rank; k++)
            if (!use_loads(search, stmt->access.indices[k], stmt->span))
                return FLOW_STOP;
        return use(search, &stmt->access, true, stmt->span) ? FLOW_NEXT : FLOW_STOP;
    case IR_ASSIGN:
        use_scalar(search, stmt->symbol, true, stmt->span);
        set(search, stmt->symbol, evaluate(stmt->value));
        return FLOW_NEXT;
    case IR_LET:
    case IR_VARIABLE:
        set(search, stmt->symbol, evaluate(stmt->value));
        return FLOW_NEXT;
    case IR_ALLOCATE:
        forget_uses(search, stmt->access.buffer);
        return FLOW_NEXT;
    case IR_BREAK:
        return FLOW_BREAK;
    case IR_CONTINUE:
        return FLOW_CONTINUE;
    case IR_ASSERT:
        break;
    }
    struct value holds = evaluate(stmt->value);
    return holds.known && !holds.value.i ? FLOW_STOP : FLOW_NEXT;
}

static enum flow run_block(struct search *search, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        enum flow flow = run_stmt(search, stmt);
        if (search->found)
            return FLOW_STOP;
        if (flow != FLOW_NEXT)
            return flow;
    }
    return FLOW_NEXT;
}

/* ---- shapes -------------------------------------------------------------- */

static bool preconditions_hold(const struct ir_kernel *kernel)
{
    for (int k = 0; k < kernel->preconditions.count; k++) {
        const struct ir_precondition *precondition = &kernel->preconditions.items[k];
        struct value guard = precondition->guard ? evaluate(precondition->guard) : known_integer(1);
        if (guard.known && !guard.value.i)
            continue;
        struct value holds = evaluate(precondition->condition);
        if (!guard.known || !holds.known || !holds.value.i)
            return false;
    }
    return true;
}

static bool try_call(struct search *search, const struct witness_call *call)
{
    struct ir_kernel *kernel = search->kernel;

    for (int k = 0; k < kernel->dims.count; k++)
        set(search, kernel->dims.items[k], known_integer(call->dims[k]));
    for (int k = 0; k < kernel->attributes.count; k++) {
        akg_dtype dtype = kernel->attributes.items[k]->dtype;
        set(search, kernel->attributes.items[k],
            dtype_is_float(dtype) ? (struct value){false, {0}} : known_integer(call->attributes[k]));
    }
    search->use_count = 0;
    search->inside = search->found = false;
    if (preconditions_hold(kernel))
        run_block(search, kernel->body);
    return search->found;
}

/* Small calls: those of `size`, each dim so much larger than the one before, and the attribute everywhere. */
static bool try_small(struct search *search, int64_t size, int64_t growth, int64_t attribute,
                      struct witness_call *call)
{
    struct ir_kernel *kernel = search->kernel;
    int64_t *dims = arena_array(kernel->arena, int64_t, kernel->dims.count);
    int64_t *attributes = arena_array(kernel->arena, int64_t, kernel->attributes.count);

    for (int k = 0; k < kernel->dims.count; k++)
        dims[k] = size + k * growth;
    for (int k = 0; k < kernel->attributes.count; k++)
        attributes[k] = kernel->attributes.items[k]->dtype == AKG_BOOL ? attribute & 1 : attribute;
    *call = (struct witness_call){dims, attributes};
    search->steps = STEPS;
    search->most_uses = USES;
    return try_call(search, call);
}

static bool try_worth(struct search *search, const struct witness_call *worth, struct witness_call *call)
{
    const struct ir_kernel *kernel = search->kernel;

    for (int k = 0; k < kernel->dims.count; k++)
        if (worth->dims[k] < 0)
            return false;
    for (int k = 0; k < kernel->attributes.count; k++)
        if (!ir_known_holds(kernel->attributes.items[k]->known, worth->attributes[k]) ||
            (kernel->attributes.items[k]->dtype == AKG_BOOL && worth->attributes[k] >> 1))
            return false;
    *call = *worth;
    search->steps = STEPS_WORTH;
    search->most_uses = USES_WORTH;
    search->uses = arena_array(kernel->arena, struct witness_use, USES_WORTH);
    return try_call(search, call);
}

bool witness_find(struct ir_kernel *kernel, const struct ir_stmt *loop, const struct ir_symbol *scalar,
                  const struct witness_call *worth, struct witness_use uses[2], struct witness_call *call)
{
    enum { SIZES = 6 }; /* the larger ones for what is far apart */
    static const int64_t sizes[SIZES] = {3, 4, 8, 2, 16, 48}, attributes[] = {1, 2, 3};
    struct search *search = arena_new(kernel->arena, struct search);
    struct witness_call tried;

    search->kernel = kernel;
    search->loop = loop;
    search->scalar = scalar;
    search->result = uses;
    search->uses = arena_array(kernel->arena, struct witness_use, USES);
    for (int a = 0; a < (kernel->attributes.count ? 3 : 1) && !search->found; a++)
        for (int s = 0; s < 2 * SIZES && !search->found; s++)
            try_small(search, sizes[s % SIZES], s / SIZES, attributes[a], &tried);
    if (!search->found && worth)
        try_worth(search, worth, &tried);
    if (search->found && call)
        *call = tried;
    for (int k = 0; k < search->bound.count; k++)
        search->bound.items[k]->note = NULL;
    return search->found;
}

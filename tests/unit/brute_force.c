/*
 * brute_force.c: see brute_force.h.
 */
#include "brute_force.h"

#include "../../jit/scalar.h"

#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 512, STEPS = 20000, LINES = 400, BUFFERS = 8 };
enum outcome { RUN_ON, RUN_BREAK, RUN_CONTINUE, RUN_TRAPPED, RUN_TOO_LONG };

struct run {
    struct ir_kernel *kernel;
    int64_t dims[8];
    union jit_scalar attributes[2];
    int64_t extents[BUFFERS][4];
    int64_t values[BUFFERS][ELEMENTS];
    bool written[BUFFERS][ELEMENTS];
    int64_t count[BUFFERS];
    bool stored[BUFFERS];                 /* since its life began */
    bool first_read_late[BUFFERS][LINES]; /* the first read of the statement came after some write */
    bool was_read[BUFFERS][LINES];
    int steps;
    const char *wrong;            /* a broken promise */
    const struct ir_stmt *hinted; /* this loop's iterations are watched */
    int64_t iteration;
    bool watching, clash;
    bool lenient; /* goes on where it would stop: a witness does not know the data */
    int64_t reader[BUFFERS][ELEMENTS], writer[BUFFERS][ELEMENTS]; /* iteration + 1000, 0: none */
    struct ir_stmt *stmt;
};

static struct run only_run; /* too large for a stack */

static bool evaluate(struct run *run, const struct ir_expr *expr, int64_t *out);

/* The element's number; false: outside. */
static bool locate(struct run *run, const struct ir_access *access, int64_t *place)
{
    int b = access->buffer->index;

    *place = 0;
    for (int k = 0; k < access->buffer->rank; k++) {
        int64_t index;
        if (!evaluate(run, access->indices[k], &index))
            return false;
        if (index < 0 || index >= run->extents[b][k]) {
            if (access->checks[k] != IR_CHECK_ELEMENT)
                run->wrong = "an index said to be inside is not";
            return false;
        }
        *place = *place * run->extents[b][k] + index;
    }
    return true;
}

static void watch(struct run *run, const struct ir_buffer *buffer, int64_t place, bool store)
{
    int64_t here = run->iteration + 1000;
    int64_t *reader = &run->reader[buffer->index][place], *writer = &run->writer[buffer->index][place];

    if (!run->watching)
        return;
    run->clash |= *writer && *writer != here;
    if (store)
        run->clash |= *reader && *reader != here;
    if (store)
        *writer = here;
    else if (!*reader || *reader == here)
        *reader = here;
    else
        *reader = 999; /* several */
}

static bool load(struct run *run, const struct ir_access *access, int64_t *out)
{
    const struct ir_buffer *buffer = access->buffer;
    int b = buffer->index, line = run->stmt->span.line % LINES;
    int64_t place;

    if (!locate(run, access, &place)) {
        *out = 0;
        return run->lenient;
    }
    if (!run->was_read[b][line]) {
        run->was_read[b][line] = true;
        run->first_read_late[b][line] = run->stored[b];
    }
    if (buffer->role != IR_INPUT && !buffer->clear && !run->written[b][place])
        run->wrong = "an element of a buffer that is not cleared is read before it is written";
    watch(run, buffer, place, false);
    *out = run->values[b][place];
    return true;
}

static bool operate(struct run *run, const struct ir_expr *expr, int64_t *out)
{
    union dtype_value values[3], result;

    if (!evaluate(run, expr->operands[0], &values[0].i))
        return false;
    if (expr->operation == OP_SELECT)
        return evaluate(run, expr->operands[values[0].i ? 1 : 2], out);
    if ((expr->operation == OP_AND && !values[0].i) || (expr->operation == OP_OR && values[0].i)) {
        *out = values[0].i;
        return true;
    }
    for (int k = 1; k < expr->count; k++)
        if (!evaluate(run, expr->operands[k], &values[k].i))
            return false;
    if (!scalar_apply(expr->operation, expr->dtype, expr->operands[expr->count - 1]->dtype, values,
                      &result)) {
        if (!expr->checked)
            run->wrong = "a divisor said not to be zero is";
        *out = 0;
        return run->lenient;
    }
    *out = result.i;
    return true;
}

static bool evaluate(struct run *run, const struct ir_expr *expr, int64_t *out)
{
    switch (expr->kind) {
    case IR_INTEGER:
        *out = expr->integer;
        return true;
    case IR_SYMBOL:
        if (expr->symbol->kind == IR_SYMBOL_DIM)
            *out = run->dims[expr->symbol->index];
        else if (expr->symbol->kind == IR_SYMBOL_ATTRIBUTE)
            *out = run->attributes[expr->symbol->index].i;
        else
            *out = *(int64_t *)expr->symbol->note;
        return true;
    case IR_LOAD:
        return load(run, &expr->access, out);
    default:
        return operate(run, expr, out);
    }
}

static void set(struct run *run, struct ir_symbol *symbol, int64_t value)
{
    if (!symbol->note)
        symbol->note = arena_new(run->kernel->arena, int64_t);
    *(int64_t *)symbol->note = value;
}

static enum outcome run_block(struct run *run, struct ir_stmt *block);

static enum outcome run_for(struct run *run, struct ir_stmt *stmt)
{
    int64_t low, high;

    if (!evaluate(run, stmt->low, &low) || !evaluate(run, stmt->high, &high))
        return RUN_TRAPPED;
    if (stmt == run->hinted) {
        memset(run->reader, 0, sizeof run->reader);
        memset(run->writer, 0, sizeof run->writer);
    }
    for (int64_t i = low; stmt->step > 0 ? i < high : i > high; i += stmt->step) {
        set(run, stmt->symbol, i);
        if (stmt == run->hinted) {
            run->watching = true;
            run->iteration = i;
        }
        enum outcome outcome = run_block(run, stmt->body);
        if (outcome == RUN_BREAK)
            break;
        if (outcome == RUN_TRAPPED || outcome == RUN_TOO_LONG)
            return outcome;
    }
    if (stmt == run->hinted)
        run->watching = false;
    return RUN_ON;
}

static enum outcome run_store(struct run *run, struct ir_stmt *stmt)
{
    int64_t place, value;
    int b = stmt->access.buffer->index;

    if (!locate(run, &stmt->access, &place))
        return run->lenient ? RUN_ON : RUN_TRAPPED;
    if (!evaluate(run, stmt->value, &value))
        return RUN_TRAPPED;
    watch(run, stmt->access.buffer, place, true);
    run->values[b][place] = value % 5;
    run->written[b][place] = run->stored[b] = true;
    return RUN_ON;
}

static enum outcome run_stmt(struct run *run, struct ir_stmt *stmt)
{
    int64_t value;

    if (++run->steps > STEPS)
        return RUN_TOO_LONG;
    run->stmt = stmt;
    switch (stmt->kind) {
    case IR_FOR:
        return run_for(run, stmt);
    case IR_IF:
        if (!evaluate(run, stmt->value, &value))
            return RUN_TRAPPED;
        return run_block(run, value ? stmt->body : stmt->otherwise);
    case IR_STORE:
        return run_store(run, stmt);
    case IR_VARIABLE:
    case IR_ASSIGN:
        if (!evaluate(run, stmt->value, &value))
            return RUN_TRAPPED;
        set(run, stmt->symbol, value);
        return RUN_ON;
    case IR_BREAK:
        return RUN_BREAK;
    case IR_CONTINUE:
        return RUN_CONTINUE;
    default:
        return RUN_ON;
    }
}

static enum outcome run_block(struct run *run, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        enum outcome outcome = run_stmt(run, stmt);
        if (outcome != RUN_ON)
            return outcome;
    }
    return RUN_ON;
}

/* False for a shape that cannot be called. */
static bool shape_buffers(struct run *run)
{
    for (int b = 0; b < run->kernel->buffers.count; b++) {
        const struct ir_buffer *buffer = run->kernel->buffers.items[b];
        run->count[b] = 1;
        for (int k = 0; k < buffer->rank; k++) {
            union dtype_value extent;
            if (!scalar_evaluate(buffer->shape[k], run->dims, run->attributes, &extent) || extent.i < 0)
                return false;
            run->extents[b][k] = extent.i;
            run->count[b] *= extent.i;
        }
        if (run->count[b] > ELEMENTS)
            return false;
        for (int64_t k = 0; k < run->count[b]; k++)
            run->values[b][k] = buffer->role == IR_INPUT ? (int64_t)(k * 7 + run->dims[0] * 3) % 6 - 1 : 0;
    }
    return true;
}

/* Whether all preconditions but those of the program hold; `called` tells whether the program's do. */
static bool preconditions_hold(const struct run *run, bool *called)
{
    bool hold = true;

    *called = true;
    for (int k = 0; k < run->kernel->preconditions.count; k++) {
        const struct ir_precondition *precondition = &run->kernel->preconditions.items[k];
        union dtype_value guard = {.i = 1}, condition;
        bool own = precondition->kind == IR_PRECONDITION_BOUNDS;
        if (precondition->guard && !scalar_evaluate(precondition->guard, run->dims, run->attributes, &guard))
            guard.i = 0, hold = false;
        if (!guard.i)
            continue;
        if (scalar_evaluate(precondition->condition, run->dims, run->attributes, &condition) && condition.i)
            continue;
        if (own)
            hold = false;
        else
            *called = false;
    }
    return hold;
}

static const char *check_end(const struct run *run)
{
    for (int b = 0; b < run->kernel->buffers.count; b++) {
        const struct ir_buffer *buffer = run->kernel->buffers.items[b];
        for (int64_t k = 0; k < run->count[b]; k++)
            if (buffer->role == IR_OUTPUT && !buffer->clear && !run->written[b][k])
                return "an output that is not cleared is not written in full";
    }
    return NULL;
}

static const char *check_warnings(const struct run *run, const akg_diagnostics *diagnostics)
{
    for (size_t k = 0; k < akg_diagnostics_count(diagnostics); k++) {
        const akg_diagnostic *diagnostic = akg_diagnostics_at(diagnostics, k);
        for (int b = 0; b < run->kernel->buffers.count; b++) {
            char name[16];
            snprintf(name, sizeof name, "'%s'", run->kernel->buffers.items[b]->name);
            if (strstr(diagnostic->message, name) && run->first_read_late[b][diagnostic->line % LINES])
                return "a warned read comes after a write";
        }
    }
    return NULL;
}

/* False for a shape that cannot be called. */
static bool prepare(struct run *run, struct ir_kernel *kernel, const struct ir_stmt *hinted,
                    const int64_t *shape)
{
    memset(run, 0, sizeof *run);
    run->kernel = kernel;
    run->hinted = hinted;
    for (int k = 0; k < kernel->dims.count; k++)
        run->dims[k] = shape[k];
    run->attributes[0].i = shape[3];
    return shape_buffers(run);
}

bool brute_force_clashes(struct ir_kernel *kernel, const struct ir_stmt *hinted, const int64_t *shape)
{
    struct run *run = &only_run;

    if (!prepare(run, kernel, hinted, shape))
        return false;
    run->lenient = true;
    run_block(run, kernel->body);
    return run->clash;
}

const char *brute_force(struct ir_kernel *kernel, const akg_diagnostics *diagnostics,
                        const struct ir_stmt *hinted, const int64_t *shape, bool *clash)
{
    struct run *run = &only_run;
    bool called;

    if (!prepare(run, kernel, hinted, shape))
        return NULL;
    bool accepted = preconditions_hold(run, &called);
    if (!called)
        return NULL;
    enum outcome outcome = run_block(run, kernel->body);
    *clash |= accepted && run->clash;
    if (outcome == RUN_TOO_LONG)
        return NULL;
    if (!accepted)
        return outcome == RUN_TRAPPED ? NULL : "a call is refused that would be fine";
    if (run->wrong)
        return run->wrong;
    const char *wrong = check_warnings(run, diagnostics);
    return wrong || outcome == RUN_TRAPPED ? wrong : check_end(run);
}

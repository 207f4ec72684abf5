/*
 * interpreter.c: executes a kernel's tree as it stands.
 *
 * Consumes a verified kernel with numbered sites and a frame whose memory fits the kernel's shapes. Assumes
 * expressions of bounded depth (it recurses) and ranks up to AKG_MAX_RANK. State of a run lives in struct
 * interpreter_run alone: scalars in an array indexed by symbol->slot, buffers in one indexed by
 * buffer->index. A trap is `false` on the way out of expressions and FLOW_TRAP out of statements.
 */
#include "interpreter.h"
#include "scalar.h"

#include <string.h>

struct run_buffer {
    char *data;
    const int64_t *strides; /* in elements */
    int64_t *extents;
};

struct interpreter_run {
    const struct ir_kernel *kernel;
    const struct jit_frame *frame;
    union dtype_value *slots;
    struct run_buffer *buffers;
    int64_t loops[JIT_TRAP_LOOPS];   /* values of the loop variables, outermost first */
    int depth;                       /* loops around; the deeper ones are not kept */
    struct interpreter_watch *watch; /* or NULL */
};

/* ---- traps ------------------------------------------------------------------ */

static bool trap(const struct interpreter_run *run, int site)
{
    struct jit_trap *trap = run->frame->trap;
    int kept = run->depth < JIT_TRAP_LOOPS ? run->depth : JIT_TRAP_LOOPS;
    *trap = (struct jit_trap){.site = site};
    memcpy(trap->loops, run->loops, (size_t)kept * sizeof trap->loops[0]);
    return false;
}

static bool trap_index(const struct interpreter_run *run, int site, int axis, int64_t index, int64_t extent)
{
    trap(run, site);
    run->frame->trap->axis = axis;
    run->frame->trap->index = index;
    run->frame->trap->extent = extent;
    return false;
}

/* ---- expressions -------------------------------------------------------------- */

/* The value, or a trap. *result is written last, since it may be the slot of a scalar that the expression
 * reads. */
static bool evaluate(const struct interpreter_run *run, const struct ir_expr *expr,
                     union dtype_value *result);

/* Whether who watches wants to go on in spite of an index that is outside. */
static bool goes_on(const struct interpreter_run *run, const struct ir_access *access, int axis,
                    int64_t index, int64_t extent)
{
    const struct interpreter_watch *watch = run->watch;
    return watch && watch->outside && watch->outside(watch->context, access, axis, index, extent);
}

/* The element's address, NULL where the run goes on without it; or a trap. */
static bool locate(const struct interpreter_run *run, const struct ir_access *access, int64_t *indices,
                   char **address)
{
    const struct run_buffer *buffer = &run->buffers[access->buffer->index];
    int rank = access->buffer->rank;
    int64_t offset = 0;
    for (int k = 0; k < rank; k++) {
        union dtype_value index;
        if (!evaluate(run, access->indices[k], &index))
            return false;
        indices[k] = index.i;
    }
    bool inside = true;
    for (int k = 0; k < rank; k++) {
        if (indices[k] < 0 || indices[k] >= buffer->extents[k]) {
            if (!goes_on(run, access, k, indices[k], buffer->extents[k]))
                return trap_index(run, access->site, k, indices[k], buffer->extents[k]);
            inside = false;
        } else {
            offset += indices[k] * buffer->strides[k];
        }
    }
    *address = inside ? buffer->data + offset * dtype_table[access->buffer->dtype].size : NULL;
    return true;
}

static void tell_access(const struct interpreter_run *run, const struct ir_access *access,
                        const int64_t *indices, bool store)
{
    if (run->watch && run->watch->access)
        run->watch->access(run->watch->context, access, indices, store);
}

static bool load(const struct interpreter_run *run, const struct ir_expr *expr, union dtype_value *result)
{
    int64_t indices[AKG_MAX_RANK];
    char *address;
    if (!locate(run, &expr->access, indices, &address))
        return false;
    if (!address) {
        *result = (union dtype_value){0};
        return true;
    }
    tell_access(run, &expr->access, indices, false);
    *result = dtype_load(expr->dtype, address);
    return true;
}

static bool evaluate_operation(const struct interpreter_run *run, const struct ir_expr *expr,
                               union dtype_value *result)
{
    union dtype_value values[3];
    if (!evaluate(run, expr->operands[0], &values[0]))
        return false;
    switch (expr->operation) {
    case OP_AND:
    case OP_OR:
        if ((values[0].i != 0) != (expr->operation == OP_OR))
            return evaluate(run, expr->operands[1], result);
        *result = values[0];
        return true;
    case OP_SELECT:
        return evaluate(run, expr->operands[values[0].i ? 1 : 2], result);
    default:
        break;
    }
    for (int k = 1; k < expr->count; k++)
        if (!evaluate(run, expr->operands[k], &values[k]))
            return false;
    if (!scalar_apply(expr->operation, expr->dtype, expr->operands[0]->dtype, values, result))
        return trap(run, expr->site);
    return true;
}

static bool evaluate(const struct interpreter_run *run, const struct ir_expr *expr, union dtype_value *result)
{
    switch (expr->kind) {
    case IR_INTEGER:
    case IR_REAL:
        *result = scalar_constant(expr);
        return true;
    case IR_SYMBOL:
        *result = run->slots[expr->symbol->slot];
        return true;
    case IR_LOAD:
        return load(run, expr, result);
    case IR_OPERATION:
        return evaluate_operation(run, expr, result);
    }
    return false;
}

/* ---- clearing ------------------------------------------------------------------ */

static bool is_contiguous(const struct run_buffer *buffer, int rank, int64_t *count)
{
    *count = 1;
    for (int k = rank - 1; k >= 0; k--) {
        if (buffer->extents[k] != 1 && buffer->strides[k] != *count)
            return false;
        *count *= buffer->extents[k];
    }
    return true;
}

static void clear_axis(const struct run_buffer *buffer, int axis, int rank, size_t size, char *address)
{
    if (axis == rank) {
        memset(address, 0, size);
        return;
    }
    for (int64_t k = 0; k < buffer->extents[axis]; k++)
        clear_axis(buffer, axis + 1, rank, size, address + k * buffer->strides[axis] * (int64_t)size);
}

static void clear(const struct interpreter_run *run, const struct ir_buffer *buffer)
{
    const struct run_buffer *place = &run->buffers[buffer->index];
    size_t size = (size_t)dtype_table[buffer->dtype].size;
    int64_t count;
    for (int k = 0; k < buffer->rank; k++)
        if (place->extents[k] <= 0)
            return; /* no element; perhaps no memory either */
    if (is_contiguous(place, buffer->rank, &count))
        memset(place->data, 0, (size_t)count * size);
    else
        clear_axis(place, 0, buffer->rank, size, place->data);
}

/* ---- statements ----------------------------------------------------------------- */

enum flow { FLOW_NEXT, FLOW_BREAK, FLOW_CONTINUE, FLOW_TRAP };

static enum flow run_block(struct interpreter_run *run, const struct ir_stmt *stmt);

/* False when as much has been run as was asked for. */
static bool spend(struct interpreter_run *run)
{
    struct interpreter_watch *watch = run->watch;
    if (!watch || !watch->limited || watch->steps-- > 0)
        return true;
    watch->exhausted = true;
    return trap(run, 0);
}

static enum flow run_iteration(struct interpreter_run *run, const struct ir_stmt *stmt, int64_t value)
{
    run->slots[stmt->symbol->slot].i = value;
    if (run->depth <= JIT_TRAP_LOOPS)
        run->loops[run->depth - 1] = value;
    if (run->watch && run->watch->iteration)
        run->watch->iteration(run->watch->context, stmt, value);
    return spend(run) ? run_block(run, stmt->body) : FLOW_TRAP;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Iteration number k becomes number (first + k * stride) % count, with no common divisor. */
static enum flow run_reordered(struct interpreter_run *run, const struct ir_stmt *stmt, int64_t low,
                               int64_t high)
{
    uint64_t step = stmt->step > 0 ? (uint64_t)stmt->step : -(uint64_t)stmt->step;
    uint64_t distance = stmt->step > 0 ? (uint64_t)high - (uint64_t)low : (uint64_t)low - (uint64_t)high;
    uint64_t count = (stmt->step > 0 ? low < high : low > high) ? (distance - 1) / step + 1 : 0;
    uint64_t at = count ? run->watch->seed % count : 0, stride = count ? run->watch->seed / 7 % count : 0;
    enum flow flow = FLOW_NEXT;

    if (run->watch->seed == 0) {
        at = count - 1;
        stride = count - 1;
    }
    while (count > 1 && common_divisor(stride, count) != 1)
        stride = (stride + 1) % count;
    for (uint64_t k = 0; k < count && flow != FLOW_BREAK && flow != FLOW_TRAP; k++) {
        flow = run_iteration(run, stmt, (int64_t)((uint64_t)low + at * (uint64_t)stmt->step));
        at = (uint64_t)(((unsigned __int128)at + stride) % count);
    }
    return flow;
}

static enum flow run_for(struct interpreter_run *run, const struct ir_stmt *stmt)
{
    union dtype_value low, high;
    if (!evaluate(run, stmt->low, &low) || !evaluate(run, stmt->high, &high))
        return FLOW_TRAP;
    enum flow flow = FLOW_NEXT;
    run->depth++;
    if (run->watch && run->watch->reordered == stmt)
        flow = run_reordered(run, stmt, low.i, high.i);
    else
        for (int64_t value = low.i; stmt->step > 0 ? value < high.i : value > high.i;) {
            flow = run_iteration(run, stmt, value);
            if (flow == FLOW_BREAK || flow == FLOW_TRAP || __builtin_add_overflow(value, stmt->step, &value))
                break;
        }
    run->depth--;
    return flow == FLOW_TRAP ? FLOW_TRAP : FLOW_NEXT;
}

static enum flow run_while(struct interpreter_run *run, const struct ir_stmt *stmt)
{
    for (;;) {
        union dtype_value condition;
        if (!evaluate(run, stmt->value, &condition))
            return FLOW_TRAP;
        if (!condition.i)
            return FLOW_NEXT;
        if (!spend(run))
            return FLOW_TRAP;
        enum flow flow = run_block(run, stmt->body);
        if (flow == FLOW_TRAP)
            return FLOW_TRAP;
        if (flow == FLOW_BREAK)
            return FLOW_NEXT;
    }
}

/* Whether who watches lets the value be kept. */
static bool may_keep(const struct interpreter_run *run, const struct ir_stmt *stmt)
{
    const struct interpreter_watch *watch = run->watch;
    return !watch || !watch->keep || watch->keep(watch->context, run, stmt) || trap(run, 0);
}

static enum flow run_store(struct interpreter_run *run, const struct ir_stmt *stmt)
{
    int64_t indices[AKG_MAX_RANK];
    char *address;
    union dtype_value value;
    if (!locate(run, &stmt->access, indices, &address) || !evaluate(run, stmt->value, &value))
        return FLOW_TRAP;
    if (!address)
        return FLOW_NEXT;
    if (!may_keep(run, stmt))
        return FLOW_TRAP;
    tell_access(run, &stmt->access, indices, true);
    dtype_store(stmt->access.buffer->dtype, address, value);
    return FLOW_NEXT;
}

/* A chain of else-ifs is walked here, so that its length needs no stack. */
static enum flow run_if(struct interpreter_run *run, const struct ir_stmt *stmt)
{
    for (;;) {
        union dtype_value condition;
        if (!evaluate(run, stmt->value, &condition))
            return FLOW_TRAP;
        if (condition.i)
            return run_block(run, stmt->body);
        const struct ir_stmt *otherwise = stmt->otherwise;
        if (!otherwise || otherwise->kind != IR_IF || otherwise->next)
            return run_block(run, otherwise);
        stmt = otherwise;
    }
}

static enum flow run_assert(struct interpreter_run *run, const struct ir_stmt *stmt)
{
    union dtype_value condition;
    if (!evaluate(run, stmt->value, &condition))
        return FLOW_TRAP;
    if (condition.i)
        return FLOW_NEXT;
    trap(run, stmt->site);
    return FLOW_TRAP;
}

static enum flow run_stmt(struct interpreter_run *run, const struct ir_stmt *stmt)
{
    if (!spend(run))
        return FLOW_TRAP;
    switch (stmt->kind) {
    case IR_FOR:
        return run_for(run, stmt);
    case IR_WHILE:
        return run_while(run, stmt);
    case IR_IF:
        return run_if(run, stmt);
    case IR_STORE:
        return run_store(run, stmt);
    case IR_LET:
    case IR_VARIABLE:
    case IR_ASSIGN:
        return may_keep(run, stmt) && evaluate(run, stmt->value, &run->slots[stmt->symbol->slot]) ? FLOW_NEXT
                                                                                                  : FLOW_TRAP;
    case IR_ALLOCATE:
        if (stmt->access.buffer->clear)
            clear(run, stmt->access.buffer);
        if (run->watch && run->watch->allocate)
            run->watch->allocate(run->watch->context, stmt->access.buffer);
        return FLOW_NEXT;
    case IR_BREAK:
        return FLOW_BREAK;
    case IR_CONTINUE:
        return FLOW_CONTINUE;
    case IR_ASSERT:
        return run_assert(run, stmt);
    }
    return FLOW_NEXT;
}

static enum flow run_block(struct interpreter_run *run, const struct ir_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        enum flow flow = run_stmt(run, stmt);
        if (flow != FLOW_NEXT)
            return flow;
    }
    return FLOW_NEXT;
}

bool interpreter_value(const struct interpreter_run *run, const struct ir_expr *expr,
                       union dtype_value *value)
{
    return evaluate(run, expr, value);
}

bool interpreter_place(const struct interpreter_run *run, const struct ir_access *access, int64_t *place)
{
    int64_t indices[AKG_MAX_RANK];
    char *address;
    if (!locate(run, access, indices, &address) || !address)
        return false;
    *place = (address - run->buffers[access->buffer->index].data) / dtype_table[access->buffer->dtype].size;
    return true;
}

/* ---- the run --------------------------------------------------------------------- */

/* Binds dims, attributes and buffers. False when a shape cannot be computed; the caller, who made the
 * memory, has refused that before. */
static bool bind(struct interpreter_run *run, int64_t *extents)
{
    const struct ir_kernel *kernel = run->kernel;
    const struct jit_frame *frame = run->frame;
    for (int k = 0; k < kernel->dims.count; k++)
        run->slots[kernel->dims.items[k]->slot].i = frame->dims[k];
    for (int k = 0; k < kernel->attributes.count; k++) {
        const struct ir_symbol *symbol = kernel->attributes.items[k];
        run->slots[symbol->slot] = scalar_argument(symbol->dtype, frame->scalars[k]);
    }
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        run->buffers[k] = (struct run_buffer){frame->data[k], frame->strides[k], extents};
        for (int axis = 0; axis < buffer->rank; axis++) {
            union dtype_value extent;
            if (!scalar_evaluate(buffer->shape[axis], frame->dims, frame->scalars, &extent))
                return false;
            *extents++ = extent.i;
        }
        if (buffer->clear && buffer->role == IR_OUTPUT)
            clear(run, buffer);
    }
    return true;
}

int interpreter_run(const struct ir_kernel *kernel, const struct jit_frame *frame)
{
    return interpreter_run_watched(kernel, frame, NULL);
}

int interpreter_run_watched(const struct ir_kernel *kernel, const struct jit_frame *frame,
                            struct interpreter_watch *watch)
{
    struct interpreter_run run = {.kernel = kernel, .frame = frame, .watch = watch};
    int axes = 0;
    for (int k = 0; k < kernel->buffers.count; k++)
        axes += kernel->buffers.items[k]->rank;

    /* one block: what needs the largest alignment first; never of size 0 */
    size_t buffers_size = (size_t)kernel->buffers.count * sizeof *run.buffers;
    size_t slots_size = (size_t)kernel->slot_count * sizeof *run.slots;
    char *memory = memory_zeroed(1, buffers_size + slots_size + (size_t)axes * sizeof(int64_t) + 1);
    if (!memory) {
        trap(&run, 0);
        return 1;
    }
    run.buffers = (struct run_buffer *)memory;
    run.slots = (union dtype_value *)(memory + buffers_size);

    bool ran = false;
    if (bind(&run, (int64_t *)(memory + buffers_size + slots_size)))
        ran = run_block(&run, kernel->body) != FLOW_TRAP;
    else
        trap(&run, 0);
    memory_free(memory);
    return !ran;
}

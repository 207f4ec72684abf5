/*
 * certify.c: see certify.h. Counts by itself which elements were written; believes nothing of the
 * certificate.
 */
#include "certify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../jit/certificate_trial.h"
#include "../../jit/interpreter.h"
#include "../../jit/scalar.h"

enum {
    STEPS = 300000,
    QUESTION_STEPS = 10000000, /* a witness of a loop may come after much that has nothing to do with it */
    REORDERED_STEPS = 60000,
    LOOPS = 24
};

/* One run of the kernel. */
struct run {
    struct certify *certify;
    struct text *message;
    const struct jit_frame *frame;
    struct jit_trap trap;
    int64_t **shapes;       /* by buffer->index */
    int64_t *counts;        /* elements */
    unsigned char **writes; /* by buffer->index, then place in C order: 0, 1, 2 for more */
    char **first;           /* the lowest address of its memory, */
    size_t *sizes;          /* and bytes */
    char **before, **after; /* copies */
    bool good;
    bool refused; /* by a precondition */
    bool *wanted; /* by precondition: it does not hold, and its index was not seen yet */
    const struct certificate_witness *witness; /* looked for: the access sees the element unwritten */
    const struct ir_access *seeing;
    bool seen;
    const struct certificate_loop *loop; /* looked for: its two uses clash */
    int64_t iteration, last;
    bool inside, used[2];
    bool stored[2];
};

static void wrong(struct run *run, const char *kind, const struct ir_buffer *buffer, const int64_t *index,
                  const char *what)
{
    run->good = false;
    if (!run->message)
        return;
    text_format(run->message, "%s: %s: ", kind, run->certify->kernel->name);
    if (buffer) {
        text_format(run->message, "%s[", buffer->name);
        for (int k = 0; index && k < buffer->rank; k++)
            text_format(run->message, "%s%lld", k ? ", " : "", (long long)index[k]);
        text_string(run->message, "] ");
    }
    text_format(run->message, "%s\n", what);
}

/* ---- memory ------------------------------------------------------------------------------- */

static void *table(const struct run *run, size_t size)
{
    return calloc((size_t)run->certify->kernel->buffers.count + 1, size);
}

static bool measure(struct run *run, int k)
{
    const struct ir_buffer *buffer = run->certify->kernel->buffers.items[k];
    int64_t size = dtype_table[buffer->dtype].size, low = 0, high = 0;

    run->shapes[k] = calloc((size_t)buffer->rank + 1, sizeof *run->shapes[k]);
    run->counts[k] = 1;
    for (int axis = 0; run->shapes[k] && axis < buffer->rank; axis++) {
        union dtype_value extent;
        if (!scalar_evaluate(buffer->shape[axis], run->frame->dims, run->frame->scalars, &extent) ||
            extent.i < 0)
            return false;
        run->shapes[k][axis] = extent.i;
        run->counts[k] *= extent.i;
        int64_t reach = (extent.i - 1) * run->frame->strides[k][axis];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    if (run->counts[k]) {
        run->first[k] = (char *)run->frame->data[k] + low * size;
        run->sizes[k] = (size_t)((high - low + 1) * size);
    }
    run->writes[k] = calloc((size_t)run->counts[k] + 1, 1);
    run->before[k] = malloc(run->sizes[k] + 1);
    run->after[k] = malloc(run->sizes[k] + 1);
    if (run->sizes[k] && run->before[k])
        memcpy(run->before[k], run->first[k], run->sizes[k]);
    return run->shapes[k] && run->writes[k] && run->before[k] && run->after[k];
}

/* False when memory ran out, or there is no such call. */
static bool run_begin(struct run *run, struct certify *certify, const struct jit_frame *frame,
                      struct text *message)
{
    int count = certify->kernel->buffers.count, measured = 0;

    *run = (struct run){.certify = certify, .message = message, .frame = frame, .good = true};
    run->shapes = table(run, sizeof *run->shapes);
    run->counts = table(run, sizeof *run->counts);
    run->writes = table(run, sizeof *run->writes);
    run->first = table(run, sizeof *run->first);
    run->sizes = table(run, sizeof *run->sizes);
    run->before = table(run, sizeof *run->before);
    run->after = table(run, sizeof *run->after);
    run->wanted = calloc((size_t)certify->kernel->preconditions.count + 1, sizeof *run->wanted);
    if (!run->shapes || !run->counts || !run->writes || !run->first || !run->sizes || !run->before ||
        !run->after || !run->wanted)
        return false;
    while (measured < count && measure(run, measured))
        measured++;
    return measured == count;
}

static void run_end(struct run *run)
{
    for (int k = 0; k < run->certify->kernel->buffers.count; k++) {
        if (run->shapes)
            free(run->shapes[k]);
        if (run->writes)
            free(run->writes[k]);
        if (run->before)
            free(run->before[k]);
        if (run->after)
            free(run->after[k]);
    }
    free(run->shapes);
    free(run->counts);
    free(run->writes);
    free(run->first);
    free(run->sizes);
    free(run->before);
    free(run->after);
    free(run->wanted);
}

static void restore(const struct run *run)
{
    for (int k = 0; k < run->certify->kernel->buffers.count; k++) {
        if (run->sizes[k])
            memcpy(run->first[k], run->before[k], run->sizes[k]);
        memset(run->writes[k], 0, (size_t)run->counts[k]);
    }
}

static int64_t place_of(const struct run *run, const struct ir_buffer *buffer, const int64_t *index)
{
    int64_t place = 0;

    for (int axis = 0; axis < buffer->rank; axis++)
        place = place * run->shapes[buffer->index][axis] + index[axis];
    return place;
}

static bool is_tracked(const struct ir_buffer *buffer)
{
    return buffer->role == IR_OUTPUT || buffer->role == IR_TEMPORARY;
}

/* ---- what runs tell ------------------------------------------------------------------------- */

static bool same_index(const struct ir_buffer *buffer, const int64_t *a, const int64_t *b)
{
    return memcmp(a, b, (size_t)buffer->rank * sizeof *a) == 0;
}

static void see_load(struct run *run, const struct ir_access *access, const int64_t *index)
{
    struct certificate_access *row = certificate_access_of(run->certify->certificate, access);

    run->certify->counts.loads++;
    if (run->writes[access->buffer->index][place_of(run, access->buffer, index)])
        return;
    if (run->witness && run->seeing == access && same_index(access->buffer, run->witness->index, index))
        run->seen = true;
    if (run->refused) /* nothing is claimed of such a call */
        return;
    if (!access->buffer->clear)
        wrong(run, "initialisation", access->buffer, index, "is read, but neither written nor cleared");
    else if (row && row->written)
        wrong(run, "initialisation", access->buffer, index, "is read before the write that was proved");
}

static void see_store(struct run *run, const struct ir_access *access, const int64_t *index)
{
    unsigned char *writes = &run->writes[access->buffer->index][place_of(run, access->buffer, index)];
    struct certificate_buffer *row = certificate_buffer_of(run->certify->certificate, access->buffer);

    if (*writes < 2 && ++*writes == 2 && row->most == CERTIFICATE_ONCE && !run->refused)
        wrong(run, "initialisation", access->buffer, index, "is written twice");
}

/* Whether an element that is used now is the one that both iterations of the loop are said to use. */
static void see_use(struct run *run, const struct ir_access *access, const int64_t *index, bool store)
{
    for (int k = 0; run->loop && run->inside && k < 2; k++) {
        const struct witness_use *use = &run->loop->uses[k];
        if (use->buffer != access->buffer || use->iteration != run->iteration || use->store != store ||
            !same_index(access->buffer, use->index, index))
            continue;
        run->used[k] = true;
        run->seen |= run->used[0] && run->used[1];
    }
}

/* The value of an expression over dims and attributes; false when there is no such expression, or value. */
static bool value_of(const struct run *run, const struct ir_expr *expr, int64_t *value)
{
    union dtype_value result;

    if (!expr || !scalar_evaluate(expr, run->frame->dims, run->frame->scalars, &result))
        return false;
    *value = result.i;
    return true;
}

/* What is said to lie between an index and 0, or the extent, does. */
static void see_index(struct run *run, const struct ir_access *access, const int64_t *index)
{
    const struct certificate_access *row = certificate_access_of(run->certify->certificate, access);
    int64_t bound;

    for (int axis = 0; row && !run->refused && axis < access->buffer->rank; axis++) {
        if (value_of(run, row->indices[axis].low.bound, &bound) && (bound < 0 || bound > index[axis]))
            wrong(run, "bounds", access->buffer, index, "is less than its proof says");
        if (value_of(run, row->indices[axis].high.bound, &bound) &&
            (bound < index[axis] || bound >= run->shapes[access->buffer->index][axis]))
            wrong(run, "bounds", access->buffer, index, "is more than its proof says");
    }
}

static void see_access(void *context, const struct ir_access *access, const int64_t *index, bool store)
{
    struct run *run = context;

    see_index(run, access, index);
    see_use(run, access, index, store);
    if (is_tracked(access->buffer) && !run->refused) /* nothing is claimed of a call that is refused */
        (store ? see_store : see_load)(run, access, index);
}

static bool see_outside(void *context, const struct ir_access *access, int axis, int64_t index,
                        int64_t extent)
{
    struct run *run = context;
    const struct ir_kernel *kernel = run->certify->kernel;
    union dtype_value told;
    char what[120];

    if (!run->refused && access->checks[axis] != IR_CHECK_ELEMENT) {
        snprintf(what, sizeof what, "axis %d, said to be %s: index %lld of %lld", axis,
                 access->checks[axis] == IR_CHECK_PROVED ? "inside" : "inside since preconditions hold",
                 (long long)index, (long long)extent);
        wrong(run, "bounds", access->buffer, NULL, what);
    }
    for (int k = 0; run->refused && k < kernel->preconditions.count; k++) {
        const struct ir_precondition *row = &kernel->preconditions.items[k];
        if (run->wanted[k] && row->buffer == access->buffer && row->axis == axis &&
            scalar_evaluate(row->index, run->frame->dims, run->frame->scalars, &told) && told.i == index)
            run->wanted[k] = false;
    }
    return run->refused;
}

static void see_allocation(void *context, const struct ir_buffer *buffer)
{
    struct run *run = context;

    memset(run->writes[buffer->index], 0, (size_t)run->counts[buffer->index]);
    if (run->loop) /* another one from now on */
        for (int k = 0; k < 2; k++)
            run->used[k] &= run->loop->uses[k].buffer != buffer;
}

static bool holds(const struct ir_stmt *block, const struct ir_stmt *sought)
{
    for (; block; block = block->next)
        if (block == sought || holds(block->body, sought) || holds(block->otherwise, sought))
            return true;
    return false;
}

static void see_iteration(void *context, const struct ir_stmt *loop, int64_t value)
{
    struct run *run = context;

    if (!run->loop)
        return;
    if (loop == run->loop->row->stmt) {
        if (!run->inside || (loop->step > 0 ? value <= run->last : value >= run->last))
            run->used[0] = run->used[1] = false; /* another execution */
        run->inside = true;
        run->iteration = run->last = value;
    } else if (holds(loop->body, run->loop->row->stmt)) {
        run->inside = false;
    }
}

/* True when it came to its end. */
static bool execute(struct run *run, int64_t steps, const struct ir_stmt *reordered, uint64_t seed,
                    struct interpreter_watch *watch)
{
    struct jit_frame frame = *run->frame;

    frame.trap = &run->trap;
    *watch = (struct interpreter_watch){.context = run,
                                        .access = reordered ? NULL : see_access,
                                        .outside = reordered ? NULL : see_outside,
                                        .allocate = reordered ? NULL : see_allocation,
                                        .iteration = reordered ? NULL : see_iteration,
                                        .reordered = reordered,
                                        .seed = seed,
                                        .limited = true,
                                        .steps = steps};
    return interpreter_run_watched(run->certify->kernel, &frame, watch) == 0;
}

/* ---- bounds, initialisation -------------------------------------------------------------------- */

/* What the preconditions say of the call. Only the first that fails is told to a caller, and it takes those
 * before it for granted: the index that it names must be taken, unless it is none of int64. False when
 * something else than bounds refuses the call. */
static bool look_at_preconditions(struct run *run)
{
    const struct ir_kernel *kernel = run->certify->kernel;
    union dtype_value value;

    for (int k = 0; k < kernel->preconditions.count; k++) {
        const struct ir_precondition *row = &kernel->preconditions.items[k];
        if (row->guard && !scalar_evaluate(row->guard, run->frame->dims, run->frame->scalars, &value))
            return false; /* it divides by 0: refused, too */
        if (row->guard && !value.i)
            continue;
        if (!scalar_evaluate(row->condition, run->frame->dims, run->frame->scalars, &value))
            return false;
        if (value.i)
            continue;
        if (row->kind != IR_PRECONDITION_BOUNDS)
            return false;
        run->wanted[k] =
            !run->refused && scalar_evaluate(row->index, run->frame->dims, run->frame->scalars, &value);
        run->refused = true;
    }
    return true;
}

static void check_refusal(struct run *run, bool ended)
{
    const struct ir_kernel *kernel = run->certify->kernel;

    for (int k = 0; ended && k < kernel->preconditions.count; k++) {
        const struct ir_precondition *row = &kernel->preconditions.items[k];
        struct text what;
        if (!run->wanted[k])
            continue;
        text_init(&what);
        text_format(&what, "axis %d does not reach index ", row->axis);
        ir_print_expr(&what, row->index);
        text_string(&what, " though it fails that ");
        ir_print_expr(&what, row->condition);
        for (int d = 0; d < kernel->dims.count; d++)
            text_format(&what, ", %s = %lld", kernel->dims.items[d]->name, (long long)run->frame->dims[d]);
        for (int d = 0; d < kernel->attributes.count; d++)
            text_format(&what, ", %s = %lld", kernel->attributes.items[d]->name,
                        (long long)run->frame->scalars[d].i);
        wrong(run, "precondition", row->buffer, NULL, what.data ? what.data : "");
        text_free(&what);
    }
}

static bool find_division(struct ir_expr *expr, void *context)
{
    struct run *run = context;

    if (expr->kind == IR_OPERATION && expr->site && expr->site == run->trap.site && !expr->checked)
        wrong(run, "bounds", NULL, NULL, "a division that is not tested had divisor zero");
    return true;
}

static void check_division(struct run *run, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        ir_stmt_expressions(stmt, find_division, run);
        check_division(run, stmt->body);
        check_division(run, stmt->otherwise);
    }
}

/* Every element of the box was written. */
static void check_box(struct run *run, const struct ir_buffer *buffer, const struct analysis_box *box)
{
    int64_t low[AKG_MAX_RANK], high[AKG_MAX_RANK], index[AKG_MAX_RANK];
    int axis;

    for (int k = 0; k < buffer->rank; k++)
        if (!value_of(run, box->low[k], &low[k]) || !value_of(run, box->high[k], &high[k]) ||
            low[k] > high[k])
            return; /* it is empty */
    for (int k = 0; k < buffer->rank; k++) {
        index[k] = low[k];
        if (low[k] < 0 || high[k] >= run->shapes[buffer->index][k]) {
            wrong(run, "initialisation", buffer, low, "is said to be written, but there is no such element");
            return;
        }
    }
    do {
        if (!run->writes[buffer->index][place_of(run, buffer, index)]) {
            wrong(run, "initialisation", buffer, index, "is said to be written");
            return;
        }
        for (axis = buffer->rank - 1; axis >= 0 && index[axis]++ == high[axis]; axis--)
            index[axis] = low[axis];
    } while (axis >= 0);
}

static void check_outputs(struct run *run)
{
    const struct certificate *certificate = run->certify->certificate;

    for (int k = 0; k < certificate->buffers.count; k++) {
        const struct certificate_buffer *row = &certificate->buffers.items[k];
        const unsigned char *writes = run->writes[row->buffer->index];
        if (row->buffer->role != IR_OUTPUT)
            continue;
        run->certify->counts.outputs++;
        if (row->complete && memchr(writes, 0, (size_t)run->counts[row->buffer->index]))
            wrong(run, "initialisation", row->buffer, NULL, "is not written in full");
        for (int b = 0; b < row->gap->written.count; b++)
            check_box(run, row->buffer, &row->gap->written.items[b]);
        if (!row->complete && !row->buffer->clear)
            wrong(run, "initialisation", row->buffer, NULL, "is neither complete nor cleared");
    }
}

/* ---- races ---------------------------------------------------------------------------------------- */

static void keep_results(struct run *run)
{
    for (int k = 0; k < run->certify->kernel->buffers.count; k++)
        if (run->sizes[k])
            memcpy(run->after[k], run->first[k], run->sizes[k]);
}

static const struct ir_buffer *differs(const struct run *run)
{
    for (int k = 0; k < run->certify->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = run->certify->kernel->buffers.items[k];
        if (buffer->role != IR_TEMPORARY && run->sizes[k] &&
            memcmp(run->after[k], run->first[k], run->sizes[k]) != 0)
            return buffer;
    }
    return NULL;
}

/* Partial results of integers may be combined in any order. */
static bool accumulates_integers(const struct dependences *dependences)
{
    for (int k = 0; k < dependences->scalars.count; k++)
        if (dependences->scalars.items[k].use == DEPENDENCE_REDUCTION &&
            !dtype_is_integer(dependences->scalars.items[k].symbol->dtype))
            return false;
    for (int k = 0; k < dependences->items.count; k++) {
        const struct dependence *item = &dependences->items.items[k];
        if (item->reduction &&
            !dtype_is_integer(dependences->accesses.items[item->source].access->buffer->dtype))
            return false;
    }
    return true;
}

static void check_order(struct run *run, const struct dependence_loop *loop, uint64_t seed)
{
    struct interpreter_watch watch;
    const struct ir_buffer *different;
    char what[120];

    restore(run);
    run->certify->counts.orders++;
    bool ended = execute(run, 4 * REORDERED_STEPS, loop->stmt, seed, &watch);
    different = ended ? differs(run) : NULL;
    if (watch.exhausted || (ended && !different))
        return;
    snprintf(what, sizeof what, "%s in %s order of '%s' at line %d",
             ended ? "holds other results" : "the call stops", seed ? "another" : "the reverse",
             loop->stmt->symbol->name, loop->stmt->span.line);
    wrong(run, "race", different, NULL, what);
}

static void check_orders(struct run *run)
{
    const struct dependences *dependences = run->certify->certificate->dependences;
    bool integers = accumulates_integers(dependences);

    for (int k = 0; k < dependences->loops.count && k < LOOPS; k++) {
        const struct dependence_loop *loop = &dependences->loops.items[k];
        if (loop->stmt->kind != IR_FOR ||
            !(loop->verdict == DEPENDENCE_PARALLEL || (loop->verdict == DEPENDENCE_ACCUMULATES && integers)))
            continue;
        check_order(run, loop, 0);
        check_order(run, loop, UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(k + 1));
    }
}

/* ---- a call ----------------------------------------------------------------------------------------- */

bool certify_begin(struct certify *certify, struct ir_kernel *kernel)
{
    jmp_buf escape, *outer = kernel->arena->escape;

    *certify = (struct certify){.kernel = kernel};
    if (setjmp(escape)) {
        kernel->arena->escape = outer;
        return false;
    }
    kernel->arena->escape = &escape;
    certify->certificate = certificate_make(kernel, true);
    kernel->arena->escape = outer;
    return true;
}

void certify_end(struct certify *certify)
{
    certify->certificate = NULL; /* all of it is in the kernel's arena */
}

bool certify_call(struct certify *certify, const struct jit_frame *frame, struct text *message)
{
    struct interpreter_watch watch;
    struct run run;
    bool good = true;

    if (run_begin(&run, certify, frame, message) && look_at_preconditions(&run)) {
        bool ended = execute(&run, STEPS, NULL, 0, &watch);
        certify->counts.calls++;
        certify->counts.refused += run.refused;
        certify->counts.inside += !run.refused && ended;
        if (run.refused) {
            check_refusal(&run, ended);
        } else if (!ended) {
            check_division(&run, certify->kernel->body);
        } else {
            check_outputs(&run);
            keep_results(&run);
            if (STEPS - watch.steps < REORDERED_STEPS)
                check_orders(&run);
        }
        restore(&run);
        good = run.good;
    }
    run_end(&run);
    return good;
}

/* ---- witnesses -------------------------------------------------------------------------------------------
 */

/* What the call is about, of the three. */
struct question {
    const struct certificate_access *access;
    const struct certificate_buffer *buffer;
    const struct certificate_loop *loop;
};

static void check_buffer_witness(struct run *run, const struct certificate_buffer *row)
{
    const unsigned char *writes = run->writes[row->buffer->index];
    const struct ir_buffer *buffer = row->buffer;

    /* a temporary's counts are those of its last life */
    if (row->twice.call && buffer->role == IR_OUTPUT && writes[place_of(run, buffer, row->twice.index)] != 2)
        wrong(run, "witness", buffer, row->twice.index, "is not written twice");
    if (row->missing.call && writes[place_of(run, buffer, row->missing.index)])
        wrong(run, "witness", buffer, row->missing.index, "is written");
}

static void ask(struct run *run, const struct question *question)
{
    struct interpreter_watch watch;
    bool ended;

    run->loop = question->loop;
    if (question->access) {
        run->witness = &question->access->unwritten;
        run->seeing = question->access->access;
    }
    ended = execute(run, QUESTION_STEPS, NULL, 0, &watch);
    if (question->access && !run->seen)
        wrong(run, "witness", run->seeing->buffer, run->witness->index, "is not read before it is written");
    if (question->loop && !run->seen && (ended || watch.exhausted))
        wrong(run, "witness", question->loop->uses[0].buffer, question->loop->uses[0].index,
              "is not used by both iterations");
    if (question->buffer)
        check_buffer_witness(run, question->buffer);
}

/* Makes memory for the call and asks. Apart, since what a jump passes may lose its value. */
static bool ask_in(struct certify *certify, struct arena *arena, const struct certificate_call *call,
                   const struct question *question, struct text *message)
{
    struct certificate_trial trial;
    struct run run;

    if (!certificate_trial_make(&trial, arena, certify->kernel, call)) {
        if (certificate_accepts(certify->kernel, call->dims, call->scalars))
            return true; /* only too large to be run here */
        text_string(message, "witness: its call is refused\n");
        return false;
    }
    if (run_begin(&run, certify, &trial.frame, message))
        ask(&run, question);
    run_end(&run);
    return run.good;
}

static bool try_call(struct certify *certify, const struct certificate_call *call,
                     const struct question *question, struct text *message)
{
    struct arena arena;
    jmp_buf escape;

    arena_init(&arena, &escape);
    if (setjmp(escape)) {
        arena_free(&arena);
        return true;
    }
    bool good = ask_in(certify, &arena, call, question, message);
    arena_free(&arena);
    return good;
}

bool certify_witnesses(struct certify *certify, struct text *message)
{
    const struct certificate *certificate = certify->certificate;
    bool good = true;

    for (int k = 0; k < certificate->accesses.count; k++) {
        struct question question = {.access = &certificate->accesses.items[k]};
        if (!question.access->unwritten.call)
            continue;
        certify->counts.witnesses++;
        good &= try_call(certify, question.access->unwritten.call, &question, message);
    }
    for (int k = 0; k < certificate->buffers.count; k++) {
        struct question question = {.buffer = &certificate->buffers.items[k]};
        const struct certificate_call *calls[] = {question.buffer->twice.call, question.buffer->missing.call};
        for (int c = 0; c < 2; c++) {
            struct certificate_buffer only = *question.buffer;
            struct question one = {.buffer = &only};
            (c ? &only.twice : &only.missing)->call = NULL;
            certify->counts.witnesses += calls[c] != NULL;
            good &= !calls[c] || try_call(certify, calls[c], &one, message);
        }
    }
    for (int k = 0; k < certificate->loops.count; k++) {
        struct question question = {.loop = &certificate->loops.items[k]};
        if (!question.loop->clashes || !question.loop->uses[0].buffer) /* scalars are not watched */
            continue;
        certify->counts.clashes++;
        good &= try_call(certify, question.loop->call, &question, message);
    }
    return good;
}

bool certify_kernel(struct ir_kernel *kernel, const struct jit_frame *frame, struct text *message)
{
    struct certify certify;
    bool good = true;

    if (certify_begin(&certify, kernel)) {
        good = certify_witnesses(&certify, message);
        good &= certify_call(&certify, frame, message);
    }
    certify_end(&certify);
    return good;
}

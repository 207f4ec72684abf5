/*
 * trial.c: see trial.h.
 */
#include "trial.h"
#include "../base/memory.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* The memory that a buffer's elements span, `origin` bytes before element 0. */
struct trial_buffer {
    unsigned char *pristine; /* as the call had it; of what is only written: NULL */
    unsigned char *sides[2]; /* what each version works on; inputs share the pristine one */
    size_t size, origin;
    size_t place;   /* in its page, which is the call's: it may decide which version is faster */
    void *rooms[3]; /* that the copies lie in */
};

enum { PAGE = 4096 };

struct trial {
    const struct ir_kernel *kernel;
    const struct jit_sites *sites;
    struct deferred *deferred;
    struct trial_buffer *buffers;
    void **data;
    const int64_t **strides;
    int64_t *numbers; /* strides and dims, all in one */
    int64_t *dims;
    union jit_scalar *scalars;
};

/* ---- copies ------------------------------------------------------------------------------------ */

static void measure(const struct ir_buffer *buffer, const struct trial_view *view, struct trial_buffer *copy)
{
    int64_t low = 0, high = 0, element = dtype_table[buffer->dtype].size;
    for (int axis = 0; axis < buffer->rank; axis++) {
        if (view->shape[axis] == 0)
            return; /* no element: nothing is copied */
        int64_t reach = (view->shape[axis] - 1) * view->strides[axis];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    copy->origin = (size_t)(-low * element);
    copy->size = (size_t)((high - low + 1) * element);
    copy->place = ((uintptr_t)view->data - copy->origin) % PAGE;
}

/* Memory for one of the copies. */
static unsigned char *make_room(struct trial_buffer *copy, int number)
{
    unsigned char *room = copy->rooms[number] = memory_aligned(copy->size + PAGE);
    return room ? room + (copy->place - (uintptr_t)room) % PAGE : NULL;
}

static bool copy_buffer(const struct ir_buffer *buffer, const struct trial_view *view,
                        struct trial_buffer *copy)
{
    if (ir_buffer_is_input(buffer)) {
        copy->pristine = make_room(copy, 2);
        if (copy->pristine && copy->size)
            memcpy(copy->pristine, (const unsigned char *)view->data - copy->origin, copy->size);
    }
    for (int side = 0; side < 2; side++) {
        copy->sides[side] = buffer->role == IR_INPUT ? copy->pristine : make_room(copy, side);
        if (copy->sides[side] && !copy->pristine)
            memset(copy->sides[side], 0, copy->size); /* what the kernel does not write is no difference */
    }
    return copy->sides[0] && copy->sides[1] && (copy->pristine || !ir_buffer_is_input(buffer));
}

static bool copy_buffers(struct trial *trial, const struct trial_view *views)
{
    const struct ir_kernel *kernel = trial->kernel;
    const size_t most = (size_t)1 << 30;
    size_t total = 0;
    for (int k = 0; k < kernel->buffers.count; k++) {
        if (views[k].data)
            measure(kernel->buffers.items[k], &views[k], &trial->buffers[k]);
        if (trial->buffers[k].size > most || (total += trial->buffers[k].size) > most)
            return false;
    }
    for (int k = 0; k < kernel->buffers.count; k++)
        if (views[k].data && !copy_buffer(kernel->buffers.items[k], &views[k], &trial->buffers[k]))
            return false;
    return true;
}

/* Strides, dims and scalars, which the call keeps on its stack. */
static bool copy_numbers(struct trial *trial, const struct trial_view *views, const int64_t *dims,
                         const union jit_scalar *scalars)
{
    const struct ir_kernel *kernel = trial->kernel;
    size_t count = (size_t)kernel->dims.count, place = 0;
    for (int k = 0; k < kernel->buffers.count; k++)
        count += (size_t)kernel->buffers.items[k]->rank;
    trial->numbers = memory_zeroed(count + 1, sizeof *trial->numbers);
    trial->scalars = memory_zeroed((size_t)kernel->attributes.count + 1, sizeof *trial->scalars);
    if (!trial->numbers || !trial->scalars)
        return false;
    for (int k = 0; k < kernel->buffers.count; k++) {
        int rank = kernel->buffers.items[k]->rank;
        trial->strides[k] = trial->numbers + place;
        for (int axis = 0; views[k].data && axis < rank; axis++)
            trial->numbers[place + (size_t)axis] = views[k].strides[axis];
        place += (size_t)rank;
    }
    trial->dims = trial->numbers + place;
    for (int k = 0; k < kernel->dims.count; k++)
        trial->dims[k] = dims[k];
    for (int k = 0; k < kernel->attributes.count; k++)
        trial->scalars[k] = scalars[k];
    return true;
}

struct trial *trial_make(const struct ir_kernel *kernel, const struct jit_sites *sites,
                         struct deferred *deferred, const struct trial_view *views, const int64_t *dims,
                         const union jit_scalar *scalars)
{
    size_t count = (size_t)kernel->buffers.count + 1;
    struct trial *trial = memory_zeroed(1, sizeof *trial);
    if (!trial)
        return NULL;
    trial->kernel = kernel;
    trial->sites = sites;
    trial->deferred = deferred;
    trial->buffers = memory_zeroed(count, sizeof *trial->buffers);
    trial->data = memory_zeroed(count, sizeof *trial->data);
    trial->strides = memory_zeroed(count, sizeof *trial->strides);
    if (trial->buffers && trial->data && trial->strides && copy_numbers(trial, views, dims, scalars) &&
        copy_buffers(trial, views))
        return trial;
    trial_free(trial);
    return NULL;
}

void trial_free(struct trial *trial)
{
    if (!trial)
        return;
    for (int k = 0; trial->buffers && k < trial->kernel->buffers.count; k++)
        for (int room = 0; room < 3; room++)
            memory_free(trial->buffers[k].rooms[room]);
    memory_free(trial->buffers);
    memory_free(trial->data);
    memory_free(trial->strides);
    memory_free(trial->numbers);
    memory_free(trial->scalars);
    memory_free(trial);
}

/* ---- running -------------------------------------------------------------------------------------- */

struct trial_run {
    int stopped;
    struct jit_trap trap;
    double seconds;
};

/* A loop that threads may share, all of it here: compilers make other code of its part than of a loop in
 * line, and calls run the part. */
static int run_part(const struct jit_frame *frame, jit_part *part, int64_t low, int64_t high, int64_t step,
                    int grain, double work, const union jit_scalar *kept, const struct jit_own *own)
{
    (void)step, (void)grain, (void)work, (void)own;
    return part(frame, low, high, kept);
}

static bool is_in_place(const struct trial *trial)
{
    for (int k = 0; k < trial->kernel->buffers.count; k++)
        if (trial->kernel->buffers.items[k]->role == IR_INOUT)
            return true;
    return false;
}

/* What the kernel writes in place is as the call had it. */
static void restore(struct trial *trial, int side)
{
    for (int k = 0; k < trial->kernel->buffers.count; k++) {
        struct trial_buffer *copy = &trial->buffers[k];
        if (copy->pristine && copy->sides[side] != copy->pristine)
            memcpy(copy->sides[side], copy->pristine, copy->size);
    }
    atomic_thread_fence(memory_order_seq_cst); /* in the cache, and not on the way there */
}

/* `times` on what the call had, which is restored in between; without an entry that alone. */
static struct trial_run run_side(struct trial *trial, int side, jit_entry entry, int times)
{
    struct trial_run run = {.seconds = 0};
    struct jit_frame frame = {.data = trial->data,
                              .dims = trial->dims,
                              .strides = trial->strides,
                              .scalars = trial->scalars,
                              .trap = &run.trap,
                              .split = run_part,
                              .reach = trial->deferred->count ? deferred_reach : NULL,
                              .deferred = trial->deferred,
                              .threads = 1};
    bool restores = is_in_place(trial);
    struct timespec start, end;
    for (int k = 0; k < trial->kernel->buffers.count; k++) {
        struct trial_buffer *copy = &trial->buffers[k];
        trial->data[k] = copy->sides[side] ? copy->sides[side] + copy->origin : NULL;
    }
    if (restores)
        restore(trial, side);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int k = 0; k < times && !run.stopped; k++) {
        if (restores && k > 0)
            restore(trial, side);
        run.stopped = entry ? entry(&frame) : 0;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    run.seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    run.seconds /= times;
    return run;
}

/* ---- comparing ---------------------------------------------------------------------------------------- */

static double element_at(akg_dtype dtype, const unsigned char *bytes)
{
    union dtype_value value = dtype_load(dtype, bytes);
    return dtype == AKG_FLOAT64 ? value.d : (double)value.f;
}

/* How far two results of a float dtype may be apart, relative to the largest. */
static double tolerance_of(akg_dtype dtype)
{
    switch (dtype) {
    case AKG_FLOAT64:
        return 0x1p-44;
    case AKG_FLOAT32:
        return 0x1p-15;
    case AKG_FLOAT16:
        return 0x1p-6;
    default:
        return 0x1p-4;
    }
}

static bool floats_agree(akg_dtype dtype, const struct trial_buffer *copy, bool strict)
{
    size_t step = (size_t)dtype_table[dtype].size;
    double largest = 0;
    for (size_t at = 0; at < copy->size; at += step) {
        double known = fabs(element_at(dtype, copy->sides[0] + at));
        largest = isfinite(known) && known > largest ? known : largest;
    }
    double tolerance = strict ? 0 : tolerance_of(dtype) * largest;
    for (size_t at = 0; at < copy->size; at += step) {
        if (memcmp(copy->sides[0] + at, copy->sides[1] + at, step) == 0)
            continue;
        double known = element_at(dtype, copy->sides[0] + at), other = element_at(dtype, copy->sides[1] + at);
        if (isnan(known) && isnan(other))
            continue;
        if (strict || !(fabs(known - other) <= tolerance))
            return false;
    }
    return true;
}

static bool results_agree(const struct trial *trial, bool strict)
{
    for (int k = 0; k < trial->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = trial->kernel->buffers.items[k];
        const struct trial_buffer *copy = &trial->buffers[k];
        if (buffer->role == IR_INPUT || buffer->role == IR_TEMPORARY || !copy->size)
            continue;
        if (dtype_is_float(buffer->dtype) ? !floats_agree(buffer->dtype, copy, strict)
                                          : memcmp(copy->sides[0], copy->sides[1], copy->size) != 0)
            return false;
    }
    return true;
}

/* How often a kernel runs for one sample: so long that it is past what processors have learned of its
 * branches in the first some hundred runs, and forget again, and that the clock's steps do not matter. */
static int times_of(double seconds)
{
    enum { MOST = 10000 };
    const double sample = 5e-4;
    return seconds * MOST < sample ? MOST : seconds < sample ? (int)(sample / seconds) : 1;
}

static bool is_site(const struct trial *trial, const struct jit_trap *trap)
{
    return trap->site >= 1 && trap->site <= trial->sites->rows.count;
}

/* At the same place of the program, whatever its number in either version. A compiler that is wrong may make
 * any number. */
static bool same_stop(const struct trial *trial, const struct jit_trap *a, const struct jit_trap *b)
{
    if (!is_site(trial, a) || !is_site(trial, b))
        return false;
    const struct jit_site *first = &trial->sites->rows.items[a->site - 1];
    const struct jit_site *second = &trial->sites->rows.items[b->site - 1];
    return first->kind == second->kind && first->span.line == second->span.line &&
           first->span.column == second->span.column && a->axis == b->axis && a->index == b->index;
}

/* The versions change places from round to round: of copies that L2 just holds, where their pages lie in
 * memory decides how many of them it does, which is no merit of the code. */
enum trial_verdict trial_run(struct trial *trial, jit_entry known, jit_entry candidate, bool strict,
                             double *ratio)
{
    enum { ROUNDS = 6, MOST_ROUNDS = 500 };
    const double little = 2e-3, enough = 0.2; /* seconds */
    const double margin =
        0.95; /* what is as fast is not worth it, and where other calls have their tensors may make as much */
    *ratio = 1;
    const bool restores = is_in_place(trial);
    double best[2] = {INFINITY, INFINITY}, restoring = INFINITY, spent = 0;
    int times = 1;
    for (int round = 0; round < ROUNDS || (round < MOST_ROUNDS && spent < little); round++) {
        if (spent >= enough)
            break;
        struct trial_run first = run_side(trial, round % 2, known, times);
        struct trial_run second = run_side(trial, 1 - round % 2, candidate, times);
        if (first.stopped != second.stopped)
            return TRIAL_DIFFERENT;
        if (first.stopped)
            return same_stop(trial, &first.trap, &second.trap) ? TRIAL_STOPPED : TRIAL_DIFFERENT;
        if (round == 0 && !results_agree(trial, strict))
            return TRIAL_DIFFERENT;
        spent += (first.seconds + second.seconds) * times;
        if (round == 0) {
            times = times_of(first.seconds + (restores ? 2 * run_side(trial, 0, NULL, 2).seconds : 0));
            if (times > 1)
                continue; /* it was the first in a while, too */
        }
        double neither = restores ? run_side(trial, round % 2, NULL, times).seconds : 0;
        best[0] = first.seconds < best[0] ? first.seconds : best[0];
        best[1] = second.seconds < best[1] ? second.seconds : best[1];
        restoring = neither < restoring ? neither : restoring;
    }
    *ratio = best[1] > restoring && best[0] > restoring ? (best[1] - restoring) / (best[0] - restoring) : 1;
    return *ratio < margin ? TRIAL_FASTER : TRIAL_SLOWER;
}

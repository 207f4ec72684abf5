/*
 * test_trial.c: two versions of a kernel on copies of what a call had: written here in C, so that they can
 * tell what they were given.
 */
#include "../../jit/trial.h"
#include "check.h"
#include "jit_pair.h"

#include <stdint.h>
#include <time.h>

enum { LENGTH = 100, PAGE = 4096 };

static const char to_another[] = "kernel add {\n  input x: float32[N]\n  output y: float32[N]\n  results y\n"
                                 "  body {\n    for i = 0 to N step 1 {\n      y[i] = (x[i] + 1.0:float32)\n"
                                 "    }\n  }\n}\n";
static const char in_place[] =
    "kernel add {\n  inout y: float32[N]\n  results y\n  body {\n"
    "    for i = 0 to N step 1 {\n      y[i] = (y[i] + 1.0:float32)\n    }\n  }\n}\n";

/* What the versions see, and what the candidate adds. */
static int buffer_count, calls;
static void *seen[2];
static void *written[2]; /* the first and the last place that the candidate stored to */
static float added = 1;
static bool is_fresh = true; /* the candidate saw what the call had, each time */

static int add(const struct jit_frame *frame, float number)
{
    const float *x = frame->data[0];
    float *y = frame->data[buffer_count - 1];
    for (int i = 0; i < LENGTH; i++)
        y[i] = x[i] + number;
    return 0;
}

static int known(const struct jit_frame *frame)
{
    return add(frame, 1);
}

static int candidate(const struct jit_frame *frame)
{
    calls++;
    is_fresh &= ((const float *)frame->data[0])[LENGTH - 1] == LENGTH - 1;
    for (int k = 0; k < buffer_count; k++)
        seen[k] = frame->data[k];
    if (frame->data[buffer_count - 1] != written[0])
        written[written[0] != NULL] = frame->data[buffer_count - 1];
    return add(frame, added);
}

static int slow(const struct jit_frame *frame)
{
    const struct timespec pause = {.tv_nsec = 100000};
    nanosleep(&pause, NULL);
    return add(frame, 1);
}

static bool is_at_same_place(const void *a, const void *b)
{
    return ((uintptr_t)a - (uintptr_t)b) % PAGE == 0;
}

/* The buffers begin at that byte of a page. */
static void check_trial(const char *text, int buffers, size_t place)
{
    static _Alignas(PAGE) unsigned char memory[2][2 * PAGE];
    static const int64_t shape[] = {LENGTH}, strides[] = {1};
    struct jit_pair pair;
    struct deferred deferred = {.count = 0};
    struct trial_view views[2];
    double ratio;
    buffer_count = buffers;
    pair_init(&pair);
    if (!CHECK(pair_read(&pair, text)))
        return;
    for (int k = 0; k < buffers; k++) {
        views[k] = (struct trial_view){memory[k] + place + 64 * (size_t)k, shape, strides};
        for (int i = 0; i < LENGTH; i++)
            ((float *)views[k].data)[i] = (float)i;
    }
    struct trial *trial = trial_make(pair.kernel, &pair.sites, &deferred, views, shape, NULL);
    if (CHECK(trial)) {
        calls = 0;
        written[0] = written[1] = NULL;
        CHECK_INT(trial_run(trial, slow, candidate, true, &ratio), TRIAL_FASTER);
        CHECK(written[1]); /* neither version has the better memory */
        CHECK(ratio > 0 && ratio < 0.9);
        CHECK(calls >= 6);
        for (int k = 0; k < buffers; k++)
            CHECK(seen[k] != views[k].data && is_at_same_place(seen[k], views[k].data));
        calls = 0;
        trial_run(trial, known, candidate, true, &ratio);
        CHECK(calls >= 1000); /* long enough to tell short ones apart */
        CHECK(is_fresh);
        CHECK_INT(trial_run(trial, known, slow, true, &ratio), TRIAL_SLOWER);
        added = 2;
        CHECK_INT(trial_run(trial, slow, candidate, false, &ratio), TRIAL_DIFFERENT);
        added = 1;
    }
    trial_free(trial);
    pair_free(&pair);
}

int main(void)
{
    for (size_t place = 0; place < PAGE; place += 1004) {
        check_trial(to_another, 2, place);
        check_trial(in_place, 1, place);
    }
    return check_done();
}

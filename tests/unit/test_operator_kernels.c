/*
 * test_operator_kernels.c: kernels of operators written in C: the conditions that choose among them, scratch
 * memory, empty outputs, calls by several threads while kernels are added, and how they fail.
 */
#include "native_operator.h"

#include <pthread.h>

/* ---- conditions ---------------------------------------------------------------------------------------- */

static akg_status nothing(akg_invocation *invocation)
{
    (void)invocation;
    return AKG_OK;
}

/* Whether a call with these arguments satisfies the condition; -1 when it cannot be read. */
static int holds(const char *condition, const akg_argument *arguments, size_t count)
{
    akg_operand inputs[] = {{.name = "a"},
                            {.name = "b", .optional = true},
                            {.name = "many", .count = 2, .at_least = true, .optional = true}};
    akg_kernel_definition kernel = {.name = "only", .condition = condition, .compute = nothing};
    akg_operator_definition definition = {.name = "condition",
                                          .inputs = inputs,
                                          .outputs = one_out,
                                          .input_count = 3,
                                          .output_count = 1,
                                          .attributes = all_attributes + 1,
                                          .attribute_count = API_COUNT(all_attributes) - 1,
                                          .kernels = &kernel,
                                          .kernel_count = 1};
    akg_registry *own;
    akg_operator *found;
    akg_tensor *y = NULL;
    akg_status status;
    int result = -1;

    akg_diagnostics_free(diagnostics);
    CHECK_INT(akg_registry_create(&own), AKG_OK);
    status = akg_registry_add_operator(own, &definition, &diagnostics);
    if (status == AKG_OK && akg_registry_find(own, "condition", &found, NULL) == AKG_OK) {
        status = akg_call(NULL, found, arguments, count, &y, &diagnostics);
        CHECK(status == AKG_OK || strcmp(api_error(diagnostics), "no-kernel") == 0);
        result = status == AKG_OK;
    } else {
        CHECK_STRING(api_error(diagnostics), "kernel-condition");
    }
    akg_tensor_release(y);
    akg_registry_release(own);
    return result;
}

static void test_conditions(void)
{
    static const int64_t shape[] = {2, 3, 4, 5}, channels_last[] = {60, 1, 15, 3};
    akg_tensor *base, *a, *b = api_vector(AKG_INT8, 2, 0, 1);
    static const struct {
        const char *condition;
        int holds;
    } rows[] = {
        {"device == cpu", 1},
        {"device == cuda", 0},
        {"device in (cuda, cpu)", 1},
        {"dtype(a) == float32", 1},
        {"dtype(a) != float32", 0},
        {"dtype(b) in (int8, int16)", 1},
        {"rank(a) == 4 and rank(b) == 1", 1},
        {"rank(a) > 4 or rank(b) > 1", 0},
        {"rank(a) >= 4 and rank(b) <= 1 and rank(a) < 5", 1},
        {"not rank(a) == 4", 0},
        {"not (rank(a) == 3 or small < 11)", 1},
        {"rank(b) == 2 and rank(b) == 3 or flag", 1},
        {"rank(b) == 2 and (rank(b) == 3 or flag)", 0},
        {"not flag", 0},
        {"flag == True", 1},
        {"flag != False and not not flag", 1},
        {"mode == 'sum'", 1},
        {"mode == mean", 0},
        {"single == 11 and real < 11.5 and real > 1.05e1", 1},
        {"large > -9223372036854775808", 1},
        {"large == 9223372036854775807", 0},
        {"dtype == float64", -1}, /* the term, not the attribute of that name */
        {"format(a) == NHWC", 1},
        {"format(a) == NCHW", 0},
        {"format(a) == default", 1},
        {"format(a) == contiguous", 0},
        {"format(b) == contiguous and format(b) != NCHW", 1},
        {"dtype(many) == float32", 0}, /* left out */
        {"not dtype(many, 1) == float32", 1},
        {"dtype(out, 0) == float32", 1},
        {"dtype(out, 1) == float32", 0},
        {"", -1},
        {"rank(a)", -1},
        {"small", -1},
        {"rank(a) == four", -1},
        {"dtype(a) == 4", -1},
        {"dtype(a) == float31", -1},
        {"dtype(a) < float64", -1},
        {"device == tpu", -1},
        {"format(a) == NWHC", -1},
        {"flag == maybe", -1},
        {"dtype(c) == float32", -1},
        {"dtype a == float32", -1},
        {"rank(a, x) == 4", -1},
        {"rank(a == 4", -1},
        {"(rank(a) == 4", -1},
        {"rank(a) == 4)", -1},
        {"rank(a) == 4 rank(b) == 1", -1},
        {"rank(a) ==", -1},
        {"rank(a) in 4", -1},
        {"rank(a) in (3, 4", -1},
        {"rank(a) in ()", -1},
        {"unknown == 3", -1},
        {"integers == 3", -1},
        {"and", -1},
    };

    CHECK_INT(akg_tensor_create(AKG_FLOAT32, 4, shape, &base), AKG_OK);
    CHECK_INT(akg_tensor_view(base, 4, shape, channels_last, 0, &a), AKG_OK);
    akg_argument arguments[] = {api_tensor("a", a), api_tensor("b", b)};
    for (size_t i = 0; i < API_COUNT(rows); i++)
        if (!CHECK(holds(rows[i].condition, arguments, 2) == rows[i].holds))
            fprintf(stderr, "    %s: should be %d; %s\n", rows[i].condition, rows[i].holds,
                    diagnostics ? akg_diagnostics_at(diagnostics, 0)->message : "");
    /* what is blamed: what makes it so, and nothing else */
    CHECK_INT(
        holds("rank(a) == 4 and not (rank(b) == 1 and mode == sum) and dtype(many) == int8", arguments, 2),
        0);
    CHECK(api_says(diagnostics, "does not fit: rank(b) is 1, mode is sum, dtype(many) was left out"));
    CHECK_INT(holds("format(a) == NCHW", arguments, 2), 0);
    CHECK(api_says(diagnostics, "does not fit: format(a) is NHWC"));
    /* deep and long ones */
    char text[6000];
    memset(text, '(', 1000);
    strcpy(text + 1000, "flag");
    CHECK_INT(holds(text, arguments, 2), -1);
    CHECK(api_says(diagnostics, "it is nested too deeply"));
    memset(text, ' ', 5000);
    strcpy(text + 5000, "flag");
    CHECK_INT(holds(text, arguments, 2), -1);
    CHECK(api_says(diagnostics, "it is too long"));
    akg_diagnostics_free(diagnostics);
    diagnostics = NULL;
    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(base);
}

/* ---- choice among kernels ---------------------------------------------------------------------------------
 */

#define MARKS(name, value)                                                                                   \
    static akg_status name(akg_invocation *invocation)                                                       \
    {                                                                                                        \
        akg_tensor_fill(akg_invocation_output(invocation, "out", 0), value);                                 \
        return AKG_OK;                                                                                       \
    }
MARKS(mark_one, 1)
MARKS(mark_two, 2)
MARKS(mark_three, 3)

static void test_selection(void)
{
    static const akg_kernel_definition kernels[] = {
        {.name = "one", .compute = mark_one},
        {.name = "two", .condition = "rank(in) == 2", .priority = 1, .compute = mark_two},
    };
    static const akg_kernel_definition third = {
        .name = "three", .condition = "dtype(in) == float32", .priority = 1, .compute = mark_three};
    static const akg_kernel_definition again = {.name = "one", .compute = mark_three};
    static const akg_kernel_definition broken = {
        .name = "four", .condition = "rank(x) == 1", .compute = mark_one};
    static const akg_kernel_definition empty = {.name = "five"};
    akg_operator_definition choose = {.name = "choose",
                                      .inputs = one_in,
                                      .outputs = one_out,
                                      .input_count = 1,
                                      .output_count = 1,
                                      .kernels = kernels,
                                      .kernel_count = 2};
    static const int64_t shape[] = {1, 1};
    akg_tensor *vector = api_vector(AKG_FLOAT64, 1, 0, 0), *matrix = api_range(AKG_FLOAT32, 2, shape, 0, 0);
    akg_tensor *y = api_vector(AKG_FLOAT64, 1, 0, 0), *z = api_range(AKG_FLOAT32, 2, shape, 0, 0);
    akg_argument arguments[] = {api_tensor(NULL, vector), api_tensor(NULL, matrix)};

    ACCEPTED(akg_registry_add_operator(registry, &choose, &diagnostics));
    ACCEPTED(call("choose", arguments, 1, &y));
    CHECK_INT(api_element(y, 0), 1);
    ACCEPTED(call("choose", arguments + 1, 1, &z));
    CHECK_INT(api_element(z, 0), 2);
    ACCEPTED(akg_registry_add_kernel(registry, "choose", &third, &diagnostics));
    ACCEPTED(call("choose", arguments, 1, &y));
    CHECK_INT(api_element(y, 0), 1);
    REFUSED(call("choose", arguments + 1, 1, &z), AKG_ERROR_CALL, "kernel-tie",
            "kernels 'two' and 'three' of 'choose' both fit this call, with the same priority 1");
    REFUSED(akg_registry_add_kernel(registry, "choose", &again, &diagnostics), AKG_ERROR_USAGE,
            "kernel-twice", "'choose' has two kernels called 'one'");
    REFUSED(akg_registry_add_kernel(registry, "choose", &broken, &diagnostics), AKG_ERROR_USAGE,
            "kernel-condition", "there is no input or output 'x'");
    REFUSED(akg_registry_add_kernel(registry, "choose", &empty, &diagnostics), AKG_ERROR_USAGE,
            "operator-definition", "kernel 'five' has no function 'compute'");
    REFUSED(akg_registry_add_kernel(registry, "chose", &third, &diagnostics), AKG_ERROR_USAGE,
            "operator-unknown", "did you mean 'choose'?");
    choose.name = "chooseless";
    choose.kernel_count = 0;
    ACCEPTED(akg_registry_add_operator(registry, &choose, &diagnostics));
    REFUSED(call("chooseless", arguments, 1, &y), AKG_ERROR_CALL, "no-kernel", "it has no kernels at all");
    akg_tensor_release(vector);
    akg_tensor_release(matrix);
    akg_tensor_release(y);
    akg_tensor_release(z);
}

/* ---- scratch, empty outputs -------------------------------------------------------------------
 */

static int computed;
static void *last_scratch;

static size_t scratch_bytes(const akg_invocation *invocation)
{
    return 8 * (size_t)akg_tensor_element_count(akg_invocation_input(invocation, "in", 0));
}

/* out = in reversed, through the scratch */
static akg_status scratch_compute(akg_invocation *invocation)
{
    const akg_tensor *in = akg_invocation_input(invocation, "in", 0);
    int64_t count = akg_tensor_element_count(in), *scratch = akg_invocation_scratch(invocation);
    const int64_t *from = akg_tensor_data(in);
    int64_t *to = akg_tensor_data(akg_invocation_output(invocation, "out", 0));

    computed++;
    last_scratch = scratch;
    CHECK((uintptr_t)scratch % 64 == 0);
    for (int64_t i = 0; i < count; i++)
        scratch[i] = from[i];
    for (int64_t i = 0; i < count; i++)
        to[i] = scratch[count - 1 - i];
    return AKG_OK;
}

static void test_scratch(void)
{
    akg_kernel_definition kernel = {.name = "any", .compute = scratch_compute, .scratch_size = scratch_bytes};
    akg_operator_definition reverse = {.name = "reversed",
                                       .inputs = one_in,
                                       .outputs = one_out,
                                       .input_count = 1,
                                       .output_count = 1,
                                       .kernels = &kernel,
                                       .kernel_count = 1};
    akg_tensor *x = api_vector(AKG_INT64, 100, 0, 1), *y = NULL, *empty = api_vector(AKG_INT64, 0, 0, 1);
    akg_argument argument = api_tensor(NULL, x);
    void *first;

    ACCEPTED(akg_registry_add_operator(registry, &reverse, &diagnostics));
    computed = 0;
    ACCEPTED(call("reversed", &argument, 1, &y));
    CHECK_INT(api_element(y, 0), 99);
    first = last_scratch;
    ACCEPTED(call("reversed", &argument, 1, &y));
    CHECK(last_scratch == first); /* the registry kept it */
    CHECK_INT(computed, 2);
    akg_tensor_release(y);
    y = NULL;
    /* empty: the kernel is not called, unless it wants to be */
    argument = api_tensor(NULL, empty);
    ACCEPTED(call("reversed", &argument, 1, &y));
    CHECK(y && akg_tensor_element_count(y) == 0);
    CHECK_INT(computed, 2);
    akg_tensor_release(y);
    y = NULL;
    kernel.always_compute = true;
    reverse.name = "reversed_always";
    ACCEPTED(akg_registry_add_operator(registry, &reverse, &diagnostics));
    ACCEPTED(call("reversed_always", &argument, 1, &y));
    CHECK_INT(computed, 3);
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_tensor_release(empty);
}

/* ---- threads ------------------------------------------------------------------------------------------- */

static akg_status threaded_compute(akg_invocation *invocation)
{
    int64_t *scratch = akg_invocation_scratch(invocation);
    const int64_t *from = akg_tensor_data(akg_invocation_input(invocation, "in", 0));
    int64_t *to = akg_tensor_data(akg_invocation_output(invocation, "out", 0));

    for (int i = 0; i < 16; i++)
        scratch[i] = from[i] + 1;
    for (int i = 0; i < 16; i++)
        to[i] = scratch[i];
    return AKG_OK;
}

enum { THREADS = 3, CALLS = 100 };

/* Calls the operator while others do, and while kernels are added to it; gives how often it was right. */
static void *call_often(void *context)
{
    akg_operator *callee = context;
    intptr_t right = 0;

    for (int i = 0; i < CALLS; i++) {
        akg_tensor *x = api_vector(AKG_INT64, 16, i, 1), *y = NULL;
        akg_argument argument = api_tensor(NULL, x);
        right += akg_call(NULL, callee, &argument, 1, &y, NULL) == AKG_OK && api_element(y, 15) == i + 16;
        akg_tensor_release(x);
        akg_tensor_release(y);
    }
    return (void *)right;
}

static void test_threads(void)
{
    akg_kernel_definition kernel = {
        .name = "any", .compute = threaded_compute, .scratch_size = scratch_bytes};
    akg_operator_definition threaded = {.name = "threaded",
                                        .inputs = one_in,
                                        .outputs = one_out,
                                        .input_count = 1,
                                        .output_count = 1,
                                        .kernels = &kernel,
                                        .kernel_count = 1};
    pthread_t threads[THREADS];
    char name[16];

    ACCEPTED(akg_registry_add_operator(registry, &threaded, &diagnostics));
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, call_often, find("threaded")), 0);
    kernel.condition = "rank(in) == 7";
    kernel.name = name;
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "more_%d", i);
        ACCEPTED(akg_registry_add_kernel(registry, "threaded", &kernel, &diagnostics));
    }
    for (int i = 0; i < THREADS; i++) {
        void *right = NULL;
        pthread_join(threads[i], &right);
        CHECK_INT((intptr_t)right, CALLS);
    }
}

/* ---- failures -------------------------------------------------------------------------------------------
 */

static akg_status fail_without_reason(akg_invocation *invocation)
{
    (void)invocation;
    return AKG_ERROR_IO;
}

static akg_status fail_with_reason(akg_invocation *invocation)
{
    akg_invocation_refuse(invocation, "the sky is the wrong colour");
    return akg_invocation_refuse(invocation, "this is told no more");
}

static void test_failures(void)
{
    akg_kernel_definition kernel = {.name = "broken", .compute = fail_without_reason};
    akg_operator_definition failing = {.name = "failing",
                                       .inputs = one_in,
                                       .outputs = one_out,
                                       .input_count = 1,
                                       .output_count = 1,
                                       .kernels = &kernel,
                                       .kernel_count = 1};
    akg_tensor *x = api_vector(AKG_INT64, 3, 0, 1), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);

    ACCEPTED(akg_registry_add_operator(registry, &failing, &diagnostics));
    REFUSED(call("failing", &argument, 1, &y), AKG_ERROR_CALL, "operator-failed",
            "'broken' of operator 'failing' failed: ");
    failing.name = "refusing";
    kernel.compute = fail_with_reason;
    ACCEPTED(akg_registry_add_operator(registry, &failing, &diagnostics));
    REFUSED(call("refusing", &argument, 1, &y), AKG_ERROR_CALL, "operator-refused",
            "'refusing': the sky is the wrong colour");
    failing.name = "silent";
    failing.infer = nothing;
    ACCEPTED(akg_registry_add_operator(registry, &failing, &diagnostics));
    REFUSED(call("silent", &argument, 1, &y), AKG_ERROR_CALL, "operator-infer", "'silent'");
    CHECK(!y);
    akg_tensor_release(x);
}

int main(void)
{
    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    test_conditions();
    test_selection();
    test_scratch();
    test_threads();
    test_failures();
    akg_registry_release(registry);
    return check_done();
}

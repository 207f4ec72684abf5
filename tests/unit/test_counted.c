/*
 * test_counted.c: whiles that count, against the same loops whose step is an element of a tensor, which stay
 * whiles: the same results, and none where these give none.
 *
 * Programs are put together at random from where a loop begins, how long it goes on, by how much it counts,
 * what it does, and what the program goes on with behind it.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"
#include "outcome.h"

#include <stdio.h>

enum { PROGRAMS = 400, CALLS = 4, ARGUMENTS = 2 };

/* Upwards, and downwards. */
static const char *const begins[2][5] = {{"0", "j", "j + 2", "5", "0 - j"},
                                         {"n - 1", "j", "n + 2", "j + j", "7"}};

static const char *const conditions[2][10] = {
    {"i < n", "i <= j", "i < 6 and i + j < n", "i + j < n and i < 6", "n > i", "i < n and x[i % n] < 3",
     "x[j] > 1 and j + 4 >= i", "i + 0 < n", "i * 2 < n", "i < n - j and float32(i) < s + 5"},
    {"i >= 0", "i > j - 3", "i > 0 and i > j", "0 < i", "i >= j // 2", "i >= 0 and x[i % n] < 3",
     "0 - 2 <= i", "i + 1 > 0", "i >= 0 and s < 9", "not (i < 0)"}};

static const int64_t steps[2][3] = {{1, 2, 5}, {-1, -2, -3}};

static const char *const bodies[] = {
    "            s += float32(i)\n",
    "            s += x[i % n]\n            m[j] += 1\n",
    "            if i == 3:\n                break\n            s += float32(i * 2)\n",
    "            if x[i % n] > 2:\n                s += 1\n            else:\n                s -= "
    "float32(i)\n",
    "            p = 0\n            while p < i and p < 4:\n                s += float32(p)\n                "
    "p += 1\n",
    "            for p in range(3):\n                if p > i:\n                    break\n                s "
    "+= float32(p)\n",
    "            s += float32(i)\n            i += 1\n            i -= 1\n",
    "            j2 = i + 1\n            s += x[j2 % n] + float32(j2)\n",
    "            if s > 4:\n                i += 1\n                break\n            s += float32(i)\n",
    "            if s > 4:\n                if x[i % n] > 1:\n                    break\n                s "
    "+= 2\n            s += 1\n",
};

static const char *const afters[] = {"0", "float32(i)", "float32(i * 2)", "x[i % n]"};

/* The counter is an int64, as an index is, or an int32, where m gets it. */
static const char program_form[] = "def k(x: float32[N], d: %s[2]):\n"
                                   "    n = x.shape[0]\n"
                                   "    y = output_tensor((n,), x.dtype)\n"
                                   "    m = allocate((n,), int32)\n"
                                   "    for j in range(n):\n"
                                   "        m[j] = 0\n"
                                   "        s = 0.0\n"
                                   "        i = %s\n"
                                   "        while %s:\n"
                                   "%s"
                                   "            i += %s\n"
                                   "        m[j] += %s\n"
                                   "        y[j] = s * 3 + %s + float32(m[j])\n"
                                   "    return y\n";

static bool check_call(const struct outcome_program *program, const akg_module *plain, akg_dtype dtype,
                       int64_t step)
{
    static const int64_t lengths[] = {1, 2, 7, 20};
    const int64_t n = OUTCOME_ANY(lengths), two = 2, first = 0, second = 1;
    akg_tensor *x = outcome_filled(1, &n), *d = NULL;
    if (!CHECK(akg_tensor_create(dtype, 1, &two, &d) == AKG_OK))
        return false;
    akg_tensor_set(d, &first, (double)step);
    akg_tensor_set(d, &second, 0);
    akg_argument arguments[ARGUMENTS] = {api_tensor(NULL, x), api_tensor(NULL, d)};
    bool finished = outcome_check(program, arguments, ARGUMENTS, "counted");
    struct outcome counted = outcome_of(program->slow, arguments, ARGUMENTS);
    struct outcome expected = outcome_of(plain, arguments, ARGUMENTS);
    if (!CHECK(!counted.output == !expected.output) ||
        (counted.output && !CHECK(api_same_numbers(counted.output, expected.output))))
        fprintf(stderr, "n=%d\n%s", (int)n, program->text);
    outcome_drop(&counted);
    outcome_drop(&expected);
    akg_tensor_release(x);
    akg_tensor_release(d);
    return finished;
}

static int check_program(void)
{
    char text[1500], plain_text[1500], number[20];
    int finished = 0, down = outcome_below(2);
    const char *begin = OUTCOME_ANY(begins[down]), *condition = OUTCOME_ANY(conditions[down]);
    const char *body = OUTCOME_ANY(bodies), *after = OUTCOME_ANY(afters);
    int64_t step = OUTCOME_ANY(steps[down]);
    akg_dtype dtype = outcome_below(2) ? AKG_INT64 : AKG_INT32;
    const char *name = akg_dtype_name(dtype), *counted = dtype == AKG_INT32 ? "i" : "1";
    snprintf(number, sizeof number, "%d", (int)step);
    snprintf(text, sizeof text, program_form, name, begin, condition, body, number, counted, after);
    snprintf(plain_text, sizeof plain_text, program_form, name, begin, condition, body, "d[0]", counted,
             after);
    struct outcome_program program = outcome_compile(text, false);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_module *plain = outcome_module(plain_text, &options);
    for (int k = 0; k < CALLS && program.count && plain; k++)
        finished += check_call(&program, plain, dtype, step);
    akg_module_release(plain);
    outcome_release(&program);
    return finished;
}

int main(void)
{
    return outcome_run(PROGRAMS, check_program);
}

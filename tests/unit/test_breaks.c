/*
 * test_breaks.c: loops that conditions break out of, against the interpreter: results to the bit, or the same
 * message.
 *
 * Programs are put together at random: loops upwards and downwards, by one and by more, breaks that stand
 * first, behind others, in the other branch and last, `not`, `and` and `or` of comparisons of sums. Numbers
 * are small and whole, so that sums are exact.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"
#include "outcome.h"

#include <stdio.h>

enum { PROGRAMS = 500, CALLS = 5, ARGUMENTS = 3 };

static const char *const ranges[] = {"6",        "K",     "1, K",      "0, 9, 3",   "i",
                                     "i, N",     "-2, 5", "K, -1, -1", "i, -1, -1", "N - 1, i, -2",
                                     "i, i + K", "N",     "1, 70"};

static const char *const conditions[] = {
    "i + k >= N",         "i + k > N - 1",
    "N <= i + k",         "k > i",
    "i - k < 0",          "k >= N",
    "k < i - 3",          "i + 2 * k >= N",
    "i + k + 1 >= N",     "k - i < 0 - 2",
    "i + k - K // 2 < 0", "2 * k > k + 4",
    "i * 3 - 2 * i < k",  "k % 3 == 2",
    "x[i] > 2.0",         "i + K * k >= N",
    "i * K + k > N",      "k * K - i > 2 and i + k >= N",
    "k * 3 >= w[i]",      "w[i] <= k * K",
    "K * (N - k) < i",    "k >= w[i]",
    "k > w[N - 1]",       "w[i] <= k",
};

/* %1$s: a condition, %2$s: another one. */
static const char *const bodies[] = {
    "            if %1$s:\n                break\n            s += x[(i + k) % N]\n",
    "            if not %1$s:\n                break\n            s += x[(i + k) % N]\n",
    "            if %1$s or %2$s:\n                break\n            s += x[(i + k) % N] * 2.0\n",
    "            if %1$s and %2$s:\n                break\n            s += x[(i + k) % N]\n",
    "            if not (%1$s and %2$s):\n                break\n            s += 1.0\n",
    "            if %1$s:\n                s += x[i]\n            else:\n                break\n            "
    "s += 2.0\n",
    "            if %1$s:\n                break\n            else:\n                s += x[i]\n            "
    "s += 2.0\n",
    "            s += x[(i + k) % N]\n            if %1$s:\n                break\n",
    "            if %2$s:\n                continue\n            s += 1.0\n            if %1$s:\n            "
    "    break\n",
    "            if %2$s:\n                continue\n            if %1$s:\n                break\n           "
    " s += x[i]\n",
    "            s += 1.0\n            if %1$s or %2$s:\n                break\n            s += x[i]\n",
    "            p = i + k\n            if %1$s:\n                break\n            if %2$s:\n              "
    "  break\n"
    "            s += x[p]\n",
};

static const char program_form[] = "def k(x, w, K: int):\n"
                                   "    N = x.shape[0]\n"
                                   "    y = output_tensor(x.shape, x.dtype)\n"
                                   "    for i in range(N):\n"
                                   "        s = 0.0\n"
                                   "        for k in range(%s):\n"
                                   "%s"
                                   "        y[i] = s\n"
                                   "    return y\n";

/* One call; whether it gave a result. */
static bool check_call(const struct outcome_program *program)
{
    static const int64_t lengths[] = {0, 1, 2, 5, 16, 33, 70};
    const int64_t n = OUTCOME_ANY(lengths), window = outcome_below(12) - 1;
    akg_tensor *x = outcome_filled(1, &n), *w = NULL;
    const int64_t length = n - outcome_below(8) / 7;
    if (!CHECK(akg_tensor_create(AKG_INT32, 1, length < 0 ? &n : &length, &w) == AKG_OK))
        return false;
    for (int64_t k = 0; k < akg_tensor_element_count(w); k++)
        akg_tensor_set(w, &k, outcome_below(9) - 2);
    akg_argument arguments[ARGUMENTS] = {api_tensor(NULL, x), api_tensor(NULL, w), api_int(NULL, window)};
    char about[50];
    snprintf(about, sizeof about, "N=%d K=%d", (int)n, (int)window);
    bool finished = outcome_check(program, arguments, ARGUMENTS, about);
    akg_tensor_release(x);
    akg_tensor_release(w);
    return finished;
}

static int check_program(void)
{
    char body[700], text[1500];
    int finished = 0;
    snprintf(body, sizeof body, OUTCOME_ANY(bodies), OUTCOME_ANY(conditions), OUTCOME_ANY(conditions));
    snprintf(text, sizeof text, program_form, OUTCOME_ANY(ranges), body);
    struct outcome_program program = outcome_compile(text, false);
    for (int k = 0; k < CALLS && program.count; k++)
        finished += check_call(&program);
    outcome_release(&program);
    return finished;
}

int main(void)
{
    return outcome_run(PROGRAMS, check_program);
}

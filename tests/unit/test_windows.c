/*
 * test_windows.c: loops over the places around another loop's, as many as the call says, against the
 * interpreter: results to the bit, or the same message.
 *
 * Programs are put together at random from where such a loop begins and ends, which may be at a border of the
 * tensor, how wide it is, and what it accesses. What the call says is small, or so large that sums with it
 * wrap: other code runs then. Numbers are small and whole, so that sums are exact.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"
#include "outcome.h"

#include <stdio.h>

enum { PROGRAMS = 300, CALLS = 6, ARGUMENTS = 5 };

static const char *const widths[] = {"r", "q", "r // 2", "r * 2", "K // 2", "K - 1", "K // 3", "r + q"};

static const char *const lows[] = {"max(0, i - c)",
                                   "max(i - c, 0)",
                                   "i - c",
                                   "max(0, i - 1)",
                                   "max(0, 2 * i - c)",
                                   "max(i - c, q)",
                                   "c",
                                   "max(0, i * q - c)",
                                   "max(i - c, max(0, i - q))"};

static const char *const highs[] = {"min(n, i + c + 1)",
                                    "min(i + c + 1, n)",
                                    "i + c",
                                    "min(n, i + q)",
                                    "min(n, 2 * i + c)",
                                    "min(i + c + 1, n - q)",
                                    "min(n, i * q + c)",
                                    "n",
                                    "min(i + c, min(n, i + q))",
                                    "min(n, i - c + K)",
                                    "i - c + K"};

static const char *const terms[] = {
    "x[j]",    "x[j] * x[i]", "x[j] + w[c + i - j]", "x[j] * w[j - i + c]", "m[j % H, i % W] + x[j]",
    "x[j] + j"};

/* %1$s: a beginning, %2$s: an end, %3$s: a term, %4$s and %5$s: another beginning and end. */
static const char *const bodies[] = {
    "    for i in range(n):\n        s = 0.0\n        for j in range(%1$s, %2$s):\n            s += %3$s\n"
    "        y[i] = s\n",
    "    for i in range(n):\n        s = 0.0\n        for j in range(%1$s, %2$s):\n            if j != i:\n"
    "                s += %3$s\n        y[i] = s\n",
    "    for i in range(n):\n        s = 0.0\n        t = 0.0\n        for j in range(%1$s, %2$s):\n"
    "            s += %3$s\n        for j in range(%4$s, %5$s):\n            t += x[j]\n"
    "        y[i] = s - t\n",
    "    for h in range(H):\n        for i in range(n):\n            s = 0.0\n            a = 0\n"
    "            for g in range(max(0, h - r), min(H, h + r + 1)):\n"
    "                for j in range(%1$s, %2$s):\n                    s += (%3$s) * m[g, 0]\n"
    "                    a += 1\n            y[i] += s + a\n",
    "    for i in range(n):\n        s = -100.0\n        for j in range(%1$s, %2$s):\n"
    "            s = max(s, %3$s)\n        y[i] = s\n",
};

static const char program_form[] = "def k(x, w, m, r: int, q: int):\n"
                                   "    n = x.shape[0]\n"
                                   "    K = w.shape[0]\n"
                                   "    H, W = m.shape\n"
                                   "    c = %s\n"
                                   "    y = output_tensor(x.shape, x.dtype)\n"
                                   "    for i in range(n):\n"
                                   "        y[i] = 0.0\n"
                                   "%s"
                                   "    return y\n";

/* Seldom anything but a few. */
static int64_t any_number(void)
{
    static const int64_t numbers[] = {-70,       -1,           0, 40, 70000, (int64_t)1 << 40, INT64_MAX,
                                      INT64_MIN, INT64_MIN / 2};
    return outcome_below(4) ? outcome_below(7) : OUTCOME_ANY(numbers);
}

/* One call with sizes at random; whether it gave a result. */
static bool check_call(const struct outcome_program *program)
{
    static const int64_t lengths[] = {0, 1, 2, 7, 30, 70, 200};
    const int64_t n = OUTCOME_ANY(lengths), taps = outcome_below(12),
                  shape[] = {1 + outcome_below(9), 1 + outcome_below(40)};
    const int64_t r = any_number(), q = any_number();
    akg_tensor *x = outcome_filled(1, &n), *w = outcome_filled(1, &taps), *m = outcome_filled(2, shape);
    akg_argument arguments[ARGUMENTS] = {api_tensor(NULL, x), api_tensor(NULL, w), api_tensor(NULL, m),
                                         api_int(NULL, r), api_int(NULL, q)};
    char about[160];
    snprintf(about, sizeof about, "n=%lld K=%lld H=%lld W=%lld r=%lld q=%lld", (long long)n, (long long)taps,
             (long long)shape[0], (long long)shape[1], (long long)r, (long long)q);
    bool finished = outcome_check(program, arguments, ARGUMENTS, about);
    akg_tensor_release(x);
    akg_tensor_release(w);
    akg_tensor_release(m);
    return finished;
}

static int check_program(void)
{
    char body[700], text[1500];
    int finished = 0;
    snprintf(body, sizeof body, OUTCOME_ANY(bodies), OUTCOME_ANY(lows), OUTCOME_ANY(highs),
             OUTCOME_ANY(terms), OUTCOME_ANY(lows), OUTCOME_ANY(highs));
    snprintf(text, sizeof text, program_form, OUTCOME_ANY(widths), body);
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

/*
 * test_flat.c: loops whose variable is divided by extents and attributes, against the interpreter: results to
 * the bit, and messages where indices are outside or a divisor is 0.
 *
 * Programs are put together at random from bounds, indices and bodies: quotients and remainders of one loop
 * by what the call says, of each other, of values that a variable takes one after the other. Some of their
 * indices are never outside, some depends on the sizes. Numbers are small and whole, so that sums are exact.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"
#include "outcome.h"

#include <stdio.h>

enum { PROGRAMS = 300, CALLS = 6, ARGUMENTS = 4 };

static const char *const bounds[] = {
    "H * W", "W * H", "H * W * r",        "n", "n * r", "(H // r) * (W // r)", "r * r * H",
    "H",     "W * q", "(H - 1) * (W + 1)"};

static const char *const indices[] = {
    "t // W",
    "t % W",
    "t // H",
    "t // (H * W)",
    "t % (H * W)",
    "t // W % H",
    "t % (H * W) // W",
    "t % (W * r) // r % W",
    "t // r",
    "t % r",
    "t // r % r",
    "t // (r * r)",
    "t // (W // r)",
    "t % (W // r) * r",
    "(t // r) * q + t % q",
    "t // 16",
    "t % 16",
    "t // 5 % 3",
    "t % n",
    "t % (n - 1)",
    "(t + 1) % W",
    "t * H // (H * W)",
    "t // max(r, 1)",
    "min(t // r, n - 1)",
    "a",
    "a // r",
    "a % W",
    "b",
};

/* An index that takes three values one after the other. */
#define HALVED                                                                                               \
    "        p = %s\n        if p %% 2 == 0:\n            p = p // 2\n            if p < n and p >= 0:\n"    \
    "                y[t] = x[p] + x[%s]\n        p = %s\n        if p > 3:\n            y[t] += 1.0\n"

/* %s: an index, three times */
static const char *const bodies[] = {
    "        y[t] = x[%s] + v[t] + x[%s] * x[%s]\n",
    "        y[t] = m[min(%s, H - 1), %s] - x[%s]\n",
    "        for k in range(W):\n            y[t] += x[%s] * m[min(max(%s, 0), H - 1), k] + x[%s]\n",
    "        s = 0.0\n        for k in range(r):\n            s += x[%s] + x[%s] * x[%s]\n        y[t] = s\n",
    "        if (%s) %% 2 == 0:\n            y[t] = x[%s]\n        else:\n            y[t] = x[%s]\n",
    HALVED,
};

/* %s: how far the loop goes, and its body. */
static const char program_form[] = "def k(x, m, r: int, q: int):\n"
                                   "    n = x.shape[0]\n"
                                   "    H, W = m.shape\n"
                                   "    y = output_tensor((4096,), x.dtype)\n"
                                   "    v = allocate((4096,), x.dtype)\n"
                                   "    for t in range(4096):\n"
                                   "        v[t] = t %% 7\n"
                                   "        y[t] = 0.0\n"
                                   "    for t in range(%s):\n"
                                   "        a = t // W\n"
                                   "        b = t - a * W\n"
                                   "%s"
                                   "    return y\n";

/* One call with sizes at random; whether it gave a result. */
static bool check_call(const struct outcome_program *program)
{
    static const int64_t lengths[] = {0, 1, 5, 40, 900, 2000, 3000},
                         divisors[] = {-3, -1, 0, 1, 2, 3, 4, 5, 8, 16};
    const int64_t n = OUTCOME_ANY(lengths), shape[] = {outcome_below(30), 1 + outcome_below(40)};
    akg_tensor *x = outcome_filled(1, &n), *m = outcome_filled(2, shape);
    int64_t r = outcome_below(4) ? 1 + outcome_below(8) : OUTCOME_ANY(divisors), q = OUTCOME_ANY(divisors);
    akg_argument arguments[ARGUMENTS] = {api_tensor(NULL, x), api_tensor(NULL, m), api_int(NULL, r),
                                         api_int(NULL, q)};
    char about[100];
    snprintf(about, sizeof about, "n=%d H=%d W=%d r=%d q=%d", (int)n, (int)shape[0], (int)shape[1], (int)r,
             (int)q);
    bool finished = outcome_check(program, arguments, ARGUMENTS, about);
    akg_tensor_release(x);
    akg_tensor_release(m);
    return finished;
}

static int check_program(void)
{
    char body[700], text[1500];
    int finished = 0;
    snprintf(body, sizeof body, OUTCOME_ANY(bodies), OUTCOME_ANY(indices), OUTCOME_ANY(indices),
             OUTCOME_ANY(indices));
    snprintf(text, sizeof text, program_form, OUTCOME_ANY(bounds), body);
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

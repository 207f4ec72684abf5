/*
 * test_remainders.c: conditions, values and indices by remainders and quotients of loop variables, against
 * the interpreter: results to the bit.
 *
 * Programs are put together at random: rows and columns that begin and end a few elements inside, what is
 * divided (one variable, sums of both, with what the call says), constants that are powers of two and not,
 * conditions of the row alone and of the column, results of every dtype. Rows are shorter than a vector, some
 * vectors long, and everything between, so that each piece of what is left is computed by remainders, too.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"
#include "outcome.h"

#include <stdio.h>

enum { PROGRAMS = 500, CALLS = 4, ARGUMENTS = 2 };

static const char *const dtypes[] = {"m.dtype", "m.dtype", "m.dtype", "int32",   "int64",
                                     "int16",   "uint8",   "float64", "float16", "bfloat16"};

static const char *const sums[] = {"j",         "j",     "i + j",           "j - i",      "2 * j + 1", "i",
                                   "3 * i + j", "j + r", "j // 4 + i // 3", "j * 5 - 40", "j // 8"};

static const char *const rows[] = {"i % 2 == 0",       "i % 3 != 1", "i // 4 % 2 == 0",
                                   "(i + r) % 2 == 0", "i < r",      "H - i > 3"};

static const int divisors[] = {2, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 24, 32, 33, 64, 100, 641};

static const char *const comparisons[] = {"==", "==", "!=", "<", ">="};

static void write_remainder(char *text, size_t size)
{
    int divisor = OUTCOME_ANY(divisors);
    snprintf(text, size, "(%s) %s %d", OUTCOME_ANY(sums), outcome_below(4) ? "%" : "//", divisor);
}

static void write_condition(char *text, size_t size)
{
    char remainder[40];
    write_remainder(remainder, sizeof remainder);
    snprintf(text, size, "%s %s %d", remainder, OUTCOME_ANY(comparisons), outcome_below(6));
}

/* `sums`: the dtype holds every sum of a row. */
static void write_body(char *text, size_t size, bool sums)
{
    enum { FORMS = 7 };
    char a[70], b[70], c[40];
    const char *row = OUTCOME_ANY(rows);
    write_condition(a, sizeof a);
    write_condition(b, sizeof b);
    write_remainder(c, sizeof c);
    switch (outcome_below(sums ? FORMS : FORMS - 1)) {
    case 0:
        snprintf(text, size, "            y[i, j] = d(m[i, j] if %s else 1)\n", a);
        break;
    case 1:
        snprintf(text, size,
                 "            if %s:\n                y[i, j] = d(m[i, j] + 5)\n"
                 "            elif %s:\n                y[i, j] = d(%s)\n"
                 "            else:\n                y[i, j] = d(m[i, W - 1 - j] * 0 + 3)\n",
                 a, b, c);
        break;
    case 2:
        snprintf(text, size, "            k = j if %s else W - 1 - j\n            y[i, j] = d(m[i, k] + 5)\n",
                 row);
        break;
    case 3:
        snprintf(text, size,
                 "            if %s:\n                y[i, j] = d(m[i, j] + 5)\n"
                 "            else:\n                y[i, j] = d(m[i, W - 1 - j] + (%s))\n",
                 row, c);
        break;
    case 4:
        snprintf(text, size, "            y[i, j] = d(%s)\n", c);
        break;
    case 5:
        snprintf(text, size,
                 "            if %s:\n                if %s:\n                    y[i, j] = d((%s) * 3)\n", a,
                 b, c);
        break;
    default:
        snprintf(text, size, "            s += d(m[i, j] + 5) if %s else d(%s)\n            y[i, j] = s\n", a,
                 c);
        break;
    }
}

static void write_program(char *text, size_t size)
{
    char body[600];
    const char *dtype = OUTCOME_ANY(dtypes);
    write_body(body, sizeof body, !strstr(dtype, "float16"));
    int written =
        snprintf(text, size,
                 "def k(m, r: int):\n"
                 "    H, W = m.shape\n"
                 "    y = output_tensor((H, W), %s)\n"
                 "    for i in range(H):\n"
                 "        for j in range(W):\n"
                 "            y[i, j] = 0\n"
                 "    for i in range(%d, H):\n"
                 "        s = y[i, 0]\n"
                 "        for j in range(%d, W - %d):\n",
                 dtype, outcome_below(3), outcome_below(3) ? 0 : outcome_below(20), outcome_below(3));
    for (const char *at = body; *at; at++) { /* d(...) is a cast to the result's dtype */
        bool casts = at[0] == 'd' && at[1] == '(' && (at == body || at[-1] == ' ');
        written +=
            snprintf(text + written, size - (size_t)written, casts ? "%s" : "%.1s", casts ? dtype : at);
    }
    snprintf(text + written, size - (size_t)written, "    return y\n");
}

static int check_program(void)
{
    char text[1500];
    int finished = 0;
    write_program(text, sizeof text);
    struct outcome_program program = outcome_compile(text, false);
    for (int k = 0; k < CALLS && program.count; k++) {
        const int64_t shape[] = {1 + outcome_below(12), 1 + outcome_below(k % 2 ? 40 : 300)};
        akg_tensor *m = outcome_filled(2, shape);
        int64_t r = outcome_below(40) - 8;
        akg_argument arguments[ARGUMENTS] = {api_tensor(NULL, m), api_int(NULL, r)};
        char about[100];
        snprintf(about, sizeof about, "H=%d W=%d r=%d", (int)shape[0], (int)shape[1], (int)r);
        finished += outcome_check(&program, arguments, ARGUMENTS, about);
        akg_tensor_release(m);
    }
    outcome_release(&program);
    return finished;
}

int main(void)
{
    return outcome_run(PROGRAMS, check_program);
}

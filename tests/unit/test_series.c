/*
 * test_series.c: loops along rows that wait for themselves, whose rows become lanes, against the interpreter:
 * results to the bit.
 *
 * Programs are put together at random: one or two scalars that go on from element to element, by arithmetic,
 * a choice or a branch; elements of this row, a few before, of a vector along the row and of one along the
 * rows, of the result itself; results of each element, under a condition, of the last one alone; stores in
 * front of the loop and behind it. There are fewer rows than lanes, as many, and more than one block of them;
 * rows of no element, of few and of many.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"
#include "outcome.h"

#include <stdio.h>

enum { PROGRAMS = 300, CALLS = 4, ARGUMENTS = 3 };

static const char *const elements[] = {"x[i, t]", "x[i, t]",     "x[i, t]", "w[t]",        "a[i]",
                                       "y[i, t]", "x[i, t - 1]", "0.5",     "x[i, t - 2]", "y[i, t - 1]"};
enum { HERE = 6 /* that are not before the element of the iteration */ };

static const char *const terms[] = {"E",
                                    "p + E",
                                    "p * 0.5 + E",
                                    "(p + E) / 2",
                                    "max(p, E)",
                                    "E if p > 1 else p - E",
                                    "p / (1 + abs(E))",
                                    "sqrt(abs(p - E))",
                                    "q + E * 0.25",
                                    "min(p, q) + E"};

static const char *const stores[] = {"",
                                     "y[i, t] = p",
                                     "y[i, t] = p",
                                     "y[i, t] = p * E",
                                     "y[i, t] = p + y[i, t]",
                                     "if p > 0:\n    y[i, t] = q"};

static const char *const apart[] = {"p = 0.0", "y[i, 0] = a[i]", "y[i, 0] = p + 1", "y[i, T - 1] = q - p"};

/* A statement, each line of it so far to the right, with one of the elements where E stands. */
static int write_lines(char *text, size_t size, int indent, const char *statement, int count)
{
    int written = snprintf(text, size, "%*s", indent, "");
    for (const char *at = statement; *at; at++) {
        const char *format = *at == 'E' ? elements[outcome_below(count)] : "";
        written += *at == 'E' ? snprintf(text + written, size - (size_t)written, "%s", format)
                              : snprintf(text + written, size - (size_t)written, "%c", *at);
        if (*at == '\n')
            written += snprintf(text + written, size - (size_t)written, "%*s", indent, "");
    }
    return written + snprintf(text + written, size - (size_t)written, "\n");
}

static void write_program(char *text, size_t size)
{
    enum { ROW = 8, ELEMENT = 12 };
    char line[120];
    int from = outcome_below(3), count = from ? (int)API_COUNT(elements) : HERE;
    int written = snprintf(text, size,
                           "def k(x, a, w):\n"
                           "    N, T = x.shape\n"
                           "    y = output_tensor(x.shape, x.dtype)\n"
                           "    for i, t in grid(x.shape):\n" /* backwards: a loop of its own */
                           "        y[N - 1 - i, t] = x[N - 1 - i, t] * 2\n"
                           "    for i in range(N):\n"
                           "        q = 1.0\n"
                           "        p = %s\n",
                           outcome_below(2) ? "0.0" : "a[i] * 2");
#define WRITE(indent, statement)                                                                             \
    written += write_lines(text + written, size - (size_t)written, indent, statement, count)
    snprintf(line, sizeof line, outcome_below(3) ? "%s" : "if T > 2:\n    %s", OUTCOME_ANY(apart));
    if (outcome_below(2))
        WRITE(ROW, line);
    snprintf(line, sizeof line,
             outcome_below(3) ? "for t in range(%d, T):" : "for t in range(T - 1, %d - 1, -1):",
             from + (from > 0));
    WRITE(ROW, line);
    snprintf(line, sizeof line, "p = %s", OUTCOME_ANY(terms));
    WRITE(ELEMENT, line);
    snprintf(line, sizeof line, outcome_below(2) ? "q = %s" : "if E > p:\n    q = %s", OUTCOME_ANY(terms));
    if (outcome_below(2))
        WRITE(ELEMENT, line);
    WRITE(ELEMENT, OUTCOME_ANY(stores));
    snprintf(line, sizeof line, outcome_below(3) ? "%s" : "if T > 2:\n    %s", OUTCOME_ANY(apart));
    if (outcome_below(2))
        WRITE(ROW, line);
    WRITE(4, "return y");
#undef WRITE
}

static int check_program(void)
{
    static const int rows[] = {1, 15, 16, 17, 33, 64, 65, 130}, lengths[] = {0, 1, 2, 3, 4, 17, 40};
    char text[2000];
    int finished = 0;
    write_program(text, sizeof text);
    struct outcome_program program = outcome_compile(text, true);
    for (int k = 0; k < CALLS && program.count; k++) {
        const int64_t shape[] = {OUTCOME_ANY(rows), OUTCOME_ANY(lengths)};
        akg_tensor *x = outcome_filled(2, shape);
        akg_tensor *a = outcome_filled(1, shape), *w = outcome_filled(1, shape + 1);
        akg_argument arguments[ARGUMENTS] = {api_tensor(NULL, x), api_tensor(NULL, a), api_tensor(NULL, w)};
        char about[100];
        snprintf(about, sizeof about, "N=%d T=%d", (int)shape[0], (int)shape[1]);
        finished += outcome_check(&program, arguments, ARGUMENTS, about);
        akg_tensor_release(x);
        akg_tensor_release(a);
        akg_tensor_release(w);
    }
    outcome_release(&program);
    return finished;
}

int main(void)
{
    return outcome_run(PROGRAMS, check_program);
}

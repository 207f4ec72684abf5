/*
 * test_echo.c: loops that look back by what is known before them alone, against the interpreter: results to
 * the bit, or the same message.
 *
 * Programs are put together at random of where loops begin, what is stored and by how much it looks back: an
 * attribute, an element that a loop around has loaded, of 32 bits or 64, sums of such. Distances are of any
 * sign, 0, below and above what pieces are made of, and as large as the row and larger.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"
#include "outcome.h"

#include <stdio.h>
#include <string.h>

enum { PROGRAMS = 300, CALLS = 6, ARGUMENTS = 3 };

static const char *const steps[] = {"w[i]",       "w[i]", "step",        "step",  "r",       "(step + r)",
                                    "(w[i] + 1)", "v[i]", "int64(v[i])", "short", "w[i + 1]"};
static const char *const lows[] = {"0", "%1$s", "%1$s", "max(%1$s, 0)", "r", "3"};
static const char *const highs[] = {"W", "W", "W - 1", "W - i", "r", "min(r, W)"};
static const char *const values[] = {"y[i, j - %1$s] + m[i, j]",
                                     "y[i, j] + y[i, j - %1$s]",
                                     "max(y[i, j], y[i, j - %1$s] + 1)",
                                     "y[i, j - %1$s] * m[i, 0] + y[i, j - %1$s]",
                                     "y[i, j - %1$s] + y[i, max(j - 1, 0)]",
                                     "y[i, j - %1$s] + y[i, max(j - 40, 0)]",
                                     "y[i, j + %1$s] + 1"};

static void write_program(char *text, size_t size)
{
    char low[60], value[160];
    const char *step = OUTCOME_ANY(steps), *high = OUTCOME_ANY(highs);
    bool has_condition = outcome_below(3) == 0;
    snprintf(low, sizeof low, OUTCOME_ANY(lows), step);
    snprintf(value, sizeof value, OUTCOME_ANY(values), step);
    snprintf(text, size,
             "def k(m, w: int64[K], r: int):\n"
             "    H, W = m.shape\n"
             "    y = output_tensor((H, W), m.dtype)\n"
             "    v = allocate((K,), int32)\n"
             "    for i, j in grid((H, W)):\n"
             "        y[i, j] = m[i, j]\n"
             "    for i in range(K):\n"
             "        v[i] = int32(w[i])\n"
             "    for i in range(H):\n"
             "        step = w[i]\n"
             "        short = v[i]\n"
             "        for j in range(%s, %s):\n"
             "            %sy[i, j] = %s\n"
             "    return y\n",
             low, high, has_condition ? "if j >= r:\n                " : "", value);
}

/* One more than there are rows, or none more. */
static akg_tensor *weights(int64_t rows, bool may_be_less)
{
    static const int64_t some[] = {0, 1, 2, 8, 31, 32, 33, 40, 64, 100, 250, 300, 1000, (int64_t)1 << 33};
    const int64_t count = rows + outcome_below(2);
    akg_tensor *tensor = NULL;
    CHECK(akg_tensor_create(AKG_INT64, 1, &count, &tensor) == AKG_OK);
    for (int64_t k = 0; k < count; k++) {
        int64_t value = OUTCOME_ANY(some);
        akg_tensor_set(tensor, &k,
                       (double)(may_be_less && value <= 1000 && outcome_below(20) == 0 ? -value : value));
    }
    return tensor;
}

static int check_program(void)
{
    char text[1500];
    int finished = 0;
    write_program(text, sizeof text);
    /* products that are added up grow until rounding tells */
    struct outcome_program program = outcome_compile(text, strstr(text, "* m") != NULL);
    for (int k = 0; k < CALLS && program.count; k++) {
        static const int64_t rows[] = {0, 3, 40, 33, 70, INT64_MIN, INT64_MIN + 70};
        const int64_t shape[] = {1 + outcome_below(4), outcome_below(k % 2 ? 60 : 400)};
        akg_tensor *m = outcome_filled(2, shape), *w = weights(shape[0], k == 0);
        int64_t r = OUTCOME_ANY(rows);
        akg_argument arguments[ARGUMENTS] = {api_tensor(NULL, m), api_tensor(NULL, w), api_int(NULL, r)};
        char about[100];
        snprintf(about, sizeof about, "H=%d W=%d r=%d", (int)shape[0], (int)shape[1], (int)r);
        finished += outcome_check(&program, arguments, ARGUMENTS, about);
        akg_tensor_release(m);
        akg_tensor_release(w);
    }
    outcome_release(&program);
    return finished;
}

int main(void)
{
    return outcome_run(PROGRAMS, check_program);
}

/*
 * test_vector_extreme.c: loops that keep the greatest or the least element, with vectors of each width
 * against the interpreter.
 *
 * Programs are put together at random of what is combined, a condition, a step, and what the result begins
 * with. Each goes over the first 1, 2, ... elements of a tensor, so that every length of a tail, and every
 * lane, has its turn; tensors are of the kinds that are told apart: all negative, all zeros of either sign,
 * nan of either sign here and there or at one place, infinities. Results must be the same bits, strict or
 * not. Some take a second value in a statement of its own. Others choose one of two elements by comparing
 * them, as one instruction does for some of these choices.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { LENGTH = 150, ROUNDS = 220, OUTPUTS = 2 };

static const char *const combined[] = {"x[j]",    "x[j]", "abs(x[j])", "(-x[j])", "(x[j] + x[j + 1])",
                                       "x[n - j]"};
static const char *const seconds[] = {"", "        low = min(low, VALUE)\n",
                                      "        low = max(VALUE, low)\n", "        low = low + x[j]\n"};
static const char *const starts[] = {"x[0]", "x[n]", "s[0]", "0.0"};
static const char *const loops[] = {"range(n + 1)", "range(n + 1)", "range(1, n + 1)", "range(n, -1, -1)"};
static const char *const guards[] = {"", "", "", "if m[j] > 1:", "if x[j] < 2:"};

static uint64_t state = 31;

static unsigned random_below(size_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % limit);
}

#define PICK(table) table[random_below(sizeof table / sizeof *table)]

/* Another statement of one of both, or none: the same operation, for in a loop that goes in order zeros may
 * have either sign (docs/architecture.md). */
static void write_again(char *text, size_t size, const char *operation, const char *second)
{
    bool is_top = random_below(2) || strchr(second, '+');
    const char *name = is_top ? "top" : "low", *same = is_top ? operation : "min";
    if (!is_top && strstr(second, "max"))
        same = "max";
    *text = '\0';
    if (random_below(2))
        snprintf(text, size, "            %s = %s(%s, x[j + 1])\n", name, same, name);
}

static void write_program(char *text, size_t size)
{
    const char *value = PICK(combined), *guard = PICK(guards), *second = PICK(seconds);
    const char *operation = random_below(2) ? "max" : "min", *deeper = *guard ? "    " : "";
    char line[100] = "", again[100];
    if (*second) {
        const char *at = strstr(second, "VALUE");
        if (at)
            snprintf(line, sizeof line, "%.*s%s%s", (int)(at - second), second, value, at + 5);
        else
            snprintf(line, sizeof line, "%s", second);
    }
    write_again(again, sizeof again, operation, second);
    snprintf(text, size,
             "def k(x, m, s):\n    best = output_tensor((%d,), x.dtype)\n    other = output_tensor((%d,), "
             "x.dtype)\n"
             "    for n in range(%d):\n        top = %s\n        low = %s\n        for j in %s:\n"
             "%s%s%s%s            top = %s(top, %s)\n%s%s%s        best[n] = top\n        other[n] = low\n"
             "    return best, other\n",
             LENGTH, LENGTH, LENGTH, PICK(starts), PICK(starts), PICK(loops), *guard ? "            " : "",
             guard, *guard ? "\n" : "", deeper, operation, value, *line ? "    " : "", line, again);
}

/* Each of two elements, where it is above the other, below, or not. */
static void write_choices(char *text, size_t size)
{
    static const char *const comparisons[] = {">", "<", ">", "<", ">=", "<=", "=="};
    static const char *const elements[] = {"x[j]", "x[150 - j]"};
    int first = (int)random_below(2), second = (int)random_below(2);
    snprintf(text, size,
             "def k(x, m, s):\n    best = output_tensor((%d,), x.dtype)\n    other = output_tensor((%d,), "
             "x.dtype)\n"
             "    for j in range(%d):\n        best[j] = %s if x[j] %s x[150 - j] else %s\n"
             "        top = s[0]\n        if x[j] %s top:\n            top = x[j]\n        other[j] = top\n"
             "    return best, other\n",
             LENGTH, LENGTH, LENGTH, elements[first], PICK(comparisons), elements[second], PICK(comparisons));
}

/* Not a number: the sign is its own. */
static double special_of(int kind)
{
    static const double some[] = {1, 2, 3, -1, -2, 5, 0.5, -0.25};
    switch (kind) {
    case 0:
        return -1 - (double)random_below(90);
    case 1:
        return random_below(20) ? -0.0 : 0.0;
    case 2:
        return random_below(30) ? PICK(some) : random_below(2) ? NAN : -NAN;
    case 3:
        return random_below(8) ? PICK(some) : random_below(2) ? INFINITY : -INFINITY;
    case 4:
        return random_below(4) ? fabs(PICK(some)) : -0.0;
    default:
        return PICK(some) * (double)random_below(1000);
    }
}

static akg_tensor *tensor_of(akg_dtype dtype, int64_t count, int kind)
{
    akg_tensor *tensor = NULL;
    if (akg_tensor_create(dtype, 1, &count, &tensor) != AKG_OK)
        return NULL;
    for (int64_t k = 0; k < count; k++)
        akg_tensor_set(tensor, &k, special_of(kind));
    return tensor;
}

static void check_target(const char *program, akg_tensor *const inputs[3],
                         akg_tensor *const expected[OUTPUTS], enum x86_target target)
{
    jit_options options = {.strict = random_below(2), .target = x86_target_name(target), .cache = "off"};
    akg_tensor *outputs[OUTPUTS] = {NULL};
    /* sums may be in another order where they are not strict */
    int count = options.strict || !strstr(program, "low + ") ? OUTPUTS : 1;
    if (CHECK(api_run(program, &options, inputs, 3, NULL, outputs)))
        for (int k = 0; k < count; k++)
            if (!CHECK(api_same_numbers(outputs[k], expected[k])))
                fputs(program, stderr);
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(outputs[k]);
}

static void check_round(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT32,
                                       AKG_FLOAT64, AKG_FLOAT16, AKG_BFLOAT16};
    char program[1600];
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_dtype dtype = PICK(dtypes);
    int kind = (int)random_below(6);
    akg_tensor *inputs[3] = {tensor_of(dtype, LENGTH + 1, kind), tensor_of(AKG_FLOAT32, LENGTH + 1, 5),
                             tensor_of(dtype, 1, kind)};
    akg_tensor *expected[OUTPUTS] = {NULL};
    if (random_below(3) == 0)
        write_choices(program, sizeof program);
    else
        write_program(program, sizeof program);
    if (CHECK(api_run(program, &options, inputs, 3, NULL, expected)))
        for (int target = X86_TARGET_NONE + 1; target <= (int)x86_cpu_target(); target++)
            check_target(program, inputs, expected, (enum x86_target)target);
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(expected[k]);
    for (int k = 0; k < 3; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    if (x86_cpu_target() == X86_TARGET_NONE) {
        puts("skipped: this processor has no vector target");
        return check_done();
    }
    for (int round = 0; round < ROUNDS; round++)
        check_round();
    return check_done();
}

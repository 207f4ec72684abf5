/*
 * test_vector_choice.c: loops that keep where the best of something stood, with vectors of each width against
 * the interpreter.
 *
 * Programs are put together at random of a condition, what is compared, what is kept of the place, a step and
 * what the best begins with. Each goes over the first 1, 2, ... elements of a tensor with many equal ones,
 * zeros of both signs and nan, so that every length of a tail, and every lane, has its turn. Results must be
 * the same bits.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { LENGTH = 140, ROUNDS = 120 };

static const char *const conditions[] = {"%s > best",
                                         "%s >= best",
                                         "%s < best",
                                         "%s <= best",
                                         "best < %s",
                                         "not %s <= best",
                                         "m[j] > 1 and %s > best",
                                         "best == best and not %s <= best",
                                         "%s == best",
                                         "best != best or %s > best",
                                         "%s <= best and m[j] != 0",
                                         "m[j] > 2"};
static const char *const compared[] = {"x[j]", "abs(x[j])", "(x[j] + x[j + 1])", "(-x[j])",
                                       "(x[j] if m[j] > 1 else x[j + 1])"};
static const char *const kept[] = {"j", "2 * j + 1", "n - j", "m[j]", "m[j] * 3 - j", "count", "7"};
static const char *const loops[] = {"range(n + 1)", "range(n + 1)", "range(1, n + 1)", "range(0, n + 1, 2)",
                                    "range(n, -1, -1)"};
static const char *const starts[] = {"x[0]", "x[3]", "s[0]"};

static uint64_t state = 20;

static unsigned random_below(size_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % limit);
}

#define PICK(table) table[random_below(sizeof table / sizeof *table)]

static void write_program(char *text, size_t size)
{
    char condition[100];
    const char *value = PICK(compared);
    snprintf(condition, sizeof condition, PICK(conditions), value);
    snprintf(text, size,
             "def k(x, m, s):\n    best_of = output_tensor((%d,), x.dtype)\n"
             "    at = output_tensor((%d,), int64)\n    other = output_tensor((%d,), int64)\n"
             "    counts = output_tensor((%d,), int64)\n    for n in range(%d):\n"
             "        best = %s\n        place = int64(-1)\n        second = int64(-2)\n"
             "        count = int64(n)\n        for j in %s:\n            if %s:\n"
             "                best = %s\n                place = %s\n                second = %s\n"
             "            count += 1\n"
             "        best_of[n] = best\n        at[n] = place\n        other[n] = second\n"
             "        counts[n] = count\n    return best_of, at, other, counts\n",
             LENGTH, LENGTH, LENGTH, LENGTH, LENGTH, PICK(starts), PICK(loops), condition, value, PICK(kept),
             PICK(kept));
}

static akg_tensor *tensor_of(akg_dtype dtype, int64_t count, bool special)
{
    static const double some[] = {0, 1, 2, 3, 2, 0, 1, 5};
    bool real = dtype == AKG_FLOAT32 || dtype == AKG_FLOAT64 || dtype == AKG_FLOAT16;
    bool is_signed = dtype != AKG_UINT8 && dtype != AKG_UINT32;
    akg_tensor *tensor = NULL;
    if (akg_tensor_create(dtype, 1, &count, &tensor) != AKG_OK)
        return NULL;
    for (int64_t k = 0; k < count; k++) {
        double value = random_below(3) ? PICK(some) : random_below(100);
        value = is_signed && random_below(2) ? -value : value;
        akg_tensor_set(tensor, &k, special && real && random_below(8) == 0 ? NAN : value);
    }
    return tensor;
}

static void check_target(const char *program, akg_tensor *const inputs[3], akg_tensor *const expected[4],
                         enum x86_target target)
{
    jit_options options = {.strict = true, .target = x86_target_name(target), .cache = "off"};
    akg_tensor *outputs[4] = {NULL};
    if (CHECK(api_run(program, &options, inputs, 3, NULL, outputs)))
        for (int k = 0; k < 4; k++)
            if (!CHECK(api_same_numbers(outputs[k], expected[k])))
                fputs(program, stderr);
    for (int k = 0; k < 4; k++)
        akg_tensor_release(outputs[k]);
}

static void check_round(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT64, AKG_INT32,  AKG_INT64,
                                       AKG_INT16,   AKG_UINT8,   AKG_UINT32,  AKG_FLOAT16};
    char program[1600];
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_dtype dtype = PICK(dtypes);
    bool special = random_below(2);
    akg_tensor *inputs[3] = {tensor_of(dtype, LENGTH + 1, special), tensor_of(AKG_INT64, LENGTH + 1, false),
                             tensor_of(dtype, 1, special)};
    akg_tensor *expected[4] = {NULL};
    write_program(program, sizeof program);
    if (CHECK(inputs[0] && inputs[1] && inputs[2]) &&
        CHECK(api_run(program, &options, inputs, 3, NULL, expected))) {
        check_target(program, inputs, expected, x86_cpu_target());
        if (x86_cpu_target() == X86_TARGET_AVX512)
            check_target(program, inputs, expected, X86_TARGET_AVX2);
    }
    for (int k = 0; k < 3; k++)
        akg_tensor_release(inputs[k]);
    for (int k = 0; k < 4; k++)
        akg_tensor_release(expected[k]);
}

int main(void)
{
    if (x86_cpu_target() == X86_TARGET_NONE) {
        puts("skipped: this processor has no vector target");
        return check_done();
    }
    for (int k = 0; k < ROUNDS; k++)
        check_round();
    return check_done();
}

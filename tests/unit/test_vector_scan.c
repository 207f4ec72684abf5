/*
 * test_vector_scan.c: loops that store what they accumulate, with vectors of each width against the
 * interpreter.
 *
 * Programs are put together at random of what is accumulated, by which operation and under which condition,
 * of when it is stored, and of a second scalar that may accumulate the first one. Each goes over the first 1,
 * 2, ... elements of a tensor, so that every length of a tail, and every lane, has its turn. Numbers are such
 * that all sums and products are exact in whatever order, nan and zeros of both signs come up where the least
 * and the greatest are looked for: results must be the same numbers.
 */
#include "../../include/akg.h"
#include "../../base/dtype.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { LENGTH = 70, ROUNDS = 150, INPUTS = 3, OUTPUTS = 4 };

static const char *const sums[] = {"%s + %s", "%s - %s", "%s + %s"};
static const char *const extremes[] = {"min(%s, %s)", "max(%s, %s)"};
static const char *const bits[] = {"%s & %s", "%s | %s", "%s ^ %s", "%s * %s", "min(%s, %s)", "%s + %s"};
static const char *const terms[] = {
    "x[j]", "(x[j] + x[j + 1])", "abs(x[j])", "x[m[j]]", "(x[j] if m[j] > 2 else x[j + 1])", "2", "s[1]"};
static const char *const products[] = {"a * 2", "a * 0.5 * 4", "a * 0.5", "g * a * g"}; /* g: 0.5 */
static const char *const conditions[] = {"m[j] > 2", "x[j] > x[j + 1]", "j % 3 == 1",
                                         "m[j] != 0 and x[j] == x[j]"};
static const char *const loops[] = {"range(n + 1)", "range(n + 1)", "range(1, n + 1)", "range(0, n + 1, 2)",
                                    "range(n, -1, -1)"};
/* Elements that a later iteration stores to. */
static const char *const ahead[] = {"            w[n, j] = max(w[n, j + 1], a)\n",
                                    "            w[n, j] = w[n, j + 1]\n"};
static const char *const seconds[] = {"x[j]", "a", "a", "before"};

static uint64_t state = 20;

static unsigned random_below(size_t limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((state >> 33) % limit);
}

#define PICK(table) table[random_below(sizeof table / sizeof *table)]

enum kind { SUMS, EXTREMES, BITS };

static const char *operation_of(enum kind kind)
{
    return kind == SUMS ? PICK(sums) : kind == EXTREMES ? PICK(extremes) : PICK(bits);
}

/* "if x[j] > a: a = x[j]", either way round, where another condition holds, too, perhaps. */
static void write_comparison(char *text, size_t size, const char *name, const char *term)
{
    static const char *const comparisons[] = {">", "<", ">", "<", ">=", "<="};
    bool is_mirrored = random_below(3) == 0, is_alone = random_below(3) > 0;
    snprintf(text, size, "            if %s%s%s %s %s:\n                %s = %s\n",
             is_alone ? "" : PICK(conditions), is_alone ? "" : " and ", is_mirrored ? name : term,
             PICK(comparisons), is_mirrored ? term : name, name, term);
}

/* "a = a + x[j]", with a condition around it perhaps. */
static void write_change(char *text, size_t size, enum kind kind, const char *name, const char *term)
{
    char change[100];
    if (kind == EXTREMES && random_below(2)) {
        write_comparison(text, size, name, term);
        return;
    }
    snprintf(change, sizeof change, operation_of(kind), name, term);
    if (random_below(3))
        snprintf(text, size, "            %s = %s\n", name, change);
    else
        snprintf(text, size, "            if %s:\n                %s = %s\n", PICK(conditions), name, change);
}

/* `is_half`: sums of sums are not exact then. */
static void write_program(char *text, size_t size, enum kind kind, bool is_real, bool is_half)
{
    char first[200], second[200];
    if (kind == SUMS && is_real && !is_half && random_below(4) == 0)
        snprintf(first, sizeof first, "            a = %s\n", PICK(products));
    else
        write_change(first, sizeof first, kind, "a", PICK(terms));
    write_change(second, sizeof second, kind, "b", PICK(seconds));
    bool has_second = random_below(3) == 0 && !is_half, is_early = random_below(3) == 0;
    snprintf(text, size,
             "def k(x, m, s, g=0.5):\n    y = output_tensor((%d, %d), x.dtype)\n"
             "    z = output_tensor((%d, %d), x.dtype)\n    last = output_tensor((%d,), x.dtype)\n"
             "    w = output_tensor((%d, %d), x.dtype)\n"
             "    for n in range(%d):\n        a = s[0]\n        b = s[0]\n"
             "        for j in range(%d):\n            w[n, j] = x[j]\n        for j in %s:\n"
             "            before = a\n%s%s%s            z[n, j] = %s\n%s%s        last[n] = a\n"
             "    return y, z, last, w\n",
             LENGTH, LENGTH, LENGTH, LENGTH, LENGTH, LENGTH, LENGTH + 1, LENGTH, LENGTH + 1, PICK(loops),
             is_early ? "            y[n, j] = before\n" : "", first, has_second ? second : "",
             has_second ? "b" : "x[j]", is_early ? "" : "            y[n, j] = a\n",
             random_below(3) ? "" : PICK(ahead));
}

/* Sums of these, and sums of such sums, are exact in all dtypes but the smallest, where all wraps. */
static akg_tensor *tensor_of(akg_dtype dtype, int64_t count, enum kind kind)
{
    static const double some[] = {0, 1, 2, 3, 2, 0, 1, 5};
    bool real = dtype_is_float(dtype), is_signed = dtype_is_signed(dtype);
    akg_tensor *tensor = NULL;
    if (akg_tensor_create(dtype, 1, &count, &tensor) != AKG_OK)
        return NULL;
    for (int64_t k = 0; k < count; k++) {
        double value = PICK(some);
        value = (real || is_signed) && random_below(2) ? -value : value;
        akg_tensor_set(tensor, &k, kind == EXTREMES && real && random_below(20) == 0 ? NAN : value);
    }
    return tensor;
}

static void check_same(const akg_tensor *a, const akg_tensor *b, bool signs, const char *program)
{
    int rank = (int)akg_tensor_rank(a);
    int64_t place[2] = {0, 0}, columns = rank == 2 ? akg_tensor_shape(a)[1] : 1;
    for (int64_t k = 0; k < LENGTH * columns; k++) {
        place[0] = k / columns;
        place[1] = k % columns;
        double x = akg_tensor_get(a, place), y = akg_tensor_get(b, place);
        bool same = (isnan(x) && isnan(y)) || (x == y && (!signs || signbit(x) == signbit(y)));
        if (!CHECK(same)) {
            fprintf(stderr, "    [%d]: %g, and %g by the interpreter, of\n%s", (int)k, x, y, program);
            return;
        }
    }
}

static void check_target(const char *program, akg_tensor *const inputs[INPUTS],
                         akg_tensor *const expected[OUTPUTS], enum kind kind, enum x86_target target)
{
    jit_options options = {.strict = kind != SUMS, .target = x86_target_name(target), .cache = "off"};
    akg_tensor *outputs[OUTPUTS] = {NULL};
    if (CHECK(api_run(program, &options, inputs, INPUTS, NULL, outputs)))
        for (int k = 0; k < OUTPUTS; k++)
            check_same(outputs[k], expected[k], kind != SUMS, program);
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(outputs[k]);
}

static void check_round(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT16, AKG_FLOAT64, AKG_INT32, AKG_INT64,
                                       AKG_INT16,   AKG_UINT8,   AKG_UINT32,  AKG_UINT64};
    char program[1600];
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_dtype dtype = PICK(dtypes);
    enum kind kind = dtype_is_float(dtype) ? (enum kind)random_below(2) : (enum kind)random_below(3);
    akg_tensor *inputs[INPUTS] = {tensor_of(dtype, LENGTH + 1, kind), tensor_of(AKG_UINT8, LENGTH + 1, SUMS),
                                  tensor_of(dtype, 2, kind)};
    akg_tensor *expected[OUTPUTS] = {NULL};
    write_program(program, sizeof program, kind, dtype_is_float(dtype), dtype_is_half(dtype));
    if (CHECK(inputs[0] && inputs[1] && inputs[2]) &&
        CHECK(api_run(program, &options, inputs, INPUTS, NULL, expected))) {
        check_target(program, inputs, expected, kind, x86_cpu_target());
        if (x86_cpu_target() == X86_TARGET_AVX512)
            check_target(program, inputs, expected, kind, X86_TARGET_AVX2);
    }
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(expected[k]);
}

int main(int argc, char **argv)
{
    int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    if (x86_cpu_target() == X86_TARGET_NONE) {
        puts("skipped: this processor has no vector target");
        return check_done();
    }
    state = argc > 1 ? (uint64_t)atoi(argv[1]) * 977 : state;
    for (int k = 0; k < rounds; k++)
        check_round();
    return check_done();
}

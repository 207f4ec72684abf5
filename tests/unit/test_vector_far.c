/*
 * test_vector_far.c: loops that store past the caches, against the interpreter.
 *
 * The limit from which on they do so is made small, for any processor. Programs are put together at random of
 * loops over one dimension or two, what they load, where they begin (so that what they store to is aligned,
 * or becomes it after a few elements, or never) and a second tensor that they store to; extents go up to some
 * rounds of the loop, with every tail. That such a loop has the instructions is looked at in the text of one.
 * Large tensors that are turned, which have other code than small ones, are compared with what they should
 * be.
 */
#include "../../include/akg.h"
#include "../../base/dtype.h"
#include "../../jit/module.h"
#include "../../jit/vector_plan.h"
#include "check.h"
#include "jit_pair.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 300, LIMIT = 64, INPUTS = 2, OUTPUTS = 2 };

static uint64_t state = 7;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)limit);
}

#define PICK(table) table[random_below((int)(sizeof table / sizeof *table))]

static const char *const terms[] = {"%s + %s",      "%s * 2 - %s",         "max(%s, %s)",
                                    "abs(%s) + %s", "%s if %s > 1 else 3", "j - %s + %s"};

static void write_program(char *text, size_t size, int begin, const char *dtype)
{
    char term[100], loads[120], store[400], second[100] = "";
    bool rows = random_below(3), band = rows && random_below(2), shifted = begin && random_below(2);
    const char *a = shifted ? "x[%sj - 1]" : "x[%sj]", *b = random_below(2) ? "x[%sj]" : "z[%sj]";
    char first[40], other[40];
    bool is_cast = strcmp(dtype, "x.dtype") != 0;
    const char *row = rows ? "i, " : "";
    snprintf(first, sizeof first, a, row);
    snprintf(other, sizeof other, b, row);
    snprintf(term, sizeof term, "%s%s%s", is_cast ? dtype : "", is_cast ? "(" : "", PICK(terms));
    if (is_cast)
        strcat(term, ")");
    snprintf(loads, sizeof loads, term, first, other);
    if (random_below(3) == 0)
        snprintf(second, sizeof second, "%sw[%sj - %d] = %s\n", rows ? "            " : "        ", row,
                 random_below(begin + 1), other);
    const char *deep = rows ? "            " : "        ";
    if (random_below(3)) /* either what is stored, or one of two such */
        snprintf(store, sizeof store, "%sy[%sj] = %s\n", deep, row, loads);
    else
        snprintf(store, sizeof store, "%sif %s > 2:\n%s    y[%sj] = %s\n%selse:\n%s    y[%sj] = 1\n", deep,
                 other, deep, row, loads, deep, deep, row);
    if (band)
        snprintf(
            text, size,
            "def k(x, z):\n    y = output_tensor(x.shape, %s)\n    w = output_tensor(x.shape, x.dtype)\n"
            "    for i in range(x.shape[0]):\n        for j in range(x.shape[1]):\n"
            "            y[i, j] = 0\n            w[i, j] = 0\n"
            "    for i in range(x.shape[0]):\n        top = z[i, 0]\n"
            "        for j in range(x.shape[1]):\n            top = max(top, z[i, j])\n"
            "        for j in range(%d, x.shape[1]):\n"
            "%s%s"
            "        for j in range(x.shape[1]):\n            w[i, j] = top - x[i, j]\n    return y, w\n",
            dtype, begin, store, second);
    else if (rows)
        snprintf(text, size,
                 "def k(x, z):\n    y = output_tensor(x.shape, %s)\n    w = output_tensor(x.shape, x.dtype)\n"
                 "    for i in range(x.shape[0]):\n        for j in range(x.shape[1]):\n"
                 "            y[i, j] = 0\n            w[i, j] = 0\n"
                 "    for i in range(x.shape[0]):\n        for j in range(%d, x.shape[1]):\n"
                 "%s%s    return y, w\n",
                 dtype, begin, store, second);
    else
        snprintf(text, size,
                 "def k(x, z):\n    y = output_tensor(x.shape, %s)\n    w = output_tensor(x.shape, x.dtype)\n"
                 "    for j in range(x.shape[0]):\n        y[j] = 0\n        w[j] = 0\n"
                 "    for j in range(%d, x.shape[0]):\n%s%s    return y, w\n",
                 dtype, begin, store, second);
}

static akg_tensor *tensor_of(akg_dtype dtype, int rank, const int64_t *shape)
{
    akg_tensor *tensor = NULL;
    int64_t place[2] = {0, 0}, count = rank == 2 ? shape[0] * shape[1] : shape[0];
    if (akg_tensor_create(dtype, rank, shape, &tensor) != AKG_OK)
        return NULL;
    for (int64_t k = 0; k < count; k++) {
        place[0] = rank == 2 ? k / shape[1] : k;
        place[1] = rank == 2 ? k % shape[1] : 0;
        akg_tensor_set(tensor, place, random_below(7));
    }
    return tensor;
}

/* The outputs of the program; false where it cannot be run. */
static bool run(const char *program, akg_tensor *const inputs[INPUTS], const jit_options *options,
                akg_tensor *outputs[OUTPUTS])
{
    jit_source source = {.name = "far.akg", .text = program, .length = strlen(program)};
    akg_argument arguments[INPUTS];
    akg_module *module = NULL;
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;
    for (int k = 0; k < INPUTS; k++)
        arguments[k] = (akg_argument){.kind = AKG_ARGUMENT_TENSOR, .as.tensor = inputs[k]};
    bool good = jit_compile(&source, options, &module, &diagnostics) == AKG_OK;
    if (good) {
        module->vectors.stream_bytes = LIMIT;
        module->vectors.splits = random_below(2);
        good = akg_kernel_call(akg_module_kernel_at(module, 0), arguments, INPUTS, NULL, outputs,
                               &diagnostics) == AKG_OK;
    }
    if (!CHECK(good) && akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &text) == AKG_OK)
        fprintf(stderr, "%s%s", text, program);
    akg_free(text);
    akg_diagnostics_free(diagnostics);
    akg_module_release(module);
    return good;
}

static void check_same(const akg_tensor *a, const akg_tensor *b, const char *target, const char *program)
{
    int rank = (int)akg_tensor_rank(a);
    const int64_t *shape = akg_tensor_shape(a);
    int64_t place[2], columns = rank == 2 ? shape[1] : 1;
    for (int64_t k = 0; k < shape[0] * columns; k++) {
        place[0] = k / columns;
        place[1] = k % columns;
        double x = akg_tensor_get(a, place), y = akg_tensor_get(b, place);
        if (!CHECK(x == y)) {
            fprintf(stderr, "    [%d] of %d x %d: %g with %s, and %g by the interpreter, of\n%s", (int)k,
                    (int)shape[0], (int)columns, x, target, y, program);
            return;
        }
    }
}

static void check_target(const char *program, akg_tensor *const inputs[INPUTS],
                         akg_tensor *const expected[OUTPUTS], enum x86_target target)
{
    jit_options options = {.strict = true, .target = x86_target_name(target), .cache = "off"};
    akg_tensor *outputs[OUTPUTS] = {NULL};
    if (run(program, inputs, &options, outputs))
        for (int k = 0; k < OUTPUTS; k++)
            check_same(outputs[k], expected[k], options.target, program);
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(outputs[k]);
}

static void check_round(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64, AKG_INT16, AKG_UINT8};
    static const char *const results[] = {"x.dtype", "x.dtype", "float32", "float64"};
    char program[1600];
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_dtype dtype = PICK(dtypes);
    const char *result = dtype_is_float(dtype) ? PICK(results) : "x.dtype";
    int begin = random_below(random_below(3) ? 4 : 120);
    write_program(program, sizeof program, begin, result);
    int rank = strstr(program, "i, j") ? 2 : 1;
    int64_t columns = 4 + begin + random_below(random_below(2) ? 80 : 900);
    int64_t shape[2] = {rank == 2 ? 1 + random_below(5) : columns, columns};
    akg_tensor *inputs[INPUTS] = {tensor_of(dtype, rank, shape), tensor_of(dtype, rank, shape)};
    akg_tensor *expected[OUTPUTS] = {NULL};
    if (CHECK(inputs[0] && inputs[1]) && run(program, inputs, &options, expected))
        for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++)
            check_target(program, inputs, expected, (enum x86_target)target);
    for (int k = 0; k < OUTPUTS; k++)
        akg_tensor_release(expected[k]);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

/* ---- the instructions ------------------------------------------------------------------------------- */

static const char doubled[] = "kernel doubled {\ninput x: float32[N]\noutput y: float32[N]\nbody {\n"
                              "for i = 0 to N step 1 {\ny[i] = (x[i] + x[i])\n}\n}\n}\n";

/* x is gone over twice, y not before it is stored. */
static const char banded[] = "kernel banded {\ninput x: float32[M, N]\noutput y: float32[M, N]\nbody {\n"
                             "for i = 0 to M step 1 {\nvar s: float32 = 0.0:float32\n"
                             "for j = 0 to N step 1 reduces sum s {\ns = (s + x[i, j])\n}\n"
                             "for j_1 = 0 to N step 1 {\ny[i, j_1] = (x[i, j_1] - s)\n}\n}\n}\n}\n";

/* One of two is stored, and all of a row for each of two loops around it. */
static const char either[] = "kernel either {\ninput x: float32[N]\noutput y: float32[N]\nbody {\n"
                             "for i = 0 to N step 1 {\nif (x[i] > 0.0:float32) {\ny[i] = x[i]\n} else {\n"
                             "y[i] = (x[i] * 0.5:float32)\n}\n}\n}\n}\n";
static const char outer[] = "kernel outer {\ninput a: float32[M]\ninput b: float32[N]\ninput c: float32[K]\n"
                            "output y: float32[M, N, K]\nbody {\nfor i = 0 to M step 1 {\n"
                            "for j = 0 to N step 1 {\nfor k = 0 to K step 1 {\n"
                            "y[i, j, k] = ((a[i] * b[j]) * c[k])\n}\n}\n}\n}\n}\n";

/* It is gone over once, by a loop that chooses. */
static const char chosen[] = "kernel chosen {\ninput x: float32[M, N]\noutput y: int64[M]\nbody {\n"
                             "for i = 0 to M step 1 {\nvar top: float32 = 0.0:float32\nvar place: int64 = 0\n"
                             "for j = 0 to N step 1 reduces argmax top at place {\n"
                             "if (x[i, j] > top) {\ntop = x[i, j]\nplace = j\n}\n}\ny[i] = place\n}\n}\n}\n";

/* Whether it is in the text of its machine code. */
static bool has_in(const char *kernel, struct vector_options options, const char *wanted)
{
    struct jit_pair pair;
    struct text text;
    bool found = false;
    pair_init(&pair);
    text_init(&text);
    pair.vectors = options;
    if (CHECK(pair_read(&pair, kernel)) && CHECK(vector_plan_print(&text, pair.kernel, &pair.vectors)))
        found = strstr(text.data, wanted) != NULL;
    text_free(&text);
    pair_free(&pair);
    return found;
}

static bool has(struct vector_options options, const char *wanted)
{
    return has_in(doubled, options, wanted);
}

/* Rows, 4 MiB of them, that a band goes over several times, forwards and backwards. */
static void check_fetched(const char *rows, enum x86_target target, bool past)
{
    enum { HEIGHT = 1030, WIDTH = 1021 };
    static const int64_t shape[2] = {HEIGHT, WIDTH};
    char program[500];
    jit_options options = {.target = x86_target_name(target), .cache = "off"};
    akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR};
    akg_module *module = NULL;
    akg_tensor *results[2] = {NULL};
    bool same = true;
    snprintf(program, sizeof program,
             "def k(x):\n    y = output_tensor(x.shape, x.dtype)\n    z = output_tensor(x.shape, x.dtype)\n"
             "    for i in range(%s):\n        top = x[i, 0]\n"
             "        for j in range(x.shape[1]):\n            top = max(top, x[i, j])\n"
             "        for j in range(x.shape[1]):\n            y[i, j] = top - x[i, j]\n"
             "        for j in range(x.shape[1]):\n            z[i, j] = top + x[i, j]\n"
             "            y[i, j] = y[i, j] * 2\n    return y, z\n",
             rows);
    jit_source source = {.name = "fetched.akg", .text = program, .length = strlen(program)};
    if (!CHECK(akg_tensor_create(AKG_INT32, 2, shape, &argument.as.tensor) == AKG_OK))
        return;
    int *x = akg_tensor_data(argument.as.tensor);
    for (int k = 0; k < HEIGHT * WIDTH; k++)
        x[k] = random_below(1000000);
    bool good = CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK);
    if (good)
        module->vectors.stream_bytes = past ? LIMIT : 0;
    if (good &&
        CHECK(akg_kernel_call(akg_module_kernel_at(module, 0), &argument, 1, NULL, results, NULL) == AKG_OK))
        for (int i = 0; i < HEIGHT; i++) {
            const int *row = x + i * WIDTH, *y = (int *)akg_tensor_data(results[0]) + i * WIDTH,
                      *z = (int *)akg_tensor_data(results[1]) + i * WIDTH;
            int top = row[0];
            for (int j = 0; j < WIDTH; j++)
                top = row[j] > top ? row[j] : top;
            for (int j = 0; j < WIDTH; j++)
                same &= y[j] == 2 * (top - row[j]) && z[j] == top + row[j];
        }
    CHECK(same);
    akg_tensor_release(results[0]);
    akg_tensor_release(results[1]);
    akg_module_release(module);
    akg_tensor_release(argument.as.tensor);
}

/* More than 8 MiB, with edges on both sides; each element is its own number. `beside`: elements of each row
 * of the result that stay 0. */
static void check_turned(akg_dtype dtype, const int64_t shape[2], int beside, enum x86_target target)
{
    const char *program = "def k(x, beside):\n"
                          "    y = output_tensor((x.shape[1], x.shape[0] + beside), x.dtype)\n"
                          "    for i, j in grid(x.shape):\n        y[j, i] = x[i, j]\n    return y\n";
    jit_source source = {.name = "turned.akg", .text = program, .length = strlen(program)};
    jit_options options = {.target = x86_target_name(target), .cache = "off"};
    akg_argument arguments[2] = {{.kind = AKG_ARGUMENT_TENSOR},
                                 {.kind = AKG_ARGUMENT_INT, .as.integer = beside}};
    akg_module *module = NULL;
    akg_tensor *turned = NULL;
    bool same = true;
    if (!CHECK(akg_tensor_create(dtype, 2, shape, &arguments[0].as.tensor) == AKG_OK))
        return;
    akg_tensor_fill_range(arguments[0].as.tensor, 0, 1);
    bool good = CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK);
    if (good)
        module->vectors.stream_bytes = LIMIT;
    if (good &&
        CHECK(akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 2, NULL, &turned, NULL) == AKG_OK))
        for (int64_t j = 0; j < shape[1]; j++)
            for (int64_t i = 0; i < shape[0] + beside; i++) {
                int64_t at = j * (shape[0] + beside) + i, number = i < shape[0] ? i * shape[1] + j : 0;
                same &= dtype == AKG_FLOAT64 ? ((double *)akg_tensor_data(turned))[at] == (double)number
                                             : ((int32_t *)akg_tensor_data(turned))[at] == (int32_t)number;
            }
    CHECK(same);
    akg_tensor_release(turned);
    akg_module_release(module);
    akg_tensor_release(arguments[0].as.tensor);
}

/* With edges on both sides or none, rows that begin with lines or anywhere, and as few columns as are stored
 * past the caches. */
static const struct {
    akg_dtype dtype;
    int64_t shape[2];
    int beside;
} turned[] = {{AKG_INT32, {1501, 1439}, 0},  {AKG_INT32, {9, 300000}, 0},   {AKG_FLOAT64, {1021, 1034}, 0},
              {AKG_INT32, {1504, 1439}, 0},  {AKG_INT32, {1501, 1472}, 3},  {AKG_FLOAT64, {1024, 1033}, 0},
              {AKG_INT32, {128, 17000}, 0},  {AKG_INT32, {128, 17003}, 5},  {AKG_INT32, {131, 16800}, 0},
              {AKG_INT32, {143, 15999}, 17}, {AKG_FLOAT64, {64, 17007}, 0}, {AKG_FLOAT64, {71, 15360}, 1},
              {AKG_INT32, {30000, 77}, 0},   {AKG_FLOAT64, {15000, 77}, 0}};

int main(void)
{
    for (int target = X86_TARGET_AVX2; target <= X86_TARGET_AVX512; target++) {
        struct vector_options past = {.target = (enum x86_target)target, .stream_bytes = LIMIT}, ahead = past;
        ahead.stream_bytes = 0;
        CHECK(has(past, "vmovntps") && has(past, "sfence") && has(past, "prefetcht0") &&
              !has(past, "prefetchw"));
        CHECK(!has(ahead, "vmovntps") && has(ahead, "prefetchw"));
        CHECK(has_in(banded, past, "vmovntps") && has_in(banded, past, "sfence") &&
              has_in(banded, past, "prefetcht0"));
        CHECK(!has_in(banded, ahead, "vmovntps") && has_in(banded, ahead, "prefetcht0") &&
              has_in(banded, ahead, "prefetchw"));
        CHECK(has_in(either, past, "vmovntps") && has_in(outer, past, "vmovntps") &&
              has_in(outer, past, "sfence"));
        CHECK(has_in(chosen, past, "prefetcht0") && has_in(chosen, ahead, "prefetcht0"));
        past.splits = ahead.splits = true;
        CHECK(has(past, "vmovntps ymmword") && !has(past, "zmm") && has(ahead, "ymm") && !has(ahead, "zmm"));
    }
    if (x86_cpu_target() == X86_TARGET_NONE) {
        puts("skipped: this processor has no vector target");
        return check_done();
    }
    for (int k = 0; k < ROUNDS; k++)
        check_round();
    for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++) {
        for (size_t k = 0; k < sizeof turned / sizeof *turned; k++) {
            akg_set_threads(k % 2 ? 3 : 1);
            check_turned(turned[k].dtype, turned[k].shape, turned[k].beside, (enum x86_target)target);
        }
        akg_set_threads(0);
        for (int past = 0; past < 2; past++) {
            check_fetched("x.shape[0]", (enum x86_target)target, past);
            check_fetched("x.shape[0] - 1, -1, -1", (enum x86_target)target, past);
        }
    }
    return check_done();
}

/*
 * contraction.c: products of matrices and convolutions, from naive loops, against OpenBLAS and the C
 * compiler.
 *
 * Each case is a kernel in .akg, a call of cblas_sgemm or cblas_dgemm that computes the same, where there is
 * one, and the loops that a person would write in C, compiled by gcc -O3 -march=native -ffast-math. All run
 * in turn, on one thread, on the same data; prints the median of each in GF/s, and the ratios (above 1, akg
 * is faster). Asserts only that the results agree. Run by `make bench`; words of the command line choose
 * cases by the beginning of their names. The instant tier alone is measured. OpenBLAS and gcc are looked for
 * when it runs, and left out where they are not there; AKG_OPENBLAS_CORE names the processor whose code it
 * runs.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../include/akg.h"

enum { SAMPLES = 15, TENSORS = 4, CBLAS_ROW_MAJOR = 101, CBLAS_PLAIN = 111, CBLAS_TRANSPOSED = 112 };

#define HEAD(shape) "    c = output_tensor(" shape ", a.dtype)\n"
#define PRODUCT(rows, columns, depths, term, result)                                                         \
    "    for i in range(" rows "):\n        for j in range(" columns "):\n            acc = 0.0\n"           \
    "            for k in range(" depths "):\n                acc += " term                                  \
    "\n            c[i, j] = " result "\n    return c\n"

enum layout { NN, NT, TN, BATCHED, BIAS, CONVOLUTION };

static const struct layout_row {
    const char *name, *program, *twin;
} layouts[] = {
    [NN] =
        {"nn",
         "def f(a, b):\n" HEAD("(a.shape[0], b.shape[1])")
             PRODUCT("a.shape[0]", "b.shape[1]", "a.shape[1]", "a[i, k] * b[k, j]", "acc"),
         "for (long i = 0; i < m; i++) for (long j = 0; j < n; j++) { T s = 0; for (long k = 0; k < p; k++) "
         "s += a[i * p + k] * b[k * n + j]; c[i * n + j] = s; }"},
    [NT] =
        {"nt",
         "def f(a, b):\n" HEAD("(a.shape[0], b.shape[0])")
             PRODUCT("a.shape[0]", "b.shape[0]", "a.shape[1]", "a[i, k] * b[j, k]", "acc"),
         "for (long i = 0; i < m; i++) for (long j = 0; j < n; j++) { T s = 0; for (long k = 0; k < p; k++) "
         "s += a[i * p + k] * b[j * p + k]; c[i * n + j] = s; }"},
    [TN] =
        {"tn",
         "def f(a, b):\n" HEAD("(a.shape[1], b.shape[1])")
             PRODUCT("a.shape[1]", "b.shape[1]", "a.shape[0]", "a[k, i] * b[k, j]", "acc"),
         "for (long i = 0; i < m; i++) for (long j = 0; j < n; j++) { T s = 0; for (long k = 0; k < p; k++) "
         "s += a[k * m + i] * b[k * n + j]; c[i * n + j] = s; }"},
    [BATCHED] =
        {"batched",
         "def f(a, b):\n"
         "    c = output_tensor((a.shape[0], a.shape[1], b.shape[2]), a.dtype)\n"
         "    for h, i, j in grid(c.shape):\n        acc = 0.0\n"
         "        for k in range(a.shape[2]):\n            acc += a[h, i, k] * b[h, k, j]\n"
         "        c[h, i, j] = acc\n    return c\n",
         "for (long h = 0; h < q; h++, a += m * p, b += p * n, c += m * n) for (long i = 0; i < m; i++) "
         "for (long j = 0; j < n; j++) { T s = 0; for (long k = 0; k < p; k++) "
         "s += a[i * p + k] * b[k * n + j]; c[i * n + j] = s; }"},
    [BIAS] =
        {"bias_gelu",
         "def f(a, b, v):\n" HEAD("(a.shape[0], b.shape[1])")
             PRODUCT("a.shape[0]", "b.shape[1]", "a.shape[1]", "a[i, k] * b[k, j]",
                     "0.5 * (acc + v[j]) * (1 + erf((acc + v[j]) * 0.7071067811865476))"),
         "for (long i = 0; i < m; i++) for (long j = 0; j < n; j++) { T s = 0; for (long k = 0; k < p; k++) "
         "s += a[i * p + k] * b[k * n + j]; s += v[j]; "
         "c[i * n + j] = (T)0.5 * s * (1 + (T)erf(s * (T)0.7071067811865476)); }"},
    [CONVOLUTION] =
        {"conv3x3",
         "def f(x, w):\n"
         "    c = output_tensor((x.shape[0], w.shape[0], x.shape[2] - 2, x.shape[3] - 2), x.dtype)\n"
         "    for s, o, y, z in grid(c.shape):\n        acc = 0.0\n"
         "        for i in range(x.shape[1]):\n            for p in range(3):\n"
         "                for q in range(3):\n"
         "                    acc += x[s, i, y + p, z + q] * w[o, i, p, q]\n"
         "        c[s, o, y, z] = acc\n    return c\n",
         /* m channels in, n out, images of p by p, q of them */
         "for (long s = 0; s < q; s++) for (long o = 0; o < n; o++) for (long y = 0; y < p - 2; y++) "
         "for (long z = 0; z < p - 2; z++) { T r = 0; for (long i = 0; i < m; i++) for (long u = 0; "
         "u < 3; u++) for (long v = 0; v < 3; v++) r += a[((s * m + i) * p + y + u) * p + z + v] * "
         "b[((o * m + i) * 3 + u) * 3 + v]; c[((s * n + o) * (p - 2) + y) * (p - 2) + z] = r; }"},
};

static const struct shape {
    enum layout layout;
    akg_dtype dtype;
    long m, n, p, q; /* rows, columns, depths, batch; of convolutions see there */
} shapes[] = {
    {NN, AKG_FLOAT32, 8, 8, 8, 1},
    {NN, AKG_FLOAT32, 32, 32, 32, 1},
    {NN, AKG_FLOAT32, 64, 64, 64, 1},
    {NN, AKG_FLOAT32, 128, 128, 128, 1},
    {NN, AKG_FLOAT32, 256, 256, 256, 1},
    {NN, AKG_FLOAT32, 500, 500, 500, 1},
    {NN, AKG_FLOAT32, 512, 512, 512, 1},
    {NN, AKG_FLOAT32, 1024, 1024, 1024, 1},
    {NN, AKG_FLOAT32, 2048, 2048, 2048, 1},
    {NT, AKG_FLOAT32, 32, 32, 32, 1},
    {NT, AKG_FLOAT32, 256, 256, 256, 1},
    {NT, AKG_FLOAT32, 512, 512, 512, 1},
    {NT, AKG_FLOAT32, 1024, 1024, 1024, 1},
    {NT, AKG_FLOAT32, 2048, 2048, 2048, 1},
    {TN, AKG_FLOAT32, 32, 32, 32, 1},
    {TN, AKG_FLOAT32, 256, 256, 256, 1},
    {TN, AKG_FLOAT32, 512, 512, 512, 1},
    {TN, AKG_FLOAT32, 1024, 1024, 1024, 1},
    {TN, AKG_FLOAT32, 2048, 2048, 2048, 1},
    {NN, AKG_FLOAT64, 64, 64, 64, 1},
    {NN, AKG_FLOAT64, 256, 256, 256, 1},
    {NN, AKG_FLOAT64, 1024, 1024, 1024, 1},
    {NN, AKG_FLOAT32, 16, 1024, 1024, 1},
    {NN, AKG_FLOAT32, 1024, 16, 1024, 1},
    {NN, AKG_FLOAT32, 1024, 1024, 16, 1},
    {NN, AKG_FLOAT32, 4096, 64, 64, 1},
    {NN, AKG_FLOAT32, 4, 4096, 1024, 1},
    {BATCHED, AKG_FLOAT32, 64, 64, 64, 64},
    {BATCHED, AKG_FLOAT32, 128, 128, 64, 16},
    {BIAS, AKG_FLOAT32, 256, 256, 256, 1},
    {BIAS, AKG_FLOAT32, 1024, 1024, 1024, 1},
    {CONVOLUTION, AKG_FLOAT32, 64, 64, 58, 1},
    {CONVOLUTION, AKG_FLOAT32, 32, 64, 114, 1},
    {CONVOLUTION, AKG_FLOAT32, 256, 256, 16, 1},
};

typedef void (*sgemm_function)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                               float, float *, int);
typedef void (*dgemm_function)(int, int, int, int, int, int, double, const double *, int, const double *, int,
                               double, double *, int);
typedef void (*twin_function)(void **data, long m, long n, long p, long q);

static struct {
    sgemm_function sgemm;
    dgemm_function dgemm;
    bool has_gcc;
    char folder[40];
} tools;

struct run {
    const struct shape *shape;
    akg_module *module;
    akg_kernel *kernel;
    akg_tensor *inputs[TENSORS], *output;
    akg_argument arguments[TENSORS];
    size_t count;
    void *data[TENSORS], *result, *expected; /* inputs; what akg computed, what the others did */
    twin_function twin;
};

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "contraction: %s failed\n", what);
    exit(1);
}

/* The processor's time, so that what else runs on the machine counts less. */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- the others --------------------------------------------------------------------------------- */

static void find_function(void *library, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
}

static void find_tools(void)
{
    const char *core = getenv("AKG_OPENBLAS_CORE");
    /* what a machine sets for all its programs may be for the least of its processors */
    unsetenv("OPENBLAS_L2_SIZE");
    /* a version older than the processor takes it for one of twenty years ago */
    if (core)
        setenv("OPENBLAS_CORETYPE", core, 1);
    else if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        setenv("OPENBLAS_CORETYPE", "SkylakeX", 1);
    else
        unsetenv("OPENBLAS_CORETYPE");
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    void (*set_threads)(int) = NULL;
    if (library) {
        find_function(library, "cblas_sgemm", &tools.sgemm, sizeof tools.sgemm);
        find_function(library, "cblas_dgemm", &tools.dgemm, sizeof tools.dgemm);
        find_function(library, "openblas_set_num_threads", &set_threads, sizeof set_threads);
        if (set_threads)
            set_threads(1);
    }
    tools.has_gcc = system("gcc --version >/dev/null 2>&1") == 0;
    strcpy(tools.folder, "/tmp/akg-bench-XXXXXX");
    if (!mkdtemp(tools.folder))
        fail("a temporary folder");
}

static twin_function compile_twin(const struct shape *shape)
{
    const struct layout_row *row = &layouts[shape->layout];
    char path[200], command[600];
    twin_function function = NULL;
    if (!tools.has_gcc)
        return NULL;
    snprintf(path, sizeof path, "%s/%s.c", tools.folder, row->name);
    FILE *file = fopen(path, "w");
    if (!file)
        fail("a temporary file");
    fprintf(file,
            "#include <math.h>\ntypedef %s T;\nvoid f(void **d, long m, long n, long p, long q)\n{\n"
            "T *restrict a = d[0], *restrict b = d[1], *restrict c = d[3], *restrict v = d[2];\n"
            "(void)q; (void)v;\n%s\n}\n",
            shape->dtype == AKG_FLOAT64 ? "double" : "float", row->twin);
    fclose(file);
    /* linked without -ffast-math, which would make the whole process flush subnormals to zero */
    snprintf(
        command, sizeof command,
        "cd %s && gcc -O3 -march=native -ffast-math -fPIC -c %s.c -o t.o && gcc -shared -o %s%d.so t.o -lm",
        tools.folder, row->name, row->name, (int)shape->dtype);
    if (system(command) != 0)
        fail("gcc");
    snprintf(path, sizeof path, "%s/%s%d.so", tools.folder, row->name, (int)shape->dtype);
    void *library = dlopen(path, RTLD_NOW);
    if (library)
        find_function(library, "f", &function, sizeof function);
    if (!function)
        fail("dlopen");
    return function;
}

static void multiply(const struct run *run)
{
    const struct shape *shape = run->shape;
    int m = (int)shape->m, n = (int)shape->n, p = (int)shape->p;
    int ta = shape->layout == TN ? CBLAS_TRANSPOSED : CBLAS_PLAIN, lda = shape->layout == TN ? m : p;
    int tb = shape->layout == NT ? CBLAS_TRANSPOSED : CBLAS_PLAIN, ldb = shape->layout == NT ? p : n;
    for (long q = 0; q < shape->q; q++) {
        if (shape->dtype == AKG_FLOAT64)
            tools.dgemm(CBLAS_ROW_MAJOR, ta, tb, m, n, p, 1, (double *)run->data[0] + q * m * p, lda,
                        (double *)run->data[1] + q * p * n, ldb, 0, (double *)run->expected + q * m * n, n);
        else
            tools.sgemm(CBLAS_ROW_MAJOR, ta, tb, m, n, p, 1, (float *)run->data[0] + q * m * p, lda,
                        (float *)run->data[1] + q * p * n, ldb, 0, (float *)run->expected + q * m * n, n);
    }
    /* what follows the product goes over the matrix once more, as the user of a library would */
    if (shape->layout == BIAS)
        for (long at = 0; at < shape->m * shape->n; at++) {
            float *c = run->expected, *v = run->data[2], s = c[at] + v[at % shape->n];
            c[at] = 0.5f * s * (1 + erff(s * 0.70710678f));
        }
}

/* ---- ours ---------------------------------------------------------------------------------------- */

static akg_tensor *new_tensor(const struct shape *shape, size_t rank, const int64_t *extents, void **data)
{
    akg_tensor *tensor = NULL;
    int64_t count = 1;
    if (akg_tensor_create(shape->dtype, (int)rank, extents, &tensor) != AKG_OK)
        fail("a tensor");
    *data = akg_tensor_data(tensor);
    for (size_t k = 0; k < rank; k++)
        count *= extents[k];
    for (int64_t at = 0; at < count; at++) {
        double value = (double)(at * 7919 % 1001) / 500 - 1;
        if (shape->dtype == AKG_FLOAT64)
            ((double *)*data)[at] = value;
        else
            ((float *)*data)[at] = (float)value;
    }
    return tensor;
}

static void make_inputs(struct run *run)
{
    const struct shape *shape = run->shape;
    long m = shape->m, n = shape->n, p = shape->p, q = shape->q;
    const int64_t plain[3][3] = {{m, p}, {p, n}, {n}}, batched[2][3] = {{q, m, p}, {q, p, n}},
                  transposed[2][2] = {{p, m}, {n, p}}, images[2][4] = {{q, m, p, p}, {n, m, 3, 3}};
    size_t rank = shape->layout == CONVOLUTION ? 4 : shape->layout == BATCHED ? 3 : 2;
    run->count = shape->layout == BIAS ? 3 : 2;
    for (size_t k = 0; k < run->count; k++) {
        const int64_t *extents = shape->layout == CONVOLUTION ? images[k]
                                 : shape->layout == BATCHED   ? batched[k]
                                                              : plain[k];
        if ((shape->layout == TN && k == 0) || (shape->layout == NT && k == 1))
            extents = transposed[k];
        run->inputs[k] = new_tensor(shape, k == 2 ? 1 : rank, extents, &run->data[k]);
        run->arguments[k] = (akg_argument){.kind = AKG_ARGUMENT_TENSOR, .as.tensor = run->inputs[k]};
    }
}

static void call(struct run *run)
{
    akg_diagnostics *diagnostics = NULL;
    if (akg_kernel_call(run->kernel, run->arguments, run->count, NULL, &run->output, &diagnostics) != AKG_OK)
        fail("the call");
    akg_diagnostics_free(diagnostics);
}

static size_t elements(const struct shape *shape)
{
    long side = shape->p - 2;
    return (size_t)(shape->layout == CONVOLUTION ? shape->q * shape->n * side * side
                                                 : shape->q * shape->m * shape->n);
}

static void prepare(struct run *run, const struct shape *shape)
{
    jit_source source = {.name = "contraction.akg", .text = layouts[shape->layout].program};
    akg_diagnostics *diagnostics = NULL;
    memset(run, 0, sizeof *run);
    run->shape = shape;
    source.length = strlen(source.text);
    jit_options options = {.tier = JIT_TIER_INSTANT};
    if (jit_compile(&source, &options, &run->module, &diagnostics) != AKG_OK)
        fail("jit_compile");
    akg_diagnostics_free(diagnostics);
    run->kernel = akg_module_kernel(run->module, "f");
    make_inputs(run);
    call(run);
    run->result = akg_tensor_data(run->output);
    run->expected = malloc(elements(shape) * sizeof(double));
    run->data[3] = run->expected;
    run->twin = compile_twin(shape);
}

static void clean(struct run *run)
{
    for (size_t k = 0; k < run->count; k++)
        akg_tensor_release(run->inputs[k]);
    akg_tensor_release(run->output);
    akg_module_release(run->module);
    free(run->expected);
}

/* ---- measuring ------------------------------------------------------------------------------------ */

enum side { AKG, OPENBLAS, GCC, SIDES };

static bool has_side(const struct run *run, enum side side, double work)
{
    enum { LARGEST_TWIN = 100000000 }; /* operations: it takes too long beyond */
    if (side == OPENBLAS)
        return tools.sgemm && tools.dgemm && run->shape->layout != CONVOLUTION;
    return side == AKG || (run->twin && work < LARGEST_TWIN);
}

static double time_once(struct run *run, enum side side, int rounds)
{
    const struct shape *shape = run->shape;
    double start = now();
    for (int k = 0; k < rounds; k++) {
        if (side == AKG)
            call(run);
        else if (side == OPENBLAS)
            multiply(run);
        else
            run->twin(run->data, shape->m, shape->n, shape->p, shape->q);
    }
    return (now() - start) / rounds;
}

static void check_results(const struct run *run, double scale)
{
    for (size_t at = 0; at < elements(run->shape); at++) {
        double ours =
            run->shape->dtype == AKG_FLOAT64 ? ((double *)run->result)[at] : ((float *)run->result)[at];
        double other =
            run->shape->dtype == AKG_FLOAT64 ? ((double *)run->expected)[at] : ((float *)run->expected)[at];
        if (fabs(ours - other) > 1e-5 * scale)
            fail("the comparison of results");
    }
}

static double work_of(const struct shape *shape)
{
    double side = (double)shape->p - 2;
    if (shape->layout == CONVOLUTION)
        return 18.0 * (double)shape->m * (double)shape->n * side * side * (double)shape->q;
    return 2.0 * (double)shape->m * (double)shape->n * (double)shape->p * (double)shape->q;
}

static void print_number(double number, int digits)
{
    if (number > 0)
        printf(" %8.*f", digits, number);
    else
        printf(" %8s", "-");
}

static void measure(struct run *run)
{
    const struct shape *shape = run->shape;
    double samples[SIDES][SAMPLES], median[SIDES] = {0}, work = work_of(shape);
    int rounds[SIDES];
    for (enum side side = AKG; side < SIDES; side++) {
        if (!has_side(run, side, work))
            continue;
        double first = time_once(run, side, 1);
        rounds[side] = first > 5e6 ? 1 : (int)(5e6 / (first + 1)) + 1;
        if (side != AKG)
            check_results(run, shape->layout == CONVOLUTION ? 9 * (double)shape->m : (double)shape->p);
    }
    for (int k = 0; k < SAMPLES; k++)
        for (enum side side = AKG; side < SIDES; side++)
            if (has_side(run, side, work) && (side != GCC || k < 5))
                samples[side][k] = time_once(run, side, rounds[side]);
    for (enum side side = AKG; side < SIDES; side++) {
        int count = side == GCC ? 5 : SAMPLES;
        if (!has_side(run, side, work))
            continue;
        qsort(samples[side], (size_t)count, sizeof samples[side][0], compare);
        median[side] = samples[side][count / 2];
    }
    printf("%-10s %s %5ld %5ld %5ld %4ld ", layouts[shape->layout].name,
           shape->dtype == AKG_FLOAT64 ? "f64" : "f32", shape->m, shape->n, shape->p, shape->q);
    for (enum side side = AKG; side < SIDES; side++)
        print_number(median[side] > 0 ? work / median[side] : 0, 1);
    for (enum side side = OPENBLAS; side < SIDES; side++)
        print_number(median[side] / median[AKG], 2);
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char command[100];
    find_tools();
    akg_set_threads(1);
    printf("%-10s     %5s %5s %5s %4s  %8s %8s %8s %8s %8s\n", "GF/s", "m", "n", "k", "n", "akg", "openblas",
           "gcc", "/blas", "/gcc");
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        static struct run run;
        bool chosen = argc == 1;
        for (int word = 1; word < argc; word++)
            chosen |= strncmp(layouts[shapes[k].layout].name, argv[word], strlen(argv[word])) == 0;
        if (!chosen)
            continue;
        prepare(&run, &shapes[k]);
        measure(&run);
        clean(&run);
    }
    snprintf(command, sizeof command, "rm -r %s", tools.folder);
    return system(command) != 0;
}

/*
 * vector.c: the vector loops against the C compiler.
 *
 * Each kernel is compiled by akg and, as the C that a person would write, by gcc -O3 -march=native
 * -ffast-math; both run in turn on data that lives in the first cache, in the second, and in memory. Prints
 * medians and their ratio (time of the C over time of akg: above 1, akg is faster); asserts nothing. Run by
 * `make bench`; words of the command line choose kernels.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../jit/pipeline.h"
#include "../jit/scalar.h"

enum { BUFFERS = 4, SAMPLES = 25 };

struct kernel {
    const char *name;
    const char *program; /* its first parameter has rank 1, or 2: rows of `columns` */
    const char *twin;    /* the body of void f(float **data, long n, long m); data in the kernel's order */
    int inputs, rank;
};

#define MAP(parameters, body)                                                                                \
    "def k(" parameters "):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"     \
    "        " body "\n    return y\n"
#define TWIN "float *restrict x = data[0], *restrict y = data[1]; (void)m;"
#define TWIN3 "float *restrict x = data[0], *restrict z = data[1], *restrict y = data[2]; (void)m;"
#define REDUCE(parameters, start, body)                                                                      \
    "def k(" parameters "):\n    y = output_tensor((1,), x.dtype)\n    acc = " start "\n"                    \
    "    for i in range(x.shape[0]):\n        " body "\n    y[0] = acc\n    return y\n"

static const struct kernel kernels[] = {
    {"square", MAP("x", "y[i] = x[i] * x[i]"), TWIN "for (long i = 0; i < n; i++) y[i] = x[i] * x[i];", 1, 1},
    {"axpy", MAP("x, z", "y[i] = 2.5 * x[i] + z[i]"),
     TWIN3 "for (long i = 0; i < n; i++) y[i] = 2.5f * x[i] + z[i];", 2, 1},
    {"chain",
     MAP("x, z",
         "y[i] = ((x[i] * 1.5 + z[i]) * x[i] - 0.5) * (z[i] + 2.0) + x[i] * (z[i] - 0.25) * (x[i] + 3.0)"),
     TWIN3
     "for (long i = 0; i < n; i++) y[i] = ((x[i] * 1.5f + z[i]) * x[i] - 0.5f) * (z[i] + 2.0f) + x[i] * "
     "(z[i] - 0.25f) * (x[i] + 3.0f);",
     2, 1},
    {"relu", MAP("x", "y[i] = max(x[i], 0)"), TWIN "for (long i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;",
     1, 1},
    {"sum", REDUCE("x", "0.0", "acc += x[i]"),
     TWIN "float acc = 0; for (long i = 0; i < n; i++) acc += x[i]; y[0] = acc;", 1, 1},
    {"dot", REDUCE("x, z", "0.0", "acc += x[i] * z[i]"),
     TWIN3 "float acc = 0; for (long i = 0; i < n; i++) acc += x[i] * z[i]; y[0] = acc;", 2, 1},
    {"max", REDUCE("x", "x[0]", "acc = max(acc, x[i])"),
     TWIN "float acc = x[0]; for (long i = 0; i < n; i++) acc = x[i] > acc ? x[i] : acc; y[0] = acc;", 1, 1},
    {"exp", MAP("x", "y[i] = exp(x[i])"), TWIN "for (long i = 0; i < n; i++) y[i] = expf(x[i]);", 1, 1},
    {"tanh", MAP("x", "y[i] = tanh(x[i])"), TWIN "for (long i = 0; i < n; i++) y[i] = tanhf(x[i]);", 1, 1},
    {"gelu", MAP("x", "y[i] = 0.5 * x[i] * (1 + erf(x[i] * 0.7071067811865476))"),
     TWIN "for (long i = 0; i < n; i++) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));", 1, 1},
    {"softmax",
     "def k(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
     "        top = x[i, 0]\n        for j in range(x.shape[1]):\n            top = max(top, x[i, j])\n"
     "        total = 0.0\n        for j in range(x.shape[1]):\n            y[i, j] = exp(x[i, j] - top)\n"
     "            total += y[i, j]\n        for j in range(x.shape[1]):\n            y[i, j] /= total\n    "
     "return y\n",
     TWIN "for (long i = 0; i < n; i++, x += m, y += m) { float top = x[0], total = 0;"
          "for (long j = 0; j < m; j++) top = x[j] > top ? x[j] : top;"
          "for (long j = 0; j < m; j++) { y[j] = expf(x[j] - top); total += y[j]; }"
          "for (long j = 0; j < m; j++) y[j] /= total; }",
     1, 2},
    {"stencil",
     "def k(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(1, x.shape[0] - 1):\n"
     "        for j in range(1, x.shape[1] - 1):\n"
     "            y[i, j] = 0.2 * (x[i, j] + x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])\n    "
     "return y\n",
     TWIN
     "memset(y, 0, n * m * sizeof *y);" /* as the language has it of what is not written */
     "for (long i = 1; i < n - 1; i++) for (long j = 1; j < m - 1; j++)"
     "y[i * m + j] = 0.2f * (x[i * m + j] + x[(i - 1) * m + j] + x[(i + 1) * m + j] + x[i * m + j - 1] + "
     "x[i * m + j + 1]);",
     1, 2},
};

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

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "vector: %s failed\n", what);
    exit(1);
}

typedef void (*twin_function)(float **data, long n, long m);

static twin_function compile_twin(const struct kernel *kernel, const char *folder)
{
    char path[200], command[500];
    snprintf(path, sizeof path, "%s/%s.c", folder, kernel->name);
    FILE *file = fopen(path, "w");
    if (!file)
        fail("a temporary file");
    fprintf(file, "#include <math.h>\n#include <string.h>\nvoid f(float **data, long n, long m)\n{\n%s\n}\n",
            kernel->twin);
    fclose(file);
    /* linked without -ffast-math, which would make the whole process flush subnormals to zero */
    snprintf(
        command, sizeof command,
        "cd %s && gcc -O3 -march=native -ffast-math -fPIC -c %s.c && gcc -shared -o %s.so %s.o -lmvec -lm",
        folder, kernel->name, kernel->name, kernel->name);
    if (system(command) != 0)
        fail("gcc");
    snprintf(path, sizeof path, "%s/%s.so", folder, kernel->name);
    void *library = dlopen(path, RTLD_NOW);
    twin_function function = NULL;
    void *symbol = library ? dlsym(library, "f") : NULL;
    memcpy(&function, &symbol, sizeof function);
    if (!function)
        fail("dlopen");
    return function;
}

struct compiled {
    struct arena arena;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    struct backend_code code;
    akg_diagnostics *diagnostics;
};

static void compile_kernel(const struct kernel *kernel, struct compiled *compiled)
{
    static jmp_buf escape;
    struct dsl_source source = {"vector.akg", kernel->program, strlen(kernel->program)};
    struct dsl_argument arguments[2];
    struct elaborate_result result = {0};
    struct vector_options vectors = {.target = x86_cpu_target()};
    for (int k = 0; k < 2; k++)
        arguments[k] = (struct dsl_argument){
            .kind = DSL_TENSOR, .dtype = AKG_FLOAT32, .rank = kernel->rank, .contiguous = true};
    compiled->diagnostics = diagnostics_create("vector.akg", kernel->program, strlen(kernel->program));
    if (setjmp(escape))
        fail("memory");
    arena_init(&compiled->arena, &escape);
    struct ast_module *tree = pipeline_read(&compiled->arena, &source, compiled->diagnostics);
    pipeline_specialise(&compiled->arena, tree, tree->functions, arguments, false, &result,
                        compiled->diagnostics);
    compiled->kernel = result.kernel;
    if (!result.kernel)
        fail("pipeline_specialise");
    if (!pipeline_optimise(result.kernel, NULL, compiled->diagnostics))
        fail("pipeline_optimise");
    sites_number(result.kernel, &compiled->sites);
    if (pipeline_generate(result.kernel, &vectors, NULL, &(struct pipeline_form){.defers = false},
                          &compiled->code, compiled->diagnostics) != AKG_OK)
        fail("pipeline_generate");
}

struct run {
    struct compiled compiled;
    twin_function twin;
    float *data[BUFFERS];
    void *addresses[BUFFERS];
    int64_t dims[4];
    struct jit_frame frame;
    struct jit_trap trap;
    long n, m;
};

static void allocate(struct run *run, const struct kernel *kernel, long n, long m)
{
    static const int64_t *const strides[BUFFERS];
    run->n = n;
    run->m = m;
    run->dims[0] = run->dims[2] = n;
    run->dims[1] = run->dims[3] = kernel->rank == 2 ? m : n;
    for (int k = 0; k <= kernel->inputs; k++) {
        run->data[k] = aligned_alloc(64, ((size_t)n * (size_t)m * sizeof(float) + 4096) / 64 * 64);
        if (!run->data[k])
            fail("memory");
        for (long at = 0; at < n * m; at++)
            run->data[k][at] = (float)(at % 1000) / 500 - 1;
        run->addresses[k] = run->data[k];
    }
    run->frame =
        (struct jit_frame){.data = run->addresses, .dims = run->dims, .strides = strides, .trap = &run->trap};
}

static double time_once(struct run *run, bool twin, int rounds)
{
    double start = now();
    for (int k = 0; k < rounds; k++) {
        if (twin)
            run->twin(run->data, run->n, run->m);
        else
            run->compiled.code.entry(&run->frame);
    }
    return (now() - start) / rounds;
}

static void measure(struct run *run, const struct kernel *kernel, const char *place, long n, long m)
{
    double samples[2][SAMPLES];
    allocate(run, kernel, n, m);
    double first = time_once(run, true, 2);
    int rounds = first > 2e6 ? 1 : (int)(2e6 / (first + 1)) + 1;
    for (int k = -2; k < SAMPLES; k++)
        for (int side = 0; side < 2; side++)
            samples[side][k < 0 ? 0 : k] = time_once(run, side, rounds);
    for (int side = 0; side < 2; side++)
        qsort(samples[side], SAMPLES, sizeof samples[side][0], compare);
    double ours = samples[0][SAMPLES / 2], theirs = samples[1][SAMPLES / 2];
    printf("  %-8s %12.0f %12.0f %8.2f\n", place, ours, theirs, theirs / ours);
    for (int k = 0; k <= kernel->inputs; k++)
        free(run->data[k]);
}

static bool is_chosen(const char *name, int count, char **words)
{
    for (int k = 1; k < count; k++)
        if (strcmp(words[k], name) == 0)
            return true;
    return count == 1;
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/akg-bench-XXXXXX", command[100];
    if (system("gcc --version >/dev/null 2>&1") != 0) {
        puts("skipped: there is no gcc");
        return 0;
    }
    if (!mkdtemp(folder))
        fail("a temporary folder");
    printf("target %s; float32; ns per call: akg, gcc -O3 -march=native -ffast-math, gcc / akg\n",
           x86_target_name(x86_cpu_target()));
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        const struct kernel *kernel = &kernels[k];
        static struct run run;
        if (!is_chosen(kernel->name, argc, argv))
            continue;
        memset(&run, 0, sizeof run);
        compile_kernel(kernel, &run.compiled);
        run.twin = compile_twin(kernel, folder);
        printf("%s\n", kernel->name);
        long rows = kernel->rank == 2;
        measure(&run, kernel, "L1", rows ? 8 : 2048, rows ? 256 : 1);
        measure(&run, kernel, "L2", rows ? 64 : 65536, rows ? 1024 : 1);
        measure(&run, kernel, "memory", rows ? 4096 : 4096 * 4096, rows ? 4096 : 1);
        backend_tcc_free(&run.compiled.code);
        arena_free(&run.compiled.arena);
        akg_diagnostics_free(run.compiled.diagnostics);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) != 0;
}

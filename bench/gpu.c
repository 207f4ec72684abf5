/*
 * gpu.c: what a GPU is worth to us: `make bench-gpu`. Prints, and asserts nothing but that products are
 * right; says so where there is no GPU.
 *
 *   from the text of a kernel to its first result, context creation apart, with and without code on the disk
 *   the host's side of a launch, beside cuLaunchKernel itself
 *   kernels that move memory, beside a copy, on arrays several times the caches
 *   the product of two matrices from the naive loops, beside cuBLAS where that is installed
 *
 * With a number as argument sizes are divided by it: what tests do, for which times mean nothing.
 */
#include "../include/akg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_CUDA

#include "../jit/nvrtc.h"
#include "../runtime/gpu_private.h"

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static const akg_device device = {AKG_DEVICE_CUDA, 0};
static const char program[] = "def scale(x):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(len(x)):\n"
                              "        y[i] = x[i] * 2.0\n"
                              "    return y\n"
                              "\n"
                              "def matmul(a, b):\n"
                              "    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)\n"
                              "    for m in range(a.shape[0]):\n"
                              "        for n in range(b.shape[1]):\n"
                              "            acc = 0.0\n"
                              "            for k in range(a.shape[1]):\n"
                              "                acc += a[m, k] * b[k, n]\n"
                              "            c[m, n] = acc\n"
                              "    return c\n";

static int64_t smaller = 1; /* what sizes are divided by */

static double now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;
}

/* `diagnostics` may be NULL. (A pointer to them: arguments are computed in any order.) */
static void must(akg_status status, akg_diagnostics *const *diagnostics)
{
    char *text = NULL;
    if (status == AKG_OK)
        return;
    if (diagnostics)
        akg_diagnostics_render(*diagnostics, AKG_FORMAT_TEXT, &text);
    fprintf(stderr, "bench-gpu: %s\n%s", akg_status_text(status), text ? text : "");
    exit(1);
}

static void wait_for(void)
{
    akg_diagnostics *diagnostics = NULL;
    must(akg_device_wait(device, &diagnostics), &diagnostics);
}

static akg_tensor *tensor(akg_dtype dtype, int rank, const int64_t *shape)
{
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *made = NULL;
    must(akg_tensor_create_on(device, dtype, rank, shape, &made, &diagnostics), &diagnostics);
    akg_tensor_fill_uniform(made, 1); /* of one number all over a product takes less power, and less time */
    return made;
}

static akg_argument of_tensor(akg_tensor *tensor)
{
    return (akg_argument){.kind = AKG_ARGUMENT_TENSOR, .as.tensor = tensor};
}

static void call(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_tensor **outputs)
{
    akg_diagnostics *diagnostics = NULL;
    must(akg_kernel_call(kernel, arguments, count, NULL, outputs, &diagnostics), &diagnostics);
}

static akg_module *compile(const jit_source *source)
{
    akg_diagnostics *diagnostics = NULL;
    akg_module *module = NULL;
    must(jit_compile(source, NULL, &module, &diagnostics), &diagnostics);
    return module;
}

/* The least of several times that the work took, in seconds; it fills the device's queue for a while each
 * time. */
static double best(void (*work)(void *context), void *context)
{
    double least = 1e9;
    int times = 1;
    work(context);
    wait_for();
    for (int round = 0; round < 7; round++) {
        double start = now(), taken;
        for (int i = 0; i < times; i++)
            work(context);
        wait_for();
        taken = now() - start;
        if (taken / times < least)
            least = taken / times;
        if (taken < 0.02 && smaller == 1)
            times = taken < 0.002 ? times * 10 : times * 2;
    }
    return least;
}

/* ---- the first result: each in a process of its own, which is forked before this one uses CUDA
 * ---------------------------------------------------------------------------------------- */

enum { STEPS_MOST = 16 };

/* What a process did in turn, and for how long, in seconds. */
struct first_steps {
    int count; /* 0: there is no device */
    struct {
        char name[40];
        double seconds;
    } items[STEPS_MOST];
    double began;
};

static void begin_steps(struct first_steps *steps)
{
    steps->count = 0;
    steps->began = now();
}

static void step_done(struct first_steps *steps, const char *name)
{
    double ended = now();

    snprintf(steps->items[steps->count].name, sizeof steps->items[0].name, "%s", name);
    steps->items[steps->count++].seconds = ended - steps->began;
    steps->began = now();
}

/* The first two steps open the driver and make the context, here and below. */
static void first_result(struct first_steps *steps)
{
    const jit_source source = {.name = "bench", .text = program, .length = sizeof program - 1};
    const int64_t length = 1000;
    akg_tensor *y = NULL;
    int count;

    begin_steps(steps);
    if (akg_device_count(&count, NULL) != AKG_OK || count == 0)
        return;
    step_done(steps, "driver");
    wait_for(); /* opens it */
    step_done(steps, "context");
    akg_argument argument = of_tensor(tensor(AKG_FLOAT32, 1, &length));
    step_done(steps, "first tensor");
    akg_module *module = compile(&source);
    step_done(steps, "text to module");
    call(akg_module_kernel(module, "scale"), &argument, 1, &y);
    step_done(steps, "first call");
    wait_for();
    step_done(steps, "wait");
    if (akg_tensor_get(y, (int64_t[]){length - 1}) <= 0)
        exit(1);
    step_done(steps, "one element");
}

/* Products, each of which needs another part of a kernel: few elements, and many. */
static void first_products(struct first_steps *steps)
{
    static const struct {
        const char *name;
        akg_dtype dtype;
        int64_t size;
    } rows[] = {{"float32 8^3", AKG_FLOAT32, 8},
                {"float32 2048^3", AKG_FLOAT32, 2048},
                {"bfloat16 2048^3", AKG_BFLOAT16, 2048}};
    const jit_source source = {.name = "bench", .text = program, .length = sizeof program - 1};
    int count;

    begin_steps(steps);
    if (akg_device_count(&count, NULL) != AKG_OK || count == 0)
        return;
    step_done(steps, "driver");
    wait_for();
    step_done(steps, "context");
    akg_module *module = compile(&source);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        int64_t size = rows[k].size / smaller > 8 ? rows[k].size / smaller : 8, shape[] = {size, size};
        akg_tensor *a = tensor(rows[k].dtype, 2, shape), *c = NULL;
        akg_argument arguments[] = {of_tensor(a), of_tensor(a)};
        wait_for();
        steps->began = now();
        call(akg_module_kernel(module, "matmul"), arguments, 2, &c);
        wait_for();
        step_done(steps, rows[k].name);
    }
}

/* As much of CUDA as that comes to, by the driver's functions alone and in their order. */
static void first_result_bare(struct first_steps *steps)
{
    const jit_source source = {.name = "bench", .text = program, .length = sizeof program - 1};
    struct gpu_failure failure = {0};
    struct nvrtc_request request = {.name = "scale"};
    struct nvrtc_code code;
    float host[1000] = {1};
    uint64_t words[64] = {0};
    void *parameters[] = {words};
    cuuint64_t everything = UINT64_MAX;
    CUdeviceptr x, y;
    CUcontext context;
    CUstream stream;
    CUmemoryPool pool;
    CUmodule module;
    CUfunction function;
    char *text = NULL;

    must(jit_emit(&source, AKG_STAGE_CUDA, "scale", NULL, 0, &text, NULL), NULL);
    request.text = text;
    begin_steps(steps);
    const struct gpu_driver *driver = gpu_driver(&failure);
    if (!driver)
        return;
    step_done(steps, "driver");
    CUresult result =
        driver->cuDeviceGetAttribute(&request.major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    result |= driver->cuDeviceGetAttribute(&request.minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
    must(nvrtc_compile(&request, &code, NULL), NULL);
    steps->began = now();
    result |= driver->cuDevicePrimaryCtxRetain(&context, 0);
    result |= driver->cuCtxPushCurrent(context);
    result |= driver->cuStreamCreate(&stream, CU_STREAM_DEFAULT);
    step_done(steps, "context");
    result |= driver->cuDeviceGetDefaultMemPool(&pool, 0);
    result |= driver->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &everything);
    step_done(steps, "pool");
    result |= driver->cuMemAllocAsync(&x, sizeof host, stream);
    step_done(steps, "cuMemAllocAsync");
    result |= driver->cuMemsetD8Async(x, 0, sizeof host, stream);
    step_done(steps, "cuMemsetD8Async");
    result |= driver->cuMemcpyHtoDAsync(x, host, sizeof host, stream);
    step_done(steps, "cuMemcpyHtoDAsync");
    result |= driver->cuMemAllocAsync(&y, sizeof host, stream);
    step_done(steps, "cuMemAllocAsync");
    result |= driver->cuModuleLoadDataEx(&module, code.image.data, 0, NULL, NULL);
    step_done(steps, "cuModuleLoadDataEx");
    result |= driver->cuModuleGetFunction(&function, module, "akg_launch_0");
    step_done(steps, "cuModuleGetFunction");
    words[0] = x, words[1] = y, words[2] = sizeof host / sizeof *host;
    result |= driver->cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, stream, parameters, NULL);
    step_done(steps, "cuLaunchKernel");
    result |= driver->cuStreamSynchronize(stream);
    step_done(steps, "cuStreamSynchronize");
    result |= driver->cuMemcpyDtoHAsync(host, y, sizeof *host, stream);
    result |= driver->cuStreamSynchronize(stream);
    step_done(steps, "cuMemcpyDtoHAsync");
    if (result != CUDA_SUCCESS || host[0] != 2) {
        fprintf(stderr, "bench-gpu: the driver alone fails (%d)\n", (int)result);
        steps->count = 0;
    }
}

static struct first_steps in_child(void (*work)(struct first_steps *steps), const char *cache)
{
    struct first_steps steps = {0};
    int ends[2], status = 0;
    pid_t child;

    fflush(stdout);
    if (pipe(ends) != 0 || (child = fork()) < 0) {
        perror("bench-gpu");
        exit(1);
    }
    if (child == 0) {
        setenv("AKG_CACHE_DIR", cache, 1);
        unsetenv("AKG_CACHE");
        work(&steps);
        _exit(write(ends[1], &steps, sizeof steps) != (ssize_t)sizeof steps);
    }
    close(ends[1]);
    if (read(ends[0], &steps, sizeof steps) != (ssize_t)sizeof steps)
        status = 1;
    close(ends[0]);
    waitpid(child, status ? NULL : &status, 0);
    if (status != 0)
        exit(1); /* it has told why */
    return steps;
}

static void tell_steps(const char *name, const struct first_steps *steps)
{
    double beyond = 0;

    printf("  %s:", name);
    for (int k = 0; k < steps->count; k++) {
        printf("%s %s %.2f",
               k == 2 ? " ms; beyond it"
               : k    ? ","
                      : "",
               steps->items[k].name, 1e3 * steps->items[k].seconds);
        beyond += k < 2 ? 0 : steps->items[k].seconds;
    }
    printf(" ms: %.2f ms\n", 1e3 * beyond);
}

static void remove_cache(const char *folder)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;

    while (directory && (entry = readdir(directory)))
        unlinkat(dirfd(directory), entry->d_name, 0); /* not "." and ".." */
    if (directory)
        closedir(directory);
    rmdir(folder);
}

/* Without code on the disk, and with the code that this left there. */
static void time_first_result(void)
{
    char folder[] = "/tmp/akg-bench.XXXXXX";
    struct first_steps cold, warm, bare;

    if (!mkdtemp(folder)) {
        perror("bench-gpu");
        exit(1);
    }
    cold = in_child(first_result, folder);
    if (cold.count) {
        warm = in_child(first_result, folder);
        bare = in_child(first_result_bare, folder);
        printf("kernel text to first result:\n");
        tell_steps("cold disk cache", &cold);
        tell_steps("warm disk cache", &warm);
        if (bare.count)
            tell_steps("the driver alone", &bare);
        cold = in_child(first_products, folder);
        warm = in_child(first_products, folder);
        printf("first calls of products:\n");
        tell_steps("cold disk cache", &cold);
        tell_steps("warm disk cache", &warm);
    }
    remove_cache(folder);
}

/* ---- launches
 * --------------------------------------------------------------------------------------------------- */

enum { LAUNCHES = 2000 };

/* The same kernel, of a vector without elements, launched by the driver alone. */
static double time_bare_launch(struct gpu_device *opened)
{
    const jit_source source = {.name = "bench", .text = program, .length = sizeof program - 1};
    struct nvrtc_request request = {.name = "scale", .major = opened->major, .minor = opened->minor};
    const struct gpu_driver *driver = opened->driver;
    struct gpu_failure failure = {0};
    struct nvrtc_code code;
    CUmodule loaded;
    CUfunction function;
    uint64_t words[64] = {0};
    void *parameters[] = {words};
    double taken = -1;
    char *text = NULL;

    must(jit_emit(&source, AKG_STAGE_CUDA, "scale", NULL, 0, &text, NULL), NULL);
    request.text = text;
    must(nvrtc_compile(&request, &code, NULL), NULL);
    akg_free(text);
    if (gpu_enter(opened, &failure) &&
        driver->cuModuleLoadDataEx(&loaded, code.image.data, 0, NULL, NULL) == CUDA_SUCCESS &&
        driver->cuModuleGetFunction(&function, loaded, "akg_launch_0") == CUDA_SUCCESS) {
        for (int round = 0; round < 5; round++) {
            double start = now(), each;
            for (int i = 0; i < LAUNCHES / smaller; i++)
                driver->cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, opened->stream, parameters, NULL);
            each = (now() - start) / (double)(LAUNCHES / smaller);
            driver->cuStreamSynchronize(opened->stream);
            taken = taken < 0 || each < taken ? each : taken;
        }
        driver->cuModuleUnload(loaded);
    }
    gpu_leave(opened);
    nvrtc_free(&code);
    return taken;
}

static void time_launches(akg_module *module)
{
    struct gpu_failure failure = {0};
    struct gpu_device *opened = gpu_open(0, &failure);
    const int64_t length = 32;
    akg_tensor *x = tensor(AKG_FLOAT32, 1, &length), *y = tensor(AKG_FLOAT32, 1, &length);
    akg_kernel *kernel = akg_module_kernel(module, "scale");
    akg_argument argument = of_tensor(x);
    double bare = time_bare_launch(opened), ours = 1e9;

    for (int round = 0; round < 5; round++) {
        double start = now(), each;
        for (int i = 0; i < LAUNCHES / smaller; i++)
            call(kernel, &argument, 1, &y);
        each = (now() - start) / (double)(LAUNCHES / smaller);
        wait_for();
        ours = each < ours ? each : ours;
    }
    printf("launch: akg_kernel_call %.2f us, cuLaunchKernel %.2f us, over it %.2f us\n", 1e6 * ours,
           1e6 * bare, 1e6 * (ours - bare));
    akg_tensor_release(x);
    akg_tensor_release(y);
}

/* ---- memory
 * ------------------------------------------------------------------------------------------------------ */

struct memory_case {
    const char *name; /* of the standard library */
    int inputs;       /* equal tensors */
    bool rows;        /* of [N, 4096] rather than [N]; */
    const char *kind; /* what it is */
    int attribute;    /* 1: axes=(1,) */
};

static const struct memory_case memory_cases[] = {
    {"neg", 1, false, "elementwise", 0},     {"add", 2, false, "elementwise", 0},
    {"sigmoid", 1, false, "elementwise", 0}, {"sum", 1, true, "row sums", 1},
    {"softmax", 1, true, "rows", 0},         {"layer_norm", 1, true, "rows", 0},
    {"transpose", 1, true, "transpose", 0},
};

struct memory_run {
    akg_kernel *kernel;
    akg_argument arguments[3];
    size_t count;
    akg_tensor *output;
};

static void run_memory(void *context)
{
    struct memory_run *run = context;
    call(run->kernel, run->arguments, run->count, &run->output);
}

struct copy_run {
    akg_tensor *from, *to;
    size_t bytes;
};

static void run_copy(void *context)
{
    struct copy_run *run = context;
    struct gpu_failure failure = {0};
    struct gpu_device *opened = gpu_open(0, &failure);
    must(gpu_move(opened, akg_tensor_data(run->to), opened, akg_tensor_data(run->from), run->bytes, &failure),
         NULL);
}

static double tensor_bytes(const akg_tensor *tensor)
{
    return (double)akg_tensor_element_count(tensor) * (double)akg_dtype_size(akg_tensor_dtype(tensor));
}

static void time_memory_case(const struct memory_case *row, double copy)
{
    static const int64_t axis = 1;
    const int64_t flat[] = {(64 << 20) / smaller}, square[] = {16384 / smaller, 4096};
    akg_tensor *inputs[2] = {tensor(AKG_FLOAT32, row->rows ? 2 : 1, row->rows ? square : flat), NULL};
    struct memory_run run = {.count = (size_t)row->inputs};
    char name[64];
    akg_module *library;
    double bytes = 0, seconds, rate;

    snprintf(name, sizeof name, "std:%s", row->name);
    library = compile(&(jit_source){.name = name});
    run.kernel = akg_module_kernel(library, row->name);
    if (row->inputs == 2)
        inputs[1] = tensor(AKG_FLOAT32, row->rows ? 2 : 1, row->rows ? square : flat);
    for (int i = 0; i < row->inputs; i++) {
        run.arguments[i] = of_tensor(inputs[i]);
        bytes += tensor_bytes(inputs[i]);
    }
    if (row->attribute == 1)
        run.arguments[run.count++] =
            (akg_argument){.name = "axes", .kind = AKG_ARGUMENT_INTS, .as.ints = {&axis, 1}};
    seconds = best(run_memory, &run);
    bytes += tensor_bytes(run.output);
    rate = bytes / seconds;
    printf("  %-12s %-12s %8.1f us  %7.1f GB/s  %.2f of the copy\n", row->name, row->kind, 1e6 * seconds,
           rate / 1e9, rate / copy);
    akg_tensor_release(run.output);
    akg_tensor_release(inputs[0]);
    akg_tensor_release(inputs[1]);
    akg_module_release(library);
}

static void time_memory(void)
{
    const int64_t length = (64 << 20) / smaller;
    struct copy_run copy = {tensor(AKG_FLOAT32, 1, &length), tensor(AKG_FLOAT32, 1, &length),
                            (size_t)length * sizeof(float)};
    double seconds = best(run_copy, &copy), rate = 2 * (double)copy.bytes / seconds;

    printf("memory, float32, %.0f MiB a tensor: copy %.1f us, %.1f GB/s\n", (double)copy.bytes / (1 << 20),
           1e6 * seconds, rate / 1e9);
    akg_tensor_release(copy.from);
    akg_tensor_release(copy.to);
    for (size_t i = 0; i < sizeof memory_cases / sizeof *memory_cases; i++)
        time_memory_case(&memory_cases[i], rate);
}

/* ---- products of matrices
 * --------------------------------------------------------------------------------------- */

/* As much of cuBLAS as is used here. */
struct blas {
    void *handle;
    int (*create)(void **handle);
    int (*set_stream)(void *handle, void *stream);
    int (*multiply)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                    int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                    int type_c, int ldc, int compute, int algorithm);
    struct gpu_device *device;
    void *a, *b, *c;
    int type; /* as CUDA numbers them */
    int size;
};

static bool open_blas(struct blas *blas)
{
    static const char *const names[] = {"libcublas.so", "libcublas.so.13", "libcublas.so.12",
                                        "/usr/local/cuda/lib64/libcublas.so"};
    struct gpu_failure failure = {0};
    void *library = NULL;
    bool good;

    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
    *(void **)&blas->create = dlsym(library, "cublasCreate_v2");
    *(void **)&blas->set_stream = dlsym(library, "cublasSetStream_v2");
    *(void **)&blas->multiply = dlsym(library, "cublasGemmEx");
    if (!blas->create || !blas->set_stream || !blas->multiply || !gpu_enter(blas->device, &failure))
        return false;
    good = blas->create(&blas->handle) == 0 && blas->set_stream(blas->handle, blas->device->stream) == 0;
    gpu_leave(blas->device);
    return good;
}

/* A copy on the host, in float64. */
static akg_tensor *fetch(const akg_tensor *tensor)
{
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *here = NULL, *wide = NULL;

    must(akg_tensor_to(tensor, (akg_device){AKG_DEVICE_CPU, 0}, &here, &diagnostics), &diagnostics);
    must(akg_tensor_cast(here, AKG_FLOAT64, &wide), NULL);
    akg_tensor_release(here);
    return wide;
}

/* What one result is like beside another, or beside the products of some rows and columns made in float64. */
struct likeness {
    double largest;   /* of the one; of what is finite */
    double apart;     /* by so much at most, as a part of the largest */
    int64_t compared; /* elements */
    int64_t strange;  /* of these: one of the two is infinite or no number, which nothing is compared with */
};

static void compare(struct likeness *likeness, double is, double should)
{
    double apart = fabs(is - should);

    likeness->compared++;
    if (!isfinite(is) || !isfinite(should)) {
        likeness->strange++;
        return;
    }
    likeness->apart = apart > likeness->apart ? apart : likeness->apart;
    likeness->largest = fabs(is) > likeness->largest ? fabs(is) : likeness->largest;
}

/* All elements of two tensors. */
static struct likeness compare_tensors(const akg_tensor *ours, const akg_tensor *theirs)
{
    akg_tensor *here[] = {fetch(ours), fetch(theirs)};
    const double *a = akg_tensor_data(here[0]), *b = akg_tensor_data(here[1]);
    struct likeness likeness = {0};

    for (int64_t i = 0; i < akg_tensor_element_count(ours); i++)
        compare(&likeness, a[i], b[i]);
    akg_tensor_release(here[0]);
    akg_tensor_release(here[1]);
    likeness.apart /= likeness.largest;
    return likeness;
}

/* Elements all over a product against the sums in float64. */
static struct likeness compare_product(const akg_tensor *product, const akg_tensor *a, const akg_tensor *b,
                                       int64_t size)
{
    enum { SAMPLES = 251 };
    akg_tensor *here[] = {fetch(product), fetch(a), fetch(b)};
    const double *c = akg_tensor_data(here[0]), *left = akg_tensor_data(here[1]),
                 *right = akg_tensor_data(here[2]);
    struct likeness likeness = {0};

    for (int64_t sample = 0; sample < SAMPLES; sample++) {
        int64_t row = sample * 7919 % size, column = sample * 104729 % size;
        double sum = 0;
        for (int64_t k = 0; k < size; k++)
            sum += left[row * size + k] * right[k * size + column];
        compare(&likeness, c[row * size + column], sum);
    }
    for (int k = 0; k < 3; k++)
        akg_tensor_release(here[k]);
    likeness.apart /= likeness.largest;
    return likeness;
}

static int wrong; /* results */

/* "up to 1.1e+03, off by 3e-04"; what is more than `most` apart, not finite, or nothing but zeros is wrong.
 */
static void tell_likeness(const char *what, const struct likeness *likeness, double most)
{
    bool good = likeness->largest > 0 && likeness->apart <= most && likeness->strange == 0;

    printf("; %s%s up to %.2e, apart %.1e", good ? "" : "WRONG: ", what, likeness->largest, likeness->apart);
    if (likeness->strange)
        printf(", %" PRId64 " of %" PRId64 " not finite", likeness->strange, likeness->compared);
    wrong += !good;
}

/* Rows and columns change roles: with square matrices the same work. Sums in float32, and no tf32, which must
 * be asked for. */
static void run_blas(void *context)
{
    enum { COMPUTE_32F = 68, DEFAULT_ALGORITHM = -1 };
    struct blas *blas = context;
    const float one = 1, zero = 0;
    struct gpu_failure failure = {0};

    if (!gpu_enter(blas->device, &failure))
        exit(1);
    if (blas->multiply(blas->handle, 0, 0, blas->size, blas->size, blas->size, &one, blas->b, blas->type,
                       blas->size, blas->a, blas->type, blas->size, &zero, blas->c, blas->type, blas->size,
                       COMPUTE_32F, DEFAULT_ALGORITHM) != 0) {
        fprintf(stderr, "bench-gpu: cuBLAS refuses the product\n");
        exit(1);
    }
    gpu_leave(blas->device);
}

static void time_matmul(akg_module *module, akg_dtype dtype)
{
    enum { TYPE_32F = 0, TYPE_16F = 2, TYPE_16BF = 14 };
    const int64_t size = 4096 / (smaller > 64 ? 64 : smaller), shape[] = {size, size};
    /* of a sum in float32 in any order, and of its rounding */
    const double most = dtype == AKG_FLOAT32 ? 1e-4 : dtype == AKG_FLOAT16 ? 1e-3 : 8e-3;
    akg_tensor *a = tensor(dtype, 2, shape), *b = tensor(dtype, 2, shape), *other = tensor(dtype, 2, shape);
    struct gpu_failure failure = {0};
    struct memory_run run = {.kernel = akg_module_kernel(module, "matmul"),
                             .arguments = {of_tensor(a), of_tensor(b)},
                             .count = 2,
                             .output = tensor(dtype, 2, shape)};
    struct blas blas = {.device = gpu_open(0, &failure),
                        .a = akg_tensor_data(a),
                        .b = akg_tensor_data(b),
                        .c = akg_tensor_data(other),
                        .type = dtype == AKG_FLOAT32   ? TYPE_32F
                                : dtype == AKG_FLOAT16 ? TYPE_16F
                                                       : TYPE_16BF,
                        .size = (int)size};
    double flops = 2.0 * (double)size * (double)size * (double)size, ours, theirs;
    struct likeness likeness;

    akg_tensor_fill_uniform(b, 2);
    akg_tensor_fill(other, NAN); /* what a product leaves out stays */
    akg_tensor_fill(run.output, NAN);
    ours = best(run_memory, &run);
    printf("matmul %s %" PRId64 "^3: %.2f ms, %.2f TFLOP/s", akg_dtype_name(dtype), size, 1e3 * ours,
           flops / ours / 1e12);
    likeness = compare_product(run.output, a, b, size);
    tell_likeness("some elements beside float64's", &likeness, most);
    if (open_blas(&blas)) {
        theirs = best(run_blas, &blas);
        printf("; cuBLAS %.2f ms, %.2f TFLOP/s; %.2f of it", 1e3 * theirs, flops / theirs / 1e12,
               theirs / ours);
        likeness = compare_tensors(run.output, other);
        tell_likeness("all beside its", &likeness, 2 * most);
        putchar('\n');
    } else {
        printf("; cuBLAS is not there\n");
    }
    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(other);
    akg_tensor_release(run.output);
}

#endif

int main(int argc, char **argv)
{
    akg_diagnostics *diagnostics = NULL;
    int count = 0;

#ifdef HAVE_CUDA
    if (argc > 1)
        smaller = strtoll(argv[1], NULL, 10) > 0 ? strtoll(argv[1], NULL, 10) : 1;
    time_first_result(); /* before this process uses CUDA */
#endif
    akg_device_count(&count, &diagnostics);
    if (count == 0) {
        const akg_diagnostic *reason = akg_diagnostics_at(diagnostics, 0);
        printf("no GPU, so nothing is measured: %s\n", reason ? reason->message : "the driver shows none");
        akg_diagnostics_free(diagnostics);
        return 0;
    }
#ifdef HAVE_CUDA
    akg_device_info info;
    must(akg_device_describe(device, &info, &diagnostics), &diagnostics);
    printf("%s, compute capability %d.%d, driver for CUDA %d.%d, NVRTC %d.%d, akg %s\n", info.name,
           info.major, info.minor, info.driver / 1000, info.driver % 1000 / 10, nvrtc_version() / 1000,
           nvrtc_version() % 1000 / 10, akg_version());
    akg_module *module =
        compile(&(jit_source){.name = "bench", .text = program, .length = sizeof program - 1});
    time_launches(module);
    time_memory();
    time_matmul(module, AKG_FLOAT32);
    time_matmul(module, AKG_FLOAT16);
    time_matmul(module, AKG_BFLOAT16);
    akg_module_release(module);
    return wrong > 0;
#else
    (void)argc, (void)argv;
    return 0;
#endif
}

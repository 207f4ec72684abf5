/*
 * test_gpu_call.c: calls, operators and tapes with tensors on a GPU, against libraries that stand in for
 * NVIDIA's (tests/cuda/stub_*.c): the kernels run, on the CPU.
 */
#include "check.h"

#include "api_support.h"
#include "gpu_support.h"

#ifdef HAVE_CUDA

#include "../../base/memory.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct gpu_stub stub;
static akg_module *module;

static const char program[] = "def scale(x, by=2.0):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in grid(x.shape):\n"
                              "        y[i] = x[i] * by\n"
                              "    return y\n"
                              "\n"
                              "def add(a, b):\n"
                              "    y = output_tensor(a.shape, a.dtype)\n"
                              "    for i in grid(a.shape):\n"
                              "        y[i] = a[i] + b[i]\n"
                              "    return y\n"
                              "\n"
                              "def bump(x):\n"
                              "    for i in range(len(x)):\n"
                              "        x[i] = x[i] + 1\n"
                              "    return x\n"
                              "\n"
                              "def gather(x, index: int32[N]):\n"
                              "    y = output_tensor(index.shape, x.dtype)\n"
                              "    for i in range(len(index)):\n"
                              "        y[i] = x[index[i]]\n"
                              "    return y\n"
                              "\n"
                              "def centre(x):\n"
                              "    t = allocate(x.shape, x.dtype)\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    total = 0.0\n"
                              "    for i in range(len(x)):\n"
                              "        t[i] = x[i] * 2.0\n"
                              "    for i in range(len(x)):\n"
                              "        total += t[i]\n"
                              "    for i in range(len(x)):\n"
                              "        y[i] = t[i] - total / t[0]\n"
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

/* ---- support ---------------------------------------------------------------------------------------------
 */

static akg_tensor *vector_on(akg_device device, int64_t length, double first)
{
    akg_tensor *made = gpu_range(device, AKG_FLOAT32, 1, &length, first, 1);

    CHECK(made != NULL);
    return made;
}

static void check_format(const akg_tensor *tensor, const char *expected)
{
    char *text = NULL;

    CHECK_INT(akg_tensor_format(tensor, &text), AKG_OK);
    CHECK_STRING(text, expected);
    akg_free(text);
}

static akg_status call(const char *name, const akg_argument *arguments, size_t count, akg_tensor **output,
                       akg_diagnostics **diagnostics)
{
    return akg_kernel_call(akg_module_kernel(module, name), arguments, count, NULL, output, diagnostics);
}

/* Whether the one message is that, and says the text. Frees the list. */
static void check_told(akg_diagnostics *diagnostics, const char *name, const char *text)
{
    CHECK_STRING(api_error(diagnostics), name);
    CHECK(api_says(diagnostics, text));
    CHECK_INT(akg_diagnostics_count(diagnostics), 1);
    akg_diagnostics_free(diagnostics);
}

/* ---- calls
 * ------------------------------------------------------------------------------------------------- */

static void test_call(void)
{
    akg_tensor *x = vector_on(gpu, 5, 1), *y = NULL, *given = vector_on(gpu, 5, 0);
    akg_argument arguments[] = {api_tensor(NULL, x), api_real(NULL, 3)};
    akg_diagnostics *diagnostics = NULL;
    long launches = stub.launches();

    CHECK_INT(call("scale", arguments, 2, &y, NULL), AKG_OK);
    CHECK_INT(akg_tensor_device(y).kind, AKG_DEVICE_CUDA);
    check_format(y, "[3, 6, 9, 12, 15]");
    CHECK_INT(stub.launches(), launches + 1);
    /* compiled once: it is another kernel that stumbles over this */
    stub.fail("cuModuleLoadDataEx", 0, STUB_INVALID_VALUE);
    akg_tensor_release(y);
    y = given;
    CHECK_INT(call("scale", arguments, 2, &y, NULL), AKG_OK);
    CHECK(y == given);
    check_format(y, "[3, 6, 9, 12, 15]");
    CHECK_INT(akg_tensor_version(y), 1);
    akg_tensor_release(y);
    y = NULL;
    arguments[1] = api_tensor(NULL, x);
    CHECK_INT(call("add", arguments, 2, &y, &diagnostics), AKG_ERROR_DEVICE);
    check_told(diagnostics, "device-refused",
               "device 'cuda:0' did not load the code of 'add': invalid argument");
    CHECK_INT(call("add", arguments, 2, &y, &diagnostics), AKG_OK);
    check_format(y, "[2, 4, 6, 8, 10]");
    akg_tensor_release(y);
    akg_tensor_release(x);
}

/* Calls of one form alternate between the host and a device: each runs where its tensors lie. */
static void test_host_between(void)
{
    for (int round = 0; round < 6; round++) {
        long launches = stub.launches();
        akg_tensor *x = round % 2 ? vector_on(gpu, 3, round) : api_vector(AKG_FLOAT32, 3, round, 1),
                   *y = NULL;
        akg_argument arguments[] = {api_tensor(NULL, x), api_real(NULL, 3)};
        CHECK_INT(call("scale", arguments, 2, &y, NULL), AKG_OK);
        CHECK_INT(akg_tensor_device(y).kind, round % 2 ? AKG_DEVICE_CUDA : AKG_DEVICE_CPU);
        CHECK_INT(stub.launches(), launches + round % 2);
        CHECK(akg_tensor_get(y, (int64_t[]){2}) == 3 * (round + 2));
        akg_tensor_release(y);
        akg_tensor_release(x);
    }
}

static void test_second_device(void)
{
    akg_tensor *x = vector_on(second, 3, 1), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);

    CHECK_INT(call("scale", &argument, 1, &y, NULL), AKG_OK);
    CHECK_INT(akg_tensor_device(y).index, 1);
    check_format(y, "[2, 4, 6]");
    akg_tensor_release(y);
    akg_tensor_release(x);
}

static void test_views_in_place(void)
{
    akg_tensor *x = vector_on(gpu, 6, 0), *view, *y = NULL;

    CHECK_INT(akg_tensor_view(x, 1, (int64_t[]){3}, (int64_t[]){-2}, 5, &view), AKG_OK);
    akg_argument argument = api_tensor(NULL, view);
    CHECK_INT(call("bump", &argument, 1, &y, NULL), AKG_OK);
    CHECK(y == view);
    check_format(y, "[6, 4, 2]");
    check_format(x, "[0, 2, 2, 4, 4, 6]");
    CHECK_INT(akg_tensor_version(x), 1);
    akg_tensor_release(y);
    akg_tensor_release(view);
    akg_tensor_release(x);
}

static void test_temporary(void)
{
    akg_tensor *x = vector_on(gpu, 4, 1), *y = NULL;
    akg_argument argument = api_tensor(NULL, x);
    akg_diagnostics *diagnostics = NULL;
    size_t used;

    CHECK_INT(call("centre", &argument, 1, &y, &diagnostics), AKG_OK);
    check_format(y, "[-8, -6, -4, -2]");
    akg_tensor_release(y);
    y = NULL;
    used = stub.used(0);
    CHECK_INT(call("centre", &argument, 1, &y, &diagnostics), AKG_OK);
    CHECK_INT(stub.used(0), used); /* the memory of the first call serves again */
    akg_tensor_release(y);
    akg_tensor_release(x);
}

/* The product of two matrices of ones, with `loads` modules loaded and `launches` launches for it. */
static akg_status multiply(int64_t rows, int64_t depth, long loads, long launches)
{
    const int64_t left[] = {rows, depth}, right[] = {depth, rows};
    akg_tensor *c = NULL;
    akg_argument arguments[] = {api_tensor(NULL, gpu_range(gpu, AKG_FLOAT32, 2, left, 1, 0)),
                                api_tensor(NULL, gpu_range(gpu, AKG_FLOAT32, 2, right, 1, 0))};

    loads += stub.loads();
    launches += stub.launches();
    akg_status status = call("matmul", arguments, 2, &c, NULL);
    CHECK_INT(stub.loads(), loads);
    CHECK_INT(stub.launches(), launches);
    for (int64_t i = 0; status == AKG_OK && i < rows; i += rows - 1)
        CHECK(akg_tensor_get(c, (int64_t[]){i, rows - 1 - i}) == (double)depth);
    akg_tensor_release(c);
    akg_tensor_release(arguments[0].as.tensor);
    akg_tensor_release(arguments[1].as.tensor);
    return status;
}

/* Of the code for all shapes, what a call launches is compiled when one does. */
static void test_parts(void)
{
    CHECK_INT(multiply(6, 7, 1, 1), AKG_OK);
    CHECK_INT(multiply(8, 5, 0, 1), AKG_OK);
    CHECK_INT(multiply(70, 16, 1, 1), AKG_OK); /* in tiles */
    CHECK_INT(multiply(7, 7, 0, 1), AKG_OK);
    stub.fail("cuModuleLoadDataEx", 0, STUB_INVALID_VALUE);
    CHECK_INT(multiply(16, 1024, 0, 0), AKG_ERROR_DEVICE);
    CHECK_INT(multiply(80, 20, 0, 1), AKG_OK);
    stub.fail("cuModuleGetFunction", 1, STUB_INVALID_VALUE);
    CHECK_INT(multiply(16, 1024, 1, 0), AKG_ERROR_DEVICE);
    CHECK_INT(multiply(16, 1024, 1, 2), AKG_OK); /* parts of the sums, and what joins them */
    CHECK_INT(multiply(16, 2000, 0, 2), AKG_OK);
    CHECK_INT(multiply(6, 6, 0, 1), AKG_OK);
}

static void test_differ(void)
{
    akg_tensor *a = vector_on(gpu, 3, 0), *b = vector_on(second, 3, 0), *c = vector_on(cpu, 3, 0), *y = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_argument arguments[] = {api_tensor(NULL, a), api_tensor(NULL, b)};

    CHECK_INT(call("add", arguments, 2, &y, &diagnostics), AKG_ERROR_CALL);
    check_told(diagnostics, "devices-differ", "the tensors of a call of 'add' lie on cuda:0 and on cuda:1");
    arguments[0] = api_tensor(NULL, c);
    CHECK_INT(call("add", arguments, 2, &y, &diagnostics), AKG_ERROR_CALL);
    check_told(diagnostics, "devices-differ", "lie on cpu and on cuda:1");
    arguments[1] = api_tensor(NULL, c);
    y = a;
    CHECK_INT(call("add", arguments, 2, &y, &diagnostics), AKG_ERROR_CALL);
    check_told(diagnostics, "call-output", "is on another device than the arguments");
    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(c);
}

/* What the CPU refuses is refused here, in the same words. */
static void test_refused(void)
{
    akg_tensor *x = vector_on(gpu, 3, 0), *y = NULL, *there = NULL, *index = api_vector(AKG_INT32, 4, 0, 1);
    akg_diagnostics *diagnostics = NULL;

    CHECK_INT(akg_tensor_to(index, gpu, &there, NULL), AKG_OK);
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, there)};
    CHECK_INT(call("gather", arguments, 2, &y, &diagnostics), AKG_ERROR_CALL);
    CHECK(y == NULL);
    CHECK(api_says(diagnostics, "in the iteration i = 3"));
    check_told(diagnostics, "index-out-of-bounds", "index 3 is outside axis 0 of 'x', which has 3 elements");
    arguments[1] = api_tensor(NULL, x);
    CHECK_INT(call("gather", arguments, 2, &y, &diagnostics), AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "call-dtype");
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(x);
    akg_tensor_release(there);
    akg_tensor_release(index);
}

static void test_full(void)
{
    akg_tensor *x, *y = NULL;
    akg_diagnostics *diagnostics = NULL;

    stub.set_memory(10 << 20);
    x = vector_on(gpu, 2 << 20, 0);
    akg_argument argument = api_tensor(NULL, x);
    CHECK_INT(call("scale", &argument, 1, &y, &diagnostics), AKG_ERROR_MEMORY);
    CHECK(y == NULL);
    check_told(diagnostics, "device-memory",
               "device 'cuda:0' is out of memory: 8 MiB were asked for, 2 MiB of 10 MiB are free");
    stub.set_memory(20 << 20); /* for the result, but not for the temporary */
    CHECK_INT(call("centre", &argument, 1, &y, &diagnostics), AKG_ERROR_MEMORY);
    CHECK(y == NULL);
    check_told(diagnostics, "device-memory", "device 'cuda:0' is out of memory: 8 MiB were asked for");
    CHECK_INT(call("scale", &argument, 1, &y, &diagnostics), AKG_OK);
    akg_tensor_release(y);
    akg_tensor_release(x);
    stub.set_memory(64 << 20);
}

static void test_launch_fails(void)
{
    akg_tensor *x = vector_on(gpu, 3, 0), *y = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_argument argument = api_tensor(NULL, x);

    stub.fail("cuLaunchKernel", 0, STUB_OUT_OF_RESOURCES);
    CHECK_INT(call("scale", &argument, 1, &y, &diagnostics), AKG_ERROR_DEVICE);
    CHECK(y == NULL);
    check_told(diagnostics, "device-refused", "device 'cuda:0' did not launch 'scale': too many resources");
    CHECK_INT(call("scale", &argument, 1, &y, &diagnostics), AKG_OK);
    akg_tensor_release(y);
    akg_tensor_release(x);
}

/* The kernel fails while the program goes on: who waits is told. */
static void test_lost(void)
{
    akg_tensor *x = vector_on(gpu, 3, 0), *y = NULL, *z = NULL, *there = vector_on(second, 3, 0);
    akg_diagnostics *diagnostics = NULL;
    akg_argument argument = api_tensor(NULL, x);

    stub.fail("kernel", 0, STUB_ILLEGAL_ADDRESS);
    CHECK_INT(call("scale", &argument, 1, &y, &diagnostics), AKG_OK);
    CHECK_INT(akg_tensor_to(y, cpu, &z, &diagnostics), AKG_ERROR_DEVICE);
    check_told(diagnostics, "device-lost", "device 'cuda:0' is lost: an illegal memory access");
    CHECK_INT(call("scale", &argument, 1, &z, &diagnostics), AKG_ERROR_DEVICE);
    check_told(diagnostics, "device-lost", "this process cannot use it any more");
    argument = api_tensor(NULL, there);
    CHECK_INT(call("scale", &argument, 1, &z, &diagnostics), AKG_OK);
    check_format(z, "[0, 2, 4]");
    akg_tensor_release(x);
    akg_tensor_release(y);
    akg_tensor_release(z);
    akg_tensor_release(there);
}

/* Two threads, one signature that neither has met. */
static void *call_often(void *unused)
{
    const int64_t length = 100;
    (void)unused;
    for (int i = 0; i < 20; i++) {
        akg_tensor *x = gpu_range(gpu, AKG_FLOAT64, 1, &length, i, 1), *y = NULL, *host = NULL;
        akg_argument argument = api_tensor(NULL, x);
        bool good =
            call("scale", &argument, 1, &y, NULL) == AKG_OK && akg_tensor_to(y, cpu, &host, NULL) == AKG_OK;
        for (int64_t k = 0; k < length && good; k++)
            good = api_element(host, k) == 2.0 * (double)(i + k);
        akg_tensor_release(x);
        akg_tensor_release(y);
        akg_tensor_release(host);
        if (!good)
            return NULL;
    }
    return module;
}

/* Sizes that need other parts of the code, in one order or the other. */
static void *multiply_often(void *backwards)
{
    static const int64_t sizes[] = {3, 40, 5, 70};
    for (int i = 0; i < 8; i++) {
        const int64_t size = sizes[backwards ? 3 - i % 4 : i % 4], shape[] = {size, size};
        akg_tensor *ones = gpu_range(gpu, AKG_FLOAT64, 2, shape, 1, 0), *c = NULL;
        akg_argument arguments[] = {api_tensor(NULL, ones), api_tensor(NULL, ones)};
        bool good = call("matmul", arguments, 2, &c, NULL) == AKG_OK &&
                    akg_tensor_get(c, (int64_t[]){size - 1, 0}) == (double)size;
        akg_tensor_release(ones);
        akg_tensor_release(c);
        if (!good)
            return NULL;
    }
    return module;
}

static void in_two_threads(void *(*work)(void *))
{
    pthread_t threads[2];
    void *result;

    for (int i = 0; i < 2; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, work, i ? module : NULL), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(pthread_join(threads[i], &result), 0);
        CHECK(result != NULL);
    }
}

static void test_threads(void)
{
    in_two_threads(call_often);
    in_two_threads(multiply_often);
}

/* ---- operators
 * ---------------------------------------------------------------------------------------------- */

static void test_broadcast(void)
{
    akg_registry *registry;
    akg_operator *add;
    akg_tensor *x = vector_on(gpu, 3, 1), *y = NULL;

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_find(registry, "std:add", &add, NULL), AKG_OK);
    akg_argument arguments[] = {api_tensor(NULL, x), api_real(NULL, 0.5)};
    CHECK_INT(akg_call(NULL, add, arguments, 2, &y, NULL), AKG_OK);
    CHECK_INT(akg_tensor_device(y).kind, AKG_DEVICE_CUDA);
    check_format(y, "[1.5, 2.5, 3.5]");
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_registry_release(registry);
}

/* Kernels in C: on a device runs only what asks for it. */
static akg_status on_cpu(akg_invocation *invocation)
{
    akg_tensor *out = akg_invocation_output(invocation, "out", 0);
    akg_tensor_fill(out, 1);
    return akg_tensor_device(out).kind == AKG_DEVICE_CPU ? AKG_OK : AKG_ERROR_INTERNAL;
}

static size_t scratch_of_four(const akg_invocation *invocation)
{
    (void)invocation;
    return 4;
}

static akg_status on_gpu(akg_invocation *invocation)
{
    akg_tensor *in = akg_invocation_input(invocation, "in", 0),
               *out = akg_invocation_output(invocation, "out", 0);
    if (!akg_invocation_scratch(invocation) || !akg_tensor_is_contiguous(in) ||
        akg_tensor_device(in).kind != AKG_DEVICE_CUDA || akg_tensor_device(out).kind != AKG_DEVICE_CUDA)
        return AKG_ERROR_INTERNAL;
    akg_tensor_fill(out, 2);
    return AKG_OK;
}

static void test_native(void)
{
    static const akg_operand in = {.name = "in"}, out = {.name = "out"};
    akg_kernel_definition kernels[] = {
        {.name = "plain", .compute = on_cpu},
        {.name = "cuda", .condition = "device == cuda", .compute = on_gpu, .scratch_size = scratch_of_four}};
    akg_operator_definition definition = {.name = "ones",
                                          .inputs = &in,
                                          .input_count = 1,
                                          .outputs = &out,
                                          .output_count = 1,
                                          .kernels = kernels,
                                          .kernel_count = 1};
    akg_tensor *x = vector_on(gpu, 4, 1), *view = NULL, *y = NULL, *host = vector_on(cpu, 2, 1);
    akg_diagnostics *diagnostics = NULL;
    akg_operation *operation;
    akg_registry *registry;
    akg_operator *ones;

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_add_operator(registry, &definition, NULL), AKG_OK);
    CHECK_INT(akg_registry_find(registry, "ones", &ones, NULL), AKG_OK);
    CHECK_INT(akg_tensor_view(x, 1, (int64_t[]){2}, (int64_t[]){2}, 0, &view), AKG_OK);
    akg_argument argument = api_tensor(NULL, view);
    CHECK_INT(akg_call(NULL, ones, &argument, 1, &y, &diagnostics), AKG_ERROR_CALL);
    CHECK(api_says(diagnostics, "it is written for the CPU, since its condition names no device"));
    check_told(diagnostics, "no-kernel", "'ones'");
    CHECK_INT(akg_registry_add_kernel(registry, "ones", &kernels[1], NULL), AKG_OK);
    CHECK_INT(akg_call(NULL, ones, &argument, 1, &y, &diagnostics), AKG_OK);
    check_format(y, "[2, 2]");
    akg_tensor_release(y);
    y = NULL;
    argument = api_tensor(NULL, host);
    CHECK_INT(akg_call(NULL, ones, &argument, 1, &y, &diagnostics), AKG_OK);
    check_format(y, "[1, 1]");
    akg_tensor_release(y);
    /* an operation may say where it is to run, but its tensors decide */
    CHECK_INT(akg_operation_create(registry, "ones", &operation, NULL), AKG_OK);
    CHECK_INT(akg_operation_device(operation, "cuda"), AKG_OK);
    CHECK_INT(akg_operation_input(operation, "in", &view, 1), AKG_OK);
    CHECK_INT(akg_operation_output(operation, "out", 1), AKG_OK);
    CHECK_INT(akg_operation_run(operation, NULL, &diagnostics), AKG_OK);
    check_format(akg_operation_output_at(operation, 0), "[2, 2]");
    CHECK_INT(akg_operation_device(operation, "cuda:1"), AKG_OK);
    CHECK_INT(akg_operation_run(operation, NULL, &diagnostics), AKG_ERROR_CALL);
    CHECK(api_says(diagnostics, "its tensors lie on 'cuda:0'"));
    check_told(diagnostics, "device-absent", "device 'cuda:1' is not there to run 'ones'");
    akg_operation_release(operation);
    akg_tensor_release(view);
    akg_tensor_release(x);
    akg_tensor_release(host);
    akg_registry_release(registry);
}

/* ---- gradients
 * ------------------------------------------------------------------------------------------------ */

/* y = a * b, a[3, 1, 2] and b[2] broadcast to [3, 4, 2] with ones[4, 1]: gradients are sums over several
 * runs. */
static void test_tape(void)
{
    const int64_t shape_a[] = {3, 1, 2}, shape_b[] = {2}, shape_c[] = {4, 1};
    akg_tensor *a = gpu_range(gpu, AKG_FLOAT32, 3, shape_a, 1, 1),
               *b = gpu_range(gpu, AKG_FLOAT16, 1, shape_b, 1, 1);
    akg_tensor *c = gpu_range(gpu, AKG_FLOAT32, 2, shape_c, 1, 0), *wide = NULL, *ab = NULL, *abc = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_registry *registry;
    akg_operator *multiply, *cast;
    akg_tape *tape;

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_find(registry, "std:multiply", &multiply, NULL), AKG_OK);
    CHECK_INT(akg_registry_find(registry, "std:cast", &cast, NULL), AKG_OK);
    CHECK_INT(akg_tape_create(registry, &tape), AKG_OK);
    CHECK_INT(akg_tensor_set_requires_grad(a, true, NULL), AKG_OK);
    CHECK_INT(akg_tensor_set_requires_grad(b, true, NULL), AKG_OK);
    for (int round = 1; round <= 2; round++) {
        akg_argument to_wide[] = {api_tensor(NULL, b), api_string("dtype", "float32")};
        CHECK_INT(akg_call(tape, cast, to_wide, 2, &wide, NULL), AKG_OK);
        akg_argument first[] = {api_tensor(NULL, a), api_tensor(NULL, wide)};
        CHECK_INT(akg_call(tape, multiply, first, 2, &ab, NULL), AKG_OK);
        akg_argument next[] = {api_tensor(NULL, ab), api_tensor(NULL, c)};
        CHECK_INT(akg_call(tape, multiply, next, 2, &abc, NULL), AKG_OK);
        CHECK_INT(akg_backward(tape, &abc, NULL, 1, false, &diagnostics), AKG_OK);
        akg_diagnostics_free(diagnostics);
        CHECK_INT(akg_tensor_device(akg_tensor_grad(a)).kind, AKG_DEVICE_CUDA);
        check_format(akg_tensor_grad(a),
                     round == 1 ? "[[[4, 8]], [[4, 8]], [[4, 8]]]" : "[[[8, 16]], [[8, 16]], [[8, 16]]]");
        check_format(akg_tensor_grad(b), round == 1 ? "[36, 48]" : "[72, 96]");
        CHECK_INT(akg_tensor_dtype(akg_tensor_grad(b)), AKG_FLOAT16);
        akg_tensor_release(wide);
        akg_tensor_release(ab);
        akg_tensor_release(abc);
        wide = ab = abc = NULL;
    }
    akg_tape_release(tape);
    akg_registry_release(registry);
    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(c);
}

/* No room for a gradient: told with its size, and nothing is changed. */
static void test_tape_full(void)
{
    const int64_t length = 1 << 20;
    akg_tensor *x = gpu_range(gpu, AKG_FLOAT32, 1, &length, 1, 0), *y = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_registry *registry;
    akg_operator *neg;
    akg_tape *tape;

    CHECK_INT(akg_registry_create(&registry), AKG_OK);
    CHECK_INT(akg_registry_find(registry, "std:neg", &neg, NULL), AKG_OK);
    CHECK_INT(akg_tape_create(registry, &tape), AKG_OK);
    CHECK_INT(akg_tensor_set_requires_grad(x, true, NULL), AKG_OK);
    akg_argument argument = api_tensor(NULL, x);
    CHECK_INT(akg_call(tape, neg, &argument, 1, &y, NULL), AKG_OK);
    stub.set_memory(0);
    CHECK_INT(akg_backward(tape, &y, NULL, 1, true, &diagnostics), AKG_ERROR_MEMORY);
    check_told(diagnostics, "device-memory", "4 MiB were asked for");
    CHECK(akg_tensor_grad(x) == NULL);
    stub.set_memory(64 << 20);
    CHECK_INT(akg_backward(tape, &y, NULL, 1, true, NULL), AKG_OK);
    CHECK(akg_tensor_get(akg_tensor_grad(x), (int64_t[]){length - 1}) == -1);
    akg_tensor_release(y);
    akg_tensor_release(x);
    akg_tape_release(tape);
    akg_registry_release(registry);
}

#ifdef AKG_FAULT_INJECTION
/* Each allocation of the host fails in turn: a status, and nothing is left behind. */
static void test_faults(void)
{
    const int64_t shape[] = {3, 2}, turned[] = {2, 3}, strides[] = {1, 2};
    long most = 0;

    for (long count = 0; count < 10000 && most == 0; count++) {
        akg_tensor *host = api_range(AKG_FLOAT32, 2, shape, 0, 1), *x = NULL, *view = NULL, *y = NULL,
                   *back = NULL;
        akg_diagnostics *diagnostics = NULL;
        akg_status status;
        memory_fail_after(count);
        status = akg_tensor_to(host, gpu, &x, &diagnostics);
        if (status == AKG_OK)
            status = akg_tensor_view(x, 2, turned, strides, 0, &view);
        if (status == AKG_OK) {
            akg_argument argument = api_tensor(NULL, view);
            status = call("scale", &argument, 1, &y, &diagnostics);
        }
        if (status == AKG_OK)
            status = akg_tensor_to(y, cpu, &back, &diagnostics);
        if (memory_fail_remaining() >= 0)
            most = count;
        memory_fail_after(-1);
        CHECK_INT(status, most ? AKG_OK : AKG_ERROR_MEMORY);
        if (most)
            check_format(back, "[[0, 4, 8], [2, 6, 10]]");
        akg_diagnostics_free(diagnostics);
        akg_tensor_release(host);
        akg_tensor_release(x);
        akg_tensor_release(view);
        akg_tensor_release(y);
        akg_tensor_release(back);
    }
    CHECK(most > 5);
}
#endif

static int run_lost(void)
{
    check_failed = 0;
    if (CHECK(gpu_stub_open(&stub)) && CHECK((module = api_compile(program)) != NULL))
        test_lost();
    return check_failed;
}

/* A driver that cannot launch a kernel close behind another one: each is launched by itself. */
static int run_older(void)
{
    check_failed = 0;
    if (!CHECK(gpu_stub_open(&stub)) || !CHECK((module = api_compile(program)) != NULL))
        return check_failed;
    CHECK(!dlsym(dlopen(getenv("AKG_CUDA_LIBRARY"), RTLD_NOW), "cuLaunchKernelEx"));
    test_call();
    test_temporary();
    test_launch_fails();
    CHECK_INT(stub.errors(), 2); /* those that were asked for */
    return check_failed;
}

/* ---- what is kept on disk ---------------------------------------------------------------------------------
 */

static char kept[] = "/tmp/akg-gpu.XXXXXX";

static int run_kept(void)
{
    check_failed = 0;
    if (!CHECK(gpu_stub_open(&stub)))
        return check_failed;
    unsetenv("AKG_CACHE");
    setenv("AKG_CACHE_DIR", kept, 1);
    if (CHECK((module = api_compile(program)) != NULL)) {
        akg_tensor *x = vector_on(gpu, 3, 1), *y = NULL;
        akg_argument argument = api_tensor(NULL, x);
        CHECK_INT(call("scale", &argument, 1, &y, NULL), AKG_OK);
        check_format(y, "[2, 4, 6]");
        akg_tensor_release(y);
        akg_tensor_release(x);
    }
    return check_failed;
}

/* The file of the one entry that is kept; 0: there are none, or several. */
static ino_t kept_file(void)
{
    char pattern[64];
    struct stat about = {0};
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s/*.entry", kept);
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    if (found.gl_pathc == 1)
        stat(found.gl_pathv[0], &about);
    globfree(&found);
    return about.st_ino;
}

/* What a driver does not take is compiled anew, and stands in the cache from then on. */
static void test_kept(void)
{
    char remove[64];
    ino_t first, next;

    if (!CHECK(mkdtemp(kept) != NULL))
        return;
    CHECK(gpu_in_child("devices=1", "", run_kept));
    CHECK((first = kept_file()) != 0);
    CHECK(gpu_in_child("devices=1", "", run_kept));
    CHECK((next = kept_file()) == first);
    CHECK(gpu_in_child("devices=1", "cuModuleLoadDataEx:0:1", run_kept));
    CHECK((next = kept_file()) != 0 && next != first);
    snprintf(remove, sizeof remove, "rm -r %s", kept);
    CHECK_INT(system(remove), 0);
}

int main(void)
{
    CHECK(gpu_in_child("devices=2", "", run_lost));
    test_kept();
    CHECK(gpu_in_child("devices=2 memory=67108864 older=1", "", run_older));
    if (!CHECK(gpu_stub_open(&stub)) || !CHECK((module = api_compile(program)) != NULL))
        return check_done();
#ifdef AKG_FAULT_INJECTION
    test_faults();
#endif
    test_call();
    test_host_between();
    test_second_device();
    test_views_in_place();
    test_temporary();
    test_parts();
    test_differ();
    test_refused();
    test_full();
    test_launch_fails();
    test_threads();
    test_broadcast();
    test_native();
    test_tape();
    test_tape_full();
    akg_module_release(module);
    return check_done();
}

#else

int main(void)
{
    printf("skipped: calls with tensors on a device: built without the headers of CUDA\n");
    return check_done();
}

#endif

/*
 * test_gpu.c: tensors on a GPU, against libraries that stand in for NVIDIA's (tests/cuda/stub_*.c): every
 * function that reads or writes elements, and every way in which a device can fail. What ends the use of a
 * device happens in a child process.
 */
#include "check.h"

#include "gpu_support.h"

#ifdef HAVE_CUDA

#include <stdlib.h>
#include <unistd.h>

static struct gpu_stub stub;

/* ---- support --------------------------------------------------------------------------------------------
 */

/* Whether the list has that message and says all of the text. Frees the list. */
static void check_told(akg_diagnostics *diagnostics, const char *name, const char *text)
{
    const akg_diagnostic *message = akg_diagnostics_at(diagnostics, 0);
    char *rendered = NULL;

    CHECK_STRING(message ? message->name : NULL, name);
    CHECK_INT(akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &rendered), AKG_OK);
    if (!check_one(rendered && strstr(rendered, text), __FILE__, __LINE__, "the text of the message"))
        fprintf(stderr, "    is     \"%s\"\n    should \"%s\"\n", rendered, text);
    akg_free(rendered);
    akg_diagnostics_free(diagnostics);
}

static akg_tensor *range_on(akg_device device, akg_dtype dtype, int rank, const int64_t *shape)
{
    akg_tensor *made = gpu_range(device, dtype, rank, shape, 0, 1);

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

static void (*child_test)(void);

static int run_child(void)
{
    check_failed = 0;
    if (CHECK(gpu_stub_open(&stub)))
        child_test();
    return check_failed;
}

static void in_child(const char *settings, const char *failures, void (*test)(void))
{
    child_test = test;
    CHECK(gpu_in_child(settings, failures, run_child));
}

/* ---- devices ----------------------------------------------------------------------------------------------
 */

static void test_names(void)
{
    akg_device device = {AKG_DEVICE_CPU, 7};

    CHECK(akg_device_parse("cpu", &device) && device.kind == AKG_DEVICE_CPU && device.index == 0);
    CHECK(akg_device_parse("cuda", &device) && device.kind == AKG_DEVICE_CUDA && device.index == 0);
    CHECK(akg_device_parse("cuda:12", &device) && device.kind == AKG_DEVICE_CUDA && device.index == 12);
    CHECK(!akg_device_parse("cuda:", &device) && !akg_device_parse("cuda1", &device));
    CHECK(!akg_device_parse("cpu:1", &device) && !akg_device_parse("ascend", &device));
    CHECK(!akg_device_parse(NULL, &device) && !akg_device_parse("cpu", NULL));
}

static void test_devices(void)
{
    akg_device_info info;
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *tensor = NULL;
    int count = 0;

    CHECK_INT(akg_device_count(&count, &diagnostics), AKG_OK);
    CHECK_INT(count, 2);
    CHECK_INT(akg_device_describe(second, &info, &diagnostics), AKG_OK);
    CHECK_STRING(info.name, "Stub 1");
    CHECK_INT(info.major * 10 + info.minor, 90);
    CHECK_INT(info.memory, 67108864);
    CHECK(info.driver >= 11020);
    CHECK_INT(akg_device_describe((akg_device){AKG_DEVICE_CUDA, 2}, &info, &diagnostics), AKG_ERROR_USAGE);
    check_told(diagnostics, "device-number", "there is no device 'cuda:2': the last one is cuda:1");
    CHECK_INT(
        akg_tensor_create_on((akg_device){AKG_DEVICE_CUDA, -1}, AKG_FLOAT32, 0, NULL, &tensor, &diagnostics),
        AKG_ERROR_USAGE);
    check_told(diagnostics, "device-number", "there is no device 'cuda:-1'");
    CHECK_INT(akg_device_describe(cpu, &info, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_device_count(NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_device_wait(cpu, NULL), AKG_OK);
    CHECK_INT(akg_device_wait(gpu, NULL), AKG_OK);
}

/* ---- elements
 * ----------------------------------------------------------------------------------------------- */

static void test_there_and_back(void)
{
    const int64_t shape[] = {2, 3};
    akg_tensor *there = range_on(gpu, AKG_FLOAT32, 2, shape), *back = NULL, *copy = NULL;

    CHECK_INT(akg_tensor_device(there).kind, AKG_DEVICE_CUDA);
    CHECK_INT(akg_tensor_device(there).index, 0);
    CHECK(akg_tensor_is_contiguous(there));
    check_format(there, "[[0, 1, 2], [3, 4, 5]]");
    CHECK(akg_tensor_get(there, (int64_t[]){1, 1}) == 4);
    akg_tensor_set(there, (int64_t[]){1, 1}, 40);
    CHECK_INT(akg_tensor_version(there), 1);
    CHECK_INT(akg_tensor_to(there, cpu, &back, NULL), AKG_OK);
    CHECK_INT(akg_tensor_device(back).kind, AKG_DEVICE_CPU);
    check_format(back, "[[0, 1, 2], [3, 40, 5]]");
    CHECK_INT(akg_tensor_copy(there, &copy), AKG_OK);
    CHECK_INT(akg_tensor_device(copy).kind, AKG_DEVICE_CUDA);
    CHECK(akg_tensor_data(copy) != akg_tensor_data(there));
    check_format(copy, "[[0, 1, 2], [3, 40, 5]]");
    akg_tensor_release(copy);
    akg_tensor_release(back);
    CHECK_INT(akg_tensor_to(there, second, &copy, NULL), AKG_OK);
    CHECK_INT(akg_tensor_device(copy).index, 1);
    check_format(copy, "[[0, 1, 2], [3, 40, 5]]");
    akg_tensor_release(copy);
    CHECK_INT(akg_tensor_cast(there, AKG_INT8, &copy), AKG_OK);
    CHECK_INT(akg_tensor_device(copy).kind, AKG_DEVICE_CUDA);
    check_format(copy, "[[0, 1, 2], [3, 40, 5]]");
    akg_tensor_release(copy);
    akg_tensor_release(there);
    CHECK_INT(akg_tensor_to(NULL, gpu, &copy, NULL), AKG_ERROR_USAGE);
}

/* More than the two halves of what copies go through, and an odd end. */
static void test_large(void)
{
    const int64_t count = 3 * 1024 * 1024 + 7;
    akg_tensor *there = range_on(gpu, AKG_INT32, 1, &count), *back = NULL;
    int64_t wrong = 0;

    CHECK_INT(akg_tensor_to(there, cpu, &back, NULL), AKG_OK);
    for (int64_t i = 0; back && i < count; i++)
        wrong += ((const int32_t *)akg_tensor_data(back))[i] != i;
    CHECK_INT(wrong, 0);
    akg_tensor_release(there);
    akg_tensor_release(back);
}

static void test_views(void)
{
    const int64_t shape[] = {3, 4}, turned[] = {4, 3}, strides[] = {1, 4}, column[] = {3}, step[] = {4};
    akg_tensor *there = range_on(gpu, AKG_FLOAT64, 2, shape), *view = NULL, *copy = NULL;

    CHECK_INT(akg_tensor_view(there, 2, turned, strides, 0, &view), AKG_OK);
    CHECK_INT(akg_tensor_device(view).kind, AKG_DEVICE_CUDA);
    check_format(view, "[[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]");
    CHECK_INT(akg_tensor_copy(view, &copy), AKG_OK);
    CHECK(akg_tensor_is_contiguous(copy));
    CHECK_INT(akg_tensor_device(copy).kind, AKG_DEVICE_CUDA);
    check_format(copy, "[[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]]");
    akg_tensor_release(copy);
    akg_tensor_release(view);
    /* backwards, from an element in the middle on */
    CHECK_INT(akg_tensor_view(there, 1, column, (int64_t[]){-4}, 10, &view), AKG_OK);
    check_format(view, "[10, 6, 2]");
    CHECK_INT(akg_tensor_to(view, second, &copy, NULL), AKG_OK);
    check_format(copy, "[10, 6, 2]");
    akg_tensor_release(copy);
    akg_tensor_release(view);
    CHECK_INT(akg_tensor_view(there, 1, column, step, 1, &view), AKG_OK);
    akg_tensor_fill(view, 7);
    akg_tensor_release(view);
    CHECK_INT(akg_tensor_detach(there, &view), AKG_OK);
    check_format(view, "[[0, 7, 2, 3], [4, 7, 6, 7], [8, 7, 10, 11]]");
    akg_tensor_release(view);
    akg_tensor_release(there);
}

static void test_fill(void)
{
    const int64_t shape[] = {2, 3};

    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        akg_tensor *there = NULL, *here = NULL;
        char *left = NULL, *right = NULL;
        CHECK_INT(akg_tensor_create_on(gpu, (akg_dtype)dtype, 2, shape, &there, NULL), AKG_OK);
        CHECK_INT(akg_tensor_create(AKG_DTYPE_COUNT > dtype ? (akg_dtype)dtype : AKG_BOOL, 2, shape, &here),
                  AKG_OK);
        check_format(there, dtype == AKG_BOOL ? "[[False, False, False], [False, False, False]]"
                                              : "[[0, 0, 0], [0, 0, 0]]");
        akg_tensor_fill(there, 0.7);
        akg_tensor_fill(here, 0.7);
        CHECK_INT(akg_tensor_format(there, &left), AKG_OK);
        CHECK_INT(akg_tensor_format(here, &right), AKG_OK);
        CHECK_STRING(left, right);
        akg_free(left);
        akg_free(right);
        akg_tensor_fill_normal(there, 3);
        akg_tensor_fill_normal(here, 3);
        CHECK_INT(akg_tensor_format(there, &left), AKG_OK);
        CHECK_INT(akg_tensor_format(here, &right), AKG_OK);
        CHECK_STRING(left, right);
        akg_free(left);
        akg_free(right);
        akg_tensor_release(there);
        akg_tensor_release(here);
    }
}

static void test_empty(void)
{
    const int64_t shape[] = {0, 3};
    akg_tensor *there = NULL, *back = NULL;

    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT32, 2, shape, &there, NULL), AKG_OK);
    akg_tensor_fill(there, 1);
    akg_tensor_fill_range(there, 0, 1);
    CHECK_INT(akg_tensor_to(there, cpu, &back, NULL), AKG_OK);
    check_format(there, "[]");
    akg_tensor_release(back);
    akg_tensor_release(there);
}

static void test_files(void)
{
    const int64_t shape[] = {2, 2}, turned[] = {1, 2};
    akg_tensor *there = range_on(gpu, AKG_FLOAT32, 2, shape), *view = NULL, *read = NULL;
    char folder[] = "/tmp/akg-gpu.XXXXXX", path[64];
    const char *key = "x";

    CHECK(mkdtemp(folder) != NULL);
    CHECK_INT(akg_tensor_view(there, 2, shape, turned, 0, &view), AKG_OK);
    snprintf(path, sizeof path, "%s/x.npy", folder);
    CHECK_INT(akg_npy_write(path, view, NULL), AKG_OK);
    CHECK_INT(akg_npy_read(path, &read, NULL), AKG_OK);
    check_format(read, "[[0, 2], [1, 3]]");
    akg_tensor_release(read);
    unlink(path);
    snprintf(path, sizeof path, "%s/x.npz", folder);
    CHECK_INT(akg_npz_write(path, &key, &there, 1, NULL), AKG_OK);
    CHECK_INT(akg_npz_read(path, "x", &read, NULL), AKG_OK);
    check_format(read, "[[0, 1], [2, 3]]");
    akg_tensor_release(read);
    unlink(path);
    rmdir(folder);
    akg_tensor_release(view);
    akg_tensor_release(there);
}

static void test_dlpack(void)
{
    const int64_t shape[] = {2, 3};
    akg_tensor *there = range_on(second, AKG_INT16, 2, shape), *taken = NULL;
    struct DLManagedTensor *managed = NULL;

    CHECK_INT(akg_tensor_to_dlpack(there, &managed), AKG_OK);
    CHECK_INT(akg_tensor_from_dlpack(managed, &taken, NULL), AKG_OK);
    CHECK_INT(akg_tensor_device(taken).kind, AKG_DEVICE_CUDA);
    CHECK_INT(akg_tensor_device(taken).index, 1);
    CHECK(akg_tensor_data(taken) == akg_tensor_data(there));
    akg_tensor_release(there);
    check_format(taken, "[[0, 1, 2], [3, 4, 5]]");
    akg_tensor_release(taken);
}

/* ---- memory
 * --------------------------------------------------------------------------------------------------- */

static void test_memory_is_kept(void)
{
    const int64_t count = 1000;
    akg_tensor *tensor = range_on(gpu, AKG_FLOAT32, 1, &count);
    void *address = akg_tensor_data(tensor);
    size_t used = stub.used(0);

    akg_tensor_release(tensor);
    CHECK_INT(stub.used(0), used);
    tensor = range_on(gpu, AKG_FLOAT32, 1, &count);
    CHECK(akg_tensor_data(tensor) == address);
    CHECK_INT(stub.used(0), used);
    akg_tensor_release(tensor);
}

/* The message says how much was asked for and how much is free; what is kept goes back first. */
static void test_full(void)
{
    const int64_t many = 12 << 20, few = 1 << 20, huge = (int64_t)1 << 40;
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *first = NULL, *next = NULL;

    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT32, 1, &many, &first, NULL), AKG_OK);
    akg_tensor_release(first);
    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT32, 1, &few, &first, NULL), AKG_OK);
    akg_tensor_fill(first, 5);
    /* of another size than what waits: only with that there is room */
    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT32, 1, (int64_t[]){13 << 20}, &next, &diagnostics), AKG_OK);
    akg_tensor_release(next);
    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT64, 1, &many, &next, &diagnostics), AKG_ERROR_MEMORY);
    CHECK(next == NULL);
    check_told(diagnostics, "device-memory",
               "device 'cuda:0' is out of memory: 96 MiB were asked for, 60 MiB of 64 MiB are free");
    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT64, 1, &huge, &next, &diagnostics), AKG_ERROR_MEMORY);
    check_told(diagnostics, "device-memory", "8 TiB were asked for");
    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT64, 2, (int64_t[]){1 << 30, 1 << 20}, &next, &diagnostics),
              AKG_ERROR_MEMORY);
    check_told(diagnostics, "device-memory", "8192 TiB were asked for");
    CHECK(akg_tensor_get(first, (int64_t[]){few - 1}) == 5);
    CHECK_INT(akg_tensor_copy(first, &next), AKG_OK);
    akg_tensor_release(next);
    akg_tensor_release(first);
}

static void test_without_pool(void)
{
    test_memory_is_kept();
    test_full();
    test_there_and_back();
}

/* ---- failures
 * --------------------------------------------------------------------------------------------------- */

static void test_refused(void)
{
    const int64_t shape[] = {4};
    akg_tensor *there = range_on(gpu, AKG_FLOAT32, 1, shape), *back = NULL;
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;

    stub.fail("cuMemcpyDtoHAsync", 0, STUB_INVALID_VALUE);
    CHECK_INT(akg_tensor_to(there, cpu, &back, &diagnostics), AKG_ERROR_DEVICE);
    CHECK(back == NULL);
    check_told(diagnostics, "device-refused",
               "device 'cuda:0' did not copy 16 bytes from it: invalid argument (CUDA_ERROR_INVALID_VALUE)");
    stub.fail("cuMemcpyDtoHAsync", 0, STUB_INVALID_VALUE);
    CHECK_INT(akg_tensor_format(there, &text), AKG_ERROR_DEVICE);
    stub.fail("cuMemcpyDtoHAsync", 0, STUB_INVALID_VALUE);
    CHECK_INT(akg_npy_write("/tmp/never-written.npy", there, &diagnostics), AKG_ERROR_DEVICE);
    check_told(diagnostics, "device-refused", "did not copy 16 bytes");
    CHECK(access("/tmp/never-written.npy", F_OK) != 0);
    stub.fail("cuMemAllocHost", 0, STUB_INVALID_VALUE); /* is not even called */
    check_format(there, "[0, 1, 2, 3]");
    akg_tensor_release(there);
}

/* Copies go without memory that the device reaches where there is none to be had. */
static void test_no_staging(void)
{
    test_large();
}

static void test_lost(void)
{
    const int64_t shape[] = {4};
    akg_tensor *there = range_on(gpu, AKG_FLOAT32, 1, shape), *back = NULL;
    akg_diagnostics *diagnostics = NULL;

    stub.fail("cuMemcpyDtoHAsync", 0, STUB_ILLEGAL_ADDRESS);
    CHECK_INT(akg_tensor_to(there, cpu, &back, &diagnostics), AKG_ERROR_DEVICE);
    check_told(
        diagnostics, "device-lost",
        "device 'cuda:0' is lost: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)");
    CHECK_INT(akg_tensor_copy(there, &back), AKG_ERROR_DEVICE);
    CHECK_INT(akg_device_wait(gpu, &diagnostics), AKG_ERROR_DEVICE);
    check_told(diagnostics, "device-lost", "this process cannot use it any more");
    CHECK(akg_tensor_get(there, (int64_t[]){1}) == 0);
    akg_tensor_release(there);
    /* the process goes on, and so do other devices */
    there = range_on(second, AKG_FLOAT32, 1, shape);
    check_format(there, "[0, 1, 2, 3]");
    akg_tensor_release(there);
}

static void test_none(void)
{
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *tensor = NULL;
    int count = 7;

    CHECK_INT(akg_device_count(&count, &diagnostics), AKG_ERROR_USAGE);
    CHECK_INT(count, 0);
    check_told(diagnostics, "cuda-absent", "CUDA cannot be used: the driver found no device");
    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT32, 0, NULL, &tensor, &diagnostics), AKG_ERROR_USAGE);
    check_told(diagnostics, "cuda-absent", "the driver found no device");
}

static void test_no_library(void)
{
    akg_diagnostics *diagnostics = NULL;
    int count = 7;

    setenv("AKG_CUDA_LIBRARY", "/nowhere/libcuda.so.1", 1);
    CHECK_INT(akg_device_count(&count, &diagnostics), AKG_ERROR_USAGE);
    check_told(diagnostics, "cuda-absent",
               "CUDA cannot be used: there is no NVIDIA driver: /nowhere/libcuda.so.1");
}

/* Opening fails, and works the next time. */
static void test_open_fails(void)
{
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *tensor = NULL;

    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT32, 0, NULL, &tensor, &diagnostics), AKG_ERROR_DEVICE);
    check_told(diagnostics, "device-refused", "device 'cuda:0' did not open it: out of memory");
    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT32, 0, NULL, &tensor, &diagnostics), AKG_ERROR_DEVICE);
    check_told(diagnostics, "device-refused", "did not make a stream");
    CHECK_INT(akg_tensor_create_on(gpu, AKG_FLOAT32, 0, NULL, &tensor, &diagnostics), AKG_OK);
    akg_tensor_release(tensor);
}

int main(void)
{
    test_names();
    in_child("devices=0", "", test_none);
    in_child("devices=1", "", test_no_library);
    in_child("devices=1", "cuDevicePrimaryCtxRetain:0:2 cuStreamCreate:0:1", test_open_fails);
    in_child("devices=2", "", test_lost);
    in_child("devices=2 memory=67108864 pool=0", "", test_without_pool);
    in_child("devices=1", "cuMemHostAlloc:0:2 cuMemHostAlloc:0:2", test_no_staging);
    if (!CHECK(gpu_stub_open(&stub)))
        return check_done();
    test_devices();
    test_there_and_back();
    test_large();
    test_views();
    test_fill();
    test_empty();
    test_files();
    test_dlpack();
    test_memory_is_kept();
    CHECK_INT(stub.errors(),
              0); /* of which compute-sanitizer would tell: what goes well asks nothing twice */
    test_full();
    test_refused();
    return check_done();
}

#else

int main(void)
{
    akg_diagnostics *diagnostics = NULL;
    int count = 7;

    CHECK_INT(akg_device_count(&count, &diagnostics), AKG_ERROR_USAGE);
    CHECK_INT(count, 0);
    CHECK_STRING(akg_diagnostics_at(diagnostics, 0)->message, "this library was built without CUDA headers");
    akg_diagnostics_free(diagnostics);
    printf("skipped: tensors on a device: built without the headers of CUDA\n");
    return check_done();
}

#endif

/*
 * device_kernels.c: sums, conversions and copies of tensors on a device, by kernels of the text below. It is
 * compiled when it is first needed and stays as long as the process, as devices do.
 */
#include "device_kernels.h"
#include "gpu.h"

#include <pthread.h>
#include <string.h>

static const char program[] = "def add(a, b):\n"
                              "    y = output_tensor(a.shape, a.dtype)\n"
                              "    for i in grid(a.shape):\n"
                              "        y[i] = a[i] + b[i]\n"
                              "    return y\n"
                              "\n"
                              "def convert(x, dtype: str = \"float32\"):\n"
                              "    y = output_tensor(x.shape, dtype)\n"
                              "    for i in grid(x.shape):\n"
                              "        y[i] = cast(x[i], dtype)\n"
                              "    return y\n"
                              "\n"
                              "def sum_middle(x):\n"
                              "    y = output_tensor((x.shape[0], x.shape[2]), \"float64\")\n"
                              "    for i, k in grid((x.shape[0], x.shape[2])):\n"
                              "        total = cast(0.0, \"float64\")\n"
                              "        for j in range(x.shape[1]):\n"
                              "            total += cast(x[i, j, k], \"float64\")\n"
                              "        y[i, k] = total\n"
                              "    return y\n"
                              "\n"
                              "def sum_last(x):\n" /* along what lies next to each other */
                              "    y = output_tensor((x.shape[0],), \"float64\")\n"
                              "    for i in range(x.shape[0]):\n"
                              "        total = cast(0.0, \"float64\")\n"
                              "        for j in range(x.shape[1]):\n"
                              "            total += cast(x[i, j], \"float64\")\n"
                              "        y[i] = total\n"
                              "    return y\n";

static struct {
    pthread_mutex_t lock;
    akg_module *module;
} compiled = {.lock = PTHREAD_MUTEX_INITIALIZER};

static akg_status call(const char *name, const akg_argument *arguments, size_t count, akg_tensor **result,
                       akg_diagnostics **diagnostics)
{
    const jit_source source = {.name = "<device>", .text = program, .length = sizeof program - 1};
    akg_status status = AKG_OK;

    *result = NULL;
    pthread_mutex_lock(&compiled.lock);
    if (!compiled.module)
        status = jit_compile(&source, NULL, &compiled.module, diagnostics);
    pthread_mutex_unlock(&compiled.lock);
    if (status != AKG_OK)
        return status;
    return akg_kernel_call(akg_module_kernel(compiled.module, name), arguments, count, NULL, result,
                           diagnostics);
}

/* All elements of a contiguous tensor in one axis: one signature serves every rank. */
static akg_status flatten(akg_tensor *tensor, akg_tensor **flat)
{
    return akg_tensor_view(tensor, 1, &tensor->element_count, NULL, 0, flat);
}

/* The result of a call with flat tensors, in the shape of `like`; takes over the reference. */
static akg_status unflatten(const akg_tensor *like, akg_tensor *flat, akg_tensor **shaped)
{
    akg_status status = akg_tensor_view(flat, like->rank, tensor_shape(like), NULL, 0, shaped);

    akg_tensor_release(flat);
    return status;
}

akg_status device_convert(akg_tensor *source, akg_dtype dtype, akg_tensor **converted,
                          akg_diagnostics **diagnostics)
{
    akg_argument arguments[] = {
        {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = source},
        {.kind = AKG_ARGUMENT_STRING, .as.string = akg_dtype_name(dtype)},
    };

    return call("convert", arguments, 2, converted, diagnostics);
}

static akg_status contiguous_of(akg_tensor *tensor, akg_tensor **contiguous, akg_diagnostics **diagnostics)
{
    if (!tensor->contiguous)
        return device_convert(tensor, tensor->dtype, contiguous, diagnostics);
    *contiguous = akg_tensor_retain(tensor);
    return AKG_OK;
}

akg_status device_add(akg_tensor *a, akg_tensor *b, akg_tensor **sum, akg_diagnostics **diagnostics)
{
    akg_tensor *whole[2] = {NULL, NULL}, *flat[2] = {NULL, NULL}, *result = NULL;
    akg_status status = contiguous_of(a, &whole[0], diagnostics);

    *sum = NULL;
    if (status == AKG_OK)
        status = contiguous_of(b, &whole[1], diagnostics);
    for (int k = 0; k < 2 && status == AKG_OK; k++)
        status = flatten(whole[k], &flat[k]);
    if (status == AKG_OK) {
        akg_argument arguments[] = {
            {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = flat[0]},
            {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = flat[1]},
        };
        status = call("add", arguments, 2, &result, diagnostics);
    }
    if (status == AKG_OK)
        status = unflatten(a, result, sum);
    for (int k = 0; k < 2; k++) {
        akg_tensor_release(flat[k]);
        akg_tensor_release(whole[k]);
    }
    return status;
}

/* ---- sums over axes ---------------------------------------------------------------------------------------
 */

/* What is left to be summed of a contiguous tensor: its extents, and which of them go. */
struct shrinking {
    int rank;
    int64_t dims[AKG_MAX_RANK];
    bool goes[AKG_MAX_RANK];
};

/* The last run of neighbouring axes that go, as extents before, in and behind it; false where there is none.
 */
static bool next_run(struct shrinking *left, int64_t *extents)
{
    int last = left->rank - 1, first;

    while (last >= 0 && !left->goes[last])
        last--;
    for (first = last; first > 0 && left->goes[first - 1]; first--)
        ;
    extents[0] = extents[1] = extents[2] = 1;
    for (int axis = 0; axis < left->rank; axis++)
        extents[axis < first ? 0 : axis <= last ? 1 : 2] *= left->dims[axis];
    for (int axis = first; last >= 0 && axis <= last; axis++) {
        left->goes[axis] = false;
        left->dims[axis] = 1;
    }
    return last >= 0;
}

/* Sums run after run. Takes over the reference at *tensor, and gives another one. */
static akg_status shrink(struct shrinking *left, akg_tensor **tensor, akg_diagnostics **diagnostics)
{
    int64_t extents[3];
    akg_status status = AKG_OK;

    while (status == AKG_OK && next_run(left, extents)) {
        akg_tensor *view = NULL, *sum = NULL;
        bool is_last = extents[2] == 1;
        status = akg_tensor_view(*tensor, is_last ? 2 : 3, extents, NULL, 0, &view);
        if (status == AKG_OK) {
            akg_argument argument = {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = view};
            status = call(is_last ? "sum_last" : "sum_middle", &argument, 1, &sum, diagnostics);
        }
        akg_tensor_release(view);
        akg_tensor_release(*tensor);
        *tensor = sum;
    }
    return status;
}

akg_status device_sum_to(akg_tensor *source, akg_dtype dtype, int rank, const int64_t *shape,
                         akg_tensor **sum, akg_diagnostics **diagnostics)
{
    struct shrinking left = {.rank = source->rank};
    akg_tensor *tensor = NULL, *shaped = NULL;
    int extra = source->rank - rank;
    akg_status status = contiguous_of(source, &tensor, diagnostics);

    *sum = NULL;
    for (int axis = 0; axis < source->rank; axis++) {
        left.dims[axis] = tensor_shape(source)[axis];
        left.goes[axis] = left.dims[axis] != 1 && (axis < extra || shape[axis - extra] == 1);
    }
    if (status == AKG_OK)
        status = shrink(&left, &tensor, diagnostics);
    if (status == AKG_OK)
        status = akg_tensor_view(tensor, rank, shape, NULL, 0, &shaped);
    if (status == AKG_OK && (shaped->dtype != dtype || shaped->data == source->data))
        status = device_convert(shaped, dtype, sum, diagnostics);
    else if (status == AKG_OK)
        *sum = akg_tensor_retain(shaped);
    akg_tensor_release(shaped);
    akg_tensor_release(tensor);
    return status;
}

akg_status device_sum_into(akg_tensor *source, akg_tensor *sum, akg_diagnostics **diagnostics)
{
    struct gpu_failure failure = {0};
    akg_tensor *made;
    akg_status status = device_sum_to(source, sum->dtype, sum->rank, tensor_shape(sum), &made, diagnostics);

    if (status != AKG_OK)
        return status;
    gpu_move(sum->device, sum->data, made->device, made->data,
             (size_t)sum->element_count * (size_t)dtype_table[sum->dtype].size, &failure);
    akg_tensor_release(made);
    return gpu_failure_report(&failure, diagnostics);
}

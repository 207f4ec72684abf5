/*
 * test_few.c: extents of one to four elements, which are compiled in: channels of images, components of
 * points.
 *
 * Kernels are called with every combination of small extents, one after the other; results are those of the
 * interpreter, to the bit, for all numbers are whole and small. The instances of a kernel stay few.
 */
#include <stdlib.h>
#include <string.h>

#include "../../jit/module.h"
#include "api_support.h"
#include "check.h"

static const char program[] = "def to_planes(x: T[H, W, C], g: T[C]):\n"
                              "    y = output_tensor((C, H, W), x.dtype)\n"
                              "    for c in range(C):\n"
                              "        for i in range(H):\n"
                              "            for j in range(W):\n"
                              "                y[c, i, j] = x[i, j, c] * g[c]\n"
                              "    return y\n"
                              "def to_pixels(x: T[H, W, C], g: T[C]):\n"
                              "    y = output_tensor((W, C, H), x.dtype)\n"
                              "    for i in range(W):\n"
                              "        for j in range(C):\n"
                              "            for c in range(H):\n"
                              "                y[i, j, c] = x[c, i, j] - g[j]\n"
                              "    return y\n"
                              "def shade(x: T[H, W, C], g: T[C]):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(H):\n"
                              "        for j in range(W):\n"
                              "            for c in range(C):\n"
                              "                y[i, j, c] = max(x[i, j, c] + g[c], g[C - 1 - c])\n"
                              "    return y\n"
                              "def gray(x: T[H, W, C], g: T[C]):\n"
                              "    y = output_tensor((H, W), x.dtype)\n"
                              "    for i in range(H):\n"
                              "        for j in range(W):\n"
                              "            s = 0.0\n"
                              "            for c in range(C):\n"
                              "                s += x[i, j, c] * g[c]\n"
                              "            y[i, j] = s\n"
                              "    return y\n"
                              "def total(x: T[H, W, C], g: T[C]):\n"
                              "    y = output_tensor((C, C), x.dtype)\n"
                              "    for c in range(C):\n"
                              "        for d in range(C):\n"
                              "            s = g[d]\n"
                              "            for i in range(H):\n"
                              "                for j in range(W):\n"
                              "                    s += x[i, j, c] * x[i, j, d]\n"
                              "            y[c, d] = s\n"
                              "    return y\n"
                              "def turned(x: T[H, W, C], g: T[C]):\n"
                              "    y = output_tensor((H, W, C), x.dtype)\n"
                              "    for i in range(H):\n"
                              "        for j in range(W):\n"
                              "            for c in range(C):\n"
                              "                y[i, j, c] = x[H - 1 - i, (j + 1) % W, C - 1 - c] * g[c]\n"
                              "    return y\n"
                              "def places(x: T[H, W, C], g: T[C]):\n"
                              "    for i in range(H):\n"
                              "        for j in range(W):\n"
                              "            for c in range(C):\n"
                              "                x[i, j, c] = x[i, j, c] * g[c] + cast(i * W + j, x.dtype)\n"
                              "    return x\n";

static const char *const names[] = {"to_planes", "to_pixels", "shade", "gray", "total", "turned", "places"};
static const int64_t extents[] = {3, 1, 40, 2, 4, 5, 0, 17};

enum { EXTENTS = API_COUNT(extents), MOST_INSTANCES = 32 };

static akg_module *compile(jit_backend backend)
{
    jit_source source = {"few.akg", program, sizeof program - 1};
    jit_options options = {.backend = backend, .cache = "off"};
    akg_module *module = NULL;

    CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK);
    return module;
}

static akg_tensor *numbers(akg_dtype dtype, int rank, const int64_t *shape)
{
    akg_tensor *tensor = api_range(dtype, rank, shape, 0, 0);
    int64_t count = akg_tensor_element_count(tensor);

    for (int64_t k = 0; k < count; k++) {
        double value = (double)((k * 7 + k / 5) % 11 - 3);
        if (dtype == AKG_FLOAT32)
            ((float *)akg_tensor_data(tensor))[k] = (float)value;
        else if (dtype == AKG_FLOAT64)
            ((double *)akg_tensor_data(tensor))[k] = value;
        else
            ((int16_t *)akg_tensor_data(tensor))[k] = (int16_t)value;
    }
    return tensor;
}

/* NULL: the call failed. */
static akg_tensor *call(akg_module *module, const char *name, akg_dtype dtype, const int64_t *shape)
{
    akg_tensor *x = numbers(dtype, 3, shape), *g = numbers(dtype, 1, &shape[2]), *y = NULL;
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, g)};

    akg_kernel_call(akg_module_kernel(module, name), arguments, 2, NULL, &y, NULL);
    akg_tensor_release(x);
    akg_tensor_release(g);
    return y;
}

static int instances(akg_module *module, const char *name)
{
    int count = 0;
    for (const struct jit_instance *instance = atomic_load(&akg_module_kernel(module, name)->instances);
         instance; instance = instance->next)
        count++;
    return count;
}

static void check_shape(akg_module *module, akg_module *interpreted, const char *name, akg_dtype dtype,
                        const int64_t *shape)
{
    akg_tensor *found = call(module, name, dtype, shape), *right = call(interpreted, name, dtype, shape);

    if (!CHECK(found && right && api_same(found, right)))
        fprintf(stderr, "    %s of %d, %d, %d\n", name, (int)shape[0], (int)shape[1], (int)shape[2]);
    akg_tensor_release(found);
    akg_tensor_release(right);
}

/* `twist`: which combinations come first. */
static void test_kernel(akg_module *interpreted, const char *name, akg_dtype dtype, int twist)
{
    akg_module *module = compile(JIT_BACKEND_TCC);

    for (int k = 0; k < EXTENTS * EXTENTS * EXTENTS; k++) {
        int at = (k * 37 + twist) % (EXTENTS * EXTENTS * EXTENTS);
        int64_t shape[] = {extents[at % EXTENTS], extents[at / EXTENTS % EXTENTS],
                           extents[at / EXTENTS / EXTENTS]};
        check_shape(module, interpreted, name, dtype, shape);
    }
    int made = instances(module, name);
    CHECK(made >= MOST_INSTANCES && made <= 2 * MOST_INSTANCES); /* those of one element may follow */
    akg_module_release(module);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_INT16, AKG_FLOAT64};
    akg_module *interpreted = compile(JIT_BACKEND_INTERPRETER);

    for (int k = 0; k < (int)API_COUNT(names); k++)
        if (check_takes((size_t)k))
            test_kernel(interpreted, names[k], dtypes[k % 3], k);
    akg_module_release(interpreted);
    return check_done();
}

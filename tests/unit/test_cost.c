/*
 * test_cost.c: akg_kernel_cost against counts by hand: operations and bytes of kernels with borders,
 * triangles, strides, windows, data-dependent indices and conditions.
 */
#include "../../include/akg.h"
#include "check.h"

struct tensor_shape {
    akg_dtype dtype;
    int rank;
    int64_t shape[4];
};

#define F(...)                                                                                               \
    AKG_FLOAT32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                                         \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define I(...)                                                                                               \
    AKG_INT32, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                                           \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

struct row {
    const char *name, *program;
    int count;
    struct tensor_shape tensors[3];
    akg_cost cost; /* bytes_read, bytes_written, flops, exact */
};

static const struct row rows[] = {
    {"square: one load, one store, one product",
     "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
     "        y[i] = x[i] * x[i]\n    return y\n",
     1,
     {{F(100)}},
     {400, 400, 100, true}},
    {"matmul: elements count once",
     "def f(a, b):\n    c = output_tensor((a.shape[0], b.shape[1]), a.dtype)\n"
     "    for m in range(a.shape[0]):\n        for n in range(b.shape[1]):\n            acc = 0.0\n"
     "            for k in range(a.shape[1]):\n                acc += a[m, k] * b[k, n]\n"
     "            c[m, n] = acc\n    return c\n",
     2,
     {{F(8, 5)}, {F(5, 7)}},
     {4 * (40 + 35), 4 * 56, 2 * 8 * 5 * 7, true}},
    {"the first rows of b only",
     "def f(a, b):\n    c = output_tensor(a.shape, a.dtype)\n    for i, j in grid(a.shape):\n"
     "        c[i, j] = a[i, j] - b[j]\n    return c\n",
     2,
     {{F(8, 5)}, {F(9)}},
     {4 * (40 + 5), 4 * 40, 40, true}},
    {"a stencil: the corners are not read",
     "def f(x):\n    n, m = x.shape\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(1, n - 1):\n"
     "        for j in range(1, m - 1):\n"
     "            y[i, j] = x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1] - 4.0 * x[i, j]\n"
     "    return y\n",
     1,
     {{F(10, 12)}},
     {4 * (120 - 4), 4 * 120, 5 * 8 * 10, true}},
    {"lu: a triangle in a triangle, in place",
     "def f(a: T[N, N]):\n    for k in range(N):\n        for i in range(k + 1, N):\n"
     "            a[i, k] /= a[k, k]\n            for j in range(k + 1, N):\n"
     "                a[i, j] -= a[i, k] * a[k, j]\n    return a\n",
     1,
     {{F(5, 5)}},
     /* all is read; all but row 0 is written; (4 + 3 + 2 + 1) quotients, 2 (16 + 9 + 4 + 1) */
     {100, 80, 10 + 60, true}},
    {"the lower triangle",
     "def f(x):\n    y = output_tensor((x.shape[0],), x.dtype)\n    for i in range(x.shape[0]):\n"
     "        acc = 0.0\n        for j in range(i + 1):\n            acc += x[i, j]\n        y[i] = acc\n"
     "    return y\n",
     1,
     {{F(6, 6)}},
     {4 * 21, 24, 21, true}},
    {"every third element, backwards",
     "def f(x):\n    y = output_tensor((x.shape[0],), x.dtype)\n    for i in range(x.shape[0] - 1, -1, -3):\n"
     "        y[i] = x[i] * 2.0\n    return y\n",
     1,
     {{F(10)}},
     {16, 40, 4, true}},
    {"a window: overlaps count once, the border's test is decided",
     "def f(x):\n    n = x.shape[0]\n    y = output_tensor((n,), x.dtype)\n    for i in range(n):\n"
     "        acc = 0.0\n        for r in range(3):\n            p = i + r - 1\n"
     "            if 0 <= p < n:\n                acc += x[p]\n        y[i] = acc\n    return y\n",
     1,
     {{F(9)}},
     {36, 36, 3 * 9 - 2, true}},
    {"a choice by an index, and one by a value on equal sides",
     "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
     "        y[i] = (x[i] + x[i] * 2.0 if i < 3 else 0.0)\n        if x[i] > 0:\n            y[i] = x[i] + "
     "1.0\n"
     "        else:\n            y[i] = x[i] - 1.0\n    return y\n",
     1,
     {{F(10)}},
     {40, 40, 6 + 10, true}},
    {"remainders are walked one by one",
     "def f(x):\n    y = output_tensor((x.shape[0],), x.dtype)\n    for i in range(x.shape[0]):\n"
     "        y[i] = exp(x[i % 4])\n    return y\n",
     1,
     {{F(10)}},
     {16, 40, 10, true}},
    {"a copy of integers has no operation on floats",
     "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
     "        y[i] = x[i] + 1\n    return y\n",
     1,
     {{I(10)}},
     {40, 40, 0, true}},
    {"an empty tensor",
     "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
     "        y[i] = x[i] * x[i]\n    return y\n",
     1,
     {{F(0)}},
     {0, 0, 0, true}},
    {"gather: as many elements as accesses",
     "def f(x, index: int32):\n    y = output_tensor(index.shape, x.dtype)\n"
     "    for k in range(index.shape[0]):\n        y[k] = x[index[k]]\n    return y\n",
     2,
     {{F(100)}, {I(7)}},
     {28 + 28, 28, 0, false}},
    {"gather: no more than there are",
     "def f(x, index: int32):\n    y = output_tensor(index.shape, x.dtype)\n"
     "    for k in range(index.shape[0]):\n        y[k] = x[index[k]]\n    return y\n",
     2,
     {{F(3)}, {I(7)}},
     {28 + 12, 28, 0, false}},
    {"a condition on data: its dearer side",
     "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
     "        if x[i] > 0:\n            y[i] = exp(x[i]) + 1.0\n        else:\n            y[i] = x[i]\n    "
     "return y\n",
     1,
     {{F(10)}},
     {40, 40, 20, false}},
    {"a condition on data: what may be read",
     "def f(x, z):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
     "        y[i] = (z[i] if x[i] > 0 else 0.0)\n    return y\n",
     2,
     {{F(10)}, {F(10)}},
     {80, 40, 0, false}},
    {"relu reads the same on both sides",
     "def f(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
     "        y[i] = (x[i] if x[i] > 0 else 0.0)\n    return y\n",
     1,
     {{F(10)}},
     {40, 40, 0, true}},
    {"a loop with a break counts all iterations",
     "def f(x):\n    y = output_tensor((1,), x.dtype)\n    acc = 0.0\n    for i in range(x.shape[0]):\n"
     "        if x[i] > 0:\n            break\n        acc += 1.0\n    y[0] = acc\n    return y\n",
     1,
     {{F(10)}},
     {40, 4, 10, false}},
};

static akg_status count(const struct row *row, akg_cost *cost, akg_diagnostics **diagnostics)
{
    jit_source source = {.name = "cost.akg", .text = row->program, .length = strlen(row->program)};
    akg_argument arguments[3] = {{.name = NULL}};
    akg_module *module = NULL;
    akg_status status = jit_compile(&source, NULL, &module, diagnostics);
    if (status != AKG_OK)
        return status;
    for (int k = 0; k < row->count; k++) {
        arguments[k].kind = AKG_ARGUMENT_TENSOR;
        CHECK_INT(akg_tensor_create(row->tensors[k].dtype, row->tensors[k].rank, row->tensors[k].shape,
                                    &arguments[k].as.tensor),
                  AKG_OK);
    }
    status =
        akg_kernel_cost(akg_module_kernel(module, "f"), arguments, (size_t)row->count, cost, diagnostics);
    for (int k = 0; k < row->count; k++)
        akg_tensor_release(arguments[k].as.tensor);
    akg_module_release(module);
    return status;
}

static void test_rows(void)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        int before = check_failed;
        akg_cost cost = {0};
        akg_diagnostics *diagnostics = NULL;
        CHECK_INT(count(&rows[k], &cost, &diagnostics), AKG_OK);
        CHECK_INT(cost.bytes_read, rows[k].cost.bytes_read);
        CHECK_INT(cost.bytes_written, rows[k].cost.bytes_written);
        CHECK_INT(cost.flops, rows[k].cost.flops);
        CHECK_INT(cost.exact, rows[k].cost.exact);
        akg_diagnostics_free(diagnostics);
        if (check_failed != before)
            fprintf(stderr, "    of \"%s\"\n", rows[k].name);
    }
}

/* Sizes that no walk of single iterations could count. */
static void test_large(void)
{
    struct row large = rows[1];
    akg_cost cost = {0};
    large.tensors[0] = (struct tensor_shape){F(1 << 11, 1 << 11)};
    large.tensors[1] = (struct tensor_shape){F(1 << 11, 1 << 11)};
    CHECK_INT(count(&large, &cost, NULL), AKG_OK);
    CHECK_INT(cost.flops, 2LL << 33);
    CHECK_INT(cost.bytes_read, 2LL << 24);
    CHECK(cost.exact);
}

static void test_refusals(void)
{
    struct row wrong = rows[1];
    akg_cost cost = {0};
    akg_diagnostics *diagnostics = NULL;
    wrong.tensors[1].shape[0] = 4; /* a.shape[1] is 5 */
    CHECK_INT(count(&wrong, &cost, &diagnostics), AKG_ERROR_CALL);
    CHECK_INT(akg_diagnostics_error_count(diagnostics), 1);
    akg_diagnostics_free(diagnostics);
    CHECK_INT(akg_kernel_cost(NULL, NULL, 0, &cost, &diagnostics), AKG_ERROR_USAGE);
    CHECK(diagnostics == NULL);
}

int main(void)
{
    test_rows();
    test_large();
    test_refusals();
    return check_done();
}

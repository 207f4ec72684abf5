/*
 * test_restride.c: tensors that are not contiguous but have no gaps: transposed views, and such as repeat
 * axes, in every order of three axes. Compiled code on a view gives the bits that it gives on a contiguous
 * copy, as the interpreter does. Then calls of one kernel with tensors that lie differently, one after the
 * other,
 * @broadcast functions, and what is said of wrong extents and indices.
 */
#include "api_support.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

static const char program[] =
    "def pointwise(x, w):\n"
    "    y = output_tensor(x.shape, x.dtype)\n"
    "    for i, j, k in grid(x.shape):\n"
    "        y[i, j, k] = x[i, j, k] * 2 + w[i, j, k]\n"
    "    return y\n"
    "def shifted(x, w):\n"
    "    y = output_tensor((x.shape[0], x.shape[1] - 1, x.shape[2] - 1), x.dtype)\n"
    "    for i, j, k in grid(y.shape):\n"
    "        y[i, j, k] = x[i, j + 1, k] - x[i, j, k + 1] * w[i, j, k]\n"
    "    return y\n"
    "def product(x: T[B, M, K], w: T[B, M, K]):\n"
    "    y = output_tensor((B, M, M), x.dtype)\n"
    "    for b, i, j in grid((B, M, M)):\n"
    "        for k in range(K):\n"
    "            y[b, i, j] += x[b, i, k] * w[b, j, k]\n"
    "    return y\n"
    "def sums(x, w):\n"
    "    y = output_tensor((x.shape[1],), x.dtype)\n"
    "    for i, j, k in grid(x.shape):\n"
    "        y[j] += max(x[i, j, k], w[i, j, k])\n"
    "    return y\n"
    "def picked(x, w):\n"
    "    y = output_tensor(x.shape, x.dtype)\n"
    "    for i, j, k in grid(x.shape):\n"
    "        y[i, j, k] = x[i, (3 * j + k) % x.shape[1], k] + w[i, j, int64(w[i, j, k]) % w.shape[2]]\n"
    "    return y\n";

static const char *const kernels[] = {"pointwise", "shifted", "product", "sums", "picked"};

static akg_module *compile(const char *text, jit_backend backend)
{
    jit_source source = {.name = "test.akg", .text = text, .length = strlen(text)};
    jit_options options = {.backend = backend, .strict = true};
    akg_diagnostics *diagnostics;
    akg_module *module = NULL;

    CHECK_INT(jit_compile(&source, &options, &module, &diagnostics), AKG_OK);
    akg_diagnostics_free(diagnostics);
    return module;
}

static akg_tensor *call(akg_module *module, const char *kernel, akg_tensor *x, akg_tensor *w)
{
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, w)};
    akg_diagnostics *diagnostics;
    akg_tensor *output = NULL;

    CHECK_INT(akg_kernel_call(akg_module_kernel(module, kernel), arguments, 2, NULL, &output, &diagnostics),
              AKG_OK);
    akg_diagnostics_free(diagnostics);
    return output;
}

/* A tensor of that shape whose axes lie in that order, those of `repeated` with stride 0. */
static akg_tensor *view_of(akg_dtype dtype, const int64_t *shape, const int *order, unsigned repeated)
{
    int64_t strides[3] = {0}, count = 1;
    akg_tensor *base, *view = NULL;

    for (int k = 2; k >= 0; k--)
        if (!(repeated >> order[k] & 1)) {
            strides[order[k]] = count;
            count *= shape[order[k]];
        }
    base = api_vector(dtype, count, 1, 1);
    CHECK_INT(akg_tensor_view(base, 3, shape, strides, 0, &view), AKG_OK);
    akg_tensor_release(base);
    return view;
}

static void compare(akg_module *compiled, akg_module *interpreted, akg_tensor *x, akg_tensor *w)
{
    akg_tensor *plain[2], *results[3];

    CHECK_INT(akg_tensor_copy(x, &plain[0]), AKG_OK);
    CHECK_INT(akg_tensor_copy(w, &plain[1]), AKG_OK);
    for (size_t k = 0; k < API_COUNT(kernels); k++) {
        results[0] = call(compiled, kernels[k], plain[0], plain[1]);
        results[1] = call(compiled, kernels[k], x, w);
        results[2] = call(interpreted, kernels[k], x, w);
        CHECK(api_same(results[0], results[1]));
        CHECK(api_same(results[0], results[2]));
        for (int i = 0; i < 3; i++)
            akg_tensor_release(results[i]);
    }
    akg_tensor_release(plain[0]);
    akg_tensor_release(plain[1]);
}

static void test_orders(void)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int64_t shapes[][3] = {{2, 3, 5}, {1, 9, 17}, {3, 18, 1}};
    akg_module *compiled = compile(program, JIT_BACKEND_TCC),
               *interpreted = compile(program, JIT_BACKEND_INTERPRETER);

    for (size_t s = 0; s < API_COUNT(shapes); s++)
        for (size_t o = 0; o < API_COUNT(orders); o++)
            for (unsigned repeated = 0; repeated < 8; repeated++) {
                akg_dtype dtype = (o + repeated) % 3 ? AKG_FLOAT32 : AKG_FLOAT64;
                akg_tensor *x = view_of(dtype, shapes[s], orders[o], repeated);
                akg_tensor *w = view_of(dtype, shapes[s], orders[(o + s + repeated) % 6], 7 & repeated * 3);
                compare(compiled, interpreted, x, w);
                akg_tensor_release(x);
                akg_tensor_release(w);
            }
    akg_module_release(compiled);
    akg_module_release(interpreted);
}

/* Forms take turns, so that each is met on the short way as well; one has gaps, one goes backwards. */
static void test_turns(void)
{
    static const int64_t shape[3] = {4, 6, 8}, gaps[3] = {192, 16, 2}, backwards[3] = {48, 8, -1};
    static const int order[3] = {0, 1, 2}, turned[3] = {2, 0, 1};
    akg_module *module = compile(program, JIT_BACKEND_TCC);
    akg_tensor *base = api_vector(AKG_FLOAT32, 4 * 192, 3, 1), *forms[6], *copies[6];

    forms[0] = view_of(AKG_FLOAT32, shape, order, 0);
    forms[1] = view_of(AKG_FLOAT32, shape, order, 1);
    forms[2] = view_of(AKG_FLOAT32, shape, order, 6);
    forms[3] = view_of(AKG_FLOAT32, shape, turned, 0);
    CHECK_INT(akg_tensor_view(base, 3, shape, gaps, 0, &forms[4]), AKG_OK);
    CHECK_INT(akg_tensor_view(base, 3, shape, backwards, 7, &forms[5]), AKG_OK);
    for (int i = 0; i < 6; i++)
        CHECK_INT(akg_tensor_copy(forms[i], &copies[i]), AKG_OK);
    for (int round = 0; round < 108; round++) {
        int i = round % 6, j = round / 6 % 6;
        akg_tensor *expected = call(module, "shifted", copies[i], copies[j]);
        akg_tensor *given = call(module, "shifted", forms[i], forms[j]);
        CHECK(api_same(expected, given));
        akg_tensor_release(expected);
        akg_tensor_release(given);
    }
    for (int i = 0; i < 6; i++) {
        akg_tensor_release(forms[i]);
        akg_tensor_release(copies[i]);
    }
    akg_tensor_release(base);
    akg_module_release(module);
}

/* A tensor that is written lies as it lay. */
static void test_written(void)
{
    static const int64_t shape[3] = {3, 5, 7};
    static const int turned[3] = {1, 2, 0};
    akg_module *module = compile("def add(x, w):\n"
                                 "    for i, j, k in grid(x.shape):\n"
                                 "        x[i, j, k] = x[i, j, k] * 3 + w[i, j, k]\n"
                                 "    return x\n",
                                 JIT_BACKEND_TCC);
    akg_tensor *x = view_of(AKG_FLOAT32, shape, turned, 0), *w = view_of(AKG_FLOAT32, shape, turned, 2),
               *copy;

    CHECK_INT(akg_tensor_copy(x, &copy), AKG_OK);
    akg_tensor_release(call(module, "add", x, w));
    akg_tensor_release(call(module, "add", copy, w));
    CHECK(!akg_tensor_is_contiguous(x) && api_same(x, copy));
    akg_tensor_release(x);
    akg_tensor_release(w);
    akg_tensor_release(copy);
    akg_module_release(module);
}

/* An axis of one element is repeated, whichever it is. */
static void test_broadcast(void)
{
    static const int64_t full[3] = {5, 7, 9};
    akg_module *module = compile("@broadcast\n"
                                 "def add(a, b):\n"
                                 "    y = output_tensor(a.shape, a.dtype)\n"
                                 "    for p in grid(a.shape):\n"
                                 "        y[p] = a[p] + b[p] * 3\n"
                                 "    return y\n",
                                 JIT_BACKEND_TCC);
    int64_t differ = 0;

    for (unsigned ones = 0; ones < 64; ones++) {
        int64_t a[3], b[3];
        for (int k = 0; k < 3; k++) {
            a[k] = ones >> k & 1 ? 1 : full[k];
            b[k] = ones >> (3 + k) & 1 ? 1 : full[k];
        }
        akg_tensor *x = api_range(AKG_FLOAT32, 3, a, 1, 1), *w = api_range(AKG_FLOAT32, 3, b, 2, 5);
        akg_tensor *y = call(module, "add", x, w);
        int64_t shape[3], at = 0;
        for (int k = 0; k < 3; k++)
            shape[k] = a[k] > b[k] ? a[k] : b[k];
        for (int64_t i = 0; i < shape[0]; i++)
            for (int64_t j = 0; j < shape[1]; j++)
                for (int64_t k = 0; k < shape[2]; k++, at++) {
                    int64_t from = ((i % a[0]) * a[1] + j % a[1]) * a[2] + k % a[2];
                    int64_t with = ((i % b[0]) * b[1] + j % b[1]) * b[2] + k % b[2];
                    differ += api_element(y, at) != api_element(x, from) + 3 * api_element(w, with);
                }
        CHECK_INT(akg_tensor_element_count(y), at);
        akg_tensor_release(x);
        akg_tensor_release(w);
        akg_tensor_release(y);
    }
    CHECK_INT(differ, 0);
    akg_module_release(module);
}

/* Messages have the axes of the tensor that was given. */
static void test_refused(void)
{
    static const int64_t shape[3] = {2, 3, 5}, other[3] = {2, 3, 4}, six[1] = {6};
    static const int turned[3] = {2, 1, 0};
    akg_module *module = compile("def both(x: T[A, B, C], w: T[A, B, C], at: int64[N]):\n"
                                 "    y = output_tensor((N,), x.dtype)\n"
                                 "    for n in range(N):\n"
                                 "        y[n] = x[0, 0, at[n]] + w[1, 2, 3]\n"
                                 "    return y\n",
                                 JIT_BACKEND_TCC);
    akg_tensor *x = view_of(AKG_FLOAT32, shape, turned, 1), *w = view_of(AKG_FLOAT32, shape, turned, 6),
               *short_one = view_of(AKG_FLOAT32, other, turned, 4), *output = NULL;
    akg_tensor *at = api_range(AKG_INT64, 1, six, 0, 1);
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, w), api_tensor(NULL, at)};
    akg_diagnostics *diagnostics;

    CHECK_INT(akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 3, NULL, &output, &diagnostics),
              AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "index-out-of-bounds");
    CHECK(api_says(diagnostics, "index 5 is outside axis 2 of 'x'"));
    akg_diagnostics_free(diagnostics);
    arguments[1] = api_tensor(NULL, short_one);
    CHECK_INT(akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 3, NULL, &output, &diagnostics),
              AKG_ERROR_CALL);
    CHECK_STRING(api_error(diagnostics), "call-shape");
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(x);
    akg_tensor_release(w);
    akg_tensor_release(short_one);
    akg_tensor_release(at);
    akg_module_release(module);
}

int main(void)
{
    test_orders();
    test_turns();
    test_written();
    test_broadcast();
    test_refused();
    return check_done();
}

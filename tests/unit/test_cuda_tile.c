/*
 * test_cuda_tile.c: nests that run in tiles (jit/cuda_tile.h) or squares (jit/cuda_cross.h) on a GPU,
 * executed on the CPU by the shim (tests/cuda/shim.h) and compared with the interpreter: in tiles of each
 * size, whatever their extents, and as they would run without. Integers are the same bits, floats within a
 * bound.
 */
#include "check.h"

#include "../cuda/emulate.h"
#include "../../jit/interpreter.h"
#include "../../jit/passes.h"
#include "../../jit/scalar.h"

#include <math.h>
#include <stdlib.h>

enum { BUFFERS = 4, DIMS = 6 };

struct nest {
    const char *name, *text;
    int ways;          /* launches: one for each size of tiles, and without one by threads, or another one by
                          blocks; 1: it is no such nest */
    const char *holds; /* a piece of the text, or NULL */
    bool tf32;         /* tensor cores may have its factors, rounded */
};

/* Dims in the order in which they appear: rows, depths, columns. */
static const struct nest nests[] = {
    {"product",
     "kernel k {\n  input a: float32[M, K]\n  input b: float32[K, N]\n  output c: float32[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: float32 = 0.0:float32\n        for k = 0 to K step 1 {\n"
     "          s = (s + (a[m, k] * b[k, n]))\n        }\n"
     "        c[m, n] = s\n      }\n    }\n  }\n}\n",
     3, "akg_take_32(quad_, &b[k * N + n])", true},
    {"second one transposed, with what is done before and after",
     "kernel k {\n  input a: float32[M, K]\n  input b: float32[N, K]\n  input w: float32[M]\n"
     "  inout c: float32[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      let scale: float32 = w[m]\n      for n = 0 to N step 1 {\n"
     "        var s: float32 = c[m, n]\n        for k = 0 to K step 1 {\n"
     "          let l: float32 = (a[m, k] + 1.0:float32)\n          s = (s - (l * b[n, k]))\n        }\n"
     "        c[m, n] = (max(s, 0.0:float32) * scale)\n      }\n    }\n  }\n}\n",
     4, "akg_take_32(quad_, &a[m * K + k])", false},
    {"both transposed, with what is done before and after",
     "kernel k {\n  input a: float64[K, M]\n  input b: float64[N, K]\n  inout c: float64[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      let row: int64 = (m + 0)\n      for n = 0 to N step 1 {\n"
     "        var s: float64 = (c[m, n] * 2.0:float64)\n        for k = 0 to K step 1 {\n"
     "          let l: float64 = (a[k, row] + 1.0:float64)\n          s = (s - (l * b[n, k]))\n        }\n"
     "        if (n != row) {\n          c[m, n] = max(s, 0.0:float64)\n        } else {\n"
     "          c[m, n] = s\n        }\n      }\n    }\n  }\n}\n",
     3, "akg_take_64(quad_, &a[k * M + m])", false},
    {"batches, of halves",
     "kernel k {\n  input a: float16[B, M, K]\n  input b: bfloat16[B, K, N]\n  output c: float32[B, M, N]\n"
     "  body {\n    for b_1 = 0 to B step 1 {\n      for m = 0 to M step 1 {\n        for n = 0 to N step 1 "
     "{\n"
     "          var s: float32 = 0.0:float32\n          for k = 0 to K step 1 {\n"
     "            s = (s + (float32(a[b_1, m, k]) * float32(b[b_1, k, n])))\n          }\n"
     "          c[b_1, m, n] = s\n        }\n      }\n    }\n  }\n}\n",
     3, "akg_take_16(quad_, &a[", false},
    {"a sum of halves",
     "kernel k {\n  input a: float16[M, K]\n  input b: float16[K, N]\n  output c: float16[N, M]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: float16 = 0.0:float16\n        for k = 0 to K step 1 {\n"
     "          s = (s + (a[m, k] * b[k, n]))\n        }\n"
     "        c[n, m] = s\n      }\n    }\n  }\n}\n",
     3, "akg_product_float16(", false},
    {"halves of one dtype, both transposed",
     "kernel k {\n  input a: bfloat16[K, M]\n  input b: bfloat16[N, K]\n  inout c: float32[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: float32 = (c[m, n] + float32(m))\n        for k = 0 to K step 1 {\n"
     "          s = ((float32(b[n, k]) * float32(a[k, m])) + s)\n        }\n"
     "        c[m, n] = s\n      }\n    }\n  }\n}\n",
     4, "akg_product_bfloat16(", false},
    {"halves of one dtype, computed on the way",
     "kernel k {\n  input a: float16[M, K]\n  input b: float16[K, N]\n  output c: float32[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: float32 = 0.0:float32\n        for k = 0 to K step 1 {\n"
     "          s = (s + (float32(max(a[m, k], 0.0:float16)) * float32(b[((K - 1) - k), n])))\n        }\n"
     "        c[m, n] = (s * 0.5:float32)\n      }\n    }\n  }\n}\n",
     3, "akg_product_float16(", false},
    {"halves of one dtype, in batches, the second one transposed",
     "kernel k {\n  input a: float16[B, M, K]\n  input b: float16[N, K]\n  output c: float16[B, M, N]\n"
     "  body {\n    for b_1 = 0 to B step 1 {\n      for m = 0 to M step 1 {\n        for n = 0 to N step 1 "
     "{\n"
     "          var s: float32 = float32(n)\n          for k = 0 to K step 1 {\n"
     "            s = (s + (float32(a[b_1, m, k]) * float32(b[n, k])))\n          }\n"
     "          c[b_1, m, n] = float16(max(s, 0.0:float32))\n        }\n      }\n    }\n  }\n}\n",
     4, "akg_group_float16_00(", false},
    {"halves of one dtype, the first one transposed",
     "kernel k {\n  input a: bfloat16[K, M]\n  input b: bfloat16[K, N]\n  output c: bfloat16[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: float32 = 0.0:float32\n        for k = 0 to K step 1 {\n"
     "          s = (s + (float32(a[k, m]) * float32(b[k, n])))\n        }\n"
     "        c[m, n] = bfloat16(s)\n      }\n    }\n  }\n}\n",
     3, "akg_group_bfloat16_11(", false},
    {"the least sums of integers",
     "kernel k {\n  input a: int32[M, K]\n  input b: int32[K, N]\n  output c: int32[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: int32 = 1000:int32\n        for k = 0 to K step 1 {\n"
     "          s = min(s, (a[m, k] + b[((K - 1) - k), n]))\n        }\n"
     "        c[m, n] = (s * int32(n))\n      }\n    }\n  }\n}\n",
     3, NULL, false},
    {"distances, with a weight",
     "kernel k {\n  input a: float32[M, K]\n  input b: float32[N, K]\n  input w: float32[K]\n"
     "  output c: float32[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: float32 = 0.5:float32\n        for k = (K - 1) to -1 step -1 {\n"
     "          let d: float32 = (a[m, k] - b[n, k])\n          s = (s + ((d * d) * w[k]))\n        }\n"
     "        c[m, n] = (s * 2.0:float32)\n      }\n    }\n  }\n}\n",
     3, NULL, false},
    {"convolution with padding",
     "kernel k {\n  input w: float32[F, C, 3]\n  input x: float32[C, N]\n  output y: float32[F, N]\n"
     "  body {\n    for f = 0 to F step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: float32 = 0.0:float32\n        for c = 0 to C step 1 {\n          for r = 0 to 3 step 1 "
     "{\n"
     "            let at: int64 = ((n + r) - 1)\n            if ((0 <= at) and (at < N)) {\n"
     "              s = (s + (x[c, at] * w[f, c, r]))\n            }\n          }\n        }\n"
     "        y[f, n] = s\n      }\n    }\n  }\n}\n",
     3, NULL, true},
    {"transposes",
     "kernel k {\n  input a: float32[B, M, N]\n  input w: float16[M, N]\n  output c: float32[N, B, M]\n"
     "  body {\n    for b = 0 to B step 1 {\n      for m = 0 to M step 1 {\n        let twice: int64 = (m + "
     "m)\n"
     "        for n = 0 to N step 1 {\n          let s: float32 = (a[b, m, n] + float32(twice))\n"
     "          c[n, b, m] = (s * float32(w[((M - 1) - m), n]))\n"
     "        }\n      }\n    }\n  }\n}\n",
     2, "brought1_[turn_] = w[", false},
    {"a transpose of halves",
     "kernel k {\n  input a: bfloat16[M, N]\n  output c: float32[N, M]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        c[n, m] = (float32(a[m, n]) + 1.0:float32)\n"
     "      }\n    }\n  }\n}\n",
     4, "square0_[16640]", false},
    {"what is stored is a factor",
     "kernel k {\n  input a: float32[M, K]\n  input b: float32[K, N]\n  inout c: float32[M, N]\n"
     "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
     "        var s: float32 = 0.0:float32\n        for k = 0 to K step 1 {\n"
     "          s = (s + (a[m, k] * (b[k, n] + c[m, n])))\n        }\n"
     "        c[m, n] = s\n      }\n    }\n  }\n}\n",
     1, NULL, false},
};

struct side {
    struct arena arena;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    struct jit_trap trap;
    void *data[BUFFERS];
    size_t bytes[BUFFERS];
    int64_t strides[BUFFERS][AKG_MAX_RANK];
};

/* ---- one side ---------------------------------------------------------------------------------- */

static bool side_make(struct side *side, const char *text, bool optimise)
{
    jmp_buf escape;

    memset(side, 0, sizeof *side);
    if (setjmp(escape))
        return false;
    side->kernel = emulate_read(&side->arena, &escape, text, optimise, &side->sites);
    if (side->kernel)
        side->kernel->arena->escape = NULL;
    return side->kernel != NULL;
}

static void side_free(struct side *side)
{
    for (int k = 0; k < BUFFERS; k++)
        free(side->data[k]);
    arena_free(&side->arena);
}

static double element(const void *data, akg_dtype dtype, size_t at)
{
    switch (dtype) {
    case AKG_INT32:
        return ((const int32_t *)data)[at];
    case AKG_FLOAT32:
        return ((const float *)data)[at];
    case AKG_FLOAT64:
        return ((const double *)data)[at];
    case AKG_FLOAT16:
        return half_to_float(((const uint16_t *)data)[at]);
    default:
        return bfloat_to_float(((const uint16_t *)data)[at]);
    }
}

static void set_element(void *data, akg_dtype dtype, size_t at, double value)
{
    switch (dtype) {
    case AKG_INT32:
        ((int32_t *)data)[at] = (int32_t)(value * 16);
        break;
    case AKG_FLOAT32:
        ((float *)data)[at] = (float)value;
        break;
    case AKG_FLOAT64:
        ((double *)data)[at] = value;
        break;
    case AKG_FLOAT16:
        ((uint16_t *)data)[at] = half_from_float((float)value);
        break;
    default:
        ((uint16_t *)data)[at] = bfloat_from_float((float)value);
    }
}

/* Numbers that halves hold, too; or, of float32, such as even tf32 does not. */
static bool fine;

static void side_fill(struct side *side, const struct jit_frame *frame)
{
    for (int k = 0; k < side->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = side->kernel->buffers.items[k];
        size_t count = 1;
        for (int axis = buffer->rank - 1; axis >= 0; axis--) {
            union dtype_value extent;
            side->strides[k][axis] = (int64_t)count;
            CHECK(scalar_evaluate(buffer->shape[axis], frame->dims, frame->scalars, &extent));
            count *= (size_t)extent.i;
        }
        free(side->data[k]);
        side->bytes[k] = count * (size_t)dtype_table[buffer->dtype].size;
        side->data[k] = calloc(1, side->bytes[k] + 1);
        for (size_t at = 0; at < count && side->data[k]; at++)
            set_element(side->data[k], buffer->dtype, at,
                        (double)((int)((at * 7 + 3 * (size_t)k) % 23) - 11) / (fine ? 16.003 : 16));
    }
}

static bool side_run(struct side *side, struct emulation *emulation, const int64_t *dims)
{
    struct emulate_buffer buffers[BUFFERS];
    const int64_t *strides[BUFFERS];
    union jit_scalar scalars[1];
    struct jit_frame frame = {
        .data = side->data, .strides = strides, .scalars = scalars, .trap = &side->trap};
    char reason[EMULATE_REASON];
    int stopped = 0;

    frame.dims = (int64_t *)dims;
    for (int k = 0; k < BUFFERS; k++)
        strides[k] = side->strides[k];
    side_fill(side, &frame);
    if (!emulation)
        return interpreter_run(side->kernel, &frame) == 0;
    for (int k = 0; k < side->kernel->buffers.count; k++)
        buffers[k] = (struct emulate_buffer){side->data[k], side->bytes[k], 0};
    if (emulate_run(emulation, &frame, buffers, &stopped, reason))
        return stopped == 0;
    fprintf(stderr, "%s\n", reason);
    return false;
}

/* ---- both -------------------------------------------------------------------------------------------- */

/* Halves that are rounded once, rather than with each addition, differ by that. */
static bool is_near(const struct ir_buffer *buffer, double x, double y)
{
    double bound = dtype_is_half(buffer->dtype) || fine ? 0.05 : buffer->dtype == AKG_FLOAT64 ? 1e-13 : 1e-5;
    if (!dtype_is_float(buffer->dtype))
        return x == y;
    return fabs(x - y) <= bound * fmax(1, fmax(fabs(x), fabs(y)));
}

static bool is_same(const struct side *a, const struct side *b)
{
    for (int k = 0; k < a->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = a->kernel->buffers.items[k];
        size_t count = a->bytes[k] / (size_t)dtype_table[buffer->dtype].size;
        for (size_t at = 0; at < count; at++) {
            double x = element(a->data[k], buffer->dtype, at), y = element(b->data[k], buffer->dtype, at);
            if (!is_near(buffer, x, y)) {
                fprintf(stderr, "%s[%zu] is %g, and %g\n", buffer->name, at, x, y);
                return false;
            }
        }
    }
    return true;
}

/* Extents around those of tiles and stages; multiples of four, and not; some that are enough for wide tiles.
 */
static const int64_t extents[][3] = {{1, 1, 1},     {3, 0, 5},      {64, 16, 64},  {70, 36, 132},
                                     {129, 17, 66}, {2, 20, 133},   {20, 300, 70}, {72, 328, 264},
                                     {66, 0, 131},  {130, 70, 260}, {67, 331, 133}};
enum { ANY_EXTENTS = 7, EXTENTS = sizeof extents / sizeof *extents };

static void spread_dims(const struct nest *nest, const int64_t *extent, int64_t *dims)
{
    int k = 0;
    if (strstr(nest->text, "[B, "))
        dims[k++] = 2;
    bool transposed = strstr(nest->text, "[K, M]") != NULL;
    dims[k++] = extent[transposed];
    dims[k++] = extent[!transposed];
    dims[k++] = extent[2];
}

/* Of extents each nest meets one in so many, others than the nest before it; of the ways to choose tiles it
 * meets all but in sanitized builds, which take ten times as long. */
#ifdef AKG_SANITIZED
enum { STEP = 7, WAYS = 3 };
#else
enum { STEP = 2, WAYS = 1 };
#endif

static bool tf32; /* may be used */

static void test_nest(const struct nest *nest, const struct cuda_tiles *tiles, bool deterministic)
{
    struct cuda_options options = {
        .tiles = tiles, .deterministic = deterministic, .tf32 = tf32, .squares = 2};
    struct side plain, other;
    struct emulation emulation;
    char reason[EMULATE_REASON] = "";

    bool made = CHECK(side_make(&plain, nest->text, false)) && CHECK(side_make(&other, nest->text, true)) &&
                CHECK(emulate_load(&emulation, other.kernel, &options, reason));
    if (!made) {
        fprintf(stderr, "%s: %s\n", nest->name, reason);
        return;
    }
    bool cores = strstr(emulation.program.text.data, "akg_group_begin(") != NULL;
    bool wide = tiles->wide == 1;
    static size_t turn;
    size_t first = wide ? ANY_EXTENTS - 4 : 0, end = wide && cores ? EXTENTS : ANY_EXTENTS;
    if (!deterministic) {
        bool splits = strstr(emulation.program.text.data, "akg_split[") != NULL; /* and joins */
        /* and, without tiles, by blocks that share the depths, or by squads */
        bool spreads = strstr(emulation.program.text.data, "akg_spread[") != NULL;
        bool squads = strstr(emulation.program.text.data, "akg_squads") != NULL;
        CHECK_INT(emulation.program.launches.count, nest->ways + 2 * splits + cores + 2 * spreads + squads);
        CHECK(splits || !nest->tf32);
        CHECK(!nest->holds || strstr(emulation.program.text.data, nest->holds));
    }
    for (size_t k = first + turn++ % STEP; k < end && check_failed == 0; k += STEP) {
        int64_t dims[DIMS];
        spread_dims(nest, extents[k], dims);
        shim_set_order((unsigned)k);
        bool good =
            side_run(&plain, NULL, dims) && side_run(&other, &emulation, dims) && is_same(&plain, &other);
        if (!CHECK(good))
            fprintf(stderr, "%s, case %zu\n%s\n", nest->name, k, emulation.program.text.data);
    }
    emulate_free(&emulation);
    side_free(&plain);
    side_free(&other);
}

/* Products of float32 by tensor cores: exact where nothing is rounded. */
static void test_tf32(const struct nest *nest, const struct cuda_tiles *const *tiles, size_t first)
{
    struct nest rounded = *nest;
    rounded.holds = "akg_product_tf32(";
    if (!nest->tf32)
        return;
    tf32 = true;
    for (size_t way = first; way < 3; way += WAYS)
        test_nest(&rounded, tiles[way], false);
    test_nest(nest, tiles[0], true);
    fine = true;
    test_nest(&rounded, tiles[1], false);
    fine = tf32 = false;
}

int main(void)
{
    static const struct cuda_tiles small = {.few = 0, .shallow = 0, .many = 1 << 30, .wide = 1 << 30},
                                   large = {.few = 0, .shallow = 0, .many = 0, .wide = 1 << 30},
                                   split = {.few = 0,
                                            .shallow = 0,
                                            .many = 0,
                                            .alone = 1 << 30,
                                            .deep = 0,
                                            .wide = 1 << 30},
                                   wide = {.few = 0, .shallow = 0, .many = 0, .wide = 1},
                                   none = {.few = 1 << 30, .shallow = 0, .many = 0, .wide = 0};
    static const struct cuda_tiles *const tiles[] = {&small, &large, &split};
    if (!SHIM_RUNS) {
        printf("skipped: the thread sanitizer cannot follow the shim's fibres\n");
        return check_done();
    }
    for (size_t k = 0; k < sizeof nests / sizeof *nests && check_failed == 0; k++) {
        size_t first = k % WAYS;
        for (size_t way = first; way < 3; way += WAYS)
            test_nest(&nests[k], tiles[way], false);
        if (k < 2)
            test_nest(&nests[k], &none, false);
        if (strstr(nests[k].text, "float16"))
            test_nest(&nests[k], &wide, false);
        if (nests[k].holds && strstr(nests[k].holds, "akg_product_"))
            test_nest(&nests[k], &small, true);
        test_tf32(&nests[k], tiles, first);
    }
    return check_done();
}

/*
 * test_cuda.c: kernels as CUDA, executed on the CPU by the shim (tests/cuda/shim.h) and compared with the
 * interpreter: random ones, whose results over integers are the same bits whatever the order of sums, and
 * those of floats within a bound.
 *
 * Arguments: first seed and number of random kernels (default 1 and 120; fewer with sanitizers).
 */
#include "check.h"
#include "random_kernel.h"

#include "../cuda/emulate.h"
#include "../../jit/interpreter.h"
#include "../../jit/passes.h"
#include "../../jit/scalar.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { BUFFERS = 16, ELEMENTS = 40000, SHAPES = 10, SHORT_SHAPES = 7, LONGER_SHAPES = 7 };

#ifdef AKG_SANITIZED
enum { KERNELS = 15 };
#else
enum { KERNELS = 60 };
#endif

struct side {
    struct arena arena;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    struct jit_trap trap;
    int stopped;
    union {
        int32_t i[ELEMENTS];
        float f[ELEMENTS];
    } data[BUFFERS];
};

/* ---- the shim ------------------------------------------------------------------------------ */

static const char shim_unit[] = "struct akg_frame {\n"
                                "    int *data[1];\n"
                                "    long long dims[1];\n"
                                "};\n"
                                "\nAKG_LAUNCH(outside, 32)\n"
                                "{\n"
                                "    AKG_FRAME->data[0][threadIdx.x] = 1;\n"
                                "}\n"
                                "\nAKG_LAUNCH(apart, 32)\n"
                                "{\n"
                                "    if (threadIdx.x < AKG_FRAME->dims[0])\n"
                                "        __syncthreads();\n"
                                "}\n"
                                "\nAKG_LAUNCH(different, 32)\n"
                                "{\n"
                                "    if (threadIdx.x < AKG_FRAME->dims[0])\n"
                                "        __syncthreads();\n"
                                "    else\n"
                                "        __syncthreads();\n"
                                "}\n"
                                "\nAKG_LAUNCH(around, 32)\n"
                                "{\n"
                                "    __shared__ int values[64];\n"
                                "    values[threadIdx.x] = 3 * threadIdx.x + blockIdx.x;\n"
                                "    __syncthreads();\n"
                                "    AKG_FRAME->data[0][blockIdx.x * blockDim.x + threadIdx.x] =\n"
                                "        values[(threadIdx.x + 1) % blockDim.x];\n"
                                "}\n";

/* What it is there to find, it finds. */
static void test_shim(void)
{
    char reason[EMULATE_REASON] = "";
    struct shim_module *module = shim_load(shim_unit, reason, sizeof reason);
    int *data = shim_allocate((2 * 64 + 1) * sizeof *data);
    struct {
        int *data;
        int64_t dim;
    } words = {data, 40};
    void *parameters[] = {&words};

    CHECK(module && data);
    for (unsigned order = 0; order < 4 && module; order++) {
        shim_set_order(order);
        CHECK(shim_launch(module, shim_find(module, "around"), 2, 64, parameters, reason, sizeof reason));
        for (int k = 0; k < 2 * 64; k++)
            if (data[k] != 3 * ((k % 64 + 1) % 64) + k / 64)
                CHECK(!"a barrier did not hold");
        CHECK(!shim_launch(module, shim_find(module, "outside"), 1, 256, parameters, reason, sizeof reason));
        CHECK(strstr(reason, "no memory") != NULL);
        CHECK(!shim_launch(module, shim_find(module, "apart"), 1, 64, parameters, reason, sizeof reason));
        CHECK(strstr(reason, "which is through") != NULL);
        CHECK(!shim_launch(module, shim_find(module, "different"), 1, 64, parameters, reason, sizeof reason));
        CHECK(strstr(reason, "different things") != NULL);
    }
    shim_set_order(0);
    CHECK(shim_find(module, "absent") == -1);
    data[129] = 1; /* the padding up to a multiple of 16 bytes */
    CHECK(!shim_release(data));
    shim_unload(module);
}

/* ---- random kernels ------------------------------------------------------------------------------ */

static bool side_make(struct side *side, jmp_buf *escape, const struct text *text, bool optimise)
{
    side->kernel = emulate_read(&side->arena, escape, text->data, optimise, &side->sites);
    return side->kernel != NULL;
}

static bool is_integer(const struct ir_kernel *kernel)
{
    return kernel->buffers.items[0]->dtype == AKG_INT32;
}

/* Small numbers: floats then stay where a sum in another order is near. */
static void fill(struct side *side)
{
    for (int k = 0; k < side->kernel->buffers.count; k++)
        for (int at = 0; at < ELEMENTS; at++) {
            int value = (at * 7 + 3 * k) % 11 - 5;
            if (is_integer(side->kernel))
                side->data[k].i[at] = side->kernel->buffers.items[k]->role <= IR_INOUT ? value : -99;
            else
                side->data[k].f[at] =
                    side->kernel->buffers.items[k]->role <= IR_INOUT ? (float)value / 8 : -99;
        }
}

/* Elements of a buffer for the shape at hand; more than ELEMENTS are none. */
static int64_t elements_of(const struct ir_buffer *buffer, const struct jit_frame *frame)
{
    int64_t count = 1;
    for (int axis = 0; axis < buffer->rank; axis++) {
        union dtype_value extent;
        if (!scalar_evaluate(buffer->shape[axis], frame->dims, frame->scalars, &extent))
            return 0;
        count *= extent.i;
    }
    return count;
}

static bool side_run(struct side *side, struct emulation *emulation, int64_t m, int64_t n)
{
    void *data[BUFFERS];
    const int64_t *strides[BUFFERS];
    int64_t dims[] = {m, n, n}, own[BUFFERS][2];
    union jit_scalar scalars[] = {{.d = 0.75}};
    struct emulate_buffer buffers[BUFFERS];
    struct jit_frame frame = {
        .data = data, .dims = dims, .strides = strides, .scalars = scalars, .trap = &side->trap};
    char reason[EMULATE_REASON];

    fill(side);
    for (int k = 0; k < side->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = side->kernel->buffers.items[k];
        own[k][0] = buffer->rank == 2 ? n : 1;
        own[k][1] = 1;
        strides[k] = own[k];
        data[k] = side->data[k].i;
        buffers[k] =
            (struct emulate_buffer){data[k], (size_t)elements_of(buffer, &frame) * sizeof(int32_t), 0};
    }
    memset(&side->trap, 0, sizeof side->trap);
    if (!emulation) {
        side->stopped = interpreter_run(side->kernel, &frame);
        return true;
    }
    if (emulate_run(emulation, &frame, buffers, &side->stopped, reason))
        return true;
    fprintf(stderr, "M = %" PRId64 ", N = %" PRId64 ": %s\n", m, n, reason);
    return false;
}

/* The bound of floats is of these kernels: a few hundred terms of magnitudes that stand near each other. A
 * product in another order may overflow on the way. */
static bool same_element(const struct side *a, const struct side *b, int buffer, int at)
{
    if (is_integer(a->kernel))
        return a->data[buffer].i[at] == b->data[buffer].i[at];
    float x = a->data[buffer].f[at], y = b->data[buffer].f[at];
    return x == y || !isfinite(x) || !isfinite(y) ||
           fabsf(x - y) <= 1e-3f * fmaxf(1, fmaxf(fabsf(x), fabsf(y)));
}

static bool same_results(const struct side *a, const struct side *b, int64_t m, int64_t n)
{
    int64_t dims[] = {m, n, n};
    struct jit_frame frame = {.dims = dims};
    for (int k = 0; k < a->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = a->kernel->buffers.items[k];
        int64_t count = elements_of(buffer, &frame);
        for (int at = 0; at < count && buffer->role != IR_TEMPORARY; at++)
            if (!same_element(a, b, k, at)) {
                fprintf(stderr, "M = %" PRId64 ", N = %" PRId64 ": %s[%d]: %d (%g) and %d (%g)\n", m, n,
                        buffer->name, at, a->data[k].i[at], (double)a->data[k].f[at], b->data[k].i[at],
                        (double)b->data[k].f[at]);
                return false;
            }
    }
    return true;
}

struct counts {
    int shapes;         /* that are tried: the last ones have long rows */
    bool has_long_rows; /* those of rows that are longer yet are tried instead */
    int ran, stopped, launches, kernels;
};

static bool same_for_shapes(struct side *plain, struct side *other, struct emulation *emulation,
                            struct counts *counts)
{
    static const int64_t shapes[SHAPES][2] = {{0, 3},   {1, 1},   {3, 2},    {5, 72},   {8, 36},
                                              {300, 3}, {2, 600}, {1, 2600}, {1, 2601}, {1, 12293}};
    /* for each class of rows of which one word is kept, or two (jit/cuda_row.c), and beyond */
    static const int64_t longer[LONGER_SHAPES][2] = {{3, 4096},  {1, 4100},  {2, 8191}, {2, 16384},
                                                     {1, 16387}, {1, 32768}, {1, 40000}};
    const int64_t(*tried)[2] = counts->has_long_rows ? longer : shapes;

    counts->kernels++;
    for (int k = 0; k < (counts->has_long_rows ? LONGER_SHAPES : counts->shapes); k++) {
        int64_t m = tried[k][0], n = tried[k][1];
        if (!check_takes((size_t)(counts->kernels + k)))
            continue;
        shim_set_order((unsigned)k);
        side_run(plain, NULL, m, n);
        if (!side_run(other, emulation, m, n))
            return false;
        counts->stopped += plain->stopped;
        counts->ran += !plain->stopped;
        if (counts->shapes == SHAPES && !counts->has_long_rows && plain->stopped && other->stopped &&
            memcmp(plain->trap.loops, other->trap.loops, sizeof plain->trap.loops) != 0) {
            fprintf(stderr, "M = %" PRId64 ", N = %" PRId64 ": stopped in another iteration\n", m, n);
            return false;
        }
        if (plain->stopped != other->stopped || (!plain->stopped && !same_results(plain, other, m, n))) {
            fprintf(stderr, "M = %" PRId64 ", N = %" PRId64 ": stopped %d and %d\n", m, n, plain->stopped,
                    other->stopped);
            return false;
        }
    }
    return true;
}

/* Whether each launch begins by waiting for the one before. */
static bool all_wait(const char *text)
{
    static const char launch[] = "\nAKG_LAUNCH(akg_launch_", begin[] = "\n{\n    AKG_BEGIN;\n";
    for (const char *at = text; (at = strstr(at, launch)); at++) {
        const char *body = strstr(at, "\n{\n");
        if (!body || strncmp(body, begin, sizeof begin - 1) != 0)
            return false;
    }
    return strstr(text, launch) != NULL;
}

static bool test_text(const struct text *text, const struct cuda_options *options, const char *holds,
                      struct counts *counts)
{
    static struct side plain, other;
    struct emulation emulation;
    char reason[EMULATE_REASON] = "";
    jmp_buf escape;
    volatile bool good = false;

    if (setjmp(escape))
        return false;
    if (side_make(&plain, &escape, text, false) && side_make(&other, &escape, text, true)) {
        other.kernel->arena->escape = NULL;
        good = emulate_load(&emulation, other.kernel, options, reason);
        if (good) {
            counts->launches += emulation.program.launches.count;
            good = same_for_shapes(&plain, &other, &emulation, counts) &&
                   (!holds || strstr(emulation.program.text.data, holds)) &&
                   all_wait(emulation.program.text.data);
            if (!good)
                fprintf(stderr, "%s\n", emulation.program.text.data);
            emulate_free(&emulation);
        } else {
            fprintf(stderr, "%s\n", reason);
        }
        arena_free(&other.arena);
    }
    arena_free(&plain.arena);
    return good;
}

/* ---- what random kernels have not ------------------------------------------------------------------ */

struct mapping {
    const char *dtype;
    bool deterministic;
    const char *holds; /* a piece of the text: it became what it should */
    const char *body;
};

static const struct mapping mappings[] = {
    {"int32", false, "akg_atomic_add_int32(&y",
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\n"
     "y[(int64(z[j]) % 3)?] = (y[(int64(z[j]) % 3)?] + x[i, j])\n}\n}\n"},
    {"int32", true, "akg_atomic_sub_int32(&akg_counts[target_ - y], addend_)",
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\n"
     "y[(int64(z[j]) % 3)?] = (y[(int64(z[j]) % 3)?] - x[i, j])\n}\n}\n"},
    {"float32", false, "akg_atomic_max_float32(&y",
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\n"
     "y[(int64(z[j]) % 3)?] = max(y[(int64(z[j]) % 3)?], x[i, j])\n}\n}\n"},
    {"float32", false, "akg_atomic_add_float32(&y",
     "for j = 0 to N step 1 {\ny[(int64(z[j]) % 3)?] = (y[(int64(z[j]) % 3)?] + x[0?, j])\n}\n"},
    {"float32", true, "threadIdx.x == 0",
     "for j = 0 to N step 1 {\ny[(int64(z[j]) % 3)?] = (y[(int64(z[j]) % 3)?] + x[0?, j])\n}\n"},
    {"float32", false, "akg_parts", /* by threads */
     "var c: float32 = 0.5:float32\nvar d: float32 = 0.0:float32\n"
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\n"
     "c = (c + x[i, j])\nd = max(d, x[i, j])\n}\n}\ns[] = (c + d)\n"},
    {"float32", false, "akg_take_32(loaded0_[turn_], &x[j_first_])", /* several pieces under way */
     "var c: float32 = 0.5:float32\nvar d: float32 = 0.0:float32\n"
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\n"
     "c = (c + x[i, j])\nd = max(d, (x[i, j] * 0.5:float32))\n}\n}\ns[] = (c + d)\n"},
    {"float32", false, "akg_parts", /* by blocks */
     "var c: float32 = 0.5:float32\n"
     "for i = 0 to M step 1 {\nvar d: float32 = 0.0:float32\nfor j = 0 to N step 1 {\nd = (d + x[i, j])\n}\n"
     "c = (c + (d * d))\n}\ns[] = c\n"},
    {"float32", false, "akg_leave_32(&w[", /* four at a time, and a test for each */
     "for i = 0 to M step 1 {\nlet r: int64 = (i + 0)\nfor j = 0 to N step 1 {\n"
     "var v: float32 = 0.5:float32\nif (x[i, j] > 0.0:float32) {\nv = (v + z[j])\n}\n"
     "w[r, j] = select((z[j] > 0.0:float32), v, (float32(j) * z[j]))\n}\n}\n"},
    {"float32", false, "akg_take_32(loaded0_[turn_], &x[i * N + j_first_])", /* in rows, by blocks */
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nfor j = 0 to N step 1 {\n"
     "c = (c + x[i, j])\n}\nfor j1 = 0 to N step 1 {\nw[i, j1] = (x[i, j1] - c)\n}\n}\n"},
    {"float32", true, "c = c + akg_read(x[i * N + j]);", /* sums in an order that hangs on nothing else */
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nfor j = 0 to N step 1 {\n"
     "c = (c + x[i, j])\n}\nfor j1 = 0 to N step 1 {\nw[i, j1] = (x[i, j1] - c)\n}\n}\n"},
    {"float32", false, "akg_take_32(loaded0_, &z[j_first_])", /* and what is left of four */
     "for j = 0 to N step 1 {\ny[j] = (z[j] * 2.0:float32)\n}\n"},
    {"float32", false,
     "akg_take_32(&j_kept0_[slot_ * 4], &x[i * N + j_first_])", /* a row stays in registers */
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nfor j = 0 to N step 1 {\n"
     "c = max(c, x[i, j])\n}\nfor j1 = 0 to N step 1 {\nw[i, j1] = ((x[i, j1] - c) * z[j1])\n}\n}\n"},
    {"float32", false,
     "                        j_kept0_[slot_] = e;", /* and is stored when it is done with */
     "for i = 0 to M step 1 {\nvar c: float32 = -4.0:float32\nfor j = 0 to N step 1 {\n"
     "c = max(c, x[i, j])\n}\nvar d: float32 = 1.0:float32\nfor j1 = 0 to N step 1 {\n"
     "let e: float32 = (x[i, j1] - c)\nw[i, j1] = e\nd = (d + e)\n}\nfor j2 = 0 to N step 1 {\n"
     "w[i, j2] = (w[i, j2] * d)\n}\n}\n"},
    {"float32", false, "                        j_kept1_[slot_] = e;", /* beside what is still needed */
     "for i = 0 to M step 1 {\nvar c: float32 = -4.0:float32\nfor j = 0 to N step 1 {\n"
     "c = max(c, x[i, j])\n}\nvar d: float32 = 1.0:float32\nfor j1 = 0 to N step 1 {\n"
     "let e: float32 = (x[i, j1] - c)\nw[i, j1] = e\nd = (d + x[i, j1])\n}\nfor j2 = 0 to N step 1 {\n"
     "w[i, j2] = (w[i, j2] * d)\n}\n}\n"},
    {"float32", false,
     "w[i * N + j1] = j_kept0_[slot_] = e;", /* but not where something looks at it before */
     "for i = 0 to M step 1 {\nvar c: float32 = -4.0:float32\nfor j = 0 to N step 1 {\n"
     "c = max(c, x[i, j])\n}\nvar d: float32 = 1.0:float32\nfor j1 = 0 to N step 1 {\n"
     "let e: float32 = (x[i, j1] - c)\nw[i, j1] = e\nd = (d + e)\n}\nd = (d + w[i, 0])\n"
     "for j2 = 0 to N step 1 {\nw[i, j2] = (w[i, j2] * d)\n}\n}\n"},
    {"float32", true, "c = c + j_kept0_[slot_]", /* with sums in the same order */
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nfor j = 0 to N step 1 {\n"
     "c = (c + x[i, j])\n}\nfor j1 = 0 to N step 1 {\nw[i, j1] = (x[i, j1] - c)\n}\n}\n"},
    {"int32", false, "j_kept0_[4]", /* three of them: shorter rows */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nvar d: int32 = 0:int32\nfor j = 0 to N step 1 {\n"
     "c = (c + (x[i, j] * z[j]))\nw[i, j] = (x[i, j] - z[j])\n}\nfor j1 = 0 to N step 1 {\n"
     "d = max(d, (w[i, j1] + z[j1]))\nif (w[i, j1] < x[i, j1]) {\nc = (c + 1:int32)\n}\n}\n"
     "for j2 = 0 to N step 1 {\nw[i, j2] = ((w[i, j2] + d) - x[i, j2])\n}\nm[i] = (c + d)\n}\n"},
    {"float16", false, "akg_pair_mul_half(pair", /* halves two at a time, with a LET that is used twice */
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\nlet d: float16 = (x[i, j] - z[j])\n"
     "w[i, j] = ((d * d) + max(d, 1.0:float16))\n}\n}\n"},
    {"bfloat16", false, "akg_pair_of_bfloat(", /* in rows that are kept, with what is the same for all */
     "for i = 0 to M step 1 {\nvar c: bfloat16 = 0.0:bfloat16\nfor j = 0 to N step 1 {\n"
     "c = max(c, abs((x[i, j] * 2.0:bfloat16)))\n}\nfor j1 = 0 to N step 1 {\n"
     "w[i, j1] = (max((x[i, j1] - c), z[j1]) + neg(z[j1]))\n}\nm[i] = c\n}\n"},
    {"bfloat16", false, "one_kept0_", /* rows of a loop whose name looks like that of an iteration */
     "for i = 0 to M step 1 {\nvar c: bfloat16 = 0.0:bfloat16\nfor one = 0 to N step 1 {\n"
     "c = max(c, x[i, one])\n}\nfor j = 0 to N step 1 {\nw[i, j] = ((x[i, j] - c) * x[i, j])\n}\n}\n"},
    {"float16", false, "akg_pair_mul_half(", /* a scalar that a condition changes is not the same for all */
     "for i = 0 to M step 1 {\nvar c: float16 = 1.0:float16\nfor j = 0 to N step 1 {\nvar e: float16 = c\n"
     "if (x[i, j] > z[j]) {\ne = 2.0:float16\n}\nw[i, j] = ((x[i, j] * z[j]) + (e * x[i, j]))\n}\n}\n"},
    {"float16", false, "akg_pair_add_half(", /* what is stored over what was loaded */
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\nw[i, j] = (x[i, j] * x[i, j])\n}\n"
     "for j1 = 0 to N step 1 {\nw[i, j1] = ((w[i, j1] + 1.0:float16) - z[j1])\n"
     "m[i] = max(m[i], (w[i, j1] + 1.0:float16))\n}\n}\n"},
    {"float32", false, "w[i * N + j_first_], stored0_", /* what is stored is read again, and changed */
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nvar d: float32 = 0.0:float32\n"
     "for j = 0 to N step 1 {\nw[i, j] = (x[i, j] * z[j])\n}\nfor j1 = 0 to N step 1 {\n"
     "c = max(c, w[i, j1])\nw[i, j1] = (w[i, j1] + 1.0:float32)\n}\nfor j2 = 0 to N step 1 {\n"
     "d = max(d, w[i, j2])\n}\nm[i] = (c + d)\n}\n"},
    {"int32", false, "c + w[i * N + j1]", /* but not what another thread stores in between */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nfor j = 0 to N step 1 {\nw[i, j] = x[i, j]\n}\n"
     "w[i, 0?] = z[0?]\nfor j1 = 0 to N step 1 {\nc = (c + w[i, j1])\n}\nm[i] = c\n}\n"},
    {"float32", true, "const int later_ = other_ > c;", /* the first of the largest in a row */
     "for i = 0 to M step 1 {\nvar c: float32 = x[i, 0?]\nvar p: int64 = 0\nfor j = 1 to N step 1 {\n"
     "if (x[i, j] > c) {\nc = x[i, j]\np = j\n}\n}\nm[i] = float32(p)\n}\n"},
    {"int32", false, "const int later_ = c >= other_;", /* the last of the smallest, and what stands there */
     "for i = 0 to M step 1 {\nvar c: int32 = 2:int32\nvar d: int32 = 3:int32\nvar p: int64 = 7\n"
     "for j = 0 to N step 1 {\nlet v: int32 = (x[i, j] * z[j])\nif (c >= v) {\nd = (z[j] + v)\nc = v\n"
     "p = (j + i)\n}\n}\nm[i] = ((c + d) * int32(p))\n}\n"},
    {"float32", false, "akg_exchange_among_int64(c_place_", /* by squads; no numbers, and a counter */
     "for i = 0 to M step 1 {\nvar c: float32 = (x[i, 0?] / z[0?])\nvar p: int32 = 5:int32\n"
     "var e: int32 = 0:int32\nfor j = 0 to N step 1 {\nlet v: float32 = (x[i, j] / z[j])\n"
     "if ((c == c) and not((v <= c))) {\nc = v\np = e\n}\ne = (e + 3:int32)\n}\n"
     "m[i] = float32((p + e))\n}\n"},
    {"float32", true, "akg_parts[2 + part_ * 2].i", /* of all elements, by the grid */
     "var c: float32 = 0.25:float32\nvar p: int64 = -1\nvar e: int64 = 2\nfor i = 0 to M step 1 {\n"
     "for j = 0 to N step 1 {\ne = (e + 1)\nif ((x[i, j] < c) or (x[i, j] != x[i, j])) {\nc = x[i, j]\n"
     "p = ((e * 10) + i)\n}\n}\n}\ns[] = (c + float32((p + e)))\n"},
    {"int32", false, "z_ < (M - t2_) * N", /* only the edge is cleared */
     "for i = 1 to (M - 1) step 1 {\nfor j = 2 to N step 1 {\nw[i, (j - 1)] = (x[i, j] - x[(i - 1), (j - "
     "2)])\n"
     "}\n}\n"},
    {"int32", false, "z_ < M * N", /* not where a loop around may have no iterations */
     "for k = 2 to M step 1 {\nfor i = 0 to M step 1 {\nfor j = 0 to N step 1 {\nw[i, j] = (x[i, j] + "
     "1:int32)\n"
     "}\n}\n}\n"},
    {"int32", false, "akg_scan_add_int64(c_own_", /* sums of all before, by blocks */
     "for i = 0 to M step 1 {\nvar c: int32 = z[0?]\nfor j = 0 to N step 1 {\n"
     "w[i, j] = (c * 2:int32)\nlet v: int32 = (x[i, j] - z[j])\nc = (c - v)\nif (c > 0:int32) {\n"
     "w[i, j] = (c + v)\n}\n}\nm[i] = c\n}\n"},
    {"int32", true, "akg_scan_mul_int64(c_own_", /* several of them, backwards */
     "for i = 0 to M step 1 {\nvar c: int32 = 3:int32\nvar d: int32 = 0:int32\nvar e: int32 = 0:int32\n"
     "for j = (N - 1) to -1 step -1 {\nc = (c * (x[i, j] + 1:int32))\ne = (e + x[i, j])\n"
     "w[i, j] = (c + d)\nd = max(x[i, j], d)\n}\nm[i] = ((c + d) + e)\n}\n"},
    {"float32", true, "akg_scan_max_float32(c_own_",
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nvar d: float32 = 1.0:float32\n"
     "for j = 0 to N step 1 {\nc = max(c, x[i, j])\nw[i, j] = (x[i, j] - c)\nd = min(d, x[i, j])\n}\n"
     "m[i] = (c + d)\n}\n"},
    {"float32", false, "akg_scan_add_float32(c_own_", /* of one row, by a block */
     "var c: float32 = 0.5:float32\nfor j = 0 to N step 1 {\nc = (c + z[j])\ny[j] = c\n}\ns[] = c\n"},
    {"int32", false, "akg_turns_add_int64(c_own_, c_before_)", /* in tiles, by the grid */
     "var c: int32 = 3:int32\nvar d: int32 = 1:int32\nfor j = 0 to N step 1 {\nc = (c + z[j])\ny[j] = c\n}\n"
     "for i = 0 to M step 1 {\nfor j1 = 0 to N step 1 {\nd = (d + x[i, j1])\n}\n}\ns[] = (d * 2:int32)\n"},
    {"float32", true, "akg_turns_scaled_float64(c_own_, c_before_)", /* pieces that are cut, and a factor */
     "var c: float32 = 1.0:float32\nfor j = 3 to (N - 1) step 1 {\n"
     "c = select((z[j] > 0.5:float32), z[(j - 1)], ((c * 0.5:float32) + z[(j + 1)]))\ny[j] = (c * "
     "z[j])\n}\n"},
    {"int32", false, "c_part_ = akg_turns_max_int64(c_own_, c_before_);", /* two, and then they are needed */
     "var c: int32 = -3:int32\nvar d: int32 = (int32(N) + 2:int32)\nfor j = 0 to N step 1 {\nc = max(c, "
     "z[j])\n"
     "d = (d - (z[j] * c))\ny[j] = (c + z[j])\n}\ns[] = (c + 1:int32)\n"},
    {"int32", false, "akg_scan_scaled_uint64(c_own_", /* what is scaled on the way */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nfor j = 0 to N step 1 {\n"
     "c = ((c * 3:int32) + x[i, j])\nw[i, j] = c\n}\n}\n"},
    {"float32", true, "akg_scan_scaled_float64(c_own_", /* under conditions, and anew */
     "for i = 0 to M step 1 {\nvar c: float32 = 1.0:float32\nvar d: float32 = 0.0:float32\n"
     "for j = 0 to N step 1 {\nlet v: float32 = (x[i, j] * 0.5:float32)\nif (v > z[j]) {\n"
     "c = (v - (c * z[j]))\nif (v > 0.5:float32) {\nc = (c + v)\n}\n} else {\nw[i, j] = c\n}\n"
     "d = select((z[j] < 0.0:float32), 0.0:float32, (d + 1.0:float32))\nw[i, j] = (w[i, j] + (c * d))\n}\n"
     "m[i] = (c + d)\n}\n"},
    {"int32", false,
     "c = (int)((unsigned int)c * ((unsigned int)akg_read(z[j]) - c))", /* of itself: no scan */
     "for i = 0 to M step 1 {\nvar c: int32 = x[i, 0?]\nfor j = 0 to N step 1 {\n"
     "c = (c * (z[j] - c))\n}\nm[i] = c\n}\n"},
    {"int32", false, "akg_scan_max_int64(y_1_own_", /* through elements, backwards */
     "for j = (N - 2) to -1 step -1 {\ny[j] = max(y[(j + 1)], z[j])\n}\n"},
    {"int32", false, "akg_scan_scaled_uint64(w_1_own_",
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\nif (j == 0) {\nw[i, j] = x[i, j]\n} else {\n"
     "w[i, j] = (w[i, (j - 1)] + x[i, j])\n}\n}\n}\n"},
    {"int32", false, "= frame->rounds[0];", /* a kernel for each time step, which hands scalars to the next */
     "var c: int32 = 1:int32\nfor i = (M - 1) to -1 step -1 {\nlet d: int32 = (s[] + c)\n"
     "for j = 0 to N step 1 {\ny[j] = ((y[j] + x[i, j]) + d)\n}\nvar e: int32 = 0:int32\n"
     "for j1 = 0 to N step 1 {\ne = (e + y[j1])\n}\nc = (c + e)\nm[i] = e\ns[] = (s[] + e)\n}\ns[] = (s[] - "
     "c)\n"},
    {"float32", false, "akg_launch_5, 256)", /* rows by blocks, or by threads where they are short */
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nfor j = 0 to N step 1 {\n"
     "c = (c + x[i, j])\n}\nm[i] = c\n}\n"},
    {"int32", false, "+ blockIdx.x * (", /* a temporary for each block */
     "for i = 0 to M step 1 {\nallocate t\nvar d: int32 = 0:int32\n"
     "for j = 0 to N step 1 {\nt[j] = (x[i, j] * 3:int32)\n}\n"
     "for j1 = 0 to N step 1 {\nd = (d + t[((N - 1) - j1)])\n}\nm[i] = d\n}\n"},
    {"int32", false, "int f[4];", /* for each thread */
     "for i = 0 to M step 1 {\nallocate f\nfor j = 0 to 4 step 1 {\nf[j] = (int32(i) * int32(j))\n}\n"
     "m[i] = (f[3] - f[1])\n}\n"},
    {"float32", false, "akg_read(loaded0_at_[-1])", /* neighbours, in pieces that are cut at both ends */
     "for i = 1 to (M - 1) step 1 {\nfor j = 1 to (N - 1) step 1 {\n"
     "w[i, j] = ((x[i, j] + (x[(i - 1), j] * x[i, (j - 1)])) - (x[i, (j + 1)] + z[(j + 1)]))\n}\n}\n"},
    {"int32", false, "akg_leave_words((unsigned int *)&y[j_first_ + 3]", /* pieces by what is stored */
     "for j = 1 to (N - 9) step 1 {\ny[(j + 3)] = ((z[(j + 2)] + z[(j + 9)]) * z[(j + 3)])\n}\n"},
    {"int32", false, "(M + 0 - 0ll) % 4 == 0", /* by what only the call knows */
     "for j = 0 to (N - M) step 1 {\ny[(M + j)] = (z[j] + 1:int32)\n}\n"},
    {"int32", false, "(M + 0 - 0ll) % 4 == 0",
     "for j = 1 to (N - M) step 1 {\ny[j] = (z[(M + j)] - z[((M + j) - 1)])\n}\n"},
    {"int32", false, "stop_.loops[1] = j_first_;", /* rows that are looked up */
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\n"
     "w[i, j] = (x[(int64(z[(i % 3)?]) % 2)?, j] + x[i, j])\n}\n}\n"},
    {"int32", false, "akg_leave_words((unsigned int *)&w[j_first_]", /* as tensors lie, whatever their rows */
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\n"
     "var v: int32 = 3:int32\nif (x[i, j] > 0:int32) {\nv = (v + x[i, j])\n}\nw[i, j] = v\n}\n}\n"},
    {"int32", false, "ahead1_[turn_] = akg_read(z[t1_]);", /* elements that are looked up, four at a time */
     "for j = 0 to N step 1 {\ny[((N - 1) - j)] = (z[(int64(z[j]) + 4)?] + 1:int32)\n}\n"},
    {"int32", false, "number_ = i_from_ + turn_ * (", /* what comes first is told, whatever stops */
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\nvar v: int32 = 0:int32\nif (x[i, j] > 4:int32) {\n"
     "v = z[(int64(z[j]) - 9)?]\n}\nw[i, ((N - 1) - j)] = (v + z[(int64(x[i, j]) + 5)?])\n}\n}\n"},
    {"float32", true, "ahead0_[turn_] = akg_read(x[", /* backwards, and sums */
     "var c: float32 = 0.0:float32\nfor i = 0 to M step 1 {\nfor j = (N - 1) to -1 step -1 {\n"
     "c = (c + x[i, j])\n}\n}\ns[] = c\nfor i1 = 0 to M step 1 {\nfor j1 = (N - 1) to -1 step -1 {\n"
     "w[i1, j1] = select((x[i1, j1] > 0.0:float32), z[j1], z[((N - 1) - j1)])\n}\n}\n"},
    {"int32", false, "z_ < t2_ * (N - t4_)", /* zeroes what lies around, and no more */
     "for i = 1 to (M - 1) step 1 {\nfor j = 2 to (N - 3) step 1 {\nw[i, j] = (x[i, j] + z[(j - "
     "2)])\n}\n}\n"},
    {"int32", false, "z_ < (N - t2_)", /* in front, backwards */
     "for j = (N - 1) to 2 step -1 {\ny[j] = z[(j - 2)]\n}\nfor i = 0 to M step 1 {\nm[i] = z[0?]\n}\n"},
    {"int32", false, "z_ < N;", /* all, where it is read before it is written */
     "for j = 1 to (N - 1) step 1 {\ny[j] = ((y[j] + z[j]) + 2:int32)\n}\n"},
    {"int32", false, "__syncthreads();", /* in order, with what is inside shared */
     "for i = 1 to M step 1 {\nfor j = 0 to N step 1 {\nw[i, j] = (w[(i - 1), j] + x[i, ((N - 1) - "
     "j)])\n}\n}\n"},
};

/* Loops that several blocks share, however short they are, and rows that a few threads have. */
static const struct mapping spread[] = {
    {"float32", false, "akg_squad_add_float32(c, akg_lanes, akg_mates)",
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nfor j = 0 to N step 1 {\n"
     "c = (c + x[i, j])\n}\nfor j1 = 0 to N step 1 {\nw[i, j1] = (x[i, j1] - c)\n}\n}\n"},
    {"int32", true, "akg_handed[0][akg_squad].i", /* what one of them finds they all hear of */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nvar d: int32 = 0:int32\nfor j = 0 to N step 1 {\n"
     "w[i, j] = (x[i, j] * z[j])\n}\nfor k = 0 to 2 step 1 {\nd = ((d * d) + z[k?])\n"
     "w[i, k?] = (w[i, k?] + d)\n}\n"
     "for j1 = 0 to N step 1 {\nc = max(c, (w[i, j1] + d))\n}\nm[i] = (m[i] + c)\n}\n"},
    {"float32", true, "c_found_ = c;", /* the best of each column, and a maximum of what it leaves */
     "for j = 0 to N step 1 {\nvar c: float32 = z[j]\nvar p: int64 = 3\nvar e: int64 = 1\n"
     "for i = 0 to M step 1 {\nif (x[i, j] < c) {\nc = x[i, j]\np = ((e * 4) + i)\n}\ne = (e + 2)\n}\n"
     "let u: float32 = (c + float32((p - e)))\nvar d: float32 = -3.0:float32\nfor i1 = 0 to M step 1 {\n"
     "d = max(d, (x[i1, j] * u))\n}\ny[j] = (d + u)\n}\n"},
    {"int32", false, "c_found_ = c;", /* the last of the best of a long row */
     "for i = 0 to M step 1 {\nvar c: int32 = -9:int32\nvar p: int64 = -7\nfor j = 0 to N step 1 {\n"
     "let v: int32 = (x[i, j] + z[j])\nif (v >= c) {\np = j\nc = v\n}\n}\nm[i] = (c * int32(p))\n}\n"},
    {"float32", false, "akg_lanes_add_float32(c, lanes_)", /* columns, which blocks share */
     "for j = 0 to N step 1 {\nvar c: float32 = 0.5:float32\nfor i = 0 to M step 1 {\n"
     "c = (c + x[i, j])\n}\ny[j] = (c * 2.0:float32)\n}\n"},
    {"float32", true, "akg_lanes_max_float32(c, lanes_)", /* which only floats in another order forbid */
     "for j = 0 to N step 1 {\nvar c: float32 = z[j]\nfor i = 0 to M step 1 {\n"
     "c = max(c, x[i, j])\n}\ny[j] = c\n}\n"},
    {"float32", true,
     "AKG_LAUNCH(akg_launch_3", /* as sums do: the four that clear are all there is before it */
     "for j = 0 to N step 1 {\nvar c: float32 = z[j]\nfor i = 0 to M step 1 {\n"
     "c = (c + x[i, j])\n}\ny[j] = c\n}\n"},
    {"int32", false, "akg_lanes_add_int64(c, lanes_)", /* scalars go from loop to loop, and so do elements */
     "for j = 0 to N step 1 {\nvar c: int32 = z[j]\nlet v: int32 = (z[j] * 2:int32)\n"
     "var d: int32 = 3:int32\nvar e: int32 = z[j]\nfor i = 0 to M step 1 {\nc = (c + x[i, j])\n}\n"
     "let u: int32 = (c + v)\nif (u > 2:int32) {\nd = u\n}\ny[j] = (y[j] + d)\n"
     "for i1 = 0 to M step 1 {\nw[i1, j] = ((x[i1, j] * u) - d)\ne = max(e, (w[i1, j] + v))\n}\n"
     "c = (c - e)\nfor i2 = 0 to M step 1 {\nw[i2, j] = (w[i2, j] + c)\n}\ny[j] = (y[j] - c)\n}\n"},
    {"int32", false, "const int lanes_ = 1;", /* long rows, which blocks share */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nfor j = 0 to N step 1 {\nc = (c + x[i, j])\n}\n"
     "for j1 = 0 to N step 1 {\nw[i, j1] = (x[i, j1] * (c + z[j1]))\n}\nm[i] = c\n}\n"},
    {"int32", false, "akg_spread[1 + (1 * splits_", /* two sums at a time, over two loops */
     "for j = 0 to N step 1 {\nvar c: int32 = 1:int32\nvar d: int32 = 0:int32\nfor i = 0 to M step 1 {\n"
     "for i1 = 0 to M step 1 {\nc = (c + (x[i, j] * x[i1, j]))\nd = max(d, (x[i, j] - x[i1, j]))\n}\n}\n"
     "y[j] = (c - d)\n}\n"},
    {"int16", false, "u_each_[one_]", /* eight columns a thread, with a scalar from the loop before */
     "for j = 0 to N step 1 {\nvar c: int16 = 0:int16\nfor i = 0 to M step 1 {\n"
     "c = (c + x[i, j])\n}\nlet u: int16 = (c * 3:int16)\nvar d: int16 = 0:int16\n"
     "for i1 = 0 to M step 1 {\nd = (d + ((x[i1, j] - u) * z[j]))\n}\ny[j] = (d + u)\n}\n"},
    {"float32", false, "akg_lanes_add_float32(c, lanes_)", /* between two loops, a value of each column */
     "for j = 0 to N step 1 {\nvar c: float32 = 0.0:float32\nfor i = 0 to M step 1 {\n"
     "let u: float32 = (x[i, j] * 0.5:float32)\nfor i1 = 0 to M step 1 {\nc = (c + (u * x[i1, j]))\n}\n}\n"
     "y[j] = c\n}\n"},
    {"int32", false, "akg_lanes_add_int64(c, lanes_)", /* a place of each column */
     "for j = 0 to N step 1 {\nvar c: int32 = 0:int32\nfor i = 0 to M step 1 {\n"
     "let r: int64 = min(i, j)\nfor i1 = 0 to M step 1 {\nc = (c + (x[r, j] * x[i1, j]))\n}\n}\n"
     "y[j] = c\n}\n"},
    {"int32", false, "akg_lanes_add_int64(d, lanes_)", /* a scalar of each column */
     "for j = 0 to N step 1 {\nvar c: int32 = 0:int32\nfor i = 0 to M step 1 {\nc = (c + x[i, j])\n}\n"
     "var d: int32 = 0:int32\nfor i1 = 0 to M step 1 {\nlet u: int32 = (c * int32(i1))\n"
     "for i2 = 0 to M step 1 {\nd = (d + (u * x[i2, j]))\n}\n}\ny[j] = d\n}\n"},
    {"float32", false, "c_found_ = c;", /* what is counted beside the best */
     "for j = 0 to N step 1 {\nvar c: float32 = z[j]\nvar p: int64 = 3\nvar e: int64 = 1\n"
     "for i = 0 to M step 1 {\nif (x[i, j] < c) {\nc = x[i, j]\np = i\n}\ne = (e + 2)\n}\n"
     "y[j] = (c + float32((p - e)))\n}\n"},
};

/* Each element takes as long as a row: of the shortest shapes only. */
static const struct mapping slow[] = {
    {"int32", false, "i_at_ = blockIdx.x; i_at_ < i_trips_ * j_trips_", /* of loops one in the other */
     "for i = 0 to M step 1 {\nfor j = 0 to N step 1 {\nallocate t\nvar d: int32 = 0:int32\n"
     "for j1 = 0 to N step 1 {\nt[j1] = (x[i, j1] + int32(j))\n}\n"
     "for j2 = 0 to N step 1 {\nd = (d + t[((N - 1) - j2)])\n}\nw[i, j] = d\n}\n}\n"},
};

/* Rows that all threads of a large block keep. */
static const struct mapping longer[] = {
    {"float32", false, ", 1024)", /* what is stored takes the place of what is loaded */
     "for i = 0 to M step 1 {\nvar c: float32 = 0.0:float32\nfor j = 0 to N step 1 {\n"
     "c = max(c, x[i, j])\n}\nvar d: float32 = 0.0:float32\nfor j1 = 0 to N step 1 {\n"
     "w[i, j1] = exp((x[i, j1] - c))\nd = (d + w[i, j1])\n}\nfor j2 = 0 to N step 1 {\n"
     "w[i, j2] = ((w[i, j2] / d) * 64.0:float32)\n}\nm[i] = (c + d)\n}\n"},
    {"int16", true, "akg_keep_half(j_kept", /* two elements in a word, which each have their own */
     "for i = 0 to M step 1 {\nvar c: int16 = 0:int16\nfor j = 0 to N step 1 {\n"
     "c = (c + (x[i, j] * z[j]))\n}\nfor j1 = 0 to N step 1 {\nw[i, j1] = ((x[i, j1] * 3:int16) - c)\n}\n"
     "m[i] = c\n}\n"},
    {"int32", true, "akg_block_add_int64(c, 32)", /* two tensors */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nfor j = 0 to N step 1 {\n"
     "c = (c + (x[i, j] * z[j]))\n}\nfor j1 = 0 to N step 1 {\nw[i, j1] = (x[i, j1] * (c - z[j1]))\n}\n"
     "m[i] = c\n}\n"},
    {"int32", false, "__shared__ long long d_place_parts_[32];", /* the best behind a sum and a maximum */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nfor j = 0 to N step 1 {\nc = (c + x[i, j])\n}\n"
     "var e: int32 = -9:int32\nfor j1 = 0 to N step 1 {\nw[i, j1] = ((x[i, j1] * c) + z[j1])\n"
     "e = max(e, w[i, j1])\n}\nvar d: int32 = -9:int32\nvar p: int64 = -7\nfor j2 = 0 to N step 1 {\n"
     "let v: int32 = (x[i, j2] - (z[j2] * e))\nif (v >= d) {\np = j2\nd = v\n}\n}\n"
     "m[i] = (d * int32(p))\n}\n"},
    {"int32", true, "akg_block_max_int64(c, 16)", /* what thread 0 finds they all hear of */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nvar d: int32 = 0:int32\nfor j = 0 to N step 1 {\n"
     "w[i, j] = (x[i, j] * z[j])\n}\nfor k = 0 to 2 step 1 {\nd = ((d * d) + z[k?])\n"
     "w[i, k?] = (w[i, k?] + d)\n}\n"
     "for j1 = 0 to N step 1 {\nc = max(c, (w[i, j1] + d))\n}\nfor j2 = 0 to N step 1 {\n"
     "w[i, j2] = (w[i, j2] - c)\n}\nm[i] = (m[i] + c)\n}\n"},
    {"int32", false, "akg_team_add_int64(c", /* with a scan, by as many threads as usual */
     "for i = 0 to M step 1 {\nvar c: int32 = 0:int32\nfor j = 0 to N step 1 {\nc = (c + x[i, j])\n}\n"
     "for j1 = 0 to N step 1 {\nw[i, j1] = (x[i, j1] * c)\n}\nfor j2 = 0 to N step 1 {\n"
     "c = (c + w[i, j2])\nw[i, j2] = c\n}\n}\n"},
};

static void test_mappings(const struct mapping *table, size_t count, int64_t spread_from,
                          struct counts *counts)
{
    for (size_t k = 0; k < count; k++) {
        struct cuda_options options = {
            .deterministic = table[k].deterministic, .spread = spread_from, .large = 1, .group = 2};
        const char *dtype = table[k].dtype;
        struct text text;
        text_init(&text);
        text_format(&text,
                    "kernel k {\n  attribute alpha: float64\n  input x: %s[M, N]\n  input z: %s[N2]\n"
                    "  output y: %s[N] clear\n  output w: %s[M, N] clear\n  output m: %s[M] clear\n"
                    "  output s: %s[] clear\n  temporary t: %s[N]\n  temporary f: %s[4]\n"
                    "  require assert (N == N2) \"same\"\n  body {\n%s}\n}\n",
                    dtype, dtype, dtype, dtype, dtype, dtype, dtype, dtype, table[k].body);
        if (!CHECK(test_text(&text, &options, table[k].holds, counts)))
            fprintf(stderr, "\nmapping %zu\n%s", k, text.data);
        text_free(&text);
    }
}

static void test_seed(uint64_t seed, struct counts *counts)
{
    static const akg_dtype dtypes[] = {AKG_INT32, AKG_FLOAT32};
    struct cuda_options options = {.deterministic = seed % 8 < 4,
                                   .spread = seed % 3 ? 1 : 0,
                                   .large = seed % 2 ? 1 : 0,
                                   .squares = seed % 2 ? 1 : 0,
                                   .group = 2};
    struct text text;

    text_init(&text);
    random_kernel(&text, seed, dtypes[seed % 4 == 0]);
    if (!CHECK(test_text(&text, &options, NULL, counts)))
        fprintf(stderr, "\nseed %" PRIu64 "\n%s", seed, text.data);
    text_free(&text);
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : KERNELS;
    struct counts counts = {.shapes = SHAPES};

    if (!SHIM_RUNS) {
        printf("skipped: the thread sanitizer cannot follow the shim's fibres\n");
        return check_done();
    }
    test_shim();
    test_mappings(mappings, sizeof mappings / sizeof *mappings, 0, &counts);
    test_mappings(spread, sizeof spread / sizeof *spread, 1, &counts);
    counts.has_long_rows = true;
    test_mappings(longer, sizeof longer / sizeof *longer, INT64_MAX, &counts);
    counts.has_long_rows = false;
    counts.shapes = SHORT_SHAPES;
    test_mappings(slow, sizeof slow / sizeof *slow, 0, &counts);
    for (int k = 0; k < count && check_failed == 0; k++)
        test_seed(first + (uint64_t)k, &counts);
    printf("%d runs, %d stopped, %d launches\n", counts.ran, counts.stopped, counts.launches);
    CHECK(counts.ran > counts.stopped / 4);
    CHECK(counts.launches > count);
    return check_done();
}

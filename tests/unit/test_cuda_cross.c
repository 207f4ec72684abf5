/*
 * test_cuda_cross.c: nests that load along one loop and store along another (jit/cuda_cross.h), executed on
 * the CPU by the shim (tests/cuda/shim.h) and compared with the interpreter: of each dtype, in squares of
 * each size, whole ones and such as are cut, in pieces of four where tensors lie well for that and element by
 * element where they do not. All are to be the same bits.
 */
#include "check.h"

#include "../cuda/emulate.h"
#include "../../jit/interpreter.h"
#include "../../jit/passes.h"
#include "../../jit/scalar.h"

#include <inttypes.h>
#include <stdlib.h>

enum { BUFFERS = 5, DIMS = 6, ROOM = 32 /* bytes in front of a tensor that does not lie well */ };

enum kind { ANY, NUMBERS }; /* of dtypes */

/* T stands for the dtype. Extents: M, N, B = 2, K = N + 8, L = M + 8. */
struct nest {
    const char *name, *text;
    enum kind kind;
    int brought; /* elements that an iteration brings crosswise */
    bool pieces; /* it may go in pieces of four */
};

static const struct nest nests[] = {
    {"a transpose",
     "input a: T[M, N]\n output c: T[N, M]\n body {\n for m = 0 to M step 1 {\n for n = 0 to N step 1 {\n"
     "c[n, m] = a[m, n]\n}\n}\n",
     ANY, 1, true},
    {"axes 0, 2, 1",
     "input a: T[B, M, N]\n output c: T[B, N, M]\n body {\n for b = 0 to B step 1 {\n for m = 0 to M step 1 "
     "{\n"
     "for n = 0 to N step 1 {\n c[b, n, m] = a[b, m, n]\n}\n}\n}\n",
     ANY, 1, true},
    {"axes 2, 0, 1",
     "input a: T[B, M, N]\n output c: T[N, B, M]\n body {\n for n = 0 to N step 1 {\n for b = 0 to B step 1 "
     "{\n"
     "for m = 0 to M step 1 {\n c[n, b, m] = a[b, m, n]\n}\n}\n}\n",
     ANY, 1, true},
    {"with what runs along the stores, and what is the same for a row",
     "input a: T[M, N]\n input z: T[N, M]\n input w: T[M]\n output c: T[N, M]\n body {\n"
     "for n = 0 to N step 1 {\n let s: T = w[0]\n for m = 0 to M step 1 {\n"
     "c[n, m] = (((a[m, n] * w[m]) + z[n, m]) - s)\n}\n}\n",
     NUMBERS, 1, true},
    {"two that cross",
     "input a: T[M, N]\n input z: T[L, K]\n output c: T[N, M]\n body {\n for m = 0 to M step 1 {\n"
     "for n = 0 to N step 1 {\n c[n, m] = (a[m, n] * z[((M - 1) - m), (n + 4)])\n}\n}\n",
     NUMBERS, 2, true},
    {"what is stored is loaded",
     "input a: T[M, N]\n inout c: T[N, M]\n body {\n for m = 0 to M step 1 {\n for n = 0 to N step 1 {\n"
     "c[n, m] = (c[n, m] + a[m, n])\n}\n}\n",
     NUMBERS, 1, true},
    {"values between the loops; loops that begin at four",
     "input a: T[M, N]\n input z: T[N, M]\n output c: T[N, M] clear\n body {\n for m = 4 to M step 1 {\n"
     "let twice: int64 = (m * 2)\n for n = 8 to N step 1 {\n"
     "c[n, m] = (a[m, n] + (T(twice) * z[n, 3]))\n}\n}\n",
     NUMBERS, 1, true},
    {"loops that begin at one",
     "input a: T[M, N]\n output c: T[N, M] clear\n body {\n for m = 1 to M step 1 {\n for n = 0 to N step 1 "
     "{\n"
     "c[n, m] = a[m, n]\n}\n}\n",
     ANY, 1, false},
    {"shifted by what the call says",
     "input a: T[M, K]\n input z: T[N, L]\n output c: T[N, L] clear\n body {\n for m = 0 to M step 1 {\n for "
     "n = 0 to N step 1 "
     "{\n"
     "c[n, (m + (L - M))] = a[m, (n + (K - N))]\n}\n}\n",
     ANY, 1, true},
    {"shifted by one",
     "input a: T[M, K]\n input z: T[N, M]\n output c: T[N, M]\n body {\n for m = 0 to M step 1 {\n for n = 0 "
     "to N step 1 {\n"
     "c[n, m] = a[m, (n + 1)]\n}\n}\n",
     ANY, 1, false},
    {"neighbours along the stores",
     "input a: T[M, N]\n input z: T[N, L]\n output c: T[N, M]\n body {\n for m = 0 to M step 1 {\n"
     "for n = 0 to N step 1 {\n c[n, m] = ((a[m, n] + z[n, m]) + z[n, (m + 1)])\n}\n}\n",
     NUMBERS, 1, true},
    {"two that are stored, and one under a condition",
     "input a: T[M, N]\n input z: T[N, L]\n output c: T[N, M]\n output d: int64[N, M]\n output e: T[N, L] "
     "clear\n body {\n"
     "for m = 0 to M step 1 {\n for n = 0 to N step 1 {\n let v: T = a[m, n]\n c[n, m] = (v + v)\n"
     "if (v > T(3)) {\n e[n, (m + 1)] = v\n}\n d[n, m] = (int64(v) + (n * m))\n}\n}\n",
     NUMBERS, 1, true},
    {"every other one",
     "input a: T[M, N]\n output c: T[N, M] clear\n body {\n for m = 0 to M step 1 {\n for n = 0 to N step 2 "
     "{\n"
     "c[n, m] = a[m, n]\n}\n}\n",
     ANY, 1, false},
    {"rows in the other order",
     "input a: T[M, N]\n output c: T[N, M]\n body {\n for m = (M - 1) to -1 step -1 {\n for n = 0 to N step "
     "1 {\n"
     "c[n, m] = a[((M - 1) - m), n]\n}\n}\n",
     ANY, 1, false},
    {"a diagonal",
     "input a: T[M, N]\n input z: T[L, K]\n output c: T[N, M]\n body {\n for n = 0 to N step 1 {\n"
     "let other: int64 = (n % 5)\n for m = 0 to M step 1 {\n c[n, m] = (a[m, n] + z[other, n])\n}\n}\n",
     NUMBERS, 1, true},
};

struct side {
    struct arena arena;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    struct jit_trap trap;
    unsigned char *memory[BUFFERS];
    size_t bytes[BUFFERS];
    int64_t strides[BUFFERS][AKG_MAX_RANK];
};

/* ---- one side ---------------------------------------------------------------------------------- */

/* The kernel with its dtype. */
static void write_kernel(struct text *text, const struct nest *nest, akg_dtype dtype)
{
    text_string(text, "kernel k {\n");
    for (const char *at = nest->text; *at; at++)
        if (*at == 'T')
            text_string(text, dtype_table[dtype].name);
        else
            text_char(text, *at);
    text_string(text, "}\n}\n");
}

static bool side_make(struct side *side, const struct text *text, bool optimise)
{
    jmp_buf escape;

    memset(side, 0, sizeof *side);
    if (setjmp(escape))
        return false;
    side->kernel = emulate_read(&side->arena, &escape, text->data, optimise, &side->sites);
    if (side->kernel)
        side->kernel->arena->escape = NULL;
    return side->kernel != NULL;
}

static void side_free(struct side *side)
{
    for (int k = 0; k < BUFFERS; k++)
        free(side->memory[k]);
    arena_free(&side->arena);
}

/* Small numbers that every dtype has. */
static void set_element(unsigned char *at, akg_dtype dtype, int value)
{
    float single = (float)value;
    double twice = value;
    int64_t whole = dtype == AKG_BOOL ? value % 2 : value;
    uint16_t half = dtype == AKG_FLOAT16 ? half_from_float(single) : bfloat_from_float(single);
    memcpy(at,
           dtype == AKG_FLOAT32    ? (void *)&single
           : dtype == AKG_FLOAT64  ? (void *)&twice
           : dtype_is_float(dtype) ? (void *)&half
                                   : (void *)&whole,
           (size_t)dtype_table[dtype].size);
}

static void side_fill(struct side *side, const struct jit_frame *frame)
{
    for (int k = 0; k < side->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = side->kernel->buffers.items[k];
        size_t count = 1, size = (size_t)dtype_table[buffer->dtype].size;
        for (int axis = buffer->rank - 1; axis >= 0; axis--) {
            union dtype_value extent;
            side->strides[k][axis] = (int64_t)count;
            CHECK(scalar_evaluate(buffer->shape[axis], frame->dims, frame->scalars, &extent));
            count *= (size_t)extent.i;
        }
        free(side->memory[k]);
        side->bytes[k] = ROOM + count * size;
        side->memory[k] = calloc(1, side->bytes[k] + 1);
        for (size_t at = 0; at < count && side->memory[k] && buffer->role <= IR_INOUT; at++)
            set_element(side->memory[k] + ROOM + at * size, buffer->dtype,
                        (int)((at * 7 + at / 29 + 3 * (size_t)k) % 11));
    }
}

/* `first` is how many elements behind a place that is good for all the tensor with that number begins. */
static bool side_run(struct side *side, struct emulation *emulation, const int64_t *dims, int moved,
                     int first)
{
    struct emulate_buffer buffers[BUFFERS];
    const int64_t *strides[BUFFERS];
    void *data[BUFFERS];
    union jit_scalar scalars[1];
    struct jit_frame frame = {.data = data, .strides = strides, .scalars = scalars, .trap = &side->trap};
    char reason[EMULATE_REASON];
    int stopped = 0;

    frame.dims = (int64_t *)dims;
    side_fill(side, &frame);
    for (int k = 0; k < side->kernel->buffers.count; k++) {
        size_t size = (size_t)dtype_table[side->kernel->buffers.items[k]->dtype].size;
        size_t behind = k == moved ? (size_t)first * size : 0;
        strides[k] = side->strides[k];
        data[k] = side->memory[k] + ROOM;
        /* the device's memory begins at a good place */
        buffers[k] =
            (struct emulate_buffer){side->memory[k] + ROOM - behind, side->bytes[k] - ROOM + behind, behind};
    }
    if (!emulation)
        return interpreter_run(side->kernel, &frame) == 0;
    if (emulate_run(emulation, &frame, buffers, &stopped, reason))
        return stopped == 0;
    fprintf(stderr, "%s\n", reason);
    return false;
}

/* ---- both -------------------------------------------------------------------------------------------- */

static bool is_same(const struct side *a, const struct side *b)
{
    for (int k = 0; k < a->kernel->buffers.count; k++)
        for (size_t at = ROOM; at < a->bytes[k]; at++)
            if (a->memory[k][at] != b->memory[k][at]) {
                size_t size = (size_t)dtype_table[a->kernel->buffers.items[k]->dtype].size;
                fprintf(stderr, "%s[%zu] differs\n", a->kernel->buffers.items[k]->name, (at - ROOM) / size);
                return false;
            }
    return true;
}

static void find_dims(const struct ir_kernel *kernel, int64_t m, int64_t n, int64_t *dims)
{
    for (int k = 0; k < kernel->dims.count; k++)
        switch (kernel->dims.items[k]->name[0]) {
        case 'B':
            dims[k] = 2;
            break;
        case 'M':
            dims[k] = m;
            break;
        case 'N':
            dims[k] = n;
            break;
        case 'K':
            dims[k] = n + 8;
            break;
        default:
            dims[k] = m + 8;
        }
}

/* Multiples of four and not, around squares of 32, 64 and 128. */
static const int64_t extents[][2] = {{20, 40},   {64, 64},   {68, 76},   {67, 72},  {128, 68},
                                     {132, 136}, {136, 258}, {132, 264}, {129, 131}};
#ifdef AKG_SANITIZED
enum { STEP = 7 };
#else
enum { STEP = 2 };
#endif

static void test_nest(const struct nest *nest, akg_dtype dtype, size_t from)
{
    struct cuda_options options = {.squares = 1};
    struct side plain, other;
    struct emulation emulation;
    struct text text;
    char reason[EMULATE_REASON] = "";

    text_init(&text);
    write_kernel(&text, nest, dtype);
    bool made = CHECK(side_make(&plain, &text, false)) && CHECK(side_make(&other, &text, true)) &&
                CHECK(emulate_load(&emulation, other.kernel, &options, reason));
    if (!made) {
        fprintf(stderr, "%s, %s: %s\n%s", nest->name, dtype_table[dtype].name, reason, text.data);
        text_free(&text);
        return;
    }
    bool large = nest->brought * dtype_table[dtype].size <= 4;
    if (!CHECK((strstr(emulation.program.text.data, "akg_turn_") != NULL) == (nest->pieces && large)))
        fprintf(stderr, "%s, %s\n%s", nest->name, dtype_table[dtype].name, emulation.program.text.data);
    for (size_t k = from % STEP; k < sizeof extents / sizeof *extents && check_failed == 0; k += STEP) {
        int64_t dims[DIMS];
        find_dims(plain.kernel, extents[k][0], extents[k][1], dims);
        for (int moved = -1; moved < 2 && check_failed == 0; moved++) {
            shim_set_order((unsigned)k);
            bool good = side_run(&plain, NULL, dims, -1, 0) &&
                        side_run(&other, &emulation, dims, moved, 1 + (int)k % 3) && is_same(&plain, &other);
            if (!CHECK(good))
                fprintf(stderr, "%s, %s, case %zu, %d moved\n%s\n%s\n", nest->name, dtype_table[dtype].name,
                        k, moved, text.data, emulation.program.text.data);
        }
    }
    emulate_free(&emulation);
    side_free(&plain);
    side_free(&other);
    text_free(&text);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT16, AKG_FLOAT32, AKG_UINT8,   AKG_BFLOAT16, AKG_INT8,
                                       AKG_INT16,   AKG_INT32,   AKG_FLOAT64, AKG_INT64,    AKG_BOOL};
    size_t count = sizeof dtypes / sizeof *dtypes;
    if (!SHIM_RUNS) {
        printf("skipped: the thread sanitizer cannot follow the shim's fibres\n");
        return check_done();
    }
    for (size_t k = 0; k < sizeof nests / sizeof *nests && check_failed == 0; k++)
        for (size_t d = 0; d < count && check_failed == 0; d++)
            if (nests[k].kind == ANY || dtypes[d] != AKG_BOOL)
                test_nest(&nests[k], dtypes[d], k + d);
    return check_done();
}

/*
 * test_vector_sums.c: sums that are not strict: within the bound that docs/architecture.md states, and the
 * same for AVX2 as for AVX-512, over 0 to 300 elements; and triangular systems, of which each element is
 * needed for the next one.
 */
#include "check.h"
#include "jit_pair.h"

/* acc + x * y over N elements, from 0.5, for one target. */
static bool dot_of(akg_dtype dtype, enum x86_target target, int64_t count, double *result, double *bound)
{
    const char *name = akg_dtype_name(dtype);
    struct jit_pair pair;
    struct text text;
    int status;
    text_init(&text);
    text_format(
        &text,
        "kernel k {\n input x: %s[N]\n input y: %s[N]\n output s: %s[1] clear\n parameters x, y\n"
        " results s\n body {\nvar acc: %s = 0.5:%s\nfor i = 0 to N step 1 {\nacc = (acc + (x[i] * y[i]))\n}\n"
        "s[0] = acc\n }\n}\n",
        name, name, name, name, name);
    pair_init(&pair);
    pair.vectors = (struct vector_options){.target = target};
    bool good = pair_read(&pair, text.data) && pair_compile(&pair, false) && pair.vector_loops == 1;
    pair.dims[0] = count;
    good = good && pair_allocate(&pair);
    long double exact = 0.5L, magnitude = 0.5L;
    uint64_t state = (uint64_t)count;
    for (int64_t k = 0; good && k < count; k++) {
        union dtype_value x = dtype_from_double(dtype, pair_draw(&state, 2000) / 1000.0 - 1);
        union dtype_value y = dtype_from_double(dtype, pair_draw(&state, 2000) / 1000.0 - 1);
        pair_set(&pair, 0, k, x);
        pair_set(&pair, 1, k, y);
        long double product = (long double)dtype_to_double(dtype, x) * dtype_to_double(dtype, y);
        exact += product;
        magnitude += product < 0 ? -product : product;
    }
    if (good) {
        void *data[] = {pair_data(&pair, 0, 0), pair_data(&pair, 0, 1), pair_data(&pair, 0, 2)};
        const int64_t *strides[] = {pair.strides[0], pair.strides[1], pair.strides[2]};
        struct jit_frame frame = {.data = data,
                                  .dims = pair.dims,
                                  .strides = strides,
                                  .scalars = pair.scalars,
                                  .trap = &pair.traps[0],
                                  .split = pair_split,
                                  .threads = 2};
        status = pair.code.entry(&frame);
        *result = dtype_to_double(dtype, dtype_load(dtype, data[2]));
        static const double units[AKG_DTYPE_COUNT] = {[AKG_FLOAT16] = 0x1p-10,
                                                      [AKG_BFLOAT16] = 0x1p-7,
                                                      [AKG_FLOAT32] = 0x1p-23,
                                                      [AKG_FLOAT64] = 0x1p-52};
        /* halves are accumulated in float: what counts is their products' rounding and the last one */
        double rounds = dtype_is_half(dtype) ? 2 : (double)count + 1;
        *bound = rounds * units[dtype] * (double)magnitude;
        double error = *result - (double)exact;
        good = status == 0 && CHECK(error <= *bound && -error <= *bound);
    }
    pair_free(&pair);
    text_free(&text);
    return good;
}

/* Within the bound that docs/architecture.md states, and the same for both targets. */
static void test_sums(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT16, AKG_BFLOAT16, AKG_FLOAT32, AKG_FLOAT64};
    for (int k = 0; k < 4; k++)
        for (int64_t count = 0; count <= 300; count += count < 70 ? 1 : 23) {
            double best, other, bound;
            bool half = dtype_is_half(dtypes[k]);
            if (!CHECK(dot_of(dtypes[k], x86_cpu_target(), count, &best, &bound)))
                return;
            if (!half && CHECK(dot_of(dtypes[k], X86_TARGET_AVX2, count, &other, &bound)))
                CHECK(best == other);
        }
}

enum { LARGEST_SYSTEM = 150 };

/* A triangular system for one target, each of whose elements is needed for the next one: the solution, which
 * is that of the interpreter but for rounding. */
static bool solve(enum x86_target target, int64_t count, float *solution)
{
    static const char text[] = "kernel k {\n input l: float32[N, N]\n input b: float32[N]\n"
                               " output x: float32[N]\n parameters l, b\n results x\n body {\n"
                               "for i = 0 to N step 1 {\nvar acc: float32 = b[i]\n"
                               "for k = 0 to i step 1 {\nacc = (acc - (l[i, k] * x[k]))\n}\n"
                               "x[i] = (acc / (l[i, i] + 9.0:float32)) @1:1\n}\n }\n}\n";
    uint64_t state = (uint64_t)count;
    struct jit_pair pair;
    pair_init(&pair);
    pair.vectors = (struct vector_options){.target = target};
    bool good = pair_read(&pair, text) && pair_compile(&pair, true) && CHECK(pair.bands == 1);
    pair.dims[0] = count;
    good = good && pair_allocate(&pair);
    for (int64_t k = 0; good && k < count * count; k++)
        pair_set(&pair, 0, k, dtype_from_double(AKG_FLOAT32, pair_draw(&state, 2000) / 8000.0 - 0.125));
    for (int64_t k = 0; good && k < count; k++)
        pair_set(&pair, 1, k, dtype_from_double(AKG_FLOAT32, pair_draw(&state, 2000) / 1000.0 - 1));
    good = good && CHECK(pair_run_side(&pair, 0) == 0 && pair_run_side(&pair, 1) == 0);
    const float *found = good ? pair_data(&pair, 0, 2) : NULL, *right = good ? pair_data(&pair, 1, 2) : NULL;
    for (int64_t k = 0; good && k < count; k++) {
        float error = found[k] - right[k];
        good = CHECK(error < 1e-5f && error > -1e-5f);
        solution[k] = found[k];
    }
    pair_free(&pair);
    return good;
}

/* Whole groups in vectors and the rest one by one: the same for both targets. */
static void test_system(void)
{
    static float best[LARGEST_SYSTEM], other[LARGEST_SYSTEM];
    for (int64_t count = 0; count <= LARGEST_SYSTEM; count += count < 70 ? 1 : 16)
        if (!CHECK(solve(x86_cpu_target(), count, best) && solve(X86_TARGET_AVX2, count, other)) ||
            !CHECK(memcmp(best, other, (size_t)count * sizeof *best) == 0))
            return;
}

int main(void)
{
    if (x86_cpu_target() == X86_TARGET_NONE) {
        printf("skipped: this processor has no vectors\n");
        return check_done();
    }
    test_sums();
    test_system();
    return check_done();
}

/*
 * test_tensor.c: tensors: their limits, views, copies and casts; the numbers that fill them; how they print;
 * DLPack.
 */
#include "check.h"

#include "../../base/memory.h"
#include "../../runtime/tensor.h"

#include <dlpack/dlpack.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static akg_tensor *make(akg_dtype dtype, int rank, const int64_t *shape)
{
    akg_tensor *tensor = NULL;
    CHECK_INT(akg_tensor_create(dtype, rank, shape, &tensor), AKG_OK);
    return tensor;
}

#define MAKE(dtype, ...)                                                                                     \
    make(dtype, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static void check_text(const akg_tensor *tensor, const char *expected)
{
    char *text = NULL;
    CHECK_INT(akg_tensor_format(tensor, &text), AKG_OK);
    CHECK_STRING(text, expected);
    akg_free(text);
}

/* The text of a one-element tensor set from `value`. */
static void check_element(akg_dtype dtype, double value, const char *expected)
{
    akg_tensor *tensor = make(dtype, 0, NULL);
    akg_tensor_set(tensor, NULL, value);
    check_text(tensor, expected);
    akg_tensor_release(tensor);
}

/* ---- making ------------------------------------------------------------------ */

static void test_create(void)
{
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
        for (int64_t n = 0; n < 70; n += 23) {
            akg_tensor *tensor = MAKE((akg_dtype)dtype, 2, n, 3);
            const unsigned char *bytes = akg_tensor_data(tensor);
            size_t size = (size_t)(6 * n) * akg_dtype_size((akg_dtype)dtype), sum = 0;
            CHECK((uintptr_t)bytes % 64 == 0);
            for (size_t i = 0; i < size; i++)
                sum += bytes[i];
            CHECK_INT(sum, 0);
            CHECK_INT(akg_tensor_element_count(tensor), 6 * n);
            CHECK_INT(akg_tensor_dtype(tensor), dtype);
            CHECK_INT(akg_tensor_rank(tensor), 3);
            CHECK_INT(akg_tensor_shape(tensor)[1], n);
            CHECK_INT(akg_tensor_strides(tensor)[0], n ? 3 * n : 3);
            CHECK_INT(akg_tensor_strides(tensor)[2], 1);
            CHECK(akg_tensor_is_contiguous(tensor));
            akg_tensor_release(tensor);
        }
    akg_tensor_release(NULL);
    CHECK(akg_tensor_retain(NULL) == NULL);
}

static void test_create_refuses(void)
{
    static const int64_t big = INT64_MAX, negative[] = {2, -1}, square[] = {1LL << 32, 1LL << 31};
    static const int64_t empty_but_big[] = {0, 1LL << 32, 1LL << 32};
    int64_t ones[AKG_MAX_RANK + 1];
    for (int i = 0; i <= AKG_MAX_RANK; i++)
        ones[i] = 1;
    akg_tensor *tensor = (akg_tensor *)1;
    CHECK_INT(akg_tensor_create(AKG_INT8, 2, negative, &tensor), AKG_ERROR_USAGE);
    CHECK(tensor == NULL);
    CHECK_INT(akg_tensor_create(AKG_INT16, 1, &big, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create(AKG_INT8, 2, square, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create(AKG_INT8, 3, empty_but_big, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create(AKG_INT8, -1, ones, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create(AKG_INT8, AKG_MAX_RANK + 1, ones, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create(AKG_DTYPE_COUNT, 1, ones, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create((akg_dtype)-1, 1, ones, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create(AKG_INT8, 1, NULL, &tensor), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create(AKG_INT8, 1, ones, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_create(AKG_INT8, AKG_MAX_RANK, ones, &tensor), AKG_OK);
    akg_tensor_release(tensor);
}

static void count_release(void *owner)
{
    ++*(int *)owner;
}

static void test_from_memory(void)
{
    float values[6] = {0, 1, 2, 3, 4, 5};
    const int64_t shape[] = {2, 3}, backwards[] = {-3, -1}, broadcast[] = {0, 1}, huge[] = {INT64_MAX, 1};
    int released = 0;
    akg_tensor *tensor = NULL;
    CHECK_INT(akg_tensor_from_memory(values, AKG_FLOAT32, 2, shape, NULL, count_release, &released, &tensor),
              AKG_OK);
    check_text(tensor, "[[0, 1, 2], [3, 4, 5]]");
    CHECK(akg_tensor_data(tensor) == values && akg_tensor_is_contiguous(tensor));
    akg_tensor_retain(tensor);
    akg_tensor_release(tensor);
    CHECK_INT(released, 0);
    akg_tensor_release(tensor);
    CHECK_INT(released, 1);
    CHECK_INT(akg_tensor_from_memory(values + 5, AKG_FLOAT32, 2, shape, backwards, NULL, NULL, &tensor),
              AKG_OK);
    check_text(tensor, "[[5, 4, 3], [2, 1, 0]]");
    CHECK(!akg_tensor_is_contiguous(tensor));
    akg_tensor_release(tensor);
    CHECK_INT(akg_tensor_from_memory(values, AKG_FLOAT32, 2, shape, broadcast, NULL, NULL, &tensor), AKG_OK);
    check_text(tensor, "[[0, 1, 2], [0, 1, 2]]");
    akg_tensor_release(tensor);
    CHECK_INT(akg_tensor_from_memory((char *)values + 2, AKG_FLOAT32, 2, shape, NULL, count_release,
                                     &released, &tensor),
              AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_from_memory(values, AKG_FLOAT32, 2, shape, huge, NULL, NULL, &tensor),
              AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_from_memory(NULL, AKG_FLOAT32, 2, shape, NULL, NULL, NULL, &tensor),
              AKG_ERROR_USAGE);
    CHECK_INT(
        akg_tensor_from_memory((void *)64, AKG_FLOAT32, 2, shape, (int64_t[]){-100, 1}, NULL, NULL, &tensor),
        AKG_ERROR_USAGE);
    CHECK_INT(akg_tensor_from_memory(NULL, AKG_FLOAT32, 1, (int64_t[]){0}, NULL, NULL, NULL, &tensor),
              AKG_OK);
    check_text(tensor, "[]");
    akg_tensor_release(tensor);
    CHECK_INT(released, 1);
}

static akg_status view(akg_tensor *base, int64_t rows, int64_t columns, int64_t row_stride, int64_t stride,
                       int64_t offset, akg_tensor **made)
{
    const int64_t shape[] = {rows, columns}, strides[] = {row_stride, stride};
    return akg_tensor_view(base, 2, shape, strides, offset, made);
}

static void test_view(void)
{
    akg_tensor *base = MAKE(AKG_INT32, 4, 5), *made = NULL, *inner = NULL;
    akg_tensor_fill_range(base, 0, 1);
    CHECK_INT(view(base, 2, 3, 10, 2, 5, &made), AKG_OK);
    check_text(made, "[[5, 7, 9], [15, 17, 19]]");
    CHECK_INT(view(base, 2, 3, 10, 2, 6, &inner), AKG_ERROR_USAGE);
    CHECK(inner == NULL);
    CHECK_INT(view(base, 2, 2, -5, 1, 4, &inner), AKG_ERROR_USAGE);
    CHECK_INT(view(base, 1, 1, 1, 1, -1, &inner), AKG_ERROR_USAGE);
    CHECK_INT(view(base, 1, 1, 1, 1, INT64_MAX, &inner), AKG_ERROR_USAGE);
    CHECK_INT(view(base, 3, 1, INT64_MAX / 2, 1, 0, &inner), AKG_ERROR_USAGE);
    /* a view of a view reaches back, but not out of what its base reaches */
    CHECK_INT(view(made, 2, 3, -10, -2, 14, &inner), AKG_OK);
    akg_tensor_release(base);
    akg_tensor_release(made);
    check_text(inner, "[[19, 17, 15], [9, 7, 5]]");
    CHECK_INT(view(inner, 1, 1, 1, 1, 1, &made), AKG_ERROR_USAGE);
    CHECK_INT(view(inner, 0, 7, 1, 1, 1000, &made), AKG_OK);
    CHECK_INT(akg_tensor_element_count(made), 0);
    CHECK(akg_tensor_is_contiguous(made));
    CHECK_INT(view(made, 1, 1, 1, 1, 0, &base), AKG_ERROR_USAGE);
    akg_tensor_release(inner);
    akg_tensor_release(made);
    CHECK_INT(akg_tensor_view(NULL, 0, NULL, NULL, 0, &made), AKG_ERROR_USAGE);
    /* an axis of one has no say in contiguity */
    base = MAKE(AKG_INT32, 4, 5);
    CHECK_INT(view(base, 1, 20, 999, 1, 0, &made), AKG_OK);
    CHECK(akg_tensor_is_contiguous(made));
    akg_tensor_release(base);
    akg_tensor_release(made);
}

static void *retain_and_release(void *argument)
{
    for (int i = 0; i < 20000; i++) {
        akg_tensor_retain(argument);
        akg_tensor_release(argument);
    }
    akg_tensor_release(argument);
    return NULL;
}

static void test_threads(void)
{
    int released = 0, value = 0;
    pthread_t threads[4];
    akg_tensor *tensor = NULL;
    CHECK_INT(akg_tensor_from_memory(&value, AKG_INT32, 0, NULL, NULL, count_release, &released, &tensor),
              AKG_OK);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, retain_and_release, akg_tensor_retain(tensor)) == 0);
    akg_tensor_release(tensor);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(released, 1);
}

/* ---- elements ------------------------------------------------------------------ */

static void test_get_set(void)
{
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        akg_tensor *tensor = MAKE((akg_dtype)dtype, 3, 4);
        akg_tensor_set(tensor, (int64_t[]){1, 2}, 1);
        CHECK(akg_tensor_get(tensor, (int64_t[]){1, 2}) == 1);
        CHECK(akg_tensor_get(tensor, (int64_t[]){1, 3}) == 0);
        CHECK(akg_tensor_get(tensor, (int64_t[]){0, 2}) == 0);
        akg_tensor_release(tensor);
    }
    akg_tensor *tensor = MAKE(AKG_INT8, 1);
    akg_tensor_set(tensor, (int64_t[]){0}, -1000);
    CHECK(akg_tensor_get(tensor, (int64_t[]){0}) == -128);
    akg_tensor_set(tensor, (int64_t[]){0}, 2.9);
    CHECK(akg_tensor_get(tensor, (int64_t[]){0}) == 2);
    akg_tensor_release(tensor);
}

/* Strided sources of each element size, copied and cast, against element-wise reading. */
static void test_copy_and_cast(void)
{
    for (int from = 0; from < AKG_DTYPE_COUNT; from++) {
        akg_tensor *base = MAKE((akg_dtype)from, 4, 6), *turned = NULL, *copy = NULL;
        const int64_t shape[] = {2, 3, 2}, strides[] = {2, 6, -1};
        akg_tensor_fill_range(base, 0, 3);
        CHECK_INT(akg_tensor_view(base, 3, shape, strides, 7, &turned), AKG_OK);
        for (int to = 0; to < AKG_DTYPE_COUNT; to++) {
            akg_status status =
                to == from ? akg_tensor_copy(turned, &copy) : akg_tensor_cast(turned, (akg_dtype)to, &copy);
            CHECK_INT(status, AKG_OK);
            CHECK(akg_tensor_is_contiguous(copy) && akg_tensor_dtype(copy) == (akg_dtype)to);
            for (int64_t i = 0; i < 12; i++) {
                const int64_t index[] = {i / 6, i / 2 % 3, i % 2};
                double expected = akg_tensor_get(turned, index);
                CHECK(akg_tensor_get(copy, index) == (to == AKG_BOOL ? expected != 0 : expected));
            }
            akg_tensor_release(copy);
        }
        akg_tensor_release(turned);
        akg_tensor_release(base);
    }
    akg_tensor *scalar = make(AKG_FLOAT64, 0, NULL), *copy = NULL;
    akg_tensor_fill(scalar, -1e300);
    CHECK_INT(akg_tensor_cast(scalar, AKG_INT64, &copy), AKG_OK);
    check_text(copy, "-9223372036854775808");
    akg_tensor_release(copy);
    CHECK_INT(akg_tensor_cast(scalar, AKG_DTYPE_COUNT, &copy), AKG_ERROR_USAGE);
    CHECK(copy == NULL);
    CHECK_INT(akg_tensor_copy(NULL, &copy), AKG_ERROR_USAGE);
    akg_tensor_release(scalar);
}

static void test_fill_strided(void)
{
    akg_tensor *base = MAKE(AKG_FLOAT16, 3, 4), *column = NULL;
    const int64_t shape[] = {3, 1}, strides[] = {4, 1};
    CHECK_INT(akg_tensor_view(base, 2, shape, strides, 2, &column), AKG_OK);
    akg_tensor_fill(column, 0.1);
    check_text(base, "[[0, 0, 0.1, 0], [0, 0, 0.1, 0], [0, 0, 0.1, 0]]");
    akg_tensor_fill_range(column, 5, -2);
    check_text(base, "[[0, 0, 5, 0], [0, 0, 3, 0], [0, 0, 1, 0]]");
    akg_tensor_release(column);
    akg_tensor_release(base);
}

/* ---- random numbers -------------------------------------------------------------- */

static double at(const akg_tensor *tensor, int64_t i)
{
    return akg_tensor_get(tensor, &i);
}

/* The first words of Philox 4x32-10 under key 0 are published with it: e169c58d6627e8d5, 9b00dbd8bc57ac4c.
 * The others were computed by a program in Python. */
static void test_uniform_values(void)
{
    akg_tensor *wide = MAKE(AKG_FLOAT64, 4), *tensor;
    akg_tensor_fill_uniform(wide, 0);
    CHECK(at(wide, 0) == (double)(0xe169c58d6627e8d5 >> 11) * 0x1p-53);
    CHECK(at(wide, 1) == (double)(0x9b00dbd8bc57ac4c >> 11) * 0x1p-53);
    tensor = MAKE(AKG_FLOAT32, 4);
    akg_tensor_fill_uniform(tensor, 0);
    CHECK(at(tensor, 0) == (double)(0xe169c5) * 0x1p-24);
    akg_tensor_release(tensor);
    akg_tensor_release(wide);
    tensor = MAKE(AKG_INT64, 8);
    akg_tensor_fill_uniform(tensor, 3);
    check_text(tensor, "[-8, 5, 1, 2, 5, -3, -7, 5]");
    akg_tensor_fill_normal(tensor, 3);
    check_text(tensor, "[-8, 5, 1, 2, 5, -3, -7, 5]");
    akg_tensor_release(tensor);
    tensor = MAKE(AKG_UINT8, 8);
    akg_tensor_fill_uniform(tensor, 3);
    check_text(tensor, "[1, 7, 5, 6, 7, 3, 1, 7]");
    akg_tensor_release(tensor);
    tensor = MAKE(AKG_BOOL, 8);
    akg_tensor_fill_uniform(tensor, 3);
    check_text(tensor, "[False, True, True, True, True, False, False, True]");
    akg_tensor_release(tensor);
}

/* All there are, about as often; the ends of 64 bits; nothing where there are none. */
static void test_integers(void)
{
    enum { COUNT = 7000, DIFFERENT = 7 };
    akg_tensor *tensor = MAKE(AKG_INT16, COUNT);
    int seen[DIFFERENT] = {0};
    akg_tensor_fill_integers(tensor, -3, 4, 5);
    for (int64_t i = 0; i < COUNT; i++) {
        double value = at(tensor, i);
        CHECK(value >= -3 && value <= 3);
        seen[(int)value + 3]++;
    }
    for (int k = 0; k < DIFFERENT; k++)
        CHECK(seen[k] > 850 && seen[k] < 1150);
    akg_tensor_fill_integers(tensor, 9, 10, 5);
    akg_tensor_fill_integers(tensor, 4, 4, 5);
    CHECK(at(tensor, 0) == 9 && at(tensor, COUNT - 1) == 9);
    akg_tensor_release(tensor);

    tensor = MAKE(AKG_INT64, COUNT);
    int negative = 0;
    akg_tensor_fill_integers(tensor, INT64_MIN, INT64_MAX, 5);
    for (int64_t i = 0; i < COUNT; i++)
        negative += at(tensor, i) < 0;
    CHECK(negative > COUNT * 0.45 && negative < COUNT * 0.55);
    akg_tensor_release(tensor);
}

/* Within the last bits of what the C library's logarithm gives in Python, and bit for bit as on other
 * machines. */
static void test_normal_values(void)
{
    static const double expected[] = {0x1.7dc9c9290fce3p-3,  -0x1.3c307abd20a50p-2, 0x1.e72597d3e56eep-1,
                                      -0x1.aa22bfa197526p-2, 0x1.bc8950b425d91p-1,  0x1.3d693f7f9ffb9p+0};
    static const double exact[] = {0x1.7dc9c9290fce3p-3,  -0x1.3c307abd20a5p-2, 0x1.e72597d3e56efp-1,
                                   -0x1.aa22bfa197528p-2, 0x1.bc8950b425d91p-1, 0x1.3d693f7f9ffb9p+0};
    akg_tensor *tensor = MAKE(AKG_FLOAT64, 6);
    akg_tensor_fill_normal(tensor, 7);
    for (int64_t i = 0; i < 6; i++) {
        CHECK(fabs(at(tensor, i) - expected[i]) <= 4e-16 * fabs(expected[i]));
        CHECK(at(tensor, i) == exact[i]);
    }
    akg_tensor_release(tensor);
}

/* Range and the first moments; a sample of this size lies within these bounds all but surely, and is always
 * the same. */
static void test_distributions(void)
{
    enum { COUNT = 20000 };
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        akg_tensor *tensor = MAKE((akg_dtype)dtype, COUNT);
        double low = INFINITY, high = -INFINITY, sum = 0;
        akg_tensor_fill_uniform(tensor, 11);
        for (int64_t i = 0; i < COUNT; i++) {
            double value = at(tensor, i);
            low = value < low ? value : low;
            high = value > high ? value : high;
            sum += value;
        }
        if (dtype >= AKG_FLOAT16) {
            CHECK(low >= 0 && low < 0.01 && high < 1 && high > 0.99);
            CHECK(fabs(sum / COUNT - 0.5) < 0.01);
        } else {
            double first = dtype == AKG_BOOL || dtype >= AKG_UINT8 ? 0 : -10,
                   last = dtype == AKG_BOOL ? 1 : 9;
            CHECK(low == first && high == last);
            CHECK(fabs(sum / COUNT - (first + last) / 2) < 0.2);
        }
        akg_tensor_release(tensor);
    }
    akg_tensor *tensor = MAKE(AKG_FLOAT32, COUNT);
    double sum = 0, square = 0, fourth = 0;
    akg_tensor_fill_normal(tensor, 5);
    for (int64_t i = 0; i < COUNT; i++) {
        double value = at(tensor, i);
        sum += value;
        square += value * value;
        fourth += value * value * value * value;
    }
    CHECK(fabs(sum / COUNT) < 0.03);
    CHECK(fabs(square / COUNT - 1) < 0.04);
    CHECK(fabs(fourth / COUNT - 3) < 0.3);
    akg_tensor_release(tensor);
}

/* Numbers depend on the seed and the place in C order, not on strides. */
static void test_random_order(void)
{
    akg_tensor *flat = MAKE(AKG_FLOAT64, 12), *base = MAKE(AKG_FLOAT64, 4, 3), *turned = NULL;
    const int64_t shape[] = {3, 4}, strides[] = {1, 3};
    CHECK_INT(akg_tensor_view(base, 2, shape, strides, 0, &turned), AKG_OK);
    akg_tensor_fill_normal(flat, 9);
    akg_tensor_fill_normal(turned, 9);
    for (int64_t i = 0; i < 12; i++)
        CHECK(at(flat, i) == akg_tensor_get(turned, (int64_t[]){i / 4, i % 4}));
    akg_tensor_fill_normal(base, 10);
    CHECK(at(flat, 0) != akg_tensor_get(base, (int64_t[]){0, 0}));
    akg_tensor_release(flat);
    akg_tensor_release(base);
    akg_tensor_release(turned);
}

/* ---- text -------------------------------------------------------------------------- */

static void test_format_elements(void)
{
    check_element(AKG_FLOAT64, 0.1, "0.1");
    check_element(AKG_FLOAT32, 0.1, "0.1");
    check_element(AKG_FLOAT16, 0.1, "0.1");
    check_element(AKG_BFLOAT16, 0.1, "0.1");
    check_element(AKG_FLOAT64, 1e-7, "1e-07");
    check_element(AKG_FLOAT32, 1e-7, "1e-07");
    check_element(AKG_FLOAT64, 81, "81");
    check_element(AKG_FLOAT64, 100, "100");
    check_element(AKG_FLOAT64, 0.0, "0");
    check_element(AKG_FLOAT32, -0.0, "-0");
    check_element(AKG_FLOAT16, -0.0, "-0");
    check_element(AKG_BFLOAT16, -INFINITY, "-inf");
    check_element(AKG_FLOAT16, 1e9, "inf");
    check_element(AKG_FLOAT16, NAN, "nan");
    check_element(AKG_FLOAT64, 1e300, "1e+300");
    check_element(AKG_FLOAT32, 16777216, "16777216");
    check_element(AKG_FLOAT16, 65504, "65500");
    check_element(AKG_FLOAT16, 0x1p-24, "6e-08");
    check_element(AKG_FLOAT16, 0x1p-6,
                  "0.01563"); /* the nearest decimal of four digits, 0.01562, is another half */
    check_element(AKG_BFLOAT16, 3.140625, "3.14");
    check_element(AKG_INT64, -9223372036854775808.0, "-9223372036854775808");
    check_element(AKG_UINT64, 18446744073709551615.0, "18446744073709551615");
    check_element(AKG_BOOL, 3, "True");
    check_element(AKG_BOOL, 0, "False");
}

/* Each of the 65536 elements of a half's type reads back from what is printed. */
static void test_format_halves(void)
{
    for (int dtype = AKG_FLOAT16; dtype <= AKG_BFLOAT16; dtype++) {
        akg_tensor *tensor = make((akg_dtype)dtype, 0, NULL);
        uint16_t *bits = akg_tensor_data(tensor), bits_back;
        int wrong = 0;
        for (int i = 0; i < 65536; i++) {
            char *text = NULL;
            *bits = (uint16_t)i;
            if (akg_tensor_format(tensor, &text) != AKG_OK)
                wrong++;
            double back = strtod(text, NULL);
            bits_back = dtype == AKG_FLOAT16 ? half_from_double(back) : bfloat_from_double(back);
            wrong += !isnan(back) && bits_back != *bits;
            akg_free(text);
        }
        CHECK_INT(wrong, 0);
        akg_tensor_release(tensor);
    }
}

static void test_format_shapes(void)
{
    akg_tensor *tensor = MAKE(AKG_INT32, 2, 2, 2);
    akg_tensor_fill_range(tensor, 1, 1);
    check_text(tensor, "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]");
    akg_tensor_release(tensor);
    tensor = MAKE(AKG_INT32, 3, 0, 2);
    check_text(tensor, "[]");
    akg_tensor_release(tensor);
    tensor = MAKE(AKG_INT32, 1001);
    akg_tensor_fill_range(tensor, 0, 1);
    check_text(tensor, "[0, 1, 2, ..., 998, 999, 1000]");
    akg_tensor_release(tensor);
    tensor = MAKE(AKG_INT32, 3, 7, 100);
    akg_tensor_fill_range(tensor, 0, 1);
    char *text = NULL;
    CHECK_INT(akg_tensor_format(tensor, &text), AKG_OK);
    CHECK(text && strncmp(text,
                          "[[[0, 1, 2, ..., 97, 98, 99], [100, 101, 102, ..., 197, 198, 199], "
                          "[200, 201, 202, ..., 297, 298, 299], ..., [400, ",
                          110) == 0);
    akg_free(text);
    akg_tensor_release(tensor);
    tensor = MAKE(AKG_INT8, 1000);
    CHECK_INT(akg_tensor_format(tensor, &text), AKG_OK);
    CHECK_INT(text ? strlen(text) : 0, 3000);
    akg_free(text);
    akg_tensor_release(tensor);
}

/* Every form fits its buffer: those of messages may be ones that no tensor can have. */
static void test_longest_form(void)
{
    struct {
        char text[TENSOR_FORM_TEXT], behind[64];
    } room;
    int64_t dims[AKG_MAX_RANK];

    for (int axis = 0; axis < AKG_MAX_RANK; axis++)
        dims[axis] = INT64_MIN;
    memset(&room, '!', sizeof room);
    tensor_print_form(room.text, AKG_BFLOAT16, AKG_MAX_RANK, dims);
    CHECK(memchr(room.text, '\0', sizeof room.text) != NULL);
    for (size_t i = 0; i < sizeof room.behind; i++)
        CHECK(room.behind[i] == '!');
    CHECK_INT(strlen(room.text), strlen("bfloat16[]") + AKG_MAX_RANK * 20 + (AKG_MAX_RANK - 1) * 2);
    CHECK(strncmp(room.text, "bfloat16[-9223372036854775808, -9", 33) == 0);
    CHECK_STRING(room.text + strlen(room.text) - 9, "54775808]");
}

/* ---- DLPack --------------------------------------------------------------------------- */

static void test_dlpack_round_trip(void)
{
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        akg_tensor *base = MAKE((akg_dtype)dtype, 3, 4), *turned = NULL, *back = NULL;
        const int64_t shape[] = {4, 3}, strides[] = {1, 4};
        struct DLManagedTensor *managed = NULL;
        akg_tensor_fill_range(base, 0, 1);
        CHECK_INT(akg_tensor_view(base, 2, shape, strides, 0, &turned), AKG_OK);
        CHECK_INT(akg_tensor_to_dlpack(turned, &managed), AKG_OK);
        akg_tensor_release(turned);
        CHECK(managed->dl_tensor.data == akg_tensor_data(base));
        CHECK_INT(managed->dl_tensor.dtype.bits, 8 * akg_dtype_size((akg_dtype)dtype));
        akg_tensor_release(base);
        CHECK_INT(akg_tensor_from_dlpack(managed, &back, NULL), AKG_OK);
        CHECK_INT(akg_tensor_dtype(back), dtype);
        CHECK(akg_tensor_get(back, (int64_t[]){3, 2}) == (dtype == AKG_BOOL ? 1 : 11));
        CHECK(akg_tensor_get(back, (int64_t[]){1, 0}) == 1);
        akg_tensor_release(back);
    }
    CHECK_INT(akg_tensor_to_dlpack(NULL, &(struct DLManagedTensor *){NULL}), AKG_ERROR_USAGE);
}

static void forbidden(struct DLManagedTensor *managed)
{
    (void)managed;
    CHECK(!"the deleter was called");
}

static void count_deletion(struct DLManagedTensor *managed)
{
    ++*(int *)managed->manager_ctx;
}

static float dlpack_values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
static int64_t dlpack_shape[] = {2, 3}, dlpack_strides[] = {-4, 1};

static struct DLManagedTensor dlpack_sample(void)
{
    return (struct DLManagedTensor){.dl_tensor = {.data = dlpack_values,
                                                  .device = {kDLCPU, 0},
                                                  .ndim = 2,
                                                  .dtype = {kDLFloat, 32, 1},
                                                  .shape = dlpack_shape},
                                    .deleter = forbidden};
}

static void test_dlpack_import(void)
{
    struct DLManagedTensor managed = dlpack_sample();
    akg_diagnostics *diagnostics = (akg_diagnostics *)1;
    akg_tensor *tensor = NULL;
    int deleted = 0;
    managed.manager_ctx = &deleted;
    managed.deleter = count_deletion;
    managed.dl_tensor.byte_offset = 8;
    CHECK_INT(akg_tensor_from_dlpack(&managed, &tensor, &diagnostics), AKG_OK);
    CHECK(diagnostics == NULL);
    check_text(tensor, "[[2, 3, 4], [5, 6, 7]]");
    akg_tensor_release(tensor);
    CHECK_INT(deleted, 1);
    managed.deleter = NULL;
    managed.dl_tensor.strides = dlpack_strides;
    managed.dl_tensor.byte_offset = 20;
    CHECK_INT(akg_tensor_from_dlpack(&managed, &tensor, NULL), AKG_OK);
    check_text(tensor, "[[5, 6, 7], [1, 2, 3]]");
    akg_tensor_release(tensor);
    managed = (struct DLManagedTensor){.dl_tensor = {.device = {kDLCPU, 0}, .dtype = {kDLInt, 8, 1}}};
    managed.dl_tensor.shape = (int64_t[]){0};
    managed.dl_tensor.ndim = 1;
    managed.dl_tensor.byte_offset = 3;
    CHECK_INT(akg_tensor_from_dlpack(&managed, &tensor, NULL), AKG_OK);
    CHECK_INT(akg_tensor_element_count(tensor), 0);
    akg_tensor_release(tensor);
}

static void check_dlpack_refused(struct DLManagedTensor managed, const char *part)
{
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *tensor = (akg_tensor *)1;
    CHECK_INT(akg_tensor_from_dlpack(&managed, &tensor, &diagnostics), AKG_ERROR_USAGE);
    CHECK(tensor == NULL);
    const akg_diagnostic *message = akg_diagnostics_at(diagnostics, 0);
    CHECK_STRING(message ? message->name : NULL, "dlpack");
    if (message && !CHECK(strstr(message->message, part) != NULL))
        fprintf(stderr, "    message: %s\n", message->message);
    akg_diagnostics_free(diagnostics);
}

static void test_dlpack_refuses(void)
{
    struct DLManagedTensor managed;
    int64_t negative[] = {2, -3}, huge[] = {INT64_MAX, 2};
#define REFUSED(change, part)                                                                                \
    managed = dlpack_sample();                                                                               \
    managed.dl_tensor.change;                                                                                \
    check_dlpack_refused(managed, part)
    REFUSED(device.device_type = kDLOpenCL, "device type 4");
    REFUSED(device.device_type = kDLCUDAHost, "device type 3");
    REFUSED(dtype.lanes = 4, "lane count of 4");
    REFUSED(dtype.lanes = 0, "lane count of 0");
    REFUSED(dtype.code = kDLComplex, "type code 5");
    REFUSED(dtype.bits = 80, "80 bits");
    REFUSED(ndim = -1, "axes of -1");
    REFUSED(ndim = AKG_MAX_RANK + 1, "axes of 17");
    REFUSED(shape = NULL, "no shape");
    REFUSED(shape = negative, "extent -3");
    REFUSED(shape = huge, "address space");
    REFUSED(data = NULL, "no data");
    REFUSED(byte_offset = 2, "aligned to 4");
    REFUSED(byte_offset = UINT64_MAX, "byte offset");
    REFUSED(strides = huge, "strides");
    akg_tensor *tensor;
    CHECK_INT(akg_tensor_from_dlpack(NULL, &tensor, NULL), AKG_ERROR_USAGE);
}

/* ---- injected failures ------------------------------------------------------------------ */

#ifdef AKG_FAULT_INJECTION
static akg_status make_all(akg_tensor **made)
{
    struct DLManagedTensor *managed = NULL;
    char *text = NULL;
    akg_status status = akg_tensor_create(AKG_INT32, 1, (int64_t[]){300}, &made[0]);
    if (status == AKG_OK)
        status = akg_tensor_view(made[0], 1, (int64_t[]){100}, (int64_t[]){3}, 0, &made[1]);
    if (status == AKG_OK)
        status = akg_tensor_copy(made[1], &made[2]);
    if (status == AKG_OK)
        status = akg_tensor_cast(made[1], AKG_FLOAT16, &made[3]);
    if (status == AKG_OK)
        status = akg_tensor_to_dlpack(made[1], &managed);
    if (status == AKG_OK) {
        status = akg_tensor_from_dlpack(managed, &made[4], NULL);
        if (status != AKG_OK)
            managed->deleter(managed);
    }
    if (status == AKG_OK)
        status = akg_tensor_format(made[1], &text);
    akg_free(text);
    return status;
}

static void test_injected_failures(void)
{
    akg_status status;
    long step = 0;
    do {
        akg_tensor *made[5] = {NULL};
        memory_fail_after(step++);
        status = make_all(made);
        CHECK(status == (memory_fail_remaining() < 0 ? AKG_ERROR_MEMORY : AKG_OK));
        memory_fail_after(-1);
        for (int i = 0; i < 5; i++)
            akg_tensor_release(made[i]);
    } while (status != AKG_OK && step < 100);
    CHECK(step > 6 && step < 100);
}
#endif

int main(void)
{
    test_create();
    test_create_refuses();
    test_from_memory();
    test_view();
    test_threads();
    test_get_set();
    test_copy_and_cast();
    test_fill_strided();
    test_uniform_values();
    test_integers();
    test_normal_values();
    test_distributions();
    test_random_order();
    test_format_elements();
    test_format_halves();
    test_format_shapes();
    test_longest_form();
    test_dlpack_round_trip();
    test_dlpack_import();
    test_dlpack_refuses();
#ifdef AKG_FAULT_INJECTION
    test_injected_failures();
#endif
    return check_done();
}

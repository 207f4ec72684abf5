/*
 * test_vector_convert.c: numbers that become others in vector loops, and arithmetic on 64-bit lanes, against
 * the interpreter, bit for bit, for each target of the processor.
 *
 * The numbers lie around the powers of two, around the middle between two floats, or two halves, and
 * anywhere.
 */
#include "../../base/dtype.h"
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = 20011 };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 1 ^ *state << 40;
}

static uint64_t hard_integer(int number, uint64_t *state)
{
    int bit = number / 2 % 64, near = number / 128 % 7 - 3, middle = number / 896 % 5;
    static const int digits[] = {64, 25, 54, 9, 12};
    uint64_t value = (uint64_t)1 << bit;
    if (number >= COUNT / 2)
        return next_random(state) >> (number % 64);
    if (bit >= digits[middle])
        value += (uint64_t)(1 + number / 2688 % 2 * 2) << (bit - digits[middle] + 1);
    value += (uint64_t)near;
    return number % 2 ? 0 - value : value;
}

/* The middle between two halves, or a bit beside it, of any size that these have; or between two bfloat16
 * below the least normal one, where the bit is less than a float32 holds. */
static double near_half(int number, uint64_t *state)
{
    int digits = number / 2 % 2 ? 8 : 11, beside = number / 4 % 3 - 1, size = number / 12 % 300 - 170;
    int units = (int)(next_random(state) % (1u << digits)) | 1;
    if (number % 8 == 7)
        return ldexp(units % 128, -134) + ldexp(beside, -152 - number / 96 % 16);
    return ldexp(1 + ldexp(units, -digits) + ldexp(beside, -20 - number / 3600 % 32), size);
}

static double hard_float(int number, uint64_t *state)
{
    static const double parts[] = {1, 1 - 0x1p-24, 1 + 0x1p-23, 1 - 0x1p-53, 1 + 0x1p-52, 1.5},
                        special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 0.5, -0.5, 0.99999994};
    double value = ldexp(parts[number / 2 % 6], number / 12 % 70) + (number / 840 % 2 ? 0.5 : 0);
    if (number < (int)(sizeof special / sizeof *special))
        return special[number];
    if (number >= COUNT / 2)
        value = ldexp((double)(next_random(state) >> 11), number % 72 - 56);
    if (number >= COUNT / 4 * 3)
        value = near_half(number, state);
    return number % 2 ? -value : value;
}

static akg_tensor *hard_numbers(akg_dtype dtype, uint64_t seed)
{
    const int64_t shape[] = {COUNT};
    akg_tensor *tensor = NULL;
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &tensor) == AKG_OK))
        return NULL;
    void *data = akg_tensor_data(tensor);
    for (int k = 0; k < COUNT; k++) {
        switch (dtype) {
        case AKG_FLOAT32:
            ((float *)data)[k] = (float)hard_float(k, &seed);
            break;
        case AKG_FLOAT64:
            ((double *)data)[k] = hard_float(k, &seed);
            break;
        case AKG_INT32:
        case AKG_UINT32:
            ((uint32_t *)data)[k] = (uint32_t)hard_integer(k, &seed);
            break;
        default:
            ((uint64_t *)data)[k] = hard_integer(k, &seed);
        }
    }
    return tensor;
}

/* y[i] = the expression of x[i] and z[i]; `target` NULL: by the interpreter. */
static akg_tensor *apply(const char *expression, const char *result, akg_tensor *x, akg_tensor *z,
                         const char *target)
{
    char program[300];
    jit_options options = {
        .target = target, .backend = target ? JIT_BACKEND_TCC : JIT_BACKEND_INTERPRETER, .strict = true};
    akg_argument arguments[] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x},
                                {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = z}};
    akg_tensor *output = NULL;
    akg_module *module = NULL;
    snprintf(
        program, sizeof program,
        "def k(x, z):\n    y = output_tensor(x.shape, %s)\n    for i in range(min(x.shape[0], z.shape[0])):\n"
        "        y[i] = %s\n    return y\n",
        result, expression);
    jit_source source = {.name = "convert.akg", .text = program, .length = strlen(program)};
    CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK &&
          akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 2, NULL, &output, NULL) == AKG_OK);
    akg_module_release(module);
    return output;
}

/* nan has many patterns, of which none is the language's. */
static bool is_same(const akg_tensor *a, const akg_tensor *b)
{
    akg_dtype dtype = akg_tensor_dtype(a);
    size_t size = (size_t)dtype_table[dtype].size;
    const char *p = akg_tensor_data(a), *q = akg_tensor_data(b);
    for (int64_t k = 0; k < COUNT; k++)
        if (memcmp(p + (size_t)k * size, q + (size_t)k * size, size) != 0 &&
            !(isnan(akg_tensor_get(a, &k)) && isnan(akg_tensor_get(b, &k))))
            return false;
    return true;
}

static void check_expression(const char *expression, akg_dtype from, const char *result)
{
    akg_tensor *x = hard_numbers(from, 1), *z = hard_numbers(from, 77), *exact = NULL;
    if (x && z)
        exact = apply(expression, result, x, z, NULL);
    for (int target = X86_TARGET_AVX2; exact && target <= (int)x86_cpu_target(); target++) {
        akg_tensor *output = apply(expression, result, x, z, x86_target_name((enum x86_target)target));
        if (!CHECK(output && is_same(output, exact)))
            printf("%s of %s with %s\n", expression, akg_dtype_name(from),
                   x86_target_name((enum x86_target)target));
        akg_tensor_release(output);
    }
    akg_tensor_release(exact);
    akg_tensor_release(x);
    akg_tensor_release(z);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_INT32,  AKG_UINT32,  AKG_INT64,
                                       AKG_UINT64, AKG_FLOAT32, AKG_FLOAT64};
    static const char *const integers[] = {
        "x[i] * z[i]",         "min(x[i], z[i])",           "max(x[i], z[i])",     "abs(x[i])",
        "x[i] >> (z[i] & 31)", "x[i] << (z[i] & 31)",       "x[i] >> (z[i] & 63)", "-x[i]",
        "x[i] - z[i]",         "x[i] if x[i] < z[i] else 3"};
    enum { DTYPES = sizeof dtypes / sizeof *dtypes, INTEGERS = sizeof integers / sizeof *integers };
    if (x86_cpu_target() == X86_TARGET_NONE) {
        puts("skipped: this processor has no vector target");
        return check_done();
    }
    for (int from = 0; from < DTYPES; from++)
        for (int to = AKG_INT8; to < AKG_DTYPE_COUNT; to++) {
            char expression[60];
            const char *name = akg_dtype_name((akg_dtype)to);
            snprintf(expression, sizeof expression, "%s(x[i])", name);
            check_expression(expression, dtypes[from], name);
        }
    for (int from = 0; from < 4; from++)
        for (int k = 0; k < INTEGERS; k++)
            check_expression(integers[k], dtypes[from], akg_dtype_name(dtypes[from]));
    return check_done();
}

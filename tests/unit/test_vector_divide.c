/*
 * test_vector_divide.c: quotients by what stays the same in a loop, which are made without a division.
 *
 * Dividends that sweep all bit patterns, and divisors of all sizes, as an argument and as a constant of the
 * program; the quotient of C is the truth. The results of AVX2 and AVX-512 must be the same bits. Of
 * integers, quotients and remainders must be those of C, to the bit.
 */
#include "../../include/akg.h"
#include "../../base/dtype.h"
#include "../../jit/x86_cpu.h"
#include "check.h"

#include <math.h>

enum { COUNT = 1 << 15 };

static const double divisors[] = {1,         -1,           2,          3,         -7,     0.1,      1.0 / 3,
                                  255,       49,           -0.7,       1e10,      0x1p62, 0x1.8p63, 0x1p100,
                                  1.7e38,    -3.4e38,      0x1p-62,    0x1.8p-63, 1e-30,  1e-38,    1e-40,
                                  -0x1p-149, 0x1p-126,     0x1.cp-127, 0,         -0.0,   INFINITY, -INFINITY,
                                  NAN,       0x1.fffffep0, 0x1p127};

/* Of the dtype as C has it. */
static double quotient(akg_dtype dtype, double x, double divisor)
{
    return dtype == AKG_FLOAT32 ? (double)((float)x / (float)divisor) : x / divisor;
}

/* Of the place of a number. */
static double unit_of(akg_dtype dtype, double number)
{
    return dtype == AKG_FLOAT32 ? (double)nextafterf((float)fabs(number), INFINITY) - fabs(number)
                                : nextafter(fabs(number), INFINITY) - fabs(number);
}

/* Whether y is the quotient, which is rounded to `exact`; where this is small, or the quotient lies next to
 * the middle of two numbers, it may be a neighbour. */
static bool is_right(akg_dtype dtype, double x, double divisor, double exact, double y)
{
    double small = dtype == AKG_FLOAT32 ? 0x1p-126 * 0x1p25 : 0x1p-1022 * 0x1p54;
    if (isnan(exact))
        return isnan(y);
    if (y == exact && signbit(y) == signbit(exact))
        return true;
    double unit = unit_of(dtype, exact), rest = fabs(fma(-exact, divisor, x) / divisor) / unit;
    return fabs(y - exact) <= unit && (fabs(exact) < small || fabs(rest - 0.5) < 0x1p-20);
}

/* The kernel's outputs, of which there is room for as many. */
static bool run(const char *program, akg_tensor *x, akg_tensor *divisor, enum x86_target target,
                akg_tensor **outputs)
{
    jit_options options = {.target = x86_target_name(target)};
    akg_argument arguments[2] = {{.kind = AKG_ARGUMENT_TENSOR, .as.tensor = x},
                                 {.kind = AKG_ARGUMENT_TENSOR, .as.tensor = divisor}};
    jit_source source = {.name = "divide.akg", .text = program, .length = strlen(program)};
    akg_module *module = NULL;
    bool good = jit_compile(&source, &options, &module, NULL) == AKG_OK &&
                akg_kernel_call(akg_module_kernel_at(module, 0), arguments, divisor ? 2 : 1, NULL, outputs,
                                NULL) == AKG_OK;
    akg_module_release(module);
    return good;
}

static akg_tensor *divide(const char *program, akg_tensor *x, akg_tensor *divisor, enum x86_target target)
{
    akg_tensor *output = NULL;
    CHECK(run(program, x, divisor, target, &output));
    return output;
}

static void check_quotients(const char *program, akg_tensor *x, akg_tensor *divisor, double number)
{
    akg_dtype dtype = akg_tensor_dtype(x);
    akg_tensor *results[2] = {divide(program, x, divisor, x86_cpu_target()),
                              divide(program, x, divisor, X86_TARGET_AVX2)};
    int wrong = 0, different = 0;
    for (int64_t k = 0; k < COUNT && results[0] && results[1]; k++) {
        double value = akg_tensor_get(x, &k), y = akg_tensor_get(results[0], &k);
        double other = akg_tensor_get(results[1], &k), exact = quotient(dtype, value, number);
        if (!is_right(dtype, value, number, exact, y) && wrong++ == 0)
            fprintf(stderr, "%s: %a / %a is %a, not %a\n", akg_dtype_name(dtype), value, number, y, exact);
        different += (y != other || signbit(y) != signbit(other)) && !(isnan(y) && isnan(other));
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(different, 0);
    akg_tensor_release(results[0]);
    akg_tensor_release(results[1]);
}

/* Any bit pattern, most of them of a moderate size. */
static void fill(akg_tensor *x)
{
    static const double special[] = {0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 49, 147};
    uint64_t state = 99;
    for (int64_t k = 0; k < COUNT; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        double number = ((double)(state >> 11) * 0x1p-52 - 1) * (k % 4 ? 1000 : 1e-36);
        uint32_t narrow = (uint32_t)(state >> 32);
        if (k < (int64_t)(sizeof special / sizeof *special))
            number = special[k];
        akg_tensor_set(x, &k, number);
        if (k % 2 == 0 && k > 20 && akg_tensor_dtype(x) == AKG_FLOAT32)
            memcpy((float *)akg_tensor_data(x) + k, &narrow, sizeof narrow);
        else if (k % 2 == 0 && k > 20)
            memcpy((double *)akg_tensor_data(x) + k, &state, sizeof state);
    }
}

static void check_dtype(akg_dtype dtype)
{
    const int64_t shape[] = {COUNT}, one[] = {1}, first = 0;
    akg_tensor *x = NULL, *divisor = NULL;
    char program[200];
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &x) == AKG_OK) ||
        !CHECK(akg_tensor_create(dtype, 1, one, &divisor) == AKG_OK))
        return;
    fill(x);
    for (size_t k = 0; k < sizeof divisors / sizeof *divisors; k++) {
        akg_tensor_set(divisor, &first, divisors[k]);
        check_quotients(
            "def k(x, d):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
            "        y[i] = x[i] / d[0]\n    return y\n",
            x, divisor, akg_tensor_get(divisor, &first));
        if (!isfinite(divisors[k]) || divisors[k] == 0)
            continue;
        snprintf(program, sizeof program,
                 "def k(x):\n    y = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
                 "        y[i] = x[i] / %.17g\n    return y\n",
                 divisors[k]);
        check_quotients(program, x, NULL, akg_tensor_get(divisor, &first));
    }
    akg_tensor_release(x);
    akg_tensor_release(divisor);
}

/* ---- integers ------------------------------------------------------------------------------------- */

/* The same bits as C gives. */
static void check_integers(const char *program, akg_tensor *x, akg_tensor *divisor)
{
    size_t size = (size_t)dtype_table[akg_tensor_dtype(x)].size * COUNT;
    akg_tensor *results[2] = {divide(program, x, divisor, x86_cpu_target()),
                              divide(program, x, divisor, X86_TARGET_NONE)};
    if (CHECK(results[0] && results[1]))
        CHECK(memcmp(akg_tensor_data(results[0]), akg_tensor_data(results[1]), size) == 0);
    akg_tensor_release(results[0]);
    akg_tensor_release(results[1]);
}

/* Numbers of all sizes, and what lies beside multiples of the divisors and the ends of the range. */
static void fill_integers(akg_tensor *x, akg_tensor *divisor)
{
    akg_dtype dtype = akg_tensor_dtype(x);
    int size = dtype_table[dtype].size, bits = 8 * size;
    char *left = akg_tensor_data(x), *right = akg_tensor_data(divisor);
    uint64_t state = 5;
    for (int64_t k = 0; k < COUNT; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t a = state >> (state >> 20) % (unsigned)bits;
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t b = state >> 16 >> (state >> 10) % (unsigned)(bits > 48 ? 48 : bits);
        if (k % 5 == 0)
            b = -b;
        if (k % 7 == 0)
            b = (uint64_t)1 << (bits - 1);
        if (k % 3 == 0)
            a = b * (state >> 60) + (state >> 50) % 3 - 1;
        if (k % 11 == 0)
            a = ((uint64_t)1 << (bits - 1)) - (state >> 40) % 2;
        if (k % 13 == 0)
            b = k % 2 ? 1 : UINT64_MAX;
        if (dtype_wrap(dtype, (int64_t)b) == 0)
            b = 7;
        memcpy(left + k * size, &a, (size_t)size);
        memcpy(right + k * size, &b, (size_t)size);
    }
}

static void check_integer_dtype(akg_dtype dtype)
{
    static const char *const divisors[] = {"d[i]", "d[0]", "d[7]", "d[13]",      "3",
                                           "10",   "121",  "7",    "1000000007", "-7"};
    enum { LARGE = 8, NEGATIVE = 9, COUNT_OF_DIVISORS = 10 };
    const int64_t shape[] = {COUNT};
    akg_tensor *x = NULL, *divisor = NULL;
    char program[300];
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &x) == AKG_OK) ||
        !CHECK(akg_tensor_create(dtype, 1, shape, &divisor) == AKG_OK))
        return;
    fill_integers(x, divisor);
    for (int k = 0; k < 2 * COUNT_OF_DIVISORS; k++) {
        if ((k / 2 == NEGATIVE && !dtype_is_signed(dtype)) || (k / 2 == LARGE && dtype_table[dtype].size < 4))
            continue;
        snprintf(program, sizeof program,
                 "def k(x: %s[N], d: %s[N]):\n    y = output_tensor(x.shape, x.dtype)\n"
                 "    for i in range(N):\n        y[i] = x[i] %s %s\n    return y\n",
                 akg_dtype_name(dtype), akg_dtype_name(dtype), k % 2 ? "//" : "%", divisors[k / 2]);
        check_integers(program, x, divisor);
    }
    akg_tensor_release(x);
    akg_tensor_release(divisor);
}

/* ---- integers over constants ------------------------------------------------------------------------ */

enum { PATTERNS = 1 << 16 };

/* All numbers of 16 bits; of 32 bits, what lies beside multiples of the divisor and the ends, and others. */
static int64_t dividend(akg_dtype dtype, int64_t divisor, int number, uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    int64_t any = (int64_t)(*state >> 32);
    if (dtype_table[dtype].size <= 2)
        return dtype_wrap(dtype, number);
    if (number % 3 == 0)
        return dtype_wrap(dtype, any / divisor * divisor - number % 2);
    return dtype_wrap(dtype, number % 5 ? any >> any % 32
                                        : (number % 2 ? (int64_t)INT32_MIN : -1) + number % 16 - 8);
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* In lanes as the loop has them, and in those of 32 bits that a float asks for. */
static void check_constant(akg_dtype dtype, int64_t divisor, enum x86_target target)
{
    static const char form[] = "def k(x: %s[N], unused: %s[N]):\n    q = output_tensor(x.shape, x.dtype)\n"
                               "    r = output_tensor(x.shape, x.dtype)\n"
                               "    for i in range(N):\n        q[i] = x[i] // %lld\n"
                               "    for j in range(N):\n        r[j] = x[j] %% %lld\n    return q, r\n",
                      wide_form[] = "def k(x: %s[N], unused: %s[N]):\n"
                                    "    q = output_tensor(x.shape, float64)\n"
                                    "    r = output_tensor(x.shape, float64)\n"
                                    "    for i in range(N):\n        q[i] = float64(x[i] // %lld)\n"
                                    "    for j in range(N):\n        r[j] = float64(x[j] %% %lld)\n"
                                    "    return q, r\n";
    const int64_t shape[] = {PATTERNS};
    const char *name = akg_dtype_name(dtype);
    akg_tensor *x = NULL;
    uint64_t state = (uint64_t)divisor;
    char program[500];
    if (!CHECK(akg_tensor_create(dtype, 1, shape, &x) == AKG_OK))
        return;
    for (int64_t k = 0; k < PATTERNS; k++)
        akg_tensor_set(x, &k, (double)dividend(dtype, divisor, (int)k, &state));
    for (int wide = 0; wide < 2; wide++) {
        akg_tensor *outputs[2] = {NULL, NULL};
        int wrong = 0;
        snprintf(program, sizeof program, wide ? wide_form : form, name, name, (long long)divisor,
                 (long long)divisor);
        if (!CHECK(run(program, x, x, target, outputs)))
            continue;
        for (int64_t k = 0; k < PATTERNS; k++) {
            int64_t a = (int64_t)akg_tensor_get(x, &k), q = floor_quotient(a, divisor);
            wrong += (int64_t)akg_tensor_get(outputs[0], &k) != q ||
                     (int64_t)akg_tensor_get(outputs[1], &k) != a - q * divisor;
        }
        if (!CHECK(wrong == 0))
            fprintf(stderr, "%s over %lld, %s, %d\n", name, (long long)divisor, x86_target_name(target),
                    wide);
        akg_tensor_release(outputs[0]);
        akg_tensor_release(outputs[1]);
    }
    akg_tensor_release(x);
}

static void check_constants(akg_dtype dtype, enum x86_target target)
{
    int bits = dtype_table[dtype].size * 8 - dtype_is_signed(dtype);
    int64_t largest = ((int64_t)1 << bits) - 1;
    uint64_t state = 3;
    for (int64_t divisor = 2; divisor <= 40 && divisor <= largest; divisor++)
        if (check_takes((size_t)divisor + dtype))
            check_constant(dtype, divisor, target);
    for (int k = 6; k <= bits; k++) /* beside powers of two */
        for (int64_t divisor = ((int64_t)1 << k) - 1; divisor <= ((int64_t)1 << k) + 1; divisor++)
            if (divisor <= largest && check_takes((size_t)(k + divisor)))
                check_constant(dtype, divisor, target);
    for (int k = 0; k < 24; k++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        int64_t divisor = (int64_t)(state >> 33) >> (state >> 20) % 31 & largest;
        if (divisor > 1 && check_takes((size_t)k))
            check_constant(dtype, divisor, target);
    }
}

/* What is made of two bytes, all pairs of them, over the other one: float32 divides what stays below 2^16. */
static void check_made_of_bytes(akg_dtype first, akg_dtype second, enum x86_target target)
{
    enum { BYTES = 256 };
    static const char *const quotients[] = {
        "255 * int32(x[i]) // int32(d[i])",           "int32(x[i]) * int32(x[i]) % int32(d[i])",
        "(int32(x[i]) - int32(d[i])) // int32(d[i])", "uint32(x[i]) // uint32(d[i])",
        "(int32(x[i]) * 256 + 255) % int32(d[i])",    "abs(int32(x[i]) - 300) // max(int32(d[i]), -7)",
        "uint32(int32(x[i])) % uint32(d[i])",         "(100 - uint32(x[i])) // uint32(d[i])"};
    const int64_t shape[] = {BYTES * BYTES};
    akg_tensor *x = NULL, *d = NULL, *outputs[2] = {NULL, NULL};
    char program[300];
    CHECK(akg_tensor_create(first, 1, shape, &x) == AKG_OK &&
          akg_tensor_create(second, 1, shape, &d) == AKG_OK);
    for (int64_t k = 0; k < BYTES * BYTES; k++) {
        akg_tensor_set(x, &k, (double)(k / BYTES - (first == AKG_INT8 ? BYTES / 2 : 0)));
        akg_tensor_set(d, &k, (double)(k % BYTES - (second == AKG_INT8 ? BYTES / 2 : 0)));
    }
    for (size_t k = 0; k < sizeof quotients / sizeof *quotients; k++) {
        snprintf(program, sizeof program,
                 "def k(x, d):\n    y = output_tensor(x.shape, int64)\n    for i in range(x.shape[0]):\n"
                 "        if d[i] != 0:\n            y[i] = int64(%s)\n        else:\n            y[i] = 7\n"
                 "    return y\n",
                 quotients[k]);
        CHECK(run(program, x, d, target, &outputs[0]) && run(program, x, d, X86_TARGET_NONE, &outputs[1]));
        int wrong = 0;
        for (int64_t at = 0; at < BYTES * BYTES && outputs[0] && outputs[1]; at++)
            wrong += akg_tensor_get(outputs[0], &at) != akg_tensor_get(outputs[1], &at);
        if (!CHECK(wrong == 0))
            fprintf(stderr, "%s of %s and %s, %s\n", quotients[k], akg_dtype_name(first),
                    akg_dtype_name(second), x86_target_name(target));
        akg_tensor_release(outputs[0]);
        akg_tensor_release(outputs[1]);
        outputs[0] = outputs[1] = NULL;
    }
    akg_tensor_release(x);
    akg_tensor_release(d);
}

int main(void)
{
    if (x86_cpu_target() == X86_TARGET_NONE) {
        puts("skipped: this processor has no vector target");
        return check_done();
    }
    akg_set_threads(1); /* whose pieces end elsewhere each time, and what is left of one is divided */
    check_dtype(AKG_FLOAT32);
    check_dtype(AKG_FLOAT64);
    for (int dtype = AKG_INT8; dtype <= AKG_UINT64; dtype++)
        check_integer_dtype((akg_dtype)dtype);
    for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++)
        for (int signs = 0; signs < 4; signs++)
            check_made_of_bytes(signs % 2 ? AKG_INT8 : AKG_UINT8, signs / 2 ? AKG_INT8 : AKG_UINT8,
                                (enum x86_target)target);
    for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++)
        for (int dtype = AKG_INT8; dtype <= AKG_UINT64; dtype++)
            if (dtype_table[dtype].size <= 4)
                check_constants((akg_dtype)dtype, (enum x86_target)target);
    return check_done();
}

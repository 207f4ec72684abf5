/*
 * tensor_fill.c: fills a tensor with a value, a range or random numbers.
 *
 * Random element i (in C order) is a function of the seed and i alone, through
 * the Philox 4x32-10 counter generator (Salmon, Moraes, Dror and Shaw, "Parallel
 * random numbers: as easy as 1, 2, 3", 2011): no state, no order of evaluation.
 *
 * "The same seed gives the same numbers on every machine" needs arithmetic that
 * is the same everywhere. Uniform numbers are scaled integers. Normal ones come
 * from Marsaglia's polar method, whose only elementary function is a logarithm;
 * libm's differ in the last bit, so there is one here, of + - * / only, which
 * IEEE 754 fixes (as it fixes sqrt), in code that assumes -ffp-contract=off: no pair of them may be fused.
 */
#include "tensor.h"

#include "gpu.h"

#include <math.h>
#include <string.h>

/* ---- random bits ----------------------------------------------------------- */

struct random_block {
    uint64_t words[2];
};

/* Block number `block`, attempt `attempt` of the sequence of `seed`. */
static struct random_block random_bits(uint64_t seed, uint64_t block, uint64_t attempt)
{
    uint32_t key0 = (uint32_t)seed, key1 = (uint32_t)(seed >> 32);
    uint32_t c0 = (uint32_t)block, c1 = (uint32_t)(block >> 32);
    uint32_t c2 = (uint32_t)attempt, c3 = (uint32_t)(attempt >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t left = (uint64_t)0xD2511F53 * c0, right = (uint64_t)0xCD9E8D57 * c2;
        c0 = (uint32_t)(right >> 32) ^ c1 ^ key0;
        c1 = (uint32_t)right;
        c2 = (uint32_t)(left >> 32) ^ c3 ^ key1;
        c3 = (uint32_t)left;
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    return (struct random_block){{(uint64_t)c1 << 32 | c0, (uint64_t)c3 << 32 | c2}};
}

/* ---- normal numbers ---------------------------------------------------------- */

#define LOG_TERMS 12

/* Natural logarithm of 0 < x <= 1, x not subnormal, to about 1e-16. With x = 2^e * m and s = (m - 1) / (m +
 * 1), log x = e log 2 + 2 (s + s^3/3 + s^5/5 + ...); |s| stays under 0.172. */
static double portable_log(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.4142135623730951) {
        m = m * 0.5;
        exponent++;
    }
    double s = (m - 1.0) / (m + 1.0), square = s * s, sum = 0.0;
    for (int term = LOG_TERMS - 1; term >= 0; term--)
        sum = sum * square + 1.0 / (2 * term + 1);
    /* log 2 in two parts, the first with few bits so that its product with the exponent is exact */
    return exponent * 0x1.62e42fee00000p-1 + (exponent * 0x1.a39ef35793c76p-33 + 2.0 * s * sum);
}

/* A multiple of 2^-52 in [-1, 1). */
static double signed_unit(uint64_t word)
{
    return (double)(int64_t)(word >> 11) * 0x1p-52 - 1.0;
}

/* Normal numbers 2 * pair and 2 * pair + 1. */
static void normal_pair(uint64_t seed, uint64_t pair, double *values)
{
    double u, v, square;
    uint64_t attempt = 0;
    do {
        struct random_block bits = random_bits(seed, pair, attempt++);
        u = signed_unit(bits.words[0]);
        v = signed_unit(bits.words[1]);
        square = u * u + v * v;
    } while (square >= 1.0 || square == 0.0);
    double factor = sqrt(-2.0 * portable_log(square) / square);
    values[0] = u * factor;
    values[1] = v * factor;
}

/* ---- elements ---------------------------------------------------------------- */

enum fill_kind { FILL_UNIFORM, FILL_NORMAL, FILL_INTEGERS, FILL_RANGE };

struct filler {
    enum fill_kind kind;
    akg_dtype dtype;
    uint64_t seed;
    double first, step;
    int64_t low; /* of integers: the least one, and how many there are */
    uint64_t span;
    uint64_t block; /* the block that `bits` or `pair` hold */
    struct random_block bits;
    double pair[2];
};

static void filler_load(struct filler *filler, uint64_t block)
{
    filler->block = block;
    if (filler->kind == FILL_NORMAL)
        normal_pair(filler->seed, block, filler->pair);
    else
        filler->bits = random_bits(filler->seed, block, 0);
}

/* The top `bits` bits as a fraction: exact in a dtype with that many bits of significand, so never 1. */
static double unit_fraction(uint64_t word, int bits)
{
    return (double)(int64_t)(word >> (64 - bits)) / (double)((int64_t)1 << bits);
}

static union dtype_value uniform_value(akg_dtype dtype, uint64_t word)
{
    uint64_t high = word >> 32;
    switch (dtype) {
    case AKG_FLOAT64:
        return (union dtype_value){.d = unit_fraction(word, 53)};
    case AKG_FLOAT32:
        return (union dtype_value){.f = (float)unit_fraction(word, 24)};
    case AKG_FLOAT16:
        return (union dtype_value){.f = (float)unit_fraction(word, 11)};
    case AKG_BFLOAT16:
        return (union dtype_value){.f = (float)unit_fraction(word, 8)};
    case AKG_BOOL:
        return (union dtype_value){.i = (int64_t)(word >> 63)};
    default:
        if (dtype_is_signed(dtype))
            return (union dtype_value){.i = (int64_t)(high * 20 >> 32) - 10};
        return (union dtype_value){.i = (int64_t)(high * 10 >> 32)};
    }
}

/* The bits as a fraction of the span; 128 bits hold the product. */
static union dtype_value integer_value(const struct filler *filler, uint64_t word)
{
    uint64_t step = (uint64_t)((unsigned __int128)word * filler->span >> 64);
    int64_t value = (int64_t)((uint64_t)filler->low + step);
    return dtype_is_float(filler->dtype) ? dtype_from_double(filler->dtype, (double)value)
                                         : (union dtype_value){.i = value};
}

static union dtype_value filler_value(struct filler *filler, uint64_t i)
{
    if (filler->kind == FILL_RANGE) {
        double product = (double)(int64_t)i * filler->step;
        return dtype_from_double(filler->dtype, filler->first + product);
    }
    if (filler->block != i / 2)
        filler_load(filler, i / 2);
    if (filler->kind == FILL_NORMAL)
        return dtype_from_double(filler->dtype, filler->pair[i % 2]);
    uint64_t word = filler->bits.words[i % 2];
    return filler->kind == FILL_INTEGERS ? integer_value(filler, word) : uniform_value(filler->dtype, word);
}

/* Of a tensor on a device: its elements on the host, to be filled there. NULL: there is no room. */
static akg_tensor *fill_begin(akg_tensor *tensor)
{
    akg_tensor *host = NULL;
    tensor_touch(tensor);
    tensor_mark_written(tensor);
    if (tensor->device && tensor->contiguous) /* nothing of it stays */
        tensor_allocate(tensor->dtype, tensor->rank, tensor_shape(tensor), false, &host);
    else
        tensor_to_host(tensor, &host, &(struct gpu_failure){0});
    return host;
}

static void fill_end(akg_tensor *tensor, akg_tensor *host)
{
    if (tensor->device)
        tensor_from_host(tensor, host, &(struct gpu_failure){0});
    akg_tensor_release(host);
}

static void fill_with(akg_tensor *given, struct filler *filler)
{
    uint64_t i = 0;
    akg_tensor *tensor = given ? fill_begin(given) : NULL;
    if (!tensor)
        return;
    filler->dtype = tensor->dtype;
    filler->block = UINT64_MAX;
    if (filler->kind == FILL_NORMAL && !dtype_is_float(tensor->dtype))
        filler->kind = FILL_UNIFORM;
    struct tensor_rows rows;
    for (bool more = tensor_rows_begin(&rows, tensor); more; more = tensor_rows_next(&rows)) {
        char *to = rows.row;
        for (int64_t k = 0; k < rows.length; k++, to += rows.stride)
            dtype_store(tensor->dtype, to, filler_value(filler, i++));
    }
    fill_end(given, tensor);
}

void akg_tensor_fill_uniform(akg_tensor *tensor, uint64_t seed)
{
    fill_with(tensor, &(struct filler){.kind = FILL_UNIFORM, .seed = seed});
}

void akg_tensor_fill_normal(akg_tensor *tensor, uint64_t seed)
{
    fill_with(tensor, &(struct filler){.kind = FILL_NORMAL, .seed = seed});
}

void akg_tensor_fill_integers(akg_tensor *tensor, int64_t low, int64_t high, uint64_t seed)
{
    if (low < high)
        fill_with(tensor, &(struct filler){.kind = FILL_INTEGERS,
                                           .seed = seed,
                                           .low = low,
                                           .span = (uint64_t)high - (uint64_t)low});
}

void akg_tensor_fill_range(akg_tensor *tensor, double first, double step)
{
    fill_with(tensor, &(struct filler){.kind = FILL_RANGE, .first = first, .step = step});
}

typedef uint16_t word16 __attribute__((may_alias));
typedef uint32_t word32 __attribute__((may_alias));
typedef uint64_t word64 __attribute__((may_alias));

#define FILL_ROW(type)                                                                                       \
    for (int64_t i = 0; i < length; i++)                                                                     \
    *(type *)(to + i * stride) = *(const type *)bits

static void fill_row(char *to, int64_t length, ptrdiff_t stride, int size, const void *bits)
{
    switch (size) {
    case 1:
        FILL_ROW(uint8_t);
        break;
    case 2:
        FILL_ROW(word16);
        break;
    case 4:
        FILL_ROW(word32);
        break;
    default:
        FILL_ROW(word64);
    }
}

void akg_tensor_fill(akg_tensor *given, double value)
{
    uint64_t bits = 0;
    if (!given)
        return;
    dtype_store(given->dtype, &bits, dtype_from_double(given->dtype, value));
    if (given->device && given->contiguous) {
        tensor_mark_written(given);
        gpu_fill(given->device, given->data, bits, dtype_table[given->dtype].size, given->element_count,
                 &(struct gpu_failure){0});
        return;
    }
    akg_tensor *tensor = fill_begin(given);
    if (!tensor)
        return;
    struct tensor_rows rows;
    for (bool more = tensor_rows_begin(&rows, tensor); more; more = tensor_rows_next(&rows))
        fill_row(rows.row, rows.length, rows.stride, dtype_table[tensor->dtype].size, &bits);
    fill_end(given, tensor);
}

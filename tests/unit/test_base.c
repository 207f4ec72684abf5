/*
 * test_base.c: the conversions of dtypes, printed numbers, texts, arenas, spelling, status.
 * Messages are tested in test_diagnostic.c.
 */
#include "check.h"

#include "../../base/diagnostic.h"
#include "../../base/dtype.h"
#include "../../base/format.h"
#include "../../base/memory.h"
#include "../../base/number.h"
#include "../../base/text.h"
#include "../../base/version.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

/* Compares a condition that is tested thousands of times without counting each. */
static void check_none(int wrong, const char *what)
{
    if (wrong)
        fprintf(stderr, "    %d wrong: %s\n", wrong, what);
    CHECK_INT(wrong, 0);
}

/* ---- halves -------------------------------------------------------------- */

struct half_format {
    const char *name;
    uint16_t (*from_float)(float value);
    uint16_t (*from_double)(double value);
    float (*to_float)(uint16_t bits);
    unsigned infinity;
    double largest, smallest;
};

static const struct half_format half_formats[] = {
    {"float16", half_from_float, half_from_double, half_to_float, 0x7c00, 65504.0, 0x1p-24},
    {"bfloat16", bfloat_from_float, bfloat_from_double, bfloat_to_float, 0x7f80, 0x1.fep127, 0x1p-133},
};

static void test_half_round_trip(const struct half_format *format)
{
    int wrong = 0;
    for (unsigned bits = 0; bits <= 0xffff; bits++) {
        float value = format->to_float((uint16_t)bits);
        if ((bits & 0x7fff) > format->infinity) { /* a NaN comes back quiet */
            unsigned quiet = format->infinity | (format->infinity & -format->infinity) >> 1;
            wrong += !isnan(value) || (signbit(value) != 0) != bits >> 15;
            wrong += format->from_float(value) != (bits | quiet);
            continue;
        }
        wrong += format->from_float(value) != bits || format->from_double((double)value) != bits;
        wrong += (signbit(value) != 0) != bits >> 15;
    }
    check_none(wrong, format->name);
}

/* Between each pair of neighbours: the midpoint goes to the even one, what lies beside it to the nearer. */
static void test_half_midpoints(const struct half_format *format)
{
    int wrong = 0;
    for (unsigned low = 0; low < format->infinity; low++) {
        double below = format->to_float((uint16_t)low);
        /* beyond the largest value the next step counts as one, though it is infinity */
        double above = low + 1 < format->infinity ? format->to_float((uint16_t)(low + 1))
                                                  : 2 * below - format->to_float((uint16_t)(low - 1));
        double middle = (below + above) / 2;
        unsigned even = low & 1 ? low + 1 : low;
        wrong += format->from_double(middle) != even;
        wrong += format->from_double(nextafter(middle, 0)) != low;
        wrong += format->from_double(nextafter(middle, INFINITY)) != low + 1;
        wrong += format->from_double(-middle) != (even | 0x8000);
        if ((double)(float)middle == middle && (float)middle > 0) {
            wrong += format->from_float((float)middle) != even;
            wrong += format->from_float(nextafterf((float)middle, 0)) != low;
            wrong += format->from_float(nextafterf((float)middle, INFINITY)) != low + 1;
        }
    }
    check_none(wrong, format->name);
}

static void test_half_edges(const struct half_format *format)
{
    CHECK(format->to_float(1) == format->smallest);
    CHECK(format->to_float((uint16_t)(format->infinity - 1)) == format->largest);
    CHECK(isinf(format->to_float((uint16_t)format->infinity)));
    CHECK_INT(format->from_double(INFINITY), format->infinity);
    CHECK_INT(format->from_double(-INFINITY), format->infinity | 0x8000);
    CHECK_INT(format->from_double(DBL_MAX), format->infinity);
    CHECK_INT(format->from_double(format->smallest / 2), 0);
    CHECK_INT(format->from_double(nextafter(format->smallest / 2, 1)), 1);
    CHECK_INT(format->from_double(format->smallest / 4), 0);
    CHECK_INT(format->from_double(-DBL_TRUE_MIN), 0x8000);
    CHECK_INT(format->from_double(-0.0), 0x8000);
    CHECK((format->from_double(NAN) & 0x7fff) > format->infinity);
}

static void test_halves(void)
{
    for (size_t i = 0; i < sizeof half_formats / sizeof *half_formats; i++) {
        test_half_round_trip(&half_formats[i]);
        test_half_midpoints(&half_formats[i]);
        test_half_edges(&half_formats[i]);
    }
    /* rounded once: through float this would become the tie, and then 1.0 */
    CHECK_INT(half_from_double(1 + 0x1p-11 + 0x1p-40), 0x3c01);
    CHECK_INT(bfloat_from_double(1 + 0x1p-8 + 0x1p-40), 0x3f81);
    CHECK(half_to_float(0x3555) == 0x1.554p-2f);
    CHECK(bfloat_to_float(0x3eab) == 0x1.56p-2f);
}

/* ---- casts --------------------------------------------------------------- */

static const akg_dtype every_integer[] = {AKG_INT8,  AKG_INT16,  AKG_INT32,  AKG_INT64,
                                          AKG_UINT8, AKG_UINT16, AKG_UINT32, AKG_UINT64};

static int64_t smallest_of(akg_dtype dtype)
{
    return dtype_is_signed(dtype) ? (int64_t)(UINT64_MAX << (dtype_table[dtype].size * 8 - 1)) : 0;
}

static int64_t largest_of(akg_dtype dtype)
{
    int bits = dtype_table[dtype].size * 8 - dtype_is_signed(dtype);
    return (int64_t)(UINT64_MAX >> (64 - bits));
}

static int64_t integer_of(akg_dtype to, double value)
{
    return dtype_cast(to, AKG_FLOAT64, (union dtype_value){.d = value}).i;
}

static int64_t integer_of_float(akg_dtype to, float value)
{
    return dtype_cast(to, AKG_FLOAT32, (union dtype_value){.f = value}).i;
}

static void test_saturation(akg_dtype to)
{
    int64_t smallest = smallest_of(to), largest = largest_of(to);
    double past = ldexp(1, dtype_table[to].size * 8 - dtype_is_signed(to)); /* one more than the largest */
    CHECK_INT(integer_of(to, NAN), 0);
    CHECK_INT(integer_of(to, -NAN), 0);
    CHECK_INT(integer_of(to, INFINITY), largest);
    CHECK_INT(integer_of(to, -INFINITY), smallest);
    CHECK_INT(integer_of(to, DBL_MAX), largest);
    CHECK_INT(integer_of(to, -DBL_MAX), smallest);
    CHECK_INT(integer_of(to, past), largest);
    CHECK_INT(integer_of(to, -past), smallest);
    CHECK_INT(integer_of(to, nextafter(-past, -INFINITY)), smallest);
    CHECK_INT(integer_of(to, nextafter(past, 0)), dtype_table[to].size < 8 ? largest
                                                  : dtype_is_signed(to)    ? INT64_MAX - 1023
                                                                           : -2048);
    CHECK_INT(integer_of(to, 0.99), 0);
    CHECK_INT(integer_of(to, -0.99), 0);
    CHECK_INT(integer_of(to, -0.0), 0);
    CHECK_INT(integer_of(to, 100.99), 100);
    CHECK_INT(integer_of(to, -100.99), dtype_is_signed(to) ? -100 : 0);
    CHECK_INT(integer_of_float(to, NAN), 0);
    CHECK_INT(integer_of_float(to, INFINITY), largest);
    CHECK_INT(integer_of_float(to, -INFINITY), smallest);
    CHECK_INT(integer_of_float(to, FLT_MAX), largest);
    CHECK_INT(integer_of_float(to, -FLT_MAX), smallest);
    CHECK_INT(integer_of_float(to, (float)past), largest);
    CHECK_INT(integer_of_float(to, (float)-past), smallest);
    if (dtype_table[to].size == 8)
        CHECK_INT(integer_of_float(to, nextafterf((float)past, 0)),
                  dtype_is_signed(to) ? INT64_MAX - (INT64_C(1) << 39) + 1 : -(INT64_C(1) << 40));
    /* the halves travel as floats */
    CHECK_INT(dtype_cast(to, AKG_FLOAT16, (union dtype_value){.f = 65504}).i,
              largest < 65504 && largest > 0 ? largest : 65504);
    CHECK_INT(dtype_cast(to, AKG_BFLOAT16, (union dtype_value){.f = -0x1p127f}).i, smallest);
}

static void test_integer_wrap(void)
{
    CHECK_INT(dtype_wrap(AKG_INT8, 128), -128);
    CHECK_INT(dtype_wrap(AKG_INT8, -129), 127);
    CHECK_INT(dtype_wrap(AKG_INT16, 32768), -32768);
    CHECK_INT(dtype_wrap(AKG_INT32, INT64_C(2147483648)), INT32_MIN);
    CHECK_INT(dtype_wrap(AKG_INT64, INT64_MIN), INT64_MIN);
    CHECK_INT(dtype_wrap(AKG_UINT8, -1), 255);
    CHECK_INT(dtype_wrap(AKG_UINT16, 65536), 0);
    CHECK_INT(dtype_wrap(AKG_UINT32, -1), INT64_C(4294967295));
    CHECK_INT(dtype_wrap(AKG_UINT64, -1), -1);
    CHECK_INT(dtype_wrap(AKG_BOOL, 256), 1);
    CHECK_INT(dtype_wrap(AKG_BOOL, 0), 0);
    for (size_t i = 0; i < sizeof every_integer / sizeof *every_integer; i++) {
        akg_dtype to = every_integer[i];
        CHECK_INT(dtype_wrap(to, largest_of(to)), largest_of(to));
        CHECK_INT(dtype_wrap(to, smallest_of(to)), smallest_of(to));
        CHECK_INT(dtype_wrap(to, (int64_t)((uint64_t)largest_of(to) + 1)), smallest_of(to));
    }
}

static union dtype_value cast_integer_to(akg_dtype to, akg_dtype from, int64_t value)
{
    return dtype_cast(to, from, (union dtype_value){.i = value});
}

static void test_integer_to_float(void)
{
    CHECK(cast_integer_to(AKG_FLOAT64, AKG_UINT64, -1).d == 0x1p64);
    CHECK(cast_integer_to(AKG_FLOAT64, AKG_INT64, -1).d == -1);
    CHECK(cast_integer_to(AKG_FLOAT32, AKG_UINT64, -1).f == 0x1p64f);
    CHECK(cast_integer_to(AKG_FLOAT32, AKG_INT64, INT64_MIN).f == -0x1p63f);
    /* rounded once: as a double first, this would be the tie and go down */
    CHECK(cast_integer_to(AKG_FLOAT32, AKG_INT64, (INT64_C(1) << 60) + (INT64_C(1) << 36) + 1).f ==
          0x1.000002p60f);
    CHECK(cast_integer_to(AKG_BFLOAT16, AKG_INT64, (INT64_C(1) << 62) + (INT64_C(1) << 54) + 1).f ==
          0x1.02p62f);
    CHECK(cast_integer_to(AKG_BFLOAT16, AKG_INT64, (INT64_C(1) << 62) + (INT64_C(1) << 54)).f == 0x1p62f);
    CHECK(cast_integer_to(AKG_BFLOAT16, AKG_INT64, -(INT64_C(1) << 62) - (INT64_C(1) << 54) - 1).f ==
          -0x1.02p62f);
    CHECK(cast_integer_to(AKG_BFLOAT16, AKG_UINT64, -1).f == 0x1p64f);
    CHECK(cast_integer_to(AKG_BFLOAT16, AKG_INT32, 257).f == 256);
    CHECK(cast_integer_to(AKG_FLOAT16, AKG_INT32, 65519).f == 65504);
    CHECK(isinf(cast_integer_to(AKG_FLOAT16, AKG_INT32, 65520).f));
    CHECK(isinf(cast_integer_to(AKG_FLOAT16, AKG_UINT64, -1).f));
    CHECK(cast_integer_to(AKG_FLOAT16, AKG_INT64, INT64_MIN).f == -INFINITY);
    CHECK(cast_integer_to(AKG_FLOAT16, AKG_INT16, 2049).f == 2048);
    CHECK(cast_integer_to(AKG_FLOAT32, AKG_BOOL, 1).f == 1);
}

static void test_other_casts(void)
{
    CHECK_INT(cast_integer_to(AKG_BOOL, AKG_INT32, 256).i, 1);
    CHECK_INT(cast_integer_to(AKG_UINT8, AKG_INT32, -1).i, 255);
    CHECK_INT(cast_integer_to(AKG_INT8, AKG_UINT64, -1).i, -1);
    CHECK_INT(integer_of(AKG_BOOL, 0.5), 1);
    CHECK_INT(integer_of(AKG_BOOL, -0.0), 0);
    CHECK_INT(integer_of(AKG_BOOL, NAN), 1);
    CHECK(dtype_cast(AKG_FLOAT32, AKG_FLOAT64, (union dtype_value){.d = 1e300}).f == INFINITY);
    CHECK(dtype_cast(AKG_FLOAT64, AKG_FLOAT16, (union dtype_value){.f = 0x1p-24f}).d == 0x1p-24);
    CHECK(dtype_cast(AKG_FLOAT16, AKG_BFLOAT16, (union dtype_value){.f = 0x1p-24f}).f == 0x1p-24f);
    CHECK(dtype_cast(AKG_BFLOAT16, AKG_FLOAT16, (union dtype_value){.f = 1 + 0x1p-10f}).f == 1);
    CHECK(dtype_cast(AKG_FLOAT16, AKG_FLOAT32, (union dtype_value){.f = 65520}).f == INFINITY);
    CHECK(dtype_to_double(AKG_UINT64, (union dtype_value){.i = INT64_MIN}) == 0x1p63);
    CHECK(dtype_to_double(AKG_BFLOAT16, (union dtype_value){.f = 3.5f}) == 3.5);
    CHECK(dtype_to_double(AKG_FLOAT64, (union dtype_value){.d = 0.1}) == 0.1);
    CHECK_INT(dtype_from_double(AKG_UINT8, 300).i, 255);
    CHECK(dtype_from_double(AKG_FLOAT16, 0.1).f == 0x1.998p-4f);
}

/* Every dtype: what is stored is loaded again, and nothing beside it is touched. */
static void test_load_store(void)
{
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        unsigned char memory[24];
        int size = dtype_table[dtype].size;
        memset(memory, 0xa5, sizeof memory);
        union dtype_value value =
            dtype_from_double((akg_dtype)dtype, dtype_is_signed((akg_dtype)dtype) ? -7 : 1);
        dtype_store((akg_dtype)dtype, memory + 3, value);
        CHECK(dtype_to_double((akg_dtype)dtype, dtype_load((akg_dtype)dtype, memory + 3)) ==
              dtype_to_double((akg_dtype)dtype, value));
        int wrong = 0;
        for (int i = 0; i < (int)sizeof memory; i++)
            if (i < 3 || i >= 3 + size)
                wrong += memory[i] != 0xa5;
        check_none(wrong, dtype_table[dtype].name);
    }
    unsigned char ones[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    CHECK_INT(dtype_load(AKG_UINT8, ones).i, 255);
    CHECK_INT(dtype_load(AKG_UINT32, ones).i, INT64_C(4294967295));
    CHECK_INT(dtype_load(AKG_INT16, ones).i, -1);
    CHECK_INT(dtype_load(AKG_BOOL, ones).i, 1);
    dtype_store(AKG_BOOL, ones, (union dtype_value){.i = 256});
    CHECK_INT(ones[0], 1);
    dtype_store(AKG_FLOAT16, ones, (union dtype_value){.f = 1});
    CHECK_INT(ones[0] | ones[1] << 8, 0x3c00);
}

static void test_dtype_table(void)
{
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        CHECK_INT(akg_dtype_from_name(akg_dtype_name((akg_dtype)dtype)), dtype);
        CHECK_INT(akg_dtype_size((akg_dtype)dtype), dtype_table[dtype].size);
        CHECK(dtype_is_float((akg_dtype)dtype) == (dtype_table[dtype].class == DTYPE_FLOAT));
        CHECK(dtype_is_signed((akg_dtype)dtype) == (dtype_table[dtype].class == DTYPE_SIGNED));
    }
    CHECK_STRING(akg_dtype_name(AKG_BFLOAT16), "bfloat16");
    CHECK(akg_dtype_name(AKG_DTYPE_COUNT) == NULL);
    CHECK(akg_dtype_name((akg_dtype)-1) == NULL);
    CHECK_INT(akg_dtype_from_name("float"), AKG_DTYPE_COUNT);
    CHECK_INT(akg_dtype_from_name(NULL), AKG_DTYPE_COUNT);
    CHECK_INT(akg_dtype_size(AKG_DTYPE_COUNT), 0);
}

/* ---- text ---------------------------------------------------------------- */

static void check_double(double value, const char *expected)
{
    struct text text;
    text_init(&text);
    text_double(&text, value);
    CHECK_STRING(text.data, expected);
    text_free(&text);
}

static void check_float(float value, const char *expected)
{
    struct text text;
    text_init(&text);
    text_float(&text, value);
    CHECK_STRING(text.data, expected);
    text_free(&text);
}

static void test_numbers(void)
{
    check_double(0, "0.0");
    check_double(-0.0, "-0.0");
    check_double(1, "1.0");
    check_double(-100, "-100.0");
    check_double(0.1, "0.1");
    check_double(0.1 + 0.2, "0.30000000000000004");
    check_double(1234.5, "1234.5");
    check_double(1e15, "1000000000000000.0");
    check_double(1e16, "1e+16");
    check_double(1.5e300, "1.5e+300");
    check_double(1e-4, "0.0001");
    check_double(1.25e-5, "1.25e-05");
    check_double(9007199254740993.0, "9007199254740992.0");
    check_double(0x1p-44, "5.684341886080802e-14"); /* the nearest 16 digits, ...801, read as its neighbour */
    check_double(DBL_MAX, "1.7976931348623157e+308");
    check_double(DBL_TRUE_MIN, "5e-324");
    check_double(DBL_MIN, "2.2250738585072014e-308");
    check_double(INFINITY, "inf");
    check_double(-INFINITY, "-inf");
    check_double(NAN, "nan");
    check_double(-NAN, "nan");
    check_float(0.1f, "0.1");
    check_float(16777216.0f, "16777216.0");
    check_float(FLT_MAX, "3.4028235e+38");
    check_float(FLT_TRUE_MIN, "1e-45");
    check_float(1.0f / 3, "0.33333334");
    check_float(-INFINITY, "-inf");
}

static void test_numbers_read_back(void)
{
    int wrong = 0;
    uint64_t state = 1;
    struct text text;
    text_init(&text);
    for (int i = 0; i < 4000; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t bits = state ^ state >> 29;
        double value;
        memcpy(&value, &bits, sizeof value);
        uint32_t single_bits = (uint32_t)(bits >> 32);
        float single;
        memcpy(&single, &single_bits, sizeof single);
        if (isnan(value) || isnan(single))
            continue;
        text.length = 0;
        text_double(&text, value);
        wrong += strtod(text.data, NULL) != value || !strpbrk(text.data, ".en");
        text.length = 0;
        text_float(&text, single);
        wrong += strtof(text.data, NULL) != single || !strpbrk(text.data, ".en");
    }
    check_none(wrong, "numbers that read back");
    text_free(&text);
}

static void check_json(const char *string, const char *expected)
{
    struct text text;
    text_init(&text);
    text_json(&text, string);
    CHECK_STRING(text.data, expected);
    text_free(&text);
}

static void test_json(void)
{
    check_json("", "\"\"");
    check_json("a\"b\\c/", "\"a\\\"b\\\\c/\"");
    check_json("\b\f\n\r\t\x01\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u007f\"");
    check_json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    check_json("\xff|\xc3|\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80",
               "\"\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"
               "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void test_text(void)
{
    struct text text;
    text_init(&text);
    char *empty = text_take(&text);
    CHECK_STRING(empty, "");
    memory_free(empty);

    for (int i = 0; i < 100; i++)
        text_format(&text, "%d,", i % 10);
    CHECK_INT(text.length, 200);
    text_char(&text, 'x');
    text_repeat(&text, '-', 300);
    text_repeat(&text, '-', -1);
    text_append(&text, "a\0b", 3);
    CHECK_INT(text.length, 504);
    CHECK(memcmp(text.data + 196, "8,9,x--", 7) == 0 && memcmp(text.data + 500, "-a\0b", 5) == 0);
    char *taken = text_take(&text);
    CHECK(taken != NULL && text.data == NULL && text.length == 0);
    memory_free(taken);
    text_free(&text);
}

/* Formats as vsnprintf does, whatever the size of the buffer. */
__attribute__((format(printf, 1, 2))) static void check_format(const char *format, ...)
{
    char ours[80], theirs[80];
    int wrong = 0;

    for (size_t size = 0; size <= sizeof ours; size++) {
        va_list list, again;
        memset(ours, 'x', sizeof ours);
        memset(theirs, 'x', sizeof theirs);
        va_start(list, format);
        va_copy(again, list);
        int length = format_list(ours, size, format, list);
        wrong += length != vsnprintf(theirs, size, format, again);
        /* behind the NUL anything may stand, but only in the buffer */
        wrong += size && strcmp(ours, theirs) != 0;
        wrong += memcmp(ours + size, theirs + size, sizeof ours - size) != 0;
        va_end(again);
        va_end(list);
    }
    check_none(wrong, format);
}

static void test_format(void)
{
    check_format("plain%%");
    check_format("%s = %s[%d];%c", "acc", "", 7, 'x');
    check_format("%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
    check_format("%lld %lld %lld", 0ll, LLONG_MAX, LLONG_MIN);
    check_format("%s %5d|%.*s|%llu", "among others", 12, 2, "abc", ULLONG_MAX);
    check_format("%d %.1f %s", 3, 2.25, "end");
}

/* ---- arena --------------------------------------------------------------- */

/* Many pieces, some larger than a block: zeroed, aligned, apart from each other. */
static void test_arena_pieces(struct arena *arena)
{
    enum { COUNT = 400 };
    unsigned char *pieces[COUNT];
    size_t sizes[COUNT];
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) {
        sizes[i] = i % 50 == 49 ? 300000 : (size_t)i * 7 % 200;
        pieces[i] = arena_allocate(arena, sizes[i]);
        wrong += (uintptr_t)pieces[i] % _Alignof(max_align_t) != 0;
        for (size_t j = 0; j < sizes[i]; j++)
            wrong += pieces[i][j] != 0;
        memset(pieces[i], i & 255, sizes[i]);
    }
    for (int i = 0; i < COUNT; i++)
        for (size_t j = 0; j < sizes[i]; j++)
            wrong += pieces[i][j] != (i & 255);
    check_none(wrong, "arena pieces");
}

static void test_arena_lists(struct arena *arena)
{
    LIST(int) numbers = {0};
    for (int i = 0; i < 1000; i++)
        list_push(arena, &numbers, i * 3);
    int wrong = 0;
    for (int i = 0; i < 1000; i++)
        wrong += numbers.items[i] != i * 3;
    check_none(wrong, "list items");
    CHECK_INT(numbers.count, 1000);
    CHECK_STRING(arena_copy(arena, "abcdef", 3), "abc");
    CHECK_STRING(arena_copy(arena, NULL, 0), "");
    CHECK_STRING(arena_format(arena, "%s=%d", "x", 5), "x=5");
    CHECK_INT(strlen(arena_format(arena, "%9000d", 5)), 9000);
}

/* What came before the mark stays, what comes after a rewind is zero-filled again. */
static void test_arena_rewind(struct arena *arena)
{
    char *kept = arena_copy(arena, "kept", 4);

    for (int round = 0; round < 3; round++) {
        struct arena_mark mark = arena_mark(arena);
        for (size_t size = 1; size < 1 << 21; size *= 3) {
            const char *piece = arena_allocate(arena, size);
            CHECK(piece[0] == 0 && piece[size / 2] == 0 && piece[size - 1] == 0);
            memset((char *)piece, 'x', size);
        }
        struct arena_mark inner = arena_mark(arena);
        memset(arena_allocate(arena, 1 << 20), 'y', 1 << 20);
        arena_rewind(arena, inner);
        arena_rewind(arena, mark);
        CHECK(arena->blocks == mark.block && arena->next == mark.next);
    }
    CHECK_STRING(kept, "kept");
}

static void test_arena(void)
{
    jmp_buf escape;
    struct arena arena;
    volatile int escaped = 0;
    arena_init(&arena, &escape);
    if (setjmp(escape) == 0) {
        test_arena_pieces(&arena);
        test_arena_lists(&arena);
        test_arena_rewind(&arena);
    } else {
        escaped = 1;
    }
    CHECK_INT(escaped, 0);
    if (setjmp(escape) == 0)
        arena_array(&arena, double, -1); /* as a size this is too large for any heap */
    else
        escaped = 1;
    CHECK_INT(escaped, 1);
    arena_free(&arena);
    CHECK(arena.blocks == NULL);
    arena_free(&arena);
}

/* Arenas of one thread get the blocks that another gave back; no two have the same one at a time, and what is
 * allocated is clear. Gives the number of bytes that were not what they should be. */
static void *use_arenas(void *mark)
{
    enum { ROUNDS = 200, PIECES = 60, SIZE = 5000 };
    volatile intptr_t wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        jmp_buf escape;
        struct arena arena;
        unsigned char *pieces[PIECES];
        arena_init(&arena, &escape);
        if (setjmp(escape) != 0)
            return (void *)(intptr_t)-1;
        for (int k = 0; k < PIECES; k++) {
            pieces[k] = arena_allocate(&arena, SIZE);
            for (int at = 0; at < SIZE; at += 7)
                wrong += pieces[k][at] != 0;
            memset(pieces[k], (int)(intptr_t)mark, SIZE);
        }
        for (int k = 0; k < PIECES; k++)
            for (int at = 0; at < SIZE; at += 7)
                wrong += pieces[k][at] != (int)(intptr_t)mark;
        arena_free(&arena);
    }
    return (void *)wrong;
}

static void test_arena_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    void *wrong;
    for (int k = 0; k < THREADS; k++)
        CHECK_INT(pthread_create(&threads[k], NULL, use_arenas, (void *)(intptr_t)(k + 1)), 0);
    for (int k = 0; k < THREADS; k++) {
        CHECK_INT(pthread_join(threads[k], &wrong), 0);
        CHECK_INT((intptr_t)wrong, 0);
    }
}

static void test_memory(void)
{
    void *aligned = memory_aligned(1);
    CHECK(aligned != NULL && (uintptr_t)aligned % 64 == 0);
    memory_free(aligned);
    aligned = memory_aligned(0);
    CHECK(aligned != NULL);
    memory_free(aligned);
    CHECK(memory_aligned(SIZE_MAX) == NULL);
    volatile size_t half = SIZE_MAX / 2;
    CHECK(memory_zeroed(half, 3) == NULL);
    char *nothing = memory_resize(memory_allocate(0), 0);
    CHECK(nothing != NULL);
    memory_free(nothing);
    char *copy = memory_copy_string("text");
    CHECK_STRING(copy, "text");
    memory_free(copy);
}

#ifdef AKG_FAULT_INJECTION
static void test_faults(void)
{
    memory_fail_after(1);
    char *first = memory_allocate(8);
    CHECK(first != NULL);
    CHECK_INT(memory_fail_remaining(), 0);
    CHECK(memory_resize(first, 16) == NULL);
    CHECK(memory_fail_remaining() < 0);
    char *again = memory_resize(first, 16);
    CHECK(again != NULL);
    memory_free(again);
    memory_fail_after(0);
    CHECK(memory_fail_here());
    CHECK(!memory_fail_here());

    struct text text;
    text_init(&text);
    text_string(&text, "kept");
    memory_fail_after(0);
    text_repeat(&text, 'x', 100);
    CHECK(text.failed);
    text_string(&text, "y");
    CHECK_STRING(text.data, "kept");
    CHECK(text_take(&text) == NULL);
    CHECK(text.data == NULL && !text.failed);

    jmp_buf escape;
    struct arena arena;
    volatile int reached = 0;
    arena_init(&arena, &escape);
    memory_fail_after(1);
    if (setjmp(escape) == 0) {
        arena_allocate(&arena, 10);
        reached = 1;
        arena_allocate(&arena, 100000);
        reached = 2;
    }
    CHECK_INT(reached, 1);
    arena_free(&arena);
    memory_fail_after(-1);
}
#endif

/* ---- spelling, status ---------------------------------------------------- */

static void test_spelling(void)
{
    static const char *const names[] = {"range", "sqrt",  "rsqrt", "output_tensor", NULL,
                                        "N",     "shape", "log",   "log2"};
    int count = (int)(sizeof names / sizeof *names);
    CHECK_STRING(spelling_nearest("rnage", names, count), "range");
    CHECK_STRING(spelling_nearest("sqr", names, count), "sqrt");
    CHECK_STRING(spelling_nearest("rsqt", names, count), "rsqrt");
    CHECK_STRING(spelling_nearest("ouptut_tenser", names, count), "output_tensor");
    CHECK_STRING(spelling_nearest("n", names, count), "N");
    CHECK_STRING(spelling_nearest("Shape", names, count), "shape");
    CHECK_STRING(spelling_nearest("lgo", names, count), "log");
    CHECK(spelling_nearest("x", names, count) == NULL);
    CHECK(spelling_nearest("sq", names, count) == NULL);
    CHECK(spelling_nearest("banana", names, count) == NULL);
    CHECK(spelling_nearest("", names, count) == NULL);
    CHECK(spelling_nearest("range", NULL, 0) == NULL);
    CHECK(spelling_nearest("an_identifier_that_is_much_longer_than_sixty_three_bytes_and_so_is_left_alone",
                           names, count) == NULL);
    static const char *const self[] = {"range", "rangf"};
    CHECK_STRING(spelling_nearest("range", self, 2), "rangf");
}

static void test_status(void)
{
    for (int status = AKG_OK; status <= AKG_ERROR_DEVICE; status++)
        for (int other = status + 1; other <= AKG_ERROR_IO + 1; other++)
            CHECK(strcmp(akg_status_text((akg_status)status), akg_status_text((akg_status)other)) != 0);
    CHECK_STRING(akg_version(), VERSION);
    akg_free(NULL);
}

/* Quotients by powers of two are products: of every one that has an inverse, and of none else. */
static void test_inverses(void)
{
    for (int k = -149; k < 128; k++) {
        union dtype_value value = dtype_from_double(AKG_FLOAT32, ldexp(1, k)), inverse;
        inverse.i = (int64_t)number_inverse_bits((uint32_t)value.i, false);
        CHECK(k < -126 || k == 127 ? inverse.i == 0 : inverse.f == ldexpf(1, -k));
    }
    for (int k = -1074; k < 1024; k++) {
        union dtype_value value = {.d = -ldexp(1, k)}, inverse;
        inverse.i = (int64_t)number_inverse_bits((uint64_t)value.i, true);
        CHECK(k < -1022 || k == 1023 ? inverse.i == 0 : inverse.d == -ldexp(1, -k));
    }
    CHECK(number_inverse_bits(0, true) == 0 && number_inverse_bits(0x7f800000, false) == 0 &&
          number_inverse_bits(0x40400000 /* 3 */, false) == 0);
}

int main(void)
{
    test_inverses();
    test_halves();
    for (size_t i = 0; i < sizeof every_integer / sizeof *every_integer; i++)
        test_saturation(every_integer[i]);
    test_integer_wrap();
    test_integer_to_float();
    test_other_casts();
    test_load_store();
    test_dtype_table();
    test_numbers();
    test_numbers_read_back();
    test_json();
    test_text();
    test_format();
    test_arena();
    test_arena_threads();
    test_memory();
#ifdef AKG_FAULT_INJECTION
    test_faults();
#endif
    test_spelling();
    test_status();
    return check_done();
}

/*
 * text.c: the growing string, and the two literals everybody prints: numbers
 * that read back and JSON strings. Independent of the locale's decimal point.
 */
#include "text.h"
#include "format.h"
#include "memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_init(struct text *text)
{
    *text = (struct text){0};
}

void text_free(struct text *text)
{
    memory_free(text->data);
    text_init(text);
}

/* Makes room for `extra` more bytes and a NUL; false when the text has failed. */
static bool text_reserve(struct text *text, size_t extra)
{
    if (text->failed)
        return false;
    if (extra < text->capacity - text->length)
        return true;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity <= PTRDIFF_MAX / 2 && capacity - text->length <= extra)
        capacity *= 2;
    char *data = capacity - text->length > extra ? memory_resize(text->data, capacity) : NULL;
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    text->data[text->length] = 0;
    return true;
}

void text_append(struct text *text, const char *bytes, size_t length)
{
    if (!text_reserve(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = 0;
}

void text_string(struct text *text, const char *string)
{
    text_append(text, string, strlen(string));
}

void text_char(struct text *text, char character)
{
    text_append(text, &character, 1);
}

void text_repeat(struct text *text, char character, int count)
{
    if (count <= 0 || !text_reserve(text, (size_t)count))
        return;
    memset(text->data + text->length, character, (size_t)count);
    text->length += (size_t)count;
    text->data[text->length] = 0;
}

void text_format(struct text *text, const char *format, ...)
{
    va_list list, again;

    if (!text_reserve(text, 0))
        return;
    size_t room = text->capacity - text->length; /* most fit, and need not be printed twice */
    va_start(list, format);
    va_copy(again, list);
    int length = format_list(text->data + text->length, room, format, list);
    if (length < 0 || (size_t)length >= room) {
        text->data[text->length] = 0;
        if (length < 0)
            text->failed = true; /* longer than INT_MAX */
        else if (text_reserve(text, (size_t)length))
            format_list(text->data + text->length, (size_t)length + 1, format, again);
    }
    text->length += text->failed ? 0 : (size_t)length;
    va_end(again);
    va_end(list);
}

char *text_take(struct text *text)
{
    char *data = text_reserve(text, 0) ? text->data : NULL;
    if (data)
        text_init(text);
    else
        text_free(text);
    return data;
}

const char *text_into_arena(struct text *text, struct arena *arena)
{
    jmp_buf *outer = arena->escape, here;
    if (setjmp(here)) {
        text_free(text);
        arena->escape = outer;
        longjmp(*outer, 1);
    }
    arena->escape = &here;
    if (text->failed)
        longjmp(here, 1);
    const char *copy = arena_copy(arena, text->length ? text->data : "", text->length);
    arena->escape = outer;
    text_free(text);
    return copy;
}

/* ---- UTF-8 and JSON ------------------------------------------------------ */

int text_utf8(const char *bytes, size_t length, uint32_t *code)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000}; /* what needs that many bytes */
    if (length == 0)
        return 0;
    unsigned char first = (unsigned char)bytes[0];
    int count = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (count == 0 || (size_t)count > length)
        return 0;
    uint32_t value = count == 1 ? first : first & (0x7f >> count);
    for (int i = 1; i < count; i++) {
        unsigned char next = (unsigned char)bytes[i];
        if (next >> 6 != 2)
            return 0;
        value = value << 6 | (next & 0x3f);
    }
    if (value < least[count] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code = value;
    return count;
}

void text_json(struct text *text, const char *string)
{
    static const char letters[] = "b\bf\fn\nr\rt\t";
    size_t length = strlen(string);
    text_char(text, '"');
    for (size_t at = 0; at < length;) {
        uint32_t code = 0xfffd;
        int count = text_utf8(string + at, length - at, &code);
        const char *letter = code < 0x20 ? strchr(letters, (int)code) : NULL;
        if (count == 0)
            text_string(text, "\xef\xbf\xbd");
        else if (code == '"' || code == '\\')
            text_format(text, "\\%c", (char)code);
        else if (letter)
            text_format(text, "\\%c", letter[-1]);
        else if (code < 0x20 || code == 0x7f)
            text_format(text, "\\u%04x", (unsigned)code);
        else
            text_append(text, string + at, (size_t)count);
        at += count ? (size_t)count : 1;
    }
    text_char(text, '"');
}

/* ---- numbers ------------------------------------------------------------- */

enum { MOST_DIGITS = 17 };

/* A decimal: 0.d1d2d3... times ten to the power `point`. */
struct decimal {
    char digits[MOST_DIGITS + 1];
    int count, point;
};

/* The `count` digits nearest to a positive value. */
static struct decimal decimal_nearest(double value, int count)
{
    struct decimal decimal = {.count = 0};
    char buffer[64];
    snprintf(buffer, sizeof buffer, "%.*e", count - 1, value);
    char *exponent = strchr(buffer, 'e');
    /* the decimal point of the locale is whatever is no digit */
    for (char *at = buffer; at < exponent; at++)
        if (*at >= '0' && *at <= '9')
            decimal.digits[decimal.count++] = *at;
    decimal.point = atoi(exponent + 1) + 1;
    return decimal;
}

/* The next larger decimal of as many digits. */
static void decimal_increment(struct decimal *decimal)
{
    int at = decimal->count - 1;
    while (at >= 0 && decimal->digits[at] == '9')
        decimal->digits[at--] = '0';
    if (at >= 0) {
        decimal->digits[at]++;
        return;
    }
    decimal->digits[0] = '1';
    decimal->point++;
}

static bool decimal_reads_as(const struct decimal *decimal, double value, bool single)
{
    char buffer[64];
    /* digits without a point, so that the locale does not matter */
    snprintf(buffer, sizeof buffer, "%se%d", decimal->digits, decimal->point - decimal->count);
    return (single ? (double)strtof(buffer, NULL) : strtod(buffer, NULL)) == value;
}

/* The shortest decimal that reads as the positive value. */
static struct decimal decimal_shortest(double value, bool single)
{
    int half_exponent;
    /* Below a power of two the neighbour is nearer than above it: there a decimal just above may read back
     * where the nearest one, below, does not. */
    bool lopsided = frexp(value, &half_exponent) == 0.5;
    struct decimal decimal = {.count = 0};
    for (int count = 1; count <= MOST_DIGITS; count++) {
        decimal = decimal_nearest(value, count);
        if (decimal_reads_as(&decimal, value, single))
            break;
        struct decimal above = decimal;
        decimal_increment(&above);
        if (lopsided && decimal_reads_as(&above, value, single))
            return above;
    }
    return decimal;
}

static void text_number(struct text *text, double value, bool single)
{
    if (isnan(value)) {
        text_string(text, "nan");
        return;
    }
    if (signbit(value))
        text_char(text, '-');
    value = fabs(value);
    if (isinf(value)) {
        text_string(text, "inf");
        return;
    }
    if (value == 0) {
        text_string(text, "0.0");
        return;
    }
    struct decimal decimal = decimal_shortest(value, single);
    /* laid out as Python does: an exponent below 1e-4 and from 1e16 on */
    const char *digits = decimal.digits;
    if (decimal.point < -3 || decimal.point > 16) {
        text_append(text, digits, 1);
        if (decimal.count > 1)
            text_format(text, ".%s", digits + 1);
        text_format(text, "e%+03d", decimal.point - 1);
    } else if (decimal.point <= 0) {
        text_string(text, "0.");
        text_repeat(text, '0', -decimal.point);
        text_string(text, digits);
    } else if (decimal.count <= decimal.point) {
        text_string(text, digits);
        text_repeat(text, '0', decimal.point - decimal.count);
        text_string(text, ".0");
    } else {
        text_append(text, digits, (size_t)decimal.point);
        text_format(text, ".%s", digits + decimal.point);
    }
}

void text_double(struct text *text, double value)
{
    text_number(text, value, false);
}

void text_float(struct text *text, float value)
{
    text_number(text, (double)value, true);
}

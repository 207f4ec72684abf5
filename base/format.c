/*
 * format.c: printf's formatting into a buffer, fast for what is printed most.
 *
 * Consumes a format and its arguments; produces what vsnprintf would. Formats with no other directives than
 * those in format_plain are done here, all others by vsnprintf: emitted C is put together out of thousands of
 * small pieces, and the C library sets up a stream for each.
 */
#include "format.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* What was written so far, cut off at the end of the buffer. */
struct format_buffer {
    char *data;
    size_t size, length;
};

static void format_put(struct format_buffer *buffer, const char *bytes, size_t length)
{
    if (buffer->length < buffer->size) {
        size_t room = buffer->size - buffer->length;
        memcpy(buffer->data + buffer->length, bytes, length < room ? length : room);
    }
    buffer->length += length;
}

static void format_integer(struct format_buffer *buffer, long long number)
{
    char digits[3 * sizeof number + 1], *at = digits + sizeof digits;
    unsigned long long rest = number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number;

    do
        *--at = (char)('0' + rest % 10);
    while (rest /= 10);
    if (number < 0)
        *--at = '-';
    format_put(buffer, at, (size_t)(digits + sizeof digits - at));
}

/* %s, %c, %d, %lld and %%; false, and nothing that counts is done, where there is another. */
static bool format_plain(struct format_buffer *buffer, const char *format, va_list list)
{
    for (const char *at = format; *at;) {
        size_t plain = 0;
        while (at[plain] && at[plain] != '%')
            plain++;
        format_put(buffer, at, plain);
        at += plain;
        if (!*at)
            break;
        if (at[1] == 's') {
            const char *string = va_arg(list, const char *);
            if (!string)
                return false;
            format_put(buffer, string, strlen(string));
            at += 2;
        } else if (at[1] == 'd') {
            format_integer(buffer, va_arg(list, int));
            at += 2;
        } else if (strncmp(at, "%lld", 4) == 0) {
            format_integer(buffer, va_arg(list, long long));
            at += 4;
        } else if (at[1] == 'c') {
            char character = (char)va_arg(list, int);
            format_put(buffer, &character, 1);
            at += 2;
        } else if (at[1] == '%') {
            format_put(buffer, "%", 1);
            at += 2;
        } else {
            return false;
        }
    }
    return true;
}

int format_list(char *out, size_t size, const char *format, va_list list)
{
    struct format_buffer buffer = {out, size, 0};
    va_list again;
    bool plain;

    va_copy(again, list);
    plain = format_plain(&buffer, format, again);
    va_end(again);
    if (!plain)
        return vsnprintf(out, size, format, list);
    if (size)
        out[buffer.length < size ? buffer.length : size - 1] = 0;
    return buffer.length <= INT_MAX ? (int)buffer.length : -1;
}

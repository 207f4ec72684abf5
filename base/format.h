/*
 * format.h: printf's formatting into a buffer, fast for what is printed most.
 */
#ifndef BASE_FORMAT_H
#define BASE_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf. */
int format_list(char *out, size_t size, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));

#endif

/*
 * number.c: decimal text to double.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>

#include "memory.h"

/* strtod minds the locale of the program that we are part of, so it is given no decimal point: 0.25e3 as
 * 025e1. */
double arena_parse_real(struct arena *arena, const char *text, size_t length)
{
    char *digits = arena_allocate(arena, length + 1), *to = digits;
    long exponent = 0, fraction = 0;
    bool after_point = false;
    size_t at = 0;

    for (; at < length && text[at] != 'e' && text[at] != 'E'; at++) {
        if (text[at] == '.')
            after_point = true;
        if (text[at] < '0' || text[at] > '9')
            continue;
        fraction += after_point;
        *to++ = text[at];
    }
    if (at < length) {
        char *rest = arena_copy(arena, text + at + 1, length - at - 1), *from = rest, *keep = rest;
        for (; *from; from++)
            if (*from != '_')
                *keep++ = *from;
        *keep = 0;
        exponent = strtol(rest, NULL, 10);
    }
    if (exponent > INT_MAX || exponent < -INT_MAX)
        exponent = exponent > 0 ? INT_MAX : -INT_MAX;
    return strtod(arena_format(arena, "%se%ld", digits, exponent - fraction), NULL);
}

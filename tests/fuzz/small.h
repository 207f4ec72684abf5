/*
 * small.h: whether numbers that a text asks for, as extents of tensors say, stay small all together: a
 * generator of tensors may ask for all memory there is.
 */
#ifndef TESTS_FUZZ_SMALL_H
#define TESTS_FUZZ_SMALL_H

#include <stdbool.h>
#include <string.h>

static inline bool small_values(const char *text)
{
    const long most = 1 << 20;
    long product = 1, number = 0;
    bool generator = strchr(text, '(') != NULL;

    for (; *text && generator; text++) {
        if (strchr("eExX_", *text) && number)
            return false;
        number = *text >= '0' && *text <= '9' ? 10 * number + (*text - '0') : 0;
        if (number > most)
            return false;
        if (number && !(text[1] >= '0' && text[1] <= '9'))
            product *= number;
        if (product > most)
            return false;
    }
    return true;
}

#endif

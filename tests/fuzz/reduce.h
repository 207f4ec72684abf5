/*
 * reduce.h: the smallest program that still has a fault.
 */
#ifndef TESTS_FUZZ_REDUCE_H
#define TESTS_FUZZ_REDUCE_H

#include "../../base/text.h"

/* True when the text still has the fault in question. */
typedef bool (*reduce_test)(void *context, const char *text, size_t length);

/* Takes away lines, blocks' headers and tokens as long as the test holds, at most `tries` times. */
void reduce_program(struct text *program, reduce_test test, void *context, int tries);

#endif

/*
 * mutate.h: a program with a few things wrong: tokens dropped, swapped, doubled, replaced, numbers changed,
 * lines removed, repeated, moved in and out, bytes that belong in no program.
 */
#ifndef TESTS_FUZZ_MUTATE_H
#define TESTS_FUZZ_MUTATE_H

#include "../../base/text.h"
#include "random.h"

/* Appends a variant of the program. Lines that begin with #@ stay as they are. */
void mutate_program(struct text *out, const char *text, size_t length, struct random *random);

/* Length of the token (word, number, string, sign, run of spaces, newline) that starts there. */
size_t mutate_token(const char *text, size_t length);

#endif

/*
 * text.h: a growing string on the heap.
 *
 * Appending never fails visibly: when memory runs out the text is marked failed
 * and further appends do nothing; text_take then returns NULL. So printers are
 * written without checks and their caller asks once.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data; /* NUL-terminated when not NULL */
    size_t length, capacity;
    bool failed;
};

void text_init(struct text *text);
void text_free(struct text *text);
void text_append(struct text *text, const char *bytes, size_t length);
void text_string(struct text *text, const char *string);
void text_char(struct text *text, char character);
void text_format(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_repeat(struct text *text, char character, int count);
/* Bytes (1 to 4) of the well-formed UTF-8 sequence that starts there, its code point in *code; 0 when there
 * is none. */
int text_utf8(const char *bytes, size_t length, uint32_t *code);
/* A JSON string literal, quotes included; invalid UTF-8 becomes U+FFFD. */
void text_json(struct text *text, const char *string);
struct arena;
/* The string, now in the arena; the text is empty again, and so it is when memory runs out and the arena
 * escapes. */
const char *text_into_arena(struct text *text, struct arena *arena);
/* The string, now the caller's (memory_free), or NULL if memory ran out; never NULL for empty text. */
char *text_take(struct text *text);

/* The shortest decimal that reads back as the same double; "inf", "-inf", "nan". A '.0' or exponent is
 * always there: printed as Python's repr. */
void text_double(struct text *text, double value);
/* The same for float. */
void text_float(struct text *text, float value);

#endif

/*
 * json.h: a text of JSON as a tree, for the reports that akgrun wrote and reads again.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include "support.h"

enum json_kind { JSON_NULL, JSON_TRUE, JSON_FALSE, JSON_NUMBER, JSON_STRING, JSON_LIST, JSON_OBJECT };

struct json {
    enum json_kind kind;
    char *key; /* in an object */
    char *string;
    double number;
    struct json *first, *next; /* items or members; the next of the same parent */
};

/* NULL where the text is no JSON, and when memory ran out, which *problem then says: a line and column. */
struct json *json_read(const char *text, struct problem *problem);
void json_free(struct json *json);
/* The member of that name, or NULL; also for NULL and what is no object. */
const struct json *json_member(const struct json *json, const char *key);
/* The number of that member, or `missing`; the string, or NULL. */
double json_number(const struct json *json, const char *key, double missing);
const char *json_string(const struct json *json, const char *key);

#endif

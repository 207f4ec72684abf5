/*
 * json.c: reads JSON (RFC 8259) by recursive descent, to a bounded depth.
 */
#include "json.h"

#include <stdlib.h>
#include <string.h>

enum { JSON_DEEPEST = 100 };

struct reader {
    const char *start, *at;
    int depth;
    struct problem *problem;
};

static struct json *read_value(struct reader *reader);

static void skip_space(struct reader *reader)
{
    reader->at += strspn(reader->at, " \t\r\n");
}

static struct json *refuse(struct reader *reader, const char *expected)
{
    int line = 1;
    const char *begin = reader->start;
    for (const char *at = reader->start; at < reader->at; at++)
        if (*at == '\n') {
            line++;
            begin = at + 1;
        }
    problem_set(reader->problem, AKG_ERROR_USAGE, "%d:%d: expected %s", line, (int)(reader->at - begin) + 1,
                expected);
    return NULL;
}

static struct json *make(struct reader *reader, enum json_kind kind)
{
    struct json *json = calloc(1, sizeof *json);
    if (json)
        json->kind = kind;
    else
        problem_memory(reader->problem);
    return json;
}

/* A code point as UTF-8; how many bytes. */
static int put_code(char *out, unsigned code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3f));
    out[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

/* What stands behind a backslash, without it; halves of surrogate pairs stay halves. -1 where it is wrong. */
static int read_escape(struct reader *reader, char *out)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char *found = *reader->at ? strchr(letters, *reader->at) : NULL;
    if (found) {
        reader->at++;
        *out = meanings[found - letters];
        return 1;
    }
    if (*reader->at != 'u' || strspn(reader->at + 1, "0123456789abcdefABCDEF") < 4)
        return -1;
    char digits[5] = {0};
    memcpy(digits, reader->at + 1, 4);
    reader->at += 5;
    return put_code(out, (unsigned)strtoul(digits, NULL, 16));
}

/* Bytes from a string's first quote to its last, or to the end of the text where there is none. */
static size_t measure_string(const char *begin)
{
    const char *end = begin + 1;
    while (*end && *end != '"')
        end += *end == '\\' && end[1] ? 2 : 1;
    return (size_t)(end - begin);
}

/* The string at `at`, for free(); NULL with the problem. No escape means more bytes than it is written with.
 */
static char *read_string(struct reader *reader)
{
    char *text = malloc(measure_string(reader->at)), *out = text;
    if (!text) {
        problem_memory(reader->problem);
        return NULL;
    }
    reader->at++;
    while (*reader->at != '"') {
        int length = 1;
        if ((unsigned char)*reader->at < ' ') {
            free(text);
            refuse(reader, "the end of a string");
            return NULL;
        }
        if (*reader->at != '\\') {
            *out = *reader->at++;
        } else {
            reader->at++;
            length = read_escape(reader, out);
        }
        if (length < 0) {
            free(text);
            refuse(reader, "an escape such as \\n or \\u0041");
            return NULL;
        }
        out += length;
    }
    *out = '\0';
    reader->at++;
    return text;
}

static struct json *read_number(struct reader *reader)
{
    char *end;
    double number = strtod(reader->at, &end);
    size_t length = strspn(reader->at, "+-.0123456789eE");
    if (length == 0 || end != reader->at + length)
        return refuse(reader, "a value");
    struct json *json = make(reader, JSON_NUMBER);
    if (json) {
        json->number = number;
        reader->at = end;
    }
    return json;
}

static struct json *read_word(struct reader *reader)
{
    static const struct {
        const char *word;
        enum json_kind kind;
    } words[] = {{"null", JSON_NULL}, {"true", JSON_TRUE}, {"false", JSON_FALSE}};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        size_t length = strlen(words[k].word);
        if (strncmp(reader->at, words[k].word, length) != 0)
            continue;
        reader->at += length;
        return make(reader, words[k].kind);
    }
    return read_number(reader);
}

/* One item of a list, or one member. */
static struct json *read_item(struct reader *reader, bool is_member)
{
    char *key = NULL;
    skip_space(reader);
    if (is_member) {
        if (*reader->at != '"')
            return refuse(reader, "the name of a member");
        key = read_string(reader);
        if (!key)
            return NULL;
        skip_space(reader);
        if (*reader->at != ':') {
            free(key);
            return refuse(reader, "':'");
        }
        reader->at++;
    }
    struct json *item = read_value(reader);
    if (item)
        item->key = key;
    else
        free(key);
    return item;
}

static struct json *read_items(struct reader *reader, enum json_kind kind)
{
    char close = kind == JSON_LIST ? ']' : '}';
    struct json *json = make(reader, kind);
    if (!json)
        return NULL;
    struct json **link = &json->first;
    reader->at++;
    skip_space(reader);
    while (*reader->at != close) {
        *link = read_item(reader, kind == JSON_OBJECT);
        if (!*link)
            break;
        link = &(*link)->next;
        skip_space(reader);
        if (*reader->at == close)
            break;
        if (*reader->at != ',') {
            refuse(reader, kind == JSON_LIST ? "',' or ']'" : "',' or '}'");
            break;
        }
        reader->at++;
    }
    if (*reader->at != close || (json->first && reader->problem->status != AKG_OK)) {
        json_free(json);
        return NULL;
    }
    reader->at++;
    return json;
}

static struct json *read_value(struct reader *reader)
{
    struct json *json;
    skip_space(reader);
    if (++reader->depth > JSON_DEEPEST)
        return refuse(reader, "less depth");
    if (*reader->at == '"') {
        json = make(reader, JSON_STRING);
        if (json && !(json->string = read_string(reader))) {
            json_free(json);
            json = NULL;
        }
    } else if (*reader->at == '[' || *reader->at == '{') {
        json = read_items(reader, *reader->at == '[' ? JSON_LIST : JSON_OBJECT);
    } else {
        json = read_word(reader);
    }
    reader->depth--;
    return json;
}

struct json *json_read(const char *text, struct problem *problem)
{
    struct reader reader = {.start = text, .at = text, .problem = problem};
    struct json *json = read_value(&reader);
    skip_space(&reader);
    if (json && *reader.at) {
        json_free(json);
        return refuse(&reader, "the end");
    }
    return json;
}

void json_free(struct json *json)
{
    while (json) {
        struct json *next = json->next;
        json_free(json->first);
        free(json->key);
        free(json->string);
        free(json);
        json = next;
    }
}

const struct json *json_member(const struct json *json, const char *key)
{
    const struct json *member = json && json->kind == JSON_OBJECT ? json->first : NULL;
    while (member && strcmp(member->key, key) != 0)
        member = member->next;
    return member;
}

double json_number(const struct json *json, const char *key, double missing)
{
    const struct json *member = json_member(json, key);
    return member && member->kind == JSON_NUMBER ? member->number : missing;
}

const char *json_string(const struct json *json, const char *key)
{
    const struct json *member = json_member(json, key);
    return member && member->kind == JSON_STRING ? member->string : NULL;
}

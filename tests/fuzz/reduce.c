/*
 * reduce.c: delta debugging: runs of lines in halving sizes, then the header of a block whose lines move out,
 * then runs of tokens; again until nothing more goes.
 */
#include "reduce.h"

#include <string.h>

#include "mutate.h"

struct reduction {
    struct text *program;
    reduce_test test;
    void *context;
    int tries;
};

/* The candidate takes the place of the program if it still has the fault. The candidate is freed. */
static bool reduce_try(struct reduction *r, struct text *candidate)
{
    bool better = r->tries-- > 0 && !candidate->failed && candidate->length < r->program->length &&
                  r->test(r->context, candidate->data ? candidate->data : "", candidate->length);

    if (better) {
        text_free(r->program);
        *r->program = *candidate;
    } else {
        text_free(candidate);
    }
    return better;
}

static size_t reduce_line_end(const struct text *program, size_t at)
{
    const char *end = memchr(program->data + at, '\n', program->length - at);

    return end ? (size_t)(end - program->data) + 1 : program->length;
}

/* The program without bytes from .. to. */
static bool reduce_cut(struct reduction *r, size_t from, size_t to)
{
    struct text candidate;

    text_init(&candidate);
    text_append(&candidate, r->program->data, from);
    text_append(&candidate, r->program->data + to, r->program->length - to);
    return reduce_try(r, &candidate);
}

static bool reduce_lines(struct reduction *r, int lines)
{
    bool any = false;

    for (size_t at = 0; at < r->program->length && r->tries > 0;) {
        size_t end = at;
        for (int i = 0; i < lines && end < r->program->length; i++)
            end = reduce_line_end(r->program, end);
        if (reduce_cut(r, at, end))
            any = true;
        else
            at = reduce_line_end(r->program, at);
    }
    return any;
}

static size_t reduce_indent(const struct text *program, size_t at)
{
    size_t indent = 0;

    while (at + indent < program->length && program->data[at + indent] == ' ')
        indent++;
    return indent;
}

/* A line goes, and the block under it moves out. */
static bool reduce_headers(struct reduction *r)
{
    bool any = false;

    for (size_t at = 0; at < r->program->length && r->tries > 0;) {
        size_t end = reduce_line_end(r->program, at), indent = reduce_indent(r->program, at), next;
        struct text candidate;
        text_init(&candidate);
        text_append(&candidate, r->program->data, at);
        for (next = end; next < r->program->length && reduce_indent(r->program, next) > indent;) {
            size_t stop = reduce_line_end(r->program, next), out = reduce_indent(r->program, next) - indent;
            out = out > 4 ? 4 : out;
            text_append(&candidate, r->program->data + next + out, stop - next - out);
            next = stop;
        }
        text_append(&candidate, r->program->data + next, r->program->length - next);
        if (next > end && reduce_try(r, &candidate)) {
            any = true;
        } else {
            if (next == end)
                text_free(&candidate);
            at = end;
        }
    }
    return any;
}

static bool reduce_tokens(struct reduction *r, int tokens)
{
    bool any = false;

    for (size_t at = 0; at < r->program->length && r->tries > 0;) {
        size_t end = at;
        for (int i = 0; i < tokens && end < r->program->length; i++)
            end += mutate_token(r->program->data + end, r->program->length - end);
        if (reduce_cut(r, at, end))
            any = true;
        else
            at += mutate_token(r->program->data + at, r->program->length - at);
    }
    return any;
}

void reduce_program(struct text *program, reduce_test test, void *context, int tries)
{
    struct reduction reduction = {program, test, context, tries}, *r = &reduction;
    bool any = true;

    while (any && r->tries > 0) {
        any = false;
        for (int lines = 32; lines > 0; lines /= 2)
            any |= reduce_lines(r, lines);
        any |= reduce_headers(r);
        for (int tokens = 12; tokens > 0; tokens -= tokens > 4 ? 4 : 1)
            any |= reduce_tokens(r, tokens);
    }
}

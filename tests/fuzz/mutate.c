/*
 * mutate.c: see mutate.h. Works on pieces of text, not on what they mean.
 */
#include "mutate.h"

#include <ctype.h>
#include <string.h>

enum { MUTATE_TOKENS = 4096, MUTATE_ROUNDS = 4 };

struct piece {
    const char *text;
    size_t length;
};

struct mutation {
    struct random *random;
    struct piece tokens[MUTATE_TOKENS];
    int count;
};

size_t mutate_token(const char *text, size_t length)
{
    size_t used = 1;
    unsigned char first = (unsigned char)text[0];

    if (isalpha(first) || first == '_') {
        while (used < length && (isalnum((unsigned char)text[used]) || text[used] == '_'))
            used++;
    } else if (isdigit(first)) {
        while (used < length && (isalnum((unsigned char)text[used]) || text[used] == '.'))
            used++;
    } else if (first == ' ') {
        while (used < length && text[used] == ' ')
            used++;
    } else if (first == '"' || first == '\'') {
        while (used < length && text[used] != (char)first && text[used] != '\n')
            used++;
        used += used < length && text[used] == (char)first;
    } else if (first == '#') {
        while (used < length && text[used] != '\n')
            used++;
    } else if (used < length && strchr("*/<>=!+-&|^%", first) && (text[1] == '=' || text[1] == text[0])) {
        used++;
    }
    return used;
}

static int mutate_below(struct mutation *m, int count)
{
    return random_below(m->random, count);
}

static bool mutate_is_space(const struct piece *token)
{
    return token->text[0] == ' ' || token->text[0] == '\n' || token->text[0] == '#';
}

/* A place that holds a word, a number or a sign. */
static int mutate_place(struct mutation *m)
{
    int place = mutate_below(m, m->count);

    for (int tries = 0; tries < 20 && mutate_is_space(&m->tokens[place]); tries++)
        place = mutate_below(m, m->count);
    return place;
}

static void mutate_remove(struct mutation *m, int place, int count)
{
    if (count > m->count - place)
        count = m->count - place;
    memmove(&m->tokens[place], &m->tokens[place + count],
            (size_t)(m->count - place - count) * sizeof *m->tokens);
    m->count -= count;
}

static void mutate_insert(struct mutation *m, int place, const struct piece *pieces, int count)
{
    struct piece copy[64];

    if (count > 64 || m->count + count > MUTATE_TOKENS)
        return;
    memcpy(copy, pieces, (size_t)count * sizeof *copy);
    memmove(&m->tokens[place + count], &m->tokens[place], (size_t)(m->count - place) * sizeof *m->tokens);
    memcpy(&m->tokens[place], copy, (size_t)count * sizeof *copy);
    m->count += count;
}

static struct piece mutate_word(struct mutation *m)
{
    static const char *const words[] = {"0",
                                        "1",
                                        "-1",
                                        "2147483648",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "1e400",
                                        "0.5",
                                        "0x10",
                                        "1_000",
                                        "(",
                                        ")",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        ",",
                                        ":",
                                        ";",
                                        ".",
                                        "@",
                                        "=",
                                        "==",
                                        "+",
                                        "-",
                                        "*",
                                        "/",
                                        "//",
                                        "%",
                                        "**",
                                        "<<",
                                        ">>",
                                        "&",
                                        "|",
                                        "^",
                                        "~",
                                        "<",
                                        "+=",
                                        "**=",
                                        "->",
                                        "if",
                                        "elif",
                                        "else",
                                        "for",
                                        "while",
                                        "in",
                                        "not",
                                        "and",
                                        "or",
                                        "is",
                                        "None",
                                        "True",
                                        "def",
                                        "return",
                                        "break",
                                        "continue",
                                        "pass",
                                        "assert",
                                        "with",
                                        "import",
                                        "lambda",
                                        "class",
                                        "range",
                                        "grid",
                                        "len",
                                        "cast",
                                        "allocate",
                                        "output_tensor",
                                        "const_range",
                                        "shape",
                                        "dtype",
                                        "float32",
                                        "int8",
                                        "bool",
                                        "x.shape",
                                        "k",
                                        "exp",
                                        "min",
                                        "\"s\"",
                                        "'",
                                        "\"",
                                        "\\",
                                        "\t",
                                        "\r",
                                        "\xc3\xa9",
                                        "\xff",
                                        "$",
                                        "?",
                                        "enumerate",
                                        "reversed",
                                        "abs",
                                        "kernel",
                                        "bprop",
                                        "*xs",
                                        "...",
                                        "str",
                                        "tuple"};
    const char *word = words[mutate_below(m, (int)(sizeof words / sizeof *words))];

    return (struct piece){word, strlen(word)};
}

/* First token of the line that holds the place, and the number of its tokens with the newline. */
static int mutate_line(const struct mutation *m, int place, int *count)
{
    int first = place, last = place;

    while (first > 0 && m->tokens[first - 1].text[0] != '\n')
        first--;
    while (last < m->count && m->tokens[last].text[0] != '\n')
        last++;
    *count = (last < m->count ? last + 1 : last) - first;
    return first;
}

static int mutate_sort(const struct piece *token)
{
    unsigned char first = (unsigned char)token->text[0];

    return isalpha(first) ? 1 : isdigit(first) ? 2 : strchr("+-*/%<>=&|^", first) ? 3 : 4 + first;
}

static void mutate_tokens(struct mutation *m, int kind)
{
    static const char digits[] = "10223456789";
    int place = mutate_place(m), other = mutate_place(m);
    struct piece word = mutate_word(m), held = m->tokens[place];

    switch (kind) {
    case 0:
        mutate_remove(m, place, 1);
        break;
    case 1:
        m->tokens[place] = m->tokens[other];
        m->tokens[other] = held;
        break;
    case 2:
        mutate_insert(m, place, &held, 1);
        break;
    case 3:
        m->tokens[place] = word;
        break;
    case 4:
        m->tokens[place] = m->tokens[other];
        break;
    case 5:
        mutate_insert(m, place, &word, 1);
        break;
    case 6: /* a number becomes another one */
        for (int tries = 0; tries < 100 && !isdigit((unsigned char)m->tokens[place].text[0]); tries++)
            place = mutate_below(m, m->count);
        m->tokens[place] =
            (struct piece){&digits[mutate_below(m, 10)], (size_t)1 + (size_t)mutate_below(m, 2)};
        break;
    case 7:
        mutate_remove(m, place, 1 + mutate_below(m, 5));
        break;
    default: /* something of the same sort: often right, with another meaning */
        for (int tries = 0; tries < 100 && mutate_sort(&m->tokens[other]) != mutate_sort(&held); tries++)
            other = mutate_place(m);
        m->tokens[place] = m->tokens[other];
    }
}

static void mutate_lines(struct mutation *m, int kind)
{
    static const struct piece spaces = {"    ", 4}, one = {" ", 1};
    int count, other_count, first = mutate_line(m, mutate_below(m, m->count), &count);
    int other = mutate_line(m, mutate_below(m, m->count), &other_count);

    switch (kind) {
    case 0:
        mutate_remove(m, first, count);
        break;
    case 1:
        mutate_insert(m, first, &m->tokens[first], count);
        break;
    case 2:
        mutate_insert(m, first, &m->tokens[other], other_count);
        break;
    case 3:
        mutate_insert(m, first, &spaces, 1);
        break;
    case 4:
        mutate_insert(m, first, &one, 1);
        break;
    case 5:
        if (m->tokens[first].text[0] == ' ')
            m->tokens[first].length -= m->tokens[first].length > 4 ? 4 : 1;
        break;
    case 6:
        m->count = first + mutate_below(m, count + 1);
        break;
    default:
        if (m->tokens[first].text[0] == ' ')
            mutate_remove(m, first, 1);
    }
}

void mutate_program(struct text *out, const char *text, size_t length, struct random *random)
{
    static struct mutation mutation; /* large; one thread mutates */
    struct mutation *m = &mutation;
    struct text calls;

    text_init(&calls);
    m->random = random;
    m->count = 0;
    for (size_t at = 0; at < length && m->count < MUTATE_TOKENS - 128;) {
        size_t used = mutate_token(text + at, length - at);
        if (used > 3 && memcmp(text + at, "#@ ", 3) == 0) {
            text_append(&calls, text + at, used);
            text_char(&calls, '\n');
        } else {
            m->tokens[m->count++] = (struct piece){text + at, used};
        }
        at += used;
    }
    for (int rounds = random_chance(random, 60) ? 1 : 1 + mutate_below(m, MUTATE_ROUNDS);
         rounds > 0 && m->count > 0; rounds--)
        if (random_chance(random, 75))
            mutate_tokens(m, mutate_below(m, 12));
        else
            mutate_lines(m, mutate_below(m, 8));
    for (int i = 0; i < m->count; i++)
        text_append(out, m->tokens[i].text, m->tokens[i].length);
    if (calls.length)
        text_format(out, "\n%s", calls.data);
    text_free(&calls);
}

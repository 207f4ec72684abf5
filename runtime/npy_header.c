/*
 * npy_header.c: the header of an .npy array, a Python dict such as
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, to and from struct npy_header.
 *
 * The text may come from anywhere: the parser never looks past its end, takes the three keys in any order,
 * each once, and nothing else.
 */
#include "npy.h"

#include "failure.h"

#include <stdio.h>
#include <string.h>

struct parser {
    const char *at, *end;
    struct npy_header *header;
    const char *label;
    akg_diagnostics **diagnostics;
    unsigned seen; /* bit per key */
};

/* ---- pieces ---------------------------------------------------------------- */

static akg_status expected(const struct parser *parser, const char *what)
{
    char quoted[FAILURE_QUOTED];
    enum { SHOWN = 16 };
    size_t left = (size_t)(parser->end - parser->at);
    const char *found =
        left == 0 ? "its end" : failure_quote(quoted, parser->at, left < SHOWN ? left : SHOWN);
    return failure_report(parser->diagnostics, AKG_ERROR_IO, MSG_NPY_HEADER, parser->label, found, what,
                          NULL);
}

static void skip_space(struct parser *parser)
{
    while (parser->at < parser->end && memchr(" \t\r\n\f", *parser->at, 5))
        parser->at++;
}

/* Takes the character, after white space, if it comes next. */
static bool take(struct parser *parser, char character)
{
    skip_space(parser);
    if (parser->at == parser->end || *parser->at != character)
        return false;
    parser->at++;
    return true;
}

static bool take_word(struct parser *parser, const char *word)
{
    size_t length = strlen(word);
    skip_space(parser);
    if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0)
        return false;
    parser->at += length;
    return true;
}

/* A string without escapes, in either kind of quotes. */
static bool take_string(struct parser *parser, const char **string, size_t *length)
{
    const char *start = parser->at;
    if (!take(parser, '\'') && !take(parser, '"'))
        return false;
    const char *first = parser->at;
    while (parser->at < parser->end && *parser->at != first[-1] && *parser->at != '\\')
        parser->at++;
    if (parser->at == parser->end || *parser->at == '\\') {
        parser->at = start;
        return false;
    }
    *string = first;
    *length = (size_t)(parser->at++ - first);
    return true;
}

/* ---- descr ----------------------------------------------------------------- */

static akg_status refuse_dtype(const struct parser *parser, const char *descr, size_t length,
                               const char *what)
{
    char quoted[FAILURE_QUOTED];
    return failure_report(parser->diagnostics, AKG_ERROR_IO, MSG_NPY_DTYPE, parser->label, what,
                          failure_quote(quoted, descr, length),
                          "help: in Python, convert it with x.astype(...) to bool, an integer or a float of "
                          "at most 64 bits");
}

/* What elements of a kind we do not have are, by numpy's letter. */
static const char *kind_description(char kind)
{
    switch (kind) {
    case 'O':
        return "Python objects";
    case 'S':
    case 'a':
    case 'U':
    case 'T':
        return "strings";
    case 'c':
        return "complex numbers";
    case 'M':
    case 'm':
        return "dates or times";
    case 'V':
        return "raw bytes or structures";
    case 'f':
    case 'i':
    case 'u':
    case 'b':
        return "numbers of a width there is no dtype for";
    default:
        return "elements of an unknown type";
    }
}

static bool host_is_little(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* descr is an order mark, a letter for the kind and a size: '<f4'. */
static akg_status parse_dtype(struct parser *parser, const char *descr, size_t length)
{
    struct npy_header *header = parser->header;
    char mark = length > 0 && memchr("<>=|", descr[0], 4) ? descr[0] : '=';
    const char *type = descr, *descr_end = descr + length;
    if (length > 0 && mark == descr[0])
        type++;
    size_t type_length = (size_t)(descr_end - type);
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++) {
        const char *ours = dtype_table[dtype].npy + 1;
        if (type_length == strlen(ours) && memcmp(type, ours, type_length) == 0) {
            header->dtype = (akg_dtype)dtype;
            header->swapped = dtype_table[dtype].size > 1 && mark == (host_is_little() ? '>' : '<');
            return AKG_OK;
        }
    }
    return refuse_dtype(parser, descr, length, kind_description(type_length > 0 ? *type : 0));
}

static akg_status parse_descr(struct parser *parser)
{
    const char *descr;
    size_t length;
    skip_space(parser);
    if (parser->at < parser->end && (*parser->at == '[' || *parser->at == '(')) {
        const char *close =
            memchr(parser->at, *parser->at == '[' ? ']' : ')', (size_t)(parser->end - parser->at));
        const char *shown_end = close ? close + 1 : parser->end;
        return refuse_dtype(parser, parser->at, (size_t)(shown_end - parser->at), "structures");
    }
    if (!take_string(parser, &descr, &length))
        return expected(parser, "a dtype such as '<f4'");
    return parse_dtype(parser, descr, length);
}

/* ---- the other keys --------------------------------------------------------- */

static akg_status parse_order(struct parser *parser)
{
    if (take_word(parser, "True"))
        parser->header->fortran = true;
    else if (take_word(parser, "False"))
        parser->header->fortran = false;
    else
        return expected(parser, "True or False");
    return AKG_OK;
}

/* A dim, with the L that Python 2 put behind a long one. */
static bool take_dim(struct parser *parser, int64_t *dim)
{
    const char *start = parser->at;
    *dim = 0;
    while (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9')
        if (__builtin_mul_overflow(*dim, 10, dim) || __builtin_add_overflow(*dim, *parser->at++ - '0', dim)) {
            parser->at = start;
            return false;
        }
    if (parser->at == start)
        return false;
    if (parser->at < parser->end && *parser->at == 'L')
        parser->at++;
    return true;
}

static akg_status parse_shape(struct parser *parser)
{
    struct npy_header *header = parser->header;
    if (!take(parser, '('))
        return expected(parser, "a shape such as (3, 4)");
    bool comma = true;
    header->rank = 0;
    while (!take(parser, ')')) {
        if (!comma)
            return expected(parser, "',' or ')' in the shape");
        if (header->rank == AKG_MAX_RANK)
            return failure_report(parser->diagnostics, AKG_ERROR_IO, MSG_NPY_SHAPE, parser->label,
                                  "more than 16 axes", "a tensor has at most 16", NULL);
        if (!take_dim(parser, &header->shape[header->rank]))
            return expected(parser, "an extent of 0 to 9223372036854775807");
        header->rank++;
        comma = take(parser, ',');
    }
    if (header->rank == 1 && !comma)
        return expected(parser, "a tuple: (n,) is one, (n) is not");
    return AKG_OK;
}

/* ---- the dict ---------------------------------------------------------------- */

static const struct key {
    const char *name;
    akg_status (*parse)(struct parser *parser);
} keys[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};
enum { KEY_COUNT = sizeof keys / sizeof *keys };

static akg_status parse_entry(struct parser *parser)
{
    const char *name, *start;
    size_t length;
    skip_space(parser);
    start = parser->at;
    if (!take_string(parser, &name, &length))
        return expected(parser, "a key in quotes or '}'");
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        if (length != strlen(keys[i].name) || memcmp(name, keys[i].name, length) != 0)
            continue;
        if (parser->seen & 1u << i) {
            parser->at = start;
            return expected(parser, "each key once");
        }
        parser->seen |= 1u << i;
        return take(parser, ':') ? keys[i].parse(parser) : expected(parser, "':' after the key");
    }
    parser->at = start;
    return expected(parser, "one of the keys 'descr', 'fortran_order' and 'shape'");
}

akg_status npy_header_parse(struct npy_header *header, const char *text, size_t length, const char *label,
                            akg_diagnostics **diagnostics)
{
    struct parser parser = {
        .at = text, .end = text + length, .header = header, .label = label, .diagnostics = diagnostics};
    *header = (struct npy_header){.dtype = AKG_DTYPE_COUNT};
    if (!take(&parser, '{'))
        return expected(&parser, "'{'");
    bool comma = true;
    while (!take(&parser, '}')) {
        if (!comma)
            return expected(&parser, "',' or '}'");
        akg_status status = parse_entry(&parser);
        if (status != AKG_OK)
            return status;
        comma = take(&parser, ',');
    }
    skip_space(&parser);
    if (parser.at != parser.end)
        return expected(&parser, "nothing after '}'");
    if (parser.seen != (1u << KEY_COUNT) - 1)
        return expected(&parser, "the keys 'descr', 'fortran_order' and 'shape'");
    return AKG_OK;
}

/* ---- writing ------------------------------------------------------------------ */

static void format_dict(struct text *out, const akg_tensor *tensor)
{
    /* numpy leaves room for the first extent to grow to this many digits */
    enum { GROWTH_DIGITS = 21 };
    const char *descr = dtype_table[tensor->dtype].npy;
    char mark = descr[0] == '<' && !host_is_little() ? '>' : descr[0];
    text_format(out, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", mark, descr + 1);
    for (int axis = 0; axis < tensor->rank; axis++)
        text_format(out, axis ? ", %lld" : "%lld", (long long)tensor_shape(tensor)[axis]);
    text_string(out, tensor->rank == 1 ? ",), }" : "), }");
    if (tensor->rank > 0)
        text_repeat(out, ' ', GROWTH_DIGITS - snprintf(NULL, 0, "%lld", (long long)tensor_shape(tensor)[0]));
}

void npy_header_format(struct text *out, const akg_tensor *tensor)
{
    enum { PREFIX = 10, ALIGNMENT = 64 };
    struct text dict;
    text_init(&dict);
    format_dict(&dict, tensor);
    int used = PREFIX + (int)dict.length + 1, padding = ALIGNMENT - used % ALIGNMENT;
    text_repeat(&dict, ' ', padding);
    text_char(&dict, '\n');
    unsigned char prefix[PREFIX] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    prefix[8] = (unsigned char)(dict.length & 0xff);
    prefix[9] = (unsigned char)(dict.length >> 8);
    text_append(out, (const char *)prefix, sizeof prefix);
    if (dict.failed)
        out->failed = true;
    else
        text_append(out, dict.data, dict.length);
    text_free(&dict);
}

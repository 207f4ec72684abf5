/*
 * operator_match.c: conditions of kernels, read and evaluated.
 *
 *     condition   = both { "or" both }
 *     both        = single { "and" single }
 *     single      = "not" single | "(" condition ")" | term [ comparison ]
 *     term        = "device" | ("dtype" | "rank" | "format") "(" operand [ "," index ] ")" | attribute
 *     comparison  = ("==" | "!=" | "<" | "<=" | ">" | ">=") value | "in" "(" value { "," value } ")"
 *     value       = number | word | "'" text "'"
 *
 * A term that names a tensor that was left out has no value, and a comparison without value does not hold.
 */
#include "operator_native.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data_format.h"
#include "tensor.h"

enum match_kind { MATCH_OR, MATCH_AND, MATCH_NOT, MATCH_COMPARE };
enum match_term { TERM_DEVICE, TERM_DTYPE, TERM_RANK, TERM_FORMAT, TERM_ATTRIBUTE };
enum match_operator {
    MATCH_IN,
    MATCH_EQUAL,
    MATCH_UNEQUAL,
    MATCH_ATMOST,
    MATCH_ATLEAST,
    MATCH_LESS,
    MATCH_GREATER
};

/* What a term is worth: a word or a number, which holds any int64 and any double. */
struct match_value {
    const char *word; /* NULL: the number */
    long double number;
};

struct match {
    enum match_kind kind;
    const struct match *left, *right;
    enum match_term term;
    const char *name; /* as written: "dtype(in, 1)" */
    int operand;      /* or index of the attribute */
    size_t index;
    enum match_operator comparison;
    struct match_value *values;
    int value_count;
};

/* ---- reading ------------------------------------------------------------------------------- */

enum { MATCH_DEEPEST = 64 };

struct match_reader {
    struct arena *arena;
    const struct native *native;
    const char *at;
    const char *wrong; /* the first thing that is wrong */
    int depth;
};

static struct match *read_wrong(struct match_reader *reader, const char *what, const char *word)
{
    if (!reader->wrong)
        reader->wrong = arena_format(reader->arena, what, word);
    return NULL;
}

static void read_space(struct match_reader *reader)
{
    while (isspace((unsigned char)*reader->at))
        reader->at++;
}

static bool read_mark(struct match_reader *reader, const char *mark)
{
    size_t length = strlen(mark);

    read_space(reader);
    if (strncmp(reader->at, mark, length) != 0)
        return false;
    reader->at += length;
    return true;
}

static size_t word_length(const char *at)
{
    size_t length = 0;

    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

/* The word that stands there, or NULL. */
static const char *read_word(struct match_reader *reader)
{
    const char *word;
    size_t length;

    read_space(reader);
    length = word_length(reader->at);
    if (!length || isdigit((unsigned char)*reader->at))
        return NULL;
    word = arena_copy(reader->arena, reader->at, length);
    reader->at += length;
    return word;
}

/* The same if it is that one. */
static bool read_keyword(struct match_reader *reader, const char *keyword)
{
    read_space(reader);
    if (word_length(reader->at) != strlen(keyword) || strncmp(reader->at, keyword, strlen(keyword)) != 0)
        return false;
    reader->at += strlen(keyword);
    return true;
}

/* A decimal number; exact where it is an integer of 64 bits. */
static bool read_number(struct match_reader *reader, long double *number)
{
    const char *from;
    uint64_t whole = 0;
    bool negative, exact = true;

    read_space(reader);
    from = reader->at;
    negative = *reader->at == '-';
    reader->at += negative;
    if (!isdigit((unsigned char)*reader->at)) {
        reader->at = from;
        return false;
    }
    for (; isdigit((unsigned char)*reader->at); reader->at++)
        exact &= !__builtin_mul_overflow(whole, 10, &whole) &&
                 !__builtin_add_overflow(whole, (uint64_t)(*reader->at - '0'), &whole);
    if (*reader->at == '.' || *reader->at == 'e' || !exact) {
        while (isalnum((unsigned char)*reader->at) || *reader->at == '.' ||
               (*reader->at == '-' && reader->at[-1] == 'e'))
            reader->at++;
        *number = arena_parse_real(reader->arena, from + negative, (size_t)(reader->at - from) - negative);
    } else {
        *number = whole;
    }
    if (negative)
        *number = -*number;
    return true;
}

static bool read_value(struct match_reader *reader, struct match_value *value)
{
    const char *end;

    value->word = NULL;
    read_space(reader);
    if (*reader->at == '\'' && (end = strchr(reader->at + 1, '\''))) {
        value->word = arena_copy(reader->arena, reader->at + 1, (size_t)(end - reader->at) - 1);
        reader->at = end + 1;
        return true;
    }
    if (read_number(reader, &value->number))
        return true;
    value->word = read_word(reader);
    if (!value->word)
        read_wrong(reader, "a value should stand before '%s'", *reader->at ? reader->at : "the end");
    return value->word != NULL;
}

/* "(NAME)" or "(NAME, INDEX)" */
static bool read_operand(struct match_reader *reader, struct match *match)
{
    const struct native *native = reader->native;
    const char *word;
    long double index = 0;

    if (!read_mark(reader, "(") || !(word = read_word(reader)))
        return read_wrong(reader, "'%s' needs the name of an input or output, in parentheses", match->name);
    match->operand = native_input_index(native, word);
    if (match->operand < 0 && (match->operand = native_output_index(native, word)) >= 0)
        match->operand += native->input_count;
    if (match->operand < 0)
        return read_wrong(reader, "there is no input or output '%s'", word);
    if (read_mark(reader, ",") && (!read_number(reader, &index) || index < 0 || index > 1000000))
        return read_wrong(reader, "the index of '%s' is no small number", word);
    match->index = (size_t)index;
    return read_mark(reader, ")") || read_wrong(reader, "a ')' is missing behind '%s'", word);
}

static bool read_term(struct match_reader *reader, struct match *match)
{
    static const char *const terms[] = {"device", "dtype", "rank", "format"};
    const char *from;

    read_space(reader);
    from = reader->at;
    match->name = read_word(reader);
    if (!match->name)
        return read_wrong(reader, "a condition should stand before '%s'",
                          *reader->at ? reader->at : "the end");
    match->term = TERM_DEVICE;
    while (match->term < TERM_ATTRIBUTE && strcmp(match->name, terms[match->term]) != 0)
        match->term++;
    if (match->term == TERM_ATTRIBUTE) {
        match->operand = native_attribute_index(reader->native, match->name);
        return match->operand >= 0 || read_wrong(reader, "there is no attribute '%s'", match->name);
    }
    if (match->term != TERM_DEVICE && !read_operand(reader, match))
        return false;
    match->name = arena_copy(reader->arena, from, (size_t)(reader->at - from));
    return true;
}

/* Whether the term can be worth that. Words that are no values of their kind would never be. */
static bool read_check_value(struct match_reader *reader, const struct match *match,
                             const struct match_value *value)
{
    const char *word = value->word;
    const akg_attribute *attribute =
        match->term == TERM_ATTRIBUTE ? &reader->native->attributes[match->operand] : NULL;
    bool number = match->term == TERM_RANK || (attribute && attribute->kind <= AKG_ATTRIBUTE_DOUBLE &&
                                               attribute->kind != AKG_ATTRIBUTE_BOOL);

    if (attribute && attribute->kind >= AKG_ATTRIBUTE_SHAPE)
        return read_wrong(reader, "'%s' has no single value to compare", match->name);
    if (number != !word)
        return read_wrong(reader, number ? "'%s' is compared with numbers" : "'%s' is compared with words",
                          match->name);
    if (match->term == TERM_DEVICE && device_of_name(word) == DEVICE_KIND_COUNT)
        return read_wrong(reader, "there is no device '%s'", word);
    if (match->term == TERM_FORMAT && !format_is_known(word))
        return read_wrong(reader, "there is no format '%s'", word);
    if ((match->term == TERM_DTYPE || (attribute && attribute->kind == AKG_ATTRIBUTE_DTYPE)) &&
        akg_dtype_from_name(word) == AKG_DTYPE_COUNT)
        return read_wrong(reader, "there is no dtype '%s'", word);
    if (attribute && attribute->kind == AKG_ATTRIBUTE_BOOL && strcmp(word, "True") != 0 &&
        strcmp(word, "False") != 0)
        return read_wrong(reader, "'%s' is no bool", word);
    if (word && match->comparison > MATCH_UNEQUAL)
        return read_wrong(reader, "'%s' has no order", match->name);
    return true;
}

static bool read_values(struct match_reader *reader, struct match *match)
{
    LIST(struct match_value) values = {0};
    struct match_value value;

    if (match->comparison == MATCH_IN && !read_mark(reader, "("))
        return read_wrong(reader, "'%s in' needs a list in parentheses", match->name);
    do {
        if (!read_value(reader, &value) || !read_check_value(reader, match, &value))
            return false;
        list_push(reader->arena, &values, value);
    } while (match->comparison == MATCH_IN && read_mark(reader, ","));
    match->values = values.items;
    match->value_count = values.count;
    return match->comparison != MATCH_IN || read_mark(reader, ")") ||
           read_wrong(reader, "the list of '%s' is not closed", match->name);
}

static const struct match *read_comparison(struct match_reader *reader)
{
    static const char *const marks[] = {
        [MATCH_EQUAL] = "==",   [MATCH_UNEQUAL] = "!=", [MATCH_ATMOST] = "<=",
        [MATCH_ATLEAST] = ">=", [MATCH_LESS] = "<",     [MATCH_GREATER] = ">"};
    struct match *match = arena_new(reader->arena, struct match);
    struct match_value truth = {.word = "True"};

    match->kind = MATCH_COMPARE;
    if (!read_term(reader, match))
        return NULL;
    if (read_keyword(reader, "in")) {
        match->comparison = MATCH_IN;
        return read_values(reader, match) ? match : NULL;
    }
    for (match->comparison = MATCH_EQUAL; match->comparison <= MATCH_GREATER; match->comparison++)
        if (read_mark(reader, marks[match->comparison]))
            return read_values(reader, match) ? match : NULL;
    match->comparison = MATCH_EQUAL;
    match->values = arena_new(reader->arena, struct match_value);
    match->values[0] = truth;
    match->value_count = 1;
    if (match->term != TERM_ATTRIBUTE ||
        reader->native->attributes[match->operand].kind != AKG_ATTRIBUTE_BOOL)
        return read_wrong(reader, "'%s' is compared with nothing", match->name);
    return match;
}

static const struct match *read_chain(struct match_reader *reader, enum match_kind kind);

static const struct match *read_single(struct match_reader *reader)
{
    const struct match *inner;
    struct match *match;

    if (reader->depth == MATCH_DEEPEST)
        return read_wrong(reader, "it is nested too deeply%s", "");
    reader->depth++;
    if (read_keyword(reader, "not")) {
        match = arena_new(reader->arena, struct match);
        match->kind = MATCH_NOT;
        match->left = read_single(reader);
        inner = match->left ? match : NULL;
    } else if (read_mark(reader, "(")) {
        inner = read_chain(reader, MATCH_OR);
        if (inner && !read_mark(reader, ")"))
            inner = read_wrong(reader, "a ')' is missing%s", "");
    } else {
        inner = read_comparison(reader);
    }
    reader->depth--;
    return inner;
}

/* Operands joined by "or", each of them operands joined by "and". */
static const struct match *read_chain(struct match_reader *reader, enum match_kind kind)
{
    const struct match *left = kind == MATCH_OR ? read_chain(reader, MATCH_AND) : read_single(reader);

    while (left && read_keyword(reader, kind == MATCH_OR ? "or" : "and")) {
        struct match *match = arena_new(reader->arena, struct match);
        match->kind = kind;
        match->left = left;
        match->right = kind == MATCH_OR ? read_chain(reader, MATCH_AND) : read_single(reader);
        left = match->right ? match : NULL;
    }
    return left;
}

const struct match *match_parse(struct arena *arena, const struct native *native, const char *text,
                                const char **wrong)
{
    struct match_reader reader = {.arena = arena, .native = native, .at = text};
    const struct match *match = read_chain(&reader, MATCH_OR);

    read_space(&reader);
    if (match && *reader.at)
        match = read_wrong(&reader, "'%s' is left over", reader.at);
    *wrong = reader.wrong;
    return match;
}

/* ---- evaluating ------------------------------------------------------------------------------- */

static struct match_value match_attribute(const akg_argument *value)
{
    switch (value->kind) {
    case AKG_ARGUMENT_BOOL:
        return (struct match_value){.word = value->as.boolean ? "True" : "False"};
    case AKG_ARGUMENT_STRING:
        return (struct match_value){.word = value->as.string};
    case AKG_ARGUMENT_DTYPE:
        return (struct match_value){.word = akg_dtype_name(value->as.dtype)};
    case AKG_ARGUMENT_FLOAT:
        return (struct match_value){.number = value->as.real};
    default:
        return (struct match_value){.number = value->as.integer};
    }
}

/* What the term is worth; false where it names a tensor that is not there. */
static bool match_evaluate(const struct match *match, const akg_invocation *invocation,
                           struct match_value *value)
{
    akg_description description;
    const akg_tensor *tensor;
    int64_t strides[AKG_MAX_RANK];

    *value = (struct match_value){0};
    if (match->term == TERM_DEVICE) {
        value->word = device_name(invocation->device.kind);
        return true;
    }
    if (match->term == TERM_ATTRIBUTE) {
        *value = match_attribute(&invocation->attributes[match->operand]);
        return true;
    }
    if (!invocation_describe(invocation, match->operand, match->index, &description, &tensor))
        return false;
    if (match->term == TERM_DTYPE)
        value->word = akg_dtype_name(description.dtype);
    if (match->term == TERM_RANK)
        value->number = description.rank;
    if (match->term == TERM_FORMAT) {
        description_strides(&description, tensor, strides);
        value->word = format_name(description.rank, description.shape, strides);
    }
    return true;
}

/* A tensor may have several formats at once. */
static bool match_has_format(const struct match *match, const akg_invocation *invocation, const char *format)
{
    akg_description description;
    const akg_tensor *tensor;
    int64_t strides[AKG_MAX_RANK];

    invocation_describe(invocation, match->operand, match->index, &description, &tensor);
    description_strides(&description, tensor, strides);
    return format_fits(format, description.rank, description.shape, strides);
}

static bool match_equal(const struct match *match, const akg_invocation *invocation,
                        const struct match_value *is, const struct match_value *value)
{
    if (match->term == TERM_FORMAT)
        return match_has_format(match, invocation, value->word);
    return value->word ? strcmp(is->word, value->word) == 0 : is->number == value->number;
}

static bool match_compare(const struct match *match, const akg_invocation *invocation)
{
    const struct match_value *value = match->values;
    struct match_value is;

    if (!match_evaluate(match, invocation, &is))
        return false;
    switch (match->comparison) {
    case MATCH_IN:
        for (int i = 0; i < match->value_count; i++)
            if (match_equal(match, invocation, &is, &match->values[i]))
                return true;
        return false;
    case MATCH_EQUAL:
        return match_equal(match, invocation, &is, value);
    case MATCH_UNEQUAL:
        return !match_equal(match, invocation, &is, value);
    case MATCH_ATMOST:
        return is.number <= value->number;
    case MATCH_ATLEAST:
        return is.number >= value->number;
    case MATCH_LESS:
        return is.number < value->number;
    case MATCH_GREATER:
        return is.number > value->number;
    }
    return false;
}

bool match_holds(const struct match *match, const akg_invocation *invocation)
{
    if (!match)
        return true;
    switch (match->kind) {
    case MATCH_OR:
        return match_holds(match->left, invocation) || match_holds(match->right, invocation);
    case MATCH_AND:
        return match_holds(match->left, invocation) && match_holds(match->right, invocation);
    case MATCH_NOT:
        return !match_holds(match->left, invocation);
    case MATCH_COMPARE:
        break;
    }
    return match_compare(match, invocation);
}

/* "dtype(out) is float64" */
static void match_print(const struct match *match, const akg_invocation *invocation, struct text *text)
{
    struct match_value is;

    if (text->length)
        text_string(text, ", ");
    if (!match_evaluate(match, invocation, &is))
        text_format(text, "%s was left out", match->name);
    else if (is.word)
        text_format(text, "%s is %s", match->name, is.word);
    else
        text_format(text, "%s is %.16Lg", match->name, is.number);
}

/* The comparisons because of which it is not `wanted`. */
static void match_blame(const struct match *match, const akg_invocation *invocation, bool wanted,
                        struct text *text)
{
    switch (match->kind) {
    case MATCH_OR:
    case MATCH_AND:
        if (match_holds(match->left, invocation) != wanted)
            match_blame(match->left, invocation, wanted, text);
        if (match_holds(match->right, invocation) != wanted)
            match_blame(match->right, invocation, wanted, text);
        return;
    case MATCH_NOT:
        match_blame(match->left, invocation, !wanted, text);
        return;
    case MATCH_COMPARE:
        match_print(match, invocation, text);
        return;
    }
}

void match_explain(const struct match *match, const akg_invocation *invocation, struct text *text)
{
    match_blame(match, invocation, true, text);
}

bool match_names_device(const struct match *match)
{
    if (!match)
        return false;
    if (match->kind == MATCH_COMPARE)
        return match->term == TERM_DEVICE;
    return match_names_device(match->left) || match_names_device(match->right);
}

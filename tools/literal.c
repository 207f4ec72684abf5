/*
 * literal.c: scans numbers and nested lists, and turns them into tensors.
 *
 * Integers keep their exact 64-bit magnitude beside the double, because
 * int64 and uint64 tensors must hold what was written. All other dtypes go
 * through a float64 tensor and the library's cast, whose rules are the language's.
 */
#include "literal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- characters, by ASCII whatever the locale ---------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

const char *text_skip_spaces(const char *text)
{
    while (*text == ' ' || *text == '\t' || *text == '\n' || *text == '\r')
        text++;
    return text;
}

/* ---- numbers --------------------------------------------------------------- */

static bool word_at(const char *text, const char *word, bool exact_case)
{
    size_t length = strlen(word);
    int differs = exact_case ? strncmp(text, word, length) : strncasecmp(text, word, length);
    return differs == 0 && !is_word(text[length]);
}

/* inf, infinity, nan, True, False: the length of the word, or 0. The sign is set by the caller. */
static size_t scan_named(const char *text, struct element *element)
{
    static const struct {
        const char *word;
        enum element_kind kind;
        double real;
    } names[] = {
        {"True", ELEMENT_BOOL, 1},  {"False", ELEMENT_BOOL, 0},           {"inf", ELEMENT_REAL, INFINITY},
        {"nan", ELEMENT_REAL, NAN}, {"infinity", ELEMENT_REAL, INFINITY},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!word_at(text, names[i].word, names[i].kind == ELEMENT_BOOL))
            continue;
        element->kind = names[i].kind;
        element->real = names[i].real;
        element->magnitude = names[i].kind == ELEMENT_BOOL && names[i].real != 0;
        return strlen(names[i].word);
    }
    return 0;
}

/* Digits of a base, single underscores between them allowed: their length, 0 if there are none. */
static size_t scan_digits(const char *text, int base, struct element *element)
{
    size_t at = 0;
    while (digit_value(text[at]) < base || (at > 0 && text[at] == '_' && digit_value(text[at + 1]) < base)) {
        if (text[at] != '_') {
            uint64_t digit = (uint64_t)digit_value(text[at]);
            if (__builtin_mul_overflow(element->magnitude, (uint64_t)base, &element->magnitude) ||
                __builtin_add_overflow(element->magnitude, digit, &element->magnitude))
                element->kind = ELEMENT_HUGE;
            element->real = element->real * base + (double)digit;
        }
        at++;
    }
    return at;
}

/* The length of a decimal number from its digits on; sets kind REAL when it has a point or an exponent. */
static size_t scan_decimal(const char *text, struct element *element)
{
    struct element ignored = {0};
    size_t whole = scan_digits(text, 10, element), at = whole, fraction = 0;
    if (text[at] == '.') {
        fraction = scan_digits(text + at + 1, 10, &ignored);
        at += 1 + fraction;
    }
    if (whole + fraction == 0)
        return 0;
    if (at > whole)
        element->kind = ELEMENT_REAL;
    if (text[at] == 'e' || text[at] == 'E') {
        size_t sign = text[at + 1] == '+' || text[at + 1] == '-';
        size_t digits = scan_digits(text + at + 1 + sign, 10, &ignored);
        if (digits) {
            at += 1 + sign + digits;
            element->kind = ELEMENT_REAL;
        }
    }
    return at;
}

/* The correctly rounded double of `length` characters; underscores are left out. */
static bool convert_decimal(const char *text, size_t length, struct element *element)
{
    char small[128], *plain = length < sizeof small ? small : malloc(length + 1);
    if (!plain)
        return false;
    size_t kept = 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] != '_')
            plain[kept++] = text[i];
    plain[kept] = '\0';
    errno = 0;
    element->real = strtod(plain, NULL);
    element->overflow = errno == ERANGE && isinf(element->real);
    if (plain != small)
        free(plain);
    return true;
}

bool element_scan(const char **text, struct element *element)
{
    const char *start = *text;
    memset(element, 0, sizeof *element);
    element->kind = ELEMENT_INTEGER;
    element->negative = *start == '-';
    bool has_sign = *start == '-' || *start == '+';
    start += has_sign;
    char prefix = start[0] == '0' ? (char)(start[1] | 0x20) : '\0';
    int base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
    size_t length = scan_named(start, element);
    if (length && element->kind == ELEMENT_BOOL && has_sign)
        return false;
    if (!length && base != 10) {
        length = scan_digits(start + 2, base, element);
        length = length ? length + 2 : 0;
    } else if (!length) {
        length = scan_decimal(start, element);
        if (length && !convert_decimal(start, length, element))
            return false;
    }
    if (!length || is_word(start[length]) || start[length] == '.')
        return false;
    /* an integer has no negative zero */
    if (element->negative && (element->kind != ELEMENT_INTEGER || element->magnitude))
        element->real = -element->real;
    *text = start + length;
    return true;
}

/* ---- what fits ------------------------------------------------------------ */

/* Sign and magnitude of a whole element below 2^64. */
static bool element_whole(const struct element *element, bool *negative, uint64_t *magnitude)
{
    *negative = element->negative;
    *magnitude = element->magnitude;
    if (element->kind == ELEMENT_BOOL || element->kind == ELEMENT_INTEGER)
        return true;
    double size = fabs(element->real);
    if (!(size < 0x1p64) || size != floor(size))
        return false;
    *magnitude = (uint64_t)size;
    return true;
}

static bool whole_fits(const struct element *element, int bits, bool is_signed)
{
    bool negative;
    uint64_t magnitude;
    if (!element_whole(element, &negative, &magnitude))
        return false;
    if (!is_signed)
        return magnitude == 0 || (!negative && (bits == 64 || magnitude >> bits == 0));
    uint64_t limit = UINT64_C(1) << (bits - 1);
    return negative ? magnitude <= limit : magnitude < limit;
}

bool element_fits(const struct element *element, akg_dtype dtype)
{
    int bits = 8 * (int)akg_dtype_size(dtype);
    double too_large = INFINITY; /* the least finite size that rounds to infinity */
    switch (dtype) {
    case AKG_BOOL:
        return element->real == 0 || element->real == 1;
    case AKG_INT8:
    case AKG_INT16:
    case AKG_INT32:
    case AKG_INT64:
        return whole_fits(element, bits, true);
    case AKG_UINT8:
    case AKG_UINT16:
    case AKG_UINT32:
    case AKG_UINT64:
        return whole_fits(element, bits, false);
    case AKG_FLOAT16:
        too_large = 65520;
        break;
    case AKG_BFLOAT16:
        too_large = 0x1.ffp127;
        break;
    case AKG_FLOAT32:
        too_large = 0x1.ffffffp127;
        break;
    case AKG_FLOAT64:
    case AKG_DTYPE_COUNT:
        break;
    }
    return !element->overflow &&
           (isinf(element->real) || isnan(element->real) || fabs(element->real) < too_large);
}

bool element_int64(const struct element *element, int64_t *integer)
{
    bool negative;
    uint64_t magnitude;
    if (!whole_fits(element, 64, true) || !element_whole(element, &negative, &magnitude))
        return false;
    *integer = negative ? (int64_t)-magnitude : (int64_t)magnitude;
    return true;
}

static bool does_not_fit(const struct element *element, akg_dtype dtype, struct problem *problem)
{
    const char *name = akg_dtype_name(dtype);
    const char *sign = element->negative ? "-" : "";
    if (element->kind == ELEMENT_INTEGER)
        problem_set(problem, AKG_ERROR_USAGE, "%s%llu does not fit in %s", sign,
                    (unsigned long long)element->magnitude, name);
    else if (element->overflow)
        problem_set(problem, AKG_ERROR_USAGE, "a number is too large for %s", name);
    else
        problem_set(problem, AKG_ERROR_USAGE, "%.17g does not fit in %s", element->real, name);
    return false;
}

/* ---- nested lists --------------------------------------------------------- */

bool literal_push(struct literal *literal, const struct element *element, struct problem *problem)
{
    if (literal->count == literal->capacity) {
        size_t capacity = literal->capacity ? 2 * literal->capacity : 16;
        struct element *elements = realloc(literal->elements, capacity * sizeof *elements);
        if (!elements)
            return problem_memory(problem);
        literal->elements = elements;
        literal->capacity = capacity;
    }
    literal->elements[literal->count++] = *element;
    return true;
}

static bool number_expected(const char *text, struct problem *problem)
{
    if (*text == '\0')
        return problem_set(problem, AKG_ERROR_USAGE, "the list is not closed");
    problem_set(problem, AKG_ERROR_USAGE, "expected a number or a list at '%.40s'", text);
    if (word_at(text, "true", false) || word_at(text, "false", false))
        return problem_help(problem, "the truth values are True and False");
    return false;
}

static bool parse_list(const char **text, int depth, struct literal *literal, struct problem *problem);

/* One item of a list at `depth`: a list one level deeper, or a number, which fixes the rank. */
static bool parse_item(const char **text, int depth, struct literal *literal, struct problem *problem)
{
    if (**text == '[' || **text == '(') {
        if (literal->rank && depth + 1 >= literal->rank)
            return problem_set(problem, AKG_ERROR_USAGE,
                               "a list stands where a number is expected, at '%.40s'", *text);
        return parse_list(text, depth + 1, literal, problem);
    }
    const char *start = *text;
    struct element element;
    if (!element_scan(text, &element))
        return number_expected(start, problem);
    if (literal->rank == 0)
        literal->rank = depth + 1;
    if (literal->rank != depth + 1)
        return problem_set(problem, AKG_ERROR_USAGE, "a number stands where a list is expected, at '%.40s'",
                           start);
    return literal_push(literal, &element, problem);
}

/* A list that is complete: its length must be that of its sisters. */
static bool close_list(struct literal *literal, int depth, int64_t length, struct problem *problem)
{
    if (literal->rank == 0)
        literal->rank = depth + 1; /* an empty list ends the nesting as a number would */
    if (literal->shape[depth] < 0)
        literal->shape[depth] = length;
    if (literal->shape[depth] == length)
        return true;
    problem_set(problem, AKG_ERROR_USAGE, "the literal is ragged: a row of %lld beside a row of %lld",
                (long long)length, (long long)literal->shape[depth]);
    return problem_help(problem, "all rows of one level need the same length");
}

/* The rank and shape of `(item)`, which only groups, are those of the item. */
static void drop_level(struct literal *literal)
{
    literal->rank--;
    memmove(literal->shape, literal->shape + 1, (AKG_MAX_RANK - 1) * sizeof *literal->shape);
}

static bool parse_list(const char **text, int depth, struct literal *literal, struct problem *problem)
{
    char closing = **text == '[' ? ']' : ')';
    int64_t length = 0;
    bool comma = true;
    if (depth >= AKG_MAX_RANK)
        return problem_set(problem, AKG_ERROR_USAGE, "the lists are nested more than %d deep", AKG_MAX_RANK);
    for (*text = text_skip_spaces(*text + 1); **text != closing; *text = text_skip_spaces(*text)) {
        if (!comma && **text == '\0')
            return problem_set(problem, AKG_ERROR_USAGE, "the list is not closed with '%c'", closing);
        if (!comma)
            return problem_set(problem, AKG_ERROR_USAGE, "expected ',' or '%c' at '%.40s'", closing, *text);
        if (!parse_item(text, depth, literal, problem))
            return false;
        length++;
        *text = text_skip_spaces(*text);
        comma = **text == ',';
        *text += comma;
    }
    ++*text;
    if (!close_list(literal, depth, length, problem))
        return false;
    if (depth == 0 && closing == ')' && length == 1 && !comma)
        drop_level(literal);
    return true;
}

bool literal_parse(const char **text, struct literal *literal, struct problem *problem)
{
    for (int axis = 0; axis < AKG_MAX_RANK; axis++)
        literal->shape[axis] = -1;
    if (**text == '[' || **text == '(')
        return parse_list(text, 0, literal, problem);
    struct element element;
    if (!element_scan(text, &element))
        return number_expected(*text, problem);
    return literal_push(literal, &element, problem);
}

void literal_free(struct literal *literal)
{
    free(literal->elements);
    memset(literal, 0, sizeof *literal);
}

/* ---- tensors -------------------------------------------------------------- */

bool literal_create(akg_dtype dtype, int rank, const int64_t *shape, akg_tensor **tensor,
                    struct problem *problem)
{
    akg_status status = akg_tensor_create(dtype, rank, shape, tensor);
    if (status == AKG_OK)
        return true;
    struct name_list dims = {0};
    for (int axis = 0; axis < rank; axis++) {
        char *dim = string_format("%lld", (long long)shape[axis]);
        if (dim)
            name_list_add(&dims, dim);
        free(dim);
    }
    return problem_set(problem, AKG_ERROR_USAGE, "a tensor %s[%s] cannot be made: %s", akg_dtype_name(dtype),
                       dims.text,
                       status == AKG_ERROR_MEMORY ? "there is not enough memory" : "it is too large");
}

static bool is_64_bit_integer(akg_dtype dtype)
{
    return dtype == AKG_INT64 || dtype == AKG_UINT64;
}

/* 64-bit integers are stored as they were written; two's complement makes both dtypes one case. */
static uint64_t element_bits(const struct element *element)
{
    bool negative;
    uint64_t magnitude;
    element_whole(element, &negative, &magnitude);
    return negative ? -magnitude : magnitude;
}

bool literal_tensor(const struct literal *literal, akg_dtype dtype, akg_tensor **tensor,
                    struct problem *problem)
{
    bool exact = is_64_bit_integer(dtype);
    akg_tensor *source;
    for (size_t i = 0; i < literal->count; i++)
        if (!element_fits(&literal->elements[i], dtype))
            return does_not_fit(&literal->elements[i], dtype, problem);
    if (!literal_create(exact ? dtype : AKG_FLOAT64, literal->rank, literal->shape, &source, problem))
        return false;
    for (size_t i = 0; i < literal->count; i++) {
        if (exact)
            ((uint64_t *)akg_tensor_data(source))[i] = element_bits(&literal->elements[i]);
        else
            ((double *)akg_tensor_data(source))[i] = literal->elements[i].real;
    }
    if (exact) {
        *tensor = source;
        return true;
    }
    akg_status status = akg_tensor_cast(source, dtype, tensor);
    akg_tensor_release(source);
    return status == AKG_OK || problem_library(problem, status, NULL);
}

bool literal_fill(const struct element *element, akg_dtype dtype, int rank, const int64_t *shape,
                  akg_tensor **tensor, struct problem *problem)
{
    if (!element_fits(element, dtype))
        return does_not_fit(element, dtype, problem);
    if (!literal_create(dtype, rank, shape, tensor, problem))
        return false;
    if (!is_64_bit_integer(dtype)) {
        akg_tensor_fill(*tensor, element->real);
        return true;
    }
    uint64_t *data = akg_tensor_data(*tensor);
    for (int64_t i = 0; i < akg_tensor_element_count(*tensor); i++)
        data[i] = element_bits(element);
    return true;
}

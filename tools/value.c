/*
 * value.c: reads one VALUE of the command line into an argument of a call.
 *
 * Whether `[2, 2]` is a tensor or a tuple, and whether a bare word is a string,
 * depends on the parameter; shapes and dtypes are judged by the call, not here.
 */
#include "value.h"

#include "literal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The dtype of numbers when nothing says otherwise. */
static const akg_dtype default_dtype = AKG_FLOAT32;

/* ---- suffixes ------------------------------------------------------------- */

static bool unknown_dtype(const char *name, struct problem *problem)
{
    struct nearest nearest = {.word = name};
    for (int dtype = 0; dtype < AKG_DTYPE_COUNT; dtype++)
        nearest_consider(&nearest, akg_dtype_name((akg_dtype)dtype));
    problem_set(problem, AKG_ERROR_USAGE, "there is no dtype '%.60s'", name);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem,
                        "dtypes: bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64");
}

/* What follows a literal or generator: nothing, or :dtype to the end of the text. */
static bool parse_suffix(const char *text, akg_dtype *dtype, struct problem *problem)
{
    text = text_skip_spaces(text);
    if (*text == '\0')
        return true;
    if (*text != ':')
        return problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.40s' at the end of the value", text);
    char name[32] = "";
    text = text_skip_spaces(text + 1);
    size_t length = strcspn(text, " \t");
    if (*text_skip_spaces(text + length) != '\0')
        return problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.40s' at the end of the value",
                           text + length);
    memcpy(name, text, length < sizeof name ? length : sizeof name - 1);
    *dtype = akg_dtype_from_name(name);
    return *dtype != AKG_DTYPE_COUNT || unknown_dtype(name, problem);
}

/* ---- generators ------------------------------------------------------------ */

enum generator {
    GENERATOR_RANDN,
    GENERATOR_RAND,
    GENERATOR_RANDINT,
    GENERATOR_ZEROS,
    GENERATOR_ONES,
    GENERATOR_FULL,
    GENERATOR_ARANGE
};

static const char *const generator_names[] = {"randn", "rand", "randint", "zeros", "ones", "full", "arange"};
enum { GENERATOR_COUNT = sizeof generator_names / sizeof *generator_names };

/* The length of the word before '(' at the start of the text, or 0 when it does not look like a call. */
static size_t call_name_length(const char *text)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.");
    return text[0] >= '0' && text[0] <= '9' ? 0 : *text_skip_spaces(text + length) == '(' ? length : 0;
}

static int find_generator(const char *text, size_t length)
{
    for (int i = 0; i < GENERATOR_COUNT; i++)
        if (strlen(generator_names[i]) == length && strncmp(text, generator_names[i], length) == 0)
            return i;
    return -1;
}

/* The numbers between parentheses; one level of inner ones, as in full((2, 3), 7), adds nothing. */
static bool parse_numbers(const char **text, int depth, struct literal *numbers, struct problem *problem)
{
    char closing = **text == '[' ? ']' : ')';
    bool comma = true;
    for (*text = text_skip_spaces(*text + 1); **text != closing; *text = text_skip_spaces(*text)) {
        struct element element;
        if (!comma || **text == '\0')
            return problem_set(problem, AKG_ERROR_USAGE, "expected ',' or '%c' at '%.40s'", closing, *text);
        if ((**text == '(' || **text == '[') && depth == 0) {
            if (!parse_numbers(text, depth + 1, numbers, problem))
                return false;
        } else if (!element_scan(text, &element)) {
            return problem_set(problem, AKG_ERROR_USAGE, "expected a number at '%.40s'", *text);
        } else if (!literal_push(numbers, &element, problem)) {
            return false;
        }
        *text = text_skip_spaces(*text);
        comma = **text == ',';
        *text += comma;
    }
    ++*text;
    return true;
}

/* The first `count` numbers as a shape. */
static bool numbers_to_shape(const struct literal *numbers, size_t count, int64_t *shape,
                             struct problem *problem)
{
    if (count > AKG_MAX_RANK)
        return problem_set(problem, AKG_ERROR_USAGE, "a tensor has at most %d dims, not %zu", AKG_MAX_RANK,
                           count);
    for (size_t i = 0; i < count; i++)
        if (!element_int64(&numbers->elements[i], &shape[i]) || shape[i] < 0)
            return problem_set(problem, AKG_ERROR_USAGE, "a dim is a whole number from 0 on, not %g",
                               numbers->elements[i].real);
    return true;
}

/* arange(stop), arange(first, stop) and arange(first, stop, step), as numpy's. */
static bool make_range(const struct literal *numbers, akg_dtype dtype, akg_tensor **tensor,
                       struct problem *problem)
{
    if (numbers->count < 1 || numbers->count > 3)
        return problem_set(problem, AKG_ERROR_USAGE, "arange takes one to three numbers, not %zu",
                           numbers->count);
    const struct element *given = numbers->elements;
    double first = numbers->count == 1 ? 0 : given[0].real;
    double stop = given[numbers->count == 1 ? 0 : 1].real;
    double step = numbers->count == 3 ? given[2].real : 1;
    double length = ceil((stop - first) / step);
    if (step == 0 || !(fabs(length) < 0x1p53))
        return problem_set(problem, AKG_ERROR_USAGE, "arange from %g to %g in steps of %g never ends", first,
                           stop, step);
    int64_t count = length > 0 ? (int64_t)length : 0;
    /* the ends tell the range, the second element whether the step is whole */
    const double probes[] = {first, first + step * (double)(count - 1), first + step};
    for (int64_t i = 0; i < (count > 1 ? 3 : count); i++) {
        struct element probe = {.real = probes[i], .kind = ELEMENT_REAL, .negative = probes[i] < 0};
        if (!element_fits(&probe, dtype))
            return problem_set(problem, AKG_ERROR_USAGE, "%g of arange does not fit in %s", probe.real,
                               akg_dtype_name(dtype));
    }
    if (!literal_create(dtype, 1, &count, tensor, problem))
        return false;
    akg_tensor_fill_range(*tensor, first, step);
    return true;
}

/* randint(low, high, n, ...): whole numbers from low up to, without it, high, as numpy's. */
static bool make_integers(const struct literal *numbers, akg_dtype dtype, uint64_t stream,
                          akg_tensor **tensor, struct problem *problem)
{
    int64_t shape[AKG_MAX_RANK], low, high;
    if (numbers->count < 2)
        return problem_set(problem, AKG_ERROR_USAGE,
                           "randint takes the least number, the one behind the last, and a shape, as in "
                           "randint(0,10,2,3)");
    const struct element *given = numbers->elements;
    if (!element_int64(&given[0], &low) || !element_int64(&given[1], &high))
        return problem_set(problem, AKG_ERROR_USAGE,
                           "randint goes from one whole number to another, not from %g to %g", given[0].real,
                           given[1].real);
    if (low >= high)
        return problem_set(problem, AKG_ERROR_USAGE, "randint from %lld to below %lld has no numbers",
                           (long long)low, (long long)high);
    const int64_t ends[] = {low, high - 1};
    for (int i = 0; i < 2; i++) {
        struct element end = {.real = (double)ends[i],
                              .magnitude = ends[i] < 0 ? -(uint64_t)ends[i] : (uint64_t)ends[i],
                              .kind = ELEMENT_INTEGER,
                              .negative = ends[i] < 0};
        if (!element_fits(&end, dtype))
            return problem_set(problem, AKG_ERROR_USAGE, "%lld of randint does not fit in %s",
                               (long long)ends[i], akg_dtype_name(dtype));
    }
    struct literal dims = {.elements = numbers->elements + 2, .count = numbers->count - 2};
    if (!numbers_to_shape(&dims, dims.count, shape, problem) ||
        !literal_create(dtype, (int)dims.count, shape, tensor, problem))
        return false;
    akg_tensor_fill_integers(*tensor, low, high, stream);
    return true;
}

static bool generate(enum generator generator, const struct literal *numbers, akg_dtype dtype,
                     uint64_t stream, akg_tensor **tensor, struct problem *problem)
{
    int64_t shape[AKG_MAX_RANK];
    struct element filler = {.real = generator == GENERATOR_ONES,
                             .magnitude = generator == GENERATOR_ONES,
                             .kind = ELEMENT_INTEGER};
    size_t rank = numbers->count;
    if (generator == GENERATOR_ARANGE)
        return make_range(numbers, dtype, tensor, problem);
    if (generator == GENERATOR_RANDINT)
        return make_integers(numbers, dtype, stream, tensor, problem);
    if (generator == GENERATOR_FULL) {
        if (rank == 0)
            return problem_set(problem, AKG_ERROR_USAGE,
                               "full needs a value behind its shape, as in full(2,3,0.5)");
        filler = numbers->elements[--rank];
    }
    if (!numbers_to_shape(numbers, rank, shape, problem))
        return false;
    if (generator != GENERATOR_RAND && generator != GENERATOR_RANDN)
        return literal_fill(&filler, dtype, (int)rank, shape, tensor, problem);
    if (!literal_create(dtype, (int)rank, shape, tensor, problem))
        return false;
    if (generator == GENERATOR_RAND)
        akg_tensor_fill_uniform(*tensor, stream);
    else
        akg_tensor_fill_normal(*tensor, stream);
    return true;
}

static bool parse_generator(const char *text, size_t name_length, const akg_parameter *parameter,
                            uint64_t stream, akg_tensor **tensor, struct problem *problem)
{
    int generator = find_generator(text, name_length);
    if (generator < 0) {
        char name[64];
        size_t kept = name_length < sizeof name ? name_length : sizeof name - 1;
        memcpy(name, text, kept);
        name[kept] = '\0';
        struct nearest nearest = {.word = name};
        for (int i = 0; i < GENERATOR_COUNT; i++)
            nearest_consider(&nearest, generator_names[i]);
        problem_set(problem, AKG_ERROR_USAGE, "there is no generator '%s'", name);
        if (nearest.best)
            return problem_help(problem, "did you mean '%s'?", nearest.best);
        return problem_help(problem, "the generators are randn, rand, randint, zeros, ones, full and arange");
    }
    struct literal numbers = {0};
    akg_dtype usual = generator == GENERATOR_RANDINT ? AKG_INT32 : default_dtype;
    akg_dtype dtype = parameter->dtype != AKG_DTYPE_COUNT ? parameter->dtype : usual;
    const char *at = text_skip_spaces(text + name_length);
    bool good = parse_numbers(&at, 0, &numbers, problem) && parse_suffix(at, &dtype, problem) &&
                generate((enum generator)generator, &numbers, dtype, stream, tensor, problem);
    literal_free(&numbers);
    return good;
}

/* ---- files ----------------------------------------------------------------- */

/* A file reference taken apart; `path` and `key` are the owner's to free. */
struct file_reference {
    char *path, *key; /* key NULL: a .npy file */
    akg_dtype dtype;  /* to convert to, or AKG_DTYPE_COUNT */
};

/* The end of `text` without a final ":dtype", and that dtype. */
static size_t cut_dtype(const char *text, akg_dtype *dtype)
{
    const char *colon = strrchr(text, ':');
    *dtype = colon ? akg_dtype_from_name(colon + 1) : AKG_DTYPE_COUNT;
    return *dtype == AKG_DTYPE_COUNT ? strlen(text) : (size_t)(colon - text);
}

static bool ends_at(const char *text, size_t length, const char *ending)
{
    size_t tail = strlen(ending);
    return length > tail && strncmp(text + length - tail, ending, tail) == 0;
}

/* What stands behind ".npz:", or NULL. */
static const char *find_key(const char *text)
{
    const char *mark = strstr(text, ".npz:");
    return mark && mark > text ? mark + strlen(".npz:") : NULL;
}

static bool looks_like_file(const char *text)
{
    akg_dtype dtype;
    size_t length = cut_dtype(text, &dtype);
    const char *colon = strrchr(text, ':');
    return ends_at(text, length, ".npy") || string_ends_with(text, ".npz") || find_key(text) ||
           (colon && ends_at(text, (size_t)(colon - text), ".npy"));
}

static bool split_file(const char *text, struct file_reference *file, struct problem *problem)
{
    size_t length = cut_dtype(text, &file->dtype);
    const char *key = find_key(text);
    if (!key && string_ends_with(text, ".npz")) {
        problem_set(problem, AKG_ERROR_USAGE, "'%.200s' holds several arrays", text);
        return problem_help(problem, "write FILE.npz:KEY to say which");
    }
    if (!key && !ends_at(text, length, ".npy"))
        return unknown_dtype(strrchr(text, ':') + 1, problem);
    if (key && (size_t)(key - text) >= length) {
        /* `file.npz:float32` names the array float32; nothing is converted */
        length = strlen(text);
        file->dtype = AKG_DTYPE_COUNT;
    }
    if (key && *key == '\0')
        return problem_set(problem, AKG_ERROR_USAGE, "the key behind '.npz:' is missing");
    file->key = key ? strndup(key, length - (size_t)(key - text)) : NULL;
    file->path = strndup(text, key ? (size_t)(key - text) - 1 : length);
    return (file->path && (file->key || !key)) || problem_memory(problem);
}

static bool read_file(const struct file_reference *file, akg_tensor **tensor, struct problem *problem)
{
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *read = NULL;
    akg_status status = file->key ? akg_npz_read(file->path, file->key, &read, &diagnostics)
                                  : akg_npy_read(file->path, &read, &diagnostics);
    if (status != AKG_OK) {
        /* whatever is wrong with the file, it is the command line that named it */
        if (status != AKG_ERROR_MEMORY && status != AKG_ERROR_INTERNAL)
            status = AKG_ERROR_IO;
        return problem_library(problem, status, diagnostics);
    }
    akg_diagnostics_free(diagnostics);
    *tensor = read;
    if (file->dtype == AKG_DTYPE_COUNT || file->dtype == akg_tensor_dtype(read))
        return true;
    *tensor = NULL;
    status = akg_tensor_cast(read, file->dtype, tensor);
    akg_tensor_release(read);
    return status == AKG_OK || problem_library(problem, status, NULL);
}

static bool parse_file(const char *text, akg_tensor **tensor, struct problem *problem)
{
    struct file_reference file = {.dtype = AKG_DTYPE_COUNT};
    bool good = split_file(text, &file, problem) && read_file(&file, tensor, problem);
    free(file.path);
    free(file.key);
    return good;
}

/* ---- tensors ---------------------------------------------------------------- */

static bool starts_literal(const char *text)
{
    struct element element;
    const char *at = text;
    return strchr("[(+-.0123456789", *text) || element_scan(&at, &element);
}

/* What a literal is made of when neither a suffix nor the annotation says it. */
static akg_dtype literal_dtype(const struct literal *literal)
{
    for (size_t i = 0; i < literal->count; i++)
        if (literal->elements[i].kind != ELEMENT_BOOL)
            return default_dtype;
    return literal->count ? AKG_BOOL : default_dtype;
}

static bool parse_tensor_literal(const char *text, const akg_parameter *parameter, akg_tensor **tensor,
                                 struct problem *problem)
{
    struct literal literal = {0};
    akg_dtype dtype = AKG_DTYPE_COUNT;
    bool good = literal_parse(&text, &literal, problem) && parse_suffix(text, &dtype, problem);
    if (good && dtype == AKG_DTYPE_COUNT)
        dtype = parameter->dtype != AKG_DTYPE_COUNT ? parameter->dtype : literal_dtype(&literal);
    good = good && literal_tensor(&literal, dtype, tensor, problem);
    literal_free(&literal);
    return good;
}

static bool no_tensor(const char *text, struct problem *problem)
{
    problem_set(problem, AKG_ERROR_USAGE, "'%.80s' is no tensor", text);
    return problem_help(problem,
                        "a tensor is written 3.5, [[1,2],[3,4]], file.npy, file.npz:key, "
                        "or randn(2,3), rand randint zeros ones full arange, each with :dtype if need be");
}

static bool parse_tensor(const char *text, const akg_parameter *parameter, uint64_t stream,
                         struct value *value, struct problem *problem)
{
    size_t name_length = call_name_length(text);
    if (strcmp(text, "None") == 0) {
        if (parameter->kind == AKG_PARAMETER_VARIADIC)
            return problem_set(problem, AKG_ERROR_USAGE, "a variadic parameter takes tensors, not None");
        value->argument.kind = AKG_ARGUMENT_NONE;
        return true;
    }
    bool good;
    if (looks_like_file(text))
        good = parse_file(text, &value->tensor, problem);
    else if (starts_literal(text))
        good = parse_tensor_literal(text, parameter, &value->tensor, problem);
    else if (name_length)
        good = parse_generator(text, name_length, parameter, stream, &value->tensor, problem);
    else
        return no_tensor(text, problem);
    value->argument.kind = AKG_ARGUMENT_TENSOR;
    value->argument.as.tensor = value->tensor;
    return good;
}

/* ---- attributes -------------------------------------------------------------- */

static bool attribute_number(const struct element *element, akg_argument *argument, struct problem *problem)
{
    switch (element->kind) {
    case ELEMENT_BOOL:
        argument->kind = AKG_ARGUMENT_BOOL;
        argument->as.boolean = element->real != 0;
        return true;
    case ELEMENT_INTEGER:
    case ELEMENT_HUGE:
        argument->kind = AKG_ARGUMENT_INT;
        return element_int64(element, &argument->as.integer) ||
               problem_set(problem, AKG_ERROR_USAGE, "an integer attribute must fit in int64");
    case ELEMENT_REAL:
        argument->kind = AKG_ARGUMENT_FLOAT;
        argument->as.real = element->real;
        return !element->overflow ||
               problem_set(problem, AKG_ERROR_USAGE, "a float attribute must fit in float64");
    }
    return false;
}

static bool attribute_tuple(const struct literal *literal, struct value *value, struct problem *problem)
{
    value->integers = malloc((literal->count + 1) * sizeof *value->integers);
    if (!value->integers)
        return problem_memory(problem);
    for (size_t i = 0; i < literal->count; i++) {
        if (literal->elements[i].kind != ELEMENT_INTEGER ||
            !element_int64(&literal->elements[i], &value->integers[i])) {
            problem_set(problem, AKG_ERROR_USAGE,
                        "a tuple attribute holds integers of 64 bits; item %zu is none", i);
            return problem_help(problem, "write it as (2,2) or [2,2]");
        }
    }
    value->argument.kind = AKG_ARGUMENT_INTS;
    value->argument.as.ints.items = value->integers;
    value->argument.as.ints.count = literal->count;
    return true;
}

static bool parse_attribute_literal(const char *text, struct value *value, struct problem *problem)
{
    struct literal literal = {0};
    bool good = literal_parse(&text, &literal, problem);
    text = text_skip_spaces(text);
    if (good && *text == ':') {
        problem_set(problem, AKG_ERROR_USAGE, "an attribute has no dtype: unexpected '%.40s'", text);
        good = problem_help(problem, "a parameter is a tensor where the program says so: x: T[N], x: T[()]");
    } else if (good && *text != '\0') {
        good = problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.40s' at the end of the value", text);
    } else if (good && literal.rank > 1) {
        good = problem_set(problem, AKG_ERROR_USAGE,
                           "an attribute is a number, a string or a flat tuple of ints");
    } else if (good) {
        good = literal.rank == 0 ? attribute_number(&literal.elements[0], &value->argument, problem)
                                 : attribute_tuple(&literal, value, problem);
    }
    literal_free(&literal);
    return good;
}

/* A string in quotes, with Python's plainest escapes. */
static bool parse_quoted(const char *text, struct value *value, struct problem *problem)
{
    static const char escapes[] = "\\\\''\"\"n\nt\t";
    char quote = *text++;
    char *write = value->string = malloc(strlen(text) + 1);
    if (!write)
        return problem_memory(problem);
    for (; *text && *text != quote; text++) {
        if (*text != '\\') {
            *write++ = *text;
            continue;
        }
        const char *escape = escapes;
        text++;
        while (*escape && *escape != *text)
            escape += 2;
        if (!*text || !*escape)
            return problem_set(problem, AKG_ERROR_USAGE, "the string holds an unknown escape '\\%.1s'", text);
        *write++ = escape[1];
    }
    *write = '\0';
    if (!*text)
        return problem_set(problem, AKG_ERROR_USAGE, "the string is not closed with %c", quote);
    if (*text_skip_spaces(text + 1) != '\0')
        return problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.40s' behind the string", text + 1);
    return true;
}

/* A word that begins as a number and is none, such as 2,2 or 3x: more likely a slip than a string. */
static bool looks_like_number(const char *text)
{
    text += *text == '+' || *text == '-';
    text += *text == '.';
    return *text >= '0' && *text <= '9';
}

static bool parse_word(const char *text, const akg_parameter *parameter, struct value *value,
                       struct problem *problem)
{
    size_t call = call_name_length(text);
    if (looks_like_file(text) || (call && find_generator(text, call) >= 0)) {
        problem_set(problem, AKG_ERROR_USAGE, "an attribute takes no tensor");
        return problem_help(problem, "if the string is meant, quote it: '%.60s=\"%.80s\"'", parameter->name,
                            text);
    }
    if (looks_like_number(text)) {
        problem_set(problem, AKG_ERROR_USAGE, "'%.80s' is neither a number nor a tuple", text);
        return problem_help(
            problem,
            "a tuple is written (2,2); a string that starts like a number is quoted: '%.60s=\"%.80s\"'",
            parameter->name, text);
    }
    value->string = strdup(text);
    return value->string || problem_memory(problem);
}

static bool parse_attribute(const char *text, const akg_parameter *parameter, struct value *value,
                            struct problem *problem)
{
    const char *after = text;
    struct element element;
    bool quoted = *text == '"' || *text == '\'';
    if (strcmp(text, "None") == 0) {
        value->argument.kind = AKG_ARGUMENT_NONE;
        return true;
    }
    if (*text == '[' || *text == '(' ||
        (element_scan(&after, &element) && strchr(":", *text_skip_spaces(after))))
        return parse_attribute_literal(text, value, problem);
    if (!(quoted ? parse_quoted(text, value, problem) : parse_word(text, parameter, value, problem)))
        return false;
    value->argument.kind = AKG_ARGUMENT_STRING;
    value->argument.as.string = value->string;
    return true;
}

/* ---- the value ---------------------------------------------------------------- */

bool value_parse(const char *text, const akg_parameter *parameter, uint64_t stream, struct value *value,
                 struct problem *problem)
{
    memset(value, 0, sizeof *value);
    value->argument.name = parameter->name;
    text = text_skip_spaces(text);
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        length--;
    char *trimmed = strndup(text, length);
    if (!trimmed)
        return problem_memory(problem);
    bool good;
    if (length == 0) {
        problem_set(problem, AKG_ERROR_USAGE, "the value is empty");
        good = problem_help(problem, "an empty string is written '%.60s=\"\"'", parameter->name);
    } else if (parameter->kind == AKG_PARAMETER_ATTRIBUTE) {
        good = parse_attribute(trimmed, parameter, value, problem);
    } else {
        good = parse_tensor(trimmed, parameter, stream, value, problem);
    }
    free(trimmed);
    return good;
}

void value_free(struct value *value)
{
    akg_tensor_release(value->tensor);
    free(value->string);
    free(value->integers);
    memset(value, 0, sizeof *value);
}

/* The finaliser of splitmix64: a bijection that spreads neighbouring inputs over all 64 bits. */
static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

uint64_t value_stream(uint64_t seed, size_t position, size_t occurrence)
{
    uint64_t stream = mix(seed + UINT64_C(0x9e3779b97f4a7c15));
    stream = mix(stream + (uint64_t)position + 1);
    return mix(stream + (uint64_t)occurrence + 1);
}

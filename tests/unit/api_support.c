/*
 * api_support.c: see api_support.h.
 */
#include "api_support.h"

#include "../../jit/x86_cpu.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* The options, for some programs with code for all shapes at once: without it what is called once has code
 * for the shape of that call alone. */
static jit_options for_any_shape_or_one(const jit_options *options)
{
    static _Thread_local uint32_t state = 1;
    jit_options changed = options ? *options : (jit_options){.strict = false};
    state = state * 1664525 + 1013904223;
    changed.any_shape |= state >> 31;
    return changed;
}

akg_module *api_module(const char *text, const jit_options *options)
{
    jit_options settings = for_any_shape_or_one(options);
    jit_source source = {.name = "test.akg", .text = text, .length = strlen(text)};
    akg_diagnostics *diagnostics;
    akg_module *module;
    char *rendered = NULL;

    if (jit_compile(&source, &settings, &module, &diagnostics) != AKG_OK) {
        akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &rendered);
        fprintf(stderr, "%s", rendered ? rendered : "no message\n");
        akg_free(rendered);
    }
    akg_diagnostics_free(diagnostics);
    return module;
}

akg_module *api_compile(const char *text)
{
    return api_module(text, NULL);
}

int api_vector_loops(const char *text)
{
    jit_source source = {.name = "test.akg", .text = text, .length = strlen(text)};
    char *assembly = NULL;
    int count = -1;

    if (jit_emit(&source, AKG_STAGE_ASM, "k", NULL, 0, &assembly, NULL) == AKG_OK)
        for (const char *at = assembly; at; at = strstr(at + 1, " lanes of "))
            count++;
    akg_free(assembly);
    return count;
}

bool api_run(const char *program, const jit_options *options, akg_tensor *const *inputs, int count,
             const akg_argument *last, akg_tensor **outputs)
{
    enum { MOST = 8 };
    jit_options settings = for_any_shape_or_one(options);
    jit_source source = {.name = "test.akg", .text = program, .length = strlen(program)};
    akg_argument arguments[MOST + 1];
    akg_module *module = NULL;
    akg_diagnostics *of_program = NULL, *of_call = NULL;
    char *text = NULL;

    if (count > MOST)
        return false;
    for (int k = 0; k < count; k++)
        arguments[k] = api_tensor(NULL, inputs[k]);
    if (last)
        arguments[count++] = *last;
    bool good = jit_compile(&source, &settings, &module, &of_program) == AKG_OK &&
                akg_kernel_call(akg_module_kernel_at(module, 0), arguments, (size_t)count, NULL, outputs,
                                &of_call) == AKG_OK;
    if (!good && akg_diagnostics_render(of_call ? of_call : of_program, AKG_FORMAT_TEXT, &text) == AKG_OK)
        fprintf(stderr, "%s%s", text, program);
    akg_free(text);
    akg_diagnostics_free(of_program);
    akg_diagnostics_free(of_call);
    akg_module_release(module);
    return good;
}

akg_tensor *api_range(akg_dtype dtype, int rank, const int64_t *shape, double first, double step)
{
    akg_tensor *tensor;

    if (akg_tensor_create(dtype, rank, shape, &tensor) == AKG_OK)
        akg_tensor_fill_range(tensor, first, step);
    return tensor;
}

akg_tensor *api_vector(akg_dtype dtype, int64_t length, double first, double step)
{
    return api_range(dtype, 1, &length, first, step);
}

double api_element(const akg_tensor *tensor, int64_t index)
{
    int64_t place[AKG_MAX_RANK];

    for (int axis = akg_tensor_rank(tensor) - 1; axis >= 0; axis--) {
        place[axis] = index % akg_tensor_shape(tensor)[axis];
        index /= akg_tensor_shape(tensor)[axis];
    }
    return akg_tensor_get(tensor, place);
}

bool api_same(const akg_tensor *a, const akg_tensor *b)
{
    akg_tensor *plain_a, *plain_b;
    size_t rank = (size_t)akg_tensor_rank(a), size = akg_dtype_size(akg_tensor_dtype(a));
    bool same = a && b && akg_tensor_dtype(a) == akg_tensor_dtype(b) &&
                akg_tensor_rank(a) == akg_tensor_rank(b) &&
                memcmp(akg_tensor_shape(a), akg_tensor_shape(b), rank * sizeof(int64_t)) == 0;

    if (!same)
        return false;
    akg_tensor_copy(a, &plain_a);
    akg_tensor_copy(b, &plain_b);
    same = plain_a && plain_b &&
           memcmp(akg_tensor_data(plain_a), akg_tensor_data(plain_b),
                  (size_t)akg_tensor_element_count(a) * size) == 0;
    akg_tensor_release(plain_a);
    akg_tensor_release(plain_b);
    return same;
}

static const akg_diagnostic *first_error(const akg_diagnostics *diagnostics)
{
    const akg_diagnostic *diagnostic = NULL;

    for (size_t i = 0; (diagnostic = akg_diagnostics_at(diagnostics, i)); i++)
        if (diagnostic->severity == AKG_SEVERITY_ERROR)
            break;
    return diagnostic;
}

bool api_same_numbers(const akg_tensor *a, const akg_tensor *b)
{
    enum { MOST = 8 };
    int64_t count = akg_tensor_element_count(a), at[MOST];
    int rank = (int)akg_tensor_rank(a);
    const int64_t *shape = akg_tensor_shape(a);
    if (rank > MOST || rank != (int)akg_tensor_rank(b) ||
        (rank && memcmp(shape, akg_tensor_shape(b), sizeof *shape * (size_t)rank) != 0))
        return false;
    for (int64_t k = 0; k < count; k++) {
        int64_t left = k;
        for (int axis = rank - 1; axis >= 0; left /= shape[axis--])
            at[axis] = left % shape[axis];
        double x = akg_tensor_get(a, at), y = akg_tensor_get(b, at);
        if ((isnan(x) && isnan(y)) || (x == y && signbit(x) == signbit(y)))
            continue;
        fprintf(stderr, "    [%d]: %g, not %g\n", (int)k, x, y);
        return false;
    }
    return true;
}

const char *api_error(const akg_diagnostics *diagnostics)
{
    const akg_diagnostic *error = first_error(diagnostics);
    return error ? error->name : "";
}

bool api_says(const akg_diagnostics *diagnostics, const char *piece)
{
    const akg_diagnostic *error = first_error(diagnostics);

    if (!error)
        return false;
    if (strstr(error->message, piece))
        return true;
    for (size_t i = 0; i < error->note_count; i++)
        if (strstr(error->notes[i], piece))
            return true;
    return false;
}

/* ---- JSON ------------------------------------------------------------------------- */

static const char *json_value(const char *at);

static const char *json_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static const char *json_string(const char *at)
{
    if (*at++ != '"')
        return NULL;
    for (; *at != '"'; at++) {
        if ((unsigned char)*at < 0x20)
            return NULL;
        if (*at != '\\')
            continue;
        at++;
        if (*at == 'u') {
            for (int i = 0; i < 4; i++)
                if (!isxdigit((unsigned char)*++at))
                    return NULL;
        } else if (!*at || !strchr("\"\\/bfnrt", *at)) {
            return NULL;
        }
    }
    return at + 1;
}

static const char *json_number(const char *at)
{
    at += *at == '-';
    if (!isdigit((unsigned char)*at) || (at[0] == '0' && isdigit((unsigned char)at[1])))
        return NULL;
    at += strspn(at, "0123456789");
    if (*at == '.') {
        at++;
        if (!isdigit((unsigned char)*at))
            return NULL;
        at += strspn(at, "0123456789");
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '-' || *at == '+';
        if (!isdigit((unsigned char)*at))
            return NULL;
        at += strspn(at, "0123456789");
    }
    return at;
}

/* After the opening bracket: members up to the closing one. */
static const char *json_members(const char *at, char close, bool named)
{
    at = json_space(at);
    if (*at == close)
        return at + 1;
    for (;;) {
        if (named) {
            at = json_string(json_space(at));
            at = at ? json_space(at) : NULL;
            if (!at || *at++ != ':')
                return NULL;
        }
        at = json_value(at);
        if (!at)
            return NULL;
        if (*at == close)
            return at + 1;
        if (*at++ != ',')
            return NULL;
    }
}

/* The place after a value and the space behind it, or NULL. */
static const char *json_value(const char *at)
{
    static const char *const words[] = {"true", "false", "null"};

    at = json_space(at);
    if (*at == '{') {
        at = json_members(at + 1, '}', true);
    } else if (*at == '[') {
        at = json_members(at + 1, ']', false);
    } else if (*at == '"') {
        at = json_string(at);
    } else {
        const char *start = at;
        for (size_t i = 0; i < API_COUNT(words) && at == start; i++)
            if (strncmp(at, words[i], strlen(words[i])) == 0)
                at += strlen(words[i]);
        if (at == start)
            at = json_number(at);
    }
    return at ? json_space(at) : NULL;
}

bool api_is_json(const char *text)
{
    const char *end = text ? json_value(text) : NULL;
    return end && *end == 0;
}

bool api_same_everywhere(const char *program, akg_tensor *const *inputs, int count, const akg_argument *last,
                         const akg_tensor *expected)
{
    bool is_same = true;
    for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++)
        for (int way = 0; way < 3; way++) {
            jit_options options = {
                .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = way == 1};
            akg_tensor *output = NULL;
            akg_set_threads(way == 2 ? 3 : 1);
            bool good =
                api_run(program, &options, inputs, count, last, &output) && api_same(output, expected);
            if (!good)
                fprintf(stderr, "%s, way %d:\n%s", options.target, way, program);
            is_same &= good;
            akg_tensor_release(output);
        }
    return is_same;
}

void *api_guarded(size_t bytes, bool at_end, char **pages, size_t *size)
{
    enum { PAGE = 4096 };
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    *size = whole + 2 * PAGE;
    *pages = mmap(NULL, *size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*pages == MAP_FAILED || mprotect(*pages + PAGE, whole, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    return *pages + PAGE + (at_end ? whole - bytes : 0);
}

/*
 * emit_cuda_prelude.c: what stands above the launches in emitted CUDA.
 *
 * Consumes the words of the launches; produces macros, structs, and definitions of just those functions of
 * emit_cuda_library.def, of those that combine what the threads of a block have, and of the snippets that are
 * used. Where the text is compiled as C, whoever does it has defined AKG_LAUNCH, AKG_FRAME, and CUDA's own
 * words as macros (tests/cuda/shim.h).
 */
#include "emit_cuda_private.h"

#include <string.h>

static const char macros[] =
    "#ifdef __CUDACC__\n"
    "#define AKG_LAUNCH(name, threads)                                                                \\\n"
    "    extern \"C\" __global__ void __launch_bounds__(threads)                                        \\\n"
    "        name(const __grid_constant__ struct akg_frame akg_words)\n"
    "#define AKG_FRAME (&akg_words)\n"
    "#endif\n\n";

static const char structs[] = "struct akg_trap {\n"
                              "    long long site, axis, index, extent;\n"
                              "    long long loops[16];\n"
                              "    long long lock;\n"
                              "};\n"
                              "union akg_scalar {\n"
                              "    long long i;\n"
                              "    double d;\n"
                              "};\n";
_Static_assert(JIT_TRAP_LOOPS == 16, "the struct in the text above, and akg_stop, say so too");

/* ---- the library ------------------------------------------------------------------------ */

enum library_kind { LIBRARY_REAL32, LIBRARY_REAL64, LIBRARY_PLAIN, LIBRARY_DEVICE };

static const struct library_row {
    const char *name, *text;
    enum library_kind kind;
} library[] = {
#define REAL(name32, name64, text) {#name32, text, LIBRARY_REAL32}, {#name64, text, LIBRARY_REAL64},
#define PLAIN(name, text) {#name, text, LIBRARY_PLAIN},
#define DEVICE(name, text) {#name, text, LIBRARY_DEVICE},
#include "emit_cuda_library.def"
#undef REAL
#undef PLAIN
#undef DEVICE
};

enum { LIBRARY_ROWS = sizeof library / sizeof *library };

/* The text with its type put in. */
static const char *row_text(struct emitter *emitter, const struct library_row *row)
{
    bool single = row->kind == LIBRARY_REAL32;
    if (row->kind != LIBRARY_REAL32 && row->kind != LIBRARY_REAL64)
        return row->text;
    emit_capture_begin(emitter);
    for (const char *at = row->text; *at; at++) {
        if (*at == '@')
            text_string(emitter->out, single ? "float" : "double");
        else if (*at == '$')
            text_string(emitter->out, single ? "f" : "");
        else
            text_char(emitter->out, *at);
    }
    return emit_capture_end(emitter);
}

static void print_library(struct emitter *emitter, struct text *out)
{
    const char *texts[LIBRARY_ROWS];
    bool device = false;
    for (int k = LIBRARY_ROWS - 1; k >= 0; k--) {
        bool used = emit_count_word(emitter, library[k].name) > 0;
        texts[k] = used ? row_text(emitter, &library[k]) : NULL;
        if (used)
            emit_note_words(emitter, texts[k]);
    }
    for (int k = 0; k < LIBRARY_ROWS; k++) {
        if (!texts[k])
            continue;
        if ((library[k].kind == LIBRARY_DEVICE) != device)
            text_string(out, device ? "#endif\n" : "#ifdef __CUDACC__\n");
        device = library[k].kind == LIBRARY_DEVICE;
        text_format(out, "__device__ static %s", texts[k]);
    }
    if (device)
        text_string(out, "#endif\n");
}

/* ---- what a block has together ----------------------------------------------------------------- */

/* How two values are combined, by types of the functions' names. */
static const struct combining_row {
    const char *name, *real, *integer; /* of `a` and `b`; NULL: there is none */
} combinings[] = {{"add", "a + b", "(T)((unsigned long long)a + (unsigned long long)b)"},
                  {"mul", "a * b", "(T)((unsigned long long)a * (unsigned long long)b)"},
                  {"min", "akg_min$(a, b)", "b < a ? b : a"},
                  {"max", "akg_max$(a, b)", "a < b ? b : a"},
                  {"bitand", NULL, "a & b"},
                  {"bitor", NULL, "a | b"},
                  {"bitxor", NULL, "a ^ b"}};

static const struct {
    const char *name, *type;
    const char *suffix; /* of functions of floats; NULL: integers */
} combined_types[] = {{"float32", "float", "f"},
                      {"float64", "double", ""},
                      {"int64", "long long", NULL},
                      {"uint64", "unsigned long long", NULL}};

/* Within each warp by exchange, then the warps in order: every thread gets the same, and each run does. */
static const char team_text[] = "__device__ static T akg_team_NAME(T a)\n"
                                "{\n"
                                "    __shared__ T parts[32];\n"
                                "    for (int lane = 16; lane > 0; lane /= 2) {\n"
                                "        const T b = akg_exchange_TYPE(a, lane);\n"
                                "        a = COMBINED;\n"
                                "    }\n"
                                "    __syncthreads();\n"
                                "    if (threadIdx.x % 32 == 0)\n"
                                "        parts[threadIdx.x / 32] = a;\n"
                                "    __syncthreads();\n"
                                "    a = parts[0];\n"
                                "    for (unsigned int k = 1; k < blockDim.x / 32; k++) {\n"
                                "        const T b = parts[k];\n"
                                "        a = COMBINED;\n"
                                "    }\n"
                                "    return a;\n"
                                "}\n";

static const char exchange_text[] = "#ifdef __CUDACC__\n"
                                    "__device__ static T akg_exchange_TYPE(T value, int lane)\n"
                                    "{\n"
                                    "    return __shfl_xor_sync(0xffffffffu, value, lane);\n"
                                    "}\n"
                                    "#endif\n";

/* Prints with T, TYPE, NAME, COMBINED and $ replaced, words as wholes. */
static void print_replaced(struct text *out, const char *text, const char *const *pairs)
{
    while (*text) {
        size_t length = 0;
        for (int k = 0; pairs[k] && !length; k += 2)
            if (strncmp(text, pairs[k], strlen(pairs[k])) == 0) {
                length = strlen(pairs[k]);
                text_string(out, pairs[k + 1]);
            }
        if (!length)
            text_char(out, *text);
        text += length ? length : 1;
    }
}

static const char *replaced(struct emitter *emitter, const char *text, const char *const *pairs)
{
    emit_capture_begin(emitter);
    print_replaced(emitter->out, text, pairs);
    return emit_capture_end(emitter);
}

/* The functions that end a shared loop; those that they call are noted. */
static const char *team_functions(struct emitter *emitter)
{
    const char *all = "";
    for (size_t type = 0; type < sizeof combined_types / sizeof *combined_types; type++) {
        const char *functions = "", *suffix = combined_types[type].suffix;
        for (size_t row = 0; row < sizeof combinings / sizeof *combinings; row++) {
            const char *name =
                arena_format(&emitter->arena, "%s_%s", combinings[row].name, combined_types[type].name);
            const char *how = suffix ? combinings[row].real : combinings[row].integer;
            if (!how || !emit_count_word(emitter, arena_format(&emitter->arena, "akg_team_%s", name)))
                continue;
            const char *first[] = {"T)", combined_types[type].type, "$", suffix ? suffix : "", NULL};
            how = strstr(how, "(T)")
                      ? arena_format(&emitter->arena, "(%s%s", combined_types[type].type, how + 2)
                      : replaced(emitter, how, first);
            const char *pairs[] = {
                "TYPE",     combined_types[type].name,
                "COMBINED", how,
                "NAME",     name,
                "T ",       arena_format(&emitter->arena, "%s ", combined_types[type].type),
                NULL};
            functions = arena_format(&emitter->arena, "%s%s", functions, replaced(emitter, team_text, pairs));
        }
        const char *pairs[] = {"TYPE", combined_types[type].name, "T ",
                               arena_format(&emitter->arena, "%s ", combined_types[type].type), NULL};
        if (*functions)
            all = arena_format(&emitter->arena, "%s%s%s", all, replaced(emitter, exchange_text, pairs),
                               functions);
    }
    emit_note_words(emitter, all);
    return all;
}

/* ---- the words that a launch is handed -------------------------------------------------------------- */

static void print_frame(const struct cuda_emitter *cuda, struct text *out)
{
    static const struct {
        enum cuda_word_kind kind;
        const char *member;
    } members[] = {{CUDA_WORD_DIM, "long long dims"},
                   {CUDA_WORD_STRIDE, "long long strides"},
                   {CUDA_WORD_SCALAR, "union akg_scalar scalars"}};
    const struct cuda_program *program = cuda->program;
    int data = 0, k = 0;
    text_string(out, "struct akg_frame {\n");
    for (; k < program->words.count && program->words.items[k].kind <= CUDA_WORD_TEMPORARY; k++)
        data++;
    if (data)
        text_format(out, "    void *data[%d];\n", data);
    for (int m = 0; m < 3; m++) {
        int count = 0;
        for (; k < program->words.count && program->words.items[k].kind == members[m].kind; k++)
            count++;
        if (count)
            text_format(out, "    %s[%d];\n", members[m].member, count);
    }
    if (program->traps)
        text_string(out, "    struct akg_trap *trap;\n");
    if (!program->words.count)
        text_string(out, "    long long none;\n");
    text_string(out, "};\n\n");
}

void emit_cuda_prelude(struct cuda_emitter *cuda, struct text *out)
{
    struct emitter *emitter = &cuda->emitter;
    text_string(out, macros);
    text_string(out, structs);
    print_frame(cuda, out);
    const char *team = team_functions(emitter);
    print_library(emitter, out);
    emit_snippets(emitter, out);
    text_string(out, team);
}

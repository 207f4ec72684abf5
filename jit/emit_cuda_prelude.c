/*
 * emit_cuda_prelude.c: what stands above the launches in emitted CUDA.
 *
 * Consumes the words of the launches; produces macros, structs, and definitions of just those functions of
 * the library (emit_cuda_library.def and three more tables), of those that combine what the threads of a
 * block have, and of the snippets that are used. Where the text is compiled as C, whoever does it has defined
 * AKG_LAUNCH, AKG_FRAME, and CUDA's own words as macros (tests/cuda/shim.h).
 */
#include "emit_cuda_private.h"

#include <string.h>

/* A loop that is taken apart names more than each of its bodies uses (177), a launch is handed more scalars
 * than it reads, and a scan notes for what may stand behind it that it is through (550): nvcc would speak of
 * it; and of more blocks at once than a processor has threads for. From compute capability 9.0 on, what is
 * launched next may take its place on the device while this still runs, and waits there for its results. */
static const char macros[] =
    "#ifdef __CUDACC__\n"
    "#pragma nv_diag_suppress 177, 550\n"
    "#define AKG_LAUNCH(name, ...)                                                                    \\\n"
    "    extern \"C\" __global__ void __launch_bounds__(__VA_ARGS__)                                    \\\n"
    "        name(const __grid_constant__ struct akg_frame akg_words)\n"
    "#if __CUDA_ARCH__ == 750\n"
    "#define akg_blocks(wanted) ((wanted) < 4 ? (wanted) : 4)\n"
    "#elif __CUDA_ARCH__ / 100 == 8 && __CUDA_ARCH__ > 800 || __CUDA_ARCH__ >= 1100\n"
    "#define akg_blocks(wanted) ((wanted) < 6 ? (wanted) : 6)\n"
    "#else\n"
    "#define akg_blocks(wanted) (wanted)\n"
    "#endif\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "#define AKG_BEGIN asm volatile(\"griddepcontrol.launch_dependents; griddepcontrol.wait;\" : : : "
    "\"memory\")\n"
    "#else\n"
    "#define AKG_BEGIN (void)0\n"
    "#endif\n"
    "#define AKG_FRAME (&akg_words)\n"
    "#define akg_read(place) __ldg(&(place))\n"
    "#else\n"
    "#define AKG_BEGIN (void)0\n"
    "#define akg_read(place) (place)\n"
    "#endif\n\n";

static const char structs[] = "struct akg_trap {\n"
                              "    long long site, axis, index, extent;\n"
                              "    long long loops[16];\n"
                              "    union {\n"
                              "        long long lock, down;\n"
                              "    };\n"
                              "    long long launch;\n"
                              "    int nests[16];\n"
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
#include "emit_cuda_moves.def"
#include "emit_cuda_cores.def"
#include "emit_cuda_squares.def"
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
        text_format(out, "__device__ static __attribute__((unused)) %s", texts[k]);
    }
    if (device)
        text_string(out, "#endif\n");
}

/* ---- the words that a launch is handed -------------------------------------------------------------- */

static void print_frame(const struct cuda_emitter *cuda, struct text *out)
{
    static const struct {
        enum cuda_word_kind kind;
        const char *member;
    } members[] = {{CUDA_WORD_DIM, "long long dims"},
                   {CUDA_WORD_STRIDE, "long long strides"},
                   {CUDA_WORD_SCALAR, "union akg_scalar scalars"},
                   {CUDA_WORD_ROUND, "long long rounds"}};
    const struct cuda_program *program = cuda->program;
    int data = 0, k = 0;
    text_string(out, "struct akg_frame {\n");
    for (; k < program->words.count && program->words.items[k].kind <= CUDA_WORD_TEMPORARY; k++)
        data++;
    if (data)
        text_format(out, "    void *data[%d];\n", data);
    for (size_t m = 0; m < sizeof members / sizeof *members; m++) {
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
    const char *combining = emit_cuda_combining(cuda);
    print_library(emitter, out);
    emit_snippets(emitter, out);
    text_string(out, combining);
}

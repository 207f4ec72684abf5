/*
 * emit_c_prelude.c: what stands above the kernel in emitted C, and the names in it.
 *
 * Consumes the text of the kernel; produces declarations of just those library functions and snippets whose
 * names stand in it. The structs repeat frame.h; a unit test compares their layout.
 */
#include "emit_c_private.h"
#include "scalar_library.h"
#include "vector_plan.h"

#include <pthread.h>
#include <string.h>

static const struct {
    const char *name, *text;
} snippets[EMIT_SNIPPET_COUNT] = {
    [EMIT_MIN_INT64] = {"akg_min_int64", "static long long akg_min_int64(long long a, long long b)\n"
                                         "{\n"
                                         "    return b < a ? b : a;\n"
                                         "}\n"},
    [EMIT_MIN_UINT64] =
        {"akg_min_uint64",
         "static unsigned long long akg_min_uint64(unsigned long long a, unsigned long long b)\n"
         "{\n"
         "    return b < a ? b : a;\n"
         "}\n"},
    [EMIT_MAX_INT64] = {"akg_max_int64", "static long long akg_max_int64(long long a, long long b)\n"
                                         "{\n"
                                         "    return a < b ? b : a;\n"
                                         "}\n"},
    [EMIT_MAX_UINT64] =
        {"akg_max_uint64",
         "static unsigned long long akg_max_uint64(unsigned long long a, unsigned long long b)\n"
         "{\n"
         "    return a < b ? b : a;\n"
         "}\n"},
    [EMIT_ABS_INT64] = {"akg_abs_int64", "static long long akg_abs_int64(long long a)\n"
                                         "{\n"
                                         "    return a < 0 ? (long long)(0ull - a) : a;\n"
                                         "}\n"},
    [EMIT_SIGN_INT64] = {"akg_sign_int64", "static int akg_sign_int64(long long a)\n"
                                           "{\n"
                                           "    return (a > 0) - (a < 0);\n"
                                           "}\n"},
    [EMIT_MIN_INT] = {"akg_min_int", "static int akg_min_int(int a, int b)\n"
                                     "{\n"
                                     "    return b < a ? b : a;\n"
                                     "}\n"},
    [EMIT_MAX_INT] = {"akg_max_int", "static int akg_max_int(int a, int b)\n"
                                     "{\n"
                                     "    return a < b ? b : a;\n"
                                     "}\n"},
    [EMIT_MIN_UINT] = {"akg_min_uint", "static unsigned int akg_min_uint(unsigned int a, unsigned int b)\n"
                                       "{\n"
                                       "    return b < a ? b : a;\n"
                                       "}\n"},
    [EMIT_MAX_UINT] = {"akg_max_uint", "static unsigned int akg_max_uint(unsigned int a, unsigned int b)\n"
                                       "{\n"
                                       "    return a < b ? b : a;\n"
                                       "}\n"},
    [EMIT_ABS_INT] = {"akg_abs_int", "static int akg_abs_int(int a)\n"
                                     "{\n"
                                     "    return a < 0 ? (int)(0u - a) : a;\n"
                                     "}\n"},
    [EMIT_INFINITY] = {"akg_infinity", "static const union {\n"
                                       "    unsigned long long bits;\n"
                                       "    double value;\n"
                                       "} akg_infinity = {0x7ff0000000000000ull};\n"},
    [EMIT_NAN] = {"akg_nan", "static const union {\n"
                             "    unsigned long long bits;\n"
                             "    double value;\n"
                             "} akg_nan = {0x7ff8000000000000ull};\n"},
    [EMIT_TRAP] = {"akg_trap", "static int akg_trap(struct akg_trap *trap, int site)\n"
                               "{\n"
                               "    trap->site = site;\n"
                               "    return 1;\n"
                               "}\n"},
    [EMIT_TRAP_INDEX] =
        {"akg_trap_index",
         "static int akg_trap_index(struct akg_trap *trap, int site, int axis, long long index,\n"
         "                          long long extent)\n"
         "{\n"
         "    trap->site = site;\n"
         "    trap->axis = axis;\n"
         "    trap->index = index;\n"
         "    trap->extent = extent;\n"
         "    return 1;\n"
         "}\n"},
    [EMIT_MEMSET] = {"memset", "void *memset(void *destination, int value, unsigned long size);\n"},
};

const char *emit_snippet(enum emit_snippet snippet)
{
    return snippets[snippet].name;
}

static const char trap[] = "struct akg_trap {\n"
                           "    long long site, axis, index, extent;\n"
                           "    long long loops[16];\n"
                           "};\n";
static const char structs[] =
    "union akg_scalar {\n"
    "    long long i;\n"
    "    double d;\n"
    "};\n"
    "struct akg_frame;\n"
    "typedef int akg_part(const struct akg_frame *frame, long long from, long long to,\n"
    "    const union akg_scalar *kept);\n"
    "struct akg_frame {\n"
    "    void **data;\n"
    "    const long long *dims;\n"
    "    const long long *const *strides;\n"
    "    const union akg_scalar *scalars;\n"
    "    struct akg_trap *trap;\n"
    "    int (*split)(const struct akg_frame *frame, akg_part *part, long long low,\n"
    "        long long high, long long step, int grain, double work,\n"
    "        const union akg_scalar *kept, const long long *own);\n"
    "    int (*reach)(const struct akg_frame *frame, int number);\n"
    "    void *deferred;\n"
    "    long long threads;\n"
    "};\n\n";
_Static_assert(JIT_TRAP_LOOPS == 16, "the struct in the text above says so too");

/* ---- words that mean something ------------------------------------------------- */

/* Without branches: what comes next in a text can hardly be foreseen. */
static bool in_word(char c)
{
    unsigned letter = ((unsigned char)c | 32u) - 'a', digit = (unsigned char)c - (unsigned)'0';
    return (letter < 26) | (digit < 10) | (c == '_');
}

/* The word that begins there; empty where none does. */
static struct emit_word word_at(const char *text)
{
    struct emit_word word = {.text = text, .hash = 2166136261u};

    for (; in_word(text[word.length]); word.length++)
        word.hash = (word.hash ^ (unsigned char)text[word.length]) * 16777619u;
    return word;
}

/* Where the word is, or where it would go. */
static struct emit_word *word_place(const struct emit_words *words, const struct emit_word *word)
{
    unsigned mask = (unsigned)words->capacity - 1, at = word->hash & mask;

    for (; words->items[at].text; at = (at + 1) & mask) {
        const struct emit_word *other = &words->items[at];
        if (other->hash == word->hash && other->length == word->length &&
            memcmp(other->text, word->text, (size_t)word->length) == 0)
            break;
    }
    return &words->items[at];
}

/* Keywords of C (of later standards too), of GNU C and of libtcc, macros that compilers predefine, and what
 * the emitted text itself uses. The names of scalar_library count as well. */
static const char *const reserved[] = {
    "alignas", "alignof",      "asm",      "auto",     "bool",          "break",
    "case",    "char",         "const",    "continue", "constexpr",     "default",
    "do",      "double",       "else",     "enum",     "extern",        "false",
    "float",   "for",          "frame",    "goto",     "i386",          "if",
    "inline",  "int",          "linux",    "long",     "main",          "memcpy",
    "memmove", "memset",       "nullptr",  "register", "restrict",      "return",
    "short",   "signed",       "sizeof",   "static",   "static_assert", "struct",
    "switch",  "thread_local", "true",     "typedef",  "typeof",        "typeof_unqual",
    "union",   "unix",         "unsigned", "void",     "volatile",      "while"};

/* Of find_reserved: the row of scalar_library, or one of these. */
enum { RESERVED = -1, NOT_RESERVED = -2 };

/* Both, where they are found by their hash. */
static struct {
    pthread_once_t once;
    struct {
        struct emit_word word;
        int row;
    } places[512];
} known = {.once = PTHREAD_ONCE_INIT};

enum { PLACES = sizeof known.places / sizeof *known.places };

static int place_of(const struct emit_word *word)
{
    unsigned at = word->hash % PLACES;

    for (; known.places[at].word.text; at = (at + 1) % PLACES) {
        const struct emit_word *other = &known.places[at].word;
        if (other->hash == word->hash && other->length == word->length &&
            memcmp(other->text, word->text, (size_t)word->length) == 0)
            break;
    }
    return (int)at;
}

static void know(const char *name, int row)
{
    struct emit_word word = word_at(name);
    int place = place_of(&word);

    known.places[place].word = word;
    known.places[place].row = row;
}

/* A third of the places is taken. Were they too few, whoever looks for a name would look for ever: the last
 * ones stay free, and a test misses what has no place then. */
static void know_all(void)
{
    int left = PLACES * 3 / 4;

    for (size_t k = 0; k < sizeof reserved / sizeof *reserved; k++, left--)
        know(reserved[k], RESERVED);
    for (int row = 0; scalar_library[row].name && left > 0; row++, left--)
        know(scalar_library[row].name, row);
}

static int find_reserved(const struct emit_word *word)
{
    pthread_once(&known.once, know_all);
    int place = place_of(word);

    return known.places[place].word.text ? known.places[place].row : NOT_RESERVED;
}

/* What vector loops are handed. */
static bool declare_slots(struct emitter *emitter, struct text *out)
{
    const struct vector_plan *plan = emitter->options->plan;
    if (!plan || !plan->loops.count)
        return false;
    text_string(out, "union akg_slot {\n"
                     "    long long i;\n"
                     "    double d;\n"
                     "    float f;\n"
                     "    const void *p;\n"
                     "};\n");
    return true;
}

static void declare_vectors(struct emitter *emitter, struct text *out)
{
    for (int k = 0; emitter->options->plan && k < emitter->options->plan->loops.count; k++)
        text_format(out, "void akg_vector_%d(union akg_slot *slots);\n", k);
}

/* The functions of scalar_library whose names were noted. */
static bool declare_library(struct emitter *emitter, struct text *out)
{
    bool *calls = emitter->options->calls, any = false;

    if (!calls)
        calls = arena_array(&emitter->arena, bool, scalar_library_count());
    for (int k = 0; k < emitter->words.capacity; k++) {
        int row = emitter->words.items[k].text ? find_reserved(&emitter->words.items[k]) : NOT_RESERVED;
        if (row >= 0)
            calls[row] = true;
    }
    for (int row = 0; scalar_library[row].name; row++) {
        any |= calls[row];
        if (calls[row])
            text_format(out, "%s\n", scalar_library[row].prototype);
    }
    return any;
}

void emit_prelude(struct emitter *emitter, struct text *out)
{
    bool any;

    if (emit_count_word(emitter, emit_snippet(EMIT_TRAP)) ||
        emit_count_word(emitter, emit_snippet(EMIT_TRAP_INDEX)))
        text_string(out, trap);
    text_string(out, structs);
    any = declare_slots(emitter, out);
    if (emitter->options->hosted) {
        emit_hosted_library(out, emitter->options->plan);
        emit_snippets(emitter, out);
        return;
    }
    declare_vectors(emitter, out);
    any |= declare_library(emitter, out);
    any |= emit_snippets(emitter, out);
    if (any)
        text_char(out, '\n');
}

bool emit_snippets(struct emitter *emitter, struct text *out)
{
    bool any = false;
    for (int k = 0; k < EMIT_SNIPPET_COUNT; k++)
        if (emit_count_word(emitter, snippets[k].name)) {
            text_format(out, "%s%s", emitter->dialect->function, snippets[k].text);
            any = true;
        }
    return any;
}

/* ---- words ------------------------------------------------------------------ */

static void grow_words(struct emitter *emitter)
{
    struct emit_words old = emitter->words;

    emitter->words.capacity = old.capacity ? old.capacity * 4 : 64;
    emitter->words.items = arena_array(&emitter->arena, struct emit_word, emitter->words.capacity);
    for (int k = 0; k < old.capacity; k++)
        if (old.items[k].text)
            *word_place(&emitter->words, &old.items[k]) = old.items[k];
}

/* As often as its count says. */
static void note_word(struct emitter *emitter, const struct emit_word *word)
{
    struct emit_word *place;

    if (emitter->words.count * 2 >= emitter->words.capacity)
        grow_words(emitter);
    place = word_place(&emitter->words, word);
    if (place->text) {
        place->count += word->count;
    } else {
        *place = *word;
        emitter->words.count++;
    }
}

/* Whether what stands there is a name of its own, and not of a member or a struct. */
static bool is_free(const char *text, const char *at)
{
    size_t before = (size_t)(at - text);

    if (before >= 1 && (at[-1] == '.' || (before >= 2 && at[-1] == '>' && at[-2] == '-')))
        return false;
    return before < 7 || at[-1] != ' ' || memcmp(at - 7, "struct ", 7) != 0;
}

void emit_note_words(struct emitter *emitter, const char *text)
{
    for (const char *at = text; at && *at;) {
        if (in_word(*at)) {
            struct emit_word word = word_at(at);
            bool number = at[0] >= '0' && at[0] <= '9';
            word.count = 1;
            if (!number && is_free(text, at))
                note_word(emitter, &word);
            at += word.length;
        } else if (at[0] == '/' && at[1] == '*') {
            at = strstr(at, "*/") + 2;
        } else if (at[0] == EMIT_PENDING) {
            at = strchr(at, '\n');
        } else {
            at++;
        }
    }
}

void emit_add_words(struct emitter *emitter, const struct emit_words *words)
{
    for (int k = 0; k < words->capacity; k++)
        if (words->items[k].text)
            note_word(emitter, &words->items[k]);
}

int emit_count_word(const struct emitter *emitter, const char *name)
{
    struct emit_word word = word_at(name);

    return emitter->words.count ? word_place(&emitter->words, &word)->count : 0;
}

/* ---- names ------------------------------------------------------------------ */

bool emit_c_is_reserved(const char *name)
{
    struct emit_word word = word_at(name);

    if (strncmp(name, "akg_", 4) == 0)
        return true;
    if (name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z')))
        return true;
    return name[word.length] == 0 && find_reserved(&word) != NOT_RESERVED;
}

bool emit_c_is_word(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && length <= 100 && name[length] == 0 && !(name[0] >= '0' && name[0] <= '9');
}

const char *emit_identifier(struct emitter *emitter, const char *name)
{
    if (!emit_c_is_word(name))
        return arena_format(&emitter->arena, "name%d_", ++emitter->odd_names);
    if (name[strlen(name) - 1] == '_' || emit_c_is_reserved(name) ||
        strcmp(name, emitter->options->entry) == 0)
        return arena_format(&emitter->arena, "%s_", name);
    return name;
}

const char *emit_type(akg_dtype dtype)
{
    if (dtype == AKG_BOOL)
        return "int";
    return dtype_is_half(dtype) ? "float" : dtype_table[dtype].c_storage;
}

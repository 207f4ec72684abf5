/*
 * compiler.h: the C compilers of the system as child processes that may be absent, broken, or never end.
 */
#ifndef JIT_COMPILER_H
#define JIT_COMPILER_H

#include "../base/text.h"
#include "notes.h"

#include <stdatomic.h>

/* A command line and its words, without a shell. */
enum { COMPILER_WORDS = 16, COMPILER_MOST = 4 };
struct compiler {
    const char *command;
    char *words[COMPILER_WORDS + 1];
    int count;
};

struct compilers {
    char *commands, *words; /* what they lie in; memory_free */
    struct compiler items[COMPILER_MOST];
    int count;    /* 0: there is none */
    double limit; /* seconds that each may take */
};

/* Those that AKG_CC names, with commas between them, else those that configure found; the first few of them.
 * AKG_CC_LIMIT is their time. */
void compilers_choose(struct compilers *compilers, struct jit_notes *notes);
void compilers_free(struct compilers *compilers);

/* What tells it from others, and from itself after an update: its file's path, size and time, and the
 * processor, whose instructions it may use. False where there is no such file. */
bool compiler_identify(const struct compiler *compiler, struct text *identity);

struct compiler_run {
    const char *source;
    bool strict;  /* no product is fused with a sum */
    double limit; /* seconds */
    const atomic_bool *cancelled;
};

/* Translates C into the bytes of a shared object, appended to `object`; floats are computed as the text says,
 * in its order, which "omp simd" lifts for the loop that it stands above. NULL, or in a word what went wrong.
 * Everything happens in a directory of its own, which is gone afterwards. Ends early when *cancelled is set.
 */
const char *compiler_run(const struct compiler *compiler, const struct compiler_run *run,
                         struct text *object);

#endif

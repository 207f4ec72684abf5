/*
 * compiler.h: the C compiler of the system as a child process that may be absent, broken, or never end.
 */
#ifndef JIT_COMPILER_H
#define JIT_COMPILER_H

#include "../base/text.h"

#include <stdatomic.h>

/* The words of a command line, without a shell. */
enum { COMPILER_WORDS = 16 };
struct compiler {
    char *text; /* what the words lie in; memory_free */
    char *words[COMPILER_WORDS + 1];
    int count;    /* 0: there is none */
    double limit; /* seconds that it may take */
};

/* The one that AKG_CC names, else the one that the library was built with. AKG_CC_LIMIT is its time. */
void compiler_choose(struct compiler *compiler);
void compiler_free(struct compiler *compiler);

/* What tells it from others, and from itself after an update: its file's path, size and time, and the
 * processor, whose instructions it may use. False where there is no such file. */
bool compiler_identify(const struct compiler *compiler, struct text *identity);

/* Translates C into the bytes of a shared object, appended to `object`; floats are computed as the text says,
 * in its order, without fused products. NULL, or in a word what went wrong. Everything happens in a directory
 * of its own, which is gone afterwards. Ends early when *cancelled is set. */
const char *compiler_run(const struct compiler *compiler, const char *source, const atomic_bool *cancelled,
                         struct text *object);

#endif

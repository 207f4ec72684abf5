/*
 * cache_key.h: the key of an entry in the cache on disk: a text of named parts.
 *
 * A key holds everything that shapes the code, not a hash of it: two keys are the same when their texts are.
 * The program stands in it as the C that is compiled, which has in it all that went into it: the kernel after
 * the passes, dtypes, ranks and layouts, constant attributes, switches. The other parts are what is not in
 * the C, and what tells a reader why a key differs.
 */
#ifndef JIT_CACHE_KEY_H
#define JIT_CACHE_KEY_H

#include "../ir/ir.h"
#include "vector.h"

/* Identifies the sources and the compiler that this library was built from, and with it libtcc. */
extern const char cache_key_build[];

/* Which code of the kernel: everything but the program. `compiler` is that of the optimising tier, or NULL.
 */
void cache_key_begin(struct text *key, const char *tier, const struct ir_kernel *kernel,
                     const struct vector_options *options, const char *compiler);
/* The program, which comes last. */
void cache_key_program(struct text *key, const char *program);

/* Bytes of a name for the key, with the NUL. */
enum { CACHE_KEY_NAME = 33 };
void cache_key_name(const struct text *key, char name[CACHE_KEY_NAME]);
uint64_t cache_key_hash(const void *bytes, size_t size, uint64_t seed);

/* A part of a key. */
struct cache_key_part {
    const char *name, *value;
    size_t name_length, value_length;
};
/* The part that begins at *at, which then is the next one's; false at the end, and where there is none. */
bool cache_key_next(const char **at, const char *end, struct cache_key_part *part);
/* The part of that name. */
bool cache_key_find(const char *key, size_t size, const char *name, struct cache_key_part *part);

#endif

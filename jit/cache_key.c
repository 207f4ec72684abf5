/*
 * cache_key.c: see cache_key.h.
 *
 * A part is a line "name: value"; the last one, "program:", has all that follows.
 */
#include "cache_key.h"

#include <string.h>

#define PROGRAM "program"

const char cache_key_build[] =
#include "build_identity.inc"
    ;

static void add_part(struct text *key, const char *name, const char *value)
{
    text_format(key, "%s: %s\n", name, value);
}

static void add_extent(struct text *key, const char *between, const struct ir_expr *extent)
{
    if (extent->kind == IR_INTEGER)
        text_format(key, "%s%lld", between, (long long)extent->integer);
    else
        text_format(key, "%s?", between);
}

/* "x: float32[2, ?] strided": what the code takes for granted of each tensor, and the attributes. */
static void add_signature(struct text *key, const struct ir_kernel *kernel)
{
    const char *between = "";
    text_string(key, "signature: ");
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        if (buffer->role == IR_TEMPORARY)
            continue;
        text_format(key, "%s%s: %s[", between, buffer->name, dtype_table[buffer->dtype].name);
        for (int axis = 0; axis < buffer->rank; axis++)
            add_extent(key, axis ? ", " : "", buffer->shape[axis]);
        text_string(key, buffer->contiguous ? "]" : "] strided");
        between = ", ";
    }
    for (int k = 0; k < kernel->attributes.count; k++) {
        const struct ir_symbol *symbol = kernel->attributes.items[k];
        text_format(key, "%s%s: %s known %d %d", between, symbol->name, dtype_table[symbol->dtype].name,
                    symbol->known.bits, symbol->known.sign);
        between = ", ";
    }
    text_char(key, '\n');
}

void cache_key_begin(struct text *key, const char *tier, const struct ir_kernel *kernel,
                     const struct vector_options *options, const char *compiler)
{
    add_part(key, "kernel", kernel->name);
    add_part(key, "tier", tier);
    add_part(key, "build", cache_key_build);
    if (compiler)
        add_part(key, "compiler", compiler);
    add_part(key, "target", x86_target_name(options->target));
    add_part(key, "strict", options->strict ? "yes" : "no");
    add_part(key, "trusts indices", options->trust_indices ? "yes" : "no");
    add_part(key, "permutes bytes", options->permutes ? "yes" : "no");
    add_part(key, "counts bits", options->counts_bits ? "yes" : "no");
    add_part(key, "stores past caches", options->stream_bytes ? "yes" : "no");
    add_signature(key, kernel);
}

void cache_key_program(struct text *key, const char *program)
{
    text_string(key, PROGRAM ":\n");
    text_string(key, program);
}

/* Good enough to tell files apart and to notice what was changed by accident; nothing relies on nobody being
 * able to find two texts with the same. */
uint64_t cache_key_hash(const void *bytes, size_t size, uint64_t seed)
{
    const unsigned char *at = bytes;
    uint64_t hash = seed ^ size * 0x9e3779b97f4a7c15u, word;
    for (; size; size -= size < sizeof word ? size : sizeof word) {
        size_t part = size < sizeof word ? size : sizeof word;
        word = 0;
        memcpy(&word, at, part);
        hash = (hash ^ word) * 0xd6e8feb86659fd93u;
        hash ^= hash >> 32;
        at += part;
    }
    hash *= 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

void cache_key_name(const struct text *key, char name[CACHE_KEY_NAME])
{
    static const char digits[] = "0123456789abcdef";
    for (int half = 0; half < 2; half++) {
        uint64_t hash = cache_key_hash(key->data, key->length, half ? 0x5bd1e995 : 0);
        for (int k = 0; k < 16; k++)
            name[16 * half + k] = digits[hash >> (60 - 4 * k) & 15];
    }
    name[CACHE_KEY_NAME - 1] = 0;
}

bool cache_key_next(const char **at, const char *end, struct cache_key_part *part)
{
    size_t left = (size_t)(end - *at);
    const char *line_end = left ? memchr(*at, '\n', left) : NULL;
    const char *colon = line_end ? memchr(*at, ':', (size_t)(line_end - *at)) : NULL;
    if (!colon)
        return false;
    *part = (struct cache_key_part){.name = *at, .name_length = (size_t)(colon - *at)};
    if (colon + 1 == line_end) {
        part->value = line_end + 1;
        part->value_length = (size_t)(end - part->value);
        *at = end;
        return true;
    }
    part->value = colon + 2;
    part->value_length = (size_t)(line_end - part->value);
    *at = line_end + 1;
    return true;
}

bool cache_key_find(const char *key, size_t size, const char *name, struct cache_key_part *part)
{
    for (const char *at = key; cache_key_next(&at, key + size, part);)
        if (part->name_length == strlen(name) && memcmp(part->name, name, part->name_length) == 0)
            return true;
    return false;
}

/*
 * ir_names.c: a table from names to the symbols and buffers of a kernel.
 *
 * Chained hashing in an arena. Entries never move, so callers keep pointers to them.
 */
#include "ir_private.h"

#include <string.h>

struct ir_names {
    struct arena *arena;
    struct ir_name **buckets;
    unsigned bucket_count, count;
};

static unsigned hash_of(const char *name)
{
    unsigned hash = 2166136261u;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

struct ir_names *ir_names_new(struct arena *arena)
{
    struct ir_names *names = arena_new(arena, struct ir_names);

    names->arena = arena;
    names->bucket_count = 64;
    names->buckets = arena_array(arena, struct ir_name *, names->bucket_count);
    return names;
}

struct ir_name *ir_names_find(const struct ir_names *names, const char *name)
{
    struct ir_name *entry = names->buckets[hash_of(name) % names->bucket_count];

    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    return entry;
}

static void names_grow(struct ir_names *names)
{
    unsigned count = names->bucket_count * 4;
    struct ir_name **buckets = arena_array(names->arena, struct ir_name *, count);

    for (unsigned k = 0; k < names->bucket_count; k++) {
        struct ir_name *next;
        for (struct ir_name *entry = names->buckets[k]; entry; entry = next) {
            struct ir_name **head = &buckets[hash_of(entry->name) % count];
            next = entry->next;
            entry->next = *head;
            *head = entry;
        }
    }
    names->buckets = buckets;
    names->bucket_count = count;
}

struct ir_name *ir_names_add(struct ir_names *names, const char *name)
{
    if (names->count >= names->bucket_count)
        names_grow(names);

    struct ir_name *entry = arena_new(names->arena, struct ir_name);
    struct ir_name **head = &names->buckets[hash_of(name) % names->bucket_count];
    entry->name = name;
    entry->next = *head;
    *head = entry;
    names->count++;
    return entry;
}

struct ir_name *ir_names_fresh(struct ir_names *names, const char *name)
{
    struct ir_name *taken = ir_names_find(names, name);

    if (!taken)
        return ir_names_add(names, arena_copy(names->arena, name, strlen(name)));
    /* The counter stays with the plain name, so that a thousand loops over `i` cost a thousand look-ups. */
    const char *candidate;
    do
        candidate = arena_format(names->arena, "%s_%d", name, ++taken->suffix);
    while (ir_names_find(names, candidate));
    return ir_names_add(names, candidate);
}

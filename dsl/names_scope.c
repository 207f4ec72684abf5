/*
 * names_scope.c: what names mean where: a table of them, and the scopes in which they do.
 *
 * Consumes declarations and the ends of blocks in the order of the text. A function looks up in the names of
 * the file what it has not met yet. Memory is the arena's.
 */
#include "names_private.h"

#include <string.h>

enum { NAMES_BUCKETS = 64 }; /* grows with the function */

static unsigned names_hash(const char *name)
{
    unsigned hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

static void names_grow(struct names *names)
{
    int old_count = names->bucket_count;
    struct names_entry **old = names->buckets;

    names->bucket_count = old_count ? old_count * 4 : NAMES_BUCKETS;
    names->buckets = arena_array(names->arena, struct names_entry *, names->bucket_count);
    for (int i = 0; i < old_count; i++)
        for (struct names_entry *entry = old[i], *next; entry; entry = next) {
            struct names_entry **bucket =
                &names->buckets[names_hash(entry->name) % (unsigned)names->bucket_count];
            next = entry->next;
            entry->next = *bucket;
            *bucket = entry;
        }
}

static struct names_entry *names_find(const struct names *names, const char *name)
{
    struct names_entry *entry = NULL;

    if (names->bucket_count)
        entry = names->buckets[names_hash(name) % (unsigned)names->bucket_count];
    while (entry && strcmp(entry->name, name) != 0)
        entry = entry->next;
    return entry;
}

struct names_entry *names_entry(struct names *names, const char *name)
{
    struct names_entry **bucket, *entry = names_find(names, name);
    const struct names_entry *outer;

    if (entry)
        return entry;
    if (names->entry_count >= names->bucket_count)
        names_grow(names);
    outer = names->outer ? names_find(names->outer, name) : NULL;
    bucket = &names->buckets[names_hash(name) % (unsigned)names->bucket_count];
    entry = arena_new(names->arena, struct names_entry);
    entry->name = name;
    entry->current = outer ? outer->current : NULL;
    entry->next = *bucket;
    *bucket = entry;
    names->entry_count++;
    return entry;
}

struct ast_binding *names_declare(struct names *names, enum ast_binding_kind kind, const char *name,
                                  struct span span)
{
    struct names_entry *entry = names_entry(names, name);
    struct ast_binding *binding = arena_new(names->arena, struct ast_binding);

    binding->kind = kind;
    binding->name = name;
    binding->span = span;
    binding->slot = names->function ? names->function->slot_count++ : -1;
    binding->executed = names->executed;
    binding->depth = names->scope->depth;
    binding->shadowed = entry->current;
    binding->next = names->scope->first;
    names->scope->first = binding;
    entry->current = binding;
    return binding;
}

void names_enter(struct names *names, struct names_scope *scope)
{
    scope->outer = names->scope;
    scope->first = NULL;
    scope->depth = names->scope ? names->scope->depth + 1 : 0;
    names->scope = scope;
}

void names_leave(struct names *names)
{
    for (struct ast_binding *binding = names->scope->first; binding; binding = binding->next) {
        struct names_entry *entry = names_entry(names, binding->name);
        binding->ended = true;
        entry->current = binding->shadowed;
        entry->ended = binding;
    }
    names->scope = names->scope->outer;
}

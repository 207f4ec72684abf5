/*
 * cache.c: the public functions that look after the cache on disk: what is in it, and removing.
 *
 * An akg_cache is the directory as it was when it was opened; what is removed is what was there then.
 */
#include "failure.h"

#include "../jit/cache_key.h"
#include "../jit/disk_cache.h"

#include <string.h>
#include <fcntl.h>
#include <unistd.h>

struct akg_cache {
    struct arena arena;
    struct disk_cache cache;
    struct disk_entry reading; /* freed here when memory runs out */
    struct disk_file *files;   /* entries, the one that was not used for longest first, and leftovers */
    akg_cache_entry *entries;
    size_t file_count, entry_count;
};

static const char *part_of(struct arena *arena, const struct disk_entry *entry, const char *name)
{
    struct cache_key_part part;
    return entry->bytes && cache_key_find(entry->key, entry->key_size, name, &part)
               ? arena_copy(arena, part.value, part.value_length)
               : "";
}

/* Reads an entry; one that was removed meanwhile is left out. */
static void describe(akg_cache *cache, int directory, const struct disk_file *file)
{
    struct disk_entry *entry = &cache->reading;
    const char *problem = disk_cache_read(directory, file->name, false, entry);
    if (problem && !*problem)
        return;
    struct arena *arena = &cache->arena;
    cache->entries[cache->entry_count++] = (akg_cache_entry){.name = file->name,
                                                             .kernel = part_of(arena, entry, "kernel"),
                                                             .tier = part_of(arena, entry, "tier"),
                                                             .target = part_of(arena, entry, "target"),
                                                             .signature = part_of(arena, entry, "signature"),
                                                             .build = part_of(arena, entry, "build"),
                                                             .problem = problem,
                                                             .bytes = file->size,
                                                             .used = file->used / 1000000000};
    disk_entry_free(entry);
}

static akg_status read_directory(akg_cache *cache, int directory)
{
    jmp_buf escape;
    if (!disk_cache_list(directory, true, &cache->files, &cache->file_count))
        return AKG_ERROR_MEMORY;
    if (setjmp(escape)) {
        cache->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    cache->arena.escape = &escape;
    cache->entries = arena_array(&cache->arena, akg_cache_entry, cache->file_count + 1);
    for (size_t k = 0; k < cache->file_count; k++)
        if (cache->files[k].is_entry)
            describe(cache, directory, &cache->files[k]);
    cache->arena.escape = NULL;
    return AKG_OK;
}

static akg_status choose(akg_cache *cache, const char *directory)
{
    jmp_buf escape;
    if (setjmp(escape)) {
        cache->arena.escape = NULL;
        return AKG_ERROR_MEMORY;
    }
    cache->arena.escape = &escape;
    disk_cache_choose(&cache->cache, &cache->arena, directory, NULL);
    cache->arena.escape = NULL;
    return AKG_OK;
}

akg_status akg_cache_open(const char *directory, akg_cache **cache, akg_diagnostics **diagnostics)
{
    const char *problem = NULL;
    int descriptor = -1;

    if (diagnostics)
        *diagnostics = NULL;
    if (!cache)
        return AKG_ERROR_USAGE;
    *cache = NULL;
    akg_cache *made = memory_zeroed(1, sizeof *made);
    if (!made)
        return AKG_ERROR_MEMORY;
    arena_init(&made->arena, NULL);
    akg_status status = choose(made, directory);
    if (status == AKG_OK && made->cache.directory)
        descriptor = disk_cache_open(made->cache.directory, &problem);
    if (problem)
        status = failure_report(diagnostics, AKG_ERROR_IO, MSG_FILE_ACCESS, "open", made->cache.directory,
                                problem, NULL);
    if (descriptor >= 0) {
        status = read_directory(made, descriptor);
        close(descriptor);
    }
    if (status == AKG_OK)
        *cache = made;
    else
        akg_cache_close(made);
    return status;
}

void akg_cache_close(akg_cache *cache)
{
    if (!cache)
        return;
    disk_entry_free(&cache->reading);
    memory_free(cache->files);
    arena_free(&cache->arena);
    memory_free(cache);
}

const char *akg_cache_directory(const akg_cache *cache)
{
    return cache ? cache->cache.directory : NULL;
}

uint64_t akg_cache_limit(const akg_cache *cache)
{
    return cache ? cache->cache.limit : 0;
}

size_t akg_cache_entry_count(const akg_cache *cache)
{
    return cache ? cache->entry_count : 0;
}

const akg_cache_entry *akg_cache_entry_at(const akg_cache *cache, size_t index)
{
    return index < akg_cache_entry_count(cache) ? &cache->entries[index] : NULL;
}

/* Whether the file is of no use: whoever wrote it died, or it is damaged. */
static bool is_refuse(const akg_cache *cache, int directory, const struct disk_file *file)
{
    if (!file->is_entry)
        return disk_cache_is_left(directory, file->name);
    for (size_t k = 0; k < cache->entry_count; k++)
        if (cache->entries[k].name == file->name)
            return cache->entries[k].problem != NULL;
    return false;
}

akg_status akg_cache_remove(akg_cache *cache, akg_cache_removal removal, uint64_t *removed)
{
    const char *problem;
    uint64_t gone = 0, evicted = 0;
    if (!cache || (unsigned)removal > AKG_CACHE_ALL)
        return AKG_ERROR_USAGE;
    if (removed)
        *removed = 0;
    int directory = cache->cache.directory ? disk_cache_open(cache->cache.directory, &problem) : -1;
    if (directory < 0)
        return AKG_OK;
    for (size_t k = 0; k < cache->file_count; k++)
        if (removal == AKG_CACHE_ALL
                ? cache->files[k].is_entry || is_refuse(cache, directory, &cache->files[k])
                : is_refuse(cache, directory, &cache->files[k]))
            gone += unlinkat(directory, cache->files[k].name, 0) == 0 ||
                    unlinkat(directory, cache->files[k].name, AT_REMOVEDIR) == 0;
    disk_cache_evict(directory, cache->cache.limit, &evicted);
    close(directory);
    if (removed)
        *removed = gone + evicted;
    return AKG_OK;
}

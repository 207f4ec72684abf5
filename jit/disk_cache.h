/*
 * disk_cache.h: generated code kept on disk for the next process: a directory of entries, each a key and what
 * was kept under it.
 *
 * The cache is a help, never a need: what cannot be read or written is as if it were not there. What is found
 * is right: the key is compared in full, and the entry's owner, size and checksum are tested. Any number of
 * processes may use one directory at once, and die at any moment (docs/cache.md).
 */
#ifndef JIT_DISK_CACHE_H
#define JIT_DISK_CACHE_H

#include "notes.h"

struct disk_cache {
    const char *directory;   /* NULL: nothing is kept */
    bool asked_for;          /* by the program or AKG_CACHE_DIR: what is wrong with it is told */
    uint64_t limit;          /* bytes of all entries */
    struct jit_notes *notes; /* or NULL */
};

/* Which directory `wanted` means: one, "off", or with NULL what the environment says. The text goes into the
 * arena. */
void disk_cache_choose(struct disk_cache *cache, struct arena *arena, const char *wanted,
                       struct jit_notes *notes);

/* An entry, read and found sound. */
struct disk_entry {
    unsigned char *bytes; /* of the file; memory_free */
    size_t size;
    const char *key;
    const unsigned char *payload;
    size_t key_size, payload_size;
};

/* What was kept under that key. A damaged entry is told and removed. */
bool disk_cache_find(const struct disk_cache *cache, const struct text *key, struct disk_entry *entry);
void disk_entry_free(struct disk_entry *entry);
/* Keeps it, if that works. Removes old entries where they are too many. */
void disk_cache_publish(const struct disk_cache *cache, const struct text *key, const void *payload,
                        size_t size);

/* ---- for those who look after it (runtime/cache.c) ------------------------------------------------ */

/* "0123456789abcdef0123456789abcdef.entry" */
enum { DISK_CACHE_NAME = 39 };

/* A file of the cache. */
struct disk_file {
    char name[56];
    uint64_t size;
    int64_t used;  /* when it was last found, in nanoseconds */
    bool is_entry; /* else it was left by a process that died */
};

/* What stands for a directory that is there, but not only ours. */
enum { DISK_CACHE_UNSAFE = -2 };
/* The directory, or less than 0 with *problem: what is wrong with it, or NULL where it is not there. */
int disk_cache_open(const char *directory, const char **problem);
/* Entries, and with `leftovers` what dead processes left, in an array for memory_free; the one that was not
 * used for longest comes first. False when memory or the directory fails. */
bool disk_cache_list(int directory, bool leftovers, struct disk_file **files, size_t *count);
/* NULL, or what is wrong with the entry; "" where it is not there, or cannot be read just now. One that
 * `is_used` counts as such. */
const char *disk_cache_read(int directory, const char *name, bool is_used, struct disk_entry *entry);
/* The name of the entry for a key. */
void disk_cache_name(const struct text *key, char name[DISK_CACHE_NAME]);
/* Whether whoever wrote the leftover is gone: a writer holds its file locked. */
bool disk_cache_is_left(int directory, const char *name);
/* Where entries have more than `limit` bytes, removes those used longest ago until a quarter of it is free.
 * The bytes that stay; *removed, where not NULL, is the number of files that do not. */
uint64_t disk_cache_evict(int directory, uint64_t limit, uint64_t *removed);

#endif

/*
 * disk_cache.c: finding and keeping entries.
 *
 * An entry is a file of its own: a head, the key, the payload. It is written under a private name and renamed
 * when it is complete, so nobody reads a part of one. It is not forced to the disk: what a power failure
 * leaves torn has a wrong checksum, and is made anew. The private file is locked while it is written, so that
 * others see whether its writer lives; nothing ever waits for a lock.
 */
#define _GNU_SOURCE /* O_NOATIME */
#include "disk_cache.h"

#include "cache_key.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of one entry. */
enum { MOST_BYTES = 64 << 20 };
static const uint64_t usual_limit = 256 << 20;

struct entry_head {
    char magic[8];
    uint64_t checksum; /* of all behind it */
    uint64_t key_size, payload_size;
};

static const char magic[8] = "AKGCACH1";
enum { CHECKED_FROM = offsetof(struct entry_head, key_size) };

/* ---- which directory -------------------------------------------------------------------------- */

/* "64M": bytes, with K, M or G. */
static uint64_t read_limit(const char *text, struct jit_notes *notes)
{
    if (!text || !*text)
        return usual_limit;

    char *end;
    unsigned long long count = strtoull(text, &end, 10);
    const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    bool good = end != text && *text != '-' && (!*end || (unit && !end[1])) && count <= UINT64_MAX >> shift;
    if (!good)
        notes_add(notes, MSG_SETTING, "AKG_CACHE_SIZE", text, "a number of bytes, as 64M or 2G",
                  "without it the limit is 256M, as it is now");
    return good ? count << shift : usual_limit;
}

void disk_cache_choose(struct disk_cache *cache, struct arena *arena, const char *wanted,
                       struct jit_notes *notes)
{
    const char *mode = getenv("AKG_CACHE"), *named = getenv("AKG_CACHE_DIR"),
               *limit = getenv("AKG_CACHE_SIZE");
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    *cache = (struct disk_cache){.limit = read_limit(limit, notes), .notes = notes};
    if (wanted && *wanted ? strcmp(wanted, "off") == 0 : mode && strcmp(mode, "off") == 0)
        return;
    if (wanted && !*wanted)
        wanted = NULL;
    if (!wanted && named && *named)
        wanted = named;
    cache->asked_for = wanted != NULL;
    if (wanted)
        cache->directory = arena_copy(arena, wanted, strlen(wanted));
    else if (base && *base == '/') /* as the XDG specification has it, a relative one does not count */
        cache->directory = arena_format(arena, "%s/akg", base);
    else if (home && *home == '/')
        cache->directory = arena_format(arena, "%s/.cache/akg", home);
}

/* A home without room for a cache is nothing to speak of; a directory that was asked for is, and so is one
 * that others may have put something into. */
static void refuse(const struct disk_cache *cache, int descriptor, const char *problem)
{
    if (problem && cache->notes && (cache->asked_for || descriptor == DISK_CACHE_UNSAFE))
        notes_add(cache->notes, MSG_CACHE_REFUSED, cache->directory, problem, NULL,
                  "set AKG_CACHE_DIR to a directory of your own, or AKG_CACHE=off");
}

/* Every system call below asks this first, so that injected failures reach it. */
static bool fails_here(void)
{
    if (!memory_fail_here())
        return false;
    errno = EIO;
    return true;
}

int disk_cache_open(const char *directory, const char **problem)
{
    struct stat information;
    int descriptor = fails_here() ? -1 : open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *problem = NULL;
    if (descriptor < 0) {
        *problem = errno == ENOENT ? NULL : strerror(errno);
        return -1;
    }
    if (fails_here() || fstat(descriptor, &information) != 0)
        *problem = strerror(errno);
    else if (information.st_uid != geteuid())
        *problem = "it belongs to another user";
    else if (information.st_mode & (S_IWGRP | S_IWOTH))
        *problem = "others may write to it";
    if (!*problem)
        return descriptor;
    close(descriptor);
    return DISK_CACHE_UNSAFE;
}

/* ---- reading ---------------------------------------------------------------------------------- */

static bool read_all(int descriptor, unsigned char *bytes, size_t size)
{
    while (size) {
        ssize_t count = fails_here() ? -1 : read(descriptor, bytes, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

static const char *check_entry(struct disk_entry *entry)
{
    struct entry_head head;
    memcpy(&head, entry->bytes, sizeof head);
    if (memcmp(head.magic, magic, sizeof magic) != 0)
        return "it does not begin as an entry does";
    size_t rest = entry->size - sizeof head;
    if (head.key_size > rest || head.payload_size != rest - head.key_size)
        return "it has the wrong length";
    if (head.checksum != cache_key_hash(entry->bytes + CHECKED_FROM, entry->size - CHECKED_FROM, 0))
        return "its checksum is wrong";
    entry->key = (const char *)entry->bytes + sizeof head;
    entry->key_size = (size_t)head.key_size;
    entry->payload = entry->bytes + sizeof head + entry->key_size;
    entry->payload_size = (size_t)head.payload_size;
    return NULL;
}

/* An open file as an entry. */
static const char *read_entry(int descriptor, struct disk_entry *entry)
{
    struct stat information;
    if (fails_here() || fstat(descriptor, &information) != 0)
        return "";
    if (!S_ISREG(information.st_mode))
        return "it is no regular file";
    if (information.st_uid != geteuid())
        return "it belongs to another user";
    if (information.st_mode & (S_IWGRP | S_IWOTH))
        return "others may write to it";
    if (information.st_size < (off_t)sizeof(struct entry_head))
        return "it is too short";
    if (information.st_size > MOST_BYTES)
        return "it is too long";
    entry->size = (size_t)information.st_size;
    entry->bytes = memory_allocate(entry->size);
    if (!entry->bytes || !read_all(descriptor, entry->bytes, entry->size))
        return "";
    return check_entry(entry);
}

const char *disk_cache_read(int directory, const char *name, bool is_used, struct disk_entry *entry)
{
    enum { PRECISION = 60 }; /* seconds */
    const struct timespec used[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct stat information;
    *entry = (struct disk_entry){.bytes = NULL};
    int descriptor = fails_here() ? -1 : openat(directory, name, flags);
    if (descriptor < 0) /* whatever else is the reason may be another one the next time */
        return errno == ELOOP || errno == ENXIO || errno == EACCES ? "it is no file of yours" : "";
    fcntl(descriptor, F_SETFL, flags | O_NOATIME); /* refused where it is another's, which is then told */
    const char *problem = read_entry(descriptor, entry);
    if (problem)
        disk_entry_free(entry);
    else if (is_used && fstat(descriptor, &information) == 0 && time(NULL) - information.st_atime > PRECISION)
        futimens(descriptor, used); /* whatever the mount says about access times */
    close(descriptor);
    return problem;
}

void disk_entry_free(struct disk_entry *entry)
{
    memory_free(entry->bytes);
    entry->bytes = NULL;
}

void disk_cache_name(const struct text *key, char name[DISK_CACHE_NAME])
{
    cache_key_name(key, name);
    strcpy(name + CACHE_KEY_NAME - 1, ".entry");
}

bool disk_cache_find(const struct disk_cache *cache, const struct text *key, struct disk_entry *entry)
{
    char name[DISK_CACHE_NAME];
    const char *problem = NULL;
    int directory = cache->directory && !key->failed ? disk_cache_open(cache->directory, &problem) : -1;
    if (directory < 0) {
        refuse(cache, directory, problem);
        return false;
    }
    disk_cache_name(key, name);
    problem = disk_cache_read(directory, name, true, entry);
    if (problem && *problem) {
        unlinkat(directory, name, 0);
        if (cache->notes)
            notes_add(cache->notes, MSG_CACHE_DAMAGED, name, cache->directory, problem,
                      "nothing is to be done, unless it happens again");
    }
    close(directory);
    if (problem)
        return false;
    if (entry->key_size == key->length && memcmp(entry->key, key->data, key->length) == 0)
        return true;
    disk_entry_free(entry); /* two keys with one name: the later one keeps it */
    return false;
}

/* ---- writing ---------------------------------------------------------------------------------- */

/* The directory, made if need be, with those above it. */
static int make_directory(const char *directory, const char **problem)
{
    int descriptor = disk_cache_open(directory, problem);
    char *path = descriptor < 0 && !*problem ? memory_copy_string(directory) : NULL;
    if (!path)
        return descriptor;
    for (char *slash = path; (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = 0;
        mkdir(path, 0700);
    }
    errno = 0;
    if ((fails_here() || mkdir(path, 0700) != 0) && errno != EEXIST)
        *problem = strerror(errno);
    memory_free(path);
    return *problem ? descriptor : disk_cache_open(directory, problem);
}

/* A limit on the size of files is told by a signal that would end the process: not for a cache. */
static ssize_t write_quietly(int descriptor, const void *bytes, size_t size)
{
    sigset_t set, before, pending;
    const struct timespec at_once = {0, 0};
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    ssize_t count = write(descriptor, bytes, size);
    int reason = errno;
    if (count < 0 && reason == EFBIG && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&set, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return count;
}

static bool write_all(int descriptor, const unsigned char *bytes, size_t size)
{
    while (size) {
        ssize_t count = fails_here() ? -1 : write_quietly(descriptor, bytes, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

/* A file that nobody else has, locked. -1 with errno. */
static int open_private(int directory, char *name, size_t room)
{
    enum { ATTEMPTS = 100 };
    int descriptor = -1;
    for (int attempt = 0; descriptor < 0 && attempt < ATTEMPTS; attempt++) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        uint64_t mixed = ((uint64_t)now.tv_nsec ^ (uintptr_t)name) * 0x9e3779b97f4a7c15u;
        snprintf(name, room, "tmp-%ld-%08llx-%d", (long)getpid(), (unsigned long long)mixed >> 32, attempt);
        descriptor =
            fails_here() ? -1 : openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor >= 0)
        flock(descriptor, LOCK_EX | LOCK_NB);
    return descriptor;
}

static unsigned char *make_entry(const struct text *key, const void *payload, size_t payload_size,
                                 size_t *size)
{
    struct entry_head head = {.key_size = key->length, .payload_size = payload_size};
    *size = sizeof head + key->length + payload_size;
    unsigned char *bytes = *size <= MOST_BYTES ? memory_allocate(*size) : NULL;
    if (!bytes)
        return NULL;
    memcpy(head.magic, magic, sizeof magic);
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, key->data, key->length);
    memcpy(bytes + sizeof head + key->length, payload, payload_size);
    head.checksum = cache_key_hash(bytes + CHECKED_FROM, *size - CHECKED_FROM, 0);
    memcpy(bytes, &head, sizeof head);
    return bytes;
}

/* Counts what was added, in a file beside the entries, and makes room when it is too much. Another process
 * that is just doing so sees to it; one name in 64 has the files counted anew. */
static void account(const struct disk_cache *cache, int directory, const char *name, uint64_t size)
{
    uint64_t total = 0;
    int descriptor = openat(directory, "state", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (descriptor < 0)
        return;
    if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
        if (pread(descriptor, &total, sizeof total, 0) != (ssize_t)sizeof total)
            total = 0;
        total += size;
        if (total > cache->limit || (name[0] == '0' && name[1] < '4'))
            total = disk_cache_evict(directory, cache->limit, NULL);
        lseek(descriptor, 0, SEEK_SET);
        write_all(descriptor, (const unsigned char *)&total, sizeof total);
    }
    close(descriptor);
}

/* False with errno. */
static bool put_entry(int directory, const char *name, const unsigned char *bytes, size_t size)
{
    char private[56];
    int descriptor = open_private(directory, private, sizeof private);
    if (descriptor < 0)
        return false;
    bool good = write_all(descriptor, bytes, size) && !fails_here() &&
                renameat(directory, private, directory, name) == 0;
    int reason = errno;
    if (!good)
        unlinkat(directory, private, 0);
    close(descriptor);
    errno = reason;
    return good;
}

void disk_cache_publish(const struct disk_cache *cache, const struct text *key, const void *payload,
                        size_t payload_size)
{
    char name[DISK_CACHE_NAME];
    const char *problem = NULL;
    size_t size;
    int directory = cache->directory && !key->failed ? make_directory(cache->directory, &problem) : -1;
    if (directory >= 0) {
        unsigned char *bytes = make_entry(key, payload, payload_size, &size);
        disk_cache_name(key, name);
        if (bytes && put_entry(directory, name, bytes, size))
            account(cache, directory, name, size);
        else if (bytes)
            problem = strerror(errno);
        memory_free(bytes);
        close(directory);
    }
    refuse(cache, directory, problem);
}

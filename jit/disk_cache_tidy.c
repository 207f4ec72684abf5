/*
 * disk_cache_tidy.c: what is in the directory of the cache, and making room in it.
 *
 * Other processes add and remove files meanwhile: a file that is gone is no failure.
 */
#include "disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_entry(const char *name)
{
    return strspn(name, "0123456789abcdef") == 32 && strcmp(name + 32, ".entry") == 0;
}

struct listing {
    struct disk_file *files;
    size_t count, capacity;
};

static bool add_file(struct listing *listing, int directory, const char *name, bool entry)
{
    struct stat information;
    struct disk_file *file;
    if (strlen(name) >= sizeof file->name || fstatat(directory, name, &information, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (listing->count == listing->capacity) {
        size_t capacity = listing->capacity ? listing->capacity * 2 : 64;
        struct disk_file *files = memory_resize(listing->files, capacity * sizeof *files);
        if (!files)
            return false;
        listing->files = files;
        listing->capacity = capacity;
    }
    file = &listing->files[listing->count++];
    *file = (struct disk_file){.size = (uint64_t)information.st_size,
                               .used = (int64_t)information.st_atim.tv_sec * 1000000000 +
                                       information.st_atim.tv_nsec,
                               .is_entry = entry};
    strcpy(file->name, name);
    return true;
}

static int compare_files(const void *left, const void *right)
{
    const struct disk_file *a = left, *b = right;
    return a->used != b->used ? (a->used > b->used) - (a->used < b->used) : strcmp(a->name, b->name);
}

bool disk_cache_list(int directory, bool leftovers, struct disk_file **files, size_t *count)
{
    struct listing listing = {NULL, 0, 0};
    /* one of its own, whose place in the directory nobody else moves */
    int again = memory_fail_here() ? -1 : openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = again >= 0 ? fdopendir(again) : NULL;
    bool good = stream != NULL;
    const struct dirent *row;
    if (!stream && again >= 0)
        close(again);
    while (good && (row = readdir(stream)) != NULL) {
        bool entry = is_entry(row->d_name);
        if (entry || (leftovers && strncmp(row->d_name, "tmp-", 4) == 0))
            good = add_file(&listing, directory, row->d_name, entry);
    }
    if (stream)
        closedir(stream);
    if (!good) {
        memory_free(listing.files);
        listing = (struct listing){NULL, 0, 0};
    }
    if (listing.count)
        qsort(listing.files, listing.count, sizeof *listing.files, compare_files);
    *files = listing.files;
    *count = listing.count;
    return good;
}

bool disk_cache_is_left(int directory, const char *name)
{
    int descriptor = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool left = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (descriptor >= 0)
        close(descriptor);
    return left;
}

uint64_t disk_cache_evict(int directory, uint64_t limit, uint64_t *removed)
{
    struct disk_file *files;
    size_t count;
    uint64_t total = 0, gone = 0;
    if (!disk_cache_list(directory, false, &files, &count))
        return 0;
    for (size_t k = 0; k < count; k++)
        total += files[k].size;
    bool much = total > limit;
    for (size_t k = 0; much && k < count && total > limit / 4 * 3; k++) {
        if (unlinkat(directory, files[k].name, 0) != 0 && errno != ENOENT)
            continue;
        total -= files[k].size;
        gone++;
    }
    memory_free(files);
    if (removed)
        *removed = gone;
    return total;
}

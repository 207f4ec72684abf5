/*
 * zip.c: reads the directory of a ZIP archive, ZIP64 included.
 *
 * The archive may come from anywhere: every length and offset in it is compared
 * with what is there before it is used, and memory is taken only for what the file holds.
 */
#include "zip.h"

#include "failure.h"

#include "../base/memory.h"

#include <string.h>

enum {
    LOCAL_SIZE = 30,
    CENTRAL_SIZE = 46,
    END_SIZE = 22,
    END64_SIZE = 56,
    LOCATOR64_SIZE = 20,
    MOST_COMMENT = 0xffff
};

static uint32_t get16(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static uint32_t get32(const unsigned char *at)
{
    return get16(at) | get16(at + 2) << 16;
}

static uint64_t get64(const unsigned char *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

akg_status zip_unsound(const struct zip_archive *archive, const char *why)
{
    return failure_report(archive->file.diagnostics, AKG_ERROR_IO, MSG_NPZ_FORMAT, archive->file.path, why,
                          NULL, NULL);
}

/* ---- the end of the archive ---------------------------------------------------- */

/* The end record in the last bytes of the file: the one whose comment reaches just to the end. */
static const unsigned char *find_end(const unsigned char *tail, size_t length)
{
    for (size_t comment = 0; comment + END_SIZE <= length; comment++) {
        const unsigned char *at = tail + length - END_SIZE - comment;
        if (get32(at) == ZIP_END_SIGNATURE && get16(at + 20) == comment)
            return at;
    }
    return NULL;
}

/* Replaces what the end record says by what the ZIP64 one does, if there is one. `*limit` is where the end
 * record starts, and then where the ZIP64 one does: nothing else of interest comes after. */
static akg_status read_end64(struct zip_archive *archive, uint64_t *limit, uint64_t *size)
{
    unsigned char locator[LOCATOR64_SIZE], end[END64_SIZE];
    if (*limit < LOCATOR64_SIZE)
        return AKG_OK;
    akg_status status = file_read(&archive->file, *limit - LOCATOR64_SIZE, locator, sizeof locator);
    if (status != AKG_OK || get32(locator) != ZIP_LOCATOR64_SIGNATURE)
        return status;
    uint64_t offset = get64(locator + 8), after = *limit - LOCATOR64_SIZE;
    if (after < END64_SIZE || offset > after - END64_SIZE)
        return zip_unsound(archive, "its ZIP64 end record lies outside the file");
    status = file_read(&archive->file, offset, end, sizeof end);
    if (status != AKG_OK)
        return status;
    if (get32(end) != ZIP_END64_SIGNATURE)
        return zip_unsound(archive, "it has no ZIP64 end record where it says");
    if (get32(end + 16) != 0 || get32(end + 20) != 0)
        return zip_unsound(archive, "it is one part of several");
    *size = get64(end + 40);
    archive->directory_offset = get64(end + 48);
    *limit = offset;
    return AKG_OK;
}

/* Finds where the directory lies and that it is inside the file. */
static akg_status find_directory(struct zip_archive *archive, const unsigned char *tail, size_t tail_length)
{
    const unsigned char *end = find_end(tail, tail_length);
    if (!end)
        return zip_unsound(archive, "it has no ZIP end record (cut short, or no archive at all)");
    if (get16(end + 4) != 0 || get16(end + 6) != 0)
        return zip_unsound(archive, "it is one part of several");
    uint64_t size = get32(end + 12), limit = archive->file.size - tail_length + (uint64_t)(end - tail);
    archive->directory_offset = get32(end + 16);
    if (size == ZIP_IN_64_32 || archive->directory_offset == ZIP_IN_64_32 ||
        get16(end + 10) == ZIP_IN_64_16) {
        akg_status status = read_end64(archive, &limit, &size);
        if (status != AKG_OK)
            return status;
    }
    if (archive->directory_offset > limit || size > limit - archive->directory_offset)
        return zip_unsound(archive, "its directory lies outside the file");
    archive->directory_size = (size_t)size;
    return AKG_OK;
}

static akg_status read_directory(struct zip_archive *archive)
{
    uint64_t length = archive->file.size;
    if (length > END_SIZE + MOST_COMMENT)
        length = END_SIZE + MOST_COMMENT;
    unsigned char *tail = memory_allocate((size_t)length);
    if (!tail)
        return AKG_ERROR_MEMORY;
    akg_status status = file_read(&archive->file, archive->file.size - length, tail, (size_t)length);
    if (status == AKG_OK)
        status = find_directory(archive, tail, (size_t)length);
    memory_free(tail);
    if (status != AKG_OK)
        return status;
    archive->directory = memory_allocate(archive->directory_size);
    if (!archive->directory)
        return AKG_ERROR_MEMORY;
    return file_read(&archive->file, archive->directory_offset, archive->directory, archive->directory_size);
}

akg_status zip_open(struct zip_archive *archive, const char *path, akg_diagnostics **diagnostics)
{
    *archive = (struct zip_archive){.directory = NULL};
    akg_status status = file_open(&archive->file, path, diagnostics);
    if (status == AKG_OK)
        status = read_directory(archive);
    if (status != AKG_OK)
        zip_close(archive);
    return status;
}

void zip_close(struct zip_archive *archive)
{
    memory_free(archive->directory);
    archive->directory = NULL;
    file_close(&archive->file);
}

/* ---- entries -------------------------------------------------------------------- */

/* Takes a value of 64 bits from a ZIP64 field if the short one said so. */
static bool take64(uint64_t *value, const unsigned char **at, const unsigned char *end)
{
    if (*value != ZIP_IN_64_32)
        return true;
    if (end - *at < 8)
        return false;
    *value = get64(*at);
    *at += 8;
    return true;
}

/* Extra fields are an id, a length and that many bytes, one after the other. False when the ZIP64 one lacks a
 * value. Padding that does not have this form ends the search, as in other readers. */
static bool read_extra(struct zip_entry *entry, const unsigned char *at, size_t length)
{
    const unsigned char *end = at + length;
    while (end - at >= 4) {
        size_t size = get16(at + 2);
        if (size > (size_t)(end - at) - 4)
            break;
        if (get16(at) == ZIP_EXTRA64) {
            const unsigned char *value = at + 4, *value_end = value + size;
            return take64(&entry->size, &value, value_end) &&
                   take64(&entry->compressed_size, &value, value_end) &&
                   take64(&entry->header_offset, &value, value_end);
        }
        at += 4 + size;
    }
    return true;
}

akg_status zip_next(const struct zip_archive *archive, size_t *position, struct zip_entry *entry, bool *more)
{
    size_t left = archive->directory_size - *position;
    const unsigned char *at = archive->directory + *position;
    *more = left > 0;
    if (left == 0)
        return AKG_OK;
    if (left < CENTRAL_SIZE || get32(at) != ZIP_CENTRAL_SIGNATURE)
        return zip_unsound(archive, "its directory is damaged");
    size_t name_length = get16(at + 28), extra_length = get16(at + 30), comment_length = get16(at + 32);
    size_t total = CENTRAL_SIZE + name_length + extra_length + comment_length;
    if (total > left)
        return zip_unsound(archive, "its directory ends within an entry");
    *entry = (struct zip_entry){.name = (const char *)at + CENTRAL_SIZE,
                                .name_length = name_length,
                                .flags = get16(at + 8),
                                .method = get16(at + 10),
                                .crc = get32(at + 16),
                                .compressed_size = get32(at + 20),
                                .size = get32(at + 24),
                                .header_offset = get32(at + 42)};
    if (!read_extra(entry, at + CENTRAL_SIZE + name_length, extra_length))
        return zip_unsound(archive, "a ZIP64 field in its directory is too short");
    *position += total;
    return AKG_OK;
}

/* ---- members --------------------------------------------------------------------- */

/* Whether the name in front of the member is the one in the directory; they differ where an entry leads
 * astray. */
static akg_status compare_name(const struct zip_archive *archive, const struct zip_entry *entry)
{
    char *name = memory_allocate(entry->name_length);
    if (!name)
        return AKG_ERROR_MEMORY;
    akg_status status =
        file_read(&archive->file, entry->header_offset + LOCAL_SIZE, name, entry->name_length);
    if (status == AKG_OK && memcmp(name, entry->name, entry->name_length) != 0)
        status = zip_unsound(archive, "a member has another name than its entry in the directory");
    memory_free(name);
    return status;
}

akg_status zip_locate(const struct zip_archive *archive, const struct zip_entry *entry, uint64_t *offset)
{
    unsigned char local[LOCAL_SIZE];
    uint64_t limit = archive->directory_offset;
    if (limit < LOCAL_SIZE || entry->header_offset > limit - LOCAL_SIZE)
        return zip_unsound(archive, "a member lies outside the file");
    akg_status status = file_read(&archive->file, entry->header_offset, local, sizeof local);
    if (status != AKG_OK)
        return status;
    size_t name_length = get16(local + 26), extra_length = get16(local + 28);
    if (get32(local) != ZIP_LOCAL_SIGNATURE || name_length != entry->name_length ||
        get16(local + 8) != entry->method)
        return zip_unsound(archive, "a member does not match its entry in the directory");
    *offset = entry->header_offset + LOCAL_SIZE + name_length + extra_length;
    if (*offset > limit || entry->compressed_size > limit - *offset)
        return zip_unsound(archive, "a member reaches into the directory");
    return compare_name(archive, entry);
}

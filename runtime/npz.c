/*
 * npz.c: reads one array of an .npz file, a ZIP archive of .npy files.
 *
 * A member is read as a stream, stored or deflated, and its checksum is compared before the tensor is
 * handed out.
 */
#include "failure.h"
#include "npy.h"
#include "zip.h"

#include "../base/memory.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { INPUT_SIZE = 64 * 1024, MOST_AT_ONCE = 1 << 30 };

/* Deflate never makes more than this of one byte. */
enum { MOST_EXPANSION = 1032 };

struct member {
    struct npy_stream stream; /* first: streams are cast to members */
    const struct zip_archive *archive;
    const struct zip_entry *entry;
    uint64_t position, compressed_left; /* in the file */
    uLong crc;
    z_stream inflater;
    unsigned char *input; /* what the inflater reads from; NULL for a stored member */
    bool ended;           /* the deflated data came to their end */
};

/* ---- decompression ------------------------------------------------------------- */

static void *inflater_allocate(void *context, uInt count, uInt size)
{
    (void)context;
    return memory_allocate((size_t)count * size);
}

static void inflater_free(void *context, void *memory)
{
    (void)context;
    memory_free(memory);
}

static akg_status refill(struct member *member)
{
    z_stream *inflater = &member->inflater;
    if (inflater->avail_in > 0 || member->compressed_left == 0)
        return AKG_OK;
    size_t size = member->compressed_left < INPUT_SIZE ? (size_t)member->compressed_left : INPUT_SIZE;
    akg_status status = file_read(&member->archive->file, member->position, member->input, size);
    member->position += size;
    member->compressed_left -= size;
    inflater->next_in = member->input;
    inflater->avail_in = (uInt)size;
    return status;
}

/* Inflates up to `size` bytes, and gives how many came. */
static akg_status inflate_some(struct member *member, void *buffer, size_t size, size_t *produced)
{
    z_stream *inflater = &member->inflater;
    uInt part = size < MOST_AT_ONCE ? (uInt)size : MOST_AT_ONCE;
    akg_status status = refill(member);
    if (status != AKG_OK)
        return status;
    inflater->next_out = buffer;
    inflater->avail_out = part;
    int code = inflate(inflater, Z_NO_FLUSH);
    *produced = part - inflater->avail_out;
    member->ended = code == Z_STREAM_END;
    if (code == Z_MEM_ERROR)
        return AKG_ERROR_MEMORY;
    /* Z_BUF_ERROR: nothing could be done, for want of input that is not there */
    if (code != Z_OK && code != Z_STREAM_END)
        return zip_unsound(member->archive, "the deflated data of a member are damaged");
    return AKG_OK;
}

static akg_status read_deflated(struct member *member, void *buffer, size_t size)
{
    unsigned char *to = buffer;
    while (size > 0) {
        size_t produced;
        if (member->ended)
            return zip_unsound(member->archive, "a member holds less than its size says");
        akg_status status = inflate_some(member, to, size, &produced);
        if (status != AKG_OK)
            return status;
        to += produced;
        size -= produced;
    }
    return AKG_OK;
}

/* All bytes were read: the deflated data must end here, too. */
static akg_status end_deflated(struct member *member)
{
    unsigned char extra;
    size_t produced = 0;
    while (!member->ended && produced == 0) {
        akg_status status = inflate_some(member, &extra, 1, &produced);
        if (status != AKG_OK)
            return status;
    }
    return produced ? zip_unsound(member->archive, "a member holds more than its size says") : AKG_OK;
}

/* ---- members ------------------------------------------------------------------- */

static akg_status read_member(struct npy_stream *stream, void *buffer, size_t size)
{
    struct member *member = (struct member *)stream;
    akg_status status;
    if (member->input) {
        status = read_deflated(member, buffer, size);
    } else {
        status = file_read(&member->archive->file, member->position, buffer, size);
        member->position += size;
    }
    if (status == AKG_OK)
        member->crc = crc32_z(member->crc, buffer, size);
    return status;
}

static akg_status check_method(const struct zip_archive *archive, const struct zip_entry *entry,
                               const char *label)
{
    char found[64] = "encrypted";
    bool known = entry->method == ZIP_STORED || entry->method == ZIP_DEFLATED;
    if (!(entry->flags & ZIP_FLAG_ENCRYPTED) && known)
        return AKG_OK;
    if (!(entry->flags & ZIP_FLAG_ENCRYPTED))
        snprintf(found, sizeof found, "compressed by ZIP method %u", entry->method);
    return failure_report(archive->file.diagnostics, AKG_ERROR_IO, MSG_NPZ_METHOD, label, found, NULL,
                          "help: write the archive with numpy.savez or numpy.savez_compressed");
}

/* What the sizes claim must be possible: memory is taken on their word. */
static akg_status check_sizes(const struct zip_archive *archive, const struct zip_entry *entry)
{
    if (entry->method == ZIP_STORED && entry->size != entry->compressed_size)
        return zip_unsound(archive, "a stored member has two sizes");
    if (entry->method == ZIP_DEFLATED && entry->size / MOST_EXPANSION > entry->compressed_size)
        return zip_unsound(archive, "a member claims to be larger than its deflated data can be");
    return AKG_OK;
}

static akg_status member_open(struct member *member)
{
    const struct zip_entry *entry = member->entry;
    akg_status status = check_method(member->archive, entry, member->stream.label);
    if (status == AKG_OK)
        status = check_sizes(member->archive, entry);
    if (status == AKG_OK)
        status = zip_locate(member->archive, entry, &member->position);
    if (status != AKG_OK || entry->method == ZIP_STORED)
        return status;
    member->inflater = (z_stream){.zalloc = inflater_allocate, .zfree = inflater_free};
    member->input = memory_allocate(INPUT_SIZE);
    if (!member->input)
        return AKG_ERROR_MEMORY;
    if (inflateInit2(&member->inflater, -MAX_WBITS) == Z_OK)
        return AKG_OK;
    memory_free(member->input);
    member->input = NULL;
    return AKG_ERROR_MEMORY;
}

static void member_close(struct member *member)
{
    if (member->input)
        inflateEnd(&member->inflater);
    memory_free(member->input);
}

/* The array was read: nothing must follow it, and the checksum must be right. */
static akg_status member_check(struct member *member)
{
    char found[16], right[16];
    if (member->stream.left > 0)
        return zip_unsound(member->archive, "a member holds more than its array");
    akg_status status = member->input ? end_deflated(member) : AKG_OK;
    if (status != AKG_OK || member->crc == member->entry->crc)
        return status;
    snprintf(found, sizeof found, "%08lx", member->crc);
    snprintf(right, sizeof right, "%08x", (unsigned)member->entry->crc);
    return failure_report(member->stream.diagnostics, AKG_ERROR_IO, MSG_NPZ_CHECKSUM, member->stream.label,
                          found, right, NULL);
}

static akg_status read_entry(const struct zip_archive *archive, const struct zip_entry *entry,
                             const char *label, akg_tensor **tensor)
{
    struct member member = {.stream = {.read = read_member,
                                       .left = entry->size,
                                       .label = label,
                                       .diagnostics = archive->file.diagnostics},
                            .archive = archive,
                            .entry = entry,
                            .compressed_left = entry->compressed_size};
    akg_status status = member_open(&member);
    if (status != AKG_OK)
        return status;
    status = npy_stream_read(&member.stream, tensor);
    if (status == AKG_OK)
        status = member_check(&member);
    member_close(&member);
    if (status != AKG_OK) {
        akg_tensor_release(*tensor);
        *tensor = NULL;
    }
    return status;
}

/* ---- names ---------------------------------------------------------------------- */

/* How well a member's name fits the key: 2 exactly, 1 without its ".npy", 0 not. */
static int name_fit(const struct zip_entry *entry, const char *key)
{
    static const char suffix[] = ".npy";
    size_t length = strlen(key), suffix_length = sizeof suffix - 1;
    if (entry->name_length < length || memcmp(entry->name, key, length) != 0)
        return 0;
    if (entry->name_length == length)
        return 2;
    return entry->name_length == length + suffix_length &&
           memcmp(entry->name + length, suffix, suffix_length) == 0;
}

/* Looks through all of the directory, so that one that is damaged is refused whatever is asked of it. Of
 * members with one name the last counts, as elsewhere. *found is false when there is none. */
static akg_status find_entry(const struct zip_archive *archive, const char *key, struct zip_entry *found,
                             bool *is_found)
{
    struct zip_entry entry;
    size_t position = 0;
    bool more = true;
    int best = 1;
    *is_found = false;
    while (more) {
        akg_status status = zip_next(archive, &position, &entry, &more);
        if (status != AKG_OK)
            return status;
        if (more && name_fit(&entry, key) >= best) {
            best = name_fit(&entry, key);
            *found = entry;
            *is_found = true;
        }
    }
    return AKG_OK;
}

/* The arrays of the archive for a message: the first names, without ".npy", and the one nearest to the key.
 */
static void describe_names(struct text *out, const struct zip_archive *archive, const char *key)
{
    enum { MOST_NAMES = 32, MOST_SHOWN = 8, MOST_LENGTH = 63 };
    char names[MOST_NAMES][MOST_LENGTH + 1], quoted[FAILURE_QUOTED];
    const char *candidates[MOST_NAMES];
    int count = 0;
    size_t position = 0;
    struct zip_entry entry;
    bool more = true;
    while (count < MOST_NAMES && zip_next(archive, &position, &entry, &more) == AKG_OK && more) {
        size_t length = entry.name_length;
        if (length > 4 && memcmp(entry.name + length - 4, ".npy", 4) == 0)
            length -= 4;
        if (length > MOST_LENGTH)
            length = MOST_LENGTH;
        memcpy(names[count], entry.name, length);
        names[count][length] = 0;
        candidates[count] = names[count];
        count++;
    }
    const char *nearest = spelling_nearest(key, candidates, count);
    if (nearest)
        text_format(out, "help: did you mean %s?", failure_quote(quoted, nearest, strlen(nearest)));
    else if (count == 0)
        text_string(out, "note: it is empty");
    for (int i = 0; i < count && i < MOST_SHOWN && !nearest; i++)
        text_format(out, "%s%s", i ? ", " : "note: it holds ",
                    failure_quote(quoted, candidates[i], strlen(candidates[i])));
    if (count > MOST_SHOWN && !nearest)
        text_string(out, ", ...");
}

static akg_status report_missing(const struct zip_archive *archive, const char *key)
{
    char quoted[FAILURE_QUOTED];
    struct text note;
    if (!archive->file.diagnostics)
        return AKG_ERROR_USAGE;
    text_init(&note);
    describe_names(&note, archive, key);
    akg_status status =
        note.failed
            ? AKG_ERROR_MEMORY
            : failure_report(archive->file.diagnostics, AKG_ERROR_USAGE, MSG_NPZ_KEY, archive->file.path,
                             failure_quote(quoted, key, strlen(key)), NULL, note.data);
    text_free(&note);
    return status;
}

static akg_status read_key(const struct zip_archive *archive, const char *key, akg_tensor **tensor)
{
    struct zip_entry entry;
    struct text label;
    bool found;
    akg_status status = find_entry(archive, key, &entry, &found);
    if (status == AKG_OK && !found)
        status = report_missing(archive, key);
    if (status != AKG_OK)
        return status;
    text_init(&label);
    text_format(&label, "%s:%s", archive->file.path, key);
    status = label.failed ? AKG_ERROR_MEMORY : read_entry(archive, &entry, label.data, tensor);
    text_free(&label);
    return status;
}

akg_status akg_npz_read(const char *path, const char *key, akg_tensor **tensor, akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!tensor)
        return AKG_ERROR_USAGE;
    *tensor = NULL;
    if (!path || !key)
        return AKG_ERROR_USAGE;
    struct zip_archive archive;
    akg_status status = zip_open(&archive, path, diagnostics);
    if (status != AKG_OK)
        return status;
    status = read_key(&archive, key, tensor);
    zip_close(&archive);
    return status;
}

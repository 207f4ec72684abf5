/*
 * npz_write.c: writes arrays into an .npz file: a ZIP archive of stored .npy files, ZIP64 where sizes need
 * it.
 *
 * The same arrays give the same bytes: members carry the first date ZIP has, as numpy's do.
 */
#include "failure.h"
#include "npy.h"
#include "zip.h"

#include "../base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { VERSION_PLAIN = 20, VERSION_64 = 45, MADE_BY_UNIX = 3 << 8, FIRST_DATE = 1 << 5 | 1 };

/* Permissions an unpacked member gets: rw-r--r-- of a regular file. */
#define EXTERNAL_ATTRIBUTES (0100644u << 16)

/* What the directory says of a member once it is written. */
struct record {
    uint32_t crc;
    uint64_t size, offset;
};

struct archive_writer {
    struct file_output output;
    const char *const *keys;
    struct record *records;
    size_t count;
};

static void put16(struct text *out, uint32_t value)
{
    text_append(out, (char[]){(char)value, (char)(value >> 8)}, 2);
}

static void put32(struct text *out, uint32_t value)
{
    put16(out, value & 0xffff);
    put16(out, value >> 16);
}

static void put64(struct text *out, uint64_t value)
{
    put32(out, (uint32_t)value);
    put32(out, (uint32_t)(value >> 32));
}

static bool needs_64(uint64_t value)
{
    return value >= ZIP_IN_64_32;
}

static uint32_t short_field(uint64_t value)
{
    return needs_64(value) ? ZIP_IN_64_32 : (uint32_t)value;
}

static akg_status flush(struct archive_writer *writer, struct text *bytes)
{
    akg_status status =
        bytes->failed ? AKG_ERROR_MEMORY : file_write(&writer->output, bytes->data, bytes->length);
    text_free(bytes);
    return status;
}

/* ---- names ---------------------------------------------------------------------- */

static akg_status refuse_name(const struct archive_writer *writer, const char *key, const char *why)
{
    char quoted[FAILURE_QUOTED];
    return failure_report(writer->output.diagnostics, AKG_ERROR_USAGE, MSG_NPZ_NAME,
                          failure_quote(quoted, key, strlen(key)), writer->output.path, why, NULL);
}

static akg_status check_name(const struct archive_writer *writer, const char *key)
{
    enum { MOST_LENGTH = 0xffff - 4 };
    size_t length = strlen(key);
    if (length == 0)
        return refuse_name(writer, key, "a name has at least one character");
    if (length > MOST_LENGTH)
        return refuse_name(writer, key, "a name has at most 65531 bytes");
    for (size_t at = 0; at < length;) {
        uint32_t code;
        int bytes = text_utf8(key + at, length - at, &code);
        if (bytes == 0)
            return refuse_name(writer, key, "a name is UTF-8");
        at += (size_t)bytes;
    }
    return AKG_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static akg_status check_names(const struct archive_writer *writer)
{
    akg_status status = AKG_OK;
    for (size_t i = 0; i < writer->count && status == AKG_OK; i++)
        status = check_name(writer, writer->keys[i]);
    if (status != AKG_OK)
        return status;
    const char **sorted = memory_allocate(writer->count * sizeof *sorted);
    if (!sorted)
        return AKG_ERROR_MEMORY;
    for (size_t i = 0; i < writer->count; i++)
        sorted[i] = writer->keys[i];
    qsort(sorted, writer->count, sizeof *sorted, compare_names);
    for (size_t i = 1; i < writer->count && status == AKG_OK; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            status = refuse_name(writer, sorted[i], "another array has the name already");
    memory_free(sorted);
    return status;
}

static uint32_t name_flags(const char *key)
{
    for (; *key; key++)
        if ((unsigned char)*key >= 0x80)
            return ZIP_FLAG_UTF8;
    return 0;
}

/* ---- members --------------------------------------------------------------------- */

/* From the flags on, what a member's header and its entry in the directory have in common, as far as the
 * length of the name. */
static void put_common(struct text *out, const struct archive_writer *writer, size_t index, bool sizes_in_64)
{
    const struct record *record = &writer->records[index];
    uint32_t size = sizes_in_64 ? ZIP_IN_64_32 : (uint32_t)record->size;
    put16(out, name_flags(writer->keys[index]));
    put16(out, ZIP_STORED);
    put16(out, 0);
    put16(out, FIRST_DATE);
    put32(out, record->crc);
    put32(out, size);
    put32(out, size);
    put16(out, (uint32_t)strlen(writer->keys[index]) + 4);
}

static void put_local_header(struct text *out, const struct archive_writer *writer, size_t index)
{
    const struct record *record = &writer->records[index];
    bool wide = needs_64(record->size);
    put32(out, ZIP_LOCAL_SIGNATURE);
    put16(out, wide ? VERSION_64 : VERSION_PLAIN);
    put_common(out, writer, index, wide);
    put16(out, wide ? 4 + 2 * 8 : 0);
    text_format(out, "%s.npy", writer->keys[index]);
    if (wide) {
        put16(out, ZIP_EXTRA64);
        put16(out, 2 * 8);
        put64(out, record->size);
        put64(out, record->size);
    }
}

static void put_entry(struct text *out, const struct archive_writer *writer, size_t index)
{
    const struct record *record = &writer->records[index];
    bool wide_size = needs_64(record->size), wide_offset = needs_64(record->offset);
    uint32_t extra = (wide_size ? 2 * 8 : 0) + (wide_offset ? 8 : 0);
    uint32_t version = extra ? VERSION_64 : VERSION_PLAIN;
    put32(out, ZIP_CENTRAL_SIGNATURE);
    put16(out, MADE_BY_UNIX | version);
    put16(out, version);
    put_common(out, writer, index, wide_size);
    put16(out, extra ? 4 + extra : 0);
    put16(out, 0); /* comment */
    put16(out, 0); /* disk */
    put16(out, 0); /* internal attributes */
    put32(out, EXTERNAL_ATTRIBUTES);
    put32(out, short_field(record->offset));
    text_format(out, "%s.npy", writer->keys[index]);
    if (extra) {
        put16(out, ZIP_EXTRA64);
        put16(out, extra);
    }
    if (wide_size) {
        put64(out, record->size);
        put64(out, record->size);
    }
    if (wide_offset)
        put64(out, record->offset);
}

/* `tensor` is contiguous. */
static akg_status write_contiguous(struct archive_writer *writer, size_t index, const akg_tensor *tensor)
{
    struct record *record = &writer->records[index];
    struct text array, local;
    size_t data_size = npy_data_size(tensor);
    text_init(&array);
    text_init(&local);
    npy_header_format(&array, tensor);
    if (!array.failed) {
        uLong crc = crc32_z(0, (const unsigned char *)array.data, array.length);
        /* crc32_z takes no address for a fresh start, which is what an empty tensor of the caller's may have
         */
        record->crc = (uint32_t)(data_size ? crc32_z(crc, tensor->data, data_size) : crc);
        record->size = array.length + data_size;
        record->offset = writer->output.size;
        put_local_header(&local, writer, index);
    }
    akg_status status = array.failed ? AKG_ERROR_MEMORY : flush(writer, &local);
    if (status == AKG_OK)
        status = flush(writer, &array);
    text_free(&array);
    return status == AKG_OK ? file_write(&writer->output, tensor->data, data_size) : status;
}

static akg_status write_member(struct archive_writer *writer, size_t index, const akg_tensor *tensor)
{
    akg_tensor *contiguous;
    akg_status status = npy_contiguous(tensor, &contiguous, writer->output.diagnostics);
    if (status == AKG_OK)
        status = write_contiguous(writer, index, contiguous);
    akg_tensor_release(contiguous);
    return status;
}

/* ---- the archive ------------------------------------------------------------------ */

static void put_end64(struct text *out, const struct archive_writer *writer, uint64_t offset, uint64_t size)
{
    uint64_t end = offset + size;
    put32(out, ZIP_END64_SIGNATURE);
    put64(out, 44); /* bytes of this record from here on */
    put16(out, MADE_BY_UNIX | VERSION_64);
    put16(out, VERSION_64);
    put32(out, 0);
    put32(out, 0);
    put64(out, writer->count);
    put64(out, writer->count);
    put64(out, size);
    put64(out, offset);
    put32(out, ZIP_LOCATOR64_SIGNATURE);
    put32(out, 0);
    put64(out, end);
    put32(out, 1);
}

static void put_end(struct text *out, const struct archive_writer *writer, uint64_t offset, uint64_t size)
{
    uint32_t count = writer->count < ZIP_IN_64_16 ? (uint32_t)writer->count : ZIP_IN_64_16;
    if (count == ZIP_IN_64_16 || needs_64(offset) || needs_64(size))
        put_end64(out, writer, offset, size);
    put32(out, ZIP_END_SIGNATURE);
    put16(out, 0);
    put16(out, 0);
    put16(out, count);
    put16(out, count);
    put32(out, short_field(size));
    put32(out, short_field(offset));
    put16(out, 0);
}

static akg_status write_archive(struct archive_writer *writer, akg_tensor *const *tensors)
{
    akg_status status = AKG_OK;
    for (size_t i = 0; i < writer->count && status == AKG_OK; i++)
        status = write_member(writer, i, tensors[i]);
    if (status != AKG_OK)
        return status;
    struct text directory;
    text_init(&directory);
    for (size_t i = 0; i < writer->count; i++)
        put_entry(&directory, writer, i);
    put_end(&directory, writer, writer->output.size, directory.length);
    return flush(writer, &directory);
}

static bool arguments_are_there(const char *const *keys, akg_tensor *const *tensors, size_t count)
{
    if (count > PTRDIFF_MAX / sizeof(struct record) || (count > 0 && (!keys || !tensors)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!keys[i] || !tensors[i])
            return false;
    return true;
}

akg_status akg_npz_write(const char *path, const char *const *keys, akg_tensor *const *tensors, size_t count,
                         akg_diagnostics **diagnostics)
{
    if (diagnostics)
        *diagnostics = NULL;
    if (!path || !arguments_are_there(keys, tensors, count))
        return AKG_ERROR_USAGE;
    struct archive_writer writer = {
        .output = {.descriptor = -1, .path = path, .diagnostics = diagnostics}, .keys = keys, .count = count};
    akg_status status = check_names(&writer);
    if (status != AKG_OK)
        return status;
    writer.records = memory_zeroed(count, sizeof *writer.records);
    if (!writer.records)
        return AKG_ERROR_MEMORY;
    status = file_create(&writer.output, path, diagnostics);
    if (status == AKG_OK)
        status = file_finish(&writer.output, write_archive(&writer, tensors));
    memory_free(writer.records);
    return status;
}

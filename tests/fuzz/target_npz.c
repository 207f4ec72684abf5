/*
 * target_npz.c: .npz archives made of the bytes, so that what is changed lies behind right checksums and
 * offsets: names, methods, members, and then, at places that the bytes choose, any byte of the archive.
 *
 * What is read of an archive in which nothing was changed is what akg_npy_read makes of the member alone.
 */
#define _GNU_SOURCE
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "../../base/text.h"
#include "../../include/akg.h"

enum { NPZ_MEMBERS = 4, NPZ_PATCHES = 6 };

struct npz_member {
    const uint8_t *data;
    size_t size, packed_size, offset;
    uint32_t crc;
    bool deflated, described; /* described: the sizes stand behind the data too, as streams write them */
    bool wide;                /* ZIP64 */
    char name[8];
};

struct npz_bytes {
    const uint8_t *data;
    size_t size;
};

static unsigned npz_byte(struct npz_bytes *bytes)
{
    if (!bytes->size)
        return 0;
    bytes->size--;
    return *bytes->data++;
}

static void npz_put(struct text *out, uint64_t value, int bytes)
{
    for (; bytes > 0; bytes--, value >>= 8) {
        char byte = (char)(value & 0xff);
        text_append(out, &byte, 1);
    }
}

/* ---- making -------------------------------------------------------------------------------------- */

static void npz_take_member(struct npz_bytes *bytes, struct npz_member *member, int number)
{
    static const char *const names[] = {"x.npy", "y.npy", "x", "a/b.npy", ""};
    unsigned flags = npz_byte(bytes), claimed = npz_byte(bytes) | npz_byte(bytes) << 8;

    snprintf(member->name, sizeof member->name, "%s", number ? names[flags % 5] : "x.npy");
    member->deflated = flags & 32;
    member->described = flags & 64;
    member->wide = flags & 128;
    member->data = bytes->data;
    member->size = claimed < bytes->size ? claimed : bytes->size;
    member->crc = (uint32_t)crc32_z(0, member->data, member->size);
    bytes->data += member->size;
    bytes->size -= member->size;
}

/* Raw deflated data, appended. */
static bool npz_deflate(struct text *out, const struct npz_member *member)
{
    z_stream stream = {0};
    unsigned char packed[512];
    int code;

    if (deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    stream.next_in = (unsigned char *)member->data;
    stream.avail_in = (uInt)member->size;
    do {
        stream.next_out = packed;
        stream.avail_out = sizeof packed;
        code = deflate(&stream, Z_FINISH);
        text_append(out, (char *)packed, sizeof packed - stream.avail_out);
    } while (code == Z_OK);
    deflateEnd(&stream);
    return code == Z_STREAM_END;
}

/* What the local header and the directory say alike. */
static void npz_common(struct text *out, const struct npz_member *member, size_t extra)
{
    npz_put(out, member->wide ? 45 : 20, 2);
    npz_put(out, member->described ? 8 : 0, 2);
    npz_put(out, member->deflated ? 8 : 0, 2);
    npz_put(out, 0, 4);
    npz_put(out, member->crc, 4);
    npz_put(out, member->wide ? UINT32_MAX : member->packed_size, 4);
    npz_put(out, member->wide ? UINT32_MAX : member->size, 4);
    npz_put(out, strlen(member->name), 2);
    npz_put(out, extra, 2);
}

static void npz_extra(struct text *out, const struct npz_member *member)
{
    npz_put(out, 1, 2);
    npz_put(out, 16, 2);
    npz_put(out, member->size, 8);
    npz_put(out, member->packed_size, 8);
}

static bool npz_put_member(struct text *out, struct npz_member *member)
{
    struct text packed;
    bool good = true;

    text_init(&packed);
    if (member->deflated)
        good = npz_deflate(&packed, member);
    else
        text_append(&packed, (const char *)member->data, member->size);
    member->offset = out->length;
    member->packed_size = packed.length;
    npz_put(out, 0x04034b50, 4);
    npz_common(out, member, member->wide ? 20 : 0);
    text_string(out, member->name);
    if (member->wide)
        npz_extra(out, member);
    if (packed.length)
        text_append(out, packed.data, packed.length);
    if (member->described) {
        npz_put(out, 0x08074b50, 4);
        npz_put(out, member->crc, 4);
        npz_put(out, member->packed_size, member->wide ? 8 : 4);
        npz_put(out, member->size, member->wide ? 8 : 4);
    }
    good = good && !packed.failed;
    text_free(&packed);
    return good;
}

static void npz_put_directory(struct text *out, const struct npz_member *members, int count)
{
    size_t start = out->length, size;

    for (int i = 0; i < count; i++) {
        npz_put(out, 0x02014b50, 4);
        npz_put(out, 20, 2);
        npz_common(out, &members[i], members[i].wide ? 20 : 0);
        npz_put(out, 0, 10);
        npz_put(out, members[i].offset, 4);
        text_string(out, members[i].name);
        if (members[i].wide)
            npz_extra(out, &members[i]);
    }
    size = out->length - start;
    npz_put(out, 0x06054b50, 4);
    npz_put(out, 0, 4);
    npz_put(out, (uint64_t)count, 2);
    npz_put(out, (uint64_t)count, 2);
    npz_put(out, size, 4);
    npz_put(out, start, 4);
    npz_put(out, 0, 2);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static bool npz_file(const void *data, size_t size, int *descriptor, char path[64])
{
    *descriptor = memfd_create("fuzz", MFD_CLOEXEC);
    if (*descriptor < 0)
        return false;
    snprintf(path, 64, "/proc/self/fd/%d", *descriptor);
    return write(*descriptor, data, size) == (ssize_t)size;
}

static akg_status npz_read(const char *path, const char *key, akg_tensor **tensor)
{
    akg_diagnostics *diagnostics = NULL;
    akg_status status =
        key ? akg_npz_read(path, key, tensor, &diagnostics) : akg_npy_read(path, tensor, &diagnostics);

    if ((status == AKG_OK) != (*tensor != NULL) ||
        (status != AKG_OK && status != AKG_ERROR_MEMORY && !diagnostics)) {
        fprintf(stderr, "status %d, tensor %p, messages %p\n", (int)status, (void *)*tensor,
                (void *)diagnostics);
        abort();
    }
    akg_diagnostics_free(diagnostics);
    return status;
}

static bool npz_same(akg_tensor *a, akg_tensor *b)
{
    size_t size;

    if (akg_tensor_dtype(a) != akg_tensor_dtype(b) || akg_tensor_rank(a) != akg_tensor_rank(b))
        return false;
    for (int axis = 0; axis < akg_tensor_rank(a); axis++)
        if (akg_tensor_shape(a)[axis] != akg_tensor_shape(b)[axis])
            return false;
    size = (size_t)akg_tensor_element_count(a) * akg_dtype_size(akg_tensor_dtype(a));
    return size == 0 || memcmp(akg_tensor_data(a), akg_tensor_data(b), size) == 0;
}

/* The first member, read out of the archive and alone. */
static void npz_compare(const char *archive, const struct npz_member *member, bool changed)
{
    akg_tensor *inside = NULL, *alone = NULL;
    int descriptor;
    char path[64];
    akg_status status = npz_read(archive, "x", &inside), expected;

    if (!changed && npz_file(member->data, member->size, &descriptor, path)) {
        expected = npz_read(path, NULL, &alone);
        if ((status == AKG_OK) != (expected == AKG_OK) || (alone && !npz_same(inside, alone))) {
            fprintf(stderr, "in the archive: %d, alone: %d\n", (int)status, (int)expected);
            abort();
        }
        close(descriptor);
    }
    akg_tensor_release(inside);
    akg_tensor_release(alone);
}

static void npz_read_all(const char *path, const struct npz_member *members, int count)
{
    for (int i = 1; i < count; i++) {
        akg_tensor *tensor = NULL;
        npz_read(path, members[i].name, &tensor);
        akg_tensor_release(tensor);
    }
}

int target_npz(const uint8_t *data, size_t size)
{
    struct npz_bytes bytes = {data, size};
    struct npz_member members[NPZ_MEMBERS] = {{0}};
    unsigned head = npz_byte(&bytes), patches = head % (NPZ_PATCHES + 1), places[NPZ_PATCHES][2];
    int count = 1 + (int)(head / 64), descriptor;
    struct text archive;
    bool good = true;
    char path[64];

    for (unsigned i = 0; i < patches; i++) {
        places[i][0] = npz_byte(&bytes);
        places[i][0] |= npz_byte(&bytes) << 8;
        places[i][1] = npz_byte(&bytes);
    }
    text_init(&archive);
    for (int i = 0; i < count; i++) {
        npz_take_member(&bytes, &members[i], i);
        good = npz_put_member(&archive, &members[i]) && good;
    }
    npz_put_directory(&archive, members, count);
    /* counted from the end, where the directory is */
    for (unsigned i = 0; i < patches && !archive.failed; i++)
        archive.data[archive.length - 1 - places[i][0] % archive.length] = (char)places[i][1];
    if (good && !archive.failed && npz_file(archive.data, archive.length, &descriptor, path)) {
        npz_compare(path, &members[0], patches > 0);
        npz_read_all(path, members, count);
        close(descriptor);
    }
    text_free(&archive);
    return 0;
}

/*
 * zip.h: what of the ZIP format an .npz file needs: its directory, and where the bytes of a member lie.
 */
#ifndef RUNTIME_ZIP_H
#define RUNTIME_ZIP_H

#include "file_io.h"

#define ZIP_LOCAL_SIGNATURE 0x04034b50u
#define ZIP_CENTRAL_SIGNATURE 0x02014b50u
#define ZIP_END_SIGNATURE 0x06054b50u
#define ZIP_END64_SIGNATURE 0x06064b50u
#define ZIP_LOCATOR64_SIGNATURE 0x07064b50u

/* What does not fit in a field of 16 or 32 bits has this there, and its value in a record of ZIP64. */
#define ZIP_IN_64_16 0xffffu
#define ZIP_IN_64_32 0xffffffffu
#define ZIP_EXTRA64 1u

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8 };
enum { ZIP_FLAG_ENCRYPTED = 1 << 0, ZIP_FLAG_UTF8 = 1 << 11 };

struct zip_archive {
    struct file_input file;
    unsigned char *directory; /* all of the central directory */
    size_t directory_size;
    uint64_t directory_offset; /* members lie before it */
};

struct zip_entry {
    const char *name; /* in the directory; no NUL */
    size_t name_length;
    unsigned method, flags;
    uint32_t crc;
    uint64_t compressed_size, size, header_offset;
};

/* Opens the file and reads its directory. Nothing is open after an error. */
akg_status zip_open(struct zip_archive *archive, const char *path, akg_diagnostics **diagnostics);
void zip_close(struct zip_archive *archive);

/* The entry at *position in the directory (0 at first), which moves on; *more is false at the end. */
akg_status zip_next(const struct zip_archive *archive, size_t *position, struct zip_entry *entry, bool *more);

/* Where the bytes of a member begin; they are then known to lie within the file. */
akg_status zip_locate(const struct zip_archive *archive, const struct zip_entry *entry, uint64_t *offset);

/* Reports the archive as unsound, saying why. */
akg_status zip_unsound(const struct zip_archive *archive, const char *why);

#endif

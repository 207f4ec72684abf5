/*
 * test_npy.c: .npy and .npz files: those of numpy are read and written to the byte; damaged ones of any kind
 * give an error with a diagnostic, or the right array; a failing write leaves no trace.
 */
#include "check.h"

#include "../../base/memory.h"
#include "../../include/akg.h"

#include "../data/npy_samples.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLE_COUNT = sizeof npy_samples / sizeof *npy_samples };

/* ---- files ------------------------------------------------------------------ */

static char folder[512], path[640];

static void make_folder(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/akg-test-npy-XXXXXX", base ? base : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/array", folder);
}

/* Files in the folder; removes them when asked to. */
static int folder_count(bool removing)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    int count = 0;
    while (directory && (entry = readdir(directory))) {
        char name[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", folder, entry->d_name);
        count++;
        if (removing && unlink(name) != 0)
            rmdir(name);
    }
    if (directory)
        closedir(directory);
    return count;
}

static void put_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(name, "wb");
    CHECK(file != NULL);
    if (!file)
        return;
    CHECK(fwrite(bytes, 1, size, file) == size);
    CHECK(fclose(file) == 0);
}

static size_t get_file(const char *name, unsigned char *bytes, size_t capacity)
{
    FILE *file = fopen(name, "rb");
    if (!file)
        return 0;
    size_t size = fread(bytes, 1, capacity, file);
    fclose(file);
    return size;
}

static akg_status read_any(const char *key, akg_tensor **tensor, akg_diagnostics **diagnostics)
{
    return key ? akg_npz_read(path, key, tensor, diagnostics) : akg_npy_read(path, tensor, diagnostics);
}

/* The name of the one message, or what else there is; frees the list. */
static const char *take_message(akg_diagnostics *diagnostics)
{
    const char *name = akg_diagnostics_count(diagnostics) == 1 ? akg_diagnostics_at(diagnostics, 0)->name
                                                               : "not one message";
    akg_diagnostics_free(diagnostics);
    return name; /* static: of the table of messages */
}

/* The file, read, must give this error and nothing else. */
static void check_refused(const char *key, akg_status expected, const char *message)
{
    akg_tensor *tensor = (akg_tensor *)1;
    akg_diagnostics *diagnostics = (akg_diagnostics *)1;
    CHECK_INT(read_any(key, &tensor, &diagnostics), expected);
    CHECK(tensor == NULL);
    CHECK_STRING(take_message(diagnostics), message);
    CHECK_INT(read_any(key, &tensor, NULL), expected);
}

/* The file, read, must give an error whose message says this. */
static void check_saying(const char *key, const char *message, const char *part)
{
    akg_tensor *tensor = NULL;
    akg_diagnostics *diagnostics = NULL;
    CHECK_INT(read_any(key, &tensor, &diagnostics), AKG_ERROR_IO);
    const akg_diagnostic *first = akg_diagnostics_at(diagnostics, 0);
    if (!CHECK(first && strstr(first->message, part) && strstr(first->message, path)))
        fprintf(stderr, "    message: %s\n", first ? first->message : "none");
    CHECK_STRING(take_message(diagnostics), message);
}

static void check_text(const akg_tensor *tensor, const char *expected)
{
    char *text = NULL;
    CHECK_INT(akg_tensor_format(tensor, &text), AKG_OK);
    CHECK_STRING(text, expected);
    akg_free(text);
}

/* ---- what numpy wrote ---------------------------------------------------------- */

static void check_rewritten(const struct npy_sample *sample, const akg_tensor *tensor)
{
    static unsigned char bytes[8192];
    CHECK_INT(akg_npy_write(path, tensor, NULL), AKG_OK);
    CHECK_INT(get_file(path, bytes, sizeof bytes), sample->size);
    CHECK(memcmp(bytes, sample->bytes, sample->size) == 0);
}

static void test_samples(void)
{
    for (int i = 0; i < SAMPLE_COUNT; i++) {
        const struct npy_sample *sample = &npy_samples[i];
        akg_tensor *tensor = NULL;
        akg_diagnostics *diagnostics = NULL;
        put_file(path, sample->bytes, sample->size);
        if (!CHECK(read_any(sample->key, &tensor, &diagnostics) == AKG_OK)) {
            fprintf(stderr, "    sample %s: %s\n", sample->name, take_message(diagnostics));
            continue;
        }
        CHECK(diagnostics == NULL);
        CHECK_INT(akg_tensor_dtype(tensor), sample->dtype);
        CHECK_INT(akg_tensor_rank(tensor), sample->rank);
        CHECK(akg_tensor_is_contiguous(tensor));
        CHECK((uintptr_t)akg_tensor_data(tensor) % 64 == 0);
        check_text(tensor, sample->text);
        if (sample->canonical)
            check_rewritten(sample, tensor);
        akg_tensor_release(tensor);
    }
    CHECK_INT(folder_count(false), 1);
}

/* ---- headers ------------------------------------------------------------------- */

static size_t put_header(unsigned char *bytes, int major, int minor, const char *text, size_t length)
{
    int width = major == 1 ? 2 : 4;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)major;
    bytes[7] = (unsigned char)minor;
    for (int i = 0; i < width; i++)
        bytes[8 + i] = (unsigned char)(length >> 8 * i);
    memcpy(bytes + 8 + width, text, length);
    return 8 + (size_t)width + length;
}

/* A file with this header and 64 bytes of data. */
static void put_array(int major, int minor, const char *text)
{
    unsigned char bytes[1024];
    size_t size = put_header(bytes, major, minor, text, strlen(text));
    memset(bytes + size, 1, 64);
    put_file(path, bytes, size + 64);
}

static void test_accepted_headers(void)
{
    static const struct {
        const char *header;
        akg_dtype dtype;
        int rank;
    } rows[] = {
        {"{\"shape\":(2,),\"descr\":\"<i4\",\"fortran_order\":False}", AKG_INT32, 1},
        {"{'descr': '|i1', 'fortran_order': True, 'shape': (2L, 3L), }\n", AKG_INT8, 2},
        {" \t{ 'descr' : '=u2' , 'fortran_order' : False , 'shape' : ( 2 , 3 , ) , } \n", AKG_UINT16, 2},
        {"{'descr': 'f8', 'fortran_order': False, 'shape': ()}", AKG_FLOAT64, 0},
        {"{'descr': '|V2', 'fortran_order': False, 'shape': (1,)}", AKG_BFLOAT16, 1},
        {"{'descr': '>b1', 'fortran_order': False, 'shape': (1,)}", AKG_BOOL, 1},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", AKG_FLOAT32,
         16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        akg_tensor *tensor = NULL;
        put_array(1 + (int)i % 3, 0, rows[i].header);
        if (!CHECK(akg_npy_read(path, &tensor, NULL) == AKG_OK)) {
            fprintf(stderr, "    %s\n", rows[i].header);
            continue;
        }
        CHECK_INT(akg_tensor_dtype(tensor), rows[i].dtype);
        CHECK_INT(akg_tensor_rank(tensor), rows[i].rank);
        akg_tensor_release(tensor);
    }
}

#define DICT(descr, order, shape) "{'descr': " descr ", 'fortran_order': " order ", 'shape': " shape "}"

static void test_refused_headers(void)
{
    static const char *const rows[][2] = {
        {"", "npy-header"},
        {"x", "npy-header"},
        {"{}", "npy-header"},
        {"{", "npy-header"},
        {DICT("'<f4'", "False", "(2,)") " x", "npy-header"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "npy-header"},
        {"{'descr': '<f4', 'fortran_order': False}", "npy-header"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "npy-header"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2,)}", "npy-header"},
        {"{'descr' '<f4', 'fortran_order': False, 'shape': (2,)}", "npy-header"},
        {"{'descr': '<f4\\x20', 'fortran_order': False, 'shape': (2,)}", "npy-header"},
        {"{'descr': '<f4", "npy-header"},
        {DICT("4", "False", "(2,)"), "npy-header"},
        {DICT("'<f4'", "0", "(2,)"), "npy-header"},
        {DICT("'<f4'", "False", "(2)"), "npy-header"},
        {DICT("'<f4'", "False", "2"), "npy-header"},
        {DICT("'<f4'", "False", "[2]"), "npy-header"},
        {DICT("'<f4'", "False", "(-2,)"), "npy-header"},
        {DICT("'<f4'", "False", "(2.0,)"), "npy-header"},
        {DICT("'<f4'", "False", "(,)"), "npy-header"},
        {DICT("'<f4'", "False", "(2,,)"), "npy-header"},
        {DICT("'<f4'", "False", "(2 3)"), "npy-header"},
        {DICT("'<f4'", "False", "(2,"), "npy-header"},
        {DICT("'<f4'", "False", "(9223372036854775808,)"), "npy-header"},
        {DICT("'<f4'", "False", "(9223372036854775807,)"), "npy-shape"},
        {DICT("'<f4'", "False", "(4294967296, 4294967296)"), "npy-shape"},
        {DICT("'<f4'", "False", "(0, 4294967296, 4294967296)"), "npy-shape"},
        {DICT("'<f4'", "False", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"), "npy-shape"},
        {DICT("'<f4'", "False", "(17,)"), "npy-short"},
        {DICT("'|i1'", "False", "(1000000000000,)"), "npy-short"},
        {DICT("[('a', '<f4')]", "False", "(2,)"), "npy-dtype"},
        {DICT("('<f4', (2,))", "False", "(2,)"), "npy-dtype"},
        {DICT("'|O'", "False", "(2,)"), "npy-dtype"},
        {DICT("'<U5'", "False", "(2,)"), "npy-dtype"},
        {DICT("'|S5'", "False", "(2,)"), "npy-dtype"},
        {DICT("'<c8'", "False", "(2,)"), "npy-dtype"},
        {DICT("'<M8[ns]'", "False", "(2,)"), "npy-dtype"},
        {DICT("'|V4'", "False", "(2,)"), "npy-dtype"},
        {DICT("'<f16'", "False", "(2,)"), "npy-dtype"},
        {DICT("'<i3'", "False", "(2,)"), "npy-dtype"},
        {DICT("'<f'", "False", "(2,)"), "npy-dtype"},
        {DICT("''", "False", "(2,)"), "npy-dtype"},
        {DICT("'<'", "False", "(2,)"), "npy-dtype"},
        {DICT("'\033[31m'", "False", "(2,)"), "npy-dtype"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int before = check_failed;
        put_array(1 + (int)i % 3, 0, rows[i][0]);
        check_refused(NULL, AKG_ERROR_IO, rows[i][1]);
        if (check_failed > before)
            fprintf(stderr, "    header %s\n", rows[i][0]);
    }
}

static void test_refused_prefixes(void)
{
    static char spaces[70000];
    static unsigned char bytes[80000];
    put_file(path, "", 0);
    check_refused(NULL, AKG_ERROR_IO, "npy-magic");
    put_file(path, "\x93NUM", 4);
    check_refused(NULL, AKG_ERROR_IO, "npy-magic");
    put_file(path, "PK\3\4 and more", 12);
    check_refused(NULL, AKG_ERROR_IO, "npy-magic");
    put_array(0, 0, DICT("'<f4'", "False", "(2,)"));
    check_refused(NULL, AKG_ERROR_IO, "npy-version");
    put_array(1, 1, DICT("'<f4'", "False", "(2,)"));
    check_refused(NULL, AKG_ERROR_IO, "npy-version");
    put_array(4, 0, DICT("'<f4'", "False", "(2,)"));
    check_refused(NULL, AKG_ERROR_IO, "npy-version");
    put_file(path, "\x93NUMPY\2\0\xff\xff\xff\xff{}", 14);
    check_refused(NULL, AKG_ERROR_IO, "npy-short");
    memset(spaces, ' ', sizeof spaces);
    put_file(path, bytes, put_header(bytes, 2, 0, spaces, sizeof spaces));
    check_refused(NULL, AKG_ERROR_IO, "npy-header");
}

static void test_bools_are_normalized(void)
{
    akg_tensor *tensor = NULL;
    unsigned char bytes[256];
    const char *header = DICT("'|b1'", "False", "(4,)");
    size_t size = put_header(bytes, 1, 0, header, strlen(header));
    memcpy(bytes + size, "\0\1\2\xff", 4);
    put_file(path, bytes, size + 4);
    CHECK_INT(akg_npy_read(path, &tensor, NULL), AKG_OK);
    CHECK(memcmp(akg_tensor_data(tensor), "\0\1\1\1", 4) == 0);
    akg_tensor_release(tensor);
}

/* ---- damage --------------------------------------------------------------------- */

/* Reads the file, which may be damaged: an error with a message, or an array; of an archive, thanks to the
 * checksum, the right one. */
static void check_survives(const struct npy_sample *sample, bool must_fail)
{
    akg_tensor *tensor = NULL;
    akg_diagnostics *diagnostics = NULL;
    akg_status status = read_any(sample->key, &tensor, &diagnostics);
    if (status != AKG_OK) {
        CHECK(status == AKG_ERROR_IO || status == AKG_ERROR_USAGE);
        CHECK(tensor == NULL);
        CHECK(strcmp(take_message(diagnostics), "not one message") != 0);
        return;
    }
    char *text = NULL;
    CHECK(!must_fail);
    CHECK(tensor && akg_tensor_is_contiguous(tensor) && !diagnostics);
    CHECK_INT(akg_tensor_format(tensor, &text), AKG_OK);
    if (sample->key)
        CHECK_STRING(text, sample->text);
    akg_free(text);
    akg_tensor_release(tensor);
}

static void test_truncated(void)
{
    for (int i = 0; i < SAMPLE_COUNT; i++) {
        const struct npy_sample *sample = &npy_samples[i];
        /* all archives, but of the plain files, which are much alike, a few */
        if (!sample->key && i % 7 != 0)
            continue;
        put_file(path, sample->bytes, sample->size);
        for (size_t size = sample->size; size-- > 0;) {
            /* an empty array needs nothing behind its header */
            bool must_fail = !(sample->key == NULL && strcmp(sample->text, "[]") == 0 && size >= 128);
            CHECK(truncate(path, (off_t)size) == 0);
            check_survives(sample, must_fail);
        }
    }
}

static void test_flipped(void)
{
    static unsigned char bytes[8192];
    uint64_t state = 1;
    for (int i = 0; i < SAMPLE_COUNT; i++) {
        const struct npy_sample *sample = &npy_samples[i];
        for (int round = 0; round < 120; round++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(state >> 33) % sample->size;
            memcpy(bytes, sample->bytes, sample->size);
            bytes[at] ^= (unsigned char)(1 + (state >> 20) % 255);
            put_file(path, bytes, sample->size);
            check_survives(sample, false);
        }
    }
}

/* ---- archives ------------------------------------------------------------------- */

static const struct npy_sample *sample_named(const char *name)
{
    for (int i = 0; i < SAMPLE_COUNT; i++)
        if (strcmp(npy_samples[i].name, name) == 0)
            return &npy_samples[i];
    return NULL;
}

/* The sample with the bytes of its directory's first entry, from `at` on, replaced. */
static void put_patched_entry(const char *name, int at, const char *patch, size_t size)
{
    static unsigned char bytes[8192];
    const struct npy_sample *sample = sample_named(name);
    memcpy(bytes, sample->bytes, sample->size);
    size_t entry = 0;
    while (memcmp(bytes + entry, "PK\1\2", 4) != 0)
        entry++;
    memcpy(bytes + entry + at, patch, size);
    put_file(path, bytes, sample->size);
}

static void test_refused_archives(void)
{
    akg_diagnostics *diagnostics = NULL;
    akg_tensor *tensor = NULL;
    put_file(path, sample_bzip2, sizeof sample_bzip2);
    check_refused("a", AKG_ERROR_IO, "npz-method");
    put_patched_entry("savez a", 8, "\1", 1);
    check_refused("a", AKG_ERROR_IO, "npz-method");
    put_patched_entry("savez a", 16, "\1\2\3\4", 4);
    check_refused("a", AKG_ERROR_IO, "npz-checksum");
    put_patched_entry("deflated a", 16, "\1\2\3\4", 4);
    check_refused("a", AKG_ERROR_IO, "npz-checksum");
    put_patched_entry("deflated a", 24, "\377\377\377\177", 4); /* a bomb, by its size */
    check_saying("a", "npz-format", "larger than its deflated data can be");
    put_patched_entry("deflated a", 24, "\231\0\0\0", 4); /* one byte more than there is */
    check_refused("a", AKG_ERROR_IO, "npz-format");
    put_patched_entry("deflated a", 24, "\227\0\0\0", 4); /* one less: the array is cut */
    check_refused("a", AKG_ERROR_IO, "npy-short");
    put_patched_entry("savez a", 46, "z", 1); /* another name than in front of the member */
    check_refused("z", AKG_ERROR_IO, "npz-format");
    put_patched_entry("savez a", 42, "\377\377\377\177", 4);
    check_saying("a", "npz-format", "lies outside");
    put_patched_entry("savez a", 20, "\377\377\0\0\377\377\0\0", 8); /* both sizes, larger than the file */
    check_saying("a", "npz-format", "reaches into the directory");
    put_patched_entry("savez a", 20, "\231\0\0\0\231\0\0\0", 8); /* and by one byte */
    check_saying("a", "npz-format", "more than its array");
    put_file(path, sample_named("savez a")->bytes, sample_named("savez a")->size);
    check_refused("c", AKG_ERROR_USAGE, "npz-key");
    check_refused("", AKG_ERROR_USAGE, "npz-key");
    CHECK_INT(akg_npz_read(path, "long_name", &tensor, &diagnostics), AKG_ERROR_USAGE);
    CHECK_STRING(akg_diagnostics_at(diagnostics, 0)->notes[0], "help: did you mean 'long name'?");
    akg_diagnostics_free(diagnostics);
    put_file(path, npy_samples[0].bytes, npy_samples[0].size);
    check_refused("a", AKG_ERROR_IO, "npz-format");
}

static void test_archive_round_trip(void)
{
    const char *const keys[] = {"w", "\xc3\xa9t\xc3\xa9", "deep/er"};
    const int64_t shape[] = {3, 4}, turned[] = {4, 3}, strides[] = {1, 4};
    akg_tensor *tensors[3] = {NULL}, *back = NULL;
    CHECK_INT(akg_tensor_create(AKG_FLOAT32, 2, shape, &tensors[0]), AKG_OK);
    akg_tensor_fill_range(tensors[0], 0, 0.5);
    CHECK_INT(akg_tensor_view(tensors[0], 2, turned, strides, 0, &tensors[1]), AKG_OK);
    CHECK_INT(akg_tensor_create(AKG_BFLOAT16, 0, NULL, &tensors[2]), AKG_OK);
    akg_tensor_fill(tensors[2], -1.5);
    CHECK_INT(akg_npz_write(path, keys, tensors, 3, NULL), AKG_OK);
    CHECK_INT(akg_npz_read(path, "w.npy", &back, NULL), AKG_OK);
    check_text(back, "[[0, 0.5, 1, 1.5], [2, 2.5, 3, 3.5], [4, 4.5, 5, 5.5]]");
    akg_tensor_release(back);
    CHECK_INT(akg_npz_read(path, keys[1], &back, NULL), AKG_OK);
    check_text(back, "[[0, 2, 4], [0.5, 2.5, 4.5], [1, 3, 5], [1.5, 3.5, 5.5]]");
    akg_tensor_release(back);
    CHECK_INT(akg_npz_read(path, keys[2], &back, NULL), AKG_OK);
    CHECK_INT(akg_tensor_dtype(back), AKG_BFLOAT16);
    check_text(back, "-1.5");
    akg_tensor_release(back);
    CHECK_INT(akg_npz_write(path, NULL, NULL, 0, NULL), AKG_OK);
    check_refused("w", AKG_ERROR_USAGE, "npz-key");
    for (int i = 0; i < 3; i++)
        akg_tensor_release(tensors[i]);
}

static void test_refused_names(void)
{
    static const char *const bad[][2] = {{"a", "a"}, {"a", ""}, {"a", "\xff"}};
    akg_tensor *tensor = NULL, *both[2];
    akg_diagnostics *diagnostics;
    CHECK_INT(akg_tensor_create(AKG_INT8, 0, NULL, &tensor), AKG_OK);
    both[0] = both[1] = tensor;
    folder_count(true);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(akg_npz_write(path, bad[i], both, 2, &diagnostics), AKG_ERROR_USAGE);
        CHECK_STRING(take_message(diagnostics), "npz-name");
    }
    CHECK_INT(akg_npz_write(path, (const char *[]){"a", NULL}, both, 2, NULL), AKG_ERROR_USAGE);
    CHECK_INT(folder_count(false), 0);
    akg_tensor_release(tensor);
}

/* ---- the file system -------------------------------------------------------------- */

static void test_paths(void)
{
    akg_tensor *tensor = NULL;
    akg_diagnostics *diagnostics;
    struct stat information;
    char link_name[700], missing[700];
    snprintf(link_name, sizeof link_name, "%s/link", folder);
    snprintf(missing, sizeof missing, "%s/no/such/folder", folder);
    CHECK_INT(akg_tensor_create(AKG_INT8, 0, NULL, &tensor), AKG_OK);
    folder_count(true);
    check_refused(NULL, AKG_ERROR_IO, "file-access");
    CHECK_INT(akg_npy_write(missing, tensor, &diagnostics), AKG_ERROR_IO);
    CHECK_STRING(take_message(diagnostics), "file-access");
    CHECK_INT(akg_npy_write(folder, tensor, &diagnostics), AKG_ERROR_IO);
    CHECK_STRING(take_message(diagnostics), "file-kind");
    CHECK_INT(akg_npy_write("/dev/null", tensor, &diagnostics), AKG_ERROR_IO);
    CHECK_STRING(take_message(diagnostics), "file-kind");
    CHECK(mkfifo(path, 0600) == 0);
    check_refused(NULL, AKG_ERROR_IO, "file-kind");
    CHECK(unlink(path) == 0 && mkdir(path, 0700) == 0);
    check_refused(NULL, AKG_ERROR_IO, "file-kind");
    CHECK(rmdir(path) == 0);
    /* a link stays one, and what it leads to is written with the permissions of the umask */
    mode_t mask = umask(027);
    put_file(path, "old", 3);
    CHECK(symlink("array", link_name) == 0);
    CHECK_INT(akg_npy_write(link_name, tensor, NULL), AKG_OK);
    umask(mask);
    CHECK(lstat(link_name, &information) == 0 && S_ISLNK(information.st_mode));
    CHECK(lstat(path, &information) == 0 && S_ISREG(information.st_mode));
    CHECK_INT(information.st_mode & 0777, 0640);
    CHECK_INT(information.st_size, 129);
    CHECK(unlink(path) == 0);
    CHECK_INT(akg_npy_write(link_name, tensor, &diagnostics), AKG_ERROR_IO);
    CHECK_STRING(take_message(diagnostics), "file-access");
    CHECK_INT(folder_count(true), 1);
    akg_tensor_release(tensor);
}

static void test_usage(void)
{
    akg_tensor *tensor = NULL;
    CHECK_INT(akg_npy_read(NULL, &tensor, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npy_read(path, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_read(path, NULL, &tensor, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npy_write(path, NULL, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_write(NULL, NULL, NULL, 0, NULL), AKG_ERROR_USAGE);
    CHECK_INT(akg_npz_write(path, NULL, NULL, 1, NULL), AKG_ERROR_USAGE);
}

/* ---- injected failures -------------------------------------------------------------- */

#ifdef AKG_FAULT_INJECTION
static akg_status try_one(int which, akg_tensor *tensor, akg_tensor **read, akg_diagnostics **diagnostics)
{
    const char *const keys[] = {"a", "b"};
    akg_tensor *const both[] = {tensor, tensor};
    switch (which) {
    case 0:
        return akg_npy_write(path, tensor, diagnostics);
    case 1:
        return akg_npz_write(path, keys, both, 2, diagnostics);
    case 2:
        return akg_npz_read(path, "b", read, diagnostics);
    case 3:
        return akg_npz_read(path, "nothing", read, diagnostics);
    default:
        return akg_npy_read(path, read, diagnostics);
    }
}

/* Before each attempt the file is as it should be, so that what a failure left can be told. */
static void test_injected_failures(void)
{
    static unsigned char now[8192];
    const struct npy_sample *old[] = {&npy_samples[0], &npy_samples[0], sample_named("deflated b"),
                                      sample_named("savez b"), sample_named("three axes fortran")};
    const int64_t shape[] = {3, 2}, turned[] = {2, 3}, strides[] = {1, 2};
    akg_tensor *base = NULL, *view = NULL;
    CHECK_INT(akg_tensor_create(AKG_INT16, 2, shape, &base), AKG_OK);
    CHECK_INT(akg_tensor_view(base, 2, turned, strides, 0, &view), AKG_OK);
    folder_count(true);
    for (int which = 0; which < 5; which++) {
        akg_status right = which == 3 ? AKG_ERROR_USAGE : AKG_OK, status;
        bool struck;
        long step = 0;
        do {
            akg_tensor *tensor = NULL;
            akg_diagnostics *diagnostics = NULL;
            put_file(path, old[which]->bytes, old[which]->size);
            memory_fail_after(step++);
            status = try_one(which, view, &tensor, &diagnostics);
            struck = memory_fail_remaining() < 0;
            memory_fail_after(-1);
            if (struck) {
                /* or what was wrong anyway, when only the message about it was lost */
                CHECK(status == AKG_ERROR_MEMORY || status == AKG_ERROR_IO ||
                      (right != AKG_OK && status == right));
                CHECK(tensor == NULL);
                CHECK_INT(get_file(path, now, sizeof now), old[which]->size);
                CHECK(memcmp(now, old[which]->bytes, old[which]->size) == 0);
            } else {
                CHECK_INT(status, right);
            }
            CHECK_INT(folder_count(false), 1);
            akg_tensor_release(tensor);
            akg_diagnostics_free(diagnostics);
        } while (struck && step < 1000);
        CHECK(step > 5 && step < 1000);
    }
    akg_tensor_release(view);
    akg_tensor_release(base);
}
#endif

int main(void)
{
    make_folder();
    test_samples();
    test_accepted_headers();
    test_refused_headers();
    test_refused_prefixes();
    test_bools_are_normalized();
    test_truncated();
    test_flipped();
    test_refused_archives();
    test_archive_round_trip();
    test_refused_names();
    test_paths();
    test_usage();
#ifdef AKG_FAULT_INJECTION
    test_injected_failures();
#endif
    folder_count(true);
    CHECK(rmdir(folder) == 0);
    return check_done();
}

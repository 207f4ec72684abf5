/*
 * test_disk_cache.c: the cache on disk: what is found is what was kept, damaged and foreign entries are not
 * used, the limit holds, every file operation may fail; and kernels whose code comes from it.
 */
#include "../../jit/cache_key.h"
#include "../../jit/disk_cache.h"
#include "api_support.h"
#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AKG_FAULT_INJECTION
#define memory_fail_after(count) ((void)(count))
#define memory_fail_remaining() (-1L)
#endif

static char directory[] = "/tmp/akg-cache-XXXXXX";
static struct jit_notes notes;
static struct disk_cache cache;

static char *path_of(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int count_files(const char *prefix)
{
    DIR *stream = opendir(directory);
    const struct dirent *row;
    int count = 0;
    while (stream && (row = readdir(stream)) != NULL)
        count += row->d_name[0] != '.' && strncmp(row->d_name, prefix, strlen(prefix)) == 0;
    if (stream)
        closedir(stream);
    return count;
}

static void empty(void)
{
    DIR *stream = opendir(directory);
    const struct dirent *row;
    while (stream && (row = readdir(stream)) != NULL)
        unlink(path_of(row->d_name));
    if (stream)
        closedir(stream);
}

static struct text key_of(const char *text)
{
    struct text key;
    text_init(&key);
    text_string(&key, text);
    return key;
}

static void keep(const char *key_text, const char *payload)
{
    struct text key = key_of(key_text);
    disk_cache_publish(&cache, &key, payload, strlen(payload));
    text_free(&key);
}

/* Whether just that is found under the key. */
static bool finds(const char *key_text, const char *payload)
{
    struct text key = key_of(key_text);
    struct disk_entry entry;
    bool found = disk_cache_find(&cache, &key, &entry);
    if (found) {
        found =
            entry.payload_size == strlen(payload) && memcmp(entry.payload, payload, entry.payload_size) == 0;
        if (!found)
            check_one(0, __FILE__, __LINE__, "something else was kept under the key");
        disk_entry_free(&entry);
    }
    text_free(&key);
    return found;
}

static char *file_of(const char *key_text)
{
    struct text key = key_of(key_text);
    char name[DISK_CACHE_NAME];
    disk_cache_name(&key, name);
    text_free(&key);
    return path_of(name);
}

/* The name of the only note since the last time, or "". */
static const char *noted(void)
{
    static char name[40];
    akg_diagnostics *list = notes_take(&notes);
    const akg_diagnostic *note = akg_diagnostics_at(list, 0);
    snprintf(name, sizeof name, "%s", note ? note->name : "");
    akg_diagnostics_free(list);
    return name;
}

/* ---- entries ------------------------------------------------------------------------------------ */

static void test_round_trip(void)
{
    CHECK(!finds("kernel: a\n", "one"));
    keep("kernel: a\n", "one");
    keep("kernel: b\n", "");
    CHECK(finds("kernel: a\n", "one"));
    CHECK(finds("kernel: b\n", ""));
    CHECK(!finds("kernel: c\n", "one"));
    keep("kernel: a\n", "two");
    CHECK(finds("kernel: a\n", "two"));
    CHECK_INT(count_files("tmp-"), 0);
    struct stat information;
    CHECK(stat(file_of("kernel: a\n"), &information) == 0 && (information.st_mode & 0777) == 0600);
    CHECK(stat(directory, &information) == 0 && (information.st_mode & 0777) == 0700);
    CHECK_STRING(noted(), "");
}

/* Each byte of an entry, changed; each length it may be cut to. */
static void test_damage(void)
{
    struct stat information;
    empty();
    keep("kernel: a\n", "payload");
    CHECK(stat(file_of("kernel: a\n"), &information) == 0);
    for (int at = 0; at < (int)information.st_size; at++)
        for (int cut = 0; cut < 2; cut++) {
            keep("kernel: a\n", "payload");
            int descriptor = open(file_of("kernel: a\n"), O_RDWR);
            unsigned char byte;
            CHECK(pread(descriptor, &byte, 1, at) == 1);
            byte ^= (unsigned char)(1 << at % 8);
            CHECK(cut ? ftruncate(descriptor, at) == 0 : pwrite(descriptor, &byte, 1, at) == 1);
            close(descriptor);
            CHECK(!finds("kernel: a\n", "payload"));
            CHECK_STRING(noted(), "cache-damaged");
            CHECK(access(file_of("kernel: a\n"), F_OK) != 0); /* it is gone, and told once */
        }
}

/* What is an entry of another key under this name, no regular file, or not only ours. */
static void test_foreign(void)
{
    char other[300];
    empty();
    keep("kernel: b\n", "of b");
    snprintf(other, sizeof other, "%s", file_of("kernel: b\n"));
    CHECK(rename(other, file_of("kernel: a\n")) == 0);
    CHECK(!finds("kernel: a\n", "of a"));
    CHECK_STRING(noted(), "");
    keep("kernel: a\n", "of a");
    CHECK(finds("kernel: a\n", "of a"));

    CHECK(chmod(file_of("kernel: a\n"), 0622) == 0);
    CHECK(!finds("kernel: a\n", "of a"));
    CHECK_STRING(noted(), "cache-damaged");
    keep("kernel: b\n", "of b");
    CHECK(symlink(other, file_of("kernel: a\n")) == 0);
    CHECK(!finds("kernel: a\n", "of b"));
    CHECK_STRING(noted(), "cache-damaged");
    CHECK(mkfifo(file_of("kernel: a\n"), 0600) == 0);
    CHECK(!finds("kernel: a\n", "")); /* and nobody waits for a writer */
    CHECK_STRING(noted(), "cache-damaged");
    if (geteuid() == 0) {
        keep("kernel: a\n", "of a");
        CHECK(chown(file_of("kernel: a\n"), 1, 1) == 0);
        CHECK(!finds("kernel: a\n", "of a"));
        CHECK_STRING(noted(), "cache-damaged");
    } else {
        printf("skipped: entries of another user: only root can make them\n");
    }
}

static void test_directory(void)
{
    empty();
    keep("kernel: a\n", "one");
    CHECK(chmod(directory, 0720) == 0);
    CHECK(!finds("kernel: a\n", "one"));
    CHECK_STRING(noted(), "cache-refused");
    keep("kernel: a\n", "two");
    CHECK_STRING(noted(), "cache-refused");
    CHECK(chmod(directory, 0700) == 0);
    CHECK(finds("kernel: a\n", "one"));
    if (geteuid() == 0) {
        CHECK(chown(directory, 1, 1) == 0);
        CHECK(!finds("kernel: a\n", "one"));
        CHECK_STRING(noted(), "cache-refused");
        CHECK(chown(directory, 0, 0) == 0);
    } else {
        CHECK(chmod(directory, 0500) == 0);
        keep("kernel: b\n", "two");
        CHECK_STRING(noted(), "cache-refused");
        CHECK(chmod(directory, 0700) == 0);
    }
    struct disk_cache saved = cache;
    cache.directory = path_of("a/b/c"); /* made with all above it */
    char deep[320];
    snprintf(deep, sizeof deep, "%s", cache.directory);
    cache.directory = deep;
    keep("kernel: a\n", "deep");
    CHECK(finds("kernel: a\n", "deep"));
    cache.directory = "/dev/null/akg";
    CHECK(!finds("kernel: a\n", "deep"));
    keep("kernel: a\n", "deep");
    CHECK_STRING(noted(), "cache-refused");
    cache = saved;
    snprintf(deep, sizeof deep, "rm -rf %s/a", directory);
    CHECK(system(deep) == 0);
}

/* ---- room ----------------------------------------------------------------------------------------- */

static void test_limit(void)
{
    char key[40], payload[1001];
    memset(payload, 'p', 1000);
    payload[1000] = 0;
    empty();
    cache.limit = 20000;
    for (int k = 0; k < 100; k++) {
        struct timespec long_ago[2] = {{.tv_sec = 1000 + k}, {.tv_nsec = UTIME_OMIT}};
        snprintf(key, sizeof key, "kernel: k%d\n", k);
        keep(key, payload);
        CHECK(utimensat(AT_FDCWD, file_of(key), long_ago, 0) == 0);
        CHECK(finds("kernel: k0\n", payload)); /* always in use: it stays */
        CHECK(count_files("") <= 20);
    }
    CHECK(finds("kernel: k99\n", payload));
    CHECK(!finds("kernel: k1\n", payload));
    CHECK(count_files("") >= 12);
    cache.limit = 256 << 20;
}

/* A limit on file sizes: nothing is kept, nothing is left, nobody dies. */
static void test_file_size(void)
{
    empty();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = {16, 16};
        setrlimit(RLIMIT_FSIZE, &limit);
        keep("kernel: a\n", "a payload of some bytes");
        _exit(count_files("") != 0 || strcmp(noted(), "cache-refused") != 0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK_INT(status, 0);
}

static void test_leftovers(void)
{
    uint64_t removed = 0;
    akg_cache *opened = NULL;
    empty();
    keep("kernel: a\n", "one");
    int dead = open(path_of("tmp-1-00000000-0"), O_CREAT | O_WRONLY, 0600);
    close(dead);
    int living = open(path_of("tmp-2-00000000-0"), O_CREAT | O_WRONLY, 0600);
    pid_t writer = fork(); /* holds the lock as another process */
    if (writer == 0) {
        int file = open(path_of("tmp-2-00000000-0"), O_WRONLY);
        flock(file, LOCK_EX);
        pause();
        _exit(0);
    }
    close(living);
    usleep(50000);
    CHECK_INT(akg_cache_open(directory, &opened, NULL), AKG_OK);
    CHECK_INT(akg_cache_entry_count(opened), 1);
    CHECK_INT(akg_cache_remove(opened, AKG_CACHE_REFUSE, &removed), AKG_OK);
    CHECK_INT(removed, 1);
    CHECK_INT(count_files("tmp-2"), 1);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    CHECK_INT(akg_cache_remove(opened, AKG_CACHE_ALL, &removed), AKG_OK);
    CHECK_INT(count_files("tmp-"), 0);
    CHECK(!finds("kernel: a\n", "one"));
    akg_cache_close(opened);
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

static const char program[] = "def f(x, y):\n"
                              "    z = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        z[i] = x[i] * y[i] + sin(x[i])\n"
                              "    t = 0.0\n"
                              "    i = 0\n"
                              "    while i < x.shape[0]:\n"
                              "        t = pow(t, 2.0) + z[i]\n"
                              "        z[i] = t\n"
                              "        i += 1\n"
                              "    return z\n";

/* The result with that cache; `said` is the note of the module, or "". */
static akg_tensor *call(const char *text, const char *cache_directory, const char *said)
{
    jit_source source = {.name = "f.akg", .text = text, .length = strlen(text)};
    jit_options options = {.cache = cache_directory};
    akg_tensor *x = api_vector(AKG_FLOAT32, 5, 0.1, 0.1), *output = NULL;
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, x)};
    akg_module *module = NULL;
    akg_status status = jit_compile(&source, &options, &module, NULL);
    if (status == AKG_OK)
        status = akg_kernel_call(akg_module_kernel(module, "f"), arguments, 2, NULL, &output, NULL);
    akg_diagnostics *list = akg_module_notes(module);
    const akg_diagnostic *note = akg_diagnostics_at(list, 0);
    if (said)
        CHECK_STRING(note ? note->name : "", said);
    akg_diagnostics_free(list);
    akg_module_release(module);
    akg_tensor_release(x);
    CHECK(status == AKG_OK || memory_fail_remaining() < 0);
    return output;
}

static void check_call(const char *text, const akg_tensor *expected, const char *said)
{
    akg_tensor *output = call(text, directory, said);
    CHECK(output && api_same(output, expected));
    akg_tensor_release(output);
}

static void test_kernels(void)
{
    char moved[sizeof program + 10] = "\n\n";
    empty();
    strcat(moved, program);
    akg_tensor *expected = call(program, "off", "");
    CHECK_INT(count_files(""), 0);
    check_call(program, expected, "");
    CHECK_INT(count_files(""), 2); /* the entry, and the state */
    check_call(program, expected, "");
    check_call(moved, expected, ""); /* the same program two lines further down */
    CHECK_INT(count_files(""), 2);
    akg_tensor_release(expected);
}

/* An entry that is sound as a file, and no code. */
static void test_no_code(void)
{
    akg_cache *opened = NULL;
    struct disk_entry entry;
    empty();
    akg_tensor *expected = call(program, directory, "");
    CHECK_INT(akg_cache_open(directory, &opened, NULL), AKG_OK);
    const akg_cache_entry *row = akg_cache_entry_at(opened, 0);
    int descriptor = open(directory, O_RDONLY | O_DIRECTORY);
    if (CHECK(row && !disk_cache_read(descriptor, row->name, false, &entry))) {
        CHECK_STRING(row->kernel, "f");
        struct text key = {.data = (char *)entry.key, .length = entry.key_size};
        for (size_t size = 0; size < entry.payload_size; size += size < 200 ? 1 : 97) {
            disk_cache_publish(&cache, &key, entry.payload, size);
            check_call(program, expected, "");
        }
        disk_entry_free(&entry);
    }
    close(descriptor);
    akg_cache_close(opened);
    akg_tensor_release(expected);
}

#ifdef AKG_FAULT_INJECTION
/* Listing, removing and explaining, with a failure in each place: an error that says so, or what is right. */
static bool look_after(void)
{
    jit_source source = {.name = "f.akg", .text = program, .length = strlen(program)};
    jit_options options = {.cache = directory};
    akg_tensor *x = api_vector(AKG_FLOAT32, 5, 0.1, 0.1);
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, x)};
    akg_cache *opened = NULL;
    akg_diagnostics *list = NULL;
    char *text = NULL;
    akg_status status = akg_cache_open(directory, &opened, &list);
    if (status == AKG_OK)
        status = akg_cache_remove(opened, AKG_CACHE_REFUSE, NULL);
    if (status == AKG_OK)
        status = akg_cache_explain(&source, &options, "f", arguments, x ? 2 : 0, false, AKG_FORMAT_TEXT,
                                   &text, &list);
    bool struck = memory_fail_remaining() < 0;
    memory_fail_after(-1);
    CHECK(status == AKG_OK || struck);
    CHECK((status == AKG_OK) == (text != NULL));
    CHECK(status != AKG_OK || strncmp(text, "f: ", 3) == 0);
    akg_free(text);
    akg_diagnostics_free(list);
    akg_cache_close(opened);
    akg_tensor_release(x);
    return struck;
}
#endif

/* Each allocation and each file operation of a call with an empty cache, and with a full one, fails once. */
static void test_failures(void)
{
#ifdef AKG_FAULT_INJECTION
    akg_tensor *expected = call(program, "off", "");
    for (int full = 0; full < 2; full++) {
        bool struck = true;
        long step = 1;
        for (long at = 0; struck; at += step) {
            if (!full)
                empty();
            memory_fail_after(at);
            akg_tensor *output = call(program, directory, NULL);
            struck = memory_fail_remaining() < 0;
            memory_fail_after(-1);
            CHECK(!output || api_same(output, expected));
            akg_tensor_release(output);
            CHECK_INT(count_files("tmp-"), 0);
            step = at < 100 ? 7 : 41;
        }
        check_call(program, expected, NULL);
    }
    bool struck = true;
    for (long at = 0; struck; at += at < 100 ? 3 : 41) {
        memory_fail_after(at);
        struck = look_after();
    }
    akg_tensor_release(expected);
#endif
}

int main(void)
{
    if (!mkdtemp(directory))
        return 1;
    notes_init(&notes);
    cache =
        (struct disk_cache){.directory = directory, .asked_for = true, .limit = 256 << 20, .notes = &notes};
    test_round_trip();
    test_damage();
    test_foreign();
    test_directory();
    test_limit();
    test_file_size();
    test_leftovers();
    test_kernels();
    test_no_code();
    test_failures();
    empty();
    CHECK(rmdir(directory) == 0);
    notes_free(&notes);
    return check_done();
}

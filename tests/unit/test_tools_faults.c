/*
 * test_tools_faults.c: each allocation and each file operation of whole commands fails once, in turn: of
 * akgrun itself and of the library below it. The program says so, leaves no file half written and none of its
 * own behind, and leaks nothing; where the failure did not matter, it does all that it should.
 *
 * The linker puts the functions of tests/faults/wrapped.def in the place of those of the C library. At most
 * `most` failures of a command are tried; the first argument is another `most`, 0 for all, which takes
 * minutes.
 */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int akgrun_main(int argc, char **argv); /* tools/akgrun.c's main */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* ---- failures -------------------------------------------------------------------------------- */

static long remaining = -1; /* calls that are still to succeed; negative: none fails any more */

static bool fails_here(int error)
{
    if (remaining < 0 || remaining-- > 0)
        return false;
    errno = error;
    return true;
}

#define WRAPPED(type, name, parameters, arguments, failure, error)                                           \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return fails_here(error) ? (failure) : __real_##name arguments;                                      \
    }

#include "../faults/wrapped.def"

/* ---- files ------------------------------------------------------------------------------------- */

static const char square[] = "def square(x):\n    y = output_tensor(x.shape, x.dtype)\n"
                             "    for i in range(x.shape[0]):\n        y[i] = x[i] * x[i]\n    return y\n";
static const char untidy[] = "def f( x ):\n  x[0]=1\n  return x";
static const char tidy[] = "def f(x):\n    x[0] = 1\n    return x\n";
static const char broken[] =
    "def f(x):\n    for i in range(x.shape[0])\n        x[i] = sqrtt(x[i])\n    return x\n";
static const char mended[] =
    "def f(x):\n    for i in range(x.shape[0]):\n        x[i] = sqrt(x[i])\n    return x\n";

static void file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");

    if (CHECK(file != NULL)) {
        CHECK(fputs(text, file) >= 0);
        CHECK(fclose(file) == 0);
    }
}

/* What the file holds, up to a page. */
static const char *file_text(const char *path)
{
    static char text[4][65536];
    static int next;
    char *here = text[next++ % 4];
    FILE *file = fopen(path, "rb");
    size_t length = file ? fread(here, 1, sizeof text[0] - 1, file) : 0;

    if (file)
        fclose(file);
    here[length] = 0;
    return here;
}

static int files_in(const char *folder)
{
    DIR *open = opendir(folder);
    int count = 0;

    while (open && readdir(open))
        count++;
    if (open)
        closedir(open);
    return count;
}

/* ---- commands ----------------------------------------------------------------------------------- */

struct command {
    const char *words;                 /* divided by spaces */
    const char *file, *before, *after; /* one that the command changes, or NULL */
    const char *made;                  /* a folder that it makes, or NULL */
    int made_files;
};

static void empty_folder(const char *folder)
{
    DIR *open = opendir(folder);
    struct dirent *entry;
    char path[512];

    while (open && (entry = readdir(open)))
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            unlink(path);
        }
    if (open)
        closedir(open);
}

static void prepare(const struct command *command)
{
    file_write("square.akg", square);
    file_write("broken.akg", broken);
    if (command->file)
        file_write(command->file, command->before);
    empty_folder("out");
    rmdir("out");
}

/* The exit status; what is printed goes into the files "stdout" and "stderr". */
static int run(const struct command *command, long failure)
{
    char words[256], *argv[16] = {"akgrun"};
    int argc = 1, status, saved[2];

    snprintf(words, sizeof words, "%s", command->words);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    fflush(NULL);
    for (int k = 0; k < 2; k++) {
        int to = open(k ? "stderr" : "stdout", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        saved[k] = dup(1 + k);
        dup2(to, 1 + k);
        close(to);
    }
    remaining = failure;
    status = akgrun_main(argc, argv);
    failure = remaining;
    remaining = -1;
    fflush(NULL);
    for (int k = 0; k < 2; k++) {
        dup2(saved[k], 1 + k);
        close(saved[k]);
    }
    remaining = failure;
    return status;
}

static bool holds(const struct command *command, int status, int wanted, const char *output, int files)
{
    const char *now = command->file ? file_text(command->file) : "";
    bool good = true;

    if (status == wanted && strncmp(file_text("stdout"), output, strlen(output)) == 0) {
        good &= !command->file || strcmp(now, command->after) == 0;
        good &= !command->made || files_in(command->made) == command->made_files + 2;
    } else {
        good &= status == 2 || status == 4 || status == wanted;
        good &= *file_text("stdout") || *file_text("stderr");
        good &= !command->file || strcmp(now, command->before) == 0 || strcmp(now, command->after) == 0;
        good &= !command->made || files_in(command->made) == 0;
        files -= command->made != NULL;
    }
    return good && files_in(".") == files;
}

/* Once undisturbed, to know what it should do, then with each failure. */
static void travel(const struct command *command, int wanted, long most)
{
    enum { FILES = 30 };
    char output[65536];
    long count, step = 1, tried = 0;
    int files;

    prepare(command); /* once before counting: what it keeps on disk is there then */
    CHECK_INT(run(command, -1), wanted);
    prepare(command);
    CHECK_INT(run(command, 1000000000), wanted);
    count = 1000000000 - remaining;
    remaining = -1;
    files = files_in(".");
    snprintf(output, sizeof output, "%s", file_text("stdout"));
    if (!CHECK(holds(command, wanted, wanted, output, files)))
        fprintf(stderr, "    %s: undisturbed: %s%s\n", command->words, file_text("stdout"),
                file_text("stderr"));
    if (most && count > most)
        step = count / most;
    long written = command->file || command->made ? count - FILES : count; /* from there on files are */
    for (long at = 0, next; at < count; at = next, tried++) {
        next = at >= written ? at + 1 : at + step < written ? at + step : written;
        int status;
        bool good;
        prepare(command);
        status = run(command, at);
        CHECK(remaining < 0); /* it struck */
        remaining = -1;
        good = holds(command, status, wanted, output, files);
        good &= !__lsan_do_recoverable_leak_check || __lsan_do_recoverable_leak_check() == 0;
        if (!CHECK(good))
            fprintf(stderr, "    %s: failure %ld: status %d\n%s%s", command->words, at, status,
                    file_text("stdout"), file_text("stderr"));
    }
    printf("ok %s: %ld of %ld failures\n", command->words, tried, count);
}

/* Files that the results would replace are there as long as not all results are. */
static void test_replaced(void)
{
    static const struct command command = {.words = "run pair.akg x=[1,4] --out pair"};
    bool replaced = false;

    file_write("pair.akg", "def pair(x):\n    a = output_tensor(x.shape, x.dtype)\n"
                           "    b = output_tensor(x.shape, x.dtype)\n    for i in range(x.shape[0]):\n"
                           "        a[i] = x[i]\n        b[i] = x[i]\n    return a, b\n");
    mkdir("pair", 0777);
    prepare(&command);
    run(&command, 1000000000);
    long count = 1000000000 - remaining;
    remaining = -1;
    for (long at = count - 40; at <= count && CHECK(at >= 0); at++) {
        file_write("pair/a.npy", "old");
        file_write("pair/b.npy", "old");
        int status = run(&command, at);
        remaining = -1;
        bool old = strcmp(file_text("pair/a.npy"), "old") == 0;
        CHECK_INT(strcmp(file_text("pair/b.npy"), "old") == 0, old);
        CHECK_INT(files_in("pair"), 2 + 2);
        CHECK(old ? status != 0 : true);
        replaced |= !old;
    }
    CHECK(replaced);
}

int main(int argc, char **argv)
{
    static const struct {
        struct command command;
        int status;
    } rows[] = {
        {{.words = "run square.akg x=[1,4,9]"}, 0},
        {{.words = "run square.akg x=[1,4,9] --json --backend interp"}, 0},
        {{.words = "run square.akg x=randn(3):float64 --out out", .made = "out", .made_files = 1}, 0},
        {{.words = "run square.akg x=keep/x.npy --out=out", .made = "out", .made_files = 1}, 0},
        {{.words = "run square.akg x=[[1]]"}, 3},
        {{.words = "check square.akg --json"}, 0},
        {{.words = "check broken.akg"}, 1},
        {{.words = "check broken.akg --diagnostics=sarif"}, 1},
        {{.words = "check --fix work.akg", .file = "work.akg", .before = broken, .after = mended}, 0},
        {{.words = "fmt work.akg", .file = "work.akg", .before = untidy, .after = tidy}, 0},
        {{.words = "emit square.akg x=[1] --stage c"}, 0},
        {{.words = "emit square.akg x=[1] --stage cuda"}, 0},
        {{.words = "check square.akg --explain-proof"}, 0},
        {{.words = "bench square.akg x=[1,4] --emit out", .made = "out", .made_files = 4}, 0},
        {{.words = "explain AKG0501"}, 0},
        {{.words = "run square.akg y=2"}, 2},
    };
    static const struct command keep = {.words = "run square.akg x=[2,3] --out keep"};
    long most = argc > 1 ? atol(argv[1]) : 30;

    prepare(&keep);
    CHECK_INT(run(&keep, -1), 0);
    CHECK(rename("keep/y.npy", "keep/x.npy") == 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        travel(&rows[i].command, rows[i].status, most);
    test_replaced();
    return check_done();
}

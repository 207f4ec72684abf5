/*
 * compiler.c: see compiler.h.
 *
 * The compiler runs in a process group of its own, which is killed as a whole when its time is over:
 * compilers start others. It reads nothing and nothing of what it prints is read; what counts is the file
 * that it makes.
 */
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np, prlimit */
#include "compiler.h"
#include "../base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

extern char **environ;

/* Of the file that it makes. */
enum { MOST_BYTES = 32 << 20 };

/* ---- which ------------------------------------------------------------------------------------- */

static struct compiler split_words(const char *command, char *words)
{
    struct compiler compiler = {.command = command + strspn(command, " ")};
    char *rest = words, *word;
    while (compiler.count < COMPILER_WORDS && (word = strtok_r(NULL, " ", &rest)) != NULL)
        compiler.words[compiler.count++] = word;
    return compiler;
}

/* Seconds. */
static double read_limit(const char *text, struct jit_notes *notes)
{
    char *end;
    double seconds = text ? strtod(text, &end) : 0;
    if (!text || !*text)
        return 60;
    if (seconds > 0 && seconds < 3600 && !*end)
        return seconds;
    notes_add(notes, MSG_SETTING, "AKG_CC_LIMIT", text, "a number of seconds between 0 and 3600",
              "without it the limit is 60, as it is now");
    return 60;
}

void compilers_choose(struct compilers *compilers, struct jit_notes *notes)
{
    const char *named = getenv("AKG_CC"), *limit = getenv("AKG_CC_LIMIT");
    const char *list = named && named[strspn(named, " ,")] ? named : CONFIGURED_COMPILERS;
    *compilers = (struct compilers){.limit = read_limit(limit, notes)};
    compilers->commands = memory_copy_string(list);
    compilers->words = memory_copy_string(list);
    char *rest = compilers->commands, *rest_of_words = compilers->words, *command, *words;
    while (compilers->commands && compilers->words && compilers->count < COMPILER_MOST &&
           (command = strtok_r(NULL, ",", &rest)) != NULL &&
           (words = strtok_r(NULL, ",", &rest_of_words)) != NULL) {
        compilers->items[compilers->count] = split_words(command, words);
        compilers->count += compilers->items[compilers->count].count > 0;
    }
    if (compilers->count == COMPILER_MOST && rest && rest[strspn(rest, " ,")])
        notes_add(notes, MSG_SETTING, "AKG_CC", list, "up to four compilers",
                  "those behind the fourth are not asked");
}

void compilers_free(struct compilers *compilers)
{
    memory_free(compilers->commands);
    memory_free(compilers->words);
    *compilers = (struct compilers){.count = 0};
}

/* The file that posix_spawnp would run. */
static bool find_program(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/'))
        return realpath(name, path) != NULL;
    for (const char *at = folders ? folders : "/usr/bin:/bin"; *at;) {
        char candidate[PATH_MAX];
        size_t length = strcspn(at, ":");
        int written = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)length, at, name);
        if (written > 0 && written < (int)sizeof candidate && access(candidate, X_OK) == 0)
            return realpath(candidate, path) != NULL;
        at += length + (at[length] == ':');
    }
    return false;
}

static void identify_processor(struct text *identity)
{
#if defined(__x86_64__)
    static const unsigned leaves[][2] = {{1, 0}, {7, 0}, {7, 1}};
    unsigned a, b, c, d;
    for (int k = 0; k < 3; k++)
        if (__get_cpuid_count(leaves[k][0], leaves[k][1], &a, &b, &c, &d)) /* in ebx of 1: which core it is */
            text_format(identity, " %x-%x-%x-%x", a, k ? b : 0, c, d);
#else
    text_string(identity, " unknown");
#endif
}

bool compiler_identify(const struct compiler *compiler, struct text *identity)
{
    char path[PATH_MAX];
    struct stat information;
    if (!find_program(compiler->words[0], path) || stat(path, &information) != 0)
        return false;
    text_format(identity, "%s (%lld bytes of %lld)", path, (long long)information.st_size,
                (long long)information.st_mtime);
    for (int k = 1; k < compiler->count; k++)
        text_format(identity, " %s", compiler->words[k]);
    text_string(identity, " for");
    identify_processor(identity);
    return !strchr(identity->data ? identity->data : "\n", '\n');
}

/* ---- files ---------------------------------------------------------------------------------------- */

static bool write_file(int folder, const char *name, const char *text)
{
    int descriptor =
        memory_fail_here() ? -1 : openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t length = strlen(text);
    bool good = descriptor >= 0 && write(descriptor, text, length) == (ssize_t)length;
    if (descriptor >= 0)
        close(descriptor);
    return good;
}

static bool read_file(int folder, const char *name, struct text *out)
{
    char buffer[4096];
    struct stat information;
    int descriptor =
        memory_fail_here() ? -1 : openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool good = descriptor >= 0 && fstat(descriptor, &information) == 0 && S_ISREG(information.st_mode) &&
                information.st_size > 0 && information.st_size <= MOST_BYTES;
    ssize_t count = 0;
    while (good && out->length <= MOST_BYTES && (count = read(descriptor, buffer, sizeof buffer)) > 0)
        text_append(out, buffer, (size_t)count);
    if (descriptor >= 0)
        close(descriptor);
    return good && count == 0 && !out->failed;
}

/* A directory and all in it, to a depth that no compiler needs. */
static void remove_folder(int parent, const char *name, int depth)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *stream = folder >= 0 ? fdopendir(folder) : NULL;
    const struct dirent *row;
    while (stream && (row = readdir(stream)) != NULL) {
        if (strcmp(row->d_name, ".") == 0 || strcmp(row->d_name, "..") == 0)
            continue;
        if (unlinkat(folder, row->d_name, 0) != 0 && depth > 0)
            remove_folder(folder, row->d_name, depth - 1);
    }
    if (stream)
        closedir(stream);
    else if (folder >= 0)
        close(folder);
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* ---- the process ------------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Its temporary files lie in the directory too, which is then gone with them. */
static char **make_environment(char *temporary)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **copy = memory_allocate((count + 3) * sizeof *copy);
    for (size_t k = 0; copy && k < count; k++)
        if (strncmp(environ[k], "TMPDIR=", 7) != 0 && strncmp(environ[k], "LC_ALL=", 7) != 0)
            copy[kept++] = environ[k];
    if (copy) {
        copy[kept++] = temporary;
        copy[kept++] = (char *)"LC_ALL=C";
        copy[kept] = NULL;
    }
    return copy;
}

/* What every child should have: no signal blocked or ignored, a group of its own, no files of ours. */
static int spawn(char *const *words, char **environment, pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    if (memory_fail_here() || posix_spawn_file_actions_init(&files) != 0)
        return ENOMEM;
    int problem = posix_spawnattr_init(&attributes);
    if (problem == 0) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
#if __GLIBC_PREREQ(2, 34)
        posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
#endif
        posix_spawnattr_setflags(&attributes,
                                 POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setsigdefault(&attributes, &all);
        problem = posix_spawnp(child, words[0], &files, &attributes, words, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return problem;
}

/* Waits until it ends, or ends it, with all that it has started: while it is not buried its number, which is
 * that of its group, is nobody else's. NULL, or what went wrong. */
static const char *wait_for(pid_t child, double limit, const atomic_bool *cancelled)
{
    double end = now() + limit;
    struct timespec pause = {.tv_nsec = 1000000};
    siginfo_t information = {.si_pid = 0};
    const char *problem = NULL;
    int status = 0;
    while (!problem &&
           (waitid(P_PID, (id_t)child, &information, WEXITED | WNOHANG | WNOWAIT) == 0 || errno == EINTR)) {
        if (information.si_pid)
            break;
        if (atomic_load(cancelled))
            problem = "was cancelled";
        else if (now() > end)
            problem = "did not end in time";
        else
            nanosleep(&pause, NULL);
        if (pause.tv_nsec < 8000000)
            pause.tv_nsec *= 2;
    }
    if (!problem && information.si_pid == 0)
        return NULL; /* a program that waits for all children has buried it: what it made will show */
    kill(-child, SIGKILL);
    if (waitpid(child, &status, 0) != child || problem)
        return problem;
    if (!WIFEXITED(status))
        return "was killed by a signal";
    return WEXITSTATUS(status) ? "refused the program" : NULL;
}

static const char *start(char *const *words, char *temporary, double limit, const atomic_bool *cancelled)
{
    const struct rlimit most = {MOST_BYTES, MOST_BYTES};
    char **environment = make_environment(temporary);
    pid_t child;
    if (!environment)
        return "found no memory";
    int problem = spawn(words, environment, &child);
    memory_free(environment);
    if (problem)
        return problem == ENOENT ? "is not there" : "could not be started";
    prlimit(child, RLIMIT_FSIZE, &most, NULL);
    setpriority(PRIO_PROCESS, (id_t)child, 5);
    return wait_for(child, limit, cancelled);
}

const char *compiler_run(const struct compiler *compiler, const struct compiler_run *run, struct text *object)
{
    const char *base = getenv("TMPDIR"), *problem = "found no room for its files";
    char folder[PATH_MAX], input[PATH_MAX + 20], output[PATH_MAX + 20], temporary[PATH_MAX + 20];
    char *words[COMPILER_WORDS + 20];
    char *flags[] = {"-std=gnu11",
                     "-w",
                     "-O3",
                     "-march=native",
                     "-fPIC",
                     "-shared",
                     "-nostartfiles",
                     "-fno-math-errno",
                     "-fno-trapping-math",
                     "-fno-strict-aliasing",
                     "-fopenmp-simd",
                     (char *)(run->strict ? "-ffp-contract=off" : "-ffp-contract=fast"),
                     "-o",
                     output,
                     input,
                     "-lm",
                     NULL};
    int length = snprintf(folder, sizeof folder, "%s/akg-XXXXXX", base && *base == '/' ? base : "/tmp");
    if (length < 0 || length >= (int)sizeof folder || memory_fail_here() || !mkdtemp(folder))
        return problem;
    int directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(input, sizeof input, "%s/kernel.c", folder);
    snprintf(output, sizeof output, "%s/kernel.so", folder);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
    memcpy(words, compiler->words, (size_t)compiler->count * sizeof *words);
    memcpy(words + compiler->count, flags, sizeof flags);
    if (directory >= 0 && write_file(directory, "kernel.c", run->source)) {
        problem = start(words, temporary, run->limit, run->cancelled);
        if (!problem && !read_file(directory, "kernel.so", object))
            problem = "made nothing that can be read";
    }
    if (directory >= 0)
        close(directory);
    remove_folder(AT_FDCWD, folder, 8);
    return problem;
}

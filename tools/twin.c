/*
 * twin.c: runs the C compiler on a file in a folder of its own, loads what it made and removes the folder.
 *
 * The flag -ffast-math is for compiling only: linking with it would make the whole process treat subnormal
 * numbers as zeros.
 */
#include "twin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { WORDS_MOST = 24, SECONDS_MOST = 60 };

#ifndef CONFIGURED_CC
#define CONFIGURED_CC "cc"
#endif

const char *twin_default_compiler(void)
{
    static char first[400];
    const char *own = getenv("AKG_CC");
    const char *list = own && own[strspn(own, " ,")] ? own + strspn(own, " ,") : CONFIGURED_CC;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(list, ","), list);
    return first;
}

static double now(void)
{
    struct timespec moment;
    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;
}

/* ---- one command ------------------------------------------------------------------ */

/* Seconds that a compiler may take, as for the optimising tier (jit/compiler.c). */
static double limit(void)
{
    const char *text = getenv("AKG_CC_LIMIT");
    char *end;
    double seconds = text ? strtod(text, &end) : 0;
    return text && *text && !*end && seconds > 0 && seconds < 3600 ? seconds : SECONDS_MOST;
}

/* The exit status, or -1: it was killed, by us when its time was over. */
static int wait_for(pid_t child)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    double end = now() + limit();
    int status;
    for (;;) {
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done < 0 && errno != EINTR)
            return -1;
        if (done == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        if (now() > end) {
            kill(-child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        nanosleep(&pause, NULL);
    }
}

/* Starts a command in a process group of its own, what it prints going into a file; an errno. */
static int start(char *const *words, const char *log, pid_t *child)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&files);
    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setpgroup(&attributes, 0);
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
        error = posix_spawnp(child, words[0], &files, &attributes, words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* The first line that the compiler printed. */
static void first_line(const char *log, char *line, size_t size)
{
    FILE *file = fopen(log, "r");
    line[0] = '\0';
    if (file && fgets(line, (int)size, file))
        line[strcspn(line, "\n")] = '\0';
    if (file)
        fclose(file);
}

/* The words of `compiler`, then the others. */
static bool run_compiler(const char *compiler, const char *const *others, const char *log, bool *refused,
                         struct problem *problem)
{
    char *copy = string_format("%s", compiler), *words[WORDS_MOST + 1], *rest, line[400];
    int count = 0, error;
    pid_t child;
    if (!copy)
        return problem_memory(problem);
    for (char *word = strtok_r(copy, " ", &rest); word && count < WORDS_MOST / 2;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    for (; *others && count < WORDS_MOST; others++)
        words[count++] = (char *)*others;
    words[count] = NULL;
    error = start(words, log, &child);
    if (error) {
        problem_set(problem, AKG_ERROR_IO, "cannot run '%.200s': %s", words[0], strerror(error));
        free(copy);
        return problem_help(problem, "AKG_CC names the C compiler; without --vs none is needed");
    }
    free(copy);
    int status = wait_for(child);
    if (status == 0)
        return true;
    *refused = status > 0;
    first_line(log, line, sizeof line);
    problem_set(problem, AKG_ERROR_IO, "'%.200s' %s", compiler,
                status < 0 ? "did not come to an end" : "refused the plain C of the kernel");
    return line[0] ? problem_help(problem, "it said: %s", line) : false;
}

/* ---- the twin ------------------------------------------------------------------------ */

/* Paths in the folder; all for free(). */
struct paths {
    char *folder, *text, *object, *library, *log;
};

static bool paths_make(struct paths *paths, struct problem *problem)
{
    const char *parent = getenv("TMPDIR");
    paths->folder = string_format("%s/akg-twin-XXXXXX", parent && parent[0] == '/' ? parent : "/tmp");
    if (!paths->folder)
        return problem_memory(problem);
    if (!mkdtemp(paths->folder)) {
        problem_set(problem, AKG_ERROR_IO, "cannot make '%.200s': %s", paths->folder, strerror(errno));
        free(paths->folder);
        paths->folder = NULL;
        return false;
    }
    paths->text = string_format("%s/twin.c", paths->folder);
    paths->object = string_format("%s/twin.o", paths->folder);
    paths->library = string_format("%s/twin.so", paths->folder);
    paths->log = string_format("%s/log", paths->folder);
    return (paths->text && paths->object && paths->library && paths->log) || problem_memory(problem);
}

static void paths_free(struct paths *paths)
{
    char *const files[] = {paths->text, paths->object, paths->library, paths->log};
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        if (files[k])
            unlink(files[k]);
        free(files[k]);
    }
    if (paths->folder)
        rmdir(paths->folder);
    free(paths->folder);
}

static bool write_text(const char *path, const char *text, struct problem *problem)
{
    FILE *file = fopen(path, "w");
    size_t length = strlen(text);
    bool good = file && fwrite(text, 1, length, file) == length;
    if (file && fclose(file) != 0)
        good = false;
    return good || problem_set(problem, AKG_ERROR_IO, "cannot write '%.200s': %s", path, strerror(errno));
}

static bool load(struct twin *twin, const char *path, struct problem *problem)
{
    twin->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = twin->library ? dlsym(twin->library, "akg_plain_run") : NULL;
    if (!symbol)
        return problem_set(problem, AKG_ERROR_IO, "cannot load what the C compiler made: %.300s", dlerror());
    memcpy(&twin->run, &symbol, sizeof twin->run);
    return true;
}

bool twin_build(const char *compiler, const char *text, struct twin *twin, struct problem *problem)
{
    struct paths paths = {0};
    double begin = now();
    if (!compiler)
        compiler = twin_default_compiler();
    bool good = paths_make(&paths, problem) && write_text(paths.text, text, problem);
    const char *const compile[] = {"-O3", "-march=native", "-ffast-math", "-fPIC", "-c", paths.text,
                                   "-o",  paths.object,    NULL};
    const char *const link[] = {"-shared", paths.object, "-o", paths.library, "-lm", NULL};
    good = good && run_compiler(compiler, compile, paths.log, &twin->refused, problem) &&
           run_compiler(compiler, link, paths.log, &twin->refused, problem);
    twin->seconds = now() - begin;
    good = good && load(twin, paths.library, problem);
    paths_free(&paths);
    return good;
}

void twin_free(struct twin *twin)
{
    if (twin->library)
        dlclose(twin->library);
    memset(twin, 0, sizeof *twin);
}

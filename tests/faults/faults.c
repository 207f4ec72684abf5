/*
 * faults.c: whole commands of akgrun in which what may fail fails: an allocation, a file operation, a
 * mapping. Of the million allocations of a command those are tried that are reached through a call, in
 * whichever function of the chain, that few failures have come through so far: memory is lost where a
 * function holds some while what it calls leaps over it.
 *
 * Consumes the name of a file with a command on each line, its words ended by the character 31 (the script
 * `commands` writes it). Words before the subcommand set how it runs: NAME=VALUE the environment, FRESH
 * without the folders "cache" and "made", VARIES with another output each time.
 *
 *     faults [-n TIMES] [-o NUMBER] [-f FROM] [-s SECONDS] [-t SECONDS] FILE
 *
 * -n: how many failures are to come through each call, 0: each chain of calls once; -o: a chain fails not the
 * first time but the NUMBER-th; -f: from that line on; -s: without commands that take longer; -t: stops when
 * the time is over.
 *
 * After a failure the status is the one without it or one of a failure that is told of, the output the same
 * where the status is 0; the next command, undisturbed, does all that it should; no memory is lost. Commands
 * run in child processes: some fifty failures in one, and those of one that went wrong again, each alone.
 * Needs gcc's frame pointers, as a build with SANITIZE has them.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int akgrun_main(int argc, char **argv); /* tools/akgrun.c's main */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
void __sanitizer_print_stack_trace(void) __attribute__((weak));

/* ---- places ------------------------------------------------------------------------------------ */

enum { SEEN = 1 << 21, MOST_PENDING = 1 << 16, DEEPEST = 64, BATCH = 50, WORDS = 64, RUN_SECONDS = 120 };

/* The chain of calls that leads to something that may fail: return addresses, each once however deep the
 * recursion. */
struct place {
    uintptr_t calls[DEEPEST];
    int count;
    uint64_t hash;
};

/* Between the processes. */
struct shared {
    _Atomic uint64_t seen[SEEN]; /* a hash table: places, and TIMES-th failures through a call */
    uint64_t pending[MOST_PENDING];
    atomic_int pending_count;
    int status;        /* of the command, undisturbed */
    double seconds;    /* of the processor, that it takes */
    atomic_bool wrong; /* the child found something wrong */
};

static struct shared *shared;
static enum { PASS, RECORD, FAIL } mode;
static atomic_bool active;
static uint64_t target;
static atomic_int left;       /* times that the place is still passed */
static int times = 2;         /* failures that come through each call; 0: through each chain */
static double longest = 1000; /* seconds: a command that takes longer is left out */
static int occurrence;        /* which time a chain is to fail, from 0 */
static bool shows;            /* where it fails is printed */

static uintptr_t stack_end(void)
{
    static _Thread_local uintptr_t end;
    pthread_attr_t attributes;
    void *start;
    size_t size;

    if (!end && pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &start, &size);
        pthread_attr_destroy(&attributes);
        end = (uintptr_t)start + size;
    }
    return end;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static void find_place(void *frame, struct place *place)
{
    uintptr_t *at = frame, end = stack_end();

    place->count = 0;
    place->hash = 0;
    while ((uintptr_t)at < end - 16 && place->count < DEEPEST) {
        uintptr_t *next = (uintptr_t *)at[0];
        bool is_new = true;
        for (int k = 0; k < place->count && is_new; k++)
            is_new = place->calls[k] != at[1];
        if (is_new) {
            place->calls[place->count++] = at[1];
            place->hash = mix(place->hash, at[1]);
        }
        if (next <= at || (uintptr_t)next % 8)
            break;
        at = next;
    }
}

/* Whether the hash was not in the table, where it is now. */
static bool is_first(uint64_t hash)
{
    hash |= 1;
    for (size_t k = hash % SEEN;; k = (k + 1) % SEEN) {
        uint64_t there = 0;
        if (atomic_compare_exchange_strong(&shared->seen[k], &there, hash))
            return true;
        if (there == hash)
            return false;
    }
}

static void record(const struct place *place)
{
    bool is_wanted = times == 0;

    if (!is_first(place->hash))
        return;
    for (int k = 0; k < place->count; k++)
        for (int n = 0; n < times; n++)
            if (is_first(mix((uint64_t)n + 1, place->calls[k]))) {
                is_wanted = true;
                break;
            }
    int number = is_wanted ? atomic_fetch_add(&shared->pending_count, 1) : MOST_PENDING;
    if (number < MOST_PENDING)
        shared->pending[number] = place->hash;
}

static bool fails_here(void *frame, int error)
{
    static _Thread_local bool inside; /* what asks for the stack's bounds may allocate */
    struct place place;
    if (inside || !atomic_load(&active))
        return false;
    inside = true;
    find_place(frame, &place);
    inside = false;
    if (mode == RECORD)
        record(&place);
    if (mode != FAIL || place.hash != target || atomic_fetch_sub(&left, 1) != 0)
        return false;
    if (shows && __sanitizer_print_stack_trace)
        __sanitizer_print_stack_trace();
    errno = error;
    return true;
}

#define WRAPPED(type, name, parameters, arguments, failure, error)                                           \
    type __real_##name parameters;                                                                           \
    type __wrap_##name parameters;                                                                           \
    type __wrap_##name parameters                                                                            \
    {                                                                                                        \
        return fails_here(__builtin_frame_address(0), error) ? (failure) : __real_##name arguments;          \
    }
#include "wrapped.def"

/* ---- commands ----------------------------------------------------------------------------------- */

struct command {
    char *words[WORDS], *settings[WORDS]; /* the latter of the environment */
    int count, setting_count;
    bool is_fresh, varies;
};

static bool read_command(char *line, struct command *command)
{
    *command = (struct command){.words = {"akgrun"}, .count = 1};
    for (char *end; (end = strchr(line, 31)) && command->count < WORDS - 1; line = end + 1) {
        *end = 0;
        if (command->count == 1 && strcmp(line, "FRESH") == 0)
            command->is_fresh = true;
        else if (command->count == 1 && strcmp(line, "VARIES") == 0)
            command->varies = true;
        else if (command->count == 1 && strchr(line, '='))
            command->settings[command->setting_count++] = line;
        else
            command->words[command->count++] = line;
    }
    return command->count > 1;
}

static void show(const struct command *command)
{
    for (int k = 1; k < command->count; k++)
        printf(" %s", command->words[k]);
    putchar('\n');
}

static void empty_folder(const char *name)
{
    DIR *folder = opendir(name);
    struct dirent *entry;
    char path[512];

    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.' && snprintf(path, sizeof path, "%s/%s", name, entry->d_name) < 512)
            unlink(path);
    if (folder)
        closedir(folder);
}

/* The exit status; what is printed goes into the files "stdout" and "stderr". */
static int run(const struct command *command)
{
    char *argv[WORDS];
    int status;

    memcpy(argv, command->words, sizeof argv);
    if (command->is_fresh) {
        empty_folder("cache");
        empty_folder("made");
        rmdir("made");
    }
    fflush(NULL);
    for (int k = 0; k < 2; k++) {
        int to = __real_open(k ? "stderr" : "stdout", O_WRONLY | O_CREAT | O_TRUNC, 0666);
        dup2(to, 1 + k);
        close(to);
    }
    alarm(RUN_SECONDS);
    atomic_store(&active, mode != PASS);
    status = akgrun_main(command->count, argv);
    fflush(stdout);
    atomic_store(&active, false);
    clearerr(stdout);
    fflush(NULL);
    alarm(0);
    return status;
}

/* What the file holds, for free. */
static char *text_of(const char *path)
{
    int file = __real_open(path, O_RDONLY, 0);
    struct stat information;
    char *text = NULL;

    if (file >= 0 && __real_fstat(file, &information) == 0 &&
        (text = __real_calloc(1, (size_t)information.st_size + 1)) &&
        __real_read(file, text, (size_t)information.st_size) != information.st_size)
        text[0] = 0;
    close(file);
    return text;
}

static bool is_right(const struct command *command, int status, bool failed)
{
    char *output = text_of("stdout"), *wanted = text_of("wanted"), *errors = text_of("stderr");
    bool good = output && wanted && errors;

    if (good && status == shared->status)
        good = status != 0 || command->varies || strcmp(output, wanted) == 0;
    else if (good)
        good = failed && (status == 2 || status == 4) && (*output || *errors);
    good &= errors && !strstr(errors, "internal error") && !(output && strstr(output, "internal error"));
    good &= status != 4 || shared->status == 4 || (output && strstr(output, "memory")) ||
            (errors && strstr(errors, "memory"));
    free(output);
    free(wanted);
    free(errors);
    return good;
}

/* ---- processes ------------------------------------------------------------------------------------ */

/* Whether `act` in a child came to its end and found all right. */
static bool in_child(void (*act)(const struct command *command, const uint64_t *places, int count),
                     const struct command *command, const uint64_t *places, int count)
{
    int status = 0;

    atomic_store(&shared->wrong, false);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        for (int k = 0; k < command->setting_count; k++)
            putenv(command->settings[k]);
        act(command, places, count);
        _exit(0);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 && !atomic_load(&shared->wrong);
}

static double now(void)
{
    struct timespec moment;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &moment); /* whatever else runs */
    return (double)moment.tv_sec + (double)moment.tv_nsec * 1e-9;
}

/* Undisturbed, to know what it gives, and how long it takes; then again, to know its places. */
static void look(const struct command *command, const uint64_t *places, int count)
{
    (void)places, (void)count;
    shared->status = run(command);
    rename("stdout", "wanted");
    double start = now();
    mode = PASS;
    run(command);
    shared->seconds = now() - start;
    mode = RECORD;
    if (shared->seconds < longest && run(command) != shared->status)
        atomic_store(&shared->wrong, true);
}

static void fail_at_each(const struct command *command, const uint64_t *places, int count)
{
    bool good = true;

    for (int k = 0; k < count; k++) {
        mode = FAIL;
        target = places[k];
        atomic_store(&left, occurrence);
        good &= is_right(command, run(command), true);
        mode = PASS;
    }
    if (shows)
        rename("stderr", "stderr.first");
    good &= is_right(command, run(command), false);
    good &= !__lsan_do_recoverable_leak_check || __lsan_do_recoverable_leak_check() == 0;
    if (!good)
        atomic_store(&shared->wrong, true);
}

/* The failures of a batch that went wrong, one by one; what they printed is shown. */
static int find_wrong(const struct command *command, const uint64_t *places, int count)
{
    int wrong = 0;

    shows = true;
    for (int k = 0; k < count; k++) {
        unlink("stderr.first");
        if (in_child(fail_at_each, command, &places[k], 1))
            continue;
        char *first = text_of("stderr.first"), *second = text_of("stderr");
        printf("WRONG:");
        show(command);
        printf("%s%s\n", first ? first : "", second ? second : "");
        free(first);
        free(second);
        wrong++;
    }
    shows = false;
    if (!wrong) {
        printf("WRONG, but only together with others:");
        show(command);
    }
    return wrong ? wrong : 1;
}

static int try_command(const struct command *command, int *tried)
{
    int wrong = 0;

    atomic_store(&shared->pending_count, 0);
    if (!in_child(look, command, NULL, 0)) {
        printf("WRONG, though nothing fails:");
        show(command);
        return 1;
    }
    int count = atomic_load(&shared->pending_count);
    if (count > MOST_PENDING)
        count = MOST_PENDING;
    for (int k = 0; k < count; k += BATCH) {
        int size = count - k < BATCH ? count - k : BATCH;
        if (!in_child(fail_at_each, command, &shared->pending[k], size))
            wrong += find_wrong(command, &shared->pending[k], size);
    }
    *tried += count;
    return wrong;
}

static bool read_options(int argc, char **argv, long *from, long *seconds)
{
    for (int option; (option = getopt(argc, argv, "n:o:f:t:s:")) != -1;) {
        if (option == 'n')
            times = atoi(optarg);
        else if (option == 'o')
            occurrence = atoi(optarg) - 1;
        else if (option == 'f')
            *from = atol(optarg);
        else if (option == 's')
            longest = atof(optarg);
        else if (option == 't')
            *seconds = atol(optarg);
        else
            return false;
    }
    return optind + 1 == argc;
}

int main(int argc, char **argv)
{
    static char line[1 << 16];
    long from = 1, seconds = 1000000, number = 0;
    int commands = 0, tried = 0, wrong = 0;
    time_t start = time(NULL);
    FILE *file = read_options(argc, argv, &from, &seconds) ? fopen(argv[optind], "r") : NULL;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!file || shared == MAP_FAILED) {
        fputs("usage: faults [-n TIMES] [-o NUMBER] [-f FROM] [-s SECONDS] [-t SECONDS] FILE\n", stderr);
        return 2;
    }
    while (time(NULL) - start < seconds && fgets(line, sizeof line, file)) {
        struct command command;
        if (++number < from || !read_command(line, &command))
            continue;
        int before = tried;
        wrong += try_command(&command, &tried);
        commands++;
        printf("%ld: %d places:", number, tried - before);
        show(&command);
    }
    fclose(file);
    printf("%d commands, %d places; %d passed, %d failed\n", commands, tried, tried - wrong, wrong);
    return wrong != 0;
}

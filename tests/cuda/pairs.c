/*
 * pairs.c: many commands of akgrun, each on the CPU and on a device, whose outputs must be the same but for
 * rounding; or twice on the device, whose results must be the same bits. A process works through many of
 * them, for making a context takes the driver a quarter of a second.
 *
 *     pairs [-t] [-s SECONDS] DEVICE WORKERS FILE
 *
 * Consumes a file with a case on each line, its parts ended by the character 31: a folder to be in, a name to
 * tell of it by, the words of the command. Neighbours in one folder are left to one process, since what the
 * first has compiled the others may find in the cache on disk. -t: twice on the device, in the deterministic
 * mode; the folder becomes that of the results. -s: a case that takes longer has failed (120).
 *
 * Produces what differs, the number of processes, and "N passed, N failed". A process ends with a case that
 * failed, in whichever way, since the device may be lost to it, and another goes on behind that. At SIGTERM
 * and its like all end, and the cases under way are told.
 */
#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int akgrun_main(int argc, char **argv); /* tools/akgrun.c's main */

enum { WORKERS_MOST = 256, NONE = -1 };
enum side { FIRST, SECOND, SIDES };
enum { OUTPUT, ERRORS, STREAMS };

struct test {
    char *folder, *name, **words;
    int count;
};

/* A process and its successors. What is atomic is told by the process, and outlives it. */
struct worker {
    atomic_int at;        /* the case under way, or NONE */
    atomic_int done;      /* of its two commands */
    atomic_long began;    /* when, in milliseconds */
    atomic_int next, end; /* cases that are still its own */
    atomic_int status[SIDES];
    pid_t process; /* 0: there is none any more */
    bool is_late;
    int files[SIDES][STREAMS];
};

struct shared {
    atomic_int next_group, passed;
    struct worker workers[WORKERS_MOST];
};

static struct shared *shared;
static struct test *tests;
static int test_count, *groups, group_count; /* where each begins, and the end behind the last */
static const char *device;
static bool is_twice; /* -t */
static int failed, processes;

static long now(void)
{
    struct timespec moment;

    clock_gettime(CLOCK_MONOTONIC, &moment);
    return (long)moment.tv_sec * 1000 + moment.tv_nsec / 1000000;
}

static void give_up(const char *what)
{
    perror(what);
    exit(2);
}

static void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (!memory)
        give_up("pairs");
    return memory;
}

/* All that an open file holds, from its beginning, for free(). */
static char *text_of(int file)
{
    struct stat information = {0};
    char *text;
    ssize_t length;

    fstat(file, &information);
    text = allocate((size_t)information.st_size + 1);
    length = pread(file, text, (size_t)information.st_size, 0);
    text[length > 0 ? length : 0] = '\0';
    return text;
}

/* ---- comparing ----------------------------------------------------------------------------------- */

static double epsilon_of(const char *dtype, size_t length)
{
    static const struct {
        const char *name;
        double epsilon;
    } rows[] = {{"float16", 0x1p-10}, {"bfloat16", 0x1p-7}, {"float32", 0x1p-23}, {"float64", 0x1p-52}};

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (strlen(rows[k].name) == length && strncmp(dtype, rows[k].name, length) == 0)
            return rows[k].epsilon;
    return 0;
}

static bool is_number(const char *text)
{
    text += *text == '-';
    return *text >= '0' && *text <= '9';
}

/* Whether two lines "name dtype[shape] = elements" are the same but for so many units of the dtype's machine
 * epsilon, times the larger of 1 and the magnitude. */
static bool lines_agree(const char *a, const char *b)
{
    static const char between[] = "[], ";
    const double units = 64;
    double epsilon = 0;

    if (strcmp(a, b) == 0)
        return true;
    for (int word = 1;; word++) {
        size_t length = strcspn(a, between), other = strcspn(b, between);
        bool same = length == other && memcmp(a, b, length) == 0;
        if (word == 2)
            epsilon = epsilon_of(a, length);
        if (!same && (word <= 2 || epsilon == 0 || !is_number(a) || !is_number(b)))
            return false;
        if (!same) {
            double x = strtod(a, NULL), y = strtod(b, NULL);
            if (!(fabs(x - y) <= units * epsilon * fmax(1, fabs(x))))
                return false;
        }
        a += length, b += other;
        if (!*a || !*b)
            return *a == *b && epsilon > 0; /* of other dtypes not even blanks may differ */
        a += strspn(a, between), b += strspn(b, between);
    }
}

/* Adds to `why`, which may be NULL. */
__attribute__((format(printf, 2, 3))) static void say(FILE *why, const char *format, ...)
{
    va_list arguments;

    if (!why)
        return;
    va_start(arguments, format);
    vfprintf(why, format, arguments);
    va_end(arguments);
}

/* What a command printed on standard error; changes the text. */
static void say_errors(FILE *why, char *text)
{
    for (int left = 40; text && *text && left; left--)
        say(why, "    standard error: %s\n", strsep(&text, "\n"));
}

/* Changes the texts. */
static bool outputs_agree(char *first, char *second, FILE *why)
{
    for (;;) {
        const char *expected = strsep(&first, "\n"), *is = strsep(&second, "\n");
        if (!expected && !is)
            return true;
        if (!expected || !is || !lines_agree(expected, is)) {
            say(why, "    expected %.2000s\n", expected ? expected : "no line more");
            say(why, "    is       %.2000s\n", is ? is : "no line more");
            return false;
        }
    }
}

/* Whether both folders have results of that name, of the same bits. */
static bool results_agree(const char *folder, const char *name)
{
    char path[4096], *text[SIDES] = {NULL};
    struct stat information[SIDES] = {0};

    for (int side = FIRST; side < SIDES; side++) {
        snprintf(path, sizeof path, "%s/%s/%s", folder, side == FIRST ? "first" : "second", name);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0 && fstat(file, &information[side]) == 0)
            text[side] = text_of(file);
        if (file >= 0)
            close(file);
    }
    bool same = text[FIRST] && text[SECOND] && information[FIRST].st_size == information[SECOND].st_size &&
                memcmp(text[FIRST], text[SECOND], (size_t)information[FIRST].st_size) == 0;
    free(text[FIRST]);
    free(text[SECOND]);
    return same;
}

static bool all_results_agree(const struct test *test, FILE *why)
{
    char path[4096];
    struct dirent *entry;
    bool good = true;
    int count = 0;

    snprintf(path, sizeof path, "%s/first", test->folder);
    DIR *open = opendir(path);
    while (open && (entry = readdir(open))) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (results_agree(test->folder, entry->d_name))
            continue;
        say(why, "    %s differs from one run to the next\n", entry->d_name);
        good = false;
    }
    if (open)
        closedir(open);
    if (!count)
        say(why, "    there are no results\n");
    return good && count;
}

/* Whether both commands of the case, which came to their ends, did the same. */
static bool sides_agree(const struct worker *worker, const struct test *test, FILE *why)
{
    int first = worker->status[FIRST], second = worker->status[SECOND];
    char *text[SIDES][STREAMS];
    bool good = first == second;

    for (int side = FIRST; side < SIDES; side++)
        for (int stream = OUTPUT; stream < STREAMS; stream++)
            text[side][stream] = text_of(worker->files[side][stream]);
    if (!good)
        say(why, "    exit status %d, should be %d\n", second, first);
    if (is_twice && (first || second))
        good = false;
    else if (is_twice)
        good &= all_results_agree(test, why);
    else
        good &= outputs_agree(text[FIRST][OUTPUT], text[SECOND][OUTPUT], why);
    if (strcmp(text[FIRST][ERRORS], text[SECOND][ERRORS]) != 0 || (is_twice && !good)) {
        say_errors(why, text[SECOND][ERRORS]);
        good = false;
    }
    for (int side = FIRST; side < SIDES; side++)
        for (int stream = OUTPUT; stream < STREAMS; stream++)
            free(text[side][stream]);
    return good;
}

/* ---- in a process of its own ------------------------------------------------------------------------ */

static void run(struct worker *worker, const struct test *test, enum side side)
{
    char **argv = allocate((size_t)(test->count + 8) * sizeof *argv);
    const char *before = getenv("AKG_CACHE");
    char *cache = before ? strdup(before) : NULL;
    int argc = 0;

    argv[argc++] = (char *)"akgrun";
    for (int k = 0; k < test->count; k++)
        argv[argc++] = test->words[k];
    argv[argc++] = (char *)"--device";
    argv[argc++] = (char *)(is_twice || side == SECOND ? device : "cpu");
    if (is_twice) {
        argv[argc++] = (char *)"--strict";
        argv[argc++] = (char *)"--out";
        argv[argc++] = (char *)(side == FIRST ? "first" : "second");
    }
    for (int stream = OUTPUT; stream < STREAMS; stream++)
        dup2(worker->files[side][stream], STDOUT_FILENO + stream);
    worker->status[side] = akgrun_main(argc, argv);
    fflush(stdout);
    clearerr(stdout);
    /* --no-cache turns the cache off for the rest of its process, which is not its own here */
    if (cache)
        setenv("AKG_CACHE", cache, 1);
    else
        unsetenv("AKG_CACHE");
    free(cache);
    free(argv);
}

/* The number of the next case, or NONE. */
static int take_case(struct worker *worker)
{
    if (worker->next == worker->end) {
        int group = atomic_fetch_add(&shared->next_group, 1);
        if (group >= group_count)
            return NONE;
        worker->end = groups[group + 1];
        worker->next = groups[group];
    }
    return worker->next++;
}

static void empty_files(const struct worker *worker)
{
    for (int side = FIRST; side < SIDES; side++)
        for (int stream = OUTPUT; stream < STREAMS; stream++)
            if (ftruncate(worker->files[side][stream], 0) != 0 ||
                lseek(worker->files[side][stream], 0, SEEK_SET) != 0)
                abort();
}

/* The exit status of the process: 1 behind a case that failed. */
static int work(struct worker *worker)
{
    for (int at; (at = take_case(worker)) != NONE;) {
        const struct test *test = &tests[at];
        empty_files(worker);
        worker->done = 0;
        worker->began = now();
        worker->at = at;
        if (chdir(test->folder) != 0)
            abort();
        for (int side = FIRST; side < SIDES; side++) {
            run(worker, test, side);
            worker->done = side + 1;
        }
        if (!sides_agree(worker, test, NULL))
            return 1;
        atomic_fetch_add(&shared->passed, 1);
        worker->at = NONE;
    }
    return 0;
}

/* ---- the processes ---------------------------------------------------------------------------------- */

static void start(struct worker *worker, const sigset_t *usual)
{
    pid_t parent = getpid();

    worker->at = NONE;
    worker->is_late = false;
    fflush(NULL);
    pid_t process = fork();
    if (process < 0)
        give_up("fork");
    if (process == 0) {
        setpgid(0, 0); /* with the compilers that it starts; and a signal to our group is for us to tell of */
        sigprocmask(SIG_SETMASK, usual, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        exit(work(worker));
    }
    setpgid(process, process); /* whoever of the two comes first */
    worker->process = process;
    processes++;
}

/* The command as words for a shell. */
static void name_case(const char *what, const struct test *test)
{
    printf("%s: %s: akgrun", what, test->name);
    for (int k = 0; k < test->count; k++) {
        bool plain = strspn(test->words[k], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                            "_./=,:+-") == strlen(test->words[k]);
        printf(plain && *test->words[k] ? " %s" : " '%s'", test->words[k]);
    }
    putchar('\n');
}

/* How the process ended that did not come to the end of what it was doing. */
static void say_end(const struct worker *worker, int status)
{
    char *errors = text_of(worker->files[worker->done == 0 ? FIRST : SECOND][ERRORS]);

    if (worker->is_late)
        printf("    it did not end in time");
    else if (WIFSIGNALED(status))
        printf("    signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        printf("    the process ended with exit status %d", WEXITSTATUS(status));
    if (worker->at != NONE)
        printf(worker->done == SIDES ? " behind it" : ", --device %s",
               is_twice || worker->done ? device : "cpu");
    putchar('\n');
    say_errors(stdout, errors);
    free(errors);
}

/* The process is there no more. */
static void conclude(struct worker *worker, int status)
{
    worker->process = 0;
    if (worker->at != NONE) {
        failed++;
        name_case("FAILED", &tests[worker->at]);
        if (worker->done == SIDES && WIFEXITED(status) && WEXITSTATUS(status) == 1)
            sides_agree(worker, &tests[worker->at], stdout);
        else
            say_end(worker, status);
    } else if (status != 0) {
        failed++;
        puts("FAILED: the end of a process");
        say_end(worker, status);
    }
    fflush(stdout);
}

/* Whether there is something left for it. One that ended by itself between two cases has no successor. */
static bool has_more(const struct worker *worker)
{
    return worker->at != NONE && (worker->next < worker->end || shared->next_group < group_count);
}

static void stop_late(long limit)
{
    for (int k = 0; k < WORKERS_MOST; k++) {
        struct worker *worker = &shared->workers[k];
        if (worker->process && worker->at != NONE && !worker->is_late && now() - worker->began > limit) {
            worker->is_late = true;
            kill(-worker->process, SIGKILL);
        }
    }
}

static void stop_all(void)
{
    for (int k = 0; k < WORKERS_MOST; k++) {
        struct worker *worker = &shared->workers[k];
        if (!worker->process)
            continue;
        kill(-worker->process, SIGKILL);
        waitpid(worker->process, NULL, 0);
        if (worker->at != NONE)
            name_case("CUT OFF", &tests[worker->at]);
    }
}

/* All cases; false: a signal ended it before. */
static bool supervise(int count, long limit)
{
    sigset_t usual, awaited;
    int running = count, status;

    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, SIGHUP);
    sigaddset(&awaited, SIGINT);
    sigaddset(&awaited, SIGTERM);
    sigprocmask(SIG_BLOCK, &awaited, &usual);
    for (int k = 0; k < count; k++)
        start(&shared->workers[k], &usual);
    while (running) {
        int signal = sigtimedwait(&awaited, NULL, &(struct timespec){.tv_nsec = 100000000});
        if (signal > 0 && signal != SIGCHLD) {
            stop_all();
            return false;
        }
        for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
            struct worker *worker = shared->workers, *behind = worker + count;
            while (worker < behind && worker->process != ended)
                worker++;
            if (worker == behind)
                continue; /* a child of whoever became this program */
            conclude(worker, status);
            if (has_more(worker))
                start(worker, &usual);
            else
                running--;
        }
        stop_late(limit);
    }
    return true;
}

/* ---- set-up ------------------------------------------------------------------------------------------- */

/* Splits the line, which the case keeps; false: parts are missing. */
static bool read_case(char *line, struct test *test)
{
    char **parts = allocate((strlen(line) / 2 + 2) * sizeof *parts), *end;
    int count = 0;

    for (; (end = strchr(line, 31)); line = end + 1) {
        *end = '\0';
        parts[count++] = line;
    }
    if (count < 3)
        return false;
    *test = (struct test){.folder = parts[0], .name = parts[1], .words = parts + 2, .count = count - 2};
    return true;
}

static void read_cases(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0, room = 0;

    if (!file)
        give_up(path);
    for (; getline(&line, &size, file) > 0; line = NULL, size = 0) {
        if ((size_t)test_count == room) {
            room = room ? 2 * room : 64;
            tests = realloc(tests, room * sizeof *tests);
            if (!tests)
                give_up("pairs");
        }
        if (!read_case(line, &tests[test_count++])) {
            fprintf(stderr, "pairs: %s: line %d is no case\n", path, test_count);
            exit(2);
        }
    }
    free(line);
    fclose(file);
    groups = allocate(((size_t)test_count + 1) * sizeof *groups);
    for (int k = 0; k < test_count; k++)
        if (k == 0 || strcmp(tests[k].folder, tests[k - 1].folder) != 0)
            groups[group_count++] = k;
    groups[group_count] = test_count;
}

static void open_files(struct worker *worker)
{
    for (int side = FIRST; side < SIDES; side++)
        for (int stream = OUTPUT; stream < STREAMS; stream++)
            if ((worker->files[side][stream] = memfd_create("pairs", MFD_CLOEXEC)) < 0)
                give_up("pairs");
}

static bool read_options(int argc, char **argv, double *seconds)
{
    for (int option; (option = getopt(argc, argv, "ts:")) != -1;) {
        if (option == 't')
            is_twice = true;
        else if (option == 's')
            *seconds = strtod(optarg, NULL);
        else
            return false;
    }
    return argc == optind + 3 && *seconds > 0;
}

int main(int argc, char **argv)
{
    double seconds = 120;

    if (!read_options(argc, argv, &seconds)) {
        fputs("usage: pairs [-t] [-s SECONDS] DEVICE WORKERS FILE\n", stderr);
        return 2;
    }
    device = argv[optind];
    read_cases(argv[optind + 2]);
    int count = atoi(argv[optind + 1]), null = open("/dev/null", O_RDONLY);
    count = count < 1 ? 1 : count > WORKERS_MOST ? WORKERS_MOST : count;
    count = count > group_count ? group_count : count;
    dup2(null, STDIN_FILENO);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        give_up("pairs");
    for (int k = 0; k < count; k++)
        open_files(&shared->workers[k]);
    bool complete = supervise(count, (long)(seconds * 1000));
    int left = test_count - shared->passed - failed;
    if (left > 0)
        printf("%s: %d cases did not come to their end\n", complete ? "FAILED" : "CUT OFF", left);
    if (left > 0 && complete)
        failed += left; /* processes that ended between two cases had no successors */
    printf("processes: %d\n%d passed, %d failed\n", processes, shared->passed, failed);
    return failed > 0 || !complete;
}

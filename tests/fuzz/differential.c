/*
 * differential.c: the program that runs generated and mutated programs through the oracle.
 *
 *   differential                       a short run, the same each time
 *   differential generate FIRST COUNT  generated programs of these seeds
 *   differential mutate FIRST COUNT [FILE...]   mutants of generated programs and of the files
 *   differential --certify EVERY generate|mutate ...   with the certificates of every so many of them put to
 *                                      the test (of all, if this is not said)
 *   differential print SEED            the program of a seed
 *   differential mutant NUMBER [FILE...]   a mutant, of the same files as above
 *   differential check FILE...         the files as they are
 *   differential reduce FILE           the smallest text that has the fault of the file
 *
 * How far it is, and where to go on, is told on standard error. Exit status 1 when something was found; the
 * program that shows it, cut down, is on standard output.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "generate.h"
#include "mutate.h"
#include "reduce.h"

/* Cutting down a program that hangs takes seconds a try. */
enum {
    DIFFERENTIAL_STRETCH = 1000, /* programs that one process checks */
    DIFFERENTIAL_MOST_FAULTS = 8,
    DIFFERENTIAL_TRIES = 4000,
    DIFFERENTIAL_HANG_TRIES = 60
};

struct differential {
    struct child_shared *shared;
    struct text *files; /* that are mutated beside the generated programs */
    int file_count;
    int faults;
    long certify; /* the certificates of every so many programs are put to the test */
    bool quiet;
};

static bool differential_read(const char *path, struct text *text)
{
    FILE *file = fopen(path, "rb");
    char bytes[4096];
    size_t length;

    if (!file) {
        perror(path);
        return false;
    }
    while ((length = fread(bytes, 1, sizeof bytes, file)) > 0)
        text_append(text, bytes, length);
    fclose(file);
    return true;
}

/* ---- sources of programs ----------------------------------------------------------------------- */

static bool differential_generated(void *context, long number, struct text *text,
                                   struct oracle_request *request)
{
    const struct differential *d = context;

    generate_program(text, (uint64_t)number);
    request->must_compile = true;
    request->certify = number % d->certify == 0;
    return true;
}

static bool differential_mutated(void *context, long number, struct text *text,
                                 struct oracle_request *request)
{
    struct differential *d = context;
    struct random random = random_seeded((uint64_t)number, 4);
    struct text original;

    request->certify = number % d->certify == 0;
    text_init(&original);
    if (d->file_count && random_chance(&random, 60)) {
        const struct text *file = &d->files[random_below(&random, d->file_count)];
        text_append(&original, file->data ? file->data : "", file->length);
    } else {
        generate_program(&original, (uint64_t)number);
    }
    mutate_program(text, original.data ? original.data : "", original.length, &random);
    text_free(&original);
    return true;
}

static bool differential_file(void *context, long number, struct text *text, struct oracle_request *request)
{
    struct differential *d = context;

    request->certify = true;
    text_append(text, d->files[number].data ? d->files[number].data : "", d->files[number].length);
    return true;
}

/* ---- faults ---------------------------------------------------------------------------------------- */

struct differential_fault {
    struct child_shared *shared;
    struct oracle_request request;
    enum oracle_fault fault;
    char key[128]; /* first line of the detail */
};

static void differential_key(const struct child_shared *shared, char *key, size_t size)
{
    snprintf(key, size, "%.*s", (int)strcspn(shared->detail, "\n"), shared->detail);
}

static bool differential_still(void *context, const char *text, size_t length)
{
    struct differential_fault *fault = context;
    struct oracle_request request = fault->request;
    char key[sizeof fault->key];

    request.text = text;
    request.length = length;
    if (child_check_one(fault->shared, &request) != fault->fault)
        return false;
    differential_key(fault->shared, key, sizeof key);
    return fault->fault == ORACLE_INTERNAL || strcmp(key, fault->key) == 0;
}

/* Prints what is wrong with a program and the least of it that shows it. */
static void differential_report(struct differential *d, struct text *text,
                                const struct oracle_request *request)
{
    struct differential_fault fault = {.shared = d->shared, .request = *request, .fault = d->shared->fault};
    char detail[CHILD_DETAIL];

    differential_key(d->shared, fault.key, sizeof fault.key);
    snprintf(detail, sizeof detail, "%s", d->shared->detail);
    printf("---- %s\n", detail);
    fflush(stdout);
    reduce_program(text, differential_still, &fault,
                   fault.fault == ORACLE_HANG ? DIFFERENTIAL_HANG_TRIES : DIFFERENTIAL_TRIES);
    printf("---- reduced:\n%.*s\n", (int)text->length, text->data ? text->data : "");
    fflush(stdout);
}

static void differential_progress(const struct differential *d, long first, long next, long end)
{
    if (!d->quiet)
        fprintf(stderr, "%ld of %ld programs, %d faults; next: %ld %ld\n", next - first, end - first,
                d->faults, next, end - next);
}

static void differential_run(struct differential *d, long first, long count, child_source source)
{
    long end = first + count, next = first;

    while (next < end && d->faults < DIFFERENTIAL_MOST_FAULTS) {
        long stop = end - next > DIFFERENTIAL_STRETCH ? next + DIFFERENTIAL_STRETCH : end;
        struct oracle_request request = {0};
        struct text text;
        if (!child_check(d->shared, next, stop, source, d)) {
            next = stop;
            differential_progress(d, first, next, end);
            continue;
        }
        long number = d->shared->current;
        text_init(&text);
        source(d, number, &text, &request);
        printf("==== program %ld\n", number);
        differential_report(d, &text, &request);
        text_free(&text);
        d->faults++;
        next = number + 1;
    }
}

static void differential_summary(const struct differential *d, const char *what)
{
    const struct oracle_counts *counts = &d->shared->counts;

    printf("%s: %ld programs, %ld compiled, %ld calls: %ld ran, %ld stopped, %ld refused, %ld too long; "
           "accesses: %ld "
           "proved, %ld by precondition, %ld per element; %d faults\n",
           what, counts->programs, counts->compiled, counts->calls, counts->ran, counts->trapped,
           counts->refused, counts->slow, counts->proved, counts->preconditions, counts->elements, d->faults);
    memset(&d->shared->counts, 0, sizeof d->shared->counts);
}

/* ---- the command line ------------------------------------------------------------------------------- */

static void differential_add_file(struct differential *d, const char *path)
{
    struct text *files = realloc(d->files, sizeof *files * (size_t)(d->file_count + 1));

    if (!files)
        return;
    d->files = files;
    text_init(&files[d->file_count]);
    if (differential_read(path, &files[d->file_count]))
        d->file_count++;
}

static void differential_add_files(struct differential *d)
{
    static const char *const patterns[] = {"tests/kernels/*.akg", "tests/errors/*.akg",
                                           "tests/../examples/*.akg"};

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        if (glob(patterns[i], 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc; k++)
                differential_add_file(d, found.gl_pathv[k]);
            globfree(&found);
        }
    }
}

static void differential_short(struct differential *d)
{
    long share = child_is_sanitized() ? 8 : 1, programs;

    d->quiet = true;
    d->certify = 6;
    differential_add_files(d);
    differential_run(d, 1, 400 / share, differential_generated);
    programs = d->shared->counts.programs;
    differential_summary(d, "generated");
    differential_run(d, 1, 800 / share, differential_mutated);
    programs += d->shared->counts.programs;
    differential_summary(d, "mutated");
    printf("%ld passed, %d failed\n", programs - d->faults, d->faults);
}

static void differential_reduce(struct differential *d)
{
    struct oracle_request request = {0};

    for (int i = 0; i < d->file_count; i++) {
        request.text = d->files[i].data ? d->files[i].data : "";
        request.length = d->files[i].length;
        request.must_compile = strstr(request.text, "# seed ") == request.text;
        request.certify = true;
        d->faults += child_check_one(d->shared, &request) != ORACLE_RIGHT;
        if (d->shared->fault)
            differential_report(d, &d->files[i], &request);
    }
}

static int differential_usage(void)
{
    fprintf(stderr, "usage: differential [[--certify EVERY] generate FIRST COUNT | mutate FIRST COUNT "
                    "[FILE...] | print SEED | "
                    "mutant NUMBER [FILE...] | "
                    "check FILE... | reduce FILE]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct differential differential = {.shared = child_share(), .certify = 1}, *d = &differential;
    const char *command;
    long first, count;

    if (argc > 2 && strcmp(argv[1], "--certify") == 0) {
        d->certify = atol(argv[2]) > 0 ? atol(argv[2]) : 1;
        argv += 2;
        argc -= 2;
    }
    command = argc > 1 ? argv[1] : "";
    first = argc > 2 ? atol(argv[2]) : 0;
    count = argc > 3 ? atol(argv[3]) : 0;
    if (!d->shared)
        return 1;
    if (argc == 1) {
        differential_short(d);
    } else if (strcmp(command, "generate") == 0 && argc == 4) {
        differential_run(d, first, count, differential_generated);
        differential_summary(d, "generated");
    } else if (strcmp(command, "mutate") == 0 && argc >= 4) {
        for (int i = 4; i < argc; i++)
            differential_add_file(d, argv[i]);
        if (argc == 4)
            differential_add_files(d);
        differential_run(d, first, count, differential_mutated);
        differential_summary(d, "mutated");
    } else if ((strcmp(command, "print") == 0 && argc == 3) ||
               (strcmp(command, "mutant") == 0 && argc >= 3)) {
        struct oracle_request request;
        struct text text;
        text_init(&text);
        for (int i = 3; i < argc; i++)
            differential_add_file(d, argv[i]);
        if (command[0] == 'm')
            differential_mutated(d, first, &text, &request);
        else
            generate_program(&text, (uint64_t)first);
        fputs(text.data, stdout);
        text_free(&text);
    } else if ((strcmp(command, "check") == 0 || strcmp(command, "reduce") == 0) && argc > 2) {
        for (int i = 2; i < argc; i++)
            differential_add_file(d, argv[i]);
        if (command[0] == 'r') {
            differential_reduce(d);
        } else {
            differential_run(d, 0, d->file_count, differential_file);
            differential_summary(d, "files");
        }
    } else {
        return differential_usage();
    }
    for (int i = 0; i < d->file_count; i++)
        text_free(&d->files[i]);
    free(d->files);
    return d->faults != 0;
}

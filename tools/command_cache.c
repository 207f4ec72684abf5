/*
 * command_cache.c: `akgrun cache ls|explain|verify|gc|clear`: the code that is kept on disk for the next
 * process.
 */
#include "akgrun.h"

#include "arguments.h"
#include "program.h"
#include "report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static uint64_t total_bytes(const akg_cache *cache)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < akg_cache_entry_count(cache); i++)
        bytes += akg_cache_entry_at(cache, i)->bytes;
    return bytes;
}

/* ---- ls ------------------------------------------------------------------------- */

static void print_member(const char *name, const char *value)
{
    printf(", \"%s\": ", name);
    report_json_string(stdout, value);
}

static void print_entry_json(const akg_cache_entry *entry)
{
    printf("{\"name\": ");
    report_json_string(stdout, entry->name);
    print_member("kernel", entry->kernel);
    print_member("tier", entry->tier);
    print_member("target", entry->target);
    print_member("signature", entry->signature);
    print_member("build", entry->build);
    if (entry->problem)
        print_member("problem", entry->problem);
    printf(", \"bytes\": %" PRIu64 ", \"used\": %" PRId64 "}", entry->bytes, entry->used);
}

static void print_entry(const akg_cache_entry *entry)
{
    char day[24] = "";
    time_t used = (time_t)entry->used;
    struct tm parts;
    if (gmtime_r(&used, &parts))
        strftime(day, sizeof day, "%Y-%m-%dT%H:%MZ", &parts);
    if (entry->problem)
        printf("%s  %8" PRIu64 " bytes  %s  damaged: %s\n", day, entry->bytes, entry->name, entry->problem);
    else
        printf("%s  %8" PRIu64 " bytes  %s  %s  %s  (%s)\n", day, entry->bytes, entry->tier, entry->target,
               entry->kernel, entry->signature);
}

static bool list(const struct options *options, akg_cache *cache, struct problem *problem)
{
    const char *directory = akg_cache_directory(cache);
    size_t count = akg_cache_entry_count(cache);
    if (options->json) {
        printf("{\"directory\": ");
        report_json_string(stdout, directory ? directory : "");
        printf(", \"limit\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"entries\": [", akg_cache_limit(cache),
               total_bytes(cache));
    }
    for (size_t i = count; i-- > 0;) { /* what was used last comes first */
        if (!options->json)
            print_entry(akg_cache_entry_at(cache, i));
        else
            print_entry_json(akg_cache_entry_at(cache, i));
        if (options->json && i)
            printf(",\n ");
    }
    if (options->json)
        printf("]}\n");
    else if (directory)
        printf("%s: %zu %s, %" PRIu64 " of %" PRIu64 " KiB\n", directory, count,
               count == 1 ? "entry" : "entries", (total_bytes(cache) + 1023) / 1024,
               akg_cache_limit(cache) / 1024);
    else
        printf("the cache is off\n");
    return report_flush(problem);
}

/* ---- verify, gc, clear -------------------------------------------------------------- */

static bool verify(const struct options *options, akg_cache *cache, struct problem *problem)
{
    size_t count = akg_cache_entry_count(cache), damaged = 0;
    if (options->json)
        printf("{\"damaged\": [");
    for (size_t i = 0; i < count; i++) {
        const akg_cache_entry *entry = akg_cache_entry_at(cache, i);
        if (!entry->problem)
            continue;
        if (options->json) {
            printf("%s", damaged ? ", " : "");
            print_entry_json(entry);
        } else {
            printf("%s: %s\n", entry->name, entry->problem);
        }
        damaged++;
    }
    if (options->json)
        printf("], \"entries\": %zu}\n", count);
    else if (!damaged)
        printf("%zu %s, all sound\n", count, count == 1 ? "entry" : "entries");
    if (!report_flush(problem) || !damaged)
        return !damaged;
    if (options->json)
        return true; /* the report says it */
    problem_set(problem, AKG_ERROR_IO, "%zu of %zu entries are damaged", damaged, count);
    return problem_help(problem, "'akgrun cache gc' removes them; they are made anew when they are needed");
}

static bool remove_files(const struct options *options, akg_cache *cache, akg_cache_removal removal,
                         struct problem *problem)
{
    uint64_t removed = 0;
    akg_status status = akg_cache_remove(cache, removal, &removed);
    if (status != AKG_OK)
        return problem_library(problem, status, NULL);
    if (options->json)
        printf("{\"removed\": %" PRIu64 "}\n", removed);
    else
        printf("%" PRIu64 " file%s removed\n", removed, removed == 1 ? "" : "s");
    return report_flush(problem);
}

static bool collect(const struct options *options, akg_cache *cache, struct problem *problem)
{
    return remove_files(options, cache, AKG_CACHE_REFUSE, problem);
}

static bool clear(const struct options *options, akg_cache *cache, struct problem *problem)
{
    return remove_files(options, cache, AKG_CACHE_ALL, problem);
}

/* ---- explain ------------------------------------------------------------------------- */

static bool explain_call(const struct options *options, struct program *program, akg_kernel *kernel,
                         const struct arguments *arguments, struct problem *problem)
{
    jit_options settings = {
        .strict = options->strict, .target = options->target, .any_shape = options->any_shape};
    akg_diagnostics *diagnostics = NULL;
    char *text = NULL;
    akg_status status = akg_cache_explain(
        &program->source, &settings, akg_kernel_name(kernel), arguments->items, arguments->count,
        options->trust_indices, options->json ? AKG_FORMAT_JSON : AKG_FORMAT_TEXT, &text, &diagnostics);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    akg_diagnostics_free(diagnostics);
    printf("%s%s", text, options->json ? "\n" : "");
    akg_free(text);
    return report_flush(problem);
}

static bool explain(const struct options *options, struct problem *problem)
{
    struct program program = {0};
    struct arguments arguments = {0};
    akg_kernel *kernel = NULL;
    bool good =
        program_open(options, &program, problem) && program_compile(options, &program, problem) &&
        program_kernel(&program, &kernel, problem) &&
        arguments_bind(kernel, program.values, program.value_count, options->seed, &arguments, problem) &&
        explain_call(options, &program, kernel, &arguments, problem);
    arguments_free(&arguments);
    program_close(&program, problem);
    return good;
}

/* ---- the subcommand ------------------------------------------------------------------ */

struct action_row {
    const char *name;
    bool (*run)(const struct options *options, akg_cache *cache, struct problem *problem);
};

static const struct action_row actions[] = {
    {"ls", list}, {"verify", verify}, {"gc", collect}, {"clear", clear}};

static bool unknown_action(const char *word, struct problem *problem)
{
    struct nearest nearest = {.word = word};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        nearest_consider(&nearest, actions[i].name);
    nearest_consider(&nearest, "explain");
    problem_set(problem, AKG_ERROR_USAGE, "cache cannot '%.100s'", word);
    if (nearest.best)
        return problem_help(problem, "did you mean 'cache %s'?", nearest.best);
    return problem_help(problem, "it can ls, explain, verify, gc and clear");
}

static bool perform(const struct options *options, const struct action_row *action, struct problem *problem)
{
    akg_cache *cache = NULL;
    akg_diagnostics *diagnostics = NULL;
    if (options->word_count > 1)
        return problem_set(problem, AKG_ERROR_USAGE, "unexpected '%.100s'", options->words[1]);
    akg_status status = akg_cache_open(NULL, &cache, &diagnostics);
    if (status != AKG_OK)
        return problem_library(problem, status, diagnostics);
    bool good = action->run(options, cache, problem);
    akg_cache_close(cache);
    return good;
}

bool command_cache(const struct options *options, struct problem *problem)
{
    if (options->word_count == 0) {
        problem_set(problem, AKG_ERROR_USAGE, "cache needs to be told what to do");
        return problem_help(problem, "it can ls, explain, verify, gc and clear");
    }
    if (strcmp(options->words[0], "explain") == 0) {
        struct options shifted = *options;
        shifted.words++;
        shifted.word_count--;
        return explain(&shifted, problem);
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(options->words[0], actions[i].name) == 0)
            return perform(options, &actions[i], problem);
    return unknown_action(options->words[0], problem);
}

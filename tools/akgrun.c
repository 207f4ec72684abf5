/*
 * akgrun.c: the command line program. Parses argv, finds the subcommand in a
 * table, and turns its problem, if any, into messages and the exit status:
 *
 *   0 done   1 the program is wrong   2 the command line is wrong, or a file
 *   cannot be read or written   3 the call is wrong   4 an internal error, no memory, or a device that fails
 */
#include "akgrun.h"

#include "arguments.h"
#include "report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which subcommand ------------------------------------------------------------ */

/* A first word that is no subcommand is the program of `run`, unless it can be no file either. */
static bool check_is_file(const char *word, struct problem *problem)
{
    if (strcmp(word, "-") == 0 || strpbrk(word, "./:") || access(word, F_OK) == 0)
        return true;
    struct nearest nearest = {.word = word};
    for (int id = 0; id < COMMAND_COUNT; id++)
        nearest_consider(&nearest, command_table[id].name);
    problem_set(problem, AKG_ERROR_USAGE, "'%.100s' is neither a subcommand nor a file", word);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(
        problem,
        "the subcommands are run, grad, gradcheck, ops, devices, check, emit, explain, fmt, cache and bench");
}

/* Takes the subcommand off the words. */
static bool choose_command(struct options *options, enum command_id *command, struct problem *problem)
{
    *command = COMMAND_RUN;
    if (options->word_count == 0 || options->literal_from == 0)
        return true;
    enum command_id found = command_find(options->words[0]);
    if (found == COMMAND_COUNT)
        return options->load_count || check_is_file(options->words[0], problem);
    *command = found;
    options->word_count--;
    memmove(options->words, options->words + 1, (size_t)options->word_count * sizeof *options->words);
    return true;
}

/* `akgrun help COMMAND` is `akgrun COMMAND --help`. */
static void take_help(struct options *options)
{
    if (options->word_count == 0 || options->literal_from == 0 || strcmp(options->words[0], "help") != 0)
        return;
    options->help = true;
    options->word_count--;
    memmove(options->words, options->words + 1, (size_t)options->word_count * sizeof *options->words);
}

static bool print_and_flush_help(enum command_id command, bool overview, struct problem *problem)
{
    if (overview)
        commands_print_overview(stdout);
    else
        commands_print_help(command);
    return report_flush(problem);
}

static bool perform(int argc, char **argv, struct options *options, struct problem *problem)
{
    enum command_id command;
    if (!options_parse(argc, argv, options, problem))
        return false;
    take_help(options);
    bool no_words = options->word_count == 0;
    if (options->version) {
        printf("akgrun %s\n", akg_version());
        return report_flush(problem);
    }
    if (!choose_command(options, &command, problem))
        return false;
    if (options->help)
        return print_and_flush_help(command, no_words, problem);
    akg_set_threads(options->threads);
    if (no_words && argc == 1) {
        commands_print_overview(stderr);
        return problem_set(problem, AKG_ERROR_USAGE, "no program is named");
    }
    if (options->no_cache && setenv("AKG_CACHE", "off", 1) != 0)
        return problem_memory(problem);
    if (!options_check(options, command, command_table[command].name, problem) ||
        !command_table[command].run(options, problem))
        return false;
    report_done(options, problem);
    return true;
}

/* A file opened while standard output is closed would become standard output, and be written to. What stands
 * in for a closed stream is open the wrong way round, so that using it still fails. */
static void reserve_standard_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
            return;
}

int main(int argc, char **argv)
{
    struct options options;
    struct problem problem = {0};
    int status = 0;
    reserve_standard_streams();
    if (!perform(argc, argv, &options, &problem))
        status = report_problem(&options, &problem, argv);
    problem_free(&problem);
    options_free(&options);
    /* under --json the report of a problem is itself on standard output */
    if (!report_flush(&problem) && status == 0)
        status = report_problem(&options, &problem, argv);
    return status;
}

/*
 * akgrun.h: the command line as a value, and the subcommands.
 *
 * akgrun.c turns argv into struct options and calls one row of the table of
 * subcommands. A subcommand fills a problem and yields false, or prints its
 * report and yields true; it never leaves through anything but return.
 */
#ifndef TOOLS_AKGRUN_H
#define TOOLS_AKGRUN_H

#include "support.h"

#include <stdio.h>

enum command_id {
    COMMAND_RUN,
    COMMAND_GRAD,
    COMMAND_GRADCHECK,
    COMMAND_OPS,
    COMMAND_DEVICES,
    COMMAND_CHECK,
    COMMAND_EMIT,
    COMMAND_EXPLAIN,
    COMMAND_FMT,
    COMMAND_CACHE,
    COMMAND_BENCH,
    COMMAND_COUNT
};

struct options {
    const char *out; /* --out: directory, or NULL */
    jit_backend backend;
    akg_device device; /* --device; the CPU where it is not given */
    uint64_t seed;
    const char *wrt; /* --wrt: names with commas, or NULL */
    char **douts;    /* --dout NAME=VALUE, in their order */
    size_t dout_count;
    char **loads; /* --load FILE, in their order */
    size_t load_count;
    double tolerance; /* --tolerance, or 0 */
    bool value;       /* --value */
    bool no_cache;    /* --no-cache */
    jit_tier tier;    /* --tier */
    bool time, json, check, fix, explain_proof, trust_indices, warnings_are_errors, strict, any_shape, tf32;
    const char *target;    /* --target, or NULL */
    jit_warning *warnings; /* -Wno-NAME and -Werror=NAME, in their order */
    size_t warning_count;
    akg_format diagnostics; /* --diagnostics: TEXT (coloured on a terminal), JSON or SARIF */
    const char *stage;      /* --stage, or NULL */
    const char *dump_ir;    /* --dump-ir: the name of a pass, "all", or NULL */
    /* of bench */
    const char *vs, *json_file, *report, *emit; /* or NULL */
    int threads;                                /* or 0 */
    double seconds;                             /* or 0 */
    bool compare;
    bool help, version;
    uint64_t given; /* bit per row of the option table: which were named */

    /* What is left of argv: words that are no options, the subcommand taken off. */
    char **words;
    int word_count;
    int literal_from; /* words from this number on stood behind "--" */
};

/* A subcommand. */
struct command_row {
    const char *name;
    bool (*run)(const struct options *options, struct problem *problem);
    const char *usage, *summary;
    const char *help; /* what --help says beyond that */
};

extern const struct command_row command_table[COMMAND_COUNT];

/* The subcommand of that name, or COMMAND_COUNT. */
enum command_id command_find(const char *word);

void commands_print_overview(FILE *stream);
void commands_print_help(enum command_id command);

/* Fills *options from argv; options->words is for options_free. */
bool options_parse(int argc, char **argv, struct options *options, struct problem *problem);
/* False when an option was given that the subcommand does not take. */
bool options_check(const struct options *options, enum command_id command, const char *command_name,
                   struct problem *problem);
/* The lines of --help about the options of one subcommand, on standard output. */
void options_print_help(enum command_id command);
void options_free(struct options *options);

bool command_run(const struct options *options, struct problem *problem);
bool command_grad(const struct options *options, struct problem *problem);
bool command_gradcheck(const struct options *options, struct problem *problem);
bool command_ops(const struct options *options, struct problem *problem);
bool command_devices(const struct options *options, struct problem *problem);
bool command_check(const struct options *options, struct problem *problem);
bool command_emit(const struct options *options, struct problem *problem);
bool command_explain(const struct options *options, struct problem *problem);
bool command_fmt(const struct options *options, struct problem *problem);
bool command_cache(const struct options *options, struct problem *problem);
bool command_bench(const struct options *options, struct problem *problem);

#endif

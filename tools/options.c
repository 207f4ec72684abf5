/*
 * options.c: argv to struct options, by one table of all options.
 *
 * Options may stand anywhere before "--". Which subcommand takes which option is
 * a column of the table, so that the message for a misplaced one, the help
 * pages and the parser cannot disagree.
 */
#include "akgrun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
    OPTION_OUT,
    OPTION_WRT,
    OPTION_DOUT,
    OPTION_LOAD,
    OPTION_TOLERANCE,
    OPTION_VALUE,
    OPTION_BACKEND,
    OPTION_DEVICE,
    OPTION_SEED,
    OPTION_TIME,
    OPTION_TRUST_INDICES,
    OPTION_STRICT,
    OPTION_ANY_SHAPE,
    OPTION_TF32,
    OPTION_TARGET,
    OPTION_NO_CACHE,
    OPTION_TIER,
    OPTION_STAGE,
    OPTION_DUMP_IR,
    OPTION_CHECK,
    OPTION_FIX,
    OPTION_EXPLAIN_PROOF,
    OPTION_WERROR,
    OPTION_WNO,
    OPTION_DIAGNOSTICS,
    OPTION_VS,
    OPTION_JSON_FILE,
    OPTION_REPORT,
    OPTION_THREADS,
    OPTION_SECONDS,
    OPTION_EMIT,
    OPTION_COMPARE,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_HELP_SHORT,
    OPTION_VERSION,
    OPTION_COUNT
};

#define FOR(command) (1u << COMMAND_##command)
#define FOR_ALL ((1u << COMMAND_COUNT) - 1)

enum value_form {
    VALUE_NONE,
    VALUE_APART,    /* --name VALUE or --name=VALUE */
    VALUE_OPTIONAL, /* -name or -name=VALUE */
    VALUE_ATTACHED  /* -nameVALUE */
};

struct option_row {
    const char *name;
    enum value_form form;
    const char *value; /* how the help calls it */
    unsigned commands; /* which subcommands take the option */
    const char *help;
};

#define NO_VALUE VALUE_NONE, NULL
#define APART(value) VALUE_APART, value

static const struct option_row option_table[OPTION_COUNT] = {
    [OPTION_OUT] = {"--out", APART("DIR"), FOR(RUN) | FOR(GRAD),
                    "write every tensor as DIR/NAME.npy; nothing at all if anything fails"},
    [OPTION_WRT] = {"--wrt", APART("NAMES"), FOR(GRAD) | FOR(GRADCHECK),
                    "with respect to these inputs, x,y; without it, to all of float dtypes"},
    [OPTION_DOUT] = {"--dout", APART("NAME=VALUE"), FOR(GRAD),
                     "the gradient of an output; ones where it is not given"},
    [OPTION_LOAD] = {"--load", APART("FILE"), FOR(RUN) | FOR(GRAD) | FOR(GRADCHECK) | FOR(OPS),
                     "a library of operators; the first word then names one of them"},
    [OPTION_TOLERANCE] =
        {"--tolerance", APART("NUMBER"), FOR(GRADCHECK),
         "how much a gradient may be off, relative (default 1e-6, or 1e-10 by the complex step)"},
    [OPTION_VALUE] = {"--value", NO_VALUE, FOR(GRAD), "print the outputs too"},
    [OPTION_BACKEND] = {"--backend", APART("tcc|interp"), FOR(RUN),
                        "machine code through libtcc (the default), or the reference interpreter"},
    [OPTION_DEVICE] = {"--device", APART("NAME"), FOR(RUN) | FOR(GRAD) | FOR(GRADCHECK) | FOR(BENCH),
                       "where the tensors lie and the kernels run: cpu, cuda or cuda:N"},
    [OPTION_SEED] = {"--seed", APART("N"),
                     FOR(RUN) | FOR(GRAD) | FOR(GRADCHECK) | FOR(EMIT) | FOR(CACHE) | FOR(BENCH),
                     "seed of randn and rand (default 0)"},
    [OPTION_TIME] = {"--time", NO_VALUE, FOR(RUN), "print how long compiling and calling take"},
    [OPTION_TRUST_INDICES] = {"--trust-indices", NO_VALUE, FOR(RUN) | FOR(CACHE) | FOR(BENCH),
                              "switch per-element index checks off; wrong indices then corrupt memory"},
    [OPTION_STRICT] = {"--strict", NO_VALUE, FOR(RUN) | FOR(EMIT) | FOR(CACHE) | FOR(BENCH),
                       "bitwise what the interpreter computes: sums in order, no fused products"},
    [OPTION_ANY_SHAPE] = {"--any-shape", NO_VALUE, FOR(RUN) | FOR(EMIT) | FOR(CACHE) | FOR(BENCH),
                          "code for all shapes at once, instead of for that of the first call"},
    [OPTION_TF32] = {"--tf32", NO_VALUE, FOR(RUN) | FOR(EMIT) | FOR(BENCH),
                     "on a device: float32 factors of sums of products may be rounded to 11 bits"},
    [OPTION_TARGET] =
        {"--target", APART("NAME"), FOR(RUN) | FOR(EMIT) | FOR(CACHE) | FOR(BENCH),
         "vector instructions: avx512, avx2 or none (default: the best there are); of PTX the GPU, as sm_80"},
    [OPTION_NO_CACHE] = {"--no-cache", NO_VALUE, FOR(RUN) | FOR(GRAD) | FOR(GRADCHECK),
                         "neither use nor keep code on disk"},
    [OPTION_TIER] = {"--tier", APART("TIER"), FOR(RUN) | FOR(BENCH),
                     "instant, auto, or optimised: made anew by the C compiler first (default: instant)"},
    [OPTION_STAGE] = {"--stage", APART("STAGE"), FOR(EMIT),
                      "tokens, ast, ir, optimised, c, asm, cuda or ptx"},
    [OPTION_DUMP_IR] = {"--dump-ir", APART("PASS"), FOR(EMIT),
                        "the loop IR after each optimising pass that changed it: that pass, or all"},
    [OPTION_CHECK] = {"--check", NO_VALUE, FOR(FMT),
                      "change nothing; exit with 1 where something would change"},
    [OPTION_FIX] = {"--fix", NO_VALUE, FOR(CHECK), "put the repairs that messages propose into FILE first"},
    [OPTION_EXPLAIN_PROOF] = {"--explain-proof", NO_VALUE, FOR(CHECK),
                              "tell of every access, buffer and loop what is proved, and why"},
    [OPTION_WERROR] = {"-Werror", VALUE_OPTIONAL, "NAME", FOR(RUN) | FOR(GRAD) | FOR(GRADCHECK) | FOR(CHECK),
                       "treat warnings as errors: all, or those of that name"},
    [OPTION_WNO] = {"-Wno-", VALUE_ATTACHED, "NAME", FOR(RUN) | FOR(GRAD) | FOR(GRADCHECK) | FOR(CHECK),
                    "no warnings of that name, such as -Wno-hint-conflict"},
    [OPTION_DIAGNOSTICS] = {"--diagnostics", APART("FORM"),
                            FOR(RUN) | FOR(GRAD) | FOR(GRADCHECK) | FOR(CHECK) | FOR(EMIT) | FOR(BENCH),
                            "how messages are printed on standard error: text, json or sarif"},
    [OPTION_VS] = {"--vs", APART("cc"), FOR(BENCH),
                   "also the plain C of the kernel, compiled by the first of AKG_CC or the C compiler that "
                   "was configured; "
                   "or by compilers with commas: gcc,clang"},
    [OPTION_JSON_FILE] = {"--json", APART("FILE"), FOR(BENCH), "write the report as JSON; '-' prints it"},
    [OPTION_REPORT] = {"--report", APART("FILE"), FOR(BENCH),
                       "write the report as an HTML page with a roofline"},
    [OPTION_THREADS] = {"--threads", APART("N"), FOR(RUN) | FOR(GRAD) | FOR(GRADCHECK) | FOR(BENCH),
                        "threads that share long loops (default: one per processor); "
                        "bench pins the program to N processors (default 1)"},
    [OPTION_SECONDS] = {"--seconds", APART("S"), FOR(BENCH),
                        "measure each contestant for at most S seconds (default 1)"},
    [OPTION_EMIT] = {"--emit", APART("DIR"), FOR(BENCH),
                     "measure nothing; write the plain C with its data, a main and a Makefile into DIR"},
    [OPTION_COMPARE] = {"--compare", NO_VALUE, FOR(BENCH), "compare two reports that --json wrote"},
    [OPTION_JSON] = {"--json", NO_VALUE, FOR_ALL & ~FOR(BENCH),
                     "print the report, and what went wrong, as JSON"},
    [OPTION_HELP] = {"--help", NO_VALUE, FOR_ALL, "print this page"},
    [OPTION_HELP_SHORT] = {"-h", NO_VALUE, FOR_ALL, NULL},
    [OPTION_VERSION] = {"--version", NO_VALUE, FOR_ALL, NULL},
};

/* The row for `argument`; *value receives what follows '=' or an attached name, or NULL. OPTION_COUNT when
 * there is none. --json is two: before it is known which subcommand there is, the one of most. */
static enum option_id find_option(const char *argument, const struct options *options, const char **value)
{
    size_t length = strcspn(argument, "=");
    bool benches = options->word_count > 0 && command_find(options->words[0]) == COMMAND_BENCH;
    for (int id = 0; id < OPTION_COUNT; id++) {
        const struct option_row *row = &option_table[id];
        size_t own = strlen(row->name);
        if (strncmp(row->name, argument, own) != 0 || (row->form != VALUE_ATTACHED && own != length))
            continue;
        if (id == OPTION_JSON_FILE && !benches)
            continue;
        *value = row->form == VALUE_ATTACHED ? argument + own
                 : argument[length]          ? argument + length + 1
                                             : NULL;
        return (enum option_id)id;
    }
    return OPTION_COUNT;
}

static bool unknown_option(const char *argument, struct problem *problem)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument, "="), argument);
    struct nearest nearest = {.word = name};
    for (int id = 0; id < OPTION_COUNT; id++)
        nearest_consider(&nearest, option_table[id].name);
    problem_set(problem, AKG_ERROR_USAGE, "unknown option '%.200s'", argument);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "'akgrun --help' lists the options; words after '--' are never options");
}

static bool set_backend(struct options *options, const char *value, struct problem *problem)
{
    static const struct {
        const char *name;
        jit_backend backend;
    } backends[] = {{"tcc", JIT_BACKEND_TCC}, {"interp", JIT_BACKEND_INTERPRETER}};
    struct nearest nearest = {.word = value};
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        if (strcmp(value, backends[i].name) == 0) {
            options->backend = backends[i].backend;
            return true;
        }
        nearest_consider(&nearest, backends[i].name);
    }
    problem_set(problem, AKG_ERROR_USAGE, "there is no backend '%.200s'", value);
    if (strncmp(value, "interp", 6) == 0)
        nearest.best = "interp";
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "the backends are tcc and interp");
}

/* Whether it is there, the library says. */
static bool set_device(struct options *options, const char *value, struct problem *problem)
{
    if (akg_device_parse(value, &options->device))
        return true;
    problem_set(problem, AKG_ERROR_USAGE, "'%.200s' is no device", value);
    return problem_help(problem, "the devices are cpu, cuda and, where there are several, cuda:1 and so on");
}

/* Whether the processor has it, or CUDA's compiler, the library says. */
static bool set_target(const char *value, struct problem *problem)
{
    static const char *const names[] = {"avx512", "avx2", "none"};
    struct nearest nearest = {.word = value};
    if (strncmp(value, "sm_", 3) == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(value, names[i]) == 0)
            return true;
        nearest_consider(&nearest, names[i]);
    }
    problem_set(problem, AKG_ERROR_USAGE, "there is no target '%.200s'", value);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "the targets are avx512, avx2 and none");
}

static bool set_tier(struct options *options, const char *value, struct problem *problem)
{
    static const struct {
        const char *name;
        jit_tier tier;
    } tiers[] = {{"instant", JIT_TIER_INSTANT}, {"auto", JIT_TIER_AUTO}, {"optimised", JIT_TIER_OPTIMISED}};
    struct nearest nearest = {.word = value};
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        if (strcmp(value, tiers[i].name) == 0) {
            options->tier = tiers[i].tier;
            return true;
        }
        nearest_consider(&nearest, tiers[i].name);
    }
    problem_set(problem, AKG_ERROR_USAGE, "there is no tier '%.200s'", value);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "the tiers are instant, auto and optimised");
}

static bool set_seed(struct options *options, const char *value, struct problem *problem)
{
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(value, &end, 10);
    /* strtoull would take spaces and signs */
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || errno == ERANGE) {
        problem_set(problem, AKG_ERROR_USAGE,
                    "--seed takes a whole number from 0 to 18446744073709551615, not '%.200s'", value);
        return false;
    }
    options->seed = seed;
    return true;
}

static bool set_tolerance(struct options *options, const char *value, struct problem *problem)
{
    char *end;
    options->tolerance = strtod(value, &end);
    if (value[0] >= '0' && value[0] <= '9' && *end == '\0' && options->tolerance > 0 &&
        options->tolerance < 1)
        return true;
    return problem_set(problem, AKG_ERROR_USAGE,
                       "--tolerance takes a number between 0 and 1, such as 1e-6, not '%.200s'", value);
}

static bool set_threads(struct options *options, const char *value, struct problem *problem)
{
    char *end;
    long threads = strtol(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || threads < 1 || threads > 1024)
        return problem_set(problem, AKG_ERROR_USAGE,
                           "--threads takes a whole number from 1 to 1024, not '%.200s'", value);
    options->threads = (int)threads;
    return true;
}

static bool set_seconds(struct options *options, const char *value, struct problem *problem)
{
    char *end;
    options->seconds = strtod(value, &end);
    if (((value[0] >= '0' && value[0] <= '9') || value[0] == '.') && *end == '\0' && options->seconds > 0 &&
        options->seconds <= 3600)
        return true;
    return problem_set(problem, AKG_ERROR_USAGE,
                       "--seconds takes a number up to 3600, such as 0.5, not '%.200s'", value);
}

static bool set_diagnostics(struct options *options, const char *value, struct problem *problem)
{
    static const struct {
        const char *name;
        akg_format format;
    } forms[] = {{"text", AKG_FORMAT_TEXT}, {"json", AKG_FORMAT_JSON}, {"sarif", AKG_FORMAT_SARIF}};
    struct nearest nearest = {.word = value};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (strcmp(value, forms[i].name) == 0) {
            options->diagnostics = forms[i].format;
            return true;
        }
        nearest_consider(&nearest, forms[i].name);
    }
    problem_set(problem, AKG_ERROR_USAGE, "messages have no form '%.200s'", value);
    if (nearest.best)
        return problem_help(problem, "did you mean '%s'?", nearest.best);
    return problem_help(problem, "the forms are text, json and sarif");
}

/* Whether there is a warning of that name, the library says. */
static void add_warning(struct options *options, const char *name, jit_warning_use use)
{
    options->warnings[options->warning_count++] = (jit_warning){.name = name, .use = use};
}

static bool set_option(struct options *options, enum option_id id, const char *value, struct problem *problem)
{
    options->given |= UINT64_C(1) << id;
    switch (id) {
    case OPTION_OUT:
        options->out = value;
        return true;
    case OPTION_WRT:
        options->wrt = value;
        return true;
    case OPTION_DOUT:
        options->douts[options->dout_count++] = (char *)value;
        return true;
    case OPTION_LOAD:
        options->loads[options->load_count++] = (char *)value;
        return true;
    case OPTION_TOLERANCE:
        return set_tolerance(options, value, problem);
    case OPTION_VALUE:
        options->value = true;
        return true;
    case OPTION_BACKEND:
        return set_backend(options, value, problem);
    case OPTION_DEVICE:
        return set_device(options, value, problem);
    case OPTION_SEED:
        return set_seed(options, value, problem);
    case OPTION_NO_CACHE:
        options->no_cache = true;
        return true;
    case OPTION_TIER:
        return set_tier(options, value, problem);
    case OPTION_STAGE:
        options->stage = value;
        return true;
    case OPTION_DUMP_IR:
        options->dump_ir = value;
        return true;
    case OPTION_CHECK:
        options->check = true;
        return true;
    case OPTION_TIME:
        options->time = true;
        return true;
    case OPTION_TRUST_INDICES:
        options->trust_indices = true;
        return true;
    case OPTION_STRICT:
        options->strict = true;
        return true;
    case OPTION_ANY_SHAPE:
        options->any_shape = true;
        return true;
    case OPTION_TF32:
        options->tf32 = true;
        return true;
    case OPTION_TARGET:
        options->target = value;
        return set_target(value, problem);
    case OPTION_FIX:
        options->fix = true;
        return true;
    case OPTION_EXPLAIN_PROOF:
        options->explain_proof = true;
        return true;
    case OPTION_WERROR:
        if (value)
            add_warning(options, value, JIT_WARNING_ERROR);
        else
            options->warnings_are_errors = true;
        return true;
    case OPTION_WNO:
        add_warning(options, value, JIT_WARNING_SILENT);
        return true;
    case OPTION_DIAGNOSTICS:
        return set_diagnostics(options, value, problem);
    case OPTION_VS:
        options->vs = value;
        return true;
    case OPTION_JSON_FILE:
        options->json_file = value;
        return true;
    case OPTION_REPORT:
        options->report = value;
        return true;
    case OPTION_THREADS:
        return set_threads(options, value, problem);
    case OPTION_SECONDS:
        return set_seconds(options, value, problem);
    case OPTION_EMIT:
        options->emit = value;
        return true;
    case OPTION_COMPARE:
        options->compare = true;
        return true;
    case OPTION_JSON:
        options->json = true;
        return true;
    case OPTION_HELP:
    case OPTION_HELP_SHORT:
        options->help = true;
        return true;
    case OPTION_VERSION:
        options->version = true;
        return true;
    case OPTION_COUNT:
        break;
    }
    return true;
}

/* One option at argv[*at], and its value at argv[*at + 1] when it is not behind '='. */
static bool parse_option(int argc, char **argv, int *at, struct options *options, struct problem *problem)
{
    const char *value;
    enum option_id id = find_option(argv[*at], options, &value);
    if (id == OPTION_COUNT)
        return unknown_option(argv[*at], problem);
    const struct option_row *row = &option_table[id];
    if (row->form == VALUE_NONE && value)
        return problem_set(problem, AKG_ERROR_USAGE, "%s takes no value", row->name);
    if (row->form == VALUE_APART && !value) {
        if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0) {
            problem_set(problem, AKG_ERROR_USAGE, "%s needs a value", row->name);
            return problem_help(problem, "write %s %s", row->name, row->value);
        }
        value = argv[++*at];
    }
    if (value && value[0] == '\0')
        return problem_set(problem, AKG_ERROR_USAGE, "the value of %s is empty", row->name);
    return set_option(options, id, value, problem);
}

/* Even the report on an earlier word must have the form that was asked for. */
static void parse_form_of_report(int argc, char **argv, int *at, struct options *options)
{
    const char *value;
    enum option_id id = find_option(argv[*at], options, &value);
    struct problem ignored = {0};
    if (id == OPTION_JSON || id == OPTION_DIAGNOSTICS)
        parse_option(argc, argv, at, options, &ignored);
}

bool options_parse(int argc, char **argv, struct options *options, struct problem *problem)
{
    memset(options, 0, sizeof *options);
    options->words = calloc((size_t)argc + 1, sizeof *options->words);
    options->warnings = calloc((size_t)argc + 1, sizeof *options->warnings);
    options->douts = calloc((size_t)argc + 1, sizeof *options->douts);
    options->loads = calloc((size_t)argc + 1, sizeof *options->loads);
    if (!options->words || !options->warnings || !options->douts || !options->loads)
        return problem_memory(problem);
    options->literal_from = argc;
    bool literal = false;
    bool good = true;
    for (int at = 1; at < argc; at++) {
        if (!literal && strcmp(argv[at], "--") == 0) {
            literal = true;
            options->literal_from = options->word_count;
        } else if (literal || argv[at][0] != '-' || argv[at][1] == '\0') {
            options->words[options->word_count++] = argv[at];
        } else if (good) {
            good = parse_option(argc, argv, &at, options, problem);
        } else {
            parse_form_of_report(argc, argv, &at, options);
        }
    }
    return good;
}

bool options_check(const struct options *options, enum command_id command, const char *command_name,
                   struct problem *problem)
{
    if (options->device.kind != AKG_DEVICE_CPU && options->given & UINT64_C(1) << OPTION_BACKEND) {
        problem_set(problem, AKG_ERROR_USAGE, "--backend and --device are two things");
        return problem_help(problem, "backends run kernels on the CPU");
    }
    for (int id = 0; id < OPTION_COUNT; id++) {
        if (!(options->given & UINT64_C(1) << id) || option_table[id].commands & 1u << command)
            continue;
        problem_set(problem, AKG_ERROR_USAGE, "'akgrun %s' does not take %s", command_name,
                    option_table[id].name);
        return problem_help(problem, "'akgrun %s --help' lists its options", command_name);
    }
    return true;
}

void options_print_help(enum command_id command)
{
    printf("\noptions:\n");
    for (int id = 0; id < OPTION_COUNT; id++) {
        const struct option_row *row = &option_table[id];
        if (!row->help || !(row->commands & 1u << command))
            continue;
        static const char *const patterns[] = {[VALUE_NONE] = "%s",
                                               [VALUE_APART] = "%s %s",
                                               [VALUE_OPTIONAL] = "%s[=%s]",
                                               [VALUE_ATTACHED] = "%s%s"};
        char name[64];
        snprintf(name, sizeof name, patterns[row->form], row->name, row->value);
        printf("  %-22s %s\n", name, row->help);
    }
}

void options_free(struct options *options)
{
    free(options->words);
    free(options->warnings);
    free(options->douts);
    free(options->loads);
    options->douts = NULL;
    options->loads = NULL;
    options->words = NULL;
    options->warnings = NULL;
    options->warning_count = 0;
}

/*
 * commands.c: the table of the subcommands of akgrun, and what --help prints of them.
 */
#include "akgrun.h"

#include <string.h>

const struct command_row command_table[COMMAND_COUNT] = {
    [COMMAND_RUN] =
        {"run", command_run, "[run] FILE [KERNEL] NAME=VALUE... [options]",
         "call a kernel and print what it returns",
         "FILE is an .akg file, or '-' for standard input. KERNEL may be left out where the file\n"
         "has one. Each parameter gets its VALUE by name; a variadic one may be given several times.\n"
         "\n"
         "values:\n"
         "  3  0.5  True  (2,2)  word     attributes: numbers, truth values, tuples of ints, strings\n"
         "  3.5  [[1,2],[3,4]]            tensors: a number, a nested list\n"
         "  file.npy  file.npz:key        numpy's files\n"
         "  randn(2,3)  rand(2,3)         random numbers, normal or uniform on [0, 1)\n"
         "  zeros(2,3)  ones(2,3)  full(2,3,0.5)  arange(6)\n"
         "  None                          an optional tensor left out\n"
         "A tensor's value takes a suffix such as :int32; without one, lists and generators have\n"
         "the dtype of the parameter's annotation, else float32.\n"},
    [COMMAND_GRAD] = {"grad", command_grad, "grad FILE [KERNEL] NAME=VALUE... [--wrt NAMES] [options]",
                      "print the gradients of what a function returns",
                      "Values are written as for run. The gradient of input x is called dx. A function needs "
                      "a @bprop, or\n"
                      "is a graph function of such.\n"},
    [COMMAND_GRADCHECK] = {"gradcheck", command_gradcheck,
                           "gradcheck FILE [KERNEL] NAME=VALUE... [--wrt NAMES] [options]",
                           "compare the gradients of a function with its derivatives",
                           "Values are written as for run, and converted to float64. Exit status 1 when a "
                           "gradient is wrong;\n"
                           "the message shows the element that is off most, and where it is stored.\n"},
    [COMMAND_OPS] = {"ops", command_ops, "ops [NAME] [--load FILE] [--json]",
                     "list the operators of the standard library",
                     "Each with its signature and whether it has a gradient; with NAME, its documentation.\n"
                     "'akgrun run std:NAME' calls one. With --load, the operators of that library.\n"},
    [COMMAND_DEVICES] = {"devices", command_devices, "devices [--json]", "list the GPUs that can be used",
                         "Each with its name, compute capability and memory, as --device takes it.\n"},
    [COMMAND_CHECK] =
        {"check", command_check, "check [--fix] [--explain-proof] FILE [KERNEL] [options]",
         "print each kernel's signature and the preconditions of a call",
         "Warnings and errors go to standard error. With --fix, so does what was repaired, and what\n"
         "is told is what was left; with '-' the repaired program is printed.\n"},
    [COMMAND_EMIT] = {"emit", command_emit, "emit FILE [KERNEL] [NAME=VALUE...] --stage STAGE",
                      "print what one stage of the compiler makes of it",
                      "With values, all stages from ir on are of the code that a call with them runs;\n"
                      "without, of the most general one.\n"},
    [COMMAND_EXPLAIN] = {"explain", command_explain, "explain [CODE]",
                         "explain a message such as AKG0501, or list them all",
                         "CODE is a message's code, its number alone, or its name.\n"},
    [COMMAND_FMT] = {"fmt", command_fmt, "fmt [--check] FILE", "print a program canonically, in its place",
                     "Spaces, indentation and empty lines; comments, words and their order stay. With '-',\n"
                     "formats standard input to standard output.\n"},
    [COMMAND_CACHE] =
        {"cache", command_cache, "cache ls|verify|gc|clear, or cache explain FILE [KERNEL] NAME=VALUE...",
         "look after the code that is kept on disk",
         "ls lists the entries, verify reads them all, gc removes what is damaged, left over or\n"
         "too much, clear removes everything; explain tells whether the code of a call is there, and\n"
         "if not, in what the nearest entry differs. The directory is $AKG_CACHE_DIR, else akg in\n"
         "$XDG_CACHE_HOME or ~/.cache; $AKG_CACHE_SIZE limits it (256M); AKG_CACHE=off uses none.\n"},
    [COMMAND_BENCH] =
        {"bench", command_bench,
         "bench FILE [KERNEL] NAME=VALUE... [--vs cc] [--json FILE] [--report FILE] [options]",
         "measure a kernel, against the C compiler and against the machine",
         "Values are written as for run. Prints the median time of a call with its 95% interval, "
         "and the\nshares of memory bandwidth and of multiply-add peak that it comes to; these are "
         "measured once\nand kept in the cache directory.\n"
         "'akgrun bench --compare BEFORE.json AFTER.json' marks what differs beyond doubt.\n"},
};

enum command_id command_find(const char *word)
{
    int id = 0;
    while (id < COMMAND_COUNT && strcmp(command_table[id].name, word) != 0)
        id++;
    return (enum command_id)id;
}

void commands_print_overview(FILE *stream)
{
    fprintf(stream, "usage: akgrun %s\n", command_table[0].usage);
    for (int i = 1; i < COMMAND_COUNT; i++)
        fprintf(stream, "       akgrun %s\n", command_table[i].usage);
    fprintf(stream, "\nakgrun compiles and runs the tensor kernels of an .akg file.\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(stream, "  %-9s %s\n", command_table[i].name, command_table[i].summary);
    fprintf(stream,
            "\n'akgrun SUBCOMMAND --help' tells more; 'akgrun --version' the version.\n"
            "\n"
            "exit status: 0 done; 1 the program is wrong; 2 the command line is wrong, or a file cannot\n"
            "be read or written; 3 the call is wrong; 4 an internal error, no memory, or a\n"
            "device that fails.\n");
}

void commands_print_help(enum command_id command)
{
    const struct command_row *row = &command_table[command];
    printf("usage: akgrun %s\n\n%s\n\n%s", row->usage, row->summary, row->help);
    options_print_help(command);
}

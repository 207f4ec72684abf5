/*
 * fix.h: puts the repairs that the messages about a program propose into its text.
 */
#ifndef TOOLS_FIX_H
#define TOOLS_FIX_H

#include "program.h"

/* What was changed, in order: lines for people, or objects of JSON with commas between them. Starts zeroed.
 */
struct fixes {
    char *log; /* for free() */
    size_t log_length, count;
};

/* Compiles and repairs, over and over, until no message proposes anything. The program then has its new text;
 * its file is replaced when that is another one. Where anything fails, the file is as it was. */
bool fix_program(const struct options *options, struct program *program, struct fixes *fixes,
                 struct problem *problem);

#endif

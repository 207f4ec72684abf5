/*
 * report.h: everything akgrun prints: results on standard output, what went
 * wrong on standard error (--diagnostics: as one document), or all of it as JSON on standard output.
 */
#ifndef TOOLS_REPORT_H
#define TOOLS_REPORT_H

#include "akgrun.h"

#include <stdio.h>

/* Tells what went wrong and yields the exit status that goes with it. `argv` is for internal errors, whose
 * report quotes the command line. */
int report_problem(const struct options *options, const struct problem *problem, char **argv);
/* Warnings that came with success, on standard error, where messages are text; under --json they are part of
 * the report instead, and --diagnostics has them at the end. */
void report_warnings(const struct options *options, const akg_diagnostics *diagnostics);
/* What is told at the end of success: the warnings, where --diagnostics makes one document of them. */
void report_done(const struct options *options, const struct problem *problem);
/* False when standard output did not take all that was printed. */
bool report_flush(struct problem *problem);

/* `name dtype[shape] = elements`, one line. */
bool report_tensor(const char *name, const akg_tensor *tensor, struct problem *problem);
/* {"name": ..., "dtype": ..., "shape": [...], "data": nested lists} with every element. */
void report_tensor_json(const char *name, const akg_tensor *tensor);

/* Whether text on this stream may be coloured. */
akg_format report_format(FILE *stream);
/* A JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void report_json_string(FILE *stream, const char *text);
/* The same of so many bytes, with which no string need end, but somewhere behind them one must. */
void report_json_bytes(FILE *stream, const char *text, size_t count);
/* The member "diagnostics" with the messages of all lists, each of which may be NULL. */
void report_json_diagnostics(const akg_diagnostics *const *lists, size_t count);

#endif

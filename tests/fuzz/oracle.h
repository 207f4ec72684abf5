/*
 * oracle.h: what must hold of a program, right or wrong, and of every call of it.
 *
 * Of the text: it compiles, or there is a diagnostic with a line. Of a call: libtcc's code and the
 * interpreter agree in status, messages and results bit for bit (NaNs as NaNs), and so do kernels that
 * optimising passes have changed, in random order; an access that is said to be proved, or to follow from the
 * preconditions, never fails; a call that the bounds preconditions refuse would have failed; no element is
 * read before it is written unless it is cleared (fresh memory is filled with two patterns, which must not
 * show).
 */
#ifndef TESTS_FUZZ_ORACLE_H
#define TESTS_FUZZ_ORACLE_H

#include "../../base/text.h"

enum oracle_fault {
    ORACLE_RIGHT,
    ORACLE_REFUSED,       /* a program that should compile does not, or cannot be called */
    ORACLE_INTERNAL,      /* AKG_ERROR_INTERNAL */
    ORACLE_NO_PLACE,      /* an error without a line, or none at all */
    ORACLE_STATUS,        /* the backends differ in status or messages, */
    ORACLE_RESULT,        /* in results, */
    ORACLE_TRAP,          /* in where they stop, */
    ORACLE_PARTIAL,       /* in what was written before */
    ORACLE_PROVED,        /* a proved access failed */
    ORACLE_PRECONDITION,  /* an access failed whose precondition had held */
    ORACLE_DIVISION,      /* a division that is not checked had divisor zero */
    ORACLE_INEXACT,       /* a bounds precondition refused a call that would have succeeded */
    ORACLE_UNINITIALISED, /* the pattern of fresh memory shows */
    ORACLE_PASSES,        /* optimising passes, in random order, change what the kernel does */
    ORACLE_CRASH,         /* told by child.c: a signal, a sanitizer's report, */
    ORACLE_HANG,          /* or too long */
    ORACLE_FAULTS
};

/* What was seen on the way: shows whether the programs are worth running. */
struct oracle_counts {
    long programs, compiled, calls, ran, trapped, refused, proved, preconditions, elements, slow;
};

struct oracle_request {
    const char *text;
    size_t length;
    bool must_compile; /* it came from the generator as it is */
    bool only_compile;
    /* set around what may take long with good reason (a run), for who watches the clock */
    volatile int *running;
    struct oracle_counts *counts;
};

const char *oracle_fault_name(enum oracle_fault fault);

/* Runs the program and its calls (lines that begin with #@, see generate.h; without any, each kernel once
 * with small arguments). What is wrong is told in `detail`, beginning with what tells this fault from others
 * of its kind, up to a newline. */
enum oracle_fault oracle_check(const struct oracle_request *request, struct text *detail);

#endif

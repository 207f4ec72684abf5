/*
 * oracle.h: what must hold of a program, right or wrong, and of every call of it.
 *
 * Of the text: it compiles, or there is a diagnostic with a line. Of a call: libtcc's code and the
 * interpreter agree in status, messages and results bit for bit (NaNs as NaNs), and so do kernels that
 * optimising passes have changed, in random order; an access that is said to be proved, or to follow from the
 * preconditions, never fails; a call that the bounds preconditions refuse would have failed; no element is
 * read before it is written unless it is cleared (fresh memory is filled with two patterns, which must not
 * show); every claim of the certificates (tests/unit/certify.h) holds, and their witnesses are some.
 */
#ifndef TESTS_FUZZ_ORACLE_H
#define TESTS_FUZZ_ORACLE_H

#include "../../base/text.h"

/* clang-format off */
#define ORACLE_FAULT_TABLE(X)                                                                                \
    X(RIGHT, "right")                                                                                        \
    X(REFUSED, "refused")               /* a program that should compile does not, or cannot be called */    \
    X(INTERNAL, "internal")             /* AKG_ERROR_INTERNAL */                                             \
    X(NO_PLACE, "no-place")             /* an error without a line, or none at all */                        \
    X(STATUS, "backends-status")        /* the backends differ in status or messages, */                     \
    X(RESULT, "backends-result")        /* in results, */                                                    \
    X(TRAP, "backends-trap")            /* in where they stop, */                                            \
    X(PARTIAL, "backends-partial")      /* in what was written before */                                     \
    X(PROVED, "proved-fails")           /* a proved access failed */                                         \
    X(PRECONDITION, "precondition-fails") /* an access failed whose precondition had held */                 \
    X(DIVISION, "division-fails")       /* a division that is not checked had divisor zero */                \
    X(INEXACT, "inexact-precondition")  /* a bounds precondition refused a call that would have succeeded */ \
    X(CERTIFICATE, "certificate")       /* a claim of a certificate does not hold */                         \
    X(UNINITIALISED, "uninitialised")   /* the pattern of fresh memory shows */                              \
    X(PASSES, "passes")                 /* optimising passes, in random order, change what the kernel does */ \
    X(LEAK, "leak")                     /* told by child.c: memory that nobody frees, */                     \
    X(CRASH, "crash")                   /* a signal, a sanitizer's report, */                                \
    X(HANG, "hang")                     /* or too long */
/* clang-format on */

enum oracle_fault {
#define X(id, name) ORACLE_##id,
    ORACLE_FAULT_TABLE(X)
#undef X
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
    bool certify; /* put the certificates to the test too, which takes several times as long as the rest */
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

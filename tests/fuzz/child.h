/*
 * child.h: checks in a process of their own, so that a crash, an endless loop or a sanitizer's report is a
 * result like any other.
 */
#ifndef TESTS_FUZZ_CHILD_H
#define TESTS_FUZZ_CHILD_H

#include "oracle.h"

enum { CHILD_DETAIL = 8192 };

/* Shared with the child. */
struct child_shared {
    volatile long current; /* number of the program that is being checked */
    volatile int running;  /* it is being run: may take long with good reason */
    volatile int ticks;
    struct oracle_counts counts;
    enum oracle_fault fault;
    char detail[CHILD_DETAIL];
};

/* Appends program number `number`; false: there is none. Says what is expected of it. */
typedef bool (*child_source)(void *context, long number, struct text *text, struct oracle_request *request);

/* NULL when memory cannot be had. Lives as long as the process. */
struct child_shared *child_share(void);

/* Checks programs first, first + 1, ... in children until one has a fault (true; shared->current is its
 * number), or none is left. */
bool child_check(struct child_shared *shared, long first, long end, child_source source, void *context);

/* Whether this program is built with a sanitizer: everything takes longer then. */
bool child_is_sanitized(void);

/* The fault of one text; what it prints is dropped. */
enum oracle_fault child_check_one(struct child_shared *shared, const struct oracle_request *request);

#endif

/*
 * check.h: what a unit test program needs. A failed check prints its place and
 * the program goes on; main ends with `return check_done();`, which prints the count.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int check_passed, check_failed;

#define CHECK(condition) check_one((condition) != 0, __FILE__, __LINE__, #condition)
#define CHECK_INT(actual, expected)                                                                          \
    do {                                                                                                     \
        long long check_a = (long long)(actual), check_e = (long long)(expected);                            \
        if (!check_one(check_a == check_e, __FILE__, __LINE__, #actual))                                     \
            fprintf(stderr, "    is %lld, should be %lld\n", check_a, check_e);                              \
    } while (0)
#define CHECK_STRING(actual, expected)                                                                       \
    do {                                                                                                     \
        const char *check_a = (actual), *check_e = (expected);                                               \
        if (!check_one(check_a && strcmp(check_a, check_e) == 0, __FILE__, __LINE__, #actual))               \
            fprintf(stderr, "    is     \"%s\"\n    should \"%s\"\n", check_a ? check_a : "(null)",          \
                    check_e);                                                                                \
    } while (0)

static inline int check_one(int condition, const char *file, int line, const char *text)
{
    if (condition) {
        check_passed++;
    } else {
        check_failed++;
        fprintf(stderr, "%s:%d: check failed: %s\n", file, line, text);
    }
    return condition;
}

/* Whether a case of many that differ in their sizes is run. Under a sanitizer, where each takes several times
 * as long and the generated code is not looked into, that is one in thirteen: `turn` is such that each
 * form meets a thirteenth of the sizes, other ones than the next form. */
static inline bool check_takes(size_t turn)
{
#ifdef AKG_SANITIZED
    enum { TAKEN = 13 };
#else
    enum { TAKEN = 1 };
#endif
    return turn % TAKEN == 0;
}

/* Whether the thread sanitizer looks on: what has no threads is other builds' concern then. */
static inline bool check_is_of_threads(void)
{
#if defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
    return __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

static inline int check_done(void)
{
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed != 0;
}

#endif

/*
 * test_statistics.c: akgrun's medians and their intervals, against tables and on made-up samples; its reader
 * of JSON.
 */
#include "../../tools/json.h"
#include "../../tools/statistics.h"
#include "check.h"

#include <malloc.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* ---- medians ---------------------------------------------------------------------------- */

static void test_ranks(void)
{
    /* from tables of the sign test: the interval of samples number r to n + 1 - r holds at least 95% */
    static const int rows[][2] = {{1, 1},  {5, 1},   {6, 1},   {8, 1},    {9, 2},
                                  {11, 2}, {12, 3},  {15, 4},  {17, 5},   {20, 6},
                                  {25, 8}, {30, 10}, {50, 18}, {100, 40}, {1000, 469}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        CHECK_INT(statistics_rank(rows[k][0]), rows[k][1]);
    for (int n = 1; n <= STATISTICS_MOST; n++)
        CHECK(statistics_rank(n) >= 1 && 2 * statistics_rank(n) <= n + 1);
}

static void test_spread(void)
{
    double odd[] = {9, 1, 5, 3, 7, 11, 15, 13, 17}, even[] = {4, 1, 3, 2}, one[] = {8};
    struct spread spread = statistics_spread(odd, 9);
    CHECK(spread.median == 9 && spread.low == 3 && spread.high == 15);
    spread = statistics_spread(even, 4);
    CHECK(spread.median == 2.5 && spread.low == 1 && spread.high == 4);
    spread = statistics_spread(one, 1);
    CHECK(spread.median == 8 && spread.low == 8 && spread.high == 8);
}

static uint64_t state = 1;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

/* Times with a long tail: of 2000 experiments the interval misses the true median in no more than 5%, and not
 * in much less, or it would be wider than it need be. */
static void test_coverage(void)
{
    static const int counts[] = {11, 40, 101};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        int missed = 0;
        for (int trial = 0; trial < 2000; trial++) {
            double samples[101];
            for (int i = 0; i < counts[k]; i++)
                samples[i] = 1 - log(uniform());
            struct spread spread = statistics_spread(samples, counts[k]);
            missed += spread.low > 1 + log(2) || spread.high < 1 + log(2);
        }
        CHECK(missed <= 120); /* 5% are 100, and chance */
        CHECK(missed >= 5);
    }
}

static void test_judgement(void)
{
    const struct spread a = {10, 9, 11}, b = {12, 11.5, 13}, c = {11, 10, 12};
    CHECK(statistics_differ(&a, &b));
    CHECK(statistics_differ(&b, &a));
    CHECK(!statistics_differ(&a, &c));
    CHECK(!statistics_differ(&a, &a));
    CHECK(statistics_is_narrow(&a, 0.2));
    CHECK(!statistics_is_narrow(&a, 0.19));
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void test_json(void)
{
    struct problem problem = {0};
    struct json *json = json_read(
        " {\"a\": [1, -2.5e3, true, null], \"b\": {\"c\": \"x\\n\\u00e9\\\"\"}, \"d\": {}} ", &problem);
    if (!CHECK(json != NULL))
        return;
    const struct json *list = json_member(json, "a");
    CHECK(list && list->kind == JSON_LIST && list->first->number == 1 && list->first->next->number == -2500);
    CHECK(list->first->next->next->kind == JSON_TRUE && list->first->next->next->next->kind == JSON_NULL);
    CHECK_STRING(json_string(json_member(json, "b"), "c"), "x\n\xc3\xa9\"");
    CHECK(json_member(json, "d")->first == NULL);
    CHECK(json_member(json, "e") == NULL && json_string(json, "a") == NULL);
    CHECK(json_number(list, "a", 7) == 7);
    json_free(json);
}

/* A string takes as much memory as it is long, however long the text behind it. */
static void test_json_memory(void)
{
    enum { LONG = 1 << 20 };
    static char text[LONG + 64] = "[\"\", \"\\\"\\\\\", \"";
    struct problem problem = {0};
    size_t begins = strlen(text);

    memset(text + begins, 'x', LONG);
    strcpy(text + begins + LONG, "\"]");
    struct json *json = json_read(text, &problem);
    if (!CHECK(json != NULL))
        return;
    const struct json *empty = json->first, *quoted = empty->next, *rest = quoted->next;
    CHECK_STRING(empty->string, "");
    CHECK_STRING(quoted->string, "\"\\");
    CHECK_INT(strlen(rest->string), LONG);
    CHECK(malloc_usable_size(empty->string) < 1000 && malloc_usable_size(quoted->string) < 1000);
    json_free(json);
}

static void test_json_refusals(void)
{
    static const char *const rows[][2] = {
        {"", "1:1: expected a value"},
        {"{\"a\": 1", "1:8: expected ',' or '}'"},
        {"[1,\n 2 3]", "2:4: expected ',' or ']'"},
        {"[1, ]", "1:5: expected a value"},
        {"{a: 1}", "1:2: expected the name of a member"},
        {"{\"a\" 1}", "1:6: expected ':'"},
        {"\"abc", "1:5: expected the end of a string"},
        {"\"\\x\"", "1:3: expected an escape such as \\n or \\u0041"},
        {"1 2", "1:3: expected the end"},
        {"nul", "1:1: expected a value"},
        {"1e", "1:1: expected a value"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct problem problem = {0};
        CHECK(json_read(rows[k][0], &problem) == NULL);
        CHECK_INT(problem.status, AKG_ERROR_USAGE);
        CHECK_STRING(problem.text, rows[k][1]);
    }
    char deep[301];
    struct problem problem = {0};
    memset(deep, '[', 300);
    deep[300] = '\0';
    CHECK(json_read(deep, &problem) == NULL);
    CHECK_STRING(problem.text, "1:101: expected less depth");
}

int main(void)
{
    test_ranks();
    test_spread();
    test_coverage();
    test_judgement();
    test_json();
    test_json_memory();
    test_json_refusals();
    return check_done();
}

/*
 * spelling.c: which known name a misspelt one was probably meant to be.
 *
 * Distance counts inserted, dropped, changed and swapped neighbouring
 * characters. Names longer than 63 bytes get no proposal, so that rows fit the stack.
 */
#include "diagnostic.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LONGEST = 63 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* The distance, or limit + 1 as soon as it must exceed the limit. Both names have at most LONGEST bytes. */
static int spelling_distance(const char *a, int a_length, const char *b, int b_length, int limit)
{
    int rows[3][LONGEST + 1];
    int *before = rows[0], *previous = rows[1], *current = rows[2];
    for (int j = 0; j <= b_length; j++) {
        previous[j] = j;
        before[j] = 0; /* read from the second row on only, when it holds the first */
    }
    for (int i = 1; i <= a_length; i++) {
        int least = current[0] = i;
        for (int j = 1; j <= b_length; j++) {
            int change = previous[j - 1] + (a[i - 1] != b[j - 1]);
            int cost = smaller(change, smaller(previous[j], current[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost = smaller(cost, before[j - 2] + 1);
            current[j] = cost;
            least = smaller(least, cost);
        }
        /* a swap reaches back two rows, but costs one more than what it starts from */
        if (least > limit)
            return limit + 1;
        int *oldest = before;
        before = previous;
        previous = current;
        current = oldest;
    }
    return smaller(previous[b_length], limit + 1);
}

const char *spelling_nearest(const char *name, const char *const *candidates, int count)
{
    const char *nearest = NULL;
    int best = LONGEST + 1;
    size_t length = strlen(name);
    if (length > LONGEST)
        return NULL;
    for (int i = 0; i < count; i++) {
        size_t candidate_length = candidates[i] ? strlen(candidates[i]) : 0;
        if (candidate_length == 0 || candidate_length > LONGEST || strcmp(name, candidates[i]) == 0)
            continue;
        if (strcasecmp(name, candidates[i]) == 0)
            return candidates[i];
        int limit = smaller(larger((int)length, (int)candidate_length) / 3, best - 1);
        if (abs((int)length - (int)candidate_length) > limit)
            continue;
        int distance = spelling_distance(name, (int)length, candidates[i], (int)candidate_length, limit);
        if (distance <= limit) {
            best = distance;
            nearest = candidates[i];
        }
    }
    return nearest;
}

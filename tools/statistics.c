/*
 * statistics.c: medians and their confidence intervals, by order statistics.
 *
 * Times have a long tail and no normal distribution, so nothing is assumed of it: the true median lies below
 * the k-th smallest of n independent samples with the probability that a fair coin shows fewer than k heads
 * in n throws.
 */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int statistics_rank(int count)
{
    double term = exp2(-count), below = 0; /* exactly k heads; fewer than k */
    int rank = 0;
    while (rank < (count + 1) / 2 && below + term <= 0.025) {
        below += term;
        rank++;
        term *= (double)(count - rank + 1) / rank;
    }
    return rank > 0 ? rank : 1;
}

struct spread statistics_spread(double *samples, int count)
{
    int rank = statistics_rank(count);
    qsort(samples, (size_t)count, sizeof *samples, compare);
    double middle = samples[count / 2];
    if (count % 2 == 0)
        middle = (samples[count / 2 - 1] + middle) / 2;
    return (struct spread){middle, samples[rank - 1], samples[count - rank]};
}

bool statistics_is_narrow(const struct spread *spread, double fraction)
{
    return spread->high - spread->low <= fraction * spread->median;
}

bool statistics_differ(const struct spread *a, const struct spread *b)
{
    return a->high < b->low || b->high < a->low;
}

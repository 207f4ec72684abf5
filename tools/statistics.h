/*
 * statistics.h: the middle of some measured times, and how sure it is.
 */
#ifndef TOOLS_STATISTICS_H
#define TOOLS_STATISTICS_H

#include <stdbool.h>

enum { STATISTICS_MOST = 1000 };

/* The median and the interval that holds the true one with at least 95% probability. */
struct spread {
    double median, low, high;
};

/* Of 1 to STATISTICS_MOST samples, which are sorted. With fewer than 6 the interval is all of them, and less
 * sure. */
struct spread statistics_spread(double *samples, int count);
/* The rank, from 1, of the sample that is the lower end of the interval; the upper is as far from the top. */
int statistics_rank(int count);
/* Whether the interval is no wider than that fraction of the median. */
bool statistics_is_narrow(const struct spread *spread, double fraction);
/* Whether two medians differ beyond doubt: their intervals have nothing in common. */
bool statistics_differ(const struct spread *a, const struct spread *b);

#endif

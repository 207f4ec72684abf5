/*
 * copy_nest.c: see copy_nest.h.
 *
 * Consumes the extents and distances of a call; copies. What lies one behind the other on both sides becomes
 * one row first. A row of few bytes is one or two moves, which overlap in the middle, so that a loop over
 * rows tests nothing but whether it is over; which moves is asked once for all rows.
 * Assumes AVX where it is called: there is no other vector code.
 */
#include "copy_nest.h"

#include <stdbool.h>
#include <string.h>

struct copy_level {
    int64_t count, to, from;
};

enum { INNER = 3 /* loops around a row that are not gone through one iteration at a time */ };

typedef void copy_rows(char *to, const char *from, const struct copy_level loops[INNER], int64_t bytes);

#if defined __x86_64__
#define WIDE __attribute__((target("avx")))
#else
#define WIDE
#endif

enum { AS_LOOP };

typedef char vector32 __attribute__((vector_size(32), aligned(1), may_alias));

WIDE static inline __attribute__((always_inline)) void move(char *to, const char *from, const int size)
{
    if (size == 32)
        *(vector32 *)to = *(const vector32 *)from; /* memcpy moves halves of it */
    else
        memcpy(to, from, (size_t)size);
}

/* A row of so many moves of a known size, the last of which end where the row does. */
WIDE static inline __attribute__((always_inline)) void copy_row(char *to, const char *from, int64_t bytes,
                                                                const int size, const int moves)
{
    const int64_t end = moves == 1 ? size : bytes;
    if (moves == AS_LOOP)
        for (int64_t at = 0; at < bytes - size; at += size)
            move(to + at, from + at, size);
    for (int k = 0; k < moves / 2; k++)
        move(to + k * size, from + k * size, size);
    for (int k = moves == AS_LOOP ? 1 : (moves + 1) / 2; k > 0; k--)
        move(to + end - k * size, from + end - k * size, size);
}

#define ROWS(name, size, moves)                                                                              \
    WIDE static void name(char *to, const char *from, const struct copy_level loops[INNER], int64_t bytes)   \
    {                                                                                                        \
        const struct copy_level middle = loops[1], inner = loops[2];                                         \
        for (int64_t i = loops[0].count; i; i--, to += loops[0].to, from += loops[0].from) {                 \
            char *t = to;                                                                                    \
            const char *f = from;                                                                            \
            for (int64_t j = middle.count; j; j--, t += middle.to, f += middle.from)                         \
                for (int64_t k = 0, at = 0, by = 0; k < inner.count; k++, at += inner.to, by += inner.from)  \
                    copy_row(t + at, f + by, bytes, size, moves);                                            \
        }                                                                                                    \
    }

ROWS(rows_of_1, 1, 1)
ROWS(rows_of_2, 2, 1)
ROWS(rows_of_4, 4, 1)
ROWS(rows_of_8, 8, 1)
ROWS(rows_of_16, 16, 1)
ROWS(rows_of_32, 32, 1)
ROWS(rows_to_4, 2, 2)
ROWS(rows_to_8, 4, 2)
ROWS(rows_to_16, 8, 2)
ROWS(rows_to_32, 16, 2)
ROWS(rows_to_64, 32, 2)
ROWS(rows_to_128, 32, 4)
ROWS(rows_to_512, 32, AS_LOOP)

WIDE static void long_rows(char *to, const char *from, const struct copy_level loops[INNER], int64_t bytes)
{
    for (int64_t i = 0; i < loops[0].count; i++)
        for (int64_t j = 0; j < loops[1].count; j++)
            for (int64_t k = 0; k < loops[2].count; k++)
                memcpy(to + i * loops[0].to + j * loops[1].to + k * loops[2].to,
                       from + i * loops[0].from + j * loops[1].from + k * loops[2].from, (size_t)bytes);
}

static copy_rows *rows_of(int64_t bytes)
{
    static const struct {
        int64_t most;
        copy_rows *rows;
    } choices[] = {{1, rows_of_1},    {2, rows_of_2},   {3, rows_to_4},   {4, rows_of_4},
                   {7, rows_to_8},    {8, rows_of_8},   {15, rows_to_16}, {16, rows_of_16},
                   {31, rows_to_32},  {32, rows_of_32}, {64, rows_to_64}, {128, rows_to_128},
                   {512, rows_to_512}};
    enum { CHOICES = sizeof choices / sizeof *choices };
    for (int k = 0; k < CHOICES; k++)
        if (bytes <= choices[k].most)
            return choices[k].rows;
    return long_rows;
}

/* The loops but those of one iteration, and with those that are one; at least INNER around a row. Returns how
 * many there are. */
static int find_loops(const int64_t *slots, int levels, int64_t *bytes, struct copy_level *loops)
{
    const int64_t *distances = slots + levels + 2;
    struct copy_level kept[COPY_LEVELS];
    int count = 0;
    for (int k = levels - 2; k >= 0; k--) { /* from the inside out */
        struct copy_level loop = {slots[k], distances[2 * k], distances[2 * k + 1]};
        struct copy_level *inner = count ? &kept[count - 1] : NULL;
        if (loop.count == 1)
            continue;
        if (!inner && loop.to == *bytes && loop.from == *bytes)
            *bytes *= loop.count;
        else if (inner && loop.to == inner->to * inner->count && loop.from == inner->from * inner->count)
            inner->count *= loop.count;
        else
            kept[count++] = loop;
    }
    while (count < INNER)
        kept[count++] = (struct copy_level){1, 0, 0};
    for (int k = 0; k < count; k++)
        loops[k] = kept[count - 1 - k];
    return count;
}

void copy_nest(const int64_t *slots, int levels, int size)
{
    int64_t bytes = slots[levels - 1] * size, done[COPY_LEVELS] = {0};
    char *to = (char *)(intptr_t)slots[levels];
    const char *from = (const char *)(intptr_t)slots[levels + 1];
    struct copy_level loops[COPY_LEVELS];
    int outer = find_loops(slots, levels, &bytes, loops) - INNER, level;
    copy_rows *rows = rows_of(bytes);
    do {
        rows(to, from, loops + outer, bytes);
        for (level = outer - 1; level >= 0; level--) {
            to += loops[level].to;
            from += loops[level].from;
            if (++done[level] < loops[level].count)
                break;
            to -= loops[level].to * loops[level].count;
            from -= loops[level].from * loops[level].count;
            done[level] = 0;
        }
    } while (level >= 0);
}

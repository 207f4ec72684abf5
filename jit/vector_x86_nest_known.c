/*
 * vector_x86_nest_known.c: nests whose extents are known.
 *
 * Consumes the sizes of tiles and the loops of a nest; says which tiles there are, and how often. Of a small
 * product that is one or two: nothing else is made, nothing tested, and vectors that are whole need no mask.
 * Of rows that threads may share it is not known how many come at a time.
 */
#include "vector_x86_nest.h"

enum { FEW = 64, LIMIT = 4096 /* of extents: tiles are counted one by one */ };

void machine_know_extents(struct nest_code *code)
{
    const struct vector_nest *nest = code->nest;
    if (nest->merged || nest->inside || nest->is_while || nest->first != VECTOR_ROWS)
        return;
    if (!code->machine->loop->is_parted && !code->machine->loop->has_some_rows)
        code->extents[VECTOR_ROWS] = vector_extent_below(nest->loops[VECTOR_ROWS], LIMIT);
    if (nest->is_along)
        return;
    code->extents[VECTOR_COLUMNS] = vector_extent_below(nest->loops[VECTOR_COLUMNS], LIMIT);
    if (nest->fold) {
        code->extents[VECTOR_ROWS] = vector_known_extent(nest->loops[VECTOR_ROWS]) / nest->fold;
        code->extents[VECTOR_COLUMNS] = code->machine->lanes;
    }
    /* there the last columns are those of a vector that begins before them */
    if (!machine_is_avx512(code->machine) && code->extents[VECTOR_COLUMNS] % code->machine->lanes &&
        code->extents[VECTOR_COLUMNS] > code->machine->lanes)
        code->extents[VECTOR_COLUMNS] = 0;
}

/* The rows of the first tile, of one kind of columns. */
static int tallest(const struct nest_code *code)
{
    int rows = 0;
    for (int kind = 0; kind < COLUMN_KINDS; kind++)
        if (code->columns[kind])
            rows = code->columns[kind] == 1 ? code->single_rows : code->rows;
    return rows;
}

/* How many tiles of the kind there are for so many columns, and what is left behind them. */
static int column_tiles(const struct nest_code *code, int kind, int *left)
{
    int lanes = code->machine->lanes, width = code->columns[kind] * lanes, times = width ? *left / width : 0;
    if (kind >= FOUR && width)
        times = *left >= machine_least_columns(code, kind) && *left <= (kind == HALF ? lanes / 2 : width);
    *left -= times * width;
    return times;
}

void machine_choose_columns(struct nest_code *code)
{
    int left = code->extents[VECTOR_COLUMNS], all = 0;
    for (int kind = 0; kind < COLUMN_KINDS && code->extents[VECTOR_COLUMNS]; kind++) {
        int before = left,
            width = kind == HALF ? code->machine->lanes / 2 : code->columns[kind] * code->machine->lanes;
        code->times[kind] = column_tiles(code, kind, &left);
        code->last[kind] = kind >= FOUR && code->times[kind] && before != width ? before : 0;
        all += code->times[kind];
    }
    /* more than one of the tiles that are masked */
    if (left > 0)
        code->extents[VECTOR_COLUMNS] = 0;
    if (!code->extents[VECTOR_COLUMNS])
        return;
    for (int kind = 0; kind < COLUMN_KINDS; kind++)
        code->columns[kind] = code->times[kind] ? code->columns[kind] : 0;
    code->is_one[VECTOR_COLUMNS] = all == 1;
    code->is_one[VECTOR_ROWS] = all == 1 && code->extents[VECTOR_ROWS] == tallest(code);
}

int machine_place_slot(const struct nest_code *code, const struct vector_stream *stream, int level)
{
    if (level == VECTOR_ROWS && code->is_one[VECTOR_ROWS])
        level = VECTOR_COLUMNS;
    return level == VECTOR_COLUMNS && code->is_one[VECTOR_COLUMNS] ? stream->slot : stream->state + level;
}

int machine_row_tiles(const struct nest_code *code, const struct tile *tiles, int kind, int kinds)
{
    int left = code->extents[VECTOR_ROWS], times = 0;
    if (!left)
        return -1;
    for (int k = 0; k <= kind; k++)
        for (times = 0; left >= tiles[k].rows && !machine_is_better_halved(tiles, k, kinds, left); times++)
            left -= tiles[k].rows;
    return times;
}

/* ---- what is written out ------------------------------------------------------------------------- */

/* The iterations of a loop between constants; 0: they are not known, or many. */
static int few_iterations(const struct ir_stmt *loop)
{
    enum { MOST = 8 };
    if (loop->low->kind != IR_INTEGER || loop->high->kind != IR_INTEGER || loop->step == 0)
        return 0;
    int64_t low = loop->low->integer, high = loop->high->integer, count = 0;
    for (; (loop->step > 0 ? low < high : low > high) && count <= MOST; low += loop->step)
        count++;
    return count <= MOST ? (int)count : 0;
}

/* With 16 registers a tile is so small that going round takes as long as an iteration: the innermost loop is
 * written out where it is short, as windows are; with more registers where rows and columns are few, too. */
void machine_write_out(struct nest_code *code)
{
    enum { MOST_VALUES = 40 };
    const struct vector_nest *nest = code->nest;
    int level = nest->depth - 1, values = nest->result - nest->body;
    code->depth = nest->depth;
    code->written_out = 1;
    bool is_small = code->extents[VECTOR_ROWS] && code->extents[VECTOR_ROWS] <= FEW &&
                    code->extents[VECTOR_COLUMNS] && code->extents[VECTOR_COLUMNS] <= FEW;
    if ((machine_is_avx512(code->machine) && !is_small) || nest->is_while || nest->is_along)
        return;
    int count = few_iterations(nest->loops[level]);
    for (int k = 0; k < code->loop->streams.count; k++)
        if (code->loop->streams.items[k].strides[level].kind == VECTOR_RUN_TIME_STRIDE)
            return;
    if (count < 2 || count * values > MOST_VALUES)
        return;
    code->written_out = count;
    code->depth--;
}

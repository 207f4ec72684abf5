/*
 * vector_x86_nest.h: what the files that turn nests into x86-64 instructions share.
 */
#ifndef JIT_VECTOR_X86_NEST_H
#define JIT_VECTOR_X86_NEST_H

#include "vector_x86.h"

/* Columns in vectors: COLUMNS where there are rows. */
enum { COLUMNS = 2, MOST_COLUMNS = 16, MOST_ROWS = 14, ROW_KINDS = 5, ROWS_PER_BASE = 5, BASES = 3 };
/* Tiles of full width, narrower ones, single vectors; for the last columns, masked: four, three or two
 * vectors of which all but the last are whole, half a vector, a vector. */
enum { SINGLE = 2, FOUR, THREE, PAIR, HALF, LAST, COLUMN_KINDS };

/* Where the addresses of a stream are while a section runs. */
struct place {
    bool used;
    int bases[BASES];   /* general registers: of row 0, 5, 10 */
    int stride, triple; /* general registers with the distance of rows, and three times that; -1: none */
    int across, across_triple; /* the same of columns, where lanes lie along the depths */
};

struct tile {
    int rows, columns, lanes; /* of a vector */
    bool is_last;             /* those of the last vector that are not there are masked */
    bool is_by_row;           /* `keep` puts its sums into the frame, `result` is of one row of them */
    machine_section start, enter, body, keep, result;
    machine_section last, next, sums; /* where lanes lie along the depths (vector_x86_along.c) */
};

/* Then: the masks of the lanes that are left of the innermost loop, and of the columns of a tile. */
enum { TAIL_OF_DEPTHS, TAIL_OF_COLUMNS };

struct nest_code {
    struct machine *machine;
    const struct vector_loop *loop;
    const struct vector_nest *nest;
    int rows, single_rows;     /* of the highest tile; of that of single vectors */
    int kinds[COLUMN_KINDS];   /* tiles of the same columns */
    int extents[2];            /* of rows and columns, where they are known; 0 */
    int times[COLUMN_KINDS];   /* then: how often there are tiles of the columns */
    bool is_one[2];            /* there is one tile of rows, in one of columns */
    int last[COLUMN_KINDS];    /* how many columns are left for those that are masked */
    int depth;                 /* levels that are loops: not the innermost one, where it is written out */
    int written_out, written;  /* iterations of that one; which of them is being built */
    int columns[COLUMN_KINDS]; /* of the tiles; 0: there are none */
    struct tile tiles[COLUMN_KINDS][ROW_KINDS];
    machine_section setup, tails[COLUMN_KINDS];
    int *registers; /* by value and column */
    int *any;       /* by value: the masks of all its columns in one, and with AVX2 what guards loads
                       of 4 bytes by them, or of 8; 0: there is none yet */
    bool *is_early, *is_needed; /* by value: it is loaded before the while; that takes it */
    bool has_early;
    bool has_sums; /* there is room for sums in the frame, */
    int sums;      /* here */
    int *taken;    /* the registers of the sums of the row, in a section of one; NULL */
    int repeat;    /* the mask of the lanes that go on, of the columns so far; 0: none */
    struct place places[VECTOR_STREAMS];
    int free_generals;    /* of the pool, as bits */
    bool in_depths;       /* what is being built has iterations of the innermost loop in its lanes, */
    bool is_rest;         /* those that are left behind whole vectors */
    machine_section rest; /* makes the mask of these */
};

/* ---- vector_x86_nest.c ---- */

/* The register of what is accumulated for a row and a column of the tile. */
int machine_nest_partial(struct nest_code *code, const struct tile *tile, enum vector_type type, int slot,
                         int row, int column);
/* The values from one on up to another one, for all rows and columns of the tile. */
void machine_build_section(struct nest_code *code, const struct tile *tile, machine_section *section,
                           int first, int end);
/* Vector registers that are kept, but for those of accumulators. */
int machine_kept_vectors(const struct machine *machine);

/* ---- vector_x86_along.c: lanes along the depths ---- */

/* Rows and columns of the tiles; gives the registers that are kept. */
int machine_size_along(struct nest_code *code, int most_rows);
void machine_build_along(struct nest_code *code, struct tile *tile);
int machine_load_along(struct nest_code *code, const struct vector_value *value, struct x86_memory memory,
                       int mask);
void machine_accumulate_along(struct nest_code *code, const struct vector_value *value, int partial,
                              const int *operands, int mask);
/* All rows and columns; the depths of one tile. */
void machine_place_along(struct nest_code *code);
void machine_place_depths_along(struct nest_code *code, struct tile *tile);

/* ---- vector_x86_nest_place.c ---- */

/* Registers for the streams of the values from one on up to another one. Where all rows are reached at once
 * and their distance is not known, every fifth row has its own. Columns that lie apart are few. */
void machine_place_streams(struct nest_code *code, const struct tile *tile, int first, int end, bool at_once);
/* The addresses that the slots `at` (a loop's, of each stream) hold, into the registers of the places. */
void machine_load_places(struct nest_code *code, int at, int rows);
/* Streams that do not reach all rows at once go from row to row. */
void machine_next_row(struct nest_code *code);
/* All go on by so many iterations of the innermost loop. */
void machine_next_depth(struct nest_code *code, int rows, int count);
struct x86_memory machine_address(const struct nest_code *code, const struct vector_value *value, int row,
                                  int column);
/* The loop whose slots hold where the registers begin. */
int machine_depth_start(const struct nest_code *code);
/* What the next rows start from. */
void machine_prefetch_next_rows(struct nest_code *code, const struct tile *tile);
/* What the innermost loop loads some iterations further on, unless it ends before. */
void machine_prefetch_next_depths(struct nest_code *code, struct tile *tile);

/* ---- vector_x86_nest_loops.c ---- */

/* The loops around the tiles. */
void machine_place_columns(struct nest_code *code);
/* All rows of one tile's columns. */
void machine_place_rows(struct nest_code *code, struct tile *tiles, int kinds);
/* The slot `level` of every stream goes on by `count` iterations of the loop of the other level. */
void machine_advance_streams(struct nest_code *code, int level, int stride_level, int count);
/* Every stream's slot of one loop from that of another. */
void machine_copy_streams(struct nest_code *code, int to, int from);
/* Instructions between a register and a slot; both of them; the slot alone, which sets the flags. */
void machine_move_slot(struct machine *machine, enum x86_form form, int reg, int slot);
void machine_copy_slot(struct machine *machine, int to, int from);
void machine_add_to_slot(struct machine *machine, int slot, int64_t number);
/* How many columns have to be left for tiles of the kind. */
int machine_least_columns(const struct nest_code *code, int kind);
/* Whether so many rows are better left to tiles of the next kind. */
bool machine_is_better_halved(const struct tile *tiles, int kind, int kinds, int left);

/* ---- vector_x86_nest_fold.c ---- */

/* What all lanes of rows side by side load, that of the first one at the address. */
int machine_load_folded(struct nest_code *code, const struct vector_value *value, struct x86_memory memory);

/* ---- vector_x86_nest_results.c: the results of tiles row by row ---- */

/* Whether they are better so. */
bool machine_goes_by_row(const struct nest_code *code, const struct tile *tile);
void machine_build_by_row(struct nest_code *code, struct tile *tile);
/* Behind the depths. The rows' slots of the streams go on, too. */
void machine_place_by_row(struct nest_code *code, struct tile *tile);

/* ---- vector_x86_nest_known.c: extents that are known ---- */

/* Those of the innermost loop are written out where they are few. */
void machine_write_out(struct nest_code *code);
/* Finds those of rows and columns. */
void machine_know_extents(struct nest_code *code);
/* The slot with the address of the stream at the start of a loop: of one iteration it is that of the loop
 * around. */
int machine_place_slot(const struct nest_code *code, const struct vector_stream *stream, int level);
/* Leaves out the tiles of columns that there are none of. */
void machine_choose_columns(struct nest_code *code);
/* How many tiles of the rows there are, behind those of more; -1: it is not known. */
int machine_row_tiles(const struct nest_code *code, const struct tile *tiles, int kind, int kinds);

#endif

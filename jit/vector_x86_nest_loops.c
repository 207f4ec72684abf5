/*
 * vector_x86_nest_loops.c: the loops around the tiles of a nest.
 *
 * Consumes tiles whose sections are built (vector_x86_nest.c); appends the code that goes through columns,
 * rows and depths, with the sections in their places. What is fewer than a tile goes to the next kind of
 * tiles; with AVX2 iterations that are done already may be done again, so that the last ones fill a tile.
 */
#include "vector_x86_nest.h"

void machine_move_slot(struct machine *machine, enum x86_form form, int reg, int slot)
{
    machine_emit(machine,
                 (struct x86_instruction){
                     .form = form, .reg = reg, .has_memory = true, .memory = machine_slot(machine, slot)});
}

void machine_copy_slot(struct machine *machine, int to, int from)
{
    machine_move_slot(machine, X86_MOV, X86_RAX, from);
    machine_move_slot(machine, X86_MOV_STORE, X86_RAX, to);
}

void machine_add_to_slot(struct machine *machine, int slot, int64_t number)
{
    machine_move_slot(machine, X86_MOV, X86_RAX, slot);
    machine_emit_by(machine, X86_ADD_BY, X86_RAX, number);
    machine_move_slot(machine, X86_MOV_STORE, X86_RAX, slot); /* leaves the flags */
}

/* The slot `level` of every stream goes on by `count` iterations of that loop. */
void machine_advance_streams(struct nest_code *code, int level, int stride_level, int count)
{
    struct machine *machine = code->machine;
    if (code->nest->fold && level == VECTOR_ROWS)
        count *= code->nest->fold;
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct vector_stream *stream = &code->loop->streams.items[k];
        const struct vector_stride *stride = &stream->strides[stride_level];
        if (stride->kind == VECTOR_STRIDE) {
            machine_add_to_slot(machine, stream->state + level, stride->bytes * count);
        } else if (stride->kind == VECTOR_RUN_TIME_STRIDE) {
            machine_emit(machine, (struct x86_instruction){
                                      .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = count});
            machine_move_slot(machine, X86_IMUL, X86_RAX, stride->slot);
            machine_move_slot(machine, X86_ADD, X86_RAX, stream->state + level);
            machine_move_slot(machine, X86_MOV_STORE, X86_RAX, stream->state + level);
        }
    }
}

/* The slot goes on by as many strides as the count says. */
static void add_product(struct machine *machine, int slot, const struct vector_stride *stride)
{
    if (stride->kind == VECTOR_STRIDE)
        machine_emit(machine, (struct x86_instruction){
                                  .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = stride->bytes});
    else
        machine_move_slot(machine, X86_MOV, X86_RAX, stride->slot);
    machine_emit(machine, (struct x86_instruction){.form = X86_IMUL, .reg = X86_RAX, .rm = machine->count});
    machine_move_slot(machine, X86_ADD, X86_RAX, slot);
    machine_move_slot(machine, X86_MOV_STORE, X86_RAX, slot);
}

/* Every stream's slot of one loop from that of another. */
void machine_copy_streams(struct nest_code *code, int to, int from)
{
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct vector_stream *stream = &code->loop->streams.items[k];
        if (machine_place_slot(code, stream, to) != machine_place_slot(code, stream, from))
            machine_copy_slot(code->machine, stream->state + to, machine_place_slot(code, stream, from));
    }
}

static void place_depths(struct nest_code *code, struct tile *tile, int level)
{
    struct machine *machine = code->machine;
    int head = machine->labels++;
    if (code->depth == VECTOR_DEPTHS) {
        machine_allocate(machine, &tile->enter);
        machine_allocate(machine, &tile->body);
        return;
    }
    if (level == code->depth - 1) {
        machine_allocate(machine, &tile->enter);
        machine_move_slot(machine, X86_MOV, machine->count, code->nest->counts + level);
        machine_emit_label(machine, head);
        machine_allocate(machine, &tile->body);
        machine_emit_by(machine, X86_SUB_BY, machine->count, 1);
    } else {
        machine_copy_streams(code, level, level == VECTOR_DEPTHS ? VECTOR_ROWS : level - 1);
        machine_copy_slot(machine, code->nest->state + level, code->nest->counts + level);
        machine_emit_label(machine, head);
        place_depths(code, tile, level + 1);
        machine_advance_streams(code, level, level, 1);
        machine_add_to_slot(machine, code->nest->state + level, -1);
    }
    machine_emit_jump(machine, X86_JNE, head);
}

static void place_while(struct nest_code *code, struct tile *tile)
{
    struct machine *machine = code->machine;
    int head = machine->labels++;
    machine_allocate(machine, &tile->enter);
    machine_emit_label(machine, head);
    machine_allocate(machine, &tile->body);
    machine_emit_jump(machine, X86_JNE, head);
}

/* The streams go back, by the count, which is negative; then as many iterations are left as are said. */
static void retreat(struct nest_code *code, int level, int left, int head)
{
    struct machine *machine = code->machine;
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct vector_stream *stream = &code->loop->streams.items[k];
        if (stream->strides[level].kind != VECTOR_STAYS)
            add_product(machine, stream->state + level, &stream->strides[level]);
    }
    machine_emit(machine,
                 (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = left});
    machine_move_slot(machine, X86_MOV_STORE, X86_RAX, code->nest->state + level);
    machine_emit_jump(machine, X86_JMP, head);
}

/* Whether iterations can be computed once more: nothing is loaded that is stored. */
static bool can_compute_again(const struct nest_code *code)
{
    const struct vector_loop *loop = code->loop;
    for (int k = 0; k < loop->values.count; k++)
        for (int n = 0; n < loop->streams.count && loop->values.items[k].kind == VECTOR_STORE; n++)
            if (loop->streams.items[n].is_loaded &&
                loop->streams.items[n].access->buffer ==
                    loop->streams.items[loop->values.items[k].stream].access->buffer)
                return false;
    return true;
}

/* Two tiles of the next kind are as fast as one and what it leaves, or faster: each accumulator waits for
 * itself, and tiles of one row or two load much for what they compute. */
static bool may_be_halved(const struct tile *tiles, int kind, int kinds)
{
    int rows = tiles[kind].rows, next = kind + 1 < kinds ? tiles[kind + 1].rows : 0;
    return 2 * next > rows && next < rows;
}

bool machine_is_better_halved(const struct tile *tiles, int kind, int kinds, int left)
{
    return may_be_halved(tiles, kind, kinds) && left == 2 * tiles[kind + 1].rows;
}

/* Rows that are fewer than the tile's, but more than those of the next one, are the last ones of a tile that
 * begins before them, where there are so many rows. */
static void step_rows_back(struct nest_code *code, int rows, int next_rows, int head)
{
    struct machine *machine = code->machine;
    int forward = machine->labels++, left = code->nest->state + VECTOR_ROWS;
    if (next_rows + 1 >= rows)
        return;
    machine_move_slot(machine, X86_MOV, machine->count, left);
    machine_emit_by(machine, X86_CMP_BY, machine->count, next_rows);
    machine_emit_jump(machine, X86_JLE, forward);
    machine_emit_by(machine, X86_CMP_BY, machine->count, rows);
    machine_emit_jump(machine, X86_JGE, forward);
    machine_move_slot(machine, X86_MOV, X86_RAX, code->nest->counts + VECTOR_ROWS);
    machine_emit_by(machine, X86_CMP_BY, X86_RAX, rows);
    machine_emit_jump(machine, X86_JL, forward);
    machine_emit_by(machine, X86_SUB_BY, machine->count, rows);
    retreat(code, VECTOR_ROWS, rows, head);
    machine_emit_label(machine, forward);
}

/* To `next`, where too few rows are left for a tile of the kind. */
static void test_rows(struct nest_code *code, const struct tile *tiles, int kind, int kinds, int next)
{
    struct machine *machine = code->machine;
    int left = code->nest->state + VECTOR_ROWS;
    machine_move_slot(machine, X86_MOV, X86_RAX, left);
    machine_emit_by(machine, X86_CMP_BY, X86_RAX, tiles[kind].rows);
    machine_emit_jump(machine, X86_JL, next);
    if (may_be_halved(tiles, kind, kinds)) {
        machine_move_slot(machine, X86_MOV, X86_RAX, left);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, 2 * tiles[kind + 1].rows);
        machine_emit_jump(machine, X86_JE, next);
    }
}

static void place_tile(struct nest_code *code, struct tile *tile)
{
    machine_allocate(code->machine, &tile->start);
    if (code->nest->is_while)
        place_while(code, tile);
    else if (code->nest->is_along)
        machine_place_depths_along(code, tile);
    else
        place_depths(code, tile, VECTOR_DEPTHS);
    if (tile->is_by_row)
        machine_place_by_row(code, tile);
    else
        machine_allocate(code->machine, &tile->result);
}

/* The slots of the rows go on to the next tile. */
static void advance_rows(struct nest_code *code, const struct tile *tile)
{
    if (!tile->is_by_row)
        machine_advance_streams(code, VECTOR_ROWS, VECTOR_ROWS, tile->rows);
}

/* All rows of one tile's columns, which are known: tiles of each kind once, or in a loop. */
static void place_known_rows(struct nest_code *code, struct tile *tiles, int kinds)
{
    struct machine *machine = code->machine;
    int left = code->nest->state + VECTOR_ROWS, rest = code->extents[VECTOR_ROWS];
    machine_copy_streams(code, VECTOR_ROWS, VECTOR_COLUMNS);
    for (int kind = 0; kind < kinds; kind++) {
        int times = machine_row_tiles(code, tiles, kind, kinds), head = machine->labels++;
        rest -= times * tiles[kind].rows;
        if (!times)
            continue;
        if (times > 1) {
            machine_emit(machine, (struct x86_instruction){
                                      .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = times});
            machine_move_slot(machine, X86_MOV_STORE, X86_RAX, left);
            machine_emit_label(machine, head);
        }
        place_tile(code, &tiles[kind]);
        if (times > 1 || rest)
            advance_rows(code, &tiles[kind]);
        if (times > 1) {
            machine_move_slot(machine, X86_MOV, X86_RAX, left);
            machine_emit_by(machine, X86_SUB_BY, X86_RAX, 1);
            machine_move_slot(machine, X86_MOV_STORE, X86_RAX, left); /* leaves the flags */
            machine_emit_jump(machine, X86_JNE, head);
        }
    }
}

/* All rows of one tile's columns. */
void machine_place_rows(struct nest_code *code, struct tile *tiles, int kinds)
{
    struct machine *machine = code->machine;
    int left = code->nest->state + VECTOR_ROWS;
    if (code->extents[VECTOR_ROWS]) {
        place_known_rows(code, tiles, kinds);
        return;
    }
    machine_copy_streams(code, VECTOR_ROWS, VECTOR_COLUMNS);
    machine_copy_slot(machine, left, code->nest->counts + VECTOR_ROWS);
    for (int kind = 0; kind < kinds; kind++) {
        int head = machine->labels++, next = machine->labels++, rows = tiles[kind].rows;
        machine_emit_label(machine, head);
        test_rows(code, tiles, kind, kinds, next);
        place_tile(code, &tiles[kind]);
        advance_rows(code, &tiles[kind]);
        machine_add_to_slot(machine, left, -rows);
        machine_emit_jump(machine, X86_JMP, head);
        machine_emit_label(machine, next);
        if (!machine_is_avx512(machine) && rows > 2 && can_compute_again(code))
            step_rows_back(code, rows, kind + 1 < kinds ? tiles[kind + 1].rows : 0, head);
    }
}

/* The slot of the first value of the columns' variable, which is the same for all values that ask for it. */
static int first_column(const struct vector_loop *loop)
{
    int k = 0;
    while (loop->values.items[k].kind != VECTOR_INDEX)
        k++;
    return loop->values.items[k].slot;
}

/* Columns that are fewer than a vector: with AVX2, whose masked stores may take as long as ten others, they
 * are the last ones of a vector that begins before them, where there are so many columns. */
static void step_columns_back(struct nest_code *code, int head)
{
    struct machine *machine = code->machine;
    int masked = machine->labels++;
    machine_emit_by(machine, X86_SUB_BY, machine->count, machine->lanes);
    machine_emit_by(machine, X86_CMP_BY, machine->count, -machine->lanes);
    machine_emit_jump(machine, X86_JE, masked);
    machine_move_slot(machine, X86_MOV, X86_RAX, code->nest->counts + VECTOR_COLUMNS);
    machine_emit_by(machine, X86_CMP_BY, X86_RAX, machine->lanes);
    machine_emit_jump(machine, X86_JL, masked);
    if (code->nest->index >= 0)
        add_product(machine, code->nest->index,
                    &(struct vector_stride){VECTOR_STRIDE, code->nest->loops[VECTOR_COLUMNS]->step, -1});
    retreat(code, VECTOR_COLUMNS, machine->lanes, head);
    machine_emit_label(machine, masked);
}

int machine_least_columns(const struct nest_code *code, int kind)
{
    if (kind >= FOUR)
        return kind == HALF ? 1 : (code->columns[kind] - 1) * code->machine->lanes + 1;
    return code->columns[kind] * code->machine->lanes;
}

/* By so many columns. */
static void advance_columns(struct nest_code *code, int width)
{
    machine_advance_streams(code, VECTOR_COLUMNS, VECTOR_COLUMNS, width);
    if (code->nest->index >= 0)
        machine_add_to_slot(code->machine, code->nest->index,
                            width * code->nest->loops[VECTOR_COLUMNS]->step);
}

/* All columns, which are known. */
static void place_known_columns(struct nest_code *code)
{
    struct machine *machine = code->machine;
    int rest = code->extents[VECTOR_COLUMNS], left = code->nest->state + VECTOR_COLUMNS;
    for (int kind = 0; kind < COLUMN_KINDS; kind++) {
        int times = code->times[kind], width = code->columns[kind] * machine->lanes;
        int head = machine->labels++;
        if (!times || !width)
            continue;
        rest -= times * width;
        if (code->last[kind]) {
            machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                                           .reg = machine->count,
                                                           .immediate = code->last[kind] -
                                                                        (code->columns[kind] - 1) *
                                                                            code->tiles[kind][0].lanes});
            machine_allocate(machine, &code->tails[kind]);
        }
        if (times > 1) {
            machine_emit(machine, (struct x86_instruction){
                                      .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = times});
            machine_move_slot(machine, X86_MOV_STORE, X86_RAX, left);
            machine_emit_label(machine, head);
        }
        machine_place_rows(code, code->tiles[kind], code->kinds[kind]);
        if (times > 1 || rest > 0)
            advance_columns(code, width);
        if (times > 1) {
            machine_move_slot(machine, X86_MOV, X86_RAX, left);
            machine_emit_by(machine, X86_SUB_BY, X86_RAX, 1);
            machine_move_slot(machine, X86_MOV_STORE, X86_RAX, left); /* leaves the flags */
            machine_emit_jump(machine, X86_JNE, head);
        }
    }
}

static void place_unknown_columns(struct nest_code *code)
{
    struct machine *machine = code->machine;
    int left = code->nest->state + VECTOR_COLUMNS;
    machine_copy_slot(machine, left, code->nest->counts + VECTOR_COLUMNS);
    for (int kind = 0; kind < COLUMN_KINDS; kind++) {
        int head, next, width = code->columns[kind] * machine->lanes;
        if (!width)
            continue;
        head = machine->labels++;
        next = machine->labels++;
        machine_emit_label(machine, head);
        machine_move_slot(machine, X86_MOV, machine->count, left);
        machine_emit_by(machine, X86_CMP_BY, machine->count, machine_least_columns(code, kind));
        machine_emit_jump(machine, X86_JL, next);
        if (kind == HALF) {
            machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes / 2 + 1);
            machine_emit_jump(machine, X86_JGE, next);
        }
        if (kind >= FOUR && kind <= PAIR)
            machine_emit_by(machine, X86_SUB_BY, machine->count, (code->columns[kind] - 1) * machine->lanes);
        if (kind >= FOUR)
            machine_allocate(machine, &code->tails[kind]);
        machine_place_rows(code, code->tiles[kind], code->kinds[kind]);
        advance_columns(code, width);
        machine_add_to_slot(machine, left, -width);
        machine_emit_jump(machine, X86_JMP, head);
        machine_emit_label(machine, next);
        if (kind == SINGLE && can_compute_again(code))
            step_columns_back(code, head);
    }
}

void machine_place_columns(struct nest_code *code)
{
    struct machine *machine = code->machine;
    if (code->nest->is_along) {
        machine_place_along(code);
        return;
    }
    if (code->nest->index >= 0)
        machine_copy_slot(machine, code->nest->index, first_column(code->loop));
    for (int k = 0; k < code->loop->streams.count && !code->is_one[VECTOR_COLUMNS]; k++)
        machine_copy_slot(machine, code->loop->streams.items[k].state + VECTOR_COLUMNS,
                          code->loop->streams.items[k].slot);
    machine->head = machine->labels++;
    machine_emit_label(machine, machine->head);
    if (code->extents[VECTOR_COLUMNS])
        place_known_columns(code);
    else
        place_unknown_columns(code);
}

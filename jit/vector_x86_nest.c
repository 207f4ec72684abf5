/*
 * vector_x86_nest.c: a nest as a function of machine code.
 *
 * Consumes the values of a nest (vector_nest.c); produces code that goes through rows and columns tile by
 * tile. A tile is a few rows of one or more vectors side by side; its accumulators are in registers while the
 * depths run. What is the same for all its rows is loaded once for them, what is the same for all its columns
 * is loaded into all lanes. The last columns are tiles one vector wide, under a mask, with AVX-512 two
 * vectors, of which the second is, or half a vector; the last rows are tiles of fewer rows. Columns are the
 * outer loop, so that what differs by column stays in the first cache. A nest without rows has tiles of one
 * row and of many vectors, and with AVX-512 for the last columns of up to four: each accumulator waits for
 * itself, so that one takes as long as all.
 *
 * Where the code is it remembers in slots of its own: for each loop how many iterations are left, for each
 * stream the address at the start of the loop. General registers hold addresses while a section runs.
 */
#include "vector_x86_nest.h"
#include "../base/number.h"
#include "pass.h"
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

#include <limits.h>
#include <string.h>

/* ---- values ------------------------------------------------------------------------------------- */

/* Tiles of few columns have more rows with AVX2, or of lanes along the depths, and the registers of the
 * others. */
int machine_nest_partial(struct nest_code *code, const struct tile *tile, enum vector_type type, int slot,
                         int row, int column)
{
    bool is_spread = machine_is_avx512(code->machine) && !code->nest->is_along;
    return machine_keep(code->machine, KEPT_PARTIAL, type, slot,
                        (uint64_t)(row * (is_spread ? MOST_COLUMNS : tile->columns) + column));
}

static int partial_of(struct nest_code *code, const struct tile *tile, const struct vector_value *value,
                      int row, int column)
{
    return machine_nest_partial(code, tile, value->type, value->slot, row, column);
}

/* Those that there are, of the ones in the mask. */
static int lanes_of(struct nest_code *code, const struct tile *tile, int mask, int column)
{
    int number = code->nest->is_along ? TAIL_OF_COLUMNS : 0;
    int last = tile->is_last && column + 1 == tile->columns
                   ? machine_keep(code->machine, KEPT_TAIL, VECTOR_MASK, number, 0)
                   : 0;
    return last && mask ? machine_and(code->machine, mask, last) : last ? last : mask;
}

static int mask_of(struct nest_code *code, const struct tile *tile, const struct vector_value *value,
                   int mask, int column)
{
    const struct vector_stream *stream = &code->loop->streams.items[value->stream];
    return stream->strides[VECTOR_COLUMNS].kind == VECTOR_STAYS ? mask : lanes_of(code, tile, mask, column);
}

/* Whether what is loaded is one element for all columns, each of which may have another mask: it is loaded
 * once, where any of these has a lane. Without rows columns are built one by one. */
static bool is_for_all_columns(const struct nest_code *code, const struct vector_value *value)
{
    bool is_guarded = dtype_table[value->dtype].size >= 4 && value->type != VECTOR_MASK;
    return code->nest->first == VECTOR_ROWS && value->kind == VECTOR_LOAD && value->mask >= 0 &&
           (machine_is_avx512(code->machine) || (is_guarded && !code->nest->is_along)) &&
           code->loop->streams.items[value->stream].strides[VECTOR_COLUMNS].kind == VECTOR_STAYS;
}

/* The mask of the value, or'ed over the columns: for all rows once. With AVX2 what guards a load of the type.
 */
static int mask_of_any(struct nest_code *code, const struct tile *tile, enum vector_type type, int number)
{
    const int *masks = &code->registers[number * MOST_COLUMNS];
    const struct vector_value *value = &code->loop->values.items[number];
    bool is_guard = !machine_is_avx512(code->machine);
    int any = masks[0], *known = &code->any[2 * number + (is_guard && vector_type_is_wide(type))];
    if (!value->by_row && *known)
        return *known;
    for (int column = 1; column < tile->columns && value->by_column; column++)
        any = machine_or(code->machine, any, masks[column]);
    *known = is_guard ? machine_any_lane(code->machine, type, any) : any;
    return *known;
}

static int load_value(struct nest_code *code, const struct tile *tile, const struct vector_value *value,
                      int mask, int row, int column)
{
    const struct vector_stream *stream = &code->loop->streams.items[value->stream];
    struct x86_memory memory = machine_address(code, value, row, column);
    if (code->nest->fold && (value->by_row || value->by_column))
        return machine_load_folded(code, value, memory);
    bool is_for_all = is_for_all_columns(code, value);
    if (is_for_all)
        mask = mask_of_any(code, tile, value->type, value->mask);
    else if (!code->in_depths)
        mask = mask_of(code, tile, value, mask, column);
    if (code->in_depths)
        return machine_load_along(code, value, memory, mask);
    if (is_for_all && !machine_is_avx512(code->machine))
        return machine_load_one_guarded(code->machine, value, memory, mask);
    if (stream->strides[VECTOR_COLUMNS].kind == VECTOR_STAYS)
        return machine_load_one(code->machine, value, memory, mask);
    if (stream->step == 2)
        return machine_load_every_other(code->machine, value, memory, mask);
    if (stream->step > 2)
        return machine_load_by_step(code->machine, value, memory, mask);
    return machine_load_from(code->machine, value, memory, mask);
}

static int sum_of(struct nest_code *code, const struct tile *tile, const struct vector_value *value, int row,
                  int column)
{
    return code->taken ? code->taken[column * code->loop->accumulators.count + value->slot]
                       : partial_of(code, tile, value, row, column);
}

/* What was accumulated is rounded, or wrapped, only when it is looked at. */
static int total(struct nest_code *code, const struct vector_value *value, int partial)
{
    return dtype_table[value->dtype].size < 4 ? machine_normal(code->machine, value->dtype, partial)
                                              : partial;
}

/* The lanes that there are and that go on. */
static void repeat(struct nest_code *code, const struct tile *tile, int condition)
{
    struct machine *machine = code->machine;
    if (tile->is_last)
        condition = machine_and(machine, condition, machine_keep(machine, KEPT_TAIL, VECTOR_MASK, 0, 0));
    code->repeat = code->repeat ? machine_or(machine, code->repeat, condition) : condition;
}

/* rax and the flags tell whether some lane goes on. */
static void test_repeat(struct nest_code *code)
{
    struct machine *machine = code->machine;
    bool masks = machine_is_avx512(machine);
    machine_add(machine, (struct x86_instruction){.form = masks ? X86_KMOVW_FROM : X86_VMOVMSKPS,
                                                  .bits = masks ? 128 : 256,
                                                  .reg = X86_RAX,
                                                  .rm = code->repeat});
    machine_add(machine, (struct x86_instruction){.form = X86_AND_BY,
                                                  .rm = X86_RAX,
                                                  .immediate = (1 << (masks ? machine->lanes : 8)) - 1});
    code->repeat = 0;
}

/* The columns' variable in all lanes. */
static int column_number(struct nest_code *code, const struct vector_value *value, int column)
{
    struct machine *machine = code->machine;
    bool wide = value->type == VECTOR_I64;
    int bits = machine_bits(machine, value->type), first = machine_new_vector(machine, bits);
    enum x86_form add = wide ? X86_VPADDQ : X86_VPADDD;
    uint64_t ahead = value->bits * (uint64_t)(column * machine->lanes) & (wide ? UINT64_MAX : UINT32_MAX);
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VPBROADCASTQ : X86_VBROADCASTSS,
                                                  .bits = bits,
                                                  .reg = first,
                                                  .has_memory = true,
                                                  .memory = machine_slot(machine, code->nest->index)});
    first = machine_rvm(machine, add, bits, first,
                        machine_keep(machine, KEPT_STEPS, value->type, 0, value->bits));
    return column ? machine_rvm(machine, add, bits, first, machine_constant(machine, value->type, ahead))
                  : first;
}

/* The other store of two elements side by side, behind the same loops; NULL. */
static const struct vector_value *other_store(const struct nest_code *code, const struct vector_value *value)
{
    const struct vector_value *other = vector_other_store(code->loop, value);
    return other && other->section == value->section ? other : NULL;
}

/* By itself. */
static void store_alone(struct nest_code *code, const struct tile *tile, const struct vector_value *value,
                        int operand, int mask, int row, int column)
{
    struct machine *machine = code->machine;
    int masks[2];
    mask = mask_of(code, tile, value, mask, column);
    int64_t step = code->nest->fold ? 1 : code->loop->streams.items[value->stream].step;
    struct x86_memory memory = machine_address(code, value, row, column);
    if (step == 1) {
        machine_store_to(machine, value, memory, operand, mask);
    } else if (step == 2) {
        machine_every_other_masks(machine, value->type, mask, masks);
        machine_store_every_other(machine, value, memory, operand, masks);
    } else {
        machine_store_by_step(machine, value, memory, operand, mask);
    }
}

/* Where it is one of two, the latter stores both. */
static void store_value(struct nest_code *code, const struct tile *tile, const struct vector_value *value,
                        int operand, int mask, int row, int column)
{
    struct machine *machine = code->machine;
    const struct vector_value *other = other_store(code, value);
    if (!other) {
        store_alone(code, tile, value, operand, mask, row, column);
        return;
    }
    mask = mask_of(code, tile, value, mask, column);
    if (other > value)
        return;
    if (machine_is_disturbed(machine, other, value))
        machine_refuse(machine);
    int before = code->registers[other->operands[0] * MOST_COLUMNS + column];
    bool is_second = other->offset < value->offset;
    const int operands[2] = {is_second ? before : operand, is_second ? operand : before};
    int masks[2];
    machine_pair_masks(machine, value->type, mask, masks);
    machine_store_both(machine, value, machine_address(code, is_second ? other : value, row, column),
                       operands, masks);
}

static int build_value(struct nest_code *code, const struct tile *tile, const struct vector_value *value,
                       int row, int column)
{
    struct machine *machine = code->machine;
    int operands[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        if (value->operands[k] >= 0)
            operands[k] = code->registers[value->operands[k] * MOST_COLUMNS + column];
    int mask = value->mask >= 0 ? code->registers[value->mask * MOST_COLUMNS + column] : 0;
    switch (value->kind) {
    case VECTOR_CONSTANT:
        return machine_constant(machine, value->type, value->bits);
    case VECTOR_SCALAR:
        return machine_keep(machine, KEPT_SCALAR, value->type, value->slot, 0);
    case VECTOR_INDEX:
        return column_number(code, value, column);
    case VECTOR_LOAD:
        return load_value(code, tile, value, mask, row, column);
    case VECTOR_GATHER:
        machine->pointers[value->stream] = code->places[value->stream].bases[0];
        return machine_gather(machine, value, operands[0], lanes_of(code, tile, mask, column));
    case VECTOR_TEST:
        machine_test(machine, value, operands, lanes_of(code, tile, mask, column));
        return 0;
    case VECTOR_STORE:
        store_value(code, tile, value, operands[0], mask, row, column);
        return 0;
    case VECTOR_TOTAL:
        return total(code, value, sum_of(code, tile, value, row, column));
    case VECTOR_SET:
        if (code->nest->is_along) { /* what there is before joins them behind the depths */
            const struct vector_accumulator *accumulator = &code->loop->accumulators.items[value->slot];
            int result = partial_of(code, tile, value, row, column);
            machine_put(machine, value->type, result,
                        machine_combine(machine, accumulator->operation, accumulator->dtype,
                                        machine_bits(machine, value->type), operands[0], result),
                        0);
            return 0;
        }
        machine_add(machine, (struct x86_instruction){.form = X86_VMOVAPS,
                                                      .bits = machine_bits(machine, value->type),
                                                      .reg = partial_of(code, tile, value, row, column),
                                                      .rm = operands[0]});
        return 0;
    case VECTOR_ACCUMULATE:
        if (code->in_depths)
            machine_accumulate_along(code, value, partial_of(code, tile, value, row, column), operands, mask);
        else
            machine_accumulate(machine, value, partial_of(code, tile, value, row, column), operands, mask);
        return 0;
    case VECTOR_REPEAT:
        repeat(code, tile, operands[0]);
        return 0;
    default:
        return machine_operation(machine, value, operands);
    }
}

static int early(struct nest_code *code, int number, int column)
{
    return machine_keep(code->machine, KEPT_EARLY, code->loop->values.items[number].type, number,
                        (uint64_t)column);
}

/* Some columns of one row, or (row < 0) of what is the same for all of them. */
static void build_row(struct nest_code *code, const struct tile *tile, int first, int end, int row,
                      int first_column, int end_column)
{
    for (int k = first; k < end && !code->machine->refused; k++) {
        const struct vector_value *value = &code->loop->values.items[k];
        int *registers = &code->registers[k * MOST_COLUMNS];
        if (value->by_row != (row >= 0))
            continue;
        code->machine->line = value->line;
        for (int column = first_column; column < end_column; column++)
            registers[column] = code->is_early[k] ? early(code, k, column)
                                : column && (!value->by_column || is_for_all_columns(code, value))
                                    ? registers[0]
                                    : build_value(code, tile, value, row < 0 ? 0 : row, column);
    }
    code->machine->line = 0;
}

void machine_build_section(struct nest_code *code, const struct tile *tile, machine_section *section,
                           int first, int end)
{
    code->machine->section = section;
    memset(code->any, 0, sizeof *code->any * 2 * (size_t)code->loop->values.count);
    /* without rows there are many columns: one by one they need fewer registers */
    int together = code->nest->first == VECTOR_ROWS ? tile->columns : 1;
    build_row(code, tile, first, end, -1, 0, tile->columns);
    for (int row = 0; row < tile->rows; row++) {
        for (int column = 0; column < tile->columns; column += together)
            build_row(code, tile, first, end, row, column, column + together);
        if (row + 1 < tile->rows)
            machine_next_row(code);
    }
}

/* ---- what a while loads -------------------------------------------------------------------------- */

/* What the value is computed of, in the body; false: it gathers, which it may not do out of its turn. */
static bool find_needed(const struct nest_code *code, int number, bool *needed)
{
    const struct vector_value *value = &code->loop->values.items[number];
    if (needed[number])
        return true;
    needed[number] = true;
    for (int k = 0; k < 4; k++) {
        int operand = k < 3 ? value->operands[k] : value->mask;
        if (operand >= 0 && !find_needed(code, operand, needed))
            return false;
    }
    return value->kind != VECTOR_GATHER;
}

/* A while stores nothing, and lanes that have stopped do not go on again: what is loaded under its condition
 * alone can be loaded before it, for the lanes that begin. With AVX2 that spares each iteration a wait: there
 * the mask of a load comes out of a vector register, which takes as long as two or three operations. Marks
 * what is loaded so, and what the condition needs. */
static void find_early(struct nest_code *code)
{
    const struct vector_loop *loop = code->loop;
    int condition = -1;
    if (!code->nest->is_while || machine_is_avx512(code->machine))
        return;
    for (int k = code->nest->body; k < code->nest->result; k++)
        if (loop->values.items[k].kind == VECTOR_REPEAT)
            condition = loop->values.items[k].operands[0];
    if (condition < 0 || !find_needed(code, condition, code->is_needed))
        return;
    for (int k = code->nest->body; k < code->nest->result; k++) {
        code->is_early[k] =
            loop->values.items[k].kind == VECTOR_LOAD && loop->values.items[k].mask == condition;
        code->has_early |= code->is_early[k];
    }
}

/* The condition as it is in the beginning, and what is loaded under it. */
static void load_early(struct nest_code *code, struct tile *tile)
{
    const struct vector_loop *loop = code->loop;
    for (int k = code->nest->body; k < code->nest->result; k++)
        for (int column = 0; column < tile->columns; column++) {
            const struct vector_value *value = &loop->values.items[k];
            int *registers = &code->registers[k * MOST_COLUMNS];
            if (!code->is_early[k] && !code->is_needed[k])
                continue;
            registers[column] =
                column && !value->by_column ? registers[0] : build_value(code, tile, value, 0, column);
            if (code->is_early[k])
                machine_into(code->machine, X86_VMOVAPS, machine_bits(code->machine, value->type),
                             early(code, k, column), 0, registers[column], 0);
        }
}

static void build_body(struct nest_code *code, struct tile *tile)
{
    int first = code->nest->body, end = code->nest->result;
    machine_place_streams(code, tile, first, end, true);
    code->machine->section = &tile->enter;
    machine_load_places(code, machine_depth_start(code), tile->rows);
    if (code->has_early)
        load_early(code, tile);
    for (int k = 0; k < code->written_out; k++) {
        code->written = k;
        machine_build_section(code, tile, &tile->body, first, end);
    }
    code->written = 0;
    if (code->nest->is_while) {
        test_repeat(code);
    } else if (code->depth > VECTOR_DEPTHS) {
        if (code->written_out == 1)
            machine_prefetch_next_depths(code, tile);
        machine_next_depth(code, tile->rows, 1);
    }
}

static void build_tile(struct nest_code *code, struct tile *tile)
{
    int body = code->nest->body, result = code->nest->result, end = code->loop->values.count;
    if (code->nest->is_along) {
        machine_build_along(code, tile);
        return;
    }
    build_body(code, tile);
    machine_place_streams(code, tile, 0, body, false);
    code->machine->section = &tile->start;
    machine_load_places(code, VECTOR_ROWS, tile->rows);
    machine_build_section(code, tile, &tile->start, 0, body);
    if (tile->rows >= code->rows && tile->rows != code->extents[VECTOR_ROWS])
        machine_prefetch_next_rows(code, tile);
    if (machine_goes_by_row(code, tile)) {
        machine_build_by_row(code, tile);
        return;
    }
    machine_place_streams(code, tile, result, end, false);
    code->machine->section = &tile->result;
    machine_load_places(code, VECTOR_ROWS, tile->rows);
    machine_build_section(code, tile, &tile->result, result, end);
}

/* ---- the size of tiles --------------------------------------------------------------------------- */

int machine_kept_vectors(const struct machine *machine)
{
    int count = 0;
    for (int k = 0; k < machine->kept.count; k++)
        count += machine->kept.items[k].kind != KEPT_PARTIAL && machine->kept.items[k].kind != KEPT_EARLY &&
                 !machine->registers.items[machine->kept.items[k].virtual_register - MACHINE_VIRTUAL].is_mask;
    return count;
}

/* Whether the loop is over no more than a few of what it accumulates at a time: from what a loop around is
 * at, up to so much further on, or to the end (pass_tile.c). */
static bool goes_by_few(const struct ir_stmt *loop)
{
    enum { FEW = 16 };
    const struct ir_expr *high = loop->high;
    if (high->kind == IR_SYMBOL && high->symbol->kind == IR_SYMBOL_LET)
        high = high->symbol->value;
    if (high->kind != IR_OPERATION || high->operation != OP_MIN)
        return false;
    for (int k = 0; k < 2; k++) {
        struct pass_affine end, begin;
        if (pass_affine_of(high->operands[k], &end) && pass_affine_of(loop->low, &begin) &&
            pass_affine_add(&end, -1, &begin) && !end.count && end.constant <= FEW)
            return true;
    }
    return false;
}

/* The widest tile without rows, a power of two, and one of a quarter of it for what is left. */
static void choose_columns(struct nest_code *code, int vectors)
{
    /* values in the body of one tile; vectors that go on as long as one of them does */
    enum { MOST_VALUES = 200, TOGETHER = 4 };
    int values = code->nest->result - code->nest->body;
    int columns = code->nest->is_while ? TOGETHER : MOST_COLUMNS;
    if (code->nest->depth > VECTOR_DEPTHS && goes_by_few(code->nest->loops[VECTOR_DEPTHS])) {
        code->columns[0] = COLUMNS;
        return;
    }
    while (columns > 1 && (columns > vectors || columns * values > MOST_VALUES))
        columns /= 2;
    code->columns[0] = columns;
    code->columns[1] = columns / 4;
}

/* Constants may take so many registers that none are left for accumulators: these come first then, and
 * constants are read where they are used. Of 16 registers that is so in a while for two vectors, each of
 * which waits for itself. `most`: what there is room for without any constant. */
static int without_constants(const struct nest_code *code, int vectors, int most, int least)
{
    int wanted = code->nest->is_while && !machine_is_avx512(code->machine) ? 2 : least;
    if (vectors < wanted)
        vectors = most < wanted ? least : wanted;
    return vectors;
}

/* Whether vectors may have half their lanes: nothing in the nest goes by their number. Then few columns take
 * half the time where the processor computes vectors of 512 bits in two halves, and the same where it does
 * not. */
static bool has_halves(const struct nest_code *code)
{
    const struct vector_loop *loop = code->loop;
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_GATHER || loop->values.items[k].kind == VECTOR_TEST ||
            loop->values.items[k].kind == VECTOR_INDEX)
            return false;
    for (int k = 0; k < loop->streams.count; k++)
        if (loop->streams.items[k].step != 1 &&
            loop->streams.items[k].strides[VECTOR_COLUMNS].kind != VECTOR_STAYS)
            return false;
    return !code->nest->is_while;
}

/* How many rows of what the nest loads the nearest cache has room for, where these lie a multiple of a page
 * apart, or half of one: their lines are all in one set of its lines, or two, of 8 ways, or 12, of which
 * other loads want some. Each line is loaded from as often as it has elements, if it stays there.
 *
 * Zen 4, 2026-11-30, 1024 x 1024 by as many columns: 8, with 14 rows 550 us, with 6 203; 16, with 14 573,
 * with 8 397, with 6 402; 32, with 14 770, with 12 630, with 8 and 6 576, with 4 576. Where the call says how
 * far they lie apart, 8 are as good as 14 there: 1024 x 1000 by 32 562 and 585, 1024 x 512 by 32 288 and 288.
 */
static int rows_of_cache(const struct nest_code *code)
{
    enum { PAGE = 4096, OTHERS = 2, UNKNOWN = 8 };
    const struct vector_options *options = code->machine->options;
    bool is_wide = options->target == X86_TARGET_AVX512;
    int ways = is_wide && !options->splits ? 12 : 8, most = INT_MAX;
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct vector_stride *rows = &code->loop->streams.items[k].strides[VECTOR_ROWS];
        if (!code->loop->streams.items[k].is_loaded)
            continue;
        int64_t apart = rows->kind == VECTOR_STRIDE ? number_common_divisor(rows->bytes, PAGE) : 0;
        int room = apart >= PAGE / 2 ? (ways - OTHERS) * (int)(PAGE / apart)
                   : rows->kind == VECTOR_RUN_TIME_STRIDE && is_wide && options->splits ? UNKNOWN
                                                                                        : INT_MAX;
        most = room < most ? room : most;
    }
    return most;
}

/* As many rows as there are registers for their accumulators, besides what the body needs. Gives the
 * registers that are kept. */
static int choose_size(struct nest_code *code, int most_rows)
{
    struct machine *machine = code->machine;
    int registers = machine_is_avx512(machine) ? MACHINE_VECTORS : 16;
    bool has_rows = code->nest->first == VECTOR_ROWS;
    struct tile trial = {.rows = 1, .columns = COLUMNS};
    build_body(code, &trial);
    int kept = machine_kept_vectors(machine), pressure = machine_pressure(machine, &trial.body);
    int each = code->loop->accumulators.count, alone = 0;
    for (int k = 0; k < code->loop->accumulators.count; k++)
        alone += !code->loop->accumulators.items[k].symbol; /* one for all rows and columns */
    each -= alone;
    kept += alone;
    int room = registers - pressure, vectors = (room - kept) / each, least = has_rows ? COLUMNS : 1;
    if (!machine_is_avx512(machine) || vectors < least)
        vectors = without_constants(code, vectors, room / each, least);
    code->columns[0] = COLUMNS;
    code->rows = has_rows ? vectors / COLUMNS : 1;
    int room_of_cache = has_rows ? rows_of_cache(code) : INT_MAX;
    most_rows = most_rows < room_of_cache ? most_rows : room_of_cache;
    if (code->rows > most_rows)
        code->rows = most_rows;
    if (!has_rows)
        choose_columns(code, vectors);
    code->columns[SINGLE] = machine_is_avx512(machine) ? 0 : 1;
    code->columns[FOUR] = code->columns[THREE] = code->columns[PAIR] = code->columns[HALF] = 0;
    code->columns[LAST] = 1;
    if (has_rows && machine_is_avx512(machine) && has_halves(code))
        code->columns[PAIR] = COLUMNS, code->columns[HALF] = 1;
    if (!has_rows && machine_is_avx512(machine) && !code->nest->is_while && code->columns[0] >= 4)
        code->columns[FOUR] = 4, code->columns[THREE] = 3, code->columns[PAIR] = 2;
    if (code->rows < 1 || vectors < 1)
        machine_refuse(machine);
    code->single_rows = code->rows;
    if (has_rows && !machine_is_avx512(machine))
        code->single_rows = COLUMNS * code->rows < most_rows ? COLUMNS * code->rows : most_rows;
    kept += code->rows * code->columns[0] * each;
    return kept < room ? kept : room;
}

/* Where masked columns are the last ones, or lanes lie along the depths and columns are not known. */
static bool has_fewer_tiles(const struct nest_code *code, int kind)
{
    return (kind >= FOUR && kind < LAST) || (code->nest->is_along && code->columns[SINGLE]);
}

static void build_tiles(struct nest_code *code)
{
    static const int fewer[ROW_KINDS - 1] = {8, 4, 2, 1};
    /* tiles that there are fewer of for the last columns, but for pairs of vectors */
    static const bool is_spared[ROW_KINDS - 1] = {true, false, true, false};
    enum { EIGHT = 0 };
    int lanes = code->machine->lanes;
    for (int kind = 0; kind < COLUMN_KINDS; kind++) {
        int rows = code->columns[kind] == 1 ? code->single_rows : code->columns[kind] ? code->rows : 0;
        bool is_known = code->extents[VECTOR_COLUMNS];
        for (int k = 0; rows; code->kinds[kind]++) {
            code->tiles[kind][code->kinds[kind]] =
                (struct tile){.rows = rows,
                              .columns = code->columns[kind],
                              .lanes = kind == HALF ? lanes / 2 : lanes,
                              .is_last = is_known ? code->last[kind] > 0 : kind >= FOUR};
            while (k < ROW_KINDS - 1 &&
                   (fewer[k] >= rows || (has_fewer_tiles(code, kind) && is_spared[k] && k != EIGHT) ||
                    (k == EIGHT && kind >= FOUR && kind < LAST && kind != PAIR)))
                k++;
            rows = k < ROW_KINDS - 1 ? fewer[k] : 0;
        }
        for (int k = 0; k < code->kinds[kind] && !code->machine->refused; k++) {
            struct tile *tile = &code->tiles[kind][k];
            code->machine->lanes = tile->lanes;
            if (machine_row_tiles(code, code->tiles[kind], k, code->kinds[kind]))
                build_tile(code, tile);
            code->machine->lanes = lanes;
        }
    }
    for (int kind = FOUR; kind < COLUMN_KINDS; kind++)
        if (code->columns[kind] && code->tiles[kind][0].is_last)
            machine_tail(code->machine, &code->tails[kind], 0);
}

/* ---- all ------------------------------------------------------------------------------------------- */

static void build_setup(struct nest_code *code)
{
    struct machine *machine = code->machine;
    machine->section = &code->setup;
    for (int k = 0; k < machine->kept.count; k++)
        if (machine->kept.items[k].kind != KEPT_PARTIAL)
            machine_setup_kept(machine, &machine->kept.items[k]);
}

/* The code between entry and exit; NULL: there is none with so many rows. */
static struct machine *build_nest(struct arena *arena, const struct vector_loop *loop,
                                  const struct vector_options *options, int most_rows)
{
    struct nest_code *code = arena_new(arena, struct nest_code);
    struct machine *machine = code->machine = arena_new(arena, struct machine);
    code->loop = machine->loop = loop;
    code->nest = loop->nest;
    code->registers = arena_array(arena, int, loop->values.count *MOST_COLUMNS);
    code->any = arena_array(arena, int, 2 * loop->values.count);
    code->is_early = arena_array(arena, bool, loop->values.count);
    code->is_needed = arena_array(arena, bool, loop->values.count);
    machine->arena = arena;
    machine->options = options;
    machine->lanes =
        loop->nest->is_along ? loop->nest->lanes : machine_vector_bits(machine) / (loop->wide ? 64 : 32);
    machine->slots = X86_RDI;
    machine->count = X86_RCX;
    machine->stop = -1;
    find_early(code);
    machine_know_extents(code);
    machine_write_out(code);
    if (code->extents[VECTOR_ROWS] && code->extents[VECTOR_ROWS] < most_rows)
        most_rows = code->extents[VECTOR_ROWS];
    int kept = loop->nest->is_along ? machine_size_along(code, most_rows) : choose_size(code, most_rows);
    machine_choose_columns(code);
    build_tiles(code);
    machine_pin(machine, kept);
    build_setup(code);
    if (machine->refused)
        return NULL;
    machine_allocate(machine, &code->setup);
    machine_place_columns(code);
    if (machine->stop >= 0)
        machine_emit_label(machine, machine->stop);
    return machine->refused ? NULL : machine;
}

/* With fewer rows there are more registers for the rest. */
struct machine *machine_build_nest(struct arena *arena, const struct vector_loop *loop,
                                   const struct vector_options *options)
{
    enum { FEWEST_ROWS = 3 };
    struct machine *machine = NULL;
    for (int rows = MOST_ROWS; rows >= FEWEST_ROWS && !machine; rows -= 3)
        machine = build_nest(arena, loop, options, rows);
    return machine;
}

bool vector_x86_nest(struct arena *arena, const struct vector_loop *loop,
                     const struct vector_options *options, struct vector_listing *listing)
{
    struct machine *machine = machine_build_nest(arena, loop, options);
    if (!machine)
        return false;
    machine_hold_slots(machine);
    machine_assemble(machine, listing);
    return !machine->refused;
}

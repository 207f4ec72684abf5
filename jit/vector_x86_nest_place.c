/*
 * vector_x86_nest_place.c: where the elements are that a tile of a nest loads and stores.
 *
 * Consumes the streams of a nest and the slots that hold their addresses at the start of each loop; appends
 * code that brings these into general registers before a section, and moves them on from row to row and
 * through the innermost loop; gives the address of a value in a row and a column. Fetches ahead what the next
 * rows and iterations will need.
 */
#include "vector_x86_nest.h"

#include <string.h>

/* ---- general registers -------------------------------------------------------------------------- */

static const int general_pool[] = {X86_RSI, X86_R8,  X86_R9,  X86_R11, X86_RDX,
                                   X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
enum { GENERALS = sizeof general_pool / sizeof *general_pool };

/* The place of a free register in the pool; GENERALS: none is. */
static int free_general(const struct nest_code *code)
{
    int k = 0;
    while (k < GENERALS && !(code->free_generals >> general_pool[k] & 1))
        k++;
    return k;
}

static int take_general(struct nest_code *code)
{
    int k = free_general(code);
    if (k == GENERALS) {
        machine_refuse(code->machine);
        return X86_RSI;
    }
    code->free_generals &= ~(1 << general_pool[k]);
    code->machine->general |= 1u << general_pool[k];
    return general_pool[k];
}

/* Registers for the streams of a section. Where all rows are reached at once and their distance is not known,
 * every fifth row has its own. */
void machine_place_streams(struct nest_code *code, const struct tile *tile, int first, int end, bool at_once)
{
    int rows = tile->rows;
    memset(code->places, 0, sizeof code->places);
    code->free_generals = ~0;
    for (int k = first; k < end; k++) {
        int number = code->loop->values.items[k].stream;
        if (number < 0 || code->places[number].used)
            continue;
        struct place *place = &code->places[number];
        bool spread = at_once && rows > 1 &&
                      code->loop->streams.items[number].strides[VECTOR_ROWS].kind == VECTOR_RUN_TIME_STRIDE;
        place->used = true;
        place->bases[0] = take_general(code);
        place->stride = spread ? take_general(code) : -1;
        place->triple = spread && rows > 3 ? take_general(code) : -1;
        bool apart = code->in_depths && tile->columns > 1 &&
                     code->loop->streams.items[number].strides[VECTOR_COLUMNS].kind == VECTOR_RUN_TIME_STRIDE;
        place->across = apart ? take_general(code) : -1;
        place->across_triple = apart && tile->columns > 3 ? take_general(code) : -1;
        if (apart && spread)
            machine_refuse(code->machine);
        for (int base = 1; spread && base * ROWS_PER_BASE < rows; base++)
            place->bases[base] = take_general(code);
    }
}

static void general(struct machine *machine, enum x86_form form, int reg, struct x86_memory memory)
{
    machine_add(machine,
                (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

static void by(struct machine *machine, enum x86_form form, int reg, int64_t number)
{
    machine_add(machine, (struct x86_instruction){.form = form, .rm = reg, .immediate = number});
}

static void add_stride(struct machine *machine, int reg, const struct vector_stride *stride)
{
    if (stride->kind == VECTOR_STRIDE)
        by(machine, X86_ADD_BY, reg, stride->bytes);
    else if (stride->kind == VECTOR_RUN_TIME_STRIDE)
        general(machine, X86_ADD, reg, machine_slot(machine, stride->slot));
}

/* The distance of rows, or columns, and three times that, into registers where there are any for it. */
static void load_distance(struct nest_code *code, int reg, int triple, const struct vector_stride *stride)
{
    struct machine *machine = code->machine;
    if (reg >= 0)
        general(machine, X86_MOV, reg, machine_slot(machine, stride->slot));
    if (triple >= 0)
        general(machine, X86_LEA, triple, (struct x86_memory){reg, reg, 2, 0});
}

/* The addresses that the slots `at` (a loop's, of each stream) hold, into the registers of the places. */
void machine_load_places(struct nest_code *code, int at, int rows)
{
    struct machine *machine = code->machine;
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct vector_stream *stream = &code->loop->streams.items[k];
        const struct place *place = &code->places[k];
        if (!place->used)
            continue;
        general(machine, X86_MOV, place->bases[0],
                machine_slot(machine, machine_place_slot(code, stream, at)));
        load_distance(code, place->across, place->across_triple, &stream->strides[VECTOR_COLUMNS]);
        load_distance(code, place->stride, place->triple, &stream->strides[VECTOR_ROWS]);
        for (int base = 1; place->stride >= 0 && base * ROWS_PER_BASE < rows; base++) {
            general(machine, X86_LEA, place->bases[base],
                    (struct x86_memory){place->bases[base - 1], place->stride, 4, 0});
            machine_add(machine, (struct x86_instruction){
                                     .form = X86_ADD, .reg = place->bases[base], .rm = place->stride});
        }
    }
}

/* Streams that do not reach all rows at once go from row to row. */
void machine_next_row(struct nest_code *code)
{
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct vector_stride *stride = &code->loop->streams.items[k].strides[VECTOR_ROWS];
        const struct place *place = &code->places[k];
        if (place->used && place->stride < 0 && stride->kind == VECTOR_RUN_TIME_STRIDE)
            add_stride(code->machine, place->bases[0], stride);
    }
}

void machine_next_depth(struct nest_code *code, int rows, int count)
{
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct place *place = &code->places[k];
        struct vector_stride stride = code->loop->streams.items[k].strides[code->depth - 1];
        stride.bytes *= count;
        for (int base = 0; place->used && (base == 0 || (place->stride >= 0 && base * ROWS_PER_BASE < rows));
             base++)
            add_stride(code->machine, place->bases[base], &stride);
    }
}

/* As many times as a scale can say, or three times. */
static void add_index(struct x86_memory *memory, int times, int distance, int triple)
{
    if (!times)
        return;
    memory->index = times == 3 ? triple : distance;
    memory->scale = times == 3 ? 1 : times;
}

struct x86_memory machine_address(const struct nest_code *code, const struct vector_value *value, int row,
                                  int column)
{
    const struct vector_stream *stream = &code->loop->streams.items[value->stream];
    const struct vector_stride *rows = &stream->strides[VECTOR_ROWS];
    const struct place *place = &code->places[value->stream];
    int size = dtype_table[value->dtype].size;
    struct x86_memory memory = {place->bases[0], X86_NONE, 1, value->offset * size};
    if (code->in_depths && place->across >= 0)
        add_index(&memory, column, place->across, place->across_triple);
    else if (code->in_depths)
        memory.displacement += column * (int)stream->strides[VECTOR_COLUMNS].bytes;
    else
        memory.displacement += column * code->machine->lanes * (int)stream->step * size;
    row *= code->nest->fold ? code->nest->fold : 1;
    if (code->written)
        memory.displacement += code->written * (int)stream->strides[code->nest->depth - 1].bytes;
    if (rows->kind == VECTOR_STRIDE)
        memory.displacement += (int)rows->bytes * row;
    if (place->stride < 0 || rows->kind != VECTOR_RUN_TIME_STRIDE)
        return memory;
    memory.base = place->bases[row / ROWS_PER_BASE];
    add_index(&memory, row % ROWS_PER_BASE, place->stride, place->triple);
    return memory;
}

/* The depths begin where the loop around the innermost one is. */
int machine_depth_start(const struct nest_code *code)
{
    return code->depth <= VECTOR_DEPTHS + 1 ? VECTOR_ROWS : code->depth - 2;
}

enum { LINE = 64 }; /* bytes of the cache */

/* Depths: a bit more than the latency of the second cache, in tiles of the usual size; a scale of addresses.
 */
enum { AHEAD = 8 };

/* ---- what is fetched ahead ------------------------------------------------------------------------ */

static void prefetch(struct nest_code *code, const struct tile *tile, const struct vector_value *value,
                     enum x86_form form, struct x86_memory memory)
{
    int bytes = tile->columns * code->machine->lanes * dtype_table[value->dtype].size;
    for (int at = 0; at < bytes; at += LINE) {
        general(code->machine, form, 0, memory);
        memory.displacement += LINE;
    }
}

/* Elements that the next rows start from: each row is in a line, and maybe a page, of its own, and all would
 * be waited for at once. */
void machine_prefetch_next_rows(struct nest_code *code, const struct tile *tile)
{
    for (int k = 0; k < code->nest->body; k++) {
        const struct vector_value *value = &code->loop->values.items[k];
        if (value->kind != VECTOR_LOAD)
            continue;
        const struct vector_stream *stream = &code->loop->streams.items[value->stream];
        const struct vector_stride *rows = &stream->strides[VECTOR_ROWS];
        if (rows->kind != VECTOR_RUN_TIME_STRIDE || stream->strides[VECTOR_COLUMNS].kind == VECTOR_STAYS)
            continue;
        int at = code->places[value->stream].bases[0]; /* that of the last row now */
        for (int row = 0; row < tile->rows; row++) {
            add_stride(code->machine, at, rows);
            prefetch(code, tile, value, stream->is_stored ? X86_PREFETCH_WRITE : X86_PREFETCH,
                     (struct x86_memory){at, X86_NONE, 1, value->offset * dtype_table[value->dtype].size});
        }
    }
}

/* Where the stream is `count` depths further on. False: line follows line there, which processors see
 * themselves (and behind the end of a copy may be a page that was never touched: to look for it at each depth
 * takes longer than the products); not known, too far, or no register is left. */
static bool is_ahead(struct nest_code *code, struct tile *tile, const struct vector_value *value, int count,
                     struct x86_memory *memory)
{
    enum { FARTHEST = 1 << 20 };
    const struct vector_stride *depths =
        &code->loop->streams.items[value->stream].strides[code->nest->depth - 1];
    *memory = machine_address(code, value, 0, 0);
    if (depths->kind == VECTOR_STRIDE) {
        memory->displacement += (int)depths->bytes * count;
        return depths->bytes > LINE && depths->bytes <= FARTHEST;
    }
    if (depths->kind != VECTOR_RUN_TIME_STRIDE || free_general(code) == GENERALS || memory->index != X86_NONE)
        return false;
    memory->index = take_general(code);
    memory->scale = count;
    code->machine->section = &tile->enter;
    general(code->machine, X86_MOV, memory->index, machine_slot(code->machine, depths->slot));
    code->machine->section = &tile->body;
    return true;
}

/* Whether the innermost loop ends before what it could fetch ahead. */
static bool is_short(const struct nest_code *code)
{
    int count = vector_known_extent(code->nest->loops[code->depth - 1]);
    return count && count <= 2 * AHEAD;
}

/* What all rows of the tile use, where each depth may have lines of its own. */
void machine_prefetch_next_depths(struct nest_code *code, struct tile *tile)
{
    for (int k = code->nest->body; k < code->nest->result && !is_short(code); k++) {
        const struct vector_value *value = &code->loop->values.items[k];
        struct x86_memory memory;
        if (value->kind == VECTOR_LOAD && !value->by_row && value->by_column &&
            is_ahead(code, tile, value, AHEAD, &memory))
            prefetch(code, tile, value, X86_PREFETCH, memory);
    }
}

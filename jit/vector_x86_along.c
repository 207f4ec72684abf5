/*
 * vector_x86_along.c: tiles of nests whose lanes are iterations of the innermost loop (vector_along.c).
 *
 * Consumes a nest whose values suit that; builds tiles of a few rows and a few columns, for each of which an
 * accumulator has a vector of partial results. The innermost loop goes by vectors, and what is left of it is
 * one under a mask; addresses stay in registers through it and the loop around it. Behind the depths the
 * partial results of a row are combined, half with half, into one vector whose lanes are the columns, and
 * with these before and behind that all is as in other nests: what there was before the depths joins them,
 * the results are stored under a mask.
 */
#include "vector_x86_nest.h"
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

/* ---- values --------------------------------------------------------------------------------------- */

/* Of those in the mask, the iterations that there are. */
static int iterations(const struct nest_code *code, int mask)
{
    struct machine *machine = code->machine;
    int rest = code->is_rest ? machine_keep(machine, KEPT_TAIL, VECTOR_MASK, TAIL_OF_DEPTHS, 0) : 0;
    return rest && mask ? machine_and(machine, rest, mask) : rest ? rest : mask;
}

static const struct vector_stride *depth_stride(const struct nest_code *code,
                                                const struct vector_value *value)
{
    return &code->loop->streams.items[value->stream].strides[code->nest->depth - 1];
}

int machine_load_along(struct nest_code *code, const struct vector_value *value, struct x86_memory memory,
                       int mask)
{
    const struct vector_stride *stride = depth_stride(code, value);
    if (stride->kind == VECTOR_STAYS)
        return machine_load_one(code->machine, value, memory, mask);
    if (stride->bytes == dtype_table[value->dtype].size)
        return machine_load_from(code->machine, value, memory, iterations(code, mask));
    return machine_load_every_other(code->machine, value, memory, iterations(code, mask));
}

static bool is_zero_in_rest(const struct nest_code *code, int number)
{
    const struct vector_value *value = &code->loop->values.items[number];
    return value->kind == VECTOR_LOAD && depth_stride(code, value)->kind != VECTOR_STAYS;
}

/* With AVX2 a mask takes as long as a product, and what masks have left out adds 0. */
void machine_accumulate_along(struct nest_code *code, const struct vector_value *value, int partial,
                              const int *operands, int mask)
{
    bool is_product = value->operation == OP_FMA || value->operation == OP_NEG;
    bool is_zero = is_zero_in_rest(code, value->operands[0]) &&
                   (!is_product || is_zero_in_rest(code, value->operands[1]));
    bool is_sum = is_product || value->operation == OP_ADD;
    if (machine_is_avx512(code->machine) || !is_zero || !is_sum)
        mask = iterations(code, mask);
    machine_accumulate(code->machine, value, partial, operands, mask);
}

/* ---- results --------------------------------------------------------------------------------------- */

enum { LANES = 128 /* bits that unpacking goes by */ };

static int combine(struct machine *machine, const struct vector_accumulator *row, int bits, int a, int b)
{
    return machine_combine(machine, row->operation, row->dtype, bits, a, b);
}

/* Of two vectors, the lanes that `low` and `high` put side by side, combined. */
static int combine_unpacked(struct machine *machine, const struct vector_accumulator *row, enum x86_form low,
                            enum x86_form high, int a, int b)
{
    int bits = machine_bits(machine, row->type);
    return combine(machine, row, bits, machine_rvm(machine, low, bits, a, b),
                   machine_rvm(machine, high, bits, a, b));
}

/* As many results as fill 128 bits, of vectors of as many lanes and more. */
static int results_of_group(struct machine *machine, const struct vector_accumulator *row, const int *vectors,
                            int count)
{
    bool wide = vector_type_is_wide(row->type);
    int pairs[2], results;
    for (int k = 0; k < 2 && !wide; k++) {
        int first = 2 * k < count ? 2 * k : 0, second = 2 * k + 1 < count ? 2 * k + 1 : first;
        pairs[k] = k && count <= 2 ? pairs[0]
                                   : combine_unpacked(machine, row, X86_VUNPCKLPS, X86_VUNPCKHPS,
                                                      vectors[first], vectors[second]);
    }
    results = combine_unpacked(machine, row, X86_VUNPCKLPD, X86_VUNPCKHPD, wide ? vectors[0] : pairs[0],
                               wide ? vectors[count > 1] : pairs[1]);
    for (int bits = machine_bits(machine, row->type); bits > LANES; bits /= 2)
        results = combine(machine, row, bits / 2, results, machine_upper_half(machine, results, bits, wide));
    return results;
}

/* Those of the lanes of each vector, side by side. */
static int results_of(struct machine *machine, const struct vector_accumulator *row, const int *vectors,
                      int count)
{
    bool wide = vector_type_is_wide(row->type), masks = machine_is_avx512(machine);
    int each = wide ? 2 : 4, results = 0;
    for (int first = 0; first < count; first += each) {
        int here =
            results_of_group(machine, row, vectors + first, count - first < each ? count - first : each);
        if (!first)
            results = here;
        else
            results = machine_rvmi(machine, masks ? X86_VINSERTF32X4 : X86_VINSERTF128,
                                   first / each > 1 ? 512 : 256, results, here, first / each);
    }
    return results;
}

/* Those of each row and accumulator, in the first register of the row as it is with one vector of columns. */
static void combine_partials(struct nest_code *code, const struct tile *tile, const struct tile *columns)
{
    const struct vector_loop *loop = code->loop;
    for (int k = 0; k < loop->accumulators.count; k++)
        for (int number = 0; number < tile->rows; number++) {
            const struct vector_accumulator *row = &loop->accumulators.items[k];
            int vectors[VECTOR_ALONG_COLUMNS];
            for (int column = 0; column < tile->columns; column++)
                vectors[column] = machine_nest_partial(code, tile, row->type, k, number, column);
            machine_put(code->machine, row->type,
                        machine_nest_partial(code, columns, row->type, k, number, 0),
                        results_of(code->machine, row, vectors, tile->columns), 0);
        }
}

/* ---- tiles ---------------------------------------------------------------------------------------- */

static void begin_partials(struct nest_code *code, const struct tile *tile)
{
    struct machine *machine = code->machine;
    for (int k = 0; k < code->loop->accumulators.count; k++) {
        const struct vector_accumulator *accumulator = &code->loop->accumulators.items[k];
        uint64_t identity = machine_identity(accumulator->operation, accumulator->dtype);
        enum vector_type type = accumulator->type;
        for (int row = 0; row < tile->rows; row++)
            for (int column = 0; column < tile->columns; column++)
                machine_put(machine, type, machine_nest_partial(code, tile, type, k, row, column),
                            machine_constant(machine, type, identity), 0);
    }
}

/* The registers of the places, from where an iteration of the loop around the innermost one has left them to
 * the next one. */
static void go_on(struct nest_code *code, int rows)
{
    struct machine *machine = code->machine;
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct place *place = &code->places[k];
        int slot = code->loop->streams.items[k].state + code->nest->depth - 1;
        for (int base = 0; place->used && (base == 0 || (place->stride >= 0 && base * ROWS_PER_BASE < rows));
             base++)
            machine_add(machine, (struct x86_instruction){.form = X86_ADD,
                                                          .reg = place->bases[base],
                                                          .has_memory = true,
                                                          .memory = machine_slot(machine, slot)});
    }
}

static void build_depths(struct nest_code *code, struct tile *tile)
{
    int first = code->nest->body, end = code->nest->result, depth = code->nest->depth;
    code->in_depths = true;
    machine_place_streams(code, tile, first, end, true);
    code->machine->section = &tile->enter;
    machine_load_places(code, depth <= VECTOR_DEPTHS + 2 ? VECTOR_ROWS : depth - 3, tile->rows);
    machine_build_section(code, tile, &tile->body, first, end);
    machine_next_depth(code, tile->rows, code->machine->lanes);
    code->is_rest = true;
    machine_build_section(code, tile, &tile->last, first, end);
    code->is_rest = code->in_depths = false;
    code->machine->section = &tile->next;
    if (depth > VECTOR_DEPTHS + 1)
        go_on(code, tile->rows);
}

void machine_build_along(struct nest_code *code, struct tile *tile)
{
    struct tile columns = *tile;
    int body = code->nest->body, result = code->nest->result, end = code->loop->values.count;
    columns.columns = 1;
    columns.is_last = true;
    code->machine->section = &tile->start;
    begin_partials(code, tile);
    build_depths(code, tile);
    code->machine->section = &tile->sums;
    combine_partials(code, tile, &columns);
    machine_place_streams(code, tile, 0, body, false);
    machine_load_places(code, VECTOR_ROWS, tile->rows);
    machine_build_section(code, &columns, &tile->sums, 0, body);
    machine_place_streams(code, tile, result, end, false);
    code->machine->section = &tile->result;
    machine_load_places(code, VECTOR_ROWS, tile->rows);
    machine_build_section(code, &columns, &tile->result, result, end);
}

/* Whether rows or columns of a tile have something in common that is loaded once for all. Where they have
 * not, rows lie apart for nothing: differences of blocks of 8 x 8 in rows a multiple of a page long take 2.4
 * us by two rows of four columns (two lines of each), 5.4 by eight of five and 6.4 by eight of three. */
static bool is_shared(const struct nest_code *code)
{
    for (int k = 0; k < code->loop->streams.count; k++) {
        const struct vector_stream *stream = &code->loop->streams.items[k];
        if (stream->is_loaded && (stream->strides[VECTOR_ROWS].kind == VECTOR_STAYS ||
                                  stream->strides[VECTOR_COLUMNS].kind == VECTOR_STAYS))
            return true;
    }
    return false;
}

/* Tiles of all columns, where these are known and few; else of three and of one, and without rows, where they
 * are small, of five. Of columns that threads share there may be any number. */
static void choose_columns(struct nest_code *code)
{
    enum {
        FEW = 4 /* where there are rows, with 16 registers */,
        FIVE = 5,
        FOUR_OF_THEM = 4,
        THREE_OF_THEM = 3
    };
    const struct vector_nest *nest = code->nest;
    int lanes = code->machine->lanes < VECTOR_ALONG_COLUMNS ? code->machine->lanes : VECTOR_ALONG_COLUMNS;
    int most = machine_is_avx512(code->machine) || nest->first == VECTOR_COLUMNS ? lanes : FEW;
    int known = vector_known_extent(nest->loops[VECTOR_COLUMNS]);
    bool is_alone = nest->first == VECTOR_COLUMNS, is_all = !(is_alone && code->loop->is_parted);
    for (int kind = 0; kind < COLUMN_KINDS; kind++)
        code->columns[kind] = 0;
    code->columns[0] = known && known <= most     ? known
                       : is_alone && lanes > FIVE ? FIVE
                       : is_shared(code)          ? THREE_OF_THEM
                                                  : FOUR_OF_THEM;
    if (code->columns[0] == known && is_all)
        return;
    code->columns[1] = code->columns[0] > THREE_OF_THEM ? THREE_OF_THEM : 0;
    code->columns[SINGLE] = 1;
}

int machine_size_along(struct nest_code *code, int most_rows)
{
    enum {
        MOST = 8 /* rows: more gain nothing */,
        PAIR_OF_ROWS = 2,
        CONSTANTS = 2 /* of starts */,
        LEFT = 6 /* for sums */
    };
    struct machine *machine = code->machine;
    int registers = machine_is_avx512(machine) ? MACHINE_VECTORS : 16, each = code->loop->accumulators.count;
    choose_columns(code);
    struct tile trial = {.rows = 1, .columns = code->columns[0]};
    build_depths(code, &trial);
    int kept = machine_kept_vectors(machine), room = registers - machine_pressure(machine, &trial.body);
    code->rows = code->nest->first == VECTOR_ROWS ? (room - kept) / (trial.columns * each) : 1;
    code->rows = code->rows > MOST ? MOST : code->rows;
    if (code->rows > PAIR_OF_ROWS && !is_shared(code))
        code->rows = PAIR_OF_ROWS;
    code->rows = code->rows > most_rows ? most_rows : code->rows;
    code->single_rows = code->rows;
    if (code->rows < 1)
        machine_refuse(machine);
    for (int kind = 0; kind < COLUMN_KINDS; kind++)
        if (code->columns[kind])
            machine_tail(machine, &code->tails[kind], TAIL_OF_COLUMNS);
    machine_tail(machine, &code->rest, TAIL_OF_DEPTHS);
    kept += CONSTANTS + code->rows * trial.columns * each;
    return kept < registers - LEFT ? kept : registers - LEFT;
}

/* ---- the loops around them ------------------------------------------------------------------------ */

static int innermost(const struct nest_code *code)
{
    return code->nest->depth - 1;
}

/* Vectors of the innermost loop, and what it leaves. */
static void place_innermost(struct nest_code *code, struct tile *tile)
{
    struct machine *machine = code->machine;
    int head = machine->labels++, rest = machine->labels++, end = machine->labels++;
    machine_move_slot(machine, X86_MOV, machine->count, code->nest->state + innermost(code));
    machine_emit_by(machine, X86_CMP_BY, machine->count, 0);
    machine_emit_jump(machine, X86_JE, rest);
    machine_emit_label(machine, head);
    machine_allocate(machine, &tile->body);
    machine_emit_by(machine, X86_SUB_BY, machine->count, 1);
    machine_emit_jump(machine, X86_JNE, head);
    machine_emit_label(machine, rest);
    machine_move_slot(machine, X86_MOV, X86_RAX, code->nest->rest);
    machine_emit_by(machine, X86_CMP_BY, X86_RAX, 0);
    machine_emit_jump(machine, X86_JE, end);
    machine_allocate(machine, &tile->last);
    machine_emit_label(machine, end);
    machine_allocate(machine, &tile->next);
}

static void place_level(struct nest_code *code, struct tile *tile, int level)
{
    struct machine *machine = code->machine;
    int head = machine->labels++, left = code->nest->state + level;
    if (level >= innermost(code) - 1)
        machine_allocate(machine, &tile->enter);
    if (level == innermost(code)) {
        place_innermost(code, tile);
        return;
    }
    bool is_inner = level == innermost(code) - 1;
    if (!is_inner)
        machine_copy_streams(code, level, level == VECTOR_DEPTHS ? VECTOR_ROWS : level - 1);
    machine_copy_slot(machine, left, code->nest->counts + level);
    machine_emit_label(machine, head);
    if (is_inner) {
        place_innermost(code, tile);
    } else {
        place_level(code, tile, level + 1);
        machine_advance_streams(code, level, level, 1);
    }
    machine_add_to_slot(machine, left, -1);
    machine_emit_jump(machine, X86_JNE, head);
}

void machine_place_depths_along(struct nest_code *code, struct tile *tile)
{
    place_level(code, tile, VECTOR_DEPTHS);
    machine_allocate(code->machine, &tile->sums);
}

/* What each stream's registers are short of for the next iteration of the loop around the innermost one,
 * whose vectors have moved them on: in its slot of the latter. */
static void place_steps(struct nest_code *code)
{
    struct machine *machine = code->machine;
    int inner = innermost(code);
    for (int k = 0; k < code->loop->streams.count && inner > VECTOR_DEPTHS; k++) {
        const struct vector_stream *stream = &code->loop->streams.items[k];
        const struct vector_stride *around = &stream->strides[inner - 1];
        int64_t bytes =
            stream->strides[inner].kind == VECTOR_STRIDE ? stream->strides[inner].bytes * machine->lanes : 0;
        machine_emit(machine, (struct x86_instruction){
                                  .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = -bytes});
        machine_move_slot(machine, X86_IMUL, X86_RAX, code->nest->state + inner);
        if (around->kind == VECTOR_STRIDE)
            machine_emit_by(machine, X86_ADD_BY, X86_RAX, around->bytes);
        else if (around->kind == VECTOR_RUN_TIME_STRIDE)
            machine_move_slot(machine, X86_ADD, X86_RAX, around->slot);
        machine_move_slot(machine, X86_MOV_STORE, X86_RAX, stream->state + inner);
    }
}

/* How many vectors the innermost loop has, and what it leaves. */
static void place_counts(struct nest_code *code)
{
    struct machine *machine = code->machine;
    int inner = innermost(code);
    machine_move_slot(machine, X86_MOV, X86_RAX, code->nest->counts + inner);
    machine_emit_by(machine, X86_SHR_BY, X86_RAX, __builtin_ctz((unsigned)machine->lanes));
    machine_move_slot(machine, X86_MOV_STORE, X86_RAX, code->nest->state + inner);
    machine_move_slot(machine, X86_MOV, machine->count, code->nest->counts + inner);
    machine_emit_by(machine, X86_AND_BY, machine->count, machine->lanes - 1);
    machine_move_slot(machine, X86_MOV_STORE, machine->count, code->nest->rest);
    machine_allocate(machine, &code->rest);
}

void machine_place_along(struct nest_code *code)
{
    struct machine *machine = code->machine;
    int left = code->nest->state + VECTOR_COLUMNS;
    place_counts(code);
    place_steps(code);
    for (int k = 0; k < code->loop->streams.count; k++)
        machine_copy_slot(machine, code->loop->streams.items[k].state + VECTOR_COLUMNS,
                          code->loop->streams.items[k].slot);
    machine->head = machine->labels++;
    machine_emit_label(machine, machine->head);
    machine_copy_slot(machine, left, code->nest->counts + VECTOR_COLUMNS);
    for (int kind = 0; kind <= SINGLE; kind++) {
        int head = machine->labels++, next = machine->labels++, count = code->columns[kind];
        if (!count)
            continue;
        machine_emit_label(machine, head);
        machine_move_slot(machine, X86_MOV, X86_RAX, left);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, count);
        machine_emit_jump(machine, X86_JL, next);
        machine_emit(machine, (struct x86_instruction){
                                  .form = X86_MOV_IMMEDIATE, .reg = machine->count, .immediate = count});
        machine_allocate(machine, &code->tails[kind]);
        machine_place_rows(code, code->tiles[kind], code->kinds[kind]);
        machine_advance_streams(code, VECTOR_COLUMNS, VECTOR_COLUMNS, count);
        machine_add_to_slot(machine, left, -count);
        machine_emit_jump(machine, X86_JMP, head);
        machine_emit_label(machine, next);
    }
}

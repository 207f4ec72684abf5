/*
 * vector_x86_nest_results.c: what is made of the sums of a tile, row by row.
 *
 * Consumes a nest whose sums go into functions that are long in line (tanh(a + b[j])): written out for each
 * row of each tile these would be most of the code, and most of the time it takes to make it. So a tile puts
 * its sums into the frame, and a loop takes one row after the other from there, with the registers of the
 * sums for its own use. The slots of the rows go on with it.
 */
#include "vector_x86_nest.h"

/* Whether a row's worth of such values can be computed by itself, with the general registers of the loop. */
static bool is_simple(const struct vector_value *value)
{
    switch (value->kind) {
    case VECTOR_CONSTANT:
    case VECTOR_SCALAR:
    case VECTOR_INDEX:
    case VECTOR_LOAD:
    case VECTOR_STORE:
    case VECTOR_OPERATION:
    case VECTOR_FUSED:
    case VECTOR_TOTAL:
        return true;
    default:
        return false;
    }
}

/* Whether the results call functions; none of what all rows share, which would be computed for each. */
static bool are_long(const struct nest_code *code)
{
    const struct vector_loop *loop = code->loop;
    bool calls = false;
    for (int k = code->nest->result; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool is_call = value->kind == VECTOR_OPERATION && vector_is_call(value->operation);
        if (!is_simple(value) || (is_call && !value->by_row))
            return false;
        calls |= is_call;
    }
    return calls;
}

bool machine_goes_by_row(const struct nest_code *code, const struct tile *tile)
{
    const struct vector_nest *nest = code->nest;
    for (int k = 0; k < code->loop->accumulators.count; k++)
        if (!code->loop->accumulators.items[k].symbol ||
            code->loop->accumulators.items[k].type == VECTOR_MASK)
            return false;
    return nest->first == VECTOR_ROWS && nest->depth > VECTOR_DEPTHS && tile->rows > 1 && !nest->is_along &&
           !nest->is_while && !nest->fold && !code->is_one[VECTOR_ROWS] && are_long(code);
}

/* The sums of a row are numbered column by column. */
static int sums_of_row(const struct nest_code *code, const struct tile *tile)
{
    return tile->columns * code->loop->accumulators.count;
}

static enum vector_type type_of(const struct nest_code *code, int number)
{
    return code->loop->accumulators.items[number % code->loop->accumulators.count].type;
}

enum { VECTOR_BYTES = 64, MOST_SUMS = 32 /* as many as there are registers */ };

/* Bytes of them in the frame. */
static int row_size(const struct nest_code *code, const struct tile *tile)
{
    return VECTOR_BYTES * sums_of_row(code, tile);
}

/* Between a register and the place of a sum, by its number in a row; `index`: a general register. */
static void move_sum(struct nest_code *code, const struct tile *tile, enum x86_form form, int reg, int index,
                     int row, int number)
{
    struct machine *machine = code->machine;
    int place = code->sums + row * row_size(code, tile) + number * VECTOR_BYTES;
    machine_add(machine, (struct x86_instruction){.form = form,
                                                  .bits = machine_bits(machine, type_of(code, number)),
                                                  .reg = reg,
                                                  .has_memory = true,
                                                  .memory = {X86_RSP, index, 1, place}});
}

/* The slot that counts the bytes up to the end of the last row: that of the outermost depth, which is done.
 */
static int counter_of(const struct nest_code *code)
{
    return code->nest->state + VECTOR_DEPTHS;
}

static void keep_sums(struct nest_code *code, struct tile *tile)
{
    int accumulators = code->loop->accumulators.count;
    code->machine->section = &tile->keep;
    for (int row = 0; row < tile->rows; row++)
        for (int k = 0; k < sums_of_row(code, tile); k++)
            move_sum(
                code, tile, X86_VMOVUPS_STORE,
                machine_nest_partial(code, tile, type_of(code, k), k % accumulators, row, k / accumulators),
                X86_NONE, row, k);
}

static void take_sums(struct nest_code *code, struct tile *tile)
{
    struct machine *machine = code->machine;
    machine->section = &tile->result;
    machine_add(machine, (struct x86_instruction){.form = X86_MOV,
                                                  .reg = machine->count,
                                                  .has_memory = true,
                                                  .memory = machine_slot(machine, counter_of(code))});
    code->taken = arena_array(machine->arena, int, sums_of_row(code, tile));
    for (int k = 0; k < sums_of_row(code, tile); k++) {
        code->taken[k] = machine_new_vector(machine, machine_bits(machine, type_of(code, k)));
        move_sum(code, tile, X86_VMOVUPS_LOAD, code->taken[k], machine->count, tile->rows, k);
    }
}

void machine_build_by_row(struct nest_code *code, struct tile *tile)
{
    int first = code->nest->result, end = code->loop->values.count;
    struct tile row = *tile;
    row.rows = 1;
    if (!code->has_sums)
        code->sums = machine_frame(code->machine, MOST_SUMS * VECTOR_BYTES);
    code->has_sums = true;
    if (tile->rows * sums_of_row(code, tile) > MOST_SUMS)
        machine_refuse(code->machine);
    keep_sums(code, tile);
    take_sums(code, tile);
    machine_place_streams(code, &row, first, end, false);
    machine_load_places(code, VECTOR_ROWS, 1);
    machine_build_section(code, &row, &tile->result, first, end);
    code->taken = NULL;
    tile->is_by_row = true;
}

void machine_place_by_row(struct nest_code *code, struct tile *tile)
{
    struct machine *machine = code->machine;
    int head = machine->labels++;
    machine_allocate(machine, &tile->keep);
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                                   .reg = X86_RAX,
                                                   .immediate = -(tile->rows * row_size(code, tile))});
    machine_move_slot(machine, X86_MOV_STORE, X86_RAX, counter_of(code));
    machine_emit_label(machine, head);
    machine->is_without_partials = true;
    machine_allocate(machine, &tile->result);
    machine->is_without_partials = false;
    machine_advance_streams(code, VECTOR_ROWS, VECTOR_ROWS, 1);
    machine_add_to_slot(machine, counter_of(code), row_size(code, tile));
    machine_emit_jump(machine, X86_JNE, head);
}

/*
 * vector_x86_turn.c: rows of a vector loop that only turn (vector_x86_transpose.c), without masks.
 *
 * Consumes such a loop of elements of 32 or 64 bits; produces code for AVX2 that goes through it in strips of
 * as many rows as a line of the cache has elements, of what is loaded: so each line is fetched once, and one
 * square after the other is turned in registers. What is left at the edges goes element by element. The
 * columns come in blocks, of all rows each: the pages they lie in are known to the processor then, where of
 * a large tensor's each column would be one that has just been forgotten.
 */
#include "vector_x86_turn.h"

enum {
    AT = X86_RAX,
    FAR = X86_RCX,  /* half of a square behind AT */
    FROM = X86_RSI, /* the first column of these rows */
    INTO = X86_RDX, /* the first of these rows */
    ROWS_LEFT = X86_R8,
    STEP = X86_R9,     /* bytes from column to column of what is loaded */
    STEPS = X86_R13,   /* three of them */
    STRIDE = X86_R10,  /* from row to row of what is stored */
    STRIDES = X86_R14, /* three of them */
    SQUARE_FROM = X86_R11,
    SQUARE_INTO = X86_RBX,
    COLUMNS_LEFT = X86_R12, /* of these rows */
    COLUMNS = X86_R15,      /* of the block */
    WIDTH = 32,             /* bytes of a vector */
    LINE = 64,
    MOST_COLUMNS = 256, /* in a block */
    ONE = 15            /* an element at the edges */
};

/* ---- general registers ---------------------------------------------------------------------------- */

static void move(const struct turning *turning, enum x86_form form, int reg, struct x86_memory memory)
{
    machine_emit(turning->machine,
                 (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

static void from_slot(const struct turning *turning, int reg, int slot)
{
    move(turning, X86_MOV, reg, machine_slot(turning->machine, slot));
}

static void to_slot(const struct turning *turning, int reg, int slot)
{
    move(turning, X86_MOV_STORE, reg, machine_slot(turning->machine, slot));
}

static void combine(const struct turning *turning, enum x86_form form, int to, int from)
{
    machine_emit(turning->machine, (struct x86_instruction){.form = form, .reg = to, .rm = from});
}

/* `to` = a + b * scale. */
static void lea(const struct turning *turning, int to, int a, int b, int scale)
{
    move(turning, X86_LEA, to, (struct x86_memory){a, b, scale, 0});
}

/* ---- a square --------------------------------------------------------------------------------------- */

/* Vector `number` of a square: of the first four from AT on, of the others from FAR on. */
static struct x86_memory vector_at(int number, int distance, int three)
{
    struct x86_memory memory = {number < 4 ? AT : FAR, X86_NONE, 1, 0};
    number %= 4;
    if (number) {
        memory.index = number == 3 ? three : distance;
        memory.scale = number == 2 ? 2 : 1;
    }
    return memory;
}

static void set_far(const struct turning *turning, int distance)
{
    if (turning->lanes > 4)
        lea(turning, FAR, AT, distance, 4);
}

static void mix(const struct turning *turning, enum x86_form form, int to, int a, int b)
{
    machine_emit(turning->machine,
                 (struct x86_instruction){.form = form, .bits = 256, .reg = to, .vvvv = a, .rm = b});
}

/* Half a vector of each of two columns, as far apart as half a square. */
static void load_halves(const struct turning *turning, int reg, int column, int displacement)
{
    struct x86_instruction load = {.form = X86_VMOVUPS_LOAD,
                                   .bits = 128,
                                   .reg = reg,
                                   .has_memory = true,
                                   .memory = vector_at(column, STEP, STEPS),
                                   .line = turning->load->line};
    load.memory.displacement = displacement;
    machine_emit(turning->machine, load);
    load.form = X86_VINSERTF128;
    load.bits = 256;
    load.vvvv = reg;
    load.immediate = 1;
    load.memory = vector_at(column + turning->lanes / 2, STEP, STEPS);
    load.memory.displacement = displacement;
    machine_emit(turning->machine, load);
}

/* The rows of one half of a square, out of the vectors from `first` on: each is turned within its halves.
 * Gives the first of the results. */
static int turn_half(const struct turning *turning, int first)
{
    int other = first + 8;
    if (turning->size == 8) {
        mix(turning, X86_VUNPCKLPD, other, first, first + 1);
        mix(turning, X86_VUNPCKHPD, other + 1, first, first + 1);
        return other;
    }
    for (int k = 0; k < 4; k += 2) {
        mix(turning, X86_VUNPCKLPS, other + k, first + k, first + k + 1);
        mix(turning, X86_VUNPCKHPS, other + k + 1, first + k, first + k + 1);
    }
    for (int k = 0; k < 2; k++) {
        mix(turning, X86_VUNPCKLPD, first + 2 * k, other + k, other + k + 2);
        mix(turning, X86_VUNPCKHPD, first + 2 * k + 1, other + k, other + k + 2);
    }
    return first;
}

static void store_row(const struct turning *turning, int reg, int row)
{
    machine_emit(turning->machine, (struct x86_instruction){.form = X86_VMOVUPS_STORE,
                                                            .bits = 256,
                                                            .reg = reg,
                                                            .has_memory = true,
                                                            .memory = vector_at(row, STRIDE, STRIDES),
                                                            .line = turning->store->line});
}

/* Number `part` of those that lie one behind the other along the rows. */
static void place_square(const struct turning *turning, int part)
{
    int half = turning->lanes / 2;
    combine(turning, X86_MOV, AT, SQUARE_FROM);
    set_far(turning, STEP);
    for (int k = 0; k < turning->lanes; k++)
        load_halves(turning, k, k % half, part * WIDTH + k / half * (WIDTH / 2));
    if (part)
        lea(turning, AT, SQUARE_INTO, STRIDE, turning->lanes);
    else
        combine(turning, X86_MOV, AT, SQUARE_INTO);
    set_far(turning, STRIDE);
    for (int k = 0; k < turning->lanes; k += half) {
        int rows = turn_half(turning, k);
        for (int row = 0; row < half; row++)
            store_row(turning, rows + row, k + row);
    }
}

/* ---- edges ------------------------------------------------------------------------------------------ */

static void place_element(const struct turning *turning, struct x86_memory from, struct x86_memory into)
{
    bool wide = turning->size == 8;
    struct x86_instruction copy = {.form = wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD,
                                   .bits = 128,
                                   .reg = ONE,
                                   .has_memory = true,
                                   .memory = from,
                                   .line = turning->load->line};
    machine_emit(turning->machine, copy);
    copy.form = wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE;
    copy.memory = into;
    copy.line = turning->store->line;
    machine_emit(turning->machine, copy);
}

/* The columns that are left of a strip. */
static void place_columns(const struct turning *turning, int parts)
{
    struct machine *machine = turning->machine;
    int head = machine->labels++, done = machine->labels++;
    machine_emit_label(machine, head);
    machine_emit_by(machine, X86_SUB_BY, COLUMNS_LEFT, 1);
    machine_emit_jump(machine, X86_JL, done);
    combine(turning, X86_MOV, AT, SQUARE_INTO);
    for (int row = 0; row < parts * turning->lanes; row++) {
        place_element(turning, (struct x86_memory){SQUARE_FROM, X86_NONE, 1, row * turning->size},
                      (struct x86_memory){AT, X86_NONE, 1, 0});
        combine(turning, X86_ADD, AT, STRIDE);
    }
    combine(turning, X86_ADD, SQUARE_FROM, STEP);
    machine_emit_by(machine, X86_ADD_BY, SQUARE_INTO, turning->size);
    machine_emit_jump(machine, X86_JMP, head);
    machine_emit_label(machine, done);
}

/* The rows that are left. */
static void place_rows(const struct turning *turning)
{
    struct machine *machine = turning->machine;
    int head = machine->labels++, column = machine->labels++, done = machine->labels++;
    machine_emit_label(machine, head);
    machine_emit_by(machine, X86_SUB_BY, ROWS_LEFT, 1);
    machine_emit_jump(machine, X86_JL, done);
    combine(turning, X86_MOV, AT, FROM);
    combine(turning, X86_MOV, FAR, INTO);
    combine(turning, X86_MOV, COLUMNS_LEFT, COLUMNS);
    machine_emit_label(machine, column);
    place_element(turning, (struct x86_memory){AT, X86_NONE, 1, 0}, (struct x86_memory){FAR, X86_NONE, 1, 0});
    combine(turning, X86_ADD, AT, STEP);
    machine_emit_by(machine, X86_ADD_BY, FAR, turning->size);
    machine_emit_by(machine, X86_SUB_BY, COLUMNS_LEFT, 1);
    machine_emit_jump(machine, X86_JG, column);
    machine_emit_by(machine, X86_ADD_BY, FROM, turning->size);
    combine(turning, X86_ADD, INTO, STRIDE);
    machine_emit_jump(machine, X86_JMP, head);
    machine_emit_label(machine, done);
}

/* ---- strips ----------------------------------------------------------------------------------------- */

/* Strips of so many squares' rows as long as there are some, over the columns of the block. */
static void place_strips(const struct turning *turning, int parts)
{
    struct machine *machine = turning->machine;
    int head = machine->labels++, square = machine->labels++, rest = machine->labels++,
        done = machine->labels++;
    machine_emit_label(machine, head);
    machine_emit_by(machine, X86_CMP_BY, ROWS_LEFT, parts * turning->lanes);
    machine_emit_jump(machine, X86_JL, done);
    combine(turning, X86_MOV, SQUARE_FROM, FROM);
    combine(turning, X86_MOV, SQUARE_INTO, INTO);
    combine(turning, X86_MOV, COLUMNS_LEFT, COLUMNS);
    machine_emit_by(machine, X86_SUB_BY, COLUMNS_LEFT, turning->lanes);
    machine_emit_jump(machine, X86_JL, rest);
    machine_emit_label(machine, square);
    for (int part = 0; part < parts; part++)
        place_square(turning, part);
    lea(turning, SQUARE_FROM, SQUARE_FROM, STEP, turning->lanes);
    machine_emit_by(machine, X86_ADD_BY, SQUARE_INTO, WIDTH);
    machine_emit_by(machine, X86_SUB_BY, COLUMNS_LEFT, turning->lanes);
    machine_emit_jump(machine, X86_JGE, square);
    machine_emit_label(machine, rest);
    machine_emit_by(machine, X86_ADD_BY, COLUMNS_LEFT, turning->lanes);
    place_columns(turning, parts);
    machine_emit_by(machine, X86_ADD_BY, FROM, parts * WIDTH);
    for (int part = 0; part < parts; part++)
        lea(turning, INTO, INTO, STRIDE, turning->lanes);
    machine_emit_by(machine, X86_SUB_BY, ROWS_LEFT, parts * turning->lanes);
    machine_emit_jump(machine, X86_JMP, head);
    machine_emit_label(machine, done);
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static void place_start(const struct turning *turning)
{
    const struct vector_stride *rows = &turning->into->strides[VECTOR_ROWS];
    struct x86_instruction constant = {.form = X86_MOV_IMMEDIATE};
    if (turning->from->step_kind == VECTOR_RUN_TIME_STEP) {
        from_slot(turning, STEP, turning->from->slot + 1);
        machine_emit_by(turning->machine, X86_SHL_BY, STEP, __builtin_ctz((unsigned)turning->size));
    } else {
        constant.reg = STEP;
        constant.immediate = turning->from->step * turning->size;
        machine_emit(turning->machine, constant);
    }
    constant.reg = STRIDE;
    constant.immediate = rows->bytes;
    if (rows->kind == VECTOR_STRIDE)
        machine_emit(turning->machine, constant);
    else
        from_slot(turning, STRIDE, rows->slot);
    lea(turning, STEPS, STEP, STEP, 2);
    lea(turning, STRIDES, STRIDE, STRIDE, 2);
}

/* The slots hold where the next block begins, and how many columns there are from there on. */
static void place_blocks(const struct turning *turning)
{
    struct machine *machine = turning->machine;
    int head = machine->labels++, few = machine->labels++, count = machine->loop->count;
    machine_emit_label(machine, head);
    from_slot(turning, COLUMNS, count);
    machine_emit_by(machine, X86_CMP_BY, COLUMNS, MOST_COLUMNS);
    machine_emit_jump(machine, X86_JLE, few);
    machine_emit(machine, (struct x86_instruction){
                              .form = X86_MOV_IMMEDIATE, .reg = COLUMNS, .immediate = MOST_COLUMNS});
    machine_emit_label(machine, few);
    from_slot(turning, ROWS_LEFT, machine->loop->nest->state);
    from_slot(turning, FROM, turning->from->slot);
    from_slot(turning, INTO, turning->into->slot);
    machine_emit_by(machine, X86_ADD_BY, FROM, (int64_t)turning->load->offset * turning->size);
    machine_emit_by(machine, X86_ADD_BY, INTO, (int64_t)turning->store->offset * turning->size);
    place_strips(turning, LINE / WIDTH);
    place_strips(turning, 1);
    place_rows(turning);
    combine(turning, X86_MOV, AT, STEP);
    machine_emit_by(machine, X86_SHL_BY, AT, __builtin_ctz(MOST_COLUMNS));
    from_slot(turning, FROM, turning->from->slot);
    combine(turning, X86_ADD, FROM, AT);
    to_slot(turning, FROM, turning->from->slot);
    from_slot(turning, INTO, turning->into->slot);
    machine_emit_by(machine, X86_ADD_BY, INTO, MOST_COLUMNS * turning->size);
    to_slot(turning, INTO, turning->into->slot);
    from_slot(turning, COLUMNS, count);
    machine_emit_by(machine, X86_SUB_BY, COLUMNS, MOST_COLUMNS);
    to_slot(turning, COLUMNS, count);
    machine_emit_by(machine, X86_CMP_BY, COLUMNS, 0);
    machine_emit_jump(machine, X86_JG, head);
}

void machine_turn(struct turning *turning)
{
    static const int written[] = {SQUARE_INTO, COLUMNS_LEFT, STEPS, STRIDES, COLUMNS};
    turning->lanes = WIDTH / turning->size;
    for (int k = 0; k < (int)(sizeof written / sizeof *written); k++)
        turning->machine->general |= 1u << written[k];
    place_start(turning);
    place_blocks(turning);
}

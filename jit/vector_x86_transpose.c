/*
 * vector_x86_transpose.c: rows of a vector loop that do nothing but turn: what is stored element by element
 * along the columns was loaded with a step, and lies side by side along the rows.
 *
 *     for rows { for columns: y[row, column] = x[column, row] }
 *
 * Consumes such a loop (vector_rows.c) of elements of 32 or 64 bits; produces code that goes through it in
 * squares of as many rows and columns as a vector has lanes: each is loaded along the rows, turned in
 * registers and stored along the columns. So each line is fetched once, where a gather fetches one for each
 * element. At the edges, masks leave out what is not there, and jumps the vectors that are not; without
 * masks (vector_x86_turn.c) elements go one by one there. Rows as long as a vector of large tensors are
 * loaded without masks: loads under one that miss the caches wait for one another (Zen 5: 4096 x 4096 in 21
 * ms, and in 6 without). Within the caches masks do no harm: 360 x 350 in 7.6 us, and in 11 without.
 *
 * Where a tensor is more than the last cache holds, whole lines go past the caches, in any order as fast as
 * one behind the other. So what is loaded sets the order: as many columns at once as a square has, each from
 * one end of a block of rows to the other, as the processor foresees. Rows that are stored begin anywhere in
 * a line: what a square has of the line that the next one completes stays in the frame until then.
 */
#include "vector_x86_loop.h"
#include "vector_x86_turn.h"

/* Where things are while it runs; the slots are in rdi. */
enum {
    AT = X86_RAX,           /* the vector at hand */
    COLUMNS_LEFT = X86_RCX, /* of these rows */
    ROWS_LEFT = X86_R8,
    FROM = X86_RSI, /* the first column of these rows */
    INTO = X86_RDX,
    STEP = X86_R9,         /* bytes from column to column of what is loaded */
    STRIDE = X86_R10,      /* from row to row of what is stored */
    SQUARE_FROM = X86_R11, /* as FROM and INTO, of the square */
    SQUARE_INTO = X86_RBX,
    SQUARE_STEP = X86_R12, /* bytes from square to square */
    BEYOND = X86_R13,      /* elements beyond those of a small tensor, negative if there are fewer */
    /* of a block of rows, while BEYOND and COLUMNS_LEFT are saved: */
    PLACE = X86_R14,      /* what the next square is loaded from, */
    ROW = X86_R15,        /* where the next row goes, */
    KEPT = X86_R13,       /* its line in the frame, */
    BLOCK_LEFT = X86_RCX, /* rows */
    ROW_MASK = 1,
    COLUMN_MASK = 2,
    SMALL_BYTES = 8 << 20,
    LINE = 64
};

/* ---- what it is for ------------------------------------------------------------------------------- */

static bool find_turning(const struct vector_loop *loop, struct turning *turning)
{
    if (loop->values.count != 2 || loop->accumulators.count)
        return false;
    turning->load = &loop->values.items[0];
    turning->store = &loop->values.items[1];
    if (turning->load->kind != VECTOR_LOAD || turning->store->kind != VECTOR_STORE ||
        turning->store->operands[0] != 0 || turning->load->mask >= 0 || turning->store->mask >= 0)
        return false;
    turning->from = &loop->streams.items[turning->load->stream];
    turning->into = &loop->streams.items[turning->store->stream];
    turning->size = dtype_table[turning->load->dtype].size;
    const struct vector_stride *rows = &turning->from->strides[VECTOR_ROWS];
    return turning->load->dtype == turning->store->dtype && turning->size == (loop->wide ? 8 : 4) &&
           turning->from->access->buffer != turning->into->access->buffer &&
           turning->from->step_kind != VECTOR_UNIT && turning->into->step_kind == VECTOR_UNIT &&
           rows->kind == VECTOR_STRIDE && rows->bytes == turning->size && turning->into->is_apart;
}

int vector_turned_target(const struct vector_loop *loop)
{
    struct turning turning;
    return vector_is_rows(loop->nest) && find_turning(loop, &turning) ? turning.store->stream : -1;
}

/* ---- a square --------------------------------------------------------------------------------------- */

static void move(const struct turning *turning, enum x86_form form, int reg, int slot)
{
    machine_emit(turning->machine, (struct x86_instruction){.form = form,
                                                            .reg = reg,
                                                            .has_memory = true,
                                                            .memory = machine_slot(turning->machine, slot)});
}

static void add(const struct turning *turning, int to, int from)
{
    machine_emit(turning->machine, (struct x86_instruction){.form = X86_ADD, .reg = to, .rm = from});
}

static void copy(const struct turning *turning, int to, int from)
{
    machine_emit(turning->machine, (struct x86_instruction){.form = X86_MOV, .reg = to, .rm = from});
}

/* Lanes below the count. */
static void make_mask(const struct turning *turning, int mask, int count)
{
    struct machine *machine = turning->machine;
    int all = machine->labels++;
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = AT, .immediate = -1});
    machine_emit_by(machine, X86_CMP_BY, count, turning->lanes);
    machine_emit_jump(machine, X86_JGE, all);
    machine_emit(machine, (struct x86_instruction){.form = X86_BZHI, .reg = AT, .vvvv = count, .rm = AT});
    machine_emit_label(machine, all);
    machine_emit(machine, (struct x86_instruction){.form = X86_KMOVW_TO, .reg = mask, .rm = AT});
}

/* Vectors first, first + 1, ... from one address on, as many as there are. */
static void transfer(const struct turning *turning, enum x86_form form, int first, int mask, int distance,
                     int count)
{
    struct machine *machine = turning->machine;
    int done = machine->labels++;
    for (int k = 0; k < turning->lanes; k++) {
        machine_emit(machine, (struct x86_instruction){.form = form,
                                                       .bits = 512,
                                                       .reg = first + k,
                                                       .mask = mask,
                                                       .zeroing = mask == ROW_MASK,
                                                       .has_memory = true,
                                                       .memory = {AT, X86_NONE, 1, 0},
                                                       .line = turning->store->line});
        if (k + 1 == turning->lanes)
            break;
        machine_emit_by(machine, X86_CMP_BY, count, k + 1);
        machine_emit_jump(machine, X86_JLE, done);
        add(turning, AT, distance);
    }
    machine_emit_label(machine, done);
}

/* All of them, two by two. */
static void transfer_all(const struct turning *turning, enum x86_form form, int first, int mask, int distance)
{
    for (int k = 0; k < turning->lanes; k++) {
        struct x86_instruction instruction = {.form = form,
                                              .bits = 512,
                                              .reg = first + k,
                                              .mask = mask,
                                              .has_memory = true,
                                              .memory = {AT, k % 2 ? distance : X86_NONE, 1, 0},
                                              .line = turning->store->line};
        machine_emit(turning->machine, instruction);
        if (k % 2 && k + 1 < turning->lanes)
            machine_emit(turning->machine,
                         (struct x86_instruction){
                             .form = X86_LEA, .reg = AT, .has_memory = true, .memory = {AT, distance, 2, 0}});
    }
}

static void mix(const struct turning *turning, enum x86_form form, int to, int a, int b, int immediate)
{
    machine_emit(turning->machine,
                 (struct x86_instruction){
                     .form = form, .bits = 512, .reg = to, .vvvv = a, .rm = b, .immediate = immediate});
}

/* Registers 0 to lanes - 1 by way of those above. First within quarters of vectors, so that quarter q of
 * register g * width + c has column q * width + c of the rows g * width on; then the quarters change places.
 */
static void turn(const struct turning *turning)
{
    enum { OTHER = 16, EVEN = 0x88, ODD = 0xdd };
    bool wide = turning->size == 8;
    int width = wide ? 2 : 4, start = wide ? OTHER : 0, end = OTHER - start;
    enum x86_form quarters = wide ? X86_VSHUFF64X2 : X86_VSHUFF32X4;
    for (int k = 0; k < turning->lanes; k += 2) {
        mix(turning, wide ? X86_VUNPCKLPD : X86_VUNPCKLPS, OTHER + k, k, k + 1, 0);
        mix(turning, wide ? X86_VUNPCKHPD : X86_VUNPCKHPS, OTHER + k + 1, k, k + 1, 0);
    }
    for (int k = 0; !wide && k < turning->lanes; k += 4)
        for (int half = 0; half < 2; half++) {
            mix(turning, X86_VUNPCKLPD, k + 2 * half, OTHER + k + half, OTHER + k + 2 + half, 0);
            mix(turning, X86_VUNPCKHPD, k + 2 * half + 1, OTHER + k + half, OTHER + k + 2 + half, 0);
        }
    for (int c = 0; c < width; c++)
        for (int half = 0; half < 2; half++)
            for (int odd = 0; odd < 2; odd++)
                mix(turning, quarters, end + (2 * odd + half) * width + c, start + 2 * half * width + c,
                    start + (2 * half + 1) * width + c, odd ? ODD : EVEN);
    for (int c = 0; c < width; c++)
        for (int q = 0; q < 4; q++)
            mix(turning, quarters, start + q * width + c, end + 2 * (q & 1) * width + c,
                end + (2 * (q & 1) + 1) * width + c, q & 2 ? ODD : EVEN);
}

/* Few columns of rows that lie one behind the other are as many lines for a square, and few rows of columns
 * that do. The processor does not fetch ahead what stands under masks (Zen 5: 3 x 350000 of 8 images in 9.1
 * ms, and in 1.7 like this). */
static void fetch_ahead(const struct turning *turning, enum x86_form form, int square, int count)
{
    enum { DISTANCE = 2048, AT_ONCE = 4 };
    struct machine *machine = turning->machine;
    int done = machine->labels++;
    for (int k = 0; k < turning->lanes; k++) {
        if (k > 0 && k % AT_ONCE == 0) {
            machine_emit_by(machine, X86_CMP_BY, count, k);
            machine_emit_jump(machine, X86_JLE, done);
        }
        machine_emit(machine, (struct x86_instruction){.form = form,
                                                       .has_memory = true,
                                                       .memory = {square, X86_NONE, 1, DISTANCE + LINE * k}});
    }
    machine_emit_label(machine, done);
}

/* Of large tensors all lanes are loaded where the rows are as long as a vector. */
static void place_loads(const struct turning *turning)
{
    struct machine *machine = turning->machine;
    enum x86_form load = turning->size == 8 ? X86_VMOVUPD_LOAD : X86_VMOVUPS_LOAD;
    int masked = machine->labels++, short_rows = machine->labels++, few = machine->labels++,
        loaded = machine->labels++;
    copy(turning, AT, SQUARE_FROM);
    machine_emit_by(machine, X86_CMP_BY, BEYOND, 0);
    machine_emit_jump(machine, X86_JL, masked);
    machine_emit_by(machine, X86_CMP_BY, ROWS_LEFT, turning->lanes);
    machine_emit_jump(machine, X86_JL, short_rows);
    machine_emit_by(machine, X86_CMP_BY, COLUMNS_LEFT, turning->lanes);
    machine_emit_jump(machine, X86_JL, few);
    transfer_all(turning, load, 0, 0, STEP);
    machine_emit_jump(machine, X86_JMP, loaded);
    machine_emit_label(machine, few);
    fetch_ahead(turning, X86_PREFETCH_WRITE, SQUARE_INTO, COLUMNS_LEFT);
    transfer(turning, load, 0, 0, STEP, COLUMNS_LEFT);
    machine_emit_jump(machine, X86_JMP, loaded);
    machine_emit_label(machine, short_rows);
    fetch_ahead(turning, X86_PREFETCH, SQUARE_FROM, ROWS_LEFT);
    machine_emit_label(machine, masked);
    transfer(turning, load, 0, ROW_MASK, STEP, COLUMNS_LEFT);
    machine_emit_label(machine, loaded);
}

static void place_stores(const struct turning *turning)
{
    struct machine *machine = turning->machine;
    bool wide = turning->size == 8;
    enum x86_form store = wide ? X86_VMOVUPD_STORE : X86_VMOVUPS_STORE;
    int few = machine->labels++, stored = machine->labels++;
    copy(turning, AT, SQUARE_INTO);
    machine_emit_by(machine, X86_CMP_BY, ROWS_LEFT, turning->lanes);
    machine_emit_jump(machine, X86_JL, few);
    transfer_all(turning, store, wide ? 16 : 0, COLUMN_MASK, STRIDE);
    machine_emit_jump(machine, X86_JMP, stored);
    machine_emit_label(machine, few);
    transfer(turning, store, wide ? 16 : 0, COLUMN_MASK, STRIDE, ROWS_LEFT);
    machine_emit_label(machine, stored);
}

static void shift(const struct turning *turning, int reg, int count)
{
    machine_emit(turning->machine,
                 (struct x86_instruction){.form = X86_SHL_BY, .rm = reg, .immediate = count});
}

static void constant(const struct turning *turning, int reg, int64_t number)
{
    machine_emit(turning->machine,
                 (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = reg, .immediate = number});
}

/* The flags say whether any are left. */
static void next_rows(const struct turning *turning)
{
    struct machine *machine = turning->machine;
    machine_emit_by(machine, X86_ADD_BY, FROM, LINE);
    copy(turning, AT, STRIDE);
    shift(turning, AT, turning->lanes == 16 ? 4 : 3);
    add(turning, INTO, AT);
    machine_emit_by(machine, X86_SUB_BY, ROWS_LEFT, turning->lanes);
}

/* ---- past the caches -------------------------------------------------------------------------------- */

enum { BLOCK = 384 /* rows, each of which keeps a line in the frame */, LEAST_SQUARES = 8 };

/* To `others`, if there are few rows or columns, or what is stored is not more than the last cache. */
static void test_large(const struct turning *turning, int others)
{
    struct machine *machine = turning->machine;
    int least = machine->options->stream_bytes / 2;
    machine_emit_by(machine, X86_CMP_BY, BEYOND,
                    least > SMALL_BYTES ? (least - SMALL_BYTES) / turning->size : 0);
    machine_emit_jump(machine, X86_JL, others);
    machine_emit_by(machine, X86_CMP_BY, ROWS_LEFT, 2 * turning->lanes);
    machine_emit_jump(machine, X86_JL, others);
    machine_emit_by(machine, X86_CMP_BY, COLUMNS_LEFT, LEAST_SQUARES * turning->lanes);
    machine_emit_jump(machine, X86_JL, others);
}

/* To `shifted`, if rows that are stored do not begin with lines. */
static void test_lines(const struct turning *turning, int shifted)
{
    for (int k = 0; k < 2; k++) {
        copy(turning, AT, k ? INTO : STRIDE);
        machine_emit_by(turning->machine, X86_AND_BY, AT, LINE - 1);
        machine_emit_jump(turning->machine, X86_JNE, shifted);
    }
}

static struct x86_instruction vector_move(enum x86_form form, int reg, int base, int index, int displacement)
{
    return (struct x86_instruction){
        .form = form, .bits = 512, .reg = reg, .has_memory = true, .memory = {base, index, 1, displacement}};
}

/* The frame's place is brought into the register, or the other way. */
static void frame_move(const struct turning *turning, enum x86_form form, int reg, int place)
{
    machine_emit(turning->machine,
                 (struct x86_instruction){
                     .form = form, .reg = reg, .has_memory = true, .memory = {X86_RSP, X86_NONE, 1, place}});
}

/* Whence a line's lanes come: 0, 1, 2 ... to twice as many as a vector has. */
static void number_lanes(struct turning *turning)
{
    turning->numbers = machine_frame(turning->machine, 2 * LINE);
    for (int byte = 0; byte < 2 * LINE; byte += 8) {
        int64_t lane = byte / turning->size;
        constant(turning, AT, turning->size == 8 ? lane : lane | (lane + 1) << 32);
        frame_move(turning, X86_MOV_STORE, AT, turning->numbers + byte);
    }
}

/* A row of the square, of which the register has the elements: with those kept from the square before it the
 * line is complete in which it begins. */
static void pass_line(const struct turning *turning, int reg, int row)
{
    struct machine *machine = turning->machine;
    bool wide = turning->size == 8;
    int line = wide ? 0 : 16, numbers = line + 1;
    copy(turning, AT, ROW);
    machine_emit_by(machine, X86_AND_BY, AT, LINE - 1);
    machine_emit(machine, (struct x86_instruction){.form = X86_NEG, .rm = AT});
    machine_emit(machine, vector_move(X86_VMOVUPS_LOAD, numbers, X86_RSP, AT, turning->numbers + LINE));
    machine_emit(machine, vector_move(X86_VMOVUPS_LOAD, line, KEPT, X86_NONE, row * LINE));
    machine_emit(machine, vector_move(X86_VMOVUPS_STORE, reg, KEPT, X86_NONE, row * LINE));
    mix(turning, wide ? X86_VPERMT2PD : X86_VPERMT2PS, line, numbers, reg, 0);
    machine_emit(machine, vector_move(X86_VMOVNTPS, line, ROW, AT, 0));
    add(turning, ROW, STRIDE);
}

/* One where there is none before it, or none behind. */
static void store_row(const struct turning *turning, int reg, int row)
{
    machine_emit(turning->machine, vector_move(X86_VMOVUPS_STORE, reg, ROW, X86_NONE, 0));
    machine_emit(turning->machine, vector_move(X86_VMOVUPS_STORE, reg, KEPT, X86_NONE, row * LINE));
    add(turning, ROW, STRIDE);
}

/* The columns behind those that were loaded: AT is at the last two of them. */
static void fetch_columns(const struct turning *turning)
{
    struct machine *machine = turning->machine;
    for (int k = 0; k < turning->lanes; k++) {
        if (k % 2 == 0)
            machine_emit(machine,
                         (struct x86_instruction){
                             .form = X86_LEA, .reg = AT, .has_memory = true, .memory = {AT, STEP, 2, 0}});
        machine_emit(machine, (struct x86_instruction){.form = X86_PREFETCH_SECOND,
                                                       .has_memory = true,
                                                       .memory = {AT, k % 2 ? STEP : X86_NONE, 1, 0}});
    }
}

/* As many columns as a square has, of all rows of the block. */
static void pass_columns(const struct turning *turning,
                         void (*place)(const struct turning *turning, int reg, int row))
{
    struct machine *machine = turning->machine;
    bool wide = turning->size == 8;
    int head = machine->labels++;
    copy(turning, PLACE, SQUARE_FROM);
    copy(turning, ROW, SQUARE_INTO);
    frame_move(turning, X86_LEA, KEPT, turning->kept);
    frame_move(turning, X86_MOV, BLOCK_LEFT, turning->block);
    machine_emit_label(machine, head);
    copy(turning, AT, PLACE);
    transfer_all(turning, wide ? X86_VMOVUPD_LOAD : X86_VMOVUPS_LOAD, 0, 0, STEP);
    fetch_columns(turning);
    turn(turning);
    for (int row = 0; row < turning->lanes; row++)
        place(turning, (wide ? 16 : 0) + row, row);
    machine_emit_by(machine, X86_ADD_BY, PLACE, LINE);
    machine_emit_by(machine, X86_ADD_BY, KEPT, turning->lanes * LINE);
    machine_emit_by(machine, X86_SUB_BY, BLOCK_LEFT, turning->lanes);
    machine_emit_jump(machine, X86_JG, head);
}

/* How many rows the block has, and what the registers hold that others need in it. */
static void begin_block(struct turning *turning)
{
    struct machine *machine = turning->machine;
    int few = machine->labels++;
    number_lanes(turning);
    copy(turning, AT, ROWS_LEFT);
    machine_emit_by(machine, X86_AND_BY, AT, -turning->lanes);
    machine_emit_by(machine, X86_CMP_BY, AT, BLOCK);
    machine_emit_jump(machine, X86_JLE, few);
    constant(turning, AT, BLOCK);
    machine_emit_label(machine, few);
    turning->kept = machine_frame(machine, BLOCK * LINE);
    turning->block = machine_frame(machine, 8);
    turning->beyond = machine_frame(machine, 8);
    turning->left = machine_frame(machine, 8);
    frame_move(turning, X86_MOV_STORE, AT, turning->block);
    frame_move(turning, X86_MOV_STORE, BEYOND, turning->beyond);
    frame_move(turning, X86_MOV_STORE, COLUMNS_LEFT, turning->left);
}

/* On to the next block. */
static void end_block(const struct turning *turning)
{
    struct machine *machine = turning->machine;
    frame_move(turning, X86_MOV, BEYOND, turning->beyond);
    frame_move(turning, X86_MOV, AT, turning->block);
    machine_emit(machine, (struct x86_instruction){.form = X86_SUB, .reg = ROWS_LEFT, .rm = AT});
    copy(turning, PLACE, AT);
    machine_emit(machine, (struct x86_instruction){.form = X86_IMUL, .reg = PLACE, .rm = STRIDE});
    add(turning, INTO, PLACE);
    shift(turning, AT, turning->size == 8 ? 3 : 2);
    add(turning, FROM, AT);
}

/* On by as many columns as AT says. */
static void move_on(const struct turning *turning)
{
    copy(turning, PLACE, AT);
    machine_emit(turning->machine, (struct x86_instruction){.form = X86_IMUL, .reg = PLACE, .rm = STEP});
    add(turning, SQUARE_FROM, PLACE);
    shift(turning, AT, turning->size == 8 ? 3 : 2);
    add(turning, SQUARE_INTO, AT);
}

/* A block of rows, square by square. Of the first columns, and of the last, what shares a line with another
 * row is stored as usual; and so are those behind the last whole square, with some that are there already. */
static void place_block(struct turning *turning)
{
    struct machine *machine = turning->machine;
    int ends = machine->labels++, behind = machine->labels++, next = machine->labels++,
        lines = machine->labels++, done = machine->labels++;
    begin_block(turning);
    test_lines(turning, ends);
    machine_emit_jump(machine, X86_JMP, lines);
    machine_emit_label(machine, ends);
    pass_columns(turning, store_row);
    machine_emit_label(machine, behind);
    frame_move(turning, X86_MOV, AT, turning->left);
    machine_emit_by(machine, X86_SUB_BY, AT, turning->lanes);
    machine_emit_jump(machine, X86_JLE, done);
    machine_emit_by(machine, X86_CMP_BY, AT, turning->lanes);
    machine_emit_jump(machine, X86_JGE, next);
    move_on(turning);
    constant(turning, AT, turning->lanes);
    frame_move(turning, X86_MOV_STORE, AT, turning->left);
    machine_emit_jump(machine, X86_JMP, ends);
    machine_emit_label(machine, next);
    frame_move(turning, X86_MOV_STORE, AT, turning->left);
    add(turning, SQUARE_FROM, SQUARE_STEP);
    machine_emit_by(machine, X86_ADD_BY, SQUARE_INTO, LINE);
    machine_emit_label(machine, lines);
    pass_columns(turning, pass_line);
    frame_move(turning, X86_MOV, AT, turning->left);
    machine_emit_by(machine, X86_SUB_BY, AT, turning->lanes);
    machine_emit_by(machine, X86_CMP_BY, AT, turning->lanes);
    machine_emit_jump(machine, X86_JGE, next);
    test_lines(turning, ends);
    machine_emit_jump(machine, X86_JMP, behind);
    machine_emit_label(machine, done);
    end_block(turning);
}

/* ---- all ---------------------------------------------------------------------------------------------- */

static void place_start(const struct turning *turning)
{
    struct machine *machine = turning->machine;
    const struct vector_stride *rows = &turning->into->strides[VECTOR_ROWS];
    move(turning, X86_MOV, ROWS_LEFT, machine->loop->nest->state);
    move(turning, X86_MOV, FROM, turning->from->slot);
    move(turning, X86_MOV, INTO, turning->into->slot);
    machine_emit_by(machine, X86_ADD_BY, FROM, (int64_t)turning->load->offset * turning->size);
    machine_emit_by(machine, X86_ADD_BY, INTO, (int64_t)turning->store->offset * turning->size);
    if (turning->from->step_kind == VECTOR_RUN_TIME_STEP)
        move(turning, X86_MOV, STEP, turning->from->slot + 1);
    else
        constant(turning, STEP, turning->from->step);
    shift(turning, STEP, turning->size == 8 ? 3 : 2);
    if (rows->kind == VECTOR_STRIDE)
        constant(turning, STRIDE, rows->bytes);
    else
        move(turning, X86_MOV, STRIDE, rows->slot);
    copy(turning, SQUARE_STEP, STEP);
    shift(turning, SQUARE_STEP, turning->lanes == 16 ? 4 : 3);
    move(turning, X86_MOV, BEYOND, machine->loop->elements);
    if (!machine->loop->elements) /* of these rows then, which may be of one matrix of many */
        move(turning, X86_IMUL, BEYOND, machine->loop->nest->state);
    machine_emit_by(machine, X86_SUB_BY, BEYOND, SMALL_BYTES / turning->size);
}

static void place_squares(struct turning *turning)
{
    struct machine *machine = turning->machine;
    int rows = machine->labels++, columns = machine->labels++, done = machine->labels++;
    bool may_pass = machine->options->stream_bytes > 0;
    machine_emit_label(machine, rows);
    make_mask(turning, ROW_MASK, ROWS_LEFT);
    move(turning, X86_MOV, COLUMNS_LEFT, 0);
    copy(turning, SQUARE_FROM, FROM);
    copy(turning, SQUARE_INTO, INTO);
    if (may_pass) {
        test_large(turning, columns);
        place_block(turning);
        machine_emit_by(machine, X86_CMP_BY, ROWS_LEFT, 0);
        machine_emit_jump(machine, X86_JG, rows);
        machine_emit_jump(machine, X86_JMP, done);
    }
    machine_emit_label(machine, columns);
    make_mask(turning, COLUMN_MASK, COLUMNS_LEFT);
    place_loads(turning);
    turn(turning);
    place_stores(turning);
    add(turning, SQUARE_FROM, SQUARE_STEP);
    machine_emit_by(machine, X86_ADD_BY, SQUARE_INTO, 64);
    machine_emit_by(machine, X86_SUB_BY, COLUMNS_LEFT, turning->lanes);
    machine_emit_jump(machine, X86_JG, columns);
    next_rows(turning);
    machine_emit_jump(machine, X86_JG, rows);
    machine_emit_label(machine, done);
    if (may_pass)
        machine_emit(machine, (struct x86_instruction){.form = X86_SFENCE});
}

bool vector_x86_transpose(struct arena *arena, const struct vector_loop *loop,
                          const struct vector_options *options, struct vector_listing *listing)
{
    struct machine *machine = arena_new(arena, struct machine);
    struct turning turning = {.machine = machine};
    machine->arena = arena;
    machine->loop = loop;
    machine->options = options;
    machine->slots = X86_RDI;
    if (!find_turning(loop, &turning))
        return false;
    if (!machine_is_avx512(machine)) {
        machine_turn(&turning);
        machine_assemble(machine, listing);
        return true;
    }
    turning.lanes = 64 / turning.size;
    machine->general = 1u << SQUARE_INTO | 1u << SQUARE_STEP | 1u << BEYOND | 1u << PLACE | 1u << ROW;
    place_start(&turning);
    place_squares(&turning);
    machine_assemble(machine, listing);
    return true;
}

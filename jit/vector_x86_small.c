/*
 * vector_x86_small.c: elements of 8 and 16 bits with a constant step, for AVX-512, which gathers and scatters
 * none of these.
 *
 * Consumes a stream with a step; appends loads and stores of 16 or 8 lanes. What lies within 128 bytes is
 * loaded 16 bytes at a time, the last of which end where the last lane's element does, and brought into their
 * lanes by the 32 bits that they are in, or byte by byte (vector_x86_slim_step.c); backwards they are turned.
 * All else, and what a mask leaves out, goes one by one through the frame, where it lies side by side.
 */
#include "vector_x86_slim.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum { QUARTER = 16 /* bytes */, WHOLE = 4 /* quarters of a vector */, MOST = 2 * WHOLE, BYTE = X86_R10 };

bool machine_is_small_step(const struct machine *machine, const struct vector_value *value)
{
    enum { FARTHEST = 1 << 24 };
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    return machine_is_avx512(machine) && machine->lanes > 1 && dtype_table[stream->dtype].size < 4 &&
           stream->step_kind == VECTOR_CONSTANT_STEP && stream->step < FARTHEST && stream->step > -FARTHEST &&
           machine->pointers[value->stream] >= 0;
}

static struct x86_memory element(struct machine *machine, const struct vector_value *value, int lane)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = dtype_table[stream->dtype].size;
    return (struct x86_memory){machine_base(machine, value->stream), X86_NONE, 1,
                               (value->offset + lane * (int)stream->step) * size};
}

/* ---- one by one ------------------------------------------------------------------------------ */

static void general(struct machine *machine, enum x86_form form, int reg, struct x86_memory memory)
{
    machine_add(machine,
                (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

/* Between the tensor and a place in the frame. */
static void move_lanes(struct machine *machine, const struct vector_value *value, struct x86_memory frame,
                       int mask, bool loads)
{
    int size = dtype_table[value->dtype].size;
    if (mask)
        machine_add(machine, (struct x86_instruction){.form = X86_KMOVW_FROM, .reg = X86_RAX, .rm = mask});
    for (int lane = 0; lane < machine->lanes; lane++) {
        int next = machine->labels;
        struct x86_memory here = element(machine, value, lane);
        if (mask) {
            machine->labels++;
            machine_add(machine, (struct x86_instruction){.form = X86_SHR_BY, .rm = X86_RAX, .immediate = 1});
            machine_add(machine, (struct x86_instruction){.form = X86_JAE, .label = next});
        }
        for (int byte = 0; byte < size; byte++) {
            general(machine, X86_MOVZX_BYTE, BYTE, loads ? here : frame);
            general(machine, X86_MOV_BYTE_STORE, BYTE, loads ? frame : here);
            here.displacement++;
            frame.displacement++;
        }
        if (mask)
            machine_add(machine, (struct x86_instruction){.form = X86_NO_FORM, .label = next});
    }
}

static struct x86_memory frame_for_lanes(struct machine *machine)
{
    return (struct x86_memory){X86_RSP, X86_NONE, 1, machine_frame(machine, 64)};
}

static int load_one_by_one(struct machine *machine, const struct vector_value *value, int mask)
{
    struct x86_memory frame = frame_for_lanes(machine);
    if (mask) { /* other lanes hold 0 */
        int zero = machine_constant(machine, VECTOR_I32, 0);
        machine_add(
            machine,
            (struct x86_instruction){
                .form = X86_VMOVUPS_STORE, .bits = 256, .reg = zero, .has_memory = true, .memory = frame});
    }
    move_lanes(machine, value, frame, mask, true);
    return machine_load_from(machine, value, frame, 0);
}

/* ---- together ------------------------------------------------------------------------------------ */

/* Where lanes have their elements among the quarters that are loaded. */
struct spread {
    int size, step, bytes, quarters;
};

static struct spread spread_of(const struct machine *machine, const struct vector_value *value)
{
    int size = dtype_table[value->dtype].size, step = (int)machine->loop->streams.items[value->stream].step;
    struct spread spread = {size, step, ((machine->lanes - 1) * step + 1) * size, 0};
    spread.quarters = (spread.bytes + QUARTER - 1) / QUARTER;
    return spread;
}

static bool lies_near(const struct machine *machine, const struct vector_value *value)
{
    enum { LANES = 16 };
    struct spread spread = spread_of(machine, value);
    return machine->lanes == LANES && (dtype_is_integer(value->dtype) || dtype_is_half(value->dtype)) &&
           spread.step > 1 && spread.quarters <= MOST;
}

static int first_byte(const struct spread *spread, int quarter)
{
    return quarter < spread->quarters - 1 ? QUARTER * quarter : spread->bytes - QUARTER;
}

/* As first_byte, of steps and sizes that are constants; and where a lane's element is then. */
#define BYTES(step, size) ((15 * (step) + 1) * (size))
#define QUARTERS(step, size) ((BYTES(step, size) + QUARTER - 1) / QUARTER)
#define FIRST(quarter, step, size)                                                                           \
    ((quarter) < QUARTERS(step, size) - 1 ? QUARTER * (quarter) : BYTES(step, size) - QUARTER)
#define AT_BYTE(byte, step, size) ((byte) / QUARTER * QUARTER + (byte)-FIRST((byte) / QUARTER, step, size))
#define AT(lane, step, size) AT_BYTE((lane) * (step) * (size), step, size)
#define PLACE(lane, step, size) AT(lane, step, size) / 4
#define SHIFT(lane, step, size) (32 - 8 * (AT(lane, step, size) % 4 + (size)))
#define FOUR(ENTRY, lane, step, size)                                                                        \
    ENTRY(lane, step, size), ENTRY(lane + 1, step, size), ENTRY(lane + 2, step, size),                       \
        ENTRY(lane + 3, step, size)
#define LANES(ENTRY, step, size)                                                                             \
    {                                                                                                        \
        FOUR(ENTRY, 0, step, size), FOUR(ENTRY, 4, step, size), FOUR(ENTRY, 8, step, size),                  \
            FOUR(ENTRY, 12, step, size)                                                                      \
    }
#define TABLES(step, size)                                                                                   \
    {                                                                                                        \
        LANES(PLACE, step, size), LANES(SHIFT, step, size)                                                   \
    }

/* By step: the 32 bits that each lane's element is in, and by how many these are to be moved up so that it is
 * their highest. Code has their addresses, so that they stay. */
static const uint32_t bytes[][2][16] = {
    [2] = TABLES(2, 1), [3] = TABLES(3, 1), [4] = TABLES(4, 1), [5] = TABLES(5, 1),
    [6] = TABLES(6, 1), [7] = TABLES(7, 1), [8] = TABLES(8, 1)};
static const uint32_t words[][2][16] = {[2] = TABLES(2, 2), [3] = TABLES(3, 2), [4] = TABLES(4, 2)};

static int table(struct machine *machine, const struct spread *spread, bool is_shift)
{
    const uint32_t *bits = spread->size == 1 ? bytes[spread->step][is_shift] : words[spread->step][is_shift];
    return machine_table(machine, (const float *)bits);
}

/* Up to four quarters from one on. */
static int load_quarters(struct machine *machine, const struct vector_value *value,
                         const struct spread *spread, int first)
{
    int result = -1;
    for (int quarter = first; quarter < spread->quarters && quarter < first + WHOLE; quarter++) {
        struct x86_memory memory = element(machine, value, 0);
        bool is_first = quarter == first;
        int next = machine_new_vector(machine, is_first ? 128 : 512);
        memory.displacement += first_byte(spread, quarter);
        machine_add(machine, (struct x86_instruction){.form = is_first ? X86_VMOVUPS_LOAD : X86_VINSERTF32X4,
                                                      .bits = is_first ? 128 : 512,
                                                      .reg = next,
                                                      .vvvv = is_first ? 0 : result,
                                                      .has_memory = true,
                                                      .memory = memory,
                                                      .immediate = is_first ? 0 : quarter - first});
        result = next;
    }
    return result;
}

static int load_together(struct machine *machine, const struct vector_value *value)
{
    struct spread spread = spread_of(machine, value);
    int places = table(machine, &spread, false), shifts = table(machine, &spread, true), result;
    if (spread.quarters <= WHOLE) {
        result =
            machine_rvm(machine, X86_VPERMPS_WIDE, 512, places, load_quarters(machine, value, &spread, 0));
    } else {
        int far = load_quarters(machine, value, &spread, WHOLE);
        result = machine_copy(machine, 512, load_quarters(machine, value, &spread, 0));
        machine_into(machine, X86_VPERMT2PS, 512, result, places, far, 0);
    }
    result = machine_rvm(machine, X86_VPSLLVD, 512, result, shifts);
    bool is_signed = dtype_is_integer(value->dtype) && dtype_is_signed(value->dtype);
    result =
        machine_shift(machine, is_signed ? X86_VPSRAD_BY : X86_VPSRLD_BY,
                      is_signed ? X86_VPSRAD_BY_WIDE : X86_VPSRLD_BY_WIDE, 512, result, 32 - 8 * spread.size);
    return dtype_is_half(value->dtype) ? machine_half_of_bits(machine, value->dtype, result) : result;
}

int machine_load_small_step(struct machine *machine, const struct vector_value *value, int mask)
{
    if (!mask && dtype_is_integer(value->dtype) && machine_can_permute(machine, value))
        return machine_load_permuted(machine, value);
    return !mask && lies_near(machine, value) ? load_together(machine, value)
                                              : load_one_by_one(machine, value, mask);
}

void machine_store_small_step(struct machine *machine, const struct vector_value *value, int operand,
                              int mask)
{
    struct x86_memory frame = frame_for_lanes(machine);
    machine_store_to(machine, value, frame, operand, 0);
    move_lanes(machine, value, frame, mask, false);
}

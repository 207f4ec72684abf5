/*
 * x86_encode.c: instructions to bytes.
 *
 * Consumes instructions whose operands fit their row; produces the bytes that GNU as makes of the same text
 * (a test compares them), growing in an arena. Jumps back are short where they can be, jumps forward never.
 */
#include "x86_encode.h"

#include <string.h>

enum { VEX = X86_VEX, EVEX = X86_EVEX, BOTH = X86_BOTH, L0 = X86_L0, L1 = X86_L1 };
enum { M0F = 1, M0F38, M0F3A };
enum { NP, P66, PF3, PF2 };
enum { W0, W1, WE };

#define WRITES(shape, role)                                                                                  \
    ((role) == X86_R                           ? X86_WRITES_NOTHING                                          \
     : (shape) == X86_VMI                      ? X86_WRITES_VVVV                                             \
     : (shape) == X86_MR || (shape) == X86_MRI ? X86_WRITES_RM                                               \
                                               : X86_WRITES_REG)

#define IS_GENERAL(class) ((class) == X86_D || (class) == X86_G)

const struct x86_row x86_rows[X86_GENERAL_FIRST] = {
#define VECTOR(id, text, prefix, map, pp, opcode, w, shape, reg, vvvv, rm, broadcast, role)                  \
    [X86_##id] = {text,                                                                                      \
                  prefix,                                                                                    \
                  map,                                                                                       \
                  pp,                                                                                        \
                  (opcode)&0xff,                                                                             \
                  (opcode) >> 8,                                                                             \
                  w,                                                                                         \
                  X86_##shape,                                                                               \
                  X86_##reg,                                                                                 \
                  X86_##vvvv,                                                                                \
                  X86_##rm,                                                                                  \
                  broadcast,                                                                                 \
                  X86_##role,                                                                                \
                  WRITES(X86_##shape, X86_##role),                                                           \
                  IS_GENERAL(X86_##reg) || IS_GENERAL(X86_##vvvv) || IS_GENERAL(X86_##rm)},
#include "x86_instructions.def"
};

const struct x86_general_row x86_general_rows[X86_FORM_COUNT - X86_GENERAL_FIRST] = {
#define GENERAL(id, text, shape, opcode, digit)                                                              \
    [X86_##id - X86_GENERAL_FIRST] = {text, X86_##shape, opcode, digit},
#include "x86_instructions.def"
};

/* ---- bytes and labels -------------------------------------------------------------- */

void x86_code_init(struct x86_code *code, struct arena *arena)
{
    memset(code, 0, sizeof *code);
    code->arena = arena;
}

/*
 * Into room that whoever begins an instruction, or data, has made. What puts bytes takes where they go and
 * gives where the next ones do: a place in the list itself would be loaded and stored with each byte.
 */
static inline unsigned char *put(unsigned char *at, unsigned byte)
{
    *at = (unsigned char)byte;
    return at + 1;
}

/* Of at most 8 bytes. */
static inline unsigned char *put_number(unsigned char *at, uint64_t number, int size)
{
    for (int k = 0; k < size; k++)
        at = put(at, (unsigned)(number >> 8 * k) & 0xff);
    return at;
}

int x86_new_label(struct x86_code *code)
{
    list_push(code->arena, &code->labels, -1);
    return code->labels.count - 1;
}

void x86_place_label(struct x86_code *code, int label)
{
    code->labels.items[label] = code->bytes.count;
}

void x86_place_data(struct x86_code *code, int label, const void *data, size_t size)
{
    list_reserve(code->arena, &code->bytes, 2 * (int)size); /* before it less than its size */
    while ((size_t)code->bytes.count % size)
        code->bytes.items[code->bytes.count++] = 0xcc;
    x86_place_label(code, label);
    memcpy(code->bytes.items + code->bytes.count, data, size);
    code->bytes.count += (int)size;
}

/* Four bytes for the distance to a label, `after` bytes before the end of the instruction. */
static unsigned char *put_distance(struct x86_code *code, unsigned char *at, int label, int after)
{
    size_t place = (size_t)(at - code->bytes.items);
    struct x86_fixup fixup = {place, place + 4 + (size_t)after, code->first_label + label};
    list_push(code->arena, &code->fixups, fixup);
    return put_number(at, 0, 4);
}

void x86_finish(struct x86_code *code)
{
    for (int k = 0; k < code->fixups.count; k++) {
        const struct x86_fixup *fixup = &code->fixups.items[k];
        int32_t distance = (int32_t)(code->labels.items[fixup->label] - (long)fixup->from);
        memcpy(code->bytes.items + fixup->at, &distance, sizeof distance);
    }
}

/* ---- operands ---------------------------------------------------------------------- */

int x86_memory_size(const struct x86_instruction *instruction)
{
    if (x86_is_general(instruction->form))
        return 1;
    const struct x86_row *row = &x86_rows[instruction->form];
    int whole = instruction->bits / 8;
    if (instruction->broadcast)
        return row->broadcast;
    switch ((enum x86_class)row->rm) {
    case X86_V:
        return whole;
    case X86_H:
        return whole / 2;
    case X86_Q:
        return whole / 4;
    case X86_E:
        return whole / 8;
    case X86_X:
        return 16;
    case X86_Y:
        return 32;
    case X86_S:
    case X86_D:
        return 4;
    case X86_B:
        return 1;
    case X86_P:
        return 2;
    default:
        return 8;
    }
}

static int bit(int number, int which)
{
    return number >> which & 1;
}

/* ModRM, SIB and displacement. `unit`: what a short displacement counts, a power of two; `after`: bytes that
 * follow. */
static unsigned char *put_operand(struct x86_code *code, unsigned char *at,
                                  const struct x86_instruction *instruction, int reg, int unit, int after)
{
    const struct x86_memory *memory = &instruction->memory;
    int field = (reg & 7) << 3;
    if (!instruction->has_memory)
        return put(at, (unsigned)(0xc0 | field | (instruction->rm & 7)));
    if (memory->base == X86_RIP)
        return put_distance(code, put(at, (unsigned)(0x05 | field)), instruction->label, after);
    int displacement = memory->displacement, units = displacement >> __builtin_ctz((unsigned)unit), mode = 2;
    if (displacement == 0 && (memory->base & 7) != X86_RBP)
        mode = 0;
    else if (!(displacement & (unit - 1)) && units >= -128 && units <= 127)
        mode = 1;
    bool sib = memory->index != X86_NONE || (memory->base & 7) == X86_RSP;
    at = put(at, (unsigned)(mode << 6 | field | (sib ? 4 : memory->base & 7)));
    if (sib) {
        int log = memory->scale == 8 ? 3 : memory->scale == 4 ? 2 : memory->scale == 2 ? 1 : 0;
        int index = memory->index == X86_NONE ? 4 : memory->index & 7;
        at = put(at, (unsigned)(log << 6 | index << 3 | (memory->base & 7)));
    }
    if (mode == 1)
        return put(at, (unsigned)units & 0xff);
    return mode == 2 ? put_number(at, (uint32_t)displacement, 4) : at;
}

/* The high bits of the rm side: bit 3 of the index, of the base. */
static int index_bit(const struct x86_instruction *instruction)
{
    const struct x86_memory *memory = &instruction->memory;
    return instruction->has_memory && memory->index != X86_NONE ? bit(memory->index, 3) : 0;
}

static int base_bit(const struct x86_instruction *instruction)
{
    if (!instruction->has_memory)
        return bit(instruction->rm, 3);
    return instruction->memory.base == X86_RIP ? 0 : bit(instruction->memory.base, 3);
}

/* ---- VEX and EVEX ------------------------------------------------------------------ */

static bool is_vsib(const struct x86_row *row)
{
    return row->shape == X86_GATHER || row->shape == X86_GATHER_V || row->shape == X86_SCATTER;
}

static bool has_vvvv(const struct x86_row *row)
{
    return row->vvvv != X86_N && row->shape != X86_GATHER && row->shape != X86_SCATTER;
}

static bool needs_evex(const struct x86_instruction *instruction, const struct x86_row *row)
{
    if (row->prefix != X86_BOTH)
        return row->prefix == X86_EVEX;
    return instruction->bits == 512 || instruction->mask || instruction->broadcast ||
           (row->reg != X86_N && instruction->reg > 15) || (has_vvvv(row) && instruction->vvvv > 15) ||
           (!instruction->has_memory && instruction->rm > 15);
}

static unsigned char *put_vex(unsigned char *at, const struct x86_instruction *instruction,
                              const struct x86_row *row, int reg, int vvvv)
{
    int length = row->prefix == X86_L1 || (row->prefix != X86_L0 && instruction->bits == 256);
    int last = (~vvvv & 15) << 3 | length << 2 | row->pp;
    int r = bit(reg, 3), x = index_bit(instruction), b = base_bit(instruction);
    if (row->map == M0F && row->wide != W1 && !x && !b)
        return put(put(at, 0xc5), (unsigned)((!r) << 7 | last));
    at = put(at, 0xc4);
    at = put(at, (unsigned)((!r) << 7 | (!x) << 6 | (!b) << 5 | row->map));
    return put(at, (unsigned)((row->wide == W1) << 7 | last));
}

static unsigned char *put_evex(unsigned char *at, const struct x86_instruction *instruction,
                               const struct x86_row *row, int reg, int vvvv)
{
    int length = instruction->bits == 512 ? 2 : instruction->bits == 256 ? 1 : 0;
    int x = instruction->has_memory ? index_bit(instruction) : bit(instruction->rm, 4);
    int high = is_vsib(row) ? bit(instruction->memory.index, 4) : bit(vvvv, 4);
    int second =
        (!bit(reg, 3)) << 7 | (!x) << 6 | (!base_bit(instruction)) << 5 | (!bit(reg, 4)) << 4 | row->map;
    int third = (row->wide != W0) << 7 | (~vvvv & 15) << 3 | 4 | row->pp;
    int fourth = instruction->zeroing << 7 | length << 5 | instruction->broadcast << 4 | (!high) << 3 |
                 instruction->mask;
    return put(put(put(put(at, 0x62), (unsigned)second), (unsigned)third), (unsigned)fourth);
}

static unsigned char *encode_vector(struct x86_code *code, unsigned char *at,
                                    const struct x86_instruction *instruction)
{
    const struct x86_row *row = &x86_rows[instruction->form];
    bool shift = row->shape == X86_VMI;
    bool immediate = shift || row->shape == X86_RMI || row->shape == X86_MRI || row->shape == X86_RVMI;
    int reg = shift ? row->digit : instruction->reg;
    int vvvv = has_vvvv(row) ? instruction->vvvv : 0;
    int unit = 1;

    if (needs_evex(instruction, row)) {
        at = put_evex(at, instruction, row, reg, vvvv);
        unit = instruction->has_memory ? x86_memory_size(instruction) : 1;
    } else {
        at = put_vex(at, instruction, row, reg, vvvv);
    }
    at = put(at, row->opcode);
    at = put_operand(code, at, instruction, reg, unit, immediate || row->shape == X86_RVMR);
    if (immediate)
        return put(at, (unsigned)instruction->immediate & 0xff);
    return row->shape == X86_RVMR ? put(at, (unsigned)instruction->fourth << 4) : at;
}

/* ---- general registers --------------------------------------------------------------- */

static unsigned char *put_rex(unsigned char *at, const struct x86_instruction *instruction, int reg,
                              bool wide, bool byte_register)
{
    int rex = wide << 3 | bit(reg, 3) << 2 | index_bit(instruction) << 1 | base_bit(instruction);
    /* without any, registers 4 to 7 of one byte would be ah, ch, dh, bh */
    return rex || (byte_register && reg >= 4) ? put(at, (unsigned)(0x40 | rex)) : at;
}

static unsigned char *encode_jump(struct x86_code *code, unsigned char *at,
                                  const struct x86_instruction *instruction, int opcode)
{
    long target = code->labels.items[code->first_label + instruction->label], place = at - code->bytes.items;
    if (target >= 0 && target - (place + 2) >= -128)
        return put(put(at, (unsigned)opcode), (unsigned)(target - (place + 2)) & 0xff);
    at = instruction->form == X86_JMP ? put(at, 0xe9) : put(put(at, 0x0f), (unsigned)opcode + 0x10);
    return put_distance(code, at, instruction->label, 0);
}

static unsigned char *encode_immediate(struct x86_code *code, unsigned char *at,
                                       const struct x86_instruction *instruction,
                                       const struct x86_general_row *row)
{
    int64_t value = instruction->immediate;
    bool is_test = row->opcode == 0xf7; /* which has no short form */
    bool is_short = row->shape == X86_RM_I8 || (!is_test && value >= -128 && value <= 127);
    at = put_rex(at, instruction, 0, row->shape != X86_RM_I32, false);
    if (row->shape != X86_RM_I8 && !is_short && !instruction->has_memory && instruction->rm == X86_RAX) {
        at = put(at, is_test ? 0xa9 : (unsigned)(row->digit << 3 | 5)); /* the accumulator's own opcode */
    } else {
        bool one = row->shape == X86_RM_I8 && value == 1;
        at = put(at, one ? 0xd1 : row->shape == X86_RM_I8 || is_test ? row->opcode : is_short ? 0x83 : 0x81);
        at = put_operand(code, at, instruction, row->digit, 1, is_short ? 1 : 4);
        if (one)
            return at;
    }
    return put_number(at, (uint64_t)value, is_short ? 1 : 4);
}

/* mov of a constant: 32 bits where they, extended, give it. */
static unsigned char *encode_constant(struct x86_code *code, unsigned char *at,
                                      const struct x86_instruction *instruction)
{
    int64_t value = instruction->immediate;
    struct x86_instruction in_rm = *instruction;
    in_rm.rm = instruction->reg;
    at = put_rex(at, &in_rm, 0, value < INT32_MIN || value > UINT32_MAX || value < 0, false);
    if (value < 0 && value >= INT32_MIN) {
        at = put_operand(code, put(at, 0xc7), &in_rm, 0, 1, 4);
        return put_number(at, (uint64_t)value, 4);
    }
    at = put(at, (unsigned)(0xb8 | (instruction->reg & 7)));
    return put_number(at, (uint64_t)value, value >= 0 && value <= UINT32_MAX ? 4 : 8);
}

/* Of shapes with two registers. */
static bool is_of_64_bits(const struct x86_general_row *row)
{
    switch ((enum x86_general_shape)row->shape) {
    case X86_R_RM:
    case X86_RM_R:
    case X86_R_RM_0F:
    case X86_R_RM_F3:
    case X86_R_RM8_W:
    case X86_R_RM16_W:
    case X86_R_RM32_W:
        return true;
    default:
        return false;
    }
}

static unsigned char *encode_general(struct x86_code *code, unsigned char *at,
                                     const struct x86_instruction *instruction)
{
    const struct x86_general_row *row = &x86_general_rows[instruction->form - X86_GENERAL_FIRST];
    struct x86_instruction in_rm;
    switch ((enum x86_general_shape)row->shape) {
    case X86_R_RM:
    case X86_RM_R:
    case X86_R_RM32:
    case X86_RM_R32:
    case X86_RM_R8:
    case X86_R_RM8:
    case X86_R_RM_0F:
    case X86_R_RM_F3:
    case X86_R_RM16:
    case X86_R_RM8_W:
    case X86_R_RM16_W:
    case X86_R_RM32_W:
    case X86_RM_R16:
        if (row->shape == X86_RM_R16)
            at = put(at, 0x66);
        if (row->shape == X86_R_RM_F3)
            at = put(at, 0xf3);
        at = put_rex(at, instruction, instruction->reg, is_of_64_bits(row), row->shape == X86_RM_R8);
        if (row->shape == X86_R_RM8 || row->shape == X86_R_RM_0F || row->shape == X86_R_RM_F3 ||
            row->shape == X86_R_RM16 || row->shape == X86_R_RM8_W || row->shape == X86_R_RM16_W)
            at = put(at, 0x0f);
        at = put(at, row->opcode);
        at = put_operand(code, at, instruction, instruction->reg, 1, 0);
        break;
    case X86_RM_I:
    case X86_RM_I32:
    case X86_RM_I8:
        return encode_immediate(code, at, instruction, row);
    case X86_RM_ONLY:
    case X86_RM_CALL:
    case X86_M_0F:
        at = put_rex(at, instruction, 0, row->shape == X86_RM_ONLY, false);
        if (row->shape == X86_M_0F)
            at = put(at, 0x0f);
        at = put(at, row->opcode);
        at = put_operand(code, at, instruction, row->digit, 1, 0);
        break;
    case X86_R_I:
        return encode_constant(code, at, instruction);
    case X86_R_IN_OPCODE:
        in_rm = *instruction;
        in_rm.rm = instruction->reg;
        in_rm.has_memory = false;
        at = put_rex(at, &in_rm, 0, false, false);
        at = put(at, (unsigned)(row->opcode | (instruction->reg & 7)));
        break;
    case X86_ALONE:
        at = put(at, row->opcode);
        break;
    case X86_ALONE_VEX:
        at = put(at, 0xc5);
        at = put(at, 0xf8);
        at = put(at, row->opcode);
        break;
    case X86_ALONE_0F:
        at = put(at, 0x0f);
        at = put(at, row->opcode);
        at = put(at, 0xc0u | (unsigned)row->digit << 3);
        break;
    case X86_JUMP:
        return encode_jump(code, at, instruction, row->opcode);
    }
    return at;
}

void x86_encode(struct x86_code *code, const struct x86_instruction *instruction)
{
    enum { LONGEST = 16 /* bytes; the processor takes 15 */ };
    list_reserve(code->arena, &code->bytes, LONGEST);
    unsigned char *at = code->bytes.items + code->bytes.count;
    at = x86_is_general(instruction->form) ? encode_general(code, at, instruction)
                                           : encode_vector(code, at, instruction);
    code->bytes.count = (int)(at - code->bytes.items);
}

/*
 * flow_x86.c: items of a loop with branches as x86-64 instructions; see flow.h.
 *
 * Consumes items whose values have registers or live in the frame; produces instructions. rax, rcx, rdx and
 * the last three vector registers hold no value: through them goes what lives in the frame, and what an
 * instruction demands of its operands. Where the kernel is to stop, code behind the loop says where and why.
 */
#include "flow_private.h"
#include "vector_x86_loop.h"

enum {
    SCRATCH = FLOW_SCRATCH_FLOAT,
    SECOND = SCRATCH + 1,
    THIRD = SCRATCH + 2,
    SCALAR_BITS = 128,
    FRAME_PIECE = 64
};

struct writer {
    struct machine *machine;
    struct flow_code *code;
    LIST(const struct flow_item *) stops; /* items whose code behind the loop is to come */
    LIST(int) stop_labels;
    int end;
    int room, room_end; /* bytes of the frame where nothing lives yet */
    int bits;           /* of floats in the item that is being written */
    bool has_packed;    /* vectors of 256 bits are computed somewhere */
    bool is_entry;      /* rcx holds the address of the slots, which live in the frame */
};

static const struct flow_value *value_of(const struct writer *writer, int value)
{
    return &writer->code->values.items[value];
}

static void emit(struct writer *writer, struct x86_instruction instruction)
{
    instruction.bits = instruction.bits ? instruction.bits : writer->bits;
    instruction.line = writer->machine->line;
    machine_emit(writer->machine, instruction);
}

static struct x86_memory home_of(struct writer *writer, int value)
{
    struct flow_value *entry = &writer->code->values.items[value];
    int size =
        entry->bits > SCALAR_BITS ? 32 : 16; /* operands of some are so large, whatever counts of them */
    if (entry->home < 0) {
        if (writer->room + size > writer->room_end) {
            writer->room = machine_frame(writer->machine, FRAME_PIECE);
            writer->room_end = writer->room + FRAME_PIECE;
        }
        entry->home = writer->room;
        writer->room += size;
    }
    return (struct x86_memory){X86_RSP, X86_NONE, 1, entry->home};
}

/* ---- operands ---------------------------------------------------------------------------------- */

static void emit_rr(struct writer *writer, enum x86_form form, int reg, int rm)
{
    emit(writer, (struct x86_instruction){.form = form, .reg = reg, .rm = rm});
}

static void emit_memory(struct writer *writer, enum x86_form form, int reg, struct x86_memory memory)
{
    emit(writer, (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

/* Between a register and the value's home. */
static void emit_home(struct writer *writer, bool is_load, int reg, int value)
{
    const struct flow_value *entry = value_of(writer, value);
    enum x86_form load = !entry->is_float ? X86_MOV
                         : entry->bits    ? X86_VMOVUPS_LOAD
                                          : X86_VMOVSD_LOAD,
                  store = !entry->is_float ? X86_MOV_STORE
                          : entry->bits    ? X86_VMOVUPS_STORE
                                           : X86_VMOVSD_STORE;
    emit(writer, (struct x86_instruction){.form = is_load ? load : store,
                                          .bits = entry->bits,
                                          .reg = reg,
                                          .has_memory = true,
                                          .memory = home_of(writer, value)});
}

/* The register that holds the value: its own, or the scratch one, which is loaded. */
static int use(struct writer *writer, int value, int scratch)
{
    const struct flow_value *entry = value_of(writer, value);
    if (entry->at >= 0)
        return entry->at;
    emit_home(writer, true, scratch, value);
    return scratch;
}

/* Where the result is to be made. */
static int target_of(const struct writer *writer, int value, int scratch)
{
    const struct flow_value *entry = value_of(writer, value);
    return entry->at >= 0 ? entry->at : scratch;
}

static void finish(struct writer *writer, int value, int reg)
{
    const struct flow_value *entry = value_of(writer, value);
    if (entry->at == reg)
        return;
    if (entry->at >= 0)
        emit_rr(writer, entry->is_float ? X86_VMOVAPS : X86_MOV, entry->at, reg);
    else
        emit_home(writer, false, reg, value);
}

static void move_to(struct writer *writer, int reg, int value)
{
    const struct flow_value *entry = value_of(writer, value);
    if (entry->at < 0)
        use(writer, value, reg);
    else if (entry->at != reg)
        emit_rr(writer, entry->is_float ? X86_VMOVAPS : X86_MOV, reg, entry->at);
}

/* The last operand of an instruction, in the frame if it is there. */
static void set_rm(struct writer *writer, struct x86_instruction *instruction, int value)
{
    const struct flow_value *entry = value_of(writer, value);
    instruction->has_memory = entry->at < 0;
    if (entry->at < 0)
        instruction->memory = home_of(writer, value);
    else
        instruction->rm = entry->at;
}

static struct x86_memory memory_of(struct writer *writer, const struct flow_item *item)
{
    struct x86_memory memory = item->memory;
    bool is_known = writer->is_entry && memory.base == writer->code->slots;
    memory.base = is_known ? X86_RCX : use(writer, memory.base, X86_RCX);
    memory.index = memory.index >= 0 ? use(writer, memory.index, X86_RDX) : X86_NONE;
    return memory;
}

static void emit_constant(struct writer *writer, int reg, int64_t number)
{
    emit(writer, (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = reg, .immediate = number});
}

/* ---- integers ------------------------------------------------------------------------------------ */

static enum x86_form by_form(enum x86_form form)
{
    switch (form) {
    case X86_ADD:
        return X86_ADD_BY;
    case X86_SUB:
        return X86_SUB_BY;
    case X86_AND:
        return X86_AND_BY;
    case X86_OR:
        return X86_OR_BY;
    default:
        return X86_XOR_BY;
    }
}

/* A sum in a third register. */
static bool write_sum(struct writer *writer, const struct flow_item *item)
{
    int a = value_of(writer, item->operands[0])->at, to = value_of(writer, item->result)->at;
    if (item->form != X86_ADD || a < 0 || to < 0 || a == to)
        return false;
    struct x86_memory memory = {a, X86_NONE, 1, (int)item->immediate};
    if (!item->by_immediate) {
        memory = (struct x86_memory){a, value_of(writer, item->operands[1])->at, 1, 0};
        if (memory.index < 0 || memory.index == to)
            return false;
    }
    emit_memory(writer, X86_LEA, to, memory);
    return true;
}

static void write_alu(struct writer *writer, const struct flow_item *item)
{
    int first = item->operands[0], second = item->operands[1], to = target_of(writer, item->result, X86_RAX);
    if (write_sum(writer, item))
        return;
    if (item->by_immediate) {
        move_to(writer, to, first);
        emit(writer,
             (struct x86_instruction){.form = by_form(item->form), .rm = to, .immediate = item->immediate});
        finish(writer, item->result, to);
        return;
    }
    if (value_of(writer, second)->at == to && value_of(writer, first)->at != to) {
        if (item->form == X86_SUB) {
            to = X86_RAX;
        } else {
            int other = first;
            first = second;
            second = other;
        }
    }
    move_to(writer, to, first);
    struct x86_instruction instruction = {.form = item->form, .reg = to};
    set_rm(writer, &instruction, second);
    emit(writer, instruction);
    finish(writer, item->result, to);
}

static void write_in_place(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, X86_RAX);
    move_to(writer, to, item->operands[0]);
    emit(writer, (struct x86_instruction){.form = item->form, .rm = to, .immediate = item->immediate});
    finish(writer, item->result, to);
}

static void write_shift(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, X86_RAX);
    emit(writer, (struct x86_instruction){.form = item->form,
                                          .reg = to,
                                          .rm = use(writer, item->operands[0], X86_RAX),
                                          .vvvv = use(writer, item->operands[1], X86_RCX)});
    finish(writer, item->result, to);
}

static void write_divide(struct writer *writer, const struct flow_item *item)
{
    move_to(writer, X86_RAX, item->operands[0]);
    if (item->is_signed) {
        emit_rr(writer, X86_MOV, X86_RDX, X86_RAX);
        emit(writer, (struct x86_instruction){.form = X86_SAR_BY, .rm = X86_RDX, .immediate = 63});
    } else {
        emit_constant(writer, X86_RDX, 0);
    }
    struct x86_instruction instruction = {.form = item->is_signed ? X86_IDIV : X86_DIV};
    set_rm(writer, &instruction, item->operands[1]);
    emit(writer, instruction);
    finish(writer, item->result, X86_RAX);
    finish(writer, item->rest, X86_RDX);
}

static void write_multiply_high(struct writer *writer, const struct flow_item *item)
{
    struct x86_instruction instruction = {.form = X86_MUL};
    move_to(writer, X86_RAX, item->operands[0]);
    set_rm(writer, &instruction, item->operands[1]);
    emit(writer, instruction);
    finish(writer, item->result, X86_RDX);
}

/* ---- comparisons ----------------------------------------------------------------------------------- */

static void write_compare(struct writer *writer, const struct flow_item *item)
{
    if (item->by_immediate) {
        enum x86_form compare = item->narrow ? X86_CMP_DWORD_BY : X86_CMP_BY,
                      test = item->narrow ? X86_TEST_DWORD_BY : X86_TEST_BY;
        struct x86_instruction instruction = {.form = item->of_bits ? test : compare,
                                              .immediate = item->immediate};
        set_rm(writer, &instruction, item->operands[0]);
        emit(writer, instruction);
        return;
    }
    struct x86_instruction instruction = {.form = item->narrow ? X86_CMP_DWORD : X86_CMP,
                                          .reg = use(writer, item->operands[0], X86_RAX)};
    set_rm(writer, &instruction, item->operands[1]);
    emit(writer, instruction);
}

static enum x86_form jump_form(enum flow_condition condition)
{
    static const enum x86_form forms[] = {
        [FLOW_BELOW] = X86_JB,      [FLOW_NOT_BELOW] = X86_JAE,   [FLOW_EQUAL] = X86_JE,
        [FLOW_NOT_EQUAL] = X86_JNE, [FLOW_NOT_ABOVE] = X86_JBE,   [FLOW_ABOVE] = X86_JA,
        [FLOW_UNORDERED] = X86_JP,  [FLOW_ORDERED] = X86_JNP,     [FLOW_LESS] = X86_JL,
        [FLOW_NOT_LESS] = X86_JGE,  [FLOW_NOT_GREATER] = X86_JLE, [FLOW_GREATER] = X86_JG};
    return forms[condition];
}

static enum x86_form move_form(enum flow_condition condition)
{
    static const enum x86_form forms[] = {
        [FLOW_BELOW] = X86_CMOVB,      [FLOW_NOT_BELOW] = X86_CMOVAE, [FLOW_EQUAL] = X86_CMOVE,
        [FLOW_NOT_EQUAL] = X86_CMOVNE, [FLOW_NOT_ABOVE] = X86_CMOVBE, [FLOW_ABOVE] = X86_CMOVA,
        [FLOW_LESS] = X86_CMOVL,       [FLOW_NOT_LESS] = X86_CMOVGE,  [FLOW_NOT_GREATER] = X86_CMOVLE,
        [FLOW_GREATER] = X86_CMOVG};
    return forms[condition];
}

static void write_set(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, X86_RAX);
    write_compare(writer, item);
    emit_constant(writer, X86_RCX, 1);
    emit_constant(writer, to, 0);
    emit_rr(writer, move_form(item->condition), to, X86_RCX);
    finish(writer, item->result, to);
}

/* Behind the comparison. */
static void write_choose(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, X86_RAX), yes = item->operands[2], no = item->operands[3];
    enum flow_condition condition = item->condition;
    if (value_of(writer, yes)->at == to) {
        condition ^= 1;
        yes = item->operands[3];
        no = item->operands[2];
    }
    move_to(writer, to, no);
    struct x86_instruction instruction = {.form = move_form(condition), .reg = to};
    set_rm(writer, &instruction, yes);
    emit(writer, instruction);
    finish(writer, item->result, to);
}

static void write_stop_if(struct writer *writer, const struct flow_item *item)
{
    int label = writer->machine->labels++;
    write_compare(writer, item);
    machine_emit_jump(writer->machine, jump_form(item->condition), label);
    list_push(writer->machine->arena, &writer->stops, item);
    list_push(writer->machine->arena, &writer->stop_labels, label);
}

/* ---- floats -------------------------------------------------------------------------------------------- */

static void write_number(struct writer *writer, const struct flow_item *item)
{
    struct machine *machine = writer->machine;
    int to = target_of(writer, item->result, SCRATCH);
    if (item->immediate == 0) {
        emit(writer, (struct x86_instruction){.form = X86_VXORPS, .reg = to, .vvvv = to, .rm = to});
    } else {
        struct vector_datum datum = {machine->labels++, item->wide ? 8 : 4, (uint64_t)item->immediate, NULL};
        list_push(machine->arena, &machine->data, datum);
        emit(writer, (struct x86_instruction){.form = item->wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD,
                                              .reg = to,
                                              .has_memory = true,
                                              .memory = {X86_RIP, X86_NONE, 1, 0},
                                              .label = datum.label});
    }
    finish(writer, item->result, to);
}

static void write_float(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, SCRATCH);
    struct x86_instruction instruction = {.form = item->form,
                                          .reg = to,
                                          .vvvv = use(writer, item->operands[0], SCRATCH),
                                          .immediate = item->immediate};
    set_rm(writer, &instruction, item->operands[1]);
    emit(writer, instruction);
    finish(writer, item->result, to);
}

static void write_float_one(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, SCRATCH);
    struct x86_instruction instruction = {.form = item->form, .reg = to, .immediate = item->immediate};
    set_rm(writer, &instruction, item->operands[0]);
    emit(writer, instruction);
    finish(writer, item->result, to);
}

/* Onto what is added, where that may go, or onto a factor; else onto a copy. */
static void write_fused(struct writer *writer, const struct flow_item *item)
{
    const int *of = item->operands;
    int at = value_of(writer, item->result)->at, factor = -1;
    for (int side = 0; side < 2 && at >= 0 && at != value_of(writer, of[2])->at; side++)
        if (at == value_of(writer, of[side])->at)
            factor = side;
    int to = at >= 0 ? at : THIRD;
    struct x86_instruction instruction = {.form = item->form, .reg = to};
    if (factor >= 0) {
        instruction.form = flow_onto_factor(item->form);
        instruction.vvvv = use(writer, of[!factor], SCRATCH);
        set_rm(writer, &instruction, of[2]);
    } else {
        if (at < 0 || at != value_of(writer, of[2])->at)
            emit_rr(writer, X86_VMOVAPS, to, use(writer, of[2], to));
        instruction.vvvv = use(writer, of[0], SCRATCH);
        set_rm(writer, &instruction, of[1]);
    }
    emit(writer, instruction);
    finish(writer, item->result, to);
}

/* The upper half onto the lower one. */
static void write_halves(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, SCRATCH), from = use(writer, item->operands[0], SCRATCH);
    emit(writer, (struct x86_instruction){
                     .form = X86_VEXTRACTF128, .bits = 256, .reg = from, .rm = SECOND, .immediate = 1});
    emit(writer, (struct x86_instruction){
                     .form = item->wide ? X86_VADDPD : X86_VADDPS, .reg = to, .vvvv = from, .rm = SECOND});
    finish(writer, item->result, to);
}

/* Upper lanes onto lower ones, until there is one. */
static void write_total(struct writer *writer, const struct flow_item *item)
{
    enum { UPPER_TWO = 0xee, SECOND_LANE = 0x55 };
    int to = target_of(writer, item->result, SCRATCH), from = use(writer, item->operands[0], SCRATCH);
    emit(writer, (struct x86_instruction){
                     .form = X86_VSHUFPS, .reg = SECOND, .vvvv = from, .rm = from, .immediate = UPPER_TWO});
    emit(writer, (struct x86_instruction){
                     .form = item->wide ? X86_VADDSD : X86_VADDPS, .reg = to, .vvvv = from, .rm = SECOND});
    if (!item->wide) {
        emit(writer, (struct x86_instruction){
                         .form = X86_VSHUFPS, .reg = SECOND, .vvvv = to, .rm = to, .immediate = SECOND_LANE});
        emit(writer, (struct x86_instruction){.form = X86_VADDSS, .reg = to, .vvvv = to, .rm = SECOND});
    }
    finish(writer, item->result, to);
}

static void write_blend(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, SCRATCH);
    struct x86_instruction instruction = {.form = item->wide ? X86_VBLENDVPD : X86_VBLENDVPS,
                                          .reg = to,
                                          .vvvv = use(writer, item->operands[0], SCRATCH),
                                          .rm = use(writer, item->operands[1], SECOND),
                                          .fourth = use(writer, item->operands[2], THIRD)};
    emit(writer, instruction);
    finish(writer, item->result, to);
}

/* What the register held before is nothing to wait for. */
static void write_to_float(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, SCRATCH);
    emit(writer, (struct x86_instruction){.form = X86_VXORPS, .reg = to, .vvvv = to, .rm = to});
    struct x86_instruction instruction = {
        .form = item->wide ? X86_VCVTSI2SD : X86_VCVTSI2SS, .reg = to, .vvvv = to};
    set_rm(writer, &instruction, item->operands[0]);
    emit(writer, instruction);
    finish(writer, item->result, to);
}

/* Of vmovd and vmovq the general register is the last operand. */
static void write_to_general(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, X86_RAX), from = use(writer, item->operands[0], SCRATCH);
    if (item->form == X86_VCVTTSD2SI || item->form == X86_VCVTTSS2SI)
        emit_rr(writer, item->form, to, from);
    else
        emit_rr(writer, item->form, from, to);
    finish(writer, item->result, to);
}

static void write_from_general(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, SCRATCH);
    emit_rr(writer, X86_VMOVD_TO, to, use(writer, item->operands[0], X86_RAX));
    finish(writer, item->result, to);
}

/* The result is the last operand. */
static void write_to_half(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, SCRATCH);
    emit_rr(writer, X86_VCVTPS2PH, use(writer, item->operands[0], SECOND), to);
    finish(writer, item->result, to);
}

/* What is unordered is equal, too, for the processor. */
static void write_float_compare(struct writer *writer, const struct flow_item *item)
{
    struct x86_instruction instruction = {.form = item->wide ? X86_VUCOMISD : X86_VUCOMISS,
                                          .reg = use(writer, item->operands[0], SCRATCH)};
    set_rm(writer, &instruction, item->operands[1]);
    emit(writer, instruction);
}

static void write_float_jump(struct writer *writer, const struct flow_item *item)
{
    struct machine *machine = writer->machine;
    write_float_compare(writer, item);
    if (item->condition == FLOW_EQUAL) {
        int skip = machine->labels++;
        machine_emit_jump(machine, X86_JP, skip);
        machine_emit_jump(machine, X86_JE, item->label);
        machine_emit_label(machine, skip);
        return;
    }
    machine_emit_jump(machine, jump_form(item->condition), item->label);
    if (item->condition == FLOW_NOT_EQUAL)
        machine_emit_jump(machine, X86_JP, item->label);
}

/* ---- calls and moves ----------------------------------------------------------------------------------- */

/* All arguments go by registers that hold no value to those of the convention: none is overwritten before it
 * is read. */
static void write_call(struct writer *writer, const struct flow_item *item)
{
    static const int general[] = {X86_RDI, X86_RSI, X86_RDX}, by[] = {X86_RAX, X86_RCX, X86_RDX};
    int floats = 0, generals = 0;
    for (int k = 0; k < FLOW_OPERANDS && item->operands[k] >= 0; k++)
        if (value_of(writer, item->operands[k])->is_float)
            move_to(writer, SCRATCH + floats++, item->operands[k]);
        else
            move_to(writer, by[generals++], item->operands[k]);
    for (int k = 0; k < floats; k++)
        emit_rr(writer, X86_VMOVAPS, k, SCRATCH + k);
    for (int k = 0; k < generals && general[k] != by[k]; k++)
        emit_rr(writer, X86_MOV, general[k], by[k]);
    if (writer->has_packed) /* others may have code that waits for what is in the upper halves */
        emit(writer, (struct x86_instruction){.form = X86_VZEROUPPER});
    emit_constant(writer, X86_RAX, (int64_t)(intptr_t)item->function);
    emit(writer, (struct x86_instruction){.form = X86_CALL, .rm = X86_RAX});
    finish(writer, item->result, value_of(writer, item->result)->is_float ? 0 : X86_RAX);
}

static void write_move(struct writer *writer, const struct flow_item *item)
{
    bool is_float = value_of(writer, item->result)->is_float;
    int to = target_of(writer, item->result, is_float ? SCRATCH : X86_RAX);
    move_to(writer, to, item->operands[0]);
    finish(writer, item->result, to);
}

static void write_load(struct writer *writer, const struct flow_item *item)
{
    bool is_float = !x86_is_general(item->form);
    int to = target_of(writer, item->result, is_float ? SCRATCH : X86_RAX);
    emit_memory(writer, item->form, to, memory_of(writer, item));
    finish(writer, item->result, to);
}

static void write_store(struct writer *writer, const struct flow_item *item)
{
    bool is_float = !x86_is_general(item->form);
    int from = use(writer, item->operands[0], is_float ? SCRATCH : X86_RAX);
    emit_memory(writer, item->form, from, memory_of(writer, item));
}

static void write_address(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, X86_RAX);
    emit_memory(writer, X86_LEA, to, memory_of(writer, item));
    finish(writer, item->result, to);
}

static void write_extend(struct writer *writer, const struct flow_item *item)
{
    int to = target_of(writer, item->result, X86_RAX);
    struct x86_instruction instruction = {.form = item->form, .reg = to, .immediate = item->immediate};
    set_rm(writer, &instruction, item->operands[0]);
    emit(writer, instruction);
    finish(writer, item->result, to);
}

/* ---- all
 * --------------------------------------------------------------------------------------------------- */

static void write_item(struct writer *writer, const struct flow_item *item)
{
    struct machine *machine = writer->machine;
    switch (item->kind) {
    case FLOW_PLACE:
        machine_emit_label(machine, item->label);
        break;
    case FLOW_JUMP:
        machine_emit_jump(machine, item->form, item->label);
        break;
    case FLOW_SECTION:
        break;
    case FLOW_MOVE:
        write_move(writer, item);
        break;
    case FLOW_CONSTANT: {
        int to = target_of(writer, item->result, X86_RAX);
        emit_constant(writer, to, item->immediate);
        finish(writer, item->result, to);
        break;
    }
    case FLOW_NUMBER:
        write_number(writer, item);
        break;
    case FLOW_ALU:
        write_alu(writer, item);
        break;
    case FLOW_ADDRESS:
        write_address(writer, item);
        break;
    case FLOW_SHIFT_BY:
    case FLOW_UNARY:
        write_in_place(writer, item);
        break;
    case FLOW_SHIFT:
        write_shift(writer, item);
        break;
    case FLOW_EXTEND:
        write_extend(writer, item);
        break;
    case FLOW_LOAD:
        write_load(writer, item);
        break;
    case FLOW_STORE:
        write_store(writer, item);
        break;
    case FLOW_COMPARE_JUMP:
        write_compare(writer, item);
        machine_emit_jump(machine, jump_form(item->condition), item->label);
        break;
    case FLOW_COMPARE_SET:
        write_set(writer, item);
        break;
    case FLOW_COMPARE_CHOOSE:
        write_compare(writer, item);
        write_choose(writer, item);
        break;
    case FLOW_STOP_IF:
        write_stop_if(writer, item);
        break;
    case FLOW_MULTIPLY_HIGH:
        write_multiply_high(writer, item);
        break;
    case FLOW_DIVIDE:
        write_divide(writer, item);
        break;
    case FLOW_FLOAT:
        write_float(writer, item);
        break;
    case FLOW_FLOAT_ONE:
        write_float_one(writer, item);
        break;
    case FLOW_FLOAT_JUMP:
        write_float_jump(writer, item);
        break;
    case FLOW_FLOAT_CHOOSE:
        write_float_compare(writer, item);
        write_choose(writer, item);
        break;
    case FLOW_FUSED:
        write_fused(writer, item);
        break;
    case FLOW_BLEND:
        write_blend(writer, item);
        break;
    case FLOW_TO_FLOAT:
        write_to_float(writer, item);
        break;
    case FLOW_TO_GENERAL:
        write_to_general(writer, item);
        break;
    case FLOW_FROM_GENERAL:
        write_from_general(writer, item);
        break;
    case FLOW_HALVES:
        write_halves(writer, item);
        break;
    case FLOW_TOTAL:
        write_total(writer, item);
        break;
    case FLOW_TO_HALF:
        write_to_half(writer, item);
        break;
    case FLOW_CALL:
        write_call(writer, item);
        break;
    }
}

/* Says where and why the kernel stops. */
static void write_stop(struct writer *writer, const struct flow_item *item, int slots)
{
    struct x86_memory slot = {slots, X86_NONE, 1, 8 * FLOW_SITE};
    emit_constant(writer, X86_RAX, item->site);
    emit_memory(writer, X86_MOV_STORE, X86_RAX, slot);
    for (const struct flow_around *around = item->around; around; around = around->outer) {
        if (around->depth >= JIT_TRAP_LOOPS)
            continue;
        slot.displacement = 8 * (FLOW_LOOPS + around->depth);
        emit_memory(writer, X86_MOV_STORE, use(writer, around->value, X86_RAX), slot);
    }
    if (item->axis < 0)
        return;
    slot.displacement = 8 * FLOW_INDEX;
    emit_memory(writer, X86_MOV_STORE, use(writer, item->operands[0], X86_RAX), slot);
    if (item->by_immediate)
        emit_constant(writer, X86_RAX, item->immediate);
    slot.displacement = 8 * FLOW_BEYOND;
    emit_memory(writer, X86_MOV_STORE, item->by_immediate ? X86_RAX : use(writer, item->operands[1], X86_RAX),
                slot);
    emit_constant(writer, X86_RAX, item->axis);
    slot.displacement = 8 * FLOW_AXIS;
    emit_memory(writer, X86_MOV_STORE, X86_RAX, slot);
}

static void write_stops(struct writer *writer)
{
    for (int k = 0; k < writer->stops.count; k++) {
        machine_emit_label(writer->machine, writer->stop_labels.items[k]);
        write_stop(writer, writer->stops.items[k], use(writer, writer->code->slots, X86_RCX));
        machine_emit_jump(writer->machine, X86_JMP, writer->end);
    }
}

/* What the entry is made of. */
static bool leaves_rcx(const struct flow_code *code, const struct flow_item *item)
{
    return item->kind == FLOW_ALU || item->kind == FLOW_NUMBER || item->kind == FLOW_CONSTANT ||
           item->kind == FLOW_SHIFT_BY || (item->kind == FLOW_LOAD && item->memory.base == code->slots);
}

/* The registers that are used, which may be those that a function preserves. */
static unsigned used_registers(const struct flow_code *code)
{
    unsigned used = 0;
    for (int k = 0; k < code->values.count; k++)
        if (!code->values.items[k].is_float && code->values.items[k].at >= 0)
            used |= 1u << code->values.items[k].at;
    return used;
}

static bool has_packed(const struct flow_code *code)
{
    for (int k = 0; k < code->items.count; k++)
        if (code->items.items[k].bits > SCALAR_BITS)
            return true;
    return false;
}

static bool has_calls(const struct flow_code *code)
{
    for (int k = 0; k < code->items.count; k++)
        if (code->items.items[k].kind == FLOW_CALL)
            return true;
    return false;
}

bool flow_x86(struct arena *arena, const struct vector_loop *loop, const struct vector_options *options,
              struct vector_listing *listing)
{
    struct flow_code *code = loop->flow->code;
    struct machine *machine = arena_new(arena, struct machine);
    *machine = (struct machine){.arena = arena,
                                .loop = loop,
                                .options = options,
                                .lanes = 1,
                                .labels = code->labels,
                                .calls = has_calls(code),
                                .general = used_registers(code),
                                .slots = X86_RDI};
    struct writer writer = {.machine = machine,
                            .code = code,
                            .end = machine->labels++,
                            .bits = SCALAR_BITS,
                            .has_packed = has_packed(code)};
    int slots = code->values.items[code->slots].at;
    machine->slots = slots >= 0 ? slots : X86_RCX;
    writer.is_entry = slots < 0;
    if (slots < 0)
        finish(&writer, code->slots, X86_RCX);
    for (int k = 0; k < code->items.count; k++) {
        const struct flow_item *item = &code->items.items[k];
        writer.is_entry = writer.is_entry && leaves_rcx(code, item);
        machine->line = item->line;
        writer.bits = item->bits ? item->bits : SCALAR_BITS;
        write_item(&writer, item);
    }
    if (writer.stops.count)
        machine_emit_jump(machine, X86_JMP, writer.end);
    write_stops(&writer);
    machine_emit_label(machine, writer.end);
    flow_drop_comparisons(machine);
    machine_assemble(machine, listing);
    return !machine->refused;
}

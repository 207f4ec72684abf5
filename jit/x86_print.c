/*
 * x86_print.c: instructions as text, in the syntax of Intel as GNU as reads it.
 *
 * Consumes instructions as x86_encode.c does. Registers carry the size they are used with.
 */
#include "x86_encode.h"

static void print_register(struct text *out, const struct x86_instruction *instruction, enum x86_class class,
                           int number)
{
    static const char names[16][4] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di",
                                      "8",  "9",  "10", "11", "12", "13", "14", "15"};
    int bits = instruction->bits;
    switch (class) {
    case X86_K:
        text_format(out, "k%d", number);
        return;
    case X86_D:
        text_format(out, number < 8 ? "e%s" : "r%sd", names[number]);
        return;
    case X86_G:
        text_format(out, "r%s", names[number]);
        return;
    case X86_V:
        break;
    case X86_H:
        bits /= 2;
        break;
    case X86_Q:
        bits /= 4;
        break;
    case X86_Y:
        bits = 256;
        break;
    default:
        bits = 128;
        break;
    }
    text_format(out, "%cmm%d", bits == 512 ? 'z' : bits == 256 ? 'y' : 'x', number);
}

static void print_address(struct text *out, const struct x86_instruction *instruction)
{
    const struct x86_memory *memory = &instruction->memory;
    text_char(out, '[');
    if (memory->base == X86_RIP) {
        text_format(out, "rip+.L%d]", instruction->label);
        return;
    }
    print_register(out, instruction, X86_G, memory->base);
    if (memory->index != X86_NONE) {
        enum x86_class class = X86_G;
        if (!x86_is_general(instruction->form)) {
            const struct x86_row *row = &x86_rows[instruction->form];
            if (row->shape == X86_GATHER || row->shape == X86_SCATTER)
                class = (enum x86_class)row->vvvv;
            else if (row->shape == X86_GATHER_V) /* vgatherdpd has indices half as wide as elements */
                class = instruction->form == X86_VGATHERDPD_MASK ? X86_H : X86_V;
        }
        text_char(out, '+');
        print_register(out, instruction, class, memory->index);
        text_format(out, "*%d", memory->scale);
    }
    if (memory->displacement)
        text_format(out, "%+d", memory->displacement);
    text_char(out, ']');
}

static const char *size_name(int size)
{
    switch (size) {
    case 1:
        return "byte";
    case 2:
        return "word";
    case 4:
        return "dword";
    case 8:
        return "qword";
    case 16:
        return "xmmword";
    case 32:
        return "ymmword";
    default:
        return "zmmword";
    }
}

static void print_mask(struct text *out, const struct x86_instruction *instruction)
{
    if (instruction->mask)
        text_format(out, "{k%d}%s", instruction->mask, instruction->zeroing ? "{z}" : "");
}

static void print_rm(struct text *out, const struct x86_instruction *instruction, enum x86_class class)
{
    if (!instruction->has_memory) {
        print_register(out, instruction, class, instruction->rm);
        return;
    }
    int size = x86_memory_size(instruction);
    text_format(out, "%s ptr ", size_name(size));
    print_address(out, instruction);
    if (instruction->broadcast) {
        /* a half, as vcvtps2pd takes it, has half as many elements */
        int bits = class == X86_H ? instruction->bits / 2 : instruction->bits;
        text_format(out, "{1to%d}", bits / 8 / size);
    }
}

static void print_vector(struct text *out, const struct x86_instruction *instruction)
{
    const struct x86_row *row = &x86_rows[instruction->form];
    static const char orders[][5] = {
        [X86_RM] = "RM",     [X86_MR] = "MR",     [X86_RVM] = "RVM",   [X86_MVR] = "MVR",
        [X86_RMV] = "RMV",   [X86_RMI] = "RMI",   [X86_MRI] = "MRI",   [X86_RVMI] = "RVMI",
        [X86_VMI] = "VMI",   [X86_RVMR] = "RVMF", [X86_GATHER] = "RM", [X86_GATHER_V] = "RMV",
        [X86_SCATTER] = "MR"};
    const char *order = orders[row->shape];
    text_format(out, "%s ", row->text);
    for (int k = 0; order[k]; k++) {
        if (k)
            text_string(out, ", ");
        switch (order[k]) {
        case 'R':
            print_register(out, instruction, (enum x86_class)row->reg, instruction->reg);
            break;
        case 'V':
            print_register(out, instruction, (enum x86_class)row->vvvv, instruction->vvvv);
            break;
        case 'M':
            print_rm(out, instruction, (enum x86_class)row->rm);
            break;
        case 'F':
            print_register(out, instruction, X86_V, instruction->fourth);
            break;
        default:
            text_format(out, "%d", (int)(instruction->immediate & 0xff));
            break;
        }
        if (k == 0)
            print_mask(out, instruction);
    }
}

static void print_general_rm(struct text *out, const struct x86_instruction *instruction, int size)
{
    if (!instruction->has_memory) {
        print_register(out, instruction, size == 8 ? X86_G : X86_D, instruction->rm);
        return;
    }
    text_format(out, "%s ptr ", size_name(size));
    print_address(out, instruction);
}

static void print_low_byte(struct text *out, int number)
{
    static const char names[8][4] = {"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil"};
    if (number < 8)
        text_string(out, names[number]);
    else
        text_format(out, "r%db", number);
}

static void print_word(struct text *out, int number)
{
    static const char names[8][4] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    if (number < 8)
        text_string(out, names[number]);
    else
        text_format(out, "r%dw", number);
}

/* Bytes of the operand that may be in memory. */
static int general_size(enum x86_general_shape shape)
{
    switch (shape) {
    case X86_R_RM32:
    case X86_RM_R32:
    case X86_R_RM32_W:
    case X86_RM_I32:
        return 4;
    case X86_R_RM16:
    case X86_R_RM16_W:
    case X86_RM_R16:
        return 2;
    case X86_RM_R8:
    case X86_R_RM8:
    case X86_R_RM8_W:
    case X86_M_0F:
        return 1;
    default:
        return 8;
    }
}

static void print_general(struct text *out, const struct x86_instruction *instruction)
{
    const struct x86_general_row *row = &x86_general_rows[instruction->form - X86_GENERAL_FIRST];
    enum x86_general_shape shape = (enum x86_general_shape)row->shape;
    int size = general_size(shape);
    bool extends = shape == X86_R_RM8_W || shape == X86_R_RM16_W || shape == X86_R_RM32_W;
    text_string(out, row->text);
    switch (shape) {
    case X86_R_RM:
    case X86_R_RM32:
    case X86_R_RM8:
    case X86_R_RM_0F:
    case X86_R_RM_F3:
    case X86_R_RM16:
    case X86_R_RM8_W:
    case X86_R_RM16_W:
    case X86_R_RM32_W:
        text_char(out, ' ');
        print_register(out, instruction, size == 8 || extends ? X86_G : X86_D, instruction->reg);
        text_string(out, ", ");
        print_general_rm(out, instruction, size);
        break;
    case X86_RM_R:
    case X86_RM_R32:
    case X86_RM_R8:
    case X86_RM_R16:
        text_char(out, ' ');
        print_general_rm(out, instruction, size);
        text_string(out, ", ");
        if (size == 1)
            print_low_byte(out, instruction->reg);
        else if (size == 2)
            print_word(out, instruction->reg);
        else
            print_register(out, instruction, size == 8 ? X86_G : X86_D, instruction->reg);
        break;
    case X86_RM_I:
    case X86_RM_I32:
    case X86_RM_I8:
    case X86_RM_ONLY:
    case X86_RM_CALL:
    case X86_M_0F:
        text_char(out, ' ');
        print_general_rm(out, instruction, size);
        if (shape == X86_RM_I || shape == X86_RM_I32 || shape == X86_RM_I8)
            text_format(out, ", %lld", (long long)instruction->immediate);
        break;
    case X86_R_I:
        /* 32 bits clear the upper half */
        text_char(out, ' ');
        print_register(out, instruction,
                       instruction->immediate >= 0 && instruction->immediate <= UINT32_MAX ? X86_D : X86_G,
                       instruction->reg);
        text_format(out, ", %lld", (long long)instruction->immediate);
        break;
    case X86_R_IN_OPCODE:
        text_char(out, ' ');
        print_register(out, instruction, X86_G, instruction->reg);
        break;
    case X86_ALONE:
    case X86_ALONE_VEX:
    case X86_ALONE_0F:
        break;
    case X86_JUMP:
        text_format(out, " .L%d", instruction->label);
        break;
    }
}

void x86_print(struct text *out, const struct x86_instruction *instruction)
{
    if (x86_is_general(instruction->form))
        print_general(out, instruction);
    else
        print_vector(out, instruction);
}

/*
 * x86_encode.h: x86-64 instructions as data, their bytes and their text.
 *
 * An instruction names a row of x86_instructions.def and its operands; x86_encode.c makes bytes of it,
 * x86_print.c the text that assemblers read (Intel's syntax). Which instructions the processor has is the
 * caller's to know (x86_cpu.h).
 *
 * Shapes, in the order of the text: R the field `reg`, V `vvvv`, M `rm` (a register, or the memory operand),
 * the fourth letter R a register in the immediate byte (`fourth`), I the immediate.
 */
#ifndef JIT_X86_ENCODE_H
#define JIT_X86_ENCODE_H

#include "../base/memory.h"
#include "../base/text.h"

enum x86_form {
#define VECTOR(id, ...) X86_##id,
#include "x86_instructions.def"
    X86_GENERAL_FIRST,
    X86_BEFORE_GENERAL = X86_GENERAL_FIRST - 1,
#define GENERAL(id, ...) X86_##id,
#include "x86_instructions.def"
    X86_FORM_COUNT,
    X86_NO_FORM = X86_FORM_COUNT
};

enum x86_prefix { X86_VEX, X86_EVEX, X86_BOTH, X86_L0, X86_L1 };

enum x86_shape {
    X86_RM,
    X86_MR,
    X86_RVM,
    X86_MVR,
    X86_RMV,
    X86_RMI,
    X86_MRI,
    X86_RVMI,
    X86_VMI,
    X86_RVMR,
    X86_GATHER,   /* reg under a mask, memory with a vector of indices */
    X86_GATHER_V, /* the mask is a vector, in vvvv */
    X86_SCATTER
};

enum x86_general_shape {
    X86_R_RM,
    X86_RM_R,
    X86_R_RM32, /* 32 bits */
    X86_RM_R32,
    X86_RM_R8, /* 8 bits */
    X86_R_RM8, /* from 8 bits */
    X86_R_RM16,
    X86_R_RM8_W, /* from 8 bits with their sign, to 64 */
    X86_R_RM16_W,
    X86_R_RM32_W,
    X86_RM_R16, /* 16 bits */
    X86_R_RM_0F,
    X86_R_RM_F3, /* F3 0F */
    X86_RM_I,
    X86_RM_I32, /* 32 bits */
    X86_RM_I8,
    X86_RM_ONLY,
    X86_M_0F,
    X86_RM_CALL,
    X86_R_I,
    X86_R_IN_OPCODE,
    X86_ALONE,
    X86_ALONE_VEX,
    X86_ALONE_0F, /* the digit in a second byte */
    X86_JUMP
};

enum x86_class {
    X86_N, /* none */
    X86_V, /* a vector of the length */
    X86_H,
    X86_Q,
    X86_E,
    X86_X, /* 128 bits */
    X86_Y, /* 256 */
    X86_S, /* a scalar of 4 bytes */
    X86_T, /* of 8 */
    X86_B, /* of 1 */
    X86_P, /* of 2 */
    X86_K, /* a mask */
    X86_D, /* a general register of 32 bits */
    X86_G  /* of 64 */
};

enum x86_role { X86_W, X86_RW, X86_R };

/* Where the register is that an instruction writes. */
enum x86_writes { X86_WRITES_REG, X86_WRITES_VVVV, X86_WRITES_RM, X86_WRITES_NOTHING };

struct x86_row {
    const char *text;
    unsigned char prefix, map, pp, opcode, digit, wide, shape;
    unsigned char reg, vvvv, rm; /* enum x86_class */
    unsigned char broadcast, role;
    unsigned char writes; /* enum x86_writes, which the shape and the role say */
    bool has_general;     /* one of its registers is a general one */
};

struct x86_general_row {
    const char *text;
    unsigned char shape, opcode, digit;
};

extern const struct x86_row x86_rows[X86_GENERAL_FIRST];
extern const struct x86_general_row x86_general_rows[X86_FORM_COUNT - X86_GENERAL_FIRST];

enum x86_register {
    X86_RAX,
    X86_RCX,
    X86_RDX,
    X86_RBX,
    X86_RSP,
    X86_RBP,
    X86_RSI,
    X86_RDI,
    X86_R8,
    X86_R9,
    X86_R10,
    X86_R11,
    X86_R12,
    X86_R13,
    X86_R14,
    X86_R15,
    X86_RIP, /* as a base: the constant `label` */
    X86_NONE = -1
};

struct x86_memory {
    int base, index; /* index: X86_NONE, a general register, or a vector one (GATHER, SCATTER) */
    int scale;       /* 1, 2, 4, 8 */
    int displacement;
};

/* A body of thousands of statements is some hundred thousand of these, so that small fields share words. */
struct x86_instruction {
    enum x86_form form : 13;
    bool has_memory : 1; /* instead of rm */
    bool broadcast : 1;  /* the memory operand is one element, repeated */
    bool zeroing : 1;    /* what the mask leaves out becomes 0, else it stays */
    short bits;          /* of the vectors: 128, 256, 512 */
    int reg, vvvv, rm, fourth;
    int mask; /* 1..7, 0: none */
    struct x86_memory memory;
    int label; /* of a jump, or of a constant */
    int line;  /* of the source; 0: none */
    int64_t immediate;
};

/* Bytes of the memory operand, which also scale EVEX's short displacements. */
int x86_memory_size(const struct x86_instruction *instruction);
static inline bool x86_is_general(enum x86_form form)
{
    return form >= X86_GENERAL_FIRST;
}

/* ---- x86_encode.c ---- */

struct x86_fixup {
    size_t at; /* of four bytes, relative to the byte behind the instruction */
    size_t from;
    int label;
};

struct x86_code {
    struct arena *arena;
    LIST(unsigned char) bytes;
    LIST(long) labels; /* where they are; -1: not yet */
    int first_label;   /* the one that instructions call 0 */
    LIST(struct x86_fixup) fixups;
};

void x86_code_init(struct x86_code *code, struct arena *arena);
int x86_new_label(struct x86_code *code);
void x86_place_label(struct x86_code *code, int label);
/* Data of a power of two of bytes, aligned to that size; its label. */
void x86_place_data(struct x86_code *code, int label, const void *data, size_t size);
void x86_encode(struct x86_code *code, const struct x86_instruction *instruction);
/* Resolves the jumps; every label must have been placed. */
void x86_finish(struct x86_code *code);

/* ---- x86_print.c ---- */

/* "vaddps zmm1, zmm2, zmmword ptr [rax+rcx*4+64]", without an end of line. */
void x86_print(struct text *out, const struct x86_instruction *instruction);

#endif

/*
 * flow_private.h: what the files that make machine code of loops with branches share.
 *
 * A value is a number; values are as many as there are, each general (64 bits), a float (one lane of a vector
 * register) or, in flow_packed.c, as many floats as 128 or 256 bits hold. Of integers of 32 bits only the
 * lower half counts, narrower ones and bools are extended.
 */
#ifndef JIT_FLOW_PRIVATE_H
#define JIT_FLOW_PRIVATE_H

#include "flow.h"
#include "frame.h"
#include "x86_encode.h"

enum { FLOW_NONE = -1, FLOW_OPERANDS = 4 };

/* Conditions by the processor's numbers: one and its opposite differ in the last bit. */
enum flow_condition {
    FLOW_BELOW = 2, /* without a sign */
    FLOW_NOT_BELOW,
    FLOW_EQUAL,
    FLOW_NOT_EQUAL,
    FLOW_NOT_ABOVE,
    FLOW_ABOVE,
    FLOW_UNORDERED = 10,
    FLOW_ORDERED,
    FLOW_LESS,
    FLOW_NOT_LESS,
    FLOW_NOT_GREATER,
    FLOW_GREATER
};

enum flow_kind {
    FLOW_PLACE, /* `label` is here */
    FLOW_JUMP,
    FLOW_SECTION,        /* the items of `section` stand here */
    FLOW_MOVE,           /* result = operand 0 */
    FLOW_CONSTANT,       /* result = immediate */
    FLOW_NUMBER,         /* of floats; the bits are the immediate's */
    FLOW_ALU,            /* result = operand 0 `form` operand 1 or immediate */
    FLOW_ADDRESS,        /* result = the address of the memory operand */
    FLOW_SHIFT_BY,       /* result = operand 0 `form` immediate */
    FLOW_SHIFT,          /* result = operand 0 `form` operand 1 */
    FLOW_UNARY,          /* result = `form` of operand 0 */
    FLOW_EXTEND,         /* likewise, out of the lower bits; or turned by the immediate */
    FLOW_LOAD,           /* result = memory */
    FLOW_STORE,          /* memory = operand 0 */
    FLOW_COMPARE_JUMP,   /* to `label` where operand 0 `condition` operand 1 or immediate */
    FLOW_COMPARE_SET,    /* result = whether that is so */
    FLOW_COMPARE_CHOOSE, /* result = operand 2 where that is so, else operand 3 */
    FLOW_STOP_IF,       /* the kernel stops at `site` where that is so; `axis` 0 or more: with the operands */
    FLOW_MULTIPLY_HIGH, /* result = the upper half of operand 0 * operand 1, both without a sign */
    FLOW_DIVIDE,        /* result = operand 0 / operand 1, `rest` what is left, towards 0 */
    FLOW_FLOAT,         /* result = operand 0 `form` operand 1, and the immediate where the form has one */
    FLOW_FLOAT_ONE,     /* result = `form` of operand 0 */
    FLOW_FLOAT_JUMP,    /* to `label` where operand 0 `condition` operand 1, as vucomis orders them */
    FLOW_FLOAT_CHOOSE,  /* result, an integer = operand 2 where that is so, else operand 3; `condition` is an
                           order */
    FLOW_FUSED,         /* result = operand 0 * operand 1 + operand 2, or as the form says, rounded once */
    FLOW_BLEND,         /* result = operand 1 where operand 2 is all ones, else operand 0 */
    FLOW_TO_FLOAT,      /* result = operand 0, an integer of 64 bits */
    FLOW_TO_GENERAL,    /* result = operand 0, a float, by `form` */
    FLOW_FROM_GENERAL,  /* result, a float = the lower 32 bits of operand 0 */
    FLOW_HALVES,        /* result = the sum of both halves of operand 0, of 256 bits */
    FLOW_TOTAL,         /* result, one lane = the sum of all of operand 0, of 128 bits */
    FLOW_TO_HALF,       /* result, in a register of floats = the bits of the float16 nearest to operand 0 */
    FLOW_CALL           /* result = function(operands) */
};

typedef LIST(struct flow_item) flow_section;

struct flow_item {
    enum flow_kind kind;
    enum x86_form form;
    int result, rest, operands[FLOW_OPERANDS];
    struct x86_memory memory; /* base, index: values or FLOW_NONE */
    int64_t immediate;
    bool by_immediate; /* instead of operand 1 */
    bool of_bits;      /* of comparisons: whether the immediate's bits in operand 0 are all 0 */
    bool narrow;       /* of comparisons: 32 bits */
    bool is_signed;    /* of divisions */
    bool wide;         /* of floats: 64 bits */
    int bits;          /* of packed floats (flow_packed.c): 128 or 256; 0: one lane */
    enum flow_condition condition;
    int label, site, axis;
    int from; /* PLACE: the first item since which there are several ways here; -1: ways from elsewhere */
    const struct ir_buffer *buffer; /* LOAD, STORE: of the program; CALL: what it changes */
    const void *function;
    flow_section *section;
    const struct flow_around *around; /* STOP_IF: the loops around it */
    int line, depth;
};

struct flow_value {
    bool is_float;
    int bits;          /* of packed floats; 0: one lane */
    bool is_variable;  /* it is assigned again */
    bool is_extended;  /* an integer of 32 bits that fills 64 with its sign or zeros */
    int first, last;   /* items between which it lives; first -1: in none */
    double weight;     /* how often it is used, about */
    int depth;         /* in how many loops, at most */
    bool crosses_call; /* it lives across one */
    int at;            /* its register; -1: it lives in the frame */
    int home;          /* there, in bytes; -1: not yet */
};

/* The variables of the loops around an item, innermost first. */
struct flow_around {
    int value;
    int depth;
    const struct flow_around *outer;
};

/* A loop around what is being built. */
struct flow_loop {
    const struct ir_stmt *stmt;
    flow_section *before; /* what does not change in it is computed here */
    int leave, again;     /* labels of break and continue */
    int top;              /* of the first thing in it; FLOW_NONE: not yet, or it is none that goes round */
};

struct flow_range {
    int first, last;
};

enum { FLOW_DEEPEST = 12, FLOW_DEEPEST_NESTING = 100, FLOW_MOST_ITEMS = 6000, FLOW_MOST_VALUES = 3000 };

struct flow_code {
    flow_section items; /* in their order, without sections */
    LIST(struct flow_value) values;
    LIST(struct flow_range) ranges; /* of loops, inner ones first */
    int labels;
    int slots; /* the value that holds their address */
};

/* What a division before a loop came to. */
struct flow_division {
    const struct ir_expr *expr;
    const flow_section *section;
    int value;
};

/* What a symbol of the loop is, and how many loops are around where it is declared. */
struct flow_symbol {
    const struct ir_symbol *symbol;
    int value, depth;
};

struct flow_builder {
    struct arena *arena;
    const struct vector_options *options;
    const struct ir_stmt *stmt;
    struct flow *flow;
    struct flow_code *code;
    flow_section *entry, *main, *section; /* the first, that of the program's order; where items go */
    struct flow_loop loops[FLOW_DEEPEST];
    int depth; /* loops around what is being built */
    const struct flow_around *around;
    LIST(struct flow_symbol) symbols;
    LIST(struct flow_division) divisions;
    bool is_guarded; /* indices have been tested */
    bool is_early;   /* before loops, for what is in them */
    int line;
    int nesting; /* of statements and expressions in each other */
    bool refused;
};

/* ---- flow.c ---- */

int flow_refuse(struct flow_builder *builder);
int flow_new_value(struct flow_builder *builder, bool is_float);
int flow_new_label(struct flow_builder *builder);
/* Appends it; its result, a new value where it has none but should. */
int flow_add(struct flow_builder *builder, struct flow_item item);
/* The same of what gives the same again, loads what is there still, or tests what was tested: it is not done
 * twice. */
int flow_add_known(struct flow_builder *builder, struct flow_item item);
/* The one that gives the same; NULL: there is none. */
const struct flow_item *flow_known(const struct flow_builder *builder, const struct flow_item *item);
bool flow_is_same(const struct flow_item *a, const struct flow_item *b);
/* Where one comes from before, or from a branch since item `from` of the section (flow_here). */
void flow_place(struct flow_builder *builder, int label, int from);
static inline int flow_here(const struct flow_builder *builder)
{
    return builder->section->count;
}
void flow_jump(struct flow_builder *builder, int label);
/* To the label where `a` compares so with the second operand, or immediate, of an item. */
void flow_compare_jump(struct flow_builder *builder, int a, struct flow_item than,
                       enum flow_condition condition, int label);
/* to = from */
void flow_move(struct flow_builder *builder, int to, int from);
/* The value of an argument, which is there from the beginning. */
int flow_argument(struct flow_builder *builder, struct flow_argument argument);
/* What a symbol is, and, in *depth, of how many of the loops around its value hangs. */
int flow_symbol(struct flow_builder *builder, const struct ir_symbol *symbol, int *depth);
/* Says what a symbol is, with so many loops around it. */
void flow_declare(struct flow_builder *builder, const struct ir_symbol *symbol, int value, int depth);
/* The value, or, where it may be assigned again, a copy. */
int flow_kept(struct flow_builder *builder, int value);
/* Begins a loop, with the labels of continue and break; false: there are too many around it. */
bool flow_enter(struct flow_builder *builder, const struct ir_stmt *stmt, int leave, int again);
/* A variable of the kernel's, which is about to be assigned: it goes back. */
int flow_assigned(struct flow_builder *builder, const struct ir_symbol *symbol);
/* Assigns a variable of the kernel's. */
void flow_assign_symbol(struct flow_builder *builder, const struct ir_symbol *symbol,
                        const struct ir_expr *value);
/* An item with no operands. */
struct flow_item flow_item(enum flow_kind kind);

/* ---- flow_expression.c ---- */

int flow_expression(struct flow_builder *builder, const struct ir_expr *expr);
/* To the label where the truth is `sense`, else on. Returns from which item on there are several ways. */
int flow_branch(struct flow_builder *builder, const struct ir_expr *expr, bool sense, int label);
/* The same computed for a variable. */
void flow_assign(struct flow_builder *builder, int variable, const struct ir_expr *expr);
/* Of how many of the loops around it the value hangs; it is pure if *pure stays. */
int flow_depth_of(struct flow_builder *builder, const struct ir_expr *expr, bool *pure);
/* Operations with an operand or, where `b` is FLOW_NONE, an immediate. */
int flow_alu(struct flow_builder *builder, enum x86_form form, int a, int b, int64_t immediate);
/* a `form` by, of shifts; of floats a `form` b, and the immediate where the form has one. */
int flow_shifted(struct flow_builder *builder, enum x86_form form, int a, int by);
int flow_float(struct flow_builder *builder, bool wide, enum x86_form form, int a, int b, int immediate);
int flow_constant(struct flow_builder *builder, int64_t number);
/* A float, in all loops. */
int flow_number(struct flow_builder *builder, bool wide, uint64_t bits);
/* An integer as 64 bits. */
int flow_extended(struct flow_builder *builder, akg_dtype dtype, int value);

/* Whether it is x & 6 == 0 or its opposite, which flags tell of x. */
bool flow_asks_bits(const struct ir_expr *comparison);
/* Of a divisor that is a power of two, what a factor in its place is; else 0. */
uint64_t flow_inverse_bits(const struct ir_expr *divisor);
/* Whether an operation is no more than an instruction or a few. */
bool flow_is_inline(const struct ir_expr *expr);

/* ---- flow_choice.c ---- */

/* Builds an IF as choices between values; false, and nothing, where it is none such. */
bool flow_choose(struct flow_builder *builder, const struct ir_stmt *stmt);

/* ---- flow_packed.c ---- */

/* Whether the loop goes over neighbours, so that several iterations can be done at a time. */
bool flow_packs(const struct ir_stmt *loop, const struct vector_options *options);
/* Such a loop, up to `high` (the second operand of a comparison), from what the variable is on; false:
 * nothing is left for the loop itself to do. */
bool flow_packed(struct flow_builder *builder, const struct ir_stmt *loop, int variable,
                 struct flow_item high);

/* ---- flow_flags.c ---- */

struct machine;
void flow_drop_comparisons(struct machine *machine);

/* ---- flow_convert.c ---- */

int flow_cast(struct flow_builder *builder, akg_dtype to, akg_dtype from, int value);
/* A half from its bits, and back; and the float as the half holds it. Halves are floats here. */
int flow_from_half(struct flow_builder *builder, akg_dtype dtype, int bits);
int flow_half_bits(struct flow_builder *builder, akg_dtype dtype, int value);
int flow_rounded_half(struct flow_builder *builder, akg_dtype dtype, int value);
/* What fits the dtype again: wrapped. */
int flow_wrapped(struct flow_builder *builder, akg_dtype dtype, int value);
/* A call of a function of the library on values of that class. */
int flow_call(struct flow_builder *builder, const char *function, bool gives_float, const int *operands,
              int count);

/* ---- flow_integer.c ---- */

/* // and % of integers, ceil_div, ** and so on. */
int flow_integer(struct flow_builder *builder, const struct ir_expr *expr);
bool flow_is_64(akg_dtype dtype);

/* ---- flow_address.c ---- */

/* Whether the index along the axis is to be tested; and the comparison that says that it is outside. */
bool flow_is_tested(const struct flow_builder *builder, const struct ir_access *access, int axis);
struct flow_item flow_outside(struct flow_builder *builder, enum flow_kind kind,
                              const struct ir_access *access, int axis, int index);
/* The place of an element, its indices tested where that is asked for. */
struct x86_memory flow_element(struct flow_builder *builder, const struct ir_access *access);

/* ---- flow_steady.c ---- */

/* Whether the innermost loop may load the element before its first iteration, once for all. */
bool flow_is_steady(struct flow_builder *builder, const struct ir_access *access);

int flow_load(struct flow_builder *builder, const struct ir_access *access);
/* What stands there: of a bool any byte that is not zero, of a half its bits. */
int flow_load_bits(struct flow_builder *builder, const struct ir_access *access);
void flow_store(struct flow_builder *builder, const struct ir_access *access, struct x86_memory memory,
                int value);

/* ---- flow_fuse.c ---- */

/* Sums take products in, where results are not strict. */
void flow_fuse(struct flow_code *code, struct arena *arena);
/* What adds a product: the form of FLOW_FUSED for one float or packed ones. */
enum x86_form flow_fused_form(bool is_packed, bool wide);
/* The same that overwrites a factor in the place of what is added. */
enum x86_form flow_onto_factor(enum x86_form onto_sum);

/* ---- flow_layout.c ---- */

void flow_lay_out(struct flow_code *code, struct arena *arena);

/* ---- flow_allocate.c ---- */

/* Gives values registers, or homes in a frame. */
void flow_allocate(struct flow_code *code, struct arena *arena);

enum { FLOW_SCRATCH_FLOAT = 13 }; /* xmm13 to xmm15, and rax, rcx, rdx are nobody's */

#endif

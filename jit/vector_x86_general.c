/*
 * vector_x86_general.c: numbers of 64 bits that straight code computes for other parts of a band, above all
 * the addresses of rows that an index out of a tensor picks, in general registers.
 *
 * Consumes the values of straight code (vector_x86_serial.c); appends instructions on rax and one register
 * more, and says which values are computed in lanes for nobody then. From lane to address it is a way through
 * memory, which takes longer than the address: a product of two rows of 16 has 25 instructions instead of 31.
 */
#include "vector_x86.h"

enum { FIRST = X86_RAX, SECOND = X86_R10, REGISTERS = 2 };

static const struct vector_value *value_at(const struct machine *machine, int number)
{
    return &machine->loop->values.items[number];
}

static bool is_long(const struct vector_value *value)
{
    return value->dtype == AKG_INT64 && value->type == VECTOR_I64;
}

/* Of 32 bits, whose sums and products have the low bits of those of 64. */
static bool is_short(const struct vector_value *value)
{
    return value->dtype == AKG_INT32 && value->type == VECTOR_I32;
}

static int64_t number_of(const struct vector_value *constant)
{
    return is_long(constant) ? (int64_t)constant->bits : (int32_t)constant->bits;
}

/* An operand of an instruction: it is in a slot, or known. */
static bool is_leaf(const struct vector_value *value)
{
    if (value->kind == VECTOR_CONSTANT)
        return is_short(value) || (is_long(value) && number_of(value) == (int32_t)number_of(value));
    return value->kind == VECTOR_SCALAR && is_long(value);
}

/* Whether an element is what it was before the values behind it, as far as number `end`. */
static bool stays(const struct machine *machine, int number, int end)
{
    for (int k = number; k < end; k++) {
        enum vector_kind kind = value_at(machine, k)->kind;
        if (kind == VECTOR_STORE || kind == VECTOR_SCATTER)
            return false;
    }
    return true;
}

static enum x86_form load_form(akg_dtype dtype)
{
    switch (dtype) {
    case AKG_INT64:
    case AKG_UINT64:
        return X86_MOV;
    case AKG_INT32:
        return X86_MOVSXD;
    case AKG_UINT32:
        return X86_MOV_DWORD;
    case AKG_INT16:
        return X86_MOVSX_WORD;
    case AKG_UINT16:
        return X86_MOVZX_WORD;
    case AKG_INT8:
        return X86_MOVSX_BYTE;
    case AKG_UINT8:
        return X86_MOVZX_BYTE;
    default:
        return X86_NO_FORM;
    }
}

/* The load that the value is, or is cast from; NULL: neither. */
static const struct vector_value *load_of(const struct machine *machine, int number, int end)
{
    const struct vector_value *value = value_at(machine, number);
    if (!is_long(value) && !is_short(value))
        return NULL;
    if (value->kind == VECTOR_OPERATION && value->operation == OP_CAST && is_long(value) &&
        dtype_is_integer(value->from)) {
        number = value->operands[0];
        value = value_at(machine, number);
    }
    bool is_plain = value->kind == VECTOR_LOAD && value->mask < 0 && value->type != VECTOR_MASK;
    return is_plain && load_form(value->dtype) != X86_NO_FORM && stays(machine, number, end) ? value : NULL;
}

static bool is_binary(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && (is_long(value) || is_short(value)) &&
           value->from == value->dtype &&
           (value->operation == OP_ADD || value->operation == OP_SUB || value->operation == OP_MUL);
}

/* What has wrapped in 32 bits. */
static bool is_widened(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && value->operation == OP_CAST && is_long(value) &&
           value->from == AKG_INT32;
}

static bool is_power_of_two(int64_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

/* Whether it multiplies by a number that needs a register. */
static bool is_factor(const struct vector_value *value, const struct vector_value *other)
{
    return value->operation == OP_MUL && other->kind == VECTOR_CONSTANT && !is_power_of_two(number_of(other));
}

/* Whether it can be computed with so many registers, by a value with the number `end`. */
static bool is_general(const struct machine *machine, int number, int end, int registers)
{
    const struct vector_value *value = value_at(machine, number);
    if (registers == 0)
        return false;
    if (is_leaf(value) || load_of(machine, number, end))
        return true;
    if (is_widened(value))
        return is_general(machine, value->operands[0], end, registers);
    if (!is_binary(value))
        return false;
    int a = value->operands[0], b = value->operands[1];
    if (is_leaf(value_at(machine, a)) && value->operation != OP_SUB) {
        a = b;
        b = value->operands[0];
    }
    bool is_alone = is_leaf(value_at(machine, b)) && !is_factor(value, value_at(machine, b));
    return is_general(machine, a, end, registers) && (is_alone || is_general(machine, b, end, registers - 1));
}

bool machine_is_general_set(const struct machine *machine, int number)
{
    const struct vector_value *set = value_at(machine, number);
    return machine->loop->is_once && set->kind == VECTOR_SET && set->mask < 0 &&
           machine->loop->accumulators.items[set->slot].dtype == AKG_INT64 &&
           !is_leaf(value_at(machine, set->operands[0])) &&
           is_general(machine, set->operands[0], number, REGISTERS);
}

/* ---- the code ------------------------------------------------------------------------------------- */

static void add(struct machine *machine, enum x86_form form, int reg, int rm)
{
    machine_add(machine, (struct x86_instruction){.form = form, .reg = reg, .rm = rm});
}

static void add_by(struct machine *machine, enum x86_form form, int rm, int64_t number)
{
    machine_add(machine, (struct x86_instruction){.form = form, .rm = rm, .immediate = number});
}

static void add_from(struct machine *machine, enum x86_form form, int reg, struct x86_memory memory)
{
    machine_add(machine,
                (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

/* By a leaf that is no factor in need of a register. */
static void apply_leaf(struct machine *machine, enum operation operation, int reg,
                       const struct vector_value *leaf)
{
    enum x86_form form = operation == OP_ADD ? X86_ADD : operation == OP_SUB ? X86_SUB : X86_IMUL;
    if (leaf->kind == VECTOR_SCALAR)
        add_from(machine, form, reg, machine_slot(machine, leaf->slot));
    else if (operation != OP_MUL)
        add_by(machine, operation == OP_ADD ? X86_ADD_BY : X86_SUB_BY, reg, number_of(leaf));
    else
        add_by(machine, X86_SHL_BY, reg, __builtin_ctzll((uint64_t)number_of(leaf)));
}

/* Into the register; those behind it are free. */
static void compute(struct machine *machine, int number, int end, int reg)
{
    const struct vector_value *value = value_at(machine, number), *load = load_of(machine, number, end);
    if (load) {
        bool is_unit = machine->loop->streams.items[load->stream].step_kind == VECTOR_UNIT;
        add_from(machine, load_form(load->dtype), reg,
                 is_unit ? machine_unit_memory(machine, load) : machine_step_memory(machine, load));
        return;
    }
    if (is_leaf(value)) {
        if (value->kind == VECTOR_SCALAR)
            add_from(machine, X86_MOV, reg, machine_slot(machine, value->slot));
        else
            machine_add(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                                          .reg = reg,
                                                          .immediate = (int64_t)value->bits});
        return;
    }
    int a = value->operands[0], b = value->operands[1];
    if (is_widened(value)) {
        compute(machine, a, end, reg);
        add(machine, X86_MOVSXD, reg, reg);
        return;
    }
    if (is_leaf(value_at(machine, a)) && value->operation != OP_SUB) {
        a = b;
        b = value->operands[0];
    }
    compute(machine, a, end, reg);
    if (is_leaf(value_at(machine, b)) && !is_factor(value, value_at(machine, b))) {
        apply_leaf(machine, value->operation, reg, value_at(machine, b));
        return;
    }
    compute(machine, b, end, SECOND);
    add(machine,
        value->operation == OP_ADD   ? X86_ADD
        : value->operation == OP_SUB ? X86_SUB
                                     : X86_IMUL,
        reg, SECOND);
}

void machine_general_set(struct machine *machine, int number)
{
    const struct vector_value *set = value_at(machine, number);
    compute(machine, set->operands[0], number, FIRST);
    add_from(machine, X86_MOV_STORE, FIRST,
             machine_slot(machine, machine->loop->accumulators.items[set->slot].slot));
}

/* ---- what is left in lanes --------------------------------------------------------------------------- */

bool *machine_values_in_lanes(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    bool *needed = arena_array(machine->arena, bool, loop->values.count);
    for (int k = loop->values.count - 1; k >= 0; k--) {
        const struct vector_value *value = &loop->values.items[k];
        bool has_effect =
            value->kind == VECTOR_STORE || value->kind == VECTOR_SCATTER || value->kind == VECTOR_SET;
        needed[k] |= has_effect && !machine_is_general_set(machine, k);
        for (int operand = 0; operand < 3 && needed[k]; operand++)
            if (value->operands[operand] >= 0)
                needed[value->operands[operand]] = true;
        if (needed[k] && value->mask >= 0)
            needed[value->mask] = true;
    }
    return needed;
}

/*
 * vector_x86_general.c: numbers of 64 bits that straight code computes for other parts of a band, above all
 * the addresses of rows that an index out of a tensor picks, in general registers.
 *
 * Consumes the values of straight code (vector_x86_serial.c); appends instructions on rax and one register
 * more, and says which values are computed in lanes for nobody then. From lane to address it is a way through
 * memory, which takes longer than the address: a product of two rows of 16 has 25 instructions instead of 31.
 * Where a jump hangs on the number and was foreseen wrongly, all waits for it.
 */
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"

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
    return (value->kind == VECTOR_SCALAR || value->kind == VECTOR_TOTAL) && is_long(value);
}

static struct x86_memory slot_of(struct machine *machine, const struct vector_value *leaf)
{
    int slot = leaf->kind == VECTOR_TOTAL ? machine->loop->accumulators.items[leaf->slot].slot : leaf->slot;
    return machine_slot(machine, slot);
}

/* Whether the slot of a leaf is set in between. */
static bool is_set(const struct machine *machine, int number, int end)
{
    const struct vector_value *leaf = value_at(machine, number);
    for (int k = number; k < end && leaf->kind == VECTOR_TOTAL; k++)
        if (value_at(machine, k)->kind == VECTOR_SET && value_at(machine, k)->slot == leaf->slot)
            return true;
    return false;
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

static bool is_extreme(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && is_long(value) && value->from == AKG_INT64 &&
           (value->operation == OP_MIN || value->operation == OP_MAX);
}

static bool is_choice(const struct vector_value *value)
{
    return value->kind == VECTOR_OPERATION && is_long(value) && value->operation == OP_SELECT;
}

/* A comparison of an element with a number, or of two floats: what flags tell. */
static bool is_test(const struct machine *machine, int number, int end)
{
    const struct vector_value *test = value_at(machine, number);
    if (test->kind != VECTOR_OPERATION)
        return false;
    bool is_order = test->operation == OP_LT || test->operation == OP_LE || test->operation == OP_GT ||
                    test->operation == OP_GE;
    if (test->from == AKG_FLOAT32 || test->from == AKG_FLOAT64)
        return is_order;
    const struct vector_value *element = value_at(machine, test->operands[0]);
    return (is_order || test->operation == OP_EQ || test->operation == OP_NE) &&
           (test->from == AKG_INT32 || test->from == AKG_INT64) && element->kind == VECTOR_LOAD &&
           element->mask < 0 && stays(machine, test->operands[0], end) &&
           value_at(machine, test->operands[1])->kind == VECTOR_CONSTANT &&
           is_leaf(value_at(machine, test->operands[1]));
}

static bool is_general(const struct machine *machine, int number, int end, int registers);

/* Of a choice: the first one goes into the register behind, where it is in no slot. */
static bool is_general_choice(const struct machine *machine, const struct vector_value *value, int end,
                              int registers)
{
    return is_test(machine, value->operands[0], end) &&
           is_general(machine, value->operands[2], end, registers) &&
           is_general(machine, value->operands[1], end, registers - 1);
}

/* Whether it can be computed with so many registers, by a value with the number `end`. */
static bool is_general(const struct machine *machine, int number, int end, int registers)
{
    const struct vector_value *value = value_at(machine, number);
    if (registers == 0 || (is_leaf(value) && is_set(machine, number, end)))
        return false;
    if (is_leaf(value) || load_of(machine, number, end))
        return true;
    if (is_choice(value))
        return is_general_choice(machine, value, end, registers);
    if (is_extreme(value))
        return is_general(machine, value->operands[0], end, registers) &&
               is_leaf(value_at(machine, value->operands[1])) &&
               is_general(machine, value->operands[1], end, registers - 1);
    if (is_widened(value))
        return is_general(machine, value->operands[0], end, registers);
    if (!is_binary(value))
        return false;
    int a = value->operands[0], b = value->operands[1];
    if (is_leaf(value_at(machine, a)) && value->operation != OP_SUB) {
        a = b;
        b = value->operands[0];
    }
    bool is_alone =
        is_leaf(value_at(machine, b)) && !is_factor(value, value_at(machine, b)) && !is_set(machine, b, end);
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
    if (leaf->kind != VECTOR_CONSTANT)
        add_from(machine, form, reg, slot_of(machine, leaf));
    else if (operation != OP_MUL && number_of(leaf) == 0)
        return;
    else if (operation != OP_MUL)
        add_by(machine, operation == OP_ADD ? X86_ADD_BY : X86_SUB_BY, reg, number_of(leaf));
    else
        add_by(machine, X86_SHL_BY, reg, __builtin_ctzll((uint64_t)number_of(leaf)));
}

static struct x86_memory memory_of(struct machine *machine, const struct vector_value *load)
{
    bool is_unit = machine->loop->streams.items[load->stream].step_kind == VECTOR_UNIT;
    return is_unit ? machine_unit_memory(machine, load) : machine_step_memory(machine, load);
}

/* Moves where the operation holds. Floats are compared so that nan says no: as above, never as below. */
static enum x86_form move_of(enum operation operation, bool is_float)
{
    switch (operation) {
    case OP_LT:
        return is_float ? X86_CMOVA : X86_CMOVL;
    case OP_LE:
        return is_float ? X86_CMOVAE : X86_CMOVLE;
    case OP_GT:
        return is_float ? X86_CMOVA : X86_CMOVG;
    case OP_GE:
        return is_float ? X86_CMOVAE : X86_CMOVGE;
    case OP_EQ:
        return X86_CMOVE;
    default:
        return X86_CMOVNE;
    }
}

/* The flags of a test, whose operands, if they are floats, are in lanes. */
static enum x86_form compare(struct machine *machine, const struct vector_value *test, const int *lanes)
{
    bool is_float = dtype_is_float(test->from);
    bool is_turned = test->operation == OP_LT || test->operation == OP_LE;
    const struct vector_value *element = value_at(machine, test->operands[0]);
    if (is_float)
        machine_add(machine,
                    (struct x86_instruction){.form = test->from == AKG_FLOAT64 ? X86_VUCOMISD : X86_VUCOMISS,
                                             .bits = 128,
                                             .reg = lanes[test->operands[is_turned]],
                                             .rm = lanes[test->operands[!is_turned]]});
    else
        machine_add(machine,
                    (struct x86_instruction){.form = test->from == AKG_INT64 ? X86_CMP_BY : X86_CMP_DWORD_BY,
                                             .has_memory = true,
                                             .memory = memory_of(machine, element),
                                             .immediate = number_of(value_at(machine, test->operands[1]))});
    return move_of(test->operation, is_float);
}

struct computation {
    struct machine *machine;
    int end;          /* the number of the value that it is for */
    const int *lanes; /* registers of values */
};

static void compute(const struct computation *computation, int number, int reg);

static void compute_leaf(struct machine *machine, const struct vector_value *leaf, int reg)
{
    if (leaf->kind != VECTOR_CONSTANT)
        add_from(machine, X86_MOV, reg, slot_of(machine, leaf));
    else
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_MOV_IMMEDIATE, .reg = reg, .immediate = number_of(leaf)});
}

/* Moves leave the flags as they are. */
static void compute_choice(const struct computation *computation, const struct vector_value *value, int reg)
{
    struct machine *machine = computation->machine;
    const struct vector_value *first = value_at(machine, value->operands[1]);
    bool in_slot = is_leaf(first) && first->kind != VECTOR_CONSTANT;
    compute(computation, value->operands[2], reg);
    if (!in_slot)
        compute(computation, value->operands[1], SECOND);
    enum x86_form form = compare(machine, value_at(machine, value->operands[0]), computation->lanes);
    if (in_slot)
        add_from(machine, form, reg, slot_of(machine, first));
    else
        add(machine, form, reg, SECOND);
}

static void compute_extreme(const struct computation *computation, const struct vector_value *value, int reg)
{
    struct machine *machine = computation->machine;
    compute(computation, value->operands[0], reg);
    compute(computation, value->operands[1], SECOND);
    add(machine, X86_CMP, reg, SECOND);
    add(machine, value->operation == OP_MIN ? X86_CMOVG : X86_CMOVL, reg, SECOND);
}

static void compute_binary(const struct computation *computation, const struct vector_value *value, int reg)
{
    struct machine *machine = computation->machine;
    int a = value->operands[0], b = value->operands[1];
    if (is_leaf(value_at(machine, a)) && value->operation != OP_SUB) {
        a = b;
        b = value->operands[0];
    }
    compute(computation, a, reg);
    if (is_leaf(value_at(machine, b)) && !is_factor(value, value_at(machine, b))) {
        apply_leaf(machine, value->operation, reg, value_at(machine, b));
        return;
    }
    compute(computation, b, SECOND);
    add(machine,
        value->operation == OP_ADD   ? X86_ADD
        : value->operation == OP_SUB ? X86_SUB
                                     : X86_IMUL,
        reg, SECOND);
}

/* Into the register; those behind it are free. */
static void compute(const struct computation *computation, int number, int reg)
{
    struct machine *machine = computation->machine;
    const struct vector_value *value = value_at(machine, number);
    const struct vector_value *load = load_of(machine, number, computation->end);
    if (load)
        add_from(machine, load_form(load->dtype), reg, memory_of(machine, load));
    else if (is_leaf(value))
        compute_leaf(machine, value, reg);
    else if (is_choice(value))
        compute_choice(computation, value, reg);
    else if (is_extreme(value))
        compute_extreme(computation, value, reg);
    else if (is_widened(value)) {
        compute(computation, value->operands[0], reg);
        add(machine, X86_MOVSXD, reg, reg);
    } else
        compute_binary(computation, value, reg);
}

void machine_general_set(struct machine *machine, int number, const int *lanes)
{
    const struct vector_value *set = value_at(machine, number);
    const struct computation computation = {machine, number, lanes};
    compute(&computation, set->operands[0], FIRST);
    add_from(machine, X86_MOV_STORE, FIRST,
             machine_slot(machine, machine->loop->accumulators.items[set->slot].slot));
}

/* ---- what is left in lanes --------------------------------------------------------------------------- */

/* The floats that tests of the number compare. */
static void need_tests(struct machine *machine, int number, bool *needed)
{
    const struct vector_value *value = value_at(machine, number);
    if (is_choice(value)) {
        const struct vector_value *test = value_at(machine, value->operands[0]);
        for (int k = 0; k < 2 && dtype_is_float(test->from); k++)
            needed[test->operands[k]] = true;
    }
    for (int k = is_choice(value); k < 3; k++)
        if (value->kind == VECTOR_OPERATION && value->operands[k] >= 0)
            need_tests(machine, value->operands[k], needed);
}

bool *machine_values_in_lanes(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    bool *needed = arena_array(machine->arena, bool, loop->values.count);
    for (int k = loop->values.count - 1; k >= 0; k--) {
        const struct vector_value *value = &loop->values.items[k];
        bool is_general_set = machine_is_general_set(machine, k);
        needed[k] |= !is_general_set && (value->kind == VECTOR_STORE || value->kind == VECTOR_SCATTER ||
                                         value->kind == VECTOR_SET);
        if (is_general_set)
            need_tests(machine, value->operands[0], needed);
        for (int operand = 0; operand < 3 && needed[k]; operand++)
            if (value->operands[operand] >= 0)
                needed[value->operands[operand]] = true;
        if (needed[k] && value->mask >= 0)
            needed[value->mask] = true;
    }
    return needed;
}

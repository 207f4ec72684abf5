/*
 * vector_x86_scatter.c: elements that lanes change one after the other (vector_scatter.c).
 *
 * Consumes indices and operands in lanes; both go to the frame, from where each lane's index is brought into
 * a general register. A lane that is masked accumulates what changes nothing into the first element.
 */
#include "vector_x86.h"

enum { SCRATCH = X86_R10 };

static struct x86_memory frame_at(int place)
{
    return (struct x86_memory){X86_RSP, X86_NONE, 1, place};
}

static void move(struct machine *machine, enum x86_form form, int bits, int reg, struct x86_memory memory)
{
    machine_add(machine, (struct x86_instruction){
                             .form = form, .bits = bits, .reg = reg, .has_memory = true, .memory = memory});
}

/* The vector in the frame. */
static int put(struct machine *machine, enum vector_type type, int vector)
{
    int bits = machine_bits(machine, type), place = machine_frame(machine, bits / 8);
    move(machine, X86_VMOVUPS_STORE, bits, vector, frame_at(place));
    return place;
}

/* What one vector's lanes do. */
struct scatter {
    const struct vector_value *value;
    int base, indices, changes; /* a general register; places in the frame */
    int index_size, operand;
    bool same; /* all lanes accumulate the same */
};

/* Sums of integers are made in memory. */
static void add_lane(struct machine *machine, const struct scatter *scatter, struct x86_memory element,
                     int lane)
{
    bool wide = element.scale == 8;
    if (lane == 0 || !scatter->same)
        move(machine, wide ? X86_MOV : X86_MOV_DWORD, 0, X86_RAX,
             frame_at(scatter->changes + lane * element.scale));
    move(machine, wide ? X86_ADD_STORE : X86_ADD_DWORD_STORE, 0, X86_RAX, element);
}

static void combine_lane(struct machine *machine, const struct scatter *scatter, struct x86_memory element,
                         int lane)
{
    const struct vector_value *value = scatter->value;
    bool wide = element.scale == 8;
    enum x86_form load = wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD;
    int before = machine_new_vector(machine, 128), change = scatter->operand;
    move(machine, load, 128, before, element);
    if (!scatter->same) {
        change = machine_new_vector(machine, 128);
        move(machine, load, 128, change, frame_at(scatter->changes + lane * element.scale));
    }
    int after = machine_combine(machine, value->operation, value->dtype, 128, before, change);
    move(machine, wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE, 128, after, element);
}

static void scatter_lanes(struct machine *machine, const struct scatter *scatter)
{
    const struct vector_value *value = scatter->value;
    bool sum = value->operation == OP_ADD && !dtype_is_float(value->dtype);
    for (int lane = 0; lane < machine->lanes; lane++) {
        struct x86_memory element = {scatter->base, SCRATCH, dtype_table[value->dtype].size, 0};
        move(machine, scatter->index_size == 8 ? X86_MOV : X86_MOV_DWORD, 0, SCRATCH,
             frame_at(scatter->indices + lane * scatter->index_size));
        if (sum)
            add_lane(machine, scatter, element, lane);
        else
            combine_lane(machine, scatter, element, lane);
    }
}

void machine_scatter(struct machine *machine, const struct vector_value *value, const int *operands, int mask)
{
    const struct vector_value *values = machine->loop->values.items;
    enum vector_type type = values[value->operands[1]].type;
    enum vector_kind kind = values[value->operands[0]].kind;
    int operand = operands[0], index = operands[1];
    struct scatter scatter = {.value = value,
                              .base = machine->pointers[value->stream],
                              .index_size = vector_type_is_wide(type) ? 8 : 4,
                              .same = !mask && (kind == VECTOR_CONSTANT || kind == VECTOR_SCALAR)};
    if (scatter.base < 0) {
        machine_refuse(machine);
        return;
    }
    if (mask) {
        int nothing =
            machine_constant(machine, value->type, machine_identity(value->operation, value->dtype));
        index = machine_select(machine, type, mask, index, machine_constant(machine, type, 0));
        operand = machine_select(machine, value->type, mask, operand, nothing);
    }
    if (value->slot >= 0)
        machine_test_below(machine, type, index, machine_keep(machine, KEPT_SCALAR, type, value->slot, 0),
                           true, 0);
    scatter.operand = operand;
    scatter.indices = put(machine, type, index);
    scatter.changes = put(machine, value->type, operand);
    scatter_lanes(machine, &scatter);
}

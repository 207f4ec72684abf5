/*
 * vector_x86_scatter.c: elements that lanes change one after the other (vector_scatter.c).
 *
 * Consumes indices and operands in lanes. What is loaded as it is comes from where it lies, lane by lane.
 * Other indices and operands are taken out of their vectors, which spares what is loaded from waiting for
 * what was stored just before (Zen 4: a histogram of 20,000 numbers 20 us by way of the frame, and so 12.7);
 * those of scatters that wait, what integers sum up and, with AVX-512, indices of what only counts go to the
 * frame.
 *
 * A lane that is masked must touch no element: those of its row may be outside of the tensor, or change under
 * another thread. So lanes have addresses, and masked ones have each a place of its own in the frame, where
 * what they do is of no use to anyone.
 *
 * Scatters that wait for others, of their tensor or any, put what they have into the frame, and the last one
 * goes through all of them lane by lane. With AVX-512 elements side by side are changed together
 * (vector_x86_neighbours.c).
 */
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

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

/* Elements in lanes: in the frame, in one or two vectors of 128 bits, or where they are loaded from. */
struct lanes {
    int place, parts[MACHINE_PARTS];
    const struct vector_value *loaded; /* one by one; NULL: they are lanes */
};

/* What one vector's lanes do. */
struct machine_change {
    const struct vector_value *value;
    int base, indices; /* a general register; a place in the frame */
    int index_size, index, operand;
    bool is_addressed; /* under a mask: the indices are the addresses of the elements, in 64 bits, */
    int upper;         /* and those of the upper lanes, which come second; 0: one vector has all */
    const struct vector_value *loaded; /* where indices are loaded one by one; NULL: they are lanes */
    int pair;  /* a general register for the indices of two lanes; -1: lanes come from the frame, */
    int two;   /* two at a time into this register; -1: one by one */
    bool same; /* all lanes accumulate the same */
    int index_parts[2 * MACHINE_PARTS];
    struct lanes changes;
};

static int size_of(const struct machine_change *scatter)
{
    return dtype_table[scatter->value->dtype].size;
}

/* ---- lanes out of a vector -------------------------------------------------------------------------- */

/* Another register than those that hold something; -1: there is none. */
static int free_register(struct machine *machine)
{
    static const int registers[] = {X86_R11, X86_R9,  X86_R8,  X86_RSI, X86_RBX,
                                    X86_R12, X86_R13, X86_R14, X86_R15};
    enum { COUNT = sizeof registers / sizeof *registers };
    for (int k = 0; k < COUNT; k++) {
        int reg = registers[k];
        bool taken = reg == machine->slots || reg == machine->count || reg == machine->index;
        for (int stream = 0; stream < machine->loop->streams.count; stream++)
            taken |= machine->pointers[stream] == reg;
        if (!taken) {
            machine->general |= 1u << reg;
            return reg;
        }
    }
    return -1;
}

/* Of what is loaded one by one the element of the lane. */
static struct x86_memory loaded_at(struct machine *machine, const struct vector_value *loaded, int lane)
{
    struct x86_memory memory = machine_unit_memory(machine, loaded);
    memory.displacement += lane * dtype_table[loaded->dtype].size;
    return memory;
}

static struct x86_memory place_of(struct machine *machine, const struct lanes *lanes, int lane, int size)
{
    return lanes->loaded ? loaded_at(machine, lanes->loaded, lane) : frame_at(lanes->place + lane * size);
}

static void begin_lanes(struct machine *machine, const struct machine_change *scatter, int vector,
                        bool in_frame, struct lanes *lanes)
{
    const struct vector_value *value = scatter->value;
    if (lanes->loaded)
        return;
    if (in_frame)
        lanes->place = put(machine, value->type, vector);
    else
        machine_parts(machine, vector, machine->lanes * dtype_table[value->dtype].size, lanes->parts);
}

/* One of them, in the first lane of a vector. */
static int lane_of(struct machine *machine, const struct machine_change *scatter, const struct lanes *lanes,
                   int lane)
{
    int size = dtype_table[scatter->value->dtype].size, place = lane * size % 16 / size;
    if (lanes->loaded || scatter->pair < 0) {
        int result = machine_new_vector(machine, 128);
        move(machine, size == 8 ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD, 128, result,
             place_of(machine, lanes, lane, size));
        return result;
    }
    int part = lanes->parts[lane * size / 16];
    if (!place)
        return part;
    return machine_rvmi(machine, size == 8 ? X86_VSHUFPD : X86_VSHUFPS, 128, part, part, place);
}

/* ---- lane by lane ------------------------------------------------------------------------------------ */

/* Sums of integers are made in memory. */
static void add_lane(struct machine *machine, const struct machine_change *scatter, struct x86_memory element,
                     int lane)
{
    bool wide = size_of(scatter) == 8;
    if (lane == 0 || !scatter->same)
        move(machine, wide ? X86_MOV : X86_MOV_DWORD, 0, X86_RAX,
             place_of(machine, &scatter->changes, lane, size_of(scatter)));
    move(machine, wide ? X86_ADD_STORE : X86_ADD_DWORD_STORE, 0, X86_RAX, element);
}

static void combine_lane(struct machine *machine, const struct machine_change *scatter,
                         struct x86_memory element, int lane)
{
    const struct vector_value *value = scatter->value;
    int before = machine_new_vector(machine, 128), change = scatter->operand;
    bool wide = size_of(scatter) == 8;
    move(machine, wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD, 128, before, element);
    if (!scatter->same)
        change = lane_of(machine, scatter, &scatter->changes, lane);
    move(machine, wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE, 128,
         machine_combine(machine, value->operation, value->dtype, 128, before, change), element);
}

static void overwrite_lane(struct machine *machine, const struct machine_change *scatter,
                           struct x86_memory element, int lane)
{
    int after = scatter->same ? scatter->operand : lane_of(machine, scatter, &scatter->changes, lane);
    move(machine, size_of(scatter) == 8 ? X86_VMOVSD_STORE : X86_VMOVSS_STORE, 128, after, element);
}

static bool is_written(const struct vector_loop *loop, const struct ir_buffer *buffer)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if ((value->kind == VECTOR_STORE || value->kind == VECTOR_SCATTER) &&
            loop->streams.items[value->stream].access->buffer == buffer)
            return true;
    }
    return false;
}

/* Whether each lane of what is loaded may be had from its place, which the loop leaves as it is. */
static bool is_at_hand(const struct machine *machine, const struct vector_value *value)
{
    if (value->kind != VECTOR_LOAD || value->mask >= 0)
        return false;
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    return stream->step_kind == VECTOR_UNIT && machine->pointers[value->stream] >= 0 &&
           !is_written(machine->loop, stream->access->buffer);
}

/* The load of the indices where each may be had from its place: bytes, or as many bits as the lanes have. */
static const struct vector_value *loaded_index(const struct machine *machine,
                                               const struct vector_value *value, int index_size)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_value *index = &loop->values.items[value->operands[1]];
    while (index->kind == VECTOR_OPERATION && index->operation == OP_CAST && dtype_is_integer(index->dtype) &&
           index->from == AKG_UINT8)
        index = &loop->values.items[index->operands[0]];
    bool fits = index->dtype == AKG_UINT8 ||
                (dtype_is_integer(index->dtype) && dtype_table[index->dtype].size == index_size);
    return fits && is_at_hand(machine, index) ? index : NULL;
}

/* The load of what is accumulated, or stored, where each element may be had from its place: a vector that is
 * put into the frame to be loaded from there in lanes takes longer. */
static const struct vector_value *loaded_change(const struct machine *machine,
                                                const struct vector_value *value)
{
    const struct vector_value *change = &machine->loop->values.items[value->operands[0]];
    return change->dtype == value->dtype && is_at_hand(machine, change) ? change : NULL;
}

/* Every second lane brings the next one with it (Zen 4: a histogram of 6,144 numbers 3.8 us one by one, and
 * so 3.3). */
static int lane_of_two(struct machine *machine, int two, struct x86_memory memory, int lane)
{
    if (lane % 2) {
        machine_add(machine, (struct x86_instruction){.form = X86_SHR_BY, .rm = two, .immediate = 32});
        return two;
    }
    move(machine, X86_MOV, 0, two, memory);
    machine_add(machine, (struct x86_instruction){.form = X86_MOV_DWORD, .reg = SCRATCH, .rm = two});
    return SCRATCH;
}

/* Into the general register that is returned. */
static int lane_index(struct machine *machine, const struct machine_change *scatter, int lane)
{
    int size = scatter->index_size;
    struct x86_memory memory = frame_at(scatter->indices + lane * size);
    if (!scatter->loaded && scatter->two >= 0)
        return lane_of_two(machine, scatter->two, memory, lane);
    if (!scatter->loaded && scatter->pair >= 0)
        return machine_lane_number(machine, scatter->index_parts, size, lane, scatter->pair, SCRATCH);
    if (scatter->loaded) {
        size = dtype_table[scatter->loaded->dtype].size;
        memory = loaded_at(machine, scatter->loaded, lane);
    }
    move(machine, size == 1 ? X86_MOVZX_BYTE : size == 8 ? X86_MOV : X86_MOV_DWORD, 0, SCRATCH, memory);
    return SCRATCH;
}

/* One that waits, whose indices are the same; NULL: none does. */
static const struct machine_change *find_same_indices(const struct machine *machine,
                                                      const struct machine_change *scatter)
{
    for (int k = 0; k < machine->changes.count; k++) {
        const struct machine_change *other = machine->changes.items[k];
        if (other->index == scatter->index && other->index_size == scatter->index_size && !other->loaded)
            return other;
    }
    return NULL;
}

/* Indices, to where lanes are taken from: the frame, or vectors of 128 bits. */
static void begin_indices(struct machine *machine, struct machine_change *scatter)
{
    int bytes = machine->lanes * scatter->index_size / (scatter->upper ? 2 : 1);
    if (scatter->pair >= 0) {
        machine_parts(machine, scatter->index, bytes, scatter->index_parts);
        if (scatter->upper)
            machine_parts(machine, scatter->upper, bytes, scatter->index_parts + bytes / 16);
        return;
    }
    scatter->indices = machine_frame(machine, machine->lanes * scatter->index_size);
    int bits = bytes < 16 ? 128 : 8 * bytes;
    move(machine, X86_VMOVUPS_STORE, bits, scatter->index, frame_at(scatter->indices));
    if (scatter->upper)
        move(machine, X86_VMOVUPS_STORE, bits, scatter->upper, frame_at(scatter->indices + bytes));
}

/* Brings indices and operands to where lanes are taken from. `alone`: no others wait. */
static void begin_change(struct machine *machine, struct machine_change *scatter, bool alone)
{
    const struct vector_value *value = scatter->value;
    bool sum = value->operation == OP_ADD && !dtype_is_float(value->dtype);
    scatter->same &= alone;
    bool counts = scatter->same && machine_is_avx512(machine); /* and loads nothing else from the frame */
    scatter->pair = alone && !counts ? free_register(machine) : -1;
    scatter->two = counts && !scatter->loaded && scatter->index_size == 4 ? free_register(machine) : -1;
    const struct machine_change *same = alone ? NULL : find_same_indices(machine, scatter);
    if (same)
        scatter->indices = same->indices;
    else if (!scatter->loaded)
        begin_indices(machine, scatter);
    begin_lanes(machine, scatter, scatter->operand, scatter->pair < 0 || sum, &scatter->changes);
}

/* Whether the lane's index is in the register where the other change had it. */
static bool has_index_of(const struct machine_change *scatter, const struct machine_change *before)
{
    return before && before->pair < 0 && scatter->pair < 0 && before->index == scatter->index &&
           before->index_size == scatter->index_size && before->loaded == scatter->loaded;
}

/* `before`: the change before it, of the same lane; NULL: there is none. */
static void change_lane(struct machine *machine, const struct machine_change *scatter,
                        const struct machine_change *before, int lane)
{
    const struct vector_value *value = scatter->value;
    int index = has_index_of(scatter, before) ? SCRATCH : lane_index(machine, scatter, lane);
    struct x86_memory element = {scatter->base, index, size_of(scatter), 0};
    if (scatter->is_addressed)
        element = (struct x86_memory){index, X86_NONE, 1, 0};
    if (value->operation == OP_ADD && !dtype_is_float(value->dtype))
        add_lane(machine, scatter, element, lane);
    else if (value->operation == OPERATION_COUNT)
        overwrite_lane(machine, scatter, element, lane);
    else
        combine_lane(machine, scatter, element, lane);
}

static const struct ir_buffer *buffer_of(const struct machine *machine, const struct vector_value *value)
{
    return machine->loop->streams.items[value->stream].access->buffer;
}

static bool is_last(const struct machine *machine, const struct vector_value *scatter)
{
    const struct vector_loop *loop = machine->loop;
    for (const struct vector_value *later = scatter + 1; later < loop->values.items + loop->values.count;
         later++)
        if (later->kind == VECTOR_SCATTER)
            return false;
    return true;
}

/* Those that waited for the scatter, and it, lane by lane. */
static void change_lanes(struct machine *machine, struct machine_change *scatter)
{
    LIST(struct machine_change *) others = {.count = 0};
    int left = 0;
    bool all = is_last(machine, scatter->value); /* of whichever tensors */
    for (int k = 0; k < machine->changes.count; k++) {
        struct machine_change *other = machine->changes.items[k];
        if (all || buffer_of(machine, other->value) == buffer_of(machine, scatter->value))
            list_push(machine->arena, &others, other);
        else
            machine->changes.items[left++] = other;
    }
    machine->changes.count = left;
    begin_change(machine, scatter, others.count == 0);
    list_push(machine->arena, &others, scatter);
    for (int lane = 0; lane < machine->lanes; lane++)
        for (int k = 0; k < others.count; k++)
            change_lane(machine, others.items[k], k ? others.items[k - 1] : NULL, lane);
}

/* What waited for the scatter, and it, a row of each lane. */
static void change_rows(struct machine *machine, struct machine_change *scatter,
                        const struct machine_row *row, int count)
{
    int operands[4] = {0}, left = 0;
    for (int k = 0; k < count; k++)
        if (row->values[k] == scatter->value)
            operands[k] = scatter->operand;
    for (int n = 0; n < machine->changes.count; n++) {
        struct machine_change *other = machine->changes.items[n];
        bool is_of_row = false;
        for (int k = 0; k < count; k++)
            if (row->values[k] == other->value) {
                operands[k] = other->operand;
                is_of_row = true;
            }
        if (!is_of_row)
            machine->changes.items[left++] = other;
    }
    machine->changes.count = left;
    scatter->pair = -1;
    begin_indices(machine, scatter);
    machine_change_row(machine, row, count, operands, scatter->indices, scatter->index_size == 8,
                       scatter->is_addressed);
}

/* What the general register holds, in all lanes of 64 bits. */
static int in_all_lanes(struct machine *machine, int bits, int reg)
{
    int one = machine_new_vector(machine, 128);
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVQ_TO, .bits = 128, .reg = one, .rm = reg});
    return machine_rm(machine, X86_VPBROADCASTQ, bits, one);
}

/* Half of the lanes' numbers of 32 bits, or all, in 64 bits. */
static int in_64_bits(struct machine *machine, int bits, int numbers, bool is_upper)
{
    if (is_upper)
        numbers = machine_upper_half(machine, numbers, bits, false);
    return machine_rm(machine, X86_VPMOVZXDQ, bits, numbers);
}

/* Of the lanes of 64 bits, which are half of all or all: one of two where the mask says so. */
static int selected(struct machine *machine, int bits, int mask, bool is_upper, int yes, int no)
{
    if (!machine_is_avx512(machine)) {
        if (!machine->loop->wide) {
            int half = is_upper ? machine_upper_half(machine, mask, bits, false) : mask;
            mask = machine_rm(machine, X86_VPMOVSXDQ, bits, half);
        }
        int result = machine_new_vector(machine, bits);
        machine_add(
            machine,
            (struct x86_instruction){
                .form = X86_VBLENDVPD, .bits = bits, .reg = result, .vvvv = no, .rm = yes, .fourth = mask});
        return result;
    }
    if (is_upper) {
        int upper = machine_new_mask(machine);
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_KMOVW_FROM, .bits = 128, .reg = SCRATCH, .rm = mask});
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_SHR_BY, .rm = SCRATCH, .immediate = machine->lanes / 2});
        machine_add(machine,
                    (struct x86_instruction){.form = X86_KMOVW_TO, .bits = 128, .reg = upper, .rm = SCRATCH});
        mask = upper;
    }
    int result = machine_copy(machine, bits, no);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_VMOVAPD, .bits = bits, .reg = result, .rm = yes, .mask = mask});
    return result;
}

/* In the place of indices, the addresses of the elements, and of lanes that are masked those of places in the
 * frame. */
static void find_addresses(struct machine *machine, struct machine_change *scatter, int mask)
{
    enum { PLACE = 16 /* bytes: as many as a row of elements has (vector_x86_neighbours.c) */ };
    bool is_two = machine->lanes * 64 > machine_vector_bits(machine);
    int bits = is_two ? machine_vector_bits(machine) : machine_bits(machine, VECTOR_I64);
    int base = in_all_lanes(machine, bits, scatter->base), addresses[2] = {0}, index = scatter->index;
    bool wide = scatter->index_size == 8;
    int steps = machine_keep(machine, KEPT_STEPS, VECTOR_I32, 0, PLACE);
    machine_add(machine,
                (struct x86_instruction){.form = X86_LEA,
                                         .reg = SCRATCH,
                                         .has_memory = true,
                                         .memory = frame_at(machine_frame(machine, machine->lanes * PLACE))});
    int frame = in_all_lanes(machine, bits, SCRATCH);
    for (int k = 0; k <= is_two; k++) {
        int place = machine_rvm(machine, X86_VPADDQ, bits, frame, in_64_bits(machine, bits, steps, k));
        int far = machine_shift(machine, X86_VPSLLQ_BY, X86_VPSLLQ_BY_WIDE, bits,
                                wide ? index : in_64_bits(machine, bits, index, k),
                                __builtin_ctz((unsigned)size_of(scatter)));
        addresses[k] =
            selected(machine, bits, mask, k, machine_rvm(machine, X86_VPADDQ, bits, far, base), place);
    }
    scatter->is_addressed = true;
    scatter->index_size = 8;
    scatter->index = addresses[0];
    scatter->upper = addresses[1];
}

void machine_scatter(struct machine *machine, const struct vector_value *value, const int *operands, int mask)
{
    const struct vector_value *values = machine->loop->values.items;
    enum vector_type type = values[value->operands[1]].type;
    enum vector_kind kind = values[value->operands[0]].kind;
    int index = operands[1];
    struct machine_change scatter = {.value = value,
                                     .base = machine->pointers[value->stream],
                                     .index_size = vector_type_is_wide(type) ? 8 : 4,
                                     .two = -1,
                                     .same = kind == VECTOR_CONSTANT || kind == VECTOR_SCALAR};
    if (!mask) {
        scatter.loaded = loaded_index(machine, value, scatter.index_size);
        scatter.changes.loaded = loaded_change(machine, value);
    }
    if (scatter.base < 0) {
        machine_refuse(machine);
        return;
    }
    if (value->slot >= 0)
        machine_test_below(machine, type, index, machine_keep(machine, KEPT_SCALAR, type, value->slot, 0),
                           true, mask);
    scatter.operand = operands[0];
    scatter.index = index;
    struct machine_row row;
    int in_row = machine_find_row(machine, value, &row);
    if (in_row)
        scatter.base = machine->pointers[row.values[0]->stream];
    if (mask && !(in_row && value->waits))
        find_addresses(machine, &scatter, mask);
    if (in_row && !value->waits) {
        change_rows(machine, &scatter, &row, in_row);
        return;
    }
    if (!value->waits) {
        change_lanes(machine, &scatter);
        return;
    }
    if (!in_row)
        begin_change(machine, &scatter, false);
    struct machine_change *waiting = arena_new(machine->arena, struct machine_change);
    *waiting = scatter;
    list_push(machine->arena, &machine->changes, waiting);
}

/*
 * vector_x86_setup.c: what is kept from before a vector loop to its end.
 *
 * Consumes what was asked to be kept (constants, scalars, tables of lanes, the start of partial results) and
 * the streams; appends instructions that fill their registers.
 */
#include "vector_x86_slim.h"
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

static void set_general(struct machine *machine, uint64_t bits)
{
    machine_add(machine, (struct x86_instruction){
                             .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = (int64_t)bits});
}

/* rax in all lanes. */
static void spread(struct machine *machine, int target, enum vector_type type)
{
    bool wide = vector_type_is_wide(type) || type == VECTOR_MASK;
    if (type == VECTOR_MASK && machine_is_avx512(machine)) {
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_KMOVQ_TO, .bits = 128, .reg = target, .rm = X86_RAX});
        return;
    }
    int one = machine->lanes == 1 ? target : machine_new_vector(machine, 128);
    machine_add(machine,
                (struct x86_instruction){
                    .form = wide ? X86_VMOVQ_TO : X86_VMOVD_TO, .bits = 128, .reg = one, .rm = X86_RAX});
    if (one == target)
        return;
    int bits = machine_bits(machine, type);
    machine_add(machine,
                (struct x86_instruction){
                    .form = machine_spread_form(wide, bits), .bits = bits, .reg = target, .rm = one});
}

/* The element in memory in all lanes. */
static void spread_memory(struct machine *machine, int target, enum vector_type type,
                          struct x86_memory memory, int label)
{
    bool wide = vector_type_is_wide(type);
    int bits = machine_bits(machine, type);
    enum x86_form one = wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD;
    machine_add(machine,
                (struct x86_instruction){.form = machine->lanes == 1 ? one : machine_spread_form(wide, bits),
                                         .bits = bits,
                                         .reg = target,
                                         .has_memory = true,
                                         .memory = memory,
                                         .label = label});
}

/* Bits out of the data behind the code in all lanes. */
void machine_spread_constant(struct machine *machine, int target, enum vector_type type, uint64_t bits)
{
    bool wide = vector_type_is_wide(type);
    int label = -1;
    if (type == VECTOR_MASK) {
        set_general(machine, bits ? UINT64_MAX : 0);
        spread(machine, target, type);
        return;
    }
    for (int k = 0; k < machine->data.count && label < 0; k++)
        if (machine->data.items[k].bits == bits && machine->data.items[k].size == (wide ? 8 : 4))
            label = machine->data.items[k].label;
    if (label < 0) {
        struct vector_datum datum = {machine->labels++, wide ? 8 : 4, bits, NULL};
        list_push(machine->arena, &machine->data, datum);
        label = datum.label;
    }
    spread_memory(machine, target, type, (struct x86_memory){X86_RIP, X86_NONE, 1, 0}, label);
}

static void setup_scalar(struct machine *machine, const struct machine_kept *kept)
{
    struct x86_memory slot = machine_slot(machine, kept->number);
    if (kept->type == VECTOR_MASK) {
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_MOV, .reg = X86_RAX, .has_memory = true, .memory = slot});
        machine_add(machine, (struct x86_instruction){.form = X86_NEG, .rm = X86_RAX});
        spread(machine, kept->virtual_register, VECTOR_MASK);
        return;
    }
    spread_memory(machine, kept->virtual_register, kept->type, slot, 0);
}

static void load_bits(struct machine *machine, int target, int bits, const void *table)
{
    set_general(machine, (uint64_t)(uintptr_t)table);
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                                  .bits = bits,
                                                  .reg = target,
                                                  .has_memory = true,
                                                  .memory = {X86_RAX, X86_NONE, 1, 0}});
}

static void load_table(struct machine *machine, int target, enum vector_type type, const void *table)
{
    load_bits(machine, target, machine_bits(machine, type), table);
}

void machine_spread_lanes(struct machine *machine, int target, enum vector_type type)
{
    static const int64_t wide[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const int32_t narrow[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    bool is_wide = vector_type_is_wide(type);
    load_table(machine, target, type, is_wide ? (const void *)wide : (const void *)narrow);
}

/* By number, from PAIRS_OVERLAP on, for so many lanes; as lanes of 32 bits and of 64. */
#define PAIRS_OF_2                                                                                           \
    {                                                                                                        \
        {0, 3}, {0, 2}, {1, 3}, {0, 2}, {1, 3},                                                              \
        {                                                                                                    \
            1, 0                                                                                             \
        }                                                                                                    \
    }
#define PAIRS_OF_4                                                                                           \
    {                                                                                                        \
        {0, 2, 5, 7}, {0, 2, 4, 6}, {1, 3, 5, 7}, {0, 4, 1, 5}, {2, 6, 3, 7},                                \
        {                                                                                                    \
            3, 2, 1, 0                                                                                       \
        }                                                                                                    \
    }
#define PAIRS_OF_8                                                                                           \
    {                                                                                                        \
        {0, 2, 4, 6, 9, 11, 13, 15}, {0, 2, 4, 6, 8, 10, 12, 14}, {1, 3, 5, 7, 9, 11, 13, 15},               \
            {0, 8, 1, 9, 2, 10, 3, 11}, {4, 12, 5, 13, 6, 14, 7, 15}, {7, 6, 5, 4, 3, 2, 1, 0},              \
    }

static void load_pairs(struct machine *machine, int target, enum vector_type type, int number)
{
    static const int64_t wide_two[6][2] = PAIRS_OF_2, wide_four[6][4] = PAIRS_OF_4,
                         wide_eight[6][8] = PAIRS_OF_8;
    /* the lower half of each, and so the second one's begin at 4 */
    static const int32_t two[6][4] = {{0, 5}, {0, 4}, {1, 5}, {0, 4}, {1, 5}, {1, 0}};
    static const int32_t four[6][4] = PAIRS_OF_4, eight[6][8] = PAIRS_OF_8;
    static const int32_t sixteen[6][16] = {{0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31},
                                           {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30},
                                           {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31},
                                           {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23},
                                           {8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31},
                                           {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}};
    int row = number - PAIRS_OVERLAP, lanes = machine->lanes;
    const void *table = lanes == 16  ? (const void *)sixteen[row]
                        : lanes == 8 ? eight[row]
                        : lanes == 4 ? four[row]
                                     : two[row];
    if (vector_type_is_wide(type))
        table = lanes == 8 ? (const void *)wide_eight[row] : lanes == 4 ? wide_four[row] : wide_two[row];
    load_table(machine, target, type, table);
}

/* Those of three vectors that begin with element 0, 1 and 2; back from lanes: as they are but for 1. */
static void load_thirds(struct machine *machine, const struct machine_kept *kept)
{
    static const int32_t tables[4][8] = {{0, 3, 6, 1, 4, 7, 2, 5},
                                         {1, 4, 7, 2, 5, 0, 3, 6},
                                         {2, 5, 0, 3, 6, 1, 4, 7},
                                         {5, 0, 3, 6, 1, 4, 7, 2}};
    load_table(machine, kept->virtual_register, kept->type, tables[kept->number]);
}

/* Of 16 lanes, for vector_x86_groups.c: which lane of two vectors, from 16 on of the second one, each has. */
static void load_order(struct machine *machine, const struct machine_kept *kept)
{
    static const int32_t tables[ORDER_COUNT][16] = {
        {0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0},
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 20, 23, 26, 29},
        {1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 0, 0, 0, 0, 0},
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 21, 24, 27, 30},
        {2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0, 0, 0, 0, 0, 0},
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 19, 22, 25, 28, 31},
        {0, 16, 0, 1, 17, 0, 2, 18, 0, 3, 19, 0, 4, 20, 0, 5},
        {0, 1, 16, 3, 4, 17, 6, 7, 18, 9, 10, 19, 12, 13, 20, 15},
        {21, 0, 6, 22, 0, 7, 23, 0, 8, 24, 0, 9, 25, 0, 10, 26},
        {0, 21, 2, 3, 22, 5, 6, 23, 8, 9, 24, 11, 12, 25, 14, 15},
        {0, 11, 27, 0, 12, 28, 0, 13, 29, 0, 14, 30, 0, 15, 31, 0},
        {26, 1, 2, 27, 4, 5, 28, 7, 8, 29, 10, 11, 30, 13, 14, 31},
        {0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15},
        {0, 4, 8, 12, 16, 20, 24, 28},
        {1, 5, 9, 13, 17, 21, 25, 29},
        {2, 6, 10, 14, 18, 22, 26, 30},
        {3, 7, 11, 15, 19, 23, 27, 31}};
    load_bits(machine, kept->virtual_register, 512, tables[kept->number]);
}

static void load_bytes(struct machine *machine, const struct machine_kept *kept)
{
    static const signed char tables[2][32] = {{0, 1, 2, -1, 3, 4, 5, -1, 6,  7,  8,  -1, 9,  10, 11, -1,
                                               4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1},
                                              {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1,
                                               0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1}};
    load_table(machine, kept->virtual_register, kept->type, tables[kept->number]);
}

static void load_backwards(struct machine *machine, const struct machine_kept *kept)
{
#define QUARTERS(...) __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__
    static const signed char bytes[64] = {QUARTERS(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)},
                             words[64] = {QUARTERS(14, 15, 12, 13, 10, 11, 8, 9, 6, 7, 4, 5, 2, 3, 0, 1)};
#undef QUARTERS
    load_table(machine, kept->virtual_register, kept->type, kept->number == 1 ? bytes : words);
}

static void load_permutation(struct machine *machine, const struct machine_kept *kept)
{
    enum { BYTES = 64 };
    unsigned char *bytes = arena_array(machine->arena, unsigned char, BYTES);
    struct vector_datum datum = {machine->labels++, BYTES, 0, bytes};
    slim_permutation(kept->bits, bytes);
    list_push(machine->arena, &machine->data, datum);
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                                  .bits = 512,
                                                  .reg = kept->virtual_register,
                                                  .has_memory = true,
                                                  .memory = {X86_RIP, X86_NONE, 1, 0},
                                                  .label = datum.label});
}

static void setup_steps(struct machine *machine, const struct machine_kept *kept)
{
    int bits = machine_bits(machine, kept->type), target = kept->virtual_register;
    bool wide = kept->type == VECTOR_I64;
    if (kept->bits == 1) {
        machine_spread_lanes(machine, target, kept->type);
        return;
    }
    if (wide && !machine_is_avx512(machine) && (int64_t)kept->bits != (int32_t)kept->bits) {
        machine_refuse(machine);
        return;
    }
    int lanes = machine_new_vector(machine, bits), step = machine_new_vector(machine, bits);
    enum x86_form multiply = !wide ? X86_VPMULLD : machine_is_avx512(machine) ? X86_VPMULLQ : X86_VPMULDQ;
    machine_spread_lanes(machine, lanes, kept->type);
    set_general(machine, kept->bits);
    spread(machine, step, kept->type);
    machine_into(machine, multiply, bits, target, lanes, step, 0);
}

/* The distance from the first element of each lane, in bytes. */
static void setup_indices(struct machine *machine, const struct machine_kept *kept)
{
    const struct vector_stream *stream = &machine->loop->streams.items[kept->number];
    int bits = machine_bits(machine, VECTOR_I32), size = dtype_table[stream->dtype].size;
    int lanes = machine_new_vector(machine, bits), step = machine_new_vector(machine, bits);
    machine_spread_lanes(machine, lanes, VECTOR_I32);
    if (stream->step_kind == VECTOR_CONSTANT_STEP) {
        set_general(machine, (uint64_t)(uint32_t)stream->step);
        spread(machine, step, VECTOR_I32);
    } else {
        machine_add(machine, (struct x86_instruction){.form = X86_VBROADCASTSS,
                                                      .bits = bits,
                                                      .reg = step,
                                                      .has_memory = true,
                                                      .memory = machine_slot(machine, stream->slot + 1)});
    }
    int product = machine_rvm(machine, X86_VPMULLD, bits, lanes, step);
    machine_add(machine, (struct x86_instruction){.form = X86_VPSLLD_BY_WIDE,
                                                  .bits = bits,
                                                  .vvvv = kept->virtual_register,
                                                  .rm = product,
                                                  .immediate = size == 8 ? 3 : 2});
}

uint64_t machine_identity(enum operation operation, akg_dtype dtype)
{
    bool wide = vector_type_is_wide(vector_type_of(dtype)), real = dtype_is_float(dtype);
    uint64_t sign = wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31, ones = wide ? UINT64_MAX : UINT32_MAX;
    uint64_t infinity = wide ? (uint64_t)0x7ff << 52 : (uint64_t)0xff << 23;
    bool is_signed = dtype_is_signed(dtype);
    switch (operation) {
    case OP_MUL:
        return real ? wide ? (uint64_t)0x3ff << 52 : (uint64_t)0x7f << 23 : 1;
    case OP_MIN:
        return real ? infinity : is_signed ? ~sign & ones : ones;
    case OP_MAX:
        return real ? infinity | sign : is_signed ? sign : 0;
    case OP_BITAND:
        return ones;
    case OP_ADD:
        return real ? sign : 0; /* -0.0: 0.0 would make a 0.0 of it */
    default:
        return 0;
    }
}

/* An earlier partial result that starts with the same: a copy of a register takes less than another load. */
static const struct machine_kept *same_start(const struct machine *machine, const struct machine_kept *kept)
{
    const struct vector_accumulator *rows = machine->loop->accumulators.items, *row = &rows[kept->number];
    for (const struct machine_kept *other = machine->kept.items; other < kept; other++)
        if (other->kind == KEPT_PARTIAL && !other->is_set && other->type == kept->type &&
            row->role == VECTOR_REDUCED && rows[other->number].role == VECTOR_REDUCED &&
            machine_identity(rows[other->number].operation, rows[other->number].dtype) ==
                machine_identity(row->operation, row->dtype))
            return other;
    return NULL;
}

/* What leaves the others as they are: of choices and scans, what was there before all iterations. */
static void setup_partial(struct machine *machine, const struct machine_kept *kept)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[kept->number];
    const struct machine_kept *same = same_start(machine, kept);
    if (same)
        machine_into(machine, X86_VMOVAPS, machine_bits(machine, kept->type), kept->virtual_register, 0,
                     same->virtual_register, 0);
    else if ((row->role != VECTOR_REDUCED && row->symbol) || machine_begins_with_start(machine, kept->number))
        spread_memory(machine, kept->virtual_register, kept->type, machine_slot(machine, row->slot), 0);
    else
        machine_spread_constant(machine, kept->virtual_register, kept->type,
                                row->role == VECTOR_CHOSEN ? machine_no_place(machine, (int)kept->bits)
                                                           : machine_identity(row->operation, row->dtype));
}

/* Likewise, of what is beside them. */
static const struct machine_kept *same_beside(const struct machine *machine, const struct machine_kept *kept)
{
    for (const struct machine_kept *other = machine->kept.items; other < kept; other++)
        if (other->kind == KEPT_BESIDE && other->type == kept->type && other->bits == kept->bits &&
            other->number / MACHINE_PARTIALS == kept->number / MACHINE_PARTIALS)
            return other;
    return NULL;
}

static void setup_beside(struct machine *machine, const struct machine_kept *kept)
{
    int number = kept->number / MACHINE_PARTIALS;
    const struct machine_kept *same = same_beside(machine, kept);
    if (same)
        machine_into(machine, X86_VMOVAPS, machine_bits(machine, kept->type), kept->virtual_register, 0,
                     same->virtual_register, 0);
    else if (machine_begins_with_start(machine, number))
        spread_memory(machine, kept->virtual_register, kept->type,
                      machine_slot(machine, machine->loop->accumulators.items[number].slot), 0);
    else
        machine_spread_constant(machine, kept->virtual_register, kept->type, kept->bits);
}

void machine_setup_kept(struct machine *machine, const struct machine_kept *kept)
{
    switch (kept->kind) {
    case KEPT_CONSTANT:
        machine_spread_constant(machine, kept->virtual_register, kept->type, kept->bits);
        break;
    case KEPT_WRAPPED:
        machine_spread_constant(machine, kept->virtual_register, kept->type, 0);
        break;
    case KEPT_BESIDE:
        setup_beside(machine, kept);
        break;
    case KEPT_SCALAR:
        setup_scalar(machine, kept);
        break;
    case KEPT_SLIM_SCALAR:
        machine_add(machine,
                    (struct x86_instruction){.form = kept->bits == 1 ? X86_VPBROADCASTB : X86_VPBROADCASTW,
                                             .bits = machine_bits(machine, kept->type),
                                             .reg = kept->virtual_register,
                                             .has_memory = true,
                                             .memory = machine_slot(machine, kept->number)});
        break;
    case KEPT_SLIM_PARTIAL:
        machine_spread_constant(machine, kept->virtual_register, kept->type,
                                kept->type == VECTOR_I64 ? kept->bits << 32 | kept->bits : kept->bits);
        break;
    case KEPT_SCANNED:
        machine_setup_scanned(machine, kept);
        break;
    case KEPT_STEPS:
        setup_steps(machine, kept);
        break;
    case KEPT_LANES:
        machine_spread_lanes(machine, kept->virtual_register, kept->type);
        break;
    case KEPT_MASK:
        set_general(machine, kept->bits);
        spread(machine, kept->virtual_register, VECTOR_MASK);
        break;
    case KEPT_INDICES:
        setup_indices(machine, kept);
        break;
    case KEPT_PAIRS:
        load_pairs(machine, kept->virtual_register, kept->type, kept->number);
        break;
    case KEPT_THIRDS:
        load_thirds(machine, kept);
        break;
    case KEPT_ORDER:
        load_order(machine, kept);
        break;
    case KEPT_LOOKUP:
        machine_setup_lookup(machine, kept);
        break;
    case KEPT_PERMUTATION:
        load_permutation(machine, kept);
        break;
    case KEPT_BACKWARDS:
        load_backwards(machine, kept);
        break;
    case KEPT_BYTES:
        load_bytes(machine, kept);
        break;
    case KEPT_TABLE:
        load_bits(machine, kept->virtual_register, 512, (const void *)(uintptr_t)kept->bits);
        break;
    case KEPT_PATTERN:
    case KEPT_NEEDED:
        machine_setup_pattern(machine, kept);
        break;
    case KEPT_PARTIAL:
        setup_partial(machine, kept);
        break;
    case KEPT_PLACE:
        machine_setup_place(machine, kept);
        break;
    case KEPT_TAIL:
    case KEPT_PASSED:
    case KEPT_WINDOW:
    case KEPT_EARLY:
    case KEPT_RECIPROCAL:
        break;
    }
}

void machine_setup_streams(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        struct x86_instruction move = {.form = X86_MOV, .reg = machine->pointers[k], .has_memory = true};
        move.memory = machine_slot(machine, stream->slot);
        if (machine->pointers[k] >= 0)
            machine_add(machine, move);
        if (stream->step_kind != VECTOR_RUN_TIME_STEP)
            continue;
        move.reg = X86_RAX;
        move.memory = machine_slot(machine, stream->slot + 1);
        machine_add(machine, move);
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_SHL_BY,
                                 .rm = X86_RAX,
                                 .immediate = __builtin_ctz(
                                     (unsigned)(dtype_table[stream->dtype].size * machine->lanes))});
        move.form = X86_MOV_STORE;
        machine_add(machine, move);
    }
}

/*
 * vector_x86_memory.c: loads and stores of streams.
 *
 * Consumes streams whose addresses are in general registers or slots; appends instructions that turn elements
 * in memory into lanes and back. Lanes that the mask leaves out are neither read nor written.
 */
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum { SCRATCH = X86_R10 }; /* rax carries masks to and from the frame */

static const struct vector_stream *stream_of(const struct machine *machine, const struct vector_value *value)
{
    return &machine->loop->streams.items[value->stream];
}

/* ---- addresses -------------------------------------------------------------------------- */

int machine_base(struct machine *machine, int stream)
{
    if (machine->pointers[stream] >= 0)
        return machine->pointers[stream];
    machine_add(machine, (struct x86_instruction){
                             .form = X86_MOV,
                             .reg = SCRATCH,
                             .has_memory = true,
                             .memory = machine_slot(machine, machine->loop->streams.items[stream].slot)});
    return SCRATCH;
}

/* The elements of a vector that lie one after the other. */
struct x86_memory machine_unit_memory(struct machine *machine, const struct vector_value *value)
{
    int size = dtype_table[value->dtype].size;
    return (struct x86_memory){machine_base(machine, value->stream), machine->index,
                               machine->index == X86_NONE ? 1 : size,
                               (value->offset + machine->ahead) * size};
}

/* The element of this iteration of a stream with a step. */
struct x86_memory machine_step_memory(struct machine *machine, const struct vector_value *value)
{
    return (struct x86_memory){machine_base(machine, value->stream), X86_NONE, 1,
                               value->offset * dtype_table[value->dtype].size};
}

static struct x86_instruction at(struct x86_memory memory, enum x86_form form, int bits, int reg, int mask)
{
    return (struct x86_instruction){
        .form = form, .bits = bits, .reg = reg, .mask = mask, .has_memory = true, .memory = memory};
}

static int all_lanes(struct machine *machine, int mask)
{
    return mask ? mask : machine_constant(machine, VECTOR_MASK, 1);
}

/* Gathers and scatters, whose mask is gone afterwards. */
static void at_step(struct machine *machine, const struct vector_value *value, enum x86_form narrow,
                    enum x86_form wide, int reg, int mask)
{
    bool is_wide = vector_type_is_wide(value->type);
    const struct vector_stream *stream = stream_of(machine, value);
    if (dtype_table[stream->dtype].size < 4) {
        machine_refuse(machine);
        return;
    }
    int lanes = machine_rm(machine, X86_KMOVW, 128, all_lanes(machine, mask));
    int indices = machine_keep(machine, KEPT_INDICES, VECTOR_I32, value->stream, 0);
    machine_add(machine,
                (struct x86_instruction){.form = is_wide ? wide : narrow,
                                         .bits = machine_bits(machine, value->type),
                                         .reg = reg,
                                         .mask = lanes,
                                         .has_memory = true,
                                         .memory = {machine_base(machine, value->stream), indices, 1,
                                                    value->offset * dtype_table[stream->dtype].size}});
}

/* ---- loads ---------------------------------------------------------------------------------- */

static enum x86_form load_form(akg_dtype dtype)
{
    switch (dtype) {
    case AKG_BOOL:
    case AKG_UINT8:
        return X86_VPMOVZXBD;
    case AKG_INT8:
        return X86_VPMOVSXBD;
    case AKG_INT16:
        return X86_VPMOVSXWD;
    case AKG_UINT16:
    case AKG_BFLOAT16:
        return X86_VPMOVZXWD;
    case AKG_FLOAT16:
        return X86_VCVTPH2PS;
    default:
        return dtype_table[dtype].size == 8 ? X86_VMOVUPD_LOAD : X86_VMOVUPS_LOAD;
    }
}

/* What was loaded into 32-bit lanes, as the dtype is kept. */
static int as_kept(struct machine *machine, akg_dtype dtype, int raw)
{
    if (dtype == AKG_BFLOAT16)
        return machine_shift(machine, X86_VPSLLD_BY, X86_VPSLLD_BY_WIDE, machine_bits(machine, VECTOR_I32),
                             raw, 16);
    if (dtype == AKG_BOOL)
        return machine_compare(machine, OP_NE, AKG_INT32, raw, machine_constant(machine, VECTOR_I32, 0));
    return raw;
}

int machine_from_memory(struct machine *machine, akg_dtype dtype, int raw)
{
    return as_kept(machine, dtype,
                   machine_rm(machine, load_form(dtype), machine_bits(machine, VECTOR_I32), raw));
}

/* `lanes`: a mask of AVX2 for the type of the value, which is not of small elements. */
static int load_lanes_avx2(struct machine *machine, const struct vector_value *value,
                           struct x86_memory memory, int lanes)
{
    bool wide = vector_type_is_wide(value->type);
    int bits = machine_bits(machine, value->type), result = machine_new_vector(machine, bits);
    struct x86_instruction load =
        at(memory, wide ? X86_VMASKMOVPD_LOAD : X86_VMASKMOVPS_LOAD, bits, result, 0);
    load.vvvv = lanes;
    machine_add(machine, load);
    return result;
}

/* Small elements that are masked, or alone, have no load of their own in AVX2. */
static bool takes_turns(const struct machine *machine, akg_dtype dtype, int mask)
{
    return !machine_is_avx512(machine) && dtype_table[dtype].size < 4 && (mask || machine->lanes == 1);
}

/* Fewer bytes than make 128 bits, all of them elements of 4 or 8 bytes. */
static bool is_part(const struct machine *machine, akg_dtype dtype)
{
    int size = dtype_table[dtype].size;
    return size >= 4 && size * machine->lanes < 16;
}

/* Without a mask; of one lane, with one as well: what is more than the element that was just stored waits
 * until that is in the cache. */
static enum x86_form whole_load_form(const struct machine *machine, akg_dtype dtype)
{
    if (!is_part(machine, dtype))
        return load_form(dtype);
    return dtype_table[dtype].size * machine->lanes == 8 ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD;
}

static enum vector_type lanes_of(const struct vector_value *value)
{
    return value->type == VECTOR_MASK ? VECTOR_I32 : value->type;
}

/* Whether it is the first of the stream's loads, all of which are under conditions. */
static bool is_first_masked(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_value *first = NULL;
    if (value->mask < 0 || value->kind != VECTOR_LOAD || !stream_of(machine, value)->is_masked)
        return false;
    for (int k = 0; k < loop->values.count && !first; k++)
        if (loop->values.items[k].kind == VECTOR_LOAD && loop->values.items[k].stream == value->stream)
            first = &loop->values.items[k];
    return first == value;
}

/* Processors see how loads go on, and fetch ahead, but not from masked ones: sums of 49 MB under conditions
 * took three times as long without this (Zen 5), those in the second cache take 1.05. */
static void fetch_ahead_of_masked(struct machine *machine, const struct vector_value *value,
                                  struct x86_memory memory)
{
    enum { AHEAD = 1024 };
    bool is_nest = machine->loop->nest && !vector_is_rows(machine->loop->nest); /* fetches by itself */
    if (machine->is_far || is_nest || !is_first_masked(machine, value))
        return;
    memory.displacement += AHEAD;
    machine_add(machine,
                (struct x86_instruction){.form = X86_PREFETCH, .has_memory = true, .memory = memory});
}

int machine_load_from(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                      int mask)
{
    if (takes_turns(machine, value->dtype, mask))
        return machine_load_in_turn(machine, value, memory, mask);
    fetch_ahead_of_masked(machine, value, memory);
    if (mask && !machine_is_avx512(machine))
        return load_lanes_avx2(machine, value, memory, machine_mask_for(machine, value->type, mask));
    int bits = machine_bits(machine, lanes_of(value)), result = machine_new_vector(machine, bits);
    enum x86_form form =
        mask && machine->lanes > 1 ? load_form(value->dtype) : whole_load_form(machine, value->dtype);
    struct x86_instruction load = at(memory, form, bits, result, mask);
    load.zeroing = mask != 0;
    machine_add(machine, load);
    return as_kept(machine, value->dtype, result);
}

/* Repeated as it is, then as lanes. */
static int load_small_one(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                          int mask)
{
    bool byte = dtype_table[value->dtype].size == 1;
    int bits = machine_bits(machine, value->type), part = !byte && bits == 512 ? 256 : 128;
    int raw = machine_new_vector(machine, part);
    struct x86_instruction load = at(memory, byte ? X86_VPBROADCASTB : X86_VPBROADCASTW, part, raw, mask);
    load.zeroing = mask != 0;
    machine_add(machine, load);
    return machine_from_memory(machine, value->dtype, raw);
}

/* A register with the address; with that of the slots, where anything can be read, if no lane is in the mask.
 */
struct x86_memory machine_readable(struct machine *machine, struct x86_memory memory, int mask)
{
    enum { ALL_LANES = 0xff };
    machine_add(machine, (struct x86_instruction){
                             .form = X86_LEA, .reg = SCRATCH, .has_memory = true, .memory = memory});
    machine_add(machine,
                (struct x86_instruction){.form = X86_VMOVMSKPS, .bits = 256, .reg = X86_RAX, .rm = mask});
    machine_add(machine, (struct x86_instruction){.form = X86_AND_BY, .rm = X86_RAX, .immediate = ALL_LANES});
    machine_add(machine, (struct x86_instruction){.form = X86_CMOVE, .reg = SCRATCH, .rm = machine->slots});
    return (struct x86_memory){SCRATCH, X86_NONE, 1, 0};
}

int machine_any_lane(struct machine *machine, enum vector_type type, int mask)
{
    int guard = machine_new_vector(machine, 128);
    machine_add(machine,
                (struct x86_instruction){.form = X86_VMOVMSKPS, .bits = 256, .reg = X86_RAX, .rm = mask});
    machine_add(machine, (struct x86_instruction){.form = X86_NEG, .rm = X86_RAX});
    machine_add(machine, (struct x86_instruction){.form = X86_SAR_BY, .rm = X86_RAX, .immediate = 63});
    machine_add(machine,
                (struct x86_instruction){.form = vector_type_is_wide(type) ? X86_VMOVQ_TO : X86_VMOVD_TO,
                                         .bits = 128,
                                         .reg = guard,
                                         .rm = X86_RAX});
    return guard;
}

int machine_load_one_guarded(struct machine *machine, const struct vector_value *value,
                             struct x86_memory memory, int guard)
{
    bool wide = vector_type_is_wide(value->type);
    int bits = machine_bits(machine, value->type), one = machine_new_vector(machine, 128);
    struct x86_instruction load = at(memory, wide ? X86_VMASKMOVPD_LOAD : X86_VMASKMOVPS_LOAD, 128, one, 0);
    load.vvvv = guard;
    machine_add(machine, load);
    return machine_rm(machine, machine_spread_form(wide, bits), bits, one);
}

/* Into all lanes, of which those that are not in the mask are 0 then. */
static int load_one_masked_avx2(struct machine *machine, const struct vector_value *value,
                                struct x86_memory memory, int mask)
{
    int all = machine_load_one(machine, value, machine_readable(machine, memory, mask), 0);
    return machine_rvm(machine, X86_VANDPS, machine_bits(machine, value->type), all,
                       machine_mask_for(machine, value->type, mask));
}

int machine_load_one(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                     int mask)
{
    int bits = machine_bits(machine, value->type), result = machine_new_vector(machine, bits);
    int size = dtype_table[value->dtype].size;
    if (value->type == VECTOR_MASK)
        return machine_refuse(machine);
    if (mask && !machine_is_avx512(machine))
        return load_one_masked_avx2(machine, value, memory, mask);
    if (size < 4)
        return load_small_one(machine, value, memory, mask);
    enum x86_form form = machine_spread_form(vector_type_is_wide(value->type), bits);
    struct x86_instruction load = at(memory, form, bits, result, mask);
    load.zeroing = mask != 0;
    machine_add(machine, load);
    return result;
}

/* ---- every other element -------------------------------------------------------------------- */

static void move_mask(struct machine *machine, enum x86_form form, int reg, int rm)
{
    machine_add(machine, (struct x86_instruction){.form = form, .bits = 128, .reg = reg, .rm = rm});
}

static struct machine_pairs *find_pairs(struct machine *machine, const struct machine_pairs *wanted)
{
    for (int k = 0; k < machine->pairs.count; k++) {
        struct machine_pairs *pairs = &machine->pairs.items[k];
        if (pairs->section == wanted->section && pairs->stream == wanted->stream &&
            pairs->offset == wanted->offset && pairs->epoch == wanted->epoch && pairs->mask == wanted->mask &&
            pairs->whole == wanted->whole)
            return pairs;
    }
    return NULL;
}

/* Of 64-bit lanes two and two; the other element of each has none. */
static void wide_masks_avx2(struct machine *machine, struct machine_pairs *pairs, int mask)
{
    enum { FIRST_TWICE = 0x50, LAST_TWICE = 0xfa };
    pairs->first = machine_rmi(machine, X86_VPERMPD_BY, 256, mask, FIRST_TWICE);
    pairs->second = machine_rmi(machine, X86_VPERMPD_BY, 256, mask, LAST_TWICE);
    if (pairs->whole)
        return;
    int none = machine_rvm(machine, X86_VXORPS, 256, mask, mask);
    pairs->first = machine_rvm(machine, X86_VUNPCKLPD, 256, pairs->first, none);
    pairs->second = machine_rvm(machine, X86_VUNPCKLPD, 256, none, pairs->second);
}

static void narrow_masks_avx2(struct machine *machine, struct machine_pairs *pairs, int mask)
{
    int bits = machine_bits(machine, VECTOR_I32);
    if (bits == 128) {
        pairs->first = machine_rvm(machine, X86_VUNPCKLPS, bits, mask, mask);
        pairs->second = machine_rvm(machine, X86_VUNPCKHPS, bits, mask, mask);
    } else {
        pairs->first = machine_rm(machine, X86_VPMOVSXDQ, bits, mask);
        pairs->second =
            machine_rm(machine, X86_VPMOVSXDQ, bits, machine_upper_half(machine, mask, bits, false));
    }
    if (pairs->whole)
        return;
    pairs->first = machine_shift(machine, X86_VPSRLQ_BY, X86_VPSRLQ_BY_WIDE, bits, pairs->first, 32);
    pairs->second = machine_shift(machine, X86_VPSLLQ_BY, X86_VPSLLQ_BY_WIDE, bits, pairs->second, 32);
}

/* The elements of two vectors that the lanes of the mask load. (rax is not free while masks come and go.) */
static struct machine_pairs masks_of(struct machine *machine, enum vector_type type, int mask, bool whole)
{
    bool wide = vector_type_is_wide(type), is_vector = !machine_is_avx512(machine);
    struct machine_pairs pairs = {
        .section = machine->section, .stream = -1, .offset = is_vector && wide, .mask = mask, .whole = whole};
    const struct machine_pairs *known = find_pairs(machine, &pairs);
    if (known)
        return *known;
    if (is_vector) {
        (wide ? wide_masks_avx2 : narrow_masks_avx2)(machine, &pairs, machine_mask_for(machine, type, mask));
        list_push(machine->arena, &machine->pairs, pairs);
        return pairs;
    }
    pairs.first = machine_new_mask(machine);
    pairs.second = machine_new_mask(machine);
    move_mask(machine, X86_KMOVW_FROM, SCRATCH, mask);
    machine_add(machine,
                (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = 0x55555555});
    machine_add(machine, (struct x86_instruction){
                             .form = X86_PDEP, .bits = 128, .reg = SCRATCH, .vvvv = SCRATCH, .rm = X86_RAX});
    if (whole) /* with the bit above each: times 3 */
        machine_add(machine, (struct x86_instruction){.form = X86_LEA,
                                                      .reg = SCRATCH,
                                                      .has_memory = true,
                                                      .memory = {SCRATCH, SCRATCH, 2, 0}});
    move_mask(machine, X86_KMOVW_TO, pairs.first, SCRATCH);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_SHR_BY, .rm = SCRATCH, .immediate = machine->lanes - !whole});
    move_mask(machine, X86_KMOVW_TO, pairs.second, SCRATCH);
    list_push(machine->arena, &machine->pairs, pairs);
    return pairs;
}

void machine_pair_masks(struct machine *machine, enum vector_type type, int mask, int masks[2])
{
    struct machine_pairs pairs = mask ? masks_of(machine, type, mask, true) : (struct machine_pairs){0};
    masks[0] = pairs.first;
    masks[1] = pairs.second;
}

void machine_every_other_masks(struct machine *machine, enum vector_type type, int mask, int masks[2])
{
    const uint64_t first = 0x55555555, second = 0xaaaaaaaa;
    bool is_known = !mask && machine_is_avx512(machine);
    if (is_known) {
        uint64_t all = ((uint64_t)1 << machine->lanes) - 1;
        masks[0] = machine_keep(machine, KEPT_MASK, VECTOR_MASK, 0, first & all);
        masks[1] = machine_keep(machine, KEPT_MASK, VECTOR_MASK, 0, second & all);
        return;
    }
    struct machine_pairs pairs = masks_of(machine, type, all_lanes(machine, mask), false);
    masks[0] = pairs.first;
    masks[1] = pairs.second;
}

static bool is_pairs(const struct vector_stream *stream)
{
    return stream->step_kind == VECTOR_CONSTANT_STEP && stream->step == 2 &&
           dtype_table[stream->dtype].size >= 4;
}

/* One of the two vectors. */
static int load_of_pairs(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                         int mask)
{
    return mask && !machine_is_avx512(machine) ? load_lanes_avx2(machine, value, memory, mask)
                                               : machine_load_from(machine, value, memory, mask);
}

/* The two vectors that hold the elements of the value. Where both of each two elements are there, for others
 * are loaded before and behind them, the vectors serve the other one too; else the second one begins at the
 * last element of the first, and nothing is read behind the last lane's element. */
static struct machine_pairs pairs_of(struct machine *machine, const struct vector_value *value, int mask)
{
    const struct vector_stream *stream = stream_of(machine, value);
    int size = dtype_table[value->dtype].size, even = (value->offset - stream->low) & ~1;
    bool whole = !stream->is_masked && stream->low + even < stream->high;
    struct machine_pairs pairs = {.section = machine->section,
                                  .stream = value->stream,
                                  .offset = whole ? stream->low + even : value->offset,
                                  .epoch = value->epoch,
                                  .mask = mask,
                                  .whole = whole};
    const struct machine_pairs *known = find_pairs(machine, &pairs);
    if (known)
        return *known;
    struct machine_pairs masks =
        mask ? masks_of(machine, value->type, mask, whole) : (struct machine_pairs){0};
    struct x86_memory memory = {machine_base(machine, value->stream), X86_NONE, 1, pairs.offset * size};
    pairs.first = load_of_pairs(machine, value, memory, masks.first);
    memory.base = machine_base(machine, value->stream);
    memory.displacement += (machine->lanes - !whole) * size;
    pairs.second = load_of_pairs(machine, value, memory, masks.second);
    list_push(machine->arena, &machine->pairs, pairs);
    return pairs;
}

/* Within halves first, which then change places. */
static int picked_avx2(struct machine *machine, const struct vector_value *value, int first, int second,
                       int number)
{
    enum { HALVES = 0x4e, BACKWARDS = 0x1b, INNER = 0xd8 };
    static const unsigned char narrow[] = {0xd8, 0x88, 0xdd}, wide[] = {0xa, 0, 0xf};
    enum vector_type type = lanes_of(value);
    bool is_wide = vector_type_is_wide(type), is_turned = number == PAIRS_REVERSED;
    int bits = machine_bits(machine, type), row = number - PAIRS_OVERLAP, result;
    if (is_wide && is_turned)
        return machine_rmi(machine, X86_VPERMPD_BY, bits, first, BACKWARDS);
    if (is_wide)
        result = machine_rvmi(machine, X86_VSHUFPD, bits, first, second, wide[row]);
    else
        result = machine_rvmi(machine, X86_VSHUFPS, bits, first, second, is_turned ? BACKWARDS : narrow[row]);
    return bits == 128 || (machine->is_uncrossed && !is_turned)
               ? result
               : machine_rmi(machine, X86_VPERMPD_BY, bits, result, is_turned ? HALVES : INNER);
}

/* The elements of two vectors that the table `number` picks. */
static int picked(struct machine *machine, const struct vector_value *value, int first, int second,
                  int number)
{
    enum vector_type type = lanes_of(value);
    bool wide = vector_type_is_wide(type);
    if (!machine_is_avx512(machine))
        return picked_avx2(machine, value, first, second, number);
    int indices = machine_keep(machine, KEPT_PAIRS, wide ? VECTOR_I64 : VECTOR_I32, number, 0);
    int bits = machine_bits(machine, type), result = machine_copy(machine, bits, first);
    machine_into(machine, wide ? X86_VPERMT2PD : X86_VPERMT2PS, bits, result, indices, second, 0);
    return result;
}

static int load_pairs(struct machine *machine, const struct vector_value *value, int mask)
{
    struct machine_pairs pairs = pairs_of(machine, value, mask);
    return picked(machine, value, pairs.first, pairs.second,
                  pairs.whole ? PAIRS_EVEN + value->offset - pairs.offset : PAIRS_OVERLAP);
}

int machine_load_every_other(struct machine *machine, const struct vector_value *value,
                             struct x86_memory memory, int mask)
{
    struct machine_pairs masks =
        mask ? masks_of(machine, value->type, mask, false) : (struct machine_pairs){0};
    int first = load_of_pairs(machine, value, memory, masks.first);
    memory.displacement += (machine->lanes - 1) * dtype_table[value->dtype].size;
    int second = load_of_pairs(machine, value, memory, masks.second);
    return picked(machine, value, first, second, PAIRS_OVERLAP);
}

/* ---- backwards ------------------------------------------------------------------------------ */

/* The elements of all lanes lie one before the other; a mask is turned with them. */
static bool is_backwards(const struct machine *machine, const struct vector_value *value, int mask)
{
    const struct vector_stream *stream = stream_of(machine, value);
    int size = dtype_table[stream->dtype].size;
    if (stream->step_kind != VECTOR_CONSTANT_STEP || stream->step != -1)
        return false;
    if (machine_is_avx512(machine))
        return (size >= 4 || (!mask && (value->type == VECTOR_I32 || value->type == VECTOR_F32))) &&
               machine->lanes == vector_group(machine->loop->wide);
    return (!mask || size >= 4) && value->type != VECTOR_MASK;
}

/* From the last lane's element on. */
static struct x86_memory backwards_memory(struct machine *machine, const struct vector_value *value)
{
    struct x86_memory memory = machine_step_memory(machine, value);
    memory.displacement -= (machine->lanes - 1) * dtype_table[value->dtype].size;
    return memory;
}

static int reversed(struct machine *machine, const struct vector_value *value, int operand)
{
    return picked(machine, value, operand, operand, PAIRS_REVERSED);
}

/* With AVX-512: the first lane's bit becomes the last one. */
static int reversed_mask(struct machine *machine, const struct vector_value *value, int mask)
{
    enum vector_type type = lanes_of(value);
    bool wide = vector_type_is_wide(type);
    int bits = machine_bits(machine, type), lanes = machine_new_vector(machine, bits);
    int result = machine_new_mask(machine);
    machine_add(machine, (struct x86_instruction){
                             .form = wide ? X86_VMOVAPD : X86_VMOVAPS,
                             .bits = bits,
                             .reg = lanes,
                             .rm = machine_constant(machine, type, wide ? UINT64_MAX : UINT32_MAX),
                             .mask = mask,
                             .zeroing = true});
    lanes = reversed(machine, value, lanes);
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VPTESTMQ : X86_VPTESTMD,
                                                  .bits = bits,
                                                  .reg = result,
                                                  .vvvv = lanes,
                                                  .rm = lanes});
    return result;
}

static int load_backwards(struct machine *machine, const struct vector_value *value, int mask)
{
    struct x86_memory memory = backwards_memory(machine, value);
    if (mask && !machine_is_avx512(machine)) {
        int lanes = reversed(machine, value, machine_mask_for(machine, value->type, mask));
        return reversed(machine, value, load_lanes_avx2(machine, value, memory, lanes));
    }
    int turned = mask ? reversed_mask(machine, value, mask) : 0;
    return reversed(machine, value, machine_load_from(machine, value, memory, turned));
}

/* Under a condition the element of a stream that does not move is not there before the loop. */
static bool is_one_element(const struct machine *machine, const struct vector_value *value, int mask)
{
    const struct vector_stream *stream = stream_of(machine, value);
    return stream->step_kind == VECTOR_CONSTANT_STEP && stream->step == 0 && value->type != VECTOR_MASK &&
           (!mask || !machine_is_avx512(machine) || dtype_table[value->dtype].size >= 4);
}

bool machine_loads_points(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = stream_of(machine, value);
    return stream->step_kind != VECTOR_UNIT && machine->lanes > 1 && !is_one_element(machine, value, 0) &&
           !is_pairs(stream) && !is_backwards(machine, value, 0) && !machine_is_few_apart(machine, value) &&
           machine_can_load_points(machine, value, false);
}

int machine_load(struct machine *machine, const struct vector_value *value, int mask)
{
    enum vector_type type = lanes_of(value);
    if (stream_of(machine, value)->step_kind == VECTOR_UNIT)
        return machine_crossed(machine,
                               machine_load_from(machine, value, machine_unit_memory(machine, value), mask));
    if (machine->lanes == 1)
        return machine_load_from(machine, value, machine_step_memory(machine, value), mask);
    if (is_one_element(machine, value, mask))
        return machine_load_one(machine, value, machine_step_memory(machine, value), mask);
    if (is_pairs(stream_of(machine, value)))
        return load_pairs(machine, value, mask);
    if (is_backwards(machine, value, mask))
        return load_backwards(machine, value, mask);
    int small = machine_load_pair(machine, value, mask);
    if (small)
        return small;
    if (machine_is_in_words(machine, value, mask))
        return machine_load_in_words(machine, value, mask);
    if (!mask && machine_is_few_apart(machine, value))
        return machine_load_few_apart(machine, value);
    if (machine_can_load_points(machine, value, mask))
        return machine_load_points(machine, value, mask);
    if (!machine_is_avx512(machine) || (!mask && machine_can_load_apart(machine, value)))
        return machine_load_apart(machine, value, mask);
    if (machine_is_small_step(machine, value))
        return machine_load_small_step(machine, value, mask);
    int result = machine_copy(machine, machine_bits(machine, type), machine_constant(machine, type, 0));
    at_step(machine, value, X86_VGATHERDPS, X86_VGATHERDPD, result, mask);
    return result;
}

/* ---- stores --------------------------------------------------------------------------------- */

static enum x86_form store_form(akg_dtype dtype)
{
    switch (dtype_table[dtype].size) {
    case 1:
        return X86_VPMOVDB;
    case 2:
        return dtype == AKG_FLOAT16 ? X86_VCVTPS2PH : X86_VPMOVDW;
    case 4:
        return X86_VMOVUPS_STORE;
    default:
        return X86_VMOVUPD_STORE;
    }
}

void machine_store_lanes(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                         int operand, int lanes)
{
    bool wide = vector_type_is_wide(value->type);
    int bits = wide ? machine_bits(machine, value->type) : machine_bits(machine, VECTOR_I32);
    struct x86_instruction store =
        at(memory, wide ? X86_VMASKMOVPD_STORE : X86_VMASKMOVPS_STORE, bits, operand, 0);
    store.vvvv = lanes;
    machine_add(machine, store);
}

/* All lanes of small elements, of which the low bits are stored. */
static void store_small_avx2(struct machine *machine, akg_dtype dtype, struct x86_memory memory, int operand)
{
    enum { LOW_BYTES = 0x0c080400 };
    int bits = machine_bits(machine, VECTOR_I32), high = operand;
    bool byte = dtype_table[dtype].size == 1;
    if (byte)
        operand = machine_rvm(machine, X86_VPSHUFB, bits, operand,
                              machine_constant(machine, VECTOR_I32, LOW_BYTES));
    else if (dtype != AKG_BFLOAT16)
        operand = machine_normal(machine, AKG_UINT16, operand);
    if (bits == 256)
        high = machine_upper_half(machine, operand, bits, false);
    else if (!byte)
        high = operand;
    if (bits == 256 || !byte)
        operand = machine_rvm(machine, byte ? X86_VUNPCKLPS : X86_VPACKUSDW, 128, operand, high);
    int bytes = machine->lanes * dtype_table[dtype].size;
    machine_add(machine, at(memory,
                            bytes == 16  ? X86_VMOVUPS_STORE
                            : bytes == 8 ? X86_VMOVSD_STORE
                                         : X86_VMOVSS_STORE,
                            128, operand, 0));
}

void machine_store_to(struct machine *machine, const struct vector_value *value, struct x86_memory memory,
                      int operand, int mask)
{
    akg_dtype dtype = value->dtype;
    int bits = machine_bits(machine, lanes_of(value));
    if (takes_turns(machine, dtype, mask)) {
        machine_store_in_turn(machine, value, memory, operand, mask);
        return;
    }
    if (dtype == AKG_BOOL)
        operand = machine_cast(machine, AKG_INT32, AKG_BOOL, operand);
    else if (dtype == AKG_BFLOAT16)
        operand = machine_shift(machine, X86_VPSRLD_BY, X86_VPSRLD_BY_WIDE, bits, operand, 16);
    if (mask && !machine_is_avx512(machine))
        machine_store_lanes(machine, value, memory, operand, machine_mask_for(machine, value->type, mask));
    else if (dtype_table[dtype].size < 4 && dtype != AKG_FLOAT16 && !machine_is_avx512(machine))
        store_small_avx2(machine, dtype, memory, operand);
    else if ((!mask || machine->lanes == 1) && is_part(machine, dtype))
        machine_add(machine,
                    at(memory,
                       dtype_table[dtype].size * machine->lanes == 8 ? X86_VMOVSD_STORE : X86_VMOVSS_STORE,
                       bits, operand, mask));
    else
        machine_add(machine, at(memory,
                                machine_stores_past(machine) && !mask && dtype_table[dtype].size >= 4
                                    ? X86_VMOVNTPS
                                    : store_form(dtype),
                                bits, operand, mask));
}

static void store_backwards(struct machine *machine, const struct vector_value *value, int operand, int mask)
{
    int elements = reversed(machine, value, operand);
    if (mask && machine_is_avx512(machine))
        machine_store_to(machine, value, backwards_memory(machine, value), elements,
                         reversed_mask(machine, value, mask));
    else if (mask)
        machine_store_lanes(machine, value, backwards_memory(machine, value), elements,
                            reversed(machine, value, machine_mask_for(machine, value->type, mask)));
    else
        machine_store_to(machine, value, backwards_memory(machine, value), elements, 0);
}

void machine_store(struct machine *machine, const struct vector_value *value, int operand, int mask)
{
    if (stream_of(machine, value)->step_kind == VECTOR_UNIT)
        machine_store_to(machine, value, machine_unit_memory(machine, value),
                         machine_crossed(machine, operand), mask);
    else if (machine->lanes == 1)
        machine_store_to(machine, value, machine_step_memory(machine, value), operand, mask);
    else if (is_backwards(machine, value, mask))
        store_backwards(machine, value, operand, mask);
    else if (machine_store_pair(machine, value, operand, mask) ||
             machine_store_points(machine, value, operand, mask))
        return;
    else if (machine_is_small_step(machine, value))
        machine_store_small_step(machine, value, operand, mask);
    else if (machine_is_avx512(machine))
        at_step(machine, value, X86_VSCATTERDPS, X86_VSCATTERDPD, operand, mask);
    else
        machine_store_apart(machine, value, operand, mask);
}

/* ---- the loop variable ------------------------------------------------------------------------ */

/* Whether the first value of the loop variable is found from how far the loop is, and no slot is to follow it
 * from vector to vector. */
static bool counts_index(const struct machine *machine, const struct vector_value *value)
{
    return machine->index != X86_NONE && (value->bits == 1 || value->bits == UINT64_MAX);
}

/* Its first value for this vector, in all lanes. */
static int first_index(struct machine *machine, const struct vector_value *value)
{
    int bits = machine_bits(machine, value->type), first = machine_new_vector(machine, bits);
    bool wide = value->type == VECTOR_I64;
    enum x86_form spread = wide ? X86_VPBROADCASTQ : X86_VBROADCASTSS;
    struct x86_memory slot = machine_slot(machine, value->slot);
    struct x86_instruction load = {.form = X86_MOV, .reg = SCRATCH, .has_memory = true, .memory = slot};
    if (!counts_index(machine, value)) {
        machine_add(machine,
                    (struct x86_instruction){
                        .form = spread, .bits = bits, .reg = first, .has_memory = true, .memory = slot});
        return first;
    }
    bool down = value->bits != 1;
    machine_add(machine, load);
    machine_add(machine, (struct x86_instruction){
                             .form = down ? X86_SUB : X86_ADD, .reg = SCRATCH, .rm = machine->index});
    if (machine->ahead)
        machine_add(machine, (struct x86_instruction){.form = X86_ADD_BY,
                                                      .rm = SCRATCH,
                                                      .immediate = down ? -machine->ahead : machine->ahead});
    if (machine_is_avx512(machine)) {
        machine_add(machine, (struct x86_instruction){.form = wide ? X86_VPBROADCASTQ_GENERAL
                                                                   : X86_VPBROADCASTD_GENERAL,
                                                      .bits = bits,
                                                      .reg = first,
                                                      .rm = SCRATCH});
        return first;
    }
    int one = machine_new_vector(machine, 128);
    machine_add(machine,
                (struct x86_instruction){
                    .form = wide ? X86_VMOVQ_TO : X86_VMOVD_TO, .bits = 128, .reg = one, .rm = SCRATCH});
    machine_add(machine, (struct x86_instruction){.form = spread, .bits = bits, .reg = first, .rm = one});
    return first;
}

int machine_index(struct machine *machine, const struct vector_value *value)
{
    return machine_rvm(machine, value->type == VECTOR_I64 ? X86_VPADDQ : X86_VPADDD,
                       machine_bits(machine, value->type), first_index(machine, value),
                       machine_keep(machine, KEPT_STEPS, value->type, 0, value->bits));
}

/* ---- moving on ------------------------------------------------------------------------------- */

static void general(struct machine *machine, enum x86_form form, int reg, struct x86_memory memory)
{
    machine_add(machine,
                (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

static void add_constant(struct machine *machine, int reg, int64_t number)
{
    machine_add(machine, (struct x86_instruction){.form = X86_ADD_BY, .rm = reg, .immediate = number});
}

static void advance_stream(struct machine *machine, int number)
{
    const struct vector_stream *stream = &machine->loop->streams.items[number];
    int reg = machine->pointers[number] >= 0 ? machine->pointers[number] : machine_base(machine, number);
    if (stream->step_kind == VECTOR_CONSTANT_STEP)
        add_constant(machine, reg, stream->step * dtype_table[stream->dtype].size * machine->lanes);
    else
        general(machine, X86_ADD, reg, machine_slot(machine, stream->slot + 1));
    if (machine->pointers[number] < 0)
        general(machine, X86_MOV_STORE, reg, machine_slot(machine, stream->slot));
}

void machine_advance(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->streams.count; k++)
        if (loop->streams.items[k].step_kind != VECTOR_UNIT)
            advance_stream(machine, k);
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_INDEX && !counts_index(machine, &loop->values.items[k])) {
            int slot = loop->values.items[k].slot;
            general(machine, X86_MOV, SCRATCH, machine_slot(machine, slot));
            add_constant(machine, SCRATCH, loop->stmt->step * machine->lanes);
            general(machine, X86_MOV_STORE, SCRATCH, machine_slot(machine, slot));
            break; /* others are the same one, in more or fewer bits */
        }
}

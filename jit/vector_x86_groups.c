/*
 * vector_x86_groups.c: three or four elements for each iteration that lie behind those of the iteration
 * before, as of images with colours or points in space: some iterations' elements are some whole vectors.
 *
 * Consumes loads and stores of all of them, without conditions, or, with AVX-512, under one; appends loads
 * and stores of whole vectors and what brings the elements in order. With AVX-512 of 4 bytes each: of three,
 * each result is picked out of three vectors; four are turned as those of vector_x86_points.c are, and the
 * iterations brought in order. There some lanes may be enough, under a mask. With AVX2 there are all lanes.
 */
#include <string.h>

#include "vector_x86_points.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum { WHOLE = 16 /* lanes of 512 bits */, BITS = X86_R10 };

static bool lie_in_groups(const struct vector_stream *stream)
{
    int span = stream->high - stream->low + 1;
    return stream->step_kind == VECTOR_CONSTANT_STEP && stream->step == span && (span == 3 || span == 4);
}

bool vector_has_groups(const struct vector_stream *stream)
{
    return lie_in_groups(stream) && !stream->is_masked;
}

/* Whether one condition stands around all that is loaded of the stream, or stored, as the value is; and
 * whatever is loaded with an element is there by that. */
static bool is_under_one_mask(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_stream *stream = &loop->streams.items[value->stream];
    unsigned there = 0, all = (1u << (stream->high - stream->low + 1)) - 1;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *other = &loop->values.items[k];
        if ((other->kind != VECTOR_LOAD && other->kind != VECTOR_STORE) || other->stream != value->stream)
            continue;
        if (other->mask == value->mask)
            there |= 1u << (other->offset - stream->low);
        else if (other->kind == value->kind)
            return false;
    }
    return there == all;
}

static int lane_bytes(const struct machine *machine, const struct vector_value *value)
{
    int size = dtype_table[machine->loop->streams.items[value->stream].dtype].size;
    return (size == 1 ? 4 : size) * machine->lanes;
}

bool points_are_groups(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int span = stream->high - stream->low + 1, size = dtype_table[stream->dtype].size;

    if (machine_is_avx512(machine) ? !lie_in_groups(stream) : !vector_has_groups(stream))
        return false;
    if (machine_is_avx512(machine))
        return size == 4 && (!stream->is_masked || is_under_one_mask(machine, value)) &&
               (lane_bytes(machine, value) == 64 || lane_bytes(machine, value) == 32);
    return (span == 3 || size < 8) && lane_bytes(machine, value) == 32 && size != 2;
}

static struct x86_memory vector_memory(const struct points *points, int bytes)
{
    struct x86_memory memory = points_first(points);
    memory.displacement += bytes;
    return memory;
}

static void transfer(const struct points *points, enum x86_form form, int bits, int reg, int bytes)
{
    machine_add(points->machine, (struct x86_instruction){.form = form,
                                                          .bits = bits,
                                                          .reg = reg,
                                                          .has_memory = true,
                                                          .memory = vector_memory(points, bytes)});
}

/* ---- AVX2: elements ------------------------------------------------------------------------------- */

/* Elements 3 * j + k for all lanes j lie at different places of the vectors they are in, so that all of them
 * are one vector, which is to be brought in order; and back. */
static int in_order(const struct points *points, int a, int k, bool is_store)
{
    enum { EACH = 3 };
    struct machine *machine = points->machine;
    int order = 0;

    if (points->size == 4)
        return machine_rvm(machine, X86_VPERMPS, points->bits,
                           machine_keep(machine, KEPT_THIRDS, VECTOR_I32, k == 1 && is_store ? 3 : k, 0), a);
    for (int lane = 0; lane < 4; lane++) /* its own inverse */
        order |= (EACH * lane + k) % 4 << 2 * lane;
    return machine_rmi(machine, X86_VPERMPD_BY, points->bits, a, order);
}

/* The places of vector `vector` that hold an element number `k` of its three. */
static int places_of(const struct points *points, int vector, int k)
{
    int lanes = points->machine->lanes, places = 0;

    for (int place = 0; place < lanes; place++)
        places |= ((vector * lanes + place) % 3 == k) << place;
    return places;
}

static int blend(const struct points *points, int a, int b, int places)
{
    return machine_rvmi(points->machine, points->size == 8 ? X86_VBLENDPD : X86_VBLENDPS, points->bits, a, b,
                        places);
}

static void load_thirds_avx2(struct points *points, unsigned offsets, int *results)
{
    const int *v = points->vectors;

    for (int k = 0; k < 3; k++) {
        points->vectors[k] = machine_new_vector(points->machine, points->bits);
        transfer(points, X86_VMOVUPS_LOAD, points->bits, points->vectors[k], k * points->bits / 8);
    }
    for (int k = 0; k < 3; k++)
        if (offsets >> k & 1)
            results[k] = in_order(points,
                                  blend(points, blend(points, v[0], v[1], places_of(points, 1, k)), v[2],
                                        places_of(points, 2, k)),
                                  k, false);
}

static void store_thirds_avx2(struct points *points, const int *operands)
{
    int ordered[3];

    for (int k = 0; k < 3; k++)
        ordered[k] = in_order(points, operands[k], k, true);
    for (int k = 0; k < 3; k++) {
        int two = blend(points, ordered[0], ordered[1], places_of(points, k, 1));
        transfer(points, X86_VMOVUPS_STORE, points->bits,
                 blend(points, two, ordered[2], places_of(points, k, 2)), k * points->bits / 8);
    }
}

/* Iterations 0 to 3 in the lower halves of vectors, 4 to 7 in the upper ones. */
static void load_fourths_avx2(struct points *points)
{
    enum { GROUP = 16 /* bytes */ };

    for (int k = 0; k < 4; k++) {
        int low = machine_new_vector(points->machine, 128);
        transfer(points, X86_VMOVUPS_LOAD, 128, low, k * GROUP);
        points->vectors[k] = machine_new_vector(points->machine, points->bits);
        machine_add(points->machine,
                    (struct x86_instruction){.form = X86_VINSERTF128,
                                             .bits = points->bits,
                                             .reg = points->vectors[k],
                                             .vvvv = low,
                                             .immediate = 1,
                                             .has_memory = true,
                                             .memory = vector_memory(points, (k + 4) * GROUP)});
    }
}

static void store_fourths_avx2(const struct points *points)
{
    enum { LOWER = 0x20, UPPER = 0x31 };

    for (int k = 0; k < 4; k++) {
        const int *v = points->vectors + 2 * (k % 2);
        int both =
            machine_rvmi(points->machine, X86_VPERM2F128, points->bits, v[0], v[1], k < 2 ? LOWER : UPPER);
        transfer(points, X86_VMOVUPS_STORE, points->bits, both, k * points->bits / 8);
    }
}

/* ---- AVX2: bytes ---------------------------------------------------------------------------------- */

static struct x86_instruction in_memory(const struct points *points, enum x86_form form, int bits, int reg,
                                        int bytes)
{
    return (struct x86_instruction){
        .form = form, .bits = bits, .reg = reg, .has_memory = true, .memory = vector_memory(points, bytes)};
}

/* An iteration's elements in each lane. */
static int load_byte_groups(const struct points *points)
{
    enum { UPPER = 8 /* so that it ends with the last element */ };
    struct machine *machine = points->machine;
    int all = machine_new_vector(machine, points->bits), low;

    if (points->span == 4) {
        machine_add(machine, in_memory(points, X86_VMOVUPS_LOAD, points->bits, all, 0));
        return all;
    }
    low = machine_new_vector(machine, 128);
    machine_add(machine, in_memory(points, X86_VMOVUPS_LOAD, 128, low, 0));
    struct x86_instruction insert = in_memory(points, X86_VINSERTF128, points->bits, all, UPPER);
    insert.vvvv = low;
    insert.immediate = 1;
    machine_add(machine, insert);
    return machine_rvm(machine, X86_VPSHUFB, points->bits, all,
                       machine_keep(machine, KEPT_BYTES, VECTOR_I32, BYTES_BY_THREE, 0));
}

static int shifted(const struct points *points, enum x86_form form, int a, int bits)
{
    return bits ? machine_shift(points->machine, form, form, points->bits, a, bits) : a;
}

static void load_bytes(const struct points *points, akg_dtype dtype, unsigned offsets, int *results)
{
    struct machine *machine = points->machine;
    int all = load_byte_groups(points);

    for (int k = 0; k < points->span; k++) {
        if (!(offsets >> k & 1))
            continue;
        if (dtype == AKG_INT8) {
            results[k] = shifted(points, X86_VPSRAD_BY, shifted(points, X86_VPSLLD_BY, all, 24 - 8 * k), 24);
            continue;
        }
        results[k] = machine_normal(machine, AKG_UINT8, shifted(points, X86_VPSRLD_BY, all, 8 * k));
        if (dtype == AKG_BOOL)
            results[k] = machine_compare(machine, OP_NE, AKG_INT32, results[k],
                                         machine_constant(machine, VECTOR_I32, 0));
    }
}

static void store_bytes(const struct points *points, akg_dtype dtype, const int *operands)
{
    enum { THREES = 12 /* bytes of half the lanes */ };
    struct machine *machine = points->machine;
    int all = 0;

    for (int k = 0; k < points->span; k++) {
        int one = dtype == AKG_BOOL ? machine_cast(machine, AKG_INT32, AKG_BOOL, operands[k]) : operands[k];
        if (k < 3) /* what is above the last is shifted out, or not stored */
            one = machine_normal(machine, AKG_UINT8, one);
        one = shifted(points, X86_VPSLLD_BY, one, 8 * k);
        all = k ? machine_rvm(machine, X86_VORPS, points->bits, all, one) : one;
    }
    if (points->span == 4) {
        machine_add(machine, in_memory(points, X86_VMOVUPS_STORE, points->bits, all, 0));
        return;
    }
    all = machine_rvm(machine, X86_VPSHUFB, points->bits, all,
                      machine_keep(machine, KEPT_BYTES, VECTOR_I32, BYTES_IN_A_ROW, 0));
    int high = machine_upper_half(machine, all, points->bits, false);
    machine_add(machine, in_memory(points, X86_VMOVUPS_STORE, 128, all, 0)); /* its end is overwritten */
    machine_add(machine, in_memory(points, X86_VMOVSD_STORE, 128, high, THREES));
    struct x86_instruction last = in_memory(points, X86_VEXTRACTPS, 128, high, THREES + 8);
    last.immediate = 2;
    machine_add(machine, last);
}

/* ---- AVX-512 -------------------------------------------------------------------------------------- */

/* As many vectors as the iterations' elements take: where half of the lanes are enough, there are fewer. */
static int count_vectors(const struct points *points)
{
    return (points->machine->lanes * points->span + WHOLE - 1) / WHOLE;
}

static void general(struct machine *machine, enum x86_form form, int reg, int rm)
{
    machine_add(machine, (struct x86_instruction){.form = form, .bits = 128, .reg = reg, .rm = rm});
}

static void add_times(struct machine *machine, int reg, int base, int index, int scale)
{
    machine_add(machine,
                (struct x86_instruction){
                    .form = X86_LEA, .reg = reg, .has_memory = true, .memory = {base, index, scale, 0}});
}

/* Of each vector, the elements of the iterations of the mask: each of its bits as often as an iteration has
 * elements. (rax is not free while masks come and go.) */
static void spread_mask(const struct points *points, int mask, int *masks)
{
    static const int64_t firsts[] = {[3] = 0x249249249249, [4] = 0x1111111111111111};
    struct machine *machine = points->machine;
    int count = count_vectors(points);

    for (int k = 0; k < count; k++)
        masks[k] = machine_new_mask(machine);
    general(machine, X86_KMOVW_FROM, BITS, mask);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = firsts[points->span]});
    machine_add(machine, (struct x86_instruction){
                             .form = X86_PDEP, .bits = 128, .reg = BITS, .vvvv = BITS, .rm = X86_RAX});
    add_times(machine, X86_RAX, BITS, BITS, 2); /* 3 of each, and then 7 or 15 */
    add_times(machine, BITS, X86_RAX, points->span == 3 ? BITS : X86_RAX, 4);
    for (int k = 0; k < count; k++) {
        if (k)
            machine_add(machine,
                        (struct x86_instruction){.form = X86_SHR_BY, .rm = BITS, .immediate = WHOLE});
        general(machine, X86_KMOVW_TO, masks[k], BITS);
    }
}

/* What was loaded under the mask, and as far apart, in the section. */
static const struct machine_points *find_spread(const struct points *points, int mask)
{
    const struct machine *machine = points->machine;

    for (int k = 0; k < machine->points.count; k++) {
        const struct machine_points *other = &machine->points.items[k];
        if (other->section == machine->section && other->mask == mask && other->span == points->span &&
            other->masks[0])
            return other;
    }
    return NULL;
}

/* The masks of the vectors; 0: all of one. */
static void find_masks(const struct points *points, int mask, int *masks)
{
    int left = points->machine->lanes * points->span % WHOLE;

    if (mask) {
        const struct machine_points *known = find_spread(points, mask);
        if (known)
            memcpy(masks, known->masks, sizeof known->masks);
        else
            spread_mask(points, mask, masks);
        return;
    }
    for (int k = 0; k < count_vectors(points); k++)
        masks[k] = 0;
    if (left)
        masks[count_vectors(points) - 1] =
            machine_keep(points->machine, KEPT_MASK, VECTOR_MASK, 0, ((uint64_t)1 << left) - 1);
}

static void transfer_some(const struct points *points, enum x86_form form, int reg, int number, int mask)
{
    machine_add(points->machine,
                (struct x86_instruction){.form = form,
                                         .bits = points->bits,
                                         .reg = reg,
                                         .mask = mask,
                                         .zeroing = mask && form == X86_VMOVUPS_LOAD,
                                         .has_memory = true,
                                         .memory = vector_memory(points, number * WHOLE * 4)});
}

/* By tables of KEPT_ORDER, `number` and the next: lanes of a and b, then of these and c. */
static int picked(const struct points *points, const int *from, int count, int number)
{
    struct machine *machine = points->machine;
    int result = from[0];

    for (int k = 0; k < count - 1; k++) {
        result = machine_copy(machine, points->bits, result);
        machine_into(machine, X86_VPERMT2PS, points->bits, result,
                     machine_keep(machine, KEPT_ORDER, VECTOR_I32, number + k, 0), from[k + 1], 0);
    }
    return result;
}

/* What there is no need of may be anything. */
static void load_whole(struct points *points, int mask)
{
    int *masks = points->masks, count = count_vectors(points);

    find_masks(points, mask, masks);
    for (int k = 0; k < points->span; k++) {
        points->vectors[k] =
            k < count ? machine_new_vector(points->machine, points->bits) : points->vectors[0];
        if (k < count)
            transfer_some(points, X86_VMOVUPS_LOAD, points->vectors[k], k, masks[k]);
    }
}

static int in_turn(const struct points *points, int a)
{
    return machine_rvm(points->machine, X86_VPERMPS_WIDE, points->bits,
                       machine_keep(points->machine, KEPT_ORDER, VECTOR_I32, ORDER_FOURTHS, 0), a);
}

static void load_avx512(struct points *points, int mask, unsigned offsets, int *results)
{
    int count = count_vectors(points);
    bool is_turned = points->span == 4 && count == 4;

    points->bits = WHOLE * 32;
    load_whole(points, mask);
    if (is_turned)
        points_turn(points, offsets, results);
    for (int k = 0; k < points->span; k++)
        if (offsets >> k & 1)
            results[k] = is_turned ? in_turn(points, results[k])
                                   : picked(points, points->vectors, count,
                                            points->span == 4 ? ORDER_TWO + k : ORDER_LOAD + 2 * k);
}

static void store_avx512(struct points *points, int mask, const int *operands)
{
    int ordered[4], masks[4];

    points->bits = WHOLE * 32;
    for (int k = 0; k < points->span; k++)
        ordered[k] = points->span == 4 ? in_turn(points, operands[k])
                                       : picked(points, operands, 3, ORDER_STORE + 2 * k);
    if (points->span == 4)
        points_turn_back(points, ordered);
    find_masks(points, mask, masks);
    for (int k = 0; k < count_vectors(points); k++)
        transfer_some(points, X86_VMOVUPS_STORE, points->span == 4 ? points->vectors[k] : ordered[k], k,
                      masks[k]);
}

/* ---- all -------------------------------------------------------------------------------------------- */

void points_load_group(struct points *points, int mask, unsigned offsets, int *results)
{
    if (machine_is_avx512(points->machine)) {
        load_avx512(points, mask, offsets, results);
    } else if (points->size == 1) {
        load_bytes(points, points->value->dtype, offsets, results);
    } else if (points->span == 3) {
        load_thirds_avx2(points, offsets, results);
    } else {
        load_fourths_avx2(points);
        points_turn(points, offsets, results);
    }
}

void points_store_group(struct points *points, int mask, const int *operands)
{
    if (machine_is_avx512(points->machine)) {
        store_avx512(points, mask, operands);
    } else if (points->size == 1) {
        store_bytes(points, points->value->dtype, operands);
    } else if (points->span == 3) {
        store_thirds_avx2(points, operands);
    } else {
        points_turn_back(points, operands);
        store_fourths_avx2(points);
    }
}

/*
 * vector_x86_groups.c: three or four elements for each iteration that lie behind those of the iteration
 * before, as of images with colours or points in space: some iterations' elements are some whole vectors.
 *
 * Consumes loads and stores of all of them, all lanes and without conditions; appends loads and stores of
 * whole vectors and what brings the elements in order. With AVX-512 of 4 bytes each: of three, each result is
 * picked out of three vectors; four are turned as those of vector_x86_points.c are, and the iterations
 * brought in order.
 */
#include "vector_x86_points.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

bool vector_has_groups(const struct vector_stream *stream)
{
    int span = stream->high - stream->low + 1;
    return stream->step_kind == VECTOR_CONSTANT_STEP && stream->step == span && (span == 3 || span == 4) &&
           !stream->is_masked;
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

    if (!vector_has_groups(stream))
        return false;
    if (machine_is_avx512(machine))
        return size == 4 && lane_bytes(machine, value) == 64;
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

/* By tables of KEPT_ORDER, `number` and the next: lanes of a and b, then of these and c. */
static int picked_of_three(const struct points *points, const int *from, int number)
{
    struct machine *machine = points->machine;
    int result = from[0];

    for (int k = 0; k < 2; k++) {
        result = machine_copy(machine, points->bits, result);
        machine_into(machine, X86_VPERMT2PS, points->bits, result,
                     machine_keep(machine, KEPT_ORDER, VECTOR_I32, number + k, 0), from[k + 1], 0);
    }
    return result;
}

static void load_whole(struct points *points)
{
    for (int k = 0; k < points->span; k++) {
        points->vectors[k] = machine_new_vector(points->machine, points->bits);
        transfer(points, X86_VMOVUPS_LOAD, points->bits, points->vectors[k], k * points->bits / 8);
    }
}

static int in_turn(const struct points *points, int a)
{
    return machine_rvm(points->machine, X86_VPERMPS_WIDE, points->bits,
                       machine_keep(points->machine, KEPT_ORDER, VECTOR_I32, ORDER_FOURTHS, 0), a);
}

static void load_avx512(struct points *points, unsigned offsets, int *results)
{
    load_whole(points);
    if (points->span == 4)
        points_turn(points, offsets, results);
    for (int k = 0; k < points->span; k++)
        if (offsets >> k & 1)
            results[k] = points->span == 4 ? in_turn(points, results[k])
                                           : picked_of_three(points, points->vectors, ORDER_LOAD + 2 * k);
}

static void store_avx512(struct points *points, const int *operands)
{
    int ordered[4];

    for (int k = 0; k < points->span; k++)
        ordered[k] = points->span == 4 ? in_turn(points, operands[k])
                                       : picked_of_three(points, operands, ORDER_STORE + 2 * k);
    if (points->span == 4)
        points_turn_back(points, ordered);
    for (int k = 0; k < points->span; k++)
        transfer(points, X86_VMOVUPS_STORE, points->bits, points->span == 4 ? points->vectors[k] : ordered[k],
                 k * points->bits / 8);
}

/* ---- all -------------------------------------------------------------------------------------------- */

void points_load_group(struct points *points, unsigned offsets, int *results)
{
    if (machine_is_avx512(points->machine)) {
        load_avx512(points, offsets, results);
    } else if (points->size == 1) {
        load_bytes(points, points->value->dtype, offsets, results);
    } else if (points->span == 3) {
        load_thirds_avx2(points, offsets, results);
    } else {
        load_fourths_avx2(points);
        points_turn(points, offsets, results);
    }
}

void points_store_group(struct points *points, const int *operands)
{
    if (machine_is_avx512(points->machine)) {
        store_avx512(points, operands);
    } else if (points->size == 1) {
        store_bytes(points, points->value->dtype, operands);
    } else if (points->span == 3) {
        store_thirds_avx2(points, operands);
    } else {
        points_turn_back(points, operands);
        store_fourths_avx2(points);
    }
}

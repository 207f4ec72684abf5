/*
 * vector_x86_points.c: up to four elements side by side for each iteration, `p[i, 0] * p[i, 1] + p[i, 2]`,
 * that are loaded together.
 *
 * Consumes a stream with a step of which each iteration loads several elements of 4 or 8 bytes, two to four
 * from the first to the last of them, all lanes and without conditions. Each iteration's elements come by one
 * load into a part of a vector (with AVX-512 a broadcast under a mask, which reads nothing that the mask
 * leaves out); the vectors are then turned, so that each holds one element of all iterations. The values of
 * one vector of iterations share that. With AVX2 it is for elements of 4 bytes, of which more than four are
 * loaded four at a time. More than four that are all stored, once they are all there, are stored four at a
 * time, too. Three or four that lie behind those of the iteration before, so that some iterations
 * are whole vectors, are vector_x86_groups.c's.
 */
#include <string.h>

#include "vector_x86_points.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum { AT = X86_R10, STEP = X86_RAX, MOST = 4 /* elements */, MANY = 16, FARTHEST = 1 << 24 /* bytes */ };

/* The least element of those that are loaded together with this one. With AVX2 more than a few are loaded a
 * few at a time. */
static int low_of(const struct machine *machine, const struct vector_value *value)
{
    int low = machine->loop->streams.items[value->stream].low;
    return low + (value->offset - low) / MOST * MOST;
}

static int span_of(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int span = stream->high - low_of(machine, value) + 1;
    return span < MOST ? span : MOST;
}

/* Which of them are loaded somewhere in the loop, a bit each from the lowest on. */
static unsigned offsets_of(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    int low = low_of(machine, value), span = span_of(machine, value);
    unsigned offsets = 0;

    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *other = &loop->values.items[k];
        if (other->kind == VECTOR_LOAD && other->stream == value->stream && other->offset >= low &&
            other->offset < low + span &&
            (other->epoch == value->epoch || (other > value && machine_is_unchanged(machine, other))))
            offsets |= 1u << (other->offset - low);
    }
    return offsets;
}

static int size_of(const struct machine *machine, const struct vector_value *value)
{
    return dtype_table[machine->loop->streams.items[value->stream].dtype].size;
}

/* Whether an iteration's elements, `span` from the first to the last, are few, and those of all lanes near
 * enough. */
static bool are_points(const struct machine *machine, const struct vector_value *value, int span)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = size_of(machine, value);
    bool near = stream->step_kind != VECTOR_CONSTANT_STEP ||
                (stream->step < FARTHEST / 64 && stream->step > -FARTHEST / 64);

    bool fits = machine_is_avx512(machine) ? size >= 4 && size * machine->lanes >= (size == 8 ? 64 : 32)
                                           : size == 4 && machine->lanes == 8;

    return fits && span >= 2 && span <= MOST && !stream->is_masked && near;
}

bool machine_can_load_points(const struct machine *machine, const struct vector_value *value, bool is_masked)
{
    if (points_are_groups(machine, value))
        return !is_masked || machine_is_avx512(machine);
    return !is_masked && are_points(machine, value, span_of(machine, value)) &&
           __builtin_popcount(offsets_of(machine, value)) > 1;
}

/* ---- loads ----------------------------------------------------------------------------------- */

static void add(struct machine *machine, enum x86_form form, int reg, struct x86_memory memory)
{
    machine_add(machine,
                (struct x86_instruction){.form = form, .reg = reg, .has_memory = true, .memory = memory});
}

static int part_count(const struct points *points)
{
    return points->halves ? 2 : points->bits / 128;
}

void points_make_masks(struct points *points)
{
    struct machine *machine = points->machine;
    int lanes = (points->halves ? 32 : 16) / points->size;

    for (int part = 0; part < part_count(points); part++) {
        points->masks[part] = machine_new_mask(machine);
        machine_add(machine,
                    (struct x86_instruction){.form = X86_MOV_IMMEDIATE,
                                             .reg = AT,
                                             .immediate = ((1 << points->span) - 1) << (part * lanes)});
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_KMOVW_TO, .bits = 128, .reg = points->masks[part], .rm = AT});
    }
}

static void load_step(const struct points *points)
{
    struct machine *machine = points->machine;

    add(machine, X86_MOV, STEP, machine_slot(machine, points->stream->slot + 1)); /* of all lanes together */
    machine_add(machine, (struct x86_instruction){.form = X86_SAR_BY,
                                                  .rm = STEP,
                                                  .immediate = __builtin_ctz((unsigned)machine->lanes)});
}

/* Masks come and go by way of STEP, so it goes into the frame. */
static void keep_step(struct points *points)
{
    struct machine *machine = points->machine;

    if (points->stream->step_kind == VECTOR_CONSTANT_STEP)
        return;
    points->frame = machine_frame(machine, 8);
    load_step(points);
    add(machine, X86_MOV_STORE, STEP, (struct x86_memory){X86_RSP, X86_NONE, 1, points->frame});
}

/* From one iteration's lowest element to the next one's. */
static void next_row(const struct points *points, struct x86_memory *memory)
{
    struct machine *machine = points->machine;

    if (points->stream->step_kind == VECTOR_CONSTANT_STEP) {
        memory->displacement += (int)points->stream->step * points->size;
        return;
    }
    if (memory->base != AT)
        machine_add(machine, (struct x86_instruction){.form = X86_MOV, .reg = AT, .rm = memory->base});
    add(machine, X86_ADD, AT, (struct x86_memory){X86_RSP, X86_NONE, 1, points->frame});
    memory->base = AT;
}

struct x86_memory points_first(const struct points *points)
{
    return (struct x86_memory){machine_base(points->machine, points->value->stream), X86_NONE, 1,
                               points->low * points->size};
}

/* The vector and the part of it that an iteration's elements go into, so that they are in order when turned.
 */
static int vector_of(const struct points *points, int row, int *part)
{
    if (points->halves) {
        *part = row / 2 % 2;
        return row % 2 + 2 * (row / 4);
    }
    int count = points->size == 8 ? 2 : 4;
    *part = row / count;
    return row % count;
}

void points_load_row(struct points *points, int row, struct x86_memory memory)
{
    struct machine *machine = points->machine;
    enum x86_form form = points->size == 4 ? X86_VBROADCASTF32X4
                         : points->halves  ? X86_VBROADCASTF64X4
                                           : X86_VBROADCASTF64X2;
    int part, vector = vector_of(points, row, &part);

    if (part == 0)
        points->vectors[vector] = machine_new_vector(machine, points->bits);
    machine_add(machine, (struct x86_instruction){.form = form,
                                                  .bits = points->bits,
                                                  .reg = points->vectors[vector],
                                                  .mask = points->masks[part],
                                                  .zeroing = part == 0,
                                                  .has_memory = true,
                                                  .memory = memory});
}

/* The broadcast repeats the elements in each part: the lowest is the part's first. */
static void load_rows(struct points *points)
{
    keep_step(points);
    points_make_masks(points);
    struct x86_memory memory = points_first(points);
    for (int row = 0; row < points->machine->lanes; row++) {
        points_load_row(points, row, memory);
        next_row(points, &memory);
    }
}

/* ---- turning --------------------------------------------------------------------------------- */

static int mix(const struct points *points, enum x86_form form, int a, int b)
{
    return machine_rvm(points->machine, form, points->bits, a, b);
}

void points_turn(const struct points *points, unsigned offsets, int *results)
{
    const int *v = points->vectors;

    for (int pair = 0; pair < 2; pair++) {
        enum x86_form unpack = pair ? X86_VUNPCKHPS : X86_VUNPCKLPS;
        if (!(offsets >> 2 * pair & 3))
            continue;
        int first = mix(points, unpack, v[0], v[1]), second = mix(points, unpack, v[2], v[3]);
        for (int k = 0; k < 2; k++)
            if (offsets >> (2 * pair + k) & 1)
                results[2 * pair + k] = mix(points, k ? X86_VUNPCKHPD : X86_VUNPCKLPD, first, second);
    }
}

static void turn_wide(const struct points *points, unsigned offsets, int *results)
{
    enum { EVEN = 0x88, ODD = 0xdd };
    const int *v = points->vectors;

    for (int k = 0; k < 2; k++) {
        enum x86_form unpack = k ? X86_VUNPCKHPD : X86_VUNPCKLPD;
        if (!(offsets >> k & 5))
            continue;
        int first = mix(points, unpack, v[0], v[1]);
        if (!points->halves) {
            results[k] = first;
            continue;
        }
        int second = mix(points, unpack, v[2], v[3]);
        for (int pair = 0; pair < 2; pair++)
            if (offsets >> (2 * pair + k) & 1)
                results[2 * pair + k] = machine_rvmi(points->machine, X86_VSHUFF64X2, points->bits, first,
                                                     second, pair ? ODD : EVEN);
    }
}

static const struct machine_points *find_points(const struct machine *machine,
                                                const struct vector_value *value, int mask)
{
    for (int k = 0; k < machine->points.count; k++) {
        const struct machine_points *points = &machine->points.items[k];
        if (points->section == machine->section && points->stream == value->stream &&
            (points->epoch == value->epoch || machine_is_unchanged(machine, value)) &&
            points->low == low_of(machine, value) && points->mask == mask &&
            points->vectors[value->offset - points->low])
            return points;
    }
    return NULL;
}

/* ---- any step, without masks ------------------------------------------------------------------------ */

enum { LAST_OF_THREE = 8 /* bytes from the first */ };

static struct x86_instruction point_at(enum x86_form form, int reg, struct x86_memory memory)
{
    return (struct x86_instruction){
        .form = form, .bits = 128, .reg = reg, .has_memory = true, .memory = memory};
}

/* An iteration's elements of 4 bytes, and nothing beside them. */
int points_load_point(const struct points *points, struct x86_memory memory)
{
    struct machine *machine = points->machine;
    int point = machine_new_vector(machine, 128);

    machine_add(machine, point_at(points->span == 4 ? X86_VMOVUPS_LOAD : X86_VMOVSD_LOAD, point, memory));
    if (points->span == 3) {
        memory.displacement += LAST_OF_THREE;
        struct x86_instruction insert = point_at(X86_VINSERTPS, point, memory);
        insert.vvvv = point;
        insert.immediate = 2 << 4;
        machine_add(machine, insert);
    }
    return point;
}

void points_store_point(const struct points *points, int point, struct x86_memory memory)
{
    struct machine *machine = points->machine;

    machine_add(machine, point_at(points->span == 4 ? X86_VMOVUPS_STORE : X86_VMOVSD_STORE, point, memory));
    if (points->span == 3) {
        memory.displacement += LAST_OF_THREE;
        struct x86_instruction last = point_at(X86_VEXTRACTPS, point, memory);
        last.immediate = 2;
        machine_add(machine, last);
    }
}

/* Where the elements of an iteration are: STEP stays, for there are no masks. `even`: where those of the last
 * iteration of an even number are. */
static struct x86_memory point_memory(const struct points *points, int row, struct x86_memory *even)
{
    struct x86_memory memory = *even;

    if (points->stream->step_kind == VECTOR_CONSTANT_STEP) {
        memory.displacement += row * (int)points->stream->step * points->size;
    } else if (row % 2) {
        memory.index = STEP;
    } else if (row) {
        memory.index = STEP;
        memory.scale = 2;
        add(points->machine, X86_LEA, AT, memory);
        memory = *even = (struct x86_memory){AT, X86_NONE, 1, 0};
    }
    return memory;
}

static struct x86_memory first_point(const struct points *points)
{
    if (points->stream->step_kind != VECTOR_CONSTANT_STEP)
        load_step(points);
    return points_first(points);
}

/* Iterations 0 to 3 in the lower halves of vectors, 4 to 7 in the upper ones. */
static void load_points_avx2(struct points *points)
{
    struct x86_memory even = first_point(points);
    for (int row = 0; row < points->machine->lanes; row++) {
        int point = points_load_point(points, point_memory(points, row, &even)),
            *vector = &points->vectors[row % 4];
        *vector =
            row < 4 ? point : machine_rvmi(points->machine, X86_VINSERTF128, points->bits, *vector, point, 1);
    }
}

static void store_points_avx2(struct points *points)
{
    struct x86_memory even = first_point(points);
    for (int row = 0; row < points->machine->lanes; row++) {
        int vector = points->vectors[row % 4];
        points_store_point(
            points, row < 4 ? vector : machine_upper_half(points->machine, vector, points->bits, false),
            point_memory(points, row, &even));
    }
}

/* ---- all ------------------------------------------------------------------------------------------- */

static void load_all(struct points *points, const struct vector_value *value, int mask, int *results)
{
    unsigned offsets = offsets_of(points->machine, value);

    if (points_are_groups(points->machine, value)) {
        points_load_group(points, mask, offsets, results);
        return;
    }
    (machine_is_avx512(points->machine) ? load_rows : load_points_avx2)(points);
    (points->size == 8 ? turn_wide : points_turn)(points, offsets, results);
}

int machine_load_points(struct machine *machine, const struct vector_value *value, int mask)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    const struct machine_points *known = find_points(machine, value, mask);
    struct points points = {.machine = machine,
                            .value = value,
                            .stream = stream,
                            .size = size_of(machine, value),
                            .low = low_of(machine, value),
                            .span = span_of(machine, value)};
    struct machine_points made = {.section = machine->section,
                                  .stream = value->stream,
                                  .epoch = value->epoch,
                                  .low = points.low,
                                  .mask = mask,
                                  .span = points.span};

    if (known)
        return known->vectors[value->offset - points.low];
    points.bits = (points.size == 1 ? 4 : points.size) * machine->lanes * 8;
    points.halves = points.size == 8 && points.span > 2;
    load_all(&points, value, mask, made.vectors);
    memcpy(made.masks, points.masks, sizeof made.masks);
    list_push(machine->arena, &machine->points, made);
    return made.vectors[value->offset - points.low];
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Whether each of the elements is stored just once, all else as it is asked of them. */
static bool are_all_stored(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_stream *stream = &loop->streams.items[value->stream];
    const struct vector_value *first = NULL, *last = NULL;
    unsigned offsets = 0, all = (1u << (stream->high - stream->low + 1)) - 1;

    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *other = &loop->values.items[k];
        if (other->kind != VECTOR_STORE || other->stream != value->stream)
            continue;
        if (offsets >> (other->offset - stream->low) & 1)
            return false;
        offsets |= 1u << (other->offset - stream->low);
        first = first ? first : other;
        last = other;
    }
    return offsets == all && !machine_is_disturbed(machine, first, last);
}

/* What waits to be stored, by the distance from the lowest element; gives how many. */
static int find_waiting(const struct machine *machine, const struct vector_value *value, int *operands)
{
    int low = machine->loop->streams.items[value->stream].low, count = 0;

    for (int k = 0; k < machine->waiting.count; k++) {
        const struct machine_waiting *row = &machine->waiting.items[k];
        if (row->section != machine->section || row->value->stream != value->stream)
            continue;
        operands[row->value->offset - low] = row->operand;
        count++;
    }
    return count;
}

/* Vectors whose parts are an iteration's elements each; of wide ones two by two. */
void points_turn_back(struct points *points, const int *operands)
{
    int *v = points->vectors, a = operands[0], b = operands[1],
        c = points->span > 2 ? operands[2] : operands[0], d = points->span > 3 ? operands[3] : c;

    if (points->size == 8) {
        v[0] = mix(points, X86_VUNPCKLPD, a, b);
        v[1] = mix(points, X86_VUNPCKHPD, a, b);
        v[2] = points->span > 2 ? mix(points, X86_VUNPCKLPD, c, d) : 0;
        v[3] = points->span > 2 ? mix(points, X86_VUNPCKHPD, c, d) : 0;
        return;
    }
    int low[2] = {mix(points, X86_VUNPCKLPS, a, b), mix(points, X86_VUNPCKLPS, c, d)};
    int high[2] = {mix(points, X86_VUNPCKHPS, a, b), mix(points, X86_VUNPCKHPS, c, d)};
    v[0] = mix(points, X86_VUNPCKLPD, low[0], low[1]);
    v[1] = mix(points, X86_VUNPCKHPD, low[0], low[1]);
    v[2] = mix(points, X86_VUNPCKLPD, high[0], high[1]);
    v[3] = mix(points, X86_VUNPCKHPD, high[0], high[1]);
}

static void store_part(const struct points *points, int vector, int part, struct x86_memory memory)
{
    machine_add(points->machine, (struct x86_instruction){.form = points->size == 8 ? X86_VEXTRACTF64X2_STORE
                                                                                    : X86_VEXTRACTF32X4_STORE,
                                                          .bits = points->bits,
                                                          .reg = points->vectors[vector],
                                                          .has_memory = true,
                                                          .memory = memory,
                                                          .immediate = part});
}

/* The first elements of a part, half of it or, 0 being no mask, those of the mask. Behind them memory may
 * end, and an extraction under a mask touches what the mask leaves out. */
static void store_some_of_part(const struct points *points, int vector, int part, int mask,
                               struct x86_memory memory)
{
    int from = points->vectors[vector];
    if (part) {
        from = machine_new_vector(points->machine, 128);
        machine_add(points->machine, (struct x86_instruction){.form = X86_VEXTRACTF32X4,
                                                              .bits = points->bits,
                                                              .reg = points->vectors[vector],
                                                              .rm = from,
                                                              .immediate = part});
    }
    machine_add(points->machine, (struct x86_instruction){.form = mask ? X86_VMOVUPS_STORE : X86_VMOVSD_STORE,
                                                          .bits = 128,
                                                          .reg = from,
                                                          .mask = mask,
                                                          .has_memory = true,
                                                          .memory = memory});
}

static void store_rows(struct points *points)
{
    int count = points->size == 8 ? 2 : 4, elements = 16 / points->size, mask = 0;
    int odd = points->span % elements; /* of the last part: elements, or 0 for all */

    keep_step(points);
    if (odd > elements / 2) {
        points->span = odd;
        points_make_masks(points);
        mask = points->masks[0];
    }
    struct x86_memory memory = points_first(points);
    for (int row = 0; row < points->machine->lanes; row++) {
        struct x86_memory last = memory;
        if (points->halves) {
            store_part(points, row % count, row / count, memory);
            last.displacement += 16;
        }
        int vector = points->halves ? 2 + row % count : row % count;
        if (odd)
            store_some_of_part(points, vector, row / count, mask, last);
        else
            store_part(points, vector, row / count, last);
        next_row(points, &memory);
    }
}

/* Whether they are more than fit a part, and all still fit registers when the last one is there. */
static bool are_many(const struct machine *machine, const struct vector_value *value, int span)
{
    int most = machine_is_avx512(machine) ? MANY : MANY / 2;
    return span > MOST && span <= most && are_points(machine, value, MOST);
}

/* A few elements of each iteration, from the one so far behind the least on. */
static void store_some(struct points points, int from, const int *operands)
{
    points.low += from;
    points.halves = points.size == 8 && points.span > 2;
    points_turn_back(&points, operands + from);
    (machine_is_avx512(points.machine) ? store_rows : store_points_avx2)(&points);
}

/* The last ones overlap those before: with fewer than a part holds each would be stored by itself. */
static void store_many(struct points points, const int *operands)
{
    int span = points.span;
    points.span = MOST;
    for (int from = 0; from < span; from += MOST)
        store_some(points, from + MOST <= span ? from : span - MOST, operands);
}

bool machine_store_points(struct machine *machine, const struct vector_value *value, int operand, int mask)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int operands[MANY] = {0};
    struct points points = {.machine = machine,
                            .value = value,
                            .stream = stream,
                            .size = size_of(machine, value),
                            .low = stream->low,
                            .span = stream->high - stream->low + 1};

    bool is_group = points_are_groups(machine, value), is_many = are_many(machine, value, points.span);
    bool is_any = is_group || is_many || are_points(machine, value, points.span);
    if ((mask ? !is_group || !machine_is_avx512(machine) : !is_any) || !are_all_stored(machine, value))
        return false;
    struct machine_waiting row = {machine->section, value, operand};
    list_push(machine->arena, &machine->waiting, row);
    if (find_waiting(machine, value, operands) < points.span)
        return true;
    points.bits = (points.size == 1 ? 4 : points.size) * machine->lanes * 8;
    if (is_group)
        points_store_group(&points, mask, operands);
    else if (is_many)
        store_many(points, operands);
    else
        store_some(points, 0, operands);
    return true;
}

/*
 * vector_x86_slim_step.c: every second to fourth element, as of images with colours, where the processor
 * picks any bytes out of two vectors (AVX-512 VBMI).
 *
 * Consumes loads with such a step, forwards or backwards, and stores of all the elements that one iteration
 * steps over, into lanes of 8, 16 and, of bytes, 32 bits and out of these; appends loads of whole vectors,
 * the last of which end where the last lane's element does, and what brings the bytes into their lanes, or
 * back. Which byte comes from where stands in tables behind the code.
 */
#include "vector_x86_slim.h"
#include "vector_x86_memory.h"

enum { BITS = 512, VECTOR_BYTES = 64, HALF_BYTES = 32, MOST_VECTORS = 4 };

/* What a table says: of a load (`stores` false), where the bytes of each lane are among the vectors that were
 * loaded; of a store, where those of vector `chunk` are among the lanes. Table number `turn` takes vector
 * turn + 1 to what the tables before made of the first ones. */
struct permutation {
    bool stores;
    int step, element, lane; /* step in elements, below 0: backwards; bytes of an element, of a lane */
    int width, first; /* of a load: elements that are loaded beside the first one, and which of them it is */
    int chunk, turn;
};

static uint64_t packed(const struct permutation *order)
{
    return (uint64_t)order->stores | (uint64_t)(order->step + 8) << 4 | (uint64_t)order->element << 8 |
           (uint64_t)order->lane << 12 | (uint64_t)order->chunk << 16 | (uint64_t)order->turn << 20 |
           (uint64_t)order->width << 24 | (uint64_t)order->first << 28;
}

static int four_bits(uint64_t bits, int at)
{
    return (int)(bits >> at & 15);
}

static struct permutation unpacked(uint64_t bits)
{
    return (struct permutation){.stores = bits & 1,
                                .step = four_bits(bits, 4) - 8,
                                .element = four_bits(bits, 8),
                                .lane = four_bits(bits, 12),
                                .chunk = four_bits(bits, 16),
                                .turn = four_bits(bits, 20),
                                .width = four_bits(bits, 24),
                                .first = four_bits(bits, 28)};
}

/* ---- which bytes are loaded ----------------------------------------------------------------------- */

struct stretch {
    int bytes, unit, vectors; /* in all, of a vector, how many of these */
};

static struct stretch stretch_of(const struct permutation *order)
{
    int lanes = VECTOR_BYTES / order->lane, step = order->step < 0 ? -order->step : order->step;
    int bytes = ((lanes - 1) * step + order->width + 1) * order->element;
    int unit = bytes < VECTOR_BYTES ? HALF_BYTES : VECTOR_BYTES;
    return (struct stretch){bytes, unit, (bytes + unit - 1) / unit};
}

static int first_byte(const struct stretch *stretch, int vector)
{
    return vector < stretch->vectors - 1 ? stretch->unit * vector : stretch->bytes - stretch->unit;
}

/* ---- tables ------------------------------------------------------------------------------------------ */

/* `vector`: that the byte is in, at `byte`; what the tables before have brought in its place stays. */
static unsigned char entry(const struct permutation *order, int place, int vector, int byte)
{
    return (unsigned char)(vector == order->turn + 1         ? VECTOR_BYTES + byte
                           : vector == 0 && order->turn == 0 ? byte
                                                             : place);
}

/* An element that is narrower than its lane stands in the upper half, and is moved down. */
static unsigned char loaded_byte(const struct permutation *order, int place)
{
    struct stretch stretch = stretch_of(order);
    int lane = place / order->lane, lanes = VECTOR_BYTES / order->lane;
    int step = order->step < 0 ? -order->step : order->step,
        index = order->step < 0 ? lanes - 1 - lane : lane;
    int byte = (index * step + order->first) * order->element +
               (order->element == order->lane ? place % order->lane : 0);
    int vector = byte / stretch.unit < stretch.vectors ? byte / stretch.unit : stretch.vectors - 1;
    return entry(order, place, vector, byte - first_byte(&stretch, vector));
}

static unsigned char stored_byte(const struct permutation *order, int place)
{
    int byte = order->chunk * VECTOR_BYTES + place, element = byte / order->element;
    int from = element / order->step * order->lane + byte % order->element;
    return entry(order, place, element % order->step, from % VECTOR_BYTES);
}

void slim_permutation(uint64_t bits, unsigned char table[64])
{
    struct permutation order = unpacked(bits);
    for (int place = 0; place < VECTOR_BYTES; place++)
        table[place] = (order.stores ? stored_byte : loaded_byte)(&order, place);
}

/* The bytes of the vectors that the tables say, table by table. */
static int permuted(struct machine *machine, struct permutation order, const int *vectors, int count)
{
    int result = machine_copy(machine, BITS, vectors[0]), last = count > 1 ? count - 1 : 1;
    for (order.turn = 0; order.turn < last; order.turn++) {
        int table = machine_keep(machine, KEPT_PERMUTATION, slim_vector_type(machine), 0, packed(&order));
        machine_into(machine, X86_VPERMT2B, BITS, result, table, vectors[count > 1 ? order.turn + 1 : 0], 0);
    }
    return result;
}

/* ---- loads ------------------------------------------------------------------------------------------- */

static void transfer(struct machine *machine, enum x86_form form, int bits, int reg, struct x86_memory memory,
                     int bytes)
{
    memory.displacement += bytes;
    machine_add(machine, (struct x86_instruction){
                             .form = form, .bits = bits, .reg = reg, .has_memory = true, .memory = memory});
}

/* Elements that are loaded in each iteration beside the lowest one: what lies between may be read. */
static int width_of(const struct vector_loop *loop, const struct vector_value *value)
{
    const struct vector_stream *stream = &loop->streams.items[value->stream];
    int64_t step = stream->step < 0 ? -stream->step : stream->step;
    bool low = false, high = false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *other = &loop->values.items[k];
        bool is_load = other->kind == VECTOR_LOAD && other->stream == value->stream && other->mask < 0;
        low |= is_load && other->offset == stream->low;
        high |= is_load && other->offset == stream->high;
    }
    return low && high && stream->high - stream->low < step ? stream->high - stream->low : 0;
}

/* The vectors that the elements are in, loaded once for all of them. */
static const int *load_vectors(struct machine *machine, const struct vector_value *value,
                               const struct permutation *order, const struct stretch *stretch)
{
    int first = value->offset - order->first;
    for (int k = 0; k < machine->loaded.count; k++) {
        const struct machine_loaded *row = &machine->loaded.items[k];
        if (row->section == machine->section && row->stream == value->stream && row->offset == first &&
            row->epoch == value->epoch)
            return row->vectors;
    }
    struct machine_loaded row = {machine->section, value->stream, first, value->epoch, {0}};
    struct vector_value lowest = *value;
    lowest.offset = first;
    struct x86_memory memory = machine_step_memory(machine, &lowest);
    if (order->step < 0)
        memory.displacement -= stretch->bytes - (order->width + 1) * order->element;
    for (int k = 0; k < stretch->vectors; k++) {
        row.vectors[k] = machine_new_vector(machine, BITS);
        transfer(machine, X86_VMOVUPS_LOAD, 8 * stretch->unit, row.vectors[k], memory,
                 first_byte(stretch, k));
    }
    list_push(machine->arena, &machine->loaded, row);
    return machine->loaded.items[machine->loaded.count - 1].vectors;
}

static struct permutation order_of(const struct vector_loop *loop, const struct vector_value *value, int lane)
{
    const struct vector_stream *stream = &loop->streams.items[value->stream];
    struct permutation order = {
        .step = (int)stream->step, .element = dtype_table[value->dtype].size, .lane = lane};
    order.width = width_of(loop, value);
    order.first = order.width ? value->offset - stream->low : 0;
    return order;
}

static int load_into(struct machine *machine, const struct vector_value *value, int lane)
{
    struct permutation order = order_of(machine->loop, value, lane);
    struct stretch stretch = stretch_of(&order);
    return permuted(machine, order, load_vectors(machine, value, &order, &stretch), stretch.vectors);
}

int slim_load_step(const struct slim_body *body, const struct vector_value *value)
{
    int result = load_into(body->machine, value, body->slim->size);
    enum x86_form down = dtype_is_signed(value->dtype) ? X86_VPSRAW_BY : X86_VPSRLW_BY;
    return dtype_table[value->dtype].size == body->slim->size ? result
                                                              : slim_shift_words(body, down, result, 8);
}

enum { WIDE_LANE = 4 };

bool machine_can_permute(const struct machine *machine, const struct vector_value *value)
{
    enum { LANES = 16, MOST = 4 };
    int64_t step = machine->loop->streams.items[value->stream].step;
    if (!machine_is_avx512(machine) || !machine->options->permutes || machine->lanes != LANES ||
        dtype_table[value->dtype].size != 1 || step > MOST || step < -MOST || (step < 2 && step > -2))
        return false;
    struct permutation order = order_of(machine->loop, value, WIDE_LANE);
    return stretch_of(&order).bytes >= HALF_BYTES;
}

int machine_load_permuted(struct machine *machine, const struct vector_value *value)
{
    enum { UPPER_BYTE = 24 };
    int result = load_into(machine, value, WIDE_LANE);
    bool is_signed = dtype_is_signed(value->dtype);
    return machine_shift(machine, is_signed ? X86_VPSRAD_BY : X86_VPSRLD_BY,
                         is_signed ? X86_VPSRAD_BY_WIDE : X86_VPSRLD_BY_WIDE, BITS, result, UPPER_BYTE);
}

/* ---- stores ------------------------------------------------------------------------------------------ */

/* The lanes of all stores of the stream, by their offsets. */
static void lanes_of_group(const struct machine *machine, const struct vector_value *value,
                           const int *registers, int lanes[MOST_VECTORS])
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *other = &loop->values.items[k];
        if (other->kind == VECTOR_STORE && other->stream == value->stream)
            lanes[other->offset - loop->streams.items[value->stream].low] = registers[other->operands[0]];
    }
}

static struct x86_memory group_memory(struct machine *machine, const struct vector_value *value)
{
    struct vector_value first = *value;
    first.offset = machine->loop->streams.items[value->stream].low;
    return machine_step_memory(machine, &first);
}

void slim_store_step(const struct slim_body *body, const struct vector_value *value)
{
    struct machine *machine = body->machine;
    int step = (int)machine->loop->streams.items[value->stream].step, size = dtype_table[value->dtype].size;
    int lanes[MOST_VECTORS] = {0}, all = step * size * VECTOR_BYTES / body->slim->size;
    if (slim_last_of_group(machine->loop, value) != value)
        return;
    lanes_of_group(machine, value, body->registers, lanes);
    for (int k = 0; k < step && value->dtype == AKG_BOOL; k++)
        lanes[k] = slim_where(body, lanes[k], slim_number(body, 1));
    struct x86_memory memory = group_memory(machine, value);
    for (int byte = 0; byte < all; byte += VECTOR_BYTES) {
        struct permutation order = {.stores = true,
                                    .step = step,
                                    .element = size,
                                    .lane = body->slim->size,
                                    .chunk = byte / VECTOR_BYTES};
        transfer(machine, X86_VMOVUPS_STORE, all - byte < VECTOR_BYTES ? 8 * HALF_BYTES : BITS,
                 permuted(machine, order, lanes, step), memory, byte);
    }
}

bool machine_can_store_permuted(const struct vector_loop *loop, const struct vector_options *options,
                                const struct vector_value *value)
{
    enum { MOST = 4 };
    int64_t step = loop->streams.items[value->stream].step;
    return options->target == X86_TARGET_AVX512 && options->permutes && !loop->wide &&
           (!loop->nest || vector_is_rows(loop->nest)) &&
           loop->streams.items[value->stream].step_kind == VECTOR_CONSTANT_STEP &&
           dtype_is_integer(value->dtype) && dtype_table[value->dtype].size == 1 && step > 1 &&
           step <= MOST && slim_last_of_group(loop, value);
}

/* Two, three or four quarters of a vector. */
bool machine_store_permuted(struct machine *machine, const struct vector_value *value, const int *registers)
{
    enum { LANES = 16, UPPER = 2 };
    int lanes[MOST_VECTORS] = {0}, step = (int)machine->loop->streams.items[value->stream].step;
    if (machine->lanes != LANES || !machine_can_store_permuted(machine->loop, machine->options, value))
        return false;
    if (slim_last_of_group(machine->loop, value) != value)
        return true;
    lanes_of_group(machine, value, registers, lanes);
    struct x86_memory memory = group_memory(machine, value);
    struct permutation order = {.stores = true, .step = step, .element = 1, .lane = WIDE_LANE};
    int result = permuted(machine, order, lanes, step);
    transfer(machine, X86_VMOVUPS_STORE, step == MOST_VECTORS ? BITS : 8 * HALF_BYTES, result, memory, 0);
    if (step == 3) {
        memory.displacement += HALF_BYTES;
        machine_add(machine, (struct x86_instruction){.form = X86_VEXTRACTF32X4_STORE,
                                                      .bits = BITS,
                                                      .reg = result,
                                                      .immediate = UPPER,
                                                      .has_memory = true,
                                                      .memory = memory});
    }
    return true;
}

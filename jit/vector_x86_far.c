/*
 * vector_x86_far.c: loops over more than the caches near the processor hold, with what they will need fetched
 * ahead.
 *
 * Consumes a vector loop that stores, or accumulates slowly; says whether its main loop is worth standing
 * twice, appends to a section of the second one what fetches ahead, and places that loop. A processor
 * foresees loads, but not beyond the page, and it foresees stores badly: each line is read before it is
 * written, and stores wait for that in their order. Near caches want none of this: there it is only more
 * instructions.
 *
 * Some processors foresee stores well enough, and what is fetched near by is in their way. On these, loops
 * over more than the last cache holds (vector_options.stream_bytes) store whole lines past the caches, which
 * are not read before, and fetch what they load from pages further on, if it is of one tensor, or neighbours
 * are loaded (vector_x86_realign.c): once where they compute much, else from far and again from near. A
 * vector is stored as usual first, so that the next one begins where a vector in memory does; its last lanes
 * are stored again. And loops that accumulate fetch so too, if they make so much of what they load that fewer
 * loads are on their way than memory could bring: from some pages on, for each call has a piece of the loop.
 * Where vectors are computed by halves those do, too, that do nothing but add up what they load.
 * So do those that load neighbours and store where they loaded, or nowhere: from as many bytes on as others
 * go past the caches.
 *
 * Parts of bands (vector_fetch.c) fetch from where C says, on any processor, and may store past the caches
 * too.
 */
#include "pass.h"
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum {
    LINE = 64,            /* bytes of the cache */
    AHEAD = 512,          /* bytes from what is computed to what is fetched */
    AHEAD_PAST = 8192,    /* two pages; 6144 and 9216 were no better than nothing (Zen 5) */
    AHEAD_FIRST = 16384,  /* of short bodies, what comes near by, */
    AHEAD_SECOND = 4096,  /* and nearer: these two of two are best for loads of neighbours by far (Zen 5) */
    SHORT = 20,           /* instructions */
    FAR = 2 << 20,        /* bytes that a loop goes over, at least */
    FAR_PIECE = 64 << 10, /* more than the nearest cache holds */
    LONGEST = 60,         /* instructions; longer bodies compute, and memory does not wait for them */
    LONGEST_PAST = 250
};

/* One of elements that lie one behind the other, to which stores go whose place is known early. */
static bool is_target(const struct vector_stream *stream)
{
    return stream->step_kind == VECTOR_UNIT && stream->is_stored && !stream->is_gathered;
}

/* What one of several streams of a buffer loads another one has mostly loaded before: to fetch it is in vain.
 */
static bool is_alone(const struct vector_loop *loop, int number)
{
    for (int k = 0; k < loop->streams.count; k++)
        if (k != number &&
            loop->streams.items[k].access->buffer == loop->streams.items[number].access->buffer)
            return false;
    return true;
}

bool machine_loads_around(const struct vector_loop *loop, int number)
{
    const struct vector_stream *stream = &loop->streams.items[number];
    return !is_alone(loop, number) || stream->low < stream->high;
}

/* Whether the vectors that begin within a whole vector may follow it: nothing that it loads is stored. */
static bool may_overlap(const struct vector_loop *loop)
{
    enum { LEAST_SIZE = 4 };
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        bool is_beside =
            !stream->is_loaded && is_alone(loop, k) && dtype_table[stream->dtype].size >= LEAST_SIZE;
        if (stream->step_kind != VECTOR_UNIT || stream->is_gathered || (stream->is_stored && !is_beside))
            return false;
    }
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool counts = value->bits == 1 || value->bits == UINT64_MAX;
        if ((value->kind == VECTOR_STORE && value->mask >= 0) || value->kind == VECTOR_SCATTER ||
            value->kind == VECTOR_TEST || value->kind == VECTOR_GATHER ||
            (value->kind == VECTOR_INDEX && !counts))
            return false;
    }
    return true;
}

int vector_far_target(const struct vector_loop *loop)
{
    if (loop->band || (loop->nest && !vector_is_rows(loop->nest)) || loop->is_serial || loop->calls ||
        loop->stops || loop->accumulators.count || loop->choices.count || loop->picks.count ||
        loop->is_even || loop->is_rest || !may_overlap(loop))
        return -1;
    for (int k = 0; k < loop->streams.count; k++)
        if (is_target(&loop->streams.items[k]))
            return k;
    return -1;
}

bool machine_stores_past(const struct machine *machine)
{
    return machine->is_far && machine->options->stream_bytes && machine->loop->elements;
}

/* Whether the far loop may store past the caches: the addresses of what it stores to are at hand. */
static bool may_store_past(const struct machine *machine, const machine_section *body)
{
    const struct vector_loop *loop = machine->loop;
    if (!loop->elements || body->count > LONGEST_PAST || machine_has_quotients(machine))
        return false;
    for (int k = 0; k < loop->streams.count; k++)
        if (loop->streams.items[k].is_stored && machine->pointers[k] < 0)
            return false;
    return true;
}

/* Iterations that go over so many bytes, each tensor taken once. */
static int least_count(const struct vector_loop *loop, int limit)
{
    int bytes = 0;
    for (int k = 0; k < loop->streams.count; k++)
        if (!vector_stream_is_again(loop, k))
            bytes += dtype_table[loop->streams.items[k].dtype].size;
    return limit / bytes;
}

/* Whether an extent says that the loop has fewer iterations than go over so many bytes. */
static bool is_known_below(const struct vector_loop *loop, int limit)
{
    int count = machine_known_count(loop);
    return !loop->nest && loop->streams.count && count && count < least_count(loop, limit);
}

/* Plain sums gain by it beyond the second cache alone (Zen 4, 2026-11-30: rows of 16 KiB, 64 MB of them, 2.2
 * ms, with the next row fetched 1.83; products of two of 32 MB 2.1 and 1.85; of one of 64 MB next to
 * nothing). */
static int least_bytes_of_sum(const struct vector_loop *loop)
{
    return vector_is_slow_sum(loop) ? FAR_PIECE : FAR;
}

/* Whether it accumulates slowly, and fetches ahead where it has much to go over. */
static bool fetches_for_sum(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    bool is_sum = vector_is_slow_sum(loop) || vector_is_plain_sum(loop, machine->options);
    return is_sum && !is_known_below(loop, least_bytes_of_sum(loop)) && machine->options->stream_bytes &&
           !loop->is_part && !loop->nest && !machine_has_quotients(machine);
}

/* Its loads keep the processor from asking for more. (Zen 5, five points of 3000 x 3000 accumulated in
 * another tensor: 3.4 ms, with both fetched from two places 2.7; the sum of a residual of five points 3.2
 * and 2.3.) */
int vector_nearby_target(const struct vector_loop *loop)
{
    int found = -1;
    if (loop->band || (loop->nest && !vector_is_rows(loop->nest)) || loop->is_part || loop->is_serial ||
        loop->calls || loop->stops || loop->choices.count || loop->picks.count || loop->is_even ||
        loop->is_rest)
        return -1;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        if (stream->step_kind != VECTOR_UNIT || stream->is_gathered)
            return -1;
        if (found < 0 && machine_loads_around(loop, k))
            found = k;
    }
    return found;
}

static bool fetches_nearby(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->streams.count; k++)
        if (machine->pointers[k] < 0)
            return false;
    return loop->nearby && !machine_has_quotients(machine);
}

/* Whether it is a part of a band that fetches ahead. */
static bool is_fetching(const struct machine *machine)
{
    for (int k = 0; k < machine->loop->streams.count; k++)
        if (machine->fetched[k])
            return true;
    return false;
}

bool machine_fetches_long(const struct machine *machine)
{
    return machine->loop->is_part && !machine->loop->elements && is_fetching(machine) &&
           machine_has_quotients(machine);
}

bool machine_has_far(const struct machine *machine, const machine_section *body)
{
    const struct vector_loop *loop = machine->loop;
    if (loop->is_part && !loop->elements)
        return is_fetching(machine) && !machine_has_quotients(machine);
    if (fetches_for_sum(machine))
        return true;
    if (machine->options->stream_bytes)
        return may_store_past(machine, body) || (body->count <= LONGEST && fetches_nearby(machine));
    if (body->count > LONGEST || loop->calls || loop->picks.count || machine_has_quotients(machine) ||
        is_known_below(loop, FAR))
        return false;
    for (int k = 0; k < loop->streams.count; k++)
        if (is_target(&loop->streams.items[k]))
            return true;
    return false;
}

/* Whether it loads other elements all along. */
static bool comes_from_far(const struct vector_loop *loop, const struct vector_stream *stream)
{
    return stream->step_kind == VECTOR_UNIT && !stream->is_gathered && !stream->is_stored &&
           (!loop->nest || stream->strides[VECTOR_ROWS].kind != VECTOR_STAYS);
}

/* Of several tensors processors ask for enough at a time (Zen 5: a sum of products of two 1.55 ms, and 1.76
 * with both fetched ahead; exp of one 1.30, and 1.05). */
static bool loads_one_tensor(const struct vector_loop *loop)
{
    const struct ir_buffer *first = NULL;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        if (!comes_from_far(loop, stream))
            continue;
        if (first && first != stream->access->buffer)
            return false;
        first = stream->access->buffer;
    }
    return first;
}

/* Whether a lies behind b in memory, by constants in the indices. */
static bool is_behind(const struct ir_access *a, const struct ir_access *b)
{
    for (int axis = 0; axis < a->buffer->rank; axis++) {
        struct pass_affine distance, other;
        if (!pass_affine_of(a->indices[axis], &distance) || !pass_affine_of(b->indices[axis], &other) ||
            !pass_affine_add(&distance, -1, &other) || distance.count)
            return false;
        if (distance.constant)
            return distance.constant > 0;
    }
    return false;
}

/* Whether another stream, x[i + 1, j] of x[i, j], comes by the same elements before. */
static bool follows(const struct vector_loop *loop, int number)
{
    const struct vector_stream *streams = loop->streams.items;
    for (int k = 0; k < loop->streams.count; k++)
        if (streams[k].access->buffer == streams[number].access->buffer &&
            is_behind(streams[k].access, streams[number].access))
            return true;
    return false;
}

/* Whether the elements of the stream are worth fetching. */
static bool is_fetched(const struct machine *machine, int number)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_stream *stream = &loop->streams.items[number];
    bool is_source = stream->step_kind == VECTOR_UNIT && !stream->is_gathered;
    if (loop->is_part)
        return machine->fetched[number];
    if (machine_stores_past(machine))
        return comes_from_far(loop, stream) && (machine->realigned || loads_one_tensor(loop)) &&
               !follows(loop, number);
    if (loop->nearby)
        return (!loop->nest || stream->strides[VECTOR_ROWS].kind != VECTOR_STAYS) && !follows(loop, number);
    return is_target(stream) || (is_source && is_alone(loop, number));
}

/* The lines of the vector at hand, so many bytes further on. */
static void fetch_lines(struct machine *machine, int number, int base, int distance)
{
    const struct vector_stream *stream = &machine->loop->streams.items[number];
    int size = dtype_table[stream->dtype].size, at = machine->ahead * size;
    for (int line = (at + LINE - 1) / LINE * LINE; line < at + machine->lanes * size; line += LINE)
        machine_add(machine,
                    (struct x86_instruction){
                        .form = stream->is_stored ? X86_PREFETCH_WRITE : X86_PREFETCH,
                        .has_memory = true,
                        .memory = {base, machine->index, size, stream->high * size + line + distance}});
}

/* Whether it stores past the caches and has to load neighbours from across lines, as where realigning takes
 * the processor longer than that: by halves. What is fetched from far is in the way there (Zen 4, 2026-11-30:
 * three points of 8 million, realigned 1.6 to 1.75 ms, from across lines with what comes near by and
 * far 1.78, near by alone 1.33; five of 4000 x 2000 2.5 to 2.75, 2.3 to 2.5, 2.1 to 2.3). */
static bool crosses_lines(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    bool is_around = false;
    for (int k = 0; k < loop->streams.count; k++)
        is_around |= comes_from_far(loop, &loop->streams.items[k]) && machine_loads_around(loop, k);
    return is_around && machine->options->splits && machine_stores_past(machine);
}

void machine_fetch_ahead(struct machine *machine)
{
    bool goes_past = machine->options->stream_bytes, crosses = crosses_lines(machine);
    bool is_twice =
        !crosses &&
        ((machine_stores_past(machine) && (machine->realigned || machine->section->count <= SHORT)) ||
         machine->loop->nearby);
    for (int k = 0; k < machine->loop->streams.count; k++) {
        if (!is_fetched(machine, k))
            continue;
        if (machine->fetched[k]) {
            fetch_lines(machine, k, machine->fetched[k], 0);
            continue;
        }
        int base = machine_base(machine, k);
        fetch_lines(machine, k, base,
                    is_twice    ? AHEAD_FIRST
                    : crosses   ? AHEAD_SECOND
                    : goes_past ? AHEAD_PAST
                                : AHEAD);
        if (is_twice)
            fetch_lines(machine, k, base, AHEAD_SECOND);
    }
}

int64_t vector_known_bytes(const struct ir_buffer *buffer)
{
    int64_t bytes = (int64_t)dtype_table[buffer->dtype].size;
    for (int axis = 0; axis < buffer->rank; axis++) {
        const struct ir_expr *extent = buffer->shape[axis];
        if (extent->kind != IR_INTEGER || __builtin_mul_overflow(bytes, extent->integer, &bytes))
            return -1;
    }
    return bytes;
}

bool vector_stays_near(const struct vector_loop *loop, const struct ir_buffer *buffer,
                       const struct vector_options *options)
{
    int64_t bytes = vector_known_bytes(buffer), size = (int64_t)dtype_table[buffer->dtype].size;
    return bytes >= 0 && bytes / size < least_count(loop, options->stream_bytes / 3 * 2);
}

void machine_place_rounds(struct machine *machine, machine_section *sections, int ahead, int done)
{
    int round = machine->lanes * machine->steps, head = machine->labels++;
    machine_emit_label(machine, head);
    for (int k = 0; k < machine->steps; k++)
        machine_allocate(machine, &sections[k]);
    machine_emit_by(machine, X86_ADD_BY, machine->index, round);
    machine_emit_by(machine, X86_SUB_BY, machine->count, round);
    machine_emit_by(machine, X86_CMP_BY, machine->count, round + ahead);
    machine_emit_jump(machine, X86_JGE, head);
    machine_emit_label(machine, done);
}

void machine_place_fetched(struct machine *machine)
{
    for (int k = 0; k < machine->loop->streams.count; k++) {
        if (!machine->fetched[k])
            continue;
        int place = machine->fetched[k], base = machine->pointers[k];
        struct x86_instruction add = {.form = X86_ADD, .reg = place, .has_memory = true};
        add.memory = machine_slot(machine, machine->loop->streams.items[k].ahead);
        machine_emit(machine, (struct x86_instruction){.form = X86_MOV, .reg = place, .rm = base});
        machine_emit(machine, add);
    }
}

/* ---- past the caches ------------------------------------------------------------------------------ */

void machine_emit_place(struct machine *machine, const struct vector_value *value)
{
    int size = dtype_table[value->dtype].size;
    machine_emit(machine, (struct x86_instruction){.form = X86_LEA,
                                                   .reg = X86_RAX,
                                                   .has_memory = true,
                                                   .memory = {machine->pointers[value->stream],
                                                              machine->index, size, value->offset * size}});
}

/* How many bytes the element lies before where a vector in memory begins, in rax, and whether there are any.
 */
static void emit_distance(struct machine *machine, const struct vector_value *value)
{
    int size = dtype_table[value->dtype].size;
    machine_emit_place(machine, value);
    machine_emit(machine, (struct x86_instruction){.form = X86_NEG, .rm = X86_RAX});
    machine_emit_by(machine, X86_AND_BY, X86_RAX, machine->lanes * size - 1);
}

/* One vector, of which those lanes count that lie before where a vector in memory begins. What it computes
 * may take every register that is not the loop's own. */
static void place_first(struct machine *machine, const struct vector_value *value, machine_section *first)
{
    int size = dtype_table[value->dtype].size, aligned = machine->labels++;
    emit_distance(machine, value);
    machine_emit_jump(machine, X86_JE, aligned);
    machine_allocate(machine, first);
    emit_distance(machine, value);
    machine_emit_by(machine, X86_SAR_BY, X86_RAX, __builtin_ctz((unsigned)size));
    machine_emit(machine, (struct x86_instruction){.form = X86_ADD, .reg = machine->index, .rm = X86_RAX});
    machine_emit(machine, (struct x86_instruction){.form = X86_SUB, .reg = machine->count, .rm = X86_RAX});
    machine_emit_label(machine, aligned);
}

/* To `label`, where the loop is over too little. Loads of neighbours are worth it sooner: of 18 MB five
 * points take half of the time (Zen 5, of 32 MB of the last cache), but for less than 16 what comes next may
 * find it there. */
static void emit_least(struct machine *machine, const struct vector_loop *loop, int label)
{
    int limit = machine->options->stream_bytes, elements = loop->nearby ? loop->nearby : loop->elements;
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV,
                                                   .reg = X86_RAX,
                                                   .has_memory = true,
                                                   .memory = machine_slot(machine, elements)});
    machine_emit_by(machine, X86_CMP_BY, X86_RAX,
                    least_count(loop, machine->realigned ? limit / 3 * 2 : limit));
    machine_emit_jump(machine, X86_JL, label);
}

void machine_place_fence(struct machine *machine, const struct vector_loop *loop)
{
    int small = machine->labels++;
    emit_least(machine, loop, small);
    machine_emit(machine, (struct x86_instruction){.form = X86_SFENCE});
    machine_emit_label(machine, small);
}

static void place_past(struct machine *machine, struct machine_far *far)
{
    enum { ROUNDS = 2 /* of a row, that it is worth it */ };
    const struct vector_loop *loop = machine->loop;
    int round = machine->lanes * machine->steps, done = machine->labels++, stored = machine->labels++;
    int ahead = machine_realigned_ahead(machine);
    bool is_first = true;
    machine_emit_by(machine, X86_CMP_BY, machine->count, ROUNDS * round + ahead);
    machine_emit_jump(machine, X86_JL, done);
    emit_least(machine, loop, done);
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind != VECTOR_STORE)
            continue;
        if (is_first)
            place_first(machine, value, &far->first);
        is_first = false;
        machine_emit_place(machine, value);
        machine_emit_by(machine, X86_AND_BY, X86_RAX, machine->lanes * dtype_table[value->dtype].size - 1);
        machine_emit_jump(machine, X86_JNE, done);
    }
    machine_place_fetched(machine);
    machine_allocate(machine, &far->setup);
    machine_place_rounds(machine, far->main, ahead, stored);
    machine_allocate(machine, &far->leave);
    if (!loop->nest && !loop->is_part) /* else behind all rows */
        machine_emit(machine, (struct x86_instruction){.form = X86_SFENCE});
    machine_emit_label(machine, done);
}

/* ---- parts of bands ------------------------------------------------------------------------------- */

/* Whole rounds, where one of the streams is worth it. */
static void place_fetching(struct machine *machine, machine_section *sections)
{
    int done = machine->labels++, begin = machine->labels++;
    struct x86_instruction take = {.form = X86_MOV, .reg = X86_RAX, .has_memory = true};
    machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes * machine->steps);
    machine_emit_jump(machine, X86_JL, done);
    for (int k = 0; k < machine->loop->streams.count; k++) {
        if (!machine->fetched[k])
            continue;
        take.memory = machine_slot(machine, machine->loop->streams.items[k].ahead);
        machine_emit(machine, take);
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, 0);
        machine_emit_jump(machine, X86_JNE, begin);
    }
    machine_emit_jump(machine, X86_JMP, done);
    machine_emit_label(machine, begin);
    machine_place_fetched(machine);
    machine_place_rounds(machine, sections, 0, done);
}

/* ---- neighbours ---------------------------------------------------------------------------------- */

/* Whole rounds of a row, where the tensor has so many elements. */
static void place_nearby(struct machine *machine, machine_section *sections)
{
    int done = machine->labels++;
    machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes * machine->steps);
    machine_emit_jump(machine, X86_JL, done);
    emit_least(machine, machine->loop, done);
    machine_place_rounds(machine, sections, 0, done);
}

/* ---- sums ----------------------------------------------------------------------------------------- */

/* Of a long loop each thread, or each of many calls, has a piece. */
static void place_sum(struct machine *machine, machine_section *sections)
{
    int done = machine->labels++;
    machine_emit_by(machine, X86_CMP_BY, machine->count,
                    least_count(machine->loop, least_bytes_of_sum(machine->loop)));
    machine_emit_jump(machine, X86_JL, done);
    machine_place_rounds(machine, sections, 0, done);
}

/* ---- all ------------------------------------------------------------------------------------------ */

void machine_place_far(struct machine *machine, struct machine_far *far)
{
    const struct vector_loop *loop = machine->loop;
    if (loop->is_part && !loop->elements) {
        place_fetching(machine, far->main);
        return;
    }
    if (fetches_for_sum(machine)) {
        place_sum(machine, far->main);
        return;
    }
    if (loop->nearby) {
        place_nearby(machine, far->main);
        return;
    }
    if (machine->options->stream_bytes) {
        place_past(machine, far);
        return;
    }
    int done = machine->labels++, least = least_count(loop, FAR);
    if (loop->nest) { /* of the rows that are left, all together */
        machine_emit_by(machine, X86_CMP_BY, machine->count, machine->lanes * machine->steps);
        machine_emit_jump(machine, X86_JL, done);
        machine_emit(machine,
                     (struct x86_instruction){.form = X86_MOV, .reg = X86_RAX, .rm = machine->count});
        machine_emit(machine, (struct x86_instruction){.form = X86_IMUL,
                                                       .reg = X86_RAX,
                                                       .has_memory = true,
                                                       .memory = machine_slot(machine, loop->nest->state)});
        machine_emit_by(machine, X86_CMP_BY, X86_RAX, least);
    } else {
        machine_emit_by(machine, X86_CMP_BY, machine->count, least);
    }
    machine_emit_jump(machine, X86_JL, done);
    machine_place_rounds(machine, far->main, 0, done);
}

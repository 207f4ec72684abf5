/*
 * vector_fetch.c: what a band fetches ahead, during which of its parts, and what it stores past the caches.
 *
 * Consumes a band that is complete; gives streams of its parts the slot `ahead`: how far from what they are
 * at in this iteration what they will need lies, which C computes (0 where all fits into the caches). A band
 * goes over a row several times. In all but the first it finds the row in the caches, and memory stands idle:
 * the next rows are fetched meanwhile, and likewise where it chooses among elements, which takes as long, or
 * accumulates slowly.
 *
 * Each buffer is fetched during one part, such that none has to fetch much and compute little. One that a
 * part only stores to, and no other goes over, need not be fetched: the part gets the slot `elements`, by
 * which its code knows that whole lines may go past the caches (vector_x86_far.c).
 */
#include "scalar_library.h"
#include "vector_build.h"
#include "vector_listing.h"

struct fetching {
    struct arena *arena;
    struct vector_loop *band;
    const struct vector_options *options;
    int *fetched; /* by part: buffers */
};

/* The slot of what the stream grows by from one iteration of the band to the next; -1: it does not, or other
 * than C can tell. */
static int delta_of(const struct vector_band *band, const struct vector_stream *stream)
{
    for (int k = 0; k < band->moving.count; k++)
        if (band->moving.items[k].slot == stream->slot)
            return band->moving.items[k].delta;
    return -1;
}

static bool is_fetchable(const struct fetching *fetching, const struct vector_stream *stream)
{
    return stream->step_kind == VECTOR_UNIT && !stream->is_gathered &&
           delta_of(fetching->band->band, stream) >= 0;
}

/* About how many sums a part computes for each element. */
static int weight_of(const struct vector_loop *part)
{
    int weight = 0;
    for (int k = 0; k < part->values.count; k++)
        weight += vector_latency(&part->values.items[k]);
    return weight;
}

static bool may_fetch(const struct vector_loop *part)
{
    return !part->is_serial && !part->nest && !part->picks.count && !part->calls && !part->is_rest;
}

static bool goes_over(const struct fetching *fetching, const struct vector_loop *part,
                      const struct ir_buffer *buffer)
{
    for (int k = 0; k < part->streams.count; k++)
        if (part->streams.items[k].access->buffer == buffer &&
            is_fetchable(fetching, &part->streams.items[k]))
            return true;
    return false;
}

/* How many parts go over the buffer; `best`: the one that has most time for it. */
static int count_parts(const struct fetching *fetching, const struct ir_buffer *buffer, int *best)
{
    const struct vector_band *band = fetching->band->band;
    int count = 0, most = -1;
    for (int k = 0; k < band->parts.count; k++) {
        const struct vector_loop *part = band->parts.items[k].loop;
        if (!may_fetch(part) || !goes_over(fetching, part, buffer))
            continue;
        int time = weight_of(part) / (1 + fetching->fetched[k]);
        if (time > most) {
            most = time;
            *best = k;
        }
        count++;
    }
    return count;
}

/* Parts, straight ones too, that have to do with the buffer. */
static int count_users(const struct vector_band *band, const struct ir_buffer *buffer)
{
    int count = 0;
    for (int k = 0; k < band->parts.count; k++) {
        const struct vector_loop *part = band->parts.items[k].loop;
        bool uses = false;
        for (int s = 0; s < part->streams.count; s++)
            uses |= part->streams.items[s].access->buffer == buffer;
        count += uses;
    }
    return count;
}

/* The stream that the part stores past the caches, all others it stores to likewise; -1: there is none. */
static int find_past(const struct fetching *fetching, const struct vector_loop *part)
{
    int target = fetching->options->stream_bytes ? vector_far_target(part) : -1;
    for (int k = 0; k < part->streams.count && target >= 0; k++) {
        const struct vector_stream *stream = &part->streams.items[k];
        if (stream->is_stored && (!is_fetchable(fetching, stream) ||
                                  count_users(fetching->band->band, stream->access->buffer) > 1))
            return -1;
    }
    return target;
}

static void store_past(struct fetching *fetching)
{
    const struct vector_band *band = fetching->band->band;
    for (int k = 0; k < band->parts.count; k++) {
        struct vector_loop *part = band->parts.items[k].loop;
        int target = may_fetch(part) ? find_past(fetching, part) : -1;
        if (target < 0 ||
            vector_stays_near(part, part->streams.items[target].access->buffer, fetching->options))
            continue;
        struct vector_argument argument = {.kind = VECTOR_ARGUMENT_ELEMENTS,
                                           .stream = -1,
                                           .accumulator = -1,
                                           .access = part->streams.items[target].access};
        part->elements = fetching->band->arguments.count;
        list_push(fetching->arena, &fetching->band->arguments, argument);
    }
}

static int slot_for(struct fetching *fetching, const struct vector_stream *stream)
{
    struct vector_argument argument = {.kind = VECTOR_ARGUMENT_AHEAD,
                                       .stream = -1,
                                       .accumulator = -1,
                                       .level = delta_of(fetching->band->band, stream),
                                       .access = stream->access};
    list_push(fetching->arena, &fetching->band->arguments, argument);
    return fetching->band->arguments.count - 1;
}

static void fetch_during(struct fetching *fetching, int number, const struct ir_buffer *buffer)
{
    struct vector_loop *part = fetching->band->band->parts.items[number].loop;
    int64_t bytes = vector_known_bytes(buffer);
    bool is_small = bytes >= 0 && bytes < AKG_AHEAD_LEAST;
    for (int k = 0; k < part->streams.count; k++) {
        struct vector_stream *stream = &part->streams.items[k];
        bool is_past = part->elements && stream->is_stored;
        if (stream->access->buffer == buffer && is_fetchable(fetching, stream) && !is_past && !is_small)
            stream->ahead = slot_for(fetching, stream);
    }
    fetching->fetched[number]++;
}

/* The buffers of the parts that so many parts, or more, go over. */
static void fetch_buffers(struct fetching *fetching, int least, int most)
{
    const struct vector_band *band = fetching->band->band;
    LIST(const struct ir_buffer *) seen = {.count = 0};
    for (int k = 0; k < band->parts.count; k++) {
        const struct vector_loop *part = band->parts.items[k].loop;
        for (int s = 0; s < part->streams.count; s++) {
            const struct ir_buffer *buffer = part->streams.items[s].access->buffer;
            bool is_seen = false;
            int best = 0;
            for (int b = 0; b < seen.count; b++)
                is_seen |= seen.items[b] == buffer;
            if (is_seen)
                continue;
            list_push(fetching->arena, &seen, buffer);
            int count = count_parts(fetching, buffer, &best);
            if (count >= least && count <= most)
                fetch_during(fetching, best, buffer);
        }
    }
}

bool vector_stream_is_again(const struct vector_loop *loop, int number)
{
    for (int k = 0; k < number; k++)
        if (loop->streams.items[k].access->buffer == loop->streams.items[number].access->buffer)
            return true;
    return false;
}

bool vector_is_plain_sum(const struct vector_loop *loop, const struct vector_options *options)
{
    bool is_whole = loop->streams.count > 0 && !loop->is_serial && !loop->calls && !loop->stops &&
                    !loop->choices.count && !loop->picks.count && !loop->is_even && !loop->is_rest;
    for (int k = 0; k < loop->streams.count; k++) {
        const struct vector_stream *stream = &loop->streams.items[k];
        is_whole &= stream->step_kind == VECTOR_UNIT && !stream->is_gathered && !stream->is_stored &&
                    stream->low == stream->high && !vector_stream_is_again(loop, k);
    }
    for (int k = 0; k < loop->values.count; k++)
        is_whole &= loop->values.items[k].type != VECTOR_MASK && loop->values.items[k].mask < 0;
    return is_whole && options->splits && loop->accumulators.count && !vector_has_scans(loop);
}

bool vector_is_slow_sum(const struct vector_loop *loop)
{
    int work = 0;
    if (!loop->accumulators.count || loop->streams.count != 1 || loop->is_serial || loop->calls ||
        loop->stops || loop->choices.count || loop->picks.count || loop->is_rest ||
        loop->streams.items[0].step_kind != VECTOR_UNIT || loop->streams.items[0].is_gathered ||
        loop->streams.items[0].is_stored)
        return false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        bool is_extreme = value->operation == OP_MIN || value->operation == OP_MAX;
        if (value->kind == VECTOR_ACCUMULATE) /* nan is looked for beside extremes */
            work += is_extreme && dtype_is_float(value->dtype) ? 2 : 1;
        else
            work += value->kind == VECTOR_OPERATION && value->operation != OP_ABS;
    }
    return work > 1;
}

/* Rows of which each is gone over once: memory is never idle, but not busy either where little is asked for.
 */
static void fetch_for_sum(struct fetching *fetching)
{
    const struct vector_band *band = fetching->band->band;
    for (int k = 0; k < band->parts.count; k++) {
        struct vector_loop *part = band->parts.items[k].loop;
        if (!may_fetch(part) || !(vector_is_slow_sum(part) || vector_is_plain_sum(part, fetching->options)))
            continue;
        part->is_part = true;
        for (int s = 0; s < part->streams.count; s++)
            fetch_during(fetching, k, part->streams.items[s].access->buffer);
    }
}

void vector_fetch_plan(struct arena *arena, struct vector_loop *band, const struct vector_options *options)
{
    struct fetching fetching = {.arena = arena,
                                .band = band,
                                .options = options,
                                .fetched = arena_array(arena, int, band->band->parts.count)};
    int times = 0;
    store_past(&fetching);
    for (int k = 0; k < band->band->parts.count; k++) {
        const struct vector_loop *part = band->band->parts.items[k].loop;
        times += may_fetch(part) + (part->choices.count > 0);
    }
    for (int k = 0; k < band->band->parts.count; k++) {
        struct vector_loop *part = band->band->parts.items[k].loop;
        part->is_part = part->elements || (times > 1 && may_fetch(part));
    }
    if (times < 2) {
        if (options->stream_bytes)
            fetch_for_sum(&fetching);
        return;
    }
    fetch_buffers(&fetching, 1, 1); /* those that have no choice first */
    fetch_buffers(&fetching, 2, band->band->parts.count);
}

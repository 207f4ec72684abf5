/*
 * jit_pair.c: see jit_pair.h.
 */
#include "jit_pair.h"

#include "../../jit/interpreter.h"
#include "../../jit/scalar.h"
#include "../../jit/vector_plan.h"
#include "../../jit/vector_slim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pair_init(struct jit_pair *pair)
{
    memset(pair, 0, sizeof *pair);
    arena_init(&pair->arena, &pair->escape);
    pair->diagnostics = diagnostics_create("test.ir", NULL, 0);
    if (!pair->diagnostics || setjmp(pair->escape)) {
        fputs("out of memory\n", stderr);
        exit(5);
    }
    diagnostics_set_escape(pair->diagnostics, &pair->escape);
    static unsigned made; /* what processors are like, in turn */
    pair->vectors = (struct vector_options){.target = x86_cpu_target(),
                                            .strict = true,
                                            .permutes = x86_cpu_permutes_bytes(),
                                            .counts_bits = x86_cpu_counts_bits() && made & 8,
                                            .splits = made & 1,
                                            .slows = made & 2,
                                            .slow_gathers = made & 4};
    made++;
}

void pair_free(struct jit_pair *pair)
{
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < PAIR_BUFFERS; k++)
            free(pair->bytes[side][k]);
    backend_tcc_free(&pair->code);
    text_free(&pair->text);
    akg_diagnostics_free(pair->diagnostics);
    arena_free(&pair->arena);
}

static void print_diagnostics(const struct jit_pair *pair)
{
    char *text = NULL;
    akg_diagnostics_render(pair->diagnostics, AKG_FORMAT_TEXT, &text);
    fputs(text ? text : "", stderr);
    akg_free(text);
}

bool pair_read(struct jit_pair *pair, const char *text)
{
    pair->kernel = ir_read(&pair->arena, text, strlen(text), pair->diagnostics);
    if (!pair->kernel)
        print_diagnostics(pair);
    return pair->kernel != NULL;
}

/* Runs not what libtcc made, but that as the cache on disk gives it back: at another address. */
static bool compile_and_move(struct jit_pair *pair, const struct backend_symbol *symbols)
{
    struct backend_code first = {.entry = NULL};
    struct code_image image;
    bool good = backend_tcc_compile_image(pair->text.data, "akg_kernel", symbols, NULL, &first, &image,
                                          pair->diagnostics) == AKG_OK &&
                image.bytes && backend_tcc_load(image.bytes, image.size, symbols, &pair->code);
    memory_free(image.bytes);
    backend_tcc_free(&first);
    return good;
}

static bool gathers(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_GATHER)
            return true;
    return false;
}

static bool waits(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].waits)
            return true;
    return false;
}

/* The C around the vector loops, and all of it as machine code. */
static bool compile_with(struct jit_pair *pair, const struct vector_plan *plan, bool trust_indices,
                         struct text *complaint)
{
    struct emit_c_options options = {.entry = "akg_kernel", .trust_indices = trust_indices, .plan = plan};
    struct backend_symbol symbols[PAIR_LOOPS + 1] = {{NULL, NULL}};
    if (!emit_c(&pair->text, pair->kernel, &options, complaint) || pair->text.failed)
        return false;
    for (int k = 0; k < plan->loops.count && k < PAIR_LOOPS; k++)
        symbols[k] = (struct backend_symbol){vector_loop_name(plan, k), plan->loops.items[k]->code};
    pair->vector_loops = plan->loops.count;
    pair->gathering_loops = pair->waiting_loops = pair->slim_loops = 0;
    for (int k = 0; k < plan->loops.count; k++) {
        const struct vector_nest *nest = plan->loops.items[k]->nest;
        pair->nests += nest != NULL;
        pair->nests_of_columns += nest && nest->first == VECTOR_COLUMNS;
        pair->nests_of_while += nest && nest->is_while;
        pair->serial_loops += plan->loops.items[k]->is_serial;
        pair->bands += plan->loops.items[k]->band != NULL;
        pair->flows += plan->loops.items[k]->flow != NULL;
        struct vector_slim slim;
        pair->gathering_loops += gathers(plan->loops.items[k]);
        pair->waiting_loops += waits(plan->loops.items[k]);
        pair->slim_loops += vector_is_slim(&pair->arena, plan->loops.items[k], &pair->vectors, &slim);
    }
    if (compile_and_move(pair, symbols))
        return true;
    print_diagnostics(pair);
    return false;
}

bool pair_compile(struct jit_pair *pair, bool trust_indices)
{
    struct vector_options vectors = pair->vectors;
    struct vector_plan plan;
    struct text complaint;
    text_init(&complaint);
    bool good = ir_verify(pair->kernel, &complaint);
    vectors.trust_indices = trust_indices;
    if (good) {
        sites_number(pair->kernel, &pair->sites);
        good = vector_plan_make(&plan, pair->kernel, &vectors, false);
        if (good) {
            good = compile_with(pair, &plan, trust_indices, &complaint);
            if (good) {
                pair->code.vectors = plan.pages;
                plan.pages.memory = NULL;
            }
            vector_plan_free(&plan);
        }
    }
    if (!good)
        fprintf(stderr, "%s\n", complaint.data ? complaint.data : "it cannot be compiled");
    text_free(&complaint);
    return good;
}

static bool shape_of(const struct jit_pair *pair, const struct ir_buffer *buffer, int64_t *shape)
{
    for (int axis = 0; axis < buffer->rank; axis++) {
        union dtype_value value;
        if (!scalar_evaluate(buffer->shape[axis], pair->dims, pair->scalars, &value))
            return false;
        shape[axis] = value.i;
    }
    return true;
}

bool pair_allocate(struct jit_pair *pair)
{
    for (int k = 0; k < pair->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = pair->kernel->buffers.items[k];
        int64_t shape[AKG_MAX_RANK], count = 1;
        if (k >= PAIR_BUFFERS || !shape_of(pair, buffer, shape))
            return false;
        for (int step = 0; step < buffer->rank; step++) {
            int axis = buffer->contiguous ? buffer->rank - 1 - step : step;
            pair->strides[k][axis] = count;
            count *= shape[axis];
        }
        pair->sizes[k] = (size_t)count * dtype_table[buffer->dtype].size;
        pair->firsts[k] = 0;
        if (!buffer->contiguous && buffer->rank && count) {
            pair->firsts[k] = (size_t)(shape[0] - 1) * dtype_table[buffer->dtype].size;
            pair->strides[k][0] = -1;
        }
        for (int side = 0; side < 2; side++) {
            char *bytes = realloc(pair->bytes[side][k], pair->sizes[k] + 2 * PAIR_GUARD);
            if (!bytes)
                return false;
            pair->bytes[side][k] = bytes;
            memset(bytes, 0xa5, pair->sizes[k] + 2 * PAIR_GUARD);
            memset(bytes + PAIR_GUARD, 0, pair->sizes[k]);
        }
    }
    return true;
}

void *pair_data(const struct jit_pair *pair, int side, int buffer)
{
    return pair->bytes[side][buffer] + PAIR_GUARD + pair->firsts[buffer];
}

void pair_set(struct jit_pair *pair, int buffer, int64_t place, union dtype_value value)
{
    akg_dtype dtype = pair->kernel->buffers.items[buffer]->dtype;
    for (int side = 0; side < 2; side++)
        dtype_store(dtype, pair->bytes[side][buffer] + PAIR_GUARD + place * dtype_table[dtype].size, value);
}

unsigned pair_draw(uint64_t *state, unsigned count)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*state >> 33) % count;
}

int64_t pair_interesting(uint64_t *state, akg_dtype dtype)
{
    static const int64_t values[] = {0,  1,  2,   3,         5,         7,         8,        -1,
                                     -2, -5, 100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return dtype_wrap(dtype, values[pair_draw(state, sizeof values / sizeof *values)]);
}

static union dtype_value some_value(uint64_t *state, akg_dtype dtype, bool rare)
{
    union dtype_value value = {.i = pair_interesting(state, dtype)};
    if (!dtype_is_float(dtype))
        return value;
    double number = pair_draw(state, 3) ? (int)pair_draw(state, 2000) / 64.0 - 15
                                        : (double)pair_interesting(state, AKG_INT64);
    if (rare && pair_draw(state, 30) == 0)
        number = pair_draw(state, 2) ? __builtin_nan("") : -__builtin_inf();
    return dtype_from_double(dtype, number);
}

void pair_fill(struct jit_pair *pair, uint64_t *state, bool rare)
{
    for (int k = 0; k < pair->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = pair->kernel->buffers.items[k];
        int64_t count = (int64_t)pair->sizes[k] / dtype_table[buffer->dtype].size;
        for (int64_t at = 0; at < count && buffer->role == IR_INPUT; at++)
            pair_set(pair, k, at, some_value(state, buffer->dtype, rare));
    }
}

/* The part, with temporaries of its own, in which there is anything. */
static int run_apart(const struct jit_frame *frame, jit_part *part, int64_t from, int64_t to,
                     const union jit_scalar *kept, const struct jit_own *own)
{
    struct jit_frame apart = *frame;
    void *data[PAIR_BUFFERS], *made[PAIR_BUFFERS];
    int count = 0, result;
    const struct jit_own *end = own;

    while (end && end->buffer >= 0)
        end++;
    if (own) {
        memcpy(data, frame->data, (size_t)end->bytes * sizeof *data);
        apart.data = data;
    }
    for (; own < end; own++) {
        made[count] = aligned_alloc(64, ((size_t)own->bytes + 127) / 64 * 64);
        if (!made[count])
            abort();
        memset(made[count], 0x5a, (size_t)own->bytes);
        data[own->buffer] = made[count++];
    }
    result = part(&apart, from, to, kept);
    while (count > 0)
        free(made[--count]);
    return result;
}

int pair_split(const struct jit_frame *frame, jit_part *part, int64_t low, int64_t high, int64_t step,
               int grain, double work, const union jit_scalar *kept, const struct jit_own *own)
{
    uint64_t piece = (uint64_t)(grain > 32 ? grain : 3), from = (uint64_t)low; /* they may be far apart */
    uint64_t left = low < high ? ((uint64_t)high - from - 1) / (uint64_t)step + 1 : 0;

    (void)work;
    for (; left > piece; left -= piece, from += piece * (uint64_t)step)
        if (run_apart(frame, part, (int64_t)from, (int64_t)(from + piece * (uint64_t)step), kept, own))
            return 1;
    return part(frame, (int64_t)from, high, kept);
}

int pair_run_side(struct jit_pair *pair, int side)
{
    void *data[PAIR_BUFFERS];
    const int64_t *strides[PAIR_BUFFERS];
    for (int k = 0; k < pair->kernel->buffers.count; k++) {
        data[k] = pair_data(pair, side, k);
        strides[k] = pair->strides[k];
    }
    struct jit_frame frame = {.data = data,
                              .dims = pair->dims,
                              .strides = strides,
                              .scalars = pair->scalars,
                              .trap = &pair->traps[side],
                              .split = pair_split,
                              .threads = pair->dims[0] % 2 ? 1000 : 1}; /* both ways to share strips */
    memset(&pair->traps[side], 0, sizeof pair->traps[side]);
    return side == 0 ? pair->code.entry(&frame) : interpreter_run(pair->kernel, &frame);
}

static bool same_element(akg_dtype dtype, const char *a, const char *b)
{
    if (memcmp(a, b, (size_t)dtype_table[dtype].size) == 0)
        return true;
    return dtype_is_float(dtype) && isnan(dtype_to_double(dtype, dtype_load(dtype, a))) &&
           isnan(dtype_to_double(dtype, dtype_load(dtype, b)));
}

static bool same_buffer(const struct jit_pair *pair, int k)
{
    const struct ir_buffer *buffer = pair->kernel->buffers.items[k];
    const char *a = pair->bytes[0][k], *b = pair->bytes[1][k];
    size_t size = pair->sizes[k], element = (size_t)dtype_table[buffer->dtype].size;
    if (memcmp(a, b, PAIR_GUARD) != 0 ||
        memcmp(a + PAIR_GUARD + size, b + PAIR_GUARD + size, PAIR_GUARD) != 0) {
        fprintf(stderr, "    %s: written outside\n", buffer->name);
        return false;
    }
    for (size_t at = 0; at < size && buffer->role != IR_TEMPORARY; at += element)
        if (!same_element(buffer->dtype, a + PAIR_GUARD + at, b + PAIR_GUARD + at)) {
            union dtype_value left = dtype_load(buffer->dtype, a + PAIR_GUARD + at);
            union dtype_value right = dtype_load(buffer->dtype, b + PAIR_GUARD + at);
            fprintf(stderr, "    %s[%zu]: libtcc %.17g, interpreter %.17g\n", buffer->name, at / element,
                    dtype_to_double(buffer->dtype, left), dtype_to_double(buffer->dtype, right));
            return false;
        }
    return true;
}

bool pair_run(struct jit_pair *pair, int *status)
{
    int results[2] = {pair_run_side(pair, 0), pair_run_side(pair, 1)};
    const struct jit_trap *a = &pair->traps[0], *b = &pair->traps[1];
    *status = results[1];
    if (results[0] != results[1] || memcmp(a, b, sizeof *a) != 0) {
        fprintf(
            stderr,
            "    libtcc %d site %lld axis %lld index %lld of %lld, interpreter %d %lld %lld %lld of %lld\n",
            results[0], (long long)a->site, (long long)a->axis, (long long)a->index, (long long)a->extent,
            results[1], (long long)b->site, (long long)b->axis, (long long)b->index, (long long)b->extent);
        return false;
    }
    for (int k = 0; k < pair->kernel->buffers.count; k++)
        if (!same_buffer(pair, k))
            return false;
    return true;
}

struct ir_buffer *pair_buffer(const struct jit_pair *pair, const char *name)
{
    for (int k = 0; k < pair->kernel->buffers.count; k++)
        if (strcmp(pair->kernel->buffers.items[k]->name, name) == 0)
            return pair->kernel->buffers.items[k];
    return NULL;
}

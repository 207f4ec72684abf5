/*
 * test_passes_random.c: random kernels made of what the optimising passes look for (neighbouring loops over
 * temporaries, accumulations, shifted and flattened indices, things that stop), interpreted as they are and
 * after the passes, in their usual order and in random ones. Results must be the same bits; a stop the same
 * stop, in the same iteration.
 *
 * Arguments: first seed and number of kernels (default 1 and 1000).
 */
#include "check.h"
#include "random_kernel.h"

#include "../../jit/interpreter.h"
#include "../../jit/passes.h"
#include "../../jit/scalar.h"
#include "../../jit/sites.h"
#include "../fuzz/random.h"

#include <inttypes.h>
#include <stdlib.h>

/* Elements of a tensor, and of what passes make for blocks. */
enum { ELEMENTS = 64, MOST_ELEMENTS = 256, BUFFERS = 100, ORDERS = 3, LONGEST = 10 };

/* ---- running ------------------------------------------------------------------------------------------ */

struct side {
    struct arena arena;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    struct jit_trap trap;
    bool stopped;
    float data[BUFFERS][MOST_ELEMENTS];
};

/* The kernel of the text, after the passes; false when there is none, or one that is broken. */
static bool side_make(struct side *side, jmp_buf *escape, const struct text *text,
                      const struct passes_options *options)
{
    akg_diagnostics *diagnostics = diagnostics_create("random.ir", text->data, text->length);
    struct text complaint;
    char *why = NULL;
    bool good;

    memset(&side->sites, 0, sizeof side->sites);
    arena_init(&side->arena, escape);
    side->kernel = ir_read(&side->arena, text->data, text->length, diagnostics);
    if (!side->kernel && akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &why) == AKG_OK)
        fputs(why, stderr);
    akg_free(why);
    akg_diagnostics_free(diagnostics);
    text_init(&complaint);
    good = side->kernel &&
           (options ? passes_run(side->kernel, options, &complaint) : ir_verify(side->kernel, &complaint));
    if (side->kernel && !good)
        fprintf(stderr, "%s\n", complaint.data);
    text_free(&complaint);
    if (good)
        sites_number(side->kernel, &side->sites);
    return good && CHECK(side->kernel->buffers.count <= BUFFERS);
}

/* Values whose sums show in which order they were made. */
static float some_value(int at)
{
    static const float values[] = {1.0f, 1e7f, -3.25f, 0.1f, -1e7f, 2.5f, 0.0f, 7e-3f, -0.0f, 1e30f, 3.0f};
    return values[at % 11];
}

static void strides_of(const struct ir_buffer *buffer, const int64_t *dims, int64_t *strides)
{
    int64_t stride = 1;

    for (int k = buffer->rank - 1; k >= 0; k--) {
        bool ordered = buffer->order && !buffer->contiguous;
        bool repeated = ordered && buffer->order[k] & IR_AXIS_REPEATED;
        int axis = ordered ? buffer->order[k] & ~IR_AXIS_REPEATED : k;
        union dtype_value extent = {.i = 0};
        if (!scalar_evaluate(buffer->shape[axis], dims, NULL, &extent))
            CHECK(!"an extent has no value");
        strides[axis] = repeated ? 0 : stride;
        stride *= repeated ? 1 : extent.i;
    }
}

static void side_run(struct side *side, int64_t m, int64_t n)
{
    void *data[BUFFERS];
    const int64_t *strides[BUFFERS];
    int64_t dims[] = {m, n, n}, own[BUFFERS][AKG_MAX_RANK];
    union jit_scalar scalars[] = {{.d = 0.75}};

    for (int k = 0; k < side->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = side->kernel->buffers.items[k];
        strides_of(buffer, dims, own[k]);
        strides[k] = own[k];
        data[k] = side->data[k];
        for (int at = 0; at < (buffer->role == IR_TEMPORARY ? MOST_ELEMENTS : ELEMENTS); at++)
            side->data[k][at] = buffer->role <= IR_INOUT ? some_value(at + 3 * k) : -99.0f;
    }
    struct jit_frame frame = {
        .data = data, .dims = dims, .strides = strides, .scalars = scalars, .trap = &side->trap};
    memset(&side->trap, 0, sizeof side->trap);
    side->stopped = interpreter_run(side->kernel, &frame) != 0;
}

/* As messages have it. */
static const char *called(const struct ir_symbol *loop)
{
    return loop->label ? loop->label : loop->name;
}

static bool same_stop(const struct side *a, const struct side *b)
{
    const struct jit_site *x, *y;

    if (!a->stopped || !b->stopped || a->trap.site < 1 || b->trap.site < 1)
        return a->stopped == b->stopped;
    x = &a->sites.rows.items[a->trap.site - 1];
    y = &b->sites.rows.items[b->trap.site - 1];
    if (x->kind != y->kind || x->loop_count != y->loop_count || a->trap.axis != b->trap.axis ||
        a->trap.index != b->trap.index || strcmp(x->buffer->name, y->buffer->name) != 0)
        return false;
    for (int k = 0; k < x->loop_count; k++)
        if (strcmp(called(x->loops[k]), called(y->loops[k])) != 0)
            return false;
    return memcmp(a->trap.loops, b->trap.loops, (size_t)x->loop_count * sizeof *a->trap.loops) == 0;
}

static bool same_results(const struct side *a, const struct side *b)
{
    for (int k = 0; k < a->kernel->buffers.count; k++)
        for (int at = 0; at < ELEMENTS && a->kernel->buffers.items[k]->role != IR_TEMPORARY; at++) {
            float x = a->data[k][at], y = b->data[k][at];
            if (memcmp(&x, &y, sizeof x) != 0 && (x == x || y == y)) {
                fprintf(stderr, "%s[%d]: %.9g and %.9g\n", a->kernel->buffers.items[k]->name, at, (double)x,
                        (double)y);
                return false;
            }
        }
    return true;
}

/* ---- the test --------------------------------------------------------------------------------------------
 */

struct counts {
    int ran, stopped;
};

static bool same_for_all_shapes(struct side *plain, struct side *other, struct counts *counts)
{
    static const int64_t shapes[][2] = {{0, 0}, {1, 1}, {2, 3}, {3, 2},  {4, 5},
                                        {1, 7}, {0, 4}, {5, 1}, {18, 3}, {2, 17}};

    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        side_run(plain, shapes[k][0], shapes[k][1]);
        side_run(other, shapes[k][0], shapes[k][1]);
        counts->stopped += plain->stopped;
        counts->ran += !plain->stopped;
        if (!same_stop(plain, other) || (!plain->stopped && !same_results(plain, other))) {
            fprintf(stderr, "M = %" PRId64 ", N = %" PRId64 "\n", shapes[k][0], shapes[k][1]);
            return false;
        }
    }
    return true;
}

static void show(const char *title, const struct ir_kernel *kernel)
{
    struct text text;

    text_init(&text);
    ir_print(&text, kernel);
    fprintf(stderr, "%s\n%s", title, text.data);
    text_free(&text);
}

/* One kernel with one order of passes (NULL: the usual one). */
static bool test_order(const struct text *text, const enum pass_id *order, int count, struct counts *counts)
{
    static struct side plain, other;
    struct passes_options options = {.verify = true, .order = order, .order_count = count};
    jmp_buf escape;
    volatile bool good = false;

    if (setjmp(escape))
        return false;
    if (side_make(&plain, &escape, text, NULL) && side_make(&other, &escape, text, &options)) {
        good = same_for_all_shapes(&plain, &other, counts);
        if (!good)
            show("after the passes:", other.kernel);
        arena_free(&other.arena);
    }
    arena_free(&plain.arena);
    return good;
}

/* A random kernel; some of its inputs of two axes lie in another order, or repeat one. */
static void make_kernel(struct text *text, uint64_t seed, struct random *random)
{
    static const char *const orders[] = {" strided by 1, 0", " strided by 1 repeated, 0",
                                         " strided by 0 repeated, 1", " strided by 1 repeated, 0 repeated"};
    struct text plain;
    const char *from, *to;

    text_init(&plain);
    random_kernel(&plain, seed, AKG_FLOAT32);
    for (from = plain.data; (to = strchr(from, '\n')); from = to + 1) {
        text_format(text, "%.*s", (int)(to - from), from);
        if (strncmp(from, "  input ", 8) == 0 && strstr(from, ", ") && strstr(from, ", ") < to &&
            random_below(random, 2))
            text_string(text, orders[random_below(random, 4)]);
        text_char(text, '\n');
    }
    text_string(text, from);
    text_free(&plain);
}

static void test_seed(uint64_t seed, struct counts *counts)
{
    struct random random = random_seeded(seed, 18);
    struct text text;
    bool good;

    text_init(&text);
    make_kernel(&text, seed, &random);
    good = CHECK(test_order(&text, NULL, 0, counts));
    for (int k = 0; k < ORDERS && good; k++) {
        enum pass_id order[LONGEST];
        int count = 1 + random_below(&random, LONGEST);
        for (int n = 0; n < count; n++)
            order[n] = (enum pass_id)random_below(&random, PASS_COUNT);
        good = CHECK(test_order(&text, order, count, counts));
        for (int n = 0; n < count && !good; n++)
            fprintf(stderr, " %s", passes_name((int)order[n]));
    }
    if (!good)
        fprintf(stderr, "\nseed %" PRIu64 "\n%s", seed, text.data);
    text_free(&text);
}

#ifdef AKG_SANITIZED
enum { USUAL = 250 /* sanitizers take their time */ };
#else
enum { USUAL = 1000 };
#endif

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int count = argc > 2 ? atoi(argv[2]) : USUAL;
    struct counts counts = {0};

    for (int k = 0; k < count && check_failed == 0; k++)
        test_seed(first + (uint64_t)k, &counts);
    CHECK(counts.ran > counts.stopped / 4); /* the kernels are worth running */
    printf("%d runs, %d stopped\n", counts.ran, counts.stopped);
    return check_done();
}

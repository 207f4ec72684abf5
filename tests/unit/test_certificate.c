/*
 * test_certificate.c: what certificates claim of the kernels in tests/kernels and examples, and of generated
 * programs, against runs of the interpreter for random calls (certify.h).
 *
 * Takes a number of generated programs and a first seed.
 */
#include "../../jit/certificate.h"
#include "../../jit/module.h"
#include "../../jit/scalar.h"
#include "../fuzz/generate.h"
#include "../fuzz/random.h"
#include "certify.h"
#include "check.h"

#include <glob.h>
#include <stdlib.h>

enum { CALLS = 12, ELEMENTS = 3000 };

static struct certify_counts total;

/* ---- random calls ---------------------------------------------------------------------------- */

struct call {
    struct jit_frame frame;
    int64_t *dims, **strides;
    union jit_scalar *scalars;
    char **memory; /* of each buffer */
    void **data;
};

static void call_free(struct call *call, int buffers)
{
    for (int k = 0; k < buffers; k++) {
        free(call->strides[k]);
        free(call->memory[k]);
    }
    free(call->dims);
    free(call->strides);
    free(call->scalars);
    free(call->memory);
    free(call->data);
}

static void choose_numbers(struct call *call, const struct ir_kernel *kernel, struct random *random)
{
    int base = random_below(random, 6);

    for (int k = 0; k < kernel->dims.count; k++)
        call->dims[k] = random_chance(random, 60) ? base : random_below(random, 7);
    for (int k = 0; k < kernel->attributes.count; k++) {
        akg_dtype dtype = kernel->attributes.items[k]->dtype;
        int value = random_below(random, 7) - 2;
        call->scalars[k] = dtype == AKG_FLOAT64 ? (union jit_scalar){.d = value / 2.0}
                           : dtype == AKG_BOOL  ? (union jit_scalar){.i = value & 1}
                                                : (union jit_scalar){.i = value};
    }
}

/* Small numbers, which serve as indices too. */
static void fill(char *data, akg_dtype dtype, int64_t count, struct random *random)
{
    for (int64_t k = 0; k < count; k++) {
        int number = random_below(random, 6) - (random_chance(random, 15) ? 3 : 0);
        union dtype_value value = {.i = dtype_wrap(dtype_is_float(dtype) ? AKG_INT32 : dtype, number)};
        if (dtype_is_float(dtype))
            value = dtype_from_double(dtype, number * 0.5);
        dtype_store(dtype, data + k * dtype_table[dtype].size, value);
    }
}

/* False when there is no such call, or it is too large. */
static bool make_buffer(struct call *call, const struct ir_buffer *buffer, struct random *random)
{
    int64_t shape[AKG_MAX_RANK], count = 1, *strides = calloc(AKG_MAX_RANK, sizeof *strides);
    int size = dtype_table[buffer->dtype].size;

    call->strides[buffer->index] = strides;
    for (int axis = 0; axis < buffer->rank; axis++) {
        union dtype_value extent;
        if (!scalar_evaluate(buffer->shape[axis], call->dims, call->scalars, &extent) || extent.i < 0 ||
            extent.i > ELEMENTS)
            return false;
        shape[axis] = extent.i;
    }
    for (int step = 0; step < buffer->rank; step++) {
        int axis = buffer->contiguous ? buffer->rank - 1 - step : step;
        strides[axis] = count;
        if ((count *= shape[axis]) > ELEMENTS)
            return false;
    }
    call->data[buffer->index] = call->memory[buffer->index] = calloc((size_t)count + 1, (size_t)size);
    fill(call->memory[buffer->index], buffer->dtype, count, random);
    if (!buffer->contiguous && buffer->rank && count) { /* the first axis backwards */
        call->data[buffer->index] = call->memory[buffer->index] + (shape[0] - 1) * size;
        strides[0] = -1;
    }
    return true;
}

static bool make_call(struct call *call, const struct ir_kernel *kernel, struct random *random)
{
    size_t buffers = (size_t)kernel->buffers.count + 1;

    call->dims = calloc((size_t)kernel->dims.count + 1, sizeof *call->dims);
    call->scalars = calloc((size_t)kernel->attributes.count + 1, sizeof *call->scalars);
    call->strides = calloc(buffers, sizeof *call->strides);
    call->memory = calloc(buffers, sizeof *call->memory);
    call->data = calloc(buffers, sizeof *call->data);
    choose_numbers(call, kernel, random);
    for (int k = 0; k < kernel->buffers.count; k++)
        if (!make_buffer(call, kernel->buffers.items[k], random))
            return false;
    call->frame = (struct jit_frame){.data = call->data,
                                     .dims = call->dims,
                                     .strides = (const int64_t *const *)call->strides,
                                     .scalars = call->scalars};
    return true;
}

/* ---- claims ------------------------------------------------------------------------------------- */

static void add_counts(const struct certify_counts *counts)
{
    total.calls += counts->calls;
    total.inside += counts->inside;
    total.refused += counts->refused;
    total.loads += counts->loads;
    total.outputs += counts->outputs;
    total.orders += counts->orders;
    total.witnesses += counts->witnesses;
    total.clashes += counts->clashes;
}

static void check_kernel(struct ir_kernel *kernel, const char *name, struct random *random)
{
    struct jit_sites sites = {.rows = {0}};
    struct certify certify;
    struct text message;
    jmp_buf escape;

    text_init(&message);
    if (setjmp(escape))
        abort();
    kernel->arena->escape = &escape;
    sites_number(kernel, &sites);
    CHECK(certify_begin(&certify, kernel));
    bool good = certify_witnesses(&certify, &message);
    for (int k = 0; k < CALLS && good; k++) {
        struct call call = {.dims = NULL};
        if (make_call(&call, kernel, random))
            good = certify_call(&certify, &call.frame, &message);
        call_free(&call, kernel->buffers.count);
    }
    if (!CHECK(good))
        fprintf(stderr, "    %s: %s\n", name, message.data ? message.data : "");
    add_counts(&certify.counts);
    certify_end(&certify);
    text_free(&message);
}

static bool check_source(const jit_source *source, struct random *random)
{
    akg_module *module = NULL;
    akg_status status = jit_compile(source, NULL, &module, NULL);

    for (int k = 0; status == AKG_OK && k < module->kernel_count; k++) {
        struct akg_kernel *kernel = &module->kernels[k];
        if (kernel->rank_open) /* there is none but of a call */
            continue;
        check_kernel((struct ir_kernel *)kernel->general_kernel, source->name, random);
        if (kernel->default_kernel != kernel->general_kernel)
            check_kernel((struct ir_kernel *)kernel->default_kernel, source->name, random);
    }
    akg_module_release(module);
    return status == AKG_OK;
}

static void check_files(const char *pattern, struct random *random)
{
    glob_t files;
    int compiled = 0;

    if (!CHECK(glob(pattern, 0, NULL, &files) == 0))
        return;
    for (size_t k = 0; k < files.gl_pathc; k++)
        compiled += check_source(&(jit_source){.name = files.gl_pathv[k]}, random);
    CHECK(compiled > 0);
    globfree(&files);
}

static void check_generated(int count, uint64_t seed, struct random *random)
{
    for (int k = 0; k < count; k++) {
        struct text text;
        char name[40];
        text_init(&text);
        generate_program(&text, seed + (uint64_t)k);
        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed + (unsigned long long)k);
        int failed = check_failed;
        check_source(&(jit_source){.name = name, .text = text.data, .length = text.length}, random);
        if (check_failed != failed)
            fprintf(stderr, "%s\n", text.data);
        text_free(&text);
    }
}

#ifdef AKG_SANITIZED
enum { USUAL = 25 /* sanitizers take their time */ };
#else
enum { USUAL = 100 };
#endif

int main(int argc, char **argv)
{
    struct random random = random_seeded(1, 9);
    int count = argc > 1 ? atoi(argv[1]) : USUAL;

    if (argc < 2) {
        check_files("tests/kernels/*.akg", &random);
    }
    check_generated(count, argc > 2 ? strtoull(argv[2], NULL, 10) : 1, &random);
    fprintf(
        stderr,
        "calls %ld: %ld ran, %ld refused; loads %ld, outputs %ld; orders %ld; witnesses %ld, clashes %ld\n",
        total.calls, total.inside, total.refused, total.loads, total.outputs, total.orders, total.witnesses,
        total.clashes);
    /* each kind of claim was put to the test */
    CHECK(total.inside > 100 && total.refused > 10 && total.loads > 100 && total.outputs > 100);
    CHECK(total.orders > 100 && total.witnesses > 10 && total.clashes > 10);
    return check_done();
}

/*
 * target_backend.c: a kernel made of the bytes (decode.h) through everything behind the front end: verifier,
 * text, analyses, C, libtcc; then a call of it, by libtcc's code and by the interpreter, which contradicts
 * what is wrong.
 */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../jit/analysis.h"
#include "../../jit/scalar.h"
#include "../unit/jit_pair.h"
#include "decode.h"
#include "random.h"

/* Aborts with the kernel. */
static void backend_complain(struct jit_pair *pair, const char *what, const char *detail)
{
    struct text text;

    text_init(&text);
    ir_print(&text, pair->kernel);
    fprintf(stderr, "%s: %s\n%s\n", what, detail, text.data ? text.data : "");
    for (int k = 0; k < pair->kernel->dims.count; k++)
        fprintf(stderr, "%s = %lld\n", pair->kernel->dims.items[k]->name, (long long)pair->dims[k]);
    for (int k = 0; k < pair->kernel->attributes.count; k++)
        fprintf(stderr, "%s = %lld\n", pair->kernel->attributes.items[k]->name,
                (long long)pair->scalars[k].i);
    abort();
}

static void backend_verify(struct jit_pair *pair, const char *stage)
{
    struct text complaint;

    text_init(&complaint);
    if (!ir_verify(pair->kernel, &complaint))
        backend_complain(pair, stage, complaint.data ? complaint.data : "");
    text_free(&complaint);
}

/* What is printed reads back, and prints the same. */
static void backend_print(struct jit_pair *pair)
{
    struct text first, second;
    struct ir_kernel *again;

    text_init(&first);
    text_init(&second);
    ir_print(&first, pair->kernel);
    if (!first.failed) {
        again = ir_read(&pair->arena, first.data, first.length, pair->diagnostics);
        if (!again)
            backend_complain(pair, "print", "does not read back");
        ir_print(&second, again);
        if (!second.failed && strcmp(first.data, second.data) != 0)
            backend_complain(pair, "print", second.data);
    }
    text_free(&first);
    text_free(&second);
}

/* ---- the call ------------------------------------------------------------------------------------ */

static union dtype_value backend_value(struct random *random, akg_dtype dtype)
{
    static const double odd[] = {__builtin_inf(), -__builtin_inf(), __builtin_nan(""), -0.0, 1e300, 65504};

    if (dtype_is_float(dtype) && random_chance(random, 8))
        return dtype_from_double(dtype, odd[random_below(random, 6)]);
    if (dtype_is_float(dtype))
        return dtype_from_double(dtype, random_below(random, 400) / 16.0 - 8);
    if (random_chance(random, 8))
        return (union dtype_value){.i = dtype_wrap(dtype, (int64_t)random_next(random))};
    return (union dtype_value){.i = dtype_wrap(dtype, random_below(random, 12) - 3)};
}

/* The same values on both sides; what the kernel makes, and does not have cleared, holds one pattern for
 * the code and another for the interpreter, or (`plain`) zeros. */
static void backend_fill(struct jit_pair *pair, uint64_t seed, bool plain)
{
    struct random random = random_seeded(seed, 9);

    for (int k = 0; k < pair->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = pair->kernel->buffers.items[k];
        int64_t count = (int64_t)pair->sizes[k] / dtype_table[buffer->dtype].size;
        if (buffer->role == IR_INPUT || buffer->role == IR_INOUT)
            for (int64_t at = 0; at < count; at++)
                pair_set(pair, k, at, backend_value(&random, buffer->dtype));
        else if (!plain)
            memset(pair->bytes[0][k] + PAIR_GUARD, buffer->dtype == AKG_BOOL ? 1 : 0x5a, pair->sizes[k]);
    }
}

/* The first precondition that does not hold, or NULL. */
static const struct ir_precondition *backend_refusal(const struct jit_pair *pair)
{
    const struct ir_kernel *kernel = pair->kernel;
    union dtype_value value;

    for (int k = 0; k < kernel->preconditions.count; k++) {
        const struct ir_precondition *row = &kernel->preconditions.items[k];
        if (row->guard && scalar_evaluate(row->guard, pair->dims, pair->scalars, &value) && !value.i)
            continue;
        if (!scalar_evaluate(row->condition, pair->dims, pair->scalars, &value) || !value.i)
            return row;
    }
    return NULL;
}

struct backend_site {
    int number;
    const struct ir_access *access;
    const struct ir_expr *division;
};

static bool backend_visit(struct ir_expr *expr, void *context)
{
    struct backend_site *site = context;

    if (expr->kind == IR_LOAD && expr->access.site == site->number)
        site->access = &expr->access;
    if (expr->kind == IR_OPERATION && expr->site == site->number)
        site->division = expr;
    return true;
}

static void backend_find(struct backend_site *site, struct ir_stmt *stmt)
{
    for (; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_STORE && stmt->access.site == site->number)
            site->access = &stmt->access;
        ir_stmt_expressions(stmt, backend_visit, site);
        backend_find(site, stmt->body);
        backend_find(site, stmt->otherwise);
    }
}

/* The interpreter stopped where the analyses had said that it cannot. */
static void backend_judge_trap(struct jit_pair *pair)
{
    const struct jit_trap *trap = &pair->traps[1];
    struct backend_site site = {.number = (int)trap->site};

    if (trap->site < 1)
        return;
    backend_find(&site, pair->kernel->body);
    if (site.division && !site.division->checked)
        backend_complain(pair, "a division that is not checked", "divides by zero");
    if (site.access && site.access->checks[trap->axis] != IR_CHECK_ELEMENT)
        backend_complain(pair, "an access that is said to be inside is not", site.access->buffer->name);
}

/* Calls that a precondition refuses would have stopped: only the interpreter may run them. */
static void backend_judge_refusal(struct jit_pair *pair, const struct ir_precondition *refusal)
{
    if (pair_run_side(pair, 1) == 0 && refusal->kind == IR_PRECONDITION_BOUNDS)
        backend_complain(pair, "a call is refused", "that nothing is wrong with");
}

static void backend_run(struct jit_pair *pair, uint64_t seed)
{
    const struct ir_precondition *refusal;
    int status = 0;

    if (!pair_allocate(pair))
        return; /* a shape that cannot be had */
    backend_fill(pair, seed, true);
    refusal = backend_refusal(pair);
    if (refusal) {
        backend_judge_refusal(pair, refusal);
        return;
    }
    bool same = pair_run(pair, &status);
    if (status)
        backend_judge_trap(pair);
    if (!same)
        backend_complain(pair, "libtcc's code and the interpreter", "differ");
    if (status || !pair_allocate(pair))
        return;
    backend_fill(pair, seed, false);
    if (!pair_run(pair, &status))
        backend_complain(pair, "the results hang on", "what fresh memory holds");
}

static void backend_all(struct jit_pair *pair, const uint8_t *data, size_t size)
{
    struct decoder decoder;
    uint64_t seed;

    pair->kernel = decode_kernel(&decoder, &pair->arena, data, size);
    backend_verify(pair, "decode");
    backend_print(pair);
    analysis_bounds(pair->kernel);
    analysis_initialisation(pair->kernel, pair->diagnostics);
    analysis_hints(pair->kernel, pair->diagnostics);
    backend_verify(pair, "the analyses");
    backend_print(pair);
    for (int k = 0; k < pair->kernel->dims.count; k++)
        pair->dims[k] = decode_pick(&decoder, 6);
    pair->scalars[0].i = decode_pick(&decoder, 5);
    pair->scalars[1].i = decode_pick(&decoder, 2);
    pair->scalars[2].d = decode_pick(&decoder, 9) / 4.0 - 1;
    seed = (uint64_t)decode_pick(&decoder, 256);
    if (!pair_compile(pair, false))
        backend_complain(pair, "emit", "or compile");
    backend_run(pair, seed);
}

int target_backend(const uint8_t *data, size_t size)
{
    struct jit_pair pair;

    pair_init(&pair);
    backend_all(&pair, data, size);
    pair_free(&pair);
    return 0;
}

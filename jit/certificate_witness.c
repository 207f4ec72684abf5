/*
 * certificate_witness.c: elements that are seen to be read before they are written, never written, or written
 * twice.
 *
 * Consumes a certificate whose verdicts are there. Runs the kernel in the interpreter for small extents, and
 * such as its constants suggest, and simple inputs, as long as something is left to be found and within a
 * bound of steps, and counts for each element of outputs and temporaries how often it was written.
 */
#include "certificate_trial.h"

#include "interpreter.h"

#include <string.h>

enum { STEPS_OF_CALL = 20000, STEPS_IN_ALL = 200000, LARGEST = 8, CONSTANTS = 6 };
enum { INSTEAD_OF_0 = 3 }; /* of attributes, where the kernel is for calls in which it is none */

struct witness_search {
    struct certificate *certificate;
    struct certificate_trial trial;
    unsigned char **writes;        /* by buffer->index, then place: 0, 1, or 2 for more; NULL: untracked */
    struct certificate_call *call; /* this one, used again until something is found in it */
    int64_t *dims;                 /* of it */
    union jit_scalar *scalars;
    bool kept; /* something was found: the call belongs to the certificate */
    int64_t steps;
};

/* ---- what is left to be found ---------------------------------------------- */

static bool wants_unwritten(const struct certificate_access *row)
{
    return row && row->tracked && !row->written && !row->unwritten.call;
}

static bool wants_twice(const struct certificate_buffer *row)
{
    return row->most != CERTIFICATE_ONCE && !row->twice.call;
}

static bool wants_missing(const struct certificate_buffer *row)
{
    return row->buffer->role == IR_OUTPUT && !row->complete && !row->missing.call;
}

static bool wants_more(const struct certificate *certificate)
{
    for (int k = 0; k < certificate->accesses.count; k++)
        if (wants_unwritten(&certificate->accesses.items[k]))
            return true;
    for (int k = 0; k < certificate->buffers.count; k++)
        if (wants_twice(&certificate->buffers.items[k]) || wants_missing(&certificate->buffers.items[k]))
            return true;
    return false;
}

/* ---- what is seen ------------------------------------------------------------ */

/* Runs within the interpreter, which holds memory: nothing here may run out of it and leap. */
static void keep(struct witness_search *search, struct certificate_witness *witness, const int64_t *index,
                 int rank)
{
    search->kept = true;
    witness->call = search->call;
    for (int k = 0; k < rank; k++)
        witness->index[k] = index[k];
}

static void see_access(void *context, const struct ir_access *access, const int64_t *indices, bool store)
{
    struct witness_search *search = context;
    const struct ir_buffer *buffer = access->buffer;
    unsigned char *writes = search->writes[buffer->index];

    if (!writes)
        return;
    writes += certificate_trial_place(&search->trial, buffer, indices);
    if (store) {
        struct certificate_buffer *row = certificate_buffer_of(search->certificate, buffer);
        if (*writes < 2 && ++*writes == 2 && wants_twice(row))
            keep(search, &row->twice, indices, buffer->rank);
    } else if (!*writes) {
        struct certificate_access *row = certificate_access_of(search->certificate, access);
        if (wants_unwritten(row))
            keep(search, &row->unwritten, indices, buffer->rank);
    }
}

static void see_allocation(void *context, const struct ir_buffer *buffer)
{
    struct witness_search *search = context;

    memset(search->writes[buffer->index], 0, (size_t)search->trial.counts[buffer->index]);
}

/* After a call that came to its end. */
static void see_outputs(struct witness_search *search)
{
    struct certificate *certificate = search->certificate;

    for (int k = 0; k < certificate->buffers.count; k++) {
        struct certificate_buffer *row = &certificate->buffers.items[k];
        int number = row->buffer->index, rank = row->buffer->rank;
        int64_t index[AKG_MAX_RANK], place = 0;
        while (place < search->trial.counts[number] && search->writes[number][place])
            place++;
        if (!wants_missing(row) || place == search->trial.counts[number])
            continue;
        for (int axis = rank - 1; axis >= 0; axis--) {
            index[axis] = place % search->trial.shape[number][axis];
            place /= search->trial.shape[number][axis];
        }
        keep(search, &row->missing, index, rank);
    }
}

/* ---- calls ------------------------------------------------------------------- */

static void run_call(struct witness_search *search, struct arena *arena)
{
    const struct ir_kernel *kernel = search->certificate->kernel;
    struct interpreter_watch watch = {.context = search,
                                      .access = see_access,
                                      .allocate = see_allocation,
                                      .limited = true,
                                      .steps = STEPS_OF_CALL};

    if (!certificate_trial_make(&search->trial, arena, kernel, search->call))
        return;
    for (int k = 0; k < kernel->buffers.count; k++) {
        enum ir_role role = kernel->buffers.items[k]->role;
        search->writes[k] = NULL;
        if (role == IR_OUTPUT || role == IR_TEMPORARY)
            search->writes[k] = arena_allocate(arena, (size_t)search->trial.counts[k]);
    }
    bool stopped = interpreter_run_watched(kernel, &search->trial.frame, &watch) != 0;
    if (stopped && search->trial.trap.site == 0 && !watch.exhausted) /* memory ran out */
        longjmp(*arena->escape, 1);
    search->steps -= STEPS_OF_CALL - watch.steps;
    if (!stopped)
        see_outputs(search);
}

static void make_call(struct witness_search *search)
{
    const struct ir_kernel *kernel = search->certificate->kernel;

    search->call = arena_new(kernel->arena, struct certificate_call);
    search->call->dims = search->dims = arena_array(kernel->arena, int64_t, kernel->dims.count);
    search->call->scalars = search->scalars =
        arena_array(kernel->arena, union jit_scalar, kernel->attributes.count);
    search->kept = false;
}

static void set_call(struct witness_search *search, int64_t size, int64_t growth, int64_t attribute,
                     enum certificate_fill fill)
{
    const struct ir_kernel *kernel = search->certificate->kernel;

    if (!search->call || search->kept)
        make_call(search);
    search->call->fill = fill;
    for (int k = 0; k < kernel->dims.count; k++)
        search->dims[k] = size + k * growth;
    for (int k = 0; k < kernel->attributes.count; k++) {
        const struct ir_symbol *symbol = kernel->attributes.items[k];
        int64_t integer = ir_known_holds(symbol->known, attribute) ? attribute : INSTEAD_OF_0;
        search->scalars[k] = symbol->dtype == AKG_FLOAT64 ? (union jit_scalar){.d = (double)attribute}
                             : symbol->dtype == AKG_BOOL  ? (union jit_scalar){.i = attribute != 0}
                                                          : (union jit_scalar){.i = integer};
    }
}

/* Whether something is left to be found, and may be looked for. */
static bool goes_on(const struct witness_search *search)
{
    return search->steps > 0 && wants_more(search->certificate);
}

static void run_small_calls(struct witness_search *search, struct arena *arena)
{
    static const int64_t sizes[] = {3, 4, 2, 5, 1, LARGEST}, attributes[] = {1, 2, 0};
    const struct ir_kernel *kernel = search->certificate->kernel;

    for (int fill = 0; fill < CERTIFICATE_FILLS; fill++)
        for (int a = 0; a < (kernel->attributes.count ? 3 : 1); a++)
            for (int growth = 0; growth < (kernel->dims.count > 1 ? 2 : 1); growth++)
                for (int s = 0; s < 6; s++) {
                    if (!goes_on(search))
                        return;
                    set_call(search, sizes[s], growth, attributes[a], (enum certificate_fill)fill);
                    run_call(search, arena);
                }
}

struct constants {
    int64_t items[CONSTANTS];
    int count;
};

static bool visit_constant(struct ir_expr *expr, void *context)
{
    struct constants *constants = context;

    if (expr->kind != IR_INTEGER || expr->integer < LARGEST || expr->integer > INT16_MAX)
        return true;
    for (int k = 0; k < constants->count; k++)
        if (constants->items[k] == expr->integer)
            return true;
    if (constants->count < CONSTANTS)
        constants->items[constants->count++] = expr->integer;
    return true;
}

/* What a program does otherwise from some number on shows where extents go just beyond it, or beyond the
 * double. */
static void run_larger_calls(struct witness_search *search, struct arena *arena)
{
    struct constants constants = {.count = 0};

    ir_block_expressions(search->certificate->kernel->body, visit_constant, &constants);
    for (int times = 1; times <= 2; times++)
        for (int k = 0; k < constants.count && goes_on(search); k++) {
            set_call(search, times * constants.items[k] + 1, 0, 1, CERTIFICATE_ZEROS);
            run_call(search, arena);
        }
}

void certificate_find_witnesses(struct certificate *certificate)
{
    struct ir_kernel *kernel = certificate->kernel;
    jmp_buf escape, *outer = kernel->arena->escape;
    struct witness_search *search = arena_new(kernel->arena, struct witness_search);
    struct arena scratch;

    search->certificate = certificate;
    arena_init(&scratch, &escape);
    if (setjmp(escape)) {
        arena_free(&scratch);
        kernel->arena->escape = outer;
        longjmp(*outer, 1);
    }
    kernel->arena->escape = &escape;
    search->steps = STEPS_IN_ALL;
    search->writes = arena_array(&scratch, unsigned char *, kernel->buffers.count);
    run_small_calls(search, &scratch);
    if (kernel->dims.count)
        run_larger_calls(search, &scratch);
    kernel->arena->escape = outer;
    arena_free(&scratch);
}

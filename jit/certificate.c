/*
 * certificate.c: collects what the analyses found, and asks them for reasons. See certificate.h.
 */
#include "certificate.h"

enum { CLASHES = 32 }; /* looked for in one kernel */

struct certificate_access *certificate_access_of(struct certificate *certificate,
                                                 const struct ir_access *access)
{
    int row = certificate->by_site[access->site] - 1;

    if (access->site && row >= 0)
        return &certificate->accesses.items[row];
    for (int k = 0; k < certificate->accesses.count && !access->site; k++)
        if (certificate->accesses.items[k].access == access)
            return &certificate->accesses.items[k];
    return NULL;
}

static void index_sites(struct certificate *certificate)
{
    int sites = 0;

    for (int k = 0; k < certificate->accesses.count; k++)
        if (certificate->accesses.items[k].access->site > sites)
            sites = certificate->accesses.items[k].access->site;
    certificate->by_site = arena_array(certificate->kernel->arena, int, sites + 1);
    for (int k = 0; k < certificate->accesses.count; k++)
        certificate->by_site[certificate->accesses.items[k].access->site] = k + 1;
}

struct certificate_buffer *certificate_buffer_of(struct certificate *certificate,
                                                 const struct ir_buffer *buffer)
{
    for (int k = 0; k < certificate->buffers.count; k++)
        if (certificate->buffers.items[k].buffer == buffer)
            return &certificate->buffers.items[k];
    return NULL;
}

/* ---- initialisation -------------------------------------------------------- */

/* The innermost loop around a store; -1: it is not among the accesses of dependences. */
static int loop_of_store(const struct dependences *dependences, const struct ir_access *access)
{
    for (int k = 0; k < dependences->accesses.count; k++)
        if (dependences->accesses.items[k].access == access)
            return dependences->accesses.items[k].loop;
    return -1;
}

/* Whether no element is written twice: no output dependence, which is looked for where loops are shared, and
 * nothing in common elsewhere. */
static bool is_written_once(const struct certificate *certificate, const struct certificate_buffer *written)
{
    const struct dependences *dependences = certificate->dependences;
    const struct ir_buffer *buffer = written->buffer;

    for (int k = 0; k < certificate->accesses.count; k++) {
        const struct certificate_access *row = &certificate->accesses.items[k];
        if (row->load || row->access->buffer != buffer)
            continue;
        int loop = loop_of_store(dependences, row->access);
        if (loop < 0 ? row->depth > 0 /* there were too many */ : dependences->loops.items[loop].incomplete)
            return false;
    }
    for (int k = 0; k < dependences->items.count; k++) {
        const struct dependence *item = &dependences->items.items[k];
        if (item->kind == DEPENDENCE_OUTPUT &&
            dependences->accesses.items[item->source].access->buffer == buffer)
            return false;
    }
    return written->nests_apart;
}

static void add_buffers(struct certificate *certificate, const struct analysis_gaps *gaps)
{
    struct ir_kernel *kernel = certificate->kernel;

    for (int k = 0; k < kernel->buffers.count; k++) {
        struct ir_buffer *buffer = kernel->buffers.items[k];
        struct certificate_buffer row = {
            .buffer = buffer, .gap = &gaps->buffers[k], .complete = gaps->buffers[k].complete};
        if (buffer->role != IR_OUTPUT && buffer->role != IR_TEMPORARY)
            continue;
        list_push(kernel->arena, &certificate->buffers, row);
    }
    certificate_find_nests_apart(certificate);
    for (int k = 0; k < certificate->buffers.count; k++) {
        struct certificate_buffer *row = &certificate->buffers.items[k];
        row->most = is_written_once(certificate, row) ? CERTIFICATE_ONCE : CERTIFICATE_UNDECIDED;
    }
}

static void mark_loads(struct certificate *certificate, const struct analysis_gaps *gaps)
{
    for (int k = 0; k < certificate->accesses.count; k++) {
        struct certificate_access *row = &certificate->accesses.items[k];
        row->tracked = row->load && certificate_buffer_of(certificate, row->access->buffer);
        row->written = row->tracked;
    }
    for (int k = 0; k < gaps->loads.count; k++) {
        struct certificate_access *row = certificate_access_of(certificate, &gaps->loads.items[k]->access);
        if (row)
            row->written = false;
    }
}

/* ---- loops -------------------------------------------------------------------- */

static const struct certificate_call *call_of(struct ir_kernel *kernel, const struct witness_call *seen)
{
    struct certificate_call *call = arena_new(kernel->arena, struct certificate_call);
    union jit_scalar *scalars = arena_array(kernel->arena, union jit_scalar, kernel->attributes.count);

    for (int k = 0; k < kernel->attributes.count; k++)
        if (!dtype_is_float(kernel->attributes.items[k]->dtype))
            scalars[k].i = seen->attributes[k];
    *call = (struct certificate_call){seen->dims, scalars, CERTIFICATE_ZEROS};
    return call;
}

static void find_clash(struct certificate *certificate, struct certificate_loop *loop, int *left)
{
    const struct dependence_loop *row = loop->row;
    const struct ir_symbol *scalar = NULL;
    const struct dependence *item = NULL;
    struct witness_call worth, seen;

    if (row->stmt->kind != IR_FOR || (row->dependence < 0 && row->scalar < 0) || (*left)-- <= 0)
        return;
    if (row->dependence < 0)
        scalar = certificate->dependences->scalars.items[row->scalar].symbol;
    else
        item = &certificate->dependences->items.items[row->dependence];
    if (item)
        worth = (struct witness_call){item->dims, item->attributes};
    loop->clashes = witness_find(certificate->kernel, row->stmt, scalar, item && item->dims ? &worth : NULL,
                                 loop->uses, &seen);
    if (!loop->clashes)
        return;
    loop->call = call_of(certificate->kernel, &seen);
    loop->verdict = DEPENDENCE_SERIAL;
}

static void add_loops(struct certificate *certificate)
{
    int left = CLASHES;

    for (int k = 0; k < certificate->dependences->loops.count; k++) {
        const struct dependence_loop *row = &certificate->dependences->loops.items[k];
        struct certificate_loop loop = {.row = row, .verdict = row->verdict};
        find_clash(certificate, &loop, &left);
        list_push(certificate->kernel->arena, &certificate->loops, loop);
    }
}

struct certificate *certificate_make(struct ir_kernel *kernel, bool reasons)
{
    struct certificate *certificate = arena_new(kernel->arena, struct certificate);

    certificate->kernel = kernel;
    certificate->dependences = dependence_analyse(kernel, NULL);
    certificate_find_bounds(certificate, reasons);
    index_sites(certificate);
    const struct analysis_gaps *gaps = analysis_initialisation_gaps(kernel);
    add_buffers(certificate, gaps);
    mark_loads(certificate, gaps);
    certificate_find_witnesses(certificate);
    for (int k = 0; k < certificate->buffers.count; k++)
        if (certificate->buffers.items[k].twice.call)
            certificate->buffers.items[k].most = CERTIFICATE_SEVERAL;
    add_loops(certificate);
    return certificate;
}

/*
 * certificate_writes.c: stores that write different elements though no loop is around both.
 *
 * Dependences are of accesses that share a loop. Of two stores that do not, each in a nest of its own or in
 * none, the prover is asked with what holds at both: what changes in loops has a name of its own in each.
 */
#include "certificate.h"

#include "context.h"

#include <string.h>

enum { STORES = 16, FACTS = 48 };

struct store {
    const struct ir_access *access;
    const struct ir_stmt *nest; /* the outermost loop; NULL: there is none */
    struct linear *indices;
    struct prover_fact *facts; /* but for those of preconditions */
    int fact_count;
};

struct writes_walk {
    struct certificate *certificate;
    LIST(struct store) stores;
};

static void visit_access(struct context *context, struct ir_access *access, struct ir_expr *load)
{
    struct writes_walk *walk = context->client;
    int base = context->base_facts, rank = access->buffer->rank;
    struct store store = {.access = access,
                          .nest = context->loops.count ? context->loops.items[0].stmt : NULL,
                          .fact_count = context->prover.facts.count - base};

    if (load || !certificate_buffer_of(walk->certificate, access->buffer))
        return;
    if (store.fact_count > FACTS) /* fewer prove less */
        store.fact_count = FACTS;
    store.indices = arena_array(context->arena, struct linear, rank);
    for (int axis = 0; axis < rank; axis++)
        context_value(context, access->indices[axis], &store.indices[axis]);
    store.facts = arena_array(context->arena, struct prover_fact, store.fact_count);
    if (store.fact_count)
        memcpy(store.facts, context->prover.facts.items + base,
               sizeof *store.facts * (size_t)store.fact_count);
    list_push(context->arena, &walk->stores, store);
}

static void assume(struct context *context, const struct store *store)
{
    for (int k = 0; k < store->fact_count; k++)
        prover_add(&context->prover, &store->facts[k].form, store->facts[k].assumed);
}

/* a - b >= 0 and, where `both`, b - a >= 0 */
static bool assume_order(struct context *context, const struct linear *a, const struct linear *b, bool both)
{
    struct linear form;

    if (!linear_add(&form, a, -1, b))
        return false;
    prover_add(&context->prover, &form, false);
    return !both || assume_order(context, b, a, false);
}

/* The form is never 0, since all its coefficients have a divisor that the constant has not. */
static bool is_never_zero(const struct linear *form)
{
    uint64_t divisor = 0;

    for (int k = 0; k < form->count; k++) {
        int64_t coefficient = form->terms[k].coefficient;
        uint64_t rest = coefficient < 0 ? 0 - (uint64_t)coefficient : (uint64_t)coefficient;
        while (rest) {
            uint64_t next = divisor % rest;
            divisor = rest;
            rest = next;
        }
    }
    uint64_t constant = form->constant < 0 ? 0 - (uint64_t)form->constant : (uint64_t)form->constant;
    return divisor ? constant % divisor != 0 : constant != 0;
}

/* With all other indices equal, those of this axis are not. */
static bool differ_on(struct context *context, const struct store *a, const struct store *b, int axis)
{
    int facts = context->prover.facts.count;
    struct linear difference;
    bool differ = true;

    if (!linear_add(&difference, &a->indices[axis], -1, &b->indices[axis]))
        return false;
    if (is_never_zero(&difference))
        return true;
    for (int k = 0; k < a->access->buffer->rank && differ; k++)
        differ = assume_order(context, &a->indices[k], &b->indices[k], k != axis);
    differ =
        differ && linear_shift(&difference, &difference, -1) && prover_prove(&context->prover, &difference);
    context->prover.facts.count = facts;
    return differ;
}

static bool are_apart(struct context *context, const struct store *a, const struct store *b)
{
    int facts = context->prover.facts.count;
    bool apart = false;

    assume(context, a);
    assume(context, b);
    for (int axis = 0; axis < a->access->buffer->rank && !apart; axis++)
        apart = differ_on(context, a, b, axis);
    context->prover.facts.count = facts;
    return apart;
}

static void finish(struct context *context)
{
    struct writes_walk *walk = context->client;
    int count = walk->stores.count;

    for (int b = 0; b < count; b++) {
        const struct store *second = &walk->stores.items[b];
        struct certificate_buffer *row = certificate_buffer_of(walk->certificate, second->access->buffer);
        for (int a = 0; a < b && row->nests_apart; a++) {
            const struct store *first = &walk->stores.items[a];
            if (first->access->buffer == second->access->buffer &&
                (!first->nest || first->nest != second->nest))
                row->nests_apart = count <= STORES && are_apart(context, first, second);
        }
    }
}

void certificate_find_nests_apart(struct certificate *certificate)
{
    static const struct context_visitor visitor = {.access = visit_access, .finish = finish};
    struct writes_walk walk = {.certificate = certificate};

    for (int k = 0; k < certificate->buffers.count; k++)
        certificate->buffers.items[k].nests_apart = true;
    context_run(certificate->kernel, &visitor, &walk);
}

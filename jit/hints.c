/*
 * hints.c: whether the iterations of loops that are to be run in any order depend on each other.
 *
 * Consumes a kernel whose bounds are analysed. For a parallel or vectorize loop, every store inside and every
 * access to the same buffer are taken in two different iterations: the facts of both places, the second with
 * fresh names for what changes in the loop, and equal indices must contradict each other. Scalars from
 * outside that the loop assigns are conflicts unless each iteration sets them first, or the loop is a
 * reduction. Where there is no proof, a warning is given only with two iterations that were seen to clash
 * (hints_witness.c); with neither, nothing is said.
 */
#include "analysis.h"
#include "context.h"
#include "hints_witness.h"

#include <string.h>

enum { RANK = 8, USES = 96, FACTS = 64, PAIRS = 96, DECLARED = 256 };

/* An access in a hinted loop. */
struct use {
    struct ir_buffer *buffer;
    bool store;
    int base; /* number of the first of its facts on the stack */
    int fact_count;
    struct linear *indices;
    struct linear *facts;
};

struct scalar_use {
    struct ir_symbol *symbol;
    struct span span;
    int depth;                        /* DECLARED: loops around */
    bool declared, assigned, settled; /* settled: assigned in every iteration, before any condition */
};

struct hinted_loop {
    struct ir_stmt *stmt;
    int depth, first_use, first_scalar;
    bool overflow; /* not all uses were kept */
};

struct suspicion {
    struct ir_stmt *stmt;
    struct ir_symbol *scalar; /* or NULL: search for a witness */
    struct span span;
};

struct hints {
    LIST(struct hinted_loop) loops;
    LIST(struct use) uses;
    LIST(struct scalar_use) scalars;
    LIST(struct suspicion) suspicions; /* in the kernel's arena */
    int *allocated;                    /* by buffer->index: loops around its allocation */
};

static bool is_hinted(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_FOR && (stmt->hint & (IR_HINT_PARALLEL | IR_HINT_VECTORIZE));
}

/* ---- collecting ---------------------------------------------------------- */

static void visit_access(struct context *context, struct ir_access *access, struct ir_expr *load)
{
    struct hints *hints = context->client;
    int rank = access->buffer->rank;

    if (!hints->loops.count || access->buffer->role == IR_INPUT)
        return;
    int base = context->loops.items[hints->loops.items[0].depth].facts;
    int facts = context->prover.facts.count - base;
    if (hints->uses.count >= USES || rank > RANK || facts > FACTS) {
        for (int k = 0; k < hints->loops.count; k++)
            hints->loops.items[k].overflow = true;
        return;
    }
    struct use use = {.buffer = access->buffer, .store = !load, .base = base, .fact_count = facts};
    use.indices = arena_array(context->arena, struct linear, rank);
    for (int k = 0; k < rank; k++)
        context_form(context, access->indices[k], &use.indices[k]);
    use.facts = arena_array(context->arena, struct linear, facts);
    for (int k = 0; k < facts; k++)
        use.facts[k] = context->prover.facts.items[base + k].form;
    list_push(context->arena, &hints->uses, use);
}

static void visit_scalar(struct context *context, struct ir_symbol *symbol, struct span span, bool assigned)
{
    struct hints *hints = context->client;
    bool declared = context->stmt->kind == IR_VARIABLE && context->stmt->symbol == symbol;

    if (!hints->loops.count || hints->scalars.count >= DECLARED)
        return;
    const struct context_loop *loop = &context->loops.items[context->loops.count - 1];
    struct scalar_use use = {.symbol = symbol,
                             .span = span.line ? span : context->stmt->span,
                             .depth = context->loops.count,
                             .declared = declared,
                             .assigned = assigned,
                             .settled =
                                 assigned && context->conditions.count == loop->conditions && !loop->skipped};
    list_push(context->arena, &hints->scalars, use);
}

/* ---- testing ------------------------------------------------------------- */

/* Fresh names for what changes in a loop; `names` by number of the atom. */
struct renaming {
    struct context *context;
    int first_atom, count;
    int *names;
};

static bool rename_atom(void *context_pointer, int number, struct linear *out)
{
    struct renaming *renaming = context_pointer;
    struct linear_space *space = &renaming->context->space;
    struct linear_atom atom = *linear_atom_at(space, number);
    int place = number - renaming->first_atom;

    if (place < 0 || place >= renaming->count || atom.parameter ||
        (atom.kind != LINEAR_LOOP && atom.kind != LINEAR_OPAQUE))
        return false;
    if (!renaming->names[place])
        renaming->names[place] = linear_new_opaque(space, atom.low, atom.high) + 1;
    linear_of_atom(space, renaming->names[place] - 1, out);
    return true;
}

static void add_both(struct prover *prover, const struct linear *zero)
{
    struct linear negative;

    prover_add(prover, zero, false);
    if (linear_scale(&negative, zero, -1))
        prover_add(prover, &negative, false);
}

/* With the facts of both, and equal elements, on the stack: can the second iteration be later, or earlier? */
static bool test_pair(struct renaming *renaming, const struct context_loop *loop, const struct use *a,
                      const struct use *b)
{
    struct context *context = renaming->context;
    struct prover *prover = &context->prover;
    struct linear form, here, there;

    for (int k = loop->facts - a->base; k < a->fact_count; k++)
        prover_add(prover, &a->facts[k], false);
    for (int k = loop->facts - b->base; k < b->fact_count; k++)
        if (linear_map(&context->space, &b->facts[k], rename_atom, renaming, &form))
            prover_add(prover, &form, false);
    for (int k = 0; k < a->buffer->rank; k++)
        if (linear_map(&context->space, &b->indices[k], rename_atom, renaming, &form) &&
            linear_add(&form, &form, -1, &a->indices[k]))
            add_both(prover, &form);
    linear_of_atom(&context->space, loop->atom, &here);
    rename_atom(renaming, loop->atom, &there);
    return prover_less(prover, &here, 0, &there) && prover_less(prover, &there, 0, &here);
}

static bool is_independent(struct context *context, const struct context_loop *loop,
                           const struct hinted_loop *hinted)
{
    const struct hints *hints = context->client;
    int first_use = hinted->first_use;
    struct prover *prover = &context->prover;
    struct renaming renaming = {.context = context,
                                .first_atom = loop->first_atom,
                                .count = context->space.atoms.count - loop->first_atom};
    int facts = prover->facts.count, pairs = 0;
    bool independent = true;

    renaming.names = arena_array(context->arena, int, renaming.count);
    for (int a = first_use; a < hints->uses.count && independent; a++) {
        const struct use *store = &hints->uses.items[a];
        bool private =
            hints->allocated[store->buffer->index] > hinted->depth; /* another one in each iteration */
        for (int b = first_use; store->store && !private && b < hints->uses.count && independent; b++) {
            const struct use *other = &hints->uses.items[b];
            if (other->buffer != store->buffer || (other->store && b < a))
                continue;
            prover->facts.count = loop->facts;
            independent = ++pairs <= PAIRS && test_pair(&renaming, loop, store, other);
        }
    }
    prover->facts.count = facts;
    return independent;
}

/* A scalar from outside that carries a value from one iteration to another. */
static const struct scalar_use *find_carried(const struct hints *hints, const struct hinted_loop *hinted)
{
    for (int k = hinted->first_scalar; k < hints->scalars.count; k++) {
        const struct scalar_use *use = &hints->scalars.items[k], *first = use;
        if (!use->assigned)
            continue;
        for (int earlier = hinted->first_scalar; earlier < k; earlier++) {
            if (hints->scalars.items[earlier].symbol == use->symbol) {
                first = &hints->scalars.items[earlier];
                break;
            }
        }
        if (!first->declared && !(first->settled && first->depth == hinted->depth + 1))
            return use;
    }
    return NULL;
}

static void test_loop(struct context *context, const struct hinted_loop *hinted)
{
    struct hints *hints = context->client;
    struct context_loop loop = context->loops.items[hinted->depth];
    const struct scalar_use *carried = find_carried(hints, hinted);
    struct suspicion suspicion = {.stmt = hinted->stmt};

    if (carried && !(hinted->stmt->hint & IR_HINT_REDUCE)) {
        suspicion.scalar = carried->symbol;
        suspicion.span = carried->span;
    } else if (!hinted->overflow && is_independent(context, &loop, hinted)) {
        return;
    }
    list_push(context->kernel->arena, &hints->suspicions, suspicion);
}

static void visit_loop(struct context *context, struct ir_stmt *stmt, enum context_event event)
{
    struct hints *hints = context->client;

    if (!is_hinted(stmt))
        return;
    if (event == CONTEXT_BEGIN) {
        struct hinted_loop hinted = {.stmt = stmt,
                                     .depth = context->loops.count - 1,
                                     .first_use = hints->uses.count,
                                     .first_scalar = hints->scalars.count};
        list_push(context->arena, &hints->loops, hinted);
        return;
    }
    struct hinted_loop hinted = hints->loops.items[--hints->loops.count];
    test_loop(context, &hinted);
    if (!hints->loops.count)
        hints->uses.count = hints->scalars.count = 0;
}

static void visit_allocate(struct context *context, struct ir_stmt *stmt)
{
    struct hints *hints = context->client;
    hints->allocated[stmt->access.buffer->index] = context->loops.count;
}

/* ---- reporting ----------------------------------------------------------- */

static const char *element_name(struct ir_kernel *kernel, const struct witness_use *use)
{
    const char *name = use->buffer->name;

    for (int k = 0; k < use->buffer->rank; k++)
        name = arena_format(kernel->arena, "%s%s%lld", name, k ? ", " : "[", (long long)use->index[k]);
    return arena_format(kernel->arena, "%s%s", name, use->buffer->rank ? "]" : "");
}

static const char *use_text(struct ir_kernel *kernel, const struct witness_use *use)
{
    return arena_format(kernel->arena, "%s at %d:%d", use->store ? "writes" : "reads", use->span.line,
                        use->span.column);
}

static const char *label_of(const struct ir_symbol *symbol)
{
    return symbol->label ? symbol->label : symbol->name;
}

static void note_scalar(const struct suspicion *suspicion, bool found, const struct witness_use uses[2],
                        struct diagnostic_entry *entry)
{
    const char *variable = label_of(suspicion->stmt->symbol), *scalar = label_of(suspicion->scalar);
    int line = suspicion->span.line, column = suspicion->span.column;

    if (found)
        diagnostic_note(
            entry, "note: iterations %s = %lld and %s = %lld both use the scalar '%s' (assigned at %d:%d)",
            variable, (long long)uses[0].iteration, variable, (long long)uses[1].iteration, scalar, line,
            column);
    else
        diagnostic_note(entry,
                        "note: every two iterations of '%s' both use the scalar '%s' (assigned at %d:%d)",
                        variable, scalar, line, column);
}

static void note_element(struct ir_kernel *kernel, const struct suspicion *suspicion,
                         const struct witness_use uses[2], struct diagnostic_entry *entry)
{
    const char *variable = label_of(suspicion->stmt->symbol), *first = use_text(kernel, &uses[0]),
               *second = use_text(kernel, &uses[1]);
    bool same = strcmp(first, second) == 0;

    diagnostic_note(entry, "note: iterations %s = %lld and %s = %lld both use %s (%s%s%s)", variable,
                    (long long)uses[0].iteration, variable, (long long)uses[1].iteration,
                    element_name(kernel, &uses[0]), first, same ? "" : ", ", same ? "" : second);
}

static void report(struct ir_kernel *kernel, const struct suspicion *suspicion, akg_diagnostics *diagnostics)
{
    const struct ir_stmt *stmt = suspicion->stmt;
    const char *hint = stmt->hint & IR_HINT_PARALLEL ? "parallel" : "vectorize";
    struct witness_use uses[2];
    bool found = witness_find(kernel, stmt, suspicion->scalar, uses);

    if (!found && !suspicion->scalar)
        return;
    struct diagnostic_entry *entry = diagnostic_add(diagnostics, MSG_HINT_CONFLICT, stmt->span, hint);
    if (suspicion->scalar)
        note_scalar(suspicion, found, uses, entry);
    else
        note_element(kernel, suspicion, uses, entry);
}

static bool has_hint(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (is_hinted(stmt) || has_hint(stmt->body) || has_hint(stmt->otherwise))
            return true;
    return false;
}

static void begin(struct context *context)
{
    struct hints *hints = context->client;
    hints->allocated = arena_array(context->arena, int, context->kernel->buffers.count);
}

void analysis_hints(struct ir_kernel *kernel, akg_diagnostics *diagnostics)
{
    static const struct context_visitor visitor = {.begin = begin,
                                                   .access = visit_access,
                                                   .loop = visit_loop,
                                                   .scalar = visit_scalar,
                                                   .allocate = visit_allocate};
    struct hints hints = {.loops = {0}};

    if (!has_hint(kernel->body))
        return;
    context_run(kernel, &visitor, &hints);
    for (int k = 0; k < hints.suspicions.count; k++)
        report(kernel, &hints.suspicions.items[k], diagnostics);
}

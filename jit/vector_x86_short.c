/*
 * vector_x86_short.c: a part of a band whose iterations fit one vector, as of the rows of a softmax over ten
 * classes.
 *
 * Consumes such a loop; appends one vector's worth of iterations under the mask of those that there are,
 * without a loop and, but for one of a divisor (vector_x86_divide.c), without a test, so that the processor
 * goes on to the next rows while one is still computed. Partial results but the first hold what leaves the
 * others as they are: without them the result is the same to the bit. For AVX-512 alone: masks cost AVX2 more
 * than they save.
 *
 * Where half a vector is enough, half of one it is: less is put together at its end, and what a mask leaves
 * out of a store is less for loads behind it to wait for. Where one is not enough, but a few are, it is
 * these, of which all but the first have a mask, if no part loads what another has stored.
 */
#include "pass.h"
#include "vector_x86_loop.h"
#include "vector_x86_operation.h"

/* Whether the slot holds the same in all iterations of the band, known before the first one. */
static bool is_settled(const struct vector_loop *band, int slot)
{
    for (int k = 0; k < band->band->moving.count; k++)
        if (band->band->moving.items[k].slot == slot)
            return false;
    return band->arguments.items[slot].kind == VECTOR_ARGUMENT_COUNT;
}

bool machine_may_be_short(const struct vector_loop *band, const struct vector_loop *part)
{
    if (part->is_serial || part->nest || part->calls || part->choices.count || part->late.count ||
        part->is_even || part->at_least || !is_settled(band, part->count))
        return false;
    for (int k = 0; k < part->accumulators.count; k++)
        if (part->accumulators.items[k].role != VECTOR_REDUCED)
            return false;
    return !machine_lies_apart(part);
}

int machine_short_lanes(int bits, const struct vector_loop *part)
{
    return bits / (part->wide ? 64 : 32);
}

/* ---- what parts share ---------------------------------------------------------------------------- */

static bool stays(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD && (expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_VARIABLE);
}

static bool is_same_range(const struct ir_stmt *one, const struct ir_stmt *other)
{
    return one->step == other->step && ir_expr_equal(one->low, other->low) &&
           ir_expr_equal(one->high, other->high) && ir_expr_walk(one->low, stays, NULL) &&
           ir_expr_walk(one->high, stays, NULL);
}

/* Whether both slots of the band hold as many iterations. */
static bool is_same_count(const struct vector_loop *band, int one, int other)
{
    const struct vector_argument *arguments = band->arguments.items;
    return one == other || is_same_range(arguments[one].loop, arguments[other].loop);
}

/* The register of a constant, or -1: there are none left. */
static int register_of_constant(struct machine *machine, const struct machine_kept *kept)
{
    struct machine_shared *shared = machine->shared;
    int next = MACHINE_VECTORS - 1;
    for (int k = 0; k < shared->constants.count; k++, next--)
        if (shared->constants.items[k].type == kept->type && shared->constants.items[k].bits == kept->bits)
            return next;
    if (next < machine_vectors(machine) + (machine->short_count > 1 ? 0 : MACHINE_PASSED))
        return -1;
    list_push(machine->arena, &shared->constants, *kept);
    return next;
}

/* That of the mask of the lanes that a vector of the part has; likewise. */
static int register_of_tail(struct machine *machine, int vector)
{
    struct machine_shared *shared = machine->shared;
    struct machine_count wanted = {machine->loop->count, vector * machine->lanes};
    int next = MACHINE_MASKS - 1;
    for (int k = 0; k < shared->counts.count; k++, next--)
        if (shared->counts.items[k].before == wanted.before &&
            is_same_count(shared->band, shared->counts.items[k].slot, wanted.slot))
            return next;
    if (next < MACHINE_OWN_MASKS)
        return -1;
    list_push(machine->arena, &shared->counts, wanted);
    return next;
}

static void share(struct machine *machine)
{
    for (int k = 0; machine->shared && k < machine->kept.count; k++) {
        struct machine_kept *kept = &machine->kept.items[k];
        int reg = kept->kind == KEPT_CONSTANT && kept->type != VECTOR_MASK
                      ? register_of_constant(machine, kept)
                  : kept->kind == KEPT_TAIL   ? register_of_tail(machine, kept->number)
                  : kept->kind == KEPT_PASSED ? MACHINE_OWN_VECTORS + kept->number
                                              : -1;
        kept->is_shared = reg >= 0;
        machine->registers.items[kept->virtual_register - MACHINE_VIRTUAL].pinned = reg;
    }
}

void machine_emit_shared(struct machine *machine)
{
    const struct machine_shared *shared = machine->shared;
    for (int k = 0; shared && k < shared->constants.count; k++) {
        const struct machine_kept *kept = &shared->constants.items[k];
        bool wide = vector_type_is_wide(kept->type);
        struct vector_datum datum = {machine->labels++, wide ? 8 : 4, kept->bits, NULL};
        list_push(machine->arena, &machine->data, datum);
        machine_emit(machine, (struct x86_instruction){.form = wide ? X86_VBROADCASTSD : X86_VBROADCASTSS,
                                                       .bits = 512,
                                                       .reg = MACHINE_VECTORS - 1 - k,
                                                       .has_memory = true,
                                                       .memory = {X86_RIP, X86_NONE, 1, 0},
                                                       .label = datum.label});
    }
    for (int k = 0; shared && k < shared->counts.count; k++) {
        machine_emit(machine,
                     (struct x86_instruction){.form = X86_MOV,
                                              .reg = X86_RCX,
                                              .has_memory = true,
                                              .memory = machine_slot(machine, shared->counts.items[k].slot)});
        machine_emit(machine,
                     (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = -1});
        machine_emit(machine,
                     (struct x86_instruction){
                         .form = X86_BZHI, .bits = 128, .reg = X86_RAX, .rm = X86_RAX, .vvvv = X86_RCX});
        if (shared->counts.items[k].before) /* as many ones are no more than 64 */
            machine_emit_by(machine, X86_SAR_BY, X86_RAX, shared->counts.items[k].before);
        machine_emit(machine,
                     (struct x86_instruction){
                         .form = X86_KMOVW_TO, .bits = 128, .reg = MACHINE_MASKS - 1 - k, .rm = X86_RAX});
    }
}

/* ---- what one part hands to another -------------------------------------------------------------------- */

/* Whether both loops, over the same range, come to the same element in the same iteration. */
static bool is_same_index(const struct ir_stmt *one, struct ir_expr *a, const struct ir_stmt *other,
                          struct ir_expr *b)
{
    if (a->kind == IR_SYMBOL && a->symbol == one->symbol)
        return b->kind == IR_SYMBOL && b->symbol == other->symbol;
    return ir_expr_equal(a, b) && ir_expr_walk(a, stays, NULL) && !pass_mentions(a, one->symbol) &&
           !pass_mentions(b, other->symbol);
}

static const struct vector_stream *stream_of(const struct vector_loop *part, const struct vector_value *value)
{
    return &part->streams.items[value->stream];
}

/* Whether the one part's load is of what the other part's store has stored, all lanes of both, as lanes hold
 * it. */
static bool is_of_store(const struct vector_loop *part, const struct vector_value *load,
                        const struct vector_loop *other, const struct vector_value *store)
{
    const struct vector_stream *a = stream_of(part, load), *b = stream_of(other, store);
    if (a->access->buffer != b->access->buffer || a->step_kind != VECTOR_UNIT ||
        b->step_kind != VECTOR_UNIT || load->mask >= 0 || store->mask >= 0 || load->offset != store->offset ||
        load->type != store->type || dtype_table[a->dtype].size < 4 || part->wide != other->wide ||
        !is_same_range(part->stmt, other->stmt))
        return false;
    for (int axis = 0; axis < a->access->buffer->rank; axis++)
        if (!is_same_index(part->stmt, a->access->indices[axis], other->stmt, b->access->indices[axis]))
            return false;
    return true;
}

static bool stores_into(const struct vector_loop *part, const struct ir_buffer *buffer)
{
    for (int k = 0; k < part->streams.count; k++)
        if (part->streams.items[k].is_stored && part->streams.items[k].access->buffer == buffer)
            return true;
    return false;
}

/* Whether a part behind this one loads what is stored, before another stores there. */
static bool is_loaded_again(const struct vector_loop *band, const struct vector_loop *part,
                            const struct vector_value *store)
{
    bool behind = false;
    for (int k = 0; k < band->band->parts.count; k++) {
        const struct vector_loop *other = band->band->parts.items[k].loop;
        for (int v = 0; behind && machine_may_be_short(band, other) && v < other->values.count; v++)
            if (other->values.items[v].kind == VECTOR_LOAD &&
                is_of_store(other, &other->values.items[v], part, store))
                return true;
        if (behind && stores_into(other, stream_of(part, store)->access->buffer))
            return false;
        behind |= other == part;
    }
    return false;
}

bool machine_hands_on(const struct vector_loop *band)
{
    for (int k = 0; k < band->band->parts.count; k++) {
        const struct vector_loop *part = band->band->parts.items[k].loop;
        for (int v = 0; v < part->values.count; v++)
            if (part->values.items[v].kind == VECTOR_STORE &&
                is_loaded_again(band, part, &part->values.items[v]))
                return true;
    }
    return false;
}

static void forget(struct machine_shared *shared, const struct ir_buffer *buffer)
{
    for (int k = 0; k < MACHINE_PASSED; k++) {
        const struct vector_value *store = shared->passed[k].store;
        if (store && stream_of(shared->passed[k].part, store)->access->buffer == buffer)
            shared->passed[k].store = NULL;
    }
}

void machine_pass_nothing(struct machine_shared *shared, const struct vector_loop *part)
{
    for (int k = 0; k < part->streams.count; k++)
        if (part->streams.items[k].is_stored)
            forget(shared, part->streams.items[k].access->buffer);
}

int machine_passed(struct machine *machine, const struct vector_value *load)
{
    const struct machine_shared *shared = machine->shared;
    for (int k = 0; k < MACHINE_PASSED && machine->short_count == 1 && !machine->is_alone; k++)
        if (shared->passed[k].store &&
            is_of_store(machine->loop, load, shared->passed[k].part, shared->passed[k].store))
            return machine_keep(machine, KEPT_PASSED, load->type, k, 0);
    return 0;
}

/* Whether what is passed there, or was, is used in the part. */
static bool is_taken(const struct machine *machine, int place)
{
    for (int k = 0; k < machine->kept.count; k++)
        if (machine->kept.items[k].kind == KEPT_PASSED && machine->kept.items[k].number == place)
            return true;
    return machine->shared->passed[place].store != NULL;
}

void machine_pass(struct machine *machine, const struct vector_value *store, int operand)
{
    struct machine_shared *shared = machine->shared;
    int place = 0;
    if (machine->short_count > 1 || machine->is_alone)
        return;
    forget(shared, stream_of(machine->loop, store)->access->buffer);
    while (place < MACHINE_PASSED && is_taken(machine, place))
        place++;
    if (place == MACHINE_PASSED || stream_of(machine->loop, store)->step_kind != VECTOR_UNIT ||
        !is_loaded_again(shared->band, machine->loop, store))
        return;
    shared->passed[place].part = machine->loop;
    shared->passed[place].store = store;
    machine_add(machine,
                (struct x86_instruction){.form = X86_VMOVAPS,
                                         .bits = machine_bits(machine, store->type),
                                         .reg = machine_keep(machine, KEPT_PASSED, store->type, place, 0),
                                         .rm = operand});
}

/* ---- a part ------------------------------------------------------------------------------------------ */

static bool counts(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_INDEX)
            return true;
    return false;
}

/* Of one vector the mask may be made for the part alone. */
static bool has_own_tail(const struct machine *machine)
{
    for (int k = 0; k < machine->kept.count; k++)
        if (machine->kept.items[k].kind == KEPT_TAIL && !machine->kept.items[k].is_shared)
            return true;
    return false;
}

struct short_sections {
    machine_section setup, tail, body[MACHINE_SEVERAL], result;
    machine_section long_setup, long_body[MACHINE_SEVERAL]; /* with products in the place of quotients */
    bool has_long;
};

/* Each vector adds to the partial result that the main loop of as many iterations has for it. */
static void build_bodies(struct machine *machine, machine_section *bodies)
{
    int count = machine->short_count;
    for (int k = 0; k < count; k++) {
        machine->short_at = k;
        machine_build_step(machine, &bodies[k], k % machine->steps, k * machine->lanes, count == 1 || k > 0);
    }
    machine->short_at = 0;
}

/* Whether quotients are better products with both parts of a reciprocal, which each row makes: not where it
 * has just come to the divisor, for which that would be waited longer, nor where there is enough else to do
 * while the divider works. */
static bool multiplies(const struct machine *machine)
{
    enum { FEW = 5 };
    const struct vector_loop *loop = machine->loop;
    int operations = 0;
    for (int k = 0; k < loop->values.count; k++)
        operations +=
            loop->values.items[k].kind == VECTOR_OPERATION || loop->values.items[k].kind == VECTOR_FUSED;
    return machine->is_only_loop && operations <= FEW && !loop->accumulators.count &&
           machine_has_quotients(machine);
}

/* False where it takes more registers than there are: then the way through memory takes longer than a loop.
 */
static bool build_sections(struct machine *machine, struct short_sections *sections)
{
    int own = 0;
    build_bodies(machine, sections->body);
    sections->has_long = machine->short_count > 1 && multiplies(machine);
    if (sections->has_long) {
        machine->is_long = true;
        build_bodies(machine, sections->long_body);
        machine->is_long = false;
        machine_setup_reciprocals(machine, &sections->long_setup);
    }
    machine->section = &sections->result;
    for (int k = 0; k < machine->loop->accumulators.count; k++)
        machine_build_result(machine, k);
    share(machine);
    int most = machine_pressure(machine, &sections->result);
    for (int k = 0; k < machine->short_count; k++) {
        int pressure = machine_pressure(machine, &sections->body[k]);
        most = pressure > most ? pressure : most;
        pressure = sections->has_long ? machine_pressure(machine, &sections->long_body[k]) : 0;
        most = pressure > most ? pressure : most;
    }
    for (int k = 0; k < machine->kept.count; k++)
        own += machine->kept.items[k].type != VECTOR_MASK && !machine->kept.items[k].is_shared;
    machine_pin(machine, machine_vectors(machine) - most);
    machine_build_setup(machine, &sections->setup);
    return own + most < machine_vectors(machine) && !machine->refused;
}

static void place_bodies(struct machine *machine, machine_section *bodies)
{
    for (int k = 0; k < machine->short_count; k++)
        machine_allocate(machine, &bodies[k]);
}

bool machine_build_short(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    struct short_sections sections = {.setup = {.count = 0}};
    machine->stop = -1;
    machine->lanes = machine_short_lanes(machine->short_bits, loop);
    machine->steps = machine_steps(machine);
    if (machine->steps > machine->short_count) /* the others would combine what changes nothing */
        machine->steps = machine->short_count;
    machine->is_short = true;
    machine->before = arena_array(machine->arena, int, loop->accumulators.count + 1);
    machine_choose_general_registers(machine);
    if (!counts(loop))
        machine->index = X86_NONE;
    if (!build_sections(machine, &sections) || (machine->short_count > 1 && has_own_tail(machine)))
        return false;
    machine_allocate(machine, &sections.setup);
    if (machine->index != X86_NONE)
        machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = machine->index});
    if (has_own_tail(machine)) {
        machine_emit(machine, (struct x86_instruction){.form = X86_MOV,
                                                       .reg = machine->count,
                                                       .has_memory = true,
                                                       .memory = machine_slot(machine, loop->count)});
        machine_tail(machine, &sections.tail, 0);
        machine_allocate(machine, &sections.tail);
    }
    int divides = machine->labels++, end = machine->labels++;
    if (sections.has_long) { /* one division for each row, where its divisor is of a moderate size */
        machine_test_divisors(machine, divides);
        machine_allocate(machine, &sections.long_setup);
        place_bodies(machine, sections.long_body);
        machine_emit_jump(machine, X86_JMP, end);
        machine_emit_label(machine, divides);
    }
    place_bodies(machine, sections.body);
    machine_emit_label(machine, end);
    machine_allocate(machine, &sections.result);
    return !machine->refused;
}

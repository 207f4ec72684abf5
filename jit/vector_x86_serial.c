/*
 * vector_x86_serial.c: a loop whose iterations hang on each other as a function of machine code.
 *
 * Consumes the values of one iteration (vector_serial.c); produces instructions on the first lane of 128-bit
 * registers: some iterations one after the other as a straight line, over and over, then the rest one by one.
 * What an iteration hands on stays in registers, within the line without a move.
 *
 * Straight code, a part of a band, is one iteration: what it needs of other parts it takes out of their
 * slots; addresses it computes in general registers (vector_x86_general.c).
 */
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

struct serial_code {
    struct machine *machine;
    const struct vector_loop *loop;
    machine_section setup, main, single, result;
    int iterations; /* of the main section */
    int *registers; /* by value */
    int *current;   /* by accumulator: where it is */
};

/* ---- slots ----------------------------------------------------------------------------------------- */

static void move_slot(struct serial_code *code, int accumulator, bool is_load, int reg)
{
    const struct vector_accumulator *row = &code->loop->accumulators.items[accumulator];
    bool wide = vector_type_is_wide(row->type);
    enum x86_form form = is_load ? wide ? X86_VMOVSD_LOAD : X86_VMOVSS_LOAD
                         : wide  ? X86_VMOVSD_STORE
                                 : X86_VMOVSS_STORE;
    machine_add(code->machine, (struct x86_instruction){.form = form,
                                                        .bits = 128,
                                                        .reg = reg,
                                                        .has_memory = true,
                                                        .memory = machine_slot(code->machine, row->slot)});
}

static int from_slot(struct serial_code *code, int accumulator)
{
    int result = machine_new_vector(code->machine, 128);
    move_slot(code, accumulator, true, result);
    return result;
}

static void to_slot(struct serial_code *code, int accumulator, int value)
{
    move_slot(code, accumulator, false, value);
}

/* ---- one iteration --------------------------------------------------------------------------------- */

static int partial_of(struct serial_code *code, int accumulator)
{
    return machine_keep(code->machine, KEPT_PARTIAL, code->loop->accumulators.items[accumulator].type,
                        accumulator, 0);
}

/* Elements of 4 and 8 bytes can be loaded and stored alone; around smaller ones, and where there is a
 * condition, the other lanes are masked. 0: no mask is needed. */
static int mask_of(struct serial_code *code, const struct vector_value *value)
{
    bool alone = dtype_table[value->dtype].size >= 4;
    if (value->mask < 0 && alone)
        return 0;
    int first = machine_keep(code->machine, KEPT_TAIL, VECTOR_MASK, 0, 0);
    return value->mask < 0 ? first : machine_and(code->machine, code->registers[value->mask], first);
}

static int build_value(struct serial_code *code, const struct vector_value *value)
{
    struct machine *machine = code->machine;
    int operands[3] = {0, 0, 0};
    for (int k = 0; k < 3; k++)
        if (value->operands[k] >= 0)
            operands[k] = code->registers[value->operands[k]];
    switch (value->kind) {
    case VECTOR_CONSTANT:
        return machine_constant(machine, value->type, value->bits);
    case VECTOR_SCALAR:
        return machine_keep(machine, KEPT_SCALAR, value->type, value->slot, 0);
    case VECTOR_LOAD:
        return machine_load(machine, value, mask_of(code, value));
    case VECTOR_GATHER:
        return machine_gather(machine, value, operands[0], 0);
    case VECTOR_STORE:
        machine_store(machine, value, operands[0], mask_of(code, value));
        return 0;
    case VECTOR_SCATTER:
        machine_scatter(machine, value, operands, 0);
        return 0;
    case VECTOR_TOTAL:
        return code->loop->is_once ? from_slot(code, value->slot) : code->current[value->slot];
    case VECTOR_SET:
        if (code->loop->is_once)
            to_slot(code, value->slot, operands[0]);
        return operands[0];
    default:
        return machine_operation(machine, value, operands);
    }
}

static void build_iteration(struct serial_code *code, int ahead)
{
    struct machine *machine = code->machine;
    const bool *in_lanes = code->loop->is_once ? machine_values_in_lanes(machine) : NULL;
    machine->ahead = ahead;
    for (int k = 0; k < code->loop->values.count && !machine->refused; k++) {
        machine->line = code->loop->values.items[k].line;
        if (!in_lanes || in_lanes[k])
            code->registers[k] = build_value(code, &code->loop->values.items[k]);
        else if (machine_is_general_set(machine, k))
            machine_general_set(machine, k, code->registers);
    }
    for (int k = 0; k < code->loop->values.count && !machine->refused; k++)
        if (code->loop->values.items[k].kind == VECTOR_SET && !code->loop->is_once)
            code->current[code->loop->values.items[k].slot] = code->registers[k];
    machine->line = 0;
    if (!code->loop->is_once)
        machine_advance(machine);
}

static void move(struct machine *machine, int to, int from)
{
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVAPS, .bits = 128, .reg = to, .rm = from});
}

/* Iterations, and what they leave back where it is kept; through copies where it is kept itself, and may be
 * overwritten before it is read. */
static void build_iterations(struct serial_code *code, machine_section *section, int count)
{
    struct machine *machine = code->machine;
    int accumulators = code->loop->accumulators.count;
    machine->section = section;
    for (int k = 0; k < accumulators; k++)
        code->current[k] = partial_of(code, k);
    for (int k = 0; k < count; k++)
        build_iteration(code, k);
    for (int k = 0; k < accumulators && !machine->refused; k++)
        if (machine->registers.items[code->current[k] - MACHINE_VIRTUAL].kept &&
            code->current[k] != partial_of(code, k))
            code->current[k] = machine_copy(machine, 128, code->current[k]);
    for (int k = 0; k < accumulators && !machine->refused; k++)
        if (code->current[k] != partial_of(code, k))
            move(machine, partial_of(code, k), code->current[k]);
    machine_drop_unused(machine, section);
}

/* ---- before and behind ----------------------------------------------------------------------------- */

/* The accumulators out of their slots, or back. */
static void build_accumulators(struct serial_code *code, bool is_load)
{
    for (int k = 0; k < code->loop->accumulators.count; k++)
        move_slot(code, k, is_load, partial_of(code, k));
}

/* The mask of the first lane. */
static void build_first_lane(struct machine *machine, int mask)
{
    bool masks = machine_is_avx512(machine);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_MOV_IMMEDIATE, .reg = X86_RAX, .immediate = masks ? 1 : -1});
    machine_add(machine, (struct x86_instruction){.form = masks                 ? X86_KMOVW_TO
                                                          : machine->loop->wide ? X86_VMOVQ_TO
                                                                                : X86_VMOVD_TO,
                                                  .bits = 128,
                                                  .reg = mask,
                                                  .rm = X86_RAX});
}

static void build_setup(struct serial_code *code)
{
    struct machine *machine = code->machine;
    machine->section = &code->setup;
    for (int k = 0; k < machine->kept.count; k++) {
        const struct machine_kept *kept = &machine->kept.items[k];
        if (kept->kind == KEPT_TAIL)
            build_first_lane(machine, kept->virtual_register);
        else if (kept->kind != KEPT_PARTIAL)
            machine_setup_kept(machine, kept);
    }
    if (!code->loop->is_once)
        build_accumulators(code, true);
    machine_setup_streams(machine);
}

/* ---- all ------------------------------------------------------------------------------------------- */

static int choose_iterations(const struct vector_loop *loop)
{
    enum { FEW = 16, SOME = 40 };
    if (loop->calls || loop->values.count > SOME)
        return 1;
    return loop->values.count > FEW ? 2 : 4;
}

static void build_sections(struct serial_code *code)
{
    struct machine *machine = code->machine;
    build_iterations(code, &code->main, code->iterations);
    build_iterations(code, &code->single, 1);
    machine->section = &code->result;
    build_accumulators(code, false);
    int pressure = machine_pressure(machine, &code->main);
    machine_pin(machine, machine_vectors(machine) - pressure);
    build_setup(code);
}

static void place_loops(struct serial_code *code)
{
    struct machine *machine = code->machine;
    int head = machine->labels++, rest = machine->labels++, single = machine->labels++,
        done = machine->labels++;
    machine_emit_by(machine, X86_SUB_BY, machine->count, code->iterations);
    machine_emit_jump(machine, X86_JL, rest);
    machine_emit_label(machine, head);
    machine_allocate(machine, &code->main);
    machine_emit_by(machine, X86_ADD_BY, machine->index, code->iterations);
    machine_emit_by(machine, X86_SUB_BY, machine->count, code->iterations);
    machine_emit_jump(machine, X86_JGE, head);
    machine_emit_label(machine, rest);
    machine_emit_by(machine, X86_ADD_BY, machine->count, code->iterations);
    machine_emit_jump(machine, X86_JE, done);
    machine_emit_label(machine, single);
    machine_allocate(machine, &code->single);
    machine_emit_by(machine, X86_ADD_BY, machine->index, 1);
    machine_emit_by(machine, X86_SUB_BY, machine->count, 1);
    machine_emit_jump(machine, X86_JNE, single);
    machine_emit_label(machine, done);
}

static bool build_once(struct serial_code *code)
{
    struct machine *machine = code->machine;
    machine->section = &code->single;
    machine->index = X86_NONE;
    build_iteration(code, 0);
    machine_drop_unused(machine, &code->single);
    machine_pin(machine, machine_vectors(machine) - machine_pressure(machine, &code->single));
    build_setup(code);
    machine_allocate(machine, &code->setup);
    machine_allocate(machine, &code->single);
    return !machine->refused;
}

static bool build_loop(struct serial_code *code)
{
    struct machine *machine = code->machine;
    build_sections(code);
    if (machine->refused)
        return false;
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV,
                                                   .reg = machine->count,
                                                   .has_memory = true,
                                                   .memory = machine_slot(machine, code->loop->count)});
    if (code->loop->is_rest) {
        int group = code->loop->group;
        machine_emit(machine,
                     (struct x86_instruction){.form = X86_MOV, .reg = machine->index, .rm = machine->count});
        machine_emit_by(machine, X86_AND_BY, machine->index, -group);
        machine_emit_by(machine, X86_AND_BY, machine->count, group - 1);
    } else {
        machine_emit(machine, (struct x86_instruction){.form = X86_MOV_IMMEDIATE, .reg = machine->index});
    }
    machine_allocate(machine, &code->setup);
    place_loops(code);
    machine_allocate(machine, &code->result);
    return !machine->refused;
}

bool machine_build_serial(struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    struct serial_code *code = arena_new(machine->arena, struct serial_code);
    machine->lanes = machine->steps = 1;
    code->machine = machine;
    code->loop = loop;
    code->iterations = choose_iterations(loop);
    code->registers = arena_array(machine->arena, int, loop->values.count);
    code->current = arena_array(machine->arena, int, loop->accumulators.count + 1);
    machine_choose_general_registers(machine);
    return loop->is_once ? build_once(code) : build_loop(code);
}

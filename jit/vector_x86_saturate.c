/*
 * vector_x86_saturate.c: stores of AVX-512 that make elements of 8 or 16 bits of lanes of 32.
 *
 * Consumes a store and the values that it is computed from; appends one that cuts the high bits off by
 * itself, so that the cast before it need not, or one that stores the nearest number there is, so that the
 * minimum and the maximum need not be taken. What they computed stays, unused (machine_drop_unused).
 */
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

static bool is_narrow_integer(akg_dtype dtype)
{
    return dtype_is_integer(dtype) && dtype_table[dtype].size <= 4;
}

static const struct vector_value *operation_at(const struct machine *machine, int number,
                                               enum operation operation)
{
    const struct vector_value *value = number < 0 ? NULL : &machine->loop->values.items[number];
    return value && value->kind == VECTOR_OPERATION && value->operation == operation ? value : NULL;
}

/* Behind casts that cut off no more than the store does. */
static int behind_casts(const struct machine *machine, int number, akg_dtype dtype)
{
    const struct vector_value *cast;
    while ((cast = operation_at(machine, number, OP_CAST)) != NULL && is_narrow_integer(cast->dtype) &&
           is_narrow_integer(cast->from) && dtype_table[cast->dtype].size >= dtype_table[dtype].size)
        number = cast->operands[0];
    return number;
}

/* The other operand of a minimum or maximum with a constant; -1: it is none with that one. */
static int cut_by(const struct machine *machine, int number, enum operation operation, int32_t limit)
{
    const struct vector_value *value = operation_at(machine, number, operation);
    if (!value || value->dtype != AKG_INT32)
        return -1;
    for (int k = 0; k < 2; k++) {
        const struct vector_value *other = &machine->loop->values.items[value->operands[k]];
        if (other->kind == VECTOR_CONSTANT && (int32_t)(uint32_t)other->bits == limit)
            return value->operands[1 - k];
    }
    return -1;
}

/* What is cut to all numbers of the dtype; -1: it is not. */
static int behind_limits(const struct machine *machine, int number, akg_dtype dtype)
{
    int width = 8 * dtype_table[dtype].size - dtype_is_signed(dtype);
    int32_t most = (int32_t)(1u << width) - 1, least = dtype_is_signed(dtype) ? -most - 1 : 0;
    int below = cut_by(machine, cut_by(machine, number, OP_MIN, most), OP_MAX, least);
    return below >= 0 ? below : cut_by(machine, cut_by(machine, number, OP_MAX, least), OP_MIN, most);
}

static enum x86_form nearest_form(akg_dtype dtype)
{
    bool is_byte = dtype_table[dtype].size == 1;
    return dtype_is_signed(dtype) ? is_byte ? X86_VPMOVSDB : X86_VPMOVSDW
           : is_byte              ? X86_VPMOVUSDB
                                  : X86_VPMOVUSDW;
}

/* What to store, and how. */
static int source_of(struct machine *machine, akg_dtype dtype, const int *registers, int number,
                     enum x86_form *form)
{
    const struct vector_value *value = operation_at(machine, number, OP_CAST);
    *form = nearest_form(dtype);
    if (value && value->from == AKG_FLOAT32 && value->dtype == dtype)
        return machine_cast_to_cut(machine, value, registers[value->operands[0]]);
    int inner = behind_limits(machine, number, dtype);
    if (inner >= 0)
        return dtype_is_signed(dtype) ? registers[inner]
                                      : machine_rvm(machine, X86_VPMAXSD, 512, registers[inner],
                                                    machine_constant(machine, VECTOR_I32, 0));
    *form = dtype_table[dtype].size == 1 ? X86_VPMOVDB : X86_VPMOVDW;
    return registers[number];
}

bool machine_store_cut(struct machine *machine, const struct vector_value *value, const int *registers,
                       int mask)
{
    enum { LANES = 16 };
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    akg_dtype dtype = value->dtype;
    enum x86_form form;
    if (!machine_is_avx512(machine) || machine->lanes != LANES || stream->step_kind != VECTOR_UNIT ||
        !dtype_is_integer(dtype) || dtype_table[dtype].size >= 4)
        return false;
    int number = behind_casts(machine, value->operands[0], dtype);
    int a = source_of(machine, dtype, registers, number, &form);
    machine_add(machine, (struct x86_instruction){.form = form,
                                                  .bits = 512,
                                                  .reg = a,
                                                  .mask = mask,
                                                  .has_memory = true,
                                                  .memory = machine_unit_memory(machine, value)});
    return true;
}

/*
 * vector_x86_gather.c: elements that are loaded from where the lanes say (vector_gather.c), and the tests of
 * indices.
 *
 * Consumes indices in lanes, as elements behind the address of a stream; appends a gather, whose mask is a
 * register of its own with AVX-512, and a vector with AVX2. Lanes that the mask leaves out are neither tested
 * nor read.
 */
#include "vector_x86.h"

/* ---- gathers ----------------------------------------------------------------------------------------- */

/* A copy, for the gather clears it. */
static int lanes_to_load(struct machine *machine, enum vector_type type, int mask)
{
    if (!mask)
        mask = machine_constant(machine, VECTOR_MASK, 1);
    if (machine_is_avx512(machine))
        return machine_rm(machine, X86_KMOVW, 128, mask);
    return machine_copy(machine, machine_bits(machine, type), machine_mask_for(machine, type, mask));
}

static enum x86_form gather_form(const struct machine *machine, bool far, bool wide)
{
    static const enum x86_form forms[2][2][2] = {
        {{X86_VGATHERDPS_MASK, X86_VGATHERDPD_MASK}, {X86_VGATHERQPS_MASK, X86_VGATHERQPD_MASK}},
        {{X86_VGATHERDPS, X86_VGATHERDPD}, {X86_VGATHERQPS, X86_VGATHERQPD}}};
    return forms[machine_is_avx512(machine)][far][wide];
}

int machine_gather(struct machine *machine, const struct vector_value *value, int index, int mask)
{
    bool far = vector_type_is_wide(machine->loop->values.items[value->operands[0]].type);
    bool wide = vector_type_is_wide(value->type), own_mask = machine_is_avx512(machine);
    if (machine->lanes == 1)
        return machine_refuse(machine);
    int result =
        machine_copy(machine, machine_bits(machine, value->type), machine_constant(machine, value->type, 0));
    int lanes = lanes_to_load(machine, value->type, mask), base = machine_base(machine, value->stream);
    machine_add(machine,
                (struct x86_instruction){.form = gather_form(machine, far, wide),
                                         .bits = machine_bits(machine, far || wide ? VECTOR_I64 : VECTOR_I32),
                                         .reg = result,
                                         .vvvv = own_mask ? 0 : lanes,
                                         .mask = own_mask ? lanes : 0,
                                         .has_memory = true,
                                         .memory = {base, index, dtype_table[value->dtype].size, 0}});
    return result;
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static bool is_extent(const struct machine *machine, const struct vector_value *limit)
{
    return limit->kind == VECTOR_SCALAR &&
           machine->loop->arguments.items[limit->slot].kind == VECTOR_ARGUMENT_EXTENT;
}

/* A vector whose lanes have their highest bit set where the index, taken without a sign, is not below the
 * limit; that of lanes that are left out is not. An extent is not negative. */
static int outside_avx2(struct machine *machine, enum vector_type type, int index, int limit, bool is_extent,
                        int mask)
{
    int bits = machine_bits(machine, type), outside;
    int lanes = mask ? machine_mask_for(machine, type, mask) : 0;
    if (type == VECTOR_I64 && is_extent) {
        int inside = machine_rvm(machine, X86_VPCMPGTQ, bits, limit, index);
        inside = machine_rvm(machine, X86_VANDNPD, bits, index, inside);
        return machine_rvm(machine, X86_VANDNPD, bits, inside,
                           lanes ? lanes : machine_constant(machine, type, UINT64_MAX));
    }
    if (type == VECTOR_I64)
        outside = machine_compare(machine, OP_GE, AKG_UINT64, index, limit);
    else
        outside = machine_rvm(machine, X86_VPCMPEQD, bits,
                              machine_rvm(machine, X86_VPMAXUD, bits, index, limit), index);
    return lanes ? machine_rvm(machine, X86_VANDPS, bits, outside, lanes) : outside;
}

/* The lanes that fill no 128 bits mean nothing. */
static void test_avx2(struct machine *machine, enum vector_type type, int outside)
{
    bool wide = vector_type_is_wide(type);
    machine_add(machine, (struct x86_instruction){.form = wide ? X86_VMOVMSKPD : X86_VMOVMSKPS,
                                                  .bits = machine_bits(machine, type),
                                                  .reg = X86_RAX,
                                                  .rm = outside});
    machine_add(machine, (struct x86_instruction){
                             .form = X86_AND_BY, .rm = X86_RAX, .immediate = (1 << machine->lanes) - 1});
}

static void test_avx512(struct machine *machine, enum vector_type type, int index, int limit, int mask)
{
    enum { NOT_LESS = 5 };
    int outside = machine_rvmi(machine, type == VECTOR_I64 ? X86_VPCMPUQ : X86_VPCMPUD,
                               machine_bits(machine, type), index, limit, NOT_LESS);
    if (mask)
        outside = machine_and(machine, outside, mask);
    machine_add(machine,
                (struct x86_instruction){.form = X86_KORTESTW, .bits = 128, .reg = outside, .rm = outside});
}

void machine_test_below(struct machine *machine, enum vector_type type, int index, int limit, bool is_extent,
                        int mask)
{
    if (machine_is_avx512(machine))
        test_avx512(machine, type, index, limit, mask);
    else
        test_avx2(machine, type, outside_avx2(machine, type, index, limit, is_extent, mask));
    if (!machine->loop->nest || vector_is_rows(machine->loop->nest)) /* nests know what is left */
        machine_add(machine,
                    (struct x86_instruction){.form = X86_LEA,
                                             .reg = X86_RAX,
                                             .has_memory = true,
                                             .memory = {machine->index, X86_NONE, 1, machine->ahead}});
    machine_add(machine, (struct x86_instruction){.form = X86_JNE, .label = machine_stop(machine)});
}

void machine_test(struct machine *machine, const struct vector_value *value, const int *operands, int mask)
{
    const struct vector_value *limit = &machine->loop->values.items[value->operands[1]];
    machine_test_below(machine, value->type, operands[0], operands[1], is_extent(machine, limit), mask);
}

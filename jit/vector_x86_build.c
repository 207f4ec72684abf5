/*
 * vector_x86_build.c: instructions with virtual registers: the shapes that the other files use, masks, and
 * comparisons, each for AVX-512 and AVX2.
 *
 * Consumes virtual registers; appends to the section. Masks of AVX-512 are registers of their own; those of
 * AVX2 vectors of as many bits as the widest type in the loop needs.
 */
#include "vector_x86.h"

#include <string.h>

int machine_bits(const struct machine *machine, enum vector_type type)
{
    enum { LEAST = 128 };
    int bits = machine->lanes * (vector_type_is_wide(type) ? 64 : 32);
    if (type == VECTOR_MASK && machine->lanes > 1)
        return machine_vector_bits(machine);
    return bits < LEAST ? LEAST : bits;
}

int machine_refuse(struct machine *machine)
{
    machine->refused = true;
    return MACHINE_VIRTUAL;
}

static int new_register(struct machine *machine, bool is_mask, int bits)
{
    struct machine_register entry = {.is_mask = is_mask, .bits = bits, .pinned = -1, .home = -1, .at = -1};
    list_push(machine->arena, &machine->registers, entry);
    return MACHINE_VIRTUAL + machine->registers.count - 1;
}

int machine_new_vector(struct machine *machine, int bits)
{
    return new_register(machine, false, bits);
}

int machine_new_mask(struct machine *machine)
{
    return machine_is_avx512(machine) ? new_register(machine, true, 0)
                                      : new_register(machine, false, machine_bits(machine, VECTOR_MASK));
}

void machine_add_call(struct machine *machine, struct machine_call call)
{
    struct machine_item item = {.call = arena_new(machine->arena, struct machine_call)};
    call.line = machine->line;
    *item.call = call;
    list_push(machine->arena, machine->section, item);
}

/* ---- shapes ------------------------------------------------------------------------------- */

/* A register for the result of a form, whose first operand may be part of a vector. */
static int result_of(struct machine *machine, enum x86_form form, int bits)
{
    enum x86_class class = (enum x86_class)x86_rows[form].reg;
    if (class == X86_K)
        return machine_new_mask(machine);
    return machine_new_vector(machine, class == X86_H && bits > 128       ? bits / 2
                                       : class == X86_S || class == X86_T ? 128
                                                                          : bits);
}

int machine_rmi(struct machine *machine, enum x86_form form, int bits, int a, int immediate)
{
    int result = result_of(machine, form, bits);
    *machine_next(machine) = (struct x86_instruction){
        .form = form, .bits = bits, .reg = result, .rm = a, .immediate = immediate, .line = machine->line};
    return result;
}

int machine_rm(struct machine *machine, enum x86_form form, int bits, int a)
{
    return machine_rmi(machine, form, bits, a, 0);
}

int machine_rvmi(struct machine *machine, enum x86_form form, int bits, int a, int b, int immediate)
{
    int result = result_of(machine, form, bits);
    *machine_next(machine) = (struct x86_instruction){.form = form,
                                                      .bits = bits,
                                                      .reg = result,
                                                      .vvvv = a,
                                                      .rm = b,
                                                      .immediate = immediate,
                                                      .line = machine->line};
    return result;
}

int machine_rvm(struct machine *machine, enum x86_form form, int bits, int a, int b)
{
    return machine_rvmi(machine, form, bits, a, b, 0);
}

int machine_copy(struct machine *machine, int bits, int a)
{
    return machine_rm(machine, X86_VMOVAPS, bits < 128 ? 128 : bits, a);
}

void machine_into(struct machine *machine, enum x86_form form, int bits, int target, int a, int b, int mask)
{
    *machine_next(machine) = (struct x86_instruction){
        .form = form, .bits = bits, .reg = target, .vvvv = a, .rm = b, .mask = mask, .line = machine->line};
}

/* The forms 231 add to their first operand. */
int machine_fused(struct machine *machine, enum x86_form form, int bits, int a, int b, int c)
{
    int result = machine_copy(machine, bits, c);
    machine_into(machine, form, bits, result, a, b, 0);
    return result;
}

int machine_shift(struct machine *machine, enum x86_form form, enum x86_form wide_form, int bits, int a,
                  int count)
{
    int result = machine_new_vector(machine, bits);
    machine_add(machine, (struct x86_instruction){.form = machine_is_avx512(machine) ? wide_form : form,
                                                  .bits = bits,
                                                  .vvvv = result,
                                                  .rm = a,
                                                  .immediate = count});
    return result;
}

struct x86_memory machine_slot(const struct machine *machine, int slot)
{
    return (struct x86_memory){machine->slots, X86_NONE, 1, 8 * slot};
}

/* ---- what is kept ---------------------------------------------------------------------------- */

int machine_keep(struct machine *machine, enum kept_kind kind, enum vector_type type, int number,
                 uint64_t bits)
{
    uint64_t hash = (bits ^ (uint64_t)number << 8 ^ (uint64_t)kind) * 0x9E3779B97F4A7C15u;
    int *head = &machine->kept_heads[hash >> 32 & (MACHINE_KEPT_HEADS - 1)];
    for (int k = *head - 1; k >= 0; k = machine->kept.items[k].before - 1) {
        const struct machine_kept *kept = &machine->kept.items[k];
        if (kept->kind == kind && kept->type == type && kept->number == number && kept->bits == bits)
            return kept->virtual_register;
    }
    struct machine_kept kept = {kind, type, number, bits, 0, false, false, *head};
    *head = machine->kept.count + 1;
    kept.virtual_register = type == VECTOR_MASK
                                ? machine_new_mask(machine)
                                : machine_new_vector(machine, kind == KEPT_TABLE || kind == KEPT_ORDER
                                                                  ? 512
                                                                  : machine_bits(machine, type));
    machine->registers.items[kept.virtual_register - MACHINE_VIRTUAL].kept = true;
    list_push(machine->arena, &machine->kept, kept);
    return kept.virtual_register;
}

int machine_constant(struct machine *machine, enum vector_type type, uint64_t bits)
{
    if (!machine->is_late)
        return machine_keep(machine, KEPT_CONSTANT, type, 0, bits);
    int result = type == VECTOR_MASK ? machine_new_mask(machine)
                                     : machine_new_vector(machine, machine_bits(machine, type));
    machine_spread_constant(machine, result, type, bits);
    return result;
}

int machine_float(struct machine *machine, enum vector_type type, double number)
{
    float narrow = (float)number;
    uint32_t narrow_bits;
    uint64_t bits;
    memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
    memcpy(&bits, &number, sizeof bits);
    return machine_constant(machine, type, type == VECTOR_F64 ? bits : narrow_bits);
}

int machine_table(struct machine *machine, const float table[16])
{
    return machine_keep(machine, KEPT_TABLE, VECTOR_F32, 0, (uint64_t)(uintptr_t)table);
}

/* ---- masks ------------------------------------------------------------------------------------- */

static int mask_pair(struct machine *machine, enum x86_form masks, enum x86_form vectors, int a, int b)
{
    if (machine_is_avx512(machine))
        return machine_rvm(machine, masks, 128, a, b);
    return machine_rvm(machine, vectors, machine_bits(machine, VECTOR_MASK), a, b);
}

int machine_and(struct machine *machine, int a, int b)
{
    return mask_pair(machine, X86_KANDQ, X86_VANDPS, a, b);
}

int machine_or(struct machine *machine, int a, int b)
{
    return mask_pair(machine, X86_KORQ, X86_VORPS, a, b);
}

int machine_xor(struct machine *machine, int a, int b)
{
    return mask_pair(machine, X86_KXORQ, X86_VXORPS, a, b);
}

int machine_and_not(struct machine *machine, int a, int b)
{
    return mask_pair(machine, X86_KANDNQ, X86_VANDNPS, a, b);
}

int machine_not(struct machine *machine, int a)
{
    if (machine_is_avx512(machine))
        return machine_rm(machine, X86_KNOTQ, 128, a);
    return machine_xor(machine, a, machine_constant(machine, VECTOR_MASK, 1));
}

/* The widths differ where the loop has 64-bit lanes and the type has not. */
static bool is_narrow(const struct machine *machine, enum vector_type type)
{
    return !machine_is_avx512(machine) && type != VECTOR_MASK && machine->loop->wide &&
           !vector_type_is_wide(type);
}

int machine_mask_for(struct machine *machine, enum vector_type type, int mask)
{
    if (!is_narrow(machine, type))
        return mask;
    if (machine->lanes == 1) /* 64 bits would be two lanes; such a constant stands in the first alone */
        return machine_rvm(machine, X86_VANDPS, 128, mask, machine_constant(machine, VECTOR_I32, UINT32_MAX));
    /* the low halves of four 64-bit lanes */
    int high = machine_new_vector(machine, 128);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_VEXTRACTF128, .bits = 256, .reg = mask, .rm = high, .immediate = 1});
    return machine_rvmi(machine, X86_VSHUFPS, 128, mask, high, 0x88);
}

int machine_mask_of(struct machine *machine, enum vector_type type, int mask)
{
    return is_narrow(machine, type)
               ? machine_rm(machine, X86_VPMOVSXDQ, machine_bits(machine, VECTOR_MASK), mask)
               : mask;
}

int machine_select(struct machine *machine, enum vector_type type, int condition, int a, int b)
{
    int bits = machine_bits(machine, type), result;
    bool wide = vector_type_is_wide(type);
    if (type == VECTOR_MASK) {
        int first = machine_and(machine, condition, a);
        return machine_or(machine, first, machine_and_not(machine, condition, b));
    }
    result = machine_new_vector(machine, bits);
    if (machine_is_avx512(machine))
        machine_into(machine, wide ? X86_VBLENDMPD : X86_VBLENDMPS, bits, result, b, a, condition);
    else
        machine_add(machine, (struct x86_instruction){.form = wide ? X86_VBLENDVPD : X86_VBLENDVPS,
                                                      .bits = bits,
                                                      .reg = result,
                                                      .vvvv = b,
                                                      .rm = a,
                                                      .fourth = machine_mask_for(machine, type, condition)});
    return result;
}

/* ---- comparisons ---------------------------------------------------------------------------------- */

int machine_compare_floats(struct machine *machine, enum vector_type type, int a, int b, int predicate)
{
    bool wide = type == VECTOR_F64;
    int bits = machine_bits(machine, type);
    if (machine_is_avx512(machine))
        return machine_rvmi(machine, wide ? X86_VCMPPD_MASK : X86_VCMPPS_MASK, bits, a, b, predicate);
    return machine_mask_of(machine, type,
                           machine_rvmi(machine, wide ? X86_VCMPPD : X86_VCMPPS, bits, a, b, predicate));
}

static int compare_masks(struct machine *machine, enum operation operation, int a, int b)
{
    int differ = machine_xor(machine, a, b);
    return operation == OP_NE ? differ : machine_not(machine, differ);
}

/* AVX2 has signed > and == only; unsigned numbers are moved into the signed range. */
static int compare_avx2(struct machine *machine, enum operation operation, akg_dtype dtype, int a, int b)
{
    enum vector_type type = vector_type_of(dtype);
    bool wide = type == VECTOR_I64;
    int bits = machine_bits(machine, type), result;
    bool negated = operation == OP_NE || operation == OP_LE || operation == OP_GE;
    if (operation == OP_EQ || operation == OP_NE) {
        result = machine_rvm(machine, wide ? X86_VPCMPEQQ : X86_VPCMPEQD, bits, a, b);
    } else {
        if (dtype == AKG_UINT32 || dtype == AKG_UINT64) {
            int sign = machine_constant(machine, type, wide ? (uint64_t)1 << 63 : (uint64_t)1 << 31);
            a = machine_rvm(machine, X86_VXORPS, bits, a, sign);
            b = machine_rvm(machine, X86_VXORPS, bits, b, sign);
        }
        bool swapped = operation == OP_LT || operation == OP_GE;
        result =
            machine_rvm(machine, wide ? X86_VPCMPGTQ : X86_VPCMPGTD, bits, swapped ? b : a, swapped ? a : b);
    }
    result = machine_mask_of(machine, type, result);
    return negated ? machine_not(machine, result) : result;
}

int machine_compare(struct machine *machine, enum operation operation, akg_dtype dtype, int a, int b)
{
    /* of floats: false where a side is nan, but for != */
    static const unsigned char predicates[OPERATION_COUNT] = {
        [OP_LT] = 17, [OP_LE] = 18, [OP_GT] = 30, [OP_GE] = 29, [OP_EQ] = 0, [OP_NE] = 4};
    static const unsigned char orders[OPERATION_COUNT] = {
        [OP_LT] = 1, [OP_LE] = 2, [OP_GT] = 6, [OP_GE] = 5, [OP_EQ] = 0, [OP_NE] = 4};
    enum vector_type type = vector_type_of(dtype);
    if (type == VECTOR_MASK)
        return compare_masks(machine, operation, a, b);
    if (dtype_is_float(dtype))
        return machine_compare_floats(machine, type, a, b, predicates[operation]);
    if (!machine_is_avx512(machine))
        return compare_avx2(machine, operation, dtype, a, b);
    bool is_signed = dtype_is_signed(dtype);
    enum x86_form form = type == VECTOR_I64 ? is_signed ? X86_VPCMPQ : X86_VPCMPUQ
                         : is_signed        ? X86_VPCMPD
                                            : X86_VPCMPUD;
    return machine_rvmi(machine, form, machine_bits(machine, type), a, b, orders[operation]);
}

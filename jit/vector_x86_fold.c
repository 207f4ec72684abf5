/*
 * vector_x86_fold.c: loads that become an operand of the instruction that needs them, comparisons that
 * compare the other way round, and two operations on bits that become one.
 *
 * Consumes a section with virtual registers; takes out each load of a whole vector whose only use, not far
 * behind it, can read memory itself, as long as nothing is stored and no address changes between the two.
 * Such a pair is decoded, renamed and kept in flight as one instruction, so that more loads that miss the
 * caches are under way at a time. Instructions encoded with VEX or EVEX need no alignment. Of a fused product
 * it is what is added that is taken from memory, where that is loaded. A load under a mask goes into an
 * instruction under the same mask, which reads no other lanes either. Of code of one lane what is loaded is
 * one element, which the instruction's form for one element reads. A mask that is only inverted is the one of
 * the opposite comparison. With AVX-512 an operation on bits of what another one gives is one with that.
 */
#include "vector_x86.h"

#include <string.h>

enum { NEAR = 24 /* instructions from a load to its use, at most */ };

static bool commutes(enum x86_form form)
{
    switch (form) {
    case X86_VADDPS:
    case X86_VADDPD:
    case X86_VMULPS:
    case X86_VMULPD:
    case X86_VPADDD:
    case X86_VPADDQ:
    case X86_VPMULLD:
    case X86_VANDPS:
    case X86_VORPS:
    case X86_VXORPS:
    case X86_VFMADD231PS: /* its two factors */
    case X86_VFMADD231PD:
    case X86_VFMSUB231PS:
    case X86_VFMSUB231PD:
    case X86_VFNMADD231PS:
    case X86_VFNMADD231PD:
        return true;
    default:
        return false;
    }
}

static bool mentions(const struct machine_item *item, int number)
{
    const struct x86_instruction *instruction = &item->instruction;
    if (!item->call)
        return instruction->reg == number || instruction->vvvv == number ||
               (!instruction->has_memory && instruction->rm == number) || instruction->fourth == number ||
               instruction->memory.index == number || instruction->mask == number;
    for (int k = 0; k < item->call->count; k++)
        if (item->call->arguments[k] == number)
            return true;
    return item->call->result == number;
}

/* A section in work. How often each virtual register is mentioned is counted when somebody asks: most of what
 * is looked for is there once, or not at all, and need not be searched for. Whoever changes instructions sees
 * to it that this stays so. */
struct fold {
    struct machine *machine;
    machine_section *section;
    bool is_counted;
};

static int *count_of(const struct fold *fold, int number)
{
    return &fold->machine->registers.items[number - MACHINE_VIRTUAL].items;
}

static inline void count_mention(const struct fold *fold, int number, bool none)
{
    if (number >= MACHINE_VIRTUAL)
        *count_of(fold, number) = none ? 0 : *count_of(fold, number) + 1;
}

/* One more for each register that the item mentions, as often as it does; or none yet. */
static inline void count_item(const struct fold *fold, const struct machine_item *item, bool none)
{
    const struct x86_instruction *instruction = &item->instruction;
    if (!item->call) {
        count_mention(fold, instruction->reg, none);
        count_mention(fold, instruction->vvvv, none);
        count_mention(fold, instruction->has_memory ? 0 : instruction->rm, none);
        count_mention(fold, instruction->fourth, none);
        count_mention(fold, instruction->memory.index, none);
        count_mention(fold, instruction->mask, none);
        return;
    }
    for (int k = 0; k < item->call->count; k++)
        count_mention(fold, item->call->arguments[k], none);
    count_mention(fold, item->call->result, none);
}

/* 2: what makes it, and one use. */
static int mentions_of(struct fold *fold, int number)
{
    for (int turn = 0; turn < 2 && !fold->is_counted; turn++)
        for (int k = 0; k < fold->section->count; k++)
            count_item(fold, &fold->section->items[k], turn == 0);
    fold->is_counted = true;
    return *count_of(fold, number);
}

/* Whether it only computes one register out of others, or of memory. */
static bool is_quiet(const struct machine_item *item)
{
    enum x86_form form = item->instruction.form;
    return !item->call && !x86_is_general(form) && x86_rows[form].role != X86_R &&
           x86_rows[form].shape != X86_MR && x86_rows[form].shape != X86_MRI;
}

static bool is_comparison(enum x86_form form)
{
    switch (form) {
    case X86_VCMPPS_MASK:
    case X86_VCMPPD_MASK:
    case X86_VPCMPD:
    case X86_VPCMPUD:
    case X86_VPCMPQ:
    case X86_VPCMPUQ:
        return true;
    default:
        return false;
    }
}

/* Whether each lane of the result is made of the same lane of the operands, so that lanes that a mask leaves
 * out are not read. */
static bool is_lane_by_lane(enum x86_form form)
{
    switch (form) {
    case X86_VSUBPS:
    case X86_VSUBPD:
    case X86_VDIVPS:
    case X86_VDIVPD:
    case X86_VMINPS:
    case X86_VMINPD:
    case X86_VMAXPS:
    case X86_VMAXPD:
    case X86_VPSUBD:
    case X86_VPSUBQ:
        return true;
    default:
        return commutes(form) || is_comparison(form);
    }
}

/* The predicate that says of b and a what this one says of a and b (Intel's manual, VCMPPS and VPCMPD): those
 * whose two lowest bits are alike tell equality or order and stay; of the others < becomes >, <= becomes >=.
 */
static int swapped(const struct x86_instruction *comparison)
{
    bool floats = comparison->form == X86_VCMPPS_MASK || comparison->form == X86_VCMPPD_MASK;
    int predicate = comparison->immediate, low = predicate & 3;
    return low == 0 || low == 3 ? predicate : predicate ^ (floats ? 15 : 7);
}

/* Makes it say the same of its operands the other way round. */
static bool turn(struct x86_instruction *instruction)
{
    int first = instruction->vvvv;
    if (is_comparison(instruction->form))
        instruction->immediate = swapped(instruction);
    else if (!commutes(instruction->form))
        return false;
    instruction->vvvv = instruction->rm;
    instruction->rm = first;
    return true;
}

/* Instructions that need no more of vectors than their first lanes, and what computes these alone. */
static const struct {
    enum x86_form load, whole, element;
} single[] = {
    {X86_VMOVSS_LOAD, X86_VADDPS, X86_VADDSS},
    {X86_VMOVSS_LOAD, X86_VSUBPS, X86_VSUBSS},
    {X86_VMOVSS_LOAD, X86_VMULPS, X86_VMULSS},
    {X86_VMOVSS_LOAD, X86_VDIVPS, X86_VDIVSS},
    {X86_VMOVSS_LOAD, X86_VMINPS, X86_VMINSS},
    {X86_VMOVSS_LOAD, X86_VMAXPS, X86_VMAXSS},
    {X86_VMOVSS_LOAD, X86_VFMADD231PS, X86_VFMADD231SS},
    {X86_VMOVSS_LOAD, X86_VFMADD213PS, X86_VFMADD213SS},
    {X86_VMOVSS_LOAD, X86_VFNMADD231PS, X86_VFNMADD231SS},
    {X86_VMOVSS_LOAD, X86_VFNMADD213PS, X86_VFNMADD213SS},
    {X86_VMOVSD_LOAD, X86_VADDPD, X86_VADDSD},
    {X86_VMOVSD_LOAD, X86_VSUBPD, X86_VSUBSD},
    {X86_VMOVSD_LOAD, X86_VMULPD, X86_VMULSD},
    {X86_VMOVSD_LOAD, X86_VDIVPD, X86_VDIVSD},
    {X86_VMOVSD_LOAD, X86_VMINPD, X86_VMINSD},
    {X86_VMOVSD_LOAD, X86_VMAXPD, X86_VMAXSD},
    {X86_VMOVSD_LOAD, X86_VFMADD231PD, X86_VFMADD231SD},
    {X86_VMOVSD_LOAD, X86_VFMADD213PD, X86_VFMADD213SD},
    {X86_VMOVSD_LOAD, X86_VFNMADD231PD, X86_VFNMADD231SD},
    {X86_VMOVSD_LOAD, X86_VFNMADD213PD, X86_VFNMADD213SD},
};

static bool is_single(enum x86_form form)
{
    return form == X86_VMOVSS_LOAD || form == X86_VMOVSD_LOAD;
}

/* The form that reads what the load does; X86_NO_FORM: there is none. */
static enum x86_form form_that_takes(enum x86_form form, const struct x86_instruction *load)
{
    if (!is_single(load->form))
        return form;
    for (size_t k = 0; k < sizeof single / sizeof *single; k++)
        if (single[k].load == load->form && single[k].whole == form && !load->mask)
            return single[k].element;
    return X86_NO_FORM;
}

int machine_lane_bytes(enum x86_form form)
{
    for (size_t k = 0; k < sizeof single / sizeof *single; k++)
        if (single[k].element == form)
            return single[k].load == X86_VMOVSS_LOAD ? 4 : 8;
    return 0;
}

/* Makes the load an operand of the instruction, the last one. */
static bool take(struct x86_instruction *instruction, const struct x86_instruction *load)
{
    enum x86_form form = form_that_takes(instruction->form, load);
    const struct x86_row *row = &x86_rows[instruction->form];
    int number = load->reg;
    bool reads_memory = row->shape == X86_RM || row->shape == X86_RVM || row->shape == X86_RVMI;
    if (instruction->form == X86_VMOVAPS /* takes aligned memory alone */ || instruction->has_memory ||
        instruction->mask != load->mask || (load->mask && !is_lane_by_lane(instruction->form)) ||
        (instruction->bits != load->bits && !is_single(load->form)) || form == X86_NO_FORM || !reads_memory ||
        row->rm != X86_V || row->reg == X86_D /* vmovmskps */ || instruction->reg == number ||
        instruction->fourth == number)
        return false;
    if (instruction->vvvv == number && instruction->rm != number && !turn(instruction))
        return false;
    if (instruction->rm != number || (row->shape != X86_RM && instruction->vvvv == number))
        return false;
    instruction->form = form;
    instruction->has_memory = true;
    instruction->memory = load->memory;
    return true;
}

static bool is_load(const struct machine *machine, const struct machine_item *item)
{
    const struct x86_instruction *load = &item->instruction;
    return !item->call &&
           (load->form == X86_VMOVUPS_LOAD || load->form == X86_VMOVUPD_LOAD ||
            (machine->lanes == 1 && is_single(load->form))) &&
           load->has_memory && load->reg >= MACHINE_VIRTUAL && load->memory.index < MACHINE_VIRTUAL &&
           !machine->registers.items[load->reg - MACHINE_VIRTUAL].kept;
}

/* The only use of the load's register, if it is near and can take the load; else -1. */
static int find_use(struct fold *fold, int position)
{
    const machine_section *section = fold->section;
    int number = section->items[position].instruction.reg, use = -1;
    if (mentions_of(fold, number) != 2)
        return -1;
    for (int k = position + 1; k < section->count && k <= position + NEAR && use < 0; k++)
        if (mentions(&section->items[k], number))
            use = k;
    int mask = section->items[position].instruction.mask;
    for (int k = position + 1; k < use; k++)
        if (!is_quiet(&section->items[k]) || (mask && section->items[k].instruction.reg == mask))
            return -1;
    return use >= 0 && is_quiet(&section->items[use]) ? use : -1;
}

/* The comparison that makes the mask, where that is made for the inversion alone; or -1. */
static int find_comparison(struct fold *fold, int inversion)
{
    const struct machine *machine = fold->machine;
    const machine_section *section = fold->section;
    int number = section->items[inversion].instruction.rm, made = -1;
    if (number < MACHINE_VIRTUAL || machine->registers.items[number - MACHINE_VIRTUAL].kept ||
        mentions_of(fold, number) != 2)
        return -1;
    for (int k = inversion - 1; k >= 0 && made < 0; k--)
        if (mentions(&section->items[k], number))
            made = k;
    const struct machine_item *item = made < 0 ? NULL : &section->items[made];
    return item && !item->call && !item->instruction.mask && item->instruction.reg == number &&
                   is_comparison(item->instruction.form)
               ? made
               : -1;
}

static bool is_inversion(const struct machine *machine, const struct machine_item *item)
{
    return !item->call && item->instruction.form == X86_KNOTQ && item->instruction.reg >= MACHINE_VIRTUAL &&
           !machine->registers.items[item->instruction.reg - MACHINE_VIRTUAL].kept;
}

/* Comparisons whose opposite is asked for compare so. */
static void invert(struct fold *fold)
{
    enum { OPPOSITE = 4 /* of predicates of floats and of integers */ };
    machine_section *section = fold->section;
    for (int k = section->count - 1; k > 0; k--) {
        int made = is_inversion(fold->machine, &section->items[k]) ? find_comparison(fold, k) : -1;
        if (made < 0)
            continue;
        section->items[made].instruction.reg = section->items[k].instruction.reg;
        section->items[made].instruction.immediate ^= OPPOSITE;
        section->count--;
        memmove(&section->items[k], &section->items[k + 1],
                (size_t)(section->count - k) * sizeof *section->items);
    }
}

/* ---- what is added to a product ---------------------------------------------------------------- */

/* The forms that multiply what they overwrite. */
static enum x86_form form_of_factor(enum x86_form form)
{
    switch (form) {
    case X86_VFMADD231PS:
        return X86_VFMADD213PS;
    case X86_VFMADD231PD:
        return X86_VFMADD213PD;
    case X86_VFMSUB231PS:
        return X86_VFMSUB213PS;
    case X86_VFMSUB231PD:
        return X86_VFMSUB213PD;
    case X86_VFNMADD231PS:
        return X86_VFNMADD213PS;
    case X86_VFNMADD231PD:
        return X86_VFNMADD213PD;
    default:
        return X86_NO_FORM;
    }
}

/* The copy that the product at a position is added to, or -1. */
static int find_copy(const machine_section *section, int position)
{
    int number = section->items[position].instruction.reg, k = position - 1;
    while (k >= 0 && k + NEAR > position && !mentions(&section->items[k], number))
        k--;
    if (k < 0 || !mentions(&section->items[k], number))
        return -1;
    const struct x86_instruction *copy = &section->items[k].instruction;
    return !section->items[k].call && copy->form == X86_VMOVAPS && !copy->has_memory && !copy->mask &&
                   copy->reg == number && copy->bits == section->items[position].instruction.bits
               ? k
               : -1;
}

/* The load of a register whose first use is at a position, or -1. */
static int find_load(const struct machine *machine, const machine_section *section, int position, int number)
{
    for (int k = position - 1; k >= 0 && k + NEAR > position; k--)
        if (mentions(&section->items[k], number))
            return is_load(machine, &section->items[k]) && section->items[k].instruction.reg == number ? k
                                                                                                       : -1;
    return -1;
}

/* Whether a factor may be overwritten: nothing needs it behind its product, and it is there where the copy is
 * made. */
static bool may_overwrite(const struct machine *machine, const machine_section *section, int copy,
                          int product, int number)
{
    if (number < MACHINE_VIRTUAL || machine->registers.items[number - MACHINE_VIRTUAL].kept)
        return false;
    for (int k = copy; k < section->count; k++)
        if (k != product && mentions(&section->items[k], number))
            return false;
    return true;
}

/* x * y + c, where c is loaded for it alone, reads c from memory and overwrites a factor that has had its
 * time. Where both factors come from registers that is one instruction less; and Zen 5 is a fifth slower in
 * L1 where what is added is loaded before the factors (axpy). */
static void add_from_memory(struct fold *fold)
{
    const struct machine *machine = fold->machine;
    machine_section *section = fold->section;
    for (int k = 0; k < section->count; k++) {
        struct x86_instruction *product = &section->items[k].instruction;
        if (section->items[k].call || product->mask || product->has_memory ||
            form_of_factor(product->form) == X86_NO_FORM || product->vvvv == product->rm)
            continue;
        int copy = find_copy(section, k);
        int added = copy < 0 ? 0 : section->items[copy].instruction.rm;
        int load = copy < 0 ? -1 : find_load(machine, section, copy, added);
        if (load < 0 || section->items[load].instruction.mask || find_use(fold, load) != copy ||
            product->vvvv == added || product->rm == added)
            continue;
        int x = product->vvvv, y = product->rm;
        if (!may_overwrite(machine, section, copy, k, x)) {
            x = product->rm;
            y = product->vvvv;
        }
        if (!may_overwrite(machine, section, copy, k, x))
            continue;
        section->items[copy].instruction.rm = x;
        product->form = form_of_factor(product->form);
        product->vvvv = y;
        product->rm = added;
    }
}

/* ---- two operations on bits ------------------------------------------------------------------------- */

enum bits_operation { BITS_NONE, BITS_AND, BITS_OR, BITS_XOR };

static enum bits_operation bits_of(const struct machine_item *item)
{
    const struct x86_instruction *instruction = &item->instruction;
    if (item->call || instruction->mask || instruction->has_memory)
        return BITS_NONE;
    switch (instruction->form) {
    case X86_VANDPS:
    case X86_VANDPD:
        return BITS_AND;
    case X86_VORPS:
    case X86_VORPD:
        return BITS_OR;
    case X86_VXORPS:
    case X86_VXORPD:
        return BITS_XOR;
    default:
        return BITS_NONE;
    }
}

static bool apply_bits(enum bits_operation operation, bool a, bool b)
{
    return operation == BITS_AND ? a && b : operation == BITS_OR ? a || b : a != b;
}

/* What each bit becomes, by the bits of c, x and y: the outer operation on c and the inner one on x and y. */
static int table_of(enum bits_operation inner, enum bits_operation outer)
{
    int table = 0;
    for (int k = 0; k < 8; k++)
        table |= apply_bits(outer, apply_bits(inner, k >> 1 & 1, k & 1), k >> 2) << k;
    return table;
}

/* The operation whose result only the one at a position uses, both of whose operands are still there; -1. */
static int find_inner(struct fold *fold, int position, int number)
{
    const struct machine *machine = fold->machine;
    const machine_section *section = fold->section;
    int made = position - 1;
    if (number < MACHINE_VIRTUAL || machine->registers.items[number - MACHINE_VIRTUAL].kept ||
        mentions_of(fold, number) != 2)
        return -1;
    while (made >= 0 && made + NEAR >= position && !mentions(&section->items[made], number))
        made--;
    if (made < 0 || made + NEAR < position || bits_of(&section->items[made]) == BITS_NONE ||
        section->items[made].instruction.reg != number ||
        section->items[made].instruction.bits != section->items[position].instruction.bits)
        return -1;
    const struct x86_instruction *inner = &section->items[made].instruction;
    for (int k = made + 1; k < position; k++)
        if (!is_quiet(&section->items[k]) || section->items[k].instruction.reg == inner->vvvv ||
            section->items[k].instruction.reg == inner->rm)
            return -1;
    return made;
}

/* Two operations on bits are one, into a copy of what the outer one has besides; a copy takes no time. */
static void join_bits(struct fold *fold)
{
    machine_section *section = fold->section;
    for (int k = 1; k < section->count; k++) {
        struct x86_instruction *outer = &section->items[k].instruction;
        enum bits_operation operation = bits_of(&section->items[k]);
        if (operation == BITS_NONE || outer->vvvv == outer->rm)
            continue;
        int made = find_inner(fold, k, outer->vvvv), other = outer->rm;
        if (made < 0) {
            made = find_inner(fold, k, outer->rm);
            other = outer->vvvv;
        }
        if (made < 0)
            continue;
        struct x86_instruction joined = section->items[made].instruction;
        int result = outer->reg;
        if (result == joined.vvvv || result == joined.rm)
            continue;
        joined.form = X86_VPTERNLOGD;
        joined.immediate = table_of(bits_of(&section->items[made]), operation);
        joined.reg = result;
        memmove(&section->items[made], &section->items[made + 1],
                (size_t)(k - 1 - made) * sizeof *section->items);
        section->items[k - 1] = section->items[k];
        section->items[k - 1].instruction = (struct x86_instruction){
            .form = X86_VMOVAPS, .bits = joined.bits, .line = joined.line, .reg = result, .rm = other};
        section->items[k].instruction = joined;
        ++*count_of(fold, result);
    }
}

/* The item moves forward, unless it is there. */
static void keep_item(machine_section *section, int to, int from)
{
    if (to != from)
        section->items[to] = section->items[from];
}

void machine_fold(struct machine *machine, machine_section *section)
{
    enum { LONGEST = 1500 /* what may be overwritten is looked for in all of it */ };
    int count = 0;
    if (section->count > LONGEST)
        return;
    struct fold fold = {.machine = machine, .section = section};
    invert(&fold);
    if (machine_is_avx512(machine))
        join_bits(&fold);
    add_from_memory(&fold);
    for (int k = 0; k < section->count; k++) {
        int use = is_load(machine, &section->items[k]) ? find_use(&fold, k) : -1;
        if (use < 0 || !take(&section->items[use].instruction, &section->items[k].instruction))
            keep_item(section, count++, k);
    }
    section->count = count;
}

/*
 * vector_x86_scan.c: what lanes come to from the first one on, and how it goes on from vector to vector.
 *
 * Consumes a SCAN's term in lanes; appends instructions for AVX2. Each lane is taken together with the one
 * before it, then with what is two before it, then the upper half with the last lane of the lower one: so the
 * lanes hold what their vector comes to, and what all vectors before came to, which is in every lane of the
 * partial result, is put to it last. From one vector to the next there is but one operation, as the whole
 * vector's is taken apart from the sum: the rest overlaps.
 *
 * Which is put to which does not hang on the machine: with AVX-512 such loops are of AVX2, too
 * (vector_x86.c).
 */
#include "vector_x86_operation.h"

struct scan {
    struct machine *machine;
    const struct vector_value *value;
    const struct vector_accumulator *row;
    int bits;
    bool wide; /* elements of 8 bytes */
    int identity;
};

/* Lanes out of the 16 bytes that they are in themselves, four of 4 bytes or two of 8 by `pattern`. */
static int within(const struct scan *scan, int a, int pattern)
{
    return machine_rvmi(scan->machine, scan->wide ? X86_VSHUFPD : X86_VSHUFPS, scan->bits, a, a, pattern);
}

/* The lanes of b where `lanes` has a bit, those of a elsewhere. */
static int blend(const struct scan *scan, int a, int b, int lanes)
{
    return machine_rvmi(scan->machine, scan->wide ? X86_VBLENDPD : X86_VBLENDPS, scan->bits, a, b,
                        scan->bits == 128 ? lanes & 0xf : lanes);
}

/* The lower half in both, or the upper one. */
static int half(const struct scan *scan, int a, bool upper)
{
    return machine_rvmi(scan->machine, X86_VPERM2F128, scan->bits, a, a, upper ? 0x11 : 0);
}

/* Lanes that have none before them stay: by the operation on what leaves them as they are, or on themselves.
 */
static int without(const struct scan *scan, int a, int lanes)
{
    enum operation operation = scan->value->operation;
    bool by_itself =
        operation == OP_MIN || operation == OP_MAX || operation == OP_BITAND || operation == OP_BITOR;
    return by_itself ? a : blend(scan, a, scan->identity, lanes);
}

/* `a` comes before `b`. */
static int combine(const struct scan *scan, int a, int b)
{
    const struct vector_value *value = scan->value;
    if (scan->row->is_quiet)
        return machine_quiet_extreme(scan->machine, scan->row, scan->bits, a, b);
    return machine_combine(scan->machine, value->operation, value->dtype, scan->bits, a, b);
}

/* In each 16 bytes the last lane. */
static int last_of(const struct scan *scan, int a)
{
    return within(scan, a, scan->wide ? 0xf : 0xff);
}

/* What the vector's lanes come to from the first one on. */
static int within_vector(const struct scan *scan, int a)
{
    if (scan->wide) {
        a = combine(scan, without(scan, within(scan, a, 0), 0x5), a);
    } else {
        enum { BY_ONE = 0x90, BY_TWO = 0x44 };
        a = combine(scan, without(scan, within(scan, a, BY_ONE), 0x11), a);
        a = combine(scan, without(scan, within(scan, a, BY_TWO), 0x33), a);
    }
    if (scan->bits == 128)
        return a;
    int lower = half(scan, last_of(scan, a), false);
    return combine(scan, blend(scan, lower, scan->identity, scan->wide ? 0x3 : 0xf), a);
}

/* One lane on; the first is that of `first`. */
static int moved_on(const struct scan *scan, int a, int first)
{
    if (scan->wide)
        return blend(scan, machine_rmi(scan->machine, X86_VPERMPD_BY, scan->bits, a, 0x90), first, 0x1);
    int moved = within(scan, a, 0x90);
    if (scan->bits == 256)
        moved = blend(scan, moved, last_of(scan, half(scan, a, false)), 0x10);
    return blend(scan, moved, first, 0x1);
}

static bool has_before(const struct vector_loop *loop, int slot)
{
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_BEFORE && loop->values.items[k].slot == slot)
            return true;
    return false;
}

/* In every lane the last of all. */
static int last_of_all(const struct scan *scan, int lanes)
{
    int all = last_of(scan, lanes);
    return scan->bits == 256 ? half(scan, all, true) : all;
}

static struct scan begin(struct machine *machine, const struct vector_value *value)
{
    return (struct scan){
        .machine = machine,
        .value = value,
        .row = &machine->loop->accumulators.items[value->slot],
        .bits = machine_bits(machine, value->type),
        .wide = vector_type_is_wide(value->type),
        .identity = machine_constant(machine, value->type, machine_identity(value->operation, value->dtype))};
}

/* What a term that stays the same (`s = s * g`) comes to in a vector, which is the same in each round of the
 * loop: in its lanes, in those moved on by one, and in all vectors up to it and with it. */
enum { SCANNED_LANES, SCANNED_BEFORE, SCANNED_ALL, SCANNED };

static int scanned(const struct scan *scan, int term, int part, int step)
{
    int number = (scan->value->slot * MACHINE_PARTIALS + step) * SCANNED + part;
    return machine_keep(scan->machine, KEPT_SCANNED, scan->value->type, term, (uint64_t)number);
}

/* Of the first vector; others go on from all before them, which has been kept first, as have its lanes. */
static int first_scanned(const struct scan *scan, int term, int part)
{
    if (part == SCANNED_LANES)
        return within_vector(scan, term);
    int lanes = scanned(scan, term, SCANNED_LANES, 0);
    return part == SCANNED_ALL ? last_of_all(scan, lanes) : moved_on(scan, lanes, scan->identity);
}

void machine_setup_scanned(struct machine *machine, const struct machine_kept *kept)
{
    const struct vector_loop *loop = machine->loop;
    int part = (int)kept->bits % SCANNED, step = (int)kept->bits / SCANNED % MACHINE_PARTIALS;
    int accumulator = (int)kept->bits / SCANNED / MACHINE_PARTIALS, number = 0, term = kept->number;
    while (loop->values.items[number].kind != VECTOR_SCAN || loop->values.items[number].slot != accumulator)
        number++;
    machine->is_late = true; /* constants of the loop may be set up behind this */
    const struct scan scan = begin(machine, &loop->values.items[number]);
    int result = step == 0 ? first_scanned(&scan, term, part)
                           : combine(&scan, scanned(&scan, term, SCANNED_ALL, step - 1),
                                     scanned(&scan, term, part, 0));
    machine->is_late = false;
    machine_into(machine, X86_VMOVAPS, scan.bits, kept->virtual_register, 0, result, 0);
}

/* So far and what it comes to there. */
static int with_scanned(const struct scan *scan, int so_far, int term, int part, int step)
{
    scanned(scan, term, SCANNED_LANES, 0);
    for (int k = 0; k < step; k++)
        scanned(scan, term, SCANNED_ALL, k);
    scanned(scan, term, part, 0);
    return machine_normal(scan->machine, scan->value->dtype,
                          combine(scan, so_far, scanned(scan, term, part, step)));
}

/* Whether somebody wants to know what the lanes become, and not only what they were. */
static bool is_wanted(const struct scan *scan)
{
    const struct vector_loop *loop = scan->machine->loop;
    int number = (int)(scan->value - loop->values.items);
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind != VECTOR_BEFORE && (value->operands[0] == number || value->operands[1] == number ||
                                             value->operands[2] == number || value->mask == number))
            return true;
    }
    return false;
}

/* From one round of vectors to the next there is one operation. */
static int scan_same(const struct scan *scan, int so_far, int term, int step, int *before)
{
    struct machine *machine = scan->machine;
    bool is_round = machine->round > 1, is_last = !is_round || step == machine->round - 1;
    int place = is_round ? step : 0,
        result = is_wanted(scan) ? with_scanned(scan, so_far, term, SCANNED_LANES, place) : so_far;
    if (has_before(machine->loop, scan->value->slot))
        *before = with_scanned(scan, so_far, term, SCANNED_BEFORE, place);
    if (is_last)
        machine_put(machine, scan->value->type, so_far, with_scanned(scan, so_far, term, SCANNED_ALL, place),
                    0);
    return result;
}

int machine_scan(struct machine *machine, const struct vector_value *value, int term, int mask, int step,
                 int *before)
{
    akg_dtype dtype = value->dtype;
    const struct scan scan = begin(machine, value);
    int so_far = machine_keep(machine, KEPT_PARTIAL, value->type, value->slot, 0);
    if (!mask && vector_scan_stays(machine->loop, value))
        return scan_same(&scan, so_far, term, step, before);
    if (mask)
        term = machine_select(machine, value->type, mask, term, scan.identity);
    if (scan.row->is_quiet) /* nan is no better than anything */
        term = combine(&scan, scan.identity, term);
    int lanes = within_vector(&scan, term), all = last_of_all(&scan, lanes);
    int result = machine_normal(machine, dtype, combine(&scan, so_far, lanes));
    if (has_before(machine->loop, value->slot))
        *before = moved_on(&scan, result, so_far);
    machine_put(machine, value->type, so_far, machine_normal(machine, dtype, combine(&scan, so_far, all)), 0);
    return result;
}

void machine_scan_result(struct machine *machine, int accumulator)
{
    const struct vector_accumulator *row = &machine->loop->accumulators.items[accumulator];
    bool wide = vector_type_is_wide(row->type);
    machine_add(machine, (struct x86_instruction){
                             .form = wide ? X86_VMOVSD_STORE : X86_VMOVSS_STORE,
                             .bits = 128,
                             .reg = machine_keep(machine, KEPT_PARTIAL, row->type, accumulator, 0),
                             .has_memory = true,
                             .memory = machine_slot(machine, row->slot)});
}

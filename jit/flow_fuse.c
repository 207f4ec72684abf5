/*
 * flow_fuse.c: products that are added to something are not rounded.
 *
 * Consumes the items of code with branches, one behind the other; of those sums and differences of floats
 * that have a product for an operand, made since the last place where ways meet and used nowhere else, each
 * becomes one item with it. Assumes that results need not be the interpreter's to the bit
 * (vector_options.strict).
 */
#include "flow_private.h"

enum { NEAR = 100 /* items between the product and the sum, at most */, SEVERAL = -2 };

enum { ADDED, LESS, TAKEN, WAYS }; /* x * y + z, x * y - z, z - x * y */

static const struct {
    enum x86_form product, sum, difference;
    enum x86_form onto_sum[WAYS], onto_factor[WAYS];
} kinds[] = {
    {X86_VMULSS,
     X86_VADDSS,
     X86_VSUBSS,
     {X86_VFMADD231SS, X86_VFMSUB231SS, X86_VFNMADD231SS},
     {X86_VFMADD213SS, X86_VFMSUB213SS, X86_VFNMADD213SS}},
    {X86_VMULSD,
     X86_VADDSD,
     X86_VSUBSD,
     {X86_VFMADD231SD, X86_VFMSUB231SD, X86_VFNMADD231SD},
     {X86_VFMADD213SD, X86_VFMSUB213SD, X86_VFNMADD213SD}},
    {X86_VMULPS,
     X86_VADDPS,
     X86_VSUBPS,
     {X86_VFMADD231PS, X86_VFMSUB231PS, X86_VFNMADD231PS},
     {X86_VFMADD213PS, X86_VFMSUB213PS, X86_VFNMADD213PS}},
    {X86_VMULPD,
     X86_VADDPD,
     X86_VSUBPD,
     {X86_VFMADD231PD, X86_VFMSUB231PD, X86_VFNMADD231PD},
     {X86_VFMADD213PD, X86_VFMSUB213PD, X86_VFNMADD213PD}},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

enum x86_form flow_fused_form(bool is_packed, bool wide)
{
    return kinds[2 * is_packed + wide].onto_sum[ADDED];
}

enum x86_form flow_onto_factor(enum x86_form onto_sum)
{
    for (int k = 0; k < KINDS; k++)
        for (int way = 0; way < WAYS; way++)
            if (kinds[k].onto_sum[way] == onto_sum)
                return kinds[k].onto_factor[way];
    return X86_NO_FORM;
}

/* Of a value: the item that makes it, FLOW_NONE or SEVERAL; how many use it; how many operations it waits for
 * behind what loops hand on, 0: for none. */
struct note {
    int made, uses, waits;
};

static void note_item(const struct flow_code *code, struct note *notes, int at)
{
    const struct flow_item *item = &code->items.items[at];
    int waits = 0;
    for (int k = 0; k < FLOW_OPERANDS; k++)
        if (item->operands[k] >= 0) {
            struct note *operand = &notes[item->operands[k]];
            operand->uses++;
            waits = operand->waits > waits ? operand->waits : waits;
        }
    if (item->result < 0)
        return;
    struct note *result = &notes[item->result];
    result->made = result->made == FLOW_NONE ? at : SEVERAL;
    result->waits = code->values.items[item->result].is_variable ? 1 : waits ? waits + 1 : 0;
}

static struct note *find_notes(const struct flow_code *code, struct arena *arena)
{
    struct note *notes = arena_array(arena, struct note, code->values.count + 1);
    for (int k = 0; k < code->values.count; k++)
        notes[k] = (struct note){.made = FLOW_NONE, .waits = code->values.items[k].is_variable};
    for (int at = 0; at < code->items.count; at++)
        note_item(code, notes, at);
    return notes;
}

static bool changes(const struct flow_item *item, const struct flow_item *product)
{
    return item->kind == FLOW_CALL || (item->result >= 0 && (item->result == product->operands[0] ||
                                                             item->result == product->operands[1]));
}

/* Whether the operand is a product that can be part of the item at a place, behind `since`. */
static bool is_free(const struct flow_code *code, const struct note *notes, int at, int operand, int since,
                    enum x86_form form)
{
    const struct flow_item *items = code->items.items;
    int made = operand < 0 ? FLOW_NONE : notes[operand].made;
    if (made < since || at - made > NEAR || notes[operand].uses != 1 ||
        code->values.items[operand].is_variable || items[made].kind != FLOW_FLOAT ||
        items[made].form != form || items[made].bits != items[at].bits)
        return false;
    for (int k = made + 1; k < at; k++)
        if (changes(&items[k], &items[made]))
            return false;
    return true;
}

/* Which operand of the sum: of two the one that is known last, for the other one is there by then
 * (`v = a * x[i] + b * v`); none where what it is added to is: that waits for an addition alone, which takes
 * less than a fused product on some processors. FLOW_NONE: neither. */
static int choose(const struct flow_code *code, const struct note *notes, int at, int since,
                  enum x86_form form)
{
    const struct flow_item *sum = &code->items.items[at];
    bool frees[2];
    for (int side = 0; side < 2; side++)
        frees[side] = is_free(code, notes, at, sum->operands[side], since, form);
    if (sum->operands[0] == sum->operands[1] || (!frees[0] && !frees[1]))
        return FLOW_NONE;
    int waits[2] = {notes[sum->operands[0]].waits, notes[sum->operands[1]].waits};
    int side = frees[0] && !(frees[1] && waits[1] > waits[0]) ? 0 : 1;
    return waits[!side] > waits[side] ? FLOW_NONE : side;
}

/* The sum takes the product in, which is left to be dropped. */
static void fuse(struct flow_code *code, const struct note *notes, int at, int side, int kind, bool *dropped)
{
    struct flow_item *sum = &code->items.items[at];
    int made = notes[sum->operands[side]].made, other = sum->operands[!side];
    const struct flow_item *product = &code->items.items[made];
    sum->kind = FLOW_FUSED;
    sum->form = kinds[kind].onto_sum[sum->form == kinds[kind].sum ? ADDED : side == 0 ? LESS : TAKEN];
    sum->operands[0] = product->operands[0];
    sum->operands[1] = product->operands[1];
    sum->operands[2] = other;
    dropped[made] = true;
}

static int kind_of(const struct flow_item *item)
{
    for (int k = 0; k < KINDS && item->kind == FLOW_FLOAT; k++)
        if (item->form == kinds[k].sum || item->form == kinds[k].difference)
            return k;
    return FLOW_NONE;
}

void flow_fuse(struct flow_code *code, struct arena *arena)
{
    struct note *notes = find_notes(code, arena);
    bool *dropped = arena_array(arena, bool, code->items.count + 1);
    int since = 0, kept = 0;
    for (int at = 0; at < code->items.count; at++) {
        int kind = kind_of(&code->items.items[at]);
        int side = kind < 0 ? FLOW_NONE : choose(code, notes, at, since, kinds[kind].product);
        if (code->items.items[at].kind == FLOW_PLACE)
            since = at + 1;
        if (side >= 0)
            fuse(code, notes, at, side, kind, dropped);
    }
    for (int at = 0; at < code->items.count; at++)
        if (!dropped[at])
            code->items.items[kept++] = code->items.items[at];
    code->items.count = kept;
}

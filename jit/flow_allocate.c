/*
 * flow_allocate.c: registers for the values of a loop with branches; see flow.h.
 *
 * Consumes the items in their order; gives each value a register, or none: then it lives in the frame. A
 * value lives from where it is first made to where it is last used, and where a loop uses what was made
 * before it, to the end of that loop. Values of inner loops choose first, and of one depth those that are
 * used most for as long as they live: what is made and used at once keeps a register from nobody else. What
 * lives across a call has a register that functions preserve, of which there are none for floats.
 */
#include "flow_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- lives ------------------------------------------------------------------------------------ */

static void touch(struct flow_code *code, int value, int at, const struct flow_item *item)
{
    if (value < 0)
        return;
    struct flow_value *entry = &code->values.items[value];
    double weight = 1;
    for (int k = 0; k < item->depth; k++)
        weight *= 8;
    if (entry->first < 0)
        entry->first = at;
    if (entry->last < at)
        entry->last = at;
    entry->weight += weight;
    if (entry->depth < item->depth)
        entry->depth = item->depth;
}

static void find_lives(struct flow_code *code)
{
    for (int at = 0; at < code->items.count; at++) {
        const struct flow_item *item = &code->items.items[at];
        for (int k = 0; k < FLOW_OPERANDS; k++)
            touch(code, item->operands[k], at, item);
        touch(code, item->memory.base, at, item);
        touch(code, item->memory.index, at, item);
        touch(code, item->result, at, item);
        touch(code, item->rest, at, item);
        for (const struct flow_around *around = item->around; around; around = around->outer)
            touch(code, around->value, at, &(struct flow_item){.depth = 0});
    }
    /* made, a value takes a register, whoever uses it */
    for (int k = 0; k < code->values.count; k++)
        if (code->values.items[k].last == code->values.items[k].first)
            code->values.items[k].last++;
    code->values.items[code->slots].first = 0; /* until the end, if it may stop anywhere */
    for (int at = 0; at < code->items.count; at++)
        if (code->items.items[at].kind == FLOW_STOP_IF)
            code->values.items[code->slots].last = code->items.count;
}

/* The items between which loops go round, inner ones first. */
static void find_ranges(struct flow_code *code, struct arena *arena)
{
    int *places = arena_array(arena, int, code->labels + 1);
    for (int k = 0; k < code->labels; k++)
        places[k] = -1;
    for (int at = 0; at < code->items.count; at++) {
        const struct flow_item *item = &code->items.items[at];
        bool jumps =
            item->kind == FLOW_JUMP || item->kind == FLOW_COMPARE_JUMP || item->kind == FLOW_FLOAT_JUMP;
        if (item->kind == FLOW_PLACE)
            places[item->label] = at;
        else if (jumps && places[item->label] >= 0)
            list_push(arena, &code->ranges, ((struct flow_range){places[item->label], at}));
    }
}

static void stretch_lives(struct flow_code *code)
{
    for (int k = 0; k < code->ranges.count; k++) {
        struct flow_range range = code->ranges.items[k];
        for (int j = 0; j < code->values.count; j++) {
            struct flow_value *value = &code->values.items[j];
            if (value->first >= 0 && value->first < range.first && value->last > range.first &&
                value->last < range.last)
                value->last = range.last;
        }
    }
}

static void find_calls(struct flow_code *code)
{
    for (int at = 0; at < code->items.count; at++)
        for (int k = 0; code->items.items[at].kind == FLOW_CALL && k < code->values.count; k++)
            if (code->values.items[k].first < at && code->values.items[k].last > at)
                code->values.items[k].crosses_call = true;
}

/* ---- registers ------------------------------------------------------------------------------------ */

/* Those that functions preserve come first for what lives across calls, the others for the rest. */
static const int general_registers[] = {X86_RSI, X86_RDI, X86_R8,  X86_R9,  X86_R10, X86_R11,
                                        X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
enum {
    GENERAL_COUNT = sizeof general_registers / sizeof *general_registers,
    PRESERVED_FROM = 6,
    REGISTERS = 16
};

struct allocation {
    struct flow_code *code;
    int last_in[2][REGISTERS]; /* by class and register: the last value that got it, linked by `before` */
    int *before;
};

static bool is_free(const struct allocation *allocation, int number, const struct flow_value *value)
{
    for (int k = allocation->last_in[value->is_float][number]; k >= 0; k = allocation->before[k]) {
        const struct flow_value *other = &allocation->code->values.items[k];
        if (other->first < value->last && value->first < other->last)
            return false;
    }
    return true;
}

static void take(struct allocation *allocation, int k, int number)
{
    struct flow_value *value = &allocation->code->values.items[k];
    value->at = number;
    allocation->before[k] = allocation->last_in[value->is_float][number];
    allocation->last_in[value->is_float][number] = k;
}

static void choose(struct allocation *allocation, int k, int wished)
{
    const struct flow_value *value = &allocation->code->values.items[k];
    if (value->is_float && value->crosses_call)
        return;
    bool may_have_wish = wished >= 0;
    for (int n = 0; n < PRESERVED_FROM && value->crosses_call; n++)
        may_have_wish = may_have_wish && general_registers[n] != wished;
    if (may_have_wish && is_free(allocation, wished, value)) {
        take(allocation, k, wished);
        return;
    }
    int count = value->is_float ? FLOW_SCRATCH_FLOAT : GENERAL_COUNT;
    for (int n = value->crosses_call ? PRESERVED_FROM : 0; n < count; n++) {
        int number = value->is_float ? n : general_registers[n];
        if (is_free(allocation, number, value)) {
            take(allocation, k, number);
            return;
        }
    }
}

struct ordered {
    int depth;
    double weight; /* for each item that it lives through */
    int number;
};

static int compare_ordered(const void *first, const void *second)
{
    const struct ordered *a = first, *b = second;
    if (a->depth != b->depth)
        return a->depth < b->depth ? 1 : -1;
    if (a->weight != b->weight)
        return a->weight < b->weight ? 1 : -1;
    return a->number > b->number ? 1 : a->number < b->number ? -1 : 0;
}

/* Of what is moved: where the other side already is. */
static int *find_partners(const struct flow_code *code, struct arena *arena)
{
    int *partners = arena_array(arena, int, code->values.count);
    for (int k = 0; k < code->values.count; k++)
        partners[k] = -1;
    for (int at = 0; at < code->items.count; at++) {
        const struct flow_item *item = &code->items.items[at];
        bool moves = item->kind == FLOW_MOVE || item->kind == FLOW_ALU || item->kind == FLOW_SHIFT_BY;
        int from = item->kind == FLOW_FUSED ? item->operands[2] : moves ? item->operands[0] : FLOW_NONE;
        if (from >= 0) {
            partners[item->result] = from;
            partners[from] = item->result;
        }
    }
    return partners;
}

void flow_allocate(struct flow_code *code, struct arena *arena)
{
    struct allocation allocation = {.code = code, .before = arena_array(arena, int, code->values.count)};
    memset(allocation.last_in, -1, sizeof allocation.last_in);
    find_lives(code);
    find_ranges(code, arena);
    stretch_lives(code);
    find_calls(code);
    struct ordered *order = arena_array(arena, struct ordered, code->values.count);
    for (int k = 0; k < code->values.count; k++) {
        const struct flow_value *value = &code->values.items[k];
        order[k] = (struct ordered){value->depth, value->weight / (value->last - value->first + 1), k};
    }
    qsort(order, (size_t)code->values.count, sizeof *order, compare_ordered);
    int *partners = find_partners(code, arena);
    for (int k = 0; k < code->values.count; k++) {
        int number = order[k].number, partner = partners[number];
        if (code->values.items[number].first >= 0)
            choose(&allocation, number, partner >= 0 ? code->values.items[partner].at : -1);
    }
}

/*
 * flow_layout.c: fewer jumps that are taken, in a loop with branches; see flow.h.
 *
 * Consumes the items in their order, labels and all; produces them with jumps to jumps going where those go,
 * and, in the place of a jump to the few items with which a loop begins anew, these items. What a branch
 * would go around is then the way on, and each branch has its own jump back, which the processor foresees by
 * itself.
 */
#include "flow_private.h"

enum { LONGEST_END = 4 /* items */, MOST_STEPS = 8 /* from jump to jump */ };

/* Where the labels are; -1: not in this code. */
static int *find_places(struct arena *arena, const struct flow_code *code)
{
    int *places = arena_array(arena, int, code->labels + 1);
    for (int k = 0; k < code->labels; k++)
        places[k] = -1;
    for (int k = 0; k < code->items.count; k++)
        if (code->items.items[k].kind == FLOW_PLACE)
            places[code->items.items[k].label] = k;
    return places;
}

static int behind_labels(const struct flow_code *code, int at)
{
    while (at < code->items.count && code->items.items[at].kind == FLOW_PLACE)
        at++;
    return at;
}

static bool is_jump(const struct flow_item *item)
{
    return item->kind == FLOW_JUMP && item->form == X86_JMP;
}

static bool has_label(const struct flow_item *item)
{
    return item->kind == FLOW_JUMP || item->kind == FLOW_COMPARE_JUMP || item->kind == FLOW_FLOAT_JUMP;
}

/* Jumps to jumps. */
static void thread_jumps(struct flow_code *code, const int *places)
{
    for (int k = 0; k < code->items.count; k++) {
        struct flow_item *item = &code->items.items[k];
        for (int step = 0; has_label(item) && step < MOST_STEPS && places[item->label] >= 0; step++) {
            int at = behind_labels(code, places[item->label]);
            if (at == code->items.count || at <= k || !is_jump(&code->items.items[at]))
                break;
            item->label = code->items.items[at].label;
        }
    }
}

/* How many items from `at` on are the end of a loop that has begun before `from`, up to a label behind it,
 * which is put into *leave; 0: they are none, or too many. */
static int length_of_end(const struct flow_code *code, const int *places, int at, int from, int *leave)
{
    for (int k = at; k < at + LONGEST_END && k + 1 < code->items.count; k++) {
        const struct flow_item *item = &code->items.items[k];
        if (item->kind == FLOW_COMPARE_JUMP && places[item->label] >= 0 && places[item->label] < from) {
            *leave = code->items.items[k + 1].label;
            return code->items.items[k + 1].kind == FLOW_PLACE ? k + 1 - at : 0;
        }
        if (item->kind != FLOW_ALU && (item->kind != FLOW_JUMP || item->form == X86_JMP))
            return 0;
    }
    return 0;
}

void flow_lay_out(struct flow_code *code, struct arena *arena)
{
    const int *places = find_places(arena, code);
    flow_section items = {.count = 0};
    thread_jumps(code, places);
    for (int k = 0; k < code->items.count; k++) {
        struct flow_item item = code->items.items[k];
        bool goes_on = is_jump(&item) && places[item.label] > k;
        int at = goes_on ? behind_labels(code, places[item.label]) : 0, leave = 0;
        int length = goes_on ? length_of_end(code, places, at, k, &leave) : 0;
        for (int end = 0; end < length; end++)
            list_push(arena, &items, code->items.items[at + end]);
        if (length)
            item.label = leave;
        list_push(arena, &items, item);
    }
    code->items = items;
}

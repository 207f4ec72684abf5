/*
 * vector_x86_realign.c: neighbours in memory, x[i - 1, j], x[i, j - 1], x[i, j], as whole lines, out of which
 * their lanes are taken.
 *
 * Consumes the main loop of vector_x86_far.c that stores past the caches, whose stores begin where lines do;
 * plans which loads come so (those of tensors that it loads at several places, for these cannot all begin
 * where lines do), and gives these loads. A window is what the loads of one stream see: the line with the
 * lowest of their elements and the one or two behind it. Each vector loads the last line of a window; the
 * others were loaded before it and stay in registers. How far the first element lies behind the beginning of
 * its line is the same all along a row: the setup finds it, moves the stream's pointer back by it, and makes
 * of it which lane of the lines each lane of a load has.
 *
 * Assumes AVX-512, elements that fill a line with the lanes of a vector, and that nothing else uses these
 * streams in that loop. Lines of which no lane is needed are read, too, but only such as hold an element of
 * an iteration that is left.
 *
 * Zen 5, 2026-11-26: beside stores past the caches a vector that lies across two lines takes several times as
 * long (five points of 8000 x 1000: 3.0 ms; by lines 1.0, which is what a copy takes). Without such stores
 * it hardly matters.
 */
#include "vector_x86_loop.h"
#include "vector_x86_memory.h"
#include "vector_x86_operation.h"

enum {
    LINE = 64,
    MOST_WINDOWS = 8,
    MOST_PLACES = 8, /* in a window */
    MOST_KEPT = 16,  /* registers of 32, for all windows */
    BEHIND = X86_RAX,
    LEFT = X86_R10
};

struct window {
    int stream, size; /* of an element */
    enum vector_type type;
    int lines;
    int offsets[MOST_PLACES]; /* of its loads, from the lowest one of the stream on */
    int count;
    int lanes[MOST_PLACES]; /* kept: which lane of two lines each lane of the load has */
    int third[MOST_PLACES]; /* kept: the lanes whose elements are in the third line; 0: none */
    int before[2];          /* kept: the lines but for the last one */
    int line[3];            /* those of the vector at hand, in */
    const machine_section *section;
};

struct machine_realigned {
    struct window windows[MOST_WINDOWS];
    int count;
};

/* ---- which loads --------------------------------------------------------------------------------------- */

static bool uses_stream(const struct vector_value *value, int stream)
{
    return (value->kind == VECTOR_LOAD || value->kind == VECTOR_STORE) && value->stream == stream;
}

static bool can_have_line(const struct machine *machine, const struct vector_value *value)
{
    const struct vector_stream *stream = &machine->loop->streams.items[value->stream];
    int size = dtype_table[value->dtype].size;
    return value->kind == VECTOR_LOAD && value->mask < 0 && value->dtype == stream->dtype && size >= 4 &&
           size * machine->lanes == LINE && value->offset - stream->low <= machine->lanes;
}

/* Adds the place to the window, if it is not there; false: there is no room. */
static bool add_place(struct window *window, int offset)
{
    for (int k = 0; k < window->count; k++)
        if (window->offsets[k] == offset)
            return true;
    if (window->count == MOST_PLACES)
        return false;
    window->offsets[window->count++] = offset;
    if (offset > 1) /* with the last lane, and a whole line less an element before the first one */
        window->lines = 3;
    return true;
}

/* The places of the stream; false: it is used in other ways, or there are too many. */
static bool find_window(const struct machine *machine, int number, struct window *window)
{
    const struct vector_loop *loop = machine->loop;
    const struct vector_stream *stream = &loop->streams.items[number];
    *window = (struct window){.stream = number, .size = dtype_table[stream->dtype].size, .lines = 2};
    if (stream->step_kind != VECTOR_UNIT || stream->is_stored || stream->is_gathered ||
        machine->pointers[number] < 0)
        return false;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (!uses_stream(value, number))
            continue;
        if (!can_have_line(machine, value) || !add_place(window, value->offset - stream->low))
            return false;
        window->type = value->type;
    }
    return window->count > 0;
}

static void keep_window(struct machine *machine, struct window *window)
{
    enum vector_type lanes = window->size == 4 ? VECTOR_I32 : VECTOR_I64;
    for (int k = 0; k < window->count; k++) {
        int number = window->stream * LINE + window->offsets[k];
        window->lanes[k] = machine_keep(machine, KEPT_WINDOW, lanes, number, 0);
        if (window->offsets[k] > 1)
            window->third[k] = machine_keep(machine, KEPT_WINDOW, VECTOR_MASK, number, 0);
    }
    for (int k = 0; k < window->lines - 1; k++)
        window->before[k] =
            machine_keep(machine, KEPT_WINDOW, window->type, window->stream * LINE, 1 + (uint64_t)k);
}

void machine_plan_realigned(struct machine *machine)
{
    struct machine_realigned *plan = arena_new(machine->arena, struct machine_realigned);
    const struct vector_loop *loop = machine->loop;
    int kept = 0;
    machine->realigned = NULL;
    if (!machine_is_avx512(machine) || machine->options->splits || !machine_stores_past(machine) ||
        loop->is_part)
        return;
    for (int k = 0; k < loop->streams.count && plan->count < MOST_WINDOWS; k++) {
        struct window *window = &plan->windows[plan->count];
        if (!machine_loads_around(loop, k) || !find_window(machine, k, window))
            continue;
        kept += window->count + window->lines - 1;
        plan->count++;
    }
    if (!plan->count || kept > MOST_KEPT)
        return;
    for (int k = 0; k < plan->count; k++)
        keep_window(machine, &plan->windows[k]);
    machine->realigned = plan;
}

/* The last line of a window begins no later than that many lanes behind the last element of a vector. */
int machine_realigned_ahead(const struct machine *machine)
{
    int most = 0;
    for (int k = 0; machine->realigned && k < machine->realigned->count; k++) {
        const struct window *window = &machine->realigned->windows[k];
        const struct vector_stream *stream = &machine->loop->streams.items[window->stream];
        int ahead = (window->lines - 2) * machine->lanes + 1 - (stream->high - stream->low);
        most = ahead > most ? ahead : most;
    }
    return most;
}

/* ---- before and behind the loop ------------------------------------------------------------------------ */

static enum x86_form form_of(const struct window *window, enum x86_form narrow, enum x86_form wide)
{
    return window->size == 4 ? narrow : wide;
}

/* A line of the window of the vector at hand. */
static struct x86_memory line_memory(const struct machine *machine, const struct window *window, int line)
{
    int low = machine->loop->streams.items[window->stream].low;
    return (struct x86_memory){machine->pointers[window->stream], machine->index, window->size,
                               (low + machine->ahead) * window->size + line * LINE};
}

static void load_line(struct machine *machine, const struct window *window, int target, int line)
{
    machine_add(machine, (struct x86_instruction){.form = X86_VMOVUPS_LOAD,
                                                  .bits = LINE * 8,
                                                  .reg = target,
                                                  .has_memory = true,
                                                  .memory = line_memory(machine, window, line)});
}

static void add_general(struct machine *machine, enum x86_form form, int reg, int rm, int64_t immediate)
{
    machine_add(machine,
                (struct x86_instruction){.form = form, .reg = reg, .rm = rm, .immediate = immediate});
}

/* The pointer back to where the line begins; BEHIND: by how many elements. */
static void setup_pointer(struct machine *machine, const struct window *window)
{
    int pointer = machine->pointers[window->stream];
    machine_add(machine, (struct x86_instruction){.form = X86_LEA,
                                                  .reg = BEHIND,
                                                  .has_memory = true,
                                                  .memory = line_memory(machine, window, 0)});
    add_general(machine, X86_AND_BY, 0, BEHIND, LINE - 1);
    add_general(machine, X86_SUB, pointer, BEHIND, 0);
    add_general(machine, X86_SAR_BY, 0, BEHIND, __builtin_ctz((unsigned)window->size));
}

/* The lanes of the place that are not in the first two lines, by BEHIND, which is something else then. */
static void setup_third(struct machine *machine, const struct window *window, int place)
{
    add_general(machine, X86_MOV_IMMEDIATE, LEFT, 0, 2 * machine->lanes - window->offsets[place]);
    add_general(machine, X86_SUB, LEFT, BEHIND, 0);
    add_general(machine, X86_MOV_IMMEDIATE, BEHIND, 0, -1);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_BZHI, .bits = 128, .reg = BEHIND, .rm = BEHIND, .vvvv = LEFT});
    add_general(machine, X86_NOT, 0, BEHIND, 0);
    machine_add(machine, (struct x86_instruction){
                             .form = X86_KMOVW_TO, .bits = 128, .reg = window->third[place], .rm = BEHIND});
}

/* Lanes and masks of all places, by BEHIND. */
static void setup_places(struct machine *machine, const struct window *window, int lanes)
{
    enum vector_type type = window->size == 4 ? VECTOR_I32 : VECTOR_I64;
    enum x86_form add = form_of(window, X86_VPADDD, X86_VPADDQ);
    int behind = machine_new_vector(machine, 128), all = machine_new_vector(machine, LINE * 8);
    machine_add(machine,
                (struct x86_instruction){.form = X86_VMOVQ_TO, .bits = 128, .reg = behind, .rm = BEHIND});
    machine_add(machine, (struct x86_instruction){.form = form_of(window, X86_VBROADCASTSS, X86_VBROADCASTSD),
                                                  .bits = LINE * 8,
                                                  .reg = all,
                                                  .rm = behind});
    int first = machine_rvm(machine, add, LINE * 8, lanes, all);
    for (int k = 0; k < window->count; k++) {
        int offset = machine_new_vector(machine, LINE * 8);
        machine_spread_constant(machine, offset, type, (uint64_t)window->offsets[k]);
        machine_into(machine, add, LINE * 8, window->lanes[k], first, offset, 0);
        if (!window->third[k])
            continue;
        machine_add(machine, (struct x86_instruction){
                                 .form = X86_VMOVQ_FROM, .bits = 128, .reg = behind, .rm = BEHIND});
        setup_third(machine, window, k);
    }
}

void machine_setup_realigned(struct machine *machine, machine_section *section)
{
    machine->section = section;
    machine->ahead = 0;
    for (int k = 0; k < machine->realigned->count; k++) {
        const struct window *window = &machine->realigned->windows[k];
        int lanes = machine_new_vector(machine, LINE * 8);
        machine_spread_lanes(machine, lanes, window->size == 4 ? VECTOR_I32 : VECTOR_I64);
        setup_pointer(machine, window);
        setup_places(machine, window, lanes);
        for (int line = 0; line < window->lines - 1; line++)
            load_line(machine, window, window->before[line], line);
    }
}

/* The first lane of a place is as far behind the line as the pointer was, and the offset. */
void machine_leave_realigned(struct machine *machine, machine_section *section)
{
    machine->section = section;
    for (int k = 0; k < machine->realigned->count; k++) {
        const struct window *window = &machine->realigned->windows[k];
        int pointer = machine->pointers[window->stream];
        machine_add(machine, (struct x86_instruction){.form = form_of(window, X86_VMOVD_FROM, X86_VMOVQ_FROM),
                                                      .bits = 128,
                                                      .reg = window->lanes[0],
                                                      .rm = BEHIND});
        machine_add(machine, (struct x86_instruction){.form = X86_LEA,
                                                      .reg = pointer,
                                                      .has_memory = true,
                                                      .memory = {pointer, BEHIND, window->size,
                                                                 -window->offsets[0] * window->size}});
    }
}

/* ---- loads --------------------------------------------------------------------------------------------- */

static struct window *window_of(const struct machine *machine, int stream)
{
    for (int k = 0; machine->realigned && machine->is_far && k < machine->realigned->count; k++)
        if (machine->realigned->windows[k].stream == stream)
            return &machine->realigned->windows[k];
    return NULL;
}

int machine_load_realigned(struct machine *machine, const struct vector_value *value)
{
    struct window *window = window_of(machine, value->stream);
    int place = 0, last;
    if (!window)
        return 0;
    last = window->lines - 1;
    if (window->section != machine->section) {
        for (int k = 0; k < last; k++)
            window->line[k] = window->before[k];
        window->line[last] = machine_new_vector(machine, LINE * 8);
        load_line(machine, window, window->line[last], last);
        window->section = machine->section;
    }
    while (window->offsets[place] != value->offset - machine->loop->streams.items[value->stream].low)
        place++;
    int result = machine_copy(machine, LINE * 8, window->line[0]);
    machine_into(machine, form_of(window, X86_VPERMT2PS, X86_VPERMT2PD), LINE * 8, result,
                 window->lanes[place], window->line[1], 0);
    if (window->third[place])
        machine_into(machine, form_of(window, X86_VPERMPS_WIDE, X86_VPERMPD_WIDE), LINE * 8, result,
                     window->lanes[place], window->line[2], window->third[place]);
    return result;
}

void machine_advance_realigned(struct machine *machine)
{
    for (int k = 0; machine->realigned && k < machine->realigned->count; k++) {
        const struct window *window = &machine->realigned->windows[k];
        for (int line = 0; line < window->lines - 1; line++)
            machine_into(machine, X86_VMOVAPS, LINE * 8, window->before[line], 0, window->line[line + 1], 0);
    }
}

/*
 * flow.c: statements of a loop with branches as items with values; see flow.h.
 *
 * Consumes a FOR or WHILE of a verified kernel whose sites are numbered; produces items in their order, the
 * arguments that the call hands in, and the values' registers. What does not change in a loop is computed in
 * a section before it, behind the test that it has an iteration.
 *
 * It gives up on what is very large.
 */
#include "flow_private.h"

#include <string.h>

int flow_refuse(struct flow_builder *builder)
{
    builder->refused = true;
    return 0;
}

int flow_new_value(struct flow_builder *builder, bool is_float)
{
    struct flow_value value = {.is_float = is_float, .first = -1, .last = -1, .at = -1, .home = -1};
    if (builder->code->values.count > FLOW_MOST_VALUES)
        flow_refuse(builder);
    list_push(builder->arena, &builder->code->values, value);
    return builder->code->values.count - 1;
}

int flow_new_label(struct flow_builder *builder)
{
    return builder->code->labels++;
}

struct flow_item flow_item(enum flow_kind kind)
{
    return (struct flow_item){.kind = kind,
                              .result = FLOW_NONE,
                              .rest = FLOW_NONE,
                              .operands = {FLOW_NONE, FLOW_NONE, FLOW_NONE, FLOW_NONE},
                              .memory = {FLOW_NONE, FLOW_NONE, 1, 0},
                              .axis = -1,
                              .from = -1};
}

static bool is_result_float(const struct flow_builder *builder, const struct flow_item *item)
{
    switch (item->kind) {
    case FLOW_MOVE:
        return builder->code->values.items[item->operands[0]].is_float;
    case FLOW_LOAD:
        return !x86_is_general(item->form);
    case FLOW_NUMBER:
    case FLOW_FLOAT:
    case FLOW_FLOAT_ONE:
    case FLOW_FUSED:
    case FLOW_BLEND:
    case FLOW_TO_FLOAT:
    case FLOW_FROM_GENERAL:
    case FLOW_HALVES:
    case FLOW_TOTAL:
    case FLOW_TO_HALF:
        return true;
    default:
        return false;
    }
}

int flow_add(struct flow_builder *builder, struct flow_item item)
{
    bool gives = item.kind != FLOW_PLACE && item.kind != FLOW_JUMP && item.kind != FLOW_SECTION &&
                 item.kind != FLOW_STORE && item.kind != FLOW_COMPARE_JUMP && item.kind != FLOW_STOP_IF &&
                 item.kind != FLOW_FLOAT_JUMP;
    if (gives && item.result == FLOW_NONE) {
        item.result = flow_new_value(builder, is_result_float(builder, &item));
        builder->code->values.items[item.result].bits = item.bits;
    }
    item.line = builder->line;
    item.depth = builder->depth;
    if (builder->section->count > FLOW_MOST_ITEMS)
        flow_refuse(builder);
    list_push(builder->arena, builder->section, item);
    return item.result;
}

bool flow_is_same(const struct flow_item *a, const struct flow_item *b)
{
    bool same = a->kind == b->kind && a->form == b->form && a->immediate == b->immediate &&
                a->condition == b->condition && a->narrow == b->narrow &&
                a->by_immediate == b->by_immediate && a->of_bits == b->of_bits && a->wide == b->wide &&
                a->is_signed == b->is_signed && a->bits == b->bits && a->memory.base == b->memory.base &&
                a->memory.index == b->memory.index && a->memory.scale == b->memory.scale &&
                a->memory.displacement == b->memory.displacement;
    for (int k = 0; k < FLOW_OPERANDS; k++)
        same = same && a->operands[k] == b->operands[k];
    return same;
}

/* Whether the one changes what the other computes. */
static bool changes(const struct flow_item *item, const struct flow_item *other)
{
    bool does = item->result == other->memory.base || item->result == other->memory.index;
    for (int k = 0; k < FLOW_OPERANDS; k++)
        does = does || item->result == other->operands[k];
    return does && item->result >= 0;
}

/* Whether what the other loads may be something else behind the item: tensors lie apart. */
static bool stores(const struct flow_item *item, const struct flow_item *other)
{
    return (item->kind == FLOW_STORE || item->kind == FLOW_CALL) && item->buffer &&
           other->kind == FLOW_LOAD && item->buffer == other->buffer;
}

/* Looked for back to where others may come from, or an operand became what it is. What is on one of several
 * ways here is passed over. What stopped the kernel if it was so need not be tested again. */
const struct flow_item *flow_known(const struct flow_builder *builder, const struct flow_item *item)
{
    enum { FARTHEST = 64 };
    const flow_section *section = builder->section;
    int passed = section->count; /* from here on items are on one of several ways */
    for (int k = section->count - 1; k >= 0 && k > section->count - FARTHEST; k--) {
        const struct flow_item *known = &section->items[k];
        if (known->kind == FLOW_PLACE && known->from < 0)
            break;
        if (known->kind == FLOW_PLACE && known->from < passed)
            passed = known->from;
        if (changes(known, item) || stores(known, item))
            break;
        if (k < passed && flow_is_same(known, item) &&
            (known->result < 0 || !builder->code->values.items[known->result].is_variable))
            return known;
    }
    return NULL;
}

int flow_add_known(struct flow_builder *builder, struct flow_item item)
{
    const struct flow_item *known = flow_known(builder, &item);
    return known ? known->result : flow_add(builder, item);
}

void flow_place(struct flow_builder *builder, int label, int from)
{
    struct flow_item item = flow_item(FLOW_PLACE);
    item.label = label;
    item.from = from;
    flow_add(builder, item);
}

void flow_jump(struct flow_builder *builder, int label)
{
    struct flow_item item = flow_item(FLOW_JUMP);
    item.form = X86_JMP;
    item.label = label;
    flow_add(builder, item);
}

void flow_move(struct flow_builder *builder, int to, int from)
{
    struct flow_item item = flow_item(FLOW_MOVE);
    item.result = to;
    item.operands[0] = from;
    flow_add(builder, item);
}

/* ---- arguments and symbols ---------------------------------------------------------------------- */

static bool is_same_argument(const struct flow_argument *a, const struct flow_argument *b)
{
    return a->kind == b->kind && a->buffer == b->buffer && a->axis == b->axis && a->symbol == b->symbol;
}

/* Where argument number `k` is handed in; how many loops there are is known at the end (flow_x86.c). */
static struct x86_memory slot_of(const struct flow_builder *builder, int k)
{
    return (struct x86_memory){builder->code->slots, FLOW_NONE, 1, 8 * k};
}

int flow_argument(struct flow_builder *builder, struct flow_argument argument)
{
    struct flow *flow = builder->flow;
    for (int k = 0; k < flow->arguments.count; k++)
        if (is_same_argument(&flow->arguments.items[k], &argument))
            return flow->arguments.items[k].value;
    struct flow_item load = flow_item(FLOW_LOAD);
    akg_dtype dtype = argument.symbol ? argument.symbol->dtype : AKG_INT64;
    load.form = dtype == AKG_FLOAT64 ? X86_VMOVSD_LOAD : dtype_is_float(dtype) ? X86_VMOVSS_LOAD : X86_MOV;
    load.memory = slot_of(builder, flow->arguments.count);
    flow_section *section = builder->section;
    int depth = builder->depth;
    builder->section = builder->entry;
    builder->depth = 0;
    argument.value = flow_add(builder, load);
    builder->section = section;
    builder->depth = depth;
    struct flow_value *value = &builder->code->values.items[argument.value];
    value->is_variable = argument.symbol && argument.symbol->kind == IR_SYMBOL_VARIABLE;
    value->is_extended = !value->is_variable;
    list_push(builder->arena, &flow->arguments, argument);
    return argument.value;
}

void flow_declare(struct flow_builder *builder, const struct ir_symbol *symbol, int value, int depth)
{
    list_push(builder->arena, &builder->symbols, ((struct flow_symbol){symbol, value, depth}));
}

int flow_symbol(struct flow_builder *builder, const struct ir_symbol *symbol, int *depth)
{
    int value = FLOW_NONE;
    *depth = 0;
    for (int k = builder->symbols.count - 1; k >= 0 && value < 0; k--)
        if (builder->symbols.items[k].symbol == symbol) {
            value = builder->symbols.items[k].value;
            *depth = builder->symbols.items[k].depth;
        }
    if (value < 0)
        value = flow_argument(builder, (struct flow_argument){.kind = FLOW_SCALAR, .symbol = symbol});
    if (symbol->kind != IR_SYMBOL_VARIABLE)
        return value;
    for (int k = builder->depth; k > *depth; k--)
        if (ir_block_assigns(builder->loops[k - 1].stmt->body, symbol))
            *depth = k;
    return value;
}

/* ---- loops ---------------------------------------------------------------------------------------- */

static void build_block(struct flow_builder *builder, const struct ir_stmt *first);

bool flow_enter(struct flow_builder *builder, const struct ir_stmt *stmt, int leave, int again)
{
    if (builder->refused || builder->depth == FLOW_DEEPEST) {
        flow_refuse(builder);
        return false;
    }
    struct flow_item item = flow_item(FLOW_SECTION);
    item.section = arena_new(builder->arena, flow_section);
    flow_add(builder, item);
    builder->loops[builder->depth++] = (struct flow_loop){stmt, item.section, leave, again, FLOW_NONE};
    return true;
}

void flow_compare_jump(struct flow_builder *builder, int a, struct flow_item than,
                       enum flow_condition condition, int label)
{
    struct flow_item item = flow_item(FLOW_COMPARE_JUMP);
    item.operands[0] = a;
    item.operands[1] = than.operands[1];
    item.by_immediate = than.by_immediate;
    item.immediate = than.immediate;
    item.condition = condition;
    item.label = label;
    flow_add(builder, item);
}

/* The bound of a loop, which keeps its value: as the second operand of comparisons. */
static struct flow_item bound_of(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    struct flow_item than = flow_item(FLOW_COMPARE_JUMP);
    const struct ir_expr *high = stmt->high;
    if (stmt == builder->stmt) { /* perhaps of a part of it */
        than.operands[1] = flow_argument(builder, (struct flow_argument){.kind = FLOW_HIGH});
    } else if (high->kind == IR_INTEGER && high->integer >= INT32_MIN && high->integer <= INT32_MAX) {
        than.by_immediate = true;
        than.immediate = high->integer;
    } else {
        than.operands[1] = flow_expression(builder, high);
        if (builder->code->values.items[than.operands[1]].is_variable) {
            int copy = flow_new_value(builder, false);
            flow_move(builder, copy, than.operands[1]);
            than.operands[1] = copy;
        }
    }
    return than;
}

static bool surely_begins(const struct ir_stmt *stmt)
{
    return stmt->low->kind == IR_INTEGER && stmt->high->kind == IR_INTEGER &&
           (stmt->step > 0 ? stmt->low->integer < stmt->high->integer
                           : stmt->low->integer > stmt->high->integer);
}

/* The next value; where that would leave 64 bits, the loop is over. */
static void advance(struct flow_builder *builder, const struct ir_stmt *stmt, int variable, int leave)
{
    struct flow_item add = flow_item(FLOW_ALU);
    add.form = X86_ADD;
    add.result = add.operands[0] = variable;
    add.by_immediate = stmt->step >= INT32_MIN && stmt->step <= INT32_MAX;
    add.immediate = stmt->step;
    if (!add.by_immediate)
        add.operands[1] = flow_constant(builder, stmt->step);
    flow_add(builder, add);
    if (stmt->step == 1 || stmt->step == -1)
        return;
    struct flow_item jump = flow_item(FLOW_JUMP);
    jump.form = X86_JO;
    jump.label = leave;
    flow_add(builder, jump);
}

static void note_around(struct flow_builder *builder, int variable)
{
    struct flow_around *around = arena_new(builder->arena, struct flow_around);
    *around =
        (struct flow_around){variable, builder->around ? builder->around->depth + 1 : 0, builder->around};
    builder->around = around;
    if (around->depth + 1 > builder->flow->loops)
        builder->flow->loops = around->depth + 1;
}

/* Where what vectors and the loop itself ask for is computed once, before both of them. */
static bool build_packed(struct flow_builder *builder, const struct ir_stmt *stmt, int variable,
                         struct flow_item high)
{
    return flow_enter(builder, stmt, FLOW_NONE, FLOW_NONE) && flow_packed(builder, stmt, variable, high);
}

static void build_for(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    int variable = flow_new_value(builder, false), top = flow_new_label(builder),
        again = flow_new_label(builder), leave = flow_new_label(builder);
    bool up = stmt->step > 0;
    int low = stmt == builder->stmt ? flow_argument(builder, (struct flow_argument){.kind = FLOW_LOW})
                                    : flow_expression(builder, stmt->low);
    struct flow_item high = bound_of(builder, stmt);
    flow_move(builder, variable, low);
    bool packs = stmt != builder->stmt && flow_packs(stmt, builder->options);
    if (packs && !build_packed(builder, stmt, variable, high)) {
        builder->depth--;
        return;
    }
    if (packs || stmt == builder->stmt || !surely_begins(stmt))
        flow_compare_jump(builder, variable, high, up ? FLOW_NOT_LESS : FLOW_NOT_GREATER, leave);
    const struct flow_around *outer = builder->around;
    if (!flow_enter(builder, stmt, leave, again))
        return;
    note_around(builder, variable);
    flow_declare(builder, stmt->symbol, variable, builder->depth);
    builder->loops[builder->depth - 1].top = top;
    flow_place(builder, top, -1);
    build_block(builder, stmt->body);
    flow_place(builder, again, -1);
    builder->line = stmt->span.line;
    advance(builder, stmt, variable, leave);
    flow_compare_jump(builder, variable, high, up ? FLOW_LESS : FLOW_GREATER, top);
    builder->depth -= packs ? 2 : 1;
    builder->around = outer;
    flow_place(builder, leave, -1);
}

static void build_while(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    int top = flow_new_label(builder), again = flow_new_label(builder), leave = flow_new_label(builder);
    flow_branch(builder, stmt->value, false, leave);
    if (!flow_enter(builder, stmt, leave, again))
        return;
    builder->loops[builder->depth - 1].top = top;
    flow_place(builder, top, -1);
    build_block(builder, stmt->body);
    flow_place(builder, again, -1);
    builder->line = stmt->span.line;
    flow_branch(builder, stmt->value, true, top);
    builder->depth--;
    flow_place(builder, leave, -1);
}

/* ---- other statements ------------------------------------------------------------------------------ */

static void build_if(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    int otherwise = flow_new_label(builder), end = flow_new_label(builder);
    int from = flow_branch(builder, stmt->value, false, otherwise);
    build_block(builder, stmt->body);
    if (stmt->otherwise)
        flow_jump(builder, end);
    flow_place(builder, otherwise, from);
    build_block(builder, stmt->otherwise);
    flow_place(builder, end, from);
}

int flow_kept(struct flow_builder *builder, int value)
{
    if (!builder->code->values.items[value].is_variable)
        return value;
    int copy = flow_new_value(builder, builder->code->values.items[value].is_float);
    flow_move(builder, copy, value);
    return copy;
}

/* Of how many of the loops around it the let hangs: where it is pure it may be computed before the others; a
 * number is there where the let is. */
static void build_let(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    bool pure = stmt->value->kind != IR_INTEGER && stmt->value->kind != IR_REAL;
    int depth = flow_depth_of(builder, stmt->value, &pure), value = flow_expression(builder, stmt->value);
    pure = pure && !builder->code->values.items[value].is_variable;
    flow_declare(builder, stmt->symbol, flow_kept(builder, value), pure ? depth : builder->depth);
}

static void build_variable(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    int variable = flow_new_value(builder, dtype_is_float(stmt->symbol->dtype));
    builder->code->values.items[variable].is_variable = true;
    flow_assign(builder, variable, stmt->value);
    flow_declare(builder, stmt->symbol, variable, builder->depth);
}

int flow_assigned(struct flow_builder *builder, const struct ir_symbol *symbol)
{
    int depth, variable = flow_symbol(builder, symbol, &depth);
    for (int k = 0; k < builder->flow->arguments.count; k++)
        if (builder->flow->arguments.items[k].symbol == symbol)
            builder->flow->arguments.items[k].comes_back = true;
    return variable;
}

void flow_assign_symbol(struct flow_builder *builder, const struct ir_symbol *symbol,
                        const struct ir_expr *value)
{
    flow_assign(builder, flow_assigned(builder, symbol), value);
}

static void build_assert(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    struct flow_item item = flow_item(FLOW_STOP_IF);
    item.operands[0] = flow_expression(builder, stmt->value);
    item.by_immediate = true;
    item.condition = FLOW_EQUAL;
    item.narrow = true;
    item.site = stmt->site;
    item.around = builder->around;
    builder->flow->stops = true;
    flow_add(builder, item);
}

static void build_store(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    struct x86_memory memory = flow_element(builder, &stmt->access);
    flow_store(builder, &stmt->access, memory, flow_expression(builder, stmt->value));
}

/* A tensor of the loop's own, one element behind the other. */
static void build_clear(struct flow_builder *builder, const struct ir_buffer *buffer)
{
    union {
        void *(*function)(void *, int, size_t);
        const void *address;
    } set = {.function = memset};
    struct flow_item item = flow_item(FLOW_CALL);
    int64_t constant = dtype_table[buffer->dtype].size;
    int size = FLOW_NONE;
    for (int axis = 0; axis < buffer->rank; axis++) {
        const struct ir_expr *extent = buffer->shape[axis];
        if (extent->kind == IR_INTEGER) {
            constant *= extent->integer;
            continue;
        }
        int value = flow_argument(
            builder, (struct flow_argument){.kind = FLOW_EXTENT, .buffer = buffer, .axis = axis});
        size = size < 0 ? value : flow_alu(builder, X86_IMUL, size, value, 0);
    }
    item.function = set.address;
    item.buffer = buffer;
    item.operands[0] = flow_argument(builder, (struct flow_argument){.kind = FLOW_DATA, .buffer = buffer});
    item.operands[1] = flow_constant(builder, 0);
    item.operands[2] =
        size < 0 ? flow_constant(builder, constant) : flow_alu(builder, X86_IMUL, size, FLOW_NONE, constant);
    flow_add(builder, item);
}

static void build_statement(struct flow_builder *builder, const struct ir_stmt *stmt)
{
    switch (stmt->kind) {
    case IR_FOR:
        build_for(builder, stmt);
        break;
    case IR_WHILE:
        build_while(builder, stmt);
        break;
    case IR_IF:
        if (!flow_choose(builder, stmt))
            build_if(builder, stmt);
        break;
    case IR_STORE:
        build_store(builder, stmt);
        break;
    case IR_LET:
        build_let(builder, stmt);
        break;
    case IR_VARIABLE:
        build_variable(builder, stmt);
        break;
    case IR_ASSIGN:
        flow_assign_symbol(builder, stmt->symbol, stmt->value);
        break;
    case IR_ALLOCATE:
        if (stmt->access.buffer->clear)
            build_clear(builder, stmt->access.buffer);
        break;
    case IR_BREAK:
        flow_jump(builder, builder->loops[builder->depth - 1].leave);
        break;
    case IR_CONTINUE:
        flow_jump(builder, builder->loops[builder->depth - 1].again);
        break;
    case IR_ASSERT:
        build_assert(builder, stmt);
        break;
    }
}

static void build_block(struct flow_builder *builder, const struct ir_stmt *first)
{
    if (++builder->nesting > FLOW_DEEPEST_NESTING)
        flow_refuse(builder);
    for (const struct ir_stmt *stmt = first; stmt && !builder->refused; stmt = stmt->next) {
        builder->line = stmt->span.line;
        build_statement(builder, stmt);
    }
    builder->nesting--;
}

/* ---- all -------------------------------------------------------------------------------------------- */

/* What the loop assigned goes back into its slots. */
static void hand_back(struct flow_builder *builder)
{
    for (int k = 0; k < builder->flow->arguments.count; k++) {
        const struct flow_argument *argument = &builder->flow->arguments.items[k];
        if (!argument->comes_back)
            continue;
        struct flow_item store = flow_item(FLOW_STORE);
        akg_dtype dtype = argument->symbol->dtype;
        store.form = dtype == AKG_FLOAT64    ? X86_VMOVSD_STORE
                     : dtype_is_float(dtype) ? X86_VMOVSS_STORE
                                             : X86_MOV_STORE;
        store.operands[0] = argument->value;
        store.memory = slot_of(builder, k);
        flow_add(builder, store);
    }
}

static void flatten(struct flow_builder *builder, const flow_section *section)
{
    for (int k = 0; k < section->count && !builder->refused; k++) {
        if (section->items[k].kind == FLOW_SECTION)
            flatten(builder, section->items[k].section);
        else
            list_push(builder->arena, &builder->code->items, section->items[k]);
        if (builder->code->items.count > FLOW_MOST_ITEMS)
            flow_refuse(builder);
    }
}

/* The slots of the arguments follow those of as many loops as there are. */
static void shift_slots(const struct flow *flow)
{
    struct flow_code *code = flow->code;
    for (int k = 0; k < code->items.count; k++)
        if (code->items.items[k].memory.base == code->slots)
            code->items.items[k].memory.displacement += 8 * flow_first_argument(flow);
}

struct vector_loop *flow_build(struct arena *arena, const struct ir_stmt *stmt,
                               const struct vector_options *options)
{
    struct flow *flow = arena_new(arena, struct flow);
    flow->code = arena_new(arena, struct flow_code);
    flow_section entry = {.count = 0}, section = {.count = 0};
    struct flow_builder *builder = arena_new(arena, struct flow_builder);
    *builder = (struct flow_builder){.arena = arena,
                                     .options = options,
                                     .stmt = stmt,
                                     .flow = flow,
                                     .code = flow->code,
                                     .entry = &entry,
                                     .main = &section,
                                     .section = &section,
                                     .line = stmt->span.line};
    flow->code->slots = flow_new_value(builder, false);
    build_statement(builder, stmt);
    if (!builder->refused)
        hand_back(builder);
    flatten(builder, &entry);
    flatten(builder, &section);
    if (builder->refused)
        return NULL;
    shift_slots(flow);
    if (!options->strict)
        flow_fuse(flow->code, arena);
    flow_lay_out(flow->code, arena);
    flow_allocate(flow->code, arena);
    struct vector_loop *loop = arena_new(arena, struct vector_loop);
    loop->stmt = stmt;
    loop->flow = flow;
    return loop;
}

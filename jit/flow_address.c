/*
 * flow_address.c: places of elements in tensors.
 *
 * Consumes the access of a load or store; produces an address for the processor: a base, in which there is
 * all that does not change in the innermost loop, computed before it, and an index that does. Indices that
 * are to be tested are tested first, all of them, in the order of the program; those that do not change in
 * loops around are tested before these, where nobody can tell.
 */
#include "flow_private.h"

/* ---- terms ------------------------------------------------------------------------------------ */

/* Bytes: `factor` times the value, times what an axis is apart where that is a value. */
struct term {
    int value, stride; /* FLOW_NONE: 1 */
    int64_t factor;
    int depth; /* of how many loops around it hangs */
};

struct terms {
    struct term items[4 * AKG_MAX_RANK];
    int count;
};

static void add_term(struct flow_builder *builder, struct terms *terms, struct term term)
{
    if (terms->count == (int)(sizeof terms->items / sizeof *terms->items))
        flow_refuse(builder);
    else
        terms->items[terms->count++] = term;
}

/* How far apart the elements of an axis are: `factor` bytes, times the value that is returned. */
static int stride_of(struct flow_builder *builder, const struct ir_buffer *buffer, int axis, int64_t *factor)
{
    *factor = dtype_table[buffer->dtype].size;
    if (!buffer->contiguous)
        return flow_argument(builder,
                             (struct flow_argument){.kind = FLOW_STRIDE, .buffer = buffer, .axis = axis});
    int stride = FLOW_NONE;
    flow_section *section = builder->section;
    int depth = builder->depth;
    builder->section = builder->entry;
    builder->depth = 0;
    for (int inner = axis + 1; inner < buffer->rank; inner++) {
        const struct ir_expr *extent = buffer->shape[inner];
        if (extent->kind == IR_INTEGER) {
            *factor *= extent->integer;
            continue;
        }
        int value = flow_argument(
            builder, (struct flow_argument){.kind = FLOW_EXTENT, .buffer = buffer, .axis = inner});
        stride = stride < 0 ? value : flow_alu(builder, X86_IMUL, stride, value, 0);
    }
    builder->section = section;
    builder->depth = depth;
    return stride;
}

/* Adds what an index is, times so many bytes: sums are taken apart. */
static void add_index(struct flow_builder *builder, struct terms *terms, const struct ir_expr *index,
                      int stride, int64_t factor)
{
    if (index->kind == IR_OPERATION && (index->operation == OP_ADD || index->operation == OP_SUB)) {
        add_index(builder, terms, index->operands[0], stride, factor);
        add_index(builder, terms, index->operands[1], stride, index->operation == OP_SUB ? -factor : factor);
        return;
    }
    bool scaled = index->kind == IR_OPERATION && index->operation == OP_MUL;
    for (int side = 0; scaled && side < 2; side++) {
        int64_t by = index->operands[side]->kind == IR_INTEGER ? index->operands[side]->integer : 0;
        if (by > -100000 && by < 100000 && by != 0 && factor > -100000000 && factor < 100000000) {
            add_index(builder, terms, index->operands[!side], stride, factor * by);
            return;
        }
    }
    struct term term = {FLOW_NONE, stride, factor, 0};
    bool pure = true;
    if (index->kind == IR_INTEGER) {
        int64_t bytes;
        if (__builtin_mul_overflow(index->integer, factor, &bytes))
            flow_refuse(builder);
        term.factor = bytes;
    } else {
        term.depth = flow_depth_of(builder, index, &pure);
        term.value = flow_expression(builder, index);
        if (!pure)
            term.depth = builder->depth;
    }
    add_term(builder, terms, term);
}

/* ---- tests --------------------------------------------------------------------------------------- */

bool flow_is_tested(const struct flow_builder *builder, const struct ir_access *access, int axis)
{
    return access->checks[axis] == IR_CHECK_ELEMENT && !builder->options->trust_indices &&
           !builder->is_guarded;
}

/* Compared without a sign, what is negative is large. */
struct flow_item flow_outside(struct flow_builder *builder, enum flow_kind kind,
                              const struct ir_access *access, int axis, int index)
{
    struct flow_item item = flow_item(kind);
    const struct ir_expr *extent = access->buffer->shape[axis];
    item.operands[0] = index;
    item.by_immediate = extent->kind == IR_INTEGER && extent->integer <= INT32_MAX;
    if (item.by_immediate)
        item.immediate = extent->integer;
    else
        item.operands[1] = flow_argument(
            builder, (struct flow_argument){.kind = FLOW_EXTENT, .buffer = access->buffer, .axis = axis});
    item.condition = FLOW_NOT_BELOW;
    return item;
}

/* Whether nobody can tell that the item was there when the kernel stops behind it. */
static bool is_quiet(const struct flow_item *item)
{
    switch (item->kind) {
    case FLOW_PLACE:
    case FLOW_JUMP:
    case FLOW_SECTION:
    case FLOW_STORE:
    case FLOW_COMPARE_JUMP:
    case FLOW_FLOAT_JUMP:
    case FLOW_STOP_IF:
        return false;
    case FLOW_CALL:
        return !item->buffer;
    default:
        return true;
    }
}

static bool holds_test(const flow_section *section)
{
    for (int k = 0; k < section->count; k++)
        if (section->items[k].kind == FLOW_STOP_IF)
            return true;
    return false;
}

/* How many loops may be around a test that stands here, of what hangs on `depth` of them: it may as well be
 * before each loop that comes to it first of all and in every case, behind other tests there. What loops have
 * come to is told, so the variables of those that have not begun by then are to be known. */
static int level_of_test(const struct flow_builder *builder, int depth)
{
    const struct flow_item *items = builder->section->items;
    int level = builder->depth, at = builder->section->count - 1;
    while (builder->section == builder->main && level > depth) {
        const struct flow_loop *loop = &builder->loops[level - 1];
        while (at >= 0 && is_quiet(&items[at]))
            at--;
        if (at < 1 || items[at].kind != FLOW_PLACE || items[at].label != loop->top)
            break;
        level--;
        bool is_known = loop->stmt->kind != IR_FOR || loop->stmt->low->kind == IR_INTEGER;
        if (!is_known || holds_test(loop->before) || items[at - 1].kind != FLOW_SECTION ||
            items[at - 1].section != loop->before)
            break;
        at -= 2;
    }
    return level;
}

/* The loops around an item before loop number `level`: of those inside that one, what they begin with. */
static const struct flow_around *around_at(struct flow_builder *builder, const struct flow_around *around,
                                           int depth, int level)
{
    const struct ir_stmt *stmt = builder->loops[depth - 1].stmt;
    if (depth - 1 <= level)
        return around;
    if (stmt->kind != IR_FOR)
        return around_at(builder, around, depth - 1, level);
    struct flow_around *begun = arena_new(builder->arena, struct flow_around);
    *begun = (struct flow_around){flow_constant(builder, stmt->low->integer), around->depth,
                                  around_at(builder, around->outer, depth - 1, level)};
    return begun;
}

static bool is_tested_before(const struct flow_builder *builder, const struct flow_item *item, int depth)
{
    for (int level = depth; level < builder->depth; level++)
        for (int k = 0; k < builder->loops[level].before->count; k++)
            if (flow_is_same(&builder->loops[level].before->items[k], item))
                return true;
    return false;
}

/* The index hangs on `depth` of the loops around it. */
static void test_index(struct flow_builder *builder, const struct ir_access *access, int axis, int index,
                       int depth)
{
    struct flow_item item = flow_outside(builder, FLOW_STOP_IF, access, axis, index);
    if (is_tested_before(builder, &item, depth))
        return;
    flow_section *section = builder->section;
    int inside = builder->depth, level = level_of_test(builder, depth);
    if (level < inside) {
        builder->section = builder->loops[level].before;
        builder->depth = level;
    }
    if (access->indices[axis]->kind == IR_INTEGER) /* it is not there yet */
        item.operands[0] = flow_expression(builder, access->indices[axis]);
    item.site = access->site;
    item.axis = axis;
    item.around = level < inside ? around_at(builder, builder->around, inside, level) : builder->around;
    builder->flow->stops = true;
    flow_add_known(builder, item);
    builder->section = section;
    builder->depth = inside;
}

/* The index along an axis, and of how many of the loops around it hangs. */
struct index {
    int value, depth; /* value: where it is to be tested, or may stop the kernel itself; else FLOW_NONE */
};

static void find_index(struct flow_builder *builder, const struct ir_access *access, int axis,
                       struct index *index)
{
    bool is_pure = true;
    int depth = flow_depth_of(builder, access->indices[axis], &is_pure);
    *index = (struct index){FLOW_NONE, is_pure ? depth : builder->depth};
    if (!is_pure || flow_is_tested(builder, access, axis))
        index->value = flow_expression(builder, access->indices[axis]);
}

/* Sums are taken apart, but for those that are there and new in each iteration. */
static void add_axes(struct flow_builder *builder, const struct ir_access *access, struct terms *terms)
{
    const struct ir_buffer *buffer = access->buffer;
    struct index indices[AKG_MAX_RANK];
    for (int axis = 0; axis < buffer->rank; axis++)
        find_index(builder, access, axis, &indices[axis]);
    for (int axis = 0; axis < buffer->rank; axis++)
        if (flow_is_tested(builder, access, axis))
            test_index(builder, access, axis, indices[axis].value, indices[axis].depth);
    for (int axis = 0; axis < buffer->rank; axis++) {
        int64_t factor;
        int stride = stride_of(builder, buffer, axis, &factor);
        const struct ir_expr *index = access->indices[axis];
        bool is_new = indices[axis].depth == builder->depth && index->kind == IR_OPERATION;
        if (indices[axis].value >= 0 && (is_new || index->kind == IR_LOAD))
            add_term(builder, terms, (struct term){indices[axis].value, stride, factor, builder->depth});
        else
            add_index(builder, terms, index, stride, factor);
    }
}

/* ---- addresses ------------------------------------------------------------------------------------- */

static bool is_scale(int64_t factor)
{
    return factor == 1 || factor == 2 || factor == 4 || factor == 8;
}

/* How far apart the elements of an axis are, in bytes: of all loops. */
static int bytes_apart(struct flow_builder *builder, struct term term)
{
    flow_section *section = builder->section;
    int depth = builder->depth;
    builder->section = builder->entry;
    builder->depth = 0;
    int bytes =
        term.factor == 1 ? term.stride : flow_alu(builder, X86_IMUL, term.stride, FLOW_NONE, term.factor);
    builder->section = section;
    builder->depth = depth;
    return bytes;
}

/* Bytes as a value, in the section where it is made. */
static int bytes_of(struct flow_builder *builder, struct term term)
{
    if (term.stride < 0)
        return flow_alu(builder, X86_IMUL, term.value, FLOW_NONE, term.factor);
    int bytes = bytes_apart(builder, term);
    return term.value < 0 ? bytes : flow_alu(builder, X86_IMUL, bytes, term.value, 0);
}

/* The base with what stays the same in the loops from number `depth` on. */
static int base_with(struct flow_builder *builder, int base, struct term term, int depth)
{
    flow_section *section = builder->section;
    int outer = builder->depth;
    builder->section = builder->loops[depth].before;
    builder->depth = depth;
    if (term.stride < 0 && is_scale(term.factor)) {
        struct flow_item item = flow_item(FLOW_ADDRESS);
        item.memory = (struct x86_memory){base, term.value, (int)term.factor, 0};
        base = flow_add_known(builder, item);
    } else {
        base = flow_alu(builder, X86_ADD, base, bytes_of(builder, term), 0);
    }
    builder->section = section;
    builder->depth = outer;
    return base;
}

/* What changes in the innermost loop, as an index. */
static void set_index(struct flow_builder *builder, struct x86_memory *memory, const struct terms *terms)
{
    const struct term *only = NULL;
    int count = 0, sum = FLOW_NONE;
    for (int k = 0; k < terms->count; k++)
        if (terms->items[k].depth == builder->depth) {
            only = &terms->items[k];
            count++;
        }
    if (count == 1 && only->stride < 0 && is_scale(only->factor)) {
        memory->index = only->value;
        memory->scale = (int)only->factor;
        return;
    }
    for (int k = 0; k < terms->count; k++)
        if (terms->items[k].depth == builder->depth) {
            int bytes = bytes_of(builder, terms->items[k]);
            sum = sum < 0 ? bytes : flow_alu(builder, X86_ADD, sum, bytes, 0);
        }
    memory->index = sum;
}

struct x86_memory flow_element(struct flow_builder *builder, const struct ir_access *access)
{
    struct terms terms = {.count = 0}, varying = {.count = 0};
    struct x86_memory memory = {
        flow_argument(builder, (struct flow_argument){.kind = FLOW_DATA, .buffer = access->buffer}),
        FLOW_NONE, 1, 0};
    int64_t displacement = 0;
    add_axes(builder, access, &terms);
    for (int depth = 0; depth <= builder->depth && !builder->refused; depth++)
        for (int k = 0; k < terms.count; k++) {
            struct term term = terms.items[k];
            bool constant = term.value < 0 && term.stride < 0;
            if (term.depth != depth || term.factor == 0)
                continue;
            if (constant && displacement + term.factor < INT32_MAX / 2 &&
                displacement + term.factor > INT32_MIN / 2 && term.factor < INT32_MAX / 2 &&
                term.factor > INT32_MIN / 2)
                displacement += term.factor;
            else if (constant)
                flow_refuse(builder);
            else if (depth == builder->depth)
                varying.items[varying.count++] = term;
            else
                memory.base = base_with(builder, memory.base, term, depth);
        }
    if (varying.count)
        set_index(builder, &memory, &varying);
    memory.displacement = (int)displacement;
    return memory;
}

/* ---- loads and stores --------------------------------------------------------------------------------- */

static enum x86_form load_of(akg_dtype dtype)
{
    switch (dtype) {
    case AKG_BOOL:
    case AKG_UINT8:
        return X86_MOVZX_BYTE;
    case AKG_INT8:
        return X86_MOVSX_BYTE;
    case AKG_INT16:
        return X86_MOVSX_WORD;
    case AKG_UINT16:
    case AKG_FLOAT16:
    case AKG_BFLOAT16:
        return X86_MOVZX_WORD;
    case AKG_INT32:
        return X86_MOVSXD;
    case AKG_UINT32:
        return X86_MOV_DWORD;
    case AKG_INT64:
    case AKG_UINT64:
        return X86_MOV;
    case AKG_FLOAT32:
        return X86_VMOVSS_LOAD;
    default:
        return X86_VMOVSD_LOAD;
    }
}

int flow_load_bits(struct flow_builder *builder, const struct ir_access *access)
{
    struct flow_item item = flow_item(FLOW_LOAD);
    item.form = load_of(access->buffer->dtype);
    item.memory = flow_element(builder, access);
    item.buffer = access->buffer;
    int value = flow_add_known(builder, item);
    builder->code->values.items[value].is_extended = true;
    return value;
}

int flow_load(struct flow_builder *builder, const struct ir_access *access)
{
    int value = flow_load_bits(builder, access);
    if (dtype_is_half(access->buffer->dtype))
        return flow_from_half(builder, access->buffer->dtype, value);
    if (access->buffer->dtype != AKG_BOOL)
        return value;
    struct flow_item truth = flow_item(FLOW_COMPARE_SET); /* any byte that is not zero is true */
    truth.operands[0] = value;
    truth.by_immediate = truth.narrow = true;
    truth.condition = FLOW_NOT_EQUAL;
    return flow_add_known(builder, truth);
}

void flow_store(struct flow_builder *builder, const struct ir_access *access, struct x86_memory memory,
                int value)
{
    static const enum x86_form by_size[] = {
        [1] = X86_MOV_BYTE_STORE, [2] = X86_MOV_WORD_STORE, [4] = X86_MOV_DWORD_STORE, [8] = X86_MOV_STORE};
    struct flow_item item = flow_item(FLOW_STORE);
    akg_dtype dtype = access->buffer->dtype;
    item.form = dtype == AKG_FLOAT32   ? X86_VMOVSS_STORE
                : dtype == AKG_FLOAT64 ? X86_VMOVSD_STORE
                                       : by_size[dtype_table[dtype].size];
    item.operands[0] = dtype_is_half(dtype) ? flow_half_bits(builder, dtype, value) : value;
    item.memory = memory;
    item.buffer = access->buffer;
    flow_add(builder, item);
}

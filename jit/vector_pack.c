/*
 * vector_pack.c: elements that are put one behind the other where a condition holds.
 *
 *     if x[i] > 0:
 *         y[k] = x[i]; at[k] = i
 *         k += 1
 *
 * Consumes an innermost loop; finds its counters, scalars of the outside that do nothing but this, and the
 * stores that go by them, each into a tensor that the loop does not mention otherwise. Produces the loop
 * without these, of which dependences are asked, and values: of the lanes for which the condition holds those
 * that are stored are moved to the front, and the counter goes on by how many these are (VECTOR_PACK). The
 * code ends before a group for which there is no room in one of the tensors: C stops where the program does.
 */
#include "pass.h"
#include "vector_build.h"

/* ---- which statements ---------------------------------------------------------------------------------- */

static bool is_one_more(const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;
    return stmt->kind == IR_ASSIGN &&
           (stmt->symbol->dtype == AKG_INT32 || stmt->symbol->dtype == AKG_INT64) &&
           value->kind == IR_OPERATION && value->operation == OP_ADD &&
           value->operands[0]->kind == IR_SYMBOL && value->operands[0]->symbol == stmt->symbol &&
           value->operands[1]->kind == IR_INTEGER && value->operands[1]->integer == 1;
}

static const struct ir_expr *without_cast(const struct ir_expr *expr)
{
    bool is_cast = expr->kind == IR_OPERATION && expr->operation == OP_CAST && expr->dtype == AKG_INT64;
    return is_cast ? expr->operands[0] : expr;
}

/* The number of the counter, of which the index is so much ahead; -1. */
static int counter_of(const struct vector_packs *packs, const struct ir_expr *index, int *ahead)
{
    enum { FARTHEST = 1 << 20 };
    index = without_cast(index);
    *ahead = 0;
    for (int k = 0; k < 2 && index->kind == IR_OPERATION && index->operation == OP_ADD; k++) {
        const struct ir_expr *number = index->operands[k];
        if (number->kind != IR_INTEGER || number->integer < 0 || number->integer > FARTHEST)
            continue;
        *ahead = (int)number->integer;
        index = without_cast(index->operands[1 - k]);
        break;
    }
    for (int k = 0; index->kind == IR_SYMBOL && k < packs->count; k++)
        if (packs->symbols[k] == index->symbol)
            return k;
    return -1;
}

/* The counter by which the statement stores; -1: it does not. */
static int counter_of_store(const struct vector_packs *packs, const struct ir_stmt *stmt, int *ahead)
{
    if (stmt->kind != IR_STORE || !stmt->access.buffer->rank)
        return -1;
    return counter_of(packs, stmt->access.indices[stmt->access.buffer->rank - 1], ahead);
}

static int counter_of_step(const struct vector_packs *packs, const struct ir_stmt *stmt)
{
    for (int k = 0; stmt->kind == IR_ASSIGN && k < packs->count; k++)
        if (packs->symbols[k] == stmt->symbol)
            return k;
    return -1;
}

/* How often a scalar is read or assigned, or a buffer loaded or stored. */
struct mentions {
    const struct ir_symbol *symbol;
    const struct ir_buffer *buffer;
    int count;
};

static bool note_load(struct ir_expr *expr, void *context)
{
    struct mentions *mentions = context;
    mentions->count += expr->kind == IR_SYMBOL && expr->symbol == mentions->symbol;
    mentions->count += expr->kind == IR_LOAD && expr->access.buffer == mentions->buffer;
    return true;
}

static bool note_store(struct ir_stmt *stmt, void *context)
{
    struct mentions *mentions = context;
    mentions->count += stmt->kind == IR_ASSIGN && stmt->symbol == mentions->symbol;
    mentions->count += stmt->kind == IR_STORE && stmt->access.buffer == mentions->buffer;
    return true;
}

static int mentions_in(const struct ir_stmt *loop, const struct ir_symbol *symbol,
                       const struct ir_buffer *buffer)
{
    struct mentions mentions = {symbol, buffer, 0};
    ir_block_expressions(loop->body, note_load, &mentions);
    ir_block_walk(loop->body, note_store, &mentions);
    return mentions.count;
}

static bool is_not_stored(struct ir_expr *expr, void *loop)
{
    return expr->kind != IR_LOAD || !ir_block_stores_to(((struct ir_stmt *)loop)->body, expr->access.buffer);
}

/* It is the same in all iterations. */
static bool is_fixed(const struct ir_stmt *loop, const struct ir_expr *index)
{
    return index->kind == IR_INTEGER || (index->kind == IR_SYMBOL && index->symbol->kind == IR_SYMBOL_LOOP &&
                                         index->symbol != loop->symbol);
}

/* A store by that counter, of elements that are lanes as they are, found by nothing else that changes. */
static bool is_good_store(const struct ir_stmt *loop, const struct ir_stmt *stmt)
{
    const struct ir_access *access = &stmt->access;
    int last = access->buffer->rank - 1;
    for (int axis = 0; axis < last; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT || !is_fixed(loop, access->indices[axis]))
            return false;
    return access->buffer->contiguous && dtype_table[access->buffer->dtype].size >= 4 &&
           mentions_in(loop, NULL, access->buffer) == 1 &&
           ir_expr_walk(stmt->value, is_not_stored, (void *)loop);
}

/* Whether the step at the end of the block's stores is all there is of its counter but these. */
static bool is_counter(const struct vector_packs *packs, const struct ir_stmt *loop,
                       const struct ir_stmt *block, const struct ir_stmt *step)
{
    struct vector_packs alone = {.count = 1, .symbols = {step->symbol}};
    int stores = 0, ahead;
    for (const struct ir_stmt *stmt = block; stmt != step; stmt = stmt->next) {
        if (counter_of_store(&alone, stmt, &ahead) < 0)
            continue;
        if (!is_good_store(loop, stmt))
            return false;
        stores++;
    }
    return packs->count < VECTOR_PACKS && stores && !vector_is_declared(loop, step->symbol) &&
           mentions_in(loop, step->symbol, NULL) == stores + 2;
}

static void find_counters(struct vector_packs *packs, const struct ir_stmt *loop, const struct ir_stmt *block,
                          bool in_condition)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (in_condition && is_one_more(stmt) && is_counter(packs, loop, block, stmt))
            packs->symbols[packs->count++] = stmt->symbol;
        if (stmt->kind == IR_IF) {
            find_counters(packs, loop, stmt->body, true);
            find_counters(packs, loop, stmt->otherwise, true);
        }
    }
}

static struct ir_stmt *copy_without(struct arena *arena, const struct vector_packs *packs,
                                    const struct ir_stmt *block)
{
    struct ir_stmt *first = NULL, **end = &first;
    int ahead;
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (counter_of_store(packs, stmt, &ahead) >= 0 || counter_of_step(packs, stmt) >= 0)
            continue;
        struct ir_stmt *copy = arena_new(arena, struct ir_stmt);
        *copy = *stmt;
        copy->next = NULL;
        if (stmt->kind == IR_IF) {
            copy->body = copy_without(arena, packs, stmt->body);
            copy->otherwise = copy_without(arena, packs, stmt->otherwise);
        }
        *end = copy;
        end = &copy->next;
    }
    return first;
}

const struct ir_stmt *vector_without_packs(struct arena *arena, const struct ir_stmt *stmt,
                                           struct vector_packs *packs)
{
    *packs = (struct vector_packs){.count = 0};
    find_counters(packs, stmt, stmt->body, false);
    if (!packs->count)
        return NULL;
    struct ir_stmt *loop = arena_new(arena, struct ir_stmt);
    *loop = *stmt;
    loop->body = copy_without(arena, packs, stmt->body);
    loop->next = NULL;
    return loop;
}

/* ---- values -------------------------------------------------------------------------------------------- */

static int row_of(struct vector_builder *builder, const struct ir_symbol *symbol)
{
    struct vector_loop *loop = builder->loop;
    for (int k = 0; k < loop->counters.count; k++)
        if (loop->counters.items[k].symbol == symbol)
            return k;
    struct vector_counter row = {.symbol = (struct ir_symbol *)symbol};
    row.slot =
        vector_argument_new(builder, (struct vector_argument){VECTOR_ARGUMENT_COUNTER, -1,
                                                              loop->counters.count, NULL, 0, NULL, NULL});
    list_push(builder->arena, &loop->counters, row);
    return loop->counters.count - 1;
}

/* From its first element on. */
static int add_stream(struct vector_builder *builder, const struct ir_access *access)
{
    struct vector_loop *loop = builder->loop;
    bool in_address[AKG_MAX_RANK];
    int number = loop->streams.count;
    for (int axis = 0; axis < access->buffer->rank; axis++)
        in_address[axis] = axis < access->buffer->rank - 1;
    if (number >= VECTOR_STREAMS)
        return vector_refuse(builder);
    struct vector_stream stream = {.access = vector_origin(builder, access, in_address),
                                   .dtype = access->buffer->dtype,
                                   .is_stored = true,
                                   .is_gathered = true};
    stream.slot = vector_argument_new(
        builder, (struct vector_argument){VECTOR_ARGUMENT_ADDRESS, number, -1, NULL, 0, NULL, NULL});
    list_push(builder->arena, &loop->streams, stream);
    return number;
}

/* For the lanes that go there now. */
static void test_room(struct vector_builder *builder, const struct ir_access *access,
                      const struct vector_value *value)
{
    bool wide = builder->loop->counters.items[value->slot].symbol->dtype == AKG_INT64;
    enum vector_argument_kind kind = wide ? VECTOR_ARGUMENT_EXTENT : VECTOR_ARGUMENT_EXTENT_32;
    struct vector_value test = vector_blank(VECTOR_TEST, AKG_BOOL);
    test.operands[0] = builder->mask;
    test.slot = value->slot;
    test.offset = value->offset;
    test.bits = (uint64_t)vector_argument_new(
        builder,
        (struct vector_argument){kind, value->stream, -1, NULL, access->buffer->rank - 1, NULL, NULL});
    vector_add(builder, test);
    builder->loop->stops = true;
}

bool vector_pack(struct vector_builder *builder, const struct ir_stmt *stmt)
{
    const struct vector_packs *packs = builder->packs;
    int ahead, number = packs ? counter_of_store(packs, stmt, &ahead) : -1,
               step = packs ? counter_of_step(packs, stmt) : -1;
    if (number < 0 && step < 0)
        return false;
    bool stores = number >= 0;
    struct vector_value value = vector_blank(VECTOR_PACK, stores ? stmt->access.buffer->dtype : AKG_BOOL);
    value.slot = row_of(builder, packs->symbols[stores ? number : step]);
    value.mask = builder->mask;
    if (stores) {
        value.operands[0] = vector_expression(builder, stmt->value);
        value.stream = add_stream(builder, &stmt->access);
        value.offset = ahead;
    }
    if (builder->refused || builder->mask < 0) {
        vector_refuse(builder);
        return true;
    }
    if (stores)
        test_room(builder, &stmt->access, &value);
    vector_add(builder, value);
    return true;
}

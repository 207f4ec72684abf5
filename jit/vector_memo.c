/*
 * vector_memo.c: tables of what is asked again and again while a loop is built: values that are the same as
 * another, scalars by their symbols, what the body declares.
 *
 * Consumes a builder; answers as a search through its lists would. Bodies of thousands of statements take a
 * time that grows with their length by that, and not with its square. Entries may be out of date, since
 * values are changed and dropped: each is looked at before it is believed.
 */
#include "vector_build.h"

#include <string.h>

enum {
    LONG = 64,   /* values that are searched one after the other */
    HEADS = 4096 /* chains of values with the same hash */
};

static size_t mixed(size_t hash, size_t more)
{
    hash = (hash ^ more) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

/* ---- values ------------------------------------------------------------------------------------- */

/* The same as an earlier one? `line` is for people only. */
static bool same_value(const struct vector_value *a, const struct vector_value *b)
{
    return a->kind == b->kind && a->type == b->type && a->dtype == b->dtype && a->from == b->from &&
           a->operation == b->operation && memcmp(a->operands, b->operands, sizeof a->operands) == 0 &&
           a->mask == b->mask && a->slot == b->slot && a->stream == b->stream && a->offset == b->offset &&
           a->epoch == b->epoch && a->bits == b->bits && a->rounds == b->rounds;
}

static size_t chain_of(const struct vector_value *value)
{
    size_t hash = mixed((size_t)value->kind, (size_t)value->operation);
    hash = mixed(hash, (size_t)value->bits);
    hash = mixed(hash, (size_t)value->offset);
    for (int k = 0; k < 3; k++)
        hash = mixed(hash, (size_t)value->operands[k]);
    return mixed(hash, (size_t)value->mask ^ (size_t)value->stream << 16 ^ (size_t)value->slot << 32) % HEADS;
}

int vector_memo_value(struct vector_builder *builder, const struct vector_value *value)
{
    const struct vector_loop *loop = builder->loop;
    struct vector_memo *memo = builder->memo;
    if (!memo || loop->values.count - builder->first < LONG) {
        for (int k = builder->first; k < loop->values.count; k++)
            if (same_value(&loop->values.items[k], value))
                return k;
        return -1;
    }
    if (!memo->heads || memo->first != builder->first || memo->chained > loop->values.count) {
        memo->heads = arena_array(builder->arena, int, HEADS);
        memo->first = memo->chained = builder->first;
    }
    for (; memo->chained < loop->values.count; memo->chained++) { /* 0 ends a chain */
        int *head = &memo->heads[chain_of(&loop->values.items[memo->chained])];
        while (memo->next.count <= memo->chained)
            list_push(builder->arena, &memo->next, 0);
        memo->next.items[memo->chained] = *head;
        *head = memo->chained + 1;
    }
    for (int k = memo->heads[chain_of(value)] - 1; k >= 0; k = memo->next.items[k] - 1)
        if (same_value(&loop->values.items[k], value))
            return k;
    return -1;
}

/* ---- symbols ------------------------------------------------------------------------------------- */

/* Where the symbol stands, or would. */
static struct vector_entry *entry_of(const struct vector_table *table, const struct ir_symbol *symbol)
{
    size_t at = mixed(0, (uintptr_t)symbol) & (table->slots - 1);
    while (table->entries[at].symbol && table->entries[at].symbol != symbol)
        at = (at + 1) & (table->slots - 1);
    return &table->entries[at];
}

static void put(struct arena *arena, struct vector_table *table, const struct ir_symbol *symbol, int place)
{
    if (2 * table->count >= table->slots) {
        struct vector_table larger = {.slots = table->slots ? 2 * table->slots : 16};
        larger.entries = arena_array(arena, struct vector_entry, larger.slots);
        for (size_t k = 0; k < table->slots; k++)
            if (table->entries[k].symbol)
                *entry_of(&larger, table->entries[k].symbol) = table->entries[k];
        larger.count = table->count;
        *table = larger;
    }
    struct vector_entry *entry = entry_of(table, symbol);
    table->count += !entry->symbol;
    *entry = (struct vector_entry){symbol, place};
}

int vector_memo_scalar(const struct vector_builder *builder, const struct ir_symbol *symbol)
{
    const struct vector_memo *memo = builder->memo;
    int place = -1;
    if (memo && memo->scalars.slots) {
        const struct vector_entry *entry = entry_of(&memo->scalars, symbol);
        place = entry->symbol ? entry->place : -1;
    } else if (!memo) {
        place = builder->scalars.count - 1;
        while (place >= 0 && builder->scalars.items[place].symbol != symbol)
            place--;
    }
    return place >= 0 && place < builder->scalars.count && builder->scalars.items[place].symbol == symbol
               ? place
               : -1;
}

void vector_memo_add_scalar(struct vector_builder *builder, const struct ir_symbol *symbol)
{
    if (builder->memo)
        put(builder->arena, &builder->memo->scalars, symbol, builder->scalars.count - 1);
}

/* ---- declarations ---------------------------------------------------------------------------------- */

struct declarer {
    struct arena *arena;
    struct vector_table *table;
};

static bool add_declaration(struct ir_stmt *stmt, void *context)
{
    struct declarer *declarer = context;
    if (stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_FOR)
        put(declarer->arena, declarer->table, stmt->symbol, 0);
    return true;
}

bool vector_memo_declares(const struct vector_builder *builder, const struct ir_symbol *symbol)
{
    struct vector_memo *memo = builder->memo;
    if (!memo)
        return vector_is_declared(builder->stmt, symbol);
    if (memo->declarer != builder->stmt) {
        struct declarer declarer = {builder->arena, &memo->declared};
        memo->declared = (struct vector_table){.slots = 0};
        memo->declarer = builder->stmt;
        ir_block_walk(builder->stmt->body, add_declaration, &declarer);
    }
    return memo->declared.slots && entry_of(&memo->declared, symbol)->symbol;
}

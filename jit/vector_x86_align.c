/*
 * vector_x86_align.c: vectors that are stored whole lines of memory.
 *
 * Consumes a loop that stores, to elements side by side, and loads such alone; produces a vector before its
 * rounds of which those lanes count that lie before the first line, where the loop is long. What is stored
 * across the end of a line is stored in two goes, and what is loaded likewise: rows of a triangle begin
 * anywhere, and so does what lies inside of a margin. Zen 5, `a[i, j] -= a[i, k] * a[k, j]` of 368 elements
 * in the second cache: 6.2 us a column and 4.0 where rows begin with a line.
 *
 * Beside wider elements a vector of narrow ones is half a line. Loops whose quotients are products where they
 * are long are left alone: which elements are divided would hang on where memory begins. With AVX-512 alone:
 * vectors of 256 bits lie across the ends of half as many lines.
 */
#include "vector_x86_loop.h"
#include "vector_x86_operation.h"

enum { LINE = 64, LEAST_VECTORS = 8 /* of a loop for which it is worth it */ };

/* While the vector is done the count holds its lanes, and above them what is left behind it: the mask is made
 * of the lowest eight bits (Intel's manual, BZHI), and a register of its own would be taken from the loop. */
enum { COUNT_SHIFT = 8 };

/* The first store whose address is at hand; NULL: there is none. */
static const struct vector_value *find_store(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    for (int k = 0; k < loop->values.count; k++)
        if (loop->values.items[k].kind == VECTOR_STORE &&
            machine->pointers[loop->values.items[k].stream] >= 0)
            return &loop->values.items[k];
    return NULL;
}

/* Whether a value follows the loop by whole vectors alone. */
static bool counts_vectors(const struct vector_loop *loop)
{
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value->kind == VECTOR_INDEX && value->bits != 1 && value->bits != UINT64_MAX)
            return true;
    }
    return false;
}

static bool have_same_rows(const struct ir_buffer *a, const struct ir_buffer *b)
{
    if (a->rank < 2 || b->rank < 2)
        return a->rank == b->rank;
    return ir_expr_equal(a->shape[a->rank - 1], b->shape[b->rank - 1]);
}

/* Whether the element lies where the stored one does in lines of memory, and so all along; or surely does
 * not: 1, or -1. Tensors begin with a line; of neighbours in rows as long one may be where lines begin, now
 * or then.
 */
static int lies_likewise(const struct vector_loop *loop, const struct vector_value *store,
                         const struct vector_value *value)
{
    const struct ir_access *a = loop->streams.items[store->stream].access,
                           *b = loop->streams.items[value->stream].access;
    bool is_alike = a->buffer->rank && b->buffer->rank && have_same_rows(a->buffer, b->buffer);
    bool is_in_same_column = is_alike && store->offset == value->offset &&
                             ir_expr_equal(a->indices[a->buffer->rank - 1], b->indices[b->buffer->rank - 1]);
    return is_in_same_column ? 1 : is_alike && a->buffer->rank > 1 ? 0 : -1;
}

/* What is there for all rows, as the mean of each column, lies whole in lines as it is, and would be loaded
 * from across their ends. */
static bool is_worth_it(const struct vector_loop *loop, const struct vector_value *store)
{
    int likewise = 2, otherwise = 0;
    for (int k = 0; k < loop->values.count; k++) {
        const struct vector_value *value = &loop->values.items[k];
        if (value == store || (value->kind != VECTOR_STORE && value->kind != VECTOR_LOAD))
            continue;
        int lies = lies_likewise(loop, store, value), weight = value->kind == VECTOR_STORE ? 2 : 1;
        likewise += lies > 0 ? weight : 0;
        otherwise += lies < 0 ? weight : 0;
    }
    return likewise > 2 * otherwise;
}

static bool is_possible(const struct machine *machine)
{
    const struct vector_loop *loop = machine->loop;
    return machine_vector_bits(machine) == 8 * LINE && !machine->in_halves && machine->index != X86_NONE &&
           !loop->accumulators.count && !loop->choices.count && !loop->calls && !loop->stops &&
           !loop->is_even && !loop->is_serial && !counts_vectors(loop) && !machine_has_quotients(machine) &&
           machine_is_plain(loop);
}

void machine_build_aligned(struct machine *machine, struct machine_aligned *aligned)
{
    aligned->store = is_possible(machine) ? find_store(machine) : NULL;
    if (aligned->store && !is_worth_it(machine->loop, aligned->store))
        aligned->store = NULL;
    if (!aligned->store)
        return;
    machine_build_step(machine, &aligned->vector, 0, 0, true);
    machine_tail(machine, &aligned->tail, 0);
}

void machine_place_aligned(struct machine *machine, struct machine_aligned *aligned)
{
    int size = dtype_table[aligned->store->dtype].size, done = machine->labels++;
    machine_emit_by(machine, X86_CMP_BY, machine->count, LEAST_VECTORS * machine->lanes);
    machine_emit_jump(machine, X86_JL, done);
    machine_emit_place(machine, aligned->store);
    machine_emit(machine, (struct x86_instruction){.form = X86_NEG, .rm = X86_RAX});
    machine_emit_by(machine, X86_AND_BY, X86_RAX, machine->lanes * size - 1);
    machine_emit_jump(machine, X86_JE, done);
    machine_emit_by(machine, X86_SAR_BY, X86_RAX, __builtin_ctz((unsigned)size));
    machine_emit(machine, (struct x86_instruction){.form = X86_SUB, .reg = machine->count, .rm = X86_RAX});
    machine_emit_by(machine, X86_SHL_BY, machine->count, COUNT_SHIFT);
    machine_emit(machine, (struct x86_instruction){.form = X86_ADD, .reg = machine->count, .rm = X86_RAX});
    machine_allocate(machine, &aligned->tail);
    machine_allocate(machine, &aligned->vector);
    machine_emit(machine, (struct x86_instruction){.form = X86_MOV, .reg = X86_RAX, .rm = machine->count});
    machine_emit_by(machine, X86_AND_BY, X86_RAX, LINE - 1);
    machine_emit(machine, (struct x86_instruction){.form = X86_ADD, .reg = machine->index, .rm = X86_RAX});
    machine_emit_by(machine, X86_SAR_BY, machine->count, COUNT_SHIFT);
    machine_emit_label(machine, done);
}

/*
 * emit_cuda_scan.c: loops that accumulate from one iteration to the next, by the threads of a block.
 *
 * Consumes a loop that cuda_scan.h found. The block takes as many iterations at a time as it has threads:
 * each thread computes what its iteration accumulates, learns what those before it combine to, in an order
 * that is the same each time, and then goes through the iteration as the loop would.
 */
#include "cuda_scan.h"
#include "emit_cuda_private.h"

struct scan {
    struct cuda_emitter *cuda;
    const struct cuda_chain *chain;
    struct cuda_scan found;
};

static const struct ir_symbol *symbol_of(const struct scan *scan, int number)
{
    return scan->found.items[number].stmt->symbol;
}

/* "s_own_" */
static const char *name_of(const struct scan *scan, int number, const char *part)
{
    struct emitter *emitter = &scan->cuda->emitter;
    return arena_format(&emitter->arena, "%s_%s_", emitter->symbols[symbol_of(scan, number)->slot].name,
                        part);
}

static const char *wide_type(const struct scan *scan, int number)
{
    return emit_cuda_combined_type(scan->found.items[number].operation, symbol_of(scan, number)->dtype);
}

static void begin_iteration(const struct scan *scan, const struct cuda_loop_texts *texts, const char *number)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_line(emitter, "if (%s < %s) {", number, texts[0].trips);
    emitter->indent++;
    emit_cuda_apart(scan->cuda, scan->chain, texts, number);
}

static void end_block(const struct scan *scan)
{
    scan->cuda->emitter.indent--;
    emit_line(&scan->cuda->emitter, "}");
}

/* What the iteration accumulates, with the LETs that it needs for that. */
static void emit_values(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    for (const struct ir_stmt *stmt = cuda_chain_body(scan->chain); stmt; stmt = stmt->next) {
        bool needed = false;
        for (int k = 0; k < scan->found.count && stmt->kind == IR_LET; k++)
            needed |= cuda_scan_needs(scan->found.items[k].value, stmt->symbol);
        if (needed)
            emit_statement(emitter, stmt);
    }
    for (int k = 0; k < scan->found.count; k++) {
        const struct cuda_scanned *item = &scan->found.items[k];
        const char *type = wide_type(scan, k), *value = emit_shallow(emitter, item->value).text;
        const char *minus = !item->negative                      ? ""
                            : dtype_is_float(item->value->dtype) ? "-"
                                                                 : "0ull - (unsigned long long)";
        emit_line(emitter, "%s = (%s)(%s(%s));", name_of(scan, k, "own"), type, minus, value);
    }
}

/* The scalar is what it was before these iterations, and a part of what they accumulate. */
static void emit_combination(const struct scan *scan, int number, const char *part)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const struct ir_symbol *symbol = symbol_of(scan, number);
    struct emit_symbol *entry = &emitter->symbols[symbol->slot];
    const char *type = emit_type(symbol->dtype), *combined = arena_format(&emitter->arena, "%sas_", part);
    struct emit_value operands[2] = {emit_name(name_of(scan, number, "from")), emit_name(combined)};
    emit_line(emitter, "const %s %s = (%s)%s;", type, combined, type, part);
    emit_line(emitter, "%s = %s;", entry->name,
              emit_combined(emitter, scan->found.items[number].operation, symbol->dtype, operands).text);
    entry->assignments++;
}

static void declare(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    for (int k = 0; k < scan->found.count; k++) {
        const struct ir_symbol *symbol = symbol_of(scan, k);
        const char *type = wide_type(scan, k);
        const char *neutral = emit_cuda_neutral(scan->cuda, scan->found.items[k].operation, symbol->dtype);
        emit_line(emitter, "const %s %s = %s;", emit_type(symbol->dtype), name_of(scan, k, "from"),
                  emitter->symbols[symbol->slot].name);
        emit_line(emitter, "%s %s = %s, %s = %s;", type, name_of(scan, k, "own"), neutral,
                  name_of(scan, k, "before"), neutral);
    }
}

static void emit_scans(const struct scan *scan)
{
    for (int k = 0; k < scan->found.count; k++)
        emit_line(&scan->cuda->emitter, "const %s %s = akg_scan_%s(%s, &%s);", wide_type(scan, k),
                  name_of(scan, k, "all"),
                  emit_cuda_combiner(scan->cuda, scan->found.items[k].operation, symbol_of(scan, k)->dtype),
                  name_of(scan, k, "own"), name_of(scan, k, "before"));
}

void emit_cuda_scan(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct scan scan = {.cuda = cuda, .chain = chain};
    struct cuda_loop_texts texts[CUDA_CHAIN];
    const char *name = emitter->symbols[chain->loops[0]->symbol->slot].name;
    const char *base = arena_format(&emitter->arena, "%s_base_", name);
    const char *number = arena_format(&emitter->arena, "%s_at_", name);
    cuda_scan_of(&cuda->plan, chain->loops[0], &scan.found);
    emit_cuda_trips(cuda, chain, texts);
    emit_statement_line(emitter, chain->loops[0],
                        arena_format(&emitter->arena, "for (long long %s = 0; %s < %s; %s += blockDim.x) {",
                                     base, base, texts[0].trips, base));
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s + threadIdx.x;", number, base);
    declare(&scan);
    begin_iteration(&scan, texts, number);
    emit_values(&scan);
    end_block(&scan);
    emit_scans(&scan);
    begin_iteration(&scan, texts, number);
    for (int k = 0; k < scan.found.count; k++)
        emit_combination(&scan, k, name_of(&scan, k, "before"));
    emit_block(emitter, cuda_chain_body(chain));
    end_block(&scan);
    for (int k = 0; k < scan.found.count; k++)
        emit_combination(&scan, k, name_of(&scan, k, "all"));
    end_block(&scan);
}

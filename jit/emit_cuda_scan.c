/*
 * emit_cuda_scan.c: loops that accumulate from one iteration to the next, by the threads of a block.
 *
 * Consumes a loop that cuda_scan.h found. The block takes as many iterations at a time as it has threads:
 * each thread computes what its iteration accumulates, learns what those before it combine to, in an order
 * that is the same each time, and then goes through the iteration as the loop would.
 */
#include "emit_cuda_scan.h"

const struct ir_symbol *emit_scan_symbol(const struct scan *scan, int number)
{
    return scan->found.items[number].symbol;
}

const char *emit_scan_name(const struct scan *scan, int number, const char *part)
{
    struct emitter *emitter = &scan->cuda->emitter;
    return arena_format(&emitter->arena, "%s_%s_",
                        emitter->symbols[emit_scan_symbol(scan, number)->slot].name, part);
}

const char *emit_scan_type(const struct scan *scan, int number)
{
    const struct cuda_scanned *item = &scan->found.items[number];
    return item->scales ? arena_format(&scan->cuda->emitter.arena, "struct akg_%s",
                                       emit_cuda_scaler(item->symbol->dtype))
                        : emit_cuda_combined_type(item->operation, item->symbol->dtype);
}

const char *emit_scan_ending(const struct scan *scan, int number)
{
    const struct cuda_scanned *item = &scan->found.items[number];
    return item->scales ? emit_cuda_scaler(item->symbol->dtype)
                        : emit_cuda_combiner(scan->cuda, item->operation, item->symbol->dtype);
}

static void begin_iteration(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_line(emitter, "if (%s < %s) {", scan->number, scan->end);
    emitter->indent++;
    emit_cuda_apart(scan->cuda, scan->chain, scan->texts, scan->number);
}

void emit_scan_close(const struct scan *scan)
{
    scan->cuda->emitter.indent--;
    emit_line(&scan->cuda->emitter, "}");
}

/* ---- what an iteration does to the scalars ---------------------------------------------------------------
 */

static const char *text_of(const struct scan *scan, const struct ir_expr *expr)
{
    return expr ? emit_shallow(&scan->cuda->emitter, expr).text : "0";
}

/* What an assignment does, as a value of the wide type. */
static const char *change_text(const struct scan *scan, int number, const struct cuda_change *change)
{
    struct arena *arena = &scan->cuda->emitter.arena;
    const char *type = emit_scan_type(scan, number);
    if (scan->found.items[number].scales) {
        const char *part = emit_cuda_scaled_type(emit_scan_symbol(scan, number)->dtype);
        return arena_format(arena, "akg_made_%s((%s)(%s), (%s)(%s))", emit_scan_ending(scan, number), part,
                            text_of(scan, change->factor), part, text_of(scan, change->term));
    }
    const char *minus = !change->negative                      ? ""
                        : dtype_is_float(change->value->dtype) ? "-"
                                                               : "0ull - (unsigned long long)";
    return arena_format(arena, "(%s)(%s(%s))", type, minus, text_of(scan, change->value));
}

static void emit_change(const struct scan *scan, int number, const struct cuda_change *change)
{
    const char *own =
        arena_format(&scan->cuda->emitter.arena, "%s%s", emit_scan_name(scan, number, "own"), scan->turn);
    const char *text = change_text(scan, number, change);
    if (scan->found.items[number].assignments == 1 && !*scan->turn)
        emit_line(&scan->cuda->emitter, "%s = %s;", own, text);
    else
        emit_line(&scan->cuda->emitter, "%s = akg_both_%s(%s, %s);", own, emit_scan_ending(scan, number), own,
                  text);
}

void emit_scan_changes(const struct scan *scan, const struct ir_stmt *block)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const struct cuda_plan *plan = &scan->cuda->plan;
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        struct cuda_change change;
        const struct cuda_scanned *item = cuda_scan_change(plan, &scan->found, stmt, &change);
        if (item)
            emit_change(scan, (int)(item - scan->found.items), &change);
        if (stmt->kind == IR_LET && cuda_scan_needs(plan, &scan->found, stmt->symbol))
            emit_statement(emitter, stmt);
        if (stmt->kind != IR_IF || !(cuda_scan_changes(&scan->found, stmt->body) ||
                                     cuda_scan_changes(&scan->found, stmt->otherwise)))
            continue;
        emit_line(emitter, "if (%s) {", emit_shallow(emitter, stmt->value).text);
        emitter->indent++;
        emit_scan_changes(scan, stmt->body);
        if (cuda_scan_changes(&scan->found, stmt->otherwise)) {
            emitter->indent--;
            emit_line(emitter, "} else {");
            emitter->indent++;
            emit_scan_changes(scan, stmt->otherwise);
        }
        emit_scan_close(scan);
    }
}

void emit_scan_combination(const struct scan *scan, int number, const char *part)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const struct cuda_scanned *item = &scan->found.items[number];
    akg_dtype dtype = item->symbol->dtype;
    struct emit_symbol *entry = &emitter->symbols[item->symbol->slot];
    const char *from = emit_scan_name(scan, number, "from"),
               *combined = arena_format(&emitter->arena, "%sas_", part);
    if (item->scales) {
        akg_dtype wide = dtype_is_float(dtype) ? AKG_FLOAT64 : AKG_UINT64;
        struct emit_value value =
            emit_name(arena_format(&emitter->arena, "akg_applied_%s(%s, (%s)%s)",
                                   emit_scan_ending(scan, number), part, emit_cuda_scaled_type(dtype), from));
        emit_line(emitter, "%s = %s;", entry->name, emit_cast(emitter, dtype, wide, value).text);
    } else {
        struct emit_value operands[2] = {emit_name(from), emit_name(combined)};
        emit_line(emitter, "const %s %s = (%s)%s;", emit_type(dtype), combined, emit_type(dtype), part);
        emit_line(emitter, "%s = %s;", entry->name,
                  emit_combined(emitter, item->operation, dtype, operands).text);
    }
    entry->assignments++;
}

const char *emit_scan_neutral(const struct scan *scan, int number)
{
    const struct cuda_scanned *item = &scan->found.items[number];
    return item->scales
               ? arena_format(&scan->cuda->emitter.arena, "akg_made_%s(1, 0)", emit_scan_ending(scan, number))
               : emit_cuda_neutral(scan->cuda, item->operation, item->symbol->dtype);
}

void emit_scan_from(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    for (int k = 0; k < scan->found.count; k++)
        emit_line(emitter, "const %s %s = %s;", emit_type(emit_scan_symbol(scan, k)->dtype),
                  emit_scan_name(scan, k, "from"), emitter->symbols[emit_scan_symbol(scan, k)->slot].name);
}

void emit_scan_declare(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    for (int k = 0; k < scan->found.count; k++) {
        const char *neutral = emit_scan_neutral(scan, k);
        emit_line(emitter, "%s %s = %s, %s = %s;", emit_scan_type(scan, k), emit_scan_name(scan, k, "own"),
                  neutral, emit_scan_name(scan, k, "before"), neutral);
    }
}

void emit_scan_exchange(const struct scan *scan)
{
    for (int k = 0; k < scan->found.count; k++)
        emit_line(&scan->cuda->emitter, "const %s %s = akg_scan_%s(%s, &%s);", emit_scan_type(scan, k),
                  emit_scan_name(scan, k, "all"), emit_scan_ending(scan, k), emit_scan_name(scan, k, "own"),
                  emit_scan_name(scan, k, "before"));
}

/* ---- a stretch of the loop by a block -------------------------------------------------------------------
 */

const char *emit_scan_loop_name(const struct scan *scan, const char *part)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const struct ir_symbol *symbol = scan->chain->loops[0]->symbol;
    return arena_format(&emitter->arena, "%s_%s_", emitter->symbols[symbol->slot].name, part);
}

/* The name of whether tensors lie well. */
static const char *well_name(const struct scan *scan)
{
    return emit_scan_loop_name(scan, "well");
}

void emit_scan_begin(struct scan *scan, struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    *scan = (struct scan){.cuda = cuda, .chain = chain, .turn = ""};
    cuda_scan_of(&cuda->plan, chain->loops[0], &scan->found);
    emit_cuda_trips(cuda, chain, scan->texts);
    scan->number = emit_scan_loop_name(scan, "at");
    scan->end = scan->texts[0].trips;
    scan->by_pieces = emit_cuda_pieces_of(cuda, chain, &scan->pieces);
    if (scan->by_pieces)
        emit_line(&cuda->emitter, "const int %s = %s;", well_name(scan),
                  emit_cuda_pieces_well(cuda, &scan->pieces));
}

void emit_scan_choose(const struct scan *scan)
{
    emit_line(&scan->cuda->emitter, "if (%s) {", well_name(scan));
    scan->cuda->emitter.indent++;
}

void emit_scan_otherwise(const struct scan *scan)
{
    scan->cuda->emitter.indent--;
    emit_line(&scan->cuda->emitter, "} else {");
    scan->cuda->emitter.indent++;
}

/* So many iterations at a time as there are threads: what each does, and what that comes to. */
static void begin_stretch(const struct scan *scan, const char *begin)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const char *base = emit_scan_loop_name(scan, "base");
    emit_statement_line(emitter, scan->chain->loops[0],
                        arena_format(&emitter->arena, "for (long long %s = %s; %s < %s; %s += blockDim.x) {",
                                     base, begin, base, scan->end, base));
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s + threadIdx.x;", scan->number, base);
    emit_scan_declare(scan);
    begin_iteration(scan);
    emit_scan_changes(scan, cuda_chain_body(scan->chain));
    emit_scan_close(scan);
    emit_scan_exchange(scan);
}

void emit_scan_part(const struct scan *scan, const char *begin)
{
    begin_stretch(scan, begin);
    for (int k = 0; k < scan->found.count; k++)
        emit_line(&scan->cuda->emitter, "%s = akg_both_%s(%s, %s);", emit_scan_name(scan, k, "part"),
                  emit_scan_ending(scan, k), emit_scan_name(scan, k, "part"), emit_scan_name(scan, k, "all"));
    emit_scan_close(scan);
}

void emit_scan_stretch(const struct scan *scan, const char *begin)
{
    begin_stretch(scan, begin);
    emit_scan_from(scan);
    begin_iteration(scan);
    for (int k = 0; k < scan->found.count; k++)
        emit_scan_combination(scan, k, emit_scan_name(scan, k, "before"));
    emit_block(&scan->cuda->emitter, cuda_chain_body(scan->chain));
    emit_scan_close(scan);
    for (int k = 0; k < scan->found.count; k++)
        emit_scan_combination(scan, k, emit_scan_name(scan, k, "all"));
    emit_scan_close(scan);
}

void emit_scan_declare_part(const struct scan *scan)
{
    for (int k = 0; k < scan->found.count; k++)
        emit_line(&scan->cuda->emitter, "%s %s = %s;", emit_scan_type(scan, k),
                  emit_scan_name(scan, k, "part"), emit_scan_neutral(scan, k));
}

void emit_cuda_scan(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct scan scan;
    emit_scan_begin(&scan, cuda, chain);
    if (scan.by_pieces) {
        const char *tile = emit_scan_loop_name(&scan, "tile");
        emit_scan_choose(&scan);
        emit_line(emitter, "for (long long %s = 0; %s < %s; %s++) {", tile, tile, emit_scan_tiles(&scan),
                  tile);
        emitter->indent++;
        emit_scan_declare_part(&scan);
        emit_scan_declare_pieces(&scan);
        emit_scan_load(&scan, tile);
        emit_scan_pieces(&scan, tile);
        emit_scan_close(&scan);
        emit_scan_otherwise(&scan);
    }
    emit_scan_stretch(&scan, "0");
    if (scan.by_pieces)
        emit_scan_close(&scan);
}

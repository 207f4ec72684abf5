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
    struct cuda_loop_texts texts[CUDA_CHAIN];
    const char *number, *end; /* of the iteration, and of the first that is not the block's */
};

static const struct ir_symbol *symbol_of(const struct scan *scan, int number)
{
    return scan->found.items[number].symbol;
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
    const struct cuda_scanned *item = &scan->found.items[number];
    return item->scales ? arena_format(&scan->cuda->emitter.arena, "struct akg_%s",
                                       emit_cuda_scaler(item->symbol->dtype))
                        : emit_cuda_combined_type(item->operation, item->symbol->dtype);
}

/* The ending of the names of functions: "add_float32". */
static const char *ending_of(const struct scan *scan, int number)
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

static void end_block(const struct scan *scan)
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
    const char *type = wide_type(scan, number);
    if (scan->found.items[number].scales) {
        const char *part = emit_cuda_scaled_type(symbol_of(scan, number)->dtype);
        return arena_format(arena, "akg_made_%s((%s)(%s), (%s)(%s))", ending_of(scan, number), part,
                            text_of(scan, change->factor), part, text_of(scan, change->term));
    }
    const char *minus = !change->negative                      ? ""
                        : dtype_is_float(change->value->dtype) ? "-"
                                                               : "0ull - (unsigned long long)";
    return arena_format(arena, "(%s)(%s(%s))", type, minus, text_of(scan, change->value));
}

static void emit_change(const struct scan *scan, int number, const struct cuda_change *change)
{
    const char *own = name_of(scan, number, "own"), *text = change_text(scan, number, change);
    if (scan->found.items[number].assignments == 1)
        emit_line(&scan->cuda->emitter, "%s = %s;", own, text);
    else
        emit_line(&scan->cuda->emitter, "%s = akg_both_%s(%s, %s);", own, ending_of(scan, number), own, text);
}

/* The assignments of the block, with the LETs that they need and the conditions around them. */
static void emit_changes(const struct scan *scan, const struct ir_stmt *block)
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
        emit_changes(scan, stmt->body);
        if (cuda_scan_changes(&scan->found, stmt->otherwise)) {
            emitter->indent--;
            emit_line(emitter, "} else {");
            emitter->indent++;
            emit_changes(scan, stmt->otherwise);
        }
        end_block(scan);
    }
}

/* The scalar is what it was before these iterations, and a part of what they do to it. */
static void emit_combination(const struct scan *scan, int number, const char *part)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const struct cuda_scanned *item = &scan->found.items[number];
    akg_dtype dtype = item->symbol->dtype;
    struct emit_symbol *entry = &emitter->symbols[item->symbol->slot];
    const char *from = name_of(scan, number, "from"),
               *combined = arena_format(&emitter->arena, "%sas_", part);
    if (item->scales) {
        akg_dtype wide = dtype_is_float(dtype) ? AKG_FLOAT64 : AKG_UINT64;
        struct emit_value value =
            emit_name(arena_format(&emitter->arena, "akg_applied_%s(%s, (%s)%s)", ending_of(scan, number),
                                   part, emit_cuda_scaled_type(dtype), from));
        emit_line(emitter, "%s = %s;", entry->name, emit_cast(emitter, dtype, wide, value).text);
    } else {
        struct emit_value operands[2] = {emit_name(from), emit_name(combined)};
        emit_line(emitter, "const %s %s = (%s)%s;", emit_type(dtype), combined, emit_type(dtype), part);
        emit_line(emitter, "%s = %s;", entry->name,
                  emit_combined(emitter, item->operation, dtype, operands).text);
    }
    entry->assignments++;
}

static const char *neutral_text(const struct scan *scan, int number)
{
    const struct cuda_scanned *item = &scan->found.items[number];
    return item->scales
               ? arena_format(&scan->cuda->emitter.arena, "akg_made_%s(1, 0)", ending_of(scan, number))
               : emit_cuda_neutral(scan->cuda, item->operation, item->symbol->dtype);
}

static void declare_from(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    for (int k = 0; k < scan->found.count; k++)
        emit_line(emitter, "const %s %s = %s;", emit_type(symbol_of(scan, k)->dtype),
                  name_of(scan, k, "from"), emitter->symbols[symbol_of(scan, k)->slot].name);
}

static void declare(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    for (int k = 0; k < scan->found.count; k++) {
        const char *neutral = neutral_text(scan, k);
        emit_line(emitter, "%s %s = %s, %s = %s;", wide_type(scan, k), name_of(scan, k, "own"), neutral,
                  name_of(scan, k, "before"), neutral);
    }
}

static void emit_scans(const struct scan *scan)
{
    for (int k = 0; k < scan->found.count; k++)
        emit_line(&scan->cuda->emitter, "const %s %s = akg_scan_%s(%s, &%s);", wide_type(scan, k),
                  name_of(scan, k, "all"), ending_of(scan, k), name_of(scan, k, "own"),
                  name_of(scan, k, "before"));
}

/* ---- a stretch of the loop by a block -------------------------------------------------------------------
 */

/* "k_base_" */
static const char *loop_name(const struct scan *scan, const char *part)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const struct ir_symbol *symbol = scan->chain->loops[0]->symbol;
    return arena_format(&emitter->arena, "%s_%s_", emitter->symbols[symbol->slot].name, part);
}

static void begin_scan(struct scan *scan, struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    *scan = (struct scan){.cuda = cuda, .chain = chain};
    cuda_scan_of(&cuda->plan, chain->loops[0], &scan->found);
    emit_cuda_trips(cuda, chain, scan->texts);
    scan->number = loop_name(scan, "at");
    scan->end = scan->texts[0].trips;
}

/* So many iterations at a time as there are threads: what each does, and what that comes to. */
static void begin_stretch(const struct scan *scan, const char *begin)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const char *base = loop_name(scan, "base");
    emit_statement_line(emitter, scan->chain->loops[0],
                        arena_format(&emitter->arena, "for (long long %s = %s; %s < %s; %s += blockDim.x) {",
                                     base, begin, base, scan->end, base));
    emitter->indent++;
    emit_line(emitter, "const long long %s = %s + threadIdx.x;", scan->number, base);
    declare(scan);
    begin_iteration(scan);
    emit_changes(scan, cuda_chain_body(scan->chain));
    end_block(scan);
    emit_scans(scan);
}

static void emit_stretch(const struct scan *scan, const char *begin)
{
    begin_stretch(scan, begin);
    declare_from(scan);
    begin_iteration(scan);
    for (int k = 0; k < scan->found.count; k++)
        emit_combination(scan, k, name_of(scan, k, "before"));
    emit_block(&scan->cuda->emitter, cuda_chain_body(scan->chain));
    end_block(scan);
    for (int k = 0; k < scan->found.count; k++)
        emit_combination(scan, k, name_of(scan, k, "all"));
    end_block(scan);
}

void emit_cuda_scan(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct scan scan;
    begin_scan(&scan, cuda, chain);
    emit_stretch(&scan, "0");
}

/* ---- by the grid ------------------------------------------------------------------------------------------
 */

int emit_cuda_scan_words(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct cuda_scan found;
    cuda_scan_of(&cuda->plan, chain->loops[0], &found);
    return 2 * found.count * (1 + CUDA_SUM_BLOCKS);
}

/* Where it lies, of a part the first word: in front of the parts of all blocks what the scalars begin with.
 */
static const char *word_text(const struct scan *scan, int number, const char *part, int word)
{
    return arena_format(&scan->cuda->emitter.arena, "akg_parts[(%s * %d + %d) * 2 + %d]", part,
                        scan->found.count, number, word);
}

static const char *member_of(akg_dtype dtype)
{
    return dtype_is_float(dtype) ? "d" : "i";
}

static void store_part(const struct scan *scan, int number)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const char *part = name_of(scan, number, "part"), *place = "(1 + (long long)blockIdx.x)";
    const char *member = member_of(symbol_of(scan, number)->dtype);
    if (!scan->found.items[number].scales) {
        emit_line(emitter, "%s.%s = %s;", word_text(scan, number, place, 0), member, part);
        return;
    }
    emit_line(emitter, "%s.%s = %s.factor;", word_text(scan, number, place, 0), member, part);
    emit_line(emitter, "%s.%s = %s.term;", word_text(scan, number, place, 1), member, part);
}

static const char *part_text(const struct scan *scan, int number, const char *part)
{
    struct arena *arena = &scan->cuda->emitter.arena;
    akg_dtype dtype = symbol_of(scan, number)->dtype;
    const char *member = member_of(dtype);
    if (!scan->found.items[number].scales)
        return arena_format(arena, "(%s)%s.%s", wide_type(scan, number), word_text(scan, number, part, 0),
                            member);
    const char *type = emit_cuda_scaled_type(dtype);
    return arena_format(arena, "akg_made_%s((%s)%s.%s, (%s)%s.%s)", ending_of(scan, number), type,
                        word_text(scan, number, part, 0), member, type, word_text(scan, number, part, 1),
                        member);
}

/* All blocks have stretches of the same length, a multiple of their threads; the last ones may have less. */
static const char *begin_share(struct scan *scan, struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    begin_scan(scan, cuda, chain);
    const char *trips = scan->texts[0].trips, *share = loop_name(scan, "share");
    const char *begin = loop_name(scan, "begin"), *end = loop_name(scan, "until");
    emit_line(
        emitter,
        "const long long %s = akg_trips(0, %s, (unsigned long long)gridDim.x * blockDim.x) * blockDim.x;",
        share, trips);
    emit_line(emitter, "const long long %s = blockIdx.x * %s;", begin, share);
    emit_line(emitter, "const long long %s = %s + %s < %s ? %s + %s : %s;", end, begin, share, trips, begin,
              share, trips);
    scan->end = end;
    return begin;
}

void emit_cuda_scan_parts(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct emitter *emitter = &cuda->emitter;
    struct scan scan;
    const char *begin = begin_share(&scan, cuda, chain);
    for (int k = 0; k < scan.found.count; k++)
        emit_line(emitter, "%s %s = %s;", wide_type(&scan, k), name_of(&scan, k, "part"),
                  neutral_text(&scan, k));
    begin_stretch(&scan, begin);
    for (int k = 0; k < scan.found.count; k++)
        emit_line(emitter, "%s = akg_both_%s(%s, %s);", name_of(&scan, k, "part"), ending_of(&scan, k),
                  name_of(&scan, k, "part"), name_of(&scan, k, "all"));
    end_block(&scan);
    emit_line(emitter, "if (threadIdx.x == 0) {");
    emitter->indent++;
    for (int k = 0; k < scan.found.count; k++) {
        const struct ir_symbol *symbol = symbol_of(&scan, k);
        store_part(&scan, k);
        emit_line(emitter, "if (blockIdx.x == 0)");
        emit_line(emitter, "    %s.%s = %s;", word_text(&scan, k, "0", 0), member_of(symbol->dtype),
                  emitter->symbols[symbol->slot].name);
    }
    end_block(&scan);
}

/* The scalars are what the blocks before leave them: each thread combines some of their parts, which stand
 * one behind the other. */
static void emit_parts_before(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_line(emitter, "const long long each_ = (blockIdx.x + blockDim.x - 1) / blockDim.x;");
    for (int k = 0; k < scan->found.count; k++) {
        struct emit_symbol *entry = &emitter->symbols[symbol_of(scan, k)->slot];
        const char *type = emit_type(symbol_of(scan, k)->dtype);
        emit_line(emitter, "%s = (%s)%s.%s;", entry->name, type, word_text(scan, k, "0", 0),
                  member_of(symbol_of(scan, k)->dtype));
        entry->assignments++;
    }
    declare_from(scan);
    declare(scan);
    emit_line(emitter, "const long long first_ = threadIdx.x * each_;");
    emit_line(emitter, "const long long last_ = first_ + each_ < blockIdx.x ? first_ + each_ : blockIdx.x;");
    emit_line(emitter, "for (long long part_ = first_; part_ < last_; part_++) {");
    emitter->indent++;
    for (int k = 0; k < scan->found.count; k++)
        emit_line(emitter, "%s = akg_both_%s(%s, %s);", name_of(scan, k, "own"), ending_of(scan, k),
                  name_of(scan, k, "own"), part_text(scan, k, "(1 + part_)"));
    end_block(scan);
    emit_scans(scan);
    for (int k = 0; k < scan->found.count; k++)
        emit_combination(scan, k, name_of(scan, k, "all"));
}

void emit_cuda_scan_stretches(struct cuda_emitter *cuda, const struct cuda_chain *chain)
{
    struct scan scan;
    const char *begin = begin_share(&scan, cuda, chain);
    emit_line(&cuda->emitter, "if (gridDim.x > 1) {");
    cuda->emitter.indent++;
    emit_parts_before(&scan);
    end_block(&scan);
    emit_stretch(&scan, begin);
}

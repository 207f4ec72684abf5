/*
 * emit_c_split.c: loops that threads share, as functions of their own.
 *
 * Consumes a FOR that the plan says may be split (split.h); produces a function of a range of its iterations,
 * which stands above the kernel, and in the kernel a call of it: through `split` of the frame, where the
 * caller has threads and the loop is long enough for them (it is told how much work there is), else directly;
 * a vector loop of few slots, or in others, stands there itself for when it is short, and so does, for
 * compilers, a loop inside others.
 * What the body uses of the variables around it is handed over by value.
 *
 * A loop over strips of rows is shared by rows, where each thread has enough of them: then each has its own
 * copies of them. Else what is inside it is shared. A loop over tiles of a product, each of them a nest over
 * rows, is one over the blocks of rows of all tiles, for there may be fewer tiles than threads. Blocks of one
 * tile that a part has next to each other are one nest.
 *
 * A loop that accumulates is cut into stretches. How many there are hangs on its extents alone, so that the
 * result is the same for any number of threads. Each has variables of its own, which start from what changes
 * nothing and are put down when it is done; they are combined in the order of the stretches. Short loops are
 * one stretch, and are emitted as they are.
 */
#include "emit_c_work.h"
#include "split.h"
#include "vector_plan.h"

#include <math.h>

/* Operations of a stretch, at least (about as many as are worth a piece for a thread); the most stretches of
 * a loop. */
enum { STRETCH_WORK = 200000, MOST_STRETCHES = 256 };

/* Of a thread: from so many on strips stay whole. */
enum { MANY_STRIPS = 4 };

struct splitting {
    struct emitter *emitter;
    const struct ir_stmt *loop;
    const struct ir_stmt *end;           /* of each of its strips; NULL: it goes on by iterations */
    bool *inside;                        /* by slot: declared in the loop */
    bool *seen;                          /* by slot: in `kept` */
    LIST(const struct ir_symbol *) kept; /* what the body needs of the outside */
    const char *work;                    /* the variable that holds work_of; NULL: there is none */
};

/* ---- what is handed over ------------------------------------------------------------------------- */

static bool note_declaration(struct ir_stmt *stmt, void *context)
{
    struct splitting *splitting = context;

    if (stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE)
        splitting->inside[stmt->symbol->slot] = true;
    return true;
}

static bool is_of_call(const struct ir_symbol *symbol)
{
    return symbol->kind == IR_SYMBOL_DIM || symbol->kind == IR_SYMBOL_ATTRIBUTE;
}

static void keep(struct splitting *splitting, const struct ir_symbol *symbol)
{
    if (is_of_call(symbol) || splitting->inside[symbol->slot] || splitting->seen[symbol->slot])
        return;
    splitting->seen[symbol->slot] = true;
    list_push(&splitting->emitter->arena, &splitting->kept, symbol);
}

static bool note_use(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_SYMBOL)
        keep(context, expr->symbol);
    return true;
}

static void find_kept(struct splitting *splitting)
{
    struct emitter *emitter = splitting->emitter;
    int slots = emitter->kernel->slot_count;

    splitting->inside = arena_array(&emitter->arena, bool, slots + 1);
    splitting->seen = arena_array(&emitter->arena, bool, slots + 1);
    splitting->inside[splitting->loop->symbol->slot] = true;
    ir_block_walk(splitting->loop->body, note_declaration, splitting);
    for (int k = 0; k < splitting->loop->reductions.count; k++)
        splitting->inside[splitting->loop->reductions.items[k].symbol->slot] = true;
    for (int k = 0; k < emitter->loop_count && k < JIT_TRAP_LOOPS; k++)
        keep(splitting, emitter->loops[k]);
    ir_block_expressions(splitting->loop->body, note_use, splitting);
}

static bool is_of_outside(struct ir_expr *expr, void *context)
{
    const struct splitting *splitting = context;

    return expr->kind != IR_LOAD &&
           (expr->kind != IR_SYMBOL || is_of_call(expr->symbol) || !splitting->inside[expr->symbol->slot]);
}

/* Operations of one iteration, about, as a double. */
static const char *work_of(struct splitting *splitting, struct emit_value low, struct emit_value high)
{
    return splitting->work ? splitting->work
                           : emit_work(splitting->emitter, splitting->loop, splitting->inside, low, high);
}

/* ---- the function ------------------------------------------------------------------------------------- */

/* The member of union akg_scalar that holds it. */
static const char *member_of(const struct ir_symbol *symbol)
{
    return dtype_is_float(symbol->dtype) ? "d" : "i";
}

/* Its text, with the statements that were captured inside, after which the names of `kept` that it does not
 * use are dropped; those before `used` are for these statements. */
static const char *emit_part(struct splitting *splitting, const char *name, int used)
{
    struct emitter *emitter = splitting->emitter;
    struct arena *arena = &emitter->arena;
    int first = used;

    struct emit_function inside = emit_function(emitter, emit_capture_end(emitter));
    const char *kept = "";
    for (int k = 0; k < splitting->kept.count; k++) {
        const struct ir_symbol *symbol = splitting->kept.items[k];
        const char *text = emitter->symbols[symbol->slot].name;
        if (!emit_count_word(emitter, text))
            continue;
        kept = arena_format(arena, "%s    const %s %s = (%s)kept_[%d].%s;\n", kept, emit_type(symbol->dtype),
                            text, emit_type(symbol->dtype), used, member_of(symbol));
        splitting->kept.items[used++ - first] = symbol;
    }
    splitting->kept.count = used - first;
    const char *text = emit_definition(
        emitter, true, name,
        "const struct akg_frame *frame, long long from_, long long to_,\n    const union akg_scalar *kept_",
        "frame, from_, to_, kept_", &inside, used ? kept : "    (void)kept_;\n");
    return arena_format(arena, "%s\n", text);
}

static void emit_kept(struct splitting *splitting, const char *array, int first)
{
    for (int k = 0; k < splitting->kept.count; k++) {
        const struct ir_symbol *symbol = splitting->kept.items[k];
        emit_line(splitting->emitter, "%s[%d].%s = %s;", array, first + k, member_of(symbol),
                  splitting->emitter->symbols[symbol->slot].name);
    }
}

/* Rows of a nest that stay together; fewer take as long. */
static const char *grain_of_rows(struct emitter *emitter, const char *from, const char *to)
{
    return arena_format(&emitter->arena, "%s - %s > 16 ? 14 : %s - %s > 8 ? 8 : 4", to, from, to, from);
}

/* Iterations that stay together are tiles: some rows of a nest, or several vectors of its columns, where
 * there are enough. Loops around machine code go on piece by piece. */
static const char *grain_of(struct splitting *splitting, struct emit_value low, struct emit_value high)
{
    struct emitter *emitter = splitting->emitter;
    const struct vector_plan *plan = emitter->options->plan;
    const char *from = emit_operand(emitter, low, EMIT_SHIFT), *to = emit_operand(emitter, high, EMIT_SHIFT);
    int number = vector_plan_find(plan, splitting->loop), usual = split_grain(splitting->loop);

    if (splitting->end)
        return arena_format(&emitter->arena, "%s - %s < %lld * frame->threads ? 14 : %lld", to, from,
                            MANY_STRIPS * (long long)splitting->loop->step, (long long)splitting->loop->step);
    const struct vector_nest *nest = number < 0 ? NULL : plan->loops.items[number]->nest;
    if (nest && nest->loops[VECTOR_COLUMNS] == splitting->loop)
        return arena_format(&emitter->arena, "%s - %s < 256 ? 16 : 64", to, from);
    if (nest && !vector_is_rows(nest))
        return grain_of_rows(emitter, from, to);
    return nest || usual == SPLIT_GRAIN_VECTORS ? arena_format(&emitter->arena, "%d", usual) : "1";
}

/* ---- temporaries of iterations ------------------------------------------------------------------------ */

struct own {
    struct emitter *emitter;
    bool *listed; /* by buffer */
    const char *text;
};

static bool list_own(struct ir_stmt *stmt, void *context)
{
    struct own *own = context;
    const struct ir_buffer *buffer = stmt->access.buffer;

    if (stmt->kind != IR_ALLOCATE || buffer->unused || own->listed[buffer->index])
        return true;
    own->listed[buffer->index] = true;
    own->text =
        arena_format(&own->emitter->arena, "%s%d, (long long)sizeof(%s) * %s, ", own->text, buffer->index,
                     dtype_table[buffer->dtype].c_storage, emit_element_count(own->emitter, buffer));
    return true;
}

/* As struct jit_own; the name of the array, or what stands for none. */
static const char *emit_own(struct splitting *splitting, const char *name)
{
    struct emitter *emitter = splitting->emitter;
    int buffers = emitter->kernel->buffers.count;
    struct own own = {emitter, arena_array(&emitter->arena, bool, buffers), ""};

    if (!split_has_own(splitting->loop))
        return "0";
    ir_block_walk(splitting->loop->body, list_own, &own);
    const char *array = arena_format(&emitter->arena, "own_%s_", name + 4);
    emit_line(emitter, "const long long %s[] = {%s-1, %d};", array, own.text, buffers);
    return array;
}

/* ---- the call ------------------------------------------------------------------------------------------ */

/* By threads where there are some and the condition, if any, is so. */
static void emit_call_of_part(struct splitting *splitting, const char *name, const char *condition,
                              struct emit_value low, struct emit_value high)
{
    struct emitter *emitter = splitting->emitter;
    int count = splitting->kept.count;
    const char *kept = count ? arena_format(&emitter->arena, "kept_%s_", name + 4) : "0";

    emit_line(emitter, "{");
    emitter->indent++;
    if (count)
        emit_line(emitter, "union akg_scalar %s[%d];", kept, count);
    emit_kept(splitting, kept, 0);
    const char *own = emit_own(splitting, name), *work = work_of(splitting, low, high);
    if (splitting->end)
        work = arena_format(&emitter->arena, "%s / %lld", work, (long long)splitting->loop->step);
    emit_line(emitter, "if (frame->split%s%s ? frame->split(frame, %s, %s, %s, %lld, %s, %s, %s, %s) :",
              condition ? " && " : "", condition ? condition : "", name, low.text, high.text,
              splitting->end ? 1 : (long long)splitting->loop->step, grain_of(splitting, low, high), work,
              kept, own);
    emit_line(emitter, "    %s(frame, %s, %s, %s))", name, low.text, high.text, kept);
    emit_line(emitter, "    return 1;");
    emitter->indent--;
    emit_line(emitter, "}");
}

/* Whether the loop is long enough to be shared. What each of its iterations does is a number, where nothing
 * stands inside of others, so that this is one comparison; else a variable keeps it for the call. */
static const char *is_long(struct splitting *splitting, const char *name, struct emit_value low,
                           struct emit_value high)
{
    struct emitter *emitter = splitting->emitter;
    const char *from = emit_operand(emitter, low, EMIT_SHIFT), *to = emit_operand(emitter, high, EMIT_SHIFT);
    double alone = emit_work_alone(splitting->loop);

    if (alone > 0)
        return arena_format(&emitter->arena, "%s - %s >= %.0f", to, from, ceil(SPLIT_LEAST_WORK / alone));
    const char *work = work_of(splitting, low, high);
    splitting->work = arena_format(&emitter->arena, "work_%s_", name + 4);
    emit_line(emitter, "double %s;", splitting->work);
    return arena_format(&emitter->arena, "(double)(%s - %s) * (%s = %s) >= %.1f", to, from, splitting->work,
                        work, (double)SPLIT_LEAST_WORK);
}

static bool is_shared(struct ir_stmt *stmt, void *plan)
{
    return !vector_plan_is_split(plan, stmt);
}

static bool has_shared(const struct splitting *splitting)
{
    return !ir_block_walk(splitting->loop->body, is_shared, (void *)splitting->emitter->options->plan);
}

/* Whether there are several iterations; where there is one, threads share a loop inside. So they do where an
 * iteration takes long and makes temporaries: as many of these as there are threads fill the caches. */
static const char *has_several(struct splitting *splitting, struct emit_value low, struct emit_value high)
{
    enum { LONG = 20 };
    struct emitter *emitter = splitting->emitter;
    const char *several =
        arena_format(&emitter->arena, "%s - %s > %lld", emit_operand(emitter, high, EMIT_SHIFT),
                     emit_operand(emitter, low, EMIT_SHIFT), (long long)splitting->loop->step);

    return split_has_own(splitting->loop)
               ? arena_format(&emitter->arena, "%s && %s < %d.0", several, work_of(splitting, low, high),
                              LONG * SPLIT_LEAST_WORK)
               : several;
}

/* Whether the text of the loop, which is in no other one, is so long that libtcc is not to read it twice: a
 * call of its part takes some ns, of which rows of a few elements are a tenth. */
static bool is_once(const struct emitter *emitter, const struct ir_stmt *loop)
{
    enum { MANY = 16 };
    const struct vector_plan *plan = emitter->options->plan;
    int number = vector_plan_find(plan, loop);
    return emitter->options->compact && !emitter->loop_count &&
           (number < 0 || plan->loops.items[number]->arguments.count >= MANY);
}

/* A vector loop, or what compilers make of a loop inside another one, may be shorter than the call of its
 * part takes: then it runs where it stands. */
static void emit_choice(struct splitting *splitting, const char *name, const char *condition,
                        struct emit_value low, struct emit_value high)
{
    struct emitter *emitter = splitting->emitter;

    if (is_once(emitter, splitting->loop)) {
        emit_call_of_part(splitting, name, condition, low, high);
        return;
    }
    emit_line(emitter, "if (frame->split && %s) {", condition);
    emitter->indent++;
    emit_call_of_part(splitting, name, NULL, low, high);
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    emit_loop(emitter, splitting->loop, low, high);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- stretches -------------------------------------------------------------------------------- */

/* What is handed over first: the bounds of the loop, how far it is from stretch to stretch, where the results
 * go; then the accumulators. */
enum { KEPT_LOW, KEPT_HIGH, KEPT_STRETCH, KEPT_RESULTS, KEPT_ACCUMULATORS };

/* What changes nothing: the least and the largest may start from the accumulator itself. */
static const char *start_of(struct emitter *emitter, const struct ir_reduction *reduction, int number)
{
    akg_dtype dtype = reduction->symbol->dtype;
    enum operation operation = ir_reduction_table[reduction->kind].operation;
    union dtype_value start = {.i = operation == OP_MUL};

    if (operation != OP_ADD && operation != OP_MUL)
        return arena_format(&emitter->arena, "(%s)kept_[%d].%s", emit_type(dtype), KEPT_ACCUMULATORS + number,
                            member_of(reduction->symbol));
    if (dtype_is_float(dtype))
        start.d = operation == OP_MUL ? 1.0 : -0.0;
    return emit_constant(emitter, dtype, start).text;
}

static void emit_stretches(struct splitting *splitting)
{
    struct emitter *emitter = splitting->emitter;
    const struct ir_stmt *loop = splitting->loop;
    int count = loop->reductions.count;

    emit_line(emitter, "for (long long stretch_ = from_; stretch_ < to_; stretch_++) {");
    emitter->indent++;
    emit_line(emitter, "const long long low_ = kept_[%d].i + stretch_ * kept_[%d].i;", KEPT_LOW,
              KEPT_STRETCH);
    emit_line(emitter,
              "const long long high_ = kept_[%d].i - low_ > kept_[%d].i ? low_ + kept_[%d].i : kept_[%d].i;",
              KEPT_HIGH, KEPT_STRETCH, KEPT_STRETCH, KEPT_HIGH);
    for (int k = 0; k < count; k++) {
        const struct ir_reduction *reduction = &loop->reductions.items[k];
        emit_line(emitter, "%s %s = %s;", emit_type(reduction->symbol->dtype),
                  emitter->symbols[reduction->symbol->slot].name, start_of(emitter, reduction, k));
    }
    emit_loop(emitter, loop, emit_name("low_"), emit_name("high_"));
    for (int k = 0; k < count; k++) {
        const struct ir_symbol *symbol = loop->reductions.items[k].symbol;
        emit_line(emitter, "((union akg_scalar *)kept_[%d].i)[stretch_ * %d + %d].%s = %s;", KEPT_RESULTS,
                  count, k, member_of(symbol), emitter->symbols[symbol->slot].name);
    }
    emitter->indent--;
    emit_line(emitter, "}");
}

/* The accumulators from the results of the stretches. */
static void emit_combination(struct splitting *splitting, const char *suffix)
{
    struct emitter *emitter = splitting->emitter;
    const struct ir_stmt *loop = splitting->loop;
    int count = loop->reductions.count;

    emit_line(emitter, "for (long long stretch_ = 0; stretch_ < count%s; stretch_++) {", suffix);
    emitter->indent++;
    for (int k = 0; k < count; k++) {
        struct ir_symbol *symbol = loop->reductions.items[k].symbol;
        struct ir_expr use = {.kind = IR_SYMBOL, .dtype = symbol->dtype, .symbol = symbol};
        const char *result = arena_format(&emitter->arena, "(%s)results%s[stretch_ * %d + %d].%s",
                                          emit_type(symbol->dtype), suffix, count, k, member_of(symbol));
        struct emit_value operands[] = {emit_expression(emitter, &use), emit_made(0, result, EMIT_UNARY)};
        operands[1].bits = operands[0].bits;
        struct emit_value value = emit_combined(
            emitter, ir_reduction_table[loop->reductions.items[k].kind].operation, symbol->dtype, operands);
        emitter->symbols[symbol->slot].assignments++;
        emit_line(emitter, "%s = %s;", operands[0].text, value.text);
    }
    emitter->indent--;
    emit_line(emitter, "}");
}

/* Whole vectors of the loop, where it is one of them. */
static void emit_size_of_stretches(struct splitting *splitting, const char *suffix, const char *work)
{
    struct emitter *emitter = splitting->emitter;
    long long step = splitting->loop->step;
    const char *whole = split_grain(splitting->loop) == SPLIT_GRAIN_VECTORS ? " | 63" : "";

    emit_line(emitter, "long long size%s = (long long)(%d / %s);", suffix, STRETCH_WORK, work);
    emit_line(emitter, "if (size%s < iterations%s / %d)", suffix, suffix, MOST_STRETCHES);
    emit_line(emitter, "    size%s = iterations%s / %d;", suffix, suffix, MOST_STRETCHES);
    emit_line(emitter, "size%s = (size%s%s) + 1;", suffix, suffix, whole);
    emit_line(emitter, "const long long count%s = (iterations%s - 1) / size%s + 1;", suffix, suffix, suffix);
    emit_line(emitter, "kept%s[%d].i = size%s * %lld;", suffix, KEPT_STRETCH, suffix, step);
}

static void emit_call_of_stretches(struct splitting *splitting, const char *name, struct emit_value low,
                                   struct emit_value high)
{
    struct emitter *emitter = splitting->emitter;
    const struct ir_stmt *loop = splitting->loop;
    const char *suffix = arena_format(&emitter->arena, "_%s_", name + 4),
               *work = work_of(splitting, low, high);
    int count = loop->reductions.count;

    emit_line(emitter,
              "const long long iterations%s = %s < %s ? (long long)(((unsigned long long)%s - (unsigned long "
              "long)%s - 1) / %lld + 1) : 0;",
              suffix, low.text, emit_operand(emitter, high, EMIT_SHIFT),
              emit_operand(emitter, high, EMIT_UNARY), emit_operand(emitter, low, EMIT_UNARY),
              (long long)loop->step);
    emit_line(emitter, "if ((double)iterations%s * %s > %d) {", suffix, work, 2 * STRETCH_WORK);
    emitter->indent++;
    emit_line(emitter, "union akg_scalar kept%s[%d], results%s[%d];", suffix,
              KEPT_ACCUMULATORS + count + splitting->kept.count, suffix, MOST_STRETCHES * count);
    emit_size_of_stretches(splitting, suffix, work);
    emit_line(emitter, "kept%s[%d].i = %s;", suffix, KEPT_LOW, low.text);
    emit_line(emitter, "kept%s[%d].i = %s;", suffix, KEPT_HIGH, high.text);
    emit_line(emitter, "kept%s[%d].i = (long long)results%s;", suffix, KEPT_RESULTS, suffix);
    for (int k = 0; k < count; k++)
        emit_line(emitter, "kept%s[%d].%s = %s;", suffix, KEPT_ACCUMULATORS + k,
                  member_of(loop->reductions.items[k].symbol),
                  emitter->symbols[loop->reductions.items[k].symbol->slot].name);
    emit_kept(splitting, arena_format(&emitter->arena, "kept%s", suffix), KEPT_ACCUMULATORS + count);
    emit_line(
        emitter,
        "if (frame->split ? frame->split(frame, %s, 0, count%s, 1, 1, (double)size%s * %s, kept%s, 0) :",
        name, suffix, suffix, work, suffix);
    emit_line(emitter, "    %s(frame, 0, count%s, kept%s))", name, suffix, suffix);
    emit_line(emitter, "    return 1;");
    emit_combination(splitting, suffix);
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    emit_loop(emitter, loop, low, high);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- tiles ------------------------------------------------------------------------------------ */

/* The nest over the rows of a tile, which a block may hold beside what it declares; NULL: there is none. */
static const struct ir_stmt *rows_of_block(const struct emitter *emitter, const struct ir_stmt *block)
{
    while (block && block->kind == IR_LET)
        block = block->next;
    if (!block || block->next || block->kind != IR_FOR || !block->independent || block->step != 1)
        return NULL;
    int number = vector_plan_find(emitter->options->plan, block);
    const struct vector_nest *nest = number < 0 ? NULL : emitter->options->plan->loops.items[number]->nest;
    return nest && !vector_is_rows(nest) && nest->loops[VECTOR_COLUMNS] != block ? block : NULL;
}

/* The same of a loop over tiles, which may choose between two such nests. */
static const struct ir_stmt *rows_of_tiles(const struct emitter *emitter, const struct ir_stmt *loop)
{
    const struct ir_stmt *stmt = loop->body;

    if (loop->kind != IR_FOR || !loop->independent || loop->step != 1 || loop->low->kind != IR_INTEGER ||
        loop->low->integer != 0)
        return NULL;
    while (stmt && stmt->kind == IR_LET)
        stmt = stmt->next;
    if (!stmt || stmt->next)
        return NULL;
    if (stmt->kind != IR_IF)
        return rows_of_block(emitter, stmt);
    const struct ir_stmt *rows = rows_of_block(emitter, stmt->body),
                         *other = rows_of_block(emitter, stmt->otherwise);
    return rows && other && ir_expr_equal(rows->low, other->low) && ir_expr_equal(rows->high, other->high)
               ? rows
               : NULL;
}

bool emit_has_some_rows(const struct emitter *emitter, const struct ir_stmt *stmt)
{
    return emitter->tiled && rows_of_block(emitter, stmt) == stmt;
}

/* Whether the bounds are known before the loop. */
static bool has_fixed_bounds(const struct splitting *splitting, const struct ir_stmt *rows)
{
    return ir_expr_walk(rows->low, is_of_outside, (void *)splitting) &&
           ir_expr_walk(rows->high, is_of_outside, (void *)splitting);
}

/* What one function does: of tiles one behind the other, and their blocks of rows, those from `from_` on. */
static void emit_tiles(struct splitting *splitting, const struct ir_stmt *rows)
{
    struct emitter *emitter = splitting->emitter;
    const struct ir_stmt *loop = splitting->loop;
    struct emit_value low, high, tile, end;

    emit_bounds(emitter, loop, &tile, &end);
    emit_bounds(emitter, rows, &low, &high);
    emit_line(emitter, "const long long rows_low_ = %s, rows_high_ = %s;", low.text, high.text);
    emit_line(emitter, "const long long grain_ = %s;", grain_of_rows(emitter, "rows_low_", "rows_high_"));
    emit_line(emitter, "const long long blocks_ = (rows_high_ - rows_low_ + grain_ - 1) / grain_;");
    emit_line(emitter, "for (long long place_ = from_; place_ < to_;) {");
    emitter->indent++;
    emit_line(emitter, "const long long %s = place_ / blocks_;", emitter->symbols[loop->symbol->slot].name);
    emit_line(emitter, "const long long block_ = place_ %% blocks_, left_ = blocks_ - block_;");
    emit_line(emitter, "const long long count_ = to_ - place_ < left_ ? to_ - place_ : left_;");
    emit_line(emitter, "const long long rows_from_ = rows_low_ + block_ * grain_;");
    emit_line(emitter,
              "const long long rows_to_ = count_ < left_ ? rows_from_ + count_ * grain_ : rows_high_;");
    emit_line(emitter, "place_ += count_;");
    emit_enter_loop(emitter, loop);
    emitter->tiled = loop;
    emit_block(emitter, loop->body);
    emitter->tiled = NULL;
    emit_leave_loop(emitter);
    emitter->indent--;
    emit_line(emitter, "}");
}

static void emit_call_of_tiles(struct splitting *splitting, const struct ir_stmt *rows, const char *name,
                               struct emit_value tiles)
{
    struct emitter *emitter = splitting->emitter;
    struct emit_value low, high;
    const char *kept = splitting->kept.count ? arena_format(&emitter->arena, "kept_%s_", name + 4) : "0";

    emit_line(emitter, "{");
    emitter->indent++;
    if (splitting->kept.count)
        emit_line(emitter, "union akg_scalar %s[%d];", kept, splitting->kept.count);
    emit_kept(splitting, kept, 0);
    emit_bounds(emitter, rows, &low, &high);
    emit_line(emitter, "const long long rows_low_ = %s, rows_high_ = %s;", low.text, high.text);
    emit_line(emitter, "const long long grain_ = %s;", grain_of_rows(emitter, "rows_low_", "rows_high_"));
    emit_line(emitter, "const long long blocks_ = %s * ((rows_high_ - rows_low_ + grain_ - 1) / grain_);",
              emit_operand(emitter, tiles, EMIT_UNARY));
    emit_line(
        emitter, "if (frame->split ? frame->split(frame, %s, 0, blocks_, 1, 1, grain_ * %s, %s, 0) :", name,
        emit_work(emitter, rows, splitting->inside, emit_name("rows_low_"), emit_name("rows_high_")), kept);
    emit_line(emitter, "    %s(frame, 0, blocks_, %s))", name, kept);
    emit_line(emitter, "    return 1;");
    emitter->indent--;
    emit_line(emitter, "}");
}

/* ---- strips ----------------------------------------------------------------------------------- */

/* As emit_loop, with the end of the last strip where the part ends. */
static void emit_strips(struct splitting *splitting)
{
    struct emitter *emitter = splitting->emitter;
    const struct ir_stmt *loop = splitting->loop, *end = splitting->end;
    const char *name = emitter->symbols[loop->symbol->slot].name;
    struct emit_symbol *entry = &emitter->symbols[end->symbol->slot];
    struct emit_value low, high, value = emit_index(emitter, end->value);

    emit_bounds(emitter, loop, &low, &high);
    entry->bits = value.bits;
    entry->nonnegative = value.nonnegative;
    emit_for_line(emitter, loop, emit_name("from_"), emit_name("to_"));
    emitter->indent++;
    emit_line(emitter, "const long long %s = to_ - %s < %lld ? to_ : %s + %lld;", entry->name, name,
              (long long)loop->step, name, (long long)loop->step);
    emit_line(emitter, "%c%d", EMIT_PENDING, end->symbol->slot);
    emit_enter_loop(emitter, loop);
    emit_block(emitter, end->next);
    emit_leave_loop(emitter);
    emitter->indent--;
    emit_line(emitter, "}");
}

/* Each thread has as much to do with the copies of its own rows, which other loops of these rows find where
 * it left them, as it has to wait for others inside; with few rows it uses all of the other factor for few.
 */
static void emit_choice_of_strips(struct splitting *splitting, const char *name, struct emit_value low,
                                  struct emit_value high)
{
    enum { LEAST_ROWS = 28 }; /* of a thread */
    struct emitter *emitter = splitting->emitter;
    const char *from = emit_operand(emitter, low, EMIT_SHIFT), *to = emit_operand(emitter, high, EMIT_SHIFT);

    emit_choice(splitting, name,
                arena_format(&emitter->arena, "%s - %s >= %d * frame->threads", to, from, LEAST_ROWS), low,
                high);
}

/* ---- all -------------------------------------------------------------------------------- */

bool emit_split(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                struct emit_value high)
{
    struct splitting splitting = {.emitter = emitter, .loop = stmt, .end = split_end_of_strips(stmt)};
    struct emit_words words = emitter->words;
    int indent = emitter->indent;
    bool accumulates = !split_is_closed(stmt);

    if (emitter->in_part || !vector_plan_is_split(emitter->options->plan, stmt))
        return false;
    const char *name = arena_format(&emitter->arena, "akg_part_%d", emitter->parts.count);
    find_kept(&splitting);
    const struct ir_stmt *rows = rows_of_tiles(emitter, stmt);
    if (rows && !has_fixed_bounds(&splitting, rows))
        rows = NULL;
    emitter->words = (struct emit_words){.items = NULL};
    emitter->indent = 0;
    emitter->in_part = true;
    emit_capture_begin(emitter);
    if (accumulates)
        emit_stretches(&splitting);
    else if (rows)
        emit_tiles(&splitting, rows);
    else if (splitting.end)
        emit_strips(&splitting);
    else
        emit_loop(emitter, stmt, emit_name("from_"), emit_name("to_"));
    int first = accumulates ? KEPT_ACCUMULATORS + stmt->reductions.count : 0;
    struct emit_part part = {.text = emit_part(&splitting, name, first)};
    part.words = emitter->words;
    list_push(&emitter->arena, &emitter->parts, part);
    emitter->in_part = false;
    emitter->indent = indent;
    emitter->words = words;
    int number = vector_plan_find(emitter->options->plan, stmt);
    if (accumulates)
        emit_call_of_stretches(&splitting, name, low, high);
    else if (rows)
        emit_call_of_tiles(&splitting, rows, name, high);
    else if (splitting.end && has_shared(&splitting))
        emit_choice_of_strips(&splitting, name, low, high);
    else if ((number >= 0 && !emitter->options->plan->loops.items[number]->flow) ||
             (emitter->options->hosted && emitter->around))
        emit_choice(&splitting, name, is_long(&splitting, name, low, high), low, high);
    else if (has_shared(&splitting))
        emit_choice(&splitting, name, has_several(&splitting, low, high), low, high);
    else
        emit_call_of_part(&splitting, name, NULL, low, high);
    return true;
}

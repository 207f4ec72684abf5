/*
 * emit_c_split.c: loops that threads share, as functions of their own.
 *
 * Consumes a FOR that the plan says may be split (split.h); produces a function of a range of its iterations,
 * which stands above the kernel, and in the kernel a call of it: through `split` of the frame, where the
 * caller has threads and the loop is long enough for them (it is told how much work there is), else directly;
 * a vector loop inside a loop stands there itself for when it is short. What the body uses of the variables
 * around it is handed over by value.
 */
#include "emit_c_private.h"
#include "split.h"
#include "vector_plan.h"

struct splitting {
    struct emitter *emitter;
    const struct ir_stmt *loop;
    bool *inside;                        /* by slot: declared in the loop */
    bool *seen;                          /* by slot: in `kept` */
    LIST(const struct ir_symbol *) kept; /* what the body needs of the outside */
};

/* ---- what is handed over ------------------------------------------------------------------------- */

static bool note_declaration(struct ir_stmt *stmt, void *context)
{
    struct splitting *splitting = context;

    if (stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE)
        splitting->inside[stmt->symbol->slot] = true;
    return true;
}

static void keep(struct splitting *splitting, const struct ir_symbol *symbol)
{
    bool is_of_call = symbol->kind == IR_SYMBOL_DIM || symbol->kind == IR_SYMBOL_ATTRIBUTE;

    if (is_of_call || splitting->inside[symbol->slot] || splitting->seen[symbol->slot])
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
    for (int k = 0; k < emitter->loop_count && k < JIT_TRAP_LOOPS; k++)
        keep(splitting, emitter->loops[k]);
    ir_block_expressions(splitting->loop->body, note_use, splitting);
}

/* ---- how much work it is ---------------------------------------------------------------------------- */

static bool count_operation(struct ir_expr *expr, void *context)
{
    enum { CALL = 8 };
    int *count = context;

    if (expr->kind == IR_OPERATION)
        *count += expr->operation < OP_EXP ? 1 : CALL;
    *count += expr->kind == IR_LOAD;
    return true;
}

/* Part of an expression that has the same value in the whole call, and cannot stop. */
static bool is_of_call(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_OPERATION)
        return expr->operation == OP_ADD || expr->operation == OP_SUB || expr->operation == OP_MUL ||
               expr->operation == OP_MIN || expr->operation == OP_MAX;
    return expr->kind == IR_INTEGER ||
           (expr->kind == IR_SYMBOL &&
            (expr->symbol->kind == IR_SYMBOL_DIM || expr->symbol->kind == IR_SYMBOL_ATTRIBUTE));
}

/* The operations of a block as a double, about; loops whose bounds change are taken to be short. */
static const char *work_of(struct emitter *emitter, const struct ir_stmt *block)
{
    enum { SHORT_LOOP = 16 };
    struct arena *arena = &emitter->arena;
    const char *loops = "";
    int count = 0;

    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        count++;
        ir_stmt_expressions((struct ir_stmt *)stmt, count_operation, &count);
        if (stmt->kind != IR_FOR && stmt->kind != IR_WHILE) {
            if (stmt->body)
                loops = arena_format(arena, "%s + %s", loops, work_of(emitter, stmt->body));
            if (stmt->otherwise)
                loops = arena_format(arena, "%s + %s", loops, work_of(emitter, stmt->otherwise));
        } else if (stmt->kind == IR_FOR && ir_expr_walk(stmt->low, is_of_call, NULL) &&
                   ir_expr_walk(stmt->high, is_of_call, NULL)) {
            loops = arena_format(arena, "%s + ((double)(%s) - (double)(%s)) * %s", loops,
                                 emit_index(emitter, stmt->high).text, emit_index(emitter, stmt->low).text,
                                 work_of(emitter, stmt->body));
        } else {
            loops = arena_format(arena, "%s + %d.0 * %s", loops, SHORT_LOOP, work_of(emitter, stmt->body));
        }
    }
    return arena_format(arena, "(%d.0%s)", count, loops);
}

/* ---- the function ------------------------------------------------------------------------------------- */

/* The member of union akg_scalar that holds it. */
static const char *member_of(const struct ir_symbol *symbol)
{
    return dtype_is_float(symbol->dtype) ? "d" : "i";
}

/* Its text, after which the names of `kept` that it does not use are dropped. */
static const char *emit_part(struct splitting *splitting, const char *name)
{
    struct emitter *emitter = splitting->emitter;
    struct arena *arena = &emitter->arena;
    int used = 0;

    emit_capture_begin(emitter);
    emit_loop(emitter, splitting->loop, emit_name("from_"), emit_name("to_"));
    struct emit_function inside = emit_function(emitter, emit_capture_end(emitter));
    const char *kept = "";
    for (int k = 0; k < splitting->kept.count; k++) {
        const struct ir_symbol *symbol = splitting->kept.items[k];
        const char *text = emitter->symbols[symbol->slot].name;
        if (!emit_count_word(emitter, text))
            continue;
        kept = arena_format(arena, "%s    const %s %s = (%s)kept_[%d].%s;\n", kept, emit_type(symbol->dtype),
                            text, emit_type(symbol->dtype), used, member_of(symbol));
        splitting->kept.items[used++] = symbol;
    }
    splitting->kept.count = used;
    return arena_format(arena,
                        "static int %s(const struct akg_frame *frame, long long from_, long long to_,\n"
                        "    const union akg_scalar *kept_)\n{\n%s%s%s\n%s    return 0;\n}\n\n",
                        name, inside.locals ? inside.locals : "", kept, used ? "" : "    (void)kept_;\n",
                        inside.body ? inside.body : "");
}

static void emit_call_of_part(struct splitting *splitting, const char *name, struct emit_value low,
                              struct emit_value high)
{
    struct emitter *emitter = splitting->emitter;
    int count = splitting->kept.count;
    const char *kept = count ? arena_format(&emitter->arena, "kept_%s", name + 4) : "0";

    emit_line(emitter, "{");
    emitter->indent++;
    if (count)
        emit_line(emitter, "union akg_scalar %s[%d];", kept, count);
    for (int k = 0; k < count; k++) {
        const struct ir_symbol *symbol = splitting->kept.items[k];
        emit_line(emitter, "%s[%d].%s = %s;", kept, k, member_of(symbol),
                  emitter->symbols[symbol->slot].name);
    }
    emit_line(emitter, "if (frame->split ? frame->split(frame, %s, %s, %s, %lld, %d, %s, %s) :", name,
              low.text, high.text, (long long)splitting->loop->step, split_grain(splitting->loop),
              work_of(emitter, splitting->loop->body), kept);
    emit_line(emitter, "    %s(frame, %s, %s, %s))", name, low.text, high.text, kept);
    emit_line(emitter, "    return 1;");
    emitter->indent--;
    emit_line(emitter, "}");
}

/* A vector loop that runs again and again may be shorter than the call of its part takes. */
static void emit_choice(struct splitting *splitting, const char *name, struct emit_value low,
                        struct emit_value high)
{
    struct emitter *emitter = splitting->emitter;

    emit_line(emitter, "if (frame->split && (double)(%s - %s) * %s >= %.1f) {",
              emit_operand(emitter, high, EMIT_SHIFT), emit_operand(emitter, low, EMIT_SHIFT),
              work_of(emitter, splitting->loop->body), (double)SPLIT_LEAST_WORK);
    emitter->indent++;
    emit_call_of_part(splitting, name, low, high);
    emitter->indent--;
    emit_line(emitter, "} else {");
    emitter->indent++;
    emit_loop(emitter, splitting->loop, low, high);
    emitter->indent--;
    emit_line(emitter, "}");
}

bool emit_split(struct emitter *emitter, const struct ir_stmt *stmt, struct emit_value low,
                struct emit_value high)
{
    struct splitting splitting = {.emitter = emitter, .loop = stmt};
    struct emit_words words = emitter->words;
    int indent = emitter->indent;

    if (emitter->in_part || !vector_plan_splits(emitter->options->plan, stmt))
        return false;
    const char *name = arena_format(&emitter->arena, "akg_part_%d", emitter->parts.count);
    find_kept(&splitting);
    emitter->words = (struct emit_words){.items = NULL};
    emitter->indent = 0;
    emitter->in_part = true;
    const char *text = emit_part(&splitting, name);
    emitter->in_part = false;
    emitter->indent = indent;
    emitter->words = words;
    list_push(&emitter->arena, &emitter->parts, text);
    if (emitter->loop_count && vector_plan_find(emitter->options->plan, stmt) >= 0)
        emit_choice(&splitting, name, low, high);
    else
        emit_call_of_part(&splitting, name, low, high);
    return true;
}

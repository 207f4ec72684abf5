/*
 * emit_cuda_pairs.c: arithmetic of halves two at a time, in pieces of a loop.
 *
 * Consumes the body of a loop whose piece a thread goes through (cuda_quads.h), with what its loads are
 * substituted by. Results of halves are rounded one by one, which takes as long as what is rounded; a device
 * has instructions that compute two of them, round them and leave them in one word. So for each two
 * neighbouring iterations sums, differences and products of halves are computed in words, functions one after
 * the other and rounded together; the statements then find their halves there. What is the same for both is
 * there twice. Sums and products so rounded are those of float32 rounded: a float32 has more than twice a
 * half's digits and two.
 */
#include "emit_cuda_pairs.h"
#include "cuda_access.h"

#include <ctype.h>
#include <string.h>

#define ITERATION "one_" /* the number of an iteration, in texts */

const char *emit_cuda_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if (!isalnum((unsigned char)at[length]) && at[length] != '_' &&
            (at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_')))
            return at;
    return NULL;
}

/* ---- what can be ------------------------------------------------------------------------------- */

static bool is_other(struct ir_stmt *stmt, void *symbol)
{
    return stmt->symbol != symbol;
}

/* Whether the body gives it a value. */
static bool is_assigned(const struct cuda_pairs *pairs, const struct ir_symbol *symbol)
{
    return !ir_block_walk((struct ir_stmt *)pairs->body, is_other, (void *)symbol);
}

/* Columns have scalars of their own (emit_cuda_columns.c), by the number of the iteration. */
static bool is_of_iteration(const struct cuda_pairs *pairs, const struct ir_symbol *symbol)
{
    const char *name = pairs->cuda->emitter.symbols[symbol->slot].name;
    return name && emit_cuda_word(name, ITERATION);
}

/* Neither the loop's variable nor what the body declares or assigns, nor what it stores. */
static bool is_settled(struct ir_expr *expr, void *context)
{
    const struct cuda_pairs *pairs = context;
    if (expr->kind == IR_LOAD)
        return cuda_uses_of(pairs->body, expr->access.buffer).stores == 0;
    return expr->kind != IR_SYMBOL || (expr->symbol != pairs->variable && !is_assigned(pairs, expr->symbol) &&
                                       !is_of_iteration(pairs, expr->symbol));
}

static bool is_same(const struct cuda_pairs *pairs, const struct ir_expr *expr)
{
    return ir_expr_walk((struct ir_expr *)expr, is_settled, (void *)pairs);
}

static const struct emit_value *substitute_of(const struct cuda_pairs *pairs, const struct ir_expr *expr)
{
    const struct cuda_emitter *cuda = pairs->cuda;
    for (int k = cuda->substitute_count - 1; k >= 0; k--)
        if (ir_expr_equal(cuda->substitutes[k].expr, expr))
            return &cuda->substitutes[k].value;
    return NULL;
}

/* It was loaded before the iterations, and is what memory has for as long as the body asks for it. */
static bool is_loaded(const struct cuda_pairs *pairs, const struct ir_expr *expr, const struct ir_stmt *use)
{
    const struct emit_value *value = expr->kind == IR_LOAD ? substitute_of(pairs, expr) : NULL;
    bool used = false;
    for (const struct ir_stmt *stmt = pairs->body; value && stmt; stmt = stmt->next) {
        struct ir_stmt alone = *stmt;
        alone.next = NULL;
        used |= stmt == use;
        if (cuda_uses_of(&alone, expr->access.buffer).stores &&
            (!used || cuda_uses_of(stmt->next, expr->access.buffer).loads))
            return false;
    }
    return value && value->raw;
}

static bool is_of_pair(const struct cuda_pairs *pairs, const struct ir_expr *expr)
{
    for (int k = 0; k < pairs->let_count && expr->kind == IR_SYMBOL; k++)
        if (pairs->lets[k]->symbol == expr->symbol)
            return true;
    return false;
}

/* Arithmetic of one dtype, that nothing stops. */
static bool is_arithmetic(const struct ir_expr *expr)
{
    if (expr->kind != IR_OPERATION || expr->checked || expr->operation == OP_SELECT ||
        expr->operation == OP_CAST)
        return false;
    for (int k = 0; k < expr->count; k++)
        if (expr->operands[k]->dtype != expr->dtype)
            return false;
    return true;
}

static bool can_be_paired(const struct cuda_pairs *pairs, const struct ir_expr *expr,
                          const struct ir_stmt *use, int *nodes)
{
    if (!dtype_is_half(expr->dtype) || ++*nodes > CUDA_PAIRS)
        return false;
    if (is_same(pairs, expr) || is_of_pair(pairs, expr) || is_loaded(pairs, expr, use))
        return true;
    if (!is_arithmetic(expr))
        return false;
    for (int k = 0; k < expr->count; k++)
        if (!can_be_paired(pairs, expr->operands[k], use, nodes))
            return false;
    return true;
}

/* The largest ones in the expression, which is computed in any case. */
static void find_in(struct cuda_pairs *pairs, const struct ir_expr *expr, const struct ir_stmt *use)
{
    int nodes = pairs->nodes;
    if (expr->kind != IR_OPERATION || is_same(pairs, expr))
        return;
    if (can_be_paired(pairs, expr, use, &nodes)) {
        if (pairs->root_count < CUDA_PAIR_ROOTS) {
            pairs->roots[pairs->root_count++] = expr;
            pairs->nodes = nodes;
        }
        return;
    }
    bool lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
    for (int k = 0; k < (lazy ? 1 : expr->count); k++)
        find_in(pairs, expr->operands[k], use);
}

bool emit_cuda_pairs_find(struct cuda_emitter *cuda, const struct ir_stmt *body,
                          const struct ir_symbol *variable, struct cuda_pairs *pairs)
{
    *pairs = (struct cuda_pairs){.cuda = cuda, .body = body, .variable = variable};
    if (cuda->plan.options->deterministic)
        return false;
    for (const struct ir_stmt *stmt = body; stmt; stmt = stmt->next) {
        int before = pairs->root_count;
        if (stmt->kind != IR_LET && stmt->kind != IR_VARIABLE && stmt->kind != IR_ASSIGN &&
            stmt->kind != IR_STORE)
            continue;
        find_in(pairs, stmt->value, stmt);
        if (stmt->kind == IR_LET && pairs->root_count > before && pairs->roots[before] == stmt->value)
            pairs->lets[pairs->let_count++] = stmt;
    }
    return pairs->root_count > 0;
}

/* ---- texts ----------------------------------------------------------------------------------------- */

static const char *suffix_of(akg_dtype dtype)
{
    return dtype == AKG_FLOAT16 ? "half" : "bfloat";
}

/* The text with another name for the iteration. */
static const char *at_iteration(struct arena *arena, const char *text, const char *iteration)
{
    const char *done = "", *found;
    for (; (found = emit_cuda_word(text, ITERATION)); text = found + strlen(ITERATION))
        done = arena_format(arena, "%s%.*s%s", done, (int)(found - text), text, iteration);
    return arena_format(arena, "%s%s", done, text);
}

static struct emit_value lane_of(struct cuda_pairs *pairs, akg_dtype dtype, const char *pair,
                                 const char *lane)
{
    struct emitter *emitter = &pairs->cuda->emitter;
    return emit_loaded(emitter, dtype,
                       emit_name(arena_format(&emitter->arena, "akg_pair_lane(%s, %s)", pair, lane)));
}

static const char *same_text(struct cuda_pairs *pairs, const struct ir_expr *expr)
{
    struct emitter *emitter = &pairs->cuda->emitter;
    if (expr->kind == IR_REAL) {
        unsigned bits =
            expr->dtype == AKG_FLOAT16 ? half_from_double(expr->real) : bfloat_from_double(expr->real);
        return arena_format(&emitter->arena, "0x%04x%04xu", bits, bits);
    }
    const char *stored = emit_stored(emitter, expr->dtype, emit_shallow(emitter, expr));
    return arena_format(&emitter->arena, "akg_pair_same((unsigned short)%s)", stored);
}

static const char *pair_of(struct cuda_pairs *pairs, const struct ir_expr *expr);

/* Where the expression stands its half of a word is found from now on. */
static void substitute(struct cuda_pairs *pairs, const struct ir_expr *expr, const char *pair,
                       const char *lane)
{
    struct cuda_emitter *cuda = pairs->cuda;
    struct emit_value value = lane_of(pairs, expr->dtype, pair, lane);
    cuda->substitutes[cuda->substitute_count++] = (struct cuda_substitute){expr, value};
}

/* One lane's float32, which is not rounded yet. */
static const char *lane_text(struct cuda_pairs *pairs, const struct ir_expr *expr, const char *lane)
{
    struct cuda_emitter *cuda = pairs->cuda;
    int count = cuda->substitute_count;
    for (int k = 0; k < expr->count; k++)
        if (!is_same(pairs, expr->operands[k]))
            substitute(pairs, expr->operands[k], pair_of(pairs, expr->operands[k]), lane);
    cuda->emitter.unrounded = expr;
    const char *text = emit_shallow(&cuda->emitter, expr).text;
    cuda->emitter.unrounded = NULL;
    cuda->substitute_count = count;
    return text;
}

static const char *operation_text(struct cuda_pairs *pairs, const struct ir_expr *expr)
{
    struct arena *arena = &pairs->cuda->emitter.arena;
    const char *suffix = suffix_of(expr->dtype);
    const char *name = expr->operation == OP_ADD   ? "add"
                       : expr->operation == OP_SUB ? "sub"
                       : expr->operation == OP_MUL ? "mul"
                                                   : NULL;
    const char *operands[3];
    for (int k = 0; k < expr->count; k++)
        operands[k] = name || !is_same(pairs, expr->operands[k]) ? pair_of(pairs, expr->operands[k]) : "";
    if (name)
        return arena_format(arena, "akg_pair_%s_%s(%s, %s)", name, suffix, operands[0], operands[1]);
    if (expr->operation == OP_NEG)
        return arena_format(arena, "%s ^ 0x80008000u", operands[0]);
    const char *low = lane_text(pairs, expr, "0");
    return arena_format(arena, "akg_pair_of_%s(%s, %s)", suffix, low, lane_text(pairs, expr, "1"));
}

/* The name of a word with both; declared in a line, where it is the first time that it is asked for. */
static const char *pair_of(struct cuda_pairs *pairs, const struct ir_expr *expr)
{
    struct emitter *emitter = &pairs->cuda->emitter;
    struct arena *arena = &emitter->arena;
    const struct emit_value *loaded = expr->kind == IR_LOAD ? substitute_of(pairs, expr) : NULL;
    const char *text;
    for (int k = 0; k < pairs->let_count && expr->kind == IR_SYMBOL; k++)
        if (pairs->lets[k]->symbol == expr->symbol)
            expr = pairs->lets[k]->value;
    for (int k = 0; k < pairs->count; k++)
        if (ir_expr_equal(pairs->items[k].expr, expr))
            return pairs->items[k].name;
    if (loaded)
        text = arena_format(arena, "akg_pair_bits(%s, %s)", at_iteration(arena, loaded->raw, "two_"),
                            at_iteration(arena, loaded->raw, "two_ + 1"));
    else
        text = is_same(pairs, expr) ? same_text(pairs, expr) : operation_text(pairs, expr);
    struct cuda_pair *pair = &pairs->items[pairs->count];
    *pair = (struct cuda_pair){expr, arena_format(arena, "pair%d_", pairs->count)};
    pairs->count++;
    emit_line(emitter, "const unsigned int %s = %s;", pair->name, text);
    return pair->name;
}

void emit_cuda_pairs(struct cuda_pairs *pairs)
{
    for (int k = 0; k < pairs->root_count; k++)
        pair_of(pairs, pairs->roots[k]);
    for (int k = 0; k < pairs->root_count; k++)
        substitute(pairs, pairs->roots[k], pair_of(pairs, pairs->roots[k]), "half_");
    for (int k = 0; k < pairs->let_count; k++) {
        const struct ir_stmt *let = pairs->lets[k];
        struct ir_expr *use = arena_new(&pairs->cuda->emitter.arena, struct ir_expr);
        *use = (struct ir_expr){.kind = IR_SYMBOL, .dtype = let->value->dtype, .symbol = let->symbol};
        substitute(pairs, use, pair_of(pairs, let->value), "half_");
    }
}

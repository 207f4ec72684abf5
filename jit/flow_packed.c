/*
 * flow_packed.c: innermost loops over neighbours, in code of one lane, eight iterations at a time.
 *
 *     for d in range(D): s += (x[n, d] - c[k, d]) * (x[n, d] - c[k, d])
 *
 * A function for vectors takes longer to be called than so short a loop to run. So, where nothing in the loop
 * stops and each element is beside that of the iteration before, vectors of 256 bits stand in the midst of
 * the other code, then, if as many iterations are left, one of 128, and the loop itself does the rest. What
 * is added up is added up lane by lane first: as other sums in lanes, within a unit of the sum of magnitudes
 * for each operation. Strict code has none of this.
 */
#include "flow_private.h"
#include "pass.h"

enum {
    MOST_NODES = 60,
    MOST_STATEMENTS = 12,
    FEWEST = 4 /* iterations */,
    WHOLE = 256,
    HALF = 128 /* bits */
};

/* ---- which loops ------------------------------------------------------------------------------- */

struct packable {
    const struct ir_stmt *loop;
    akg_dtype dtype;
    int nodes;
};

static bool is_declared(const struct packable *packable, const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = packable->loop->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET && stmt->symbol == symbol)
            return true;
    return symbol == packable->loop->symbol;
}

static bool is_from_outside(struct ir_expr *expr, void *packable)
{
    return expr->kind != IR_SYMBOL || !is_declared(packable, expr->symbol);
}

static bool is_same_in_all(struct packable *packable, struct ir_expr *expr)
{
    return ir_expr_walk(expr, is_from_outside, packable);
}

static bool is_neighbour(const struct packable *packable, const struct ir_access *access)
{
    struct packable others = *packable;
    if (access->buffer->dtype != packable->dtype || !access->buffer->contiguous ||
        !pass_is_unit(access, packable->loop->symbol))
        return false;
    for (int axis = 0; axis + 1 < access->buffer->rank; axis++)
        if (!is_same_in_all(&others, access->indices[axis]))
            return false;
    return true;
}

/* x ** 2 */
static bool is_square(const struct ir_expr *expr)
{
    if (expr->operation != OP_POW)
        return false;
    const struct ir_expr *by = expr->operands[1];
    return by->kind == IR_REAL ? by->real == 2 : by->kind == IR_INTEGER && by->integer == 2;
}

static bool is_packable(struct packable *packable, struct ir_expr *expr)
{
    if (++packable->nodes > MOST_NODES || expr->dtype != packable->dtype)
        return false;
    if (is_same_in_all(packable, expr))
        return true;
    if (expr->kind == IR_SYMBOL)
        return true;
    if (expr->kind == IR_LOAD)
        return is_neighbour(packable, &expr->access);
    if (is_square(expr))
        return is_packable(packable, expr->operands[0]);
    switch (expr->operation) {
    case OP_ADD:
    case OP_SUB:
    case OP_MUL:
    case OP_TRUEDIV:
    case OP_NEG:
    case OP_ABS:
    case OP_SQRT:
    case OP_FMA:
        break;
    default:
        return false;
    }
    for (int k = 0; k < expr->count; k++)
        if (!is_packable(packable, expr->operands[k]))
            return false;
    return true;
}

/* s = s + x or s - x, or fma(a, b, s): the number of the operand that is s; -1: it is none of these. */
static int place_of_sum(const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;
    int count = value->kind != IR_OPERATION  ? 0
                : value->operation == OP_ADD ? 2
                : value->operation == OP_SUB ? 1
                : value->operation == OP_FMA ? 3
                                             : 0,
        found = -1, uses = 0;
    for (int k = 0; k < count; k++) {
        bool is_self = value->operands[k]->kind == IR_SYMBOL && value->operands[k]->symbol == stmt->symbol;
        found = is_self ? k : found;
    }
    for (int k = 0; found >= 0 && k < value->count; k++)
        uses += pass_mentions(value->operands[k], stmt->symbol);
    return uses == 1 && (value->operation != OP_FMA || found == 2) ? found : -1;
}

/* Whether the sum is asked for by nothing else in the loop. */
static bool is_alone(const struct ir_stmt *loop, const struct ir_stmt *sum)
{
    for (const struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt == sum)
            continue;
        if ((stmt->kind == IR_ASSIGN && stmt->symbol == sum->symbol) ||
            pass_mentions(stmt->value, sum->symbol))
            return false;
        for (int axis = 0; stmt->kind == IR_STORE && axis < stmt->access.buffer->rank; axis++)
            if (pass_mentions(stmt->access.indices[axis], sum->symbol))
                return false;
    }
    return true;
}

static bool is_packable_sum(struct packable *packable, struct ir_stmt *stmt)
{
    int place = place_of_sum(stmt);
    if (place < 0 || !is_alone(packable->loop, stmt))
        return false;
    for (int k = 0; k < stmt->value->count; k++)
        if (k != place && !is_packable(packable, stmt->value->operands[k]))
            return false;
    return true;
}

/* Whether an axis that is not gone along keeps the two apart: a[i - 1, k] and a[i, k]. */
static bool are_apart(const struct ir_access *a, const struct ir_access *b)
{
    for (int axis = 0; axis + 1 < a->buffer->rank; axis++) {
        struct pass_affine x, y;
        if (pass_affine_of(a->indices[axis], &x) && pass_affine_of(b->indices[axis], &y) &&
            pass_affine_add(&x, -1, &y) && !x.count && x.constant)
            return true;
    }
    return false;
}

struct storing {
    const struct ir_access *store;
    bool is_met; /* elsewhere, perhaps */
};

static void meet(struct storing *storing, const struct ir_access *access)
{
    if (access->buffer != storing->store->buffer || are_apart(access, storing->store))
        return;
    for (int axis = 0; axis < access->buffer->rank; axis++)
        storing->is_met |= !ir_expr_equal(access->indices[axis], storing->store->indices[axis]);
}

static bool meet_load(struct ir_expr *expr, void *storing)
{
    if (expr->kind == IR_LOAD)
        meet(storing, &expr->access);
    return true;
}

static bool meet_store(struct ir_stmt *stmt, void *storing)
{
    if (stmt->kind == IR_STORE)
        meet(storing, &stmt->access);
    return true;
}

/* Whether each iteration has the elements of the buffer to itself. */
static bool is_packable_store(struct packable *packable, struct ir_stmt *stmt)
{
    struct storing storing = {&stmt->access, false};
    ir_block_walk(packable->loop->body, meet_store, &storing);
    ir_block_expressions(packable->loop->body, meet_load, &storing);
    return !storing.is_met && is_neighbour(packable, &stmt->access) && is_packable(packable, stmt->value);
}

static akg_dtype dtype_of(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_STORE ? stmt->access.buffer->dtype : stmt->symbol->dtype;
}

/* Iterations, where these are known and few; INT32_MAX else. */
static int64_t known_count(const struct ir_stmt *loop)
{
    int64_t count;
    bool is_known = loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER &&
                    !__builtin_sub_overflow(loop->high->integer, loop->low->integer, &count);
    return is_known && count < INT32_MAX ? count : INT32_MAX;
}

/* Whether indices that are to be tested are the same in all iterations, so that one test says it of all. */
static bool is_testable(struct packable *packable, const struct ir_access *access)
{
    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT &&
            (!is_same_in_all(packable, access->indices[axis]) || pass_expr_may_stop(access->indices[axis])))
            return false;
    return true;
}

static bool is_testable_expr(struct ir_expr *expr, void *packable)
{
    if (expr->kind == IR_LOAD)
        return is_testable(packable, &expr->access);
    return expr->kind != IR_OPERATION || !expr->checked;
}

static bool is_testable_store(struct ir_stmt *stmt, void *packable)
{
    return stmt->kind != IR_STORE || is_testable(packable, &stmt->access);
}

bool flow_packs(const struct ir_stmt *loop, const struct vector_options *options)
{
    struct packable packable = {.loop = loop};
    int statements = 0, results = 0;
    if (options->strict || loop->kind != IR_FOR || loop->step != 1 || known_count(loop) < FEWEST)
        return false;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        bool is_known = stmt->kind == IR_LET || stmt->kind == IR_ASSIGN || stmt->kind == IR_STORE;
        if (!is_known || ++statements > MOST_STATEMENTS)
            return false;
        packable.dtype = statements == 1 ? dtype_of(stmt) : packable.dtype;
        results += stmt->kind != IR_LET;
        if (dtype_of(stmt) != packable.dtype)
            return false;
    }
    if (!results || (packable.dtype != AKG_FLOAT32 && packable.dtype != AKG_FLOAT64) ||
        !ir_block_expressions(loop->body, is_testable_expr, &packable) ||
        !ir_block_walk(loop->body, is_testable_store, &packable))
        return false;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next)
        if (!(stmt->kind == IR_ASSIGN  ? is_packable_sum(&packable, stmt)
              : stmt->kind == IR_STORE ? is_packable_store(&packable, stmt)
                                       : is_packable(&packable, stmt->value)))
            return false;
    return true;
}

/* ---- values ------------------------------------------------------------------------------------- */

struct packer {
    struct flow_builder *builder;
    struct packable packable;
    bool wide;
    int bits;                                           /* of the vectors that are being made */
    int sums[MOST_STATEMENTS], halves[MOST_STATEMENTS]; /* by statement: what lanes have so far */
};

static int add_packed(struct packer *packer, struct flow_item item)
{
    item.bits = packer->bits;
    item.wide = packer->wide;
    return flow_add_known(packer->builder, item);
}

static int packed_pair(struct packer *packer, enum x86_form narrow, enum x86_form wide, int a, int b)
{
    struct flow_item item = flow_item(FLOW_FLOAT);
    item.form = packer->wide ? wide : narrow;
    item.operands[0] = a;
    item.operands[1] = b;
    return add_packed(packer, item);
}

/* A broadcast of 64 bits makes 256. */
static int all_lanes(struct packer *packer, int value)
{
    enum { LOW_TWICE = 0x44 };
    struct flow_item item = flow_item(FLOW_FLOAT_ONE);
    item.form = packer->wide ? X86_VBROADCASTSD : X86_VBROADCASTSS;
    item.operands[0] = value;
    if (packer->wide && packer->bits == HALF) {
        item = flow_item(FLOW_FLOAT);
        item.form = X86_VSHUFPS;
        item.operands[0] = item.operands[1] = value;
        item.immediate = LOW_TWICE;
    }
    return add_packed(packer, item);
}

/* What is the same in all iterations, before the loop where there is one. */
static int broadcast(struct packer *packer, const struct ir_expr *expr)
{
    struct flow_builder *builder = packer->builder;
    flow_section *section = builder->section;
    bool is_loop = packer->bits == WHOLE;
    if (is_loop)
        builder->section = builder->loops[--builder->depth].before;
    int value = all_lanes(packer, flow_expression(builder, expr));
    builder->section = section;
    builder->depth += is_loop;
    return value;
}

static int number(struct packer *packer, uint64_t narrow, uint64_t wide)
{
    return all_lanes(packer, flow_number(packer->builder, packer->wide, packer->wide ? wide : narrow));
}

static int packed(struct packer *packer, struct ir_expr *expr);

static int packed_fused(struct packer *packer, struct ir_expr *a, struct ir_expr *b, struct ir_expr *c)
{
    struct flow_item item = flow_item(FLOW_FUSED);
    item.form = flow_fused_form(true, packer->wide);
    item.operands[0] = packed(packer, a);
    item.operands[1] = packed(packer, b);
    item.operands[2] = packed(packer, c);
    return add_packed(packer, item);
}

/* Whether it is a product that is different in each iteration. */
static bool is_product(struct packer *packer, struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && expr->operation == OP_MUL &&
           !is_same_in_all(&packer->packable, expr);
}

static int packed_operation(struct packer *packer, const struct ir_expr *expr)
{
    int operands[3] = {FLOW_NONE, FLOW_NONE, FLOW_NONE};
    struct ir_expr *const *of = expr->operands;
    for (int side = 0; side < 2 && expr->operation == OP_ADD; side++)
        if (is_product(packer, of[side]))
            return packed_fused(packer, of[side]->operands[0], of[side]->operands[1], of[!side]);
    if (expr->operation == OP_FMA)
        return packed_fused(packer, of[0], of[1], of[2]);
    for (int k = 0; k < (is_square(expr) ? 1 : expr->count); k++)
        operands[k] = packed(packer, expr->operands[k]);
    int a = operands[0], b = operands[1];
    switch (expr->operation) {
    case OP_ADD:
        return packed_pair(packer, X86_VADDPS, X86_VADDPD, a, b);
    case OP_SUB:
        return packed_pair(packer, X86_VSUBPS, X86_VSUBPD, a, b);
    case OP_TRUEDIV: {
        uint64_t inverse = flow_inverse_bits(expr->operands[1]);
        return inverse ? packed_pair(packer, X86_VMULPS, X86_VMULPD, a, number(packer, inverse, inverse))
                       : packed_pair(packer, X86_VDIVPS, X86_VDIVPD, a, b);
    }
    case OP_NEG:
        return packed_pair(packer, X86_VXORPS, X86_VXORPD, a, number(packer, 1u << 31, UINT64_C(1) << 63));
    case OP_ABS:
        return packed_pair(packer, X86_VANDPS, X86_VANDPD, a, number(packer, INT32_MAX, (uint64_t)INT64_MAX));
    case OP_SQRT: {
        struct flow_item item = flow_item(FLOW_FLOAT_ONE);
        item.form = packer->wide ? X86_VSQRTPD : X86_VSQRTPS;
        item.operands[0] = a;
        return add_packed(packer, item);
    }
    default:
        return packed_pair(packer, X86_VMULPS, X86_VMULPD, a, b >= 0 ? b : a);
    }
}

static int packed(struct packer *packer, struct ir_expr *expr)
{
    struct flow_builder *builder = packer->builder;
    int depth;
    if (builder->refused || is_same_in_all(&packer->packable, expr))
        return builder->refused ? 0 : broadcast(packer, expr);
    if (expr->kind == IR_SYMBOL)
        return flow_symbol(builder, expr->symbol, &depth);
    if (expr->kind != IR_LOAD)
        return packed_operation(packer, expr);
    struct flow_item item = flow_item(FLOW_LOAD);
    item.form = packer->wide ? X86_VMOVUPD_LOAD : X86_VMOVUPS_LOAD;
    item.memory = flow_element(builder, &expr->access);
    item.buffer = expr->access.buffer;
    return add_packed(packer, item);
}

/* ---- statements ---------------------------------------------------------------------------------- */

static void pack_store(struct packer *packer, const struct ir_stmt *stmt)
{
    struct flow_item item = flow_item(FLOW_STORE);
    item.operands[0] = packed(packer, stmt->value);
    item.form = packer->wide ? X86_VMOVUPD_STORE : X86_VMOVUPS_STORE;
    item.memory = flow_element(packer->builder, &stmt->access);
    item.buffer = stmt->access.buffer;
    item.bits = packer->bits;
    flow_add(packer->builder, item);
}

/* sum = sum + x, in lanes; a product becomes part of it. */
static void pack_sum(struct packer *packer, const struct ir_stmt *stmt, int sum)
{
    const struct ir_expr *value = stmt->value;
    struct ir_expr *term = value->operands[place_of_sum(stmt) == 0 ? 1 : 0];
    bool is_fma = value->operation == OP_FMA;
    bool is_product = value->operation == OP_ADD && term->kind == IR_OPERATION &&
                      (term->operation == OP_MUL || is_square(term)) &&
                      !is_same_in_all(&packer->packable, term);
    struct flow_item item = flow_item(is_fma || is_product ? FLOW_FUSED : FLOW_FLOAT);
    const struct ir_expr *product = is_fma ? value : term;
    item.result = sum;
    item.bits = packer->bits;
    item.wide = packer->wide;
    if (is_fma || is_product) {
        item.form = flow_fused_form(true, packer->wide);
        item.operands[0] = packed(packer, product->operands[0]);
        item.operands[1] =
            !is_fma && is_square(term) ? item.operands[0] : packed(packer, product->operands[1]);
        item.operands[2] = sum;
    } else {
        bool adds = value->operation == OP_ADD;
        item.form = adds ? (packer->wide ? X86_VADDPD : X86_VADDPS) : packer->wide ? X86_VSUBPD : X86_VSUBPS;
        item.operands[0] = sum;
        item.operands[1] = packed(packer, term);
    }
    flow_add(packer->builder, item);
}

static void pack_body(struct packer *packer, const int *sums)
{
    int number = 0;
    for (const struct ir_stmt *stmt = packer->packable.loop->body; stmt; stmt = stmt->next, number++) {
        packer->builder->line = stmt->span.line;
        if (stmt->kind == IR_LET)
            flow_declare(packer->builder, stmt->symbol, packed(packer, stmt->value), packer->builder->depth);
        else if (stmt->kind == IR_STORE)
            pack_store(packer, stmt);
        else
            pack_sum(packer, stmt, sums[number]);
    }
}

/* ---- the loop ------------------------------------------------------------------------------------- */

/* To the label where as many iterations are left, or (FLOW_LESS) fewer. */
static void jump_if_left(struct packer *packer, int variable, struct flow_item high,
                         enum flow_condition condition, int lanes, int label)
{
    struct flow_builder *builder = packer->builder;
    struct flow_item than = flow_item(FLOW_COMPARE_JUMP);
    int end = high.by_immediate ? flow_constant(builder, high.immediate) : high.operands[1];
    than.by_immediate = true;
    than.immediate = lanes;
    flow_compare_jump(builder, flow_alu(builder, X86_SUB, end, variable, 0), than, condition, label);
}

static void go_on(struct packer *packer, int variable, int lanes)
{
    struct flow_item add = flow_item(FLOW_ALU);
    add.form = X86_ADD;
    add.result = add.operands[0] = variable;
    add.by_immediate = true;
    add.immediate = lanes;
    flow_add(packer->builder, add);
}

struct guard {
    struct packer *packer;
    int label;
};

/* To the label, where the loop itself says so, if an index is outside. */
static void guard(struct guard *guard, const struct ir_access *access)
{
    struct flow_builder *builder = guard->packer->builder;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        if (!flow_is_tested(builder, access, axis))
            continue;
        int index = flow_expression(builder, access->indices[axis]);
        struct flow_item jump = flow_outside(builder, FLOW_COMPARE_JUMP, access, axis, index);
        jump.label = guard->label;
        flow_add_known(builder, jump);
    }
}

static bool guard_load(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        guard(context, &expr->access);
    return true;
}

static bool guard_store(struct ir_stmt *stmt, void *context)
{
    if (stmt->kind == IR_STORE)
        guard(context, &stmt->access);
    return true;
}

/* Tests, before any of it, what is to be tested in each iteration. */
static void guard_all(struct packer *packer, int label)
{
    struct guard guard = {packer, label};
    ir_block_expressions(packer->packable.loop->body, guard_load, &guard);
    ir_block_walk(packer->packable.loop->body, guard_store, &guard);
}

/* Whole vectors, as long as there are as many iterations. */
static void pack_loop(struct packer *packer, int variable, struct flow_item high, int lanes)
{
    struct flow_builder *builder = packer->builder;
    int top = flow_new_label(builder);
    if (!flow_enter(builder, packer->packable.loop, FLOW_NONE, FLOW_NONE))
        return;
    flow_declare(builder, packer->packable.loop->symbol, variable, builder->depth);
    flow_place(builder, top, -1);
    pack_body(packer, packer->sums);
    go_on(packer, variable, lanes);
    jump_if_left(packer, variable, high, FLOW_NOT_LESS, lanes, top);
    builder->depth--;
}

static int new_sum(struct packer *packer, int bits)
{
    int value = flow_new_value(packer->builder, true);
    packer->builder->code->values.items[value].bits = bits;
    packer->builder->code->values.items[value].is_variable = true;
    return value;
}

/* Each sum as half a vector: both halves of the whole one. */
static void fold(struct packer *packer)
{
    int number = 0;
    for (const struct ir_stmt *stmt = packer->packable.loop->body; stmt; stmt = stmt->next, number++) {
        if (stmt->kind != IR_ASSIGN)
            continue;
        struct flow_item item = flow_item(FLOW_HALVES);
        item.operands[0] = packer->sums[number];
        item.result = packer->halves[number] = new_sum(packer, HALF);
        item.bits = HALF;
        item.wide = packer->wide;
        flow_add(packer->builder, item);
    }
}

static void begin_sums(struct packer *packer)
{
    int number = 0;
    for (const struct ir_stmt *stmt = packer->packable.loop->body; stmt; stmt = stmt->next, number++) {
        if (stmt->kind != IR_ASSIGN)
            continue;
        struct flow_item item = flow_item(FLOW_NUMBER);
        item.result = packer->sums[number] = new_sum(packer, WHOLE);
        item.bits = WHOLE;
        flow_add(packer->builder, item);
    }
}

/* The variables of the program get what the lanes have. */
static void end_sums(struct packer *packer)
{
    int number = 0;
    for (const struct ir_stmt *stmt = packer->packable.loop->body; stmt; stmt = stmt->next, number++) {
        if (stmt->kind != IR_ASSIGN)
            continue;
        struct flow_item total = flow_item(FLOW_TOTAL), sum = flow_item(FLOW_FLOAT);
        total.operands[0] = packer->halves[number];
        total.wide = sum.wide = packer->wide;
        sum.form = packer->wide ? X86_VADDSD : X86_VADDSS;
        sum.result = sum.operands[0] = flow_assigned(packer->builder, stmt->symbol);
        sum.operands[1] = flow_add(packer->builder, total);
        flow_add(packer->builder, sum);
    }
}

bool flow_packed(struct flow_builder *builder, const struct ir_stmt *loop, int variable,
                 struct flow_item high)
{
    akg_dtype dtype = dtype_of(loop->body);
    struct packer packer = {.builder = builder,
                            .packable = {.loop = loop, .dtype = dtype},
                            .wide = dtype == AKG_FLOAT64,
                            .bits = WHOLE};
    int lanes = WHOLE / 8 / dtype_table[dtype].size, few = lanes / 2;
    int rest = flow_new_label(builder), half = flow_new_label(builder), end = flow_new_label(builder);
    int64_t count = known_count(loop);
    bool is_known = count != INT32_MAX;
    if (!is_known) {
        /* from there to the end may be farther than numbers go */
        flow_compare_jump(builder, variable, high, FLOW_NOT_LESS, rest);
        jump_if_left(&packer, variable, high, FLOW_LESS, few, rest);
    }
    guard_all(&packer, rest);
    builder->is_guarded = true;
    begin_sums(&packer);
    if (!is_known)
        jump_if_left(&packer, variable, high, FLOW_LESS, lanes, half);
    if (count >= lanes)
        pack_loop(&packer, variable, high, lanes);
    flow_place(builder, half, -1);
    fold(&packer);
    packer.bits = HALF;
    if (!is_known)
        jump_if_left(&packer, variable, high, FLOW_LESS, few, end);
    if (!is_known || count % lanes >= few) {
        flow_declare(builder, loop->symbol, variable, builder->depth);
        pack_body(&packer, packer.halves);
        go_on(&packer, variable, few);
    }
    flow_place(builder, end, -1);
    end_sums(&packer);
    builder->is_guarded = false;
    flow_place(builder, rest, -1);
    bool may_stop = pass_block_may_stop(loop->body) && !builder->options->trust_indices;
    return !is_known || count % few || may_stop; /* which the loop itself tells */
}

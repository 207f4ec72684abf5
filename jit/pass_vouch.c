/*
 * pass_vouch.c: indices out of tensors are tested before the nest that uses them, and where all of them are
 * inside, a version of the nest runs that tests none: loops that cannot stop may become bands and nests of
 * vectors, rows of a few elements too.
 *
 *     for i { for k { s = s + v[i, k] * x[col[i, k]] } ... }
 *
 *     largest = 0; for i { for k { largest = max(largest, uint32(col[i, k])) } }
 *     if largest < x.shape[0] { the nest, without tests } else { the nest as it was, which tells what it is }
 *
 * The loops that test have the bounds and the conditions of the nest, but for loops on whose variables
 * nothing hangs that they test. Indices that are only used once other ones are known to be inside
 * (`x[p[q[i]]]`, or those of a loop from row[i] to row[i + 1]) are tested in a later phase. An index that is
 * linear in the variable of its loop is tested for the first and the last iteration; these are not so far
 * from each other that integers wrap between them. A loop whose bounds come out of tensors is gone through
 * once one of those has told that it is not longer than a tensor.
 *
 * Vectors of our own test indices themselves, those of compilers do not: for them (vouch_all) single loops
 * are vouched for, too, and long ones.
 *
 * Assumes that what the indices hang on does not change in the nest, and looks at no nest where it may. The
 * test of an index that the program would not come to can only lead to the nest as it was.
 */
#include "pass_vouch.h"

enum {
    STATEMENTS = 40, /* of a nest, which there will be twice; */
    NESTS = 8,       /* of a kernel */
    PHASES = 3,
    NODES = 2000, /* of what a scalar of the nest stands for, with scalars in it several times perhaps */
    LONG = 64     /* iterations: of loops that are longer, and test in each, vectors that test are as good */
};

#define ENDLESS (1LL << 28) /* iterations: of longer loops around, what stops the nest may be near */
#define ENOUGH (1LL << 16)  /* likewise of loops whose bounds hang on others */

static struct block begin_block(void)
{
    return (struct block){NULL, NULL};
}

static void append(struct block *block, struct ir_stmt *stmt)
{
    if (!stmt)
        return;
    if (block->first)
        *block->end = stmt;
    else
        block->first = stmt;
    while (stmt->next)
        stmt = stmt->next;
    block->end = &stmt->next;
}

static void build_block(struct voucher *voucher, struct ir_stmt *first, int context, struct block *out);

/* ---- building ---------------------------------------------------------------------------------------- */

struct ir_expr *vouch_copy(struct voucher *voucher, const struct ir_expr *expr)
{
    struct ir_expr *copy = pass_copy(voucher->pass, expr);
    pass_trust_expression(copy);
    return copy;
}

struct ir_stmt *vouch_if(struct voucher *voucher, struct ir_expr *condition, struct ir_stmt *body,
                         struct ir_stmt *otherwise, struct span span)
{
    struct ir_stmt *stmt = ir_stmt_new(voucher->pass->kernel, IR_IF, span);
    stmt->value = condition;
    stmt->body = body;
    stmt->otherwise = otherwise;
    return stmt;
}

struct ir_symbol *vouch_declare(struct voucher *voucher, const char *name, struct ir_expr *value)
{
    struct ir_stmt *stmt = pass_declare(voucher->pass, IR_SYMBOL_VARIABLE, name, value, voucher->nest->span);
    list_push(voucher->pass->arena, &voucher->declarations, stmt);
    return stmt->symbol;
}

/* The integer of up to 32 bits that the index is; NULL: it is none. */
static struct ir_expr *narrow_index(struct ir_expr *index)
{
    if (!vouch_is_cast(index))
        return NULL;
    akg_dtype dtype = index->operands[0]->dtype;
    return dtype_is_integer(dtype) && dtype_table[dtype].size <= 4 ? index->operands[0] : NULL;
}

static struct bound *bound_of(struct voucher *voucher, struct ir_expr *index)
{
    struct ir_kernel *kernel = voucher->pass->kernel;
    struct bound bound = {.index = index};
    for (int k = 0; k < voucher->bounds.count; k++)
        if (ir_expr_equal(voucher->bounds.items[k].index, index))
            return &voucher->bounds.items[k];
    if (narrow_index(index)) {
        bound.greatest = vouch_declare(voucher, "greatest", ir_integer(kernel, AKG_UINT32, 0));
        if (dtype_is_signed(narrow_index(index)->dtype)) /* negative ones are great, and so may extents be */
            list_push(voucher->pass->arena, &bound.extents, ir_integer(kernel, AKG_INT64, 1LL << 31));
    } else {
        bound.least = vouch_declare(voucher, "least", ir_integer(kernel, AKG_INT64, 0));
        bound.greatest = vouch_declare(voucher, "greatest", ir_integer(kernel, AKG_INT64, 0));
    }
    list_push(voucher->pass->arena, &voucher->bounds, bound);
    return &voucher->bounds.items[voucher->bounds.count - 1];
}

void vouch_extreme(struct voucher *voucher, struct block *out, struct ir_symbol *symbol,
                   enum operation extreme, struct ir_expr *value)
{
    struct ir_stmt *stmt = ir_stmt_new(voucher->pass->kernel, IR_ASSIGN, value->span);
    for (const struct ir_stmt *other = out->first; other; other = other->next)
        if (other->kind == IR_ASSIGN && other->symbol == symbol &&
            ir_expr_equal(other->value->operands[1], value))
            return;
    stmt->symbol = symbol;
    stmt->value = pass_combine(voucher->pass, extreme, pass_use(voucher->pass, symbol), value);
    append(out, stmt);
}

/* What the index has to be below, where that is not asked yet. */
static void add_extent(struct voucher *voucher, struct bound *bound, const struct ir_expr *extent)
{
    for (int k = 0; k < bound->extents.count; k++)
        if (ir_expr_equal(bound->extents.items[k], extent))
            return;
    list_push(voucher->pass->arena, &bound->extents, extent);
}

/* The index is what it is here. */
static void append_index(struct voucher *voucher, struct block *out, struct ir_expr *index,
                         const struct ir_expr *extent)
{
    struct ir_expr *wide = vouch_widened(voucher->pass, index);
    struct bound *bound = bound_of(voucher, wide ? wide : index);
    struct ir_expr *narrow = narrow_index(bound->index);
    if (narrow) {
        struct ir_expr *value = ir_cast(voucher->pass->kernel, AKG_UINT32, vouch_copy(voucher, narrow));
        vouch_extreme(voucher, out, bound->greatest, OP_MAX, value);
    } else {
        vouch_extreme(voucher, out, bound->least, OP_MIN, vouch_copy(voucher, bound->index));
        vouch_extreme(voucher, out, bound->greatest, OP_MAX, vouch_copy(voucher, bound->index));
    }
    add_extent(voucher, bound, extent);
    if (wide)
        add_extent(voucher, bound, ir_integer(voucher->pass->kernel, AKG_INT64, VOUCH_SPAN));
}

/* ---- tests of expressions ----------------------------------------------------------------------------- */

static void test_access(struct voucher *voucher, const struct ir_access *access, int context,
                        struct block *out);

static struct block test_guarded(struct voucher *voucher, struct ir_expr *expr, int context);
static void test_partly(struct voucher *voucher, struct ir_expr *expr, int context, struct block *out);

/* What is tested while the expression is evaluated. `context`: the phase of the conditions it stands under.
 */
static void test_expression(struct voucher *voucher, struct ir_expr *expr, int context, struct block *out)
{
    if (voucher->refused || !pass_expr_may_stop(expr))
        return;
    if (expr->kind == IR_LOAD)
        test_access(voucher, &expr->access, context, out);
    if (expr->kind != IR_OPERATION)
        return;
    test_expression(voucher, expr->operands[0], context, out);
    bool is_lazy = expr->operation == OP_AND || expr->operation == OP_OR || expr->operation == OP_SELECT;
    voucher->refused |= expr->checked;
    for (int k = 1; k < expr->count && !is_lazy; k++)
        test_expression(voucher, expr->operands[k], context, out);
    if (!is_lazy)
        return;
    if (vouch_steady_part(voucher, expr->operands[0]) != expr->operands[0]) {
        test_partly(voucher, expr, context, out);
        return;
    }
    context = vouch_later(context, vouch_phase_of(voucher, expr->operands[0], context));
    struct block last = test_guarded(voucher, expr->operands[expr->count - 1], context),
                 middle = begin_block();
    if (expr->operation == OP_SELECT)
        middle = test_guarded(voucher, expr->operands[1], context);
    if (expr->operation == OP_AND) {
        middle = last;
        last = begin_block();
    }
    if ((middle.first || last.first) && !voucher->refused)
        append(out, vouch_if(voucher, vouch_copy(voucher, expr->operands[0]), middle.first, last.first,
                             expr->span));
}

/* The loops that test cannot ask what the nest has yet to compute. What is come to where it says so is tested
 * under the rest of the condition, if that has terms that they can ask; else nothing is tested that is not in
 * any case, by the condition itself, as in `if d[c - w[i]] + v[i] > d[c]: d[c] = d[c - w[i]] + v[i]`. */
static void test_no_more(struct voucher *voucher, struct ir_expr *expr, int context, struct block *out)
{
    struct ir_stmt **end = out->end;
    test_expression(voucher, expr, context, out);
    voucher->refused |= out->end != end;
}

static void test_partly(struct voucher *voucher, struct ir_expr *expr, int context, struct block *out)
{
    struct ir_expr *truth = vouch_steady_part(voucher, expr->operands[0]);
    bool is_under = truth && expr->operation != OP_OR;
    int inner = is_under ? vouch_later(context, vouch_phase_of(voucher, truth, context)) : context;
    struct block block = is_under ? test_guarded(voucher, expr->operands[1], inner) : begin_block();
    if (block.first && !voucher->refused)
        append(out, vouch_if(voucher, vouch_copy(voucher, truth), block.first, NULL, expr->span));
    for (int k = is_under ? 2 : 1; k < expr->count; k++)
        test_no_more(voucher, expr->operands[k], context, out);
}

static struct block test_guarded(struct voucher *voucher, struct ir_expr *expr, int context)
{
    struct block block = begin_block();
    const struct ir_symbol *range = voucher->range;
    voucher->range = NULL;
    test_expression(voucher, expr, context, &block);
    voucher->range = range;
    return block;
}

static void test_access(struct voucher *voucher, const struct ir_access *access, int context,
                        struct block *out)
{
    bool tested = false;
    for (int axis = 0; axis < access->buffer->rank; axis++) {
        test_expression(voucher, access->indices[axis], context, out);
        tested |= access->checks[axis] == IR_CHECK_ELEMENT;
    }
    int phase = vouch_phase_of_access(voucher, access, context);
    if (!tested || voucher->refused)
        return;
    voucher->last_phase = vouch_later(voucher->last_phase, phase);
    for (int axis = 0; axis < access->buffer->rank && phase == voucher->phase; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT)
            append_index(voucher, out, access->indices[axis], access->buffer->shape[axis]);
}

/* ---- tests of loops ------------------------------------------------------------------------------------ */

static bool is_linear_block(const struct ir_stmt *block, const struct ir_symbol *symbol)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind != IR_ASSIGN || !vouch_is_linear(stmt->value->operands[1], symbol))
            return false;
    return true;
}

/* The block as it is for one value of the symbol. */
static struct ir_stmt *block_at(struct voucher *voucher, const struct ir_stmt *block,
                                struct ir_symbol *symbol, struct ir_expr *value)
{
    symbol->note = value;
    struct ir_stmt *copy = pass_copy_block(voucher->pass, block);
    symbol->note = NULL;
    return copy;
}

/* Whether the loop has an iteration. */
static struct ir_expr *runs(struct voucher *voucher, const struct ir_stmt *loop)
{
    return pass_combine(voucher->pass, loop->step > 0 ? OP_LT : OP_GT, pass_copy(voucher->pass, loop->low),
                        pass_copy(voucher->pass, loop->high));
}

bool vouch_is_of_call(const struct ir_stmt *loop)
{
    return pass_is_of_call(loop->low) && pass_is_of_call(loop->high);
}

/* From where the loop begins to where it ends, in its direction. */
static struct ir_expr *span_of(struct voucher *voucher, const struct ir_stmt *loop)
{
    struct ir_expr *low = pass_copy(voucher->pass, loop->low), *high = pass_copy(voucher->pass, loop->high);
    return loop->step > 0 ? pass_combine(voucher->pass, OP_SUB, high, low)
                          : pass_combine(voucher->pass, OP_SUB, low, high);
}

/* The loop, whose bounds the call says, has fewer iterations than the limit. */
static void ask_for_brevity(struct voucher *voucher, const struct ir_stmt *loop, long long limit)
{
    struct pass *pass = voucher->pass;
    const struct ir_expr *low = loop->low, *high = loop->high;
    if (low->kind == IR_INTEGER && high->kind == IR_INTEGER && low->integer > -limit / 2 &&
        low->integer < limit / 2 && high->integer < limit / 2 && high->integer > -limit / 2)
        return;
    struct ir_expr *few = pass_combine(pass, OP_LT, ir_cast(pass->kernel, AKG_UINT64, span_of(voucher, loop)),
                                       ir_integer(pass->kernel, AKG_UINT64, limit));
    for (int k = 0; k < voucher->brief.count; k++)
        if (ir_expr_equal(voucher->brief.items[k], few))
            return;
    list_push(pass->arena, &voucher->brief, few);
    voucher->brevity = voucher->brevity ? pass_combine(pass, OP_AND, voucher->brevity, few) : few;
}

static bool tests_each(const struct ir_stmt *loop)
{
    return pass_block_mentions(loop->body, loop->symbol) &&
           !((loop->step == 1 || loop->step == -1) && is_linear_block(loop->body, loop->symbol));
}

/* The first and the last iteration are close enough for all between them to be so. */
static void test_distance(struct voucher *voucher, const struct ir_stmt *loop, struct block *out)
{
    bool wraps = false;
    for (const struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        struct ir_expr *value = stmt->value->operands[1];
        wraps |= value->kind != IR_SYMBOL && pass_mentions(value, loop->symbol);
    }
    if (!wraps)
        return;
    if (vouch_is_of_call(loop)) {
        ask_for_brevity(voucher, loop, VOUCH_SPAN);
        return;
    }
    append_index(voucher, out, span_of(voucher, loop),
                 ir_integer(voucher->pass->kernel, AKG_INT64, VOUCH_SPAN));
}

/* Whether all is under what the call says. */
bool vouch_is_choice_of_call(const struct ir_stmt *block)
{
    return block->kind == IR_IF && !block->next && !block->otherwise && pass_is_of_call(block->value);
}

/* Takes what is the same in all iterations out of the loop. */
static struct ir_stmt *take_fixed(struct ir_stmt *loop)
{
    struct block fixed = begin_block(), others = begin_block();
    for (struct ir_stmt *stmt = loop->body, *next; stmt; stmt = next) {
        next = stmt->next;
        stmt->next = NULL;
        append(pass_block_mentions(stmt, loop->symbol) ? &others : &fixed, stmt);
    }
    loop->body = others.first;
    return fixed.first;
}

/* Appends what is tested at one end. The variable itself is least at the first one and greatest at the last,
 * and compilers make vectors of it where no more than that is asked. */
static void append_end(struct voucher *voucher, struct block *out, const struct ir_stmt *loop,
                       struct ir_expr *value, enum operation needless)
{
    struct ir_stmt *copy = block_at(voucher, loop->body, loop->symbol, value), *next;
    for (const struct ir_stmt *stmt = loop->body; copy; stmt = stmt->next, copy = next) {
        const struct ir_expr *index = stmt->value->operands[1];
        next = copy->next;
        copy->next = NULL;
        if (index->kind != IR_SYMBOL || index->symbol != loop->symbol || stmt->value->operation != needless)
            append(out, copy);
    }
}

static bool is_no_test(struct ir_stmt *stmt, void *found)
{
    if (stmt->kind == IR_ASSIGN)
        *(struct ir_stmt **)found = stmt;
    return stmt->kind != IR_ASSIGN;
}

/* Its iterations, where there are some, of a number that is known wherever it begins; else 0. */
static int64_t known_count(const struct ir_stmt *loop)
{
    struct pass_affine low, count;
    bool is_known = loop->step == 1 && pass_affine_of(loop->low, &low) &&
                    pass_affine_of(loop->high, &count) && pass_affine_add(&count, -1, &low) && !count.count &&
                    count.constant > 0 && count.constant < ENOUGH;
    return is_known ? count.constant : 0;
}

static struct ir_expr *at_place(struct voucher *voucher, struct ir_symbol *symbol, struct ir_expr *place,
                                const struct ir_expr *expr)
{
    symbol->note = place;
    struct ir_expr *result = ir_expr_substitute(voucher->pass->kernel, expr);
    symbol->note = NULL;
    return result;
}

/* Where the loop inside begins in each iteration where it ended in the one before, both are one:
 *     for i = 0 to N { for k = i * 5 to i * 5 + 5 { ... at[k] ... } } */
static struct ir_stmt *joined(struct voucher *voucher, struct ir_stmt *loop)
{
    struct ir_stmt *inner = loop->body;
    struct pass_affine low;
    if (inner->next || inner->kind != IR_FOR || loop->step != 1 ||
        pass_block_mentions(inner->body, loop->symbol) || !pass_affine_of(inner->low, &low) ||
        !known_count(inner) || pass_affine_coefficient(&low, loop->symbol) != known_count(inner))
        return loop;
    inner->high = at_place(voucher, loop->symbol, loop->high, inner->low);
    inner->low = at_place(voucher, loop->symbol, loop->low, inner->low);
    return inner;
}

/* The loop, if it is not long: what stops the nest may be near, where gone through to its end it never ends.
 * Else its first test fails. */
static struct ir_stmt *unless_long(struct voucher *voucher, struct ir_stmt *loop)
{
    struct ir_kernel *kernel = voucher->pass->kernel;
    struct ir_stmt *test = NULL;
    if (known_count(loop) || ir_block_walk(loop->body, is_no_test, &test))
        return loop;
    bool is_least = test->value->operation == OP_MIN, is_signed = dtype_is_signed(test->symbol->dtype);
    int64_t outside = dtype_wrap(test->symbol->dtype, is_least ? INT64_MIN : INT64_MAX);
    if (!is_least && !is_signed)
        outside = dtype_wrap(test->symbol->dtype, -1);
    struct ir_stmt *fails = ir_stmt_new(kernel, IR_ASSIGN, loop->span);
    fails->symbol = test->symbol;
    fails->value = ir_integer(kernel, test->symbol->dtype, outside);
    struct ir_expr *few =
        pass_combine(voucher->pass, OP_LT, ir_cast(kernel, AKG_UINT64, span_of(voucher, loop)),
                     ir_integer(kernel, AKG_UINT64, ENOUGH));
    struct ir_stmt *choice = vouch_if(voucher, few, loop, fails, loop->span);
    return vouch_if(voucher, runs(voucher, loop), choice, NULL, loop->span);
}

/* `loop` has the symbol and the bounds of the loops that test; what it holds becomes tests of the block. */
static void append_loop(struct voucher *voucher, const struct ir_stmt *stmt, struct block *out,
                        struct ir_stmt *loop)
{
    vouch_drop_repeated(loop);
    struct ir_stmt *fixed = take_fixed(loop), *inner = loop->body;
    if (fixed && vouch_may_ask_anyway(loop, fixed))
        append(out, fixed);
    else if (fixed)
        append(out, vouch_if(voucher, runs(voucher, loop), fixed, NULL, loop->span));
    if (!inner)
        return;
    for (struct ir_stmt *choice; inner->next && (choice = vouch_take_choice(loop)); inner = loop->body) {
        struct ir_stmt *rest = loop->body;
        loop->body = choice;
        append_loop(voucher, stmt, out, pass_copy_block(voucher->pass, loop));
        loop->body = rest;
    }
    if (vouch_append_flat(voucher, stmt, loop))
        return;
    if (vouch_is_choice_of_call(inner)) {
        struct block block = begin_block();
        loop->body = inner->body;
        append_loop(voucher, stmt, &block, loop);
        inner->body = block.first;
        append(out, inner);
    } else if (!tests_each(loop)) {
        struct ir_expr *last = pass_combine(voucher->pass, OP_SUB, pass_copy(voucher->pass, loop->high),
                                            ir_integer(voucher->pass->kernel, AKG_INT64, loop->step));
        struct block both = begin_block();
        append_end(voucher, &both, loop, loop->low, loop->step > 0 ? OP_MAX : OP_MIN);
        append_end(voucher, &both, loop, last, loop->step > 0 ? OP_MIN : OP_MAX);
        test_distance(voucher, loop, &both);
        if (loop->step > 0)
            vouch_count_range(voucher, stmt, loop, &both);
        append(out, vouch_if(voucher, runs(voucher, loop), both.first, NULL, loop->span));
    } else {
        bool is_known = vouch_is_of_call(stmt) || !pass_is_pure(loop->low) || !pass_is_pure(loop->high);
        append(out, is_known ? joined(voucher, loop) : unless_long(voucher, loop));
    }
}

/* Loops inside whose bounds the call says leave the ends of the range what they are. */
static void build_body(struct voucher *voucher, const struct ir_stmt *stmt, const struct ir_stmt *loop,
                       int context, struct block *out)
{
    const struct voucher around = *voucher;
    bool is_range = !pass_is_pure(loop->low) || !pass_is_pure(loop->high);
    bool is_passed = !is_range && vouch_is_of_call(loop);
    if (!is_passed) {
        voucher->range = is_range && (loop->step == 1 || loop->step == -1) ? loop->symbol : NULL;
        voucher->range_context = context;
    }
    voucher->is_measured = voucher->is_measured_inside = false;
    build_block(voucher, stmt->body, context + is_range, out);
    if (is_range && out->first && pass_block_mentions(out->first, loop->symbol))
        voucher->refused |=
            !voucher->is_measured && !(voucher->is_measured_inside && vouch_is_choice_of_call(out->first));
    voucher->is_measured_inside =
        around.is_measured_inside || (is_passed && (voucher->is_measured || voucher->is_measured_inside));
    voucher->is_measured = around.is_measured;
    voucher->range = around.range;
    voucher->range_context = around.range_context;
}

static void build_loop(struct voucher *voucher, struct ir_stmt *stmt, int context, struct block *out)
{
    struct pass *pass = voucher->pass;
    struct block inner = begin_block();
    test_expression(voucher, stmt->low, context, out);
    test_expression(voucher, stmt->high, context, out);
    context = vouch_later(context, vouch_later(vouch_phase_of(voucher, stmt->low, context),
                                               vouch_phase_of(voucher, stmt->high, context)));
    if (voucher->refused)
        return;
    struct ir_stmt *loop = ir_stmt_new(pass->kernel, IR_FOR, stmt->span);
    loop->symbol = ir_symbol_new(pass->kernel, IR_SYMBOL_LOOP, stmt->symbol->name, stmt->symbol->dtype);
    loop->symbol->span = stmt->symbol->span;
    loop->symbol->label = stmt->symbol->label;
    loop->low = vouch_copy(voucher, stmt->low);
    loop->high = vouch_copy(voucher, stmt->high);
    loop->step = stmt->step;
    stmt->symbol->note = ir_symbol_use(pass->kernel, loop->symbol);
    build_body(voucher, stmt, loop, context, &inner);
    stmt->symbol->note = NULL;
    loop->body = inner.first;
    if (!inner.first || voucher->refused)
        return;
    voucher->refused |= tests_each(loop) && loop->step < 0; /* a knapsack of two dimensions: 17 us, and 42 */
    if (tests_each(loop) && vouch_is_of_call(stmt))
        ask_for_brevity(voucher, stmt,
                        voucher->is_for_compilers || pass_has_for(stmt->body) ? ENDLESS : LONG);
    append_loop(voucher, stmt, out, loop);
}

/* As of test_partly. */
static void build_no_more(struct voucher *voucher, struct ir_stmt *first, int context, struct block *out)
{
    struct ir_stmt **end = out->end;
    build_block(voucher, first, context, out);
    voucher->refused |= out->end != end;
}

static void build_partly(struct voucher *voucher, struct ir_stmt *stmt, int context, struct block *out)
{
    const struct ir_symbol *range = voucher->range;
    struct ir_expr *truth = vouch_steady_part(voucher, stmt->value);
    struct block body = begin_block();
    if (truth) {
        int inner = vouch_later(context, vouch_phase_of(voucher, truth, context));
        voucher->range = NULL;
        build_block(voucher, stmt->body, inner, &body);
        voucher->range = range;
        if (body.first && !voucher->refused)
            append(out, vouch_if(voucher, vouch_copy(voucher, truth), body.first, NULL, stmt->span));
    } else {
        build_no_more(voucher, stmt->body, context, out);
    }
    build_no_more(voucher, stmt->otherwise, context, out);
}

/* Under what comes out of tensors, indices that do not, or that it asks for, are tested in any case: loops
 * that only the former are tested in need not be gone through. */
static void build_choice(struct voucher *voucher, struct ir_stmt *stmt, int context, struct block *out)
{
    struct block body = begin_block(), otherwise = begin_block();
    test_expression(voucher, stmt->value, context, out);
    if (!pass_block_may_stop(stmt->body) && !pass_block_may_stop(stmt->otherwise))
        return;
    if (vouch_steady_part(voucher, stmt->value) != stmt->value) {
        build_partly(voucher, stmt, context, out);
        return;
    }
    context = vouch_later(context, vouch_phase_of(voucher, stmt->value, context));
    struct ir_expr *truth = vouch_copy(voucher, stmt->value);
    if (vouch_is_of_data(truth) && vouch_is_of_anyone(voucher, stmt->body, truth) &&
        vouch_is_of_anyone(voucher, stmt->otherwise, truth)) {
        build_block(voucher, stmt->body, context, out);
        build_block(voucher, stmt->otherwise, context, out);
        return;
    }
    const struct ir_symbol *range = voucher->range;
    voucher->range = NULL;
    build_block(voucher, stmt->body, context, &body);
    build_block(voucher, stmt->otherwise, context, &otherwise);
    voucher->range = range;
    if ((body.first || otherwise.first) && !voucher->refused)
        append(out, vouch_if(voucher, truth, body.first, otherwise.first, stmt->span));
}

static bool count_node(struct ir_expr *expr, void *left)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->note)
        return ir_expr_walk(expr->symbol->note, count_node, left);
    return --*(int *)left >= 0;
}

/* What the scalar of the nest stands for. */
static void note_value(struct voucher *voucher, struct ir_stmt *let)
{
    int left = NODES;

    voucher->refused |= !ir_expr_walk(let->value, count_node, &left);
    if (!voucher->refused)
        let->symbol->note = pass_copy(voucher->pass, let->value);
}

/* Scalars of the nest stand for their values while its block is gone through. */
static void build_block(struct voucher *voucher, struct ir_stmt *first, int context, struct block *out)
{
    for (struct ir_stmt *stmt = first; stmt && !voucher->refused; stmt = stmt->next) {
        if (stmt->kind == IR_FOR) {
            build_loop(voucher, stmt, context, out);
        } else if (stmt->kind == IR_IF) {
            build_choice(voucher, stmt, context, out);
        } else {
            test_expression(voucher, stmt->value, context, out);
            if (stmt->kind == IR_STORE)
                test_access(voucher, &stmt->access, context, out);
            if (stmt->kind == IR_LET)
                note_value(voucher, stmt);
        }
    }
    for (struct ir_stmt *stmt = first; stmt; stmt = stmt->next)
        if (stmt->kind == IR_LET)
            stmt->symbol->note = NULL;
}

/* ---- nests --------------------------------------------------------------------------------------------- */

static bool is_plain(struct ir_stmt *stmt, void *count)
{
    ++*(int *)count;
    return stmt->kind == IR_FOR || stmt->kind == IR_IF || stmt->kind == IR_STORE || stmt->kind == IR_LET ||
           stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN;
}

/* Loops that stop by nothing but indices. */
static bool is_candidate(struct ir_stmt *stmt, bool is_for_compilers)
{
    int count = 0;
    return (is_for_compilers || (pass_has_for(stmt->body) && !vouch_only_picks_rows(stmt))) &&
           ir_block_walk(stmt->body, is_plain, &count) && count <= STATEMENTS &&
           pass_block_may_stop(stmt->body);
}

/* All indices of the phase were inside. */
static struct ir_expr *condition_of(struct voucher *voucher)
{
    struct ir_kernel *kernel = voucher->pass->kernel;
    struct ir_expr *all = NULL;
    for (int k = 0; k < voucher->bounds.count; k++) {
        const struct bound *bound = &voucher->bounds.items[k];
        struct ir_expr *part = NULL;
        if (bound->least)
            part = pass_combine(voucher->pass, OP_GE, pass_use(voucher->pass, bound->least),
                                ir_integer(kernel, AKG_INT64, 0));
        for (int e = 0; e < bound->extents.count; e++) {
            struct ir_expr *greatest = ir_cast(kernel, AKG_INT64, pass_use(voucher->pass, bound->greatest));
            struct ir_expr *below = pass_combine(voucher->pass, OP_LT, greatest,
                                                 pass_copy(voucher->pass, bound->extents.items[e]));
            part = part ? pass_combine(voucher->pass, OP_AND, part, below) : below;
        }
        all = all ? pass_combine(voucher->pass, OP_AND, all, part) : part;
    }
    return all;
}

/* The statements of one phase, which tell `sure` whether all were inside; NULL: there are none. */
static struct ir_stmt *make_phase(struct voucher *voucher, struct ir_symbol *sure)
{
    struct block block = begin_block(), all = begin_block();
    struct ir_stmt *next = voucher->nest->next;
    for (int k = 0; k < voucher->bounds.count; k++)
        if (voucher->bounds.items[k].total)
            list_push(voucher->pass->arena, &voucher->ranges, voucher->bounds.items[k]);
    voucher->bounds.count = 0;
    voucher->flat = NULL;
    voucher->dense = NULL;
    voucher->nest->next = NULL;
    build_block(voucher, voucher->nest, 0, &block);
    voucher->nest->next = next;
    struct ir_expr *condition = voucher->refused ? NULL : condition_of(voucher);
    if (!condition)
        return NULL;
    if (voucher->dense)
        condition = pass_combine(voucher->pass, OP_AND, voucher->dense, condition);
    append(&all, voucher->flat);
    append(&all, block.first);
    struct ir_stmt *assign = ir_stmt_new(voucher->pass->kernel, IR_ASSIGN, voucher->nest->span);
    assign->symbol = sure;
    assign->value = condition;
    append(&all, assign);
    return all.first;
}

/* The nest as it was, whose loops messages name, and a copy without tests; `place` is where it stands. */
static void make_versions(struct voucher *voucher, struct ir_stmt **place, struct ir_symbol *sure,
                          struct ir_stmt *const *phases)
{
    struct ir_stmt *nest = voucher->nest, *next = nest->next;
    struct block block = begin_block();
    nest->next = NULL;
    struct ir_stmt *trusted = pass_copy_block(voucher->pass, nest);
    vouch_widen(voucher->pass, trusted);
    pass_trust(trusted);
    pass_count_windows(voucher->pass, trusted); /* a loop that might stop was not counted, */
    pass_unroll_block(voucher->pass, trusted);  /* nor written out */
    for (int k = 0; k < voucher->declarations.count; k++)
        append(&block, voucher->declarations.items[k]);
    for (int phase = 0; phase < voucher->last_phase; phase++)
        append(&block, phases[phase] && (phase || voucher->brevity)
                           ? vouch_if(voucher, pass_use(voucher->pass, sure), phases[phase], NULL, nest->span)
                           : phases[phase]);
    append(&block, vouch_if(voucher, pass_use(voucher->pass, sure), trusted, nest, nest->span));
    append(&block, next);
    *place = block.first;
}

static bool vouch(struct pass *pass, struct ir_stmt **place, bool is_for_compilers)
{
    struct voucher voucher = {.pass = pass, .nest = *place, .is_for_compilers = is_for_compilers};
    struct ir_stmt *phases[PHASES];
    struct ir_symbol *sure = vouch_declare(&voucher, "sure", ir_integer(pass->kernel, AKG_BOOL, 1));
    do {
        voucher.phase++;
        phases[voucher.phase - 1] = make_phase(&voucher, sure);
        voucher.refused |= !voucher.last_phase || voucher.last_phase > PHASES;
    } while (voucher.phase < voucher.last_phase && !voucher.refused);
    if (voucher.refused)
        return false;
    if (voucher.brevity)
        pass_set_value(voucher.declarations.items[0], voucher.brevity);
    make_versions(&voucher, place, sure, phases);
    return true;
}

static bool vouch_block(struct pass *pass, struct ir_stmt **block, bool is_for_compilers, int *made)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_FOR && *made < NESTS && is_candidate(stmt, is_for_compilers) &&
            vouch(pass, place, is_for_compilers)) {
            changed = true;
            ++*made;
            while ((*place)->otherwise != stmt)
                place = &(*place)->next;
            continue;
        }
        changed |= stmt->body && vouch_block(pass, &stmt->body, is_for_compilers, made);
        changed |= stmt->otherwise && vouch_block(pass, &stmt->otherwise, is_for_compilers, made);
    }
    return changed;
}

bool pass_vouch(struct pass *pass)
{
    int made = 0;
    bool changed = vouch_block(pass, &pass->kernel->body, false, &made);
    if (changed)
        pass_simplify(pass); /* conditions on the variables of loops that are written out are known now */
    return changed;
}

bool pass_vouch_all(struct pass *pass)
{
    int made = 0;
    return vouch_block(pass, &pass->kernel->body, true, &made);
}

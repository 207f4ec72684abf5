/*
 * pass_once.c: what loops would add up again and again is added up once.
 *
 *     for i, for j { dot = 0; norm = 0; for d { dot += a[i, d] * b[j, d]; norm += b[j, d] * b[j, d] } ... }
 *
 * adds up each norm of b for every i. Consumes loops that accumulate into scalars of the loop around, which
 * are declared there and change nowhere else. Where what is added hangs on none of the loops from
 * some loop around inwards, the sum is made before that one; where it hangs on one of these alone, a table of
 * the sums is. A sum that stood in the only loop of another one is a table over that one too, where both
 * are rows and columns of a nest, and stay that. Sums are made in the order they were made in. Where a loop
 * that leaves a sum out has no iteration, what it loads need not be there: unless the extents tell that it
 * is, it asks first.
 */
#include "pass.h"

enum { LOOPS = 12, LARGEST = 40 /* statements of the loop that accumulates */, FEW = 64 /* of one around */ };
enum { NAMES = 100, FEWEST = 3 /* terms of a sum */ };

/* Loops around what is looked at, each but the first in the body of the one before. */
struct once {
    struct pass *pass;
    struct ir_stmt *loops[LOOPS];
    struct ir_stmt **places[LOOPS]; /* where they stand */
    int count;
    int first; /* of those that statements may be moved out of */
    bool changed;
};

/* A sum, and where it may be made. */
struct sum {
    const struct once *once;
    struct ir_stmt *declaration; /* in the innermost loop */
    struct ir_stmt *copy;        /* of the declaration, and what accumulates behind it */
    unsigned asked;              /* the loops that it hangs on */
    int pinned;                  /* the innermost loop that it cannot leave; -1: none */
    int out, axis;  /* before which loop it is made; the loop of a table's axis, -1: it is a scalar */
    int names;      /* that may still be looked behind */
    bool is_inside; /* extents tell that it loads nothing else */
};

/* ---- what is accumulated ---------------------------------------------------------------------------- */

static bool is_plain(struct ir_stmt *stmt, void *left)
{
    return --*(int *)left >= 0 &&
           (stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_ASSIGN || stmt->kind == IR_IF);
}

static bool mentions(struct ir_stmt *stmt, const struct ir_symbol *symbol)
{
    struct ir_stmt alone = *stmt;
    alone.next = NULL;
    return pass_block_mentions(&alone, symbol);
}

/* Whether nothing else in the loop around changes the scalar, or asks for it before. */
static bool is_made_here(const struct ir_stmt *around, const struct ir_stmt *loop,
                         const struct ir_symbol *symbol)
{
    bool is_before = true;
    for (struct ir_stmt *stmt = around->body; stmt; stmt = stmt->next) {
        is_before &= stmt != loop;
        if (stmt != loop && (ir_stmt_assigns(stmt, symbol) || (is_before && mentions(stmt, symbol))))
            return false;
    }
    return true;
}

/* Whether the statement does nothing but accumulate into the scalar. */
static bool is_own(struct ir_stmt *stmt, void *symbol)
{
    return stmt->kind == IR_IF || (stmt->kind == IR_ASSIGN && stmt->symbol == symbol);
}

static bool holds_own_alone(struct ir_stmt *stmt, const struct ir_symbol *symbol)
{
    struct ir_stmt alone = *stmt;
    alone.next = NULL;
    return ir_block_walk(&alone, is_own, (void *)symbol);
}

static bool is_no_use(struct ir_expr *expr, void *symbol)
{
    return !ir_is_use_of(expr, symbol);
}

/* Whether what else the block does asks for the scalar. */
static bool is_asked_for(struct ir_stmt *block, struct ir_symbol *symbol)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (!holds_own_alone(stmt, symbol) &&
            (!ir_stmt_expressions(stmt, is_no_use, symbol) || is_asked_for(stmt->body, symbol) ||
             is_asked_for(stmt->otherwise, symbol)))
            return true;
    return false;
}

static bool remove_others(struct ir_stmt *stmt, void *symbol)
{
    if (stmt->kind == IR_ASSIGN && stmt->symbol != symbol)
        pass_remove(stmt);
    return true;
}

static bool remove_own(struct ir_stmt *stmt, void *symbol)
{
    if (stmt->kind == IR_ASSIGN && stmt->symbol == symbol)
        pass_remove(stmt);
    return true;
}

static bool remove_unused(struct ir_stmt *stmt, void *block)
{
    if (stmt->kind == IR_LET && !pass_block_mentions(block, stmt->symbol))
        pass_remove(stmt);
    return true;
}

/* The declaration and the loop with nothing but what accumulates into the scalar. */
static struct ir_stmt *copy_of_sum(struct pass *pass, const struct ir_stmt *declaration,
                                   const struct ir_stmt *loop)
{
    struct ir_stmt *first = arena_new(pass->arena, struct ir_stmt);
    struct ir_stmt *second = arena_new(pass->arena, struct ir_stmt);
    *first = *declaration;
    *second = *loop;
    first->next = second;
    second->next = NULL;
    struct ir_stmt *copy = pass_copy_block(pass, first);
    ir_block_walk(copy->next, remove_others, copy->symbol);
    pass_sweep(&copy->next);
    ir_block_walk(copy->next, remove_unused, copy->next);
    pass_sweep(&copy->next);
    return copy;
}

/* ---- what it hangs on ------------------------------------------------------------------------------ */

static int level_of(const struct once *once, const struct ir_symbol *symbol)
{
    for (int level = once->first; level < once->count; level++)
        if (once->loops[level]->symbol == symbol)
            return level;
    return -1;
}

static void pin(struct sum *sum, int level)
{
    sum->pinned = level > sum->pinned ? level : sum->pinned;
}

/* The innermost loop around that declares it; -1: none of these does. */
static int level_that_declares(const struct once *once, const struct ir_symbol *symbol)
{
    int found = -1;
    for (int level = once->first; level < once->count; level++)
        if (ir_block_declares(once->loops[level]->body, symbol))
            found = level;
    return found;
}

static bool look_at_part(struct ir_expr *expr, void *context);

/* What the sum uses and does not declare. Variables of loops around pin it in these; for a name counts what
 * it stands for. */
static bool look_at_symbol(struct sum *sum, const struct ir_symbol *symbol)
{
    const struct once *once = sum->once;
    int level = level_of(once, symbol);

    if (level >= 0)
        sum->asked |= 1u << level;
    if (level >= 0 || symbol == sum->copy->symbol || ir_block_declares(sum->copy, symbol) ||
        symbol->kind == IR_SYMBOL_DIM || symbol->kind == IR_SYMBOL_ATTRIBUTE)
        return true;
    level = level_that_declares(once, symbol);
    if (level >= 0 && symbol->kind == IR_SYMBOL_LET)
        return --sum->names >= 0 && !pass_expr_may_stop(symbol->value) &&
               ir_expr_walk(symbol->value, look_at_part, sum);
    pin(sum, level);
    int inside = level < once->first ? once->first : level + 1;
    return symbol->kind != IR_SYMBOL_VARIABLE || inside >= once->count ||
           !ir_stmt_assigns(once->loops[inside], symbol);
}

/* Tensors that change in a loop around, or begin anew, pin it there. */
static void look_at_buffer(struct sum *sum, const struct ir_buffer *buffer)
{
    const struct once *once = sum->once;
    for (int level = once->first; level < once->count; level++)
        if (ir_block_stores_to(once->loops[level]->body, buffer) ||
            (buffer->role == IR_TEMPORARY && ir_block_allocates(once->loops[level]->body)))
            pin(sum, level);
}

/* The loop that counts the symbol: one around, or one of the sum. */
static bool counts(struct ir_stmt *stmt, void *context)
{
    struct ir_stmt **found = context;
    if (stmt->kind == IR_FOR && stmt->symbol == (*found)->symbol)
        *found = stmt;
    return true;
}

static const struct ir_stmt *loop_of(const struct sum *sum, const struct ir_symbol *symbol)
{
    int level = level_of(sum->once, symbol);
    if (level >= 0)
        return sum->once->loops[level];
    struct ir_stmt sought = {.symbol = (struct ir_symbol *)symbol}, *found = &sought;
    ir_block_walk(sum->copy->next, counts, &found);
    return found == &sought ? NULL : found;
}

/* Whether the index goes no further than the loop that counts it, which goes as far as the axis. */
static bool is_within(const struct sum *sum, const struct ir_expr *index, const struct ir_expr *extent)
{
    if (index->kind != IR_SYMBOL || index->symbol->kind != IR_SYMBOL_LOOP)
        return false;
    const struct ir_stmt *loop = loop_of(sum, index->symbol);
    return loop && loop->step > 0 && loop->low->kind == IR_INTEGER && loop->low->integer >= 0 &&
           ir_expr_equal(loop->high, extent);
}

static bool look_at_part(struct ir_expr *expr, void *context)
{
    struct sum *sum = context;
    if (expr->kind == IR_LOAD) {
        const struct ir_buffer *buffer = expr->access.buffer;
        look_at_buffer(sum, buffer);
        for (int axis = 0; axis < buffer->rank; axis++)
            sum->is_inside &= is_within(sum, expr->access.indices[axis], buffer->shape[axis]);
    }
    return expr->kind != IR_SYMBOL || look_at_symbol(sum, expr->symbol);
}

/* ---- where it is made ------------------------------------------------------------------------------- */

struct fixed {
    const struct once *once;
    int level;
};

static bool is_from_outside(struct ir_expr *expr, void *context)
{
    const struct fixed *fixed = context;
    return expr->kind != IR_LOAD &&
           (expr->kind != IR_SYMBOL || expr->symbol->kind == IR_SYMBOL_DIM ||
            expr->symbol->kind == IR_SYMBOL_ATTRIBUTE ||
            (expr->symbol->kind != IR_SYMBOL_VARIABLE &&
             fixed->once->loops[fixed->level]->symbol != expr->symbol &&
             !ir_block_declares(fixed->once->loops[fixed->level]->body, expr->symbol)));
}

/* Whether the bounds of the loop mean the same before the one of that level. */
static bool is_fixed(const struct once *once, const struct ir_stmt *loop, int level)
{
    struct fixed fixed = {once, level};
    return loop->step == 1 && pass_is_pure(loop->low) && pass_is_pure(loop->high) &&
           ir_expr_walk(loop->low, is_from_outside, &fixed) &&
           ir_expr_walk(loop->high, is_from_outside, &fixed);
}

/* Whether the number grows no faster than some tensor's extent. */
static bool is_of_extents(const struct ir_expr *expr)
{
    enum { MOST = 8, LARGE = 1 << 20 };
    struct pass_affine sum;
    int64_t factors = 0;
    if (!pass_affine_of(expr, &sum) || sum.constant > LARGE || sum.constant < -LARGE)
        return false;
    for (int k = 0; k < sum.count; k++) {
        if (sum.terms[k].symbol->kind != IR_SYMBOL_DIM)
            return false;
        factors += sum.terms[k].coefficient < 0 ? -sum.terms[k].coefficient : sum.terms[k].coefficient;
    }
    return factors <= MOST;
}

/* Whether the loop may be the axis of a table: how large that is must be known when the call begins, and be
 * no more than tensors are. */
static bool may_be_axis(const struct once *once, const struct ir_stmt *loop, int level)
{
    return is_fixed(once, loop, level) && is_of_extents(loop->low) && is_of_extents(loop->high);
}

/* The only one of the levels from `out` on that the sum hangs on; -1: none is; -2: several are. */
static int axis_from(const struct sum *sum, int out)
{
    unsigned asked = sum->asked >> out;
    return !asked ? -1 : asked & (asked - 1) ? -2 : out + __builtin_ctz(asked);
}

/* Whether it is made as soon as it is found elsewhere: such loops are written out. */
static bool is_of_few(const struct sum *sum)
{
    const struct ir_stmt *loop = sum->copy->next;
    return loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER && loop->step == 1 &&
           loop->high->integer - loop->low->integer <= FEWEST && !pass_has_for(loop->body);
}

static bool may_be_made_before(const struct sum *sum, int out)
{
    const struct once *once = sum->once;
    int axis = axis_from(sum, out);
    if (axis == -2 || (axis >= 0 && !may_be_axis(once, once->loops[axis], out)))
        return false;
    for (int level = out; !sum->is_inside && level < once->count; level++)
        if (!is_fixed(once, once->loops[level], out))
            return false;
    return true;
}

/* Whether a loop in the innermost one hangs on that and on the one of the level: these are rows and columns
 * of a nest. */
static bool are_rows_and_columns(const struct once *once, int level)
{
    const struct ir_stmt *columns = once->loops[once->count - 1];
    for (struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next)
        if (stmt->kind == IR_FOR && mentions(stmt, columns->symbol) &&
            mentions(stmt, once->loops[level]->symbol))
            return true;
    return false;
}

/* The outermost loop that leaves the sum out, and can. */
static bool find_place(struct sum *sum)
{
    const struct once *once = sum->once;
    int least = sum->pinned + 1 > once->first ? sum->pinned + 1 : once->first, out = least;
    while (out < once->count && (sum->asked >> out & 1 || !may_be_made_before(sum, out)))
        out++;
    if (out == once->count)
        return false;
    sum->out = out;
    sum->axis = axis_from(sum, out);
    bool is_nest = out > least && once->loops[out - 1]->body == once->loops[out] && !once->loops[out]->next;
    if (sum->axis < 0 && is_nest && are_rows_and_columns(once, out - 1) && may_be_made_before(sum, out - 1))
        sum->axis = sum->out = out - 1;
    return true;
}

/* ---- making it -------------------------------------------------------------------------------------- */

/* Whether the loops that leave the sum out have iterations; NULL: it need not be asked. */
static struct ir_expr *guard_of(const struct sum *sum)
{
    const struct once *once = sum->once;
    struct pass *pass = once->pass;
    struct ir_expr *guard = NULL;
    for (int level = sum->out; !sum->is_inside && level < once->count; level++) {
        const struct ir_stmt *loop = once->loops[level];
        struct ir_expr *has =
            pass_combine(pass, OP_LT, pass_copy(pass, loop->low), pass_copy(pass, loop->high));
        guard = guard ? pass_combine(pass, OP_AND, guard, has) : has;
    }
    return guard && guard->kind == IR_INTEGER && guard->integer ? NULL : guard;
}

static struct ir_stmt *guarded(const struct sum *sum, struct ir_stmt *block)
{
    struct ir_expr *guard = guard_of(sum);
    if (!guard)
        return block;
    struct ir_stmt *choice = ir_stmt_new(sum->once->pass->kernel, IR_IF, block->span);
    pass_set_value(choice, guard);
    choice->body = block;
    return choice;
}

/* In front of the loop that leaves it out. */
static void put_before(struct once *once, int level, struct ir_stmt *block)
{
    struct ir_stmt *loop = *once->places[level], *last = block;
    while (last->next)
        last = last->next;
    last->next = loop;
    *once->places[level] = block;
    once->places[level] = &last->next;
}

static struct ir_expr *place_in_table(const struct sum *sum)
{
    const struct ir_stmt *loop = sum->once->loops[sum->axis];
    struct pass *pass = sum->once->pass;
    return pass_combine(pass, OP_SUB, pass_use(pass, loop->symbol), pass_copy(pass, loop->low));
}

/* The element for the iteration, known to be inside. */
static struct ir_expr *load_of(const struct sum *sum, struct ir_buffer *table)
{
    struct ir_expr *index = place_in_table(sum);
    struct ir_expr *load = ir_load(sum->once->pass->kernel, table, &index);
    load->access.checks[0] = IR_CHECK_PROVED;
    load->span = sum->declaration->span;
    return load;
}

static struct ir_buffer *new_table(const struct sum *sum)
{
    const struct ir_stmt *loop = sum->once->loops[sum->axis];
    struct pass *pass = sum->once->pass;
    struct ir_buffer *table =
        ir_buffer_new(pass->kernel, "sums", IR_TEMPORARY, sum->declaration->symbol->dtype, 1);
    struct ir_expr *extent =
        pass_combine(pass, OP_SUB, pass_copy(pass, loop->high), pass_copy(pass, loop->low));
    bool is_extent = ir_is_dim(extent) || (extent->kind == IR_INTEGER && extent->integer >= 0);
    table->span = sum->declaration->span;
    table->shape[0] = is_extent ? extent : pass_combine(pass, OP_MAX, extent, pass_number(pass, 0));
    return table;
}

/* What the scalar stands for now. */
static struct ir_expr *make_table(struct once *once, const struct sum *sum)
{
    struct ir_kernel *kernel = once->pass->kernel;
    struct ir_buffer *table = new_table(sum);
    struct ir_stmt *allocate = ir_stmt_new(kernel, IR_ALLOCATE, table->span);
    struct ir_stmt *store = ir_stmt_new(kernel, IR_STORE, table->span), *last = sum->copy;
    struct ir_expr *load = load_of(sum, table);

    allocate->access.buffer = table;
    store->access = load_of(sum, table)->access;
    pass_set_value(store, pass_use(once->pass, sum->copy->symbol));
    while (last->next)
        last = last->next;
    last->next = store;
    allocate->next = guarded(sum, pass_new_loop(once->pass, once->loops[sum->axis], sum->copy));
    put_before(once, sum->out, allocate);
    return load;
}

/* What it begins with may have to be asked for, too. */
static void begin_later(const struct once *once, struct ir_stmt *declaration)
{
    struct ir_kernel *kernel = once->pass->kernel;
    akg_dtype dtype = declaration->symbol->dtype;
    struct ir_stmt *assign = ir_stmt_new(kernel, IR_ASSIGN, declaration->span);
    assign->symbol = declaration->symbol;
    pass_set_value(assign, declaration->value);
    assign->next = declaration->next;
    declaration->next = assign;
    pass_set_value(declaration,
                   dtype_is_float(dtype) ? ir_real(kernel, dtype, 0) : ir_integer(kernel, dtype, 0));
}

static struct ir_expr *make_scalar(struct once *once, const struct sum *sum)
{
    struct ir_stmt *copy = sum->copy;
    if (!sum->is_inside && ir_expr_loads(copy->value))
        begin_later(once, copy);
    copy->next = guarded(sum, copy->next);
    put_before(once, sum->out, copy);
    return pass_use(once->pass, copy->symbol);
}

struct names {
    const struct sum *sum;
    LIST(struct ir_symbol *) items;
};

static bool find_name(struct ir_expr *expr, void *context)
{
    struct names *names = context;
    const struct sum *sum = names->sum;
    if (expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_LET || expr->symbol->note ||
        ir_block_declares(sum->copy, expr->symbol) || level_that_declares(sum->once, expr->symbol) < 0)
        return true;
    expr->symbol->note = expr->symbol->value;
    list_push(sum->once->pass->arena, &names->items, expr->symbol);
    return true;
}

/* What names of loops around stand for, in their place. */
static void put_values(const struct sum *sum)
{
    struct names names;
    do {
        names = (struct names){.sum = sum};
        ir_block_expressions(sum->copy, find_name, &names);
        if (names.items.count)
            pass_substitute(sum->once->pass, sum->copy);
        for (int k = 0; k < names.items.count; k++)
            names.items.items[k]->note = NULL;
    } while (names.items.count);
}

static void make(struct once *once, const struct sum *sum, struct ir_stmt *loop)
{
    struct pass *pass = once->pass;
    struct ir_symbol *symbol = sum->declaration->symbol;
    struct ir_stmt *let = ir_stmt_new(pass->kernel, IR_LET, sum->declaration->span);

    put_values(sum);
    let->symbol = symbol;
    symbol->kind = IR_SYMBOL_LET;
    pass_set_value(let, sum->axis < 0 ? make_scalar(once, sum) : make_table(once, sum));
    let->next = loop->next;
    loop->next = let;
    ir_block_walk(loop->body, remove_own, symbol);
    pass_sweep(&loop->body);
    pass_remove(sum->declaration);
    once->changed = true;
}

/* ---- loops ------------------------------------------------------------------------------------------ */

static void try_sum(struct once *once, struct ir_stmt *declaration, struct ir_stmt *loop)
{
    struct sum sum = {
        .once = once, .declaration = declaration, .pinned = -1, .names = NAMES, .is_inside = true};
    sum.copy = copy_of_sum(once->pass, declaration, loop);
    if (sum.copy->next && !is_of_few(&sum) && ir_block_expressions(sum.copy, look_at_part, &sum) &&
        find_place(&sum))
        make(once, &sum, loop);
}

static bool is_short(const struct ir_stmt *block)
{
    int count = 0;
    for (; block && count <= FEW; block = block->next)
        count++;
    return count <= FEW;
}

/* What the scalar becomes behind the loop, once and for all, gets a name of its own: `mean = mean / N`. */
static void name_result(struct once *once, const struct ir_stmt *loop, struct ir_symbol *symbol)
{
    struct ir_stmt *later = NULL;
    for (struct ir_stmt *stmt = loop->next; stmt; stmt = stmt->next) {
        if (!ir_stmt_assigns(stmt, symbol))
            continue;
        if (later || stmt->kind != IR_ASSIGN)
            return;
        later = stmt;
    }
    if (!later)
        return;
    later->kind = IR_LET;
    later->symbol = ir_symbol_new(once->pass->kernel, IR_SYMBOL_LET, symbol->name, symbol->dtype);
    pass_set_value(later, later->value);
    pass_rename(later->next, symbol, later->symbol);
    once->changed = true;
}

static void try_scalar(struct once *once, struct ir_stmt *declaration, struct ir_stmt *loop)
{
    const struct ir_stmt *around = once->loops[once->count - 1];
    if (declaration->kind != IR_VARIABLE || pass_is_removed(declaration) ||
        !ir_stmt_assigns(loop, declaration->symbol) || pass_expr_may_stop(declaration->value) ||
        is_asked_for(loop->body, declaration->symbol))
        return;
    name_result(once, loop, declaration->symbol);
    if (is_made_here(around, loop, declaration->symbol))
        try_sum(once, declaration, loop);
}

/* What the loop, which stands in the innermost one of those around, accumulates. */
static void try_loop(struct once *once, struct ir_stmt *loop)
{
    const struct ir_stmt *around = once->loops[once->count - 1];
    struct ir_stmt alone = *loop;
    int left = LARGEST;

    alone.next = NULL;
    if (!ir_block_walk(&alone, is_plain, &left) || pass_stmt_may_stop(loop) || !is_short(around->body))
        return;
    for (struct ir_stmt *stmt = around->body; stmt != loop; stmt = stmt->next)
        try_scalar(once, stmt, loop);
}

static void visit_block(struct once *once, struct ir_stmt **block);

/* Statements are not moved out of it. */
static void visit_apart(struct once *once, struct ir_stmt **block)
{
    int first = once->first;
    once->first = once->count;
    visit_block(once, block);
    once->first = first;
}

/* Gives where it stands now. */
static struct ir_stmt **visit_loop(struct once *once, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place;
    if (once->count > once->first)
        try_loop(once, loop);
    if (once->count == LOOPS)
        return place;
    once->places[once->count] = place;
    once->loops[once->count++] = loop;
    if (pass_jumps(loop->body))
        visit_apart(once, &loop->body);
    else
        visit_block(once, &loop->body);
    return once->places[--once->count];
}

static void visit_block(struct once *once, struct ir_stmt **block)
{
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_FOR) {
            place = visit_loop(once, place);
        } else if (stmt->body || stmt->otherwise) {
            visit_apart(once, &stmt->body);
            visit_apart(once, &stmt->otherwise);
        }
    }
}

bool pass_once(struct pass *pass)
{
    struct once once = {.pass = pass};
    visit_block(&once, &pass->kernel->body);
    pass_sweep(&pass->kernel->body);
    return once.changed;
}

/*
 * pass_windows.c: a loop over a few places around another loop's is counted from 0 on:
 *
 *     for u = i - 1 to i + 2: ... x[u] ...      ->      for k = 0 to 3: ... x[(i - 1) + k] ...
 *
 * so that passes that ask for few iterations see them, and that its bounds hang on nothing. Where the window
 * ends at borders, conditions say so, which is what other programs have in the first place:
 *
 *     for u = max(i - 1, 0) to min(i + 2, N)    ->      for k = 0 to 3: if (i - 1) + k >= 0 and (i - 1) + k <
 * N
 *
 * How many places these are may be for the call to say, as in `for u = max(i - b, 0) to min(i + b + 1, N)`:
 * then there are two versions of the nest, of which one is for few.
 *
 * Tiles, `for i = 0 to N step 8: for u = i to min(i + 8, N)`, are such windows, and numbered.
 *
 * Consumes loops of step 1 whose ends, or some of what their ends are the greatest or the least of, lie a
 * constant apart, or what the call says.
 */
#include "pass.h"

enum {
    MOST = 16,       /* iterations */
    ALONE = 64,      /* likewise, where the call says how many and there is no other window; */
    WINDOWS = 4,     /* of a nest; */
    BOUNDS = 4,      /* of one end */
    STATEMENTS = 40, /* of what there will be twice; */
    NESTS = 4,       /* of a kernel */
    BITS = 44,       /* of what is made of that, */
    FACTOR = 4096,   /* and what it may be multiplied by */
    DEEPEST = 100
};

/* What the loops are asked for. */
enum window_span {
    WINDOW_CONSTANT, /* ends a constant apart */
    WINDOW_OF_CALL   /* likewise, or what a call says that has few iterations */
};

/* What an end is the greatest or the least of. */
struct ends {
    struct ir_expr *items[BOUNDS];
    int count;
};

struct window {
    struct ends lows, highs;
    int low, high;            /* those that lie `count` apart */
    struct pass_affine count; /* a constant, or of dims, attributes and what is made of them */
};

static bool may_be_copied(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_ALLOCATE && stmt->kind != IR_WHILE && stmt->kind != IR_ASSERT &&
           stmt->kind != IR_BREAK && stmt->kind != IR_CONTINUE;
}

/* False: there are more. */
static bool find_ends(struct ir_expr *end, enum operation operation, struct ends *ends)
{
    struct ir_expr *value = end;
    if (end->kind == IR_SYMBOL && end->symbol->kind == IR_SYMBOL_LET && end->symbol->value)
        value = end->symbol->value;
    if (value->kind == IR_OPERATION && value->operation == operation)
        return find_ends(value->operands[0], operation, ends) &&
               find_ends(value->operands[1], operation, ends);
    if (ends->count == BOUNDS)
        return false;
    ends->items[ends->count++] = end;
    return true;
}

/* What is computed of dims and attributes, as a quotient. */
static bool is_small_of_call(const struct ir_symbol *symbol)
{
    struct pass_ranges none = {.count = 0};
    return symbol->kind == IR_SYMBOL_LET && symbol->value && pass_is_of_call(symbol->value) &&
           pass_bits_of(&none, symbol->value) <= BITS;
}

static bool is_of_call(const struct ir_symbol *symbol)
{
    return symbol->kind == IR_SYMBOL_DIM || symbol->known.bits > 0 || is_small_of_call(symbol);
}

/* A sum of others might wrap. */
static bool is_place(const struct ir_expr *expr, enum window_span span, struct pass_affine *place)
{
    if (!pass_affine_of(expr, place))
        return false;
    for (int k = 0; k < place->count; k++) {
        const struct ir_symbol *symbol = place->terms[k].symbol;
        int64_t factor = place->terms[k].coefficient;
        if (symbol->kind != IR_SYMBOL_LOOP && symbol->kind != IR_SYMBOL_DIM &&
            (span == WINDOW_CONSTANT || !is_of_call(symbol) || factor > FACTOR || factor < -FACTOR))
            return false;
    }
    return true;
}

/* Iterations from one to the other, if few, or for the call to say, of a place that is not. */
static bool lie_near(const struct ir_expr *low, const struct ir_expr *high, enum window_span span,
                     struct pass_affine *count)
{
    struct pass_affine from;
    if (!is_place(low, span, &from) || !is_place(high, span, count) || !pass_affine_add(count, -1, &from))
        return false;
    if (!count->count)
        return count->constant >= 1 && count->constant <= MOST;
    bool moves = false;
    for (int k = 0; k < from.count; k++)
        moves |= from.terms[k].symbol->kind == IR_SYMBOL_LOOP;
    for (int k = 0; k < count->count; k++)
        moves &= is_of_call(count->terms[k].symbol);
    return moves && span == WINDOW_OF_CALL;
}

static bool are_places(const struct ends *ends, enum window_span span)
{
    struct pass_affine place;
    for (int k = 0; k < ends->count; k++)
        if (!is_place(ends->items[k], span, &place))
            return false;
    return true;
}

static bool find_window(const struct ir_stmt *loop, enum window_span span, struct window *window)
{
    bool found = false;
    *window = (struct window){.low = 0};
    if (loop->kind != IR_FOR || loop->step != 1 || loop->hint ||
        !find_ends(loop->low, OP_MAX, &window->lows) || !find_ends(loop->high, OP_MIN, &window->highs) ||
        !are_places(&window->lows, span) || !are_places(&window->highs, span))
        return false;
    for (int k = 0; k < window->lows.count * window->highs.count && !found; k++) {
        window->low = k % window->lows.count;
        window->high = k / window->lows.count;
        found = lie_near(window->lows.items[window->low], window->highs.items[window->high], span,
                         &window->count);
    }
    return found && !(loop->low->kind == IR_INTEGER && window->highs.count == 1);
}

/* The place is not left of the ends, or not right of them; `but`: the one that the window has anyway. */
static struct ir_expr *ask(struct pass *pass, const struct ends *ends, int but, enum operation operation,
                           const struct ir_expr *place, struct ir_expr *condition)
{
    for (int k = 0; k < ends->count; k++) {
        if (k == but)
            continue;
        struct ir_expr *inside = ir_operation(pass->kernel, operation, pass_copy(pass, place),
                                              pass_copy(pass, ends->items[k]), NULL);
        condition = condition ? ir_operation(pass->kernel, OP_AND, condition, inside, NULL) : inside;
    }
    return condition;
}

/* Messages name the variable: nothing in the loop may stop. */
static bool may_count(const struct ir_stmt *loop, enum window_span span, struct window *window)
{
    return find_window(loop, span, window) && !pass_block_may_stop(loop->body) &&
           ir_block_walk(loop->body, may_be_copied, NULL);
}

static bool is_counted(const struct ir_stmt *loop)
{
    return loop->step == 1 && loop->low->kind == IR_INTEGER && loop->high->kind == IR_INTEGER &&
           loop->high->integer - loop->low->integer >= 1 && loop->high->integer - loop->low->integer <= MOST;
}

/* The block under one more condition, which goes into windows inside of it, so that all conditions are in one
 * place: before those that may load what it guards. */
static struct ir_stmt *guarded(struct pass *pass, struct ir_stmt *block, enum window_span span,
                               struct ir_expr *condition)
{
    struct ir_kernel *kernel = pass->kernel;
    struct ir_stmt *last = block;
    struct window window;
    while (last && last->kind == IR_LET && last->next && pass_is_pure(last->value))
        last = last->next;
    if (last && !last->next && last->kind == IR_FOR && (is_counted(last) || may_count(last, span, &window))) {
        last->body = guarded(pass, last->body, span, condition);
        return block;
    }
    if (block && !block->next && block->kind == IR_IF && !block->otherwise) {
        pass_set_value(block, ir_operation(kernel, OP_AND, condition, block->value, NULL));
        return block;
    }
    struct ir_stmt *choice = ir_stmt_new(kernel, IR_IF, condition->span);
    choice->body = block;
    pass_set_value(choice, condition);
    return choice;
}

/* What has a name may have it behind this. */
static struct ir_expr *write_out(struct pass *pass, struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL && expr->symbol->kind == IR_SYMBOL_LET)
        return write_out(pass, pass_copy(pass, expr->symbol->value));
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = write_out(pass, expr->operands[k]);
    return expr;
}

static struct ir_expr *count_of(struct pass *pass, const struct window *window)
{
    return write_out(pass, pass_sum(pass, &window->count));
}

static bool count_from_zero(struct pass *pass, struct ir_stmt *loop, enum window_span span)
{
    struct ir_kernel *kernel = pass->kernel;
    struct window window;
    if (!may_count(loop, span, &window))
        return false;
    struct ir_symbol *number = ir_symbol_new(kernel, IR_SYMBOL_LOOP, loop->symbol->name, AKG_INT64);
    number->label = loop->symbol->label;
    number->span = loop->symbol->span;
    struct ir_expr *place = ir_operation(kernel, OP_ADD, pass_copy(pass, window.lows.items[window.low]),
                                         ir_symbol_use(kernel, number), NULL);
    struct ir_expr *condition = ask(pass, &window.lows, window.low, OP_GE, place, NULL);
    condition = ask(pass, &window.highs, window.high, OP_LT, place, condition);
    loop->symbol->note = place;
    struct ir_stmt *body = pass_copy_block(pass, loop->body);
    loop->symbol->note = NULL;
    loop->symbol = number;
    loop->low = ir_integer(kernel, AKG_INT64, 0);
    loop->high = count_of(pass, &window);
    loop->body = condition ? guarded(pass, body, span, condition) : body;
    return true;
}

/* ---- tiles ------------------------------------------------------------------------------------------- */

struct tiles {
    const struct ir_stmt *loop;
    bool found;
};

/* A loop inside that goes from where the iteration is to the next one. */
static bool find_tile(struct ir_stmt *stmt, void *context)
{
    struct tiles *tiles = context;
    struct window window;
    tiles->found |= stmt->kind == IR_FOR && stmt->low->kind == IR_SYMBOL &&
                    stmt->low->symbol == tiles->loop->symbol && find_window(stmt, WINDOW_CONSTANT, &window) &&
                    window.highs.count > 1 && window.count.constant == tiles->loop->step;
    return !tiles->found;
}

static bool has_tiles(struct ir_stmt *loop)
{
    struct tiles tiles = {.loop = loop};
    if (loop->kind != IR_FOR || loop->step < 2 || loop->step > MOST || loop->hint)
        return false;
    ir_block_walk(loop->body, find_tile, &tiles);
    return tiles.found;
}

static bool stays_apart(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_STORE || !ir_expr_loads_from(stmt->value, stmt->access.buffer);
}

/* Tiles of what is accumulated are nests as they stand: conditions would come in their way. */
static bool has_tiles_of_sums(struct ir_stmt *loop)
{
    return has_tiles(loop) && !ir_block_walk(loop->body, stays_apart, NULL);
}

/* Tiles have numbers, `for t = 0 to (N + 7) // 8`, in the place of `for i = 0 to N step 8`: so that those
 * that are whole can be told from the last one (pass_partition.c). */
static bool count_tiles(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_kernel *kernel = pass->kernel;
    struct pass_ranges none = {.count = 0};
    if (!has_tiles(loop) || loop->low->kind != IR_INTEGER || loop->low->integer ||
        loop->high->kind == IR_INTEGER || pass_bits_of(&none, loop->high) > BITS ||
        pass_block_may_stop(loop->body) || !ir_block_walk(loop->body, may_be_copied, NULL))
        return false;
    struct ir_symbol *number = ir_symbol_new(kernel, IR_SYMBOL_LOOP, loop->symbol->name, AKG_INT64);
    struct ir_expr *step = ir_integer(kernel, AKG_INT64, loop->step);
    number->label = loop->symbol->label;
    number->span = loop->symbol->span;
    loop->symbol->note = ir_operation(kernel, OP_MUL, ir_symbol_use(kernel, number), step, NULL);
    loop->body = pass_copy_block(pass, loop->body);
    loop->symbol->note = NULL;
    loop->symbol = number;
    loop->high = ir_operation(
        kernel, OP_FLOORDIV,
        ir_operation(kernel, OP_ADD, loop->high, ir_integer(kernel, AKG_INT64, loop->step - 1), NULL), step,
        NULL);
    loop->step = 1;
    return true;
}

/* ---- windows ------------------------------------------------------------------------------------------ */

/* Loops inside last: the bounds of these are sums of what is known then. */
static bool count_in_block(struct pass *pass, struct ir_stmt *block, enum window_span span, int depth)
{
    bool changed = false;
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        if (has_tiles_of_sums(stmt))
            continue;
        changed |= count_tiles(pass, stmt);
        changed |= count_from_zero(pass, stmt, span);
        changed |= count_in_block(pass, stmt->body, span, depth + 1);
        changed |= count_in_block(pass, stmt->otherwise, span, depth + 1);
    }
    return changed;
}

static bool has_no_borders(const struct ir_stmt *loop)
{
    struct window window;
    return find_window(loop, WINDOW_CONSTANT, &window) && window.lows.count == 1 && window.highs.count == 1;
}

static bool count_plain_ones(struct pass *pass, struct ir_stmt *block, int depth)
{
    bool changed = false;
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        changed |= has_no_borders(stmt) && count_from_zero(pass, stmt, WINDOW_CONSTANT);
        changed |= count_plain_ones(pass, stmt->body, depth + 1);
        changed |= count_plain_ones(pass, stmt->otherwise, depth + 1);
    }
    return changed;
}

bool pass_count_windows(struct pass *pass, struct ir_stmt *block)
{
    return count_plain_ones(pass, block, 0);
}

/* ---- windows of as many places as the call says ----------------------------------------------------- */

/* The windows of a nest, and how many places each has. */
struct found {
    struct pass *pass;
    struct ir_expr *counts[WINDOWS];
    int count;
};

static bool find_in_nest(struct ir_stmt *stmt, void *context)
{
    struct found *found = context;
    struct window window;
    if (found->count < WINDOWS && !find_window(stmt, WINDOW_CONSTANT, &window) &&
        may_count(stmt, WINDOW_OF_CALL, &window))
        found->counts[found->count++] = count_of(found->pass, &window);
    return true;
}

/* In windows around each other less pays: the more places are tested for nothing. */
static struct ir_expr *are_few(const struct found *found)
{
    struct ir_kernel *kernel = found->pass->kernel;
    struct ir_expr *all = NULL;
    for (int k = 0; k < found->count; k++) {
        struct ir_expr *most = ir_integer(kernel, AKG_INT64, found->count > 1 ? MOST : ALONE);
        struct ir_expr *few = ir_operation(kernel, OP_LE, found->counts[k], most, NULL);
        all = all ? ir_operation(kernel, OP_AND, all, few, NULL) : few;
    }
    return all;
}

/* Two versions of the nest. */
static bool choose_few(struct pass *pass, struct ir_stmt **place)
{
    struct ir_stmt *nest = *place, *next = nest->next;
    struct found found = {.pass = pass};
    int left = STATEMENTS;
    if (nest->kind != IR_FOR || pass_block_may_stop(nest->body))
        return false;
    nest->next = NULL;
    if (ir_block_walk(nest, pass_can_be_copied, &left))
        ir_block_walk(nest->body, find_in_nest, &found);
    if (found.count) {
        struct ir_stmt *choice = ir_stmt_new(pass->kernel, IR_IF, nest->span);
        choice->value = are_few(&found);
        choice->body = pass_copy_block(pass, nest);
        choice->otherwise = nest;
        count_in_block(pass, choice->body, WINDOW_OF_CALL, 0);
        *place = choice;
    }
    (*place)->next = next;
    return found.count > 0;
}

static bool choose_in_block(struct pass *pass, struct ir_stmt **block, int *made, int depth)
{
    bool changed = false;
    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        if (*made < NESTS && choose_few(pass, place)) {
            changed = true;
            ++*made;
            continue;
        }
        changed |= choose_in_block(pass, &(*place)->body, made, depth + 1);
        changed |= choose_in_block(pass, &(*place)->otherwise, made, depth + 1);
    }
    return changed;
}

/* `i - K // 2` is a sum of what has a name. */
static bool name_ends(struct ir_stmt *stmt, void *names)
{
    if (stmt->kind == IR_FOR && stmt->low->kind != IR_INTEGER) {
        stmt->low = pass_give_names(names, stmt->low);
        stmt->high = pass_give_names(names, stmt->high);
    }
    return true;
}

bool pass_windows(struct pass *pass)
{
    struct pass_names names = {.pass = pass};
    int made = 0;
    bool counted = count_in_block(pass, pass->kernel->body, WINDOW_CONSTANT, 0);
    ir_block_walk(pass->kernel->body, name_ends, &names);
    bool chosen = choose_in_block(pass, &pass->kernel->body, &made, 0);
    pass_put_names(&names);
    return chosen || counted || names.changed;
}

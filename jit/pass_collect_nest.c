/*
 * pass_collect_nest.c: of a nest that scatters (pass_collect.c) the nests that collect, one for each
 * remainder of the places.
 *
 * Consumes the nest, with what its loops are: those that stay, that move the element, and pairs. A copy has
 * outside, in their order, the loops that move the element, and for each pair one over the places that both
 * reach; inside, likewise in their order, those that stay, and where the outer one of a pair stood, one over
 * the window. Sums in the iteration are written without what cancels out: the element is named by the loops
 * outside alone.
 */
#include "pass_collect.h"

/* Of conditions; NULL: it always holds. */
static struct ir_expr *both(const struct scatter *scatter, struct ir_expr *a, struct ir_expr *b)
{
    if (!a || !b)
        return a ? a : b;
    struct ir_expr *result = pass_combine(scatter->pass, OP_AND, a, b);
    result->span = scatter->store->span;
    return result;
}

bool collect_is_plain(const struct ir_symbol *symbol)
{
    return symbol->kind == IR_SYMBOL_LOOP || symbol->kind == IR_SYMBOL_DIM ||
           symbol->kind == IR_SYMBOL_ATTRIBUTE;
}

/* ---- sums ------------------------------------------------------------------------------------------- */

struct cancelling {
    struct pass_affine sum;
    bool cancels;
};

static bool look_for_missing(struct ir_expr *expr, void *context)
{
    struct cancelling *cancelling = context;

    cancelling->cancels |= expr->kind == IR_SYMBOL &&
                           (expr->symbol->kind == IR_SYMBOL_LOOP || expr->symbol->kind == IR_SYMBOL_LET) &&
                           pass_affine_coefficient(&cancelling->sum, expr->symbol) == 0;
    return true;
}

static bool is_last(const struct scatter *scatter, const struct ir_symbol *symbol)
{
    for (int k = 0; k < scatter->pair_count; k++)
        if (scatter->pairs[k].last == symbol)
            return true;
    return false;
}

static struct ir_expr *written_anew(const struct scatter *scatter, const struct pass_affine *sum)
{
    struct ir_expr *result = NULL;

    for (int k = 0; k < sum->count; k++) {
        struct ir_expr *term =
            pass_combine(scatter->pass, OP_MUL, pass_use(scatter->pass, sum->terms[k].symbol),
                         pass_number(scatter->pass, sum->terms[k].coefficient));
        result = result ? pass_combine(scatter->pass, OP_ADD, result, term) : term;
    }
    struct ir_expr *constant = pass_number(scatter->pass, sum->constant);
    return result ? pass_combine(scatter->pass, OP_ADD, result, constant) : constant;
}

/* Sums in which a loop's variable cancels out do without it, and names of sums are written out. */
static struct ir_expr *cancel(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct scatter *scatter = context;
    struct cancelling cancelling = {.cancels = false};
    bool is_sum = expr->dtype == AKG_INT64 && pass_affine_of(expr, &cancelling.sum);

    for (int k = 0; is_sum && k < cancelling.sum.count; k++)
        is_sum = collect_is_plain(cancelling.sum.terms[k].symbol) ||
                 is_last(scatter, cancelling.sum.terms[k].symbol);
    if (is_sum)
        ir_expr_walk(expr, look_for_missing, &cancelling);
    if (cancelling.cancels) {
        struct ir_expr *result = written_anew(scatter, &cancelling.sum);
        result->span = expr->span;
        return result;
    }
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        expr->access.indices[k] = cancel(pass, expr->access.indices[k], context);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = cancel(pass, expr->operands[k], context);
    return expr;
}

/* ---- a copy ----------------------------------------------------------------------------------------- */

/* A loop without a body, the variable of which stands for that of the other one. */
static struct ir_stmt *new_loop(const struct scatter *scatter, const struct ir_stmt *like,
                                struct ir_expr *low, struct ir_expr *high, int64_t step)
{
    struct ir_stmt *loop = ir_stmt_new(scatter->pass->kernel, IR_FOR, like->span);

    loop->symbol = ir_symbol_new(scatter->pass->kernel, IR_SYMBOL_LOOP, like->symbol->name, AKG_INT64);
    loop->symbol->label = like->symbol->label ? like->symbol->label : like->symbol->name;
    loop->symbol->span = like->symbol->span;
    loop->low = low;
    loop->high = high;
    loop->step = step;
    return loop;
}

static struct pair *pair_of(struct scatter *scatter, int loop)
{
    for (int k = 0; k < scatter->pair_count; k++)
        if (scatter->pairs[k].longer == loop || scatter->pairs[k].window == loop)
            return &scatter->pairs[k];
    return NULL;
}

/* Iterations of a window that is known that go to places of this copy. */
static int64_t count_of(const struct pair *pair)
{
    return (pair->count - pair->rest + pair->step - 1) / pair->step;
}

/* One less than these are. */
static struct ir_expr *last_of(const struct scatter *scatter, const struct pair *pair)
{
    return pair->last ? pass_use(scatter->pass, pair->last) : pass_number(scatter->pass, count_of(pair) - 1);
}

static struct ir_expr *iterations_of(const struct scatter *scatter, const struct ir_stmt *loop)
{
    struct pass *pass = scatter->pass;

    return pass_combine(pass, OP_SUB, pass_copy(pass, loop->high), pass_copy(pass, loop->low));
}

/* The name of that where it is not known, which stands for it while sums are written. */
static void name_last(const struct scatter *scatter, struct pair *pair)
{
    struct ir_expr *before =
        pass_combine(scatter->pass, OP_SUB, iterations_of(scatter, scatter->loops[pair->window]),
                     pass_number(scatter->pass, pair->rest + 1));

    pair->last = ir_symbol_new(scatter->pass->kernel, IR_SYMBOL_LET, "last", AKG_INT64);
    pair->last->value = pass_quotient(scatter->pass, pass_combine(scatter->pass, OP_FLOORDIV, before,
                                                                  pass_number(scatter->pass, pair->step)));
}

static struct ir_expr *put_lasts(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct scatter *scatter = context;

    if (expr->kind == IR_SYMBOL && is_last(scatter, expr->symbol))
        return pass_copy(pass, expr->symbol->value);
    for (int k = 0; expr->kind == IR_LOAD && k < expr->access.buffer->rank; k++)
        expr->access.indices[k] = put_lasts(pass, expr->access.indices[k], context);
    for (int k = 0; expr->kind == IR_OPERATION && k < expr->count; k++)
        expr->operands[k] = put_lasts(pass, expr->operands[k], context);
    return expr;
}

static bool put_lasts_into(struct ir_stmt *stmt, void *scatter)
{
    pass_rewrite(((struct scatter *)scatter)->pass, stmt, put_lasts, scatter);
    return true;
}

/* Over the same range, with a variable of its own. */
static struct ir_stmt *same_loop(struct scatter *scatter, const struct ir_stmt *old)
{
    struct ir_stmt *loop =
        new_loop(scatter, old, pass_copy(scatter->pass, old->low), pass_copy(scatter->pass, old->high), 1);
    old->symbol->note = pass_use(scatter->pass, loop->symbol);
    return loop;
}

/* Over what the element moves along. */
static struct ir_stmt *outer_loop(struct scatter *scatter, int loop)
{
    const struct ir_stmt *old = scatter->loops[loop];
    struct pair *pair = pair_of(scatter, loop);
    struct ir_stmt *new;

    if (!pair)
        return same_loop(scatter, old);
    new =
        new_loop(scatter, old, pass_number(scatter->pass, 0),
                 pass_combine(scatter->pass, OP_ADD, iterations_of(scatter, old), last_of(scatter, pair)), 1);
    pair->over = new;
    return new;
}

/* Over what goes to the element; NULL: one iteration, or the pair has its loop already. */
static struct ir_stmt *inner_loop(struct scatter *scatter, int loop)
{
    const struct ir_stmt *old = scatter->loops[loop];
    struct pair *pair = pair_of(scatter, loop);
    struct ir_stmt *new;

    if (!pair)
        return same_loop(scatter, old);
    if ((!pair->last && count_of(pair) == 1) || loop > pair->longer || loop > pair->window)
        return NULL;
    new = new_loop(scatter, scatter->loops[pair->window], pass_number(scatter->pass, 0),
                   pass_combine(scatter->pass, OP_ADD, last_of(scatter, pair), pass_number(scatter->pass, 1)),
                   1);
    pair->back = new->symbol;
    return new;
}

/* What the variables of the pair are; gives whether that is an iteration, NULL: it always is. */
static struct ir_expr *put_pair(struct scatter *scatter, struct pair *pair)
{
    struct ir_stmt *longer = scatter->loops[pair->longer], *window = scatter->loops[pair->window];
    struct ir_expr *at = pass_use(scatter->pass, pair->over->symbol), *back;
    bool is_turned = pair->longer < pair->window;
    int64_t first = pair->rest + window->low->integer;

    if (!pair->back) {
        longer->symbol->note = pass_combine(scatter->pass, OP_ADD, at, pass_copy(scatter->pass, longer->low));
        window->symbol->note = pass_number(scatter->pass, first);
        return NULL;
    }
    back = pass_use(scatter->pass, pair->back);
    if (is_turned) /* what is behind b up to the last one */
        back = pass_combine(scatter->pass, OP_SUB, last_of(scatter, pair), back);
    at = pass_combine(scatter->pass, OP_SUB, at, pass_copy(scatter->pass, back));
    longer->symbol->note = pass_combine(scatter->pass, OP_ADD, pass_copy(scatter->pass, at),
                                        pass_copy(scatter->pass, longer->low));
    back = pass_combine(scatter->pass, OP_MUL, back, pass_number(scatter->pass, pair->step));
    window->symbol->note = pass_combine(scatter->pass, OP_ADD, back, pass_number(scatter->pass, first));
    struct ir_expr *begins =
        pass_combine(scatter->pass, OP_GE, pass_copy(scatter->pass, at), pass_number(scatter->pass, 0));
    struct ir_expr *ends = pass_combine(scatter->pass, OP_LT, at, iterations_of(scatter, longer));
    begins->span = ends->span = scatter->store->span;
    return both(scatter, begins, ends);
}

static struct ir_stmt *under(const struct scatter *scatter, struct ir_expr *condition, struct ir_stmt *body)
{
    if (!condition || !body)
        return body;
    struct ir_stmt *choice = ir_stmt_new(scatter->pass->kernel, IR_IF, body->span);
    choice->value = condition;
    choice->body = body;
    return choice;
}

static struct ir_symbol *symbol_of(const struct ir_access *access, void *symbol)
{
    (void)access;
    return symbol;
}

/* The statements of an iteration, which change the scalar instead of the element. */
static struct ir_stmt *change(struct scatter *scatter, struct ir_symbol *symbol, struct ir_access *element)
{
    struct ir_stmt *copy = pass_copy_block(scatter->pass, scatter->names);
    struct pass_replacement replacement = {scatter->store->access.buffer, symbol_of, symbol};

    for (struct ir_stmt *stmt = copy; stmt; stmt = stmt->next) {
        pass_rewrite(scatter->pass, stmt, cancel, scatter);
        pass_replace_loads(scatter->pass, stmt, &replacement);
        if (stmt->kind != IR_STORE)
            continue;
        *element = stmt->access;
        stmt->kind = IR_ASSIGN;
        stmt->access = (struct ir_access){NULL, NULL, NULL, 0};
        stmt->symbol = symbol;
    }
    return copy;
}

/* ---- conditions on the place --------------------------------------------------------------------------- */

/* The loop over places whose variable alone of all loops the sum goes on with; NULL. */
static struct ir_stmt *place_in(const struct scatter *scatter, const struct pass_affine *sum)
{
    struct ir_stmt *loop = NULL;

    if (sum->constant > COLLECT_FACTOR || sum->constant < -COLLECT_FACTOR)
        return NULL;
    for (int k = 0; k < sum->count; k++) {
        const struct ir_symbol *symbol = sum->terms[k].symbol;
        if (sum->terms[k].coefficient > COLLECT_FACTOR || sum->terms[k].coefficient < -COLLECT_FACTOR)
            return NULL;
        if (symbol->kind == IR_SYMBOL_DIM)
            continue;
        for (int n = 0; n < scatter->pair_count; n++)
            if (!loop && scatter->pairs[n].over->symbol == symbol)
                loop = scatter->pairs[n].over;
        if (!loop || loop->symbol != symbol)
            return NULL;
    }
    return loop;
}

/* The greater of two sums, or the lesser one. */
static struct ir_expr *extreme(const struct scatter *scatter, enum operation operation, struct ir_expr *a,
                               struct ir_expr *b)
{
    struct pass_affine difference, other;

    if (!pass_affine_of(a, &difference) || !pass_affine_of(b, &other) ||
        !pass_affine_add(&difference, -1, &other) || difference.count)
        return pass_combine(scatter->pass, operation, a, b);
    return (difference.constant > 0) == (operation == OP_MAX) ? a : b;
}

/* The loop begins or ends where the sum is no longer below 0. */
static void put_bound(const struct scatter *scatter, struct ir_stmt *loop, struct pass_affine *sum)
{
    const struct pass_affine self = {.count = 1, .terms = {{loop->symbol, 1}}};
    struct pass_affine rest = {.count = 0};
    int64_t factor = pass_affine_coefficient(sum, loop->symbol), by = factor < 0 ? -factor : factor;

    pass_affine_add(sum, -factor, &self);
    pass_affine_add(&rest, factor < 0 ? 1 : -1, sum);
    rest.constant += factor < 0 ? 0 : by - 1;
    struct ir_expr *bound = written_anew(scatter, &rest);
    if (by > 1)
        bound = pass_quotient(
            scatter->pass, pass_combine(scatter->pass, OP_FLOORDIV, bound, pass_number(scatter->pass, by)));
    if (factor < 0)
        loop->high = extreme(scatter, OP_MIN, loop->high,
                             pass_combine(scatter->pass, OP_ADD, bound, pass_number(scatter->pass, 1)));
    else
        loop->low = extreme(scatter, OP_MAX, loop->low, bound);
}

static bool becomes_bound(const struct scatter *scatter, const struct ir_expr *expr, bool is_not)
{
    enum operation operation = expr->operation;
    struct pass_affine sum, other;

    if (operation != OP_LT && operation != OP_LE && operation != OP_GT && operation != OP_GE)
        return false;
    bool is_greater = (operation == OP_GT || operation == OP_GE) != is_not;
    bool is_strict = (operation == OP_GT || operation == OP_LT) != is_not;
    if (!pass_affine_of(expr->operands[!is_greater], &sum) ||
        !pass_affine_of(expr->operands[is_greater], &other) || !pass_affine_add(&sum, -1, &other))
        return false;
    sum.constant -= is_strict;
    struct ir_stmt *loop = place_in(scatter, &sum);
    if (loop)
        put_bound(scatter, loop, &sum);
    return loop != NULL;
}

/* What is left of the condition when loops over places begin and end where it asks for that; NULL: nothing.
 */
static struct ir_expr *put_bounds(const struct scatter *scatter, struct ir_expr *expr, bool is_not)
{
    if (expr->kind != IR_OPERATION)
        return expr;
    if (expr->operation == OP_NOT) {
        struct ir_expr *left = put_bounds(scatter, expr->operands[0], !is_not);
        expr->operands[0] = left ? left : expr->operands[0];
        return left ? expr : NULL;
    }
    if (expr->operation != (is_not ? OP_OR : OP_AND))
        return becomes_bound(scatter, expr, is_not) ? NULL : expr;
    struct ir_expr *a = put_bounds(scatter, expr->operands[0], is_not);
    struct ir_expr *b = put_bounds(scatter, expr->operands[1], is_not);
    if (!a || !b)
        return a ? a : b;
    expr->operands[0] = a;
    expr->operands[1] = b;
    return expr;
}

/* The conditions of the program, but for bounds; NULL: there are none. */
static struct ir_expr *conditions_of(struct scatter *scatter)
{
    struct ir_expr *all = NULL;

    for (int k = 0; k < scatter->condition_count; k++) {
        struct ir_expr *one = pass_copy(scatter->pass, scatter->conditions[k]);
        one = put_bounds(scatter, cancel(scatter->pass, one, scatter), false);
        all = both(scatter, all, one);
    }
    return all;
}

static struct ir_stmt **add_loop(struct ir_stmt **place, struct ir_stmt *loop)
{
    if (!loop)
        return place;
    *place = loop;
    return &loop->body;
}

/* What is done for one element. */
static struct ir_stmt *collect_element(struct scatter *scatter)
{
    struct pass *pass = scatter->pass;
    struct ir_stmt *depths = NULL, **place = &depths;
    struct ir_expr *condition = NULL;
    struct ir_access element;
    struct span span = scatter->store->span;

    for (int k = 0; k < scatter->depth; k++)
        if (scatter->parts[k] != MOVES)
            place = add_loop(place, inner_loop(scatter, k));
    for (int k = 0; k < scatter->pair_count; k++) {
        condition = both(scatter, condition, put_pair(scatter, &scatter->pairs[k]));
    }
    struct ir_buffer *buffer = scatter->store->access.buffer;
    struct ir_symbol *symbol = ir_symbol_new(pass->kernel, IR_SYMBOL_VARIABLE, buffer->name, buffer->dtype);
    *place = under(scatter, condition, change(scatter, symbol, &element));
    struct ir_stmt *first = ir_stmt_new(pass->kernel, IR_VARIABLE, span);
    first->symbol = symbol;
    pass_set_value(first, pass_load(pass, &element, span));
    struct ir_stmt *last = ir_stmt_new(pass->kernel, IR_STORE, span);
    last->access = element;
    pass_set_value(last, pass_use(pass, symbol));
    first->next = depths;
    while (depths->next)
        depths = depths->next;
    depths->next = last;
    return under(scatter, conditions_of(scatter), first);
}

/* The nest over places with the remainders that the pairs have. */
static struct ir_stmt *make_copy(struct scatter *scatter)
{
    struct ir_stmt *nest = NULL, **place = &nest;

    for (int k = 0; k < scatter->pair_count; k++) {
        struct pair *pair = &scatter->pairs[k];
        pair->back = NULL;
        pair->last = NULL;
        if (!pair->count)
            name_last(scatter, pair);
        else if (!count_of(pair))
            return NULL;
    }
    for (int k = 0; k < scatter->depth; k++)
        if (scatter->parts[k] == MOVES || scatter->parts[k] == LONG)
            place = add_loop(place, outer_loop(scatter, k));
    *place = collect_element(scatter);
    for (int k = 0; k < scatter->depth; k++)
        scatter->loops[k]->symbol->note = NULL;
    ir_block_walk(nest, put_lasts_into, scatter);
    return nest;
}

/* ---- all -------------------------------------------------------------------------------------------- */

/* The scalars and the store, which nothing stands around any more; the conditions do without the scalars. */
static void take_names(struct scatter *scatter)
{
    struct ir_stmt *stmt = scatter->loops[0]->body, **end = &scatter->names;

    while (stmt) {
        bool is_around = stmt->kind == IR_IF || stmt->kind == IR_FOR;
        struct ir_stmt *next = is_around ? stmt->body : stmt->next;
        if (!is_around) {
            *end = stmt;
            end = &stmt->next;
        }
        stmt = next;
    }
    *end = NULL;
    for (int k = 0; k < scatter->condition_count; k++)
        scatter->conditions[k] = cancel(scatter->pass, scatter->conditions[k], scatter);
}

static struct ir_expr *compared(const struct scatter *scatter, enum operation operation, struct ir_expr *a,
                                struct ir_expr *b)
{
    struct ir_expr *result = pass_combine(scatter->pass, operation, a, b);

    result->span = scatter->store->span;
    return result;
}

/* Whether the window of a pair before this one has as many iterations, and the step is the same. */
static bool is_like_one_before(const struct scatter *scatter, int number)
{
    const struct pair *pair = &scatter->pairs[number];
    const struct ir_stmt *window = scatter->loops[pair->window];

    for (int k = 0; k < number; k++) {
        const struct ir_stmt *other = scatter->loops[scatter->pairs[k].window];
        if (scatter->pairs[k].step == pair->step && ir_expr_equal(other->low, window->low) &&
            ir_expr_equal(other->high, window->high))
            return true;
    }
    return false;
}

/* Whether there is an iteration at all, and windows that are not known are not less than a step, and no
 * longer than pays; NULL: it is so. */
static struct ir_expr *is_right(const struct scatter *scatter)
{
    struct pass *pass = scatter->pass;
    struct ir_expr *all = NULL;

    for (int k = 0; k < scatter->depth; k++) {
        const struct ir_stmt *loop = scatter->loops[k];
        if (scatter->parts[k] == STAYS || scatter->parts[k] == LONG)
            all = both(scatter, all,
                       compared(scatter, OP_LT, pass_copy(pass, loop->low), pass_copy(pass, loop->high)));
    }
    for (int k = 0; k < scatter->pair_count; k++) {
        const struct pair *pair = &scatter->pairs[k];
        if (pair->count || is_like_one_before(scatter, k))
            continue;
        struct ir_expr *count = iterations_of(scatter, scatter->loops[pair->window]);
        all = both(scatter, all,
                   compared(scatter, OP_GE, pass_copy(pass, count), pass_number(pass, pair->step)));
        all = both(scatter, all,
                   compared(scatter, OP_LE, pass_copy(pass, count), pass_number(pass, COLLECT_WINDOW)));
        if (pair->step == 1) /* else it may be the other one that is the window */
            all = both(scatter, all,
                       compared(scatter, OP_LE, count, iterations_of(scatter, scatter->loops[pair->longer])));
    }
    return all;
}

/* What the nest was, for windows that turn out to be others; NULL: all are known. */
static struct ir_stmt *original(const struct scatter *scatter)
{
    bool are_known = true;

    for (int k = 0; k < scatter->pair_count; k++)
        are_known = are_known && scatter->pairs[k].count;
    return are_known ? NULL : pass_copy_block(scatter->pass, scatter->loops[0]);
}

struct ir_stmt *collect_nests(struct scatter *scatter)
{
    struct ir_stmt *nests = NULL, **end = &nests, *otherwise = original(scatter);
    int copies = 1;

    take_names(scatter);
    for (int k = 0; k < scatter->pair_count; k++)
        copies *= (int)scatter->pairs[k].step;
    for (int copy = 0; copy < copies; copy++) {
        int64_t rest = copy;
        for (int k = scatter->pair_count - 1; k >= 0; k--) {
            scatter->pairs[k].rest = rest % scatter->pairs[k].step;
            rest /= scatter->pairs[k].step;
        }
        *end = make_copy(scatter);
        if (*end)
            end = &(*end)->next;
    }
    struct ir_stmt *result = under(scatter, is_right(scatter), nests);
    if (otherwise) {
        result->otherwise = otherwise;
        result->deferred = true;
    }
    return result;
}

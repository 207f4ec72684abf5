/*
 * pass_partition_place.c: where the answers to conditions on a loop's variable change, and what is known of
 * them between two such places.
 *
 * Consumes comparisons, min, max and remainders of sums (pass_affine) of the loop's variable and what is the
 * same in all its iterations; for == and remainders, the variable's factor is 1 or -1. Of less with a factor,
 * 2 * j + s < W, the place is a quotient, (W - s) / 2 rounded up. Sums of dims and of variables of loops that
 * begin near 0, and of attributes that are small, are far from the ends of int64, and are compared as
 * integers; what holds other attributes or values out of memory may be anything, and is only known to be
 * equal to itself. Nothing is changed here.
 */
#include "pass_partition.h"

enum { BOUNDS = 4 /* of an end of a loop */ };

/* Of terms of sums that are far from the ends of int64. */
static const int64_t largest_factor = 1 << 20, largest_constant = (int64_t)1 << 40;

/* ---- comparing places --------------------------------------------------------------------------- */

static int loop_of(const struct partition *partition, const struct ir_symbol *symbol)
{
    for (int k = partition->count - 1; k >= 0; k--)
        if (partition->loops[k]->symbol == symbol)
            return k;
    return -1;
}

/* The dividend of a quotient by a positive constant, NULL being none. */
static bool divided(const struct ir_expr *value, struct pass_affine *dividend)
{
    return value && value->kind == IR_OPERATION && value->operation == OP_FLOORDIV &&
           value->operands[1]->kind == IR_INTEGER && value->operands[1]->integer > 0 &&
           pass_affine_of(value->operands[0], dividend);
}

/* The one that the scalar stands for. */
static bool is_quotient(const struct ir_symbol *symbol, struct pass_affine *dividend)
{
    return divided(symbol->kind == IR_SYMBOL_LET ? symbol->value : NULL, dividend);
}

static bool is_near_symbol(const struct partition *partition, const struct ir_symbol *symbol)
{
    int loop = symbol->kind == IR_SYMBOL_LOOP ? loop_of(partition, symbol) : -1;

    return symbol->kind == IR_SYMBOL_DIM || symbol->known.bits > 0 ||
           (loop >= 0 && partition->near_zero[loop]);
}

bool partition_is_near(const struct partition *partition, const struct pass_affine *sum)
{
    if (sum->constant > largest_constant || sum->constant < -largest_constant)
        return false;
    for (int k = 0; k < sum->count; k++) {
        struct pass_affine dividend;
        bool is_near = is_near_symbol(partition, sum->terms[k].symbol) ||
                       (is_quotient(sum->terms[k].symbol, &dividend) && dividend.count == 1 &&
                        is_near_symbol(partition, dividend.terms[0].symbol));
        if (!is_near || sum->terms[k].coefficient > largest_factor ||
            sum->terms[k].coefficient < -largest_factor)
            return false;
    }
    return true;
}

/* Replaces a loop's variable by the end of its range at which the sum is least. */
static bool put_least(const struct ir_stmt *loop, int64_t factor, struct pass_affine *sum)
{
    struct pass_affine self = {.count = 1, .terms = {{loop->symbol, 1}}}, end;
    const struct ir_expr *bound = factor > 0 ? loop->low : loop->high;

    if (!pass_affine_of(bound, &end))
        return false;
    if (factor < 0 && __builtin_sub_overflow(end.constant, 1, &end.constant))
        return false;
    return pass_affine_add(sum, -factor, &self) && pass_affine_add(sum, factor, &end);
}

/* What the dims in the sum are at least goes into its constant. */
static bool put_least_dim(const struct partition *partition, struct pass_affine *sum)
{
    for (int k = 0; k < sum->count; k++)
        if (sum->terms[k].symbol->kind == IR_SYMBOL_DIM && sum->terms[k].coefficient > 0)
            sum->constant += sum->terms[k].coefficient * partition->least[sum->terms[k].symbol->index];
        else
            return false;
    return true;
}

/* A quotient q of what is never negative, a // d, is between that and 0, and d * q is no more than a. */
static bool put_least_quotient(const struct ir_symbol *symbol, int64_t factor, struct pass_affine *sum)
{
    struct pass_affine self = {.count = 1, .terms = {{symbol, 1}}}, dividend;

    if (!is_quotient(symbol, &dividend) || dividend.count != 1 || dividend.constant < 0 ||
        dividend.terms[0].coefficient <= 0 || dividend.terms[0].symbol->kind != IR_SYMBOL_DIM ||
        !pass_affine_add(sum, -factor, &self))
        return false;
    int64_t divisor = symbol->value->operands[1]->integer;
    return factor > 0 || pass_affine_add(sum, factor % divisor == 0 ? factor / divisor : factor, &dividend);
}

/* Whether the sum of near terms is never negative. */
static bool is_natural(const struct partition *partition, struct pass_affine sum)
{
    for (int turn = 0; turn <= PARTITION_LOOPS && partition_is_near(partition, &sum); turn++) {
        int k = 0;
        while (k < sum.count && sum.terms[k].symbol->kind == IR_SYMBOL_DIM)
            k++;
        if (k == sum.count)
            return put_least_dim(partition, &sum) && sum.constant >= 0;
        const struct ir_symbol *symbol = sum.terms[k].symbol;
        int64_t factor = sum.terms[k].coefficient;
        int loop = loop_of(partition, symbol);
        if (loop >= 0 ? !put_least(partition->loops[loop], factor, &sum)
                      : !put_least_quotient(symbol, factor, &sum))
            return false;
    }
    return false;
}

/* A loop of low to low + dim + constant has an iteration where the dim is at least 1 - constant; gives what
 * it was before, for the end of the loop. */
int64_t partition_note_least(struct partition *partition, const struct ir_stmt *loop, int *dim)
{
    struct pass_affine low, range;
    int64_t before, least;

    *dim = -1;
    if (loop->step <= 0 || !pass_affine_of(loop->low, &low) || !pass_affine_of(loop->high, &range) ||
        !pass_affine_add(&range, -1, &low) || range.count != 1 || range.terms[0].coefficient != 1 ||
        range.terms[0].symbol->kind != IR_SYMBOL_DIM || !partition_is_near(partition, &range))
        return 0;
    *dim = range.terms[0].symbol->index;
    before = partition->least[*dim];
    least = 1 - range.constant;
    if (least > before && least < largest_factor)
        partition->least[*dim] = least;
    return before;
}

void partition_forget_least(struct partition *partition, int dim, int64_t before)
{
    if (dim >= 0)
        partition->least[dim] = before;
}

/* A sum all of whose terms the divisor divides is a whole place. */
static void reduce(struct place *place)
{
    int64_t divisor = place->divisor, rest = place->at.constant % divisor;

    for (int k = 0; k < place->at.count; k++)
        if (place->at.terms[k].coefficient % divisor != 0)
            return;
    for (int k = 0; k < place->at.count; k++)
        place->at.terms[k].coefficient /= divisor;
    place->at.constant = place->at.constant / divisor + (rest > 0);
    place->divisor = 1;
}

/* Takes a number that is added to a quotient out of the value. */
static int64_t take_number(const struct ir_expr **value)
{
    const struct ir_expr *sum = *value;

    if (!sum || sum->kind != IR_OPERATION || (sum->operation != OP_ADD && sum->operation != OP_SUB) ||
        sum->operands[1]->kind != IR_INTEGER || sum->operands[1]->integer > largest_factor ||
        sum->operands[1]->integer < -largest_factor)
        return 0;
    *value = sum->operands[0];
    return sum->operation == OP_ADD ? sum->operands[1]->integer : -sum->operands[1]->integer;
}

/* a // d is (a - d + 1) / d rounded up. */
bool partition_bound(const struct partition *partition, const struct ir_expr *bound, struct place *place)
{
    const struct ir_expr *value = bound;

    if (bound->kind == IR_SYMBOL && bound->symbol->kind == IR_SYMBOL_LET)
        value = bound->symbol->value;
    int64_t number = take_number(&value);
    *place = (struct place){.divisor = 1};
    if (divided(value, &place->at) && value->operands[1]->integer <= largest_factor &&
        partition_is_near(partition, &place->at)) {
        place->divisor = value->operands[1]->integer;
        place->at.constant += (number - 1) * place->divisor + 1;
        reduce(place);
        return true;
    }
    if (!pass_affine_of(bound, &place->at))
        return false;
    place->is_far = !partition_is_near(partition, &place->at);
    return true;
}

bool partition_end(const struct partition *partition, const struct ir_stmt *loop, struct place *place)
{
    const struct ir_expr *end = loop->high;

    if (end->kind == IR_SYMBOL && end->symbol->kind == IR_SYMBOL_LET && end->symbol->value)
        end = end->symbol->value;
    for (int k = 0; k < 2 && end->kind == IR_OPERATION && end->operation == OP_MAX; k++)
        if (loop->low->kind == IR_INTEGER && ir_expr_equal(end->operands[k], loop->low))
            return partition_bound(partition, end->operands[1 - k], place);
    return partition_bound(partition, loop->high, place);
}

bool partition_are_equal(const struct place *a, const struct place *b)
{
    struct pass_affine difference = a->at;

    return a->divisor == b->divisor && a->is_far == b->is_far && a->is_after == b->is_after &&
           pass_affine_add(&difference, -1, &b->at) && difference.count == 0 && difference.constant == 0;
}

/* Wherever they are, b is one more than a. */
static bool is_next(const struct place *a, const struct place *b)
{
    struct pass_affine difference = b->at;

    return a->is_far && b->is_after && !a->is_after && pass_affine_add(&difference, -1, &a->at) &&
           difference.count == 0 && difference.constant == 1;
}

bool partition_distance(const struct place *a, const struct place *b, struct pass_affine *distance)
{
    bool same = a->divisor == b->divisor;

    *distance = (struct pass_affine){.count = 0};
    return pass_affine_add(distance, same ? 1 : a->divisor, &b->at) &&
           pass_affine_add(distance, same ? -1 : -b->divisor, &a->at);
}

/* Of two divisors, of which one is 1: a / m <= b, both rounded up, where a <= m * b; and a <= b / n where
 * n * a <= b + n - 1. */
bool partition_is_at_most(const struct partition *partition, const struct place *a, const struct place *b)
{
    struct pass_affine difference;

    if (partition_are_equal(a, b) || is_next(a, b))
        return true;
    if (a->is_far || b->is_far || !partition_distance(a, b, &difference) ||
        (a->divisor != b->divisor && a->divisor > 1 && b->divisor > 1))
        return false;
    if (a->divisor == 1)
        difference.constant += b->divisor - 1;
    return is_natural(partition, difference);
}

bool partition_is_short(const struct place *a, const struct place *b)
{
    struct pass_affine difference;

    return !a->is_far && !b->is_far && a->divisor == b->divisor && partition_distance(a, b, &difference) &&
           difference.count == 0 && difference.constant < PARTITION_SHORT * a->divisor;
}

/* ---- loops of few iterations ------------------------------------------------------------------------- */

struct bounds {
    struct place items[BOUNDS];
    int count;
};

/* What an end is not above (`operation` min) or below (max). */
static void find_bounds(const struct partition *partition, const struct ir_expr *end,
                        enum operation operation, struct bounds *bounds, int depth)
{
    if (end->kind == IR_SYMBOL && end->symbol->kind == IR_SYMBOL_LET && end->symbol->value)
        end = end->symbol->value;
    if (end->kind == IR_OPERATION && end->operation == operation && depth < BOUNDS) {
        find_bounds(partition, end->operands[0], operation, bounds, depth + 1);
        find_bounds(partition, end->operands[1], operation, bounds, depth + 1);
    } else if (bounds->count < BOUNDS && partition_bound(partition, end, &bounds->items[bounds->count])) {
        bounds->count++;
    }
}

/* Parts of other loops among them. */
bool partition_has_few_iterations(const struct partition *partition, const struct ir_stmt *loop)
{
    struct bounds least = {.count = 0}, most = {.count = 0};

    find_bounds(partition, loop->low, OP_MAX, &least, 0);
    find_bounds(partition, loop->high, OP_MIN, &most, 0);
    for (int k = 0; k < most.count * least.count; k++) {
        const struct place *high = &most.items[k / least.count], *low = &least.items[k % least.count];
        struct pass_affine distance;
        if (partition_distance(low, high, &distance) && distance.count == 0 &&
            (low->divisor == high->divisor || low->divisor == 1 || high->divisor == 1) &&
            distance.constant <= PARTITION_FEW * (low->divisor > high->divisor ? low : high)->divisor)
            return true;
    }
    return false;
}

struct ir_expr *partition_expr(struct pass *pass, const struct place *place)
{
    struct ir_kernel *kernel = pass->kernel;
    struct ir_expr *sum = pass_sum(pass, &place->at);

    if (place->divisor == 1)
        return sum;
    sum = ir_operation(kernel, OP_ADD, sum, ir_integer(kernel, AKG_INT64, place->divisor - 1), NULL);
    return ir_operation(kernel, OP_FLOORDIV, sum, ir_integer(kernel, AKG_INT64, place->divisor), NULL);
}

/* A place, or the least or greatest of several. */
static bool is_near_bound(const struct partition *partition, const struct ir_expr *bound, int depth)
{
    struct place place;

    if (bound->kind == IR_SYMBOL && bound->symbol->kind == IR_SYMBOL_LET && bound->symbol->value)
        bound = bound->symbol->value;
    if (bound->kind == IR_OPERATION && (bound->operation == OP_MIN || bound->operation == OP_MAX))
        return depth < BOUNDS && is_near_bound(partition, bound->operands[0], depth + 1) &&
               is_near_bound(partition, bound->operands[1], depth + 1);
    return partition_bound(partition, bound, &place) && !place.is_far;
}

void partition_know(struct partition *partition, const struct ir_stmt *loop)
{
    partition->loops[partition->count] = loop;
    partition->near_zero[partition->count] = loop->step > 0 && is_near_bound(partition, loop->low, 0);
    partition->count++;
}

/* ---- what a comparison asks ---------------------------------------------------------------------- */

static bool is_varying(const struct pass_affine *sum)
{
    for (int k = 0; k < sum->count; k++) {
        const struct ir_symbol *symbol = sum->terms[k].symbol;
        if (symbol->kind != IR_SYMBOL_DIM && symbol->kind != IR_SYMBOL_ATTRIBUTE &&
            !(symbol->kind == IR_SYMBOL_LET && symbol->value && pass_is_of_call(symbol->value)))
            return true;
    }
    return false;
}

/* The variable by itself. */
static bool is_bare(const struct pass_affine *sum, const struct ir_symbol *variable)
{
    return sum->count == 1 && sum->constant == 0 && sum->terms[0].symbol == variable &&
           sum->terms[0].coefficient == 1;
}

/* Where `left - right`, of which the variable is a term, goes through zero. */
static bool zero_of(const struct cutter *cutter, const struct pass_affine *left,
                    const struct pass_affine *right, int64_t *sign, struct place *zero)
{
    struct pass_affine sum = *left, none = {.count = 0};
    struct pass_affine self = {.count = 1, .terms = {{cutter->variable, 1}}};

    if (!pass_affine_add(&sum, -1, right))
        return false;
    int64_t factor = pass_affine_coefficient(&sum, cutter->variable);
    *sign = factor > 0 ? 1 : -1;
    if (factor == 0 || factor > largest_factor || factor < -largest_factor ||
        !pass_affine_add(&sum, -factor, &self) || !pass_affine_add(&none, -*sign, &sum))
        return false;
    *zero = (struct place){.at = none,
                           .divisor = factor * *sign,
                           .is_far = !partition_is_near(cutter->partition, &none),
                           .differs = is_varying(&none)};
    return zero->divisor == 1 || !zero->is_far;
}

static struct place after(const struct place *place)
{
    struct place next = *place;

    next.at.constant = (int64_t)((uint64_t)next.at.constant + 1);
    next.is_after = next.is_far;
    return next;
}

/* The variable by itself beside what is the same always: whatever that is, the program compares just these.
 */
static bool is_plain(const struct cutter *cutter, const struct pass_affine *side,
                     const struct pass_affine *other)
{
    return is_bare(side, cutter->variable) && pass_affine_coefficient(other, cutter->variable) == 0;
}

/* Whether the program computes the sum without overflow in the iterations that can be come to: a loop begins
 * near 0, unless it goes down from what may be anything. */
static bool is_exact(const struct cutter *cutter, struct pass_affine side)
{
    struct pass_affine self = {.count = 1, .terms = {{cutter->variable, 1}}};
    int64_t factor = pass_affine_coefficient(&side, cutter->variable);

    return (factor == 0 || !cutter->is_downward || !cutter->high.is_far) &&
           pass_affine_add(&side, -factor, &self) && partition_is_near(cutter->partition, &side);
}

/* left < right: it holds before or after one place. */
static bool ask_less(const struct cutter *cutter, const struct pass_affine *left,
                     const struct pass_affine *right, bool is_not, struct question *question)
{
    int64_t sign;
    struct place zero;

    if (!zero_of(cutter, left, right, &sign, &zero) ||
        (!is_plain(cutter, left, right) && !is_plain(cutter, right, left) &&
         !(is_exact(cutter, *left) && is_exact(cutter, *right))))
        return false;
    *question = (struct question){
        .kind = QUESTION_SIDE, .from = sign > 0 ? zero : after(&zero), .is_not = is_not != (sign > 0)};
    reduce(&question->from);
    return true;
}

static bool ask_equal(const struct cutter *cutter, const struct pass_affine *left,
                      const struct pass_affine *right, bool is_not, struct question *question)
{
    int64_t sign;

    *question = (struct question){.kind = QUESTION_EQUAL, .is_not = is_not};
    return zero_of(cutter, left, right, &sign, &question->from) && !question->from.is_far &&
           question->from.divisor == 1;
}

/* Whether the range may have more multiples of the number in it than a few, by which cuts would leave most of
 * it as it is. */
static bool has_many(const struct cutter *cutter, const struct pass_affine *number)
{
    enum { FEW = 3 };
    struct pass_affine length = cutter->high.at;

    if (number->count)
        return false; /* an extent, or what the call gives: mostly that of the range */
    return cutter->high.is_far || cutter->low.is_far || !pass_affine_add(&length, -1, &cutter->low.at) ||
           length.count || length.constant > FEW * number->constant;
}

/* a % b. Where `a` is v - s, and s is so far from 0 that multiples of b beside it would overflow, all of the
 * range lies on one side of them. */
static bool ask_remainder(const struct cutter *cutter, const struct pass_affine *a,
                          const struct pass_affine *b, struct question *question)
{
    struct pass_affine none = {.count = 0};

    *question = (struct question){.kind = QUESTION_REMAINDER, .divisor = *b};
    if (pass_affine_coefficient(b, cutter->variable) != 0 || has_many(cutter, b))
        return false;
    return zero_of(cutter, a, &none, &question->sign, &question->from) && question->from.divisor == 1 &&
           !question->from.is_far && partition_is_near(cutter->partition, b); /* multiples do not wrap */
}

/* The sum that an operand is; of two that it is one of, the one that moves with the loop. */
static bool operand_of(const struct cutter *cutter, const struct ir_expr *expr, struct pass_affine *sum)
{
    bool is_one_of_two =
        expr->kind == IR_OPERATION && (expr->operation == OP_MIN || expr->operation == OP_MAX);

    if (!cutter->looks_ahead || !is_one_of_two)
        return pass_affine_of(expr, sum);
    for (int k = 0; k < 2; k++)
        if (operand_of(cutter, expr->operands[k], sum) && pass_affine_coefficient(sum, cutter->variable) != 0)
            return true;
    return false;
}

bool partition_ask(const struct cutter *cutter, const struct ir_expr *expr, struct question *question)
{
    struct pass_affine a, b;
    bool is_left;

    if (expr->count != 2 || expr->operands[0]->dtype != AKG_INT64 ||
        !operand_of(cutter, expr->operands[0], &a) || !operand_of(cutter, expr->operands[1], &b))
        return false;
    is_left = pass_affine_coefficient(&a, cutter->variable) != 0;
    switch (expr->operation) {
    case OP_LT:
        return ask_less(cutter, &a, &b, false, question);
    case OP_GT:
        return ask_less(cutter, &b, &a, false, question);
    case OP_GE:
        return ask_less(cutter, &a, &b, true, question);
    case OP_LE:
        return ask_less(cutter, &b, &a, true, question);
    case OP_EQ:
    case OP_NE:
        return ask_equal(cutter, &a, &b, expr->operation == OP_NE, question);
    case OP_MIN: /* of equal ones, the one that moves with the loop */
        return is_left ? ask_less(cutter, &b, &a, true, question) : ask_less(cutter, &a, &b, false, question);
    case OP_MAX:
        return is_left ? ask_less(cutter, &a, &b, true, question) : ask_less(cutter, &b, &a, false, question);
    case OP_MOD:
        return ask_remainder(cutter, &a, &b, question);
    default:
        return false;
    }
}

bool partition_place_of(const struct question *question, int k, struct place *place)
{
    *place = question->from;
    switch (question->kind) {
    case QUESTION_SIDE:
        return k == 0;
    case QUESTION_EQUAL:
        if (k == 1)
            *place = after(place);
        return k < 2;
    default:
        /* At multiples -1 to 2 of the divisor. */
        if (k > 3 || !pass_affine_add(&place->at, question->sign * (k - 1), &question->divisor))
            return false;
        if (question->sign < 0)
            *place = after(place);
        place->differs |= is_varying(&question->divisor);
        return true;
    }
}

bool partition_end_of(const struct partition *partition, bool last, struct place *place)
{
    struct pass_affine sum = {.count = 0};

    if (place->is_far || !pass_affine_add(&sum, last ? -1 : 1, &place->at))
        return false;
    for (int k = 0; k < sum.count;) {
        int loop = sum.terms[k].symbol->note ? loop_of(partition, sum.terms[k].symbol) : -1;
        if (loop < 0)
            k++;
        else if (!put_least(partition->loops[loop], sum.terms[k].coefficient, &sum))
            return false;
        else
            k = 0;
    }
    place->at = (struct pass_affine){.count = 0};
    if (!pass_affine_add(&place->at, last ? -1 : 1, &sum))
        return false;
    place->is_far = !partition_is_near(partition, &place->at);
    place->differs = is_varying(&place->at);
    reduce(place);
    return !place->is_far;
}

/* ---- what is known in a part ------------------------------------------------------------------------ */

static bool is_from(const struct cutter *cutter, const struct place *place)
{
    bool known = partition_is_at_most(cutter->partition, place, &cutter->low);

    for (int k = 0; k < cutter->part && !known; k++)
        known = partition_is_at_most(cutter->partition, place, &cutter->cuts[k]);
    return known;
}

static bool is_before(const struct cutter *cutter, const struct place *place)
{
    return partition_is_at_most(cutter->partition, &cutter->high, place) ||
           (cutter->part < cutter->count &&
            partition_is_at_most(cutter->partition, &cutter->cuts[cutter->part], place));
}

/* The remainder of an expression that is below the divisor by the multiple k and not negative then. */
static bool is_multiple(const struct cutter *cutter, const struct question *question, int k)
{
    struct place first, last;

    return partition_place_of(question, question->sign > 0 ? k + 1 : k + 2, &first) &&
           partition_place_of(question, question->sign > 0 ? k + 2 : k + 1, &last) &&
           is_from(cutter, &first) && is_before(cutter, &last);
}

bool partition_is_answered(const struct cutter *cutter, const struct question *question, int *answer)
{
    struct place end;

    switch (question->kind) {
    case QUESTION_SIDE:
        *answer = is_from(cutter, &question->from);
        return *answer || is_before(cutter, &question->from);
    case QUESTION_EQUAL:
        end = after(&question->from);
        *answer = 0;
        if (is_before(cutter, &question->from) || is_from(cutter, &end))
            return true;
        *answer = 1;
        return is_from(cutter, &question->from) && is_before(cutter, &end);
    default:
        for (*answer = -1; *answer <= 1; ++*answer)
            if (is_multiple(cutter, question, *answer))
                return true;
        return false;
    }
}

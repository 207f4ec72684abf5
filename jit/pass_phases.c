/*
 * pass_phases.c: loops of which a congruence leaves out most iterations go through the others alone.
 *
 *     for i in 0, N: for p in 0, K: if (i - p) % 2 == 0: ... x[(i - p) // 2]
 *
 * becomes, where the iterations over i may run in any order, one nest for each remainder of i:
 *
 *     for a in 0, (N + 1) // 2: for b in 0, (K + 1) // 2: ... x[a - b]             i = 2 a,     p = 2 b
 *     for a in 0, N // 2: for b in 0, K // 2: ... x[a - b]                         i = 2 a + 1, p = 2 b + 1
 *
 * so that a transposed convolution, which asks such a thing of each axis, is as many convolutions as the step
 * has phases. Where these would be too many, the remainder is a loop of its own:
 *
 *     for r in 0, 9: for a in 0, (N + 8 - r) // 9: for b in 0, (K + 8 - r) // 9: ... x[a - b]   i = 9 a + r
 *
 * Thin loops of what may not be parted step from the first iteration on that fulfils the congruence. Consumes
 * loops of step 1 from a constant on, in which nothing may stop, for messages tell their variables: a *thin*
 * loop holds nothing but an if with that condition, perhaps in further loops and ifs. The order of its
 * iterations stays. A sum is taken apart only where ranges say that it stays far inside of int64. Loops
 * around are parted only where all that the congruence hangs on is a multiple of the divisor then, or a
 * remainder.
 */
#include "pass.h"

enum {
    MOST_DIVISOR = 4,  /* of loops that are copied for each remainder, */
    MOST_COUNTED = 64, /* and of those that go through them in a loop: few iterations would be left of each */
    NESTED = 16,
    REMAINDERS = 16,  /* loops over them */
    STATEMENTS = 120, /* of all copies of a nest, */
    MOST = 240,       /* and what all of a kernel have more than it had */
    COPIES = 4,
    DEEPEST = 100,
    FACTOR = 1 << 20,
    BITS = 60 /* of what is computed with */
};

struct phases {
    struct pass *pass;
    struct pass_ranges around; /* of the loops around what is looked at */
    int left;                  /* statements */
    struct {
        const struct ir_symbol *symbol; /* of a loop over them */
        int64_t divisor;
    } remainders[REMAINDERS];
    int remainder_count;
    bool changed;
};

/* `sum % divisor == rest` */
struct congruence {
    const struct ir_expr *expr; /* the comparison */
    const struct ir_expr *dividend;
    struct ir_stmt *choice; /* the if that asks it */
    struct pass_affine sum;
    int64_t divisor, rest;
};

/* ---- congruences ---------------------------------------------------------------------------------- */

static bool is_remainder(const struct ir_expr *expr)
{
    return expr->kind == IR_OPERATION && expr->operation == OP_MOD && expr->dtype == AKG_INT64 &&
           expr->operands[1]->kind == IR_INTEGER && expr->operands[1]->integer >= 2 &&
           expr->operands[1]->integer <= FACTOR;
}

/* `is_not`: whether the opposite holds where the if is entered. */
static bool read_congruence(const struct ir_expr *expr, bool is_not, struct congruence *congruence)
{
    if (expr->kind != IR_OPERATION || (expr->operation != OP_EQ && expr->operation != OP_NE))
        return false;
    bool is_equal = (expr->operation == OP_EQ) != is_not, is_second = is_remainder(expr->operands[1]);
    const struct ir_expr *remainder = expr->operands[is_second], *rest = expr->operands[!is_second];
    if (!is_remainder(remainder) || rest->kind != IR_INTEGER ||
        !pass_affine_of(remainder->operands[0], &congruence->sum))
        return false;
    congruence->expr = expr;
    congruence->dividend = remainder->operands[0];
    congruence->divisor = remainder->operands[1]->integer;
    congruence->rest = is_equal ? rest->integer : 1 - rest->integer;
    return (is_equal || congruence->divisor == 2) && congruence->rest >= 0 &&
           congruence->rest < congruence->divisor;
}

static bool are_coprime(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a == 1 || a == -1;
}

struct search {
    const struct phases *phases;
    const struct ir_stmt *loop;
    struct ir_stmt *choice; /* in it, and in loops that are not known */
    int skipped;            /* that are not the one that is looked for */
    struct congruence found;
};

/* Whether it holds for one of as many iterations of the loop as the divisor says, and what it hangs on
 * besides is known outside of the loops inside. */
static bool is_found(const struct search *search)
{
    const struct congruence *found = &search->found;

    return pass_bits_of(&search->phases->around, found->dividend) <= BITS &&
           are_coprime(pass_affine_coefficient(&found->sum, search->loop->symbol), found->divisor);
}

static bool find_among(struct search *search, const struct ir_expr *expr, bool is_not)
{
    if (expr->kind != IR_OPERATION)
        return false;
    if (expr->operation == OP_NOT)
        return find_among(search, expr->operands[0], !is_not);
    if (expr->operation == (is_not ? OP_OR : OP_AND))
        return find_among(search, expr->operands[0], is_not) || find_among(search, expr->operands[1], is_not);
    search->found.choice = search->choice;
    return read_congruence(expr, is_not, &search->found) && is_found(search) && search->skipped-- == 0;
}

/* The only statement of a block but for scalars before it; NULL: there are others. */
static struct ir_stmt *only_statement(struct ir_stmt *block)
{
    while (block && block->kind == IR_LET)
        block = block->next;
    return block && !block->next ? block : NULL;
}

static bool may_be_counted(const struct ir_stmt *loop)
{
    return loop->kind == IR_FOR && loop->step == 1 && !loop->hint && loop->low->kind == IR_INTEGER &&
           loop->low->integer <= FACTOR && loop->low->integer >= -FACTOR;
}

/* Whether the loop is thin: what it holds stands under a congruence that its variable decides. Finds the one
 * behind `skipped` others. */
static bool find_congruence(struct phases *phases, const struct ir_stmt *loop, int skipped,
                            struct congruence *found)
{
    struct search search = {.phases = phases, .loop = loop, .skipped = skipped};
    bool is_found = false;

    if (!may_be_counted(loop) || !pass_is_pure(loop->high) ||
        pass_bits_of(&phases->around, loop->high) > BITS || !pass_ranges_know(&phases->around, loop))
        return false;
    for (struct ir_stmt *stmt = loop->body; (stmt = only_statement(stmt)) && !is_found; stmt = stmt->body) {
        if (stmt->kind != IR_FOR && (stmt->kind != IR_IF || stmt->otherwise))
            break;
        search.choice = stmt;
        is_found = stmt->kind == IR_IF && find_among(&search, stmt->value, false);
    }
    phases->around.count--;
    if (is_found)
        *found = search.found;
    return is_found;
}

/* ---- another variable ----------------------------------------------------------------------------- */

/* The terms with coefficients above 0, divided by `by`, or the others with the opposite sign. */
static struct ir_expr *side_of(struct phases *phases, const struct pass_affine *sum, bool is_above,
                               int64_t by)
{
    int64_t sign = is_above ? 1 : -1;
    struct ir_expr *result = NULL;

    for (int k = 0; k < sum->count; k++) {
        int64_t factor = sign * (sum->terms[k].coefficient / by);
        if (factor <= 0)
            continue;
        struct ir_expr *term = ir_symbol_use(phases->pass->kernel, (struct ir_symbol *)sum->terms[k].symbol);
        term =
            factor == 1 ? term : pass_combine(phases->pass, OP_MUL, term, pass_number(phases->pass, factor));
        result = result ? pass_combine(phases->pass, OP_ADD, result, term) : term;
    }
    int64_t constant = sign * (sum->constant / by);
    if (!result || constant > 0)
        result = !result ? pass_number(phases->pass, constant > 0 ? constant : 0)
                         : pass_combine(phases->pass, OP_ADD, result, pass_number(phases->pass, constant));
    return result;
}

/* A comparison of sums without what is on both sides, and without a factor; NULL: there is neither. */
static struct ir_expr *compare_rests(struct phases *phases, const struct ir_expr *expr)
{
    struct pass_affine sum, other;
    int64_t by = 0;

    if (operation_table[expr->operation].rule != RULE_COMPARE ||
        pass_bits_of(&phases->around, expr->operands[0]) > BITS ||
        pass_bits_of(&phases->around, expr->operands[1]) > BITS || !pass_affine_of(expr->operands[0], &sum) ||
        !pass_affine_of(expr->operands[1], &other))
        return NULL;
    int terms = sum.count + other.count;
    if (!pass_affine_add(&sum, -1, &other))
        return NULL;
    for (int k = 0; k <= sum.count; k++) {
        int64_t rest = k < sum.count ? sum.terms[k].coefficient : sum.constant;
        if (rest > FACTOR || rest < -FACTOR)
            return NULL;
        for (rest = rest < 0 ? -rest : rest; rest;) {
            int64_t next = by % rest;
            by = rest;
            rest = next;
        }
    }
    if (sum.count == terms && by <= 1)
        return NULL;
    by = by ? by : 1;
    struct ir_expr *result = pass_combine(phases->pass, expr->operation, side_of(phases, &sum, true, by),
                                          side_of(phases, &sum, false, by));
    result->span = expr->span;
    return result;
}

/* Puts what the notes of symbols say in their place, takes quotients apart, and from both sides of
 * comparisons what is the same. */
static struct ir_expr *put_notes(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct phases *phases = context;
    struct ir_expr *operands[3] = {NULL, NULL, NULL}, *simpler = NULL;

    if (expr->kind == IR_SYMBOL && expr->symbol->note) {
        struct ir_expr *value = pass_copy(pass, expr->symbol->note);
        value->span = expr->span;
        return value;
    }
    if (expr->kind == IR_LOAD)
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = put_notes(pass, expr->access.indices[k], context);
    if (expr->kind != IR_OPERATION)
        return expr;
    for (int k = 0; k < expr->count; k++)
        operands[k] = expr->operands[k] = put_notes(pass, expr->operands[k], context);
    bool divides = expr->operation == OP_FLOORDIV || expr->operation == OP_MOD;
    if (divides && pass_bits_of(&phases->around, expr) <= BITS)
        simpler = pass_quotient(pass, expr);
    else if (!divides)
        simpler = compare_rests(phases, expr);
    if (!simpler || simpler == expr)
        simpler = ir_fold(pass->kernel, expr->operation, operands);
    if (simpler && !simpler->span.line)
        simpler->span = expr->span;
    return simpler ? simpler : expr;
}

static void rewrite_block(struct phases *phases, struct ir_stmt *block, int depth)
{
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        pass_rewrite(phases->pass, stmt, put_notes, phases);
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&phases->around, stmt);
        rewrite_block(phases, stmt->body, depth + 1);
        phases->around.count -= is_known;
        rewrite_block(phases, stmt->otherwise, depth + 1);
    }
}

/* The loop counts those of its iterations that begin with `first` and go on by `step`. The note of its old
 * variable, which it gives, is what that is. */
static struct ir_symbol *count_anew(struct phases *phases, struct ir_stmt *loop, struct ir_expr *first,
                                    int64_t step)
{
    struct pass *pass = phases->pass;
    struct ir_symbol *old = loop->symbol;
    struct ir_symbol *counter = ir_symbol_new(pass->kernel, IR_SYMBOL_LOOP, old->name, AKG_INT64);
    struct ir_expr *above =
        first->kind == IR_INTEGER
            ? pass_number(pass, step - 1 - first->integer)
            : pass_combine(pass, OP_SUB, pass_number(pass, step - 1), pass_copy(pass, first));

    above = pass_combine(pass, OP_ADD, loop->high, above);
    counter->label = old->label ? old->label : old->name;
    counter->span = old->span;
    loop->symbol = counter;
    loop->low = pass_number(pass, 0);
    loop->high = pass_combine(pass, OP_FLOORDIV, above, pass_number(pass, step));
    struct ir_expr *product =
        pass_combine(pass, OP_MUL, ir_symbol_use(pass->kernel, counter), pass_number(pass, step));
    old->note = pass_combine(pass, OP_ADD, product, first);
    return old;
}

/* ---- thin loops ------------------------------------------------------------------------------------- */

/* The condition without what always holds; NULL: nothing is left. */
static struct ir_expr *without(struct phases *phases, struct ir_expr *expr, const struct ir_expr *part)
{
    if (expr == part)
        return NULL;
    if (expr->kind != IR_OPERATION ||
        (expr->operation != OP_NOT && expr->operation != OP_AND && expr->operation != OP_OR))
        return expr;
    struct ir_expr *a = without(phases, expr->operands[0], part);
    struct ir_expr *b = expr->count > 1 ? without(phases, expr->operands[1], part) : a;
    if (!a || !b)
        return expr->operation == OP_NOT ? NULL : a ? a : b;
    expr->operands[0] = a;
    if (expr->count > 1)
        expr->operands[1] = b;
    return expr;
}

static void drop(struct phases *phases, const struct congruence *congruence)
{
    struct ir_stmt *choice = congruence->choice;
    struct ir_expr *left = without(phases, choice->value, congruence->expr);

    pass_set_value(choice, left ? left : ir_integer(phases->pass->kernel, AKG_BOOL, true));
}

/* The first value of the loop's variable for which the congruence holds; false: it hangs on others. */
static bool find_first(const struct ir_stmt *loop, const struct congruence *congruence, int64_t *first)
{
    const struct pass_affine *sum = &congruence->sum;
    int64_t low = loop->low->integer, divisor = congruence->divisor;
    int64_t by = pass_affine_coefficient(sum, loop->symbol) % divisor, constant = sum->constant % divisor;

    for (int k = 0; k < sum->count; k++)
        if (sum->terms[k].symbol != loop->symbol && sum->terms[k].coefficient % divisor != 0)
            return false;
    for (*first = low; *first < low + divisor; ++*first)
        if (((by * *first + constant) % divisor + divisor) % divisor == congruence->rest)
            break;
    return true;
}

/* ---- thin loops that step ------------------------------------------------------------------------- */

static bool is_known_outside(const struct phases *phases, const struct ir_symbol *symbol)
{
    for (int k = 0; k < phases->around.count; k++)
        if (phases->around.loops[k].symbol == symbol)
            return true;
    return symbol->kind == IR_SYMBOL_DIM;
}

/* The variable of a loop over remainders of that divisor, or of a lesser one. */
static bool is_remainder_of(const struct phases *phases, const struct ir_symbol *symbol, int64_t divisor)
{
    for (int k = 0; k < phases->remainder_count; k++)
        if (phases->remainders[k].symbol == symbol && phases->remainders[k].divisor <= divisor)
            return true;
    return false;
}

/* What is nearest to 0 of all that differ by multiples of the divisor. */
static int64_t nearest(int64_t number, int64_t divisor)
{
    int64_t rest = (number % divisor + divisor) % divisor;

    return 2 * rest > divisor ? rest - divisor : rest;
}

/* Times which the factor, to which the divisor is coprime, is 1 but for multiples. */
static int64_t inverse_of(int64_t factor, int64_t divisor)
{
    int64_t inverse = 1, next = 0, a = nearest(factor, divisor), b = divisor;

    while (b) {
        int64_t quotient = a / b, rest = a - quotient * b, other = inverse - quotient * next;
        a = b;
        b = rest;
        inverse = next;
        next = other;
    }
    return nearest(a * inverse, divisor);
}

/* How far the first iteration for which the congruence holds is behind the loop's low end, before it is
 * reduced; NULL: nobody can say outside of the loop. */
static struct ir_expr *distance_of_first(struct phases *phases, const struct ir_stmt *loop,
                                         const struct congruence *congruence, bool *is_reduced)
{
    const struct pass_affine *sum = &congruence->sum;
    int64_t divisor = congruence->divisor, constant;
    int64_t inverse = inverse_of(pass_affine_coefficient(sum, loop->symbol), divisor);
    struct ir_expr *distance = NULL;

    *is_reduced = false;
    for (int k = 0; k < sum->count; k++) {
        const struct ir_symbol *symbol = sum->terms[k].symbol;
        int64_t factor = nearest(-inverse * (sum->terms[k].coefficient % divisor), divisor);
        if (symbol == loop->symbol || factor == 0)
            continue;
        if (!is_known_outside(phases, symbol))
            return NULL;
        struct ir_expr *term = ir_symbol_use(phases->pass->kernel, (struct ir_symbol *)symbol);
        *is_reduced = !distance && factor == 1 && is_remainder_of(phases, symbol, divisor);
        term =
            factor == 1 ? term : pass_combine(phases->pass, OP_MUL, term, pass_number(phases->pass, factor));
        distance = distance ? pass_combine(phases->pass, OP_ADD, distance, term) : term;
    }
    if (!distance)
        return NULL;
    constant = nearest(inverse * (congruence->rest - sum->constant % divisor) - loop->low->integer, divisor);
    *is_reduced = *is_reduced && constant == 0;
    return constant ? pass_combine(phases->pass, OP_ADD, distance, pass_number(phases->pass, constant))
                    : distance;
}

/* Where the loop is to begin: a number, or a scalar before it. NULL: it is no loop that steps. */
static struct ir_expr *first_of_steps(struct phases *phases, struct ir_stmt *loop,
                                      const struct congruence *congruence, struct ir_stmt **scalar)
{
    bool is_reduced;
    struct ir_expr *first = distance_of_first(phases, loop, congruence, &is_reduced);

    *scalar = NULL;
    if (!first || pass_bits_of(&phases->around, first) > BITS)
        return NULL;
    if (!is_reduced) { /* a remainder, but as a sum: what is divided by the step comes out of it */
        struct ir_expr *step = pass_number(phases->pass, congruence->divisor);
        struct ir_expr *steps = pass_combine(phases->pass, OP_FLOORDIV, pass_copy(phases->pass, first), step);
        *scalar = pass_declare(phases->pass, IR_SYMBOL_LET, "steps", steps, loop->span);
        steps = ir_symbol_use(phases->pass->kernel, (*scalar)->symbol);
        first = pass_combine(
            phases->pass, OP_SUB, first,
            pass_combine(phases->pass, OP_MUL, steps, pass_number(phases->pass, congruence->divisor)));
    }
    return loop->low->integer ? pass_combine(phases->pass, OP_ADD, first, pass_copy(phases->pass, loop->low))
                              : first;
}

static bool thin_out(struct phases *phases, struct ir_stmt **place)
{
    struct ir_stmt *loop = *place, *scalar = NULL;
    struct congruence congruence;
    struct ir_expr *first = NULL;
    int64_t known;

    for (int count = 0; !first && find_congruence(phases, loop, count, &congruence); count++)
        if (find_first(loop, &congruence, &known))
            first = pass_number(phases->pass, known);
    for (int count = 0; !first && find_congruence(phases, loop, count, &congruence); count++)
        first = first_of_steps(phases, loop, &congruence, &scalar);
    if (!first || pass_jumps(loop->body) || pass_block_may_stop(loop->body))
        return false;
    drop(phases, &congruence);
    struct ir_symbol *old = count_anew(phases, loop, first, congruence.divisor);
    bool is_known = pass_ranges_know(&phases->around, loop);
    rewrite_block(phases, loop->body, 0);
    phases->around.count -= is_known;
    old->note = NULL;
    if (scalar) {
        scalar->next = loop;
        *place = scalar;
    }
    phases->changed = true;
    return true;
}

static void thin_out_block(struct phases *phases, struct ir_stmt **place, int depth)
{
    for (; *place && depth < DEEPEST; place = &(*place)->next) {
        while ((*place)->kind == IR_FOR && thin_out(phases, place))
            while ((*place)->kind == IR_LET)
                place = &(*place)->next;
        struct ir_stmt *stmt = *place;
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&phases->around, stmt);
        thin_out_block(phases, &stmt->body, depth + 1);
        phases->around.count -= is_known;
        thin_out_block(phases, &stmt->otherwise, depth + 1);
    }
}

/* ---- loops around ----------------------------------------------------------------------------------- */

/* Loops one in the other, outermost first, with nothing but scalars between them, and by what each is to be
 * parted; 0: it is not. */
struct nest {
    struct ir_stmt *loops[NESTED];
    int64_t divisors[NESTED];
    bool counts[NESTED];    /* remainders in a loop of their own */
    int depth, first, last; /* those that are parted, and what is between them */
    int copies;
    bool parts; /* any */
};

static void find_nest(struct phases *phases, struct ir_stmt *loop, struct nest *nest)
{
    struct congruence congruence;

    *nest = (struct nest){.copies = 1};
    while (loop && loop->kind == IR_FOR && nest->depth < NESTED &&
           !find_congruence(phases, loop, 0, &congruence) && pass_ranges_know(&phases->around, loop)) {
        nest->loops[nest->depth++] = loop;
        loop = only_statement(loop->body);
    }
}

/* Whether parting loops of the nest leaves nothing but multiples of the divisor beside the loop's variable.
 */
static void want_parts(const struct phases *phases, struct nest *nest, const struct ir_stmt *loop,
                       const struct congruence *congruence)
{
    int64_t divisors[NESTED];

    for (int k = 0; k < nest->depth; k++)
        divisors[k] = nest->divisors[k];
    for (int k = 0; k < congruence->sum.count; k++) {
        const struct ir_symbol *symbol = congruence->sum.terms[k].symbol;
        int level = 0;
        if (symbol == loop->symbol || congruence->sum.terms[k].coefficient % congruence->divisor == 0 ||
            is_remainder_of(phases, symbol, FACTOR))
            continue;
        while (level < nest->depth && nest->loops[level]->symbol != symbol)
            level++;
        if (level == nest->depth || congruence->divisor > MOST_COUNTED ||
            !may_be_counted(nest->loops[level]) ||
            (divisors[level] && divisors[level] != congruence->divisor))
            return;
        divisors[level] = congruence->divisor;
    }
    for (int k = 0; k < nest->depth; k++)
        nest->divisors[k] = divisors[k];
}

static void find_parts(struct phases *phases, struct nest *nest, struct ir_stmt *block, int depth)
{
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        struct congruence congruence;
        for (int k = 0; stmt->kind == IR_FOR && find_congruence(phases, stmt, k, &congruence); k++)
            want_parts(phases, nest, stmt, &congruence);
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&phases->around, stmt);
        find_parts(phases, nest, stmt->body, depth + 1);
        phases->around.count -= is_known;
        find_parts(phases, nest, stmt->otherwise, depth + 1);
    }
}

/* How many copies the loops make, as far as that matters, and which is the last one that is parted. */
static void count_copies(struct nest *nest)
{
    nest->copies = 1;
    nest->parts = false;
    for (int k = 0; k < nest->depth; k++)
        if (nest->divisors[k]) {
            nest->parts = true;
            nest->last = k;
            if (!nest->counts[k] && nest->copies <= STATEMENTS)
                nest->copies *= (int)nest->divisors[k];
        }
}

/* Remainders of outer loops are counted until no more copies are left than there may be. */
static void spare_copies(const struct phases *phases, struct nest *nest, int statements)
{
    int most = (phases->left < STATEMENTS ? phases->left : STATEMENTS) / (statements ? statements : 1);

    for (int k = 0; k < nest->depth; k++)
        nest->counts[k] = nest->divisors[k] > MOST_DIVISOR;
    count_copies(nest);
    for (int k = 0; k < nest->depth && (nest->copies > COPIES || nest->copies > most); k++) {
        nest->counts[k] = true;
        count_copies(nest);
    }
    for (int k = 0, count = phases->remainder_count; k < nest->depth; k++)
        if (nest->counts[k] && nest->divisors[k] && ++count > REMAINDERS)
            nest->divisors[k] = 0;
    count_copies(nest);
}

/* Leaves out what stands outside of a loop that is not parallel. */
static void keep_parallel(struct pass *pass, struct nest *nest)
{
    const struct dependences *dependences = pass_dependences(pass, nest->loops[0]);
    int k = nest->last;

    for (; dependences && k >= 0; k--) {
        const struct dependence_loop *loop = dependence_loop_is_parallel(dependences, nest->loops[k]);
        if (loop->verdict != DEPENDENCE_PARALLEL || loop->leaves || loop->incomplete)
            break;
    }
    nest->first = k + 1;
    for (; k >= 0; k--)
        nest->divisors[k] = 0;
    count_copies(nest);
}

/* Those from the first parallel one on up to the last one that is parted. */
static bool choose_loops(struct phases *phases, struct nest *nest)
{
    int left = STATEMENTS;

    for (int k = 0; k < nest->depth; k++)
        if (!pass_is_pure(nest->loops[k]->high) || pass_bits_of(&phases->around, nest->loops[k]->high) > BITS)
            nest->divisors[k] = 0;
    count_copies(nest);
    if (!nest->parts || pass_block_may_stop(nest->loops[0]->body) ||
        !ir_block_walk(nest->loops[0]->body, pass_can_be_copied, &left))
        return false;
    spare_copies(phases, nest, STATEMENTS - left);
    if (nest->parts)
        keep_parallel(phases->pass, nest);
    phases->left -= (STATEMENTS - left) * (nest->copies - 1);
    return nest->parts;
}

/* No more than there are iterations. */
static struct ir_expr *remainders_there(struct phases *phases, const struct ir_stmt *loop)
{
    struct ir_expr *high = pass_copy(phases->pass, loop->high);

    return loop->low->integer ? pass_combine(phases->pass, OP_SUB, high, pass_copy(phases->pass, loop->low))
                              : high;
}

/* The loop over remainders, around one over the iterations that have it; gives the note's symbol. */
static struct ir_symbol *count_remainders(struct phases *phases, struct ir_stmt *loop, int64_t divisor)
{
    struct ir_kernel *kernel = phases->pass->kernel;
    struct ir_symbol *old = loop->symbol;
    struct ir_symbol *remainder = ir_symbol_new(kernel, IR_SYMBOL_LOOP, old->name, AKG_INT64);
    struct ir_stmt *inside = ir_stmt_new(kernel, IR_FOR, loop->span);
    struct ir_expr *first = ir_symbol_use(kernel, remainder);

    remainder->label = old->label ? old->label : old->name;
    remainder->span = old->span;
    inside->symbol = old;
    inside->low = loop->low;
    inside->high = loop->high;
    inside->step = 1;
    inside->body = loop->body;
    if (inside->low->integer)
        first = pass_combine(phases->pass, OP_ADD, first, pass_copy(phases->pass, inside->low));
    loop->symbol = remainder;
    loop->low = pass_number(phases->pass, 0);
    loop->high = pass_combine(phases->pass, OP_MIN, pass_number(phases->pass, divisor),
                              remainders_there(phases, inside));
    loop->body = inside;
    phases->remainders[phases->remainder_count].symbol = remainder;
    phases->remainders[phases->remainder_count++].divisor = divisor;
    return count_anew(phases, inside, first, divisor);
}

/* One of the copies, with a remainder for each loop that is parted. */
static void make_part(struct phases *phases, const struct nest *nest, struct ir_stmt *loop, int remainders)
{
    struct ir_symbol *parted[NESTED];
    int count = 0, known = phases->around.count;
    struct ir_stmt *outermost = loop;

    for (int k = nest->first; k <= nest->last; k++) {
        int64_t divisor = nest->divisors[k];
        if (divisor && nest->counts[k] && phases->remainder_count < REMAINDERS) {
            parted[count++] = count_remainders(phases, loop, divisor);
            loop = loop->body;
        } else if (divisor && !nest->counts[k]) {
            int64_t first = loop->low->integer + remainders % divisor;
            parted[count++] = count_anew(phases, loop, pass_number(phases->pass, first), divisor);
            remainders /= (int)divisor;
        }
        loop = only_statement(loop->body);
    }
    struct ir_stmt *next = outermost->next;
    outermost->next = NULL;
    rewrite_block(phases, outermost, 0);
    outermost->next = next;
    while (count)
        parted[--count]->note = NULL;
    phases->around.count = known;
}

static void part_nest(struct phases *phases, const struct nest *nest)
{
    struct ir_stmt *original = nest->loops[nest->first], *next = original->next, *rest = next;
    int remainders = 0;

    original->next = NULL;
    for (int k = 1; k < nest->copies; k++) {
        struct ir_stmt *copy = pass_copy_block(phases->pass, original);
        copy->next = rest;
        rest = copy;
    }
    original->next = rest;
    for (struct ir_stmt *part = original; part != next; part = part->next)
        make_part(phases, nest, part, remainders++);
    phases->changed = true;
}

/* Parts the loop and those in it; false: not any more. */
static bool visit_loop(struct phases *phases, struct ir_stmt *loop)
{
    struct nest nest;
    int known = phases->around.count;

    find_nest(phases, loop, &nest);
    if (nest.depth)
        find_parts(phases, &nest, nest.loops[nest.depth - 1]->body, 0);
    bool parts = nest.depth && choose_loops(phases, &nest);
    phases->around.count = known;
    for (int k = 0; parts && k < nest.first; k++)
        pass_ranges_know(&phases->around, nest.loops[k]);
    if (parts)
        part_nest(phases, &nest);
    phases->around.count = known;
    return parts;
}

static void visit_block(struct phases *phases, struct ir_stmt *block, int depth)
{
    for (struct ir_stmt *stmt = block; stmt && depth < DEEPEST; stmt = stmt->next) {
        while (stmt->kind == IR_FOR && visit_loop(phases, stmt))
            continue;
        bool is_known = stmt->kind == IR_FOR && pass_ranges_know(&phases->around, stmt);
        visit_block(phases, stmt->body, depth + 1);
        phases->around.count -= is_known;
        visit_block(phases, stmt->otherwise, depth + 1);
    }
}

static bool is_other(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_OPERATION || (expr->operation != OP_EQ && expr->operation != OP_NE) ||
           (!is_remainder(expr->operands[0]) && !is_remainder(expr->operands[1]));
}

bool pass_phases(struct pass *pass)
{
    struct phases phases = {.pass = pass, .left = MOST};

    if (ir_block_expressions(pass->kernel->body, is_other, NULL))
        return false;
    visit_block(&phases, pass->kernel->body, 0);
    thin_out_block(&phases, &pass->kernel->body, 0);
    if (phases.changed)
        pass_simplify_block(pass, &pass->kernel->body);
    return phases.changed;
}

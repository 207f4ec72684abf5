/*
 * pass_partition.c: a loop in which conditions hang on its variable becomes several, one after the other, in
 * each of which they are known: `for j in 0, M: y[j] = x[j - 1] if j > 0 else x[M - 1]` is a loop from 0 to 1
 * and one from there on.
 *
 * Consumes loops of step 1 or -1 that are not left before their end, outer ones first; those with loops
 * inside if nothing in them may stop, for copies of what tests are long. A condition is a comparison of the
 * loop's variable with what is the same in all iterations, in an if, a choice, or as what min, max and % of
 * an index ask. So is whether an index that is tested is inside, near either end of the loop. Each changes at
 * a few places (pass_partition_place.c); these, brought into an order, cut the loop. What order they are in
 * need not be known: no part ends before it begins, and no condition is taken for known but where that
 * follows; else it stays in that part. A part whose body is an if that asks nothing of the loop goes inside
 * of it. A condition on the variable of a loop inside as well, an innermost one or a window's, as in a
 * filter, `if i - k >= 0`, is known where it is for the first and for the last of its values. A loop that
 * stores what it also uses all along, `d[i, j] = min(d[i, j], d[i, k] + d[k, j])`, is cut where it does. One
 * with a loop inside is cut at a place that differs from row to row only where its iterations use what others
 * store, or do nothing but store: else it is one nest with the rows, under a condition. An innermost one of a
 * few instructions is cut where the place differs by loops further out than the rows.
 */
#include "pass_partition.h"

enum {
    LARGEST = 48,            /* statements of a loop that is repeated, */
    LARGEST_INNERMOST = 160, /* of one without loops inside, */
    MOST = 400,              /* and that all copies have */
    WORTH = 8,               /* weight of an iteration from which on places pay that differ from row to row */
    DEEPEST = 200
};

/* ---- what is known goes ----------------------------------------------------------------------------- */

/* The expression without the question, which has that answer. */
static struct ir_expr *answered(const struct cutter *cutter, struct ir_expr *expr,
                                const struct question *question, int answer)
{
    struct ir_kernel *kernel = cutter->partition->pass->kernel;
    bool holds = (answer != 0) != question->is_not;

    switch (expr->operation) {
    case OP_MIN:
    case OP_MAX:
        return expr->operands[holds ? 0 : 1];
    case OP_MOD:
        if (answer == 0)
            return expr->operands[0];
        return ir_operation(kernel, answer < 0 ? OP_ADD : OP_SUB, expr->operands[0], expr->operands[1], NULL);
    default:
        return ir_integer(kernel, AKG_BOOL, holds);
    }
}

/* Whether an index that is tested is not below 0, or within the extent. */
static struct ir_expr *side_of_test(const struct cutter *cutter, const struct ir_access *access, int axis,
                                    bool is_low)
{
    struct ir_kernel *kernel = cutter->partition->pass->kernel;
    struct ir_expr *end = is_low ? ir_integer(kernel, AKG_INT64, 0) : access->buffer->shape[axis];

    return ir_operation(kernel, is_low ? OP_GE : OP_LT, access->indices[axis], end, NULL);
}

static bool holds_always(const struct cutter *cutter, const struct ir_expr *condition)
{
    struct question question;
    int answer;

    if (condition->kind == IR_INTEGER)
        return condition->integer;
    return condition->kind == IR_OPERATION && partition_ask(cutter, condition, &question) &&
           partition_is_answered(cutter, &question, &answer) && (answer != 0) != question.is_not;
}

/* Indices that are inside in all of the part are tested no more. */
static void settle_tests(const struct cutter *cutter, struct ir_access *access)
{
    for (int axis = 0; !cutter->has_loop && axis < access->buffer->rank; axis++)
        if (access->checks[axis] == IR_CHECK_ELEMENT &&
            holds_always(cutter, side_of_test(cutter, access, axis, true)) &&
            holds_always(cutter, side_of_test(cutter, access, axis, false)))
            access->checks[axis] = IR_CHECK_PROVED;
}

static struct ir_expr *put_answers(struct pass *pass, struct ir_expr *expr, void *context)
{
    struct cutter *cutter = context;
    struct ir_expr *operands[3] = {NULL, NULL, NULL}, *simpler = NULL;
    struct question question;
    int answer;

    if (expr->kind == IR_LOAD) {
        for (int k = 0; k < expr->access.buffer->rank; k++)
            expr->access.indices[k] = put_answers(pass, expr->access.indices[k], context);
        settle_tests(cutter, &expr->access);
    }
    if (expr->kind != IR_OPERATION)
        return expr;
    for (int k = 0; k < expr->count; k++)
        operands[k] = expr->operands[k] = put_answers(pass, expr->operands[k], context);
    if (partition_ask(cutter, expr, &question) && partition_is_answered(cutter, &question, &answer))
        simpler = answered(cutter, expr, &question, answer);
    if (!simpler)
        simpler = ir_fold(pass->kernel, expr->operation, operands);
    if (simpler)
        if (!simpler->span.line) /* an operand has its own, for what it tests */
            simpler->span = expr->span;
    return simpler ? simpler : expr;
}

/* Puts answers into a block, and the sides that are left in the place of its ifs. */
static void settle_block(struct cutter *cutter, struct ir_stmt **place)
{
    while (*place) {
        struct ir_stmt *stmt = *place, *next = stmt->next;
        pass_rewrite(cutter->partition->pass, stmt, put_answers, cutter);
        if (stmt->kind == IR_STORE)
            settle_tests(cutter, &stmt->access);
        if (stmt->kind == IR_IF && stmt->value->kind == IR_INTEGER) {
            *place = stmt->value->integer ? stmt->body : stmt->otherwise;
            struct ir_stmt **end = place;
            while (*end)
                end = &(*end)->next;
            *end = next;
            continue;
        }
        settle_block(cutter, &stmt->body);
        settle_block(cutter, &stmt->otherwise);
        place = &stmt->next;
    }
}

/* ---- where to cut ----------------------------------------------------------------------------------- */

static char inside; /* its address is the note of what the loop declares or assigns */

static bool note_symbol(struct ir_stmt *stmt, void *note)
{
    if (stmt->symbol)
        stmt->symbol->note = note;
    return true;
}

static bool is_same_always(const struct pass_affine *sum)
{
    for (int k = 0; k < sum->count; k++)
        if (sum->terms[k].symbol->note == &inside)
            return false;
    return true;
}

static void add_place(struct cutter *cutter, const struct place *place)
{
    const struct partition *partition = cutter->partition;
    bool known = partition_is_at_most(partition, place, &cutter->low) ||
                 partition_is_at_most(partition, &cutter->high, place);

    cutter->decides |= known;
    for (int k = 0; k < cutter->found_count && !known; k++)
        known = partition_are_equal(&cutter->found[k], place);
    if (!known && cutter->found_count < PARTITION_FOUND)
        cutter->found[cutter->found_count++] = *place;
}

/* Whether only the first or the last iteration has another answer than the others. */
static bool is_of_one_end(const struct cutter *cutter, const struct question *question)
{
    struct place first, last;

    return question->kind == QUESTION_EQUAL && partition_place_of(question, 0, &first) &&
           partition_place_of(question, 1, &last) &&
           (partition_are_equal(&first, &cutter->low) || partition_are_equal(&last, &cutter->high));
}

/* Whether the element is stored in some iteration of the loop, but by no store of this element. */
static bool is_stored_elsewhere(const struct ir_stmt *block, const struct ir_access *load, bool *is_own)
{
    bool is_stored = false;

    for (; block; block = block->next) {
        if (block->kind == IR_STORE && block->access.buffer == load->buffer) {
            is_stored = true;
            *is_own |= ir_access_equal(&block->access, load);
        }
        is_stored |= is_stored_elsewhere(block->body, load, is_own);
        is_stored |= is_stored_elsewhere(block->otherwise, load, is_own);
    }
    return is_stored;
}

static bool find_tie(struct ir_expr *expr, void *loop)
{
    bool is_own = false;

    return expr->kind != IR_LOAD ||
           !is_stored_elsewhere(((const struct ir_stmt *)loop)->body, &expr->access, &is_own) || is_own;
}

/* Whether the places are worth a cut although they differ from row to row. Rows and columns around a loop may
 * be one nest, with a condition for each element, but not where the iterations are one behind the other, nor
 * where they only store something. */
static bool may_differ(const struct cutter *cutter, const struct ir_expr *expr,
                       const struct question *question)
{
    if (question->kind != QUESTION_EQUAL)
        return !cutter->has_loop || cutter->is_tied || cutter->is_plain;
    return is_of_one_end(cutter, question) || (question->is_not && expr == cutter->only);
}

/* Where the answer changes for the first and for the last of the iterations of a loop inside, if these are
 * likely to be few beside those of the loop. */
static void add_ends(struct cutter *cutter, const struct question *question, const struct place *place)
{
    struct place first = *place, last = *place;
    struct pass_affine range;

    if (question->kind != QUESTION_SIDE || !partition_end_of(cutter->partition, false, &first) ||
        !partition_end_of(cutter->partition, true, &last) || first.differs || last.differs ||
        !is_same_always(&first.at) || !is_same_always(&last.at))
        return;
    if (!partition_distance(&first, &last, &range))
        return;
    for (int k = 0; k < range.count; k++)
        if (pass_affine_coefficient(&cutter->high.at, range.terms[k].symbol) != 0)
            return;
    add_place(cutter, &first);
    add_place(cutter, &last);
}

static bool is_a_number_from(const struct place *place, const struct place *end)
{
    struct pass_affine distance = place->at;

    return !place->is_far && !end->is_far && place->divisor == 1 &&
           pass_affine_add(&distance, -1, &end->at) && distance.count == 0;
}

static void find_test(struct cutter *cutter, const struct ir_expr *condition)
{
    struct question question;
    struct place place;

    if (condition->kind == IR_OPERATION && partition_ask(cutter, condition, &question) &&
        partition_place_of(&question, 0, &place) && is_same_always(&place.at) &&
        (is_a_number_from(&place, &cutter->low) || is_a_number_from(&place, &cutter->high)))
        add_place(cutter, &place);
}

/* Where indices that are tested leave the tensor in the first iterations or the last ones: those under
 * conditions in the loop need not, and vectors suit iterations of which all are inside. */
static void find_tests(struct cutter *cutter, const struct ir_access *access)
{
    bool decides = cutter->decides;

    for (int axis = 0; !cutter->has_loop && axis < access->buffer->rank; axis++) {
        if (access->checks[axis] != IR_CHECK_ELEMENT)
            continue;
        find_test(cutter, side_of_test(cutter, access, axis, true));
        find_test(cutter, side_of_test(cutter, access, axis, false));
    }
    cutter->decides = decides;
}

static bool find_tests_of_store(struct ir_stmt *stmt, void *cutter)
{
    if (stmt->kind == IR_STORE)
        find_tests(cutter, &stmt->access);
    return true;
}

static bool find_places(struct ir_expr *expr, void *context)
{
    struct cutter *cutter = context;
    struct question question;
    struct place place;

    if (expr->kind == IR_LOAD)
        find_tests(cutter, &expr->access);
    if (expr->kind != IR_OPERATION || !partition_ask(cutter, expr, &question))
        return true;
    for (int k = 0; partition_place_of(&question, k, &place); k++)
        if (!is_same_always(&place.at))
            add_ends(cutter, &question, &place);
        else if (!place.differs || may_differ(cutter, expr, &question))
            add_place(cutter, &place);
    return true;
}

/* ---- where a loop comes upon what it uses all along --------------------------------------------------- */

struct meeting {
    struct cutter *cutter;
    const struct ir_access *store;
};

/* The axis along which the store goes to where the load stays; -1: there is none, or it is another tensor. */
static int meeting_axis(const struct cutter *cutter, const struct ir_access *store,
                        const struct ir_access *load)
{
    int found = -1;

    for (int axis = 0; store->buffer == load->buffer && axis < store->buffer->rank; axis++) {
        if (pass_mentions(load->indices[axis], cutter->variable))
            return -1;
        if (pass_mentions(store->indices[axis], cutter->variable))
            found = found < 0 ? axis : store->buffer->rank;
    }
    return found < store->buffer->rank ? found : -1;
}

/* Before and behind the iteration that stores it, the element is the same in all iterations. That pays for
 * any loop, which is no vector loop else. */
static bool find_meeting(struct ir_expr *expr, void *context)
{
    const struct meeting *meeting = context;
    struct cutter *cutter = meeting->cutter;
    int axis = expr->kind == IR_LOAD ? meeting_axis(cutter, meeting->store, &expr->access) : -1;
    bool decides = cutter->decides;
    struct question question;
    struct place place;

    if (axis < 0)
        return true;
    struct ir_expr *meets = ir_operation(cutter->partition->pass->kernel, OP_EQ,
                                         meeting->store->indices[axis], expr->access.indices[axis], NULL);
    if (meets->kind != IR_OPERATION || !partition_ask(cutter, meets, &question))
        return true;
    for (int k = 0; partition_place_of(&question, k, &place); k++) {
        place.differs = false;
        if (is_same_always(&place.at))
            add_place(cutter, &place);
    }
    cutter->decides = decides;
    return true;
}

static void find_meetings(struct cutter *cutter, struct ir_stmt *body, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        struct meeting meeting = {cutter, &stmt->access};
        if (stmt->kind == IR_STORE)
            ir_block_expressions(body, find_meeting, &meeting);
        find_meetings(cutter, body, stmt->body);
        find_meetings(cutter, body, stmt->otherwise);
    }
}

/* ---- all places -------------------------------------------------------------------------------------- */

/* The variables of loops inside have ranges: of those that hold none themselves, and of windows around these.
 * Gives how many loops were known. */
static int know_inner_loops(struct partition *partition, const struct ir_stmt *block)
{
    int before = partition->count;

    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        bool is_innermost = stmt->kind == IR_FOR && !pass_has_for(stmt->body);
        bool is_window = stmt->kind == IR_FOR && partition_has_few_iterations(partition, stmt);
        if (partition->count < PARTITION_LOOPS && (is_innermost || is_window))
            partition_know(partition, stmt);
        know_inner_loops(partition, stmt->body);
        know_inner_loops(partition, stmt->otherwise);
    }
    return before;
}

/* False: the end of the loop may change while it runs. */
static bool find_all_places(struct cutter *cutter, struct ir_stmt *loop)
{
    struct ir_stmt *body = loop->body;
    int dim;
    int64_t before = partition_note_least(cutter->partition, loop, &dim);
    bool ends;

    cutter->only = body && body->kind == IR_IF && !body->otherwise && !body->next ? body->value : NULL;
    loop->symbol->note = &inside;
    ir_block_walk(loop->body, note_symbol, &inside);
    ends = is_same_always(&cutter->high.at);
    cutter->looks_ahead = true;
    int loops = know_inner_loops(cutter->partition, loop->body);
    if (ends) {
        ir_block_expressions(loop->body, find_places, cutter);
        ir_block_walk(loop->body, find_tests_of_store, cutter);
    }
    cutter->first_meeting = cutter->found_count;
    if (ends && !cutter->has_loop)
        find_meetings(cutter, loop->body, loop->body);
    cutter->partition->count = loops;
    cutter->looks_ahead = false;
    ir_block_walk(loop->body, note_symbol, NULL);
    loop->symbol->note = NULL;
    partition_forget_least(cutter->partition, dim, before);
    return ends;
}

/* How large a symbol is likely to be: what the loop goes to is larger than other dims, these than variables
 * of loops. */
static int likely_size(const struct cutter *cutter, const struct ir_symbol *symbol)
{
    if (symbol->kind != IR_SYMBOL_DIM)
        return 1;
    return pass_affine_coefficient(&cutter->high.at, symbol) > 0 ? 3 : 2;
}

/* Whether one place is likely to be before another. */
static bool comes_before(const struct cutter *cutter, const struct place *a, const struct place *b)
{
    struct pass_affine difference;
    int64_t weight = 0;

    if (partition_is_at_most(cutter->partition, a, b))
        return true;
    if (partition_is_at_most(cutter->partition, b, a) || !partition_distance(a, b, &difference))
        return false;
    if (difference.count == 0)
        return difference.constant > 0;
    for (int k = 0; k < difference.count; k++)
        weight +=
            (difference.terms[k].coefficient > 0 ? 1 : -1) * likely_size(cutter, difference.terms[k].symbol);
    return weight > 0;
}

static void sort_places(struct cutter *cutter)
{
    for (int k = 1; k < cutter->found_count; k++) {
        struct place moved = cutter->found[k];
        int at = k;
        for (; at > 0 && !comes_before(cutter, &cutter->found[at - 1], &moved); at--)
            cutter->found[at] = cutter->found[at - 1];
        cutter->found[at] = moved;
    }
}

/* Between short parts there is no cut. False: more are left than are made. */
static bool choose_cuts(struct cutter *cutter)
{
    const struct place *before = &cutter->low;

    for (int k = 0; k < cutter->found_count; k++) {
        const struct place *here = &cutter->found[k];
        const struct place *next = k + 1 < cutter->found_count ? here + 1 : &cutter->high;
        if (partition_is_short(before, here) && partition_is_short(here, next))
            continue;
        if (cutter->count == PARTITION_CUTS)
            return false;
        cutter->cuts[cutter->count++] = *here;
        before = here;
    }
    return true;
}

/* ---- whether it pays -------------------------------------------------------------------------------- */

static bool weigh_expr(struct ir_expr *expr, void *weight)
{
    int *sum = weight;

    if (expr->kind == IR_LOAD)
        *sum += 1;
    else if (expr->kind == IR_OPERATION && (expr->operation == OP_MOD || expr->dtype != AKG_INT64) &&
             operation_table[expr->operation].c32[0])
        *sum += WORTH;
    else if (expr->kind == IR_OPERATION && expr->dtype != AKG_INT64 && expr->dtype != AKG_BOOL)
        *sum += 1;
    return true;
}

/* Whether the place is another one in each iteration of the loop directly around. */
static bool differs_by_row(const struct partition *partition, const struct place *place)
{
    for (int k = 0; k < place->at.count; k++) {
        const struct ir_symbol *symbol = place->at.terms[k].symbol;
        bool is_of_other = false;
        for (int level = 0; level + 1 < partition->count; level++)
            is_of_other |= partition->loops[level]->symbol == symbol;
        if (!is_of_other && symbol->kind != IR_SYMBOL_DIM && symbol->kind != IR_SYMBOL_ATTRIBUTE)
            return true;
    }
    return false;
}

/* Rows of their own lengths pay where an iteration is more than a few instructions, or tests where it goes
 * (`if j >= s[i]: y[i, j] = x[i, j - s[i]]`): a part tests at its ends. */
static bool pays(const struct cutter *cutter, struct ir_stmt *loop)
{
    int weight = pass_block_may_stop(loop->body) ? WORTH : 0;

    ir_block_expressions(loop->body, weigh_expr, &weight);
    for (int k = 0; k < cutter->count; k++)
        if (cutter->cuts[k].differs && weight < WORTH && !cutter->has_loop &&
            differs_by_row(cutter->partition, &cutter->cuts[k]))
            return false;
    return true;
}

/* What a loop has in it, as far as that counts here. */
struct content {
    int statements;
    bool has_loop, is_plain;
};

static bool see_content(struct ir_stmt *stmt, void *context)
{
    struct content *content = context;

    content->has_loop |= stmt->kind == IR_FOR;
    content->is_plain = stmt->kind == IR_IF || stmt->kind == IR_STORE || stmt->kind == IR_LET ||
                        stmt->kind == IR_VARIABLE || stmt->kind == IR_ASSIGN || stmt->kind == IR_FOR;
    return ++content->statements <= LARGEST_INNERMOST && content->is_plain;
}

/* What is found of meetings is for loops that are no vector loops else: the places from one on are left where
 * iterations do not depend on each other anyway. */
static void drop_meetings(struct cutter *cutter, struct ir_stmt *loop)
{
    const struct partition *partition = cutter->partition;
    /* with all loops around: their ranges may keep what is stored apart from what is used */
    const struct ir_stmt *outermost = partition->count ? partition->loops[0] : loop;

    if (cutter->found_count == cutter->first_meeting)
        return;
    const struct dependences *dependences = pass_dependences(partition->pass, (struct ir_stmt *)outermost);
    if (dependences && dependence_loop_is_parallel(dependences, loop)->verdict == DEPENDENCE_PARALLEL)
        cutter->found_count = cutter->first_meeting;
}

/* Whether the statement neither accumulates nor works on what is there. */
static bool is_no_sum(struct ir_stmt *stmt, void *unused)
{
    (void)unused;
    return stmt->kind != IR_VARIABLE && stmt->kind != IR_ASSIGN &&
           (stmt->kind != IR_STORE || !ir_expr_loads_from(stmt->value, stmt->access.buffer));
}

static bool has_parts(struct cutter *cutter, struct ir_stmt *loop)
{
    struct content content = {.statements = 0};

    if (loop->step != 1 || partition_has_few_iterations(cutter->partition, loop) ||
        !partition_bound(cutter->partition, loop->low, &cutter->low) ||
        !partition_end(cutter->partition, loop, &cutter->high) || cutter->low.is_far ||
        !ir_block_walk(loop->body, see_content, &content) ||
        (content.has_loop && content.statements > LARGEST) ||
        (content.has_loop && pass_block_may_stop(loop->body)))
        return false;
    if (cutter->is_downward) /* where it begins is what the program computes */
        cutter->high.is_after = cutter->high.is_far;
    cutter->has_loop = content.has_loop;
    cutter->is_plain = content.has_loop && ir_block_walk(loop->body, is_no_sum, NULL);
    cutter->is_tied = content.has_loop && !ir_block_expressions(loop->body, find_tie, loop);
    if (!find_all_places(cutter, loop))
        return false;
    drop_meetings(cutter, loop);
    sort_places(cutter);
    if (!choose_cuts(cutter) || !(cutter->count > 0 || cutter->decides) || !pays(cutter, loop) ||
        cutter->count * content.statements > cutter->partition->left)
        return false;
    cutter->partition->left -= cutter->count * content.statements;
    return true;
}

/* ---- cutting ---------------------------------------------------------------------------------------- */

/* What the place is, but no more than `high`. */
static struct ir_expr *position(const struct cutter *cutter, const struct place *place,
                                const struct ir_expr *high)
{
    struct pass *pass = cutter->partition->pass;
    struct ir_kernel *kernel = pass->kernel;
    struct ir_expr *one = ir_integer(kernel, AKG_INT64, 1), *at, *most;

    if (place->is_after) {
        struct place before = *place;
        before.at.constant = (int64_t)((uint64_t)before.at.constant - 1);
        most = ir_operation(kernel, OP_SUB, pass_copy(pass, high), one, NULL);
        at = ir_operation(kernel, OP_MIN, partition_expr(pass, &before), most, NULL);
        return ir_operation(kernel, OP_ADD, at, ir_integer(kernel, AKG_INT64, 1), NULL);
    }
    at = partition_expr(pass, place);
    if (partition_is_at_most(cutter->partition, place, &cutter->high))
        return at;
    return ir_operation(kernel, OP_MIN, at, pass_copy(pass, high), NULL);
}

/* Where part k of a loop downwards from what may be anything ends: `high`, one more than that, may have
 * wrapped, so that it is the iteration below the place that is kept between those of the loop. */
static struct ir_expr *end_of_far(const struct cutter *cutter, int k, const struct ir_stmt *loop,
                                  const struct ir_expr *before)
{
    struct pass *pass = cutter->partition->pass;
    struct ir_kernel *kernel = pass->kernel;
    struct ir_expr *one = ir_integer(kernel, AKG_INT64, 1), *below;
    struct ir_expr *top = ir_operation(kernel, OP_SUB, pass_copy(pass, loop->high), one, NULL);
    struct ir_expr *least = ir_operation(kernel, OP_SUB, pass_copy(pass, before), pass_copy(pass, one), NULL);
    struct place place = cutter->cuts[k];

    if (place.is_after) {
        place.at.constant = (int64_t)((uint64_t)place.at.constant - 1);
        below = partition_expr(pass, &place);
    } else { /* what is below the loop may have nothing below itself */
        below = ir_operation(kernel, OP_MAX, partition_expr(pass, &place), pass_copy(pass, loop->low), NULL);
        below = ir_operation(kernel, OP_SUB, below, pass_copy(pass, one), NULL);
    }
    if (place.is_after || k > 0)
        below = ir_operation(kernel, OP_MAX, below, least, NULL);
    below = ir_operation(kernel, OP_MIN, below, top, NULL);
    return ir_operation(kernel, OP_ADD, below, pass_copy(pass, one), NULL);
}

/* Where part k ends: no sooner than the one before it does. */
static struct ir_expr *end_of(const struct cutter *cutter, int k, const struct ir_stmt *loop,
                              const struct ir_expr *before)
{
    struct pass *pass = cutter->partition->pass;
    const struct place *cut = &cutter->cuts[k];
    bool in_order = partition_is_at_most(cutter->partition, &cutter->low, cut);

    if (cutter->is_downward && cutter->high.is_far)
        return end_of_far(cutter, k, loop, before);
    for (int other = 0; other < k; other++)
        in_order = in_order && partition_is_at_most(cutter->partition, &cutter->cuts[other], cut);
    struct ir_expr *at = position(cutter, cut, loop->high);
    return in_order ? at : ir_operation(pass->kernel, OP_MAX, at, pass_copy(pass, before), NULL);
}

/* A condition that is the same in all iterations, before them. */
static bool is_steady(struct ir_expr *expr, void *loop)
{
    return expr->kind != IR_SYMBOL || (expr->symbol != loop && expr->symbol->kind != IR_SYMBOL_VARIABLE);
}

static bool has_choice(const struct ir_stmt *loop)
{
    struct ir_stmt *choice = loop->body;

    return choice && !choice->next && choice->kind == IR_IF && pass_is_pure(choice->value) &&
           ir_expr_walk(choice->value, is_steady, loop->symbol);
}

/* Gives the loop the other direction: the same iterations from the last to the first. */
static void turn(struct pass *pass, struct ir_stmt *loop)
{
    struct ir_expr *low = loop->low, *one = ir_integer(pass->kernel, AKG_INT64, loop->step);

    loop->low = ir_operation(pass->kernel, OP_SUB, loop->high, one, NULL);
    loop->high = ir_operation(pass->kernel, OP_SUB, low, pass_copy(pass, one), NULL);
    loop->step = -loop->step;
}

/* Puts what is known into a part, while `whole` has the bounds of the loop that it is of; then the part has
 * its own. */
static void settle_part(struct cutter *cutter, struct ir_stmt *part, const struct ir_stmt *whole,
                        struct ir_expr *low, struct ir_expr *high)
{
    int dim;
    int64_t before = partition_note_least(cutter->partition, whole, &dim);

    cutter->variable = part->symbol;
    int loops = know_inner_loops(cutter->partition, part->body);
    settle_block(cutter, &part->body);
    cutter->partition->count = loops;
    partition_forget_least(cutter->partition, dim, before);
    part->low = low;
    part->high = high;
    if (cutter->is_downward)
        turn(cutter->partition->pass, part);
    if (has_choice(part))
        pass_hoist_choice(cutter->partition->pass, part);
}

/* Where a part ends, and the next one begins: a scalar of its own before the loops. */
static struct ir_expr *name_end(struct pass *pass, struct ir_stmt ***place, struct ir_expr *end)
{
    if (end->kind == IR_INTEGER || end->kind == IR_SYMBOL)
        return end;
    struct ir_stmt *let = pass_declare(pass, IR_SYMBOL_LET, "cut", end, end->span);
    **place = let;
    *place = &let->next;
    return ir_symbol_use(pass->kernel, let->symbol);
}

/* Appends a part, or puts it before the others of a loop that goes downwards. */
static void add_part(const struct cutter *cutter, struct ir_stmt **parts, struct ir_stmt *part)
{
    while (!cutter->is_downward && *parts)
        parts = &(*parts)->next;
    part->next = *parts;
    *parts = part;
}

static void cut_loop(struct cutter *cutter, struct ir_stmt **place)
{
    struct pass *pass = cutter->partition->pass;
    struct ir_stmt *loop = *place, *next = loop->next, *parts = NULL;
    struct ir_expr *from = loop->low, *end;

    loop->next = NULL;
    for (cutter->part = 0; cutter->part < cutter->count; cutter->part++) {
        struct ir_stmt *part = pass_copy_block(pass, loop);
        end = name_end(pass, &place, end_of(cutter, cutter->part, loop, from));
        settle_part(cutter, part, loop, from, end);
        from = pass_copy(pass, end);
        add_part(cutter, &parts, part);
    }
    settle_part(cutter, loop, loop, from, loop->high);
    add_part(cutter, &parts, loop);
    *place = parts;
    while (parts->next)
        parts = parts->next;
    parts->next = next;
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static void partition_block(struct partition *partition, struct ir_stmt **place, int depth);

static void partition_body(struct partition *partition, struct ir_stmt *loop, int depth)
{
    int dim;
    int64_t before;

    if (partition->count == PARTITION_LOOPS)
        return;
    before = partition_note_least(partition, loop, &dim);
    partition_know(partition, loop);
    partition_block(partition, &loop->body, depth);
    partition->count--;
    partition_forget_least(partition, dim, before);
}

/* The loops inside a part, which stands on both sides of a choice perhaps. */
static void partition_part(struct partition *partition, struct ir_stmt *stmt, int depth)
{
    for (struct ir_stmt *side = stmt->kind == IR_IF ? stmt->otherwise : NULL; side; side = side->next)
        partition_part(partition, side, depth + 1);
    for (struct ir_stmt *side = stmt->kind == IR_IF ? stmt->body : NULL; side; side = side->next)
        partition_part(partition, side, depth + 1);
    if (stmt->kind == IR_FOR)
        partition_body(partition, stmt, depth + 1);
}

/* Gives the place behind. */
static struct ir_stmt **partition_loop(struct partition *partition, struct ir_stmt **place, int depth)
{
    struct ir_stmt *loop = *place, *next = loop->next, **first = place;
    struct ir_expr *low = loop->low, *high = loop->high;
    struct cutter cutter = {
        .partition = partition, .variable = loop->symbol, .is_downward = loop->step == -1};

    if (cutter.is_downward)
        turn(partition->pass, loop);
    place = partition_name_elements(partition, place, cutter.is_downward);
    if (has_parts(&cutter, loop)) {
        cut_loop(&cutter, place);
        partition->changed = true;
    } else {
        partition_put_back(partition, first, loop);
        place = first;
        loop->low = low;
        loop->high = high;
        loop->step = cutter.is_downward ? -1 : loop->step;
    }
    for (; *place != next; place = &(*place)->next)
        partition_part(partition, *place, depth);
    return place;
}

static void partition_block(struct partition *partition, struct ir_stmt **place, int depth)
{
    while (*place && depth < DEEPEST) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_FOR) {
            place = partition_loop(partition, place, depth);
            continue;
        }
        partition_block(partition, &stmt->body, depth + 1);
        partition_block(partition, &stmt->otherwise, depth + 1);
        place = &stmt->next;
    }
}

bool pass_partition(struct pass *pass)
{
    struct partition partition = {.pass = pass, .left = MOST};

    partition.least = arena_array(pass->arena, int64_t, pass->kernel->dims.count);
    partition_block(&partition, &pass->kernel->body, 0);
    if (partition.changed) {
        pass_simplify(pass);
        pass_hoist(pass); /* the places, out of loops around */
    }
    return partition.changed;
}

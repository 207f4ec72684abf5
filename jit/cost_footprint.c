/*
 * cost_footprint.c: how many elements of its tensors one call of a kernel touches, each counted once.
 *
 * Every access is followed through the loops and conditions around it, but only through those that its
 * indices hang on: so the walk is about as long as the tensor is large, however often its elements are used
 * again. The elements are kept as bits; where the indices are linear in the innermost loop, its iterations
 * become one row of bits. An index that hangs on data may touch any element: as many are counted as there
 * are accesses, at most all, and the cost is marked as not exact.
 */
#include "cost_private.h"

#include <string.h>

#include "scalar.h"

/* What stands around an access, innermost first. */
struct place {
    const struct place *outer;
    const struct ir_stmt *stmt;      /* FOR or LET; NULL: a condition */
    const struct ir_expr *condition; /* must be `expected` */
    bool expected;
};

struct touch {
    const struct ir_access *access;
    const struct place *place;
    bool writes;
    bool unsure; /* some of it stands under a condition that is not known */
};

/* Elements of one tensor, read or written. */
struct elements {
    unsigned char *bits; /* NULL: none asked for */
    int64_t extents[AKG_MAX_RANK];
    int64_t count;   /* in all */
    int64_t unknown; /* touched by indices that are not known */
};

struct step {
    const struct place *place;
    bool needed; /* the access hangs on this loop's variable or this LET */
};

enum point_kind { POINT_NONE, POINT_ELEMENT, POINT_UNKNOWN, POINT_UNSURE };

struct footprint {
    struct cost_counter *counter;
    LIST(struct touch) touches;
    struct elements *sets[2]; /* by buffer->index: read, written */
    bool takes_unsure;        /* conditions that are not known count as met */

    /* of the touch at hand */
    struct touch *touch;
    struct elements *set;
    LIST(struct step) steps; /* outermost first */
    int row;                 /* the loop that becomes a row of bits, or -1 */
    bool probing;            /* only `point` is asked for */
    enum point_kind point;
    int64_t offset;
};

/* ---- collecting the accesses ------------------------------------------------------ */

static const struct place *place_new(struct footprint *print, const struct place *outer,
                                     const struct ir_stmt *stmt, const struct ir_expr *condition,
                                     bool expected)
{
    struct place *place = arena_new(&print->counter->arena, struct place);
    *place = (struct place){outer, stmt, condition, expected};
    return place;
}

static void add_touch(struct footprint *print, const struct ir_access *access, const struct place *place,
                      bool writes)
{
    enum ir_role role = access->buffer->role;
    if (role == IR_INOUT || (role == IR_INPUT && !writes))
        list_push(&print->counter->arena, &print->touches,
                  ((struct touch){.access = access, .place = place, .writes = writes}));
}

static void collect_expr(struct footprint *print, const struct ir_expr *expr, const struct place *place)
{
    if (expr->kind == IR_LOAD) {
        add_touch(print, &expr->access, place, false);
        for (int k = 0; k < expr->access.buffer->rank; k++)
            collect_expr(print, expr->access.indices[k], place);
    }
    if (expr->kind != IR_OPERATION)
        return;
    bool chooses = expr->operation == OP_SELECT,
         lazy = chooses || expr->operation == OP_AND || expr->operation == OP_OR;
    collect_expr(print, expr->operands[0], place);
    for (int k = 1; k < expr->count; k++) {
        bool expected = chooses ? k == 1 : expr->operation == OP_AND;
        collect_expr(print, expr->operands[k],
                     lazy ? place_new(print, place, NULL, expr->operands[0], expected) : place);
    }
}

static void collect_block(struct footprint *print, const struct ir_stmt *block, const struct place *place);

static void collect_if(struct footprint *print, const struct ir_stmt *stmt, const struct place *place)
{
    for (;;) {
        collect_expr(print, stmt->value, place);
        collect_block(print, stmt->body, place_new(print, place, NULL, stmt->value, true));
        place = place_new(print, place, NULL, stmt->value, false);
        const struct ir_stmt *rest = stmt->otherwise;
        if (!rest || rest->kind != IR_IF || rest->next) {
            collect_block(print, rest, place);
            return;
        }
        stmt = rest;
    }
}

static void collect_block(struct footprint *print, const struct ir_stmt *block, const struct place *place)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_IF) {
            collect_if(print, stmt, place);
            continue;
        }
        if (stmt->kind == IR_FOR) {
            collect_expr(print, stmt->low, place);
            collect_expr(print, stmt->high, place);
            collect_block(print, stmt->body, place_new(print, place, stmt, NULL, false));
            continue;
        }
        if (stmt->value)
            collect_expr(print, stmt->value, place);
        if (stmt->kind == IR_STORE) {
            for (int k = 0; k < stmt->access.buffer->rank; k++)
                collect_expr(print, stmt->access.indices[k], place);
            add_touch(print, &stmt->access, place, true);
        } else if (stmt->kind == IR_WHILE) {
            collect_block(print, stmt->body, place);
        } else if (stmt->kind == IR_LET) {
            place = place_new(print, place, stmt, NULL, false);
        }
    }
}

/* ---- what an access hangs on ---------------------------------------------------------- */

static bool mark_symbol(struct ir_expr *expr, void *context)
{
    struct cost_counter *counter = context;
    if (expr->kind == IR_SYMBOL)
        counter->symbols[expr->symbol->slot].marked = true;
    return true;
}

static void mark(struct footprint *print, const struct ir_expr *expr)
{
    ir_expr_walk((struct ir_expr *)expr, mark_symbol, print->counter);
}

static void unmark_all(struct footprint *print)
{
    for (int k = 0; k < print->counter->kernel->slot_count; k++)
        print->counter->symbols[k].marked = false;
}

static bool is_loop(const struct place *place)
{
    return place->stmt && place->stmt->kind == IR_FOR;
}

/* The steps of the touch at hand, outermost first, each with whether it is needed. */
static void find_steps(struct footprint *print)
{
    struct cost_symbol *symbols = print->counter->symbols;
    const struct ir_access *access = print->touch->access;
    print->steps.count = 0;
    for (int k = 0; k < access->buffer->rank; k++)
        mark(print, access->indices[k]);
    for (const struct place *place = print->touch->place; place; place = place->outer) {
        struct step step = {place, true};
        if (place->stmt)
            step.needed = symbols[place->stmt->symbol->slot].marked;
        if (!place->stmt) {
            mark(print, place->condition);
        } else if (is_loop(place)) { /* even one that is not needed must not be empty */
            mark(print, place->stmt->low);
            mark(print, place->stmt->high);
        } else if (step.needed) {
            mark(print, place->stmt->value);
        }
        list_push(&print->counter->arena, &print->steps, step);
    }
    unmark_all(print);
    for (int a = 0, b = print->steps.count - 1; a < b; a++, b--) {
        struct step step = print->steps.items[a];
        print->steps.items[a] = print->steps.items[b];
        print->steps.items[b] = step;
    }
}

/* Whether the expression is linear in what is marked. */
static bool is_linear(struct footprint *print, const struct ir_expr *expr)
{
    if (expr->kind == IR_SYMBOL || !cost_names_marked(print->counter, expr))
        return true;
    if (expr->kind != IR_OPERATION || expr->dtype != AKG_INT64)
        return false;
    const struct ir_expr *a = expr->operands[0], *b = expr->count > 1 ? expr->operands[1] : NULL;
    switch (expr->operation) {
    case OP_NEG:
        return is_linear(print, a);
    case OP_ADD:
    case OP_SUB:
        return is_linear(print, a) && is_linear(print, b);
    case OP_MUL:
        return (!cost_names_marked(print->counter, a) && is_linear(print, b)) ||
               (!cost_names_marked(print->counter, b) && is_linear(print, a));
    default:
        return false;
    }
}

/* Whether the iterations of the loop at step `at` touch elements of equal distances. */
static bool is_row(struct footprint *print, int at)
{
    const struct ir_access *access = print->touch->access;
    bool linear = true;
    print->counter->symbols[print->steps.items[at].place->stmt->symbol->slot].marked = true;
    for (int k = at + 1; k < print->steps.count && linear; k++) {
        const struct place *place = print->steps.items[k].place;
        if (!place->stmt) {
            linear = !cost_names_marked(print->counter, place->condition);
        } else if (is_loop(place)) {
            linear = !cost_names_marked(print->counter, place->stmt->low) &&
                     !cost_names_marked(print->counter, place->stmt->high);
        } else if (cost_names_marked(print->counter, place->stmt->value)) {
            linear = is_linear(print, place->stmt->value);
            print->counter->symbols[place->stmt->symbol->slot].marked = true;
        }
    }
    for (int k = 0; k < access->buffer->rank && linear; k++)
        linear = is_linear(print, access->indices[k]);
    unmark_all(print);
    return linear;
}

static int find_row(struct footprint *print)
{
    int at = print->steps.count - 1;
    while (at >= 0 && !(is_loop(print->steps.items[at].place) && print->steps.items[at].needed))
        at--;
    return at >= 0 && is_row(print, at) ? at : -1;
}

/* ---- touching -------------------------------------------------------------------------- */

static void set_bits(unsigned char *bits, int64_t first, int64_t count)
{
    for (; count > 0 && first % 8; first++, count--)
        bits[first / 8] |= (unsigned char)(1u << first % 8);
    if (count >= 8)
        memset(bits + first / 8, 0xff, (size_t)(count / 8));
    for (first += count / 8 * 8, count %= 8; count > 0; first++, count--)
        bits[first / 8] |= (unsigned char)(1u << first % 8);
}

static int64_t count_bits(const struct elements *set)
{
    int64_t total = 0;
    for (int64_t k = 0; k < (set->count + 7) / 8; k++)
        total += __builtin_popcount(set->bits[k]);
    return total;
}

static void touch_all(struct footprint *print)
{
    print->counter->cost->exact = false;
    set_bits(print->set->bits, 0, print->set->count);
}

/* The element that the access has where the walk stands. */
static void find_point(struct footprint *print)
{
    const struct ir_access *access = print->touch->access;
    int64_t index;
    print->offset = 0;
    print->point = POINT_ELEMENT;
    for (int k = 0; k < access->buffer->rank; k++) {
        if (!cost_integer(print->counter, access->indices[k], &index)) {
            print->point = POINT_UNKNOWN;
            return;
        }
        if (index < 0 || index >= print->set->extents[k]) { /* such a call stops there */
            print->point = POINT_NONE;
            return;
        }
        print->offset = print->offset * print->set->extents[k] + index;
    }
}

static void take_point(struct footprint *print)
{
    find_point(print);
    if (print->probing)
        return;
    if (print->point == POINT_ELEMENT)
        set_bits(print->set->bits, print->offset, 1);
    else if (print->point == POINT_UNKNOWN)
        print->set->unknown = cost_add(print->set->unknown, 1);
}

static void walk(struct footprint *print, int at);

/* The walk of one iteration, for its point. */
static enum point_kind probe(struct footprint *print, int at, const struct ir_stmt *loop, int64_t value,
                             int64_t *offset)
{
    cost_set(print->counter, loop->symbol, value);
    print->probing = true;
    print->point = POINT_NONE;
    walk(print, at + 1);
    print->probing = false;
    *offset = print->offset;
    return print->point;
}

/* False where the iterations have to be walked one by one. */
static bool touch_row(struct footprint *print, int at, const struct ir_stmt *loop, int64_t low, int64_t trips)
{
    int64_t first, last;
    enum point_kind kind = probe(print, at, loop, low, &first);
    enum point_kind end = probe(print, at, loop, low + (trips - 1) * loop->step, &last);
    if (kind != end)
        return false;
    if (kind == POINT_UNSURE)
        print->touch->unsure = true;
    if (kind == POINT_UNKNOWN)
        print->set->unknown = cost_add(print->set->unknown, trips);
    if (kind != POINT_ELEMENT)
        return true;
    int64_t distance = trips > 1 ? (last - first) / (trips - 1) : 0;
    if (distance == 1)
        set_bits(print->set->bits, first, trips);
    else
        for (int64_t k = 0; k < (distance ? trips : 1); k++)
            set_bits(print->set->bits, first + k * distance, 1);
    return true;
}

static void walk_loop(struct footprint *print, int at)
{
    const struct step *step = &print->steps.items[at];
    const struct ir_stmt *loop = step->place->stmt;
    int64_t low, trips;
    if (!cost_trips(print->counter, loop, &low, &trips)) {
        print->counter->symbols[loop->symbol->slot].known = false;
        print->counter->cost->exact = false;
        walk(print, at + 1);
        return;
    }
    if (trips == 0)
        return;
    if (!step->needed || print->probing) {
        cost_set(print->counter, loop->symbol, low);
        walk(print, at + 1);
        return;
    }
    if (at == print->row && touch_row(print, at, loop, low, trips))
        return;
    for (int64_t k = 0; k < trips; k++) {
        if (++print->counter->work > COST_MOST_WORK) {
            touch_all(print);
            return;
        }
        cost_set(print->counter, loop->symbol, low + k * loop->step);
        walk(print, at + 1);
    }
}

static void walk(struct footprint *print, int at)
{
    for (; at < print->steps.count; at++) {
        const struct place *place = print->steps.items[at].place;
        int64_t condition;
        if (is_loop(place)) {
            walk_loop(print, at);
            return;
        }
        if (place->stmt) {
            if (print->steps.items[at].needed)
                cost_declare(print->counter, place->stmt);
        } else if (cost_integer(print->counter, place->condition, &condition)) {
            if ((condition != 0) != place->expected)
                return;
        } else if (!print->takes_unsure) {
            print->point = POINT_UNSURE;
            print->touch->unsure |= !print->probing;
            return;
        }
    }
    take_point(print);
}

/* ---- tensors ------------------------------------------------------------------------------- */

static int64_t extents_of(struct footprint *print, const struct ir_buffer *buffer, int64_t *extents)
{
    int64_t count = 1;
    for (int k = 0; k < buffer->rank; k++) {
        union dtype_value extent;
        bool known =
            scalar_evaluate(buffer->shape[k], print->counter->dims, print->counter->scalars, &extent);
        extents[k] = known && extent.i > 0 ? extent.i : 0;
        count = cost_multiply(count, extents[k]);
    }
    return count;
}

static struct elements *set_of(struct footprint *print, const struct touch *touch)
{
    const struct ir_buffer *buffer = touch->access->buffer;
    struct elements *set = &print->sets[touch->writes][buffer->index];
    if (!set->bits) {
        set->count = extents_of(print, buffer, set->extents);
        set->bits = arena_allocate(&print->counter->arena, (size_t)(set->count / 8 + 1));
    }
    return set;
}

static void follow(struct footprint *print, struct touch *touch)
{
    print->touch = touch;
    print->set = set_of(print, touch);
    if (print->set->count == 0)
        return;
    find_steps(print);
    print->row = find_row(print);
    walk(print, 0);
}

/* What stands under conditions that are not known is exact where all of it is touched anyway. */
static void follow_unsure(struct footprint *print, struct touch *touch)
{
    struct elements *set = set_of(print, touch);
    int64_t before = count_bits(set), unknown = set->unknown;
    follow(print, touch);
    if (count_bits(set) != before || set->unknown != unknown)
        print->counter->cost->exact = false;
}

static int64_t bytes_of(struct footprint *print, const struct elements *set, akg_dtype dtype)
{
    if (!set->bits)
        return 0;
    int64_t count = cost_add(count_bits(set), set->unknown);
    print->counter->cost->exact &= set->unknown == 0 || count_bits(set) == set->count;
    return cost_multiply(count < set->count ? count : set->count, (int64_t)akg_dtype_size(dtype));
}

void cost_footprint(struct cost_counter *counter)
{
    struct footprint print = {.counter = counter};
    struct cost *cost = counter->cost;
    const struct ir_kernel *kernel = counter->kernel;

    for (int k = 0; k < 2; k++)
        print.sets[k] = arena_array(&counter->arena, struct elements, kernel->buffers.count + 1);
    collect_block(&print, kernel->body, NULL);
    for (int k = 0; k < print.touches.count; k++)
        follow(&print, &print.touches.items[k]);
    print.takes_unsure = true;
    for (int k = 0; k < print.touches.count; k++)
        if (print.touches.items[k].unsure)
            follow_unsure(&print, &print.touches.items[k]);
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        int64_t extents[AKG_MAX_RANK];
        cost->bytes_read = cost_add(cost->bytes_read, bytes_of(&print, &print.sets[0][k], buffer->dtype));
        cost->bytes_written =
            cost_add(cost->bytes_written, bytes_of(&print, &print.sets[1][k], buffer->dtype));
        if (buffer->role == IR_OUTPUT)
            cost->bytes_written =
                cost_add(cost->bytes_written, cost_multiply(extents_of(&print, buffer, extents),
                                                            (int64_t)akg_dtype_size(buffer->dtype)));
    }
}

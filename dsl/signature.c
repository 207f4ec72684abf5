/*
 * signature.c: what a function's text tells of its parameters before any call.
 *
 * Ranks, from indices, unpacked shapes and annotations; and what the
 * program calls each dim: by annotation (K), by the name it is given (k = x.shape[1]), by
 * the loop that runs over it (for k in range(x.shape[1])), or, for the axis that such a
 * loop's variable indexes, by the same name again. Used for reports and for names in IR and C.
 */
#include <string.h>

#include "elaborate_private.h"

/* The length of a tuple or rank of a tensor: `count`, or the rank of parameter `base` plus `count`. */
struct length {
    bool known;
    int base; /* -1: none */
    int count;
};

struct inference {
    struct arena *arena;
    const struct ast_function *function;
    struct signature *signature;
    struct length *locals; /* per slot: rank of a local tensor */
    struct dim_place {
        bool known;
        int parameter;
        int64_t axis;
    } * dims; /* per slot: the dim that a local stands for */
    bool changed;
};

static const struct length length_unknown = {false, -1, 0};

static struct length length_of(struct inference *in, const struct ast_expr *expr, int depth);

/* The number of the parameter that an expression names, or -1. A variadic one is no tensor, but a tuple of
 * them: xs[0] takes one, and says nothing of its rank. */
static int inference_parameter(struct inference *in, const struct ast_expr *expr)
{
    struct ast_binding *binding = expr && expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;
    if (!binding || binding->kind != AST_BINDING_PARAMETER || binding->parameter->variadic ||
        binding->parameter->tuple)
        return -1;
    return (int)(binding->parameter - in->function->parameters);
}

static struct length length_resolve(struct inference *in, struct length length)
{
    if (length.known && length.base >= 0 && in->signature->ranks[length.base] >= 0)
        return (struct length){true, -1, in->signature->ranks[length.base] + length.count};
    return length;
}

static bool inference_is_builtin_call(const struct ast_expr *expr, int builtin)
{
    return expr && expr->kind == AST_CALL && expr->a->kind == AST_NAME && !ast_binding_of(expr->a) &&
           expr->a->builtin == builtin && expr->count >= 1;
}

/* Rank of the tensor that an expression names. */
static struct length rank_of(struct inference *in, const struct ast_expr *expr)
{
    int parameter = inference_parameter(in, expr);
    struct ast_binding *binding = expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;

    if (parameter >= 0)
        return length_resolve(in, (struct length){true, parameter, 0});
    if (binding && binding->kind == AST_BINDING_LOCAL && binding->slot >= 0 &&
        in->locals[binding->slot].known)
        return length_resolve(in, in->locals[binding->slot]);
    return length_unknown;
}

static struct length length_of_name(struct inference *in, const struct ast_expr *expr, int depth)
{
    struct ast_binding *binding = ast_binding_of(expr);
    if (!binding || depth > 20)
        return length_unknown;
    if (binding->kind == AST_BINDING_LOOP)
        return in->locals[binding->slot]; /* of a grid */
    if (binding->kind == AST_BINDING_LOCAL && binding->declared_by && binding->assignments == 1)
        return length_of(in, binding->declared_by, depth + 1);
    return length_unknown;
}

/* An item of a tuple, or an end of a slice, that is a number of the program: 3, -4. */
static bool inference_constant(const struct ast_expr *expr, int *constant)
{
    const struct ast_expr *number = expr->kind == AST_UNARY && expr->operation == OP_NEG ? expr->a : expr;

    if (number->kind != AST_INTEGER || number->is_large || number->integer > AKG_MAX_RANK)
        return false;
    *constant = number == expr ? (int)number->integer : -(int)number->integer;
    return true;
}

/* A constant end of a slice. */
static bool length_slice_end(const struct ast_expr *end, int initial, int *at)
{
    *at = initial;
    if (!end)
        return true;
    return inference_constant(end, at);
}

/* tuple[low:high] of a tuple that is long enough for both. */
static struct length length_of_slice(struct inference *in, const struct ast_expr *expr, int depth)
{
    struct length whole = length_of(in, expr->a, depth + 1);
    const struct ast_expr *slice =
        expr->count == 1 && expr->items[0]->kind == AST_SLICE ? expr->items[0] : NULL;
    int low, high;

    if (slice && slice->condition && !slice->a && !slice->b && slice->condition->kind == AST_UNARY &&
        slice->condition->operation == OP_NEG && slice->condition->a->kind == AST_INTEGER &&
        slice->condition->a->integer == 1)
        return whole; /* reversed */
    if (!slice || slice->condition || !length_slice_end(slice->a, 0, &low) ||
        !length_slice_end(slice->b, 0, &high))
        return length_unknown;
    if (slice->b && (high < 0) == (low < 0))
        return (struct length){true, -1, high > low ? high - low : 0};
    if (low < 0)
        return slice->b ? length_unknown : (struct length){true, -1, -low};
    return (struct length){whole.known, whole.base, whole.count + high - low};
}

static struct length length_of(struct inference *in, const struct ast_expr *expr, int depth)
{
    struct length a, b;

    if (depth > 40)
        return length_unknown;
    switch (expr->kind) {
    case AST_ATTRIBUTE:
        return strcmp(expr->text, "shape") == 0 ? rank_of(in, expr->a) : length_unknown;
    case AST_TUPLE:
        for (int i = 0; i < expr->count; i++)
            if (expr->items[i]->kind == AST_STARRED)
                return length_unknown;
        return (struct length){true, -1, expr->count};
    case AST_NAME:
        return length_of_name(in, expr, depth);
    case AST_BINARY:
        if (expr->operation != OP_ADD)
            return length_unknown;
        a = length_of(in, expr->a, depth + 1);
        b = length_of(in, expr->b, depth + 1);
        if (!a.known || !b.known || (a.base >= 0 && b.base >= 0))
            return length_unknown;
        return (struct length){true, a.base >= 0 ? a.base : b.base, a.count + b.count};
    case AST_CONDITIONAL:
        a = length_of(in, expr->a, depth + 1);
        b = length_of(in, expr->b, depth + 1);
        return a.known && b.known && a.base == b.base && a.count == b.count ? a : length_unknown;
    case AST_SUBSCRIPT:
        return length_of_slice(in, expr, depth);
    default:
        return length_unknown;
    }
}

static void inference_set(struct inference *in, struct length of, int rank)
{
    if (!of.known || of.base < 0 || rank - of.count < 0 || rank - of.count > AKG_MAX_RANK ||
        in->signature->ranks[of.base] >= 0)
        return;
    in->signature->ranks[of.base] = rank - of.count;
    in->changed = true;
}

/* Two tensors of any rank, where that of one follows from that of the other: a[arg] and b[arg[1:]]. */
static void inference_link(struct inference *in, struct length a, struct length b)
{
    struct signature *signature = in->signature;

    for (; signature->linked[a.base] >= 0; a.base = signature->linked[a.base])
        a.count += signature->linked_by[a.base];
    for (; signature->linked[b.base] >= 0; b.base = signature->linked[b.base])
        b.count += signature->linked_by[b.base];
    if (a.base == b.base)
        return;
    signature->linked[a.base] = b.base;
    signature->linked_by[a.base] = b.count - a.count;
}

static void inference_label(struct inference *in, int parameter, int64_t axis, const char *name)
{
    char *label;

    if (parameter < 0 || axis < 0 || axis >= AKG_MAX_RANK || in->signature->labels[parameter][axis])
        return;
    label = arena_format(in->arena, "%s", name);
    for (char *at = label; *at; at++)
        if (*at >= 'a' && *at <= 'z')
            *at = (char)(*at - 'a' + 'A');
    in->signature->labels[parameter][axis] = label;
    in->changed = true;
}

/* p.shape[k], or len(p): which parameter and axis. */
static bool inference_dim(struct inference *in, const struct ast_expr *expr, int *parameter, int64_t *axis)
{
    struct ast_binding *binding = expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;

    if (binding && binding->kind == AST_BINDING_LOCAL) {
        const struct dim_place *place = &in->dims[binding->slot];
        *parameter = place->parameter;
        *axis = place->axis;
        return place->known;
    }
    *axis = 0;
    if (inference_is_builtin_call(expr, BUILTIN_LEN)) {
        *parameter = inference_parameter(in, expr->items[0]);
        return *parameter >= 0;
    }
    if (expr->kind != AST_SUBSCRIPT || expr->count != 1 || expr->items[0]->kind != AST_INTEGER ||
        expr->a->kind != AST_ATTRIBUTE || strcmp(expr->a->text, "shape") != 0)
        return false;
    *parameter = inference_parameter(in, expr->a->a);
    *axis = expr->items[0]->integer;
    return *parameter >= 0;
}

/* The label of the dim that a loop variable runs over, or NULL. */
static const char *inference_loop_label(struct inference *in, const struct ast_expr *index)
{
    struct ast_binding *binding = index->kind == AST_NAME ? ast_binding_of(index) : NULL;
    const struct ast_expr *range = binding && binding->kind == AST_BINDING_LOOP ? binding->declared_by : NULL;
    const struct ast_expr *last;
    int parameter;
    int64_t axis;

    if (!range || range->count < 1 || range->count > 2)
        return NULL;
    last = range->items[range->count - 1];
    if (!inference_dim(in, last, &parameter, &axis) || axis >= AKG_MAX_RANK)
        return NULL;
    return in->signature->labels[parameter][axis];
}

/* An index that is a tuple, as far as the text shows it. */
static bool inference_is_tuple(const struct ast_expr *expr, int depth)
{
    struct ast_binding *binding = expr->kind == AST_NAME ? ast_binding_of(expr) : NULL;

    if (depth > 8)
        return false;
    if (binding && binding->kind == AST_BINDING_LOOP)
        return inference_is_builtin_call(binding->declared_by, BUILTIN_GRID);
    if (binding && binding->kind == AST_BINDING_LOCAL)
        return binding->declared_by && inference_is_tuple(binding->declared_by, depth + 1);
    if (binding && binding->kind == AST_BINDING_CONSTANT)
        return inference_is_tuple(binding->value, depth + 1);
    if (binding && binding->kind == AST_BINDING_PARAMETER)
        return (binding->parameter->initial && binding->parameter->initial->kind == AST_TUPLE) ||
               elaborate_attribute_builtin(binding->parameter) == BUILTIN_TUPLE;
    if (expr->kind == AST_CALL)
        return expr->a->kind == AST_NAME &&
               ast_binding_of(expr->a); /* a function of the file gives anything */
    if (expr->kind == AST_CONDITIONAL)
        return inference_is_tuple(expr->a, depth + 1);
    return expr->kind == AST_TUPLE || expr->kind == AST_LIST_DISPLAY ||
           (expr->kind == AST_ATTRIBUTE && strcmp(expr->text, "shape") == 0) ||
           (expr->kind == AST_SUBSCRIPT && expr->count == 1 && expr->items[0]->kind == AST_SLICE) ||
           (expr->kind == AST_BINARY &&
            (inference_is_tuple(expr->a, depth + 1) || inference_is_tuple(expr->b, depth + 1)));
}

static void inference_subscript(struct inference *in, const struct ast_expr *expr)
{
    struct length of = rank_of(in, expr->a), total = {true, -1, 0};
    int parameter = inference_parameter(in, expr->a);

    for (int i = 0; i < expr->count; i++) {
        const struct ast_expr *item = expr->items[i];
        struct length length = length_of(in, item->kind == AST_STARRED ? item->a : item, 0);
        if (!length.known && (item->kind == AST_STARRED || inference_is_tuple(item, 0)))
            return;
        if (length.known && length.base >= 0 && total.base >= 0)
            return; /* the sum of two ranks says nothing about either */
        if (length.known && (item->kind != AST_INTEGER))
            total = (struct length){true, length.base >= 0 ? length.base : total.base,
                                    total.count + length.count};
        else
            total.count++;
    }
    total = length_resolve(in, total);
    if (!of.known)
        return;
    if (total.base < 0)
        inference_set(in, of, total.count);
    else if (of.base < 0)
        inference_set(in, total, of.count);
    else
        inference_link(in, of, total);
    for (int i = 0; i < expr->count && parameter >= 0 && i < AKG_MAX_RANK; i++) {
        const char *label = inference_loop_label(in, expr->items[i]);
        if (label && in->signature->ranks[parameter] == expr->count)
            inference_label(in, parameter, i, label);
    }
}

static void inference_call(struct inference *in, const struct ast_expr *expr);

/* x.shape[3] and p[-4] ask for four axes at least, an item of a tuple that is handed in for so many. */
static void inference_least(struct inference *in, const struct ast_expr *expr)
{
    int parameter = inference_parameter(in, expr->a), at, least;
    struct length tuple;

    if (!inference_constant(expr->items[0], &at))
        return;
    tuple = length_of(in, expr->a, 0);
    if (parameter >= 0 && elaborate_attribute_builtin(&in->function->parameters[parameter]) == BUILTIN_TUPLE)
        tuple = (struct length){true, parameter, 0};
    if (!tuple.known || tuple.base < 0)
        return;
    least = (at >= 0 ? at + 1 : -at) - tuple.count;
    if (least > in->signature->least_ranks[tuple.base] && least <= AKG_MAX_RANK)
        in->signature->least_ranks[tuple.base] = least;
}

static void inference_expr(struct inference *in, const struct ast_expr *expr);

/* x[i][j] is refused later, as what it is: x[i] alone says nothing of the rank. */
static void inference_chain(struct inference *in, const struct ast_expr *expr)
{
    for (; expr->kind == AST_SUBSCRIPT; expr = expr->a)
        for (int i = 0; i < expr->count; i++)
            inference_expr(in, expr->items[i]);
    inference_expr(in, expr);
}

static void inference_expr(struct inference *in, const struct ast_expr *expr)
{
    if (!expr)
        return;
    if (expr->kind == AST_CALL)
        inference_call(in, expr);
    if (expr->kind == AST_SUBSCRIPT && expr->a->kind == AST_NAME)
        inference_subscript(in, expr);
    if (expr->kind == AST_SUBSCRIPT && expr->count == 1)
        inference_least(in, expr);
    if (expr->kind == AST_SUBSCRIPT && expr->a->kind == AST_SUBSCRIPT) {
        inference_chain(in, expr);
        return;
    }
    inference_expr(in, expr->a);
    inference_expr(in, expr->b);
    inference_expr(in, expr->condition);
    for (int i = 0; i < expr->count; i++)
        inference_expr(in, expr->items[i]);
}

/* A local that stands for a dim gives it its name. */
static void inference_name_dim(struct inference *in, const struct ast_expr *target, int parameter,
                               int64_t axis)
{
    struct ast_binding *binding = ast_binding_of(target);

    if (!binding || binding->kind != AST_BINDING_LOCAL || binding->assignments != 1)
        return;
    in->dims[binding->slot] = (struct dim_place){true, parameter, axis};
    inference_label(in, parameter, axis, target->text);
}

static void inference_assign(struct inference *in, const struct ast_stmt *stmt)
{
    struct ast_binding *binding = stmt->target->kind == AST_NAME ? ast_binding_of(stmt->target) : NULL;
    const struct ast_expr *value = stmt->value;
    int parameter;
    int64_t axis;

    if (binding && binding->slot >= 0 &&
        (inference_is_builtin_call(value, BUILTIN_OUTPUT_TENSOR) ||
         inference_is_builtin_call(value, BUILTIN_ALLOCATE)))
        in->locals[binding->slot] = length_of(in, value->items[0], 0);
    if (binding && binding->kind == AST_BINDING_LOCAL && binding->assignments == 1 &&
        inference_dim(in, value, &parameter, &axis))
        inference_name_dim(in, stmt->target, parameter, axis);
    if (stmt->target->kind == AST_TUPLE)
        inference_set(in, length_of(in, value, 0), stmt->target->count);
    if (stmt->target->kind == AST_TUPLE && value->kind == AST_ATTRIBUTE &&
        strcmp(value->text, "shape") == 0) {
        parameter = inference_parameter(in, value->a);
        for (int i = 0; i < stmt->target->count && parameter >= 0; i++)
            if (stmt->target->items[i]->kind == AST_NAME && strcmp(stmt->target->items[i]->text, "_") != 0)
                inference_name_dim(in, stmt->target->items[i], parameter, i);
    }
}

static void inference_for(struct inference *in, const struct ast_stmt *stmt)
{
    struct ast_binding *binding = stmt->target->kind == AST_NAME ? ast_binding_of(stmt->target) : NULL;
    const struct ast_expr *over = stmt->value;
    int parameter;
    int64_t axis;

    if (inference_is_builtin_call(over, BUILTIN_GRID)) {
        struct length length = length_of(in, over->items[0], 0);
        if (binding)
            in->locals[binding->slot] = length;
        else if (stmt->target->kind == AST_TUPLE)
            inference_set(in, length, stmt->target->count);
    }
    if (binding && over->kind == AST_CALL) {
        if (over->count == 1 && inference_dim(in, over->items[0], &parameter, &axis))
            inference_label(in, parameter, axis, binding->name);
    }
}

static void inference_block(struct inference *in, const struct ast_stmt *first)
{
    for (const struct ast_stmt *stmt = first; stmt; stmt = stmt->next) {
        if (stmt->kind == AST_ASSIGN)
            inference_assign(in, stmt);
        if (stmt->kind == AST_FOR)
            inference_for(in, stmt);
        inference_expr(in, stmt->target);
        inference_expr(in, stmt->value);
        inference_block(in, stmt->body);
        inference_block(in, stmt->otherwise);
    }
}

/* What a callee asks of its parameters holds of what is handed in. */
static void inference_call(struct inference *in, const struct ast_expr *expr)
{
    struct ast_binding *binding =
        expr && expr->kind == AST_CALL && expr->a->kind == AST_NAME ? ast_binding_of(expr->a) : NULL;
    const struct signature *callee;

    if (!binding || binding->kind != AST_BINDING_FUNCTION || binding->function->broken ||
        binding->function->is_broadcast || expr->a->builtin) /* perhaps the scalar function of that name */
        return;
    callee = signature_infer(in->arena, binding->function);
    if (!callee)
        return;
    for (int i = 0; i < expr->count && i < binding->function->parameter_count; i++)
        if (expr->items[i]->kind == AST_NAME && callee->ranks[i] >= 0)
            inference_set(in, rank_of(in, expr->items[i]), callee->ranks[i]);
}

static void inference_annotations(struct inference *in)
{
    for (int i = 0; i < in->function->parameter_count; i++) {
        const struct ast_expr *annotation = in->function->parameters[i].annotation;
        int rank = -1;
        if (!annotation)
            continue;
        elaborate_annotation(annotation, &rank);
        in->signature->ranks[i] = rank;
        annotation = ast_annotation_shape(annotation);
        for (int k = 0; annotation && k < rank && k < AKG_MAX_RANK; k++)
            if (annotation->items[k]->kind == AST_NAME)
                in->signature->labels[i][k] = annotation->items[k]->text;
    }
}

/* What is asked of a tensor whose rank follows from another's is asked of that one. */
static void inference_spread_least(struct inference *in)
{
    struct signature *signature = in->signature;

    for (int i = 0; i < in->function->parameter_count; i++) {
        int least = signature->least_ranks[i];
        for (int at = i; least && signature->linked[at] >= 0; at = signature->linked[at]) {
            int *from = &signature->least_ranks[signature->linked[at]];
            least -= signature->linked_by[at];
            *from = least > *from ? least : *from;
        }
    }
}

const struct signature *signature_infer(struct arena *arena, struct ast_function *function)
{
    struct inference in = {.arena = arena, .function = function};
    struct signature *signature;
    int count = function->parameter_count + 1;

    if (function->signature || function->broken)
        return function->signature;
    signature = arena_new(arena, struct signature);
    signature->ranks = arena_array(arena, int, count);
    signature->least_ranks = arena_array(arena, int, count);
    signature->labels = arena_allocate(arena, sizeof *signature->labels * (size_t)count);
    in.signature = signature;
    in.locals = arena_array(arena, struct length, function->slot_count + 1);
    in.dims = arena_array(arena, struct dim_place, function->slot_count + 1);
    signature->linked = arena_array(arena, int, count);
    signature->linked_by = arena_array(arena, int, count);
    for (int i = 0; i < count; i++)
        signature->ranks[i] = signature->linked[i] = -1;
    for (int i = 0; i < function->slot_count; i++)
        in.locals[i].base = -1;
    inference_annotations(&in);
    for (int pass = 0; pass < 6; pass++) {
        in.changed = false;
        inference_block(&in, function->body);
        if (!in.changed)
            break;
    }
    inference_spread_least(&in);
    function->signature = signature;
    return signature;
}

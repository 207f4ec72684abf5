/*
 * vector_leave.c: loops that a condition ends.
 *
 *     for i in range(n):
 *         if x[i] > t: at = i; break
 *         y[i] = 2 * x[i]
 *
 * Consumes such a loop. Its vectors end before the first group of iterations one of which leaves: a test
 * before anything has an effect, as of an index that lies outside (vector_gather.c). C goes on from there,
 * with what the iteration that leaves does. So the loop that becomes values is another one, which never
 * leaves: the conditions stand in it as IFs of nothing.
 */
#include "pass.h"
#include "vector_build.h"

struct leaving {
    struct ir_kernel *kernel;
    struct ir_stmt **end; /* where the next statement goes */
};

static bool append(struct leaving *leaving, const struct ir_stmt *first);

static bool has_jump(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_BREAK || stmt->kind == IR_CONTINUE ||
           (stmt->kind == IR_IF && (pass_jumps(stmt->body) || pass_jumps(stmt->otherwise)));
}

/* Whether the side of an IF ends by leaving, and jumps nowhere else. */
static bool leaves(const struct ir_stmt *side)
{
    while (side && side->next && !has_jump(side))
        side = side->next;
    return side && !side->next && side->kind == IR_BREAK;
}

static void append_copy(struct leaving *leaving, const struct ir_stmt *stmt)
{
    struct ir_stmt *copy = arena_new(leaving->kernel->arena, struct ir_stmt);
    *copy = *stmt;
    copy->next = NULL;
    *leaving->end = copy;
    leaving->end = &copy->next;
}

/* The condition alone, and what the side that stays does. */
static bool append_leaving(struct leaving *leaving, const struct ir_stmt *stmt)
{
    bool body_leaves = leaves(stmt->body);
    struct ir_stmt condition = *stmt;
    condition.body = condition.otherwise = NULL;
    if (!body_leaves)
        condition.value = ir_operation(leaving->kernel, OP_NOT, stmt->value, NULL, NULL);
    append_copy(leaving, &condition);
    return append(leaving, body_leaves ? stmt->otherwise : stmt->body);
}

static bool append(struct leaving *leaving, const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next) {
        bool is_condition = stmt->kind == IR_IF && (leaves(stmt->body) || leaves(stmt->otherwise));
        if (is_condition ? !append_leaving(leaving, stmt) : has_jump(stmt))
            return false;
        if (!is_condition)
            append_copy(leaving, stmt);
    }
    return true;
}

const struct ir_stmt *vector_without_leaving(struct arena *arena, const struct ir_kernel *kernel,
                                             const struct ir_stmt *stmt)
{
    struct ir_kernel copy = *kernel;
    struct ir_stmt *loop = arena_new(arena, struct ir_stmt);
    struct leaving leaving = {.kernel = &copy, .end = &loop->body};
    copy.arena = arena;
    *loop = *stmt;
    loop->body = loop->next = NULL;
    return pass_jumps(stmt->body) && append(&leaving, stmt->body) ? loop : NULL;
}

void vector_leave(struct vector_builder *builder, const struct ir_expr *condition)
{
    struct vector_value test = vector_blank(VECTOR_TEST, AKG_BOOL);
    test.operands[0] = vector_expression(builder, condition);
    if (builder->refused || builder->nest || builder->is_serial || builder->mask >= 0 ||
        vector_has_effects(builder->loop)) {
        vector_refuse(builder);
        return;
    }
    vector_add(builder, test);
    builder->loop->stops = builder->loop->leaves = true;
    builder->is_guarded =
        true; /* what stands behind it may be there, or be divided by, only where it does not hold */
}

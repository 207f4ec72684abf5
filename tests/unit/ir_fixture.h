/*
 * ir_fixture.h: what the unit tests of the IR build kernels with: short names for the constructors, which
 * work on `kernel`, and one kernel that holds nearly every kind of node.
 */
#ifndef TESTS_UNIT_IR_FIXTURE_H
#define TESTS_UNIT_IR_FIXTURE_H

#include "../../ir/ir.h"
#include "check.h"

static struct arena arena;
static jmp_buf escape;

static struct ir_kernel *kernel;

static inline struct ir_expr *num(int64_t value)
{
    return ir_integer(kernel, AKG_INT64, value);
}

static inline struct ir_expr *use(struct ir_symbol *symbol)
{
    return ir_symbol_use(kernel, symbol);
}

static inline struct ir_expr *op(enum operation operation, struct ir_expr *a, struct ir_expr *b)
{
    return ir_operation(kernel, operation, a, b, NULL);
}

static inline struct ir_expr *load(struct ir_buffer *buffer, struct ir_expr *i, struct ir_expr *j)
{
    struct ir_expr *indices[] = {i, j};
    return ir_load(kernel, buffer, indices);
}

static inline struct ir_stmt *stmt_new(enum ir_stmt_kind kind, int line, struct ir_stmt *next)
{
    struct ir_stmt *stmt = ir_stmt_new(kernel, kind, (struct span){line, 5, line, 9});
    stmt->next = next;
    return stmt;
}

static inline struct ir_stmt *store(struct ir_expr *target, struct ir_expr *value, int line,
                                    struct ir_stmt *next)
{
    struct ir_stmt *stmt = stmt_new(IR_STORE, line, next);
    stmt->access = target->access;
    stmt->value = value;
    return stmt;
}

static inline struct ir_stmt *scalar(enum ir_stmt_kind kind, struct ir_symbol *symbol, struct ir_expr *value,
                                     struct ir_stmt *next)
{
    struct ir_stmt *stmt = stmt_new(kind, 3, next);
    stmt->symbol = symbol;
    stmt->value = value;
    if (kind == IR_LET)
        symbol->value = value;
    return stmt;
}

static inline struct ir_stmt *loop(struct ir_symbol *symbol, struct ir_expr *high, struct ir_stmt *body,
                                   struct ir_stmt *next)
{
    struct ir_stmt *stmt = stmt_new(IR_FOR, 2, next);
    stmt->symbol = symbol;
    stmt->low = num(0);
    stmt->high = high;
    stmt->step = 1;
    stmt->body = body;
    return stmt;
}

static inline struct ir_symbol *symbol(enum ir_symbol_kind kind, const char *name, akg_dtype dtype)
{
    return ir_symbol_new(kernel, kind, name, dtype);
}

static inline struct ir_symbol *dim(struct ir_buffer *buffer, int axis, const char *name)
{
    struct ir_symbol *result = symbol(IR_SYMBOL_DIM, name, AKG_INT64);
    result->buffer = buffer;
    result->axis = axis;
    buffer->shape[axis] = use(result);
    return result;
}

static inline void fresh_kernel(const char *name)
{
    kernel = ir_kernel_new(&arena, name);
}

static inline const char *printed(const struct ir_kernel *printed_kernel)
{
    struct text text;
    text_init(&text);
    ir_print(&text, printed_kernel);
    char *string = text_take(&text);
    const char *copy = arena_copy(&arena, string, strlen(string));
    memory_free(string);
    return copy;
}

static inline const char *printed_expr(const struct ir_expr *expr)
{
    struct text text;
    text_init(&text);
    ir_print_expr(&text, expr);
    char *string = text_take(&text);
    const char *copy = arena_copy(&arena, string, strlen(string));
    memory_free(string);
    return copy;
}

static inline const char *complaint_of(const struct ir_kernel *verified)
{
    struct text complaint;
    text_init(&complaint);
    bool holds = ir_verify(verified, &complaint);
    const char *copy = holds ? "" : arena_copy(&arena, complaint.data, complaint.length);
    text_free(&complaint);
    return copy;
}

struct matmul {
    struct ir_buffer *a, *b, *c, *t;
    struct ir_symbol *m, *k, *k1, *n, *alpha, *i, *j, *l, *acc, *x;
    struct ir_stmt *store_c, *outer, *inner, *reduce, *let, *variable, *assign, *branch, *loop, *allocate;
};

static inline void matmul_header(struct matmul *p)
{
    fresh_kernel("matmul");
    p->a = ir_buffer_new(kernel, "a", IR_INPUT, AKG_FLOAT32, 2);
    p->b = ir_buffer_new(kernel, "b", IR_INPUT, AKG_FLOAT32, 2);
    p->c = ir_buffer_new(kernel, "c", IR_OUTPUT, AKG_FLOAT32, 2);
    p->t = ir_buffer_new(kernel, "t", IR_TEMPORARY, AKG_FLOAT64, 1);
    p->m = dim(p->a, 0, "M");
    p->k = dim(p->a, 1, "K");
    p->k1 = dim(p->b, 0, "K");
    p->n = dim(p->b, 1, "N");
    p->alpha = symbol(IR_SYMBOL_ATTRIBUTE, "alpha", AKG_FLOAT64);
    p->a->span = (struct span){1, 12, 1, 13};
    p->c->shape[0] = use(p->m);
    p->c->shape[1] = use(p->n);
    p->c->clear = true;
    p->t->shape[0] = op(OP_ADD, use(p->m), num(1));
    list_push(&arena, &kernel->parameters, ((struct ir_parameter){"a", p->a, NULL}));
    list_push(&arena, &kernel->parameters, ((struct ir_parameter){"b", p->b, NULL}));
    list_push(&arena, &kernel->parameters, ((struct ir_parameter){"bias", NULL, NULL}));
    list_push(&arena, &kernel->parameters, ((struct ir_parameter){"scale", NULL, p->alpha}));
    list_push(&arena, &kernel->results, ((struct ir_result){"c", p->c, 0}));
    list_push(&arena, &kernel->results, ((struct ir_result){"again", p->c, 1}));

    struct ir_precondition bounds = {.kind = IR_PRECONDITION_BOUNDS, .buffer = p->b, .span = {4, 12, 6, 3}};
    bounds.condition = op(OP_LE, use(p->k), use(p->k1));
    bounds.guard = op(OP_GT, use(p->m), num(0));
    bounds.index = op(OP_SUB, use(p->k), num(1));
    bounds.extent = use(p->k1);
    list_push(&arena, &kernel->preconditions, bounds);
    struct ir_precondition assertion = {.kind = IR_PRECONDITION_ASSERT, .span = {9, 1, 0, 0}};
    assertion.message = "say \"no\"\n\\ \x01";
    assertion.condition = op(OP_NOT, op(OP_EQ, use(p->m), num(3)), NULL);
    list_push(&arena, &kernel->preconditions, assertion);
}

static inline struct ir_stmt *matmul_branch(struct matmul *p)
{
    struct ir_stmt *check = stmt_new(IR_ASSERT, 7, NULL), *second = stmt_new(IR_IF, 5, NULL);

    check->value = op(OP_ISNAN, ir_cast(kernel, AKG_FLOAT16, use(p->acc)), NULL);
    check->message = "nan";
    second->value = ir_integer(kernel, AKG_BOOL, 0);
    second->body = stmt_new(IR_CONTINUE, 6, NULL);
    second->otherwise = check;
    p->branch = stmt_new(IR_IF, 5, NULL);
    p->branch->value = use(p->x);
    p->branch->body = stmt_new(IR_BREAK, 6, NULL);
    p->branch->otherwise = second;
    return p->branch;
}

/* The kernel of matmul_text; the parts that tests break are in *p. */
static inline void build_matmul(struct matmul *p)
{
    matmul_header(p);
    p->i = symbol(IR_SYMBOL_LOOP, "i", AKG_INT64);
    p->j = symbol(IR_SYMBOL_LOOP, "j", AKG_INT64);
    p->l = symbol(IR_SYMBOL_LOOP, "k", AKG_INT64);
    p->acc = symbol(IR_SYMBOL_VARIABLE, "acc", AKG_FLOAT32);
    p->x = symbol(IR_SYMBOL_LET, "x", AKG_BOOL);

    struct ir_expr *left = load(p->a, use(p->i), use(p->l)), *right = load(p->b, use(p->l), use(p->j));
    left->access.checks[0] = left->access.checks[1] = right->access.checks[1] = IR_CHECK_PROVED;
    right->access.checks[0] = IR_CHECK_PRECONDITION;
    p->assign = scalar(IR_ASSIGN, p->acc, ir_operation(kernel, OP_FMA, left, right, use(p->acc)), NULL);
    p->assign->next = matmul_branch(p);
    p->reduce = loop(p->l, use(p->k), p->assign, NULL);
    p->reduce->hint = IR_HINT_REDUCE;

    struct ir_stmt *last =
        store(load(p->t, use(p->i), NULL), ir_real(kernel, AKG_FLOAT64, -__builtin_inf()), 9, NULL);
    p->store_c = store(
        load(p->c, use(p->i), use(p->j)),
        ir_operation(kernel, OP_SELECT, use(p->x), use(p->acc), ir_cast(kernel, AKG_FLOAT32, use(p->alpha))),
        9, last);
    p->store_c->access.checks[0] = IR_CHECK_PROVED;
    p->loop = stmt_new(IR_WHILE, 8, p->store_c);
    p->loop->value = op(OP_AND, use(p->x), op(OP_NOT, use(p->x), NULL));
    p->reduce->next = p->loop;

    struct ir_expr *first = load(p->b, num(0), use(p->j));
    first->access.checks[0] = first->access.checks[1] = IR_CHECK_PROVED;
    p->let = scalar(IR_LET, p->x, op(OP_LT, first, ir_real(kernel, AKG_FLOAT32, 0.1)), p->reduce);
    p->variable = scalar(IR_VARIABLE, p->acc, ir_real(kernel, AKG_FLOAT32, 0), p->let);
    p->inner = loop(p->j, num(-1), p->variable, NULL);
    p->inner->low = op(OP_SUB, use(p->n), num(1));
    p->inner->step = -2;
    p->inner->hint = IR_HINT_SERIAL | IR_HINT_UNROLL;
    p->outer = loop(p->i, use(p->m), p->inner, NULL);
    p->outer->hint = IR_HINT_PARALLEL;
    p->allocate = stmt_new(IR_ALLOCATE, 3, p->outer);
    p->allocate->access.buffer = p->t;
    kernel->body = p->allocate;
}

#endif

/*
 * test_elaborate.c: what the front end reads of defaults.
 */
#include "check.h"

#include "../../base/memory.h"
#include "../../dsl/elaborate.h"

/* Of a constant only the field of its kind is written or read: the others are not there, and what stands in
 * their place has perhaps no opposite. */
static void test_negated_constants(struct arena *arena)
{
    struct ast_expr number = {.kind = AST_REAL, .real = 0.5},
                    minus = {.kind = AST_UNARY, .operation = OP_NEG, .a = &number};
    struct dsl_argument value = {.integer = INT64_MIN, .real = 7};

    CHECK(elaborate_constant(arena, &minus, &value));
    CHECK(value.kind == DSL_FLOAT && value.real == -0.5 && value.integer == INT64_MIN);
    value.real = 7;
    number = (struct ast_expr){.kind = AST_INTEGER, .integer = 3};
    CHECK(elaborate_constant(arena, &minus, &value));
    CHECK(value.kind == DSL_INT && value.integer == -3 && value.real == 7);
    number = (struct ast_expr){.kind = AST_STRING, .text = "text"};
    value.integer = INT64_MIN;
    CHECK(!elaborate_constant(arena, &minus, &value));
    CHECK(value.integer == INT64_MIN && value.real == 7);
    number = (struct ast_expr){.kind = AST_TRUE};
    CHECK(!elaborate_constant(arena, &minus, &value));
}

int main(void)
{
    struct arena arena;
    jmp_buf escape;

    arena_init(&arena, &escape);
    if (setjmp(escape)) {
        fprintf(stderr, "out of memory\n");
        return 2;
    }
    test_negated_constants(&arena);
    arena_free(&arena);
    return check_done();
}

/*
 * test_ir_verify.c: one kernel per rule of the IR that breaks it, and the complaint that must come.
 */
#include "ir_fixture.h"

struct broken {
    const char *complaint;
    void (*breaks)(struct matmul *p);
};

/* Each breaks one rule of the kernel that build_matmul made. */
#define BREAK(name, ...)                                                                                     \
    static void break_##name(struct matmul *p)                                                               \
    {                                                                                                        \
        (void)p;                                                                                             \
        __VA_ARGS__;                                                                                         \
    }

BREAK(store_to_input, p->store_c->access.buffer = p->a)
BREAK(store_dtype, p->store_c->value = use(p->alpha))
BREAK(index_dtype, p->store_c->access.indices[0] = ir_integer(kernel, AKG_INT32, 0))
BREAK(index_missing, p->store_c->access.indices[1] = NULL)
BREAK(index_check, p->store_c->access.checks[1] = (enum ir_check)7)
BREAK(foreign_buffer, struct ir_kernel *mine = kernel; fresh_kernel("other");
      p->store_c->access.buffer = ir_buffer_new(kernel, "c", IR_OUTPUT, AKG_FLOAT32, 2); kernel = mine)
BREAK(out_of_scope,
      p->outer->next = store(load(p->c, use(p->i), num(0)), ir_real(kernel, AKG_FLOAT32, 0), 20, NULL))
BREAK(let_out_of_scope,
      p->outer->next = scalar(IR_VARIABLE, symbol(IR_SYMBOL_VARIABLE, "y", AKG_BOOL), use(p->x), NULL))
BREAK(before_declaration, p->variable->value = op(OP_ADD, use(p->acc), use(p->acc)))
BREAK(own_bound, p->outer->high = use(p->i))
BREAK(changed_bound, p->outer->high = ir_cast(kernel, AKG_INT64, load(p->c, num(0), num(0))))
BREAK(assign_loop, p->assign->symbol = p->j; p->assign->value = num(1))
BREAK(assign_let, p->assign->symbol = p->x; p->assign->value = use(p->x))
BREAK(assign_dtype, p->assign->value = use(p->alpha))
BREAK(let_twice, struct ir_stmt *again = scalar(IR_LET, p->x, p->let->value, p->let->next);
      p->let->next = again)
BREAK(loop_twice, p->outer->next = loop(p->i, num(1), NULL, NULL))
BREAK(let_kind, p->let->symbol = p->acc)
BREAK(let_value, p->x->value = num(3))
BREAK(variable_dtype, p->variable->value = num(3))
BREAK(step_zero, p->inner->step = 0)
BREAK(step_least, p->inner->step = INT64_MIN)
BREAK(bound_dtype, p->inner->high = ir_real(kernel, AKG_FLOAT64, 1))
BREAK(bound_missing, p->inner->low = NULL)
BREAK(hint, p->inner->hint = 64)
static void reduce(struct matmul *p, int kind, struct ir_symbol *of, struct ir_symbol *place)
{
    struct ir_reduction reduction = {(enum ir_reduction_kind)kind, of, place};
    list_push(&arena, &p->reduce->reductions, reduction);
}

BREAK(reduction_kind, reduce(p, 99, p->acc, NULL))
BREAK(reduction_place, reduce(p, IR_REDUCTION_SUM, p->acc, p->acc))
BREAK(reduction_let, reduce(p, IR_REDUCTION_MAX, p->x, NULL))
BREAK(reduction_scope, reduce(p, IR_REDUCTION_SUM, symbol(IR_SYMBOL_VARIABLE, "far", AKG_FLOAT32), NULL))
BREAK(unused_role, p->c->unused = true)
BREAK(unused_allocated, p->t->unused = true)
BREAK(loop_symbol, p->inner->symbol = p->n)
BREAK(break_outside, p->outer->next = stmt_new(IR_BREAK, 30, NULL))
BREAK(continue_outside, p->outer->next = stmt_new(IR_CONTINUE, 30, NULL))
BREAK(condition, p->branch->value = num(1))
BREAK(while_condition, p->loop->value = use(p->i))
BREAK(not_allocated, kernel->body = p->outer)
BREAK(allocate_twice, p->inner->next = stmt_new(IR_ALLOCATE, 31, NULL); p->inner->next->access.buffer = p->t)
BREAK(allocate_output, p->allocate->access.buffer = p->c)
BREAK(allocate_scope, kernel->body = stmt_new(IR_IF, 1, p->outer);
      kernel->body->value = ir_integer(kernel, AKG_BOOL, 1); p->allocate->next = NULL;
      kernel->body->body = p->allocate)
BREAK(operand_dtypes, p->let->value->operands[1] = use(p->alpha))
BREAK(operand_rule, p->assign->value = ir_cast(kernel, AKG_FLOAT32, op(OP_EXP, num(1), NULL)))
BREAK(operand_count, p->assign->value->count = 2)
BREAK(operand_missing, p->assign->value->operands[2] = NULL)
BREAK(result_dtype, p->assign->value->dtype = AKG_FLOAT64)
BREAK(comparison_dtype, p->let->value->dtype = AKG_FLOAT32)
BREAK(operation, p->assign->value->operation = OPERATION_COUNT)
BREAK(no_dtype, p->assign->value->dtype = AKG_DTYPE_COUNT)
BREAK(bool_order, p->loop->value = op(OP_LT, use(p->x), use(p->x)))
BREAK(checked_float, p->assign->value = op(OP_MUL, use(p->acc), use(p->acc));
      p->assign->value->checked = true)
BREAK(unchecked_zero, p->inner->high = op(OP_FLOORDIV, use(p->m), num(0)); p->inner->high->checked = false)
BREAK(integer_range, struct ir_expr *big = ir_integer(kernel, AKG_UINT8, 1); big->integer = 256;
      p->assign->value = ir_cast(kernel, AKG_FLOAT32, big))
BREAK(bool_range, p->branch->value = ir_integer(kernel, AKG_BOOL, 1); p->branch->value->integer = 2)
BREAK(real_rounding, p->variable->value->real = 0.1)
BREAK(real_dtype, p->variable->value->dtype = AKG_INT32)
BREAK(symbol_dtype, p->variable->value = use(p->alpha); p->variable->value->dtype = AKG_FLOAT32)
BREAK(load_dtype, p->assign->value->operands[0]->dtype = AKG_FLOAT64)
BREAK(name_twice, p->acc->name = "a")
BREAK(buffer_index, p->b->index = 0)
BREAK(buffer_rank, p->t->rank = AKG_MAX_RANK + 1)
BREAK(buffer_clear, p->a->clear = true)
BREAK(buffer_strides, p->t->contiguous = false)
BREAK(shape_missing, p->c->shape[1] = NULL)
BREAK(shape_dtype, p->c->shape[1] = use(p->alpha))
BREAK(shape_symbol, p->c->shape[1] = use(p->i))
BREAK(shape_load, p->c->shape[1] = ir_cast(kernel, AKG_INT64, load(p->a, num(0), num(0))))
BREAK(dim_axis, p->n->axis = 2)
BREAK(dim_place, p->n->axis = 0)
BREAK(dim_buffer, p->n->buffer = p->c)
BREAK(dim_index, p->n->index = 0)
BREAK(attribute_dtype, p->alpha->dtype = AKG_FLOAT32)
BREAK(parameter_output, kernel->parameters.items[0].buffer = p->c)
BREAK(parameter_twice, kernel->parameters.items[0].buffer = p->b)
BREAK(parameter_both, kernel->parameters.items[0].attribute = p->alpha)
BREAK(parameter_dim, kernel->parameters.items[3].attribute = p->m)
BREAK(result_input, kernel->results.items[0].buffer = p->a)
BREAK(result_temporary, kernel->results.items[0].buffer = p->t)
BREAK(result_none, kernel->results.items[0].buffer = NULL)
BREAK(output_lost, ir_buffer_new(kernel, "lost", IR_OUTPUT, AKG_INT8, 0))
BREAK(guard_dtype, kernel->preconditions.items[0].guard = use(p->m))
BREAK(condition_symbol, kernel->preconditions.items[0].condition = use(p->x))
BREAK(condition_load, kernel->preconditions.items[0].condition = p->let->value)
BREAK(bounds_index, kernel->preconditions.items[0].index = NULL)
BREAK(bounds_axis, kernel->preconditions.items[0].axis = 2)
BREAK(bounds_buffer, kernel->preconditions.items[0].buffer = NULL)

static void test_verifier(void)
{
    static const struct broken rows[] = {
        {"kernel 'matmul', 9:5: a store to the input 'a'", break_store_to_input},
        {"a stored value is float64, should be float32", break_store_dtype},
        {"an index is int32, should be int64", break_index_dtype},
        {"an index is missing", break_index_missing},
        {"index 1 of 'c' has an unknown check", break_index_check},
        {"an access is to no buffer of the kernel", break_foreign_buffer},
        {"20:5: 'i' is used outside its scope", break_out_of_scope},
        {"'x' is used outside its scope", break_let_out_of_scope},
        {"'acc' is used before it is declared", break_before_declaration},
        {"'i' is used before it is declared", break_own_bound},
        {"a loop changes what its own bounds are made of", break_changed_bound},
        {"'j' is assigned and no variable", break_assign_loop},
        {"'x' is assigned and no variable", break_assign_let},
        {"an assigned value is float64, should be float32", break_assign_dtype},
        {"'x' is declared twice", break_let_twice},
        {"'i' is declared twice", break_loop_twice},
        {"a let's symbol is none", break_let_kind},
        {"the value noted with 'x' is not that of its let", break_let_value},
        {"a scalar's value is int64, should be float32", break_variable_dtype},
        {"a loop's step is 0", break_step_zero},
        {"a loop's step is the least int64", break_step_least},
        {"a loop's high bound is float64, should be int64", break_bound_dtype},
        {"a loop's low bound is missing", break_bound_missing},
        {"a loop has an unknown hint", break_hint},
        {"reduction kind 99 does not exist", break_reduction_kind},
        {"a reduction that chooses nothing has a place", break_reduction_place},
        {"a reduction is of 'x', which is no variable", break_reduction_let},
        {"'far' is used before it is declared", break_reduction_scope},
        {"'c' is marked unused, and is no temporary", break_unused_role},
        {"'t' is marked unused, and is allocated", break_unused_allocated},
        {"a loop's symbol is no int64 loop variable", break_loop_symbol},
        {"30:5: a break outside a loop", break_break_outside},
        {"30:5: a continue outside a loop", break_continue_outside},
        {"a condition is int64, should be bool", break_condition},
        {"a loop's condition is int64, should be bool", break_while_condition},
        {"temporary 't' is used where it is not allocated", break_not_allocated},
        {"temporary 't' is allocated while it lives", break_allocate_twice},
        {"what is allocated is no temporary", break_allocate_output},
        {"temporary 't' is used where it is not allocated", break_allocate_scope},
        {"'<' does not take float32, float64", break_operand_dtypes},
        {"'exp' does not take int64", break_operand_rule},
        {"'fma' has 2 operands, should have 3", break_operand_count},
        {"operand 2 of 'fma' is missing", break_operand_missing},
        {"'fma' gives float32, is marked float64", break_result_dtype},
        {"'<' gives bool, is marked float32", break_comparison_dtype},
        {"does not exist", break_operation},
        {"an expression has no dtype", break_no_dtype},
        {"'<' does not take bool, bool", break_bool_order},
        {"'*' of float32 is checked, and cannot divide by zero", break_checked_float},
        {"'//' by the constant 0 is not checked", break_unchecked_zero},
        {"the constant 256 does not fit uint8", break_integer_range},
        {"the constant 2 does not fit bool", break_bool_range},
        {"is not rounded to float32", break_real_rounding},
        {"a real constant is int32", break_real_dtype},
        {"a use of 'alpha' is float32, the symbol float64", break_symbol_dtype},
        {"a load of 'a' is float64, the buffer float32", break_load_dtype},
        {"the name 'a' is used twice", break_name_twice},
        {"'b' is not buffer number 0", break_buffer_index},
        {"'t' has rank 17", break_buffer_rank},
        {"the input 'a' is to be cleared", break_buffer_clear},
        {"the temporary 't' has strides", break_buffer_strides},
        {"an extent is missing", break_shape_missing},
        {"an extent is float64, should be int64", break_shape_dtype},
        {"'i' is neither dim nor attribute", break_shape_symbol},
        {"'a' is read outside the body", break_shape_load},
        {"dim 'N' is of axis 2 of 'b', which has 2", break_dim_axis},
        {"axis 0 of 'b' is not the dim 'N'", break_dim_place},
        {"dim 'N' is of no input", break_dim_buffer},
        {"'N' is not number 3 of its kind", break_dim_index},
        {"'alpha' is float32", break_attribute_dtype},
        {"parameter 'a' is no input", break_parameter_output},
        {"input 'a' is bound by 0 parameters", break_parameter_twice},
        {"parameter 'a' is tensor and attribute", break_parameter_both},
        {"parameter 'scale' is no attribute of the kernel", break_parameter_dim},
        {"result 'c' is neither output nor written in place", break_result_input},
        {"result 'c' is neither output nor written in place", break_result_temporary},
        {"a result is no buffer of the kernel", break_result_none},
        {"output 'lost' is no result", break_output_lost},
        {"a precondition's guard is int64, should be bool", break_guard_dtype},
        {"'x' is neither dim nor attribute", break_condition_symbol},
        {"'b' is read outside the body", break_condition_load},
        {"a precondition's index is missing", break_bounds_index},
        {"a precondition is on axis 2 of 'b'", break_bounds_axis},
        {"a precondition is on no buffer of the kernel", break_bounds_buffer},
    };
    struct matmul p;

    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        build_matmul(&p);
        CHECK_STRING(complaint_of(kernel), "");
        rows[k].breaks(&p);
        const char *complaint = complaint_of(kernel);
        if (!CHECK(strstr(complaint, rows[k].complaint) != NULL))
            fprintf(stderr, "    is     \"%s\"\n    should \"%s\"\n", complaint, rows[k].complaint);
    }
}

/* A temporary may be allocated again where the first one's life is over. */
static void test_allocate_again(void)
{
    struct matmul p;

    build_matmul(&p);
    struct ir_stmt *again = stmt_new(IR_ALLOCATE, 1, p.outer), *branch = stmt_new(IR_IF, 1, again);
    branch->value = ir_integer(kernel, AKG_BOOL, 1);
    branch->body = p.allocate;
    p.allocate->next = NULL;
    again->access.buffer = p.t;
    kernel->body = branch;
    CHECK_STRING(complaint_of(kernel), "");
}

#ifdef AKG_FAULT_INJECTION
/* Whichever allocation fails, the verifier frees what it had and says so. */
static void test_memory(void)
{
    struct matmul p;
    int failures = 0;

    build_matmul(&p);
    for (long k = 0; k < 100; k++) {
        struct text complaint;
        text_init(&complaint);
        memory_fail_after(k);
        bool holds = ir_verify(kernel, &complaint);
        bool struck = memory_fail_remaining() < 0;
        memory_fail_after(-1);
        CHECK(holds == !struck);
        CHECK(complaint.failed == struck);
        failures += struck;
        text_free(&complaint);
    }
    CHECK(failures > 0);
}
#endif

int main(void)
{
    arena_init(&arena, &escape);
    if (setjmp(escape)) {
        fprintf(stderr, "out of memory\n");
        return 2;
    }
    test_verifier();
    test_allocate_again();
#ifdef AKG_FAULT_INJECTION
    test_memory();
#endif
    arena_free(&arena);
    return check_done();
}

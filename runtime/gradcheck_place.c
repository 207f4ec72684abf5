/*
 * gradcheck_place.c: the line of a program that made a gradient.
 *
 * Of a bprop that returns a tensor of its own under a name it is the last store to that tensor, found in the
 * IR of the bprop, where what it calls is inlined: so it may stand in another function of the file, and what
 * the standard library stores stands at the call of it. Of any other expression it is the expression that is
 * returned. A function without bprop is shown where it makes its own result.
 */
#include <string.h>

#include "gradcheck.h"
#include "kernel_gradient.h"

/* The last store of a kernel to one buffer. */
struct store_search {
    const struct ir_buffer *buffer;
    struct span span;
};

static bool store_visit(struct ir_stmt *stmt, void *context)
{
    struct store_search *search = context;

    if (stmt->kind == IR_STORE && stmt->access.buffer == search->buffer)
        search->span = stmt->span;
    return true;
}

/* Where the kernel stores what it returns under that name; no line if it does not. */
static struct span place_of_store(const struct akg_kernel *kernel, const char *name)
{
    const struct ir_kernel *general = kernel->general_kernel;
    struct store_search search = {0};

    for (int i = 0; general && i < general->results.count; i++)
        if (strcmp(general->results.items[i].name, name) == 0)
            search.buffer = general->results.items[i].buffer;
    if (search.buffer)
        ir_block_walk(general->body, store_visit, &search);
    return search.span;
}

/* One of the values that a function returns. */
static struct span place_of_result(const struct akg_kernel *kernel, const struct ast_expr *result)
{
    struct span span = {0};

    if (result->kind == AST_NAME)
        span = place_of_store(kernel, result->text);
    return span.line ? span : result->span;
}

/* Which of the operands of a kernel its parameter number `parameter` is. */
static int place_operand(const struct akg_kernel *kernel, int parameter)
{
    int operand = 0;

    for (int i = 0; i < parameter; i++)
        operand += kernel->general[i].kind == DSL_TENSOR || kernel->general[i].kind == DSL_TENSORS;
    return operand;
}

void gradcheck_find_place(const akg_operator *callee, int parameter, struct gradcheck_place *place)
{
    const struct akg_kernel *kernel = callee->kernel, *bprop;
    const struct ast_expr *result;
    int item = 0;

    *place = (struct gradcheck_place){.function = NULL};
    if (!kernel)
        return; /* written in C */
    bprop = callee->gradient ? NULL : kernel_gradient_bprop(kernel);
    place->is_bprop = bprop != NULL;
    if (bprop)
        item = place_operand(kernel, parameter);
    else
        bprop = kernel;
    place->function = bprop->function->name;
    result = bprop->function->result;
    if (result && result->kind == AST_TUPLE)
        result = item < result->count ? result->items[item] : NULL;
    place->span = result ? place_of_result(bprop, result) : bprop->function->span;
}

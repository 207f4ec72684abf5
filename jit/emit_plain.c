/*
 * emit_plain.c: a kernel as plain C: its statements, the function around them, and what runs it for
 * one call.
 *
 * Consumes an analysed kernel with slots, before any pass: so the text has the loops of the program. It says
 * nothing of vectors, tiles or alignment, and tests no index: that is what the compiler it is given to makes
 * of plain loops over restrict pointers. The extents reach the function as values that no compiler can see,
 * but for those that are 1 in all calls, which our own code is made for, too.
 */
#include "emit_plain_private.h"

#include <stdarg.h>
#include <string.h>

#include "emit_c.h"
#include "scalar.h"

static void line(struct plain *plain, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(struct plain *plain, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const char *text = arena_format_list(&plain->arena, format, list);
    va_end(list);
    text_repeat(plain->out, ' ', 4 * plain->indent);
    text_string(plain->out, text);
    text_char(plain->out, '\n');
}

/* ---- statements ---------------------------------------------------------------- */

static void block(struct plain *plain, const struct ir_stmt *first);

static void inner(struct plain *plain, const struct ir_stmt *first)
{
    plain->indent++;
    block(plain, first);
    plain->indent--;
}

static void loop(struct plain *plain, const struct ir_stmt *stmt)
{
    const char *name = plain->symbols[stmt->symbol->slot];
    long long step = stmt->step;
    const char *advance = step == 1    ? arena_format(&plain->arena, "%s++", name)
                          : step == -1 ? arena_format(&plain->arena, "%s--", name)
                          : step > 0
                              ? arena_format(&plain->arena, "%s += %lld", name, step)
                              : arena_format(&plain->arena, "%s -= %llu", name, 0 - (unsigned long long)step);
    plain->nonnegative[stmt->symbol->slot] =
        step > 0 ? plain_is_nonnegative(plain, stmt->low)
                 : stmt->high->kind == IR_INTEGER && stmt->high->integer >= -1;
    line(plain, "for (long %s = %s; %s %c %s; %s) {", name, plain_expr(plain, stmt->low, PLAIN_CHOICE), name,
         step > 0 ? '<' : '>', plain_expr(plain, stmt->high, PLAIN_SHIFT), advance);
    inner(plain, stmt->body);
    line(plain, "}");
}

static void condition(struct plain *plain, const struct ir_stmt *stmt)
{
    line(plain, "if (%s) {", plain_expr(plain, stmt->value, PLAIN_CHOICE));
    inner(plain, stmt->body);
    for (stmt = stmt->otherwise; stmt && stmt->kind == IR_IF && !stmt->next; stmt = stmt->otherwise) {
        line(plain, "} else if (%s) {", plain_expr(plain, stmt->value, PLAIN_CHOICE));
        inner(plain, stmt->body);
    }
    if (stmt) {
        line(plain, "} else {");
        inner(plain, stmt);
    }
    line(plain, "}");
}

/* "+=" where the value begins with what it goes to. */
static const char *compound(const struct ir_expr *value, akg_dtype dtype)
{
    if (value->kind != IR_OPERATION || dtype_is_half(dtype))
        return NULL;
    switch (value->operation) {
    case OP_ADD:
        return "+=";
    case OP_SUB:
        return "-=";
    case OP_MUL:
        return "*=";
    case OP_TRUEDIV:
        return "/=";
    default:
        return NULL;
    }
}

static bool is_same_access(const struct ir_expr *load, const struct ir_access *access)
{
    return load->kind == IR_LOAD && ir_access_equal(&load->access, access);
}

static void store(struct plain *plain, const struct ir_stmt *stmt)
{
    const char *target = plain_access(plain, &stmt->access);
    akg_dtype dtype = stmt->access.buffer->dtype;
    const char *sign = compound(stmt->value, dtype);
    if (sign && is_same_access(stmt->value->operands[0], &stmt->access))
        line(plain, "%s %s %s;", target, sign, plain_expr(plain, stmt->value->operands[1], PLAIN_CHOICE));
    else
        line(plain, "%s = %s;", target, plain_stored(plain, dtype, stmt->value));
}

static void assign(struct plain *plain, const struct ir_stmt *stmt)
{
    const char *target = plain->symbols[stmt->symbol->slot];
    const char *sign = compound(stmt->value, stmt->symbol->dtype);
    if (sign && stmt->value->operands[0]->kind == IR_SYMBOL &&
        stmt->value->operands[0]->symbol == stmt->symbol)
        line(plain, "%s %s %s;", target, sign, plain_expr(plain, stmt->value->operands[1], PLAIN_CHOICE));
    else
        line(plain, "%s = %s;", target, plain_expr(plain, stmt->value, PLAIN_CHOICE));
}

static void clear(struct plain *plain, const struct ir_buffer *buffer)
{
    const char *name = plain->buffers[buffer->index];
    plain->used_buffers[buffer->index] = true;
    line(plain, "memset(%s, 0, sizeof *%s * %s);", name, name, plain_element_count(plain, buffer));
}

static void statement(struct plain *plain, const struct ir_stmt *stmt)
{
    switch (stmt->kind) {
    case IR_FOR:
        loop(plain, stmt);
        break;
    case IR_WHILE:
        line(plain, "while (%s) {", plain_expr(plain, stmt->value, PLAIN_CHOICE));
        inner(plain, stmt->body);
        line(plain, "}");
        break;
    case IR_IF:
        condition(plain, stmt);
        break;
    case IR_STORE:
        store(plain, stmt);
        break;
    case IR_LET:
    case IR_VARIABLE:
        plain->nonnegative[stmt->symbol->slot] =
            stmt->kind == IR_LET && plain_is_nonnegative(plain, stmt->value);
        line(plain, "%s%s %s = %s;", stmt->kind == IR_LET ? "const " : "", plain_type(stmt->symbol->dtype),
             plain->symbols[stmt->symbol->slot], plain_expr(plain, stmt->value, PLAIN_CHOICE));
        break;
    case IR_ASSIGN:
        assign(plain, stmt);
        break;
    case IR_ALLOCATE:
        if (stmt->access.buffer->clear)
            clear(plain, stmt->access.buffer);
        break;
    case IR_BREAK:
        line(plain, "break;");
        break;
    case IR_CONTINUE:
        line(plain, "continue;");
        break;
    case IR_ASSERT:
        line(plain, "if (!(%s))", plain_expr(plain, stmt->value, PLAIN_CHOICE));
        line(plain, "    abort();");
        break;
    }
}

static void block(struct plain *plain, const struct ir_stmt *first)
{
    for (const struct ir_stmt *stmt = first; stmt; stmt = stmt->next)
        statement(plain, stmt);
}

/* ---- names ------------------------------------------------------------------------- */

static bool is_helper(const char *name)
{
    static const char *const names[] = {"floor_div",     "floor_mod",   "ceil_div", "power",
                                        "from_bfloat16", "to_bfloat16", "tensors",  "repeats",
                                        "abort",         "malloc",      "free"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (strcmp(name, names[k]) == 0)
            return true;
    for (int k = 0; k < OPERATION_COUNT; k++)
        if (strcmp(name, operation_table[k].text) == 0)
            return true;
    return false;
}

static const char *name_for(struct plain *plain, const char *name, int number)
{
    if (!emit_c_is_word(name))
        return arena_format(&plain->arena, "name%d_", number);
    if (name[strlen(name) - 1] == '_' || is_helper(name) || emit_c_is_reserved(name))
        return arena_format(&plain->arena, "%s_", name);
    return name;
}

static void name_symbol(struct plain *plain, const struct ir_symbol *symbol)
{
    plain->symbols[symbol->slot] = symbol->few ? arena_format(&plain->arena, "%dL", symbol->few)
                                               : name_for(plain, symbol->name, symbol->slot);
}

static bool name_declared(struct ir_stmt *stmt, void *context)
{
    if (stmt->kind == IR_FOR || stmt->kind == IR_LET || stmt->kind == IR_VARIABLE)
        name_symbol(context, stmt->symbol);
    return true;
}

static void name_all(struct plain *plain)
{
    const struct ir_kernel *kernel = plain->kernel;
    for (int k = 0; k < kernel->dims.count; k++)
        name_symbol(plain, kernel->dims.items[k]);
    for (int k = 0; k < kernel->attributes.count; k++)
        name_symbol(plain, kernel->attributes.items[k]);
    for (int k = 0; k < kernel->buffers.count; k++)
        plain->buffers[k] = name_for(plain, kernel->buffers.items[k]->name, kernel->slot_count + k);
    ir_block_walk(kernel->body, name_declared, plain);
}

/* ---- the function --------------------------------------------------------------------- */

static const char *function_name(struct plain *plain)
{
    return arena_format(&plain->arena, "%s_kernel",
                        emit_c_is_word(plain->kernel->name) ? plain->kernel->name : "akg");
}

/* "a, b" */
static void append(struct plain *plain, const char **list, const char *text)
{
    *list = *list ? arena_format(&plain->arena, "%s, %s", *list, text) : text;
}

/* The parameters that the body has a use for: extents, scalars, tensors. */
static const char *parameters(struct plain *plain)
{
    const struct ir_kernel *kernel = plain->kernel;
    const char *list = NULL;
    for (int k = 0; k < kernel->dims.count; k++)
        if (plain->used[kernel->dims.items[k]->slot])
            append(plain, &list,
                   arena_format(&plain->arena, "long %s", plain->symbols[kernel->dims.items[k]->slot]));
    for (int k = 0; k < kernel->attributes.count; k++)
        if (plain->used[kernel->attributes.items[k]->slot])
            append(plain, &list,
                   arena_format(&plain->arena, "%s %s", plain_type(kernel->attributes.items[k]->dtype),
                                plain->symbols[kernel->attributes.items[k]->slot]));
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        if (plain->used_buffers[k])
            append(plain, &list,
                   arena_format(&plain->arena, "%s%s *restrict %s", buffer->role == IR_INPUT ? "const " : "",
                                plain_element_type(buffer->dtype), plain->buffers[k]));
    }
    return list ? list : "void";
}

/* The body first: it tells what is used. */
static void emit_function(struct plain *plain)
{
    const struct ir_kernel *kernel = plain->kernel;
    struct text *out = plain->out;
    plain->out = &plain->function;
    plain->indent++;
    for (int k = 0; k < kernel->buffers.count; k++)
        if (kernel->buffers.items[k]->role == IR_OUTPUT && kernel->buffers.items[k]->clear)
            clear(plain, kernel->buffers.items[k]);
    block(plain, kernel->body);
    plain->indent--;
    plain->out = out;
    const char *text = text_into_arena(&plain->function, &plain->arena);
    line(plain, "void %s(%s)", function_name(plain), parameters(plain));
    text_format(out, "{\n%s}\n", text);
}

/* ---- one call of it ---------------------------------------------------------------------- */

/* The value of a scalar argument of this call. */
static const char *scalar_text(struct plain *plain, const struct ir_symbol *symbol,
                               const union jit_scalar *scalars)
{
    struct text text;
    if (symbol->dtype != AKG_FLOAT64)
        return arena_format(&plain->arena, "%lld", (long long)scalars[symbol->index].i);
    text_init(&text);
    text_double(&text, scalars[symbol->index].d);
    return text_into_arena(&text, &plain->arena);
}

/* Variables that the compiler must read anew: what a call's extents and scalars are. */
static void emit_values(struct plain *plain, const int64_t *dims, const union jit_scalar *scalars)
{
    const struct ir_kernel *kernel = plain->kernel;
    for (int k = 0; k < kernel->dims.count; k++)
        if (plain->used[kernel->dims.items[k]->slot])
            line(plain, "long akg_dim_%d = %lld;", k, (long long)dims[k]);
    for (int k = 0; k < kernel->attributes.count; k++)
        if (plain->used[kernel->attributes.items[k]->slot])
            line(plain, "%s akg_scalar_%d = %s;", plain_type(kernel->attributes.items[k]->dtype), k,
                 scalar_text(plain, kernel->attributes.items[k], scalars));
}

/* Which of akg_plain_run's tensors a buffer is, or -1 for memory of its own. */
static int tensor_number(const struct ir_kernel *kernel, const struct ir_buffer *buffer)
{
    int number = 0;
    for (int k = 0; k < kernel->parameters.count; k++) {
        if (kernel->parameters.items[k].buffer == buffer)
            return number;
        number += kernel->parameters.items[k].buffer != NULL;
    }
    for (int k = 0; k < kernel->results.count; k++) {
        const struct ir_buffer *result = kernel->results.items[k].buffer;
        bool before = result->role != IR_OUTPUT;
        for (int i = 0; i < k && !before; i++)
            before = kernel->results.items[i].buffer == result;
        if (before)
            continue;
        if (result == buffer)
            return number;
        number++;
    }
    return -1;
}

/* Never 0, for malloc. */
static long long buffer_bytes(const struct ir_buffer *buffer, const int64_t *dims,
                              const union jit_scalar *scalars)
{
    long long bytes = (long long)akg_dtype_size(buffer->dtype);
    for (int k = 0; k < buffer->rank; k++) {
        union dtype_value extent;
        if (__builtin_mul_overflow(
                bytes, scalar_evaluate(buffer->shape[k], dims, scalars, &extent) ? extent.i : 0, &bytes))
            return INT64_MAX;
    }
    return bytes > 0 ? bytes : 1;
}

static void emit_run(struct plain *plain, const int64_t *dims, const union jit_scalar *scalars)
{
    const struct ir_kernel *kernel = plain->kernel;
    const char *list = NULL, *frees = "";
    line(plain, "int akg_plain_run(void *const *tensors, long repeats)");
    line(plain, "{");
    plain->indent++;
    for (int k = 0; k < kernel->dims.count; k++)
        if (plain->used[kernel->dims.items[k]->slot])
            append(plain, &list, arena_format(&plain->arena, "akg_dim_%d", k));
    for (int k = 0; k < kernel->attributes.count; k++)
        if (plain->used[kernel->attributes.items[k]->slot])
            append(plain, &list, arena_format(&plain->arena, "akg_scalar_%d", k));
    for (int k = 0; k < kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = kernel->buffers.items[k];
        int number = tensor_number(kernel, buffer);
        if (!plain->used_buffers[k])
            continue;
        append(plain, &list,
               number < 0 ? arena_format(&plain->arena, "memory_%d", k)
                          : arena_format(&plain->arena, "tensors[%d]", number));
        if (number >= 0)
            continue;
        line(plain, "void *memory_%d = malloc(%lld);", k, buffer_bytes(buffer, dims, scalars));
        line(plain, "if (!memory_%d)", k);
        line(plain, "    return 1;");
        frees = arena_format(&plain->arena, "%s    free(memory_%d);\n", frees, k);
    }
    line(plain, "for (long k = 0; k < repeats; k++) {");
    line(plain, "    %s(%s);", function_name(plain), list ? list : "");
    line(plain, "    __asm__ volatile(\"\" ::: \"memory\");");
    line(plain, "}");
    text_string(plain->out, frees);
    line(plain, "return 0;");
    plain->indent--;
    line(plain, "}");
}

/* ---- the file ------------------------------------------------------------------------------- */

static void emit_head(struct plain *plain, struct text *out)
{
    static const char *const helpers[PLAIN_HELPER_COUNT] = {
#define X(id, text) text,
        PLAIN_HELPER_TABLE(X)
#undef X
    };
    text_format(out, "/* %s as plain C; akg_plain_run runs it for one call. */\n", plain->kernel->name);
    text_string(out, "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
                     "#include <string.h>\n\n");
    for (int k = 0; k < PLAIN_HELPER_COUNT; k++)
        if (plain->helpers[k])
            text_format(out, "%s\n", helpers[k]);
}

/* Whether the tensor is contiguous but for axes along which it repeats one element: those are marked. */
static bool is_dense(const struct ir_buffer *buffer, const int64_t *strides, const int64_t *dims,
                     const union jit_scalar *scalars, bool *repeated)
{
    int64_t expected = 1;
    if (buffer->role != IR_INPUT || !strides)
        return false;
    for (int k = buffer->rank - 1; k >= 0; k--) {
        union dtype_value extent;
        if (!scalar_evaluate(buffer->shape[k], dims, scalars, &extent))
            return false;
        repeated[k] = extent.i != 1 && strides[k] == 0;
        if (extent.i == 1 || repeated[k])
            continue;
        if (strides[k] != expected)
            return false;
        expected *= extent.i; /* no more than its tensor holds */
    }
    return true;
}

static bool all_dense(const struct plain *plain, const int64_t *dims, const union jit_scalar *scalars,
                      const int64_t *const *strides, struct text *complaint)
{
    for (int k = 0; k < plain->kernel->buffers.count; k++) {
        const struct ir_buffer *buffer = plain->kernel->buffers.items[k];
        if (buffer->contiguous ||
            is_dense(buffer, strides ? strides[k] : NULL, dims, scalars, plain->repeated[k]))
            continue;
        text_format(complaint, "'%s' is not contiguous", buffer->name);
        return false;
    }
    return true;
}

static void emit_file(struct plain *plain, const int64_t *dims, const union jit_scalar *scalars,
                      struct text *out)
{
    const struct ir_kernel *kernel = plain->kernel;
    plain->symbols = arena_array(&plain->arena, const char *, kernel->slot_count + 1);
    plain->nonnegative = arena_array(&plain->arena, bool, kernel->slot_count + 1);
    plain->used = arena_array(&plain->arena, bool, kernel->slot_count + 1);
    plain->buffers = arena_array(&plain->arena, const char *, kernel->buffers.count + 1);
    plain->used_buffers = arena_array(&plain->arena, bool, kernel->buffers.count + 1);
    name_all(plain);
    emit_function(plain);
    text_char(plain->out, '\n');
    emit_values(plain, dims, scalars);
    text_char(plain->out, '\n');
    emit_run(plain, dims, scalars);
    emit_head(plain, out);
    text_append(out, plain->out->data, plain->out->length);
}

bool emit_plain(struct text *out, const struct ir_kernel *kernel, const int64_t *dims,
                const union jit_scalar *scalars, const int64_t *const *strides, struct text *complaint)
{
    struct text body;
    struct plain plain = {.kernel = kernel, .out = &body};
    jmp_buf escape;
    volatile bool dense = true;

    text_init(&body);
    text_init(&plain.function);
    arena_init(&plain.arena, &escape);
    if (setjmp(escape)) {
        out->failed = true;
    } else {
        plain.repeated =
            arena_allocate(&plain.arena, sizeof *plain.repeated * (size_t)(kernel->buffers.count + 1));
        dense = all_dense(&plain, dims, scalars, strides, complaint);
        if (dense)
            emit_file(&plain, dims, scalars, out);
        out->failed |= body.failed;
    }
    text_free(&body);
    text_free(&plain.function);
    arena_free(&plain.arena);
    return dense;
}

/*
 * emit_c_hosted.c: what stands above a kernel that the system's C compiler translates into a shared object.
 *
 * Produces the functions of scalar_library.h in three forms: what is an instruction or two stays a call of
 * libm, which the compiler knows; most of ours are defined in the text, so that they can be put in line;
 * all others are called through pointers that the object gets from EMIT_C_BIND, for the library's names
 * cannot be seen from outside. So every function computes the same bits as in the library.
 *
 * Where buffers lie apart, the statements of a function stand in another one that has them as parameters:
 * what `restrict` says of a parameter is what compilers make the most of.
 */
#include "emit_c_private.h"
#include "pass.h"
#include "scalar_library.h"
#include "vector_plan.h"

#include <string.h>

/* Exact, and known to every compiler. */
static bool is_known(const char *name)
{
    static const char *const known[] = {"sqrt",  "fabs",  "floor",  "ceil",  "trunc",  "rint",  "fma",
                                        "sqrtf", "fabsf", "floorf", "ceilf", "truncf", "rintf", "fmaf"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(name, known[k]) == 0)
            return true;
    return false;
}

static bool is_in_text(const char *name)
{
    size_t length = strlen(name);
    for (const char *at = scalar_library_text; (at = strstr(at, name)) != NULL; at += length)
        if (at[-1] == ' ' && at[length] == '(' && strncmp(name, "akg_", 4) == 0)
            return true;
    return false;
}

/* "float expf(float a);" as a pointer that stands for the function. */
static void declare_pointer(struct text *out, const struct scalar_library_row *row)
{
    const char *name = strstr(row->prototype, row->name);
    text_format(out, "static %.*s(*akg_bound_%s)%s\n#define %s akg_bound_%s\n", (int)(name - row->prototype),
                row->prototype, row->name, name + strlen(row->name), row->name, row->name);
}

static void declare_functions(struct text *out, const struct vector_plan *plan)
{
    for (const struct scalar_library_row *row = scalar_library; row->name; row++)
        if (is_known(row->name))
            text_format(out, "%s\n", row->prototype);
        else if (!is_in_text(row->name))
            declare_pointer(out, row);
    text_string(out, scalar_library_text);
    for (int k = 0; plan && k < plan->loops.count; k++)
        text_format(out, "static void (*akg_bound_%s)(union akg_slot *slots);\n#define %s akg_bound_%s\n",
                    vector_loop_name(plan, k), vector_loop_name(plan, k), vector_loop_name(plan, k));
}

static void bind(struct text *out, const char *name, int place)
{
    text_format(out, "    __builtin_memcpy(&akg_bound_%s, &table[%d], sizeof(void *));\n", name, place);
}

/* ---- quotients ------------------------------------------------------------------------------------- */

/* By a power of two, as many extents are, a product with its reciprocal is the quotient to the bit (of 0 and
 * of infinity too), and there in a third of the time. Compilers compute the reciprocal before the loops. */
static const char quotients[] =
    "static inline float akg_overf(float a, float b)\n{\n    float reciprocal = 1 / b;\n    unsigned bits;\n"
    "    __builtin_memcpy(&bits, &b, sizeof bits);\n"
    "    return __builtin_expect((bits << 9) == 0, 1) ? a * reciprocal : a / b;\n}\n"
    "static inline double akg_over(double a, double b)\n{\n    double reciprocal = 1 / b;\n"
    "    unsigned long long bits;\n    __builtin_memcpy(&bits, &b, sizeof bits);\n"
    "    return __builtin_expect((bits << 12) == 0, 1) ? a * reciprocal : a / b;\n}\n";

/* A mean of each row is what all of the row waits for. In innermost loops a choice would be in the way of
 * vectors. */
const char *emit_hosted_quotient(const struct emitter *emitter, const struct ir_expr *expr)
{
    if (!emitter->options->hosted || expr->operation != OP_TRUEDIV || !emitter->around ||
        !ir_block_has_loop(emitter->around->body))
        return NULL;
    const struct ir_expr *divisor = expr->operands[1];
    if (divisor->kind != IR_SYMBOL || divisor->symbol->kind != IR_SYMBOL_LET ||
        (divisor->dtype != AKG_FLOAT32 && divisor->dtype != AKG_FLOAT64) ||
        ir_block_declares(emitter->around->body, divisor->symbol))
        return NULL;
    return divisor->dtype == AKG_FLOAT64 ? "akg_over" : "akg_overf";
}

/* ---- accumulation ---------------------------------------------------------------------------------- */

/* The operator of OpenMP's for partial results, or NULL: there is none that does the same. */
static const char *operator_of(const struct ir_reduction *reduction)
{
    akg_dtype dtype = reduction->symbol->dtype;
    if (dtype == AKG_BOOL || dtype == AKG_FLOAT16 || dtype == AKG_BFLOAT16)
        return NULL;
    switch (ir_reduction_table[reduction->kind].operation) {
    case OP_ADD:
        return "+";
    case OP_MUL:
        return "*";
    default:
        return NULL;
    }
}

static bool accumulates(const struct ir_stmt *loop, const struct ir_symbol *symbol)
{
    for (int k = 0; k < loop->reductions.count; k++)
        if (loop->reductions.items[k].symbol == symbol)
            return true;
    return false;
}

/* Of a statement of the loop: no store, loop or jump; and what it assigns, the loop accumulates, or it is an
 * iteration's own. */
static bool hands_nothing_on(struct ir_stmt *stmt, void *context)
{
    const struct ir_stmt *loop = context;
    if (stmt->kind == IR_ASSIGN)
        return accumulates(loop, stmt->symbol) || ir_block_declares(loop->body, stmt->symbol);
    return stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_IF;
}

/* Without being told, compilers keep to the order, as they must elsewhere: in compensated sums it is all. */
bool emit_hosted_reductions(struct emitter *emitter, const struct ir_stmt *stmt)
{
    const char *clauses = "";
    for (int k = 0; k < stmt->reductions.count; k++) {
        const struct ir_reduction *reduction = &stmt->reductions.items[k];
        const char *sign = operator_of(reduction);
        if (!sign)
            return false;
        clauses = arena_format(&emitter->arena, "%s reduction(%s:%s)", clauses, sign,
                               emitter->symbols[reduction->symbol->slot].name);
    }
    if (!*clauses || (stmt->step != 1 && stmt->step != -1) || pass_block_may_stop(stmt->body) ||
        !ir_block_walk(stmt->body, hands_nothing_on, (void *)stmt))
        return false;
    emit_line(emitter, "#pragma omp simd%s", clauses);
    return true;
}

/* Of a loop that it may do in any order clang still adds up the lanes of the last vector one by one, unless
 * the operation itself may be reordered; what is accumulated must not be, so it stands apart. */
bool emit_hosted_accumulation(struct emitter *emitter, const struct ir_stmt *stmt)
{
    const struct ir_expr *value = stmt->value;
    if (value->kind != IR_OPERATION || (value->dtype != AKG_FLOAT32 && value->dtype != AKG_FLOAT64) ||
        (value->operation != OP_ADD && value->operation != OP_SUB && value->operation != OP_MUL) ||
        value->operands[0]->kind != IR_SYMBOL || value->operands[0]->symbol != stmt->symbol)
        return false;
    struct emit_symbol *entry = &emitter->symbols[stmt->symbol->slot];
    const char *term = emit_shallow(emitter, value->operands[1]).text;
    entry->assignments++;
    emit_line(emitter, "{");
    emit_line(emitter, "const %s term_ = %s;", emit_type(value->dtype), term);
    emit_line(emitter, "{");
    emit_line(emitter, "akg_any_order");
    emit_line(emitter, "%s = %s %s term_;", entry->name, entry->name,
              value->operation == OP_ADD   ? "+"
              : value->operation == OP_SUB ? "-"
                                           : "*");
    emit_line(emitter, "}");
    emit_line(emitter, "}");
    return true;
}

/* ---- buffers ---------------------------------------------------------------------------------------- */

void emit_hosted_buffer(struct emitter *emitter, struct emit_function *function, int number)
{
    const struct ir_buffer *buffer = emitter->kernel->buffers.items[number];
    function->parameters = arena_format(&emitter->arena, "%s,\n    %s%s *restrict %s", function->parameters,
                                        buffer->role == IR_INPUT ? "const " : "",
                                        dtype_table[buffer->dtype].c_storage, emitter->buffers[number]);
    function->arguments = arena_format(&emitter->arena, "%s, frame->data[%d]", function->arguments, number);
}

void emit_hosted_library(struct text *out, const struct vector_plan *plan)
{
    int place = 0;
    text_string(out, "#if __clang_major__ >= 11\n"
                     "#define akg_any_order _Pragma(\"clang fp reassociate(on)\")\n"
                     "#else\n"
                     "#define akg_any_order\n"
                     "#endif\n");
    declare_functions(out, plan);
    text_string(out, quotients);
    text_string(out, "void " EMIT_C_BIND "(const void *const *table)\n{\n");
    for (const struct scalar_library_row *row = scalar_library; row->name; row++, place++)
        if (!is_known(row->name) && !is_in_text(row->name))
            bind(out, row->name, place);
    for (int k = 0; plan && k < plan->loops.count; k++)
        bind(out, vector_loop_name(plan, k), place++);
    text_string(out, "}\n\n");
}

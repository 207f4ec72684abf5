/*
 * interpreter_complex.c: imaginary parts beside an interpreted run.
 *
 * The interpreter runs the kernel as ever. Each time that it is about to keep a value it asks here, where the
 * expression is computed once more in complex numbers, and the imaginary part is kept too. Real parts are
 * always the interpreter's own, so that both runs go the same way.
 */
#include "interpreter_complex.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "scalar.h"

#define MOST_FACTORS 64 /* of a power that is computed as a product */

struct complex_run {
    struct interpreter_complex *parts;
    const struct interpreter_run *run;
    double *slots; /* imaginary parts of scalars */
};

/* A value of an expression's dtype, and its imaginary part. */
struct complex_value {
    union dtype_value real;
    double imaginary;
};

static bool complex_evaluate(struct complex_run *run, const struct ir_expr *expr,
                             struct complex_value *result);

/* ---- operations ---------------------------------------------------------------------------------- */

static double complex complex_power(double complex base, double complex exponent, bool *known)
{
    double complex product = 1;
    double count = fabs(creal(exponent));

    if (cimag(exponent) == 0 && count <= MOST_FACTORS && count == floor(count)) {
        for (int i = 0; i < (int)count; i++)
            product *= base;
        return creal(exponent) < 0 ? 1 / product : product;
    }
    *known = creal(base) > 0;
    return cexp(exponent * clog(base));
}

/* Functions that are analytic where they are defined; of one operand. */
static double complex complex_function(enum operation operation, double complex z, bool *known)
{
    *known = true;
    switch (operation) {
    case OP_NEG:
        return -z;
    case OP_ABS:
        return creal(z) < 0 ? -z : z;
    case OP_SQRT:
        return csqrt(z);
    case OP_RSQRT:
        return 1 / csqrt(z);
    case OP_EXP:
    case OP_EXPM1:
        return cexp(z);
    case OP_EXP2:
        return cexp(z * M_LN2);
    case OP_LOG:
        return clog(z);
    case OP_LOG1P:
        return clog(1 + z);
    case OP_LOG2:
        return clog(z) / M_LN2;
    case OP_LOG10:
        return clog(z) / M_LN10;
    case OP_SIN:
        return csin(z);
    case OP_COS:
        return ccos(z);
    case OP_TAN:
        return ctan(z);
    case OP_SINH:
        return csinh(z);
    case OP_COSH:
        return ccosh(z);
    case OP_TANH:
        return ctanh(z);
    case OP_SIGMOID: /* so that exp stays small */
        return creal(z) < 0 ? cexp(z) / (1 + cexp(z)) : 1 / (1 + cexp(-z));
    case OP_CAST:
        return z;
    case OP_SIGN:
    case OP_FLOOR:
    case OP_CEIL:
    case OP_TRUNC:
    case OP_ROUND:
        return 0;
    default:
        *known = false;
        return 0;
    }
}

/* Of several operands. MOD keeps what FLOORDIV, a whole number, does not change. */
static double complex complex_combine(enum operation operation, const double complex *z, bool *known)
{
    double a = creal(z[0]), b = creal(z[1]);

    switch (operation) {
    case OP_ADD:
        return z[0] + z[1];
    case OP_SUB:
        return z[0] - z[1];
    case OP_MUL:
        return z[0] * z[1];
    case OP_FMA:
        return z[0] * z[1] + z[2];
    case OP_TRUEDIV:
        return z[0] / z[1];
    case OP_POW:
        return complex_power(z[0], z[1], known);
    case OP_MIN:
        return b < a ? z[1] : z[0];
    case OP_MAX:
        return b > a ? z[1] : z[0];
    case OP_FLOORDIV:
        return 0;
    case OP_MOD:
        return z[0] - z[1] * floor(a / b);
    default:
        return complex_function(operation, z[0], known);
    }
}

static bool complex_refuse(struct complex_run *run)
{
    run->parts->refused = true;
    return false;
}

/* An operation on floats that gives a float. */
static bool complex_operation(struct complex_run *run, const struct ir_expr *expr,
                              struct complex_value *result)
{
    struct complex_value operands[3];
    union dtype_value reals[3] = {{0}};
    double complex z[3] = {0};
    bool known = true, plain = true;

    for (int i = 0; i < expr->count; i++) {
        if (!complex_evaluate(run, expr->operands[i], &operands[i]))
            return false;
        reals[i] = operands[i].real;
        __real__ z[i] = dtype_to_double(expr->operands[i]->dtype, reals[i]);
        __imag__ z[i] = operands[i].imaginary;
        plain &= operands[i].imaginary == 0;
    }
    result->imaginary = 0;
    if (!scalar_apply(expr->operation, expr->dtype, expr->operands[0]->dtype, reals, &result->real))
        return false;
    if (plain)
        return true;
    result->imaginary = cimag(complex_combine(expr->operation, z, &known));
    return known || complex_refuse(run);
}

/* ---- expressions ----------------------------------------------------------------------------------- */

static bool complex_load(struct complex_run *run, const struct ir_expr *expr, struct complex_value *result)
{
    const double *imaginary = run->parts->imaginary[expr->access.buffer->index];
    int64_t place;

    if (!interpreter_value(run->run, expr, &result->real) ||
        !interpreter_place(run->run, &expr->access, &place))
        return false;
    result->imaginary = imaginary ? imaginary[place] : 0;
    return true;
}

static bool complex_evaluate(struct complex_run *run, const struct ir_expr *expr,
                             struct complex_value *result)
{
    union dtype_value condition;

    result->imaginary = 0;
    if (!dtype_is_float(expr->dtype) || expr->kind == IR_INTEGER || expr->kind == IR_REAL)
        return interpreter_value(run->run, expr, &result->real);
    if (expr->kind == IR_LOAD)
        return complex_load(run, expr, result);
    if (expr->kind == IR_SYMBOL) {
        result->imaginary = run->slots[expr->symbol->slot];
        return interpreter_value(run->run, expr, &result->real);
    }
    if (expr->operation != OP_SELECT)
        return complex_operation(run, expr, result);
    return interpreter_value(run->run, expr->operands[0], &condition) &&
           complex_evaluate(run, expr->operands[condition.i ? 1 : 2], result);
}

/* ---- the run ------------------------------------------------------------------------------------------ */

static bool complex_keep(void *context, const struct interpreter_run *running, const struct ir_stmt *stmt)
{
    struct complex_run *run = context;
    struct complex_value value;
    double *imaginary;
    int64_t place;

    run->run = running;
    if (!dtype_is_float(stmt->value->dtype))
        return true;
    if (!complex_evaluate(run, stmt->value, &value))
        return false;
    if (stmt->kind != IR_STORE) {
        run->slots[stmt->symbol->slot] = value.imaginary;
        return true;
    }
    imaginary = run->parts->imaginary[stmt->access.buffer->index];
    if (!interpreter_place(running, &stmt->access, &place))
        return false;
    if (imaginary)
        imaginary[place] = value.imaginary;
    return imaginary || value.imaginary == 0 || complex_refuse(run);
}

static void complex_allocate(void *context, const struct ir_buffer *buffer)
{
    const struct interpreter_complex *parts = ((struct complex_run *)context)->parts;

    if (buffer->clear && parts->imaginary[buffer->index])
        memset(parts->imaginary[buffer->index], 0, (size_t)parts->counts[buffer->index] * sizeof(double));
}

int interpreter_run_complex(const struct ir_kernel *kernel, const struct jit_frame *frame,
                            struct interpreter_complex *parts)
{
    struct complex_run run = {.parts = parts};
    struct interpreter_watch watch = {.context = &run,
                                      .keep = complex_keep,
                                      .allocate = complex_allocate,
                                      .limited = true,
                                      .steps = parts->steps};
    int stopped = 1;

    parts->refused = false;
    *frame->trap = (struct jit_trap){.site = 0};
    run.slots = memory_zeroed((size_t)kernel->slot_count + 1, sizeof *run.slots);
    if (run.slots)
        stopped = interpreter_run_watched(kernel, frame, &watch);
    parts->refused |= watch.exhausted;
    parts->steps = watch.steps;
    memory_free(run.slots);
    return stopped;
}

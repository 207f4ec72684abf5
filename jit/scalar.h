/*
 * scalar.h: what each scalar operation computes. The one definition that the
 * interpreter, the constant folder and the shape evaluator share. Emitted C calls the same
 * functions (scalar_library.h) and spells the rest itself, tested against this.
 */
#ifndef JIT_SCALAR_H
#define JIT_SCALAR_H

#include "../ir/ir.h"
#include "frame.h"

/* Applies `operation` to operands of dtype `from`, giving `to` (they differ for comparisons and casts).
 * SELECT, AND, OR are applied to values already computed. False for an integer division by zero (or 0 **
 * negative), and for an operation that has no meaning on `from`. */
bool scalar_apply(enum operation operation, akg_dtype to, akg_dtype from, const union dtype_value *operands,
                  union dtype_value *result);

/* A scalar argument, and a constant (IR_INTEGER, IR_REAL), as a value of its dtype. */
union dtype_value scalar_argument(akg_dtype dtype, union jit_scalar argument);
union dtype_value scalar_constant(const struct ir_expr *expr);

/* Value of an expression over dims, attributes and constants only (a shape, a precondition). False when it
 * divides by zero, or when int64 arithmetic would overflow (so that a huge shape is refused, not wrapped). */
bool scalar_evaluate(const struct ir_expr *expr, const int64_t *dims, const union jit_scalar *scalars,
                     union dtype_value *result);

#endif

/*
 * scalar.h: what each scalar operation computes. The one definition that the
 * interpreter, the constant folder and the shape evaluator share; the C prelude
 * (emit_c_prelude.c) says the same in C and is tested against it.
 */
#ifndef JIT_SCALAR_H
#define JIT_SCALAR_H

#include "../ir/ir.h"
#include "frame.h"

/* Applies `operation` to operands of dtype `from`, giving `to` (they differ for comparisons and casts). SELECT, AND, OR
 * are applied to values already computed. False for an integer division by zero (or 0 ** negative). */
bool scalar_apply(enum operation operation, akg_dtype to, akg_dtype from, const union dtype_value *operands,
                  union dtype_value *result);

/* Value of an expression over dims, attributes and constants only (a shape, a precondition). False when it divides by zero, or when
 * int64 arithmetic would overflow (so that a huge shape is refused, not wrapped). */
bool scalar_evaluate(const struct ir_expr *expr, const int64_t *dims, const union jit_scalar *scalars,
                     union dtype_value *result);

#endif

/*
 * operator_gradient.h: gradients of operators that are given from C.
 */
#ifndef RUNTIME_OPERATOR_GRADIENT_H
#define RUNTIME_OPERATOR_GRADIENT_H

#include "operator.h"

/* For commits: says that the operator has a gradient already; false. */
bool gradient_refuse_second(const akg_operator *operator, akg_diagnostics * list);

#endif

/*
 * operator_gradient.c: gradients of operators that are given from C.
 */
#include "operator_gradient.h"

bool gradient_refuse_second(const akg_operator *operator, akg_diagnostics * list)
{
    diagnostic_add(list, MSG_GRADIENT_TWICE, (struct span){0}, operator->name);
    return false;
}

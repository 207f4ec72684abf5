/*
 * wrt.h: --wrt x,y: which tensors of a call are differentiated by.
 */
#ifndef TOOLS_WRT_H
#define TOOLS_WRT_H

#include "arguments.h"

/* Whether gradients can be of it. */
bool wrt_is_float(const akg_tensor *tensor);
/* Whether `name` is among those of a list "x,y". */
bool wrt_is_listed(const char *list, const char *name);
/* Every name of the list, which may be NULL, must be that of a tensor. */
bool wrt_check(const char *list, const struct arguments *arguments, struct problem *problem);

#endif

/*
 * operator_match.h: the conditions of kernels: text such as "dtype(out) == float32 and not transpose".
 */
#ifndef RUNTIME_OPERATOR_MATCH_H
#define RUNTIME_OPERATOR_MATCH_H

#include "../base/memory.h"
#include "../base/text.h"

struct native;
struct akg_invocation;
struct match;

/* The condition of an operator of that description, or NULL with what is wrong in *wrong, both in the arena.
 */
const struct match *match_parse(struct arena *arena, const struct native *native, const char *text,
                                const char **wrong);

/* Whether it holds. */
bool match_holds(const struct match *match, const struct akg_invocation *invocation);

/* Whether it asks for the device: a kernel whose condition does not (or that has none: NULL) is written for
 * the CPU, and would take addresses of another device for its own. */
bool match_names_device(const struct match *match);

/* For one that does not hold: the values that make it so ("dtype(out) is float64"). */
void match_explain(const struct match *match, const struct akg_invocation *invocation, struct text *text);

#endif

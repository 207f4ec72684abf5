/*
 * foreign.h: names that Python programs use and this language has not, and what is written instead.
 */
#ifndef DSL_FOREIGN_H
#define DSL_FOREIGN_H

#include <stdbool.h>

struct foreign_name {
    const char *name;
    const char *right; /* what replaces it; NULL: nothing so simple */
    const char *help;  /* where there is no replacement: what to do */
};

/* np, torch, math ... as they are usually imported. */
bool foreign_is_module(const char *name);
/* A function, type or value that is called by that name; NULL: none is known. */
const struct foreign_name *foreign_find(const char *name);
/* One whose name is spelt nearly so; NULL: none is. */
const struct foreign_name *foreign_find_near(const char *name);
/* True for a member that converts to another dtype. */
bool foreign_is_conversion(const char *name);
/* A member that tensors of other languages have; NULL: none is known. */
const struct foreign_name *foreign_find_member(const char *name);

#endif

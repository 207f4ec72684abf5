/*
 * jit_pair.h: one kernel run twice, by libtcc's code and by the interpreter, and the results compared.
 *
 * The data of every buffer exists once per side, with guard bytes around it. NaNs are compared as
 * NaNs (their bits are no part of the language), everything else bit by bit.
 */
#ifndef TESTS_UNIT_JIT_PAIR_H
#define TESTS_UNIT_JIT_PAIR_H

#include "../../ir/ir.h"
#include "../../jit/backend_tcc.h"
#include "../../jit/emit_c.h"
#include "../../jit/sites.h"
#include "../../jit/vector.h"

enum { PAIR_BUFFERS = 64, PAIR_DIMS = 8, PAIR_GUARD = 64, PAIR_LOOPS = 200 };

struct jit_pair {
    struct arena arena;
    jmp_buf escape;
    akg_diagnostics *diagnostics;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    struct text text;              /* the emitted C */
    struct vector_options vectors; /* strict, for the best target, until changed */
    int vector_loops, nests;       /* that became vector code; how many of them are nests, */
    int nests_of_columns;          /* nests without rows, */
    int nests_of_while;            /* and nests around a while */
    int serial_loops, bands;       /* that are code of one lane; bands; */
    int flows;                     /* that are code with branches */
    int gathering_loops;           /* that gather elements */
    int waiting_loops;             /* with scatters that wait for others */
    int slim_loops;                /* whose lanes need 8 or 16 bits only */
    struct backend_code code;
    int64_t dims[PAIR_DIMS];
    union jit_scalar scalars[PAIR_DIMS];
    int64_t strides[PAIR_BUFFERS][AKG_MAX_RANK];
    size_t sizes[PAIR_BUFFERS];  /* bytes of the data */
    size_t firsts[PAIR_BUFFERS]; /* byte of element 0 in it */
    char *bytes[2][PAIR_BUFFERS];
    struct jit_trap traps[2];
};

/* Out of memory ends the test program. */
void pair_init(struct jit_pair *pair);
void pair_free(struct jit_pair *pair);
/* The kernel that IR text holds; false, with the reason printed, when it is wrong. */
bool pair_read(struct jit_pair *pair, const char *text);
/* Verifies, numbers, emits and compiles pair->kernel. False, with the reason printed, when that fails. */
bool pair_compile(struct jit_pair *pair, bool trust_indices);
/* Memory for all buffers, zeroed, once dims and scalars are set. Buffers that are not contiguous get strides
 * in reverse order of axes, the first of them negative. */
bool pair_allocate(struct jit_pair *pair);
/* Address of element 0 of a buffer on side 0 (libtcc) or 1. */
void *pair_data(const struct jit_pair *pair, int side, int buffer);
/* Both sides get the same element, at a place in memory order. */
void pair_set(struct jit_pair *pair, int buffer, int64_t place, union dtype_value value);
/* A number below the count, and an integer at which arithmetic may stumble, from a state that moves on. */
unsigned pair_draw(uint64_t *state, unsigned count);
int64_t pair_interesting(uint64_t *state, akg_dtype dtype);
/* Such integers, and floats of some size, into all inputs; `rare`: nan and infinities as well. */
void pair_fill(struct jit_pair *pair, uint64_t *state, bool rare);
/* A loop in pieces, one after the other: small ones, where that makes no difference. Temporaries that its
 * iterations make lie elsewhere in each piece. */
jit_split pair_split;

/* Runs one side: what the kernel returned. */
int pair_run_side(struct jit_pair *pair, int side);
/* Runs both. True when status, trap and all that inputs and outputs hold agree; else says what differs.
 * *status is what the kernel returned. */
bool pair_run(struct jit_pair *pair, int *status);
struct ir_buffer *pair_buffer(const struct jit_pair *pair, const char *name);

#endif

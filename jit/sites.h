/*
 * sites.h: the places of a kernel that may stop it, numbered.
 *
 * Consumes an analysed kernel; numbers, from 1 and in the order of the text, every access, every integer
 * division (// % ceil_div **) and every assert in the body, writing the number into the node (`site`). The
 * table turns a trap back into a message. Proved ones are numbered too, for the interpreter checks them all.
 *
 * It also gives each symbol its `slot`: the last thing done to a kernel before threads share it.
 */
#ifndef JIT_SITES_H
#define JIT_SITES_H

#include "../ir/ir.h"
#include "frame.h"

enum jit_site_kind { JIT_SITE_INDEX, JIT_SITE_DIVISION, JIT_SITE_ASSERT };

struct jit_site {
    enum jit_site_kind kind;
    struct span span;
    const struct ir_buffer *buffer; /* INDEX */
    unsigned wide;                  /* INDEX: a bit for each axis whose index was a uint64 */
    const char *message;            /* ASSERT */
    const struct ir_symbol
        *loops[JIT_TRAP_LOOPS]; /* around it, outermost first (the first JIT_TRAP_LOOPS of them) */
    int loop_count;
};

struct jit_sites {
    LIST(struct jit_site) rows; /* number n is rows.items[n - 1] */
};

/* `sites` is zero-initialised by the caller; its rows go into the kernel's arena. */
void sites_number(struct ir_kernel *kernel, struct jit_sites *sites);

#endif

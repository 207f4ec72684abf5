/*
 * cuda.h: a kernel as CUDA: one translation unit, and what a call launches of it.
 *
 * Consumes an optimised kernel whose sites and slots are numbered (sites.h). Produces a program that serves
 * every shape: extents, strides and scalars come with a call, in one block of 8-byte words that all launches
 * of the call are handed. Nothing here needs CUDA: the text is compiled by NVRTC, by nvcc as it is, or, with
 * the few macros it begins with defined otherwise, as C (the tests run it so). What a call does not launch
 * (the other tiles of a product, say) need not be compiled for it: parts of the unit are units as well.
 *
 * What a call does, in this order, on one stream:
 *   1. takes memory for each temporary;
 *   2. fills the words, and has struct cuda_trap in device memory zeroed where `traps` says that anything may
 * stop;
 *   3. launches each launch in order, those of a round again and again. Every launch has one parameter: the
 * words, by value
 *      (`void *parameters[] = {words}`, word_count * 8 bytes). Blocks and grids are of one dimension;
 *   4. where `traps` holds, reads the trap back: a site that is not 0 is the site (sites.h), axis, index,
 *      extent and loop variables of what stopped it, as a jit_entry tells it.
 * It zeroes no tensor: what must be cleared is a launch of its own. The host computes nothing that depends on
 * data.
 */
#ifndef JIT_CUDA_H
#define JIT_CUDA_H

#include "../base/text.h"
#include "frame.h"
#include "sites.h"

/* When nests such as products of matrices run in tiles (cuda_tile.h). */
struct cuda_tiles {
    int64_t few;     /* rows or columns: fewer, and they do not */
    int64_t shallow; /* likewise of what is summed up */
    int64_t many;    /* tiles: fewer, and smaller ones are made */
    int64_t wide;    /* wide tiles: fewer, and there are none */
    int64_t alone;   /* of these: no more, and several blocks share the depths of each, where there are */
    int64_t deep;    /* so many depths */
};
extern const struct cuda_tiles cuda_usual_tiles;

struct cuda_options {
    bool trust_indices; /* leave per-element index checks out */
    bool deterministic; /* no atomic accumulation whose order shows in the result: bitwise the same each time
                         */
    bool tf32; /* products of float32 that are summed up may round their factors; not where deterministic */
    const struct cuda_tiles *tiles; /* NULL: the usual ones */
    int64_t spread;  /* iterations of a loop that several blocks may share: fewer, and they do not
                        (cuda_spread.h). 0: the usual numbers */
    int64_t squares; /* large ones of a transpose: fewer, and they are small (cuda_cross.h). 0: the usual
                        number */
    int64_t group;   /* tiles of a scan that wait for each other. 0: the usual number */
    int64_t large;   /* iterations inside one of a loop that the host goes through: fewer, and a block goes
                        through it (cuda_round.h). 0: the usual number */
};

/* In device memory, zeroed before the first launch of a call. Where several threads of a launch stop, that
 * one is kept which comes first in the order of the program. */
struct cuda_trap {
    struct jit_trap trap;
    int64_t lock;                  /* of the threads that write it; 0 when nothing runs */
    int64_t launch;                /* that stopped, counted from 1; those behind it do nothing. 0: none did */
    int32_t nests[JIT_TRAP_LOOPS]; /* which loops it stopped in, by number; 0 behind the innermost one */
};

/* What an 8-byte word of the parameter block holds. */
enum cuda_word_kind {
    CUDA_WORD_DATA,      /* device address of element 0 of buffer `index` (no temporary) */
    CUDA_WORD_TEMPORARY, /* device address of temporaries.items[index] */
    CUDA_WORD_DIM,       /* value of kernel->dims.items[index] */
    CUDA_WORD_STRIDE,    /* in elements, of axis `axis` of buffer `index` */
    CUDA_WORD_SCALAR,    /* union jit_scalar of kernel->attributes.items[index] */
    CUDA_WORD_ROUND,     /* the variable of rounds.items[index], while its launches are made */
    CUDA_WORD_TRAP       /* device address of a struct cuda_trap */
};

struct cuda_word {
    enum cuda_word_kind kind;
    int index, axis;
};

/* Device memory that a call needs while it runs; contents undefined before. */
struct cuda_temporary {
    const struct ir_buffer
        *buffer; /* an IR_TEMPORARY whose elements it holds; NULL: scratch of the emitter's */
    const struct ir_expr *elements; /* how many, int64 over dims and attributes; NULL: one */
    int64_t element_bytes;
};

enum { CUDA_AGAIN_BLOCKS = 2048 }; /* that keep a device busy for some rounds of them */

/*
 * Blocks to launch: with `work`, ceil(work / per_block), at least 1 and at most most_blocks; a launch whose
 * work is 0 or less may be left out. Without, most_blocks. Any number of blocks computes the same (the loops
 * stride over the grid), but the number must be the same for the same work where results are to be the same
 * bits.
 */
struct cuda_launch {
    const char *entry;          /* the name of its function: extern "C" */
    int threads;                /* of a block, a constant: the text relies on it */
    int shared;                 /* bytes of dynamic shared memory */
    const struct ir_expr *work; /* int64 over dims and attributes; NULL: as many blocks as most_blocks says */
    int64_t per_block;
    int again; /* times that a thread goes through its loop, where CUDA_AGAIN_BLOCKS are left then; 0: once */
    int64_t most_blocks;
    /* Not 0: only devices of this compute capability (90: 9.0) run it. */
    int architecture;
    /* Not 0: it is left out where so many launches before it is one that runs, with work. */
    int behind;
    struct span span; /* the loop or statement it runs, for messages and profiles */
    int round;        /* the launches of one stand together; -1: it is in none */
    size_t begin,
        end; /* its function in the text, which needs what stands above the first one and no other */
};

/* Launches that are made in turn for each value of a variable: from `low` on, by `step`, up to before `high`
 * (down, where the step is negative). Both are int64 over dims and attributes. */
struct cuda_round {
    const struct ir_expr *low, *high;
    int64_t step;
    int word; /* that holds the variable */
};

struct cuda_program {
    struct arena arena;
    struct text text; /* the translation unit */
    LIST(struct cuda_word) words;
    LIST(struct cuda_temporary) temporaries;
    LIST(struct cuda_launch) launches;
    LIST(struct cuda_round) rounds;
    bool traps; /* something in it may stop it: one of the words is CUDA_WORD_TRAP */
};

/* Makes the program of a kernel, which must outlive it: expressions point into it, and the dependence
 * analysis keeps what it finds in the kernel's arena. AKG_ERROR_MEMORY, or AKG_ERROR_INTERNAL with a
 * diagnostic for a kernel nested too deeply; then there is nothing to free. `diagnostics` must have no
 * escape. */
akg_status cuda_program_make(struct cuda_program *program, struct ir_kernel *kernel,
                             const struct cuda_options *options, akg_diagnostics *diagnostics);
void cuda_program_free(struct cuda_program *program);

/* The translation unit with the functions of some launches alone, wanted[k] telling which. */
void cuda_program_part(const struct cuda_program *program, const bool *wanted, struct text *part);

#endif

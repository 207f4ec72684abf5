/*
 * decode.h: any bytes as a kernel that keeps every rule of the IR, and ends.
 *
 * What libFuzzer changes in the bytes changes the structure of the kernel, never its being one. The bytes
 * that are missing at the end count as zeros. Loops run a few times at most, whatever the extents are.
 */
#ifndef TESTS_FUZZ_DECODE_H
#define TESTS_FUZZ_DECODE_H

#include "../../ir/ir.h"

struct decoder {
    const uint8_t *data;
    size_t size, at;
    struct ir_kernel *kernel;
    struct ir_symbol *scalars[48]; /* in scope: lets, variables; those of loops are in `loops` */
    struct ir_symbol *loops[4];
    struct ir_buffer *temporaries[8]; /* in scope */
    int scalar_count, loop_count, temporary_count;
    int nesting;           /* loops of both kinds around */
    int statements, nodes; /* that may still be made */
    int line;
    bool is_far; /* any constant may be one near an end of its range: nothing is said of whether it ends */
};

/* 0 .. count - 1 */
int decode_pick(struct decoder *decoder, int count);
/* The kernel that the bytes stand for, in the arena; the rest of the bytes is left to the caller. */
struct ir_kernel *decode_kernel(struct decoder *decoder, struct arena *arena, const uint8_t *data,
                                size_t size);

/* The same of bytes in which any constant may be far from 0. It is not to be run: it may go on for ever. */
struct ir_kernel *decode_far_kernel(struct decoder *decoder, struct arena *arena, const uint8_t *data,
                                    size_t size);

/* decode_expression.c: the parts. */
/* The constant, or a far one instead. */
int64_t decode_number(struct decoder *decoder, int64_t value);
struct ir_expr *decode_expression(struct decoder *decoder, akg_dtype dtype, int depth);
struct ir_expr *decode_constant(struct decoder *decoder, akg_dtype dtype);
akg_dtype decode_dtype(struct decoder *decoder);
/* A small integer, of loop variables and extents: what stands in indices and bounds of loops. */
struct ir_expr *decode_small(struct decoder *decoder);
/* Of the buffers in scope one that may be written (`writable`), or any; there always is one. */
struct ir_buffer *decode_buffer(struct decoder *decoder, bool writable);
/* buffer[...] */
struct ir_expr *decode_load(struct decoder *decoder, struct ir_buffer *buffer, int depth);

#endif

/*
 * emulate.h: a kernel as a CUDA program (jit/cuda.h), run by the shim as a call would run it on a device.
 */
#ifndef TESTS_CUDA_EMULATE_H
#define TESTS_CUDA_EMULATE_H

#include "../../jit/cuda.h"
#include "../../jit/sites.h"
#include "shim.h"

enum { EMULATE_REASON = 1000 };

struct emulation {
    struct ir_kernel *kernel;
    struct cuda_program program;
    struct shim_module *module;
};

/* The memory of a tensor on the host: all of it is copied there and, unless it is an input, back. */
struct emulate_buffer {
    void *memory;
    size_t bytes, first; /* element 0 lies `first` bytes in */
};

/* The kernel of a text of loop IR, in the arena, which begins here and escapes there; `optimise`: by the
 * passes for GPUs. NULL where it is none. */
struct ir_kernel *emulate_read(struct arena *arena, jmp_buf *escape, const char *text, bool optimise,
                               struct jit_sites *sites);
/* The kernel's sites are numbered. False with the reason. */
bool emulate_load(struct emulation *emulation, struct ir_kernel *kernel, const struct cuda_options *options,
                  char *reason);
/* One call; of the frame the dims, strides and scalars are used, and the trap is filled. *status is what a
 * jit_entry returns. False with the reason when the shim found a fault. Temporaries of `buffers` are not
 * looked at. */
bool emulate_run(struct emulation *emulation, const struct jit_frame *frame,
                 const struct emulate_buffer *buffers, int *status, char *reason);
void emulate_free(struct emulation *emulation);

#endif

/*
 * shim.h: emitted CUDA (jit/cuda.h) run on the CPU, for tests.
 *
 * The text is compiled as C by libtcc. The threads of a block are fibres, which run until they wait: for a
 * barrier, or for the others of their warp. Blocks run one after the other. What a GPU would let pass, or
 * hang on, is a failure here: a barrier that not all threads of the block reach, or not the same one; an
 * access outside the memory of shim_allocate, which has pages that cannot be touched on both sides; a wide
 * store, or a copy, to a tensor by what is for shared memory, or the other way round.
 * The order in which threads run can be changed, so that what hangs on it shows.
 */
#ifndef TESTS_CUDA_SHIM_H
#define TESTS_CUDA_SHIM_H

#include <stdbool.h>
#include <stddef.h>

/* The thread sanitizer keeps a stack of calls of its own, which goes astray where stacks are switched. */
#if defined(__SANITIZE_THREAD__)
#define SHIM_RUNS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SHIM_RUNS 0
#endif
#endif
#ifndef SHIM_RUNS
#define SHIM_RUNS 1
#endif

struct shim_module;

/* The text's launches; NULL, with the reason, when it cannot be compiled. */
struct shim_module *shim_load(const char *text, char *reason, size_t size);
void shim_unload(struct shim_module *module);
/* The number of a launch, or -1. */
int shim_find(const struct shim_module *module, const char *entry);
/* Bytes of the one parameter of its kernels. */
size_t shim_frame_size(const struct shim_module *module);
/* Runs all blocks, as cuLaunchKernel does with grids and blocks of one dimension. False, with the reason, for
 * what is said above. One launch runs at a time in the process. */
bool shim_launch(struct shim_module *module, int number, unsigned grid, unsigned block, void **parameters,
                 char *reason, size_t size);
/* Threads of a block run first to last (0), last to first (1), or in an order that the number decides. */
void shim_set_order(unsigned order);

/* Memory between pages that cannot be touched, filled with a pattern and aligned to 16 bytes. */
void *shim_allocate(size_t bytes);
/* False when what lies around it was written. */
bool shim_release(void *memory);

#endif

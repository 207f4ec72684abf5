/*
 * gpu.h: NVIDIA devices, for the other files of this folder.
 *
 * Nothing here needs the headers of CUDA; where they were not there when the library was built, without_gpu.c
 * stands in for gpu_*.c, and there is no device to open.
 *
 * A device is opened once for the whole process and stays open: it has one stream, on which everything that
 * is done with its tensors happens in the order in which it was asked for. So memory that is given back is at
 * once good for the next tensor, and only those wait who read results on the host.
 */
#ifndef RUNTIME_GPU_H
#define RUNTIME_GPU_H

#include "../base/diagnostic.h"

struct gpu_device;
struct gpu_block;
struct gpu_code;
struct ir_kernel;
struct jit_instance;
struct jit_frame;

/* Why something went wrong, as the arguments of a row of messages.def. Status AKG_OK: nothing did. */
struct gpu_failure {
    akg_status status;
    enum message message;
    char device[32]; /* "cuda:1", or what else the row begins with */
    char first[512]; /* the other arguments */
    char second[64];
    char note[160]; /* "": none */
};

/* Adds the message, unless none is told; gives the status. */
akg_status gpu_failure_add(const struct gpu_failure *failure, akg_diagnostics *list, struct span span);
/* The same as a list of its own, by the convention of akg.h. */
akg_status gpu_failure_report(const struct gpu_failure *failure, akg_diagnostics **diagnostics);
/* "12.5 MiB" into a buffer of 32 bytes; gives the buffer. */
const char *gpu_size_text(char *buffer, uint64_t bytes);

/* ---- devices (gpu_device.c) ------------------------------------------------------------------------- */

/* How many there are; 0 with a failure that says why CUDA cannot be used. */
int gpu_count(struct gpu_failure *failure);
/* Number `index`, opened; or NULL. */
struct gpu_device *gpu_open(int index, struct gpu_failure *failure);
int gpu_index(const struct gpu_device *device);
akg_status gpu_describe(int index, akg_device_info *info, struct gpu_failure *failure);
/* Waits for everything that was asked for, and tells what of it failed. */
akg_status gpu_wait(struct gpu_device *device, struct gpu_failure *failure);

/* ---- memory (gpu_memory.c) ---------------------------------------------------------------------------- */

/* Aligned to 256 bytes, unset. Freed from any thread, without waiting. */
akg_status gpu_allocate(struct gpu_device *device, size_t bytes, struct gpu_block **block, void **data,
                        struct gpu_failure *failure);
void gpu_free(void *block);

/* ---- copies (gpu_copy.c) ------------------------------------------------------------------------------ */

/* The source may change as soon as this returns. */
akg_status gpu_upload(struct gpu_device *device, void *to, const void *from, size_t bytes,
                      struct gpu_failure *failure);
/* Waits. */
akg_status gpu_download(struct gpu_device *device, void *to, const void *from, size_t bytes,
                        struct gpu_failure *failure);
/* From a device to it or to another one. */
akg_status gpu_move(struct gpu_device *device, void *to, struct gpu_device *source, const void *from,
                    size_t bytes, struct gpu_failure *failure);
/* `count` times the `size` (1, 2, 4 or 8) low bytes of the pattern. */
akg_status gpu_fill(struct gpu_device *device, void *to, uint64_t pattern, int size, int64_t count,
                    struct gpu_failure *failure);

/* ---- kernels (gpu_code.c, gpu_call.c)
 * -------------------------------------------------------------------------------
 */

/* The code of an instance (that was made for devices: JIT_BACKEND_CUDA) on one device; NULL before any of it
 * is made. */
struct gpu_code *gpu_find_code(struct gpu_device *device, const struct jit_instance *instance);
/* Makes what a run with that frame needs of it and what is not there yet, once; it lives as long as the
 * instance. Of one kernel for all shapes a call needs a part, and the compiler takes its time. */
akg_status gpu_make_code(struct gpu_device *device, const struct jit_instance *instance,
                         const struct jit_frame *frame, struct gpu_code **code, akg_diagnostics *diagnostics);
/*
 * Runs it with the frame of a call, whose data are addresses of the device; buffers of role IR_TEMPORARY need
 * no memory. As a jit_entry, *stopped is 1 with the trap filled where the kernel was stopped. It waits for
 * the device only where something may stop it. Where code is missing, *lacks is set, and nothing was done.
 */
akg_status gpu_run(struct gpu_code *code, const struct jit_instance *instance, const struct jit_frame *frame,
                   int *stopped, bool *lacks, struct gpu_failure *failure);

/* ---- graphs (gpu_graph.c) -------------------------------------------------------------------------------
 */

/*
 * Runs of instances and fills, handed to the device as one. They are put into the graph in order, then it is
 * launched; the next time the same ones are put into it again, and only what has changed, addresses say, is
 * told to the driver. After a failure it is empty.
 */
struct gpu_graph;

/* NULL where memory ran out, or the driver knows no graphs. */
struct gpu_graph *gpu_graph_new(struct gpu_device *device);
void gpu_graph_free(struct gpu_graph *graph); /* may be NULL */
/* Gives up what is in it, when it will not be launched as it was begun. */
void gpu_graph_empty(struct gpu_graph *graph);
/* Whether runs of the instance can be part of one: nobody waits for what may stop them. */
bool gpu_graph_takes(const struct jit_instance *instance);
/* Whether such fills can: patterns of 8 bytes only where both halves are the same. */
bool gpu_graph_takes_fill(uint64_t pattern, int size);
/* *lacks as of gpu_run: nothing was put into it. */
akg_status gpu_graph_run(struct gpu_graph *graph, struct gpu_code *code, const struct jit_instance *instance,
                         const struct jit_frame *frame, bool *lacks, struct gpu_failure *failure);
akg_status gpu_graph_fill(struct gpu_graph *graph, void *to, uint64_t pattern, int size, int64_t count,
                          struct gpu_failure *failure);
akg_status gpu_graph_launch(struct gpu_graph *graph, struct gpu_failure *failure);

#endif

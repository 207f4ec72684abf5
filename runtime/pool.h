/*
 * pool.h: the threads that share the loops of kernels.
 */
#ifndef RUNTIME_POOL_H
#define RUNTIME_POOL_H

#include "../jit/frame.h"

/* For the `split` of a frame. Pieces begin at a multiple of what stays together of the grain (split_unit), so
 * results are the same for any number of threads and any pieces. When the threads are
 * busy with another call, or there is not enough work for them, the caller's does all of it. Threads are
 * started when they are first needed, and sleep in between. */
jit_split pool_split;

#endif

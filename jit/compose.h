/*
 * compose.h: kernels that go element by element, composed into one.
 *
 * A kernel is pointwise when it is one nest of loops over the shape of its outputs and each iteration reads
 * the elements at its own place only. Of several such kernels over one shape, each of which may read what
 * earlier ones give, one nest is made; what lies between them need not be stored.
 */
#ifndef JIT_COMPOSE_H
#define JIT_COMPOSE_H

#include "../ir/ir.h"

bool compose_is_pointwise(const struct ir_kernel *kernel);

/* An input of the composed kernel. */
struct compose_input {
    akg_dtype dtype;
    int rank; /* its axes are the last ones of the shape */
    bool contiguous;
    unsigned repeated; /* bit k: axis k has one element, which is there for all iterations */
};

/* What a parameter of a member is: an input, or a result of an earlier member. */
struct compose_source {
    int input; /* -1: the result */
    int member, result;
};

struct compose_member {
    const struct ir_kernel *kernel;       /* pointwise */
    const struct compose_source *sources; /* per parameter of the kernel */
    const bool *stored;                   /* per result: it is an output of the composed kernel too */
};

struct compose_request {
    int rank; /* of the shape; 1 where a shape of any rank is taken as a row */
    const struct compose_input *inputs;
    int input_count;
    const struct compose_member *members;
    int member_count;
};

/*
 * The buffers of the result are the inputs in order, then what is stored, member by member; its attributes
 * are the extents of the shape, then those of the members, in order. Every access is taken for proved: the
 * caller sees to shapes. What a member gives is rounded as if it had been stored.
 */
struct ir_kernel *compose(struct arena *arena, const struct compose_request *request);

#endif

/*
 * autograd.h: how calls are recorded and differentiated, for whoever makes calls: operators, functions, host
 * operators. The public side is the section "gradients" of akg.h.
 *
 * A node stands for one recorded call, or for a leaf. It hangs on the tensors it made; its edges lead to the
 * nodes of its inputs. Edges lead to older nodes only and nodes hold no tensor by reference, so there are no
 * cycles and counting references frees everything.
 *
 *     if (autograd_is_needed(tape, inputs, count)) {
 *         struct autograd_record record = {...};
 *         status = autograd_record(tape, &record, diagnostics);
 *     }
 *
 * An operator that writes in place asks autograd_check_write first. Messages follow the public convention:
 * `diagnostics` may be NULL, else *diagnostics is NULL before and receives a list on failure.
 */
#ifndef RUNTIME_AUTOGRAD_H
#define RUNTIME_AUTOGRAD_H

#include "failure.h"
#include "tensor.h"

#include <stdint.h>

struct gradient_forms;

struct akg_tape {
    akg_registry *registry;
    bool recording;
    struct gradient_forms *forms; /* of calls that were made on it (gradient_form.h), or NULL */
    struct recording *graph;      /* calls are put down there instead of being run (recording.h), or NULL */
};

/* What a backward function is given. */
struct autograd_step {
    akg_tape *tape; /* records when gradients of gradients were asked for */
    struct autograd_node *node;
    void *state;
    akg_tensor *const *output_gradients; /* one per output; NULL where none came, unless `materialise` */
    const bool *needed;                  /* one per input; false for what is no tensor to differentiate by */
};

/* One per kind of node; static. */
struct autograd_operation {
    /* Puts new references into `input_gradients`, whose entries are NULL before, where needed[i]; it may
     * leave NULL, which is zero. A gradient may have the shape of a broadcast operand and another float
     * dtype: it is summed and cast. Not called when no output has a gradient. */
    akg_status (*backward)(const struct autograd_step *step, akg_tensor **input_gradients,
                           akg_diagnostics **diagnostics);
    void (*release)(void *state); /* may be NULL */
};

struct autograd_record {
    const struct autograd_operation *operation;
    const char *name; /* of the operator, for messages; lives as long as the state */
    void *state;
    akg_tensor *const *inputs; /* entries may be NULL: arguments that are no tensors */
    size_t input_count;
    /* An output that is an input was written in place: its history goes on with this node. Another output
     * must be new. Entries may be NULL. */
    akg_tensor *const *outputs;
    size_t output_count;
    const bool *non_differentiable; /* of the outputs; NULL: none. Those that are not float never are. */
    akg_tensor *const *saved;       /* what backward reads, as it is now; entries may be NULL */
    size_t saved_count;
    bool materialise; /* zeros for output gradients that are absent */
    /* Backward computes by recorded calls only, so its gradients can be differentiated again. Else it runs
     * while the tape does not record, and differentiating again is refused if what it read has a history. */
    bool backward_on_tape;
};

static inline bool autograd_is_needed(const akg_tape *tape, akg_tensor *const *inputs, size_t count)
{
    if (!tape || !tape->recording)
        return false;
    for (size_t i = 0; i < count; i++)
        if (inputs[i] && inputs[i]->node)
            return true;
    return false;
}

/* Records a call that was made, if a gradient is needed. On AKG_OK the state belongs to the node (and is
 * released when nothing was to record); AKG_ERROR_MEMORY: it stays the caller's and no tensor was changed. */
akg_status autograd_record(akg_tape *tape, const struct autograd_record *record);

/* The same for a call that has no gradient: a pass that comes through it is refused, naming `name`; `note` is
 * a line under the message. */
akg_status autograd_record_refusal(akg_tape *tape, const char *name, const char *note,
                                   akg_tensor *const *inputs, size_t input_count, akg_tensor *const *outputs,
                                   size_t output_count);

/* Whether `name` may write the tensor in place now: not a leaf that requires a gradient, while recording. */
akg_status autograd_check_write(const akg_tape *tape, const akg_tensor *tensor, const char *name,
                                akg_diagnostics **diagnostics);

/* Puts a view in the place of each output that cannot get a history of its own: an input (unless it is
 * dirty), an output a second time, what has a history already. `dirty` has an entry per input, or is NULL. */
akg_status autograd_separate_outputs(akg_tensor *const *inputs, const bool *dirty, size_t input_count,
                                     akg_tensor **outputs, size_t output_count);

/* Adds the message that memory ran out, where there is none; gives the status. */
akg_status autograd_finish(akg_status status, akg_diagnostics **diagnostics);

/* Releases and clears. */
void autograd_release_tensors(akg_tensor **tensors, size_t count);

/* Tensor number `index` of those saved, as a new reference: its elements, and its history if the step
 * records. NULL where NULL was saved. AKG_ERROR_CALL when it was written since. */
akg_status autograd_saved(const struct autograd_step *step, size_t index, akg_tensor **tensor,
                          akg_diagnostics **diagnostics);
size_t autograd_saved_count(const struct autograd_step *step);

/* ---- nodes (autograd.c, autograd_pass.c) -------------------------------------------------------- */

struct autograd_edge {
    struct autograd_node *node; /* NULL: no gradient goes there */
    int output;
};

struct autograd_output {
    akg_tensor *gradient; /* during a pass: the sum so far. Of a leaf between passes: its gradient. */
    const int64_t *dims;  /* NULL: the call left this output out */
    struct gpu_device *device;
    akg_dtype dtype;
    int rank;
    bool wanted;  /* during a pass: the gradient is to be kept for the caller */
    int recorded; /* its number in a recording, where it stands in one */
};

struct autograd_saved {
    akg_tensor *tensor; /* a hold, not a reference */
    struct autograd_edge edge;
    uint64_t version;
    bool is_output; /* the edge leads to the node itself */
    bool is_own; /* the edge is a reference; else it leads to where an edge of the node does, or to itself */
};

struct autograd_node {
    atomic_size_t references;
    const struct autograd_operation *operation; /* NULL: a leaf */
    const char *name;
    void *state;
    struct autograd_edge *edges;
    struct autograd_output *outputs;
    struct autograd_saved *saved;
    int edge_count, output_count, saved_count;
    bool materialise, backward_on_tape, used_up;
    /* of the pass that is going on */
    struct autograd_pass *pass;
    struct autograd_node *link; /* next in the list it is in: the way down, the order, what is to be freed */
    int next_edge;
    bool needed;
    akg_tensor *grad; /* of a leaf: what akg_tensor_grad gives */
};

static inline bool autograd_is_leaf(const struct autograd_node *node)
{
    return !node->operation;
}

static inline struct autograd_node *autograd_node_retain(struct autograd_node *node)
{
    if (node)
        atomic_fetch_add_explicit(&node->references, 1, memory_order_relaxed);
    return node;
}
void autograd_node_release(struct autograd_node *node);
/* Frees the tensors that were saved; or all that only a backward function needs: the node has been passed. */
void autograd_node_drop_saved(struct autograd_node *node);
void autograd_node_use_up(struct autograd_node *node);

/* An alias of a gradient that was computed outside the tape: a pass through it is refused. It depends on
 * whatever the step depends on. */
akg_status autograd_refuse_second(const struct autograd_step *step, akg_tensor *gradient, akg_tensor **alias);

/* Puts a tensor in the place of output `output` of a node that has it. */
void autograd_attach(akg_tensor *tensor, struct autograd_node *node, int output);

/* ---- elementary operations (autograd_elementary.c) --------------------------------------------------- */

/* Each makes a new tensor, on the device of its arguments; where the tape records, a recorded one. `tape` may
 * be NULL. What goes wrong on a device is told. */
akg_status autograd_add(akg_tape *tape, akg_tensor *a, akg_tensor *b, akg_tensor **sum,
                        akg_diagnostics **diagnostics);
/* To the dtype and shape of an output. */
akg_status autograd_sum_to(akg_tape *tape, akg_tensor *source, const struct autograd_output *form,
                           akg_tensor **sum, akg_diagnostics **diagnostics);
akg_status autograd_cast(akg_tape *tape, akg_tensor *source, akg_dtype dtype, akg_tensor **cast,
                         akg_diagnostics **diagnostics);
/* A view with strides of 0, in the shape of an output. */
akg_status autograd_expand(akg_tape *tape, akg_tensor *source, const struct autograd_output *form,
                           akg_tensor **expanded);
/* In the form of an output, and where that lies. */
akg_status autograd_filled(akg_tape *tape, const struct autograd_output *form, double value,
                           akg_tensor **tensor, akg_diagnostics **diagnostics);
/* The elements of autograd_sum_to, stored in a tensor that is there; both on the host. */
akg_status autograd_sum_into(const akg_tensor *source, akg_tensor *sum);
/* a += b, of the same dtype and shape; both contiguous and on the host. */
void autograd_add_into(akg_tensor *a, const akg_tensor *b);
/* Whether `shape` comes out when axes of `from` are summed: it is what was broadcast to `from`. */
bool autograd_can_sum_to(int from_rank, const int64_t *from, int rank, const int64_t *shape);

#endif

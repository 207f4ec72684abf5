/*
 * operator_gradient.h: gradients of operators that are given from C: as a function, or as a function that
 * builds a graph of operators (gradient_graph.c).
 */
#ifndef RUNTIME_OPERATOR_GRADIENT_H
#define RUNTIME_OPERATOR_GRADIENT_H

#include "autograd.h"
#include "operator.h"

/* One of the two functions. */
struct operator_gradient {
    akg_bprop bprop;
    void (*build)(akg_gradient *gradient);
    void *data;
};

/* For commits: says that the operator has a gradient already; false. */
bool gradient_refuse_second(const akg_operator *callee, akg_diagnostics *list);

/* Whether the tape must be told of a call with these arguments. */
bool gradient_is_needed(const akg_tape *tape, const akg_argument *arguments, size_t count);

/* How many tensors the outputs of a call hold. */
size_t gradient_output_count(const akg_operator *callee, const akg_argument *arguments, size_t count);

/* Records a call that was made, with the operator's gradient, or as one without. */
akg_status gradient_record(akg_operator *callee, akg_tape *tape, const akg_argument *arguments, size_t count,
                           akg_tensor *const *outputs, akg_diagnostics **diagnostics);

/* ---- a recorded call ------------------------------------------------------------------------ */

/* An input or output, and which of the call's tensors it is. */
struct gradient_operand {
    const char *name;
    size_t first, count;
};

struct gradient_graph;

struct gradient_call {
    struct arena arena;
    akg_operator *callee; /* whose registry is retained */
    struct gradient_operand *inputs, *outputs;
    size_t input_operands, output_operands;
    akg_argument *attributes; /* with names, defaults included */
    size_t attribute_count;
    akg_tensor **tensors; /* inputs, then outputs: borrowed, and only until the call is recorded */
    size_t input_count, output_count;
    struct gradient_graph *graph; /* NULL where the gradient is a function */
    size_t *slots;                /* per tensor: which of those saved it is, or SIZE_MAX */
};

/* ---- graphs (gradient_graph.c) ------------------------------------------------------------------ */

/* Builds the graph for the inputs of the call that need a gradient, and tells which tensors it reads. */
akg_status gradient_graph_build(struct gradient_call *call, const struct operator_gradient *gradient,
                                bool *reads, akg_diagnostics **diagnostics);
/* Runs it. */
akg_status gradient_graph_run(const struct gradient_call *call, const struct autograd_step *step,
                              akg_tensor **input_gradients, akg_diagnostics **diagnostics);

#endif

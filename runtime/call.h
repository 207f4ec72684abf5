/*
 * call.h: inside a kernel call: arguments to parameters (call_bind.c), the machine part (call.c),
 * what is said when a call is refused (call_message.c).
 */
#ifndef RUNTIME_CALL_H
#define RUNTIME_CALL_H

#include "../jit/module.h"
#include "tensor.h"

#define CALL_INLINE_PARAMETERS 32
#define CALL_INLINE_KEY 512

/* Items of one tuple or list of tensors: more are refused as AKG_ERROR_USAGE. */
#define CALL_MAX_ITEMS 1000000

/* The arguments of one call, one per parameter of the function. */
struct call_binding {
    struct akg_kernel *kernel;
    const akg_argument **arguments; /* NULL: the default holds */
    int few;                        /* extents up to it are part of the key; 0: none is */
    unsigned char *key;
    size_t key_length, key_capacity;
    uint64_t hash;
    const akg_argument *inline_arguments[CALL_INLINE_PARAMETERS];
    unsigned char inline_key[CALL_INLINE_KEY];
};

/* False when memory ran out; call_end is due in any case. */
bool call_begin(struct call_binding *binding, struct akg_kernel *kernel);
void call_end(struct call_binding *binding);

/* Whether every argument is of a kind that exists and points to something: what a C caller must see to. */
bool call_arguments_are_there(const akg_argument *arguments, size_t count);

/* "a tensor", for messages. */
const char *call_kind_text(akg_argument_kind kind);

/* The messages of a call: a list is made when the first is due. */
struct call_messages {
    const struct dsl_source *source;
    akg_diagnostics *list;
};
/* NULL when memory ran out; diagnostic_add takes that. */
akg_diagnostics *call_list(struct call_messages *messages);

struct gpu_graph;

/* ---- where the tensors lie (call_device.c) ---- */

/* The device of all tensors among the arguments (NULL: the host), or false with a message that names two.
 * *nowhere: there are some, and all only stand for tensors that may lie anywhere. */
bool call_find_device(const struct akg_kernel *kernel, const akg_argument *arguments, size_t count,
                      struct call_messages *messages, struct gpu_device **device, bool *nowhere);
/* A tensor for a buffer, with a message where a device has no room for it. On the host it is one apart from
 * the others, of which some may be NULL (tensor_allocate_apart). */
akg_status call_allocate(struct gpu_device *device, const struct ir_buffer *buffer, const int64_t *shape,
                         akg_tensor *const *others, int count, akg_tensor **tensor,
                         struct call_messages *messages);
/* As a jit_entry; compiles for the device first where that was not done. Into the graph, where there is one.
 */
akg_status call_run_on_device(struct gpu_device *device, struct gpu_graph *graph,
                              const struct jit_instance *instance, const struct jit_frame *frame,
                              int *stopped, struct call_messages *messages);

/* Puts arguments to parameters by place and name. Messages for what does not fit. */
bool call_bind(struct call_binding *binding, const akg_argument *arguments, size_t count,
               akg_diagnostics *diagnostics);

/* The same without messages, for the common case that all are given by place, but for the last ones that have
 * defaults; false: take call_bind. */
bool call_bind_fast(struct call_binding *binding, const akg_argument *arguments, size_t count);

/*
 * What the specialisation hangs on: kinds, dtypes, ranks, layouts, constants. False when memory ran out.
 * `described`, where not NULL, is what call_describe gave and says which attributes are constants: another
 * thread may find out at any moment that one more must be, and key and description have to agree.
 */
bool call_make_key(struct call_binding *binding, jit_backend backend, bool trust_indices,
                   const struct dsl_argument *described);

/* The extents that are not above `most` (elaborate_few). */
uint64_t call_tensor_few(const akg_tensor *tensor, int most);

/* The arguments as the compiler wants them, in `arena`. */
void call_describe(struct call_binding *binding, struct arena *arena, struct dsl_argument *described);

/*
 * What a call of the kernel with these arguments would give: `outputs` receives tensors without elements,
 * whose data must not be touched. Of the arguments' tensors only the descriptions are read. Errors as of
 * akg_kernel_call.
 */
akg_status call_infer(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_tensor **outputs,
                      akg_diagnostics **diagnostics);
/* What runs a kernel in the place of machine code; as interpreter_run, whose sites it has. */
struct call_runner {
    void *context;
    int (*run)(void *context, const struct ir_kernel *kernel, const struct jit_frame *frame);
};
/* akg_kernel_call, run by that, of the kernel as the analyses leave it. */
akg_status call_run_by(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                       const struct call_runner *runner, akg_tensor **outputs, akg_diagnostics **diagnostics);
/*
 * A call that is made again and again: all that is checked before a kernel starts was checked, and its memory
 * is there. `outputs` has a tensor for each output. Of the arguments and outputs elements may lie elsewhere
 * at each run, shapes stay; they live as long as this. Nothing is asked about overlaps. Errors as of
 * akg_kernel_call.
 */
struct call_prepared;
akg_status call_prepare(akg_kernel *kernel, const akg_argument *arguments, size_t count, akg_tensor **outputs,
                        struct call_prepared **prepared, akg_diagnostics **diagnostics);
/* `graph`: as of call_run_on_device, or NULL. */
akg_status call_prepared_run(struct call_prepared *prepared, struct gpu_graph *graph,
                             akg_diagnostics **diagnostics);
void call_prepared_free(struct call_prepared *prepared);
/* What it runs; the tensor of one of its buffers; the value of one of its attributes. */
const struct jit_instance *call_prepared_instance(const struct call_prepared *prepared);
akg_tensor *call_prepared_tensor(const struct call_prepared *prepared, int buffer);
union jit_scalar call_prepared_scalar(const struct call_prepared *prepared, int attribute);
/* The kernel of such a call as the analyses leave it, made anew in `arena`; NULL where there is none. */
struct ir_kernel *call_elaborate(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                                 struct arena *arena);

/* A tensor that is only a description: for call_infer. */
akg_status call_describe_only(akg_dtype dtype, int rank, const int64_t *shape, struct gpu_device *device,
                              akg_tensor **tensor);

/* The instance for a bound call, made if need be. */
akg_status call_instance(struct call_binding *binding, jit_backend backend, bool trust_indices,
                         const struct jit_instance **instance, akg_diagnostics *diagnostics);

/* The instance for a call with these arguments whose kernel is as elaboration left it: for whoever prints or
 * compares what becomes of it. It stays with the module. */
akg_status call_elaborated_instance(akg_kernel *kernel, const akg_argument *arguments, size_t count,
                                    const struct jit_instance **instance, akg_diagnostics *diagnostics);

/* The kernel's first output behind number `before` that is item number `item` of what it returns, or -1. */
int call_next_output(const struct akg_kernel *kernel, int before, int item);

/* Messages of a refused call. */
void call_refuse_size(akg_diagnostics *diagnostics, const struct ir_buffer *buffer, const int64_t *shape);
void call_refuse_extent(akg_diagnostics *diagnostics, const struct ir_buffer *buffer, int axis,
                        const int64_t *dims, const union jit_scalar *scalars);
void call_refuse_broadcast(const struct call_binding *binding, int parameter, int rank, const int64_t *shape,
                           const akg_tensor *tensor, akg_diagnostics *diagnostics);
void call_refuse_shape(akg_diagnostics *diagnostics, const struct ir_buffer *buffer, const akg_tensor *tensor,
                       const int64_t *dims, const union jit_scalar *scalars);
void call_refuse_precondition(akg_diagnostics *diagnostics, const struct ir_precondition *precondition,
                              const int64_t *dims, const union jit_scalar *scalars);
/* It would return that many tensors, and not all of them are outputs of the kernel. */
void call_refuse_results(akg_diagnostics *diagnostics, const struct akg_kernel *kernel, int count);
void call_refuse_trap(akg_diagnostics *diagnostics, const struct jit_instance *instance,
                      const struct jit_trap *trap);

#endif

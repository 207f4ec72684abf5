/*
 * module.h: what is inside akg_module and akg_kernel: the checked functions of one source,
 * and per function the specialisations made so far (the in-memory kernel cache).
 */
#ifndef JIT_MODULE_H
#define JIT_MODULE_H

#include <pthread.h>
#include <stdatomic.h>

#include "../dsl/elaborate.h"
#include "../dsl/parse.h"
#include "backend_tcc.h"
#include "cuda.h"
#include "deferred.h"
#include "disk_cache.h"
#include "lives.h"
#include "optimised.h"
#include "sites.h"
#include "vector.h"

/* What a signature costs once. */
#define JIT_STAGE_TABLE(X)                                                                                   \
    X(SPECIALISE, "specialise")                                                                              \
    X(OPTIMISE, "optimise")                                                                                  \
    X(GENERATE, "generate")

enum jit_stage {
#define X(id, name) JIT_STAGE_##id,
    JIT_STAGE_TABLE(X)
#undef X
        JIT_STAGE_COUNT
};

/* Code of an instance on one device: whoever made it knows more of it. */
struct jit_device_code {
    struct jit_device_code *next;
    void (*release)(struct jit_device_code *code);
};

/* The backend of calls whose tensors lie on a device, which no option can ask for. */
#define JIT_BACKEND_CUDA ((jit_backend)(JIT_BACKEND_INTERPRETER + 1))

/* What a call leaves for the next one: its temporaries (runtime/call_run.c). */
struct jit_kept {
    void (*release)(struct jit_kept *kept);
};

/* One specialisation: a kernel's function for one signature, backend and trust. Immutable once published. */
struct jit_instance {
    struct jit_instance *next;
    uint64_t hash;
    const unsigned char *key; /* made by the caller (runtime/call.c); compared bytewise */
    size_t key_length;
    struct arena arena;
    struct ir_kernel *kernel;
    int64_t *extents;         /* of the first call, by number of the dim; NULL: they are not known */
    struct jit_sites sites;   /* of all that code is made of */
    const struct life *lives; /* of temporaries that may share memory, or NULL (lives.h) */
    jit_backend backend;
    struct backend_code code;    /* entry NULL for the interpreter and CUDA */
    struct deferred deferred;    /* branches that `code` leaves out */
    struct optimised *optimised; /* what may take its place; NULL: nothing */
    LIST(int) made;              /* buffers that a call makes: outputs and temporaries */
    LIST(int) written; /* buffers of a caller's that the code writes: outputs, and what is changed in place */
    bool has_temporaries;
    _Atomic(struct jit_kept *) kept; /* of an earlier call; NULL: none, or a call has them */
    int64_t times[JIT_STAGE_COUNT];  /* in nanoseconds */
    bool strict, trust_indices, tf32;
    const struct disk_cache *cache;                /* the module's */
    struct cuda_program *program;                  /* JIT_BACKEND_CUDA; else NULL */
    _Atomic(struct jit_device_code *) device_code; /* one for each device; only ever prepended to */
};

/* A form in which a kernel was called, one block; whoever calls kernels knows more of it. */
struct jit_route {
    struct jit_route *next;
};

struct akg_kernel {
    akg_module *module;
    const struct ast_function *function;
    const struct dsl_argument *general;     /* per parameter: what its text tells */
    const struct ir_kernel *general_kernel; /* analysed, for reports; NULL for helpers */
    struct elaborate_result general_result;
    const struct ir_kernel
        *default_kernel; /* the same with the defaults of attributes compiled in: its preconditions
                            are the ones to report; general_kernel where there are none */
    const struct dsl_argument *default_arguments; /* what it was elaborated with */
    bool rank_free;                               /* parameters of unknown rank take any */
    bool rank_open; /* a graph function whose ranks only a call tells: there is no general kernel */
    _Atomic(struct jit_instance *) instances; /* newest first; only ever prepended to */
    _Atomic(struct jit_route *) routes;       /* likewise */
    _Atomic(struct jit_route *) recent_route; /* the one of them that served last */
    atomic_bool *needs_constant;              /* per parameter; only ever set */
    /* A broadcast, or the code, hangs on extents up to so many (ELABORATE_FEW_ONE, _MOST); 0: on none.
     * What a key was made for stands in it. */
    atomic_int few;
    pthread_mutex_t lock; /* held while an instance is made */
};

struct akg_module {
    atomic_size_t references;
    struct arena arena; /* text, tree, general kernels */
    struct dsl_source source;
    struct ast_module *tree;
    struct akg_kernel *kernels;
    int kernel_count;
    jit_backend backend;
    struct vector_options vectors; /* trust_indices aside, which a call says */
    bool tf32, any_shape;
    struct disk_cache cache;
    struct jit_notes notes;
    struct optimiser optimiser;
};

static inline bool jit_backend_is_valid(jit_backend backend)
{
    return backend == JIT_BACKEND_DEFAULT || backend == JIT_BACKEND_TCC || backend == JIT_BACKEND_INTERPRETER;
}

/* The instance with that key, or NULL. Never blocks. */
const struct jit_instance *jit_find_instance(struct akg_kernel *kernel, uint64_t hash, const void *key,
                                             size_t key_length);

struct jit_request {
    const struct dsl_argument *arguments; /* per parameter; is_constant where needs_constant says so */
    jit_backend backend;
    bool trust_indices;
    uint64_t hash;
    const void *key;
    size_t key_length;
};

/* All that hangs on an instance, and itself. */
void jit_free_instance(struct jit_instance *instance);
/* For calls with tensors on a device, of an instance with a kernel that is optimised for threads: text, which
 * is compiled for each device when it is first run there. */
akg_status jit_make_program(struct jit_instance *instance, akg_diagnostics *diagnostics);

/*
 * Makes and publishes an instance. *instance is NULL with AKG_OK when the request lacks constants:
 * kernel->needs_constant has grown, and the caller asks again with them in its key. Errors of the arguments
 * (dtypes, ranks, failed asserts) are AKG_ERROR_CALL.
 */
akg_status jit_make_instance(struct akg_kernel *kernel, const struct jit_request *request,
                             const struct jit_instance **instance, akg_diagnostics *diagnostics);

/* Which item of what the function returns the output is: None takes a number, and has no output. */
int jit_output_item(const struct akg_kernel *kernel, size_t index);

/* The index of the kernel's parameter of that name, or -1. */
int jit_parameter_index(const struct akg_kernel *kernel, const char *name);

#endif

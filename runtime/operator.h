/*
 * operator.h: what is inside a registry and an operator.
 *
 * Everything that is registered is a `registration`: an operator, or something that an operator gains later
 * (a kernel, operator information, a gradient). Registrations are made apart, in arenas of their own, and
 * then committed together or not at all; a committed one never changes and lives as long as the registry. So
 * readers of an operator need no lock: its lists are only ever appended to.
 */
#ifndef RUNTIME_OPERATOR_H
#define RUNTIME_OPERATOR_H

#include <pthread.h>
#include <stdatomic.h>

#include "../base/diagnostic.h"
#include "../base/dtype.h"
#include "../base/memory.h"
#include "device.h"

/* ---- operators --------------------------------------------------------------------- */

/* What a call is told besides its arguments. */
struct operator_place {
    akg_tape *tape;       /* that records it, or NULL */
    struct device device; /* where it is to run; of an operation that does not say, where its tensors lie */
    bool device_is_open;  /* it does not say */
    const akg_operator_info *info; /* in place of what is registered, or NULL */
};

/* What calling and asking mean for one kind of operator: kernels of a module (operator_module.c), operators
 * written in C (operator_native.c). */
struct operator_kind {
    akg_status (*call)(akg_operator *callee, const struct operator_place *place,
                       const akg_argument *arguments, size_t count, akg_tensor **outputs,
                       akg_diagnostics **diagnostics);
    size_t (*parameter_count)(const akg_operator *callee);
    bool (*parameter)(const akg_operator *callee, size_t index, akg_parameter *parameter);
    /* The default of an attribute; false where it has none. May allocate, and escape. */
    bool (*initial)(const akg_operator *callee, size_t index, struct arena *arena, akg_argument *value);
    size_t (*output_count)(const akg_operator *callee);
    const char *(*output_name)(const akg_operator *callee, size_t index);
    void (*release)(akg_operator *callee);
};

struct operator_info;
struct operator_gradient;

struct akg_operator {
    const struct operator_kind *kind;
    akg_registry *registry;
    const char *name, *documentation, *origin;
    bool is_standard;                                   /* of the library: the user's come first */
    _Atomic(const struct operator_info *) infos;        /* one per target */
    _Atomic(const struct operator_gradient *) gradient; /* given from C, or NULL */
    akg_module *module;                                 /* of a module: its kernel, and that of its @bprop */
    akg_kernel *kernel, *bprop;
    struct native *native; /* written in C */
};

/* ---- registrations ------------------------------------------------------------------ */

enum registration_kind { REGISTER_OPERATOR, REGISTER_KERNEL, REGISTER_INFO, REGISTER_GRADIENT };

struct registration {
    struct registration *next;
    struct arena arena;
    enum registration_kind kind;
    akg_operator *target; /* what gains it; for an operator, itself */
    union {
        struct native_kernel *kernel;
        struct operator_info *info;
        const struct operator_gradient *gradient;
    } gain;
    akg_operator callee;
};

/* What was made so far of what is to be committed together. */
struct registration_batch {
    struct registration *first, **last;
    akg_diagnostics *list; /* what is wrong with it; made when the first message is due */
};

void registration_begin(struct registration_batch *batch);
/* A new, empty registration at the end of the batch; NULL when memory ran out. */
struct registration *registration_new(struct registration_batch *batch, enum registration_kind kind);
/* The batch's list of messages, or NULL when memory ran out. */
akg_diagnostics *registration_list(struct registration_batch *batch);
/* Runs `fill`, which may allocate in the registration's arena; its status, or AKG_ERROR_MEMORY. */
akg_status registration_fill(struct registration_batch *batch, struct registration *registration,
                             akg_status (*fill)(struct registration_batch *batch,
                                                struct registration *registration, const void *source),
                             const void *source);
/* Registers one thing that the operator of that name gains. */
akg_status registration_add_to(akg_registry *registry, const char *name, enum registration_kind kind,
                               akg_status (*fill)(struct registration_batch *batch,
                                                  struct registration *registration, const void *source),
                               const void *source, akg_diagnostics **diagnostics);
/* With AKG_OK commits the batch, if that can be; whatever comes of it, hands out messages and frees what was
 * not committed. */
akg_status registration_end(struct registration_batch *batch, akg_registry *registry, akg_status status,
                            akg_diagnostics **diagnostics);

/* ---- the registry --------------------------------------------------------------------- */

struct registry_handle; /* a loaded library (library.c) */

struct akg_registry {
    atomic_size_t references;
    pthread_mutex_t lock;     /* held while the fields below are read or changed */
    akg_operator **operators; /* in order of registration */
    size_t operator_count, operator_capacity;
    struct registration *registrations, **registrations_end; /* in order */
    struct registry_handle *handles;
    akg_registry *parent; /* a library is being loaded into that one; NULL otherwise */
    const char *origin;   /* where operators written in C come from */
    _Atomic(struct registry_scratch *) scratch;
    struct graph_cache *plans; /* of graph functions (graph.h) */
};

/* A registry whose registrations wait until registry_merge puts them into `parent`; or NULL. */
akg_registry *registry_stage(akg_registry *parent, const char *origin);
/* All or nothing. `staged` is empty afterwards, or as it was. */
akg_status registry_merge(akg_registry *staged, akg_diagnostics *list);
/* Keeps a loaded library until the registry goes. */
void registry_keep(akg_registry *registry, struct registry_handle *handle);

/* Memory of at least `size` bytes, aligned to 64, that the registry keeps for the next who asks. */
void *registry_take_scratch(akg_registry *registry, size_t size);
void registry_give_scratch(akg_registry *registry, void *scratch);

/* Makes an operator of each kernel of the module. */
akg_status operator_of_module(struct registration_batch *batch, akg_module *module, bool is_standard);

/* akg_call, of which this is the part behind the checks of its arguments. A device that is left open is
 * filled in. */
akg_status operator_call(akg_operator *callee, struct operator_place *place, const akg_argument *arguments,
                         size_t count, akg_tensor **outputs, akg_diagnostics **diagnostics);

/* Ends a function of the interface: hands out the list, which may be NULL when memory ran out; the status, or
 * AKG_ERROR_MEMORY when a message was lost. */
akg_status operator_finish(akg_diagnostics *list, akg_status status, akg_diagnostics **diagnostics);

#endif

/*
 * call_bind.c: the arguments of a call to the parameters of the function, and to a key of the kernel cache.
 */
#include <stdio.h>
#include <string.h>

#include "call.h"

static struct span call_span(const struct call_binding *binding, int parameter)
{
    return binding->kernel->function->parameters[parameter].span;
}

const char *call_kind_text(akg_argument_kind kind)
{
    static const char *const texts[] = {
        [AKG_ARGUMENT_NONE] = "None",
        [AKG_ARGUMENT_TENSOR] = "a tensor",
        [AKG_ARGUMENT_INT] = "an integer",
        [AKG_ARGUMENT_FLOAT] = "a number with a fraction",
        [AKG_ARGUMENT_BOOL] = "a bool",
        [AKG_ARGUMENT_STRING] = "a string",
        [AKG_ARGUMENT_INTS] = "a tuple of ints",
        [AKG_ARGUMENT_TENSORS] = "tensors",
        [AKG_ARGUMENT_FLOATS] = "a list of floats",
        [AKG_ARGUMENT_DTYPE] = "a dtype",
    };

    _Static_assert(sizeof texts / sizeof *texts == AKG_ARGUMENT_DTYPE + 1, "as many texts as kinds");
    return texts[kind];
}

bool call_begin(struct call_binding *binding, struct akg_kernel *kernel)
{
    size_t parameters = (size_t)kernel->function->parameter_count;

    binding->kernel = kernel;
    binding->key = binding->inline_key;
    binding->key_capacity = sizeof binding->inline_key;
    binding->arguments = binding->inline_arguments;
    if (parameters > CALL_INLINE_PARAMETERS)
        binding->arguments = memory_zeroed(parameters, sizeof *binding->arguments);
    return binding->arguments != NULL;
}

void call_end(struct call_binding *binding)
{
    if (binding->arguments != binding->inline_arguments)
        memory_free(binding->arguments);
    if (binding->key != binding->inline_key)
        memory_free(binding->key);
}

static bool call_argument_is_there(const akg_argument *argument)
{
    switch (argument->kind) {
    case AKG_ARGUMENT_NONE:
    case AKG_ARGUMENT_INT:
    case AKG_ARGUMENT_FLOAT:
    case AKG_ARGUMENT_BOOL:
        return true;
    case AKG_ARGUMENT_DTYPE:
        return (unsigned)argument->as.dtype < AKG_DTYPE_COUNT;
    case AKG_ARGUMENT_FLOATS:
        return argument->as.floats.count <= CALL_MAX_ITEMS &&
               (argument->as.floats.items || !argument->as.floats.count);
    case AKG_ARGUMENT_TENSOR:
        return argument->as.tensor != NULL;
    case AKG_ARGUMENT_STRING:
        return argument->as.string != NULL;
    case AKG_ARGUMENT_INTS:
        return argument->as.ints.count <= CALL_MAX_ITEMS &&
               (argument->as.ints.items || !argument->as.ints.count);
    case AKG_ARGUMENT_TENSORS:
        if (argument->as.tensors.count > CALL_MAX_ITEMS ||
            (!argument->as.tensors.items && argument->as.tensors.count))
            return false;
        for (size_t i = 0; i < argument->as.tensors.count; i++)
            if (!argument->as.tensors.items[i])
                return false;
        return true;
    }
    return false;
}

bool call_arguments_are_there(const akg_argument *arguments, size_t count)
{
    if (!arguments && count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!call_argument_is_there(&arguments[i]))
            return false;
    return true;
}

bool call_bind_fast(struct call_binding *binding, const akg_argument *arguments, size_t count)
{
    const struct ast_function *function = binding->kernel->function;
    size_t parameters = (size_t)function->parameter_count;

    if (count > parameters)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].name)
            return false;
        binding->arguments[i] = &arguments[i];
    }
    for (size_t i = count; i < parameters; i++) {
        if (!function->parameters[i].initial)
            return false;
        binding->arguments[i] = NULL;
    }
    return true;
}

static bool call_kind_fits(const struct call_binding *binding, int parameter, const akg_argument *argument)
{
    const struct dsl_argument *general = &binding->kernel->general[parameter];
    bool attribute = general->kind != DSL_TENSOR && general->kind != DSL_TENSORS;
    const struct ast_function *function = binding->kernel->function;
    const struct ast_parameter *row = &function->parameters[parameter];

    switch (argument->kind) {
    case AKG_ARGUMENT_NONE: /* a bprop is handed what its forward was */
        return general->kind == DSL_TENSOR && (row->initial || function->bprop_of);
    case AKG_ARGUMENT_TENSOR:
        return general->kind == DSL_TENSOR || (attribute && akg_tensor_rank(argument->as.tensor) == 0);
    case AKG_ARGUMENT_TENSORS:
        return general->kind == DSL_TENSORS;
    case AKG_ARGUMENT_INT:
    case AKG_ARGUMENT_FLOAT:
    case AKG_ARGUMENT_BOOL:
        if (argument->kind == AKG_ARGUMENT_FLOAT && elaborate_takes_integer(row))
            return false;
        return general->kind == DSL_INT || general->kind == DSL_FLOAT || general->kind == DSL_BOOL ||
               (general->kind == DSL_TENSOR && (function->is_broadcast || function->is_graph));
    case AKG_ARGUMENT_STRING:
        return general->kind == DSL_STRING || (attribute && !row->initial);
    case AKG_ARGUMENT_INTS:
        return general->kind == DSL_INTS || (attribute && !row->initial);
    case AKG_ARGUMENT_FLOATS:
    case AKG_ARGUMENT_DTYPE:
        break;
    }
    return false;
}

static const char *call_takes(const struct dsl_argument *general, const struct ast_parameter *row)
{
    switch (general->kind) {
    case DSL_TENSOR:
        return "a tensor";
    case DSL_TENSORS:
        return "tensors";
    case DSL_STRING:
        return "a string";
    case DSL_INTS:
        return "a tuple of ints";
    default:
        return elaborate_takes_integer(row) ? "an integer" : "a number";
    }
}

static bool call_bind_one(struct call_binding *binding, int parameter, const akg_argument *argument,
                          akg_diagnostics *diagnostics)
{
    const char *name = binding->kernel->function->parameters[parameter].name;

    if (binding->arguments[parameter]) {
        diagnostic_add(diagnostics, MSG_CALL_TWICE, call_span(binding, parameter), name);
        return false;
    }
    if (!call_kind_fits(binding, parameter, argument)) {
        diagnostic_add(diagnostics, MSG_CALL_KIND, call_span(binding, parameter), name,
                       call_takes(&binding->kernel->general[parameter],
                                  &binding->kernel->function->parameters[parameter]),
                       call_kind_text(argument->kind));
        return false;
    }
    binding->arguments[parameter] = argument;
    return true;
}

static void call_refuse_name(struct call_binding *binding, const char *name, akg_diagnostics *diagnostics)
{
    const struct ast_function *function = binding->kernel->function;
    const char *names[64], *nearest;
    int count = function->parameter_count < 64 ? function->parameter_count : 64;
    struct diagnostic_entry *entry =
        diagnostic_add(diagnostics, MSG_CALL_UNKNOWN, function->span, function->name, name);

    for (int i = 0; i < count; i++)
        names[i] = function->parameters[i].name;
    nearest = spelling_nearest(name, names, count);
    if (nearest)
        diagnostic_note(entry, "help: did you mean '%s'?", nearest);
}

bool call_bind(struct call_binding *binding, const akg_argument *arguments, size_t count,
               akg_diagnostics *diagnostics)
{
    const struct ast_function *function = binding->kernel->function;
    int position = 0;

    memset(binding->arguments, 0, sizeof *binding->arguments * (size_t)function->parameter_count);
    for (size_t i = 0; i < count; i++) {
        int parameter =
            arguments[i].name ? jit_parameter_index(binding->kernel, arguments[i].name) : position++;
        if (arguments[i].name && parameter < 0) {
            call_refuse_name(binding, arguments[i].name, diagnostics);
            return false;
        }
        if (parameter >= function->parameter_count) {
            char given[32], takes[32];
            snprintf(given, sizeof given, "%zu", count);
            snprintf(takes, sizeof takes, "%d", function->parameter_count);
            diagnostic_add(diagnostics, MSG_CALL_TOO_MANY, function->span, given, function->name, takes);
            return false;
        }
        if (!call_bind_one(binding, parameter, &arguments[i], diagnostics))
            return false;
    }
    for (int i = 0; i < function->parameter_count; i++)
        if (!binding->arguments[i] && !function->parameters[i].initial && !function->parameters[i].variadic) {
            diagnostic_add(diagnostics, MSG_CALL_MISSING, call_span(binding, i),
                           function->parameters[i].name);
            return false;
        }
    return true;
}

/* ---- key ---------------------------------------------------------------------------------- */

static __attribute__((noinline)) bool key_grow(struct call_binding *binding, size_t length)
{
    bool is_inline = binding->key == binding->inline_key;
    size_t capacity = (binding->key_capacity + length) * 2;
    unsigned char *key = memory_resize(is_inline ? NULL : binding->key, capacity);

    if (!key)
        return false;
    if (is_inline)
        memcpy(key, binding->inline_key, binding->key_length);
    binding->key = key;
    binding->key_capacity = capacity;
    return true;
}

static inline bool key_bytes(struct call_binding *binding, const void *bytes, size_t length)
{
    if (length > binding->key_capacity - binding->key_length && !key_grow(binding, length))
        return false;
    memcpy(binding->key + binding->key_length, bytes, length);
    binding->key_length += length;
    return true;
}

uint64_t call_tensor_few(const akg_tensor *tensor, int most)
{
    uint64_t few = 0;

    for (int k = 0; k < tensor->rank; k++)
        if (tensor_shape(tensor)[k] <= most)
            few |= (uint64_t)tensor_shape(tensor)[k] << (ELABORATE_FEW_BITS * k);
    return few;
}

static bool key_tensor(struct call_binding *binding, const akg_tensor *tensor, bool constant)
{
    unsigned char row[4] = {(unsigned char)AKG_ARGUMENT_TENSOR, (unsigned char)tensor->dtype,
                            (unsigned char)tensor->rank, tensor->contiguous | (constant ? 2 : 0)};
    unsigned char order[AKG_MAX_RANK];
    bool ordered = !tensor->contiguous && tensor_order(tensor, order);
    uint64_t few;

    row[3] |= ordered ? 4 : 0;
    if (!key_bytes(binding, row, sizeof row) || (ordered && !key_bytes(binding, order, (size_t)tensor->rank)))
        return false;
    if (constant && !key_bytes(binding, tensor_shape(tensor), sizeof(int64_t) * (size_t)tensor->rank))
        return false;
    few = call_tensor_few(tensor, binding->few);
    return !binding->few || key_bytes(binding, &few, sizeof few);
}

static bool key_argument(struct call_binding *binding, int parameter, bool constant)
{
    const akg_argument *argument = binding->arguments[parameter];
    unsigned char head[4] = {255, 0};

    if (!argument)
        return key_bytes(binding, head, 2);
    head[0] = (unsigned char)argument->kind;
    head[1] = constant;
    switch (argument->kind) {
    case AKG_ARGUMENT_TENSOR:
        return key_tensor(binding, argument->as.tensor, constant);
    case AKG_ARGUMENT_TENSORS:
        if (!key_bytes(binding, head, 1) ||
            !key_bytes(binding, &argument->as.tensors.count, sizeof argument->as.tensors.count))
            return false;
        for (size_t i = 0; i < argument->as.tensors.count; i++)
            if (!key_tensor(binding, argument->as.tensors.items[i], constant))
                return false;
        return true;
    case AKG_ARGUMENT_STRING:
        return key_bytes(binding, head, 1) &&
               key_bytes(binding, argument->as.string, strlen(argument->as.string) + 1);
    case AKG_ARGUMENT_INTS:
        return key_bytes(binding, head, 1) &&
               key_bytes(binding, &argument->as.ints.count, sizeof argument->as.ints.count) &&
               (argument->as.ints.count == 0 || /* then there may be none to point to */
                key_bytes(binding, argument->as.ints.items,
                          argument->as.ints.count * sizeof *argument->as.ints.items));
    case AKG_ARGUMENT_BOOL: {
        int64_t value = argument->as.boolean;
        return key_bytes(binding, head, 2) && (!constant || key_bytes(binding, &value, sizeof value));
    }
    case AKG_ARGUMENT_INT: {
        struct ir_known known = ir_known_of(argument->as.integer);
        head[2] = known.bits;
        head[3] = known.sign;
    } /* fallthrough */
    case AKG_ARGUMENT_FLOAT:
        return key_bytes(binding, head, sizeof head) &&
               (!constant || key_bytes(binding, &argument->as.integer, sizeof argument->as.integer));
    case AKG_ARGUMENT_NONE:
    case AKG_ARGUMENT_FLOATS: /* no kernel takes these two: call_bind refuses them, */
    case AKG_ARGUMENT_DTYPE:  /* and no instance has such a key */
        break;
    }
    return key_bytes(binding, head, 2);
}

/* Eight bytes at a time: every call pays for it. Of the key itself nothing is left out where it is compared.
 */
static uint64_t key_hash(const unsigned char *key, size_t length)
{
    uint64_t hash = length, word;
    size_t at = 0;

    for (; length - at >= sizeof word; at += sizeof word) {
        memcpy(&word, key + at, sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    for (; at < length; at++)
        hash = (hash ^ key[at]) * 1099511628211u;
    return hash;
}

bool call_make_key(struct call_binding *binding, jit_backend backend, bool trust_indices,
                   const struct dsl_argument *described)
{
    const atomic_bool *needed = binding->kernel->needs_constant;
    unsigned char head[3] = {(unsigned char)backend, trust_indices};

    if (!described)
        binding->few = atomic_load_explicit(&binding->kernel->few, memory_order_relaxed);
    head[2] = (unsigned char)binding->few;
    binding->key_length = 0;
    if (!key_bytes(binding, head, sizeof head))
        return false;
    for (int i = 0; i < binding->kernel->function->parameter_count; i++)
        if (!key_argument(binding, i,
                          described ? described[i].is_constant
                                    : atomic_load_explicit(&needed[i], memory_order_relaxed)))
            return false;
    binding->hash = key_hash(binding->key, binding->key_length);
    return true;
}

/* ---- description for the compiler ------------------------------------------------------------ */

static struct dsl_argument call_describe_tensor(const struct call_binding *binding, struct arena *arena,
                                                const akg_tensor *tensor, bool constant)
{
    unsigned char order[AKG_MAX_RANK];
    bool ordered = !tensor->contiguous && tensor_order(tensor, order);

    return (struct dsl_argument){
        .kind = DSL_TENSOR,
        .is_constant = constant,
        .shape = constant ? tensor_shape(tensor) : NULL,
        .extents = tensor_shape(tensor),
        .dtype = tensor->dtype,
        .rank = tensor->rank,
        .contiguous = tensor->contiguous,
        .order = ordered ? (const unsigned char *)arena_copy(arena, (const char *)order, (size_t)tensor->rank)
                         : NULL,
        .few = call_tensor_few(tensor, binding->few),
        .few_known = binding->few};
}

static struct dsl_argument call_describe_default(struct call_binding *binding, struct arena *arena,
                                                 int parameter)
{
    const struct ast_parameter *row = &binding->kernel->function->parameters[parameter];
    struct dsl_argument described = {.kind = DSL_NONE};

    if (row->variadic)
        return (struct dsl_argument){.kind = DSL_TENSORS};
    elaborate_constant(arena, row->initial, &described);
    if (described.kind == DSL_INT)
        described.known = ir_known_of(described.integer);
    return described;
}

void call_describe(struct call_binding *binding, struct arena *arena, struct dsl_argument *described)
{
    binding->few = atomic_load(&binding->kernel->few);
    for (int i = 0; i < binding->kernel->function->parameter_count; i++) {
        const akg_argument *argument = binding->arguments[i];
        struct dsl_argument *to = &described[i];
        struct dsl_argument *items;

        if (!argument) {
            *to = call_describe_default(binding, arena, i);
            continue;
        }
        *to = (struct dsl_argument){.kind = DSL_NONE};
        to->is_constant = atomic_load(&binding->kernel->needs_constant[i]);
        switch (argument->kind) {
        case AKG_ARGUMENT_NONE:
        case AKG_ARGUMENT_FLOATS:
        case AKG_ARGUMENT_DTYPE:
            break;
        case AKG_ARGUMENT_TENSOR:
            *to = call_describe_tensor(binding, arena, argument->as.tensor, to->is_constant);
            break;
        case AKG_ARGUMENT_TENSORS:
            items = arena_array(arena, struct dsl_argument, argument->as.tensors.count + 1);
            for (size_t k = 0; k < argument->as.tensors.count; k++)
                items[k] =
                    call_describe_tensor(binding, arena, argument->as.tensors.items[k], to->is_constant);
            to->kind = DSL_TENSORS;
            to->items = items;
            to->count = (int)argument->as.tensors.count;
            break;
        case AKG_ARGUMENT_INT:
            to->kind = DSL_INT;
            to->integer = argument->as.integer;
            to->known = ir_known_of(to->integer);
            break;
        case AKG_ARGUMENT_FLOAT:
            to->kind = DSL_FLOAT;
            to->real = argument->as.real;
            break;
        case AKG_ARGUMENT_BOOL:
            to->kind = DSL_BOOL;
            to->integer = argument->as.boolean;
            break;
        case AKG_ARGUMENT_STRING:
            to->kind = DSL_STRING;
            to->string = arena_copy(arena, argument->as.string, strlen(argument->as.string));
            break;
        case AKG_ARGUMENT_INTS: {
            int64_t *ints = arena_array(arena, int64_t, argument->as.ints.count + 1);
            for (size_t k = 0; k < argument->as.ints.count; k++)
                ints[k] = argument->as.ints.items[k];
            to->kind = DSL_INTS;
            to->ints = ints;
            to->count = (int)argument->as.ints.count;
            break;
        }
        }
    }
}

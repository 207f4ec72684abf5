/*
 * module.c: jit_compile, and what can be asked of a module.
 *
 * jit_compile reads the text and elaborates every kernel once in its most general form (open dtypes,
 * defaults), so that what is wrong with a program shows before its first call.
 */
#include "module.h"

#include <string.h>

#include "../base/memory.h"
#include "../dsl/names.h"
#include "../dsl/standard.h"
#include "../dsl/types.h"
#include "compose.h"
#include "pipeline.h"
#include "source.h"

/* ---- checking kernels in their general form --------------------------------------------- */

/* The rank of a tensor whose rank is free, when those that depend on no other have `rank`. */
static int module_free_rank(const struct signature *signature, int parameter, int rank, bool linked)
{
    int least = signature ? signature->least_ranks[parameter] : 0;

    if (!signature || !linked || signature->linked[parameter] < 0)
        return rank > least ? rank : least;
    rank = module_free_rank(signature, signature->linked[parameter], rank, true) +
           signature->linked_by[parameter];
    return rank < 0 ? 0 : rank < AKG_MAX_RANK ? rank : AKG_MAX_RANK;
}

/* Arguments with every tensor of unknown rank at `rank` (or the least rank it is asked for); `linked`: or at
 * what follows from another's. A tuple of unknown length is as long. */
static struct dsl_argument *module_at_rank(struct arena *arena, const struct akg_kernel *kernel, int rank,
                                           bool linked, bool *free)
{
    const struct ast_function *function = kernel->function;
    struct dsl_argument *arguments = arena_array(arena, struct dsl_argument, function->parameter_count + 1);

    for (int i = 0; i < function->parameter_count; i++) {
        arguments[i] = kernel->general[i];
        if (arguments[i].kind == DSL_TENSOR && arguments[i].rank < 0) {
            arguments[i].rank = module_free_rank(function->signature, i, rank, linked);
            *free = true;
        }
        if (arguments[i].kind == DSL_INTS && arguments[i].count < 0) {
            int count = module_free_rank(function->signature, i, rank, false);
            int64_t *ones = arena_array(arena, int64_t, count + 1);
            for (int k = 0; k < count; k++)
                ones[k] = 1;
            arguments[i].ints = ones;
            arguments[i].count = count;
            *free = true;
        }
        if (arguments[i].kind == DSL_TENSORS && arguments[i].items[0].rank < 0) {
            struct dsl_argument *items = arena_array(arena, struct dsl_argument, arguments[i].count);
            for (int k = 0; k < arguments[i].count; k++) {
                items[k] = arguments[i].items[k];
                items[k].rank = rank;
            }
            arguments[i].items = items;
            *free = true;
        }
    }
    return arguments;
}

/* Elaborates until no more constants are missing. What comes to no kernel is given back: a hostile text fails
 * with gigabytes. */
static void module_specialise(struct akg_kernel *kernel, struct dsl_argument *arguments,
                              struct elaborate_result *result, akg_diagnostics *diagnostics)
{
    struct arena *arena = &kernel->module->arena;

    for (int round = 0; round <= kernel->function->parameter_count; round++) {
        struct arena_mark mark = arena_mark(arena);
        pipeline_specialise(arena, kernel->module->tree, kernel->function, arguments, true, result,
                            diagnostics);
        for (int i = 0; result->retry && i < kernel->function->parameter_count; i++)
            arguments[i].is_constant |= result->needs_constant[i];
        if (!result->kernel) {
            arena_rewind(arena, mark);
            *result = (struct elaborate_result){.retry = result->retry};
        }
        if (!result->retry)
            return;
    }
}

/* Once more without the first optional tensor: that side of a kernel must be right too. Changes `arguments`.
 */
static void module_specialise_without(struct akg_kernel *kernel, struct dsl_argument *arguments,
                                      akg_diagnostics *diagnostics)
{
    struct elaborate_result scratch;

    for (int i = 0; i < kernel->function->parameter_count; i++) {
        const struct ast_expr *initial = kernel->function->parameters[i].initial;
        if (!initial || initial->kind != AST_NONE)
            continue;
        arguments[i] = (struct dsl_argument){.kind = DSL_NONE};
        module_specialise(kernel, arguments, &scratch, diagnostics);
        return;
    }
}

/* Whether a message says no more than that the ranks of tensors do not fit together. */
static bool module_is_of_ranks(const akg_diagnostic *shown)
{
    static const enum message messages[] = {MSG_BAD_ARGUMENT, MSG_CALL_RANK, MSG_RANK_MISMATCH, MSG_BROADCAST,
                                            MSG_UNPACK_COUNT};

    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (strcmp(shown->code, message_table[messages[i]].code) == 0)
            return true;
    return shown->severity != AKG_SEVERITY_ERROR;
}

/* A graph function whose tensors have ranks that the text does not tell, and no one rank for all will do:
 * only a call can tell what is wrong, if anything is. So it is, too, where functions of the standard
 * library have other errors with each rank. */
static bool module_is_open(const struct akg_kernel *kernel, const akg_diagnostics *trial)
{
    for (size_t i = 0; i < akg_diagnostics_count(trial); i++)
        if (!module_is_of_ranks(akg_diagnostics_at(trial, i)))
            return false;
    return kernel->function->is_graph;
}

/* Errors that have to do with ranks speak against the rank; others, as an index that is outside whatever the
 * ranks are, hardly. */
static size_t module_count_errors(const akg_diagnostics *trial)
{
    enum { OF_RANKS = 100 };
    size_t errors = 0;

    for (size_t i = 0; i < akg_diagnostics_count(trial); i++) {
        const akg_diagnostic *shown = akg_diagnostics_at(trial, i);
        if (shown->severity == AKG_SEVERITY_ERROR)
            errors += module_is_of_ranks(shown) ? OF_RANKS : 1;
    }
    return errors;
}

enum { MODULE_ERRORS = 64 };

/* The errors that came with every rank that was tried: these are not of ranks. `plain`: nor is one that came
 * with some rank, as a call with too many arguments. */
struct module_errors {
    bool begun, many, plain;
    int count;
    struct {
        const char *code;
        int line, column;
    } items[MODULE_ERRORS];
};

static bool module_has_error(const akg_diagnostics *trial, const char *code, int line, int column)
{
    for (size_t i = 0; i < akg_diagnostics_count(trial); i++) {
        const akg_diagnostic *shown = akg_diagnostics_at(trial, i);
        if (strcmp(shown->code, code) == 0 && shown->line == line && shown->column == column)
            return true;
    }
    return false;
}

/* Whether it is about what a function of the standard library does with its arguments, which may have other
 * ranks than it takes. */
static bool module_is_inside(const akg_diagnostic *shown)
{
    for (size_t k = 0; k < shown->note_count; k++)
        if (strncmp(shown->notes[k], DIAGNOSTIC_PLACE, sizeof DIAGNOSTIC_PLACE - 1) == 0)
            return true;
    return false;
}

static void module_keep_errors(struct module_errors *errors, const akg_diagnostics *trial)
{
    int kept = 0;

    for (size_t i = 0; i < akg_diagnostics_count(trial); i++) {
        const akg_diagnostic *shown = akg_diagnostics_at(trial, i);
        errors->plain |= !module_is_of_ranks(shown) && !module_is_inside(shown);
    }
    for (size_t i = 0; i < akg_diagnostics_count(trial) && !errors->begun; i++) {
        const akg_diagnostic *shown = akg_diagnostics_at(trial, i);
        if (shown->severity != AKG_SEVERITY_ERROR)
            continue;
        errors->many |= errors->count == MODULE_ERRORS;
        if (errors->many)
            break;
        errors->items[errors->count].code = shown->code;
        errors->items[errors->count].line = shown->line;
        errors->items[errors->count++].column = shown->column;
    }
    errors->begun = true;
    for (int k = 0; k < errors->count; k++)
        if (module_has_error(trial, errors->items[k].code, errors->items[k].line, errors->items[k].column))
            errors->items[kept++] = errors->items[k];
    errors->count = kept;
}

/* How badly a rank fits: its errors, and one more where they are such that there is no kernel. `same`, which
 * may be NULL, keeps of its errors those that came here, too. */
static size_t module_trial(struct akg_kernel *kernel, int rank, bool linked, bool *free,
                           struct module_errors *same)
{
    akg_diagnostics *trial = diagnostics_create("", NULL, 0);
    struct arena *arena = &kernel->module->arena;
    struct arena_mark mark = arena_mark(arena);
    jmp_buf *escape = arena->escape, here;
    struct dsl_argument *arguments;
    struct elaborate_result result;
    size_t errors;

    if (!trial)
        longjmp(*escape, 1);
    if (setjmp(here)) {
        akg_diagnostics_free(trial);
        longjmp(*escape, 1);
    }
    arena->escape = &here;
    diagnostics_set_escape(trial, &here);
    arguments = module_at_rank(arena, kernel, rank, linked, free);
    module_specialise(kernel, arguments, &result, trial);
    if (result.kernel)
        module_specialise_without(kernel, arguments, trial);
    errors = module_count_errors(trial);
    errors += errors && !result.kernel;
    kernel->rank_open = errors && module_is_open(kernel, trial);
    if (same)
        module_keep_errors(same, trial);
    arena->escape = escape;
    akg_diagnostics_free(trial);
    arena_rewind(arena, mark);
    return errors;
}

/* The rank that fits best: the first without errors, else the one with the fewest, whose messages are then
 * shown. */
static void module_search_rank(struct akg_kernel *kernel, int *rank, bool *linked)
{
    static const int order[] = {2, 1, 3, 4}, others[] = {5, 6, 7, 8};
    struct module_errors same = {.count = 0};
    size_t fewest = SIZE_MAX;
    bool free, open = false;

    for (int round = 0; round < 2 && fewest; round++)
        for (int k = 0; k < (int)(sizeof order / sizeof *order) && fewest; k++) {
            size_t errors = module_trial(kernel, order[k], round == 0, &free, &same);
            open |= kernel->rank_open;
            if (errors >= fewest)
                continue;
            fewest = errors;
            *rank = order[k];
            *linked = round == 0;
        }
    bool may_open = kernel->function->is_graph && !same.many && !same.plain;
    for (int k = 0; k < (int)(sizeof others / sizeof *others) && may_open && same.count; k++)
        module_trial(kernel, others[k], true, &free, &same);
    open |= may_open && !same.count && !same.plain;
    kernel->rank_open = fewest && open;
}

/* With integer attributes at their defaults, as most calls have them, more is proved than for all values. */
static void module_check_defaults(struct akg_kernel *kernel, const struct dsl_argument *arguments,
                                  akg_diagnostics *diagnostics)
{
    int count = kernel->function->parameter_count;
    struct dsl_argument *fixed = arena_array(&kernel->module->arena, struct dsl_argument, count + 1);
    struct elaborate_result result;
    bool any = false;

    for (int i = 0; i < count; i++) {
        fixed[i] = arguments[i];
        if (kernel->function->parameters[i].initial &&
            (fixed[i].kind == DSL_INT || fixed[i].kind == DSL_BOOL))
            any = fixed[i].is_constant = true;
    }
    kernel->default_kernel = kernel->general_kernel;
    kernel->default_arguments = fixed;
    if (!any)
        return;
    module_specialise(kernel, fixed, &result, diagnostics);
    if (result.kernel)
        kernel->default_kernel = result.kernel;
}

/* A product with one column is a sum along each row, one image of a batch has no loop around it, a window of
 * one element none at all, and three channels or components are lanes of vectors: extents of one to four
 * elements are compiled in where loops are so deep. But strict sums are as fast as they can be among others,
 * those of other columns if need be; and what is pointwise joins others where its loops have names for their
 * ends (compose.h). Of 100 x 120 pixels of three channels (Zen 4, 2026-11-30), before and after: gain and
 * bias 29 us, 3.8; to planes and back 12, 3 to 10; to bytes 76, 2.1; their mean 9.8, 1.5. */
static void module_ask_few(struct akg_kernel *kernel)
{
    enum { DEEP = 2 };

    if (!kernel->module->vectors.strict && ir_block_depth(kernel->general_kernel->body, DEEP) == DEEP &&
        !compose_is_pointwise(kernel->general_kernel))
        atomic_store(&kernel->few, ELABORATE_FEW_MOST);
}

static void module_check_kernel(struct akg_kernel *kernel, akg_diagnostics *diagnostics)
{
    struct arena *arena = &kernel->module->arena;
    struct dsl_argument *arguments;
    bool free = false, linked = true;
    int rank = 2;

    kernel->rank_open = false;
    kernel->general = elaborate_general(arena, kernel->function);
    arguments = module_at_rank(arena, kernel, rank, linked, &free);
    if (free) {
        /* which rank is meant shows in which one fits */
        bool fits2 = module_trial(kernel, 2, true, &free, NULL) == 0;
        bool fits1 = module_trial(kernel, 1, true, &free, NULL) == 0;
        kernel->rank_free = fits1 && fits2;
        if (!fits1 && !fits2)
            module_search_rank(kernel, &rank, &linked);
        else
            rank = fits2 ? 2 : 1;
        if (fits1 || fits2)
            kernel->rank_open = false;
        arguments = module_at_rank(arena, kernel, rank, linked, &free);
    }
    if (kernel->rank_open)
        return;
    module_specialise(kernel, arguments, &kernel->general_result, diagnostics);
    kernel->general_kernel = kernel->general_result.kernel;
    if (!kernel->general_kernel)
        return;
    module_ask_few(kernel);
    module_check_defaults(kernel, arguments, diagnostics);
    module_specialise_without(kernel, arguments, diagnostics);
}

/* Whether a function that may be of tensors or of numbers can be of tensors, of any rank. */
static bool module_guess_holds(struct akg_kernel *kernel)
{
    bool free = false, holds = false;

    kernel->general = elaborate_general(&kernel->module->arena, kernel->function);
    for (int rank = 1; rank <= AKG_MAX_RANK && !holds; rank++)
        holds = module_trial(kernel, rank, true, &free, NULL) == 0 || kernel->rank_open;
    return holds;
}

/* What is wrong with it as a function of tensors is not said: it may be right as one of numbers. */
static void module_warn_unused(const struct ast_function *function, akg_diagnostics *diagnostics)
{
    struct diagnostic_entry *entry =
        diagnostic_add(diagnostics, MSG_UNUSED_HELPER, function->span, function->name);
    diagnostic_note(entry, "help: if it is meant for them, annotate a parameter, as in x: T[N]; then what is "
                           "wrong with it is told");
}

static void module_check(struct akg_module *module, akg_diagnostics *diagnostics)
{
    struct ast_function *function;
    int count = 0;

    for (function = module->tree->functions; function; function = function->next)
        count++;
    if (count == 0 && akg_diagnostics_error_count(diagnostics) == 0)
        diagnostic_add(diagnostics, MSG_NO_FUNCTIONS, (struct span){1, 1, 1, 1});
    module->kernels = arena_array(&module->arena, struct akg_kernel, count + 1);
    for (function = module->tree->functions; function; function = function->next) {
        struct akg_kernel *kernel = &module->kernels[module->kernel_count];
        if (function->broken || function->is_helper)
            continue;
        kernel->module = module;
        kernel->function = function;
        kernel->needs_constant = arena_array(&module->arena, atomic_bool, function->parameter_count + 1);
        if (function->is_guess && count > 1 && !module_guess_holds(kernel)) {
            module_warn_unused(function, diagnostics); /* of numbers after all, and nobody calls it */
            continue;
        }
        pthread_mutex_init(&kernel->lock, NULL);
        module->kernel_count++;
        module_check_kernel(kernel, diagnostics);
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

static void module_free_kernel(struct akg_kernel *kernel)
{
    struct jit_instance *instance = atomic_load(&kernel->instances), *next;
    struct jit_route *route = atomic_load(&kernel->routes), *next_route;

    for (; instance; instance = next) {
        next = instance->next;
        jit_free_instance(instance);
    }
    for (; route; route = next_route) {
        next_route = route->next;
        memory_free(route);
    }
    pthread_mutex_destroy(&kernel->lock);
}

static void module_free(struct akg_module *module)
{
    optimiser_end(&module->optimiser);
    for (int i = 0; i < module->kernel_count; i++)
        module_free_kernel(&module->kernels[i]);
    optimiser_free(&module->optimiser);
    notes_free(&module->notes);
    arena_free(&module->arena);
    memory_free(module);
}

static void module_refuse_warning(const char *name, akg_diagnostics *diagnostics)
{
    struct diagnostic_entry *entry = diagnostic_add(diagnostics, MSG_UNKNOWN_WARNING, (struct span){0}, name);
    const char *names[MESSAGE_COUNT], *nearest;
    bool is_error = false;
    int count = 0;

    for (int i = 0; i < MESSAGE_COUNT; i++) {
        if (message_table[i].severity == AKG_SEVERITY_WARNING)
            names[count++] = message_table[i].name;
        is_error |= strcmp(message_table[i].name, name) == 0;
    }
    nearest = spelling_nearest(name, names, count);
    if (is_error)
        diagnostic_note(entry, "note: it is an error, and an error it stays");
    else if (nearest)
        diagnostic_note(entry, "help: did you mean '%s'?", nearest);
    else
        diagnostic_note(entry, "help: 'akgrun explain' lists the names");
}

/* Puts into effect what the options say about warnings. False: they name one that there is not. */
static bool module_set_warnings(const jit_options *options, akg_diagnostics *diagnostics)
{
    bool good = true;

    diagnostics_set_warnings_are_errors(diagnostics, options->warnings_are_errors);
    for (size_t i = 0; i < options->warning_count; i++)
        if (!diagnostics_set_warning(diagnostics, options->warnings[i].name, options->warnings[i].use)) {
            module_refuse_warning(options->warnings[i].name, diagnostics);
            good = false;
        }
    return good;
}

/* Everything that may run out of memory; escapes then. False: the source could not be read. */
static bool module_build(struct akg_module *module, const jit_source *source, const jit_options *options,
                         akg_diagnostics *diagnostics)
{
    const char *name = source->name ? source->name : "<text>";

    module->source.name = arena_copy(&module->arena, name, strlen(name));
    module->backend = options && options->backend ? options->backend : JIT_BACKEND_TCC;
    enum x86_target target;
    if (!options || !options->target || !x86_target_from_name(options->target, &target))
        target = x86_cpu_target();
    module->vectors = vector_options_here(target);
    module->vectors.strict = options && options->strict;
    module->tf32 = options && options->tf32;
    module->any_shape = options && options->any_shape;
    disk_cache_choose(&module->cache, &module->arena, options ? options->cache : NULL, &module->notes);
    if (source->text) {
        module->source.text = arena_copy(&module->arena, source->text, source->length);
        module->source.length = source->length;
    }
    module->tree = pipeline_read(&module->arena, &module->source, diagnostics);
    if (module->tree)
        module_check(module, diagnostics);
    return module->tree != NULL;
}

struct module_reading {
    struct akg_module *module;
    akg_diagnostics *diagnostics;
    jit_source source;
    akg_status status;
};

/* With the text at hand: compiles it. */
static void module_compile(struct module_reading *reading, const jit_options *options)
{
    jmp_buf escape;

    if (setjmp(escape)) {
        reading->status = AKG_ERROR_MEMORY;
        return;
    }
    reading->module->arena.escape = &escape;
    diagnostics_set_escape(reading->diagnostics, &escape);
    if (options && !module_set_warnings(options, reading->diagnostics)) {
        reading->status = AKG_ERROR_USAGE;
        return;
    }
    module_build(reading->module, &reading->source, options, reading->diagnostics);
    reading->status = akg_diagnostics_error_count(reading->diagnostics) ? AKG_ERROR_PROGRAM : AKG_OK;
    if (diagnostics_tell_of_bug(reading->diagnostics))
        reading->status = AKG_ERROR_INTERNAL;
}

/* "std:softmax": the file of the standard library that defines it. */
static bool module_load_standard(struct module_reading *reading)
{
    const char *name = reading->source.name;
    const struct standard_file *file = name && strncmp(name, "std:", 4) == 0 && standard_is_public(name + 4)
                                           ? standard_find(name + 4)
                                           : NULL;

    if (file)
        reading->source = (jit_source){.name = file->name, .text = file->text, .length = file->length};
    return file != NULL;
}

static bool module_load(struct module_reading *reading)
{
    jmp_buf escape;
    struct dsl_source file = {0};

    if (reading->source.text || module_load_standard(reading))
        return true;
    if (setjmp(escape)) {
        reading->status = AKG_ERROR_MEMORY;
        return false;
    }
    reading->module->arena.escape = &escape;
    diagnostics_set_escape(reading->diagnostics, &escape);
    if (!reading->source.name ||
        !source_read(&reading->module->arena, reading->source.name, &file, reading->diagnostics)) {
        reading->status = AKG_ERROR_IO;
        return false;
    }
    reading->source.text = file.text;
    reading->source.length = file.length;
    return true;
}

static bool module_options_are_valid(const jit_options *options)
{
    enum x86_target target;
    if (options->target && (!x86_target_from_name(options->target, &target) || target > x86_cpu_target()))
        return false;
    if (!jit_backend_is_valid(options->backend) || (unsigned)options->tier > JIT_TIER_OPTIMISED ||
        (options->warning_count && !options->warnings))
        return false;
    for (size_t i = 0; i < options->warning_count; i++)
        if (!options->warnings[i].name || (unsigned)options->warnings[i].use > JIT_WARNING_ERROR)
            return false;
    return true;
}

akg_status jit_compile(const jit_source *source, const jit_options *options, akg_module **module,
                       akg_diagnostics **diagnostics)
{
    struct module_reading reading = {.source = {0}, .status = AKG_OK};
    const char *name = source && source->name ? source->name : "<text>";

    if (diagnostics)
        *diagnostics = NULL;
    if (!module)
        return AKG_ERROR_USAGE;
    *module = NULL;
    if (!source || (!source->text && !source->name) || (options && !module_options_are_valid(options)))
        return AKG_ERROR_USAGE;
    reading.source = *source;
    reading.module = memory_zeroed(1, sizeof *reading.module);
    if (!reading.module)
        return AKG_ERROR_MEMORY;
    atomic_init(&reading.module->references, 1);
    arena_init(&reading.module->arena, NULL);
    notes_init(&reading.module->notes);
    optimiser_init(&reading.module->optimiser, options ? options->tier : JIT_TIER_DEFAULT,
                   &reading.module->cache, &reading.module->notes);
    reading.diagnostics = diagnostics_create(name, source->text, source->text ? source->length : 0);
    if (reading.diagnostics && !source->text && module_load(&reading)) {
        akg_diagnostics_free(reading.diagnostics);
        reading.diagnostics =
            diagnostics_create(reading.source.name, reading.source.text, reading.source.length);
    }
    if (!reading.diagnostics)
        reading.status = AKG_ERROR_MEMORY;
    else if (reading.status == AKG_OK)
        module_compile(&reading, options);
    reading.module->arena.escape = NULL;
    if (reading.diagnostics) {
        diagnostics_set_escape(reading.diagnostics, NULL);
        if (reading.status == AKG_ERROR_MEMORY)
            diagnostic_add(reading.diagnostics, MSG_MEMORY, (struct span){0});
        diagnostics_hand_over(reading.diagnostics, diagnostics);
    }
    if (reading.status == AKG_OK)
        *module = reading.module;
    else
        module_free(reading.module);
    return reading.status;
}

akg_module *akg_module_retain(akg_module *module)
{
    if (module)
        atomic_fetch_add_explicit(&module->references, 1, memory_order_relaxed);
    return module;
}

void akg_module_release(akg_module *module)
{
    if (module && atomic_fetch_sub_explicit(&module->references, 1, memory_order_acq_rel) == 1)
        module_free(module);
}

void akg_module_finish(akg_module *module)
{
    if (module)
        optimiser_finish(&module->optimiser);
}

akg_diagnostics *akg_module_notes(akg_module *module)
{
    return module ? notes_take(&module->notes) : NULL;
}

/* ---- questions ------------------------------------------------------------------------------ */

size_t akg_module_kernel_count(const akg_module *module)
{
    return module ? (size_t)module->kernel_count : 0;
}

akg_kernel *akg_module_kernel_at(const akg_module *module, size_t index)
{
    return index < akg_module_kernel_count(module) ? &module->kernels[index] : NULL;
}

akg_kernel *akg_module_kernel(const akg_module *module, const char *name)
{
    for (size_t i = 0; name && i < akg_module_kernel_count(module); i++)
        if (strcmp(module->kernels[i].function->name, name) == 0)
            return &module->kernels[i];
    return NULL;
}

const char *akg_kernel_name(const akg_kernel *kernel)
{
    return kernel ? kernel->function->name : NULL;
}

/* With what was spent since on branches that had been left out. */
static int64_t stage_time(const struct jit_instance *instance, int stage)
{
    int64_t later = instance->deferred.count ? atomic_load(&instance->deferred.time) : 0;
    return instance->times[stage] + (stage == JIT_STAGE_GENERATE ? later : 0);
}

bool akg_kernel_compile_stage(const akg_kernel *kernel, size_t index, akg_compile_stage *stage)
{
    static const char *const names[JIT_STAGE_COUNT] = {
#define X(id, name) name,
        JIT_STAGE_TABLE(X)
#undef X
    };
    const struct jit_instance *instance;

    if (!kernel || !stage || index >= JIT_STAGE_COUNT)
        return false;
    instance = atomic_load_explicit(&((akg_kernel *)kernel)->instances, memory_order_acquire);
    *stage = (akg_compile_stage){names[index], instance ? stage_time(instance, (int)index) : 0};
    return instance != NULL;
}

const char *akg_kernel_documentation(const akg_kernel *kernel)
{
    return kernel ? kernel->function->documentation : NULL;
}

bool akg_kernel_is_graph(const akg_kernel *kernel)
{
    return kernel && kernel->function->is_graph;
}

bool akg_kernel_is_optimised(const akg_kernel *kernel)
{
    const struct jit_instance *newest = kernel ? atomic_load(&kernel->instances) : NULL;
    return newest && newest->optimised && atomic_load(&newest->optimised->is_swapped);
}

size_t akg_kernel_parameter_count(const akg_kernel *kernel)
{
    return kernel ? (size_t)kernel->function->parameter_count : 0;
}

/* The dtypes of a tensor parameter: those that its uses in the general kernel leave, or its annotation. */
static unsigned module_dtypes(const akg_kernel *kernel, size_t index)
{
    const struct ast_parameter *row = &kernel->function->parameters[index];
    const struct ir_kernel *general = kernel->general_kernel;
    int rank;

    for (int i = 0; general && i < general->parameters.count; i++)
        if (general->parameters.items[i].buffer && strcmp(general->parameters.items[i].name, row->name) == 0)
            return kernel->general_result.allowed[general->parameters.items[i].buffer->index];
    return row->annotation ? elaborate_annotation(row->annotation, &rank) : TYPES_ANY;
}

bool akg_kernel_takes(const akg_kernel *kernel, size_t parameter, akg_dtype dtype)
{
    if (!kernel || parameter >= akg_kernel_parameter_count(kernel) || (unsigned)dtype >= AKG_DTYPE_COUNT)
        return false;
    if (kernel->general[parameter].kind != DSL_TENSOR && kernel->general[parameter].kind != DSL_TENSORS)
        return false;
    return module_dtypes(kernel, parameter) >> dtype & 1;
}

bool akg_kernel_parameter(const akg_kernel *kernel, size_t index, akg_parameter *parameter)
{
    const struct ast_parameter *row;
    int rank = -1;
    unsigned allowed = ~0u;

    if (!parameter || index >= akg_kernel_parameter_count(kernel))
        return false;
    row = &kernel->function->parameters[index];
    parameter->name = row->name;
    parameter->kind = kernel->general[index].kind == DSL_TENSORS  ? AKG_PARAMETER_VARIADIC
                      : kernel->general[index].kind == DSL_TENSOR ? AKG_PARAMETER_TENSOR
                                                                  : AKG_PARAMETER_ATTRIBUTE;
    parameter->optional = row->initial != NULL;
    if (row->annotation)
        allowed = elaborate_annotation(row->annotation, &rank);
    parameter->dtype =
        allowed && !(allowed & (allowed - 1)) ? (akg_dtype)__builtin_ctz(allowed) : AKG_DTYPE_COUNT;
    parameter->rank = kernel->general[index].kind == DSL_TENSOR ? kernel->general[index].rank : -1;
    return true;
}

/* What the return statement gives: of several, the one that gives most. */
static size_t module_open_outputs(const akg_kernel *kernel)
{
    const struct ast_expr *result = kernel->function->result;
    size_t count = 0;

    if (result->kind != AST_TUPLE)
        return 1;
    for (int i = 0; i < result->count; i++)
        count += result->items[i]->kind != AST_NONE;
    return count;
}

static int module_open_item(const akg_kernel *kernel, size_t index)
{
    const struct ast_expr *result = kernel->function->result;

    for (int i = 0; result->kind == AST_TUPLE && i < result->count; i++)
        if (result->items[i]->kind != AST_NONE && index-- == 0)
            return i;
    return 0;
}

static const char *module_open_output(const akg_kernel *kernel, size_t index)
{
    const struct ast_expr *result = kernel->function->result;
    const struct ast_expr *item =
        result->kind == AST_TUPLE ? result->items[module_open_item(kernel, index)] : result;

    return item->kind == AST_NAME ? item->text : kernel->function->name;
}

/* Whether the text tells the outputs: where there is no general kernel, or other attributes than the defaults
 * give more tensors. (A tuple within the tuple of a bprop is several, of which the text does not tell.) */
static bool module_outputs_by_text(const akg_kernel *kernel)
{
    const struct ast_function *function = kernel->function;

    if (kernel->rank_open || !kernel->general_kernel)
        return kernel->rank_open;
    return function->result->kind == AST_TUPLE && !function->bprop_of &&
           module_open_outputs(kernel) > (size_t)kernel->general_kernel->results.count;
}

size_t akg_kernel_output_count(const akg_kernel *kernel)
{
    if (kernel && module_outputs_by_text(kernel))
        return module_open_outputs(kernel);
    return kernel && kernel->general_kernel ? (size_t)kernel->general_kernel->results.count : 0;
}

const char *akg_kernel_output_name(const akg_kernel *kernel, size_t index)
{
    if (index >= akg_kernel_output_count(kernel))
        return NULL;
    return module_outputs_by_text(kernel) ? module_open_output(kernel, index)
                                          : kernel->general_kernel->results.items[index].name;
}

int jit_output_item(const struct akg_kernel *kernel, size_t index)
{
    return module_outputs_by_text(kernel) ? module_open_item(kernel, index)
                                          : kernel->general_kernel->results.items[index].item;
}

int jit_parameter_index(const struct akg_kernel *kernel, const char *name)
{
    for (int i = 0; i < kernel->function->parameter_count; i++)
        if (strcmp(kernel->function->parameters[i].name, name) == 0)
            return i;
    return -1;
}

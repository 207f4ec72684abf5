/*
 * pipeline.c: every stage, in order.
 */
#include "pipeline.h"

#include "analysis.h"
#include "cache_key.h"
#include "counted.h"
#include "emit_c.h"
#include "pass.h"
#include "scalar.h"
#include "scalar_library.h"
#include "code_names.h"
#include "vector_plan.h"

#define PIPELINE_ENTRY "akg_kernel_entry"

struct ast_module *pipeline_read(struct arena *arena, const struct dsl_source *source,
                                 akg_diagnostics *diagnostics)
{
    struct ast_module *tree = parse_module(arena, source, diagnostics); /* scan, lay out, parse */

    if (tree)
        names_resolve(arena, tree, diagnostics); /* names, structure, signatures */
    return tree;
}

/* A kernel that breaks the rules of the IR is our bug: reported as such, with what is broken. */
static bool pipeline_verify(const struct ir_kernel *kernel, const char *stage, akg_diagnostics *diagnostics)
{
    struct text complaint;
    bool good;

    text_init(&complaint);
    good = ir_verify(kernel, &complaint);
    if (!good) {
        /* what follows may escape; this does where memory ran out */
        const char *why = text_into_arena(&complaint, kernel->arena);
        struct diagnostic_entry *entry =
            diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0}, "the loop IR is broken");
        diagnostic_note(entry, "note: after %s of '%s': %s", stage, kernel->name, why);
        diagnostic_note(entry, "help: please report this with the source text");
    }
    return good;
}

/* True when what is compiled holds for every call: no attribute has a value yet. */
static bool pipeline_is_open(const struct ast_function *function, const struct dsl_argument *arguments)
{
    for (int i = 0; i < function->parameter_count; i++)
        if (arguments[i].is_constant || arguments[i].kind == DSL_STRING || arguments[i].kind == DSL_INTS)
            return false;
    return true;
}

/* An expression over dims as text, in the arena. */
static const char *pipeline_expr_text(struct arena *arena, const struct ir_expr *expr)
{
    struct text text;

    text_init(&text);
    ir_print_expr(&text, expr);
    return text_into_arena(&text, arena);
}

/* Which indices the axis has, of one that no loop changes. */
static void pipeline_help_last(struct arena *arena, struct diagnostic_entry *entry,
                               const struct ir_precondition *row)
{
    if (row->extent->kind != IR_INTEGER)
        diagnostic_note(entry, "help: the last index of the axis is %s - 1, or -1 from the end",
                        pipeline_expr_text(arena, row->extent));
    else if (row->extent->integer > 0)
        diagnostic_note(entry, "help: the last index of the axis is %lld, or -1 from the end",
                        (long long)row->extent->integer - 1);
    else
        diagnostic_note(entry, "help: an axis without elements has no index");
}

/* What keeps the index inside: of one that is too small or too large by a constant, whatever the extents are,
 * a shorter loop (elaboration refuses constants alone). */
static void pipeline_help_inside(struct arena *arena, struct diagnostic_entry *entry,
                                 const struct ir_precondition *row)
{
    struct pass_affine over, extent;

    if (row->is_fixed) {
        pipeline_help_last(arena, entry, row);
        return;
    }
    if (row->index->kind == IR_INTEGER && row->index->integer < 0) {
        diagnostic_note(entry, "help: begin the loop %lld later, range(%lld, ...), or test the index before",
                        (long long)-row->index->integer, (long long)-row->index->integer);
        return;
    }
    if (row->extent->kind != IR_INTEGER && pass_affine_of(row->index, &over) &&
        pass_affine_of(row->extent, &extent) && pass_affine_add(&over, -1, &extent) && !over.count) {
        diagnostic_note(entry, "help: end the loop %lld sooner, range(... - %lld), or test the index before",
                        (long long)over.constant + 1, (long long)over.constant + 1);
        return;
    }
    diagnostic_note(
        entry, "help: loops over a tensor run over its shape: for i in grid(%s.shape):", row->buffer->name);
}

/* An access that leaves its tensor in every call that reaches it is an error of the program. */
static void pipeline_refuse_impossible(struct arena *arena, const struct ir_kernel *kernel,
                                       akg_diagnostics *diagnostics)
{
    for (int i = 0; i < kernel->preconditions.count; i++) {
        const struct ir_precondition *row = &kernel->preconditions.items[i];
        struct diagnostic_entry *entry;
        if (row->kind != IR_PRECONDITION_BOUNDS || row->condition->kind != IR_INTEGER ||
            row->condition->integer)
            continue;
        bool one = row->extent->kind == IR_INTEGER && row->extent->integer == 1;
        entry = diagnostic_add(
            diagnostics, MSG_IMPOSSIBLE_INDEX, row->span, pipeline_expr_text(arena, row->index),
            arena_format(arena, "%d", row->axis), row->buffer->name,
            arena_format(arena, "%s element%s", pipeline_expr_text(arena, row->extent), one ? "" : "s"));
        pipeline_help_inside(arena, entry, row);
    }
}

struct ir_expr *pipeline_evaluate(struct ir_kernel *kernel, const struct ir_expr *expr)
{
    union dtype_value value;

    if (!scalar_evaluate(expr, NULL, NULL, &value))
        return NULL;
    return dtype_is_float(expr->dtype) ? ir_real(kernel, expr->dtype, dtype_to_double(expr->dtype, value))
                                       : ir_integer(kernel, expr->dtype, value.i);
}

/* Builds that look for faults of their own verify the kernel after the analyses of every call, and after each
 * pass. */
#ifdef AKG_SANITIZED
#define PIPELINE_VERIFIES true
#else
#define PIPELINE_VERIFIES false
#endif

void pipeline_specialise(struct arena *arena, const struct ast_module *tree,
                         const struct ast_function *function, const struct dsl_argument *arguments,
                         bool general, struct elaborate_result *result, akg_diagnostics *diagnostics)
{
    elaborate(arena, tree, function, arguments, general, pipeline_evaluate, result, diagnostics);
    if (!result->kernel)
        return;
    if (!pipeline_verify(result->kernel, "elaboration", diagnostics)) {
        result->kernel = NULL;
        return;
    }
    counted_loops(result->kernel);
    analysis_bounds(result->kernel);
    if (general && pipeline_is_open(function, arguments))
        pipeline_refuse_impossible(arena, result->kernel, diagnostics);
    analysis_initialisation(result->kernel, diagnostics);
    if (general) /* it only warns, and for all calls alike */
        analysis_hints(result->kernel, diagnostics);
    if ((general || PIPELINE_VERIFIES) && !pipeline_verify(result->kernel, "the analyses", diagnostics))
        result->kernel = NULL;
}

bool pipeline_optimise(struct ir_kernel *kernel, const struct passes_options *wanted,
                       akg_diagnostics *diagnostics)
{
    struct passes_options options = wanted ? *wanted : (struct passes_options){.dump = NULL};
    struct text complaint;

    options.verify |= PIPELINE_VERIFIES;
    options.tiles = options.tiles ? options.tiles : pass_usual_tiles(options.target);
    text_init(&complaint);
    if (passes_run(kernel, &options, &complaint))
        return true;
    const char *why = text_into_arena(&complaint, kernel->arena);
    struct diagnostic_entry *entry =
        diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0}, "the loop IR is broken");
    diagnostic_note(entry, "note: %s", why);
    diagnostic_note(entry, "help: please report this with the source text");
    return false;
}

bool pipeline_prepare(struct ir_kernel *kernel, const int64_t *extents, const struct passes_options *wanted,
                      const struct vector_options *vectors, const struct disk_cache *cache,
                      struct jit_sites *sites, struct deferred *deferred, struct pipeline_first *first,
                      akg_diagnostics *diagnostics)
{
    static const enum pass_id order[] = {PASS_simplify, PASS_reductions};
    struct passes_options options = *wanted;
    struct ir_kernel *exact = extents ? exact_make(kernel, extents, &first->shape) : NULL;

    options.order = order;
    options.order_count = sizeof order / sizeof *order;
    if (exact && !pipeline_optimise(exact, &options, diagnostics))
        return false;
    if (exact)
        sites_number(exact, sites);
    first->kernel = exact ? exact : kernel;
    first->form = (struct pipeline_form){.defers = true, .shape = exact ? &first->shape : NULL};
    deferred_init(deferred, kernel, exact, &first->form.first, vectors, cache);
    first->shape.otherwise = deferred->count - 1;
    return true;
}

/* ---- machine code ----------------------------------------------------------------------------- */

/* The C of a kernel and the vector loops that it calls. */
struct pipeline_source {
    struct vector_plan plan;
    struct backend_symbol *symbols;
    bool *calls; /* by row of scalar_library */
    struct text text;
};

static void pipeline_source_free(struct pipeline_source *source)
{
    vector_plan_free(&source->plan);
    memory_free(source->symbols);
    memory_free(source->calls);
    text_free(&source->text);
}

static akg_status pipeline_emit(struct pipeline_source *source, struct ir_kernel *kernel,
                                const struct vector_options *vectors, const struct pipeline_form *form,
                                akg_diagnostics *diagnostics)
{
    const struct vector_plan *plan = &source->plan;
    struct emit_c_options options = {.entry = PIPELINE_ENTRY,
                                     .trust_indices = vectors->trust_indices,
                                     .compact = true,
                                     .defers = form->defers,
                                     .first_branch = form->first,
                                     .shape = form->shape,
                                     .plan = plan};
    struct text complaint;
    akg_status status = AKG_OK;

    *source = (struct pipeline_source){.symbols = NULL};
    text_init(&source->text);
    if (!vector_plan_make(&source->plan, kernel, vectors, form->defers))
        return AKG_ERROR_MEMORY;
    source->symbols = memory_zeroed((size_t)plan->loops.count + 1, sizeof *source->symbols);
    options.calls = source->calls = memory_zeroed((size_t)scalar_library_count() + 1, sizeof *source->calls);
    if (!source->symbols || !source->calls)
        return AKG_ERROR_MEMORY;
    for (int k = 0; k < plan->loops.count; k++)
        source->symbols[k] = (struct backend_symbol){vector_loop_name(plan, k), plan->loops.items[k]->code};
    text_init(&complaint);
    if (!emit_c(&source->text, kernel, &options, &complaint)) {
        diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0}, complaint.data ? complaint.data : "emit");
        status = AKG_ERROR_INTERNAL;
    }
    text_string(&source->text, CODE_NAMES_END);
    if (status == AKG_OK && source->text.failed)
        status = AKG_ERROR_MEMORY;
    text_free(&complaint);
    return status;
}

static bool pipeline_find(const struct disk_cache *cache, const struct text *key,
                          const struct pipeline_source *source, struct backend_code *code)
{
    struct disk_entry entry;
    if (!disk_cache_find(cache, key, &entry))
        return false;
    bool good = backend_tcc_load(entry.payload, entry.payload_size, source->symbols, code);
    disk_entry_free(&entry);
    return good;
}

/* Machine code of the C: from the cache, or by libtcc, and then into the cache. */
static akg_status pipeline_translate(const struct pipeline_source *source, const struct disk_cache *cache,
                                     const struct text *key, struct backend_code *code,
                                     akg_diagnostics *diagnostics)
{
    struct code_image image;
    akg_status status;

    if (!cache || !cache->directory)
        return backend_tcc_compile_image(source->text.data, PIPELINE_ENTRY, source->symbols, source->calls,
                                         code, NULL, diagnostics);
    if (pipeline_find(cache, key, source, code))
        return AKG_OK;
    status = backend_tcc_compile_image(source->text.data, PIPELINE_ENTRY, source->symbols, source->calls,
                                       code, &image, diagnostics);
    if (status == AKG_OK && image.bytes)
        disk_cache_publish(cache, key, image.bytes, image.size);
    memory_free(image.bytes);
    return status;
}

static void pipeline_make_key(struct text *key, const struct pipeline_source *source,
                              const struct ir_kernel *kernel, const struct vector_options *vectors)
{
    text_init(key);
    cache_key_begin(key, "instant", kernel, vectors, NULL);
    cache_key_program(key, source->text.data);
}

akg_status pipeline_generate(struct ir_kernel *kernel, const struct vector_options *vectors,
                             const struct disk_cache *cache, const struct pipeline_form *form,
                             struct backend_code *code, akg_diagnostics *diagnostics)
{
    struct pipeline_source source;
    struct text key;
    akg_status status = pipeline_emit(&source, kernel, vectors, form, diagnostics);

    text_init(&key);
    if (status == AKG_OK && cache && cache->directory)
        pipeline_make_key(&key, &source, kernel, vectors);
    if (status == AKG_OK)
        status = pipeline_translate(&source, cache, &key, code, diagnostics);
    if (status == AKG_OK) {
        code_names_add(kernel->name, code, &source.plan);
        code->vectors = source.plan.pages;
        source.plan.pages = (struct code_pages){NULL, 0, NULL};
    }
    text_free(&key);
    pipeline_source_free(&source);
    return status;
}

akg_status pipeline_key(struct ir_kernel *kernel, const struct vector_options *vectors,
                        const struct pipeline_form *form, struct text *key, akg_diagnostics *diagnostics)
{
    struct pipeline_source source;
    akg_status status = pipeline_emit(&source, kernel, vectors, form, diagnostics);

    if (status == AKG_OK) {
        pipeline_make_key(key, &source, kernel, vectors);
        status = key->failed ? AKG_ERROR_MEMORY : AKG_OK;
    }
    pipeline_source_free(&source);
    return status;
}

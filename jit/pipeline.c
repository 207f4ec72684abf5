/*
 * pipeline.c: every stage, in order.
 */
#include "pipeline.h"

#include "analysis.h"
#include "emit_c.h"
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
        diagnostic_note(entry, "help: loops over a tensor run over its shape: for i in grid(%s.shape):",
                        row->buffer->name);
    }
}

void pipeline_specialise(struct arena *arena, const struct ast_module *tree,
                         const struct ast_function *function, const struct dsl_argument *arguments,
                         bool general, struct elaborate_result *result, akg_diagnostics *diagnostics)
{
    elaborate(arena, tree, function, arguments, general, result, diagnostics);
    if (!result->kernel)
        return;
    if (!pipeline_verify(result->kernel, "elaboration", diagnostics)) {
        result->kernel = NULL;
        return;
    }
    analysis_bounds(result->kernel);
    if (general && pipeline_is_open(function, arguments))
        pipeline_refuse_impossible(arena, result->kernel, diagnostics);
    analysis_initialisation(result->kernel, diagnostics);
    if (general) /* it only warns, and for all calls alike */
        analysis_hints(result->kernel, diagnostics);
    if (!pipeline_verify(result->kernel, "the analyses", diagnostics))
        result->kernel = NULL;
}

/* Builds that look for faults of their own verify the kernel after each pass. */
#ifdef ARENA_EACH
#define PIPELINE_VERIFIES true
#else
#define PIPELINE_VERIFIES false
#endif

bool pipeline_optimise(struct ir_kernel *kernel, const struct passes_options *wanted,
                       akg_diagnostics *diagnostics)
{
    struct passes_options options = wanted ? *wanted : (struct passes_options){.dump = NULL};
    struct text complaint;

    options.verify |= PIPELINE_VERIFIES;
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

/* With the vector loops at hand: the C around them, compiled. */
static akg_status pipeline_compile(const struct ir_kernel *kernel, const struct emit_c_options *options,
                                   struct backend_code *code, akg_diagnostics *diagnostics)
{
    const struct vector_plan *plan = options->plan;
    struct backend_symbol *symbols = memory_zeroed((size_t)plan->loops.count + 1, sizeof *symbols);
    struct text source, complaint;
    akg_status status = AKG_ERROR_MEMORY;

    text_init(&source);
    text_init(&complaint);
    for (int k = 0; symbols && k < plan->loops.count; k++)
        symbols[k] = (struct backend_symbol){vector_loop_name(plan, k), plan->loops.items[k]->code};
    if (!symbols) {
        status = AKG_ERROR_MEMORY;
    } else if (!emit_c(&source, kernel, options, &complaint)) {
        diagnostic_add(diagnostics, MSG_INTERNAL, (struct span){0}, complaint.data ? complaint.data : "emit");
        status = AKG_ERROR_INTERNAL;
    } else if (!source.failed) {
        status = backend_tcc_compile(source.data, PIPELINE_ENTRY, symbols, code, diagnostics);
    }
    text_free(&source);
    text_free(&complaint);
    memory_free(symbols);
    return status;
}

akg_status pipeline_generate(struct ir_kernel *kernel, const struct vector_options *vectors,
                             struct backend_code *code, akg_diagnostics *diagnostics)
{
    struct vector_plan plan;
    struct emit_c_options options = {
        .entry = PIPELINE_ENTRY, .trust_indices = vectors->trust_indices, .plan = &plan};
    akg_status status;

    if (!vector_plan_make(&plan, kernel, vectors))
        return AKG_ERROR_MEMORY;
    status = pipeline_compile(kernel, &options, code, diagnostics);
    if (status == AKG_OK) {
        code->vectors = plan.pages;
        plan.pages.memory = NULL;
    }
    vector_plan_free(&plan);
    return status;
}

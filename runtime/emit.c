/*
 * emit.c: jit_emit: the text of one stage of the compiler, for people.
 */
#include <stdlib.h>
#include <string.h>

#include "../dsl/format.h"
#include "../jit/cuda.h"
#include "../jit/emit_c.h"
#include "../jit/nvrtc.h"
#include "../jit/pipeline.h"
#include "../jit/source.h"
#include "../jit/vector_plan.h"
#include "call.h"

struct emission {
    jit_source source;          /* its text is at hand */
    const jit_options *options; /* or NULL */
    enum x86_target target;     /* of stages for the CPU */
    int architecture;           /* of PTX: 80 for sm_80; 0: the newest */
    akg_stage stage;
    bool dumps; /* the passes, one after the other, are wanted; `pass`: this one only */
    const char *pass;
    const char *kernel_name;
    const akg_argument *arguments;
    size_t argument_count;
    struct text out;
    struct arena arena;
    akg_diagnostics *diagnostics;
};

static akg_status emit_tokens(struct emission *emission, const struct dsl_source *source)
{
    struct token_list tokens = {0};

    parse_tokens(&emission->arena, source, &tokens, emission->diagnostics);
    token_print_list(&emission->out, &tokens);
    return AKG_OK;
}

static akg_status emit_tree(struct emission *emission, const struct dsl_source *source)
{
    struct ast_module *tree = parse_module(&emission->arena, source, emission->diagnostics);
    struct ast_function *function;

    if (!tree)
        return AKG_ERROR_PROGRAM;
    if (emission->kernel_name) {
        function = ast_module_function(tree, emission->kernel_name);
        if (!function)
            return AKG_ERROR_USAGE;
        tree->functions = function;
        function->next = NULL;
        tree->statements = NULL;
    }
    ast_print(&emission->out, tree);
    return AKG_OK;
}

static akg_status emit_canonical(struct emission *emission, const struct dsl_source *source)
{
    if (!parse_module(&emission->arena, source, emission->diagnostics) ||
        akg_diagnostics_error_count(emission->diagnostics))
        return AKG_ERROR_PROGRAM;
    format_source(&emission->arena, source, &emission->out, emission->diagnostics);
    return AKG_OK;
}

static akg_status emit_front_end(struct emission *emission)
{
    struct dsl_source source = {emission->source.name, emission->source.text, emission->source.length};
    jmp_buf escape;
    akg_status status;

    if (setjmp(escape)) {
        emission->arena.escape = NULL;
        diagnostics_set_escape(emission->diagnostics, NULL);
        return AKG_ERROR_MEMORY;
    }
    emission->arena.escape = &escape;
    diagnostics_set_escape(emission->diagnostics, &escape);
    if (emission->stage == AKG_STAGE_TOKENS)
        status = emit_tokens(emission, &source);
    else if (emission->stage == AKG_STAGE_CANONICAL)
        status = emit_canonical(emission, &source);
    else
        status = emit_tree(emission, &source);
    if (status == AKG_OK && akg_diagnostics_error_count(emission->diagnostics))
        status = AKG_ERROR_PROGRAM;
    emission->arena.escape = NULL;
    diagnostics_set_escape(emission->diagnostics, NULL);
    return status;
}

static bool emit_is_strict(const struct emission *emission)
{
    return emission->options && emission->options->strict;
}

/* "sm_" and a compute capability of two digits or three: 10 times the major, and the minor version. */
static bool emit_architecture(const char *target, int *architecture)
{
    char *end;

    if (strncmp(target, "sm_", 3) != 0 || target[3] < '1' || target[3] > '9')
        return false;
    long number = strtol(target + 3, &end, 10);
    if (*end || number < 10 || number > 999)
        return false;
    *architecture = (int)number;
    return true;
}

/* What CUDA's compiler makes of it, for the GPU that is the target, or the newest that the compiler knows. */
static akg_status emit_ptx(struct emission *emission, const struct ir_kernel *kernel, const char *text)
{
    const struct nvrtc_request request = {.name = kernel->name,
                                          .text = text,
                                          .major = emission->architecture / 10,
                                          .minor = emission->architecture % 10,
                                          .ptx = true,
                                          .strict = emit_is_strict(emission)};
    struct nvrtc_code code;
    akg_status status = nvrtc_compile(&request, &code, emission->diagnostics);

    if (status != AKG_OK)
        return status;
    text_append(&emission->out, code.image.data, code.image.length);
    nvrtc_free(&code);
    return AKG_OK;
}

/* Of an optimised kernel. */
static akg_status emit_kernel_cuda(struct emission *emission, struct ir_kernel *kernel)
{
    const struct cuda_options options = {.deterministic = emit_is_strict(emission),
                                         .tf32 = emission->options && emission->options->tf32};
    struct cuda_program program;
    akg_status status = cuda_program_make(&program, kernel, &options, emission->diagnostics);

    if (status != AKG_OK)
        return status;
    if (emission->stage == AKG_STAGE_PTX)
        status = emit_ptx(emission, kernel, program.text.data);
    else
        text_append(&emission->out, program.text.data, program.text.length);
    cuda_program_free(&program);
    return status;
}

static struct vector_options emit_vectors(const struct emission *emission)
{
    struct vector_options vectors = vector_options_here(emission->target);

    vectors.strict = emit_is_strict(emission);
    return vectors;
}

/* C of an optimised kernel, or what of it is vector code. */
static akg_status emit_kernel_c(struct emission *emission, const struct pipeline_first *first)
{
    struct ir_kernel *kernel = first->kernel;
    struct emit_c_options options = {.entry = kernel->name, .shape = first->form.shape};
    struct text complaint;
    bool good;

    if (emission->stage == AKG_STAGE_ASM) {
        struct vector_options vectors = emit_vectors(emission);
        return vector_plan_print(&emission->out, kernel, &vectors) ? AKG_OK : AKG_ERROR_MEMORY;
    }
    text_init(&complaint);
    good = emit_c(&emission->out, kernel, &options, &complaint);
    if (!good)
        diagnostic_add(emission->diagnostics, MSG_INTERNAL, (struct span){0},
                       complaint.data ? complaint.data : "");
    text_free(&complaint);
    return good ? AKG_OK : AKG_ERROR_INTERNAL;
}

static bool emit_is_for_threads(akg_stage stage)
{
    return stage == AKG_STAGE_CUDA || stage == AKG_STAGE_PTX;
}

/* Of C and vector code: what a first call with these extents has code of. */
static bool emit_prepare(struct emission *emission, struct ir_kernel *kernel, const int64_t *extents,
                         const struct passes_options *passes, struct jit_sites *sites,
                         struct pipeline_first *first)
{
    const struct vector_options vectors = emit_vectors(emission);
    bool any_shape = emission->options && emission->options->any_shape;
    struct deferred deferred = {.count = 0};

    if (emission->stage != AKG_STAGE_C && emission->stage != AKG_STAGE_ASM)
        return true;
    if (!pipeline_prepare(kernel, any_shape ? NULL : extents, passes, &vectors, NULL, sites, &deferred, first,
                          emission->diagnostics))
        return false;
    deferred_free(&deferred);
    return true;
}

/* The kernel is made what code is generated from. It works in its arena, and in the list of messages. */
static bool emit_optimise(struct emission *emission, struct ir_kernel *kernel, const int64_t *extents,
                          struct pipeline_first *first)
{
    struct passes_options options = {.verify = true,
                                     .for_threads = emit_is_for_threads(emission->stage),
                                     .target = emission->target,
                                     .reorders = !emit_is_strict(emission),
                                     .dump_only = emission->pass};
    struct jit_sites sites = {0};

    if (emission->dumps)
        options.dump = &emission->out;
    if (!pipeline_optimise(kernel, &options, emission->diagnostics))
        return false;
    sites_number(kernel, &sites);
    return emit_prepare(emission, kernel, extents, &options, &sites, first);
}

/* The module that the kernel is of is ours alone, so it may be changed. `extents`: of a call; NULL: of none.
 */
static akg_status emit_kernel(struct emission *emission, struct ir_kernel *kernel, const int64_t *extents)
{
    struct pipeline_first first;
    jmp_buf escape;
    bool good;

    if (emission->stage == AKG_STAGE_IR && !emission->dumps) {
        ir_print(&emission->out, kernel);
        return AKG_OK;
    }
    if (setjmp(escape)) {
        kernel->arena->escape = NULL;
        diagnostics_set_escape(emission->diagnostics, NULL);
        return AKG_ERROR_MEMORY;
    }
    kernel->arena->escape = &escape;
    diagnostics_set_escape(emission->diagnostics, &escape);
    good = emit_optimise(emission, kernel, extents, &first);
    kernel->arena->escape = NULL;
    diagnostics_set_escape(emission->diagnostics, NULL);
    if (!good)
        return AKG_ERROR_INTERNAL;
    if (emission->stage == AKG_STAGE_OPTIMISED)
        ir_print(&emission->out, kernel);
    if (emit_is_for_threads(emission->stage))
        return emit_kernel_cuda(emission, kernel);
    return emission->stage == AKG_STAGE_C || emission->stage == AKG_STAGE_ASM
               ? emit_kernel_c(emission, &first)
               : AKG_OK;
}

/* Whether only a call can tell what the kernel comes to. */
static bool emit_is_open(const struct akg_kernel *kernel)
{
    return !kernel->general_kernel || kernel->general_result.is_open;
}

static akg_status emit_general(struct emission *emission, struct akg_kernel *kernel)
{
    if (emit_is_open(kernel))
        return AKG_ERROR_PROGRAM;
    return emit_kernel(emission, (struct ir_kernel *)kernel->general_kernel, NULL);
}

static akg_status emit_call(struct emission *emission, struct akg_kernel *kernel)
{
    const struct jit_instance *instance;
    akg_status status = call_elaborated_instance(kernel, emission->arguments, emission->argument_count,
                                                 &instance, emission->diagnostics);

    return status == AKG_OK ? emit_kernel(emission, instance->kernel, instance->extents) : status;
}

static akg_status emit_module(struct emission *emission, akg_module *module)
{
    akg_status status = AKG_OK;
    struct akg_kernel *kernel;

    if (emission->kernel_name) {
        kernel = akg_module_kernel(module, emission->kernel_name);
        if (!kernel)
            return AKG_ERROR_USAGE;
        return emission->argument_count ? emit_call(emission, kernel) : emit_general(emission, kernel);
    }
    for (int i = 0, written = 0; i < module->kernel_count && status == AKG_OK; i++) {
        if (emit_is_open(&module->kernels[i]))
            continue;
        if (written++)
            text_char(&emission->out, '\n');
        status = emit_general(emission, &module->kernels[i]);
    }
    return status;
}

static akg_status emit_back_end(struct emission *emission, akg_diagnostics **diagnostics)
{
    akg_module *module;
    jit_options options = {.target = NULL};
    akg_status status;

    if (emission->options)
        options = *emission->options;
    if (emission->stage == AKG_STAGE_PTX)
        options.target = NULL; /* one that no module is compiled for */
    status = jit_compile(&emission->source, &options, &module, diagnostics);
    if (status != AKG_OK)
        return status;
    status = emit_module(emission, module);
    akg_module_release(module);
    return status;
}

static akg_status emit_read(struct emission *emission)
{
    struct dsl_source file = {0};
    jmp_buf escape;
    bool good;

    if (setjmp(escape)) {
        emission->arena.escape = NULL;
        diagnostics_set_escape(emission->diagnostics, NULL);
        return AKG_ERROR_MEMORY;
    }
    emission->arena.escape = &escape;
    diagnostics_set_escape(emission->diagnostics, &escape);
    good = source_read(&emission->arena, emission->source.name, &file, emission->diagnostics);
    emission->arena.escape = NULL;
    diagnostics_set_escape(emission->diagnostics, NULL);
    emission->source.text = file.text;
    emission->source.length = file.length;
    return good ? AKG_OK : AKG_ERROR_IO;
}

/* The text, from the file if need be, and a list of messages that can show it. */
static akg_status emit_open(struct emission *emission)
{
    const char *name = emission->source.name;
    akg_status status;

    if (!emission->source.text) {
        emission->diagnostics = diagnostics_create(name, NULL, 0);
        if (!emission->diagnostics)
            return AKG_ERROR_MEMORY;
        status = emit_read(emission);
        if (status != AKG_OK)
            return status;
        akg_diagnostics_free(emission->diagnostics);
    }
    emission->diagnostics = diagnostics_create(name, emission->source.text, emission->source.length);
    return emission->diagnostics ? AKG_OK : AKG_ERROR_MEMORY;
}

/* Hands out the messages of the compile, or, where there are some, those of what came after it. */
static akg_status emit_finish(struct emission *emission, akg_status status, akg_diagnostics *compiled,
                              akg_diagnostics **diagnostics)
{
    akg_diagnostics *own = emission->diagnostics;

    if (status != AKG_OK && own && diagnostics_lost_some(own))
        status = AKG_ERROR_MEMORY; /* there was no room to say what is wrong */
    if (status == AKG_ERROR_MEMORY && akg_diagnostics_error_count(compiled) == 0)
        diagnostic_add(own, MSG_MEMORY, (struct span){0});
    if (own && (!compiled || akg_diagnostics_count(own) > 0)) {
        akg_diagnostics_free(compiled);
        diagnostics_hand_over(own, diagnostics);
        return status;
    }
    akg_diagnostics_free(own);
    if (diagnostics)
        *diagnostics = compiled;
    else
        akg_diagnostics_free(compiled);
    return status;
}

static bool emit_needs_kernels(akg_stage stage)
{
    return stage == AKG_STAGE_IR || stage == AKG_STAGE_OPTIMISED || stage == AKG_STAGE_C ||
           stage == AKG_STAGE_ASM || emit_is_for_threads(stage);
}

static bool emit_target(struct emission *emission)
{
    const char *target = emission->options ? emission->options->target : NULL;

    emission->target = x86_cpu_target();
    return !target || (emission->stage == AKG_STAGE_PTX ? emit_architecture(target, &emission->architecture)
                                                        : x86_target_from_name(target, &emission->target));
}

/* `wanted` says what; the rest of an emission is made here. */
static akg_status emit_run(const jit_source *source, const struct emission *wanted, char **text,
                           akg_diagnostics **diagnostics)
{
    struct emission emission = *wanted;
    akg_diagnostics *compiled = NULL;
    akg_status status;

    if (diagnostics)
        *diagnostics = NULL;
    if (!text)
        return AKG_ERROR_USAGE;
    *text = NULL;
    if (!source || (!source->text && !source->name) || (unsigned)emission.stage > AKG_STAGE_PTX ||
        (emission.argument_count && !emission.kernel_name) ||
        !call_arguments_are_there(emission.arguments, emission.argument_count) || !emit_target(&emission))
        return AKG_ERROR_USAGE;
    emission.source = *source;
    if (!source->name)
        emission.source.name = "<text>";
    text_init(&emission.out);
    arena_init(&emission.arena, NULL);
    status = emit_open(&emission);
    if (status == AKG_OK)
        status = emit_needs_kernels(emission.stage) ? emit_back_end(&emission, &compiled)
                                                    : emit_front_end(&emission);
    arena_free(&emission.arena);
    if (status == AKG_OK && !(*text = text_take(&emission.out)))
        status = AKG_ERROR_MEMORY;
    text_free(&emission.out);
    return emit_finish(&emission, status, compiled, diagnostics);
}

akg_status jit_emit(const jit_source *source, akg_stage stage, const char *kernel_name,
                    const akg_argument *arguments, size_t argument_count, char **text,
                    akg_diagnostics **diagnostics)
{
    return jit_emit_with(source, NULL, stage, kernel_name, arguments, argument_count, text, diagnostics);
}

akg_status jit_emit_with(const jit_source *source, const jit_options *options, akg_stage stage,
                         const char *kernel_name, const akg_argument *arguments, size_t argument_count,
                         char **text, akg_diagnostics **diagnostics)
{
    struct emission wanted = {.options = options,
                              .stage = stage,
                              .kernel_name = kernel_name,
                              .arguments = arguments,
                              .argument_count = argument_count};

    return emit_run(source, &wanted, text, diagnostics);
}

static bool emit_pass_exists(const char *pass)
{
    for (int k = 0; passes_name(k); k++)
        if (strcmp(passes_name(k), pass) == 0)
            return true;
    return false;
}

akg_status jit_emit_passes(const jit_source *source, const char *pass, const char *kernel_name,
                           const akg_argument *arguments, size_t argument_count, char **text,
                           akg_diagnostics **diagnostics)
{
    struct emission wanted = {.stage = AKG_STAGE_IR,
                              .dumps = true,
                              .pass = pass,
                              .kernel_name = kernel_name,
                              .arguments = arguments,
                              .argument_count = argument_count};

    if (pass && !emit_pass_exists(pass)) {
        if (diagnostics)
            *diagnostics = NULL;
        if (text)
            *text = NULL;
        return AKG_ERROR_USAGE;
    }
    return emit_run(source, &wanted, text, diagnostics);
}

const char *akg_pass_name(size_t index)
{
    return index < PASS_COUNT ? passes_name((int)index) : NULL;
}

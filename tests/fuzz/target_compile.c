/*
 * target_compile.c: a kernel made of the bytes (decode.h), whose constants may be any of int64, through the
 * stages that target_backend.c leaves out: certificates, optimising passes, vector code of both targets,
 * CUDA, plain C and costs. None of it is run; sanitizers say what is wrong, and the verifier.
 */
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../jit/analysis.h"
#include "../../jit/certificate.h"
#include "../../jit/cost.h"
#include "../../jit/cuda.h"
#include "../../jit/emit_c.h"
#include "../../jit/emit_plain.h"
#include "../../jit/passes.h"
#include "../../jit/sites.h"
#include "../../jit/vector_plan.h"
#include "decode.h"

enum compile_stage { COMPILE_CERTIFICATE, COMPILE_VECTORS, COMPILE_CUDA, COMPILE_PLAIN, COMPILE_STAGES };

struct compiling {
    struct decoder decoder;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    akg_diagnostics *diagnostics;
    struct text text, complaint;
};

static void compile_optimise(struct compiling *job, bool for_threads)
{
    struct passes_options options = {
        .verify = true, .tiles = pass_usual_tiles(X86_TARGET_NONE), .for_threads = for_threads};

    if (!passes_run(job->kernel, &options, &job->complaint) && !job->complaint.failed) {
        fprintf(stderr, "passes: %s\n", job->complaint.data ? job->complaint.data : "");
        abort();
    }
    sites_number(job->kernel, &job->sites);
}

static void compile_vectors(struct compiling *job)
{
    struct vector_options options = {.target =
                                         decode_pick(&job->decoder, 2) ? X86_TARGET_AVX512 : X86_TARGET_AVX2,
                                     .strict = decode_pick(&job->decoder, 2),
                                     .splits = decode_pick(&job->decoder, 2),
                                     .trust_indices = decode_pick(&job->decoder, 2)};
    struct vector_plan plan;

    compile_optimise(job, false);
    if (!vector_plan_make(&plan, job->kernel, &options, false))
        return;
    struct emit_c_options emit = {
        .entry = "akg_kernel", .plan = &plan, .trust_indices = options.trust_indices};
    emit_c(&job->text, job->kernel, &emit, &job->complaint);
    vector_plan_free(&plan);
}

static void compile_cuda(struct compiling *job)
{
    bool optimised = decode_pick(&job->decoder, 2);
    struct cuda_options options = {.deterministic = decode_pick(&job->decoder, 2),
                                   .tf32 = decode_pick(&job->decoder, 2),
                                   .trust_indices = decode_pick(&job->decoder, 2)};
    struct cuda_program program = {0};

    if (optimised)
        compile_optimise(job, true);
    else
        sites_number(job->kernel, &job->sites);
    if (cuda_program_make(&program, job->kernel, &options, job->diagnostics) == AKG_OK)
        cuda_program_free(&program);
}

/* Of one call, with extents of any size. */
static void compile_plain(struct compiling *job)
{
    static const int64_t extents[] = {0,        1, 2, 7, 100, INT32_MAX, INT64_C(1) << 32, INT64_C(1) << 62,
                                      INT64_MAX};
    int64_t dims[64];
    union jit_scalar scalars[8] = {0};
    struct cost cost;

    sites_number(job->kernel, &job->sites);
    if (job->kernel->dims.count > 64 || job->kernel->attributes.count > 8)
        return;
    for (int k = 0; k < job->kernel->dims.count; k++)
        dims[k] = extents[decode_pick(&job->decoder, 9)];
    for (int k = 0; k < job->kernel->attributes.count; k++)
        if (dtype_is_float(job->kernel->attributes.items[k]->dtype))
            scalars[k].d = decode_pick(&job->decoder, 9) / 4.0 - 1;
        else
            scalars[k].i = job->kernel->attributes.items[k]->dtype == AKG_BOOL
                               ? decode_pick(&job->decoder, 2)
                               : decode_number(&job->decoder, decode_pick(&job->decoder, 5));
    cost_count(job->kernel, dims, scalars, &cost);
    emit_plain(&job->text, job->kernel, dims, scalars, NULL, &job->complaint);
}

static void compile_stage(struct compiling *job, enum compile_stage stage)
{
    if (!ir_verify(job->kernel, &job->complaint))
        return; /* a step of 0, say */
    analysis_bounds(job->kernel);
    analysis_initialisation(job->kernel, job->diagnostics);
    switch (stage) {
    case COMPILE_CERTIFICATE:
        analysis_hints(job->kernel, job->diagnostics);
        sites_number(job->kernel, &job->sites);
        certificate_make(job->kernel, true);
        break;
    case COMPILE_VECTORS:
        compile_vectors(job);
        break;
    case COMPILE_CUDA:
        compile_cuda(job);
        break;
    default:
        compile_plain(job);
        break;
    }
}

static void compile_once(const uint8_t *data, size_t size, enum compile_stage stage)
{
    struct compiling job = {.diagnostics = diagnostics_create("compile.ir", NULL, 0)};
    struct arena arena;
    jmp_buf escape;

    arena_init(&arena, &escape);
    text_init(&job.text);
    text_init(&job.complaint);
    if (!setjmp(escape)) {
        diagnostics_set_escape(job.diagnostics, &escape);
        job.kernel = decode_far_kernel(&job.decoder, &arena, data, size);
        compile_stage(&job, stage);
    }
    diagnostics_set_escape(job.diagnostics, NULL);
    akg_diagnostics_free(job.diagnostics);
    text_free(&job.text);
    text_free(&job.complaint);
    arena_free(&arena);
}

int target_compile(const uint8_t *data, size_t size)
{
    for (int stage = 0; stage < COMPILE_STAGES; stage++)
        compile_once(data, size, stage);
    return 0;
}

/*
 * emit_cuda_squad.c: iterations of a chain by squads, for rows that are too short for a block.
 *
 * Consumes a step whose body a team could go through (cuda_plan.h). A squad is a team of neighbouring threads
 * of one warp, 1 to 32 by the length of the rows; they meet and combine by exchanges within the warp, and a
 * block has as many squads as find room in it. The text is that of teams, with other words for who is in one.
 */
#include "emit_cuda_private.h"

static const struct cuda_together squad = {.thread = "akg_lane",
                                           .threads = "akg_lanes",
                                           .all = "akg_lanes",
                                           .barrier = "akg_meet(akg_mates);",
                                           .is_squad = true};

bool emit_cuda_squad_is_warp(const struct cuda_step *step)
{
    return step->least > cuda_squad_each(step) * CUDA_WARP / 2;
}

void emit_cuda_squads(struct cuda_emitter *cuda,
                      void (*body)(struct cuda_emitter *cuda, const struct ir_stmt *block))
{
    struct emitter *emitter = &cuda->emitter;
    struct cuda_chain inner = {.loops = {cuda->step->inner}, .count = 1};
    const struct ir_expr *length = cuda_chain_work(cuda->plan.kernel, &inner);
    int each = cuda_squad_each(cuda->step);
    bool whole_warps = emit_cuda_squad_is_warp(cuda->step);
    if (whole_warps)
        emit_line(emitter, "const int akg_lanes = %d;", CUDA_WARP); /* a number, so that places are too */
    else
        emit_line(emitter, "const int akg_lanes = akg_lane_count(((%s) + %d) / %d);",
                  emit_shallow(emitter, length).text, each - 1, each);
    emit_line(emitter, "const int akg_lane = (int)(threadIdx.x %% (unsigned int)akg_lanes);");
    emit_line(emitter, "const int akg_squad = (int)threadIdx.x / akg_lanes, akg_squads = %d / akg_lanes;",
              CUDA_THREADS);
    if (whole_warps)
        emit_line(emitter, "const unsigned int akg_mates = 0xffffffffu;");
    else
        emit_line(emitter, "const unsigned int akg_mates = 0xffffffffu >> (32 - akg_lanes)"
                           " << (threadIdx.x %% 32 - akg_lane);");
    const struct cuda_together block = cuda->together;
    cuda->together = squad;
    emit_cuda_chain(cuda, &cuda->step->chain, "(long long)blockIdx.x * akg_squads + akg_squad",
                    "(long long)gridDim.x * akg_squads", body);
    cuda->together = block;
}

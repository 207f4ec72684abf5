/*
 * emit_cuda_scan_pieces.c: scans of which each thread takes pieces of four iterations.
 *
 * Consumes a scan (emit_cuda_scan.h) whose tensors lie well. A block takes a tile: each thread loads some
 * pieces of it, all before anything else, so that much is under way; what they do is put together once for
 * all of them, with three barriers; then each thread goes through its pieces, as the loop would.
 */
#include "emit_cuda_scan.h"

/* What the names of pieces end with. */
static const char turn[] = "[turn_]";

int emit_scan_early(const struct scan *scan)
{
    return scan->by_pieces ? (int)(scan->pieces.low - emit_cuda_pieces_first(&scan->pieces)) : 0;
}

const char *emit_scan_tiles(const struct scan *scan)
{
    return arena_format(&scan->cuda->emitter.arena, "(%s > 0 ? (%s + %d) / %d : 0)", scan->texts[0].trips,
                        scan->texts[0].trips, emit_scan_early(scan) + CUDA_SCAN_TILE - 1, CUDA_SCAN_TILE);
}

void emit_scan_declare_pieces(const struct scan *scan)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_cuda_pieces_declare(scan->cuda, &scan->pieces, CUDA_SCAN_TURNS);
    for (int k = 0; k < scan->found.count; k++)
        emit_line(emitter, "%s %s[%d], %s[%d];", emit_scan_type(scan, k), emit_scan_name(scan, k, "own"),
                  CUDA_SCAN_TURNS, emit_scan_name(scan, k, "before"), CUDA_SCAN_TURNS);
}

/* The loop over pieces of a thread: gives the loop's variable where the piece begins. */
static const char *begin_turns(const struct scan *scan, const char *tile)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const char *first = emit_scan_loop_name(scan, "first");
    emit_line(emitter, "#pragma unroll");
    emit_line(emitter, "for (int turn_ = 0; turn_ < %d; turn_++) {", CUDA_SCAN_TURNS);
    emitter->indent++;
    emit_line(emitter, "const long long %s = ((%s * %d + turn_) * %d + threadIdx.x) * %d + %lld;", first,
              tile, CUDA_SCAN_TURNS, CUDA_THREADS, CUDA_QUAD,
              (long long)emit_cuda_pieces_first(&scan->pieces));
    return first;
}

static void emit_changes_of_one(struct cuda_emitter *cuda, void *context)
{
    const struct scan *scan = context;
    (void)cuda;
    emit_scan_changes(scan, cuda_chain_body(scan->chain));
}

void emit_scan_load(struct scan *scan, const char *tile)
{
    struct emitter *emitter = &scan->cuda->emitter;
    const char *trips = scan->texts[0].trips, *first = begin_turns(scan, tile);
    emit_cuda_pieces_load(scan->cuda, &scan->pieces, first, trips, turn);
    emit_scan_close(scan);
    first = begin_turns(scan, tile);
    for (int k = 0; k < scan->found.count; k++)
        emit_line(emitter, "%s%s = %s%s = %s;", emit_scan_name(scan, k, "own"), turn,
                  emit_scan_name(scan, k, "before"), turn, emit_scan_neutral(scan, k));
    scan->turn = turn;
    emit_cuda_pieces_each(scan->cuda, &scan->pieces, first, trips, turn, emit_changes_of_one, scan);
    scan->turn = "";
    emit_scan_close(scan);
    for (int k = 0; k < scan->found.count; k++)
        emit_line(emitter, "%s = akg_turns_%s(%s, %s);", emit_scan_name(scan, k, "part"),
                  emit_scan_ending(scan, k), emit_scan_name(scan, k, "own"),
                  emit_scan_name(scan, k, "before"));
}

void emit_scan_pieces(struct scan *scan, const char *tile)
{
    struct emitter *emitter = &scan->cuda->emitter;
    emit_scan_from(scan);
    const char *first = begin_turns(scan, tile);
    for (int k = 0; k < scan->found.count; k++) {
        const char *here = emit_scan_name(scan, k, "here");
        emit_line(emitter, "const %s %s = %s%s;", emit_scan_type(scan, k), here,
                  emit_scan_name(scan, k, "before"), turn);
        emit_scan_combination(scan, k, here);
    }
    emit_cuda_pieces_body(scan->cuda, &scan->pieces, first, scan->texts[0].trips, turn);
    emit_scan_close(scan);
    for (int k = 0; k < scan->found.count; k++)
        emit_scan_combination(scan, k, emit_scan_name(scan, k, "part"));
}

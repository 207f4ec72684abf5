/*
 * test_analysis_random.c: the analyses against brute force.
 *
 * Random small kernels (analysis_kernel.h) are analysed and then executed, for many small shapes, by an
 * evaluator that knows nothing of the analyses (brute_force.h). What must hold: an index said to be inside
 * never leaves; a call is refused only if it would have stopped; a divisor said not to be zero never is; what
 * is not cleared is written before it is read, and outputs are written in full; a read that is warned of
 * comes before any write; a loop that is warned of has two iterations that clash, and one that is passed in
 * silence has none.
 *
 * Takes a number of kernels and a first seed; prints a kernel that fails.
 */
#include "../../jit/analysis.h"
#include "analysis_kernel.h"
#include "brute_force.h"
#include "check.h"

#include <stdlib.h>

static struct {
    int kernels, proved, preconditions, elements, cleared, kept, read_warnings, clashes, silent;
} tally;

static void tally_access(const struct ir_access *access)
{
    for (int k = 0; k < access->buffer->rank; k++)
        ++*(access->checks[k] == IR_CHECK_ELEMENT  ? &tally.elements
            : access->checks[k] == IR_CHECK_PROVED ? &tally.proved
                                                   : &tally.preconditions);
}

static bool tally_expr(struct ir_expr *expr, void *context)
{
    (void)context;
    if (expr->kind == IR_LOAD)
        tally_access(&expr->access);
    return true;
}

static void tally_block(struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        ir_stmt_expressions(stmt, tally_expr, NULL);
        if (stmt->kind == IR_STORE)
            tally_access(&stmt->access);
        tally_block(stmt->body);
        tally_block(stmt->otherwise);
    }
}

static struct ir_stmt *find_hinted(struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_FOR && stmt->hint & IR_HINT_PARALLEL)
            return stmt;
        struct ir_stmt *inside = find_hinted(stmt->body);
        if (inside || (inside = find_hinted(stmt->otherwise)))
            return inside;
    }
    return NULL;
}

static bool has_break(const struct ir_stmt *block)
{
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next)
        if (stmt->kind == IR_BREAK ||
            (stmt->kind == IR_IF && (has_break(stmt->body) || has_break(stmt->otherwise))))
            return true;
    return false;
}

/* 1: warned of, with two iterations; 2: because of a scalar, or of a break that it has; 0: not */
static int warned_loop(const akg_diagnostics *diagnostics, const struct ir_stmt *loop)
{
    for (size_t k = 0; k < akg_diagnostics_count(diagnostics); k++) {
        const akg_diagnostic *diagnostic = akg_diagnostics_at(diagnostics, k);
        if (strstr(diagnostic->message, "depend on each other") && diagnostic->line == loop->span.line)
            return diagnostic->note_count &&
                           (strstr(diagnostic->notes[0], "scalar") ||
                            (strstr(diagnostic->notes[0], "decides") && has_break(loop->body)))
                       ? 2
                       : 1;
    }
    return 0;
}

static const char *test_kernel(struct arena *arena, const char *source, akg_diagnostics *diagnostics)
{
    static const int64_t attributes[] = {1, 0, 2, -1, 3};
    struct ir_kernel *kernel = ir_read(arena, source, strlen(source), diagnostics);
    const char *wrong = NULL;
    bool clash = false;
    struct text complaint;

    if (!kernel)
        return "not read";
    text_init(&complaint);
    bool verified = ir_verify(kernel, &complaint);
    if (!verified)
        fprintf(stderr, "%s\n", complaint.data);
    text_free(&complaint);
    if (!verified)
        return "not verified";
    analysis_bounds(kernel);
    analysis_initialisation(kernel, diagnostics);
    analysis_hints(kernel, diagnostics);
    tally_block(kernel->body);
    for (int b = 0; b < kernel->buffers.count; b++)
        ++*(kernel->buffers.items[b]->clear ? &tally.cleared : &tally.kept);
    struct ir_stmt *hinted = find_hinted(kernel->body);
    for (int64_t shape = 0; shape < 256 && !wrong; shape++) {
        int64_t values[] = {shape % 4 + (shape % 4 == 3), shape / 4 % 4, shape / 16 % 4,
                            attributes[shape / 64]};
        wrong = brute_force(kernel, diagnostics, hinted, values, &clash);
    }
    int warned = hinted ? warned_loop(diagnostics, hinted) : 0;
    if (!wrong && warned == 0 && clash)
        tally.silent++;
    tally.clashes += warned == 1;
    for (int64_t size = 2; size < 14 && warned == 1 && !clash; size++) {
        int64_t same[] = {size, size, size, 1 + size % 3}, growing[] = {size, size + 1, size + 2, 1};
        for (int64_t s = 1; s < 12 && !clash; s++) {
            same[3] = growing[3] = s;
            clash = brute_force_clashes(kernel, hinted, same) || brute_force_clashes(kernel, hinted, growing);
        }
    }
    if (!wrong && warned == 1 && !clash)
        wrong = "the warned loop has no clash";
    return wrong;
}

static bool test_seed(uint64_t seed)
{
    struct text source;
    struct arena arena;
    jmp_buf escape;
    const char *wrong;

    analysis_kernel(&source, seed);
    arena_init(&arena, &escape);
    akg_diagnostics *diagnostics = diagnostics_create("random.ir", NULL, 0);
    if (setjmp(escape) || !diagnostics || source.failed) {
        fputs("out of memory\n", stderr);
        exit(5);
    }
    diagnostics_set_escape(diagnostics, &escape);
    wrong = test_kernel(&arena, source.data, diagnostics);
    for (size_t k = 0; k < akg_diagnostics_count(diagnostics); k++)
        tally.read_warnings += strstr(akg_diagnostics_at(diagnostics, k)->message, "before anything") != NULL;
    if (wrong) {
        char *rendered = NULL;
        akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &rendered);
        fprintf(stderr, "seed %llu: %s\n%s%s", (unsigned long long)seed, wrong, source.data, rendered);
        akg_free(rendered);
    }
    CHECK(!wrong);
    akg_diagnostics_free(diagnostics);
    arena_free(&arena);
    text_free(&source);
    return !wrong;
}

int main(int count, char **arguments)
{
    int kernels = count > 1 ? atoi(arguments[1]) : 400;
    uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;

    for (int k = 0; k < kernels && check_failed < 3; k++)
        test_seed(first + (uint64_t)k);
    printf("indices: %d proved, %d by preconditions, %d per element; buffers: %d cleared, %d not; "
           "%d early reads, %d clashes shown, %d clashes passed over\n",
           tally.proved, tally.preconditions, tally.elements, tally.cleared, tally.kept, tally.read_warnings,
           tally.clashes, tally.silent);
    if (kernels >= 100)
        CHECK(tally.proved && tally.preconditions && tally.elements && tally.cleared && tally.kept &&
              tally.clashes);
    return check_done();
}

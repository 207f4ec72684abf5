/*
 * test_dependence_isl.c: the integer systems and the dependences of random kernels, compared with isl.
 *
 * Compiled only where configure found isl (Debian: libisl-dev). First the solver alone: whether random
 * systems have integer solutions, and whether the solution found is one. Then whole kernels as IR text: nests
 * with symbolic, triangular and strided bounds, guards, quotients and remainders; for each pair of accesses
 * every direction vector must be possible in isl exactly when a dependence lists it, and distances must be
 * the only ones. "Not exact" counts as unknown and must be rare.
 */
#include "check.h"

#ifndef HAVE_ISL

int main(void)
{
    puts("skipped: configure did not find isl");
    return check_done();
}

#else

#include "../../base/text.h"
#include "../../jit/dependence.h"
#include "judged.h"
#include "../../jit/integer_system.h"

#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/set.h>
#include <isl/space.h>

#include <stdlib.h>

enum { SYSTEMS = 2000, KERNELS = 200, LOOPS = 4, USES = 6 };

static uint64_t state = 88172645463325252u;

static int pick(int low, int high)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (int)((state >> 11) % (uint64_t)(high - low + 1));
}

static bool chance(int percent)
{
    return pick(1, 100) <= percent;
}

/* ---- systems ------------------------------------------------------------- */

static void add_row(struct integer_system *system, bool equality, int size)
{
    struct integer_row *row = &system->rows[system->count++];

    memset(row, 0, sizeof *row);
    row->equality = equality;
    row->constant = pick(-25, 25);
    for (int k = 0; k < system->variables; k++)
        integer_row_set(row, k, chance(60) ? pick(-size, size) : 0);
}

static void make_system(struct integer_system *system)
{
    int rows = pick(2, 7), size = chance(30) ? 13 : 4;
    int equalities = chance(60) ? pick(1, 2) : 0;

    system->variables = pick(2, 6);
    system->count = 0;
    for (int k = 0; k < rows; k++)
        add_row(system, k < equalities, size);
    for (int k = 0; k < system->variables; k++) {
        for (int side = -1; side < 2 && chance(80); side += 2) {
            struct integer_row *row = &system->rows[system->count++];
            memset(row, 0, sizeof *row);
            integer_row_set(row, k, side);
            row->constant = pick(0, 12);
        }
    }
}

static bool is_empty_in_isl(isl_ctx *ctx, const struct integer_system *system)
{
    isl_space *space = isl_space_set_alloc(ctx, 0, (unsigned)system->variables);
    isl_basic_set *set = isl_basic_set_universe(isl_space_copy(space));
    isl_local_space *local = isl_local_space_from_space(space);

    for (int k = 0; k < system->count; k++) {
        const struct integer_row *row = &system->rows[k];
        isl_constraint *constraint = row->equality
                                         ? isl_constraint_alloc_equality(isl_local_space_copy(local))
                                         : isl_constraint_alloc_inequality(isl_local_space_copy(local));
        constraint = isl_constraint_set_constant_si(constraint, (int)row->constant);
        for (int v = 0; v < system->variables; v++)
            constraint = isl_constraint_set_coefficient_si(constraint, isl_dim_set, v, (int)row->c[v]);
        set = isl_basic_set_add_constraint(set, constraint);
    }
    bool empty = isl_basic_set_is_empty(set) == isl_bool_true;
    isl_local_space_free(local);
    isl_basic_set_free(set);
    return empty;
}

static bool solves(const struct integer_solver *solver, const struct integer_system *system)
{
    for (int k = 0; k < system->count; k++) {
        const struct integer_row *row = &system->rows[k];
        int64_t sum = row->constant;
        for (int v = 0; v < system->variables; v++)
            sum += row->c[v] * solver->values[v];
        if (row->equality ? sum != 0 : sum < 0)
            return false;
    }
    return true;
}

static void test_systems(isl_ctx *ctx)
{
    struct arena arena;
    jmp_buf escape;
    struct integer_solver solver;
    struct integer_system system;
    static int unknown, some; /* kept whatever setjmp does */

    arena_init(&arena, &escape);
    if (setjmp(escape))
        exit(5);
    integer_solver_init(&solver, &arena);
    for (int k = 0; k < SYSTEMS; k++) {
        make_system(&system);
        enum integer_answer answer = integer_solve(&solver, &system);
        bool empty = is_empty_in_isl(ctx, &system);
        unknown += answer == INTEGER_UNKNOWN;
        some += answer == INTEGER_SOME;
        if (answer == INTEGER_UNKNOWN)
            continue;
        if (!CHECK((answer == INTEGER_NONE) == empty))
            fprintf(stderr, "system %d: isl says %s\n", k, empty ? "empty" : "not empty");
        if (answer == INTEGER_SOME && !CHECK(solves(&solver, &system)))
            fprintf(stderr, "system %d: that is no solution\n", k);
    }
    printf("%d systems compared with isl, %d of them with solutions, %d unknown\n", SYSTEMS, some, unknown);
    CHECK(some > SYSTEMS / 5 && SYSTEMS - some > SYSTEMS / 5);
    CHECK(unknown * 50 < SYSTEMS);
    arena_free(&arena);
}

/* ---- kernels ------------------------------------------------------------- */

/* An affine expression over the loops around it, N and constants, maybe within a quotient or remainder. */
struct affine {
    int constant, n;
    int c[LOOPS];
    int divisor; /* 0: none; positive: //, negative: % */
};

struct loop {
    struct affine low, high;
    bool has_second; /* the bound is the smaller (going up) of two */
    struct affine second;
    int step;
};

struct use {
    bool store;
    int loop_count, loops[LOOPS];
    int rank;
    struct affine indices[2];
    bool guarded, holds; /* guard >= 0, or not */
};

struct program {
    struct loop loops[LOOPS];
    int depth; /* common loops; the next one holds the second statement only, when there is it */
    bool inner;
    bool has_guard, has_else;
    struct affine guard;
    int use_count;
    struct use uses[USES];
};

static struct affine make_affine(int depth, int size, int constant)
{
    struct affine a = {.constant = pick(0, constant)};

    for (int k = 0; k < depth; k++)
        a.c[k] = chance(60) ? pick(-size, size) : 0;
    return a;
}

static struct affine make_index(int depth)
{
    struct affine a = make_affine(depth, 3, 12);

    if (chance(15))
        a.divisor = pick(2, 5);
    else if (chance(15))
        a.divisor = -pick(2, 5);
    if (!a.divisor && chance(15))
        a.n = pick(-1, 1);
    return a;
}

static struct loop make_loop(int depth)
{
    struct loop loop = {.step = chance(70) ? 1 : pick(2, 3)};

    loop.low = chance(70) ? (struct affine){.constant = pick(0, 2)} : make_affine(depth, 1, 2);
    loop.high = chance(50) ? (struct affine){.constant = pick(2, 9)} : make_affine(depth, 1, 6);
    if (chance(35))
        loop.high.n = 1;
    loop.has_second = chance(15);
    loop.second = make_affine(depth, 1, 8);
    if (chance(20)) {
        struct affine swap = loop.low;
        loop.low = loop.high;
        loop.high = swap;
        loop.step = -loop.step;
        loop.has_second = false;
    }
    return loop;
}

static void add_use(struct program *program, bool store, int depth, int rank, bool holds)
{
    struct use *use = &program->uses[program->use_count++];

    *use = (struct use){.store = store, .loop_count = depth, .rank = rank};
    for (int k = 0; k < depth; k++)
        use->loops[k] = k;
    for (int k = 0; k < rank; k++)
        use->indices[k] = make_index(depth);
    use->guarded = program->has_guard && (holds || program->has_else);
    use->holds = holds;
}

static void make_program(struct program *program)
{
    int rank = pick(1, 2);

    memset(program, 0, sizeof *program);
    program->depth = pick(1, 3);
    program->inner = chance(30);
    for (int k = 0; k < program->depth + program->inner; k++)
        program->loops[k] = make_loop(k);
    program->has_guard = chance(30);
    program->has_else = program->has_guard && chance(40);
    program->guard = make_affine(program->depth, 2, 4);
    add_use(program, false, program->depth, rank, true);
    add_use(program, true, program->depth, rank, true);
    if (program->inner || chance(30)) {
        add_use(program, false, program->depth + program->inner, rank, false);
        add_use(program, true, program->depth + program->inner, rank, false);
    }
}

/* The loops are called `name` with their number. isl and the IR agree on what stands in parentheses. */
static void print_affine(struct text *out, const struct affine *a, const char *name, bool isl)
{
    int terms = a->n != 0;

    for (int k = 0; k < LOOPS; k++)
        terms += a->c[k] != 0;
    text_string(out, a->divisor > 0 && isl ? "floor((" : a->divisor ? "(" : "");
    text_repeat(out, '(', terms);
    text_format(out, "%d", a->constant);
    for (int k = 0; k < LOOPS; k++)
        if (a->c[k])
            text_format(out, " + (%d * %s%d))", a->c[k], name, k);
    if (a->n)
        text_format(out, " + (%d * N))", a->n);
    if (a->divisor > 0)
        text_format(out, isl ? ")/%d)" : " // %d)", a->divisor);
    else if (a->divisor)
        text_format(out, isl ? ") mod %d" : " %% %d)", -a->divisor);
}

static void print_use(struct text *out, const struct use *use)
{
    text_string(out, "y[");
    for (int k = 0; k < use->rank; k++) {
        text_string(out, k ? ", " : "");
        print_affine(out, &use->indices[k], "v", false);
        text_char(out, '?');
    }
    text_char(out, ']');
}

static void print_loop(struct text *out, const struct loop *loop, int number)
{
    text_format(out, "for v%d = ", number);
    print_affine(out, &loop->low, "v", false);
    text_string(out, loop->has_second ? " to min(" : " to ");
    print_affine(out, &loop->high, "v", false);
    if (loop->has_second) {
        text_string(out, ", ");
        print_affine(out, &loop->second, "v", false);
        text_char(out, ')');
    }
    text_format(out, " step %d {\n", loop->step);
}

static void print_statement(struct text *out, const struct use *load)
{
    print_use(out, load + 1);
    text_string(out, " = ");
    print_use(out, load);
    text_char(out, '\n');
}

static void print_program(struct text *out, const struct program *program)
{
    int closing = program->depth;

    text_format(out, "kernel k {\ninput n: float32[N]\ninout y: float32[E%s]\nbody {\n",
                program->uses[0].rank > 1 ? ", F" : "");
    for (int k = 0; k < program->depth; k++)
        print_loop(out, &program->loops[k], k);
    if (program->has_guard) {
        text_string(out, "if (");
        print_affine(out, &program->guard, "v", false);
        text_string(out, " >= 0) {\n");
    }
    print_statement(out, &program->uses[0]);
    if (program->has_guard)
        text_string(out, program->has_else ? "} else {\n" : "}\n");
    closing += program->has_else;
    if (program->use_count > 2) {
        if (program->inner)
            print_loop(out, &program->loops[program->depth], program->depth);
        print_statement(out, &program->uses[2]);
        if (program->inner)
            text_string(out, "}\n");
    }
    for (int k = 0; k < closing; k++)
        text_string(out, "}\n");
    text_string(out, "}\n}\n");
}

/* ---- the same for isl ---------------------------------------------------- */

static void print_domain(struct text *out, const struct program *program, const struct use *use,
                         const char *name, const char *time)
{
    for (int k = 0; k < use->loop_count; k++) {
        const struct loop *loop = &program->loops[k];
        text_format(out, " and %s%d >= 0 and %s%d = %d*%s%d + ", time, k, name, k, loop->step, time, k);
        print_affine(out, &loop->low, name, true);
        text_format(out, " and %s%d %c ", name, k, loop->step > 0 ? '<' : '>');
        print_affine(out, &loop->high, name, true);
        if (loop->has_second) {
            text_format(out, " and %s%d < ", name, k);
            print_affine(out, &loop->second, name, true);
        }
    }
    if (use->guarded) {
        text_string(out, " and ");
        print_affine(out, &program->guard, name, true);
        text_string(out, use->holds ? " >= 0" : " < 0");
    }
    for (int k = 0; k < use->rank; k++) {
        text_string(out, " and 0 <= ");
        print_affine(out, &use->indices[k], name, true);
        text_format(out, " < %s", k ? "F" : "E");
    }
}

static void print_tuple(struct text *out, const struct use *use, const char *name, const char *time)
{
    for (int k = 0; k < use->loop_count; k++)
        text_format(out, "%s%s%d, %s%d", k ? ", " : "", name, k, time, k);
}

/* All pairs of executions of the two that use the same element. */
static isl_set *conflicts(isl_ctx *ctx, const struct program *program, const struct use *a,
                          const struct use *b)
{
    struct text text;

    text_init(&text);
    text_string(&text, "[N, E, F] -> { [");
    print_tuple(&text, a, "v", "s");
    text_string(&text, ", ");
    print_tuple(&text, b, "w", "t");
    text_string(&text, "] : N >= 0 and E >= 0 and F >= 0");
    print_domain(&text, program, a, "v", "s");
    print_domain(&text, program, b, "w", "t");
    for (int k = 0; k < a->rank; k++) {
        text_string(&text, " and ");
        print_affine(&text, &a->indices[k], "v", true);
        text_string(&text, " = ");
        print_affine(&text, &b->indices[k], "w", true);
    }
    text_string(&text, " }");
    isl_set *set = isl_set_read_from_str(ctx, text.data);
    if (!set)
        fprintf(stderr, "isl cannot read %s\n", text.data);
    text_free(&text);
    return set;
}

/* least <= sign * (time of b - time of a) in the loop, whose time is its variable when it goes by ones */
static isl_set *restrict_time(isl_set *set, const struct program *program, const struct use *a, int loop,
                              int sign, int64_t least)
{
    isl_local_space *local = isl_local_space_from_space(isl_set_get_space(set));
    isl_constraint *constraint = isl_constraint_alloc_inequality(local);
    int step = program->loops[loop].step, time = 2 * loop + (step != 1 && step != -1);

    if (step == -1)
        sign = -sign;
    constraint = isl_constraint_set_coefficient_si(constraint, isl_dim_set, time, -sign);
    constraint = isl_constraint_set_coefficient_si(constraint, isl_dim_set, 2 * a->loop_count + time, sign);
    constraint = isl_constraint_set_constant_si(constraint, (int)-least);
    return isl_set_add_constraint(set, constraint);
}

static isl_set *restrict_direction(isl_set *set, const struct program *program, const struct use *a, int loop,
                                   unsigned directions)
{
    if (!(directions & DEPENDENCE_GREATER))
        set = restrict_time(set, program, a, loop, 1, directions & DEPENDENCE_EQUAL ? 0 : 1);
    if (!(directions & DEPENDENCE_LESS))
        set = restrict_time(set, program, a, loop, -1, directions & DEPENDENCE_EQUAL ? 0 : 1);
    return set;
}

/* ---- comparing ----------------------------------------------------------- */

static int vectors, unknown_vectors, possible_vectors, distances;

enum listing { NOT_LISTED, PERHAPS, LISTED };

static bool covers(const struct dependence *item, const unsigned char *vector, int depth)
{
    for (int k = 0; k < depth; k++)
        if (!(item->directions[k] & vector[k]))
            return false;
    return item->depth == depth;
}

static enum listing is_listed(const struct dependences *found, int source, int sink,
                              const unsigned char *vector, int depth)
{
    enum listing best = NOT_LISTED;

    for (int k = 0; k < found->items.count; k++) {
        const struct dependence *item = &found->items.items[k];
        if (item->source != source || item->sink != sink || !covers(item, vector, depth))
            continue;
        if (item->exact)
            return LISTED;
        best = PERHAPS;
    }
    return best;
}

static bool test_vector(isl_set *set, const struct dependences *found, const struct program *program, int a,
                        int b, const unsigned char *vector, int depth)
{
    unsigned char turned[LOOPS];
    int level = 0;

    while (level < depth && vector[level] == DEPENDENCE_EQUAL)
        level++;
    bool backward = level < depth && vector[level] == DEPENDENCE_GREATER;
    if (a == b && (backward || level == depth))
        return true;
    for (int k = 0; k < depth; k++)
        turned[k] = !backward || vector[k] == DEPENDENCE_EQUAL ? vector[k]
                    : vector[k] == DEPENDENCE_LESS             ? DEPENDENCE_GREATER
                                                               : DEPENDENCE_LESS;
    enum listing listing = is_listed(found, backward ? b : a, backward ? a : b, turned, depth);
    isl_set *copy = isl_set_copy(set);
    for (int k = 0; k < depth; k++)
        copy = restrict_direction(copy, program, &program->uses[a], k, vector[k]);
    bool possible = isl_set_is_empty(copy) != isl_bool_true;
    isl_set_free(copy);
    vectors++;
    possible_vectors += possible;
    unknown_vectors += listing == PERHAPS;
    return CHECK(listing == PERHAPS || (listing == LISTED) == possible);
}

/* The distances of a dependence are the only ones. */
static bool test_distances(isl_set *set, const struct program *program, const struct dependence *item, int a)
{
    bool good = true;

    for (int k = 0; k < item->depth; k++) {
        for (int side = -1; item->has_distance[k] && side < 2; side += 2) {
            int turn = item->source == a ? 1 : -1;
            isl_set *copy = isl_set_copy(set);
            for (int j = 0; j < item->depth; j++) {
                unsigned directions = item->directions[j];
                if (turn < 0)
                    directions = (directions & DEPENDENCE_EQUAL) | (directions & DEPENDENCE_LESS) << 2 |
                                 (directions & DEPENDENCE_GREATER) >> 2;
                if (directions != (DEPENDENCE_LESS | DEPENDENCE_GREATER))
                    copy = restrict_direction(copy, program, &program->uses[a], j, directions);
            }
            copy =
                restrict_time(copy, program, &program->uses[a], k, turn * side, side * item->distance[k] + 1);
            good &= CHECK(isl_set_is_empty(copy) == isl_bool_true);
            isl_set_free(copy);
        }
        distances += item->has_distance[k] && item->directions[k] != DEPENDENCE_EQUAL;
    }
    return good;
}

static bool test_pair(isl_ctx *ctx, const struct dependences *found, const struct program *program, int a,
                      int b)
{
    const struct use *first = &program->uses[a], *second = &program->uses[b];
    int depth = first->loop_count < second->loop_count ? first->loop_count : second->loop_count, count = 1;
    isl_set *set = conflicts(ctx, program, first, second);
    bool good = CHECK(set != NULL);

    for (int k = 0; k < depth; k++)
        count *= 3;
    for (int number = 0; number < count && good; number++) {
        unsigned char vector[LOOPS];
        for (int k = 0, rest = number; k < depth; k++, rest /= 3)
            vector[k] = (unsigned char)(1 << rest % 3);
        good &= test_vector(set, found, program, a, b, vector, depth);
    }
    for (int k = 0; k < found->items.count && good; k++) {
        const struct dependence *item = &found->items.items[k];
        if ((item->source == a && item->sink == b) || (item->source == b && item->sink == a))
            good &= test_distances(set, program, item, a);
    }
    isl_set_free(set);
    return good;
}

static bool test_program(isl_ctx *ctx, const struct program *program, const struct dependences *found)
{
    bool good = CHECK(found->accesses.count == program->use_count);

    for (int b = 0; b < program->use_count && good; b++)
        for (int a = 0; a <= b && good; a++)
            if (program->uses[a].store || program->uses[b].store)
                good &= test_pair(ctx, found, program, a, b);
    return good;
}

static void test_kernel(isl_ctx *ctx)
{
    struct arena arena;
    jmp_buf escape;
    struct program program;
    struct text source, lines;

    arena_init(&arena, &escape);
    akg_diagnostics *diagnostics = diagnostics_create("", NULL, 0);
    if (!diagnostics || setjmp(escape))
        exit(5);
    diagnostics_set_escape(diagnostics, &escape);
    make_program(&program);
    text_init(&source);
    text_init(&lines);
    print_program(&source, &program);
    struct ir_kernel *kernel = ir_read(&arena, source.data, source.length, diagnostics);
    if (!CHECK(kernel && ir_verify(kernel, &lines))) {
        fprintf(stderr, "%s%s\n", source.data, lines.data ? lines.data : "it cannot be read");
    } else {
        const struct dependences *found = dependence_analyse(kernel, NULL);
        if (!test_program(ctx, &program, found) || !is_judged_alike(kernel, found)) {
            dependence_print(&lines, found);
            fprintf(stderr, "%s%s\n", source.data, lines.data);
        }
    }
    text_free(&source);
    text_free(&lines);
    akg_diagnostics_free(diagnostics);
    arena_free(&arena);
}

int main(void)
{
    isl_ctx *ctx = isl_ctx_alloc();

    test_systems(ctx);
    for (int k = 0; k < KERNELS && check_failed < 10; k++)
        test_kernel(ctx);
    printf("%d kernels: %d direction vectors compared with isl, %d of them possible, %d unknown; %d "
           "distances\n",
           KERNELS, vectors, possible_vectors, unknown_vectors, distances);
    CHECK(unknown_vectors * 50 < vectors);
    CHECK(possible_vectors > vectors / 20 && distances > 100);
    isl_ctx_free(ctx);
    return check_done();
}

#endif

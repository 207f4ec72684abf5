/*
 * cuda_cross.c: see cuda_cross.h.
 */
#include "cuda_cross.h"

#include "cuda_access.h"
#include "pass.h"

enum {
    FEWEST = 16, /* iterations of each of the two loops */
    SMALL = 4,   /* bytes of all that an iteration brings */
    MANY = 256   /* large squares: about two for each processor of a large device */
};

struct finder {
    const struct cuda_chain *chain;
    const struct ir_stmt *body;
    int along, down; /* numbers of loops; -1: not found */
    struct cuda_crossing *crossing;
};

/* The last index goes by one along the loop, which no other index hangs on. */
static bool runs_along(const struct ir_access *access, const struct ir_symbol *symbol)
{
    struct pass_affine affine;
    int last = access->buffer->rank - 1;
    if (last < 1 || !pass_affine_of(access->indices[last], &affine) ||
        pass_affine_coefficient(&affine, symbol) != 1)
        return false;
    for (int axis = 0; axis < last; axis++)
        if (pass_mentions(access->indices[axis], symbol))
            return false;
    return true;
}

static int loop_along(const struct finder *finder, const struct ir_access *access)
{
    for (int k = 0; k < finder->chain->count; k++)
        if (runs_along(access, finder->chain->loops[k]->symbol))
            return k;
    return -1;
}

/* Another loop than the stores', which moves another index of the load. */
static void note_load(const struct ir_expr *load, void *context)
{
    struct finder *finder = context;
    struct cuda_crossing *crossing = finder->crossing;
    int loop = loop_along(finder, &load->access), last = load->access.buffer->rank - 1;
    bool crosses = false;
    for (int k = 0; k < crossing->count; k++)
        if (ir_expr_equal(crossing->loads[k], load))
            return;
    if (loop < 0 || loop == finder->along || (finder->down >= 0 && loop != finder->down) ||
        crossing->count == CUDA_CROSSED || cuda_uses_of(finder->body, load->access.buffer).stores ||
        !cuda_place_is_known_before(finder->body, &load->access))
        return;
    const struct ir_symbol *symbol = finder->chain->loops[finder->along]->symbol;
    for (int axis = 0; axis < last; axis++)
        crosses |= pass_mentions(load->access.indices[axis], symbol);
    if (!crosses || pass_mentions(load->access.indices[last], symbol))
        return;
    finder->down = loop;
    crossing->loads[crossing->count++] = load;
}

/* The loop that all stores run along. */
static bool find_along(struct finder *finder)
{
    finder->along = -1;
    for (const struct ir_stmt *stmt = finder->body; stmt; stmt = stmt->next) {
        int loop = stmt->kind == IR_STORE ? loop_along(finder, &stmt->access) : -1;
        if (stmt->kind == IR_STORE && (loop < 0 || (finder->along >= 0 && loop != finder->along)))
            return false;
        finder->along = loop >= 0 ? loop : finder->along;
    }
    return finder->along >= 0;
}

bool cuda_crossing_of(const struct cuda_chain *chain, struct cuda_crossing *crossing)
{
    struct finder finder = {.chain = chain, .body = cuda_chain_body(chain), .down = -1, .crossing = crossing};
    *crossing = (struct cuda_crossing){.count = 0};
    for (int k = 0; k < chain->count; k++)
        if (!cuda_is_of_call(chain->loops[k]->low) || !cuda_is_of_call(chain->loops[k]->high))
            return false;
    if (!cuda_body_is_plain(finder.body) || !find_along(&finder))
        return false;
    cuda_visit_loads(finder.body, note_load, &finder);
    if (finder.down < 0)
        return false;
    for (int k = 0; k < chain->count; k++) {
        struct cuda_chain *part = k == finder.along  ? &crossing->along
                                  : k == finder.down ? &crossing->down
                                                     : &crossing->outer;
        part->fastest = part->count;
        part->loops[part->count++] = chain->loops[k];
    }
    crossing->edge = CUDA_CROSS_EDGE;
    return true;
}

bool cuda_crossing_is_small(const struct cuda_crossing *crossing)
{
    int bytes = 0;
    for (int k = 0; k < crossing->count; k++)
        bytes += dtype_table[crossing->loads[k]->access.buffer->dtype].size;
    return bytes <= SMALL;
}

/* ---- which way to go --------------------------------------------------------------------------- */

static struct ir_expr *number(struct ir_kernel *kernel, int64_t value)
{
    return ir_integer(kernel, AKG_INT64, value);
}

/* Both loops have so many iterations. */
static struct ir_expr *are_long(struct ir_kernel *kernel, const struct cuda_crossing *crossing, int fewest)
{
    struct ir_expr *down = (struct ir_expr *)cuda_chain_work(kernel, &crossing->down);
    struct ir_expr *along = (struct ir_expr *)cuda_chain_work(kernel, &crossing->along);
    return ir_operation(kernel, OP_AND, ir_operation(kernel, OP_GE, down, number(kernel, fewest), NULL),
                        ir_operation(kernel, OP_GE, along, number(kernel, fewest), NULL), NULL);
}

static struct ir_expr *squares_of(struct ir_kernel *kernel, const struct cuda_crossing *crossing)
{
    const struct cuda_chain *sides[] = {&crossing->down, &crossing->along};
    struct ir_expr *squares = number(kernel, 1);
    for (int k = 0; k < 2; k++) {
        struct ir_expr *trips = (struct ir_expr *)cuda_chain_work(kernel, sides[k]);
        squares = ir_operation(kernel, OP_MUL, squares,
                               ir_operation(kernel, OP_CEIL_DIV, trips, number(kernel, crossing->edge), NULL),
                               NULL);
    }
    if (crossing->outer.count)
        squares = ir_operation(kernel, OP_MUL, squares,
                               (struct ir_expr *)cuda_chain_work(kernel, &crossing->outer), NULL);
    return squares;
}

const struct ir_expr *cuda_crossing_work(const struct cuda_plan *plan, const struct cuda_chain *chain,
                                         const struct cuda_crossing *crossing, bool crosses)
{
    struct ir_kernel *kernel = plan->kernel;
    int64_t many = plan->options->squares > 0 ? plan->options->squares : MANY;
    bool is_large = crossing->edge > CUDA_CROSS_EDGE;
    struct ir_expr *none = number(kernel, 0), *squares = squares_of(kernel, crossing);
    struct ir_expr *pays = are_long(kernel, crossing, is_large ? crossing->edge : FEWEST);
    if (!crosses)
        return ir_operation(kernel, OP_SELECT, pays, none, (struct ir_expr *)cuda_chain_work(kernel, chain));
    if (is_large)
        pays = ir_operation(kernel, OP_AND, pays,
                            ir_operation(kernel, OP_GE, squares, number(kernel, many), NULL), NULL);
    if (crossing->larger) {
        struct ir_expr *larger = (struct ir_expr *)cuda_crossing_work(plan, chain, crossing->larger, true);
        squares = ir_operation(kernel, OP_SELECT,
                               ir_operation(kernel, OP_GT, larger, number(kernel, 0), NULL), none, squares);
    }
    return ir_operation(kernel, OP_SELECT, pays, squares, none);
}

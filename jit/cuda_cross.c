/*
 * cuda_cross.c: see cuda_cross.h.
 */
#include "cuda_cross.h"

#include "cuda_access.h"
#include "pass.h"

enum {
    FEWEST = 16, /* iterations of each of the two loops */
    ROW = 256,   /* bytes of a row of a square, of all that is brought, as far as that can be */
    LARGEST = 4, /* times CUDA_CROSS_EDGE */
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

/* Of all that an iteration brings. */
static int bytes_of(const struct cuda_crossing *crossing)
{
    int bytes = 0;
    for (int k = 0; k < crossing->count; k++)
        bytes += dtype_table[crossing->loads[k]->access.buffer->dtype].size;
    return bytes;
}

int cuda_crossing_edge(const struct cuda_crossing *crossing)
{
    int edge = CUDA_CROSS_EDGE;
    while (edge < LARGEST * CUDA_CROSS_EDGE && 2 * edge * bytes_of(crossing) <= ROW)
        edge *= 2;
    return edge;
}

int cuda_crossing_down_edge(const struct cuda_crossing *crossing)
{
    bool is_narrow = crossing->edge == LARGEST * CUDA_CROSS_EDGE && crossing->edge * bytes_of(crossing) < ROW;
    return is_narrow ? 2 * crossing->edge : crossing->edge;
}

/* ---- in pieces --------------------------------------------------------------------------------- */

static bool hangs_not(struct ir_expr *expr, void *symbol)
{
    if (expr->kind != IR_SYMBOL)
        return true;
    if (expr->symbol->kind == IR_SYMBOL_LET && expr->symbol->value)
        return ir_expr_walk(expr->symbol->value, hangs_not, symbol);
    return expr->symbol != symbol;
}

/* LETs between the loops go into the loop where they hang on its variable, so that nothing in front of its
 * body does. */
static void take_side(const struct cuda_plan *plan, const struct cuda_chain *chain,
                      const struct ir_stmt *loop, struct cuda_cross_side *side)
{
    struct ir_stmt *first = NULL, **inside = &first, *outside = NULL, **end = &outside;
    for (int k = 0; k < chain->count - 1; k++)
        for (const struct ir_stmt *stmt = chain->loops[k]->body; stmt->kind == IR_LET; stmt = stmt->next) {
            struct ir_stmt *copy = arena_new(plan->arena, struct ir_stmt);
            *copy = *stmt;
            copy->next = NULL;
            if (ir_expr_walk(stmt->value, hangs_not, loop->symbol))
                end = &(*end = copy)->next;
            else
                inside = &(*inside = copy)->next;
        }
    *inside = (struct ir_stmt *)cuda_chain_body(chain);
    side->loop = *loop;
    side->loop.body = first;
    side->outside = outside;
    side->chain = (struct cuda_chain){.loops = {&side->loop}, .count = 1};
}

/* Pieces begin where the loop does. */
static bool begins_well(const struct cuda_quads *found)
{
    return (found->low + found->align) % found->length == 0;
}

/* In a piece of its own. */
static bool brings(const struct cuda_quads *found, const struct ir_expr *load)
{
    for (int k = 0; k < found->load_count; k++)
        if (ir_expr_equal(found->loads[k].load, load)) {
            const struct cuda_window *window = &found->windows[found->loads[k].window];
            return window->low == window->high && (window->low - found->align) % found->length == 0;
        }
    return false;
}

bool cuda_crossing_sides(const struct cuda_plan *plan, const struct cuda_step *step,
                         struct cuda_cross_side *brought, struct cuda_cross_side *left)
{
    const struct cuda_crossing *crossing = step->crossing;
    if (crossing->edge == CUDA_CROSS_EDGE) /* there are not enough of them for all threads */
        return false;
    take_side(plan, &step->chain, crossing->down.loops[0], brought);
    take_side(plan, &step->chain, crossing->along.loops[0], left);
    if (!cuda_quads_of(plan, step, &brought->chain, CUDA_PIECES_OF_FOUR, &brought->found) ||
        !cuda_quads_of(plan, step, &left->chain, CUDA_PIECES_OF_FOUR, &left->found) ||
        !begins_well(&brought->found) || !begins_well(&left->found))
        return false;
    for (int k = 0; k < crossing->count; k++)
        if (!brings(&brought->found, crossing->loads[k]))
            return false;
    return brought->found.load_count == crossing->count && brought->found.store_count == 0 &&
           left->found.store_count > 0;
}

/* ---- which way to go --------------------------------------------------------------------------- */

static struct ir_expr *number(struct ir_kernel *kernel, int64_t value)
{
    return ir_integer(kernel, AKG_INT64, value);
}

/* The loops have so many iterations. */
static struct ir_expr *are_long(struct ir_kernel *kernel, const struct cuda_crossing *crossing,
                                int fewest_down, int fewest_along)
{
    struct ir_expr *down = (struct ir_expr *)cuda_chain_work(kernel, &crossing->down);
    struct ir_expr *along = (struct ir_expr *)cuda_chain_work(kernel, &crossing->along);
    return ir_operation(kernel, OP_AND, ir_operation(kernel, OP_GE, down, number(kernel, fewest_down), NULL),
                        ir_operation(kernel, OP_GE, along, number(kernel, fewest_along), NULL), NULL);
}

static struct ir_expr *squares_of(struct ir_kernel *kernel, const struct cuda_crossing *crossing)
{
    const struct cuda_chain *sides[] = {&crossing->down, &crossing->along};
    const int edges[] = {cuda_crossing_down_edge(crossing), crossing->edge};
    struct ir_expr *squares = number(kernel, 1);
    for (int k = 0; k < 2; k++) {
        struct ir_expr *trips = (struct ir_expr *)cuda_chain_work(kernel, sides[k]);
        squares =
            ir_operation(kernel, OP_MUL, squares,
                         ir_operation(kernel, OP_CEIL_DIV, trips, number(kernel, edges[k]), NULL), NULL);
    }
    if (crossing->outer.count)
        squares = ir_operation(kernel, OP_MUL, squares,
                               (struct ir_expr *)cuda_chain_work(kernel, &crossing->outer), NULL);
    return squares;
}

/* Whether squares of that size are worth having. */
static struct ir_expr *pays(const struct cuda_plan *plan, const struct cuda_crossing *crossing)
{
    struct ir_kernel *kernel = plan->kernel;
    int64_t many = plan->options->squares > 0 ? plan->options->squares : MANY;
    if (crossing->edge == CUDA_CROSS_EDGE)
        return are_long(kernel, crossing, FEWEST, FEWEST);
    return ir_operation(
        kernel, OP_AND, are_long(kernel, crossing, cuda_crossing_down_edge(crossing), crossing->edge),
        ir_operation(kernel, OP_GE, squares_of(kernel, crossing), number(kernel, many), NULL), NULL);
}

const struct ir_expr *cuda_crossing_work(const struct cuda_plan *plan, const struct cuda_chain *chain,
                                         const struct cuda_crossing *crossing, bool crosses)
{
    struct ir_kernel *kernel = plan->kernel;
    struct ir_expr *work = crosses ? squares_of(kernel, crossing) : number(kernel, 0);
    struct ir_expr *otherwise =
        crosses ? number(kernel, 0) : (struct ir_expr *)cuda_chain_work(kernel, chain);
    work = ir_operation(kernel, OP_SELECT, pays(plan, crossing), work, otherwise);
    for (const struct cuda_crossing *larger = crossing->larger; crosses && larger; larger = larger->larger)
        work = ir_operation(kernel, OP_SELECT, pays(plan, larger), number(kernel, 0), work);
    return work;
}

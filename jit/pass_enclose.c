/*
 * pass_enclose.c: a small temporary moves into the innermost loop that uses it as if each iteration had one
 * of its own: `w = allocate((9,))` at the beginning of a kernel whose loops sort nine elements for each
 * result.
 *
 * Consumes temporaries of a few elements, with constant extents, that are allocated outside the only loop
 * that uses them. Each iteration must write what it reads before (analysis.h finds where it does not); then
 * what was there from the iteration before is nothing to it, its iterations are independent, and pass_scalars
 * and pass_unroll see that the elements live in one of them.
 */
#include "pass_enclose.h"
#include "analysis.h"

enum { MOST_TRIALS = 8, MOST_TEMPORARIES = 32, DEEPEST = 200 };

struct enclosure {
    struct pass *pass;
    int trials;      /* analyses that may still be made, */
    int temporaries; /* and walks for who uses one */
    bool changed;
};

static bool is_small(const struct ir_buffer *buffer)
{
    return buffer->rank > 0 && !buffer->clear && pass_few_elements(buffer) > 0;
}

/* ---- who uses it --------------------------------------------------------------------------------- */

/* The only statement of the block that uses it; NULL: there are several, or none. */
static struct ir_stmt *only_user(struct ir_stmt *block, struct ir_buffer *buffer)
{
    struct ir_stmt *found = NULL;

    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (!ir_stmt_accesses(stmt, buffer))
            continue;
        if (found)
            return NULL;
        found = stmt;
    }
    return found;
}

int enclose_find_loops(struct ir_stmt *block, struct ir_buffer *buffer, struct ir_stmt **loops)
{
    int count = 0;

    for (struct ir_stmt *user = only_user(block, buffer); user && count < ENCLOSE_LOOPS;) {
        if (user->kind != IR_FOR || ir_expr_loads_from(user->low, buffer) ||
            ir_expr_loads_from(user->high, buffer))
            break;
        loops[count++] = user;
        user = only_user(user->body, buffer);
    }
    return count;
}

/* ---- moving it ----------------------------------------------------------------------------------- */

bool enclose_writes_first(struct pass *pass, struct ir_stmt *loop, const struct ir_buffer *buffer)
{
    struct ir_kernel *kernel = pass->kernel;
    struct ir_stmt *body = kernel->body, *next = loop->next;
    struct arena *arena = kernel->arena;

    kernel->body = loop;
    kernel->arena = pass->arena; /* where the answer goes */
    loop->next = NULL;
    const struct analysis_gaps *gaps = analysis_initialisation_gaps(kernel);
    loop->next = next;
    kernel->arena = arena;
    kernel->body = body;
    for (int k = 0; k < gaps->loads.count; k++)
        if (gaps->loads.items[k]->access.buffer == buffer)
            return false;
    return true;
}

/* The allocation becomes the first statement of the innermost of the loops that may have it. */
static bool move(struct enclosure *enclosure, struct ir_stmt **place)
{
    struct ir_stmt *allocate = *place, *loops[ENCLOSE_LOOPS];
    struct ir_buffer *buffer = allocate->access.buffer;

    *place = allocate->next;
    for (int k = enclose_find_loops(*place, buffer, loops) - 1; k >= 0 && enclosure->trials > 0; k--) {
        struct ir_stmt *body = loops[k]->body;
        enclosure->trials--;
        allocate->next = body;
        loops[k]->body = allocate;
        if (enclose_writes_first(enclosure->pass, loops[k], buffer))
            return true;
        loops[k]->body = body;
    }
    allocate->next = *place;
    *place = allocate;
    return false;
}

static void enclose_block(struct enclosure *enclosure, struct ir_stmt **block, int depth)
{
    for (struct ir_stmt **place = block; *place && depth < DEEPEST;) {
        struct ir_stmt *stmt = *place;
        bool is_candidate = stmt->kind == IR_ALLOCATE && enclosure->temporaries > 0 &&
                            enclosure->trials > 0 && is_small(stmt->access.buffer);
        enclosure->temporaries -= is_candidate;
        if (is_candidate && move(enclosure, place)) {
            enclosure->changed = true;
            continue;
        }
        enclose_block(enclosure, &stmt->body, depth + 1);
        enclose_block(enclosure, &stmt->otherwise, depth + 1);
        place = &stmt->next;
    }
}

bool pass_enclose(struct pass *pass)
{
    struct enclosure enclosure = {.pass = pass, .trials = MOST_TRIALS, .temporaries = MOST_TEMPORARIES};

    enclose_block(&enclosure, &pass->kernel->body, 0);
    return enclosure.changed;
}

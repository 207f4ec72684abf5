/*
 * pass_own.c: a temporary of the whole kernel that loops use as if each iteration had one of its own becomes
 * theirs, where threads may share the loops then: rows that are filled and read again, one after the other.
 *
 * Consumes temporaries that are allocated outside of the loops that use them, of which there may be several,
 * also under conditions (passes before this one make copies of loops). Each iteration must write what it
 * reads before, as in pass_enclose.c, and depend on no other one when that is so. All uses must be in such
 * loops, for then no loop reads what another one left. The outermost loop of each nest that qualifies gets
 * the temporary. Comes late, since other passes leave alone what makes temporaries.
 */
#include "pass_enclose.h"
#include "split.h"

enum { MOST_USERS = 8, MOST_ANALYSES = 8, DEEPEST = 200 };

struct owning {
    struct pass *pass;
    struct ir_stmt *allocate;
    struct ir_stmt *users[MOST_USERS]; /* statements at the top of their blocks, all of them loops */
    int count;
    bool fits; /* there are no others */
};

/* ---- who uses it ------------------------------------------------------------------------------------ */

static void find_users(struct owning *owning, struct ir_stmt *block, int depth)
{
    struct ir_buffer *buffer = owning->allocate->access.buffer;

    for (struct ir_stmt *stmt = block; stmt && owning->fits; stmt = stmt->next) {
        if (!ir_stmt_accesses(stmt, buffer))
            continue;
        if (stmt->kind == IR_IF && depth < DEEPEST && !ir_expr_loads_from(stmt->value, buffer)) {
            find_users(owning, stmt->body, depth + 1);
            find_users(owning, stmt->otherwise, depth + 1);
            continue;
        }
        owning->fits = stmt->kind == IR_FOR && owning->count < MOST_USERS;
        if (owning->fits)
            owning->users[owning->count++] = stmt;
    }
}

/* ---- whose it may be --------------------------------------------------------------------------------- */

static bool may_be_shared(struct pass *pass, struct ir_stmt *loop, const struct ir_buffer *buffer)
{
    if (!enclose_writes_first(pass, loop, buffer))
        return false;
    const struct dependences *dependences = pass_dependences(pass, loop);
    return dependences && split_is_possible(dependences, loop) && split_is_closed(loop);
}

/* The outermost loop of those of the user that may have it, which has it then; NULL: none may. */
static struct ir_stmt *give(struct owning *owning, struct ir_stmt *user)
{
    struct ir_buffer *buffer = owning->allocate->access.buffer;
    struct ir_stmt *loops[ENCLOSE_LOOPS], *next = user->next;
    user->next = NULL;
    int count = enclose_find_loops(user, buffer, loops);
    user->next = next;
    for (int k = 0; k < count; k++) {
        struct ir_stmt *body = loops[k]->body,
                       *allocate = ir_stmt_new(owning->pass->kernel, IR_ALLOCATE, owning->allocate->span);
        allocate->access.buffer = buffer;
        allocate->next = body;
        loops[k]->body = allocate;
        if (may_be_shared(owning->pass, loops[k], buffer))
            return loops[k];
        loops[k]->body = body;
    }
    return NULL;
}

/* All of the users, or none of them, and no allocation where the first one stood. */
static bool give_away(struct owning *owning, struct ir_stmt **place)
{
    struct ir_stmt *owners[MOST_USERS];

    find_users(owning, owning->allocate->next, 0);
    for (int k = 0; k < owning->count; k++) /* what it reads another one has written */
        owning->fits &= ir_block_stores_to(owning->users[k]->body, owning->allocate->access.buffer);
    for (int k = 0; k < owning->count && owning->fits; k++) {
        owners[k] = give(owning, owning->users[k]);
        if (owners[k])
            continue;
        owning->fits = false;
        while (k-- > 0)
            owners[k]->body = owners[k]->body->next;
    }
    if (!owning->fits || owning->count == 0)
        return false;
    *place = owning->allocate->next;
    return true;
}

static bool own_in_block(struct pass *pass, struct ir_stmt **block, int depth)
{
    bool changed = false;

    for (struct ir_stmt **place = block; *place && depth < DEEPEST;) {
        struct ir_stmt *stmt = *place;
        struct owning owning = {.pass = pass, .allocate = stmt, .fits = true};
        if (stmt->kind == IR_ALLOCATE && stmt->access.buffer->rank > 0 && !stmt->access.buffer->clear &&
            give_away(&owning, place)) {
            changed = true;
            continue;
        }
        changed |= own_in_block(pass, &stmt->body, depth + 1);
        changed |= own_in_block(pass, &stmt->otherwise, depth + 1);
        place = &stmt->next;
    }
    return changed;
}

bool pass_own(struct pass *pass)
{
    int analyses = pass->analyses;

    pass->analyses = MOST_ANALYSES; /* its own: few kernels come to need any */
    bool changed = own_in_block(pass, &pass->kernel->body, 0);
    pass->analyses = analyses;
    return changed;
}

/*
 * pass_fuse.c: neighbouring loops over the same range become one loop, where no iteration of the second then
 * comes before an iteration of the first that it depends on. What stands between them and depends on neither
 * moves before or behind. The blocks inside are next, so that nests of loops become one nest.
 *
 * Legality is pass_fuse_legal.c's. It pays where both access a tensor in common; it does not where one of the
 * two uses elements again in each iteration, as a product of matrices does, and the other would come in the
 * way of blocking it: then the nests must become one nest all the way, or stay apart. Nor does it where one
 * works on rows and the other on columns: vectors of the one are those of its inner loop, of the other, of
 * the loops that would become one.
 */
#include "pass_fuse.h"

#include <string.h>

enum { BETWEEN = 16 }; /* statements between two loops, at most */

struct fuser {
    struct pass *pass;
    bool changed;
};

/* A loop, what follows it, and the next loop. */
struct pair {
    struct ir_stmt **place; /* of the first */
    struct ir_stmt *first, *second;
    struct ir_stmt *between[BETWEEN];
    bool sinks[BETWEEN]; /* goes behind the second, not before the first */
    int count;
    struct fuse_facts *facts[2];
    struct ir_stmt **joined, **seam; /* when joined: the loop's place; where the second's part begins */
    struct ir_symbol *symbol;        /* and what the first had before */
    struct span span;
    bool is_inside; /* of nests that must become one all the way */
};

static bool is_simple(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_LET || stmt->kind == IR_VARIABLE || stmt->kind == IR_STORE ||
           stmt->kind == IR_ALLOCATE || stmt->kind == IR_ASSIGN;
}

/* The next loop and the statements up to it. */
static bool find_pair(struct ir_stmt **place, struct pair *pair)
{
    struct ir_stmt *stmt = (*place)->next;

    *pair = (struct pair){.place = place, .first = *place};
    for (; stmt && is_simple(stmt) && pair->count < BETWEEN; stmt = stmt->next)
        pair->between[pair->count++] = stmt;
    pair->second = stmt;
    return stmt && stmt->kind == IR_FOR;
}

/* ---- what stands between ------------------------------------------------------------------------------ */

/* Whether statement number `at` can come before the first loop: it depends neither on that nor on what will
 * stand behind. */
static bool can_rise(const struct pair *pair, struct fuse_facts *const *between, int at)
{
    if (!fuse_independent(between[at], pair->facts[0]))
        return false;
    for (int k = 0; k < at; k++)
        if (pair->sinks[k] && !fuse_independent(between[at], between[k]))
            return false;
    return true;
}

static bool place_between(struct fuser *fuser, struct pair *pair)
{
    struct fuse_facts *between[BETWEEN];

    for (int k = 0; k < pair->count; k++) {
        between[k] = fuse_facts_of(fuser->pass, pair->between[k]);
        if (can_rise(pair, between, k))
            continue;
        if (!fuse_independent(between[k], pair->facts[1]))
            return false;
        pair->sinks[k] = true;
    }
    return true;
}

/* ---- the change
 * -------------------------------------------------------------------------------------------- */

static struct ir_stmt **end_of(struct ir_stmt **block)
{
    while (*block)
        block = &(*block)->next;
    return block;
}

/* Links the statements between that go to one side, behind *end; gives the new end. */
static struct ir_stmt **link_between(struct pair *pair, bool sinks, struct ir_stmt **end)
{
    for (int k = 0; k < pair->count; k++)
        if (pair->sinks[k] == sinks) {
            *end = pair->between[k];
            end = &pair->between[k]->next;
        }
    return end;
}

/* What rises, the one loop, and what sinks are put in the place of the first loop. The second keeps its part
 * of the body, so that it can be undone. */
static void join(struct pair *pair)
{
    struct ir_stmt *first = pair->first, *second = pair->second, **end;

    pair->symbol = first->symbol;
    pair->span = first->span;
    if (pair->facts[1]->may_stop) { /* messages name the variable of what stopped */
        pass_rename(first->body, first->symbol, second->symbol);
        first->symbol = second->symbol;
        first->span = second->span;
    }
    pass_rename(second->body, second->symbol, first->symbol);
    pair->seam = end_of(&first->body);
    *pair->seam = second->body;
    pair->joined = link_between(pair, false, pair->place);
    *pair->joined = first;
    end = link_between(pair, true, &first->next);
    *end = second->next;
}

static void separate(struct pair *pair)
{
    struct ir_stmt *first = pair->first, *second = pair->second, **end = &first->next;

    *pair->seam = NULL;
    if (first->symbol == second->symbol)
        pass_rename(first->body, first->symbol, pair->symbol);
    else
        pass_rename(second->body, first->symbol, second->symbol);
    first->symbol = pair->symbol;
    first->span = pair->span;
    *pair->place = first;
    for (int k = 0; k < pair->count; k++) {
        *end = pair->between[k];
        end = &pair->between[k]->next;
    }
    *end = second;
}

/* ---- whether it is legal, and pays ------------------------------------------------------------------------
 */

static bool has_loops(const struct ir_stmt *block)
{
    for (; block; block = block->next)
        if (block->kind == IR_FOR)
            return true;
    return false;
}

static struct ir_stmt **only_loop(struct ir_stmt **block)
{
    struct ir_stmt **found = NULL;

    for (; *block; block = &(*block)->next) {
        if ((*block)->kind == IR_FOR && found)
            return NULL;
        if ((*block)->kind == IR_FOR)
            found = block;
    }
    return found;
}

static bool try_pair(struct fuser *fuser, struct pair *pair, bool keep);

/* Whether the only loops of the two bodies, which are one block now, can be made one as well. */
static bool inner_fuse(struct fuser *fuser, struct ir_stmt **first, const struct ir_stmt *second)
{
    struct pair pair;

    if (!find_pair(first, &pair) || pair.second != second)
        return false;
    pair.is_inside = true;
    return try_pair(fuser, &pair, false);
}

/* Joins the two and, unless that is what is wanted and right, separates them again. */
static bool try_joined(struct fuser *fuser, struct pair *pair, bool ask, bool keep)
{
    bool reuses = pair->facts[0]->reuses || pair->facts[1]->reuses, good = true;
    struct ir_stmt **first = NULL, **second = NULL;

    reuses |= pair->is_inside && has_loops(pair->first->body) && has_loops(pair->second->body);
    if (reuses) {
        first = only_loop(&pair->first->body);
        second = only_loop(&pair->second->body);
        if (!first || !second)
            return false;
    }
    if (!ask && !reuses && !keep)
        return true;
    join(pair);
    if (ask)
        good = fuse_is_legal_exactly(fuser->pass, pair->first, pair->facts[0], pair->second->body,
                                     pair->facts[1]);
    if (good && reuses)
        good = inner_fuse(fuser, first, *second);
    if (!good || !keep)
        separate(pair);
    return good;
}

static bool crosses(const struct fuse_facts *a, const struct fuse_facts *b)
{
    return a->has_rows && !a->has_columns && b->has_columns && !b->has_rows;
}

static bool try_pair(struct fuser *fuser, struct pair *pair, bool keep)
{
    enum fuse_verdict verdict;

    if (!fuse_same_range(pair->first, pair->second))
        return false;
    if (!pair->facts[0])
        pair->facts[0] = fuse_facts_of(fuser->pass, pair->first);
    pair->facts[1] = fuse_facts_of(fuser->pass, pair->second);
    verdict = fuse_is_legal(pair->first, pair->facts[0], pair->second, pair->facts[1]);
    if (verdict == FUSE_NO || crosses(pair->facts[0], pair->facts[1]) ||
        crosses(pair->facts[1], pair->facts[0]) || !place_between(fuser, pair))
        return false;
    return try_joined(fuser, pair, verdict == FUSE_ASK, keep);
}

/* ---- the walk
 * ---------------------------------------------------------------------------------------------- */

static void fuse_block(struct fuser *fuser, struct ir_stmt **block);

/* Gives the place where the loop stands in the end. */
static struct ir_stmt **fuse_loop(struct fuser *fuser, struct ir_stmt **place)
{
    struct fuse_facts *facts = NULL;
    struct pair pair;

    while (find_pair(place, &pair)) {
        pair.facts[0] = facts;
        if (!try_pair(fuser, &pair, true))
            break;
        place = pair.joined;
        facts = pair.facts[0];
        fuse_facts_add(fuser->pass, facts, pair.facts[1]);
        fuser->changed = true;
    }
    fuse_block(fuser, &(*place)->body);
    return place;
}

static void fuse_block(struct fuser *fuser, struct ir_stmt **block)
{
    for (struct ir_stmt **place = block; *place; place = &(*place)->next) {
        struct ir_stmt *stmt = *place;
        if (stmt->kind == IR_FOR) {
            place = fuse_loop(fuser, place);
            continue;
        }
        for (; stmt->kind == IR_IF && stmt->otherwise && stmt->otherwise->kind == IR_IF &&
               !stmt->otherwise->next;
             stmt = stmt->otherwise)
            fuse_block(fuser, &stmt->body);
        fuse_block(fuser, &stmt->body);
        fuse_block(fuser, &stmt->otherwise);
    }
}

bool pass_fuse(struct pass *pass)
{
    struct fuser fuser = {.pass = pass};

    fuse_block(&fuser, &pass->kernel->body);
    return fuser.changed;
}

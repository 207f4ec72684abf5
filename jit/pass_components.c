/*
 * pass_components.c: what is accumulated for each of a few components (of points in space, of colours) is
 * written out, so that the components become scalars of the loop around them:
 *
 *     for i { for k in 0..2 { c[k] += p[i, k] } }   becomes   for i { c[0] += p[i, 0]; c[1] += p[i, 1] }
 *
 * Consumes a loop that holds loops of up to four iterations and none of more, in which nothing may stop and
 * from which nothing jumps. One of them accumulates into elements that stay the same in the loop around it;
 * what they load lies in rows of components (`p[i, k]`), or each component's in a row (`p[k, i]`). Vectors
 * along the components would be all but empty; along the loop around them whole groups are loaded
 * (vector_x86_groups.c). (Zen 4: the sums of 1,000 points 0.82 us, and so 0.14.) Where nothing is loaded for
 * a component, as of powers that are summed up, there may be eight. Likewise loops over components around a
 * sum, `for k in 0..3 { s = 0; for i { s += p[i, k] } }`: then all sums are one loop.
 *
 * Loops of up to 32 iterations that shift by their variable, and load nothing by it, are written out, too.
 */
#include "pass.h"

enum { COMPONENTS = 4, MANY = 8, STATEMENTS = 64 /* with all that is written out */, DEEPEST = 200 };

struct search {
    const struct ir_symbol *around, *component;
    bool in_rows; /* these alone lie well */
    bool accumulates, lies_apart, has_rows;
};

/* Whether rows of components lie one behind the other, or each component's elements do. */
static bool lies_well(const struct search *search, const struct ir_access *access)
{
    struct ir_expr *last = access->indices[access->buffer->rank - 1];
    bool in_rows = !pass_mentions(last, search->around);
    return in_rows ? pass_is_unit(access, search->component)
                   : !pass_mentions(last, search->component) && pass_is_unit(access, search->around);
}

static void look_at_access(struct search *search, const struct ir_access *access)
{
    if (access->buffer->rank && pass_access_mentions(access, search->around) &&
        pass_access_mentions(access, search->component)) {
        search->lies_apart |= !lies_well(search, access);
        search->has_rows = true;
    }
}

static bool look_at_load(struct ir_expr *expr, void *context)
{
    if (expr->kind == IR_LOAD)
        look_at_access(context, &expr->access);
    return true;
}

struct element {
    const struct ir_access *access;
    bool found;
};

static bool find_element(struct ir_expr *expr, void *context)
{
    struct element *element = context;
    element->found |= expr->kind == IR_LOAD && ir_access_equal(&expr->access, element->access);
    return true;
}

/* Whether the store adds to what is there, or replaces it by something made of it. */
static bool changes_element(struct ir_stmt *stmt)
{
    struct element element = {.access = &stmt->access};
    ir_expr_walk(stmt->value, find_element, &element);
    return element.found;
}

static bool look_at(struct ir_stmt *stmt, void *context)
{
    struct search *search = context;
    if (stmt->kind == IR_STORE) {
        look_at_access(search, &stmt->access);
        search->accumulates |= pass_access_mentions(&stmt->access, search->component) &&
                               !pass_access_mentions(&stmt->access, search->around) && changes_element(stmt);
    }
    return ir_stmt_expressions(stmt, look_at_load, search);
}

static bool is_of(const struct ir_stmt *loop, int most)
{
    return loop->step == 1 && !loop->hint && loop->low->kind == IR_INTEGER &&
           loop->high->kind == IR_INTEGER && loop->low->integer == 0 && loop->high->integer > 1 &&
           loop->high->integer <= most;
}

static bool is_few(const struct ir_stmt *loop)
{
    return is_of(loop, COMPONENTS);
}

/* Whether all loops in the block are of a few iterations, and one accumulates as above; *accumulates. */
static bool has_components(const struct ir_stmt *around, struct ir_stmt *block, bool *accumulates)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_WHILE || (stmt->kind == IR_FOR && !is_of(stmt, MANY)))
            return false;
        if (stmt->kind == IR_FOR) {
            struct search search = {.around = around->symbol, .component = stmt->symbol};
            ir_block_walk(stmt->body, look_at, &search);
            if (search.lies_apart || (search.has_rows && !is_few(stmt)))
                return false;
            *accumulates |= search.accumulates;
        }
        if (!has_components(around, stmt->body, accumulates) ||
            !has_components(around, stmt->otherwise, accumulates))
            return false;
    }
    return true;
}

static bool is_candidate(const struct ir_stmt *loop)
{
    bool accumulates = false;
    return loop->kind == IR_FOR && !is_few(loop) && has_components(loop, loop->body, &accumulates) &&
           accumulates && !pass_jumps_anywhere(loop->body) && !pass_block_may_stop(loop->body);
}

/* ---- bits --------------------------------------------------------------------------------------------- */

enum { BITS = 32, BIT_STATEMENTS = 160 };

struct bits {
    const struct ir_symbol *bit;
    bool shifts, accesses;
};

static bool look_for_shift(struct ir_expr *expr, void *context)
{
    struct bits *bits = context;
    bits->accesses |= expr->kind == IR_LOAD && pass_access_mentions(&expr->access, bits->bit);
    bits->shifts |= expr->kind == IR_OPERATION && (expr->operation == OP_SHL || expr->operation == OP_SHR) &&
                    pass_mentions(expr->operands[1], bits->bit);
    return true;
}

static bool is_no_store_nor_loop(struct ir_stmt *stmt, void *context)
{
    (void)context;
    return stmt->kind != IR_STORE && stmt->kind != IR_ALLOCATE && stmt->kind != IR_FOR &&
           stmt->kind != IR_WHILE;
}

/* `for b in range(16): r |= ((x >> b) & 1) << (2 * b)`: by how much is shifted is known then, and the loop
 * around becomes lanes. */
static bool goes_by_bits(struct ir_stmt *loop)
{
    struct bits bits = {.bit = loop->symbol};
    if (!is_of(loop, BITS) || !ir_block_walk(loop->body, is_no_store_nor_loop, NULL))
        return false;
    ir_block_expressions(loop->body, look_for_shift, &bits);
    return bits.shifts && !bits.accesses;
}

/* Whether all loops in it are such. */
static bool is_around_bits(const struct ir_stmt *loop)
{
    bool any = false;
    for (struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_WHILE || (stmt->kind == IR_FOR && !goes_by_bits(stmt)) ||
            (stmt->kind == IR_IF && (pass_has_for(stmt->body) || pass_has_for(stmt->otherwise))))
            return false;
        any |= stmt->kind == IR_FOR;
    }
    return any && !is_few(loop) && !pass_jumps_anywhere(loop->body) && !pass_block_may_stop(loop->body);
}

/* ---- components outside ----------------------------------------------------------------------------- */

/* The innermost of long loops that are each all the one around it holds, where that only accumulates into
 * scalars; NULL. */
static struct ir_stmt *find_sum(struct ir_stmt *loop)
{
    while (loop->body && loop->body->kind == IR_FOR && !loop->body->next && !is_few(loop->body))
        loop = loop->body;
    for (const struct ir_stmt *stmt = loop->body; stmt; stmt = stmt->next)
        if (stmt->kind != IR_ASSIGN && stmt->kind != IR_LET)
            return NULL;
    return loop;
}

/* Whether what the sum loads of a component lies in rows of them, and there is some. */
static bool loads_rows(struct ir_stmt *sum, const struct ir_symbol *component)
{
    struct search search = {.around = sum->symbol, .component = component, .in_rows = true};
    ir_block_walk(sum->body, look_at, &search);
    return !search.lies_apart && search.has_rows;
}

/* Loops over components, which hold one that accumulates, and what is done with the results: written out,
 * the sums of all are one loop (pass_fuse.c). */
static bool is_around_sum(struct ir_stmt *loop)
{
    const struct ir_symbol *components[COMPONENTS];
    struct ir_stmt *sum = NULL;
    int count = 0;
    for (; loop && loop->kind == IR_FOR && is_few(loop) && count < COMPONENTS; loop = loop->body) {
        if (count && loop->next)
            return false;
        components[count++] = loop->symbol;
    }
    for (struct ir_stmt *stmt = loop; stmt; stmt = stmt->next) {
        if (stmt->kind == IR_WHILE || stmt->kind == IR_IF || (stmt->kind == IR_FOR && sum))
            return false;
        sum = stmt->kind == IR_FOR ? find_sum(stmt) : sum;
        if (stmt->kind == IR_FOR && !sum)
            return false;
    }
    for (int k = 0; sum && k < count; k++)
        if (!loads_rows(sum, components[k]))
            return false;
    return sum && count && !pass_jumps_anywhere(loop) && !pass_block_may_stop(loop);
}

static bool is_within(struct ir_stmt *stmt, void *left)
{
    (void)stmt;
    return --*(int64_t *)left >= 0;
}

static bool is_small(struct ir_stmt *loop)
{
    int64_t left = STATEMENTS / loop->high->integer;
    return ir_block_walk(loop->body, is_within, &left);
}

/* ---- the walk --------------------------------------------------------------------------------------- */

static bool visit_block(struct pass *pass, struct ir_stmt **block, int depth)
{
    bool changed = false;
    if (depth > DEEPEST)
        return false;
    for (struct ir_stmt **place = block; *place;) {
        struct ir_stmt *stmt = *place;
        bool is_outside = stmt->kind == IR_FOR && is_few(stmt) && !pass_allocates(stmt) && is_small(stmt) &&
                          is_around_sum(stmt);
        if (is_outside && pass_write_out_loop(pass, place)) {
            changed = true; /* and the copies are looked at, which may hold another such loop */
            continue;
        }
        if ((is_candidate(stmt) && pass_write_out(pass, &stmt->body, MANY, STATEMENTS)) ||
            (stmt->kind == IR_FOR && is_around_bits(stmt) &&
             pass_write_out(pass, &stmt->body, BITS, BIT_STATEMENTS))) {
            changed = true;
        } else {
            changed |= visit_block(pass, &stmt->body, depth + 1);
            changed |= visit_block(pass, &stmt->otherwise, depth + 1);
        }
        place = &stmt->next;
    }
    return changed;
}

bool pass_components(struct pass *pass)
{
    return visit_block(pass, &pass->kernel->body, 0);
}

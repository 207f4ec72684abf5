/*
 * pass_lanes.c: elements that lie apart are put side by side before and behind a loop whose iterations become
 * lanes of vectors by that: the state of many systems, say, each a row of three, that is followed for a
 * while.
 *
 *     for i: x = s[i, 0], y = s[i, 1], for t: (x, y = ...), s[i, 0] = x, s[i, 1] = y          becomes
 *     for blocks of i:
 *         for i: a[i] = s[i, 0], b[i] = s[i, 1]
 *         for i: x = a[i], y = b[i], for t: (x, y = ...), c[i] = x, d[i] = y
 *         for i: s[i, 0] = c[i], s[i, 1] = d[i]
 *
 * Consumes loops whose iterations are independent and cannot stop, with one loop inside, which stores nothing
 * that lies apart, but for what pass_lanes_along.c brings of rows. What is put side by side is there in any
 * case: it is loaded so in front of the loop inside, or the bounds of the loop say so, or it is stored in any
 * case behind it. All is tried on a copy, which takes the loop's place only where that is a nest of vectors
 * then, and was none before; few iterations stay as they are.
 */
#include "pass_lanes.h"

/* With fewer iterations than FEW lanes are idle; rows of more than LONG elements would not stay in a cache
 * (of 16,000 they save three quarters of the time, of 60,000 nothing). */
enum { FEW = 16, STATEMENTS = 100, LONG = 20000 };

static const struct vector_options usual_options = {.target = X86_TARGET_AVX512};

/* ---- what lies apart ------------------------------------------------------------------------------ */

bool lanes_lie_apart(const struct lanes *lanes, const struct ir_access *access)
{
    const struct ir_symbol *variable = lanes->made->symbol;
    bool moves = false;

    for (int axis = 0; axis < access->buffer->rank; axis++) {
        struct pass_affine affine;
        if (!pass_affine_of(access->indices[axis], &affine))
            return false;
        moves |= pass_affine_coefficient(&affine, variable) != 0;
    }
    return moves && !pass_is_unit(access, variable);
}

static struct lanes_moved *find_moved(struct lanes *lanes, const struct ir_access *access, bool is_stored)
{
    for (int k = 0; k < lanes->count; k++)
        if (lanes->moved[k].is_stored == is_stored && !lanes->moved[k].is_first &&
            !lanes->moved[k].is_along && lanes->moved[k].access.buffer == access->buffer &&
            pass_compare(&lanes->moved[k].access, access) == PASS_SAME)
            return &lanes->moved[k];
    return NULL;
}

bool lanes_is_from_outside(struct ir_expr *expr, void *context)
{
    const struct lanes *lanes = context;
    return expr->kind != IR_SYMBOL || !ir_block_declares(lanes->made->body, expr->symbol);
}

/* Whether the access can stand beside the loop, and no other store that is brought back with it may be to the
 * same element. */
static bool can_be_moved(struct lanes *lanes, const struct lanes_moved *wanted)
{
    const struct ir_access *access = &wanted->access;

    for (int axis = 0; axis < access->buffer->rank; axis++)
        if (!ir_expr_walk(access->indices[axis], lanes_is_from_outside, lanes))
            return false;
    for (int k = 0; wanted->is_stored && k < lanes->count; k++) {
        const struct lanes_moved *other = &lanes->moved[k];
        if (other->is_stored && !other->is_along && other->is_first == wanted->is_first &&
            other->access.buffer == access->buffer && pass_compare(&other->access, access) != PASS_DISTINCT)
            return false;
    }
    return true;
}

struct lanes_moved *lanes_add(struct lanes *lanes, const struct lanes_moved *wanted)
{
    struct ir_kernel *kernel = lanes->pass->kernel;
    struct lanes_moved *moved = &lanes->moved[lanes->count];
    const struct ir_buffer *from = wanted->access.buffer;
    int rank = wanted->is_along ? 2 : 1;

    if (lanes->count == LANES_MOVED || (!wanted->is_along && !can_be_moved(lanes, wanted))) {
        lanes->too_many = true;
        return NULL;
    }
    lanes->count++;
    *moved = *wanted;
    moved->buffer = ir_buffer_new(kernel, from->name, IR_TEMPORARY, from->dtype, rank);
    moved->buffer->span = lanes->columns->span;
    if (wanted->is_along)
        moved->buffer->shape[0] = lanes_length(lanes);
    moved->buffer->shape[rank - 1] =
        ir_integer(kernel, AKG_INT64, lanes->block + (wanted->is_along ? LANES_PADDING : 0));
    return moved;
}

static void add_load(struct lanes *lanes, const struct ir_access *access)
{
    if (!find_moved(lanes, access, false))
        lanes_add(lanes, &(struct lanes_moved){.access = *access});
}

void lanes_note_loads(struct lanes *lanes, const struct ir_expr *expr, lanes_note *note)
{
    if (expr->kind == IR_LOAD)
        note(lanes, &expr->access);
    if (expr->kind != IR_OPERATION)
        return;
    bool chooses = expr->operation == OP_SELECT || expr->operation == OP_AND || expr->operation == OP_OR;
    for (int k = 0; k < (chooses ? 1 : operation_table[expr->operation].arity); k++)
        lanes_note_loads(lanes, expr->operands[k], note);
}

static void note_apart(struct lanes *lanes, const struct ir_access *access)
{
    if (lanes_lie_apart(lanes, access))
        add_load(lanes, access);
}

bool lanes_is_inside(const struct lanes *lanes, const struct ir_expr *index, const struct ir_expr *extent)
{
    const struct ir_stmt *columns = lanes->columns;

    if (index->kind == IR_INTEGER)
        return extent->kind == IR_INTEGER && index->integer >= 0 && index->integer < extent->integer;
    return index->kind == IR_SYMBOL && index->symbol == lanes->made->symbol &&
           columns->low->kind == IR_INTEGER && columns->low->integer >= 0 &&
           ir_expr_equal(columns->high, extent);
}

static bool is_there(const struct lanes *lanes, const struct ir_access *access)
{
    bool inside = true;

    for (int axis = 0; axis < access->buffer->rank; axis++)
        inside &= lanes_is_inside(lanes, access->indices[axis], access->buffer->shape[axis]);
    return inside;
}

static bool note_inner_load(struct ir_expr *expr, void *context)
{
    struct lanes *lanes = context;

    if (expr->kind == IR_LOAD && lanes_lie_apart(lanes, &expr->access) && is_there(lanes, &expr->access) &&
        !(lanes->goes_along && lanes_is_along(lanes, &expr->access)))
        add_load(lanes, &expr->access);
    return true;
}

/* ---- the body --------------------------------------------------------------------------------------- */

static bool is_loop(const struct ir_stmt *stmt)
{
    return stmt->kind == IR_FOR || stmt->kind == IR_WHILE;
}

static bool is_small(struct ir_stmt *stmt, void *count)
{
    return stmt->kind != IR_ALLOCATE && stmt->kind != IR_ASSERT && ++*(int *)count <= STATEMENTS;
}

/* One loop, which holds none, and what is before and behind it. */
static bool has_shape(const struct ir_stmt *columns)
{
    int loops = 0, count = 0;

    for (const struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next) {
        loops += is_loop(stmt);
        if (pass_has_for(stmt->body) || pass_has_for(stmt->otherwise))
            return false;
    }
    return loops == 1 && columns->step == 1 && !columns->hint && !columns->independent &&
           pass_is_of_call(columns->low) && pass_is_of_call(columns->high) &&
           !(columns->low->kind == IR_INTEGER && columns->high->kind == IR_INTEGER &&
             columns->high->integer - columns->low->integer < FEW) &&
           ir_block_walk(columns->body, is_small, &count) && !pass_jumps(columns->body) &&
           !pass_block_may_stop(columns->body);
}

/* Whether nothing but stores right behind the loop changes the buffer. */
static bool only_changes_at_end(const struct lanes *lanes, const struct ir_buffer *buffer)
{
    bool is_behind = false;

    for (struct ir_stmt *stmt = lanes->made->body; stmt; stmt = stmt->next) {
        bool is_at_end = is_behind && stmt->kind == IR_STORE && lanes_lie_apart(lanes, &stmt->access);
        struct ir_stmt *next = stmt->next;
        stmt->next = NULL;
        bool stores = ir_block_stores_to(stmt, buffer);
        stmt->next = next;
        if (stores && !is_at_end)
            return false;
        is_behind |= stmt == lanes->loop;
    }
    return true;
}

/* Elements that the statement is to find side by side. */
static struct ir_symbol *symbol_of(const struct ir_access *access, void *context)
{
    struct lanes_moved *moved = find_moved(context, access, false);

    return moved ? moved->symbol : NULL;
}

static struct ir_expr *distance_to(struct lanes *lanes, struct ir_symbol *variable, struct ir_expr *first)
{
    return ir_operation(lanes->pass->kernel, OP_SUB, ir_symbol_use(lanes->pass->kernel, variable), first,
                        NULL);
}

struct ir_access lanes_beside(struct lanes *lanes, const struct lanes_moved *moved, int64_t distance)
{
    struct ir_kernel *kernel = lanes->pass->kernel;
    struct ir_access access = {.buffer = moved->buffer,
                               .indices = arena_array(kernel->arena, struct ir_expr *, 2),
                               .checks = arena_array(kernel->arena, enum ir_check, 2)};
    int last = moved->is_along ? 1 : 0;

    if (moved->is_along)
        access.indices[0] =
            ir_operation(kernel, OP_ADD, distance_to(lanes, lanes->loop->symbol, lanes_least(lanes)),
                         ir_integer(kernel, AKG_INT64, distance), NULL);
    access.indices[last] = distance_to(lanes, lanes->made->symbol, ir_symbol_use(kernel, lanes->first));
    access.checks[0] = access.checks[last] = IR_CHECK_PROVED;
    return access;
}

static struct ir_expr *load_of(struct lanes *lanes, const struct ir_access *access)
{
    return pass_load(lanes->pass, access, lanes->columns->span);
}

static bool replace_loads(struct ir_stmt *stmt, void *context)
{
    struct lanes *lanes = context;
    struct pass_replacement replacement = {lanes->moved[lanes->replaced].access.buffer, symbol_of, lanes};

    pass_replace_loads(lanes->pass, stmt, &replacement);
    return true;
}

/* What is loaded in front of the loop inside and, where nothing changes it, in it and behind it, becomes
 * scalars out of temporaries. */
static void move_loads(struct lanes *lanes)
{
    struct ir_stmt **place = &lanes->made->body, *behind = lanes->loop->next;

    for (struct ir_stmt *stmt = lanes->made->body; stmt != lanes->loop; stmt = stmt->next)
        if (stmt->value)
            lanes_note_loads(lanes, stmt->value, note_apart);
    ir_block_expressions(lanes->made->body, note_inner_load, lanes);
    for (int k = 0; k < lanes->count && !lanes->too_many; k++) {
        struct lanes_moved *moved = &lanes->moved[k];
        if (moved->is_along)
            continue;
        struct ir_buffer *buffer = moved->access.buffer;
        bool is_stored = ir_block_stores_to(lanes->made->body, buffer);
        struct ir_access access = lanes_beside(lanes, moved, 0);
        struct ir_stmt *let = pass_declare(lanes->pass, IR_SYMBOL_LET, buffer->name, load_of(lanes, &access),
                                           lanes->columns->span);
        moved->symbol = let->symbol;
        lanes->too_many |= !only_changes_at_end(lanes, buffer);
        lanes->replaced = k;
        lanes->loop->next = is_stored ? NULL : behind;
        ir_block_walk(*place, replace_loads, lanes);
        lanes->loop->next = behind;
        let->next = *place;
        *place = let;
        place = &let->next;
    }
}

/* Whether all that is stored to the buffer is moved, and what is loaded from then on is of others: what has
 * been brought before, too, was to be loaded then. */
static bool is_only_moved(const struct lanes *lanes, const struct lanes_moved *moved)
{
    struct ir_buffer *buffer = moved->access.buffer;
    struct ir_stmt *from = moved->is_first || moved->is_along ? lanes->made->body : lanes->loop;

    for (int k = 0; k < lanes->count && moved->is_first; k++)
        if (!lanes->moved[k].is_stored && lanes->moved[k].access.buffer == buffer)
            return false;

    return !ir_block_stores_to(lanes->made->body, buffer) && !ir_block_loads_from(from, buffer);
}

/* What is stored behind it goes to temporaries, and where elements are moved along it what is stored in front
 * of it, too. */
static void move_stores(struct lanes *lanes)
{
    bool is_first = true;

    for (struct ir_stmt *stmt = lanes->made->body; stmt && !lanes->too_many; stmt = stmt->next) {
        is_first &= stmt != lanes->loop;
        if (stmt->kind != IR_STORE || !lanes_lie_apart(lanes, &stmt->access) ||
            (is_first && !lanes->goes_along))
            continue;
        struct lanes_moved *moved = is_first ? NULL : find_moved(lanes, &stmt->access, true);
        if (!moved)
            moved = lanes_add(lanes, &(struct lanes_moved){
                                         .access = stmt->access, .is_stored = true, .is_first = is_first});
        if (moved)
            stmt->access = lanes_beside(lanes, moved, 0);
    }
    for (int k = 0; k < lanes->count && !lanes->too_many; k++) {
        const struct lanes_moved *moved = &lanes->moved[k];
        lanes->too_many = (moved->is_stored && !is_only_moved(lanes, moved)) ||
                          (moved->is_along && ir_block_stores_to(lanes->made->body, moved->access.buffer));
    }
}

/* ---- the loops around --------------------------------------------------------------------------------- */

struct ir_stmt *lanes_bring(struct lanes *lanes, const struct lanes_moved *moved)
{
    struct ir_stmt *store = ir_stmt_new(lanes->pass->kernel, IR_STORE, lanes->columns->span);
    struct ir_access near = lanes_beside(lanes, moved, 0), far = moved->access;

    /* the indices of `far` are those of a store that is no more, or of a load, which are copied */
    store->access = moved->is_stored ? far : near;
    pass_set_value(store, load_of(lanes, moved->is_stored ? &near : &far));
    return store;
}

/* The loop that brings elements to their temporaries, or back; NULL: there are none. */
static struct ir_stmt *move_all(struct lanes *lanes, bool is_stored, bool is_first)
{
    struct ir_stmt *body = NULL, **end = &body;

    for (int k = 0; k < lanes->count; k++) {
        const struct lanes_moved *moved = &lanes->moved[k];
        if (moved->is_stored != is_stored || moved->is_first != is_first || moved->is_along)
            continue;
        *end = lanes_bring(lanes, moved);
        end = &(*end)->next;
    }
    struct ir_stmt *loop = body ? pass_new_loop(lanes->pass, lanes->made, body) : NULL;
    if (loop)
        loop->independent = true;
    return loop;
}

/* for block: let first, let end: what is to be done between these. */
static struct ir_stmt *make_blocks(struct lanes *lanes)
{
    struct pass *pass = lanes->pass;
    const struct ir_stmt *columns = lanes->columns;
    struct ir_stmt *blocks = ir_stmt_new(pass->kernel, IR_FOR, columns->span);
    struct ir_expr *distance =
        pass_apply(lanes->pass, OP_SUB, pass_copy(pass, columns->high), pass_copy(pass, columns->low));

    blocks->symbol = ir_symbol_new(pass->kernel, IR_SYMBOL_LOOP, "block", AKG_INT64);
    blocks->symbol->span = columns->span;
    blocks->low = pass_number(pass, 0);
    blocks->high = pass_apply(lanes->pass, OP_FLOORDIV,
                              pass_apply(lanes->pass, OP_ADD, distance, pass_number(pass, lanes->block - 1)),
                              pass_number(pass, lanes->block));
    blocks->step = 1;
    blocks->independent = true;
    struct ir_expr *start =
        pass_apply(lanes->pass, OP_ADD, pass_copy(pass, columns->low),
                   pass_apply(lanes->pass, OP_MUL, ir_symbol_use(pass->kernel, blocks->symbol),
                              pass_number(pass, lanes->block)));
    struct ir_stmt *first = pass_declare(pass, IR_SYMBOL_LET, "first", start, columns->span);
    struct ir_expr *end =
        pass_apply(lanes->pass, OP_MIN, pass_copy(pass, columns->high),
                   pass_apply(lanes->pass, OP_ADD, ir_symbol_use(pass->kernel, first->symbol),
                              pass_number(pass, lanes->block)));
    struct ir_stmt *last = pass_declare(pass, IR_SYMBOL_LET, "end", end, columns->span);
    blocks->body = first;
    first->next = last;
    lanes->first = first->symbol;
    lanes->made->low = ir_symbol_use(pass->kernel, first->symbol);
    lanes->made->high = ir_symbol_use(pass->kernel, last->symbol);
    return blocks;
}

static struct ir_stmt **end_of(struct ir_stmt **block)
{
    while (*block)
        block = &(*block)->next;
    return block;
}

static void fill_blocks(struct lanes *lanes, struct ir_stmt *blocks)
{
    struct ir_stmt **end = end_of(&blocks->body);

    for (int k = 0; k < lanes->count; k++, end = &(*end)->next) {
        *end = ir_stmt_new(lanes->pass->kernel, IR_ALLOCATE, lanes->columns->span);
        (*end)->access.buffer = lanes->moved[k].buffer;
    }
    *end = move_all(lanes, false, false);
    end = end_of(end);
    *end = lanes->brought[false];
    end = end_of(end);
    *end = lanes->made;
    end = &lanes->made->next;
    *end = move_all(lanes, true, true); /* in the order of the program */
    end = end_of(end);
    *end = lanes->brought[true];
    end = end_of(end);
    *end = move_all(lanes, true, false);
}

/* ---- loops ----------------------------------------------------------------------------------------------
 */

static bool is_nest(struct pass *pass, const struct ir_stmt *columns)
{
    struct vector_nest nest;

    return vector_nest_shape(columns, VECTOR_COLUMNS, &nest) &&
           vector_nest_build(pass->arena, &nest, &usual_options);
}

static bool becomes_nest(struct pass *pass, struct ir_stmt *columns)
{
    return is_nest(pass, columns) || pass_repeat_inside(pass, columns);
}

/* The blocks in the place of the loop, or beside it where it may have few iterations, or long rows. */
static struct ir_stmt *choose(struct lanes *lanes, struct ir_stmt *blocks)
{
    struct pass *pass = lanes->pass;
    struct ir_stmt *columns = lanes->columns, *choice;
    struct ir_expr *distance =
        pass_apply(lanes->pass, OP_SUB, pass_copy(pass, columns->high), pass_copy(pass, columns->low));
    struct ir_expr *length = lanes->goes_along ? lanes_length(lanes) : NULL;
    struct ir_expr *many = distance->kind == IR_INTEGER
                               ? NULL
                               : pass_apply(lanes->pass, OP_GE, distance, pass_number(pass, FEW));

    if (length && length->kind != IR_INTEGER) {
        struct ir_expr *fits = pass_apply(lanes->pass, OP_LE, length, pass_number(pass, LONG));
        many = many ? pass_apply(lanes->pass, OP_AND, many, fits) : fits;
    }
    if (!many)
        return blocks;
    choice = ir_stmt_new(pass->kernel, IR_IF, columns->span);
    pass_set_value(choice, many);
    choice->deferred = true;
    choice->body = blocks;
    choice->otherwise = columns;
    return choice;
}

static bool lies_nowhere_apart(struct ir_expr *expr, void *lanes)
{
    return expr->kind != IR_LOAD || !lanes_lie_apart(lanes, &expr->access);
}

static bool stores_nothing_apart(struct ir_stmt *stmt, void *lanes)
{
    return stmt->kind != IR_STORE || !lanes_lie_apart(lanes, &stmt->access);
}

static bool may_be_moved(struct ir_expr *expr, void *context)
{
    struct lanes *lanes = context;
    return lies_nowhere_apart(expr, lanes) || is_there(lanes, &expr->access) ||
           (lanes->goes_along && lanes_is_along(lanes, &expr->access));
}

static bool may_be_stored(struct ir_stmt *stmt, void *context)
{
    struct lanes *lanes = context;
    return stores_nothing_apart(stmt, lanes) || (lanes->goes_along && lanes_is_along(lanes, &stmt->access));
}

/* Whether what the loop inside accesses may stay or be moved. */
static bool fits(struct lanes *lanes)
{
    struct ir_stmt *loop = lanes->loop, *next = loop->next;

    loop->next = NULL;
    bool fits = ir_block_expressions(loop, may_be_moved, lanes) && ir_block_walk(loop, may_be_stored, lanes);
    loop->next = next;
    return fits;
}

/* Whether anything is to be moved, and what the loop inside accesses may stay or be moved, too. */
static bool is_candidate(struct lanes *lanes)
{
    struct ir_stmt *columns = lanes->columns;
    bool is_apart = false;

    if (!has_shape(columns))
        return false;
    lanes->made = columns;
    for (struct ir_stmt *stmt = columns->body; stmt; stmt = stmt->next) {
        struct ir_stmt *next = stmt->next;
        stmt->next = NULL;
        is_apart |= !ir_block_expressions(stmt, lies_nowhere_apart, lanes) ||
                    !ir_block_walk(stmt, stores_nothing_apart, lanes);
        stmt->next = next;
        lanes->loop = is_loop(stmt) ? stmt : lanes->loop;
    }
    if (!is_apart || is_nest(lanes->pass, columns))
        return false;
    if (fits(lanes))
        return true;
    lanes->goes_along = true;
    lanes->block = lanes->block < LANES_ALONG ? lanes->block : LANES_ALONG;
    return fits(lanes) && lanes_wait(lanes);
}

static bool make_lanes(struct pass *pass, struct ir_stmt **place)
{
    struct lanes *lanes = arena_new(pass->arena, struct lanes);
    struct ir_stmt *columns = *place, *next = columns->next;
    int buffers = pass->kernel->buffers.count;

    lanes->pass = pass;
    lanes->block =
        pass->tiles && pass->tiles->block ? pass->tiles->block : pass_usual_tiles(pass->target)->block;
    lanes->columns = columns;
    if (!is_candidate(lanes))
        return false;
    lanes->made = pass_new_loop(pass, columns, pass_copy_block(pass, columns->body));
    struct ir_stmt *blocks = make_blocks(lanes);
    for (lanes->loop = lanes->made->body; !is_loop(lanes->loop);)
        lanes->loop = lanes->loop->next;
    move_loads(lanes);
    if (lanes->goes_along)
        lanes_move_along(lanes);
    move_stores(lanes);
    for (int is_stored = 0; is_stored < 2 && lanes->goes_along; is_stored++)
        lanes->brought[is_stored] = lanes_bring_along(lanes, is_stored);
    if (lanes->goes_along)
        lanes_turn_upwards(lanes);
    if (lanes->too_many || !becomes_nest(pass, lanes->made) || !pass_is_parallel(pass, columns)) {
        pass->kernel->buffers.count = buffers; /* nothing is left that knows the others */
        return false;
    }
    lanes->made->independent = true;
    columns->next = NULL;
    fill_blocks(lanes, blocks);
    *place = choose(lanes, blocks);
    (*place)->next = next;
    return true;
}

static bool visit_block(struct pass *pass, struct ir_stmt **block, int depth)
{
    enum { DEEPEST = 100 };
    bool changed = false;

    for (struct ir_stmt **place = block; *place && depth < DEEPEST; place = &(*place)->next) {
        if ((*place)->kind == IR_FOR && make_lanes(pass, place)) {
            changed = true;
            continue;
        }
        changed |= visit_block(pass, &(*place)->body, depth + 1);
        changed |= visit_block(pass, &(*place)->otherwise, depth + 1);
    }
    return changed;
}

bool pass_lanes(struct pass *pass)
{
    return pass->target != X86_TARGET_NONE && visit_block(pass, &pass->kernel->body, 0);
}

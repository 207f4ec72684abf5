/*
 * cuda_row.c: see cuda_row.h.
 */
#include "cuda_row.h"

#include "cuda_access.h"
#include "pass.h"

/* ---- the same iterations --------------------------------------------------------------- */

static bool is_no_variable(struct ir_expr *expr, void *context)
{
    (void)context;
    return expr->kind != IR_LOAD && (expr->kind != IR_SYMBOL || expr->symbol->kind != IR_SYMBOL_VARIABLE);
}

static bool stays(const struct ir_expr *bound)
{
    return ir_expr_walk((struct ir_expr *)bound, is_no_variable, NULL);
}

/* A loop whose iterations can be done one after the other by what is known of them, and by nothing else. */
static bool fits(const struct cuda_plan *plan, const struct ir_stmt *stmt, struct cuda_chain *chain)
{
    enum cuda_share share = stmt->kind == IR_FOR ? cuda_share_of(plan, stmt) : CUDA_SHARE_NONE;
    if (share != CUDA_SHARE_ANY && share != CUDA_SHARE_SUMS)
        return false;
    cuda_chain_of(plan, stmt, share, chain);
    for (int k = 0; k < chain->count; k++)
        if (!stays(chain->loops[k]->low) || !stays(chain->loops[k]->high))
            return false;
    return cuda_body_is_plain(cuda_chain_body(chain));
}

static bool is_alike(const struct cuda_chain *a, const struct cuda_chain *b)
{
    bool same = a->count == b->count && a->fastest == b->fastest;
    for (int k = 0; k < a->count && same; k++)
        same = a->loops[k]->step == b->loops[k]->step && ir_expr_equal(a->loops[k]->low, b->loops[k]->low) &&
               ir_expr_equal(a->loops[k]->high, b->loops[k]->high);
    return same;
}

static void find_loops(const struct cuda_plan *plan, const struct ir_stmt *first, const struct ir_stmt *end,
                       struct cuda_row *row)
{
    for (const struct ir_stmt *stmt = first; stmt != end && row->loop_count < CUDA_ROW_LOOPS;
         stmt = stmt->next) {
        struct cuda_chain *chain = &row->chains[row->loop_count];
        if (fits(plan, stmt, chain) && is_alike(&row->chains[0], chain))
            row->loop_count++;
        else if (stmt == first)
            return;
    }
}

int cuda_row_loop(const struct cuda_row *row, const struct ir_stmt *loop)
{
    for (int k = 0; k < row->loop_count; k++)
        if (row->chains[k].loops[0] == loop)
            return k;
    return -1;
}

/* ---- the same element ---------------------------------------------------------------------- */

/* The values of two expressions agree in the same iteration of two loops. What is declared in a loop is not
 * mentioned in another one. */
static bool agree(const struct cuda_chain *a, const struct ir_expr *x, const struct cuda_chain *b,
                  const struct ir_expr *y)
{
    if (x->kind != y->kind || x->kind == IR_LOAD)
        return false;
    if (x->kind == IR_SYMBOL) {
        for (int k = 0; k < a->count; k++)
            if (a->loops[k]->symbol == x->symbol)
                return b->loops[k]->symbol == y->symbol;
        return x->symbol == y->symbol && x->symbol->kind != IR_SYMBOL_VARIABLE;
    }
    if (x->kind != IR_OPERATION)
        return ir_expr_equal(x, y);
    bool same = x->operation == y->operation && x->dtype == y->dtype && x->count == y->count;
    for (int k = 0; k < x->count && same; k++)
        same = agree(a, x->operands[k], b, y->operands[k]);
    return same;
}

static bool is_same_place(const struct cuda_chain *a, const struct ir_access *x, const struct cuda_chain *b,
                          const struct ir_access *y)
{
    bool same = x->buffer == y->buffer;
    for (int axis = 0; same && axis < x->buffer->rank; axis++)
        same = agree(a, x->indices[axis], b, y->indices[axis]);
    return same;
}

int cuda_row_find(const struct cuda_row *row, int loop, const struct ir_access *access)
{
    for (int k = 0; k < row->kept_count; k++)
        if (is_same_place(&row->chains[row->kept[k].first], row->kept[k].access, &row->chains[loop], access))
            return k;
    return -1;
}

struct wanted {
    const struct cuda_row *row;
    int loop;
    const struct cuda_kept *kept;
    const struct ir_expr *found;
};

static bool find_load(struct ir_expr *expr, void *context)
{
    struct wanted *wanted = context;
    const struct cuda_chain *chains = wanted->row->chains;
    if (expr->kind == IR_LOAD && is_same_place(&chains[wanted->kept->first], wanted->kept->access,
                                               &chains[wanted->loop], &expr->access))
        wanted->found = expr;
    return !wanted->found;
}

static const struct ir_expr *load_of(const struct cuda_row *row, int loop, const struct cuda_kept *kept)
{
    struct wanted wanted = {.row = row, .loop = loop, .kept = kept};
    if (loop < kept->first || (loop == kept->first && kept->stored))
        return NULL;
    ir_block_expressions((struct ir_stmt *)cuda_chain_body(&row->chains[loop]), find_load, &wanted);
    return wanted.found;
}

const struct ir_expr *cuda_row_load(const struct cuda_row *row, int loop, int kept)
{
    return load_of(row, loop, &row->kept[kept]);
}

/* ---- the same value ---------------------------------------------------------------------------- */

struct stores {
    const struct cuda_row *row;
    const struct cuda_kept *kept;
    int loop; /* -1: in none of the row's */
};

static bool holds(const struct ir_stmt *body, const struct ir_stmt *wanted)
{
    while (body && body != wanted)
        body = body->next;
    return body != NULL;
}

/* What each iteration of a loop stores, others do not, for they may run in any order. */
static bool leaves_alone(struct ir_stmt *stmt, void *context)
{
    const struct stores *stores = context;
    const struct cuda_chain *chains = stores->row->chains;
    if ((stmt->kind != IR_STORE && stmt->kind != IR_ALLOCATE) ||
        stmt->access.buffer != stores->kept->access->buffer)
        return true;
    return stmt->kind == IR_STORE && stores->loop >= 0 &&
           holds(cuda_chain_body(&chains[stores->loop]), stmt) &&
           is_same_place(&chains[stores->kept->first], stores->kept->access, &chains[stores->loop],
                         &stmt->access);
}

static bool is_left_alone(const struct cuda_row *row, const struct cuda_kept *kept)
{
    const struct ir_stmt *last = row->chains[row->loop_count - 1].loops[0];
    for (const struct ir_stmt *stmt = row->chains[kept->first].loops[0]; stmt != last->next;
         stmt = stmt->next) {
        struct stores stores = {row, kept, cuda_row_loop(row, stmt)};
        if (!leaves_alone((struct ir_stmt *)stmt, &stores) ||
            !ir_block_walk(stmt->body, leaves_alone, &stores) ||
            !ir_block_walk(stmt->otherwise, leaves_alone, &stores))
            return false;
    }
    return true;
}

static int size_of(const struct ir_access *access)
{
    return dtype_table[access->buffer->dtype].size;
}

bool cuda_row_packs(const struct cuda_row *row, int kept)
{
    return row->packs && size_of(row->kept[kept].access) == 2;
}

/* Of the registers of a thread, for each iteration. */
static int bytes_of(const struct cuda_row *row, int kept)
{
    return cuda_row_packs(row, kept) ? 2 : (size_of(row->kept[kept].access) + 3) / 4 * 4;
}

/* The last loop that takes it, or the first. */
static int last_use(const struct cuda_row *row, const struct cuda_kept *kept)
{
    int last = row->loop_count - 1;
    while (last > kept->first && !load_of(row, last, kept))
        last--;
    return last;
}

/* From one loop to the next, where that is most: what one of them takes for the last time makes room for what
 * it stores. */
static int bytes_kept(const struct cuda_row *row)
{
    int most = 0;
    for (int loop = 0; loop + 1 < row->loop_count; loop++) {
        int bytes = 0;
        for (int k = 0; k < row->kept_count; k++)
            if (row->kept[k].first <= loop && last_use(row, &row->kept[k]) > loop)
                bytes += bytes_of(row, k);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Of all that has a place of its own. */
static int bytes_of_places(const struct cuda_row *row)
{
    int bytes = 0;
    for (int k = 0; k < row->kept_count; k++)
        if (row->kept[k].place == k)
            bytes += bytes_of(row, k);
    return bytes;
}

static bool has_room(const struct cuda_row *row, int bytes, int pieces)
{
    return bytes * CUDA_ROW_PIECE * pieces <= 4 * row->most_words;
}

bool cuda_row_is_crowded(const struct cuda_row *row)
{
    return !has_room(row, bytes_of_places(row), row->pieces);
}

static void try_keep(struct cuda_row *row, struct cuda_kept kept)
{
    const struct ir_stmt *body = cuda_chain_body(&row->chains[kept.first]);
    bool used = false;
    if (row->kept_count == CUDA_ROW_KEPT || cuda_row_find(row, kept.first, kept.access) >= 0 ||
        !cuda_place_is_known_before(body, kept.access))
        return;
    for (int loop = kept.first + 1; loop < row->loop_count; loop++)
        used |= load_of(row, loop, &kept) != NULL;
    if (!used || !is_left_alone(row, &kept))
        return;
    row->kept[row->kept_count++] = kept;
    if (!has_room(row, bytes_kept(row), 1))
        row->kept_count--;
}

struct begin {
    struct cuda_row *row;
    int loop;
};

static void keep_load(const struct ir_expr *load, void *context)
{
    struct begin *begin = context;
    try_keep(begin->row, (struct cuda_kept){.access = &load->access, .first = begin->loop});
}

/* ---- stores that are stored again ------------------------------------------------------------- */

struct loads {
    const struct cuda_row *row;
    const struct cuda_kept *kept;
    int loop; /* that they are in; -1: none of the row's */
};

static bool loads_what_is_kept(struct ir_expr *expr, void *context)
{
    const struct loads *loads = context;
    return expr->kind != IR_LOAD || expr->access.buffer != loads->kept->access->buffer ||
           (loads->loop >= 0 && is_same_place(&loads->row->chains[loads->kept->first], loads->kept->access,
                                              &loads->row->chains[loads->loop], &expr->access));
}

/* Whether the loop stores to the place of what is kept, in each iteration. */
static bool stores_it(const struct cuda_row *row, int loop, const struct cuda_kept *kept)
{
    for (const struct ir_stmt *stmt = cuda_chain_body(&row->chains[loop]); stmt; stmt = stmt->next)
        if (stmt->kind == IR_STORE &&
            is_same_place(&row->chains[kept->first], kept->access, &row->chains[loop], &stmt->access))
            return true;
    return false;
}

/* The loops around that are left in between would keep what was stored. */
bool cuda_row_stores_again(const struct cuda_row *row, int loop, int number)
{
    const struct cuda_kept *kept = &row->kept[number];
    const struct ir_stmt *from = row->chains[loop].loops[0];
    int again = loop + 1;
    while (again < row->loop_count && !stores_it(row, again, kept))
        again++;
    if (again >= row->loop_count || pass_jumps((struct ir_stmt *)from) ||
        (loop == kept->first && ir_block_loads_from(from->body, kept->access->buffer)))
        return false;
    for (const struct ir_stmt *stmt = from->next; stmt != row->chains[again].loops[0]->next;
         stmt = stmt->next) {
        struct loads own = {row, kept, -1}, inside = {row, kept, cuda_row_loop(row, stmt)};
        if (!ir_stmt_expressions((struct ir_stmt *)stmt, loads_what_is_kept, &own) ||
            !ir_block_expressions(stmt->body, loads_what_is_kept, &inside) ||
            !ir_block_expressions(stmt->otherwise, loads_what_is_kept, &inside))
            return false;
    }
    return true;
}

/* ---- what takes the place of other ------------------------------------------------------------- */

/* Whether a loop stores what is kept behind all loads of what another one keeps, iteration by iteration. */
static bool is_stored_behind(const struct cuda_row *row, const struct cuda_kept *stored,
                             const struct cuda_kept *other)
{
    struct wanted wanted = {.row = row, .loop = stored->first, .kept = other};
    const struct ir_stmt *stmt = cuda_chain_body(&row->chains[stored->first]);
    while (&stmt->access != stored->access)
        stmt = stmt->next;
    for (stmt = stmt->next; stmt; stmt = stmt->next)
        if (!ir_stmt_expressions((struct ir_stmt *)stmt, find_load, &wanted) ||
            !ir_block_expressions(stmt->body, find_load, &wanted) ||
            !ir_block_expressions(stmt->otherwise, find_load, &wanted))
            return false;
    return true;
}

/* That of one of the same kind which nothing takes any more when this one begins. */
static int place_for(const struct cuda_row *row, int number)
{
    const struct cuda_kept *kept = &row->kept[number];
    for (int k = 0; k < number; k++) {
        const struct cuda_kept *other = &row->kept[k];
        int last = last_use(row, other);
        bool is_free =
            last < kept->first || (last == kept->first && kept->stored && is_stored_behind(row, kept, other));
        for (int later = k + 1; later < number; later++)
            is_free &= row->kept[later].place != other->place;
        if (is_free && other->access->buffer->dtype == kept->access->buffer->dtype)
            return other->place;
    }
    return number;
}

/* ---- all ------------------------------------------------------------------------------------- */

bool cuda_row_of(const struct cuda_plan *plan, const struct ir_stmt *first, const struct ir_stmt *end,
                 int most_words, bool packs, struct cuda_row *row)
{
    *row = (struct cuda_row){
        .most_words = most_words, .packs = packs, .pieces = (packs ? 2 : 1) * most_words / CUDA_ROW_PIECE};
    find_loops(plan, first, end, row);
    for (int loop = 0; loop + 1 < row->loop_count; loop++) {
        const struct ir_stmt *body = cuda_chain_body(&row->chains[loop]);
        cuda_visit_loads(body, keep_load, &(struct begin){row, loop});
        for (const struct ir_stmt *stmt = body; stmt; stmt = stmt->next)
            if (stmt->kind == IR_STORE)
                try_keep(row, (struct cuda_kept){.access = &stmt->access, .first = loop, .stored = true});
    }
    while (!has_room(row, bytes_kept(row), row->pieces))
        row->pieces /= 2;
    for (int k = 0; k < row->kept_count; k++)
        row->kept[k].place = place_for(row, k);
    return row->kept_count > 0;
}

/* ---- classes of rows --------------------------------------------------------------------------- */

/* Of each iteration, in the row with most of it: from one loop to the next, and in places of their own. */
struct bytes {
    int kept, places;
};

static struct bytes bytes_among(const struct cuda_plan *plan, const struct ir_stmt *block, bool packs)
{
    struct cuda_row row;
    struct bytes most = {0, 0};
    for (const struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        if (!cuda_row_of(plan, stmt, NULL, CUDA_ROW_WORDS, packs, &row))
            continue;
        int kept = bytes_kept(&row), places = bytes_of_places(&row);
        most.kept = kept > most.kept ? kept : most.kept;
        most.places = places > most.places ? places : most.places;
    }
    return most;
}

/* Iterations whose elements a thread keeps, of so many bytes each. */
static int iterations_kept(int bytes, int words)
{
    int iterations = 2 * words;
    while (iterations > CUDA_ROW_PIECE && iterations * bytes > 4 * words)
        iterations /= 2;
    return iterations;
}

/* For squads, the shortest of which are less than a warp, and for the shortest rows of blocks: with
 * boundaries that rows of which one word is kept and those of several have in common. Rows of which a half is
 * kept have two in a word, and fewer threads each.
 */
static int shorter_classes(struct bytes plain, struct bytes packed, bool has_squads,
                           struct cuda_row_class *classes)
{
    enum { ROWS = 5, WORD = 4 };
    static const struct {
        bool is_squad;
        int64_t least, most;
        int iterations, most_words; /* that a thread keeps */
    } rows[2][ROWS] = {{{true, 0, 128, 8, 32},
                        {true, 129, 256, 8, 32},
                        {true, 257, 512, 16, 32},
                        {true, 513, CUDA_SQUAD_LONG, 32, 32},
                        {false, 0, 2048, 8, CUDA_ROW_WORDS}},
                       {{true, 0, 256, 16, 32},
                        {true, 257, 512, 16, 32},
                        {true, 513, CUDA_SQUAD_LONG, 32, 32},
                        {false, 0, 4096, 16, CUDA_ROW_WORDS}}};
    bool halves = packed.places == WORD / 2;
    int count = 0;
    for (int k = 0; k < ROWS && rows[halves][k].most; k++) {
        int wanted = (halves ? packed.kept : plain.kept) * rows[halves][k].iterations / WORD;
        int most = rows[halves][k].most_words;
        if (!rows[halves][k].is_squad || has_squads)
            classes[count++] = (struct cuda_row_class){.is_squad = rows[halves][k].is_squad,
                                                       .threads = CUDA_THREADS,
                                                       .words = wanted < most ? wanted : most,
                                                       .packs = halves,
                                                       .least = rows[halves][k].least,
                                                       .most = rows[halves][k].most};
    }
    return count;
}

/* The fewer words a thread has, and the fewer threads a row, the more rows are under way; so a class has what
 * it takes to keep its longest row whole. In all but the first of these, where registers are scarce, elements
 * of 16 bits share words, and what finds no place that others leave must have room too. */
static int longer_classes(struct bytes plain, struct bytes packed, bool has_squads, int count,
                          struct cuda_row_class *classes)
{
    static const struct cuda_row_class rows[] = {
        {.threads = CUDA_THREADS, .words = CUDA_ROW_WORDS},
        {.threads = CUDA_THREADS, .words = CUDA_ROW_WORDS, .packs = true},
        {.threads = CUDA_THREADS, .words = 2 * CUDA_ROW_WORDS, .packs = true},
        {.threads = 2 * CUDA_THREADS, .words = 2 * CUDA_ROW_WORDS, .packs = true},
        {.threads = 4 * CUDA_THREADS, .words = 2 * CUDA_ROW_WORDS, .packs = true}};
    _Static_assert(5 + sizeof rows / sizeof *rows <= CUDA_ROW_CLASSES, "shorter classes are five at most");
    int last = has_squads ? sizeof rows / sizeof *rows - 1 : 0;
    for (int k = 0; k <= last; k++) {
        struct cuda_row_class class = rows[k];
        int kept = class.packs ? packed.kept : plain.kept;
        int iterations = iterations_kept(class.packs ? packed.places : kept, class.words);
        while (iterations_kept(kept, class.words) > iterations)
            class.words /= 2;
        class.least = classes[count - 1].most + 1;
        class.most = k < last ? (int64_t) class.threads * iterations : INT64_MAX;
        if (class.most >= class.least)
            classes[count++] = class;
    }
    return count;
}

int cuda_row_classes(const struct cuda_plan *plan, const struct ir_stmt *block, bool has_squads,
                     struct cuda_row_class classes[CUDA_ROW_CLASSES])
{
    struct bytes plain = bytes_among(plan, block, false), packed = bytes_among(plan, block, true);
    if (!plain.kept)
        return 0;
    int shorter = shorter_classes(plain, packed, has_squads, classes);
    return longer_classes(plain, packed, has_squads, shorter, classes);
}

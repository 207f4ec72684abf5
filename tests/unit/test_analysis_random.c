/*
 * test_analysis_random.c: the analyses against brute force.
 *
 * Random small kernels are analysed and then executed, for many small shapes, by an evaluator of this
 * file that knows nothing of the analyses. What must hold: an index said to be inside never leaves; a call is
 * refused only if it would have stopped; a divisor said not to be zero never is; what is not cleared is
 * written before it is read, and outputs are written in full; a read that is warned of comes before any
 * write; a loop that is warned of has two iterations that clash, and one that is passed in silence has none.
 *
 * Takes a number of kernels and a first seed; prints a kernel that fails.
 */
#include "../../jit/analysis.h"
#include "../../jit/scalar.h"
#include "check.h"

#include <stdlib.h>

/* ---- random kernels ------------------------------------------------------- */

static uint64_t state;

static int pick(int count)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)count);
}

#define CHOOSE(...)                                                                                          \
    choose((const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

static const char *choose(const char *const *texts, size_t count)
{
    return texts[pick((int)count)];
}

struct generator {
    struct text out;
    int loops; /* names in scope: i0, i1, ... */
    char names[8][8];
    int made, line, indent;
    bool counter; /* `n` is declared */
    bool hinted;
};

static const char *loop_name(struct generator *g)
{
    return g->loops ? g->names[pick(g->loops)] : CHOOSE("0", "1", "2");
}

static void put_index(struct generator *g, int depth);

/* An index expression. */
static void put_index(struct generator *g, int depth)
{
    const char *a = loop_name(g), *b = loop_name(g);
    switch (pick(depth ? 8 : 26)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        text_string(&g->out, a);
        break;
    case 6:
        text_format(&g->out, "(%s - 1)", a);
        break;
    case 7:
        text_format(&g->out, "(%s + 1)", a);
        break;
    case 8:
        text_format(&g->out, "((N - 1) - %s)", a);
        break;
    case 9:
        text_format(&g->out, "(2 * %s)", a);
        break;
    case 10:
        text_format(&g->out, "(%s + %s)", a, b);
        break;
    case 11:
        text_format(&g->out, "((%s * M) + %s)", a, b);
        break;
    case 12:
        text_format(&g->out, "(%s // %s)", a, CHOOSE("2", "3", "-2"));
        break;
    case 13:
        text_format(&g->out, "(%s //? M)", a);
        break;
    case 14:
        text_format(&g->out, "(%s %%? M)", a);
        break;
    case 15:
        text_format(&g->out, "(%s %% %s)", a, CHOOSE("2", "3", "-3"));
        break;
    case 16:
        text_format(&g->out, "min(%s, (N - 1))", a);
        break;
    case 17:
        text_format(&g->out, "max(min((%s - 1), (M - 1)), 0)", a);
        break;
    case 18:
        text_format(&g->out, "(%s * s)", a);
        break;
    case 19:
        text_format(&g->out, "((%s * s) + %s)", a, b);
        break;
    case 20:
        text_format(&g->out, "(%s + s)", a);
        break;
    case 21:
        text_string(&g->out, g->counter ? "n" : "0");
        break;
    case 22:
        text_format(&g->out, "(%s - %s)", a, b);
        break;
    case 23:
        text_format(&g->out, "select((%s < N), %s, 0)", a, a);
        break;
    case 24:
        text_format(&g->out, "(%s //? s)", a);
        break;
    default:
        text_string(&g->out, "p[");
        put_index(g, 1);
        text_string(&g->out, "?]");
        break;
    }
}

static void put_access(struct generator *g, const char *buffer)
{
    text_format(&g->out, "%s[", buffer);
    put_index(g, 0);
    if (buffer[0] == 'z' || buffer[0] == 'a') {
        text_string(&g->out, "?, ");
        put_index(g, 0);
    }
    text_string(&g->out, "?]");
}

/* ---- kernels whose loops bound each other ---- */

static void put_affine(struct generator *g)
{
    const char *a = loop_name(g), *b = loop_name(g);
    switch (pick(14)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        text_string(&g->out, a);
        break;
    case 5:
    case 6:
        text_format(&g->out, "(%s + 1)", a);
        break;
    case 7:
        text_format(&g->out, "(%s - 1)", a);
        break;
    case 8:
        text_format(&g->out, "(%s + %s)", a, b);
        break;
    case 9:
        text_format(&g->out, "(%s - %s)", a, b);
        break;
    case 10:
        text_format(&g->out, "((N - 1) - %s)", a);
        break;
    case 11:
        text_format(&g->out, "(%s + s)", a);
        break;
    case 12:
        text_format(&g->out, "(%s * %s)", a, CHOOSE("2", "3", "s"));
        break;
    default:
        text_format(&g->out, "(M - %s)", a);
        break;
    }
}

static void put_affine_condition(struct generator *g)
{
    const char *a = loop_name(g), *order = CHOOSE("<", "<", "<=", ">", ">=", "==", "!=");
    switch (pick(6)) {
    case 0:
        text_format(&g->out, "((0 <= (%s + s)) and ((%s + s) < %s))", a, a, CHOOSE("N", "M", "3"));
        break;
    case 1:
        text_format(&g->out, "not((%s %s ", a, order);
        put_affine(g);
        text_string(&g->out, "))");
        break;
    case 2:
        text_format(&g->out, "(%s %s %s)", a, order, CHOOSE("N", "M", "(N - 1)", "(M // 2)", "1"));
        break;
    default:
        text_string(&g->out, "(");
        put_affine(g);
        text_format(&g->out, " %s ", order);
        put_affine(g);
        text_string(&g->out, ")");
        break;
    }
}

static void put_affine_bound(struct generator *g)
{
    if (g->loops && pick(2))
        put_affine(g);
    else if (g->loops && pick(6) == 0)
        text_format(&g->out, "%s((%s + 1), %s)", CHOOSE("min", "max"), loop_name(g), CHOOSE("N", "M"));
    else
        text_string(&g->out, CHOOSE("N", "N", "M", "M", "s", "(N - 1)", "2"));
}

static void put_affine_low(struct generator *g)
{
    if (g->loops && pick(2))
        put_affine(g);
    else
        text_string(&g->out, CHOOSE("0", "0", "1"));
}

static void begin_line(struct generator *g);
static void end_line(struct generator *g);

static void put_affine_access(struct generator *g)
{
    const char *buffer = CHOOSE("y", "p", "z", "a");

    begin_line(g);
    bool loaded = buffer[0] == 'p' || buffer[0] == 'a', two = buffer[0] == 'z' || buffer[0] == 'a';
    text_format(&g->out, "%s%s[", loaded ? "var v: int64 = " : "", buffer);
    put_affine(g);
    if (two) {
        text_string(&g->out, "?, ");
        put_affine(g);
    }
    text_string(&g->out, loaded ? "?]" : "?] = 1");
    end_line(g);
}

/* Loops and conditions, one in another, around one access. */
static void put_nest(struct generator *g, int depth)
{
    char name[16];

    if (depth == 0) {
        put_affine_access(g);
        return;
    }
    bool loop = !g->loops || pick(3), down = loop && pick(5) == 0;
    begin_line(g);
    if (loop) {
        snprintf(name, sizeof name, "i%d", g->made++ % 1000);
        text_format(&g->out, "for %s = ", name);
        if (down)
            put_affine_bound(g);
        else
            put_affine_low(g);
        text_string(&g->out, " to ");
        if (down)
            put_affine_low(g);
        else
            put_affine_bound(g);
        text_format(&g->out, " step %s", down ? CHOOSE("-1", "-1", "-2") : CHOOSE("1", "1", "1", "1", "2"));
        snprintf(g->names[g->loops++], 8, "%.7s", name);
    } else {
        text_string(&g->out, "if ");
        put_affine_condition(g);
    }
    g->line++;
    text_format(&g->out, " @%d:1-9 {\n", g->line);
    g->indent++;
    put_nest(g, depth - 1);
    g->indent--;
    g->loops -= loop;
    begin_line(g);
    text_string(&g->out, "}\n");
}

static void put_condition(struct generator *g)
{
    const char *a = loop_name(g), *b = loop_name(g);
    switch (pick(11)) {
    case 0:
        text_format(&g->out, "(%s < N)", a);
        break;
    case 1:
        text_format(&g->out, "(%s > 0)", a);
        break;
    case 2:
        text_format(&g->out, "(%s != %s)", a, CHOOSE("0", "1", "(N - 1)"));
        break;
    case 3:
        text_string(&g->out, CHOOSE("(s > 0)", "(s == 1)", "(N > 2)", "(s != 0)", "(M >= N)"));
        break;
    case 4:
        text_format(&g->out, "((%s > 0) and (%s < (M - 1)))", a, b);
        break;
    case 5:
        text_format(&g->out, "((%s == 0) or (%s >= M))", a, b);
        break;
    case 6:
        text_format(&g->out, "not((%s <= %s))", a, b);
        break;
    case 7:
        text_format(&g->out, "((%s + s) < N)", a);
        break;
    case 8:
        text_format(&g->out, "(%s < %s)", a, b);
        break;
    case 9:
        text_format(&g->out, "(((%s - s) >= 0) and ((%s - s) < M))", a, a);
        break;
    default:
        text_string(&g->out, "(");
        put_access(g, "p");
        text_format(&g->out, " > %s)", CHOOSE("0", "1"));
        break;
    }
}

static void put_value(struct generator *g)
{
    switch (pick(6)) {
    case 0:
        text_string(&g->out, "1");
        break;
    case 1:
        put_access(g, "p");
        break;
    case 2:
        put_access(g, "a");
        break;
    case 3:
        put_access(g, CHOOSE("y", "z", "t"));
        break;
    case 4:
        text_string(&g->out, "select(");
        put_condition(g);
        text_string(&g->out, ", ");
        put_access(g, CHOOSE("p", "a", "y"));
        text_string(&g->out, ", 0)");
        break;
    default:
        text_string(&g->out, "(");
        put_access(g, CHOOSE("y", "p"));
        text_string(&g->out, " + ");
        put_access(g, CHOOSE("a", "z", "t"));
        text_string(&g->out, ")");
        break;
    }
}

static void begin_line(struct generator *g)
{
    text_repeat(&g->out, ' ', 4 + 2 * g->indent);
}

static void end_line(struct generator *g)
{
    g->line++;
    text_format(&g->out, " @%d:1-9\n", g->line);
}

static void put_block(struct generator *g, int depth, bool in_loop);

static void put_bound(struct generator *g, bool high)
{
    const char *a = loop_name(g);
    if (!high && pick(2)) {
        text_string(&g->out, "0");
        return;
    }
    switch (pick(high ? 14 : 6)) {
    case 0:
        text_string(&g->out, high ? "N" : "1");
        break;
    case 1:
        text_string(&g->out, a);
        break;
    case 2:
        text_format(&g->out, "(%s + 1)", a);
        break;
    case 3:
        text_string(&g->out, "s");
        break;
    case 4:
        text_string(&g->out, "(M - 1)");
        break;
    case 5:
        text_string(&g->out, high ? "(N * M)" : "2");
        break;
    case 6:
        text_format(&g->out, "min((%s + 2), N)", a);
        break;
    case 7:
        text_string(&g->out, "3");
        break;
    case 8:
        text_string(&g->out, "((N + 1) // 2)");
        break;
    case 9:
    case 10:
        text_string(&g->out, "M");
        break;
    case 11:
        text_string(&g->out, "(N + M)");
        break;
    default:
        text_string(&g->out, "N");
        break;
    }
}

static void put_for(struct generator *g, int depth)
{
    char name[16];
    snprintf(name, sizeof name, "i%d", g->made++ % 1000);
    bool down = pick(6) == 0;
    begin_line(g);
    text_format(&g->out, "for %s = ", name);
    put_bound(g, down);
    text_string(&g->out, down ? " - 1" : "");
    g->out.length -= down ? 4 : 0;
    text_string(&g->out, " to ");
    put_bound(g, !down);
    text_format(&g->out, " step %s", down ? CHOOSE("-1", "-1", "-2") : CHOOSE("1", "1", "1", "1", "2", "3"));
    if (g->hinted && pick(2))
        text_string(&g->out, " parallel");
    g->line++;
    text_format(&g->out, " @%d:1-9 {\n", g->line);
    snprintf(g->names[g->loops++], 8, "%.7s", name);
    g->indent++;
    put_block(g, depth + 1, true);
    g->indent--;
    g->loops--;
    begin_line(g);
    text_string(&g->out, "}\n");
}

static void put_if(struct generator *g, int depth, bool in_loop)
{
    begin_line(g);
    text_string(&g->out, "if ");
    put_condition(g);
    g->line++;
    text_format(&g->out, " @%d:1-9 {\n", g->line);
    g->indent++;
    if (in_loop && pick(4) == 0) {
        if (pick(2))
            put_block(g, depth + 1, false);
        begin_line(g);
        text_string(&g->out, CHOOSE("continue", "continue", "break"));
        end_line(g);
    } else {
        put_block(g, depth + 1, in_loop);
    }
    g->indent--;
    begin_line(g);
    if (pick(2)) {
        text_string(&g->out, "} else {\n");
        g->indent++;
        put_block(g, depth + 1, in_loop);
        g->indent--;
        begin_line(g);
    }
    text_string(&g->out, "}\n");
}

static void put_store(struct generator *g)
{
    begin_line(g);
    put_access(g, CHOOSE("y", "y", "z", "t"));
    text_string(&g->out, " = ");
    put_value(g);
    end_line(g);
}

static void put_stmt(struct generator *g, int depth, bool in_loop)
{
    int kind = pick(10);

    if (kind < 4 && depth < 3) {
        put_for(g, depth);
    } else if (kind < 6 && depth < 3) {
        put_if(g, depth, in_loop);
    } else if (kind == 6 && g->counter) {
        begin_line(g);
        text_format(&g->out, "n = (n %s)", CHOOSE("+ 1", "+ 1", "+ 2", "- 1"));
        end_line(g);
    } else {
        put_store(g);
    }
}

static void put_block(struct generator *g, int depth, bool in_loop)
{
    for (int count = 1 + pick(depth ? 2 : 4); count > 0; count--)
        put_stmt(g, depth, in_loop);
}

static void put_kernel(struct generator *g)
{
    text_format(&g->out, "kernel k {\n  attribute s: int64\n  input p: int64[N]\n  input a: int64[M, %s]\n",
                CHOOSE("K", "N_1", "K"));
    text_format(&g->out, "  output y: int64[%s]\n", CHOOSE("N", "N", "(N + M)", "(N * M)", "(N + 1)", "4"));
    text_format(&g->out, "  output z: int64[%s]\n", CHOOSE("N, M", "M, N", "N, N", "2, M"));
    text_format(&g->out, "  temporary t: int64[%s]\n", CHOOSE("N", "M", "(N + 2)"));
    text_string(&g->out, "  parameters p, a, s\n  results y, z\n");
    if (pick(3) == 0)
        text_format(&g->out, "  require assert %s \"text\"\n",
                    CHOOSE("(s > 0)", "(N == M)", "(N >= 2)", "(s < N)"));
    text_string(&g->out, "  body {\n    allocate t\n");
    g->counter = pick(3) == 0;
    g->hinted = pick(3) == 0;
    if (g->counter)
        text_format(&g->out, "    var n: int64 = %s\n", CHOOSE("0", "0", "1", "s"));
    if (pick(3) == 0)
        put_nest(g, 1 + pick(5));
    else
        put_block(g, 0, false);
    text_string(&g->out, "  }\n}\n");
}

/* ---- execution ------------------------------------------------------------ */

enum { ELEMENTS = 512, STEPS = 20000, LINES = 400, BUFFERS = 8 };
enum outcome { RUN_ON, RUN_BREAK, RUN_CONTINUE, RUN_TRAPPED, RUN_TOO_LONG };

struct run {
    struct ir_kernel *kernel;
    int64_t dims[8];
    union jit_scalar attributes[2];
    int64_t extents[BUFFERS][4];
    int64_t values[BUFFERS][ELEMENTS];
    bool written[BUFFERS][ELEMENTS];
    int64_t count[BUFFERS];
    bool stored[BUFFERS];                 /* since its life began */
    bool first_read_late[BUFFERS][LINES]; /* the first read of the statement came after some write */
    bool was_read[BUFFERS][LINES];
    int steps;
    const char *wrong;            /* a broken promise */
    const struct ir_stmt *hinted; /* this loop's iterations are watched */
    int64_t iteration;
    bool watching, clash;
    bool lenient; /* goes on where it would stop: a witness does not know the data */
    int64_t reader[BUFFERS][ELEMENTS], writer[BUFFERS][ELEMENTS]; /* iteration + 1000, 0: none */
    struct ir_stmt *stmt;
};

static bool evaluate(struct run *run, const struct ir_expr *expr, int64_t *out);

/* The element's number; false: outside. */
static bool locate(struct run *run, const struct ir_access *access, int64_t *place)
{
    int b = access->buffer->index;

    *place = 0;
    for (int k = 0; k < access->buffer->rank; k++) {
        int64_t index;
        if (!evaluate(run, access->indices[k], &index))
            return false;
        if (index < 0 || index >= run->extents[b][k]) {
            if (access->checks[k] != IR_CHECK_ELEMENT)
                run->wrong = "an index said to be inside is not";
            return false;
        }
        *place = *place * run->extents[b][k] + index;
    }
    return true;
}

static void watch(struct run *run, const struct ir_buffer *buffer, int64_t place, bool store)
{
    int64_t here = run->iteration + 1000;
    int64_t *reader = &run->reader[buffer->index][place], *writer = &run->writer[buffer->index][place];

    if (!run->watching)
        return;
    run->clash |= *writer && *writer != here;
    if (store)
        run->clash |= *reader && *reader != here;
    if (store)
        *writer = here;
    else if (!*reader || *reader == here)
        *reader = here;
    else
        *reader = 999; /* several */
}

static bool load(struct run *run, const struct ir_access *access, int64_t *out)
{
    const struct ir_buffer *buffer = access->buffer;
    int b = buffer->index, line = run->stmt->span.line % LINES;
    int64_t place;

    if (!locate(run, access, &place)) {
        *out = 0;
        return run->lenient;
    }
    if (!run->was_read[b][line]) {
        run->was_read[b][line] = true;
        run->first_read_late[b][line] = run->stored[b];
    }
    if (buffer->role != IR_INPUT && !buffer->clear && !run->written[b][place])
        run->wrong = "an element of a buffer that is not cleared is read before it is written";
    watch(run, buffer, place, false);
    *out = run->values[b][place];
    return true;
}

static bool operate(struct run *run, const struct ir_expr *expr, int64_t *out)
{
    union dtype_value values[3], result;

    if (!evaluate(run, expr->operands[0], &values[0].i))
        return false;
    if (expr->operation == OP_SELECT)
        return evaluate(run, expr->operands[values[0].i ? 1 : 2], out);
    if ((expr->operation == OP_AND && !values[0].i) || (expr->operation == OP_OR && values[0].i)) {
        *out = values[0].i;
        return true;
    }
    for (int k = 1; k < expr->count; k++)
        if (!evaluate(run, expr->operands[k], &values[k].i))
            return false;
    if (!scalar_apply(expr->operation, expr->dtype, expr->operands[expr->count - 1]->dtype, values,
                      &result)) {
        if (!expr->checked)
            run->wrong = "a divisor said not to be zero is";
        *out = 0;
        return run->lenient;
    }
    *out = result.i;
    return true;
}

static bool evaluate(struct run *run, const struct ir_expr *expr, int64_t *out)
{
    switch (expr->kind) {
    case IR_INTEGER:
        *out = expr->integer;
        return true;
    case IR_SYMBOL:
        if (expr->symbol->kind == IR_SYMBOL_DIM)
            *out = run->dims[expr->symbol->index];
        else if (expr->symbol->kind == IR_SYMBOL_ATTRIBUTE)
            *out = run->attributes[expr->symbol->index].i;
        else
            *out = *(int64_t *)expr->symbol->note;
        return true;
    case IR_LOAD:
        return load(run, &expr->access, out);
    default:
        return operate(run, expr, out);
    }
}

static void set(struct run *run, struct ir_symbol *symbol, int64_t value)
{
    if (!symbol->note)
        symbol->note = arena_new(run->kernel->arena, int64_t);
    *(int64_t *)symbol->note = value;
}

static enum outcome run_block(struct run *run, struct ir_stmt *block);

static enum outcome run_for(struct run *run, struct ir_stmt *stmt)
{
    int64_t low, high;

    if (!evaluate(run, stmt->low, &low) || !evaluate(run, stmt->high, &high))
        return RUN_TRAPPED;
    if (stmt == run->hinted) {
        memset(run->reader, 0, sizeof run->reader);
        memset(run->writer, 0, sizeof run->writer);
    }
    for (int64_t i = low; stmt->step > 0 ? i < high : i > high; i += stmt->step) {
        set(run, stmt->symbol, i);
        if (stmt == run->hinted) {
            run->watching = true;
            run->iteration = i;
        }
        enum outcome outcome = run_block(run, stmt->body);
        if (outcome == RUN_BREAK)
            break;
        if (outcome == RUN_TRAPPED || outcome == RUN_TOO_LONG)
            return outcome;
    }
    if (stmt == run->hinted)
        run->watching = false;
    return RUN_ON;
}

static enum outcome run_store(struct run *run, struct ir_stmt *stmt)
{
    int64_t place, value;
    int b = stmt->access.buffer->index;

    if (!locate(run, &stmt->access, &place))
        return run->lenient ? RUN_ON : RUN_TRAPPED;
    if (!evaluate(run, stmt->value, &value))
        return RUN_TRAPPED;
    watch(run, stmt->access.buffer, place, true);
    run->values[b][place] = value % 5;
    run->written[b][place] = run->stored[b] = true;
    return RUN_ON;
}

static enum outcome run_stmt(struct run *run, struct ir_stmt *stmt)
{
    int64_t value;

    if (++run->steps > STEPS)
        return RUN_TOO_LONG;
    run->stmt = stmt;
    switch (stmt->kind) {
    case IR_FOR:
        return run_for(run, stmt);
    case IR_IF:
        if (!evaluate(run, stmt->value, &value))
            return RUN_TRAPPED;
        return run_block(run, value ? stmt->body : stmt->otherwise);
    case IR_STORE:
        return run_store(run, stmt);
    case IR_VARIABLE:
    case IR_ASSIGN:
        if (!evaluate(run, stmt->value, &value))
            return RUN_TRAPPED;
        set(run, stmt->symbol, value);
        return RUN_ON;
    case IR_BREAK:
        return RUN_BREAK;
    case IR_CONTINUE:
        return RUN_CONTINUE;
    default:
        return RUN_ON;
    }
}

static enum outcome run_block(struct run *run, struct ir_stmt *block)
{
    for (struct ir_stmt *stmt = block; stmt; stmt = stmt->next) {
        enum outcome outcome = run_stmt(run, stmt);
        if (outcome != RUN_ON)
            return outcome;
    }
    return RUN_ON;
}

/* False for a shape that cannot be called. */
static bool shape_buffers(struct run *run)
{
    for (int b = 0; b < run->kernel->buffers.count; b++) {
        const struct ir_buffer *buffer = run->kernel->buffers.items[b];
        run->count[b] = 1;
        for (int k = 0; k < buffer->rank; k++) {
            union dtype_value extent;
            if (!scalar_evaluate(buffer->shape[k], run->dims, run->attributes, &extent) || extent.i < 0)
                return false;
            run->extents[b][k] = extent.i;
            run->count[b] *= extent.i;
        }
        if (run->count[b] > ELEMENTS)
            return false;
        for (int64_t k = 0; k < run->count[b]; k++)
            run->values[b][k] = buffer->role == IR_INPUT ? (int64_t)(k * 7 + run->dims[0] * 3) % 6 - 1 : 0;
    }
    return true;
}

/* Whether all preconditions but those of the program hold; `called` tells whether the program's do. */
static bool preconditions_hold(const struct run *run, bool *called)
{
    bool hold = true;

    *called = true;
    for (int k = 0; k < run->kernel->preconditions.count; k++) {
        const struct ir_precondition *precondition = &run->kernel->preconditions.items[k];
        union dtype_value guard = {.i = 1}, condition;
        bool own = precondition->kind == IR_PRECONDITION_BOUNDS;
        if (precondition->guard && !scalar_evaluate(precondition->guard, run->dims, run->attributes, &guard))
            guard.i = 0, hold = false;
        if (!guard.i)
            continue;
        if (scalar_evaluate(precondition->condition, run->dims, run->attributes, &condition) && condition.i)
            continue;
        if (own)
            hold = false;
        else
            *called = false;
    }
    return hold;
}

static const char *check_end(const struct run *run)
{
    for (int b = 0; b < run->kernel->buffers.count; b++) {
        const struct ir_buffer *buffer = run->kernel->buffers.items[b];
        for (int64_t k = 0; k < run->count[b]; k++)
            if (buffer->role == IR_OUTPUT && !buffer->clear && !run->written[b][k])
                return "an output that is not cleared is not written in full";
    }
    return NULL;
}

static const char *check_warnings(const struct run *run, const akg_diagnostics *diagnostics)
{
    for (size_t k = 0; k < akg_diagnostics_count(diagnostics); k++) {
        const akg_diagnostic *diagnostic = akg_diagnostics_at(diagnostics, k);
        for (int b = 0; b < run->kernel->buffers.count; b++) {
            char name[16];
            snprintf(name, sizeof name, "'%s'", run->kernel->buffers.items[b]->name);
            if (strstr(diagnostic->message, name) && run->first_read_late[b][diagnostic->line % LINES])
                return "a warned read comes after a write";
        }
    }
    return NULL;
}

/* False for a shape that cannot be called. */
static bool prepare(struct run *run, struct ir_kernel *kernel, const struct ir_stmt *hinted,
                    const int64_t *shape)
{
    memset(run, 0, sizeof *run);
    run->kernel = kernel;
    run->hinted = hinted;
    for (int k = 0; k < kernel->dims.count; k++)
        run->dims[k] = shape[k];
    run->attributes[0].i = shape[3];
    return shape_buffers(run);
}

static bool clashes(struct run *run, struct ir_kernel *kernel, const struct ir_stmt *hinted,
                    const int64_t *shape)
{
    if (!prepare(run, kernel, hinted, shape))
        return false;
    run->lenient = true;
    run_block(run, kernel->body);
    return run->clash;
}

static const char *run_shape(struct run *run, struct ir_kernel *kernel, const akg_diagnostics *diagnostics,
                             const struct ir_stmt *hinted, const int64_t *shape, bool *clash)
{
    bool called;

    if (!prepare(run, kernel, hinted, shape))
        return NULL;
    bool accepted = preconditions_hold(run, &called);
    if (!called)
        return NULL;
    enum outcome outcome = run_block(run, kernel->body);
    *clash |= accepted && run->clash;
    if (outcome == RUN_TOO_LONG)
        return NULL;
    if (!accepted)
        return outcome == RUN_TRAPPED ? NULL : "a call is refused that would be fine";
    if (run->wrong)
        return run->wrong;
    const char *wrong = check_warnings(run, diagnostics);
    return wrong || outcome == RUN_TRAPPED ? wrong : check_end(run);
}

/* ---- the test ------------------------------------------------------------- */

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
    static struct run run;
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
        wrong = run_shape(&run, kernel, diagnostics, hinted, values, &clash);
    }
    int warned = hinted ? warned_loop(diagnostics, hinted) : 0;
    if (!wrong && warned == 0 && clash)
        tally.silent++;
    tally.clashes += warned == 1;
    for (int64_t size = 2; size < 14 && warned == 1 && !clash; size++) {
        int64_t same[] = {size, size, size, 1 + size % 3}, growing[] = {size, size + 1, size + 2, 1};
        for (int64_t s = 1; s < 12 && !clash; s++) {
            same[3] = growing[3] = s;
            clash = clashes(&run, kernel, hinted, same) || clashes(&run, kernel, hinted, growing);
        }
    }
    if (!wrong && warned == 1 && !clash)
        wrong = "the warned loop has no clash";
    return wrong;
}

static bool test_seed(uint64_t seed)
{
    struct generator g = {.line = 1};
    struct arena arena;
    jmp_buf escape;
    const char *wrong;

    state = seed * 7919 + 13;
    for (int k = 0; k < 4; k++)
        pick(2);
    text_init(&g.out);
    put_kernel(&g);
    arena_init(&arena, &escape);
    akg_diagnostics *diagnostics = diagnostics_create("random.ir", NULL, 0);
    if (setjmp(escape) || !diagnostics || g.out.failed) {
        fputs("out of memory\n", stderr);
        exit(5);
    }
    diagnostics_set_escape(diagnostics, &escape);
    wrong = test_kernel(&arena, g.out.data, diagnostics);
    for (size_t k = 0; k < akg_diagnostics_count(diagnostics); k++)
        tally.read_warnings += strstr(akg_diagnostics_at(diagnostics, k)->message, "before anything") != NULL;
    if (wrong) {
        char *rendered = NULL;
        akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &rendered);
        fprintf(stderr, "seed %llu: %s\n%s%s", (unsigned long long)seed, wrong, g.out.data, rendered);
        akg_free(rendered);
    }
    CHECK(!wrong);
    akg_diagnostics_free(diagnostics);
    arena_free(&arena);
    text_free(&g.out);
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

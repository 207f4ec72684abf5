/*
 * test_interpreter.c: small kernels in the text form of the IR, run by the interpreter: every statement,
 * every trap with its site, strides, clearing, the ends of int64, threads.
 */
#include "../../jit/interpreter.h"
#include "../../jit/scalar.h"
#include "../../jit/sites.h"
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))
#define MAX_BUFFERS 8
#define MAX_DIMS 4

struct machine {
    struct arena arena;
    struct ir_kernel *kernel;
    struct jit_sites sites;
    void *data[MAX_BUFFERS];
    int64_t dims[MAX_DIMS];
    union jit_scalar scalars[MAX_DIMS];
    int64_t packed[MAX_BUFFERS][AKG_MAX_RANK];
    const int64_t *strides[MAX_BUFFERS]; /* NULL: packed */
    struct jit_trap trap;
};

static jmp_buf out_of_memory; /* main's */

/* Reads a kernel; false, with the complaint printed, when it is none. */
static bool machine_open(struct machine *machine, const char *text)
{
    *machine = (struct machine){.kernel = NULL};
    arena_init(&machine->arena, &out_of_memory);
    akg_diagnostics *diagnostics = diagnostics_create("test", text, strlen(text));
    machine->kernel = ir_read(&machine->arena, text, strlen(text), diagnostics);
    if (!machine->kernel && diagnostics && akg_diagnostics_count(diagnostics))
        fprintf(stderr, "%s\n", akg_diagnostics_at(diagnostics, 0)->message);
    akg_diagnostics_free(diagnostics);
    if (!CHECK(machine->kernel != NULL)) {
        fprintf(stderr, "    %s\n", text);
        arena_free(&machine->arena);
        return false;
    }
    struct text complaint;
    text_init(&complaint);
    if (!CHECK(ir_verify(machine->kernel, &complaint)))
        fprintf(stderr, "    %s\n", complaint.data);
    text_free(&complaint);
    sites_number(machine->kernel, &machine->sites);
    return true;
}

static void machine_close(struct machine *machine)
{
    arena_free(&machine->arena);
}

static void pack(struct machine *machine, int index)
{
    const struct ir_buffer *buffer = machine->kernel->buffers.items[index];
    int64_t stride = 1;
    for (int axis = buffer->rank - 1; axis >= 0; axis--) {
        union dtype_value extent = {.i = 0};
        CHECK(scalar_evaluate(buffer->shape[axis], machine->dims, machine->scalars, &extent));
        machine->packed[index][axis] = stride;
        stride *= extent.i;
    }
}

static int run(struct machine *machine)
{
    const int64_t *strides[MAX_BUFFERS];
    for (int k = 0; k < machine->kernel->buffers.count; k++) {
        pack(machine, k);
        strides[k] = machine->strides[k] ? machine->strides[k] : machine->packed[k];
    }
    memset(&machine->trap, 0x55, sizeof machine->trap);
    struct jit_frame frame = {.data = machine->data,
                              .dims = machine->dims,
                              .strides = strides,
                              .scalars = machine->scalars,
                              .trap = &machine->trap};
    return interpreter_run(machine->kernel, &frame);
}

static const struct jit_site *trapped_at(const struct machine *machine)
{
    int64_t site = machine->trap.site;
    return CHECK(site >= 1 && site <= machine->sites.rows.count) ? &machine->sites.rows.items[site - 1]
                                                                 : NULL;
}

/* ---- a whole kernel --------------------------------------------------------- */

static void test_matmul(void)
{
    struct machine m;
    if (!machine_open(&m, "kernel matmul {\n"
                          "  input a: float32[M, K]\n"
                          "  input b: float32[K, N]\n"
                          "  output c: float32[M, N]\n"
                          "  parameters a, b\n"
                          "  results c\n"
                          "  body {\n"
                          "    for i = 0 to M step 1 {\n"
                          "      for j = 0 to N step 1 {\n"
                          "        var sum: float32 = 0.0:float32\n"
                          "        for k = 0 to K step 1 { sum = (sum + (a[i, k] * b[k, j])) }\n"
                          "        c[i, j] = sum\n"
                          "      }\n"
                          "    }\n"
                          "  }\n"
                          "}\n"))
        return;
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, -1, 2, 0, 3, 7}, c[4];
    for (int k = 0; k < m.kernel->dims.count; k++)
        m.dims[k] = strcmp(m.kernel->dims.items[k]->name, "K") == 0 ? 3 : 2;
    m.data[0] = a;
    m.data[1] = b;
    m.data[2] = c;
    CHECK_INT(run(&m), 0);
    float expected[] = {14, 20, 32, 38};
    CHECK(memcmp(c, expected, sizeof c) == 0);
    machine_close(&m);
}

/* ---- control flow ----------------------------------------------------------- */

/* Runs a body that fills `y: int64[n]`, of 12 elements set to -9, and compares the first `count`. */
static void check_body(const char *body, const int64_t *expected, int count)
{
    struct machine m;
    char text[2000];
    int64_t x[4] = {3, 0, 7, 2}, y[12];
    snprintf(text, sizeof text,
             "kernel k { attribute n: int64 input x: int64[4] output y: int64[12] parameters n, x results y\n"
             "body {\n%s\n} }",
             body);
    if (!machine_open(&m, text))
        return;
    for (int k = 0; k < 12; k++)
        y[k] = -9;
    m.scalars[0].i = 5;
    m.data[0] = x;
    m.data[1] = y;
    if (!CHECK(run(&m) == 0))
        fprintf(stderr, "    trap at site %lld in %s\n", (long long)m.trap.site, body);
    for (int k = 0; k < count; k++)
        if (!check_one(y[k] == expected[k], __FILE__, __LINE__, "y[k] == expected[k]"))
            fprintf(stderr, "    y[%d] is %lld, should be %lld in %s\n", k, (long long)y[k],
                    (long long)expected[k], body);
    machine_close(&m);
}

#define BODY(text, ...)                                                                                      \
    do {                                                                                                     \
        static const int64_t expected[] = {__VA_ARGS__};                                                     \
        check_body(text, expected, COUNT(expected));                                                         \
    } while (0)

static void test_loops(void)
{
    BODY("for i = 0 to n step 1 { y[i] = (i * i) }", 0, 1, 4, 9, 16, -9);
    BODY("for i = n to 0 step -2 { y[i] = i }", -9, 1, -9, 3, -9, 5, -9);
    BODY("for i = 3 to 3 step 1 { y[0] = 1 } for i_1 = 3 to 4 step -1 { y[1] = 1 }", -9, -9);
    BODY("for i = 1 to 12 step 4 { y[i] = i }", -9, 1, -9, -9, -9, 5, -9, -9, -9, 9, -9, -9);
    /* a triangle; the loop is left empty in the first round */
    BODY("var c: int64 = 0 for i = 0 to 4 step 1 { for j = 0 to i step 1 { c = (c + 1) } } y[0] = c", 6, -9);
    /* no variable wraps at the ends of int64 */
    BODY("var c: int64 = 0 for i = 9223372036854775800 to 9223372036854775807 step 5 { c = (c + 1) } y[0] = "
         "c\n"
         "c = 0 for j = -9223372036854775800 to (-9223372036854775807 - n) step -7 { c = (c + 1) } y[1] = c\n"
         "c = 0 for k = (-9223372036854775807 - 1) to 9223372036854775807 step 9223372036854775807 { c = (c "
         "+ 1) }"
         "y[2] = c",
         2, 0, 3);
    BODY("var c: int64 = 0 for j = -9223372036854775800 to -9223372036854775807 step -7 { c = (c + 1) } y[0] "
         "= c",
         1, -9);
}

static void test_jumps(void)
{
    BODY("for i = 0 to 8 step 1 { if (i == 2) { continue } if (i == 5) { break } y[i] = i }", 0, 1, -9, 3, 4,
         -9);
    /* only the innermost loop is left */
    BODY("for i = 0 to 3 step 1 { for j = 0 to 4 step 1 { if (j > i) { break } y[((i * 4) + j)] = j } }", 0,
         -9, -9, -9, 0, 1, -9, -9, 0, 1, 2, -9);
    BODY("var k: int64 = 0 while (k < 7) { k = (k + 1) if (k == 3) { continue } if (k == 6) { break } y[k] = "
         "k }",
         -9, 1, 2, -9, 4, 5, -9);
    BODY("for i = 0 to 2 step 1 { var k: int64 = 0 while true { k = (k + 1) if (k > (2 + i)) { break } } "
         "y[i] = k }",
         3, 4, -9);
    BODY("var k: int64 = 9 while (k < 7) { y[0] = 1 } y[1] = k", -9, 9, -9);
    BODY("if (n == 4) { y[0] = 1 } else if (n == 5) { y[0] = 2 } else { y[0] = 3 }"
         "if (n == 4) { y[1] = 1 } else if (n == 6) { y[1] = 2 } else { y[1] = 3 } if (n > 9) { y[2] = 1 }",
         2, 3, -9);
    BODY("for i = 0 to 4 step 1 { if (i < 2) { if (i == 0) { continue } y[i] = 1 } else { y[i] = 2 break } }",
         -9, 1, 2, -9);
}

static void test_scalars(void)
{
    BODY("for i = 0 to 3 step 1 { let t: int64 = (i * 10) var s: int64 = 1 s = (s + t) y[i] = s }", 1, 11, 21,
         -9);
    BODY("let c: int32 = int32((n + 2147483647)) y[0] = int64(c)", -2147483644, -9);
    /* a scalar that its own new value reads more than once */
    BODY("var a: bool = true a = (a and not(a)) var b: bool = false b = (b or not(b))\n"
         "y[0] = int64(a) y[1] = int64(b)",
         0, 1, -9);
    BODY("var a: bool = true a = select(a, not(a), a) y[0] = int64(a)", 0, -9);
    BODY("let f: float16 = float16(2049) y[0] = int64(f) let g: float16 = (f + 1.0:float16) y[1] = int64(g)",
         2048, 2048, -9);
    BODY("let u: uint64 = 18446744073709551615:uint64 y[0] = int64((u >> 63:uint64)) y[1] = int64((u > "
         "1:uint64))",
         1, 1, -9);
    BODY("y[0] = int64((float64(n) / 2.0:float64)) y[1] = (n // -2) y[2] = (n % -3) y[3] = (-7 % n)", 2, -3,
         -1, 3);
}

/* The sides that are not needed would leave x, or divide by zero. */
static void test_lazy(void)
{
    BODY("for i = 0 to 6 step 1 { if ((i < 4) and (x[i?] > 0)) { y[i] = x[i?] } }", 3, -9, 7, 2, -9);
    BODY("for i = 0 to 6 step 1 { if ((i >= 4) or (x[i?] == 0)) { y[i] = 1 } }", -9, 1, -9, -9, 1, 1, -9);
    BODY("for i = 0 to 6 step 1 { y[i] = select((i < 4), x[i?], 8) }", 3, 0, 7, 2, 8, 8, -9);
    BODY("for i = 0 to 4 step 1 { y[i] = select((x[i] == 0), -1, (42 //? x[i])) }", 14, -1, 6, 21, -9);
}

static void test_gather(void)
{
    BODY("y[x[0]?] = 1 y[x[x[3]?]?] = 2 y[(x[1] + 0)?] = 0", 0, -9, -9, 1, -9, -9, -9, 2, -9);
}

/* ---- traps ------------------------------------------------------------------------ */

/* `y` has 4 elements, `x` too; the trap is left in *m. True when it trapped. */
static bool trap_body(struct machine *m, const char *body, int64_t *y)
{
    static int64_t x[4] = {3, 0, 7, 2};
    char text[3000];
    snprintf(
        text, sizeof text,
        "kernel k { attribute n: int64 input x: int64[4] output y: int64[2, 2] parameters n, x results y\n"
        "body {\n%s\n} }",
        body);
    if (!machine_open(m, text))
        return false;
    m->scalars[0].i = 5;
    m->data[0] = x;
    m->data[1] = y;
    memset(y, 0, 4 * sizeof *y);
    return CHECK(run(m) == 1);
}

static void check_index_trap(const char *body, const char *buffer, int axis, int64_t index, int64_t extent)
{
    struct machine m;
    int64_t y[4];
    if (!trap_body(&m, body, y))
        return;
    const struct jit_site *site = trapped_at(&m);
    if (site) {
        CHECK_INT(site->kind, JIT_SITE_INDEX);
        CHECK_STRING(site->buffer->name, buffer);
    }
    CHECK_INT(m.trap.axis, axis);
    CHECK_INT(m.trap.index, index);
    CHECK_INT(m.trap.extent, extent);
    machine_close(&m);
}

static void test_index_traps(void)
{
    check_index_trap("y[0, 2?] = 1", "y", 1, 2, 2);
    check_index_trap("y[n?, 2?] = 1", "y", 0, 5, 2);
    check_index_trap("y[0, 0] = x[(n - 6)?]", "x", 0, -1, 4);
    check_index_trap("y[0, 0] = x[4]", "x", 0, 4, 4);   /* claimed to be proved */
    check_index_trap("y[0, 0] = x[4!]", "x", 0, 4, 4);  /* claimed to follow from the preconditions */
    check_index_trap("y[9?, 0] = x[4?]", "y", 0, 9, 2); /* the target is told first */
    check_index_trap("y[9?, x[5]] = 1", "x", 0, 5, 4);  /* all indices are evaluated before any is tested */
    check_index_trap("y[0, 0] = (x[8?] + x[9?])", "x", 0, 8, 4);
    check_index_trap("y[0, 0] = x[(9223372036854775807 + n)?]", "x", 0, INT64_MIN + 4, 4);
    check_index_trap("if (x[x[2]?] > 0) { y[0, 0] = 1 }", "x", 0, 7, 4);
    check_index_trap("for i = 0 to x[4?] step 1 { y[0, 0] = 1 }", "x", 0, 4, 4);
    check_index_trap("while (x[4?] > 0) { y[0, 0] = 1 }", "x", 0, 4, 4);
    check_index_trap("let t: int64 = x[-1?] y[0, 0] = t", "x", 0, -1, 4);
    check_index_trap("assert (x[-2?] > 0)", "x", 0, -2, 4);
}

/* Loops around a trap, with those that have ended and a `while` between. */
static void test_trap_loops(void)
{
    struct machine m;
    int64_t y[4];
    if (!trap_body(&m,
                   "for e = 0 to 9 step 1 { y[0, 1] = e }\n"
                   "for i = 7 to 0 step -3 { var k: int64 = 0 while (k < 2) { k = (k + 1)\n"
                   "  for j = 0 to 6 step 1 { if (j == 1) { continue } y[0, 0] = x[j?] } } }",
                   y))
        return;
    const struct jit_site *site = trapped_at(&m);
    if (site && CHECK(site->loop_count == 2)) {
        CHECK_STRING(site->loops[0]->name, "i");
        CHECK_STRING(site->loops[1]->name, "j");
    }
    CHECK_INT(m.trap.loops[0], 7);
    CHECK_INT(m.trap.loops[1], 4);
    CHECK_INT(m.trap.loops[2], 0);
    CHECK_INT(y[0], 2); /* what came before has happened */
    CHECK_INT(y[1], 8);
    machine_close(&m);
}

static void test_deep_loops(void)
{
    char body[2000];
    int at = 0;
    for (int k = 0; k < 20; k++)
        at += snprintf(body + at, sizeof body - (size_t)at, "for i%d = %d to %d step 1 { ", k, k, k + 1);
    at += snprintf(body + at, sizeof body - (size_t)at, "y[0, 0] = x[i19?] ");
    for (int k = 0; k < 20; k++)
        at += snprintf(body + at, sizeof body - (size_t)at, "}");
    struct machine m;
    int64_t y[4];
    if (!trap_body(&m, body, y))
        return;
    const struct jit_site *site = trapped_at(&m);
    CHECK(site && site->loop_count == JIT_TRAP_LOOPS);
    CHECK_INT(m.trap.index, 19);
    for (int k = 0; k < JIT_TRAP_LOOPS; k++)
        CHECK_INT(m.trap.loops[k], k);
    machine_close(&m);
}

static void test_division_traps(void)
{
    static const char *const bodies[] = {
        "y[0, 0] = (n //? x[1])",
        "y[0, 0] = (n % x[1])", /* claimed not to be zero */
        "y[0, 0] = ceil_div(n, x[1]?)",
        "y[0, 0] = (x[1] **? (n - 6))",
        "let t: uint8 = (uint8(n) %? uint8(x[1])) y[0, 0] = int64(t)",
        "if ((n > 0) and ((n //? x[1]) > 0)) { y[0, 0] = 1 }",
    };
    for (int k = 0; k < COUNT(bodies); k++) {
        struct machine m;
        int64_t y[4];
        if (!trap_body(&m, bodies[k], y))
            continue;
        const struct jit_site *site = trapped_at(&m);
        CHECK(site && site->kind == JIT_SITE_DIVISION);
        CHECK_INT(y[0], 0);
        machine_close(&m);
    }
}

static void test_asserts(void)
{
    struct machine m;
    int64_t y[4];
    if (!trap_body(
            &m, "for i = 0 to 4 step 1 { assert (x[i] != 7) \"no \\\"sevens\\\"\" @3:5 y[0, 0] = (i + 1) }",
            y))
        return;
    const struct jit_site *site = trapped_at(&m);
    if (site) {
        CHECK_INT(site->kind, JIT_SITE_ASSERT);
        CHECK_STRING(site->message, "no \"sevens\"");
        CHECK_INT(site->span.line, 3);
    }
    CHECK_INT(m.trap.loops[0], 2);
    CHECK_INT(y[0], 2);
    machine_close(&m);
}

/* Numbers are given from 1, in the order of the text, once each. */
static void test_site_order(void)
{
    struct machine m;
    if (!machine_open(
            &m,
            "kernel k { input x: int64[4] output y: int64[4] output z: int64[] parameters x results y, z\n"
            "body { y[0] = (x[1] // x[x[2]]) assert true \"a\" z[] = 1 y[1] = 2 } }"))
        return;
    enum jit_site_kind kinds[] = {JIT_SITE_INDEX, JIT_SITE_DIVISION, JIT_SITE_INDEX, JIT_SITE_INDEX,
                                  JIT_SITE_INDEX, JIT_SITE_ASSERT,   JIT_SITE_INDEX};
    if (CHECK(m.sites.rows.count == COUNT(kinds)))
        for (int k = 0; k < COUNT(kinds); k++)
            CHECK_INT(m.sites.rows.items[k].kind, kinds[k]);
    CHECK_INT(m.kernel->body->access.site, 1);
    CHECK_INT(m.kernel->body->next->site, 6);
    CHECK_INT(m.kernel->body->next->next->access.site, 0); /* no index */
    machine_close(&m);
}

/* ---- memory ----------------------------------------------------------------------------- */

static void test_strides(void)
{
    struct machine m;
    if (!machine_open(&m, "kernel k { input a: int16[M, N] strided inout b: int16[M, N] strided output c: "
                          "int16[M, N] clear\n"
                          "parameters a, b results b, c\n"
                          "body { for i = 0 to M step 1 { for j = 0 to N step 1 {\n"
                          "  b[i, j] = (b[i, j] + a[i, j]) if (i == j) { c[i, j] = a[i, j] } } } } }"))
        return;
    int16_t a[] = {1, 2, 3, 4, 5, 6}, b[] = {10}, c[] = {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7};
    m.dims[0] = 2;
    m.dims[1] = 3;
    m.data[0] = &a[5]; /* reversed and transposed */
    m.strides[0] = (int64_t[]){-1, -2};
    m.data[1] = b; /* one element for all */
    m.strides[1] = (int64_t[]){0, 0};
    m.data[2] = c; /* every other element of a row of 6: the rest must not be cleared */
    m.strides[2] = (int64_t[]){6, 2};
    CHECK_INT(run(&m), 0);
    CHECK_INT(b[0], 31);
    int16_t expected[] = {6, 7, 0, 7, 0, 7, 0, 7, 3, 7, 0, 7};
    CHECK(memcmp(c, expected, sizeof c) == 0);
    machine_close(&m);
}

static void test_clearing(void)
{
    struct machine m;
    if (!machine_open(&m, "kernel k { input x: int32[n] output y: int32[n] output z: int32[n] clear\n"
                          "temporary t: int32[2] clear temporary u: int32[2] parameters x results y, z\n"
                          "body { for i = 0 to n step 1 { allocate t allocate u\n"
                          "  t[1] = (t[1] + x[i]) u[1] = (u[1] + x[i]) y[i] = t[1] } } }"))
        return;
    int32_t x[] = {1, 2, 3}, y[3], z[] = {8, 8, 8}, t[] = {9, 9}, u[] = {100, 100};
    m.dims[0] = 3;
    m.data[0] = x;
    m.data[1] = y;
    m.data[2] = z;
    m.data[3] = t;
    m.data[4] = u;
    CHECK_INT(run(&m), 0);
    CHECK(y[0] == 1 && y[1] == 2 && y[2] == 3);
    CHECK(z[0] == 0 && z[1] == 0 && z[2] == 0);
    CHECK(t[0] == 0 && t[1] == 3);
    CHECK(u[0] == 100 && u[1] == 106); /* as it came */

    m.dims[0] = 0; /* no elements, no memory */
    m.data[0] = m.data[1] = m.data[2] = NULL;
    CHECK_INT(run(&m), 0);
    machine_close(&m);
}

/* Shapes made of dims and attributes; a rank of 0. */
static void test_shapes(void)
{
    struct machine m;
    if (!machine_open(
            &m,
            "kernel k { attribute p: int64 attribute s: float64 attribute f: bool input x: float64[n]\n"
            "output y: float64[((n + (2 * p)) // 2)] output z: float64[] parameters x, p, s, f results y, z\n"
            "body { z[] = s for i = 0 to ((n + (2 * p)) // 2) step 1 {\n"
            "  y[i] = select((f and (i < n)), (x[i?] * s), z[]) } y[(3 + n)?] = 1.0:float64 } }"))
        return;
    double x[] = {1, 2, 3, 4}, y[5] = {0}, z = 0;
    m.dims[0] = 4;
    m.scalars[0].i = 3;
    m.scalars[1].d = 0.5;
    m.scalars[2].i = 1;
    m.data[0] = x;
    m.data[1] = y;
    m.data[2] = &z;
    CHECK_INT(run(&m), 1);
    CHECK_INT(m.trap.index, 7);
    CHECK_INT(m.trap.extent, 5);
    CHECK(y[0] == 0.5 && y[3] == 2 && y[4] == 0.5 && z == 0.5);
    m.scalars[2].i = 0;
    CHECK_INT(run(&m), 1);
    CHECK(y[0] == 0.5 && y[3] == 0.5);
    machine_close(&m);
}

/* Elements of every dtype, through memory. */
static void test_dtypes(void)
{
    for (akg_dtype dtype = AKG_BOOL; dtype < AKG_DTYPE_COUNT; dtype++) {
        const char *name = akg_dtype_name(dtype);
        char text[400];
        snprintf(
            text, sizeof text,
            "kernel k { input x: float64[n] output a: %s[n] output b: float64[n] parameters x results a, b\n"
            "body { for i = 0 to n step 1 { a[i] = %s(x[i]) b[i] = float64(a[i]) } } }",
            name, dtype == AKG_FLOAT64 ? "abs" : name);
        if (dtype == AKG_FLOAT64) /* a cast to the same dtype is no operation */
            snprintf(text, sizeof text,
                     "kernel k { input x: float64[n] output a: float64[n] output b: float64[n] parameters x\n"
                     "results a, b body { for i = 0 to n step 1 { a[i] = x[i] b[i] = a[i] } } }");
        struct machine m;
        if (!machine_open(&m, text))
            continue;
        double x[] = {0, 1, -3.7, 1000.3, 1e30}, b[5], a[5];
        m.dims[0] = 5;
        m.data[0] = x;
        m.data[1] = a;
        m.data[2] = b;
        CHECK_INT(run(&m), 0);
        for (int k = 0; k < 5; k++) {
            CHECK(b[k] == dtype_to_double(dtype, dtype_from_double(dtype, x[k])));
            CHECK(dtype_to_double(dtype, dtype_load(dtype, (char *)a + k * dtype_table[dtype].size)) == b[k]);
        }
        machine_close(&m);
    }
}

#ifdef AKG_FAULT_INJECTION
static void test_out_of_memory(void)
{
    struct machine m;
    int64_t y[2] = {5, 5};
    if (!machine_open(&m, "kernel k { output y: int64[2] clear results y body { y[0] = 1 } }"))
        return;
    m.data[0] = y;
    memory_fail_after(0);
    CHECK_INT(run(&m), 1);
    memory_fail_after(-1);
    CHECK_INT(m.trap.site, 0);
    CHECK(y[0] == 5 && y[1] == 5);
    machine_close(&m);
}
#endif

/* ---- size and sharing ---------------------------------------------------------------------- */

/* if n == 0: ... else if n == 1: ... and so on, far longer than the stack would be deep. */
static void test_long_chain(void)
{
    enum { LENGTH = 200000 };
    struct arena arena;
    arena_init(&arena, &out_of_memory);
    struct ir_kernel *kernel = ir_kernel_new(&arena, "chain");
    struct ir_symbol *n = ir_symbol_new(kernel, IR_SYMBOL_ATTRIBUTE, "n", AKG_INT64);
    struct ir_buffer *y = ir_buffer_new(kernel, "y", IR_OUTPUT, AKG_INT64, 0);
    struct ir_stmt **place = &kernel->body;
    for (int k = 0; k < LENGTH; k++) {
        struct ir_stmt *test = *place = ir_stmt_new(kernel, IR_IF, (struct span){0});
        test->value =
            ir_operation(kernel, OP_EQ, ir_symbol_use(kernel, n), ir_integer(kernel, AKG_INT64, k), NULL);
        struct ir_stmt *store = test->body = ir_stmt_new(kernel, IR_STORE, (struct span){0});
        store->access.buffer = y;
        store->value = ir_integer(kernel, AKG_INT64, k + 1);
        place = &test->otherwise;
    }
    struct jit_sites sites = {{0}};
    sites_number(kernel, &sites);
    int64_t value = 0;
    struct jit_trap trap;
    struct jit_frame frame = {.data = (void *[]){&value},
                              .strides = (const int64_t *[]){NULL},
                              .scalars = (union jit_scalar[]){{.i = LENGTH - 1}},
                              .trap = &trap};
    CHECK_INT(interpreter_run(kernel, &frame), 0);
    CHECK_INT(value, LENGTH);
    arena_free(&arena);
}

struct job {
    const struct ir_kernel *kernel;
    int64_t factor, sum;
    int failed;
};

static void *work(void *argument)
{
    struct job *job = argument;
    struct jit_trap trap;
    struct jit_frame frame = {.data = (void *[]){&job->sum},
                              .strides = (const int64_t *[]){NULL},
                              .scalars = (union jit_scalar[]){{.i = job->factor}},
                              .trap = &trap};
    job->failed = interpreter_run(job->kernel, &frame);
    return NULL;
}

static void test_threads(void)
{
    struct machine m;
    if (!machine_open(&m,
                      "kernel k { attribute f: int64 output y: int64[] clear parameters f results y body {\n"
                      "for i = 0 to 2000 step 1 { let t: int64 = (i * f) y[] = (y[] + t) } } }"))
        return;
    pthread_t threads[4];
    struct job jobs[4];
    for (int k = 0; k < 4; k++) {
        jobs[k] = (struct job){m.kernel, k + 1, -1, -1};
        CHECK_INT(pthread_create(&threads[k], NULL, work, &jobs[k]), 0);
    }
    for (int k = 0; k < 4; k++) {
        pthread_join(threads[k], NULL);
        CHECK_INT(jobs[k].failed, 0);
        CHECK_INT(jobs[k].sum, 1999000 * (k + 1));
    }
    machine_close(&m);
}

int main(void)
{
    if (setjmp(out_of_memory)) {
        CHECK(!"out of memory");
        return check_done();
    }
    test_matmul();
    test_loops();
    test_jumps();
    test_scalars();
    test_lazy();
    test_gather();
    test_index_traps();
    test_trap_loops();
    test_deep_loops();
    test_division_traps();
    test_asserts();
    test_site_order();
    test_strides();
    test_clearing();
    test_shapes();
    test_dtypes();
#ifdef AKG_FAULT_INJECTION
    test_out_of_memory();
#endif
    test_long_chain();
    test_threads();
    return check_done();
}

/*
 * test_backend_tcc.c: libtcc inside the library: what emitted C can see, pages that are never writable and
 * executable, errors, foreign locales, threads, thousands of compiles, and memory that runs out.
 */
#include "check.h"
#include "../../jit/vector_plan.h"
#include "jit_pair.h"

#include <locale.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

static const char simple[] = "int akg_kernel(const void *frame) { (void)frame; return 42; }\n";

static akg_diagnostics *diagnostics_new(void)
{
    akg_diagnostics *diagnostics = diagnostics_create("test", NULL, 0);
    if (!diagnostics)
        exit(5);
    return diagnostics;
}

static int run(const struct backend_code *code)
{
    struct jit_frame frame = {.data = NULL};
    return code->entry(&frame);
}

/* The permissions of the mapping that holds an address, "r-xp". */
static bool permissions_of(const void *address, char permissions[8])
{
    FILE *file = fopen("/proc/self/maps", "r");
    unsigned long first, end;
    bool found = false;
    char line[600];
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "%lx-%lx %7s", &first, &end, permissions) == 3 &&
                (unsigned long)address >= first && (unsigned long)address < end;
    if (file)
        fclose(file);
    return found;
}

static bool any_writable_code(void)
{
    FILE *file = fopen("/proc/self/maps", "r");
    bool any = false;
    char line[600], permissions[8];
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%*x-%*x %7s", permissions) == 1 && permissions[1] == 'w' && permissions[2] == 'x')
            any = true;
    if (file)
        fclose(file);
    return any;
}

static void test_pages(void)
{
    akg_diagnostics *diagnostics = diagnostics_new();
    struct backend_code code;
    char permissions[8] = "";
    CHECK_INT(backend_tcc_compile(simple, "akg_kernel", NULL, &code, diagnostics), AKG_OK);
    CHECK_INT(run(&code), 42);
    CHECK(permissions_of((void *)code.entry, permissions));
    CHECK_STRING(permissions, "r-xp");
    CHECK(!any_writable_code());
    void *memory = code.pages.memory;
    backend_tcc_free(&code);
    CHECK(code.pages.memory == NULL && !permissions_of(memory, permissions));
    backend_tcc_free(&code); /* again does nothing */
    akg_diagnostics_free(diagnostics);
}

static void expect_error(const char *source, const char *piece)
{
    akg_diagnostics *diagnostics = diagnostics_new();
    struct backend_code code;
    CHECK_INT(backend_tcc_compile(source, "akg_kernel", NULL, &code, diagnostics), AKG_ERROR_INTERNAL);
    CHECK(code.pages.memory == NULL);
    CHECK_INT(akg_diagnostics_error_count(diagnostics), 1);
    const akg_diagnostic *message = akg_diagnostics_at(diagnostics, 0);
    if (!CHECK(message && strstr(message->message, piece)))
        fprintf(stderr, "    %s\n", message ? message->message : "no message");
    akg_diagnostics_free(diagnostics);
}

/* Errors are reported and leave libtcc usable. Nothing of the process can be named. */
static void test_errors(void)
{
    expect_error("int akg_kernel(void) { return undeclared; }", "undeclared");
    expect_error("int akg_kernel(void) { return 1 +; }", "identifier expected");
    expect_error("int system(const char *); int akg_kernel(void) { return system(\"true\"); }", "system");
    expect_error("int other(void) { return 1; }", "without a message");
    expect_error("#include <stdio.h>\nint akg_kernel(void) { return 0; }", "stdio.h");
    expect_error("int akg_kernel(void) { return implicit(1); }", "implicit");
    expect_error("#error stop here\n", "stop here");
    struct text text;
    text_init(&text);
    for (int k = 0; k < 2000; k++) /* a message longer than is kept */
        text_string(&text, "unknown_name ");
    expect_error(text.data, "expected");
    text.length = 0;
    text_string(&text, "int akg_kernel(void) { return ");
    for (int k = 0; k < 600; k++)
        text_string(&text, "1.0 + (akg_kernel() * (");
    text_string(&text, "1");
    for (int k = 0; k < 600; k++)
        text_string(&text, "))");
    text_string(&text, "; }");
    expect_error(text.data, "memory full");
    text_free(&text);
    test_pages();
}

/* The structs of the emitted text are those of frame.h. The probe is linked with no vector code. */
static void test_layout(void)
{
    static const char text[] =
        "kernel k {\n input x: float32[N]\n output y: float32[N]\n parameters x\n results y\n body {\n"
        " for i = 0 to N step 1 {\n y[(i * i)?] = x[i]\n }\n }\n}\n";
    static const char probe[] =
        "int probe(const struct akg_frame *frame)\n{\n long long *out = frame->data[0];\n"
        " out[0] = (long long)&((struct akg_frame *)0)->data;\n out[1] = (long long)&((struct akg_frame "
        "*)0)->dims;\n"
        " out[2] = (long long)&((struct akg_frame *)0)->strides;\n"
        " out[3] = (long long)&((struct akg_frame *)0)->scalars;\n"
        " out[4] = (long long)&((struct akg_frame *)0)->trap;\n out[5] = sizeof(struct akg_frame);\n"
        " out[13] = (long long)&((struct akg_frame *)0)->split;\n"
        " out[14] = (long long)&((struct akg_frame *)0)->reach;\n"
        " out[15] = (long long)&((struct akg_frame *)0)->deferred;\n"
        " out[16] = (long long)&((struct akg_frame *)0)->threads;\n"
        " out[6] = (long long)&((struct akg_trap *)0)->site;\n out[7] = (long long)&((struct akg_trap "
        "*)0)->axis;\n"
        " out[8] = (long long)&((struct akg_trap *)0)->index;\n"
        " out[9] = (long long)&((struct akg_trap *)0)->extent;\n"
        " out[10] = (long long)&((struct akg_trap *)0)->loops;\n out[11] = sizeof(struct akg_trap);\n"
        " out[12] = sizeof(union akg_scalar);\n return 0;\n}\n";
    const size_t expected[] = {offsetof(struct jit_frame, data),
                               offsetof(struct jit_frame, dims),
                               offsetof(struct jit_frame, strides),
                               offsetof(struct jit_frame, scalars),
                               offsetof(struct jit_frame, trap),
                               sizeof(struct jit_frame),
                               offsetof(struct jit_trap, site),
                               offsetof(struct jit_trap, axis),
                               offsetof(struct jit_trap, index),
                               offsetof(struct jit_trap, extent),
                               offsetof(struct jit_trap, loops),
                               sizeof(struct jit_trap),
                               sizeof(union jit_scalar),
                               offsetof(struct jit_frame, split),
                               offsetof(struct jit_frame, reach),
                               offsetof(struct jit_frame, deferred),
                               offsetof(struct jit_frame, threads)};
    struct jit_pair pair;
    struct backend_code code;
    int64_t out[17] = {0};
    void *data[] = {out};
    struct jit_frame frame = {.data = data};
    pair_init(&pair);
    pair.vectors.target = X86_TARGET_NONE;
    CHECK(pair_read(&pair, text) && pair_compile(&pair, false));
    text_string(&pair.text, probe);
    if (CHECK(backend_tcc_compile(pair.text.data, "probe", NULL, &code, pair.diagnostics) == AKG_OK))
        code.entry(&frame);
    for (int k = 0; k < 17; k++)
        CHECK_INT(out[k], expected[k]);
    backend_tcc_free(&code);
    pair_free(&pair);
}

/* Numbers have a decimal point whatever the locale says; the locale of the thread comes back. */
static void test_locale(void)
{
    static const char source[] =
        "int akg_kernel(const void *frame) { (void)frame; return (int)(2.75f * 4); }\n";
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "sv_SE.UTF-8"};
    akg_diagnostics *diagnostics = diagnostics_new();
    struct backend_code code;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (setlocale(LC_ALL, names[k]))
            break;
    char before[40], after[40];
    snprintf(before, sizeof before, "%.1f", 0.5);
    CHECK_INT(backend_tcc_compile(source, "akg_kernel", NULL, &code, diagnostics), AKG_OK);
    CHECK_INT(run(&code), 11);
    snprintf(after, sizeof after, "%.1f", 0.5);
    CHECK_STRING(after, before);
    setlocale(LC_ALL, "C");
    backend_tcc_free(&code);
    akg_diagnostics_free(diagnostics);
}

/* Under the leak check of the address sanitizer; without it, by the size of the process. */
static long resident_pages(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    if (file && fscanf(file, "%*d %ld", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return pages;
}

static void test_many(void)
{
    akg_diagnostics *diagnostics = diagnostics_new();
    long before = 0;
    int good = 0;
    for (int k = 0; k < 1100; k++) {
        struct backend_code code;
        if (k == 100)
            before = resident_pages();
        good += backend_tcc_compile(k % 3 ? simple : "int akg_kernel(", "akg_kernel", NULL, &code,
                                    diagnostics) == AKG_OK;
        backend_tcc_free(&code);
    }
    CHECK_INT(good, 733);
    CHECK(resident_pages() - before < 2048);
    akg_diagnostics_free(diagnostics);
}

static void *compile_in_thread(void *argument)
{
    int number = (int)(intptr_t)argument, right = 0;
    akg_diagnostics *diagnostics = diagnostics_new();
    for (int k = 0; k < 40; k++) {
        struct backend_code code;
        char source[200];
        snprintf(source, sizeof source,
                 "float expf(float a); int akg_kernel(const void *frame) { (void)frame; return %d + "
                 "(int)expf(0.0f); }",
                 number * 1000 + k);
        if (backend_tcc_compile(source, "akg_kernel", NULL, &code, diagnostics) == AKG_OK)
            right += run(&code) == number * 1000 + k + 1;
        backend_tcc_free(&code);
    }
    akg_diagnostics_free(diagnostics);
    return (void *)(intptr_t)right;
}

static void test_threads(void)
{
    pthread_t threads[8];
    for (intptr_t k = 0; k < 8; k++)
        CHECK_INT(pthread_create(&threads[k], NULL, compile_in_thread, (void *)k), 0);
    for (int k = 0; k < 8; k++) {
        void *right = NULL;
        pthread_join(threads[k], &right);
        CHECK_INT((intptr_t)right, 40);
    }
}

#ifdef AKG_FAULT_INJECTION
/* Every allocation of a compile fails once; the next compile works. */
static void test_memory(void)
{
    struct text text;
    text_init(&text);
    text_string(&text, "int akg_kernel(const void *frame)\n{\n int s = 0;\n (void)frame;\n");
    for (int k = 0; k < 40000; k++) /* large enough that libtcc's memory grows in the middle */
        text_format(&text, " s = s * 3 + %d;\n", k);
    text_string(&text, " return s;\n}\n");
    int failures = 0;
    for (long after = 0; after < 200; after++) {
        akg_diagnostics *diagnostics = diagnostics_new();
        struct backend_code code;
        memory_fail_after(after);
        akg_status status = backend_tcc_compile(text.data, "akg_kernel", NULL, &code, diagnostics);
        bool struck = memory_fail_remaining() < 0;
        memory_fail_after(-1);
        CHECK(status == (struck ? AKG_ERROR_MEMORY : AKG_OK));
        failures += struck;
        backend_tcc_free(&code);
        akg_diagnostics_free(diagnostics);
        if (!struck)
            break;
    }
    CHECK(failures > 2);
    text_free(&text);
    test_pages();
}

/* The emitter, too, says so by its text and leaves nothing. */
static void test_emitter_memory(void)
{
    static const char source[] =
        "kernel k {\n input x: float32[N]\n output y: float16[N] strided clear\n parameters x\n results y\n "
        "body {\n"
        " for i = 0 to N step 1 {\n let unread: int32 = 3:int32\n"
        " y[i?] = float16(select((x[i] > 0.5:float32), x[(i - 1)?], sin(x[i])))\n }\n }\n}\n";
    struct jit_pair pair;
    struct vector_plan plan;
    struct emit_c_options options = {.entry = "akg_kernel", .plan = &plan};
    pair_init(&pair);
    CHECK(pair_read(&pair, source) && pair_compile(&pair, false));
    CHECK(vector_plan_make(&plan, pair.kernel, &pair.vectors, false));
    int failures = 0;
    for (long after = 0; after < 500; after++) {
        struct text text, complaint;
        text_init(&text);
        text_init(&complaint);
        memory_fail_after(after);
        CHECK(emit_c(&text, pair.kernel, &options, &complaint));
        bool struck = memory_fail_remaining() < 0;
        memory_fail_after(-1);
        CHECK(text.failed == struck);
        failures += struck;
        if (!struck)
            CHECK_STRING(text.data, pair.text.data);
        text_free(&text);
        text_free(&complaint);
        if (!struck)
            break;
    }
    CHECK(failures > 5);
    vector_plan_free(&plan);
    pair_free(&pair);
}
#endif

int main(void)
{
    test_pages();
    test_errors();
    test_layout();
    test_locale();
    test_many();
    test_threads();
#ifdef AKG_FAULT_INJECTION
    test_memory();
    test_emitter_memory();
#endif
    test_pages();
    return check_done();
}

/*
 * test_cuda_compile.c: every kernel of tests/kernels, examples, stdlib and bench/suite as CUDA, compiled by
 * NVRTC for each architecture without a complaint. Needs no GPU; where NVRTC is not there, it says that it
 * skips.
 *
 * Three quarters of the time go to making machine code of PTX. So one unit in eight becomes machine code, for
 * one of the architectures, which take turns, and PTX for the others; products, which hold instructions of
 * their own, become machine code for each. Units of tests/kernels, which are most of all, become PTX for one
 * of them. `every` makes machine code of all, for all.
 *
 * Many kernels go into one unit, for a unit costs more than a kernel, and none is optimised, which takes most
 * of the time. A compiler that cannot leave that out is given one kernel in ten, as far as PTX, and the units
 * take the architectures in turn. With the argument `optimised` all is compiled as it is for a call, for each
 * of them. Further arguments: files, instead of those folders.
 */
#include "check.h"

#include "../../base/text.h"
#include "../../ir/ir.h"
#include "../../include/akg.h"
#include "../../jit/cuda.h"
#include "../../jit/nvrtc.h"

#include <glob.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

static const int architectures[][2] = {{7, 5}, {8, 0}, {9, 0}};

/* Kernels of a unit, of how many one is taken by a compiler that must optimise, of how many units one
 * becomes machine code, and the first compiler that need not optimise. */
enum { ARCHITECTURES = 3, TOGETHER = 16, TAKEN = 10, ASSEMBLED = 8, QUICK_VERSION = 12090 };

#ifdef AKG_SANITIZED
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static struct {
    struct text text;
    int seen, kernels, in_unit, units, kept[ARCHITECTURES], assembled[ARCHITECTURES];
    bool all, optimised;
    enum { EACH, IN_TURN, ONE } care; /* which architectures the kernels at hand meet */
} batch;

/* ---- units ------------------------------------------------------------------------------ */

static void compile_for(int architecture, bool ptx)
{
    struct nvrtc_request request = {.name = "unit",
                                    .text = batch.text.data,
                                    .major = architectures[architecture][0],
                                    .minor = architectures[architecture][1],
                                    .ptx = ptx,
                                    .quick = !batch.optimised};
    struct nvrtc_code code;
    akg_diagnostics *diagnostics = diagnostics_create("unit.cu", NULL, 0);
    char *why = NULL;
    akg_status status = nvrtc_compile(&request, &code, diagnostics);
    CHECK_INT(status, AKG_OK);
    if (status == AKG_OK) {
        batch.kept[architecture] += batch.in_unit;
        batch.assembled[architecture] += ptx ? 0 : batch.in_unit;
        nvrtc_free(&code);
    } else if (akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &why) == AKG_OK) {
        fprintf(stderr, "%s\n%s", why, getenv("AKG_SHOW_UNIT") ? batch.text.data : "");
    }
    akg_free(why);
    akg_diagnostics_free(diagnostics);
}

static void compile_unit(void)
{
    if (batch.in_unit == 0)
        return;
    CHECK(!batch.text.failed);
    for (int k = 0; k < ARCHITECTURES; k++) {
        bool is_turn = k == batch.units % ARCHITECTURES;
        bool is_assembled = batch.care == EACH || (is_turn && batch.units % ASSEMBLED == 0);
        if (is_turn || (batch.all && batch.care != ONE))
            compile_for(k, !batch.all || !is_assembled);
    }
    batch.units++;
    batch.in_unit = 0;
    text_free(&batch.text);
    text_init(&batch.text);
}

/* The kernel's unit in a namespace, its launches under other names: they are C's, which knows no namespaces.
 */
static void add_kernel(const char *text)
{
    static const char launch[] = "akg_launch_";
    text_format(&batch.text, "namespace kernel%d {\n", batch.kernels);
    while (*text) {
        const char *next = strstr(text, launch);
        text_append(&batch.text, text, next ? (size_t)(next - text) : strlen(text));
        if (!next)
            break;
        text_format(&batch.text, "k%d_%s", batch.kernels, launch);
        text = next + strlen(launch);
    }
    text_string(&batch.text, "}\n");
    batch.kernels++;
    if (++batch.in_unit == TOGETHER)
        compile_unit();
}

/* ---- files -------------------------------------------------------------------------------- */

static void add_file(const char *path)
{
    jit_source source = {.name = path};
    akg_module *module = NULL;
    akg_status status = jit_compile(&source, NULL, &module, NULL);
    CHECK_INT(status, AKG_OK);
    if (status != AKG_OK)
        return;
    for (size_t k = 0; k < akg_module_kernel_count(module); k++) {
        const char *name = akg_kernel_name(akg_module_kernel_at(module, k));
        char *text = NULL;
        if (batch.seen++ % TAKEN != 0 && !batch.all)
            continue;
        if (jit_emit(&source, AKG_STAGE_CUDA, name, NULL, 0, &text, NULL) == AKG_OK)
            add_kernel(text);
        akg_free(text);
    }
    akg_module_release(module);
}

/* Products of matrices, which are another program for each dtype. */
static void add_products(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT16, AKG_BFLOAT16, AKG_FLOAT64, AKG_INT32};
    static const int64_t shape[] = {2, 2};
    const jit_source source = {.name = "stdlib/linear.akg"};
    for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
        akg_argument arguments[2];
        akg_tensor *tensor = NULL;
        char *text = NULL;
        CHECK_INT(akg_tensor_create(dtypes[k], 2, shape, &tensor), AKG_OK);
        arguments[0] = arguments[1] = (akg_argument){.kind = AKG_ARGUMENT_TENSOR, .as.tensor = tensor};
        if (CHECK(jit_emit(&source, AKG_STAGE_CUDA, "matmul", arguments, 2, &text, NULL) == AKG_OK))
            add_kernel(text);
        akg_free(text);
        akg_tensor_release(tensor);
    }
    compile_unit();
}

/* Each launch alone, as a call has it compiled that needs no other; all of them are the whole. */
static void add_parts(const struct cuda_program *program)
{
    bool wanted[16];
    struct text part;
    int count = program->launches.count;
    if (!CHECK(count <= (int)sizeof wanted))
        return;
    for (int k = 0; k <= count; k++) {
        for (int launch = 0; launch < count; launch++)
            wanted[launch] = k == launch || k == count;
        text_init(&part);
        cuda_program_part(program, wanted, &part);
        if (CHECK(!part.failed) && k < count)
            add_kernel(part.data);
        else
            CHECK_STRING(part.data, program->text.data);
        text_free(&part);
    }
}

/* One of float32 whose factors may be rounded, which only a program can ask for. */
static void add_rounded_product(void)
{
    static const char text[] =
        "kernel k {\n  input a: float32[M, K]\n  input b: float32[N, K]\n  output c: float32[M, N]\n"
        "  body {\n    for m = 0 to M step 1 {\n      for n = 0 to N step 1 {\n"
        "        var s: float32 = 0.0:float32\n        for k = 0 to K step 1 {\n"
        "          s = (s + (a[m, k] * b[n, k]))\n        }\n        c[m, n] = s\n      }\n    }\n  }\n}\n";
    const struct cuda_options options = {.tf32 = true};
    akg_diagnostics *diagnostics = diagnostics_create("rounded.ir", text, sizeof text - 1);
    struct cuda_program program;
    struct jit_sites sites;
    struct arena arena;
    jmp_buf escape;
    memset(&sites, 0, sizeof sites);
    arena_init(&arena, &escape);
    if (setjmp(escape) == 0) {
        struct ir_kernel *kernel = ir_read(&arena, text, sizeof text - 1, diagnostics);
        if (CHECK(kernel != NULL)) {
            sites_number(kernel, &sites);
            arena.escape = NULL;
            if (CHECK(cuda_program_make(&program, kernel, &options, diagnostics) == AKG_OK)) {
                CHECK(strstr(program.text.data, "akg_product_tf32(") != NULL);
                add_kernel(program.text.data);
                add_parts(&program);
                cuda_program_free(&program);
            }
        }
    }
    akg_diagnostics_free(diagnostics);
    arena_free(&arena);
    compile_unit();
}

static void add_files(const char *pattern)
{
    glob_t found;
    if (!CHECK(glob(pattern, 0, NULL, &found) == 0))
        return;
    for (size_t k = 0; k < found.gl_pathc; k++)
        add_file(found.gl_pathv[k]);
    globfree(&found);
}

int main(int argc, char **argv)
{
    text_init(&batch.text);
    batch.optimised = argc > 1 && strcmp(argv[1], "optimised") == 0;
    bool every = batch.optimised || (argc > 1 && strcmp(argv[1], "every") == 0);
    batch.all = batch.optimised || nvrtc_version() >= QUICK_VERSION;
    if (nvrtc_version() == 0 || (SANITIZED && !batch.optimised)) {
        printf("skipped: %s\n", SANITIZED ? "emitted CUDA is compiled in other builds"
                                          : "no NVRTC to compile emitted CUDA with");
        return check_done();
    }
    for (int k = 0; k < (batch.all ? 1 : ARCHITECTURES); k++)
        add_rounded_product(); /* for each of them */
    for (int k = 1 + every; k < argc; k++)
        add_file(argv[k]);
    if (argc <= 1 + every) {
        add_products();
        batch.care = every ? EACH : ONE;
        add_files("tests/kernels/*.akg");
        compile_unit();
        batch.care = every ? EACH : IN_TURN;
        add_files("examples/*.akg");
        add_files("stdlib/*.akg");
        add_files("bench/suite/*.akg");
        CHECK(batch.kernels > (batch.all ? 300 : 30));
    }
    compile_unit();
    printf("%d kernels in %d units; for sm_75, sm_80 and sm_90 %d, %d and %d, of them machine code %d, %d "
           "and %d\n",
           batch.kernels, batch.units, batch.kept[0], batch.kept[1], batch.kept[2], batch.assembled[0],
           batch.assembled[1], batch.assembled[2]);
    if (!batch.all)
        printf("skipped: %d kernels of %d: NVRTC before 12.9 takes too long\n",
               batch.seen - (batch.seen + TAKEN - 1) / TAKEN, batch.seen);
    text_free(&batch.text);
    return check_done();
}

/*
 * test_optimised.c: the optimising tier: code is replaced while threads call it, and results stay the same;
 * what was made is there for the next module; and compilers that are absent, fail, hang, print garbage, make
 * something cut or something wrong change nothing but a note, and keep no other one from being used. Nothing
 * is left of any of them.
 */
#include "../../base/memory.h"
#include "../../jit/compiler.h"
#include "api_support.h"
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef AKG_FAULT_INJECTION
#define memory_fail_after(count) ((void)(count))
#define memory_fail_remaining() (-1L)
#endif

enum { LENGTH = 3000, THREADS = 4 };

static char directory[] = "/tmp/akg-tier-XXXXXX";
static char cache_directory[60], temporary_directory[60], script[60];

/* Branches and loops of unknown length, one behind the other: what neither vectors nor lanes can have. */
static const char program[] = "def steps(x: int64[N]):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    count = 0\n"
                              "    for i in range(x.shape[0]):\n"
                              "        n = x[i]\n"
                              "        count = count % 2\n"
                              "        while n > 1:\n"
                              "            if n % 2 == 0:\n"
                              "                n = n // 2\n"
                              "            else:\n"
                              "                n = 3 * n + 1\n"
                              "            count += 1\n"
                              "        y[i] = count\n"
                              "    return y\n"
                              "\n"
                              "def smooth(x, index: int32[N]):\n"
                              "    last = 0.0\n"
                              "    for i in range(index.shape[0]):\n"
                              "        last = max(last * 0.5, abs(x[index[i]])) + exp(-last)\n"
                              "        x[index[i]] = last\n"
                              "    return x\n"
                              "\n"
                              "def rows(x):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        total = 0.0\n"
                              "        for k in range(x.shape[1]):\n"
                              "            total += exp(x[i, k])\n"
                              "        for k in range(x.shape[1]):\n"
                              "            y[i, k] = exp(x[i, k]) / total\n"
                              "    return y\n"
                              "\n"
                              "def pick(x, index: int32[N]):\n"
                              "    y = output_tensor(index.shape, x.dtype)\n"
                              "    for i in range(index.shape[0]):\n"
                              "        y[i] = x[index[i]]\n"
                              "    return y\n"
                              "\n"
                              "def compensated(x):\n"
                              "    y = output_tensor((1,), x.dtype)\n"
                              "    total = 0.0\n"
                              "    lost = 0.0\n"
                              "    for i in range(x.shape[0]):\n"
                              "        term = x[i] - lost\n"
                              "        sum = total + term\n"
                              "        lost = (sum - total) - term\n"
                              "        total = sum\n"
                              "    y[0] = total\n"
                              "    return y\n"
                              "\n"
                              "def apart(x):\n"
                              "    y = output_tensor((1,), x.dtype)\n"
                              "    total = 0.0\n"
                              "    for i in range(x.shape[0]):\n"
                              "        for k in range(i + 1, x.shape[0]):\n"
                              "            d = x[i] - x[k]\n"
                              "            if d * d < 0.25:\n"
                              "                total += d * d\n"
                              "    y[0] = total\n"
                              "    return y\n"
                              "\n"
                              "def centred(x):\n"
                              "    y = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        mean = 0.0\n"
                              "        for k in range(x.shape[1]):\n"
                              "            mean += x[i, k]\n"
                              "        mean = mean / x.shape[1]\n"
                              "        for k in range(x.shape[1]):\n"
                              "            y[i, k] = x[i, k] - mean\n"
                              "    return y\n";

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static akg_module *compile(jit_tier tier, bool strict)
{
    jit_source source = {.name = "tier.akg", .text = program, .length = strlen(program)};
    jit_options options = {.cache = cache_directory, .tier = tier, .strict = strict};
    akg_module *module = NULL;
    akg_status status = jit_compile(&source, &options, &module, NULL);
    CHECK(status == AKG_OK || memory_fail_remaining() < 0);
    return module;
}

static akg_tensor *call(akg_module *module, const char *name, akg_tensor *x, akg_tensor *index)
{
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, index)};
    akg_tensor *output = NULL;
    akg_kernel_call(akg_module_kernel(module, name), arguments, index ? 2 : 1, NULL, &output, NULL);
    return output;
}

static int count_files(const char *path)
{
    DIR *stream = opendir(path);
    const struct dirent *row;
    int count = 0;
    while (stream && (row = readdir(stream)) != NULL)
        count += row->d_name[0] != '.';
    if (stream)
        closedir(stream);
    return count;
}

static void empty_cache(void)
{
    akg_cache *cache = NULL;
    if (CHECK(akg_cache_open(cache_directory, &cache, NULL) == AKG_OK))
        CHECK(akg_cache_remove(cache, AKG_CACHE_ALL, NULL) == AKG_OK);
    akg_cache_close(cache);
}

/* The name of the first note of the module, or "". */
static const char *noted(akg_module *module)
{
    static char name[60];
    akg_diagnostics *list = akg_module_notes(module);
    const akg_diagnostic *note = akg_diagnostics_at(list, 0);
    snprintf(name, sizeof name, "%s", note ? note->name : "");
    akg_diagnostics_free(list);
    return name;
}

/* No directory of a compiler is left, and no child that nobody took care of. */
static void check_nothing_left(void)
{
    CHECK_INT(count_files(temporary_directory), 0);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* ---- what works ---------------------------------------------------------------------------------- */

struct caller {
    pthread_t thread;
    akg_module *module;
    akg_tensor *x, *expected;
    int wrong, calls;
};

static void *call_often(void *opaque)
{
    struct caller *caller = opaque;
    double end = now() + 20;
    akg_kernel *kernel = akg_module_kernel(caller->module, "steps");
    int after = 0;
    while (after < 20 && now() < end) {
        akg_tensor *y = call(caller->module, "steps", caller->x, NULL);
        caller->wrong += !y || !api_same(y, caller->expected);
        akg_tensor_release(y);
        caller->calls++;
        after += akg_kernel_is_optimised(kernel);
    }
    return NULL;
}

/* Threads call while the code is replaced under them. */
static void test_swap(jit_tier tier, akg_tensor *x, akg_tensor *expected)
{
    struct caller callers[THREADS];
    akg_module *module = compile(tier, true);
    empty_cache();
    for (int k = 0; k < THREADS; k++) {
        callers[k] = (struct caller){.module = module, .x = x, .expected = expected};
        pthread_create(&callers[k].thread, NULL, call_often, &callers[k]);
    }
    for (int k = 0; k < THREADS; k++) {
        pthread_join(callers[k].thread, NULL);
        CHECK_INT(callers[k].wrong, 0);
        CHECK(callers[k].calls > 20);
    }
    akg_module_finish(module);
    CHECK(akg_kernel_is_optimised(akg_module_kernel(module, "steps")));
    CHECK_STRING(noted(module), "");
    akg_module_release(module);
    check_nothing_left();
}

/* The next module has it from its first call on. */
static void test_kept(akg_tensor *x, akg_tensor *expected)
{
    akg_module *module = compile(JIT_TIER_AUTO, true);
    akg_tensor *y = call(module, "steps", x, NULL);
    CHECK(y && api_same(y, expected));
    CHECK(akg_kernel_is_optimised(akg_module_kernel(module, "steps")));
    akg_tensor_release(y);
    akg_module_release(module);

    module = compile(JIT_TIER_INSTANT, true);
    y = call(module, "steps", x, NULL);
    CHECK(!akg_kernel_is_optimised(akg_module_kernel(module, "steps")));
    akg_tensor_release(y);
    akg_module_release(module);
}

/* In place, strided, and where an index stops the kernel: all calls give what the instant tier gives. */
static void test_in_place(void)
{
    const int64_t shape[] = {LENGTH}, strides[] = {-2};
    for (int round = 0; round < 3; round++) {
        akg_module *modules[] = {compile(JIT_TIER_INSTANT, true), compile(JIT_TIER_OPTIMISED, true)};
        for (int k = 0; k < 4; k++) {
            akg_tensor *index = api_vector(AKG_INT32, 500, k == 2 ? -7 : 0, 3), *views[2], *outputs[2];
            akg_tensor *wholes[2];
            for (int side = 0; side < 2; side++) {
                wholes[side] = api_vector(AKG_FLOAT32, 2 * LENGTH, -1, 0.001);
                akg_tensor_view(wholes[side], 1, shape, strides, 2 * LENGTH - 1, &views[side]);
                outputs[side] = call(modules[side], "smooth", views[side], index);
                akg_module_finish(modules[side]);
            }
            CHECK(api_same(wholes[0], wholes[1]));
            CHECK((outputs[0] != NULL) == (outputs[1] != NULL));
            for (int side = 0; side < 2; side++) {
                akg_tensor_release(outputs[side]);
                akg_tensor_release(views[side]);
                akg_tensor_release(wholes[side]);
            }
            akg_tensor_release(index);
        }
        akg_module_release(modules[0]);
        CHECK_STRING(noted(modules[1]), "");
        akg_module_release(modules[1]);
    }
    check_nothing_left();
}

static double largest_difference(const akg_tensor *a, const akg_tensor *b)
{
    double largest = a && b ? 0 : 1;
    for (int64_t i = 0; a && b && i < akg_tensor_element_count(a); i++) {
        double difference = api_element(a, i) - api_element(b, i);
        largest = difference > largest ? difference : -difference > largest ? -difference : largest;
    }
    return largest;
}

/* Vector loops with C around them: the kernel in C calls them, or does without, which is as it was written;
 * its sums in their order and, where they may be, in any: whichever is faster. Before and after, in this
 * module and, from the cache, in the next. */
static void test_forms(bool strict)
{
    const int64_t shape[] = {300, 9};
    akg_tensor *x = api_range(AKG_FLOAT32, 2, shape, -1, 0.001);
    akg_module *first = compile(JIT_TIER_INSTANT, strict);
    akg_tensor *expected = call(first, "rows", x, NULL);
    empty_cache();
    for (int round = 0; round < 2; round++) {
        akg_module *module = compile(JIT_TIER_OPTIMISED, strict);
        for (int k = 0; k < 2; k++) {
            akg_tensor *y = call(module, "rows", x, NULL);
            CHECK(strict ? y && api_same(y, expected) : largest_difference(y, expected) < 1e-6);
            akg_tensor_release(y);
            akg_module_finish(module);
        }
        CHECK_STRING(noted(module), "");
        akg_module_release(module);
    }
    akg_cache *cache = NULL;
    CHECK_INT(akg_cache_open(cache_directory, &cache, NULL), AKG_OK);
    bool has_vectors = strcmp(akg_cache_entry_at(cache, 0)->target, "none") != 0;
    CHECK_INT(akg_cache_entry_count(cache), 3 + has_vectors + !strict); /* the first is the instant tier's */
    akg_cache_close(cache);
    akg_tensor_release(expected);
    akg_tensor_release(x);
    akg_module_release(first);
    check_nothing_left();
}

/* Indices are tested in the loop, as the kernel was written and as the passes left it, or before it; those
 * that are wrong stop either. */
static void test_indices(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, LENGTH, -1, 0.001), *picked[2] = {NULL, NULL};
    akg_tensor *index = api_vector(AKG_INT32, LENGTH, 0, 1);
    int64_t last = LENGTH - 1;
    empty_cache();
    akg_module *module = compile(JIT_TIER_OPTIMISED, false);
    for (int k = 0; k < 2; k++) {
        picked[k] = call(module, "pick", x, index);
        CHECK(picked[k] && api_same(picked[k], x));
        akg_module_finish(module);
        akg_tensor_release(picked[k]);
    }
    for (int k = 0; k < 2; k++) {
        akg_tensor_set(index, &last, k ? -1 : LENGTH);
        CHECK(call(module, "pick", x, index) == NULL);
    }
    CHECK_STRING(noted(module), "");
    akg_module_release(module);
    akg_cache *cache = NULL;
    CHECK_INT(akg_cache_open(cache_directory, &cache, NULL), AKG_OK);
    bool has_vectors = strcmp(akg_cache_entry_at(cache, 0)->target, "none") != 0;
    CHECK_INT(akg_cache_entry_count(cache), 5 + has_vectors);
    akg_cache_close(cache);
    akg_tensor_release(index);
    akg_tensor_release(x);
    check_nothing_left();
}

/* Sums that may be reordered come close to those in order; a compensated one is the same to the bit. */
static void test_sums(void)
{
    akg_tensor *x = api_vector(AKG_FLOAT32, 300, 0.1, 0.003);
    for (int strict = 0; strict < 2; strict++) {
        akg_module *modules[] = {compile(JIT_TIER_INSTANT, true), compile(JIT_TIER_OPTIMISED, strict)};
        for (int round = 0; round < 2; round++) {
            akg_tensor *sums[2], *squares[2];
            for (int k = 0; k < 2; k++) {
                sums[k] = call(modules[k], "compensated", x, NULL);
                squares[k] = call(modules[k], "apart", x, NULL);
                akg_module_finish(modules[k]);
            }
            CHECK(api_same(sums[0], sums[1]));
            CHECK(strict ? api_same(squares[0], squares[1])
                         : largest_difference(squares[0], squares[1]) < 1e-4 * api_element(squares[0], 0));
            for (int k = 0; k < 2; k++) {
                akg_tensor_release(sums[k]);
                akg_tensor_release(squares[k]);
            }
        }
        CHECK_STRING(noted(modules[1]), "");
        akg_module_release(modules[0]);
        akg_module_release(modules[1]);
    }
    akg_tensor_release(x);
    check_nothing_left();
}

/* Means by an extent that is a power of two are products, all others quotients: the same to the bit. */
static void test_means(void)
{
    for (int64_t columns = 60; columns <= 64; columns += 4) {
        const int64_t shape[] = {40, columns};
        akg_tensor *x = api_range(AKG_FLOAT32, 2, shape, -1, 0.001);
        akg_module *modules[] = {compile(JIT_TIER_INSTANT, true), compile(JIT_TIER_OPTIMISED, true)};
        for (int round = 0; round < 2; round++) {
            akg_tensor *y[2];
            for (int k = 0; k < 2; k++) {
                y[k] = call(modules[k], "centred", x, NULL);
                akg_module_finish(modules[k]);
            }
            CHECK(y[0] && y[1] && api_same(y[0], y[1]));
            akg_tensor_release(y[0]);
            akg_tensor_release(y[1]);
        }
        CHECK_STRING(noted(modules[1]), "");
        akg_module_release(modules[0]);
        akg_module_release(modules[1]);
        akg_tensor_release(x);
    }
    check_nothing_left();
}

/* ---- what does not ---------------------------------------------------------------------------------- */

/* A compiler that is that shell script; "$out" is the file that it is to make. */
static void set_script(const char *body)
{
    FILE *file = fopen(script, "w");
    if (!CHECK(file != NULL))
        return;
    fprintf(file, "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nout=$2 in=$3\n%s\n", body);
    fclose(file);
    CHECK(chmod(script, 0755) == 0);
    setenv("AKG_CC", script, 1);
}

static void check_compiler(const char *note, akg_tensor *x, akg_tensor *expected)
{
    empty_cache();
    akg_module *module = compile(JIT_TIER_OPTIMISED, true);
    double start = now();
    for (int k = 0; k < 3; k++) {
        akg_tensor *y = call(module, "steps", x, NULL);
        CHECK(y && api_same(y, expected));
        akg_tensor_release(y);
        if (k < 2)
            akg_module_finish(module);
    }
    CHECK(now() - start < 20);
    CHECK(!akg_kernel_is_optimised(akg_module_kernel(module, "steps")));
    if (!CHECK(strcmp(noted(module), note) == 0))
        fprintf(stderr, "    with AKG_CC=%s\n", getenv("AKG_CC"));
    akg_module_release(module);
    check_nothing_left();
}

static void test_compilers(akg_tensor *x, akg_tensor *expected, const char *good)
{
    char body[400];
    setenv("AKG_CC", "/nowhere/cc", 1);
    check_compiler("compiler-failed", x, expected);
    setenv("AKG_CC", "false -x", 1);
    check_compiler("compiler-failed", x, expected);
    setenv("AKG_CC", "true", 1);
    check_compiler("compiler-failed", x, expected);
    set_script("echo garbage; echo garbage >&2; echo garbage >\"$out\"");
    check_compiler("compiler-failed", x, expected);
    set_script("mkdir \"$out\"; kill -9 $$");
    check_compiler("compiler-failed", x, expected);
    set_script("exec cat /dev/zero >\"$out\"");
    check_compiler("compiler-failed", x, expected);
    snprintf(body, sizeof body,
             "%s -O1 -w -fPIC -shared -nostartfiles -o \"$out\" \"$in\" -lm || exit\n"
             "head -c 9000 \"$out\" >\"$out.cut\" && mv \"$out.cut\" \"$out\"",
             good);
    set_script(body);
    check_compiler("compiler-failed", x, expected);
    snprintf(body, sizeof body,
             "sed 's/count + 1/count + 2/' \"$in\" >\"$in.c\"\n"
             "exec %s -O1 -w -fPIC -shared -nostartfiles -o \"$out\" \"$in.c\" -lm",
             good);
    set_script(body);
    check_compiler("compiler-wrong", x, expected);
}

/* One that hangs, with a child that does: for its time, and for as long as the module lives. */
static void test_hanging(akg_tensor *x, akg_tensor *expected)
{
    set_script("sleep 1000 & sleep 1000");
    setenv("AKG_CC_LIMIT", "0.2", 1);
    check_compiler("compiler-failed", x, expected);
    unsetenv("AKG_CC_LIMIT");
    akg_module *module = compile(JIT_TIER_OPTIMISED, true);
    akg_tensor *y = call(module, "steps", x, NULL);
    CHECK(y && api_same(y, expected));
    akg_tensor_release(y);
    double start = now();
    usleep(20000);
    akg_module_release(module);
    CHECK(now() - start < 10);
    check_nothing_left();
}

/* The compilers of `list`: how many notes there are, and whether one's code takes the place of the first. */
static void check_list(const char *list, int notes, bool is_optimised, akg_tensor *x, akg_tensor *expected)
{
    setenv("AKG_CC", list, 1);
    akg_module *module = compile(JIT_TIER_OPTIMISED, true);
    for (int k = 0; k < 3; k++) {
        akg_tensor *y = call(module, "steps", x, NULL);
        CHECK(y && api_same(y, expected));
        akg_tensor_release(y);
        akg_module_finish(module);
    }
    akg_diagnostics *told = akg_module_notes(module);
    bool good = CHECK(akg_diagnostics_count(told) == (size_t)notes);
    good &= CHECK(akg_kernel_is_optimised(akg_module_kernel(module, "steps")) == is_optimised);
    if (!good)
        fprintf(stderr, "    with AKG_CC=%s\n", list);
    akg_diagnostics_free(told);
    akg_module_release(module);
    check_nothing_left();
}

/* Several: a broken one keeps no other from being used, in whatever order they stand; what was kept for one
 * alone is not taken for the best of two. */
static void test_lists(akg_tensor *x, akg_tensor *expected, const char *good)
{
    static const char *const scripts[] = {"exit 1", "kill -9 $$", "echo garbage >\"$out\"", "sleep 1000"};
    char list[500], body[400];
    empty_cache();
    check_list(good, 0, true, x, expected);
    set_script("exit 1");
    snprintf(list, sizeof list, "%s,%s", script, good);
    check_list(list, 1, true, x, expected);
    snprintf(list, sizeof list, "%s -DA,, %s -DB", good, good);
    check_list(list, 0, true, x, expected);
    snprintf(list, sizeof list, "/nowhere/cc,%s", good);
    check_list(list, 1, true, x, expected);
    setenv("AKG_CC_LIMIT", "2", 1);
    for (size_t k = 0; k < sizeof scripts / sizeof *scripts; k++) {
        set_script(scripts[k]);
        for (int order = 0; order < 2; order++) {
            empty_cache();
            snprintf(list, sizeof list, "%s,%s", order ? script : good, order ? good : script);
            check_list(list, 1, true, x, expected);
        }
        snprintf(list, sizeof list, "%s,/nowhere/cc", script);
        check_list(list, 2, false, x, expected);
    }
    unsetenv("AKG_CC_LIMIT");
    snprintf(body, sizeof body,
             "sed 's/count + 1/count + 2/' \"$in\" >\"$in.c\"\n"
             "exec %s -O1 -w -fPIC -shared -nostartfiles -o \"$out\" \"$in.c\" -lm",
             good);
    set_script(body);
    empty_cache();
    snprintf(list, sizeof list, "%s,%s", script, good);
    check_list(list, 1, true, x, expected);
}

/* Each allocation and file operation of the caller's thread fails once. */
static void test_failures(akg_tensor *x, akg_tensor *expected)
{
#ifdef AKG_FAULT_INJECTION
    bool struck = true;
    for (long at = 0; struck; at += at < 150 ? 13 : 61) {
        memory_fail_after(at);
        akg_module *module = compile(JIT_TIER_OPTIMISED, true);
        akg_tensor *y = module ? call(module, "steps", x, NULL) : NULL;
        struck = memory_fail_remaining() < 0;
        memory_fail_after(-1);
        CHECK(!y || api_same(y, expected));
        akg_tensor_release(y);
        akg_module_release(module);
    }
    check_nothing_left();
#else
    (void)x, (void)expected;
#endif
}

/* The first compiler that is used where the test names no other; false where it is not there. */
static bool find_compiler(char *command, size_t size)
{
    struct compilers compilers;
    struct text identity;
    text_init(&identity);
    compilers_choose(&compilers, NULL);
    bool found = compilers.count > 0 && compiler_identify(&compilers.items[0], &identity) &&
                 strlen(compilers.items[0].command) < size;
    snprintf(command, size, "%s", found ? compilers.items[0].command : "");
    compilers_free(&compilers);
    text_free(&identity);
    return found;
}

int main(void)
{
    char command[100], good[200];
    if (!find_compiler(good, sizeof good)) {
        printf("skipped: there is no C compiler\n");
        return check_done();
    }
    if (!mkdtemp(directory))
        return 1;
    snprintf(cache_directory, sizeof cache_directory, "%s/cache", directory);
    snprintf(temporary_directory, sizeof temporary_directory, "%s/tmp", directory);
    snprintf(script, sizeof script, "%s/cc", directory);
    mkdir(temporary_directory, 0700);
    setenv("TMPDIR", temporary_directory, 1);
    setenv("AKG_CC", good, 1);

    akg_module *module = compile(JIT_TIER_INSTANT, true);
    akg_tensor *x = api_vector(AKG_INT64, LENGTH, 1, 1), *expected = call(module, "steps", x, NULL);
    CHECK(expected != NULL);
    akg_module_release(module);
    test_swap(JIT_TIER_OPTIMISED, x, expected);
    test_kept(x, expected);
    test_swap(JIT_TIER_AUTO, x, expected);
    signal(SIGCHLD, SIG_IGN); /* children vanish when they end */
    test_swap(JIT_TIER_OPTIMISED, x, expected);
    signal(SIGCHLD, SIG_DFL);
    test_in_place();
    test_forms(true);
    test_forms(false);
    test_indices();
    test_sums();
    test_means();
    test_failures(x, expected);
    test_compilers(x, expected, good);
    test_hanging(x, expected);
    test_lists(x, expected, good);
    akg_tensor_release(x);
    akg_tensor_release(expected);
    snprintf(command, sizeof command, "rm -rf %s", directory);
    CHECK(system(command) == 0);
    return check_done();
}

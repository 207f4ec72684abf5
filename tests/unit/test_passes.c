/*
 * test_passes.c: the passes, text to text: each file tests/passes/PASS/NAME.ir holds a kernel, a line of five
 * dashes, and what the pass makes of it (nothing behind the dashes: the same again). In tests/passes/pipeline
 * all passes run in their usual order. What comes out is verified, printed, and read back. Besides, each pass
 * has a kernel with empty blocks.
 *
 * `test_passes update` writes what the passes make into the files, to be read before it is committed.
 */
#include "check.h"

#include "../../ir/ir.h"
#include "../../jit/passes.h"

#include <glob.h>
#include <stdlib.h>

static const char divider[] = "-----\n";

static struct ir_kernel *read_kernel(struct arena *arena, const char *text, size_t length)
{
    akg_diagnostics *diagnostics = diagnostics_create("kernel.ir", text, length);
    struct ir_kernel *kernel = ir_read(arena, text, length, diagnostics);
    char *why = NULL;

    if (!kernel && akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &why) == AKG_OK)
        fputs(why, stderr);
    akg_free(why);
    akg_diagnostics_free(diagnostics);
    return kernel;
}

static bool verified(const struct ir_kernel *kernel)
{
    struct text complaint;
    bool good;

    text_init(&complaint);
    good = ir_verify(kernel, &complaint);
    if (!good)
        fprintf(stderr, "%s\n", complaint.data);
    text_free(&complaint);
    return good;
}

/* The pass that the folder is named after; behind a dot the vector instructions that it is for. */
static bool run(struct ir_kernel *kernel, const char *folder)
{
    static const struct pass_tiles wide = {.rows = 4,
                                           .columns = 8,
                                           .depths = 32,
                                           .large = 400,
                                           .apart = 100,
                                           .few = 2,
                                           .huge = 4000,
                                           .lines = 8,
                                           .run = 100},
                                   narrow = {.rows = 4,
                                             .columns = 8,
                                             .panel = 16,
                                             .depths = 32,
                                             .large = 400,
                                             .apart = 100,
                                             .few = 2,
                                             .stretch = 16,
                                             .turns = true};
    struct passes_options options = {.verify = true, .tiles = &wide};
    struct text complaint;
    enum pass_id id = 0;
    size_t length = strcspn(folder, ".");
    bool good;

    options.reorders = strcmp(folder + length, ".sums") == 0;
    if (folder[length] && !options.reorders && !x86_target_from_name(folder + length + 1, &options.target)) {
        fprintf(stderr, "there is no target %s\n", folder + length + 1);
        return false;
    }
    if (options.target == X86_TARGET_AVX2)
        options.tiles = &narrow;
    while (passes_name(id) && (strncmp(passes_name(id), folder, length) != 0 || passes_name(id)[length]))
        id++;
    if (id < PASS_COUNT) {
        options.order = &id;
        options.order_count = 1;
    } else if (strcmp(folder, "pipeline") != 0) {
        fprintf(stderr, "there is no pass %s\n", folder);
        return false;
    }
    text_init(&complaint);
    good = passes_run(kernel, &options, &complaint);
    if (!good)
        fprintf(stderr, "%s\n", complaint.data);
    text_free(&complaint);
    return good;
}

static char *printed(const struct ir_kernel *kernel)
{
    struct text text;

    text_init(&text);
    ir_print(&text, kernel);
    return text_take(&text);
}

static void update_file(const char *path, const char *text, size_t length, const char *result, bool same)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return;
    fwrite(text, 1, length, file);
    fputs(divider, file);
    if (!same)
        fputs(result, file);
    fclose(file);
}

static void test_text(const char *path, const char *folder, const char *text, bool update)
{
    const char *end = strstr(text, divider);
    size_t length = end ? (size_t)(end - text) : strlen(text);
    const char *expected = end ? end + strlen(divider) : "";
    struct arena arena;
    jmp_buf escape;

    if (setjmp(escape)) {
        CHECK(!"memory");
        return;
    }
    arena_init(&arena, &escape);
    struct ir_kernel *kernel = read_kernel(&arena, text, length), *again;
    if (CHECK(kernel && verified(kernel))) {
        char *before = printed(kernel), *after;
        CHECK(run(kernel, folder));
        after = printed(kernel);
        if (update)
            update_file(path, text, length, after, strcmp(before, after) == 0);
        else
            CHECK_STRING(after, *expected ? expected : before);
        again = read_kernel(&arena, after, strlen(after));
        if (CHECK(again && verified(again))) {
            char *copy = printed(again);
            CHECK_STRING(copy, after);
            memory_free(copy);
        }
        memory_free(before);
        memory_free(after);
    }
    arena_free(&arena);
}

static void test_file(const char *path, bool update)
{
    static char text[1 << 16];
    char folder[64] = "";
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    int failed = check_failed;

    if (file)
        fclose(file);
    text[length] = 0;
    if (CHECK(length > 0 && sscanf(path, "tests/passes/%63[^/]", folder) == 1))
        test_text(path, folder, text, update);
    if (check_failed > failed)
        fprintf(stderr, "in %s\n", path);
}

/* What other passes may have emptied. */
static const char empty_blocks[] = "kernel empty {\n"
                                   "  input x: float32[N, M]\n"
                                   "  output y: float32[N]\n"
                                   "  parameters x\n"
                                   "  results y\n"
                                   "  body {\n"
                                   "    for i = 0 to N step 1 {\n"
                                   "      for j = 0 to 3 step 1 {\n"
                                   "      }\n"
                                   "    }\n"
                                   "    for i_1 = 0 to N step 1 {\n"
                                   "      y[i_1] = 0.0:float32\n"
                                   "      for j_1 = 0 to M step 1 {\n"
                                   "        if (x[i_1, j_1] > 0.0:float32) {\n"
                                   "        } else {\n"
                                   "        }\n"
                                   "        for k = 0 to M step 1 {\n"
                                   "        }\n"
                                   "      }\n"
                                   "    }\n"
                                   "    for i_2 = 0 to N step 1 {\n"
                                   "    }\n"
                                   "    if (N > 2) {\n"
                                   "    }\n"
                                   "  }\n"
                                   "}\n";

static void test_empty_blocks(const char *folder)
{
    struct arena arena;
    jmp_buf escape;

    if (setjmp(escape)) {
        CHECK(!"memory");
        return;
    }
    arena_init(&arena, &escape);
    struct ir_kernel *kernel = read_kernel(&arena, empty_blocks, strlen(empty_blocks));
    if (!CHECK(kernel && verified(kernel) && run(kernel, folder) && verified(kernel)))
        fprintf(stderr, "in empty blocks, %s\n", folder);
    arena_free(&arena);
}

int main(int argc, char **argv)
{
    static const char *const suffixes[] = {"", ".avx2", ".avx512", ".sums"};
    bool update = argc > 1 && strcmp(argv[1], "update") == 0;
    char folder[64];
    glob_t found;

    if (!CHECK(glob("tests/passes/*/*.ir", 0, NULL, &found) == 0))
        return check_done();
    for (size_t k = 0; k < found.gl_pathc; k++)
        test_file(found.gl_pathv[k], update);
    CHECK(found.gl_pathc > 20);
    globfree(&found);
    for (int id = 0; passes_name(id); id++)
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            snprintf(folder, sizeof folder, "%s%s", passes_name(id), suffixes[k]);
            test_empty_blocks(folder);
        }
    return check_done();
}

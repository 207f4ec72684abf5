/*
 * test_vector_picks.c: random loops over rows that an index picks, perhaps modulo their number, from tensors
 * of two axes and three, and into them, over rows of 0 to 70 elements; some indices are outside. As vector
 * code for every target of this processor and interpreted, to the bit.
 *
 * Argument: number of kernels (default 150).
 */
#include "check.h"
#include "jit_pair.h"

#include <stdlib.h>

enum { LONGEST = 70 };

struct generator {
    struct text text;
    uint64_t state;
    int loop;
};

/* The index of a row: out of a tensor, perhaps modulo the number of rows, or a number that may be none of 1
 * to 4. */
static void picked_row(struct generator *g, bool wide)
{
    unsigned kind = pair_draw(&g->state, 4);
    if (wide)
        text_format(&g->text, "index[k%d]?", g->loop);
    else if (kind == 0)
        text_format(&g->text, "int64(index[k%d])?", g->loop);
    else if (kind == 1)
        text_format(&g->text, "int64((index[k%d] %%? rows))?", g->loop);
    else
        text_format(&g->text, "int64((index[k%d] %%? %d:int32))?", g->loop,
                    kind == 2 ? 1 + (int)pair_draw(&g->state, 4) : -3);
}

static void picked_text(struct generator *g, akg_dtype dtype, bool wide)
{
    const char *name = akg_dtype_name(dtype);
    text_format(&g->text,
                "kernel k {\n input x: %s[A, B]\n input index: %s[K]\n input fixed: %s[K, 3, B]\n"
                " input twice: %s[2, 3, B]\n"
                " output y: %s[K, B] clear\n output z: %s[4, B] clear\n parameters x, index, fixed, twice\n"
                " results y, z\n body {\nlet rows: int32 = int32((A - 1))\n",
                name, wide ? "int64" : "int32", name, name, name, name);
    for (g->loop = 1; g->loop <= 2; g->loop++) {
        text_format(&g->text, "for k%d = 0 to K step 1 {\nfor d%d = 0 to B step 1 {\n", g->loop, g->loop);
        size_t start = g->text.length;
        text_string(&g->text, g->loop == 1 ? "y[k1" : "z[");
        if (g->loop == 2)
            picked_row(g, wide);
        text_format(&g->text, ", d%d]", g->loop);
        size_t end = g->text.length;
        text_format(&g->text, " = (%.*s + (x[", (int)(end - start), g->text.data + start);
        picked_row(g, wide);
        if (!wide && pair_draw(&g->state, 2)) /* two axes */
            text_format(&g->text,
                        ", d%d] * twice[int64((index[k%d] %% 2:int32)), int64((index[k%d] %% 3:int32)), "
                        "d%d]))\n}\n}\n",
                        g->loop, g->loop, g->loop, g->loop);
        else
            text_format(&g->text, ", d%d] * fixed[k%d, %u, d%d]))\n}\n}\n", g->loop, g->loop,
                        pair_draw(&g->state, 3), g->loop);
    }
    text_string(&g->text, " }\n}\n");
}

static bool picks_agree(uint64_t seed, enum x86_target target, int *loops)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64, AKG_FLOAT16};
    struct generator g = {.state = seed * 88883};
    struct jit_pair pair;
    int status = 0;
    text_init(&g.text);
    akg_dtype dtype = dtypes[pair_draw(&g.state, 5)];
    bool wide = pair_draw(&g.state, 3) == 0;
    picked_text(&g, dtype, wide);
    pair_init(&pair);
    pair.vectors.target = target;
    bool good = pair_read(&pair, g.text.data) && pair_compile(&pair, false);
    *loops += pair.vector_loops;
    for (int round = 0; good && round < 4; round++) {
        pair.dims[0] = 2 + pair_draw(&g.state, 3);
        pair.dims[1] = pair_draw(&g.state, LONGEST);
        pair.dims[2] = pair_draw(&g.state, 6);
        good = pair_allocate(&pair);
        pair_fill(&pair, &g.state, true);
        for (int k = 0; good && k < (int)pair.dims[2]; k++)
            pair_set(&pair, 1, k,
                     (union dtype_value){.i = round % 2 ? (int64_t)pair_draw(&g.state, 2)
                                                        : (int64_t)pair_draw(&g.state, 12) - 6});
        good = good && pair_run(&pair, &status);
    }
    if (!good)
        fprintf(stderr, "%s\n%s\nseed %llu, target %s\n", g.text.data, pair.text.data ? pair.text.data : "",
                (unsigned long long)seed, x86_target_name(target));
    pair_free(&pair);
    text_free(&g.text);
    return good;
}

static void test_picks(enum x86_target target, int count)
{
    int loops = 0;
    for (int k = 1; k <= count; k++)
        CHECK(picks_agree((uint64_t)k, target, &loops));
    CHECK(loops > count / 4);
}

#ifdef AKG_SANITIZED
enum { USUAL = 60 /* sanitizers take their time */ };
#else
enum { USUAL = 150 };
#endif

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : USUAL;
    for (int target = X86_TARGET_AVX2; target <= X86_TARGET_AVX512; target++) {
        if (target <= (int)x86_cpu_target())
            test_picks((enum x86_target)target, count);
        else
            printf("skipped: this processor has no %s\n", x86_target_name((enum x86_target)target));
    }
    return check_done();
}

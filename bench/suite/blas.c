/*
 * blas.c: OpenBLAS on the products of the suite, for ./run: arguments are a kernel and its values, as in the
 * table; prints "openblas median low high" in nanoseconds, nothing for other kernels. The library is opened
 * at run time: AKG_OPENBLAS or libopenblas.so.0; exit status 1 where it is not there. One thread.
 */
#include "../../tools/measure.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };

typedef void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

struct product {
    sgemm multiply;
    int transpose_a, transpose_b, batch, m, n, k;
    float *a, *b, *c;
};

/* The last two extents behind `name`, and the one before them. */
static void read_shape(int count, char **words, const char *name, int *batch, int *rows, int *columns)
{
    size_t length = strlen(name);
    for (int i = 0; i < count; i++) {
        int extents[3], found = 0;
        if (strncmp(words[i], name, length) == 0 && words[i][length] == '=')
            found = sscanf(strchr(words[i], '(') + 1, "%d,%d,%d", &extents[0], &extents[1], &extents[2]);
        if (found == 3)
            *batch = extents[0];
        if (found >= 2) {
            *rows = extents[found - 2];
            *columns = extents[found - 1];
        }
    }
}

static float *random_floats(size_t count)
{
    float *floats = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    unsigned state = 1;
    if (!floats)
        exit(1);
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        floats[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
    return floats;
}

static bool run(void *context, long repeats, struct problem *problem)
{
    const struct product *p = context;
    (void)problem;
    for (long i = 0; i < repeats; i++)
        for (int s = 0; s < p->batch; s++)
            p->multiply(ROW_MAJOR, p->transpose_a, p->transpose_b, p->m, p->n, p->k, 1,
                        p->a + (size_t)s * p->m * p->k, p->transpose_a == PLAIN ? p->k : p->m,
                        p->b + (size_t)s * p->k * p->n, p->transpose_b == PLAIN ? p->n : p->k, 0,
                        p->c + (size_t)s * p->m * p->n, p->n);
    return true;
}

static bool open_library(struct product *product)
{
    const char *name = getenv("AKG_OPENBLAS");
    void *library = dlopen(name ? name : "libopenblas.so.0", RTLD_NOW);
    void *symbol = library ? dlsym(library, "cblas_sgemm") : NULL;
    void *setter = library ? dlsym(library, "openblas_set_num_threads") : NULL;
    void (*set_threads)(int) = NULL;
    if (!symbol || !setter)
        return false;
    memcpy(&product->multiply, &symbol, sizeof symbol);
    memcpy(&set_threads, &setter, sizeof setter);
    set_threads(1);
    return true;
}

int main(int argc, char **argv)
{
    static struct contestant contestant;
    struct product p = {.transpose_a = PLAIN, .transpose_b = PLAIN, .batch = 1};
    struct problem problem = {0};
    int inner = 0;
    if (argc < 2 || !open_library(&p))
        return 1;
    if (strcmp(argv[1], "matmul_nt") == 0)
        p.transpose_b = TRANSPOSED;
    else if (strcmp(argv[1], "matmul_tn") == 0)
        p.transpose_a = TRANSPOSED;
    else if (strcmp(argv[1], "matmul_nn") != 0 && strcmp(argv[1], "batched_matmul") != 0)
        return 0;
    if (p.transpose_a == PLAIN)
        read_shape(argc - 2, argv + 2, "a", &p.batch, &p.m, &p.k);
    else
        read_shape(argc - 2, argv + 2, "a", &p.batch, &p.k, &p.m);
    if (p.transpose_b == PLAIN)
        read_shape(argc - 2, argv + 2, "b", &p.batch, &inner, &p.n);
    else
        read_shape(argc - 2, argv + 2, "b", &p.batch, &p.n, &inner);
    if (inner != p.k || p.m < 1 || p.n < 1)
        return 1;
    p.a = random_floats((size_t)p.batch * p.m * p.k);
    p.b = random_floats((size_t)p.batch * p.k * p.n);
    p.c = random_floats((size_t)p.batch * p.m * p.n);
    contestant.run = run;
    contestant.context = &p;
    measure_all(&contestant, 1, 0.5, &problem);
    printf("openblas %.6g %.6g %.6g\n", contestant.spread.median * 1e9, contestant.spread.low * 1e9,
           contestant.spread.high * 1e9);
    free(p.a);
    free(p.b);
    free(p.c);
    return 0;
}

/*
 * bench_emit.c: a benchmark as a folder of its own: kernel.c, the plain C; main.c, which measures it as
 * akgrun does; the inputs as raw files; a Makefile. It needs nothing of akg.
 */
#include "bench.h"

#include "report.h"
#include "twin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char main_head[] = "/* main.c: measures akg_plain_run of kernel.c: the median of its times, and "
                                "the interval that holds the true\n"
                                " * one with at least 95% probability (by order statistics). */\n"
                                "#include <math.h>\n"
                                "#include <stdio.h>\n"
                                "#include <stdlib.h>\n"
                                "#include <string.h>\n"
                                "#include <time.h>\n"
                                "\n"
                                "int akg_plain_run(void *const *tensors, long repeats);\n"
                                "\n"
                                "struct tensor {\n"
                                "    const char *file; /* NULL: an output */\n"
                                "    size_t bytes;\n"
                                "    int changes; /* written in place: put back before each run */\n"
                                "};\n"
                                "\n"
                                "static const struct tensor tensors[] = {\n";

static const char main_tail[] =
    "\n"
    "enum { COUNT = sizeof tensors / sizeof *tensors, MOST = 1000, LEAST = 11 };\n"
    "static void *data[COUNT], *before[COUNT];\n"
    "\n"
    "static double now(void)\n"
    "{\n"
    "    struct timespec moment;\n"
    "    clock_gettime(CLOCK_MONOTONIC, &moment);\n"
    "    return (double)moment.tv_sec + 1e-9 * (double)moment.tv_nsec;\n"
    "}\n"
    "\n"
    "static void *new_memory(size_t bytes)\n"
    "{\n"
    "    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);\n"
    "    if (!memory) {\n"
    "        fprintf(stderr, \"out of memory\\n\");\n"
    "        exit(1);\n"
    "    }\n"
    "    memset(memory, 0, (bytes + 127) / 64 * 64);\n"
    "    return memory;\n"
    "}\n"
    "\n"
    "/* The data of tensor k; 1 where it has to be put back before each run. */\n"
    "static int load(int k)\n"
    "{\n"
    "    data[k] = new_memory(tensors[k].bytes);\n"
    "    if (!tensors[k].file)\n"
    "        return 0;\n"
    "    FILE *file = fopen(tensors[k].file, \"rb\");\n"
    "    if (!file || fread(data[k], 1, tensors[k].bytes, file) != tensors[k].bytes) {\n"
    "        fprintf(stderr, \"cannot read %s\\n\", tensors[k].file);\n"
    "        exit(1);\n"
    "    }\n"
    "    fclose(file);\n"
    "    if (!tensors[k].changes)\n"
    "        return 0;\n"
    "    before[k] = new_memory(tensors[k].bytes);\n"
    "    memcpy(before[k], data[k], tensors[k].bytes);\n"
    "    return 1;\n"
    "}\n"
    "\n"
    "static double sample(long repeats)\n"
    "{\n"
    "    for (int k = 0; k < COUNT; k++)\n"
    "        if (before[k])\n"
    "            memcpy(data[k], before[k], tensors[k].bytes);\n"
    "    double start = now();\n"
    "    if (akg_plain_run(data, repeats) != 0) {\n"
    "        fprintf(stderr, \"out of memory\\n\");\n"
    "        exit(1);\n"
    "    }\n"
    "    return (now() - start) / (double)repeats;\n"
    "}\n"
    "\n"
    "static int compare(const void *left, const void *right)\n"
    "{\n"
    "    double a = *(const double *)left, b = *(const double *)right;\n"
    "    return (a > b) - (a < b);\n"
    "}\n"
    "\n"
    "/* How many samples lie outside the interval at each end, and one more. */\n"
    "static int rank_of(int count)\n"
    "{\n"
    "    double term = exp2(-count), below = 0;\n"
    "    int rank = 0;\n"
    "    while (rank < (count + 1) / 2 && below + term <= 0.025) {\n"
    "        below += term;\n"
    "        rank++;\n"
    "        term *= (double)(count - rank + 1) / rank;\n"
    "    }\n"
    "    return rank > 0 ? rank : 1;\n"
    "}\n"
    "\n"
    "int main(void)\n"
    "{\n"
    "    static double samples[MOST];\n"
    "    int count = 0, in_place = 0, rank;\n"
    "    long repeats = 1;\n"
    "    for (int k = 0; k < COUNT; k++)\n"
    "        in_place |= load(k);\n"
    "    sample(1);\n"
    "    while (!in_place && repeats < 1 << 20 && sample(repeats) * (double)repeats < 200e-6)\n"
    "        repeats *= 2;\n"
    "    for (double end = now() + 1; count < MOST && (count < LEAST || now() < end); count++)\n"
    "        samples[count] = sample(repeats);\n"
    "    qsort(samples, (size_t)count, sizeof *samples, compare);\n"
    "    rank = rank_of(count);\n"
    "    printf(\"%s: median %.1f ns, 95%% interval %.1f to %.1f ns, %d samples\\n\", kernel_name,\n"
    "           samples[count / 2] * 1e9, samples[rank - 1] * 1e9, samples[count - rank] * 1e9, count);\n"
    "    return 0;\n"
    "}\n";

static const char makefile[] =
    "CC = %s\n"
    "CFLAGS = " TWIN_FLAGS "\n"
    "\n"
    "run: bench\n"
    "\t./bench\n"
    "\n"
    "# linked without -ffast-math, which would change the whole program's arithmetic\n"
    "bench: main.o kernel.o\n"
    "\t$(CC) main.o kernel.o -o bench -lm\n"
    "\n"
    "kernel.o: kernel.c\n"
    "\t$(CC) $(CFLAGS) -c kernel.c\n"
    "\n"
    "main.o: main.c\n"
    "\t$(CC) -O2 -c main.c\n"
    "\n"
    "clean:\n"
    "\trm -f bench main.o kernel.o\n"
    "\n"
    ".PHONY: run clean\n";

/* What was made so far, in this order: the files of `fixed`, then those of the inputs. */
struct making {
    const char *folder;
    bool made_folder;
    size_t count;
};

enum { KERNEL, MAKEFILE, MAIN, FIXED_COUNT };
static const char *const fixed[FIXED_COUNT] = {"kernel.c", "Makefile", "main.c"};

/* The file of that name in the folder, which must not be there. */
static FILE *create(struct making *making, const char *name, struct problem *problem)
{
    char *path = string_format("%s/%s", making->folder, name);
    if (!path) {
        problem_memory(problem);
        return NULL;
    }
    FILE *file = fopen(path, "wxb");
    if (!file)
        problem_set(problem, AKG_ERROR_IO, "cannot write '%.200s': %s", path, strerror(errno));
    making->count += file != NULL;
    free(path);
    return file;
}

static void take_away(const char *folder, const char *name)
{
    char *path = string_format("%s/%s", folder, name);
    if (path)
        unlink(path);
    free(path);
}

static void tensor_name(char name[32], size_t number)
{
    snprintf(name, 32, "tensor%zu.bin", number);
}

/* Leaves the folder as it was: with half of the files nothing can be done, and there they would be in the
 * way. */
static void undo(const struct making *making, const struct bench_tensor *tensors, size_t count)
{
    size_t left = making->count;
    for (size_t k = 0; k < FIXED_COUNT && left > 0; k++, left--)
        take_away(making->folder, fixed[k]);
    for (size_t k = 0; k < count && left > 0; k++) {
        char name[32];
        if (tensors[k].is_output)
            continue;
        tensor_name(name, k);
        take_away(making->folder, name);
        left--;
    }
    if (making->made_folder)
        rmdir(making->folder);
}

static bool finish(FILE *file, const char *name, struct problem *problem)
{
    bool good = !ferror(file);
    good = fclose(file) == 0 && good;
    return good || problem_set(problem, AKG_ERROR_IO, "cannot write '%.200s': %s", name, strerror(errno));
}

static size_t bytes_of(const akg_tensor *tensor)
{
    return (size_t)akg_tensor_element_count(tensor) * akg_dtype_size(akg_tensor_dtype(tensor));
}

static bool write_data(struct making *making, const struct bench_tensor *tensors, size_t count,
                       struct problem *problem)
{
    for (size_t k = 0; k < count; k++) {
        char name[32];
        if (tensors[k].is_output)
            continue;
        tensor_name(name, k);
        FILE *file = create(making, name, problem);
        if (!file)
            return false;
        fwrite(akg_tensor_data(tensors[k].tensor), 1, bytes_of(tensors[k].tensor), file);
        if (!finish(file, name, problem))
            return false;
    }
    return true;
}

static bool write_main(struct making *making, const struct bench *bench, const struct bench_tensor *tensors,
                       size_t count, struct problem *problem)
{
    FILE *file = create(making, fixed[MAIN], problem);
    if (!file)
        return false;
    fputs(main_head, file);
    for (size_t k = 0; k < count; k++)
        if (tensors[k].is_output)
            fprintf(file, "    {NULL, %zu, 0},\n", bytes_of(tensors[k].tensor));
        else
            fprintf(file, "    {\"tensor%zu.bin\", %zu, %d},\n", k, bytes_of(tensors[k].tensor),
                    tensors[k].changes);
    fprintf(file, "};\n\nstatic const char kernel_name[] = ");
    report_json_string(file, bench->kernel);
    fprintf(file, ";\n%s", main_tail);
    return finish(file, fixed[MAIN], problem);
}

static bool write_all(struct making *making, const struct bench *bench, const char *text,
                      const struct bench_tensor *tensors, size_t count, struct problem *problem)
{
    FILE *file = create(making, fixed[KERNEL], problem);
    if (!file)
        return false;
    fputs(text, file);
    if (!finish(file, fixed[KERNEL], problem))
        return false;
    file = create(making, fixed[MAKEFILE], problem);
    if (!file)
        return false;
    fprintf(file, makefile, twin_default_compiler());
    return finish(file, fixed[MAKEFILE], problem) && write_main(making, bench, tensors, count, problem) &&
           write_data(making, tensors, count, problem);
}

bool bench_emit(const char *folder, const struct bench *bench, const char *text,
                const struct bench_tensor *tensors, size_t count, struct problem *problem)
{
    struct making making = {.folder = folder, .made_folder = mkdir(folder, 0777) == 0};
    if (!making.made_folder && errno != EEXIST)
        return problem_set(problem, AKG_ERROR_IO, "cannot make '%.200s': %s", folder, strerror(errno));
    bool good = write_all(&making, bench, text, tensors, count, problem);
    if (!good)
        undo(&making, tensors, count);
    return good;
}

/*
 * test_vector_records.c: loops that store many elements side by side for each iteration, as lanes, against
 * the interpreter, to the bit.
 *
 * Records are of 2 to 18 elements, stored in any order, alone in their rows or with some left out beside
 * them, in rows whose length is known or not, forwards and backwards; or as a matrix of two columns, loaded
 * from such matrices. What they are stored into ends where its memory does, behind which there is none.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEAST = 2, MOST = 18 };

static uint64_t state = 17;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

struct record {
    int first, count, columns; /* elements, from the first on, of a row of so many */
    bool is_known;             /* how many a row has */
    bool is_backwards;
};

static void write_program(char *program, size_t size, const struct record *record)
{
    int order[MOST];
    size_t used = (size_t)snprintf(program, size,
                                   "def k(x: T[N, 2], like: float32[C]):\n"
                                   "    y = output_tensor((N, %s), x.dtype)\n    for i in range(N):\n",
                                   record->is_known ? "COLUMNS" : "C");
    for (int k = 0; k < record->count; k++) {
        int at = random_below(k + 1);
        order[k] = order[at];
        order[at] = k;
    }
    for (int k = 0; k < record->count; k++)
        used +=
            (size_t)snprintf(program + used, size - used, "        y[%s, %d] = x[i, %d] + %d * x[i, 1]\n",
                             record->is_backwards ? "N - 1 - i" : "i", record->first + order[k], k % 2, k);
    snprintf(program + used, size - used, "    return y\n\n\nCOLUMNS = %d\n", record->columns);
}

/* The same number of rows as a matrix, each element of which is computed from another one. */
static void write_matrices(char *program, size_t size, int rows)
{
    size_t used = (size_t)snprintf(program, size,
                                   "def k(x: T[N, %d, 2], like: float32[C]):\n"
                                   "    y = output_tensor((N, %d, 2), x.dtype)\n    for i in range(N):\n",
                                   rows, rows);
    for (int k = 0; k < 2 * rows; k++) {
        int other = random_below(2 * rows);
        used += (size_t)snprintf(program + used, size - used,
                                 "        y[i, %d, %d] = x[i, %d, %d] + %d * x[i, %d, %d]\n", k / 2, k % 2,
                                 other / 2, other % 2, k, rows - 1 - k / 2, k % 2);
    }
    snprintf(program + used, size - used, "    return y\n");
}

/* ---- memory that ends ------------------------------------------------------------------------------ */

struct mapping {
    void *start;
    size_t size;
};

static void unmap(void *owner)
{
    struct mapping *mapping = owner;
    munmap(mapping->start, mapping->size);
}

/* A tensor like the other one, behind which nothing may be read or written. */
static akg_tensor *ending(const akg_tensor *like, struct mapping *mapping)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE),
           size = (size_t)akg_tensor_element_count(like) * akg_dtype_size(akg_tensor_dtype(like)),
           inside = (size + page - 1) / page * page;
    akg_tensor *tensor = NULL;
    mapping->size = inside + page;
    mapping->start = mmap(NULL, mapping->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping->start == MAP_FAILED)
        return NULL;
    mprotect((char *)mapping->start + inside, page, PROT_NONE);
    akg_tensor_from_memory((char *)mapping->start + inside - size, akg_tensor_dtype(like),
                           akg_tensor_rank(like), akg_tensor_shape(like), NULL, unmap, mapping, &tensor);
    return tensor;
}

/* Whether the program gives what is expected. */
static bool gives(const char *program, const jit_options *options, akg_tensor *const *inputs,
                  const akg_tensor *expected)
{
    jit_source source = {.name = "records.akg", .text = program, .length = strlen(program)};
    akg_argument arguments[] = {api_tensor(NULL, inputs[0]), api_tensor(NULL, inputs[1])};
    struct mapping mapping;
    akg_tensor *output = ending(expected, &mapping);
    akg_module *module = NULL;
    bool good =
        output && jit_compile(&source, options, &module, NULL) == AKG_OK &&
        akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 2, NULL, &output, NULL) == AKG_OK &&
        api_same(output, expected);
    akg_tensor_release(output);
    akg_module_release(module);
    return good;
}

/* ---- all ------------------------------------------------------------------------------------------- */

static void check_program(const char *program, akg_dtype dtype, int rank, const int64_t *shape,
                          int64_t columns)
{
    akg_tensor *inputs[] = {api_range(dtype, rank, shape, 1, 1), api_range(AKG_FLOAT32, 1, &columns, 0, 1)},
               *expected = NULL;
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    if (CHECK(api_run(program, &options, inputs, 2, NULL, &expected)))
        for (int target = X86_TARGET_NONE; target <= (int)x86_cpu_target(); target++) {
            jit_options fast = {
                .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = true};
            if (!CHECK(gives(program, &fast, inputs, expected)))
                fprintf(stderr, "%s, %d rows:\n%s", fast.target, (int)shape[0], program);
        }
    else
        fprintf(stderr, "%s", program);
    akg_tensor_release(expected);
    for (int k = 0; k < 2; k++)
        akg_tensor_release(inputs[k]);
}

static void check_record(const struct record *record, akg_dtype dtype, int64_t rows)
{
    char program[2000];
    const int64_t shape[] = {rows, 2};
    write_program(program, sizeof program, record);
    check_program(program, dtype, 2, shape, record->columns);
}

static void check_matrices(int matrix_rows, akg_dtype dtype, int64_t rows)
{
    char program[2000];
    const int64_t shape[] = {rows, matrix_rows, 2};
    write_matrices(program, sizeof program, matrix_rows);
    check_program(program, dtype, 3, shape, 1);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64, AKG_UINT8, AKG_INT16};
    for (int count = LEAST; count <= MOST; count++)
        for (size_t k = 0; k < API_COUNT(dtypes); k++) {
            check_matrices(count / 2, dtypes[k], random_below(70));
            for (int form = 0; form < 4; form++) {
                if (!check_takes((size_t)(count + form) + k))
                    continue;
                struct record record = {.first = form % 2 ? random_below(3) : 0,
                                        .count = count,
                                        .is_known = random_below(2),
                                        .is_backwards = random_below(4) == 0};
                record.columns = record.first + count + (form % 2 ? random_below(3) : 0);
                check_record(&record, dtypes[k], random_below(70));
            }
        }
    return check_done();
}

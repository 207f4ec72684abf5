/*
 * test_vector_row.c: elements that data picks out of a short row, which a register holds.
 *
 * Rows are of 1 to 17 known elements, alone or one for each iteration around, of dtypes of 32 bits and of
 * others; the last one ends where its memory does, behind which there is none. Indices are proved inside or
 * tested, of 8, 32 and 64 bits, under a condition or not. Results are those of the interpreter, to the bit.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { ROWS = 3, MOST = 17, INPUTS = 3 };

static const char *const bodies[] = {
    "            y[i, j] = t[0, at[i, j]]\n",
    "            y[i, j] = t[i, at[i, j]] + t[2, at[i, j]]\n",
    "            y[i, j] = t[i, by[j] % E] - t[i, at[i, j]]\n",
    "            if by[j] % 3 != 0:\n                y[i, j] = t[i, at[i, j]] + 1\n",
    "            y[i, j] = t[i, E - 1 - at[i, j]] if at[i, j] > 1 else t[1, by[j] % E]\n",
};

static uint32_t state = 12345;

static int random_below(int limit)
{
    state = state * 1664525u + 1013904223u;
    return (int)((state >> 16) % (uint32_t)limit);
}

/* ROWS rows of a table, behind which nothing may be read. */
static akg_tensor *ending_table(akg_dtype dtype, int extent, char **pages, size_t *size)
{
    const int64_t shape[] = {ROWS, extent};
    size_t bytes = (size_t)(ROWS * extent) * akg_dtype_size(dtype);
    akg_tensor *numbers = api_range(dtype, 2, shape, 3, 2), *table = NULL;
    void *data = api_guarded(bytes, true, pages, size);
    if (CHECK(data && numbers)) {
        memcpy(data, akg_tensor_data(numbers), bytes);
        CHECK(akg_tensor_from_memory(data, dtype, 2, shape, NULL, NULL, NULL, &table) == AKG_OK);
    }
    akg_tensor_release(numbers);
    return table;
}

static akg_tensor *places(akg_dtype dtype, int extent, int64_t length)
{
    const int64_t shape[] = {ROWS, length};
    akg_tensor *tensor = api_range(dtype, 2, shape, 0, 0);
    void *data = akg_tensor_data(tensor);
    for (int64_t k = 0; k < ROWS * length; k++)
        if (dtype == AKG_UINT8)
            ((uint8_t *)data)[k] = (uint8_t)random_below(extent);
        else if (dtype == AKG_INT32)
            ((int32_t *)data)[k] = random_below(extent);
        else
            ((int64_t *)data)[k] = random_below(extent);
    return tensor;
}

static void check_body(const char *body, akg_dtype dtype, akg_dtype index, int extent, int64_t length)
{
    jit_options interpreter = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    char program[1000], *pages = NULL;
    size_t size = 0;
    akg_tensor *expected = NULL,
               *inputs[INPUTS] = {ending_table(dtype, extent, &pages, &size), places(index, extent, length),
                                  api_range(AKG_INT32, 1, &length, 7, 5)};
    snprintf(program, sizeof program,
             "def k(t: T[%d, E], at: %s[%d, N], by: int32[N]):\n    y = output_tensor((%d, N), t.dtype)\n"
             "    for i in range(%d):\n        for j in range(N):\n%s    return y\n\n\nE = %d\n",
             ROWS, akg_dtype_name(index), ROWS, ROWS, ROWS, body, extent);
    CHECK(api_run(program, &interpreter, inputs, INPUTS, NULL, &expected));
    CHECK(expected && api_same_everywhere(program, inputs, INPUTS, NULL, expected));
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
    munmap(pages, size);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_INT32, AKG_FLOAT64, AKG_UINT32, AKG_FLOAT16};
    static const akg_dtype indices[] = {AKG_UINT8, AKG_INT32, AKG_INT64};
    static const int64_t lengths[] = {1, 7, 16, 35, 70};
    int turn = 0;

    for (int extent = 1; extent <= MOST; extent++)
        for (size_t k = 0; k < API_COUNT(bodies); k++)
            for (size_t d = 0; d < API_COUNT(dtypes); d++, turn++)
                if (check_takes((size_t)turn))
                    check_body(bodies[k], dtypes[d], indices[random_below(3)], extent,
                               lengths[random_below(5)]);
    return check_done();
}

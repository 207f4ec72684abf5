/*
 * test_transpose.c: loops that turn what they load (jit/vector_x86_transpose.c), in every dtype that has
 * squares of its own and some that have none, of extents around those of squares, and of some that are more
 * than half of the last cache, whose rows begin with lines of memory or not: lines of these go past the
 * caches, from two threads where there are two processors. What is loaded ends where a page ends behind which
 * there is none, and so does what is stored.
 */
#include "api_support.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char text[] = "def turned(x, y):\n"
                           "    for j in range(x.shape[1]):\n"
                           "        for i in range(x.shape[0]):\n"
                           "            y[j, i] = x[i, j]\n"
                           "    return y\n"
                           "\n"
                           "def part(x, y):\n"
                           "    for j in range(1, x.shape[1]):\n"
                           "        for i in range(2, x.shape[0]):\n"
                           "            y[j - 1, i] = x[i - 1, j]\n"
                           "    return y\n";

enum { MOST = 70, LARGEST = 27 << 20 };

/* Memory whose last byte is the last one that may be touched. */
static char *make_guarded(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (LARGEST + page - 1) / page * page;
    char *memory = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + size, page, PROT_NONE) != 0)
        exit(1);
    return memory + size;
}

struct turn {
    akg_dtype dtype;
    size_t size;
    int64_t rows, columns; /* of what is loaded */
    char *from_end, *into_end;
};

static bool call(const struct turn *turn, akg_kernel *kernel)
{
    const int64_t from[] = {turn->rows, turn->columns}, into[] = {turn->columns, turn->rows};
    size_t bytes = (size_t)(turn->rows * turn->columns) * turn->size;
    akg_tensor *x, *y, *output = NULL;

    if (akg_tensor_from_memory(turn->from_end - bytes, turn->dtype, 2, from, NULL, NULL, NULL, &x) !=
            AKG_OK ||
        akg_tensor_from_memory(turn->into_end - bytes, turn->dtype, 2, into, NULL, NULL, NULL, &y) != AKG_OK)
        exit(1);
    const akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, y)};
    bool good = akg_kernel_call(kernel, arguments, 2, NULL, &output, NULL) == AKG_OK;
    akg_tensor_release(output);
    akg_tensor_release(x);
    akg_tensor_release(y);
    return good;
}

static bool is_turned(const struct turn *turn, bool part)
{
    int64_t rows = turn->rows, columns = turn->columns;
    size_t size = turn->size, bytes = (size_t)(rows * columns) * size;
    const char *from = turn->from_end - bytes, *into = turn->into_end - bytes;
    char untouched[8];

    memset(untouched, 0x5a, sizeof untouched);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) {
            bool inside = !part || (j + 1 < columns && i >= 2);
            int64_t place = part ? (i - 1) * columns + j + 1 : i * columns + j;
            const char *should = inside ? from + (size_t)place * size : untouched;
            if (memcmp(into + (size_t)(j * rows + i) * size, should, size) != 0)
                return false;
        }
    return true;
}

static void check_turn(const struct turn *turn, akg_module *module, bool part)
{
    memset(turn->into_end - (size_t)(turn->rows * turn->columns) * turn->size, 0x5a,
           (size_t)(turn->rows * turn->columns) * turn->size);
    if (!CHECK(call(turn, akg_module_kernel(module, part ? "part" : "turned"))) ||
        !CHECK(is_turned(turn, part)))
        fprintf(stderr, "    %s, %s, %d by %d\n", part ? "part" : "turned", akg_dtype_name(turn->dtype),
                (int)turn->rows, (int)turn->columns);
}

static void check_large(akg_module *module, char *from, char *into)
{
    static const int64_t narrow[][2] = {{2603, 2509}, {2608, 2510}, {2500, 2692}, {257, 26000}, {26004, 257}},
                         wide[][2] = {{1801, 1811}, {1808, 1806}, {1812, 1800}, {13004, 250}};
    for (size_t k = 0; k < 2 * API_COUNT(narrow); k++)
        check_turn(&(struct turn){AKG_FLOAT32, 4, narrow[k / 2][0], narrow[k / 2][1], from, into}, module,
                   k % 2);
    for (size_t k = 0; k < 2 * API_COUNT(wide); k++)
        check_turn(&(struct turn){AKG_INT64, 8, wide[k / 2][0], wide[k / 2][1], from, into}, module, k % 2);
}

int main(void)
{
    static const struct {
        akg_dtype dtype;
        size_t size;
    } dtypes[] = {{AKG_FLOAT32, 4}, {AKG_FLOAT64, 8}, {AKG_INT32, 4}, {AKG_INT64, 8}, {AKG_UINT16, 2}};
    static const int64_t extents[] = {1, 2, 7, 8, 9, 15, 16, 17, 24, 33, 64, MOST};
    enum { EXTENTS = sizeof extents / sizeof *extents };
    akg_module *module = api_compile(text);
    char *from = make_guarded(), *into = make_guarded();

    for (int k = 0; k < LARGEST; k++)
        from[-1 - k] = (char)(k * 37 + k / 256);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int k = 0; k < EXTENTS * EXTENTS * 2; k++) {
            bool part = k % 2;
            struct turn turn = {dtypes[d].dtype,          dtypes[d].size, extents[k / 2 / EXTENTS],
                                extents[k / 2 % EXTENTS], from,           into};
            check_turn(&turn, module, part);
        }
    check_large(module, from, into);
    akg_module_release(module);
    return check_done();
}

/*
 * test_overlap.c: which tensors a call refuses because what it writes shares memory with another argument, or
 * with itself; and runtime/overlap.h against a count of the bytes.
 */
#include "../../runtime/overlap.h"
#include "api_support.h"
#include "check.h"

static const char program[] = "def bump(x, y):\n"
                              "    z = output_tensor(x.shape, x.dtype)\n"
                              "    for i in range(x.shape[0]):\n"
                              "        z[i] = x[i] + y[i]\n"
                              "        x[i] += 1\n"
                              "    return x, z\n";

static akg_module *module;

/* x is written: shape, strides and offset of x and y in one memory of 64 elements. */
static const struct overlap {
    int64_t shape, x_stride, x_offset, y_stride, y_offset;
    bool refused;
} overlaps[] = {
    {3, 1, 0, 1, 3, false},   {3, 1, 0, 1, 2, true},   {3, 1, 0, 1, 0, true},  {3, 2, 0, 2, 1, false},
    {3, 2, 0, 2, 2, true},    {3, 2, 0, 3, 1, true},   {3, 3, 0, 3, 1, false}, {3, -1, 2, 1, 3, false},
    {3, -1, 3, 1, 3, true},   {3, 4, 0, 6, 1, false},  {3, 4, 0, 6, 2, true},  {3, 0, 5, 1, 20, true},
    {3, 1, 0, 0, 2, true},    {3, 1, 0, 0, 3, false},  {1, 0, 5, 0, 6, false}, {1, 0, 5, 7, 5, true},
    {3, -2, 10, 2, 1, false}, {3, -2, 10, 2, 4, true}, {2, 7, 0, 5, 2, true},  {2, 7, 0, 5, 1, false},
};

static void check_call(const struct overlap *row, akg_tensor *x, akg_tensor *y, akg_tensor *base)
{
    akg_argument arguments[] = {api_tensor(NULL, x), api_tensor(NULL, y)};
    akg_tensor *before, *outputs[2] = {NULL, NULL};
    akg_diagnostics *diagnostics;
    akg_status status;

    akg_tensor_copy(base, &before);
    status = akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 2, NULL, outputs, &diagnostics);
    CHECK_INT(status, row->refused ? AKG_ERROR_CALL : AKG_OK);
    if (row->refused) {
        CHECK_STRING(api_error(diagnostics), "call-alias");
        CHECK(outputs[0] == NULL && outputs[1] == NULL && api_same(before, base));
    } else {
        CHECK(outputs[1] && api_element(outputs[1], 0) == (double)(row->x_offset + row->y_offset));
    }
    akg_diagnostics_free(diagnostics);
    akg_tensor_release(outputs[0]);
    akg_tensor_release(outputs[1]);
    akg_tensor_release(before);
}

static void test_calls(void)
{
    for (size_t i = 0; i < API_COUNT(overlaps); i++) {
        const struct overlap *row = &overlaps[i];
        akg_tensor *base = api_vector(AKG_FLOAT32, 64, 0, 1), *x, *y;
        CHECK_INT(akg_tensor_view(base, 1, &row->shape, &row->x_stride, row->x_offset, &x), AKG_OK);
        CHECK_INT(akg_tensor_view(base, 1, &row->shape, &row->y_stride, row->y_offset, &y), AKG_OK);
        check_call(row, x, y, base);
        akg_tensor_release(x);
        akg_tensor_release(y);
        akg_tensor_release(base);
    }
}

/* ---- against a count of the bytes ------------------------------------------------------------ */

enum { BYTES = 320, FIRST = 128 };

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t bound)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)bound);
}

/* A view of some of the bytes; NULL when it would leave them. marks[b] counts the elements on byte b. */
static akg_tensor *random_view(char *bytes, int *marks)
{
    static const akg_dtype dtypes[] = {AKG_INT8, AKG_FLOAT16, AKG_INT32, AKG_FLOAT64};
    akg_dtype dtype = dtypes[random_below(4)];
    int64_t size = (int64_t)akg_dtype_size(dtype), shape[3], strides[3], index[3] = {0};
    int rank = (int)random_below(4);
    int64_t first = FIRST + random_below(64) / size * size;
    akg_tensor *view;

    for (int axis = 0; axis < rank; axis++) {
        shape[axis] = random_below(5) ? random_below(4) + 1 : random_below(2);
        strides[axis] = random_below(12) - 4;
    }
    akg_tensor_from_memory(bytes + first, dtype, rank, shape, strides, NULL, NULL, &view);
    memset(marks, 0, BYTES * sizeof *marks);
    for (int64_t i = 0; i < akg_tensor_element_count(view); i++) {
        int64_t at = first;
        for (int axis = 0; axis < rank; axis++)
            at += index[axis] * strides[axis] * size;
        if (at < 0 || at + size > BYTES) {
            akg_tensor_release(view);
            return NULL;
        }
        for (int64_t b = 0; b < size; b++)
            marks[at + b]++;
        for (int axis = rank - 1; axis >= 0 && ++index[axis] == shape[axis]; axis--)
            index[axis] = 0;
    }
    return view;
}

static void test_random(void)
{
    _Alignas(64) static char bytes[BYTES];
    int marks_a[BYTES], marks_b[BYTES], met = 0, apart = 0, folded = 0;

    for (int round = 0; round < 20000; round++) {
        akg_tensor *a = random_view(bytes, marks_a), *b = random_view(bytes, marks_b);
        bool meet = false, within = false;
        for (int i = 0; i < BYTES; i++) {
            meet |= marks_a[i] && marks_b[i];
            within |= marks_a[i] > 1;
        }
        if (a && b) {
            CHECK_INT(overlap_between(a, b), meet);
            CHECK_INT(overlap_between(b, a), meet);
            CHECK_INT(overlap_within(a), within);
            met += meet;
            apart += !meet;
            folded += within;
        }
        akg_tensor_release(a);
        akg_tensor_release(b);
    }
    CHECK(met > 1000 && apart > 1000 && folded > 1000);
}

/* Views made to keep the search busy: it ends, on the safe side. */
static void test_hard(void)
{
    int64_t shape[AKG_MAX_RANK], a_strides[AKG_MAX_RANK], b_strides[AKG_MAX_RANK], length = 1 << 24;
    akg_tensor *base, *a, *b;

    for (int axis = 0; axis < AKG_MAX_RANK; axis++) {
        shape[axis] = 7;
        a_strides[axis] = 2 * (9973 + 31 * axis * axis);
        b_strides[axis] = 2 * (10007 + 37 * axis * axis);
    }
    CHECK_INT(akg_tensor_create(AKG_INT8, 1, &length, &base), AKG_OK);
    CHECK_INT(akg_tensor_view(base, AKG_MAX_RANK, shape, a_strides, 0, &a), AKG_OK);
    CHECK_INT(akg_tensor_view(base, AKG_MAX_RANK, shape, b_strides, 1, &b), AKG_OK);
    CHECK(overlap_between(a, b)); /* all of a is even, all of b odd: too hard to see */
    CHECK(overlap_within(a));
    akg_tensor_release(a);
    akg_tensor_release(b);
    akg_tensor_release(base);
}

int main(void)
{
    module = api_compile(program);
    test_calls();
    test_random();
    test_hard();
    akg_module_release(module);
    return check_done();
}

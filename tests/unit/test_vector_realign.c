/*
 * test_vector_realign.c: neighbours that come out of whole lines of memory (jit/vector_x86_realign.c),
 * against sums in C.
 *
 * Kernels are put together at random: of one dimension, of rows, or of planes of rows; what they load around
 * each element, near by or too far for a window; where they begin, and how long rows are, by which lines and
 * rows lie to each other in all ways. The tensor that is loaded ends where its memory does, behind which
 * there is none that may be read, or begins where it does. Elements and weights are small whole numbers, so
 * that sums are exact in any order. That such loads are there is looked at in the text of a kernel.
 */
#include "../../include/akg.h"
#include "../../base/dtype.h"
#include "../../jit/module.h"
#include "../../jit/vector_plan.h"
#include "check.h"
#include "jit_pair.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 400, LIMIT = 64, MOST_TERMS = 7, RANK = 3 };

static uint64_t state = 11;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)limit);
}

/* ---- memory that ends ------------------------------------------------------------------------------ */

struct guarded {
    char *start, *memory; /* of the mapping; of what is asked for */
    size_t whole;
};

/* `at_end`: the bytes end where nothing may be read; else they begin there. */
static bool guard(size_t size, bool at_end, struct guarded *guarded)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (size + page - 1) / page * page;
    guarded->whole = inside + 2 * page;
    guarded->start = mmap(NULL, guarded->whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (guarded->start == MAP_FAILED)
        return false;
    guarded->memory = guarded->start + page + (at_end ? inside - size : 0);
    return mprotect(guarded->start + page, inside, PROT_READ | PROT_WRITE) == 0;
}

/* ---- kernels ---------------------------------------------------------------------------------------- */

struct term {
    int at[RANK], weight; /* distances along each axis, from 0 to the margin */
};

struct kernel {
    int rank, count;
    int64_t shape[RANK]; /* of what is loaded */
    int margin[RANK];    /* of it more than what is computed */
    struct term terms[MOST_TERMS];
    bool has_other; /* another tensor is loaded once */
    bool adds_up;   /* to what the result holds, which is the number of each element */
    bool is_sum;    /* of all, in the first element of the result */
    akg_dtype dtype;
};

static void choose(struct kernel *kernel)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT32, AKG_FLOAT64, AKG_INT32, AKG_INT64};
    bool is_far = random_below(6) == 0;
    *kernel = (struct kernel){.rank = 1 + random_below(RANK),
                              .count = 2 + random_below(MOST_TERMS - 1),
                              .has_other = random_below(4) == 0,
                              .adds_up = random_below(4) == 0,
                              .dtype = dtypes[random_below(5)]};
    kernel->is_sum = kernel->dtype != AKG_FLOAT32 && kernel->dtype != AKG_INT32 && random_below(3) == 0;
    for (int axis = 0; axis < kernel->rank; axis++) {
        bool is_last = axis == kernel->rank - 1;
        kernel->margin[axis] = is_last ? random_below(is_far ? 24 : 4) : random_below(3);
        kernel->shape[axis] = kernel->margin[axis] +
                              (is_last ? 1 + random_below(random_below(3) ? 250 : 700) : 1 + random_below(4));
    }
    for (int k = 0; k < kernel->count; k++) {
        kernel->terms[k].weight = 1 + random_below(4);
        for (int axis = 0; axis < kernel->rank; axis++)
            kernel->terms[k].at[axis] = random_below(kernel->margin[axis] + 1);
    }
}

static void write_program(const struct kernel *kernel, struct text *text)
{
    static const char names[] = "abc", *const zeros[RANK] = {"0", "0, 0", "0, 0, 0"};
    text_format(text, "def k(x, z, y):\n");
    if (kernel->is_sum)
        text_format(text, "    s = 0 * x[%s]\n", zeros[kernel->rank - 1]);
    for (int axis = 0; axis < kernel->rank; axis++)
        text_format(text, "%*sfor %c in range(y.shape[%d]):\n", 4 * (axis + 1), "", names[axis], axis);
    text_format(text, "%*s%s", 4 * (kernel->rank + 1), "", kernel->is_sum ? "s" : "y[");
    for (int axis = 0; axis < kernel->rank && !kernel->is_sum; axis++)
        text_format(text, "%s%c", axis ? ", " : "", names[axis]);
    text_format(text, "%s %s ", kernel->is_sum ? "" : "]", kernel->is_sum || kernel->adds_up ? "+=" : "=");
    for (int k = 0; k < kernel->count; k++) {
        text_format(text, "%s%d * x[", k ? " + " : "", kernel->terms[k].weight);
        for (int axis = 0; axis < kernel->rank; axis++)
            text_format(text, "%s%c + %d", axis ? ", " : "", names[axis], kernel->terms[k].at[axis]);
        text_format(text, "]");
    }
    if (kernel->has_other) {
        text_format(text, " + z[");
        for (int axis = 0; axis < kernel->rank; axis++)
            text_format(text, "%s%c", axis ? ", " : "", names[axis]);
        text_format(text, "]");
    }
    if (kernel->is_sum)
        text_format(text, "\n    y[%s] = s", zeros[kernel->rank - 1]);
    text_format(text, "\n    return y\n");
}

static int64_t elements_of(int rank, const int64_t *shape)
{
    int64_t count = 1;
    for (int axis = 0; axis < rank; axis++)
        count *= shape[axis];
    return count;
}

static double value_at(akg_dtype dtype, const void *data, int64_t at)
{
    switch (dtype) {
    case AKG_FLOAT32:
        return ((const float *)data)[at];
    case AKG_FLOAT64:
        return ((const double *)data)[at];
    case AKG_INT32:
        return ((const int32_t *)data)[at];
    default:
        return (double)((const int64_t *)data)[at];
    }
}

static void set_at(akg_dtype dtype, void *data, int64_t at, int value)
{
    switch (dtype) {
    case AKG_FLOAT32:
        ((float *)data)[at] = (float)value;
        break;
    case AKG_FLOAT64:
        ((double *)data)[at] = value;
        break;
    case AKG_INT32:
        ((int32_t *)data)[at] = value;
        break;
    default:
        ((int64_t *)data)[at] = value;
    }
}

/* What the loops compute for element number k of the result. */
static double computed(const struct kernel *kernel, const void *x, const void *z, int64_t number)
{
    int64_t place[RANK], rest = number;
    double sum = kernel->has_other ? value_at(kernel->dtype, z, number) : 0;
    for (int axis = kernel->rank - 1; axis >= 0; axis--) {
        int64_t extent = kernel->shape[axis] - kernel->margin[axis];
        place[axis] = rest % extent;
        rest /= extent;
    }
    for (int k = 0; k < kernel->count; k++) {
        int64_t at = 0;
        for (int axis = 0; axis < kernel->rank; axis++)
            at = at * kernel->shape[axis] + place[axis] + kernel->terms[k].at[axis];
        sum += kernel->terms[k].weight * value_at(kernel->dtype, x, at);
    }
    return sum;
}

/* What it should be, in a result of `count`. */
static double expected(const struct kernel *kernel, const void *x, const void *z, int64_t number,
                       int64_t count)
{
    double sum = 0;
    if (!kernel->is_sum)
        return computed(kernel, x, z, number) + (kernel->adds_up ? (double)number : 0);
    for (int64_t k = 0; k < count && number == 0; k++)
        sum += computed(kernel, x, z, k);
    return number ? (double)number : sum;
}

static void check_result(const struct kernel *kernel, const akg_tensor *result, const void *x, const void *z,
                         const char *target, const char *program)
{
    int64_t count = elements_of(kernel->rank, akg_tensor_shape(result));
    for (int64_t k = 0; k < count; k++) {
        double got = value_at(kernel->dtype, akg_tensor_data((akg_tensor *)result), k);
        double wanted = expected(kernel, x, z, k, count);
        if (CHECK(got == wanted))
            continue;
        fprintf(stderr, "    element %d of %d is %g with %s, not %g; rows of %d; of\n%s", (int)k, (int)count,
                got, target, wanted, (int)kernel->shape[kernel->rank - 1], program);
        return;
    }
}

static void call(const struct kernel *kernel, akg_argument arguments[3], const char *program,
                 enum x86_target target)
{
    jit_source source = {.name = "realign.akg", .text = program, .length = strlen(program)};
    jit_options options = {.target = x86_target_name(target), .cache = "off"};
    akg_module *module = NULL;
    akg_tensor *result = NULL;
    const int64_t *inside = akg_tensor_shape(arguments[1].as.tensor);
    bool good =
        CHECK(jit_compile(&source, &options, &module, NULL) == AKG_OK) &&
        CHECK(akg_tensor_create(kernel->dtype, kernel->rank, inside, &arguments[2].as.tensor) == AKG_OK);
    if (good) {
        module->vectors.stream_bytes = LIMIT;
        akg_tensor_fill_range(arguments[2].as.tensor, 0, 1);
    }
    if (good &&
        CHECK(akg_kernel_call(akg_module_kernel_at(module, 0), arguments, 3, NULL, &result, NULL) == AKG_OK))
        check_result(kernel, result, akg_tensor_data(arguments[0].as.tensor),
                     akg_tensor_data(arguments[1].as.tensor), options.target, program);
    akg_tensor_release(result);
    akg_tensor_release(arguments[2].as.tensor);
    akg_module_release(module);
}

static bool fill(const struct kernel *kernel, const int64_t *shape, struct guarded *guarded,
                 akg_tensor **tensor)
{
    int64_t count = elements_of(kernel->rank, shape);
    if (!guard((size_t)count * dtype_table[kernel->dtype].size, random_below(2), guarded))
        return false;
    for (int64_t k = 0; k < count; k++)
        set_at(kernel->dtype, guarded->memory, k, random_below(50));
    return akg_tensor_from_memory(guarded->memory, kernel->dtype, kernel->rank, shape, NULL, NULL, NULL,
                                  tensor) == AKG_OK;
}

static void check_round(void)
{
    struct kernel kernel;
    struct guarded memory[2];
    struct text program;
    int64_t inside[RANK];
    akg_argument arguments[3] = {
        {.kind = AKG_ARGUMENT_TENSOR}, {.kind = AKG_ARGUMENT_TENSOR}, {.kind = AKG_ARGUMENT_TENSOR}};
    choose(&kernel);
    for (int axis = 0; axis < kernel.rank; axis++)
        inside[axis] = kernel.shape[axis] - kernel.margin[axis];
    text_init(&program);
    write_program(&kernel, &program);
    if (CHECK(!program.failed) && CHECK(fill(&kernel, kernel.shape, &memory[0], &arguments[0].as.tensor)) &&
        CHECK(fill(&kernel, inside, &memory[1], &arguments[1].as.tensor)))
        for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++)
            call(&kernel, arguments, program.data, (enum x86_target)target);
    for (int k = 0; k < 2; k++) {
        akg_tensor_release(arguments[k].as.tensor);
        munmap(memory[k].start, memory[k].whole);
    }
    text_free(&program);
}

/* ---- the instructions -------------------------------------------------------------------------------- */

/* Five points; one point of two tensors. */
static const char five[] = "kernel five {\ninput x: %s[M, N]\noutput y: %s[M, N]\nbody {\n"
                           "for i = 1 to (M - 1) step 1 {\nfor j = 1 to (N - 1) step 1 {\n"
                           "y[i, j] = (x[(i - 1), j] + (x[(i + 1), j] + (x[i, (j - 1)] + x[i, (j + 1)])))\n"
                           "}\n}\n}\n}\n";
static const char residual[] =
    "kernel residual {\ninput x: %s[M, N]\ninput b: %s[M, N]\noutput y: %s[1]\nbody {\n"
    "var s: float32 = 0.0:float32\nfor i = 0 to (M - 1) step 1 reduces sum s {\n"
    "for j = 0 to N step 1 reduces sum s {\n"
    "s = (s + ((x[i, j] - x[(i + 1), j]) * b[i, j]))\n}\n}\ny[0] = s\n}\n}\n";
static const char one[] = "kernel one {\ninput x: %s[N]\ninput z: %s[N]\noutput y: %s[N]\nbody {\n"
                          "for i = 0 to N step 1 {\ny[i] = (x[i] + z[i])\n}\n}\n}\n";

static bool has(const char *form, const char *dtype, uint64_t limit, const char *wanted)
{
    struct vector_options options = {.target = X86_TARGET_AVX512, .stream_bytes = (int64_t)limit};
    struct jit_pair pair;
    struct text text;
    char kernel[600];
    bool found = false;
    pair_init(&pair);
    text_init(&text);
    pair.vectors = options;
    snprintf(kernel, sizeof kernel, form, dtype, dtype, dtype);
    if (CHECK(pair_read(&pair, kernel)) && CHECK(vector_plan_print(&text, pair.kernel, &pair.vectors)))
        found = strstr(text.data, wanted) != NULL;
    text_free(&text);
    pair_free(&pair);
    return found;
}

int main(void)
{
    CHECK(has(five, "float32", LIMIT, "vpermt2ps") && has(five, "int32", LIMIT, "vpermt2ps"));
    CHECK(has(five, "float64", LIMIT, "vpermt2pd") && !has(five, "float16", LIMIT, "vpermt2"));
    CHECK(has(residual, "float32", LIMIT, "prefetcht0") && !has(residual, "float32", 0, "prefetcht0"));
    CHECK(!has(five, "float32", 0, "vpermt2") && !has(one, "float32", LIMIT, "vpermt2"));
    if (x86_cpu_target() == X86_TARGET_NONE) {
        puts("skipped: this processor has no vector target");
        return check_done();
    }
    for (int k = 0; k < ROUNDS; k++)
        check_round();
    return check_done();
}

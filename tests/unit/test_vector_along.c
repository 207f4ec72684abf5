/*
 * test_vector_along.c: sums over images that slide under others (gradients of the weights of convolutions),
 * whose lanes go along the rows of the images, with vectors of each width against the interpreter.
 *
 * Windows are known or not, images of 1 to 40 columns, of which every element or every other one is used.
 * Numbers are small and whole, so that results are the same to the bit, strict or not. Of fractions they are
 * the same for any number of threads.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 3, WIDEST = 40, PROGRAM = 2000 };

/* x is N x C x rows x columns, d N x O x I x J, k carries the extents of the window; P, Q and S stand for
 * these and for the step. */
static const char *const forms[] = {
    /* the sum in a scalar, with something made of it */
    "    for o in range(O):\n        for c in range(C):\n            for p in range(P):\n"
    "                for q in range(Q):\n                    s = cast(1, x.dtype)\n"
    "                    for n in range(N):\n                        for i in range(I):\n"
    "                            for j in range(J):\n"
    "                                s += x[n, c, S * i + p, S * j + q] * d[n, o, i, j]\n"
    "                    y[o, c, p, q] = s * 2 + o\n",
    /* in place, the image outside */
    "    for n in range(N):\n        for o in range(O):\n            for i in range(I):\n"
    "                for j in range(J):\n                    for c in range(C):\n"
    "                        for p in range(P):\n                            for q in range(Q):\n"
    "                                y[o, c, p, q] += x[n, c, S * i + p, S * j + q] * d[n, o, i, j]\n",
    /* taken away, one image */
    "    for p in range(P):\n        for q in range(Q):\n            s = cast(0, x.dtype)\n"
    "            for i in range(I):\n                for j in range(J):\n"
    "                    s -= x[0, 0, S * i + p, S * j + q] * d[0, 0, i, j]\n"
    "            y[0, 0, p, q] = s\n",
    /* one dimension */
    "    for c in range(C):\n        for q in range(Q):\n            s = cast(0, x.dtype)\n"
    "            for j in range(J):\n                s += x[0, c, 0, S * j + q] * d[0, 0, 0, j]\n"
    "            y[0, c, 0, q] = s\n",
    /* two sums, one of them of what hangs on the rows alone */
    "    for o in range(O):\n        for q in range(Q):\n            s = cast(0, x.dtype)\n"
    "            t = cast(3, x.dtype)\n            for n in range(N):\n"
    "                for j in range(J):\n                    s += x[n, 0, 0, S * j + q] * d[n, o, 0, j]\n"
    "                    t += d[n, o, 0, j]\n            y[o, 0, 0, q] = s - t\n",
    /* a border of zeros around the image */
    "    for o in range(O):\n        for p in range(P):\n            for q in range(Q):\n"
    "                s = cast(0, x.dtype)\n                for i in range(I):\n"
    "                    for j in range(J):\n"
    "                        if i + p >= 1 and i + p - 1 < I and j + q >= 1 and j + q - 1 < J:\n"
    "                            s += x[0, 0, i + p - 1, j + q - 1] * d[0, o, i, j]\n"
    "                y[o, 0, p, q] = s\n",
    /* under a condition on what is loaded */
    "    for o in range(O):\n        for q in range(Q):\n            s = cast(0, x.dtype)\n"
    "            for i in range(I):\n                for j in range(J):\n"
    "                    if d[0, o, i, j] > 0:\n"
    "                        s += x[0, 0, i, S * j + q] - d[0, o, i, j] * 2\n"
    "            y[o, 0, 0, q] = s\n",
    /* columns that lie a row apart */
    "    for o in range(O):\n        for p in range(P):\n            s = cast(2, x.dtype)\n"
    "            for n in range(N):\n                for j in range(J):\n"
    "                    s += x[n, 0, p, S * j] * d[n, o, 0, j]\n            y[o, 0, p, 0] = s\n",
    /* wider sums, and a factor that stays the same along the row */
    "    for o in range(O):\n        for q in range(Q):\n            s = float64(0)\n"
    "            for i in range(I):\n                for j in range(J):\n"
    "                    s += float64(x[0, 0, S * i, S * j + q]) * float64(d[0, o, i, j] * x[0, 0, i, 0])\n"
    "            y[o, 0, 0, q] = cast(s, x.dtype)\n",
};

static uint64_t state = 5;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static akg_tensor *tensor_of(akg_dtype dtype, const int64_t shape[4], bool is_whole)
{
    akg_tensor *tensor = NULL;
    int64_t at[4];
    if (!CHECK(akg_tensor_create(dtype, 4, shape, &tensor) == AKG_OK))
        return NULL;
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
        for (at[1] = 0; at[1] < shape[1]; at[1]++)
            for (at[2] = 0; at[2] < shape[2]; at[2]++)
                for (at[3] = 0; at[3] < shape[3]; at[3]++)
                    akg_tensor_set(tensor, at, is_whole ? random_below(3) - 1 : random_below(999) / 999.0);
    return tensor;
}

struct sizes {
    int images, outputs, channels, window[2], image[2], step;
    bool is_known;
};

static void write_program(char *program, const char *body, const struct sizes *sizes)
{
    size_t used = (size_t)snprintf(program, PROGRAM,
                                   "def k(x: T[N, C, V, W], d: T[N, O, I, J], k: T[O, C, P, Q], g=1.0):\n"
                                   "    y = output_tensor((O, C, P, Q), x.dtype)\n"
                                   "    for a, b, e, f in grid(y.shape):\n        y[a, b, e, f] = 0\n");
    for (const char *at = body; *at && used + 20 < PROGRAM; at++) {
        bool alone = at[1] == ')' || at[1] == ' ';
        int number = !alone ? -1 : *at == 'S' ? sizes->step : -1;
        if (alone && sizes->is_known && (*at == 'P' || *at == 'Q'))
            number = sizes->window[*at == 'Q'];
        if (number >= 0)
            used += (size_t)snprintf(program + used, PROGRAM - used, "%d", number);
        else
            program[used++] = *at;
    }
    snprintf(program + used, PROGRAM - used, "    return y\n");
}

static void make_inputs(akg_dtype dtype, const struct sizes *sizes, bool is_whole, akg_tensor **inputs)
{
    const int64_t shapes[INPUTS][4] = {{sizes->images, sizes->channels,
                                        (sizes->image[0] - 1) * sizes->step + sizes->window[0],
                                        (sizes->image[1] - 1) * sizes->step + sizes->window[1]},
                                       {sizes->images, sizes->outputs, sizes->image[0], sizes->image[1]},
                                       {sizes->outputs, sizes->channels, sizes->window[0], sizes->window[1]}};
    for (int k = 0; k < INPUTS; k++)
        inputs[k] = tensor_of(dtype, shapes[k], is_whole);
}

static void check_form(const char *form, akg_dtype dtype, const struct sizes *sizes)
{
    const akg_argument last = api_real(NULL, 1);
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_tensor *inputs[INPUTS], *expected = NULL;
    char program[PROGRAM];
    make_inputs(dtype, sizes, true, inputs);
    write_program(program, form, sizes);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, &expected)))
        CHECK(api_same_everywhere(program, inputs, INPUTS, &last, expected));
    else
        fprintf(stderr, "%s", program);
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

/* As many sums as threads share. */
static void check_threads(const char *form, const struct sizes *sizes, enum x86_target target)
{
    const akg_argument last = api_real(NULL, 1);
    jit_options options = {.target = x86_target_name(target), .cache = "off"};
    akg_tensor *inputs[INPUTS], *outputs[2] = {NULL};
    char program[PROGRAM];
    make_inputs(AKG_FLOAT32, sizes, false, inputs);
    write_program(program, form, sizes);
    for (int k = 0; k < 2; k++) {
        akg_set_threads(k ? 3 : 1);
        CHECK(api_run(program, &options, inputs, INPUTS, &last, &outputs[k]));
    }
    if (!CHECK(api_same(outputs[0], outputs[1])))
        fprintf(stderr, "%s", program);
    for (int k = 0; k < 2; k++)
        akg_tensor_release(outputs[k]);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_FLOAT64, AKG_FLOAT16, AKG_BFLOAT16, AKG_INT32};
    for (size_t k = 0; k < API_COUNT(forms); k++)
        for (int width = 1; width <= WIDEST; width++) {
            if (!check_takes(k + (size_t)width))
                continue;
            struct sizes sizes = {.images = 1 + random_below(2),
                                  .outputs = 1 + random_below(11),
                                  .channels = 1 + random_below(2),
                                  .window = {1 + random_below(3), 1 + random_below(9)},
                                  .image = {1 + random_below(3), width},
                                  .step = 1 + (random_below(3) == 0) + (random_below(9) == 0),
                                  .is_known = random_below(2)};
            check_form(forms[k], dtypes[(size_t)width % API_COUNT(dtypes)], &sizes);
            sizes.window[1] = 3;
            check_form(forms[k], dtypes[0], &sizes);
        }
    for (int width = 1; width < WIDEST; width += 3) { /* as many channels as are turned */
        struct sizes sizes = {2,          14 + width % 5, 8 + width % 3, {1 + width % 3, 3},
                              {2, width}, 1 + width % 2,  true};
        check_form(forms[width % 2], dtypes[width / 2 % 3], &sizes);
        check_threads(forms[width % 2], &sizes, x86_cpu_target());
    }
    for (size_t k = 0; k < API_COUNT(forms); k++)
        for (int width = 20; width < WIDEST; width += 7)
            for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++) {
                struct sizes sizes = {
                    4, 21, 6, {3, 3 + width % 4}, {width, width}, 1 + width % 2, width % 3 > 0};
                check_threads(forms[k], &sizes, (enum x86_target)target);
            }
    akg_set_threads(1);
    return check_done();
}

/*
 * test_vector_apart.c: windows that lie apart (pooling, convolutions with steps, blocks), which vectors go
 * along one by one, and groups of three and four elements in rows that are shorter than a vector, with
 * vectors of each width against the interpreter.
 *
 * Windows are of 1 to 20 elements, known or not, rows of 1 to 40 of them. Numbers are small and whole, so
 * that results are the same to the bit, strict or not.
 */
#include "../../include/akg.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

enum { INPUTS = 2, LONGEST = 40, PROGRAM = 2000 };

/* x is C x H x W, w F x P x Q; I and J stand for how many windows there are, P and Q for their extents, where
 * these are known, S for how far they lie apart. */
static const char *const forms[] = {
    /* sums */
    "    y = output_tensor((C, I, J), x.dtype)\n    for c in range(C):\n        for i in range(I):\n"
    "            for j in range(J):\n                s = cast(1, x.dtype)\n                for p in "
    "range(P):\n"
    "                    for q in range(Q):\n                        s += x[c, S * i + p, S * j + q]\n"
    "                y[c, i, j] = s * 2\n",
    /* the greatest, from the first on */
    "    y = output_tensor((C, I, J), x.dtype)\n    for c in range(C):\n        for i in range(I):\n"
    "            for j in range(J):\n                s = x[c, S * i, S * j]\n                for p in "
    "range(P):\n"
    "                    for q in range(Q):\n                        s = max(s, x[c, S * i + p, S * j + q])\n"
    "                y[c, i, j] = s\n",
    /* the least and a sum, each with a result of its own; the channels innermost */
    "    y = output_tensor((I, J, C), x.dtype)\n    z = allocate((I, J, C), x.dtype)\n"
    "    for i in range(I):\n        for j in range(J):\n            for c in range(C):\n"
    "                s = cast(9, x.dtype)\n                t = cast(0, x.dtype)\n                for p in "
    "range(P):\n"
    "                    for q in range(Q):\n                        s = min(s, x[c, S * i + p, S * j + q])\n"
    "                        t += x[c, S * i + p, S * j + q]\n"
    "                y[i, j, c] = s\n                z[i, j, c] = t\n    for a, b, c in grid(y.shape):\n"
    "        y[a, b, c] = y[a, b, c] * 32 + z[a, b, c]\n",
    /* products with weights that all windows share, over all channels */
    "    y = output_tensor((F, I, J), x.dtype)\n    for f in range(F):\n        for i in range(I):\n"
    "            for j in range(J):\n                s = cast(0, x.dtype)\n                for c in "
    "range(C):\n"
    "                    for p in range(P):\n                        for q in range(Q):\n"
    "                            s += x[c, S * i + p, S * j + q] * w[f, p, q]\n"
    "                y[f, i, j] = s\n",
    /* of one row, distances from weights, under a condition */
    "    y = output_tensor((C, F, J), x.dtype)\n    for c in range(C):\n        for f in range(F):\n"
    "            for j in range(J):\n                s = cast(0, x.dtype)\n                for q in "
    "range(Q):\n"
    "                    if w[f, 0, q] > 0:\n"
    "                        s += cast(abs(x[c, 0, S * j + q] - w[f, 0, q]), x.dtype)\n"
    "                y[c, f, j] = s\n",
    /* wider sums, one after the other */
    "    y = output_tensor((J,), x.dtype)\n    for j in range(J):\n        s = int64(0)\n"
    "        for q in range(Q):\n            s += int64(x[0, 0, S * j + q])\n        y[j] = cast(s, "
    "x.dtype)\n",
    /* groups that are loaded and stored */
    "    y = output_tensor((C, H, J * 3), x.dtype)\n    for c in range(C):\n        for h in range(H):\n"
    "            for j in range(J):\n                a = x[c, h, 3 * j]\n                b = x[c, h, 3 * j + "
    "1]\n"
    "                y[c, h, 3 * j] = x[c, h, 3 * j + 2]\n                y[c, h, 3 * j + 1] = a + b\n"
    "                y[c, h, 3 * j + 2] = b - a\n",
    "    y = output_tensor((C, H, J * 4), x.dtype)\n    for c in range(C):\n        for h in range(H):\n"
    "            for j in range(J):\n                a = x[c, h, 4 * j]\n                b = x[c, h, 4 * j + "
    "3]\n"
    "                y[c, h, 4 * j + 1] = x[c, h, 4 * j + 2]\n                y[c, h, 4 * j] = a * b\n"
    "                y[c, h, 4 * j + 3] = b - a\n                y[c, h, 4 * j + 2] = x[c, h, 4 * j + 1] + "
    "a\n",
};

enum { GROUPS_OF_3 = 6, GROUPS_OF_4 = 7 };

static uint64_t state = 11;

static int random_below(int limit)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)limit);
}

static akg_tensor *tensor_of(akg_dtype dtype, const int64_t shape[3])
{
    akg_tensor *tensor = NULL;
    int64_t at[3];
    if (!CHECK(akg_tensor_create(dtype, 3, shape, &tensor) == AKG_OK))
        return NULL;
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
        for (at[1] = 0; at[1] < shape[1]; at[1]++)
            for (at[2] = 0; at[2] < shape[2]; at[2]++)
                akg_tensor_set(tensor, at, random_below(7) - 3.0 * (dtype != AKG_UINT8));
    return tensor;
}

struct sizes {
    int window[2], count[2], step;
    bool is_known;
};

static void write_program(char *program, const char *body, const struct sizes *sizes)
{
    const struct {
        char letter;
        int number;
    } known[] = {{'S', sizes->step},
                 {'I', sizes->count[0]},
                 {'J', sizes->is_known ? sizes->count[1] : -1},
                 {'P', sizes->is_known ? sizes->window[0] : -1},
                 {'Q', sizes->is_known ? sizes->window[1] : -1}};
    size_t used = (size_t)snprintf(program, PROGRAM,
                                   "def k(x: T[C, H, W], w: T[F, P, Q], g=1.0):\n    J = (W - Q) // %d + 1\n",
                                   sizes->step);
    for (const char *at = body; *at && used + 20 < PROGRAM; at++) {
        bool alone = strchr(" ),", at[1]) && strchr(" (", at[-(at > body)]);
        int number = -1;
        for (size_t k = 0; alone && k < API_COUNT(known); k++)
            number = *at == known[k].letter ? known[k].number : number;
        if (number >= 0)
            used += (size_t)snprintf(program + used, PROGRAM - used, "%d", number);
        else
            program[used++] = *at;
    }
    snprintf(program + used, PROGRAM - used, "    return y\n");
}

static void check_form(const char *form, akg_dtype dtype, const struct sizes *sizes)
{
    const akg_argument last = api_real(NULL, 1);
    const int64_t shapes[INPUTS][3] = {{1 + random_below(3),
                                        (sizes->count[0] - 1) * sizes->step + sizes->window[0],
                                        (sizes->count[1] - 1) * sizes->step + sizes->window[1]},
                                       {1 + random_below(3), sizes->window[0], sizes->window[1]}};
    jit_options options = {.backend = JIT_BACKEND_INTERPRETER, .cache = "off"};
    akg_tensor *inputs[INPUTS], *expected = NULL;
    char program[PROGRAM];
    for (int k = 0; k < INPUTS; k++)
        inputs[k] = tensor_of(dtype, shapes[k]);
    write_program(program, form, sizes);
    if (CHECK(api_run(program, &options, inputs, INPUTS, &last, &expected)))
        CHECK(api_same_everywhere(program, inputs, INPUTS, &last, expected));
    else
        fprintf(stderr, "%s", program);
    akg_tensor_release(expected);
    for (int k = 0; k < INPUTS; k++)
        akg_tensor_release(inputs[k]);
}

int main(void)
{
    static const akg_dtype dtypes[] = {AKG_FLOAT32, AKG_INT32,   AKG_FLOAT32, AKG_FLOAT64,
                                       AKG_UINT8,   AKG_FLOAT16, AKG_FLOAT32, AKG_INT64};
    static const int windows[] = {3, 4, 8, 5, 7, 16, 2, 11, 6, 1, 20, 9};
    for (int k = 0; k < (int)API_COUNT(forms); k++)
        for (int count = 1 + k % 3; count <= LONGEST; count += 2) {
            if (!check_takes((size_t)(k + count)))
                continue;
            int extent = windows[(size_t)random_below(API_COUNT(windows))];
            struct sizes sizes = {.window = {1 + random_below(4), extent},
                                  .count = {1 + random_below(4), count},
                                  .step = random_below(3) ? extent : 1 + random_below(6),
                                  .is_known = random_below(4) > 0};
            akg_dtype dtype = dtypes[random_below(API_COUNT(dtypes))];
            if (k == GROUPS_OF_3 || k == GROUPS_OF_4) {
                sizes.window[1] = sizes.step = k == GROUPS_OF_3 ? 3 : 4;
                dtype = random_below(2) ? AKG_FLOAT32 : dtype;
            }
            check_form(forms[k], dtype, &sizes);
        }
    akg_set_threads(1);
    return check_done();
}

/*
 * test_flow_fuse.c: in code with branches a product that is only added to something is not rounded, unless
 * results are strict; one that is used elsewhere is, and one whose factors have changed by then.
 *
 * Of v = 1 + d, where d * d is less than half a unit of 1, v * v is 1 + 2 * d to the nearest: what is left of
 * v * v - (1 + 2 * d) is nothing, or d * d where the product is not rounded.
 */
#include "../../include/akg.h"
#include "../../jit/x86_cpu.h"
#include "api_support.h"
#include "check.h"

#include <stdio.h>

enum { RESULTS = 6 };

/* What stands at y[k]: of 0 it is d * d where products are fused, of 3 on never. The loops keep vectors out.
 */
static const char program[] = "def k(x: T[N], z: T[N]):\n"
                              "    y = output_tensor((N, 6), x.dtype)\n"
                              "    for i in range(N):\n"
                              "        v = x[i]\n"
                              "        s = z[i]\n"
                              "        while v < 1:\n"
                              "            v = v + v\n"
                              "        y[i, 0] = v * v + z[i]\n"
                              "        y[i, 1] = x[i] * x[i] - -z[i]\n"
                              "        w = v + 0 * s\n"
                              "        y[i, 2] = z[i] - w * -w\n"
                              "        u = x[i] * v\n"
                              "        y[i, 3] = u + z[i]\n"
                              "        y[i, 4] = (u - z[i]) * 0 + (u + z[i])\n"
                              "        p = v * w\n"
                              "        v = v + 1\n"
                              "        y[i, 5] = p + z[i] if v > 0 else v\n"
                              "    return y\n";

/* How many of the results are d * d; -1: one is neither that nor 0. */
static int count_fused(akg_dtype dtype, double d, const jit_options *options)
{
    akg_tensor *inputs[] = {api_vector(dtype, 1, 1 + d, 0), api_vector(dtype, 1, -1 - 2 * d, 0)}, *y = NULL;
    int fused = 0;
    CHECK(api_run(program, options, inputs, 2, NULL, &y));
    for (int k = 0; y && k < RESULTS; k++) {
        double value = api_element(y, k);
        if (!CHECK(value == 0 || value == d * d))
            fprintf(stderr, "    y[%d] = %g, of d * d = %g\n", k, value, d * d);
        fused += value != 0;
        if (k == 3 || k == 4)
            CHECK(value == 0);
    }
    akg_tensor_release(y);
    akg_tensor_release(inputs[0]);
    akg_tensor_release(inputs[1]);
    return fused;
}

int main(void)
{
    for (int target = X86_TARGET_AVX2; target <= (int)x86_cpu_target(); target++)
        for (int strict = 0; strict < 2; strict++) {
            jit_options options = {
                .target = x86_target_name((enum x86_target)target), .cache = "off", .strict = strict};
            int narrow = count_fused(AKG_FLOAT32, 0x1p-12, &options);
            int wide = count_fused(AKG_FLOAT64, 0x1p-28, &options);
            CHECK(strict ? narrow == 0 : narrow >= 3);
            CHECK(strict ? wide == 0 : wide >= 3);
        }
    return check_done();
}

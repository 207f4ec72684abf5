/*
 * test_dependence.c: kernels as IR text, and their dependences, scalars and loops as dependence_print writes
 * them, after the bounds analysis. A loop that is parallel is not in the lists below; `lines` are separated
 * by "|".
 */
#include "../../jit/analysis.h"
#include "../../jit/dependence.h"
#include "../../base/text.h"
#include "check.h"
#include "judged.h"

#include <stdlib.h>

struct row {
    const char *name, *declarations, *body, *lines;
};

#define X1 "input x: float32[N]\n"
#define Y1 "inout y: float32[N]\n"
#define A2 "inout a: float32[N, M]\n"
#define FOR(variable, low, high, body) "for " variable " = " low " to " high " step 1 {\n" body "}\n"
#define UP(variable, high, body) FOR(variable, "0", high, body)

static const struct row rows[] = {
    /* ---- one loop ---- */
    {"copy", X1 Y1, UP("i", "N", "y[i?] = x[i?]\n"), ""},
    {"recurrence", X1 Y1, FOR("i", "1", "N", "y[i?] = (y[(i - 1)?] * x[i?])\n"),
     "flow y[i] -> y[(i - 1)] (1)|"
     "loop i: serial: flow y[i] -> y[(i - 1)] (1)"},
    {"recurrence at distance 3", X1 Y1, FOR("i", "3", "N", "y[i?] = (y[(i - 3)?] * x[i?])\n"),
     "flow y[i] -> y[(i - 3)] (3)|"
     "loop i: serial: flow y[i] -> y[(i - 3)] (3)"},
    {"look ahead", X1 Y1, FOR("i", "0", "(N - 1)", "y[i?] = (y[(i + 1)?] * x[i?])\n"),
     "anti y[(i + 1)] -> y[i] (1)|"
     "loop i: serial: anti y[(i + 1)] -> y[i] (1)"},
    {"distance beyond the trip count", X1 "inout y: float32[20]\n", UP("i", "10", "y[i?] = y[(i + 10)?]\n"),
     ""},
    {"distance of the last iteration", X1 "inout y: float32[20]\n", UP("i", "10", "y[i?] = y[(i + 9)?]\n"),
     "anti y[(i + 9)] -> y[i] (9)|"
     "loop i: serial: anti y[(i + 9)] -> y[i] (9)"},
    {"even and odd", Y1, UP("i", "(N // 2)", "y[(2 * i)?] = y[((2 * i) + 1)?]\n"), ""},
    {"stride 2 to 4", Y1, UP("i", "(N // 4)", "y[(4 * i)?] = y[(2 * i)?]\n"),
     "anti y[(2 * i)] -> y[(4 * i)] (0)|"
     "flow y[(4 * i)] -> y[(2 * i)] (<)|"
     "loop i: serial: flow y[(4 * i)] -> y[(2 * i)] (<)"},
    {"gcd", Y1, UP("i", "(N // 6)", "y[(6 * i)?] = y[((4 * i) + 1)?]\n"), ""},
    {"gcd that divides", "inout y: float32[100]\n", UP("i", "10", "y[(6 * i)?] = y[((4 * i) + 2)?]\n"),
     "anti y[((4 * i) + 2)] -> y[(6 * i)] (0)|"
     "flow y[(6 * i)] -> y[((4 * i) + 2)] (<)|"
     "loop i: serial: flow y[(6 * i)] -> y[((4 * i) + 2)] (<)"},
    {"reversal", "inout y: float32[100]\n", UP("i", "100", "y[i?] = y[(99 - i)?]\n"),
     "anti y[(99 - i)] -> y[i] (<)|"
     "flow y[i] -> y[(99 - i)] (<)|"
     "loop i: serial: anti y[(99 - i)] -> y[i] (<)"},
    {"reversal of N", Y1, UP("i", "N", "y[i?] = y[((N - 1) - i)?]\n"),
     "anti y[((N - 1) - i)] -> y[i] (<)|"
     "anti y[((N - 1) - i)] -> y[i] (0)|"
     "flow y[i] -> y[((N - 1) - i)] (<)|"
     "loop i: serial: anti y[((N - 1) - i)] -> y[i] (<)"},
    {"reversal to the middle", Y1, UP("i", "(N // 2)", "y[i?] = y[((N - 1) - i)?]\n"), ""},
    {"constant element", X1 Y1, UP("i", "N", "y[0?] = x[i?]\n"),
     "output y[0] -> y[0] (<)|"
     "loop i: serial: output y[0] -> y[0] (<)"},
    {"sum into an element", X1 Y1, UP("i", "N", "y[0?] = (y[0?] + x[i?])\n"),
     "output y[0] -> y[0] (<) reduction|"
     "anti y[0] -> y[0] (<) reduction|"
     "anti y[0] -> y[0] (0) reduction|"
     "flow y[0] -> y[0] (<) reduction|"
     "loop i: accumulates"},
    {"maximum into an element", X1 Y1, UP("i", "N", "y[0?] = max(x[i?], y[0?])\n"),
     "output y[0] -> y[0] (<) reduction|"
     "anti y[0] -> y[0] (<) reduction|"
     "anti y[0] -> y[0] (0) reduction|"
     "flow y[0] -> y[0] (<) reduction|"
     "loop i: accumulates"},
    {"long sum", X1 Y1, UP("i", "N", "y[0?] = ((y[0?] + x[i?]) - x[0?])\n"),
     "output y[0] -> y[0] (<) reduction|"
     "anti y[0] -> y[0] (<) reduction|"
     "anti y[0] -> y[0] (0) reduction|"
     "flow y[0] -> y[0] (<) reduction|"
     "loop i: accumulates"},
    {"sum that is looked at", X1 Y1 "output z: float32[N]\n",
     UP("i", "N", "y[0?] = (y[0?] + x[i?])\nz[i?] = y[0?]\n"),
     "output y[0] -> y[0] (<) reduction|"
     "anti y[0] -> y[0] (<) reduction|"
     "anti y[0] -> y[0] (0) reduction|"
     "flow y[0] -> y[0] (<) reduction|"
     "flow y[0] -> y[0] (<)|"
     "flow y[0] -> y[0] (0)|"
     "anti y[0] -> y[0] (<)|"
     "loop i: serial: flow y[0] -> y[0] (<)"},
    {"subtracted from", X1 Y1, UP("i", "N", "y[0?] = (x[i?] - y[0?])\n"),
     "output y[0] -> y[0] (<)|"
     "anti y[0] -> y[0] (<)|"
     "anti y[0] -> y[0] (0)|"
     "flow y[0] -> y[0] (<)|"
     "loop i: serial: output y[0] -> y[0] (<)"},
    {"down", X1 Y1, "for i = (N - 2) to -1 step -1 {\ny[i?] = (y[(i + 1)?] * x[i?])\n}\n",
     "flow y[i] -> y[(i + 1)] (1)|"
     "loop i: serial: flow y[i] -> y[(i + 1)] (1)"},
    {"down by two", X1 Y1, "for i = (N - 3) to -1 step -2 {\ny[i?] = (y[(i + 2)?] * x[i?])\n}\n",
     "flow y[i] -> y[(i + 2)] (1)|"
     "loop i: serial: flow y[i] -> y[(i + 2)] (1)"},
    {"step of three", X1 Y1, "for i = 3 to N step 3 {\ny[i?] = (y[(i - 3)?] + y[(i - 1)?])\n}\n",
     "flow y[i] -> y[(i - 3)] (1)|"
     "loop i: serial: flow y[i] -> y[(i - 3)] (1)"},
    {"guarded", X1 Y1, UP("i", "N", "if (i > 5) {\ny[i?] = y[(i - 6)?]\n}\n"),
     "flow y[i] -> y[(i - 6)] (6)|"
     "loop i: serial: flow y[i] -> y[(i - 6)] (6)"},
    {"two halves", Y1, UP("i", "(N // 2)", "y[i?] = y[(i + (N // 2))?]\n"), ""},
    {"modulo", X1 Y1, UP("i", "N", "y[(i % 4)?] = x[i?]\n"),
     "output y[(i % 4)] -> y[(i % 4)] (<)|"
     "loop i: serial: output y[(i % 4)] -> y[(i % 4)] (<)"},
    {"quotient", X1 Y1, UP("i", "N", "y[(i // 2)?] = x[i?]\n"),
     "output y[(i // 2)] -> y[(i // 2)] (1)|"
     "loop i: serial: output y[(i // 2)] -> y[(i // 2)] (1)"},
    {"pairs", X1 Y1, UP("i", "N", "y[(i % 2)?] = y[((i % 2) + 2)?]\n"),
     "output y[(i % 2)] -> y[(i % 2)] (<)|"
     "loop i: serial: output y[(i % 2)] -> y[(i % 2)] (<)"},
    {"gather", "input p: int64[N]\n" Y1, UP("i", "N", "y[i?] = y[p[i?]?]\n"),
     "anti y[p[i]?] -> y[i] (<) perhaps|"
     "anti y[p[i]?] -> y[i] (0) perhaps|"
     "flow y[i] -> y[p[i]?] (<) perhaps|"
     "loop i: undecided: anti y[p[i]?] -> y[i] (<) perhaps"},
    {"scatter", X1 "input p: int64[N]\n" Y1, UP("i", "N", "y[p[i?]?] = x[i?]\n"),
     "output y[p[i]?] -> y[p[i]?] (<) perhaps|"
     "loop i: undecided: output y[p[i]?] -> y[p[i]?] (<) perhaps"},
    {"histogram", "input p: int64[N]\n" Y1, UP("i", "N", "y[p[i?]?] = (y[p[i?]?] + 1.0:float32)\n"),
     "output y[p[i]?] -> y[p[i]?] (<) reduction perhaps|"
     "anti y[p[i]?] -> y[p[i]?] (<) reduction perhaps|"
     "anti y[p[i]?] -> y[p[i]?] (0) reduction perhaps|"
     "flow y[p[i]?] -> y[p[i]?] (<) reduction perhaps|"
     "loop i: accumulates"},
    {"either side", X1 "inout y: float32[100]\n",
     UP("i", "N", "if (x[i?] > 0.0:float32) {\ny[0?] = x[i?]\n} else {\ny[0?] = 1.0:float32\n}\n"),
     "output y[0] -> y[0] (<) perhaps|"
     "output y[0] -> y[0] (<) perhaps|"
     "output y[0] -> y[0] (<) perhaps|"
     "output y[0] -> y[0] (<) perhaps|"
     "loop i: undecided: output y[0] -> y[0] (<) perhaps"},
    {"attribute offset", Y1 "attribute d: int64\n", UP("i", "N", "y[i?] = y[(i + d)?]\n"),
     "anti y[(i + d)!] -> y[i] (0)"},
    {"offset that is asserted", Y1 "attribute d: int64\nrequire assert (d >= N) \"far\"\n",
     UP("i", "(N - d)", "y[i?] = y[(i + d)?]\n"), ""},
    {"running index", X1 Y1, "var k: int64 = 0\n" UP("i", "N", "y[k?] = x[k?]\nk = (k + 1)\n"),
     "scalar k in i: carried|"
     "loop i: serial: scalar k"},
    {"break", X1 Y1, UP("i", "N", "if (x[i?] > 0.0:float32) {\nbreak\n}\ny[i?] = x[i?]\n"),
     "loop i: serial: may leave"},
    {"while", X1 Y1, "var i: int64 = 0\nwhile (i < N) {\ny[i?] = x[i?]\ni = (i + 1)\n}\n",
     "output y[i] -> y[i] (<) perhaps|"
     "scalar i in while: carried|"
     "loop while: serial: output y[i] -> y[i] (<) perhaps: scalar i: may leave"},
    {"branches ten apart", "inout y: float32[30]\n",
     UP("i", "20", "if (i < 10) {\ny[i?] = 0.0:float32\n} else {\ny[(i - 10)?] = 1.0:float32\n}\n"),
     "output y[i] -> y[(i - 10)] (10)|"
     "loop i: serial: output y[i] -> y[(i - 10)] (10)"},
    {"one element, either side", X1 Y1,
     UP("i", "N", "if (x[i?] > 0.0:float32) {\ny[i?] = x[i?]\n} else {\ny[i?] = 1.0:float32\n}\n"), ""},
    {"guarded operand", Y1, UP("i", "N", "y[i?] = select((i > 0), y[(i - 1)?], 0.0:float32)\n"),
     "flow y[i] -> y[(i - 1)] (1)|"
     "loop i: serial: flow y[i] -> y[(i - 1)] (1)"},
    {"stride of an attribute", X1 Y1 "attribute s: int64\n", UP("i", "N", "y[(i * s)?] = x[i?]\n"),
     "output y[(i * s)!] -> y[(i * s)!] (<)|"
     "loop i: serial: output y[(i * s)!] -> y[(i * s)!] (<)"},
    {"columns of a flattened matrix", "input x: float32[N, M]\ninout y: float32[(N * M)]\n",
     FOR("i", "1", "N", UP("j", "M", "y[((i * M) + j)?] = y[(((i - 1) * M) + j)?]\n")),
     "flow y[((i * M) + j)] -> y[(((i - 1) * M) + j)] (1, 0)|"
     "loop i: serial: flow y[((i * M) + j)] -> y[(((i - 1) * M) + j)] (1, 0)"},
    {"element of a loaded row", "input p: int64[N]\n" A2,
     UP("i", "N", UP("j", "M", "a[p[i?]?, j?] = 1.0:float32\n")),
     "output a[p[i]?, j] -> a[p[i]?, j] (<, 0) perhaps|"
     "loop i: undecided: output a[p[i]?, j] -> a[p[i]?, j] (<, 0) perhaps"},
    {"seven loops", Y1,
     UP("i", "2",
        UP("j", "2",
           UP("k", "2", UP("l", "2", UP("m", "2", UP("n", "2", UP("o", "2", "y[o?] = 1.0:float32\n"))))))),
     "output y[o!] -> y[o!] (1, *, *, *, *, *)|"
     "output y[o!] -> y[o!] (0, 1, *, *, *, *)|"
     "output y[o!] -> y[o!] (0, 0, 1, *, *, *)|"
     "output y[o!] -> y[o!] (0, 0, 0, 1, *, *)|"
     "output y[o!] -> y[o!] (0, 0, 0, 0, 1, *)|"
     "output y[o!] -> y[o!] (0, 0, 0, 0, 0, 1)|"
     "loop i: serial: output y[o!] -> y[o!] (1, *, *, *, *, *)|"
     "loop j: serial: output y[o!] -> y[o!] (0, 1, *, *, *, *)|"
     "loop k: serial: output y[o!] -> y[o!] (0, 0, 1, *, *, *)|"
     "loop l: serial: output y[o!] -> y[o!] (0, 0, 0, 1, *, *)|"
     "loop m: serial: output y[o!] -> y[o!] (0, 0, 0, 0, 1, *)|"
     "loop n: serial: output y[o!] -> y[o!] (0, 0, 0, 0, 0, 1)|"
     "loop o: undecided: incomplete"},
    {"far distance", "inout y: float32[5000]\n", UP("i", "2500", "y[i?] = y[(i + 2000)?]\n"),
     "anti y[(i + 2000)] -> y[i] (2000)|"
     "loop i: serial: anti y[(i + 2000)] -> y[i] (2000)"},
    {"while with a loop inside", "input x: float32[N]\ninout y: float32[8]\n",
     "var go: int64 = 0\nwhile (go < 3) {\n" UP("i", "8", "y[i?] = x[i?]\n") "go = (go + 1)\n}\n",
     "output y[i] -> y[i] (<, 0) perhaps|"
     "scalar go in while: carried|"
     "loop while: serial: output y[i] -> y[i] (<, 0) perhaps: scalar go: may leave"},
    /* ---- two loops and more ---- */
    {"rows", A2, UP("i", "N", FOR("j", "1", "M", "a[i?, j?] = a[i?, (j - 1)?]\n")),
     "flow a[i, j] -> a[i, (j - 1)] (0, 1)|"
     "loop j: serial: flow a[i, j] -> a[i, (j - 1)] (0, 1)"},
    {"columns", A2, FOR("i", "1", "N", UP("j", "M", "a[i?, j?] = a[(i - 1)?, j?]\n")),
     "flow a[i, j] -> a[(i - 1), j] (1, 0)|"
     "loop i: serial: flow a[i, j] -> a[(i - 1), j] (1, 0)"},
    {"wavefront", A2,
     FOR("i", "1", "N", FOR("j", "1", "M", "a[i?, j?] = (a[(i - 1)?, j?] + a[i?, (j - 1)?])\n")),
     "flow a[i, j] -> a[i, (j - 1)] (0, 1)|"
     "flow a[i, j] -> a[(i - 1), j] (1, 0)|"
     "loop i: serial: flow a[i, j] -> a[(i - 1), j] (1, 0)|"
     "loop j: serial: flow a[i, j] -> a[i, (j - 1)] (0, 1)"},
    {"skewed", A2, FOR("i", "1", "N", FOR("j", "0", "(M - 1)", "a[i?, j?] = a[(i - 1)?, (j + 1)?]\n")),
     "flow a[i, j] -> a[(i - 1), (j + 1)] (1, -1)|"
     "loop i: serial: flow a[i, j] -> a[(i - 1), (j + 1)] (1, -1)"},
    {"transpose in place", "inout a: float32[N, N]\n", UP("i", "N", UP("j", "i", "a[i?, j?] = a[j?, i?]\n")),
     ""},
    {"transpose in place, whole", "inout a: float32[8, 8]\n",
     UP("i", "8", UP("j", "8", "a[i?, j?] = a[j?, i?]\n")),
     "anti a[j, i] -> a[i, j] (<, >)|"
     "anti a[j, i] -> a[i, j] (0, 0)|"
     "flow a[i, j] -> a[j, i] (<, >)|"
     "loop i: serial: anti a[j, i] -> a[i, j] (<, >)"},
    {"diagonals", "inout y: float32[64]\n", UP("i", "8", UP("j", "8", "y[(i + j)?] = 1.0:float32\n")),
     "output y[(i + j)] -> y[(i + j)] (<, >)|"
     "loop i: serial: output y[(i + j)] -> y[(i + j)] (<, >)"},
    {"flattened", "inout y: float32[64]\n", UP("i", "8", UP("j", "8", "y[((8 * i) + j)?] = 1.0:float32\n")),
     ""},
    {"flattened by M", "input x: float32[N, M]\noutput y: float32[(N * M)]\n",
     UP("i", "N", UP("j", "M", "y[((i * M) + j)?] = x[i?, j?]\n")), ""},
    {"unflattened", "input x: float32[24]\ninout a: float32[4, 6]\n",
     UP("k", "24", "a[(k // 6)?, (k % 6)?] = x[k?]\n"), ""},
    {"overlapping rows", "inout y: float32[100]\n",
     UP("i", "8", UP("j", "10", "y[((8 * i) + j)?] = 1.0:float32\n")),
     "output y[((8 * i) + j)] -> y[((8 * i) + j)] (1, -8)|"
     "loop i: serial: output y[((8 * i) + j)] -> y[((8 * i) + j)] (1, -8)"},
    {"matmul", "input a: float32[M, K]\ninput b: float32[K, N]\noutput c: float32[M, N]\n",
     UP("i", "M",
        UP("j", "N",
           "c[i?, j?] = 0.0:float32\n" UP("k", "K", "c[i?, j?] = (c[i?, j?] + (a[i?, k?] * b[k?, j?]))\n"))),
     "flow c[i, j] -> c[i, j] (0, 0)|"
     "output c[i, j] -> c[i, j] (0, 0, <) reduction|"
     "anti c[i, j] -> c[i, j] (0, 0, <) reduction|"
     "anti c[i, j] -> c[i, j] (0, 0, 0) reduction|"
     "flow c[i, j] -> c[i, j] (0, 0, <) reduction|"
     "output c[i, j] -> c[i, j] (0, 0)|"
     "loop k: accumulates"},
    {"LU", "inout a: float32[N, N]\n",
     UP("k", "N",
        FOR("i", "(k + 1)", "N",
            "a[i?, k?] = (a[i?, k?] / a[k?, k?])\n" FOR(
                "j", "(k + 1)", "N", "a[i?, j?] = (a[i?, j?] - (a[i?, k?] * a[k?, j?]))\n"))),
     "anti a[i, k] -> a[i, k] (0, 0)|"
     "anti a[i, j] -> a[i, k] (<, 0)|"
     "flow a[i, k] -> a[i, k] (0, 0)|"
     "output a[i, j] -> a[i, j] (<, 0, 0) reduction|"
     "flow a[i, j] -> a[k, j] (<, <, 0)|"
     "flow a[i, j] -> a[i, k] (<, 0, <)|"
     "anti a[i, j] -> a[i, j] (<, 0, 0) reduction|"
     "anti a[i, j] -> a[i, j] (0, 0, 0) reduction|"
     "flow a[i, j] -> a[i, j] (<, 0, 0) reduction|"
     "output a[i, j] -> a[i, k] (<, 0)|"
     "flow a[i, j] -> a[k, k] (<, <)|"
     "flow a[i, j] -> a[i, k] (<, 0)|"
     "loop k: serial: anti a[i, j] -> a[i, k] (<, 0)"},
    {"triangular solve", "input l: float32[N, N]\n" Y1,
     UP("i", "N", UP("j", "i", "y[i?] = (y[i?] - (l[i?, j?] * y[j?]))\n")),
     "output y[i] -> y[i] (0, <) reduction|"
     "flow y[i] -> y[j] (<, <)|"
     "anti y[i] -> y[i] (0, <) reduction|"
     "anti y[i] -> y[i] (0, 0) reduction|"
     "flow y[i] -> y[i] (0, <) reduction|"
     "loop i: serial: flow y[i] -> y[j] (<, <)|"
     "loop j: accumulates"},
    {"narrow sums in a loop that scalars are looked at in", "input x: float32[N]\ninput s: int32[1]\n" A2,
     "var p: int64 = 0\n" UP("i", "N",
                             UP("j", "M",
                                "let t: int32 = (s[0] - int32(j))\n"
                                "a[i?, (int64(t) + j)?] = x[i?]\n") "if (x[i?] > x[p?]) {\np = i\n}\n"),
     "output a[i, (int64(t) + j)?] -> a[i, (int64(t) + j)?] (0, <) perhaps|"
     "scalar p in i: carried|"
     "loop i: serial: scalar p|"
     "loop j: undecided: output a[i, (int64(t) + j)?] -> a[i, (int64(t) + j)?] (0, <) perhaps"},
    {"Jacobi", A2 "output b: float32[N, M]\n",
     FOR("i", "1", "(N - 1)", FOR("j", "1", "(M - 1)", "b[i?, j?] = (a[(i - 1)?, j?] + a[i?, (j + 1)?])\n")),
     ""},
    {"Seidel in time", Y1 "attribute T: int64\n",
     UP("t", "T", FOR("i", "1", "(N - 1)", "y[i?] = ((y[(i - 1)?] + y[i?]) + y[(i + 1)?])\n")),
     "output y[i] -> y[i] (<, 0) reduction|"
     "anti y[(i + 1)] -> y[i] (<, 1)|"
     "anti y[(i + 1)] -> y[i] (0, 1)|"
     "flow y[i] -> y[(i + 1)] (<, -1)|"
     "anti y[i] -> y[i] (<, 0) reduction|"
     "anti y[i] -> y[i] (0, 0) reduction|"
     "flow y[i] -> y[i] (<, 0) reduction|"
     "anti y[(i - 1)] -> y[i] (<, -1)|"
     "flow y[i] -> y[(i - 1)] (0, 1)|"
     "flow y[i] -> y[(i - 1)] (<, 1)|"
     "loop t: serial: anti y[(i + 1)] -> y[i] (<, 1)|"
     "loop i: serial: anti y[(i + 1)] -> y[i] (0, 1)"},
    {"tiles", X1 Y1,
     "for t = 0 to N step 32 {\n" FOR("i", "t", "min((t + 32), N)", "y[i?] = (x[i?] + y[i?])\n") "}\n",
     "anti y[i] -> y[i] (0, 0) reduction"},
    {"tiles with a neighbour", X1 Y1,
     "for t = 0 to N step 32 {\n" FOR("i", "max(t, 1)", "min((t + 32), N)", "y[i?] = y[(i - 1)?]\n") "}\n",
     "flow y[i] -> y[(i - 1)] (0, 1)|"
     "flow y[i] -> y[(i - 1)] (1, 1)|"
     "loop t: serial: flow y[i] -> y[(i - 1)] (1, 1)|"
     "loop i: serial: flow y[i] -> y[(i - 1)] (0, 1)"},
    {"private temporary", X1 Y1 "temporary t: float32[4]\n",
     UP("i", "N",
        "allocate t\n" UP("j", "4", "t[j?] = x[i?]\n") UP("j_1", "4", "y[i?] = (y[i?] + t[j_1?])\n")),
     "flow t[j] -> t[j_1] (0)|"
     "output y[i] -> y[i] (0, <) reduction|"
     "anti y[i] -> y[i] (0, <) reduction|"
     "anti y[i] -> y[i] (0, 0) reduction|"
     "flow y[i] -> y[i] (0, <) reduction|"
     "loop j_1: accumulates"},
    {"shared temporary", X1 Y1 "temporary t: float32[4]\n",
     "allocate t\n" UP("i", "N",
                       UP("j", "4", "t[j?] = x[i?]\n") UP("j_1", "4", "y[i?] = (y[i?] + t[j_1?])\n")),
     "output t[j] -> t[j] (<, 0)|"
     "flow t[j] -> t[j_1] (<)|"
     "flow t[j] -> t[j_1] (0)|"
     "anti t[j_1] -> t[j] (<)|"
     "output y[i] -> y[i] (0, <) reduction|"
     "anti y[i] -> y[i] (0, <) reduction|"
     "anti y[i] -> y[i] (0, 0) reduction|"
     "flow y[i] -> y[i] (0, <) reduction|"
     "loop i: serial: output t[j] -> t[j] (<, 0)|"
     "loop j_1: accumulates"},
    {"convolution", X1 "input w: float32[3]\n" Y1,
     UP("i", "(N - 2)", UP("k", "3", "y[i?] = (y[i?] + (x[(i + k)?] * w[k?]))\n")),
     "output y[i] -> y[i] (0, <) reduction|"
     "anti y[i] -> y[i] (0, <) reduction|"
     "anti y[i] -> y[i] (0, 0) reduction|"
     "flow y[i] -> y[i] (0, <) reduction|"
     "loop k: accumulates"},
    {"three loops", "inout a: float32[N, M, K]\n",
     FOR("i", "1", "N", UP("j", "M", FOR("k", "2", "K", "a[i?, j?, k?] = a[(i - 1)?, j?, (k - 2)?]\n"))),
     "flow a[i, j, k] -> a[(i - 1), j, (k - 2)] (1, 0, 2)|"
     "loop i: serial: flow a[i, j, k] -> a[(i - 1), j, (k - 2)] (1, 0, 2)"},
    {"far apart", "inout a: float32[4, 4]\n",
     UP("i", "4", UP("j", "4", "a[i?, (j % 4)?] = a[((i + 2) % 4)?, j?]\n")),
     "anti a[((i + 2) % 4), j] -> a[i, (j % 4)] (2, 0)|"
     "flow a[i, (j % 4)] -> a[((i + 2) % 4), j] (2, 0)|"
     "loop i: serial: anti a[((i + 2) % 4), j] -> a[i, (j % 4)] (2, 0)"},
    /* ---- scalars ---- */
    {"sum", X1 Y1, "var s: float32 = 0.0:float32\n" UP("i", "N", "s = (s + x[i?])\n") "y[0?] = s\n",
     "scalar s in i: reduction +|"
     "loop i: accumulates"},
    {"sum that is used", X1 Y1, "var s: float32 = 0.0:float32\n" UP("i", "N", "s = (s + x[i?])\ny[i?] = s\n"),
     "scalar s in i: carried|"
     "loop i: serial: scalar s"},
    {"fused sum", X1 Y1, "var s: float32 = 0.0:float32\n" UP("i", "N", "s = fma(x[i?], x[i?], s)\n"),
     "scalar s in i: reduction +|"
     "loop i: accumulates"},
    {"private", X1 Y1,
     UP("i", "N", "var s: float32 = 0.0:float32\n" UP("j", "N", "s = (s + x[j?])\n") "y[i?] = s\n"),
     "scalar s in j: reduction +|"
     "loop j: accumulates"},
    {"set first", X1 Y1, "var s: float32 = 0.0:float32\n" UP("i", "N", "s = x[i?]\ny[i?] = (s * s)\n"),
     "scalar s in i: private"},
    {"set and used behind", X1 Y1, "var s: float32 = 0.0:float32\n" UP("i", "N", "s = x[i?]\n") "y[0?] = s\n",
     "scalar s in i: final|loop i: serial: scalar s"},
    {"set and used on the next round", X1 Y1,
     "var s: float32 = 0.0:float32\n" UP("t", "N", "y[t?] = s\n" UP("i", "N", "s = x[i?]\n")),
     "scalar s in t: carried|scalar s in i: final|loop t: serial: scalar s|loop i: serial: scalar s"},
    {"set in two loops", X1 Y1,
     "var s: float32 = 0.0:float32\n" UP("i", "N", "s = x[i?]\ny[i?] = s\n")
         UP("j", "N", "s = y[j?]\ny[j?] = (s * s)\n"),
     "anti y[j] -> y[j] (0)|scalar s in i: private|scalar s in j: private"},
    {"left in one, used in the other", X1 Y1,
     "var s: float32 = 0.0:float32\n" UP(
         "t", "N", "s = x[t?]\n" UP("i", "N", "s = x[i?]\n") UP("j", "N", "y[j?] = (y[j?] + s)\n")),
     "output y[j] -> y[j] (<, 0) reduction|anti y[j] -> y[j] (<, 0) reduction|"
     "anti y[j] -> y[j] (0, 0) reduction|flow y[j] -> y[j] (<, 0) reduction|"
     "scalar s in t: private|scalar s in i: final|loop t: accumulates|loop i: serial: scalar s"},
    {"set sometimes", X1 Y1,
     "var s: float32 = 0.0:float32\n" UP("i", "N", "if (i > 3) {\ns = x[i?]\n}\ny[i?] = (s * s)\n"),
     "scalar s in i: carried|"
     "loop i: serial: scalar s"},
    {"two operations", X1 Y1,
     "var s: float32 = 0.0:float32\n" UP("i", "N", "s = (s + x[i?])\ns = (s * x[i?])\n"),
     "scalar s in i: carried|"
     "loop i: serial: scalar s"},
};

static char *found(struct ir_kernel *kernel)
{
    struct text all, text;

    text_init(&all);
    text_init(&text);
    const struct dependences *analysed = dependence_analyse(kernel, NULL);
    is_judged_alike(kernel, analysed);
    dependence_print(&all, analysed);
    for (const char *line = all.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        bool plain = length > 10 && memcmp(line + length - 10, ": parallel", 10) == 0;
        if (!plain) {
            if (text.length)
                text_char(&text, '|');
            text_append(&text, line, length);
        }
        line += length + 1;
    }
    text_free(&all);
    return text_take(&text);
}

static void test_row(const struct row *row)
{
    struct arena arena;
    jmp_buf escape;
    struct text source;

    arena_init(&arena, &escape);
    akg_diagnostics *diagnostics = diagnostics_create("", NULL, 0);
    if (!diagnostics || setjmp(escape)) {
        fputs("out of memory\n", stderr);
        exit(5);
    }
    diagnostics_set_escape(diagnostics, &escape);
    text_init(&source);
    text_format(&source, "kernel k {\n%sbody {\n%s}\n}\n", row->declarations, row->body);
    struct ir_kernel *kernel = ir_read(&arena, source.data, source.length, diagnostics);
    if (CHECK(kernel != NULL)) {
        analysis_bounds(kernel);
        char *lines = found(kernel);
        if (!CHECK(lines && strcmp(lines, row->lines) == 0))
            fprintf(stderr, "%s:\n  is     \"%s\"\n  should \"%s\"\n", row->name, lines, row->lines);
        memory_free(lines);
    } else {
        fprintf(stderr, "%s cannot be read\n", row->name);
    }
    text_free(&source);
    akg_diagnostics_free(diagnostics);
    arena_free(&arena);
}

/* A wrong hint whose clash no small shape shows. */
static void test_far_hint(void)
{
    static const char source[] = "kernel k {\ninout y: float32[50000]\nbody {\n"
                                 "for i = 0 to 25000 step 1 parallel @3:5-30 {\n"
                                 "y[i?] = y[(i + 20000)?] @4:9-20\n}\n}\n}\n";
    struct arena arena;
    jmp_buf escape;
    char *messages = NULL;

    arena_init(&arena, &escape);
    akg_diagnostics *diagnostics = diagnostics_create("", NULL, 0);
    if (!diagnostics || setjmp(escape)) {
        fputs("out of memory\n", stderr);
        exit(5);
    }
    diagnostics_set_escape(diagnostics, &escape);
    struct ir_kernel *kernel = ir_read(&arena, source, sizeof source - 1, diagnostics);
    if (CHECK(kernel != NULL)) {
        analysis_bounds(kernel);
        analysis_hints(kernel, diagnostics);
        akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &messages);
        CHECK(messages && strstr(messages, "3:5: warning: the iterations of this parallel loop"));
        CHECK(messages &&
              strstr(messages, "one element of 'y' is used at 4:9 and, 20000 iterations apart, at 4:9"));
        const struct dependences *found = dependence_analyse(kernel, NULL);
        const struct dependence_loop *loop = dependence_loop_is_parallel(found, kernel->body);
        CHECK(loop && loop->verdict == DEPENDENCE_SERIAL && loop->stmt == kernel->body);
        CHECK(dependence_loop_is_parallel(found, kernel->body->body) == NULL);
    }
    akg_free(messages);
    akg_diagnostics_free(diagnostics);
    arena_free(&arena);
}

int main(void)
{
    test_far_hint();
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        test_row(&rows[k]);
    printf("%zu kernels\n", sizeof rows / sizeof *rows);
    return check_done();
}

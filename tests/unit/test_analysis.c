/*
 * test_analysis.c: kernels as IR text, and what the analyses must (or must not) say of them.
 *
 * A row is the declarations and the body of a kernel; `has` and `lacks` are pieces, separated by "|", of the
 * kernel's text after the analyses followed by the messages. ir_print.c tells the notation: x[i] is proved,
 * x[i!] inside by preconditions, x[i?] tested per element; `//?` is a checked division; "clear" follows a
 * buffer that is cleared.
 */
#include "../../jit/analysis.h"
#include "check.h"

#include <stdlib.h>

struct row {
    const char *name, *declarations, *body, *has, *lacks;
};

#define X1 "input x: float32[N]\n"
#define Y1 "output y: float32[N]\n"
#define ZXY "input z: float32[N]\ninput x: float32[M]\noutput y: float32[N]\n"
#define AB "input a: float32[M, K]\ninput b: float32[K_1, N]\n"
#define FOR(variable, low, high, body) "for " variable " = " low " to " high " step 1 {\n" body "}\n"
#define UP(variable, high, body) FOR(variable, "0", high, body)

static const struct row rows[] = {
    /* ---- indices ---- */
    {"copy", X1 Y1, UP("i", "N", "y[i?] = x[i?]\n"), "y[i] = x[i]", "require|clear|warning"},
    {"matmul", AB "output c: float32[M, N]\n",
     UP("i", "M",
        UP("j", "N",
           "c[i?, j?] = 0.0:float32\n" UP("k", "K", "c[i?, j?] = (c[i?, j?] + (a[i?, k?] * b[k?, j?]))\n"))),
     "c[i, j] = (c[i, j] + (a[i, k] * b[k!, j]))|require bounds (K <= K_1) when ((0 < M) and (0 < N)) access "
     "b axis 0 "
     "index (K - 1) extent K_1",
     "clear|warning|?"},
    {"guard is not needed", X1 "input z: float32[M]\n" Y1, UP("i", "N", "y[i?] = z[i?]\n"),
     "require bounds (N <= M) access z axis 0 index (N - 1) extent M|z[i!]", "when"},
    {"triangular", "input a: float32[N, M]\noutput y: float32[N, N]\n",
     UP("i", "N",
        UP("j", "(i + 1)", "y[i?, j?] = a[j?, i?]\n") FOR("k", "(i + 1)", "N", "y[i?, k?] = 0.0:float32\n")),
     "y[i, j] = a[j, i!]|y[i, k]|require bounds (N <= M)", "clear|?"},
    {"band", "input a: float32[M, K]\n" X1 Y1,
     UP("i", "N",
        FOR("j", "max(0, (i - 2))", "min(N, (i + 3))", "y[i?] = (y[i?] + (a[((i + 2) - j)?, 0] * x[j?]))\n")),
     "a[((i + 2) - j)!|x[j]|require bounds (min(5, (N + 2)) <= M) when (0 < N) access a axis 0", "?"},
    {"steps back", "attribute d: int64 from 1 below 16\n" X1 Y1,
     UP("i", "N",
        UP("k", "3",
           "if ((i - (k * d)) >= 0) {\ny[i?] = (y[i?] + (x[(i - (k * d))?] / float32((k //? d))))\n}\n")),
     "x[(i - (k * d))]|(k // d)", "?|require"},
    {"steps back, of any sign", "attribute d: int64 below 16\n" X1 Y1,
     UP("i", "N", UP("k", "3", "if ((i - (k * d)) >= 0) {\ny[i?] = x[(i - (k * d))?]\n}\n")),
     "x[(i - (k * d))", "y[i?]"},
    {"strided", X1 Y1,
     "for i = 0 to N step 2 {\ny[i?] = x[i?]\n}\nfor k = 1 to N step 2 {\ny[k?] = x[k?]\n}\n",
     "y[i] = x[i]|y[k] = x[k]", "require|clear"},
    {"strided, with a hole", X1 Y1,
     "for i = 0 to N step 2 {\ny[i?] = x[i?]\n}\nfor k = 3 to N step 2 {\ny[k?] = x[k?]\n}\n",
     "y[i] = x[i]|y[k] = x[k]|y: float32[N] clear", "require"},
    {"strided past the end", X1 Y1, "for i = 0 to N step 2 {\ny[i?] = x[(i + 1)?]\n}\n",
     "require bounds ((2 * ((N + 1) // 2)) <= N) access|x[(i + 1)!]", "?"},
    {"negative step", X1 Y1, "for i = (N - 1) to -1 step -1 {\ny[i?] = x[((N - 1) - i)?]\n}\n",
     "y[i] = x[((N - 1) - i)]", "require|clear|?"},
    {"negative step of two", X1 Y1, "for i = (N - 1) to -1 step -2 {\ny[i?] = x[i?]\n}\n",
     "y[i] = x[i]|clear", "require|?"},
    {"stencil", X1 Y1,
     UP("i", "N",
        "y[i?] = (select((i > 0), x[(i - 1)?], 0.0:float32) + select(((i + 1) < N), x[(i + 1)?], "
        "0.0:float32))\n"),
     "x[(i - 1)]|x[(i + 1)]", "?|!|clear"},
    {"stencil without guards", X1 Y1, UP("i", "N", "y[i?] = (x[(i - 1)?] + x[(i + 1)?])\n"),
     "require bounds false when (0 < N) access x axis 0 index -1 extent N|x[(i - 1)!]", "?"},
    {"inner stencil", X1 Y1, FOR("i", "1", "(N - 1)", "y[i?] = (x[(i - 1)?] + x[(i + 1)?])\n"),
     "y[i] = (x[(i - 1)] + x[(i + 1)])|clear", "require|?"},
    {"convolution", X1 "input w: float32[K]\nattribute pad: int64\n" Y1,
     UP("i", "N",
        "y[i?] = 0.0:float32\n" UP("k", "K",
                                   "let p: int64 = ((i + k) - pad)\nif ((p >= 0) and (p < N)) {\ny[i?] = "
                                   "(y[i?] + (x[p?] * w[k?]))\n}\n")),
     "x[p] * w[k]", "?|!|clear"},
    {"early continue", X1 Y1,
     UP("i", "N", "if ((i < 1) or (i >= (N - 1))) {\ncontinue\n}\ny[i?] = x[(i + 1)?]\n"),
     "y[i] = x[(i + 1)]|clear", "?|require"},
    {"flatten", "input x: float32[N, M]\noutput y: float32[(N * M)]\n",
     UP("i", "N", UP("j", "M", "y[((i * M) + j)?] = x[i?, j?]\n")), "y[((i * M) + j)] = x[i, j]",
     "?|!|clear|require"},
    {"flatten three", "input x: float32[N, M, K]\noutput y: float32[((N * M) * K)]\n",
     UP("i", "N", UP("j", "M", UP("k", "K", "y[((((i * M) + j) * K) + k)?] = x[i?, j?, k?]\n"))),
     "y[((((i * M) + j) * K) + k)] = ", "?|!|clear|require"},
    {"unflatten", "input x: float32[N, M]\noutput y: float32[(N * M)]\n",
     UP("k", "(N * M)", "y[k?] = x[(k //? M)?, (k %? M)?]\n"), "y[k] = x[(k // M), (k % M)]",
     "?|!|clear|require"},
    {"slice", X1 Y1, "if (N >= 4) {\n" UP("i", "4", "y[i?] = x[i?]\n") "}\n", "y[i] = x[i]|clear",
     "require|?"},
    {"slice of unknown size", X1 Y1, UP("i", "4", "y[i?] = x[i?]\n"),
     "require bounds (4 <= N)|y[i!] = x[i!]|clear", "when|?"},
    {"gather", X1 "input p: int64[M]\noutput y: float32[M]\n", UP("i", "M", "y[i?] = x[p[i?]?]\n"),
     "y[i] = x[p[i]?]", "require|clear"},
    {"guarded gather", X1 "input p: int64[M]\noutput y: float32[M]\n",
     UP("i", "M", "y[i?] = select(((p[i?] >= 0) and (p[i?] < N)), x[p[i?]?], 0.0:float32)\n"), "x[p[i]]",
     "?|require"},
    {"overflow is not a proof", X1 "input p: int64[M]\noutput y: float32[M]\n",
     UP("i", "M", "y[i?] = select(((p[i?] >= 0) and ((p[i?] + 1) < N)), x[p[i?]?], 0.0:float32)\n"),
     "x[p[i]?]", "require"},
    {"narrow gather", "input x: float32[256]\ninput p: uint8[M]\noutput y: float32[M]\n",
     UP("i", "M", "y[i?] = x[int64(p[i?])?]\n"), "x[int64(p[i])]", "?|require"},
    {"LU in place", "inout a: float32[N, N]\n",
     UP("k", "N",
        FOR("i", "(k + 1)", "N",
            "a[i?, k?] = (a[i?, k?] / a[k?, k?])\n" FOR(
                "j", "(k + 1)", "N", "a[i?, j?] = (a[i?, j?] - (a[i?, k?] * a[k?, j?]))\n"))),
     "a[i, j] = (a[i, j] - (a[i, k] * a[k, j]))", "?|!|require|warning|clear"},
    {"histogram", "input p: int32[M]\noutput y: int32[16]\n",
     UP("k", "16", "y[k?] = 0:int32\n")
         UP("i", "M", "y[(int64(p[i?]) % 16)?] = (y[(int64(p[i?]) % 16)?] + 1:int32)\n"),
     "y[(int64(p[i]) % 16)] = ", "?|!|require|warning|clear"},
    {"mask", "input p: int64[M]\noutput y: int32[256]\n", UP("i", "M", "y[(p[i?] & 255)?] = 1:int32\n"),
     "y[(p[i] & 255)] = ", "?|!|require"},
    {"pooling", X1 "attribute stride: int64\nattribute count: int64\noutput y: float32[count]\n",
     UP("i", "count", "y[i?] = 0.0:float32\n" UP("k", "3", "y[i?] = max(y[i?], x[((i * stride) + k)?])\n")),
     "require bounds (((count * stride) + 3) <= (stride + N)) when (0 < count)|require bounds (3 <= N) when "
     "(0 < count)|"
     "require bounds (stride <= (count * stride)) when (0 < count)",
     "?|clear"},
    {"pooling that fits", X1 "attribute stride: int64\noutput y: float32[(((N - 3) // stride) + 1)]\n",
     UP("i", "(((N - 3) // stride) + 1)",
        "y[i?] = x[(i * stride)?]\n" FOR("k", "1", "3", "y[i?] = max(y[i?], x[((i * stride) + k)?])\n")),
     "x[((i * stride) + k)!]|require bounds (3 <= N) when", "?]|clear"},
    {"while", X1 Y1, "var i: int64 = 0\nwhile (i < N) {\ny[i?] = x[i?]\ni = (i + 1)\n}\n",
     "y[i] = x[i]|clear", "?|require"},
    {"while that jumps about", X1 "input p: int64[M]\n" Y1,
     "var i: int64 = 0\nwhile (i < N) {\ny[i?] = x[i?]\ni = p[0?]\n}\n", "y[i?] = x[i?]|p[0?]|clear",
     "require|warning"},
    {"a while guards nothing", X1 Y1,
     "var f: float32 = 1.0:float32\nwhile (f < 2.0:float32) {\nf = x[3?]\n}\n", "x[3?]", "require"},
    {"running index", X1 Y1, "var k: int64 = 0\n" UP("i", "N", "y[k?] = x[k?]\nk = (k + 1)\n"), "y[k] = x[k]",
     "?|!|require|clear"},
    {"filling index", X1 Y1,
     "var k: int64 = 0\n" UP("i", "N", "if (x[i?] > 0.0:float32) {\ny[k?] = x[i?]\nk = (k + 1)\n}\n"),
     "y[k] = x[i]|clear", "?|!|require"},
    {"conditional access", X1 "input z: float32[M]\n" Y1,
     UP("i", "N", "if (x[i?] > 0.0:float32) {\ny[i?] = z[i?]\n}\n"), "z[i?]", "require"},
    {"condition of the call", X1 "input z: float32[M]\nattribute mode: int64\n" Y1,
     "if (mode > 0) {\n" UP("i", "N", "y[i?] = z[i?]\n") "}\n",
     "require bounds (N <= M) when (0 < mode)|z[i!]", "?"},
    {"access after a break", X1 "input z: float32[M]\n" Y1,
     UP("i", "N", "if (x[i?] > 0.0:float32) {\nbreak\n}\ny[i?] = z[i?]\n"), "y[i] = z[i?]|clear", "require"},
    {"an index that varies in both loops", X1 Y1, UP("i", "N", UP("j", "N", "y[i?] = x[(i + j)?]\n")),
     "require bounds (N <= 1) access x axis 0 index ((2 * N) - 2) extent N|x[(i + j)!]", "when|?"},
    {"dependent inner loop", X1 "input z: float32[M]\noutput y: float32[M]\n",
     UP("i", "M", UP("j", "i", "y[i?] = x[j?]\n")), "x[j!]|require bounds (M <= (N + 1)) access x", "?|when"},

    /* ---- loops that bound each other, conditions on loop variables ---- */
    {"LU of a tall matrix", "inout a: float32[N, M]\n",
     UP("k", "N",
        FOR("i", "(k + 1)", "N",
            "a[i?, k?] = (a[i?, k?] / a[k?, k?])\n" FOR(
                "j", "(k + 1)", "N", "a[i?, j?] = (a[i?, j?] - (a[i?, k?] * a[k?, j?]))\n"))),
     "a[i, k!] = (a[i, k!] / a[k, k!])|a[i, j!] = (a[i, j!] - (a[i, k!] * a[k, j!]))|"
     "require bounds (N <= M) when (1 < N) access a axis 1 index (N - 1) extent M",
     "?|(N - 2)|(M + 1)"},
    {"LU by conditions", "inout a: float32[N, M]\n",
     UP("k", "N",
        UP("i", "N",
           "if (i > k) {\na[i?, k?] = (a[i?, k?] / a[k?, k?])\n" UP(
               "j", "N", "if (j > k) {\na[i?, j?] = (a[i?, j?] - (a[i?, k?] * a[k?, j?]))\n}\n") "}\n")),
     "a[i, j!] = (a[i, j!] - (a[i, k!] * a[k, j!]))|require bounds (N <= M) when (1 < N) access a axis 1",
     "?|(N - 2)|(M + 1)"},
    {"LU by an early continue", "inout a: float32[N, M]\n",
     UP("k", "N", UP("i", "N", "if (i <= k) {\ncontinue\n}\na[i?, k?] = a[k?, k?]\n")),
     "a[i, k!] = a[k, k!]|require bounds (N <= (M + 1)) access a axis 1 index (N - 2)", "?|when"},
    {"a continue in a branch", ZXY,
     UP("i", "N", "if (i > 2) {\nif (i > 4) {\ncontinue\n}\ny[i?] = x[i?]\n}\ny[i?] = x[(i + 1)?]\n"),
     "x[(i + 1)?]|y[i] = x[i!]|require bounds (min(5, N) <= M) when (3 < N) access x axis 0 index (min(5, N) "
     "- 1)",
     "x[i?]"},
    {"else continue", ZXY,
     UP("i", "N", "if (i < 3) {\ny[i?] = 0.0:float32\n} else {\ncontinue\n}\ny[i?] = x[i?]\n"),
     "y[i] = x[i!]|require bounds (min(3, N) <= M) access x", "?|when"},
    {"a condition that is changed on its side",
     "input z: float32[N]\ninput x: float32[4]\noutput y: float32[N]\n",
     "var n: int64 = 0\n" UP("i", "N", "if (n >= 3) {\ncontinue\n} else {\nn = (n + 2)\n}\ny[i?] = x[n?]\n"),
     "y[i] = x[n?]", "require"},
    {"Cholesky", "input a: float32[N, M]\noutput l: float32[N, N]\n",
     UP("j", "N",
        "var s: float32 = a[j?, j?]\n" UP(
            "k", "j",
            "s = (s - (l[j?, k?] * l[j?, k?]))\n") "l[j?, j?] = s\n" FOR("i", "(j + 1)", "N",
                                                                         "var t: float32 = a[i?, j?]\n" UP(
                                                                             "m", "j",
                                                                             "t = (t - (l[i?, m?] * l[j?, "
                                                                             "m?]))\n") "l[i?, j?] = (t / "
                                                                                        "l[j?, j?])\n")),
     "a[j, j!]|a[i, j!]|l[i, m] * l[j, m]|l[i, j] = (t / l[j, j])|require bounds (N <= M) access a axis 1 "
     "index (N - 1)",
     "?|when|(N - 2)"},
    {"forward substitution", "input l: float32[N, M]\ninput b: float32[K]\noutput x: float32[N]\n",
     UP("i", "N",
        "var s: float32 = b[i?]\n" UP("j", "i",
                                      "s = (s - (l[i?, j?] * x[j?]))\n") "x[i?] = (s / l[i?, i?])\n"),
     "l[i, j!] * x[j]|x[i] = (s / l[i, i!])|require bounds (N <= K) access b|require bounds (N <= M) access "
     "l axis 1",
     "?|when|(N - 2)|clear"},
    {"back substitution", "input u: float32[N, M]\ninput b: float32[N]\noutput x: float32[N]\n",
     "for i = (N - 1) to -1 step -1 {\nvar s: float32 = b[i?]\n" FOR(
         "j", "(i + 1)", "N", "s = (s - (u[i?, j?] * x[j?]))\n") "x[i?] = (s / u[i?, i?])\n}\n",
     "u[i, j!] * x[j]|x[i] = (s / u[i, i!])|require bounds (N <= M) access u axis 1 index (N - 1)",
     "?|when|clear"},
    {"back substitution, both ways down",
     "input u: float32[N, M]\ninput b: float32[K]\noutput x: float32[K]\n",
     "for i = (N - 1) to -1 step -1 {\nvar s: float32 = b[i?]\nfor j = (N - 1) to i step -1 {\n"
     "s = (s - (u[i?, j?] * x[j?]))\n}\nx[i?] = (s / u[i?, i?])\n}\n",
     "u[i, j!] * x[j!]|require bounds (N <= K) access b|require bounds (N <= M) access u axis 1 index (N - "
     "1)",
     "?|when"},
    {"upper triangle", "input b: float32[M]\ninput a: float32[N, K]\noutput y: float32[N, M]\n",
     UP("i", "N", FOR("j", "i", "M", "y[i?, j?] = a[i?, j?]\n")),
     "y[i, j] = a[i, j!]|require bounds (M <= K) when (0 < N) access a axis 1 index (M - 1)", "?"},
    {"upper triangle, transposed", "input b: float32[M]\ninput a: float32[N, K]\noutput y: float32[N, M]\n",
     UP("i", "N", FOR("j", "i", "M", "y[i?, j?] = a[j?, i?]\n")),
     "a[j!, i!]|require bounds (M <= N) when (0 < N) access a axis 0|"
     "require bounds (M <= K) when (0 < N) access a axis 1 index (M - 1)",
     "?"},
    {"diagonals", "input a: float32[N, M]\nattribute d: int64\noutput y: float32[N, N]\n",
     UP("i", "N", FOR("j", "(i + d)", "N", "y[i?, j?] = a[i?, j?]\n")),
     "a[i, j!]|require bounds (0 <= d) when (0 < N) access|require bounds (N <= M) when", "?"},
    {"three triangles", ZXY,
     UP("i", "N", FOR("j", "(i + 1)", "N", FOR("k", "(j + 1)", "N", "y[i?] = x[((k - j) + i)?]\n"))),
     "x[((k - j) + i)!]|require bounds (N <= (M + 1)) when (2 < N) access x axis 0 index (N - 2)", "?"},
    {"a shift that is tested", "attribute p: int64\n" ZXY,
     UP("i", "N", "if ((0 <= (i + p)) and ((i + p) < N)) {\ny[i?] = x[(i + p)?]\n}\n"),
     "x[(i + p)!]|require bounds (min(N, (N + p)) <= M) when (p < N) access x", "?"},
    {"an equal index", ZXY, UP("i", "N", UP("j", "(2 * N)", "if ((i + j) == (N + 1)) {\ny[i?] = x[j?]\n}\n")),
     "x[j!]|require bounds ((N + 2) <= M) when (1 < N) access x axis 0 index (N + 1)", "?"},
    {"a step that is tested", ZXY,
     UP("i", "N", "for j = 0 to N step 2 {\nif (j < i) {\ny[i?] = x[j?]\n}\n}\n"), "x[j!]|require bounds",
     "?"},
    {"either side is too much", ZXY,
     UP("i", "N", UP("j", "N", "if ((i == 0) or (j > i)) {\ny[i?] = x[j?]\n}\n")), "x[j?]", "require"},
    {"neither is a bound", "attribute s: int64\n" ZXY, UP("i", "N", "if ((i * s) < N) {\ny[i?] = x[i?]\n}\n"),
     "x[i?]", "bounds"},
    {"a gather inside", "input x: float32[M]\ninput p: int64[N]\noutput y: float32[N]\n",
     UP("i", "N", UP("j", "p[i?]", "y[i?] = x[j?]\n")), "x[j?]", "require"},
    {"guarded sum of narrow integers", "input p: int32[N]\ninput x: float32[M]\n" Y1,
     UP("i", "N",
        UP("d", "2",
           "if ((0:int32 <= (p[i?] + int32(d))) and (int64((p[i?] + int32(d))) < M)) {\n"
           "y[i?] = x[int64((p[i?] + int32(d)))?]\n}\n")),
     "x[int64((p[i] + int32(d)))]", "?"},
    {"another sum of narrow integers", "input p: int32[N]\ninput x: float32[M]\n" Y1,
     UP("i", "N",
        "var q: int32 = p[i?]\n"
        "if ((0:int32 <= (q + 1:int32)) and (int64((q + 1:int32)) < M)) {\nq = (q * 3:int32)\n"
        "y[i?] = x[int64((q + 1:int32))?]\n}\n"),
     "x[int64((q + 1:int32))?]", ""},
    {"guarded scatter in place", "input p: int32[M]\ninout y: float32[N]\n",
     UP("i", "M", "if ((p[i?] >= 0:int32) and (p[i?] < int32(N))) {\ny[int64(p[i?])?] = 1.0:float32\n}\n"),
     "y[int64(p[i])] = 1.0", "?|require"},
    {"tiles", X1 "input z: float32[M]\n" Y1,
     "for t = 0 to N step 32 {\n" FOR("i", "t", "min((t + 32), N)", "y[i?] = (x[i?] * z[i?])\n") "}\n",
     "require bounds (N <= M) access z|y[i] = (x[i] * z[i!])", "?|clear"},
    {"clamped", X1 "input p: int64[M]\noutput y: float32[M]\n",
     "assert (N > 0) \"empty\"\n" UP("i", "M", "y[i?] = x[max(min(p[i?], (N - 1)), 0)?]\n"),
     "x[max(min(p[i], (N - 1)), 0)]", "?|require"},
    {"clamped as int32", X1 "input p: int32[N]\n" Y1,
     UP("i", "N",
        "y[i?] = x[int64(min(max(p[i?], 0:int32), int32(min(max((N - 1), -2147483648), 2147483647))))?]\n"),
     "2147483647))))]", "?|require|!"},
    {"cut off by too little", X1 "input p: int32[N]\n" Y1,
     UP("i", "N", "y[i?] = x[int64(min(max(p[i?], 0:int32), int32(min(max((N - 1), 0), 2147483648))))?]\n"),
     "2147483648))))?]", "require|!"},
    {"chosen index", X1 Y1, UP("i", "N", "y[i?] = x[select((i < 3), i, (i - 3))?]\n"),
     "x[select((i < 3), i, (i - 3))]", "?|require"},
    {"same dims", X1 "input z: float32[M]\n" Y1 "require shape (N == M)\n", UP("i", "N", "y[i?] = z[i?]\n"),
     "z[i!]", "?|bounds"},
    {"the sharpest demand", X1 Y1, "y[0?] = ((x[0?] + x[2?]) + x[1?])\n",
     "require bounds (3 <= N)|x[0!]|x[2!]|y[0!]", "(1 <= N)|(2 <= N)|?"},
    {"upsampling", X1 "output y: float32[(2 * N)]\n", UP("i", "(2 * N)", "y[i?] = x[(i // 2)?]\n"),
     "y[i] = x[(i // 2)]", "?|require|clear"},
    {"monotone quotient", X1 "input z: float32[M]\noutput y: float32[M]\n",
     UP("i", "M", "y[i?] = x[(i // 2)?]\n"), "require bounds (((M + 1) // 2) <= N)|x[(i // 2)!]", "?"},
    {"divisor", "input x: int64[N]\nattribute s: int64\noutput y: int64[N]\n",
     UP("i", "N", "y[i?] = ((x[i?] //? s) + (x[i?] //? N))\nif (s > 0) {\ny[i?] = (x[i?] %? s)\n}\n"),
     "(x[i] //? s) + (x[i] // N)|y[i] = (x[i] % s)", "clear"},

    /* ---- initialisation ---- */
    {"read before write", X1 Y1, UP("i", "N", "y[i?] = (y[i?] * y[i?]) @4:9-30\n"),
     "y: float32[N] clear|4:9: warning: 'y' is read here before anything was written to it|help: did you "
     "mean 'x'?|"
     "note: an element that was never written is zero",
     "require"},
    {"accumulation", X1 "output y: float32[1]\n", UP("i", "N", "y[0?] = (y[0?] + x[i?])\n"),
     "y: float32[1] clear|warning: 'y'", "did you mean"},
    {"prefix sum", X1 Y1, "y[0?] = x[0?]\n" FOR("i", "1", "N", "y[i?] = (y[(i - 1)?] + x[i?])\n"),
     "require bounds (1 <= N)", "clear|warning|?"},
    {"prefix sum with a branch", X1 Y1,
     UP("i", "N", "if (i > 0) {\ny[i?] = (y[(i - 1)?] + x[i?])\n} else {\ny[i?] = x[i?]\n}\n"),
     "y[i] = (y[(i - 1)] + x[i])", "clear|warning|?|require"},
    {"rows build on rows", "input x: float32[N, M]\noutput y: float32[N, M]\n",
     UP("j", "M", "y[0?, j?] = 0.0:float32\n")
         FOR("i", "1", "N", UP("k", "M", "y[i?, k?] = (y[(i - 1)?, k?] + x[i?, k?])\n")),
     "y[(i - 1), k]", "clear|warning"},
    {"backwards", X1 Y1,
     "y[(N - 1)?] = x[0?]\nfor i = (N - 2) to -1 step -1 {\ny[i?] = (y[(i + 1)?] + x[i?])\n}\n", "y[(i + 1)]",
     "clear|warning"},
    {"skipping too far", X1 Y1, "y[0?] = x[0?]\n" FOR("i", "2", "N", "y[i?] = (y[(i - 1)?] + x[i?])\n"),
     "y: float32[N] clear", "warning"},
    {"concat", "input a: float32[N]\ninput b: float32[M]\noutput y: float32[(N + M)]\n",
     UP("i", "N", "y[i?] = a[i?]\n") UP("j", "M", "y[(N + j)?] = b[j?]\n"), "y[(N + j)] = b[j]",
     "clear|?|require"},
    {"concat in one loop", "input a: float32[N]\ninput b: float32[M]\noutput y: float32[(N + M)]\n",
     UP("i", "(N + M)", "if (i < N) {\ny[i?] = a[i?]\n} else {\ny[i?] = b[(i - N)?]\n}\n"), "b[(i - N)]",
     "clear|?|require"},
    {"a gap", X1 Y1, UP("i", "N", "if (i != 3) {\ny[i?] = x[i?]\n}\n"), "y: float32[N] clear",
     "warning|require"},
    {"a temporary", X1 Y1 "temporary t: float32[N]\n",
     "allocate t\n" UP("i", "N", "t[i?] = x[i?]\n") UP("k", "N", "y[k?] = t[((N - 1) - k)?]\n"),
     "t[((N - 1) - k)]", "clear|warning"},
    {"a temporary anew in each iteration", X1 Y1 "temporary t: float32[4]\n",
     UP("i", "N", "allocate t\nif (i > 0) {\nt[0?] = x[i?]\n}\ny[i?] = t[0?]\n"), "t: float32[4] clear",
     "warning|y: float32[N] clear"},
    {"a temporary filled in part", X1 Y1 "temporary t: float32[N]\n",
     "allocate t\n" FOR("i", "1", "N", "t[i?] = x[i?]\n") UP("k", "N", "y[k?] = t[k?]\n"),
     "t: float32[N] clear", "warning|y: float32[N] clear"},
    {"a branch that may come first", X1 Y1,
     UP("i", "N", "if (i > 0) {\ny[(i - 1)?] = y[(i - 1)?]\n}\ny[i?] = x[i?]\n"), "y[(i - 1)]",
     "warning|clear"},
    {"the loop may not run", X1 Y1 "output z: float32[1]\n", UP("i", "N", "y[i?] = x[i?]\nz[0?] = x[i?]\n"),
     "z: float32[1] clear", "y: float32[N] clear|warning"},

    /* ---- hints ---- */
    {"parallel copy", X1 Y1, "for i = 0 to N step 1 parallel @3:5-30 {\ny[i?] = x[i?]\n}\n", "y[i] = x[i]",
     "warning"},
    {"parallel rows", "input x: float32[N, M]\noutput y: float32[N]\n",
     "for i = 0 to N step 1 parallel {\ny[i?] = 0.0:float32\n" UP("j", "M",
                                                                  "y[i?] = (y[i?] + x[i?, j?])\n") "}\n",
     "y[i]", "warning"},
    {"parallel recurrence", X1 Y1,
     "y[0?] = x[0?]\nfor i = 1 to N step 1 parallel @3:5-30 {\ny[i?] = (y[(i - 1)?] + x[i?]) @4:9-30\n}\n",
     "3:5: warning: the iterations of this parallel loop depend on each other|"
     "note: iterations i = 1 and i = 2 both use y[1] (writes at 4:9, reads at 4:9)",
     "clear"},
    {"vectorized sum", X1 "output y: float32[1]\n",
     "y[0?] = 0.0:float32\nfor i = 0 to N step 1 vectorize @3:5-30 {\ny[0?] = (y[0?] + x[i?]) @4:9-30\n}\n",
     "warning: the iterations of this vectorize loop|iterations i = 0 and i = 1 both use y[0]", "clear"},
    {"parallel scalar", X1 "output y: float32[1]\n",
     "var s: float32 = 0.0:float32\nfor i = 0 to N step 1 parallel @3:5-30 {\ns = (s + x[i?]) "
     "@4:9-30\n}\ny[0?] = s\n",
     "3:5: warning|note: iterations i = 0 and i = 1 both use the scalar 's' (assigned at 4:9)", "clear"},
    {"parallel maximum", X1 "output y: float32[1]\n",
     "var s: float32 = 0.0:float32\nfor i = 2 to N step 3 parallel @3:5-30 {\nif (x[i?] > s) {\ns = x[i?] "
     "@4:9-30\n}\n}\ny[0?] = s\n",
     "note: iterations i = 2 and i = 5 both use the scalar 's' (assigned at 4:9)", "clear"},
    {"the length of the data", "input p: int64[N]\noutput y: float32[1]\n",
     "var s: int64 = 0\nfor i = 0 to p[0?] step 1 parallel @3:5-30 {\ns = (s + 1) @4:9-30\n}\n"
     "y[0?] = float32(s)\n",
     "note: every two iterations of 'i' both use the scalar 's'", "clear"},
    {"reduction", X1 "output y: float32[1]\n",
     "var s: float32 = 0.0:float32\nfor i = 0 to N step 1 reduce {\ns = (s + x[i?])\n}\ny[0?] = s\n",
     "reduce", "warning|clear"},
    {"private scalar", X1 Y1,
     "for i = 0 to N step 1 parallel {\nvar s: float32 = 0.0:float32\ns = (s + x[i?])\ny[i?] = s\n}\n",
     "y[i] = s", "warning|clear"},
    {"private temporary", X1 Y1 "temporary t: float32[1]\n",
     "for i = 0 to N step 1 parallel {\nallocate t\nt[0?] = x[i?]\ny[i?] = t[0?]\n}\n", "y[i] = t[0]",
     "warning|clear"},
    {"even and odd", X1 "inout y: float32[M]\n",
     "for i = 0 to (M // 2) step 1 parallel {\ny[(2 * i)?] = y[((2 * i) + 1)?]\n}\n",
     "y[(2 * i)] = y[((2 * i) + 1)]", "warning|?|!"},
    {"scatter is not judged", X1 "input p: int64[N]\n" Y1,
     "for i = 0 to N step 1 parallel {\ny[p[i?]?] = x[i?]\n}\n", "y[p[i]?]", "warning"},
    {"parallel outer loop", AB "output c: float32[M, N]\n",
     "for i = 0 to M step 1 parallel {\n" UP(
         "j", "N", "c[i?, j?] = 0.0:float32\n") "}\n"
                                                "for k = 0 to K step 1 parallel @7:5-30 {\n" UP(
                                                    "i_1", "M",
                                                    UP("j_1", "N",
                                                       "c[i_1?, j_1?] = (c[i_1?, j_1?] + a[i_1?, k?]) "
                                                       "@9:9-30\n")) "}\n",
     "7:5: warning|iterations k = 0 and k = 1 both use c[0, 0] (reads at 9:9, writes at 9:9)", "clear"},
};

static bool piece_next(const char **list, char *piece, size_t size)
{
    size_t length = strcspn(*list, "|");

    if (!**list || length >= size)
        return false;
    memcpy(piece, *list, length);
    piece[length] = '\0';
    *list += length + ((*list)[length] == '|');
    return true;
}

/* Every piece is there, or none is. */
static bool pieces_hold(const char *text, const char *list, bool wanted, const char *name)
{
    char piece[256];
    bool hold = true;

    while (piece_next(&list, piece, sizeof piece)) {
        if ((strstr(text, piece) != NULL) == wanted)
            continue;
        fprintf(stderr, "%s: %s \"%s\" in\n%s\n", name, wanted ? "there is no" : "there should be no", piece,
                text);
        hold = false;
    }
    return hold;
}

static char *analysed(struct arena *arena, const char *source, akg_diagnostics *diagnostics,
                      struct ir_kernel **kernel)
{
    struct text text;
    char *messages = NULL;

    text_init(&text);
    *kernel = ir_read(arena, source, strlen(source), diagnostics);
    if (*kernel) {
        if (!ir_verify(*kernel, &text))
            return text_take(&text);
        analysis_bounds(*kernel);
        analysis_initialisation(*kernel, diagnostics);
        analysis_hints(*kernel, diagnostics);
        ir_print(&text, *kernel);
    }
    akg_diagnostics_render(diagnostics, AKG_FORMAT_TEXT, &messages);
    text_string(&text, messages ? messages : "");
    akg_free(messages);
    return text_take(&text);
}

static void test_row(const struct row *row)
{
    struct arena arena;
    jmp_buf escape;
    struct ir_kernel *kernel;
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
    char *text = analysed(&arena, source.data, diagnostics, &kernel);
    CHECK(kernel != NULL);
    CHECK(pieces_hold(text, row->has, true, row->name));
    CHECK(pieces_hold(strstr(text, "kernel k {") ? text : "?", row->lacks, false, row->name));
    for (int k = 0; kernel && k < kernel->dims.count; k++)
        CHECK(!kernel->dims.items[k]->note);
    memory_free(text);
    text_free(&source);
    akg_diagnostics_free(diagnostics);
    arena_free(&arena);
}

/* The messages carry "?" themselves; a row that forbids it means the kernel. */
int main(void)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        test_row(&rows[k]);
    printf("%zu kernels\n", sizeof rows / sizeof *rows);
    return check_done();
}

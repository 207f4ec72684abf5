#!/bin/sh
# proof: check, the line about what is proved, --explain-proof, and --json. Whether it is true is test_certificate.c's concern.
. "$(dirname "$0")/functions"

cat >proof.akg <<'PROGRAM'
def shift(x: T[N]):
    y = output_tensor((N,), x.dtype)
    for i in range(N):
        if i > 0:
            y[i] = x[i - 1]
        else:
            y[i] = 0
    return y


def lower(a: T[N, N]):
    b = output_tensor((N, N), a.dtype)
    for i in range(N):
        for j in range(i + 1):
            b[i, j] = a[i, j]
    return b


def halve(x: T[N]):
    y = output_tensor((N // 2,), x.dtype)
    for i in range(0, N - 1, 2):
        y[i // 2] = x[i] + x[i + 1]
    return y


def fold(x: T[N], n: T1[K]):
    y = output_tensor((K,), x.dtype)
    for k in range(K):
        y[k] = x[min(k * 2, N - 1)]
    return y
PROGRAM
expect 0 'bounds: ranges, conditions, triangles, strides' check proof.akg
stdout_is "$(cat <<'TEXT'
shift(x: T[N]) -> y: T[N]
    bounds: 3 proved; loops: i parallel
lower(a: T[N, N]) -> b: T[N, N]
    bounds: 2 proved; cleared first: b; loops: i, j parallel
halve(x: T[N]) -> y: T[N // 2]
    bounds: 3 proved; loops: i parallel
fold(x: T[N], n: T1[K]) -> y: T[K]      requires 1 <= N
    bounds: 1 proved, 1 by precondition; loops: k parallel
TEXT
)"
expect 0 'bounds: ranges, conditions, triangles, strides, in full' check proof.akg --explain-proof
stdout_is "$(cat <<'TEXT'
shift(x: T[N]) -> y: T[N]
  bounds
    5:20  reads x[i - 1]
        0 <= i - 1 <= N - 2 < N
    5:13  writes y[i]    y[i] = x[i - 1]
        0 <= i <= N - 1 < N
    7:13  writes y[i]    y[i] = 0
        0 <= i <= N - 1 < N
  initialisation
    y: every element is written once
  loops
    3:5  loop i: parallel
lower(a: T[N, N]) -> b: T[N, N]
  bounds
    15:23  reads a[i, j]
        0 <= i <= N - 1 < N
        0 <= j <= N - 1 < N
    15:13  writes b[i, j]    b[i, j] = a[i, j]
        0 <= i <= N - 1 < N
        0 <= j <= N - 1 < N
  initialisation
    b: cleared first; no element is written twice
        b[0, 1] is not written for N = 3
  loops
    13:5  loop i: parallel
    14:9  loop j: parallel
halve(x: T[N]) -> y: T[N // 2]
  bounds
    22:21  reads x[i]
        0 <= i <= 2 * (N // 2) - 2 < N
    22:28  reads x[i + 1]
        1 <= i + 1 <= 2 * (N // 2) - 1 < N
    22:9  writes y[i // 2]    y[i // 2] = x[i] + x[i + 1]
        0 <= i // 2 <= N // 2 - 1 < N // 2
  initialisation
    y: every element is written once
  loops
    21:5  loop i: parallel
fold(x: T[N], n: T1[K]) -> y: T[K]      requires 1 <= N
  bounds
    29:16  reads x[min(k * 2, N - 1)]
        0 <= min(k * 2, N - 1) <= N - 1 < N   required: 1 <= N, where 0 < K
    29:9  writes y[k]    y[k] = x[min(k * 2, N - 1)]
        0 <= k <= K - 1 < K
  initialisation
    y: every element is written once
  loops
    28:5  loop k: parallel
TEXT
)"
expect 0 'bounds: ranges, conditions, triangles, strides, as JSON' check proof.akg --json
json

cat >proof.akg <<'PROGRAM'
def lagged(x: T[N], y: T[M], lag: int):
    z = output_tensor((N,), x.dtype)
    for i in range(N):
        z[i] = x[i] + y[i + lag]
    return z
PROGRAM
expect 0 'bounds: preconditions' check proof.akg
stdout_is "$(cat <<'TEXT'
lagged(x: T[N], y: T[M], lag: int) -> z: T[N]      requires N + lag <= M, 0 <= lag
    bounds: 2 proved, 1 by precondition; loops: i parallel
TEXT
)"
expect 0 'bounds: preconditions, in full' check proof.akg --explain-proof
stdout_is "$(cat <<'TEXT'
lagged(x: T[N], y: T[M], lag: int) -> z: T[N]      requires N + lag <= M, 0 <= lag
  bounds
    4:16  reads x[i]
        0 <= i <= N - 1 < N
    4:23  reads y[i + lag]
        0 <= lag <= i + lag <= N + lag - 1 < M   required: N + lag <= M, where 0 < N, 0 <= lag, where 0 < N
    4:9  writes z[i]    z[i] = x[i] + y[i + lag]
        0 <= i <= N - 1 < N
  initialisation
    z: every element is written once
  loops
    3:5  loop i: parallel
TEXT
)"
expect 0 'bounds: preconditions, as JSON' check proof.akg --json
json

cat >proof.akg <<'PROGRAM'
def pick(x: T[N], index: int32[K], wanted: bool[K]):
    y = output_tensor((K,), x.dtype)
    for k in range(K):
        if wanted[k]:
            y[k] = x[index[k]]
        else:
            y[k] = 0
    return y


def skip(x: T[N], length: int32[K]):
    y = output_tensor((1,), x.dtype)
    s = 0.0
    for k in range(K):
        for i in range(length[k]):
            s += x[i]
    y[0] = s
    return y
PROGRAM
expect 0 'bounds: what depends on data' check proof.akg
stdout_is "$(cat <<'TEXT'
pick(x: T[N], index: int32[K], wanted: bool[K]) -> y: T[K]
    bounds: 4 proved, 1 tested per element; loops: k parallel
skip(x: T[N], length: int32[K]) -> y: T[1]
    bounds: 2 proved, 1 tested per element; loops: k, i reduction
TEXT
)"
expect 0 'bounds: what depends on data, in full' check proof.akg --explain-proof
stdout_is "$(cat <<'TEXT'
pick(x: T[N], index: int32[K], wanted: bool[K]) -> y: T[K]
  bounds
    4:12  reads wanted[k]
        0 <= k <= K - 1 < K
    5:22  reads index[k]
        0 <= k <= K - 1 < K
    5:20  reads x[index[k]]
        tested: 0 <= index[k] < N; depends on index[k]; wanted[k] decides whether it is executed
    5:13  writes y[k]    y[k] = x[index[k]]
        0 <= k <= K - 1 < K
    7:13  writes y[k]    y[k] = 0
        0 <= k <= K - 1 < K
  initialisation
    y: every element is written once
  loops
    3:5  loop k: parallel
skip(x: T[N], length: int32[K]) -> y: T[1]
  bounds
    15:24  reads length[k]
        0 <= k <= K - 1 < K
    16:18  reads x[i]
        tested: 0 <= i < N; length[k] decides whether it is executed
    17:5  writes y[0]    y[0] = s
        0 < 1
  initialisation
    y: every element is written once
  loops
    14:5  loop k: reduction of s by +
    15:9  loop i: reduction of s by +
TEXT
)"
expect 0 'bounds: what depends on data, as JSON' check proof.akg --json
json

cat >proof.akg <<'PROGRAM'
def interior(x: T[N]):
    y = output_tensor((N,), x.dtype)
    for i in range(1, N - 1):
        y[i] = x[i - 1] + x[i + 1]
    return y


def twice(x: T[N]):
    y = output_tensor((N,), x.dtype)
    for i in range(N):
        y[i] = 0
    for i in range(N):
        y[i] = y[i] + x[i]
    return y


def early(x: T[N]):
    y = output_tensor((N,), x.dtype)
    t = allocate((N,), x.dtype)
    for i in range(N):
        y[i] = t[N - 1 - i]
        t[i] = x[i]
    return y


def marked(flag: bool[N]):
    y = output_tensor((N,), int32)
    for i in range(N):
        if flag[i]:
            y[i] = 1
    return y
PROGRAM
expect 0 'initialisation' check proof.akg
stdout_is "$(cat <<'TEXT'
interior(x: T[N]) -> y: T[N]
    bounds: 3 proved; cleared first: y; loops: i parallel
twice(x: T[N]) -> y: T[N]
    bounds: 4 proved; loops: i parallel
early(x: T[N]) -> y: T[N]
    bounds: 4 proved; cleared first: t; loops: i serial
marked(flag: bool[N]) -> y: int32[N]
    bounds: 2 proved; cleared first: y; loops: i parallel
TEXT
)"
expect 0 'initialisation, in full' check proof.akg --explain-proof
stdout_is "$(cat <<'TEXT'
interior(x: T[N]) -> y: T[N]
  bounds
    4:16  reads x[i - 1]
        0 <= i - 1 <= N - 3 < N
    4:27  reads x[i + 1]
        2 <= i + 1 <= N - 1 < N
    4:9  writes y[i]    y[i] = x[i - 1] + x[i + 1]
        1 <= i <= N - 2 < N
  initialisation
    y: cleared first; no element is written twice
        y[0] is not written for N = 3
        proved to be written: y[1 .. N - 2]
  loops
    3:5  loop i: parallel
twice(x: T[N]) -> y: T[N]
  bounds
    11:9  writes y[i]    y[i] = 0
        0 <= i <= N - 1 < N
    13:16  reads y[i]
        0 <= i <= N - 1 < N
    13:23  reads x[i]
        0 <= i <= N - 1 < N
    13:9  writes y[i]    y[i] = y[i] + x[i]
        0 <= i <= N - 1 < N
  initialisation
    y: every element is written, some several times (y[0] for N = 3); 1 read comes after the write
  loops
    10:5  loop i: parallel
    12:5  loop i: parallel
early(x: T[N]) -> y: T[N]
  bounds
    21:16  reads t[N - 1 - i]
        0 <= N - 1 - i <= N - 1 < N
    21:9  writes y[i]    y[i] = t[N - 1 - i]
        0 <= i <= N - 1 < N
    22:16  reads x[i]
        0 <= i <= N - 1 < N
    22:9  writes t[i]    t[i] = x[i]
        0 <= i <= N - 1 < N
  initialisation
    y: every element is written once
    t, a temporary: cleared first; no element is written twice
        21:16  reads t[N - 1 - i], not proved to be written by then: t[2] is not for N = 3
  loops
    20:5  loop i: serial: t[N - 1 - i] and t[i], direction < (read, then written: 21:16, 22:9)
        for N = 3, iterations i = 0 and i = 2 both use t[0]
marked(flag: bool[N]) -> y: int32[N]
  bounds
    29:12  reads flag[i]
        0 <= i <= N - 1 < N
    30:13  writes y[i]    y[i] = 1
        0 <= i <= N - 1 < N
  initialisation
    y: cleared first; no element is written twice
        y[0] is not written for N = 3 and inputs of zeros
  loops
    28:5  loop i: parallel
TEXT
)"
expect 0 'initialisation, as JSON' check proof.akg --json
json

cat >proof.akg <<'PROGRAM'
def scan(x: T[N]):
    for i in range(1, N):
        x[i] = x[i] + x[i - 1]
    return x


def sums(x: T[M, N]):
    y = output_tensor((N,), x.dtype)
    z = output_tensor((1,), x.dtype)
    top = x[0, 0]
    for j in range(N):
        y[j] = 0
    for i in range(M):
        for j in range(N):
            y[j] += x[i, j]
            top = max(top, x[i, j])
    z[0] = top
    return y, z


def diagonal(a: T[N, N]):
    for i in range(1, N):
        for j in range(1, N):
            a[i, j] = a[i - 1, j - 1]
    return a


def carried(x: T[N]):
    y = output_tensor((N,), x.dtype)
    before = 0.0
    for i in range(N):
        y[i] = before
        before = x[i]
    return y


def until(x: T[N]):
    y = output_tensor((1,), int32)
    n = 0
    while n < N:
        n += n + 1
    y[0] = int32(n)
    return y


def scatter(x: T[N], at: int32[N]):
    y = output_tensor((N,), x.dtype)
    for i in range(N):
        y[at[i]] = x[i]
    return y
PROGRAM
expect 0 'loops' check proof.akg
stdout_is "$(cat <<'TEXT'
scan(x: T[N]) -> x: T[N]
    bounds: 3 proved; loops: i serial
sums(x: T[M, N]) -> y: T[N], z: T[1]      requires 1 <= M, 1 <= N
    bounds: 6 proved, 1 by precondition; loops: j parallel, i, j reduction
diagonal(a: T[N, N]) -> a: T[N, N]
    bounds: 2 proved; loops: j parallel, i serial
carried(x: T[N]) -> y: T[N]
    bounds: 2 proved; loops: i serial
until(x: T[N]) -> y: int32[1]
    bounds: 1 proved; loops: while serial
scatter(x: T[N], at: int32[N]) -> y: T[N]
    bounds: 2 proved, 1 tested per element; cleared first: y; loops: i undecided
TEXT
)"
expect 0 'loops, in full' check proof.akg --explain-proof
stdout_is "$(cat <<'TEXT'
scan(x: T[N]) -> x: T[N]
  bounds
    3:16  reads x[i]
        1 <= i <= N - 1 < N
    3:23  reads x[i - 1]
        0 <= i - 1 <= N - 2 < N
    3:9  writes x[i]    x[i] = x[i] + x[i - 1]
        1 <= i <= N - 1 < N
  loops
    2:5  loop i: serial: x[i] and x[i - 1], distance 1 (written, then read: 3:9, 3:23)
        for N = 3, iterations i = 1 and i = 2 both use x[1]
sums(x: T[M, N]) -> y: T[N], z: T[1]      requires 1 <= M, 1 <= N
  bounds
    10:11  reads x[0, 0]
        0 < M   required: 1 <= M
        0 < N   required: 1 <= N
    12:9  writes y[j]    y[j] = 0
        0 <= j <= N - 1 < N
    15:13  reads y[j]
        0 <= j <= N - 1 < N
    15:21  reads x[i, j]
        0 <= i <= M - 1 < M
        0 <= j <= N - 1 < N
    15:13  writes y[j]    y[j] += x[i, j]
        0 <= j <= N - 1 < N
    16:28  reads x[i, j]
        0 <= i <= M - 1 < M
        0 <= j <= N - 1 < N
    17:5  writes z[0]    z[0] = top
        0 < 1
  initialisation
    y: every element is written, some several times (y[0] for M = 3, N = 3); 1 read comes after the write
    z: every element is written once
  loops
    11:5  loop j: parallel
    13:5  loop i: reduction of top by max, of y[j] by +
    14:9  loop j: reduction of top by max
diagonal(a: T[N, N]) -> a: T[N, N]
  bounds
    24:23  reads a[i - 1, j - 1]
        0 <= i - 1 <= N - 2 < N
        0 <= j - 1 <= N - 2 < N
    24:13  writes a[i, j]    a[i, j] = a[i - 1, j - 1]
        1 <= i <= N - 1 < N
        1 <= j <= N - 1 < N
  loops
    22:5  loop i: serial: a[i, j] and a[i - 1, j - 1], distance (1, 1) (written, then read: 24:13, 24:23)
        for N = 3, iterations i = 1 and i = 2 both use a[1, 1]
    23:9  loop j: parallel
carried(x: T[N]) -> y: T[N]
  bounds
    32:9  writes y[i]    y[i] = before
        0 <= i <= N - 1 < N
    33:18  reads x[i]
        0 <= i <= N - 1 < N
  initialisation
    y: every element is written once
  loops
    31:5  loop i: serial: 'before', assigned at 33:9, goes from one iteration to the next
        for N = 3, iterations i = 0 and i = 1 both use before
until(x: T[N]) -> y: int32[1]
  bounds
    42:5  writes y[0]    y[0] = int32(n)
        0 < 1
  initialisation
    y: every element is written once
  loops
    40:5  loop while: serial: 'n', assigned at 41:9, goes from one iteration to the next
scatter(x: T[N], at: int32[N]) -> y: T[N]
  bounds
    49:11  reads at[i]
        0 <= i <= N - 1 < N
    49:20  reads x[i]
        0 <= i <= N - 1 < N
    49:9  writes y[at[i]]    y[at[i]] = x[i]
        tested: 0 <= at[i] < N; depends on at[i]
  initialisation
    y: cleared first; some elements are written several times (y[0] for N = 3 and inputs of zeros)
        y[1] is not written for N = 3 and inputs of zeros
  loops
    48:5  loop i: undecided: perhaps y[at[i]] and y[at[i]], direction < (written, then written: 49:9, 49:9)
TEXT
)"
expect 0 'loops, as JSON' check proof.akg --json
json

cat >proof.akg <<'PROGRAM'
def plus(x, i):
    return x[i] + 1


def both(x: T[N]):
    y = output_tensor((N,), x.dtype)
    for i in range(N):
        y[i] = plus(x, i) * plus(x, i)
    return y


def nothing(n=3):
    y = output_tensor((n,), float32)
    return y
PROGRAM
expect 0 'one line for what comes twice' check proof.akg
stdout_is "$(cat <<'TEXT'
both(x: T[N]) -> y: T[N]
    bounds: 3 proved; loops: i parallel
nothing(n: int = 3) -> y: float32[n]
    bounds: no accesses; cleared first: y
TEXT
)"
expect 0 'one line for what comes twice, in full' check proof.akg --explain-proof
stdout_is "$(cat <<'TEXT'
both(x: T[N]) -> y: T[N]
  bounds
    2:12  reads x[i]
        0 <= i <= N - 1 < N
    8:9  writes y[i]    y[i] = plus(x, i) * plus(x, i)
        0 <= i <= N - 1 < N
  initialisation
    y: every element is written once
  loops
    7:5  loop i: parallel
nothing(n: int = 3) -> y: float32[n]
  initialisation
    y: cleared first; no element is written twice
        y[0] is not written for any inputs
TEXT
)"
expect 0 'one line for what comes twice, as JSON' check proof.akg --json
json

cat >written.akg <<'PROGRAM'
def back(x: T[N, M]):
    y = output_tensor((N, M), x.dtype)
    r = output_tensor((N,), x.dtype)
    for i in range(N):
        r[N - 1 - i] = i
        for j in range(M):
            y[i, M - 1 - j] = x[i, j]
    return y, r


def pairs():
    y = output_tensor((5,), float32)
    z = output_tensor((5,), float32)
    for i in range(2):
        y[1 - i] = 1
        y[3 - i] = 2
        z[1 - i] = 1
        z[2 - i] = 2
        z[3 - i] = 3
    return y, z


def wider(n: int = 4):
    y = output_tensor((2 * n + 1,), float32)
    z = output_tensor((2 * n + 1,), float32)
    for i in range(n + 1):
        for j in range(n - i, n + i + 1):
            y[j] = i
        for j in range(i, 2 * n + 1 - i):
            z[j] = i
    return y, z
PROGRAM
expect 0 'written where the index falls' check written.akg
stdout_is "$(cat <<'TEXT'
back(x: T[N, M]) -> y: T[N, M], r: T[N]
    bounds: 3 proved; loops: i, j parallel
pairs() -> y: float32[5], z: float32[5]
    bounds: 5 proved; cleared first: y, z; loops: i serial
wider(n: int = 4) -> y: float32[2 * n + 1], z: float32[2 * n + 1]
    bounds: 2 proved; loops: j parallel, i serial
TEXT
)"
expect 0 'written where the index falls, in full' check written.akg pairs --explain-proof
stdout_is "$(cat <<'TEXT'
pairs() -> y: float32[5], z: float32[5]
  bounds
    15:9  writes y[1 - i]    y[1 - i] = 1
        0 <= 1 - i <= 1 < 5
    16:9  writes y[3 - i]    y[3 - i] = 2
        2 <= 3 - i <= 3 < 5
    17:9  writes z[1 - i]    z[1 - i] = 1
        0 <= 1 - i <= 1 < 5
    18:9  writes z[2 - i]    z[2 - i] = 2
        1 <= 2 - i <= 2 < 5
    19:9  writes z[3 - i]    z[3 - i] = 3
        2 <= 3 - i <= 3 < 5
  initialisation
    y: cleared first; no element is written twice
        y[4] is not written for any inputs
        proved to be written: y[0 .. 3]
    z: cleared first; some elements are written several times (z[1] for any inputs)
        z[4] is not written for any inputs
        proved to be written: z[0 .. 3]
  loops
    14:5  loop i: serial: z[1 - i] and z[2 - i], distance 1 (written, then written: 17:9, 18:9)
        for any inputs, iterations i = 0 and i = 1 both use z[1]
TEXT
)"

cat >inside.akg <<'PROGRAM'
def flat(x: T[M, N]):
    y = output_tensor((M * N,), x.dtype)
    for i in range(M):
        for j in range(N):
            y[i + j] = x[i, j]
    return y


def im2col(x: T[H, W], kh: int = 3, kw: int = 3, s: int = 1):
    oh = (H - kh) // s + 1
    ow = (W - kw) // s + 1
    y = output_tensor((oh * ow, kh * kw), x.dtype)
    for i in range(oh):
        for j in range(ow):
            for a in range(kh):
                for b in range(kw):
                    y[i * ow + j, a * kw + b] = x[i * s + a, j * s + b]
    return y
PROGRAM
expect 0 'what no call leaves is proved, not required of calls' check inside.akg
stdout_is "$(cat <<'TEXT'
flat(x: T[M, N]) -> y: T[M * N]
    bounds: 2 proved; cleared first: y; loops: j parallel, i serial
im2col(x: T[H, W], kh: int = 3, kw: int = 3, s: int = 1) -> y: T[((H - kh) // s + 1) * ((W - kw) // s + 1), kh * kw]
    bounds: 2 proved; cleared first: y; loops: i, j, a, b parallel
TEXT
)"

cat >pieces.akg <<'PROGRAM'
def strides(x: T[N]):
    y = output_tensor((N,), x.dtype)
    z = output_tensor((N,), x.dtype)
    for i in range(0, N, 2):
        y[i] = x[i]
        z[i] = x[i]
    for i in range(1, N, 2):
        y[i] = -x[i]
    for i in range(3, N, 2):
        z[i] = -x[i]
    return y, z


def triangles(x: T[N, N]):
    y = output_tensor((N, N), x.dtype)
    z = output_tensor((N, N), x.dtype)
    for i, j in grid((N, N)):
        if j < i:
            y[i, j] = x[i, j]
            z[i, j] = x[i, j]
    for i in range(N):
        for j in range(i, N):
            y[i, j] = -x[i, j]
        for j in range(i + 1, N):
            z[i, j] = -x[i, j]
    return y, z


def frame(x: T[N, M]):
    y = output_tensor((N, M), x.dtype)
    t = allocate((N, M), x.dtype)
    for i in range(1, N - 1):
        for j in range(1, M - 1):
            t[i, j] = x[i, j]
    for i in range(N):
        t[i, 0] = 1
        t[i, M - 1] = 1
    for j in range(1, M - 1):
        t[0, j] = 2
        t[N - 1, j] = 2
    for i, j in grid((N, M)):
        y[i, j] = t[i, j]
    return y


def head(x: T[N], data: int32[M]):
    y = output_tensor((N,), x.dtype)
    z = output_tensor((N,), x.dtype)
    y[0] = x[0]
    z[0] = x[0]
    for i in range(1, N):
        y[i] = x[i]
    for i in range(N):
        if data[i] > 0:
            z[i] = x[i]
    return y, z
PROGRAM
expect 0 'written in pieces' check pieces.akg --explain-proof
awk '/^ ? ?[^ ]/ { told = /^  initialisation/ } told' stdout >told && mv told stdout
stdout_is "$(cat <<'TEXT'
  initialisation
    y: every element is written once
    z: cleared first; no element is written twice
        z[1] is not written for N = 3
  initialisation
    y: every element is written once
    z: cleared first; no element is written twice
        z[0, 0] is not written for N = 3
  initialisation
    y: every element is written once
    t, a temporary: some elements are written several times (t[0, 0] for N = 1, M = 1); 1 read comes after the write
  initialisation
    y: every element is written once
    z: cleared first; some elements are written several times (z[0] for N = 3, M = 3 and inputs of ones)
        z[1] is not written for N = 3, M = 3 and inputs of zeros
        proved to be written: z[0]
TEXT
)"

cat >unwritten.akg <<'PROGRAM'
def few(x: T[N]):
    y = output_tensor((N,), x.dtype)
    z = output_tensor((N,), x.dtype)
    t = allocate((N,), x.dtype)
    for i in range(min(N, 16)):
        t[i] = x[i]
    for i in range(N):
        if i != 50:
            z[i] = x[i]
    for i in range(N):
        y[i] = t[i]
    return y, z
PROGRAM
cat >far.akg <<'PROGRAM'
def far(x: T[N]):
    for i in parallel(31, N):
        x[i] = x[i - 31]
    return x


def chosen(x: T[N], k: int = 40):
    for i in parallel(N):
        if i + k < N and k > 3:
            x[i] = x[i + k]
    return x
PROGRAM
expect 0 'elements that only large calls leave out' check unwritten.akg --explain-proof
stdout_has '        11:16  reads t[i], not proved to be written by then: t[16] is not for N = 17'
stdout_has '        z[50] is not written for N = 51'
expect 0 'iterations far apart' check far.akg --explain-proof
stdout_has '        for N = 63, iterations i = 31 and i = 62 both use x[31]'
stdout_has '        for N = 81, iterations i = 0 and i = 40 both use x[40]'
stderr_has 'note: iterations i = 31 and i = 62 both use x[31] (writes at 3:9, reads at 3:16)'
stderr_has 'far.akg:8:5: warning: the iterations of this parallel loop depend on each other'

cat >border.akg <<'PROGRAM'
def border(x: T[N, M]):
    y = output_tensor((N, M), x.dtype)
    for i in range(N):
        y[i, 0] = x[i, 0]
    for j in range(M):
        y[0, j] = x[0, j]
    for i in range(1, N):
        for j in range(1, M):
            y[i, j] = y[i - 1, j - 1] + x[i, j]
    return y


def corner(x: T[N, M]):
    y = output_tensor((N, M), x.dtype)
    for i in range(1, N):
        y[i, 0] = x[i, 0]
    for j in range(1, M):
        y[0, j] = x[0, j]
    for i in range(1, N):
        for j in range(1, M):
            y[i, j] = y[i - 1, j - 1] + x[i, j]
    return y
PROGRAM
expect 0 'reads across a border' check border.akg
stdout_is "$(cat <<'TEXT'
border(x: T[N, M]) -> y: T[N, M]      requires 1 <= M, 1 <= N
    bounds: 3 proved, 4 by precondition; loops: i, j parallel, i serial
corner(x: T[N, M]) -> y: T[N, M]      requires 1 <= M, 1 <= N
    bounds: 3 proved, 4 by precondition; cleared first: y; loops: i, j parallel, i serial
TEXT
)"

cat >turned.akg <<'PROGRAM'
def turned(x: T[N]):
    y = output_tensor((N,), x.dtype)
    z = output_tensor((N,), x.dtype)
    for i in range(N):
        y[(i + 1) % N] = x[i]
    for i in range(N + 1):
        z[(2 * i) % N] = x[0]
    return y, z


def rows(x: T[H, W]):
    y = output_tensor(((H - 2) * (W - 2) + 1,), x.dtype)
    z = output_tensor(((H - 2) * (W - 2) + 1,), x.dtype)
    for i in range(H - 2):
        for j in range(W - 2):
            y[i * (W - 2) + j] = x[i, j]
    for i in range(H - 2):
        for j in range(W - 1):
            z[i * (W - 2) + j] = x[i, j]
    return y, z
PROGRAM
expect 0 'indices that go round, and rows side by side' check turned.akg
stdout_is "$(cat <<'TEXT'
turned(x: T[N]) -> y: T[N], z: T[N]      requires 1 <= N
    bounds: 3 proved, 1 by precondition; cleared first: y, z; loops: i parallel, i serial
rows(x: T[H, W]) -> y: T[(H - 2) * (W - 2) + 1], z: T[(H - 2) * (W - 2) + 1]
    bounds: 4 proved; cleared first: y, z; loops: i, j parallel, i serial
TEXT
)"

expect 0 'one kernel' check proof.akg both --explain-proof
stdout_has '  loops'
expect 2 'run takes no --explain-proof' run proof.akg both 'x=[1]' --explain-proof
stderr_has "'akgrun run' does not take --explain-proof"

finish

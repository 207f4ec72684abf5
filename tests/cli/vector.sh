#!/bin/sh
# --target, --strict and --stage asm: vector code.
. "$(dirname "$0")/functions"

cat >vector.akg <<'PROGRAM'
def axpy(x, y):
    z = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        z[i] = 2.5 * x[i] + y[i]
    return z


def total(x):
    s = output_tensor((1,), x.dtype)
    s[0] = 0
    for i in range(x.shape[0]):
        s[0] += x[i]
    return s


def sums(x):
    y = output_tensor(x.shape, x.dtype)
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        y[i] = s
    return y


def largest(x):
    at = output_tensor((1,), int64)
    best = x[0]
    place = 0
    for i in range(x.shape[0]):
        if x[i] > best:
            best = x[i]
            place = i
    at[0] = place
    return at


def turned(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        y[i] = x[i] % 49.0
    return y


def best_sum(x):
    y = output_tensor((1,), x.dtype)
    current = x[0]
    best = x[0]
    for i in range(1, x.shape[0]):
        if current < 0.0:
            current = x[i]
        else:
            current += x[i]
        best = max(best, current)
    y[0] = best
    return y


def scaled(x: T[M, N], y: T[N]):
    z = output_tensor(x.shape, x.dtype)
    for i, j in grid(x.shape):
        z[i, j] = x[i, j] / sqrt(y[j] * y[j] + 1.0)
    return z
PROGRAM

expect 0 'assembler' emit vector.akg axpy --stage asm
stdout_has '# axpy, target'
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has 'akg_vector_0: # line 3'
    stdout_has '# line 4'
    # what is added to the product is read from memory
    stdout_has 'vfmadd213ps '
    ;;
esac

expect 0 'assembler without vectors' emit vector.akg axpy --stage asm --target none
stdout_has '# axpy, target none'

# In order, a product is rounded before it is added.
expect 0 'assembler, strict' emit vector.akg axpy --stage asm --strict
assert 'no product is fused with a sum' [ "$(grep -c vfmadd stdout)" = 0 ]

# Rows go on from where the last one began: of a call by a number, of all calls by what these tell.
expect 0 'rows of a call' emit vector.akg scaled 'x=randn(30,100)' 'y=randn(100)' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*) stdout_has ', 400' ;;
esac
expect 0 'C of a call' emit vector.akg scaled 'x=randn(30,100)' 'y=randn(100)' --stage c
stdout_has 'if (frame->dims[0] != 30ll || frame->dims[1] != 100ll)'
stdout_has 'return frame->reach(frame, 0) != 0;'
expect 0 'C of all calls' emit vector.akg scaled 'x=randn(30,100)' 'y=randn(100)' --stage c --any-shape
assert 'it asks for no extent' [ "$(grep -c 'reach(frame, 0)' stdout)" = 0 ]
expect 0 'rows' emit vector.akg scaled 'x=randn(30,100)' 'y=randn(100)' --stage asm --any-shape
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has 'add rsi, r'
    stdout_has 'add r8, r'
    ;;
esac
case $(cat stdout) in
*'target avx512'*) stdout_has 'vpsubusw zmm' ;; # half of an estimate
esac

# Lanes choose, each for itself.
expect 0 'where the largest is' emit vector.akg largest 'x=randn(1000)' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has 'lanes of 32 bits'
    ;;
esac

# What both branches load waits for no condition.
expect 0 'the best sum of a run' emit vector.akg best_sum 'x=randn(1000)' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has 'akg_vector_0: # line'
    assert 'its loads have no masks' test "$(grep -c -e '{z}' -e vmaskmov stdout)" = 0
    ;;
esac

# Lanes accumulate, each from the first one on.
expect 0 'sums so far' emit vector.akg sums 'x=randn(1000)' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has '8 lanes of 32 bits'
    ;;
esac

# What is left over of a division by a number that is known needs no division (6.0 has one, out of line).
expect 0 'a remainder' emit vector.akg turned 'x=randn(1000)' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has 'akg_vector_0: # line'
    assert 'no quotient' sh -c '! grep -q vdiv stdout'
    ;;
esac

# Of float32 and float64 a cube root is no general power.
cat >cubes.akg <<'PROGRAM'
def edges(x: T[N]):
    y = output_tensor((N,), x.dtype)
    for i in range(N):
        y[i] = x[i] ** (1.0 / 3.0)
    return y
PROGRAM
expect 0 'cube roots' emit cubes.akg 'x=rand(100):float64' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has ' lanes of 64 bits'
    assert 'no call' sh -c '! grep -q call stdout'
    ;;
esac
expect 0 'the cube roots' run cubes.akg 'x=[27,-0.0,8e-30,-8]'
stdout_is 'y float32[4] = [3, 0, 1.9999986e-10, nan]'

# What is loaded lies where later iterations store, which the call tells.
cat >knapsack.akg <<'PROGRAM'
def knapsack(weight: T1[N], worth: T2[N], dp: T2[W]):
    for i in range(N):
        for w in range(W - 1, weight[i] - 1, -1):
            dp[w] = max(dp[w], dp[w - weight[i]] + worth[i])
    return dp
PROGRAM
expect 0 'ahead' emit knapsack.akg 'weight=zeros(9):int32' 'worth=rand(9)' 'dp=zeros(99)' --stage asm
case $(cat stdout) in
*'target avx512'*) stdout_has '# line 3, 16 lanes of 32 bits' ;;
*'target avx2'*) stdout_has '# line 3, 8 lanes of 32 bits' ;;
esac

# More than four elements of each iteration, side by side, are stored four at a time.
cat >records.akg <<'PROGRAM'
def powers(x: T[N]):
    y = output_tensor((N, 5), x.dtype)
    for i in range(N):
        y[i, 0] = 1.0
        y[i, 1] = x[i]
        y[i, 2] = x[i] * x[i]
        y[i, 3] = x[i] * x[i] * x[i]
        y[i, 4] = 2.0 * x[i]
    return y
PROGRAM
cat >matrices.akg <<'PROGRAM'
def turned(a: T[N, 2, 2]):
    y = output_tensor((N, 2, 2), a.dtype)
    for i in range(N):
        y[i, 0, 0] = 2.0 * a[i, 0, 0]
        y[i, 0, 1] = 2.0 * a[i, 1, 0]
        y[i, 1, 0] = 2.0 * a[i, 0, 1]
        y[i, 1, 1] = 2.0 * a[i, 1, 1]
    return y
PROGRAM
expect 0 'matrices' emit matrices.akg 'a=rand(100,2,2)' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*) assert 'whole vectors' sh -c '! grep -q -e vextractf32x4 -e vmovsd stdout' ;;
esac
expect 0 'records' emit records.akg 'x=rand(100)' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has 'vunpcklps'
    ;;
esac

# All targets give the same bits; the sum in order is another one.
expect 0 'the best target' run vector.akg total 'x=randn(1000)'
best=$(cat stdout)
cat >patches.akg <<'PROGRAM'
def patches(x: T[H, W], P: int):
    y = output_tensor((H // 8, W // 8, 8, 8), x.dtype)
    for i in range(H // 8):
        for j in range(W // 8):
            for u in range(8):
                for v in range(8):
                    y[i, j, u, v] = x[8 * i + u, 8 * j + v]
    return y


def turned_blocks(x: T[A, B, C]):
    y = output_tensor((B, A, C), x.dtype)
    for b in range(B):
        for a in range(A):
            for c in range(C):
                y[b, a, c] = x[a, b, c]
    return y
PROGRAM
expect 0 'rows of a known length' emit patches.akg patches 'x=randn(64,64)' P=8 --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has '1 vector loop'
    stdout_has 'akg_vector_0: # line 3, short rows are copied'
    ;;
esac
expect 0 'rows of any length' emit patches.akg turned_blocks 'x=randn(5,6,7)' --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has 'akg_vector_0: # line 13, short rows are copied'
    stdout_has 'a band of'
    ;;
esac
# The only jumps are the loop's own: one comparison is asked three times.
cat >choice.akg <<'PROGRAM'
def partition(x, pivot: float = 0.0):
    n = x.shape[0]
    y = output_tensor((n,), x.dtype)
    low = 0
    high = n - 1
    for i in range(n):
        if x[i] < pivot:
            y[low] = x[i]
            low += 1
        else:
            y[high] = x[i]
            high -= 1
    return y
PROGRAM
expect 0 'choices' emit choice.akg partition --stage asm
case $(cat stdout) in
*'target none'*) ;;
*)
    stdout_has 'with branches'
    assert 'one comparison' test "$(grep -c vucomiss stdout)" = 1
    assert 'three choices' test "$(grep -c ' cmov' stdout)" = 3
    assert 'the jumps of the loop' test "$(grep -c ' j[a-z]* ' stdout)" = 2
    ;;
esac
for target in avx512 avx2; do
    status=0 what="target $target" ran="run vector.akg total x=randn(1000) --target $target"
    "$AKGRUN" run vector.akg total 'x=randn(1000)' --target $target >stdout 2>stderr || status=$?
    if [ $status = 2 ]; then
        judge 2 "$what"
        stderr_has "this processor has no $target instructions"
    else
        judge 0 "$what"
        stdout_is "$best"
    fi
done
expect 0 'the interpreter' run vector.akg total 'x=randn(1000)' --backend interp
ordered=$(cat stdout)
expect 0 'strict' run vector.akg total 'x=randn(1000)' --strict
stdout_is "$ordered"
expect 0 'no target' run vector.akg total 'x=randn(1000)' --target none
stdout_is "$ordered"
# what is handed on is scaled in the order of the program, without --strict too: the factors' product is infinite
cat >scaled.akg <<'PROGRAM'
def scaled(x: T[N], w: T[N], s0: T[1]):
    y = output_tensor((N,), x.dtype)
    s = s0[0]
    for i in range(N):
        s = s * x[i] * w[i]
        y[i] = s
    return y
PROGRAM
expect 0 'nothing times much' run scaled.akg 'x=[1e25,1]' 'w=[1e25,1]' 's0=[0]'
stdout_is 'y float32[2] = [0, 0]'
finish

#!/bin/sh
# emit --stage optimised and --dump-ir: what the optimising passes make of whole programs.
. "$(dirname "$0")/functions"

cat >passes.akg <<'PROGRAM'
def square_grad(x, dout):
    dx = output_tensor(x.shape, x.dtype)
    for i0 in range(x.shape[0]):
        dx[i0] = 2.0 * x[i0]
    for i0 in range(x.shape[0]):
        dx[i0] = dx[i0] * dout[i0]
    return dx


def chain(x: T[M, N], z: T[K, L]):
    assert M == K and N == L
    t = allocate(x.shape, x.dtype)
    u = allocate(z.shape, x.dtype)
    y = output_tensor(x.shape, x.dtype)
    for i, j in grid(t.shape):
        t[i, j] = x[i, j] * 2
    for at in grid(u.shape):
        u[at] = t[at] + z[at]
    for i in range(M):
        for j in range(N):
            y[i, j] = u[i, j] * t[i, j]
    return y


def columns(x):
    s = output_tensor((x.shape[1],), x.dtype)
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            s[j] += x[i, j]
    return s


def softmax(x):
    e = allocate(x.shape, x.dtype)
    y = output_tensor(x.shape, x.dtype)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            e[i, j] = exp(x[i, j])
        total = 0.0
        for j in range(x.shape[1]):
            total += e[i, j]
        for j in range(x.shape[1]):
            y[i, j] = e[i, j] / total
    return y
PROGRAM

# count NUMBER PATTERN: so many lines of standard output have it
count() {
    assert "$2: $1 times" [ "$(grep -c -e "$2" stdout)" = "$1" ]
}

expect 0 'two loops become one' emit passes.akg square_grad --stage optimised
count 1 'for '
count 1 'dx\['
expect 0 'before the passes there are two' emit passes.akg square_grad --stage ir
count 2 'for '
expect 0 'C is made of what the passes leave' emit passes.akg square_grad --stage c
count 1 'for ('

expect 0 'nests over extents that are equal become one, without memory' emit passes.akg chain --stage optimised
count 2 'for '
count 2 'temporary .* unused'
count 0 'allocate'
expect 0 'its result' run passes.akg chain 'x=[[1,2],[3,4]]' 'z=[[1,1],[1,1]]'
stdout_is 'y float32[2, 2] = [[6, 20], [42, 72]]'

expect 0 'columns are summed along the rows' emit passes.akg columns --stage optimised
assert 'the rows are outside' [ "$(grep 'for ' stdout | head -n 1 | grep -c 'for i ')" = 1 ]
expect 0 'its result' run passes.akg columns 'x=[[1,2],[3,4]]'
stdout_is 's float32[2] = [4, 6]'

expect 0 'the sum goes along with what it is of' emit passes.akg softmax --stage optimised
count 3 'for '
count 1 'reduces sum total'

expect 0 'one pass' emit passes.akg square_grad --dump-ir=fuse
count 1 '^-- fuse (.* us): '
count 1 '^-- '
expect 0 'a pass that changed nothing' emit passes.akg square_grad --dump-ir=interchange
stdout_empty
expect 0 'all passes, for a call' emit passes.akg square_grad 'x=[1]' 'dout=[1]' --dump-ir=all
stdout_has '-- fuse ('
stdout_has '-- forward ('
stdout_has '-- overwrite ('

{
    printf 'def k(x: T[L], index: int64[N]):\n    y = output_tensor((N,), x.dtype)\n    for j in range(N):\n        a0 = index[j]\n'
    for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
        printf '        a%d = a%d * a%d\n' $k $((k - 1)) $((k - 1))
    done
    printf '        if 0 <= a30 < L:\n            y[j] = x[a30]\n    return y\n'
} >products.akg
expect 0 'products of products are not written out' run products.akg k 'x=[4,5]' 'index=[0,1,2,3]:int64'
stdout_is 'y float32[4] = [4, 5, 4, 0]'

cat >views.akg <<'PROGRAM'
@broadcast
def add(a, b):
    y = output_tensor(a.shape, a.dtype)
    for p in grid(a.shape):
        y[p] = a[p] + b[p]
    return y
PROGRAM
expect 0 'what a call has stretched is contiguous' emit views.akg 'a=randn(3,4)' 'b=randn(3,1)' --stage optimised
count 1 'by 1 repeated, 0 as \[1, M\]'
count 1 'b\[0, p_0\]'

# an index that is used under a condition alone is tested, unless the extents of the call say that it is inside
cat >settled.akg <<'PROGRAM'
def settled(x: float32[N], w: float32[M], first: int = 0):
    y = output_tensor((N,), x.dtype)
    for i in range(N):
        y[i] = x[i]
        if x[i] > 0.0:
            y[i] = w[i * 2 + 1]
    return y
PROGRAM
expect 0 'what extents decide is not tested' emit settled.akg 'x=rand(5)' 'w=rand(10)' --stage c
count 0 akg_trap_index
expect 0 'what they do not is' emit settled.akg 'x=rand(5)' 'w=rand(9)' --stage c
count 2 akg_trap_index
expect 3 'and stops' run settled.akg 'x=ones(5)' 'w=ones(9)'
stderr_has 'index 9 is outside'

expect 0 'JSON' emit passes.akg square_grad --dump-ir all --json
stdout_has '"stage": "passes"'
finish

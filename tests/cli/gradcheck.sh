#!/bin/sh
# gradcheck: right and wrong gradients, what is told of them, and its options. Whether differences are right is
# test_gradcheck.c's concern.
. "$(dirname "$0")/functions"

cat >right.akg <<'PROGRAM'
def scale(x, w, index: int32[N], by=2.0):
    y = output_tensor(x.shape, x.dtype)
    for i in range(len(x)):
        y[i] = x[i] * w[index[i]] * by
    return y


def scale_grad_x(w, index, dout, by):
    dx = output_tensor(dout.shape, dout.dtype)
    for i in range(len(dout)):
        dx[i] = w[index[i]] * dout[i] * by
    return dx


def scale_grad_w(x, w, index, dout, by):
    dw = output_tensor(w.shape, w.dtype)
    for i in range(len(x)):
        dw[index[i]] += x[i] * dout[i] * by
    return dw


@bprop(scale)
def scale_bprop(x, w, index, out, dout, by):
    dx = scale_grad_x(w, index, dout, by)
    dw = scale_grad_w(x, w, index, dout, by)
    return dx, dw, None


def twice(x, w, index: int32[N]):
    return scale(scale(x, w, index), w, index, by=3.0)


def join(*xs):
    y = output_tensor((len(xs),), xs[0].dtype)
    k = 0
    for x in xs:
        y[k] = x[0] * x[0]
        k += 1
    return y


def plain(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(len(x)):
        y[i] = x[i]
    return y


def peak(x):
    y = output_tensor(x.shape, x.dtype)
    for i in range(len(x)):
        y[i] = erf(x[i]) if x[i] > 0.0 else -erf(x[i])
    return y


def peak_grad(x, dout):
    dx = output_tensor(x.shape, x.dtype)
    for i in range(len(x)):
        dx[i] = 1.1283791670955126 * exp(-x[i] * x[i]) * dout[i]
        if x[i] <= 0.0:
            dx[i] = -dx[i]
    return dx


@bprop(peak)
def peak_bprop(x, out, dout):
    dx = peak_grad(x, dout)
    return (dx,)


def narrow(x: float32[N]):
    y = output_tensor(x.shape, x.dtype)
    for i in range(len(x)):
        y[i] = x[i] * x[i]
    return y


@bprop(narrow)
def narrow_bprop(x, out, dout):
    return (2.0 * x * dout,)
PROGRAM
sed 's/dw\[index\[i\]\] += x\[i\] \* dout\[i\] \* by/dw[index[i]] -= x[i] * dout[i] * by/' right.akg >wrong.akg

set -- 'x=randn(3)' 'w=randn(2)' 'index=[1,0,1]' -Wno-read-before-write
expect 0 'right gradients' gradcheck right.akg scale "$@"
stdout_has 'dx ok: largest error '
stdout_has '(relative) over 3 elements, '
stdout_has 'dw ok: largest error '
stderr_empty
assert 'integers have no line' [ "$(wc -l <stdout)" -eq 2 ]
expect 0 'an attribute' gradcheck right.akg scale "$@" by=-7
expect 0 'a graph function' gradcheck right.akg twice "$@"
stdout_has 'dw ok: '
expect 0 'by one input' gradcheck right.akg scale "$@" --wrt w
assert 'one line' [ "$(cut -d: -f1 stdout)" = 'dw ok' ]
expect 0 'a dtype that the program asks for' gradcheck right.akg narrow 'x=[1,2]'
stdout_has 'dx ok: '
expect 0 'an empty tensor' gradcheck right.akg narrow 'x=[]'
stdout_has 'over 0 elements'
expect 0 'a part of many elements' gradcheck right.akg narrow 'x=ones(3000)'
stdout_has 'over 1000 of 3000 elements'
expect 0 'an operator of the library' gradcheck std:tanh 'x=randn(4)'
stdout_has 'dx ok: '

cat >inplace.akg <<'PROGRAM'
def step(x: T[N], w: T[N]):
    y = output_tensor((N,), x.dtype)
    for i in range(N):
        y[i] = x[i] * w[i]
        w[i] = w[i] + 1
    return y, w


@bprop(step)
def step_bprop(x, w, out, dout):
    dy, dw = dout
    return dy * (out[1] - 1.0), dw + dy * x


def both(x, w):
    y, after = step(x, w)
    return y * after


def one(x, w):
    y, after = step(x, w)
    return y * 2.0
PROGRAM
for function in both one; do
    expect 0 "an input that is written and not returned: $function" gradcheck inplace.akg $function 'x=randn(3)' 'w=randn(3)'
    stdout_has 'dx ok: '
    stdout_has 'dw ok: '
done

expect 1 'a wrong gradient' gradcheck wrong.akg scale "$@"
stdout_has 'dx ok: '
stdout_has 'dw WRONG: largest error '
stderr_has 'wrong.akg:18:9: error: the gradient of '\''scale'\'' is wrong: dw['
stderr_has 'dw[index[i]] -= x[i] * dout[i] * by'
stderr_has "note: there 'scale_bprop', the bprop of 'scale', computes it"
expect 0 'not asked for' gradcheck wrong.akg scale "$@" --wrt x
stderr_empty
expect 1 'in a graph function' gradcheck wrong.akg twice "$@" --wrt w
stderr_has "help: 'twice' is differentiated call by call: check what it calls"
expect 1 'at a kink' gradcheck right.akg peak 'x=[-1,0,1]'
stderr_has 'the function has a kink or a step at this element'
expect 1 'beyond the domain' gradcheck std:log 'x=[-1]'
stderr_has 'or no value beside it, and so no gradient; try other values'
expect 1 'a tolerance that nothing meets' gradcheck std:erf 'x=[1.1,2.3]' --tolerance 1e-15
stdout_has 'central differences'
expect 0 'the complex step is exact' gradcheck right.akg scale "$@" --tolerance 1e-14
stdout_has 'complex step'
expect 0 'a wide tolerance' gradcheck right.akg narrow 'x=[1.1,2.3]' --tolerance 0.5

# A running mean is written in place and has no gradient: it has no part in the others, unless it is asked for.
cat >running.akg <<'PROGRAM'
def centre(x, running):
    y = output_tensor(x.shape, x.dtype)
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    m = s / len(x)
    for i in range(len(x)):
        y[i] = x[i] - m
    running[0] = 0.9 * running[0] + 0.1 * m
    return y, running


@bprop(centre)
def centre_bprop(x, running, out, dout):
    dy, drunning = dout
    return dy - mean(dy), None
PROGRAM
set -- 'x=[1,2,4]' 'running=[0.5]'
expect 0 'a running mean' gradcheck running.akg centre "$@" --json
stdout_has '"gradients": [{"input": "x", "ok": true, '
assert 'has no row' sh -c '! grep -q running stdout'
expect 0 'and is named' gradcheck running.akg centre "$@"
stdout_has 'drunning left out: written in place, and its gradient is None'
expect 1 'a running mean that is asked for' gradcheck running.akg centre "$@" --wrt x,running
stderr_has 'drunning[0] is 0, but should be'
expect 0 'gradients beside a running mean' grad running.akg centre "$@" --wrt x --dout 'y=[3,0,0]'
stdout_is 'dx float32[3] = [2, -1, -1]'

expect 3 'a gradient for what is written' grad running.akg centre "$@"
stderr_has 'would write into a tensor that requires a gradient'
stderr_has 'differentiate without it (--wrt'

set -- 'x=randn(3)' 'w=randn(2)' 'index=[1,0,1]' -Wno-read-before-write
expect 1 'a wrong gradient as JSON' gradcheck wrong.akg scale "$@" --json
json 'a wrong gradient as JSON'
stdout_has '"input": "w", "ok": false, "elements": 2, "tried": 2, "wrong": 2'
stdout_has '"name":"gradient-wrong"'
expect 0 'a right gradient as JSON' gradcheck right.akg scale "$@" --json
json 'a right gradient as JSON'
stdout_has '"kernel": "scale", "gradients": [{"input": "x", "ok": true, '
assert 'seeds' sh -c '"$0" gradcheck right.akg scale "$@" --json --seed 1 >one; "$0" gradcheck right.akg scale "$@" --json --seed 2 >two; ! cmp -s one two' \
    "$AKGRUN" 'x=[1,2]' 'w=[3]' 'index=[0,0]'

# what is written in place is the output where there is no other one, whatever is differentiated by
cat >inplace.akg <<'PROGRAM'
def scale(x, b):
    for i in range(x.shape[0]):
        x[i] = x[i] * b[i]
    return x


@bprop(scale)
def scale_bprop(x, b, out, dout):
    dx = output_tensor(x.shape, x.dtype)
    db = output_tensor(b.shape, b.dtype)
    for i in range(x.shape[0]):
        dx[i] = dout[i] * b[i]
        db[i] = 1000.0 * dout[i]
    return dx, db
PROGRAM
expect 1 'the gradient of an input beside one in place' gradcheck inplace.akg scale 'x=[1,2,3]' 'b=[2,2,2]' --wrt b
stdout_has 'db WRONG'

refuse() {
    wanted=$1 message=$2
    shift 2
    expect "$wanted" "refused: $message" "$@"
    stderr_has "$message"
    stdout_empty
}
refuse 3 "'plain' has no gradient" gradcheck right.akg plain 'x=[1]'
refuse 2 "'z' is no tensor of the call" gradcheck right.akg scale "$@" --wrt z
refuse 2 "'index' has no gradient" gradcheck right.akg scale "$@" --wrt index
refuse 2 'there is nothing to differentiate by' gradcheck right.akg join
refuse 2 '--tolerance takes a number between 0 and 1' gradcheck right.akg scale "$@" --tolerance 2
refuse 3 'has 1 element' gradcheck right.akg scale 'x=[1,2]' 'w=[1]' 'index=[1,1]'
refuse 3 "'index' is float32, but the kernel takes int32" gradcheck right.akg scale 'x=[1]' 'w=[1]' 'index=[0]:float32'
refuse 3 "--dout: 'y' is float32[2], and its gradient cannot be float32[1]" grad right.akg scale 'x=[1,2]' 'w=[1]' \
    'index=[0,0]' --dout 'y=[1]'
refuse 2 "there is no output 'z'" grad right.akg scale "$@" --dout 'z=[1]'
refuse 2 "--dout: 'y' is given twice" grad right.akg scale "$@" --dout 'y=[1,1,1]' --dout 'y=[2,2,2]'
refuse 2 'a tensor of int64 has no gradient' gradcheck std:argmax 'x=[1,2]'
refuse 2 "'equal' returns no tensor of floats" grad std:equal 'a=[1]' 'b=[2]'
refuse 2 "'akgrun grad' does not take --tolerance" grad right.akg scale "$@" --tolerance 0.1
finish

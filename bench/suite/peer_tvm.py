"""TVM, for peer.py: tensor expressions, mostly of its operator inventory, each stage vectorised along its last axis, a
reduction outside of that, and what is only arithmetic computed where it is used. No tuning: a search for each row would take
minutes, and that of the version this was written with (0.27) crashes."""

import numpy
import tvm
from tvm import te, topi
from tvm.s_tir import Schedule

NAME, VERSION = "tvm", tvm.__version__
LANES = 16
TARGET = tvm.target.Target({"kind": "llvm", "mcpu": tvm.target.codegen.llvm_get_system_cpu()})


def gelu(x):
    return 0.5 * x * (1.0 + topi.erf(x * 0.7071067811865476))


def black_scholes(spot, strike, time):
    s, k, t = spot + 0.5, strike + 0.5, time + 0.25
    spread = 0.3 * topi.sqrt(t)
    d1 = (topi.log(s / k) + 0.065 * t) / spread
    n1 = 0.5 + 0.5 * topi.erf(d1 * 0.7071067811865476)
    n2 = 0.5 + 0.5 * topi.erf((d1 - spread) * 0.7071067811865476)
    return s * n1 - k * topi.exp(-0.02 * t) * n2


def chain(x, y):
    t = (x + y) * 0.5 - x * y
    return t * t + 1.0


def log_sum_exp(x):
    top = topi.max(x, 1, keepdims=True)
    return topi.squeeze(top + topi.log(topi.sum(topi.exp(x - top), 1, keepdims=True)), 1)


def stencil1(x):
    return te.compute((x.shape[0] - 2,), lambda i: 0.25 * x[i] + 0.5 * x[i + 1] + 0.25 * x[i + 2])


def stencil2(x):
    shape = (x.shape[0] - 2, x.shape[1] - 2)
    around = lambda i, j: x[i, j + 1] + x[i + 2, j + 1] + x[i + 1, j] + x[i + 1, j + 2]  # noqa: E731
    return te.compute(shape, lambda i, j: 0.5 * x[i + 1, j + 1] + 0.125 * around(i, j))


def convolution(x, w):
    return topi.squeeze(topi.nn.conv2d_nchw(topi.expand_dims(x, 0), w, 1, 0, 1), 0)


def conv1x1(x, w):
    r = te.reduce_axis((0, x.shape[0]))
    return te.compute((w.shape[0], *x.shape[1:]), lambda f, i, j: te.sum(x[r, i, j] * w[f, r], r))


def depthwise(x, w):
    shape = (x.shape[0], x.shape[1] - 2, x.shape[2] - 2)
    r, s = te.reduce_axis((0, 3)), te.reduce_axis((0, 3))
    return te.compute(shape, lambda c, i, j: te.sum(x[c, i + r, j + s] * w[c, r, s], [r, s]))


def max_pool(x):
    shape = (x.shape[0], x.shape[1] // 2, x.shape[2] // 2)
    r, s = te.reduce_axis((0, 2)), te.reduce_axis((0, 2))
    return te.compute(shape, lambda c, i, j: te.max(x[c, 2 * i + r, 2 * j + s], [r, s]))


def attention(q, k, v):
    return topi.matmul(topi.nn.softmax(topi.matmul(q, k, False, True) * 0.125), v)


def nbody(position, mass):
    n = mass.shape[0]
    r = te.reduce_axis((0, n))
    away = lambda j, i, axis: position[axis, j] - position[axis, i]  # noqa: E731
    scale = te.compute((n, n), lambda i, j: te.rsqrt(sum(away(j, i, axis) * away(j, i, axis) for axis in range(3)) + 0.01))
    force = te.compute((n, n), lambda i, j: mass[j] * scale[i, j] * scale[i, j] * scale[i, j])
    return te.compute((3, n), lambda axis, i: te.sum(force[i, r] * away(r, i, axis), r))


EXPRESSIONS = {
    "square": lambda x: x * x,
    "axpy": lambda x, y: x * 1.5 + y,
    "relu": topi.nn.relu,
    "chain": chain,
    "exp_map": topi.exp,
    "tanh_map": topi.tanh,
    "erf_map": topi.erf,
    "gelu": gelu,
    "black_scholes": black_scholes,
    "total": lambda x: topi.sum(x),
    "dot": lambda x, y: topi.sum(x * y),
    "row_sum": lambda x: topi.sum(x, 1),
    "column_sum": lambda x: topi.sum(x, 0),
    "softmax": topi.nn.softmax,
    "layer_norm": lambda x, weight, bias: topi.nn.layer_norm(x, weight, bias, [1], 1e-5),
    "log_sum_exp": log_sum_exp,
    "argmax": lambda x: topi.argmax(x, 1),
    "transpose": lambda x: topi.transpose(x),
    "gather": lambda x, index: topi.take(x, topi.floor_mod(index, x.shape[0]), 0),
    "stencil1": stencil1,
    "stencil2": stencil2,
    "matmul_nn": topi.matmul,
    "matmul_nt": lambda a, b: topi.matmul(a, b, False, True),
    "matmul_tn": lambda a, b: topi.matmul(a, b, True, False),
    "batched_matmul": lambda a, b: topi.nn.batch_matmul(a, b, transpose_b=False),
    "matmul_bias_gelu": lambda a, b, bias: gelu(topi.matmul(a, b) + bias),
    "attention": attention,
    "conv1x1": conv1x1,
    "conv3x3": convolution,
    "depthwise": depthwise,
    "max_pool": max_pool,
    "nbody": nbody,
}


def vectorised(function):
    """Arithmetic into its users; then each stage's last spatial axis in vectors, inside of what it sums over."""
    schedule = Schedule(function)
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        try:
            schedule.compute_inline(block)
        except Exception:  # a reduction, or a result
            pass
    for block in schedule.get_child_blocks(schedule.get_sblock("root")):
        loops = schedule.get_loops(block)
        kinds = [variable.iter_type for variable in schedule.get(block).iter_vars]
        spatial = [loop for loop, kind in zip(loops, kinds) if kind == 0]
        summed = [loop for loop, kind in zip(loops, kinds) if kind != 0]
        if not spatial or int(schedule.get(spatial[-1]).extent) < LANES:
            continue
        outer, inner = schedule.split(spatial[-1], [None, LANES])
        schedule.reorder(outer, *summed, inner)
        schedule.vectorize(inner)
        if summed:
            schedule.decompose_reduction(block, summed[0])
    return schedule.mod


def prepare(kernel, values, path):
    expression = EXPRESSIONS.get(kernel)
    if not expression:
        return None
    inputs = [te.placeholder(value.shape, str(value.dtype), name) for name, value in values.items()]
    output = expression(*inputs)
    built = tvm.compile(vectorised(te.create_prim_func([*inputs, output])), target=TARGET)["main"]
    shape = tuple(int(extent) for extent in output.shape)
    tensors = [tvm.runtime.tensor(value) for value in values.values()]
    result = tvm.runtime.tensor(numpy.zeros(shape, "int32" if kernel == "argmax" else "float32"))
    function = lambda: built(*tensors, result)  # noqa: E731
    function.result = result
    return function

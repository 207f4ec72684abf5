"""compare.py: random calls of akgrun, compared with numpy. Prints ok/not ok lines and the count that tests/run reads.

Most kernels are those of tests/kernels, each with a formula of numpy's; those without one are compared with themselves,
run by Python (as_python.py). Then come kernels made of random expressions. Tensors go in as .npy
files, in C or in Fortran order, and come back from --out; both backends, --strict, must give the same bits. The seed is fixed
(COMPARE_SEED changes it), so a failure can be repeated.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

import as_python

HERE = os.path.dirname(os.path.abspath(__file__))
KERNELS = os.path.join(os.path.dirname(HERE), "kernels")
FLOATS = ("float16", "float32", "float64")
TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-10}
SEED = int(os.environ.get("COMPARE_SEED", "1"))
counts = {"ok": 0, "not ok": 0}


def report(good, name, *details):
    word = "ok" if good else "not ok"
    counts[word] += 1
    print(f"{word} - {name}")
    for detail in details if not good else ():
        print("#", str(detail).replace("\n", "\n# "))


# ---- calling akgrun ---------------------------------------------------------------------

def call(folder, program, kernel, arguments, backend):
    """The outputs by name, or the text of what went wrong."""
    out = os.path.join(folder, backend)
    command = ["akgrun", "run", program, kernel, "--backend", backend, "--strict", "--out", out]
    for number, (name, value) in enumerate(arguments):
        if isinstance(value, np.ndarray):
            path = os.path.join(folder, f"{number}.npy")
            np.save(path, value)
            value = path
        command.append(f"{name}={value}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        return f"exit status {done.returncode} of {' '.join(command)}\n{done.stderr}"
    return {name[:-4]: np.load(os.path.join(out, name)) for name in os.listdir(out)}


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def difference(got, want, tolerance):
    """What is wrong with an output, or None."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{list(got.shape)}, should be {want.dtype}{list(want.shape)}"
    if got.dtype.kind == "f" and tolerance:
        good = np.allclose(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)
    else:
        good = np.array_equal(got, want, equal_nan=got.dtype.kind == "f")
    return None if good else f"got\n{got}\nshould be\n{want}"


def check(name, program, kernel, arguments, want, tolerance=0.0):
    """`want`: arrays by the names of the outputs."""
    with tempfile.TemporaryDirectory() as folder:
        got = {backend: call(folder, program, kernel, arguments, backend) for backend in ("tcc", "interp")}
    for outcome in got.values():
        if isinstance(outcome, str):
            report(False, name, outcome)
            return
    problems = []
    if sorted(got["tcc"]) != sorted(want):
        problems.append(f"outputs {sorted(got['tcc'])}, should be {sorted(want)}")
    for output in set(want) & set(got["tcc"]):
        problem = difference(got["tcc"][output], want[output], tolerance)
        if problem:
            problems.append(f"{output}: {problem}")
        if not same_bits(got["tcc"][output], got["interp"][output]):
            problems.append(f"{output}: the backends differ")
    shown = [f"{n} = {v!r}" for n, v in arguments]
    report(not problems, name, *problems, *shown)


# ---- random tensors ------------------------------------------------------------------------

class Source:
    """Random tensors of one dtype."""

    def __init__(self, seed, dtype):
        self.random = np.random.default_rng(seed)
        self.dtype = np.dtype(dtype)

    def order(self, array):
        return np.asfortranarray(array) if self.random.integers(2) else array

    def tensor(self, *shape, low=-4.0, high=4.0):
        if self.dtype.kind == "f":
            return self.order(self.random.uniform(low, high, shape).astype(self.dtype))
        if self.dtype.kind == "b":
            return self.order(self.random.integers(0, 2, shape).astype(bool))
        low = max(int(low), 0) if self.dtype.kind == "u" else int(low)
        return self.order(self.random.integers(low, int(high) + 1, shape).astype(self.dtype))

    def bits(self, *shape):
        """Any value of an integer dtype."""
        info = np.iinfo(self.dtype)
        return self.random.integers(info.min, info.max, shape, self.dtype, endpoint=True)

    def index(self, below, *shape, dtype="int32"):
        return self.random.integers(0, below, shape).astype(dtype)

    def mask(self, *shape):
        return self.random.integers(0, 2, shape).astype(bool)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def dominant(s, n):
    """A matrix whose factors are tame."""
    return np.asarray(s.tensor(n, n, low=-1, high=1) + n * np.eye(n, dtype=s.dtype))


def lower(s, n):
    return np.asarray(np.tril(s.tensor(n, n, low=-1, high=1)) + 2 * np.eye(n, dtype=s.dtype))


def lu(a):
    a = a.astype(np.float64)
    for k in range(len(a)):
        a[k + 1:, k] /= a[k, k]
        a[k + 1:, k + 1:] -= np.outer(a[k + 1:, k], a[k, k + 1:])
    return a


def convolution(x, w, stride, pad):
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    view = np.lib.stride_tricks.sliding_window_view(x, w.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("ncijpq,fcpq->nfij", view, w.astype(np.float64))


def scattered(function, x, index, updates):
    x = x.copy()
    function.at(x, index, updates)
    return x


def life(x):
    around = sum(np.roll(x, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - x
    return ((around == 3) | ((around == 2) & (x == 1))).astype(x.dtype)


def layer_norm(x, gamma, beta):
    mean, var = x.mean(1), x.var(1)
    return ((x - mean[:, None]) / np.sqrt(var + 1e-5)[:, None] * gamma + beta, mean, 1 / np.sqrt(var + 1e-5))


def attention(q, k, v, causal):
    score = q @ k.T / np.sqrt(q.shape[1])
    if causal:
        score = np.where(np.tri(*score.shape, dtype=bool), score, -np.inf)
    return softmax(score) @ v


# ---- kernels with formulas -------------------------------------------------------------------
# (file, kernel, dtypes, arguments of a Source, outputs of the arguments). Floats are computed in float64.

ANY = FLOATS + as_python.INTEGERS
WIDE = ("float32", "float64")
SIGNED = FLOATS + ("int8", "int16", "int32", "int64")
FORMULAS = [
    ("grid", "add", ANY, lambda s: dict(a=s.tensor(3, 4, 2), b=s.tensor(3, 4, 2)), lambda a, b: a + b),
    ("grid", "add_first", ANY, lambda s: dict(a=s.tensor(3, 4), b=s.tensor(3)), lambda a, b: a + b[:, None]),
    ("grid", "add_last", ANY, lambda s: dict(a=s.tensor(2, 3, 4), b=s.tensor(4)), lambda a, b: a + b),
    ("grid", "add_trailing", ANY, lambda s: dict(a=s.tensor(2, 3, 4), b=s.tensor(3, 4)), lambda a, b: a + b),
    ("grid", "stack", ANY, lambda s: dict(a=s.tensor(2, 3), b=s.tensor(2, 3)), lambda a, b: np.stack((a, b))),
    ("grid", "flip_first", ANY, lambda s: dict(x=s.tensor(3, 2, 2)), lambda x: x[::-1]),
    ("grid", "transpose_last", ANY, lambda s: dict(x=s.tensor(2, 3, 4)), lambda x: x.swapaxes(1, 2)),
    ("zeros", "sum_first", ANY, lambda s: dict(x=s.tensor(5, 3, 2)), lambda x: x.sum(0)),
    ("zeros", "sum_last", ANY, lambda s: dict(x=s.tensor(4, 6)), lambda x: x.sum(-1)),
    ("zeros", "sum_all", WIDE, lambda s: dict(x=s.tensor(4, 6)), lambda x: x.sum()),
    ("zeros", "matmul_tn", WIDE, lambda s: dict(a=s.tensor(7, 4), b=s.tensor(7, 3)), lambda a, b: a.T @ b),
    ("matmul", "matmul", FLOATS, lambda s: dict(a=s.tensor(5, 7), b=s.tensor(7, 3)), lambda a, b: a @ b),
    ("matmul", "matmul_nt", FLOATS, lambda s: dict(a=s.tensor(5, 7), b=s.tensor(3, 7)), lambda a, b: a @ b.T),
    ("matmul", "matmul_tt", WIDE, lambda s: dict(a=s.tensor(7, 5), b=s.tensor(3, 7)), lambda a, b: a.T @ b.T),
    ("matmul", "matmul_any", FLOATS, lambda s: dict(a=s.tensor(7, 5), b=s.tensor(3, 7), trans_a=True, trans_b=True),
     lambda a, b, **_: a.T @ b.T),
    ("matmul", "batch_matmul", FLOATS, lambda s: dict(a=s.tensor(2, 3, 4, 5), b=s.tensor(2, 3, 5, 2)), lambda a, b: a @ b),
    ("matmul", "blocked", ANY, lambda s: dict(a=s.tensor(5, 7), b=s.tensor(7, 3), block=3), lambda a, b, **_: a @ b),
    ("matmul", "kron", ANY, lambda s: dict(a=s.tensor(2, 3), b=s.tensor(3, 2)), lambda a, b: np.kron(a, b)),
    ("matmul", "outer", ANY, lambda s: dict(a=s.tensor(6), b=s.tensor(5)), lambda a, b: np.outer(a, b)),
    ("matmul", "attention", ("float32",), lambda s: dict(q=s.tensor(6, 4), k=s.tensor(6, 4), v=s.tensor(6, 3), causal=False), attention),
    ("matmul", "attention", ("float32",), lambda s: dict(q=s.tensor(6, 4), k=s.tensor(6, 4), v=s.tensor(6, 3), causal=True), attention),
    ("lu", "lu", WIDE, lambda s: dict(a=dominant(s, 8)), lu),
    ("lu", "lu_grid", WIDE, lambda s: dict(a=dominant(s, 8)), lu),
    ("lu", "solve_lower", WIDE, lambda s: dict(a=lower(s, 9), b=s.tensor(9)), np.linalg.solve),
    ("lu", "solve_upper", WIDE, lambda s: dict(a=lower(s, 9).T.copy(), b=s.tensor(9)), np.linalg.solve),
    ("lu", "trsm", WIDE, lambda s: dict(a=lower(s, 6), b=s.tensor(6, 16)), np.linalg.solve),
    ("lu", "cholesky", WIDE, lambda s: dict(a=(lambda m: m @ m.T)(lower(s, 6))), np.linalg.cholesky),
    ("lu", "inverse", WIDE, lambda s: dict(a=dominant(s, 6)), np.linalg.inv),
    ("lu", "determinant", WIDE, lambda s: dict(a=dominant(s, 4)), np.linalg.det),
    ("softmax", "softmax", FLOATS, lambda s: dict(x=s.tensor(4, 9)), softmax),
    ("softmax", "softmax_last", FLOATS, lambda s: dict(x=s.tensor(2, 3, 5)), softmax),
    ("softmax", "online_softmax", WIDE, lambda s: dict(x=s.tensor(4, 9)), softmax),
    ("softmax", "log_softmax", WIDE, lambda s: dict(x=s.tensor(4, 9)), lambda x: np.log(softmax(x))),
    ("softmax", "cross_entropy", WIDE, lambda s: dict(x=s.tensor(5, 4), target=s.index(4, 5)),
     lambda x, target: -np.log(softmax(x))[np.arange(5), target].mean()),
    ("norms", "layer_norm", WIDE, lambda s: dict(x=s.tensor(4, 8), gamma=s.tensor(8), beta=s.tensor(8)), layer_norm),
    ("norms", "rms_norm", WIDE, lambda s: dict(x=s.tensor(4, 8), weight=s.tensor(8)),
     lambda x, weight: x / np.sqrt((x ** 2).mean(1, keepdims=True) + 1e-6) * weight),
    ("norms", "l2_normalize", WIDE, lambda s: dict(x=s.tensor(4, 8)), lambda x: x / np.sqrt((x ** 2).sum())),
    ("gather", "gather", ANY, lambda s: dict(x=s.tensor(5, 3, 2), index=s.index(5, 7)), lambda x, index: x[index]),
    ("gather", "gather_along", ANY, lambda s: dict(x=s.tensor(4, 6), index=s.index(6, 4, 3, dtype="int64")),
     lambda x, index: np.take_along_axis(x, index, 1)),
    ("gather", "gather_nd", ANY, lambda s: dict(x=s.tensor(4, 4, 4), index=s.index(4, 6, 3, dtype="uint8")),
     lambda x, index: x[tuple(index.T)]),
    ("gather", "scatter_add", ANY, lambda s: dict(x=s.tensor(5, 3), index=s.index(5, 9), updates=s.tensor(9, 3)),
     lambda x, index, updates: scattered(np.add, x, index, updates)),
    ("gather", "scatter_max", ANY, lambda s: dict(x=s.tensor(5), index=s.index(5, 9), updates=s.tensor(9)),
     lambda x, index, updates: scattered(np.maximum, x, index, updates)),
    ("gather", "one_hot", ("float32",), lambda s: dict(index=s.index(4, 3, 2), depth=4), lambda index, depth: np.eye(4)[index]),
    ("gather", "permute", ANY, lambda s: dict(x=s.tensor(8), order=s.random.permutation(8)),
     lambda x, order: x[np.argsort(order)]),
    ("zeros", "bincount", ("int32",), lambda s: dict(x=s.index(6, 20), n=6), lambda x, n: np.bincount(x, minlength=6)),
    ("conv", "conv2d", WIDE, lambda s: dict(x=s.tensor(2, 3, 7, 6), w=s.tensor(4, 3, 3, 2), stride=2, pad=1), convolution),
    ("conv", "conv2d", ("float64",), lambda s: dict(x=s.tensor(1, 2, 5, 5), w=s.tensor(1, 2, 3, 3), stride=1, pad=3), convolution),
    ("conv", "conv1d_bounds", WIDE, lambda s: dict(x=s.tensor(9), w=s.tensor(4), pad=2),
     lambda x, w, pad: np.correlate(np.pad(x, pad), w, "valid")),
    ("zeros", "conv_transpose", WIDE, lambda s: dict(x=s.tensor(5), w=s.tensor(4)),
     lambda x, w: np.convolve(np.kron(x, [1, 0])[:-1], w)),
    ("conv", "pad_reflect", ANY, lambda s: dict(x=s.tensor(7), pad=3), lambda x, pad: np.pad(x, pad, "reflect")),
    ("pooling", "max_pool", ANY, lambda s: dict(x=s.tensor(8, 6)), lambda x: x.reshape(4, 2, 3, 2).max((1, 3))),
    ("pooling", "global_average", WIDE, lambda s: dict(x=s.tensor(2, 3, 4, 5)), lambda x: x.mean((2, 3))),
    ("triangular", "tril", ANY, lambda s: dict(x=s.tensor(6, 4), k=-1), lambda x, k: np.tril(x, k)),
    ("triangular", "triu", ANY, lambda s: dict(x=s.tensor(6, 4)), np.triu),
    ("triangular", "prefix_sum", ANY, lambda s: dict(x=s.tensor(9)), np.cumsum),
    ("triangular", "prefix_sum_in_place", ANY, lambda s: dict(x=s.tensor(9)), np.cumsum),
    ("triangular", "suffix_max", ANY, lambda s: dict(x=s.tensor(9)), lambda x: np.maximum.accumulate(x[::-1])[::-1]),
    ("triangular", "pairwise", WIDE, lambda s: dict(x=s.tensor(5, 3)), lambda x: ((x[:, None] - x) ** 2).sum(-1)),
    ("masks", "where", ANY, lambda s: dict(mask=s.mask(3, 4), a=s.tensor(3, 4), b=s.tensor(3, 4)), np.where),
    ("masks", "compare", ANY, lambda s: dict(a=s.tensor(12), b=s.tensor(12)),
     lambda a, b: np.stack((a < b, a <= b, a > b, a >= b, a == b, a != b))),
    ("masks", "logic", ("bool",), lambda s: dict(a=s.tensor(12), b=s.tensor(12)),
     lambda a, b: np.stack((a & b, a | b, ~a, a ^ b, a == b))),
    ("sorting", "bubble_sort", ANY, lambda s: dict(x=s.tensor(12)), np.sort),
    ("sorting", "insertion_sort", ANY, lambda s: dict(x=s.tensor(12)), np.sort),
    ("sorting", "selection_sort", ANY, lambda s: dict(x=s.tensor(12)), np.sort),
    ("sorting", "bitonic_sort", ANY, lambda s: dict(x=s.tensor(16)), np.sort),
    ("sorting", "rank_sort", ANY, lambda s: dict(x=s.tensor(12)), np.sort),
    ("sorting", "argsort", ANY, lambda s: dict(x=s.tensor(12)), lambda x: np.argsort(x, kind="stable")),
    ("sorting", "merge", ANY, lambda s: dict(a=np.sort(s.tensor(6)), b=np.sort(s.tensor(5))),
     lambda a, b: np.sort(np.concatenate((a, b)))),
    ("control", "binary_search", ANY, lambda s: dict(x=np.sort(s.tensor(12)), key=s.tensor(7)), np.searchsorted),
    ("dynamic", "floyd_warshall", WIDE, lambda s: dict(d=s.tensor(6, 6, low=0.1, high=9)), None),
    ("stencils", "life", ("uint8", "int32"), lambda s: dict(x=s.index(2, 7, 6, dtype=s.dtype)), life),
    ("signal", "dft", ("float64",), lambda s: dict(re=s.tensor(12), im=s.tensor(12)),
     lambda re, im: (lambda f: (f.real, f.imag))(np.fft.fft(re + 1j * im))),
    ("signal", "fir", WIDE, lambda s: dict(x=s.tensor(12), taps=s.tensor(4)), lambda x, taps: np.convolve(x, taps)[:12]),
    ("signal", "correlate", WIDE, lambda s: dict(x=s.tensor(8), y=s.tensor(8)), lambda x, y: np.correlate(x, y, "full")),
    ("integers", "floor_div", as_python.INTEGERS, lambda s: dict(a=s.bits(40), b=s.bits(40) | s.dtype.type(1)),
     lambda a, b: (a // b, a % b)),
    ("integers", "wrap", as_python.INTEGERS, lambda s: dict(a=s.bits(40), b=s.bits(40)),
     lambda a, b: np.stack((a + b, a - b, a * b))),
    ("integers", "bits", as_python.INTEGERS, lambda s: dict(a=s.bits(40), b=s.bits(40)),
     lambda a, b: np.stack((a & b, a | b, a ^ b, ~a))),
    ("integers", "shifts", as_python.INTEGERS, lambda s: dict(a=s.bits(40), b=s.bits(40)),
     lambda a, b: (a << (b & (8 * a.itemsize - 1)), a >> (b & (8 * a.itemsize - 1)))),
    ("integers", "popcount_by_hand", ("uint32",), lambda s: dict(x=s.bits(40)), lambda x: np.stack([np.bitwise_count(x)] * 2)),
    ("integers", "gcd", ("int16", "int32", "int64"), lambda s: dict(a=s.tensor(20, low=-99, high=99), b=s.tensor(20, low=-99, high=99)), np.gcd),
    ("integers", "constant_div", ("int8", "int16", "int32", "int64"), lambda s: dict(x=s.bits(40)),
     lambda x: np.stack((x // 4, x % 4, x // -3, x % -3, x // 7, x % 7))),
    ("integers", "isqrt", ("int64",), lambda s: dict(x=s.random.integers(0, 2 ** 31, 40)), lambda x: np.floor(np.sqrt(x))),
]
# Kernels that are compared with themselves as Python.
AS_PYTHON = [
    ("lu", "lu_pivot", WIDE, lambda s: dict(a=s.tensor(6, 6))),
    ("norms", "batch_norm", WIDE, lambda s: dict(x=s.tensor(3, 2, 2, 3), running_mean=s.tensor(2), running_var=s.tensor(2))),
    ("pooling", "avg_pool_padded", WIDE, lambda s: dict(x=s.tensor(7, 6))),
    ("pooling", "max_pool_index", ANY, lambda s: dict(x=s.tensor(12), size=3)),
    ("pooling", "adaptive_pool", WIDE, lambda s: dict(x=s.tensor(11), out=4)),
    ("conv", "depthwise", WIDE, lambda s: dict(x=s.tensor(2, 7, 6), w=s.tensor(2, 2, 3), dilation=2)),
    ("conv", "upsample", ANY, lambda s: dict(x=s.tensor(2, 3, 2, 2), scale_h=2, scale_w=3)),
    ("control", "mandelbrot", WIDE, lambda s: dict(re=s.tensor(30, low=-2, high=1), im=s.tensor(30, low=-1, high=1))),
    ("control", "newton_sqrt", WIDE, lambda s: dict(x=s.tensor(9, low=0.1, high=9))),
    ("control", "run_length", ANY, lambda s: dict(x=s.tensor(20, low=0, high=2))),
    ("control", "elif_chain", WIDE, lambda s: dict(x=s.tensor(20))),
    ("dynamic", "knapsack", ("int32",), lambda s: dict(weight=s.index(6, 5), value=s.index(20, 5), capacity=12)),
    ("dynamic", "edit_distance", ("uint8",), lambda s: dict(a=s.index(3, 7, dtype="uint8"), b=s.index(3, 9, dtype="uint8"))),
    ("dynamic", "longest_increasing", ANY, lambda s: dict(x=s.tensor(14))),
    ("dynamic", "max_subarray", ANY, lambda s: dict(x=s.tensor(14))),
    ("finance", "black_scholes", WIDE, lambda s: dict(spot=s.tensor(6, low=80, high=120), strike=s.tensor(6, low=80, high=120),
                                                      years=s.tensor(6, low=0.2, high=3))),
    ("finance", "dropout", ("float32",), lambda s: dict(x=s.tensor(40), seed=7)),
    ("outputs", "adam", WIDE, lambda s: dict(param=s.tensor(3, 4), m=s.tensor(3, 4), v=s.tensor(3, 4, low=0, high=1), grad=s.tensor(3, 4))),
    ("outputs", "mixed", ANY, lambda s: dict(a=s.tensor(9), b=s.tensor(9))),
    ("outputs", "swap", ANY, lambda s: dict(a=s.tensor(9), b=s.tensor(9))),
    ("outputs", "argmax", ANY, lambda s: dict(x=s.tensor(5, 6))),
    ("scalars", "kahan", FLOATS, lambda s: dict(x=s.tensor(30))),
    ("scalars", "welford", FLOATS, lambda s: dict(x=s.tensor(30))),
    ("scalars", "branches", SIGNED, lambda s: dict(x=s.tensor(30))),
    ("slices", "shift_right", ANY, lambda s: dict(x=s.tensor(9))),
    ("slices", "copy_block", ANY, lambda s: dict(x=s.tensor(5, 6))),
    ("slices", "reverse_in_rows", ANY, lambda s: dict(x=s.tensor(5, 6))),
    ("stencils", "gauss_seidel", FLOATS, lambda s: dict(x=s.tensor(5, 6))),
    ("stencils", "jacobi", FLOATS, lambda s: dict(x=s.tensor(5, 6), steps=3)),
    ("half", "ops", FLOATS, lambda s: dict(a=s.tensor(30), b=s.tensor(30))),
    ("half", "sum_narrow", FLOATS, lambda s: dict(x=s.tensor(30))),
    ("integers", "hash32", ("uint32",), lambda s: dict(x=s.bits(30))),
    ("integers", "reverse_bits", ("uint32",), lambda s: dict(x=s.bits(30))),
    ("integers", "averages", ("uint8",), lambda s: dict(a=s.bits(30), b=s.bits(30))),
    ("integers", "floor_div", FLOATS, lambda s: dict(a=s.tensor(30), b=s.tensor(30))),
    ("intrinsics", "integer_ones", as_python.INTEGERS, lambda s: dict(a=s.bits(30), b=s.bits(30) | s.dtype.type(1))),
    ("intrinsics", "trigonometry", FLOATS, lambda s: dict(x=s.tensor(30, low=-0.99, high=0.99))),
    ("intrinsics", "exponentials", FLOATS, lambda s: dict(x=s.tensor(30, low=0.1, high=8))),
    ("intrinsics", "special", FLOATS, lambda s: dict(x=s.tensor(30))),
    ("intrinsics", "two", FLOATS, lambda s: dict(a=s.tensor(30, low=0.1, high=3), b=s.tensor(30))),
    ("casts", "rounding", FLOATS, lambda s: dict(x=s.tensor(30))),
] + [("casts", f"to_{to}", ANY + ("bool",), lambda s: dict(x=s.bits(12) if s.dtype.kind in "iu" else s.tensor(12, low=-300, high=300)))
     for to in ("int8", "uint8", "int32", "int64", "uint64", "float32", "float64", "bool")]


def rotating(dtypes, number):
    """Three of many dtypes, others for each kernel: all of them meet all kinds of kernels."""
    return dtypes if len(dtypes) <= 3 else [dtypes[(number + 4 * k) % len(dtypes)] for k in range(3)]


def widened(value):
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def check_formulas():
    for number, (file, kernel, dtypes, make, formula) in enumerate(FORMULAS):
        program = as_python.load(os.path.join(KERNELS, file + ".akg"))
        for dtype in rotating(dtypes, number):
            arguments = make(Source((SEED, number), dtype))
            if formula is None:
                check_python(file, kernel, dtype, arguments)
                continue
            kinds = output_dtypes(program, kernel, arguments)
            with np.errstate(all="ignore"):
                outputs = formula(**{n: widened(v) for n, v in arguments.items()}) if named(formula) else \
                    formula(*[widened(v) for v in arguments.values()])
                outputs = outputs if isinstance(outputs, tuple) else (outputs,)
                want = {n: np.asarray(o).astype(kinds[n]) for n, o in zip(program.result_names(kernel), outputs)}
            check(f"{kernel} {dtype}", program.path, kernel, list(arguments.items()), want, TOLERANCE.get(dtype, 0.0))


def named(formula):
    """Our own functions take the arguments by name; numpy's take them in order."""
    return formula.__module__ == __name__ and formula not in (softmax, lu, life, convolution, attention, layer_norm)


def output_dtypes(program, kernel, arguments):
    return {name: dtype for name, _, dtype in run_python(program, kernel, arguments)}


def run_python(program, kernel, arguments):
    return program.run(kernel, {n: (v, v.dtype.name) if isinstance(v, np.ndarray) else v for n, v in arguments.items()})


def check_python(file, kernel, dtype, arguments):
    program = as_python.load(os.path.join(KERNELS, file + ".akg"))
    want = {name: array for name, array, _ in run_python(program, kernel, arguments)}
    check(f"{kernel} {dtype}", program.path, kernel, list(arguments.items()), want, TOLERANCE.get(dtype, 0.0) / 10)


def check_as_python():
    for number, (file, kernel, dtypes, make) in enumerate(AS_PYTHON):
        for dtype in rotating(dtypes, number):
            check_python(file, kernel, dtype, make(Source((SEED, 1000 + number), dtype)))


# ---- random expressions --------------------------------------------------------------------------

class Writer:
    """Random expressions over a[i], b[i], a scalar v, the loop variable and numbers; each operation rounds on its own,
    so that the bits must be those of numpy."""

    def __init__(self, seed, dtype):
        self.random = np.random.default_rng(seed)
        self.dtype = np.dtype(dtype)
        self.integer = self.dtype.kind in "iu"

    def pick(self, *choices):
        return choices[self.random.integers(len(choices))]

    def number(self):
        return str(self.random.integers(0, 100)) if self.integer else repr(float(self.random.integers(0, 64)) / 8)

    def leaf(self):
        return self.pick("a[i]", "b[i]", "a[n - 1 - i]", "v", "v", self.number())

    def condition(self, depth):
        text = f"{self.typed(depth)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self.expression(depth)}"
        return self.pick(text, text, f"not {text}", f"({text} and a[i] < b[i])", f"({text} or i % 3 == 1)",
                         f"(i - 5) // 2 < {self.random.integers(-3, 3)}")

    def typed(self, depth):
        return f"({self.expression(depth)} + {self.pick('a[i]', 'b[i]', 'v')})"

    def expression(self, depth):
        if depth == 0:
            return self.leaf()
        x, y = self.typed(depth - 1), self.expression(depth - 1)
        common = [f"({x} {self.pick('+', '-', '*')} {y})", f"max({x}, {y})", f"min({x}, {y})", f"(-{x})",
                  f"({x} if {self.condition(depth - 1)} else {self.typed(depth - 1)})"]
        if self.integer:
            own = [f"({x} // ({self.typed(depth - 1)} | 1))", f"({x} % ({self.typed(depth - 1)} | 1))", f"({x} // 7)",
                   f"({x} % 5)", f"({x} {self.pick('&', '|', '^')} {y})", f"(~{x})", f"({x} << {self.pick('2', 'b[i]')})",
                   f"({x} >> {self.pick('1', 'b[i]')})", f"popcount({x})", f"({x} ** 2)"]
        else:
            own = [f"abs({x})", f"sqrt(abs({x}))", f"floor({x})", f"trunc({x})", f"round({x})", f"({x} / {y})"]
        return self.pick(*common, *own)

    def kernel(self, name):
        lines = [f"def {name}(a, b):", "    n = a.shape[0]", "    y = output_tensor(a.shape, a.dtype)",
                 f"    v = {self.pick('a[0]', 'b[n - 1]')}", "    for i in range(n):"]
        if self.random.integers(2):
            lines.append(f"        v = {self.typed(1)}")
        if self.random.integers(2):
            lines += [f"        if {self.condition(1)}:", f"            v {self.pick('+=', '-=')} {self.expression(2)}"]
        if self.random.integers(3) == 0:
            lines += ["        else:" if lines[-1].startswith("            ") else "        for k in range(i, n, 2):",
                      f"            v = {self.typed(1)}"]
        lines += [f"        y[i] = {self.typed(3)}", "    return y", "", ""]
        return lines


def check_expressions(kernels):
    with tempfile.TemporaryDirectory() as folder:
        for number, dtype in enumerate(ANY):
            writer = Writer((SEED, 2000 + number), dtype)
            path = os.path.join(folder, dtype + ".akg")
            with open(path, "w", encoding="utf-8") as file:
                for k in range(kernels):
                    file.write("\n".join(writer.kernel(f"f{k}")) + "\n")
            source = Source((SEED, 3000 + number), dtype)
            program = as_python.load(path)
            for k in range(kernels):
                make = source.bits if writer.integer else source.tensor
                arguments = dict(a=make(11), b=make(11))
                want = {name: array for name, array, _ in run_python(program, f"f{k}", arguments)}
                before = counts["not ok"]
                check(f"expression {k} of {dtype}", path, f"f{k}", list(arguments.items()), want)
                if counts["not ok"] > before:
                    with open(path, encoding="utf-8") as file:
                        print("#", file.read().split("\n\n\n")[k].replace("\n", "\n# "))


def main():
    check_formulas()
    check_as_python()
    check_expressions(8)
    print(f"{counts['ok']} passed, {counts['not ok']} failed")
    return counts["not ok"] != 0


sys.exit(main())

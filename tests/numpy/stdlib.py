"""stdlib.py: the cases of tests/stdlib/operators.def, with float32 and float64, compared with numpy's or PyTorch's functions.

Prints ok/not ok lines and the count that tests/run reads, and which operators were skipped for want of PyTorch.
"""
import os
import re
import subprocess
import tempfile
import warnings
from math import erf

import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(os.path.dirname(HERE), "stdlib", "operators.def")
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}
BITS = ("int32", "uint8", "bool")  # what numbers without a point are tried as
random = np.random.default_rng(1)
warnings.simplefilter("ignore")  # of means of nothing
counts = {"ok": 0, "not ok": 0}


def axes_of(axes):
    return tuple(axes) if axes else None


def reduced(function):
    return lambda x, axes=(), keepdims=False, **rest: function(x, axis=axes_of(axes), keepdims=keepdims, **rest)


def sliced(x, starts, stops, steps=()):
    steps = tuple(steps) + (1,) * (len(starts) - len(steps))
    return x[tuple(slice(*part) for part in zip(starts, stops, steps))]


def softmax(x, axis=-1):
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def swapped(x, yes):
    return np.swapaxes(x, -1, -2) if yes else x


def scattered(x, index, source, axis):
    y = x.copy()
    for place in np.ndindex(index.shape):
        at = list(place)
        at[axis] = index[place]
        y[tuple(at)] += source[place]
    return y


def tensors(function):
    """A function of PyTorch, on arrays."""
    def apply(**arguments):
        given = {k: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        return function(**given).numpy()
    apply.needs_torch = True
    return apply


NUMPY = {name: getattr(np, name) for name in (
    "add subtract multiply divide floor_divide remainder power maximum minimum equal not_equal less less_equal greater"
    " greater_equal logical_and logical_or bitwise_and bitwise_or bitwise_xor").split()}
NUMPY = {name: (lambda a, b, f=f: f(a, b)) for name, f in NUMPY.items()}
NUMPY |= {name: (lambda x, f=getattr(np, name): f(x)) for name in (
    "exp log sqrt sin cos tanh abs sign logical_not bitwise_not").split()}
NUMPY |= {
    "neg": lambda x: -x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": lambda x: np.vectorize(erf, otypes=[x.dtype])(x),
    "where": lambda condition, a, b: np.where(condition, a, b),
    "cast": lambda x, dtype="float32": x.astype(dtype),
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x, slope=0.01: np.where(x > 0, x, x * x.dtype.type(slope)),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.logaddexp(x, x.dtype.type(0)),
    "sum": reduced(np.sum), "mean": reduced(np.mean), "max": reduced(np.max), "min": reduced(np.min),
    "var": lambda x, axes=(), keepdims=False, correction=0: np.var(x, axis=axes_of(axes), keepdims=keepdims, ddof=correction),
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": lambda x, axes=(): np.transpose(x, axes_of(axes)),
    "concat": lambda axis, xs: np.concatenate(xs, axis),
    "slice": sliced,
    "pad": lambda x, before, after, value=0: np.pad(x, list(zip(before, after)), constant_values=value),
    "matmul": lambda a, b, transpose_a=False, transpose_b=False: swapped(a, transpose_a) @ swapped(b, transpose_b),
    "linear": lambda x, weight, bias=0: x @ weight.T + bias,
    "outer": lambda a, b: np.outer(a, b),
    "softmax": softmax,
    "log_softmax": lambda x, axis=-1: np.log(softmax(x, axis)),
    "mse": lambda x, target: np.mean((x - target) ** 2),
    "embedding": lambda weight, index: weight[index.astype(int)],
    "gather": lambda x, index, axis: np.take_along_axis(x, index.astype(int), axis),
    "scatter_add": scattered,
    "one_hot": lambda index, depth, dtype="float32": np.eye(depth, dtype=dtype)[index.astype(int)],
    "rms_norm": lambda x, weight=1, eps=1e-6: x / np.sqrt(np.mean(x * x, -1, keepdims=True) + x.dtype.type(eps)) * weight,
    "gelu": tensors(lambda x, approximate="none": F.gelu(x, approximate=approximate)),
    "cross_entropy": tensors(lambda x, target: F.cross_entropy(x, target.long())),
    "layer_norm": tensors(lambda x, weight=None, bias=None, eps=1e-5: F.layer_norm(x, x.shape[-1:], weight, bias, eps)),
    "conv2d": tensors(lambda x, weight, bias=None, **rest: F.conv2d(x, weight, bias, **rest)),
    "max_pool2d": tensors(lambda x, size=(2, 2), stride=None, padding=0: F.max_pool2d(x, size, stride, padding)),
    "avg_pool2d": tensors(lambda x, size=(2, 2), stride=None, padding=0: F.avg_pool2d(x, size, stride, padding)),
    "scaled_dot_product_attention": tensors(lambda query, key, value, mask=None, causal=False, scale=None:
                                            F.scaled_dot_product_attention(query, key, value, mask, 0.0, causal, scale=scale)),
}


def value_of(text, dtype):
    """A value of the table, as akgrun reads it."""
    text = text.lstrip("!")
    text, _, own = text.partition(":")
    made = re.fullmatch(r"(randn|rand|zeros|ones|arange)\((.*)\)", text)
    if made:
        shape = [int(extent) for extent in made[2].split(",")]
        make = {"randn": random.standard_normal, "rand": random.random, "zeros": np.zeros, "ones": np.ones,
                "arange": lambda shape: np.arange(shape[0])}[made[1]]
        return np.asarray(make(shape), dtype=own or dtype)
    if text.startswith("["):
        return np.array(eval(text, {"__builtins__": {}, "nan": np.nan}), dtype=own or dtype)
    try:
        return eval(text, {"__builtins__": {}})
    except NameError:
        return text


def arguments_of(case, name, dtype):
    arguments = {}
    for word in case.split():
        key, text = word.split("=", 1)
        value = value_of(text, dtype)
        if key in ("a", "b", "x") and not isinstance(value, np.ndarray):
            value = np.array(value, dtype=dtype)
        if key == "xs":
            arguments.setdefault(key, []).append(value)
        else:
            arguments[key] = value
    return arguments


def call(folder, name, arguments):
    command = ["akgrun", "run", "std:" + name, "--out", os.path.join(folder, "out")]
    number = 0
    for key, value in arguments.items():
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, np.ndarray):
                number += 1
                path = os.path.join(folder, f"{number}.npy")
                np.save(path, item)
                item = path
            command.append(f"{key}={item}".replace(" ", ""))
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        return None, done.stderr
    out = os.path.join(folder, "out")
    return [np.load(os.path.join(out, file)) for file in os.listdir(out)], ""


def compare(name, case, dtype):
    arguments = arguments_of(case, name, dtype)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        try:
            want = np.asarray(NUMPY[name](**arguments))
        except RuntimeError as refused:  # PyTorch has no windows that leave nothing
            print(f"skipped: {name} {case.strip()} ({dtype}): PyTorch: {str(refused).splitlines()[0]}")
            return
        got, why = call(folder, name, arguments)
    good = got is not None and len(got) == 1 and got[0].shape == want.shape and np.allclose(
        got[0].astype(float), want.astype(float), TOLERANCE.get(dtype, 0), TOLERANCE.get(dtype, 0), equal_nan=True)
    counts["ok" if good else "not ok"] += 1
    print(f"{'ok' if good else 'not ok'} - {name} {case.strip()} ({dtype})")
    if not good:
        print("#", why.replace("\n", "\n# ") or f"{got} should be {want}".replace("\n", " "))


def main():
    skipped = []
    for name, dtypes, cases in re.findall(r'^OPERATOR\((\w+), (\w+), .*?, "(.*?)", ".*"\)$', open(TABLE).read(), re.M):
        function = NUMPY.get(name)
        if not function or (torch is None and getattr(function, "needs_torch", False)):
            skipped += [name] if function else []
            continue
        for case in cases.split(";"):
            for dtype in BITS if dtypes == "BITS" else TOLERANCE:
                compare(name, case, dtype)
    if skipped:
        print("skipped: PyTorch is not installed:", ", ".join(skipped))
    print(f"{counts['ok']} passed, {counts['not ok']} failed")


if __name__ == "__main__":
    main()

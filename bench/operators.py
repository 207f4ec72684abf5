"""The calls of bench/operators.c by numpy and PyTorch, each where it is installed, on one thread.

The first line says which are there. Then, for each line "operator TAB call" on standard input, a line with two times in
microseconds, medians; 0 where one is missing or has no such function. What could not be run is told at the end.
"""
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "numpy"))
try:
    import numpy as np
    import stdlib
except ImportError:
    print("skipped: python3 has no numpy, so neither numpy nor PyTorch is compared with", flush=True)
    sys.exit(0)
try:
    import torch
    import torch.nn.functional as F
    torch.set_num_threads(1)
except ImportError:
    torch = None

SECONDS = 0.1
LOOPS = {"scatter_add", "erf"}  # in numpy only by a loop in Python, which says nothing


def torch_table():
    """Operators by the functions of PyTorch, with the names of the standard library's parameters."""
    names = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "floor_divide": "floor_divide",
             "remainder": "remainder", "power": "pow", "maximum": "maximum", "minimum": "minimum", "equal": "eq",
             "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge",
             "logical_and": "logical_and", "logical_or": "logical_or",
             "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "outer": "outer"}
    table = {name: (lambda a, b, f=getattr(torch, other): f(a, b)) for name, other in names.items()}
    table |= {name: (lambda x, f=getattr(torch, name): f(x)) for name in
              "neg exp log sqrt rsqrt sin cos tanh erf abs sign relu sigmoid logical_not bitwise_not".split()}
    table |= {name: (lambda x, axes, f=getattr(torch, name): f(x, axes)) for name in ("sum", "mean")}
    table |= {
        "var": lambda x, axes: torch.var(x, axes, correction=0),
        "max": lambda x, axes: torch.amax(x, axes), "min": lambda x, axes: torch.amin(x, axes),
        "argmax": lambda x, axes: torch.argmax(x, axes[0]),
        "where": lambda condition, a, b: torch.where(condition, a, b),
        "cast": lambda x, dtype: x.to(getattr(torch, dtype)),
        "leaky_relu": lambda x: F.leaky_relu(x), "silu": lambda x: F.silu(x), "softplus": lambda x: F.softplus(x),
        "gelu": lambda x: F.gelu(x),
        "reshape": lambda x, shape: x.reshape(shape).clone(),
        "flatten_rows": lambda x: x.reshape(-1, x.shape[-1]).clone(),
        "unflatten_rows": lambda x, shape: x.reshape(shape).clone(),
        "transpose": lambda x: x.T.contiguous(),
        "concat": lambda axis, xs: torch.cat(xs, axis),
        "slice": lambda x, starts, stops: stdlib.sliced(x, starts, stops).contiguous(),
        "pad": lambda x, before, after: F.pad(x, (before[1], after[1], before[0], after[0])),
        "matmul": lambda a, b: a @ b,
        "linear": lambda x, weight, bias: F.linear(x, weight, bias),
        "softmax": lambda x: F.softmax(x, -1), "log_softmax": lambda x: F.log_softmax(x, -1),
        "cross_entropy": lambda x, target: F.cross_entropy(x, target),
        "mse": lambda x, target: F.mse_loss(x, target),
        "embedding": lambda weight, index: F.embedding(index, weight),
        "gather": lambda x, index, axis: torch.gather(x, axis, index),
        "scatter_add": lambda x, index, source, axis: torch.scatter_add(x, axis, index, source),
        "one_hot": lambda index, depth: F.one_hot(index, depth).float(),
        "layer_norm": lambda x, weight, bias: F.layer_norm(x, x.shape[-1:], weight, bias),
        "batch_norm": lambda x, weight, bias, running_mean, running_var:
            F.batch_norm(x, running_mean, running_var, weight, bias, True),
        "conv2d": lambda x, weight, bias, padding: F.conv2d(x, weight, bias, padding=padding),
        "max_pool2d": lambda x: F.max_pool2d(x, 2), "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
        "scaled_dot_product_attention": lambda query, key, value: F.scaled_dot_product_attention(query, key, value),
        "dropout": lambda x, seed: F.dropout(x),
    }
    return table


def to_torch(value):
    if isinstance(value, list):
        return [to_torch(item) for item in value]
    return torch.from_numpy(value) if isinstance(value, np.ndarray) else value


def median_time(function, arguments):
    """Microseconds of one call."""
    function(**arguments)
    samples, end = [], time.perf_counter() + SECONDS
    while time.perf_counter() < end or len(samples) < 5:
        start = time.perf_counter_ns()
        function(**arguments)
        samples.append(time.perf_counter_ns() - start)
    return statistics.median(samples) / 1e3


def timed(peer, table, name, arguments, left_out):
    function = table.get(name)
    if function is None or (peer == "numpy" and (name in LOOPS or getattr(function, "needs_torch", False))):
        return 0
    try:
        return median_time(function, arguments)
    except Exception as refused:  # of another version, with another signature
        left_out.append(f"{peer}: {name}: {str(refused).splitlines()[0]}")
        return 0


def main():
    there = [f"numpy {np.__version__}"] + ([f"PyTorch {torch.__version__}"] if torch else [])
    print("beside", ", ".join(there) + ("" if torch else "; skipped: PyTorch, which python3 does not have"), flush=True)
    tables, left_out = [stdlib.NUMPY, torch_table() if torch else {}], []
    for line in sys.stdin:
        name, case = line.rstrip("\n").split("\t")
        arguments = stdlib.arguments_of(case, name, "float32")
        times = [timed("numpy", tables[0], name, arguments, left_out)]
        times.append(timed("PyTorch", tables[1], name, {k: to_torch(v) for k, v in arguments.items()}, left_out)
                     if torch else 0)
        print(*times, flush=True)
    for line in left_out:
        print("not run:", line)


main()

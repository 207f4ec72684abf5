"""numexpr, for peer.py: elementwise kernels only."""

import numexpr

NAME, VERSION = "numexpr", numexpr.__version__
numexpr.set_num_threads(1)
EXPRESSIONS = {
    "square": "x * x",
    "axpy": "a * x + y",
    "chain": "((x + y) * h - x * y) ** 2 + one",
    "exp_map": "exp(x)",
    "tanh_map": "tanh(x)",
    "total": "sum(x)",
}


def prepare(kernel, values, path):
    import numpy

    text = EXPRESSIONS.get(kernel)
    constants = {"a": numpy.float32(1.5), "h": numpy.float32(0.5), "one": numpy.float32(1)}
    names = {**constants, **values}
    return text and (lambda: numexpr.evaluate(text, names))

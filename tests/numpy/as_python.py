"""as_python.py: runs the kernels of an .akg file as the Python that they are written in.

An .akg file is Python syntax, and its numbers mean what numpy 2 means by scalars and weak Python numbers. So Python itself,
with stand-ins for the words of the language, is a reference that shares nothing with the compiler. What differs
from numpy by decision (saturating casts, masked shifts, NaN in min and max) is in the stand-ins.
"""
import ast
import fractions
import functools
import itertools
import math
import operator

import numpy as np

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def round_bfloat16(value):
    """The float32 nearest to it that bfloat16 has."""
    bits = np.asarray(value, np.float32).view(np.uint32)
    rounded = ((bits + ((bits >> np.uint32(16)) & np.uint32(1)) + np.uint32(0x7FFF)) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isnan(value), np.float32(np.nan), rounded).astype(np.float32)[()]


class Bfloat16:
    """A scalar: computes in float32, rounds after each operation."""

    def __init__(self, value):
        self.value = round_bfloat16(np.float32(value))

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)


def bfloat16_operators():
    def binary(function, reverse, compares):
        def method(self, other):
            other = np.float32(float(other))
            with np.errstate(all="ignore"):
                result = function(other, self.value) if reverse else function(self.value, other)
            return result if compares else Bfloat16(result)
        return method
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
        setattr(Bfloat16, f"__{name}__", binary(getattr(operator, name), False, False))
        setattr(Bfloat16, f"__r{name}__", binary(getattr(operator, name), True, False))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Bfloat16, f"__{name}__", binary(getattr(operator, name), False, True))
    Bfloat16.__neg__ = lambda self: Bfloat16(-self.value)
    Bfloat16.__abs__ = lambda self: Bfloat16(abs(self.value))


bfloat16_operators()


class Dtype:
    """A dtype's name; called, it converts."""

    def __init__(self, name):
        self.name = name
        self.numpy = np.dtype("float32" if name == "bfloat16" else name)

    def __eq__(self, other):
        return self.name == (other.name if isinstance(other, Dtype) else other)

    def __call__(self, value):
        if self.name == "bfloat16":
            return Bfloat16(value)
        if self.name in INTEGERS:
            if isinstance(value, (int, np.integer, np.bool_)):
                return wrap(int(value), self.numpy)
            return saturate(float(value), self.numpy)
        if self.name == "bool":
            return np.bool_(float(value) != 0) if not isinstance(value, (int, np.integer)) else np.bool_(value != 0)
        return self.numpy.type(value.value if isinstance(value, Bfloat16) else value)


def wrap(integer, dtype):
    return np.array(integer & (2 ** (8 * dtype.itemsize) - 1), f"uint{8 * dtype.itemsize}").view(dtype)[()]


def saturate(number, dtype):
    info = np.iinfo(dtype)
    if math.isnan(number):
        return dtype.type(0)
    if number >= info.max:
        return dtype.type(info.max)
    return dtype.type(info.min) if number <= info.min else dtype.type(int(number))


class Tensor:
    """A numpy array whose index may hold tuples; bfloat16 is kept in float32."""

    def __init__(self, array, dtype):
        self.array = array
        self.dtype = dtype

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)

    def __len__(self):
        return len(self.array)

    @staticmethod
    def flat(index):
        if not isinstance(index, tuple):
            return (index,)
        return tuple(itertools.chain.from_iterable(Tensor.flat(item) for item in index))

    def __getitem__(self, index):
        value = self.array[self.flat(index)]
        return Bfloat16(value) if self.dtype == "bfloat16" else value

    def __setitem__(self, index, value):
        if isinstance(value, Tensor):
            value = value[()]
        self.array[self.flat(index)] = value.value if isinstance(value, Bfloat16) else value


def scalar_operators():
    """A tensor without axes stands for its value."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
        function = getattr(operator, name)
        setattr(Tensor, f"__{name}__", lambda self, other, f=function: f(self[()], other))
        setattr(Tensor, f"__r{name}__", lambda self, other, f=function: f(other, self[()]))


scalar_operators()


def through(function):
    """A function of floats, computed in float64 and rounded to the dtype of its first argument."""
    def call(*values):
        if any(isinstance(v, np.ndarray) for v in values):
            return np.vectorize(call, otypes=[values[0].dtype])(*values)
        kinds = [type(v) for v in values if not isinstance(v, (int, float)) or isinstance(v, np.generic)]
        values = [float(v) for v in values]
        try:
            result = function(*values)
        except OverflowError:
            result = math.inf
        except ValueError:
            result = math.nan
        return kinds[0](result) if kinds else result
    return call


def logarithm(function, least):
    """The logarithm of nothing, which Python refuses."""
    return lambda v: -math.inf if v == least else function(v)


def power(a, b):
    if isinstance(a, (int, np.integer)) and isinstance(b, (int, np.integer)):
        return a ** b
    return through(lambda x, y: float(np.float64(x) ** np.float64(y)))(a, b)


def extreme(choose):
    def call(*values):
        typed = [type(v) for v in values if isinstance(v, (np.generic, Bfloat16))]
        for value in values:
            if float(value) != float(value):
                return value
        result = choose(values, key=lambda v: v if isinstance(v, (int, np.integer)) else float(v))
        return typed[0](result) if typed else result
    return call


def sign(v):
    return v if float(v) != float(v) else type(v)((float(v) > 0) - (float(v) < 0))


def reciprocal_root(v):
    """Two roundings, but for the halves, which go through float32."""
    kind = np.float64 if isinstance(v, (float, np.float64)) else np.float32
    with np.errstate(all="ignore"):
        result = kind(1) / np.sqrt(kind(float(v)))
    return type(v)(result)


def fused(a, b, c):
    values = [float(v) for v in (a, b, c)]
    if not all(map(math.isfinite, values)):
        return through(lambda x, y, z: x * y + z)(a, b, c)
    exact = fractions.Fraction(values[0]) * fractions.Fraction(values[1]) + fractions.Fraction(values[2])
    typed = [type(v) for v in (a, b, c) if isinstance(v, (np.generic, Bfloat16))]
    return typed[0](float(exact)) if typed else float(exact)


class Scope:
    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def decorator(*arguments, **_):
    return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else lambda function: function


def allocate(shape, dtype, _scope=None):
    dtype = dtype if isinstance(dtype, Dtype) else Dtype(dtype)
    return Tensor(np.zeros(shape, dtype.numpy), dtype)


def bits(v):
    return int(v) & (2 ** (8 * v.dtype.itemsize) - 1) if isinstance(v, np.generic) else v & (2 ** 64 - 1)


def python_words():
    words = {name: Dtype(name) for name in
             INTEGERS + ("bool", "float16", "bfloat16", "float32", "float64")}
    words.update({name: through(getattr(math, name)) for name in (
        "exp", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "erf", "erfc", "sqrt")})
    words.update({
        "exp2": through(lambda v: 2.0 ** v), "rsqrt": reciprocal_root,
        "log": through(logarithm(math.log, 0)), "log2": through(logarithm(math.log2, 0)),
        "log10": through(logarithm(math.log10, 0)), "log1p": through(logarithm(math.log1p, -1)),
        "sigmoid": through(lambda v: 1 / (1 + math.exp(-v))), "fma": fused,
        "floor": through(np.floor), "ceil": through(np.ceil), "trunc": through(np.trunc), "round": through(np.rint),
        "sign": sign, "power": power, "pow": power,
        "isnan": lambda v: math.isnan(v), "isinf": lambda v: math.isinf(v), "isfinite": lambda v: math.isfinite(v),
        "min": extreme(min), "max": extreme(max), "ceil_div": lambda a, b: type(a)(-(-int(a) // int(b))),
        "popcount": lambda v: (type(v) if isinstance(v, np.generic) else int)(bin(bits(v)).count("1")),
        "likely": lambda v: v, "cast": lambda v, dtype: (dtype if isinstance(dtype, Dtype) else Dtype(dtype))(v),
        "output_tensor": allocate, "allocate": allocate, "attr": Scope, "block_realize": Scope,
        "grid": lambda shape: itertools.product(*map(range, shape)),
        "kernel": decorator, "ms_kernel": decorator, "ms_hybrid": decorator, "script": decorator,
        "custom_info_register": decorator, "custom_op_info_register": decorator, "bprop": decorator,
        "op_info": None, "op_gpu_info": None,
    })
    words.update({name: range for name in ("serial", "vectorize", "parallel", "reduce", "unroll", "const_range")})
    return words


class Prepare(ast.NodeTransformer):
    """Takes away what Python would evaluate and the language does not: imports, annotations; marks shifts."""

    def visit_Import(self, node):
        return ast.Pass()

    visit_ImportFrom = visit_Import

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_FunctionDef(self, node):
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node):
        call = ast.Call(ast.Name(node.annotation.id, ast.Load()), [node.value], [])
        return ast.Assign([node.target], call)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if isinstance(node.op, (ast.LShift, ast.RShift)):
            name = "_shl" if isinstance(node.op, ast.LShift) else "_shr"
            return ast.Call(ast.Name(name, ast.Load()), [node.left, node.right], [])
        return node


def shift(function):
    def call(a, b):
        if not isinstance(a, np.generic):
            return function(a, int(b))
        count = int(b) & (8 * a.dtype.itemsize - 1)
        return wrap(function(int(a), count), a.dtype)
    return call


class Program:
    def __init__(self, path):
        self.path = path
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        self.definitions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.annotations = {name: {a.arg: a.annotation for a in node.args.args} for name, node in self.definitions.items()}
        self.dims = {name: self.named_dims(node) for name, node in self.definitions.items()}
        self.words = python_words()
        self.words["_shl"], self.words["_shr"] = shift(operator.lshift), shift(operator.rshift)
        code = compile(ast.fix_missing_locations(Prepare().visit(tree)), path, "exec")
        exec(code, self.words)

    @staticmethod
    def named_dims(node):
        """(parameter, axis, name) of float32[M, N] and the like."""
        found = []
        for number, argument in enumerate(node.args.args):
            if isinstance(argument.annotation, ast.Subscript):
                axes = argument.annotation.slice
                for axis, item in enumerate(axes.elts if isinstance(axes, ast.Tuple) else [axes]):
                    if isinstance(item, ast.Name):
                        found.append((number, axis, item.id))
        return found

    def result_names(self, kernel):
        result = [node for node in ast.walk(self.definitions[kernel]) if isinstance(node, ast.Return)][-1].value
        return [item.id for item in (result.elts if isinstance(result, ast.Tuple) else [result])]

    def run(self, kernel, arguments):
        """Calls with (array, dtype name) pairs or plain values; gives [(name, array, dtype name)]."""
        parameters = [a.arg for a in self.definitions[kernel].args.args]
        tensors = {name: Tensor(np.array(value[0], Dtype(value[1]).numpy), Dtype(value[1]))
                   if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], np.ndarray) else value
                   for name, value in arguments.items()}
        for number, axis, dim in self.dims[kernel]:
            self.words[dim] = tensors[parameters[number]].shape[axis]
        rest = self.definitions[kernel].args.vararg
        given = []
        if rest:
            given = [Tensor(np.array(a), Dtype(d)) for a, d in tensors.pop(rest.arg)]
        with np.errstate(all="ignore"):
            results = self.words[kernel](*given, **tensors)
        results = results if isinstance(results, tuple) else (results,)
        return [(name, r.array, r.dtype.name) for name, r in zip(self.result_names(kernel), results)]


load = functools.lru_cache(maxsize=None)(Program)

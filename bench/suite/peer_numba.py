"""Numba, for peer.py: it compiles the text of the .akg file itself, which is Python's syntax."""

import math

import numba
import numpy

NAME, VERSION, NAIVE = "numba", numba.__version__, True


def jit(function):
    return numba.njit(function, fastmath=True, error_model="numpy")


def names():
    """What the kernels call, in Numba's terms."""
    functions = {name: getattr(math, name) for name in ("exp", "log", "tanh", "erf", "sqrt")}
    functions["rsqrt"] = jit(lambda x: numpy.float32(1) / numpy.sqrt(x))
    functions["output_tensor"] = functions["allocate"] = jit(lambda shape, dtype: numpy.empty(shape, dtype))
    functions["grid"] = numpy.ndindex
    functions.update(int32=numpy.int32, int64=numpy.int64, float32=numpy.float32)
    return functions




def parse(path, kernel):
    """The functions of the file, their annotations as lines that read the dims off the shapes."""
    import ast

    tree = ast.parse(open(path).read())
    for function in tree.body:
        lines, seen = [], set()
        for argument in function.args.args:
            note, argument.annotation = argument.annotation, None
            if not isinstance(note, ast.Subscript):
                continue
            extents = note.slice.elts if isinstance(note.slice, ast.Tuple) else [note.slice]
            for axis, extent in enumerate(extents):
                if isinstance(extent, ast.Name) and extent.id not in seen:
                    seen.add(extent.id)
                    lines += ast.parse(f"{extent.id} = {argument.arg}.shape[{axis}]").body
        function.body[:0] = lines
    return compile(ast.fix_missing_locations(tree), path, "exec")


def prepare(kernel, values, path):
    space = names()
    exec(parse(path, kernel), space)
    function = jit(space[kernel])
    return lambda: function(**values)

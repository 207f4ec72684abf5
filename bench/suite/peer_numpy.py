"""numpy, for peer.py."""

import numpy

from peer_arrays import COMMON

NAME, VERSION = "numpy", numpy.__version__


def prepare(kernel, values, path):
    if kernel == "transpose":
        return lambda: numpy.ascontiguousarray(values["x"].T)
    if kernel == "histogram":
        return lambda: numpy.bincount(numpy.clip(values["x"] * 10 + 32, 0, 63).astype(numpy.int32), minlength=64)
    function = COMMON.get(kernel)
    return function and (lambda: function(numpy, **values))

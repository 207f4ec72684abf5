"""PyTorch through torch.compile, for peer.py."""

import torch

from peer_torch import FUNCTIONS, finish, tensors_of  # noqa: F401

NAME, VERSION = "torch_compiled", torch.__version__


def prepare(kernel, values, path):
    function = FUNCTIONS.get(kernel)
    if not function:
        return None
    compiled = torch.compile(lambda tensors: function(torch, **tensors), dynamic=False)
    tensors = tensors_of(values)
    return lambda: compiled(tensors)

"""PyTorch through torch.compile, for peer.py."""

import torch

from peer_torch import FUNCTIONS

NAME, VERSION = "torch_compiled", torch.__version__


def prepare(kernel, values, path):
    function = FUNCTIONS.get(kernel)
    if not function:
        return None
    compiled = torch.compile(lambda tensors: function(torch, **tensors), dynamic=False)
    tensors = {name: torch.from_numpy(value) for name, value in values.items()}
    return lambda: compiled(tensors)

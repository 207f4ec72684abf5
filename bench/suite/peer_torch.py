"""PyTorch, call by call, for peer.py: on the CPU, or on the device that DEVICE names."""

import os

import torch

from peer_arrays import COMMON, WITH_ERF

NAME, VERSION = "torch", torch.__version__
torch.set_num_threads(1)
DEVICE = torch.device(os.environ.get("DEVICE", "cpu"))
if DEVICE.type != "cpu":
    torch.zeros(1, device=DEVICE)  # where there is none, the system is skipped now
FUNCTIONS = {
    **COMMON,
    **WITH_ERF,
    "transpose": lambda xp, x: x.T.contiguous(),
    "softmax": lambda xp, x: torch.softmax(x, 1),
    "layer_norm": lambda xp, x, weight, bias: torch.nn.functional.layer_norm(x, x.shape[1:], weight, bias),
    "log_sum_exp": lambda xp, x: torch.logsumexp(x, 1),
    "attention": lambda xp, q, k, v: torch.softmax((q @ k.T) * 0.125, 1) @ v,
    "conv3x3": lambda xp, x, w: torch.nn.functional.conv2d(x[None], w),
    "depthwise": lambda xp, x, w: torch.nn.functional.conv2d(x[None], w[:, None], groups=x.shape[0]),
    "max_pool": lambda xp, x: torch.nn.functional.max_pool2d(x[None], 2),
    "gelu": lambda xp, x: torch.nn.functional.gelu(x),
    "matmul_bias_gelu": lambda xp, a, b, bias: torch.nn.functional.gelu(torch.addmm(bias, a, b)),
}


def finish():
    if DEVICE.type != "cpu":
        torch.cuda.synchronize(DEVICE)


def tensors_of(values):
    return {name: torch.from_numpy(value).to(DEVICE) for name, value in values.items()}


def call_of(kernel, values):
    function = FUNCTIONS.get(kernel)
    tensors = function and tensors_of(values)
    return function and (lambda: function(torch, **tensors))


def prepare(kernel, values, path):
    return call_of(kernel, values)

"""What bench/tape.c measures, of PyTorch. Says so where there is none."""
import statistics
import time

try:
    import torch
except ImportError:
    print("PyTorch: python3 has no torch, so there is nothing to compare with")
    raise SystemExit(0)

ROUNDS, NODES = 50, 1000
torch.set_num_threads(1)


class Empty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        ctx.saved_tensors
        return gradient


def measure(what, link, recording=True):
    forward, backward = [], []
    x = torch.ones((), requires_grad=True)
    with torch.set_grad_enabled(recording):
        for _ in range(ROUNDS):
            y = x
            start = time.perf_counter_ns()
            for _ in range(NODES):
                y = link(y, x)
            forward.append((time.perf_counter_ns() - start) / NODES)
            start = time.perf_counter_ns()
            if recording:
                y.backward()
            del y
            backward.append((time.perf_counter_ns() - start) / NODES)
    print("%-44s forward %7.0f ns   backward %7.0f ns"
          % (what, statistics.median(forward), statistics.median(backward)))


print("PyTorch %s, from Python" % torch.__version__)
measure("view_as, a node without a kernel", lambda y, x: y.view_as(y))
measure("autograd.Function, empty", lambda y, x: Empty.apply(y))
measure("multiply, not recorded", lambda y, x: y * x, recording=False)
measure("multiply", lambda y, x: y * x)

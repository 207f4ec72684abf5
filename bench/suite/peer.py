"""Other systems on the kernels of the suite, for ./run: reads rows "TWINS file kernel NAME=VALUE..." from standard input,
and answers each with lines "system median low high" (nanoseconds) and a line "done". The first answer is to nothing: which
systems are there. The systems are the files peer_*.py, each with NAME and prepare(kernel, values, path): a function to be
timed, or None where the system has no such kernel; with finish(), where calls return before they are done; and NAIVE where it runs the loops as they are written, which rows without
twins are too large for. One that is not installed, or fails, is skipped by name. Each has a process of its own."""

import importlib
import os
import re
import subprocess
import sys
import time

SECONDS = 0.3
MOST = 1000


def values_of(words):
    """The arguments as numpy arrays, with the shapes and dtypes of akgrun's; numbers as they are."""
    import numpy

    generator = numpy.random.default_rng(1)
    values = {}
    for word in words:
        name, text = word.split("=", 1)
        match = re.fullmatch(r"(randn|rand)\(([\d,]+)\)(?::(\w+))?", text)
        if not match:
            values[name] = int(text) if re.fullmatch(r"-?\d+", text) else float(text)
            continue
        shape = tuple(int(extent) for extent in match[2].split(","))
        if match[3] and match[3].startswith("int"):
            values[name] = generator.integers(-10, 10, shape).astype(match[3])
        else:
            draw = generator.standard_normal if match[1] == "randn" else generator.random
            values[name] = draw(shape, dtype=numpy.float32)
    return values


def rank_of(count):
    """Of the sample that is the lower end of the 95% interval of the median, from 1."""
    term, below, rank = 2.0**-count, 0.0, 0
    while rank < (count + 1) // 2 and below + term <= 0.025:
        below += term
        rank += 1
        term *= (count - rank + 1) / rank
    return max(rank, 1)


def measure(function, finish):
    """Median and interval of one run, in nanoseconds: as akgrun bench does it."""
    function()
    finish()
    repeats, seconds = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        finish()
        seconds = time.perf_counter() - start
        if seconds >= 200e-6 or repeats >= 1 << 20:
            break
        repeats *= 2
    samples, end = [], time.perf_counter() + SECONDS
    while len(samples) < MOST and (len(samples) < 7 or time.perf_counter() < end):
        start = time.perf_counter()
        for _ in range(repeats):
            function()
        finish()
        samples.append((time.perf_counter() - start) / repeats * 1e9)
    samples.sort()
    rank = rank_of(len(samples))
    return samples[len(samples) // 2], samples[rank - 1], samples[-rank]


def serve(name):
    """One system, in a process of its own: libraries of several do not always bear each other."""
    try:
        system = importlib.import_module("peer_" + name)
        print("system", system.NAME, system.VERSION)
    except Exception as error:
        print(f"skipped {name}: {type(error).__name__}: {error}".splitlines()[0])
        return
    print("done", flush=True)
    for line in sys.stdin:
        twins, path, kernel, *words = line.split()
        if twins == "yes" or not getattr(system, "NAIVE", False):
            try:
                function = system.prepare(kernel, values_of(words), path)
                if function:
                    numbers = measure(function, getattr(system, "finish", int))
                    print(system.NAME, *("%.6g" % number for number in numbers))
            except Exception as error:
                print(f"skipped {system.NAME} {kernel}: {type(error).__name__}: {error}".splitlines()[0])
        print("done", flush=True)


def ask(systems, name, line):
    """The answer of one of them; one that ends without an answer is asked no more."""
    process = systems[name]
    if line:
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except BrokenPipeError:
            pass
    for answer in process.stdout:
        if answer == "done\n":
            return
        print(answer, end="")
    del systems[name]
    if process.wait():
        print(f"skipped {name}: it ended with {process.returncode}" + (f", asked for {line.strip()}" if line else ""))


def main():
    if len(sys.argv) > 1:
        return serve(sys.argv[1])
    systems = {}
    for name in os.environ.get("SYSTEMS", "numpy numexpr numba torch torch_compiled jax halide tvm").split():
        systems[name] = subprocess.Popen(
            [sys.executable, __file__, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        ask(systems, name, None)
    print("done", flush=True)
    for line in sys.stdin:
        for name in list(systems):
            ask(systems, name, line)
        print("done", flush=True)
    for process in systems.values():
        process.stdin.close()


if __name__ == "__main__":
    main()

"""Halide, for peer.py: the kernels as algorithms, with schedules by hand in the manner of its own examples: rows and columns
in vectors, sums taken apart by rfactor, products in tiles that registers hold. Axes are in Halide's order, innermost first.
Buffers' sizes are constants of what is compiled."""

import importlib.metadata

import halide as hl

NAME, VERSION = "halide", importlib.metadata.version("halide")
TARGET = hl.get_host_target()
LANES = TARGET.natural_vector_size(hl.Float(32))
d, i, j, k = (hl.Var(name) for name in "dijk")
inner_i, inner_j, lane = hl.Var("inner_i"), hl.Var("inner_j"), hl.Var("lane")


def wide(f, extent, last=i):
    """Vectors along the innermost axis, four at a time where there are so many."""
    if extent >= 4 * LANES:
        f.split(last, last, inner_i, 4 * LANES).vectorize(inner_i, LANES).unroll(inner_i)
    elif extent >= LANES:
        f.vectorize(last, LANES)
    return f


def elementwise(expression):
    def build(*tensors):
        f = hl.Func("f")
        f[i] = expression(*(tensor[i] for tensor in tensors))
        return wide(f, tensors[0].width())

    return build


def reduce(term, extent, first, combine, where=()):
    """first combined with term(r) for all r: in 4 vectors of partial results. Returns what to use and the partial results'
    function, which belongs where the result is computed."""
    r = hl.RDom([(0, extent)])
    f = hl.Func("reduced")
    f[where] = first
    f[where] = combine(f[where], term(r.x))
    span = 4 * LANES
    if extent < span:
        return f, None
    outer, inside = hl.RVar("outer"), hl.RVar("inside")
    f.update().split(r.x, outer, inside, span)
    partial = f.update().rfactor(inside, lane)
    partial.vectorize(lane, LANES).unroll(lane)
    partial.update().reorder(lane, outer).vectorize(lane, LANES).unroll(lane)
    return f, partial


def add(a, b):
    return a + b


def whole(term):
    """A reduction to one number."""

    def build(*tensors):
        part, y = reduce(lambda r: term(*(tensor[r] for tensor in tensors)), tensors[0].width(), 0.0, add, (j,)), hl.Func("y")
        y[j] = part[0][j]
        sums_of(part, at=(y, j))
        return y

    return build


def sums_of(*parts, at):
    """Reductions of a row, all computed where the row is."""
    for f, partial in parts:
        f.compute_at(*at)
        if partial:
            partial.compute_at(*at)


def row_sum(x):
    part, y = reduce(lambda r: x[r, j], x.width(), 0.0, add, (j,)), hl.Func("y")
    y[j] = part[0][j]
    sums_of(part, at=(y, j))
    return y


def column_sum(x):
    r = hl.RDom([(0, x.height())])
    f, y = hl.Func("sums"), hl.Func("y")
    f[i] = 0.0
    f[i] += x[i, r.x]
    y[i] = f[i]
    span = min(x.width(), 8 * LANES)
    y.split(i, i, inner_i, span).vectorize(inner_i, LANES).unroll(inner_i)
    f.compute_at(y, i).vectorize(i, LANES).unroll(i)
    f.update().reorder(i, r.x).vectorize(i, LANES).unroll(i)
    return y


def top_of(x):
    return reduce(lambda r: x[r, j], x.width(), hl.f32(-3.4e38), hl.max, (j,))


def softmax_of(x):
    top = top_of(x)
    powers, y = hl.Func("powers"), hl.Func("y")
    powers[i, j] = hl.exp(x[i, j] - top[0][j])
    total = reduce(lambda r: powers[r, j], x.width(), 0.0, add, (j,))
    y[i, j] = powers[i, j] / total[0][j]
    sums_of(top, total, at=(y, j))
    wide(powers.compute_at(y, j), x.width())
    return wide(y, x.width())


def layer_norm(x, weight, bias):
    n = x.width()
    total = reduce(lambda r: x[r, j], n, 0.0, add, (j,))
    centred = lambda place: x[place, j] - total[0][j] / n  # noqa: E731
    square = reduce(lambda r: centred(r) * centred(r), n, 0.0, add, (j,))
    scale, y = hl.Func("scale"), hl.Func("y")
    scale[j] = 1.0 / hl.sqrt(square[0][j] / n + hl.f32(1e-5))
    y[i, j] = centred(i) * scale[j] * weight[i] + bias[i]
    sums_of(total, square, (scale, None), at=(y, j))
    return wide(y, n)


def log_sum_exp(x):
    top = top_of(x)
    total = reduce(lambda r: hl.exp(x[r, j] - top[0][j]), x.width(), 0.0, add, (j,))
    y = hl.Func("y")
    y[j] = top[0][j] + hl.log(total[0][j])
    sums_of(top, total, at=(y, j))
    return y


def argmax(x):
    r = hl.RDom([(0, x.width())])
    y = hl.Func("y")
    y[j] = hl.argmax(r, x[r.x, j])[0]
    return y


def prefix_sum(x):
    r = hl.RDom([(1, x.width() - 1)])
    y = hl.Func("y")
    y[i] = x[i]
    y[r.x] += y[r.x - 1]
    y.update().unscheduled()
    return wide(y, x.width())


def transpose(x):
    y = hl.Func("y")
    y[i, j] = x[j, i]
    y.tile(i, j, inner_i, inner_j, LANES, LANES).vectorize(inner_i).unroll(inner_j)
    return y


def gather(x, index):
    y, row = hl.Func("y"), hl.Func("row")
    row[j] = hl.unsafe_promise_clamped(index[j] % x.height(), 0, x.height() - 1)
    y[i, j] = x[i, row[j]]
    row.compute_at(y, j)
    return wide(y, x.width())


def histogram(x):
    r = hl.RDom([(0, x.width())])
    y = hl.Func("y")
    y[i] = 0
    y[hl.i32(hl.clamp(x[r.x] * 10.0 + 32.0, 0.0, 63.0))] += 1
    y.update().unscheduled()
    return wide(y, 64)


def stencil1(x):
    y = hl.Func("y")
    y[i] = 0.25 * x[i] + 0.5 * x[i + 1] + 0.25 * x[i + 2]
    return wide(y, x.width() - 2)


def stencil2(x):
    y = hl.Func("y")
    y[i, j] = 0.5 * x[i + 1, j + 1] + 0.125 * (x[i + 1, j] + x[i + 1, j + 2] + x[i, j + 1] + x[i + 2, j + 1])
    return wide(y, x.width() - 2)


def product_of(left, right, sizes, end=lambda value: value, more=()):
    """A product in tiles of 3 vectors by 8 rows (less where there is less), whole sums in registers, the right side packed by
    tiles where many rows share it. left(r) and right(column, r) are the factors; sizes columns, rows and terms."""
    columns, rows, terms = sizes
    lanes = min(LANES, columns)
    width, height = min(3 * lanes, columns // lanes * lanes), min(8, rows)
    r = hl.RDom([(0, terms)])
    product, y = hl.Func("product"), hl.Func("y")
    if rows >= 64 and columns > width and not more:
        packed, panel = hl.Func("packed"), hl.Var("panel")
        packed[i, j, k] = right(hl.min(k * width + i, columns - 1), j)
        packed.compute_root().bound(i, 0, width).vectorize(i, lanes).unroll(i)
        product[i, j, panel] = 0.0
        product[i, j, panel] += left(r.x) * packed[i, r.x, panel]
        y[i, j] = end(product[i % width, j, i // width])
        y.bound(i, 0, columns).bound(j, 0, rows)
        tail = hl.TailStrategy.GuardWithIf
        y.split(i, i, inner_i, width, tail).split(j, j, inner_j, height).reorder(inner_i, inner_j, j, i)
        tiles = j
    else:
        product[(i, j, *more)] = 0.0
        product[(i, j, *more)] += left(r.x) * right(i, r.x)
        y[(i, j, *more)] = end(product[(i, j, *more)])
        y.tile(i, j, inner_i, inner_j, width, height)
        tiles = i
    y.vectorize(inner_i, lanes).unroll(inner_i).unroll(inner_j)
    product.compute_at(y, tiles).vectorize(i, lanes).unroll(i).unroll(j)
    product.update().reorder(i, j, r.x).vectorize(i, lanes).unroll(i).unroll(j)
    return y


def matmul_nn(a, b):
    return product_of(lambda r: a[r, j], lambda n, r: b[n, r], (b.width(), a.height(), a.width()))


def matmul_nt(a, b):
    return product_of(lambda r: a[r, j], lambda n, r: b[r, n], (b.height(), a.height(), a.width()))


def matmul_tn(a, b):
    return product_of(lambda r: a[j, r], lambda n, r: b[n, r], (b.width(), a.width(), a.height()))


def batched_matmul(a, b):
    return product_of(lambda r: a[r, j, k], lambda n, r: b[n, r, k], (b.width(), a.height(), a.width()), more=(k,))


def gelu_of(value):
    return 0.5 * value * (1.0 + hl.erf(value * hl.f32(0.7071067811865476)))


def matmul_bias_gelu(a, b, bias):
    sizes = b.width(), a.height(), a.width()
    return product_of(lambda r: a[r, j], lambda n, r: b[n, r], sizes, lambda value: gelu_of(value + bias[i]))


def attention(q, keys, v):
    score = hl.Func("score")
    r = hl.RDom([(0, q.width())])
    score[i, j] = 0.0
    turned = hl.Func("turned")
    turned[i, j] = keys[j, i]
    turned.compute_root().tile(i, j, inner_i, inner_j, LANES, LANES).vectorize(inner_i).unroll(inner_j)
    score[i, j] += q[r.x, j] * turned[i, r.x] * 0.125
    top = reduce(lambda place: score[place, j], keys.height(), hl.f32(-3.4e38), hl.max, (j,))
    powers = hl.Func("powers")
    powers[i, j] = hl.exp(score[i, j] - top[0][j])
    total = reduce(lambda place: powers[place, j], keys.height(), 0.0, add, (j,))
    rows = hl.RDom([(0, keys.height())])
    product, y = hl.Func("product"), hl.Func("y")
    product[i, j] = 0.0
    product[i, j] += powers[rows.x, j] * v[i, rows.x]
    y[i, j] = product[i, j] / total[0][j]
    block = hl.Var("block")
    y.bound(i, 0, v.width())
    y.split(j, block, inner_j, 8).reorder(i, inner_j, block).vectorize(i, LANES).unroll(i)
    product.compute_at(y, block).vectorize(i, LANES).unroll(i)
    product.update().reorder(i, j, rows.x).vectorize(i, LANES).unroll(i).unroll(j)
    wide(powers.compute_at(y, block), keys.height())
    score.compute_at(y, block).vectorize(i, LANES)
    outer, inside = hl.Var("outer"), hl.Var("inside")
    score.update().split(i, outer, inside, 2 * LANES).reorder(inside, j, r.x, outer).vectorize(inside, LANES).unroll(inside).unroll(j)
    sums_of(top, total, at=(y, block))
    return y


def convolution(term, window, height, planes):
    """Tiles of a vector by 2 rows by 8 planes."""
    r = hl.RDom(window)
    product, y = hl.Func("product"), hl.Func("y")
    product[i, j, k] = 0.0
    product[i, j, k] += term(r)
    y[i, j, k] = product[i, j, k]
    inner_k = hl.Var("inner_k")
    y.split(k, k, inner_k, min(8, planes)).tile(i, j, inner_i, inner_j, LANES, min(2, height))
    y.reorder(inner_i, inner_j, inner_k, i, j, k).vectorize(inner_i).unroll(inner_j).unroll(inner_k)
    product.compute_at(y, i).vectorize(i, LANES).unroll(j).unroll(k)
    product.update().reorder(i, j, k, *(r[axis] for axis in range(len(window)))).vectorize(i, LANES).unroll(j).unroll(k)
    return y


def conv1x1(x, w):
    return convolution(lambda r: x[i, j, r.x] * w[r.x, k], [(0, x.channels())], x.height(), w.height())


def conv3x3(x, w):
    window = [(0, 3), (0, 3), (0, x.channels())]
    planes = w.dim(3).extent()
    return convolution(lambda r: x[i + r.x, j + r.y, r.z] * w[r.x, r.y, r.z, k], window, x.height() - 2, planes)


def depthwise(x, w):
    y = hl.Func("y")
    taps = (x[i + s, j + r, k] * w[s, r, k] for r in range(3) for s in range(3))
    total = next(taps)
    for tap in taps:
        total = total + tap
    y[i, j, k] = total
    return y.vectorize(i, LANES)


def max_pool(x):
    y = hl.Func("y")
    rows = (hl.max(x[2 * i, 2 * j + r, k], x[2 * i + 1, 2 * j + r, k]) for r in range(2))
    y[i, j, k] = hl.max(*rows)
    return y.vectorize(i, LANES)


def nbody(position, mass):
    def forces(r):
        x, y, z = (position[r, axis] - position[j, axis] for axis in range(3))
        scale = 1.0 / hl.sqrt(x * x + y * y + z * z + hl.f32(0.01))
        force = mass[r] * scale * scale * scale
        return force * x, force * y, force * z

    def add_all(sums, terms):
        return hl.Tuple([sums[axis] + terms[axis] for axis in range(3)])

    part = reduce(forces, mass.width(), hl.Tuple([hl.f32(0)] * 3), add_all, (j,))
    a = hl.Func("a")
    a[j, k] = hl.mux(k, [part[0][j][axis] for axis in range(3)])
    a.bound(k, 0, 3).reorder(k, j).unroll(k)
    sums_of(part, at=(a, j))
    return a


def black_scholes(spot, strike, time):
    s, price, t = spot + 0.5, strike + 0.5, time + 0.25
    spread = hl.f32(0.3) * hl.sqrt(t)
    d1 = (hl.log(s / price) + hl.f32(0.065) * t) / spread
    n1 = 0.5 + 0.5 * hl.erf(d1 * hl.f32(0.7071067811865476))
    n2 = 0.5 + 0.5 * hl.erf((d1 - spread) * hl.f32(0.7071067811865476))
    return s * n1 - price * hl.exp(hl.f32(-0.02) * t) * n2


def tanh_of(x):
    """By exp, which Halide has in vectors; its tanh calls the C library's for each element."""
    return 1.0 - 2.0 / (hl.exp(2.0 * x) + 1.0)


def chain(x, y):
    t = (x + y) * 0.5 - x * y
    return t * t + 1.0


BUILDERS = {
    "square": elementwise(lambda x: x * x),
    "axpy": elementwise(lambda x, y: 1.5 * x + y),
    "relu": elementwise(lambda x: hl.max(x, 0.0)),
    "chain": elementwise(chain),
    "exp_map": elementwise(hl.exp),
    "tanh_map": elementwise(tanh_of),
    "erf_map": elementwise(hl.erf),
    "gelu": elementwise(gelu_of),
    "black_scholes": elementwise(black_scholes),
    "total": whole(lambda x: x),
    "dot": whole(lambda x, y: x * y),
    "softmax": softmax_of,
}
for builder in (row_sum, column_sum, layer_norm, log_sum_exp, argmax, prefix_sum, transpose, gather, histogram, stencil1, stencil2):
    BUILDERS[builder.__name__] = builder
for builder in (matmul_nn, matmul_nt, matmul_tn, batched_matmul, matmul_bias_gelu, attention, conv1x1, conv3x3, depthwise, max_pool, nbody):
    BUILDERS[builder.__name__] = builder


def shape_of(kernel, values):
    """Of the result, in numpy's order."""
    shapes = [value.shape for value in values.values()]
    first, last = shapes[0], shapes[-1]
    return {
        "total": (1,),
        "dot": (1,),
        "column_sum": first[1:],
        "transpose": first[::-1],
        "gather": last + first[1:],
        "histogram": (64,),
        "stencil1": (first[0] - 2,),
        "stencil2": tuple(extent - 2 for extent in first),
        "matmul_nn": first[:1] + last[1:],
        "matmul_nt": first[:1] + last[:1],
        "matmul_tn": first[1:] + last[1:],
        "matmul_bias_gelu": first[:1] + last,
        "attention": first,
        "conv1x1": last[:1] + first[1:],
        "conv3x3": last[:1] + tuple(extent - 2 for extent in first[1:]),
        "depthwise": first[:1] + tuple(extent - 2 for extent in first[1:]),
        "max_pool": first[:1] + tuple(extent // 2 for extent in first[1:]),
    }.get(kernel, first[:1] if kernel in ("row_sum", "log_sum_exp", "argmax") else first)


def prepare(kernel, values, path):
    import numpy

    if kernel not in BUILDERS:
        return None
    inputs = [hl.Buffer(value) for value in values.values()]
    pipeline = hl.Pipeline(BUILDERS[kernel](*inputs))
    pipeline.compile_jit(TARGET)
    result = numpy.empty(shape_of(kernel, values), numpy.int32 if kernel in ("argmax", "histogram") else numpy.float32)
    buffer = hl.Buffer(result)
    function = lambda: pipeline.realize(buffer)  # noqa: E731
    function.result, function.kept = result, (values, inputs)  # compiled code has their addresses
    return function

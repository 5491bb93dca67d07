# SPDX-License-Identifier: Apache-2.0
"""Convolutions of 3 x 3 by Winograd's F(2 x 2, 3 x 3): 16 products for 4 outputs of a channel,
where the sum itself takes 36.

Windows of 4 x 4 are transformed (`windows`), multiplied with transformed weights and summed over channels (`products`),
and transformed back (`outputs`). It is done in strips of rows, so that what is between stays in the caches. Sums round
differently (about as much as those of another order), and a NaN or an infinity in a window would reach all four
outputs: whoever calls must make sure that operands are finite and of moderate size, and compute the sum itself where
they are not (plan.py: guards).

The same holds for groups of few channels, which are computed several as one, with zeros between (`grouped`).
"""

from __future__ import annotations

import math

import numpy as np
import tvm
from tvm import relax, s_tir, te, tirx

import layout
import schedule

TILE, WINDOW = 2, 4  # outputs and operands of a transform, along an axis
WORTH = 16  # channels: with fewer, the transforms take longer than what they spare
PREFIX, GROUPED = schedule.IN_STRIPS, schedule.IN_GROUPS
MOST_MERGED = 4  # groups: more of them are mostly zeros
OUT_ELEMENTWISE = 4  # TVM's name for what elementwise steps may be fused to
STRIP_BYTES = 64 << 10  # of windows and products of a strip, with weights that stay in the caches
MIN_STRIP = 8  # transforms
STRIP = 20  # transforms in a strip, with weights that do not: a multiple of these, at least
WIDEST = 32  # transforms along a row of a strip
SMALL_WEIGHTS = 256 << 10  # bytes of transformed weights


def _choose(index, terms):
    """The term of that number."""
    result = terms[-1]
    for i in range(len(terms) - 2, -1, -1):
        result = tirx.Select(index == i, terms[i], result)
    return result


def _of_weights(a, f):
    half = tirx.const(0.5, "float32")
    return _choose(a, [f(0), (f(0) + f(1) + f(2)) * half, (f(0) - f(1) + f(2)) * half, f(2)])


def _of_windows(a, f):
    return _choose(a, [f(0) - f(2), f(1) + f(2), f(2) - f(1), f(1) - f(3)])


def _of_outputs(i, f):
    return _choose(i, [f(0) + f(1) + f(2), f(1) - f(2) - f(3)])


def weights(weight: te.Tensor) -> te.Tensor:
    """(3, 3, C, K) to (4, 4, C, K)."""
    _, _, c, k = (int(n) for n in weight.shape)
    return te.compute(
        (WINDOW, WINDOW, c, k),
        lambda a, b, c, k: _of_weights(a, lambda i: _of_weights(b, lambda j: weight[i, j, c, k])),
        name=PREFIX + "weights",
    )


def weights_of(weight: np.ndarray) -> np.ndarray:
    """The same with numpy."""

    def along(values):
        first, second, third = values
        half = np.float32(0.5)
        return [first, (first + second + third) * half, (first - second + third) * half, third]

    columns = [along([weight[i, j] for j in range(3)]) for i in range(3)]
    changed = [along([columns[i][b] for i in range(3)]) for b in range(WINDOW)]
    return np.array([[changed[b][a] for b in range(WINDOW)] for a in range(WINDOW)], np.float32)


def convolution(data: te.Tensor, changed: te.Tensor, padding: list[int]) -> te.Tensor:
    """(N, H, W, C) and (4, 4, C, K) to (N, H', W', K), H' and W' even; padding: top, left, bottom, right."""
    n, h, w, c = (int(d) for d in data.shape)
    k = int(changed.shape[3])
    top, left, bottom, right = padding
    high, wide = h + top + bottom - 2, w + left + right - 2
    padded = layout.padded(data, padding, PREFIX + "padded")
    windows = te.compute(
        (WINDOW, WINDOW, n, high // 2, wide // 2, c),
        lambda a, b, n, y, x, c: _of_windows(
            a, lambda i: _of_windows(b, lambda j: padded[n, TILE * y + i, TILE * x + j, c])),
        name=PREFIX + "windows",
    )  # fmt: skip
    axis = te.reduce_axis((0, c), "c")
    products = te.compute(
        (WINDOW, WINDOW, n, high // 2, wide // 2, k),
        lambda a, b, n, y, x, k: te.sum(windows[a, b, n, y, x, axis] * changed[a, b, axis, k], axis=axis),
        name=PREFIX + "products",
    )
    part = lambda a, b, n, y, x, k: products[a, b, n, tirx.floordiv(y, TILE), tirx.floordiv(x, TILE), k]
    return te.compute(
        (n, high, wide, k),
        lambda n, y, x, k: _of_outputs(
            tirx.floormod(y, TILE),
            lambda a: _of_outputs(tirx.floormod(x, TILE), lambda b: part(a, b, n, y, x, k))),
        name=PREFIX + "outputs",
    )  # fmt: skip


def grouped(data: te.Tensor, weight: te.Tensor, strides: list[int], padding: list[int],
            dilation: list[int]) -> te.Tensor:
    """The sum itself: (N, H, W, C) and (R, S, C / G, K) to (N, H', W', K), in G groups."""
    n, h, w, c = (int(d) for d in data.shape)
    rows, columns, inner, k = (int(d) for d in weight.shape)
    top, left, bottom, right = padding
    padded = layout.padded(data, padding, GROUPED + "padded")
    high = (h + top + bottom - (rows - 1) * dilation[0] - 1) // strides[0] + 1
    wide = (w + left + right - (columns - 1) * dilation[1] - 1) // strides[1] + 1
    i, j, s = te.reduce_axis((0, rows), "i"), te.reduce_axis((0, columns), "j"), te.reduce_axis((0, inner), "c")
    outputs = k * inner // c  # of a group
    channel = lambda k: tirx.floordiv(k, outputs) * inner + s
    at = lambda n, y, x, k: padded[n, y * strides[0] + i * dilation[0], x * strides[1] + j * dilation[1], channel(k)]
    return te.compute(
        (n, high, wide, k), lambda n, y, x, k: te.sum(at(n, y, x, k) * weight[i, j, s, k], axis=[i, j, s]),
        name=GROUPED + "conv2d")


@relax.expr_functor.mutator
class _Rewritten(relax.PyExprMutator):
    """Convolutions that are worth it, with channels last, whose weights are parameters."""

    count = 0

    def __init__(self, module: tvm.IRModule):
        super().__init__(module)
        self.weights = layout.weights_of(module)

    def visit_call_(self, call):
        call = super().visit_call_(call)
        if (not isinstance(call.op, tvm.ir.Op) or call.op.name != "relax.nn.conv2d"
                or str(call.attrs.data_layout) != "NHWC"):
            return call
        a, data, weight = call.attrs, call.args[0], call.args[1]
        shape, groups = layout.shape, int(a.groups)
        strides, padding, dilation = ([int(n) for n in v] for v in (a.strides, a.padding, a.dilation))
        if fits(shape(data), shape(weight), strides, padding, dilation, groups):
            changed = self.builder_.emit(self.builder_.call_te(weights, weight, primfunc_name_hint=PREFIX + "weights"))
            return self.made(lambda d, u: convolution(d, u, padding), PREFIX, data, changed)
        merged = _merged(shape(weight), groups)
        if merged > 1 and any(padding) and layout.is_of(self, weight, self.weights):
            make = lambda d, w: grouped(d, w, strides, padding, dilation)
            return self.made(make, GROUPED, data, self.spread(weight, groups, merged))
        return call

    def made(self, make, prefix, *operands):
        self.count += 1
        return self.builder_.call_te(make, *operands, primfunc_name_hint=prefix + "conv2d",
                                     primfunc_attrs={"op_pattern": OUT_ELEMENTWISE})

    def spread(self, weight, groups: int, merged: int):
        """Several small groups as one, with zeros for what is not of the same group."""
        inner, k = layout.shape(weight)[2:]
        own = np.arange(inner * merged)[:, None] // inner == np.arange(k)[None, :] // (k // groups) % merged
        mask = relax.const(own.astype(np.float32)[None, None], "float32")
        copies = self.builder_.emit(relax.op.concat([weight] * merged, 2))
        return self.builder_.emit(relax.op.multiply(copies, mask))


def _merged(weight: list[int], groups: int) -> int:
    """How many groups are computed as one, so that they fill a vector; 1: each by itself."""
    inner, outputs = weight[2], weight[3] // groups
    many = WORTH // inner
    fits = groups > 1 and WORTH % inner == 0 and groups % many == 0 and many * outputs % WORTH == 0
    return many if fits and many <= MOST_MERGED else 1


def rewritten(module: tvm.IRModule) -> tuple[tvm.IRModule, int]:
    """The module with such convolutions, and how many there are."""
    mutator = _Rewritten(module)
    main = mutator.visit_expr(module["main"])
    if mutator.count == 0:
        return module, 0
    changed = mutator.builder_.get()
    changed["main"] = main
    return relax.transform.Normalize()(changed), mutator.count


def fits(data: list[int], weight: list[int], strides, padding, dilation, groups: int) -> bool:
    """Whether a convolution (channels last) is computed so."""
    if list(weight[:2]) != [3, 3] or list(strides) != [1, 1] or list(dilation) != [1, 1] or groups != 1:
        return False
    _, h, w, c = data
    top, left, bottom, right = padding
    high, wide = h + top + bottom - 2, w + left + right - 2
    return c % WORTH == 0 and weight[3] % WORTH == 0 and min(high, wide) >= 4 and high % 2 == 0 and wide % 2 == 0


# ---- in its order --------------------------------------------------------------------


def _has_block(function: tirx.PrimFunc, name: str) -> bool:
    sch = s_tir.Schedule(function)
    return any(sch.get(b).name_hint == name for b in schedule._blocks(sch))


def is_one(function: tirx.PrimFunc) -> bool:
    return _has_block(function, PREFIX + "products")


def has_merged_groups(function: tirx.PrimFunc) -> bool:
    return _has_block(function, GROUPED + "conv2d")


def changes_weights(function: tirx.PrimFunc) -> bool:
    return _has_block(function, PREFIX + "weights")


def operand(function: tirx.PrimFunc) -> int:
    """Which parameter of the kernel is convolved."""
    sch = s_tir.Schedule(function)
    source = sch.get(sch.get_sblock((PREFIX if is_one(function) else GROUPED) + "padded")).reads[0].source
    return next(i for i, p in enumerate(sch.mod["main"].params) if source.same_as(p))


def _strip(rows: int, columns: int, c: int, k: int) -> tuple[int, int]:
    """Rows and columns of transforms in a strip: what is between fits the caches, as long as weights do; the more
    weights there are, the more often they must be used once they are here."""
    weights = WINDOW * WINDOW * c * k * 4
    if weights <= SMALL_WEIGHTS:
        wanted = max(MIN_STRIP, STRIP_BYTES // (WINDOW * WINDOW * 4 * (c + k)))
        across = max(d for d in schedule._divisors(columns) if d <= wanted)
        return max(d for d in schedule._divisors(rows) if d * across <= wanted or d == 1), across
    wanted = 2 * STRIP if weights <= 4 * SMALL_WEIGHTS else 4 * STRIP
    across = max(d for d in schedule._divisors(columns) if d <= max(WIDEST, wanted))
    return next((d for d in schedule._divisors(rows) if d * across >= wanted), rows), across


def space(function: tirx.PrimFunc, machine: schedule.Machine) -> dict[str, list]:
    """The choices of such a kernel, the most important first (schedule.Choice)."""
    sch = s_tir.Schedule(function)
    products = sch.get_sblock(PREFIX + "products")
    rows, columns, k = [int(v.dom.extent) for v in sch.get(products).iter_vars
                        if int(v.iter_type) == schedule.SPATIAL][-3:]
    usual = math.prod(_strip(rows, columns, _summed(sch, products), k))
    strips = [(r, c) for r in schedule._divisors(rows)
              for c in schedule._divisors(columns) if r * c >= min(8, rows * columns)]
    strips.sort(key=lambda s: (abs(math.log(s[0] * s[1] / usual)), -s[1]))
    tiles = schedule.tiles(rows, columns, k // machine.lanes, machine)
    return {"strip": strips[:10], "tile": tiles[:12], "order": ["rows", "channels"], "unroll": [2, 4]}


def _summed(sch, products) -> int:
    """Channels of the operand."""
    return next(int(v.dom.extent) for v in sch.get(products).iter_vars if int(v.iter_type) == schedule.REDUCTION)


def scheduled(function: tirx.PrimFunc, machine: schedule.Machine,
              choice: schedule.Choice = schedule.Choice()) -> tirx.PrimFunc:
    """A kernel of one such convolution and what follows it elementwise."""
    sch = s_tir.Schedule(function)
    schedule._inline(sch)
    outputs = sch.get_output_blocks(sch.get_sblock("root"))
    if len(outputs) != 1 or len(schedule._blocks(sch)) != 4:
        raise ValueError("more follows the convolution than one elementwise step")
    products, last = sch.get_sblock(PREFIX + "products"), outputs[0]
    spatial = [int(v.dom.extent) for v in sch.get(products).iter_vars if int(v.iter_type) == schedule.SPATIAL]
    _, _, count, rows, columns, k = spatial
    if [int(v.dom.extent) for v in sch.get(last).iter_vars] != [count, TILE * rows, TILE * columns, k]:
        raise ValueError("what follows the convolution has other axes")
    strip, across = choice.strip or _strip(rows, columns, _summed(sch, products), k)
    n, y, x, c = sch.get_loops(last)
    y_out, y_in, y_tile = sch.split(y, [None, strip, TILE])
    x_out, x_in, x_tile = sch.split(x, [None, across, TILE])
    c_out, lane = sch.split(c, [None, machine.lanes])
    sch.reorder(n, y_out, x_out, y_in, x_in, c_out, y_tile, x_tile, lane)
    for name in ("products", "windows", "padded"):
        sch.compute_at(sch.get_sblock(PREFIX + name), x_out, preserve_unit_loops=True)
    sch.unroll(y_tile)
    sch.unroll(x_tile)
    sch.vectorize(lane)
    _order_windows(sch, sch.get_sblock(PREFIX + "windows"), machine.lanes)
    _, lane = sch.split(sch.get_loops(sch.get_sblock(PREFIX + "padded"))[-1], [None, machine.lanes])
    sch.vectorize(lane)
    if math.prod(spatial) * k >= schedule.WORTH_THREADS:
        schedule._parallel(sch, [n, y_out, x_out])
    _order_products(sch, products, machine, choice)
    return sch.mod["main"]


def _order_windows(sch, block, lanes: int) -> None:
    a, b, _, y, x, c = sch.get_loops(block)[-6:]
    c_out, lane = sch.split(c, [None, lanes])
    sch.reorder(y, x, c_out, a, b, lane)
    sch.unroll(a)
    sch.unroll(b)
    sch.vectorize(lane)


def _order_products(sch, block, machine: schedule.Machine, choice: schedule.Choice) -> None:
    a, b, n, y, x, k, c = sch.get_loops(block)[-7:]
    lanes = machine.lanes
    rows, columns, vectors = schedule._extent(sch, y), schedule._extent(sch, x), schedule._extent(sch, k) // lanes
    r, w, v = choice.tile or schedule._tile_shape(rows, columns, vectors, machine.tile)
    if rows % r or columns % w or vectors % v:
        raise ValueError("the tile does not fit the strip")
    k_out, k_in, lane = sch.split(k, [None, v, lanes])
    y_out, y_in = sch.split(y, [None, r])
    x_out, x_in = sch.split(x, [None, w])
    around = [y_out, x_out, k_out] if choice.order == "rows" else [k_out, y_out, x_out]
    sch.reorder(a, b, n, *around, c, y_in, x_in, k_in, lane)
    copied = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(copied, around[-1], preserve_unit_loops=True)
    schedule._unroll(sch, schedule._tail(sch, copied, around[-1])[-4:], lanes)
    schedule._unroll(sch, [y_in, x_in, k_in, lane], lanes)
    if choice.unroll and schedule._extent(sch, c) % choice.unroll == 0:
        c, turns = sch.split(c, [None, choice.unroll])
        sch.unroll(turns)
    start = sch.decompose_reduction(block, c)
    schedule._unroll(sch, sch.get_loops(start)[-4:], lanes)

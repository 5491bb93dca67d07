# SPDX-License-Identifier: Apache-2.0
"""Pools, resizing, padding and sampling of images and signals."""

from __future__ import annotations

import math

import torch

from ..registry import converts, dim_value, squeeze, static, unsqueeze
from ..tape import ConversionError, Sym, Tape
from .pointwise import scalar_as
from .reductions import extremum
from .shapes import slice_


def _tuple(value, n: int) -> list[int]:
    static(value, "an argument of the pool")
    value = [value] if isinstance(value, int) else list(value)
    return value * n if len(value) == 1 else value


def _batched(t: Tape, x: Sym, n: int) -> Sym:
    return unsqueeze(t, x, [0]) if x.rank == n + 1 else x


def _unbatched(t: Tape, result: Sym, x: Sym, n: int) -> Sym:
    return squeeze(t, result, [0]) if x.rank == n + 1 else result


# ---- max ---------------------------------------------------------------------------------------


def _max_pool(n: int, indices: bool):
    def convert(t, self, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
        attrs, tail = _window(t, self, n, kernel_size, stride, padding, dilation, ceil_mode)
        x = _batched(t, self, n)
        if not indices:
            return _unbatched(t, t.op("MaxPool", x, **attrs), self, n)
        values, positions = t.op("MaxPool", x, n=2, **attrs)
        return [_unbatched(t, values, self, n), _unbatched(t, _within_plane(t, x, positions, n), self, n)]

    return convert


def _window(t, x, n, kernel_size, stride, padding, dilation, ceil_mode):
    """ONNX's attributes. torch never lets a window start in the padding at the end; asked to round up,
    ONNX Runtime may: then the exact padding at the end is given instead."""
    kernel, pads, dilation = _tuple(kernel_size, n), _tuple(padding, n), _tuple(dilation, n)
    stride = _tuple(stride, n) if not isinstance(stride, (list, tuple)) or stride else kernel
    ends = list(pads)
    if ceil_mode:
        for i, axis in enumerate(range(x.rank - n, x.rank)):
            out = t.outputs[0][1][axis]
            extent = x.dims[axis]
            if not isinstance(out, int) or not isinstance(extent, int):
                raise ConversionError("a pool with ceil_mode over an extent known only at run time")
            ends[i] = max(pads[i], (out - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 - extent - pads[i])
    attrs = {"kernel_shape": kernel, "strides": stride, "pads": pads + ends}
    if any(d != 1 for d in dilation):
        attrs["dilations"] = dilation
    return attrs, ends


def _within_plane(t, x: Sym, positions: Sym, n: int) -> Sym:
    """ONNX counts through the whole tensor, torch within each plane."""
    size = math.prod(static(list(x.dims[-n:]), "the plane's size"))
    return t.op("Mod", positions, t.constant(size, torch.int64))


for _n in (1, 2, 3):
    converts(f"max_pool{_n}d")(_max_pool(_n, False))
    converts(f"max_pool{_n}d_with_indices")(_max_pool(_n, True))


# ---- average -------------------------------------------------------------------------------------


def _avg_pool(n: int):
    def convert(
        t, self, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        if not self.is_float:
            raise ConversionError("an average pool of integers")
        attrs, ends = _window(t, self, n, kernel_size, stride, padding, 1, ceil_mode)
        pads = _tuple(padding, n)
        x = _batched(t, self, n)
        if ends == pads and divisor_override is None:
            return _unbatched(
                t, t.op("AveragePool", x, count_include_pad=int(bool(count_include_pad)), **attrs), self, n
            )
        return _unbatched(t, _counted(t, x, n, attrs, pads, ends, count_include_pad, divisor_override), self, n)

    return convert


def _counted(t, x, n, attrs, pads, ends, count_include_pad, divisor):
    """The sum of each window over torch's own count: padding counts if asked, what ceil_mode adds never."""
    area = math.prod(attrs["kernel_shape"])
    total = t.op("Mul", t.op("AveragePool", x, count_include_pad=1, **attrs), t.constant(float(area), x.torch_dtype))
    if divisor is not None:
        return t.op("Div", total, t.constant(float(static(divisor, "the divisor")), x.torch_dtype))
    ones = torch.ones([1, 1, *static(list(x.dims[-n:]), "the plane's size")])
    pad = [p for low in reversed(pads) for p in (low, low)]
    counted = torch.nn.functional.pad(ones, pad, value=1.0 if count_include_pad else 0.0)
    extra = [p for low, high in zip(reversed(pads), reversed(ends)) for p in (0, max(0, high - low))]
    counted = torch.nn.functional.pad(counted, extra)
    pool = {1: torch.nn.functional.avg_pool1d, 2: torch.nn.functional.avg_pool2d, 3: torch.nn.functional.avg_pool3d}[n]
    counts = pool(counted, attrs["kernel_shape"], attrs["strides"]) * area
    return t.op("Div", total, t.constant(counts.round().to(x.torch_dtype)))


for _n in (1, 2, 3):
    converts(f"avg_pool{_n}d")(_avg_pool(_n))


# ---- adaptive --------------------------------------------------------------------------------------


def _adaptive(n: int, largest: bool, indices: bool):
    def convert(t, self, output_size):
        size = static(_tuple(output_size, n), "the size of the pool's result")
        if not largest and not self.is_float:
            raise ConversionError("an average pool of integers")
        if not indices:
            return _adaptive_pool(t, self, size, n, largest)
        attrs = _even_windows(self, size, n)
        if attrs is None:
            return [_adaptive_pool(t, self, size, n, largest), None]
        x = _batched(t, self, n)
        values, positions = t.op("MaxPool", x, n=2, **attrs)
        return [_unbatched(t, values, self, n), _unbatched(t, _within_plane(t, x, positions, n), self, n)]

    return convert


def _even_windows(x: Sym, size: list[int], n: int) -> dict | None:
    extents = x.dims[-n:]
    if any(not isinstance(e, int) or s == 0 or e % s for e, s in zip(extents, size)) or 0 in extents:
        return None
    kernel = [e // s for e, s in zip(extents, size)]
    return {"kernel_shape": kernel, "strides": kernel}


def _adaptive_pool(t, x: Sym, size: list[int], n: int, largest: bool) -> Sym:
    axes = list(range(x.rank - n, x.rank))
    if x.known and 0 in x.dims:
        raise ConversionError("an adaptive pool of nothing")
    if all(s == 1 for s in size):
        return extremum(t, x, axes, True, True) if largest else t.op("ReduceMean", x, t.ints(axes), keepdims=1)
    attrs = _even_windows(x, size, n)
    if attrs is not None:
        return _unbatched(t, t.op("MaxPool" if largest else "AveragePool", _batched(t, x, n), **attrs), x, n)
    if not largest and x.torch_dtype == torch.float32 and _all_narrow(x.dims[-n:], size):
        pooled = _batched(t, x, n)
        for k in reversed(range(n)):  # the innermost first: its picks are single elements, and fewest now
            pooled = _narrow_windows(t, pooled, k, n, size[k])
        return _unbatched(t, pooled, x, n)
    for axis, out in zip(axes, size):
        x = _adaptive_axis(t, x, axis, out, largest)
    return x


def _windows(extent: int, out: int) -> list[tuple[int, int]]:
    """Window i covers floor(i*n/out) to ceil((i+1)*n/out)."""
    return [(i * extent // out, -(-(i + 1) * extent // out)) for i in range(out)]


def _windows_of_run(t, x: Sym, axis: int, out: int) -> list[tuple[Sym, Sym]]:
    """The same of an extent known only at run time, which is not 0."""
    static(out, "the result's extent")
    extent, parts = t.op("Shape", x, start=axis, end=axis + 1), t.ints([out])
    edges = [t.op("Mul", extent, t.ints([i])) for i in range(out + 1)]
    up = [t.op("Div", t.op("Add", e, t.ints([out - 1])), parts) for e in edges[1:]]
    return list(zip([t.op("Div", e, parts) for e in edges[:-1]], up))


def _widest(extent, out: int) -> int:
    extent = static(extent, "the extent")
    return max((end - start for start, end in _windows(extent, out)), default=0)


def _all_narrow(extents: tuple, size: list[int]) -> bool:
    """Whether the extents are known, and no window is wider than 4 elements along any dim."""
    return all(isinstance(e, int) for e in extents) and all(_widest(e, s) <= 4 for e, s in zip(extents, size))


def _narrow_windows(t, x: Sym, k: int, n: int, out: int) -> Sym:
    """Windows of few widths: for each width the means at every place, of which each window picks its own."""
    axis = 2 + k
    extent = static(x.dims[axis], "the extent")
    if out == extent:
        return x
    windows, parts, first, position = _windows(extent, out), [], {}, 0
    for width in sorted({end - start for start, end in windows}):
        kernel = [width if i == k else 1 for i in range(n)]
        parts.append(x if width == 1 else t.op("AveragePool", x, kernel_shape=kernel, strides=[1] * n))
        first[width], position = position, position + extent - width + 1
    means = parts[0] if len(parts) == 1 else t.op("Concat", *parts, axis=axis)
    return t.op("Gather", means, t.ints([first[end - start] + start for start, end in windows]), axis=axis)


def _adaptive_axis(t, x: Sym, axis: int, out: int, largest: bool) -> Sym:
    """One reduction per window."""
    extent = x.dims[axis]
    if out == extent:
        return x
    parts = []
    for start, end in _windows(extent, out) if isinstance(extent, int) else _windows_of_run(t, x, axis, out):
        window = (t.op("Slice", x, start, end, t.ints([axis])) if isinstance(start, Sym)
                  else slice_(t, x, axis, start, end))
        parts.append(
            extremum(t, window, axis, True, True) if largest else t.op("ReduceMean", window, t.ints([axis]), keepdims=1)
        )
    return t.op("Concat", *parts, axis=axis)


for _n in (1, 2, 3):
    converts(f"adaptive_avg_pool{_n}d", *["_adaptive_avg_pool3d"] * (_n == 3))(_adaptive(_n, False, False))
    converts(f"adaptive_max_pool{_n}d")(_adaptive(_n, True, True))


# ---- resizing ----------------------------------------------------------------------------------------


def _resize(t, x: Sym, output_size, scales, mode: str, **attrs) -> Sym:
    """ONNX's Resize. torch maps coordinates by the given scale if there is one, else by the ratio of the sizes;
    given sizes ONNX takes the ratio, so a scale that is not the ratio must be given as the scale."""
    n = x.rank - 2
    extents = [t.outputs[0][1][2 + i] for i in range(n)]
    if not x.is_float:
        raise ConversionError("resizing integers")
    given = [s for s in (scales or []) if s is not None]
    static(given, "the scale")
    known = all(isinstance(d, int) for d in (*extents, *x.dims[2:]))
    aligned = attrs.get("coordinate_transformation_mode") == "align_corners"
    if given and _needs_scale(given, x.dims[2:], extents, known, aligned):
        return t.op("Resize", x, None, t.constant([1.0, 1.0, *map(float, given)], torch.float32), mode=mode, **attrs)
    if known:
        sizes = t.ints([*_leading(t, x), *extents])
    elif output_size is not None:
        sizes = t.ints([*_leading(t, x), *output_size])
    else:
        raise ConversionError("resizing to extents known only at run time")
    return t.op("Resize", x, None, None, sizes, mode=mode, **attrs)


def _needs_scale(scales: list, before: tuple, after: list, known: bool, aligned: bool) -> bool:
    """Whether ONNX must be given the scales, since the sizes say something else or are not known."""
    if not known and all(float(s).is_integer() for s in scales):  # then the scale is the ratio
        return True
    if aligned:
        return False
    if not known:
        raise ConversionError("resizing by a factor, of extents known only at run time")
    if all(float(s) * d == e for s, d, e in zip(scales, before, after)):
        return False
    if any(math.floor(d * float(torch.tensor(s, dtype=torch.float32))) != e for s, d, e in zip(scales, before, after)):
        raise ConversionError("resizing by a factor whose result is rounded otherwise")
    return True


def _leading(t, x: Sym) -> list:
    return [dim_value(t, x, 0), dim_value(t, x, 1)]


def _nearest(coordinates: str, rounding: str):
    attrs = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}

    def convert(t, self, output_size, *scales):
        return _resize(t, self, output_size, _scales(scales), "nearest", **attrs)

    return convert


def _scales(scales) -> list:
    if len(scales) == 1 and isinstance(scales[0], (list, tuple)):
        return list(scales[0])
    return list(scales)


for _n in (1, 2, 3):
    converts(f"upsample_nearest{_n}d", f"upsample_nearest{_n}d.vec")(_nearest("asymmetric", "floor"))
    converts(f"_upsample_nearest_exact{_n}d", f"_upsample_nearest_exact{_n}d.vec")(
        _nearest("half_pixel", "round_prefer_ceil")
    )


def _smooth(mode: str):
    def convert(t, self, output_size, align_corners, *scales):
        attrs = {"coordinate_transformation_mode": "align_corners" if align_corners else "half_pixel"}
        if mode == "cubic":
            attrs["cubic_coeff_a"] = -0.75
        if align_corners and any(e == 1 for e in t.outputs[0][1][2:]):
            raise ConversionError("resizing to one pixel with align_corners")
        return _resize(t, self, output_size, _scales(scales), mode, **attrs)

    return convert


for _name, _mode in (
    ("linear1d", "linear"),
    ("bilinear2d", "linear"),
    ("trilinear3d", "linear"),
    ("bicubic2d", "cubic"),
):
    converts(f"upsample_{_name}", f"upsample_{_name}.vec")(_smooth(_mode))


@converts(
    "_upsample_bilinear2d_aa", "_upsample_bilinear2d_aa.vec", "_upsample_bicubic2d_aa", "_upsample_bicubic2d_aa.vec"
)
def antialiased(t, *_, **__):
    raise ConversionError("resizing with antialias")


# ---- padding -------------------------------------------------------------------------------------


def _pad(t, x: Sym, pad, mode: str, value=None) -> Sym:
    pad = list(pad)
    n = len(pad) // 2
    if all(isinstance(p, int) for p in pad) and mode != "constant":
        if any(p < 0 for p in pad):
            raise ConversionError(f"a negative {mode} padding")
        if x.known and 0 in x.dims:
            raise ConversionError(f"{mode} padding of nothing")
    lows = [0] * (x.rank - n) + [pad[2 * i] for i in reversed(range(n))]
    highs = [0] * (x.rank - n) + [pad[2 * i + 1] for i in reversed(range(n))]
    dtype = x.torch_dtype
    operands = [x, t.ints(lows + highs)]
    if mode == "constant":
        operands.append(scalar_as(t, 0 if value is None else value, dtype))
    return t.op("Pad", *operands, mode=mode)


@converts("constant_pad_nd")
def constant_pad(t, self, pad, value=0):
    return _pad(t, self, pad, "constant", value)


for _n in (1, 2, 3):
    converts(f"reflection_pad{_n}d")(lambda t, self, padding: _pad(t, self, padding, "reflect"))
    converts(f"replication_pad{_n}d")(lambda t, self, padding: _pad(t, self, padding, "edge"))


@converts("pad")
def pad_(t, self, pad, mode="constant", value=None):
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return _pad(t, self, pad, names[mode], value)


# ---- sampling ------------------------------------------------------------------------------------


_FAR = 16.0  # a coordinate beyond is outside of any extent by more than what a sample reads


@converts("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(t, input, grid, interpolation_mode, padding_mode, align_corners):
    """ONNX Runtime makes integers of the places, so those far away, NaN and infinities are not given to it."""
    if input.rank == 5 and interpolation_mode == 2:
        raise ConversionError("cubic sampling of volumes")
    mode = ("linear", "nearest", "cubic")[interpolation_mode]
    padding = ("zeros", "border", "reflection")[padding_mode]
    known = None
    if padding == "reflection" and mode != "cubic":
        near, padding = _reflected(t, input, grid, mode == "nearest", align_corners), "border"
    else:
        near = t.op("Clip", grid, *[t.constant(v, grid.torch_dtype) for v in (-_FAR, _FAR)])
    if padding == "zeros" or mode == "cubic":
        known = _known_places(t, input, grid, align_corners)
    elif padding_mode == 1:  # a NaN is before the first place there
        least = t.constant(-_FAR, grid.torch_dtype)
        near = t.op("Where", t.op("GreaterOrEqual", near, least), near, least)
    result = t.op("GridSample", input, near, mode=mode, padding_mode=padding, align_corners=int(bool(align_corners)))
    if known is None:
        return result
    return t.op("Where", known, result, t.constant(0.0 if mode == "nearest" else math.nan, input.torch_dtype))


def _reflected(t, input: Sym, grid: Sym, rounded: bool, align_corners) -> Sym:
    """The grid with its places reflected at the ends as torch does it; the engine rounds before it reflects."""
    dtype = grid.torch_dtype
    extents = torch.tensor(static(list(reversed(input.dims[2:])), "an extent"), dtype=dtype)
    half, shift = (extents - 1 if align_corners else extents) / 2, 0.0 if align_corners else 0.5
    half[half == 0] = 0.5  # of one place, all is that place

    def number(value):
        return t.constant(torch.as_tensor(value, dtype=dtype))

    x = t.op("Abs", t.op("Mul", t.op("Add", grid, number(1.0)), number(half)))
    flips = t.op("Floor", t.op("Div", x, number(4 * half)))
    extra = t.op("Sub", x, t.op("Mul", flips, number(4 * half)))
    place = t.op("Sub", t.op("Min", extra, t.op("Sub", number(4 * half), extra)), number(shift))
    place = t.op("Where", t.op("GreaterOrEqual", place, number(0.0)), place, number(0.0))  # also for a NaN
    place = t.op("Min", place, number(extents - 1))
    if rounded:
        place = t.op("Round", place)
    return t.op("Sub", t.op("Div", t.op("Add", place, number(shift)), number(half)), number(1.0))


def _known_places(t, input: Sym, grid: Sym, align_corners) -> Sym:
    """[batch, 1, ...]: whether each place is a number, as torch computes it in pixels."""
    dtype = grid.torch_dtype
    extents = torch.tensor([d if isinstance(d, int) else 1 for d in reversed(input.dims[2:])], dtype=torch.float64)
    pixels = ((extents - 1 if align_corners else extents) / 2).clamp(min=1.0)
    bounds = t.constant((torch.finfo(dtype).max / pixels).to(dtype))
    known = t.op("LessOrEqual", t.op("Abs", grid), bounds)
    return t.op("Unsqueeze", t.op("ReduceMin", known, t.ints([grid.rank - 1]), keepdims=0), t.ints([1]))


@converts("affine_grid_generator")
def affine_grid(t, theta, size, align_corners):
    return t.op("AffineGrid", theta, t.ints(size), align_corners=int(bool(align_corners)))

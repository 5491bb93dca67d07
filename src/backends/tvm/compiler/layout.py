# SPDX-License-Identifier: Apache-2.0
"""Convolutions with their channels last, and what stands between them.

TVM has a pass for this, which gives up on a whole sub-DNN for one op that it does not know. Then each convolution is
turned by itself, and the transpositions behind it are moved on through what computes element by element, in windows or
along other axes, until they meet their opposite.
"""

from __future__ import annotations

import tvm
from tvm import relax, te, tirx

import ports
from ports import FIRST, LAST

ONE_OPERAND = {"relax." + name for name in (
    "nn.relu", "nn.leakyrelu", "nn.gelu", "nn.silu", "sigmoid", "tanh", "exp", "log", "sqrt", "erf",
    "negative", "abs", "isnan", "isinf", "clip", "astype")}  # fmt: skip
TWO_OPERANDS = {"relax." + name for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum")}


@relax.expr_functor.mutator
class _ChannelsLast(relax.PyExprMutator):
    def visit_call_(self, call):
        call = super().visit_call_(call)
        if not isinstance(call.op, tvm.ir.Op):
            return call
        name = call.op.name
        if name == "relax.nn.conv2d" and str(call.attrs.data_layout) == "NCHW":
            return self.convolution(call)
        if name in ("relax.nn.max_pool2d", "relax.nn.avg_pool2d") and str(call.attrs.layout) == "NCHW":
            return self.pool(call)
        if name == "relax.concat":
            return self.concat(call)
        if name == "relax.mean":
            return self.mean(call)
        if name in ONE_OPERAND and (x := self.turned(call.args[0])) is not None:
            return self.back(relax.Call(call.op, [x, *call.args[1:]], call.attrs))
        if name in TWO_OPERANDS:
            return self.two(call)
        return call

    def turned(self, value):
        """The tensor with its channels last that this one was made of; None: it was not."""
        made = self.lookup_binding(value) if isinstance(value, relax.Var) else value
        axes = ports.axes_of(made) if isinstance(made, tvm.ir.Call) else None
        return made.args[0] if axes == FIRST else None

    def last(self, value):
        turned = self.turned(value)
        return self.builder_.emit(relax.op.permute_dims(value, LAST)) if turned is None else turned

    def back(self, call):
        return relax.op.permute_dims(self.builder_.emit(call), FIRST)

    def convolution(self, call):
        a = call.attrs
        weight = self.builder_.emit(relax.op.permute_dims(call.args[1], [2, 3, 1, 0]))
        strides, padding, dilation = ([int(n) for n in v] for v in (a.strides, a.padding, a.dilation))
        return self.back(relax.op.nn.conv2d(self.last(call.args[0]), weight, strides, padding, dilation,
                                            int(a.groups), "NHWC", "HWIO"))

    def pool(self, call):
        a, x = call.attrs, self.turned(call.args[0])
        if x is None:
            return call
        op = relax.op.nn.max_pool2d if call.op.name.endswith("max_pool2d") else relax.op.nn.avg_pool2d
        sizes, strides, padding, dilation = ([int(n) for n in v]
                                             for v in (a.pool_size, a.strides, a.padding, a.dilation))
        return self.back(op(x, sizes, strides, padding, dilation, bool(a.ceil_mode),
                            bool(a.count_include_pad), "NHWC", "NHWC"))

    def concat(self, call):
        values = call.args[0]
        if isinstance(values, relax.Var):
            values = self.lookup_binding(values)
        if not isinstance(values, tvm.ir.Tuple) or call.attrs.axis is None or rank(values.fields[0]) != 4:
            return call
        if 2 * sum(self.turned(f) is not None for f in values.fields) <= len(values.fields):
            return call
        axis = LAST.index(int(call.attrs.axis) % 4)
        return self.back(relax.op.concat([self.last(f) for f in values.fields], axis))

    def mean(self, call):
        x, axes = self.turned(call.args[0]), call.attrs.axis
        if x is None or axes is None or sorted(int(a) % 4 for a in axes) != [2, 3]:
            return call
        made = relax.op.mean(x, [1, 2], bool(call.attrs.keepdims))
        return self.back(made) if call.attrs.keepdims else made

    def two(self, call):
        """Of one shape, or with one number per channel, or one alone."""
        turned = [self.turned(a) for a in call.args]
        full = next((i for i, x in enumerate(turned) if x is not None and shape(call.args[i]) == shape(call)), None)
        if full is None:
            return call
        other = call.args[1 - full]
        if rank(other) not in (0, 4):
            return call
        changed = self.last(other) if rank(other) == 4 else other
        args = [turned[full], changed] if full == 0 else [changed, turned[full]]
        return self.back(relax.Call(call.op, args, call.attrs))


@relax.expr_functor.mutator
class _WholePanels(relax.PyExprMutator):
    """Products with weights whose last axis is no multiple of a panel (packed.py):
    with zeros behind them, which are cut off again."""

    def __init__(self, module: tvm.IRModule, panel: int):
        super().__init__(module)
        self.panel, self.weights = panel, weights_of(module)

    def visit_call_(self, call):
        call = super().visit_call_(call)
        if not isinstance(call.op, tvm.ir.Op) or call.op.name != "relax.matmul":
            return call
        weight, extents = call.args[1], shape(call.args[1]) or []
        if (len(extents) != 2 or extents[1] <= self.panel or extents[1] % self.panel == 0
                or not is_of(self, weight, self.weights)):
            return call
        wide = self.builder_.emit(relax.op.nn.pad(weight, [0, 0, 0, -extents[1] % self.panel]))
        product = self.builder_.emit(relax.op.matmul(call.args[0], wide))
        return relax.op.strided_slice(product, axes=[rank(product) - 1], begin=[0], end=[extents[1]])


def weights_of(module: tvm.IRModule) -> list:
    """Those parameters of main that are weights."""
    main = module["main"]
    return list(main.params)[int(main.attrs["num_input"]):]


def is_of(mutator: relax.PyExprMutator, value, weights: list) -> bool:
    """Whether a value is computed from weights alone."""
    if isinstance(value, (tvm.ir.GenericConst, relax.ShapeExpr)) or any(value.same_as(w) for w in weights):
        return True
    made = mutator.lookup_binding(value) if isinstance(value, relax.Var) else value
    if isinstance(made, tvm.ir.Tuple):
        return all(is_of(mutator, f, weights) for f in made.fields)
    return (isinstance(made, tvm.ir.Call) and isinstance(made.op, tvm.ir.Op)
            and all(is_of(mutator, a, weights) for a in made.args))


def whole_panels(module: tvm.IRModule, panel: int) -> tvm.IRModule:
    module["main"] = _WholePanels(module, panel).visit_expr(module["main"])
    return relax.transform.Normalize()(module)


def padded(data: te.Tensor, padding: list[int], name: str) -> te.Tensor:
    """(N, H, W, C) with zeros around; padding: top, left, bottom, right."""
    n, h, w, c = (int(d) for d in data.shape)
    top, left, bottom, right = padding
    zero = tirx.const(0, "float32")
    inside = lambda y, x: tirx.all(y >= top, y < h + top, x >= left, x < w + left)
    return te.compute(
        (n, h + top + bottom, w + left + right, c),
        lambda n, y, x, c: tirx.if_then_else(inside(y, x), data[n, y - top, x - left, c], zero),
        name=name,
    )


def shape(value) -> list[int] | None:
    ty = value.ty
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    return [int(d) for d in ty.shape]


def rank(value) -> int:
    return int(value.ty.ndim) if isinstance(value.ty, relax.TensorType) else -1


def channels_last(module: tvm.IRModule) -> tvm.IRModule:
    try:
        return relax.transform.ConvertLayout({"relax.nn.conv2d": ["NHWC", "HWIO"]})(module)
    except tvm.error.InternalError:  # it does not know the layouts of some op
        module["main"] = _ChannelsLast(module).visit_expr(module["main"])
        return relax.transform.DeadCodeElimination()(relax.transform.Normalize()(module))

# SPDX-License-Identifier: Apache-2.0
"""Complex tensors become real ones with one more dim of extent 2: real part, imaginary part.

`rewrite(graph)` runs once, before lowering: every complex value of the graph changes its type, and every node that
touches one is replaced by real ATen nodes, so that nothing after it knows of complex numbers. Rotary embeddings by
`view_as_complex` and Fourier transforms are what models use them for. A transform is a product with the matrix of its
waves: extents must be known and at most `_LARGEST_TRANSFORM`. What has no rule here, and complex inputs,
outputs and states, are refused.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch

from ..graph.known_values import operands
from ..graph.program import AtenNode, Block, Graph, HostNode, ListType, TensorType, Value, successors
from ..graph.text import op_name
from ..source import Span
from .convert import LoweringRefusal

aten = torch.ops.aten
_REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
_LARGEST_TRANSFORM = 4096
_RULES: dict[str, Callable] = {}


def rewrite(graph: Graph) -> None:
    blocks = graph.reachable_blocks()
    if not any(_is_complex(v) for block in blocks for v in _values_of(block)):
        return
    for value in (*graph.inputs, *(v for _, v in graph.states)):
        if _is_complex(value):
            raise LoweringRefusal("a complex input or state", "pass torch.view_as_real of it", None)
    for block in blocks:
        for value in getattr(block.exit, "values", ()):
            if _is_complex(value):
                raise LoweringRefusal("a complex result", "return torch.view_as_real of it", block.exit_span)
    pairs = _Pairs()
    for block in blocks:
        pairs.block(block)


def _is_complex(value: Any) -> bool:
    return isinstance(value, Value) and isinstance(value.type, TensorType) and value.type.dtype.is_complex


def _values_of(block: Block):
    for node in block.nodes:
        yield from node.outputs
        yield from operands(node)


class _Pairs:
    """Rewrites block by block. `done`: ids of values that are pairs now; their type ends in 2."""

    def __init__(self):
        self.done: set[int] = set()
        self.nodes: list = []
        self.current: Block | None = None
        self.span: Span | None = None

    def block(self, block: Block) -> None:
        self.current, self.nodes = block, []
        for param in block.params:
            self.pair(param)
        for node in block.nodes:
            self.node(node)
        block.nodes[:] = self.nodes
        for edge in successors(block):
            for value in edge.args:
                self.pair(value)

    def pair(self, value: Value) -> Value:
        """The value as a pair, if it is complex."""
        if (isinstance(value.type, ListType) and isinstance(value.type.element, TensorType)
                and value.type.element.dtype.is_complex):
            raise LoweringRefusal("a list of complex tensors that grows at run time",
                                  "keep torch.view_as_real of them", self.span)
        if _is_complex(value):
            value.type = TensorType(_real_of(value.type.dtype, self.span), (*value.type.shape, 2))
            if value.constant is not None:
                value.constant = torch.view_as_real(value.constant.resolve_conj()).contiguous()
            value.thunk = None
            self.done.add(value.id)
        return value

    def is_pair(self, x: Any) -> bool:
        return isinstance(x, Value) and (x.id in self.done or _is_complex(x))

    def node(self, node: Any) -> None:
        involved = any(self.is_pair(v) for v in (*node.outputs, *operands(node)))
        if not involved:
            self.nodes.append(node)
            return
        self.span = node.span
        for value in (*node.outputs, *operands(node)):
            self.pair(value)
        if isinstance(node, HostNode):
            raise LoweringRefusal(f"{node.op} of a complex tensor", "take its real part first", node.span)
        name = node.target._schema.name.partition("::")[2]
        rule = _RULES.get(name)
        if rule is None:
            raise LoweringRefusal(op_name(node.target), "it has no rule for complex tensors", node.span)
        bound = _bind(node)
        results = rule(self, node, **bound)
        results = results if isinstance(results, list) else [results]
        for value, result in zip(node.outputs, results):
            self.nodes.append(AtenNode(aten.alias.default, (result,), {}, [value], node.span))

    # ---- writing real nodes --------------------------------------------------------------------

    def emit(self, target: Any, *args: Any, like: TensorType | None = None,
             shape: tuple | None = None, **kwargs: Any) -> Value:
        node = AtenNode(target, args, kwargs, [], self.span)
        given = like or next(v.type for v in operands(node) if isinstance(v.type, TensorType))
        node.outputs.append(Value(TensorType(given.dtype, given.shape if shape is None else tuple(shape)),
                                  self.current))
        self.nodes.append(node)
        return node.outputs[0]

    def constant(self, tensor: torch.Tensor) -> Value:
        value = Value(TensorType(tensor.dtype, tuple(tensor.shape)), None)
        value.constant = tensor
        return value

    def part(self, pair: Value, k: int) -> Value:
        return self.emit(aten.select.int, pair, -1, k, shape=pair.type.shape[:-1])

    def parts(self, x: Any) -> tuple[Any, Any]:
        """(real, imaginary); a real operand has None."""
        return (self.part(x, 0), self.part(x, 1)) if self.is_pair(x) else (x, None)

    def join(self, real: Value, imaginary: Value) -> Value:
        pair = self.emit(aten.stack.default, [real, imaginary], -1, shape=(*real.type.shape, 2))
        self.done.add(pair.id)
        return pair

    def as_pair(self, x: Any, dtype: torch.dtype) -> Value:
        """An operand as a pair: it is one, or a real tensor, or a plain number."""
        if self.is_pair(x):
            return x
        x = self.as_real(x, dtype)
        if not isinstance(x, Value):
            x = self.constant(torch.tensor(x, dtype=dtype))
        elif not isinstance(x.type, TensorType):
            raise LoweringRefusal("a complex tensor and a number known only at run time",
                                  "make it a tensor first", self.span)
        return self.join(x, self.emit(aten.zeros_like.default, x))

    def binary(self, target: Any, a: Any, b: Any, shape: tuple) -> Value:
        tensor = next(x for x in (a, b) if isinstance(x, Value) and isinstance(x.type, TensorType))
        return self.emit(target, a, b, like=TensorType(tensor.type.dtype, shape))

    def as_real(self, x: Any, dtype: torch.dtype) -> Any:
        """A real operand in the pair's precision; plain numbers stay."""
        if isinstance(x, complex):
            raise LoweringRefusal("a complex number", "use a tensor", self.span)
        if isinstance(x, Value) and isinstance(x.type, TensorType) and x.type.dtype != dtype:
            return self.emit(aten._to_copy.default, x, dtype=dtype, like=TensorType(dtype, x.type.shape))
        return x


def _real_of(dtype: torch.dtype, span: Span | None) -> torch.dtype:
    if dtype not in _REAL:
        raise LoweringRefusal(f"a tensor of {dtype}", "only complex64 and complex128 are supported", span)
    return _REAL[dtype]


def _bind(node: AtenNode) -> dict:
    """The node's arguments by name, defaults included."""
    schema = node.target._schema.arguments
    bound = {a.name: a.default_value for a in schema}
    bound.update(zip((a.name for a in schema), node.args))
    bound.update(node.kwargs)
    return {("self_" if k == "self" else k): v for k, v in bound.items()}


def _rule(*names: str):
    def register(function):
        for name in names:
            _RULES[name] = function
        return function
    return register


# ---- into and out of complex numbers ---------------------------------------------------------------


@_rule("view_as_complex", "view_as_real", "alias", "clone", "detach", "contiguous", "resolve_conj",
       "resolve_neg", "lift_fresh_copy")
def _same(p: _Pairs, node, self_, **_):
    return self_


@_rule("complex")
def _complex(p: _Pairs, node, real, imag):
    shape = node.outputs[0].type.shape[:-1]
    zero = p.constant(torch.zeros((), dtype=real.type.dtype))
    return p.join(p.binary(aten.add.Tensor, real, p.binary(aten.mul.Tensor, imag, zero, shape), shape),
                  imag if imag.type.shape == shape else p.emit(aten.expand.default, imag, list(shape), shape=shape))


@_rule("polar")
def _polar(p: _Pairs, node, abs, angle):
    shape = node.outputs[0].type.shape[:-1]
    return p.join(p.binary(aten.mul.Tensor, abs, p.emit(aten.cos.default, angle), shape),
                  p.binary(aten.mul.Tensor, abs, p.emit(aten.sin.default, angle), shape))


@_rule("_to_copy")
def _to_copy(p: _Pairs, node, self_, dtype=None, **_):
    wanted = node.outputs[0].type.dtype
    if not p.is_pair(node.outputs[0]):
        return p.as_real(p.part(self_, 0), wanted)
    return p.as_real(self_, wanted) if p.is_pair(self_) else p.as_pair(self_, wanted)


@_rule("abs")
def _abs(p: _Pairs, node, self_):
    return p.emit(aten.linalg_vector_norm.default, self_, 2, [-1], shape=self_.type.shape[:-1])


@_rule("angle")
def _angle(p: _Pairs, node, self_):
    real, imaginary = p.parts(self_)
    return p.emit(aten.atan2.default, imaginary, real)


@_rule("_conj", "conj", "conj_physical", "_conj_physical")
def _conj(p: _Pairs, node, self_):
    real, imaginary = p.parts(self_)
    return p.join(real, p.emit(aten.neg.default, imaginary))


# ---- arithmetic ---------------------------------------------------------------------------------------


@_rule("neg")
def _neg(p: _Pairs, node, self_):
    return p.emit(aten.neg.default, self_)


@_rule("add", "sub")
def _add(p: _Pairs, node, self_, other, alpha=1):
    if alpha != 1:
        raise LoweringRefusal(op_name(node.target), "alpha of complex tensors", node.span)
    type_ = node.outputs[0].type
    target = aten.add.Tensor if "add" in node.target._schema.name else aten.sub.Tensor
    return p.binary(target, *(p.as_pair(x, type_.dtype) for x in (self_, other)), type_.shape)


@_rule("rsub")
def _rsub(p: _Pairs, node, self_, other, alpha=1):
    return _add(p, node, other, self_, alpha)


@_rule("mul")
def _mul(p: _Pairs, node, self_, other):
    type_ = node.outputs[0].type
    shape = type_.shape[:-1]
    if not p.is_pair(self_):
        self_, other = other, self_
    if not p.is_pair(other):
        return _scaled(p, aten.mul.Tensor, self_, other, type_)
    return _product(p, aten.mul.Tensor, self_, other, shape)


def _product(p: _Pairs, target: Any, a: Value, b: Value, shape: tuple) -> Value:
    (ar, ai), (br, bi) = p.parts(a), p.parts(b)
    def times(x, y):
        return p.binary(target, x, y, shape)
    return p.join(p.binary(aten.sub.Tensor, times(ar, br), times(ai, bi), shape),
                  p.binary(aten.add.Tensor, times(ar, bi), times(ai, br), shape))


def _scaled(p: _Pairs, target: Any, pair: Value, by: Any, type_: TensorType) -> Value:
    by = p.as_real(by, type_.dtype)
    if isinstance(by, Value) and isinstance(by.type, TensorType):
        by = p.emit(aten.unsqueeze.default, by, -1, shape=(*by.type.shape, 1))
    return p.binary(target, pair, by, type_.shape)


@_rule("div")
def _div(p: _Pairs, node, self_, other, rounding_mode=None):
    type_ = node.outputs[0].type
    if not p.is_pair(other):
        return _scaled(p, aten.div.Tensor, self_, other, type_)
    a = p.as_pair(self_, type_.dtype)
    real, imaginary = p.parts(other)
    square = p.emit(aten.add.Tensor, p.emit(aten.mul.Tensor, real, real), p.emit(aten.mul.Tensor, imaginary, imaginary))
    turned = p.join(real, p.emit(aten.neg.default, imaginary))
    return _scaled(p, aten.div.Tensor, _product(p, aten.mul.Tensor, a, turned, type_.shape[:-1]), square, type_)


@_rule("mm", "bmm", "matmul")
def _matmul(p: _Pairs, node, self_, mat2=None, other=None):
    a, b = self_, mat2 if mat2 is not None else other
    dtype = node.outputs[0].type.dtype
    a, b = (p.as_pair(x, dtype) for x in (a, b))
    return _product(p, node.target, a, b, node.outputs[0].type.shape[:-1])


@_rule("exp")
def _exp(p: _Pairs, node, self_):
    real, imaginary = p.parts(self_)
    size = p.emit(aten.exp.default, real)
    return p.join(p.emit(aten.mul.Tensor, size, p.emit(aten.cos.default, imaginary)),
                  p.emit(aten.mul.Tensor, size, p.emit(aten.sin.default, imaginary)))


@_rule("where")
def _where(p: _Pairs, node, condition, self_, other):
    type_ = node.outputs[0].type
    both = [p.as_pair(x, type_.dtype) for x in (self_, other)]
    chosen = p.emit(aten.unsqueeze.default, condition, -1, shape=(*condition.type.shape, 1))
    return p.emit(aten.where.self, chosen, *both, like=type_)


@_rule("sum", "mean")
def _sum(p: _Pairs, node, self_, dim=None, keepdim=False, dtype=None):
    rank = len(self_.type.shape) - 1
    dims = [d % rank for d in dim] if dim else list(range(rank))
    target = aten.sum.dim_IntList if "sum" in node.target._schema.name else aten.mean.dim
    return p.emit(target, self_, dims, keepdim, like=node.outputs[0].type)


@_rule("zeros_like", "empty_like")
def _zeros(p: _Pairs, node, self_, **_):
    return p.emit(aten.zeros_like.default, self_)


# ---- shapes: the last dim stays the last ----------------------------------------------------------------


def _again(p: _Pairs, node: AtenNode, *args: Any) -> Value:
    return p.emit(node.target, *args, like=node.outputs[0].type)


@_rule("view", "_unsafe_view", "reshape")
def _view(p: _Pairs, node, self_, size=None, shape=None, **_):
    return p.emit(aten.view.default, self_, [*(size if size is not None else shape), 2], like=node.outputs[0].type)


@_rule("expand")
def _expand(p: _Pairs, node, self_, size, implicit=False):
    return p.emit(aten.expand.default, self_, [*size, 2], like=node.outputs[0].type)


@_rule("repeat")
def _repeat(p: _Pairs, node, self_, repeats):
    return _again(p, node, self_, [*repeats, 1])


@_rule("permute")
def _permute(p: _Pairs, node, self_, dims):
    rank = len(self_.type.shape) - 1
    return _again(p, node, self_, [*(d % rank for d in dims), rank])


@_rule("transpose")
def _transpose(p: _Pairs, node, self_, dim0, dim1):
    rank = len(self_.type.shape) - 1
    return _again(p, node, self_, dim0 % rank, dim1 % rank)


@_rule("t")
def _t(p: _Pairs, node, self_):
    rank = len(self_.type.shape) - 1
    return self_ if rank < 2 else p.emit(aten.transpose.int, self_, 0, 1, like=node.outputs[0].type)


@_rule("unsqueeze")
def _unsqueeze(p: _Pairs, node, self_, dim):
    return _again(p, node, self_, dim % len(self_.type.shape))


@_rule("squeeze")
def _squeeze(p: _Pairs, node, self_, dim=None):
    rank, extents = len(self_.type.shape) - 1, self_.type.shape
    if dim is None:
        if not all(isinstance(e, int) for e in extents):
            raise LoweringRefusal(op_name(node.target), "a complex tensor of extents known only at run time", node.span)
        dims = [k for k in range(rank) if extents[k] == 1]
    else:
        dims = [d % rank for d in (dim if isinstance(dim, (list, tuple)) else [dim])] if rank else []
    return p.emit(aten.squeeze.dims, self_, dims, like=node.outputs[0].type)


@_rule("select", "slice", "narrow", "index_select", "unbind", "split", "split_with_sizes", "chunk",
       "flip", "roll", "select_scatter", "slice_scatter")
def _along(p: _Pairs, node, **bound):
    """A dim, or a list of them, is counted from the front."""
    rank = len(bound["self_"].type.shape) - 1
    name = "dims" if "dims" in bound else "dim"
    dim = bound[name]
    bound[name] = [d % rank for d in dim] if isinstance(dim, (list, tuple)) else dim % rank
    if name == "dims" and not bound[name]:
        raise LoweringRefusal(op_name(node.target), "a complex tensor without dims", node.span)
    if "src" in bound:
        bound["src"] = p.as_pair(bound["src"], bound["self_"].type.dtype)
    outputs = [Value(v.type, p.current) for v in node.outputs]
    args = tuple(bound["self_" if a.name == "self" else a.name] for a in node.target._schema.arguments)
    p.nodes.append(AtenNode(node.target, args, {}, outputs, node.span))
    return outputs


@_rule("cat", "stack")
def _cat(p: _Pairs, node, tensors, dim=0):
    dtype = node.outputs[0].type.dtype
    parts = [p.as_pair(x, dtype) for x in tensors]
    rank = len(node.outputs[0].type.shape) - 1
    return p.emit(node.target, parts, dim % rank, like=node.outputs[0].type)


@_rule("index")
def _index(p: _Pairs, node, self_, indices):
    return _again(p, node, self_, indices)


# ---- Fourier transforms ------------------------------------------------------------------------------------


def _waves(n: int, m: int, forward: bool, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin of the n by m matrix of angles; angles are taken modulo the circle before they are rounded."""
    turns = (torch.arange(n)[:, None] * torch.arange(m)[None, :] % n).double() * (2 * math.pi / n)
    return turns.cos().to(dtype), (turns.sin() * (-1 if forward else 1)).to(dtype)


def _extent(x: Value, dim: int, node: AtenNode) -> int:
    n = x.type.shape[dim]
    if not isinstance(n, int) or n > _LARGEST_TRANSFORM:
        raise LoweringRefusal(op_name(node.target),
                              f"a transform of an extent known only at run time, or above {_LARGEST_TRANSFORM}",
                              node.span)
    return n


def _times(p: _Pairs, x: Value, matrix: torch.Tensor, dim: int) -> Value:
    """x with its `dim` multiplied by the matrix."""
    last = len(x.type.shape) - 1
    def swapped(y: Value) -> Value:
        if dim == last:
            return y
        shape = list(y.type.shape)
        shape[dim], shape[last] = shape[last], shape[dim]
        return p.emit(aten.transpose.int, y, dim, last, shape=shape)
    moved = swapped(x)
    product = p.emit(aten.matmul.default, moved, p.constant(matrix), shape=(*moved.type.shape[:-1], matrix.shape[1]))
    return swapped(product)


def _transform(p: _Pairs, real: Value, imaginary: Value | None, dim: int, m: int, forward: bool,
               node) -> tuple[Value, Value]:
    n = _extent(real, dim, node)
    cos, sin = _waves(n, m, forward, real.type.dtype)
    if imaginary is None:
        return _times(p, real, cos, dim), _times(p, real, sin, dim)
    return (p.emit(aten.sub.Tensor, _times(p, real, cos, dim), _times(p, imaginary, sin, dim)),
            p.emit(aten.add.Tensor, _times(p, real, sin, dim), _times(p, imaginary, cos, dim)))


def _sized(p: _Pairs, x: Value, count: int, normalization: int) -> Value:
    size = {0: 1.0, 1: 1 / math.sqrt(count), 2: 1 / count}[int(normalization)]
    return x if size == 1.0 else p.emit(aten.mul.Tensor, x, size)


@_rule("_fft_r2c")
def _r2c(p: _Pairs, node, self_, dim, normalization, onesided):
    rank = len(self_.type.shape)
    dims = [d % rank for d in dim]
    count = math.prod(_extent(self_, d, node) for d in dims)
    n = self_.type.shape[dims[-1]]
    real, imaginary = _transform(p, self_, None, dims[-1], n // 2 + 1 if onesided else n, True, node)
    for d in reversed(dims[:-1]):
        real, imaginary = _transform(p, real, imaginary, d, real.type.shape[d], True, node)
    return p.join(*(_sized(p, x, count, normalization) for x in (real, imaginary)))


@_rule("_fft_c2c")
def _c2c(p: _Pairs, node, self_, dim, normalization, forward):
    rank = len(self_.type.shape) - 1
    real, imaginary = p.parts(self_)
    dims = [d % rank for d in dim]
    count = math.prod(_extent(real, d, node) for d in dims)
    for d in dims:
        real, imaginary = _transform(p, real, imaginary, d, real.type.shape[d], forward, node)
    return p.join(*(_sized(p, x, count, normalization) for x in (real, imaginary)))


@_rule("_fft_c2r")
def _c2r(p: _Pairs, node, self_, dim, normalization, last_dim_size):
    """The last dim holds half of a spectrum whose other half mirrors it."""
    rank = len(self_.type.shape) - 1
    real, imaginary = p.parts(self_)
    dims = [d % rank for d in dim]
    if not isinstance(last_dim_size, int) or last_dim_size > _LARGEST_TRANSFORM:
        raise LoweringRefusal(op_name(node.target), "a transform to an extent known only at run time", node.span)
    for d in dims[:-1]:
        real, imaginary = _transform(p, real, imaginary, d, _extent(real, d, node), False, node)
    n, half = last_dim_size, last_dim_size // 2 + 1
    if _extent(real, dims[-1], node) != half:
        raise LoweringRefusal(op_name(node.target), "a spectrum of another length than the result's half", node.span)
    cos, sin = (w[:half] for w in _waves(n, n, False, real.type.dtype))
    weight = torch.full((half, 1), 2.0, dtype=real.type.dtype)
    weight[0] = 1.0
    if n % 2 == 0:
        weight[-1] = 1.0
    result = p.emit(aten.sub.Tensor, _times(p, real, cos * weight, dims[-1]),
                    _times(p, imaginary, sin * weight, dims[-1]))
    count = n * math.prod(real.type.shape[d] for d in dims[:-1])
    return _sized(p, result, count, normalization)

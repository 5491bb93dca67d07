# SPDX-License-Identifier: Apache-2.0
"""Which integers of a captured graph are never negative.

torch rejects a negative index in most ops that take one; ONNX counts it from the end. Conversions therefore
write a node that makes a negative index one that no engine takes (`checked_index` in onnx_index), unless the
index cannot be negative: the result of an argmax, a constant, a position. `Nonnegative` answers that, for the
operands it is asked about and what computes them, blocks' parameters and loops included.

A fact is the number of bits an integer may need: 0 <= x < 2**bits; None: it may be negative. An extent has
fewer than 2**48 elements; 63 bits say no more than that it is not negative. Facts only grow; one that grows too
often (a counter of a loop) is given up.
"""

from __future__ import annotations

from typing import Any

import torch

from ..graph.element_ranges import ALONG_A_DIM, ALONG_A_DIM_SECOND
from ..graph.program import AtenNode, Graph, HostNode, ScalarType, TensorType, Value, inputs_of, successors

_EXTENT = 48
_NO_BOUND = 63
_MOST_STEPS = 4  # how often a fact may grow before it is given up
_Fact = int | None


class Nonnegative:
    def __init__(self, graph: Graph):
        self.defined: dict[int, tuple[Any, int]] = {}  # Value.id -> its node, the number of the result
        self.incoming: dict[int, list[Value]] = {}  # of blocks' parameters
        for block in graph.reachable_blocks():
            for node in block.nodes:
                self.defined.update((v.id, (node, k)) for k, v in enumerate(node.outputs))
            for edge in successors(block):
                for param, value in zip(edge.target.params, edge.args):
                    self.incoming.setdefault(param.id, []).append(value)
        self.settled: dict[int, _Fact] = {}

    def bits(self, value: Value) -> _Fact:
        """The fact about a value; None too if it is no integer."""
        if not _integral(value):
            return None
        if value.id not in self.settled:
            self._settle(value)
        return self.settled[value.id]

    def _settle(self, value: Value) -> None:
        """The least facts that agree with what defines the value and everything it is made of."""
        part: dict[int, Value] = {}
        work = [value]
        while work:
            v = work.pop()
            if v.id in part or v.id in self.settled:
                continue
            part[v.id] = v
            work += self._sources(v)
        facts: dict[int, _Fact] = dict.fromkeys(part, 0)
        grown = dict.fromkeys(part, 0)
        changed = True
        while changed:
            changed = False
            for v in reversed(part.values()):
                old = facts[v.id]
                new = (None if old is None
                       else self._fact(v, lambda u: self.settled[u.id] if u.id in self.settled else facts[u.id]))
                if new is not None and new <= old:
                    continue
                if new != old:
                    grown[v.id] += 1
                    facts[v.id] = new if new is not None and new <= _NO_BOUND and grown[v.id] <= _MOST_STEPS else None
                    changed = True
        self.settled.update(facts)

    def _sources(self, v: Value) -> list[Value]:
        if _known(v) or v.id not in self.defined:
            return self.incoming.get(v.id, [])
        node, _ = self.defined[v.id]
        return [u for u in (node.operands if isinstance(node, HostNode) else _tensors(node)) if _integral(u)]

    def _fact(self, v: Value, of: Any) -> _Fact:
        dtype = v.type.dtype if isinstance(v.type, TensorType) else None
        if dtype == torch.bool or v.type == ScalarType("bool"):
            return 1
        if dtype == torch.uint8:
            return 8
        if v.constant is not None:
            return _bits_of(v.constant)
        if v.id in self.incoming:
            return _all([of(u) for u in self.incoming[v.id]])
        if v.id not in self.defined:
            return None
        node, k = self.defined[v.id]
        ask = lambda u: of(u) if _integral(u) else None  # noqa: E731
        return _host(node, ask) if isinstance(node, HostNode) else _fitted(_aten(node, k, ask), dtype)


def _fitted(fact: _Fact, dtype: torch.dtype | None) -> _Fact:
    """In a dtype that may be too small for it; an extent fits 32 bits."""
    if fact is None or dtype is None or not _whole(dtype):
        return fact
    room = torch.iinfo(dtype).bits - (1 if dtype.is_signed else 0)
    return fact if fact <= room else 31 if room == 31 and fact == _EXTENT else None


def _whole(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)


def _known(v: Value) -> bool:
    return v.constant is not None or isinstance(v.type, TensorType) and v.type.dtype in (torch.bool, torch.uint8)


def _integral(v: Any) -> bool:
    if not isinstance(v, Value):
        return False
    if isinstance(v.type, TensorType):
        return v.type.dtype == torch.bool or _whole(v.type.dtype)
    return isinstance(v.type, ScalarType) and v.type.kind in ("int", "bool")


def _tensors(node: AtenNode) -> list[Value]:
    return inputs_of(node)


def _bits_of(tensor: torch.Tensor) -> _Fact:
    if not tensor.numel():
        return 0
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return None
    low, high = (int(x) for x in torch.aminmax(tensor.detach().to(torch.int64)))
    return high.bit_length() if low >= 0 else None


def _all(facts: list[_Fact]) -> _Fact:
    """Of one of these."""
    return None if any(f is None for f in facts) else max(facts, default=0)


def _sum(a: _Fact, b: _Fact) -> _Fact:
    return None if a is None or b is None or max(a, b) >= _NO_BOUND - 1 else max(a, b) + 1


def _product(a: _Fact, b: _Fact) -> _Fact:
    return None if a is None or b is None or a + b > _NO_BOUND else a + b


# ---- host ops: Python's integers, which raise where they would overflow ---------------------------


def _host(node: HostNode, of: Any) -> _Fact:
    op, x = node.op, node.operands
    if op == "const":
        value = node.attrs["value"]
        return int(value).bit_length() if isinstance(value, int) and value >= 0 else None
    if op in ("dim", "size", "list.len"):
        return _EXTENT
    if op in ("item", "to_tensor", "int.to_int", "bool.to_int"):
        return of(x[0])
    if op in ("int.add", "int.mul"):
        facts = [of(u) for u in x]
        return None if None in facts else min(_NO_BOUND, max(facts) + 1 if op == "int.add" else sum(facts))
    if op in ("int.floordiv", "int.mod", "int.min"):  # of numbers below 0 only by numbers below 0
        return _all([of(u) for u in x])
    if op == "int.max":
        return _largest([of(u) for u in x])
    if op == "select":
        return _all([of(u) for u in x[1:]])
    return None


def _largest(facts: list[_Fact]) -> _Fact:
    some = [f for f in facts if f is not None]
    return None if not some else max(some) if len(some) == len(facts) else _NO_BOUND


# ---- torch's ops --------------------------------------------------------------------------------

_POSITIONS = ALONG_A_DIM | {"nonzero", "nonzero_numpy", "argwhere", "searchsorted", "bucketize", "bincount", "one_hot",
                            "count_nonzero", "tril_indices", "triu_indices"}
_MOVED = {"view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "expand", "permute",
          "transpose", "t", "select", "slice", "clone", "detach", "alias", "contiguous", "flatten", "narrow", "flip",
          "roll", "repeat", "_to_copy", "to", "lift_fresh", "lift_fresh_copy", "unbind", "split", "split_with_sizes",
          "chunk", "index", "index_select", "gather", "take", "view_as", "diagonal", "tile", "masked_select", "unfold",
          "movedim", "amax", "amin", "max", "min"}
_ALL_OF = {"cat", "stack", "minimum"}


def _aten(node: AtenNode, k: int, of: Any) -> _Fact:
    name = node.target._schema.name.removeprefix("aten::")
    args = node.args
    number = lambda i: _number(args[i], of) if len(args) > i else None  # noqa: E731
    if name in ("max", "min") and len(args) > 1 and isinstance(args[1], Value):
        name += "imum"
    if name in _POSITIONS or name in ALONG_A_DIM_SECOND and k == 1:
        return _EXTENT
    if name in ("relu", "abs"):
        return _NO_BOUND if number(0) is None else number(0)
    if name in _MOVED:
        return number(0)
    if name in _ALL_OF:
        return _all([_number(x, of) for x in (args[0] if isinstance(args[0], (list, tuple)) else args[:2])])
    if name == "where" and len(args) == 3:
        return _all([number(1), number(2)])
    if name == "maximum":
        return _largest([number(0), number(1)])
    if name in ("clamp", "clamp_min"):
        low, top = ((*args[1:], *[None] * 2)[k] if len(args) > k + 1 else node.kwargs.get(w)
                    for k, w in enumerate(("min", "max")))
        return None if _number(low, of) is None or top is not None and _number(top, of) is None else _NO_BOUND
    if name in ("bitwise_and", "__and__"):
        facts = [f for f in (number(0), number(1)) if f is not None]
        return min(facts) if facts else None
    if name in ("remainder", "fmod", "floor_divide"):
        positive = number(1) is not None
        return number(1) if positive and name == "remainder" else number(0) if positive else None
    if name == "add":
        alpha = args[2] if len(args) > 2 else node.kwargs.get("alpha", 1)
        return _sum(number(0), number(1)) if alpha == 1 else None
    if name == "mul":
        return _product(number(0), number(1))
    if name in ("sum", "cumsum"):
        return _product(number(0), _EXTENT) if isinstance(args[0], Value) else None
    return _made(name, node, of)


def _made(name: str, node: AtenNode, of: Any) -> _Fact:
    args = node.args
    if name in ("zeros", "zeros_like", "new_zeros", "ones", "ones_like", "new_ones"):
        return 1
    if name in ("full", "full_like"):
        return _number(args[1], of)
    if name == "new_full":
        return _number(args[2], of)
    if name == "scalar_tensor":
        return _number(args[0], of)
    if name == "arange":  # end | start, end | start, end, step
        start = _number(args[0], of) if len(args) > 1 else 0
        up = len(args) < 3 or isinstance(args[2], int) and args[2] > 0
        return _NO_BOUND if start is not None and up else None
    return None


def _number(x: Any, of: Any) -> _Fact:
    if isinstance(x, Value):
        return of(x)
    return (x.bit_length() if isinstance(x, int) and not isinstance(x, bool) and x >= 0
            else 1 if isinstance(x, bool) else None)

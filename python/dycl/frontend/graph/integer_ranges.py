# SPDX-License-Identifier: Apache-2.0
"""Between which bounds integers lie because of what computes them: positions (argmax, topk, nonzero), extents,
remainders, clamps, constants, and what is made of those.

A range is (least, greatest), either None where nothing is known; it holds whatever the inputs are. Tensors wrap where
they overflow, so of what may be too large for its dtype nothing is known; the program's own integers end the run.
Capture asks for numbers that it reads from tensors (`x[j:j + 1]` has one row, a dict may be keyed by j) and puts on it
what a path adds (state/path_facts.py); lowering asks `RangesOfGraph` about operands of the whole graph, loops included:
torch rejects most negative indices, ONNX counts them from the end.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

import torch

from .program import BOOL, INT, AtenNode, Graph, HostNode, ScalarType, TensorType, Value, inputs_of, successors

Range = tuple[int | None, int | None]
UNKNOWN: Range = (None, None)
NATURAL: Range = (0, None)
EXTENT: Range = (0, 2**48 - 1)  # extents, and positions along them
_MOST_GROWN = 4  # how often a bound may grow in a loop before it is given up


class IntegerRanges:
    def __init__(self, producers: dict[Value, Any], leaf: Callable[[Value], Range] = lambda value: UNKNOWN):
        self.producers = producers
        self.leaf = leaf  # what else is known of a value that nothing here computes
        self._settled: dict[Value, Range] = {}

    def of(self, value: Any) -> Range:
        if not is_integral(value):
            return UNKNOWN
        if value not in self._settled:
            self._settle(value)
        return self._settled[value]

    def given(self, value: Value) -> Range | None:
        """Of a value that needs no producer."""
        return (0, 1) if value.type == ScalarType("bool") or _dtype(value) == torch.bool else None

    def incoming(self, value: Value) -> list[Value]:
        """What edges bring to a parameter of a block; nothing where more edges may come."""
        return []

    def _settle(self, value: Value) -> None:
        """Ranges that agree with what defines the value and everything that it is made of."""
        part = self._sources_first(value)
        found: dict[Value, Range] = {}  # without an entry: not known yet
        grown: dict[Value, int] = {}
        changed = True
        while changed:
            changed = False
            for v in part:
                old, new = found.get(v), self._range(v, found)
                if new is None or new == old or old is not None and hull(old, new) == old:
                    continue
                grown[v] = grown.get(v, 0) + 1
                found[v] = new if old is None else _widened(old, new) if grown[v] > _MOST_GROWN else hull(old, new)
                changed = True
        self._settled.update((v, found.get(v, UNKNOWN)) for v in part)

    def _sources_first(self, value: Value) -> list[Value]:
        """What is not settled of the value and all that it is made of; what a loop closes comes last."""
        order: list[Value] = []
        seen, work = {value}, [(value, iter(self._sources(value)))]
        while work:
            v, rest = work[-1]
            following = next((u for u in rest if u not in seen and u not in self._settled), None)
            if following is None:
                order.append(v)
                work.pop()
            else:
                seen.add(following)
                work.append((following, iter(self._sources(following))))
        return order

    def _sources(self, v: Value) -> list[Value]:
        if self.given(v) is not None:
            return []
        node = self.producers.get(v)
        if node is None:
            return self.incoming(v)
        return [u for u in (node.operands if isinstance(node, HostNode) else inputs_of(node)) if is_integral(u)]

    def _range(self, v: Value, found: dict[Value, Range]) -> Range | None:
        """By those of its sources; None while they are not known."""
        known = self.given(v)
        if known is not None:
            return known
        node = self.producers.get(v)
        if node is None:
            edges = [found[u] if u in found else self._settled.get(u) for u in self.incoming(v)]
            return self.leaf(v) if not edges else _hulls([r for r in edges if r is not None])
        if any(u not in found and u not in self._settled for u in self._sources(v)):
            return None

        def of(u: Any) -> Range:
            if not isinstance(u, Value):  # torch wraps a number that the result's dtype cannot hold
                return _fitted((int(u), int(u)), _dtype(v)) if isinstance(u, int) else UNKNOWN
            return (found[u] if u in found else self._settled[u]) if is_integral(u) else UNKNOWN

        made = self._host(node, of) if isinstance(node, HostNode) else _aten(node, node.outputs.index(v), of)
        return _fitted(made, _dtype(v))

    def _host(self, node: HostNode, of: Callable) -> Range:
        if node.op == "float.to_int":  # of NaN or inf it raises
            return clamped(node.operands[0], self.producers)
        rule = _HOST.get(node.op)
        return rule(node, [of(u) for u in node.operands]) if rule is not None else UNKNOWN


class RangesOfGraph(IntegerRanges):
    """Of a captured graph, all of whose edges and constants are there."""

    def __init__(self, graph: Graph):
        super().__init__({})
        self._edges: dict[Value, list[Value]] = {}
        for block in graph.reachable_blocks():
            for node in block.nodes:
                self.producers.update((v, node) for v in node.outputs)
            for edge in successors(block):
                for param, value in zip(edge.target.params, edge.args):
                    self._edges.setdefault(param, []).append(value)

    def bits(self, value: Value) -> int | None:
        """0 <= x < 2**bits; None: it may be negative, or is no integer."""
        low, high = self.of(value)
        return None if low is None or low < 0 else 63 if high is None else high.bit_length()

    def given(self, value: Value) -> Range | None:
        if value.constant is not None:
            return _of_constant(value.constant)
        return (0, 255) if _dtype(value) == torch.uint8 else super().given(value)

    def incoming(self, value: Value) -> list[Value]:
        return self._edges.get(value, [])


def is_integral(v: Any) -> bool:
    if not isinstance(v, Value):
        return False
    if isinstance(v.type, TensorType):
        return not (v.type.dtype.is_floating_point or v.type.dtype.is_complex)
    return v.type in (INT, BOOL)


def _dtype(v: Value) -> torch.dtype | None:
    return v.type.dtype if isinstance(v.type, TensorType) else None


def _of_constant(tensor: torch.Tensor) -> Range:
    if not tensor.numel():
        return 0, 0
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return UNKNOWN
    low, high = (int(x) for x in torch.aminmax(tensor.detach().to(torch.int64)))
    return low, high


def _fitted(found: Range, dtype: torch.dtype | None) -> Range:
    """In a dtype that may be too small for it; an extent fits 32 bits."""
    if dtype is None or dtype == torch.bool or dtype.is_floating_point:
        return found
    limits = torch.iinfo(dtype)
    low, high = found
    high = limits.max if high == EXTENT[1] and dtype == torch.int32 else high
    fits = (low is None or low >= limits.min) and (high is None or high <= limits.max)
    return (low, high) if fits else UNKNOWN


# ---- arithmetic of ranges ---------------------------------------------------------------------------


def hull(a: Range, b: Range) -> Range:
    return outer(min, a[0], b[0]), outer(max, a[1], b[1])


def outer(pick: Callable, x: int | None, y: int | None) -> int | None:
    return None if x is None or y is None else pick(x, y)


def inner(pick: Callable, x: int | None, y: int | None) -> int | None:
    return y if x is None else x if y is None else pick(x, y)


def of_two(pick: Callable, a: Range, b: Range) -> Range:
    """Of the lesser or the greater (`pick`: min or max) of two numbers."""
    if pick is min:
        return outer(min, a[0], b[0]), inner(min, a[1], b[1])
    return inner(max, a[0], b[0]), outer(max, a[1], b[1])


def _hulls(ranges: list[Range]) -> Range | None:
    found = None
    for r in ranges:
        found = r if found is None else hull(found, r)
    return found


def _widened(old: Range, new: Range) -> Range:
    both = hull(old, new)
    return old[0] if both[0] == old[0] else None, old[1] if both[1] == old[1] else None


def _sum(a: Range, b: Range) -> Range:
    return outer(int.__add__, a[0], b[0]), outer(int.__add__, a[1], b[1])


def _difference(a: Range, b: Range) -> Range:
    return outer(int.__sub__, a[0], b[1]), outer(int.__sub__, a[1], b[0])


def _product(a: Range, b: Range) -> Range:
    ends = [x * y for x in a for y in b if x is not None and y is not None]
    if len(ends) == 4:
        return min(ends), max(ends)
    return NATURAL if is_natural(a) and is_natural(b) else UNKNOWN


def _whole(found: Range) -> Range:
    """Of arithmetic on tensors, which wraps: known on both sides or not at all."""
    return UNKNOWN if None in found else found


def is_natural(a: Range) -> bool:
    return a[0] is not None and a[0] >= 0


def _quotient(a: Range, b: Range) -> Range:
    return (0, a[1]) if is_natural(a) and is_natural(b) else UNKNOWN


def _remainder(a: Range, b: Range) -> Range:
    """Of the sign of the divisor, and nearer to 0; by 0 it raises."""
    if not is_natural(b):
        return UNKNOWN
    return 0, inner(min, None if b[1] is None else max(b[1] - 1, 0), a[1] if is_natural(a) else None)


# ---- host ops: Python's integers, which raise where they would overflow --------------------------------

_HOST: dict[str, Callable] = {
    "const": lambda node, x: (int(v), int(v)) if isinstance(v := node.attrs["value"], int) else UNKNOWN,
    **dict.fromkeys(("dim", "size", "list.len"), lambda node, x: EXTENT),
    **dict.fromkeys(("item", "to_tensor", "int.to_int", "bool.to_int"), lambda node, x: x[0]),
    "int.add": lambda node, x: _sum(*x),
    "int.sub": lambda node, x: _difference(*x),
    "int.mul": lambda node, x: _product(*x),
    "int.floordiv": lambda node, x: _quotient(*x),
    "int.mod": lambda node, x: _remainder(*x),
    "int.min": lambda node, x: of_two(min, *x),
    "int.max": lambda node, x: of_two(max, *x),
    "select": lambda node, x: hull(x[1], x[2]),
}


def clamped(number: Value, producers: Mapping[Value, Any]) -> Range:
    """The limits between which a float lies that is read from a clamped tensor, towards zero; NaN aside."""
    node = producers.get(number)
    if not isinstance(node, HostNode) or node.op != "item":
        return UNKNOWN
    node = producers.get(node.operands[0])
    if not isinstance(node, AtenNode) or node.target._schema.name != "aten::clamp":
        return UNKNOWN
    dtype = _dtype(node.outputs[0])
    low, high = (float(torch.tensor(x, dtype=dtype)) if type(x) in (int, float) else None
                 for x in (_argument(node, "min"), _argument(node, "max")))
    if low is not None and high is not None and not low <= high:
        return UNKNOWN
    least, greatest = (int(x) if x is not None and abs(x) < 2**31 else None for x in (low, high))
    return least, greatest


# ---- torch's ops -----------------------------------------------------------------------------------------


def _argument(node: AtenNode, name: str) -> Any:
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.name == name:
            if name in node.kwargs:
                return node.kwargs[name]
            return node.args[place] if place < len(node.args) else argument.default_value
    return None


def _aten(node: AtenNode, k: int, of: Callable) -> Range:
    """Of the k-th result."""
    name = node.target._schema.name.partition("::")[2]
    if name in _ALONG_SECOND and k == 1:
        return _along(node)
    if name in ("max", "min") and len(node.args) > 1 and isinstance(node.args[1], Value):
        name += "imum"
    rule = _ATEN.get(name)
    return rule(node, of) if rule is not None else UNKNOWN


def _along(node: AtenNode) -> Range:
    """Positions along a dim; without a dim, in the flattened tensor."""
    shape, dim = node.args[0].type.shape, _argument(node, "dim")
    extents = shape if dim is None else (shape[dim],) if type(dim) is int and shape else ()
    count = 1
    for extent in extents:
        if type(extent) is not int:
            return EXTENT
        count *= extent
    return (0, count - 1) if extents and count > 0 else EXTENT


def _same(node: AtenNode, of: Callable) -> Range:
    return of(node.args[0])


def _converted(node: AtenNode, of: Callable) -> Range:
    """What the target cannot hold wraps: nothing is known unless both ends fit it (see _fitted)."""
    source, target = _dtype(node.args[0]), _dtype(node.outputs[0])
    found = of(node.args[0])
    if source == torch.uint8:
        found = inner(max, found[0], 0), inner(min, found[1], 255)
    return found if source in (torch.bool, target) else _whole(found)


def _clamp(node: AtenNode, of: Callable) -> Range:
    low, high = (_argument(node, name) for name in ("min", "max"))
    found = of(node.args[0])
    found = found if low is None else of_two(max, found, of(low))
    return found if high is None else of_two(min, found, of(high))


def _abs(node: AtenNode, of: Callable) -> Range:
    """The least number of a dtype has no positive one: it stays as it is."""
    low, high = of(node.args[0])
    if low is not None and low >= 0:
        return low, high
    dtype = _dtype(node.outputs[0])
    if low is None or dtype is None or low <= torch.iinfo(dtype).min:
        return UNKNOWN
    return 0, None if high is None else max(-low, high)


def _bitwise_and(node: AtenNode, of: Callable) -> Range:
    naturals = [r for r in map(of, node.args[:2]) if is_natural(r)]
    return (0, _lowest([r[1] for r in naturals])) if naturals else UNKNOWN


def _lowest(bounds: list) -> int | None:
    known = [b for b in bounds if b is not None]
    return min(known) if known else None


def _scaled(combine: Callable) -> Callable:
    def rule(node: AtenNode, of: Callable) -> Range:
        return _whole(combine(*map(of, node.args[:2]))) if _argument(node, "alpha") in (None, 1) else UNKNOWN

    return rule


def _summed(node: AtenNode, of: Callable) -> Range:
    low, high = _product(of(node.args[0]), (0, EXTENT[1]))
    return _whole((low, high))


def _counted(node: AtenNode, of: Callable) -> Range:
    """arange: end | start, end | start, end, step."""
    step = node.args[2] if len(node.args) > 2 else 1
    start = of(node.args[0]) if len(node.args) > 1 else (0, 0)
    return NATURAL if is_natural(start) and type(step) is int and step > 0 else UNKNOWN


def _each(*names: str, rule: Callable) -> dict[str, Callable]:
    return dict.fromkeys(names, rule)


_ALONG_SECOND = {"topk", "sort", "max", "min", "kthvalue", "mode", "median", "nanmedian", "cummax", "cummin"}
_ATEN: dict[str, Callable] = {
    **_each("argmax", "argmin", "argsort", rule=lambda node, of: _along(node)),
    **_each("nonzero", "nonzero_numpy", "argwhere", "searchsorted", "bucketize", "bincount", "one_hot", "count_nonzero",
            "tril_indices", "triu_indices", rule=lambda node, of: EXTENT),
    **_each("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "expand", "permute", "transpose", "t", "select",
            "slice", "clone", "detach", "alias", "contiguous", "flatten", "narrow", "flip", "roll", "repeat",
            "lift_fresh", "lift_fresh_copy", "unbind", "split", "split_with_sizes", "chunk", "index", "index_select",
            "gather", "take", "view_as", "diagonal", "tile", "masked_select", "unfold", "movedim", "amax", "amin",
            "max", "min", "topk", "sort", "kthvalue", "mode", "median", "cummax", "cummin", rule=_same),
    **_each("_to_copy", "to", rule=_converted),
    **_each("cat", "stack", rule=lambda node, of: _hulls([of(x) for x in node.args[0]]) or UNKNOWN),
    "where": lambda node, of: hull(of(node.args[1]), of(node.args[2])) if len(node.args) == 3 else EXTENT,
    "minimum": lambda node, of: of_two(min, *map(of, node.args[:2])),
    "maximum": lambda node, of: of_two(max, *map(of, node.args[:2])),
    "relu": lambda node, of: of_two(max, of(node.args[0]), (0, 0)),
    "abs": _abs,
    **_each("clamp", "clamp_min", "clamp_max", rule=_clamp),
    **_each("bitwise_and", "__and__", rule=_bitwise_and),
    "remainder": lambda node, of: _remainder(*map(of, node.args[:2])),
    **_each("fmod", "floor_divide", rule=lambda node, of: _quotient(*map(of, node.args[:2]))),
    "add": _scaled(_sum),
    "sub": _scaled(_difference),
    "mul": _scaled(_product),
    **_each("sum", "cumsum", rule=_summed),
    **_each("zeros", "zeros_like", "new_zeros", rule=lambda node, of: (0, 0)),
    **_each("ones", "ones_like", "new_ones", rule=lambda node, of: (1, 1)),
    **_each("full", "full_like", rule=lambda node, of: of(node.args[1])),
    "new_full": lambda node, of: of(node.args[2]),
    "scalar_tensor": lambda node, of: of(node.args[0]),
    "arange": _counted,
}

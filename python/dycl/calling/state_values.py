# SPDX-License-Identifier: Apache-2.0
"""What an attribute may hold from call to call, as templates: values known while compiling (Static), and open ones (any
tensor of a shape, any number, a structure of them)."""

from __future__ import annotations

import dataclasses
from typing import Any, Iterator

import torch

from .nodes import Dict, Node, Object, structure_of
from .templates import NUMBERS, Equal, Made, Number, Static, Template, Tensor


class _Absent:
    """Among the values that an attribute may have: none, it is not there."""

    def __repr__(self) -> str:
        return "<absent>"

    def __copy__(self) -> "_Absent":
        return self

    def __deepcopy__(self, memo: dict) -> "_Absent":
        return self


ABSENT = _Absent()
_ZEROS: dict[str, Any] = {"bool": False, "int": 0, "float": 0.0}


def parts_of(value: Any) -> tuple | None:
    """What a tuple, list, dict or plain object holds; None: of what has no such parts."""
    node = structure_of(value)
    return None if node is None else node.contents(value)[1]


def structure(value: Any, items: Any) -> Node:
    """A node for a value that has parts, with these templates of them."""
    node, keys = structure_of(value), {}
    if node in (Dict, Object):
        keys = {"names": node.contents(value)[0]}
    return node(type(value), tuple(items), **keys)


def opened(known: Template) -> Template:
    """A stand-in for values like a known one: any tensors and numbers in the same structure."""
    if known.is_open or not isinstance(known, Static):
        return known
    value = known.value
    if isinstance(value, torch.Tensor):
        return Tensor(value.dtype, tuple(value.shape))
    parts = parts_of(value)
    if parts is None:
        return known
    return structure(value, [Number(NUMBERS[type(x)]) if type(x) in NUMBERS else opened(Static(x)) for x in parts])


def joined(a: Template, b: Template, equal: Equal) -> Template | None:
    """One structure for both; None if there is none."""
    if isinstance(a, Static) and isinstance(b, Static):
        return a if equal(a.value, b.value) else None
    if type(a) is not type(b):
        return None
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return _joined_tensors(a, b)
    if not isinstance(a, Node) or not isinstance(b, Node):
        return a if a == b else None
    if a.cls is not b.cls or a.keys() != b.keys():
        return None
    items = [joined(x, y, equal) for x, y in zip(a.items, b.items)]
    return None if None in items else dataclasses.replace(a, items=tuple(items))  # type: ignore[arg-type]


def _joined_tensors(a: Tensor, b: Tensor) -> Tensor | None:
    mine, other = a.shape or (), b.shape or ()
    if a.dtype != b.dtype or len(mine) != len(other):
        return None
    return Tensor(a.dtype, tuple(x if type(y) is int and x == y else None for x, y in zip(mine, other)))


def alike(a: Template, b: Template) -> bool:
    """Stand-ins for the same values."""
    if isinstance(a, Node) and isinstance(b, Node):
        return (a.cls, a.keys()) == (b.cls, b.keys()) and all(
            alike(x, y) or isinstance(x, Static) and isinstance(y, Static) and x.value is y.value
            for x, y in zip(a.items, b.items))
    return a.is_open and a == b


def empty(leaf: Template) -> Any:
    """A value that fits an open leaf."""
    if isinstance(leaf, Tensor):
        return torch.zeros([d or 0 for d in leaf.shape or ()], dtype=leaf.dtype)
    return _ZEROS[leaf.kind]


def filled(known: Template, leaves: Iterator, new: Any = None, build: Any = None) -> Any:
    """The value with these at its leaves; `new` is called with every list, dict and object that is made. `build`: what
    makes values of classes in the place of the class (calling/nodes.py:Built)."""
    made = Made(build=build)
    found = known.rebuild(leaves, made)
    for x in made if new is not None else ():
        if not isinstance(x, (torch.Tensor, tuple)):
            new(x)
    return found


def tensors_of(value: Any, depth: int = 8) -> Any:
    """The dense tensors in a value, and in what it holds."""
    if isinstance(value, torch.Tensor):
        if not value.is_meta and value.layout is torch.strided:
            yield value
        return
    for part in (parts_of(value) or ()) if depth else ():
        yield from tensors_of(part, depth - 1)

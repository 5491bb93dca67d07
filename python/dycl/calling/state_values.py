# SPDX-License-Identifier: Apache-2.0
"""What an attribute may hold from call to call: values known while compiling, and open ones (any tensor,
any number, a structure of them)."""

from __future__ import annotations

from typing import Any

import torch

from ..objects import plain_object


class _Absent:
    """Among the values that an attribute may have: none, it is not there."""

    def __repr__(self) -> str:
        return "<absent>"

    def __copy__(self) -> "_Absent":
        return self

    def __deepcopy__(self, memo: dict) -> "_Absent":
        return self


ABSENT = _Absent()


class Slot:
    """Among the values that an attribute may have: any tensor of this dtype and shape; None stands for any extent."""

    def __init__(self, dtype: torch.dtype, shape: tuple):
        self.dtype, self.shape = dtype, tuple(shape)

    def fits(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.dtype == self.dtype and value.dim() == len(self.shape) and all(
            mine is None or type(given) is int and mine == given for mine, given in zip(self.shape, value.shape))

    def empty(self) -> torch.Tensor:
        return torch.zeros([d or 0 for d in self.shape], dtype=self.dtype)

    @property
    def open_axes(self) -> frozenset:
        return frozenset(axis for axis, extent in enumerate(self.shape) if extent is None)

    def joined(self, other: torch.Tensor | Slot) -> Slot | None:
        """A slot for both, if dtype and rank agree."""
        if other.dtype != self.dtype or len(other.shape) != len(self.shape):
            return None
        return Slot(self.dtype,
                    tuple(a if type(b) is int and a == b else None for a, b in zip(self.shape, other.shape)))


_NUMBERS = {int: "int", float: "float", bool: "bool"}


class Number:
    """Among the values that an attribute may have: any number of this kind ("int", "float", "bool")."""

    def __init__(self, kind: str):
        self.kind = kind

    def fits(self, value: Any) -> bool:
        # what stands in for a number says which
        return getattr(type(value), "dycl_number", _NUMBERS.get(type(value))) == self.kind

    def empty(self) -> Any:
        return next(kind for kind, name in _NUMBERS.items() if name == self.kind)()

    def joined(self, other: Any) -> "Number | None":
        return self if isinstance(other, Number) and other.kind == self.kind else None


class Compound:
    """Among the values that an attribute may have: a tuple, list, dict or plain object of one structure. `parts`:
    Slots, Numbers, Compounds, and values known while compiling. A list,
    dict or object of a state is made anew by every call."""

    def __init__(self, cls: type, keys: tuple, parts: tuple):
        self.cls, self.keys, self.parts = cls, keys, parts

    @staticmethod
    def split(value: Any) -> tuple | None:
        """(keys, parts) of what has parts; None: of what has none."""
        if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_fields")) or type(value) is list:
            return tuple(range(len(value))), tuple(value)
        if type(value) is dict:
            return tuple(value), tuple(value.values())
        return (tuple(vars(value)), tuple(vars(value).values())) if plain_object(value) else None

    def fits(self, value: Any, equal: Any) -> bool:
        """`equal(known, value)`: whether a value is the known one."""
        if type(value) is not self.cls:
            return False
        keys, parts = self.split(value)  # type: ignore[misc]  # what is of this class has parts
        return keys == self.keys and all(fits(mine, given, equal) for mine, given in zip(self.parts, parts))

    def leaves(self) -> list:
        """Slots and Numbers, in order."""
        return [leaf for part in self.parts for leaf in open_leaves(part)]

    def taken(self, value: Any) -> list:
        """The values at the leaves."""
        _, parts = self.split(value)  # type: ignore[misc]  # it fits
        return [x for mine, given in zip(self.parts, parts) for x in taken(mine, given)]

    def filled(self, leaves: Any, new: Any = lambda made: made) -> Any:
        """`leaves`: an iterator; `new(made)` is called with every list, dict and object."""
        parts = [filled(part, leaves, new) for part in self.parts]
        if issubclass(self.cls, tuple):
            return tuple.__new__(self.cls, parts)
        if self.cls is list:
            return new(parts)
        if self.cls is dict:
            return new(dict(zip(self.keys, parts)))
        made = object.__new__(self.cls)
        made.__dict__.update(zip(self.keys, parts))
        return new(made)

    def joined(self, other: Any, equal: Any = None) -> "Compound | None":
        """One structure for both; None if there is none."""
        if not isinstance(other, Compound) or other.cls is not self.cls or other.keys != self.keys:
            return None
        parts = []
        for a, b in zip(self.parts, other.parts):
            if isinstance(a, OPEN) and isinstance(b, OPEN):
                parts.append(a.joined(b, equal) if isinstance(a, Compound)
                             else a.joined(b) if type(a) is type(b) else None)
            else:
                parts.append(a if not isinstance(a, OPEN) and not isinstance(b, OPEN) and equal(a, b) else None)
            if parts[-1] is None and not (a is None and b is None):
                return None
        return Compound(self.cls, self.keys, tuple(parts))

    def shapes(self) -> tuple:
        return tuple(leaf.shape if isinstance(leaf, Slot) else leaf.kind for leaf in self.leaves())


OPEN = (Slot, Number, Compound)  # what stands for values that calls compute


def fits(known: Any, value: Any, equal: Any) -> bool:
    """Whether a value is, or is one of, what is known of an attribute."""
    if isinstance(known, Compound):
        return known.fits(value, equal)
    return known.fits(value) if isinstance(known, (Slot, Number)) else equal(known, value)


def open_leaves(known: Any) -> list:
    return known.leaves() if isinstance(known, Compound) else [known] if isinstance(known, OPEN) else []


def taken(known: Any, value: Any) -> list:
    return known.taken(value) if isinstance(known, Compound) else [value] if isinstance(known, OPEN) else []


def filled(known: Any, leaves: Any, new: Any = lambda made: made) -> Any:
    return (known.filled(leaves, new) if isinstance(known, Compound)
            else next(leaves) if isinstance(known, OPEN) else known)


def opened(known: Any) -> Any:
    """A stand-in for values like a known one: any tensors and numbers in the same structure."""
    if isinstance(known, torch.Tensor):
        return Slot(known.dtype, tuple(known.shape))
    found = Compound.split(known)
    if found is None or isinstance(known, OPEN):
        return known
    return Compound(type(known), found[0],
                    tuple(Number(type(x).__name__) if type(x) in (bool, int, float) else opened(x) for x in found[1]))


def alike(a: Any, b: Any) -> bool:
    """Stand-ins for the same values."""
    if isinstance(a, Slot) and isinstance(b, Slot):
        return (a.dtype, a.shape) == (b.dtype, b.shape)
    return isinstance(a, Compound) and isinstance(b, Compound) and (a.cls, a.keys) == (b.cls, b.keys) and all(
        alike(x, y) or isinstance(x, Number) and isinstance(y, Number) and x.kind == y.kind or x is y
        for x, y in zip(a.parts, b.parts))


def tensors_of(value: Any, depth: int = 8) -> Any:
    """The dense tensors in a value, and in what it holds."""
    if isinstance(value, torch.Tensor):
        if not value.is_meta and value.layout is torch.strided:
            yield value
        return
    found = Compound.split(value) if depth and not isinstance(value, OPEN) else None
    for part in found[1] if found is not None else ():
        yield from tensors_of(part, depth - 1)

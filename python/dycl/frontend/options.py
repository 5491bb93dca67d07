# SPDX-License-Identifier: Apache-2.0
"""Limits and switches of capture, in one place, and what the user declared of the arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError, unknown_name

_NUMBERS = {int: "int", float: "float", bool: "bool"}


@dataclass
class Options:
    # argument name or index -> {axis: symbol name, (least, greatest) or torch.export.Dim}
    dynamic_dims: dict = field(default_factory=dict)
    ranges: dict = field(default_factory=dict)  # symbol name -> (min, max)
    dynamic_args: dict = field(default_factory=dict)  # argument name -> int, float or bool: known only at run time
    allow_training: bool = False  # capture modules that are in training mode
    allow_raise: bool = False  # take a model that raises on its own example
    max_iterations: int = 0  # limit of each run-time loop; 0: the runtime's default
    max_unroll: int = 64  # iterations of a loop with a static bound before a back edge is tried
    # the same if nobody reads the numbers of its range, or if a list or a None ends the loop on some paths
    max_alike: int = 8
    max_unrolled_iterations: int = 100  # iterations of a loop that cannot have a back edge
    max_static_iterations: int = 100_000  # iterations of a loop that the input does not touch
    max_widenings: int = 12  # how often a loop's header may be generalised
    max_kinds: int = 3  # headers of one loop for states that cannot be one
    max_peeled: int = 3  # iterations put in front of a header that fits only later ones
    max_states: int = 1024  # states alive at once
    max_apart: int = 32  # states alive at once before those that one instruction split meet right after it
    max_waiting: int = 64  # states alive at once before those that meet are merged whatever they differ in
    max_int_variants: int = 4  # states that differ in static integers, kept apart at one point
    max_variants: int = 8  # specialised states at one point before differing shapes are merged
    max_switch: int = 256  # possible values of a run-time index into a Python sequence
    max_depth: int = 1000  # nested calls, as in Python
    max_recursion: int = 100  # nested calls of one function whose end the run decides
    max_recursive_calls: int = 500  # calls after that: those of a recursion that branches double with each level
    max_restarts: int = 64
    heard: Callable[[str], None] | None = None  # is told every second how far capture is

    def __post_init__(self) -> None:
        self.ranges = {name: _range(bounds, f"ranges[{name!r}]") for name, bounds in self.ranges.items()}
        self.dynamic_dims = {key: self._axes(key, wanted) for key, wanted in self.dynamic_dims.items()}
        for name, kind in self.dynamic_args.items():
            if kind not in _NUMBERS:
                raise InputError(f"dynamic_args[{name!r}] is {getattr(kind, '__name__', kind)!r}; it may be int, float "
                                 "or bool (tensors are always known only at run time)")

    # ---- extents -----------------------------------------------------------------------------

    def _axes(self, key: Any, wanted: Any) -> dict[int, str]:
        """{axis: symbol}, from what the user may write: that, axes, or one entry for each axis."""
        if isinstance(wanted, dict):
            entries: Iterable = wanted.items()
        elif all(isinstance(axis, int) for axis in wanted):
            entries = ((axis, _Unnamed) for axis in wanted)
        else:
            entries = enumerate(wanted)
        named = {axis: self._symbol(extent, f"{_word(key)}_{axis}", f"dynamic_dims[{key!r}][{axis!r}]")
                 for axis, extent in entries}
        return {axis: name for axis, name in named.items() if name is not None}

    def _symbol(self, extent: Any, unnamed: str, place: str) -> str | None:
        if isinstance(extent, str):
            return extent
        if extent is None or type(extent) is int:  # as torch.export has it: this extent stays
            return None
        if isinstance(extent, (tuple, list)):
            self._note_range(unnamed, _range(extent, place), place)
            return unnamed
        if extent is _Unnamed or type(extent).__name__ == "_DimHint":  # Dim.AUTO, Dim.DYNAMIC
            return unnamed
        if not hasattr(extent, "min") or not hasattr(extent, "max") or hasattr(extent, "root"):
            raise InputError(f"{place} is {extent!r}; give a name, (least, greatest) or a torch.export.Dim that is not "
                             "computed from another one")
        name, low, high = extent.__name__, extent.min, extent.max
        if low or isinstance(high, int):
            self._note_range(name, (max(low, 1), high if isinstance(high, int) else 2**31 - 1), place)
        return name

    def _note_range(self, name: str, bounds: tuple[int, int], place: str) -> None:
        if self.ranges.setdefault(name, bounds) != bounds:
            raise InputError(f"{place}: {name} is to be {bounds[0]} to {bounds[1]} here and {self.ranges[name][0]} to "
                             f"{self.ranges[name][1]} elsewhere")

    def dims_of(self, path: str, arguments: list[str], rank: int) -> dict[int, str]:
        """What is declared of the argument's extents."""
        found = self.dynamic_dims.get(path)
        if found is None and path in arguments:
            found = self.dynamic_dims.get(arguments.index(path))
        for axis in found or ():
            if not isinstance(axis, int) or not -rank <= axis < rank:
                raise InputError(f"dynamic_dims: {path} has no axis {axis!r}; it has {rank}")
        return found or {}

    def check_names(self, arguments: list[str], tensors: list[str], numbers: list[str]) -> None:
        """Every name that was declared is there. `tensors` and `numbers`: the places of such arguments."""
        for key in self.dynamic_dims:
            places = [*tensors, *range(len(arguments))]
            if key not in places or isinstance(key, int) and arguments[key] not in tensors:
                raise InputError(f"dynamic_dims: {unknown_name('tensor among the arguments', key, tensors)}")
        symbols = {name for axes in self.dynamic_dims.values() for name in axes.values()}
        for name in self.ranges:
            if name not in symbols:
                raise InputError(f"ranges: {unknown_name('dynamic dim', name, sorted(symbols))}")
        for name in self.dynamic_args:
            if name not in numbers:
                raise InputError(f"dynamic_args: {unknown_name('number among the arguments', name, numbers)}")


class _Unnamed:
    """An axis of which nothing is said but that it is dynamic."""


def _word(key: Any) -> str:
    return f"arg{key}" if isinstance(key, int) else re.sub(r"\W+", "_", str(key)).strip("_") or "dim"


def _range(bounds: Any, place: str) -> tuple[int, int]:
    if (not isinstance(bounds, (tuple, list)) or len(bounds) != 2 or not all(type(b) is int for b in bounds)
            or not 0 <= bounds[0] <= bounds[1]):
        raise InputError(f"{place} is {bounds!r}; give (least, greatest)")
    return bounds[0], bounds[1]

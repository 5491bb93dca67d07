# SPDX-License-Identifier: Apache-2.0
"""Containers of Python's that are made of lists, whose length may be known only at run time: its *columns*.

A kind of them derives from `Growing` and says what its columns are, and what is made again of their templates. That is
all that results and states between calls (boundary/states/container.py) need to know of it. Its methods are interpreted
(polyfills/), and change the columns.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ...calling.templates import Template
from .list import RtList
from .stand_in import InterpretedStandIn


class Growing(InterpretedStandIn):
    """One is as long as its columns."""

    def columns_of(self) -> tuple:
        raise NotImplementedError(type(self))

    def put_columns(self, columns: tuple) -> None:
        """Of one that was just made."""
        raise NotImplementedError(type(self))

    def described(self, parts: tuple) -> Template:
        """What it is made again from, by templates of its columns."""
        raise NotImplementedError(type(self))

    def flattened(self, flattener: Any, path: str) -> Template:
        return flattener.node(self, path, lambda each: self.described(
            tuple(each(column, "") for column in self.columns_of())))


# class of Python's -> what makes a known one, of this class exactly, one of the kind
GROWING: dict[type, Callable[[Any, Any], Growing]] = {}


class Columns(NamedTuple):
    """A container taken apart. `whole`: the kind that it is; None: a list, which is its only column."""

    lists: tuple
    whole: Growing | None

    def described(self, parts: tuple) -> Template:
        return parts[0] if self.whole is None else self.whole.described(parts)


def grows(x: Any) -> bool:
    """Whether what it holds may be in lists of run-time length."""
    return isinstance(x, Growing) or type(x) in GROWING or type(x) is list or isinstance(x, RtList) and not x.frozen


def taken_apart(m: Any, x: Any) -> Columns | None:
    """None: of what is no such container."""
    if not grows(x):
        return None
    made = GROWING.get(type(x))
    whole = x if isinstance(x, Growing) else None if made is None else made(m, x)
    return Columns((x,), None) if whole is None else Columns(whole.columns_of(), whole)

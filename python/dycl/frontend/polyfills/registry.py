# SPDX-License-Identifier: Apache-2.0
"""What a polyfill stands in for, said at the polyfill by a decorator that leaves it as it is.

`library/interpreted.py` makes calls of the one calls of the other. Unlike its neighbours this file is run.
"""

from __future__ import annotations

from typing import Any, Callable

from ..values.list import RtList

POLYFILLS: dict[Any, Callable] = {}  # native function -> polyfill
WHEN: dict[Callable, Any] = {}  # polyfill -> a condition on the arguments, None or `on_request`
ITERATORS: dict[Callable, Any] = {}  # generator -> an iterator of the class that its own have for the program

on_request = object()  # a handler of the function, or of calls of the method, says when: it looks into POLYFILLS


def with_run_time_list(args: tuple, kwargs: dict) -> bool:
    """The first argument is a list whose length is known only at run time."""
    return bool(args) and isinstance(args[0], RtList)


def substitutes(*functions: Any, when: Any = None, gives: Callable | None = None, like: Any = None) -> Callable:
    """The decorated polyfill is interpreted in place of these (None: this Python has no such function), always or
    `when` its arguments are so. For the program, iterators of the generator `gives` are of the class of `like`."""
    def register(polyfill):
        native = [f for f in functions if f is not None]
        assert POLYFILLS.keys().isdisjoint(native), f"{native} have two polyfills"
        POLYFILLS.update(dict.fromkeys(native, polyfill))
        WHEN[polyfill] = when
        if gives is not None:
            ITERATORS[gives] = like
        return polyfill

    return register

# SPDX-License-Identifier: Apache-2.0
"""Schemas of ATen ops: arguments by name, and the functional op of one that writes in place."""

from __future__ import annotations

from typing import Any

import torch

from ..diagnostics import CaptureRefusal

_functional: dict[Any, Any] = {}


# -- the functional form of an op ----------------------------------------------------------


def is_out_variant(func) -> bool:
    return any(a.is_out for a in func._schema.arguments)


def written(func) -> list:
    """Its arguments that it writes to."""
    return [a for a in func._schema.arguments if a.alias_info is not None and a.alias_info.is_write]


def functional_form(func) -> Any:
    found = _functional.get(func)
    if found is None:
        found = _functional[func] = _find_functional(func)
    return found


def _find_functional(func) -> Any:
    namespace, name = func._schema.name.split("::")
    wanted = [(a.name, _plain(a)) for a in func._schema.arguments if not a.is_out]
    names = [name] if is_out_variant(func) else [name[:-1]] if name.endswith("_") else [name + "_functional"]
    for candidate in names:
        packet = getattr(getattr(torch.ops, namespace), candidate, None)
        for overload in packet.overloads() if packet is not None else ():
            op = getattr(packet, overload)
            if written(op):
                continue
            mine = [(a.name, _plain(a)) for a in op._schema.arguments]
            if (sorted(wanted) == sorted(mine) or is_out_variant(func)
                    and sorted(wanted) == sorted(a for a in mine if a[0] not in _OF_NEW_ONES)):
                return op
    raise CaptureRefusal(f"{func} writes in place and has no functional form", "use the form that returns a new tensor",
                         kind="inplace.op")


_OF_NEW_ONES = ("dtype", "layout", "device", "pin_memory")  # torch.eye and kin: with out=, what that has


def _plain(argument) -> str:
    return str(argument.type)


def bind(func, args: tuple, kwargs: dict) -> dict[str, Any]:
    """Arguments by name, defaults filled in."""
    bound = {}
    for index, a in enumerate(func._schema.arguments):
        if index < len(args) and not a.kwarg_only:
            bound[a.name] = args[index]
        elif a.name in kwargs:
            bound[a.name] = kwargs[a.name]
        else:
            bound[a.name] = a.default_value
    return bound

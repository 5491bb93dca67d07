# SPDX-License-Identifier: Apache-2.0
"""Where a state between calls lives: an attribute of an object, an entry of a dict, an element of a list."""

from __future__ import annotations

import copy
from typing import Any

from ..objects import is_slot
from .nodes import refill
from .state_values import ABSENT

CONTENTS = "*"  # in a key's place: all that a container holds


def read(owner: Any, key: Any) -> Any:
    """What is there, or ABSENT."""
    if key == CONTENTS and isinstance(owner, (list, dict, set)):
        return copy.copy(owner)
    if isinstance(owner, list):
        return owner[key] if key < len(owner) else ABSENT
    if is_slot(owner, key):
        return getattr(owner, key, ABSENT)
    return _table(owner).get(key, ABSENT)


def write(owner: Any, key: Any, value: Any) -> None:
    """ABSENT removes it."""
    if key == CONTENTS and isinstance(owner, (list, dict, set)):
        return refill(owner, value)
    if isinstance(owner, list):
        owner[key] = value
    elif is_slot(owner, key):
        object.__setattr__(owner, key, value) if value is not ABSENT else object.__delattr__(owner, key)
    elif value is ABSENT:
        _table(owner).pop(key, None)
    else:
        _table(owner)[key] = value


def label(owner: Any, key: Any) -> str:
    if key == CONTENTS:
        return type(owner).__name__
    if isinstance(owner, list):
        return f"list_{key}"
    return str(key) if isinstance(owner, dict) else f"{type(owner).__name__}.{key}"


def holders(root: Any, wanted: set[int]) -> list[tuple[Any, Any, Any]]:
    """(holder, key, container) for the lists and dicts whose ids are wanted,
    found in the model or one level inside it."""
    found: list = []
    if not wanted:
        return found
    for module in root.modules() if hasattr(root, "modules") else [root]:
        inside = [module, *(v for v in getattr(module, "__dict__", {}).values() if type(v) in (list, dict))]
        for holder in inside:
            items = (enumerate(holder) if type(holder) is list
                     else getattr(holder, "__dict__", holder if type(holder) is dict else {}).items())
            found += [(holder, key, value) for key, value in items
                      if id(value) in wanted and type(value) in (list, dict)]
    return found


def tensor_homes(root: Any, wanted: set[int]) -> list[tuple[Any, Any, Any]]:
    """(table, key, tensor) for the tensors whose ids are wanted: buffers,
    parameters and attributes of the model, or in a list or dict there."""
    found: list = []
    for module in root.modules() if hasattr(root, "modules") and wanted else [root] if wanted else []:
        own = getattr(module, "__dict__", {})
        for table in (own, *(v for v in own.values() if type(v) in (list, dict))):
            items = enumerate(table) if isinstance(table, list) else table.items()
            found += [(table, key, value) for key, value in items if id(value) in wanted]
    return found


def _table(owner: Any) -> dict:
    return owner if isinstance(owner, dict) else owner.__dict__

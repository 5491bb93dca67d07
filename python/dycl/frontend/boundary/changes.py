# SPDX-License-Identifier: Apache-2.0
"""What a path has changed in an object from outside: its contents before and after, compared."""

from __future__ import annotations

from typing import Any, Iterator

import numpy as np

from ...calling.state_values import ABSENT
from ..diagnostics import CaptureRefusal
from ..values.growing import GROWING


def changes(obj: Any, before: Any, after: Any, stored: set, looked_at: bool, resized: bool = False) -> Iterator[tuple]:
    """(object, name or key, new value, old value). `looked_at`: as a whole, so that it matters which keys are there,
    and in which order. `resized`: some path changes the length of this list."""
    if isinstance(obj, (dict, list, set)) and _attributes_differ(obj, before, after):
        raise CaptureRefusal(f"an attribute of a {type(obj).__name__} from outside, which is a container, "
                             "is changed by the model",
                             "keep it in an attribute of the module", kind="write-back")
    if isinstance(obj, dict):
        yield from _of_dict(obj, before[0], after[0], stored, looked_at)
    elif _are_attributes(before):
        yield from _of_attributes(obj, before[0] or {}, after[0] or {}, stored)
        yield from _of_attributes(obj, before[1], after[1], stored)
    elif isinstance(obj, list):
        yield from _of_list(obj, before, after, resized and "*" in stored)
    elif isinstance(obj, set) and set(before) == set(after) or isinstance(obj, np.ndarray) and before == after:
        return
    elif is_whole(obj):
        yield obj, "*", *([list(x) if isinstance(x, tuple) else x for x in (after, before)])
    else:
        raise changed_outside(obj)


def is_whole(obj: Any) -> bool:
    """Whether it is a state as a whole, if anything in it is changed."""
    return (type(obj) in GROWING and not isinstance(obj, dict)
            or isinstance(obj, np.ndarray) and not obj.dtype.hasobject)


def changed_outside(obj: Any) -> CaptureRefusal:
    return CaptureRefusal(f"a {type(obj).__name__} from outside is changed by the model",
                          "return the new value instead", kind="write-back")


def _of_dict(obj: dict, before: Any, after: Any, stored: set, looked_at: bool) -> Iterator[tuple]:
    old, new = dict(before), dict(after)
    is_module = "__builtins__" in old and "__name__" in old
    if is_module and old.keys() - new.keys():
        raise CaptureRefusal("a global variable is deleted", kind="delattr")
    same_keys = list(old) == list(new)[:len(old) if not looked_at else None]
    if not is_module and (not same_keys or "*" in new or "+" in new):
        yield obj, "*", dict(new), old
    else:  # alone, so that what others put there stays
        yield from _written(obj, old, new, stored)


def _are_attributes(contents: Any) -> bool:
    """Slots, if there are any, and the rest (state/kind.py)."""
    return (isinstance(contents, tuple) and len(contents) == 2 and isinstance(contents[1], dict)
            and isinstance(contents[0], (dict, type(None))))


def _of_attributes(obj: Any, old: dict, new: dict, stored: set) -> Iterator[tuple]:
    yield from _written(obj, old, new, stored)
    for name in old:
        if name not in new:
            raise CaptureRefusal(f"the attribute {name} of an object from outside is deleted", kind="delattr")


def _written(obj: Any, old: dict, new: dict, stored: set) -> Iterator[tuple]:
    for key, value in new.items():
        if key not in old or value is not old[key] or key in stored:
            yield obj, key, value, old.get(key, ABSENT)


def _of_list(obj: list, before: Any, after: Any, filled_anew: bool) -> Iterator[tuple]:
    longer = len(after) >= len(before) and all(x is y for x, y in zip(before, after))
    if filled_anew or not longer and len(after) != len(before):
        yield obj, "*", list(after), list(before)
    elif longer and len(after) > len(before):
        yield obj, "+", list(after[len(before):]), list(before)
    else:
        yield from ((obj, k, new, old) for k, (old, new) in enumerate(zip(before, after)) if new is not old)


def _attributes_differ(obj: Any, before: Any, after: Any) -> bool:
    """Of an instance of a subclass of a container: those beside its elements."""
    old, new = (contents[1] or {} if isinstance(obj, dict) else getattr(contents, "attributes", None) or {}
                for contents in (before, after))
    return old.keys() != new.keys() or any(new[name] is not value for name, value in old.items())

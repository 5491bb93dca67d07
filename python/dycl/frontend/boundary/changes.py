# SPDX-License-Identifier: Apache-2.0
"""What a path has changed in an object from outside: its contents before and after, compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...calling.state_values import ABSENT
from ..diagnostics import CaptureRefusal


def changes(obj: Any, before: Any, after: Any, stored: set, looked_at: bool, resized: bool = False):
    """`looked_at`: as a whole, so that it matters which keys are there, and in which order. `resized`: some path
    changes the length of this list."""
    if isinstance(obj, (dict, list, set)) and _attributes_differ(obj, before, after):
        raise CaptureRefusal(f"an attribute of a {type(obj).__name__} from outside, which is a container, "
                             "is changed by the model",
                             "keep it in an attribute of the module", kind="write-back")
    if isinstance(obj, dict):
        old, new = dict(before[0]), dict(after[0])
        is_module = "__builtins__" in old and "__name__" in old
        if is_module and old.keys() - new.keys():
            raise CaptureRefusal("a global variable is deleted", kind="delattr")
        same_keys = old.keys() == new.keys() or not looked_at and list(new)[:len(old)] == list(old)
        if not is_module and (not same_keys or "*" in new or "+" in new):
            yield obj, "*", dict(new), old
            return
        for key, value in new.items():  # alone, so that what others put there stays
            if key not in old or value is not old[key] or key in stored:
                yield obj, key, value, old.get(key, ABSENT)
        return
    if isinstance(before, tuple) and len(before) == 2 and isinstance(before[1], dict) and (
            before[0] is None or isinstance(before[0], dict)):
        for old, new in ((before[0] or {}, after[0] or {}), (before[1], after[1])):
            for name, value in new.items():
                if name not in old or value is not old[name] or name in stored:
                    yield obj, name, value, old.get(name, ABSENT)
            for name in old:
                if name not in new:
                    raise CaptureRefusal(f"the attribute {name} of an object from outside is deleted", kind="delattr")
        return
    if isinstance(obj, list):
        if resized and "*" in stored:  # cleared, or filled anew
            yield obj, "*", list(after), list(before)
            return
        if len(after) >= len(before) and all(x is y for x, y in zip(before, after)):
            if len(after) > len(before):
                yield obj, "+", list(after[len(before):]), list(before)
            return
        if len(after) == len(before):
            for k, (old, new) in enumerate(zip(before, after)):
                if new is not old:
                    yield obj, k, new, old
            return
        yield obj, "*", list(after), list(before)
        return
    if isinstance(obj, set) and set(before) == set(after) or isinstance(obj, np.ndarray) and before == after:
        return
    raise CaptureRefusal(f"a {type(obj).__name__} from outside is changed by the model",
                         "return the new value instead", kind="write-back")


def _attributes_differ(obj: Any, before: Any, after: Any) -> bool:
    """Of an instance of a subclass of a container: those beside its elements."""
    old, new = (contents[1] or {} if isinstance(obj, dict) else getattr(contents, "attributes", {})
                for contents in (before, after))
    return old.keys() != new.keys() or any(new[name] is not value for name, value in old.items())

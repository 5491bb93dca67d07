# SPDX-License-Identifier: Apache-2.0
"""When two values are the same for a program that looks at them: 1, 1.0 and True are equal only.

calling/same_contents.py asks another thing: whether a call finds what the compilation found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .scalar import BY_KIND

IMMUTABLE = (str, bytes, type(None), torch.dtype, torch.device, torch.Size, range, frozenset, np.dtype, complex,
             torch.layout, torch.memory_format, type(Ellipsis), type(NotImplemented))
# types of values that hold nothing
LEAVES = {int, float, bool, complex, str, bytes, type(None), torch.dtype, torch.device, *BY_KIND.values()}


def same_keys(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(map(same_key, a, b))


def same_key(a: Any, b: Any) -> bool:
    """The same for a program that looks at it: 1, 1.0 and True are equal only, and so may be objects of the user's."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, frozenset)):
        return same_keys(tuple(a), tuple(b))
    if isinstance(a, (int, float)):
        return same_number(a, b)
    if isinstance(a, torch.SymInt):  # in a torch.Size
        return a.node.expr == b.node.expr
    return isinstance(a, IMMUTABLE) and a == b and (repr(a) == repr(b) or not isinstance(a, (range, complex)))


def same_number(a: Any, b: Any) -> bool:
    # of two NaNs either may be the one that a list holds
    return a == b and (type(a) is not float or repr(a) == repr(b))

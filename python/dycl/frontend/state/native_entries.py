# SPDX-License-Identifier: Apache-2.0
"""The functions of ours through which native code runs on behalf of the program:
what it calls back is the program's doing."""

from __future__ import annotations

import types
from typing import Callable

NATIVE_ENTRIES: set[types.CodeType] = set()


def enters_native_code(function: Callable) -> Callable:
    NATIVE_ENTRIES.add(function.__code__)
    return function

# SPDX-License-Identifier: Apache-2.0
"""The native module: compiler, passes and runtime in C++. Loaded when it is first needed."""

from __future__ import annotations

import functools
import importlib
import sys
from typing import Any


@functools.cache
def native() -> Any:
    """dycl._native; without it, the error says what to do."""
    try:
        return importlib.import_module("dycl._native")
    except ModuleNotFoundError as error:
        version = ".".join(map(str, sys.version_info[:2]))
        raise ImportError(f"dycl's native module is not built for Python {version}: "
                          f"PYTHON={sys.executable} make setup builds it") from error

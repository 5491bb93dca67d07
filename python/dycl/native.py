# SPDX-License-Identifier: Apache-2.0
"""The native module: compiler, passes and runtime in C++. Loaded when it is first needed."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any


@functools.cache
def native() -> Any:
    """dycl._native; without it, the error says what to do."""
    if os.path.isdir(os.path.join(os.path.dirname(__file__), "lib", "dycl")):
        _lend_engines()
    try:
        return importlib.import_module("dycl._native")
    except ModuleNotFoundError as error:
        version = ".".join(map(str, sys.version_info[:2]))
        raise ImportError(f"dycl's native module is not built for Python {version}: "
                          f"PYTHON={sys.executable} make setup builds it") from error


def _lend_engines() -> None:
    """What was installed knows no folder of the build: engines are those of this interpreter, unless others are
    named."""
    openvino = importlib.util.find_spec("openvino")
    if openvino is not None and "DYCL_OPENVINO_LIBRARY" not in os.environ:
        for folder in openvino.submodule_search_locations or []:
            for library in sorted(Path(folder, "libs").glob("libopenvino_c.so*")):
                os.environ["DYCL_OPENVINO_LIBRARY"] = str(library)
    tvm = importlib.util.find_spec("tvm")
    if tvm is not None and tvm.origin is not None and "DYCL_TVM_HOME" not in os.environ:
        os.environ["DYCL_TVM_HOME"] = str(Path(tvm.origin).parent.parent)

# SPDX-License-Identifier: Apache-2.0
"""DyCL: ahead-of-time compilation of dynamic neural networks.

    program = dycl.compile(model, (example,))   # any forward, with its control flow
    program(x)                                   # the same answers as model(x)
    program.save("model.dycl")                   # runs without Python: dycl-run model.dycl --input x.npy
"""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING

if not (3, 11) <= _sys.version_info[:2] <= (3, 12):
    raise ImportError("dycl needs Python 3.11 or 3.12, whose bytecode capture reads; this is Python "
                      + ".".join(map(str, _sys.version_info[:2])))

if TYPE_CHECKING:
    from .api import compile
    from .calling.host_functions import host_function
    from .calling.program import CompiledProgram, load
    from .errors import CompileError, CompileWarning, Error, InputError, PackageError, RunError, RunStopped
    from .runtime import Cancellation, RunOptions

__all__ = ["Cancellation", "CompileError", "CompileWarning", "CompiledProgram", "Error", "InputError", "PackageError",
           "RunError", "RunOptions", "RunStopped", "compile", "host_function", "load"]
__version__ = "0.1.0"

# Where each name is. Loaded when it is first asked for: who loads a program needs no compiler,
# who runs one with numpy no torch.
_ERRORS = ("CompileError", "CompileWarning", "Error", "InputError", "PackageError", "RunError", "RunStopped")
_HOMES = {**dict.fromkeys(_ERRORS, "errors"), "CompiledProgram": "calling.program", "load": "calling.program",
          "Cancellation": "runtime", "RunOptions": "runtime",
          "host_function": "calling.host_functions", "compile": "api"}


def __getattr__(name: str):
    if name == "_native":
        return _importlib.import_module("dycl.native").native()
    if name not in _HOMES:
        raise AttributeError(f"module 'dycl' has no attribute '{name}'")
    found = globals()[name] = getattr(_importlib.import_module(f"dycl.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

# SPDX-License-Identifier: Apache-2.0
"""DyCL: ahead-of-time compilation of dynamic neural networks.

    program = dycl.compile(model, (example,))   # any forward, with its control flow
    program(x)                                   # the same answers as model(x)
    program.save("model.dycl")                   # runs without Python: dycl-run model.dycl --input x.npy
"""

import sys as _sys

if not (3, 11) <= _sys.version_info[:2] <= (3, 12):
    raise ImportError("dycl needs Python 3.11 or 3.12, whose bytecode capture reads; this is Python "
                      + ".".join(map(str, _sys.version_info[:2])))

from .api import CompiledProgram, compile, load
from .frontend.diagnostics import CompileError, CompileWarning
from .frontend.inputs import InputError
from .host_functions import host_function

__all__ = ["CompileError", "CompileWarning", "CompiledProgram", "InputError", "compile", "host_function", "load"]
__version__ = "0.1.0"


def __getattr__(name):
    """`_native` is loaded when it is first needed; without it, the error says what to do."""
    if name != "_native":
        raise AttributeError(f"module 'dycl' has no attribute '{name}'")
    import importlib

    try:
        return importlib.import_module("dycl._native")
    except ModuleNotFoundError as error:
        version = ".".join(map(str, _sys.version_info[:2]))
        raise ImportError(f"dycl's native module is not built for Python {version}: PYTHON={_sys.executable} make setup builds it") from error

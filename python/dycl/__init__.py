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

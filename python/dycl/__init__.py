# SPDX-License-Identifier: Apache-2.0
"""DyCL: ahead-of-time compilation of dynamic neural networks.

    program = dycl.compile(model, (example,))   # any forward, with its control flow
    program(x)                                   # the same answers as model(x)
    program.save("model.dycl")                   # runs without Python: dycl-run model.dycl --input x.npy
"""

from .api import CompiledProgram, compile, load
from .frontend.diagnostics import CompileError, CompileWarning
from .frontend.inputs import InputError
from .host_functions import host_function

__all__ = ["CompileError", "CompileWarning", "CompiledProgram", "InputError", "compile", "host_function", "load"]
__version__ = "0.1.0"

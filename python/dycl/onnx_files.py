# SPDX-License-Identifier: Apache-2.0
"""`dycl.compile("model.onnx")`: an ONNX file has its control flow as it is, so nothing is captured."""

from __future__ import annotations

import os
from typing import Any, Callable

from .calling.native_engine import NativeEngine
from .calling.onnx_program import OnnxProgram
from .errors import CompileError
from .native import native


def compile_file(path: str | os.PathLike, backend: str, threads: int, say: Callable[[str], None],
                 **choices: Any) -> OnnxProgram:
    path = os.fspath(path)
    if not path.endswith(".onnx"):
        raise CompileError(f"{path} is no .onnx file\n  help: give a module, a function or a file that ends in .onnx",
                           kind="unsupported")
    say("read")
    engine, report = NativeEngine.compile(native().read_program(path), backend, threads, say, **choices)
    return OnnxProgram(engine, report)

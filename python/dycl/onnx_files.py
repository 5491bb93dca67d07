# SPDX-License-Identifier: Apache-2.0
"""`dycl.compile("model.onnx")`: an ONNX file has its control flow as it is, so nothing is captured."""

from __future__ import annotations

import os
import warnings
from typing import Any, Callable, Sequence

import numpy as np
import torch

from .calling.native_engine import NativeEngine
from .calling.onnx_program import OnnxProgram
from .errors import CompileError, CompileWarning, InputError
from .native import native
from .runtime import path_of
from .verification.onnx_runtime import check_file

_WHY = {"dynamic_dims": "its dynamic dims are those that the file names", "ranges": "its dims have no ranges",
        "dynamic_args": "its numbers are tensors, always known only at run time"}


def compile_file(path: str | os.PathLike, args: tuple, kwargs: dict, verify: bool, of_capture: dict[str, Any],
                 overridable: Sequence[str], backend: str, threads: int, say: Callable[[str], None],
                 **choices: Any) -> OnnxProgram:
    """`of_capture`: what the caller gave of the choices that only a captured model has."""
    path = path_of(path)
    if not path.endswith(".onnx"):
        remedy = ("torch.export.load(path) gives a program that dycl.compile takes" if path.endswith(".pt2")
                  else "give a module, a function or a file that ends in .onnx")
        raise CompileError(f"{path} is no .onnx file\n  help: {remedy}", kind="unsupported")
    for name in of_capture:
        reason = _WHY.get(name, "it is for models that are captured")
        raise InputError(f"{name} says nothing of an ONNX file: {reason}; leave it out")
    say("read")
    builder = native().read_program(path, list(overridable))
    engine, report = NativeEngine.compile(builder, backend, threads, say, **choices)
    program = OnnxProgram(engine, report)
    report["warnings"] = []
    if verify:
        say("verify")
        feeds = program.by_name(*map(_array, args), **{name: _array(x) for name, x in kwargs.items()}) \
            if args or kwargs else None
        _verify(path, program, feeds)
    return program


def _verify(path: str, program: OnnxProgram, feeds: dict[str, Any] | None) -> None:
    reason = check_file(path, program, feeds)
    if reason:
        told = f"{path} was compiled, but not compared with ONNX Runtime: {reason}"
        program.report()["warnings"].append(told)
        warnings.warn(told, CompileWarning, stacklevel=4)


def _array(value: Any) -> Any:
    """Example arguments as ONNX Runtime takes them."""
    if isinstance(value, (list, tuple)):
        return [_array(x) for x in value]
    return value.detach().numpy() if isinstance(value, torch.Tensor) else value if value is None else np.asarray(value)

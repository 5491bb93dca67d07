# SPDX-License-Identifier: Apache-2.0
"""Programs out of ONNX files: called with tensors or arrays, results by the file's own names."""

from __future__ import annotations

import os
from typing import Any

import torch

from ..runtime import Program, path_of
from .native_engine import NativeEngine
from .package_reader import own_metadata, parsed


class OnnxProgram(Program):
    """Arguments in the file's order or by its names, which need not be Python's: program(**{"input/0": x}). Results are
    a dict. Where an argument is a torch tensor, the results are; else they are arrays."""

    def __init__(self, engine: NativeEngine, report: dict):
        super().__init__(engine.program)
        self._engine, self._report = engine, report
        self._runs = engine.runs  # the engine traces its own
        self._names = _stated(engine.program, "onnx.inputs", self._names)
        self._optional = {name for name, kind in self.inputs if kind.startswith("optional<")}
        self._results = _stated(engine.program, "onnx.outputs", self._results)

    @property
    def inputs(self) -> list[tuple[str, str]]:
        return [(name, kind) for name, (_, kind) in zip(self._names, self._program.inputs)]

    @property
    def outputs(self) -> list[tuple[str, str]]:
        return [(name, kind) for name, (_, kind) in zip(self._results, self._program.outputs)]

    def _help(self, unknown: list[str]) -> str:
        defaults = parsed(own_metadata(self._program).get("onnx.defaults", "[]"))
        constant = [name for name in unknown if isinstance(defaults, list) and name in defaults]
        return "" if not constant else (
            f"\n  help: '{constant[0]}' has a default value in the file, which was compiled as a constant; "
            f"compile with overridable={constant}")

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        arguments = self._in_order(args, kwargs)
        framework = "torch" if any(map(_is_torch, arguments)) else "numpy"
        return dict(zip(self._results, self._runs.execute(arguments, framework)))

    @property
    def decisions(self) -> list[tuple]:
        """What the program chooses by the input: (place, block, line of the source if known)."""
        return list(self._program.decisions)

    def traced(self, *args: Any, **kwargs: Any) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        """The results of a call, and which way its decisions went: (number of the decision, arm)."""
        with self._engine.traced(False) as taken:
            results = self(*args, **kwargs)
        return results, taken

    def by_name(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The arguments of a call, by the file's names."""
        return dict(zip(self._names, self._in_order(args, kwargs)))

    def save(self, path: str | os.PathLike) -> None:
        """Writes the package; dycl.load, dycl.runtime.load and dycl-run read it."""
        self._engine.save(path_of(path))

    def report(self) -> dict:
        """What was compiled: stages and times, blocks, sub-DNNs."""
        return self._report

    @property
    def ir_text(self) -> str:
        """The program as it was read, before the passes."""
        return self._engine.ir_text()


def is_of_onnx(program: Any) -> bool:
    """Whether a package was made from an ONNX file."""
    return "onnx.inputs" in own_metadata(program)


def _stated(program: Any, key: str, names: list[str]) -> list[str]:
    """The file's names, if they are as many as the program's and differ."""
    found = parsed(own_metadata(program).get(key, "[]"))
    fits = (isinstance(found, list) and len(found) == len(names) == len(set(map(str, found)))
            and all(isinstance(name, str) for name in found))
    return found if fits else names


def _is_torch(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or (isinstance(value, (list, tuple)) and any(map(_is_torch, value)))

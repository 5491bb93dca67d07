# SPDX-License-Identifier: Apache-2.0
"""A program that can be called: loaded from a package, or just compiled."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable

from ..runtime import checked_threads
from .classes import Classes
from .interface import Interface
from .native_engine import NativeEngine
from .package_interface import from_json
from .package_reader import interface_data


def load(path: str | os.PathLike, *, threads: int = 0, host_functions: dict | None = None,
         classes: Iterable[Any] = (), trust: str | None = None) -> "CompiledProgram":
    """A saved program. `threads`: of the engine within one call, at most 1024; 0: as many as there are cores.
    `host_functions`: by name, beside those marked with @dycl.host_function in this process.

    A package is data: nothing that it names is imported. `classes`: the classes and functions of yours that results
    are made of; trust="classes": any class that this process has loaded already, by the names in the file. A result of
    another class is made of what the package says of it, or is a record, read by attribute, key and number.
    docs/package_format.md says more. Raises PackageError for a file that is none, or a damaged one."""
    engine = NativeEngine.load(os.fspath(path), checked_threads(threads), host_functions)
    interface = from_json(interface_data(engine.program), engine.program.inputs, engine.program.outputs,
                          lambda described: Classes(described, classes, trust))
    engine.index_errors = interface.index_errors
    return CompiledProgram(engine, interface, None, {})


class CompiledProgram:
    """Called like the model it was compiled from. Threads may call one at the same time unless it keeps or writes
    states."""

    def __init__(self, engine: Any, interface: Interface, model: Any, report: dict, verifier: Callable | None = None):
        self._engine, self._interface, self._model, self._report = engine, interface, model, report
        self._verifier = verifier  # a loaded program has none, for it has no model
        self._graph: Any = None  # as captured; a loaded program has none

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        interface = self._interface
        inputs, originals = interface.collect(args, kwargs)
        states = interface.read_states()
        outputs, new_states = self._engine.run(inputs, states, interface.exceptions,
                                               lambda kept, after: interface.leave(kept, after, originals))
        return interface.give_back(outputs, new_states, originals)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the package: one file that runs without Python. It appears complete or not at all; a file of that
        name is replaced, and so is a symbolic link (what it leads to stays as it is). Raises PackageError, of kind
        "write_failed" or, where the folder is not there, "missing"."""
        self._engine.save(os.fspath(path))

    def emit(self, folder: str | os.PathLike, name: str = "model") -> None:
        """Writes the host program as a C++ project (class, C header, CMakeLists.txt, example) that builds against the
        installed runtime; see docs/emit.md."""
        self._engine.emit(os.fspath(folder), name)

    def emit_onnx(self, path: str | os.PathLike) -> list[str]:
        """Writes the whole program as one ONNX model with If and Loop, for other runtimes; see docs/emit.md.

        Returns notices: what the model does not do as the program does. Refuses with CompileError what ONNX
        cannot say (random numbers, functions of the host)."""
        return self._engine.emit_onnx(os.fspath(path))

    def report(self) -> dict:
        """What was compiled: stages and times, blocks, sub-DNNs, warnings."""
        return self._report

    def verify(self, inputs: list, rtol: float = 1e-4, atol: float = 1e-5, drive: bool = False,
               budget: int = 1000) -> dict:
        """Runs model and program side by side on a list of argument tuples.

        Returns {"inputs", "mismatches", "log10_error", "arms"}; "arms" says how many arms of the program's
        branches these inputs took and which they never took. With `drive`, the captured graph and the program
        are forced through the arms that remain (at most `budget` runs) and compared there too."""
        if self._verifier is None:
            raise ValueError("a loaded program has no model beside it; compile it here to verify")
        return self._verifier(self, self._model, inputs, rtol, atol, drive, budget)

    @property
    def hcfg(self) -> str:
        """The heterogeneous control-flow graph: what the runtime walks, in the text form of docs/ir.md."""
        return self._engine.hcfg()

    @property
    def ir_text(self) -> str:
        """The program as it was captured, before the passes."""
        return self._engine.ir_text()

# SPDX-License-Identifier: Apache-2.0
"""What a user calls: compile a model, call the program, save it, load it, verify it."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, Callable, Sequence

from . import engines
from .frontend.capture import capture
from .frontend.diagnostics import CompileWarning
from .frontend.options import Options
from .interface import Interface


def compile(model: Any, args: tuple = (), kwargs: dict | None = None, *, backend: str = "ort",
            dynamic_dims: dict | None = None, ranges: dict | None = None, max_iterations: int = 0,
            verify: bool | str = True, allow_training: bool = False, threads: int = 0,
            budget: float = 20.0, tune: float = 0.0, jobs: int = 0, use_cache: bool = True, portable: bool = False,
            strip: bool = False, dump: str | os.PathLike | None = None, skip_passes: Sequence[str] = (),
            progress: Callable[[str], None] | None = None, **limits: Any) -> "CompiledProgram":
    """Compiles a module, function or bound method with its control flow, whatever the input decides.

    args, kwargs   example arguments: tensors (anywhere in nested containers) become inputs, other values
                   are fixed and checked at each call
    backend        the engine of the straight-line parts: "ort", "openvino", "tvm", or "auto": chosen for each part by
                   measuring with `threads` threads, for at most `budget` seconds
    tune           seconds to look for better code ("tvm" and "auto"); what is found is kept for later compilations
    jobs           processes that compile at once; 0: as many as cores and memory allow
    use_cache      take what engines compiled before (DYCL_CACHE_DIR, ~/.cache/dycl)
    portable       no artifacts for this machine's CPU
    strip          leave IR text and source lines out: errors name no lines, `emit` does not work
    dump           a folder for the IR after every pass; skip_passes: names of passes to leave out
    dynamic_dims   {argument name: {axis: symbol}}: extents that may differ from call to call
    verify         run model and program side by side on the example before returning

    Raises CompileError, with the place in the user's code, the reason and a remedy, for what is refused.
    Warns with CompileWarning where a loop or a recursion is followed so far and raises beyond.
    """
    if not isinstance(args, tuple):
        args = tuple(args) if isinstance(args, list) else (args,)
    options = Options(dynamic_dims=dict(dynamic_dims or {}), ranges=dict(ranges or {}), allow_training=allow_training,
                      max_iterations=max_iterations, **limits)
    say = progress or (lambda stage: None)
    times: dict[str, float] = {}
    started = time.perf_counter()
    say("capture")
    captured = capture(model, args, dict(kwargs or {}), options)
    times["capture"] = time.perf_counter() - started
    interface = Interface.of(captured)
    interface.watch(model)
    engine, report = engines.build(captured, interface, model, backend, threads, say, budget=budget,
                                   tune=tune, jobs=jobs, use_cache=use_cache, portable_only=portable, debug_info=not strip,
                                   dump_folder=None if dump is None else os.fspath(dump), skip_passes=list(skip_passes))
    report["times"] = times | report.get("times", {})
    report["warnings"] = captured.warnings
    for text in captured.warnings:
        warnings.warn(text, CompileWarning, stacklevel=2)
    program = CompiledProgram(engine, interface, model, report)
    program._graph = captured.graph
    if verify:
        say("verify")
        program._verify_example(args, dict(kwargs or {}))
    return program


def load(path: str | os.PathLike, *, threads: int = 0, host_functions: dict | None = None) -> "CompiledProgram":
    """A saved program. Classes of its inputs and outputs are imported by name. `host_functions`: by name, beside those
    marked with @dycl.host_function in this process."""
    engine = engines.NativeEngine.load(os.fspath(path), threads, host_functions)
    interface = Interface.from_json(engine.metadata())
    engine.index_errors = interface.index_errors
    return CompiledProgram(engine, interface, None, {})


class CompiledProgram:
    """Called like the model it was compiled from. Threads may call one at the same time unless it keeps or writes states."""

    def __init__(self, engine: Any, interface: Interface, model: Any, report: dict):
        self._engine, self._interface, self._model, self._report = engine, interface, model, report
        self._graph: Any = None  # as captured; a loaded program has none

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        interface = self._interface
        inputs, originals = interface.collect(args, kwargs)
        states = interface.read_states()
        outputs, new_states = self._engine.run(inputs, states, interface.exceptions,
                                               lambda kept, after: interface.leave(kept, after, originals))
        return interface.give_back(outputs, new_states, originals)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the package: one file that runs without Python."""
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
        from .verify import verify

        return verify(self, self._model, inputs, rtol, atol, drive, budget)

    def _verify_example(self, args: tuple, kwargs: dict) -> None:
        from .verify import check_example

        if not self._interface.random:
            check_example(self, self._model, args, kwargs)

    @property
    def hcfg(self) -> str:
        """The heterogeneous control-flow graph: what the runtime walks, in the text form of docs/ir.md."""
        return self._engine.hcfg()

    @property
    def ir_text(self) -> str:
        """The program as it was captured, before the passes."""
        return self._engine.ir_text()

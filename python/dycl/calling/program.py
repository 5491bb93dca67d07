# SPDX-License-Identifier: Apache-2.0
"""A program that can be called: loaded from a package, or just compiled."""

from __future__ import annotations

import contextlib
import io
import os
from pathlib import Path
from typing import Any, Callable, Iterable, NamedTuple, Sequence

import torch

from ..errors import PackageError, RunError
from ..runtime import Key, Keys, checked_threads, package_of, path_of
from ..view import notebook
from .classes import Classes
from .interface import Interface
from .native_engine import NativeEngine
from .onnx_program import OnnxProgram, is_of_onnx
from .package_interface import from_json
from .package_reader import interface_data

_SHOWN = 12  # arguments or results in a line of repr


def load(path: str | os.PathLike | bytes, *, threads: int = 0, host_functions: dict | None = None,
         classes: Iterable[Any] = (), trust: str | None = None, allow_native_code: bool = False,
         require_signature: Keys | None = None, decryption_key: Key | None = None) -> Any:
    """A saved program: its file, or the package itself as bytes. `threads`: of the engine within one call, at most
    1024; 0: as many as there are cores. `host_functions`: by name, beside those marked with @dycl.host_function in this
    process.

    A package is data: nothing that it names is imported. `classes`: the classes and functions of yours that results
    are made of; trust="classes": any class that this process has loaded already, by the names in the file. A result of
    another class is made of what the package says of it, or is a record, read by attribute, key and number.
    `allow_native_code`: artifacts that hold machine code (TVM's) are loaded; only of packages whose maker you trust.
    Otherwise the portable form runs. `require_signature`: public keys, one of which must have signed the file; each a
    text or the file that holds it. `decryption_key`: the package must be encrypted, with this key (its text, or its
    file, or a function that gives one of these for the name of a key); such a program is not saved, emitted or pickled
    (docs/trust.md). docs/package_format.md says more.
    Raises PackageError for a file that is none, or a damaged one.

    A CompiledProgram; of a package made from an ONNX file, an OnnxProgram, whose results are a dict."""
    engine = NativeEngine.load(package_of(path), checked_threads(threads), host_functions, allow_native_code,
                               require_signature, decryption_key)
    return _program(engine, lambda described: Classes(described, classes, trust))


def _program(engine: NativeEngine, classes: Callable[[dict], Classes]) -> Any:
    if is_of_onnx(engine.program):
        return OnnxProgram(engine, {})
    interface = from_json(interface_data(engine.program), engine.program.inputs, engine.program.outputs, classes)
    engine.index_errors, engine.draws = interface.index_errors, interface.random
    return CompiledProgram(engine, interface, None, {})


def _loaded_from(content: bytes, threads: int) -> "CompiledProgram":
    """A program that was pickled: the runtime keeps its states. Unpickling runs what a pickle names anyway, so classes
    that are there are trusted."""
    return _program(NativeEngine.load(content, threads),
                    lambda described: Classes(described, (), "classes", pickled=True))


class Decision(NamedTuple):
    """One that a call took. Those at one line (of an unrolled loop) differ in what their conditions come from."""

    place: str  # file:line; "" in a stripped package
    origin: str  # the modules or values that the condition is computed from; may be empty
    arm: int  # of a branch: 0 is false, 1 is true


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

    def _raised_by(self, args: tuple, kwargs: dict) -> RunError | None:
        """What this call raises. It writes nothing: neither results nor states are given back."""
        interface = self._interface
        inputs, _ = interface.collect(args, kwargs)
        with torch.random.fork_rng(devices=[]), contextlib.redirect_stdout(io.StringIO()):
            return self._engine.raised_by(inputs, interface.read_states())

    def __repr__(self) -> str:
        def ports(of: list) -> str:
            shown = [f"{name}: {kind}" for name, kind in of]
            if len(shown) > _SHOWN:
                shown[_SHOWN - 1:] = [f"... {len(shown) - _SHOWN + 1} more"]
            return ", ".join(shown)

        native, kinds = self._engine.program, sorted({backend for _, backend, *_ in self._engine.program.sub_dnns})
        states = f"; states {ports(self.states)}" if self.states else ""
        size = os.path.getsize(self._engine.path)
        return (f"CompiledProgram({ports(self.inputs)}) -> ({ports(self.outputs)}){states}\n"
                f"  {_many(len(native.decisions), 'decision')}, {_many(len(native.sub_dnns), 'sub-DNN')}"
                f"{f' ({chr(44).join(kinds)})' if kinds else ''}, {size:,} bytes")

    def _repr_html_(self) -> str:
        """Notebooks show the control flow: a block for each place where paths part or meet."""
        return notebook.as_html(repr(self), self._engine.described(), self._engine.hcfg())

    def __reduce__(self) -> tuple:
        data = interface_data(self._engine.program)
        if isinstance(data, dict) and "unsaved" in data:
            raise PackageError(f"this program can't be pickled: {data['unsaved']}", kind="write_failed")
        return _loaded_from, (Path(self._engine.readable("pickling")).read_bytes(), self._engine.threads)

    @property
    def inputs(self) -> list[tuple[str, str]]:
        """(name, type) of each tensor and number that a call gives, types as docs/ir.md writes them."""
        return list(self._engine.program.inputs)

    @property
    def outputs(self) -> list[tuple[str, str]]:
        """(name, type) of each tensor and number among the results, as files and programs without Python see them."""
        return list(self._engine.program.outputs)

    @property
    def states(self) -> list[tuple[str, str]]:
        """What calls leave for later ones."""
        return list(self._engine.program.states)

    def trace(self, *args: Any, **kwargs: Any) -> list["Decision"]:
        """Calls the program and returns which way its decisions went, in their order. What the call wrote stays
        written."""
        decisions = self._engine.program.decisions
        with self._engine.traced(self._interface.kept) as taken:
            self(*args, **kwargs)
        return [Decision(f"{span[0]}:{span[1]}" if span else "", origin, arm)
                for arm, (_, _, span, origin) in ((arm, decisions[number]) for number, arm in taken)]

    def profile(self, calls: Sequence) -> dict[str, Any]:
        """Calls the program with each of these arguments (tuples, or single ones) and returns where the time went:
        {"calls", "seconds", "sub_dnns": {name: {"engine", "calls", "seconds", "share"}}, "host": {"seconds",
        "share"}}, the sub-DNN that took longest first. A sub-DNN is called after the modules whose weights it holds, or
        after its ops. Taking times costs time."""
        with self._engine.profiled(self._interface.kept) as measured:
            for given in calls:
                self(*(given if isinstance(given, tuple) else (given,)))
        total, inside = measured["seconds"], 0.0
        rows = {}
        for (_, backend, *_, readable), (count, nanoseconds) in zip(self._engine.program.sub_dnns, measured["profile"]):
            inside += (seconds := nanoseconds / 1e9)
            rows[readable] = {"engine": backend, "calls": count, "seconds": seconds, "share": seconds / total}
        in_order = dict(sorted(rows.items(), key=lambda row: -row[1]["seconds"]))
        return {"calls": len(calls), "seconds": total, "sub_dnns": in_order,
                "host": {"seconds": total - inside, "share": (total - inside) / total}}

    def reset_states(self) -> None:
        """As they were when the model was compiled: those of the model itself, or of a loaded program."""
        if self._interface.kept:
            self._engine.reset_states()
        else:
            self._interface.write_initial_states()

    def save(self, path: str | os.PathLike) -> None:
        """Writes the package: one file that runs without Python. It appears complete or not at all; a file of that
        name is replaced, and so is a symbolic link (what it leads to stays as it is). Raises PackageError, of kind
        "write_failed" or, where the folder is not there, "missing"."""
        self._engine.save(path_of(path))

    def emit(self, folder: str | os.PathLike, name: str = "model") -> None:
        """Writes the host program as a C++ project (class, C header, CMakeLists.txt, example) that builds against the
        installed runtime; see docs/emit.md."""
        self._engine.emit(path_of(folder), name)

    def emit_onnx(self, path: str | os.PathLike, *, engine_ops: bool = False) -> list[str]:
        """Writes the whole program as one ONNX model with If and Loop, for other runtimes; see docs/emit.md.

        Returns notices: what the model does not do as the program does. Refuses with CompileError what ONNX
        cannot say (random numbers, functions of the host). `engine_ops`: a loaded package whose engine folded weights
        is written with that engine's own operators, else refused."""
        return self._engine.emit_onnx(path_of(path), engine_ops)

    def report(self) -> dict:
        """What was compiled: stages and times, blocks, sub-DNNs, warnings."""
        return self._report

    def verify(self, inputs: list, rtol: float = 1e-4, atol: float = 1e-5, drive: bool = False,
               budget: int = 1000) -> dict:
        """Runs model and program side by side on a list of argument tuples.

        Returns {"inputs", "mismatches", "log10_error", "arms"}; "arms" says how many arms of the program's
        branches these inputs took and which they never took. With `drive`, the captured graph and the program
        are forced through the arms that remain (at most `budget` runs) and compared there too; of "unmatched" runs
        it is not known which decisions of the graph the program still makes, so nothing is said of them."""
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


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"

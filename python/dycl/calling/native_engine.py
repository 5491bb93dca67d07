# SPDX-License-Identifier: Apache-2.0
"""A package, loaded by the C++ runtime; its errors as the classes that users know."""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import json
import linecache
import os
import re
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator
from typing import Any, Callable

import torch

from ..errors import CompileError, PackageError, RunError, RunStopped
from ..native import native
from ..runtime import Key, Keys, Runs, key_finder, public_keys, run_options
from . import generator, host_functions
from .exceptions import Raised


def _lend_interpreter() -> None:
    """TVM's compiler is Python: this one, if it has TVM and nobody named another."""
    if sys.executable and "DYCL_TVM_PYTHON" not in os.environ and importlib.util.find_spec("tvm") is not None:
        os.environ["DYCL_TVM_PYTHON"] = sys.executable


class NativeEngine:
    """A package, loaded by the C++ runtime."""

    def __init__(self, program: Any, threads: int, folder: str | None):
        self.program, self.threads = program, threads
        self._runs = Runs(program)
        self.builder: Any = None  # the program before the passes, if it was compiled here
        self.order: list[int] = []  # the program's states, by their position among the interface's
        self.back: list[int] = []
        self.index_errors: dict[str, list[str]] = {}  # see lower_graph
        self.draws = False  # random numbers
        if folder is not None:
            self.owns(folder)

    def owns(self, folder: str) -> None:
        """A folder that goes with this object."""
        weakref.finalize(self, shutil.rmtree, folder, True)

    def readable(self, what: str) -> str:
        """The same, for what goes out of the process. What was encrypted does not go out in the clear by itself."""
        if self.program.decrypted:
            raise PackageError(f"{what} a program from an encrypted package would write it in the clear; copy the "
                               "package itself, or decrypt it with `dycl decrypt` first", kind="write_failed")
        return self.path

    @property
    def path(self) -> str:
        """Of what was loaded (and checked), whatever lies by now at the place that it came from."""
        return self.program.file

    @property
    def runs(self) -> Runs:
        return self._runs

    @property
    def run_(self) -> Any:
        """This thread's Run."""
        return self._runs.own

    @classmethod
    def compile(cls, builder: Any, backend: str, threads: int, say: Callable,
                **choices: Any) -> tuple["NativeEngine", dict]:
        if backend not in ("ort", "openvino"):  # the others may ask TVM
            _lend_interpreter()
        folder = tempfile.mkdtemp(prefix="dycl-")
        path = os.path.join(folder, "program.dycl")
        try:
            report = native().compile_program(builder, path, backend=backend, progress=say, threads=threads,
                                             source_texts=_source_texts(builder), **choices)
            program = native().Program.load(path, threads=threads, host_functions=host_functions.table(),
                                            allow_native_code=True)  # made in this process
            engine = cls(program, threads, folder)
            engine.builder = builder
            return engine, dict(report)
        except BaseException as error:
            shutil.rmtree(folder, True)
            if isinstance(error, CompileError):
                raise _compile_error(error, kind="engine") from None
            raise

    @classmethod
    def load(cls, package: str | bytes, threads: int, functions: dict | None = None,
             allow_native_code: bool = False, require_signature: Keys | None = None,
             decryption_key: Key | None = None) -> "NativeEngine":
        table = host_functions.table(functions)
        program = native().Program.load(package, threads=threads, host_functions=table,
                                        allow_native_code=allow_native_code,
                                        require_signature=public_keys(require_signature),
                                        decryption_key=key_finder(decryption_key))
        return cls(program, threads, None)

    def run(self, inputs: list, states: list, exceptions: dict, leave: Callable = lambda *_: None) -> tuple[list, list]:
        """`leave(kept, new states)` is told what the program had written when it raised,
        before the exception goes out."""
        try:
            if states is None:
                with self._runs.keeping_states() as run, self._generator(run):
                    return run.run(inputs, options=run_options()), []
            run = self.run_
            with self._generator(run):
                outputs, after = run.run(inputs, [states[k] for k in self.order], options=run_options())
            return outputs, [after[k] for k in self.back]
        except RunError as error:
            if error.kept:
                leave(error.kept, None if error.states is None else [error.states[k] for k in self.back])
            found = _user_exception(error, exceptions, self.index_errors)
            raise found from (error if found is not error and not error.type else None)

    def raised_by(self, inputs: list, states: list) -> RunError | None:
        run = self.run_
        try:
            with self._generator(run):
                run.run(inputs, [states[k] for k in self.order], options=run_options())
        except RunError as error:
            return error
        return None

    def _generator(self, run: Any) -> Any:
        return generator.lent_to(run) if self.draws else contextlib.nullcontext()

    def _run_in_use(self, keeps_states: bool) -> contextlib.AbstractContextManager:
        """The Run by which this thread's next call is made, for this thread alone. A loaded program's keeps the
        states."""
        return self._runs.keeping_states() if keeps_states else contextlib.nullcontext(self._runs.own)

    @contextlib.contextmanager
    def traced(self, keeps_states: bool) -> Iterator[list]:
        """Afterwards the list holds (number of the decision, arm) of the last call."""
        taken: list = []
        with self._run_in_use(keeps_states) as run:
            run.set_trace(True)
            try:
                yield taken
                taken += run.trace
            finally:
                run.set_trace(False)

    @contextlib.contextmanager
    def profiled(self, keeps_states: bool) -> Iterator[dict]:
        measured: dict = {}
        with self._run_in_use(keeps_states) as run:
            run.set_profile(True)
            try:
                started = time.perf_counter()
                yield measured
                measured["seconds"] = time.perf_counter() - started
                measured["profile"] = run.profile
            finally:
                run.set_profile(False)

    def reset_states(self) -> None:
        with self._runs.keeping_states() as run:
            run.reset_states()

    def save(self, path: str) -> None:
        native().copy_package(self.readable("saving"), path)

    def emit(self, folder: str, name: str) -> None:
        try:
            native().package_to_cpp(self.readable("emitting"), folder, name)
        except CompileError as error:
            raise _compile_error(error, kind="emit") from None

    def emit_onnx(self, path: str, engine_ops: bool) -> list[str]:
        try:
            if self.builder is not None:
                return list(native().program_to_onnx(self.builder, path))
            return list(native().package_to_onnx(self.readable("emitting"), path, engine_ops))
        except CompileError as error:
            raise _compile_error(error, kind="emit") from None

    def described(self) -> dict | None:
        """The program as data, for drawings; None for one that was stripped."""
        try:
            return json.loads(native().package_to_json(self.path))
        except PackageError:
            return None

    def ir_text(self) -> str:
        return self.program.ir_text

    def hcfg(self) -> str:
        """The program after the passes: host ops and calls of sub-DNNs, then the sub-DNNs. "" for a loaded program that
        was stripped."""
        text = self.program.hcfg()
        return native().after_passes(self.builder) if not text and self.builder is not None else text


def _compile_error(error: CompileError, kind: str) -> CompileError:
    """Which step refused is the kind that docs/supported_python.md knows; an engine that is not there is missing."""
    error.kind = kind if not error.is_kind("missing") else "missing"
    return error


def _source_texts(builder: Any) -> dict[str, str]:
    """The files that spans name; the package keeps the lines they mention, for errors and emitted source."""
    return {name: "".join(linecache.getlines(name)) for name in builder.sources}


_OF_TORCH = {"_LinAlgError": torch.linalg.LinAlgError}


def class_named(name: str, exceptions: dict) -> Any:
    """The exception's class: the user's, torch's or Python's; None if there is none of that name."""
    return exceptions.get(name) or _OF_TORCH.get(name) or getattr(builtins, name, None)


def exception_of(cls: type, name: str, message: str, exceptions: dict) -> BaseException:
    return exceptions.exception(cls, name, message) if isinstance(exceptions, Raised) else cls(message)


class RunIndexError(IndexError, RuntimeError):
    """An index out of range, in a part of the program where torch raises the one here and the other there."""


_BY_INDEX = re.compile(r"running (\w+) node\..*(out of data bounds|invalid ind|out of bounds|GatherElements op)",
                       re.DOTALL)
_LONGEST_SAID = 10_000  # characters that engines need for it; a package may raise an error of its own that is long


def _index_error(error: Any, index_errors: dict) -> BaseException | None:
    """What torch raises where an engine refuses an index."""
    failed = _BY_INDEX.search(error.message[:_LONGEST_SAID])
    if failed is None or not index_errors.get(failed[1]):
        return None
    names = index_errors[failed[1]]
    kind = RunIndexError if len(names) > 1 else IndexError if names[0] == "IndexError" else RuntimeError
    file, line, column = error.span[:3] if error.span else ("", 0, 0)
    what = "an index or another number is out of range"
    return kind(f"{file}:{line}:{column}: {what}" if line else what)


def _user_exception(error: Any, exceptions: dict, index_errors: dict) -> BaseException:
    """An exception of the user's program, as its own class."""
    if isinstance(error, RunStopped):
        return error
    name = getattr(error, "type", "") or ""
    if not name:
        return _index_error(error, index_errors) or error
    cls = class_named(name, exceptions)
    if isinstance(cls, type) and issubclass(cls, Exception):
        try:
            return exception_of(cls, name, getattr(error, "message", str(error)), exceptions)
        except Exception:
            return error
    return error

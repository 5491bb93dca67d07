# SPDX-License-Identifier: Apache-2.0
"""Packages run with numpy alone: neither torch nor the compiler is imported.

    program = dycl.runtime.load("gate.dycl")
    program(x)                              # {"out0": array(...), "out1": 4}

Arguments are arrays and numbers, in the order of `program.inputs` or by their names. Results come by the names of
`program.outputs`, flat: `dycl.load` gives the objects that the model would have returned.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import functools
import json
import operator
import os
import sys
import threading
from typing import Any, Callable, Iterable, Iterator

import numpy as np

from .errors import InputError, PackageError, RunError, RunStopped
from .native import native

__all__ = ["Cancellation", "InputError", "PackageError", "Program", "RunError", "RunOptions", "RunStopped", "load"]

Cancellation = native().Cancellation
Keys = str | os.PathLike | Iterable[str | os.PathLike]
Key = str | os.PathLike | Callable[[str], str | os.PathLike]


def load(path: str | os.PathLike | bytes, *, threads: int = 0,
         host_functions: dict[str, Callable[..., Any]] | None = None, allow_native_code: bool = False,
         require_signature: Keys | None = None, decryption_key: Key | None = None) -> "Program":
    """A saved program: its file, or the package itself as bytes. `threads`: of the engine within one call, at most
    1024; 0: as many as there are cores. `host_functions`: by name, functions of numpy arrays and numbers that the
    program calls. `allow_native_code`, `require_signature` and `decryption_key`: as `dycl.load` has them."""
    threads = checked_threads(threads)
    functions = {name: _of_numbers(function) for name, function in checked_functions(host_functions).items()}
    return Program(native().Program.load(package_of(path), threads=threads, host_functions=functions,
                                         host_framework="numpy", allow_native_code=allow_native_code,
                                         require_signature=public_keys(require_signature),
                                         decryption_key=key_finder(decryption_key)))


def checked_functions(given: dict[str, Callable[..., Any]] | None) -> dict[str, Callable[..., Any]]:
    """Functions of the host by their names."""
    functions = {} if given is None else given
    if not isinstance(functions, dict) or not all(isinstance(name, str) and callable(function)
                                                  for name, function in functions.items()):
        raise InputError(f"host_functions is {given!r}; give a dict of functions by their names")
    return functions


def package_of(given: str | os.PathLike | bytes | bytearray | memoryview) -> str | bytes:
    """A path, or a package in memory, as the runtime takes them. Bytes are never a path."""
    return bytes(given) if isinstance(given, (bytes, bytearray, memoryview)) else path_of(given)


def path_of(given: str | os.PathLike) -> str:
    """The text of a path. The system would read one with a NUL up to there, and so name another file."""
    path = os.fsdecode(given)
    if "\0" in path:
        raise InputError(f"{path!r} is no path: it holds a NUL")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise InputError(f"{path!r} is no path: it holds half a character") from None
    return path


def public_keys(given: Keys | None) -> list[str]:
    """The texts or files of keys, as the runtime takes them; none: no signature is required."""
    if given is None:
        return []
    keys = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    if not keys:
        raise InputError("require_signature names no key; give a public key, or the file that holds it")
    return [path_of(key) for key in keys]


def key_finder(given: Key | None) -> Callable[[str], str] | None:
    """The key's text or file for the name of a key, as the runtime asks for it."""
    if given is None:
        return None
    find = given if callable(given) else lambda _: given

    def found(name: str) -> str:
        key = find(name)
        if not isinstance(key, (str, os.PathLike)) or not path_of(key):
            raise InputError("decryption_key is no key; give its text, the file that holds it, or a function of a "
                             "key's name that gives one of these")
        return path_of(key)
    return found


_MOST_VALUES = 1 << 22  # in metadata that is read: `dycl.load` refuses packages with more

# What `with` has made the options of this thread's (or task's) calls; the last one holds.
_entered: contextvars.ContextVar[tuple["RunOptions", ...]] = contextvars.ContextVar("dycl_run_options", default=())


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """What ends a call of a program, each call anew:

        with dycl.RunOptions(deadline=0.1):
            program(x)                          # dycl.RunStopped of type "DeadlineExceeded" after 0.1 s

    It holds for the calls of this thread (or task) inside the `with`. The program can be called again, and its states
    stay as they were. Deadline and cancellation are looked at between steps and around every sub-DNN; ONNX Runtime and
    TVM end inside one, too, at its next op."""

    deadline: float | None = None  # seconds
    step_limit: int | None = None  # rounds of all loops, and calls of sub-DNNs and host functions
    memory_limit: int | None = None  # bytes of the program's own tensors and lists, results too
    cancellation: Any = None  # a dycl.Cancellation

    def __post_init__(self) -> None:
        deadline = 0 if self.deadline is None else self.deadline
        if not isinstance(deadline, (int, float)) or deadline != deadline or (
                isinstance(deadline, int) and abs(deadline) > sys.float_info.max):
            raise InputError(f"deadline is {self.deadline!r}; give seconds")
        for name in ("step_limit", "memory_limit"):
            limit = getattr(self, name)
            if limit is not None and not (isinstance(limit, int) and 0 < limit < 1 << 63):
                raise InputError(f"{name} is {limit!r}; give a number above 0, or None: no limit")
        if self.cancellation is not None and not isinstance(self.cancellation, Cancellation):
            raise InputError(f"cancellation is {self.cancellation!r}; give a dycl.Cancellation")

    def __enter__(self) -> "RunOptions":
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *_: object) -> None:
        _entered.set(_entered.get()[:-1])


def run_options() -> RunOptions | None:
    """Those that hold here."""
    entered = _entered.get()
    return entered[-1] if entered else None


class Runs:
    """Who executes a program. Each thread has a Run of its own; a program that keeps states between calls has one Run
    for all, who take turns."""

    def __init__(self, program: Any):
        self._program = program
        self._keep_states = bool(program.states)  # asked once: the list is made anew each time
        self._of_thread = threading.local()
        self.first = self._new()  # keeps the states
        self._busy = threading.RLock()  # a callback of a call that calls again is refused by the run, and does not wait

    def _new(self) -> Any:
        run = self._of_thread.run = native().Run(self._program)
        run.set_print(_print)
        return run

    @property
    def own(self) -> Any:
        """This thread's Run."""
        return getattr(self._of_thread, "run", None) or self._new()

    def execute(self, arguments: list, framework: str) -> list:
        """One call. Small programs take as long as this, so it is short."""
        if not self._keep_states:
            return self.own.run(arguments, framework=framework, options=run_options())
        with self._busy:
            return self.first.run(arguments, framework=framework, options=run_options())

    @contextlib.contextmanager
    def keeping_states(self) -> Iterator[Any]:
        if not self._keep_states:
            yield self.own
            return
        with self._busy:
            yield self.first


class Program:
    """A loaded package. Threads may call one at the same time; one that keeps states between calls answers them in
    turn."""

    def __init__(self, loaded: Any):
        self._program = loaded
        self._runs = Runs(loaded)
        self._names = [name for name, _ in loaded.inputs]
        self._optional = {name for name, kind in loaded.inputs if kind.startswith("optional<")}  # may be left out
        self._results = [name for name, _ in loaded.outputs]

    @property
    def inputs(self) -> list[tuple[str, str]]:
        """(name, type) of each, types as docs/ir.md writes them."""
        return self._program.inputs

    @property
    def outputs(self) -> list[tuple[str, str]]:
        return self._program.outputs

    @property
    def states(self) -> list[tuple[str, str]]:
        """What the program keeps between calls."""
        return self._program.states

    @property
    def variants(self) -> list[str]:
        """What the model returns where the result `variant` is 0, 1, ...; empty if there is no such result."""
        try:
            whole = self._program.metadata
            if sum(map(whole.count, "[{,")) > _MOST_VALUES:
                return []
            told = json.loads(json.loads(whole)["metadata"]["variants"])
        except (KeyError, TypeError, ValueError, RecursionError):
            return []  # there are none, or the package's maker wrote something else
        return [text for text in told if isinstance(text, str)] if isinstance(told, list) else []

    def __call__(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        arguments = [_array(x) for x in self._in_order(args, kwargs)]
        return dict(zip(self._results, self._runs.execute(arguments, "numpy")))

    def __repr__(self) -> str:
        def ports(of: list) -> str:
            return ", ".join(f"{name}: {kind}" for name, kind in of)
        return f"Program({ports(self.inputs)}) -> ({ports(self.outputs)})"

    def state(self, name: str) -> Any:
        with self._runs.keeping_states() as run:
            return run.state(name, framework="numpy")

    def set_state(self, name: str, value: Any) -> None:
        with self._runs.keeping_states() as run:
            run.set_state(name, _array(value))

    def reset_states(self) -> None:
        """As they were when the model was compiled."""
        with self._runs.keeping_states() as run:
            run.reset_states()

    def set_seed(self, seed: int) -> None:
        """Of the random numbers that this thread's calls draw: as torch on the CPU after torch.manual_seed(seed). At
        first 0; they go on from call to call."""
        with self._runs.keeping_states() as run:
            run.set_seed(seed)

    def _in_order(self, args: tuple, kwargs: dict[str, Any]) -> list:
        if not kwargs and len(args) == len(self._names):
            return list(args)
        by_name = self._names[len(args):]
        unknown = [name for name in kwargs if name not in by_name]
        missing = [name for name in by_name if name not in kwargs and name not in self._optional]
        if unknown or missing or len(args) > len(self._names):
            raise InputError(f"the program takes {', '.join(self._names) or 'nothing'}; given {len(args)} by place"
                             + (f" and {', '.join(kwargs)} by name" if kwargs else "")
                             + (f"; not given: {', '.join(missing)}" if missing else "") + self._help(unknown))
        return [*args, *(kwargs.get(name) for name in by_name)]

    def _help(self, unknown: list[str]) -> str:
        """What to do about arguments that it does not have."""
        return ""


def checked_threads(threads: Any) -> int:
    """A number of threads that an engine may be asked for."""
    most = native().MOST_THREADS
    try:
        number = operator.index(threads)
    except TypeError:
        number = -1
    if not 0 <= number <= most:
        raise InputError(f"threads is {threads!r}; give 1 to {most}, or 0: as many as there are cores")
    return number


def _of_numbers(function: Callable) -> Callable:
    """A host function whose numpy numbers are plain ones."""
    @functools.wraps(function)
    def call(*args: Any) -> Any:
        returned = function(*args)
        several = isinstance(returned, (tuple, list))
        return () if returned is None else tuple(map(_array, returned)) if several else _array(returned)
    return call


def _array(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) else x


def printable(text: str) -> str:
    """A stranger's text for a terminal: what steers one becomes its escape. Lines and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape", "surrogatepass").decode()
                   for c in text)


def _print(text: str) -> None:
    terminal = sys.stdout is not None and sys.stdout.isatty()
    print(printable(text) if terminal else text, end="", flush=False)

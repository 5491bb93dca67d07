# SPDX-License-Identifier: Apache-2.0
"""An ONNX file in ONNX Runtime beside the program that was compiled from it."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import CompileError, InputError
from .compare import Policy, differences

_DTYPES = {"float": np.float32, "float16": np.float16, "double": np.float64, "int64": np.int64, "int32": np.int32,
           "int16": np.int16, "int8": np.int8, "uint64": np.uint64, "uint32": np.uint32, "uint16": np.uint16,
           "uint8": np.uint8, "bool": np.bool_}
EXTENTS = (1, 512, 64, 128, 320, 640, 256, 16000, 8, 48, 105)  # tried where a file leaves them open
_MOST_TRIES = 400
_MOST_ELEMENTS = 5_000_000  # of the inputs of one call


class NotComparable(Exception):
    """Why ONNX Runtime gives nothing to compare with."""


@functools.cache
def _onnxruntime() -> Any:
    try:
        return importlib.import_module("onnxruntime")
    except ModuleNotFoundError:
        raise NotComparable("there is no Python package onnxruntime") from None


def session_of(path: str | os.PathLike, optimised: bool = True) -> Any:
    """The file in ONNX Runtime, with one thread. Raises NotComparable where it takes no such file."""
    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if not optimised:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise NotComparable(f"it does not take the file: {_first_line(error)}") from None


def ends_within(seconds: float, session: Any, feeds: dict[str, Any]) -> bool:
    """Whether a call of the session ends in that time; if not, it is stopped. Raises what the call raises."""
    options, late = _onnxruntime().RunOptions(), threading.Event()

    def stop() -> None:
        late.set()
        options.terminate = True

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        session.run(None, feeds, options)
    except Exception:
        if not late.is_set():
            raise
    finally:
        timer.cancel()
    return not late.is_set()


def inputs_of(session: Any, seed: int, more: Sequence[int] = ()) -> tuple[dict[str, Any], list]:
    """Random inputs that ONNX Runtime takes, and what it gives. Extents that the file leaves open are tried: EXTENTS
    and `more`. Raises NotComparable where none fit."""
    generator = np.random.default_rng(seed)
    ports = session.get_inputs()
    error: Any = "their extents hold too many elements"
    for sizes in itertools.islice(_open_extents(ports, more), _MOST_TRIES):
        feeds = {port.name: _drawn(port, [_extent(port, axis, sizes) for axis in range(len(port.shape))], generator)
                 for port in ports}
        if sum(np.size(value) for value in feeds.values()) > _MOST_ELEMENTS:
            continue
        try:
            return feeds, session.run(None, feeds)
        except Exception as caught:
            error = _first_line(caught)
    raise NotComparable(f"no random inputs were found that it takes; the last were refused: {error}\n"
                        "  help: give example inputs, dycl.compile(path, (x,))")


def _open_extents(ports: list, more: Sequence[int]) -> Iterator[dict[str, int]]:
    names = sorted({_symbol(port, axis) for port in ports for axis, extent in enumerate(port.shape)
                    if not _is_known(extent)})
    tried, others = (*EXTENTS, *more), max(0, len(names) - 1)
    yield from (dict.fromkeys(names, extent) for extent in tried)
    yield from ({name: extent if k else 1 for k, name in enumerate(names)} for extent in tried)
    if len(names) <= 4:
        yield from (dict(zip(names, (1, *rest))) for rest in itertools.product(EXTENTS, repeat=others))


def _is_known(extent: Any) -> bool:
    return isinstance(extent, int) and extent >= 0


def _symbol(port: Any, axis: int) -> str:
    return str(port.shape[axis]) if port.shape[axis] else f"{port.name}.{axis}"


def _extent(port: Any, axis: int, sizes: dict[str, int]) -> int:
    return port.shape[axis] if _is_known(port.shape[axis]) else sizes[_symbol(port, axis)]


def _drawn(port: Any, shape: list[int], generator: np.random.Generator) -> Any:
    kind = port.type.removeprefix("optional(")
    if kind.startswith("seq("):
        return [_array(kind[4:], port.name, (2, 3), generator) for _ in range(2)]
    return _array(kind, port.name, shape, generator)


def _array(kind: str, name: str, shape: Sequence[int], generator: np.random.Generator) -> np.ndarray:
    dtype = _DTYPES.get(kind.removeprefix("tensor(").rstrip(")"))
    if dtype is None:
        raise NotComparable(f"no random inputs are drawn for '{name}', a {kind}")
    if np.dtype(dtype).kind == "f":
        return generator.standard_normal(shape).astype(dtype)
    if name == "sr":  # what voice models call their sampling rate
        return np.full(shape, 16000, dtype)
    if "len" in name:
        return np.full(shape, max(shape, default=1), dtype)
    return generator.integers(0, 2 if dtype == np.bool_ else 3, shape).astype(dtype)


def _first_line(error: Any) -> str:
    return str(error).strip().split("\n")[0][:200]


# ---- side by side ------------------------------------------------------------------


class Beside:
    """The program and the file that it was compiled from. A difference counts only where ONNX Runtime agrees with
    itself: not where its answers with and without its optimisations are that far apart, too."""

    def __init__(self, path: str | os.PathLike, program: Any, rtol: float = 1e-3, atol: float = 1e-4):
        self._path, self._program = path, program
        self._session = session_of(path)
        self._tolerance = rtol, atol
        self.worst = 0.0  # the largest difference of floating values so far

    def on_random(self, seed: int) -> list[str]:
        feeds, wanted = inputs_of(self._session, seed)
        return self._differences(feeds, feeds, wanted)

    def on(self, feeds: dict[str, Any]) -> list[str]:
        """Raises InputError where ONNX Runtime cannot run these inputs. A default that is not given is None."""
        defaults = {port.name for port in self._session.get_overridable_initializers()}
        given = {name: value for name, value in feeds.items() if value is not None or name not in defaults}
        try:
            wanted = self._session.run(None, given)
        except Exception as error:
            raise InputError(f"ONNX Runtime does not take the given inputs: {_first_line(error)}") from None
        return self._differences(feeds, given, wanted)

    def _differences(self, feeds: dict[str, Any], given: dict[str, Any], wanted: list) -> list[str]:
        """`feeds`: in the program's order; `given`: those of ONNX Runtime."""
        try:
            results = list(self._program(*feeds.values()).values())
        except Exception as error:
            return [f"the program raises {type(error).__name__}: {_first_line(error)}"]
        found, worst = self._compared(wanted, results)
        if found:
            plain = session_of(self._path, optimised=False).run(None, given)
            if self._compared(wanted, plain)[0]:
                raise NotComparable("its answers with and without its optimisations differ as far")
        self.worst = max(self.worst, worst)
        return found

    def _compared(self, wanted: list, given: list) -> tuple[list[str], float]:
        policy = Policy(*self._tolerance)
        names = [port.name for port in self._session.get_outputs()]
        found = [differences(a, b, f"result '{name}'", policy) for name, a, b in zip(names, wanted, given)]
        return [text for texts in found for text in texts], policy.worst


def check_file(path: str | os.PathLike, program: Any, feeds: dict[str, Any] | None) -> str:
    """Compares on `feeds`, or on two random inputs. Returns why it could not, or ""; raises CompileError where the
    answers differ."""
    try:
        beside = Beside(path, program)
        found = beside.on(feeds) if feeds is not None else [*beside.on_random(1), *beside.on_random(2)]
    except NotComparable as reason:
        return str(reason)
    if found:
        raise CompileError("verification failed: the program's answers differ from those of ONNX Runtime\n  "
                           + "\n  ".join(found[:8])
                           + "\n  help: this is a defect of DyCL; please report the model. verify=False skips "
                           "the check, at your own risk", kind="verify")
    return ""

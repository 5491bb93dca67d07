# SPDX-License-Identifier: Apache-2.0
"""Functions that stay outside the compiled program.

    @dycl.host_function(results=("f32[?,4]", int))
    def suppress(boxes, scores): ...

Capture does not look inside: it leaves a call by name. In Python the function itself is called; a deployed program
calls the C++ function that is registered under the name (`LoadOptions::host_functions`), and does not load without one.
It takes tensors and numbers and gives tensors and numbers; what it does to its arguments is not seen by the program.

`results` says what it gives: types as docs/ir.md writes them ("f32[2,?]", "int"), or int, float, bool. Left out, the
function is run once on example values while the model is compiled.
Either way a result of another type ends the run with an error.
"""

from __future__ import annotations

import functools
import re
from typing import Any, Callable

import numpy as np
import torch

from .. import dtypes
from ..runtime import checked_functions
from .generator import returned_while

_DTYPES = {name: dtype for name, dtype in dtypes.BY_NAME.items() if name not in ("u16", "u32", "u64")}
_TENSOR = re.compile(r"(\w+)\[([^\]]*)\]\Z")
_NUMBERS = {"bool": bool, "int": int, "float": float}

registered: dict[str, "HostFunction"] = {}


class HostFunction:
    """A function of the user's that capture leaves alone. `results`: None, or one (dtype, dims)
    or number's name each."""

    def __init__(self, function: Callable, name: str, results: Any):
        functools.update_wrapper(self, function)
        self.function, self.name = function, name
        self.single = results is not None and not isinstance(results, (tuple, list))
        self.results = None if results is None else [_type(r) for r in ([results] if self.single else results)]

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def for_runtime(self, *args: Any) -> tuple:
        """What the runtime calls: a tuple of tensors and plain numbers."""
        returned = self.function(*args)
        if returned is None:
            return ()
        values = returned if isinstance(returned, (tuple, list)) else (returned,)
        wanted = self.results if self.results is not None and len(self.results) == len(values) else [None] * len(values)
        return tuple(_plain(v, w) for v, w in zip(values, wanted))


def host_function(function: Callable | None = None, *, name: str = "", results: Any = None) -> Any:
    """Marks a function as opaque to `dycl.compile`; see the module's text. `name` is that of the registration."""
    if function is None:
        return functools.partial(host_function, name=name, results=results)
    if not callable(function):
        raise TypeError("host_function marks a function")
    made = HostFunction(function, name or function.__name__, results)
    registered[made.name] = made
    return made


def _print(template: torch.Tensor, *values: Any) -> None:
    """Tensors as torch writes them, among what print() was given; the template is a format in UTF-8."""
    shown = [str(v) if isinstance(v, torch.Tensor) else v for v in values]
    print(bytes(template.tolist()).decode().format(*shown), end="", flush=True)


PRINT = host_function(_print, name="print", results=())


def table(given: dict[str, Callable] | None = None) -> dict[str, Callable]:
    """By name: what is marked in this process, then what the caller gives."""
    functions: dict[str, Callable] = {name: returned_while(f.for_runtime) for name, f in registered.items()}
    for name, function in checked_functions(given).items():
        made = function if isinstance(function, HostFunction) else HostFunction(function, name, None)
        functions[name] = returned_while(made.for_runtime)
    return functions


def describe(value: Any) -> Any:
    """The type of an example result, in the form of HostFunction.results; None: no result a program can hold."""
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, torch.Tensor):
        return (value.dtype, tuple(value.shape)) if value.dtype in _DTYPES.values() else None
    value = value.item() if isinstance(value, np.generic) else value
    return type(value).__name__ if type(value) in (bool, int, float) else None


def _type(given: Any) -> Any:
    if given in (bool, int, float):
        return given.__name__
    if isinstance(given, (torch.Tensor, np.ndarray)):
        return describe(given)
    if isinstance(given, str):
        if given in _NUMBERS:
            return given
        found = _TENSOR.match(given.replace(" ", ""))
        dims = found[2].split(",") if found and found[2] else []
        if found and found[1] in _DTYPES and all(d == "?" or d.isdigit() for d in dims):
            return _DTYPES[found[1]], tuple(None if d == "?" else int(d) for d in dims)
    raise ValueError(f"host_function: {given!r} is no type of a result; write 'f32[2,?]', int, float or bool")


def _plain(value: Any, wanted: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(wanted, str) and isinstance(value, (bool, int, float)):
        if wanted == "float" or wanted == "int" and isinstance(value, bool):
            return _NUMBERS[wanted](value)
    return value.detach() if isinstance(value, torch.Tensor) else value

# SPDX-License-Identifier: Apache-2.0
"""Which Python functions the machine interprets and which run natively.

Interpreted: everything, but for torch's internals, numpy and the standard library, whose code is free
of control flow that depends on the model's input (native code that does look is caught: see values/scalar.py).
Of those, the parts that call back into user code or keep it (torch.nn, contextlib, functools, dataclass
and namedtuple methods) are interpreted too.
"""

from __future__ import annotations

import functools
import os
import random
import sys
import sysconfig
import types
from typing import Any

import numpy as np
import torch

from ... import errors, frontend, objects
from .. import polyfills, torch_internals
from ..diagnostics import CaptureRefusal

_STDLIB = tuple({os.path.realpath(sysconfig.get_paths()[k]) + os.sep for k in ("stdlib", "platstdlib")})
_SITE = tuple({os.path.realpath(p) + os.sep
               for p in (sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"])})
_TORCH = os.path.dirname(os.path.realpath(torch.__file__)) + os.sep
_HERE = os.path.dirname(os.path.realpath(frontend.__file__)) + os.sep
_POLYFILLS = os.path.dirname(os.path.realpath(polyfills.__file__)) + os.sep

_INTERPRETED_TORCH = (
    "nn/modules/", "nn/functional.py", "nn/utils/", "nn/attention/", "distributions/", "utils/_contextlib.py",
    "_jit_internal.py", "functional.py", "nn/init.py", "_export/db/examples/", "autograd/function.py", "utils/hooks.py",
    "amp/autocast_mode.py", "nn/parallel/data_parallel.py",
)
_INTERPRETED_STDLIB = ("contextlib.py", "functools.py", "dataclasses.py", "copy.py",
                       "copyreg.py", "bisect.py", "heapq.py", "statistics.py", "random.py", "collections" + os.sep,
                       "types.py", "_collections_abc.py")
_NATIVE_SITE = ("numpy", "scipy", "sympy")
_NATIVE_PACKAGES = ("einx",)  # a compiler of its own: looks at shapes alone

_cache: dict[types.CodeType, bool] = {}
# Beside the front end: what capture runs itself. The rest of the package is to a model what any library is: a host
# function or a compiled program that it calls may keep states, which native calls would change while compiling.
_SHARED = {os.path.realpath(module.__file__) for module in (errors, objects)}


def shares(module: types.ModuleType) -> None:
    """Capture runs the module's code itself, while it watches what native code calls back."""
    _SHARED.add(os.path.realpath(str(module.__file__)))


def is_polyfill(fn: types.FunctionType) -> bool:
    return _is_polyfill_file(fn.__code__.co_filename)


@functools.lru_cache(maxsize=None)
def _is_polyfill_file(path: str) -> bool:
    return os.path.realpath(path).startswith(_POLYFILLS)


def interpreted(fn: types.FunctionType) -> bool:
    code = fn.__code__
    found = _cache.get(code)
    if found is None:
        found = _cache[code] = _decide(fn)
    return found


def _decide(fn: types.FunctionType) -> bool:
    raw = fn.__code__.co_filename
    if raw.startswith("<frozen "):
        return False
    if raw.startswith("<"):
        module = home(fn)
        return not (module.startswith("torch.") and not module.startswith("torch.nn")) and module != "enum"
    if is_native_package(fn):
        return False
    path = os.path.realpath(raw)
    if path.startswith(_TORCH):
        return path[len(_TORCH):].replace(os.sep, "/").startswith(_INTERPRETED_TORCH)
    if is_ours(path):
        return path.startswith(_POLYFILLS)
    for site in _SITE:
        if path.startswith(site):
            return path[len(site):].split(os.sep)[0] not in _NATIVE_SITE
    for lib in _STDLIB:
        if path.startswith(lib) and "site-packages" not in path:
            return path[len(lib):].startswith(_INTERPRETED_STDLIB)
    return True


@functools.lru_cache(None)
def is_torch_file(path: str) -> bool:
    return os.path.realpath(path).startswith(_TORCH)


def home(fn: Any) -> str:
    """The module it was written in: what a function says of itself may be another's (functools.wraps copies it)."""
    if isinstance(fn, types.FunctionType):
        return fn.__globals__.get("__name__") or ""
    return getattr(fn, "__module__", None) or ""


def is_native_package(fn: Any) -> bool:
    return home(fn).partition(".")[0] in _NATIVE_PACKAGES


@functools.lru_cache(maxsize=None)
def is_user_file(path: str) -> bool:
    """Not of the standard library nor of an installed package: a package's folder has a dist-info beside it."""
    path = os.path.realpath(path)
    if path.startswith(_STDLIB):
        return False
    if path.startswith(_SITE):
        return False
    for entry in sys.path:
        root = os.path.realpath(entry) + os.sep
        if entry and path.startswith(root):
            top = path[len(root):].split(os.sep)[0].removesuffix(".py").replace("-", "_").lower()
            try:
                names = os.listdir(entry)
            except OSError:
                continue
            if any(n.endswith(".dist-info") and (n.split("-")[0].replace("-", "_").lower() == top
                                                 or top in _tops(os.path.join(entry, n))) for n in names):
                return False
    return True


@functools.lru_cache(None)
def _tops(folder: str) -> frozenset:
    """The top-level names that an installed distribution brings, by its list of files."""
    try:
        with open(os.path.join(folder, "RECORD"), encoding="utf-8") as record:
            lines = record.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return frozenset()
    return frozenset(line.split(",")[0].split("/")[0].removesuffix(".py").lower() for line in lines if line)


@functools.lru_cache(maxsize=None)
def is_python_or_torch(path: str) -> bool:
    """A file of torch, of the standard library (with what typing_extensions puts into `typing`) or of capture."""
    path = os.path.realpath(path)
    if os.path.basename(path) == "typing_extensions.py":
        return not is_user_file(path)
    return (path.startswith((_TORCH, _HERE)) or path in _SHARED
            or path.startswith(_STDLIB) and "site-packages" not in path)


@functools.lru_cache(maxsize=None)
def is_ours(path: str) -> bool:
    path = os.path.realpath(path)
    return path.startswith(_HERE) or path in _SHARED


def is_torch(fn: Any) -> bool:
    """A callable of torch (whose calls the recorder must see)."""
    if isinstance(fn, (torch_internals.OpOverload, torch_internals.OpOverloadPacket)):
        return True
    module = getattr(fn, "__module__", None) or ""
    if module.startswith("torch"):
        return True
    owner = getattr(fn, "__self__", None)
    if owner is not None:
        name = getattr(owner, "__module__", None) or getattr(owner, "__name__", None) or ""
        if isinstance(name, str) and name.startswith("torch"):
            return True
    home = getattr(fn, "__objclass__", None)
    return home is not None and (home.__module__ or "").startswith("torch")


_REFUSED_MODULES = ("random", "time", "secrets", "numpy.random", "datetime", "threading", "multiprocessing",
                    "subprocess", "socket", "asyncio")
_REFUSED_PACKAGES = ("numpy.random.",)


def check_native(fn: Any) -> None:
    """Refuses native calls whose result is not a function of the model's input."""
    module = getattr(fn, "__module__", None) or ""
    owner = getattr(fn, "__self__", None)
    if owner is not None and not isinstance(owner, types.ModuleType):
        module = type(owner).__module__ if module == "" else module
    elif isinstance(owner, types.ModuleType):
        module = owner.__name__
    if module in _REFUSED_MODULES or module.startswith(_REFUSED_PACKAGES):
        raise CaptureRefusal(f"a call of {module}.{getattr(fn, '__name__', '?')}: its result changes from run to run",
                             "compute it outside and pass it in, or draw with torch.rand", kind="nondeterministic")


def check_drawing(fn: Any, args: tuple, kwargs: dict) -> None:
    """Refuses native code that is given a generator: it would draw once, while compiling."""
    if (any(isinstance(x, GENERATORS) for x in (*args, *kwargs.values())) and not isinstance(fn, type)
            and (getattr(fn, "__module__", None) or "builtins") != "builtins"):
        raise CaptureRefusal(f"a generator of random numbers given to {getattr(fn, '__name__', '?')}",
                             "compute it outside and pass it in, or draw with torch.rand", kind="nondeterministic")


# of random numbers, and not torch's
GENERATORS = (random.Random, np.random.RandomState, np.random.Generator, np.random.BitGenerator)


_TRAINED = (torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.AlphaDropout,
            torch.nn.FeatureAlphaDropout, torch_internals.BatchNorm, torch.nn.RReLU)


def training_matters(module: torch.nn.Module) -> bool:
    """Training mode changes what this module computes."""
    if isinstance(module, torch_internals.Dropout):
        return module.p > 0
    return isinstance(module, _TRAINED)

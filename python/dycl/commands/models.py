# SPDX-License-Identifier: Apache-2.0
"""The model that a command line names, and its example inputs."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from typing import Any, Callable

import torch

import dycl

from ..errors import unknown_name
from ..example_inputs import Example


class Failure(dycl.Error):
    """The user's own code failed as the model was made."""

    kind = "invalid_model"


def _check_inputs(model: Any, inputs: list, kwargs: dict) -> None:
    """So that a forgotten --input is told as one."""
    try:
        signature = inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)
    except (TypeError, ValueError):
        return
    named = [name for name, p in signature.parameters.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for name in kwargs:
        if name not in named and not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            raise dycl.InputError(unknown_name("argument", name, named))
    try:
        signature.bind(*inputs, **kwargs)
    except TypeError as error:
        given = f" and {', '.join(kwargs)}" if kwargs else ""
        raise dycl.InputError(f"{error}; the model takes {signature}, and {len(inputs)} inputs{given} are "
                              "given (--input 1,3,32,32)") from None


def example_of(args: argparse.Namespace, model: Any, own_inputs: Any, seed: int) -> tuple[Example, tuple, dict]:
    """What the options say of the example inputs: their dynamic extents, the inputs themselves, keyword arguments."""
    example = Example(args.input, args.range)
    inputs = example.inputs
    if own_inputs and not args.input:
        inputs = list(of_user("its inputs(seed)", lambda: own_inputs(seed)))
    kwargs = dict([*args.arg, *args.dynamic_arg])
    _check_inputs(model, inputs, kwargs)
    return example, tuple(inputs), kwargs


def load_model(text: str, evaluate: bool) -> tuple[Any, Any]:
    """The model, and the `inputs(seed)` of the factory that made it, if it has one."""
    where, _, rest = text.partition(":")
    name, _, method = rest.partition(":")
    module = _module(where)
    if not name:
        raise dycl.InputError(f"'{text}' names no object; write {where}:name. There are: {', '.join(_names(module))}")
    found = module
    for part in name.split("."):
        found = _attribute(found, part, where)
    own_inputs = None if method else getattr(found, "inputs", None)
    own_inputs = own_inputs if callable(own_inputs) and hasattr(found, "__code__") else None
    is_factory = getattr(getattr(found, "__code__", None), "co_argcount", 1) == 0
    if isinstance(found, type) or is_factory and not isinstance(found, torch.nn.Module):
        found = of_user(f"{name}()", found)
    if evaluate and isinstance(found, torch.nn.Module):
        found.eval()
    return _attribute(found, method, name) if method else found, own_inputs


def _module(where: str) -> Any:
    if not where.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        try:
            missing = importlib.util.find_spec(where) is None
        except (ImportError, ValueError):
            missing = True
        if missing:
            raise dycl.PackageError(f"there is no module {where}", kind="missing")
        return of_user(where, lambda: importlib.import_module(where))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(where))[0], where)
    if spec is None or spec.loader is None or not os.path.exists(where):
        raise dycl.PackageError(f"there is no file {where}", kind="missing")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, os.path.dirname(os.path.abspath(where)))
    of_user(where, lambda: spec.loader.exec_module(module))
    return module


def _names(module: Any) -> list[str]:
    """What of a module may be meant as a model."""
    return [name for name, x in vars(module).items()
            if not name.startswith("_") and callable(x) and getattr(x, "__module__", None) == module.__name__]


def _attribute(owner: Any, name: str, where: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        known = _names(owner) if inspect.ismodule(owner) else [n for n in dir(type(owner)) if not n.startswith("_")]
        few = known if len(known) < 20 else []
        raise dycl.InputError(f"{where}: {unknown_name('object', name, few)}") from None


def of_user(what: str, call: Callable) -> Any:
    """Code of the user's that fails is told with the lines that the user wrote."""
    try:
        return call()
    except Exception as error:
        own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        frames = [f for f in traceback.extract_tb(error.__traceback__)
                  if not f.filename.startswith(own) and "importlib" not in f.filename]
        lines = traceback.format_list(frames) + traceback.format_exception_only(error)
        raise Failure(f"error: {what} raises {type(error).__name__}\n" + "".join(lines).rstrip(),
                      message=f"{what} raises {type(error).__name__}: {error}") from error

# SPDX-License-Identifier: Apache-2.0
"""Model and program side by side on one call."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import types
from typing import Any

import numpy as np
import torch

from ..calling import places
from ..calling.state_values import ABSENT
from ..errors import CompileError, InputError
from ..objects import plain_object, slot_names


def _made_by_each_call(a: type, b: type) -> bool:
    """Two executions of one namedtuple(...)."""
    return issubclass(a, tuple) and issubclass(b, tuple) and getattr(a, "_fields", 0) == getattr(b, "_fields", 1) and (
        a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


def differences(a: Any, b: Any, path: str, rtol: float, atol: float, worst: list, above: tuple = ()) -> list[str]:
    """Where two results differ; `worst[0]` collects the largest difference of floating values. `above`: the objects
    that hold these, which they may hold in turn."""
    if a is b:
        return []
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.dtype != b.dtype or a.shape != b.shape:
            return [f"{path}: {a.dtype}{list(a.shape)} against {b.dtype}{list(b.shape)}"]
        if a.numel() == 0:
            return []
        if not a.dtype.is_floating_point and not a.dtype.is_complex:
            return [] if torch.equal(a, b) else [f"{path}: integers differ"]
        x, y = (
            a.detach().double() if not a.dtype.is_complex else a,
            b.detach().double() if not b.dtype.is_complex else b,
        )
        finite = torch.isfinite(x) & torch.isfinite(y)
        worst[0] = max(worst[0], (x - y)[finite].abs().max().item() if finite.any() else 0.0)
        scale = x[finite].abs().max().item() if finite.any() else 0.0
        # a few roundings of half precision are more than the rest allows
        rtol = max(rtol, 4 * torch.finfo(a.dtype).eps)
        same = torch.isclose(x, y, rtol=rtol, atol=atol + rtol * scale, equal_nan=True)
        return [] if bool(same.all()) else [f"{path}: values differ by up to {worst[0]:.3g}"]
    if type(a) is not type(b) and not _made_by_each_call(type(a), type(b)):
        return [f"{path}: a {type(a).__name__} against a {type(b).__name__}"]
    if isinstance(a, float):
        if a == b or a != a and b != b or math.isclose(a, b, rel_tol=rtol, abs_tol=atol):
            return []
        return [f"{path}: {a!r} against {b!r}"]
    if isinstance(a, (list, tuple)):
        if any(a is x for x in above):
            return []
        if len(a) != len(b):
            return [f"{path}: {len(a)} elements against {len(b)}"]
        return [d for k, (x, y) in enumerate(zip(a, b))
                for d in differences(x, y, f"{path}[{k}]", rtol, atol, worst, (*above, a))]
    if isinstance(a, dict):
        if list(a) != list(b):
            return [f"{path}: keys {list(a)} against {list(b)}"]
        return [d for k in a for d in differences(a[k], b[k], f"{path}[{k!r}]", rtol, atol, worst, above)]
    if hasattr(a, "__dict__") and (not callable(a) or plain_object(a)):
        if any(a is x for x in above):
            return []
        return differences(vars(a), vars(b), path, rtol, atol, worst, (*above, a))
    if isinstance(a, types.BuiltinMethodType):
        return differences((a.__name__, a.__self__), (b.__name__, b.__self__), path, rtol, atol, worst, above)
    names = slot_names(type(a)) if type(a).__flags__ & 1 << 9 else ()
    if names and type(a).__eq__ is object.__eq__:
        return [d for n in names for d in differences(getattr(a, n, ABSENT), getattr(b, n, ABSENT), f"{path}.{n}",
                                                      rtol, atol, worst, above)]
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        return differences(torch.from_numpy(np.array(a)), torch.from_numpy(np.array(b)), path, rtol, atol, worst)
    try:
        return [] if a is b or bool(a == b) else [f"{path}: {a!r} against {b!r}"]
    except Exception:
        return []


def _outcome(call: Any, args: tuple, kwargs: dict) -> tuple[str, Any, str]:
    out = io.StringIO()
    try:
        with torch.no_grad(), contextlib.redirect_stdout(out):
            result = call(*args, **kwargs)
        return "returned", _as_it_is_now(result, args, kwargs), out.getvalue()
    except (CompileError, InputError):
        raise
    except Exception as error:
        name = type(error).__name__
        # what an engine refuses, torch does
        return "raised", "RuntimeError" if name == "RunError" else name, out.getvalue()


def compare(program: Any, model: Any, args: tuple, kwargs: dict, rtol: float, atol: float, worst: list) -> list[str]:
    """Eager first, on copies of everything it may change; then the program from the same start."""
    interface = program._interface
    before = _Saved(interface)
    memo: dict = {}
    try:
        eager_args, eager_kwargs = copy.deepcopy((args, kwargs), memo)
    except Exception as error:
        raise CompileError(f"an argument can't be copied, so that model and program could be compared ({error}); "
                           "verify=False leaves that out",
                           kind="argument") from error
    expected = _outcome(model, eager_args, eager_kwargs)
    after_eager = before.contents()
    before.restore()
    our_args, our_kwargs = copy.deepcopy((args, kwargs))
    actual = _outcome(program, our_args, our_kwargs)
    after_ours = before.contents()
    before.restore()
    found = differences(expected[0], actual[0], "outcome", rtol, atol, worst)
    found += differences(expected[1], actual[1], "result", rtol, atol, worst)
    found += differences(expected[2], actual[2], "printed", rtol, atol, worst)
    found += differences((eager_args, eager_kwargs), (our_args, our_kwargs), "inputs after", rtol, atol, worst)
    found += differences(after_eager, after_ours, "state after", rtol, atol, worst)
    return found


def _as_it_is_now(result: Any, args: tuple, kwargs: dict) -> Any:
    """A copy: the result may be the model's own state, which is put back.
    Modules and arguments in it stay themselves."""
    own = [x for x in (*args, *kwargs.values()) if not isinstance(x, torch.Tensor)]
    try:
        return copy.deepcopy(result, {id(x): x for x in (*_modules(result), *own)})
    except Exception:
        return result


def _modules(value: Any, depth: int = 4) -> list:
    if isinstance(value, types.MethodType):
        value = value.__self__
    if isinstance(value, torch.nn.Module):
        return [value]
    held = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else vars(
        value).values() if hasattr(value, "__dict__") else ()
    return [m for x in held for m in _modules(x, depth - 1)] if depth else []


def _with_tensors_copied(value: Any) -> Any:
    """As it is now: a tensor may be a buffer of the model, which is put back. Other objects stay themselves."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone() if type(value) is torch.Tensor else value
    if type(value) in (list, tuple):
        return type(value)(map(_with_tensors_copied, value))
    return {k: _with_tensors_copied(v) for k, v in value.items()} if type(value) is dict else value


class _Saved:
    """What a program writes in the outside world, so that a comparison leaves no trace."""

    def __init__(self, interface: Any):
        self.tensors: list = []
        self.slots: list = []
        self.held: list = []  # tensors in attributes, written in place
        self.lists: list = []  # and lists that calls change or replace
        for _, kind, owner, key in interface.states:
            if kind == "tensor":
                self.tensors.append((owner, owner.detach().clone()))
            elif kind != "kept":
                self._slot(owner, key[0] if kind in ("slot", "list") else key)
                if kind == "list" and isinstance(found := places.read(owner, key[0]), list):
                    self.lists.append((found, [*found]))
        interface.recognise()
        for number in interface.at_risk:
            tensor = interface.held_tensor(number)
            if tensor is not None:
                self.held.append((tensor, tensor.detach().clone()))
        for writes in (*(writes for _, writes in interface.variants), *(writes for writes, *_ in interface.failures)):
            for owner, name, _ in writes:
                if id(owner.obj) not in interface.containers:  # the caller's containers are copied anyway
                    self._slot(owner.obj, name)

    def _slot(self, owner: Any, key: Any) -> None:
        if key in ("*", "+"):
            self.slots.append((owner, "*", copy.copy(owner)))
        else:
            self.slots.append((owner, key, places.read(owner, key)))

    def contents(self) -> list:
        values: list = [owner.detach().clone() for owner, _ in self.tensors]
        for owner, key, _ in self.slots:
            value = copy.copy(owner) if key == "*" else places.read(owner, key)
            if value is ABSENT:  # or its class has it
                value = None if isinstance(owner, (list, dict)) else getattr(owner, key, None)
            values.append(_with_tensors_copied(value))
        return values

    def restore(self) -> None:
        for found, items in self.lists:
            found[:] = items
        for owner, value in (*self.tensors, *self.held):
            with torch.no_grad():
                owner.copy_(value)
        for owner, key, value in self.slots:
            if key != "*":
                places.write(owner, key, value)
            elif isinstance(owner, list):
                owner[:] = value
            else:
                owner.clear()
                owner.update(value)


def check_example(program: Any, model: Any, args: tuple, kwargs: dict) -> None:
    worst = [0.0]
    try:
        found = compare(program, model, args, kwargs, 1e-3, 1e-4, worst)
    except InputError as error:
        raise CompileError(f"the example arguments can't be taken: {error}", kind="argument") from error
    if found:
        raise CompileError(
            "verification failed on the example inputs: the program's answers differ from the model's\n  "
            + "\n  ".join(found[:8])
            + "\n  help: this is a defect of DyCL; please report the model. verify=False skips "
            "the check, at your own risk", kind="verify")

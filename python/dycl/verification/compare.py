# SPDX-License-Identifier: Apache-2.0
"""Model and program side by side on one call."""

from __future__ import annotations

import array
import collections
import contextlib
import copy
import io
import math
import types
from typing import Any, Callable

import numpy as np
import torch

from .. import generators
from ..calling import places
from ..calling.nodes import refill
from ..calling.state_values import ABSENT
from ..calling.states.choice import recognise
from ..errors import CompileError, InputError
from ..objects import plain_object, slot_names
from . import free_vectors


class Policy:
    """What verification takes for equal; tests and the zoo say otherwise in classes of their own."""

    def __init__(self, rtol: float, atol: float):
        self.rtol, self.atol = rtol, atol
        self.worst = 0.0  # the largest difference of floating values so far

    def same_class(self, a: type, b: type) -> bool:
        """The same, or made by two executions of one namedtuple(...)."""
        return a is b or issubclass(a, tuple) and issubclass(b, tuple) and all(
            getattr(a, name, a) == getattr(b, name, b) for name in ("_fields", "__module__", "__qualname__"))

    def same_key(self, a: Any, b: Any) -> bool:
        return a is b or a == b

    def same_float(self, a: float, b: float) -> bool:
        return a == b or a != a and b != b or math.isclose(a, b, rel_tol=self.rtol, abs_tol=self.atol)

    def of_values(self, a: torch.Tensor, b: torch.Tensor) -> str:
        """How the elements of two tensors of floating or complex values differ; "": not beyond what is allowed."""
        x, y = (t if t.dtype.is_complex else t.double() for t in (a, b))
        finite = torch.isfinite(x) & torch.isfinite(y)
        self.worst = max(self.worst, (x - y)[finite].abs().max().item() if finite.any() else 0.0)
        scale = x[finite].abs().max().item() if finite.any() else 0.0
        # a few roundings of half precision are more than the rest allows
        rtol = max(self.rtol, 4 * torch.finfo(a.dtype).eps)
        same = torch.isclose(x, y, rtol=rtol, atol=self.atol + rtol * scale, equal_nan=True)
        return "" if bool(same.all()) else f"values differ by up to {self.worst:.3g}"

    def parts(self, x: Any) -> Any:
        """What is compared of a value: a list or dict of what it holds, a tensor; else the value itself, by `same`."""
        if isinstance(x, generators.KINDS):
            return generators.read(x)
        if isinstance(x, (list, tuple, dict, collections.deque, array.array)):
            return x if isinstance(x, dict) else [*x]
        if hasattr(x, "__dict__") and (not callable(x) or plain_object(x)):
            return vars(x)
        if isinstance(x, types.BuiltinMethodType):
            return [x.__name__, x.__self__]
        names = slot_names(type(x)) if type(x).__flags__ & 1 << 9 else ()
        if names and type(x).__eq__ is object.__eq__:
            return {n: getattr(x, n, ABSENT) for n in names}
        return torch.from_numpy(np.array(x)) if hasattr(x, "shape") and hasattr(x, "dtype") else x

    def same(self, a: Any, b: Any) -> bool:
        """Of values without parts."""
        try:
            return bool(a == b)
        except Exception:
            return True


def differences(a: Any, b: Any, path: str, policy: Policy, seen: dict | None = None) -> list[str]:
    """Where two results differ. `seen`: pairs of objects that are compared already, which may hold one another."""
    seen = {} if seen is None else seen
    if a is b or (id(a), id(b)) in seen:
        return []
    tensors = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    if not tensors and not policy.same_class(type(a), type(b)):
        return [f"{path}: a {type(a).__name__} against a {type(b).__name__}"]
    x, y = (a.detach(), b.detach()) if tensors else (a, b) if isinstance(a, float) else map(policy.parts, (a, b))
    if isinstance(x, torch.Tensor):
        told = _of_tensors(x, y, policy)
        return [f"{path}: {told}"] if told else []
    if isinstance(x, (list, dict)):
        seen[id(a), id(b)] = a, b
        return _of_parts(x, y, path, policy, seen)
    same = policy.same_float(a, b) if isinstance(a, float) else policy.same(a, b)
    return [] if same else [f"{path}: {a!r} against {b!r}"]


def _of_tensors(x: torch.Tensor, y: torch.Tensor, policy: Policy) -> str:
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{x.dtype}{list(x.shape)} against {y.dtype}{list(y.shape)}"
    if not x.is_floating_point() and not x.is_complex():
        return "" if torch.equal(x, y) else "integers differ"
    return policy.of_values(x, y) if x.numel() else ""


def _of_parts(x: Any, y: Any, path: str, policy: Policy, seen: dict) -> list[str]:
    """Of two lists or dicts."""
    if isinstance(x, list):
        if len(x) != len(y):
            return [f"{path}: {len(x)} elements against {len(y)}"]
        return [d for k, held in enumerate(zip(x, y)) for d in differences(*held, f"{path}[{k}]", policy, seen)]
    if len(x) != len(y) or not all(map(policy.same_key, x, y)):
        return [f"{path}: keys {list(x)} against {list(y)}"]
    return [d for k, other in zip(x, y) for d in differences(x[k], y[other], f"{path}[{k!r}]", policy, seen)]


def _outcome(call: Any, args: tuple, kwargs: dict, raised: list | None = None) -> tuple[str, Any, str]:
    """`raised` gets the exception, if there is one."""
    out = io.StringIO()
    try:
        with torch.no_grad(), contextlib.redirect_stdout(out):
            result = call(*args, **kwargs)
        return "returned", _as_it_is_now(result, args, kwargs), out.getvalue()
    except (CompileError, InputError):
        raise
    except Exception as error:
        if raised is not None:
            raised.append(error)
        name = type(error).__name__
        # what an engine refuses, torch does
        return "raised", "RuntimeError" if name == "RunError" else name, out.getvalue()


def compare(program: Any, model: Any, args: tuple, kwargs: dict, policy: Policy,
            raised: list | None = None) -> list[str]:
    """Where the two differ; vectors of a spectrum that torch and we chose otherwise are no difference. `raised` gets
    the exception that eager raised, if it did."""
    found = _compare(program, model, args, kwargs, policy, raised)
    if not found or not free_vectors.has_free_vectors(program):
        return found
    return _compare(program, model, args, kwargs, policy, None, free_vectors.as_compiled)


def _compare(program: Any, model: Any, args: tuple, kwargs: dict, policy: Policy, raised: list | None,
             mode: Callable = contextlib.nullcontext) -> list[str]:
    """Eager first, under the mode, on copies of everything it may change; then the program from the same start."""
    interface = program._interface
    before = _Saved(interface)
    memo: dict = {}
    try:
        eager_args, eager_kwargs = copy.deepcopy((args, kwargs), memo)
    except Exception as error:
        raise CompileError(f"an argument can't be copied, so that model and program could be compared ({error}); "
                           "verify=False leaves that out",
                           kind="argument") from error
    with mode():
        expected = _outcome(model, eager_args, eager_kwargs, raised)
    after_eager = before.contents()
    before.restore()
    our_args, our_kwargs = copy.deepcopy((args, kwargs))
    actual = _outcome(program, our_args, our_kwargs)
    after_ours = before.contents()
    before.restore()
    of_eager = (*expected, (eager_args, eager_kwargs), after_eager)
    ours = (*actual, (our_args, our_kwargs), after_ours)
    return [d for what, a, b in zip(("outcome", "result", "printed", "inputs after", "state after"), of_eager, ours)
            for d in differences(a, b, what, policy)]


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
    if isinstance(value, dict):
        made = copy.copy(value)
        made.update((k, _with_tensors_copied(v)) for k, v in value.items())
        return made
    if isinstance(value, collections.deque):
        return collections.deque(map(_with_tensors_copied, value), value.maxlen)
    return copy.copy(value) if isinstance(value, (set, array.array, np.ndarray)) else value


class _Saved:
    """What a program writes in the outside world, so that a comparison leaves no trace."""

    def __init__(self, interface: Any):
        self.tensors: list = []
        self.slots: list = []
        self.held: list = []  # tensors in attributes, written in place
        self.containers: list = []  # and containers whose length calls change, or that they replace
        self.generators = [(torch.default_generator, torch.get_rng_state())]
        for state in interface.states:
            state.save(self)
        recognise(interface.states, interface.combinations)
        held = interface.held_tensors()
        self.held += [(tensor, tensor.detach().clone()) for k in interface.at_risk if (tensor := held[k]) is not None]
        for writes in (*(writes for _, writes in interface.variants), *(writes for writes, *_ in interface.failures)):
            for owner, name, _ in writes:
                if id(owner.obj) not in interface.containers:  # the caller's containers are copied anyway
                    self.slot(owner.obj, name)

    def tensor(self, tensor: torch.Tensor) -> None:
        self.tensors.append((tensor, tensor.detach().clone()))

    def generator(self, made: Any) -> None:
        self.generators.append((made, generators.read(made)))

    def elements(self, found: Any) -> None:
        self.containers.append((found, copy.copy(found)))

    def slot(self, owner: Any, key: Any) -> None:
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
        return [*values, *(generators.read(made) for made, _ in self.generators)]

    def restore(self) -> None:
        for made, state in self.generators:
            generators.write(made, state)
        for found, items in self.containers:
            refill(found, items)
        for owner, value in (*self.tensors, *self.held):
            with torch.no_grad():
                owner.copy_(value)
        for owner, key, value in self.slots:
            if key != "*":
                places.write(owner, key, value)
            else:
                refill(owner, value)


def check_example(program: Any, model: Any, args: tuple, kwargs: dict, allow_raise: bool) -> BaseException | None:
    """The exception that the model raised on its example, unless that is allowed: nothing else is said of it then."""
    raised: list[BaseException] = []
    try:
        found = compare(program, model, args, kwargs, Policy(1e-3, 1e-4), raised)
    except InputError as error:
        raise CompileError(f"the example arguments can't be taken: {error}", kind="argument") from error
    if raised and not allow_raise:
        return raised[0]
    if found:
        raise CompileError(
            "verification failed on the example inputs: the program's answers differ from the model's\n  "
            + "\n  ".join(found[:8])
            + "\n  help: this is a defect of DyCL; please report the model. verify=False skips "
            "the check, at your own risk", kind="verify")
    return None
